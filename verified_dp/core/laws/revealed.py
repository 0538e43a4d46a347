"""One of several laws with nodes, with the same chances under P and Q, and which one is revealed (T166)."""

from __future__ import annotations

from typing import Protocol, TypeGuard, runtime_checkable

from flint import arb

from verified_dp.core.laws.fixed_batch import FixedBatchLoss
from verified_dp.core.laws.law import Law
from verified_dp.core.mixture_lines import MixtureLines


@runtime_checkable
class RevealedLines(Law, Protocol):
    """What such a law offers besides: the laws, none where some has no nodes, and their chances.

    least_count: from so many steps on the composed transform becomes small far out.
    """

    @property
    def alternatives(self) -> tuple[MixtureLines | FixedBatchLoss, ...]:
        """The laws; one of a batch without replacement comes after a mixture."""

    @property
    def least_count(self) -> int:
        """So many."""

    def enclose_shares(self) -> tuple[arb, ...]:
        """Enclose their chances."""


def is_revealed(law: object) -> TypeGuard[RevealedLines]:
    """Whether it is such a law."""
    return isinstance(law, RevealedLines) and bool(law.alternatives)
