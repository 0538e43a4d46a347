"""Mechanisms whose outcome tells the neighbours apart for sure: delta is 1, and no epsilon is enough."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.families.finite.mechanism import ApproximateDP, Finite
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.profile import privacy_profile

TELLS = Finite(("1/3", "2/3", "0"), ("0", "0", "1"))


@pytest.mark.theorem("T44-infinity-mass", "T46-atoms")
@pytest.mark.parametrize("what", [
    compose(TELLS), compose((TELLS, 2)), compose((TELLS, 2), Gaussian("1")), compose(TELLS, Laplace(1, 1)),
    compose((TELLS, 3), PoissonSampled(Gaussian("1"), "1/10"))])
def test_delta_is_one(what: Composition) -> None:
    """The masses 1/3 and 2/3 add up to 1 exactly, not only in balls."""
    profile = privacy_profile(what, "add-or-remove")
    for epsilon in ("1/10", "0", "7"):
        answer = profile.delta(epsilon, digits=6, max_seconds=5)
        assert answer.lower == answer.upper == 1
    assert profile.delta("-1", digits=6, max_seconds=5).contains(1)


@pytest.mark.theorem("T44-infinity-mass")
@pytest.mark.parametrize(("what", "delta"), [
    (compose(TELLS), "0.9"), (compose((TELLS, 2), Gaussian("1")), "0.9"),
    (compose((ApproximateDP("1", "1/10"), 2)), "0.189"), (compose(ApproximateDP("1", "1/10"), Laplace(1, 1)), "0.05")])
def test_no_epsilon_reaches_below_the_mass_at_infinity(what: Composition, delta: str) -> None:
    answer = privacy_profile(what, "add-or-remove").epsilon(delta, digits=6, max_seconds=5)
    assert answer.upper.is_infinite and answer.lower > 10**12


def test_infinity_mass_of_a_certain_part() -> None:
    third, rest = Fraction(1, 3), Fraction(2, 3)
    certain = FiniteLoss(((third, Fraction(0)), (rest, Fraction(0)), (Fraction(0), Fraction(1))), "add")
    partly = FiniteLoss(((third, Fraction(0)), (rest, Fraction(1))), "add")
    assert ComposedLoss("add", ((certain, 7), (partly, 2)), Fraction(0)).enclose_infinity_mass() == 1
    mass = ComposedLoss("add", ((partly, 2),), Fraction(1)).enclose_infinity_mass()
    assert mass.overlaps(arb(5) / 9) and mass < arb(0.56)
