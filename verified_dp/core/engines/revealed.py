"""Several laws with nodes, of which one holds and is known to hold, as one law with nodes (T166)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Protocol

from flint import acb, arb

from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule, NodeSet, enclose_nodes
from verified_dp.core.kernel.balls import upper_end
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by


class CurveNodes(Protocol):
    """The nodes of a law on a curve, as `NodeSet` offers them."""

    place: ClassVar[None]

    @property
    def losses(self) -> list[acb]:
        """Of all nodes."""

    def weights(self, z: acb) -> list[acb]:
        """Enclose their weights."""

    def line_error(self, tilt: arb, total: arb | None = None) -> tuple[arb, arb]:
        """Bound the quadrature error and the tails at every w >= 0."""

    def beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(tilt+iw)| for every w >= frequency."""


class CurveLaw(Law, Protocol):
    """A law whose rule is panels on a curve."""

    def enclose_panels(self, length: Fraction, panels: int, points: int, height: Fraction,
                       frequency: arb) -> CurveNodes:
        """Enclose the nodes of so many panels, for frequencies up to a bound."""


@dataclass(frozen=True)
class RevealedNodes:
    """The nodes of several laws, of which one holds and is known to hold, and their chances (T166)."""

    shares: tuple[arb, ...]
    parts: tuple[NodeSet | CurveNodes, ...]

    place: ClassVar[None] = None
    """They have no leader."""

    @cached_property
    def losses(self) -> list[acb]:
        """Of all."""
        return [loss for nodes in self.parts for loss in nodes.losses]

    @proved_by("T166-revealed-laws")
    def weights(self, z: acb) -> list[acb]:
        """Enclose W_j(z) times the chance of its law."""
        return [share * weight for share, nodes in zip(self.shares, self.parts, strict=True)
                for weight in nodes.weights(z)]

    @property
    def shift(self) -> arb:
        """Nothing."""
        return arb(0)

    @proved_by("T166-revealed-laws")
    def line_error(self, tilt: arb, total: arb | None = None) -> tuple[arb, arb]:
        """Both errors as of one law, averages of the laws' own."""
        errors = [nodes.line_error(tilt) for nodes in self.parts]
        return self._average(quadrature for quadrature, _ in errors), self._average(tails for _, tails in errors)

    @proved_by("T166-revealed-laws")
    def beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(tilt+iw)| for every w >= frequency, the average of the laws' bounds."""
        return self._average(nodes.beyond(tilt, frequency) for nodes in self.parts)

    @proved_by("T166-revealed-laws")
    def _average(self, values: Iterable[arb]) -> arb:
        return upper_end(sum((share * value for share, value in zip(self.shares, values, strict=True)), arb(0)))


@proved_by("T167-half-line")
def _enclose_one(law: MixtureLines | CurveLaw, rule: NodeRule, frequency: arb) -> NodeSet | CurveNodes:
    """Of a curve a rule is read as panels 1, ..., last of length `step` with `cells` points each, and ellipses."""
    if isinstance(law, MixtureLines):
        return enclose_nodes(law, rule)
    return law.enclose_panels(rule.step, rule.last if rule.first == 1 else 0, rule.cells, rule.height,
                              upper_end(frequency))


def enclose_revealed(shares: tuple[arb, ...], laws: Sequence[MixtureLines | CurveLaw], rules: Sequence[NodeRule],
                     frequency: arb) -> RevealedNodes:
    """Enclose the nodes of all laws, a rule for each, where they hold with these chances."""
    parts = (_enclose_one(law, rule, frequency) for law, rule in zip(laws, rules, strict=True))
    return RevealedNodes(shares, tuple(parts))
