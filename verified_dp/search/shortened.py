"""Mixtures of many components: how many of them a question needs (T166); it is then asked of these."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.closed import has_closed_form
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.reductions import ReadValues
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.shortened import INNER, ShortenedWitness
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Mixture
from verified_dp.search.allocation import EpochModel
from verified_dp.search.answer import Answer, intersect, width_bits
from verified_dp.search.deadline import Budget, OutOfTime
from verified_dp.search.estimates import Estimates
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.line import as_float
from verified_dp.search.models import FloatLoss
from verified_dp.search.one_direction import COARSE, OneDirection
from verified_dp.search.roots import Bracket, bracket_epsilon, log_of

LONG = 4
"""Mixtures of more components are cut short."""
SPARE = 4.0
"""Bits by which what is dropped is below the width that is asked."""
TRIES = 4
"""How often delta is looked at to say how many components it needs."""
ROUGHLY = -100.0
"""log of what may be dropped where only a first-order estimate is asked."""
LOST = 30.0
"""By how much less log delta is held to be where nothing is known of it from below."""

Kept = tuple[int, ...]


def is_long(loss: ComposedLoss) -> bool:
    """Whether a law has so many components, and all laws have transforms."""
    return lines(loss).has_line and any(_size(law) > LONG for law, _ in loss.parts)


def _size(law: object) -> int:
    """How many components its longer mixture has."""
    return max(len(law.above), len(law.below)) if isinstance(law, MixtureLoss) else 0  # exact: integers


def _logs_lost(mixture: Mixture, count: int, size: int) -> list[float]:
    """log of count times the weight of all but the first n components, for n = 2..size."""
    with ctx.workprec(64):
        tail, logs = arb(0), list[float]()
        for _, weight in mixture[:1:-1]:
            tail += count * ball(weight)
            logs.append(float(tail.log()))
    return [*logs[::-1], *[-math.inf] * (size - 1 - len(logs))][:size - 1]


class LongOrder(OneDirection):
    """An order with long mixtures, of which every question takes as many components as it needs.

    make: what asks the order of these.
    """

    def __init__(self, loss: ComposedLoss, make: Callable[[ComposedLoss], OneDirection] = OneDirection) -> None:
        super().__init__(loss)
        self._level, self._known = ROUGHLY, (Fraction(-1), 0.0)  # about log delta at the eps asked last
        self._make, self._orders = make, dict[Kept, OneDirection]()
        self._lost = [(_logs_lost(law.above, count, _size(law)), _logs_lost(law.below[::-1], count, _size(law)))
                      if isinstance(law, MixtureLoss) and _size(law) > LONG else None for law, count in loss.parts]

    def _kept(self, log_allowed: float, epsilon: float) -> Kept:
        """The fewest components with which what is dropped is at most so much."""
        allowed = log_allowed - math.log(2 * len(self._lost))
        return tuple(0 if lost is None else 2 + next(
            (n for n, (above, below) in enumerate(zip(*lost, strict=True))
             if above < allowed and below + epsilon < allowed), len(lost[0]) - 1) for lost in self._lost)

    def _order(self, kept: Kept) -> OneDirection:
        if kept not in self._orders:
            self._orders[kept] = self._make(ShortenedWitness(kept, ExactWitness(64)).reduced(self.loss))
        return self._orders[kept]

    def _rough(self) -> OneDirection:
        return self._order(self._kept(self._level, 0.0))

    @property
    def jumps(self) -> bool:
        """As `OneDirection.jumps`: the losses of rare components are large, however many steps there are."""
        return True

    @property
    def model(self) -> FloatLoss | LatticeModel | EpochModel:
        """That of the components that are not very rare."""
        return self._rough().model

    def log_estimate(self, epsilon: Fraction, start: float | None = None, beside: float = -math.inf) -> float:
        """As `OneDirection.log_estimate`."""
        return self._rough().log_estimate(epsilon, start, beside)

    def look_beside(self, other: Estimates, epsilon: Fraction) -> None:
        """Nothing: what is dropped is not the same in the other order."""

    def _log_delta(self, kept: Kept, epsilon: Fraction) -> float:
        """About log delta with these components."""
        order = self._order(kept)
        sketch = order.sketch(epsilon)
        found = math.nan if sketch is None else sketch.log_delta(as_float(epsilon))
        return max(order.log_estimate(epsilon), order.log_jump(epsilon)) if math.isnan(found) else found

    def _wrapped(self, answer: Answer, kept: Kept) -> Answer:
        """What it says of all components."""
        if answer.ends is not None:
            return intersect([self._wrapped(end, kept) for end in answer.ends])
        if answer.witness.kind not in INNER:
            answer = self._order(kept).evaluate(answer.epsilon, ExactWitness(256))
        witness = ShortenedWitness(kept, answer.witness)
        values = ReadValues(answer.values, witness.reading(self.loss))
        return Answer(answer.epsilon, witness, values, values.delta(answer.epsilon))

    def quick_upper(self, epsilon: Fraction) -> Answer:
        """As `OneDirection.quick_upper`."""
        kept = self._kept(min(self.log_estimate(epsilon), 0.0) - LOST, as_float(epsilon))
        return self._wrapped(self._order(kept).quick_upper(epsilon), kept)

    def enclose(self, epsilon: Fraction, bits: float, method: str, budget: Budget) -> Answer:
        """As `OneDirection.enclose`."""
        if method not in ("auto", "contour") or has_closed_form(self.loss) or self.is_past_support(epsilon, bits):
            return super().enclose(epsilon, bits, method, budget)
        try:
            answer = self._by_few(epsilon, bits, budget)
        except OutOfTime:
            return self.hurried(epsilon, method)
        if method == "auto" and width_bits(answer.bounds) < min(bits, COARSE) and not budget.spent:
            return intersect([answer, super().enclose(epsilon, bits, method, budget)])
        return answer

    def _by_few(self, epsilon: Fraction, bits: float, budget: Budget) -> Answer:
        at, wanted, answers, kept = as_float(epsilon), (bits + SPARE) * math.log(2), list[Answer](), Kept()
        if self._known[0] != epsilon:
            log_delta = self._log_delta(self._kept(-LOST, at), epsilon)
            self._known = epsilon, self._log_delta(self._kept(log_delta - wanted, at), epsilon)
        for _ in range(TRIES):
            before, kept = kept, self._kept(self._known[1] - wanted, at)
            if kept == before:
                break
            order = self._order(kept)
            order.shown = self._known
            inner = order.enclose(epsilon, bits + 1, "contour", budget)
            answers.append(self._wrapped(inner, kept))
            found = inner.bounds.lower
            self._known = epsilon, float(found.log()) if found > 0 else self._known[1] - LOST
            if width_bits(answers[-1].bounds) >= bits or budget.spent:
                break
        return intersect(answers)

    def bracket(self, target: Fraction, digits: int, method: str, budget: Budget) -> Bracket:
        """`bracket_epsilon`, with guesses from as many components as matter there."""
        if target:
            self._level, self._sketch, self._saddle = float(log_of(target)) - LOST, None, None
        return bracket_epsilon(self, target, digits, method, budget)
