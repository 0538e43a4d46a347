"""Other libraries' numbers for the mechanisms beyond the sampled Gaussian: reproduced, or shown to be wrong.

The cases are as their test suites state them (tests/data/README.md); here each is turned into a question to this
package. Where a number is wrong, `certified` in the case is an enclosure that excludes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from verified_dp import (
    ApproximateDP,
    Composition,
    DiscreteLaplace,
    Enclosure,
    Finite,
    Gaussian,
    Laplace,
    MixtureOfGaussians,
    PoissonSampled,
    RandomizedResponse,
    compose,
    privacy_profile,
)
from verified_dp.papers.fourier.pairs import FourierAccountantPair, published_profile
from verified_dp.profile import PrivacyProfile

CASES = json.loads((Path(__file__).parent / "data" / "peer_mechanisms.json").read_text(encoding="utf-8"))
RELATIONS = {"ADD": "add", "REMOVE": "remove", "ADD_OR_REMOVE": "add-or-remove", "SUBSTITUTE": "replace"}
Case = dict[str, Any]


def number(value: object) -> Fraction:
    """The decimal that was printed."""
    return Fraction(str(value))


def sampled(mechanism: Any, q: object) -> Any:
    return mechanism if number(q) == 1 else PoissonSampled(mechanism, number(q))


def truncated(p: Case) -> Finite:
    """The discrete Gaussian on [-b, b], renormalised, against its shift; its weights to 30 digits."""
    bound, shift, s = p["truncation_bound"], p["sensitivity"], number(p["sigma"])
    weights = {n: exp_down(Fraction(-n * n) / (2 * s * s)) for n in range(-bound, bound + 1)}
    total, q = sum(weights.values()), number(p["q"])
    outcomes = range(-bound, bound + shift + 1)
    plain = [weights.get(n, Fraction(0)) / total for n in outcomes]
    moved = [weights.get(n - shift, Fraction(0)) / total for n in outcomes]
    return Finite([(1 - q) * a + q * b for a, b in zip(plain, moved, strict=True)], plain)


def exp_down(x: Fraction) -> Fraction:
    """e^x to 30 digits, by its series."""
    term, total = Fraction(1), Fraction(1)
    for n in range(1, 200):
        term *= x / n
        total += term
        if abs(term) < Fraction(1, 10**40):
            break
    return Fraction(round(total * 10**36), 10**36)


def pair(p: Case) -> Finite:
    """`upper` is P and `lower` Q; as lists of outcomes or as outcome -> mass."""
    lower, upper = ({str(i): m for i, m in enumerate(side)} if isinstance(side, list) else side
                    for side in (p["lower"], p["upper"]))
    keys = sorted({*lower, *upper})
    P, Q = ([number(side.get(key, 0)) for key in keys] for side in (upper, lower))
    return Finite(P, Q)


def spaced(first: str, last: str) -> list[Fraction]:
    """Ten equally spaced numbers."""
    low, high = Fraction(first), Fraction(last)
    return [low + (high - low) * i / 9 for i in range(10)]


def mixture(p: Case) -> MixtureOfGaussians:
    weights = p.get("sampling_probs") or p["probs"]
    return MixtureOfGaussians(number(p["sigma"]), [number(s) for s in p["sensitivities"]], [number(w) for w in weights])


BUILD: dict[str, Callable[[Case], Composition]] = {
    "gaussian": lambda p: compose(
        (Gaussian(sigma=number(p["sigma"]), sensitivity=number(p["sensitivity"])), p["compositions"])),
    "laplace": lambda p: compose(*((Laplace(number(scale), number(p["sensitivity"])), count) for scale, count in zip(
        p.get("scales", [p.get("scale")]), p.get("counts", [p.get("compositions")]), strict=True))),
    "poisson_subsampled_laplace": lambda p: compose(
        sampled(Laplace(number(p["scale"]), number(p["sensitivity"])), p["q"])),
    "discrete_laplace": lambda p: compose(DiscreteLaplace(1 / number(p["a"]), p["sensitivity"])),
    "poisson_subsampled_discrete_laplace": lambda p: compose(
        sampled(DiscreteLaplace(1 / number(p["a"]), p["sensitivity"]), p["q"])),
    "truncated_discrete_gaussian": lambda p: compose(truncated(p)),
    "mixture_of_gaussians": lambda p: compose(
        *((mixture(part), part.get("count", 1)) for part in p.get("components", [p]))),
    "approx_dp": lambda p: compose(*(ApproximateDP(number(e), number(d)) for e, d in p["guarantees"])),
    "randomized_response": lambda p: compose(
        RandomizedResponse(p["num_buckets"], noise_probability=number(p["p"]))),
    "discrete_pair": lambda p: compose(pair(p)),
    "subsampled_gaussian": lambda p: compose(
        (FourierAccountantPair(number(p["sigma"]), number(p["q"])), p["compositions"])),
    "heterogeneous_subsampled_gaussian": lambda p: compose(*(
        (PoissonSampled(Gaussian(s), q), 10)
        for s, q in zip(spaced("1.6", "1.8"), spaced("0.05", "0.06"), strict=True))),
    "single_epoch_tree_aggregation": lambda p: compose(
        (Gaussian(number(p["sigma"])), math.floor(math.log2(p["steps"])) + 1)),
}
"""The composition that a case is about. A tree over n leaves adds each record to floor(log2 n) + 1 of its nodes."""

DEFAULT_RELATION = {"subsampled_gaussian": "replace", "randomized_response": "replace", "approx_dp": "replace",
                    "gaussian": "remove", "single_epoch_tree_aggregation": "zero-out"}


def profile(case: Case) -> PrivacyProfile:
    kind = case["mechanism"]
    relation = RELATIONS.get(case["params"].get("adjacency"), DEFAULT_RELATION.get(kind, "add-or-remove"))
    return published_profile(BUILD[kind](case["params"]), relation)


def slack(case: Case) -> Fraction:
    """How far from the truth the case's own tolerance lets its number be; "exact" numbers are binary floats."""
    expected, words = abs(number(case["expected"])), case["tolerance"].split()
    return {"abs": lambda: number(words[1]), "rel": lambda: expected * number(words[1]),
            "exact": lambda: Fraction(1, 10**15), "one-sided": lambda: Fraction(0)}[words[0]]()


