"""Witnesses that make an easier loss of a loss, and read what an inner witness proves of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import Values, Witness
from verified_dp.core.kernel.work import Work, nothing

Reading = Callable[[Bounds, Fraction], Bounds]
"""From bounds on the delta of an easier loss at eps to bounds on delta."""


@dataclass(frozen=True)
class ReadValues:
    """Values of an easier loss, and how they are read."""

    values: Values
    reading: Reading

    def delta(self, epsilon: Fraction) -> Bounds:
        """What they say of delta."""
        return self.reading(self.values.delta(epsilon), epsilon)


class Reduction:
    """A witness that makes an easier loss of a loss, and reads what its inner witness proves of that."""

    inner: Witness

    @property
    def prec(self) -> int:
        """Those of the inner witness."""
        return self.inner.prec

    def applies(self, loss: ComposedLoss) -> bool:
        """As of every witness."""
        raise NotImplementedError

    def reduced(self, loss: ComposedLoss) -> ComposedLoss:
        """The easier loss, for a loss that the witness applies to."""
        raise NotImplementedError

    def reading(self, loss: ComposedLoss) -> Reading:
        """How its bounds are read. Raises InvalidInput where they cannot be."""
        raise NotImplementedError

    def own_units(self) -> int:
        """Units of work besides those of the inner witness."""
        raise NotImplementedError

    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> ReadValues:
        """The inner witness on the easier loss."""
        reading, left = self.reading(loss), self.reduced(loss)
        if not self.inner.applies(left):
            raise InvalidInput("witness.inner", self.inner.kind, "a witness that meets its side conditions")
        return ReadValues(self.inner.evaluate(left, between), reading)

    def work(self, loss: ComposedLoss) -> Work:
        """Of both; none where `evaluate` refuses at once."""
        if not self.applies(loss):
            return Work(0)
        inner = self.inner.work(self.reduced(loss))
        return Work(inner.units + self.own_units(), inner.memory)
