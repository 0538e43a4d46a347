"""Plans of a bent path of panels for steps with nodes beside plain Gaussian ones."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Self

from verified_dp.core.engines.lines import lines
from verified_dp.search.estimates import Estimates
from verified_dp.search.line import as_float
from verified_dp.search.path import choose_path, plan_path, predicted_cost
from verified_dp.search.planners.line import Bent
from verified_dp.search.planners.plan import Plan
from verified_dp.search.saddle import Saddle


class Path(Bent):
    """See the module."""

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Not for one of several laws; without Gaussian steps there are rays."""
        return None if lines(model.loss).revealed_parts or not model.loss.mean_shift_squared else cls(model)

    def plan_at(self, epsilon: Fraction, saddle: Saddle, bits: float) -> Plan | None:
        """A path to so many bits."""
        found = plan_path(self.model.float_model, as_float(epsilon), saddle, bits)
        seconds = 0.02 + 2.5e-7 * predicted_cost(found) * max(1.0, bits / 100) if found else 0.0
        return found and Plan(bits, seconds, partial(choose_path, found))
