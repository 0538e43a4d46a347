"""The parts of filters and odometers: exact sums of fractions, what a step adds to them, and what is done with them.

A state is a frozen value made of three parts:
    whose sum it is      OneSum, one for all; PerRecord, one for each record
    what a step costs    GDPCost, GDPCosts, RenyiCosts: its `charge`
    the gesture          Filter stops at a budget; Odometer reads in multiples of a step
filters.py and odometers.py put them together and say what is guaranteed. A sum is charged in one place, `_decide` for
all and `_charge` of PerRecord, and what may stand is asked in one place, `_allows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar

from verified_dp.adaptive.budgets import above_one
from verified_dp.core.families.guarantees.mechanism import Renyi
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.profile import PrivacyProfile, privacy_profile

State = TypeVar("State")


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


class StepRuns:
    """A decision on who takes part in a step, which runs in any case, on whoever is active."""

    verdict: ClassVar[Verdict] = Verdict.CONTINUE
    continues: ClassVar[bool] = True


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


class RunningSum(ABC):
    """What was spent so far; a filter and an odometer say which sums may stand."""

    spent: Any

    def __post_init__(self) -> None:
        """Every part of a state sets its own fields before; then the sums must be allowed."""
        sums = self.spent.values() if isinstance(self.spent, Mapping) else (self.spent,)
        if wrong := [spent for spent in sums if not self._allows(spent)]:
            raise InvalidInput("spent", wrong[0], "within the budget")

    @abstractmethod
    def _allows(self, spent: Any) -> bool:
        """Whether a sum may stand."""

    def _with(self, spent: Any) -> Self:
        """The same state with other sums, which are known to be right."""
        new = object.__new__(type(self))
        set_fields(new, **{**self.__dict__, "spent": spent})
        return new


class ForAll(RunningSum):
    """One sum, or one tuple of sums, for all: a step runs or does not."""

    @proved_by("T110-gdp-filter", "T111-renyi-filter", "T112-approximate-filter", "T113-odometer")
    def _decide(self, spent: Any) -> Decision[Self]:
        """On a step that would bring the sum to `spent`: CONTINUE with it where it is allowed, else HALT as before."""
        if self._allows(spent):
            return Decision(Verdict.CONTINUE, self._with(spent))
        return Decision(Verdict.HALT, self)


@dataclass(frozen=True)
class OneSum(ForAll):
    """One number for all."""

    spent: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        set_fields(self, spent=exact.non_negative(self.spent, "spent"))
        super().__post_init__()

    @proved_by("T110-gdp-filter", "T113-odometer")
    def _charge(self, cost: Number, key: str) -> Decision[Self]:
        return self._decide(self.spent + exact.non_negative(cost, key))


@dataclass(frozen=True)
class PerRecord(RunningSum):
    """One number for each record: a step runs on the records whose sum, with the step's cost, is allowed.

    spent: record id (anything hashable) -> its sum so far; the keys are the records of the data set.
    """

    spent: Mapping[Hashable, Fraction] = field(hash=False)

    @classmethod
    def _zeros(cls, records: Iterable[Hashable]) -> Mapping[Hashable, Fraction]:
        """Record -> 0. InvalidInput where one is named twice."""
        counted = Counter(iter(records))  # of a mapping, its keys
        if len(counted) < counted.total():
            raise InvalidInput("records", counted.most_common(1)[0][0], "named once")
        return dict.fromkeys(counted, Fraction(0))

    def __post_init__(self) -> None:
        if not isinstance(self.spent, Mapping) or not self.spent:
            raise InvalidInput("spent", self.spent, "a mapping from at least one record to what it has spent")
        set_fields(self, spent={record: _cost(value, "spent", record) for record, value in self.spent.items()})
        super().__post_init__()

    @proved_by("T110-gdp-filter", "T111-renyi-filter", "T113-odometer")
    def _charge(self, costs: object, key: str) -> IndividualDecision[Self]:
        """Who takes part in a step. InvalidInput unless every record has a cost, and it is >= 0."""
        if not isinstance(costs, Mapping) or costs.keys() != self.spent.keys():
            raise InvalidInput(key, *_difference(costs, self.spent))
        totals = {record: used + _cost(costs[record], key, record) for record, used in self.spent.items()}
        halted = frozenset(record for record, total in totals.items() if not self._allows(total))
        active = frozenset(totals) - halted
        totals.update({record: self.spent[record] for record in halted})
        return IndividualDecision(active, halted, self._with(totals))

    def _spent_by(self, record: Hashable) -> Fraction:
        if record not in self.spent:
            raise InvalidInput("record", record, "one of the records that were named at the start")
        return self.spent[record]


@dataclass(frozen=True)
class Filter(RunningSum):
    """Stop: a sum may grow up to a budget > 0."""

    budget: Fraction

    def __post_init__(self) -> None:
        set_fields(self, budget=exact.positive(self.budget, "budget"))
        super().__post_init__()

    @proved_by("T110-gdp-filter", "T111-renyi-filter")
    def _allows(self, spent: Fraction) -> bool:
        """spent <= budget, in integers: several times faster than comparing fractions."""
        return spent.numerator * self.budget.denominator <= self.budget.numerator * spent.denominator


@dataclass(frozen=True)
class Odometer(RunningSum):
    """Read: a sum grows without end, and is read in multiples of a step Delta > 0."""

    step: Fraction

    def __post_init__(self) -> None:
        set_fields(self, step=exact.positive(self.step, "step"))
        super().__post_init__()

    def _allows(self, spent: Fraction) -> bool:
        return True

    @proved_by("T113-odometer")
    def _reading(self, spent: Fraction) -> int:
        """The smallest m with spent <= m Delta."""
        return -(-spent // self.step)

    @proved_by("T113-odometer")
    def _budget(self, stops: Number) -> Fraction:
        """m Delta."""
        return exact.count(stops, "stops") * self.step


class GDPCost(OneSum):
    """mu_1^2 + ... + mu_t^2, the steps mu_i-GDP."""

    @proved_by("T110-gdp-filter", "T113-odometer")
    def charge(self, mu_squared: Number) -> Decision[Self]:
        """The verdict on a step that costs mu^2 >= 0, and the state after it; an odometer never halts."""
        return self._charge(mu_squared, "mu_squared")


class GDPCosts(PerRecord):
    """mu_1(i)^2 + ... + mu_t(i)^2 for each record i."""

    @proved_by("T110-gdp-filter", "T113-odometer")
    def charge(self, mu_squared: Mapping[Any, Number]) -> IndividualDecision[Self]:
        """Who takes part in a step that would cost record i mu_squared[i]; every record must be named, 0 included."""
        return self._charge(mu_squared, "mu_squared")


@dataclass(frozen=True)
class RenyiOrder(RunningSum):
    """Renyi divergences of one order a > 1."""

    renyi_order: Fraction = field(kw_only=True)

    def __post_init__(self) -> None:
        set_fields(self, renyi_order=above_one(self.renyi_order, "renyi_order"))
        super().__post_init__()

    @proved_by("T111-renyi-filter", "T113-odometer")
    def _profile(self, budget: Fraction, relation: Relation | str) -> PrivacyProfile:
        """What D_a <= budget guarantees; its upper ends count."""
        return privacy_profile(Renyi((self.renyi_order,), (budget,)), relation=relation)


class RenyiCosts(RenyiOrder, PerRecord):
    """One sum of divergences for each record."""

    @proved_by("T111-renyi-filter", "T113-odometer")
    def charge(self, epsilons: Mapping[Any, Number]) -> IndividualDecision[Self]:
        """Who takes part in a step of Renyi divergence at most epsilons[i] for record i; every record must be named."""
        return self._charge(epsilons, "epsilons")


def set_fields(state: object, **values: object) -> None:
    """Set fields of a frozen state."""
    for name, value in values.items():
        object.__setattr__(state, name, value)


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
