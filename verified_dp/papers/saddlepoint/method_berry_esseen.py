"""SP-CLT with its rigorous interval: Theorem 5 of the saddle-point accountant (Alghamdi et al.), at any tilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.bounds import Bounds
from verified_dp.core.errors import InconsistentEnclosures, InvalidInput
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.papers.paper import PaperAnswer
from verified_dp.papers.saddlepoint.bounds import check_constant, enclose_by_berry_esseen, has_equal_steps
from verified_dp.papers.saddlepoint.choose_moments import choose_tilts
from verified_dp.papers.saddlepoint.method import SaddleCurve, decimal
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.order import Budget


@dataclass(frozen=True)
class IntervalCurve:
    """delta by the normal approximation at one tilt or at the best of a few, with its error bound."""

    core: SaddleCurve
    tilt: Fraction | None
    constant: Fraction | None

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """The intersection of the intervals of the tilts that are tried; the estimate is that of the last tilt."""
        past = self.core.past_support(epsilon)
        if past is not None:
            return past
        tilts = self._tilts(epsilon)
        with ctx.workprec(64):
            table = self.core.table_at(float(tilts[-1]), 70.0)
            found = [enclose_by_berry_esseen(table, tilt, epsilon, self.constant) for tilt in tilts]
            bounds = intersect([one for one, _ in found])
        estimate = decimal(found[-1][1])
        constants = "structural (0.4690)" if has_equal_steps(self.core.loss) else "0.56"
        parameters = {"tilt": ", ".join(f"{float(tilt):.6g}" for tilt in tilts),
                      "constant": constants if self.constant is None else str(self.constant)}
        return PaperAnswer(bounds, estimate, "the normal approximation alone; the interval bounds its error",
                           parameters, {"SP-CLT": estimate})

    def _tilts(self, epsilon: Fraction) -> list[Fraction]:
        """The tilt that was asked for, or a few up to the saddle point."""
        if self.tilt is not None:
            return [self.tilt]
        saddle = dyadic(self.core.rough_saddle(epsilon), 52)
        return [*choose_tilts(self.core.model, as_float(epsilon), float(saddle))[:-1], saddle]


def intersect(candidates: Sequence[Bounds]) -> Bounds:
    """The intersection of enclosures of one number, with the budget of the narrowest."""
    lower, upper = arb(0), arb(1)
    for one in candidates:
        lower, upper = lower.max(one.lower), upper.min(one.upper)
    if lower > upper:
        raise InconsistentEnclosures("two tilts give disjoint enclosures of delta")
    narrowest = min(candidates, key=lambda one: float(one.upper - one.lower))
    return Bounds(lower, upper, narrowest.budget)


@dataclass(frozen=True)
class BerryEsseenAccountant:
    """tilt: any t > 0 (None: a few from the best Chernoff tilt to the saddle point). constant: C of Theorem 5.

    constant None: the best proved for these steps; a stated one may not be below that (the paper has 0.56).
    """

    tilt: Fraction | None = None
    constant: Fraction | None = None
    name: ClassVar[str] = "berry-esseen"

    def __post_init__(self) -> None:
        if self.tilt is not None and not self.tilt > 0:
            raise InvalidInput("berry-esseen.tilt", self.tilt, "positive")

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> IntervalCurve:
        """The interval near eps; its cost does not depend on the counts. Raises Unsupported."""
        check_constant(loss, self.constant)
        return IntervalCurve(SaddleCurve(loss, 4), self.tilt, self.constant)
