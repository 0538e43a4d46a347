"""Moments and Renyi divergences of a composition from both sides (T70)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import acb, arb, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.nodes import NodeRule, NodeSet, bound_line_error, enclose_nodes
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball, lower_end, plus_minus, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.moment_engine import MomentEngine
from verified_dp.search.renyi import choose_rules


@proved_by("T70-moment-enclosure")
def enclose_log_moment(loss: ComposedLoss, nodes: Sequence[NodeSet], exponent: arb) -> tuple[arb, arb]:
    """Exact ends of an enclosure of log M(l), for a ball l > 0: the sum over the parts of count * log M_i(l).

    -inf, +inf where a moment is not known from below, from above. nodes: those of each sampled Gaussian law.
    """
    lower = upper = loss.enclose_gaussian_exponent(acb(exponent)).real
    sets = iter(nodes)
    by_nodes = {law: next(sets) for law, _ in lines(loss).sampled_parts}
    for law, count in loss.parts:
        if law.only_moments:
            lower, upper = arb.neg_inf(), upper + count * law.bound_log_moment(exponent)
            continue
        if law in by_nodes:
            low, high = _ends_by_nodes(by_nodes[law], exponent)
        else:
            moment = law.enclose_moment(exponent)
            low, high = lower_end(moment), upper_end(moment)
        lower += count * (low.log() if low > 0 else arb.neg_inf())
        upper += count * (high.log() if high > 0 else arb.pos_inf())
    return lower_end(lower), upper_end(upper)


@proved_by("T70-moment-enclosure", "T08-shifted-line")
def _ends_by_nodes(nodes: NodeSet, exponent: arb) -> tuple[arb, arb]:
    """Exact ends of M(l): the sum over the nodes, up to quadrature and node tails."""
    quadrature, tails = bound_line_error(nodes, exponent)
    error = quadrature + tails
    if not error.is_finite():
        return arb.neg_inf(), arb.pos_inf()
    moment = sum(nodes.weights(acb(exponent)), acb(0)).real + plus_minus(error)
    return lower_end(moment), upper_end(moment)


def enclose_all_nodes(loss: ComposedLoss, rules: Sequence[NodeRule]) -> list[NodeSet]:
    """The nodes of every sampled Gaussian law."""
    return [enclose_nodes(law, rule) for (law, _), rule in zip(lines(loss).sampled_parts, rules, strict=True)]


@proved_by("T70-moment-enclosure")
def enclose_divergence(loss: ComposedLoss, renyi_order: Fraction, rules: Sequence[NodeRule],
                       prec: int) -> tuple[arb, arb]:
    """Exact ends of D_a(P || Q) = log M(a - 1) / (a - 1) of one order of a composition, any real a > 1.

    It is +inf where the infinity mass is positive. The lower end is at least 0.
    """
    with ctx.workprec(prec):
        exponent = ball(renyi_order - 1)
        lower, upper = enclose_log_moment(loss, enclose_all_nodes(loss, rules), exponent)
        mass = loss.enclose_infinity_mass()
        if mass > 0:
            return arb.pos_inf(), arb.pos_inf()
        top = upper_end(upper / exponent) if mass.is_zero() else arb.pos_inf()
        return lower_end(lower / exponent).max(arb(0)), top


def enclose_renyi_divergence(loss: ComposedLoss, renyi_order: object, digits: int = 12) -> tuple[arb, arb]:
    """Exact ends of D_a(P || Q) of one order of a composition, at any real a > 1, to about 10^-digits of log M.

    Ensures: lower <= D_a <= upper; upper is +inf where the mass at infinity may be positive, lower is 0 where a step
    is known by upper bounds only. Raises InvalidInput unless a > 1.
    """
    order = exact.exact(renyi_order, "renyi_order")
    if order <= 1:
        raise InvalidInput("renyi_order", renyi_order, "a rational number above 1, 1 or infinity")
    rules, prec = choose_rules(MomentEngine(loss).model, float(order - 1), digits * math.log2(10) + 4)
    return enclose_divergence(loss, order, rules, prec)
