"""Floating-point choices of the lattice method: step, grids, tilt, the circle, bits, and how laws are composed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.kernel.certificate.document import MAX_INTEGER_DIGITS
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.search.frequencies import choose_circle, choose_frequencies, choose_period
from verified_dp.search.lattice_model import LatticeModel, shift_of
from verified_dp.search.line import dyadic
from verified_dp.search.saddle import Saddle
from verified_dp.search.steps import MAX_CELLS, choose_step, grid_ends


@dataclass(frozen=True)
class LatticePlan:
    """A witness (None where it would take too much memory), the seconds it should take, its longest polynomial."""

    witness: LatticeWitness | None
    seconds: float
    cells: int
    step: Fraction


PRODUCT_SECONDS = 2e-6
"""Of a place and 64 bits, in a product of both laws."""
QUICK = 0.05
"""Products that take fewer seconds than this need no other way."""
MOST_FREQUENCIES = 20_000
"""No more are summed."""
_SUM_SECONDS = 3e-7
"""Of one atom at one frequency."""
_ROOT_SECONDS = 2.5e-6
"""Of the roots of unity of one atom."""


def plan_lattice(model: LatticeModel, epsilon: float, width: float, step: Fraction | None = None,
                 seconds: float = math.inf, sparse: bool | None = None) -> LatticePlan:
    """A witness for delta(eps) to a relative width, or with a given grid step.

    seconds: what may be spent; a plan that would take longer is only a rough one. sparse: whether the products are
    replaced by sums over frequencies; where it is not said, if that is quicker.
    """
    saddle = model.saddle(epsilon)
    step = choose_step(model, min(saddle.tilt, 1e7), width) if step is None else step
    log_delta = max(saddle.log_delta, math.log(model.infinity) if model.infinity > 0 else -math.inf)
    goal = log_delta + math.log(width / 60)
    grids = tuple(_choose_grids(model, epsilon, saddle, step, goal))
    masses = sum(law.seconds * grid.size for (law, _), grid in zip(model.parts, grids, strict=True))
    witness, plan = _plan_products(model, epsilon, width, saddle, step, goal, grids)
    if sparse or (sparse is None and plan.seconds > QUICK and masses < seconds):
        worth = math.inf if sparse else plan.seconds / (2 * sum(grid.size for grid in grids) * _SUM_SECONDS) + 100
        found = _plan_frequencies(model, epsilon, saddle, goal, witness, int(min(worth, MOST_FREQUENCIES)))
        if found is not None and (sparse or found.seconds < plan.seconds or plan.cells > MAX_CELLS):
            return replace(found, seconds=masses + found.seconds)
    if plan.cells > MAX_CELLS:
        return LatticePlan(None, math.inf, plan.cells, step)
    return replace(plan, seconds=masses + plan.seconds)


def _on_circle(base: LatticeWitness, tilt: float, length: float, right: float, left: float) -> LatticeWitness:
    """With so long a circle and these exponents, in exact numbers that are ordered as they are."""
    if not length / float(base.step) < 10**MAX_INTEGER_DIGITS:
        raise Unsupported("the lattice method finds no circle here: the tilted masses are out of floating point")
    period, c = 2 * math.ceil(max(length, 0.0) / float(base.step) / 2) + 3, dyadic(tilt, 12)
    return replace(base, tilt=c, period=period, right=c + dyadic(right - tilt, 12),
                   left=(c - dyadic(tilt - left, 12)) * (left > 0))


def _plan_products(model: LatticeModel, epsilon: float, width: float, saddle: Saddle, step: Fraction, goal: float,
                   grids: tuple[LawGrid, ...]) -> tuple[LatticeWitness, LatticePlan]:
    """All masses in integers; seconds without those for one step's masses."""
    tilt, length, right, left = choose_circle(model, epsilon, saddle, goal)
    base = _on_circle(LatticeWitness(step, Fraction(1), 2, grids, 1, 0, (), Fraction(2), Fraction(0), 2),
                      tilt, length, right, left)
    counts = [int(count) for _, count in model.parts]
    lengths = [min(base.period, (count >> n) * grid.span) for count, grid in zip(counts, grids, strict=True)
               for n in range(count.bit_length())]
    cells = max(max(lengths), *(grid.span for grid in grids))
    excess = model.cumulants(tilt)[0] - tilt * epsilon - (model.cumulants(saddle.tilt)[0] - saddle.tilt * epsilon)
    bits = math.ceil(math.log2(cells) + 20 + math.log2(sum(counts)) - math.log2(width) + max(excess, 0.0) / math.log(2))
    prec = bits + 64 + 2 * max(math.ceil(-math.log2(step)), 0)
    seconds = PRODUCT_SECONDS * (bits / 64) * (2 * sum(lengths) + base.period * (len(grids) - 1))
    witness = replace(base, bits=bits, prec=prec)
    return witness, LatticePlan(witness, seconds, cells, step)


