"""Plans of upper bounds from moments: one Renyi order, or two powers that say more."""

from __future__ import annotations

from fractions import Fraction

from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.engines.node_moment import moment_witness
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.search.estimates import Estimates
from verified_dp.search.line import choose_family_nodes, dyadic, panel_rule
from verified_dp.search.planners.plan import Asked, Plan, Planner

MANY_NODES = 50_000
"""No more are used."""


class Moment(Planner):
    """Where moments are all that is known of a step: each witness is evaluated."""

    refines = True

    def __init__(self, model: object) -> None:
        super().__init__(model)  # type: ignore[arg-type]
        self._found = list[Witness]()

    def plan(self, asked: Asked) -> Plan | None:
        """The next one."""
        if not asked.misses:
            self._found = list(self.model.moments.witnesses(asked.epsilon))
        if asked.misses >= len(self._found):
            return None
        return Plan(0.0, 0.0, lambda: self._found[asked.misses])


class Quick(Planner):
    """One order by few nodes: cheap, and not far above delta."""

    tries = 1

    def plan(self, asked: Asked) -> Plan | None:
        """At the tilt of the saddle point."""
        tilt = self.model.saddle(asked.epsilon).tilt
        return Plan(0.0, 0.0, lambda: quick_witness(self.model, tilt))


def quick_witness(model: Estimates, tilt: float) -> Witness:
    """The bound's parameters; the exponent is kept so small that a few thousand nodes do."""
    floats = model.float_model
    tilt = min([tilt] + [1000 * min(law.s, law.strip) for law, _ in floats.laws])
    rules = floats.rules([choose_family_nodes(family, tilt, 8.0) for family in floats.ruled],
                         lambda half_line: panel_rule(half_line.panels(tilt, (), 0.0, 8.0)))
    if sum(rule.last - rule.first for rule in rules) > MANY_NODES:
        return ExactWitness(256)  # 0 <= delta <= 1 is all that is cheap
    prec = 64 + 2 * max((count - 1).bit_length() for _, count in model.loss.laws)
    return moment_witness(dyadic(tilt), Fraction(0), Fraction(0), prec, families=rules)
