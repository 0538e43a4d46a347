"""Many eps or many deltas of one profile: what is kept of an evaluation answers the points near it without a search.

    many = Many(orders, digits, method)             # orders: `Following`
    many.delta(epsilon), many.epsilon(target)       # None where a question of its own has to be asked

An interpolant of log delta, in floating point, guesses where delta takes a target; evaluations beside it prove it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.polynomial.chebyshev import Chebyshev, chebpts2

from verified_dp.core.balls import ball, lower_end, upper_end
from verified_dp.core.dyadic import Dyadic
from verified_dp.core.ends import end_of
from verified_dp.core.engines.chernoff import ChernoffValues
from verified_dp.core.errors import Unsupported
from verified_dp.core.evaluation import Ends
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.questions.curve import middle_first
from verified_dp.search.answer import Answer
from verified_dp.search.deadline import OutOfTime, ending_at
from verified_dp.search.following import Following
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.order import Budget, SingleOrder
from verified_dp.search.roots import guess_epsilon, is_above, is_below, log_of

KNOTS, SHARP, COARSE = 32, 30.0, 8.0
"""Points of the interpolant, the bits asked at them, and those that are enough where they are there."""
LEAST, REACH, FACTOR = 16, 1e-3, Fraction(3)
"""Fewer targets are asked one by one. How far towards 0 the interpolant reaches, as a share of its end, and how far its
deltas reach beyond the targets: estimates are not exact."""
FEW = 8
"""Fewer eps are not planned for."""
PLACES = 16
"""Eps at which orders are compared beforehand."""
STEPS, SURE = 8, 4
"""Of the secant in balls. To so few digits the interpolant is tried before."""


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


@dataclass(frozen=True)
class Guess:
    """About where delta takes a target, the slope of log delta there, and how wrong that may be, relatively."""

    epsilon: float
    slope: float
    error: float


class Above:
    """Upper bounds of one order's delta: at some eps, by chords between them, and by moments at every eps."""

    def __init__(self) -> None:
        self._at, self._bounds = list[Fraction](), list[tuple[arb, arb]]()
        self._moments: list[ChernoffValues] = []

    def add(self, epsilon: Fraction, answer: Answer) -> None:
        """delta(eps) is at most its upper end; what one moment proves is kept for every eps, and first asked."""
        if isinstance(answer.values, ChernoffValues):
            self._moments.insert(0, answer.values)
            return
        place = bisect_left(self._at, epsilon)
        self._at.insert(place, epsilon)
        self._bounds.insert(place, (ball(epsilon).exp(), answer.bounds.upper))

    @proved_by("T03-chernoff", "T26-connect-the-dots", "T44-infinity-mass")
    def is_below(self, epsilon: Fraction, least: arb) -> bool:
        """Whether delta(eps) is known to be at most this."""
        at = ball(epsilon)
        for i, moment in enumerate(self._moments):
            if moment.infinity_mass + moment.moment_beyond(at) <= least:
                self._moments.insert(0, self._moments.pop(i))
                return True
        return bool(self.bound(epsilon) <= least)

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
        self._known = dict[tuple[Following, Fraction], Answer]()  # sharp, but not seen to be the largest
        self.bits = digits * math.log2(10) + 1  # of a delta

    def serve(self, epsilons: Sequence[Fraction], budget: Budget, bits: float) -> None:
        """Evaluations that answer these eps to so many bits, of the orders whose delta seems the largest somewhere."""
        wanted = sorted((one for one in epsilons if one.numerator >= 0), key=as_float)
        if len(wanted) < FEW or not self._orders:
            return
        with ctx.workprec(math.ceil(bits) + 64), ending_at(budget.end, budget.last):
            largest = self._orders[:1] if len(self._orders) < 2 else self._largest(wanted)
            for order in largest:
                order.serve(wanted, bits, self._method, budget)
            for order in self._orders if len(largest) == 1 else ():
                if order is not largest[0]:
                    self._bound_by_moments(order, largest[0], wanted)

    def _bound_by_moments(self, order: Following, larger: Following, epsilons: Sequence[Fraction]) -> None:
        """Few moments that show this order smaller at as many of the eps as moments can."""
        if self._method not in ("auto", "contour"):
            return
        places = [epsilons[len(epsilons) * i // PLACES] for i in range(PLACES)]
        known = [(at, self._kept(larger, at)) for at in places]
        with suppress(OutOfTime, Unsupported):
            for answer in order.moments_below({as_float(at): float(one.bounds.lower.log()) for at, one in known
                                               if one is not None and one.bounds.lower > 0}):
                self._above[order].add(answer.epsilon, answer)

    def _largest(self, epsilons: Sequence[Fraction]) -> list[Following]:
        """The orders that have the largest estimate at one of some eps."""
        places = {epsilons[len(epsilons) * i // 4] for i in (1, 2, 3)}
        with suppress(OutOfTime, Unsupported):
            return list({max(self._orders, key=lambda order: order.log_estimate(at)): None for at in places})
        return []

    def _kept(self, order: Following, epsilon: Fraction) -> Answer | None:
        return order.kept(epsilon, 1.0, self._method)

    def _sharp(self, order: Following, epsilon: Fraction) -> Answer | None:
        """delta(eps) to the digits, from what is kept."""
        known = self._known.pop((order, epsilon), None) if self._known else None
        return known or order.kept(epsilon, self.bits, self._method)

    def _named(self, order: Following) -> str:
        return "both" if self._same else order.loss.order

    def _are_below(self, others: Sequence[Following], epsilon: Fraction, least: arb) -> bool:
        """Whether all these orders' delta(eps) are known to be at most this, or by what is kept are seen to be."""
        for order in others:
            if not self._above[order].is_below(epsilon, least):
                answer = self._kept(order, epsilon)
                if answer is None:
                    return False
                self._above[order].add(epsilon, answer)
                if not answer.bounds.upper <= least:
                    return False
        return True

    @proved_by("T25-composition", "T16-reversal")
    def delta(self, epsilon: Fraction) -> Found | None:
        """delta(eps) where one order is enclosed to the digits and the others are smaller; at eps = 0 they agree."""
        with ctx.workprec(math.ceil(self.bits) + 64):
            for order in self._orders if epsilon >= 0 else ():
                answer = self._sharp(order, epsilon)
                others = [other for other in self._orders if other is not order] if epsilon else []
                if answer is None:
                    return None
                if self._are_below(others, epsilon, answer.bounds.lower):
                    alike = not epsilon and len(self._orders) > 1
                    return Found(answer.bounds.ends(), "both" if alike else self._named(order), answer)
                self._known[order, epsilon] = answer
        return None

    def reach(self, targets: Sequence[Fraction]) -> tuple[float, float] | None:
        """About the least and the largest eps of targets in growing order, or beyond; None where nothing says it."""
        if not targets or not self._orders or any(not order.has_contour or order.is_trivial or
                                                  order.loss.enclose_infinity_mass() > 0 for order in self._orders):
            return None
        found = []
        with suppress(OutOfTime, Unsupported):
            for target, factor in ((targets[-1], FACTOR), (targets[0], 1 / FACTOR)):
                found.append(max(as_float(guess_epsilon(order, min(target * factor, Fraction(1, 2)))[0])
                                 for order in self._orders))
        return (found[0], found[1]) if len(found) == 2 and 0 < found[1] < math.inf else None

    @proved_by("T13-epsilon-of-delta", "T16-reversal")
    def at_zero(self, target: Fraction) -> Found | None:
        """eps(target) = 0 where delta(0), the same in all orders, is known to be at most the target."""
        for order in self._orders:
            answer = self._kept(order, Fraction(0))
            if answer is not None and is_below(answer, target):
                return Found((Dyadic(0), Dyadic(0)), "both" if len(self._orders) > 1 else self._named(order), answer)
        return None

    def guesses(self, targets: Sequence[Fraction], low: float, high: float, budget: Budget) -> list[Guess | None]:
        """About eps(target) for each target, between low and high; None where it lies outside."""
        knots = [dyadic(float(at), 40) for at in low + (high - low) * (1 + chebpts2(KNOTS)) / 2]
        bits = (self._digits + 1) * math.log2(10) + math.log2(high / low)
        self.serve([Fraction(0), *knots], budget, bits)
        logs = {i: self._log_delta(knots[i], budget) for i in middle_first(KNOTS)}
        if not all(map(math.isfinite, logs.values())):
            return [None] * len(targets)
        return _inverse(np.array(knots, float), np.array([logs[i] for i in range(KNOTS)]),
                        np.array([float(log_of(target)) for target in targets]))

    def _log_delta(self, epsilon: Fraction, budget: Budget) -> float:
        """log of the largest delta, about; an order whose estimate is far smaller is not asked."""
        found = -math.inf
        for estimate, order in sorted(((one.log_estimate(epsilon), one) for one in self._orders),
                                      key=lambda pair: -pair[0]):
            if estimate > found - 1:
                answer = order.kept(epsilon, COARSE, self._method) or order.enclose(
                    epsilon, SHARP, self._method, budget)
                self._above[order].add(epsilon, answer)
                found = max(found, float(((answer.bounds.lower + answer.bounds.upper) / 2).mid().log()))
        return found

    def epsilon(self, target: Fraction, guess: Guess) -> Found | None:
        """eps(target) to the digits, from about where it is and how log delta falls there: by secant steps in balls."""
        bits, at, slope = math.ceil(self._digits * math.log2(10)) + 8, _short(Fraction(guess.epsilon), 60), guess.slope
        near, known = (guess.error < 0.3 * 10.0**-self._digits or self._digits <= SURE), list[tuple[Fraction, float]]()
        with ctx.workprec(4 * self._digits + 64):
            for _ in range(STEPS):
                if near:
                    half = at / (3 * 10**self._digits)
                    found = self._between(target, _short(at - half, bits), _short(at + half, bits))
                    if found is not None:
                        return found
                gap = self._gap(target, at)
                if gap is None:
                    break
                if known and at != known[0][0]:
                    slope = min((gap - known[0][1]) / as_float(at - known[0][0]), 0.5 * slope)
                known[:] = [(at, gap)]
                move = -gap / slope
                near, at = abs(move) < 10.0 ** (-0.5 * self._digits - 1) * guess.epsilon, at + Fraction(move)
                if not 0 < at < 2 * guess.epsilon:
                    break
                at = _short(at, 2 * bits)
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

    def _gap(self, target: Fraction, epsilon: Fraction) -> float | None:
        """log of the largest delta that is known over the target; None where nothing is."""
        answers = [self._kept(order, epsilon) for order in self._orders]
        sizes = [(one.bounds.lower + one.bounds.upper).mid() / 2 for one in answers if one is not None]
        return max((float((size / ball(target)).log()) for size in sizes if size > 0), default=None)


def _short(number: Fraction, bits: int) -> Fraction:
    """A dyadic number near a positive one, to so many bits."""
    top, bottom = number.numerator, number.denominator
    places = bits - top.bit_length() + bottom.bit_length()
    if places < 0:
        return Fraction(round(number / 2**-places) * 2**-places)
    return Fraction((2 * (top << places) + bottom) // (2 * bottom), 1 << places)


def _inverse(at: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> list[Guess | None]:
    """Where the polynomial through falling values takes the wanted ones, by Newton's steps, and its slopes there."""
    curve = Chebyshev.fit(at, values, len(at) - 1)
    slope, found = curve.deriv(), np.interp(-wanted, -values, at)
    for _ in range(8):
        found = np.clip(found - (curve(found) - wanted) / slope(found), at[0], at[-1])
    error, inside = float(np.abs(curve.coef[-3:]).max()), (wanted < values[0]) & (wanted > values[-1])
    return [Guess(one, fall, -error / fall / one) if known and fall < 0 else None
            for one, fall, known in zip(found.tolist(), slope(found).tolist(), inside.tolist(), strict=True)]


def deltas_along(many: Many, epsilons: Sequence[Fraction], ask: Ask, shown: Shown, budget: Budget) -> list[Enclosure]:
    """delta at each eps: by few evaluations for all of them; ask(i) for the others, the middle of each gap first."""
    found: dict[int, Enclosure] = {}
    many.serve(epsilons, budget, many.bits)
    for i in sorted(range(len(epsilons)), key=lambda i: -as_float(epsilons[i])):
        near = many.delta(epsilons[i])
        if near is not None:
            found[i] = shown(near)
    for i in middle_first(len(epsilons)):
        if i not in found:
            near = many.delta(epsilons[i])
            found[i] = ask(i) if near is None else shown(near)
    return [found[i] for i in range(len(epsilons))]


def epsilons_along(many: Many, targets: Sequence[Fraction], ask: Ask, shown: Shown, budget: Budget) -> list[Enclosure]:
    """eps at each target: the outermost ones are asked, and those whose guess does not answer them."""
    if len(set(targets)) < LEAST:
        return [ask(i) for i in range(len(targets))]
    places, found = sorted(range(len(targets)), key=lambda i: targets[i]), dict[int, Enclosure]()
    ends = many.reach([targets[i] for i in places if 0 < targets[i] < 1])
    ends = _outermost(targets, places, ask, found) if ends is None else ends
    low, high = max(ends[0], REACH * ends[1]), ends[1]
    inner = [i for i in places if i not in found and 0 < targets[i] < 1]
    guesses = dict(zip(inner, many.guesses([targets[i] for i in inner], low, high, budget) if low < high else [],
                       strict=False))
    for retried in (False, True):  # what is asked for one may answer the next
        for i in places:
            if i not in found:
                guess = guesses.get(i)
                near = many.at_zero(targets[i]) if guess is None else many.epsilon(targets[i], guess)
                if near is not None or retried:
                    found[i] = ask(i) if near is None else shown(near)
    return [found[i] for i in range(len(targets))]


def _outermost(targets: Sequence[Fraction], places: Sequence[int], ask: Ask, found: dict[int, Enclosure]) -> tuple[
        float, float]:
    """The outermost ones asked, from both sides on until an end is found: the least and the largest eps that are."""
    for side, is_end in ((places, lambda one: not one.upper.is_infinite), (places[::-1], lambda one: one.lower > 0)):
        for i in side:
            found[i] = found.get(i) or ask(i)
            if is_end(found[i]):
                break
    return (min((one.upper_float for one in found.values() if one.lower > 0), default=math.inf),
            max((one.lower_float for one in found.values() if not one.upper.is_infinite), default=0.0))