def of_quantity(*quantities: str) -> list[Any]:
    """The cases of these quantities; compositions of several mixtures take long."""
    found = [case for case in CASES if any(case["quantity"].startswith(quantity) for quantity in quantities)]
    return [pytest.param(case, id=f"{case['mechanism']}-{index}",
                         marks=[pytest.mark.long] if "components" in case["params"] else [])
            for index, case in enumerate(found)]


UPPER = [case for case in of_quantity("epsilon") if case.values[0]["mechanism"] in ("laplace", "mixture_of_gaussians")]
"""Discretised to the safe side: at least the truth."""


def answer(case: Case) -> Enclosure:
    p = case["params"]
    if "epsilon" in p:
        return profile(case).delta(number(p["epsilon"]))
    return profile(case).epsilon(number(p["delta"]))


@pytest.mark.parametrize("case", of_quantity("delta", "epsilon (estimate)", "epsilon upper"))
def test_delta_and_epsilon(case: Case) -> None:
    check(case, answer(case))


def check(case: Case, found: Enclosure) -> None:
    """The peer's number is within its tolerance of the truth, or above it, or excluded by an enclosure."""
    expected, tolerance = number(case["expected"]), slack(case)
    lower, upper = found.lower.as_fraction(), found.upper.as_fraction()
    assert found.status == ("estimate" if case["mechanism"] == "subsampled_gaussian" else "certified"), "unproven pair"
    if "certified" in case:
        low, high = (Fraction(end) for end in case["certified"])
        assert low <= lower and upper <= high, "the enclosure that proves the peer wrong"
        assert low > expected + tolerance or high < expected - tolerance
    elif case["quantity"].endswith("must be <"):
        assert upper <= expected
    else:
        assert lower <= expected + tolerance and expected - tolerance <= upper


@pytest.mark.parametrize("case", UPPER)
def test_epsilon(case: Case) -> None:
    """A pessimistic discretisation may be above the truth, never below it."""
    found = answer(case)
    assert found.lower.as_fraction() <= number(case["expected"]) + slack(case)
    if case["mechanism"] == "laplace":
        check(case, found)


