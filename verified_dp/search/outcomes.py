"""Floating-point choices for laws of atoms on no grid: the line, the frequencies summed, the cells of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

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

MOST_ATOMS = 6000
"""Of one step; more of them are nearly a density, which a lattice of cells describes better."""
_MOST_CELLS = 200_000
_CHUNK = 2**14
"""Cells of equal width that are tried at once."""
_MOST_SUMMED = 6000
_SECONDS, _CELL_SECONDS, _BLOCK = 6e-7, 1.5e-5, 50
"""Of an atom at one frequency, a third in a cell; of a cell beside; frequencies that a block of cells costs."""
_FEWEST_BITS = 6.0
"""No fewer are tried for."""
_RUN = 16
"""So many cells next to each other are split together: a block of cells costs about as many."""
_ANGLE = 1.1
"""Half of a cell's width times a step's standard deviation: half of it is far from 0 where the middle is at all."""


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
    """One step's tilted law, of mass 1 and mean 0."""

    points: np.ndarray
    weights: np.ndarray
    count: float

    @cached_property
    def deviation(self) -> float:
        return math.sqrt(max(float(self.weights @ self.points**2), 1e-300))

    def log_bounds(self, middles: np.ndarray, reach: float) -> np.ndarray:
        """count log of T189's bound of |M| within so far of each of some equally spaced frequencies."""
        side = math.isqrt(len(middles) - 1) + 1
        spacing = middles[1] - middles[0] if len(middles) > 1 else 0.0
        baby, giant = (np.exp(1j * np.multiply.outer(place + leap * np.arange(side), self.points))
                       for place, leap in ((0.0, spacing), (middles[0], side * spacing)))
        sizes = np.abs((giant * self.weights) @ baby.T).ravel()[:len(middles)]
        angles = np.arccos(np.minimum(sizes, 1.0)) - self.deviation * reach
        return np.asarray(self.count * np.log(np.maximum(np.cos(np.maximum(angles, 0.0)), 1e-300)))


@dataclass(frozen=True)
class _Gaussian:
    """The Gaussian steps."""

    variance: float
    count: float = 1.0
    deviation: float = 0.0

    def log_bounds(self, middles: np.ndarray, reach: float) -> np.ndarray:
        """log of |M|, which falls."""
        return np.asarray(-self.variance * (middles - reach) ** 2 / 2)


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
    atoms = sum(len(curve.points) for curve in curves)
    most = min(_MOST_CELLS, int(seconds / (atoms * _SECONDS / 3 + _CELL_SECONDS)) + 100)
    while True:
        goal = saddle.log_delta - bits * math.log(2) - math.log(6)
        length, right, left = choose_period(model, epsilon, float(tilt), goal)
        if not (0 < length < math.inf):
            return None
        step = dyadic(2 * math.pi / (length + stretch) * (1 - 2.0**-10), 12)
        try:
            band = _choose_band([*curves, smooth], float(step), float(tilt), goal - size, most)
            break
        except _TooMany as many:
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


class _TooMany(Exception):
    """More cells than are allowed, about so many times."""

    def __init__(self, times: float) -> None:
        super().__init__(times)
        self.times = times


@dataclass(frozen=True)
class _Band:
    """Frequencies 0, step, ..., count step are summed, those of the cells bounded; log of what all others add, over
    M(c): past the last cell by all that is before (T188), or by the Gaussian steps alone.
    """

    count: int
    cells: tuple[tuple[int, int], ...]
    log_rest: float


def _choose_band(curves: list[_Curve | _Gaussian], step: float, tilt: float, goal: float, most: int) -> _Band | None:
    """As far as e^goal takes; None where too many frequencies must be summed. The last curve is the Gaussian steps'.

    Raises _TooMany where so many cells are not enough.
    """
    near = _last_summed(curves, step, goal)
    if near is None:
        return None
    count, inside = near
    steep = max(curve.deviation for curve in curves[:-1])
    width = max(math.floor(2 * _ANGLE / (steep * step)), 1)
    end, wanted = count + width, goal - math.log(3)
    while min(_log_band(step, tilt, end, inside), _log_beyond(curves[-1], step, end)) > wanted:
        end = math.ceil(1.1 * end)
    if end - count > most * width:
        raise _TooMany((end - count) / most / width)
    cells, log_cells, log_inside = _cells(curves, step, count, end, width, goal - math.log(3), most)
    end = count + sum(number * stride for number, stride in cells)
    rest = min(_log_band(step, tilt, end, float(np.logaddexp(inside, log_inside))), _log_beyond(curves[-1], step, end))
    return _Band(count, cells, float(np.logaddexp(log_cells, rest)))


