"""Witnesses by the transform of the loss: lines.

CERTIFICATE.md, "Witnesses": each function states the inequality that it evaluates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from .balls import (
    Ball,
    Complex,
    Unknown,
    ball,
    complex_exp,
    complex_power,
    cos_sin,
    exp,
    expm1,
    inverse,
    larger,
    log,
    modulus,
    pi,
    powers,
    precision,
    scaled_by,
    smaller,
    times,
    total,
    turn_sums,
)
from .document import TooMuch
from .losses import SWAPPED, ComposedLoss
from .nodes import Nodes, Rule, moved_nodes, shares_loss

LOW_BITS = 96
"""One-sided bounds need few digits."""


@dataclass(frozen=True)
class Bounds:
    """lower <= delta <= upper, and what each source of error adds at most."""

    lower: Ball
    upper: Ball
    budget: Mapping[str, Ball]
    exact_lower: Fraction | None = None
    exact_upper: Fraction | None = None


def bounds_from_sum(found: Ball, both: Mapping[str, Ball], above: Mapping[str, Ball]) -> Bounds:
    """|delta - found| <= the sum of `both`, except that found may also exceed delta by `above`; cut to [0, 1] (T33)."""
    around, more = total(both.values()), total(above.values())
    upper, lower = smaller(found + around, 1), larger(found - around - more, 0)
    return Bounds(lower.lower(), upper.upper(), {**both, **above, "rounding": found.radius()})


def require(condition: bool) -> None:
    if not condition:
        raise Unknown("a witness outside of its side conditions")


def not_covered(lacking: bool) -> None:
    """Where a law's transform is not known here, a witness is left alone: the verdict needs none."""
    if lacking:
        raise TooMuch("a transform that this checker does not have")


@dataclass(frozen=True)
class Part:
    """A law's transform at one point, two bounds of its error, and how often the law is composed."""

    value: Complex
    quadrature: Ball
    node_tail: Ball
    count: int


def product(parts: Sequence[Part], gaussian: Complex) -> tuple[Complex, Ball, Ball]:
    """prod value^k e^gaussian, and what the errors e_i change at most, by source (T12):

    sum_i k_i e_i/(|M_i| + e_i) prod_j (|M_j| + e_j)^{k_j}.
    """
    factors = [complex_exp(gaussian), *(complex_power(part.value, part.count) for part in parts)]
    while len(factors) > 1:  # in pairs: boxes that turn would grow with every factor
        factors = [times(*pair) for pair in zip(factors[::2], factors[1::2], strict=False)] + (
            factors[len(factors) & ~1:])
    found = factors[0]
    with precision(LOW_BITS):
        quadrature, node_tail, size = Ball(0), Ball(0), gaussian[0]
        for part in parts:
            reach = modulus(part.value).upper() + part.quadrature + part.node_tail
            if reach.is_zero():
                return found, Ball(0), Ball(0)
            size = size + log(reach) * part.count
            quadrature = quadrature + part.quadrature * part.count / reach
            node_tail = node_tail + part.node_tail * part.count / reach
        size = exp(size)
        return found, (quadrature * size).upper(), (node_tail * size).upper()


def chernoff_factor(exponent: Ball) -> Ball:
    """C(l) = l^l / (1+l)^{1+l} (T03)."""
    return exp(exponent * log(exponent) - (1 + exponent) * log(1 + exponent))


def bound_mass(loss: ComposedLoss, nodes: Sequence[Nodes], exponent: Fraction) -> Ball:
    """C(l) M(l): D(eps) <= C(l) M(l) e^{-l eps} (T03); for l < -1 C(-1-l) M(l), of D(eps) - 1 + e^eps alike (T157)."""
    point = ball(exponent)
    known = {law: log(found.mass(point)) for found, (law, _) in zip(nodes, loss.node_parts, strict=True)}
    size = loss.log_moment(point, known, bounded=True)
    return (exp(size) * chernoff_factor(point if exponent > 0 else -1 - point)).upper()


def families(loss: ComposedLoss) -> list[list[int]]:
    """The numbers of the parts with nodes: each with all later ones that share the loss of the first (T156)."""
    found: list[list[int]] = []
    for i, (law, _) in enumerate(loss.node_parts):
        family = next((one for one in found if shares_loss(law, loss.node_parts[one[0]][0])), None)
        if family is None:
            found.append([i])
        else:
            family.append(i)
    return found


def shared_nodes(loss: ComposedLoss, rules: Sequence[Rule]) -> list[Nodes]:
    """Of every law by its own rule, or by that of its family in its own scale."""
    if len(rules) == len(loss.node_parts):
        return [Nodes(law, rule) for (law, _), rule in zip(loss.node_parts, rules, strict=True)]
    known = families(loss)
    require(len(rules) == len(known))
    chosen = {i: (rule, loss.node_parts[family[0]][0]) for family, rule in zip(known, rules, strict=True)
              for i in family}
    return [moved_nodes(law, *chosen[i]) for i, (law, _) in enumerate(loss.node_parts)]


# ---------- lines ----------


