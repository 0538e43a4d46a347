"""Plans next to the largest loss, with more effort after each miss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Self

from flint import ctx

from verified_dp.core.engines.closed import is_exact, is_quick
from verified_dp.core.kernel.balls import lower_dyadic
from verified_dp.search.deficits import EndModel, gap_below, plan_deficits
from verified_dp.search.estimates import Estimates
from verified_dp.search.planners.plan import Asked, Plan, Planner

SECONDS = 3.0
"""What one witness may take."""
_NEARLY = 3.0
"""log delta is guessed to so much."""


class Deficits(Planner):
    """See the module."""

    spare = 4.0
    least = 0.0
    tries = 6

    def __init__(self, model: Estimates, ends: EndModel) -> None:
        super().__init__(model)
        self.ends = ends

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where all laws' tops are known, floats have room for them, and sums are not exact."""
        idle = model.why_no_floats is not None or is_quick(model.loss) or is_exact(model.loss)
        ends = None if idle else EndModel.of(model.loss)
        return None if ends is None else cls(model, ends)

    def plan(self, asked: Asked) -> Plan | None:
        """Series to so many bits; None far from the largest loss."""
        gap = gap_below(self.loss, asked.epsilon)
        found = None if gap is None else plan_deficits(self.ends, gap, asked.bits, asked.misses)
        if found is None or found.seconds > min(asked.seconds, SECONDS):
            return None
        return Plan(asked.bits, found.seconds, lambda: found.witness)

    def gaps(self, log_target: float, digits: int) -> Iterator[tuple[Fraction, Fraction]]:
        """(gap, the largest loss): from about where delta takes the target on, as far as series reach."""
        end = self._end()
        if end is None:
            return
        size = math.log(max(float(end), 1e-300))
        most, least = min(math.log(self.ends.farthest), size), size - (digits + 2) * math.log(10)
        if self.ends.log_delta(math.exp(most)) < log_target - _NEARLY:
            return
        low, high = least, most
        while high - low > 0.01:
            middle = (low + high) / 2
            low, high = (low, middle) if self.ends.log_delta(math.exp(middle)) > log_target else (middle, high)
        for _ in range(12):
            yield Fraction(math.exp(min(high, most))), end
            if high >= most:
                return
            high += 0.7

    def _end(self) -> Fraction | None:
        """The largest loss, or a number just below it."""
        exact = self.loss.largest_loss()
        if exact is not None:
            return exact
        with ctx.workprec(ctx.prec + 64):
            end = self.loss.enclose_largest_loss()
            return None if end is None or not (end.is_finite() and end > 0) else lower_dyadic(end).as_fraction()
