"""What every law of a privacy loss offers: one step's L = log dP/dQ under P, in one order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, TypeGuard, runtime_checkable

from flint import acb, arb

from verified_dp.core.theorems import proved_by
from verified_dp.core.work import VALUE, nothing, words

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

    def value_work(self, prec: int) -> int:
        """Units (see `core.work`) of one value of the hockey-stick curve: about what was measured, or more."""

    def table_work(self, prec: int) -> int:
        """Units of what is made once."""

    def table_reach(self, prec: int) -> Fraction | None:
        """The largest size of a loss whose value needs nothing but the table; None: all do."""


class Priced:
    """What values cost where nothing else is known."""

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


class SameInEveryOrder(Priced):
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
        """Enclose M(z) = E[e^{zL}; L < inf] for Re z > 0."""

    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(tilt + iw)| for every w >= frequency > 0, tilt > 0."""


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
        """The number of steps whose atoms alone keep at most 2^-32 of the mass."""

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
