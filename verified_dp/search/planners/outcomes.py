"""Plans of sums of a few atoms' transforms, where no grid holds all atoms."""

from __future__ import annotations

from typing import Self

from verified_dp.search.estimates import Estimates
from verified_dp.search.line import as_float
from verified_dp.search.outcomes import has_listed, plan_outcomes
from verified_dp.search.planners.line import MAX_TILT
from verified_dp.search.planners.plan import Asked, Plan, Planner
from verified_dp.search.steps import step_of_all_atoms

_SHARE, _SECONDS, _FEWEST_BITS = 0.4, 20.0, 6.0
"""Of the seconds left, and at most, for one sum; what it must promise."""


class Outcomes(Planner):
    """See the module."""

    least = 1.0
    tries = 3

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where all laws are made of few enough atoms, whose product falls too little for other lines."""
        return None if model.has_contour or not has_listed(model.loss) else cls(model)

    def plan(self, asked: Asked) -> Plan | None:
        """A sum whose error is below 2^-bits, or as small as the time allows."""
        model, where = self.model.lattice_model, as_float(asked.epsilon)
        saddle = self.model.saddle(asked.epsilon)
        wanted = asked.bits - self.spare
        if not 0 < saddle.tilt < MAX_TILT or step_of_all_atoms(model, saddle.tilt, 2.0**-wanted) is not None:
            return None
        found = plan_outcomes(model, where, saddle, asked.bits, min(_SHARE * asked.seconds, _SECONDS))
        if found is None or found.bits < min(wanted, _FEWEST_BITS):
            return None
        return Plan(found.bits, found.seconds, lambda: found.witness)
