"""Bounds on delta from divergences of one or two powers, of P from Q and of Q from P together (T128).

    g_s(t) = (t^s - s t + s - 1) / (s (s - 1)),   g_1(t) = t log t - t + 1,   g_0(t) = t - 1 - log t
    B_s >= int q g_s(p/q) = (int p^s q^{1-s} - 1) / (s (s - 1)),   for s = 1, 0 the relative entropies
    D(eps) <= sum_i w_i (B_i - g_i'(u) + h_i(u)) / (g_i'(v) - g_i'(u)),   h_i(t) = t g_i'(t) - g_i(t)

for any u < v and weights w_i > 0 of sum 1 with sum_i w_i (h_i(v) - h_i(u)) / (g_i'(v) - g_i'(u)) <= e^eps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.nodes import work_of_moment
from verified_dp.core.engines.renyi import enclose_log_moment
from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED, has_only_moments
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import Work, nothing

MOST_POWERS = 8
"""Two are enough (T128)."""


@proved_by("T128-two-divergences")
def bound_relative_entropy(loss: ComposedLoss) -> arb:
    """Bound int p log(p/q) where every step states a bound or is Gaussian; +inf elsewhere."""
    total = ball(loss.mean_shift_squared) / 2
    for law, count in loss.parts:
        total += count * law.bound_relative_entropy() if has_only_moments(law) else arb.pos_inf()
    return upper_end(total)


@proved_by("T128-two-divergences")
def bound_divergence(loss: ComposedLoss, power: Fraction) -> arb:
    """Bound B_s: s >= 1 by the order at hand, s <= 0 by the swapped one at 1 - s; +inf where it may be infinite."""
    directed, exponent = (loss, power - 1) if power >= 1 else (loss.in_order(SWAPPED[loss.order]), -power)
    if not directed.enclose_infinity_mass().is_zero():
        return arb.pos_inf()
    if not exponent:
        return bound_relative_entropy(directed)
    _, upper = enclose_log_moment(directed, (), ball(exponent))
    return upper_end(upper.expm1() / ball(exponent * (exponent + 1)))


@proved_by("T128-two-divergences")
def enclose_slope(power: Fraction, t: arb) -> arb:
    """Enclose g_s'(t) = (t^{s-1} - 1) / (s - 1), t > 0."""
    return (ball(power - 1) * t.log()).expm1() / ball(power - 1) if power != 1 else t.log()


@proved_by("T128-two-divergences")
def enclose_intercept(power: Fraction, t: arb) -> arb:
    """Enclose h_s(t) = t g_s'(t) - g_s(t) = (t^s - 1) / s, t > 0."""
    return (ball(power) * t.log()).expm1() / ball(power) if power else t.log()


@proved_by("T128-two-divergences")
def enclose_crossing(power: Fraction, u: arb, v: arb) -> arb:
    """Enclose where the tangents of g_s at u and at v cross."""
    rise = enclose_intercept(power, v) - enclose_intercept(power, u)
    return rise / (enclose_slope(power, v) - enclose_slope(power, u))


@dataclass(frozen=True)
class DivergencesWitness:
    """Any admissible values give a bound; good ones a small one.

    powers: s, none between 0 and 1. weights: one for each, positive, of sum 1. low = u > 0. high = v / e^eps > 0.
    """

    powers: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    low: Fraction
    high: Fraction
    prec: int

    kind: ClassVar[str] = "divergences"
    method: ClassVar[str] = "renyi"

    @proved_by("T128-two-divergences")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions that are plain comparisons of exact numbers."""
        proper = all(power >= 1 or power <= 0 for power in self.powers) and all(weight > 0 for weight in self.weights)
        paired = 1 <= len(self.powers) == len(self.weights) <= MOST_POWERS and sum(self.weights) == 1
        return proper and paired and self.low > 0 and self.high > 0 and not lines(loss).node_parts

    @proved_by("T128-two-divergences")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> DivergencesValues:
        """Bound the divergences."""
        with ctx.workprec(self.prec):
            return DivergencesValues(self, tuple(bound_divergence(loss, power) for power in self.powers))

    def work(self, loss: ComposedLoss) -> Work:
        """Of the moments."""
        one = work_of_moment(loss, (), self.prec)
        return Work(len(self.powers) * one.units, one.memory)


@dataclass(frozen=True)
class DivergencesValues:
    """Bounds on the divergences."""

    witness: DivergencesWitness
    sizes: tuple[arb, ...]

    @proved_by("T128-two-divergences")
    def delta(self, epsilon: Fraction) -> Bounds:
        """0 <= delta(eps) <= the bound, cut to 1; 1 where u < v or the condition on the tangents is not certain."""
        witness, total, crossing = self.witness, arb(0), arb(0)
        with ctx.workprec(witness.prec):
            a, u = ball(epsilon).exp(), ball(witness.low)
            v = ball(witness.high) * a
            for power, weight, size in zip(witness.powers, witness.weights, self.sizes, strict=True):
                slope = enclose_slope(power, u)
                rise = enclose_slope(power, v) - slope
                total += ball(weight) * (size - slope + enclose_intercept(power, u)) / rise
                crossing += ball(weight) * enclose_crossing(power, u, v)
            sure = u < v and crossing <= a and total.is_finite()
            upper = upper_end(total).max(arb(0)).min(arb(1)) if sure else arb(1)
            return Bounds(arb(0), upper, {"renyi": upper})
