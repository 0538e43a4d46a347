"""Plans of lines for several epochs of random allocation, of either order."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Self

from verified_dp.search.answer import Answer
from verified_dp.search.epochs import EpochsPlan, has_epochs, plan_epochs
from verified_dp.search.estimates import Estimates
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.line import as_float
from verified_dp.search.planners.plan import Asked, Plan, Planner


class Epochs(Planner):
    """See the module."""

    tries = 5
    serves = True

    def __init__(self, model: Estimates) -> None:
        super().__init__(model)
        self._size = Fraction(-1), 0.0  # eps, and a bound of log delta there

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where there are several epochs, or one beside Gaussian steps, and nothing else."""
        return cls(model) if has_epochs(model.loss) else None

    def plan(self, asked: Asked) -> Plan | None:
        """The cheaper line, then the dearer one, whose bounds of errors are closer."""
        known = self._size[1] if self._size[0] == asked.epsilon else math.inf
        size = min(self.model.saddle(asked.epsilon).log_delta, known)
        plans = self.plans(asked.epsilon, size - asked.bits * math.log(2))
        fitting = [plan for plan in plans if plan.seconds <= asked.seconds]
        best = fitting[-1 if asked.misses else 0] if fitting else None
        return None if best is None else Plan(asked.bits, best.seconds, lambda: best.witness)

    def plans(self, epsilon: Fraction, goal: float) -> list[EpochsPlan]:
        """A line to about e^goal and, for the remove order, one of the add order at -eps; the cheaper first."""
        where = as_float(epsilon)
        plans = [plan_epochs(self.model.lattice_model, where, goal, False)]
        if self.loss.order == "remove":
            plans.append(plan_epochs(self._added, -where, goal - where, True))
        return sorted((plan for plan in plans if plan is not None), key=lambda plan: plan.seconds)

    @cached_property
    def _added(self) -> LatticeModel:
        """The model of the add order."""
        return LatticeModel(self.loss.in_order("add"))

    def learn(self, plan: Plan, answer: Answer, seconds: float) -> None:
        """Where delta lies below what was estimated, the next line is aimed lower."""
        self._size = answer.epsilon, float(answer.bounds.upper.log())
