"""Privacy filters: may the next step run, if every step, and how private it is, was chosen from earlier outputs?

    state = GDPFilter(budget="1/4")                # B^2
    decision = state.charge(mu_squared="1/100")    # before the step runs, its own cost included
    if decision.continues:
        state = decision.state                     # and only now run the step

Filters are values: `charge` changes nothing, it returns the state after the step. Sums are sums of fractions: a budget
met exactly continues, one exceeded by however little halts. A refused step must not be run; a smaller one may be tried.
The cost must be a function of earlier *outputs* and public facts, never of the data, and must be known before the step
runs. A ledger (ledger.py) makes a state durable.

In individual filters each record pays for what it adds to a step, and drops out when its own budget is used up:

    state = IndividualGDPFilter.open(budget="1/4", records=["a", "b"])
    decision = state.charge({"a": "1/100", "b": "1/4"})    # before the step runs
    run_step_on(decision.active); state = decision.state

Their guarantee is for neighbours that differ by one record (added or removed). The cost of a record must be a function
of that record and of earlier outputs, not of other records; so must be what the step does with it. Which records are
active, how many are, and what they have spent depends on the data: publish none of it. When to stop must not depend on
it either: run as many steps as were planned, or as the outputs suggest, also on nobody.

No filter is offered for privacy loss distributions or trade-off functions: stopping when the composed curve crosses the
budget's is not private in general (arXiv:2602.06756, arXiv:2602.15815). pld_filter.py has the approximate one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from verified_dp.adaptive.budgets import (
    DEFAULT_DIGITS,
    above_one,
    decide,
    gdp_budget,
    gdp_delta,
    gdp_epsilon,
    renyi_budget,
)
from verified_dp.adaptive.sums import Decision, Filter, ForAll, GDPCost, GDPCosts, PerRecord, RenyiCosts, set_fields
from verified_dp.core.families.guarantees.mechanism import Renyi
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.profile import PrivacyProfile, privacy_profile

Numbers = tuple[Fraction, ...]


@dataclass(frozen=True)
class GDPFilter(GDPCost, Filter):
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

    if TYPE_CHECKING:
        def __init__(self, budget: Number, spent: Number = 0) -> None: ...

    @classmethod
    def for_guarantee(cls, epsilon: Number, delta: Number, digits: int = DEFAULT_DIGITS) -> Self:
        """The filter with the largest budget of that many digits that is proved to give (epsilon, delta)-DP."""
        return cls(gdp_budget(epsilon, delta, digits))

    @property
    def remaining(self) -> Fraction:
        """B^2 - (mu_1^2 + ... + mu_t^2)."""
        return self.budget - self.spent

    @proved_by("T110-gdp-filter")
    def delta(self, epsilon: Number, digits: int = DEFAULT_DIGITS,
              relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
        """Enclose the delta(eps) that the budget guarantees, however the steps were chosen."""
        return gdp_delta(self.budget, epsilon, digits, relation)

    @proved_by("T110-gdp-filter")
    def epsilon(self, delta: Number, digits: int = DEFAULT_DIGITS,
                relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
        """Enclose the smallest eps that the budget guarantees at this delta."""
        return gdp_epsilon(self.budget, delta, digits, relation)


@dataclass(frozen=True)
class RenyiFilter(ForAll):
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

    if TYPE_CHECKING:
        def __init__(self, renyi_orders: Number | Sequence[Number], budgets: Number | Sequence[Number],
                     spent: Number | Sequence[Number] = ()) -> None: ...

    def __post_init__(self) -> None:
        orders = tuple(above_one(order, f"renyi_orders[{i}]") for i, order in enumerate(_listed(self.renyi_orders), 1))
        if not orders or len(set(orders)) < len(orders):
            raise InvalidInput("renyi_orders", self.renyi_orders, "a list of different orders")
        budgets = _numbers(self.budgets, "budgets", len(orders))
        if not all(budgets):
            raise InvalidInput("budgets", self.budgets, "a list of positive rational numbers")
        spent = _numbers(self.spent or (0,) * len(orders), "spent", len(orders))
        set_fields(self, renyi_orders=orders, budgets=budgets, spent=spent)
        super().__post_init__()

    @classmethod
    def for_guarantee(cls, epsilon: Number, delta: Number, renyi_order: Number,
                      digits: int = DEFAULT_DIGITS) -> Self:
        """The filter at one order with the largest budget, up to rounding, that gives (epsilon, delta)-DP."""
        return cls((above_one(renyi_order, "renyi_order"),), (renyi_budget(epsilon, delta, renyi_order, digits),))

    @property
    def remaining(self) -> Numbers:
        """What is left at each order."""
        return tuple(budget - used for budget, used in zip(self.budgets, self.spent, strict=True))

    @proved_by("T111-renyi-filter")
    def charge(self, epsilons: Number | Sequence[Number]) -> Decision[Self]:
        """Whether a step with Renyi divergences of at most epsilons[i], in both directions, may run."""
        step = _numbers(epsilons, "epsilons", len(self.renyi_orders))
        return self._decide(tuple(used + cost for used, cost in zip(self.spent, step, strict=True)))

    @proved_by("T111-renyi-filter")
    def _allows(self, spent: Numbers) -> bool:
        """Every sum is at most its budget."""
        return all(used <= budget for used, budget in zip(spent, self.budgets, strict=True))

    @proved_by("T111-renyi-filter")
    def profile(self, relation: Relation | str = Relation.ADD_OR_REMOVE) -> PrivacyProfile:
        """delta(eps) and eps(delta) that the budgets guarantee; their upper ends are what counts."""
        return privacy_profile(Renyi(self.renyi_orders, self.budgets), relation=relation)


@dataclass(frozen=True)
class ApproximateDPFilter(ForAll):
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

    if TYPE_CHECKING:
        def __init__(self, epsilon: Number, slack: Number, steps_delta: Number = 0,
                     spent: Sequence[Number] = (0, 0)) -> None: ...

    def __post_init__(self) -> None:
        set_fields(self, epsilon=exact.positive(self.epsilon, "epsilon"), slack=exact.open_unit(self.slack, "slack"),
                   steps_delta=_below_one(self.steps_delta, "steps_delta"), spent=_numbers(self.spent, "spent", 2))
        super().__post_init__()

    @property
    def delta(self) -> Fraction:
        """d' + d'': with epsilon, the guarantee."""
        return self.slack + self.steps_delta

    @proved_by("T112-approximate-filter")
    def charge(self, epsilon: Number, delta: Number = 0) -> Decision[Self]:
        """Whether a step that is (epsilon, delta)-DP may run."""
        squares = self.spent[0] + exact.non_negative(epsilon, "epsilon") ** 2
        return self._decide((squares, self.spent[1] + _below_one(delta, "delta")))

    @proved_by("T112-approximate-filter")
    def _allows(self, spent: Numbers) -> bool:
        """sum delta_i <= d'', V/2 <= eps and (eps - V/2)^2 >= 2 V log(1/d'), V = sum eps_i^2; no where undecided."""
        squares, deltas = spent
        left = self.epsilon - squares / 2
        if deltas > self.steps_delta or left < 0:
            return False
        if squares == 0:
            return True
        return decide(lambda: ball(left**2 / (2 * squares)) + ball(self.slack).log()) is True


