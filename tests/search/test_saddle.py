"""Saddle points and first guesses: near the least of the exponent, near the target, near the bound they predict."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from verified_dp import DiscreteGaussian, Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import first_guess, guess_epsilon
from verified_dp.search.saddle import choose_saddle, saddle_at

SAMPLED = [("0.01", "1", 1000, 2.1), ("0.01", "2", 5000, 16.0), ("0.001", "10", 2000, 0.02),
           ("0.0001", "1.5", 10**6, 0.5), ("0.5", "1.5", 10, 0.0), ("0.1", "0.5", 100, 8.0)]


def order_of(q: str, s: str, count: int, order: int = 0) -> OneDirection:
    profile = privacy_profile(compose((PoissonSampled(Gaussian(s), q), count)), "add-or-remove")
    return OneDirection(profile.losses[order])


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(("q", "s", "count", "epsilon"), SAMPLED)
def test_saddle_is_near_the_least_value_of_the_exponent(q: str, s: str, count: int, epsilon: float, order: int) -> None:
    model = order_of(q, s, count, order).model

    def exponent(c: float) -> float:
        return model.cumulants(c)[0] - c * epsilon - math.log(c) - math.log1p(c)

    found = choose_saddle(model, epsilon).tilt
    assert exponent(found) <= min(exponent(found * float(share)) for share in np.geomspace(0.02, 50, 80)) + 0.05


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(("q", "s", "count", "epsilon"), SAMPLED)
def test_the_predicted_bound_of_one_moment_is_the_one_that_is_proved(q: str, s: str, count: int, epsilon: float,
                                                                     order: int) -> None:
    one, at = order_of(q, s, count, order), Fraction(epsilon)
    saddle = one.saddle(at)
    proved = one.chernoff(at, saddle.tilt).bounds.upper
    assert abs(float(proved.log()) - min(saddle.log_chernoff, 0.0)) < 0.05


@pytest.mark.parametrize("target", ["1e-4", "1e-6", "1e-30", "1e-200"])
@pytest.mark.parametrize(("q", "s", "count", "epsilon"), [case for case in SAMPLED if case[2] > 50])
def test_first_guess_is_where_the_estimate_meets_the_target(q: str, s: str, count: int, epsilon: float,
                                                            target: str) -> None:
    one = order_of(q, s, count)
    found, tilt = first_guess(one, Fraction(target))
    assert saddle_at(one.model, float(found), tilt).log_delta == pytest.approx(math.log(Fraction(target)), abs=0.02)


@pytest.mark.parametrize("target", ["1/10", "1e-5", "1e-30"])
def test_guess_on_a_lattice_is_where_the_estimate_meets_the_target(target: str) -> None:
    one = OneDirection(privacy_profile(compose((DiscreteGaussian("9", 1), 20)), "add-or-remove").losses[0])
    epsilon, _ = guess_epsilon(one, Fraction(target))
    goal = math.log(Fraction(target))
    assert one.log_estimate(epsilon * Fraction(998, 1000)) > goal > one.log_estimate(epsilon * Fraction(1002, 1000))
