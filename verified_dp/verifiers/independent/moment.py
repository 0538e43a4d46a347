"""Bounds from moments: one Renyi order, with mass at infinity, or several powers without (CERTIFICATE.md; T180)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .balls import Ball, Number, ball, exp, expm1, larger, log, smaller
from .contour import Bounds, chernoff_factor, not_covered, require, shared_nodes
from .losses import SWAPPED, ComposedLoss
from .nodes import Nodes, Rule


@dataclass(frozen=True)
class Moment:
    """Powers s outside of (0, 1) with weights of sum 1; low = u, high = v e^-eps, no tangents where one is 0."""

    powers: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    low: Fraction
    high: Fraction
    prec: int

    def evaluate(self, loss: ComposedLoss) -> MomentValues:
        return self.by_rules(loss, (), ())

    def by_rules(self, loss: ComposedLoss, nodes: Sequence[Rule], families: Sequence[Rule],
                 source: str = "renyi") -> MomentValues:
        """nodes: a rule for each sampled Gaussian; families: those of all laws, as of a line."""
        require(1 <= len(self.powers) == len(self.weights) <= 8 and sum(self.weights) == 1)
        require(all(not 0 < power < 1 for power in self.powers) and all(weight > 0 for weight in self.weights))
        require(self.low >= 0 and self.high >= 0)
        if len(self.powers) > 1 or self.powers[0] <= 1:
            require(not nodes and not families)
            sizes = [_divergence(loss, power) for power in self.powers]
            return MomentValues(self, sizes, None, loss.infinity(), source)
        order = ball(self.powers[0] - 1)
        not_covered(bool(families) and not loss.has_transform)
        known = loss.node_parts if families else loss.sampled_parts if nodes else []
        require(len(nodes) in (0, len(loss.sampled_parts)))
        found = shared_nodes(loss, families) if families else [
            Nodes(law, rule) for (law, _), rule in zip(known, nodes, strict=True)]
        size = loss.log_moment(order, {law: log(one.mass(order)) for (law, _), one in zip(known, found, strict=True)})
        return MomentValues(self, [expm1(size) / (order * (order + 1))], size, loss.infinity(), source)


@dataclass(frozen=True)
class NodeMoment(Moment):
    """One power above 1, and rules."""

    nodes: tuple[Rule, ...]
    families: tuple[Rule, ...]

    def evaluate(self, loss: ComposedLoss) -> MomentValues:
        require(not (self.nodes and self.families))
        return self.by_rules(loss, self.nodes, self.families)


@dataclass(frozen=True)
class EarlierRenyi:
    """One power l + 1."""

    exponent: Fraction
    low: Fraction
    high: Fraction
    nodes: tuple[Rule, ...]
    prec: int

    def evaluate(self, loss: ComposedLoss) -> MomentValues:
        return one_order(self.exponent, self.prec, self.low, self.high).by_rules(loss, self.nodes, ())


@dataclass(frozen=True)
class EarlierChernoff:
    """One power l + 1, no tangents, the rules of a line."""

    exponent: Fraction
    nodes: tuple[Rule, ...]
    prec: int

    def evaluate(self, loss: ComposedLoss) -> MomentValues:
        return one_order(self.exponent, self.prec).by_rules(loss, (), self.nodes, "chernoff")


def one_order(exponent: Fraction, prec: int, low: Fraction = Fraction(0), high: Fraction = Fraction(0)) -> Moment:
    return Moment((1 + exponent,), (Fraction(1),), low, high, prec)


def _divergence(loss: ComposedLoss, power: Fraction) -> Ball | None:
    """B: at least (int p^s q^{1-s} - 1) / (s (s-1)), or the relative entropy; None where that may be infinite."""
    directed, exponent = (loss, power - 1) if power >= 1 else (loss.in_order(SWAPPED[loss.order]), -power)
    if not directed.infinity().is_zero():
        return None
    if exponent:
        return (expm1(directed.log_moment(exponent)) / ball(exponent * (exponent + 1))).upper()
    size = ball(loss.mean_shift_squared / 2)
    for law, count in directed.parts:
        if not law.only_moments:
            return None
        size = size + ball(law.entropy()) * count
    return size.upper()


def _rise(power: Fraction, low: Number, high: Ball) -> Ball:
    """(v^s - u^s) / s, for s = 0 log(v/u)."""
    if not power:
        return log(high) - log(low)
    return (exp(log(high) * power) - exp(log(low) * power)) / ball(power)


@dataclass(frozen=True)
class MomentValues:
    """B of every power; of one power above 1 also log M(l); P(S = inf); the name of the error."""

    witness: Moment
    sizes: list[Ball | None]
    log_moment: Ball | None
    infinity: Ball
    source: str

    def enclose(self, epsilon: Fraction) -> Bounds:
        """The tangents; of one power above 1 P(S = inf) and the lesser of them and C(l) M(l) e^{-l eps} (T03)."""
        found, added = self._tangents(epsilon), Ball(0)
        if self.log_moment is not None:
            order, added = ball(self.witness.powers[0] - 1), self.infinity
            found = smaller(found, (exp(self.log_moment - order * epsilon) * chernoff_factor(order)).upper())
        return Bounds(larger(self.infinity, 0).lower(), smaller((added + found).upper(), 1), {self.source: found})

    def _tangents(self, epsilon: Fraction) -> Ball:
        """sum w (B - (u^{s-1} - 1)/(s-1) + (u^s - 1)/s) / R_{s-1} if sum w R_s / R_{s-1} <= e^eps; else 1."""
        one, a = Ball(1), exp(ball(epsilon))
        u, v = ball(self.witness.low), ball(self.witness.high) * a
        if not (u > 0 and u < v):
            return one
        bound, crossing = Ball(0), Ball(0)
        for power, weight, size in zip(self.witness.powers, self.witness.weights, self.sizes, strict=True):
            if size is None:
                return one
            share = ball(weight) / _rise(power - 1, u, v)
            if self.log_moment is not None:  # what mass at infinity lacks in M
                size = size + self.infinity * exp(log(u) * (power - 1)) / (power - 1)
            bound = bound + share * (size - _rise(power - 1, one, u) + _rise(power, one, u))
            crossing = crossing + share * _rise(power, u, v)
        return smaller(larger(bound.upper(), 0), 1) if crossing <= a else one
