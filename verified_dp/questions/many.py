"""Many eps or many deltas of one profile: what is kept of an evaluation answers the points near it without a search.

    many = Many(orders, digits, method)             # orders: `Following`
    many.delta(epsilon), many.epsilon(target)       # None where a question of its own has to be asked

An interpolant of log delta, in floating point, guesses where delta takes a target; evaluations beside it prove it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.polynomial.chebyshev import Chebyshev, chebpts2

from verified_dp.core.engines.moment import MomentValues
from verified_dp.core.kernel.balls import ball, lower_end, upper_dyadic, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.evaluation import Ends
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.questions.curve import middle_first
from verified_dp.search.answer import Answer, exceed, stay_below
from verified_dp.search.deadline import Budget, OutOfTime, ending_at
from verified_dp.search.following import Following
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import guess_epsilon, is_below, log_of, moved_by

KNOTS, SHARP, COARSE = 32, 30.0, 8.0
"""Points of the interpolant, the bits asked at them, and those that are enough where they are there."""
LEAST, REACH, FACTOR = 16, 1e-3, Fraction(3)
"""Fewer targets are asked one by one. How far towards 0 the interpolant reaches, as a share of its end, and how far its
deltas reach beyond the targets: estimates are not exact."""
FEW = 8
"""Fewer eps are not planned for."""
PLACES = 16
"""Eps at which orders are compared beforehand."""
ROUGH = 8.0
"""Bits of an order that only has to be smaller."""
STEPS, SURE, STEEPEST = 8, 4, 8.0
"""Of the secant in balls. To so few digits the interpolant is tried before. Where log delta falls faster in log eps,
no fewer bits of delta are taken to be enough."""


@dataclass(frozen=True)
class Found:
    """Ends of what was asked, the order that has it, the method of its answer there, and the errors on delta."""

    ends: Ends
    order: str
    method: str
    budget: Mapping[str, Dyadic]


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
        self._at, self._bounds = list[float](), list[tuple[arb, arb]]()
        self._exact = list[Fraction]()
        self._moments: list[MomentValues] = []

    def add(self, epsilon: Fraction, answer: Answer) -> None:
        """delta(eps) is at most its upper end; what one moment proves is kept for every eps, and first asked."""
        if isinstance(answer.values, MomentValues) and answer.values.witness.is_one_order:
            self._moments.insert(0, answer.values)
            if not answer.values.witness.low:
                return
        self.note(epsilon, answer.bounds.upper)

    def note(self, epsilon: Fraction, upper: arb) -> None:
        """delta(eps) is at most this."""
        place = bisect_left(self._at, as_float(epsilon))
        self._at.insert(place, as_float(epsilon))
        self._exact.insert(place, epsilon)
        self._bounds.insert(place, (ball(epsilon).exp(), upper))

    @proved_by("T03-chernoff", "T26-connect-the-dots", "T44-infinity-mass")
    def is_below(self, epsilon: Fraction, least: arb) -> bool:
        """Whether delta(eps) is known to be at most this."""
        at = ball(epsilon)
        for i, moment in enumerate(self._moments):
            if moment.infinity_mass + moment.bound_sharply(at) <= least:
                self._moments.insert(0, self._moments.pop(i))
                return True
        return bool(self.bound(epsilon) <= least)

    @proved_by("T26-connect-the-dots")
    def bound(self, epsilon: Fraction) -> arb:
        """Bound delta(eps) by the chord of its neighbours over e^eps, in which delta is convex, and falls."""
        place, at = bisect_left(self._at, as_float(epsilon)), ball(epsilon).exp()
        if place < len(self._at) and self._at[place] == as_float(epsilon) and self._exact[place] == epsilon:
            return self._bounds[place][1]
        if place == len(self._at) > 0 and at >= self._bounds[-1][0]:
            return self._bounds[-1][1]
        if not 0 < place < len(self._at):
            return arb(1)
        (left, above), (right, below) = self._bounds[place - 1:place + 1]
        return upper_end(above + (below - above) * ((at - left) / (right - left))) if left <= at <= right else arb(1)


class Many:
    """Answers to so many digits from evaluations that the orders keep."""

    def __init__(self, every: Sequence[OneDirection], digits: int, method: str) -> None:
        """every: the orders; nothing is answered unless all of them are `Following`."""
        orders = [order for order in every if isinstance(order, Following)]
        orders = orders if len(orders) == len(every) else []
        self._same = len(orders) > 1 and all(order.loss.equals_in_law(orders[0].loss) for order in orders)
        self._orders, self._digits, self._method = orders[:1] if self._same else orders, digits, method
        self._above = {order: Above() for order in self._orders}
        self._known = dict[tuple[Following, Fraction], Answer]()  # sharp, but not seen to be the largest
        self._budget: tuple[Mapping[str, arb], Mapping[str, Dyadic]] = {}, {}  # the last one, which many points share
        self.bits = digits * math.log2(10) + 1  # of a delta

    def serve(self, epsilons: Sequence[Fraction], budget: Budget, bits: float, end: float = 0.0) -> None:
        """Evaluations that answer these eps to so many bits, of the orders whose delta seems the largest somewhere."""
        wanted = sorted({one for one in epsilons if one.numerator >= 0}, key=as_float)
        if len(wanted) < FEW or not self._orders:
            return
        with ctx.workprec(math.ceil(bits) + 64), ending_at(budget.end, budget.last):
            largest = self._orders[:1] if len(self._orders) < 2 else self._largest(wanted)
            for order in largest:
                order.serve(wanted, bits, self._method, budget, end)
            for order in self._orders if len(largest) == 1 else ():
                if order is not largest[0]:
                    self._bound_smaller(order, largest[0], wanted, budget)

    def _bound_smaller(self, order: Following, larger: Following, epsilons: Sequence[Fraction],
                       budget: Budget) -> None:
        """Few moments that show this order smaller at as many of the eps as moments can; few bits at some others."""
        if self._method not in ("auto", "contour"):
            return
        inner = [epsilon for epsilon in epsilons if epsilon]
        places = [inner[(len(inner) - 1) * i // (PLACES - 1)] for i in range(PLACES)]
        known = {at: one[0].lower for at, one in zip(places, larger.along(places, 1.0, self._method), strict=True)
                 if one and one[0].lower > 0}
        at_zero = self._kept(larger, Fraction(0))
        if at_zero is not None and larger.is_swapped(order):  # where both are equal (T16)
            self._above[order].note(Fraction(0), at_zero.bounds.upper)
        beside = larger.swapped_along(list(known)) if larger.is_swapped(order) else {}
        far = max((at for at, bounds in beside.items() if bounds.upper <= known[at]), default=Fraction(0))
        for at, bounds in larger.swapped_along([at for at in inner if at <= far]).items():
            self._above[order].note(at, bounds.upper)
        with suppress(OutOfTime, Unsupported):
            past = next((at for at in inner if as_float(at) >= order.model.largest), None)
            if past is not None:
                self._above[order].add(past, order.enclose(past, ROUGH, self._method, budget))
            aims = {as_float(at): float(low.log()) for at, low in known.items() if at >= far}
            for answer in order.moments_below(aims):
                self._above[order].add(answer.epsilon, answer)
            rest = [at for at, low in known.items() if not self._above[order].is_below(at, low)]
            if rest:
                last = next((at for at in places if at > rest[-1]), rest[-1])
                order.serve([at for at in inner if rest[0] <= at <= last], ROUGH, self._method, budget)
            for at, near in zip(rest, order.along(rest, 1.0, self._method), strict=True):
                if near is not None:
                    self._above[order].note(at, near[0].upper)

    def _largest(self, epsilons: Sequence[Fraction]) -> list[Following]:
        """The orders that have the largest estimate at one of some eps; by sketches where first-order ones disagree."""
        places = {epsilons[len(epsilons) * i // 4] for i in (1, 2, 3)}
        with suppress(OutOfTime, Unsupported):
            for estimate in (OneDirection.log_estimate, _log_sketch):
                found = {max(self._orders, key=lambda order: estimate(order, at)): None for at in places}
                if len(found) == 1:
                    break
            return list(found)
        return []

    def _kept(self, order: Following, epsilon: Fraction) -> Answer | None:
        return order.kept(epsilon, 1.0, self._method)

    def _sharp(self, order: Following, epsilon: Fraction) -> Answer | None:
        """delta(eps) to the digits, from what is kept."""
        known = self._known.pop((order, epsilon), None) if self._known else None
        return known or order.kept(epsilon, self.bits, self._method)

    def _found(self, ends: Ends, order: Following, bounds: Bounds, method: str, alike: bool = False) -> Found:
        """alike: whether the other orders have the same."""
        if self._budget[0] is not bounds.budget:
            self._budget = bounds.budget, {name: upper_dyadic(size) for name, size in bounds.budget.items()}
        both = self._same or (alike and len(self._orders) > 1)
        return Found(ends, "both" if both else order.loss.order, method, self._budget[1])

    @proved_by("T25-composition", "T16-reversal")
    def deltas(self, epsilons: Sequence[Fraction]) -> dict[int, Found]:
        """`delta` at those of the eps, by place, that evaluations for whole stretches of them answer."""
        found, places = dict[int, Found](), sorted(range(len(epsilons)), key=lambda i: epsilons[i])
        with ctx.workprec(math.ceil(self.bits) + 64):
            for order in self._orders:
                others = [other for other in self._orders if other is not order]
                wanted = [i for i in places if i not in found and epsilons[i] >= 0]
                for i, one in zip(wanted, order.along([epsilons[i] for i in wanted], self.bits, self._method),
                                  strict=True):
                    alike = not epsilons[i]
                    if one and self._are_below([] if alike else others, epsilons[i], one[0].lower):
                        found[i] = self._found(one[0].ends(), order, *one, alike)
        return found

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
                    return self._found(answer.bounds.ends(), order, answer.bounds, answer.method, not epsilon)
                self._known[order, epsilon] = answer
        return None

    def reach(self, targets: Sequence[Fraction]) -> tuple[float, float] | None:
        """About the least and the largest eps of targets in growing order, or beyond; None where nothing says it."""
        if not targets or not self._orders or any(order.loss.only_moments or order.is_trivial or
                                                  order.loss.enclose_infinity_mass() > 0 for order in self._orders):
            return None
        found = []
        with suppress(OutOfTime, Unsupported):
            for target, factor in ((targets[-1], FACTOR), (targets[0], 1 / FACTOR)):
                found.append(max(self._guessed(order, target, factor) for order in self._orders))
        return (found[0], found[1]) if len(found) == 2 and 0 < found[1] < math.inf else None

    @staticmethod
    def _guessed(order: Following, target: Fraction, factor: Fraction) -> float:
        """About eps(target * factor), or eps(target) where that lies past the largest loss."""
        for goal in (min(target * factor, Fraction(1, 2)), target):
            inside = order.log_estimate(Fraction(0)) > float(log_of(goal))
            found = as_float(guess_epsilon(order, goal)[0]) if inside else 0.0
            if found < order.model.largest:
                break
        return found

    @proved_by("T13-epsilon-of-delta", "T16-reversal")
    def at_zero(self, target: Fraction) -> Found | None:
        """eps(target) = 0 where delta(0), the same in all orders, is known to be at most the target."""
        for order in self._orders:
            answer = self._kept(order, Fraction(0))
            if answer is not None and is_below(answer, target):
                return self._found((Dyadic(0), Dyadic(0)), order, answer.bounds, answer.method, True)
        return None

    def guesses(self, targets: Sequence[Fraction], low: float, high: float, budget: Budget) -> list[Guess | None]:
        """About eps(target) for each target, between low and high; None where it lies outside."""
        scale = Scale(min(order.least for order in self._orders))
        first, last = scale.places(np.array([low, high]))
        places = first + (last - first) * (1 + chebpts2(KNOTS)) / 2
        knots = [dyadic(float(at), 40) for at in scale.epsilons(places)]
        between = [dyadic(low * (high / low) ** (i / KNOTS), 40) for i in range(1, KNOTS)]
        bits = (self._digits + 1) * math.log2(10)
        self.serve([Fraction(0), *knots, *between], budget, bits, high)
        rows = [order.along(knots, COARSE if order.has_contour else self.bits, self._method) for order in self._orders]
        logs = {i: self._log_delta(knots[i], budget, [row[i] for row in rows]) for i in middle_first(KNOTS)}
        if not all(map(math.isfinite, logs.values())):
            return [None] * len(targets)
        wanted = np.array([float(log_of(target)) for target in targets])
        found = _inverse(scale, np.array(knots, float), np.array([logs[i] for i in range(KNOTS)]), wanted)
        near = [i for i, log in enumerate(wanted.tolist()) if log >= logs[0]]
        top = self._log_delta(Fraction(0), budget, [None] * len(rows)) if near else math.inf
        for i in near:  # between 0 and the first knot
            if logs[0] < top > wanted[i]:
                fall = (logs[0] - top) / low
                found[i] = Guess(float((wanted[i] - top) / fall), fall, 1.0)
        return found

    def _log_delta(self, epsilon: Fraction, budget: Budget, known: Sequence[tuple[Bounds, str] | None]) -> float:
        """log of the largest delta, about, by what is known of each order or a question; an order that is known to be
        smaller, or by far seems so, is not asked.
        """
        found, least = -math.inf, arb(0)
        for order, near in zip(self._orders, known, strict=True):
            if least > 0 and (self._above[order].is_below(epsilon, least) or order.log_estimate(epsilon) < found - 1):
                continue
            enough, asked = (COARSE, SHARP) if order.has_contour else (self.bits, self.bits)
            if near is None:
                answer = order.kept(epsilon, enough, self._method) or order.enclose(
                    epsilon, asked, self._method, budget)
                self._above[order].add(epsilon, answer)
            else:
                self._above[order].note(epsilon, near[0].upper)
            bounds = answer.bounds if near is None else near[0]
            least = bounds.lower.max(least)
            found = max(found, float(((bounds.lower + bounds.upper) / 2).mid().log()))
            if not epsilon:  # where all orders agree
                break
        return found

    def epsilons(self, targets: Sequence[Fraction], guesses: Mapping[int, Guess]) -> dict[int, Found]:
        """eps(target) to the digits, by place, from about where each is and how log delta falls there."""
        found = dict[int, Found]()
        with ctx.workprec(4 * self._digits + 64):
            for order in self._orders:
                roots = {i: Root.of(guess, self._digits) for i, guess in guesses.items() if i not in found}
                for _ in range(STEPS if roots else 0):
                    sure = {i: root.ends(self._digits) for i, root in roots.items() if root.is_sure}
                    found.update(self._between(order, sure, targets))
                    roots = {i: root for i, root in roots.items() if i not in found}
                    near = self._along(order, {i: (root.at,) for i, root in roots.items()})
                    roots = {i: root for i, ((bounds, _),) in near.items()
                             if (root := roots[i].moved(bounds, targets[i], self._digits)) is not None}
        return found

    def _along(self, order: Following, places: Mapping[int, Sequence[Fraction]]) -> dict[int, list[tuple[Bounds, str]]]:
        """What is known at each of the places, where something is known at all of them."""
        every = sorted({at for own in places.values() for at in own})
        known = {at: one for at, one in zip(every, order.along(every, 1.0, self._method), strict=True) if one}
        return {i: [known[at] for at in own] for i, own in places.items() if all(at in known for at in own)}

    @proved_by("T13-epsilon-of-delta", "T25-composition")
    def _between(self, order: Following, places: Mapping[int, tuple[Fraction, Fraction]],
                 targets: Sequence[Fraction]) -> dict[int, Found]:
        """low <= eps(target) <= high, where at `low` this order's delta exceeds the target, and at `high` none's."""
        others, found = [other for other in self._orders if other is not order], dict[int, Found]()
        for i, ((below, method), (above, _)) in self._along(order, places).items():
            (low, high), target = places[i], targets[i]
            if exceed(below, target) and stay_below(above, target) and self._are_below(
                    others, high, lower_end(ball(target))):
                found[i] = self._found((Dyadic.of_fraction(low), Dyadic.of_fraction(high)), order, below, method)
        return found


@dataclass(frozen=True)
class Root:
    """About where delta takes a target, the slope of log delta there, and whether that is known to the digits.

    bits: of the place. last: the place before, and log delta less that of the target there.
    """

    at: Fraction
    slope: float
    is_sure: bool
    bits: float
    last: tuple[Fraction, float] | None = None

    @classmethod
    def of(cls, guess: Guess, digits: int) -> Root:
        """At a guess."""
        bits = digits * math.log2(10) + 4
        return cls(moved_by(Fraction(guess.epsilon), 0.0, bits), guess.slope,
                   guess.error < 0.3 * 10.0**-digits or digits <= SURE, bits)

    def moved(self, bounds: Bounds, target: Fraction, digits: int) -> Root | None:
        """By a secant step; None where nothing is known of delta, or it leads far away."""
        if not bounds.lower > 0:
            return None
        gap, slope = float((bounds.lower / ball(target)).log()), self.slope
        if self.last is not None and self.at != self.last[0]:
            slope = min((gap - self.last[1]) / float(self.at - self.last[0]), 0.5 * slope)
        move = -gap / slope
        if not abs(move) < self.at:
            return None
        sure = abs(move) < 10.0 ** (-0.5 * digits - 1) * self.at
        return Root(moved_by(self.at, move, self.bits), slope, sure, self.bits, (self.at, gap))

    def ends(self, digits: int) -> tuple[Fraction, Fraction]:
        """So near to it that they have the digits."""
        half = self.at / (3 * 10**digits)
        return moved_by(self.at, -half, self.bits), moved_by(self.at, half, self.bits)


def _log_sketch(order: OneDirection, epsilon: Fraction) -> float:
    """log delta(eps) in doubles, by the first-order estimate where that is all there is."""
    sketch = order.sketch(epsilon)
    found = math.nan if sketch is None else sketch.log_delta(as_float(epsilon))
    return order.log_estimate(epsilon) if math.isnan(found) else found


@dataclass(frozen=True)
class Scale:
    """Where log delta is smooth: in eps, or where its size `least` is small in log(1 + eps / least)."""

    least: float

    def places(self, epsilons: np.ndarray) -> np.ndarray:
        """Of eps on the scale."""
        return np.log1p(epsilons / self.least) if 0 < self.least < math.inf else epsilons

    def epsilons(self, places: np.ndarray) -> np.ndarray:
        """The eps of places."""
        return self.least * np.expm1(places) if 0 < self.least < math.inf else places

    def slopes(self, epsilons: np.ndarray) -> np.ndarray:
        """Of the places over eps."""
        return 1 / (self.least + epsilons) if 0 < self.least < math.inf else np.ones(len(epsilons))


def _inverse(scale: Scale, epsilons: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> list[Guess | None]:
    """Where the polynomial through falling values takes the wanted ones, by Newton's steps, and its slopes there."""
    at = scale.places(epsilons)
    curve = Chebyshev.fit(at, values, len(at) - 1)
    slope, found = curve.deriv(), np.interp(-wanted, -values, at)
    for _ in range(8):
        found = np.clip(found - (curve(found) - wanted) / slope(found), at[0], at[-1])
    error, inside = float(np.abs(curve.coef[-3:]).max()), (wanted < values[0]) & (wanted > values[-1])
    places = scale.epsilons(found)
    falls = slope(found) * scale.slopes(places)
    return [Guess(one, fall, -error / fall / one) if known and fall < 0 else None
            for one, fall, known in zip(places.tolist(), falls.tolist(), inside.tolist(), strict=True)]


def deltas_along(many: Many, epsilons: Sequence[Fraction], ask: Ask, shown: Shown, budget: Budget) -> list[Enclosure]:
    """delta at each eps: by few evaluations for all of them; ask(i) for the others, the middle of each gap first."""
    many.serve(epsilons, budget, many.bits)
    found = {i: shown(one) for i, one in many.deltas(epsilons).items()}
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
    guesses = many.guesses([targets[i] for i in inner], low, high, budget) if low < high else []
    known = {i: guess for i, guess in zip(inner, guesses, strict=False) if guess is not None}
    found.update({i: shown(one) for i, one in many.epsilons(targets, known).items()})
    for i in places:
        if i not in found:
            near = None if i in known else many.at_zero(targets[i])
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
