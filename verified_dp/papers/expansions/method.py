"""delta of one order of a composition by the certified expansion: what the saddle-point and Edgeworth methods share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.bounds import Bounds
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.papers.expansions.bounds import HIGHEST, TiltedExpansion, enclose_expansion
from verified_dp.papers.expansions.choose import choose_table, choose_tilt, choose_witness, log_error
from verified_dp.papers.saddlepoint.choose import asymptotic_saddle, refine_saddle
from verified_dp.search.deadline import check_time
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.models import float_loss
from verified_dp.search.saddle import choose_saddle

TILT_BITS = 5
"""Of the tilts, so that neighbouring eps share one."""
LOWERED, LEAST_SHARE = 0.8, 0.3


@dataclass(frozen=True)
class Choice:
    """order, and the share of the tilt with K'(t) = eps that is taken; log_error: of what was left out when chosen."""

    order: int
    share: float
    log_error: float


class ExpansionCurve:
    """delta at any eps >= 0 by the expansion of one order, or of the order with the least error where none is asked.

    loss: with a transform of every step. tilt: any t > 0 (None: chosen where the error is least).
    """

    def __init__(self, loss: ComposedLoss, order: int | None = None, tilt: Fraction | None = None) -> None:
        self.loss, self.order, self.tilt = loss, order, tilt
        self.model = float_loss(loss)
        self._choice: Choice | None = None
        self._kept: dict[tuple[int, Fraction], TiltedExpansion] = {}

    def delta(self, epsilon: Fraction) -> tuple[Bounds, arb, dict[str, str]]:
        """The interval, the expansion alone, and what was used. Raises Unsupported where moments are out of reach."""
        if self._choice is None:
            self._choice = self.choose(epsilon)
        tilt = self.tilt_at(epsilon, self._choice.share)
        bounds, series = self.expansion(self._choice.order, tilt).enclose_delta(epsilon)
        used = {"expansion_order": str(self._choice.order), "expansion_tilt": f"{float(tilt):.6g}"}
        return bounds, series, used

    def choose(self, epsilon: Fraction) -> Choice:
        """Choose the order unless it was asked, and by how much the tilt is lowered: as long as the error falls."""
        orders = range(HIGHEST + 1) if self.order is None else (self.order,)
        return min((self._choose_share(epsilon, order) for order in orders), key=lambda choice: choice.log_error)

    def _choose_share(self, epsilon: Fraction, order: int) -> Choice:
        best = self._try(epsilon, order, 1.0)
        while best.share > LEAST_SHARE and self.tilt is None:
            lower = self._try(epsilon, order, best.share * LOWERED)
            if lower.log_error >= best.log_error:
                break
            best = lower
        return best

    def _try(self, epsilon: Fraction, order: int, share: float) -> Choice:
        tilt = self.tilt_at(epsilon, share)
        return Choice(order, share, log_error(self.expansion(order, tilt), epsilon))

    def tilt_at(self, epsilon: Fraction, share: float) -> Fraction:
        """The asked tilt, or the share of that with K'(t) = eps, with few digits."""
        if self.tilt is not None:
            return self.tilt
        eps = as_float(epsilon)
        start = asymptotic_saddle(self.model, eps)
        saddle = refine_saddle(self.model, eps, choose_saddle(self.model, eps, start))
        return dyadic(share * choose_tilt(self.model, eps, saddle), TILT_BITS)

    def expansion(self, order: int, tilt: Fraction) -> TiltedExpansion:
        """The expansion of an order at a tilt; it is kept. Raises OutOfTime past the deadline."""
        check_time()
        if (order, tilt) not in self._kept:
            table = choose_table(self.loss, self.model, float(tilt), order)
            self._kept[order, tilt] = enclose_expansion(table, choose_witness(table, tilt, order))
        return self._kept[order, tilt]
