"""The relative entropy E_P[log dP/dQ] of a composition, the Renyi divergence of order 1 (T146).

    (M(h) - 1)/h - h (M(1) - 1) <= D_1 <= log M(h) / h, log M(1)    law by law, M(l) = E_P[e^{l L}], 0 < h <= 1
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.guarantees.renyi import MomentBound
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.questions.moments import enclose_all_nodes, enclose_log_moment
from verified_dp.search.moment_engine import MomentEngine
from verified_dp.search.renyi import choose_rules

MOST_BITS = 900.0
"""No h is smaller by more because of M(1)."""


@proved_by("T146-relative-entropy")
def enclose_relative_entropy(loss: ComposedLoss, exponent: Fraction, rules: tuple[Sequence[NodeRule], ...],
                             prec: int) -> tuple[arb, arb]:
    """Exact ends of D_1(P || Q) of one order by moments at h and at 1; +inf where the infinity mass is positive.

    exponent: h, in (0, 1]. rules: of the nodes at h, and at 1. The lower end is at least 0.
    """
    with ctx.workprec(prec):
        mass, gaussian = loss.enclose_infinity_mass(), ball(loss.mean_shift_squared) / 2
        if mass > 0:
            return arb.pos_inf(), arb.pos_inf()
        lower = upper = gaussian
        sampled = [law for law, _ in lines(loss).sampled_parts]
        chosen: dict[Law, Sequence[NodeRule]] = dict(zip(sampled, zip(*rules, strict=True), strict=True))
        for law, count in loss.parts:
            if isinstance(law, MomentBound):
                upper += count * law.bound_relative_entropy()
                continue
            one = replace(loss, parts=((law, 1),), mean_shift_squared=Fraction(0))
            low, high = _enclose_one(one, exponent, chosen.get(law))
            lower, upper = lower + count * low, upper + count * high
        return lower_end(lower), upper_end(upper) if mass.is_zero() else arb.pos_inf()


@proved_by("T146-relative-entropy")
def _enclose_one(loss: ComposedLoss, exponent: Fraction, rules: Sequence[NodeRule] | None) -> tuple[arb, arb]:
    """Ends for a single law, taken once; h must be in (0, 1], else (0, +inf)."""
    if not 0 < exponent <= 1:
        return arb(0), arb.pos_inf()
    near, far = ((), ()) if rules is None else (enclose_all_nodes(loss, (rule,)) for rule in rules)
    h, one = ball(exponent), arb(1)
    (low, high), (_, at_one) = enclose_log_moment(loss, near, h), enclose_log_moment(loss, far, one)
    least = low.expm1() / h - h * at_one.expm1()
    return least.max(arb(0)) if least.is_finite() else arb(0), (high / h).min(at_one)


def choose_relative_entropy(loss: ComposedLoss, digits: int) -> tuple[arb, arb]:
    """The ends at an h so small that h (M(1) - 1) is below the digits; of heavy tails the lower end is less sharp."""
    bits, model = digits * math.log2(10) + 4, MomentEngine(loss).model
    size = model.log_moment(1.0)
    known = 0 < size < math.inf
    small, large = (max(0.0, -math.log2(size)), min(size / math.log(2), MOST_BITS)) if known else (0.0, 0.0)
    shrunk = bits + small + large
    near, prec = choose_rules(model, 2.0**-shrunk, 2 * shrunk + small + 8)
    far, _ = choose_rules(model, 1.0, bits + small)
    return enclose_relative_entropy(loss, Fraction(1, 2 ** math.ceil(shrunk)), (near, far), prec)
