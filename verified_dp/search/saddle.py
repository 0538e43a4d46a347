"""The saddle point of K(c) - c eps - log c - log(1+c), and the first-order size of delta that it gives."""

import math
from dataclasses import dataclass

from verified_dp.search.transforms import FloatLoss


@dataclass(frozen=True)
class Saddle:
    """tilt c; log_delta: log of the saddle-point estimate; curvature of the exponent at c."""

    tilt: float
    log_delta: float
    curvature: float


def choose_saddle(loss: FloatLoss, epsilon: float, start: float = 1.0) -> Saddle:
    """Choose the tilt by safeguarded Newton steps (to a percent: it only sets the width)."""
    low, high, c = 1e-9, 1e9, start
    for _ in range(200):
        slope = loss.cumulants(c)[1] - epsilon - 1 / c - 1 / (1 + c)
        low, high = (low, c) if slope > 0 else (c, high)
        bend = loss.cumulants(c)[2] + 1 / c**2 + 1 / (1 + c) ** 2
        step = slope / (c * bend)
        moved = c * math.exp(-step) if abs(step) < 2 else math.nan
        if not low < moved < high:
            moved = math.sqrt(low * high) if high < 1e9 and low > 1e-9 else (4 * c if slope < 0 else c / 4)
        done = abs(moved - c) < 2e-3 * c
        c = moved
        if done or not 1e-9 < c < 1e9:
            break
    return saddle_at(loss, epsilon, min(max(c, 1e-9), 1e9))


def saddle_at(loss: FloatLoss, epsilon: float, tilt: float) -> Saddle:
    """The first-order estimate at a given tilt."""
    k0, _, k2 = loss.cumulants(tilt)
    curvature = k2 + 1 / tilt**2 + 1 / (1 + tilt) ** 2
    log_delta = k0 - tilt * epsilon - math.log(tilt) - math.log1p(tilt) - 0.5 * math.log(2 * math.pi * curvature)
    return Saddle(tilt, log_delta, curvature)
