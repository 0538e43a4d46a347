"""The privacy loss of a composition on a grid, from above and from below, in doubles for other programs (T223).

    remove, add = privacy_profile(spec).privacy_loss_distribution("1e-3", most_epsilon=8)
    DensePLDPmf(float(remove.step), remove.first, remove.upper, remove.upper_infinity_mass, True)    # dp_accounting
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid, total_shift
from verified_dp.core.engines.lattice import Above, Below, Circle, LatticeWitness, bound_moment, compose
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.lattice_model import LatticeModel, shift_of
from verified_dp.search.line import dyadic
from verified_dp.search.magnitudes import require_floats
from verified_dp.search.steps import MAX_CELLS, grid_ends

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


@proved_by("T223-grid-in-doubles")
def double_above(mass: arb) -> float:
    """A double that is at least the ball: the nearest one, and one further."""
    return math.nextafter(float(upper_end(mass)), math.inf)


@proved_by("T223-grid-in-doubles")
def double_below(mass: arb) -> float:
    """A double that is at most the ball, at least 0."""
    return max(math.nextafter(float(lower_end(mass)), -math.inf), 0.0)


@dataclass(frozen=True)
class Window:
    """One turn of the circle: the indices first, ..., first + period - 1, outside of which next to nothing is.

    right > tilt > 0 >= left: the exponents of moments that bound that.
    """

    witness: LatticeWitness
    first: int
    right: Fraction
    left: Fraction

    def __post_init__(self) -> None:
        if not self.right > self.witness.tilt > 0 >= self.left:
            raise InvalidInput("window", (self.right, self.left), "exponents right of the tilt and at most 0")

    @proved_by("T223-grid-in-doubles")
    def beyond(self, moments: tuple[arb, arb], tilt: Fraction) -> tuple[arb, arb]:
        """Bound the sums of e^{tilt x} times the masses right of the window and left of it, tilt 0 or the witness's."""
        ends = self.first + self.witness.period, self.first - 1
        right, left = (upper_end(moment * (-ball((exponent - tilt) * end * self.witness.step)).exp())
                       for moment, exponent, end in zip(moments, (self.right, self.left), ends, strict=True))
        return right, left

    @proved_by("T223-grid-in-doubles")
    def masses(self, circle: Circle, wrapped: arb) -> list[arb]:
        """Enclose (f_n 2^e - wrapped) e^{-c h n} at all indices n of the window."""
        turn, weights = (self.first - circle.low) % self.witness.period, circle.weights
        rate, unit = -ball(self.witness.tilt * self.witness.step), arb((1, circle.exponent))
        scale, ratio, found = (rate * self.first).exp(), rate.exp(), []
        for n in range(turn, turn + self.witness.period):
            found.append((arb(weights[n % self.witness.period]) * unit - wrapped) * scale)
            scale *= ratio
        return found


@proved_by("T223-grid-in-doubles")
def put_on_grid(loss: ComposedLoss, window: Window) -> LossOnGrid:
    """Both laws at whole numbers of steps: the upper one moved up to them, the lower one down."""
    witness = window.witness
    if not witness.applies(loss):
        raise InvalidInput("window", witness.period, "a circle that fits the loss, and is evaluated in integers")
    counts, (above, below), (most, least) = witness.enclose_steps(loss)
    with ctx.workprec(witness.sum_bits):
        high, low = ((bound_moment(laws, counts, window.right, witness),
                      bound_moment(laws, counts, window.left, witness)) for laws in (above, below))
        right, left = window.beyond(high, Fraction(0))
        upper = window.masses(compose(Above, above, counts, witness), arb(0))
        upper[0] += left
        lower = window.masses(compose(Below, below, counts, witness), sum(window.beyond(low, witness.tilt), arb(0)))
        masses = np.array([double_above(mass) for mass in upper]), np.array([double_below(mass) for mass in lower])
        infinities = double_above(most + right), double_below(least)
    shift = total_shift(witness.grids, counts)
    moved = math.ceil(shift) - math.floor(shift)
    return LossOnGrid(loss.order, witness.step, window.first + math.floor(shift), np.pad(masses[0], (moved, 0)),
                      np.pad(masses[1], (0, moved)), *infinities)


def choose_window(loss: ComposedLoss, step: Fraction, least: float, most: float, width: float) -> Window:
    """Grids without coarse cells, and a window that serves every eps between the two."""
    require_floats(loss)
    model = LatticeModel(loss)
    most = _within_doubles(model, least, min(most, (1 - 1e-3) * model.largest))
    near, far = model.saddle(least), model.saddle(most)
    tilt, scale = min(near.tilt, 1e7), math.sqrt(model.cumulants(near.tilt)[2])
    counts = np.array([count for _, count in model.parts])
    spread = np.geomspace(1e-3, 1e4, 80) / scale
    spread = np.minimum(spread, max(1 / (float(step) * math.sqrt(counts.sum())), spread[0]))  # beyond, grids differ
    rights, lefts = tilt + spread, np.append(-spread, 0.0)
    table = model.log_table(np.concatenate([rights, lefts, [tilt]]))
    logs = counts @ table
    goal = far.log_delta + math.log(width / 100)  # of mass; tilted: what is as much at `most`
    tilted = goal + tilt * most
    high = np.maximum((logs[:80] - tilted) / (rights - tilt), (logs[:80] - goal) / rights)
    low = np.minimum((tilted - logs[80:-1]) / (tilt - lefts), (logs[80:-1] - goal) / np.minimum(lefts, -1e-300))
    shifts = [shift_of(law, step) for law, _ in model.parts]
    moved = float(counts @ np.array(shifts, dtype=float))
    first, last = math.floor(low.max() / float(step) - moved) - 1, math.ceil(high.min() / float(step) - moved) + 1
    period = 2 * ((last - first) // 2) + 1
    if not period < MAX_CELLS:
        raise Unsupported("the lattice method needs a grid of too many points here: take a larger step")
    least_losses = ((table[:, 80:-2] - goal + np.log(counts)[:, None]) / lefts[:-1]).max(axis=1) / float(step)
    ends = [grid_ends(law, step, last - first) for law, _ in model.parts]
    starts = [min(max(start, math.floor(place) - 1), -1) for (start, _), place in zip(ends, least_losses, strict=True)]
    grids = tuple(LawGrid(start, ((end - start, 1),), shift)
                  for start, (_, end), shift in zip(starts, ends, shifts, strict=True))
    excess = max(logs[-1] - tilt * most - far.log_delta, logs[-1] - tilt * low.max()) / math.log(2)
    bits = math.ceil(math.log2(period * counts.sum()) - math.log2(width) + max(excess, 0.0)) + 8
    witness = LatticeWitness(step, dyadic(tilt, 12), bits, grids, period, 0, (), Fraction(10**9), Fraction(0),
                             bits + 64 + 2 * max(math.ceil(-math.log2(step)), 0))
    return Window(witness, first, witness.tilt + dyadic(float(spread[high.argmin()]), 24),
                  dyadic(float(lefts[low.argmax()]), 24))


def _within_doubles(model: LatticeModel, least: float, most: float) -> float:
    """The largest eps, in half steps from `least`, where delta is no smaller than doubles tell apart."""
    while most > least and not model.saddle(most).log_delta > _FAINTEST:
        most = least + (most - least) / 2 if most - least > 1e-9 else least
    return max(most, least)


def enclose_loss(loss: ComposedLoss, step: Fraction, least: float, most: float, width: float) -> LossOnGrid:
    """The loss of one order. Raises Unsupported where no grid fits."""
    return put_on_grid(loss, choose_window(loss, step, least, most, width))
