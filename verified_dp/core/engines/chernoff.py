"""One-sided: the sharp Chernoff bound, which shows cheaply that an order is the smaller one (T03)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import ClassVar

from flint import acb, arb, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.nodes import (
    AnyNodes,
    NodeRule,
    bound_total,
    enclose_families,
    work_of_moment,
)
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import is_on_lines
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import Work, nothing, paced


@proved_by("T03-chernoff", "T09-total-mass", "T157-known-aliases")
def bound_mass(loss: ComposedLoss, node_sets: Sequence[tuple[AnyNodes, int]], exponent: Fraction,
               between: Callable[[], None] = nothing) -> arb:
    """Bound C(l) M(l), so that D(eps) <= C(l) M(l) e^{-l eps}, for l = exponent > 0; node_sets: with counts.

    For l < -1 and laws with nodes alone C(-1-l) M(l), which bounds D(eps) - 1 + e^eps alike.
    """
    point = ball(exponent)
    log_mass = loss.enclose_gaussian_exponent(acb(point)).real
    for law, count in paced(loss.direct_parts, between):
        moment = law.bound_moment(point) if is_on_lines(law) else law.enclose_moment(point)
        log_mass += count * moment.log()
    for nodes, count in paced(node_sets, between):
        value = bound_total(nodes, point)
        quadrature, node_tail = nodes.line_error(point, value)
        log_mass += count * (value + quadrature + node_tail).log()
    return upper_end(log_mass.exp() * bound_chernoff_factor(point if exponent > 0 else -1 - point))


@dataclass(frozen=True)
class ChernoffWitness:
    """An exponent l > 0 and one node rule per law for M(l)."""

    exponent: Fraction
    nodes: tuple[NodeRule, ...]
    prec: int

    kind: ClassVar[str] = "chernoff"
    method: ClassVar[str] = "contour"

    @proved_by("T03-chernoff")
    def applies(self, loss: ComposedLoss) -> bool:
        """Whether M is known, by nodes or directly."""
        return self.exponent > 0 and lines(loss).suits(len(self.nodes)) and lines(loss).has_line

    @proved_by("T03-chernoff", "T44-infinity-mass")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> ChernoffValues:
        """Bound C(l) M(l) and enclose P(S = inf)."""
        with ctx.workprec(self.prec):
            nodes = list(chain(*enclose_families(loss, self.nodes, between)))
            return ChernoffValues(self, bound_mass(loss, nodes, self.exponent, between), loss.enclose_infinity_mass())

    def work(self, loss: ComposedLoss) -> Work:
        """Of the moment."""
        return work_of_moment(loss, self.nodes, self.prec)


@dataclass(frozen=True)
class ChernoffValues:
    """A bound of C(l) M(l), and P(S = inf)."""

    witness: ChernoffWitness
    mass: arb
    infinity_mass: arb

    @proved_by("T03-chernoff")
    def delta(self, epsilon: Fraction) -> Bounds:
        """P(S = inf) <= delta(eps) <= P(S = inf) + C(l) M(l) e^{-l eps}."""
        with ctx.workprec(self.witness.prec):
            upper = self.moment_beyond(ball(epsilon))
            bound = upper_end(self.infinity_mass + upper).min(arb(1))
            return Bounds(lower_end(self.infinity_mass).max(arb(0)), bound, {"chernoff": upper_end(upper).min(arb(1))})

    @proved_by("T03-chernoff")
    def moment_beyond(self, epsilon: arb) -> arb:
        """C(l) M(l) e^{-l eps}, which bounds delta(eps) less the mass at infinity."""
        return self.mass * (-(ball(self.witness.exponent) * epsilon)).exp()
