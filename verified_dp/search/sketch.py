"""delta in doubles: the sum along a line without any bound, to say where delta lies before it is enclosed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from verified_dp.search.line import LinePlan, plan_line
from verified_dp.search.models import FloatLoss
from verified_dp.search.saddle import Saddle
from verified_dp.search.transforms import FloatLaw

BITS = 12.0
"""Relative accuracy asked of a sketch."""
LOST = 5.0
"""Bits by which delta may lie below its estimate before the line is chosen again."""
MOST_CELLS = 400_000
"""Frequencies times places of at most two laws: beyond, the kernel is asked instead."""
MOST_EXCESS = 20.0
"""Bits of doubles that a sum may lose for a tilt left of the saddle point."""
_CHUNK = 2**16
_NOISE = 1e-11
"""A sum below this share of its largest term is lost in the rounding of doubles."""


@dataclass(frozen=True)
class Sketch:
    """delta(eps) = e^{log_scale - c eps} Re sum_m terms_m e^{-i w_m eps}."""

    tilt: float
    frequencies: np.ndarray
    terms: np.ndarray
    log_scale: float

    def log_delta(self, epsilon: float) -> float:
        """log delta(eps); nan where the sum is lost in its error."""
        total = float((self.terms * np.exp(-1j * self.frequencies * epsilon)).real.sum())
        lost = total < _NOISE * abs(self.terms[0])
        return math.nan if lost else self.log_scale - self.tilt * epsilon + math.log(total)


def choose_sketch(loss: FloatLoss, epsilon: float, saddle: Saddle) -> Sketch | None:
    """A sketch near eps; None where a law has no model of its transform, or the sum would be long."""
    if loss.direct:
        return None
    near = saddle
    for _ in range(4):
        plan = plan_line(loss, epsilon, near, BITS)
        if plan.excess > MOST_EXCESS:
            plan = plan_line(loss, epsilon, near, BITS, (1.0,))
        if plan.count * 160 * min(len(loss.parts), 2) > MOST_CELLS:
            return None
        found = _sum(loss, plan)
        log_delta = found.log_delta(epsilon)
        if log_delta > near.log_delta - LOST * math.log(2):
            return found
        below = near.log_delta - (2 * BITS * math.log(2) if math.isnan(log_delta) else 0.0)
        near = replace(near, log_delta=below if math.isnan(log_delta) else log_delta)
    return None


def _sum(loss: FloatLoss, plan: LinePlan) -> Sketch:
    w = plan.step * np.arange(plan.count + 1)
    z, half = plan.tilt + 1j * w, loss.mean_shift_squared / 2
    logs = half * (z * (z + 1) - plan.tilt * (plan.tilt + 1)) + sum(
        count * _log_ratio(law, plan.tilt, w) for law, count in loss.parts)
    terms = np.exp(logs) / (z * (z + 1)) * np.where(w > 0, 2.0, 1.0)
    return Sketch(plan.tilt, w, terms, loss.cumulants(plan.tilt)[0] + math.log(plan.step / (2 * math.pi)))


def _log_ratio(law: FloatLaw, tilt: float, w: np.ndarray) -> np.ndarray:
    """log M(c + iw) / M(c), any branch."""
    base, loss = law.exponents(law.grid(tilt))
    exponent = base + tilt * loss
    weights = np.exp(exponent - exponent.max())
    weights, rows = weights / weights.sum(), max(1, _CHUNK // len(loss))
    parts = np.array_split(w, -(-len(w) // rows))
    with np.errstate(divide="ignore"):
        return np.log(np.concatenate([(np.exp(1j * np.outer(part, loss)) * weights).sum(axis=1) for part in parts]))
