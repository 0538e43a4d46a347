"""Floating-point choices of covers: the frequencies that are summed, and the cells in which all others are bounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from verified_dp.core.kernel.errors import Unsupported
from verified_dp.search.deadline import check_time

_PIECES = 24
"""Of half a window, as in the kernel."""
_GROWTH = 0.2
"""Cells of many windows are so much of their place long."""
_CHUNK = 2**14
"""Cells of equal width that are tried at once."""
_WINDOWS = 2048, 2**15
"""Frequencies of which half are summed where windows beyond the first gap add much."""
_MOST_SUMMED = 256, 12_000
"""Frequencies of which half are summed at most: first few are looked at."""
_RUN = 16
"""So many cells next to each other are split together: a block of cells costs about as many."""
_CELLS, _BAND = math.log(8), math.log(1.25)
"""-log of the shares of the error of all cells, and of what is past them, which decides how many cells there are."""
_ANGLE = 1.1
"""Half of a cell's width times a step's standard deviation: half of it is far from 0 where the middle is at all."""


class Curve(Protocol):
    """One law's |M| on the line, over M(c), to the power of its count."""

    @property
    def deviation(self) -> float:
        """Of one step's tilted loss."""

    def log_bounds(self, middles: np.ndarray, reach: float) -> np.ndarray:
        """log of what the kernel finds within so far of each of some equally spaced frequencies, middles."""

    def log_beyond(self, frequency: float) -> float:
        """log of what the kernel knows from there on."""


