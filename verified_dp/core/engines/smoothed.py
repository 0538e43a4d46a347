"""The exact Edgeworth interval (EEAI) of any order: a sum's distribution by its expansion, every error proved (T170).

Y is the sum S of the losses under P where it is finite; by Prawitz's inequalities (T100), for every T > 0,

    |P(Y <= x) - G(x)|  <=  (pi/T) |G'(x)| + error,    G = Phi(z) - sum_{l>=1} q_l He_{l-1}(z) phi(z) / tau^{l/2}

z = (x - K'(0))/sqrt tau. The error compares both transforms on cells of [0, W], as the tilted expansion does, and
bounds what lies beyond. X is the sum under Q where it is finite: the loss under the tilt -1 (T105), and

    delta(eps) = P(S = inf) + p P(Y > eps) - e^eps r P(X > eps)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.expansion_cells import (
    Cover,
    Steps,
    bound_expansion_integral,
    bound_remainder,
    enclose_steps,
)
from verified_dp.core.engines.polynomials import hermite_coefficients, hermite_polynomials
from verified_dp.core.engines.tilted_moments import MomentTable
from verified_dp.core.kernel.balls import ball, lower_end, normal_density, normal_tail, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing


@dataclass(frozen=True)
class Smoothed:
    """Prawitz's kernel on [0, T]; top: T."""

    top: arb

    @proved_by("T170-edgeworth-smoothing", "T100-prawitz")
    def bound_weights(self, low: arb, high: arb) -> tuple[arb, arb]:
        """|kernel| <= sqrt((1/(pi w))^2 + (1/T)^2), which falls, as w times it grows."""
        along = 1 / (arb.pi() * low) if low > 0 else arb.pos_inf()
        growing = (1 / (arb.pi() * arb.pi()) + (high / self.top) * (high / self.top)).sqrt() / high
        return upper_end(growing), upper_end((along * along + 1 / (self.top * self.top)).sqrt())

    @proved_by("T170-edgeworth-smoothing")
    def bound_beyond(self, start: arb) -> arb:
        """2/(pi w) + 2/T: what the kernel, the inversion and the density leave beyond."""
        return upper_end(2 / (arb.pi() * start) + 2 / self.top)

    @proved_by("T170-edgeworth-smoothing")
    def bound_integral(self, low: arb, high: arb) -> arb:
        """log(v/u)/pi + (v - u)/T."""
        return (high / low).log() / arb.pi() + (high - low) / self.top


@dataclass(frozen=True)
class EdgeworthSum:
    """A sum given that it is finite: steps at tilt 0 or -1, factors l -> q_l, what is left out of P(Y <= x).

    errors: the same at every x. slope: pi/T, times |G'(x)|. turned: whether minus the sum is meant.
    """

    steps: Steps
    factors: dict[int, arb]
    errors: dict[str, arb]
    slope: arb
    turned: bool = False

    @proved_by("T170-edgeworth-smoothing")
    def enclose_expansion(self, x: arb, factors: Mapping[int, arb]) -> tuple[arb, arb]:
        """Enclose 1 - G(x) and G'(x)."""
        root = self.steps.cumulants[2].sqrt()
        z = (x - self.steps.cumulants[1]) / root
        polynomials = hermite_polynomials(z, max(factors) + 1)  # exact: whole numbers
        tail, density = arb(0), arb(0)
        for power, factor in factors.items():
            scaled = factor / root**power
            density += scaled * polynomials[power]
            tail += scaled * polynomials[power - 1] if power else arb(0)
        normal = normal_density(z, arb(1))
        return normal_tail(z) + normal * tail, normal * density / root

    @proved_by("T170-edgeworth-smoothing", "T105-edgeworth-interval")
    def enclose_tail(self, x: arb) -> tuple[arb, arb]:
        """Enclose P(Y > x), of a turned sum P(Y < -x), and bound its error."""
        tail, density = self.enclose_expansion(-x if self.turned else x, self.factors)
        error = upper_end(sum(self.errors.values(), arb(0)) + self.slope * abs(density))
        return _cut((1 - tail if self.turned else tail) + plus_minus(error)), error.min(arb(1))


@proved_by("T170-edgeworth-smoothing")
def enclose_sum(table: MomentTable, steps: Steps, order: int, cover: Cover,
                between: Callable[[], None] = nothing) -> EdgeworthSum:
    """Enclose the expansion of this order and bound what it leaves out; steps: the table's at tilt 0 or -1."""
    with ctx.workprec(table.prec):
        factors, top = hermite_coefficients(steps.cumulants, order), ball(cover.top)
        errors = bound_remainder(table, steps, Smoothed(top), factors, cover, order, between)
        if steps.cumulants[2] > 0:
            first = bound_expansion_integral(steps.cumulants[2], factors, arb(0), 1)
            errors["smoothing"] = upper_end(first * (1 + 7 / (2 * arb.pi())) / (top * top))
        return EdgeworthSum(steps, factors, errors, arb.pi() / top)


@dataclass(frozen=True)
class TwoTails:
    """above, below: Y and X. masses: P(S = inf) and Q(S = -inf). prec: bits."""

    above: EdgeworthSum
    below: EdgeworthSum
    masses: tuple[arb, arb]
    prec: int

    @proved_by("T105-edgeworth-interval")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose m + (1 - m) P(Y > eps) - e^eps (1 - m') P(X > eps)."""
        with ctx.workprec(self.prec):
            eps, (mass, other) = ball(epsilon), self.masses
            (first, error), (second, other_error) = self.above.enclose_tail(eps), self.below.enclose_tail(eps)
            amplified = eps.exp() * (1 - other)
            value = mass + (1 - mass) * first - amplified * second
            budget = {"remainder": error, "amplified_remainder": upper_end(amplified * other_error).min(arb(1))}
            rounding = upper_end((value.rad() - sum(budget.values(), arb(0))).max(arb(0))).min(arb(1))
            lower, upper = lower_end(value).max(lower_end(mass)).max(arb(0)), upper_end(value).min(arb(1))
            return Bounds(lower, upper, {**budget, "rounding": rounding})


@proved_by("T105-edgeworth-interval", "T170-edgeworth-smoothing")
def enclose_tails(table: MomentTable, order: int, covers: Sequence[Cover],
                  between: Callable[[], None] = nothing) -> TwoTails:
    """Enclose the sums under P and under Q, at tilts 0 and -1; covers: one for each."""
    with ctx.workprec(table.prec):
        steps = [enclose_steps(table, arb(tilt), order, between=between) for tilt in (0, -1)]
        above, below = (enclose_sum(table, sum_, order, cover, between)
                        for sum_, cover in zip(steps, covers, strict=True))
        swapped = table.loss.in_order(SWAPPED[table.loss.order])
        masses = table.loss.enclose_infinity_mass(), swapped.enclose_infinity_mass()
        return TwoTails(above, below, masses, table.prec)


def _cut(value: arb) -> arb:
    """The part of the ball in [0, 1], where the probability lies."""
    return lower_end(value).max(arb(0)).min(arb(1)).union(upper_end(value).min(arb(1)).max(arb(0)))
