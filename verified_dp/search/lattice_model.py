"""Floating-point models of laws and compositions for the lattice's search: masses at points of a mesh."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise
from typing import ClassVar

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.shared import kept
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.deadline import check_time, timed
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle, choose_saddle
from verified_dp.search.transforms import log_sum, log_sums

_MOST_ATOMS = 3
"""A law's atoms that a grid is put on: its heaviest."""
_FINEST = 40
"""The coarse model's cells are at least 2^-40 of the range."""
FLOOR = -80.0
"""log of the tail masses that the coarse model leaves out at first."""
DEEPEST = 20_000.0
"""No smaller delta than e^-20000 is looked for."""
FEW_CELLS = 4000
"""So many cells of most laws are not worth being made wider."""
_RARE = 20.0
"""-log of a share of a law that a first grid need not tell apart."""
_FREQUENCIES, _NEGLIGIBLE = (100, 1500), 1e-11
"""Of the sum that estimates delta: the second number where the last third of the first is not so small a share."""
_NEXT_TO, _FAINTEST = 1e-6, 1e-12
"""Steps by which an atom's place may be wrong in floating point; a loss that counts as one."""


def anchors(law: Law) -> list[Fraction]:
    """The losses of the heaviest atoms, to 200 bits; of a lattice of atoms two neighbours."""
    if isinstance(law, DiscreteGaussianLoss):
        unit = law.sensitivity / law.sigma_squared
        return [law.sensitivity * unit / 2, (law.sensitivity - 2) * unit / 2]
    with ctx.workprec(200):
        atoms = [(loss, float(mass)) for loss, mass in law.enclose_loss_atoms() or [] if not mass.is_zero()]
    heaviest = sorted(atoms, key=lambda atom: -atom[1])[:_MOST_ATOMS]
    return list(dict.fromkeys(_exact(loss) for loss, mass in heaviest if mass > 0))


def _exact(x: arb) -> Fraction:
    mantissa, exponent = x.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@kept(64)
def _known_sticks(law: Law, floor: float) -> dict[int, tuple[float, arb, arb]]:
    """Places x at indices of a mesh, e^x and the profile there, kept for the next model of the same law."""
    return {}


