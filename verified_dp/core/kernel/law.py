"""What every law of a privacy loss offers: one step's L = log dP/dQ under P, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Protocol, Self

from flint import arb

from verified_dp.core.kernel.balls import upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, words

SWAPPED = {"remove": "add", "add": "remove", "symmetric": "symmetric"}
"""The order of the swapped pair (Q, P)."""


@dataclass(frozen=True)
class Listed:
    """(loss, P mass) of listed outcomes of one step; rest: bounds the P mass and the Q mass of all others."""

    atoms: list[tuple[arb, arb]]
    rest: arb


class PlainLaw(Protocol):
    """What a law offers where nothing closer is known of it, and what its values cost then.

    only_moments: whether nothing is known but bounds on its moments. listed_on_samples: whether its listed outcomes are
    all that a Poisson sample needs. atom_exponent: mu, where it is made of atoms and a uniform density by
    `enclose_spline` and its atoms have the tilted mass e^{-mu/2}; None where it has no such atoms.
    """

    only_moments: ClassVar[bool] = False
    listed_on_samples: ClassVar[bool] = False

    def in_order(self, order: str) -> Self:
        """The same step composed in another order: here of a law that is known in every order by the same numbers."""
        return replace(self, order=order)  # type: ignore[type-var]

    @property
    def atom_exponent(self) -> Fraction | None:
        """None known."""
        return None

    def enclose_spline(self) -> tuple[arb, arb, arb] | None:
        """(mu, atom, density): sqrt(PQ)-weights of two atoms at +-mu, and a uniform density between (T45)."""
        return None

    def enclose_masses(self, first: Fraction, gap: Fraction, many: int) -> list[arb] | None:
        """P masses at first, first + gap, ..., where no other losses lie between the first and the last (T221)."""
        return None

    def merged(self, count: int) -> tuple[Law, arb] | None:
        """(law, error): delta of `count` steps is off that of one step of the law by at most the error times it."""
        return None

    def bound_variation(self, tilt: arb) -> arb | None:
        """V with |M(c+iw)|, without the part of the law's atoms, at most V/w for every w > 0 (T220)."""
        return None

    def lists(self, reach: int) -> bool:
        """Whether `enclose_listed` lists outcomes so far."""
        return False

    def enclose_listed(self, reach: int) -> Listed | None:
        """The outcomes of a law of atoms; of noise on the integers those in [-reach, reach] (T192)."""
        return None

    def on_sample(self, probability: Fraction, order: str) -> Law | None:
        """On a Poisson sample, 0 < probability < 1: the law, where it is known more closely than any law's is."""
        return None

    def bound_log_moment(self: Law, exponent: arb) -> arb:
        """Bound log E[e^{l L}; L < inf], l > 0."""
        return upper_end(self.enclose_moment(exponent)).log()

    @proved_by("T126-exact-delta")
    def infinity_fraction(self: Law) -> Fraction | None:
        """P(L = inf) where it is known as a rational number: here where a ball of radius 0 holds it."""
        mass = self.enclose_infinity_mass()
        if not mass.is_exact():
            return None
        mantissa, exponent = mass.man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

    def rational_masses(self) -> Sequence[tuple[Fraction, Fraction]] | None:
        """(P, Q) of all outcomes where these are finitely many rational numbers."""
        return None

    def later_files(self, engine: str) -> tuple[str, ...]:
        """Modules besides its own that run where an engine of this module looks at it; alone: `kernel.composed`."""
        return ()

    def value_work(self, prec: int) -> int:
        """A few logarithms and error functions."""
        return VALUE * words(prec)

    def table_work(self, prec: int) -> int:
        """Nothing is made once."""
        return 0

    def table_reach(self, prec: int) -> Fraction | None:
        """Nothing is looked up."""
        return None

    def transform_work(self, prec: int) -> int:
        """One value of the transform: a sum over all atoms or integers."""
        return self.value_work(prec) + self.table_work(prec)

    def rule_work(self, prec: int) -> int:
        """What a rule takes once, beside that: as good as nothing."""
        return 0


class Law(PlainLaw, Protocol):
    """A frozen, hashable description with exact numbers; every method encloses at the current precision."""

    @property
    def order(self) -> str:
        """remove, add or symmetric."""

    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose H_{e^eps}(P || Q), the infinity mass included; any real eps, for every point of a ball."""

    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(L > x), Q(L > x)), the infinity mass in the first; for every point of a ball (T60).

        So H_{e^x}(P || Q) is the first minus e^x times the second. A jump inside the ball gives the union of its sides.
        """

    def enclose_density(self, x: arb) -> arb:
        """Enclose the density at x of the law of L under P, its atoms left out; e^{-x} times it is that under Q (T60).

        0 where L has no density. At a jump of the density inside the ball, the union of both sides.
        """

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """Enclose (loss, P mass) of each atom of the finite loss (a loss may occur twice); None: infinitely many."""

    def enclose_infinity_mass(self) -> arb:
        """Enclose P(L = inf)."""

    def enclose_largest_loss(self) -> arb | None:
        """Enclose the supremum of the finite loss; None where it is infinite."""

    def enclose_smallest_loss(self) -> arb | None:
        """Enclose the infimum of the loss under P; None where it is -inf."""

    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}; L < inf] for l > 0; its upper end is what Chernoff bounds need (it may be +inf)."""


class Unbounded:
    """What the laws share whose loss is finite and has no bound on either side."""

    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0."""
        return arb(0)

    def enclose_largest_loss(self) -> arb | None:
        """The loss is unbounded."""
        return None

    def enclose_smallest_loss(self) -> arb | None:
        """The loss is unbounded below."""
        return None
