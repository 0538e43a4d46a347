"""Known numbers: 30-digit values, and what other libraries' test suites state."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.enclosure import Enclosure
from verified_dp.profile import privacy_profile

DATA = Path(__file__).parent / "data"
TRUTH = json.loads((DATA / "truth.json").read_text(encoding="utf-8"))
PEERS = json.loads((DATA / "peer_cases.json").read_text(encoding="utf-8"))


def composition(parts: list[tuple[str | None, str, int]]) -> Composition:
    return compose(*((Gaussian(s) if q is None else PoissonSampled(Gaussian(s), q), k) for q, s, k in parts))


def of_case(case: dict[str, object]) -> Composition:
    """What the value is about: one kind of step k times, or several `parts`."""
    steps = []
    for part in case.get("parts", [case]):
        scale, q = part.get("scale", part.get("b")), part.get("q")
        mechanism = Laplace(scale, "1") if scale is not None else Gaussian(part["sigma"])
        steps.append((mechanism if q is None else PoissonSampled(mechanism, q), part["k"]))
    return compose(*steps)


def last_digit(text: str) -> Fraction:
    """One unit of the last printed digit."""
    mantissa, _, exponent = text.lower().partition("e")
    return Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def answer(case: dict[str, object], relation: str) -> Enclosure:
    profile = privacy_profile(of_case(case), relation)
    return profile.delta(case["epsilon"]) if "epsilon" in case else profile.epsilon(case["delta"])


def name(case: dict[str, object]) -> str:
    return f"{case['id']}-{case['direction']}-{'delta' if 'epsilon' in case else 'epsilon'}"


@pytest.mark.parametrize("case", TRUTH, ids=name)
def test_truth_is_enclosed_to_12_digits(case: dict[str, object]) -> None:
    relation = "add-or-remove" if case["direction"] == "both" else case["direction"]
    found, value, unit = answer(case, relation), Fraction(case["value"]), last_digit(case["value"])
    assert found.lower.as_fraction() - unit <= value <= found.upper.as_fraction() + unit
    assert found.status == "certified"
    low, high = Fraction(found.lower_decimal), Fraction(found.upper_decimal)
    assert low <= found.lower.as_fraction() and found.upper.as_fraction() <= high
    assert (high - low) * 10**12 <= low


def in_both_orders() -> list[tuple[dict[str, object], dict[str, object]]]:
    """The cases whose value is known in the remove and in the add order."""
    def key(case: dict[str, object]) -> tuple[object, ...]:
        return tuple(str(case.get(part)) for part in ("id", "q", "sigma", "k", "epsilon", "delta"))

    adds = {key(case): case for case in TRUTH if case["direction"] == "add"}
    return [(case, adds[key(case)]) for case in TRUTH if case["direction"] == "remove" and key(case) in adds]


@pytest.mark.theorem("T25-composition")
@pytest.mark.parametrize("pair", in_both_orders()[::4], ids=lambda pair: name(pair[0]))
def test_add_or_remove_is_the_larger_of_both_orders(pair: tuple[dict[str, object], dict[str, object]]) -> None:
    larger = max(pair, key=lambda case: Fraction(case["value"]))
    found, value, unit = answer(larger, "add-or-remove"), Fraction(larger["value"]), last_digit(larger["value"])
    assert found.lower.as_fraction() - unit <= value <= found.upper.as_fraction() + unit
    assert found.status == "certified"
    if pair[0]["value"] != pair[1]["value"]:
        assert found.order == larger["direction"]


def test_there_are_values_in_both_orders() -> None:
    assert len(in_both_orders()) >= 25


@pytest.mark.parametrize("case", PEERS, ids=lambda case: f"{case['source'].split('::')[-1][-40:]}-{case['at']}")
def test_peers(case: dict[str, object]) -> None:
    profile = privacy_profile(composition(case["parts"]), case["relation"])
    found = profile.delta(case["at"]) if case["quantity"] == "delta" else profile.epsilon(case["at"])
    expected, tolerance = Fraction(case["expected"]), Fraction(case["tolerance"])
    lower, upper = found.lower.as_fraction(), found.upper.as_fraction()
    assert found.status == "certified"
    if case["meaning"] == "value":
        assert lower <= expected + tolerance and expected - tolerance <= upper
    elif case["meaning"] == "upper":
        assert upper <= expected + tolerance
    elif case["meaning"] == "below":
        assert lower > expected + tolerance
    else:
        low, high = (Fraction(end) for end in case["certified"])
        assert low <= lower and upper <= high, "the enclosure that proves the peer wrong"
        assert low > expected + tolerance or high < expected - tolerance
