"""The law of one sampled step: exponents and their expansions, its largest loss, and the tails of its nodes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball

ORDERS = ["remove", "add", "symmetric"]
SIDE = {"remove": 1.0, "add": -1.0, "symmetric": 1.0}


def law_of(order: str, q: str = "1/10", s: str = "1") -> SampledGaussianLoss:
    return SampledGaussianLoss(Fraction(q), Fraction(s), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("t", [(-3.0, 0.5), (0.25, -2.0), (2.0, 3.0), (9.0, 1.0)])
@pytest.mark.parametrize("s", ["1", "7/5"])
def test_exponents_are_those_of_the_densities(oracle: ModuleType, order: str, t: tuple[float, float], s: str) -> None:
    """exp(base) = P(t) and exp(v) = P(t)/Q(t), at complex t inside the strip."""
    P, Q = oracle.densities(order, oracle.mpf("0.1"), oracle.real(Fraction(s)))
    point = oracle.mpmath.mpc(*t)
    with ctx.workprec(150):
        ((base, loss),) = law_of(order, s=s).exponents([acb(*t)])
        for found, exact in ((base.exp(), P(point)), (loss.exp(), P(point) / Q(point))):
            error = found - acb(arb(oracle.mpmath.nstr(exact.real, 38)), arb(oracle.mpmath.nstr(exact.imag, 38)))
            assert error.abs_upper() <= found.abs_upper() * arb(10) ** -36


@pytest.mark.parametrize("order", ORDERS)
def test_losses_have_non_negative_imaginary_part_on_their_side(order: str) -> None:
    """|e^{iwv}| <= 1 for w >= 0: T08 (3)."""
    law = law_of(order, "1/2")
    with ctx.workprec(80):
        points = [acb(x, SIDE[order] * a) for x in range(-9, 10, 2) for a in (0.1, 1.5, 3.1)]
        for _, loss in law.exponents(points):
            assert loss.imag.upper() >= 0 and loss.imag > -arb(2) ** -60
            assert loss.imag < (2 if order == "symmetric" else 1) * arb("3.1001")


@pytest.mark.theorem("T07-ends")
def test_largest_loss(oracle: ModuleType) -> None:
    with ctx.workprec(100):
        assert law_of("remove").enclose_largest_loss() is None
        assert law_of("symmetric").enclose_largest_loss() is None
        end = law_of("add").enclose_largest_loss()
        assert end is not None and (end - (arb(10) / 9).log()).abs_upper() < arb(2) ** -90
        assert (law_of("add").enclose_strip() / arb.pi()).overlaps(arb(1))
        assert (law_of("add", s="3").enclose_strip() / arb.pi()).overlaps(arb(9))


def bound_of(law: SampledGaussianLoss, z: tuple[str, str], height: str, left: str, right: str) -> float:
    with ctx.workprec(64):
        return float(law.bound_tails(acb(*(ball(Fraction(part)) for part in z)),
                                     *(ball(Fraction(x)) for x in (height, left, right))))


# order, q, s, z, height, left, right, the least share of the bound that the true tail reaches
TAILS = [
    ("remove", "1/10", "1", ("2", "0"), "0", "-60", "6", 0.97),  # right: a Gaussian tail centred at c + 1
    ("remove", "1/10", "1", ("2", "0"), "1/2", "-60", "6", 0.96),
    ("remove", "1/10", "1", ("2", "0"), "1", "-2", "60", 0.7),  # left
    ("remove", "1/1000", "1", ("4", "0"), "1", "-60", "2", 0.0),  # the window misses a lobe
    ("remove", "1/10", "1", ("2", "5"), "1/2", "-60", "6", 0.94),  # damped by e^{-w Im v}
    ("remove", "1/10", "1", ("-4", "3"), "1", "-2", "60", 0.94),  # negative exponents
    ("remove", "1/10", "1", ("-4", "3"), "1", "-60", "2", 0.5),
    ("remove", "1/2", "1", ("2", "-3"), "1/2", "-60", "6", 0.98),  # w < 0: grows
    ("remove", "9/10", "1", ("4", "0"), "1/2", "-60", "2", 0.3),  # the window ends before the lobe at c + 1
    ("add", "1/10", "1", ("2", "0"), "0", "-60", "3", 0.7),
    ("add", "1/10", "1", ("2", "0"), "1/2", "-3", "60", 0.98),
    ("add", "1/1000", "2", ("3", "4"), "2", "-5", "60", 0.99),
    ("add", "1/10", "1", ("-5/2", "2"), "1/2", "-60", "5", 0.9),
    ("add", "1/2", "1", ("2", "-3"), "1/2", "-5", "60", 0.2),
    ("add", "1/2", "1", ("8", "0"), "12/5", "-60", "1/2", 0.02),  # |m| = cos(theta/2) m at the end of the window
    ("remove", "5/8", "1", ("-6", "0"), "14/5", "0", "60", 0.004),
    ("symmetric", "1/10", "1", ("2", "0"), "0", "-60", "6", 0.97),
    ("symmetric", "1/10", "1", ("2", "1"), "1/2", "-60", "7", 0.98),
    ("symmetric", "1/10", "1", ("2", "0"), "1/2", "-2", "60", 0.55),
    ("symmetric", "1/10", "1", ("1", "-2"), "1/2", "-3", "60", 0.15),
    ("symmetric", "999/1000", "1", ("0", "-2"), "1/2", "-60", "0", 0.3),  # both arguments near the line's angle
]


@pytest.mark.theorem("T10-node-tails")
@pytest.mark.parametrize(("order", "q", "s", "z", "height", "left", "right", "share"), TAILS)
def test_tails_bound_the_integral_and_the_nodes(
        oracle: ModuleType, order: str, q: str, s: str, z: tuple[str, str], height: str, left: str, right: str,
        share: float) -> None:
    """Against the integral beyond the window and against the sums of dropped nodes, whatever their step."""
    bound = bound_of(law_of(order, q, s), z, height, left, right)
    args = order, float(Fraction(q)), float(Fraction(s)), complex(Fraction(z[0]), Fraction(z[1]))
    line, low, high = SIDE[order] * float(Fraction(height)), float(Fraction(left)), float(Fraction(right))
    integral = oracle.line_integral(*args, line, -np.inf, low) + oracle.line_integral(*args, line, high, np.inf)
    assert integral <= bound * (1 + 1e-9)
    assert integral >= share * bound, "the bound is looser than it was"
    for step in (0.05, 0.5, 1.0, 2 * float(Fraction(s))):
        j0, j1 = round(low / step), round(high / step)
        if (j0 * step, j1 * step) != (low, high):
            continue
        reach = int(80 / step)
        dropped = np.concatenate([np.arange(j0 - reach, j0), np.arange(j1 + 1, j1 + 1 + reach)])
        assert oracle.node_sum(*args, line, step, dropped) <= bound * (1 + 1e-9), step


@pytest.mark.theorem("T10-node-tails")
@pytest.mark.parametrize("order", ORDERS)
def test_tails_shrink_with_the_window(order: str) -> None:
    ends = [bound_of(law_of(order), ("2", "0"), "1/2", str(-n), str(n + 3)) for n in (3, 6, 12, 24)]
    assert all(later < earlier / 1000 for earlier, later in pairwise(ends))


@pytest.mark.theorem("T10-node-tails")
@pytest.mark.parametrize("order", ORDERS)
def test_no_bound_without_its_condition(order: str) -> None:
    """The sign of an exponent has to be certain."""
    unsure = {"remove": -1, "add": 0, "symmetric": 0}[order]
    with ctx.workprec(64):
        for x in (arb(unsure, 2**-20), arb(0).union(arb(-1))):
            bound = law_of(order).bound_tails(acb(x), arb(1) / 2, arb(-9), arb(9))
            assert not bound.is_finite()
        assert law_of(order).bound_tails(acb(unsure), arb(1) / 2, arb(-9), arb(9)).is_finite()


@pytest.mark.theorem("T09-total-mass")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("q", "s"), [("1/10", "1"), ("99/100", "3/2"), ("1/2", "1/2")])
@pytest.mark.parametrize("exponent", ["1/4", "1", "7/2"])
def test_moments_are_below_their_bound(oracle: ModuleType, order: str, q: str, s: str, exponent: str) -> None:
    """E e^{lL} by quadrature: below 1 - q + q e^{l(l+1) d^2/(2s^2)}, and that itself nearly where q is nearly 1."""
    with ctx.workprec(120):
        bound = oracle.real(law_of(order, q, s).enclose_moment(ball(Fraction(exponent))).upper())
    true = oracle.transform(order, Fraction(q), Fraction(s), oracle.real(Fraction(exponent))).real
    x, distance = oracle.real(Fraction(exponent)), 2 if order == "symmetric" else 1
    growth = oracle.mp.exp(x * (x + 1) * distance**2 / (2 * oracle.real(Fraction(s)) ** 2))
    share = oracle.real(Fraction(q))
    assert true * (1 - oracle.mpf("1e-25")) <= bound
    assert abs(bound - (1 - share + share * growth)) < bound * oracle.mpf("1e-8")  # a radius has 30 bits
