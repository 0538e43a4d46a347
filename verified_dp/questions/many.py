"""Many eps or many deltas of one profile: what is kept of an evaluation answers the points near it without a search.

    many = Many(orders, digits, method)             # orders: `Following`
    many.delta(epsilon), many.epsilon(target)       # None where a question of its own has to be asked

An interpolant of log delta, in floating point, guesses where delta takes a target; evaluations beside it prove it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import ctx
from numpy.polynomial.chebyshev import Chebyshev, chebpts2

from verified_dp.core.balls import ball
from verified_dp.core.ends import end_of
from verified_dp.core.evaluation import Ends
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.questions.curve import middle_first
from verified_dp.search.answer import Answer, width_bits
from verified_dp.search.following import Following
from verified_dp.search.line import dyadic
from verified_dp.search.order import Budget
from verified_dp.search.roots import is_above, is_below, log_of

KNOTS, SHARP = 24, 30.0
"""Points of the interpolant, and the bits asked at them where they cost little."""
LEAST, REACH = 16, 1e-3
"""Fewer targets are asked one by one. How far towards 0 the interpolant reaches, as a share of its end."""
STEPS = 4
"""Of Newton in balls, each gaining the digits that the interpolant's slope has."""


@dataclass(frozen=True)
class Found:
    """Ends of what was asked, the order that has it, and the answers that prove it, the one that is shown first."""

    ends: Ends
    order: str
    answers: tuple[Answer, ...]


Ask, Shown = Callable[[int], Enclosure], Callable[[Found], Enclosure]
"""A question of its own, by its place; what was found as an enclosure."""


class Many:
    """Answers to so many digits from evaluations that the orders keep."""

    def __init__(self, orders: Sequence[Following], digits: int, method: str) -> None:
        first = orders[0]
        self._same = len(orders) > 1 and all(order.loss.equals_in_law(first.loss) for order in orders)
        self._orders, self._digits, self._method = orders[:1] if self._same else orders, digits, method

    def _kept(self, order: Following, epsilon: Fraction, bits: float = 1.0) -> Answer | None:
        return order.kept(epsilon, bits, self._method)

    def _named(self, order: Following) -> str:
        return "both" if self._same else order.loss.order

    @proved_by("T25-composition")
    def delta(self, epsilon: Fraction) -> Found | None:
        """delta(eps), eps > 0, where one order is enclosed to the digits and all others are shown to be smaller."""
        bits = self._digits * math.log2(10) + 1
        with ctx.workprec(math.ceil(bits) + 64):
            known = [self._kept(order, epsilon) for order in self._orders] if epsilon > 0 else [None]
            answers = [answer for answer in known if answer is not None]
            if len(answers) < len(known):
                return None
            for order, first in zip(self._orders, answers, strict=True):
                others = [other for other in answers if other is not first]
                if all(other.bounds.upper <= first.bounds.lower for other in others):
                    sharp = width_bits(first.bounds) >= bits
                    return Found(first.bounds.ends(), self._named(order), (first, *others)) if sharp else None
        return None

    def guesses(self, targets: Sequence[Fraction], low: float, high: float,
                budget: Budget) -> list[tuple[Fraction, float]]:
        """About eps(target) for each target, between low and high, and the slope of log delta there."""
        knots = [dyadic(float(at), 40) for at in low + (high - low) * (1 + chebpts2(KNOTS)) / 2]
        logs = {i: max(self._log_delta(order, knots[i], budget) for order in self._orders) for i in middle_first(KNOTS)}
        if not all(map(math.isfinite, logs.values())):
            return []
        at, slopes = _inverse(np.array(knots, float), np.array([logs[i] for i in range(KNOTS)]),
                              np.array([float(log_of(target)) for target in targets]))
        return [(Fraction(one), slope) for one, slope in zip(at.tolist(), slopes.tolist(), strict=True)]

    def _log_delta(self, order: Following, epsilon: Fraction, budget: Budget) -> float:
        answer = self._kept(order, epsilon, 8.0) or order.enclose(epsilon, SHARP, self._method, budget)
        return float(((answer.bounds.lower + answer.bounds.upper) / 2).mid().log())

    def epsilon(self, target: Fraction, guess: Fraction, slope: float) -> Found | None:
        """eps(target) to the digits, from about where it is and how log delta falls there."""
        bits = math.ceil(self._digits * math.log2(10)) + 8
        with ctx.workprec(4 * self._digits + 64):
            for _ in range(STEPS):
                half = guess / (3 * 10**self._digits)
                found = self._between(target, _short(guess - half, bits), _short(guess + half, bits))
                moved = None if found is not None else self._moved(target, guess, slope)
                if moved is None or not 0 < moved < 2 * guess:
                    return found
                guess = _short(moved, 2 * bits)
        return None

    @proved_by("T13-epsilon-of-delta", "T25-composition")
    def _between(self, target: Fraction, low: Fraction, high: Fraction) -> Found | None:
        """low <= eps(target) <= high, where below `low` one order's delta exceeds the target, and at `high` none's."""
        known = [self._kept(order, high) for order in self._orders]
        met = [answer for answer in known if answer is not None and is_below(answer, target)]
        if len(met) < len(known):
            return None
        for order in self._orders:
            below = self._kept(order, low)
            if below is not None and is_above(below, target):
                return Found((end_of(low), end_of(high)), self._named(order), (below, *met))
        return None

    def _moved(self, target: Fraction, guess: Fraction, slope: float) -> Fraction | None:
        """A step of Newton towards where the largest delta is the target; None where nothing is known."""
        answers = [self._kept(order, guess) for order in self._orders]
        sizes = [(one.bounds.lower + one.bounds.upper).mid() / 2 for one in answers if one is not None]
        if len(sizes) < len(answers) or not all(size > 0 for size in sizes):
            return None
        gap = max(float((size / ball(target)).log()) for size in sizes)
        return guess - Fraction(gap / slope)


