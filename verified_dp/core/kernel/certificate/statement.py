"""What a certificate is about, as plain data and back: claim, input, assumptions.

Numbers have one text each: an input is a reduced fraction; the claim's numbers are the decimals that were
typed (without redundant signs and zeros in front), because `short_by_rounding` depends on the digits printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from verified_dp.core.families.table import ALL_RELEASES, SCHEMES
from verified_dp.core.kernel.certificate.document import Document, check_equal, check_keys
from verified_dp.core.kernel.composition import (
    SCHEME_KEYS,
    Claim,
    Composition,
    Grouped,
    Mechanism,
    Relation,
    Sampled,
    Spec,
    compose,
)
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput
from verified_dp.core.kernel.exact import count, exact, fraction_text
from verified_dp.core.kernel.mechanisms import Gaussian, Stated

_TYPED = re.compile(r"\+?([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,20}))?")
_MAX_INPUT_TEXT = 500_000
"""Characters of all numbers of an input together: sums of fractions stay fast."""


def claimed_text(typed: str, value: Fraction) -> str:
    """One text for a typed decimal ("03.10" is "3.10", "1E-5" is "1e-5"); the reduced fraction for all else.

    >>> claimed_text("+.50", Fraction(1, 2)), claimed_text("2/4", Fraction(1, 2))
    ('0.50', '1/2')
    """
    match = _TYPED.fullmatch(typed.strip())
    if match is None or not (match[1] or match[2]) or exact(typed) != value:
        return fraction_text(value)
    whole, decimals, power = match[1].lstrip("0") or "0", match[2] or "", int(match[3] or "0")
    return whole + f".{decimals}" * bool(decimals) + f"e{power}" * bool(power)


def printed_unit(text: str) -> Fraction | None:
    """The unit of the last printed digit: "2.75" -> 1/100, "1.5e-3" -> 1/10000, "3" -> 1; None: a ratio."""
    if "/" in text:
        return None
    mantissa, _, power = text.partition("e")
    return Fraction(10) ** (int(power or "0") - len(mantissa.partition(".")[2]))


def claim_record(claim: Claim) -> Document:
    """The claim as plain data."""
    return {
        "title": claim.title,
        "source": claim.source,
        "epsilon": claimed_text(claim.epsilon_text, claim.epsilon),
        "delta": claimed_text(claim.delta_text, claim.delta),
    }


def read_claim(table: Any) -> Claim:
    """The claim, in canonical form only."""
    check_keys(table, ("title", "source", "epsilon", "delta"), "claim")
    epsilon, delta = (_text(table, key, "claim") for key in ("epsilon", "delta"))
    with _located("claim"):
        claim = Claim(
            _text(table, "title", "claim"),
            _text(table, "source", "claim"),
            exact(epsilon, "epsilon"),
            exact(delta, "delta"),
            epsilon,
            delta,
        )
    check_equal(table, claim_record(claim), "claim", "not in canonical form")
    return claim


def input_record(composition: Composition, relation: Relation) -> Document:
    """What was run, as plain data; `group_size` only where it is more than 1."""
    size = composition.group_size
    return {
        "relation": relation.value,
        **({"group_size": size} if size > 1 else {}),
        "mechanisms": _parts_record(composition),
    }


def _parts_record(composition: Composition) -> list[Document]:
    return [{**_mechanism_record(mechanism), "count": count} for mechanism, count in composition.parts]


def _mechanism_record(mechanism: Mechanism | Composition) -> Document:
    if isinstance(mechanism, Grouped):
        return _mechanism_record(mechanism.mechanism)
    if isinstance(mechanism, Composition):
        return {"kind": COMPOSED, "releases": _parts_record(mechanism)}
    if isinstance(mechanism, Sampled):
        scheme = {"scheme": mechanism.stated.name, **_fields(mechanism)}
        return {**_mechanism_record(mechanism.mechanism), mechanism.key: scheme}
    return {"kind": mechanism.stated.name, **_fields(mechanism)}


COMPOSED = "composition"
"""The kind of several releases of one sample, or of one run of which the best of many is selected."""


def _fields(source: Stated) -> Document:
    """The stated fields: fractions as text, integers as such, vectors as lists of texts."""
    stated = {key: getattr(source, key) for key in source.stated.readers}
    return {key: _field(value) for key, value in stated.items() if value is not None}


def _field(value: Fraction | int | tuple[Fraction, ...]) -> Any:
    if isinstance(value, tuple):
        return [fraction_text(number) for number in value]
    return value if isinstance(value, int) else fraction_text(value)


def read_input(table: Any) -> tuple[Composition, Relation]:
    """What was run, in canonical form only."""
    grouped = ("group_size",) if type(table) is dict and "group_size" in table else ()
    check_keys(table, ("relation", "mechanisms", *grouped), "input")
    with _located("input"):
        relation = Relation.of(table["relation"])
    composition = _read_parts(table["mechanisms"], "input.mechanisms")
    if grouped:
        _check_integer(table, "group_size", "input")
        with _located("input"):
            composition = composition.for_groups(table["group_size"])
    check_equal(table, input_record(composition, relation), "input", "not in canonical form")
    return composition, relation


def _read_parts(entries: Any, path: str) -> Composition:
    if type(entries) is not list:
        raise InvalidCertificate(path, "must be a list of mechanisms")
    if sum(map(len, _texts(entries))) > _MAX_INPUT_TEXT:
        raise InvalidCertificate(path, f"more than {_MAX_INPUT_TEXT} characters of numbers")
    return compose(*(_read_part(entry, f"{path}[{i}]") for i, entry in enumerate(entries)))


def _texts(value: Any) -> Iterator[str]:
    """Every text inside of lists and objects."""
    if type(value) is str:
        yield value
    elif type(value) in (list, dict):
        for item in value.values() if type(value) is dict else value:
            yield from _texts(item)


def _check_integer(table: Document, key: str, path: str) -> None:
    if type(table[key]) is not int:
        raise InvalidCertificate(f"{path}.{key}", "must be an integer")


def _read_part(entry: Any, path: str) -> tuple[Mechanism, int]:
    if type(entry) is not dict:
        raise InvalidCertificate(path, "must be an object")
    kind, schemes = entry.get("kind"), tuple(key for key in SCHEME_KEYS if key in entry)
    if type(kind) is not str or kind not in (*ALL_RELEASES, "gaussian", COMPOSED):
        raise InvalidCertificate(f"{path}.kind", "not a kind of this schema")
    form = _form(kind, entry)
    check_keys(entry, ("kind", "count", *form, *(schemes or SCHEME_KEYS[:kind == COMPOSED])), path)
    _check_integer(entry, "count", path)
    with _located(path):
        mechanism: Any = _read_parts(entry["releases"], f"{path}.releases") if kind == COMPOSED else _read_bare(
            kind, entry, path)
        for key in schemes:
            mechanism = _read_scheme(mechanism, entry[key], key, f"{path}.{key}")
        return mechanism, count(entry["count"])


def _read_bare(kind: str, entry: Document, path: str) -> Mechanism:
    build: Callable[..., Any] = ALL_RELEASES.get(kind, Gaussian)
    mechanism: Mechanism = build(**{key: _value(entry, key, path) for key in _form(kind, entry)})
    return mechanism


def _form(kind: str, entry: Document) -> tuple[str, ...]:
    """The keys of a mechanism, those that may be absent only where they are stated."""
    if kind == COMPOSED:
        return ("releases",)
    if kind == "gaussian":
        return ("sigma", "sensitivity") if "sigma" in entry else ("noise_multiplier",)
    release = ALL_RELEASES[kind]
    return tuple(key for key in release.stated.readers if key in entry or not hasattr(release, key))


def _read_scheme(bare: Any, table: Any, key: str, path: str) -> Mechanism:
    scheme = table.get("scheme") if type(table) is dict else None
    if type(scheme) is not str or scheme not in SCHEMES or SCHEMES[scheme].key != key:
        raise InvalidCertificate(f"{path}.scheme", "not a scheme of this schema")
    build: Any = SCHEMES[scheme]
    keys = build.stated.readers
    check_keys(table, ("scheme", *keys), path)
    numbers = [_value(table, key, path) for key in keys]
    with _located(path):
        mechanism: Mechanism = build(bare, *numbers)
        return mechanism


def _value(table: Document, key: str, path: str) -> Any:
    """A value as it is recorded: text, an integer, true or false, a list of texts; the mechanism checks the rest."""
    value = table[key]
    if type(value) not in (str, int, bool, list) or (type(value) is list and any(type(x) is not str for x in value)):
        raise InvalidCertificate(f"{path}.{key}", "must be text, an integer, true or false, or a list of texts")
    return value


def _text(table: Document, key: str, path: str) -> str:
    if type(table[key]) is not str:
        raise InvalidCertificate(f"{path}.{key}", "must be text")
    return str(table[key])


@contextmanager
def _located(path: str) -> Iterator[None]:
    """Turn an InvalidInput into an InvalidCertificate at its key below `path`."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidCertificate(f"{path}.{error.key}", f"must be {error.expected}") from None


def read_spec(document: Document) -> Spec:
    """The specification with its claim."""
    claim = read_claim(document["claim"])
    composition, relation = read_input(document["input"])
    return Spec(relation, composition, claim)
