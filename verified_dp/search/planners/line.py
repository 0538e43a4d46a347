"""Plans of a vertical line, with a rule of nodes for each law."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from verified_dp.search.covers import TooMany
from verified_dp.search.line import as_float, choose_line, plan_line
from verified_dp.search.planners.plan import FEWEST_BITS, Asked, Plan, Planner
from verified_dp.search.saddle import Saddle

SLOW_LINE = 0.015
"""Seconds that other contours of one or two laws take to be planned."""
MAX_TILT = 1e5
"""Beyond such tilts none of them is tried."""
FEW_BITS, ROUGHLY, CLOSELY = 16.0, 4.0, 1.5
"""So few bits are not worth a better estimate, but some more; fewer where steps are few and delta's size is known."""


class Contour(Planner):
    """What the plans of all contours share."""

    @property
    def spare(self) -> float:  # type: ignore[override]
        """Plans mostly reach two more bits, but not those of few steps."""
        return 3.0 if self.model.few else 1.0

    def plan(self, asked: Asked) -> Plan | None:
        """None where no contour is tried: where delta or its tilt are out of reach."""
        saddle = self.model.saddle(asked.epsilon)
        if self.model.is_faint(saddle):
            return None
        bits = max(asked.bits, FEWEST_BITS + 1)
        rough = self.model.is_rough(asked.epsilon, saddle)
        more = ROUGHLY if rough and bits < FEW_BITS and not self.model.is_sketched else 0.0
        sharp = saddle if more else self.model.sharpened(asked.epsilon, saddle, rough)
        more -= CLOSELY if self.model.few and self.model.is_sketched else 0.0

        def at(asked: Asked) -> Plan | None:
            found = self.plan_at(asked.epsilon, sharp, asked.bits + more)
            return None if found is None else Plan(min(asked.bits, found.bits - more), found.seconds, found.choose)

        return self.within(Asked(asked.epsilon, bits, asked.seconds, asked.method), at)

    def plan_at(self, epsilon: Fraction, saddle: Saddle, bits: float) -> Plan | None:
        """By about the size of delta, to so many bits."""
        raise NotImplementedError


class Line(Contour):
    """See the module."""

    def plan_at(self, epsilon: Fraction, saddle: Saddle, bits: float) -> Plan | None:
        """The line, which may be asked to show the other direction smaller as well."""
        model = self.model.float_model
        while bits > FEWEST_BITS:
            try:
                found = plan_line(model, as_float(epsilon), saddle, bits, self.model.beside)
                return Plan(min(bits, found.bits), found.seconds, partial(choose_line, model, found))
            except TooMany as many:
                bits = min(0.9 * bits, bits - 2 * math.log2(many.times) + 2)
        return None


class Bent(Contour):
    """Other contours of laws with nodes, which take longer to be planned."""

    def plan(self, asked: Asked) -> Plan | None:
        """None at a large tilt."""
        return super().plan(asked) if self.model.saddle(asked.epsilon).tilt < MAX_TILT else None
