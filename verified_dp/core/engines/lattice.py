"""The lattice method: every step's loss on one grid, from above and from below, composed on a circle (T222).

With the masses F_n of the composition at n h, tilted by e^{c n h} and taken modulo N, M their transform,
z_m = c + 2 pi i m / (N h), u = (first n h >= eps) - eps, and K and k the kernel of delta and its transform's inverse,

    sum_r f_r k_r  =  (1/N) sum_m M(z_m) K(z_m)  =  D(eps) + aliases (>= 0),
    K(z) = e^{-z eps} [e^{-zu} / (1 - e^{-zh}) - e^{-(z+1)u} / (1 - e^{-(z+1)h})].

The left side is convolved in integers, all rounded up or all down; or, of many steps, few frequencies are summed and
the others bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

from flint import arb, ctx, fmpz_poly

from verified_dp.core.engines.grid import LawGrid, StepMasses, enclose_step, total_shift, work_of_grids
from verified_dp.core.engines.shared import floor_of
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, root_above, words

if TYPE_CHECKING:
    from verified_dp.core.engines.frequencies import Frequencies


@dataclass(frozen=True)
class Atoms:
    """One step's law: its tilted masses p_n e^{c n h} at the indices n, none the exact 0."""

    indices: list[int]
    weights: list[arb]


class Above:
    """Weights (>= 0) rounded up."""

    @staticmethod
    @proved_by("T222-lattice-on-a-circle")
    def integer(mass: arb) -> int:
        """The least integer at least the ball."""
        return -floor_of(-mass)

    @staticmethod
    @proved_by("T222-lattice-on-a-circle")
    def halve(weights: fmpz_poly, times: int) -> fmpz_poly:
        """Each weight over 2^times."""
        almost = fmpz_poly([(1 << times) - 1] * weights.length())
        return (weights + almost) // (1 << times)  # >= 0 only: a negative poly // n need not be rounded down


class Below:
    """Weights (>= 0) rounded down."""

    @staticmethod
    @proved_by("T222-lattice-on-a-circle")
    def integer(mass: arb) -> int:
        """The largest integer at most the ball, at least 0."""
        return max(floor_of(mass), 0)  # exact: integers

    @staticmethod
    @proved_by("T222-lattice-on-a-circle")
    def halve(weights: fmpz_poly, times: int) -> fmpz_poly:
        """Each weight over 2^times."""
        return weights // (1 << times)


Side = type[Above] | type[Below]


