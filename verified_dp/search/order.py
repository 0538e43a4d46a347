"""One order of one composition: witnesses that enclose delta(eps) to the asked relative width, by any method.

Floating point proposes a witness, the kernel encloses delta with it, and the width it reaches says whether
to ask again with more bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial

from flint import arb, ctx

from verified_dp.core.engines.chernoff import ChernoffWitness
from verified_dp.core.engines.closed import ClosedFormWitness, has_closed_form, is_quick, is_single
from verified_dp.core.engines.contour import LineValues, LineWitness, ReversedValues
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.marked import MarkedValues, MarkedWitness
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.rational import ExactWitness
from verified_dp.core.engines.support import SupportWitness
from verified_dp.core.families.guarantees.renyi import ONLY_MOMENTS
from verified_dp.core.kernel.balls import ball, lower_dyadic
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.core.kernel.law import SWAPPED, is_on_lines
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.search.allocation import EpochModel, epoch_model, one_round_tells
from verified_dp.search.answer import Answer, intersect, width_bits
from verified_dp.search.deadline import OutOfTime, check_time, grace, hurrying, is_stopped
from verified_dp.search.end_engine import EndEngine
from verified_dp.search.epochs import EpochsPlan, has_epochs, plan_epochs
from verified_dp.search.halves import has_halves, plan_halves
from verified_dp.search.lattice_engine import LatticeEngine
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.line import as_float, choose_family_nodes, choose_line, dyadic, panel_rule, plan_line
from verified_dp.search.magnitudes import require_floats, why_no_floats
from verified_dp.search.marked import choose_marked, plan_marked
from verified_dp.search.models import FloatLoss, float_loss
from verified_dp.search.moment_engine import MomentEngine
from verified_dp.search.outcomes import has_listed, plan_outcomes
from verified_dp.search.rays import choose_rays, plan_rays
from verified_dp.search.saddle import Saddle, choose_saddle
from verified_dp.search.sketch import Sketch, choose_sketch
from verified_dp.search.steps import step_of_all_atoms

COARSE = 14.0
"""Where the contour gives fewer bits than this, the lattice is asked for as many."""
SLOW_LINE = 0.1
"""Where a line of one or two laws would take more seconds than this, rays are tried."""
QUICK_RAYS = 0.5
"""Where rays take less, no line of marked losses is tried."""
MAX_TILT, LARGEST_TILT = 1e5, 1e8
"""Beyond such tilts no rays are tried, and beyond the second no line: only Chernoff bounds delta there."""
FAINTEST = -2e7
"""Below e^FAINTEST sampled steps take longer than is predicted: only Chernoff bounds delta there."""
MANY_NODES = 50_000
"""A bound that only has to be cheap uses at most so many nodes."""
FEW_STEPS = 50
"""With at most so many steps, and plain Gaussian ones of no more than FAINT_SHIFT, one large loss decides."""
FAINT_SHIFT = Fraction(1, 100)
"""Of the mean shifts' squares' sum."""
ROUGH, STEEP = 60.0, 10.0
"""Where the exponent's curvature times the tilt squared is above the first, and the variance at the tilt so many times
that at 0.7 of it, first-order estimates of delta may be rough."""
FEW_BITS, ROUGHLY = 16.0, 4.0
"""So few bits are not worth a better estimate, but some more."""
_SPARE_BITS, _SPARE_OF_FEW = 1.0, 3.0
"""Asked beyond what is wanted; plans mostly reach two more, but not those of few steps."""
LEAST_GAP = 0.02
"""By how much two orders' logarithms are taken to differ at least."""
_OUTCOMES_SECONDS, _FEWEST_BITS = 20.0, 6.0
"""For one sum over the outcomes of laws on no grid; what it must promise."""
NEAR = 1.5
"""How far, in log delta, one sketch is used."""
_TURNS = 5
"""Lines for epochs in turn, where estimates of delta are too large: with 1, 4, 16, .. spare bits."""
_FAR = (1000, 100)
"""How much farther from the largest loss than eps a grid is chosen: one for eps itself would be too fine."""
EPOCH_SHARE, FEWEST_BITS = 0.3, 64
"""Of the time left, for a hyperbola of random allocation; bits that it always has."""
_WIDER = 1 / 16
"""Of the bits that cancel, by how many terms may be larger still: hyperbolas are wider by as many."""
DEFAULT_SECONDS = 120.0
"""The budget of one question where none is stated."""


