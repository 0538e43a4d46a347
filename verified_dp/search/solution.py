"""What the facade keeps beside an answer: the evaluations that prove it, each with its witness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.dyadic import Dyadic
from verified_dp.core.ends import End
from verified_dp.core.engines import Witness
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Enclosure

Ends = tuple[End, End]


@dataclass(frozen=True)
class Evaluation:
    """delta of one order enclosed at eps = `at`, and the answer it supports.

    quantity "delta": the delta asked for. quantity "epsilon": at = eps_lo with side "lower" shows delta(at) > target,
    at = eps_hi with side "upper" shows delta(at) <= target. side: the end that is used ("both" where both are; of a
    delta that two methods enclose the lower end may come from one evaluation and the upper one from another).
    """

    quantity: str
    order: str
    at: Fraction
    side: str
    method: str
    witness: Witness
    lower: End
    upper: End
    budget: Mapping[str, Dyadic]


@dataclass(frozen=True)
class Solution:
    """The answer, and what proves it."""

    enclosure: Enclosure
    evaluations: tuple[Evaluation, ...]


def by_order(evaluations: Iterable[Evaluation]) -> dict[str, Ends]:
    """The intersection of each order's enclosures of delta."""
    found: dict[str, Ends] = {}
    for one in evaluations:
        lower, upper = found.get(one.order, (one.lower, one.upper))
        found[one.order] = max(lower, one.lower), min(upper, one.upper)
    return found


@proved_by("T25-composition", "T13-epsilon-of-delta")
def larger(ends: Mapping[str, Ends]) -> tuple[Ends, str]:
    """The enclosure of the largest of all orders' numbers, and which order's it is; "both" where that is not proved.

    ends: order -> an enclosure of its delta, or of its epsilon.
    """
    proved = [order for order, (lower, _) in ends.items()
              if all(other == order or lower >= upper for other, (_, upper) in ends.items())]
    both = max(lower for lower, _ in ends.values()), max(upper for _, upper in ends.values())
    return both, proved[0] if len(proved) == 1 else "both"
