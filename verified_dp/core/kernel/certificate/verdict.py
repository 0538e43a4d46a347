"""From recorded enclosures to the verdict: result, verdict, short_by_rounding. Exact comparisons only.

    proved      every order's delta(claimed eps) is at most the claimed delta
    refuted     some order's delta(claimed eps) exceeds it, and data sets of the relation realise the pair
    undecided   neither is certain

What is recorded is read by the rules of `core.evaluation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from verified_dp.core.kernel.certificate.document import Document
from verified_dp.core.kernel.certificate.statement import claimed_text, printed_unit
from verified_dp.core.kernel.composition import Claim
from verified_dp.core.kernel.dyadic import Dyadic, decimal_down, decimal_up
from verified_dp.core.kernel.ends import End, dyadic_near
from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidCertificate
from verified_dp.core.kernel.evaluation import Ends, Evaluation, largest_delta, largest_epsilon
from verified_dp.core.kernel.theorems import proved_by

SIDES = {"delta": ("both", "lower", "upper"), "epsilon": ("lower", "upper")}
_EXACT_DIGITS = 20
_MAX_BITS = 4000
_MOST_BY_ROUNDING = Fraction(101, 100)


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
def judge(claim: Claim, orders: Sequence[str], tight: bool, recorded: Sequence[Evaluation[str]]) -> Document:
    """`result`, `verdict` and `short_by_rounding`, all that follows from the recorded evaluations.

    Args:
        orders: the orders that are composed. tight: whether data sets realise the pairs.
    Raises:
        InvalidCertificate: where an evaluation is not asked for, or does not show what it is for.
    """
    _check_places(orders, recorded)
    for index, entry in enumerate(recorded):
        _check_purpose(claim, entry, f"evaluations[{index}]")
    try:
        delta, delta_order = largest_delta(one for one in recorded if one.quantity == "delta")
        epsilon, epsilon_order = largest_epsilon(orders, [one for one in recorded if one.quantity == "epsilon"],
                                                 claim.delta)
    except InconsistentEnclosures as error:
        raise InvalidCertificate("evaluations", str(error)) from None
    refuted = tight and (delta[0] > claim.delta or epsilon[0] > claim.epsilon)
    return {
        "result": {"delta": _interval(delta_order, delta), "epsilon": _interval(epsilon_order, epsilon)},
        "verdict": "proved" if delta[1] <= claim.delta else "refuted" if refuted else "undecided",
        "short_by_rounding": refuted and _rounds_to_claim(claim, *epsilon),
    }


def _interval(order: str, ends: Ends) -> Document:
    texts = decimals(*ends)
    return {"order": order, "lower": texts[0], "upper": texts[1]}


def _check_places(orders: Sequence[str], recorded: Sequence[Evaluation[str]]) -> None:
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


def _check_purpose(claim: Claim, entry: Evaluation[str], path: str) -> None:
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


def _rounds_to_claim(claim: Claim, low: End, high: End) -> bool:
    """Whether both ends of the true epsilon, rounded half-up at the printed digits, equal the claimed one.

    They exceed it by 1 % at most besides: a claim of few digits is not excused by them.
    """
    unit = printed_unit(claimed_text(claim.epsilon_text, claim.epsilon))
    if unit is None or high > claim.epsilon * _MOST_BY_ROUNDING:
        return False
    return low >= claim.epsilon - unit / 2 and high < claim.epsilon + unit / 2
