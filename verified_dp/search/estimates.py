"""What floating point says of one direction of a composition: models, saddle points, sizes of delta. Nothing is proved.

Planners choose witnesses by it, and searches for epsilon where to look.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from flint import arb, ctx

from verified_dp.core.engines.closed import ClosedFormValues, ClosedFormWitness, is_integral
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.rules import is_on_lines
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.search.deadline import OutOfTime
from verified_dp.search.line import as_float
from verified_dp.search.magnitudes import require_floats, why_no_floats
from verified_dp.search.models import FloatLoss, float_loss
from verified_dp.search.planners.table import has_contour
from verified_dp.search.saddle import Saddle, choose_saddle, saddle_at
from verified_dp.search.sketch import Sketch, choose_sketch

if TYPE_CHECKING:
    from verified_dp.search.allocation import EpochModel
    from verified_dp.search.lattice_model import LatticeModel
    from verified_dp.search.moment_engine import MomentEngine

LARGEST_TILT = 1e8
"""Beyond such a tilt no contour is tried: only Chernoff bounds delta there."""
FAINTEST = -2e7
"""Below e^FAINTEST sampled steps take longer than is predicted: only Chernoff bounds delta there."""
FEW_STEPS = 50
"""With at most so many steps, and plain Gaussian ones of no more than FAINT_SHIFT, one large loss decides."""
FAINT_SHIFT = Fraction(1, 100)
"""Of the mean shifts' squares' sum."""
ROUGH, STEEP = 60.0, 10.0
"""Where the exponent's curvature times the tilt squared is above the first, and the variance at the tilt so many times
that at 0.7 of it, first-order estimates of delta may be rough."""
LEAST_GAP = 0.02
"""By how much two orders' logarithms are taken to differ at least."""
_INTEGRAL_BITS = 10
"""Of an integral in place of an estimate."""
NEAR_JUMP = 7.0
"""Where log delta by one large loss is less by no more, both are rough."""
NEAR = 1.5
"""How far, in log delta, one sketch is used."""


