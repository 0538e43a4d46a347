"""One enclosure of delta with exact ends and the witness that gives it; the larger of both orders' numbers.

An order's delta is enclosed by one evaluation (side "both"), or by the intersection of two, of which one was made
for the lower and one for the upper end. The largest delta of all orders is enclosed by their largest ends (T25), the
epsilon by the `at` of those evaluations that show delta(x) > target for every x < at (side "lower"), or
delta(at) <= target (side "upper", in every order) (T13).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.ends import End, end_of
from verified_dp.core.kernel.errors import InconsistentEnclosures
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Witness

Ends = tuple[End, End]
Size = TypeVar("Size", Dyadic, str)
"""A share of the error budget: a number, or the decimal that a certificate records."""


@dataclass(frozen=True)
class Evaluation(Generic[Size]):
    """lower <= delta of this order at eps = `at` <= upper, by this witness.

    quantity "delta": the delta asked for. quantity "epsilon": at = eps_lo with side "lower" shows delta(x) > target
    for every x < at, at = eps_hi with side "upper" shows delta(at) <= target. side: the end that is used ("both"
    where both are). budget: an upper bound of what each source of error adds. everywhere, until: what the values of
    the witness say of other eps (`Bounds`); a certificate does not record it, its check asks them.
    """

    quantity: str
    order: str
    at: Fraction
    side: str
    witness: Witness
    lower: End
    upper: End
    budget: Mapping[str, Size]
    everywhere: bool = False
    until: End | None = None

    def exceeds(self, delta: Fraction) -> bool:
        """Whether delta(x) is larger for every x < at: at `at` too, or since it falls up to there (T127)."""
        return self.lower > delta or (self.until is not None and self.until >= self.at and self.lower >= delta)

    def exceeds_until(self, delta: Fraction) -> End:
        """An end that delta(x) exceeds this number before, where it `exceeds` it: `at`, or infinity (T44, T127)."""
        endless = self.until is not None and Dyadic.infinity() <= self.until and self.lower >= delta
        return Dyadic.infinity() if endless or (self.everywhere and self.lower > delta) else end_of(self.at)


@proved_by("T25-composition", "T16-reversal")
def largest_delta(evaluations: Iterable[Evaluation[Size]]) -> tuple[Ends, str]:
    """The enclosure of the largest delta of all orders at one eps, and the order that has it.

    The order is "both" where none is proved the larger, and at eps = 0, where they agree (T16).

    Raises InconsistentEnclosures where two enclosures of one order's delta are disjoint.
    """
    found: dict[str, Ends] = {}
    at_zero = False
    for one in evaluations:
        lower, upper = found.get(one.order, (one.lower, one.upper))
        if one.lower > upper or one.upper < lower:
            raise InconsistentEnclosures(f"the enclosures of delta in the order {one.order} are disjoint")
        found[one.order] = max(lower, one.lower), min(upper, one.upper)  # exact: fractions
        at_zero = one.at == 0
    ends, order = larger(found)
    return ends, "both" if at_zero and len(found) > 1 else order


@proved_by("T13-epsilon-of-delta", "T25-composition")
def largest_epsilon(orders: Sequence[str], evaluations: Iterable[Evaluation[Size]],
                    target: Fraction) -> tuple[Ends, str]:
    """The enclosure of the largest eps(target) of all orders, from evaluations that show what their sides say.

    It is infinite where delta exceeds the target everywhere.

    Raises InconsistentEnclosures where the ends contradict each other.
    """
    shown = {(one.order, one.side): one.exceeds_until(target) if one.side == "lower" else end_of(one.at)
             for one in evaluations}
    ends, order = larger({order: (shown.get((order, "lower")), shown.get((order, "upper"), Dyadic.infinity()))
                          for order in orders})
    if ends[1] < ends[0]:
        raise InconsistentEnclosures("the ends of epsilon contradict each other")
    return ends, order


@proved_by("T25-composition", "T13-epsilon-of-delta")
def larger(ends: Mapping[str, tuple[End | None, End]]) -> tuple[Ends, str]:
    """The enclosure of the largest of all orders' numbers, and which order's it is; "both" where that is not proved.

    ends: order -> an enclosure of its delta, or of its epsilon; None for a lower end that is only known not to be
    negative. Where a single order has another lower end than this, it is named.
    """
    known = {order: lower for order, (lower, _) in ends.items() if lower is not None or len(ends) == 1}
    proved = [order for order, lower in known.items() if all(
        other == order or (lower is not None and lower >= upper) for other, (_, upper) in ends.items())]
    named = proved if len(proved) == 1 else list(known)
    both = (max([Dyadic(0), *(lower for lower, _ in ends.values() if lower is not None)]),  # exact: fractions
            max(upper for _, upper in ends.values()))  # exact: fractions
    return both, named[0] if len(named) == 1 else "both"
