"""Laws with finitely many outcomes."""

from __future__ import annotations

from typing import Protocol, TypeGuard, runtime_checkable

from flint import arb

from verified_dp.core.engines.direct import offers
from verified_dp.core.kernel.law import Law


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
