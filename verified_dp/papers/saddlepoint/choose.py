"""Choose the tilts at which the tilted normal approximation is tried."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from verified_dp.search.line import dyadic
from verified_dp.search.models import FloatLoss


def choose_tilts(model: FloatLoss, epsilon: float, saddle: float) -> list[Fraction]:
    """Tilts worth trying for the rigorous interval: from the least prefactor of its error up to the saddle point."""
    low = max(_chernoff_tilt(model, epsilon, saddle), saddle / 2)  # the rules serve no smaller tilts
    return [dyadic(t) for t in np.linspace(low, saddle, 3)]


def _chernoff_tilt(model: FloatLoss, epsilon: float, saddle: float) -> float:
    """(44): K'(t) = eps + log(1 + 1/t), which lies below the saddle point."""
    low, high = saddle * 1e-3, saddle
    for _ in range(12):
        middle = math.sqrt(low * high)
        _, mean, _ = model.cumulants(middle)
        low, high = (middle, high) if mean < epsilon + math.log1p(1 / middle) else (low, middle)
    return high
