"""What is known of an epoch of shuffled batches from below: an attack on one pair of data sets (T144)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.kernel.balls import ball, normal_tail
from verified_dp.core.kernel.theorems import proved_by

Corner = tuple[Fraction, Fraction, Fraction]
"""(C, q, p): of the test that some noisy sum exceeds C, q at least the false positives, p at most the true ones."""


@proved_by("T144-shuffled-epochs")
def masses_of(corners: Sequence[Corner]) -> list[tuple[Fraction, Fraction]]:
    """(P, Q) between neighbours on the line from (0, 0) over the corners (q, p) to (1, 1), by rising ratio."""
    line = [(Fraction(0), Fraction(0)), *((q, p) for _, q, p in corners), (Fraction(1), Fraction(1))]
    return [(p1 - p0, q1 - q0) for (q0, p0), (q1, p1) in pairwise(line)][::-1]


@proved_by("T144-shuffled-epochs")
def is_concave(corners: Sequence[Corner]) -> bool:
    """Whether the line rises and its slope falls at every corner."""
    masses = masses_of(corners)
    return all(q > 0 and p >= 0 for p, q in masses) and all(
        p1 * q0 > p0 * q1 for (p0, q0), (p1, q1) in pairwise(masses))


@dataclass(frozen=True)
class ShuffledEpoch:
    """`rounds` sums with noise s, in units of one contribution: one has the mean 2, or `other` (1; replaced: 0)."""

    noise_multiplier: Fraction
    rounds: int
    other: int

    @proved_by("T144-shuffled-epochs")
    def enclose_rates(self, threshold: Fraction) -> tuple[arb, arb]:
        """Enclose (q, p) = 1 - Phi((C - mean)/s) Phi(C/s)^{t-1} without the record and with it."""
        s, c = ball(self.noise_multiplier), ball(threshold)
        others = (self.rounds - 1) * (-normal_tail(c / s)).log1p()
        without, with_it = (-(others + (-normal_tail((c - mean) / s)).log1p()).expm1() for mean in (self.other, 2))
        return without, with_it

    @proved_by("T144-shuffled-epochs")
    def is_certain(self, corner: Corner) -> bool:
        """Whether the attack certainly has these rates, or better ones."""
        threshold, q, p = corner
        without, with_it = self.enclose_rates(threshold)
        return bool(without <= ball(q)) and bool(ball(p) <= with_it)


@proved_by("T144-shuffled-epochs")
def attack_loss(corners: Sequence[Corner], order: str) -> FiniteLoss:
    """The loss of the attack's pair; in the symmetric order, where either direction may be taken, P against Q."""
    return FiniteLoss(tuple(masses_of(corners)), "remove").in_order("add" if order == "add" else "remove")
