"""Cells of frequencies of laws with a transform between two ends (T220)."""

from fractions import Fraction as F

import pytest
from flint import acb, arb, ctx

from verified_dp import Composition, Exponential, Laplace, PoissonSampled, PrivacyProfile
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.listed import Direct
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.sampled_laplace import SampledLaplaceLoss
from verified_dp.core.kernel.composed import ComposedLoss

LAWS = [LaplaceLoss(F(1, 20)), BoundedRangeLoss(F(1, 2)), LaplaceLoss(F(2)),
        SampledLaplaceLoss(LaplaceLoss(F(1, 2)), F(1, 10), "remove"),
        SampledLaplaceLoss(LaplaceLoss(F(1)), F(1, 2), "add"),
        SampledLaplaceLoss(BoundedRangeLoss(F(1)), F(1, 5), "remove")]


@pytest.mark.theorem("T220-cells-of-transforms")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("phase", [1, 50, 400])
def test_cells_hold_the_transform(law, phase):
    """At five places of each cell; where the middle is far from an atom's turn the bound is less than M(c)."""
    tilt = arb(3) / 2
    direct = Direct(law, tilt)
    spread = (law.enclose_largest_loss() - law.enclose_smallest_loss()) / 2
    first, reach = phase / (2 * spread), arb("0.3") / spread
    with ctx.workprec(64):
        bounds = direct.bound_cells(first + reach, 2 * reach, reach, 6)
        for n, bound in enumerate(bounds):
            for share in (-4, -2, 0, 2, 4):
                at = first + reach + 2 * n * reach + reach * share / 4
                assert law.enclose_transform(acb(tilt, at)).abs_lower() <= bound
        assert any(bound < law.enclose_moment(tilt) * arb("0.999") for bound in bounds)


@pytest.mark.theorem("T220-cells-of-transforms")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [1, 7, 100])
def test_means_hold_the_sums(law, count):
    """Of all frequencies of a cell of several windows; where |M| comes back, half of the bound would not hold them."""
    tilt = arb(1)
    direct, spread = Direct(law, tilt), (law.enclose_largest_loss() - law.enclose_smallest_loss()) / 2
    first, step, many = 70 / (2 * spread), arb("0.37") / spread, 60
    assert direct.is_wide(first, step * many / 2)
    with ctx.workprec(64):
        mean = direct.bound_mean(first, step, many, count)
        sizes = [law.enclose_transform(acb(tilt, first + n * step)).abs_upper() for n in range(many)]
        total = sum((size**count for size in sizes), arb(0))
        assert total / many <= mean
        if count == 1 and not isinstance(law, BoundedRangeLoss):
            assert mean < 3 * total / many


@pytest.mark.theorem("T220-cells-of-transforms", "T188-band")
@pytest.mark.parametrize(("mechanism", "count", "epsilon"), [
    (Laplace(20, 1), 1000, "4"), (PoissonSampled(Laplace(2, 1), "0.1"), 100, "1"),
    (PoissonSampled(Laplace(1, 1), "0.5"), 60, "4"), (Exponential("0.1"), 300, "1")])
def test_answers_meet_other_routes(mechanism, count, epsilon):
    """Lines with cells and lattices, which share nothing."""
    profile = PrivacyProfile(Composition(((mechanism, count),)), "add-or-remove")
    found = profile.delta(epsilon, digits=6, method="contour")
    other = PrivacyProfile(Composition(((mechanism, count),)), "add-or-remove").delta(
        epsilon, digits=3, method="lattice", max_seconds=20)
    assert found.lower <= other.upper and other.lower <= found.upper
    assert found.upper - found.lower <= found.upper * F(1, 10**5)


def test_random_covers_widen_only():
    """Whatever cells are stated, delta stays inside."""
    law = SampledLaplaceLoss(LaplaceLoss(F(1, 2)), F(1, 10), "remove")
    loss = ComposedLoss("remove", ((law, 60),), F(0))
    truth = None
    for cover in ((), ((3, 2),), ((40, 2), (40, 20), (5, 400)), ((1, 5000),), ((30, 3), (2, 90000))):
        witness = LineWitness(F(6), F(3, 4), 40, (), (), F(12), F(3), 80, (), cover)
        assert witness.applies(loss)
        bounds = witness.evaluate(loss).delta(F(1))
        truth = bounds if truth is None else truth
        assert bounds.lower <= truth.upper and truth.lower <= bounds.upper
        if cover and cover[0][0] == 40:
            assert bounds.upper - bounds.lower < truth.upper - truth.lower