def _short(number: Fraction, bits: int) -> Fraction:
    """A dyadic number near a positive one, to so many bits."""
    places = bits - number.numerator.bit_length() + number.denominator.bit_length()
    scale = Fraction(2) ** places
    return Fraction(round(number * scale)) / scale


def _inverse(at: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the polynomial through falling values takes the wanted ones, by Newton's steps, and its slopes there."""
    curve = Chebyshev.fit(at, values, len(at) - 1)
    slope, found = curve.deriv(), np.interp(-wanted, -values, at)
    for _ in range(8):
        found = np.clip(found - (curve(found) - wanted) / slope(found), at[0], at[-1])
    return found, slope(found)


def deltas_along(many: Many, epsilons: Sequence[Fraction], ask: Ask, shown: Shown) -> list[Enclosure]:
    """delta at each eps: ask(i) where what is kept does not answer the i-th, the middle of each gap first."""
    found: dict[int, Enclosure] = {}
    for i in middle_first(len(epsilons)):
        near = many.delta(epsilons[i])
        found[i] = ask(i) if near is None else shown(near)
    return [found[i] for i in range(len(epsilons))]


def epsilons_along(many: Many, targets: Sequence[Fraction], ask: Ask, shown: Shown, budget: Budget) -> list[Enclosure]:
    """eps at each target: the outermost ones are asked, and those between them where a guess does not answer them."""
    if len(set(targets)) < LEAST:
        return [ask(i) for i in range(len(targets))]
    places = sorted(range(len(targets)), key=lambda i: targets[i])
    found = {i: ask(i) for i in (places[0], places[-1])}
    low, high = found[places[-1]].upper_float, found[places[0]].lower_float
    inner = [i for i in places if i not in found]
    guesses = many.guesses([targets[i] for i in inner], max(low, REACH * high), high, budget) if low < high else []
    for i, guess in zip(inner, guesses, strict=False):
        near = many.epsilon(targets[i], *guess)
        if near is not None:
            found[i] = shown(near)
    return [found[i] if i in found else ask(i) for i in range(len(targets))]
