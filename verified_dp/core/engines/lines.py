"""A composed loss as the engines on lines see it: which laws have nodes, how many rules these take, either order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard

from flint import arb, ctx

from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.rules import is_on_lines, is_ruled
from verified_dp.core.kernel.bounds import Bounds, reverse_bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED, Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Values
from verified_dp.core.kernel.work import nothing

if TYPE_CHECKING:
    from verified_dp.core.engines.nodes import NodeRule
    from verified_dp.core.engines.revealed import RevealedNodes


class RevealedLines(Law, Protocol):
    """One of several laws with nodes, with the same chances under P and Q, and which one is revealed (T166)."""

    @property
    def alternatives(self) -> tuple[Law, ...]:
        """The laws, none where some has no nodes; one on a curve comes after a mixture."""

    @property
    def least_count(self) -> int:
        """From so many steps on the composed transform becomes small far out."""

    def enclose_shares(self) -> tuple[arb, ...]:
        """Enclose their chances."""

    def enclose_revealed(self, rules: Sequence[NodeRule], frequency: arb) -> RevealedNodes:
        """Enclose the nodes of all, for frequencies up to a bound; rules: one for each."""


def has_nodes(law: object) -> TypeGuard[MixtureLines]:
    """Whether it is a mixture of Gaussians against another, whose transform is a sum over nodes."""
    return getattr(law, "nodes", False)


def is_revealed(law: Law) -> TypeGuard[RevealedLines]:
    """Whether it is one of several laws with nodes, and shows which (T166)."""
    return bool(getattr(law, "alternatives", ()))


Parts = tuple[tuple[MixtureLines, int], ...]
"""Laws with nodes, with their counts."""


class Lines:
    """The parts of a loss by how their transforms are known."""

    def __init__(self, loss: ComposedLoss) -> None:
        self._loss = loss
        self.node_parts: Parts = tuple((law, count) for law, count in loss.parts if has_nodes(law))
        """The parts whose transform is a sum over nodes."""
        self.revealed_parts: tuple[tuple[RevealedLines, int], ...] = tuple(
            (law, count) for law, count in loss.parts if is_revealed(law))
        """The parts that are one of several laws with nodes, and show which (T166)."""
        self.revealed_rules = sum(len(law.alternatives) for law, _ in self.revealed_parts)
        """How many rules these take, after those of the others: one for each of the several laws."""
        self.sampled_parts: tuple[tuple[Any, int], ...] = tuple(
            (law, count) for law, count in loss.parts if getattr(law, "moment_nodes", False))
        """The sampled Gaussians: the parts whose moments are taken from nodes."""

    @cached_property
    def families(self) -> tuple[Parts, ...]:
        """The parts with nodes, each with all later ones that share the loss of the first of them."""
        found: list[list[tuple[MixtureLines, int]]] = []
        shared: list[list[tuple[MixtureLines, int]]] = []
        for law, count in self.node_parts:
            family = next((parts for parts in shared if law.shares_loss(parts[0][0])), [])
            family.append((law, count))
            if len(family) == 1:
                found.append(family)
                shared += [family] * law.shares_loss(law)
        return tuple(map(tuple, found))

    def ruled(self, rules: int) -> tuple[Parts, ...]:
        """The parts with nodes, one by one where there are so many rules, else by the losses they share (T156)."""
        alone = rules - self.revealed_rules == len(self.node_parts)
        return tuple((part,) for part in self.node_parts) if alone else self.families

    def suits(self, rules: int) -> bool:
        """Whether there is a rule for each part with nodes, or for each family."""
        return rules - self.revealed_rules == len(self.ruled(rules))

    @cached_property
    def has_transform(self) -> bool:
        """Whether every part has a transform, by nodes or directly: what the contour needs."""
        known = sum(not is_on_lines(law) for law, _ in direct_parts(self._loss))
        return len(self.node_parts) + known == len(self._loss.parts) and not self._loss.only_moments

    @cached_property
    def has_line(self) -> bool:
        """Whether the transform is known on vertical lines."""
        known = len(self.node_parts) + len(direct_parts(self._loss)) + len(self.revealed_parts)
        return known == len(self._loss.parts) and not self._loss.only_moments

    @property
    def decays(self) -> bool:
        """Whether the transform falls off far out: a law that is spread out suffices, atoms alone do not."""
        spread = any(law.decays and count >= (law.least_count if is_ruled(law) else 1)
                     for law, count in direct_parts(self._loss))
        shown = any(count >= law.least_count for law, count in self.revealed_parts)
        return bool(self._loss.mean_shift_squared or self.node_parts) or shown or spread


def lines(loss: ComposedLoss) -> Lines:
    """What engines on lines see of a loss."""
    return loss.once(Lines)


@dataclass(frozen=True)
class ReversedValues:
    """delta of an order from the values of the swapped pair; prec: their bits."""

    swapped: Values
    prec: int

    @proved_by("T16-reversal")
    def delta(self, epsilon: Fraction) -> Bounds:
        """H_a(P || Q) from H_{1/a}(Q || P), a = e^eps."""
        with ctx.workprec(self.prec):
            return reverse_bounds(self.swapped.delta(-epsilon), epsilon)


class EitherOrder:
    """A witness whose tilt below -1 means its twin at -1 - tilt, for the swapped pair."""

    tilt: Fraction
    prec: int

    @property
    def _twin(self) -> Self:
        return replace(self, tilt=-1 - self.tilt)  # type: ignore[type-var]

    @abstractmethod
    def _evaluate(self, loss: ComposedLoss, between: Callable[[], None]) -> Values:
        """The values of a witness whose tilt is above -1."""

    @proved_by("T16-reversal")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> Values:
        """The values of this witness, or of its twin."""
        if self.tilt < -1:
            return ReversedValues(self._twin._evaluate(loss.in_order(SWAPPED[loss.order]), between), self.prec)
        return self._evaluate(loss, between)
