"""The transform of one epoch's loss on a vertical line, by its density on a line of places (T168).

L = G + R with independent G ~ N(0, v), v = s^2/t. With places x_j = jh, p the density of L under the law of S, and
the power a = c+1 in the remove order, L = log(S/t), a = c in the add order, L = -log(S/t),

    M(c+iw) = sum_j h e^{(a+iw) x_j} p(x_j)  +-  M(c) * (sum over n != 0 of e^{-(2 pi |n|/h - |w|)^2 v/2}).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from flint import arb, ctx

from verified_dp.core.engines.rules import DiscreteRule
from verified_dp.core.families.allocation.hyperbola_choice import choose_chords
from verified_dp.core.kernel.balls import BOUND_BITS, ball, integer_below, lower_dyadic, lower_end, upper_end
from verified_dp.core.kernel.exact import SquareRoot, square
from verified_dp.core.kernel.theorems import proved_by

MOST_PLACES = 20_000
_SPARE, _WORD = 32, 64
"""Bits of a density beside those asked for; few precisions, so that hyperbolas are shared."""
_MOST_CANCELLED = 10**4
_MOST_PIECES = 64
_STEP_BITS = 12
"""Steps are short, so that places are shared."""


@dataclass(frozen=True)
class GaussianPart:
    """variance: v = s^2/t of the Gaussian part of L; most: s^2/2, the largest that the rest can be."""

    variance: arb
    most: arb

    @staticmethod
    def of(rounds: int, noise: Fraction | SquareRoot) -> GaussianPart:
        """Of t rounds with this noise multiplier."""
        inverse = 1 / ball(square(noise))
        return GaussianPart(inverse / rounds, inverse / 2)

    @proved_by("T168-allocation-line")
    def bound_moment(self, exponent: arb) -> arb:
        """E e^{lL} <= e^{l s^2/2 + l^2 v/2}; infinite but for l > 0."""
        return (exponent * (self.most + exponent * self.variance / 2)).exp() if exponent > 0 else arb.pos_inf()

    @proved_by("T168-allocation-line")
    def fall(self, frequency: arb) -> arb:
        """|M(c+iw)| / M(c) <= e^{-W^2 v/2} for every |w| >= W >= 0."""
        return (-(frequency**2) * self.variance / 2).exp()

    @proved_by("T168-allocation-line")
    def bound_aliases(self, step: arb, frequency: arb) -> arb:
        """Bound sum over n != 0 of e^{-(P|n|-W)^2 v/2}, P = 2 pi/h > W, by 2 e^{-(P-W)^2 v/2} / (1 - e^{-(P-W)Pv})."""
        period = 2 * arb.pi() / step
        room = period - abs(frequency)
        if not room > 0:
            return arb.pos_inf()
        return upper_end(-2 * self.fall(room) / (-room * period * self.variance).expm1())

    @proved_by("T168-allocation-line")
    def bound_pieces(self, tilt: arb, place: arb, small: arb, chance: Callable[[arb], arb]) -> arb:
        """Bound E[e^{cL}; L > b] of the add order by pieces, short ones where they count; chance: of L > x.

        Until the rest is small. Infinite but for c > 0.
        """
        if not tilt > 0:
            return arb.pos_inf()
        total, far, most = arb(0), arb.pos_inf(), self.variance.sqrt()
        for _ in range(_MOST_PIECES):
            beyond = upper_end(chance(place))
            far = self.bound_far(tilt, place, beyond)
            if far <= small:
                break
            value = (tilt * place).exp() * beyond
            width = (small / value).log().max(arb(1)) if value > 0 and small > 0 else arb(1)
            place, most = place + lower_end((width / tilt).min(most)), 2 * most
            total += (tilt * place).exp() * beyond
        return upper_end(total + far)

    @proved_by("T168-allocation-line")
    def bound_far(self, tilt: arb, place: arb, beyond: arb) -> arb:
        """Bound E[e^{cL}; L > b], P(L > b) <= beyond: by Cauchy and Schwarz, or from s^2/2 + cv on as a Gaussian."""
        bound = (beyond * self.bound_moment(2 * tilt)).sqrt()
        if place >= self.most + tilt * self.variance:
            bound = bound.min((tilt * place - (place - self.most) ** 2 / (2 * self.variance)).exp())
        return upper_end(bound)


@proved_by("T168-allocation-line")
def bound_left(power: arb, place: arb, small: arb, chance: Callable[[arb], arb]) -> arb:
    """Bound E[e^{aL}; L < b], a > 0, by pieces to the left until e^{ax} P(L < x) is small; chance: of L > x.

    A piece x' < L < x adds at most e^{ax} times the smaller of P(L > x') and P(L < x).
    """
    total, width, rest = arb(0), 1 / power, (power * place).exp() * (1 - chance(place))
    for _ in range(_MOST_PIECES):
        if rest <= small:
            break
        left = place - width
        above = chance(left)
        piece = upper_end(rest).min(upper_end((power * place).exp() * above))
        total, place, rest = total + piece, left, (power * left).exp() * (1 - above)
        width = 2 * width if piece <= small else width
    return upper_end(total + rest)


class Placed(Protocol):
    """What a line asks of a law, L being the loss and a the power: all under the law of S."""

    def enclose_one_density(self, x: arb, halvings: int) -> arb:
        """Enclose the density of L, more closely with more halvings."""

    def bound_below(self, power: arb, x: arb, small: arb) -> arb:
        """Bound E[e^{aL}; L < x], which need not be more exact than `small`."""

    def bound_above(self, power: arb, x: arb, small: arb) -> arb:
        """Bound E[e^{aL}; L > x], which need not be more exact than `small`."""


@dataclass(frozen=True)
class Line:
    """A law's places for one power, good to about 2^-bits of M(c) for |w| <= frequency."""

    law: Placed
    part: GaussianPart
    power: arb
    frequency: arb
    bits: int

    def enclose_rule(self, start: arb, between: Callable[[], None]) -> tuple[DiscreteRule, arb]:
        """The rule for |w| <= frequency, and a bound of M(c); the places are chosen, the first one near `start`."""
        with ctx.workprec(BOUND_BITS):
            step = self.choose_step()
            first = integer_below(start / ball(step)) if start.is_finite() else 0
        first, weights = self.gather(step, first, between)
        with ctx.workprec(self.bits + _SPARE):
            return self.join(step, first, weights)

    def choose_step(self) -> Fraction:
        """About 2 pi / (W + sqrt(2 bits log 2 / v))."""
        with ctx.workprec(_STEP_BITS):
            room = (2 * self.bits * arb.const_log2() / self.part.variance).sqrt()
            return lower_dyadic(2 * arb.pi() / (self.frequency + room)).as_fraction()

    def gather(self, step: Fraction, first: int, between: Callable[[], None]) -> tuple[int, list[arb]]:
        """Weights from there to both sides until one is 2^-bits of the largest, or lost in its error."""
        found, top = dict[int, arb](), arb(0)
        for side in (1, -1):
            j = first if side > 0 else first - 1
            while len(found) < MOST_PLACES:
                between()
                weight = self.weigh_sharply(step, j, top, self._prec(top, found.get(j - side, top), step * (j - side)))
                if found and not weight > 0:
                    break
                found[j] = weight
                top = top.max(upper_end(weight))
                if not upper_end(weight) > top * arb((1, -self.bits)):
                    break
                j += side
        low = min(found)  # exact: integers
        return low, [found[j] for j in range(low, low + len(found))]

    def weigh_sharply(self, step: Fraction, j: int, top: arb, prec: int) -> arb:
        """A weight by few bits or, where its error is not small beside the largest, by nearer hyperbolas and more."""
        weight = arb(0)
        for more, halvings in ((1, 0), (1, 1), (2, 1)):
            with ctx.workprec(more * prec):
                weight = self.weigh(step, j, halvings)
            if weight.rad() < top.max(upper_end(weight)) * arb((1, -self.bits)):
                break
        return weight

    def _prec(self, top: arb, last: arb, place: Fraction) -> int:
        """Bits for the place next to one of this weight: hyperbolas give half of the bits in use, and what cancels."""
        if not (last > 0 and top > 0):
            return 2 * self.bits + _SPARE
        with ctx.workprec(BOUND_BITS):
            bit = arb.const_log2()
            rarer, cancelled = (top / last).log() / bit, (self.power * ball(place) - last.log()) / bit
            need = self.bits - integer_below(rarer.max(arb(0)).min(arb(self.bits)))
            more = integer_below(cancelled.max(arb(0)).min(arb(_MOST_CANCELLED)))
            return -(-(need + max(need, more) + _SPARE) // _WORD) * _WORD  # exact: integers

    @proved_by("T168-allocation-line")
    def weigh(self, step: Fraction, j: int, halvings: int = 0) -> arb:
        """h e^{ax} p(x) at x = jh."""
        place = ball(step * j)
        return ball(step) * (self.power * place).exp() * self.law.enclose_one_density(place, halvings)

    @proved_by("T168-allocation-line")
    def join(self, step: Fraction, first: int, weights: list[arb]) -> tuple[DiscreteRule, arb]:
        """The rule of the weights at j = first, first + 1, ..., any step and any ends, and a bound of M(c)."""
        places = [ball(step * j) for j in range(first, first + len(weights))]
        top = sum(map(upper_end, weights), arb(0))
        small = top * arb((1, -self.bits))
        left = self.law.bound_below(self.power, places[0], small)
        right = self.law.bound_above(self.power, places[-1], small)
        aliases = self.part.bound_aliases(ball(step), self.frequency)
        rest = 2 * (1 + aliases) * (left + right)
        moment = upper_end((top + rest) / (1 - aliases)) if aliases < 1 else arb.pos_inf()
        return DiscreteRule(places, weights, upper_end(aliases * moment + rest)), moment


def choose_start(rounds: int, noise: Fraction | SquareRoot, tilt: arb) -> arb:
    """About where e^{cx} p(x) is largest: log(t r / c), r the saddle of r^c phi(r)^t."""
    with ctx.workprec(BOUND_BITS):
        axis, low, ratio = choose_chords(rounds, noise, arb(rounds)).axis, tilt / rounds, arb(2)
        while rounds * 2 * low * axis.mean(2 * low) < tilt and low < _FARTHEST:
            low = 2 * low
        for _ in range(5):
            ratio = lower_end(ratio.sqrt())
            low = lower_end(low * ratio) if rounds * low * ratio * axis.mean(low * ratio) < tilt else low
        return (rounds * low / tilt).log()


_FARTHEST = 10**9
