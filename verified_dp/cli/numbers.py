"""Short decimals of proved numbers, cut or rounded so that a reader never sees more than what is proved."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.enclosure import Enclosure


def slack(claimed: Fraction, epsilon: Enclosure) -> str:
    """How far the claimed epsilon is above the true one, "0.62", or below it, "-0.0012"; "" if unknown.

    Rounded towards zero, so that neither the slack nor what is missing is overstated.
    """
    try:
        if epsilon.upper <= claimed:
            return _shown(claimed - epsilon.upper.as_fraction(), ROUND_FLOOR)
        if epsilon.lower > claimed:
            return _shown(claimed - epsilon.lower.as_fraction(), ROUND_CEILING)
    except InvalidInput:  # an end too close to 0 to be written as a fraction
        pass
    return ""


def _shown(number: Fraction, rounding: str) -> str:
    """Three significant digits."""
    ratio = Context(prec=3, rounding=rounding).divide(Decimal(number.numerator), Decimal(number.denominator))
    text = f"{ratio:e}" if ratio.adjusted() < -4 else str(ratio)
    return text.lower().replace("e+", "e")

