"""Plans of expansions around a normal law: where their name is asked for."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from verified_dp.search.answer import width_bits
from verified_dp.search.estimates import Estimates
from verified_dp.search.expansion import ExpansionCurve
from verified_dp.search.planners.plan import Asked, Plan, Planner


class Tilted(Planner):
    """The tilted expansion, poles kept (T141)."""

    tries = 1
    serves = True
    name: ClassVar[str] = "saddlepoint"
    order: ClassVar[int | None] = None
    tilt: ClassVar[Fraction | None] = None

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where floats have room for the steps."""
        return cls(model) if model.why_no_floats is None else None

    @cached_property
    def curve(self) -> ExpansionCurve:
        """What has been chosen, kept between questions."""
        return ExpansionCurve(self.loss, self.order, self.tilt)

    def plan(self, asked: Asked) -> Plan | None:
        """The best that was found; chosen by evaluating it."""
        if asked.method != self.name:
            return None
        witness: Any
        witness, values = self.curve.chosen(asked.epsilon)
        return Plan(max(width_bits(values.delta(asked.epsilon)), 0.0), 0.0, lambda: witness)


class Normal(Tilted):
    """The tilted normal law alone: order 0."""

    name = "berry-esseen"
    order = 0


class Untilted(Tilted):
    """Edgeworth's expansion of the loss itself: without a tilt."""

    name = "edgeworth"
    tilt = Fraction(0)
