"""Exact dyadic numbers m * 2^e of any exponent, and decimals rounded outward from them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import total_ordering
from sys import hash_info
from typing import NamedTuple

from flint import arb, ctx, fmpz

from verified_dp.core.errors import InvalidInput, Undecided

_DYADIC = re.compile(r"(0|-?[1-9][0-9]{0,99999})\*2\^(0|-?[1-9][0-9]{0,30})")
_MAX_SHIFT = 10**6  # beyond, a dyadic is not written out as a fraction
_EXACT_EXPONENT = 20_000  # up to here decimals come from integer arithmetic


@total_ordering
@dataclass(frozen=True, eq=False)
class Dyadic:
    """The exact number mantissa * 2^exponent, kept with an odd mantissa (0 as 0*2^0), or infinity.

    Comparison with Dyadic, int and Fraction is exact and total, at any exponent.

    >>> Dyadic(12, -3), str(Dyadic(12, -3)), Dyadic(12, -3) == Fraction(3, 2)
    (Dyadic(3, -1), '3*2^-1', True)
    """

    mantissa: int
    exponent: int = 0
    is_infinite: bool = field(default=False, kw_only=True)

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

    def __hash__(self) -> int:
        """The hash of the equal int or Fraction: Python's hashes are modulo 2^61 - 1, where 2^61 is 1."""
        return hash_info.inf if self.is_infinite else hash(self.mantissa << self.exponent % 61)

    def __eq__(self, other: object) -> bool:
        sign = self._compare(other)
        return NotImplemented if sign is None else sign == 0

    def __lt__(self, other: Dyadic | int | Fraction) -> bool:
        sign = self._compare(other)
        return NotImplemented if sign is None else sign < 0

    def _compare(self, other: object) -> int | None:
        """The sign of self - other, None if other is not an exact number."""
        if isinstance(other, int | Fraction):
            left, right = replace(self, mantissa=self.mantissa * other.denominator), Dyadic(other.numerator)
        elif isinstance(other, Dyadic):
            left, right = self, other
        else:
            return None
        if left.is_infinite or right.is_infinite:
            return left.is_infinite - right.is_infinite
        return left._compare_finite(right)

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
        """The number as a Fraction; InvalidInput for infinity and where |exponent| > 10^6."""
        if self.is_infinite or abs(self.exponent) > _MAX_SHIFT:
            raise InvalidInput("exponent", str(self), "at most 10^6 in size to write a fraction")
        if self.exponent >= 0:
            return Fraction(self.mantissa << self.exponent)
        return Fraction(self.mantissa, 1 << -self.exponent)

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


def decimal_down(number: Dyadic, significant: int) -> str:
    """A decimal <= number with that many significant digits, but exactly "0" and "inf" for these.

    >>> decimal_down(Dyadic(1, -3), 4), decimal_up(Dyadic(1, -3500), 5)
    ('0.1250', '2.4833e-1054')
    """
    return outward_decimal(number, significant, up=False).text


def decimal_up(number: Dyadic, significant: int) -> str:
    """A decimal >= number with that many significant digits, but exactly "0" and "inf" for these."""
    return outward_decimal(number, significant, up=True).text


class Decimal(NamedTuple):
    """A decimal as text, and as digits * 10^power (0 for infinity)."""

    text: str
    digits: int = 0
    power: int = 0


def outward_decimal(number: Dyadic, significant: int, *, up: bool) -> Decimal:
    """The decimal on the asked side of a number."""
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


_LOG10_2 = 301029995663981195213738894724493026768189881462108541310427  # floor(10^60 log10(2))


def _scale_down(size: Dyadic, power: int, significant: int) -> int:
    """An integer <= size / 10^power, the largest one unless the exponent is gigantic."""
    if abs(size.exponent) > _EXACT_EXPONENT:
        with ctx.workprec(_enough_bits(size, significant)):
            return integer_of((exact_ball(size) / arb(10) ** fmpz(power)).lower().floor())
    top, bottom = _scaled_ratio(size, power)
    return top // bottom


def _scale_up(size: Dyadic, power: int, significant: int) -> int:
    """An integer >= size / 10^power, the smallest one unless the exponent is gigantic."""
    if abs(size.exponent) > _EXACT_EXPONENT:
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
