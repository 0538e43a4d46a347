"""Privacy filters: may the next step run, if every step, and how private it is, was chosen from earlier outputs?

    state = GDPFilter(budget="1/4")                # B^2
    decision = state.charge(mu_squared="1/100")    # before the step runs, its own cost included
    if decision.continues:
        state = decision.state                     # and only now run the step

Filters are values: `charge` changes nothing, it returns the state after the step. Sums are sums of fractions: a budget
met exactly continues, one exceeded by however little halts. A refused step must not be run; a smaller one may be tried.
The cost must be a function of earlier *outputs* and public facts, never of the data, and must be known before the step
runs; record_filters.py has the filters whose costs depend on each record. A ledger (ledger.py) makes a state durable.

No filter is offered for privacy loss distributions or trade-off functions: stopping when the composed curve crosses the
budget's is not private in general (arXiv:2602.06756, arXiv:2602.15815). pld_filter.py has the approximate one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, Generic, Self, TypeVar

from verified_dp.adaptive.budgets import (
    DEFAULT_DIGITS,
    above_one,
    decide,
    gdp_budget,
    gdp_delta,
    gdp_epsilon,
    renyi_budget,
)
from verified_dp.core import exact
from verified_dp.core.balls import ball
from verified_dp.core.errors import InvalidInput
from verified_dp.core.mechanisms import Relation
from verified_dp.core.releases import Renyi
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.profile import PrivacyProfile, privacy_profile

State = TypeVar("State")
Numbers = tuple[Fraction, ...]


class Verdict(StrEnum):
    """What a filter says of a step before it runs."""

    CONTINUE = "continue"
    HALT = "halt"


@dataclass(frozen=True)
class Decision(Generic[State]):
    """The verdict, and the state after it: with the step charged, or as before where it must not run."""

    verdict: Verdict
    state: State

    @property
    def continues(self) -> bool:
        """Whether the step may run."""
        return self.verdict is Verdict.CONTINUE


@dataclass(frozen=True)
class GDPFilter:
    """F_B(mu_1, ..., mu_t) = HALT if mu_1^2 + ... + mu_t^2 > B^2, else CONT: what was released is B-GDP.

    Each step must be mu_i-GDP whatever the data, between neighbours of one relation in both directions. For a sum with
    Gaussian noise mu_i = sensitivity / sigma, the sensitivity over all possible records, not over those of the data
    set: a halt that depends on the data tells about them.

    Args:
        budget: B^2 > 0. spent: mu_1^2 + ... + mu_t^2 so far.
    Raises:
        InvalidInput: for other numbers, and where more is spent than the budget.

    >>> decision = GDPFilter("1/4").charge("1/4")
    >>> decision.continues, decision.state.charge("1e-30").continues
    (True, False)
    """

    kind: ClassVar[str] = "gdp"
    budget: Fraction
    spent: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        set_fields(self, budget=exact.positive(self.budget, "budget"), spent=exact.non_negative(self.spent, "spent"))
        check_spent(self.spent, self.budget)

    @classmethod
    def for_guarantee(cls, epsilon: object, delta: object, digits: int = DEFAULT_DIGITS) -> Self:
        """The filter with the largest budget of that many digits that is proved to give (epsilon, delta)-DP."""
        return cls(gdp_budget(epsilon, delta, digits))

    @property
    def remaining(self) -> Fraction:
        """B^2 - (mu_1^2 + ... + mu_t^2)."""
        return self.budget - self.spent

    @proved_by("T110-gdp-filter")
    def charge(self, mu_squared: object) -> Decision[GDPFilter]:
        """Whether a step that costs mu^2 >= 0 may run."""
        total = self.spent + exact.non_negative(mu_squared, "mu_squared")
        if total <= self.budget:
            return Decision(Verdict.CONTINUE, replace(self, spent=total))
        return Decision(Verdict.HALT, self)

    @proved_by("T110-gdp-filter")
    def delta(self, epsilon: object, digits: int = DEFAULT_DIGITS,
              relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
        """Enclose the delta(eps) that the budget guarantees, however the steps were chosen."""
        return gdp_delta(self.budget, epsilon, digits, relation)

    @proved_by("T110-gdp-filter")
    def epsilon(self, delta: object, digits: int = DEFAULT_DIGITS,
                relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
        """Enclose the smallest eps that the budget guarantees at this delta."""
        return gdp_epsilon(self.budget, delta, digits, relation)


@dataclass(frozen=True)
class RenyiFilter:
    """HALT if at any of the orders a the Renyi divergences would sum to more than R_a: all D_a <= R_a then hold.

    Args:
        renyi_orders: orders above 1, fixed in advance. budgets: R_a > 0, one for each.
        spent: the sums so far. One number may stand for a list of one.

    >>> decision = RenyiFilter(renyi_orders=["2", "8"], budgets=["0.1", "0.4"]).charge(["0.1", "0.3"])
    >>> decision.continues, decision.state.charge(["0", "0.2"]).continues
    (True, False)
    """

    kind: ClassVar[str] = "renyi"
    renyi_orders: Numbers
    budgets: Numbers
    spent: Numbers = ()

    def __post_init__(self) -> None:
        orders = tuple(above_one(order, f"renyi_orders[{i}]") for i, order in enumerate(_listed(self.renyi_orders), 1))
        if not orders or len(set(orders)) < len(orders):
            raise InvalidInput("renyi_orders", self.renyi_orders, "a list of different orders")
        budgets = _numbers(self.budgets, "budgets", len(orders))
        if not all(budgets):
            raise InvalidInput("budgets", self.budgets, "a list of positive rational numbers")
        spent = _numbers(self.spent or (0,) * len(orders), "spent", len(orders))
        set_fields(self, renyi_orders=orders, budgets=budgets, spent=spent)
        for used, budget in zip(spent, budgets, strict=True):
            check_spent(used, budget)

    @classmethod
    def for_guarantee(cls, epsilon: object, delta: object, renyi_order: object,
                      digits: int = DEFAULT_DIGITS) -> Self:
        """The filter at one order with the largest budget, up to rounding, that gives (epsilon, delta)-DP."""
        return cls((above_one(renyi_order, "renyi_order"),), (renyi_budget(epsilon, delta, renyi_order, digits),))

    @property
    def remaining(self) -> Numbers:
        """What is left at each order."""
        return tuple(budget - used for budget, used in zip(self.budgets, self.spent, strict=True))

    @proved_by("T111-renyi-filter")
    def charge(self, epsilons: object) -> Decision[RenyiFilter]:
        """Whether a step with Renyi divergences of at most epsilons[i], in both directions, may run."""
        step = _numbers(epsilons, "epsilons", len(self.renyi_orders))
        totals = tuple(used + cost for used, cost in zip(self.spent, step, strict=True))
        if all(total <= budget for total, budget in zip(totals, self.budgets, strict=True)):
            return Decision(Verdict.CONTINUE, replace(self, spent=totals))
        return Decision(Verdict.HALT, self)

    @proved_by("T111-renyi-filter")
    def profile(self, relation: Relation | str = Relation.ADD_OR_REMOVE) -> PrivacyProfile:
        """delta(eps) and eps(delta) that the budgets guarantee; their upper ends are what counts."""
        return privacy_profile(Renyi(self.renyi_orders, self.budgets), relation=relation)


@dataclass(frozen=True)
class ApproximateDPFilter:
    """HALT if sqrt(2 log(1/d') sum eps_i^2) + sum eps_i^2 / 2 > eps, or sum delta_i > d'': (eps, d' + d'')-DP.

    Whitehouse, Ramdas, Rogers, Wu (2023). Each step must be (eps_i, delta_i)-DP in both directions. The test is decided
    in ball arithmetic; equality is impossible for rational numbers, except where both sides are 0.

    Args:
        epsilon: eps > 0. slack: d' in (0, 1). steps_delta: d'' in [0, 1). spent: the sums of eps_i^2 and of delta_i.

    >>> state = ApproximateDPFilter(epsilon=1, slack="1e-6")
    >>> state.charge("0.1").continues, state.charge("0.2").continues, state.charge("0.1", "1e-9").continues
    (True, False, False)
    """

    kind: ClassVar[str] = "approximate-dp"
    epsilon: Fraction
    slack: Fraction
    steps_delta: Fraction = Fraction(0)
    spent: Numbers = (Fraction(0), Fraction(0))

    def __post_init__(self) -> None:
        set_fields(self, epsilon=exact.positive(self.epsilon, "epsilon"), slack=exact.open_unit(self.slack, "slack"),
             steps_delta=_below_one(self.steps_delta, "steps_delta"), spent=_numbers(self.spent, "spent", 2))
        if not self._allows(*self.spent):
            raise InvalidInput("spent", self.spent, "within the budget")

    @property
    def delta(self) -> Fraction:
        """d' + d'': with epsilon, the guarantee."""
        return self.slack + self.steps_delta

    @proved_by("T112-approximate-filter")
    def charge(self, epsilon: object, delta: object = 0) -> Decision[ApproximateDPFilter]:
        """Whether a step that is (epsilon, delta)-DP may run."""
        squares = self.spent[0] + exact.non_negative(epsilon, "epsilon") ** 2
        deltas = self.spent[1] + _below_one(delta, "delta")
        if self._allows(squares, deltas):
            return Decision(Verdict.CONTINUE, replace(self, spent=(squares, deltas)))
        return Decision(Verdict.HALT, self)

    @proved_by("T112-approximate-filter")
    def _allows(self, squares: Fraction, deltas: Fraction) -> bool:
        """sum delta_i <= d'', V/2 <= eps and (eps - V/2)^2 >= 2 V log(1/d'), V = sum eps_i^2; no where undecided."""
        left = self.epsilon - squares / 2
        if deltas > self.steps_delta or left < 0:
            return False
        if squares == 0:
            return True
        return decide(lambda: ball(left**2 / (2 * squares)) + ball(self.slack).log()) is True


def set_fields(state: object, **values: object) -> None:
    """Set fields of a frozen state."""
    for name, value in values.items():
        object.__setattr__(state, name, value)


def check_spent(spent: Fraction, budget: Fraction) -> None:
    """InvalidInput where more is spent than the budget."""
    if spent > budget:
        raise InvalidInput("spent", spent, f"at most the budget ({exact.fraction_text(budget)})")


def _listed(values: object) -> tuple[object, ...]:
    return tuple(values) if isinstance(values, list | tuple) else (values,)


def _numbers(values: object, key: str, length: int) -> Numbers:
    listed = _listed(values)
    if len(listed) != length:
        raise InvalidInput(key, values, f"a list of {length} rational numbers >= 0")
    return tuple(exact.non_negative(value, f"{key}[{i}]") for i, value in enumerate(listed, 1))


def _below_one(value: object, key: str) -> Fraction:
    number = exact.non_negative(value, key)
    if number >= 1:
        raise InvalidInput(key, value, "a rational number in [0, 1)")
    return number
