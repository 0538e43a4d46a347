"""Floating-point choices for lattices on a circle: its length, the frequencies that are summed, the others' cover."""

from __future__ import annotations

import math

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid, enclose_step
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.law import Law
from verified_dp.search.deadline import check_time
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.saddle import Saddle

_CHUNK = 64
"""Frequencies that are evaluated at once."""
_MOST_CELLS = 60_000
"""A cover of more cells takes longer than it is worth."""
_LONGEST_RUN = 256
"""Cells of equal width that are tried at once."""
_SAFETY = 2.0
"""What estimates in floating point may miss, in the exponent."""


Cover = tuple[tuple[int, int], ...]


class StepCurve:
    """One step's tilted law on the grid in floating point, normalised: |M|^2, its slope and bounds, by angle."""

    def __init__(self, indices: np.ndarray, weights: np.ndarray) -> None:
        self.weights = weights
        self._turns: tuple[float, np.ndarray] | None = None
        self.indices = indices - float(self.weights @ indices)
        self.bend = float(self.weights @ self.indices**2)
        table = dict(zip(indices.astype(int).tolist(), self.weights.tolist(), strict=True))
        cut = {n: min(w, max(table.get(n - 1, 0.0), table.get(n + 1, 0.0))) for n, w in table.items()}
        self.rest = 1.0 - sum(cut.values())
        self.variation = sum(abs(w - cut.get(n - 1, 0.0)) + (w if n + 1 not in cut else 0.0) for n, w in cut.items())

    def at(self, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|M|^2 and its slope at each angle."""
        turns = np.exp(1j * np.multiply.outer(angles, self.indices))
        value, slope = turns @ self.weights, turns @ (self.weights * self.indices)
        return np.abs(value) ** 2, 2 * (slope.real * value.imag - slope.imag * value.real)

    def run(self, first: float, angle: float) -> np.ndarray:
        """|M|^2 at first, first + angle, ..., as many as a chunk."""
        if self._turns is None or self._turns[0] != angle:
            self._turns = angle, np.exp(1j * angle * np.multiply.outer(np.arange(_CHUNK), self.indices))
        return np.abs(self._turns[1] @ (self.weights * np.exp(1j * first * self.indices))) ** 2

    def bound(self, angles: np.ndarray, widths: np.ndarray) -> np.ndarray:
        """What the kernel will find for |M| on [angle, angle + width], each angle with each width or with its own."""
        square, slope = self.at(angles)
        near = np.sqrt(np.maximum(square, square + slope * widths + self.bend * widths**2))
        return np.minimum(np.minimum(near, 1.0), self.rest + self.variation / (2 * np.sin(angles / 2)))


def step_curves(law: Law, grid: LawGrid, base: LatticeWitness) -> list[StepCurve]:
    """The upper and the lower law of one step; the kernel finds their masses again where they were kept."""
    with ctx.workprec(base.prec):
        found = enclose_step(law, grid, base.step, base.bits, check_time)
        turns = [(ball(base.tilt * base.step) * n).exp() for n in found.vertices]
        indices = np.array(found.vertices, dtype=float)
        return [StepCurve(indices, _normalised(masses, turns)) for masses in (found.above, found.below)]


def _normalised(masses: list[arb], turns: list[arb]) -> np.ndarray:
    weights = [mass * turn for mass, turn in zip(masses, turns, strict=True)]
    total = sum(weights, arb(0))
    return np.array([float(weight / total) if total > 0 else 0.0 for weight in weights])


def choose_period(model: LatticeModel, epsilon: float, tilt: float, goal: float) -> tuple[float, float, float]:
    """The length X of the period and the exponents right and left of the tilt: aliases below e^goal."""
    scale = 1 / math.sqrt(max(model.cumulants(tilt)[2], 1e-300))
    rights = tilt + scale * np.geomspace(0.05, 40, 24)
    lefts = np.append(tilt * np.linspace(0.05, 0.95, 10), tilt - scale * np.geomspace(0.05, 40, 24))
    lefts = np.append(lefts[lefts > 0.01 * tilt], 0.0)
    counts = np.array([count for _, count in model.parts])
    logs = counts @ model.log_table(np.concatenate([rights, lefts]))
    logs -= np.concatenate([rights, lefts]) * epsilon
    right_lengths = (logs[: len(rights)] - goal) / (rights - tilt)
    left_lengths = (logs[len(rights) :] - goal) / (tilt - lefts)
    right, left = int(right_lengths.argmin()), int(left_lengths.argmin())
    return max(right_lengths[right], left_lengths[left]), float(rights[right]), float(lefts[left])


def choose_circle(model: LatticeModel, epsilon: float, saddle: Saddle,
                  goal: float) -> tuple[float, float, float, float]:
    """The tilt for which the circle is short and numbers are, its length, and the exponents right and left of it."""
    scale = 1 / math.sqrt(max(model.cumulants(saddle.tilt)[2], 1e-300))
    around = scale * np.geomspace(0.2, 1e3, 32)
    near = np.concatenate([saddle.tilt * np.geomspace(1 / 64, 16, 41), saddle.tilt + around, saddle.tilt - around])
    xs = np.append(np.sort(near[near > saddle.tilt / 64]), 0.0)
    counts = np.array([count for _, count in model.parts])
    logs = counts @ model.log_table(xs) - xs * epsilon
    apart = xs - xs[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.maximum(logs - goal, 0.0) / np.abs(apart)
    rights, lefts = np.where(apart > 0, lengths, np.inf), np.where(apart < 0, lengths, np.inf)
    found = np.maximum(rights.min(axis=1), lefts.min(axis=1))
    i = int((found * (40 + np.maximum(logs - goal, 0.0) / math.log(2))).argmin())
    return float(xs[i]), float(found[i]), float(xs[rights[i].argmin()]), float(xs[lefts[i].argmin()])


def choose_frequencies(model: LatticeModel, base: LatticeWitness, goal: float, most: int) -> tuple[int, Cover] | None:
    """How many frequencies are summed, and the cover of the others, which adds less than e^goal in all, relative to M.

    None where the transform falls off too slowly for `most` of them.
    """
    curves = [(step_curves(law.law, grid, base), count)
              for (law, count), grid in zip(model.parts, base.grids, strict=True)]
    return _choose_cover(curves, base.period, goal - _SAFETY, min(most, base.period // 2))


Curves = list[tuple[list[StepCurve], float]]


def _choose_cover(curves: Curves, period: int, goal: float, most: int) -> tuple[int, Cover] | None:
    """(m0, blocks): the first frequency from which on cells can be found, each adding less than a share of e^goal."""
    half, start = period // 2, 1
    while start <= most:
        good = np.nonzero(_sizes(curves, start, 2 * math.pi / period) + 1 < goal)[0]
        place = start + int(good[0]) if len(good) else half
        start += _CHUNK
        if place < half:
            cover, reached = _cover_from(curves, period, place, goal)
            if cover is not None:
                return place, cover
            start = max(reached, place) + 1
    return (half, ()) if half <= most else None


def _sizes(curves: Curves, first: int, angle: float) -> np.ndarray:
    """log of the larger composed |M| at the frequencies of a chunk."""
    check_time()
    sizes = np.zeros((2, _CHUNK))
    for sides, count in curves:
        for n, curve in enumerate(sides):
            square = curve.run(first * angle, angle)
            sizes[n] += count * np.log(np.maximum(np.minimum(square, 1.0), 1e-300)) / 2
    return sizes.max(axis=0)


def _costs(curves: Curves, period: int, firsts: np.ndarray, strides: np.ndarray) -> np.ndarray:
    """log of what the cells [first, first + stride] add at most: the larger composed |M| there, times the kernel."""
    check_time()
    angles, widths = 2 * math.pi * firsts / period, 2 * math.pi * strides / period
    logs = np.zeros((2, np.broadcast(firsts, strides).size))
    for sides, count in curves:
        for n, curve in enumerate(sides):
            logs[n] += count * np.log(np.maximum(curve.bound(angles, widths), 1e-300))
    return logs.max(axis=0) + np.log(strides) + math.log(2) - np.log(period * 2 * np.sin(angles / 2))


def _cover_from(curves: Curves, period: int, first: int, goal: float) -> tuple[Cover | None, int]:
    """Cells from `first` to half the period, as wide as they may be, or None, and where no cell could be found.

    While the widest cell is less than twice as wide as the last one, more and more of the last width are tried at once.
    """
    half, cells, run = period // 2, 0, 1
    blocks: list[tuple[int, int]] = []
    while first < half:
        widths = np.unique(np.round(np.geomspace(1, half - first, 60)).astype(int))
        share = goal - 2 * math.log(cells + 2)
        fits = np.nonzero(_costs(curves, period, np.array([first]), widths) < share)[0]
        if not len(fits) or cells > _MOST_CELLS:
            return None, first
        stride, number = int(widths[fits[-1]]), 1
        before, held = blocks[-1] if blocks else (0, 0)
        run = min(2 * run, _LONGEST_RUN, (half - first) // held) if held <= stride < 2 * held else 1
        if run > 1:
            firsts = first + held * np.arange(run)
            fit = _costs(curves, period, firsts, np.array([held])) < goal - 2 * np.log(cells + 2 + np.arange(run))
            fitting = run if fit.all() else int(fit.argmin())
            stride, number, run = (held, fitting, run if fit.all() else 1) if fitting else (stride, 1, 1)
        if stride == held:
            blocks[-1] = before + number, stride
        else:
            blocks.append((number, stride))
        first, cells = first + number * stride, cells + number
    return tuple(blocks), half
