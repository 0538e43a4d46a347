"""What every law of a privacy loss offers: one step's L = log dP/dQ under P, in one order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, TypeGuard, runtime_checkable

from flint import acb, arb

from verified_dp.core.kernel.balls import upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, nothing, words

SWAPPED = {"remove": "add", "add": "remove", "symmetric": "symmetric"}
"""The order of the swapped pair (Q, P)."""


class Law(Protocol):
    """A frozen, hashable description with exact numbers; every method encloses at the current precision."""

    @property
    def order(self) -> str:
        """remove, add or symmetric."""

    def in_order(self, order: str) -> Law:
        """The same step composed in another order."""

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

    def bound_log_moment(self, exponent: arb) -> arb:
        """Bound log E[e^{l L}; L < inf], l > 0."""

    def value_work(self, prec: int) -> int:
        """Units (see `core.work`) of one value of the hockey-stick curve: about what was measured, or more."""

    def table_work(self, prec: int) -> int:
        """Units of what is made once."""

    def table_reach(self, prec: int) -> Fraction | None:
        """The largest size of a loss whose value needs nothing but the table; None: all do."""

    listed_on_samples: ClassVar[bool]
    """See `PlainLaw`; so for all that follow."""

    def on_sample(self, probability: Fraction, order: str) -> Law | None:
        """See there."""

    def enclose_spline(self) -> tuple[arb, arb, arb] | None:
        """See there."""

    @property
    def atom_exponent(self) -> Fraction | None:
        """See there."""

    def enclose_masses(self, first: Fraction, gap: Fraction, many: int) -> list[arb] | None:
        """See there."""

    def merged(self, count: int) -> tuple[Law, arb] | None:
        """See there."""

    def bound_variation(self, tilt: arb) -> arb | None:
        """See there."""

    def lists(self, reach: int) -> bool:
        """See there."""

    def enclose_listed(self, reach: int) -> Listed | None:
        """See there."""

    def infinity_fraction(self) -> Fraction | None:
        """See there."""

    def rational_masses(self) -> Sequence[tuple[Fraction, Fraction]] | None:
        """See there."""


@dataclass(frozen=True)
class Listed:
    """(loss, P mass) of listed outcomes of one step; rest: bounds the P mass and the Q mass of all others."""

    atoms: list[tuple[arb, arb]]
    rest: arb


class PlainLaw:
    """What a law offers where nothing closer is known of it, and what its values cost then.

    only_moments: whether nothing is known but bounds on its moments. listed_on_samples: whether its listed outcomes are
    all that a Poisson sample needs. atom_exponent: mu, where it is made of atoms and a uniform density by
    `enclose_spline` and its atoms have the tilted mass e^{-mu/2}; None where it has no such atoms.
    """

    only_moments: ClassVar[bool] = False
    listed_on_samples: ClassVar[bool] = False

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


class SameInEveryOrder(PlainLaw):
    """What the laws share whose pair is its own mirror image, or is known in both directions by the same numbers."""

    order: str

    def in_order(self, order: str) -> Self:
        """The same law in every order."""
        return replace(self, order=order)  # type: ignore[type-var]


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


@proved_by("T60-tails")
def enclose_distribution(law: Law, x: arb) -> arb:
    """Enclose P(L <= x), the distribution function of the loss; it stays below 1 by the infinity mass."""
    return 1 - law.enclose_tails(x)[0]


@runtime_checkable
class RationalEnd(Protocol):
    """A law whose largest finite loss is a known rational number."""

    def largest_loss(self) -> Fraction:
        """The supremum of the finite loss."""


class OnlyMoments(Law, Protocol):
    """A law known by bounds on its moments alone: log_moment is +inf beyond the stated orders."""

    def bound_relative_entropy(self) -> arb:
        """Bound E[L]."""


@runtime_checkable
class Itemised(Protocol):
    """A law whose curve has errors besides rounding."""

    def itemise_hockey_stick(self, epsilon: arb) -> tuple[arb, dict[str, arb]]:
        """A ball, and bounds by source of how far H_{e^eps} may be from it."""


def is_itemised(law: object) -> TypeGuard[Itemised]:
    """Whether it is."""
    return isinstance(law, Itemised)


@runtime_checkable
class DirectLaw(Law, Protocol):
    """A law whose transform is known in closed form: the contour needs no nodes for it.

    decays: whether |M| becomes smaller than M on the real axis by a fixed factor far out.
    """

    decays: ClassVar[bool]

    def transform_work(self, prec: int) -> int:
        """Units of one value of the transform."""

    def rule_work(self, prec: int) -> int:
        """Units of what all values share."""

    def enclose_transform(self, z: acb) -> acb:
        """Enclose M(z) = E[e^{zL}; L < inf] for Re z > 0; at every z where the finite loss has both ends."""

    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(tilt + iw)| for every w >= frequency > 0, tilt > 0; at 0 too where the loss has both ends."""


