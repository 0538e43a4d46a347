"""eps(delta) of one order: a candidate by secant steps on log delta, then two evaluations that bracket it (T13)."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from flint import arb, ctx

from verified_dp.core.engines.closed import ClosedFormWitness, is_quick
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.answer import Answer, width_bits
from verified_dp.search.deadline import Budget, OutOfTime, hurrying
from verified_dp.search.exactly import FAR_OUT, pair_at_end, past_answer
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.planners.table import EXPANSIONS

_STEEPEST = 8.0
"""Where log delta falls fast in log eps, delta is needed to fewer digits than eps; by no more than this factor."""
_CLEARLY = 4.0
"""Where the tilt times eps is more, eps is not 0."""
FARTHEST = 10**250
"""No larger eps is guessed."""


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
    return answer.bounds.exceed(target)


@proved_by("T13-epsilon-of-delta")
def is_below(answer: Answer, target: Fraction) -> bool:
    """Whether delta(eps) <= target is certain, so that eps(target) <= eps."""
    return answer.bounds.stay_below(target)


@dataclass(frozen=True)
class Question:
    """eps(target) of one order, to a relative width of 10^-digits, by a method within a budget."""

    order: OneDirection
    target: Fraction
    digits: int
    method: str
    budget: Budget

    @cached_property
    def past(self) -> Answer | None:
        """delta past the largest finite loss, where there is one."""
        return past_answer(self.order) if self.order.has_ends else None

    def enclose(self, epsilon: Fraction, bits: float) -> Answer:
        """delta(eps) to a relative width of 2^-bits."""
        return self.order.enclose(epsilon, bits, self.method, self.budget)

    def exceeded(self, answer: Answer) -> bool:
        """Whether delta > target is certain there."""
        return is_above(answer, self.target)

    def met(self, answer: Answer) -> bool:
        """Whether delta <= target is certain there."""
        return is_below(answer, self.target)


def bracket_epsilon(order: OneDirection, target: Fraction, digits: int, method: str, budget: Budget) -> Bracket:
    """Bracket eps(target) = inf {eps >= 0 : delta(eps) <= target} to a relative width of 10^-digits in the budget.

    Where plain Gaussians are too large or too small to search for it (`search.magnitudes`), only whether it is 0 is
    told; Unsupported is raised where other steps are. No upper end is infinite where a moment proves one.
    """
    asked = Question(order, target, digits, method, budget)
    with ctx.workprec(max(64, 4 * digits)):
        known = _bracket_exactly(asked)
        if known is not None:
            return known
        try:
            found = _bracket(asked)
        except OutOfTime:
            found = Bracket(None, None)
        except Unsupported:
            if method != "auto" or asked.past is None:
                raise
            found = Bracket(None, None)
        found = _perhaps_zero(asked, _narrowed(asked, _within_support(asked, found)))
    if method != "auto" or order.is_trivial or (found.upper is not None and (
            found.upper is not asked.past or found.lower is not None)):
        return found
    with ctx.workprec(max(64, 4 * digits)), hurrying(), suppress(Unsupported, OutOfTime):
        by_moments = bracket_by_moments(order, target, method).upper
        return found if by_moments is None else _tighter(asked, found, by_moments, by_moments)
    return found


def _bracket_exactly(asked: Question) -> Bracket | None:
    """What needs no search: the target below the mass at infinity, or equal to it; delta(0) at most the target."""
    order = asked.order
    if not order.has_ends and 0 < asked.target < 1:
        return None
    far_out = order.evaluate(FAR_OUT, ExactWitness(256))
    if asked.exceeded(far_out):  # by the mass at infinity, which no eps takes away (T44)
        return Bracket(far_out, None, never=True)
    at_zero = order.evaluate(Fraction(0), ExactWitness(256))
    if asked.met(at_zero):
        return Bracket(None, at_zero)
    pair = pair_at_end(order, asked.target)
    if pair is not None:
        return Bracket(*pair, never=pair[1] is None)
    return Bracket(None, None) if asked.target == 0 else None


def _bisect_bracket(asked: Question, bracket: Bracket, ask: Callable[[Fraction], Answer]) -> Bracket:
    """Halve a bracket while its ends are too far apart and the middle is decided."""
    bits = asked.digits * math.log2(10) + 40
    for _ in range(4 * asked.digits + 40):
        low, high = bracket.ends
        if high is None or asked.budget.spent or (high - low) * 10**asked.digits <= high:
            break
        middle = moved_by((low + high) / 2, 0.0, bits)
        if not low < middle < high:
            break
        answer = ask(middle)
        if not (asked.exceeded(answer) or asked.met(answer)):
            break
        bracket = _tighter(asked, bracket, answer, answer)
    return bracket


def _within_support(asked: Question, bracket: Bracket) -> Bracket:
    """The largest finite loss as upper end where no smaller one is known."""
    past = asked.past
    if past is None or not asked.met(past):
        return bracket
    nearer = bracket.upper is not None and bracket.upper.epsilon <= past.epsilon
    return bracket if nearer else Bracket(bracket.lower, past)


def _perhaps_zero(asked: Question, bracket: Bracket) -> Bracket:
    """Where nothing shows that epsilon is positive, delta(0) may meet the target: then it is 0."""
    if bracket.lower is not None or bracket.upper is None or not bracket.upper.epsilon or asked.order.loss.only_moments:
        return bracket
    try:
        at_zero = _compare_at_zero(asked)
    except (OutOfTime, Unsupported):
        return bracket
    return Bracket(None, at_zero) if asked.met(at_zero) else bracket


def _narrowed(asked: Question, bracket: Bracket) -> Bracket:
    """Bisect by a closed form that takes no time, where the search in floating point missed: next to the end."""
    order, digits = asked.order, asked.digits
    asks = bracket.upper is not None and asked.method in ("auto", "closed-form") and not order.is_trivial
    if not asks or not order.offered("closed") or not is_quick(order.loss) or order.why_no_floats is not None:
        return bracket
    bits = digits * math.log2(10) + 40
    return _bisect_bracket(asked, bracket, lambda middle: order.evaluate(
        middle, ClosedFormWitness(math.ceil(2 * bits + 40))))


def _bracket(asked: Question) -> Bracket:
    order, target = asked.order, asked.target
    if order.loss.only_moments:
        at_zero = asked.enclose(Fraction(0), 1.0)
        return Bracket(None, at_zero) if asked.met(at_zero) else bracket_by_moments(order, target, asked.method)
    if asked.method in EXPANSIONS:
        return _bracket_by_one(asked)
    if asked.method == "lattice" or order.has_epochs or not order.is_sharp:
        from verified_dp.search.outcomes import has_listed

        own = order.has_epochs or has_listed(order.loss)
        return _bracket_by_one(asked if own else replace(asked, method="lattice"))
    blind = order.why_no_floats is not None
    if blind or order.is_trivial or _is_near_zero(order, target):
        at_zero = _compare_at_zero(asked)
        if not asked.exceeded(at_zero):
            return Bracket(None, at_zero if asked.met(at_zero) else None)
        if blind:
            return Bracket(at_zero, None)
    return _bracket_positive(asked)


def _is_near_zero(order: OneDirection, target: Fraction) -> bool:
    """Whether delta(0) may meet the target, by first-order estimates."""
    epsilon, tilt = first_guess(order, target)
    return tilt * as_float(epsilon) < _CLEARLY and order.log_estimate(Fraction(0)) < float(log_of(target)) + 0.5


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


def _bracket_by_one(asked: Question) -> Bracket:
    """One composition near the answer serves every eps: bisect its upper and its lower bounds."""
    if asked.order.log_estimate(Fraction(0)) < float(log_of(asked.target)) + 2:
        at_zero = asked.enclose(Fraction(0), 12.0)
        if not asked.exceeded(at_zero):
            return Bracket(None, at_zero if asked.met(at_zero) else None)
    epsilon, tilt = guess_epsilon(asked.order, asked.target)
    bracket = Bracket(None, None)
    sharp = asked.digits * math.log2(10) + 1
    for bits in (sharp if asked.budget.end == math.inf or asked.order.has_epochs else 8.0, sharp):
        answer = asked.enclose(epsilon, max(bits - math.log2(tilt * as_float(epsilon)), 6.0))
        bracket = _tighter(asked, bracket, *_bisect(asked, answer, epsilon, bits))
        lower, upper = bracket.ends
        if upper is None or asked.budget.spent or (upper - lower) * 10**asked.digits <= upper:
            break
        epsilon = moved_by((lower + upper) / 2, 0.0, 24.0)
    return bracket


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


def _bisect(asked: Question, answer: Answer, epsilon: Fraction, bits: float) -> tuple[Answer, Answer]:
    """The answers next to where the lower bound stops to exceed the target, and where the upper one falls below it."""
    tests: list[Callable[[Fraction], bool]] = [lambda place: not asked.exceeded(answer.at(place)),
                                               lambda place: asked.met(answer.at(place))]
    found, finest = [], epsilon / 2 ** int(bits + 6)
    for crossed in tests:
        low, high = _spread(crossed, epsilon, finest, bits)
        while high - low > finest:
            middle = moved_by((low + high) / 2, 0.0, bits + 8)
            if middle in (low, high):
                break
            low, high = (low, middle) if crossed(middle) else (middle, high)
        found.append((low, high))
    return answer.at(found[0][0]), answer.at(found[1][1])


def _spread(crossed: Callable[[Fraction], bool], epsilon: Fraction, finest: Fraction,
            bits: float) -> tuple[Fraction, Fraction]:
    """An interval, within a factor 2 of eps and near it if it can be, at whose ends a change is before and behind.

    Far from eps the bounds may be useless.
    """
    up, near, reach = not crossed(epsilon), epsilon, finest
    while reach < epsilon:
        far = moved_by(epsilon + reach if up else epsilon - reach / 2, 0.0, bits + 8)
        if crossed(far) is up:
            break
        near, reach = far, 4 * reach
    else:
        far = 2 * epsilon if up else epsilon / 2
    return min(near, far), max(near, far)


def _compare_at_zero(asked: Question) -> Answer:
    """delta(0) with as many bits as it takes to compare it with the target."""
    answer = asked.enclose(Fraction(0), 4.0)
    for bits in (16.0, 64.0, 256.0, 1024.0):
        if asked.exceeded(answer) or asked.met(answer) or asked.budget.spent:
            break
        answer = asked.enclose(Fraction(0), bits)
    return answer


def _bracket_positive(asked: Question) -> Bracket:
    epsilon, tilt = _jump_start(asked.order, asked.target, *first_guess(asked.order, asked.target))
    best = Bracket(None, None)
    for attempt in range(8):
        bits = asked.digits * math.log2(10) + 3 - math.log2(min(_STEEPEST, tilt * as_float(epsilon))) + 2 * attempt
        epsilon, answer = _refine(asked, epsilon, tilt, bits)
        best = _certify_around(asked, answer, epsilon, bits, best)
        lower, upper = best.ends
        if asked.budget.spent or (upper is not None and (upper - lower) * 10**asked.digits <= upper):
            break
    return best if best.upper is not None else Bracket(best.lower, _met_farther_out(asked, epsilon), best.never)


def _met_farther_out(asked: Question, epsilon: Fraction) -> Answer | None:
    """Where delta is proved to meet the target, some powers of 2 beyond an epsilon that is too small to tell."""
    for power in () if asked.budget.spent else (16, 32, 48):
        answer = asked.enclose(min(epsilon * 2**power, Fraction(1)), 64.0)
        if asked.met(answer):
            return answer
    return None


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
    epsilon = _jump_guess(order, target, Fraction(0), above)
    fall = order.log_jump(epsilon) - order.log_jump(epsilon * Fraction(101, 100))
    return (epsilon, fall / (0.01 * as_float(epsilon))) if 0 < fall < math.inf else (above, tilt)


def log_of(value: Fraction) -> arb:
    """log of an exact positive number, at any exponent."""
    return ball(value).log()


def _refine(asked: Question, epsilon: Fraction, tilt: float, bits: float) -> tuple[Fraction, Answer]:
    """Secant steps on log delta - log target, keeping the values of the last line as long as they are sharp."""
    epsilon = _locate(asked, epsilon, tilt)
    answer, slope = asked.enclose(epsilon, bits), -tilt
    previous: tuple[Fraction, arb] | None = None
    goal = bits + math.log2(1 + abs(float(log_of(asked.target))))
    for _ in range(20):
        gap = _log_gap(answer, asked.target)
        if gap is None or asked.budget.spent:
            break
        if previous is not None and previous[0] != epsilon and previous[1] != gap:
            slope = float((gap - previous[1]) / ball(epsilon - previous[0]))
        move = -float(gap) / slope if slope < 0 else math.inf
        small = abs(move) < 2.0 ** (-goal + 2) * as_float(epsilon)
        if small or not math.isfinite(move):
            break
        previous = epsilon, gap
        epsilon = moved_by(epsilon, move, bits)
        answer = _follow(asked, answer, epsilon, bits, abs(float(gap)))
    return epsilon, answer


def _locate(asked: Question, epsilon: Fraction, tilt: float) -> Fraction:
    """Come near the answer at little cost: secant steps on log delta, kept between the ends known so far.

    An epoch's model, or where steps are few the guess of one large loss, comes near enough.
    """
    if asked.order.epoch_model is not None:
        return epsilon
    if asked.order.few and asked.order.log_jump(epsilon) > -math.inf and asked.order.sketch(epsilon) is None:
        return epsilon
    asked.order.saddle(epsilon, tilt)  # known from here on
    low, slope = Fraction(0), -tilt
    high: Fraction | None = None
    previous: tuple[Fraction, float] | None = None
    for _ in range(30):
        gap, near = _rough_gap(asked, epsilon)
        if asked.budget.spent or gap is None or abs(gap) < near:
            break
        low, high = (epsilon, high) if gap > 0 else (low, epsilon)
        if previous is not None and previous[0] != epsilon and math.isfinite(gap):
            slope = min((gap - previous[1]) / float(epsilon - previous[0]), -1e-9)
        if math.isfinite(gap):
            previous, moved = (epsilon, gap), moved_by(epsilon, -gap / slope, 20.0)
        else:
            moved = _jump_guess(asked.order, asked.target, low, epsilon)
        inside = moved > low and (high is None or moved < high)
        epsilon = moved if inside else moved_by((low + high) / 2 if high else 2 * low, 0.0, 20.0)
    return epsilon


def _rough_gap(asked: Question, epsilon: Fraction) -> tuple[float | None, float]:
    """(log(delta / target) from a sketch, or from few bits; how small it must be); -inf where delta is lost, None where
    nothing tells which side it is on."""
    sketch = asked.order.sketch(epsilon) if asked.method in ("auto", "contour") else None
    if sketch is not None and not math.isnan(found := sketch.log_delta(as_float(epsilon))):
        return found - float(log_of(asked.target)), 1e-3
    answer = asked.enclose(epsilon, 8.0)
    gap = _log_gap(answer, asked.target)
    if gap is None:
        return (-math.inf if asked.met(answer) else None), 0.3
    return float(gap), 0.3


def _jump_guess(order: OneDirection, target: Fraction, low: Fraction, high: Fraction) -> Fraction:
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


def _log_gap(answer: Answer, target: Fraction) -> arb | None:
    """log(delta / target) at the middle of the enclosure, None where that says nothing (it only steers the search)."""
    if width_bits(answer.bounds) < 1:
        return None
    middle = ((answer.bounds.lower + answer.bounds.upper) / 2).mid()
    return (middle.log() - log_of(target)).mid() if middle > 0 else None


def _follow(asked: Question, answer: Answer, epsilon: Fraction, bits: float, gap: float) -> Answer:
    """delta at a nearby eps: with the old values where the step is small, else afresh."""
    if gap < 1.5:
        moved = answer.at(epsilon)
        if _is_sharp(moved, bits):
            return moved
    return asked.enclose(epsilon, bits)


def _is_sharp(answer: Answer, bits: float) -> bool:
    return width_bits(answer.bounds) >= bits - 0.5


def _certify_around(asked: Question, answer: Answer, epsilon: Fraction, bits: float, best: Bracket) -> Bracket:
    """Widen around the candidate until both inequalities are certain."""
    half, found = epsilon / (3 * 10**asked.digits), best
    for _ in range(6):
        below = _follow(asked, answer, moved_by(max(epsilon - half, Fraction(0)), 0.0, bits), bits, 0.0)
        above = _follow(asked, answer, moved_by(epsilon + half, 0.0, bits), bits, 0.0)
        found = _tighter(asked, found, below, above)
        if (asked.exceeded(below) and asked.met(above)) or asked.budget.spent:
            break
        half *= 16
    return found


def _tighter(asked: Question, bracket: Bracket, below: Answer, above: Answer) -> Bracket:
    """The bracket with every end moved inward that one of the two answers proves."""
    lower, upper = bracket.lower, bracket.upper
    for answer in (below, above):
        if asked.exceeded(answer) and (lower is None or answer.epsilon > lower.epsilon):
            lower = answer
        if asked.met(answer) and (upper is None or answer.epsilon < upper.epsilon):
            upper = answer
    return Bracket(lower, upper)
