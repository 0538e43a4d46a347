"""A composition as one law: the base of a Poisson sample from which several releases are made (T73)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.engines.exact import exact_infinity_mass
from verified_dp.core.engines.pieces import (
    count_pieces,
    enclose_atoms_exactly,
    enclose_density_exactly,
    enclose_exactly,
    enclose_tails_exactly,
)
from verified_dp.core.families.finite.atomic import Atom, AtomicLaw, FiniteLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED, Law, PlainLaw
from verified_dp.core.kernel.theorems import proved_by

MAX_PRODUCT = 4096
"""Outcomes of a product of finite laws that are listed one by one."""


@dataclass(frozen=True)
class ClosedFormLaw(PlainLaw):
    """The law of a composition of atoms and uniform pieces, few enough to be summed for every eps."""

    loss: ComposedLoss

    @staticmethod
    def covers(loss: ComposedLoss, work: int) -> bool:
        """Whether its hockey-stick is a sum of at most so many terms."""
        found = count_pieces(loss)
        return found is not None and found <= work

    @property
    def order(self) -> str:
        """That of the composition."""
        return self.loss.order

    def in_order(self, order: str) -> ClosedFormLaw:
        """The same releases in another order."""
        return ClosedFormLaw(self.loss.in_order(order))

    @proved_by("T73-sampled-composition")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose H_{e^eps} of the product of the pairs; any real eps."""
        largest = self.enclose_largest_loss()
        if largest is not None and epsilon >= largest:
            return self.enclose_infinity_mass()
        return enclose_exactly(self.loss, epsilon)

    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(S > x), Q(S > x)), the infinity mass in the first."""
        return enclose_tails_exactly(self.loss, x)

    def enclose_density(self, x: arb) -> arb:
        """Enclose the density of the continuous part of S under P."""
        return enclose_density_exactly(self.loss, x)

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """Enclose (loss, P mass) of the atoms of the finite part."""
        return enclose_atoms_exactly(self.loss)

    def enclose_infinity_mass(self) -> arb:
        """Enclose P(S = inf)."""
        return self.loss.enclose_infinity_mass()

    def enclose_largest_loss(self) -> arb | None:
        """Enclose the supremum of the finite part of S."""
        return self.loss.enclose_largest_loss()

    def enclose_smallest_loss(self) -> arb | None:
        """Enclose the infimum of S."""
        return self.loss.enclose_smallest_loss()

    @proved_by("T73-sampled-composition")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l S}; S < inf], the product of the steps' moments."""
        total = arb(1)
        for law, count in self.loss.parts:
            total *= law.enclose_moment(exponent) ** count
        return total

    @proved_by("T126-exact-delta", "T73-sampled-composition")
    def infinity_fraction(self) -> Fraction | None:
        """That of the composition."""
        return exact_infinity_mass(self.loss)


@dataclass(frozen=True)
class AtomicProduct(AtomicLaw):
    """The law of a composition of steps with finitely many outcomes each: again finitely many."""

    loss: ComposedLoss

    @property
    def order(self) -> str:  # type: ignore[override]
        """That of the composition."""
        return self.loss.order

    def in_order(self, order: str) -> AtomicProduct:
        """The same releases in another order."""
        return AtomicProduct(self.loss.in_order(order))

    @proved_by("T73-sampled-composition", "T45-pieces")
    def enclose_atoms(self) -> list[Atom]:
        """(w e^{x/2}, w e^{-x/2}) for a piece w at x; the infinite losses of P, and of Q, as one outcome each."""
        found = [(mass, mass * (-place).exp()) for place, mass in enclose_atoms_exactly(self.loss)]
        swapped = self.loss.in_order(SWAPPED[self.order])
        ends = [(self.loss.enclose_infinity_mass(), arb(0)), (arb(0), swapped.enclose_infinity_mass())]
        return [*found, *(end for end in ends if not (end[0] + end[1]).is_zero())]

    def enclose_losses(self) -> list[arb]:
        """The places of the pieces."""
        return [place for place, _ in enclose_atoms_exactly(self.loss)]

    @proved_by("T126-exact-delta", "T73-sampled-composition")
    def infinity_fraction(self) -> Fraction | None:
        """That of the composition."""
        return exact_infinity_mass(self.loss)


@proved_by("T73-sampled-composition")
def finite_product(parts: Sequence[tuple[Law, int]]) -> FiniteLoss | None:
    """The product of finite laws, outcomes of equal ratio put together; None where there are others or too many."""
    masses: list[tuple[Fraction, Fraction]] = [(Fraction(1), Fraction(1))]
    for law, count in parts:
        if not isinstance(law, FiniteLoss) or count > MAX_PRODUCT:
            return None
        for _ in range(count):
            if len(masses) * len(law.masses) > MAX_PRODUCT:
                return None
            masses = _merged((p * a, q * b) for p, q in masses for a, b in law.masses)
    return FiniteLoss(tuple(masses), "remove")


def _merged(masses: Iterable[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    found: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for p, q in masses:
        if p or q:
            ratio = p / q if q else None
            old = found.get(ratio, (Fraction(0), Fraction(0)))
            found[ratio] = (old[0] + p, old[1] + q)
    return list(found.values())


MAX_BASE_WORK = 200
"""Terms of a composition's closed form that is asked at every point of a lattice."""


@proved_by("T73-sampled-composition")
def enclosed_product(laws: Sequence[tuple[Law, int]]) -> Law | None:
    """The composition as one law, in the remove order; None where its closed form is too long, or there is none."""
    product = finite_product(laws)
    if product is not None:
        return product
    merged: dict[Law, int] = {}
    for law, count in laws:
        merged[law.in_order("remove")] = merged.get(law.in_order("remove"), 0) + count
    loss = ComposedLoss("remove", tuple(merged.items()), Fraction(0))
    if not ClosedFormLaw.covers(loss, MAX_BASE_WORK):
        return None
    return AtomicProduct(loss) if all(isinstance(law, AtomicLaw) for law, _ in loss.parts) else ClosedFormLaw(loss)
