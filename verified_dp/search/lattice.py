"""Floating-point choices of the lattice method: the grid step, each law's grid, the tilt, the windows, the bits."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from verified_dp.errors import Unsupported
from verified_dp.kernel.balls import ball
from verified_dp.kernel.grid import LawGrid
from verified_dp.kernel.lattice import LatticeWitness, products
from verified_dp.kernel.sparse import SparseWitness
from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.law import Law
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle, choose_saddle
from verified_dp.search.sparse import choose_sparse
from verified_dp.search.steps import MAX_CELLS, anchors, choose_step, grid_ends, shift_of
from verified_dp.search.transforms import log_sum, log_sums
from verified_dp.theorems import proved_by

_FINEST = 40
"""The coarse model's cells are at least 2^-40 of the range."""
_FLOOR = -80.0
"""log of the tail masses that the coarse model leaves out at first."""
DEEPEST = 20_000.0
"""No smaller delta than e^-20000 is looked for."""
_FREQUENCIES = 1500
"""Of the sum that estimates delta."""
FEW_CELLS = 4000
"""So many cells are not worth being made wider."""


class LawModel:
    """One law as masses at points, from values of its profile on a mesh that is finer where it matters."""

    def __init__(self, law: Law, floor: float) -> None:
        self.law, self.anchors, self.seconds = law, anchors(law), 1e-4  # seconds: of one cell's masses
        self.infinity = _log(_enclosed(law.enclose_infinity_mass))
        self.low, self.high = _range(law, self.infinity, floor)
        self._unit = (self.high - self.low) / Fraction(2) ** _FINEST
        self._sticks: dict[int, arb] = {}
        self._cells = [(n << _FINEST - 5, n + 1 << _FINEST - 5) for n in range(32)]
        for tilt in (0.0, 0.0):
            self.refine(tilt)

    def _stick(self, index: int) -> arb:
        if index not in self._sticks:
            self._sticks[index] = self.law.enclose_hockey_stick(ball(self.low + index * self._unit))
        return self._sticks[index]

    def refine(self, tilt: float, share: float = 1e-6) -> None:
        """Halve cells until each one's mass times its squared width is a small share of the tilted variance."""
        with ctx.workprec(320):
            for _ in range(_FINEST):
                if not self._refine_once(tilt, share):
                    break

    def _refine_once(self, tilt: float, share: float) -> bool:
        self._measure()
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
        return True

    def _measure(self) -> None:
        """Connect the dots on the mesh, in floating point at the end."""
        indices = [self._cells[0][0], *(b for _, b in self._cells)]
        alphas = [ball(self.low + i * self._unit).exp() for i in indices]
        sticks = [self._stick(i) for i in indices]
        slopes = [(sticks[0] - 1) / alphas[0]]
        slopes += [(sticks[n + 1] - sticks[n]) / (alphas[n + 1] - alphas[n]) for n in range(len(indices) - 1)]
        slopes.append(arb(0))
        self.points = np.array([float(self.low + i * self._unit) for i in indices])
        self.log_masses = np.array([_log(a * (t - s)) for a, s, t in zip(alphas, slopes, slopes[1:], strict=False)])
        if not np.isfinite(self.log_masses).any():
            self.log_masses[:] = 0.0

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c."""
        logs = self.log_masses + c * self.points
        total = log_sum(logs)
        weights = np.exp(logs - total)
        mean = float(weights @ self.points)
        return total, mean, float(weights @ (self.points - mean) ** 2)

    def turned(self, tilt: float, frequencies: np.ndarray) -> np.ndarray:
        """M(c + iw) / M(c)."""
        logs = self.log_masses + tilt * self.points
        weights = np.exp(logs - log_sum(logs))
        return np.exp(1j * np.multiply.outer(frequencies, self.points)) @ weights

    def strides(self, tilt: float, step: Fraction, first: int, last: int, start: int,
                most: int = 10**12) -> tuple[tuple[int, int], ...]:
        """Cells of 1, 2, 4, ... grid steps: the rarer the loss, the wider; of 1 where they are few, or past `most`."""
        if last - first <= FEW_CELLS:
            return ((last - first, 1),)
        logs = self.log_masses + tilt * self.points
        density = np.logaddexp(logs[:-1], logs[1:]) - np.log(np.diff(self.points))
        smooth = np.ones(len(density), dtype=bool)
        for atom in self.anchors:  # its mass is on the ends of its cell, hence in the next ones too
            cell = int(np.searchsorted(self.points, float(atom)))
            smooth[max(cell - 3, 0) : cell + 3] = False
        top = density[smooth].max() if smooth.any() else density.max()
        wide = np.floor(np.maximum(top - density, 0.0) / math.log(8) - 0.5)
        short = math.log2(max(0.5 / ((tilt + 1) * float(step)), 1.0))  # D must not vanish within a cell
        edges = np.floor(self.points / float(step))
        wide = np.clip(wide, 0, np.where(edges[1:] < start, 30, min(math.floor(short), 30))).astype(int)
        return _blocks(first, last, edges.tolist(), wide.tolist(), most)


def _blocks(first: int, last: int, edges: list[float], levels: list[int], most: int) -> tuple[tuple[int, int], ...]:
    """Blocks (cells, stride) from first to last: aligned strides of at most 2^level of every mesh cell they meet.

    After `most` cells the rest gets stride 1: it is plain by then that there are too many.
    """
    blocks: list[list[int]] = []
    place = first
    while place < last and most > 0:
        level = _least_level(place, 1, edges, levels)
        while level and (place % (1 << level) or place + (1 << level) > last
                         or _least_level(place, 1 << level, edges, levels) < level):
            level -= 1
        if blocks and blocks[-1][1] == 1 << level:
            blocks[-1][0] += 1
        else:
            blocks.append([1, 1 << level])
        place, most = place + (1 << level), most - 1
    rest = [[last - place, 1]] if place < last else []
    return tuple((cells, stride) for cells, stride in blocks + rest)


def _least_level(place: int, stride: int, edges: list[float], levels: list[int]) -> int:
    """The least level of the mesh cells that meet [place, place + stride]."""
    start = min(max(bisect_right(edges, place) - 1, 0), len(levels) - 1)
    end = max(bisect_left(edges, place + stride), start + 1)
    return min(levels[start:end])


def _enclosed(function: object) -> arb:
    with ctx.workprec(128):
        return function()  # type: ignore[operator]


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


def _reach(log_tail: object, floor: float, end: float | None) -> Fraction:
    """The least x, up to a factor 1.1, beyond which the tail is below the floor; at most a little past the end."""
    limit = Fraction(4096) if end is None else dyadic(max(end, 1e-9) * (1 + 1e-9), 50)
    if log_tail(limit) > floor:  # type: ignore[operator]
        return limit
    low, high = Fraction(1, 2**40), limit
    while high > low * Fraction(11, 10):
        middle = dyadic(math.sqrt(float(low) * float(high)), 24)
        low, high = (middle, high) if log_tail(middle) > floor else (low, middle)  # type: ignore[operator]
    return high


class LatticeModel:
    """The composition in floating point, with the interface of search.transforms.FloatLoss."""

    def __init__(self, loss: ComposedLoss, floor: float = _FLOOR) -> None:
        self.loss, self._floor = loss, floor
        self.laws = loss.laws
        self.parts = [(LawModel(law, floor), float(count)) for law, count in self.laws]
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
        saddle = choose_saddle(self, epsilon)  # type: ignore[arg-type]
        for _ in range(3):
            needed = min(saddle.log_delta, 0.0) - 50 - math.log(sum(count for _, count in self.parts))
            if -DEEPEST < needed < self._floor:
                self._lengthen(needed - 20)
            for law, _ in self.parts:
                law.refine(saddle.tilt)
            saddle = choose_saddle(self, epsilon, saddle.tilt)  # type: ignore[arg-type]
        return replace(saddle, log_delta=self._inverted(epsilon, saddle))

    def _inverted(self, epsilon: float, saddle: Saddle) -> float:
        """log delta by a trapezoidal sum where it can: a few large losses may decide, not the saddle point."""
        tilt, curved = saddle.tilt, math.sqrt(max(saddle.curvature, 1e-300))
        steps = 2 * math.pi / (40 * curved) * np.arange(_FREQUENCIES)
        logs = sum(count * np.log(law.turned(tilt, steps)) for law, count in self.parts)
        z = tilt + 1j * steps
        terms = np.exp(logs - 1j * steps * epsilon) / (z * (z + 1))
        total = float(terms.real.sum() - terms.real[0] / 2) * float(steps[1]) / math.pi
        size = self.cumulants(tilt)[0] - tilt * epsilon
        return size + math.log(total) if total > 1e-9 * abs(terms).sum() * float(steps[1]) else saddle.log_delta

    def _reach(self) -> float:
        """The largest loss in the model."""
        return sum(count * float(law.high) for law, count in self.parts)

    def _lengthen(self, floor: float) -> None:
        """Include losses as rare as e^floor."""
        self._floor = floor
        self.parts = [(LawModel(law.law, floor), count) for law, count in self.parts]

    def log_table(self, exponents: np.ndarray) -> np.ndarray:
        """K of each law at each exponent."""
        return np.array([log_sums(law.log_masses + exponents[:, None] * law.points) for law, _ in self.parts])


@dataclass(frozen=True)
class LatticePlan:
    """A witness (None where it would take too much memory), the seconds it should take, its longest window."""

    witness: LatticeWitness | SparseWitness | None
    seconds: float
    cells: int
    step: Fraction


PRODUCT_SECONDS = 2e-6
"""Of a cell of a window and 64 bits, in a product of both measures."""
QUICK = 0.05
"""Products that take fewer seconds than this need no other way."""
MOST_FREQUENCIES = 20_000
"""No more are summed."""
_SUM_SECONDS = 3e-7
"""Of one atom at one frequency."""
_ROOT_SECONDS = 2.5e-6
"""Of the roots of unity of one atom."""


@dataclass(frozen=True)
class Layout:
    """Grids and windows of a step: what products and sums over frequencies share, and the bits that each needs.

    cells: of the longest window. spare: more bits for the masses, which are second differences.
    masses, products: predicted seconds.
    """

    step: Fraction
    tilt: Fraction
    grids: tuple[LawGrid, ...]
    windows: tuple[tuple[int, int], ...]
    cells: int
    bits: int
    sum_bits: int
    spare: int
    masses: float
    products: float

    @property
    def atoms(self) -> int:
        """Cells of all grids."""
        return sum(grid.size for grid in self.grids)

    @property
    def most_frequencies(self) -> int:
        """How many could be summed in the time that the products take."""
        return min(int(self.products / (2 * self.atoms * _SUM_SECONDS)) + 100, MOST_FREQUENCIES)


def plan_lattice(model: LatticeModel, epsilon: float, width: float, step: Fraction | None = None,
                 seconds: float = math.inf, sparse: bool | None = None) -> LatticePlan:
    """A witness for delta(eps) to a relative width, or with a given grid step.

    seconds: what may be spent; a plan that would take longer is only a rough one. sparse: whether the products are
    replaced by sums over frequencies; where it is not said, if that is quicker.
    """
    saddle = model.saddle(epsilon)
    step = choose_step(model, min(saddle.tilt, 1e7), width) if step is None else step
    layout = _lay_out(model, epsilon, width, saddle, step)
    if sparse or (sparse is None and layout.products > QUICK and layout.masses < seconds):
        most = MOST_FREQUENCIES if sparse else layout.most_frequencies
        plan = _plan_sparse(model, epsilon, width, saddle, layout, most)
        if plan is not None and (sparse or plan.seconds < layout.products + layout.masses or layout.cells > MAX_CELLS):
            return plan
    if layout.cells > MAX_CELLS:
        return LatticePlan(None, math.inf, layout.cells, step)
    witness = LatticeWitness(step, layout.tilt, layout.bits, layout.grids, layout.windows, layout.bits + layout.spare)
    return LatticePlan(witness, layout.masses + layout.products, layout.cells, step)


def _lay_out(model: LatticeModel, epsilon: float, width: float, saddle: Saddle, step: Fraction) -> Layout:
    """Grids as long as one step's window, cells by the rarity of the loss; windows; bits; seconds."""
    tilt = min(saddle.tilt, 1e7)
    windows, noise = choose_windows(model, epsilon, saddle, step, width)
    single, windows = windows[: len(model.parts)], windows[len(model.parts) :]
    ends = [grid_ends(law, step, high) for (law, _), (_, high) in zip(model.parts, single, strict=True)]
    starts = [max(first, min(low, last)) for (first, last), (low, _) in zip(ends, single, strict=True)]
    grids = tuple(LawGrid(first, law.strides(tilt, step, first, last, start), start, shift_of(law, step))
                  for (law, _), (first, last), start in zip(model.parts, ends, starts, strict=True))
    longest = max(2, *(last - first for first, last in ends))
    total = sum(count for _, count in model.parts)
    sharp = math.log2(longest) + 20 + math.log2(total) - math.log2(width)
    bits = math.ceil(max(sharp, math.log2(longest) + 4 + noise))
    spare = 64 + 2 * max(math.ceil(-math.log2(step)), 0)
    masses = sum(law.seconds * grid.size for (law, _), grid in zip(model.parts, grids, strict=True))
    products = PRODUCT_SECONDS * (bits / 64) * sum(high - low for low, high in windows)
    cells = max([longest, *(high - low for low, high in windows)])
    return Layout(step, dyadic(tilt, 12), grids, windows, cells, bits, math.ceil(sharp), spare, masses, products)


