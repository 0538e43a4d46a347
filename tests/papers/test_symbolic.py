"""The stored polynomials are what sympy derives, and they give what they should on balls."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from math import comb

import mpmath
import pytest
from flint import acb, arb, ctx
from mpmath import mp, mpf

from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.papers.symbolic import derive, series


def number(x: arb) -> mpf:
    return mpf(x.mid().str(40, radius=False))


def test_tables_are_current() -> None:
    """If this fails: python -m verified_dp.papers.symbolic.derive."""
    found = derive.derive_tables()
    assert len(found) == 2
    for path, stored in found.items():
        assert path.read_text(encoding="utf-8") == derive.table_source(stored), path


def test_sympy_is_imported_only_beyond_the_tables() -> None:
    code = ("import sys; from flint import arb; from verified_dp.papers.symbolic import series\n"
            "series.enclose_cumulants([arb(1)] * 10); print('sympy' in sys.modules)\n"
            "series.enclose_cumulants([arb(1)] * 11); print('sympy' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("n", [3, 8, 13])
def test_cumulants_of_poisson_and_normal_moments(n: int) -> None:
    """All cumulants of a Poisson law are its mean; those of a normal law vanish from the third on."""
    with ctx.workprec(300):
        poisson = [arb(1)]
        for i in range(n):  # m_{i+1} = 2 sum_j binomial(i, j) m_j
            poisson.append(2 * sum((comb(i, j) * poisson[j] for j in range(i + 1)), arb(0)))
        assert all(abs(c - 2) < arb("1e-50") for c in series.enclose_cumulants(poisson[1:]))
        normal, before = [arb(3)], arb(1)
        for i in range(2, n + 1):  # m_i = 3 m_{i-1} + 5 (i-1) m_{i-2}
            normal.append(3 * normal[-1] + 5 * (i - 1) * before)
            before = normal[-2]
        found = series.enclose_cumulants(normal)
        assert all(abs(c - expected) < arb("1e-50") for c, expected in zip(found, [3, 5] + [0] * n, strict=False))


def test_the_series_of_stirling() -> None:
    """1/n! = (1/2 pi i) int e^z z^{-n-1} dz, saddle x = n+1: the series is that of 1/n!, and c_1 = -1/(12x) exactly."""
    with ctx.workprec(200):
        n, derivatives = arb(10), {}
        for j in range(2, 15):  # F(z) = z - (n+1) log z
            value = arb(1)
            for i in range(1, j):
                value *= i
            derivatives[j] = (-1) ** j * (n + 1) * value / (n + 1) ** j
        found = series.enclose_corrections(derivatives, 6)
    x = mpf(11)  # e^{n+1} (n+1)^{-n} / sqrt(2 pi (n+1)) (1 + sum c_i) = 1/n!
    total = 1 + sum(number(c) for c in found)
    first = mp.exp(x) * x ** (-x) * mp.sqrt(x / (2 * mp.pi))
    assert abs(number(found[0]) + 1 / (12 * x)) < mpf("1e-30")
    assert abs(number(found[1]) - 1 / (288 * x**2)) < mpf("1e-30")
    assert abs(first * total * mp.factorial(10) - 1) < mpf("1e-9")


@pytest.mark.parametrize(("law", "closed"), [
    (LaplaceLoss(Fraction(1, 2)), lambda t, n: series.laplace_cgf(arb("0.5"), t, n)),
    (BoundedRangeLoss(Fraction(2)), lambda t, n: series.bounded_range_cgf(arb(2), t, n)),
    (OddsLoss(Fraction(3), Fraction(1, 10), 0), lambda t, n: series.randomized_response_cgf(arb(3), t, n))],
    ids=lambda x: type(x).__name__)
def test_closed_forms_against_the_transform(law: object, closed: object) -> None:
    """Derivatives of log M by mpmath from the law's own transform."""
    with ctx.workprec(300), mp.workdps(70):
        found = closed(arb(3) / 2, 12)  # type: ignore[operator]

        def cgf(x: mpf) -> mpf:
            value = law.enclose_transform(acb(arb(mp.nstr(x, 80)))).real.log()  # type: ignore[attr-defined]
            return mpf(value.mid().str(80, radius=False))

        for n, value in enumerate(found[:5], 1):
            true = mpmath.diff(cgf, mpf("1.5"), n, h=mpf("1e-10"))
            assert abs(number(value) - true) < mpf("1e-8") * (1 + abs(true))
        assert len(found) == 12 and all(value.rad() < arb("1e-30") for value in found)


def test_gaussian_cgf_and_the_exponent() -> None:
    assert [str(c) for c in series.gaussian_cgf(arb(2), arb(3), 4)] == [str(arb(c)) for c in (7, 2, 0, 0)]
    found = series.enclose_exponent_derivatives([arb(7), arb(2), arb(0), arb(0)], arb(1))
    for j, expected in ((2, Fraction(13, 4)), (3, Fraction(-9, 4)), (4, Fraction(6 * 17, 16))):
        assert abs(found[j] - ball(expected)) < arb("1e-12")
