"""A certificate as a document (CERTIFICATE.md, "The document"): strict JSON, seals, and the one text of each number."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

SCHEMA = "verified-dp/certificate/1"
SEALS = ("hashes", "sha256")
KEYS = ("schema", "claim", "input", "pairs", "assumptions", "evaluations", "result", "verdict", "short_by_rounding",
        "theorems", "versions", *SEALS)
MAX_BYTES = 2**24
MAX_DEPTH = 12
MAX_ITEMS = 2**21
"""Commas and opening brackets."""
MAX_TEXT = 400_000
MAX_BITS = 50_000
"""Of the numerator and the denominator of a witness's number."""
_NO_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[^"\[\]{}]++', re.DOTALL)
"""A text, or what is neither text nor bracket."""
_MAX_INTEGER = 10**15
_FRACTION = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:/([1-9][0-9]*))?")
_DYADIC = re.compile(r"(0|-?[1-9][0-9]{0,99999})\*2\^(0|-?[1-9][0-9]{0,30})")
_TYPED = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:e(-?[1-9][0-9]{0,19}))?")
_THEOREM = re.compile(r"T\d\d\d?-[a-z0-9]+(-[a-z0-9]+)*")

Document = dict[str, Any]


@dataclass(eq=False)
class Invalid(Exception):
    """The certificate is not valid: the path of the first bad field, and why."""

    field: str
    reason: str


class TooMuch(Exception):
    """More is asked for than this checker spends, or knows; that does not make the certificate wrong."""


# ---------- JSON ----------


def read(data: bytes) -> Document:
    """The plain object with exactly the keys of a certificate."""
    if len(data) > MAX_BYTES:
        raise Invalid("", f"longer than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
        _check_size(text)
        found = json.loads(text, object_pairs_hook=_unique, parse_int=_short)
    except ValueError as error:
        raise Invalid("", f"not JSON in UTF-8 ({error})") from None
    if type(found) is not dict:
        raise Invalid("", "not a JSON object")
    check_plain(found)
    if found.get("schema") != SCHEMA:
        raise Invalid("schema", f"must be {SCHEMA}")
    check_keys(found, (*KEYS, *(("formal",) if "formal" in found else ())), "")
    return found


def _check_size(text: str) -> None:
    """What a parser would need much memory or a deep stack for is refused before it."""
    if text.count(",") + text.count("[") + text.count("{") > MAX_ITEMS:
        raise Invalid("", f"more than {MAX_ITEMS} items")
    depth = 0
    for bracket in _NO_BRACKETS.sub("", text):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH + 1:
            raise Invalid("", "nested too deeply")
        if depth < 0:  # no JSON: the parser stops here
            return


def _unique(pairs: list[tuple[str, Any]]) -> Document:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise Invalid("", "a key that appears twice in one object")
    return table


def _short(text: str) -> Any:
    return int(text) if len(text.lstrip("-")) <= 15 else float("nan")


def check_plain(value: Any, path: str = "", depth: int = 0) -> None:
    """Objects, lists, text, integers of at most 15 digits, true and false; nothing else, nothing deep or long."""
    if depth > MAX_DEPTH:
        raise Invalid(path, "nested too deeply")
    if isinstance(value, dict):
        for key, inner in value.items():
            check_plain(key, path, depth)
            check_plain(inner, joined(path, key), depth + 1)
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            check_plain(inner, f"{path}[{n}]", depth + 1)
    elif not (_is_text(value) if isinstance(value, str) else isinstance(value, int) and abs(value) < _MAX_INTEGER):
        raise Invalid(path, "must be text of Unicode that is not too long, a short integer, true or false")


def _is_text(value: str) -> bool:
    surrogates = not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value)
    return len(value) <= MAX_TEXT and not surrogates


def joined(path: str, key: str) -> str:
    return f"{path}.{key[:80]}" if path else key[:80]


