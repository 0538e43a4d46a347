"""Nothing to compute: past the largest possible loss delta is the infinity mass, exactly (T07)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, nothing, words


@proved_by("T07-ends")
def enclose_past_support(loss: ComposedLoss, epsilon: Fraction, prec: int = BOUND_BITS) -> Bounds:
    """delta(eps) is the infinity mass where eps is at least the largest finite loss; else at least that, at most 1."""
    with ctx.workprec(prec):
        infinity_mass = loss.enclose_infinity_mass()
        upper = upper_end(infinity_mass).min(arb(1)) if is_past_support(loss, epsilon) else arb(1)
        return Bounds(lower_end(infinity_mass).max(arb(0)), upper, {})


@proved_by("T07-ends")
def is_past_support(loss: ComposedLoss, epsilon: Fraction) -> bool:
    """Whether eps is certainly at least the largest finite loss."""
    exact = loss.largest_loss()
    if exact is not None:
        return epsilon >= exact
    largest = loss.enclose_largest_loss()
    return largest is not None and bool(ball(epsilon) >= largest)


@dataclass(frozen=True)
class SupportWitness:
    """prec: the bits of the comparison."""

    prec: int

    kind: ClassVar[str] = "support"
    method: ClassVar[str] = "closed-form"
    everywhere: ClassVar[bool] = True

    def applies(self, loss: ComposedLoss) -> bool:
        """To every loss."""
        return True

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> SupportValues:
        """Everything depends on eps."""
        return SupportValues(self, loss)

    def work(self, loss: ComposedLoss) -> Work:
        """Of the ends of all laws."""
        ends = 2 * sum(law.transform_work(self.prec) for law, _ in loss.direct_parts)
        return Work(8 * EXPONENTIAL * words(self.prec) + ends)


@dataclass(frozen=True)
class SupportValues:
    """A loss whose end is compared."""

    witness: SupportWitness
    loss: ComposedLoss

    def delta(self, epsilon: Fraction) -> Bounds:
        """P(S = inf) <= delta(eps) <= 1, both P(S = inf) past the largest loss."""
        return enclose_past_support(self.loss, epsilon, self.witness.prec)
