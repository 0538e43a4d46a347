"""eps(delta) of one order: a candidate by secant steps on log delta, then two evaluations that bracket it (T13)."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import arb, ctx

from verified_dp.core.engines.closed import ClosedFormWitness, is_plain, is_quick
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.kernel.balls import ball, lower_dyadic
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.answer import Answer, exceed, stay_below, width_bits
from verified_dp.search.deadline import Budget, OutOfTime, check_time, hurrying
from verified_dp.search.exactly import FAR_OUT, pair_at_end, past_answer
from verified_dp.search.few_sums import solve_few
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.planners.table import EXPANSIONS, is_finite

_STEEPEST = 8.0
"""Where log delta falls fast in log eps, delta is needed to fewer digits than eps; by no more than this factor."""
_CLEARLY = 4.0
"""Where the tilt times eps is more, eps is not 0."""
_NEXT_TO = 4
"""Few steps may add up to delta(0) where what each adds alone is below so many targets."""
FARTHEST = 10**250
"""No larger eps is guessed."""
_ATTEMPTS, _OF_ONE = 8, 2
"""Evaluations with ever more bits, and of what serves every eps."""
FAR_APART = 10**14
"""Plain Gaussians of a larger squared mean shift are not searched: closed forms and a moment tell how large eps is."""
_ROUGH, _STRAIGHT = 8.0, 1e-3
"""Bits that come near to the answer, and by which share of a gap log delta differs from a line."""

Gap = tuple[float | None, float]
"""log(delta / target), -inf where delta is lost, None where nothing tells the side; and how small it must be."""


@dataclass(frozen=True)
class Bracket:
    """delta > target below lower.epsilon (None where 0 is not excluded) and delta(upper.epsilon) <= target (or None).

    never: whether delta exceeds the target at every eps.
    """

    lower: Answer | None
    upper: Answer | None
    never: bool = False

    @property
    def ends(self) -> tuple[Fraction, Fraction | None]:
        return (self.lower.epsilon if self.lower else Fraction(0)), (self.upper.epsilon if self.upper else None)


@proved_by("T13-epsilon-of-delta")
def is_above(answer: Answer, target: Fraction) -> bool:
    """Whether delta(eps) > target is certain, so that eps(target) > eps."""
    return exceed(answer.bounds, target)


@proved_by("T13-epsilon-of-delta")
def is_below(answer: Answer, target: Fraction) -> bool:
    """Whether delta(eps) <= target is certain, so that eps(target) <= eps."""
    return stay_below(answer.bounds, target)


def bracket_epsilon(order: OneDirection, target: Fraction, digits: int, method: str, budget: Budget) -> Bracket:
    """Bracket eps(target) = inf {eps >= 0 : delta(eps) <= target} to a relative width of 10^-digits in the budget.

    Where plain Gaussians are too large or too small to search for it (`search.magnitudes`), only whether it is 0 is
    told; Unsupported is raised where other steps are. No upper end is infinite where a moment proves one.
    """
    asked = _Question(order, target, digits, method, budget)
    with ctx.workprec(max(64, 4 * digits)):
        return asked.by_few_sums() or asked.known_exactly() or asked.run()


def bracket_by_moments(order: OneDirection, target: Fraction, method: str) -> Bracket:
    """The least eps that one Renyi order proves, a little above where the bound reaches the target; no lower end."""
    room = ball(target) - order.evaluate(FAR_OUT, ExactWitness(256)).bounds.lower  # infinity mass
    if not room > 0:
        return Bracket(None, None)
    guess = order.moments.guess_epsilon(float(room.log()))
    for slack in (1e-14, 1e-12, 1e-9, 1e-6, 1e-3, 0.01, 0.1):
        answer = order.hurried(dyadic(guess * (1 + slack), 52), method)
        if is_below(answer, target):
            return Bracket(None, answer)
    return Bracket(None, None)


class _Question:
    """eps(target) of one order, to a relative width of 10^-digits, by a method within a budget.

    best: what is proved so far.
    """

    def __init__(self, order: OneDirection, target: Fraction, digits: int, method: str, budget: Budget) -> None:
        self.order, self.target, self.digits, self.budget = order, target, digits, budget
        self.best, self.method, self._asked = Bracket(None, None), method, method
        self._values: tuple[Answer, float] | None = None  # the last evaluation, and its bits
        self._serves = False  # whether it is asked at every eps

    def by_few_sums(self) -> Bracket | None:
        """Two values of a quick closed form, beside the place where few sums have the target; None where that fails."""
        order, loss = self.order, self.order.loss
        if self.method not in ("auto", "closed-form") or loss.only_moments or not is_finite(loss):
            return None
        wanted = is_quick(loss) and not is_plain(loss) and order.why_no_floats is None
        found = solve_few(loss, self.target) if wanted else None
        if found is None or not found[0].is_finite():
            return None
        epsilon, half = found[0].mid(), found[0].mid() / (3 * 10**self.digits)
        bits = math.ceil(self.digits * math.log2(10)) + 8
        with ctx.workprec(bits + 8):
            lower, upper = lower_dyadic(epsilon - half).as_fraction(), lower_dyadic(epsilon + half).as_fraction()
        answer = order.evaluate(lower, ClosedFormWitness(bits + math.ceil(found[1]) + 32))
        self._note(answer, answer.at(upper))
        return self.best if self._is_sharp else None

    def known_exactly(self) -> Bracket | None:
        """What needs no search: the target below the mass at infinity, or equal to it; delta(0) at most the target."""
        order = self.order
        if not order.has_ends and 0 < self.target < 1:
            return None
        far_out = order.evaluate(FAR_OUT, ExactWitness(256))
        if is_above(far_out, self.target):  # by the mass at infinity, which no eps takes away (T44)
            return Bracket(far_out, None, never=True)
        at_zero = order.evaluate(Fraction(0), ExactWitness(256))
        if is_below(at_zero, self.target):
            return Bracket(None, at_zero)
        pair = pair_at_end(order, self.target)
        if pair is not None:
            return Bracket(*pair, never=pair[1] is None)
        return Bracket(None, None) if self.target == 0 else None

    def run(self) -> Bracket:
        """What a search finds, the largest finite loss where that is nearer, and what a moment proves beside them."""
        try:
            self._search()
        except OutOfTime:
            pass
        except Unsupported:
            if self._asked != "auto" or self._past is None:
                raise
        self._note(*[one for one in [self._past] if one is not None and is_below(one, self.target)])
        with suppress(OutOfTime, Unsupported):
            if self.best.lower is None and self.best.ends[1] and not self.order.loss.only_moments:
                self._compare_at_zero()
        found, upper = self.best.lower is not None, self.best.upper
        if self._asked == "auto" and not self.order.is_trivial and (
                upper is None or (upper is self._past and not found)):
            with hurrying(), suppress(Unsupported, OutOfTime):
                self._note(bracket_by_moments(self.order, self.target, self._asked).upper)
        self._bisect_closed_form()
        return self.best

    @cached_property
    def _past(self) -> Answer | None:
        """delta past the largest finite loss, where there is one."""
        return past_answer(self.order) if self.order.has_ends else None

    @property
    def _log_target(self) -> float:
        return float(log_of(self.target))

    @property
    def _is_sharp(self) -> bool:
        lower, upper = self.best.ends
        return upper is not None and (upper - lower) * 10**self.digits <= upper

    @property
    def _is_done(self) -> bool:
        return self.budget.spent or self._is_sharp

    def _note(self, *answers: Answer | None) -> None:
        """Move every end inward that one of the answers proves."""
        lower, upper = self.best.lower, self.best.upper
        for one in answers:
            if one is not None and is_above(one, self.target) and (lower is None or one.epsilon > lower.epsilon):
                lower = one
            if one is not None and is_below(one, self.target) and (upper is None or one.epsilon < upper.epsilon):
                upper = one
        self.best = Bracket(None if upper is not None and not upper.epsilon else lower, upper)

    def _enclose(self, epsilon: Fraction, bits: float) -> Answer:
        """delta(eps) to a relative width of 2^-bits."""
        answer = self.order.enclose(epsilon, bits, self.method, self.budget)
        self._note(answer)
        return answer

    def _at(self, epsilon: Fraction, bits: float) -> Answer:
        """The same from the last evaluation, where that is about as sharp here, or serves every eps."""
        check_time()
        if self._values is not None:
            found = self._values[0].at(epsilon)
            if self._serves or width_bits(found.bounds) >= min(bits, self._values[1]) - 0.5:
                self._note(found)
                return found
        answer = self._enclose(epsilon, bits)
        self._values = answer, width_bits(answer.bounds)
        return answer

    def _search(self) -> None:
        order, method = self.order, self.method
        if order.loss.only_moments:
            if not is_below(self._enclose(Fraction(0), 1.0), self.target):
                self._note(bracket_by_moments(order, self.target, method).upper)
            return
        self._serves = method in (*EXPANSIONS, "lattice") or order.has_epochs or not order.is_sharp
        if self._serves and not (method in EXPANSIONS or order.has_epochs or _has_listed(order)):
            self.method = "lattice"
        far = not order.loss.parts and order.loss.mean_shift_squared > FAR_APART
        blind = far or order.why_no_floats is not None
        if blind or order.is_trivial or self._is_near_zero:
            self._compare_at_zero()
            if blind or self.best.lower is None:
                return
        self._search_positive()

    @property
    def _is_near_zero(self) -> bool:
        """Whether delta(0) may meet the target: by what each step adds at most, or by first-order estimates."""
        if self._serves:
            return self.order.log_estimate(Fraction(0)) < self._log_target + 2
        loss, few = self.order.loss, self.order.few
        epsilon, tilt = first_guess(self.order, self.target)
        clear = not tilt * as_float(epsilon) < _CLEARLY
        if clear and not few:
            return False
        apart = sum((count * law.enclose_hockey_stick(arb(0)) for law, count in loss.parts), arb(0))
        if not loss.mean_shift_squared and bool(apart < (_NEXT_TO if few else 1) * ball(self.target)):
            return True
        return not clear and self.order.log_estimate(Fraction(0)) < self._log_target + 0.5

    def _compare_at_zero(self) -> None:
        """delta(0) with as many bits as it takes to compare it with the target."""
        for bits in (12.0,) if self._serves else (4.0, 16.0, 64.0, 256.0, 1024.0):
            answer = self._enclose(Fraction(0), bits)
            if is_above(answer, self.target) or is_below(answer, self.target) or self.budget.spent:
                break

    def _search_positive(self) -> None:
        epsilon, tilt = guess_epsilon(self.order, self.target) if self._serves else _jump_start(
            self.order, self.target, *first_guess(self.order, self.target))
        slope, sharp = -tilt, self.digits * math.log2(10) + (1 if self._serves else 3)
        if not self._serves:
            epsilon, slope = self._locate(epsilon, tilt)
        rough = self._serves and not self.order.has_epochs
        for attempt in range(_OF_ONE + rough if self._serves else _ATTEMPTS):
            wanted = _ROUGH if rough and not attempt else sharp + (0 if self._serves else 2 * attempt)
            steep = -slope * as_float(epsilon)
            bits = max(wanted - math.log2(steep if self._serves else min(_STEEPEST, steep)), 6.0)
            self._values = None
            epsilon, slope = self._secant(self._gap_of(bits), epsilon, slope, bits)
            self._close_in(epsilon, slope, bits, sharp)
            if self._is_done:
                break
            lower, upper = self.best.ends
            epsilon = moved_by((lower + upper) / 2, 0.0, 24.0) if self._serves and upper is not None else epsilon
        for power in () if self.budget.spent or self.best.upper else (16, 32, 48):  # an eps that is too small to tell
            if is_below(self._enclose(min(epsilon * 2**power, Fraction(1)), 64.0), self.target):
                break

    def _secant(self, gap_at: Callable[[Fraction, float], Gap], epsilon: Fraction, slope: float,
                bits: float) -> tuple[Fraction, float]:
        """Secant steps on log delta - log target, kept between the places known so far: the place, and the slope."""
        low, high, before = Fraction(0), None, list[tuple[Fraction, float]]()
        for _ in range(30):
            gap, near = gap_at(epsilon, slope)
            if gap is None or abs(gap) < near or self.budget.spent:
                break
            low, high = (epsilon, high) if gap > 0 else (low, epsilon)
            measured = bool(before) and (0 if self._serves else near) < _STRAIGHT * abs(gap - before[0][1]) < math.inf
            if measured:
                slope = min((gap - before[0][1]) / float(epsilon - before[0][0]), -1e-9)
            if math.isfinite(gap):
                before[:] = [(epsilon, gap)]
                there = moved_by(epsilon, -gap / slope, bits)
                if measured and _STRAIGHT * abs(gap) < near:
                    return there, slope
            else:
                there = jump_guess(self.order, self.target, low, epsilon)
            inside = there > low and (high is None or there < high)
            epsilon = there if inside else moved_by((low + high) / 2 if high else 2 * low, 0.0, bits)
        return epsilon, slope

    def _gap_of(self, bits: float) -> Callable[[Fraction, float], Gap]:
        """From evaluations to so many bits; one that serves every eps is followed as far as it tells."""
        relative = 0.0 if self._serves else 2.0 ** max(2 - bits - math.log2(1 + abs(self._log_target)), -1000.0)

        def gap_at(epsilon: Fraction, slope: float) -> Gap:
            return _log_gap(self._at(epsilon, bits), self.target), max(
                -slope * as_float(epsilon) * relative, 2.0 ** max(-bits, -1000.0))

        return gap_at

    def _locate(self, epsilon: Fraction, tilt: float) -> tuple[Fraction, float]:
        """Come near the answer at little cost: the place, and the slope.

        An epoch's model, or where steps are few the guess of one large loss, comes near enough; so does a first-order
        estimate that is not rough.
        """
        order = self.order
        if order.epoch_model is not None:
            return epsilon, -tilt
        if order.few and order.log_jump(epsilon) > -math.inf and order.sketch(epsilon) is None:
            return epsilon, -tilt
        saddle = order.saddle(epsilon, tilt)  # known from here on
        if order.has_contour and not (order.few or order.is_rough(epsilon, saddle)):
            return epsilon, -tilt
        return self._secant(self._rough_gap, epsilon, -tilt, 30.0)

    def _rough_gap(self, epsilon: Fraction, _: float) -> Gap:
        """From a sketch, or from few bits."""
        sketch = self.order.sketch(epsilon) if self.method in ("auto", "contour") else None
        if sketch is not None and not math.isnan(found := sketch.log_delta(as_float(epsilon))):
            return found - self._log_target, sketch.closeness
        answer = self._enclose(epsilon, _ROUGH)
        gap = _log_gap(answer, self.target)
        return (-math.inf if gap is None and is_below(answer, self.target) else gap), 0.3

    def _close_in(self, epsilon: Fraction, slope: float, bits: float, sharp: float) -> None:
        """On each side as far from the candidate as it takes until the inequality there is certain."""
        for side, proves in ((-1, is_above), (1, is_below)):
            half, step, before = epsilon / (3 * 10**self.digits), epsilon / (8 * 10**self.digits), (0.0, math.inf)
            for _ in range(8):
                answer = self._at(moved_by(epsilon, side * half, max(bits, sharp)), bits)
                if proves(answer, self.target) or self.budget.spent:
                    break
                end = answer.bounds.lower if side < 0 else answer.bounds.upper
                gap = abs(float((end / ball(self.target)).log())) if 0 < end < math.inf else math.inf
                if gap < before[1] < 1:
                    slope = min((gap - before[1]) / (float(half) - before[0]), -1e-9)
                before = float(half), gap
                half = half + Fraction(1.1 * gap / -slope) + step if gap < 1 else 16 * half

    def _bisect_closed_form(self) -> None:
        """By one that takes no time, where the search in floating point missed: next to the end."""
        order, bits = self.order, self.digits * math.log2(10) + 40
        if self.best.upper is None or self._asked not in ("auto", "closed-form") or order.is_trivial or (
                not order.offered("closed") or not is_quick(order.loss) or order.why_no_floats is not None):
            return
        for _ in range(4 * self.digits + 40):
            low, high = self.best.ends
            if self._is_done or high is None:
                break
            middle = moved_by((low + high) / 2, 0.0, bits)
            if not low < middle < high:
                break
            answer = order.evaluate(middle, ClosedFormWitness(math.ceil(2 * bits + 40)))
            self._note(answer)
            if self.best.ends == (low, high):
                break


def _has_listed(order: OneDirection) -> bool:
    """Whether all laws are made of few enough atoms; loaded where it is asked."""
    from verified_dp.search.outcomes import has_listed

    return has_listed(order.loss)


def guess_epsilon(order: OneDirection, target: Fraction) -> tuple[Fraction, float]:
    """Where the estimate of delta equals the target, within a thousandth, and the tilt there, which is the slope."""
    goal, low, high, epsilon = float(log_of(target)), Fraction(0), Fraction(FARTHEST), Fraction(1)
    for _ in range(900):
        gap = order.log_estimate(epsilon) - goal
        low, high = (epsilon, high) if gap > 0 else (low, epsilon)
        move = gap / order.saddle(epsilon).tilt if math.isfinite(gap) else math.copysign(math.inf, gap)
        if abs(move) < as_float(epsilon) / 1000 or high - low < high / 1000:
            break
        moved = dyadic(as_float(epsilon) + min(move, 15 * as_float(epsilon)), 40) if move > -math.inf else low
        epsilon = moved if low < moved < high else min(2 * epsilon, dyadic(float(low + high) / 2, 40))
    return epsilon, order.saddle(epsilon).tilt


def first_guess(order: OneDirection, target: Fraction) -> tuple[Fraction, float]:
    """Where the first-order estimate equals the target: it falls with the tilt, about as -bend tilt^2 / 2."""
    goal, low, tilt, high, before = float(log_of(target)), 1e-6, 1.0, 1e9, math.inf
    if order.epoch_model is not None:
        near, fall = order.epoch_model.start(goal)
        return dyadic(near, 40), fall
    for _ in range(60):
        k0, k1, k2 = order.model.cumulants(tilt)
        where, bend = k1 - 1 / tilt - 1 / (1 + tilt), k2 + tilt**-2 + (1 + tilt) ** -2
        gap = k0 - tilt * where - math.log(tilt) - math.log1p(tilt) - 0.5 * math.log(2 * math.pi * bend) - goal
        low, high = (tilt, high) if gap > 0 else (low, tilt)
        if abs(gap) < 0.01 or high / low < 1 + 1e-13:
            break
        moved = math.sqrt(max(tilt * tilt + 2 * gap / bend, 0.0))
        falls, before = abs(gap) < before / 10, abs(gap)
        tilt = moved if falls and max(low, tilt / 30) < moved < min(high, 30 * tilt) else math.sqrt(
            max(low, tilt / 16) * min(high, 16 * tilt))
    return dyadic(max(where, 1e-9), 40), tilt


def _jump_start(order: OneDirection, target: Fraction, above: Fraction, tilt: float) -> tuple[Fraction, float]:
    """Few steps: where one large loss alone would give the target, and how fast log delta falls there."""
    if not order.jumps or order.loss.order == "add" or order.epoch_model is not None:
        return above, tilt
    if order.log_jump(Fraction(0)) < float(log_of(target)):  # no single large loss decides
        return above, tilt
    epsilon = jump_guess(order, target, Fraction(0), above)
    fall = order.log_jump(epsilon) - order.log_jump(epsilon * Fraction(101, 100))
    return (epsilon, fall / (0.01 * as_float(epsilon))) if 0 < fall < math.inf else (above, tilt)


def log_of(value: Fraction) -> arb:
    """log of an exact positive number, at any exponent."""
    return ball(value).log()


def jump_guess(order: OneDirection, target: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """Where delta would equal the target if one large loss decided, by bisection between low and high."""
    goal = float(log_of(target))
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if order.log_jump(middle) > goal else (low, middle)
    return moved_by(high, 0.0, 30.0)


def moved_by(epsilon: Fraction, move: float | Fraction, bits: float) -> Fraction:
    """epsilon + move, kept positive and within a factor 4, as a short dyadic."""
    moved = epsilon + Fraction(move)
    kept = min(max(moved, epsilon / 4), 4 * epsilon)
    scale = Fraction(2) ** (math.ceil(bits) + 12 - kept.numerator.bit_length() + kept.denominator.bit_length())
    return Fraction(round(kept * scale)) / scale


def _log_gap(answer: Answer, target: Fraction) -> float | None:
    """log(delta / target) at the middle of the enclosure, None where that says nothing (it only steers the search)."""
    if width_bits(answer.bounds) < 1:
        return None
    middle = ((answer.bounds.lower + answer.bounds.upper) / 2).mid()
    return float((middle / ball(target)).log()) if middle > 0 else None
