"""What an (eps, delta) guarantee for one record gives for a group of records (T72)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.families.finite.atomic import Atom, AtomicLaw
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class GroupOddsLoss(AtomicLaw):
    """The pair of Kairouz, Oh and Viswanath for (g eps, d_g), d_g = delta (1 + e^eps + ... + e^{(g-1) eps}) < 1.

    epsilon, infinity_mass: eps and delta of one record; size: g.
    """

    epsilon: Fraction
    infinity_mass: Fraction
    size: int
    order: str = "symmetric"

    @proved_by("T72-groups")
    def enclose_mass(self) -> arb:
        """Enclose d_g, the infinity mass."""
        single, factor = ball(self.epsilon), arb(self.size)
        if self.epsilon:
            factor = (self.size * single).expm1() / single.expm1()
        return ball(self.infinity_mass) * factor

    @proved_by("T72-groups", "T56-approximate-dp")
    def enclose_atoms(self) -> list[Atom]:
        """Infinite, for, against, never."""
        odds, sure = ball(self.largest_loss()).exp(), self.enclose_mass()
        unit = (1 - sure) / (odds + 1)
        return [(sure, arb(0)), (unit * odds, unit), (unit, unit * odds), (arb(0), sure)]

    def enclose_losses(self) -> list[arb]:
        """g eps and its negative."""
        return [ball(self.largest_loss()), -ball(self.largest_loss())]

    @proved_by("T72-groups")
    def largest_loss(self) -> Fraction:
        """g eps."""
        return self.size * self.epsilon

    @proved_by("T47-enumeration")
    def lattice(self) -> tuple[arb, list[int]] | None:
        """Losses g eps and -g eps."""
        return ball(self.largest_loss()), [1, -1]

    @proved_by("T126-exact-delta", "T72-groups")
    def infinity_fraction(self) -> Fraction | None:
        """delta of every record, where no e^eps weighs them."""
        return None if self.epsilon and self.infinity_mass else self.size * self.infinity_mass
