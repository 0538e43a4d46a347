"""The protocol of all planners: what an engine would give for a question, in what time, by which witness.

    plan = planner.plan(Asked(epsilon, bits=40.0, seconds=2.0, method="auto"))
    plan.bits, plan.seconds, plan.witness()         # promised, predicted, chosen when it is needed
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from verified_dp.core.kernel.witnesses import Witness
from verified_dp.search.answer import Answer

if TYPE_CHECKING:
    from verified_dp.search.estimates import Estimates

FEWEST_BITS = 8.0
"""No contour is planned for fewer."""
LATTICE_DIGITS = 4
"""What is asked of the lattice method where nobody says."""


@dataclass(frozen=True)
class Asked:
    """delta(epsilon) to a relative width of 2^-bits in so many seconds.

    method: "auto", or the one that is to be used. misses: how many plans of the planner have missed here before.
    """

    epsilon: Fraction
    bits: float
    seconds: float
    method: str
    misses: int = 0

    def fewer(self) -> Asked:
        """The same with a fifth fewer bits."""
        return replace(self, bits=0.8 * self.bits)


@dataclass(frozen=True)
class Plan:
    """What an evaluation should give and take: -log2 of the relative width (inf: delta itself), and seconds.

    limit: seconds after which the evaluation is given up.
    """

    bits: float
    seconds: float
    choose: Callable[[], Witness] = field(repr=False)
    limit: float = math.inf

    def witness(self) -> Witness:
        """The parameters; choosing them may take as long as planning."""
        return self.choose()


class Planner:
    """One engine's plans for one direction of a composition, made once where the engine applies to the loss.

    spare, least: bits asked beyond those wanted, and at least so many more after a miss. tries: plans that may miss.
    serves: whether one evaluation serves other eps, too. refines: whether a plan that promises less than is asked is no
    reason to stop.
    """

    spare: ClassVar[float] = 1.0
    least: ClassVar[float] = 4.0
    tries: ClassVar[int] = 12
    serves: ClassVar[bool] = False
    refines: ClassVar[bool] = False

    def __init__(self, model: Estimates) -> None:
        self.model, self.loss = model, model.loss

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """The planner; None where the engine does not apply."""
        return cls(model)

    def plan(self, asked: Asked) -> Plan | None:
        """The cheapest witness that should give the bits, or what the time allows; None where nothing is gained."""
        raise NotImplementedError

    def learn(self, plan: Plan, answer: Answer, seconds: float) -> None:
        """Note what a plan gave and took."""

    def within(self, asked: Asked, plan: Callable[[Asked], Plan | None]) -> Plan | None:
        """The plan with as many bits as fit into the time; None where these are few."""
        while True:
            found = plan(asked)
            if found is None or found.seconds <= asked.seconds:
                return found
            asked = asked.fewer()
            if asked.bits <= FEWEST_BITS:
                return None
