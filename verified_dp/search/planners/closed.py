"""Plans of closed forms: the bits that cover what cancels."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Self

from verified_dp.core.engines.closed import ClosedFormWitness, has_closed_form, is_integral, is_quick, is_single
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.search.estimates import Estimates
from verified_dp.search.line import as_float
from verified_dp.search.planners.plan import Asked, Plan, Planner

if TYPE_CHECKING:
    from verified_dp.search.allocation import EpochModel

EPOCH_SHARE, FEWEST_BITS = 0.3, 64
"""Of the time left, for a hyperbola of random allocation; bits that it always has."""
_WIDER = 1 / 16
"""Of the bits that cancel, by how many terms may be larger still: hyperbolas are wider by as many."""
INTEGRAL_BITS = 7
"""More than asked, of an integral."""
_UNIT = 1e-8
"""Seconds of a unit of work."""


class Closed(Planner):
    """See the module."""

    @classmethod
    def of(cls, model: Estimates) -> Self | None:
        """Where there is a closed form."""
        return cls(model) if is_integral(model.loss) or has_closed_form(model.loss) else None

    @cached_property
    def is_quick(self) -> bool:
        """Whether sums are short, or there are none."""
        return is_quick(self.loss)

    @cached_property
    def _most_bits(self) -> float:
        """Of steps that are only nearly one of another law."""
        if len(self.loss.parts) != 1 or is_single(self.loss):
            return math.inf
        law, count = self.loss.parts[0]
        found = law.merged(count)
        return math.inf if found is None or found[1].is_zero() else -float(found[1].log()) / math.log(2) - 2

    def plan(self, asked: Asked) -> Plan | None:
        """The terms are larger than delta by about e^(tilt eps): more bits cover that, if there is time.

        Raises Unsupported where sums have terms of sizes that no number of bits covers.
        """
        if is_integral(self.loss):
            integral = ClosedFormWitness(math.ceil(asked.bits) + INTEGRAL_BITS)
            return Plan(asked.bits, _UNIT * integral.work(self.loss).units, lambda: integral)
        if self.loss.parts and not is_single(self.loss) and self.model.why_no_floats is not None:
            raise Unsupported(self.model.why_no_floats)
        if asked.bits > self._most_bits:
            return None
        witness = ClosedFormWitness(math.ceil(2 * asked.bits + 20))
        if (epoch := self.model.epoch_model) is not None:
            from verified_dp.search.allocation import one_round_tells

            if not one_round_tells(self.loss, asked.epsilon, witness.prec):
                return self._plan_epoch(epoch, asked, witness.prec)
        seconds = 0.0 if self.is_quick else _UNIT * witness.work(self.loss).units
        return Plan(asked.bits, seconds, lambda: witness)

    def _plan_epoch(self, model: EpochModel, asked: Asked, plain: int) -> Plan | None:
        """A hyperbola, which takes long, by as many bits as there is time for."""
        full = max(plain, math.ceil(asked.bits + 20 + (1 + _WIDER) * self._cancelled(model, asked.epsilon)))
        if self.loss.order == "add":
            ahead = model.add_seconds(as_float(asked.epsilon), asked.bits)
            return None if ahead > asked.seconds else Plan(asked.bits, 0.0, lambda: ClosedFormWitness(full))
        bits = max(min(full, model.bits_in(EPOCH_SHARE * asked.seconds)), FEWEST_BITS)
        return Plan(asked.bits if bits == full else 0.0, 0.0, lambda: ClosedFormWitness(bits))

    def _cancelled(self, model: EpochModel, epsilon: Fraction) -> float:
        """Bits of put that random allocation's delta loses: put / t - e^eps + 1, in the remove order."""
        if epsilon <= 0 or self.loss.order != "remove":
            return 0.0
        with suppress(Unsupported, ValueError):
            where = as_float(epsilon)
            return min(max(where - model.log_delta(where), 0.0), 1e5) / math.log(2)
        return 0.0
