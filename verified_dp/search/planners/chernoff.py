"""Plans of one moment's bound by few nodes: cheap, and not far above delta."""

from __future__ import annotations

from verified_dp.core.engines.chernoff import ChernoffWitness
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.search.estimates import Estimates
from verified_dp.search.line import choose_family_nodes, dyadic, panel_rule
from verified_dp.search.planners.plan import Asked, Plan, Planner

MANY_NODES = 50_000
"""No more are used."""


class Chernoff(Planner):
    """See the module."""

    tries = 1

    def plan(self, asked: Asked) -> Plan | None:
        """At the tilt of the saddle point."""
        tilt = self.model.saddle(asked.epsilon).tilt
        return Plan(0.0, 0.0, lambda: chernoff_witness(self.model, tilt))


def chernoff_witness(model: Estimates, tilt: float) -> Witness:
    """The bound's parameters; the exponent is kept so small that a few thousand nodes do."""
    floats = model.float_model
    tilt = min([tilt] + [1000 * min(law.s, law.strip) for law, _ in floats.laws])
    rules = floats.rules([choose_family_nodes(family, tilt, 8.0) for family in floats.ruled],
                         lambda half_line: panel_rule(half_line.panels(tilt, (), 0.0, 8.0)))
    if sum(rule.last - rule.first for rule in rules) > MANY_NODES:
        return ExactWitness(256)  # 0 <= delta <= 1 is all that is cheap
    prec = 64 + 2 * max((count - 1).bit_length() for _, count in model.loss.laws)
    return ChernoffWitness(dyadic(tilt), rules, prec)
