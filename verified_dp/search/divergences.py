"""Renyi divergences of one order of a composition: nodes are chosen in floats, then enclosed."""

from __future__ import annotations

import math

from flint import arb

from verified_dp.core.engines.renyi import enclose_divergence
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.search.moment_engine import MomentEngine
from verified_dp.search.renyi import choose_rules


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
