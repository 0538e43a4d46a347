"""The Edgeworth accountant: expansions of orders 1 to 6, and rigorous intervals.

    AEA<n>      delta by the expansions of order n of both tails (Wang et al., Definition 4.1)
    EEAI        form=published: the interval from both tails (Definition 4.2, T105), of order 1 with Lemma 4.3's own
                remainder, which rests on a citation (T104)
    form=proved the interval of one expansion without a tilt, of every order, every error proved (T141)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from flint import arb

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.engines.expansion_cells import HIGHEST
from verified_dp.core.families.finite.atomic import AtomicLaw
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.papers.edgeworth.bounds import TwoTails
from verified_dp.papers.edgeworth.choose import choose_tails
from verified_dp.papers.paper import Method, PaperAnswer, Readers, one_of, whole
from verified_dp.search.deadline import Budget
from verified_dp.search.expansion import ExpansionCurve
from verified_dp.search.one_direction import OneDirection

NAMED_ORDERS = (1, 2, 3)
"""The orders whose estimates are always given."""
FORMS = PROVED, PUBLISHED = "proved", "published"
CITATION = "a citation: Derumigny, Girard, Guyonvarch 2024, Theorem A.2"
"""For the bound of Lemma 4.3, which is not proved here."""
REASON = "an Edgeworth expansion cut off; what is left out counts in the bounds"
JUMPS = "; the loss takes separate values, and no expansion sees its jumps: the interval contains them"


@dataclass(frozen=True)
class EdgeworthAccountant(Method):
    """order: of estimate and interval, 1 to 6 (None: the paper's 2, and whichever order is proved the narrowest).

    form: of the interval: proved, as `certify` takes it; or published, EEAI as printed, with Lemma 4.3 and its
    remainder, of order 1.
    """

    order: int | None = None
    form: str = PROVED
    name: ClassVar[str] = "edgeworth"
    nothing: ClassVar[str] = "there is no sum to expand"
    readers: ClassVar[Readers] = {"form": one_of(FORMS), "order": whole(1, HIGHEST)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form == PUBLISHED and self.order not in (None, 1):
            raise InvalidInput("edgeworth.order", self.order, "1 with form=published, as in Lemma 4.3")

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> EdgeworthCurve:
        """The curve of one order. Raises: Unsupported where a step's loss has no moments that can be enclosed."""
        self.check(loss)
        return EdgeworthCurve(self, loss)


class EdgeworthCurve:
    """delta of one order."""

    def __init__(self, method: EdgeworthAccountant, loss: ComposedLoss) -> None:
        self.loss, self._form = loss, method.form
        self._order = method.order or (1 if method.form == PUBLISHED else 2)
        self._expansion = ExpansionCurve(loss, method.order, Fraction(0))

    @cached_property
    def _tails(self) -> TwoTails:
        return choose_tails(self.loss, self._form == PUBLISHED)

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        """The rigorous interval, and the estimates of every order."""
        orders, past = sorted({*NAMED_ORDERS, self._order}), enclose_past_support(self.loss, epsilon)
        if past.upper < 1:  # every estimate is the exact value
            text = _text(past.upper) or "0"
            return PaperAnswer(past, text, "exact past the largest loss", {"form": "past the largest loss"},
                               {f"AEA{n}": text for n in orders})
        named = {f"AEA{n}": _text(self._tails.enclose_expansion(epsilon, n)) for n in orders}
        bounds, used = self._interval(epsilon)
        known = {name: text for name, text in named.items() if text is not None}
        jumps = JUMPS if all(isinstance(law, AtomicLaw) for law, _ in self.loss.laws) else ""
        parameters = {"form": self._form, "order": str(self._order), **used}
        return PaperAnswer(bounds, known.get(f"AEA{self._order}"), REASON + jumps, parameters, known)

    def _interval(self, epsilon: Fraction) -> tuple[Bounds, dict[str, str]]:
        """By both tails and Lemma 4.3; else by the narrowest order asked, and one moment where that says little."""
        if self._form == PUBLISHED:
            return self._tails.delta(epsilon), {"rests_on": CITATION}
        bounds, _, used = self._expansion.delta(epsilon)
        if not bounds.upper < 2 * bounds.lower:
            moment = OneDirection(self.loss).hurried(epsilon, "auto").bounds
            bounds = Bounds(bounds.lower, bounds.upper.min(moment.upper), bounds.budget)
        return bounds, used


def _text(value: arb) -> str | None:
    """The middle of the ball, moved into [0, 1]; None where it is not finite."""
    return value.mid().max(arb(0)).min(arb(1)).str(15, radius=False) if value.is_finite() else None
