"""Plans of two rays for steps with nodes."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import ClassVar

from verified_dp.search.line import as_float
from verified_dp.search.planners.line import Bent
from verified_dp.search.planners.plan import Plan
from verified_dp.search.rays import choose_rays, plan_rays
from verified_dp.search.saddle import Saddle


class Rays(Bent):
    """See the module."""

    spare: ClassVar[float] = 2.0

    def plan_at(self, epsilon: Fraction, saddle: Saddle, bits: float) -> Plan | None:
        """With the size of delta if one large loss decides."""
        found = plan_rays(self.model.float_model, as_float(epsilon), self.model.jumping(epsilon, saddle), bits)
        return None if found is None else Plan(bits, found.seconds, partial(choose_rays, found))
