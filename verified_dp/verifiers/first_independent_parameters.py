"""Parameters for the independent checker, chosen in floating point: they cost or save width, never truth.

From a witness's line come the tilt, the heights, the alias exponents and the scales; steps, windows and the
number of frequencies are made finer, by the bounds (1) to (5) of `independent_line`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MAX_CELLS = 600_000
"""Nodes times frequencies of one evaluation: about 20 seconds."""
_MAX_BITS = 20_000
_MAX_POINTS = 20_000


class NotCovered(Exception):
    """What this checker does not decide."""


@dataclass(frozen=True)
class Law:
    """One sampled step: 0 < q < 1, s > 0, how often, in which order."""

    q: Fraction
    s: Fraction
    count: int
    order: str

    def log_growth(self, c: float, height: float) -> float:
        """log of the cosine factor, as a float: it only chooses parameters."""
        return 0.0 if self.order == "remove" else -c * math.log(math.cos(height / (2 * float(self.s) ** 2)))

    def log_m(self, u: float) -> float:
        x, q = (2 * u - 1) / (2 * float(self.s) ** 2), float(self.q)
        rest, rise = math.log1p(-q), math.log(q) + x
        return max(rest, rise) + math.log1p(math.exp(-abs(rest - rise)))

    def log_size(self, c: float, u: float) -> float:
        """log of phi_s(u) e^{...} at height 0, as a float."""
        gauss = -u * u / (2 * float(self.s) ** 2)
        if self.order == "add":
            return gauss - c * self.log_m(u)
        return gauss + (c + 1) * self.log_m(u) - (c * self.log_m(-u) if self.order == "symmetric" else 0.0)


@dataclass(frozen=True)
class Rule:
    """Nodes j h + i A for first <= j <= last, and the half-width b of the strip around their line."""

    height: Fraction
    half_width: Fraction
    step: Fraction
    first: int
    last: int


@dataclass(frozen=True)
class Line:
    """A line with its frequencies, rules and alias exponents; as in a witness."""

    tilt: Fraction
    step: Fraction
    count: int
    nodes: tuple[Rule, ...]
    tail_nodes: tuple[Rule, ...]
    right: Fraction
    left: Fraction
    prec: int


def refined(line: Line, laws: Sequence[Law], factor: float) -> Line:
    """Finer parameters: `factor` times the bits of every error, and more room for the simpler bounds."""
    step = Fraction(float(line.step) / factor)
    count = math.ceil(line.count * factor**2)
    nodes = tuple(_refined_rule(law, line.tilt, rule, factor) for law, rule in zip(laws, line.nodes, strict=True))
    tails = tuple(_tail_rule(law, line.tilt, rule) for law, rule in zip(laws, line.tail_nodes, strict=True))
    if sum(rule.last - rule.first for rule in nodes) * count > MAX_CELLS:
        raise NotCovered("an evaluation with very many frequencies and nodes")
    prec = math.ceil(line.prec * factor) + 64 + max([law.count.bit_length() for law in laws], default=0)
    return Line(line.tilt, step, count, nodes, tails, line.right, line.left, prec)


def _refined_rule(law: Law, tilt: Fraction, rule: Rule, factor: float) -> Rule:
    variance = float(law.s) ** 2
    height, half_width = float(rule.height), float(rule.half_width) * (1 - 1e-9)
    reach = height + half_width
    growth = reach * reach / (2 * variance) + law.log_growth(float(tilt), reach)
    bits = factor * max(8.0, 2 * math.pi * half_width / float(rule.step) - growth) + 7
    return _windowed(law, tilt, height, half_width, 2 * math.pi * half_width / (bits + growth), bits)


def _tail_rule(law: Law, tilt: Fraction, rule: Rule) -> Rule:
    variance, height = float(law.s) ** 2, float(rule.height)
    half_width = min(float(rule.half_width), math.pi * variance / 2 - height) * (1 - 1e-6)
    bits = 14 + math.log(law.count)
    growth = (height**2 + half_width**2) / (2 * variance) + law.log_growth(float(tilt), height + half_width)
    return _windowed(law, tilt, height, half_width, 2 * math.pi * half_width / (bits + growth), bits)


def mass_rule(law: Law, exponent: Fraction) -> Rule:
    """On the real line, for M(l) to a relative accuracy far below 1/k."""
    variance, bits = float(law.s) ** 2, 14 + math.log(law.count)
    choices = []
    for half_width in (math.pi * variance * share / 12 for share in range(1, 12)):
        growth = half_width**2 / (2 * variance) + law.log_growth(float(exponent), half_width)
        choices.append((half_width / (bits + growth), half_width))
    best, half_width = max(choices)
    return _windowed(law, exponent, 0.0, half_width, 2 * math.pi * best, bits)


def _windowed(law: Law, c: Fraction, height: float, half_width: float, step: float, bits: float) -> Rule:
    """The rule whose dropped nodes carry less than e^-bits of the whole, by the bounds of (3) in floating point."""
    s, tilt = float(law.s), float(c)
    if not (0 < bits < _MAX_BITS and 0 <= tilt < _MAX_POINTS * s and step > 0):
        raise NotCovered("extreme parameters")
    ends = -0.5 - s, (1.0 if law.order == "add" else tilt + 1.0) + s
    points = [ends[0] - 10 * s + i * s / 8 for i in range(math.ceil(8 * (ends[1] - ends[0] + 20 * s) / s))]
    log_mass = max(law.log_size(tilt, u) for u in points) - 3
    target = log_mass - bits - height**2 / (2 * s * s) - law.log_growth(tilt, height) - 3
    extra = -tilt * math.log1p(-float(law.q)) if law.order != "remove" else 0.0
    low, high = ends
    while extra - low * low / (2 * s * s) > target:
        low -= s / 2
    while extra + _log_right(law, tilt, high) > target:
        high += s / 2
    first, last = math.floor(low / step), math.ceil(high / step)
    if last - first > _MAX_POINTS:
        raise NotCovered("very many nodes")
    return Rule(Fraction(height), Fraction(half_width), Fraction(step), first, last)


def _log_right(law: Law, c: float, u: float) -> float:
    s = float(law.s)
    if law.order == "add":
        return -u * u / (2 * s * s)
    x = (2 * u - 1) / (2 * s * s)
    slope = (c + 1) * (law.log_m(u) - x) if x < 700 else (c + 1) * math.log(float(law.q))
    return slope + c * (c + 1) / (2 * s * s) - (u - c - 1) ** 2 / (2 * s * s)