@dataclass(frozen=True)
class Line:
    """tilt c, step eta, count m0: the sum over c + i m eta, |m| <= m0. right > tilt > left, left >= 0 or < -1: alias
    exponents. tilt < -1: the swapped pair's line at -1 - tilt (T16)."""

    tilt: Fraction
    step: Fraction
    count: int
    nodes: tuple[Rule, ...]
    tail_nodes: tuple[Rule, ...]
    right: Fraction
    left: Fraction
    prec: int

    def evaluate(self, loss: ComposedLoss) -> LineValues | ReversedValues:
        not_covered(not loss.has_transform)
        if self.tilt < -1:
            swapped = replace(self, tilt=-1 - self.tilt).evaluate(loss.in_order(SWAPPED[loss.order]))
            return ReversedValues(swapped)
        require(self.left < self.tilt < self.right and self.tilt > 0 and self.step > 0 and self.count >= 1)
        require(self.left >= 0 or (self.left < -1 and not loss.direct_parts))
        return LineValues(self, loss)


class LineValues:
    """What a line yields before eps is known."""

    def __init__(self, line: Line, loss: ComposedLoss) -> None:
        self.line, self.loss = line, loss
        tilt, step = ball(line.tilt), ball(line.step)
        direct = [law.line(tilt, step, line.count) for law, _ in loss.direct_parts]
        nodes = shared_nodes(loss, line.nodes)
        errors = [found.line_error(tilt) for found in nodes]
        columns = [self._by_nodes(found, tilt, step) for found in nodes]
        self.terms: list[Complex] = []
        self.quadrature = self.node_tail = Ball(0)
        for m in range(line.count + 1):
            z = tilt, step * m
            parts = [Part(column[m], *error, count)
                     for column, error, (_, count) in zip(columns, errors, loss.node_parts, strict=True)]
            parts += [Part(column[m], error, Ball(0), count)
                      for (column, error), (_, count) in zip(direct, loss.direct_parts, strict=True)]
            found, by_quadrature, by_tail = product(parts, loss.gaussian.exponent(z))
            kernel, sides = times(z, (z[0] + 1, z[1])), 2 if m else 1
            self.terms.append(scaled_by(times(found, inverse(kernel)), sides))
            size = modulus(kernel)
            self.quadrature = self.quadrature + sides * by_quadrature / size
            self.node_tail = self.node_tail + sides * by_tail / size
        self.right_mass = bound_mass(loss, nodes, line.right)
        self.left_mass = bound_mass(loss, nodes, line.left) if line.left else Ball(1)
        self.beyond = self._bound_beyond(tilt, ball(line.step * line.count))
        self.infinity = loss.infinity()

    def _by_nodes(self, nodes: Nodes, tilt: Ball, step: Ball) -> list[Complex]:
        """Im v >= 0 on the rule's line: no turn is longer than 1 (T08)."""
        turns = [complex_exp((-v[1] * step, v[0] * step)) for v in nodes.losses]
        return turn_sums(nodes.weights((tilt, Ball(0))), turns, self.line.count)

    def _bound_beyond(self, tilt: Ball, frequency: Ball) -> Ball:
        """|M(tilt + iw)| for every w >= frequency (T11)."""
        size = self.loss.gaussian.exponent((tilt, frequency))[0]
        for law, count in self.loss.direct_parts:
            size = size + log(law.beyond(tilt, frequency)) * count
        for found, (_, count) in zip(shared_nodes(self.loss, self.line.tail_nodes), self.loss.node_parts, strict=True):
            size = size + log(found.beyond(tilt, frequency)) * count
        return exp(size).upper()

    def enclose(self, epsilon: Fraction) -> Bounds:
        """(sum) - tail - aliases <= D(eps) <= (sum) + tail, the transforms' errors on both sides (T06)."""
        line = self.line
        tilt, step, eps = ball(line.tilt), ball(line.step), ball(epsilon)
        turn = cos_sin(-(step * eps))
        phases = [(Ball(re, error, e), Ball(im, error, e)) for re, im, e, error in powers(turn, line.count + 1)]
        scale = exp(-(tilt * eps))
        prefactor = scale * step / (2 * pi())
        found = prefactor * total(times(term, phase)[0] for term, phase in zip(self.terms, phases, strict=True))
        errors = {"quadrature": (prefactor * self.quadrature).upper(),
                  "node_tail": (prefactor * self.node_tail).upper(),
                  "frequency_tail": (scale * self.beyond / (pi() * step * line.count)).upper()}
        period = 2 * pi() / step
        aliases = (self.right_mass * exp(-(line.right * eps)) / expm1((line.right - tilt) * period)
                   + self.left_mass * exp(-(line.left * eps)) / expm1((tilt - line.left) * period))
        if line.left < 0:  # 1 - e^{eps - n X} is known of those on the left (T157)
            found = found - 1 / expm1(tilt * period) + exp(eps) / expm1((tilt + 1) * period)
        return bounds_from_sum(found + self.infinity, errors, {"aliasing": aliases.upper()})


class ReversedValues:
    """delta(eps) = 1 - e^eps + e^eps delta'(-eps), delta' of the swapped pair (T16)."""

    def __init__(self, swapped: Any) -> None:
        self.swapped = swapped

    def enclose(self, epsilon: Fraction) -> Bounds:
        found, scale = self.swapped.enclose(-epsilon), exp(ball(epsilon))
        lower, upper = (1 - scale + scale * end for end in (found.lower, found.upper))
        budget = {name: (scale * size).upper() for name, size in found.budget.items()}
        budget["rounding"] = budget["rounding"] + lower.radius() + upper.radius()
        return Bounds(larger(lower, 0).lower(), smaller(upper, 1).upper(), budget)
