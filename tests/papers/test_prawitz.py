"""Prawitz's inequality itself, its tilted form, and the quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from mpmath import mp, mpc, mpf

from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.papers.prawitz.bounds import (
    PrawitzWitness,
    _bound_kernels,
    enclose_by_prawitz,
    enclose_variation,
    enclose_window,
    evaluate_prawitz,
)
from verified_dp.papers.prawitz.choose import choose_prawitz
from verified_dp.search.deadline import Budget
from verified_dp.search.models import float_loss
from verified_dp.search.one_direction import OneDirection


def window(u: mpf) -> mpf:
    return mp.pi * u * (1 - u) * mp.cot(mp.pi * u) + u


@pytest.mark.theorem("T100-prawitz")
@pytest.mark.parametrize("u", ["1/1000", "1/4", "1/2", "7/10", "9/10", "999/1000"])
def test_the_window(u: str, oracle: ModuleType) -> None:
    with ctx.workprec(150):
        found = enclose_window(acb(ball(Fraction(u)))).real
    assert abs(oracle.real(found.mid()) - window(oracle.real(Fraction(u)))) < mpf("1e-35")
    assert 0 < found < 1


@pytest.mark.theorem("T100-prawitz")
def test_the_window_at_its_removable_singularities() -> None:
    assert abs(enclose_window(acb(arb(0))).real - 1) < arb("1e-14")
    assert abs(enclose_window(acb(arb(1))).real) < arb("1e-14")
    assert enclose_window(acb(arb(0, "0.1"), arb(0, "0.1"))).is_finite()
    assert enclose_window(acb(arb(1, "0.1"), arb(0, "0.1"))).is_finite()
    assert not enclose_window(acb(arb(2, "0.1"))).is_finite() and not enclose_window(acb(arb(-1, "0.1"))).is_finite()


@pytest.mark.theorem("T100-prawitz")
@pytest.mark.parametrize("y", ["-2.5", "-1", "-0.3", "0", "0.2", "0.9", "3", "4.6"])
def test_majorant_and_minorant_of_the_step(y: str) -> None:
    """(3) of T100: the functions whose expectations are the two bounds, by quadrature of their transforms."""
    with mp.workdps(20):
        point = 2 * mp.pi * mpf(y)
        odd = mpmath.quad(lambda u: window(u) / (mp.pi * u) * mp.sin(point * u), mpmath.linspace(0, 1, 9))
        even = mpmath.quad(lambda u: (1 - u) * mp.cos(point * u), mpmath.linspace(0, 1, 9))
        assert mpf("0.5") + odd - even <= (1 if mpf(y) > 0 else 0) + mpf("1e-15")
        assert mpf("0.5") + odd + even >= (1 if mpf(y) >= 0 else 0) - mpf("1e-15")
        sinc = mp.sinpi(mpf(y)) / (mp.pi * mpf(y)) if mpf(y) else mpf(1)
        assert abs(even - sinc**2 / 2) < mpf("1e-15")


@pytest.mark.theorem("T100-prawitz")
@pytest.mark.parametrize("T", [4.0, 2 * np.pi, 9.0])
def test_binomial_distribution_functions(T: float) -> None:
    """Both bounds hold at every atom; at T = 2 pi they are attained, so that nothing smaller would do."""
    n, p = 20, 0.2
    nodes, weights = np.polynomial.legendre.leggauss(300)
    u, weights = (nodes + 1) / 2, weights / 2
    shape = np.pi * u * (1 - u) / np.tan(np.pi * u) + u
    total = 0.0
    for x in range(12):
        value = np.exp(-1j * x * T * u) * (1 - p + p * np.exp(1j * T * u)) ** n
        odd, even = weights @ (shape / (np.pi * u) * value.imag), weights @ ((1 - u) * value.real)
        before, total = total, total + math.comb(n, x) * p**x * (1 - p) ** (n - x)
        assert 0.5 - odd - even <= before + 1e-12 and 0.5 - odd + even >= total - 1e-12
        if 2 * np.pi == T:
            assert abs(0.5 - odd + even - total) < 1e-12 and abs(0.5 - odd - even - before) < 1e-12


@pytest.mark.theorem("T101-prawitz-tilted")
@pytest.mark.parametrize(("tilt", "s"), [("2", "1/10"), ("2", "5"), ("1/3", "1"), ("15", "40")])
def test_the_variation(tilt: str, s: str, oracle: ModuleType) -> None:
    """V = int |f'(y)| e^{-isy} dy by quadrature, and its two bounds."""
    t, freq = oracle.real(Fraction(tilt)), oracle.real(Fraction(s))
    peak = mp.log((1 + t) / t)

    def slope(y: mpf) -> mpf:
        return abs((t + 1) * mp.exp(-(t + 1) * y) - t * mp.exp(-t * y))

    ends = [peak * j / 4 for j in range(5)] + [peak + j / t for j in range(1, 12)] + [peak + 70 / t]
    true = mpmath.quad(lambda y: slope(y) * mp.expj(-freq * y), ends)
    with ctx.workprec(150):
        found = enclose_variation(acb(ball(Fraction(tilt)), ball(Fraction(s))), ball(Fraction(tilt)))
    assert abs(oracle.real(found.real.mid()) - true.real) < mpf("1e-15")
    assert abs(oracle.real(found.imag.mid()) - true.imag) < mpf("1e-15")
    assert abs(true) <= min(2 * t**t / (1 + t) ** (1 + t), 3 * (2 * t + 1) / freq)


