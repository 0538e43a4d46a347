"""Files of somebody else: read up to a limit, and measured in one pass before a parser sees them.

Parsers trust their input: the standard library's takes time with the square of a dotted TOML key's length, and a level
of the stack for each bracket. What is refused here no specification, event or history needs.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from importlib import import_module
from os import PathLike, fsdecode
from shlex import quote
from typing import Any

from verified_dp.core.kernel.certificate.document import MAX_BYTES, MAX_ITEMS, check_json, nesting
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput

STDIN = "-"


class NotInstalled(InvalidInput):
    """A package that is needed and is not there; `expected` is the command that installs it."""

    def __str__(self) -> str:
        return f"{self.key} is not installed: run {self.expected}"


def optional(module: str, package: str) -> Any:
    """An optional package's module. Raises NotInstalled."""
    try:
        return import_module(module)
    except ImportError:
        raise NotInstalled(package, None, f"{quote(sys.executable)} -m pip install {package}") from None


MAX_SPECIFICATION = 2**22
"""4 MiB of TOML; real ones have some hundred bytes, ten thousand mechanisms one or two million."""
MAX_TABLES = 20_000
"""Lines that begin with a bracket: ten thousand mechanisms, each with a table of its sampling."""
MAX_ENTRIES = 2**18
"""Commas, equals signs and opening brackets."""
MAX_TOML_DEPTH, MAX_JSON_DEPTH = 16, 64
"""Of brackets; a dp_accounting event takes one or two for each event around it."""
MAX_KEY_PARTS = 8
MAX_WORD = 4300
"""Characters without quotes, space or comma: Python reads no longer integer. Numbers in quotes may be longer."""
MAX_EXPONENTS = 2 * 10**6
"""The sum of all decimal exponents of four digits and more: "1e-99999" is short, and a number of 10^5 digits."""

_TEXTS = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)'  # two quotes may stand before the three that end it
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?'
    r"|'[^'\n]*+'?", re.DOTALL)
_TEXT_OR_COMMENT = re.compile(f"({_TEXTS.pattern})|#[^\\n]*+", re.DOTALL)
_TABLE = re.compile(r"^[ \t]*+\[", re.MULTILINE)
_WORD = re.compile(r"[^\s,=\[\]{}]++")
_EXPONENT = re.compile(r"(?<![\w.+-])[+-]?[0-9.]++[eE][+-]?0*+([0-9]{4,6})(?![\w.])")
_LONG_KEY = re.compile(rf"\.(?:[^\n,=\[\]{{}}.]*+\.){{{MAX_KEY_PARTS - 1}}}")


def read_at_most(file: str | PathLike[str], limit: int) -> bytes:
    """The file's bytes, or the first limit + 1 of them where it has more: whoever reads on refuses that many.

    "-" is standard input. Raises OSError, or ValueError for what can be no file's name.
    """
    if file == STDIN:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        return sys.stdin.buffer.read(limit + 1)
    with open(file, "rb") as stream:
        return stream.read(limit + 1)


def read_file(file: str | PathLike[str], limit: int, what: str = "a file") -> bytes:
    """The same, with InvalidInput for what cannot be read; `what` says what is needed."""
    try:
        return read_at_most(file, limit)
    except (OSError, ValueError) as error:
        name = fsdecode(file)
        raise InvalidInput("file", name, f"{what} that can be read ({reason(error)})", name) from None


def reason(error: Exception) -> str:
    """Why the system refused, in its own words."""
    return getattr(error, "strerror", None) or str(error)


def decoded(data: bytes, file: str, limit: int = MAX_SPECIFICATION) -> str:
    """The text of a file's bytes; InvalidInput where they are none, or more than the limit."""
    if len(data) > limit:
        raise InvalidInput("file", file, f"at most {limit} bytes long", file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("file", file, f"UTF-8 text (byte {error.start} is not)", file) from None


def parse_toml(text: str, file: str, parse_float: Callable[[str], Any]) -> dict[str, Any]:
    """The tables of a TOML text; InvalidInput for one that is none, or larger or deeper than any needs to be."""
    import tomllib  # only where there is a specification

    wrong = _excess(text)
    try:
        if wrong is None:
            return tomllib.loads(text, parse_float=parse_float)
    except ValueError as error:  # TOMLDecodeError
        wrong = str(error)
    raise InvalidInput("file", file, f"TOML ({wrong})", file)


def _excess(text: str) -> str | None:
    """What a TOML text has too much of, outside of its strings and comments; None of all that is no more than enough.

    Up to its first mistake a text is divided here as the parser divides it, and the parser reads no further.
    """
    if len(text) > MAX_SPECIFICATION:
        return f"at most {MAX_SPECIFICATION} characters long"
    bare = _TEXT_OR_COMMENT.sub(lambda found: '"' if found[1] else "", text)
    if sum(map(bare.count, ",={[")) > MAX_ENTRIES:
        return f"at most {MAX_ENTRIES} keys and values"
    if len(_TABLE.findall(bare)) > MAX_TABLES:
        return f"at most {MAX_TABLES} tables; equal ones are one, with a count"
    if nesting(bare, MAX_TOML_DEPTH) > MAX_TOML_DEPTH:
        return f"nested at most {MAX_TOML_DEPTH} deep"
    if _LONG_KEY.search(bare):
        return f"keys of at most {MAX_KEY_PARTS} parts"
    if any(len(word[0]) > MAX_WORD for word in _WORD.finditer(bare)):
        return f"at most {MAX_WORD} characters in a key, or in a number without quotes"
    return _excess_of_digits(text)


def _excess_of_digits(text: str) -> str | None:
    """Exponents, in quotes or not, that come to numbers of very many digits; larger ones are no numbers here."""
    from verified_dp.core.kernel.exact import MAX_EXPONENT  # with flint, which `--help` does without

    exponents = (int(found[1]) for found in _EXPONENT.finditer(text))
    if sum(one for one in exponents if one <= MAX_EXPONENT) > MAX_EXPONENTS:
        return f"decimal exponents that come to at most {MAX_EXPONENTS} together"
    return None


def parse_history(data: bytes | str, file: str, key: str = "file") -> Any:
    """An event or a history as JSON, in which numbers may be quoted."""
    text = data if isinstance(data, str) else decoded(data, file, MAX_BYTES)
    if wrong := _excess_of_digits(text):
        raise InvalidInput(key, file, f"JSON ({wrong})")
    return parse_json(text, file, key, items=MAX_ENTRIES)


def parse_json(data: bytes | str, file: str, key: str = "file", *, items: int = MAX_ITEMS,
               **hooks: Any) -> Any:
    """What a JSON text in UTF-8 holds; InvalidInput for one that is none, or larger or deeper than any needs to be.

    hooks: of `json.loads`.
    """
    try:
        text = data if isinstance(data, str) else decoded(data, file, MAX_BYTES)
        check_json(text, MAX_JSON_DEPTH, items)
        return json.loads(text, **({"parse_int": _integer} | hooks))
    except InvalidCertificate as error:
        raise InvalidInput(key, file, f"JSON ({error.reason})") from None
    except ValueError as error:
        raise InvalidInput(key, file, f"JSON ({error})") from None


def _integer(text: str) -> int:
    if len(text) > MAX_WORD:
        raise ValueError(f"an integer of more than {MAX_WORD} digits")
    return int(text)


def with_file(error: Any, file: str) -> Any:
    """The same InvalidInput or Unsupported, which now also names its file."""
    return type(error)(*error.args[:-1], file)
