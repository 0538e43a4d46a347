"""What is known of every record's loss: two arrays of exact ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class IndividualLosses:
    """lower_i <= x_i <= upper_i for every record, x = "epsilon" at `given` = delta, or "delta" at `given` = epsilon.

    The doubles are exact ends; upper may be inf. seconds: time spent. lines, distinct: how many tables and kinds of
    records it took.
    """

    quantity: str
    given: str
    records: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    seconds: float
    lines: int
    distinct: int

    @property
    def relative_width(self) -> np.ndarray:
        """(upper - lower) / upper, 0 where both are 0."""
        size = np.where(np.isfinite(self.upper) & (self.upper > 0), self.upper, 1.0)
        return np.where(np.isinf(self.upper), 1.0, (self.upper - self.lower) / size)
