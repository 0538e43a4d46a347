"""Shuffled epochs: upper ends know nothing of the shuffle, lower ends are what an attack certainly sees (T144)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.families.batches.shuffled import Corner, ShuffledEpoch, attack_loss, is_concave
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Values, Witness
from verified_dp.core.kernel.work import EXPONENTIAL, Work, nothing, words


@dataclass(frozen=True)
class ShuffledLoss(ComposedLoss):
    """A composition with shuffled epochs: their counts, and the part of mean_shift_squared that bounds theirs."""

    shuffled: tuple[tuple[ShuffledEpoch, int, Fraction], ...]

    def read(self, kind: str, values: Values) -> Values:
        """The pair bounds from above alone; an attack, from below."""
        return values if kind == AttackWitness.kind else FromAbove(values)

    def equals_in_law(self, other: ComposedLoss) -> bool:
        """Never: attacks are not the same in both orders."""
        return False


def shuffled_epochs(loss: ComposedLoss) -> tuple[tuple[ShuffledEpoch, int, Fraction], ...]:
    """Those of a composition; none where it is another one."""
    return loss.shuffled if isinstance(loss, ShuffledLoss) else ()


@dataclass(frozen=True)
class FromAbove:
    """Values of the pair that dominates shuffled epochs: nothing of them holds from below."""

    values: Values

    def delta(self, epsilon: Fraction) -> Bounds:
        """The upper end alone."""
        bounds = self.values.delta(epsilon)
        return Bounds(arb(0), bounds.upper, bounds.budget, None, bounds.exact_upper)


@dataclass(frozen=True)
class FromBelow:
    """Values of the attack's pair: nothing of them holds from above."""

    values: Values

    @proved_by("T144-shuffled-epochs")
    def delta(self, epsilon: Fraction) -> Bounds:
        """The lower end alone."""
        bounds = self.values.delta(epsilon)
        return Bounds(bounds.lower, arb(1), bounds.budget, bounds.exact_lower, None)


@dataclass(frozen=True)
class AttackWitness:
    """attacks: corners for each kind of shuffled epochs; inner: what encloses delta with the attacks in their place.

    Its lower ends are those of data sets of the relation.
    """

    attacks: tuple[tuple[Corner, ...], ...]
    inner: Witness

    kind: ClassVar[str] = "attack"
    method: ClassVar[str] = "attack"

    @property
    def prec(self) -> int:
        """Those of the inner witness."""
        return self.inner.prec

    def applies(self, loss: ComposedLoss) -> bool:
        """Whether there are shuffled epochs, an attack on each kind of them, and no attack inside."""
        matched = isinstance(loss, ShuffledLoss) and len(loss.shuffled) == len(self.attacks)
        return matched and not isinstance(self.inner, AttackWitness) and all(map(is_concave, self.attacks))

    @proved_by("T144-shuffled-epochs")
    def reduced(self, loss: ComposedLoss) -> ComposedLoss:
        """The loss with the attacks' pairs, after the other laws, in place of the Gaussians that dominate."""
        laws, shift, epochs = dict(loss.parts), loss.mean_shift_squared, shuffled_epochs(loss)
        for (_, count, part), corners in zip(epochs, self.attacks, strict=True):
            law = attack_loss(corners, loss.order)
            laws[law] = laws.get(law, 0) + count
            shift -= part
        return ComposedLoss(loss.order, tuple(laws.items()), shift)

    @proved_by("T144-shuffled-epochs")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> FromBelow:
        """The inner witness on the attacked loss. Raises InvalidInput where a rate is not certain."""
        with ctx.workprec(_PREC):
            if not all(epoch.is_certain(corner) for (epoch, _, _), corners
                       in zip(shuffled_epochs(loss), self.attacks, strict=True) for corner in corners):
                raise InvalidInput("witness.attacks", None, "rates that the attacks certainly have")
        lost = self.reduced(loss)
        if not self.inner.applies(lost):
            raise InvalidInput("witness.inner", self.inner.kind, "a witness that meets its side conditions")
        return FromBelow(self.inner.evaluate(lost, between))

    def work(self, loss: ComposedLoss) -> Work:
        """Of the rates, and of the inner witness; none where `evaluate` refuses at once."""
        if not self.applies(loss):
            return Work(0)
        inner = self.inner.work(self.reduced(loss))
        return Work(inner.units + 8 * EXPONENTIAL * words(_PREC) * sum(map(len, self.attacks)), inner.memory)


_PREC = 128
"""Bits of the attacks' rates."""