class Estimates:
    """The floating-point models of one composed loss, kept between questions."""

    def __init__(self, loss: ComposedLoss) -> None:
        self.loss = loss
        self.shown: tuple[Fraction, float] | None = None  # eps, and log delta there, where that is known
        self.beside = math.inf  # log of the error that delta(-eps) may have, if a line shall be read there too
        self._sketch: tuple[float, Sketch] | None = None  # the last one, and where
        self._saddle: tuple[Fraction, Saddle] | None = None  # the last one

    @cached_property
    def moments(self) -> MomentEngine:
        """Bounds from single moments."""
        from verified_dp.search.moment_engine import MomentEngine

        return MomentEngine(self.loss)

    @cached_property
    def why_no_floats(self) -> str | None:
        """What is too large or too small for floating point, in words; None where nothing is."""
        return why_no_floats(self.loss)

    @cached_property
    def model(self) -> FloatLoss | LatticeModel | EpochModel:
        """What guesses come from. Raises Unsupported where floats have no room for the numbers of a step."""
        require_floats(self.loss)
        if self.has_contour:
            return float_loss(self.loss, shared=True)
        return self.epoch_model or self.lattice_model

    @property
    def float_model(self) -> FloatLoss:
        """The contour's model. Raises Unsupported where some law has no transform."""
        if not isinstance(self.model, FloatLoss):
            raise Unsupported("the contour method needs the transform of every step; one of them has none: use lattice")
        return self.model

    @cached_property
    def lattice_model(self) -> LatticeModel:
        """That of lattices and of sums over atoms."""
        from verified_dp.search import allocation, clones  # noqa: F401  (they register their models)
        from verified_dp.search.lattice_model import LatticeModel

        require_floats(self.loss)
        return LatticeModel(self.loss)

    @cached_property
    def epoch_model(self) -> EpochModel | None:
        """The model of a single epoch of random allocation and nothing else."""
        if not (self.loss.parts and all(is_on_lines(law) for law, _ in self.loss.parts)):
            return None
        from verified_dp.search.allocation import epoch_model

        return epoch_model(self.loss)

    @cached_property
    def has_contour(self) -> bool:
        """Whether the contour method applies: every law has a transform, and their product decays."""
        return has_contour(self.loss)

    @property
    def is_trivial(self) -> bool:
        """No step depends on the data at all."""
        return not self.loss.parts and not self.loss.mean_shift_squared

    @cached_property
    def few(self) -> bool:
        """Whether one large loss decides."""
        return sum(count for _, count in self.loss.parts) <= FEW_STEPS and self.loss.mean_shift_squared <= FAINT_SHIFT

    @property
    def jumps(self) -> bool:
        """Whether one large loss tells where delta is about as small as is asked."""
        return self.few and bool(self.loss.parts)

    @property
    def tilt(self) -> float | None:
        """Of the last saddle point."""
        return self._saddle[1].tilt if self._saddle else None

    def saddle(self, epsilon: Fraction, start: float | None = None) -> Saddle:
        """The saddle point at eps, from the last one on; needs at least one step with noise."""
        if self._saddle is None or self._saddle[0] != epsilon:
            self._saddle = epsilon, self._find_saddle(epsilon, start or self.tilt or 1.0)
        return self._saddle[1]

    def _find_saddle(self, epsilon: Fraction, start: float) -> Saddle:
        if self.has_contour or self.epoch_model is not None:
            return choose_saddle(self.model, as_float(epsilon), start)
        return self.lattice_model.saddle(as_float(epsilon))

    def log_estimate(self, epsilon: Fraction, start: float | None = None, beside: float = -math.inf) -> float:
        """log of a first-order estimate of delta(eps), -inf past the support; start: a tilt to begin with.

        beside: where it is clearly less at that tilt already, no better one is looked for.
        """
        if self.loss.only_moments:
            return self.moments.log_bound(epsilon)
        if self._integral is not None:
            return float(self._integral.delta(epsilon).upper.log())
        if self.is_trivial or epsilon >= self.model.largest:
            return -math.inf
        if not self.has_contour and self.epoch_model is not None:
            return self.epoch_model.log_delta(as_float(epsilon))
        if start is not None and self.tilt is None and beside > -math.inf and self.has_contour:
            rough = saddle_at(self.model, as_float(epsilon), start).log_delta
            if rough < beside - LEAST_GAP:
                return rough
        return self.saddle(epsilon, self.tilt or start).log_delta

    @cached_property
    def _integral(self) -> ClosedFormValues | None:
        """What tells delta of two equal steps in less time than the model of a lattice; None where there is a line."""
        known = not self.has_contour and is_integral(self.loss)
        return ClosedFormWitness(_INTEGRAL_BITS).evaluate(self.loss) if known else None

    def is_faint(self, saddle: Saddle) -> bool:
        """Whether delta is out of the reach of contours."""
        lost = not math.isfinite(saddle.log_delta) or saddle.tilt > LARGEST_TILT
        return lost or (bool(lines(self.loss).node_parts) and saddle.log_delta < FAINTEST)

    def is_rough(self, epsilon: Fraction, saddle: Saddle) -> bool:
        """Whether the first-order estimate may be far from delta: where the variance rises steeply up to the tilt, or
        one large loss gives less, but not far less.
        """
        c, model = saddle.tilt, self.float_model
        if self.few:
            return -NEAR_JUMP < self.log_jump(epsilon) - saddle.log_delta < -1
        if saddle.curvature * c**2 <= ROUGH:
            return False
        return model.cumulants(c)[2] > STEEP * model.cumulants(0.7 * c)[2]

    @property
    def is_sketched(self) -> bool:
        """Whether there is a sketch."""
        return self._sketch is not None

    def sketch(self, epsilon: Fraction) -> Sketch | None:
        """delta near eps in doubles, without any bound; the last one while delta has not moved far from there."""
        if not self.has_contour:
            return None
        where = as_float(epsilon)
        if self._sketch is None or not abs(self._sketch[0] - where) * self._sketch[1].tilt < NEAR:
            saddle, jump = self.saddle(epsilon), self.log_jump(epsilon) if self.few else -math.inf
            found = choose_sketch(self.float_model, where,
                                  replace(saddle, log_delta=jump) if jump > -math.inf else saddle)
            self._sketch = None if found is None else (where, found)
        return None if self._sketch is None else self._sketch[1]

    def sharpened(self, epsilon: Fraction, saddle: Saddle, rough: bool) -> Saddle:
        """The saddle point with the size of delta from what is shown, or from a sketch."""
        log_delta = saddle.log_delta
        if self._sketch is not None or rough:
            sketch = self.sketch(epsilon)
            found = math.nan if sketch is None else sketch.log_delta(as_float(epsilon))
            log_delta = log_delta if math.isnan(found) else found
        if self.shown is not None and self.shown[0] == epsilon:
            log_delta = min(log_delta, self.shown[1])
        return replace(saddle, log_delta=log_delta)

    def jumping(self, epsilon: Fraction, saddle: Saddle) -> Saddle:
        """With the size of delta if one large loss decides, where that is far less: what the first order misses."""
        jump = self.log_jump(epsilon) if self.few else -math.inf
        return replace(saddle, log_delta=jump) if -math.inf < jump < saddle.log_delta else saddle

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

    def is_swapped(self, other: Estimates) -> bool:
        """Whether the other order is that of the same pair."""
        return other.loss == self.loss.in_order(SWAPPED[self.loss.order])

    def look_beside(self, other: Estimates, epsilon: Fraction) -> None:
        """Ask of lines for eps, if it costs little, that they also show the other order smaller (`reversed`)."""
        self.beside = math.inf
        if not (epsilon > 0 and self.has_contour and not self.is_trivial and self.is_swapped(other)):
            return
        with suppress(OutOfTime):
            largest = self.log_estimate(epsilon)
            below = other.log_estimate(epsilon, self.tilt, largest)
            if below > -math.inf:
                self.beside = largest + math.log(-math.expm1(min(below - largest, -LEAST_GAP))) - as_float(epsilon) - 2