def overlap(a: Bounds, b: Bounds) -> bool:
    return bool(a.lower <= b.upper and b.lower <= a.upper)


def truth(loss: ComposedLoss, epsilon: Fraction) -> Bounds:
    return OneDirection(loss).enclose(epsilon, 40, "auto", Budget(20)).bounds


@pytest.mark.theorem("T101-prawitz-tilted")
@pytest.mark.theorem("T102-prawitz-quadrature")
@pytest.mark.parametrize(("order", "q", "s", "count", "eps"), [
    ("remove", "1/100", "2", 3000, "7/10"), ("add", "1/100", "3/2", 10000, "1"), ("symmetric", "1/50", "1", 300, "1"),
    ("remove", "1/100", "2", 10000, "4"), ("remove", "1/10", "1", 7, "2")])
def test_sampled_steps_against_the_contour(composed: Callable[..., ComposedLoss], order: str, q: str, s: str,
                                           count: int, eps: str) -> None:
    loss, epsilon = composed(order, q, s, count), Fraction(eps)
    exact = truth(loss, epsilon)
    witness = choose_prawitz(float_loss(loss), float(epsilon), 30)
    bounds = enclose_by_prawitz(evaluate_prawitz(loss, witness), epsilon)
    assert overlap(bounds, exact)
    assert bounds.upper - bounds.lower < exact.upper * arb("1e-5")
    cut = witness.cut / 3  # the segment ends early: the smoothing must cover what is not known
    short = replace(witness, cut=cut, top=cut, panels=witness.panels + 8)
    early = enclose_by_prawitz(evaluate_prawitz(loss, short), epsilon)
    assert overlap(early, exact) and early.upper - early.lower > bounds.upper - bounds.lower


@pytest.mark.theorem("T102-prawitz-quadrature")
def test_few_points_widen_the_interval(composed: Callable[..., ComposedLoss]) -> None:
    """The quadrature bound covers what few points miss: somewhere they miss more than all other errors together."""
    loss, epsilon = composed("remove", "1/100", "2", 3000), Fraction(7, 10)
    exact, good = truth(loss, epsilon), choose_prawitz(float_loss(loss), 0.7, 40)
    missed = 0
    for points in (2, 3, 4, 6):
        bounds = enclose_by_prawitz(evaluate_prawitz(loss, replace(good, points=points)), epsilon)
        assert overlap(bounds, exact)
        middle = (bounds.upper + bounds.lower) / 2
        others = sum((size for name, size in bounds.budget.items() if name != "quadrature"), arb(0))
        missed += bool(bounds.lower > 0 and abs(middle - exact.upper) > others)
    assert missed


