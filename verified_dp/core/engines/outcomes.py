"""The contour for laws of atoms that lie on no grid: cells bound the transform where it is not summed (T160).

Of each step finitely many outcomes are listed, with losses l_j and tilted masses w_j = p_j e^{c l_j}, and the P mass of
all others is at most a rest. With M(z) = prod (sum_j p_j e^{z l_j})^k of the listed ones, z = c + i m eta,

    D(eps) = (eta/2pi) sum_{|m| <= m0} M(z) e^{-z eps} / (z(z+1))  +- (cells and beyond)  -  aliases (>= 0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from flint import acb, acb_mat, arb, ctx

from verified_dp.core.engines.lattice import compose_infinity
from verified_dp.core.engines.powers import cut, enclose_power, turn_sums, turned_sum
from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Listed, is_atomic
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, root_above, words


@dataclass(frozen=True)
class Tilted:
    """One step's listed outcomes: losses, and masses times e^{c loss}."""

    losses: list[arb]
    weights: list[arb]

    def sums(self, rows: Sequence[Sequence[arb]], frequency: arb, step: arb, count: int,
             between: Callable[[], None] = nothing) -> list[list[acb]]:
        """Enclose sum_j row_j e^{i l_j (frequency + m step)} for m = 0..count, for each row of weights."""
        starts = [acb(0, loss * frequency).exp() for loss in self.losses]
        turned = [[weight * start for weight, start in zip(row, starts, strict=True)] for row in rows]
        return turn_sums(turned, [acb(0, loss * step).exp() for loss in self.losses], count, between)

    @proved_by("T160-listed-outcomes", "T78-lattice-frequency-tail")
    def bound_cells(self, frequency: arb, width: arb, cells: int) -> list[arb]:
        """Bound |M(c+iw)| on [frequency + n width, frequency + (n+1) width], n < cells, by value and slope.

        |M|^2 <= max(F, F + F' t + (M0 M2 - M1^2) t^2), F = |M|^2 and F' its slope at the start, t the width.
        """
        total = sum(self.weights, arb(0))
        centre = upper_end(sum((w * x for x, w in zip(self.losses, self.weights, strict=True)), arb(0)) / total)
        moments = [weight * (loss - centre) for loss, weight in zip(self.losses, self.weights, strict=True)]
        mean = sum(moments, arb(0))
        square = sum((m * (loss - centre) for loss, m in zip(self.losses, moments, strict=True)), arb(0))
        bend = (total * square - mean * mean) * width * width
        found = []
        for value, slope in zip(*self.sums([self.weights, moments], frequency, width, cells - 1), strict=True):
            size = value.real * value.real + value.imag * value.imag
            fall = 2 * width * (slope.real * value.imag - slope.imag * value.real)
            found.append(upper_end(size.max(size + fall + bend)).sqrt().min(total))
        return found