@dataclass(frozen=True)
class Circle:
    """Tilted masses modulo N: weights[n] 2^exponent at the index low + n, n < N."""

    weights: fmpz_poly
    low: int
    exponent: int

    @proved_by("T222-lattice-on-a-circle")
    def sums(self, place: Fraction, witness: LatticeWitness) -> tuple[arb, arb]:
        """Enclose the sum over r of f_r k_r, which is e^{c eps} D(eps) and aliases; nothing is left out."""
        start = -(-place // witness.step)
        turn, room = (start - self.low) % witness.period, ball(start * witness.step - place)
        ahead, behind = self.weights.right_shift(turn), self.weights.truncate(turn)

        def part(exponent: arb) -> arb:
            rate = -exponent * ball(witness.step)
            ratio, rest = rate.exp(), (rate * (witness.period - turn)).exp()
            return (-exponent * room).exp() * (ahead(ratio) + rest * behind(ratio)) / -(rate * witness.period).expm1()

        tilt = ball(witness.tilt)
        return arb((1, self.exponent)) * (part(tilt) - part(tilt + 1)), arb(0)


@proved_by("T222-lattice-on-a-circle")
def put_on_circle(side: Side, law: Atoms, witness: LatticeWitness) -> Circle:
    """One step's tilted masses, rounded to weights whose sum is about 2^bits."""
    mantissa, power = upper_end(sum(law.weights, arb(0))).man_exp()
    exponent = int(mantissa).bit_length() + int(power) - witness.bits
    scale, low = arb((1, -exponent)), law.indices[0] if law.indices else 0
    weights = [0] * min(law.indices[-1] - low + 1 if law.indices else 1, witness.period)  # exact: integers
    for n, weight in zip(law.indices, law.weights, strict=True):
        weights[(n - low) % witness.period] += side.integer(weight * scale)
    return Circle(fmpz_poly(weights), low, exponent)


@proved_by("T222-lattice-on-a-circle")
def multiply(side: Side, a: Circle, b: Circle, witness: LatticeWitness) -> Circle:
    """The law of the sum of two independent losses; the factors are shortened to weights that sum to about 2^bits."""
    (a_weights, a_exponent), (b_weights, b_exponent) = (_shortened(side, factor, witness.bits) for factor in (a, b))
    product = a_weights * b_weights
    folded = product.truncate(witness.period) + product.right_shift(witness.period)
    return Circle(folded, a.low + b.low, a_exponent + b_exponent)


@proved_by("T222-lattice-on-a-circle")
def _shortened(side: Side, factor: Circle, bits: int) -> tuple[fmpz_poly, int]:
    excess = int(factor.weights(1)).bit_length() - bits
    if excess <= 0:
        return factor.weights, factor.exponent
    return side.halve(factor.weights, excess), factor.exponent + excess


@proved_by("T222-lattice-on-a-circle")
def compose(side: Side, laws: Sequence[Atoms], counts: Sequence[int], witness: LatticeWitness,
            between: Callable[[], None] = nothing) -> Circle:
    """The composition of counts[i] copies of each step, by binary powering.

    between: called after each product, where a run may be given up.
    """
    def product(a: Circle, b: Circle) -> Circle:
        between()
        return multiply(side, a, b, witness)

    powers = []
    for law, count in zip(laws, counts, strict=True):
        power = step = put_on_circle(side, law, witness)
        for digit in bin(count)[3:]:
            power = product(power, power)
            power = product(power, step) if digit == "1" else power
        powers.append(power)
    return reduce(product, powers)


@proved_by("T222-lattice-on-a-circle")
def compose_infinity(masses: Sequence[arb], counts: Sequence[int]) -> arb:
    """Enclose 1 - prod (1 - m_i)^{k_i}."""
    return -sum((count * (-mass).log1p() for mass, count in zip(masses, counts, strict=True)), arb(0)).expm1()


def enclose_infinities(steps: Sequence[StepMasses], counts: Sequence[int]) -> tuple[arb, arb]:
    """Bound the composed infinity mass of the upper laws from above, that of the laws themselves from below."""
    highest = upper_end(compose_infinity([step.infinity_above for step in steps], counts)).min(arb(1))
    lowest = lower_end(compose_infinity([step.infinity for step in steps], counts)).max(arb(0))
    return highest, lowest


@proved_by("T222-lattice-on-a-circle")
def bound_moment(laws: Sequence[Atoms], counts: Sequence[int], exponent: Fraction, witness: LatticeWitness) -> arb:
    """Bound M(l) of the composed law at any real exponent l."""
    rate, total = ball((exponent - witness.tilt) * witness.step), arb(1)
    for law, count in zip(laws, counts, strict=True):
        mass = sum((weight * (rate * n).exp() for n, weight in zip(law.indices, law.weights, strict=True)), arb(0))
        total *= mass**count
    return upper_end(total)


@proved_by("T222-lattice-on-a-circle", "T03-chernoff", "T04-alias-bounds")
def bound_aliases(right_moment: arb, left_moment: arb, epsilon: Fraction, witness: LatticeWitness) -> arb:
    """Bound sum over n != 0 of e^{c n X} D(eps + n X), X = N h: two geometric series."""
    length = ball(witness.period * witness.step)
    right = bound_chernoff_factor(ball(witness.right)) * right_moment * (-ball(witness.right * epsilon)).exp()
    factor = bound_chernoff_factor(ball(witness.left)) if witness.left else arb(1)  # D <= M(0)
    left = factor * left_moment * (-ball(witness.left * epsilon)).exp()
    return upper_end(right / (ball(witness.right - witness.tilt) * length).expm1()
                     + left / (ball(witness.tilt - witness.left) * length).expm1())


@dataclass(frozen=True)
class LatticeWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    step h, tilt c; bits: those of sums of weights; one grid per law; period: the odd number N of places on the circle.
    count: m0, the last frequency that is summed. cover: blocks (cells, stride) from m0 to (N - 1) / 2, in each of whose
    cells the transform is bounded as a whole. Without both all masses are convolved in integers.
    right > tilt > left >= 0: exponents of the alias bounds.
    """

    step: Fraction
    tilt: Fraction
    bits: int
    grids: tuple[LawGrid, ...]
    period: int
    count: int
    cover: tuple[tuple[int, int], ...]
    right: Fraction
    left: Fraction
    prec: int

    kind: ClassVar[str] = "circle"
    method: ClassVar[str] = "lattice"

    @property
    def in_integers(self) -> bool:
        """Whether masses are convolved, and no frequencies summed."""
        return self.count == 0 and not self.cover

    @property
    def sum_bits(self) -> int:
        """Of sums: the masses are differences and need more bits than their sums do."""
        return min(self.prec, self.bits + 64)  # exact: integers

    @proved_by("T222-lattice-on-a-circle")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions: plain comparisons of exact numbers."""
        half, odd = divmod(self.period, 2)
        cells = self.count >= 0 and all(cells > 0 and stride > 0 for cells, stride in self.cover)
        covered = self.count + sum(cells * stride for cells, stride in self.cover) == half
        ordered = 0 <= self.left < self.tilt < self.right and self.step > 0 and not loss.only_moments
        grids = len(self.grids) == len(loss.laws) > 0 and all(grid.is_proper() for grid in self.grids)
        return ordered and grids and odd == 1 and half >= 0 and cells and (covered or self.in_integers) and (
            2 <= self.bits <= self.prec - 16)

    @proved_by("T222-lattice-on-a-circle")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> LatticeValues:
        """All that does not depend on eps: both laws of every step, composed."""
        counts, laws, infinities = self.enclose_steps(loss, between)
        with ctx.workprec(self.sum_bits):
            def composed(side: Side, own: Sequence[Atoms]) -> Circle | Frequencies:
                if self.in_integers:
                    return compose(side, own, counts, self, between)
                from verified_dp.core.engines import frequencies

                return frequencies.enclose_frequencies(own, counts, self, between)

            right, left = (bound_moment(laws[1], counts, exponent, self) for exponent in (self.right, self.left))
            return LatticeValues(self, (composed(Above, laws[0]), composed(Below, laws[1])), (right, left), infinities,
                                 total_shift(self.grids, counts))

    @proved_by("T222-lattice-on-a-circle")
    def enclose_steps(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> tuple[
            list[int], tuple[list[Atoms], list[Atoms]], tuple[arb, arb]]:
        """The counts; the upper laws of all steps and the lower ones; bounds of the composed infinity mass."""
        counts = [count for _, count in loss.laws]
        with ctx.workprec(self.prec):
            steps = [enclose_step(law, grid, self.step, self.bits, between)
                     for (law, _), grid in zip(loss.laws, self.grids, strict=True)]
        with ctx.workprec(self.sum_bits):
            laws = ([self._tilted(step.vertices, step.above) for step in steps],
                    [self._tilted(step.vertices, step.below) for step in steps])
            return counts, laws, enclose_infinities(steps, counts)

    @proved_by("T222-lattice-on-a-circle")
    def _tilted(self, vertices: Sequence[int], masses: Sequence[arb]) -> Atoms:
        """The masses that are not the exact 0, times e^{c n h}."""
        rate = ball(self.tilt * self.step)
        kept = [(n, mass) for n, mass in zip(vertices, masses, strict=True) if not mass.is_zero()]
        return Atoms([n for n, _ in kept], [mass * (rate * n).exp() for n, mass in kept])

    def work(self, loss: ComposedLoss) -> Work:
        """Of all products, or of all atoms at all frequencies, and of the laws' values at all vertices."""
        atoms = sum(abs(cells) for grid in self.grids for cells, _ in grid.blocks) + len(self.grids)
        laws, size = 4 * EXPONENTIAL * atoms * words(self.prec) + work_of_grids(loss, self), words(self.sum_bits)
        if self.in_integers:
            lengths = [min(self.period, (abs(count) >> n) * grid.span + 1)  # exact: integers
                       for (_, count), grid in zip(loss.laws, self.grids, strict=False)
                       for n in range(abs(count).bit_length())]
            return Work(laws + 128 * (sum(lengths) + self.period) * size, 6 * self.period * (64 + self.bits // 4))
        frequencies = abs(self.count) + 2 * sum(abs(cells) for cells, _ in self.cover) + 1
        side = root_above(frequencies)
        products = atoms * (2 * frequencies + EXPONENTIAL * (32 + 8 * len(self.cover) + side // 16))
        powers = 2 * EXPONENTIAL * frequencies * len(self.grids)
        return Work((products + powers) * size + laws, (3 * atoms * side + 8 * frequencies) * entry_bytes(self.prec))


def more_files(witness: LatticeWitness) -> tuple[str, ...]:
    """What runs besides this module: the sums over frequencies, where there are some."""
    if witness.in_integers:
        return ()
    from verified_dp.core.engines import frequencies

    return (frequencies.__name__,)


@dataclass(frozen=True)
class LatticeValues:
    """The upper and the lower composed law; bounds of M of the lower one at both exponents, and of
    the composed infinity mass that goes with them; the sum of all grids' shifts.
    """

    witness: LatticeWitness
    sides: tuple[Circle | Frequencies, Circle | Frequencies]
    moments: tuple[arb, arb]
    infinities: tuple[arb, arb]
    shift: Fraction

    @proved_by("T222-lattice-on-a-circle")
    def delta(self, epsilon: Fraction) -> Bounds:
        """infinity + D of the lower law <= delta(eps) <= infinity + D of the upper one; the grids' shifts move eps."""
        witness = self.witness
        with ctx.workprec(witness.sum_bits):
            place = epsilon - self.shift * witness.step
            scale = (-ball(witness.tilt * place)).exp()
            (above, more), (below, less) = (side.sums(place, witness) for side in self.sides)
            return self.bounds(scale * (above + more), scale * (below - less), bound_aliases(
                *self.moments, place, witness), scale * (more + less), (scale * above).rad() + (scale * below).rad())

    @proved_by("T222-lattice-on-a-circle")
    def bounds(self, above: arb, below: arb, aliases: arb, tail: arb, rounding: arb) -> Bounds:
        """From the upper law's sum and errors, and the lower law's less its errors; tail, rounding: for the budget."""
        most, least = self.infinities
        upper = upper_end(most + above).min(arb(1))
        lower = lower_end(least + (below - aliases).max(arb(0)))
        budget = {"lattice": upper - lower, "truncation": most - least}
        if not self.witness.in_integers:
            budget.update(frequency_tail=tail, aliasing=aliases, rounding=rounding)
        return Bounds(lower, upper, {name: upper_end(size) for name, size in budget.items()})