class EveryRecordGDP:
    """What a GDP budget guarantees to every record, between the data with it and without it, in both directions."""

    budget: Fraction

    @proved_by("T110-gdp-filter")
    def delta(self, epsilon: Number, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the delta(eps) that the budget guarantees to every record."""
        return gdp_delta(self.budget, epsilon, digits, Relation.ADD_OR_REMOVE)

    @proved_by("T110-gdp-filter")
    def epsilon(self, delta: Number, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the smallest eps that the budget guarantees to every record at this delta."""
        return gdp_epsilon(self.budget, delta, digits, Relation.ADD_OR_REMOVE)


@dataclass(frozen=True)
class IndividualFilter(PerRecord, Filter):
    """One sum per record, all against the same budget; `open` starts with zeros."""

    @classmethod
    def open(cls, budget: Number, records: Iterable[Hashable], **options: Number) -> Self:
        """Nothing spent yet; `options` are the other fields. InvalidInput where a record occurs twice."""
        return cls(budget, cls._zeros(records), **options)  # type: ignore[arg-type]

    def remaining(self, record: Hashable) -> Fraction:
        """What is left to the record."""
        return self.budget - self._spent_by(record)


@dataclass(frozen=True)
class IndividualGDPFilter(GDPCosts, EveryRecordGDP, IndividualFilter):
    """Algorithm 1: record i takes part in step j iff mu_1(i)^2 + ... + mu_j(i)^2 <= B^2; the outputs are B-GDP.

    In the remove relation, both directions. mu_j(i) must bound what record i, if it takes part, adds to step j: a
    function of i and of the earlier outputs, not of other records. For a sum with noise sigma it is norm(i) / sigma.

    >>> decision = IndividualGDPFilter.open("1", ["a", "b"]).charge({"a": "1", "b": "1.01"})
    >>> sorted(decision.active), sorted(decision.halted), decision.state.remaining("b")
    (['a'], ['b'], Fraction(1, 1))
    """

    kind: ClassVar[str] = "individual-gdp"

    if TYPE_CHECKING:
        def __init__(self, budget: Number, spent: Mapping[Any, Number]) -> None: ...


@dataclass(frozen=True)
class IndividualRenyiFilter(RenyiCosts, IndividualFilter):
    """The individual filter of Feldman and Zrnic (2021): one Renyi order a, divergences that sum to at most the budget.

    For a sum with Gaussian noise sigma a step costs record i a norm(i)^2 / (2 sigma^2).

    >>> state = IndividualRenyiFilter.open("1", ["a", "b"], renyi_order=8)
    >>> sorted(state.charge({"a": "1/2", "b": 2}).active)
    ['a']
    """

    kind: ClassVar[str] = "individual-renyi"

    if TYPE_CHECKING:
        def __init__(self, budget: Number, spent: Mapping[Any, Number], *, renyi_order: Number) -> None: ...

    @proved_by("T111-renyi-filter")
    def profile(self) -> PrivacyProfile:
        """What the budget guarantees to every record; the upper ends are what counts."""
        return self._profile(self.budget, Relation.ADD_OR_REMOVE)


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
