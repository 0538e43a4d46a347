"""Ends of enclosures: dyadic numbers from balls, and rational numbers that are known exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import exact, fraction_text

MAX_BITS = 50_000
"""No numerator or denominator of an exact end is longer."""
_NEAR = 4000


class Ratio(Fraction):
    """A rational number that is no dyadic one, with what `Dyadic` offers to readers; `end_of` makes it.

    A Dyadic beside it compares: that has exponents of any size, and infinity.

    >>> str(Ratio(1, 10)), Ratio(1, 10).near() < Fraction(1, 10)
    ('1/10', True)
    """

    is_infinite: ClassVar[bool] = False

    @property
    def sign(self) -> int:
        """-1 or 1."""
        return 1 if self.numerator > 0 else -1

    def as_fraction(self) -> Fraction:
        """The number as a plain Fraction."""
        return Fraction(self.numerator, self.denominator)

    def near(self) -> Dyadic:
        """A dyadic number below by less than a relative 2^-3999."""
        shift = _NEAR + self.denominator.bit_length() - self.numerator.bit_length()
        if shift <= 0:
            return Dyadic(self.numerator // self.denominator)
        return Dyadic((self.numerator << shift) // self.denominator, -shift)

    def __eq__(self, other: object) -> bool:
        return NotImplemented if isinstance(other, Dyadic) else super().__eq__(other)

    def __lt__(self, other: Any) -> bool:
        return NotImplemented if isinstance(other, Dyadic) else super().__lt__(other)

    def __le__(self, other: Any) -> bool:
        return NotImplemented if isinstance(other, Dyadic) else super().__le__(other)

    def __gt__(self, other: Any) -> bool:
        return NotImplemented if isinstance(other, Dyadic) else super().__gt__(other)

    def __ge__(self, other: Any) -> bool:
        return NotImplemented if isinstance(other, Dyadic) else super().__ge__(other)

    __hash__ = Fraction.__hash__

    def __str__(self) -> str:
        return fraction_text(self)


End = Dyadic | Ratio
"""An end of an enclosure."""


def end_of(number: Fraction) -> End:
    """The number as an end: a Dyadic where it is one."""
    if isinstance(number, Dyadic):
        return number
    dyadic = number.denominator & (number.denominator - 1) == 0
    return Dyadic.of_fraction(number) if dyadic else Ratio(number.numerator, number.denominator)


def is_short(number: Fraction) -> bool:
    """Whether a certificate may record it as an exact end."""
    return max(number.numerator.bit_length(), number.denominator.bit_length()) <= MAX_BITS  # exact: integers


def read_end(text: str) -> End:
    """What `str` writes of an end, in that form only; InvalidInput otherwise.

    >>> read_end("3*2^-1"), read_end("1/10")
    (Dyadic(3, -1), Ratio(1, 10))
    """
    if "/" not in text:
        return Dyadic.parse(text)
    if len(text) > MAX_BITS:
        raise InvalidInput("value", text, f"at most {MAX_BITS} characters long")
    number = end_of(exact(text))
    if str(number) != text or not is_short(number):
        raise InvalidInput("value", text, 'a reduced fraction such as "1/10" whose denominator is no power of two')
    return number


def dyadic_near(number: End) -> Dyadic:
    """The number, or a dyadic one just below: counts of digits may depend on it, and nothing else."""
    return number if isinstance(number, Dyadic) else number.near()
