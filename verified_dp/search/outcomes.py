"""Floating-point choices for laws of atoms on no grid: the line, the frequencies summed, the cells of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.covers import Atoms, Gaussian, TooMany, choose_band
from verified_dp.search.frequencies import choose_period
from verified_dp.search.lattice_model import FLOOR, LatticeModel, farthest_listed
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle

MOST_ATOMS = 6000
"""Of one step; more of them are nearly a density, which a lattice of cells describes better."""
_MOST_CELLS = 200_000
_SECONDS, _CELL_SECONDS, _BLOCK = 6e-7, 7e-6, 50
"""Of an atom at one frequency, a third in a cell; of a cell beside; frequencies that a block of cells costs."""
_LIGHT = 1 / 64
"""Of one step's mass, over their number: what cells do not look at on either side."""
_LESS = 3.0
"""How far, in logarithms, what costs little lies below the error of the frequencies."""
_FEWEST_BITS = 6.0
"""No fewer are tried for."""


def has_listed(loss: ComposedLoss) -> bool:
    """Whether all laws beside Gaussians are made of few enough atoms."""
    listed = all(law.lists(10**9) for law, _ in loss.parts)
    return listed and bool(loss.parts) and all(_count_atoms(law) <= MOST_ATOMS for law, _ in loss.parts)


def _count_atoms(law: Law) -> int:
    """About how many outcomes there are that matter."""
    return law.outcomes if isinstance(law, AtomicLaw) else 2 * farthest_listed(law, FLOOR) or MOST_ATOMS + 1


def _curves(model: LatticeModel, tilt: float) -> tuple[list[Atoms], tuple[tuple[Fraction, Fraction], ...]]:
    """Of the laws that are listed, and the losses between which cells look at them."""
    found, windows = list[Atoms](), list[tuple[Fraction, Fraction]]()
    for law, count in model.parts[:len(model.loss.parts)]:
        logs, points = law.log_masses + tilt * law.points, law.points
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean = float(weights @ points)
        deviation = math.sqrt(max(float(weights @ (points - mean)**2), 1e-300))
        sums = np.cumsum(weights)
        first, last = np.searchsorted(sums, [light := _LIGHT / count, sums[-1] - light])
        all_points = np.concatenate([points[:1] - 1, points, points[-1:] + 1])
        windows.append((dyadic(all_points[first] + points[first]) / 2, dyadic(points[last] + all_points[last + 2]) / 2))
        near = slice(first, last + 1)
        found.append(Atoms(points[near] - mean, weights[near], count, 1 - float(weights[near].sum()), deviation))
    return found, tuple(windows)


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
    (curves, windows), smooth = _curves(model, float(tilt)), Gaussian(float(model.loss.mean_shift_squared))
    size = model.cumulants(float(tilt))[0] - float(tilt) * epsilon
    atoms = sum(len(curve.points) for curve in curves)
    most = min(_MOST_CELLS, int(seconds / (atoms * _SECONDS / 3 + _CELL_SECONDS)) + 100)
    while True:
        goal = saddle.log_delta - bits * math.log(2) - math.log(2.0)
        length, right, left = choose_period(model, epsilon, float(tilt), goal - _LESS)
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
    floor = goal - _LESS - math.log(sum(curve.count for curve in curves))
    reaches = tuple(farthest_listed(part.law, floor) for part, _ in model.parts[:len(curves)])
    cells = sum(cells for cells, _ in band.cells)
    return OutcomesPlan(
        LineWitness(tilt, step, band.count, (), (), dyadic(right, 12), dyadic(left, 12), sharp, reaches, band.cells,
                    windows if band.cells else ()),
        float(reached), atoms * (band.count + len(band.cells) * _BLOCK + cells / 3) * _SECONDS + cells * _CELL_SECONDS)
