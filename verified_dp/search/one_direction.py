"""One direction of one composition: delta(eps) to the asked relative width, by whichever engine offers the best plan.

    direction.enclose(epsilon, bits, method, budget)

The loop takes the quickest plan that promises enough, evaluates its witness in the kernel, asks for more bits by what
was missed, and intersects what all engines gave. Floating point proposes; bounds hold for whatever was proposed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from flint import arb, ctx

from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.engines.lines import ReversedValues
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.search.answer import Answer, intersect, width_bits
from verified_dp.search.deadline import Budget, OutOfTime, check_time, ending_at, hurrying
from verified_dp.search.estimates import Estimates
from verified_dp.search.line import as_float
from verified_dp.search.planners.plan import Asked, Plan, Planner
from verified_dp.search.planners.table import EXPANSIONS, ROWS, Candidate

COARSE = 14.0
"""Where sharp methods give fewer bits than this, the lattice is asked for as many."""
ENOUGH = {1: COARSE, 2: COARSE, 3: 1.0}
"""Bits with which planners of these ranks are not asked."""
FIRST, FIRST_BITS, SLOW, FIRST_SHARE = "lattice", 9.0, 1.0, 0.3
"""Before the first plan that takes so many seconds this planner gives so many bits in a share of its time; where a time
is stated, before what takes such a share of that."""
PLANNING = 0.5
"""The most of what is left of a stated time that one plan takes."""
SHARP = "closed", "halves", "epochs", "few_steps"
"""Planners, beside contours, whose cost hardly grows with the digits."""
_MOST_SHORTFALL = 40.0
"""By no more bits are next questions asked for more."""
BOTH_WAYS = "line", "marked", "rays"
"""Kinds of witnesses whose values tell the swapped direction too."""
NOT_OFFERED = {
    "closed-form": "no closed form: it exists for Gaussian steps alone and for one sampled step alone",
    "contour": "the contour method needs the transform of every step; one of them has none: use lattice",
    "lattice": "nothing depends on the data: there is no law to compose",
    **dict.fromkeys(EXPANSIONS, "an expansion needs the transform of every step; one of them has none: use lattice"),
}
"""What is said where no planner of a method applies."""


class OneDirection(Estimates):
    """delta(eps) of one composed loss, with its models and planners kept between questions."""

    def __init__(self, loss: ComposedLoss) -> None:
        super().__init__(loss)
        self.kept_answers: dict[Planner, Answer] = {}  # of planners that serve other eps too
        self.shortfall = 0.0  # bits by which the last plan missed its promise

    is_attacked: ClassVar[bool] = False
    """Whether lower ends come from attacks, because the loss itself is not known."""

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """One for every row."""
        return tuple(Candidate(row, self) for row in ROWS)

    @cached_property
    def is_sharp(self) -> bool:
        """Whether more digits cost little: everything but the lattice."""
        return self.has_contour or any(self.offered(file) for file in SHARP)

    def offered(self, file: str) -> Planner | None:
        """The planner of a file in `planners`, where it applies."""
        return next((one.planner for one in self.candidates if one.row.file == file), None)

    @cached_property
    def has_epochs(self) -> bool:
        """Whether the loss is that of several epochs of random allocation, which have lines of their own."""
        return not self.has_contour and self.offered("epochs") is not None

    def enclose_by(self, file: str, epsilon: Fraction, bits: float, budget: Budget) -> Answer | None:
        """What the plans of this planner give; None where it has none."""
        return Search(self, Asked(epsilon, bits, budget.left, "auto"), budget, file).run()

    @cached_property
    def has_ends(self) -> bool:
        """Whether something may be known of delta without a search."""
        return self.loss.only_moments or self.offered("exact") is not None

    def enclose(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        """Enclose delta(eps) to a relative width of 2^-bits if the budget allows; the best that was found otherwise.

        Past a stated deadline, what one moment proves.

        Raises Unsupported where numbers are too large or too small for the search (`search.magnitudes`); plain Gaussian
        steps and a single step take any.
        """
        if self.loss.only_moments and method != "auto":
            from verified_dp.core.families.guarantees.renyi import ONLY_MOMENTS

            raise Unsupported(ONLY_MOMENTS)
        try:
            found = Search(self, Asked(epsilon, bits, budget.left, method), budget).run()
        except OutOfTime:
            found = None
        return self.hurried(epsilon, method) if found is None else found

    def hurried(self, epsilon: Fraction, method: str) -> Answer:
        """Some bounds on delta(eps) at little cost: one moment's where every method may be used and there is time."""
        if method == "auto" and not self.is_trivial:
            with hurrying(), suppress(Unsupported, OutOfTime):
                return self.moments.quick(epsilon)
        return self.evaluate(epsilon, ExactWitness(256))

    def evaluate(self, epsilon: Fraction, witness: Witness, between: Callable[[], None] = check_time) -> Answer:
        """Run the kernel on a witness. Raises OutOfTime past the deadline."""
        values = evaluate(self.loss, witness, between)
        return Answer(epsilon, witness, values, values.delta(epsilon))

    def exactly(self, epsilon: Fraction) -> Answer | None:
        """delta(eps) as a rational number, where it is known as one."""
        answer = self.evaluate(epsilon, ExactWitness(max(ctx.prec, 64) + 64))
        exact = answer.bounds.exact_lower
        return answer if exact is not None and exact == answer.bounds.exact_upper else None

    def is_past_support(self, epsilon: Fraction, bits: float) -> bool:
        """Whether no finite loss is larger: then delta(eps) is known."""
        found = self.evaluate(epsilon, ExactWitness(max(256, math.ceil(bits) + 64))).bounds
        return bool(found.upper < 1 or found.lower == 1)

    def quick_upper(self, epsilon: Fraction) -> Answer:
        """A cheap upper bound on delta(eps), near the best that Chernoff gives."""
        return self.chernoff(epsilon, self.saddle(epsilon).tilt)

    def chernoff(self, epsilon: Fraction, tilt: float) -> Answer:
        """The bound of one moment, by few nodes."""
        from verified_dp.search.planners.moment import quick_witness

        return self.evaluate(epsilon, quick_witness(self, tilt))

    def reversed(self, answer: Answer, other: OneDirection, goal: arb) -> Answer | None:
        """The other order by the line or rays that gave this answer, where that shows it at most the goal.

        At eps = 0 both orders are equal.
        """
        line: Any = answer.witness
        values, epsilon = answer.values, answer.epsilon
        tells = line.kind in BOTH_WAYS and getattr(values, "witness", None) is line  # not what was made of its values
        tells = tells and not getattr(line, "reaches", ())  # outcomes that are left out are bounded in one order alone
        if not (tells and self.is_swapped(other)):
            return None
        found = ReversedValues(values, line.prec)
        bounds = found.delta(epsilon)
        shown = epsilon == 0 or (epsilon > 0 and bounds.upper <= goal)
        return Answer(epsilon, replace(line, tilt=-1 - line.tilt), found, bounds) if shown else None


