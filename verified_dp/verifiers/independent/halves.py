"""Steps with finitely many outcomes: all counts of outcomes in two halves, one of them sorted and summed (T163).

delta(eps) is P(S = inf) + P(E) - e^eps Q(E) for E = {S > eps}; any other event gives less, and one that is wrong only
within r of eps less by at most (e^r - 1) P(S > eps - r).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from .atoms import AtomicLaw
from .balls import Ball, ball, bits, exp, expm1, larger, log, precision, smaller, tick, total
from .contour import Bounds, chernoff_factor, require
from .laws import log_factorial
from .losses import ComposedLoss

Counts = tuple[int, Ball, Ball]
"""The loss of some counts in units, their weights under P and under Q."""


@dataclass(frozen=True)
class Window:
    """From low to high steps have one outcome; the half of the sum that it belongs to."""

    half: int
    low: int
    high: int


@dataclass(frozen=True)
class Halves:
    """tilt c: of the bound on what the windows leave out; windows: one per finite outcome of each law."""

    tilt: Fraction
    windows: tuple[tuple[Window, ...], ...]
    prec: int

    def evaluate(self, loss: ComposedLoss) -> HalvesValues:
        require(self.tilt >= 0 and not loss.mean_shift_squared and len(self.windows) == len(loss.parts) > 0)
        for (law, count), windows in zip(loss.parts, self.windows, strict=True):
            require(isinstance(law, AtomicLaw) and len(windows) == len(law.finite_atoms()))
            require(all(one.half in (0, 1) and 0 <= one.low <= one.high <= count for one in windows))
        return HalvesValues(self, loss)


class Part:
    """One outcome of a law: its loss in units (a floor), and mass^n / n! for the counts of its window."""

    def __init__(self, loss: Ball, masses: tuple[Ball, Ball], window: Window, scale: int) -> None:
        self.low, self.high = window.low, window.high
        require(loss.radius().shifted(scale + 1) <= 1)
        self.units = loss.shifted(scale).lower().scaled(0)[0]  # at most 2 below it
        self.weights = [list(_powers(mass, window)) for mass in masses]


def _powers(mass: Ball, window: Window) -> Iterable[Ball]:
    found = exp(log(mass) * window.low - log_factorial(window.low))
    for n in range(window.low + 1, window.high + 2):
        yield found
        found = found * mass / n


def _lists(parts: Sequence[Part], least: int, most: int) -> dict[int, list[Counts]]:
    """All counts of these outcomes by their sum, where that can still come to lie between least and most."""
    found: dict[int, list[Counts]] = {0: [(0, Ball(1), Ball(1))]}
    first, last = least - sum(one.high for one in parts), most - sum(one.low for one in parts)
    for part in sorted(parts, key=lambda part: part.high - part.low):
        first, last = first + part.high, last + part.low
        grown: dict[int, list[Counts]] = {}
        for known, items in found.items():
            tick()
            for n in range(max(part.low, first - known), min(part.high, last - known) + 1):
                p, q = (row[n - part.low] for row in part.weights)
                grown.setdefault(known + n, []).extend((x + n * part.units, a * p, b * q) for x, a, b in items)
        found = grown
    return found


def _both(parts: Sequence[tuple[int, Part]], count: int) -> list[tuple[list[Counts], list[Counts]]]:
    """Lists of the first and of the second half whose counts add up to all steps of a law."""
    sides = [[part for half, part in parts if half == side] for side in (0, 1)]
    (low, high), (least, most) = ((sum(one.low for one in side), sum(one.high for one in side)) for side in sides)
    low, high = max(low, count - most), min(high, count - least)
    first, second = _lists(sides[0], low, high), _lists(sides[1], count - high, count - low)
    return [(items, second[count - n]) for n, items in first.items() if count - n in second]


def _times(a: list[Counts], b: list[Counts]) -> list[Counts]:
    return [(x + y, p * r, q * s) for x, p, q in a for y, r, s in b]


class HalvesValues:
    """Both halves, before eps is known."""

    def __init__(self, witness: Halves, loss: ComposedLoss) -> None:
        self.loss, self.tilt = loss, witness.tilt
        self.steps = sum(count for _, count in loss.parts)
        self.scale = bits() + self.steps.bit_length()
        with precision(bits() + 2 * self.steps.bit_length() + 32):
            pairs: list[tuple[list[Counts], list[Counts]]] = [([(0, Ball(1), Ball(1))], [(0, Ball(1), Ball(1))])]
            for (law, count), windows in zip(loss.parts, witness.windows, strict=True):
                parts = [(window.half, Part(place, masses, window, self.scale)) for window, place, masses in zip(
                    windows, law.losses(), law.finite_atoms(), strict=True)]
                pairs = [(_times(a, c), _times(b, d)) for a, b in pairs for c, d in _both(parts, count)]
            self.ways = exp(total(log_factorial(count) for _, count in loss.parts))
            self.pairs = [(first, *_summed(second)) for first, second in pairs]
            self.size, self.missed = self._left_out(witness)

    def _left_out(self, witness: Halves) -> tuple[Ball, Ball]:
        """M(c), and a bound of the tilted probability that a count is outside of its window."""
        height, missed = Ball(0), Ball(0)
        for (law, count), windows in zip(self.loss.parts, witness.windows, strict=True):
            tilted = [p * exp(place * self.tilt)
                      for place, (p, _) in zip(law.losses(), law.finite_atoms(), strict=True)]
            before, after = (list(accumulate(row, initial=Ball(0))) for row in (tilted, tilted[::-1]))
            height = height + log(before[-1]) * count
            for n, window in enumerate(windows):
                missed = missed + _outside(count, tilted[n], before[n] + after[-2 - n], window)
        return exp(height), smaller(missed, 1)

    def enclose(self, epsilon: Fraction) -> Bounds:
        target = epsilon * 2**self.scale // 1 + 1
        above = below = Ball(0)
        for first, losses, p_sums, q_sums in self.pairs:
            for own, p, q in first:
                fewer = bisect_left(losses, own - target)
                above, below = above + p * p_sums[fewer], below + q * q_sums[fewer]
        found = self.loss.infinity() + self.ways * (above - exp(epsilon) * below)
        reach = Ball(2 * self.steps + 2).shifted(-self.scale)
        most = self.size * exp(-(ball(epsilon) * self.tilt))
        lost = most * self.missed * (chernoff_factor(ball(self.tilt)) if self.tilt else 1)
        wrong = expm1(reach) * smaller(most * exp(reach * self.tilt), 1)
        return Bounds(larger(found, 0).lower(), smaller(found + lost + wrong, 1).upper(),
                      {"truncation": lost.upper(), "rounding": (found.radius() + wrong).upper()})


def _summed(items: list[Counts]) -> tuple[list[int], list[Ball], list[Ball]]:
    """The negative losses in growing order, and the sums of the weights of all before each of them."""
    p_sums, q_sums = [Ball(0)], [Ball(0)]
    rows: list[Any] = sorted(items, key=lambda item: -item[0])
    for _, p, q in rows:
        p_sums.append(p_sums[-1] + p)
        q_sums.append(q_sums[-1] + q)
    return [-x for x, _, _ in rows], p_sums, q_sums


def _outside(count: int, weight: Ball, others: Ball, window: Window) -> Ball:
    """P(N < low) + P(N > high) of a binomial number: each at most its term at the edge times r/(1-r)."""
    if others.is_zero():
        return Ball(int(window.high < count))
    found, whole = Ball(0), weight + others
    for share, rest, edge in ((weight, others, window.high), (others, weight, count - window.low)):
        ratio = share / rest * Fraction(count - edge, edge + 1)
        if not ratio < 1:
            return Ball(1)
        ways = log_factorial(count) - log_factorial(edge) - log_factorial(count - edge)
        term = exp(ways + log(share / whole) * edge + log(rest / whole) * (count - edge))
        found = found + term * ratio / (1 - ratio)
    return found


def count_lists(witness: Halves) -> int:
    """About how many counts both halves have."""
    sizes = [1, 1]
    for windows in witness.windows:
        sides = [sorted(abs(one.high - one.low) + 1 for one in windows if one.half == half) for half in (0, 1)]
        for half in (0, 1):
            for size in sides[half] if sides[1 - half] else sides[half][:-1]:
                sizes[half] *= size
    return 2 * sum(sizes)