@dataclass(frozen=True)
class DiscreteRule:
    """A discrete measure in place of a law on one line: |M(c+iw) - sum_j weights_j e^{iw losses_j}| <= error."""

    losses: list[arb]
    weights: list[arb]
    error: arb


@runtime_checkable
class RuleLaw(DirectLaw, Protocol):
    """A law whose transform is a sum over nodes that are known beforehand, with one error for many frequencies.

    least_count: from so many steps on the composed transform becomes small far out, though the law has atoms.
    """

    @property
    def least_count(self) -> int:
        """The number of steps whose atoms alone keep at most 2^-20 of the mass."""

    def count_nodes(self, tilt: arb, frequency: arb) -> int:
        """How many nodes `enclose_rule` takes."""

    def enclose_rule(self, tilt: arb, frequency: arb, between: Callable[[], None] = nothing) -> DiscreteRule:
        """Enclose a rule that holds at tilt + iw for every |w| <= |frequency|."""


@runtime_checkable
class LineLaw(RuleLaw, Protocol):
    """A law whose rule is known on vertical lines right of 0 alone; its moments are bounded by a rule, too."""

    def bound_moment(self, exponent: arb) -> arb:
        """Bound E[e^{l L}] for l > 0, more closely than `enclose_moment` and in more time."""


_OFFERS: dict[tuple[type, Any], bool] = {}


def _offers(law: object, protocol: Any) -> bool:
    """isinstance, decided once for each type of law: protocols look at every name they state."""
    key = type(law), protocol
    if key not in _OFFERS:
        _OFFERS[key] = isinstance(law, protocol)
    return _OFFERS[key]


def is_direct(law: Law) -> TypeGuard[DirectLaw]:
    """Whether its transform is known in closed form."""
    return _offers(law, DirectLaw)


def is_ruled(law: Law) -> TypeGuard[RuleLaw]:
    """Whether its transform is a sum over nodes that are known beforehand."""
    return _offers(law, RuleLaw)


def is_on_lines(law: Law) -> TypeGuard[LineLaw]:
    """Whether its transform is known on vertical lines alone."""
    return _offers(law, LineLaw)


def has_rational_end(law: Law) -> TypeGuard[RationalEnd]:
    """Whether its largest finite loss is a known rational number."""
    return _offers(law, RationalEnd)


def has_only_moments(law: Law) -> TypeGuard[OnlyMoments]:
    """Whether nothing is known of it but bounds on its moments."""
    return getattr(law, "only_moments", False)


@runtime_checkable
class HasAtoms(Law, Protocol):
    """A law with finitely many outcomes."""

    @property
    def outcomes(self) -> int:
        """How many, or more."""

    def enclose_finite_atoms(self) -> list[tuple[arb, arb]]:
        """The masses under P and under Q of the outcomes with a finite loss and positive P mass."""

    def lattice(self) -> tuple[arb, list[int]] | None:
        """(step x, indices n): the i-th finite atom has loss n_i x; None where no such x is known."""


def is_atomic(law: Law) -> TypeGuard[HasAtoms]:
    """Whether it has finitely many outcomes."""
    return _offers(law, HasAtoms)
