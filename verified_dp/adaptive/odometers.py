"""Privacy odometers: how much has been spent so far, in steps of Delta, without a budget set in advance.

    state = GDPOdometer(step="1/100")
    state = state.charge("1/250").state
    state.reading, state.reached                   # 1, 1/100: all outputs so far come before the first stop

An odometer is the sequence of filters with the budgets Delta, 2 Delta, 3 Delta, ... on the same sum. For every m fixed
in advance, the outputs released while the reading is at most m are (m Delta)-private (T113). That holds for each m, not
for the reading at the moment itself, which depends on the outputs: who stops at a certain reading and wants to name an
epsilon must take a filter, or name m before. (Appendix C.5 resets its counter at every crossing and so wastes the rest
of each stretch; on one sum nothing is wasted.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from verified_dp.adaptive.budgets import DEFAULT_DIGITS, above_one, gdp_delta, gdp_epsilon
from verified_dp.adaptive.filters import Decision, Verdict
from verified_dp.core import exact
from verified_dp.core.mechanisms import Relation
from verified_dp.core.releases import Renyi
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.profile import PrivacyProfile, privacy_profile


@dataclass(frozen=True)
class Odometer:
    """One sum, read in multiples of a step Delta > 0; `spent` is the sum so far."""

    step: Fraction
    spent: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", exact.positive(self.step, "step"))
        object.__setattr__(self, "spent", exact.non_negative(self.spent, "spent"))

    @property
    @proved_by("T113-odometer")
    def reading(self) -> int:
        """The smallest m with spent <= m Delta."""
        return -(-self.spent // self.step)

    @property
    def reached(self) -> Fraction:
        """reading * Delta: the smallest of the budgets that holds all that was spent."""
        return self.reading * self.step


@dataclass(frozen=True)
class GDPOdometer(Odometer):
    """mu_1^2 + ... + mu_t^2 against m Delta: the outputs before the m-th stop are sqrt(m Delta)-GDP.

    >>> state = GDPOdometer("1/100").charge("1/100").state
    >>> state.reading, state.charge("1e-30").state.reading
    (1, 2)
    """

    kind: ClassVar[str] = "gdp-odometer"

    @proved_by("T113-odometer")
    def charge(self, mu_squared: object) -> Decision[GDPOdometer]:
        """The state with a step that costs mu^2 >= 0; an odometer never halts."""
        total = self.spent + exact.non_negative(mu_squared, "mu_squared")
        return Decision(Verdict.CONTINUE, replace(self, spent=total))

    @proved_by("T113-odometer")
    def delta(self, epsilon: object, stops: object, digits: int = DEFAULT_DIGITS,
              relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
        """Enclose the delta(eps) that holds for the outputs released while reading <= stops, fixed in advance."""
        return gdp_delta(exact.count(stops, "stops") * self.step, epsilon, digits, relation)

    @proved_by("T113-odometer")
    def epsilon(self, delta: object, stops: object, digits: int = DEFAULT_DIGITS,
                relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
        """Enclose the smallest eps at this delta for the outputs released while reading <= stops, fixed in advance."""
        return gdp_epsilon(exact.count(stops, "stops") * self.step, delta, digits, relation)


@dataclass(frozen=True)
class RenyiOdometer(Odometer):
    """Renyi divergences of one order, summed, against m Delta."""

    kind: ClassVar[str] = "renyi-odometer"
    renyi_order: Fraction = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "renyi_order", above_one(self.renyi_order, "renyi_order"))

    @proved_by("T113-odometer")
    def charge(self, epsilon: object) -> Decision[RenyiOdometer]:
        """The state with a step of Renyi divergence at most epsilon in both directions; an odometer never halts."""
        total = self.spent + exact.non_negative(epsilon, "epsilon")
        return Decision(Verdict.CONTINUE, replace(self, spent=total))

    @proved_by("T113-odometer")
    def profile(self, stops: object, relation: Relation | str = Relation.ADD_OR_REMOVE) -> PrivacyProfile:
        """What holds for the outputs released while reading <= stops, fixed in advance; upper ends count."""
        budget = exact.count(stops, "stops") * self.step
        return privacy_profile(Renyi((self.renyi_order,), (budget,)), relation=relation)
