"""Bounds from moments: one Renyi order, with mass at infinity, or several powers without (T180)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .balls import Ball, ball, larger, log
from .contour import Bounds, RenyiOrder, RenyiValues, moment_of, require, shared_nodes
from .divergences import DivergencesValues, bound_divergence, log_moment
from .document import TooMuch
from .losses import ComposedLoss
from .nodes import Rule


@dataclass(frozen=True)
class Moment:
    """Powers s outside of (0, 1) with weights of sum 1; low = u, high = v e^-eps, no tangents where one is 0."""

    powers: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    low: Fraction
    high: Fraction
    prec: int

    def evaluate(self, loss: ComposedLoss) -> Any:
        require(1 <= len(self.powers) == len(self.weights) <= 8 and sum(self.weights) == 1)
        require(all(not 0 < power < 1 for power in self.powers) and all(weight > 0 for weight in self.weights))
        require(self.low >= 0 and self.high >= 0)
        if len(self.powers) == 1 and self.powers[0] > 1:
            return self.one_order(loss, self.powers[0] - 1)
        return Several(self, [bound_divergence(loss, power) for power in self.powers], loss.infinity())

    def one_order(self, loss: ComposedLoss, exponent: Fraction) -> OneOrder:
        return OneOrder(RenyiOrder(exponent, self.low, self.high, (), self.prec), log_moment(loss, exponent),
                        loss.infinity())


@dataclass(frozen=True)
class NodeMoment(Moment):
    """nodes: a rule for each sampled Gaussian; or families: those of all laws, as of a line."""

    nodes: tuple[Rule, ...]
    families: tuple[Rule, ...]

    def evaluate(self, loss: ComposedLoss) -> Any:
        require(len(self.powers) == 1 and self.powers[0] > 1 and not (self.nodes and self.families))
        return super().evaluate(loss)

    def one_order(self, loss: ComposedLoss, exponent: Fraction) -> OneOrder:
        order = RenyiOrder(exponent, self.low, self.high, self.nodes, self.prec)
        if not self.families:
            return OneOrder(order, RenyiValues(order, loss).log_moment, loss.infinity())
        if not loss.has_transform:
            raise TooMuch("has rules of a law whose nodes this checker does not make")
        point, known = ball(exponent), [law for law, _ in loss.node_parts]
        size = log_moment(replace(loss, parts=tuple(part for part in loss.parts if part[0] not in known)), exponent)
        for nodes, (_, count) in zip(shared_nodes(loss, self.families), loss.node_parts, strict=True):
            size = size + log(moment_of(nodes, point)) * count
        return OneOrder(order, size.upper(), loss.infinity())


class OneOrder(RenyiValues):
    """Where log M(l) is bounded otherwise."""

    def __init__(self, order: RenyiOrder, size: Ball, infinity: Ball) -> None:  # those of the base sum it up themselves
        self.order, self.log_moment, self.infinity = order, size, infinity


@dataclass(frozen=True)
class Several:
    """The bounds of all powers."""

    witness: Moment
    sizes: list[Ball | None]
    infinity: Ball

    def enclose(self, epsilon: Fraction) -> Bounds:
        """From above by tangents, where there are any; from below the mass at infinity."""
        lower = larger(self.infinity, 0).lower()
        if not (self.witness.low and self.witness.high):
            return Bounds(lower, Ball(1), {"renyi": Ball(1)})
        found = DivergencesValues(self.witness, self.sizes).enclose(epsilon)
        return Bounds(lower, found.upper, found.budget)