def _plan_sparse(model: LatticeModel, epsilon: float, width: float, saddle: Saddle,
                 layout: Layout, most: int) -> LatticePlan | None:
    """A sum over at most so many frequencies; None where more are needed."""
    grids = tuple(replace(grid, start=LawGrid.start) for grid in layout.grids)
    witness = choose_sparse(model, epsilon, width, saddle, layout.step, layout.sum_bits,
                            layout.sum_bits + layout.spare, grids, most)
    if witness is None:
        return None
    blocks, cells = 4 + 4 * len(witness.cover), sum(cells for cells, _ in witness.cover)
    sums = (witness.count + 2 * cells) * _SUM_SECONDS + blocks * _ROOT_SECONDS
    return LatticePlan(witness, layout.masses + 2 * layout.atoms * sums, layout.atoms, layout.step)


@proved_by("T32-chernoff-window")
def choose_windows(model: LatticeModel, epsilon: float, saddle: Saddle, step: Fraction,
                   width: float) -> tuple[tuple[tuple[int, int], ...], float]:
    """For each law and each product the window outside of which nothing adds more than a small share of `width`.

    With K the sum of log moments of the steps held, and a loss of e^g allowed: a mass at infinity right of
    min_l (K(l) - g) / l or, at the end, min_l (K(l) + eps - g) / (l + 1) costs at most that, and so does
    moving what is left of max_{l<=0} (g + c eps - K_rest(c) - K(l)) / (c - l) to that place.
    Second, the bits that keep the rounding of the weights next to a window's right end, where a mass at infinity
    weighs e^{K(c) - c b}, below the same loss.
    """
    tilt, scale = saddle.tilt, math.sqrt(max(model.cumulants(saddle.tilt)[2], 1e-300))
    counts = np.array([count for _, count in model.parts])
    whole = int(counts.sum())
    units = np.eye(len(counts), dtype=int).tolist()
    schedule = [*units, *products([count for _, count in model.laws])]
    spread = np.geomspace(1e-3, 1e4, 80) / scale
    exponents = np.concatenate([-spread, [0.0], tilt - spread[spread < tilt], [tilt], tilt + spread])
    table = model.log_table(exponents)
    at_tilt = model.log_table(np.array([tilt]))[:, 0]
    log_delta = max(saddle.log_delta, math.log(model.infinity) if model.infinity > 0 else -math.inf)
    right, left = exponents > 0, exponents <= 0
    shifts = np.array([float(shift_of(law, step)) for law, _ in model.parts])
    windows, noise = [], 0.0
    for held in schedule:
        held_counts = np.array(held, dtype=float)
        k_held = held_counts @ table
        share = math.log(width / 20 * held_counts.sum() / whole / (len(schedule) + 1))
        goal = log_delta + share
        k_rest = float((counts - held_counts) @ at_tilt)
        high = np.min((k_held[right] - goal) / exponents[right])
        if sum(held) == whole:  # before that, what several copies lose is added up: it must be small itself
            high = min(high, np.min((k_held[right] + epsilon - goal) / (exponents[right] + 1)))
        low = np.max((goal + tilt * epsilon - k_rest - k_held[left]) / (tilt - exponents[left]))
        if sum(held) == whole and whole > 1:
            low = max(low, epsilon - 3 / tilt)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise Unsupported("the lattice method finds no window here: the tilted masses are out of floating point")
        moved = float(held_counts @ shifts)
        windows.append((math.floor(low / float(step) - moved) - 1, math.ceil(max(high, low) / float(step) - moved) + 1))
        noise = max(noise, float(held_counts @ at_tilt - tilt * high - goal) / math.log(2))
    return tuple(windows), noise
