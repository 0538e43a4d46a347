"""Witnesses as plain data and back: a frozen dataclass is an object of its fields, with its kind.

Fractions are text, "m*2^e" where they are dyadic, else "p/q"; integers are integers; tuples are lists.
Reading takes the types from the dataclass's annotations, and accepts only what writing gives. A witness of an earlier
kind is read in its own form, and then is the witness of today that makes the same statement.
"""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from verified_dp.core.engines.table import EARLIER, HOMES, earlier_class, witness_class
from verified_dp.core.kernel.certificate.document import Document, check_keys
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput
from verified_dp.core.kernel.exact import exact, fraction_text
from verified_dp.core.kernel.witnesses import Earlier, Witness

MAX_NUMBER_BITS = 50_000
"""No numerator or denominator of a witness is longer: searches use at most 200 bits."""


def witness_record(witness: Witness | Earlier) -> Document:
    """The witness as plain data."""
    return {"kind": witness.kind, **_fields_record(witness)}


def _fields_record(value: Any) -> Document:
    """A list that may be left out is, where it is empty."""
    return {field.name: _record(found) for field in fields(value)
            if (found := getattr(value, field.name)) != () or field.default != ()}


def _record(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_record(item) for item in value]
    if isinstance(value, Fraction):
        return number_text(value)
    if isinstance(value, int):
        return int(value)
    return witness_record(value) if hasattr(value, "kind") else _fields_record(value)


def number_text(value: Fraction) -> str:
    """ "m*2^e" in lowest form where the denominator is a power of two, else the reduced fraction.

    >>> number_text(Fraction(3, 8)), number_text(Fraction(1, 3))
    ('3*2^-3', '1/3')
    """
    dyadic = value.denominator & (value.denominator - 1) == 0
    return str(Dyadic.of_fraction(value)) if dyadic else fraction_text(value)


def read_number(text: Any, path: str) -> Fraction:
    """The number which `number_text` writes so; InvalidCertificate otherwise."""
    if type(text) is not str or len(text) > MAX_NUMBER_BITS:
        raise InvalidCertificate(path, 'must be a number such as "3*2^-1" or "1/3"')
    try:
        value = _bounded(Dyadic.parse(text), path) if "*" in text else exact(text)
    except InvalidInput:
        raise InvalidCertificate(path, 'must be a number such as "3*2^-1" or "1/3"') from None
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_NUMBER_BITS:  # exact: integers
        raise InvalidCertificate(path, f"a number of more than {MAX_NUMBER_BITS} bits")
    if number_text(value) != text:
        raise InvalidCertificate(path, f"not in canonical form ({number_text(value)[:60]})")
    return value


def _bounded(number: Dyadic, path: str) -> Fraction:
    if abs(number.exponent) > MAX_NUMBER_BITS:
        raise InvalidCertificate(path, f"a number of more than {MAX_NUMBER_BITS} bits")
    return number.as_fraction()


def read_recorded(table: Any, path: str) -> Any:
    """The witness that plain data states, of an earlier kind in its own form (and so are those inside of others).

    Raises InvalidCertificate with the path for whatever is not canonical, Unsupported for a kind that only an earlier
    version checks.
    """
    kind = table.get("kind") if type(table) is dict else None
    if type(kind) is not str or (kind not in HOMES and kind not in EARLIER):
        raise InvalidCertificate(f"{path}.kind", "must be one of " + ", ".join(HOMES))
    known: Any = witness_class(kind) if kind in HOMES else earlier_class(kind)
    return _read_fields({key: value for key, value in table.items() if key != "kind"}, known, path)


def in_use(recorded: Any) -> tuple[Witness, dict[str, str]]:
    """The witness of today that says the same, and the names of its error budget that were others when recorded."""
    names: dict[str, str] = {}
    if hasattr(recorded, "inner"):
        inner, names = in_use(recorded.inner)
        recorded = replace(recorded, inner=inner)
    if recorded.kind in EARLIER:
        return recorded.now(), {**names, **recorded.sources}
    return recorded, names


def read_witness(table: Any, path: str) -> Witness:
    """The witness of today that plain data states; errors as in `read_recorded`."""
    return in_use(read_recorded(table, path))[0]


@cache
def _annotations(known: Any) -> dict[str, Any]:
    hints = get_type_hints(known)
    return {field.name: hints[field.name] for field in fields(known)}


def _read_fields(table: Any, known: Any, path: str) -> Any:
    left_out = {field.name for field in fields(known) if field.default == () and not (type(table) is dict and table.get(
        field.name))}
    types = {name: kind for name, kind in _annotations(known).items() if name not in left_out}
    check_keys(table, types, path)
    return known(**{name: _read(table[name], kind, f"{path}.{name}") for name, kind in types.items()})


def _read(value: Any, kind: Any, path: str) -> Any:
    if get_origin(kind) is tuple:
        return _read_tuple(value, get_args(kind), path)
    if kind is Fraction:
        return read_number(value, path)
    if kind is Witness:
        return read_recorded(value, path)
    if kind is int:
        if type(value) is not int:
            raise InvalidCertificate(path, "must be an integer")
        return value
    return _read_fields(value, kind, path)


def _read_tuple(value: Any, kinds: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    """A list for `tuple[X, ...]` (any length) or `tuple[X, Y]` (that length)."""
    if type(value) is not list:
        raise InvalidCertificate(path, "must be a list")
    expected = (kinds[0],) * len(value) if kinds[-1] is Ellipsis else kinds
    if len(value) != len(expected):
        raise InvalidCertificate(path, f"must have {len(expected)} entries")
    return tuple(
        _read(item, kind, f"{path}[{i}]") for i, (item, kind) in enumerate(zip(value, expected, strict=True))
    )
