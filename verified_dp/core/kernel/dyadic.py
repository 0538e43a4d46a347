"""Exact dyadic numbers m * 2^e of any exponent, and decimals rounded outward from them."""

from __future__ import annotations

import decimal  # exact: correctly rounded, for readers outside only
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from sys import hash_info
from typing import Any, NamedTuple

from flint import arb, ctx, fmpz

from verified_dp.core.kernel.errors import InvalidInput, OutOfRange, Undecided

_DYADIC = re.compile(r"(0|-?[1-9][0-9]{0,99999})\*2\^(0|-?[1-9][0-9]{0,30})")
MAX_SHIFT = 10**6  # beyond, a dyadic is not written out as a fraction
EXACT_EXPONENT = 20_000  # up to here decimals come from integer arithmetic
_UNORDERED = 2  # neither less, nor equal, nor greater: beside nan


@dataclass(frozen=True, eq=False)
class Dyadic(Fraction):
    """The exact number mantissa * 2^exponent, kept with an odd mantissa (0 as 0*2^0), or infinity.

    A Fraction that is not written out: comparison with int, Fraction, float, Decimal and Dyadic is exact at any
    exponent; arithmetic gives Fractions. Where a numerator or a denominator is needed that does not fit, for infinity
    and beyond 2^(+-10^6), OutOfRange is raised, an OverflowError. So does a Decimal that stands left of such a number.

    >>> Dyadic(12, -3), str(Dyadic(12, -3)), Dyadic(12, -3) == 1.5, Dyadic(12, -3) / 7
    (Dyadic(3, -1), '3*2^-1', True, Fraction(3, 14))
    """

    mantissa: int
    exponent: int = 0
    is_infinite: bool = field(default=False, kw_only=True)

    def __new__(cls, *_: object, **__: object) -> Dyadic:
        return object.__new__(cls)  # Fraction's own would compute with what is here mantissa and exponent

    def __post_init__(self) -> None:
        shift = (self.mantissa & -self.mantissa).bit_length() - 1  # trailing zeros; -1 for zero
        object.__setattr__(self, "exponent", int(self.exponent) + shift if self.mantissa else 0)
        object.__setattr__(self, "mantissa", int(self.mantissa) >> max(shift, 0))  # exact: integers

    @classmethod
    def infinity(cls) -> Dyadic:
        """Plus infinity, larger than every number."""
        return cls(1, is_infinite=True)

    @classmethod
    def of_fraction(cls, number: int | Fraction) -> Dyadic:
        """The number itself, whose denominator must be a power of two (InvalidInput otherwise)."""
        top, bottom = number.numerator, number.denominator
        if bottom & (bottom - 1):
            raise InvalidInput("value", number, "a fraction whose denominator is a power of two")
        return cls(top, 1 - bottom.bit_length())

    @classmethod
    def from_float(cls, number: Any) -> Dyadic:
        """The exact value of a finite float."""
        return cls.of_fraction(Fraction(number))

    @classmethod
    def from_decimal(cls, number: decimal.Decimal) -> Dyadic:
        """The exact value of a finite Decimal; InvalidInput where that is no dyadic number."""
        return cls.of_fraction(Fraction(number))

    @classmethod
    def parse(cls, text: str) -> Dyadic:
        """Read what `str` writes, in lowest form only: "3*2^-1", "0*2^0", "inf"; InvalidInput otherwise."""
        if text == "inf":
            return cls.infinity()
        match = _DYADIC.fullmatch(text) if isinstance(text, str) else None
        number = cls(int(fmpz(match[1])), int(match[2])) if match else None
        if number is None or str(number) != text:
            raise InvalidInput("value", text, 'a dyadic number in lowest form such as "3*2^-1"')
        return number

    def __str__(self) -> str:
        return "inf" if self.is_infinite else f"{fmpz(self.mantissa)}*2^{self.exponent}"

    def __repr__(self) -> str:
        return "Dyadic.infinity()" if self.is_infinite else f"Dyadic({fmpz(self.mantissa)}, {self.exponent})"

    def __hash__(self) -> int:  # type: ignore[override]
        """The hash of the equal int or Fraction: Python's hashes are modulo 2^61 - 1, where 2^61 is 1."""
        return hash_info.inf if self.is_infinite else hash(self.mantissa << self.exponent % 61)

    def __bool__(self) -> bool:
        return self.mantissa != 0

    def __eq__(self, other: object) -> bool:
        return self._holds(other, lambda sign: sign == 0)

    def __lt__(self, other: object) -> bool:
        return self._holds(other, lambda sign: sign == -1)

    def __le__(self, other: object) -> bool:
        return self._holds(other, lambda sign: sign in (-1, 0))

    def __gt__(self, other: object) -> bool:
        return self._holds(other, lambda sign: sign == 1)

    def __ge__(self, other: object) -> bool:
        return self._holds(other, lambda sign: sign in (0, 1))

    def _holds(self, other: object, test: Callable[[int], bool]) -> bool:
        sign = self._compare(other)
        return NotImplemented if sign is None else test(sign)

    def _compare(self, other: Any) -> int | None:
        """The sign of self - other, _UNORDERED if other is nan, None if it is no number or must compare itself."""
        if isinstance(other, Dyadic):
            return self._compare_dyadic(other)
        if isinstance(other, Rational):
            return self._compare_ratio(int(other.numerator), int(other.denominator))
        too_long = isinstance(other, decimal.Decimal) and abs(other.adjusted()) > MAX_SHIFT
        if too_long or not hasattr(other, "as_integer_ratio"):
            return None
        try:
            return self._compare_ratio(*other.as_integer_ratio())
        except ValueError:  # nan
            return _UNORDERED
        except OverflowError:  # an infinity
            return self.is_infinite - 1 if other > 0 else 1

    def _compare_ratio(self, top: int, bottom: int) -> int:
        scaled = Dyadic(self.mantissa * bottom, self.exponent, is_infinite=self.is_infinite)
        return scaled._compare_dyadic(Dyadic(top))

    def _compare_dyadic(self, other: Dyadic) -> int:
        if self.is_infinite or other.is_infinite:
            return self.is_infinite - other.is_infinite
        return self._compare_finite(other)

    def _compare_finite(self, other: Dyadic) -> int:
        if self.sign != other.sign or self.top != other.top:
            return _sign(self.sign - other.sign) or self.sign * _sign(self.top - other.top)
        low = min(self.exponent, other.exponent)  # exact: integers; equal tops: shifts shorter than mantissas
        return _sign((self.mantissa << self.exponent - low) - (other.mantissa << other.exponent - low))

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return _sign(self.mantissa)

    @property
    def top(self) -> int:
        """The t with 2^(t-1) <= |self| < 2^t (0 for zero)."""
        return self.mantissa.bit_length() + self.exponent

    def as_fraction(self) -> Fraction:
        """The number as a Fraction; OutOfRange for infinity and where |exponent| > 10^6."""
        return Fraction(self.numerator, self.denominator)

    @property
    def numerator(self) -> int:
        """That of the reduced fraction; OutOfRange as for `as_fraction`."""
        return self._shifted(self.mantissa, self.exponent)

    @property
    def denominator(self) -> int:
        """That of the reduced fraction, a power of two; OutOfRange as for `as_fraction`."""
        return self._shifted(1, -self.exponent)

    _numerator, _denominator = numerator, denominator  # what the methods of Fraction read

    def _shifted(self, number: int, exponent: int) -> int:
        if self.is_infinite or abs(exponent) > MAX_SHIFT:
            advice = "finite and with an exponent of 2 of at most 10^6 in size to become a fraction"
            raise OutOfRange("value", str(self), f"{advice} (decimal_down and decimal_up write every number)")
        return number << exponent if exponent > 0 else number

    def __copy__(self) -> Dyadic:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Dyadic:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).infinity, ()) if self.is_infinite else (type(self), (self.mantissa, self.exponent))

    def __float__(self) -> float:
        """The nearest float (0.0 or inf beyond their range), for plots only: no bound may rest on it."""
        if self.is_infinite or self.top > 1024:
            return float("-inf") if self.sign < 0 else float("inf")
        try:
            return 0.0 if self.top < -1100 else float(self.as_fraction())
        except OverflowError:  # rounded up to 2^1024
            return self.sign * float("inf")


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def decimal_down(number: Fraction, significant: int) -> str:
    """A decimal <= number with that many significant digits, but exactly "0" and "inf" for these.

    >>> decimal_down(Dyadic(1, -3), 4), decimal_up(Dyadic(1, -3500), 5)
    ('0.1250', '2.4833e-1054')
    """
    return outward_decimal(number, significant, up=False).text