@dataclass(frozen=True)
class Atoms:
    """One step's tilted law, of mass 1 and mean 0: the atoms that are looked at, the rest's weight, all deviate."""

    points: np.ndarray
    weights: np.ndarray
    count: float
    rest: float
    deviation: float

    def log_bounds(self, middles: np.ndarray, reach: float) -> np.ndarray:
        """count log of T189's bound of |M| within so far of each of some equally spaced frequencies."""
        sizes = _sizes(self.points, self.weights, middles) + self.rest
        return _log(self.count, _by_angle(sizes, self.deviation * reach))

    def log_beyond(self, frequency: float) -> float:
        """Nothing is known."""
        return 0.0


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian steps."""

    variance: float
    count: float = 1.0
    deviation: float = 0.0

    def log_bounds(self, middles: np.ndarray, reach: float) -> np.ndarray:
        """log of |M|, which falls."""
        return np.asarray(-self.variance * (middles - reach) ** 2 / 2)

    def log_beyond(self, frequency: float) -> float:
        """The same."""
        return -self.variance * frequency**2 / 2


def _sizes(points: np.ndarray, weights: np.ndarray, middles: np.ndarray) -> np.ndarray:
    """|sum_j weights_j e^{i w points_j}| at equally spaced w, by baby and giant steps."""
    side = math.isqrt(len(middles) - 1) + 1
    spacing = middles[1] - middles[0] if len(middles) > 1 else 0.0
    baby, giant = (np.exp(1j * np.multiply.outer(place + leap * np.arange(side), points))
                   for place, leap in ((0.0, spacing), (middles[0], side * spacing)))
    return np.asarray(np.abs((giant * weights) @ baby.T).ravel()[:len(middles)])


def _by_angle(sizes: np.ndarray, turned: float) -> np.ndarray:
    return np.asarray(np.cos(np.maximum(np.arccos(np.minimum(sizes, 1.0)) - turned, 0.0)))


def _log(count: float, sizes: np.ndarray) -> np.ndarray:
    return np.asarray(count * np.log(np.maximum(sizes, 1e-300)))


@dataclass(frozen=True)
class Spread:
    """A step between two ends (T220): nodes of which the first are atoms, and what else adds from w on, over w.

    far: the frequency from which on the kernel looks at atoms alone.
    """

    points: np.ndarray
    weights: np.ndarray
    atoms: int
    inner: float
    deviation: float
    count: float
    far: float

    def log_bounds(self, middles: np.ndarray, reach: float) -> np.ndarray:
        """By all nodes, or far out by the atoms alone."""
        starts, turned, found = middles - reach, self.deviation * reach, list[np.ndarray]()
        near = int(np.searchsorted(starts, self.far))
        if near:
            found.append(_by_angle(_sizes(self.points, self.weights, middles[:near]), turned))
        if near < len(middles):
            mass = max(self._mass, 1e-300)
            atoms = _sizes(self.points[:self.atoms], self.weights[:self.atoms], middles[near:])
            found.append(np.minimum(mass * _by_angle(atoms / mass, turned) + self.inner / starts[near:], 1.0))
        return _log(self.count, np.concatenate(found))

    def log_mean(self, first: float, step: float, frequencies: int) -> float:
        """log of what the kernel finds for the mean over a cell of many windows."""
        a, b = self.weights[:2].tolist() if self.atoms else (0.0, 0.0)
        places = math.pi * (np.arange(_PIECES + 1) / _PIECES)**2
        sizes = np.sqrt((a + b)**2 - 4 * a * b * np.sin(places[:-1] / 2)**2) + self.inner / first
        logs = self.count * np.log(np.maximum(sizes, 1e-300))
        turn = step * abs(float(self.points[0] - self.points[1])) if self.atoms else 0.0
        if not turn:
            return float(logs[0])
        area = float(np.exp(logs - logs[0]) @ np.diff(places)) / turn + 1
        windows = (frequencies - 1) * turn / (2 * math.pi) + 2
        return float(logs[0]) + math.log(min(2 * windows * area / frequencies, 1.0))

    def log_beyond(self, frequency: float) -> float:
        """By the masses of the atoms."""
        return self.count * math.log(min(max(self._mass + self.inner / frequency, 1e-300), 1.0))

    @cached_property
    def _mass(self) -> float:
        return float(self.weights[:self.atoms].sum())


class TooMany(Unsupported):
    """More cells than are allowed, about so many times."""

    def __init__(self, times: float) -> None:
        super().__init__("more cells of frequencies than a line has room for")
        self.times = times


@dataclass(frozen=True)
class Band:
    """Frequencies 0, step, ..., count step are summed, those of the cells bounded; log of what all others add, over
    M(c): past the last cell by all that is before (T188), or by what the laws know there.
    """

    count: int
    cells: tuple[tuple[int, int], ...]
    log_rest: float


def choose_band(curves: Sequence[Curve], step: float, tilt: float, goal: float, most: int) -> Band | None:
    """As far as e^goal takes; None where too many frequencies must be summed.

    Raises TooMany where so many cells are not enough.
    """
    near = _last_summed(curves, step, goal)
    if near is None:
        return None
    found = _band(curves, step, tilt, goal, most, *near)
    if found.log_rest > goal and isinstance(curves[0], Spread):
        count, inside = _first_windows(curves, step, goal - math.log(6), near[0])
        return _band(curves, step, tilt, goal, most, count, inside) if count > near[0] else found
    return found


def _band(curves: Sequence[Curve], step: float, tilt: float, goal: float, most: int, count: int,
          inside: float) -> Band:
    """With so many frequencies summed; log of the sum of |M| up to there."""
    alone = curves[0] if isinstance(curves[0], Spread) and len(curves) == 2 else None
    steep = max(curve.deviation for curve in curves)
    width = max(math.floor(2 * _ANGLE / (steep * step)), 1)
    end, wanted, within = count + width, goal - _BAND, inside
    for _ in range(3):  # what the cells hold is known when they are made
        while min(_log_band(step, tilt, end, within), _log_beyond(curves, step, end)) > wanted:
            end = math.ceil(1.1 * end)
        last = end if alone is None else min(end, max(count + width, math.ceil(alone.far / step)))
        if last - count > most * width:
            raise TooMany((last - count) / most / width)
        cells, log_cells, log_inside = _cells(curves, step, count, last, width, goal - _CELLS, most)
        place = count + sum(number * stride for number, stride in cells)
        if alone is not None and place < end:
            wide, log_cells, log_inside = _wide_cells(alone, curves[1], step, place, end, log_cells, log_inside)
            cells += wide
        end, within = count + sum(number * stride for number, stride in cells), float(np.logaddexp(inside, log_inside))
        rest = min(_log_band(step, tilt, end, within), _log_beyond(curves, step, end))
        if rest <= wanted:
            break
    return Band(count, cells, float(np.logaddexp(log_cells, rest)))


def _first_windows(curves: Sequence[Curve], step: float, goal: float, count: int) -> tuple[int, float]:
    """At least so many frequencies, up to where others of `_WINDOWS` add little, if there is such a place."""
    for most in _WINDOWS:
        frequencies = np.arange(1, most + 1)
        logs = _log_sizes(curves, step * frequencies, 0.0)
        adds = np.exp(logs - math.log(math.pi * step) - 2 * np.log(frequencies) - goal)
        small = np.nonzero(np.cumsum(adds[::-1])[::-1][:most // 2] < 1)[0]
        if len(small):
            break
    count = max(count, int(small[0])) if len(small) else count
    return count, float(np.logaddexp.reduce(np.append(logs[:count] + math.log(2), 0.0)))


def _wide_cells(curve: Spread, smooth: Curve, step: float, place: int, end: int, log_cells: float,
                log_inside: float) -> tuple[tuple[tuple[int, int], ...], float, float]:
    """Cells of many windows, each longer than the last; both logs with what they add."""
    found, least = list[tuple[int, int]](), math.ceil(2.2 / (curve.deviation * step))
    while place < end:
        stride = max(least, math.ceil(_GROWTH * place))
        log = curve.log_mean(step * (place + 1), step, stride) + smooth.log_beyond(step * place) + math.log(stride)
        log_cells = float(np.logaddexp(log_cells, log - math.log(math.pi * step) - 2 * math.log(place)))
        log_inside = float(np.logaddexp(log_inside, log + math.log(2)))
        found.append((1, stride))
        place += stride
    return tuple(found), log_cells, log_inside


def _cells(curves: Sequence[Curve], step: float, count: int, end: int, width: int, goal: float,
           most: int) -> tuple[tuple[tuple[int, int], ...], float, float]:
    """Cells from count to end; log of what they add, and of the sum of |M| in them. Hard ones are split."""
    levels = max(math.floor(math.log(width, 4)) - 1, 0)
    strides = [width // 4**levels * 4**n for n in range(levels, -1, -1)]
    strides += [1] if strides[-1] > 1 else []
    width = strides[0]
    starts = count + width * np.arange(max(-(-(end - count) // width), 1))
    done = list[tuple[np.ndarray, int]]()
    logs, sums, share, held = [-math.inf], [-math.inf], goal - math.log(len(starts)), len(starts)
    for stride, finer in zip(strides, [*strides[1:], 0], strict=True):
        hard = list[np.ndarray]()
        for some in np.split(starts, np.flatnonzero(np.diff(starts) != stride) + 1 if stride < width else []):
            for first in range(0, len(some), _CHUNK):
                check_time()
                part = some[first:first + _CHUNK]
                sizes = _log_sizes(curves, step * (part + (stride + 1) / 2), step * (stride - 1) / 2)
                sizes += math.log(stride)
                adds = sizes - math.log(math.pi * step) - 2 * np.log(part)
                good = adds < share if finer else np.full(len(part), True)
                good = np.repeat(np.minimum.reduceat(good, np.arange(0, len(part), _RUN)), _RUN)[:len(part)]
                done.append((part[good], stride))
                hard.append(part[~good])
                logs += [float(np.logaddexp.reduce(adds[good], initial=-np.inf))]
                sums += [float(np.logaddexp.reduce(sizes[good], initial=-np.inf)) + math.log(2)]
        parts = np.concatenate(hard) if hard else np.array([], dtype=int)
        if not len(parts):
            break
        starts = (parts[:, None] + finer * np.arange(stride // finer)).ravel()
        held += len(starts) - len(parts)
        if held > most:
            raise TooMany(held / most)
    firsts = np.concatenate([part for part, _ in done])
    widths = np.concatenate([np.full(len(part), stride) for part, stride in done])[np.argsort(firsts)]
    cuts = np.flatnonzero(np.diff(widths)) + 1
    cells = tuple((len(run), int(run[0])) for run in np.split(widths, cuts))
    return cells, float(np.logaddexp.reduce(logs)), float(np.logaddexp.reduce(sums))


def _log_sizes(curves: Sequence[Curve], middles: np.ndarray, reach: float) -> np.ndarray:
    """log of the bound of |M| over M(c)."""
    return np.asarray(sum((curve.log_bounds(middles, reach) for curve in curves), np.zeros(len(middles))))


def _log_band(step: float, tilt: float, end: int, inside: float) -> float:
    """log of T188's bound of what is past a frequency; inside: log of the sum of |M| up to there."""
    square = (2 * math.pi / (step * (end + 1))) ** 2
    return inside + math.log(step / (2 * math.pi) * square / 12) + max(
        min(tilt * (tilt + 1) * square / 24, 700.0) - math.log(2), 0.0)


def _log_beyond(curves: Sequence[Curve], step: float, place: int) -> float:
    """log of what is past a frequency, by what the laws know there."""
    return sum(curve.log_beyond(step * place) for curve in curves) - math.log(math.pi * step * place)


def _last_summed(curves: Sequence[Curve], step: float, goal: float) -> tuple[int, float] | None:
    """The first frequency past which a stretch as long as all before adds little; None where there is none.

    Beside it log of the sum of |M| up to there.
    """
    for most in _MOST_SUMMED:
        frequencies = np.arange(1, most + 1)
        logs = _log_sizes(curves, step * frequencies, 0.0)
        small = logs - 2 * np.log(frequencies) - math.log(math.pi * step) + np.log(frequencies) < goal - 3
        longest = np.cumsum(~small)
        ends = np.nonzero(small & (longest[np.minimum(2 * frequencies, most) - 1] == longest))[0]
        if len(ends) and 2 * (ends[0] + 1) <= most:
            count = int(frequencies[ends[0]])
            return count, float(np.logaddexp.reduce(np.append(logs[:count] + math.log(2), 0.0)))
    return None
