"""The saddle point, the normal part, and the Berry-Esseen interval."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import mpmath
import pytest
from flint import arb, ctx
from mpmath import mp, mpf

from verified_dp.core.engines.expansion_cells import Steps
from verified_dp.core.engines.tilted_moments import MomentTable, tabulate_moments
from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Undecided
from verified_dp.core.kernel.gaussian import enclose_gaussian_profile
from verified_dp.papers.saddlepoint.bounds import (
    ANY_STEPS,
    EQUAL_STEPS,
    bound_distance,
    enclose_by_berry_esseen,
    enclose_normal_part,
    enclose_saddle,
    enclose_state,
)
from verified_dp.search.expansion import choose_moment_rules

HALF = Fraction(1, 2)


def table_of(loss: ComposedLoss, tilt: object) -> MomentTable:
    return tabulate_moments(loss, choose_moment_rules(loss, float(Fraction(tilt)), 80, 4), 192)


def nearby(x: arb) -> Fraction:
    """An exact number near the ball's points."""
    return Fraction(int((x.lower() * 2**70).floor().unique_fmpz()), 2**70)


def gaussian(shift_squared: object) -> ComposedLoss:
    return ComposedLoss("symmetric", (), Fraction(shift_squared))


@pytest.mark.theorem("T97-saddle-point")
def test_the_saddle_point_of_gaussian_steps(oracle: ModuleType) -> None:
    """(2t+1) m/2 = eps + 1/t + 1/(1+t) by bisection in mpmath."""
    table = tabulate_moments(gaussian("3/2"), [], 192)
    saddle = enclose_saddle(table, Fraction(4), Fraction("2.6"), HALF)
    for radius in (Fraction(1, 100), Fraction(1, 10**4), Fraction(1, 10**8)):
        with ctx.workprec(192):
            saddle = enclose_saddle(table, Fraction(4), nearby(saddle), radius)
    true = mpmath.findroot(lambda t: (2 * t + 1) * mpf("0.75") - 4 - 1 / t - 1 / (1 + t), mpf("2.6"))
    assert abs(oracle.real(saddle.mid()) - true) < mpf("1e-17") and saddle.rad() < arb("1e-15")


@pytest.mark.theorem("T97-saddle-point")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
def test_the_saddle_point_of_sampled_steps(composed: Callable[..., ComposedLoss], order: str) -> None:
    """F' changes its sign across the enclosure, and a guess from which Newton does not return is refused."""
    loss = composed(order, "1/50", "3/2", 2000)
    table = table_of(loss, Fraction(5, 2))
    with pytest.raises(Undecided):
        enclose_saddle(table, Fraction(1), Fraction(3, 2), Fraction(1, 100))
    low, high = Fraction(1), Fraction(4)
    with ctx.workprec(192):
        for _ in range(30):
            middle = (low + high) / 2
            t = ball(middle)
            slope = enclose_state(table, t).cumulants[1] - 1 - 1 / t - 1 / (1 + t)
            low, high = (middle, high) if slope < 0 else (low, middle)
        found = enclose_saddle(table, Fraction(1), low, Fraction(1, 10))
        for radius in (Fraction(1, 1000), Fraction(1, 10**7)):
            found = enclose_saddle(table, Fraction(1), nearby(found), radius)
        for end, sign in ((found.lower(), -1), (found.upper(), 1)):
            outside = end + sign * arb("1e-14")
            assert sign * (enclose_state(table, outside).cumulants[1] - 1 - 1 / outside - 1 / (1 + outside)) > 0
        assert found.overlaps(ball(low).union(ball(high))) and found.rad() < arb("1e-15")
    for guess, radius in ((Fraction(1), Fraction(1)), (Fraction(1), Fraction(0))):
        with pytest.raises(InvalidInput):
            enclose_saddle(table, Fraction(1), guess, radius)


@pytest.mark.theorem("T98-sp-clt")
@pytest.mark.parametrize("tilt", ["1/10", "1", "7/2", "20"])
def test_exact_for_gaussian_steps_at_every_tilt(tilt: str) -> None:
    loss = gaussian(2)
    with ctx.workprec(256):
        bounds, normal = enclose_by_berry_esseen(tabulate_moments(loss, [], 256), Fraction(tilt), Fraction(3))
        true = enclose_gaussian_profile(Fraction(2), arb(3))
        assert normal.overlaps(true) and normal.rad() < true * arb("1e-55")
        assert bounds.lower <= true.upper() and true.lower() <= bounds.upper
        assert bounds.upper - bounds.lower < true * arb("1e-50")


@pytest.mark.theorem("T98-sp-clt")
@pytest.mark.parametrize(("tilt", "mean", "variance", "eps"), [("2", "1", "3", "1/2"), ("1/3", "5", "1", "4"),
                                                               ("4", "-1", "2", "1")])
