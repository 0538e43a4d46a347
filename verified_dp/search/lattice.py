"""Floating-point choices of the lattice method: the grid step, each law's grid, the tilt, the windows, the bits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness, products
from verified_dp.core.engines.sparse import SparseWitness
from verified_dp.core.kernel.certificate.document import MAX_INTEGER_DIGITS
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.lattice_model import LatticeModel, shift_of
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle
from verified_dp.search.sparse import choose_sparse
from verified_dp.search.steps import MAX_CELLS, choose_step, grid_ends


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
    grids = tuple(LawGrid(first, law.strides(tilt, step, first, last, start, MAX_CELLS), start, shift_of(law, step))
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
        window = math.floor(low / float(step) - moved) - 1, math.ceil(max(high, low) / float(step) - moved) + 1
        if max(map(abs, window)) >= 10**MAX_INTEGER_DIGITS:
            raise Unsupported("the lattice method finds no window here: its places are longer than certificates write")
        windows.append(window)
        noise = max(noise, float(held_counts @ at_tilt - tilt * high - goal) / math.log(2))
    return tuple(windows), noise
