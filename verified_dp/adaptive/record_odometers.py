"""Individual odometers: how much each record has spent, in steps of Delta, without a budget set in advance.

    state = IndividualGDPOdometer.open(step="1/100", records=["a", "b"])
    state = state.charge({"a": "1/250", "b": "1/50"}).state       # every record takes part in every step
    state.reading("a"), state.reading("b")                        # 1, 2

For every record x and every m fixed in advance, what is released while the reading of x is at most m is
(m Delta)-private for x: between the data with x and without it (T113). Readings depend on the records: publish none of
them, nor their largest or their mean, and do not stop by them. Whoever wants a bound for a whole release takes an
individual filter, which drops each record in time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from verified_dp.adaptive.budgets import DEFAULT_DIGITS, above_one
from verified_dp.adaptive.filters import set_fields
from verified_dp.adaptive.odometers import GDPOdometer, RenyiOdometer
from verified_dp.adaptive.record_filters import (
    IndividualDecision,
    checked_sums,
    new_sums,
    sum_of,
    with_sums,
    zero_sums,
)
from verified_dp.core import exact
from verified_dp.core.mechanisms import Relation
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.profile import PrivacyProfile


@dataclass(frozen=True)
class IndividualOdometer:
    """One sum per record, read in multiples of a step Delta > 0.

    Args:
        step: Delta. spent: record id (anything hashable) -> its sum so far. `open` starts with zeros.
    """

    step: Fraction
    spent: Mapping[Hashable, Fraction] = field(hash=False)

    def __post_init__(self) -> None:
        set_fields(self, step=exact.positive(self.step, "step"), spent=checked_sums(self.spent))

    @classmethod
    def open(cls, step: object, records: Iterable[Hashable], **options: object) -> Self:
        """Nothing spent yet; `options` are the other fields. InvalidInput where a record occurs twice."""
        return cls(step, zero_sums(records), **options)  # type: ignore[arg-type]

    @proved_by("T113-odometer")
    def reading(self, record: Hashable) -> int:
        """The smallest m with spent <= m Delta."""
        return -(-sum_of(self.spent, record) // self.step)

    def _charge(self, costs: object, key: str) -> IndividualDecision[Self]:
        totals = new_sums(self.spent, costs, key)
        return IndividualDecision(frozenset(totals), frozenset(), with_sums(self, totals))


@dataclass(frozen=True)
class IndividualGDPOdometer(IndividualOdometer):
    """The sum of mu_j(i)^2 of every record i; mu_j(i) as in IndividualGDPFilter.

    >>> state = IndividualGDPOdometer.open("1/100", ["a", "b"]).charge({"a": "1/100", "b": "1.01e-2"}).state
    >>> state.reading("a"), state.reading("b")
    (1, 2)
    """

    kind: ClassVar[str] = "individual-gdp-odometer"

    @proved_by("T113-odometer")
    def charge(self, mu_squared: Mapping[Hashable, object]) -> IndividualDecision[IndividualGDPOdometer]:
        """The state with a step that costs record i mu_squared[i]; every record must be named, and none is halted."""
        return self._charge(mu_squared, "mu_squared")

    @proved_by("T113-odometer")
    def delta(self, epsilon: object, stops: object, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the delta(eps) that holds for a record while its reading <= stops, fixed in advance."""
        return GDPOdometer(self.step).delta(epsilon, stops, digits, Relation.ADD_OR_REMOVE)

    @proved_by("T113-odometer")
    def epsilon(self, delta: object, stops: object, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the smallest eps at this delta for a record while its reading <= stops, fixed in advance."""
        return GDPOdometer(self.step).epsilon(delta, stops, digits, Relation.ADD_OR_REMOVE)


@dataclass(frozen=True)
class IndividualRenyiOdometer(IndividualOdometer):
    """The sum of the Renyi divergences of one order of every record."""

    kind: ClassVar[str] = "individual-renyi-odometer"
    renyi_order: Fraction = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, renyi_order=above_one(self.renyi_order, "renyi_order"))

    @proved_by("T113-odometer")
    def charge(self, epsilons: Mapping[Hashable, object]) -> IndividualDecision[IndividualRenyiOdometer]:
        """The state with a step of Renyi divergence at most epsilons[i] for record i; every record must be named."""
        return self._charge(epsilons, "epsilons")

    @proved_by("T113-odometer")
    def profile(self, stops: object) -> PrivacyProfile:
        """What holds for a record while its reading <= stops, fixed in advance; upper ends count."""
        return RenyiOdometer(self.step, renyi_order=self.renyi_order).profile(stops, Relation.ADD_OR_REMOVE)