def test_the_normal_expectation(tilt: str, mean: str, variance: str, eps: str, oracle: ModuleType) -> None:
    """E f(Z) by quadrature."""
    t, m, v, e = (oracle.real(Fraction(x)) for x in (tilt, mean, variance, eps))

    def integrand(x: mpf) -> mpf:
        return mp.exp(-t * (x - e)) * (1 - mp.exp(e - x)) * mp.exp(-((x - m) ** 2) / (2 * v)) / mp.sqrt(2 * mp.pi * v)

    true = mpmath.quad(integrand, [e, e + 1, e + 3, e + 8, e + 20, e + 60])
    with ctx.workprec(160):
        cumulants = [arb(0), ball(Fraction(mean)), ball(Fraction(variance))]
        state = Steps(ball(Fraction(tilt)), arb(0), arb(0), cumulants, [])
        found = enclose_normal_part(state, ball(Fraction(eps)))
    assert abs(oracle.real(found.mid()) - true) < mpf("1e-25")


def bernoulli(p: Fraction, count: int) -> ComposedLoss:
    """Losses log 2 with probability p and log 1/2 else (after normalising), so that sums are binomial."""
    q = p / 2
    return ComposedLoss("remove", ((FiniteLoss(((p, q), (1 - p, 1 - q)), "remove"), count),), Fraction(0))


def true_distance(p: mpf, n: int) -> mpf:
    """sup |F - Phi| of the standardised Bin(n, p), from the exact distribution function."""
    deviation, total, worst = mp.sqrt(n * p * (1 - p)), mpf(0), mpf(0)
    for j in range(n + 1):
        normal = mp.ncdf((j - n * p) / deviation)
        worst = max(worst, abs(total - normal))
        total += mp.binomial(n, j) * p**j * (1 - p) ** (n - j)
        worst = max(worst, abs(total - normal))
    return worst


@pytest.mark.theorem("T99-berry-esseen")
@pytest.mark.parametrize(("p", "count"), [("0.4188", 400), ("0.1", 30), ("0.02", 50), ("0.5", 9)])
def test_distance_of_binomials(p: str, count: int, oracle: ModuleType) -> None:
    """At a tilt near 0 the loss is hardly tilted; the bound lies above the exact distance of the tilted binomial."""
    loss, tilt = bernoulli(Fraction(p), count), Fraction(1, 100)
    table = table_of(loss, tilt)
    state = enclose_state(table, ball(tilt), 4)
    with mp.workdps(30):
        (up, q_up), (down, q_down) = loss.parts[0][0].masses  # type: ignore[attr-defined]
        weights = [oracle.real(a) * (oracle.real(a) / oracle.real(b)) ** oracle.real(tilt)
                   for a, b in ((up, q_up), (down, q_down))]
        true = true_distance(weights[0] / sum(weights), count)
    bound = oracle.real(bound_distance(table, state))
    assert true <= bound < mpf(2) * true or p != "0.4188"
    assert true <= bound
    assert bound <= oracle.real(bound_distance(table, state, ANY_STEPS))


@pytest.mark.theorem("T99-berry-esseen")
def test_constants_are_not_below_esseens() -> None:
    """No constant can be below (sqrt 10 + 3)/(6 sqrt(2 pi)), which Bernoulli sums reach."""
    least = mpf("0.4097")
    with mp.workdps(30):
        p = (4 - mp.sqrt(10)) / 2
        beta = ((1 - p) ** 2 + p**2) / mp.sqrt(p * (1 - p))
        reached = true_distance(p, 600) * mp.sqrt(600) / beta
    assert reached > mpf("0.998") * least
    for factor, shift in EQUAL_STEPS:
        a, b = (mpf(x.numerator) / x.denominator for x in (factor, shift))
        assert a * (beta + b) > reached * beta


@pytest.mark.theorem("T99-berry-esseen")
def test_stated_constants(composed: Callable[..., ComposedLoss]) -> None:
    loss = composed("remove", "1/100", "2", 3000)
    table = table_of(loss, 9)
    own, _ = enclose_by_berry_esseen(table, Fraction(9), Fraction(7, 10))
    papers, _ = enclose_by_berry_esseen(table, Fraction(9), Fraction(7, 10), Fraction("0.56"))
    assert papers.lower < own.lower < own.upper < papers.upper
    with pytest.raises(InvalidInput, match=r"at least 469/1000"):
        enclose_by_berry_esseen(table, Fraction(9), Fraction(7, 10), Fraction("0.4"))
    mixed = composed("remove", "1/100", "2", 3000, "1/10")
    with pytest.raises(InvalidInput, match=r"at least 14/25"):
        enclose_by_berry_esseen(table_of(mixed, 9), Fraction(9), Fraction(7, 10), Fraction("0.469"))
    with pytest.raises(InvalidInput):
        enclose_by_berry_esseen(table, Fraction(0), Fraction(1))


@pytest.mark.theorem("T99-berry-esseen")
def test_infinity_mass_is_added() -> None:
    """A loss that is infinite with probability 1 - (1-m)^k."""
    loss = ComposedLoss("symmetric", ((OddsLoss(Fraction(1, 10), Fraction(1, 1000), 0), 400),), Fraction(0))
    with ctx.workprec(128):
        bounds, _ = enclose_by_berry_esseen(table_of(loss, 1), Fraction(1), Fraction(30))
        assert bounds.lower <= 1 - arb("0.999") ** 400 <= bounds.upper and bounds.lower > arb("0.3")
