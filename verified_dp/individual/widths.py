"""How narrow an interval is asked to be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number, positive

LEAST_EPSILON = 1e-3
"""A smaller epsilon is asked as accurately as this one."""
LEAST_DELTA = Fraction(1, 10**280)
"""Where a smaller one is asked for, records are enclosed one by one only; and a smaller one is found as accurately."""


def sizes(quantity: str, upper: np.ndarray) -> np.ndarray:
    """What an interval's width is compared with: its upper end, or a least size."""
    found: np.ndarray = np.maximum(upper, LEAST_EPSILON if quantity == "epsilon" else float(LEAST_DELTA))
    return found


def narrow(quantity: str, lower: np.ndarray, upper: np.ndarray, width: float) -> np.ndarray:
    """Which intervals are as narrow as asked."""
    return np.isfinite(upper) & (upper - lower <= width * sizes(quantity, upper))


def checked_width(width: Number) -> Fraction:
    """The width asked of an interval, relative to its upper end."""
    value = positive(width, "width")
    if value >= 1:
        raise InvalidInput("width", width, "in (0, 1), as a share of the interval's upper end")
    return value