class Budget:
    """Wall-clock limit of one question; `spent` becomes true when it is over."""

    def __init__(self, seconds: float | None, progress: Callable[[str], None] | None = None,
                 reserve: float = 0.0) -> None:
        """reserve: seconds for a cheap bound, of which those past the grace are left, at most half of those stated.

        end, last: the deadlines of searches and of cheap bounds.
        """
        self.start, self._progress, self.seconds = time.perf_counter(), progress, DEFAULT_SECONDS
        self.end = self.last = math.inf
        if seconds is not None:
            self.seconds = seconds - min(max(reserve - grace(seconds), 0.0), seconds / 2)
            self.end, self.last = self.start + self.seconds, self.start + seconds + grace(seconds)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.start

    @property
    def left(self) -> float:
        """Seconds left, at least a little."""
        return 0.05 if is_stopped() else max(self.seconds - self.elapsed, 0.05)

    @property
    def spent(self) -> bool:
        return is_stopped() or self.elapsed > self.seconds

    def allows(self, seconds: float) -> bool:
        """Whether work of this predicted length should start."""
        return (self.elapsed + seconds <= self.seconds and not is_stopped()) or seconds < 0.05

    def say(self, text: str) -> None:
        """Tell the caller what is about to run."""
        if self._progress is not None:
            self._progress(text)


FloatModel = FloatLoss | LatticeModel | EpochModel
"""What guesses come from."""


