"""Plans of expansions around a normal law: where their name is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from verified_dp.core.engines.expansion_cells import HIGHEST
from verified_dp.core.kernel.witnesses import Values, evaluate
from verified_dp.search.answer import width_bits
from verified_dp.search.deadline import check_time
from verified_dp.search.estimates import Estimates
from verified_dp.search.expansion import ExpansionCurve, choose_tails
from verified_dp.search.planners.plan import Asked, Plan, Planner


class Tilted(Planner):
    """The tilted expansion, poles kept (T141)."""

    tries = 1
    serves = True
    name: ClassVar[str] = "saddlepoint"
    order: ClassVar[int | None] = None

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where floats have room for the steps."""
        return cls(model) if model.why_no_floats is None else None

    @cached_property
    def curve(self) -> ExpansionCurve:
        """What has been chosen, kept between questions."""
        return ExpansionCurve(self.loss, self.order)

    def plan(self, asked: Asked) -> Plan | None:
        """The best that was found; chosen by evaluating it."""
        if asked.method != self.name:
            return None
        witness: Any
        witness, values = self.curve.chosen(asked.epsilon)
        return Plan(width_bits(values.delta(asked.epsilon)), 0.0, lambda: witness)


class Normal(Tilted):
    """The tilted normal law alone: order 0."""

    name = "berry-esseen"
    order = 0


@dataclass(frozen=True)
class _Found:
    witness: Any
    values: Values


class Tails(Tilted):
    """Both tails by Edgeworth's expansion, without a tilt (T170)."""

    name = "edgeworth"

    @cached_property
    def found(self) -> list[_Found]:
        """Of every order."""
        witnesses: list[Any] = [choose_tails(self.loss, order) for order in range(1, HIGHEST + 1)]
        return [_Found(witness, evaluate(self.loss, witness, check_time)) for witness in witnesses]

    def plan(self, asked: Asked) -> Plan | None:
        """The order with the narrowest interval."""
        if asked.method != self.name:
            return None

        def width(one: _Found) -> tuple[float, float]:
            bounds = one.values.delta(asked.epsilon)
            return width_bits(bounds), -float(bounds.upper)

        best = max(self.found, key=width)
        return Plan(max(width(best)[0], 0.0), 0.0, lambda: best.witness)