def check_keys(table: Any, keys: Iterable[str], path: str) -> None:
    """Exactly these keys."""
    if not isinstance(table, dict):
        raise Invalid(path, "must be an object")
    needed = list(keys)
    missing, unknown = [key for key in needed if key not in table], [key for key in table if key not in needed]
    for names, words in ((missing, "is missing"), (unknown, "is not a key of this schema")):
        if names:
            raise Invalid(joined(path, names[0]), words)


def check_equal(found: Any, expected: Any, path: str, why: str) -> None:
    """The first place where a part is not what it must be."""
    for place, needed, stated in _differences(found, expected, path):
        raise Invalid(place, f"{why}: {needed} is expected, not {stated}")


def _differences(found: Any, expected: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """(path, what is expected, what stands there)."""
    kinds = type(found), type(expected)
    if kinds == (dict, dict):
        check_keys(found, expected, path)
        for key in expected:
            yield from _differences(found[key], expected[key], joined(path, key))
    elif kinds == (list, list):
        for n in range(min(len(found), len(expected))):
            yield from _differences(found[n], expected[n], f"{path}[{n}]")
        if len(found) != len(expected):
            yield path, f"a list of {len(expected)}", f"one of {len(found)}"
    elif kinds[0] is not kinds[1] or found != expected:
        yield path, str(expected)[:60], str(found)[:60]


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sealed(content: Mapping[str, Any]) -> Document:
    """The content with a sha256 of each top-level key's canonical form, and one of all of that."""
    inner = {key: value for key, value in content.items() if key not in SEALS}
    hashed = {**inner, "hashes": {key: hashlib.sha256(canonical(value)).hexdigest() for key, value in inner.items()}}
    return {**hashed, "sha256": hashlib.sha256(canonical(hashed)).hexdigest()}


def check_seals(document: Document) -> None:
    fresh = sealed(document)
    check_equal(document["hashes"], fresh["hashes"], "hashes", "does not match the content")
    check_equal(document["sha256"], fresh["sha256"], "sha256", "does not match the content")


def check_rest(document: Document) -> None:
    """What proves nothing: theorems are names in order, versions short texts."""
    names = document["theorems"]
    if type(names) is not list or not all(
            type(name) is str and len(name) <= 100 and _THEOREM.fullmatch(name) for name in names):
        raise Invalid("theorems", "must be a list of names such as T07-ends")
    if names != sorted(set(names)):
        raise Invalid("theorems", "must be in order, each once")
    check_keys(document["versions"], ("verified-dp", "python-flint", "FLINT", "python"), "versions")
    for key, text in document["versions"].items():
        if type(text) is not str or not 0 < len(text) <= 100 or not text.isprintable():
            raise Invalid(f"versions.{key}", "must be a short text")


# ---------- numbers ----------


def integer(digits: str) -> int:
    """Of any length: Python's own reader stops at 4300 digits."""
    return int(Decimal(digits))


def digits_of(number: int) -> str:
    return str(Decimal(number))


def fraction_text(number: Fraction | int) -> str:
    top = digits_of(number.numerator)
    return top if number.denominator == 1 else f"{top}/{digits_of(number.denominator)}"


def read_fraction(text: Any, path: str) -> Fraction:
    """A reduced fraction, "3" or "-1/3"."""
    match = _FRACTION.fullmatch(text) if type(text) is str else None
    if match is None:
        raise Invalid(path, "must be a reduced fraction")
    value = Fraction(integer(match[1]), integer(match[2] or "1"))
    if fraction_text(value) != text:
        raise Invalid(path, "must be a reduced fraction")
    return value


def read_claimed(text: Any, path: str) -> tuple[Fraction, Fraction | None]:
    """(value, unit of the last printed digit) of a claimed number: a decimal as typed, or a reduced fraction (None).

    "2.75" -> (11/4, 1/100); the exponent of ten is at most 10^5.
    """
    match = _TYPED.fullmatch(text) if type(text) is str else None
    if match is None:
        return read_fraction(text, path), None
    power = int(match[3] or "0")
    if abs(power) > 10**5:
        raise Invalid(path, "must have an exponent of at most 10^5")
    unit = Fraction(10) ** (power - len(match[2] or ""))
    return integer(match[1] + (match[2] or "")) * unit, unit


@dataclass(frozen=True, order=False)
class Dyadic:
    """mantissa 2^exponent / bottom, both odd, or 0 2^0; bottom is 1 but for ends that are no dyadic numbers."""

    mantissa: int
    exponent: int
    bottom: int = 1

    @classmethod
    def of(cls, mantissa: int, exponent: int = 0) -> Dyadic:
        shift = (mantissa & -mantissa).bit_length() - 1
        return cls(mantissa >> shift, exponent + shift) if mantissa else cls(0, 0)

    @classmethod
    def of_fraction(cls, number: Fraction) -> Dyadic:
        shift = (number.denominator & -number.denominator).bit_length() - 1
        found = cls.of(number.numerator, -shift)
        return cls(found.mantissa, found.exponent, number.denominator >> shift)

    def near(self) -> Dyadic:
        """A dyadic number: itself, or below by less than a relative 2^-3999."""
        if self.bottom == 1:
            return self
        value = self.fraction()
        shift = _MOST_BITS + value.denominator.bit_length() - value.numerator.bit_length()
        return Dyadic.of((value.numerator << max(shift, 0)) // value.denominator, -max(shift, 0))

    def fraction(self) -> Fraction:
        return Fraction(self.mantissa, self.bottom) * Fraction(2) ** self.exponent

    @property
    def top(self) -> int:
        return self.mantissa.bit_length() + self.exponent

    def compare(self, other: Dyadic | Fraction | int) -> int:
        """The sign of self - other, exactly, whatever the exponents."""
        if not isinstance(other, Dyadic):
            return self.compare(Dyadic.of_fraction(Fraction(other)))
        if self.bottom != other.bottom:
            return Dyadic.of(self.mantissa * other.bottom, self.exponent).compare(
                Dyadic.of(other.mantissa * self.bottom, other.exponent))
        signs = (self.mantissa > 0) - (self.mantissa < 0), (other.mantissa > 0) - (other.mantissa < 0)
        if signs[0] != signs[1] or not signs[0]:
            return signs[0] - signs[1]
        if self.top != other.top:
            return signs[0] if self.top > other.top else -signs[0]
        low = min(self.exponent, other.exponent)
        a, b = self.mantissa << self.exponent - low, other.mantissa << other.exponent - low
        return (a > b) - (a < b)

    def __lt__(self, other: Dyadic | Fraction | int) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Dyadic | Fraction | int) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Dyadic | Fraction | int) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Dyadic | Fraction | int) -> bool:
        return self.compare(other) >= 0

    def __str__(self) -> str:
        if self.bottom != 1:
            return fraction_text(self.fraction())
        return f"{digits_of(self.mantissa)}*2^{self.exponent}"


