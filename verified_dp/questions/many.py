"""Many eps or many deltas of one profile: what is kept of an evaluation answers the points near it without a search.

    many = Many(orders, digits, method)             # orders: `Following`
    many.delta(epsilon), many.epsilon(target)       # None where a question of its own has to be asked

An interpolant of log delta, in floating point, guesses where delta takes a target; evaluations beside it prove it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

import numpy as np
from flint import arb, ctx, fmpz
from numpy.polynomial.chebyshev import Chebyshev, chebpts2

from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.engines.moment import MomentValues
from verified_dp.core.kernel.balls import ball, lower_end, upper_dyadic, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.ends import ReadableEnd, readable, readable_ends
from verified_dp.questions.curve import middle_first
from verified_dp.search.answer import Answer
from verified_dp.search.deadline import Budget, OutOfTime, ending_at
from verified_dp.search.following import Following
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import guess_epsilon, is_below, jump_guess, log_of

FEW_KNOTS, KNOTS, SHARP, COARSE = 32, 56, 30.0, 8.0
"""Points of the interpolant for few digits and for many, the bits asked at them, and those that are enough where they
are there."""
LEAST, REACH, FACTOR = 16, 1e-3, Fraction(3)
"""Fewer targets are asked one by one. How far towards 0 the interpolant reaches, as a share of its end, and how far its
deltas reach beyond the targets: estimates are not exact."""
FEW = 8
"""Fewer eps are not planned for."""
PLACES, SHARES = 16, (12, 48, 10**9)
"""Eps at which moments are chosen; how many eps a line is read at from the other side, before more are."""
MOST_BITS = 40.0
"""Where there is no contour, no more than are asked of every delta are asked of one that decides a small eps."""
ROUGH = 8.0
"""Bits of an order that only has to be smaller."""
STEPS, NEWTON = 8, 5
"""Of evaluations about each root, and of the interpolant's own root."""
REACHED, APART = 64, 1.001
"""Of a chord's ends: how far off they are looked for, and by which factor the deltas differ there at least."""


@dataclass(frozen=True)
class Found:
    """Ends of what was asked, the order that has it, the method of its answer there, and the errors on delta."""

    ends: tuple[ReadableEnd, ReadableEnd]
    order: str
    method: str
    budget: Mapping[str, Dyadic]


Ask = Callable[[int], Enclosure]
"""A question of its own, by its place."""
Shown = Callable[[Found], Enclosure]
"""What was found, as an enclosure."""


@dataclass(frozen=True)
class Guess:
    """About where delta takes a target, and the slope of log delta there."""

    epsilon: float
    slope: float


