"""One order asked at many eps: what does not depend on eps is computed once for a whole stretch of them.

An evaluation's values give delta at any eps (`Answer.at`), sharp near the eps they were chosen for.
"""

from __future__ import annotations

from fractions import Fraction

from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.search.answer import Answer, width_bits
from verified_dp.search.line import as_float
from verified_dp.search.order import Budget, SingleOrder

MARGIN = 24.0
"""More bits than asked, so that an evaluation stays sharp over a longer stretch."""
MANY = 64
"""Evaluations that are kept."""


class Following(SingleOrder):
    """A `SingleOrder` that first asks the values it has. What it answers is proved as any answer is."""

    def __init__(self, loss: ComposedLoss) -> None:
        super().__init__(loss)
        self._kept: list[Answer] = []
        self._here: tuple[Fraction, list[Answer]] | None = None  # the eps asked last, and what is kept at it

    def enclose(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        """As `SingleOrder.enclose`."""
        found = self.kept(epsilon, bits, method)
        return self._afresh(epsilon, bits, method, budget) if found is None else found

    def quick_upper(self, epsilon: Fraction) -> Answer:
        """As `SingleOrder.quick_upper`, from an evaluation that serves the next questions too."""
        near = self.kept(epsilon, 1.0, "auto")
        return self._afresh(epsilon, 8.0, "auto", Budget(None)) if near is None else near

    def log_estimate(self, epsilon: Fraction) -> float:
        """As `SingleOrder.log_estimate`: what is proved where something is."""
        near = self.kept(epsilon, 1.0, "auto") if epsilon else None
        if near is None or not near.bounds.upper > 0:
            return super().log_estimate(epsilon)
        return float(near.bounds.upper.log())

    def _afresh(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        smooth = self.has_contour and not self.loss.direct_parts
        answer = super().enclose(epsilon, bits + MARGIN if smooth else bits, method, budget)
        if all(one.values is not None for _, one in answer.by_side()):
            self._kept, self._here = [*self._kept[-MANY + 1:], answer], None
        return answer

    def kept(self, epsilon: Fraction, bits: float, method: str) -> Answer | None:
        """The first kept evaluation that is sharp enough here, of the nearest ones."""
        if self._here is None or self._here[0] != epsilon:
            self._here = epsilon, []
        nearest, known = list[Answer](), self._here[1]
        for i in range(2):
            if i == len(known):
                nearest = nearest or self._nearest(epsilon)
                if i == len(nearest):
                    break
                known.append(nearest[i].at(epsilon))
            if method in ("auto", known[i].method) and width_bits(known[i].bounds) >= bits:
                return known[i]
        return None

    def _nearest(self, epsilon: Fraction) -> list[Answer]:
        """What is kept, the nearest first."""
        if len(self._kept) < 2:
            return self._kept
        at = as_float(epsilon)
        return sorted(self._kept, key=lambda one: abs(as_float(one.epsilon) - at))
