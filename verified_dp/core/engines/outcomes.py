"""Lines of listed outcomes as earlier certificates state them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.witnesses import Values
from verified_dp.core.kernel.work import Work, nothing


@dataclass(frozen=True)
class OutcomesWitness:
    """A line of laws that are all listed, none of its nodes."""

    tilt: Fraction
    step: Fraction
    count: int
    reaches: tuple[int, ...]
    cover: tuple[tuple[int, int], ...]
    right: Fraction
    left: Fraction
    prec: int

    kind: ClassVar[str] = "outcomes"
    method: ClassVar[str] = "contour"

    def now(self) -> LineWitness:
        """The line that makes the same statement."""
        return LineWitness(self.tilt, self.step, self.count, (), (), self.right, self.left, self.prec, self.reaches,
                           self.cover)

    def applies(self, loss: ComposedLoss) -> bool:
        """As of the line."""
        return self.now().applies(loss)

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> Values:
        """As of the line."""
        return self.now().evaluate(loss, between)

    def work(self, loss: ComposedLoss) -> Work:
        """As of the line."""
        return self.now().work(loss)
