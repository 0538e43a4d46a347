"""Individual filters: each record pays for what it adds to a step, and drops out when its own budget is used up.

    state = IndividualGDPFilter.open(budget="1/4", records=["a", "b"])
    decision = state.charge({"a": "1/100", "b": "1/4"})    # before the step runs
    run_step_on(decision.active); state = decision.state

The guarantee is for neighbours that differ by one record (added or removed). The cost of a record must be a function of
that record and of earlier outputs, not of other records; so must be what the step does with it. Which records are
active, how many are, and what they have spent depends on the data: publish none of it. When to stop must not depend on
it either: run as many steps as were planned, or as the outputs suggest, also on nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Generic, Self, TypeVar

from verified_dp.adaptive.budgets import DEFAULT_DIGITS, above_one, gdp_delta, gdp_epsilon
from verified_dp.adaptive.filters import Verdict, check_spent, set_fields
from verified_dp.core import exact
from verified_dp.core.errors import InvalidInput
from verified_dp.core.mechanisms import Relation
from verified_dp.core.releases import Renyi
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.profile import PrivacyProfile, privacy_profile

State = TypeVar("State")


class StepRuns:
    """A decision on who takes part in a step, which runs in any case."""

    @property
    def continues(self) -> bool:
        """True: the step runs, on whoever is active."""
        return True

    @property
    def verdict(self) -> Verdict:
        """CONTINUE, always."""
        return Verdict.CONTINUE


@dataclass(frozen=True)
class IndividualDecision(StepRuns, Generic[State]):
    """Who takes part in a step, and the state after it.

    active: the records whose budgets allow it: the step runs on these alone. halted: all others. Both depend on the
    records themselves: neither set, nor its size, may be published. The step runs even where nobody is active (it then
    releases noise): leaving it out, or stopping then, would tell.
    """

    active: frozenset[Hashable]
    halted: frozenset[Hashable]
    state: State


@dataclass(frozen=True)
class IndividualFilter:
    """One sum per record: a step runs on the records whose sum, with the step's cost, stays within the budget.

    Args:
        budget: the same for all records, > 0. spent: record id (anything hashable) -> its sum so far; the keys are the
            records of the data set. `open` starts with zeros.
    """

    budget: Fraction
    spent: Mapping[Hashable, Fraction] = field(hash=False)

    def __post_init__(self) -> None:
        set_fields(self, budget=exact.positive(self.budget, "budget"), spent=checked_sums(self.spent))
        check_spent(max(self.spent.values()), self.budget)

    @classmethod
    def open(cls, budget: object, records: Iterable[Hashable], **options: object) -> Self:
        """Nothing spent yet; `options` are the other fields. InvalidInput where a record occurs twice."""
        return cls(budget, zero_sums(records), **options)  # type: ignore[arg-type]

    def remaining(self, record: Hashable) -> Fraction:
        """What is left to the record."""
        return self.budget - sum_of(self.spent, record)

    def _charge(self, costs: object, key: str) -> IndividualDecision[Self]:
        totals = new_sums(self.spent, costs, key)
        top, bottom = self.budget.as_integer_ratio()  # several times faster than comparing fractions
        halted = frozenset(record for record, total in totals.items()
                           if total.numerator * bottom > top * total.denominator)
        active = frozenset(totals) - halted
        totals.update({record: self.spent[record] for record in halted})
        return IndividualDecision(active, halted, with_sums(self, totals))


class EveryRecordGDP:
    """What a GDP budget guarantees to every record, between the data with it and without it, in both directions."""

    budget: Fraction

    @proved_by("T110-gdp-filter")
    def delta(self, epsilon: object, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the delta(eps) that the budget guarantees to every record."""
        return gdp_delta(self.budget, epsilon, digits, Relation.ADD_OR_REMOVE)

    @proved_by("T110-gdp-filter")
    def epsilon(self, delta: object, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the smallest eps that the budget guarantees to every record at this delta."""
        return gdp_epsilon(self.budget, delta, digits, Relation.ADD_OR_REMOVE)


@dataclass(frozen=True)
class IndividualGDPFilter(EveryRecordGDP, IndividualFilter):
    """Algorithm 1: record i takes part in step j iff mu_1(i)^2 + ... + mu_j(i)^2 <= B^2; the outputs are B-GDP.

    In the remove relation, both directions. mu_j(i) must bound what record i, if it takes part, adds to step j: a
    function of i and of the earlier outputs, not of other records. For a sum with noise sigma it is norm(i) / sigma.

    >>> decision = IndividualGDPFilter.open("1", ["a", "b"]).charge({"a": "1", "b": "1.01"})
    >>> sorted(decision.active), sorted(decision.halted), decision.state.remaining("b")
    (['a'], ['b'], Fraction(1, 1))
    """

    kind: ClassVar[str] = "individual-gdp"

    @proved_by("T110-gdp-filter")
    def charge(self, mu_squared: Mapping[Hashable, object]) -> IndividualDecision[IndividualGDPFilter]:
        """Who takes part in a step that would cost record i mu_squared[i]; every record must be named, 0 included."""
        return self._charge(mu_squared, "mu_squared")


@dataclass(frozen=True)
class IndividualRenyiFilter(IndividualFilter):
    """The individual filter of Feldman and Zrnic (2021): one Renyi order a, divergences that sum to at most the budget.

    For a sum with Gaussian noise sigma a step costs record i a norm(i)^2 / (2 sigma^2).

    >>> state = IndividualRenyiFilter.open("1", ["a", "b"], renyi_order=8)
    >>> sorted(state.charge({"a": "1/2", "b": 2}).active)
    ['a']
    """

    kind: ClassVar[str] = "individual-renyi"
    renyi_order: Fraction = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, renyi_order=above_one(self.renyi_order, "renyi_order"))

    @proved_by("T111-renyi-filter")
    def charge(self, epsilons: Mapping[Hashable, object]) -> IndividualDecision[IndividualRenyiFilter]:
        """Who takes part in a step of Renyi divergence at most epsilons[i] for record i; every record must be named."""
        return self._charge(epsilons, "epsilons")

    @proved_by("T111-renyi-filter")
    def profile(self) -> PrivacyProfile:
        """What the budget guarantees to every record; the upper ends are what counts."""
        return privacy_profile(Renyi((self.renyi_order,), (self.budget,)), relation=Relation.ADD_OR_REMOVE)


Sums = Mapping[Hashable, Fraction]


def zero_sums(records: Iterable[Hashable]) -> Sums:
    """Record -> 0. InvalidInput where one is named twice."""
    ids = list(records)
    spent = dict.fromkeys(ids, Fraction(0))
    if len(spent) < len(ids):
        raise InvalidInput("records", Counter(ids).most_common(1)[0][0], "named once")
    return spent


def checked_sums(spent: object) -> Sums:
    """Record -> what it has spent, of at least one record. InvalidInput for anything else."""
    if not isinstance(spent, Mapping) or not spent:
        raise InvalidInput("spent", spent, "a mapping from at least one record to what it has spent")
    return {record: _cost(value, "spent", record) for record, value in spent.items()}


def new_sums(spent: Sums, costs: object, key: str) -> dict[Hashable, Fraction]:
    """Record -> its sum with the step's cost. InvalidInput unless every record has one, and it is >= 0."""
    if not isinstance(costs, Mapping) or costs.keys() != spent.keys():
        raise InvalidInput(key, *_difference(costs, spent))
    return {record: used + _cost(costs[record], key, record) for record, used in spent.items()}


def sum_of(spent: Sums, record: Hashable) -> Fraction:
    """What the record has spent."""
    if record not in spent:
        raise InvalidInput("record", record, "one of the records that were named at the start")
    return spent[record]


def with_sums(state: State, spent: Sums) -> State:
    """The same state with other sums, which are known to be right."""
    new = object.__new__(type(state))
    set_fields(new, **{**state.__dict__, "spent": spent})
    return new


def _cost(value: object, key: str, record: Hashable) -> Fraction:
    if type(value) is Fraction and value.numerator >= 0:
        return value
    return exact.non_negative(value, f"{key}[{record!r}]")


def _difference(costs: object, spent: Mapping[Hashable, Fraction]) -> tuple[object, str]:
    """(value, expected) of the error: which record is unknown or missing."""
    if not isinstance(costs, Mapping):
        return costs, "a mapping from every record to its cost"
    unknown = [record for record in costs if record not in spent]
    if unknown:
        return unknown[0], "a mapping whose records all belong to the filter"
    missing = next(record for record in spent if record not in costs)
    return missing, "a mapping that names every record (0 for one the step does not touch), and one is missing"
