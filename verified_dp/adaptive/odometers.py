"""Privacy odometers: how much has been spent so far, in steps of Delta, without a budget set in advance.

    state = GDPOdometer(step="1/100")
    state = state.charge("1/250").state
    state.reading, state.reached                   # 1, 1/100: all outputs so far come before the first stop

An odometer is the sequence of filters with the budgets Delta, 2 Delta, 3 Delta, ... on the same sum. For every m fixed
in advance, the outputs released while the reading is at most m are (m Delta)-private (T113). That holds for each m, not
for the reading at the moment itself, which depends on the outputs: who stops at a certain reading and wants to name an
epsilon must take a filter, or name m before. (Appendix C.5 resets its counter at every crossing and so wastes the rest
of each stretch; on one sum nothing is wasted.)

    state = IndividualGDPOdometer.open(step="1/100", records=["a", "b"])
    state = state.charge({"a": "1/250", "b": "1/50"}).state       # every record takes part in every step
    state.reading("a"), state.reading("b")                        # 1, 2

For every record x and every m fixed in advance, what is released while the reading of x is at most m is
(m Delta)-private for x: between the data with x and without it. Readings depend on the records: publish none of them,
nor their largest or their mean, and do not stop by them. Whoever wants a bound for a whole release takes an individual
filter, which drops each record in time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from verified_dp.adaptive.budgets import DEFAULT_DIGITS, gdp_delta, gdp_epsilon
from verified_dp.adaptive.sums import Decision, GDPCost, GDPCosts, Odometer, OneSum, PerRecord, RenyiCosts, RenyiOrder
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.profile import PrivacyProfile


@dataclass(frozen=True)
class OdometerForAll(OneSum, Odometer):
    """One sum for all; `spent` is the sum so far."""

    @property
    def reading(self) -> int:
        """The smallest m with spent <= m Delta."""
        return self._reading(self.spent)

    @property
    def reached(self) -> Fraction:
        """reading * Delta: the smallest of the budgets that holds all that was spent."""
        return self.reading * self.step


@dataclass(frozen=True)
class GDPOdometer(GDPCost, OdometerForAll):
    """mu_1^2 + ... + mu_t^2 against m Delta: the outputs before the m-th stop are sqrt(m Delta)-GDP.

    >>> state = GDPOdometer("1/100").charge("1/100").state
    >>> state.reading, state.charge("1e-30").state.reading
    (1, 2)
    """

    kind: ClassVar[str] = "gdp-odometer"

    if TYPE_CHECKING:
        def __init__(self, step: Number, spent: Number = 0) -> None: ...

    @proved_by("T113-odometer")
    def delta(self, epsilon: Number, stops: Number, digits: int = DEFAULT_DIGITS,
              relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
        """Enclose the delta(eps) that holds for the outputs released while reading <= stops, fixed in advance."""
        return gdp_delta(self._budget(stops), epsilon, digits, relation)

    @proved_by("T113-odometer")
    def epsilon(self, delta: Number, stops: Number, digits: int = DEFAULT_DIGITS,
                relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
        """Enclose the smallest eps at this delta for the outputs released while reading <= stops, fixed in advance."""
        return gdp_epsilon(self._budget(stops), delta, digits, relation)


@dataclass(frozen=True)
class RenyiOdometer(RenyiOrder, OdometerForAll):
    """Renyi divergences of one order, summed, against m Delta."""

    kind: ClassVar[str] = "renyi-odometer"

    if TYPE_CHECKING:
        def __init__(self, step: Number, spent: Number = 0, *, renyi_order: Number) -> None: ...

    @proved_by("T113-odometer")
    def charge(self, epsilon: Number) -> Decision[Self]:
        """The state with a step of Renyi divergence at most epsilon in both directions; an odometer never halts."""
        return self._charge(epsilon, "epsilon")

    @proved_by("T113-odometer")
    def profile(self, stops: Number, relation: Relation | str = Relation.ADD_OR_REMOVE) -> PrivacyProfile:
        """What holds for the outputs released while reading <= stops, fixed in advance; upper ends count."""
        return self._profile(self._budget(stops), relation)


@dataclass(frozen=True)
class IndividualOdometer(PerRecord, Odometer):
    """One sum per record, each read alone; `open` starts with zeros."""

    @classmethod
    def open(cls, step: Number, records: Iterable[Hashable], **options: Number) -> Self:
        """Nothing spent yet; `options` are the other fields. InvalidInput where a record occurs twice."""
        return cls(step, cls._zeros(records), **options)  # type: ignore[arg-type]

    def reading(self, record: Hashable) -> int:
        """The smallest m with spent <= m Delta."""
        return self._reading(self._spent_by(record))


@dataclass(frozen=True)
class IndividualGDPOdometer(GDPCosts, IndividualOdometer):
    """The sum of mu_j(i)^2 of every record i; mu_j(i) as in IndividualGDPFilter.

    >>> state = IndividualGDPOdometer.open("1/100", ["a", "b"]).charge({"a": "1/100", "b": "1.01e-2"}).state
    >>> state.reading("a"), state.reading("b")
    (1, 2)
    """

    kind: ClassVar[str] = "individual-gdp-odometer"

    if TYPE_CHECKING:
        def __init__(self, step: Number, spent: Mapping[Any, Number]) -> None: ...

    @proved_by("T113-odometer")
    def delta(self, epsilon: Number, stops: Number, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the delta(eps) that holds for a record while its reading <= stops, fixed in advance."""
        return gdp_delta(self._budget(stops), epsilon, digits, Relation.ADD_OR_REMOVE)

    @proved_by("T113-odometer")
    def epsilon(self, delta: Number, stops: Number, digits: int = DEFAULT_DIGITS) -> Enclosure:
        """Enclose the smallest eps at this delta for a record while its reading <= stops, fixed in advance."""
        return gdp_epsilon(self._budget(stops), delta, digits, Relation.ADD_OR_REMOVE)


@dataclass(frozen=True)
class IndividualRenyiOdometer(RenyiCosts, IndividualOdometer):
    """The sum of the Renyi divergences of one order of every record."""

    kind: ClassVar[str] = "individual-renyi-odometer"

    if TYPE_CHECKING:
        def __init__(self, step: Number, spent: Mapping[Any, Number], *, renyi_order: Number) -> None: ...

    @proved_by("T113-odometer")
    def profile(self, stops: Number) -> PrivacyProfile:
        """What holds for a record while its reading <= stops, fixed in advance; upper ends count."""
        return self._profile(self._budget(stops), Relation.ADD_OR_REMOVE)
