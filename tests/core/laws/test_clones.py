"""The curve of clones against all counts of few users in 60 digits, and both checkers against each other (T138)."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import pytest
from flint import arb, ctx

from verified_dp.core.families.clones.clones import CloneLoss, _Share
from verified_dp.core.kernel.balls import ball
from verified_dp.verifiers.independent import balls
from verified_dp.verifiers.independent.clones import CloneLoss as OtherLoss

F = Fraction
pytestmark = pytest.mark.theorem("T138-clones")
SHARES = (F(-2), F(-9, 10), F(-1, 3), F(0), F(1, 1000), F(1, 3), F(9, 10), F(999, 1000), F(2))
CASES = list(itertools.product((2, 3, 5, 17, 40), (F(1, 100), F(1, 2), F(3), F(50))))


def counted(users: int, epsilon0: Fraction, x: Fraction) -> tuple[mpmath.mpf, ...]:
    """(H, P(L > x), Q(L > x)) over the numbers of answers and of ones among them."""
    p, z = mpmath.exp(mpmath.mpf(epsilon0.numerator) / epsilon0.denominator), mpmath.mpf(x.numerator) / x.denominator
    z, s = mpmath.exp(z), 2 / (p + 1)
    curve = above = below = mpmath.mpf(0)
    for k in range(users):
        weight = mpmath.binomial(users - 1, k) * s**k * (1 - s) ** (users - 1 - k) / mpmath.mpf(2) ** k / (p + 1)
        for ones in range(k + 2):
            more, same = mpmath.binomial(k, ones - 1) if ones else 0, mpmath.binomial(k, ones) if ones <= k else 0
            first, second = weight * (more * p + same), weight * (more + same * p)
            if first > z * second:
                curve, above, below = curve + first - z * second, above + first, below + second
    return curve, above, below


@pytest.mark.parametrize(("users", "epsilon0"), CASES)
def test_curve_and_tails_are_those_of_all_counts(users: int, epsilon0: Fraction) -> None:
    law = CloneLoss(users, epsilon0)
    for share in SHARES:
        with mpmath.workdps(80), ctx.workprec(160):
            x = share * epsilon0
            found = law.enclose_hockey_stick(ball(x)), *law.enclose_tails(ball(x))
            for value, exact in zip(found, counted(users, epsilon0, x), strict=True):
                assert value.overlaps(arb(mpmath.nstr(exact, 60), "1e-55")), (share, value)
                assert value.rad() < 1e-40, (share, value)


def test_next_to_a_gigantic_end_nothing_is_undecided() -> None:
    """1 - t is about e^-99999 there."""
    for x in (F(50000), F(99999), F(99999999999, 10**6)):
        with ctx.workprec(128):
            value = CloneLoss(100, F(10**5)).enclose_hockey_stick(ball(x))
            assert value.overlaps(-(ball(x) - 10**5).expm1()) and value.rad() < value * arb(2) ** -60
        with balls.precision(128):
            other = OtherLoss(100, F(10**5)).stick(balls.ball(x))
            assert other.r < other.m >> 60


def test_at_its_ends_the_loss_has_atoms() -> None:
    """At x = eps0 exactly nothing is larger; at -eps0 all but the atom is."""
    law = CloneLoss(3, F(1))
    with ctx.workprec(120):
        end, atom = arb(1), law.enclose_tails(arb("0.9999"))
        assert law.enclose_tails(end) == (0, 0) and law.enclose_hockey_stick(end) == 0
        assert all(v.overlaps(1 - a) for v, a in zip(law.enclose_tails(-end), atom[::-1], strict=True))


@pytest.mark.parametrize(("users", "epsilon0"), [
    (2, F(1)), (1000, F(2)), (10**4, F(1)), (10**5, F(20)),
    *(pytest.param(10**6, epsilon0, marks=pytest.mark.long) for epsilon0 in (F(3), F(20)))])
def test_both_checkers_have_the_same_curve(users: int, epsilon0: Fraction) -> None:
    for share in (F(-1, 2), F(0), F(1, 50), F(1, 3)):
        x = share * epsilon0
        with ctx.workprec(96):
            law = CloneLoss(users, epsilon0)
            found = law.enclose_hockey_stick(ball(x)), *law.enclose_tails(ball(x))
        with balls.precision(96):
            other = OtherLoss(users, epsilon0)
            second = other.stick(balls.ball(x)), *other.tails(balls.ball(x))
        with ctx.workprec(4000):
            for a, b in zip(found, second, strict=True):
                assert a.overlaps(arb(arb((b.m, b.e)), arb((b.r, b.e)))), (share, a)
                assert a.rad() < 1e-9 * abs(a) and b.r < abs(b.m) >> 30


def test_delta_may_be_as_small_as_it_is() -> None:
    """A million users: 1e-1373, 12 digits at 128 bits; at 2^30 bits of exponent nothing is lost."""
    with ctx.workprec(128):
        tiny = CloneLoss(10**6, F(1)).enclose_hockey_stick(ball(F(1, 10)))
        assert tiny > 0 and tiny.rad() < tiny * arb(2) ** -40
        assert abs(tiny.log() / arb(10).log() + 1373) < 1


def test_more_precision_never_leaves_the_enclosure() -> None:
    """The remainders and all roundings: 40 bits hold what 400 bits say, for every number of users."""
    for users, epsilon0, x in itertools.product((2, 10, 300, 5000), (F(1, 5), F(2)), (F(0), F(1, 7), F(19, 100))):
        values = []
        for prec in (40, 400):
            with ctx.workprec(prec):
                law = CloneLoss(users, epsilon0)
                values.append((law.enclose_hockey_stick(ball(x)), *law.enclose_tails(ball(x))))
        with ctx.workprec(400):
            assert all(rough.overlaps(fine) and fine.rad() < 1e-90 for rough, fine in zip(*values, strict=True))


@pytest.mark.parametrize(("users", "epsilon0"), [(400, F(1, 2)), (400, F(3)), (5000, F(2))])
@pytest.mark.parametrize("bits", [3, 6, 12])
def test_what_a_window_leaves_out_on_either_side_is_bounded(users: int, epsilon0: F, bits: int) -> None:
    """T138 (4): the terms (t/(1-t))^(1-t) Bin(k) r^k before the first number and after the last, at few bits."""
    n, t = users - 1, mpmath.mpf(3) / 4
    with ctx.workprec(200):
        half = ball(epsilon0) / 2
        share = _Share(n, 2 / (1 + (2 * half).exp()), half.tanh(), 3 << bits - 2, 3 << bits - 2, bits)
        first, last, rest = share.window()
    with mpmath.workdps(60):
        s = 2 / (1 + mpmath.exp(mpmath.mpf(epsilon0.numerator) / epsilon0.denominator))
        rate = mpmath.exp(-(t * mpmath.log(t) + (1 - t) * mpmath.log(1 - t))) / 2
        terms = [mpmath.binomial(n, k) * (s * rate) ** k * (1 - s) ** (n - k) for k in range(users)]
        factor = (t / (1 - t)) ** (1 - t)
        sides = factor * mpmath.fsum(terms[:first]), factor * mpmath.fsum(terms[last + 1:])
        bound = mpmath.mpf(rest.str(40, radius=False))
        assert first > 0 and last < n and sides[0] > 0 < sides[1]
        assert sum(sides) <= bound * (1 + mpmath.mpf(10) ** -30) < 1000 * sum(sides)
        assert all(bound > side * (1 + mpmath.mpf(10) ** -20) for side in sides), "each side is in the bound"
