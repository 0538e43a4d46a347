"""One-sided: the sharp Chernoff bound, which shows cheaply that an order is the smaller one (T03)."""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.balls import ball, lower_end, upper_end
from verified_dp.core.bounds import Bounds
from verified_dp.core.engines.contour import bound_mass
from verified_dp.core.engines.nodes import NodeRule, enclose_nodes
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.theorems import proved_by


@dataclass(frozen=True)
class ChernoffWitness:
    """An exponent l > 0 and one node rule per law for M(l)."""

    exponent: Fraction
    nodes: tuple[NodeRule, ...]
    prec: int


@proved_by("T03-chernoff")
def bound_delta(loss: ComposedLoss, witness: ChernoffWitness, epsilon: Fraction) -> Bounds:
    """P(S = inf) <= delta(eps) <= P(S = inf) + C(l) M(l) e^{-l eps}."""
    with ctx.workprec(witness.prec):
        nodes = [enclose_nodes(law, rule) for (law, _), rule in zip(loss.node_parts, witness.nodes, strict=True)]
        upper = bound_mass(loss, nodes, witness.exponent) * (-ball(witness.exponent * epsilon)).exp()
        infinity_mass = loss.enclose_infinity_mass()
        bound = upper_end(infinity_mass + upper).min(arb(1))
        return Bounds(lower_end(infinity_mass).max(arb(0)), bound, {"chernoff": upper_end(upper).min(arb(1))})