@dataclass
class Search:
    """One question: the loop over plans."""

    direction: OneDirection
    asked: Asked
    budget: Budget
    only: str = ""

    def __post_init__(self) -> None:
        self._best: dict[Planner, Answer] = {}
        self._last: dict[Planner, Answer] = {}
        self._asks: dict[Planner, Asked] = {}
        self._plans: dict[Planner, Plan | None] = {}
        self._failure: Unsupported | None = None
        self._rank = 0  # of the plans that are compared
        self._ranks: dict[Planner, int] = {}
        self._goals: dict[Planner, float] = {}  # bits that are wanted of a planner
        self._first: Planner | None = None  # that was asked for a coarse answer before a long run

    def run(self) -> Answer | None:
        """The intersection of the best answers of all planners; None where there is none.

        Raises Unsupported where none applies, or all fail and the method is given; OutOfTime without an answer.
        """
        try:
            self._look_at_kept()
            while not self._is_done:
                chosen = self._choose()
                if chosen is None:
                    break
                self._try(*chosen)
        except OutOfTime:
            if not self._best:
                raise
        if self._best:
            return intersect(list(self._best.values()))
        if self.asked.method != "auto":
            raise self._failure or Unsupported(self._why_none())
        if self._failure is not None and self.direction.why_no_floats is not None:
            raise self._failure
        return None

    def _why_none(self) -> str:
        if any(one.row.method and one.planner for one in self._candidates):
            return f"the method {self.asked.method} finds no answer here in the time that there is"
        return NOT_OFFERED.get(self.asked.method, "no method applies")

    def _look_at_kept(self) -> None:
        """What earlier questions left, at this eps."""
        for one in self._candidates if self.direction.kept_answers else ():
            if one.planner in self.direction.kept_answers:
                answer = self.direction.kept_answers[one.planner]
                self._best[one.planner], self._ranks[one.planner] = answer.at(self.asked.epsilon), one.row.rank

    @property
    def _reached(self) -> float:
        """Bits of the best answer, -inf without one."""
        return self._reached_before(4)

    def _reached_before(self, rank: int) -> float:
        """The same of the planners of earlier ranks."""
        return max((width_bits(answer.bounds) for planner, answer in self._best.items()
                    if self._ranks[planner] < rank), default=-math.inf)

    @property
    def _is_done(self) -> bool:
        return self._reached >= self.asked.bits or (bool(self._best) and self.budget.spent)

    @property
    def _candidates(self) -> Iterable[Candidate]:
        """Those that the method names."""
        methods = "", self.asked.method
        return (one for one in self.direction.candidates if one.row.file == self.only or (not self.only and (
            ("auto" in methods and one.row.method not in EXPANSIONS) or one.row.method in methods)))

    def _choose(self) -> tuple[Planner, Plan] | None:
        """The quickest plan of the first rank that promises enough; else the one that promises most."""
        found: list[tuple[Planner, Plan]] = []
        for one in self._candidates:
            rank = one.row.rank
            if (found and rank > self._rank) or (
                    rank and self._reached_before(rank) >= min(self.asked.bits, ENOUGH[rank])):
                break
            enough = [plan.seconds for known, plan in found if plan.bits >= self._asked_of(known).bits]
            if (enough and min(enough) <= one.planning) or one.planner is None:
                continue
            if rank and self._is_stated and self.direction.few and not found and (
                    first := self._coarse(FIRST_SHARE * self.budget.left)):
                return first
            self._rank = rank
            self._ranks[one.planner] = rank
            plan = self._planned(one.planner)
            found += [] if plan is None else [(one.planner, plan)]
        chosen = min(found, key=self._merit, default=None)
        slow = FIRST_SHARE * self.budget.left if self._is_stated else SLOW
        if chosen is None or chosen[1].seconds < slow:
            return chosen
        return self._coarse(FIRST_SHARE * chosen[1].seconds) or chosen

    def _coarse(self, seconds: float) -> tuple[Planner, Plan] | None:
        """A coarse lattice before what takes long, so that a time which ends too soon has an answer."""
        one = next((one for one in self._candidates if one.row.file == FIRST), None)
        if one is not None and one.planner not in (None, self._first) and not self._best:
            self._first, self._ranks[one.planner] = one.planner, one.row.rank
            with suppress(Unsupported, OverflowError, ZeroDivisionError, ValueError, OutOfTime), ending_at(
                    time.perf_counter() + seconds):
                first = one.planner.plan(replace(self.asked, bits=FIRST_BITS, seconds=seconds))
                if first is not None and first.seconds < seconds:
                    return one.planner, replace(first, limit=seconds)
        return None

    def _merit(self, offer: tuple[Planner, Plan]) -> tuple[float, float]:
        planner, plan = offer
        return max(self._asked_of(planner).bits - plan.bits, 0.0), plan.seconds

    def _asked_of(self, planner: Planner) -> Asked:
        """What is asked of a planner now: of later ranks a coarse answer where one is known."""
        if planner not in self._asks:
            known = self._rank and self._reached_before(self._rank) > -math.inf
            bits = self._goals[planner] = min(self.asked.bits, COARSE) if known else self.asked.bits
            spare = planner.spare + (0.0 if self._rank else self.direction.shortfall)
            self._asks[planner] = replace(self.asked, bits=bits + spare)
        return self._asks[planner]

    def _planning(self) -> AbstractContextManager[None]:
        """A plan of the first ranks takes at most half of a stated time, so that later ones have the rest."""
        bounded = self._is_stated and not self._rank
        return ending_at(time.perf_counter() + PLANNING * self.budget.left) if bounded else nullcontext()

    @property
    def _is_stated(self) -> bool:
        """Whether a time is stated."""
        return self.budget.end < math.inf

    def _planned(self, planner: Planner) -> Plan | None:
        """Its plan for what is asked of it, made once; None where it has no more."""
        if planner not in self._plans:
            asked, best = replace(self._asked_of(planner), seconds=self.budget.left), self._best.get(planner)
            if best is not None and width_bits(best.bounds) >= self._goals[planner]:
                return None
            try:
                with self._planning():
                    self._plans[planner] = planner.plan(asked) if asked.misses < planner.tries else None
            except OutOfTime:  # of planning alone, unless the question's own is over
                check_time()
                self._plans[planner] = None
            except Unsupported as error:  # another may answer
                self._plans[planner], self._failure = None, self._failure or error
            except (OverflowError, ZeroDivisionError, ValueError) as error:  # floats have no room for its choices
                if isinstance(error, InvalidInput):
                    raise
                self._plans[planner] = None
        return self._plans[planner]

    def _try(self, planner: Planner, plan: Plan) -> None:
        """Evaluate a plan, and learn from what it gave."""
        if plan.seconds > 1:
            name = type(planner).__name__.lower()
            digits = min(plan.bits, self.asked.bits) / math.log2(10)
            self.budget.say(f"{name}: about {plan.seconds:.0f} s for {digits:.0f} digits of "
                            f"delta({as_float(self.asked.epsilon):.6g})")
        start, answer = time.perf_counter(), None
        coarse = self._plans.pop(planner, None) is not plan
        with suppress(Undecided):
            answer = self._evaluated(planner, plan, start)
        if answer is not None:
            planner.learn(plan, answer, time.perf_counter() - start)
            self._keep(planner, plan, answer)
        if coarse:
            return
        asked = self._asked_of(planner)
        if self._is_last(planner, plan, answer):
            self._plans[planner] = None
        self._asks[planner] = replace(asked, bits=self._more(planner, asked, answer), misses=asked.misses + 1)
        if answer is not None:
            self._last[planner] = answer

    def _evaluated(self, planner: Planner, plan: Plan, start: float) -> Answer | None:
        """The answer; None where the plan's own limit was over first, or its witness does not suit the loss."""
        def between() -> None:
            check_time()
            if time.perf_counter() > start + plan.limit:
                raise TimeoutError

        check_time()
        try:
            return self.direction.evaluate(self.asked.epsilon, plan.witness(), between)
        except TimeoutError:
            return None
        except (InvalidInput, ValueError) as error:
            name = type(planner).__name__.lower()
            self._failure = self._failure or Unsupported(f"no witness that suits the loss was found ({name}): {error}")
            return None

    def _keep(self, planner: Planner, plan: Plan, answer: Answer) -> None:
        """The narrowest answer of each planner, or the lowest."""
        before = self._best.get(planner)
        if before is None or (width_bits(answer.bounds), -float(answer.bounds.upper)) > (
                width_bits(before.bounds), -float(before.bounds.upper)):
            self._best[planner] = answer
            if planner.serves:
                self.direction.kept_answers[planner] = answer
            if not (self._rank or planner is self._first):
                missed = min(plan.bits, self._asked_of(planner).bits) - planner.spare - width_bits(answer.bounds)
                self.direction.shortfall = min(max(missed, 0.0), _MOST_SHORTFALL)

    def _is_last(self, planner: Planner, plan: Plan, answer: Answer | None) -> bool:
        """Whether more bits would change nothing: for lack of time, or because the last ones did not."""
        if planner.refines:
            return False
        if plan.bits < self._asked_of(planner).bits - 1.5:
            return True
        before = self._last.get(planner)
        return (answer is not None and before is not None and width_bits(answer.bounds) <= 0
                and bool(1 > answer.bounds.upper == before.bounds.upper))

    def _more(self, planner: Planner, asked: Asked, answer: Answer | None) -> float:
        """Bits to ask next: more by those that were missed, or many more where delta was lost in its error."""
        reached = 0.0 if answer is None else width_bits(answer.bounds)
        if planner.refines or not planner.least:
            return asked.bits
        if reached > 0:
            return asked.bits + max(planner.least, self.asked.bits - reached + planner.least - 1)
        bits, many = self.asked.bits, 2 * asked.bits + 20
        if self.direction.why_no_floats is not None:
            return many
        lost = (self.direction.log_estimate(asked.epsilon) - self.direction.log_jump(asked.epsilon)) / math.log(2)
        return bits + lost + 10 if asked.bits < bits + lost < bits + 400 else many
