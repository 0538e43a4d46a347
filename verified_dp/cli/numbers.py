"""Short decimals of proved numbers, cut or rounded so that a reader never sees more than what is proved."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from verified_dp.core.errors import InvalidInput
from verified_dp.enclosure import Enclosure

_PLACES = 40
"""A claim printed with more decimals than this gets no suggestion."""


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


def next_claim(text: str, epsilon: Enclosure) -> str:
    """The smallest epsilon, with as many decimals as the claim's text, that is proved to hold; "" if unknown.

    It is the upper end rounded up, because delta(eps) does not grow with eps.
    """
    mantissa, _, power = text.strip().lower().partition("e")
    if "/" in text or epsilon.upper.is_infinite or len(power) > 3:
        return ""
    places = len(mantissa.partition(".")[2]) - int(power or "0")
    if not 0 <= places <= _PLACES:
        return ""
    units = math.ceil(epsilon.upper.as_fraction() * 10**places)
    return f"{Decimal(units).scaleb(-places):f}"
