"""Plans of sums over all outcomes of very few steps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

from verified_dp.core.engines.closed import has_closed_form
from verified_dp.core.engines.few_steps import FewStepsWitness, count_items
from verified_dp.core.engines.sums import is_merged
from verified_dp.search.estimates import Estimates
from verified_dp.search.lattice_model import farthest_listed
from verified_dp.search.planners.plan import Asked, Plan, Planner

MOST_STEPS, MOST_ITEMS = 8, 2_000_000
_LOOK, _ITEM = 5e-8, 2e-6
"""Seconds of an item of the first half, for each bit of the second half's length, and of one of the second half."""
_LEAST_LOOK, _LOOK_SHARE = 0.15, 0.1
"""Seconds of one value of delta, during which nobody looks at the clock: at most the first, and this of the time."""
_FIRST_ORDER = 3.0
"""By how much log delta may be less than a first-order estimate."""
_USUAL = -20.0
"""log2 of delta, where nothing is known yet."""


class FewSteps(Planner):
    """See the module."""

    spare = 1.0
    tries = 4
    serves = True

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where the outcomes of half of the steps are few enough, and there is no shorter sum."""
        steps = sum(count for _, count in model.loss.parts)
        if not 1 < steps <= MOST_STEPS or (has_closed_form(model.loss) and not is_merged(model.loss)):
            return None
        found = cls(model)
        return found if sum(count_items(model.loss, found._witness(20.0))) <= MOST_ITEMS else None

    def plan(self, asked: Asked) -> Plan | None:
        """As many bits as are asked, or for which there is time, of a delta that is not small or known in doubles."""
        return self.within(replace(asked, seconds=asked.seconds / 2), self._plan)

    def _plan(self, asked: Asked) -> Plan | None:
        known = self.model.enumerated(asked.epsilon)
        if math.isnan(known) and self.model.why_no_floats is None:
            known = self.model.saddle(asked.epsilon).log_delta - _FIRST_ORDER
        witness = self._witness(asked.bits - (_USUAL if math.isnan(known) else known / math.log(2)))
        first, second = count_items(self.loss, witness)
        look = first * math.log2(second + 4) * _LOOK
        many = first + second > MOST_ITEMS or look > _LEAST_LOOK + _LOOK_SHARE * asked.seconds
        seconds = (look + second * _ITEM) * (1 + witness.prec / 500)
        return Plan(asked.bits, math.inf if many else seconds, lambda: witness)

    def _witness(self, bits: float) -> FewStepsWitness:
        """Lists that leave out about 2^-bits."""
        steps, firsts, half = sum(count for _, count in self.loss.parts), list[int](), 0
        for _, count in self.loss.parts:
            firsts.append(min(count, (steps + 1) // 2 - half))
            half += firsts[-1]
        floor = -(bits + math.log2(2 * steps)) * math.log(2)
        return FewStepsWitness(tuple(farthest_listed(law, floor) for law, _ in self.loss.parts), tuple(firsts),
                               math.ceil(bits + 2 * math.log2(steps)) + 12)
