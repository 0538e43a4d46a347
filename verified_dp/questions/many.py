"""Many eps or many deltas of one profile: what is kept of an evaluation answers the points near it without a search.

    many = Many(orders, digits, method)             # orders: `Following`
    many.delta(epsilon), many.epsilon(target)       # None where a question of its own has to be asked

An interpolant of log delta, in floating point, guesses where delta takes a target; evaluations beside it prove it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.polynomial.chebyshev import Chebyshev, chebpts2

from verified_dp.core.balls import ball, lower_end, upper_end
from verified_dp.core.ends import end_of
from verified_dp.core.evaluation import Ends
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.questions.curve import middle_first
from verified_dp.search.answer import Answer, width_bits
from verified_dp.search.following import Following
from verified_dp.search.line import dyadic
from verified_dp.search.order import Budget, SingleOrder
from verified_dp.search.roots import is_above, is_below, log_of

KNOTS, SHARP, COARSE = 24, 30.0, 8.0
"""Points of the interpolant, the bits asked at them, and those that are enough where they are there."""
LEAST, REACH = 16, 1e-3
"""Fewer targets are asked one by one. How far towards 0 the interpolant reaches, as a share of its end."""
STEPS = 4
"""Of Newton in balls, each gaining the digits that the interpolant's slope has."""


@dataclass(frozen=True)
class Found:
    """Ends of what was asked, the order that has it, and its answer there."""

    ends: Ends
    order: str
    answer: Answer


Ask = Callable[[int], Enclosure]
"""A question of its own, by its place."""
Shown = Callable[[Found], Enclosure]
"""What was found, as an enclosure."""


class Above:
    """Upper bounds of one order's delta at some eps, and by chords between them."""

    def __init__(self) -> None:
        self._at, self._bounds = list[Fraction](), list[tuple[arb, arb]]()

    def add(self, epsilon: Fraction, upper: arb) -> None:
        """delta(eps) <= upper."""
        place = bisect_left(self._at, epsilon)
        self._at.insert(place, epsilon)
        self._bounds.insert(place, (ball(epsilon).exp(), upper))

    @proved_by("T26-connect-the-dots")
    def bound(self, epsilon: Fraction) -> arb:
        """Bound delta(eps) by the chord of its neighbours over e^eps, in which delta is convex; 1 outside of them."""
        place = bisect_left(self._at, epsilon)
        if not 0 < place < len(self._at):
            return arb(1)
        (left, above), (right, below) = self._bounds[place - 1:place + 1]
        return upper_end(above + (below - above) * ((ball(epsilon).exp() - left) / (right - left)))


class Many:
    """Answers to so many digits from evaluations that the orders keep."""

    def __init__(self, every: Sequence[SingleOrder], digits: int, method: str) -> None:
        """every: the orders; nothing is answered unless all of them are `Following`."""
        orders = [order for order in every if isinstance(order, Following)]
        orders = orders if len(orders) == len(every) else []
        self._same = len(orders) > 1 and all(order.loss.equals_in_law(orders[0].loss) for order in orders)
        self._orders, self._digits, self._method = orders[:1] if self._same else orders, digits, method
        self._above = {order: Above() for order in self._orders}

    def _kept(self, order: Following, epsilon: Fraction) -> Answer | None:
        return order.kept(epsilon, 1.0, self._method)

    def _named(self, order: Following) -> str:
        return "both" if self._same else order.loss.order

    def _are_below(self, others: Sequence[Following], epsilon: Fraction, least: arb) -> bool:
        """Whether all these orders' delta(eps) are known to be at most this, by chords or by what is kept."""
        for order in others:
            if not self._above[order].bound(epsilon) <= least:
                answer = self._kept(order, epsilon)
                if answer is None:
                    return False
                self._above[order].add(epsilon, answer.bounds.upper)
                if not answer.bounds.upper <= least:
                    return False
        return True

    @proved_by("T25-composition", "T16-reversal")
    def delta(self, epsilon: Fraction) -> Found | None:
        """delta(eps) where one order is enclosed to the digits and the others are smaller; at eps = 0 they agree."""
        bits = self._digits * math.log2(10) + 1
        with ctx.workprec(math.ceil(bits) + 64):
            for order in self._orders if epsilon >= 0 else ():
                answer = self._kept(order, epsilon)
                others = [other for other in self._orders if other is not order] if epsilon else []
                if answer is None or width_bits(answer.bounds) < bits:
                    return None
                if self._are_below(others, epsilon, answer.bounds.lower):
                    alike = not epsilon and len(self._orders) > 1
                    return Found(answer.bounds.ends(), "both" if alike else self._named(order), answer)
        return None

    def guesses(self, targets: Sequence[Fraction], low: float, high: float,
                budget: Budget) -> list[tuple[Fraction, float]]:
        """About eps(target) for each target, between low and high, and the slope of log delta there."""
        knots = [dyadic(float(at), 40) for at in low + (high - low) * (1 + chebpts2(KNOTS)) / 2]
        logs = {i: self._log_delta(knots[i], budget) for i in middle_first(KNOTS)}
        if not all(map(math.isfinite, logs.values())):
            return []
        at, slopes = _inverse(np.array(knots, float), np.array([logs[i] for i in range(KNOTS)]),
                              np.array([float(log_of(target)) for target in targets]))
        return [(Fraction(one), slope) for one, slope in zip(at.tolist(), slopes.tolist(), strict=True)]

    def _log_delta(self, epsilon: Fraction, budget: Budget) -> float:
        """log of the largest delta, about; an order whose estimate is far smaller is not asked."""
        found = -math.inf
        for estimate, order in sorted(((one.log_estimate(epsilon), one) for one in self._orders),
                                      key=lambda pair: -pair[0]):
            if estimate > found - 1:
                answer = order.kept(epsilon, COARSE, self._method) or order.enclose(
                    epsilon, SHARP, self._method, budget)
                self._above[order].add(epsilon, answer.bounds.upper)
                found = max(found, float(((answer.bounds.lower + answer.bounds.upper) / 2).mid().log()))
        return found

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
        for order in self._orders:
            below, above = self._kept(order, low), self._kept(order, high)
            if below is None or above is None or not is_below(above, target):
                return None
            if is_above(below, target):
                others = [other for other in self._orders if other is not order]
                met = self._are_below(others, high, lower_end(ball(target)))
                return Found((end_of(low), end_of(high)), self._named(order), below) if met else None
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
    """eps at each target: the outermost ones are asked, and those whose guess does not answer them."""
    if len(set(targets)) < LEAST:
        return [ask(i) for i in range(len(targets))]
    places, found = sorted(range(len(targets)), key=lambda i: targets[i]), dict[int, Enclosure]()
    for side, is_end in ((places, lambda one: not one.upper.is_infinite), (places[::-1], lambda one: one.lower > 0)):
        for i in side:
            found[i] = found.get(i) or ask(i)
            if is_end(found[i]):
                break
    low = min((one.upper_float for one in found.values() if one.lower > 0), default=math.inf)
    high = max((one.lower_float for one in found.values() if not one.upper.is_infinite), default=0.0)
    inner = [i for i in places if i not in found]
    guesses = many.guesses([targets[i] for i in inner], max(low, REACH * high), high, budget) if low < high else []
    for i, guess in zip(inner, guesses, strict=False):
        near = many.epsilon(targets[i], *guess)
        if near is not None:
            found[i] = shown(near)
    return [found[i] if i in found else ask(i) for i in range(len(targets))]
