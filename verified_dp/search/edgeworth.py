"""What the Edgeworth accountant is free to choose: the remainder's parameter and the tilt. Any choice is valid."""

from __future__ import annotations

from fractions import Fraction

from verified_dp.kernel.edgeworth_remainder import Ratios, bound_remainder
from verified_dp.search.line import dyadic

LARGEST_TILT = 1000.0
TILT_BITS = 4


def choose_free(ratios: Ratios) -> Fraction:
    """Choose the remainder's parameter in (0, 1/3): the best hundredth."""
    candidates = [Fraction(k, 100) for k in range(1, 33)]
    return min(candidates, key=lambda free: float(bound_remainder(ratios, free)))


def round_tilt(saddle: float) -> Fraction:
    """Choose a tilt near the saddle point, with few digits, so that nearby eps share it."""
    return dyadic(min(max(saddle, 1 / LARGEST_TILT), LARGEST_TILT), TILT_BITS)
