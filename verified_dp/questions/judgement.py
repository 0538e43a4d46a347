"""What a certificate says beside its verdict: by how much a refuted claim falls short, why another is undecided."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.certificate.evaluation import read_evaluations
from verified_dp.core.kernel.certificate.statement import printed_unit
from verified_dp.core.kernel.dyadic import decimal_down, decimal_up
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.evaluation import largest_delta
from verified_dp.enclosure import without_zeros

REASONS = {
    "one-sided": "only an upper bound is known, and it exceeds the claim: more digits cannot decide it",
    "width": "the claim lies within the bounds: only narrower ones can decide it",
    "range": "some values of the stated ranges meet the claim, others may not: only narrower ranges can decide it"}
"""Why a claim is undecided, and what that means."""
_FROM_ABOVE = ("renyi", "attack")
"""Methods of upper bounds, or of bounds from two sources that do not meet: more digits leave them where they are."""
_LONGEST = 60
"""Digits of a decimal that is shown."""


def excess(certificate: Mapping[str, Any]) -> dict[str, str]:
    """By which factors the true epsilon and the true delta exceed what a refuted claim states, rounded down.

    Where a factor is only known to be more than 1 it is "1"; what is claimed to be 0 is exceeded by "inf".
    """
    claim, result = certificate["claim"], certificate["result"]
    return {"epsilon_ratio": _ratio(result["epsilon"]["lower"], claim["epsilon"]),
            "delta_factor": _ratio(result["delta"]["lower"], claim["delta"])}


def _ratio(least: str, claimed: str) -> str:
    """A decimal just below the ratio, with two digits of what it has above 1 at least."""
    stated = exact.exact(claimed)
    if not stated or least == "inf":
        return "inf"
    try:
        ratio = exact.exact(least) / stated
    except InvalidInput:  # too close to 0 to be written as a fraction
        return "1"
    shown = (decimal_down(ratio, digits) for digits in range(6, _LONGEST))
    near = (text for text in shown if 100 * (exact.exact(text) - 1) >= 99 * (ratio - 1))
    return without_zeros(next(near, "1")) if ratio > 1 else "1"


def excess_words(certificate: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    found = excess(certificate)
    times = {key: "infinitely many" if text == "inf" else f"at least {text}" for key, text in found.items()}
    return (f"the true epsilon is {times['epsilon_ratio']} times the claimed one, the true delta "
            f"{times['delta_factor']} times")


def least_claim(claimed: str, upper: str) -> str:
    """The least epsilon that an upper end proves, of as many decimals as a claim is printed with; "" if it is infinite.

    A claim that is no decimal, or has very many digits, is answered with twelve.

    >>> least_claim("2.75", "2.7523844"), least_claim("1e1", "14.2"), least_claim("7/3", "2.5"), least_claim("2", "inf")
    ('2.76', '2e1', '2.5', '')
    """
    if upper == "inf":
        return ""
    end, unit = exact.exact(upper), printed_unit(claimed)
    if unit is None or not 1 <= max(end, unit) / unit < 10**_LONGEST or unit < Fraction(1, 10**_LONGEST):
        return without_zeros(decimal_up(end, 12))
    mantissa, e, power = claimed.partition("e")
    places, digits = len(mantissa.partition(".")[2]), str(-(-end // unit))
    digits = digits.zfill(places + 1)
    return digits[: len(digits) - places] + f".{digits[-places:]}" * bool(places) + e + power


def least_claim_words(certificate: Mapping[str, Any]) -> str:
    """What would be proved of a claim that is refuted."""
    better = least_claim(certificate["claim"]["epsilon"], certificate["result"]["epsilon"]["upper"])
    return f"epsilon = {better} would be proved" if better else "no epsilon is proved at this delta"


def reason(certificate: Mapping[str, Any]) -> str:
    """Why the claim of a certificate is undecided: a key of REASONS.

    one-sided: data sets need not attain the pairs, and either these exceed the claim themselves, or what bounds them
    from above is not the limit of narrower bounds (divergences; an attack on one side, no use of the shuffle on the
    other). range: the best values of the claim's ranges meet it. width: all else.
    """
    if certificate.get("range", {}).get("verdicts", {}).get("best") == "proved":
        return "range"
    if all(pair["tight"] for pair in certificate["pairs"]):
        return "width"
    deltas = [one for one in read_evaluations(certificate["evaluations"]) if one.quantity == "delta"]
    (lower, _), _ = largest_delta(deltas)
    above = lower > exact.exact(certificate["claim"]["delta"])
    return "one-sided" if above or any(one.witness.method in _FROM_ABOVE for one in deltas) else "width"