def _cells(curves: list[_Curve | _Gaussian], step: float, count: int, end: int, width: int, goal: float,
           most: int) -> tuple[tuple[tuple[int, int], ...], float, float]:
    """Cells from count to end; log of what they add, and of the sum of |M| in them. Hard ones are split in four."""
    levels = max(math.floor(math.log(width, 4)), 0)
    width = width // 4**levels * 4**levels
    starts = count + width * np.arange(max(-(-(end - count) // width), 1))
    done = list[tuple[np.ndarray, int]]()
    logs, sums, share, held = [-math.inf], [-math.inf], goal - math.log(len(starts)), len(starts)
    for level in range(levels + 1):
        stride, hard = width // 4**level, list[np.ndarray]()
        for some in np.split(starts, np.flatnonzero(np.diff(starts) != stride) + 1 if level else []):
            for first in range(0, len(some), _CHUNK):
                check_time()
                part = some[first:first + _CHUNK]
                sizes = _log_sizes(curves, step * (part + (stride + 1) / 2), step * (stride - 1) / 2)
                sizes += math.log(stride)
                adds = sizes - math.log(math.pi * step) - 2 * np.log(part)
                good = adds < share if level < levels else np.full(len(part), True)
                good = np.repeat(np.minimum.reduceat(good, np.arange(0, len(part), _RUN)), _RUN)[:len(part)]
                done.append((part[good], stride))
                hard.append(part[~good])
                logs += [float(np.logaddexp.reduce(adds[good], initial=-np.inf))]
                sums += [float(np.logaddexp.reduce(sizes[good], initial=-np.inf)) + math.log(2)]
        parts = np.concatenate(hard) if hard else np.array([], dtype=int)
        starts = (parts[:, None] + stride // 4 * np.arange(4)).ravel()
        held += len(starts) - len(parts)
        if held > most:
            raise _TooMany(held / most)
        if not len(starts):
            break
    firsts = np.concatenate([part for part, _ in done])
    strides = np.concatenate([np.full(len(part), stride) for part, stride in done])[np.argsort(firsts)]
    cuts = np.flatnonzero(np.diff(strides)) + 1
    cells = tuple((len(run), int(run[0])) for run in np.split(strides, cuts))
    return cells, float(np.logaddexp.reduce(logs)), float(np.logaddexp.reduce(sums))


def _log_sizes(curves: list[_Curve | _Gaussian], middles: np.ndarray, reach: float) -> np.ndarray:
    """log of the bound of |M| over M(c)."""
    return np.asarray(sum((curve.log_bounds(middles, reach) for curve in curves), np.zeros(len(middles))))


def _log_band(step: float, tilt: float, end: int, inside: float) -> float:
    """log of T188's bound of what is past a frequency; inside: log of the sum of |M| up to there."""
    square = (2 * math.pi / (step * (end + 1))) ** 2
    return inside + math.log(step / (2 * math.pi) * square / 12) + max(
        min(tilt * (tilt + 1) * square / 24, 700.0) - math.log(2), 0.0)


def _log_beyond(smooth: _Curve | _Gaussian, step: float, place: int) -> float:
    """log of what is past a frequency, by the Gaussian steps alone."""
    return float(smooth.log_bounds(np.array([step * place]), 0.0)[0]) - math.log(math.pi * step * place)


def _last_summed(curves: list[_Curve | _Gaussian], step: float, goal: float) -> tuple[int, float] | None:
    """The first frequency past which a stretch as long as all before adds little; None where there is none.

    Beside it log of the sum of |M| up to there.
    """
    frequencies = np.arange(1, _MOST_SUMMED + 1)
    logs = _log_sizes(curves, step * frequencies, 0.0)
    small = logs - 2 * np.log(frequencies) - math.log(math.pi * step) + np.log(frequencies) < goal - 3
    longest = np.cumsum(~small)
    ends = np.nonzero(small & (longest[np.minimum(2 * frequencies, _MOST_SUMMED) - 1] == longest))[0]
    if not len(ends):
        return None
    count = int(frequencies[ends[0]])
    return count, float(np.logaddexp.reduce(np.append(logs[:count] + math.log(2), 0.0)))
