"""delta in doubles: the sum along a line without any bound, to say where delta lies before it is enclosed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from verified_dp.search.line import Shape, choose_cutoff, choose_shape, log_error
from verified_dp.search.models import FloatAlternatives, FloatLoss
from verified_dp.search.saddle import Saddle
from verified_dp.search.transforms import FloatLaw

BITS = 22.0
"""Relative accuracy asked of a sketch."""
LOST = 12.0
"""Bits by which delta may lie below its estimate before the line is chosen again."""
MOST_CELLS = 400_000
"""Frequencies times places of at most two laws: beyond, the kernel is asked instead."""
MOST_EXCESS = 20.0
"""Bits of doubles that a sum may lose for a tilt left of the saddle point."""
_FINE = 160
"""Points of an integral."""
_NOISE = 1e-11
"""A sum below this share of its largest term is lost in the rounding of doubles."""


@dataclass(frozen=True)
class Sketch:
    """delta(eps) = e^{log_scale - c eps} Re sum_m terms_m e^{-i w_m eps} less the known aliases, if any (T157)."""

    tilt: float
    frequencies: np.ndarray
    terms: np.ndarray
    log_scale: float
    knows: bool
    closeness: ClassVar[float] = 1e-5
    """About how far log delta may be off."""

    def log_delta(self, epsilon: float) -> float:
        """log delta(eps); nan where the sum is lost in its error."""
        total = float((self.terms * np.exp(-1j * self.frequencies * epsilon)).real.sum())
        if self.knows:
            period = 2 * math.pi / self.frequencies[1]
            total += self._alias(self.tilt + 1, epsilon, period) - self._alias(self.tilt, epsilon, period)
        lost = not _NOISE * abs(self.terms[0]) <= total < math.inf
        return math.nan if lost else self.log_scale - self.tilt * epsilon + math.log(total)

    def _alias(self, tilt: float, epsilon: float, period: float) -> float:
        """e^{tilt eps - log_scale} / (e^{tilt period} - 1); inf where it is too large."""
        with np.errstate(over="ignore"):
            return float(np.exp(tilt * (epsilon - period) - self.log_scale)) / -math.expm1(-tilt * period)


@dataclass(frozen=True)
class Enumerated:
    """delta of few steps from all their outcomes: half of the steps against the sorted losses of the others.

    floor: log of masses that are left out. above, below: logs of the P and Q masses from a loss of the others on.
    """

    floor: float
    losses: np.ndarray
    masses: np.ndarray
    sorted_losses: np.ndarray
    above: np.ndarray
    below: np.ndarray
    closeness: ClassVar[float] = 1e-9

    @classmethod
    def of(cls, laws: list[tuple[np.ndarray, np.ndarray]], floor: float) -> Enumerated | None:
        """Of (losses, log masses) of every step; None where they are too many."""
        halves = []
        for own in (laws[::2], laws[1::2]):
            losses, logs = np.zeros(1), np.zeros(1)
            for points, masses in own:
                near = masses > floor
                if len(losses) * int(near.sum()) > _MOST_ITEMS:
                    return None
                losses, logs = np.add.outer(losses, points[near]).ravel(), np.add.outer(logs, masses[near]).ravel()
                seen = logs > floor
                losses, logs = losses[seen], logs[seen]
            halves.append((losses, logs))
        (losses, masses), (more, others) = halves[::-1]
        order = np.argsort(more)
        more, others = more[order], others[order]
        above, below = (np.append(np.logaddexp.accumulate(one[::-1])[::-1], -np.inf) for one in (others, others - more))
        return cls(floor, losses, masses, more, above, below)

    def log_delta(self, epsilon: float) -> float:
        """log delta(eps); nan where it is lost in the rounding of doubles, or in what is left out."""
        rest = epsilon - self.losses
        places = np.searchsorted(self.sorted_losses, rest, "right")
        above = self.masses + self.above[places]
        top = float(above.max(initial=-np.inf))
        if top == -math.inf:
            return math.nan
        with np.errstate(invalid="ignore"):
            sizes = np.exp(above - top)
            total = float(np.nansum(sizes * -np.expm1(rest + self.below[places] - self.above[places])))
        found = top + math.log(total) if total > _NOISE * float(sizes.sum()) else -math.inf
        return found if found > self.floor + _LEFT_OUT else math.nan


_MOST_ITEMS, _LEFT_OUT = 2 * 10**6, 12.0
"""Of each half; how far log delta is above the masses that are left out."""


def choose_sketch(loss: FloatLoss, epsilon: float, saddle: Saddle) -> Sketch | None:
    """A sketch near eps; None where a law has no model of its transform, or the sum would be long."""
    if loss.direct:
        return None
    near = saddle
    for _ in range(4):
        shape = choose_shape(loss, epsilon, near, BITS, MOST_EXCESS)
        omega = choose_cutoff(loss, epsilon, shape.tilt, log_error(near, BITS))
        count = math.ceil(omega * shape.period / (2 * math.pi))
        if count * max(160 * min(len(loss.laws), 2), 1) > MOST_CELLS:
            return None
        found = _sum(loss, shape, count)
        log_delta = found.log_delta(epsilon)
        if log_delta > near.log_delta - LOST * math.log(2):
            return found
        below = near.log_delta - (2 * BITS * math.log(2) if math.isnan(log_delta) else 0.0)
        near = replace(near, log_delta=below if math.isnan(log_delta) else log_delta)
    return None


def _sum(loss: FloatLoss, shape: Shape, count: int) -> Sketch:
    c, w = shape.tilt, 2 * math.pi / shape.period * np.arange(max(count, 1) + 1)
    z, half = c + 1j * w, loss.mean_shift_squared / 2
    logs = half * (z * (z + 1) - c * (c + 1)) + sum(count * _log_ratio(law, c, w) for law, count in loss.parts)
    logs = logs + sum(one.count * _log_average(one, c, w) for one in loss.revealed)
    terms = np.exp(logs) / (z * (z + 1)) * np.where(w > 0, 2.0, 1.0)
    return Sketch(c, w, terms, loss.cumulants(c)[0] - math.log(shape.period), shape.left < 0)


def _log_average(one: FloatAlternatives, tilt: float, w: np.ndarray) -> np.ndarray:
    """The same of a law that is one of several."""
    scale = one.cumulants(tilt)[0]
    total = sum(np.exp(share + family.leader.cumulants(tilt)[0] - scale + _log_ratio(family.leader, tilt, w))
                for share, family in zip(one.log_shares.tolist(), one.families, strict=False))
    if one.rest is not None:
        total = total + math.exp(one.log_shares[-1] + one.rest.cumulants(tilt)[0] - scale) * one.rest.ratios(tilt, w)
    return np.asarray(np.log(total))


def _log_ratio(law: FloatLaw, tilt: float, w: np.ndarray) -> np.ndarray:
    """log M(c + iw) / M(c), any branch, at equally spaced w from 0 on: by baby and giant steps.

    No product of matrices: its threads cost more than they save.
    """
    base, loss = law.exponents(law.grid(tilt, _FINE))
    exponent = base + tilt * loss
    weights, babies = np.exp(exponent - exponent.max()), math.isqrt(len(w)) + 1
    small, large = (np.exp(1j * np.outer(part, loss)) for part in (w[:babies], w[::babies]))
    with np.errstate(divide="ignore"):
        return np.log(np.einsum("ij,kj->ik", large * (weights / weights.sum()), small).ravel()[:len(w)])