def read_end(text: Any, path: str) -> Dyadic:
    """A dyadic number, or a reduced fraction that is none."""
    if type(text) is not str or "/" not in text:
        return read_dyadic(text, path)
    value = read_fraction(text, path)
    found = Dyadic.of_fraction(value)
    if found.bottom == 1 or max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise Invalid(path, "must be a fraction that is no dyadic number, of at most 50000 bits")
    return found


def read_dyadic(text: Any, path: str) -> Dyadic:
    match = _DYADIC.fullmatch(text) if type(text) is str else None
    found = Dyadic.of(integer(match[1]), int(match[2])) if match else None
    if found is None or str(found) != text:
        raise Invalid(path, 'must be a dyadic number in lowest form such as "3*2^-1"')
    return found


def read_number(text: Any, path: str) -> Fraction:
    """A witness's number: "m*2^e" where the denominator is a power of two, else a reduced fraction."""
    if type(text) is not str or len(text) > MAX_BITS:
        raise Invalid(path, 'must be a number such as "3*2^-1" or "1/3"')
    if "*" in text:
        found = read_dyadic(text, path)
        if abs(found.exponent) > MAX_BITS:
            raise Invalid(path, f"a number of more than {MAX_BITS} bits")
        value = Fraction(found.mantissa) * Fraction(2) ** found.exponent
    else:
        value = read_fraction(text, path)
        if not value.denominator & (value.denominator - 1):
            raise Invalid(path, "not in canonical form")
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise Invalid(path, f"a number of more than {MAX_BITS} bits")
    return value


