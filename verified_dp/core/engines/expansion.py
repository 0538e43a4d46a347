"""delta by an expansion around a normal law, of order 0 to 6, with a bound of all that is left out: T141, T170.

    D(eps) = e^{K(t) - t eps} (1/2 pi) int psi(w) e^{iwx} / ((t+iw)(1+t+iw)) dw
    psi(w) = e^{K(t+iw) - K(t) - iw K'(t)}
    psi_n(w) = e^{-tau w^2/2} sum_l q_l (iw)^l,   x = K'(t) - eps,   tau = K''(t)

Without a tilt both tails of delta(eps) = P(S = inf) + p P(Y > eps) - e^eps r P(X > eps) are expanded, Y and X the sum S
where it is finite, under P and under Q (`smoothed`). The derivatives of K and the q_l are the polynomials that sympy
derived, evaluated on balls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.expansion_cells import (
    HIGHEST,
    Cover,
    Steps,
    bound_remainder,
    enclose_steps,
    moment_count,
)
from verified_dp.core.engines.lines import has_nodes, lines
from verified_dp.core.engines.nodes import count_nodes
from verified_dp.core.engines.polynomials import hermite_coefficients, hermite_polynomials
from verified_dp.core.engines.smoothed import TwoTails, enclose_tails
from verified_dp.core.engines.tilted_moments import MomentRule, MomentTable, tabulate_moments
from verified_dp.core.kernel.balls import ball, lower_end, normal_density, normal_tail, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import is_atomic, is_direct
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, words

CELL, DERIVATIVE = 40 * EXPONENTIAL, 2000
"""Units of one cell, and of one law's derivatives on a group of them."""


@dataclass(frozen=True)
class ExpansionWitness:
    """tilt: t > 0, or 0 for both tails. order: n. rules: of each law's moments.

    covers: of the frequencies; without a tilt two, for the sums under P and under Q. prec: bits. Any are admissible.
    """

    tilt: Fraction
    order: int
    rules: tuple[MomentRule, ...]
    covers: tuple[Cover, ...]
    prec: int

    kind: ClassVar[str] = "expansion"

    @property
    def method(self) -> str:
        """Whose question it answers."""
        return "berry-esseen" if not self.order else "saddlepoint" if self.tilt else "edgeworth"

    @proved_by("T141-certified-expansions", "T170-edgeworth-smoothing", "T94-tilted-moments")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions; transforms by closed form need a tilt."""
        known = len(self.rules) == len(loss.parts) and self.tilt >= 0 and lines(loss).has_transform
        covers = len(self.covers) == (1 if self.tilt else 2) and all(
            cover.joins(len(lines(loss).node_parts), not self.tilt) for cover in self.covers)
        return known and self.order in range(HIGHEST + 1) and covers and all(
            rule.is_central(law) if has_nodes(law) else is_atomic(law) or self.tilt > 0
            for (law, _), rule in zip(loss.parts, self.rules, strict=True))

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> TiltedExpansion | TwoTails:
        """Enclose the expansion, and bound what it leaves out."""
        table = tabulate_moments(loss, self.rules, self.prec, between)
        if self.tilt:
            return enclose_expansion(table, self, between)
        return enclose_tails(table, self.order, self.covers, between)

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
        for cover in self.covers:
            groups = 1 + len(cover.ends) // max(cover.together, 1)  # exact: integers
            made += len(cover.ends) * CELL + groups * len(loss.parts) * DERIVATIVE
            made += sum(8 * EXPONENTIAL * count_nodes(ray.rules) for ray in cover.rays)
        return Work(len(self.covers) * made * words(self.prec), 4 * nodes * entry_bytes(self.prec))


@dataclass(frozen=True)
class Poles:
    """1 / ((t+iw)(1+t+iw)), whose modulus falls."""

    tilt: arb

    @proved_by("T141-certified-expansions")
    def bound_beyond(self, start: arb) -> arb:
        """1 / (|t+iw| |1+t+iw|) at the start."""
        square = start * start
        return upper_end(1 / ((self.tilt * self.tilt + square) * ((1 + self.tilt) * (1 + self.tilt) + square)).sqrt())

    @proved_by("T141-certified-expansions")
    def bound_weights(self, low: arb, high: arb) -> tuple[arb, arb]:
        """The same for every error."""
        return self.bound_beyond(low), self.bound_beyond(low)

    @proved_by("T141-certified-expansions")
    def bound_integral(self, low: arb, high: arb) -> arb:
        """(atan(t/u) - atan(t/v)) / t."""
        return ((self.tilt / low).atan() - (self.tilt / high).atan()) / self.tilt

    @proved_by("T141-certified-expansions")
    def enclose_series(self, gap: arb, variance: arb, factors: Mapping[int, arb]) -> arb:
        """Enclose sum_l q_l (J_l(t) - J_l(1+t)), gap x = K'(t) - eps."""
        highest = max(factors)  # exact: whole numbers
        near, far = _ladder(self.tilt, gap, variance, highest), _ladder(1 + self.tilt, gap, variance, highest)
        return sum((factor * (near[power] - far[power]) for power, factor in factors.items()), arb(0))


@proved_by("T141-certified-expansions")
def _ladder(rate: arb, gap: arb, variance: arb, highest: int) -> list[arb]:
    """Enclose J_0(a), ..., J_highest(a) at a = rate: J_l = N^(l-1)(x; tau) - a J_{l-1}.

    J_0 = e^{-ax + a^2 tau/2} P(Z > (a tau - x)/sqrt tau), N^(m) = (-1)^m He_m(x/sqrt tau) N / tau^{m/2}.
    """
    root, density = variance.sqrt(), normal_density(gap, variance)
    found = [(rate * (rate * variance / 2 - gap)).exp() * normal_tail((rate * variance - gap) / root)]
    for polynomial in hermite_polynomials(gap / root, highest)[:highest]:
        found.append(density * polynomial - rate * found[-1])
        density = -density / root
    return found


@dataclass(frozen=True)
class TiltedExpansion:
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

        Also at most the Chernoff bound e^{K - eps t} C(t) + P(S = inf), and at least P(S = inf).
        """
        with ctx.workprec(self.prec):
            scale = (self.steps.log_mass - ball(epsilon) * self.steps.tilt).exp()
            gap, variance = self.steps.cumulants[1] - ball(epsilon), self.steps.cumulants[2]
            series = scale * Poles(self.steps.tilt).enclose_series(gap, variance, self.factors) + self.mass
            bounds = bounds_from_sum(series, {name: upper_end(scale * size) for name, size in self.errors.items()}, {})
            peak = upper_end(scale * bound_chernoff_factor(self.steps.tilt) + self.mass)
            lower = bounds.lower.max(lower_end(self.mass))
            return Bounds(lower, bounds.upper.min(peak), bounds.budget), series


@proved_by("T141-certified-expansions")
def enclose_expansion(table: MomentTable, witness: ExpansionWitness,
                      between: Callable[[], None] = nothing) -> TiltedExpansion:
    """Enclose the expansion of the witness's order, and bound what cells, rays and its own tail leave out."""
    with ctx.workprec(table.prec):
        steps = enclose_steps(table, ball(witness.tilt), witness.order, between=between)
        factors = hermite_coefficients(steps.cumulants, witness.order)
        parts = bound_remainder(table, steps, Poles(steps.tilt), factors, witness.covers[0], witness.order, between)
        errors = {name: upper_end(size / arb.pi()) for name, size in parts.items()}
        return TiltedExpansion(steps, factors, errors, table.loss.enclose_infinity_mass(), table.prec)
