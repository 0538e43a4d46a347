"""Closed forms: Gaussian steps, a single step of any law, sums over atoms and pieces, and two steps by an integral."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import ModuleType
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, VALUE, Work, nothing, words

Terms = Callable[[arb], tuple[arb, dict[str, arb]]]
"""From eps to a ball, and bounds by source of how far H_{e^eps} may be from it."""


def has_closed_form(loss: ComposedLoss) -> bool:
    """Gaussian steps alone, one step of any law alone, or few enough steps made of atoms and uniform pieces."""
    return is_plain(loss) or _sums().is_sum(loss)


def is_quick(loss: ComposedLoss) -> bool:
    """Whether the closed form takes no time: no sum, or a short one."""
    return is_plain(loss) or _sums().is_quick(loss)


def is_plain(loss: ComposedLoss) -> bool:
    """Whether nothing is summed."""
    return not loss.parts or is_single(loss)


def is_single(loss: ComposedLoss) -> bool:
    """One step of one law whose curve is known, nothing else."""
    alone = len(loss.parts) == 1 and loss.parts[0][1] == 1 and not loss.mean_shift_squared
    return alone and not loss.only_moments


def way(loss: ComposedLoss) -> Callable[[ComposedLoss, arb], arb]:
    """The closed form of a loss that has one, or the integral."""
    if is_plain(loss):
        return ComposedLoss.enclose_alone
    return _two_steps().enclose_two if is_integral(loss) else _sums().way(loss)


def is_integral(loss: ComposedLoss) -> bool:
    """Whether it is of two equal steps, and an integral (T227)."""
    return len(loss.parts) == 1 and loss.parts[0][1] == 2 and bool(_two_steps().ramps_of(loss))


def _two_steps() -> ModuleType:
    from verified_dp.core.engines import two_steps  # for losses of two steps alone

    return two_steps


def _sums() -> ModuleType:
    from verified_dp.core.engines import sums  # for losses of several steps alone

    return sums


@dataclass(frozen=True)
class ClosedFormWitness:
    """Nothing to choose but the bits."""

    prec: int

    kind: ClassVar[str] = "closed-form"
    method: ClassVar[str] = "closed-form"

    def applies(self, loss: ComposedLoss) -> bool:
        """Whether there is one."""
        return not loss.only_moments and (is_integral(loss) or has_closed_form(loss))

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
        return Work(own + (_two_steps() if is_integral(loss) else _sums()).units(loss, self.prec))


@dataclass(frozen=True)
class ClosedFormValues:
    """A loss whose every delta is a sum of few terms."""

    witness: ClosedFormWitness
    loss: ComposedLoss

    @proved_by("T33-sum-and-errors")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps); the only error is rounding, but for a single law that is an integral itself."""
        with ctx.workprec(self.witness.prec + self._spare):
            return bounds_from_sum(*self._terms(ball(epsilon)), {})

    @cached_property
    def _spare(self) -> int:
        """Bits beyond those that an integral is wanted to."""
        found: int = _two_steps().spare_bits(self.loss) if is_integral(self.loss) else 0
        return found

    @cached_property
    @proved_by("T33-sum-and-errors")
    def _terms(self) -> Terms:
        """A ball for delta, and the errors beside it."""
        law, found = self.loss.parts[0][0] if is_single(self.loss) else None, way(self.loss)
        terms: Terms = getattr(law, "itemise_hockey_stick", lambda epsilon: (found(self.loss, epsilon), {}))
        return terms
