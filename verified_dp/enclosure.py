"""Exact dyadic numbers, proved intervals (`Enclosure`), outward rounded decimals, and `Estimate`.

An `Enclosure` holds the number asked for; an `Estimate` proves nothing and never stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import total_ordering
from typing import NamedTuple

from flint import arb, ctx, fmpz

from verified_dp.errors import InconsistentEnclosures, InvalidInput
from verified_dp.exact import exact

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
        object.__setattr__(self, "mantissa", int(self.mantissa) >> max(shift, 0))

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
        return hash(float("inf")) if self.is_infinite else hash(self.mantissa << self.exponent % 61)

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
        low = min(self.exponent, other.exponent)  # equal tops: shifts shorter than mantissas
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
        if self.is_infinite or self.top > 1025:
            return float("-inf") if self.sign < 0 else float("inf")
        return 0.0 if self.top < -1100 else self._near_float()

    def _near_float(self) -> float:
        try:
            return float(self.as_fraction())
        except OverflowError:
            return self.sign * float("inf")


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
