"""delta of one order of a composition by the certified expansion: what the saddle-point and Edgeworth methods share."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from verified_dp.core.bounds import Bounds
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.papers.expansions.bounds import HIGHEST, TiltedExpansion, enclose_expansion
from verified_dp.papers.expansions.choose import choose_table, choose_tilt, choose_witness
from verified_dp.papers.saddlepoint.choose import asymptotic_saddle, refine_saddle
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.saddle import choose_saddle
from verified_dp.search.transforms import float_loss

TILT_BITS = 5
"""Of the tilts, so that neighbouring eps share one."""


class ExpansionCurve:
    """delta at any eps >= 0 by the expansion of one order, or of the order with the least error where none is asked.

    loss: with a transform of every step. tilt: any t > 0 (None: near K'(t) = eps).
    """

    def __init__(self, loss: ComposedLoss, order: int | None = None, tilt: Fraction | None = None) -> None:
        self.loss, self.order, self.tilt = loss, order, tilt
        self.model = float_loss(loss)
        self._kept: dict[Fraction, tuple[int, TiltedExpansion]] = {}

    def delta(self, epsilon: Fraction) -> tuple[Bounds, arb, dict[str, str]]:
        """The interval, the expansion alone, and what was used. Raises Unsupported where moments are out of reach."""
        tilt = self.choose_tilt(epsilon)
        order, expansion = self.expansion(tilt)
        bounds, series = expansion.enclose_delta(epsilon)
        return bounds, series, {"expansion_order": str(order), "expansion_tilt": f"{float(tilt):.6g}"}

    def choose_tilt(self, epsilon: Fraction) -> Fraction:
        """The asked tilt, or one with few digits near the best."""
        if self.tilt is not None:
            return self.tilt
        eps = as_float(epsilon)
        start = asymptotic_saddle(self.model, eps)
        saddle = refine_saddle(self.model, eps, choose_saddle(self.model, eps, start))
        return dyadic(choose_tilt(self.model, eps, saddle), TILT_BITS)

    def expansion(self, tilt: Fraction) -> tuple[int, TiltedExpansion]:
        """The expansion at a tilt and its order."""
        if tilt not in self._kept:
            orders = range(HIGHEST + 1) if self.order is None else (self.order,)
            found = {n: self._expand(tilt, n) for n in orders}
            best = min(found, key=lambda n: float(found[n].error))
            self._kept[tilt] = best, found[best]
        return self._kept[tilt]

    def _expand(self, tilt: Fraction, order: int) -> TiltedExpansion:
        table = choose_table(self.loss, self.model, float(tilt), order)
        return enclose_expansion(table, choose_witness(table, tilt, order))
