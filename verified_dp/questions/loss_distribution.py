"""The privacy loss of a composition on a grid, from above and from below, in doubles for other programs (T136).

    remove, add = privacy_profile(spec).privacy_loss_distribution("1e-3", most_epsilon=8)
    DensePLDPmf(float(remove.step), remove.first, remove.upper, remove.upper_infinity_mass, True)    # dp_accounting
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeValues, LatticeWitness, Measure
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.lattice import plan_lattice
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.magnitudes import require_floats

_FAINTEST = -650.0
"""log of the least delta that the grid is made for."""


@dataclass(frozen=True, eq=False)
class LossOnGrid:
    """Masses at the losses (first + i) step, i = 0, 1, ..., of one order; shape (n,) each.

    Ensures: infinity + sum over losses > eps of (1 - e^(eps - loss)) mass is at least delta(eps) with `upper`, and at
    most with `lower`, at every real eps >= 0; as exact sums of the doubles. `upper` may have slightly more mass than 1.
    """

    order: str
    step: Fraction
    first: int
    upper: np.ndarray
    lower: np.ndarray
    upper_infinity_mass: float
    lower_infinity_mass: float

    @property
    def losses(self) -> np.ndarray:
        """(first + i) step, to the nearest double."""
        return (self.first + np.arange(len(self.upper))) * float(self.step)


@proved_by("T136-grid-in-doubles")
def double_above(mass: arb) -> float:
    """A double that is at least the ball: the nearest one, and one further."""
    return math.nextafter(float(upper_end(mass)), math.inf)


@proved_by("T136-grid-in-doubles")
def double_below(mass: arb) -> float:
    """A double that is at most the ball, at least 0."""
    return max(math.nextafter(float(lower_end(mass)), -math.inf), 0.0)


@proved_by("T136-grid-in-doubles")
def round_measure(measure: Measure, witness: LatticeWitness, up: bool) -> np.ndarray:
    """Its masses w_n 2^e e^{-c h (low + n)} as doubles, none smaller (up) or none larger."""
    rate = ball(witness.tilt * witness.step)
    scale, ratio = arb((1, measure.exponent)) * (-rate * measure.low).exp(), (-rate).exp()
    masses = np.zeros(measure.weights.length())
    for n, weight in enumerate(measure.weights.coeffs()):
        if weight:
            mass = scale * arb(weight)
            masses[n] = double_above(mass) if up else double_below(mass)
        scale *= ratio
    return masses


@proved_by("T136-grid-in-doubles", "T31-lattice-delta")
def put_on_grid(values: LatticeValues, order: str) -> LossOnGrid:
    """Both measures at whole numbers of steps: the upper one moved up to them, the lower one down."""
    with ctx.workprec(values.witness.prec):
        upper, lower = (round_measure(side, values.witness, up) for side, up in (
            (values.above, True), (values.below, False)))
        infinities = double_above(values.infinity_above + values.above.lost), double_below(values.infinity_below)
    starts = values.above.low + math.ceil(values.shift), values.below.low + math.floor(values.shift)
    first = min(starts)
    length = max(start + len(masses) for start, masses in zip(starts, (upper, lower), strict=True)) - first
    padded = [np.pad(masses, (start - first, length - (start - first) - len(masses)))
              for start, masses in zip(starts, (upper, lower), strict=True)]
    return LossOnGrid(order, values.witness.step, first, padded[0], padded[1], *infinities)


def choose_grid(loss: ComposedLoss, step: Fraction, least: float, most: float, width: float) -> LatticeWitness:
    """One grid without coarse cells and windows that serve every eps between the two."""
    require_floats(loss)
    model = LatticeModel(loss)
    most = _within_doubles(model, least, min(most, (1 - 1e-3) * model.largest))
    plans = [plan_lattice(model, epsilon, width, step, sparse=False).witness for epsilon in (least, most)]
    left, right = (plan for plan in plans if isinstance(plan, LatticeWitness))
    windows = tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(left.windows, right.windows, strict=True))
    grids = tuple(_joined(a, b) for a, b in zip(left.grids, right.grids, strict=True))
    fall = model.saddle(least).log_delta - model.saddle(most).log_delta
    bits = max(left.bits, right.bits) + math.ceil(1.5 * max(fall, 0.0)) + 16
    return LatticeWitness(step, left.tilt, bits, grids, windows, bits + right.prec - right.bits)


def _within_doubles(model: LatticeModel, least: float, most: float) -> float:
    """The largest eps, in half steps from `least`, where delta is no smaller than doubles tell apart."""
    while most > least and not model.saddle(most).log_delta > _FAINTEST:
        most = least + (most - least) / 2 if most - least > 1e-9 else least
    return max(most, least)


def _joined(one: LawGrid, other: LawGrid) -> LawGrid:
    first = min(one.first, other.first)
    end = max(grid.first + sum(cells * stride for cells, stride in grid.blocks) for grid in (one, other))
    return LawGrid(first, ((end - first, 1),), min(one.start, other.start), one.shift)


def enclose_loss(loss: ComposedLoss, step: Fraction, least: float, most: float, width: float) -> LossOnGrid:
    """The loss of one order. Raises Unsupported where no grid fits."""
    try:
        witness = choose_grid(loss, step, least, most, width)
    except ValueError:
        raise Unsupported("the lattice method needs a grid of too many points here: take a larger step") from None
    return put_on_grid(witness.evaluate(loss), loss.order)