class LawModel:
    """One law as masses at points, from values of its profile on a mesh that is finer where it matters.

    one_grid: whether every loss lies on the grid of its anchors. few: so many cells are not worth being made wider.
    """

    one_grid: ClassVar[bool] = False
    few: ClassVar[int] = FEW_CELLS

    def __init__(self, law: Law, floor: float) -> None:
        self.law, self.anchors, self.seconds = law, anchors(law), 1e-4  # seconds: of one cell's masses
        self.infinity = _log(_enclosed(law.enclose_infinity_mass))
        self.low, self.high = _range(law, self.infinity, floor)
        self._unit = (self.high - self.low) / Fraction(2) ** _FINEST
        self._sticks = _known_sticks(law, floor)
        self._kept: dict[tuple[int | None, int, int | None], float] = {}
        self._cells = [(n << _FINEST - 5, n + 1 << _FINEST - 5) for n in range(32)]
        with ctx.workprec(320):
            self._measure()
        self.refine(0.0)

    def _stick(self, index: int) -> tuple[float, arb, arb]:
        if index not in self._sticks:
            place = self.low + index * self._unit
            self._sticks[index] = float(place), ball(place).exp(), self.law.enclose_hockey_stick(ball(place))
        return self._sticks[index]

    def refine(self, tilt: float, share: float = 1e-6) -> None:
        """Halve cells until each one's mass times its squared width is a small share of the tilted variance."""
        with ctx.workprec(320):
            while self._refine_once(tilt, share):
                pass

    def _refine_once(self, tilt: float, share: float) -> bool:
        logs = self.log_masses + tilt * self.points
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean = weights @ self.points
        limit = share * float(weights @ (self.points - mean) ** 2)
        mass = np.maximum(weights[:-1], weights[1:])
        coarse = mass * np.diff(self.points) ** 2 > limit
        split = [(a, b) for (a, b), wide in zip(self._cells, coarse, strict=True) if wide and b - a > 1]
        if not split or len(self._cells) > 4000:
            return False
        halves = [cell for a, b in split for cell in ((a, (a + b) // 2), ((a + b) // 2, b))]
        self._cells = sorted(set(self._cells) - set(split) | set(halves))
        self._measure()
        return True

    def _measure(self) -> None:
        """Connect the dots on the mesh, in floating point at the end."""
        edges = [self._cells[0][0], *(b for _, b in self._cells)]
        self.points = np.array([self._stick(i)[0] for i in timed(edges)])
        self.log_masses = np.array([self._log_mass(*three) for three in zip(
            [None, *edges[:-1]], edges, [*edges[1:], None], strict=True)])
        if not np.isfinite(self.log_masses).any():
            self.log_masses[:] = 0.0

    def _log_mass(self, before: int | None, index: int, after: int | None) -> float:
        """Of the vertex between two others, or at an end: kept, as few cells are halved at once."""
        key = before, index, after
        if key not in self._kept:
            _, alpha, _ = self._stick(index)
            self._kept[key] = _log(alpha * (self._slope(index, after) - self._slope(before, index)))
        return self._kept[key]

    def _slope(self, left: int | None, right: int | None) -> arb:
        if right is None:
            return arb(0)
        _, alpha, stick = self._stick(right)
        _, start, value = (0.0, arb(0), arb(1)) if left is None else self._stick(left)
        return (stick - value) / (alpha - start)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c."""
        logs = self.log_masses + c * self.points
        total = log_sum(logs)
        weights = np.exp(logs - total)
        mean = float(weights @ self.points)
        return total, mean, float(weights @ (self.points - mean) ** 2)

    def window(self, tilt: float) -> tuple[float, float]:
        """Outside of it, of a dear law only, losses are a share of e^-20 of the tilted mass, the low ones moved there.

        All of the law where values are cheap.
        """
        if self.few == FEW_CELLS:
            return -math.inf, math.inf
        tilted = self.log_masses + tilt * self.points
        small = log_sum(tilted) - _RARE
        low = np.argmin(np.logaddexp.accumulate(self.log_masses) + tilt * self.points < small)
        high = len(tilted) - np.argmin(np.logaddexp.accumulate(tilted[::-1]) < small)
        return float(self.points[max(int(low) - 1, 0)]), float(self.points[min(int(high), len(tilted) - 1)])

    def turned(self, tilt: float, step: float, count: int) -> np.ndarray:
        """M(c + iw) / M(c) at w = 0, step, ..., count of them, by baby and giant steps.

        No product of matrices: its threads cost more than they save.
        """
        logs = self.log_masses + tilt * self.points
        weights = np.exp(logs - log_sum(logs))
        side = math.isqrt(count - 1) + 1
        baby, giant = (np.exp(1j * np.multiply.outer(leap * np.arange(side), self.points)) for leap in (
            step, side * step))
        return np.einsum("ij,kj->ik", giant * weights, baby).ravel()[:count]

    def strides(self, tilt: float, step: Fraction, first: int, last: int, start: int,
                most: int = 10**7) -> tuple[tuple[int, int], ...]:
        """Cells of 1, 2, 4, ... grid steps: the rarer the loss, the wider; of 1 where they are few, or past `most`."""
        if last - first <= self.few:
            return ((last - first, 1),)
        logs = self.log_masses + tilt * self.points
        density = np.logaddexp(logs[:-1], logs[1:]) - np.log(np.diff(self.points))
        smooth = np.ones(len(density), dtype=bool)
        for atom in self.anchors:  # its mass is on the ends of its cell, hence in the next ones too
            cell = int(np.searchsorted(self.points, float(atom)))
            smooth[max(cell - 3, 0) : cell + 3] = False
        top = density[smooth].max() if smooth.any() else density.max()
        rarer = np.full(len(density), np.inf)  # where there is no mass at all
        np.subtract(top, density, out=rarer, where=np.isfinite(density))
        wide = np.floor(np.maximum(rarer, 0.0) / math.log(8) - 0.5)
        short = math.log2(max(0.5 / ((tilt + 1) * float(step)), 1.0))  # D must not vanish within a cell
        edges = np.floor(self.points / float(step))
        wide = np.clip(wide, 0, np.where(edges[1:] < start, 30, min(math.floor(short), 30))).astype(int)
        return _blocks(first, last, edges, wide, most)


def _blocks(first: int, last: int, edges: np.ndarray, levels: np.ndarray, most: int) -> tuple[tuple[int, int], ...]:
    """Blocks (cells, stride) from first to last: the longest aligned strides of at most 2^level of every mesh cell met.

    After `most` cells the rest gets stride 1: it is plain by then that there are too many.
    """
    rows, found, level = [levels], list[tuple[np.ndarray, int]](), int(levels.max())
    while 1 << len(rows) <= len(levels):
        half = 1 << len(rows) - 1
        rows.append(np.minimum(rows[-1], np.append(rows[-1][half:], rows[-1][-half:])))
    least = np.stack(rows)
    check_time()
    start = first >> level
    places = np.arange(start, min(-(-last >> level), start + most + 2)) << level
    while len(places):
        check_time()
        stride = 1 << level
        starts = np.clip(np.searchsorted(edges, places, "right") - 1, 0, len(levels) - 1)
        ends = np.maximum(np.searchsorted(edges, places + stride, "left").clip(0, len(levels)), starts + 1)
        sizes = np.frexp(ends - starts)[1] - 1
        lowest = np.minimum(least[sizes, starts], least[sizes, ends - (1 << sizes)])
        good = (lowest >= level) & (places >= first) & (places + stride <= last)
        found.append((places[good], stride))
        level -= 1
        places = (places[~good, None] + np.array([0, stride // 2])).ravel()[:most + 2] if stride > 1 else places[:0]
        places = places[(places + stride // 2 > first) & (places < last)]
    starts = np.concatenate([one for one, _ in found])
    order = np.argsort(starts)
    starts, strides = starts[order], np.concatenate([np.full(len(one), stride) for one, stride in found])[order]
    whole = np.flatnonzero(np.append(starts[1:], last) != starts + strides)
    kept = min(most, int(whole[0]) + 1 if len(whole) else len(starts))
    runs = np.split(strides[:kept], np.flatnonzero(np.diff(strides[:kept])) + 1)
    blocks = [(len(run), int(run[0])) for run in runs]
    place = int(starts[kept - 1] + strides[kept - 1])
    return (*blocks, (last - place, 1)) if place < last else tuple(blocks)


def _enclosed(function: Callable[[], arb]) -> arb:
    with ctx.workprec(128):
        return function()


def _log(x: arb) -> float:
    """log of the middle of a ball, -inf where it is not positive."""
    middle = x.mid()
    return float(middle.log()) if middle > 0 else -math.inf


def _range(law: Law, log_infinity: float, floor: float) -> tuple[Fraction, Fraction]:
    """Where the loss lives: all but a mass e^floor on either side."""
    with ctx.workprec(320):
        smallest = law.enclose_smallest_loss()
        largest = law.enclose_largest_loss()
        infinity = law.enclose_infinity_mass()

        def right(x: Fraction) -> float:
            return _log(law.enclose_hockey_stick(ball(x)) - infinity)

        def left(x: Fraction) -> float:
            return _log(law.enclose_hockey_stick(-ball(x)) + (-ball(x)).exp() - 1)

        high = _reach(right, floor, None if largest is None else float(largest))
        low = _reach(left, floor, None if smallest is None else -float(smallest))
    return -low, high


def _reach(log_tail: Callable[[Fraction], float], floor: float, end: float | None) -> Fraction:
    """The least x, up to a factor 1.1, beyond which the tail is below the floor; at most a little past the end."""
    limit = Fraction(4096) if end is None else dyadic(max(end, 1e-9) * (1 + 1e-9), 50)
    if log_tail(limit) > floor:
        return limit
    low, high = Fraction(1, 2**40), limit
    while high > low * Fraction(11, 10):
        check_time()
        middle = dyadic(math.sqrt(float(low) * float(high)), 24)
        low, high = (middle, high) if log_tail(middle) > floor else (low, middle)
    return high


@singledispatch
def model_of(law: Law, floor: float) -> LawModel:
    """The law's masses in floating point, all but about e^floor of them."""
    return LawModel(law, floor)


class Progression(LawModel):
    """A discrete Gaussian of few outcomes: its masses at its losses, an arithmetic progression."""

    one_grid = True

    def __init__(self, law: DiscreteGaussianLoss, floor: float) -> None:
        self.law, self.anchors, self.seconds, self.infinity = law, anchors(law), 2e-5, -math.inf
        reach, square = farthest_outcome(law, floor), float(law.sigma_squared)
        outcomes = np.arange(reach, -reach - 1, -1)
        self.points = law.sensitivity * (law.sensitivity - 2.0 * outcomes) / (2 * square)
        self.log_masses = -(outcomes**2) / (2 * square)
        self.log_masses -= log_sum(self.log_masses)
        self.low, self.high = (law.sensitivity * Fraction(law.sensitivity - 2 * x) / (2 * law.sigma_squared)
                               for x in (reach, -reach))

    def refine(self, tilt: float, share: float = 1e-6) -> None:
        """All masses are there."""


def farthest_outcome(law: DiscreteGaussianLoss, floor: float) -> int:
    """How far from 0 the outcomes reach, all but about e^floor of them."""
    return math.ceil(math.sqrt(-2 * floor * min(float(law.sigma_squared), 1e12))) + 2 * law.sensitivity


def farthest_listed(law: Law, floor: float) -> int:
    """The same of a law whose outcomes are listed; 0 where all of them are."""
    noise = law.base if isinstance(law, SampledLoss) else law
    return farthest_outcome(noise, floor) if isinstance(noise, DiscreteGaussianLoss) else 0


@model_of.register(DiscreteGaussianLoss)
def _(law: DiscreteGaussianLoss, floor: float) -> LawModel:
    return Progression(law, floor) if farthest_outcome(law, floor) < FEW_CELLS // 2 else LawModel(law, floor)


class Outcomes(LawModel):
    """A law of atoms alone: its masses at its losses, and grids with no vertices but around them.

    Between two atoms the curve is a line, so that a cell there is exact however wide it is.
    """

    def __init__(self, law: Law, points: np.ndarray, log_masses: np.ndarray) -> None:
        order = np.argsort(points)
        self.law, self.anchors, self.seconds = law, anchors(law), 1e-4
        self.infinity = _log(_enclosed(law.enclose_infinity_mass))
        self.points, self.log_masses = points[order], log_masses[order]
        self.low, self.high = (Fraction(float(end)) + sign * Fraction(max(abs(end), _FAINTEST)) / 10**9
                               for end, sign in ((self.points[0], -1), (self.points[-1], 1)))

    def refine(self, tilt: float, share: float = 1e-6) -> None:
        """All masses are there."""

    def strides(self, tilt: float, step: Fraction, first: int, last: int, start: int,
                most: int = 10**7) -> tuple[tuple[int, int], ...]:
        """The grid points next to each atom, and one cell from there to the next."""
        shift = shift_of(self, step)
        places = self.points / float(step) - float(shift)
        near = np.unique(np.concatenate([np.floor(places + move) for move in (-_NEXT_TO, 1 - _NEXT_TO, 1 + _NEXT_TO)]))
        inner = [int(place) for place in near if first < place < last]
        blocks: list[list[int]] = []
        for left, right in pairwise([first, *inner, last]):
            if blocks and blocks[-1][1] == right - left:
                blocks[-1][0] += 1
            else:
                blocks.append([1, right - left])
        return tuple((cells, stride) for cells, stride in blocks)


def shift_of(law: LawModel, step: Fraction) -> Fraction:
    """Where the grid must lie for all atoms to be on it, or the first one 2^-50 of a step right of a place, to 60 bits.

    A place right of the largest atom, by however little, would leave the lower law nothing of that atom.
    """
    if not law.anchors:
        return Fraction(0)
    place = law.anchors[0] / step
    if law.law.enclose_masses(law.anchors[0], step, 1) is not None:
        return place - math.floor(place)
    place -= Fraction(1, 2**50)
    return Fraction(math.floor((place - math.floor(place)) * 2**60), 2**60)


@model_of.register(AtomicLaw)
def _(law: AtomicLaw, floor: float) -> LawModel:
    with ctx.workprec(200):
        atoms = [(float(loss), _log(mass)) for loss, mass in law.enclose_loss_atoms() or [] if mass > 0]
    table = np.array(atoms)
    return Outcomes(law, table[:, 0], table[:, 1]) if atoms else LawModel(law, floor)


@model_of.register(SampledLoss)
def _(law: SampledLoss, floor: float) -> LawModel:
    """With the base's loss l at mass p1 = e^l p0 that of the sample is log(1-q+q e^l), at (1-q) p0 + q p1 or p0."""
    base = model_of(law.base, floor)
    if not isinstance(base, Progression | Outcomes) or base.infinity > -math.inf:
        return LawModel(law, floor)
    q = float(law.probability)
    losses = np.logaddexp(math.log1p(-q), math.log(q) + base.points)
    without = base.log_masses - base.points
    return (Outcomes(law, losses, without + losses) if law.order == "remove" else Outcomes(law, -losses, without))


class LatticeModel:
    """The composition in floating point, with the interface of search.transforms.FloatLoss."""

    def __init__(self, loss: ComposedLoss, floor: float = FLOOR) -> None:
        self.loss, self._floor = loss, floor
        self.laws = loss.laws
        self.parts = [(model_of(law, floor), float(count)) for law, count in timed(self.laws)]
        largest = loss.enclose_largest_loss()
        self.largest = math.inf if largest is None else float(largest)
        masses = [count * math.log1p(-math.exp(law.infinity)) for law, count in self.parts if law.infinity < 0]
        self.infinity = -math.expm1(sum(masses))

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') of the composition at c."""
        rows = [law.cumulants(c) for law, _ in self.parts]
        counts = [count for _, count in self.parts]
        k0, k1, k2 = (sum(k * row[n] for k, row in zip(counts, rows, strict=True)) for n in range(3))
        return k0, k1, k2

    def saddle(self, epsilon: float) -> Saddle:
        """The saddle point; the meshes are made finer where its tilt puts the mass, and longer where delta is tiny."""
        while math.isinf(self.largest) and self._reach() < 1.2 * epsilon and self._floor > -DEEPEST:
            self._lengthen(2 * self._floor)
        saddle = choose_saddle(self, epsilon)
        for _ in range(3):
            before = self.parts, sum(len(law.points) for law, _ in self.parts)
            needed = min(saddle.log_delta, 0.0) - 50 - math.log(sum(count for _, count in self.parts))
            if -DEEPEST < needed < self._floor:
                self._lengthen(needed - 20)
            for law, _ in self.parts:
                law.refine(saddle.tilt)
            if before == (self.parts, sum(len(law.points) for law, _ in self.parts)):
                break
            saddle = choose_saddle(self, epsilon, saddle.tilt)
        return replace(saddle, log_delta=self._inverted(epsilon, saddle))

    def _inverted(self, epsilon: float, saddle: Saddle) -> float:
        """log delta by a trapezoidal sum where it can: a few large losses may decide, not the saddle point."""
        tilt, curved = saddle.tilt, math.sqrt(max(saddle.curvature, 1e-300))
        width, size = 2 * math.pi / (40 * curved), self.cumulants(tilt)[0] - tilt * epsilon
        if not saddle.log_delta > -DEEPEST:
            return saddle.log_delta
        for number in _FREQUENCIES:
            steps = width * np.arange(number)
            with np.errstate(divide="ignore"):
                logs = sum(count * np.log(law.turned(tilt, width, number)) for law, count in timed(self.parts))
            z = tilt + 1j * steps
            terms = np.exp(logs - 1j * steps * epsilon) / (z * (z + 1))
            if abs(terms[-number // 3:]).max() < _NEGLIGIBLE * abs(terms[0]):
                break
        total = float(terms.real.sum() - terms.real[0] / 2) * width / math.pi
        return size + math.log(total) if total > 1e-9 * abs(terms).sum() * width else saddle.log_delta

    def _reach(self) -> float:
        """The largest loss in the model."""
        return sum(count * float(law.high) for law, count in self.parts)

    def _lengthen(self, floor: float) -> None:
        """Include losses as rare as e^floor."""
        self._floor = floor
        self.parts = [(model_of(law.law, floor), count) for law, count in self.parts]

    def log_table(self, exponents: np.ndarray) -> np.ndarray:
        """K of each law at each exponent."""
        return np.array([log_sums(law.log_masses + exponents[:, None] * law.points) for law, _ in timed(self.parts)])
