"""Floating-point choices for laws of atoms on no grid: the line, the frequencies summed, the cells of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.covers import Atoms, Gaussian, TooMany, choose_band
from verified_dp.search.frequencies import choose_period
from verified_dp.search.lattice_model import FLOOR, LatticeModel, farthest_outcome
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle

MOST_ATOMS = 6000
"""Of one step; more of them are nearly a density, which a lattice of cells describes better."""
_MOST_CELLS = 200_000
_SECONDS, _CELL_SECONDS, _BLOCK = 6e-7, 1.5e-5, 50
"""Of an atom at one frequency, a third in a cell; of a cell beside; frequencies that a block of cells costs."""
_FEWEST_BITS = 6.0
"""No fewer are tried for."""


def has_listed(loss: ComposedLoss) -> bool:
    """Whether all laws beside Gaussians are made of few enough atoms."""
    listed = all(law.lists(10**9) for law, _ in loss.parts)
    return listed and bool(loss.parts) and all(_count_atoms(law) <= MOST_ATOMS for law, _ in loss.parts)


def _count_atoms(law: Law) -> int:
    """About how many outcomes there are that matter."""
    noise = law.base if isinstance(law, SampledLoss) else law
    if isinstance(noise, DiscreteGaussianLoss):
        return 2 * farthest_outcome(noise, FLOOR)
    return law.outcomes if isinstance(law, AtomicLaw) else MOST_ATOMS + 1


def _curves(model: LatticeModel, tilt: float) -> list[Atoms]:
    """Of the laws that are listed."""
    found = []
    for law, count in model.parts[:len(model.loss.parts)]:
        logs = law.log_masses + tilt * law.points
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        seen = weights > 1e-18
        points, weights = law.points[seen], weights[seen]
        found.append(Atoms(points - float(weights @ points), weights, count))
    return found


@dataclass(frozen=True)
class OutcomesPlan:
    """A witness, log2 of the relative width that its frequencies should leave, and seconds."""

    witness: LineWitness
    bits: float
    seconds: float


def plan_outcomes(model: LatticeModel, epsilon: float, saddle: Saddle, bits: float,
                  seconds: float) -> OutcomesPlan | None:
    """A witness for delta(eps) to about 2^-bits, or to what so many seconds allow; None where nothing is gained."""
    tilt = dyadic(saddle.tilt, 12)
    curves, smooth = _curves(model, float(tilt)), Gaussian(float(model.loss.mean_shift_squared))
    size = model.cumulants(float(tilt))[0] - float(tilt) * epsilon
    atoms = sum(len(curve.points) for curve in curves)
    most = min(_MOST_CELLS, int(seconds / (atoms * _SECONDS / 3 + _CELL_SECONDS)) + 100)
    while True:
        goal = saddle.log_delta - bits * math.log(2) - math.log(6)
        length, right, left = choose_period(model, epsilon, float(tilt), goal)
        if not (0 < length < math.inf):
            return None
        step = dyadic(2 * math.pi / length * (1 - 2.0**-10), 12)
        try:
            band = choose_band([*curves, smooth], float(step), float(tilt), goal - size, most)
            break
        except TooMany as many:
            bits = min(0.9 * bits, bits - 2 * math.log2(many.times) + 2)
            if bits < _FEWEST_BITS:
                return None
    if band is None:
        return None
    reached = (saddle.log_delta - np.logaddexp(band.log_rest + size, goal)) / math.log(2) - 1
    sharp = math.ceil(max(bits, 8.0) + (size - saddle.log_delta) / math.log(2)
                      + 2 * math.log2(sum(curve.count for curve in curves) + 1) + math.log2(band.count + 2)) + 40
    reaches = tuple(0 if isinstance(part.law, AtomicLaw) else len(part.points) // 2
                    for part, _ in model.parts[:len(curves)])
    cells = sum(cells for cells, _ in band.cells)
    return OutcomesPlan(
        LineWitness(tilt, step, band.count, (), (), dyadic(right, 12), dyadic(left, 12), sharp, reaches, band.cells),
        float(reached), atoms * (band.count + len(band.cells) * _BLOCK + cells / 3) * _SECONDS + cells * _CELL_SECONDS)
