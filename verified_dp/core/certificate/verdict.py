"""From recorded enclosures to the verdict: result, verdict, short_by_rounding. Exact comparisons only.

    proved      every order's delta(claimed eps) is at most the claimed delta
    refuted     some order's delta(claimed eps) exceeds it, and data sets of the relation realise the pair
    undecided   neither is certain

An order's delta is enclosed by one evaluation (side "both"), or by the intersection of two, of which one was made
for the lower and one for the upper end. The result's delta is enclosed by the largest ends of all orders (T25), its
epsilon by the `at` of those evaluations that show delta(x) > claimed delta for every x < at (side "lower"), or
delta(at) <= claimed delta (side "upper", in every order) (T13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.certificate.document import Document
from verified_dp.core.certificate.statement import claimed_text, printed_unit
from verified_dp.core.composition import Claim
from verified_dp.core.dyadic import Dyadic, decimal_down, decimal_up
from verified_dp.core.ends import End, dyadic_near, end_of
from verified_dp.core.errors import InvalidCertificate
from verified_dp.core.theorems import proved_by

SIDES = {"delta": ("both", "lower", "upper"), "epsilon": ("lower", "upper")}
_EXACT_DIGITS = 20
_MAX_BITS = 4000


@dataclass(frozen=True)
class Recorded:
    """One evaluation's statement: lower <= delta of this order at eps = `at` <= upper.

    falls: whether it says besides that delta(x) > lower for every x < at (T127).
    """

    quantity: str
    order: str
    at: Fraction
    side: str
    lower: End
    upper: End
    falls: bool = False

    def exceeds(self, delta: Fraction) -> bool:
        """Whether delta(x) is larger for every x < at."""
        return self.lower > delta or (self.falls and self.lower >= delta)


def decimals(lower: End, upper: End) -> tuple[str, str]:
    """Outward decimals with as many digits as the ends deserve: rounding widens by about a hundredth.

    >>> decimals(Dyadic(4441, -12), Dyadic(4442, -12))
    ('1.0842285', '1.0844727')
    """
    bits = _agreeing_bits(dyadic_near(lower), dyadic_near(upper))
    significant = _EXACT_DIGITS if lower == upper else 5 + 30103 * bits // 100_000
    return decimal_down(lower, significant), decimal_up(upper, significant)


def _agreeing_bits(lower: Dyadic, upper: Dyadic) -> int:
    """About log2(upper / (upper - lower)): 0 where nothing is known, at most 4000."""
    if upper.is_infinite or lower.sign <= 0 or upper.top - lower.top > 1:
        return 0
    finest = min(upper.exponent, lower.exponent)  # exact: integers
    unit = max(finest, upper.top - 2 * _MAX_BITS)  # exact: integers
    width = _units(upper, unit) - _units(lower, unit)
    return max(0, min(_MAX_BITS, upper.top - unit - width.bit_length()))  # exact: integers


def _units(number: Dyadic, unit: int) -> int:
    """floor(number / 2^unit): a count of digits is all that depends on it."""
    shift = number.exponent - unit
    return number.mantissa << shift if shift >= 0 else number.mantissa >> -shift


@proved_by("T13-epsilon-of-delta", "T25-composition")
def judge(claim: Claim, orders: Sequence[str], tight: bool, recorded: Sequence[Recorded]) -> Document:
    """`result`, `verdict` and `short_by_rounding`, all that follows from the recorded evaluations.

    Args:
        orders: the orders that are composed. tight: whether data sets realise the pairs.
    Raises:
        InvalidCertificate: where an evaluation is not asked for, or does not show what it is for.
    """
    _check_places(orders, recorded)
    for index, entry in enumerate(recorded):
        _check_purpose(claim, entry, f"evaluations[{index}]")
    deltas = [entry for entry in recorded if entry.quantity == "delta"]
    found = _by_order(deltas)
    lower = max(end for end, _ in found.values())  # exact: fractions
    upper = max(end for _, end in found.values())  # exact: fractions
    low, high, order = _epsilon_ends(orders, [entry for entry in recorded if entry.quantity == "epsilon"])
    refuted = tight and (lower > claim.delta or low > claim.epsilon)
    return {
        "result": {
            "delta": _interval(_delta_order(claim, found), lower, upper),
            "epsilon": _interval(order, low, high),
        },
        "verdict": "proved" if upper <= claim.delta else "refuted" if refuted else "undecided",
        "short_by_rounding": refuted and _rounds_to_claim(claim, low, high),
    }


def _interval(order: str, lower: End, upper: End) -> Document:
    texts = decimals(lower, upper)
    return {"order": order, "lower": texts[0], "upper": texts[1]}


def _check_places(orders: Sequence[str], recorded: Sequence[Recorded]) -> None:
    """Delta in every order by one or by two, and at most one per order and side for epsilon, in this sequence."""
    places = [(q, order, side) for q, sides in SIDES.items() for order in orders for side in sides]
    found = [(entry.quantity, entry.order, entry.side) for entry in recorded]
    for order in orders:
        sides = [side for quantity, place, side in found if (quantity, place) == ("delta", order)]
        if sides not in (["both"], ["lower", "upper"]):
            raise InvalidCertificate("evaluations", "delta at the claimed epsilon is needed in every order")
    expected = [place for place in places if place in found]
    for index, place in enumerate(found):
        if index >= len(expected) or place != expected[index]:
            reason = f"{' '.join(place)} is out of place: quantity, order and side come once, in sequence"
            raise InvalidCertificate(f"evaluations[{index}]", reason)


def _check_purpose(claim: Claim, entry: Recorded, path: str) -> None:
    if entry.quantity == "delta":
        if entry.at != claim.epsilon:
            raise InvalidCertificate(f"{path}.at", "must be the claimed epsilon")
        return
    if entry.at < 0:
        raise InvalidCertificate(f"{path}.at", "must not be negative")
    if entry.side == "lower" and not entry.exceeds(claim.delta):
        raise InvalidCertificate(f"{path}.enclosure.lower", "must exceed the claimed delta on this side")
    if entry.side == "upper" and not entry.upper <= claim.delta:
        raise InvalidCertificate(f"{path}.enclosure.upper", "must not exceed the claimed delta on this side")


@proved_by("T25-composition")
def _by_order(deltas: Sequence[Recorded]) -> dict[str, tuple[End, End]]:
    """The intersection of each order's enclosures."""
    found: dict[str, tuple[End, End]] = {}
    for one in deltas:
        lower, upper = found.get(one.order, (one.lower, one.upper))
        if one.lower > upper or one.upper < lower:
            raise InvalidCertificate("evaluations", f"the enclosures of delta in the order {one.order} are disjoint")
        found[one.order] = max(lower, one.lower), min(upper, one.upper)  # exact: fractions
    return found


