"""The Edgeworth accountant: expansions of orders 1 to 6, and rigorous intervals.

    AEA<n>      delta by the expansions of order n of both tails (Wang et al., Definition 4.1)
    EEAI        the interval from both tails (Definition 4.2, T105). form=proved: of every order, every error proved
                (T170); form=published: of order 1 with Lemma 4.3's own remainder, which rests on a citation (T104)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.engines.expansion_cells import HIGHEST
from verified_dp.core.engines.polynomials import hermite_coefficients
from verified_dp.core.engines.smoothed import EdgeworthSum, TwoTails
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.papers.edgeworth.choose import choose_by_lemma, choose_sums
from verified_dp.papers.paper import PaperAnswer
from verified_dp.search.deadline import Budget
from verified_dp.search.expansion import PREC
from verified_dp.search.one_direction import OneDirection

NAMED_ORDERS = (1, 2, 3)
"""The orders whose estimates are always given."""
FORMS = PROVED, PUBLISHED = "proved", "published"
CITATION = "a citation: Derumigny, Girard, Guyonvarch 2024, Theorem A.2"
"""For the bound of Lemma 4.3, which is not proved here."""
REASON = "an Edgeworth expansion cut off; what is left out counts in the bounds"
JUMPS = "; the loss takes separate values, and no expansion sees its jumps: the interval contains them"


@dataclass(frozen=True)
class EdgeworthAccountant:
    """order: of estimate and interval, 1 to 6 (None: the paper's 2, and whichever order is proved the narrowest).

    form: of the interval: proved, EEAI with our bound of the distance, as `certify` takes it; or published, EEAI as
    printed, with Lemma 4.3 and its remainder, of order 1.
    """

    order: int | None = None
    form: str = PROVED
    name: ClassVar[str] = "edgeworth"

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InvalidInput("edgeworth.form", self.form, "one of " + ", ".join(FORMS))
        if self.form == PUBLISHED and self.order not in (None, 1):
            raise InvalidInput("edgeworth.order", self.order, "1 with form=published, as in Lemma 4.3")
        if self.order is not None and self.order not in range(1, HIGHEST + 1):
            raise InvalidInput("edgeworth.order", self.order, f"an integer from 1 to {HIGHEST}")

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> EdgeworthCurve:
        """The curve of one order. Raises: Unsupported where a step's loss has no moments that can be enclosed."""
        if not loss.laws:
            raise Unsupported("nothing depends on the data: there is no sum to expand", "method")
        return EdgeworthCurve(self, loss)


kept_sums = lru_cache(maxsize=2 * HIGHEST)(choose_sums)
"""Both orders of a composition read the same two sums."""
Sums = tuple[EdgeworthSum, EdgeworthSum]


class EdgeworthCurve:
    """delta of one order, from the sums of this order and of the swapped one; neither depends on eps."""

    def __init__(self, method: EdgeworthAccountant, loss: ComposedLoss) -> None:
        self.loss, self.swapped, self._form = loss, loss.in_order(SWAPPED[loss.order]), method.form
        self._order = method.order or (1 if method.form == PUBLISHED else 2)
        self._tried = range(1, HIGHEST + 1) if method.order is None else (method.order,)

    def _sums(self, order: int) -> Sums:
        """Under P and under Q: in the add order minus those of the remove order under Q and P."""
        if self._form == PUBLISHED:
            return self._by_lemma
        if self.loss.order != "add":
            return kept_sums(self.loss, order)
        under_p, under_q = kept_sums(self.swapped, order)
        return replace(under_q, turned=True), replace(under_p, turned=True)

    @cached_property
    def _by_lemma(self) -> Sums:
        return choose_by_lemma(self.loss)

    @cached_property
    def _masses(self) -> tuple[arb, arb]:
        with ctx.workprec(PREC):
            return self.loss.enclose_infinity_mass(), self.swapped.enclose_infinity_mass()

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """The rigorous interval, and the estimates of every order."""
        past = enclose_past_support(self.loss, epsilon)
        if past.upper < 1:
            return self._answer_past(past)
        with ctx.workprec(PREC):
            named = {f"AEA{n}": self._estimate(epsilon, n) for n in sorted({*NAMED_ORDERS, self._order})}
            bounds, used = self._interval(epsilon)
        known = {name: text for name, text in named.items() if text is not None}
        jumps = JUMPS if all(isinstance(law, AtomicLaw) for law, _ in self.loss.laws) else ""
        parameters = {"form": self._form, "order": str(self._order), **used}
        return PaperAnswer(bounds, known.get(f"AEA{self._order}"), REASON + jumps, parameters, known)

    def _answer_past(self, bounds: Bounds) -> PaperAnswer:
        """Past the largest loss every estimate is the exact value."""
        text = _text(self._masses[0]) or "0"
        named = {f"AEA{n}": text for n in sorted({*NAMED_ORDERS, self._order})}
        return PaperAnswer(bounds, text, "exact past the largest loss", {"form": "past the largest loss"}, named)

    def _interval(self, epsilon: Fraction) -> tuple[Bounds, dict[str, str]]:
        """The narrowest interval of the orders that are tried, and what was used."""
        tried = [self._order] if self._form == PUBLISHED else self._tried
        found = [(TwoTails(*self._sums(order), self._masses, PREC).delta(epsilon), order) for order in tried]
        bounds, order = min(found, key=lambda one: float(one[0].upper - one[0].lower))
        if self._form == PROVED and not bounds.upper < 2 * bounds.lower:
            moment = OneDirection(self.loss).hurried(epsilon, "auto").bounds
            bounds = Bounds(bounds.lower, bounds.upper.min(moment.upper), bounds.budget)
        left = ", ".join(f"{float(size):.3g}" for size in list(bounds.budget.values())[:2])
        rests = {"rests_on": CITATION} if self._form == PUBLISHED else {}
        return bounds, {"expansion_order": str(order), "remainders": left, **rests}

    def _estimate(self, epsilon: Fraction, order: int) -> str | None:
        """P(S = inf) + p (1 - G_Y(eps)) - e^eps r (1 - G_X(eps)), G by the expansions of this order."""
        (above, below), (mass, other), eps = self._sums(self._order), self._masses, ball(epsilon)
        return _text(mass + (1 - mass) * _enclose_tail(above, eps, order)
                     - eps.exp() * (1 - other) * _enclose_tail(below, eps, order))


def _enclose_tail(one: EdgeworthSum, x: arb, order: int) -> arb:
    """Enclose the expansion of some order of P(Y > x)."""
    factors = hermite_coefficients(one.steps.cumulants, order)
    found = one.enclose_expansion(-x if one.turned else x, factors)[0]
    return 1 - found if one.turned else found


def _text(value: arb) -> str | None:
    """The middle of the ball, moved into [0, 1]; None where it is not finite."""
    return value.mid().max(arb(0)).min(arb(1)).str(15, radius=False) if value.is_finite() else None
