"""delta by an expansion around a normal law, of order 0 to 6, with a bound of all that is left out (T141).

    D(eps) = e^{K(t) - t eps} (1/2 pi) int psi(w) e^{iwx} / ((t+iw)(1+t+iw)) dw
    psi(w) = e^{K(t+iw) - K(t) - iw K'(t)}
    psi_n(w) = e^{-tau w^2/2} sum_l q_l (iw)^l,   x = K'(t) - eps,   tau = K''(t)

t > 0, or the limit t = 0: Edgeworth's expansion of the loss itself. The derivatives of K and the q_l are the
polynomials that sympy derived, evaluated on balls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.direct import is_direct
from verified_dp.core.engines.expansion_cells import (
    HIGHEST,
    Cover,
    Steps,
    bound_remainder,
    cells_together,
    enclose_steps,
    hermite_coefficients,
    hermite_polynomials,
    moment_count,
)
from verified_dp.core.engines.lines import has_nodes, lines
from verified_dp.core.engines.nodes import count_nodes
from verified_dp.core.engines.rules import is_atomic
from verified_dp.core.engines.tilted_moments import MomentRule, MomentTable, has_range, tabulate_moments
from verified_dp.core.kernel.balls import ball, lower_end, normal_density, normal_tail, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, words

CELL, DERIVATIVE = 40 * EXPONENTIAL, 2000
"""Units of one cell, and of one law's derivatives on a group of them."""


@dataclass(frozen=True)
class ExpansionWitness:
    """tilt: t >= 0. order: n. rules: of each law's moments. cover: of the frequencies. prec: bits. Any will do."""

    tilt: Fraction
    order: int
    rules: tuple[MomentRule, ...]
    cover: Cover
    prec: int

    kind: ClassVar[str] = "expansion"

    @property
    def method(self) -> str:
        """Whose question it answers."""
        return "berry-esseen" if not self.order else "saddlepoint" if self.tilt else "edgeworth"

    @proved_by("T141-certified-expansions", "T94-tilted-moments")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions; without a tilt a transform by closed form must be known around 0."""
        known = len(self.rules) == len(loss.parts) and self.tilt >= 0 and lines(loss).has_transform
        return known and self.order in range(HIGHEST + 1) and self.cover.joins(len(lines(loss).node_parts)) and all(
            rule.is_central(law) if has_nodes(law) else is_atomic(law) or self.tilt > 0 or has_range(law)
            for (law, _), rule in zip(loss.parts, self.rules, strict=True))

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> Expansion:
        """Enclose the expansion, and bound what it leaves out."""
        table = tabulate_moments(loss, self.rules, self.prec, between)
        return enclose_expansion(table, tilted_steps(table, self.tilt, self.order, between), self, between)

    def work(self, loss: ComposedLoss) -> Work:
        """Of moments, derivatives on all cells, and the nodes of rays."""
        size, nodes, made = moment_count(self.order), count_nodes(rule.nodes for rule in self.rules), 0
        for (law, _), rule in zip(loss.parts, self.rules, strict=False):
            if has_nodes(law):
                made += count_nodes([rule.nodes]) * (EXPONENTIAL * (6 + law.components) + 4 * size)
            elif is_atomic(law):
                made += law.outcomes * (4 * EXPONENTIAL + 2 * size)
            elif is_direct(law):
                made += (abs(rule.points) + 2) * (law.transform_work(self.prec) + EXPONENTIAL + size)
        cells, laws = len(self.cover.ends), len(loss.parts)
        made += cells * CELL + (1 + cells // cells_together(laws, cells)) * laws * DERIVATIVE
        made += sum(8 * EXPONENTIAL * count_nodes(ray.rules) for ray in self.cover.rays)
        return Work(made * words(self.prec), 4 * nodes * entry_bytes(self.prec))


@proved_by("T141-certified-expansions")
def enclose_series(steps: Steps, epsilon: arb, factors: dict[int, arb]) -> arb:
    """Enclose sum_l q_l (J_l(t) - J_l(1+t)); factors: l -> q_l.

    J_l(a) = N^(l-1)(x; tau) - a J_{l-1}(a), J_0(a) = e^{-ax + a^2 tau/2} P(Z > (a tau - x)/sqrt tau), x = K'(t) - eps,
    N^(m) = (-1)^m He_m(x/sqrt tau) N / tau^{m/2}.
    """
    gap, variance = steps.cumulants[1] - epsilon, steps.cumulants[2]
    root, density, highest = variance.sqrt(), normal_density(gap, variance), max(factors)  # exact: whole numbers
    rates = steps.tilt, 1 + steps.tilt
    near, far = ((rate * (rate * variance / 2 - gap)).exp() * normal_tail((rate * variance - gap) / root)
                 for rate in rates)
    total = factors[0] * (near - far)
    for power, polynomial in enumerate(hermite_polynomials(gap / root, highest)[:highest], 1):
        near, far = density * polynomial - rates[0] * near, density * polynomial - rates[1] * far
        total += factors.get(power, arb(0)) * (near - far)
        density = -density / root
    return total


@dataclass(frozen=True)
class Expansion:
    """What does not depend on eps.

    factors: l -> q_l. errors: what is left out, over e^{K - t eps}. mass: P(S = inf).
    """

    steps: Steps
    factors: dict[int, arb]
    errors: dict[str, arb]
    mass: arb
    prec: int

    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps)."""
        return self.enclose_delta(epsilon)[0]

    @proved_by("T141-certified-expansions", "T03-chernoff", "T44-infinity-mass")
    def enclose_delta(self, epsilon: Fraction) -> tuple[Bounds, arb]:
        """Enclose delta(eps) by e^{K - t eps} (series +- error) + P(S = inf), and the series' part alone (no bound).

        Also at most the Chernoff bound e^{K - eps t} C(t) + P(S = inf), C(0) = 1, and at least P(S = inf).
        """
        with ctx.workprec(self.prec):
            tilt, mass = self.steps.tilt, self.mass
            scale = (self.steps.log_mass - ball(epsilon) * tilt).exp()
            series = scale * enclose_series(self.steps, ball(epsilon), self.factors) + mass
            bounds = bounds_from_sum(series, {name: upper_end(scale * size) for name, size in self.errors.items()}, {})
            peak = upper_end(scale * (bound_chernoff_factor(tilt) if tilt > 0 else arb(1)) + mass)
            return Bounds(bounds.lower.max(lower_end(mass)), bounds.upper.min(peak), bounds.budget), series


def tilted_steps(table: MomentTable, tilt: Fraction, order: int, between: Callable[[], None] = nothing) -> Steps:
    """What the expansion of this order reads of the composition, at the table's bits."""
    with ctx.workprec(table.prec):
        return enclose_steps(table, ball(tilt), order + 2, moment_count(order), between)


@proved_by("T141-certified-expansions")
def enclose_expansion(table: MomentTable, steps: Steps, witness: ExpansionWitness,
                      between: Callable[[], None] = nothing) -> Expansion:
    """Enclose the expansion of the witness's order, and bound what cells, rays and its own tail leave out."""
    with ctx.workprec(table.prec):
        order = witness.order
        factors = hermite_coefficients(steps.cumulants, order)
        parts = bound_remainder(table, steps, factors, witness.cover, order, between)
        errors = {name: upper_end(size / arb.pi()) for name, size in parts.items()}
        return Expansion(steps, factors, errors, table.loss.enclose_infinity_mass(), table.prec)
