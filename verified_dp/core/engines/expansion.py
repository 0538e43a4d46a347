"""delta by an expansion around a normal law, of order 0 to 4, with a bound of all that is left out: T141, T170, T171.

    D(eps) = e^{K(t) - t eps} (1/2 pi) int psi(w) e^{iwx} / ((t+iw)(1+t+iw)) dw
    psi(w) = e^{K(t+iw) - K(t) - iw K'(t)}
    psi_n(w) = e^{-tau w^2/2} sum_l q_l (iw)^l,   x = K'(t) - eps,   tau = K''(t)

With the poles expanded F = K - eps z - log z - log(1+z) stands in the place of K - eps z: at the saddle point the
expansion of order 2n is the published series MSD_n. Without a tilt both tails of

    delta(eps) = P(S = inf) + p P(Y > eps) - e^eps r P(X > eps)

are expanded, Y and X the sum S where it is finite, under P and under Q (`smoothed`). The derivatives of K and the q_l
are the polynomials that sympy derived, evaluated on balls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.expansion_cells import (
    HIGHEST,
    Cover,
    Ray,
    Steps,
    bound_beyond,
    bound_cells,
    bound_far_expansion,
    enclose_steps,
    moment_count,
)
from verified_dp.core.engines.expansion_forms import ExpandedPoles, KeptPoles
from verified_dp.core.engines.lines import has_nodes, lines
from verified_dp.core.engines.nodes import count_nodes
from verified_dp.core.engines.polynomials import hermite_coefficients
from verified_dp.core.engines.smoothed import TwoTails, enclose_tails
from verified_dp.core.engines.tilted_moments import MomentRule, MomentTable, tabulate_moments
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import is_atomic, is_direct
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, words

FORMS: tuple[type[KeptPoles | ExpandedPoles], ...] = (KeptPoles, ExpandedPoles)
ORDERS = range(HIGHEST + 1), range(0, 7, 2)
"""With the poles expanded the odd orders add nothing at the saddle point: order 2n is MSD_n."""
CELL, DERIVATIVE = 40 * EXPONENTIAL, 2000
"""Units of one cell, and of one law's derivatives on a group of them."""


@dataclass(frozen=True)
class ExpansionWitness:
    """tilt: t > 0, or 0 for both tails. order: n. expanded: 1 where the poles are. rules: of each law's moments.

    covers: of the frequencies; without a tilt two, for the sums under P and under Q. prec: bits. Any are admissible.
    """

    tilt: Fraction
    order: int
    expanded: int
    rules: tuple[MomentRule, ...]
    covers: tuple[Cover, ...]
    prec: int

    kind: ClassVar[str] = "expansion"

    @property
    def method(self) -> str:
        """Whose question it answers."""
        return "berry-esseen" if not self.order else "saddlepoint" if self.tilt else "edgeworth"

    @proved_by("T141-certified-expansions", "T170-edgeworth-smoothing", "T171-steepest-descent", "T94-tilted-moments")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions; transforms by closed form need a tilt."""
        known = len(self.rules) == len(loss.parts) and self.tilt >= 0 and lines(loss).has_transform
        ordered = self.expanded in (0, 1)[: 2 if self.tilt else 1] and self.order in ORDERS[self.expanded]
        covers = len(self.covers) == (1 if self.tilt else 2) and all(
            cover.joins(len(lines(loss).node_parts), not self.tilt) for cover in self.covers)
        return known and ordered and covers and all(
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


@proved_by("T141-certified-expansions")
def bound_rays(table: MomentTable, steps: Steps, rays: Sequence[Ray], between: Callable[[], None] = nothing) -> arb:
    """Bound the integral of |psi| / (|t+iw| |1+t+iw|) over w > W.

    From w_0 to w_1 it is at most sup |psi| (atan(t/w_0) - atan(t/w_1)) / t; the last ray has no end.
    """
    tilt = steps.tilt
    angles = [*((tilt / ball(ray.start)).atan() for ray in rays), arb(0)]
    total = sum((bound_beyond(table, steps, ray) * (wide - narrow)
                 for ray, (wide, narrow) in paced(zip(rays, pairwise(angles), strict=True), between)), arb(0))
    return upper_end(total / tilt)


@dataclass(frozen=True)
class TiltedExpansion:
    """What does not depend on eps.

    factors: l -> q_l. errors: what is left out, over e^{K - t eps}. mass: P(S = inf).
    """

    steps: Steps
    form: KeptPoles | ExpandedPoles
    factors: dict[int, arb]
    errors: dict[str, arb]
    mass: arb
    prec: int

    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps)."""
        return self.enclose_delta(epsilon)[0]

    @proved_by("T141-certified-expansions", "T171-steepest-descent", "T03-chernoff", "T44-infinity-mass")
    def enclose_delta(self, epsilon: Fraction) -> tuple[Bounds, arb]:
        """Enclose delta(eps) by e^{K - t eps} (series +- error) + P(S = inf), and the series' part alone (no bound).

        Also at most the Chernoff bound e^{K - eps t} C(t) + P(S = inf), and at least P(S = inf).
        """
        with ctx.workprec(self.prec):
            scale = (self.steps.log_mass - ball(epsilon) * self.steps.tilt).exp()
            gap, variance = self.steps.cumulants[1] - ball(epsilon), self.steps.cumulants[2]
            series = scale * self.form.enclose_series(gap, variance, self.factors) + self.mass
            bounds = bounds_from_sum(series, {name: upper_end(scale * size) for name, size in self.errors.items()}, {})
            peak = upper_end(scale * bound_chernoff_factor(self.steps.tilt) + self.mass)
            lower = bounds.lower.max(lower_end(self.mass))
            return Bounds(lower, bounds.upper.min(peak), bounds.budget), series


@proved_by("T141-certified-expansions", "T171-steepest-descent")
def enclose_expansion(table: MomentTable, witness: ExpansionWitness,
                      between: Callable[[], None] = nothing) -> TiltedExpansion:
    """Enclose the expansion of the witness's order and bound what it leaves out."""
    with ctx.workprec(table.prec):
        tilt, mass = ball(witness.tilt), table.loss.enclose_infinity_mass()
        form = FORMS[witness.expanded](tilt)
        steps = enclose_steps(table, tilt, witness.order, between=between)
        steps = replace(steps, cumulants=form.enclose_cumulants(steps.cumulants))
        factors, cover = hermite_coefficients(steps.cumulants, witness.order), witness.covers[0]
        errors = _errors(table, steps, form, witness.order, factors, cover, between)
        return TiltedExpansion(steps, form, factors, errors, mass, table.prec)


@proved_by("T141-certified-expansions", "T171-steepest-descent")
def _errors(table: MomentTable, steps: Steps, form: KeptPoles | ExpandedPoles, order: int, factors: Mapping[int, arb],
            cover: Cover, between: Callable[[], None]) -> dict[str, arb]:
    """What the cells, the rays and the expansion's own tail leave out."""
    if not steps.cumulants[2] > 0:
        return {name: arb.pos_inf() for name in ("cells", "rays", "expansion_tail")}
    ends = [ball(end) for end in cover.ends]
    parts = {"cells": bound_cells(steps, form, order, factors, ends, cover.together, between),
             "rays": bound_rays(table, steps, cover.rays, between),
             "expansion_tail": bound_far_expansion(steps, form, factors, ends[-1])}
    return {name: upper_end(size / arb.pi()) for name, size in parts.items()}
