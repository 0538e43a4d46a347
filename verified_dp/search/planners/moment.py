"""Plans of upper bounds from moments, where these are all that is known of a step."""

from __future__ import annotations

from verified_dp.core.kernel.witnesses import Witness
from verified_dp.search.planners.plan import Asked, Plan, Planner


class Moment(Planner):
    """One Renyi order, or two powers that say more: each is evaluated."""

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
