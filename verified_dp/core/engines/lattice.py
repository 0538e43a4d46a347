"""The lattice method: every step's loss on one grid, from above and from below, composed exactly in integers (T26-T31).

A measure on the grid x_i = i h is kept tilted: the mass at x_i is weights[i] 2^exponent e^{-c x_i} with integer
weights, so that those that matter for delta(eps), however small it is, have about the same size for the right c.
The shifts of the steps' grids are taken off the losses, and off eps in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx, fmpz_poly

from verified_dp.core.engines.grid import LawGrid, StepMasses, enclose_step, total_shift, work_of_grids
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, nothing, words


@dataclass(frozen=True)
class Measure:
    """Mass weights[n] 2^exponent e^{-c h (low + n)} at (low + n) h; lost: real mass that counts as an infinite loss."""

    weights: fmpz_poly
    low: int
    exponent: int
    lost: arb


@proved_by("T30-lattice-composition")
def products(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """After each product, in order: how many steps of each law it holds."""
    unit = [tuple(int(n == i) for n in range(len(counts))) for i in range(len(counts))]
    for i, count in enumerate(counts):
        held = 1
        for digit in bin(count)[3:]:
            held *= 2
            yield tuple(held * one for one in unit[i])
            if digit == "1":
                held += 1
                yield tuple(held * one for one in unit[i])
    for i in range(1, len(counts)):
        yield tuple(count if n <= i else 0 for n, count in enumerate(counts))


class Above:
    """Upwards: weights rounded up; what is cut on the left moves to the window's edge, on the right to infinity."""

    @staticmethod
    @proved_by("T28-tilted-rounding")
    def integer(mass: arb) -> int:
        """The least integer at least the ball."""
        mantissa, exponent = upper_end(mass).man_exp()
        return -(-int(mantissa) >> -int(exponent)) if exponent < 0 else int(mantissa) << int(exponent)

    @staticmethod
    @proved_by("T28-tilted-rounding")
    def halve(weights: fmpz_poly, times: int) -> fmpz_poly:
        """Each weight (>= 0) over 2^times, rounded up."""
        almost = fmpz_poly([(1 << times) - 1] * weights.length())
        return (weights + almost) // (1 << times)  # >= 0 only: a negative poly // n need not be rounded down

    @staticmethod
    @proved_by("T29-window-cut")
    def gather(vertices: Sequence[int], masses: Sequence[arb], start: int) -> list[tuple[int, arb]]:
        """(index, mass) from `start` on; what is left of it moves there."""
        pairs = list(zip(vertices, masses, strict=True))
        if vertices[0] >= start:
            return pairs
        moved = sum((mass for i, mass in pairs if i < start), arb(0))
        return [(start, moved), *((i, mass) for i, mass in pairs if i >= start)]

    @classmethod
    @proved_by("T29-window-cut")
    def cut(cls, measure: Measure, window: tuple[int, int], ratio: arb) -> Measure:
        """Keep the window. ratio: e^{-ch}."""
        left, middle, right = _split(measure, window)
        low, start = window[0], _right_start(measure, window)
        moved = cls.integer(left(ratio) * ratio ** (measure.low - low)) if left else 0
        lost = right(ratio) * ratio**start * arb((1, measure.exponent)) if right else arb(0)
        return replace(measure, weights=middle + moved, low=low, lost=upper_end(measure.lost + lost))


class Below:
    """Downwards: weights rounded down; what is cut on the left is dropped, on the right moves to the window's edge."""

    @staticmethod
    @proved_by("T28-tilted-rounding")
    def integer(mass: arb) -> int:
        """The largest integer at most the ball, at least 0."""
        mantissa, exponent = lower_end(mass).max(arb(0)).man_exp()
        return int(mantissa) >> -int(exponent) if exponent < 0 else int(mantissa) << int(exponent)

    @staticmethod
    @proved_by("T28-tilted-rounding")
    def halve(weights: fmpz_poly, times: int) -> fmpz_poly:
        """Each weight (>= 0) over 2^times, rounded down."""
        return weights // (1 << times)

    @staticmethod
    @proved_by("T29-window-cut")
    def gather(vertices: Sequence[int], masses: Sequence[arb], start: int) -> list[tuple[int, arb]]:
        """(index, mass) from `start` on; what is left of it is dropped."""
        kept = [(i, mass) for i, mass in zip(vertices, masses, strict=True) if i >= start]
        return kept or [(start, arb(0))]

    @classmethod
    @proved_by("T29-window-cut")
    def cut(cls, measure: Measure, window: tuple[int, int], ratio: arb) -> Measure:
        """Keep the window. ratio: e^{-ch}."""
        _, middle, right = _split(measure, window)
        low, high = window
        moved = cls.integer(right(ratio) * ratio ** (_right_start(measure, window) - high)) if right else 0
        return replace(measure, weights=middle + fmpz_poly([moved]).left_shift(high - low), low=low)