def _plan_frequencies(model: LatticeModel, epsilon: float, saddle: Saddle, goal: float, base: LatticeWitness,
                      most: int) -> LatticePlan | None:
    """A sum over at most so many frequencies; None where more are needed. Seconds as of products."""
    tilt = min(saddle.tilt, 1e7)
    base = _on_circle(base, tilt, *choose_period(model, epsilon, tilt, goal))
    size = model.cumulants(tilt)[0] - tilt * epsilon
    chosen = choose_frequencies(model, base, goal - size, most)
    if chosen is None:
        return None
    (count, cover), atoms = chosen, sum(grid.size for grid in base.grids)
    cells = sum(cells for cells, _ in cover)
    sums = (count + 2 * cells) * _SUM_SECONDS + (4 + 4 * len(cover)) * _ROOT_SECONDS
    return LatticePlan(replace(base, count=count, cover=cover), 2 * atoms * sums, atoms, base.step)


def _choose_grids(model: LatticeModel, epsilon: float, saddle: Saddle, step: Fraction,
                  goal: float) -> Iterator[LawGrid]:
    """For each law a grid that ends where k losses beyond add less than a share of e^goal as infinite ones.

    With K its log moments, that is right of min_l (K(l) + log k - goal) / l. Left of where all that is smaller cannot
    matter, max_{l<=0} (goal + c eps - K_rest(c) - K(l)) / (c - l), cells are as wide as may be.
    """
    tilt, scale = min(saddle.tilt, 1e7), math.sqrt(max(model.cumulants(saddle.tilt)[2], 1e-300))
    spread = np.geomspace(1e-3, 1e4, 80) / scale
    rights, lefts = np.concatenate([tilt + spread, tilt - spread[spread < tilt]]), np.append(-spread, 0.0)
    at_tilt = model.log_table(np.array([tilt]))[:, 0]
    whole = sum(count * float(k) for (_, count), k in zip(model.parts, at_tilt, strict=True))
    table = model.log_table(np.concatenate([rights, lefts]))
    for (law, count), row, own in zip(model.parts, table, at_tilt, strict=True):
        share = goal - math.log(count * len(model.parts))
        right, left = row[:len(rights)], row[len(rights):]
        shift = shift_of(law, step)
        high = float(np.min((right - share) / rights))
        if count == len(model.parts) == 1:  # of several copies, what is lost adds up and must be small itself
            high = min(high, float(np.min((right + epsilon - share) / (rights + 1))))
        high = high / float(step) - float(shift)
        low = float(np.max((share + tilt * epsilon - whole + own - left) / (tilt - lefts))) / float(step) - float(shift)
        if not max(abs(low), abs(high)) < 10**MAX_INTEGER_DIGITS:
            raise Unsupported("the lattice method finds no grid here: the tilted masses are out of floating point")
        first, last = grid_ends(law, step, math.ceil(max(high, low)) + 1)
        start = max(first, min(math.floor(low) - 1, last))
        yield LawGrid(first, law.strides(tilt, step, first, last, start, MAX_CELLS), shift)
