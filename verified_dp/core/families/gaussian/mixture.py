"""Two mixtures of Gaussians on a line, no mean of P left of a mean of Q: the loss grows along it (T51)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

from flint import arb, ctx

from verified_dp.core.engines.mixture_lines import MixtureLines, mirrored
from verified_dp.core.kernel.balls import ball, lower_end, normal_tail, upper_end
from verified_dp.core.kernel.composition import Component, Mixture
from verified_dp.core.kernel.exact import SquareRoot, square
from verified_dp.core.kernel.law import PlainLaw
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import words

_ROUGH_BITS = 64
"""Bits with which a cut is approached."""
_DOUBLINGS = 2
"""Newton steps with all bits after that, each of which doubles the bits that are right."""

_COMPONENT = 2000
"""Units: a component's exponentials at every cut that is tried."""


class MixturePair(PlainLaw):
    """What the laws share whose P and Q are mixtures of one noise, even about 0."""

    above: Mixture
    below: Mixture
    order: str

    def in_order(self, order: str) -> Self:
        """The same step in another order: the pair swapped and mirrored between remove and add."""
        swap = {self.order, order} == {"remove", "add"}
        above, below = (mirrored(self.below), mirrored(self.above)) if swap else (self.above, self.below)
        return replace(self, above=above, below=below, order=order)  # type: ignore[type-var]

    def value_work(self, prec: int) -> int:
        """The exponentials of all components at every cut that is tried."""
        return _COMPONENT * (len(self.above) + len(self.below)) * words(prec) * (1 + prec // 1024)


class MixtureCurve(MixturePair):
    """The loss of two Gaussian mixtures and its hockey-stick curve, by the place where it has a value."""

    sigma: Fraction | SquareRoot

    @proved_by("T51-mixtures")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose P(t > t*) - e^eps Q(t > t*), t* where the loss is eps; 0 above the largest loss, 1 - e^eps below."""
        largest, smallest = self.enclose_largest_loss(), self.enclose_smallest_loss()
        if largest is not None and epsilon >= largest:
            return arb(0)
        if smallest is not None and epsilon <= smallest:
            return -epsilon.expm1()
        ends = self._bracket(epsilon)
        if ends is None:
            return self._bound_ends(epsilon.exp(), largest, smallest)
        return self._enclose_between(epsilon.exp(), *ends)

    @proved_by("T51-mixtures")
    def _bound_ends(self, alpha: arb, largest: arb | None, smallest: arb | None) -> arb:
        """Where eps cannot be told from an end: (1-a)_+ <= H <= min(1, e^largest - a, 1 - a + (a - e^smallest)_+)."""
        lower, upper = (1 - alpha).max(arb(0)), arb(1)
        if largest is not None:
            upper = upper.min((largest.exp() - alpha).max(arb(0)))
        if smallest is not None:
            upper = upper.min(1 - alpha + (alpha - smallest.exp()).max(arb(0)))
        return lower.union(upper.max(lower))

    @proved_by("T51-mixtures")
    def _enclose_between(self, alpha: arb, low: arb, high: arb) -> arb:
        """The value at the cut `low`, and at most (high - low) sup |p - alpha q| more; the loss is eps in between."""
        cut = self._tail(self.above, low) - alpha * self._tail(self.below, low)
        middle = low.union(high)
        slack = abs(self._density(self.above, middle) - alpha * self._density(self.below, middle))
        return cut + arb(0).union(upper_end(slack * (high - low)))

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(t > t*), Q(t > t*)), t* where the loss is x; (0, 0) above the largest loss, (1, 1) below."""
        place = self._enclose_place(x)
        if isinstance(place, int):
            return arb(place), arb(place)
        if place is None:
            return arb(0).union(arb(1)), arb(0).union(arb(1))
        return self._tail(self.above, place), self._tail(self.below, place)

    @proved_by("T60-tails")
    def enclose_density(self, x: arb) -> arb:
        """Enclose p(t*) / l'(t*); 0 outside of the losses, [0, inf] where it is not decided whether x is outside."""
        place = self._enclose_place(x)
        if isinstance(place, int):
            return arb(0)
        if place is None:
            return arb(0).union(arb.pos_inf())
        return self._density(self.above, place) / self._enclose_loss(place)[1]

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """None of them."""
        return []

    @proved_by("T60-tails")
    def _enclose_place(self, x: arb) -> arb | int | None:
        """Enclose t* where the loss is x; 0 for x at or above all losses, 1 at or below all; None if undecided.

        A bracket, then one interval Newton step from its middle.
        """
        largest, smallest = self.enclose_largest_loss(), self.enclose_smallest_loss()
        if largest is not None and x >= largest:
            return 0
        if smallest is not None and x <= smallest:
            return 1
        ends = self._bracket(x)
        if ends is None:
            return None
        whole, middle = ends[0].union(ends[1]), lower_end((ends[0] + ends[1]) / 2)
        newton = middle - (self._enclose_loss(middle)[0] - x) / self._enclose_loss(whole)[1]
        return newton.intersection(whole) if newton.is_finite() else whole

    @proved_by("T51-mixtures")
    def _tail(self, mixture: Sequence[Component], cut: arb) -> arb:
        s = ball(self.sigma)
        return sum((ball(weight) * normal_tail((cut - ball(mean)) / s) for mean, weight in mixture), arb(0))

    @proved_by("T51-mixtures")
    def _density(self, mixture: Sequence[Component], t: arb) -> arb:
        s = ball(self.sigma)
        places = ((weight, (t - ball(mean)) / s) for mean, weight in mixture)
        shares = (ball(weight) * (-(place * place).max(arb(0)) / 2).exp() for weight, place in places)
        return sum(shares, arb(0)) / (s * (2 * arb.pi()).sqrt())

    @proved_by("T51-mixtures")
    def _enclose_loss(self, t: arb) -> tuple[arb, arb]:
        """(loss, its derivative) at t: log-sums of w e^{(2 m t - m^2)/(2 s^2)}; difference of the averaged means."""
        rows = []
        for terms in self._rows():
            shares = [factor * (slope * t).exp() for factor, slope in terms]
            total = sum(shares, arb(0))
            average = sum((slope * share for (_, slope), share in zip(terms, shares, strict=True)), arb(0)) / total
            rows.append((total.log(), average))
        return rows[0][0] - rows[1][0], rows[0][1] - rows[1][1]

    @cached_property
    def _kept(self) -> dict[int, list[list[tuple[arb, arb]]]]:
        """By precision: what `_rows` found."""
        return {}

    def _rows(self) -> list[list[tuple[arb, arb]]]:
        """(w e^{-m^2/(2 s^2)}, m / s^2) of the components of P and of Q."""
        if ctx.prec not in self._kept:
            variance = ball(square(self.sigma))
            self._kept[ctx.prec] = [
                [(ball(weight) * (-ball(mean * mean) / (2 * variance)).exp(), ball(mean) / variance)
                 for mean, weight in mixture] for mixture in (self.above, self.below)]
        return self._kept[ctx.prec]

    @proved_by("T51-mixtures")
    def _bracket(self, epsilon: arb) -> tuple[arb, arb] | None:
        """Exact low < high with loss(low) < eps < loss(high), about 2^(-prec/2) sigma apart; None where not found."""
        for prec in (_ROUGH_BITS, ctx.prec):  # near an end of the losses few bits do not tell eps from it
            with ctx.workprec(prec):
                found = self._surround(epsilon)
                place = None if found is None else self._approach(epsilon, *found)
            if place is not None:
                break
        if found is None or place is None:
            return None
        for _ in range(_DOUBLINGS):
            loss, slope = self._enclose_loss(place)
            newton = lower_end(place - (loss - epsilon) / slope)
            place = newton if found[0] < newton < found[1] else place
        return self._widen(epsilon, place, *found)

    def _approach(self, epsilon: arb, low: arb, high: arb) -> arb:
        """A place near the cut: Newton steps, kept between ends that move in; only a choice."""
        place, goal = lower_end((low + high) / 2), ball(self.sigma) * arb(2) ** (-_ROUGH_BITS // 2)
        for _ in range(_ROUGH_BITS):
            loss, slope = self._enclose_loss(place)
            low, high = (place if loss < epsilon else low), (place if loss > epsilon else high)
            newton = lower_end(place - (loss - epsilon) / slope)
            before, place = place, newton if low < newton < high else lower_end((low + high) / 2)
            if abs(place - before) < goal:
                break
        return place

    def _widen(self, epsilon: arb, place: arb, low: arb, high: arb) -> tuple[arb, arb]:
        """Ends around the place, as near as certain, between those that are known."""
        for side in (-1, 1):
            reach = upper_end(ball(self.sigma) * arb(2) ** (-ctx.prec // 2))
            for _ in range(ctx.prec):
                end = lower_end(place + side * reach)
                if not low < end < high:
                    break
                loss, _ = self._enclose_loss(end)
                if loss < epsilon if side < 0 else loss > epsilon:
                    low, high = (end, high) if side < 0 else (low, end)
                    break
                reach = 4 * reach
        return low, high

    def _surround(self, epsilon: arb) -> tuple[arb, arb] | None:
        """Exact ends at doubling distances from 0 with the loss below and above eps."""
        low = high = arb(0)
        step = upper_end(ball(self.sigma))
        for _ in range(200):
            below, above = self._enclose_loss(low)[0] < epsilon, self._enclose_loss(high)[0] > epsilon
            if below and above:
                return low, high
            low, high = low if below else -step, high if above else step
            step = 2 * step
        return None

    @proved_by("T51-mixtures")
    def enclose_largest_loss(self) -> arb | None:
        """log of the ratio of the weights of the rightmost means where these are equal; None where P's is further."""
        return _end(self.above[-1], self.below[-1])

    @proved_by("T51-mixtures")
    def enclose_smallest_loss(self) -> arb | None:
        """log of the ratio of the weights of the leftmost means where these are equal; None where Q's is further."""
        return _end(self.above[0], self.below[0])

    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0."""
        return arb(0)

    @proved_by("T51-mixtures")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, between 0 and the least of sum_j v_j m_j and all m_j / v_j^l.

        m_j = sum_i w_i e^{l(l+1) (a_i - b_j)^2 / (2 s^2)}: the moment against the component b_j of Q alone.
        """
        factor = exponent * (exponent + 1) / (2 * ball(self.sigma) ** 2)
        single = [sum((ball(w) * (factor * ball((a - b) ** 2)).exp() for a, w in self.above), arb(0))
                  for b, _ in self.below]
        return arb(0).union(least_moment(exponent, single, self.below))


@dataclass(frozen=True)
class MixtureLoss(MixtureLines, MixtureCurve):
    """P = sum of weight N(mean, sigma^2) over `above`, Q over `below`; sorted by mean, means pairwise different."""

    sigma: Fraction | SquareRoot
    above: Mixture
    below: Mixture
    order: str


@proved_by("T51-mixtures", "T75-random-shifts")
def least_moment(exponent: arb, single: Sequence[arb], below: Sequence[Component]) -> arb:
    """Bound E[e^{l L}] by bounds m_j against each component of Q: the least of sum_j v_j m_j and all m_j / v_j^l."""
    weights = [ball(weight) for _, weight in below]
    bound = sum((v * m for v, m in zip(weights, single, strict=True)), arb(0))
    for v, m in zip(weights, single, strict=True):
        bound = bound.min(m * (-exponent * v.log()).exp())
    return bound


@proved_by("T51-mixtures")
def _end(p: Component, q: Component) -> arb | None:
    return ball(p[1] / q[1]).log() if p[0] == q[0] else None


def places(above: Mixture, below: Mixture) -> list[Fraction]:
    """The means of both, rising."""
    return sorted({mean for mean, _ in (*above, *below)})  # exact: fractions