Side = type[Above] | type[Below]


@proved_by("T29-window-cut")
def _split(measure: Measure, window: tuple[int, int]) -> tuple[fmpz_poly, fmpz_poly, fmpz_poly]:
    """Weights left of the window (from the measure's low), in it (from its low), right of it (from `_right_start`)."""
    start, end = window[0] - measure.low, window[1] + 1 - measure.low
    weights = measure.weights
    left = weights.truncate(start) if start > 0 else fmpz_poly()
    if end <= 0:
        return fmpz_poly(), fmpz_poly(), weights
    inside = weights.truncate(end)
    middle = inside.right_shift(start) if start >= 0 else inside.left_shift(-start)
    return left, middle, weights.right_shift(end)


def _right_start(measure: Measure, window: tuple[int, int]) -> int:
    """The index of the first weight right of the window."""
    return max(window[1] + 1, measure.low)  # exact: integers


@proved_by("T28-tilted-rounding")
def tilt_masses(side: Side, pairs: Sequence[tuple[int, arb]], witness: LatticeWitness) -> Measure:
    """(Index, mass), by increasing index, as a tilted measure whose weights sum to about 2^bits."""
    rate = ball(witness.tilt * witness.step)
    tilted = [(i, mass * (rate * i).exp()) for i, mass in pairs]
    mantissa, power = upper_end(sum((mass for _, mass in tilted), arb(0))).man_exp()
    exponent = int(mantissa).bit_length() + int(power) - witness.bits
    scale = arb((1, -exponent))
    low = pairs[0][0]
    weights = [0] * (pairs[-1][0] - low + 1)
    for i, mass in tilted:
        weights[i - low] += side.integer(mass * scale)
    return Measure(fmpz_poly(weights), low, exponent, arb(0))


@proved_by("T28-tilted-rounding")
def shorten(side: Side, measure: Measure, bits: int) -> Measure:
    """The same measure with weights that sum to about 2^bits."""
    excess = int(measure.weights(1)).bit_length() - bits
    if excess <= 0:
        return measure
    return replace(measure, weights=side.halve(measure.weights, excess), exponent=measure.exponent + excess)


@proved_by("T30-lattice-composition")
def multiply(side: Side, a: Measure, b: Measure, window: tuple[int, int], witness: LatticeWitness) -> Measure:
    """The law of the sum of two independent losses, of which the factors are rounded first, and the product is cut."""
    ratio = (-ball(witness.tilt * witness.step)).exp()
    a, b = (shorten(side, factor, witness.bits) for factor in (a, b))
    product = Measure(a.weights * b.weights, a.low + b.low, a.exponent + b.exponent, upper_end(a.lost + b.lost))
    return side.cut(product, window, ratio)


@proved_by("T30-lattice-composition")
def compose(side: Side, steps: Sequence[Measure], counts: Sequence[int], witness: LatticeWitness,
            between: Callable[[], None] = nothing) -> Measure:
    """The composition of counts[i] copies of each step, by binary powering, in the order of `products`.

    between: called after each power and product, where a run may be given up.
    """
    windows, total = iter(witness.windows), None
    powers = []
    for step, count in zip(steps, counts, strict=True):
        power = step
        for digit in bin(count)[3:]:
            power = multiply(side, power, power, next(windows), witness)
            between()
            if digit == "1":
                power = multiply(side, power, step, next(windows), witness)
                between()
        powers.append(power)
    for power in powers:
        total = power if total is None else multiply(side, total, power, next(windows), witness)
        between()
    if total is None:
        raise InvalidInput("witness.grids", 0, "at least one law")
    return total


@proved_by("T30-lattice-composition")
def compose_infinity(masses: Sequence[arb], counts: Sequence[int]) -> arb:
    """Enclose 1 - prod (1 - m_i)^{k_i}."""
    return -sum((count * (-mass).log1p() for mass, count in zip(masses, counts, strict=True)), arb(0)).expm1()


def enclose_infinities(steps: Sequence[StepMasses], counts: Sequence[int]) -> tuple[arb, arb]:
    """Bound the composed infinity mass of the upper laws from above, that of the laws themselves from below."""
    highest = upper_end(compose_infinity([step.infinity_above for step in steps], counts)).min(arb(1))
    lowest = lower_end(compose_infinity([step.infinity for step in steps], counts)).max(arb(0))
    return highest, lowest


