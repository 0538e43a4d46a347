"""Floating-point choices for epochs of random allocation: a line of either order, or of the swapped one (T168, T16)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from verified_dp.core.engines.closed import is_single
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.search.frequencies import choose_period
from verified_dp.search.lattice_model import LatticeModel, LawModel
from verified_dp.search.line import dyadic
from verified_dp.search.transforms import log_sums

_TILTS = np.geomspace(0.2, 30, 20)
"""Tilts that are tried, in units of 1 / the standard deviation of the whole loss."""
_SHARE = math.log(5)
"""Each error may be so many times less than all."""
_BAND_SECONDS, _PLACE_SECONDS, _TERM_SECONDS = 0.013, 1e-3, 1e-7
"""Of a hyperbola and of the density at a place at 128 bits, of a place at a frequency."""
_MOST_FREQUENCIES = 10**5
_HIGHEST = 36
"""Exponents of the remove order's own lines: whole moments are taken a little farther."""


def has_epochs(loss: ComposedLoss) -> bool:
    """Whether there are several epochs of random allocation, or one beside Gaussian steps, and nothing else."""
    return bool(loss.parts) and not is_single(loss) and all(
        isinstance(law, RandomAllocationLoss) for law, _ in loss.parts)


@dataclass(frozen=True)
class EpochsPlan:
    """A line and the seconds it should take."""

    witness: LineWitness
    seconds: float


@dataclass(frozen=True)
class Tilted:
    """What a line at one tilt takes: its period with the exponents that bound aliases, its last frequency, bits."""

    tilt: float
    period: float
    right: float
    left: float
    omega: float
    bits: float
    seconds: float

    def plan(self, swapped: bool) -> EpochsPlan:
        """swapped: the line is read for the other order."""
        tilt, step = dyadic(self.tilt, 12), dyadic(2 * math.pi / self.period * (1 - 2.0**-10), 12)
        witness = LineWitness(tilt=-1 - tilt if swapped else tilt, step=step, count=math.ceil(self.omega / float(step)),
                              nodes=(), tail_nodes=(), right=dyadic(self.right, 12), left=dyadic(self.left, 12),
                              prec=math.ceil(self.bits) + 24)
        return EpochsPlan(witness, self.seconds)


def plan_epochs(model: LatticeModel, place: float, goal: float, swapped: bool) -> EpochsPlan | None:
    """A line for D(place) to about e^goal, in the cheapest of some tilts; None where none is to be had."""
    scale = 1 / math.sqrt(max(model.cumulants(1e-3)[2], 1e-300))
    found = (_at_tilt(model, place, goal - _SHARE, scale * x) for x in _TILTS)
    best = min((one for one in found if one is not None), key=lambda one: one.seconds, default=None)
    return None if best is None else best.plan(swapped)


def _at_tilt(model: LatticeModel, place: float, goal: float, tilt: float) -> Tilted | None:
    tilt = float(dyadic(tilt, 12))
    size = model.cumulants(tilt)[0] - tilt * place
    if not goal < size < 1e5:
        return None
    period, right, left = choose_period(model, place, tilt, goal)
    if model.loss.order == "remove":
        if right > _HIGHEST:
            return None
        period, right, left = _by_whole_moments(model, place, tilt, goal)
    variance = float(model.loss.mean_shift_squared) + sum(count * float(law.on_line.part.variance)
                                                          for law, count in _allocated(model))
    omega = math.sqrt(2 * (size - goal + 1) / variance)
    bits = (size - goal) / math.log(2) + math.log2(sum(count for _, count in model.parts)) + 2
    count = omega * period / (2 * math.pi)
    if not (period > 0 and bits < 1e5 and count < _MOST_FREQUENCIES):
        return None
    seconds = float(sum(_seconds(law, tilt, omega, bits, count) for law, _ in model.parts
                        if isinstance(law.law, RandomAllocationLoss)))
    return Tilted(tilt, period, right, left, omega, bits, seconds)


def _by_whole_moments(model: LatticeModel, place: float, tilt: float, goal: float) -> tuple[float, float, float]:
    """As `choose_period`, by the exponents at which moments are known exactly: whole ones."""
    exponents = np.arange(_HIGHEST)
    logs = sum(count * log_sums(law.log_masses + exponents[:, None] * law.points) for law, count in model.parts)
    lengths = (logs - exponents * place - goal) / np.abs(exponents - tilt + (exponents == tilt) * 1e-9)
    above = exponents > tilt
    right, left = (int(exponents[some][lengths[some].argmin()]) for some in (above, ~above & (exponents < tilt)))
    return float(max(lengths[right], lengths[left])), float(right), float(left)


def _allocated(model: LatticeModel) -> list[tuple[RandomAllocationLoss, int]]:
    return [(law, count) for law, count in model.loss.parts if isinstance(law, RandomAllocationLoss)]


def _seconds(model: LawModel, tilt: float, omega: float, bits: float, count: float) -> float:
    """Of the places where e^{cx} p(x) matters, the hyperbolas that they share, and all frequencies."""
    law = model.law
    assert isinstance(law, RandomAllocationLoss)
    logs = model.log_masses + tilt * model.points - np.log(np.gradient(model.points))
    near = model.points[logs > logs.max() - bits * math.log(2)]
    variance = float(law.on_line.part.variance)
    places = 2 + float(near[-1] - near[0]) * (omega + math.sqrt(2 * bits * math.log(2) / variance)) / (2 * math.pi)
    sums = near if law.order == "remove" else -near[::-1]
    deviation = math.sqrt(math.log1p(math.expm1(min(2 * float(law.on_line.part.most), 600.0)) / law.rounds))
    cells = np.clip(np.maximum(np.where(sums < 0, deviation, 2 * deviation), sums / 4), None, 0.5) / 1.5
    bands = min(places, 1 + float((np.diff(sums) / cells[:-1]).sum()))
    cancelled = max(float(sums[-1]) * 1.5, 0.0)
    prec = (1.7 * bits + cancelled + 32) / 128
    return prec**1.3 * (_BAND_SECONDS * bands + _PLACE_SECONDS * places) + _TERM_SECONDS * places * count * bits / 50