@pytest.mark.theorem("T101-prawitz-tilted")
@pytest.mark.parametrize("top", ["10", "60", "200"])
def test_atoms_are_covered_by_the_smoothing(top: str) -> None:
    """Randomised response: exact delta by the binomial sum; the atom nearest to eps decides the width."""
    loss = ComposedLoss("symmetric", ((OddsLoss(Fraction(1, 10), Fraction(1, 10**4), 0), 100),), Fraction(0))
    values = evaluate_prawitz(loss, choose_prawitz(float_loss(loss), 1.0, 30, top=float(top)))
    assert values.witness.cut == values.witness.top
    used = 0
    for eps in ("1", "11/10", "6/5", "79/100"):
        exact, bounds = truth(loss, Fraction(eps)), enclose_by_prawitz(values, Fraction(eps))
        assert overlap(bounds, exact)
        centre = (bounds.lower + bounds.upper) / 2
        used += bool(abs(centre - exact.lower) > bounds.budget["smoothing"] / 20)
    assert used


@pytest.mark.theorem("T102-prawitz-quadrature")
def test_direct_laws_and_their_rest() -> None:
    """Laplace: the transform decays slowly to its atoms; the part beyond the cut is bounded, not integrated."""
    loss = ComposedLoss("symmetric", ((LaplaceLoss(Fraction(1, 10)), 500),), Fraction(0))
    witness = choose_prawitz(float_loss(loss), 2.0, 25)
    exact = truth(loss, Fraction(2))
    values = evaluate_prawitz(loss, witness)
    bounds = enclose_by_prawitz(values, Fraction(2))
    assert values.beyond > 0 and overlap(bounds, exact) and bounds.upper - bounds.lower < exact.upper * arb("1e-6")
    nearer = evaluate_prawitz(loss, replace(witness, cut=witness.cut / 4))
    assert overlap(enclose_by_prawitz(nearer, Fraction(2)), exact)


def test_side_conditions(composed: Callable[..., ComposedLoss]) -> None:
    loss = composed("remove", "1/100", "2", 3000)
    good = choose_prawitz(float_loss(loss), 0.7, 20)
    wrong: list[dict[str, Any]] = [{"panels": 0}, {"points": 1}, {"ellipse": Fraction(1)}, {"cut": 2 * good.top},
                                   {"nodes": ()}, {"tilt": good.reach}, {"cut": Fraction(0)}]
    for change in wrong:
        with pytest.raises(InvalidInput):
            evaluate_prawitz(loss, replace(good, **change))


@pytest.mark.theorem("T102-prawitz-quadrature", "T17-gauss-legendre")
@pytest.mark.parametrize("ellipse", ["101/100", "6/5", "3"])
def test_the_kernels_bound_is_the_sum_over_the_panels(ellipse: str, oracle: ModuleType) -> None:
    """r sum kappa_j (64/15) rho^{-2p} / (1 - rho^-2) with kappa_j by samples on the ellipses."""
    witness = PrawitzWitness(Fraction(2), Fraction(20), Fraction(6), 6, 3, Fraction(ellipse), (), (), 128)
    rho, half = oracle.real(witness.ellipse), oracle.real(witness.half_length)

    def kernels(s: mpc) -> mpf:
        u, z, t, top = s / 20, 2 + 1j * s, mpf(2), mpf(20)
        turn = (t / (1 + t)) ** z
        rise = 2 * t / z * turn - 2 * (t + 1) / (z + 1) * turn * t / (1 + t) - (t - z) / (z * (z + 1))
        return abs(window(u) / (mp.pi * z * (z + 1))) + abs((1 - u) * rise / top)

    points = [half * (rho * mp.expjpi(mpf(k) / 12) + mp.expjpi(-mpf(k) / 12) / rho) / 2 for k in range(24)]
    sizes = (max(kernels(half * (2 * panel + 1) + point) for point in points) for panel in range(witness.panels))
    least = half * mp.fsum(sizes) * 64 / 15 * rho ** (-2 * witness.points) / (1 - rho**-2)
    with ctx.workprec(128):
        bound = oracle.real(_bound_kernels(witness))
    assert least <= bound
    assert ellipse == "3" or bound < 3 * least
