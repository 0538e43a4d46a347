"""Floating-point choices of the lattice method: the grid step, each law's grid, the tilt, the windows, the bits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from verified_dp.errors import Unsupported
from verified_dp.kernel.balls import ball
from verified_dp.kernel.grid import LawGrid, enclose_step
from verified_dp.kernel.lattice import LatticeWitness, products
from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.law import Law
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle, choose_saddle
from verified_dp.search.transforms import log_sum, log_sums
from verified_dp.theorems import proved_by

_FINEST = 40
"""The coarse model's cells are at least 2^-40 of the range."""
_FLOOR = -80.0
"""log of the tail masses that the coarse model leaves out at first."""
_DEEPEST = 20_000.0
"""No smaller delta than e^-20000 is looked for."""
MAX_CELLS = 8_000_000
"""Of one window: about a gigabyte while it is multiplied."""


class LawModel:
    """One law as masses at points, from values of its profile on a mesh that is finer where it matters."""

    def __init__(self, law: Law, floor: float) -> None:
        self.law = law
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

    def strides(self, tilt: float, step: Fraction, first: int, last: int, start: int) -> tuple[tuple[int, int], ...]:
        """Cells of 1, 2, 4, ... grid steps: the rarer the loss under the tilt, the wider."""
        logs = self.log_masses + tilt * self.points
        density = np.logaddexp(logs[:-1], logs[1:]) - np.log(np.diff(self.points))
        wide = np.floor(np.maximum(density.max() - density, 0.0) / math.log(8) - 0.5)
        short = math.log2(max(0.5 / ((tilt + 1) * float(step)), 1.0))  # D must not vanish within a cell
        edges = np.floor(self.points / float(step))
        wide = np.clip(wide, 0, np.where(edges[1:] < start, 30, min(math.floor(short), 30))).astype(int)
        return _blocks(first, last, edges, wide)


