"""Upper bounds on delta from moments of the loss: one Renyi order, or divergences of one or more powers (T180).

    g_s(t) = (t^s - s t + s - 1) / (s (s - 1)),   g_1(t) = t log t - t + 1,   g_0(t) = t - 1 - log t
    B_s >= int q g_s(p/q) = (int p^s q^{1-s} - 1) / (s (s - 1)),   for s = 1, 0 the relative entropies
    D(eps) <= sum_i w_i (B_i - g_i'(u) + h_i(u)) / (g_i'(v) - g_i'(u)),   h_i(t) = t g_i'(t) - g_i(t)

for any u < v and weights w_i > 0 of sum 1 with sum_i w_i (h_i(v) - h_i(u)) / (g_i'(v) - g_i'(u)) <= e^eps. One power
s = l + 1 > 1 alone also bounds D(eps) by C(l) M(l) e^{-l eps} (T03), and allows mass at infinity, which is added then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeGuard

from flint import acb, arb, ctx

from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED, Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.core.kernel.work import EXPONENTIAL, Work, nothing, paced, words

MOST_POWERS = 8
"""Two are enough (T180)."""


class OnlyMoments(Law, Protocol):
    """A law known by bounds on its moments alone: log_moment is +inf beyond the stated orders."""

    def bound_relative_entropy(self) -> arb:
        """Bound E[L]."""


def has_only_moments(law: Law) -> TypeGuard[OnlyMoments]:
    """Whether nothing is known of it but bounds on its moments."""
    return law.only_moments


@proved_by("T180-moment")
def bound_log_moments(parts: Iterable[tuple[Law, int]], exponent: arb, between: Callable[[], None] = nothing) -> arb:
    """Bound the sum of count * log E[e^{l L}; L < inf] over laws, l > 0; +inf where a moment is not bounded."""
    total = arb(0)
    for law, count in paced(parts, between):
        total += count * law.bound_log_moment(exponent)
    return upper_end(total)


@proved_by("T180-moment")
def bound_relative_entropy(loss: ComposedLoss) -> arb:
    """Bound int p log(p/q) where every step states a bound or is Gaussian; +inf elsewhere."""
    total = ball(loss.mean_shift_squared) / 2
    for law, count in loss.parts:
        total += count * law.bound_relative_entropy() if has_only_moments(law) else arb.pos_inf()
    return upper_end(total)


@proved_by("T180-moment")
def enclose_slope(power: Fraction, t: arb) -> arb:
    """Enclose g_s'(t) = (t^{s-1} - 1) / (s - 1), t > 0."""
    return (ball(power - 1) * t.log()).expm1() / ball(power - 1) if power != 1 else t.log()


@proved_by("T180-moment")
def enclose_intercept(power: Fraction, t: arb) -> arb:
    """Enclose h_s(t) = t g_s'(t) - g_s(t) = (t^s - 1) / s, t > 0."""
    return (ball(power) * t.log()).expm1() / ball(power) if power else t.log()


@proved_by("T180-moment")
def enclose_crossing(power: Fraction, u: arb, v: arb) -> arb:
    """Enclose where the tangents of g_s at u and at v cross."""
    rise = enclose_intercept(power, v) - enclose_intercept(power, u)
    return rise / (enclose_slope(power, v) - enclose_slope(power, u))


