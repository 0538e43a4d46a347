"""A polynomial along a stretch of eps against the line or the rays that it is made of."""

from fractions import Fraction

import pytest
from flint import arb, ctx

from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.core.engines.contour import LineValues
from verified_dp.core.engines.rays import RaysValues
from verified_dp.core.kernel.balls import ball
from verified_dp.search import between
from verified_dp.search.answer import width_bits
from verified_dp.search.between import Between, bound_between, bound_sizes, chebyshev, enclose_flat, interpolate
from verified_dp.search.deadline import Budget
from verified_dp.search.following import Following

pytestmark = pytest.mark.theorem("T159-between")
CASES = [("0.01", "1.5", 10**4, LineValues), ("0.01", 1, 2, RaysValues), ("0.02", 2, 100, LineValues),
         ("0.01", 1, 5, RaysValues)]


def served(q, noise, count, low, high):
    """The evaluation that serves a stretch of eps, with the values that its polynomial is made of."""
    order = privacy_profile(compose((PoissonSampled(Gaussian(noise), q), count)), "remove").following()._orders[0]
    assert isinstance(order, Following)
    eps = [low + (high - low) * Fraction(i, 63) for i in range(64)]
    with ctx.workprec(128):
        order.serve(eps, 30.0, "auto", Budget(None), 1000.0)
    return order._served


@pytest.mark.parametrize(("q", "noise", "count", "kind"), CASES)
def test_polynomials_agree_with_what_they_are_made_of(q, noise, count, kind):
    for one in served(q, noise, count, Fraction(1, 4), Fraction(3, 2)):
        smooth, low, high = one.answer.values, Fraction(one.low), Fraction(one.high)
        assert isinstance(smooth, Between) and isinstance(smooth.values, kind)
        for i in range(1, 100):
            at = low + (high - low) * Fraction(i, 101)
            own, found = smooth.values.delta(at), smooth.delta(at)
            assert found.budget is not own.budget and width_bits(found) > 28
            assert found.lower <= own.upper and own.lower <= found.upper
        outside = smooth.delta(high + 1)
        assert outside.lower == smooth.values.delta(high + 1).lower


@pytest.mark.parametrize(("q", "noise", "count", "kind"), CASES[:2])
def test_remainders_hold_and_are_needed(q, noise, count, kind):
    """Of low degrees: the sum is farther from the polynomial than rounding, and within the bound."""
    one = served(q, noise, count, Fraction(1, 4), Fraction(3, 4))[0]
    values, low, high = one.answer.values.values, Fraction(1, 4), Fraction(3, 4)
    with ctx.workprec(300):
        middle, half, sizes = ball((low + high) / 2), ball((high - low) / 2), bound_sizes(values)
        for degree in (4, 7, 10):
            turns = [(arb.pi() * k / degree).cos() for k in range(degree + 1)]
            polynomial = chebyshev([enclose_flat(values, middle + half * turn).mid() for turn in turns], turns)
            bound = bound_between(sizes, middle, half, degree, arb(2)).min(
                bound_between(sizes, middle, half, degree, arb(4)))
            gaps = [abs(polynomial(place) - enclose_flat(values, middle + half * place))
                    for place in (arb(i) / 50 for i in range(-50, 51))]
            assert all(gap < bound for gap in gaps)
            assert any(gap > 1e-20 for gap in gaps)


def test_a_remainder_left_out_would_show(monkeypatch):
    monkeypatch.setattr(between, "bound_between", lambda *_: arb(0))
    one = served("0.01", "1.5", 10**4, Fraction(2), Fraction(4))[0]
    values = one.answer.values.values
    wrong = between._through(values, [], Fraction(2), Fraction(4), 10, Fraction(2))
    places = [Fraction(2) + Fraction(2 * i, 101) for i in range(1, 100)]
    assert any(wrong.delta(at).lower > values.delta(at).upper or wrong.delta(at).upper < values.delta(at).lower
               for at in places)


def test_errors_between_are_at_most_those_at_the_ends():
    for q, noise, count, _ in CASES:
        one = served(q, noise, count, Fraction(1, 4), Fraction(3, 4))[0]
        values, ends = one.answer.values.values, (Fraction(1, 4), Fraction(3, 4))
        sides = [values.bound_errors(end) for end in ends]
        for i in range(1, 8):
            inside = values.bound_errors(ends[0] + Fraction(i, 16))
            assert all(size <= sides[0][name].max(sides[1][name]) * (1 + arb(2) ** -50)
                       for name, size in inside.items())


def test_the_interpolant_of_a_polynomial_is_itself():
    with ctx.workprec(200):
        turns = [(arb.pi() * k / 6).cos() for k in range(7)]
        found = chebyshev([turn**5 - 3 * turn**2 + 1 for turn in turns], turns)
        for place in (arb("-0.9"), arb("0.1"), arb("0.77")):
            assert abs(found(place) - (place**5 - 3 * place**2 + 1)) < arb(2) ** -180


def test_high_degrees_are_not_made():
    one = served("0.01", "1.5", 10**4, Fraction(2), Fraction(4))[0]
    values = one.answer.values.values
    assert interpolate(values, Fraction(2), Fraction(4), 40.0, -30.0, 8) is values