class SingleOrder:
    """delta(eps) of one composed loss, with its floating-point model kept between questions."""

    def __init__(self, loss: ComposedLoss) -> None:
        self.loss = loss
        self.lattice, self.moments, self.end = LatticeEngine(loss), MomentEngine(loss), EndEngine(loss)
        self._model: FloatModel | None = None
        self._sketch: tuple[float, Sketch] | None = None  # the last one, and where
        self.shown: tuple[Fraction, float] | None = None  # eps, and log delta there, where that is known
        self._saddle: tuple[Fraction, Saddle] | None = None  # the last one
        self._halves: list[Answer] = []  # the last one
        self._epochs: list[Answer] = []  # the last one
        self._shortfall = 0.0  # bits by which the last width missed its prediction
        self._beside = math.inf  # log of the error that delta(-eps) may have, if a line shall be read there too

    @property
    def model(self) -> FloatModel:
        if self._model is None:
            require_floats(self.loss)
            self._model = float_loss(self.loss, shared=True) if self.has_contour else (
                epoch_model(self.loss) or self.lattice.model)
        return self._model

    @property
    def _float_model(self) -> FloatLoss:
        """The contour's model. Raises Unsupported where some law has no transform."""
        if not isinstance(self.model, FloatLoss):
            raise Unsupported("the contour method needs the transform of every step; one of them has none: use lattice")
        return self.model

    @property
    def has_contour(self) -> bool:
        """Whether the contour method applies: every law has a transform, and their product decays."""
        seen = lines(self.loss)
        return seen.has_line and seen.decays and not any(is_on_lines(law) for law, _ in self.loss.parts)

    @cached_property
    def has_epochs(self) -> bool:
        """Whether the loss is that of several epochs of random allocation, which have lines of their own."""
        return has_epochs(self.loss)

    @cached_property
    def _added(self) -> LatticeModel:
        """The model of the add order."""
        return self.lattice.model if self.loss.order == "add" else LatticeModel(self.loss.in_order("add"))

    @property
    def tilt(self) -> float | None:
        """Of the last saddle point."""
        return self._saddle[1].tilt if self._saddle else None

    @property
    def is_sharp(self) -> bool:
        """Whether more digits cost little: everything but the lattice."""
        return self.has_contour or has_closed_form(self.loss) or self.has_halves or self.has_epochs

    def saddle(self, epsilon: Fraction, start: float | None = None) -> Saddle:
        """The saddle point at eps, from the last one on; needs at least one step with noise."""
        if self._saddle is None or self._saddle[0] != epsilon:
            self._saddle = epsilon, self._find_saddle(epsilon, start or self.tilt or 1.0)
        return self._saddle[1]

    def _find_saddle(self, epsilon: Fraction, start: float) -> Saddle:
        if isinstance(self.model, LatticeModel):
            return self.model.saddle(as_float(epsilon))
        return choose_saddle(self.model, as_float(epsilon), start)

    def log_estimate(self, epsilon: Fraction, start: float | None = None) -> float:
        """log of a first-order estimate of delta(eps), -inf past the support; start: a tilt to begin with."""
        if self.loss.only_moments:
            return self.moments.log_bound(epsilon)
        if self.is_trivial or epsilon >= self.model.largest:
            return -math.inf
        if isinstance(self.model, EpochModel):
            return self.model.log_delta(as_float(epsilon))
        return self.saddle(epsilon, self.tilt or start).log_delta

    @property
    def is_trivial(self) -> bool:
        """No step depends on the data at all."""
        return not self.loss.parts and not self.loss.mean_shift_squared

    def enclose(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        """Enclose delta(eps) to a relative width of 2^-bits if the budget allows; the best that was found otherwise.

        Past a stated deadline, what one moment proves.

        Raises Unsupported where numbers are too large or too small for the search (`search.magnitudes`); plain Gaussian
        steps and a single step take any.
        """
        try:
            return self._enclose(epsilon, bits, method, budget)
        except OutOfTime:
            return self.hurried(epsilon, method)

    def hurried(self, epsilon: Fraction, method: str) -> Answer:
        """Some bounds on delta(eps) at little cost: one moment's where every method may be used and there is time."""
        if method == "auto" and not self.is_trivial:
            with hurrying(), suppress(Unsupported, OutOfTime):
                return self.moments.quick(epsilon)
        return self.evaluate(epsilon, SupportWitness(256))

    def _enclose(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        if self.loss.only_moments:
            return self._by_moments(epsilon, method)
        past = self._past_support(epsilon, bits)
        if past is None or past.bounds.lower != past.bounds.upper:
            known = self.exactly(epsilon) if past is not None or method in ("auto", "closed-form") else None
            past = known or past
        if past is not None:
            return past
        near = self._near_end(epsilon, bits, method, budget)
        if near is not None and width_bits(near.bounds) >= bits:
            return near
        if self.loss.parts and not is_single(self.loss):
            require_floats(self.loss)
        halves = self._by_halves(epsilon, bits, budget) if method in ("auto", "closed-form") else []
        if halves and width_bits(halves[-1].bounds) >= min(bits, COARSE):
            return halves[-1]
        if self.has_epochs and method in ("auto", "contour"):
            halves = self._by_epochs(epsilon, bits, budget)
            if halves and (method == "contour" or width_bits(halves[-1].bounds) >= min(bits, COARSE)):
                return halves[-1]
        answers = ([near] if near is not None and width_bits(near.bounds) >= COARSE else []) + halves
        try:
            for attempt in self._attempts(epsilon, bits, method, budget):
                answers.append(self._climb(attempt, bits, budget))
        except OutOfTime:
            if not answers:
                raise
            return intersect(answers)
        except Unsupported:  # another method may answer
            if method != "auto":
                raise
        if not answers and method == "contour" and self.has_epochs:
            raise Unsupported("the contour method finds no line for these epochs in the time that there is")
        if not answers and method in ("auto", "contour") and has_listed(self.loss):
            answers += self._by_outcomes(epsilon, bits, budget)
        if method == "lattice" or not answers:
            answers.append(self._lattice_or_moment(epsilon, bits, method, budget))
        elif method == "auto" and not (self.is_trivial or budget.spent or epoch_model(self.loss)) and (
                width_bits(intersect(answers).bounds) < min(bits, COARSE)):
            with suppress(Unsupported, OutOfTime):  # what the contour proved remains
                answers.append(self._lattice(epsilon, min(bits, COARSE), budget))
        return intersect(answers)

    @cached_property
    def has_halves(self) -> bool:
        """Whether all counts of the steps' outcomes can be listed, and there is no shorter sum."""
        return why_no_floats(self.loss) is None and has_halves(self.loss)

    def _by_halves(self, epsilon: Fraction, bits: float, budget: Budget) -> list[Answer]:
        """By two halves of all counts of outcomes, those of the last question where they suffice; if they are few."""
        if not self.has_halves:
            return []
        answers, asked = [one.at(epsilon) for one in self._halves], bits + 2
        for _ in range(3):
            if answers and width_bits(answers[0].bounds) >= bits:
                break
            saddle = self.saddle(epsilon)
            plan = plan_halves(self.lattice.model, as_float(epsilon), saddle, asked)
            if plan is None or saddle.tilt > MAX_TILT or not budget.allows(plan.seconds):
                break
            answers = self._halves = [self.evaluate(epsilon, plan.witness)]
            asked += max(bits - width_bits(answers[0].bounds), 0.0) + 1
        return answers

    def _by_epochs(self, epsilon: Fraction, bits: float, budget: Budget) -> list[Answer]:
        """By a line, that of the last question where it suffices; if it takes little time."""
        answers = [one.at(epsilon) for one in self._epochs]
        if answers and width_bits(answers[0].bounds) >= bits:
            return answers
        size = self.saddle(epsilon).log_delta
        for turn in range(_TURNS):
            plans = self._plan_epochs(epsilon, size - (bits + 4**turn) * math.log(2))
            for plan in plans[-1:] if turn else plans:
                if not budget.allows(plan.seconds):
                    continue
                answers = self._epochs = [self.evaluate(epsilon, plan.witness)]
                if width_bits(answers[0].bounds) >= bits:
                    return answers
            least = float(answers[0].bounds.upper.log()) if answers else size
            if turn and not least < size:
                break
            size = min(size, least)
        return answers

    def _plan_epochs(self, epsilon: Fraction, goal: float) -> list[EpochsPlan]:
        """A line to about e^goal and, for the remove order, one of the add order at -eps; the cheaper first."""
        where = as_float(epsilon)
        plans = [plan_epochs(self.lattice.model, where, goal, False)]
        if self.loss.order == "remove":
            plans.append(plan_epochs(self._added, -where, goal - where, True))
        return sorted((plan for plan in plans if plan is not None), key=lambda plan: plan.seconds)

    def _by_outcomes(self, epsilon: Fraction, bits: float, budget: Budget) -> list[Answer]:
        """By the sums of a few atoms' transforms, where no grid holds all of them; no answer where that is no help."""
        model, answers, asked = self.lattice.model, list[Answer](), bits + 1
        saddle = model.saddle(as_float(epsilon))
        if not 0 < saddle.tilt < MAX_TILT or step_of_all_atoms(model, saddle.tilt, 2.0**-bits) is not None:
            return []
        for _ in range(3):
            plan = plan_outcomes(model, as_float(epsilon), saddle, asked, min(0.4 * budget.left, _OUTCOMES_SECONDS))
            if plan is None or plan.bits < min(bits, _FEWEST_BITS) or not budget.allows(plan.seconds):
                break
            answers.append(self.evaluate(epsilon, plan.witness))
            reached = width_bits(answers[-1].bounds)
            if reached >= bits or plan.bits < asked - 1.5:
                break
            asked += bits - reached + 1
        return answers[-1:]

    def _by_moments(self, epsilon: Fraction, method: str) -> Answer:
        """From above by one Renyi order: all that is possible where a step is known by its moments alone."""
        if method != "auto":
            raise Unsupported(ONLY_MOMENTS)
        return self.moments.solve(epsilon)

    def _lattice_or_moment(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        """Next to the largest loss a grid for a smaller eps; no grid: one moment, where every method may be used."""
        answers, failure = list[Answer](), None
        for place in self._places(epsilon):
            try:
                answers.append(self._lattice(place, bits, budget).at(epsilon))
            except Unsupported as error:
                failure = failure or error
            except OutOfTime:
                if not answers:
                    raise
                break
            if budget.spent or (answers and width_bits(answers[-1].bounds) >= bits):
                break
        if not answers and failure is not None and method != "auto":
            raise failure
        return intersect(answers) if answers else self.hurried(epsilon, method)

    def _places(self, epsilon: Fraction) -> Iterator[Fraction]:
        """For which eps a grid is chosen: next to the largest loss some that are farther from it, and this one."""
        end = self.loss.enclose_largest_loss()
        gap = Fraction(0) if end is None else lower_dyadic(end).as_fraction() - epsilon
        yield from (epsilon - reach * gap for reach in _FAR if 0 < reach * gap < epsilon / 4)
        yield epsilon

    def _lattice(self, epsilon: Fraction, bits: float, budget: Budget) -> Answer:
        if self.is_trivial:
            raise Unsupported("nothing depends on the data: there is no law to compose")
        run = self.lattice.solve(epsilon, 2.0**-bits, lambda: budget.left, budget.say)
        return Answer(epsilon, run.witness, run.values, run.bounds)

    def look_beside(self, other: SingleOrder, epsilon: Fraction) -> None:
        """Ask of lines for eps, if it costs little, that they also show the other order smaller (`reversed`)."""
        self._beside = math.inf
        if not (epsilon > 0 and self.has_contour and not self.is_trivial and self.is_swapped(other)):
            return
        with suppress(OutOfTime):
            largest = self.log_estimate(epsilon)
            below = other.log_estimate(epsilon, self.tilt)
            if below > -math.inf:
                self._beside = largest + math.log(-math.expm1(min(below - largest, -LEAST_GAP))) - as_float(epsilon) - 2

    def is_swapped(self, other: SingleOrder) -> bool:
        """Whether the other order is that of the same pair."""
        return other.loss == self.loss.in_order(SWAPPED[self.loss.order])

    def reversed(self, answer: Answer, other: SingleOrder, goal: arb) -> Answer | None:
        """The other order by the line that gave this answer, where that shows it at most the goal."""
        line, values, epsilon = answer.witness, answer.values, answer.epsilon
        if not (isinstance(line, LineWitness | MarkedWitness) and isinstance(values, LineValues | MarkedValues)
                and self.is_swapped(other)):
            return None
        found = ReversedValues(values, line.prec)
        bounds = found.delta(epsilon)
        shown = epsilon > 0 and bounds.upper <= goal
        return Answer(epsilon, replace(line, tilt=-1 - line.tilt), found, bounds) if shown else None

    def _near_end(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer | None:
        """delta(eps) next to the largest loss."""
        return self.end.enclose(epsilon, bits, budget.left) if method in ("auto", "closed-form") else None

    def _past_support(self, epsilon: Fraction, bits: float) -> Answer | None:
        """delta(eps) = P(S = inf) past the largest finite loss."""
        witness = SupportWitness(max(256, math.ceil(bits) + 64))
        answer = self.evaluate(epsilon, witness)
        return answer if answer.bounds.upper < 1 or answer.bounds.lower == 1 else None

    def exactly(self, epsilon: Fraction) -> Answer | None:
        """delta(eps) as a rational number, where it is known as one."""
        witness = ExactWitness(max(ctx.prec, 64) + 64)
        with suppress(Undecided, InvalidInput):
            return self.evaluate(epsilon, witness)
        return None

    def _is_easy_line(self, epsilon: Fraction, bits: float) -> bool:
        """Whether the contour is faster than a long sum."""
        return self.has_contour and self._plan(epsilon, self.saddle(epsilon), bits + _SPARE_BITS)[1] < SLOW_LINE

    def _attempts(self, epsilon: Fraction, bits: float, method: str,
                  budget: Budget) -> Iterator[Callable[[float], Answer]]:
        """What applies but the lattice: a closed form; the contour elsewhere, beside a Gaussian's, or if asked."""
        closed = has_closed_form(self.loss)
        if method == "closed-form" and not closed:
            raise Unsupported("no closed form: it exists for Gaussian steps alone and for one sampled step alone")
        closed = closed and (method != "auto" or is_quick(self.loss) or not self._is_easy_line(epsilon, bits))
        if closed and method in ("auto", "closed-form"):
            yield lambda bits: self._closed(epsilon, bits, budget)
        beside = method == "auto" and self.has_contour and not self.is_trivial and not (closed and self.loss.parts)
        beside = beside and why_no_floats(self.loss) is None
        if method == "contour" or beside:
            yield lambda bits: self._contour(epsilon, bits, budget)

    def _climb(self, attempt: Callable[[float], Answer], bits: float, budget: Budget) -> Answer:
        """Ask for more bits until the width is reached, nothing is gained, or the time is over."""
        spare, best, best_bits = _SPARE_OF_FEW if self.few else _SPARE_BITS, None, -math.inf
        asked = bits + spare + self._shortfall
        answer: Answer | None = None
        for _ in range(12):
            try:
                before, answer = answer, attempt(asked)
            except OutOfTime:
                if best is None:
                    raise
                break
            reached = width_bits(answer.bounds)
            if before is not None and reached <= 0 and 1 > answer.bounds.upper == before.bounds.upper:
                break  # more bits change nothing
            if best is None or reached > best_bits:
                best, best_bits = answer, reached
                self._shortfall = min(max(asked - spare - reached, 0.0), 40.0)
            if best_bits >= bits or budget.spent or isinstance(answer.witness, ChernoffWitness | SupportWitness):
                break
            if self._is_cut(answer, asked):
                break
            if reached > 0:
                asked += max(4.0, bits - reached + 3)
            else:
                asked = self._ask_after_nothing(answer.epsilon, bits, asked)
        assert best is not None
        return best

    def _ask_after_nothing(self, epsilon: Fraction, bits: float, asked: float) -> float:
        """Bits to ask where delta was lost in its error: it is far below its first-order estimate."""
        if why_no_floats(self.loss):
            return 2 * asked + 20
        missed = (self.log_estimate(epsilon) - self.log_jump(epsilon)) / math.log(2)
        return bits + missed + 10 if asked < bits + missed < bits + 400 else 2 * asked + 20

    def log_jump(self, epsilon: Fraction) -> float:
        """log of delta if one large loss decided and all other steps lost least; -inf where that cannot be."""
        if self.loss.order == "add" or len(self._lines) < len(self.loss.parts):
            return -math.inf
        with ctx.workprec(128):
            apart = ball(epsilon) - self.least_sum()
            jumps = (count * law.enclose_hockey_stick(apart) for law, count in self.loss.laws)
            jump = sum(jumps, arb(0)).mid()
            return float(jump.log()) if jump > 0 else -math.inf

    def least_sum(self) -> arb:
        """The sum of the least losses in the order remove, of laws with nodes."""
        return sum((count * ball(law.above[0][1]).log() for law, count in self._lines), arb(0))

    @property
    def _lines(self) -> list[tuple[MixtureLines, int]]:
        """The mixtures, the first one of laws that are one of several."""
        return [*lines(self.loss).node_parts, *((one, count) for law, count in lines(self.loss).revealed_parts
                                         for one in law.alternatives[:1] if isinstance(one, MixtureLines))]

    def _closed(self, epsilon: Fraction, bits: float, budget: Budget) -> Answer:
        """The terms are larger than delta by about e^(tilt eps): more bits cover the cancellation, if there is time."""
        check_time()
        wanted, epoch = self._bits_of_closed(epsilon, bits)
        if epoch is not None and self.loss.order == "add":
            check_time(epoch.add_seconds(as_float(epsilon), bits))
        elif epoch is not None:
            wanted = max(min(wanted, epoch.bits_in(EPOCH_SHARE * budget.left)), FEWEST_BITS)
        return self.evaluate(epsilon, ClosedFormWitness(wanted))

    def _bits_of_closed(self, epsilon: Fraction, bits: float) -> tuple[int, EpochModel | None]:
        """What a closed form takes; the model of an epoch whose hyperbola takes long."""
        plain, epoch = math.ceil(2 * bits + 20), epoch_model(self.loss)
        if epoch is None or one_round_tells(self.loss, epsilon, plain):
            return plain, None
        return max(plain, math.ceil(bits + 20 + (1 + _WIDER) * self._cancelled(epsilon))), epoch

    def _is_cut(self, answer: Answer, asked: float) -> bool:
        """Whether there was no time for all the bits of a closed form: the next attempt would have less."""
        return isinstance(answer.witness, ClosedFormWitness) and (
            answer.witness.prec < self._bits_of_closed(answer.epsilon, asked)[0])

    def _cancelled(self, epsilon: Fraction) -> float:
        """Bits of put that random allocation's delta loses: put / t - e^eps + 1, in the remove order."""
        model = epoch_model(self.loss)
        if epsilon <= 0 or self.loss.order != "remove" or model is None:
            return 0.0
        with suppress(Unsupported, ValueError):
            where = as_float(epsilon)
            return min(max(where - model.log_delta(where), 0.0), 1e5) / math.log(2)
        return 0.0

    def _contour(self, epsilon: Fraction, bits: float, budget: Budget) -> Answer:
        """The cheapest of lines and rays; fewer bits where none fits the budget; then what Chernoff gives."""
        saddle = self.saddle(epsilon)
        lost = not math.isfinite(saddle.log_delta)
        if lost or saddle.tilt > LARGEST_TILT or (lines(self.loss).node_parts and saddle.log_delta < FAINTEST):
            return self.chernoff(epsilon, saddle.tilt)
        bits = max(bits, 9.0)
        choose, seconds = self._sharp_plan(epsilon, saddle, bits)
        while not budget.allows(seconds):
            bits *= 0.8
            if bits <= 8:
                return self.chernoff(epsilon, saddle.tilt)
            choose, seconds = self._plan(epsilon, saddle, bits)
        if seconds > 1:
            digits = bits / math.log2(10)
            budget.say(f"contour: about {seconds:.0f} s for {digits:.0f} digits of delta({as_float(epsilon):.6g})")
        return self.evaluate(epsilon, choose())

    @property
    def few(self) -> bool:
        """Whether one large loss decides."""
        return sum(count for _, count in self.loss.parts) <= FEW_STEPS and self.loss.mean_shift_squared <= FAINT_SHIFT

    @property
    def jumps(self) -> bool:
        """Whether one large loss tells where delta is about as small as is asked."""
        return self.few and bool(self.loss.parts)

    def sketch(self, epsilon: Fraction) -> Sketch | None:
        """delta near eps in doubles, without any bound; the last one while delta has not moved far from there."""
        if not self.has_contour:
            return None
        where = as_float(epsilon)
        if self._sketch is None or not abs(self._sketch[0] - where) * self._sketch[1].tilt < NEAR:
            saddle, jump = self.saddle(epsilon), self.log_jump(epsilon) if self.few else -math.inf
            found = choose_sketch(self._float_model, where,
                                  replace(saddle, log_delta=jump) if jump > -math.inf else saddle)
            self._sketch = None if found is None else (where, found)
        return None if self._sketch is None else self._sketch[1]

    def _sharp_plan(self, epsilon: Fraction, saddle: Saddle, bits: float) -> tuple[Callable[[], Witness], float]:
        """`_plan` with the size of delta from a sketch, where a first-order estimate may be rough."""
        rough = not self.few and saddle.tilt < MAX_TILT and self._is_rough(saddle)
        if self._sketch is None and rough and bits < FEW_BITS:
            bits += ROUGHLY
        elif self._sketch is not None or rough:
            sketch = self.sketch(epsilon)
            log_delta = math.nan if sketch is None else sketch.log_delta(as_float(epsilon))
            saddle = saddle if math.isnan(log_delta) else replace(saddle, log_delta=log_delta)
        if self.shown is not None and self.shown[0] == epsilon and self.shown[1] < saddle.log_delta:
            saddle = replace(saddle, log_delta=self.shown[1])
        return self._plan(epsilon, saddle, bits)

    def _is_rough(self, saddle: Saddle) -> bool:
        """Whether the first-order estimate may be far from delta: where the variance rises steeply up to the tilt."""
        c, model = saddle.tilt, self._float_model
        return saddle.curvature * c**2 > ROUGH and model.cumulants(c)[2] > STEEP * model.cumulants(0.7 * c)[2]

    def _plan(self, epsilon: Fraction, saddle: Saddle, bits: float) -> tuple[Callable[[], Witness], float]:
        """How to choose the cheapest of a line, two rays and a line of marked losses, and its seconds."""
        model = self._float_model
        line = plan_line(model, as_float(epsilon), saddle, bits, self._beside)
        choose: Callable[[], Witness] = partial(choose_line, model, line)
        seconds = line.seconds
        slow = seconds > SLOW_LINE * max(1.0, len(model.parts) / 2)  # to plan rays takes as long
        if slow and saddle.tilt < MAX_TILT and len(model.parts) + len(model.revealed) == len(self.loss.parts):
            rays = plan_rays(model, as_float(epsilon), self._jumping(epsilon, saddle), bits)
            if rays is not None and rays.seconds < seconds:
                choose, seconds = partial(choose_rays, rays), rays.seconds
            if seconds > QUICK_RAYS and not model.revealed and not self.few:
                marked = plan_marked(model, as_float(epsilon), saddle, bits)
                if marked is not None and marked.seconds < seconds:
                    choose, seconds = partial(choose_marked, marked), marked.seconds
        return choose, seconds

    def _jumping(self, epsilon: Fraction, saddle: Saddle) -> Saddle:
        """With the size of delta if one large loss decides, where that is far less: what the first order misses."""
        jump = self.log_jump(epsilon) if self.few else -math.inf
        return replace(saddle, log_delta=jump) if -math.inf < jump < saddle.log_delta else saddle

    def evaluate(self, epsilon: Fraction, witness: Witness) -> Answer:
        """Run the kernel on a witness. Raises OutOfTime past the deadline."""
        values = evaluate(self.loss, witness, check_time)
        return Answer(epsilon, witness, values, values.delta(epsilon))

    def quick_upper(self, epsilon: Fraction) -> Answer:
        """A cheap upper bound on delta(eps), near the best that Chernoff gives."""
        return self.chernoff(epsilon, self.saddle(epsilon).tilt)

    def chernoff(self, epsilon: Fraction, tilt: float) -> Answer:
        """A cheap upper bound on delta(eps); the exponent is kept so small that a few thousand nodes do."""
        model = self._float_model
        tilt = min([tilt] + [1000 * min(law.s, law.strip) for law, _ in model.laws])
        rules = model.rules([choose_family_nodes(family, tilt, 8.0) for family in model.ruled],
                            lambda half_line: panel_rule(half_line.panels(tilt, (), 0.0, 8.0)))
        if sum(rule.last - rule.first for rule in rules) > MANY_NODES:
            return self.evaluate(epsilon, SupportWitness(256))  # 0 <= delta <= 1 is all that is cheap
        prec = 64 + 2 * max((math.ceil(math.log2(count)) for _, count in self.loss.laws), default=0)
        return self.evaluate(epsilon, ChernoffWitness(dyadic(tilt), rules, prec))
