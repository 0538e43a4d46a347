"""The composed loss: the Gaussian steps' transform, the largest loss, the orders."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest
from flint import acb, ctx

from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss

Build = Callable[..., ComposedLoss]


@pytest.mark.theorem("T15-gaussian")
@pytest.mark.parametrize(("x", "w"), [("1/2", "0"), ("2", "3"), ("-5/2", "1")])
def test_gaussian_transform_is_the_quadrature(oracle: ModuleType, composed: Build, x: str, w: str) -> None:
    """E_P (dP/dQ)^z for N(mu, 1) against N(0, 1), which is a sampled step with q = 1 and s = 1/mu."""
    z = oracle.mpmath.mpc(oracle.real(Fraction(x)), oracle.real(Fraction(w)))
    exact = oracle.transform("remove", 1, Fraction(4, 3), z)
    with ctx.workprec(120):
        loss = composed("remove", "1/2", 1, 0, "9/16")
        found = loss.enclose_gaussian_exponent(acb(ball(Fraction(x)), ball(Fraction(w)))).exp()
        found = oracle.mpmath.mpc(oracle.real(found.real.mid()), oracle.real(found.imag.mid()))
    assert abs(found - exact) < oracle.mpf("1e-28") * abs(exact)


@pytest.mark.theorem("T07-ends")
def test_largest_loss_adds_up(oracle: ModuleType) -> None:
    """-(3 log(1 - 1/10) + 2 log(1 - 1/2)) in the add order; none once a plain Gaussian step takes part."""
    laws = tuple((SampledGaussianLoss(Fraction(1, n), Fraction(1), "add"), k) for n, k in ((10, 3), (2, 2)))
    loss = ComposedLoss("add", laws, Fraction(0))
    end = -(3 * oracle.mp.log(oracle.mpf(9) / 10) + 2 * oracle.mp.log(oracle.mpf(1) / 2))
    below, above = oracle.exact(end) - Fraction(1, 10**30), oracle.exact(end) + Fraction(1, 10**30)
    past, before = (enclose_past_support(loss, eps, 200) for eps in (above, below))
    assert past.lower == past.upper == 0
    assert before.lower == 0 and before.upper == 1
    for other in (ComposedLoss("add", laws, Fraction(1)), loss.in_order("remove"), loss.in_order("symmetric")):
        with ctx.workprec(64):
            assert other.enclose_largest_loss() is None
        assert enclose_past_support(other, Fraction(10**6), 64).upper == 1


@pytest.mark.theorem("T07-ends")
def test_undecided_end_is_not_used(composed: Build) -> None:
    """At too few bits the comparison eps >= s_max is open, and nothing is claimed."""
    loss = composed("add", "1/10", 1)
    just_past = Fraction(105360515657826302, 10**18)
    assert enclose_past_support(loss, just_past, 20).upper == 1
    assert enclose_past_support(loss, just_past, 200).upper == 0


def test_in_order_changes_the_order_only(composed: Build) -> None:
    loss = composed("remove", "1/10", 2, 7, "1/9")
    turned = loss.in_order("add")
    assert turned.order == "add" and turned.parts[0][0].order == "add"
    assert turned.in_order("remove") == loss
