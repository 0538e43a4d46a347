"""delta and epsilon next to the largest loss: witnesses tried with more effort until they are narrow."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cached_property

from flint import ctx

from verified_dp.core.engines.closed import is_exact, is_quick
from verified_dp.core.kernel.balls import lower_dyadic
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Undecided
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.answer import Answer, width_bits
from verified_dp.search.deadline import check_time
from verified_dp.search.deficits import EndModel, gap_below, plan_deficits
from verified_dp.search.magnitudes import why_no_floats

SECONDS = 3.0
"""What one witness may take where no budget is stated."""
EFFORTS = 6
_ROUGH = 8.0
_NEARLY = 3.0
"""log delta is guessed to so much."""


class EndEngine:
    """delta(eps) of one composed loss where eps is close enough to the largest loss."""

    def __init__(self, loss: ComposedLoss) -> None:
        self.loss = loss

    @cached_property
    def model(self) -> EndModel | None:
        """None where a law's top is not known, where floats have no room for it, or where sums are exact."""
        idle = why_no_floats(self.loss) is not None or is_quick(self.loss) or is_exact(self.loss)
        return None if idle else EndModel.of(self.loss)

    def enclose(self, epsilon: Fraction, bits: float, seconds: float) -> Answer | None:
        """delta(eps) to a relative width of 2^-bits or the best found; None where it takes longer than so long."""
        if self.model is None:
            return None
        gap = gap_below(self.loss, epsilon)
        return None if gap is None else self._climb(self.model, epsilon, gap, bits, min(seconds, SECONDS))

    def _climb(self, model: EndModel, epsilon: Fraction, gap: Fraction, bits: float,
               seconds: float) -> Answer | None:
        best: Answer | None = None
        for effort in range(EFFORTS):
            plan = plan_deficits(model, gap, bits + 4, effort)
            if plan is None or plan.seconds > seconds:
                break
            seconds -= plan.seconds
            with suppress(Undecided):
                values = evaluate(self.loss, plan.witness, check_time)
                answer = Answer(epsilon, plan.witness, values, values.delta(epsilon))
                if best is None or width_bits(answer.bounds) > width_bits(best.bounds):
                    best = answer
                if width_bits(answer.bounds) >= bits:
                    break
        return best

    def find(self, log_target: float, digits: int, exceeded: Callable[[Answer], bool],
             seconds: float) -> Answer | None:
        """An answer whose values tell delta from where it exceeds the target up to the largest loss, and that eps.

        None where the target is met farther from the largest loss than this engine reaches.
        """
        model, end = self.model, self._end()
        if model is None or end is None:
            return None
        size = math.log(max(float(end), 1e-300))
        most, least = min(math.log(model.farthest), size), size - (digits + 2) * math.log(10)
        if model.log_delta(math.exp(most)) < log_target - _NEARLY:
            return None
        low, high = least, most
        while high - low > 0.01:
            middle = (low + high) / 2
            low, high = (low, middle) if model.log_delta(math.exp(middle)) > log_target else (middle, high)
        for _ in range(12):
            high = min(high, most)
            epsilon = end - Fraction(math.exp(high))
            found = self.enclose(max(epsilon, Fraction(0)), digits * math.log2(10) + _ROUGH, seconds)
            if found is None or exceeded(found):
                return found
            if high == most:
                return None
            high += 0.7
        return None

    def _end(self) -> Fraction | None:
        """The largest loss, or a number just below it."""
        exact = self.loss.largest_loss()
        if exact is not None:
            return exact
        with ctx.workprec(ctx.prec + 64):
            end = self.loss.enclose_largest_loss()
            return None if end is None or not (end.is_finite() and end > 0) else lower_dyadic(end).as_fraction()
