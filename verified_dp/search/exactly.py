"""Answers that need no search: where delta is a rational number, and where the finite losses end (T126, T127)."""

from __future__ import annotations

from fractions import Fraction

from flint import ctx

from verified_dp.core.engines.exact import ExactWitness, exact_infinity_mass, largest_loss
from verified_dp.core.kernel.balls import lower_dyadic, upper_dyadic
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.ends import End, end_of
from verified_dp.search.answer import Answer
from verified_dp.search.one_direction import OneDirection

FAR_OUT = Fraction(2**43)
"""Where a delta that never falls to the target is shown above it."""
_SPARE = 64

Pair = tuple[Answer | None, Answer | None]
"""delta(x) > target for every x below the first one's eps, delta <= target at the second one's."""


def enclose_end(loss: ComposedLoss) -> tuple[End, End] | None:
    """Ends around the largest finite loss; None where there is none, or it is not known."""
    known = largest_loss(loss)
    if known is not None:
        return end_of(known), end_of(known)
    largest = None if loss.only_moments else loss.enclose_largest_loss()
    if largest is None or not largest.is_finite():
        return None
    return lower_dyadic(largest), upper_dyadic(largest)


def past_answer(order: OneDirection) -> Answer | None:
    """delta at or just above the largest finite loss, or at 0 where that is negative: it falls no further."""
    end = enclose_end(order.loss)
    if end is None:
        return None
    where = end[1].as_fraction() if end[1] > 0 else Fraction(0)
    return order.evaluate(where, ExactWitness(ctx.prec + _SPARE))


def pair_at_end(order: OneDirection, target: Fraction) -> Pair | None:
    """Where the target is the infinity mass, as for the pure epsilon: from the largest loss on, or never."""
    loss = order.loss
    if loss.only_moments or target == 1 or exact_infinity_mass(loss) != target:
        return None
    end, witness = enclose_end(loss), ExactWitness(ctx.prec + _SPARE)
    if end is None and loss.enclose_largest_loss() is None:
        return order.evaluate(FAR_OUT, witness), None
    past = past_answer(order) or order.exactly(Fraction(0))
    if end is None or not end[0] > 0:
        return None if past is None else (None, past)
    return order.evaluate(end[0].as_fraction(), witness), past
