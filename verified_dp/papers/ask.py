"""A paper's method asked about a composition: the larger of both orders, epsilon(delta) by bracketing.

    accountant(privacy_profile(spec), "fourier", n=50000, L=12).delta("1")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import TypeVar

from flint import arb, ctx

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball, lower_dyadic, upper_dyadic
from verified_dp.core.kernel.bounds import Bounds, reverse_bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.evaluation import Ends, larger
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure, Estimate
from verified_dp.papers.paper import Curve, PaperAnswer, PaperMethod, check_parameters, paper_method
from verified_dp.profile import PrivacyProfile
from verified_dp.search.buckets import round_schedule
from verified_dp.search.deadline import Budget, OutOfTime, check_time, ending_at, hurrying
from verified_dp.search.line import dyadic
from verified_dp.search.magnitudes import require_floats
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import bracket_by_moments

DEFAULT_DIGITS = 4
"""What is asked of a paper's method where nobody says."""
LARGEST = 10**6
"""epsilon(delta) is looked for up to here, and delta(epsilon) asked of the methods."""
ESTIMATED_DIGITS = 8
"""Of the eps at which an estimate crosses delta."""
NEWTON_STEPS = 200
"""From eps = 0 each of the first ones divides delta by about e."""
LATE = {"time": "over before the method had its own bound: 0, and what one moment proves"}
"""Shown in the place of a method's parameters."""
_MANY_LAWS, _BUCKETS = 10, 8
"""From so many distinct laws on what must be cheap is asked of a schedule in so many buckets."""
Ask = Callable[[Fraction], PaperAnswer]
Asked = TypeVar("Asked")


