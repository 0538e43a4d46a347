"""Tails, density and atoms of the loss: against the curve, its derivative, sums and quadrature over outputs (T60)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest
from flint import arb, ctx

from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.batches.truncated_batch import TruncatedBatchLoss
from verified_dp.core.families.clones.clones import CloneLoss, CloneOddsLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.law import Law

pytestmark = pytest.mark.theorem("T60-tails")
F = Fraction
PAIR = ((F(1, 2), F(1, 5)), (F(2, 5), F(1, 5)), (F(0), F(3, 5)), (F(1, 10), F(0)))
MIXTURE = MixtureLoss(F(1), ((F(0), F(1, 5)), (F(1), F(3, 5)), (F(2), F(1, 5))), ((F(0), F(1)),), "remove")
DRAWN = MixtureLoss(F(3), ((F(0), F(1, 2)), (F(2), F(1, 2))), ((F(-2), F(1, 2)), (F(0), F(1, 2))), "symmetric")
TWO_ORDERS: list[Law] = [
    FiniteLoss(PAIR, "remove"), MIXTURE, SampledGaussianLoss(F(1, 10), F(1), "remove"),
    SampledGaussianLoss(F(2, 5), F(3, 2), "remove"),
    SampledLoss(LaplaceLoss(F(1)), F(1, 2), "remove"), SampledLoss(FiniteLoss(PAIR, "remove"), F(1, 3), "remove"),
    SampledLoss(BoundedRangeLoss(F(1)), F(1, 3), "remove"),
    SampledLoss(DiscreteGaussianLoss(F(4), 2), F(1, 5), "remove"),
    SampledAtomicLoss(DiscreteLaplaceLoss(F(2), 4), F(3, 10), "remove"),
    TruncatedBatchLoss(5, F(1, 3), 2, SampledLoss(LaplaceLoss(F(1)), F(1, 3), "remove"),
                       SampledLoss(LaplaceLoss(F(2)), F(1, 2), "remove"), "remove"),
]  # fmt: skip
LAWS: list[Law] = [
    LaplaceLoss(F(1)), LaplaceLoss(F(1, 20)), BoundedRangeLoss(F(2)), GaussianLoss(F(1, 4)), GaussianLoss(F(0)),
    OddsLoss(F(1), F(0), 3), OddsLoss(F(1, 2), F(1, 10), 0), DiscreteLaplaceLoss(F(2), 4),
    DiscreteLaplaceLoss(F(1, 3), 1), DiscreteGaussianLoss(F(25, 4), 3), DiscreteGaussianLoss(F(1, 3), 1), DRAWN,
    FixedBatchLoss(F(1, 10), F(3, 2)), SampledGaussianLoss(F(1, 10), F(1), "symmetric"),
    SampledGaussianLoss(F(2, 5), F(1, 2), "symmetric"), SampledGaussianLoss(F(1, 10), F(5, 3), "symmetric"),
    CloneLoss(2, F(1)), CloneLoss(30, F(3, 2)), CloneOddsLoss(7, F(3)),
    *TWO_ORDERS, *(law.in_order("add") for law in TWO_ORDERS),
]  # fmt: skip
laws = pytest.mark.parametrize("law", LAWS, ids=repr)
POINTS = [F(-7), F(-2), F(-1), F(-1, 3), F(-1, 10), F(0), F(123, 1000), F(1, 2), F(1), F(3, 2), F(2), F(7)]


@laws
def test_tails_make_the_curve(law: Law) -> None:
    """H = P(L > x) - e^x Q(L > x), and both tails are narrow, at atoms on dyadic places too."""
    with ctx.workprec(200):
        for x in map(ball, POINTS):
            above, below = law.enclose_tails(x)
            assert law.enclose_hockey_stick(x).overlaps(above - x.exp() * below), x
            assert above.rad() < 1e-30 and below.rad() < 1e-30, x


@laws
def test_q_tail_is_the_right_derivative_of_the_curve(law: Law) -> None:
    """An independent route: the secant over a very short piece to the right."""
    with ctx.workprec(300):
        for x in map(ball, POINTS):
            step = arb(2) ** -90
            rise = law.enclose_hockey_stick(x + step) - law.enclose_hockey_stick(x)
            run = (x + step).exp() - x.exp()
            assert abs(float(rise / run + law.enclose_tails(x)[1])) < 1e-20, x


@laws
def test_density_is_the_derivative_of_the_tail(law: Law) -> None:
    with ctx.workprec(300):
        for x in [F(-11, 7), F(-2, 9), F(123, 1000), F(3, 7), F(5, 3)]:
            step, here = arb(2) ** -90, ball(x)
            fall = (law.enclose_tails(here)[0] - law.enclose_tails(here + step)[0]) / step
            other = (law.enclose_tails(here)[1] - law.enclose_tails(here + step)[1]) / step
            density = law.enclose_density(here)
            assert density.rad() < 1e-30 * (1 + density) and abs(float(fall - density)) < 1e-18, x
            assert abs(float(other - (-here).exp() * density)) < 1e-18, x


@laws
def test_atoms_are_the_jumps(law: Law) -> None:
    """All atoms with the infinity mass and the integral of the density make 1."""
    with ctx.workprec(200):
        atoms = law.enclose_loss_atoms()
        if atoms is None:
            return
        for place, _ in atoms:
            near = arb(2) ** -100
            jump = law.enclose_tails(place - near)[0] - law.enclose_tails(place + near)[0]
            mass = sum((mass for other, mass in atoms if other.overlaps(place)), arb(0))
            assert abs(float(jump - mass)) < 1e-25, place
        jumps = sum((mass for _, mass in atoms), law.enclose_infinity_mass())
    with ctx.workprec(80):
        low, high = law.enclose_smallest_loss(), law.enclose_largest_loss()
        low, high = arb(-12) if low is None else low, arb(12) if high is None else high
        step = (high - low) / 2500
        body = sum(float(law.enclose_density(low + (n + arb(1) / 2) * step)) for n in range(2500)) * float(step)
        assert body + float(jumps) == pytest.approx(1, abs=1e-3)


@laws
def test_wide_balls_hold_every_tail(law: Law) -> None:
    with ctx.workprec(100):
        ends = [end for end in (law.enclose_largest_loss(), law.enclose_smallest_loss()) if end is not None]
        for centre in [arb(0), arb(1), arb(-1), *ends]:
            for radius in (1e-25, 1e-6, 0.01):
                whole = arb(centre.mid(), radius)
                wide, thick = law.enclose_tails(whole), law.enclose_density(whole)
                for share in (-1, -0.5, 0, 0.3, 1):
                    point = centre.mid() + share * arb(radius)
                    assert all(a.overlaps(b) for a, b in zip(wide, law.enclose_tails(point), strict=True))
                    assert thick.overlaps(law.enclose_density(point)), (centre, radius)
                assert all(tail.rad() < 1 for tail in wide)


@laws
def test_a_ball_of_nearly_all_eps_holds_the_tails_of_each(law: Law) -> None:
    with ctx.workprec(80):
        for radius in (9, 10**4, 10**9):
            wide, curve = law.enclose_tails(arb(0, radius)), law.enclose_hockey_stick(arb(0, radius))
            for point in (-8, -1, 0, 1, 8):
                each = law.enclose_tails(arb(point))
                assert all(a.overlaps(b) for a, b in zip(wide, each, strict=True)), (radius, point)
                assert curve.overlaps(law.enclose_hockey_stick(arb(point))), (radius, point)


def quadrature(density: Callable[[mpmath.mpf], mpmath.mpf], low: float, high: float, kinks: list[float]) -> float:
    return float(mpmath.quad(density, sorted({low, *(k for k in kinks if low < k < high), high})))


@pytest.mark.parametrize("x", ["-0.6", "-0.3", "0.1", "0.35"])
@pytest.mark.parametrize("order", ["remove", "add"])
def test_sampled_laplace_over_its_outputs(x: str, order: str) -> None:
    """Laplace(0, 1) and Laplace(1, 1), q = 2/5: where the loss exceeds x, by a root; both measures by quadrature."""
    q, place = mpmath.mpf(2) / 5, mpmath.mpf(x)

    def noise(t: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp(-abs(t)) / 2

    def mixed(t: mpmath.mpf) -> mpmath.mpf:
        return (1 - q) * noise(t) + q * noise(t - 1)

    first, second = (mixed, noise) if order == "remove" else (noise, mixed)
    sign = 1 if order == "remove" else -1

    def loss(t: mpmath.mpf) -> mpmath.mpf:
        return mpmath.log(first(t) / second(t))

    above, below = SampledLoss(LaplaceLoss(F(1)), F(2, 5), order).enclose_tails(ball(F(x)))
    if loss(0) < place < loss(1) or loss(1) < place < loss(0):
        cut = float(mpmath.findroot(lambda t: loss(t) - place, (0.01, 0.99), solver="anderson"))
        low, high = (cut, 60.0) if sign == 1 else (-60.0, cut)
    else:
        everything = loss(-1) > place and loss(2) > place
        low, high = (-60.0, 60.0) if everything else (0.0, 0.0)
    expected = [quadrature(f, low, high, [0, 1]) if high > low else 0.0 for f in (first, second)]
    assert [float(above), float(below)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("s2", "shift"), [(F(25, 4), 3), (F(1, 3), 1)])
def test_discrete_gaussian_by_its_masses(s2: Fraction, shift: int) -> None:
    """Sums over the integers with a loss > x, decided in fractions, at x = 0 and at atoms as well."""
    law = DiscreteGaussianLoss(s2, shift)
    with mpmath.workdps(40):
        rate = mpmath.mpf(s2.denominator) / (2 * s2.numerator)
        weights = {j: mpmath.exp(-j * j * rate) for j in range(-120, 121)}
        total = mpmath.fsum(weights.values())
        for x in [F(0), F(3, 2), F(-3, 2), F(1, 4), F(shift * (shift - 2)) / (2 * s2)]:
            chosen = [j for j in weights if shift * (shift - 2 * j) > 2 * s2 * x]
            expected = [mpmath.fsum(weights.get(j - m, 0) for j in chosen) / total for m in (0, shift)]
            found = law.enclose_tails(ball(x))
            assert all(tail.overlaps(arb(float(e), 1e-14)) for tail, e in zip(found, expected, strict=True)), x
            assert ball(x).rad() > 0 or all(tail.rad() < 1e-12 for tail in found)


@pytest.mark.parametrize("law", [FiniteLoss(PAIR, "remove"), FiniteLoss(PAIR, "add")], ids=repr)
def test_finite_by_exact_sums(law: FiniteLoss) -> None:
    """At log 2 (no dyadic number) the two sides of the jump are joined; elsewhere fractions decide."""
    for ratio in (F(1, 100), F(19, 10), F(21, 10), F(5, 2), F(3)):
        with ctx.workprec(100):
            above, below = law.enclose_tails(ball(ratio).log() + arb(2) ** -60)
        chosen = [(p, q) for p, q in law.masses if p > ratio * q]
        assert above.overlaps(ball(sum((p for p, _ in chosen), F(0)))) and above.rad() < 1e-20
        assert below.overlaps(ball(sum((q for _, q in chosen), F(0)))) and below.rad() < 1e-20


@pytest.mark.parametrize("law", [
    OddsLoss(F(1), F(1, 10), 3), DiscreteLaplaceLoss(F(2), 4), DiscreteLaplaceLoss(F(1, 2), 2),
    SampledAtomicLoss(DiscreteLaplaceLoss(F(2), 4), F(3, 10), "remove"),
    SampledAtomicLoss(OddsLoss(F(1), F(0), 3), F(3, 10), "add"),
    FiniteLoss(((F(1, 3), F(1, 3)), (F(2, 3), F(0)), (F(0), F(2, 3))), "remove"),
], ids=repr)  # fmt: skip
def test_tails_at_dyadic_atoms_are_decided(law: Law) -> None:
    """Strictly greater: an atom at 0 does not count at 0."""
    with ctx.workprec(100):
        above, below = law.enclose_tails(arb(0))
        atoms = law.enclose_loss_atoms()
        assert atoms is not None
        assert any(place.is_zero() for place, _ in atoms)
        assert above.rad() < 1e-25 and below.rad() < 1e-25
        counted = sum((mass for place, mass in atoms if place > 0), law.enclose_infinity_mass())
        assert above.overlaps(counted)


def test_fixed_batch_keeps_its_kink_as_an_atom() -> None:
    """1 - P1(0) - Q1(0) from the two closed normal tails at t = 1."""
    law, s = FixedBatchLoss(F(1, 10), F(3, 2)), mpmath.mpf(3) / 2
    beyond, back = mpmath.ncdf(-1 / s), mpmath.ncdf(1 / s)
    atoms = law.enclose_loss_atoms()
    assert float(atoms[0][1]) == pytest.approx(float(1 - (0.9 * beyond + 0.1 * back) - beyond), abs=1e-12)


@pytest.mark.parametrize("order", ["remove", "add"])
def test_density_near_the_end_of_a_sample_is_bounded(order: str) -> None:
    """A ball over log(1-q) bounds the density from above instead of giving up."""
    law = SampledGaussianLoss(F(1, 10), F(1), order)
    with ctx.workprec(80):
        end = law.enclose_smallest_loss() if order == "remove" else law.enclose_largest_loss()
        for radius in (1e-10, 1e-4, 1e-2):
            wide = law.enclose_density(end + arb(0, radius))
            inner = law.enclose_density(end + (1 if order == "remove" else -1) * arb(radius))
            assert wide.overlaps(inner) and wide.upper() < 1e6 and not wide.lower() > 0


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize("s", [F(1, 2), F(2, 3), F(3, 2)])
@pytest.mark.parametrize("radius", ["1e-12", "1e-5", "1/200"])
def test_density_near_the_end_of_a_sample_holds_every_value(order: str, s: Fraction, radius: str) -> None:
    """A ball over the end of the support: the density at its inner end is nearly the bound."""
    q, sign = F(1, 10), 1 if order == "remove" else -1
    law = SampledGaussianLoss(q, s, order)
    with ctx.workprec(100), mpmath.workdps(30):
        reach = ball(F(radius))
        wide = law.enclose_density(sign * ((1 - ball(q)).log() + arb(0, reach)))
        for share in (1.0, 0.9, 0.5, 0.1):
            place = sign * (mpmath.log1p(-mpmath.mpf(1) / 10) + share * mpmath.mpf(F(radius).numerator)
                            / F(radius).denominator)
            odds = mpmath.expm1(sign * place) * 10 + 1  # e^X
            width = mpmath.mpf(s.numerator) / s.denominator
            t = width**2 * mpmath.log(odds) + mpmath.mpf(1) / 2
            mixed = mpmath.mpf(9) / 10 + odds / 10
            exact = mpmath.npdf(t, 0, width) * (mixed if order == "remove" else 1) * width**2 * mixed / (odds / 10)
            assert arb(mpmath.nstr(exact, 25)) <= wide.upper() * (1 + arb("1e-9")), share
