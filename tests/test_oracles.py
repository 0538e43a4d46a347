"""The independent routes agree with each other: a wrong oracle would hide what it is meant to show."""

from __future__ import annotations

import math
from fractions import Fraction
from types import ModuleType

import pytest

ORDERS = ["remove", "add", "symmetric"]


@pytest.mark.parametrize("order", ORDERS)
def test_transform_is_the_quadrature_and_does_not_depend_on_the_step(oracle: ModuleType, order: str) -> None:
    z = oracle.mpmath.mpc("1.5", 4)
    value, finer = (oracle.transform(order, "0.2", "0.8", z, n) for n in (1, 2))
    assert abs(value - finer) < oracle.mpf("1e-30")
    P, Q = oracle.densities(order, oracle.mpf("0.2"), oracle.mpf("0.8"))
    with oracle.mp.workdps(20):
        quad = oracle.mp.quad(lambda t: P(t) * oracle.mp.exp(z * oracle.mp.log(P(t) / Q(t))), range(-12, 14, 2))
    assert abs(value - quad) < oracle.mpf("1e-15")


@pytest.mark.parametrize("order", ORDERS)
def test_line_integral_on_the_real_axis_is_the_transform(oracle: ModuleType, order: str) -> None:
    exact = float(oracle.transform(order, "0.2", 1, oracle.mpf("2.5")).real)
    assert math.isclose(oracle.line_integral(order, 0.2, 1.0, 2.5 + 0j, 0.0), exact, rel_tol=1e-12)
    halves = (-math.inf, 1.0), (1.0, math.inf)
    split = [oracle.line_integral(order, 0.2, 1.0, 2.5 + 0j, 0.0, *ends) for ends in halves]
    assert math.isclose(sum(split), exact, rel_tol=1e-12)
    assert math.isclose(oracle.modulus_integral(order, 0.2, 1.0, 2.5 + 3j, 0.5, 0.0),
                        oracle.line_integral(order, 0.2, 1.0, 2.5 + 3j, 0.5), rel_tol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", ["-1", "-1/20", "0", "1/15", "2"])
def test_tails_are_the_quadrature(oracle: ModuleType, order: str, epsilon: str) -> None:
    by_tails, by_quadrature = (route(order, "0.1", 1, Fraction(epsilon))
                               for route in (oracle.single_delta, oracle.hockey_stick))
    assert abs(by_tails - by_quadrature) < oracle.mpf("1e-25")
    if order != "symmetric":
        by_hand = oracle.single_delta_fast(order, ("0.1", 1), oracle.real(Fraction(epsilon)))
        assert abs(by_tails - by_hand) < oracle.mpf("1e-35")


def test_a_trivial_first_step_leaves_the_second(oracle: ModuleType) -> None:
    for order in ("remove", "add"):
        two = oracle.two_step_delta(order, ("1e-30", 1), ("0.3", 1), Fraction(1, 5))
        assert abs(two - oracle.single_delta(order, "0.3", 1, Fraction(1, 5))) < oracle.mpf("1e-14")


def test_grid_divergence_is_the_closed_form(oracle: ModuleType) -> None:
    found = oracle.mixture_divergence([(0.7, 0.0), (0.3, 1.0)], [(1.0, 0.0)], 1.0, math.exp(0.2))
    assert math.isclose(found, float(oracle.single_delta("remove", "0.3", 1, Fraction(1, 5))), rel_tol=1e-6)


def test_exact_reads_every_kind_of_number(oracle: ModuleType) -> None:
    assert oracle.exact("1/3") == Fraction(1, 3) and oracle.exact(oracle.mpf("-0.75")) == Fraction(-3, 4)
    assert oracle.exact(oracle.mpf(0)) == 0 and oracle.exact(7) == 7
