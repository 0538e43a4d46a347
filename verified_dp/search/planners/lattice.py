"""Plans of lattices: a coarse grid where a fine one takes long, then finer ones by what the last one gave and took."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Self

from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.rules import is_on_lines
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.search.answer import Answer, width_bits
from verified_dp.search.estimates import Estimates
from verified_dp.search.lattice import LatticePlan, plan_lattice
from verified_dp.search.lattice_model import DEEPEST
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.magnitudes import require_floats
from verified_dp.search.next_to_end import gap_to_end, plan_next_to_end
from verified_dp.search.planners.plan import Asked, Plan, Planner
from verified_dp.search.steps import MAX_CELLS, align

INSURANCE = 0.3
"""Where a run should take more than this share of the seconds that are left, a coarser one is made first."""
MOST_BITS = 40.0
"""No grid is planned for more."""
_ALLOCATED = 3.0
"""Seconds that a single value of the curve of random allocation may take; in less no grid is filled with them."""
_MEASURABLE = 0.3
"""Seconds: shorter runs say nothing about the machine's speed, and in less no other is worth a plan."""


class Lattice(Planner):
    """See the module."""

    spare = 0.0
    least = 0.0
    serves = True
    refines = True

    def __init__(self, model: Estimates) -> None:
        super().__init__(model)
        self._slowness = 1.0  # seconds taken over seconds predicted
        self._last: tuple[Fraction, float] | None = None  # the step of the last grid of a question, and its width
        self._gap: Fraction | None = None  # to the largest loss, next to it
        self._before: LatticePlan | None = None

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where there is a law to compose."""
        return None if model.is_trivial else cls(model)

    def plan(self, asked: Asked) -> Plan | None:
        """The grid that should give the bits, or the finest for which there is time.

        Raises Unsupported where not even a coarse grid fits, or numbers are too large or too small.
        """
        require_floats(self.loss)
        allocated = asked.seconds < _ALLOCATED and any(is_on_lines(law) for law, _ in self.loss.parts)
        if asked.method == "auto" and (allocated or self.model.epoch_model is not None or (
                self.model.has_contour and not self.model.saddle(asked.epsilon).log_delta > -DEEPEST)):
            return None
        if not asked.misses:
            self._last, self._before, self._gap = None, None, gap_to_end(self.loss, asked.epsilon)
        return self._plan_next(replace(asked, bits=min(asked.bits, MOST_BITS)))

    def _plan_next(self, asked: Asked) -> Plan | None:
        """The first grid, or one that is finer than the last."""
        width, left = 2.0**-asked.bits, asked.seconds
        if self._last is None:
            first = self._before is None
            plan = self._affordable(self._plan(asked, None, left), asked, left)
            if not first or self._seconds(plan) > INSURANCE * left:
                if self._before is not None and plan.step >= self._before.step:
                    return None
                plan = self._plan(asked, 4 * float(plan.step), math.inf)  # however long it takes
                return self._planned(plan, asked, math.inf)
            return self._planned(plan, asked, left)
        step, reached = self._last
        if left < _MEASURABLE:
            return None
        finer = float(step) * min(max(math.sqrt(0.7 * width / reached), 1 / 64), 0.6)
        plan = self._affordable(self._plan(asked, finer, left), asked, left)
        if plan.step >= step or plan == self._before or self._seconds(plan) > left:
            return None
        return self._planned(plan, asked, left)

    def _planned(self, plan: LatticePlan, asked: Asked, limit: float) -> Plan:
        witness, self._before = plan.witness, plan
        if witness is None:
            raise Unsupported("the lattice method needs a grid of too many points here")
        return Plan(asked.bits, self._seconds(plan), lambda: witness, limit)

    def learn(self, plan: Plan, answer: Answer, seconds: float) -> None:
        """The width that a grid gave, and how slow the machine is."""
        if isinstance(answer.witness, LatticeWitness):
            self._last = answer.witness.step, max(2.0 ** -width_bits(answer.bounds), 1e-300)
        if self._before is not None and self._before.seconds > _MEASURABLE:
            self._slowness = min(max(seconds / self._before.seconds, 0.25), 8.0)

    def _seconds(self, plan: LatticePlan) -> float:
        """What the plan should take, by what earlier ones took; infinite where it is too large."""
        return math.inf if plan.witness is None else self._slowness * plan.seconds

    def _plan(self, asked: Asked, step: float | None, seconds: float) -> LatticePlan:
        width = 2.0**-asked.bits
        if self._gap is not None:
            return plan_next_to_end(self.loss, self._gap, width, None if step is None else dyadic(step, 12))
        model = self.model.lattice_model
        aligned = None if step is None else align(model, step)
        return plan_lattice(model, as_float(asked.epsilon), width, aligned, seconds / self._slowness)

    def _affordable(self, plan: LatticePlan, asked: Asked, seconds: float) -> LatticePlan:
        """The plan, or one with a coarser grid that fits memory and time."""
        seconds = max(seconds, 0.2)
        for _ in range(12):
            if self._seconds(plan) <= seconds:
                break
            ratio = 1.2 * plan.cells / MAX_CELLS if plan.witness is None else 1.1 * self._seconds(plan) / seconds
            plan = self._plan(asked, float(plan.step) * min(max(ratio, 1.3), 10.0), seconds)
        return plan
