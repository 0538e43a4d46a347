"""Edgeworth's expansion of a sum's distribution, and delta from both tails (Definitions 4.1 and 4.2; T105).

Y is the sum S of the losses under P where it is finite, X that under Q; with z = (x - K'(0))/sqrt tau

    G(x) = Phi(z) - sum_{l>=1} q_l He_{l-1}(z) phi(z) / tau^{l/2}
    delta(eps) = P(S = inf) + p P(Y > eps) - e^eps r P(X > eps)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.expansion_cells import Steps, hermite_coefficients, hermite_polynomials
from verified_dp.core.kernel.balls import ball, lower_end, normal_density, normal_tail, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class EdgeworthSum:
    """A sum given that it is finite: steps at tilt 0, errors of its expansion of order 1 at every x.

    turned: whether minus the sum is meant.
    """

    steps: Steps
    errors: dict[str, arb]
    turned: bool = False

    @proved_by("T105-edgeworth-interval")
    def enclose_expansion(self, x: arb, order: int) -> arb:
        """Enclose the expansion of this order of P(Y > x), of a turned sum that of P(Y < -x)."""
        factors, root = hermite_coefficients(self.steps.cumulants, order), self.steps.cumulants[2].sqrt()
        z = ((-x if self.turned else x) - self.steps.cumulants[1]) / root
        polynomials = hermite_polynomials(z, max(factors))  # exact: whole numbers
        terms = (factor / root**power * polynomials[power - 1] for power, factor in factors.items() if power)
        rest = normal_density(z, arb(1)) * sum(terms, arb(0))
        return normal_tail(-z) - rest if self.turned else normal_tail(z) + rest

    @proved_by("T105-edgeworth-interval")
    def enclose_tail(self, x: arb) -> tuple[arb, arb]:
        """Enclose P(Y > x) by order 1 and its errors, cut to [0, 1], and bound the error."""
        error = upper_end(sum(self.errors.values(), arb(0)))
        value = self.enclose_expansion(x, 1) + plus_minus(error)
        low, high = (end.max(arb(0)).min(arb(1)) for end in (lower_end(value), upper_end(value)))
        return low.union(high), error.min(arb(1))


@dataclass(frozen=True)
class TwoTails:
    """above, below: Y and X. masses: P(S = inf) and Q(S = -inf). prec: bits."""

    above: EdgeworthSum
    below: EdgeworthSum
    masses: tuple[arb, arb]
    prec: int

    def _joined(self, epsilon: Fraction, first: arb, second: arb) -> arb:
        mass, other = self.masses
        return mass + (1 - mass) * first - ball(epsilon).exp() * (1 - other) * second

    @proved_by("T105-edgeworth-interval")
    def enclose_expansion(self, epsilon: Fraction, order: int) -> arb:
        """Enclose the expansion of delta(eps) of this order, alone."""
        with ctx.workprec(self.prec):
            tails = (one.enclose_expansion(ball(epsilon), order) for one in (self.above, self.below))
            return self._joined(epsilon, *tails)

    @proved_by("T105-edgeworth-interval")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps) by order 1: m + (1 - m) P(Y > eps) - e^eps (1 - m') P(X > eps)."""
        with ctx.workprec(self.prec):
            (first, error), (second, other) = (one.enclose_tail(ball(epsilon)) for one in (self.above, self.below))
            value, amplified = self._joined(epsilon, first, second), ball(epsilon).exp() * (1 - self.masses[1])
            budget = {"remainder": error, "amplified_remainder": upper_end(amplified * other).min(arb(1))}
            rounding = upper_end((value.rad() - sum(budget.values(), arb(0))).max(arb(0))).min(arb(1))
            lower = lower_end(value).max(lower_end(self.masses[0])).max(arb(0))
            return Bounds(lower, upper_end(value).min(arb(1)), {**budget, "rounding": rounding})
