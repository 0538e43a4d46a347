"""The Edgeworth accountant: expansions of orders 1 to 4, and rigorous intervals.

    expansion   the interval of the uniform tilted expansion of the asked order (T141); the default
    AEA<n>      delta by the expansions of order n of both tails (Wang et al., Definition 4.1)
    EEAI        the interval from both tails (Definition 4.2, T105). form=published: of order 1 with Lemma 4.3's own
                remainder, which rests on a citation (T104); form=proved: of every order, every error proved (T170)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

from flint import arb, ctx

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.engines.expansion_cells import HIGHEST
from verified_dp.core.engines.lines import lines
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
from verified_dp.search.expansion import PREC, ExpansionCurve
from verified_dp.search.one_direction import OneDirection

NAMED_ORDERS = (1, 2, 3)
"""The orders whose estimates are always given."""
FORMS = EXPANSION, PROVED, PUBLISHED = "expansion", "proved", "published"
CITATION = "a citation: Derumigny, Girard, Guyonvarch 2024, Theorem A.2"
"""For the bound of Lemma 4.3, which is not proved here."""
REASON = "an Edgeworth expansion cut off; what is left out counts in the bounds"
JUMPS = "; the loss takes separate values, and no expansion sees its jumps: the interval contains them"


@dataclass(frozen=True)
class EdgeworthAccountant:
    """order: of estimate and interval, 1 to 4 (None: the paper's 2, or 1 where published).

    form: of the interval: expansion; proved, EEAI with our bound of the distance; or published, EEAI as printed, with
    Lemma 4.3 and its remainder, of order 1. expansion is proved where a step has no transform. tilt: > 0, of the
    expansion (None: chosen).
    """

    order: int | None = None
    form: str = EXPANSION
    tilt: Fraction | None = None
    name: ClassVar[str] = "edgeworth"

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InvalidInput("edgeworth.form", self.form, "one of " + ", ".join(FORMS))
        if self.order is None:
            object.__setattr__(self, "order", 1 if self.form == PUBLISHED else 2)
        if self.form == PUBLISHED and self.order != 1:
            raise InvalidInput("edgeworth.order", self.order, "1 with form=published, as in Lemma 4.3")
        if self.order not in range(1, HIGHEST + 1):
            raise InvalidInput("edgeworth.order", self.order, f"an integer from 1 to {HIGHEST}")
        if self.tilt is not None and self.tilt <= 0:
            raise InvalidInput("edgeworth.tilt", self.tilt, "a number > 0")

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> EdgeworthCurve:
        """The curve of one order. Raises: Unsupported where a step's loss has no moments that can be enclosed."""
        if not loss.laws:
            raise Unsupported("nothing depends on the data: there is no sum to expand", "method")
        return EdgeworthCurve(self, loss)


kept_sums = lru_cache(maxsize=4)(choose_sums)
"""Both orders of a composition read the same two sums."""


class EdgeworthCurve:
    """delta of one order, from the sums of this order and of the swapped one; neither depends on eps."""

    def __init__(self, method: EdgeworthAccountant, loss: ComposedLoss) -> None:
        self.method, self.loss, self.swapped = method, loss, loss.in_order(SWAPPED[loss.order])
        self._order = method.order or 1
        self._form = method.form if lines(loss).has_transform or method.form != EXPANSION else PROVED
        self._expansion = ExpansionCurve(loss, self._order, method.tilt) if self._form == EXPANSION else None

    @cached_property
    def sums(self) -> tuple[EdgeworthSum, EdgeworthSum]:
        """Under P and under Q: in the add order minus those of the remove order under Q and P."""
        if self._form == PUBLISHED:
            return choose_by_lemma(self.loss)
        if self.loss.order != "add":
            return kept_sums(self.loss, self._order)
        under_p, under_q = kept_sums(self.swapped, self._order)
        return replace(under_q, turned=True), replace(under_p, turned=True)

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
            bounds, further, used = self._interval(epsilon)
        known = {name: text for name, text in {**named, **further}.items() if text is not None}
        jumps = JUMPS if all(isinstance(law, AtomicLaw) for law, _ in self.loss.laws) else ""
        parameters = {"form": self._form, "order": str(self._order), **used}
        return PaperAnswer(bounds, known.get(f"AEA{self._order}"), REASON + jumps, parameters, known)

    def _answer_past(self, bounds: Bounds) -> PaperAnswer:
        """Past the largest loss every estimate is the exact value."""
        text = _text(self._masses[0]) or "0"
        named = {f"AEA{n}": text for n in sorted({*NAMED_ORDERS, self._order})} | {"uniform": text}
        return PaperAnswer(bounds, text, "exact past the largest loss", {"form": "past the largest loss"}, named)

    def _interval(self, epsilon: Fraction) -> tuple[Bounds, dict[str, str | None], dict[str, str]]:
        """The interval of the asked form, the estimate that belongs to it, and what was used."""
        if self._expansion is not None:
            bounds, uniform, used = self._expansion.delta(epsilon)
            return bounds, {"uniform": _text(uniform)}, used
        bounds = TwoTails(*self.sums, self._masses, PREC).delta(epsilon)
        if self._form == PROVED and not bounds.upper < 2 * bounds.lower:
            moment = OneDirection(self.loss).hurried(epsilon, "auto").bounds
            bounds = Bounds(bounds.lower, bounds.upper.min(moment.upper), bounds.budget)
        left = ", ".join(f"{float(size):.3g}" for size in list(bounds.budget.values())[:2])
        return bounds, {}, {"remainders": left} | ({"rests_on": CITATION} if self._form == PUBLISHED else {})

    def _estimate(self, epsilon: Fraction, order: int) -> str | None:
        """P(S = inf) + p (1 - G_Y(eps)) - e^eps r (1 - G_X(eps)), G by the expansions of this order."""
        (under_p, under_q), (mass, other), eps = self.sums, self._masses, ball(epsilon)
        return _text(mass + (1 - mass) * under_p.enclose_estimate(eps, order)
                     - eps.exp() * (1 - other) * under_q.enclose_estimate(eps, order))


def _text(value: arb) -> str | None:
    """The middle of the ball, moved into [0, 1]; None where it is not finite."""
    return value.mid().max(arb(0)).min(arb(1)).str(15, radius=False) if value.is_finite() else None
