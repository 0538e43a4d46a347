"""Prawitz smoothing of the tilted loss: rigorous bounds from the transform on a segment, with no universal constant."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from verified_dp.core.engines.support import enclose_past_support
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.papers.paper import PaperAnswer
from verified_dp.papers.prawitz.bounds import PrawitzValues, PrawitzWitness, enclose_by_prawitz, evaluate_prawitz
from verified_dp.papers.prawitz.choose import choose_prawitz
from verified_dp.papers.saddlepoint.method import check_supported
from verified_dp.search.deadline import Budget
from verified_dp.search.line import as_float
from verified_dp.search.models import float_loss


class PrawitzCurve:
    """delta from one evaluation of the transform, made at the first eps below the largest loss; narrowest near that."""

    def __init__(self, loss: ComposedLoss, choose: Callable[[float], PrawitzWitness]) -> None:
        self.loss, self._choose = loss, choose
        self._values: PrawitzValues | None = None

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """The enclosure at eps."""
        past = enclose_past_support(self.loss, epsilon)
        if past.upper < 1:
            return PaperAnswer(past, parameters={"support": "eps is past the largest loss"})
        if self._values is None:
            self._values = evaluate_prawitz(self.loss, self._choose(as_float(epsilon)))
        witness = self._values.witness
        parameters = {"tilt": f"{float(witness.tilt):.6g}", "T": f"{float(witness.top):.6g}",
                      "cut": f"{float(witness.cut):.6g}", "points": str(witness.panels * witness.points)}
        return PaperAnswer(enclose_by_prawitz(self._values, epsilon), parameters=parameters)


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
        """The curve near eps. Raises Unsupported where a law has none."""
        check_supported(loss)
        tilt, top = (None if value is None else float(value) for value in (self.tilt, self.T))
        model, bits = float_loss(loss), digits * math.log2(10)
        return PrawitzCurve(loss, lambda eps: choose_prawitz(model, eps, bits, tilt, top, budget.left / 2))
