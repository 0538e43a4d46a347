"""delta of one order by an expansion with its remainder: what the saddle-point and Edgeworth methods share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.papers.expansions.bounds import ORDERS, TiltedExpansion, enclose_expansion
from verified_dp.papers.expansions.choose import choose_table, choose_tilt, choose_witness, log_error
from verified_dp.papers.saddlepoint.choose import asymptotic_saddle, refine_saddle
from verified_dp.search.deadline import check_time
from verified_dp.search.line import as_float, dyadic
from verified_dp.search.models import float_loss
from verified_dp.search.saddle import choose_saddle

TILT_BITS = 5
"""Of the tilts, so that neighbouring eps share one."""
LOWERED, LEAST_SHARE = 0.8, 0.3
SPLITS = 0.7, 0.85, 1.2


@dataclass(frozen=True)
class Choice:
    """order; the share of the tilt with K'(t) = eps that is taken; split: where the cells end, over where |psi|'s bound
    is least; log_error: of what was left out when chosen.
    """

    order: int
    share: float
    split: float
    log_error: float


class ExpansionCurve:
    """delta at any eps >= 0 by the expansion of one order, or of the order with the least error where none is asked.

    loss: with a transform of every step. tilt: any t > 0 (None: where the error is least, with the poles expanded the
    saddle point).
    """

    def __init__(self, loss: ComposedLoss, order: int | None = None, tilt: Fraction | None = None,
                 poles: str = "kept") -> None:
        self.loss, self.order, self.tilt, self.poles = loss, order, tilt, poles
        self.model = float_loss(loss)
        self._choice: Choice | None = None
        self._kept: dict[tuple[int, Fraction, float], TiltedExpansion] = {}

    def delta(self, epsilon: Fraction) -> tuple[Bounds, arb, dict[str, str]]:
        """The interval, the expansion alone, and what was used. Raises Unsupported where moments are out of reach."""
        if self._choice is None:
            self._choice = self.choose(epsilon)
        tilt = self.tilt_at(epsilon, self._choice.share)
        bounds, series = self.expansion(self._choice.order, tilt, self._choice.split).enclose_delta(epsilon)
        used = {"expansion_order": str(self._choice.order), "expansion_tilt": f"{float(tilt):.6g}"}
        return bounds, series, used

    def choose(self, epsilon: Fraction) -> Choice:
        """Choose the order unless it was asked, by how much the tilt is lowered (while the error falls), the split."""
        orders = ORDERS[self.poles] if self.order is None else (self.order,)
        best = min((self._choose_share(epsilon, order) for order in orders), key=lambda choice: choice.log_error)
        splits = (self._try(epsilon, best.order, best.share, split) for split in SPLITS)
        return min((best, *splits), key=lambda choice: choice.log_error)

    def _choose_share(self, epsilon: Fraction, order: int) -> Choice:
        best = self._try(epsilon, order, 1.0)
        while best.share > LEAST_SHARE and self.tilt is None and self.poles == "kept":
            lower = self._try(epsilon, order, best.share * LOWERED)
            if lower.log_error >= best.log_error:
                break
            best = lower
        return best

    def _try(self, epsilon: Fraction, order: int, share: float, split: float = 1.0) -> Choice:
        tilt = self.tilt_at(epsilon, share)
        return Choice(order, share, split, log_error(self.expansion(order, tilt, split), epsilon))

    def tilt_at(self, epsilon: Fraction, share: float) -> Fraction:
        """The asked tilt, or the share of that with K'(t) = eps, with few digits."""
        if self.tilt is not None:
            return self.tilt
        eps = as_float(epsilon)
        start = asymptotic_saddle(self.model, eps)
        saddle = refine_saddle(self.model, eps, choose_saddle(self.model, eps, start))
        if self.poles == "expanded":
            return dyadic(saddle, 52)
        return dyadic(share * choose_tilt(self.model, eps, saddle), TILT_BITS)

    def expansion(self, order: int, tilt: Fraction, split: float) -> TiltedExpansion:
        """The expansion of an order at a tilt; it is kept. Raises OutOfTime past the deadline."""
        check_time()
        key = order, tilt, split
        if key not in self._kept:
            table = choose_table(self.loss, self.model, float(tilt), order)
            self._kept[key] = enclose_expansion(table, choose_witness(table, tilt, order, self.poles, split))
        return self._kept[key]