@dataclass(frozen=True)
class PaperResult:
    """What a method says of the composition: an enclosure, an estimate, or both.

    estimates: further approximations by name. parameters: what was used. seconds: wall-clock time.
    """

    method: str
    enclosure: Enclosure | None
    estimate: Estimate | None
    estimates: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class Accountant:
    """One method on the orders of one composition.

    Args:
        profile: of the composition. method: with its parameters.
    """

    def __init__(self, profile: PrivacyProfile, method: PaperMethod) -> None:
        profile.refuse_shuffled("a paper's method")
        self._profile, self._losses, self._method = profile, profile.losses, method

    @alone
    def delta(self, epsilon: Number, digits: int | None = None, max_seconds: float | None = None) -> PaperResult:
        """delta(eps) for any real eps: the larger of both orders (T25), at eps < 0 by reversal (T16).

        Raises: Unsupported where the method does not apply, and beyond eps = +-LARGEST before the largest loss.
        """
        eps, budget = exact.exact(epsilon, "epsilon"), Budget(max_seconds, self._profile.progress)
        digits = DEFAULT_DIGITS if digits is None else exact.digits(digits)

        def ask(loss: ComposedLoss) -> PaperAnswer:
            if eps < 0:
                swapped = loss.in_order(SWAPPED[loss.order])
                return _reversed(self._at(swapped, -eps, digits, budget), eps)
            return self._at(loss, eps, digits, budget)

        with ctx.workprec(4 * digits + 64), ending_at(budget.end, budget.last):
            answers = _all_or_none(self._each(ask))
            ends = [(lower_dyadic(answer.bounds.lower), upper_dyadic(answer.bounds.upper))
                    for answer in answers if answer.bounds is not None]
            late = any(answer.parameters is LATE for answer in answers)
            shown, enclosure = self._enclosed("delta", ends, answers, late, digits, budget)
        names = dict.fromkeys(name for answer in answers for name in answer.estimates)
        largest = {name: text for name in names if (text := _largest([a.estimates.get(name) for a in answers]))}
        return self._result(enclosure, _largest([a.estimate for a in answers]), largest, shown, budget)

    @alone
    def epsilon(self, delta: Number, digits: int | None = None, max_seconds: float | None = None) -> PaperResult:
        """The smallest eps >= 0 with delta(eps) <= delta: proved ends (T13), and where the estimates cross delta."""
        target, budget = exact.open_unit(delta, "delta"), Budget(max_seconds, self._profile.progress)
        digits = DEFAULT_DIGITS if digits is None else exact.digits(digits)
        with ctx.workprec(4 * digits + 64), ending_at(budget.end, budget.last):
            start = self._start(target)
            asks = self._each(lambda loss: self._asker(loss, start, digits, budget))
            answers = _all_or_none([_first(ask, start) for ask in asks])
            own = [(loss, _proved_ends(ask, target, start, digits)) for loss, ask, answer
                   in zip(self._losses, asks, answers, strict=True) if answer.bounds is not None]
            ends = [self._finite(loss, both, target) for loss, both in own]
            helped = ends != [both for _, both in own]
            shown, enclosure = self._enclosed("epsilon", ends, answers, helped, digits, budget)
            names = dict.fromkeys(name for answer in answers for name in answer.estimates)
            found = {name: _largest([_estimated(ask, name, target, start) for ask in asks]) for name in names}
            estimate = _largest([_estimated(ask, None, target, start) for ask in asks])
        return self._result(enclosure, estimate, {k: v for k, v in found.items() if v}, shown, budget)

    def _start(self, target: Fraction) -> Fraction:
        """Where to look first: a guess, or 1 where there was no time for one."""
        try:
            return self._profile.guess_epsilon(target)
        except OutOfTime:
            return Fraction(1)

    def _asker(self, loss: ComposedLoss, start: Fraction, digits: int, budget: Budget) -> Ask:
        """delta of one order at any eps; the curve is made at the first question. Raises OutOfTime, Unsupported."""
        curve: list[Curve] = []

        @cache
        def ask(epsilon: Fraction) -> PaperAnswer:
            check_time()
            if not curve:
                budget.say(f"{self._method.name}: the order {loss.order}")
                curve.append(self._method.curve(loss, start, digits, budget))
            return curve[0].delta(epsilon)

        return ask

    def _at(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> PaperAnswer:
        """delta at eps >= 0 by the method; past the deadline what one moment proves."""
        try:
            return self._by_method(loss, epsilon, digits, budget)
        except OutOfTime:
            return PaperAnswer(self._hurried(loss, epsilon), parameters=LATE)

    @proved_by("T140-bucketed-schedule")
    def _hurried(self, loss: ComposedLoss, epsilon: Fraction) -> Bounds:
        """0, and one moment's bound of the schedule, or of a louder one of fewer steps."""
        found = OneDirection(self._few_laws(loss)).hurried(epsilon, "auto").bounds
        return Bounds(arb(0), found.upper, found.budget)

    @proved_by("T140-bucketed-schedule")
    def _few_laws(self, loss: ComposedLoss) -> ComposedLoss:
        """In the same order the loss of a schedule of fewer steps, whose delta is nowhere smaller; itself if short."""
        if len(loss.laws) < _MANY_LAWS:
            return loss
        _, louder = round_schedule(self._profile.composition, _BUCKETS)
        return type(self._profile)(louder, self._profile.relation).losses[0].in_order(loss.order)

    @proved_by("T13-epsilon-of-delta", "T140-bucketed-schedule")
    def _finite(self, loss: ComposedLoss, ends: Ends, target: Fraction) -> Ends:
        """The ends; where the upper one is infinite, what one moment proves instead."""
        lower, upper = ends
        if upper.is_infinite:
            with hurrying(), suppress(Unsupported, OutOfTime):
                found = bracket_by_moments(OneDirection(self._few_laws(loss)), target, "auto").upper
                upper = upper if found is None else Dyadic.of_fraction(found.epsilon)
        return lower, upper

    def _by_method(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> PaperAnswer:
        """Past the largest loss it is the infinity mass; far out nothing is computed before that."""
        if epsilon > LARGEST:
            past = enclose_past_support(loss, epsilon)
            if not past.upper < 1:
                raise Unsupported(f"eps must be from -{LARGEST} to {LARGEST} for {self._method.name}")
            return PaperAnswer(past, parameters={"support": "eps is past the largest loss"})
        check_time()
        budget.say(f"{self._method.name}: the order {loss.order}")
        return self._method.curve(loss, epsilon, digits, budget).delta(epsilon)

    @property
    def _is_one_law(self) -> bool:
        """Whether there are two orders, and both are the same law."""
        first, *others = self._losses
        return bool(others) and all(first.equals_in_law(other) for other in others)

    def _each(self, ask: Callable[[ComposedLoss], Asked]) -> list[Asked]:
        """What is asked of each order, asked once where all are the same law. Raises Unsupported."""
        for loss in self._losses:
            require_floats(loss)
        if self._is_one_law:
            return [ask(self._losses[0])] * len(self._losses)
        return [ask(loss) for loss in self._losses]

    def _enclosed(self, quantity: str, ends: Sequence[Ends], answers: Sequence[PaperAnswer], helped: bool,
                  digits: int, budget: Budget) -> tuple[PaperAnswer, Enclosure | None]:
        """The answer whose parameters and errors are shown, and the enclosure; None where some order has no ends.

        Shown is the order proved the larger, else the one with the larger upper end, or estimate. helped: whether
        one moment proves an end that the method does not.
        """
        if len(ends) < len(answers):
            return max(answers, key=lambda answer: _number(answer.estimate or "0")), None
        orders = [loss.order for loss in self._losses]
        both, order = larger(dict(zip(orders, ends, strict=True)))
        shown = answers[max(range(len(ends)), key=lambda i: ends[i][1]) if order == "both" else orders.index(order)]
        methods = (self._method.name, "renyi") if helped and self._method.name != "renyi" else (self._method.name,)
        sources = {name: upper_dyadic(size) for name, size in (shown.bounds.budget if shown.bounds else {}).items()}
        return shown, self._profile.enclosure(quantity, both, order=order, method=self._method.name,
                                              methods=methods,
                                              sources=sources, digits=digits, spent=budget, certifiable=False)

    def _result(self, enclosure: Enclosure | None, estimate: str | None, estimates: Mapping[str, str],
                shown: PaperAnswer, budget: Budget) -> PaperResult:
        typed = None if estimate is None else Estimate(estimate, self._method.name, shown.reason)
        once = {"orders": "both are the same law, computed once"} if self._is_one_law else {}
        return PaperResult(self._method.name, enclosure, typed, estimates, {**shown.parameters, **once}, budget.elapsed)


def accountant(profile: PrivacyProfile, method: str | PaperMethod, **parameters: Number) -> Accountant:
    """One of the papers' methods on the profile's composition; parameters are the paper's own.

    Raises: InvalidInput for an unknown method or parameter, and for one that is too large or too small.
    """
    found = paper_method(method, parameters) if isinstance(method, str) else method
    check_parameters(found)
    return Accountant(profile, found)


def _first(ask: Ask, epsilon: Fraction) -> PaperAnswer:
    """The answer there; past the deadline that nothing is known."""
    try:
        return ask(epsilon)
    except OutOfTime:
        return PaperAnswer(Bounds(arb(0), arb(1), {}), parameters=LATE)


def _all_or_none(answers: list[PaperAnswer]) -> list[PaperAnswer]:
    """Of a method that only estimates: 0 <= delta <= 1 in every order where some order had no time."""
    if all(answer.parameters is not LATE for answer in answers):
        return answers
    return [answer if answer.bounds is not None else replace(answer, bounds=Bounds(arb(0), arb(1), {}))
            for answer in answers]


@proved_by("T16-reversal")
def _reversed(answer: PaperAnswer, epsilon: Fraction) -> PaperAnswer:
    """delta(eps) at eps < 0 from the swapped order's answer at -eps."""
    bounds = None if answer.bounds is None else reverse_bounds(answer.bounds, epsilon)
    estimates = {name: _reversed_text(text, epsilon) for name, text in answer.estimates.items()}
    estimate = None if answer.estimate is None else _reversed_text(answer.estimate, epsilon)
    return PaperAnswer(bounds, estimate, answer.reason, answer.parameters, estimates)


def _reversed_text(text: str, epsilon: Fraction) -> str:
    value = -ball(epsilon).expm1() + ball(epsilon).exp() * _number(text)
    return value.mid().str(15, radius=False)


def _largest(texts: Sequence[str | None]) -> str | None:
    """The largest of some decimals; None where one is missing."""
    known = [text for text in texts if text is not None]
    return max(known, key=_number) if known and len(known) == len(texts) else None


def _number(text: str) -> arb:
    """A decimal of any exponent, rounded at the working precision: estimates may be far too small for a Fraction."""
    return arb(text).mid()


@proved_by("T13-epsilon-of-delta")
def _proved_ends(ask: Ask, target: Fraction, start: Fraction, digits: int) -> Ends:
    """(eps_lo, eps_hi): delta(eps_lo) > target, or eps_lo = 0; delta(eps_hi) <= target, or +inf where that fails."""

    def is_above(epsilon: Fraction) -> bool:
        bounds = ask(epsilon).bounds
        return bounds is not None and bool(bounds.lower > ball(target))

    def may_be_above(epsilon: Fraction) -> bool:
        bounds = ask(epsilon).bounds
        return bounds is None or not bool(bounds.upper <= ball(target))

    low, _ = _cross(is_above, start, digits)
    _, high = _cross(may_be_above, start, digits)
    return Dyadic.of_fraction(low or Fraction(0)), Dyadic.infinity() if high is None else Dyadic.of_fraction(high)


def _estimated(ask: Ask, name: str | None, target: Fraction, start: Fraction) -> str | None:
    """Where an estimate of delta falls below the target, as a decimal; None where it is missing or does not fall."""

    def text(epsilon: Fraction) -> str | None:
        answer = ask(epsilon)
        return answer.estimate if name is None else answer.estimates.get(name)

    with suppress(OutOfTime):
        if text(start) is None:
            return None
        if name is None and ask(start).slope is not None:
            return _newton(ask, target)
    _, high = _cross(lambda epsilon: bool(_number(text(epsilon) or "0") > ball(target)), start, ESTIMATED_DIGITS)
    return None if high is None else f"{float(high):.9g}"


def _newton(ask: Ask, target: Fraction) -> str | None:
    """Where an estimate with a slope is the target, by Newton's iteration from eps = 0; None where it does not end."""
    epsilon = 0.0
    for _ in range(NEWTON_STEPS):
        answer = ask(Fraction(epsilon))
        gap, slope = _number(answer.estimate or "0") - ball(target), _number(answer.slope or "0")
        if abs(gap) * 10**ESTIMATED_DIGITS <= ball(target) or (epsilon == 0 and gap < 0):
            return f"{epsilon:.9g}"
        if not slope < 0:
            return None
        epsilon = max(epsilon - float(gap / slope), 0.0)
    return None


def _cross(above: Callable[[Fraction], bool], start: Fraction, digits: int) -> tuple[Fraction | None, Fraction | None]:
    """The last eps tried that is above and the first that is not, next to each other; None where there is none.

    Past the deadline, those found so far.
    """
    low, high = Fraction(0), start
    not_above: Fraction | None = None
    with suppress(OutOfTime):
        while above(high):
            low, high = high, 2 * high
            if low > LARGEST:
                return low, None
        not_above = high
        if not low and not above(low):
            return None, low
        while (not_above - low) * 10 ** (digits + 1) > not_above:
            middle = dyadic(float(low + not_above) / 2, 52)
            if not low < middle < not_above:
                break
            low, not_above = (middle, not_above) if above(middle) else (low, middle)
    return low, not_above