@dataclass(frozen=True)
class OutcomesWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    tilt c > 0, step eta > 0, count m0 >= 1 frequencies, right > tilt > left >= 0, prec: as of a line. reaches: of the
    outcomes that are listed, one per law. cover: blocks (cells, stride) of frequencies past m0, bounded cell by cell.
    """

    tilt: Fraction
    step: Fraction
    count: int
    reaches: tuple[int, ...]
    cover: tuple[tuple[int, int], ...]
    right: Fraction
    left: Fraction
    prec: int

    kind: ClassVar[str] = "outcomes"
    method: ClassVar[str] = "contour"

    @proved_by("T160-listed-outcomes")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions that are plain comparisons of exact numbers; atoms alone."""
        ordered = 0 <= self.left < self.tilt < self.right and self.step > 0 and self.count >= 1
        cells = all(cells > 0 and stride > 0 for cells, stride in self.cover)
        atoms = len(self.reaches) == len(loss.parts) > 0 and all(
            law.lists(reach) for (law, _), reach in zip(loss.parts, self.reaches, strict=True))
        return ordered and cells and atoms and not loss.mean_shift_squared

    @proved_by("T160-listed-outcomes", "T12-powers")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> OutcomesValues:
        """The composed transform at the frequencies that are summed, its bounds at all others, and masses."""
        counts = [count for _, count in loss.parts]
        with ctx.workprec(self.prec):
            listed = [law.enclose_listed(reach)
                      for (law, _), reach in paced(zip(loss.parts, self.reaches, strict=True), between)]
            known = [one for one in listed if one is not None]
            tilt, step = ball(self.tilt), ball(self.step)
            laws = [Tilted([x for x, _ in one.atoms], [mass * (tilt * x).exp() for x, mass in one.atoms])
                    for one in known]
            columns = [law.sums([law.weights], arb(0), step, self.count, between)[0] for law in laws]
            terms = []
            for m, row in enumerate(zip(*columns, strict=True)):
                z, product = acb(tilt, m * step), acb(2 if m else 1)
                for value, count in zip(row, counts, strict=True):
                    product *= enclose_power(value, count)
                terms.append(product / (z * (z + 1)))
            masses = [law.enclose_infinity_mass() for law, _ in loss.parts]
            rests = [mass + one.rest for mass, one in zip(masses, known, strict=True)]
            infinity = (lower_end(compose_infinity(masses, counts)).max(arb(0)),
                        upper_end(compose_infinity([mass.min(arb(1)) for mass in rests], counts)).min(arb(1)))
        with ctx.workprec(BOUND_BITS + 2 * sum(counts).bit_length()):
            right, left = (bound_listed_mass(known, counts, exponent) for exponent in (self.right, self.left))
            return OutcomesValues(self, terms, bound_frequencies(self, laws, counts, between), right, left, *infinity)

    def work(self, loss: ComposedLoss) -> Work:
        """Of all outcomes at all frequencies."""
        atoms = sum(law.outcomes if is_atomic(law) else 2 * abs(reach) + 1
                    for (law, _), reach in zip(loss.parts, self.reaches, strict=False))
        frequencies = abs(self.count) + 2 * sum(abs(cells) for cells, _ in self.cover) + 1
        side = root_above(frequencies)
        products = atoms * (2 * frequencies + EXPONENTIAL * (32 + 8 * len(self.cover) + side // 16))
        powers = 2 * EXPONENTIAL * frequencies * len(loss.parts)
        tables = sum(law.table_work(self.prec) for law, _ in loss.parts)
        return Work((products + powers) * words(self.prec) + tables,
                    (3 * atoms * side + 8 * frequencies) * entry_bytes(self.prec))


@proved_by("T160-listed-outcomes", "T03-chernoff")
def bound_listed_mass(laws: Sequence[Listed], counts: Sequence[int], exponent: Fraction) -> arb:
    """Bound C(l) M(l) of the listed outcomes, so that D(eps) <= C(l) M(l) e^{-l eps}; l = 0: their mass M(0)."""
    rate, log_mass = ball(exponent), arb(0)
    for law, count in zip(laws, counts, strict=True):
        log_mass += count * sum((mass * (rate * loss).exp() for loss, mass in law.atoms), arb(0)).log()
    return upper_end(log_mass.exp() * (bound_chernoff_factor(rate) if exponent else arb(1)))


@proved_by("T160-listed-outcomes", "T05-frequency-truncation")
def bound_frequencies(witness: OutcomesWitness, laws: Sequence[Tilted], counts: Sequence[int],
                      between: Callable[[], None] = nothing) -> arb:
    """Bound (eta/2pi) sum_{|m| > m0} |M / (z(z+1))|: a cell (m, m + s] adds s B eta / (pi (m eta)^2), B a bound of |M|.

    Beyond the last cell, at m, the sum is at most M(c) / (pi m eta).
    """
    step, place, total = ball(witness.step), witness.count, arb(0)
    for cells, stride in paced(witness.cover, between):
        columns = [law.bound_cells(place * step, stride * step, cells) for law in laws]
        for row in zip(*columns, strict=True):
            size = sum((count * value.log() for value, count in zip(row, counts, strict=True)), arb(0)).exp()
            total += upper_end(size * stride / (ball(place) * place))
            place += stride
    beyond = sum((count * sum(law.weights, arb(0)).log() for law, count in zip(laws, counts, strict=True)), arb(0))
    return upper_end((total + beyond.exp() / place) / (arb.pi() * step))


@dataclass(frozen=True)
class OutcomesValues:
    """What listed outcomes yield before eps is known.

    terms: M/(z(z+1)), twice for m >= 1. beyond: what e^{-c eps} multiplies in the frequency tail. right_mass and
    left_mass: C(l) M(l). infinity_below, infinity_above: P(S = inf), what is not listed as finite, and as
    infinite.
    """

    witness: OutcomesWitness
    terms: list[acb]
    beyond: arb
    right_mass: arb
    left_mass: arb
    infinity_below: arb
    infinity_above: arb

    @cached_property
    def pieces(self) -> acb_mat:
        """The terms, for `turned_sum`."""
        return cut(self.terms)

    @proved_by("T160-listed-outcomes", "T02-aliasing", "T04-alias-bounds")
    def delta(self, epsilon: Fraction) -> Bounds:
        """(P(S = inf) from below) + D <= delta(eps) <= (P(S = inf) from above) + D, D that of the listed outcomes."""
        witness = self.witness
        with ctx.workprec(witness.prec):
            tilt, step, at = ball(witness.tilt), ball(witness.step), ball(epsilon)
            fall = (-(tilt * at)).exp()
            total = fall * step / (2 * arb.pi()) * turned_sum(self.pieces, acb(0, -(step * at)).exp()).real
            period = 2 * arb.pi() / step
            right, left = ball(witness.right), ball(witness.left)
            aliases = (self.right_mass * (-right * at).exp() / ((right - tilt) * period).expm1()
                       + self.left_mass * (-left * at).exp() / ((tilt - left) * period).expm1())
            found = bounds_from_sum(total, {"frequency_tail": upper_end(fall * self.beyond)},
                                    {"aliasing": upper_end(aliases)})
            budget = {**found.budget, "truncation": upper_end(self.infinity_above - self.infinity_below)}
            return Bounds(lower_end(self.infinity_below + found.lower).max(arb(0)),
                          upper_end(self.infinity_above + found.upper).min(arb(1)), budget)
