"""The ball helpers: every result contains the exact one, ends are on the safe side."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType

import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from verified_dp.core.engines import shared
from verified_dp.core.kernel import balls
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import Undecided
from verified_dp.ends import ball_of

RATIONALS = st.fractions(min_value=-50, max_value=50, max_denominator=10**6)


def holds(x: arb, value: Fraction) -> bool:
    """lower <= value <= upper, exactly (arb.contains would first round the value to a ball)."""
    return balls.lower_dyadic(x).as_fraction() <= value <= balls.upper_dyadic(x).as_fraction()


def around(x: Fraction, radius: Fraction) -> arb:
    return balls.ball(x) + balls.plus_minus(balls.ball(radius))


@given(RATIONALS)
def test_ball_contains_the_rational_at_any_precision(x: Fraction) -> None:
    for prec in (2, 20, 200):
        with ctx.workprec(prec):
            assert holds(balls.ball(x), x)


@given(RATIONALS, st.fractions(min_value=0, max_value=3, max_denominator=999))
def test_ends_are_outside_the_ball(x: Fraction, radius: Fraction) -> None:
    wide = around(x, radius)
    low, high = balls.lower_end(wide), balls.upper_end(wide)
    assert low.is_exact() and high.is_exact()
    assert balls.lower_dyadic(wide).as_fraction() <= x - radius
    assert x + radius <= balls.upper_dyadic(wide).as_fraction()
    assert x + radius >= balls.upper_dyadic(wide).as_fraction() - Fraction(1, 2**20)
    assert ball_of(balls.upper_dyadic(wide)) == high


def test_nothing_known_gives_infinite_ends() -> None:
    nan = arb("nan")
    assert balls.upper_end(nan) == arb.pos_inf() and balls.lower_end(nan) == arb.neg_inf()
    assert balls.upper_dyadic(nan).is_infinite
    assert balls.upper_dyadic(arb.pos_inf()).is_infinite
    assert ball_of(Dyadic.infinity()) == arb.pos_inf()
    for unbounded in (nan, arb.neg_inf(), arb(0, arb.pos_inf())):
        with pytest.raises(Undecided):
            balls.lower_dyadic(unbounded)


@given(st.lists(st.tuples(RATIONALS, st.fractions(0, 2, max_denominator=9)), min_size=1, max_size=6))
def test_largest_and_smallest_bound_every_point(pairs: list[tuple[Fraction, Fraction]]) -> None:
    values = [around(x, radius) for x, radius in pairs]
    top = balls.upper_dyadic(balls.largest(values)).as_fraction()
    bottom = balls.lower_dyadic(balls.smallest(values)).as_fraction()
    assert max(x + r for x, r in pairs) <= top <= max(x + r for x, r in pairs) + Fraction(1, 2**20)
    assert min(x - r for x, r in pairs) - Fraction(1, 2**20) <= bottom <= min(x - r for x, r in pairs)
    least = balls.upper_dyadic(shared.least_upper(values)).as_fraction()
    assert min(x + r for x, r in pairs) <= least <= min(x + r for x, r in pairs) + Fraction(1, 2**20)


def test_largest_with_nothing_known_is_infinite() -> None:
    assert balls.largest([arb(1), arb("nan")]) == arb.pos_inf()
    assert balls.smallest([arb(1), arb("nan")]) == arb.neg_inf()
    assert shared.least_upper([arb(1), arb("nan"), arb(0, "inf")]) == 1


def test_plus_minus_and_disc_hold_the_whole_disc() -> None:
    radius = arb(3, arb("0.5"))
    assert balls.plus_minus(radius).contains(arb("3.5")) and balls.plus_minus(radius).contains(arb("-3.5"))
    assert balls.disc(radius).contains(acb("2.4", "-2.4"))
    assert not balls.plus_minus(radius).contains(arb("3.6"))


@pytest.mark.parametrize("x", ["-9", "-1/3", "0", "2", "40", "1000"])
def test_normal_tail_keeps_relative_accuracy(oracle: ModuleType, x: str) -> None:
    with oracle.mp.workdps(60):
        exact = oracle.tail(oracle.real(Fraction(x)))
    with ctx.workprec(140):
        found = balls.normal_tail(balls.ball(Fraction(x)))
        assert found.rad() < found.upper() * arb("1e-35")
        assert found.overlaps(arb(oracle.mpmath.nstr(exact, 38)) * arb(1, arb("1e-36")))


@given(st.fractions(-2, 2, max_denominator=64), st.fractions(-2, 2, max_denominator=64), st.integers(0, 40))
def test_powers_are_the_powers(x: Fraction, y: Fraction, count: int) -> None:
    with ctx.workprec(120):
        base = acb(balls.ball(x), balls.ball(y))
        table = shared.powers(base, count)
        assert len(table) == count
        exact_real, exact_imaginary = Fraction(1), Fraction(0)
        for power in table:
            assert holds(power.real, exact_real) and holds(power.imag, exact_imaginary)
            exact_real, exact_imaginary = (
                exact_real * x - exact_imaginary * y, exact_real * y + exact_imaginary * x)


def test_powers_hardly_wrap() -> None:
    """A turning ball to the power 1000 loses a few bits, not one per step."""
    with ctx.workprec(100):
        last = shared.powers(acb(0, 1).exp(), 1001)[-1]
        assert last.real.rad() < arb(2) ** -80
