"""Plans of what needs no search: delta past the support, and where it is a rational number."""

from __future__ import annotations

import math

from flint import ctx

from verified_dp.core.engines.exact import ExactWitness, count_terms, is_past_support
from verified_dp.search.planners.plan import Asked, Plan, Planner

_BITS = 256


class Exact(Planner):
    """See the module."""

    tries = 1

    def plan(self, asked: Asked) -> Plan | None:
        """delta itself, or None."""
        prec = max(_BITS, math.ceil(asked.bits) + 64, ctx.prec + 64)
        with ctx.workprec(prec):
            known = is_past_support(self.loss, asked.epsilon) or bool(self.loss.enclose_infinity_mass() == 1)
        by_sum = asked.epsilon == 0 and asked.method in ("auto", "closed-form")
        if known or (by_sum and count_terms(self.loss) is not None):
            return Plan(math.inf, 0.0, lambda: ExactWitness(prec))
        return None