_EXACT_DIGITS = 20
_MOST_BITS = 4000
_LARGEST_EXPONENT = 1 << 21
_LOG10_2 = 301029995663981195213738894724493026768189881462108541310427  # floor(10^60 log10(2))


def decimals(lower: Dyadic, upper: Dyadic | None, path: str) -> tuple[str, str]:
    """Outward decimals of two ends, with as many digits as they deserve; upper None: infinity."""
    if upper is not None and lower.compare(upper) == 0:
        significant = _EXACT_DIGITS
    else:
        bits = _agreeing_bits(lower.near(), None if upper is None else upper.near())
        significant = 5 + 30103 * bits // 100_000
    return (decimal(lower, significant, path, up=False),
            "inf" if upper is None else decimal(upper, significant, path, up=True))


def _agreeing_bits(lower: Dyadic, upper: Dyadic | None) -> int:
    """About log2(upper / (upper - lower)), between 0 and 4000."""
    if upper is None or lower.mantissa <= 0 or upper.top - lower.top > 1:
        return 0
    unit = max(min(upper.exponent, lower.exponent), upper.top - 2 * _MOST_BITS)

    def units(number: Dyadic) -> int:
        shift = number.exponent - unit
        return number.mantissa << shift if shift >= 0 else number.mantissa >> -shift

    return max(0, min(_MOST_BITS, upper.top - unit - (units(upper) - units(lower)).bit_length()))


def decimal(number: Dyadic, significant: int, path: str, *, up: bool) -> str:
    """The nearest decimal of so many digits that is not below (above) a number >= 0."""
    digits, power = decimal_parts(number, significant, path, up=up)
    return written(digits, power) if digits else "0"


def decimal_parts(number: Dyadic, significant: int, path: str, *, up: bool) -> tuple[int, int]:
    """digits 10^power of that decimal."""
    if not number.mantissa:
        return 0, 0
    if abs(number.exponent) > _LARGEST_EXPONENT:
        raise TooMuch(f"{path}: a gigantic exponent")
    power = (number.near().top - 1) * _LOG10_2 // 10**60 - significant + 1

    def scaled(power: int) -> int:
        top = (number.mantissa << max(number.exponent, 0)) * 10 ** max(-power, 0)
        bottom = (number.bottom << max(-number.exponent, 0)) * 10 ** max(power, 0)
        return -(-top // bottom) if up else top // bottom

    digits = scaled(power)
    for _ in range(2):
        if step := (digits >= 10**significant) - (digits < 10 ** (significant - 1)):
            power += step
            digits = scaled(power)
    return digits, power


def written(digits: int, power: int) -> str:
    """Plainly from 1e-4 up to 1e15, else with an exponent."""
    text = digits_of(digits)
    lead = power + len(text) - 1
    if -4 <= lead < 0:
        return f"0.{text.rjust(len(text) - lead - 1, '0')}"
    before = lead + 1 if 0 <= lead < 15 else 1
    whole, rest = text[:before].ljust(before, "0"), text[before:]
    plain = f"{whole}.{rest}" if rest else whole
    return plain if 0 <= lead < 15 else f"{plain}e{lead}"
