"""Arrays of doubles around certified deltas, as exact sums; and what another library makes of them."""

from __future__ import annotations

import math
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from flint import arb

from verified_dp import (
    ApproximateDP,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    PoissonSampled,
    compose,
    privacy_profile,
)
from verified_dp.core.kernel.composition import Composition
from verified_dp.questions.loss_distribution import LossOnGrid, double_above, double_below

CASES: dict[str, tuple[Composition, str, str]] = {
    "Laplace": (compose((Laplace("5", "1"), 10)), "replace", "1/512"),
    "shifted grid": (compose((Laplace("3", "1"), 5)), "replace", "1/100"),
    "discrete Gaussian": (compose((DiscreteGaussian("4", 1), 5)), "replace", "1/64"),
    "guarantee": (compose((ApproximateDP("1", "1e-5"), 3)), "add-or-remove", "1/64"),
    "sampled": (compose((PoissonSampled(Gaussian("1"), "0.05"), 9)), "add-or-remove", "1/64"),
    "tenths": (compose((PoissonSampled(Laplace("2", "1"), "0.3"), 4)), "remove", "1/70"),
}


def delta(oracle: ModuleType, masses: np.ndarray, infinity: float, found: LossOnGrid, epsilon: Fraction) -> object:
    total = oracle.real(Fraction(infinity))
    for i, mass in enumerate(masses.tolist()):
        loss = (found.first + i) * found.step
        if loss > epsilon and mass:
            total += oracle.real(Fraction(mass)) * -oracle.mp.expm1(oracle.real(epsilon - loss))
    return total


@pytest.mark.theorem("T223-grid-in-doubles")
@pytest.mark.parametrize("name", CASES)
def test_both_arrays_enclose_delta_as_exact_sums(oracle: ModuleType, name: str) -> None:
    composition, relation, step = CASES[name]
    found = privacy_profile(composition, relation).privacy_loss_distribution(step, most_epsilon=3)
    orders = {"add-or-remove": ("remove", "add")}.get(relation, (relation,))
    assert len(found) in (1, len(orders)) and all(len(one.upper) == len(one.lower) for one in found)
    gaps = []
    for epsilon in (Fraction(n, 7) for n in range(0, 24, 4)):
        truths = [privacy_profile(composition, order).delta(epsilon, 6) for order in orders]
        sides = [(delta(oracle, one.lower, one.lower_infinity_mass, one, epsilon),
                  delta(oracle, one.upper, one.upper_infinity_mass, one, epsilon)) for one in found]
        assert max(low for low, _ in sides) <= oracle.real(max(one.upper.as_fraction() for one in truths))
        assert max(high for _, high in sides) >= oracle.real(max(one.lower.as_fraction() for one in truths))
        gaps += [high - low for low, high in sides]
    assert max(gaps) < 0.03


@pytest.mark.theorem("T223-grid-in-doubles")
def test_doubles_are_outward() -> None:
    for text in ("0.1", "1e-310", "1e-400", "1", "0"):
        exact = Fraction(text)
        number = arb(exact.numerator) / exact.denominator
        assert Fraction(double_below(number)) <= exact <= Fraction(double_above(number))
        assert 0 <= double_below(number) <= double_above(number) <= float(text) * (1 + 1e-15) + 1e-323


@pytest.mark.theorem("T223-grid-in-doubles")
def test_another_library_composes_the_upper_array() -> None:
    """One step's upper arrays, composed 20 times by dp_accounting: above certified deltas, and near them."""
    pld_pmf = pytest.importorskip("dp_accounting.pld.pld_pmf")
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    step = Fraction(1, 4096)
    once = privacy_profile(PoissonSampled(Gaussian("1"), "0.05"), "add-or-remove")
    made = [pld_pmf.DensePLDPmf(float(step), one.first, one.upper, one.upper_infinity_mass, True)
            for one in once.privacy_loss_distribution(step, most_epsilon=4, digits=8)]
    composed = distributions.PrivacyLossDistribution(*made).self_compose(20)
    own = distributions.from_gaussian_mechanism(
        1.0, sampling_prob=0.05, value_discretization_interval=float(step)).self_compose(20)
    many = privacy_profile(compose((PoissonSampled(Gaussian("1"), "0.05"), 20)), "add-or-remove")
    for epsilon in (0, 0.5, 1, 2):
        truth = many.delta(Fraction(epsilon), 8)
        theirs = composed.get_delta_for_epsilon(epsilon)
        assert theirs >= truth.lower_float and math.isclose(theirs, own.get_delta_for_epsilon(epsilon), rel_tol=1e-3)
        assert theirs <= truth.upper_float * 1.001 + 1e-8
