"""Plans of a line on which large losses are marked."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Self

from verified_dp.core.engines.lines import lines
from verified_dp.search.estimates import Estimates
from verified_dp.search.line import as_float
from verified_dp.search.marked import choose_marked, plan_marked
from verified_dp.search.planners.line import Bent
from verified_dp.search.planners.plan import Plan
from verified_dp.search.saddle import Saddle


class Marked(Bent):
    """See the module."""

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Not for one of several laws, nor for few steps."""
        return None if lines(model.loss).revealed_parts or model.few else cls(model)

    def plan_at(self, epsilon: Fraction, saddle: Saddle, bits: float) -> Plan | None:
        """A line to so many bits."""
        found = plan_marked(self.model.float_model, as_float(epsilon), saddle, bits)
        return None if found is None else Plan(bits, found.seconds, partial(choose_marked, found))
