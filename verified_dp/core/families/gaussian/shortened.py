"""Mixtures of many components cut short: a few of them, and how far that may change delta (T166)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.reductions import Reading, Reduction
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Mixture
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Witness
from verified_dp.core.kernel.work import EXPONENTIAL, words

INNER = frozenset({"line", "marked", "rays", "moment", "node-moment", "exact"})
"""The kinds of witnesses that are asked of what is left."""


@proved_by("T166-revealed-laws")
def shortened_law(law: MixtureLoss, kept: int) -> tuple[MixtureLoss, Fraction, Fraction]:
    """The law of at most `kept` components of P and of Q, those nearest to each other; the weights that these lose."""
    above, lost = _renormalised(law.above[:kept])
    below, lost_below = _renormalised(law.below[-kept:])
    return replace(law, above=above, below=below), lost, lost_below


@proved_by("T166-revealed-laws")
def _renormalised(mixture: Mixture) -> tuple[Mixture, Fraction]:
    total = sum((weight for _, weight in mixture), Fraction(0))
    return tuple((mean, weight / total) for mean, weight in mixture), 1 - total


@dataclass(frozen=True)
class ShortenedWitness(Reduction):
    """kept: for each law how many components of its mixtures are kept, 2 at least, 0 where it stays.

    inner: the witness of what is left.
    """

    kept: tuple[int, ...]
    inner: Witness

    kind: ClassVar[str] = "shortened"
    method: ClassVar[str] = "contour"

    @proved_by("T166-revealed-laws")
    def applies(self, loss: ComposedLoss) -> bool:
        """Whether every law that is to be cut is a mixture of Gaussians, and the kind of the inner witness is known."""
        return self.inner.kind in INNER and len(self.kept) == len(loss.parts) and any(self.kept) and all(
            kept == 0 or (kept > 1 and isinstance(law, MixtureLoss))
            for kept, (law, _) in zip(self.kept, loss.parts, strict=True))

    @proved_by("T166-revealed-laws")
    def shortened(self, loss: ComposedLoss) -> tuple[ComposedLoss, arb, arb]:
        """What is left, and bounds of 1 - prod p_i^{k_i} and of 1 - prod q_i^{k_i}, the weights that are kept."""
        parts, above, below = list[tuple[Law, int]](), arb(0), arb(0)
        for kept, (law, count) in zip(self.kept, loss.parts, strict=True):
            if kept and isinstance(law, MixtureLoss):
                law, lost, lost_below = shortened_law(law, kept)
                above, below = above + count * (-ball(lost)).log1p(), below + count * (-ball(lost_below)).log1p()
            parts.append((law, count))
        return replace(loss, parts=tuple(parts)), upper_end(-above.expm1()), upper_end(-below.expm1())

    @proved_by("T166-revealed-laws")
    def reduced(self, loss: ComposedLoss) -> ComposedLoss:
        """What is left."""
        return self.shortened(loss)[0]

    @proved_by("T166-revealed-laws")
    def reading(self, loss: ComposedLoss) -> Reading:
        """How far the laws of P and of Q are from what is left."""
        with ctx.workprec(BOUND_BITS):
            _, above, below = self.shortened(loss)
        return partial(_widened, above, below, max(BOUND_BITS, self.prec))  # exact: integers

    def own_units(self) -> int:
        """Of the weights."""
        return EXPONENTIAL * words(BOUND_BITS) * len(self.kept)


@proved_by("T166-revealed-laws")
def _widened(above: arb, below: arb, prec: int, found: Bounds, epsilon: Fraction) -> Bounds:
    """|delta - delta'| <= above + e^eps below."""
    with ctx.workprec(BOUND_BITS):
        dropped = upper_end(above + ball(epsilon).exp() * below)
    with ctx.workprec(prec):
        lower, upper = lower_end(found.lower - dropped), upper_end(found.upper + dropped)
        return Bounds(lower.max(arb(0)), upper.min(arb(1)), {**found.budget, "dropped": dropped})
