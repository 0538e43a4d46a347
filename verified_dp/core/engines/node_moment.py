"""Upper bounds on delta from one moment, of which some steps' are sums over nodes (T180, T09)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from types import MappingProxyType
from typing import ClassVar

from flint import acb, arb

from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.engines.lines import has_nodes, is_revealed, lines
from verified_dp.core.engines.moment import MomentWitness, bound_log_moments
from verified_dp.core.engines.nodes import (
    NodeRule,
    count_all_nodes,
    enclose_families,
    enclose_nodes,
    work_of_nodes,
)
from verified_dp.core.kernel.balls import upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, words


def work_of_moment(loss: ComposedLoss, rules: Sequence[NodeRule], prec: int) -> Work:
    """Of E[e^{l S}] at one l."""
    nodes, direct = count_all_nodes(loss, rules), 2 * sum(law.transform_work(prec) + law.rule_work(prec)
                                                          for law, _ in direct_parts(loss))
    direct += sum(law.value_work(prec) for law, _ in loss.parts if law.only_moments)
    return Work(2 * EXPONENTIAL * work_of_nodes(loss, rules) * words(prec) + direct, 2 * nodes * entry_bytes(prec))


@dataclass(frozen=True)
class NodeMomentWitness(MomentWitness):
    """One power above 1; nodes: a rule for each sampled Gaussian, or families: those of all laws as a line has them.

    One of both lists is empty.
    """

    nodes: tuple[NodeRule, ...] = ()
    families: tuple[NodeRule, ...] = ()

    kind: ClassVar[str] = "node-moment"

    @proved_by("T180-moment", "T09-total-mass")
    def applies(self, loss: ComposedLoss) -> bool:
        """Whether there is a rule for each law that takes one."""
        seen = lines(loss)
        suited = seen.suits(len(self.families)) if self.families else len(self.nodes) == len(seen.sampled_parts)
        return self.is_one_order and suited and not (self.nodes and self.families) and super().applies(loss)

    @proved_by("T180-moment", "T09-total-mass")
    def _bound_steps(self, loss: ComposedLoss, exponent: arb, between: Callable[[], None] = nothing) -> arb:
        """Bound log M(l): sums over the nodes with their errors, and what all other laws say of theirs."""
        if self.families:
            sets = list(chain(*enclose_families(loss, self.families, between)))
            rest = [part for part in loss.parts if not (has_nodes(part[0]) or is_revealed(part[0]))]
        else:
            sampled = lines(loss).sampled_parts
            sets = [(enclose_nodes(law, rule), count)
                    for (law, count), rule in paced(zip(sampled, self.nodes, strict=True), between)]
            known = {law for law, _ in sampled}
            rest = [part for part in loss.parts if part[0] not in known]
        size = bound_log_moments(rest, exponent, between)
        for nodes, count in paced(sets, between):
            total = sum(nodes.weights(acb(exponent)), acb(0))
            quadrature, tails = nodes.line_error(exponent, upper_end(total.abs_upper()))
            size += count * (upper_end(total.real) + quadrature + tails).log()
        return size

    def work(self, loss: ComposedLoss) -> Work:
        """Of the moment."""
        return work_of_moment(loss, self.families or self.nodes, self.prec)


@dataclass(frozen=True)
class EarlierRenyi:
    """One order: l > 0, and a rule for each sampled Gaussian; high = 0 without tangents."""

    exponent: Fraction
    low: Fraction
    high: Fraction
    nodes: tuple[NodeRule, ...]
    prec: int

    kind: ClassVar[str] = "renyi"
    method: ClassVar[str] = "renyi"
    sources: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def now(self) -> MomentWitness:
        """The power l + 1 alone."""
        return moment_witness(self.exponent, self.low, self.high, self.prec, nodes=self.nodes)


@dataclass(frozen=True)
class EarlierChernoff:
    """C(l) M(l) e^{-l eps}, with rules as a line has them."""

    exponent: Fraction
    nodes: tuple[NodeRule, ...]
    prec: int

    kind: ClassVar[str] = "chernoff"
    method: ClassVar[str] = "contour"
    sources: ClassVar[Mapping[str, str]] = MappingProxyType({"chernoff": "renyi"})

    def now(self) -> MomentWitness:
        """The power l + 1 alone, without tangents."""
        return moment_witness(self.exponent, Fraction(0), Fraction(0), self.prec, families=self.nodes)


def moment_witness(exponent: Fraction, low: Fraction, high: Fraction, prec: int, nodes: tuple[NodeRule, ...] = (),
                   families: tuple[NodeRule, ...] = ()) -> MomentWitness:
    """One order l + 1, with whatever rules there are."""
    rest = (exponent + 1,), (Fraction(1),), low, high, prec
    return NodeMomentWitness(*rest, nodes, families) if nodes or families else MomentWitness(*rest)