class Above:
    """Upper bounds of one order's delta: at some eps, by chords between them, and by moments at every eps."""

    def __init__(self) -> None:
        self._at, self._bounds = list[float](), list[tuple[Fraction, arb, arb]]()
        self._moments: list[tuple[arb, arb, arb]] = []

    def add(self, epsilon: Fraction, answer: Answer) -> None:
        """delta(eps) is at most its upper end; what one moment proves is kept for every eps."""
        if isinstance(answer.values, MomentValues) and answer.values.witness.is_one_order:
            values, exponent = answer.values, ball(answer.values.witness.exponent)
            self._moments.append((exponent, values.bound_sharply(arb(0)), values.infinity_mass))
            if not values.witness.low:
                return
        self.note(epsilon, answer.bounds.upper)

    def note(self, epsilon: Fraction, upper: arb) -> None:
        """delta(eps) is at most this."""
        place = bisect_left(self._at, as_float(epsilon))
        self._at.insert(place, as_float(epsilon))
        self._bounds.insert(place, (epsilon, ball(epsilon).exp(), upper))

    @proved_by("T03-chernoff", "T26-connect-the-dots", "T44-infinity-mass")
    def is_below(self, epsilon: Fraction, least: arb) -> bool:
        """Whether delta(eps) is known to be at most this."""
        if self.bound(epsilon) <= least:
            return True
        at = ball(epsilon)
        return any(mass + size * (-exponent * at).exp() <= least for exponent, size, mass in self._moments)

    @proved_by("T26-connect-the-dots")
    def bound(self, epsilon: Fraction) -> arb:
        """Bound delta(eps) by the chord of its neighbours over e^eps, in which delta is convex, and falls."""
        place = bisect_left(self._at, as_float(epsilon))
        if place < len(self._at) and self._bounds[place][0] == epsilon:
            return self._bounds[place][2]
        if place in (0, len(self._at)):
            return self._bounds[-1][2] if place else arb(1)
        at, (_, left, above), (_, right, below) = ball(epsilon).exp(), *self._bounds[place - 1:place + 1]
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
        self._knots = dict[Following, Points]()  # of the interpolant
        self._budget: tuple[Mapping[str, arb], Mapping[str, Dyadic]] = {}, {}  # the last one, which many points share
        self.bits = digits * math.log2(10) + 1  # of a delta

    def serve(self, epsilons: Sequence[Fraction], budget: Budget, bits: float, end: float = 0.0) -> None:
        """Evaluations that answer these eps to so many bits, of the orders whose delta seems the largest somewhere."""
        wanted = [one for one, _ in groupby(sorted((one for one in epsilons if one.numerator >= 0), key=_place))]
        if len(wanted) < FEW or not self._orders:
            return
        with ctx.workprec(math.ceil(bits) + 64), ending_at(budget.end, budget.last):
            for order in self._orders[:1] if len(self._orders) < 2 else self._largest(wanted):
                order.serve(wanted, bits, self._method, budget, end)

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

    @proved_by("T25-composition", "T16-reversal")
    def _are_smaller(self, larger: Following, epsilons: Sequence[Fraction], least: Sequence[arb],
                     budget: Budget) -> list[bool]:
        """Whether no other order's delta exceeds these bounds at these growing eps; at eps = 0 all are equal."""
        shown = [True] * len(epsilons)
        for other in self._orders:
            left = [i for i, epsilon in enumerate(epsilons) if shown[i] and epsilon and other is not larger]
            for i in self._not_smaller(other, larger, left, epsilons, least, budget):
                shown[i] = False
        return shown

    def _not_smaller(self, other: Following, larger: Following, places: Sequence[int], epsilons: Sequence[Fraction],
                     least: Sequence[arb], budget: Budget) -> list[int]:
        """The places at which nothing shows it: neither what is known, nor the line of the larger order read at -eps,
        nor few moments, nor evaluations to few bits.
        """
        above = self._above[other]

        def unshown(places: Sequence[int]) -> list[int]:
            return [i for i in places if not above.is_below(epsilons[i], least[i])]

        left, far = unshown(places), len(epsilons)
        for share in SHARES if left and larger.is_swapped(other) else ():
            near = [i for i in left if i < far]
            beside = larger.swapped_along([epsilons[i] for i in near[::max(len(near) // share, 1)]])
            for at, bounds in beside.items():
                above.note(at, bounds.upper)
            lost = [i for i in near if epsilons[i] in beside and not beside[epsilons[i]].upper <= least[i]]
            far = min(lost, default=far) if beside else 0
            left = unshown(left)
        with suppress(OutOfTime, Unsupported):
            if left and self._method in ("auto", "contour") and not budget.spent:
                past = next((i for i in left if as_float(epsilons[i]) >= other.model.largest), None)
                if past is not None:
                    above.add(epsilons[past], other.enclose(epsilons[past], ROUGH, self._method, budget))
                some = [left[(len(left) - 1) * i // (PLACES - 1)] for i in range(PLACES)]
                for answer in other.moments_below({as_float(epsilons[i]): float(least[i].log()) for i in some
                                                   if least[i] > 0}):
                    above.add(answer.epsilon, answer)
                left = unshown(left)
                if len(left) >= 2 * FEW:  # some more may follow from one that is asked
                    other.serve([epsilons[i] for i in range(left[0], left[-1] + 1)], ROUGH, self._method, budget)
        for i, known in zip(left, other.along([epsilons[i] for i in left], 1.0, self._method), strict=True):
            if known is not None:
                above.note(epsilons[i], known[0].upper)
        return unshown(left)

    def _found(self, ends: tuple[ReadableEnd, ReadableEnd], order: Following, bounds: Bounds, method: str,
               alike: bool = False) -> Found:
        """alike: whether the other orders have the same."""
        if self._budget[0] is not bounds.budget:
            self._budget = bounds.budget, {name: upper_dyadic(size) for name, size in bounds.budget.items()}
        both = self._same or (alike and len(self._orders) > 1)
        return Found(ends, "both" if both else order.loss.order, method, self._budget[1])

    def deltas(self, epsilons: Sequence[Fraction], places: Iterable[int], budget: Budget) -> dict[int, Found]:
        """delta to the digits at those of the eps, by place, where what is known of one order encloses it."""
        found, wanted = dict[int, Found](), sorted(
            (i for i in places if epsilons[i].numerator >= 0), key=lambda i: _place(epsilons[i]))
        with ctx.workprec(math.ceil(self.bits) + 64), ending_at(budget.end, budget.last):
            for order in self._orders:
                wanted = [i for i in wanted if i not in found]
                along = order.along([epsilons[i] for i in wanted], self.bits, self._method)
                known = [(i, *one) for i, one in zip(wanted, along, strict=True) if one]
                shown = self._are_smaller(order, [epsilons[i] for i, _, _ in known],
                                          [bounds.lower for _, bounds, _ in known], budget)
                for (i, bounds, method), is_largest in zip(known, shown, strict=True):
                    if is_largest:
                        found[i] = self._found(_ends(bounds), order, bounds, method, not epsilons[i])
        return found

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
        """About eps(target * factor), or eps(target) where that lies past the largest loss; the least one in doubt."""
        for goal in (min(target * factor, Fraction(1, 2)), target):
            inside = order.log_estimate(Fraction(0)) > float(log_of(goal))
            found = as_float(guess_epsilon(order, goal)[0]) if inside else 0.0
            if found < order.model.largest:
                break
        if factor > 1 and order.jumps and order.loss.order != "add":  # where first-order estimates may be far too large
            found = min(found, as_float(jump_guess(order, goal, Fraction(0), dyadic(found or 1.0))))
        return found

    @proved_by("T13-epsilon-of-delta", "T16-reversal")
    def at_zero(self, target: Fraction) -> Found | None:
        """eps(target) = 0 where delta(0), the same in all orders, is known to be at most the target."""
        zero = readable(Dyadic(0))
        for order in self._orders:
            answer = order.kept(Fraction(0), 1.0, self._method)
            if answer is not None and is_below(answer, target):
                return self._found((zero, zero), order, answer.bounds, answer.method, True)
        return None

    def guesses(self, targets: Sequence[Fraction], low: float, high: float, budget: Budget) -> list[Guess | None]:
        """About eps(target) for each target, between low and high; None where it lies outside."""
        scale, many = Scale(min(order.least for order in self._orders)), FEW_KNOTS if self._digits <= 8 else KNOTS
        first, last = scale.places(np.array([low, high]))
        places = first + (last - first) * (1 + chebpts2(many)) / 2
        knots = [dyadic(float(at), 40) for at in scale.epsilons(places)]
        between = [dyadic(low * (high / low) ** (i / many), 40) for i in range(1, many)]
        bits = (self._digits + 1) * math.log2(10)
        self.serve([Fraction(0), *knots, *between], budget, bits, high)
        logs = self._known_logs(knots, budget)
        logs.update({i: self._log_delta(knots[i], high, budget) for i in middle_first(many) if i not in logs})
        if not all(map(math.isfinite, logs.values())):
            return [None] * len(targets)
        wanted = np.array([float(log_of(target)) for target in targets])
        found = _inverse(scale, np.array(knots, float), np.array([logs[i] for i in range(many)]), wanted)
        near = [i for i, log in enumerate(wanted.tolist()) if log >= logs[0]]
        top = self._log_delta(Fraction(0), high, budget) if near else math.inf
        for i in near:  # between 0 and the first knot
            if logs[0] < top > wanted[i]:
                fall = (logs[0] - top) / low
                found[i] = Guess(float((wanted[i] - top) / fall), fall)
        return found

    def _known_logs(self, knots: Sequence[Fraction], budget: Budget) -> dict[int, float]:
        """log of the largest delta, by place, where one order is enclosed well enough and the others are smaller."""
        found = dict[int, float]()
        for order in self._orders:
            smooth = order.has_contour and not direct_parts(order.loss)
            row = order.along(knots, COARSE if smooth else self.bits, self._method)
            known = {i: one for i, one in enumerate(row) if one}
            self._knots[order] = Points(Point.of(knots[i], *one) for i, one in known.items())
            left = [i for i in known if i not in found]
            shown = self._are_smaller(order, [knots[i] for i in left], [known[i][0].lower for i in left], budget)
            found.update({i: _log_middle(known[i][0]) for i, is_largest in zip(left, shown, strict=True) if is_largest})
        return found

    def _log_delta(self, epsilon: Fraction, high: float, budget: Budget) -> float:
        """log of the largest delta, about; an order that by far seems to be smaller is not asked."""
        found, more = -math.inf, self.bits + math.log2(max(high / (as_float(epsilon) or high), 1.0))
        for order in self._orders:
            if order.log_estimate(epsilon) < found - 1:
                continue
            bits = more if order.has_contour else max(self.bits, min(more, MOST_BITS))
            enough, asked = (COARSE, SHARP) if order.has_contour and not direct_parts(order.loss) else (bits, bits)
            answer = order.kept(epsilon, enough, self._method) or order.enclose(epsilon, asked, self._method, budget)
            self._above[order].add(epsilon, answer)
            point = Point.of(epsilon, answer.bounds, answer.method)
            self._knots[order] = self._knots.get(order, Points([])).joined([point])
            found = max(found, _log_middle(answer.bounds))
            if not epsilon:  # where all orders agree
                break
        return found

    def epsilons(self, targets: Sequence[Fraction], guesses: Mapping[int, Guess], budget: Budget) -> dict[int, Found]:
        """eps(target) to the digits, by place, from about where each is and how log delta falls there."""
        found, goals = dict[int, Found](), {i: ball(targets[i]) for i in guesses}
        bits = math.ceil(self._digits * math.log2(10)) + 16
        with ctx.workprec(4 * self._digits + 64), ending_at(budget.end, budget.last):
            for order in self._orders:
                roots = {i: dyadic(guess.epsilon, 53) for i, guess in guesses.items() if i not in found}
                points = self._knots.get(order, Points([]))
                for _ in range(STEPS if roots else 0):
                    known = self._points(order, roots)
                    points = points.joined(known.values())
                    ends = {i: points.crossing(point, goals[i]) for i, point in known.items()}
                    found.update(self._between(order, known, ends, goals, budget))
                    moved = {i: point.moved(goals[i], ends[i], guesses[i].slope, bits)
                             for i, point in known.items() if i not in found}
                    roots = {i: at for i, at in moved.items() if at not in (None, known[i].epsilon)}
                    if not roots:
                        break
        return found

    def _points(self, order: Following, places: Mapping[int, Fraction]) -> dict[int, Point]:
        """What is known at these eps: to the digits, or to what there is."""
        growing = sorted(places, key=lambda i: _place(places[i]))
        rows = order.along([places[i] for i in growing], self.bits, self._method)
        left = [places[i] for i, one in zip(growing, rows, strict=True) if not one]
        rest = iter(order.along(left, 1.0, self._method))
        known = {i: row or next(rest) for i, row in zip(growing, rows, strict=True)}
        return {i: Point.of(places[i], *one) for i, one in known.items() if one}

    @proved_by("T237-between-chords", "T25-composition")
    def _between(self, order: Following, points: Mapping[int, Point], ends: Mapping[int, tuple[arb, arb] | None],
                 goals: Mapping[int, arb], budget: Budget) -> dict[int, Found]:
        """eps(target) where chords of this order's delta enclose it to the digits, and no other exceeds the target."""
        tens, found = fmpz(10) ** self._digits, dict[int, Found]()
        sure = {i: readable_ends(*one) for i, one in ends.items()
                if one and (one[1] - one[0]) * tens <= one[1]}
        shown = [True] * len(sure)
        if len(self._orders) > 1:
            tops = {i: high.as_fraction() for i, (_, high) in sure.items()}
            sure = {i: sure[i] for i in sorted(sure, key=lambda i: _place(tops[i]))}
            highs, least = [tops[i] for i in sure], [lower_end(goals[i]) for i in sure]
            shown = self._are_smaller(order, highs, least, budget)
        for (i, one), is_largest in zip(sure.items(), shown, strict=True):
            if is_largest:
                found[i] = self._found(one, order, points[i].bounds, points[i].method)
        return found


class Point(NamedTuple):
    """What is known of one order's delta at an eps, which is also there as a double and as a ball."""

    at: float
    epsilon: Fraction
    ball: arb
    bounds: Bounds
    method: str

    @classmethod
    def of(cls, epsilon: Fraction, bounds: Bounds, method: str) -> Point:
        """At an exact one."""
        return cls(as_float(epsilon), epsilon, ball(epsilon), bounds, method)

    def moved(self, goal: arb, ends: tuple[arb, arb] | None, slope: float, bits: int) -> Fraction | None:
        """Nearer to where delta takes the target: the middle of its bounds, or by the slope of log delta.

        None where nothing is known of delta, or it leads far away.
        """
        if ends is None and not self.bounds.lower > 0:
            return None
        with ctx.workprec(bits):
            where = (ends[0] + ends[1]) / 2 if ends else self.ball - (self.bounds.lower / goal).log() / slope
            return Dyadic(*map(int, where.mid().man_exp())).as_fraction() if 0 < where < 2 * self.ball else None


class Points:
    """What is known of one order's delta at growing eps."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._sorted = sorted(points, key=lambda point: point[:2])
        self._at = [point.at for point in self._sorted]

    def joined(self, more: Iterable[Point]) -> Points:
        """With more of them."""
        return Points([*self._sorted, *more])

    def _beside(self, own: Point, side: int) -> Point | None:
        """The nearest one on that side (1 or -1) at which delta is clearly another."""
        place = bisect_left(self._at, own.at)
        for i in range(place + side, place + side * REACHED, side):
            if not 0 <= i < len(self._sorted):
                break
            low, high = (self._sorted[i], own) if side > 0 else (own, self._sorted[i])
            if low.bounds.upper * APART < high.bounds.lower:
                return self._sorted[i]
        return None

    @proved_by("T237-between-chords")
    def crossing(self, place: Point, goal: arb) -> tuple[arb, arb] | None:
        """Bounds of inf {eps >= 0 : delta(eps) <= target} from delta at a place near it and at one on each side.

        A chord lies above a convex function between its ends, and below it beyond them; both over e^eps.
        """
        before, behind = self._beside(place, -1), self._beside(place, 1)
        if before is None or behind is None:
            return None
        high, own, low = before.bounds, place.bounds, behind.bounds
        if not (low.upper <= goal < high.lower):
            return None
        fall, rise = -(before.ball - place.ball).expm1(), (behind.ball - place.ball).expm1()
        if own.upper <= goal:
            last = -fall * (goal - own.upper) / (high.upper - own.upper)
        else:  # or not decided
            last = rise * (own.upper - goal).max(arb(0)) / (own.upper - low.upper)
        if own.lower > goal:
            first = fall * (own.lower - goal) / (high.upper - own.lower)
        else:
            first = -rise * (goal - own.lower).max(arb(0)) / (own.lower - low.upper)
        if not (first > -1 and last.is_finite()):
            return None
        return lower_end(place.ball + first.log1p()).max(arb(0)), upper_end(place.ball + last.log1p())


def _place(epsilon: Fraction) -> tuple[float, Fraction]:
    """What to sort by, in less time than by fractions alone."""
    return as_float(epsilon), epsilon


def _ends(bounds: Bounds) -> tuple[ReadableEnd, ReadableEnd]:
    """Those of `Bounds.ends`."""
    known = bounds.exact_lower is not None or bounds.exact_upper is not None
    low, high = bounds.ends() if known else readable_ends(bounds.lower, bounds.upper)
    return readable(low), readable(high)


def _log_middle(bounds: Bounds) -> float:
    return float(((bounds.lower + bounds.upper) / 2).mid().log())


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
    for _ in range(NEWTON):
        found = np.clip(found - (curve(found) - wanted) / slope(found), at[0], at[-1])
    inside = (wanted < values[0]) & (wanted > values[-1])
    places = scale.epsilons(found)
    falls = slope(found) * scale.slopes(places)
    return [Guess(one, fall) if known and fall < 0 else None
            for one, fall, known in zip(places.tolist(), falls.tolist(), inside.tolist(), strict=True)]


def deltas_along(many: Many, epsilons: Sequence[Fraction], ask: Ask, shown: Shown, budget: Budget) -> list[Enclosure]:
    """delta at each eps: by few evaluations for all of them; ask(i) for the others, the middle of each gap first.

    What a question leaves is looked at for all that are not answered.
    """
    many.serve(epsilons, budget, many.bits)
    found = {i: shown(one) for i, one in many.deltas(epsilons, range(len(epsilons)), budget).items()}
    for i in middle_first(len(epsilons)) if len(found) < len(epsilons) else ():
        if i not in found:
            found[i] = ask(i)
            left = [j for j in range(len(epsilons)) if j not in found]
            found.update({j: shown(one) for j, one in many.deltas(epsilons, left, budget).items()})
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
    found.update({i: shown(one) for i, one in many.epsilons(targets, known, budget).items()})
    asked = 0
    for i in places:
        if i not in found:
            near = None if i in known else many.at_zero(targets[i])
            found[i] = ask(i) if near is None else shown(near)
            asked += near is None
            if near is None and not asked & (asked - 1):  # after 1, 2, 4, ... it may answer others
                left = {j: guess for j, guess in known.items() if j not in found}
                found.update({j: shown(one) for j, one in many.epsilons(targets, left, budget).items()})
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
