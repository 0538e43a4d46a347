"""Shuffled epochs: upper ends know nothing of the shuffle, lower ends are what an attack certainly sees (T144)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.reductions import Reading, ReadValues, Reduction
from verified_dp.core.families.batches.shuffled import Corner, ShuffledEpoch, attack_loss, is_concave
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Values, Witness
from verified_dp.core.kernel.work import EXPONENTIAL, words


@dataclass(frozen=True)
class ShuffledLoss(ComposedLoss):
    """A composition with shuffled epochs: their counts, and the part of mean_shift_squared that bounds theirs."""

    shuffled: tuple[tuple[ShuffledEpoch, int, Fraction], ...]

    def read(self, witness: Witness, values: Values) -> Values:
        """The pair bounds from above alone, and says nothing of other eps; an attack bounds from below."""
        return values if isinstance(witness, AttackWitness) else ReadValues(values, from_above)

    def equals_in_law(self, other: ComposedLoss) -> bool:
        """Never: attacks are not the same in both orders."""
        return False


def shuffled_epochs(loss: ComposedLoss) -> tuple[tuple[ShuffledEpoch, int, Fraction], ...]:
    """Those of a composition; none where it is another one."""
    return loss.shuffled if isinstance(loss, ShuffledLoss) else ()


@proved_by("T144-shuffled-epochs")
def from_above(bounds: Bounds, epsilon: Fraction) -> Bounds:
    """The upper end alone: of the pair that dominates shuffled epochs nothing holds from below."""
    return Bounds(arb(0), bounds.upper, bounds.budget, None, bounds.exact_upper)


@proved_by("T144-shuffled-epochs")
def from_below(bounds: Bounds, epsilon: Fraction) -> Bounds:
    """The lower end alone: of the attack's pair nothing holds from above."""
    return Bounds(bounds.lower, arb(1), bounds.budget, bounds.exact_lower, None)


@dataclass(frozen=True)
class AttackWitness(Reduction):
    """attacks: corners for each kind of shuffled epochs; inner: what encloses delta with the attacks in their place.

    Its lower ends are those of data sets of the relation.
    """

    attacks: tuple[tuple[Corner, ...], ...]
    inner: Witness

    kind: ClassVar[str] = "attack"
    method: ClassVar[str] = "attack"

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
    def reading(self, loss: ComposedLoss) -> Reading:
        """The lower end. Raises InvalidInput where a rate is not certain."""
        with ctx.workprec(_PREC):
            if not all(epoch.is_certain(corner) for (epoch, _, _), corners
                       in zip(shuffled_epochs(loss), self.attacks, strict=True) for corner in corners):
                raise InvalidInput("witness.attacks", None, "rates that the attacks certainly have")
        return from_below

    def own_units(self) -> int:
        """Of the rates."""
        return 8 * EXPONENTIAL * words(_PREC) * sum(map(len, self.attacks))


_PREC = 128
"""Bits of the attacks' rates."""
