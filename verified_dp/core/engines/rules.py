"""Laws whose transform is a sum over nodes that are known beforehand, and laws with finitely many outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeGuard, runtime_checkable

from flint import arb

from verified_dp.core.engines.direct import DirectLaw, offers
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.work import nothing


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


def is_ruled(law: Law) -> TypeGuard[RuleLaw]:
    """Whether its transform is a sum over nodes that are known beforehand."""
    return offers(law, RuleLaw)


def is_on_lines(law: Law) -> TypeGuard[LineLaw]:
    """Whether its transform is known on vertical lines alone."""
    return offers(law, LineLaw)


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
    return offers(law, HasAtoms)