def _blocks(first: int, last: int, edges: np.ndarray, levels: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Blocks (cells, stride) from first to last: aligned strides of at most 2^level of every mesh cell they meet."""
    blocks: list[list[int]] = []
    place = first
    while place < last:
        level = int(_least_level(place, 1, edges, levels))
        while level and (place % (1 << level) or place + (1 << level) > last
                         or _least_level(place, 1 << level, edges, levels) < level):
            level -= 1
        if blocks and blocks[-1][1] == 1 << level:
            blocks[-1][0] += 1
        else:
            blocks.append([1, 1 << level])
        place += 1 << level
    return tuple((cells, stride) for cells, stride in blocks)


def _least_level(place: int, stride: int, edges: np.ndarray, levels: np.ndarray) -> int:
    """The least level of the mesh cells that meet [place, place + stride]."""
    start = min(max(int(np.searchsorted(edges, place, "right")) - 1, 0), len(levels) - 1)
    end = max(int(np.searchsorted(edges, place + stride, "left")), start + 1)
    return int(levels[start:end].min())


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
        while math.isinf(self.largest) and self._reach() < 1.2 * epsilon and self._floor > -_DEEPEST:
            self._lengthen(2 * self._floor)
        saddle = choose_saddle(self, epsilon)  # type: ignore[arg-type]
        for _ in range(3):
            needed = min(saddle.log_delta, 0.0) - 50 - math.log(sum(count for _, count in self.parts))
            if -_DEEPEST < needed < self._floor:
                self._lengthen(needed - 20)
            for law, _ in self.parts:
                law.refine(saddle.tilt)
            saddle = choose_saddle(self, epsilon, saddle.tilt)  # type: ignore[arg-type]
        return saddle

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

    witness: LatticeWitness | None
    seconds: float
    cells: int
    step: Fraction


def gap_at(model: LatticeModel, tilt: float, step: Fraction) -> float:
    """The relative width of delta to be expected with a grid step: the difference of both sides' K at the tilt."""
    total = 0.0
    with ctx.workprec(256):
        for law, count in model.parts:
            first, last = grid_ends(law, step)
            if last - first > MAX_CELLS:
                return math.inf
            grid = LawGrid(first, law.strides(tilt, step, first, last, first))
            masses = enclose_step(law.law, grid, step, 100)
            weights = [(ball(step * i) * arb(tilt)).exp() for i in masses.vertices]
            above = sum((m * w for m, w in zip(masses.above, weights, strict=True)), arb(0))
            below = sum((m * w for m, w in zip(masses.below, weights, strict=True)), arb(0))
            total += count * float((above / below).log()) if below > 0 else math.inf
    return total


def grid_ends(law: LawModel, step: Fraction, high: int = 10**12) -> tuple[int, int]:
    """The first and last index of a law's range, the last one at most `high`, the first one left of the finite mass."""
    first, last = math.floor(law.low / step), min(math.ceil(law.high / step), high)
    finite = math.log1p(-math.exp(law.infinity)) if law.infinity < 0 else 0.0
    return min(first, math.floor(finite / step) - 1), max(last, 1)


def choose_step(model: LatticeModel, tilt: float, width: float) -> Fraction:
    """The grid step whose gap should be `width`: extrapolated as h^2 from a coarse grid, whose gap is measured."""
    _, _, variance = model.cumulants(tilt)
    count = sum(k for _, k in model.parts)
    step = math.sqrt(8e-2 / (count * tilt * (tilt + 1)))
    spread = min(max(math.sqrt(law.cumulants(tilt)[2]), 1e-12) for law, _ in model.parts)
    step = min(step, spread, math.sqrt(variance) / 4)
    for _ in range(6):
        aligned = align(model, step)
        gap = gap_at(model, tilt, aligned)
        if gap <= max(0.05, width) or math.isinf(step):
            break
        step = float(aligned) * min(0.5, math.sqrt(0.02 / gap) if math.isfinite(gap) else 0.25)
    return align(model, min(float(aligned), float(aligned) * math.sqrt(0.8 * width / max(gap, 1e-300))))


def align(model: LatticeModel, step: float) -> Fraction:
    """A step of at most this size that puts the atoms of bounded laws on the grid, or barely above it."""
    atoms = sorted({atom for law, _ in model.parts for atom in _atoms(law.law)})
    if not atoms:
        return dyadic(step, 20)
    base = atoms[0]
    least = max(math.ceil(base / Fraction(step)), 1)
    for parts in range(least, least + 4000):
        aligned = base / parts
        if all(_above(atom / aligned) < Fraction(1, 2**30) for atom in atoms):
            return aligned * (1 - Fraction(1, 2**52))
    return base / least * (1 - Fraction(1, 2**52))


def _above(multiple: Fraction) -> Fraction:
    return abs(multiple - round(multiple))


def _atoms(law: Law) -> list[Fraction]:
    """Sizes of the extreme losses of a law bounded on both sides, where atoms are likely."""
    ends = []
    with ctx.workprec(200):
        for end in (law.enclose_smallest_loss(), law.enclose_largest_loss()):
            if end is None:
                return []
            mantissa, exponent = abs(end).lower().man_exp()
            ends.append(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    return [end for end in ends if end > 0]


def plan_lattice(model: LatticeModel, epsilon: float, width: float, step: Fraction | None = None) -> LatticePlan:
    """A witness for delta(eps) to a relative width, or with a given grid step."""
    saddle = model.saddle(epsilon)
    tilt = min(saddle.tilt, 1e7)
    if step is None:
        step = choose_step(model, tilt, width)
    windows, noise = choose_windows(model, epsilon, saddle, step, width)
    single, windows = windows[: len(model.parts)], windows[len(model.parts) :]
    ends = [grid_ends(law, step, high) for (law, _), (_, high) in zip(model.parts, single, strict=True)]
    cells = max(high - low for low, high in (*ends, *windows))
    if cells > MAX_CELLS:
        return LatticePlan(None, math.inf, cells, step)
    starts = [max(first, min(low, last)) for (first, last), (low, _) in zip(ends, single, strict=True)]
    grids = tuple(LawGrid(first, law.strides(tilt, step, first, last, start), start)
                  for (law, _), (first, last), start in zip(model.parts, ends, starts, strict=True))
    total = sum(count for _, count in model.parts)
    bits = math.ceil(math.log2(max(cells, 2)) + max(20 + math.log2(total) - math.log2(width), 4 + noise))
    prec = bits + 112 + 2 * max(math.ceil(-math.log2(step)), 0)
    evaluations = sum(sum(cells for cells, _ in grid.blocks) for grid in grids)
    seconds = 1.2e-4 * evaluations + 4e-6 * (bits / 64) * sum(high - low for low, high in windows)
    witness = LatticeWitness(step, dyadic(tilt, 12), bits, grids, windows, prec)
    return LatticePlan(witness, seconds, cells, step)


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
        windows.append((math.floor(low / float(step)) - 1, math.ceil(max(high, low) / float(step)) + 1))
        noise = max(noise, float(held_counts @ at_tilt - tilt * high - goal) / math.log(2))
    return tuple(windows), noise