def largest_truth(losses: list[Fraction], delta_at: Callable[[Fraction], Enclosure], fpr: Fraction) -> float:
    """The largest true-positive rate at a false-positive rate: min over eps of delta(eps) + e^eps fpr, at the kinks.

    The sum is convex in e^eps: of many places every fiftieth is asked, then those between the neighbours of the least.
    """
    asked = cache(lambda e: float(delta_at(e).upper) + math.exp(e) * float(fpr))
    step = 50 if len(losses) > 100 else 1
    while step > 1:
        least = min(range(0, len(losses), step), key=lambda i: asked(losses[i]))
        losses, step = losses[max(0, least - step):least + step + 1], max(1, step // 7)
    return min(map(asked, losses))


@pytest.mark.parametrize("case", of_quantity("tpr"))
def test_trade_off(case: Case) -> None:
    """The trade-off curve is the conjugate of delta: its least value on a fine grid of eps is within 1e-3 of theirs."""
    p, found = case["params"], profile(case)
    grid = [Fraction(i, 50) for i in range(-500, 501)] if case["mechanism"] == "gaussian" else kinks(case)
    rate = largest_truth(grid, found.delta, number(p["fpr"]))
    assert rate == pytest.approx(float(case["expected"]), rel=1e-3)


def kinks(case: Case) -> list[Fraction]:
    """Finite losses: delta + e^eps fpr is least at one of them, up to what rounding their logarithms changes."""
    p = case["params"]
    if case["mechanism"] == "approx_dp":
        return [Fraction(e) for e in (-3, -1, 1, 3)]
    true = 1 - number(p["p"]) + number(p["p"]) / p["num_buckets"]
    ratio = true / (number(p["p"]) / p["num_buckets"])
    return [Fraction(sign * math.log(ratio)) for sign in (-1, 1)] + [Fraction(0)]


@pytest.mark.parametrize("case", of_quantity("gdp_mu"))
def test_estimated_mu(case: Case) -> None:
    """The largest mu with mu-GDP no worse than the mechanism at eps = 0: 2 probit((1 + delta(0)) / 2)."""
    from statistics import NormalDist

    total = float(profile(case).delta(0).upper)
    assert 2 * NormalDist().inv_cdf((1 + total) / 2) == pytest.approx(float(case["expected"]), rel=1e-2)


CALIBRATED: dict[tuple[str, str], Callable[[Case, Fraction], Composition]] = {
    ("laplace", "smallest_scale"): lambda p, x: compose((Laplace(x, number(p["sensitivity"])), p["compositions"])),
    ("discrete_laplace", "largest_a"): lambda p, x: compose(
        (DiscreteLaplace(1 / x, p["sensitivity"]), p["compositions"])),
    ("approx_dp", "largest_epsilon"): lambda p, x: compose((ApproximateDP(x, number(p["delta"])), p["compositions"])),
}


@pytest.mark.parametrize("case", of_quantity("smallest_scale", "largest"))
def test_calibration(case: Case) -> None:
    """Within its tolerance on one side the peer's parameter meets the target, on the other it does not."""
    p, quantity = case["params"], case["quantity"]
    target = number(p.get("total_epsilon", p.get("epsilon"))), number(p.get("total_delta", p["delta"]))
    build, sign = CALIBRATED[case["mechanism"], quantity], 1 if quantity == "smallest_scale" else -1
    safe, short = (number(case["expected"]) + side * sign * slack(case) for side in (1, -1))
    if "certified" in case:  # the peer's is not the largest: only multiples of it are tried
        assert number(case["expected"]) < Fraction(case["certified"][0])
        safe, short = map(Fraction, case["certified"])
    met, missed = (privacy_profile(build(p, x), "add-or-remove").delta(target[0], digits=4) for x in (safe, short))
    assert met.upper <= target[1]
    assert missed.lower > target[1]


@pytest.mark.parametrize("case", of_quantity("epsilon (optimal"))
def test_optimal_composition(case: Case) -> None:
    """Kairouz, Oh, Viswanath: the whole number is met; for pure DP it is the largest loss, exactly."""
    p, expected = case["params"], number(case["expected"])
    found = privacy_profile(compose((ApproximateDP(p["epsilon"], number(p["delta"])), p["compositions"])), "replace")
    assert found.delta(expected).upper <= number(p["total_delta"])
    assert found.delta(expected - 1).lower > number(p["total_delta"])


def test_every_case_is_asked() -> None:
    """What is listed but of a kind that this package does not have, by name."""
    asked = of_quantity("delta", "epsilon (estimate)", "epsilon upper", "tpr", "gdp_mu", "smallest_scale", "largest",
                        "epsilon (optimal")
    known = [case.values[0] for case in asked + UPPER]
    assert {case["mechanism"] for case in CASES if case not in known} == {"truncated_subsampled_gaussian"}
