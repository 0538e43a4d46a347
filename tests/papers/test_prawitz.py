"""Prawitz's inequality: a distribution function between two integrals of its transform on a segment."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf


def window(u: mpf) -> mpf:
    return mp.pi * u * (1 - u) * mp.cot(mp.pi * u) + u


@pytest.mark.theorem("T100-prawitz")
@pytest.mark.parametrize("u", ["1/1000", "1/4", "1/2", "7/10", "9/10", "999/1000"])
def test_the_window_lies_between_0_and_1(u: str) -> None:
    assert 0 < window(mp.mpmathify(u)) < 1


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
