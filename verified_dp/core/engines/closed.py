"""Closed forms: plain Gaussian steps, a single step of any law, binomial sums, steps of atoms and uniform pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.binomial import (
    count_terms,
    enclose_binomial,
    enclose_trinomial,
    is_binomial,
    is_trinomial,
    reach_of,
)
from verified_dp.core.engines.pieces import (
    MAX_EASY_WORK,
    MAX_WORK,
    atoms_matter,
    count_pieces,
    enclose_exactly,
    spare_bits,
)
from verified_dp.core.engines.truncated import enclose_truncated, is_truncated
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import is_itemised
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, VALUE, Work, nothing, words


def has_closed_form(loss: ComposedLoss) -> bool:
    """Gaussian steps alone, one step of any law alone, or few enough steps made of atoms and uniform pieces."""
    sums = is_binomial(loss) or is_trinomial(loss)
    return not loss.parts or is_single(loss) or sums or is_exact(loss) or is_truncated(loss)


def is_quick(loss: ComposedLoss) -> bool:
    """Whether the closed form takes no time: no sum, or a short one."""
    return not loss.parts or is_single(loss) or is_easy(loss) or is_binomial(loss) or is_trinomial(loss)


def is_easy(loss: ComposedLoss) -> bool:
    """Whether the sum over all pieces is short."""
    work = count_pieces(loss)
    return work is not None and work <= MAX_EASY_WORK


def _is_long_trinomial(loss: ComposedLoss) -> bool:
    """Whether sums for three losses take the place of that over all pieces."""
    return is_trinomial(loss) and not is_easy(loss)


def is_single(loss: ComposedLoss) -> bool:
    """One step of one law whose curve is known, nothing else."""
    alone = len(loss.parts) == 1 and loss.parts[0][1] == 1 and not loss.mean_shift_squared
    return alone and not loss.only_moments


def is_exact(loss: ComposedLoss) -> bool:
    """Whether the composition of pieces is a sum of few enough terms: very few where the contour is good."""
    work = count_pieces(loss)
    return work is not None and work <= (MAX_WORK if atoms_matter(loss) else MAX_EASY_WORK)


def way(loss: ComposedLoss) -> Callable[[ComposedLoss, arb], arb]:
    """The closed form of a loss that has one."""
    if not loss.parts or is_single(loss):
        return ComposedLoss.enclose_alone
    if is_binomial(loss):
        return enclose_binomial
    if _is_long_trinomial(loss):
        return enclose_trinomial
    return enclose_exactly if is_exact(loss) else enclose_truncated


@dataclass(frozen=True)
class ClosedFormWitness:
    """Nothing to choose but the bits."""

    prec: int

    kind: ClassVar[str] = "closed-form"
    method: ClassVar[str] = "closed-form"

    def applies(self, loss: ComposedLoss) -> bool:
        """Whether there is one."""
        return not loss.only_moments and has_closed_form(loss)

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> ClosedFormValues:
        """Everything depends on eps."""
        return ClosedFormValues(self, loss)

    def file_of(self, loss: ComposedLoss) -> str:
        """The module of the closed form."""
        return way(loss).__module__

    def work(self, loss: ComposedLoss) -> Work:
        """Of one value of a law, or of all pieces."""
        own = 8 * EXPONENTIAL * words(self.prec)
        if not loss.parts:
            return Work(own + VALUE * words(self.prec))
        if is_single(loss):
            law = loss.parts[0][0]
            return Work(own + law.value_work(self.prec) + law.table_work(self.prec))
        if is_binomial(loss):
            return Work(own + 2 * _PIECE * count_terms(loss.parts[0][1], self.prec) * words(self.prec))
        if _is_long_trinomial(loss):
            return Work(own + 12 * _PIECE * reach_of(loss.parts[0][1], self.prec + 100) * words(self.prec))
        return Work(own + _PIECE * (count_pieces(loss) or MAX_WORK) * words(self.prec + spare_bits(loss)))


@dataclass(frozen=True)
class ClosedFormValues:
    """A loss whose every delta is a sum of few terms."""

    witness: ClosedFormWitness
    loss: ComposedLoss

    @proved_by("T33-sum-and-errors")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps); the only error is rounding, but for a single law that is an integral itself."""
        with ctx.workprec(self.witness.prec):
            return bounds_from_sum(*self._terms(ball(epsilon)), {})

    @cached_property
    @proved_by("T33-sum-and-errors")
    def _terms(self) -> Callable[[arb], tuple[arb, dict[str, arb]]]:
        """A ball for delta, and the errors beside it."""
        law, found = self.loss.parts[0][0] if is_single(self.loss) else None, way(self.loss)
        return law.itemise_hockey_stick if is_itemised(law) else lambda epsilon: (found(self.loss, epsilon), {})


_PIECE = 60
"""Units that one term of a sum of pieces takes."""