@dataclass(frozen=True)
class MomentWitness:
    """Any admissible values give a bound; good ones a small one.

    powers: s, none between 0 and 1. weights: one for each, positive, of sum 1. low = u and high = v / e^eps, at least
    0; where one of them is 0 there are no tangents, and one power above 1 bounds delta alone.
    """

    powers: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    low: Fraction
    high: Fraction
    prec: int

    kind: ClassVar[str] = "moment"
    method: ClassVar[str] = "renyi"

    @property
    def is_one_order(self) -> bool:
        """Whether there is one power, above 1: a Renyi order."""
        return len(self.powers) == 1 and self.powers[0] > 1

    @property
    def exponent(self) -> Fraction:
        """l of the first power."""
        return self.powers[0] - 1

    @proved_by("T180-moment")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions that are plain comparisons of exact numbers."""
        proper = all(power >= 1 or power <= 0 for power in self.powers) and all(weight > 0 for weight in self.weights)
        paired = 1 <= len(self.powers) == len(self.weights) <= MOST_POWERS and sum(self.weights) == 1
        return proper and paired and self.low >= 0 and self.high >= 0

    @proved_by("T180-moment", "T44-infinity-mass")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> MomentValues:
        """Bound what the powers stand for, and enclose P(S = inf)."""
        with ctx.workprec(self.prec):
            sizes = tuple(self._bound_size(loss, power, between) for power in self.powers)
            return MomentValues(self, sizes, loss.enclose_infinity_mass())

    @proved_by("T180-moment")
    def _bound_size(self, loss: ComposedLoss, power: Fraction, between: Callable[[], None]) -> arb:
        """Bound log M(s-1), for s <= 0 of the swapped order at -s; for s = 1, 0 the relative entropy.

        +inf where that order may have mass at infinity, unless it is the only one, and above 1.
        """
        directed, exponent = (loss, power - 1) if power >= 1 else (loss.in_order(SWAPPED[loss.order]), -power)
        if not (self.is_one_order or directed.enclose_infinity_mass().is_zero()):
            return arb.pos_inf()
        if not exponent:
            return bound_relative_entropy(directed)
        point = ball(exponent)
        return upper_end(directed.enclose_gaussian_exponent(acb(point)).real + self._bound_steps(
            directed, point, between))

    def _bound_steps(self, loss: ComposedLoss, exponent: arb, between: Callable[[], None]) -> arb:
        """Bound log M(l) without the Gaussian steps."""
        return bound_log_moments(loss.parts, exponent, between)

    def work(self, loss: ComposedLoss) -> Work:
        """Of the moments."""
        units = 2 * sum(law.transform_work(self.prec) + law.rule_work(self.prec) for law, _ in direct_parts(loss))
        units += sum(law.value_work(self.prec) for law, _ in loss.parts if law.only_moments)
        return Work(len(self.powers) * (units + EXPONENTIAL * words(self.prec)))


@dataclass(frozen=True)
class MomentValues:
    """sizes: for each power a bound of log M, or of the relative entropy; and P(S = inf)."""

    witness: MomentWitness
    sizes: tuple[arb, ...]
    infinity_mass: arb

    @proved_by("T180-moment", "T65-renyi-composition")
    def delta(self, epsilon: Fraction) -> Bounds:
        """P(S = inf) <= delta(eps) <= the least bound, to which P(S = inf) is added where there is one order."""
        with ctx.workprec(self.witness.prec):
            bound, added = self.bound_by_tangents(epsilon), arb(0)
            if self.witness.is_one_order:
                bound, added = bound.min(self.bound_sharply(ball(epsilon))), self.infinity_mass
            total = upper_end(added + bound)
            upper = total.min(arb(1)) if total.is_finite() else arb(1)
            budget = upper_end(bound).min(arb(1)) if bound.is_finite() else arb(1)
            return Bounds(lower_end(self.infinity_mass).max(arb(0)), upper, {"renyi": budget})

    @proved_by("T03-chernoff")
    def bound_sharply(self, epsilon: arb) -> arb:
        """Bound D(eps) by C(l) M(l) e^{-l eps}, where there is one order."""
        exponent = ball(self.witness.exponent)
        return upper_end((self.sizes[0] - exponent * epsilon).exp() * bound_chernoff_factor(exponent))

    @proved_by("T180-moment")
    def bound_by_tangents(self, epsilon: Fraction) -> arb:
        """Bound D(eps) by the tangents at u and v; +inf where u < v or the condition on them is not certain."""
        witness, total, crossing = self.witness, arb(0), arb(0)
        if not (witness.low > 0 and witness.high > 0):
            return arb.pos_inf()
        with ctx.workprec(witness.prec):
            a, u = ball(epsilon).exp(), ball(witness.low)
            v = ball(witness.high) * a
            for power, weight, size in zip(witness.powers, witness.weights, self.sizes, strict=True):
                slope = enclose_slope(power, u)
                rise = enclose_slope(power, v) - slope
                total += ball(weight) * (_divergence(power, size) - slope + enclose_intercept(power, u)) / rise
                if witness.is_one_order:  # u^l / l = g_s'(u) + 1 / l
                    total += self.infinity_mass * (slope + 1 / ball(power - 1)) / rise
                crossing += ball(weight) * enclose_crossing(power, u, v)
            sure = u < v and crossing <= a and total.is_finite()
            return upper_end(total).max(arb(0)) if sure else arb.pos_inf()


@proved_by("T180-moment")
def _divergence(power: Fraction, size: arb) -> arb:
    """B_s from a bound of log M."""
    return size.expm1() / ball(power * (power - 1)) if power not in (0, 1) else size


@dataclass(frozen=True)
class EarlierDivergences(MomentWitness):
    """The same fields, by another name; no tangent at 0 was admitted."""

    kind: ClassVar[str] = "divergences"
    sources: ClassVar[Mapping[str, str]] = {}

    def now(self) -> Witness:
        """The witness that makes the same statement."""
        return MomentWitness(self.powers, self.weights, self.low, self.high, self.prec)
