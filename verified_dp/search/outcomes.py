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
from verified_dp.search.deadline import check_time
from verified_dp.search.lattice_model import FLOOR, LatticeModel, farthest_outcome
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle
from verified_dp.search.sparse import choose_period

MOST_ATOMS = 2000
"""Of one step; more of them are nearly a density, which a lattice of cells describes better."""
_MOST_CELLS = 200_000
_CHUNK = 128
"""Cells of equal width that are tried at once."""
_MOST_SUMMED = 6000
_SECONDS = 6e-7
"""Of one atom at one frequency or in one cell."""
_BEND = 0.3
"""Cells as wide as this over a step's standard deviation are nearly as good as points."""


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


@dataclass(frozen=True)
class _Curve:
    """One step's tilted law, of mass 1."""

    points: np.ndarray
    weights: np.ndarray
    count: float

    @property
    def variance(self) -> float:
        return float(self.weights @ self.points**2)

    def log_bounds(self, frequencies: np.ndarray, width: float) -> np.ndarray:
        """count log of the bound of |M| on [w, w + width]; width 0: log|M| itself."""
        turns = np.exp(1j * np.multiply.outer(frequencies, self.points))
        value, slope = turns @ self.weights, turns @ (self.weights * self.points)
        square = np.abs(value) ** 2
        fall = 2 * width * (slope.real * value.imag - slope.imag * value.real)
        bound = np.maximum(square, square + fall + self.variance * width**2)
        return np.asarray(self.count * np.log(np.maximum(np.minimum(bound, 1.0), 1e-300)) / 2)


@dataclass(frozen=True)
class _Gaussian:
    """The Gaussian steps."""

    variance: float
    count: float = 1.0

    def log_bounds(self, frequencies: np.ndarray, width: float) -> np.ndarray:
        """log of |M|, which falls."""
        return np.asarray(-self.variance * frequencies**2 / 2)


def _curves(model: LatticeModel, tilt: float) -> list[_Curve]:
    """Of the laws that are listed."""
    found = []
    for law, count in model.parts[:len(model.loss.parts)]:
        logs = law.log_masses + tilt * law.points
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        seen = weights > 1e-18
        points, weights = law.points[seen], weights[seen]
        found.append(_Curve(points - float(weights @ points), weights, count))
    return found


@dataclass(frozen=True)
class OutcomesPlan:
    """A witness, log2 of the relative width that its frequencies should leave, and seconds."""

    witness: LineWitness
    bits: float
    seconds: float


def plan_outcomes(model: LatticeModel, epsilon: float, saddle: Saddle, bits: float,
                  seconds: float, stretch: float = 0.0) -> OutcomesPlan | None:
    """A witness for delta(eps) to about 2^-bits, or to what so many seconds allow; None where nothing is gained.

    stretch: how much larger eps is at most, where errors may fall with e^{-tilt eps} as far.
    """
    tilt = dyadic(saddle.tilt, 12)
    curves, smooth = _curves(model, float(tilt)), _Gaussian(float(model.loss.mean_shift_squared))
    size = model.cumulants(float(tilt))[0] - float(tilt) * epsilon
    goal = saddle.log_delta - bits * math.log(2) - math.log(6)
    length, right, left = choose_period(model, epsilon, float(tilt), goal)
    if not (0 < length < math.inf):
        return None
    step = dyadic(2 * math.pi / (length + stretch) * (1 - 2.0**-10), 12)
    atoms = sum(len(curve.points) for curve in curves)
    most = min(_MOST_CELLS, int(seconds / (2 * atoms * _SECONDS)) + 100)
    chosen = _choose_cells([*curves, smooth], float(step), goal - size, most)
    if chosen is None:
        return None
    count, cover, log_left = chosen
    reached = (saddle.log_delta - np.logaddexp(log_left + size, goal)) / math.log(2) - 1
    sharp = math.ceil(max(bits, 8.0) + (size - saddle.log_delta) / math.log(2)
                      + 2 * math.log2(sum(curve.count for curve in curves) + 1) + math.log2(count + 2)) + 40
    reaches = tuple(0 if isinstance(part.law, AtomicLaw) else len(part.points) // 2
                    for part, _ in model.parts[:len(curves)])
    cells = sum(cells for cells, _ in cover)
    return OutcomesPlan(
        LineWitness(tilt, step, count, (), (), dyadic(right, 12), dyadic(left, 12), sharp, reaches, cover),
        float(reached), atoms * (count + 2 * cells) * _SECONDS)


def _choose_cells(curves: list[_Curve | _Gaussian], step: float, goal: float,
                  most: int) -> tuple[int, tuple[tuple[int, int], ...], float] | None:
    """(frequencies summed, cells, log of what all others add, over M(c)): until what is beyond is below e^goal.

    The last curve is the Gaussian steps'.

    Cells are as wide as a step's spread allows, at most a share of their frequency: narrower where the bound is large.
    """
    count = _last_summed(curves, step, goal)
    if count is None:
        return None
    usual = _BEND / math.sqrt(max(curve.variance * min(curve.count, 1.0) for curve in curves)) / step
    place, cells, blocks, logs = count, 0, list[list[int]](), [-math.inf]
    while _log_beyond(curves[-1], step, place) > goal and cells < most:
        check_time()
        stride = max(min(int(usual), place // 16), 1)
        while True:
            number = 1 if stride < int(usual) // 2 else _CHUNK
            firsts = place + stride * np.arange(number)
            bounds = sum((curve.log_bounds(step * firsts, step * stride) for curve in curves), np.zeros(number))
            adds = bounds + math.log(stride / math.pi / step) - 2 * np.log(firsts)
            good = adds < goal - 2 * np.log(cells + 2 + np.arange(number))
            fitting = number if good.all() else int(good.argmin())
            if fitting or stride == 1:
                break
            stride = max(stride // 4, 1)
        fitting = max(fitting, 1)
        logs.append(float(np.logaddexp.reduce(adds[:fitting])))
        if blocks and blocks[-1][1] == stride:
            blocks[-1][0] += fitting
        else:
            blocks.append([fitting, stride])
        place, cells = place + fitting * stride, cells + fitting
    beyond = _log_beyond(curves[-1], step, place)
    return count, tuple((cells, stride) for cells, stride in blocks), float(np.logaddexp.reduce([*logs, beyond]))


def _log_beyond(smooth: _Curve | _Gaussian, step: float, place: int) -> float:
    """log of what is past a frequency, by the Gaussian steps alone."""
    return float(smooth.log_bounds(np.array([step * place]), 0.0)[0]) - math.log(math.pi * step * place)


def _last_summed(curves: list[_Curve | _Gaussian], step: float, goal: float) -> int | None:
    """The first frequency past which a stretch as long as all before adds little; None where there is none."""
    frequencies = np.arange(1, _MOST_SUMMED + 1)
    logs = sum((curve.log_bounds(step * frequencies, 0.0) for curve in curves), np.zeros(len(frequencies)))
    small = logs - 2 * np.log(frequencies) - math.log(math.pi * step) + np.log(frequencies) < goal - 3
    longest = np.cumsum(~small)
    ends = np.nonzero(small & (longest[np.minimum(2 * frequencies, _MOST_SUMMED) - 1] == longest))[0]
    return int(frequencies[ends[0]]) if len(ends) else None
