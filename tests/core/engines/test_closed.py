"""Closed forms against quadrature of the densities, in every order and at every sign of eps."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from types import ModuleType

import pytest
from flint import ctx

from verified_dp.core.engines.closed import ClosedFormWitness, has_closed_form
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate

STEPS = [("1/10", "1"), ("1/1000", "1/2"), ("99/100", "3"), ("1/2", "1/3")]
EPSILONS = ["-5", "-0.1", "-1e-6", "0", "1e-3", "0.09", "0.6", "3"]


def single(order: str, q: str, s: str) -> ComposedLoss:
    return ComposedLoss(order, ((SampledGaussianLoss(Fraction(q), Fraction(s), order), 1),), Fraction(0))


def gaussian(mean_shift_squared: str) -> ComposedLoss:
    return ComposedLoss("remove", (), Fraction(mean_shift_squared))


def enclosed(loss: ComposedLoss, epsilon: str, prec: int = 200) -> Bounds:
    return ClosedFormWitness(prec).evaluate(loss).delta(Fraction(epsilon))


@pytest.mark.theorem("T14-single-step")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize(("q", "s"), STEPS)
def test_single_step_is_the_divergence_of_the_densities(
        oracle: ModuleType, order: str, q: str, s: str) -> None:
    for epsilon in EPSILONS:
        bounds = enclosed(single(order, q, s), epsilon)
        exact = oracle.single_delta(order, Fraction(q), Fraction(s), Fraction(epsilon))
        assert oracle.inside(bounds, exact, "1e-25"), (epsilon, bounds, exact)
        assert oracle.real(bounds.upper) - oracle.real(bounds.lower) < 1e-50


@pytest.mark.theorem("T14-single-step")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize("epsilon", ["-0.3", "0.05", "0.9"])
def test_single_step_is_the_quadrature(oracle: ModuleType, order: str, epsilon: str) -> None:
    """int (P - alpha Q)_+ itself, without even the half-lines."""
    bounds = enclosed(single(order, "1/10", "1"), epsilon)
    exact = oracle.hockey_stick(order, Fraction(1, 10), Fraction(1), Fraction(epsilon))
    assert oracle.inside(bounds, exact, "1e-25")


@pytest.mark.theorem("T14-single-step", "T07-ends")
def test_single_step_beyond_its_ends(oracle: ModuleType) -> None:
    """Add: exactly 0 from -log(1-q) on. Remove: 1 - e^eps up to log(1-q)."""
    past, before = (enclosed(single("add", "1/2", "1"), epsilon) for epsilon in ("0.6932", "0.6931"))
    assert past.lower == past.upper == 0
    assert before.lower > 0 and before.upper < 1
    with oracle.mp.workdps(60):
        assert oracle.inside(enclosed(single("remove", "1/2", "1"), "-0.7"),
                             -oracle.mp.expm1(oracle.real("-0.7")), "1e-50")


@pytest.mark.theorem("T15-gaussian")
@pytest.mark.parametrize("mean_shift", ["1/50", "1", "7/2"])
@pytest.mark.parametrize("epsilon", ["-4", "-0.2", "0", "0.3", "2", "30"])
def test_gaussian_is_the_divergence_of_the_densities(
        oracle: ModuleType, mean_shift: str, epsilon: str) -> None:
    loss = gaussian(str(Fraction(mean_shift) ** 2))
    bounds = enclosed(loss, epsilon, 4000 if mean_shift == "1/50" and epsilon == "30" else 700)
    exact = oracle.gaussian_delta(Fraction(mean_shift), Fraction(epsilon))
    if mean_shift == "1/50" and epsilon in ("2", "30"):  # about 1e-2174: terms cancel
        assert oracle.real(bounds.upper) < oracle.mpf("1e-2000")
    else:
        assert oracle.inside(bounds, exact, "1e-20")
    assert oracle.real(bounds.upper) - oracle.real(bounds.lower) <= 2.0**-600


@pytest.mark.theorem("T15-gaussian")
def test_gaussian_by_quadrature(oracle: ModuleType) -> None:
    """N(mu, 1) against N(0, 1) is the sampled pair with q = 1 and s = 1/mu, or under replace s = 2/mu."""
    for order, s in (("remove", Fraction(4, 5)), ("add", Fraction(4, 5)), ("symmetric", Fraction(8, 5))):
        exact = oracle.hockey_stick(order, 1, s, Fraction(1, 2))
        assert oracle.inside(enclosed(gaussian("25/16"), "0.5"), exact, "1e-25")


@pytest.mark.theorem("T07-ends")
@pytest.mark.parametrize(("epsilon", "exact"), [("0", "0"), ("1/2", "0"), ("10000", "0")])
def test_no_step_at_all(epsilon: str, exact: str) -> None:
    bounds = enclosed(gaussian("0"), epsilon)
    assert bounds.lower == bounds.upper == int(exact)


@pytest.mark.theorem("T07-ends")
def test_no_step_at_all_below_zero(oracle: ModuleType) -> None:
    with oracle.mp.workdps(60):
        assert oracle.inside(enclosed(gaussian("0"), "-1.5"), -oracle.mp.expm1(oracle.real("-1.5")), "1e-55")


def test_radius_shrinks_with_precision(oracle: ModuleType) -> None:
    for loss in (gaussian("1"), *(single(order, "1/10", "1") for order in oracle.ORDERS)):
        widths = [oracle.width(enclosed(loss, "0.05", prec)) for prec in (64, 128, 256, 512)]
        assert all(fine < coarse / 2**50
                   for coarse, fine in pairwise(widths))


def test_two_precisions_overlap(oracle: ModuleType) -> None:
    for order in oracle.ORDERS:
        for epsilon in EPSILONS:
            low, high = (enclosed(single(order, "1/7", "2/3"), epsilon, prec) for prec in (30, 300))
            assert low.lower <= high.upper and high.lower <= low.upper


def test_only_where_there_is_one() -> None:
    law = SampledGaussianLoss(Fraction(1, 2), Fraction(1), "add")
    for parts, shift in (((law, 3),), Fraction(0)), (((law, 1),), Fraction(1)):
        loss = ComposedLoss("add", parts, shift)
        assert not has_closed_form(loss)
        with pytest.raises(InvalidInput):
            evaluate(loss, ClosedFormWitness(64))
    with ctx.workprec(64):
        assert has_closed_form(single("add", "1/2", "1")) and has_closed_form(gaussian("3"))
