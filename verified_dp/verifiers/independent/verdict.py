"""From recorded enclosures to result and verdict (CERTIFICATE.md, "The rule of acceptance"): exact comparisons only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .document import Document, Dyadic, Invalid, decimals
from .inputs import Claim

SIDES = {"delta": ("both", "lower", "upper"), "epsilon": ("lower", "upper")}
End = Dyadic | None
"""None: infinity, of an end of epsilon."""


@dataclass(frozen=True)
class Statement:
    """lower <= delta(at) <= upper of one order, for one quantity and side."""

    quantity: str
    order: str
    at: Fraction
    side: str
    lower: Dyadic
    upper: Dyadic
    falls: bool = False
    """Whether delta(x) > lower for every x < at besides (T127)."""
    everywhere: bool = False
    """Whether delta(x) >= lower for every x, and > where it falls: lower bounds the mass at infinity (T44, T127)."""

    def exceeds(self, delta: Fraction) -> bool:
        """Whether delta(x) is larger for every x < at."""
        return self.lower > delta or (self.falls and self.lower >= delta)


def judge(claim: Claim, orders: Sequence[str], tight: bool, found: Sequence[Statement]) -> Document:
    """`result`, `verdict` and `short_by_rounding`."""
    _check_places(orders, found)
    for index, one in enumerate(found):
        _check_purpose(claim, one, f"evaluations[{index}]")
    deltas = _by_order([one for one in found if one.quantity == "delta"])
    lower, upper = _most([low for low, _ in deltas.values()]), _most([high for _, high in deltas.values()])
    low, high, order = _epsilon(orders, [one for one in found if one.quantity == "epsilon"])
    refuted = tight and (lower > claim.delta or low is None or low > claim.epsilon)
    return {
        "result": {"delta": _interval(_delta_order(claim, deltas), lower, upper),
                   "epsilon": _interval(order, low, high)},
        "verdict": "proved" if upper <= claim.delta else "refuted" if refuted else "undecided",
        "short_by_rounding": refuted and _rounds_to_claim(claim, low, high)}


def _interval(order: str, lower: End, upper: End) -> Document:
    texts = ("inf", "inf") if lower is None else decimals(lower, upper, "result")
    return {"order": order, "lower": texts[0], "upper": texts[1]}


def _most(values: Sequence[Dyadic]) -> Dyadic:
    found = values[0]
    for value in values[1:]:
        found = value if value > found else found
    return found


def _check_places(orders: Sequence[str], found: Sequence[Statement]) -> None:
    """Delta in every order by one ("both") or two; epsilon at most once per order and side; in this sequence."""
    for order in orders:
        sides = [one.side for one in found if (one.quantity, one.order) == ("delta", order)]
        if sides not in (["both"], ["lower", "upper"]):
            raise Invalid("evaluations", "delta at the claimed epsilon is needed in every order")
    places = [(q, order, side) for q, sides in SIDES.items() for order in orders for side in sides]
    stated = [(one.quantity, one.order, one.side) for one in found]
    if stated != [place for place in places if place in stated]:
        raise Invalid("evaluations", "quantity, order and side come once each, in sequence")


def _check_purpose(claim: Claim, one: Statement, path: str) -> None:
    rules = {"at": (one.at == claim.epsilon, "must be the claimed epsilon")}
    if one.quantity == "epsilon":
        rules = {
            "at": (one.at >= 0, "must not be negative"),
            "enclosure.lower": (one.side == "upper" or one.exceeds(claim.delta),
                                "must exceed the claimed delta on this side"),
            "enclosure.upper": (one.side == "lower" or one.upper <= claim.delta,
                                "must not exceed the claimed delta on this side")}
    for key, (holds, words) in rules.items():
        if not holds:
            raise Invalid(f"{path}.{key}", words)


def _by_order(deltas: Sequence[Statement]) -> dict[str, tuple[Dyadic, Dyadic]]:
    """The intersection of each order's enclosures."""
    found = {}
    for order in dict.fromkeys(one.order for one in deltas):
        mine = [one for one in deltas if one.order == order]
        found[order] = max(one.lower for one in mine), min(one.upper for one in mine)
        if found[order][0] > found[order][1]:
            raise Invalid("evaluations", f"the enclosures of delta in the order {order} are disjoint")
    return found


def _largest(ends: Mapping[str, tuple[Dyadic | None, End]]) -> str | None:
    """The one order whose lower end is at least every other's upper end. None where there is none, or are several.

    An order without a lower end is never the one; without an upper end it may be as large as it likes.
    """
    found = [order for order, (low, _) in ends.items() if low is not None and all(
        high is not None and high <= low for other, (_, high) in ends.items() if other != order)]
    return found[0] if len(found) == 1 else None


def _delta_order(claim: Claim, found: Mapping[str, tuple[Dyadic, Dyadic]]) -> str:
    """The larger order; "both" where they are not told apart, and at eps = 0, where they agree (T16)."""
    return _largest(found) or "both" if claim.epsilon != 0 or len(found) == 1 else "both"


def _epsilon(orders: Sequence[str], found: Sequence[Statement]) -> tuple[End, End, str]:
    """Both ends of eps(claimed delta), and the order that decides it (T13)."""
    endless = [one.order for one in found if one.side == "lower" and one.everywhere]
    if endless:
        return None, None, endless[0] if len(endless) == 1 else "both"
    at = {(one.order, one.side): Dyadic.of_fraction(one.at) for one in found}
    ends = {order: (at.get((order, "lower")), at.get((order, "upper"))) for order in orders}
    lows = {order: low for order, (low, _) in ends.items() if low is not None}
    highs = [high for _, high in ends.values() if high is not None]
    low = _most([*lows.values()] or [Dyadic(0, 0)])
    high = _most(highs) if len(highs) == len(orders) else None
    if high is not None and high < low:
        raise Invalid("evaluations", "the ends of epsilon contradict each other")
    alone = [*lows] if len(orders) > 1 else [*orders]
    return low, high, _largest(ends) or (alone[0] if len(alone) == 1 else "both")


def _rounds_to_claim(claim: Claim, low: End, high: End) -> bool:
    """Whether both ends of epsilon, rounded half-up at the printed digits, equal the claim, at most 1 % above it."""
    if claim.unit is None or low is None or high is None:
        return False
    highest = claim.epsilon * Fraction(101, 100)
    return low >= claim.epsilon - claim.unit / 2 and high < claim.epsilon + claim.unit / 2 and high <= highest
