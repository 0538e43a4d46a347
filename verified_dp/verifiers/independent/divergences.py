"""Bounds from divergences of several powers, of P from Q and of Q from P together (T180)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .balls import Ball, ball, exp, expm1, larger, log
from .contour import Bounds, one_sided, require
from .laws import ONLY_MOMENTS
from .losses import SWAPPED, ComposedLoss


@dataclass(frozen=True)
class Divergences:
    """Powers s outside of (0, 1) with weights of sum 1; low = u, high = v e^-eps."""

    powers: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    low: Fraction
    high: Fraction
    prec: int

    def evaluate(self, loss: ComposedLoss) -> DivergencesValues:
        require(1 <= len(self.powers) == len(self.weights) <= 8 and sum(self.weights) == 1)
        require(all(not 0 < power < 1 for power in self.powers) and all(weight > 0 for weight in self.weights))
        require(self.low > 0 and self.high > 0 and not loss.node_parts)
        return DivergencesValues(self, [bound_divergence(loss, power) for power in self.powers])


def bound_divergence(loss: ComposedLoss, power: Fraction) -> Ball | None:
    """At least (int p^s q^{1-s} - 1) / (s (s-1)), or the relative entropy; None where that may be infinite."""
    directed, exponent = (loss, power - 1) if power >= 1 else (loss.in_order(SWAPPED[loss.order]), -power)
    if not directed.infinity().is_zero():
        return None
    if exponent:
        return (expm1(log_moment(directed, exponent)) / ball(exponent * (exponent + 1))).upper()
    size = ball(loss.mean_shift_squared / 2)
    for law, count in directed.parts:
        if not isinstance(law, ONLY_MOMENTS):
            return None
        size = size + ball(law.entropy() * count)
    return size.upper()


def log_moment(loss: ComposedLoss, exponent: Fraction) -> Ball:
    """At least log M(l), by what each law says of its own."""
    size = loss.gaussian_exponent((ball(exponent), Ball(0)))[0]
    for law, count in loss.parts:
        size = size + log(law.moment(ball(exponent)).upper()) * count
    return size.upper()


def _rise(power: Fraction, low: Ball, high: Ball) -> Ball:
    """(v^s - u^s) / s, for s = 0 log(v/u)."""
    if not power:
        return log(high) - log(low)
    return (exp(log(high) * power) - exp(log(low) * power)) / ball(power)


@dataclass(frozen=True)
class DivergencesValues:
    """The bounds of all powers."""

    witness: Any
    sizes: list[Ball | None]

    def enclose(self, epsilon: Fraction) -> Bounds:
        """The weighted sum of (B - slope of g_s at u + its intercept) over the rise of its slope, if all is certain."""
        one, a = Ball(1), exp(ball(epsilon))
        u, v = ball(self.witness.low), ball(self.witness.high) * a
        bound, crossing = Ball(0), Ball(0)
        for power, weight, size in zip(self.witness.powers, self.witness.weights, self.sizes, strict=True):
            if size is None or not u < v:
                return one_sided(Ball(0), one, "renyi")
            share = ball(weight) / _rise(power - 1, u, v)
            bound = bound + share * (size - _rise(power - 1, one, u) + _rise(power, one, u))
            crossing = crossing + share * _rise(power, u, v)
        return one_sided(Ball(0), larger(bound.upper(), 0) if crossing <= a else one, "renyi")
