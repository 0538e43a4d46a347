"""Choices of a lattice next to the largest loss: cells over the gap alone, no lower loss of a step counts there."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import groupby, pairwise

from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.kernel.balls import ball, lower_dyadic, upper_dyadic
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.lattice import PRODUCT_SECONDS, LatticePlan
from verified_dp.search.line import dyadic

FIRST_CELLS = 64
"""Of the gap, where no width is known yet."""
_MOST_CELLS, _MOST_SHARES = 20_000, 8
_EQUAL = 4
"""Cells of each width below the gap, which double: wider ones would take the lower law's line below 0."""
_PREC, _CELL_SECONDS = 256, 1.2e-4
_TURNS, _SPARE = 2, 10.0
"""Half of how many gaps long the circle is; by how much aliases are less than the width asks, in -log."""


def gap_to_end(loss: ComposedLoss, epsilon: Fraction) -> Fraction | None:
    """The largest loss minus eps, where it is at most one step's range and a law has a density; None elsewhere.

    Where many steps have no atom there the gap is shared by all of them, and other cells are better.
    """
    if all(law.lists(10**9) for law, _ in loss.laws) or _shares(loss) > _MOST_SHARES:
        return None
    with ctx.workprec(_PREC):
        end = loss.enclose_largest_loss()
        gap = arb(0) if end is None else end - ball(epsilon)
        ends = [(law.enclose_largest_loss(), law.enclose_smallest_loss()) for law, _ in loss.laws]
        near = gap > 0 and all(high is not None and low is not None and gap <= high - low for high, low in ends)
        return upper_dyadic(gap).as_fraction() if near else None


def plan_next_to_end(loss: ComposedLoss, gap: Fraction, width: float, step: Fraction | None) -> LatticePlan:
    """A witness for delta at the largest loss minus the gap, with so wide cells: the width falls as their square."""
    step = dyadic(float(gap) / (FIRST_CELLS * _shares(loss)), 12) if step is None else step
    cells, steps = math.ceil(gap / step) + 2, sum(count for _, count in loss.laws)
    if cells > _MOST_CELLS:
        return LatticePlan(None, math.inf, cells, step)
    with ctx.workprec(_PREC):
        grids = tuple(_grid(law, step, cells) for law, _ in loss.laws)
        ends = [ball((grid.first + grid.span - Fraction(cells, steps)) * step) for grid in grids]
        rare = -sum((count * law.enclose_tails(end)[0].log() for (law, count), end in zip(
            loss.laws, ends, strict=True)), arb(0))
    faint = float(rare) - math.log(width) - min(math.log(gap), 0.0) + _SPARE  # what aliases may be, in -log
    period = 2 * _TURNS * (cells + steps) + 1
    reach = float((cells + steps) * step)  # of delta's losses: rounding takes each step one cell farther
    tilt = dyadic(faint / (float(period * step)), 12)
    right = tilt + dyadic(2 * faint / ((2 * _TURNS - 1) * reach), 12)
    bits = math.ceil((faint + float(tilt) * reach) / math.log(2)
                     + 2 * cells.bit_length() + steps.bit_length() + 20)
    prec = bits + 64 + 2 * max(math.ceil(-math.log2(step)), 0)
    witness = LatticeWitness(step, tilt, bits, grids, period, 0, (), right, Fraction(0), prec)
    products = sum(2 * count.bit_length() for _, count in loss.laws)
    seconds = _CELL_SECONDS * sum(grid.size for grid in grids) + PRODUCT_SECONDS * (bits / 64) * period * products
    return LatticePlan(witness, seconds, cells, step)


def _shares(loss: ComposedLoss) -> int:
    """Among how many steps the gap is shared: those without an atom at the largest loss, at least 1."""
    with ctx.workprec(_PREC):
        ends = [(law, law.enclose_largest_loss(), count) for law, count in loss.laws]
        return max(1, sum(count for law, end, count in ends if end is None or not any(
            mass > 0 and atom.overlaps(end) for atom, mass in law.enclose_loss_atoms() or [])))


def _grid(law: Law, step: Fraction, cells: int) -> LawGrid:
    """So many cells up to one that begins 2^-50 of it left of the largest loss; below wider ones, and around atoms.

    A place right of an atom there, by however little, would leave the lower law nothing of it; one that is too low
    farther down, a line to it that is too low at the end.
    """
    largest, smallest = law.enclose_largest_loss(), law.enclose_smallest_loss()
    assert largest is not None and smallest is not None  # as `gap_to_end` has it
    top = lower_dyadic(largest).as_fraction() / step - Fraction(1, 2**50)
    last = math.floor(top)
    shift = Fraction(math.floor((top - last) * 2**60), 2**60)
    start = last + 1 - cells
    places, place, stride = set(range(start, last + 2)), start, 2
    least = min(math.floor(lower_dyadic(smallest).as_fraction() / step), 0) - 2
    while place > least:
        places.update(range(place - _EQUAL * stride, place, stride))
        place, stride = place - _EQUAL * stride, 2 * stride
    for atom, _ in law.enclose_loss_atoms() or []:
        near = math.floor(lower_dyadic(atom).as_fraction() / step - shift)
        places.update(one for one in (near, near + 1) if one < start)
    ordered = sorted(places)
    strides = groupby(right - left for left, right in pairwise(ordered))
    return LawGrid(ordered[0], tuple((len(list(equal)), stride) for stride, equal in strides), shift)
