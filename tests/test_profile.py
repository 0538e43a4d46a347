"""The facade at its hard corners: exact ends, tiny deltas, huge counts, many digits, few steps, refused arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from verified_dp.core.families.finite.mechanism import Finite
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import Claim, Composition, Spec, compose
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.enclosure import Enclosure
from verified_dp.papers import accountant
from verified_dp.papers.comparison import compare
from verified_dp.profile import PrivacyProfile, privacy_profile

RELATIONS = ["remove", "add", "add-or-remove", "zero-out", "replace"]


def sampled(q: object, s: object, count: int = 1) -> Composition:
    return compose((PoissonSampled(Gaussian(s), q), count))


def agree(found: Enclosure, expected: str, digits: int = 12) -> None:
    """Certified, and all printed digits of `expected` (the last may be rounded) are inside."""
    mantissa, _, exponent = expected.partition("e")
    unit = Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    assert found.status == "certified" and found.digits == digits
    assert found.lower.as_fraction() <= Fraction(expected) + unit
    assert found.upper.as_fraction() >= Fraction(expected) - unit


@pytest.mark.theorem("T07-ends")
@pytest.mark.parametrize("relation", RELATIONS)
def test_sampling_nothing_reveals_nothing(oracle: ModuleType, relation: str) -> None:
    """q = 0: delta(eps) = (1 - e^eps)_+ exactly, and epsilon is 0 for every delta."""
    profile = privacy_profile(sampled(0, 1, 10**12), relation)
    for epsilon in ("0", "1e-9", "5"):
        found = profile.delta(epsilon)
        assert found.lower == found.upper == 0 and found.status == "certified"
    below = profile.delta("-3/2")
    assert below.contains(oracle.exact(-oracle.mp.expm1(oracle.mpf("-1.5")))) and below.status == "certified"
    assert profile.epsilon("1e-300").upper == 0


@pytest.mark.theorem("T07-ends", "T15-gaussian")
@pytest.mark.parametrize("relation", RELATIONS)
def test_sampling_everything_is_the_plain_gaussian(oracle: ModuleType, relation: str) -> None:
    all_of_them = privacy_profile(sampled(1, "5/2", 3), relation)
    plain = privacy_profile(compose((Gaussian("5/2"), 3)), relation)
    mu = oracle.mp.sqrt(3) * (2 if relation == "replace" else 1) / oracle.mpf("2.5")
    for epsilon in ("-1", "0", "1/3", "12"):
        found, same = all_of_them.delta(epsilon), plain.delta(epsilon)
        assert (found.lower, found.upper) == (same.lower, same.upper) and found.status == "certified"
        assert oracle.inside(found, oracle.gaussian_delta(mu, Fraction(epsilon)), "1e-30")


@pytest.mark.theorem("T14-single-step", "T16-reversal")
@pytest.mark.parametrize(("relation", "order"), [("remove", "remove"), ("add", "add"), ("replace", "symmetric")])
def test_one_step(oracle: ModuleType, relation: str, order: str) -> None:
    profile = privacy_profile(sampled("1/100", "1"), relation)
    for epsilon in ("-2", "-1/200", "0", "1/200", "1", "8"):
        found = profile.delta(epsilon)
        assert oracle.inside(found, oracle.single_delta(order, "0.01", 1, Fraction(epsilon)), "1e-25")
        assert found.status == "certified" and found.method == "closed-form"


@pytest.mark.theorem("T07-ends")
@pytest.mark.parametrize("composition", [sampled("1/10", 1, 7), compose(
    (PoissonSampled(Gaussian(1), "1/10"), 3), (PoissonSampled(Gaussian(2), "1/5"), 2))])
def test_past_the_largest_loss_delta_is_zero(oracle: ModuleType, composition: Composition) -> None:
    """Add order: exactly 0 from -sum k log(1-q) on, positive before; with a plain Gaussian step never."""
    end = -sum((k * oracle.mp.log(1 - oracle.real(m.probability)) for m, k in composition.parts), oracle.mpf(0))
    profile = privacy_profile(composition, "add")
    past, before = oracle.exact(end) + Fraction(1, 10**30), oracle.exact(end) - Fraction(1, 10)
    found = profile.delta(past)
    assert found.lower == found.upper == 0 and found.status == "certified" and str(found) == "0"
    assert profile.delta(before, digits=3).lower > 0
    assert profile.epsilon("1e-4", digits=3).upper < past
    assert privacy_profile(compose(composition, Gaussian(9)), "add").delta(past, digits=3).lower > 0
    assert privacy_profile(composition, "add-or-remove").delta(past, digits=3).order == "remove"


@pytest.mark.theorem("T16-reversal", "T25-composition")
def test_at_zero_both_orders_agree() -> None:
    for composition in (sampled("1/100", 1, 200), sampled("1/3", 2, 5)):
        both = privacy_profile(composition, "add-or-remove").delta(0)
        remove, add = (privacy_profile(composition, order).delta(0) for order in ("remove", "add"))
        assert both.order == "both" and remove.overlaps(add) and both.overlaps(remove) and both.overlaps(add)
        assert all(found.status == "certified" for found in (both, remove, add))


@pytest.mark.theorem("T16-reversal", "T25-composition")
def test_below_zero_the_orders_change_places(oracle: ModuleType) -> None:
    """delta_add(-eps) = 1 - e^-eps + e^-eps delta_remove(eps), and add is the larger there."""
    composition = sampled("1/50", 1, 300)
    remove = privacy_profile(composition, "remove").delta("1/2")
    add, both = (privacy_profile(composition, relation).delta("-1/2") for relation in ("add", "add-or-remove"))
    scale = oracle.mp.exp(oracle.mpf("-0.5"))
    low, high = (1 - scale + scale * oracle.real(end) for end in (remove.lower, remove.upper))
    assert oracle.real(add.lower) <= high and low <= oracle.real(add.upper)
    assert both.order == "add" and (both.lower, both.upper) == (add.lower, add.upper)
    assert both.status == "certified"


@pytest.mark.theorem("T16-reversal")
def test_reversal_of_the_symmetric_order(oracle: ModuleType) -> None:
    profile = privacy_profile(sampled("1/10", 1, 20), "replace")
    up, down = profile.delta("1/2"), profile.delta("-1/2")
    scale = oracle.mp.exp(oracle.mpf("-0.5"))
    low, high = (1 - scale + scale * oracle.real(end) for end in (up.lower, up.upper))
    assert oracle.real(down.lower) <= high and low <= oracle.real(down.upper) and down.order == "symmetric"


HARD = [  # q, s, count, relation, epsilon, delta
    ("0.01", "1.5", 10**4, "remove", "1", "0.049601410314825776"),
    ("0.01", "1", 10, "remove", "0.1", "0.001091633612644"),
    ("0.001", "0.3", 1000, "remove", "21.67795", "1.000002654758432e-6"),
    ("0.0001", "0.6", 10**7, "remove", "6.27", "1.016833758847618e-6"),
    ("0.5", "5", 100, "remove", "3", "0.00181110267389964"),
]


@pytest.mark.parametrize(("q", "s", "count", "relation", "epsilon", "delta"), HARD)
def test_hard_corners(q: str, s: str, count: int, relation: str, epsilon: str, delta: str) -> None:
    agree(privacy_profile(sampled(q, s, count), relation).delta(epsilon), delta)


@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize(
    ("relation", "epsilon"), [("remove", "1/10"), ("remove", "1"), ("add", "1/100"), ("add", "-1/5")])
def test_two_steps(oracle: ModuleType, relation: str, epsilon: str) -> None:
    """Against conditioning on the first step; equal and different steps."""
    found = privacy_profile(sampled("1/100", 1, 2), relation).delta(epsilon)
    exact = oracle.two_step_delta(relation, ("0.01", 1), ("0.01", 1), Fraction(epsilon))
    assert oracle.inside(found, exact, "1e-12") and found.status == "certified"
    mixed = compose(PoissonSampled(Gaussian(1), "1/10"), PoissonSampled(Gaussian("3/2"), "1/5"))
    found = privacy_profile(mixed, relation).delta(epsilon)
    exact = oracle.two_step_delta(relation, ("0.1", 1), ("0.2", "1.5"), Fraction(epsilon))
    assert oracle.inside(found, exact, "1e-12") and found.status == "certified"


@pytest.mark.parametrize(("count", "delta"), [(2, "0.00015451856415506"), (3, "0.00024475491759641"),
                                              (5, "0.00045011947870813"), (10, "0.001091633612644")])
def test_few_steps(count: int, delta: str) -> None:
    """Two quadratures of different kinds must agree; the numbers are held so that a change shows."""
    profile = privacy_profile(sampled("1/100", 1, count), "add-or-remove")
    found = profile.delta("1/10")
    agree(found, delta)
    assert found.overlaps(profile.delta("1/10", digits=6)) and found.order == "remove"


@pytest.mark.theorem("T13-epsilon-of-delta")
@pytest.mark.parametrize("exponent", [300, 1000])
@pytest.mark.parametrize("relation", ["remove", "add"])
def test_tiny_deltas(exponent: int, relation: str) -> None:
    """epsilon(delta) and back, far below what a double can hold."""
    profile, target = privacy_profile(sampled("1/100", 1, 1000), relation), Fraction(1, 10**exponent)
    found = profile.epsilon(target)
    assert found.status == "certified" and found.lower > 1
    assert profile.delta(found.lower.as_fraction(), digits=15).upper > target
    assert profile.delta(found.upper.as_fraction(), digits=15).lower <= target


@pytest.mark.parametrize("quantity", ["delta", "epsilon"])
def test_a_trillion_steps(oracle: ModuleType, quantity: str) -> None:
    """q = 1e-6, k = 1e12: near the Gaussian limit with mu^2 = k q^2 (e^{1/s^2} - 1), and told apart from it."""
    profile = privacy_profile(sampled("1e-6", 1, 10**12), "add-or-remove")
    mu = oracle.mp.sqrt(oracle.mp.e - 1)
    if quantity == "delta":
        found, limit = profile.delta("1"), oracle.gaussian_delta(mu, 1)
    else:
        found = profile.epsilon("1e-5")
        limit = next(x for x in (oracle.mpf(n) / 1000 for n in range(5000, 7000))
                     if oracle.gaussian_delta(mu, x) <= oracle.mpf("1e-5"))
    assert found.status == "certified"
    assert abs(oracle.real(found.lower) - limit) < (1e-5 if quantity == "delta" else 3e-3)
    assert not found.contains(oracle.exact(limit))


@pytest.mark.parametrize("digits", [1, 30, 50, 70])
def test_many_digits(digits: int) -> None:
    """Narrower with more digits, always overlapping; 30 digits as known."""
    profile = privacy_profile(sampled("0.01", "0.8", 1000), "remove")
    found, twelve = profile.delta("1.5", digits=digits), profile.delta("1.5")
    assert found.status == "certified" and found.overlaps(twelve)
    low, high = Fraction(found.lower_decimal), Fraction(found.upper_decimal)
    assert (high - low) * 10**digits <= low
    assert len(found.certain_digits.lstrip("0.")) >= digits


@pytest.mark.theorem("T12-powers")
def test_heterogeneous_compositions_do_not_depend_on_how_they_are_written() -> None:
    a, b, c = PoissonSampled(Gaussian(1), "1/50"), PoissonSampled(Gaussian(2), "1/10"), Gaussian(10)
    written = [compose((a, 100), (b, 20), c), compose((c, 1), (b, 12), (a, 100), (b, 8)),
               compose(compose((a, 50), (b, 10)), compose((a, 50), (b, 10)), c)]
    found = [privacy_profile(composition, "add-or-remove").delta("1") for composition in written]
    assert all(x.overlaps(y) and x.status == "certified" for x in found for y in found)
    assert found[0].lower > privacy_profile(compose((a, 100), (b, 20)), "add-or-remove").delta("1").upper


@pytest.mark.parametrize(("digits", "method", "epsilon"), [
    (0, "auto", "1"), (1001, "auto", "1"), (True, "auto", "1"), (12.0, "auto", "1"), (12, "magic", "1"),
    (12, "auto", "nan"), (12, "auto", True), (12, "auto", None)])
def test_bad_arguments_are_refused(digits: object, method: str, epsilon: object) -> None:
    with pytest.raises(InvalidInput):
        privacy_profile(sampled("1/10", 1), "add").delta(epsilon, digits=digits, method=method)


@pytest.mark.parametrize("digits", [0, -1, True, 2.5, "12"])
@pytest.mark.parametrize("way", [
    lambda profile, digits: profile.delta("1", digits), lambda profile, digits: profile.epsilon("1e-5", digits),
    lambda profile, digits: accountant(profile, "prv").delta("1", digits),
    lambda profile, digits: accountant(profile, "renyi").epsilon("1e-5", digits),
    lambda profile, digits: accountant(profile, "fourier").delta("-1", digits),
    lambda profile, digits: accountant(profile, "saddlepoint").epsilon("1e-5", digits),
    lambda profile, digits: profile.solve_claim(Claim("a", "b", Fraction(1), Fraction(1, 9), "1", "1/9"), digits),
    lambda profile, digits: compare(profile, "delta", "1", ("auto",), digits=digits),
    lambda profile, digits: compare(profile, "epsilon", "1e-5", ("prv",), digits=digits),
])
def test_digits_are_refused_in_every_way_in(way: Callable[[PrivacyProfile, Any], object], digits: object) -> None:
    with pytest.raises(InvalidInput, match=r"^digits must be an integer from 1 to 1000, got ") as error:
        way(privacy_profile(sampled("1/10", 3), "add"), digits)
    assert error.value.value is digits


@pytest.mark.parametrize("delta", ["-1e-5", "2", "inf"])
def test_delta_must_be_inside_the_unit_interval(delta: str) -> None:
    with pytest.raises(InvalidInput, match="delta"):
        privacy_profile(sampled("1/10", 1), "add").epsilon(delta)


def test_floats_are_the_decimals_they_print_as() -> None:
    profile = privacy_profile(sampled("1/10", 1), "add")
    assert profile.delta(0.1) == profile.delta("0.1") and profile.epsilon(1e-5) == profile.epsilon("1e-5")
    for wrong in (math.nan, math.inf):
        with pytest.raises(InvalidInput, match="epsilon must be a rational number"):
            profile.delta(wrong)


def test_what_a_profile_can_be_made_of() -> None:
    composition = sampled("1/10", 1, 3)
    spec = Spec(privacy_profile(composition, "remove").relation, composition)
    assert privacy_profile(spec).relation == "remove" and privacy_profile(spec, "remove").relation == "remove"
    direct = PrivacyProfile(compose(Gaussian(1)), "add").delta("0")
    assert privacy_profile(Gaussian(1), "add").delta("0").overlaps(direct)
    for relation in ("add", None, "nonsense"):
        with pytest.raises(InvalidInput):
            privacy_profile(spec if relation == "add" else composition, relation)


def test_results_say_what_they_are() -> None:
    found = privacy_profile(sampled("1/50", 1, 300), "add-or-remove").delta("1")
    assert found.quantity == "delta" and found.relation == "add-or-remove" and found.method == "contour"
    assert "Poisson" in found.convention and found.seconds > 0
    assert {"quadrature", "aliasing", "frequency_tail", "node_tail", "rounding"} <= set(found.budget)
    total = sum(size.as_fraction() for size in found.budget.values())
    width = found.upper.as_fraction() - found.lower.as_fraction()
    assert width <= 2 * total * Fraction(101, 100), "the budget accounts for the width"


def test_a_profile_is_one_short_line_and_a_small_table():
    steps = (PoissonSampled(Gaussian("1.5"), "0.01"), 10_000)
    assert repr(privacy_profile(compose(steps), "add-or-remove")) == (
        "PrivacyProfile(10000 x PoissonSampled(Gaussian(3/2), 1/100), add-or-remove)")
    gaussians = [Gaussian(n) for n in range(1, 99)]
    many = privacy_profile(compose(Laplace("20", 1), Finite(["1/3", "2/3"], [0, 1]), *gaussians), "add")
    assert len(repr(many)) < 110 and "\n" not in repr(many)
    assert "(1 x Laplace(20, 1) + 1 x Finite([1/3, 2/3], [0, 1]) + 1 x Gaussian(1) + " in repr(many)
    table = many._repr_html_()
    assert table.startswith("<table>") and len(table) < 2500 and "add" in table
    nested = PoissonSampled(compose(Gaussian(1), (Gaussian(2), 2)), "1/2")
    assert "PoissonSampled(1 x Gaussian(1) + 2 x Gaussian(2), 1/2)" in repr(privacy_profile(nested, "add"))


@pytest.mark.parametrize(("probability", "count"), [("1e-7", 3), ("1e-10", 3)])
def test_epsilon_is_zero_where_all_steps_together_add_too_little(probability: str, count: int) -> None:
    """First-order estimates of so few large losses are far off: they would send the search elsewhere."""
    steps = compose((PoissonSampled(Gaussian("1.1"), probability), count))
    found = privacy_profile(steps, relation="add-or-remove").epsilon("1e-5", max_seconds=20)
    assert found.status == "certified" and found.upper == 0