def decimal_up(number: Fraction, significant: int) -> str:
    """A decimal >= number with that many significant digits, but exactly "0" and "inf" for these."""
    return outward_decimal(number, significant, up=True).text


class Decimal(NamedTuple):
    """A decimal as text, and as digits * 10^power (0 for infinity)."""

    text: str
    digits: int = 0
    power: int = 0


def outward_decimal(number: Fraction, significant: int, *, up: bool) -> Decimal:
    """The decimal on the asked side of a number."""
    if not isinstance(number, Dyadic):
        return _ratio_decimal(number, significant, up=up)
    if number.is_infinite or not number.sign:
        return Decimal("inf" if number.is_infinite else "0")
    size = Dyadic(abs(number.mantissa), number.exponent)
    scale = _scale_up if up == (number.sign > 0) else _scale_down
    power = (size.top - 1) * _LOG10_2 // 10**60 - significant + 1
    digits = scale(size, power, significant)
    for _ in range(2):
        if step := (digits >= 10**significant) - (digits < 10 ** (significant - 1)):
            power += step
            digits = scale(size, power, significant)
    return Decimal("-" * (number.sign < 0) + _written(digits, power), number.sign * digits, power)


def _ratio_decimal(number: Fraction, significant: int, *, up: bool) -> Decimal:
    """The same of a fraction, by integer division."""
    sign, top, bottom = _sign(number.numerator), abs(number.numerator), number.denominator
    power = (top.bit_length() - bottom.bit_length() - 1) * _LOG10_2 // 10**60 - significant + 1
    digits = 10**significant
    while digits >= 10**significant:
        scaled, unit = top * 10 ** max(-power, 0), bottom * 10 ** max(power, 0)  # exact: integers
        digits = -(-scaled // unit) if up == (sign > 0) else scaled // unit
        power += 1
    return Decimal("-" * (sign < 0) + _written(digits, power - 1), sign * digits, power - 1)


_LOG10_2 = 301029995663981195213738894724493026768189881462108541310427  # floor(10^60 log10(2))


def _scale_down(size: Dyadic, power: int, significant: int) -> int:
    """An integer <= size / 10^power, the largest one unless the exponent is gigantic."""
    if abs(size.exponent) > EXACT_EXPONENT:
        with ctx.workprec(_enough_bits(size, significant)):
            return integer_of((exact_ball(size) / arb(10) ** fmpz(power)).lower().floor())
    top, bottom = _scaled_ratio(size, power)
    return top // bottom


def _scale_up(size: Dyadic, power: int, significant: int) -> int:
    """An integer >= size / 10^power, the smallest one unless the exponent is gigantic."""
    if abs(size.exponent) > EXACT_EXPONENT:
        with ctx.workprec(_enough_bits(size, significant)):
            return integer_of((exact_ball(size) / arb(10) ** fmpz(power)).upper().ceil())
    top, bottom = _scaled_ratio(size, power)
    return -(-top // bottom)


def integer_of(ball: arb) -> int:
    """The one integer in a ball. Raises Undecided where there is not exactly one."""
    whole = ball.unique_fmpz()
    if whole is None:
        raise Undecided("an integer needs more bits than were set aside for it")
    return int(whole)


def _enough_bits(size: Dyadic, significant: int) -> int:
    """Bits that leave size / 10^power with an error far below one: the power costs its own length."""
    return 4 * significant + 2 * abs(size.top).bit_length() + 64


def _scaled_ratio(size: Dyadic, power: int) -> tuple[int, int]:
    """Integers whose ratio is size / 10^power."""
    top = (size.mantissa << max(size.exponent, 0)) * 10 ** max(-power, 0)  # exact: integers
    return top, (1 << max(-size.exponent, 0)) * 10 ** max(power, 0)  # exact: integers


def exact_ball(number: Dyadic) -> arb:
    """The finite number as a ball of radius 0, at any working precision."""
    return arb((number.mantissa, number.exponent))


def _written(digits: int, power: int) -> str:
    """digits * 10^power, plainly from 1e-4 up to 1e15, else with an exponent."""
    text = str(fmpz(digits))
    lead = power + len(text) - 1
    if not -4 <= lead < 15:
        return f"{text[0]}{'.' * (len(text) > 1)}{text[1:]}e{lead}"
    if power >= 0:
        return text + "0" * power
    return f"{text[: lead + 1]}.{text[lead + 1 :]}" if lead >= 0 else f"0.{'0' * (-lead - 1)}{text}"
