"""A certificate as a document: canonical JSON, hashes that name an altered part, strict reading.

Nothing here knows what a certificate claims. A document is plain: dicts with text keys, lists, text, short
integers and booleans; there is no float and no null in it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from verified_dp.core.kernel.errors import InvalidCertificate

SCHEMA = "verified-dp/certificate/1"
SEALS = ("hashes", "sha256")
CONTENT = (
    "schema",
    "claim",
    "input",
    "pairs",
    "assumptions",
    "evaluations",
    "result",
    "verdict",
    "short_by_rounding",
    "theorems",
    "versions",
)
"""Every key of a certificate but its seals."""
OPTIONAL = ("formal",)
"""A formal part (formal.py), which only `verify --formal` reads."""

MAX_BYTES = 2**24
"""16 MiB: a real certificate has 5 to 100 kB."""
MAX_ITEMS = 2**21
"""Commas and opening brackets, those in texts too: Python keeps up to 60 times as many bytes."""
MAX_DEPTH = 12
"""Real ones nest 7 deep: evaluations, entry, witness, blocks, block, rules, rule."""
MAX_TEXT = 400_000
"""The longest text: that of a number with the decimal exponent 10^5 that specifications allow."""
MAX_INTEGER_DIGITS = 15
_NO_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[^"\[\]{}]++', re.DOTALL)
"""A text, to the end where nothing ends it; or what is neither text nor bracket."""

Document = dict[str, Any]


class _Refused:
    """Stands for what no document may hold, until the walk names its path."""


def canonical(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and without spaces."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8")


def digest(value: Any) -> str:
    """The sha256 of the canonical form, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def sealed(content: Document) -> Document:
    """The content with `hashes`, one per top-level key, and `sha256`, that of all else."""
    inner = {key: value for key, value in content.items() if key not in SEALS}
    hashed = {**inner, "hashes": {key: digest(value) for key, value in inner.items()}}
    return {**hashed, "sha256": digest(hashed)}


def altered_keys(document: Document) -> list[str]:
    """The top-level keys that do not match their seals, as precisely as the hashes tell; [] if all match.

    A part whose own hash is wrong while `sha256` fits the part is unaltered: its entry in `hashes` is not.
    """
    fresh = sealed(document)
    if fresh["sha256"] == document["sha256"]:
        return [] if fresh["hashes"] == document["hashes"] else ["hashes"]
    recorded = document["hashes"] if isinstance(document["hashes"], dict) else {}
    return [key for key, value in fresh["hashes"].items() if recorded.get(key) != value] or ["sha256"]


def read_document(certificate: bytes | str | Document) -> Document:
    """The plain document with exactly the keys of a certificate; InvalidCertificate otherwise."""
    document = parse_json(certificate) if isinstance(certificate, bytes | str) else certificate
    if not isinstance(document, dict):
        raise InvalidCertificate("", "not a JSON object")
    check_plain(document)
    if document.get("schema") != SCHEMA:
        raise InvalidCertificate("schema", f"must be {SCHEMA}")
    check_keys(document, (*CONTENT, *(key for key in OPTIONAL if key in document), *SEALS), "")
    return document


def parse_json(data: bytes | str) -> Any:
    """JSON with every key once; numbers that are no short integers are left for `check_plain` to refuse."""
    if len(data) > MAX_BYTES:
        raise InvalidCertificate("", f"longer than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        check_json(text, MAX_DEPTH + 1)
        return json.loads(text, object_pairs_hook=_unique, parse_int=_short_integer)
    except ValueError as error:
        raise InvalidCertificate("", f"not JSON in UTF-8 ({error})") from None


def check_json(text: str, depth: int, items: int = MAX_ITEMS) -> None:
    """InvalidCertificate for a text that a parser should not see: too long, of too many items, or nested deeper."""
    if len(text) > MAX_BYTES:
        raise InvalidCertificate("", f"longer than {MAX_BYTES} characters")
    if sum(map(text.count, ",[{")) > items:
        raise InvalidCertificate("", f"more than {items} items")
    if nesting(_NO_BRACKETS.sub("", text), depth) > depth:
        raise InvalidCertificate("", "nested too deeply")


def nesting(text: str, enough: int) -> int:
    """How deep brackets nest in a text; counted no further than one beyond `enough`, or where more close than open."""
    level = deepest = 0
    for character in text:
        if character in "[{":
            level += 1
            if level > deepest:
                deepest = level
        elif character in "]}":
            level -= 1
        if deepest > enough or level < 0:
            break
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> Document:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidCertificate(twice[:80], "a key that appears twice in one object")
    return table


def _short_integer(text: str) -> Any:
    return int(text) if len(text.lstrip("-")) <= MAX_INTEGER_DIGITS else _Refused()


def check_plain(value: Any, path: str = "", depth: int = 0) -> None:
    """InvalidCertificate at the first thing that is not plain: floats, nulls, long integers, deep nests."""
    if depth > MAX_DEPTH:
        raise InvalidCertificate(path, "nested too deeply")
    if type(value) is dict:
        for key, item in value.items():
            _check_text(key, path)
            check_plain(item, joined(path, key), depth + 1)
    elif type(value) is list:
        for index, item in enumerate(value):
            check_plain(item, f"{path}[{index}]", depth + 1)
    elif type(value) is str:
        _check_text(value, path)
    elif type(value) is int:
        if abs(value) >= 10**MAX_INTEGER_DIGITS:
            raise InvalidCertificate(path, f"an integer of more than {MAX_INTEGER_DIGITS} digits")
    elif type(value) is not bool:
        raise InvalidCertificate(path, "neither text, integer, true, false, list nor object")


def _check_text(text: Any, path: str) -> None:
    if type(text) is not str:
        raise InvalidCertificate(path, "a key that is not text")
    if len(text) > MAX_TEXT:
        raise InvalidCertificate(path, f"text of more than {MAX_TEXT} characters")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidCertificate(path, "text that is not Unicode") from None


def joined(path: str, key: str) -> str:
    """The path of a member."""
    return f"{path}.{key}" if path else key


def check_keys(table: Any, keys: Iterable[str], path: str) -> None:
    """InvalidCertificate unless the value is an object with exactly these keys."""
    if type(table) is not dict:
        raise InvalidCertificate(path, "must be an object")
    known = tuple(keys)
    for key in known:
        if key not in table:
            raise InvalidCertificate(joined(path, key), "is missing")
    for key in table:
        if key not in known:
            raise InvalidCertificate(joined(path, key[:80]), "is not a key of this schema")


def check_equal(found: Any, expected: Any, path: str, why: str) -> None:
    """InvalidCertificate at the first place where a part of the document is not what it must be."""
    if type(found) is not type(expected):
        raise InvalidCertificate(path, f"{why}: another type is expected")
    if type(expected) is dict:
        check_keys(found, expected, path)
        for key, value in expected.items():
            check_equal(found[key], value, joined(path, key), why)
    elif type(expected) is list:
        for index, (one, other) in enumerate(zip(found, expected, strict=False)):
            check_equal(one, other, f"{path}[{index}]", why)
        if len(found) != len(expected):
            raise InvalidCertificate(path, f"{why}: {len(expected)} entries are expected, not {len(found)}")
    elif found != expected:
        raise InvalidCertificate(path, f"{why}: {_shown(expected)} is expected, not {_shown(found)}")


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