@proved_by("T31-lattice-delta")
def enclose_finite_part(measure: Measure, epsilon: Fraction, witness: LatticeWitness) -> arb:
    """Enclose the sum over x_i > eps of the mass at x_i times 1 - e^{eps - x_i}."""
    beyond = (epsilon / witness.step).__floor__() + 1
    start = max(beyond, measure.low)  # exact: integers
    weights = measure.weights.right_shift(start - measure.low)
    step = ball(witness.step)
    ratio, decay = (-ball(witness.tilt) * step).exp(), (-step).exp()
    scale = arb((1, measure.exponent)) * (-ball(witness.tilt * witness.step * start)).exp()
    return scale * (weights(ratio) - ball(epsilon - start * witness.step).exp() * weights(ratio * decay))


@dataclass(frozen=True)
class LatticeWitness:
    """Grid step h, tilt c, bits of the weights' sum; one grid per law; one index window per product, in their order."""

    step: Fraction
    tilt: Fraction
    bits: int
    grids: tuple[LawGrid, ...]
    windows: tuple[tuple[int, int], ...]
    prec: int

    kind: ClassVar[str] = "lattice"
    method: ClassVar[str] = "lattice"

    @proved_by("T30-lattice-composition")
    def applies(self, loss: ComposedLoss) -> bool:
        """h > 0, c >= 0, proper grids, a window for every product, more bits in balls than in weights."""
        counts = [count for _, count in loss.laws]
        shape = self.step > 0 and self.tilt >= 0 and 2 <= self.bits <= self.prec - 16 and not loss.only_moments
        grids = len(self.grids) == len(counts) > 0 and all(grid.is_proper() for grid in self.grids)
        windows = len(self.windows) == sum(1 for _ in products(counts))
        return shape and grids and windows and all(low <= high for low, high in self.windows)

    @proved_by("T30-lattice-composition")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> LatticeValues:
        """Compose all laws of the loss from above and from below."""
        with ctx.workprec(self.prec):
            counts = [count for _, count in loss.laws]
            steps = [enclose_step(law, grid, self.step, self.bits, between)
                     for (law, _), grid in zip(loss.laws, self.grids, strict=True)]
            starts = [grid.start for grid in self.grids]
            above = [Above.gather(s.vertices, s.above, start) for s, start in zip(steps, starts, strict=True)]
            below = [Below.gather(s.vertices, s.below, start) for s, start in zip(steps, starts, strict=True)]
            upper = compose(Above, [tilt_masses(Above, pairs, self) for pairs in above], counts, self, between)
            lower = compose(Below, [tilt_masses(Below, pairs, self) for pairs in below], counts, self, between)
            shift = total_shift(self.grids, counts)
            return LatticeValues(self, upper, lower, *enclose_infinities(steps, counts), shift)

    def work(self, loss: ComposedLoss) -> Work:
        """Of all products, and of the laws' values at all vertices."""
        spans = [abs(high - low) + 1 for low, high in self.windows]
        cells = [abs(cells) for grid in self.grids for cells, _ in grid.blocks]
        spans += [sum(abs(cells * stride) for cells, stride in grid.blocks) + 1 for grid in self.grids]
        products = (64 * sum(spans) + 32 * EXPONENTIAL * sum(cells)) * words(self.prec)
        widest = max(spans, default=0)  # exact: whole numbers
        return Work(products + work_of_grids(loss, self), 6 * widest * (64 + self.bits // 4))


@dataclass(frozen=True)
class LatticeValues:
    """Both composed measures, bounds of the composed infinity mass that go with them, and the sum of all shifts."""

    witness: LatticeWitness
    above: Measure
    below: Measure
    infinity_above: arb
    infinity_below: arb
    shift: Fraction

    @proved_by("T31-lattice-delta")
    def delta(self, epsilon: Fraction) -> Bounds:
        """infinity + D of the lower measure <= delta(eps) <= infinity + lost + D of the upper one."""
        witness = self.witness
        place = epsilon - self.shift * witness.step
        with ctx.workprec(witness.prec):
            finite = upper_end(enclose_finite_part(self.above, place, witness))
            upper = upper_end(self.infinity_above + self.above.lost + finite).min(arb(1))
            lower = self.infinity_below + enclose_finite_part(self.below, place, witness)
            lower = lower_end(lower).max(arb(0))
            truncation = upper_end(self.above.lost + self.infinity_above - self.infinity_below)
            return Bounds(lower, upper, {"lattice": upper_end(upper - lower), "truncation": truncation})
