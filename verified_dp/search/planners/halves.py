"""Plans of sums over all counts of few outcomes, in two halves."""

from __future__ import annotations

from typing import Self

from verified_dp.search.estimates import Estimates
from verified_dp.search.halves import has_halves, plan_halves
from verified_dp.search.line import as_float
from verified_dp.search.planners.line import MAX_TILT
from verified_dp.search.planners.plan import Asked, Plan, Planner


class Halves(Planner):
    """See the module."""

    spare = 2.0
    tries = 3
    serves = True

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where all counts of the steps' outcomes can be listed, and there is no shorter sum."""
        return cls(model) if model.why_no_floats is None and has_halves(model.loss) else None

    def plan(self, asked: Asked) -> Plan | None:
        """Windows of the counts that matter."""
        saddle = self.model.saddle(asked.epsilon)
        if saddle.tilt > MAX_TILT:
            return None
        found = plan_halves(self.model.lattice_model, as_float(asked.epsilon), saddle, asked.bits)
        return None if found is None else Plan(asked.bits, found.seconds, lambda: found.witness)