@proved_by("T16-reversal")
def _delta_order(claim: Claim, found: Mapping[str, tuple[End, End]]) -> str:
    """The larger order; "both" where they are not told apart, and at eps = 0, where they agree (T16)."""
    if len(found) == 1:
        return next(iter(found))
    proved = [
        order
        for order, (lower, _) in found.items()
        if all(other == order or lower >= upper for other, (_, upper) in found.items())
    ]
    return proved[0] if len(proved) == 1 and claim.epsilon != 0 else "both"


@proved_by("T13-epsilon-of-delta")
def _epsilon_ends(orders: Sequence[str], entries: Sequence[Recorded]) -> tuple[End, End, str]:
    """Both ends of eps(claimed delta), and the order that decides it."""
    lows = {entry.order: end_of(entry.at) for entry in entries if entry.side == "lower"}
    highs = {entry.order: end_of(entry.at) for entry in entries if entry.side == "upper"}
    ends: list[End] = [highs.get(order, Dyadic.infinity()) for order in orders]
    low, high = max([Dyadic(0), *lows.values()]), max(ends)  # exact: fractions
    if high < low:
        raise InvalidCertificate("evaluations", "the ends of epsilon contradict each other")
    if len(orders) == 1:
        return low, high, orders[0]
    proved = [
        order
        for order in lows
        if all(other == order or end <= lows[order] for other, end in zip(orders, ends, strict=True))
    ]
    return low, high, proved[0] if len(proved) == 1 else next(iter(lows)) if len(lows) == 1 else "both"


def _rounds_to_claim(claim: Claim, low: End, high: End) -> bool:
    """Whether both ends of the true epsilon, rounded half-up at the printed digits, equal the claimed one."""
    unit = printed_unit(claimed_text(claim.epsilon_text, claim.epsilon))
    if unit is None:
        return False
    return low >= claim.epsilon - unit / 2 and high < claim.epsilon + unit / 2
