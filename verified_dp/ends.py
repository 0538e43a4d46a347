"""Ends of enclosures as people read them: rounded to decimals, and formatted as floats are."""

from __future__ import annotations

import decimal
import re

from flint import arb

from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.dyadic import EXACT_EXPONENT, MAX_SHIFT, Dyadic, decimal_down, decimal_up
from verified_dp.core.kernel.ends import End, Ratio
from verified_dp.core.kernel.errors import InconsistentEnclosures, OutOfRange, Undecided

_FORMAT = re.compile(r"(.?[<>^])?([-+ ]?)([1-9]\d*)?(,?)(?=[.eEfFgG%])(?:\.(\d+))?([eEfFgG%]?)")


class ReadableDyadic(Dyadic):
    """The same number.

    >>> f"{ReadableDyadic(1, -13):.2e}"
    '1.22e-04'
    """

    def to_decimal(self, digits: int = 28, rounding: str = decimal.ROUND_HALF_EVEN) -> decimal.Decimal:
        """The number rounded once to that many significant digits, for people: `decimal` names the roundings.

        OutOfRange beyond the exponents that Decimal has.
        """
        if self.is_infinite:
            return decimal.Decimal("Infinity")
        if abs(self.top) > 3 * decimal.MAX_EMAX:
            raise OutOfRange("value", str(self), "within Decimal's range (decimal_down and decimal_up write any)")
        context = decimal.Context(digits, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX)
        if abs(self.exponent) <= EXACT_EXPONENT:
            return context.divide(decimal.Decimal(self.numerator), decimal.Decimal(self.denominator))
        for more in (10, 100, 1000):
            low, high = (context.create_decimal(scale(self, digits + more)) for scale in (decimal_down, decimal_up))
            if low == high:  # so is every number between them
                return low
        raise Undecided("how a decimal is rounded needs more bits than were set aside for it")

    def __format__(self, spec: str) -> str:
        """As a float's, rounded once from the exact number: types e f g % and their precision; else as text."""
        match = _FORMAT.fullmatch(spec)
        if match is None:
            return format(str(self), spec)
        align, sign, width, comma, places, kind = match.groups(default="")
        text = self._decimal_text(sign + comma, int(places or 6), kind or "g")
        return format(text, f"{align or '>'}{width}")

    def _decimal_text(self, flags: str, places: int, kind: str) -> str:
        if self.is_infinite:
            return "inf"
        digits = places + 3
        if kind in "fF%":
            digits += self.to_decimal(1, decimal.ROUND_DOWN).adjusted() + 2 * (kind == "%")
        if digits > MAX_SHIFT:
            raise OutOfRange("value", str(self), "shorter than 10^6 digits: write it with e, as in .3e")
        kept = self.to_decimal(digits if digits > 2 else 2, decimal.ROUND_05UP)  # may be rounded once more
        kept = kept or decimal.Decimal((0, (0,), -places))  # a 0 with its places, as a float's
        with decimal.localcontext(decimal.Context(rounding=decimal.ROUND_HALF_EVEN)):
            text = format(kept, f"{flags}.{places}{kind}")
        return re.sub(r"([eE][-+])(\d)$", r"\g<1>0\2", text)


class ReadableRatio(Ratio):
    """The same number.

    >>> f"{ReadableRatio(1, 10):.2e}"
    '1.00e-01'
    """

    def to_decimal(self, digits: int = 28, rounding: str = decimal.ROUND_HALF_EVEN) -> decimal.Decimal:
        """The number rounded once to that many significant digits, for people."""
        top, bottom = decimal.Decimal(self.numerator), decimal.Decimal(self.denominator)
        return decimal.Context(digits, rounding).divide(top, bottom)

    def __format__(self, spec: str) -> str:
        return format(readable(self.near()), spec) if spec else str(self)


ReadableEnd = ReadableDyadic | ReadableRatio


def readable(end: End) -> ReadableEnd:
    """The same number."""
    if isinstance(end, ReadableDyadic | ReadableRatio):
        return end
    if isinstance(end, Ratio):
        return ReadableRatio(end.numerator, end.denominator)
    return ReadableDyadic(end.mantissa, end.exponent, is_infinite=end.is_infinite)


def readable_ends(lower: arb, upper: arb) -> tuple[ReadableDyadic, ReadableDyadic]:
    """Dyadic numbers of the current precision outside of two bounds, in less time than by one that is checked.

    Raises: InconsistentEnclosures where the bounds are not in order or not finite.
    """
    low, high = lower.lower(), upper.upper()
    if not (low.is_finite() and high.is_finite() and low <= high):
        raise InconsistentEnclosures(f"no number is at least {lower} and at most {upper}")
    return _unchecked(low), _unchecked(high)


def _unchecked(end: arb) -> ReadableDyadic:
    """The number of an exact finite ball: its mantissa is odd, or it is 0 with exponent 0."""
    found, (mantissa, exponent) = object.__new__(ReadableDyadic), end.man_exp()
    vars(found).update(mantissa=int(mantissa), exponent=int(exponent), is_infinite=False)
    return found


def ball_of(value: End) -> arb:
    """The ball of an end, exact for a dyadic one."""
    if isinstance(value, Ratio):
        return ball(value)
    return arb.pos_inf() if value.is_infinite else arb((value.mantissa, value.exponent))
