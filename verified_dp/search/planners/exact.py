"""Plans of what needs no search: delta past the support, and where it is a rational number."""

from __future__ import annotations

import math

from flint import ctx

from verified_dp.core.engines.rational import ExactWitness, count_terms, exact_infinity_mass
from verified_dp.core.engines.support import SupportWitness, is_past_support
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.search.planners.plan import Asked, Plan, Planner

_BITS = 256


class Exact(Planner):
    """See the module."""

    tries = 1

    def plan(self, asked: Asked) -> Plan | None:
        """delta itself, or None."""
        prec = max(_BITS, math.ceil(asked.bits) + 64)
        with ctx.workprec(prec):
            mass = self.loss.enclose_infinity_mass()
            past = is_past_support(self.loss, asked.epsilon) or bool(mass == 1)
        exact = ExactWitness(max(ctx.prec, 64) + 64)
        if past:
            known = not mass.is_exact() and exact_infinity_mass(self.loss) is not None
            return _certain(exact if known else SupportWitness(prec))
        by_sum = asked.epsilon == 0 and asked.method in ("auto", "closed-form")
        return _certain(exact) if by_sum and count_terms(self.loss) is not None else None


def _certain(witness: Witness) -> Plan:
    return Plan(math.inf, 0.0, lambda: witness)
