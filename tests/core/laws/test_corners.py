"""Every law at the corners of its parameters: curves, tails and moments agree with each other and stay narrow."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.direct import DirectLaw
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.sampled_laplace import SampledLaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection

F = Fraction
TINY, HUGE = F(1, 10**12), F(10**6)
SHARES = (TINY, F(1, 2), 1 - TINY)
RATIOS = (1 / HUGE, F(1), HUGE)
ONLY_P = FiniteLoss(((F(1, 2), F(0)), (F(1, 2), F(1))), "remove")
ONLY_Q = FiniteLoss(((F(1), F(1, 2)), (F(0), F(1, 2))), "remove")


def _laws() -> list[Law]:
    found: list[Law] = []
    for mu in RATIOS:
        found += [LaplaceLoss(mu), BoundedRangeLoss(mu), GaussianLoss(mu * mu), DiscreteLaplaceLoss(1 / mu, 1)]
        for q in SHARES:
            found += [SampledLoss(LaplaceLoss(mu), q, "remove"), SampledLoss(BoundedRangeLoss(mu), q, "remove"),
                      SampledAtomicLoss(DiscreteLaplaceLoss(1 / mu, 1), q, "remove"), FixedBatchLoss(q, 1 / mu),
                      *(SampledGaussianLoss(q, 1 / mu, order) for order in ("remove", "symmetric"))]
            found += [SampledLaplaceLoss(LaplaceLoss(mu), q, "remove")] if mu <= 32 else []
    for s2 in (1 / HUGE, F(1, 100), F(10**4), F(10**8), F(10**12)):
        found += [DiscreteGaussianLoss(s2, shift) for shift in (1, 1000)]
    found += [OddsLoss(F(1), F(0), 10**6), OddsLoss(F(1, 10**9), TINY, 0), OddsLoss(F(0), F(1, 2), 0),
              OddsLoss(F(100), F(0), 10**15), OddsLoss(HUGE, F(0), 3), ONLY_P, ONLY_Q,
              FiniteLoss(((F(1), F(0)), (F(0), F(1))), "remove"),
              FiniteLoss(((F(1, 2), F(1, 2)), (F(0), F(0)), (F(1, 2), F(1, 2))), "remove")]
    for q in SHARES:
        found += [SampledLoss(base, q, "remove") for base in (ONLY_P, ONLY_Q, OddsLoss(F(1), F(1, 10), 2))]
        found.append(SampledAtomicLoss(OddsLoss(F(1), F(1, 10), 2), q, "remove"))
    found += [MixtureLoss(F(1, 1000), ((F(0), 1 - TINY), (F(1), TINY)), ((F(0), F(1)),), "remove"),
              MixtureLoss(F(1000), ((F(0), F(1, 2)), (F(1), F(1, 2))), ((F(0), F(1)),), "remove")]
    return found


LAWS = [*_laws(), *(law.in_order("add") for law in _laws() if law.order == "remove")]
SWAPPED = {"remove": "add", "add": "remove", "symmetric": "symmetric"}
POINTS = [F(0), TINY, F(1, 10**6), F(1, 2), F(-1, 2), F(3), F(50), F(-50), F(1000)]
LONG = DiscreteGaussianLoss(F(10**12), 1000)
laws = pytest.mark.parametrize(
    "law", [pytest.param(law, marks=[pytest.mark.long] if law == LONG else []) for law in LAWS], ids=repr)


def at_atom(law: Law, point: Fraction) -> bool:
    """Whether an atom may be at the point: for the discrete Gaussian D (D - 2x) / (2 s^2), decided in fractions."""
    if isinstance(law, DiscreteGaussianLoss):
        outcome = (law.sensitivity - 2 * law.sigma_squared * point / law.sensitivity) / 2
        return outcome.denominator == 1
    return any(place.overlaps(ball(point)) for place, _ in law.enclose_loss_atoms() or [])


@pytest.mark.theorem("T60-tails", "T49-sampled", "T46-atoms", "T50-discrete-gaussian", "T63-discrete-gaussian-sums")
@laws
def test_curve_tails_and_reversal_agree(law: Law) -> None:
    """H is the tails' difference and its own reversal, all narrow, unless an atom sits at the very point."""
    swapped = law.in_order(SWAPPED[law.order])
    with ctx.workprec(128):
        for point in POINTS:
            x = ball(point)
            stick, (above, below), alpha = law.enclose_hockey_stick(x), law.enclose_tails(x), x.exp()
            assert stick.overlaps(above - alpha * below), x
            assert stick.overlaps(1 - alpha + alpha * swapped.enclose_hockey_stick(-x)), x
            assert stick.rad() < 1e-25 and not stick < 0 and not stick > 1, x
            assert at_atom(law, point) or above.rad() + below.rad() < 1e-25, x
            assert law.enclose_density(x).is_finite(), x


@pytest.mark.theorem("T63-discrete-gaussian-sums", "T41-laplace-tail", "T43-bounded-range", "T61-sampled-laplace")
@laws
def test_moments_and_transforms_are_accurate(law: Law) -> None:
    """At small, middling and large exponents, on the real axis and off it."""
    with ctx.workprec(128):
        for exponent in (arb("1e-6"), arb(1), arb(30)):
            moment = law.enclose_moment(exponent)
            assert moment.is_finite() and not moment < 0
            if isinstance(law, DirectLaw):
                value = law.enclose_transform(acb(exponent, 3))
                size = law.enclose_transform(acb(exponent)).real.upper()
                assert moment.rad() <= size * arb(2) ** -70
                assert value.real.rad() + value.imag.rad() <= size * arb(2) ** -70 and value.abs_lower() <= size
                bound = law.bound_transform_beyond(exponent, arb(3))
                assert not value.abs_lower() > bound
                assert bound <= size * (1 + arb(2) ** -50)


@laws
def test_ends_and_masses_are_numbers(law: Law) -> None:
    """A law without any finite loss has the ends -inf and inf; else they are finite or None."""
    atoms = law.enclose_loss_atoms()
    assert all(place.is_finite() and mass.is_finite() for place, mass in atoms or [])
    assert law.enclose_infinity_mass().is_finite()
    if atoms != [] or law.enclose_density(arb("1e-9")) > 0:
        ends = (law.enclose_smallest_loss(), law.enclose_largest_loss())
        assert all(end is None or end.is_finite() for end in ends)


@pytest.mark.theorem("T50-discrete-gaussian", "T63-discrete-gaussian-sums")
@pytest.mark.parametrize("prec", [2, 3, 8, 20])
def test_few_bits_end_soon(prec: int) -> None:
    """A witness from outside may ask for few bits: the sums stop, with wide results."""
    for s2 in (F(1, 10**9), F(1), F(16000), F(10**6), F(10**12)):
        for x in (0, -10, 10**6):
            with ctx.workprec(prec):
                found = DiscreteGaussianLoss(s2, 1).enclose_hockey_stick(arb(x))
            with ctx.workprec(300):
                assert found.overlaps(DiscreteGaussianLoss(s2, 1).enclose_hockey_stick(arb(x)))


def test_steps_that_reveal_everything_say_so() -> None:
    """A standard deviation of 1/1000 on integers: delta is 1 but for what no grid shows, instead of a crash."""
    loss = ComposedLoss("symmetric", ((DiscreteGaussianLoss(1 / HUGE, 1), 2),), F(0))
    bounds = OneDirection(loss).enclose(F(1), 32, "auto", Budget(20)).bounds
    assert bounds.lower > 1 - arb(2) ** -30 and bounds.upper == 1
