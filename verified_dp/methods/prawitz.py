"""Prawitz smoothing of the tilted loss: rigorous bounds from the transform on a segment, with no universal constant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from verified_dp.errors import InvalidInput
from verified_dp.kernel.evaluate import enclose_past_support
from verified_dp.kernel.prawitz import PrawitzValues, enclose_by_prawitz, evaluate_prawitz
from verified_dp.losses.composed import ComposedLoss
from verified_dp.methods.paper import PaperAnswer
from verified_dp.methods.saddlepoint import check_supported
from verified_dp.methods.single import Budget, as_float
from verified_dp.search.prawitz import choose_prawitz
from verified_dp.search.transforms import float_loss


@dataclass(frozen=True)
class PrawitzCurve:
    """delta from one evaluation of the transform; narrowest near the eps it was made for."""

    loss: ComposedLoss
    values: PrawitzValues

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """The enclosure at eps."""
        witness = self.values.witness
        parameters = {"tilt": f"{float(witness.tilt):.6g}", "T": f"{float(witness.top):.6g}",
                      "cut": f"{float(witness.cut):.6g}", "points": str(witness.panels * witness.points)}
        past = enclose_past_support(self.loss, epsilon)
        bounds = past if past.upper < 1 else enclose_by_prawitz(self.values, epsilon)
        return PaperAnswer(bounds, None, "", parameters)


@dataclass(frozen=True)
class PrawitzAccountant:
    """T: of the smoothing (None: as large as it costs nothing). tilt: t > 0 (None: the saddle point)."""

    T: Fraction | None = None
    tilt: Fraction | None = None
    name: ClassVar[str] = "prawitz"

    def __post_init__(self) -> None:
        for key, value in (("T", self.T), ("tilt", self.tilt)):
            if value is not None and not value > 0:
                raise InvalidInput(f"prawitz.{key}", value, "positive")

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> PrawitzCurve:
        """Evaluate the transform for eps. Raises Unsupported where a law has none."""
        check_supported(loss)
        tilt, top = (None if value is None else float(value) for value in (self.tilt, self.T))
        witness = choose_prawitz(float_loss(loss), self._inside(loss, epsilon), digits * math.log2(10), tilt, top,
                                 budget.left / 2)
        return PrawitzCurve(loss, evaluate_prawitz(loss, witness))

    def _inside(self, loss: ComposedLoss, epsilon: Fraction) -> float:
        """eps, or a point below the largest loss, where there is a saddle point."""
        largest = float_loss(loss).largest
        return min(as_float(epsilon), largest - abs(largest) * 1e-3 if math.isfinite(largest) else math.inf)
