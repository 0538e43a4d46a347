"""Renyi divergences of order 1 and infinity: closed forms, quadrature, and order 1 + 10^-6 just above."""

from __future__ import annotations

import math
from fractions import Fraction
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_dp import (
    ZCDP,
    ApproximateDP,
    Finite,
    Gaussian,
    Laplace,
    MixtureOfGaussians,
    PoissonSampled,
    RandomizedResponse,
    compose,
    privacy_profile,
)
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.questions.relative_entropy import enclose_relative_entropy

THEOREM = pytest.mark.theorem("T146-relative-entropy")
INF = math.inf


@THEOREM
def test_closed_forms(oracle: ModuleType) -> None:
    """Gaussian: k/(2 s^2). Laplace: x + e^-x - 1, x = 1/scale. Randomised response: eps tanh(eps/2)."""
    assert privacy_profile(compose((Gaussian("2"), 3)), "add").renyi(1).contains(Fraction(3, 8))
    x = oracle.mpf(1) / 20
    checks = [(compose((Laplace("20", "1"), 7)), 7 * (x + oracle.mp.exp(-x) - 1)),
              (compose(RandomizedResponse(2, epsilon="1")), oracle.mp.tanh(oracle.mpf(1) / 2))]
    for composition, truth in checks:
        found = privacy_profile(composition, "replace").renyi("1", 15)
        assert found.status == "certified" and oracle.real(found.lower) <= truth <= oracle.real(found.upper)


@THEOREM
@pytest.mark.parametrize("order", ["remove", "add", "replace"])
@pytest.mark.parametrize(("q", "s"), [("1/100", "1"), ("1/2", "1/2"), ("1/100000", "1/5")])
def test_sampled_gaussians_against_quadrature(oracle: ModuleType, order: str, q: str, s: str) -> None:
    """int p log(p/q), counted twice, and below the divergence of order 1 + 10^-6."""
    profile = privacy_profile(compose((PoissonSampled(Gaussian(s), q), 2)), order)
    found = profile.renyi(1, 9)
    weight, noise = oracle.real(Fraction(q)), oracle.real(Fraction(s))

    def density(x: object, mean: int) -> object:
        return oracle.mp.npdf(x, mean, noise)

    def integrand(x: object) -> object:
        near, right, left = density(x, 0), density(x, 1), density(x, -1)
        mixed, other = (1 - weight) * near + weight * right, (1 - weight) * near + weight * left
        p, r = {"remove": (mixed, near), "add": (near, mixed), "replace": (mixed, other)}[order]
        return p * oracle.mp.log(p / r)

    ends = [-12 * noise - 1, *[oracle.mpf(n) / 8 for n in range(-8, 17)], 12 * noise + 2]
    truth = 2 * oracle.mp.quad(integrand, ends)
    slack = oracle.mpf(10) ** -15
    assert oracle.real(found.lower) - slack <= truth <= oracle.real(found.upper) + slack
    above = profile.renyi("1.000001", 12)
    assert found.lower <= above.upper and above.lower_float < found.upper_float * (1 + 1e-3)


@THEOREM
@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=2, max_size=4))
def test_random_finite_pairs(masses: list[tuple[int, int]]) -> None:
    first, second = (sum(column) for column in zip(*masses, strict=True))
    P, Q = [Fraction(p, first) for p, _ in masses], [Fraction(q, second) for _, q in masses]
    found = privacy_profile(Finite(P, Q), "remove").renyi(1, 9)
    truth = math.fsum(float(p) * math.log(p / q) for p, q in zip(P, Q, strict=True))
    assert found.lower_float - 1e-12 <= truth <= found.upper_float + 1e-12


@THEOREM
def test_infinite_masses_guarantees_and_laws_known_from_above() -> None:
    assert privacy_profile(ApproximateDP(1, "1e-5"), "replace").renyi(1).lower.is_infinite
    assert privacy_profile(ApproximateDP(0, 0), "replace").renyi(1).upper == 0
    known = privacy_profile(compose(ZCDP("1/2"), Gaussian("1")), "add-or-remove").renyi(1)
    assert known.lower <= Fraction(1, 2) and known.contains(1) and known.upper < Fraction(1001, 1000)
    mixed = privacy_profile(MixtureOfGaussians("2", ["0", "1", "2"], ["1/2", "1/4", "1/4"]), "add").renyi(1)
    assert mixed.lower == 0 and mixed.contains(Fraction(1, 20)) and mixed.upper < Fraction(1, 2)


@THEOREM
@pytest.mark.parametrize("h", [Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_no_other_exponent_says_anything(h: Fraction) -> None:
    loss: ComposedLoss = privacy_profile(Laplace("1", "1"), "remove").losses[0]
    lower, upper = enclose_relative_entropy(loss, h, ((), ()), 64)
    assert lower == 0 and not upper.is_finite()


@pytest.mark.parametrize(("composition", "relation", "largest"), [
    (compose((Laplace("20", "1"), 7)), "replace", Fraction(7, 20)),
    (compose((PoissonSampled(Gaussian("1"), "1/100"), 5)), "remove", None),
])
def test_order_infinity_is_the_largest_loss(composition: object, relation: str, largest: Fraction | None) -> None:
    for order in ("inf", INF):
        found = privacy_profile(composition, relation).renyi(order)  # type: ignore[arg-type]
        assert found.quantity == "renyi" and (found.lower.is_infinite if largest is None else found.contains(largest))


def test_no_order_below_1() -> None:
    with pytest.raises(InvalidInput, match="1 or infinity"):
        privacy_profile(Gaussian("1"), "add").renyi("1/2")
