"""The contour with transforms in closed form: Laplace noise many times, and budgets that mix mechanisms."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.contour import LineWitness, _enclose_direct_on_line
from verified_dp.core.engines.exact import enclose_past_support
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.node_moment import EarlierChernoff
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.sampled_laplace import SampledLaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.answer import Answer
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection

F = Fraction
TWELVE = 41.0  # bits


def by_contour(loss: ComposedLoss, epsilon: str | int, bits: float = TWELVE) -> Answer:
    return OneDirection(loss).enclose(F(epsilon), bits, "contour", Budget(30))


def holds(answer: Answer, value: str, unit: str) -> bool:
    """The enclosure meets value +- unit, and is narrower than 10^-11 of it."""
    lower, upper = answer.bounds.lower, answer.bounds.upper
    inside = bool(lower <= arb(value) + arb(unit)) and bool(upper >= arb(value) - arb(unit))
    return inside and bool(upper - lower < lower * arb("1e-11"))


@pytest.mark.theorem("T41-laplace-tail", "T40-laplace", "T12-powers", "T11-tail-for-free")
@pytest.mark.parametrize(("count", "scale", "epsilon", "value", "unit"), [
    (20_000, 200, "5", "8.04238154097380663e-13", "1e-29"),
    (20_000, 200, "4", "6.13603599502317455e-9", "1e-25"),
])  # fmt: skip
def test_many_laplace_releases(count: int, scale: int, epsilon: str, value: str, unit: str) -> None:
    answer = by_contour(ComposedLoss("symmetric", ((LaplaceLoss(F(1, scale)), count),), F(0)), epsilon)
    assert holds(answer, value, unit) and isinstance(answer.witness, LineWitness)
    assert answer.witness.count < 100


def mixed(order: str) -> ComposedLoss:
    parts: tuple[tuple[Law, int], ...] = (
        (SampledGaussianLoss(F(1, 100), F(1), order), 500), (SampledGaussianLoss(F(1, 50), F(2), order), 500),
        (LaplaceLoss(F(1, 20)), 10))
    return ComposedLoss(order, parts, F(1, 100))


@pytest.mark.theorem("T12-powers", "T40-laplace", "T15-gaussian")
@pytest.mark.parametrize(("order", "value", "unit"), [
    ("remove", "0.00000144221470597412571261260988358", "1e-35"),
    ("add", "0.0000000225770402004914718353267917646", "1e-35"),
])  # fmt: skip
def test_a_budget_that_mixes_them_all(order: str, value: str, unit: str) -> None:
    assert holds(by_contour(mixed(order), 2), value, unit)


def beside_gaussian(law: Law, count: int) -> ComposedLoss:
    return ComposedLoss("symmetric", ((law, count),), F(4))


@pytest.mark.theorem("T44-infinity-mass", "T46-atoms", "T43-bounded-range", "T50-discrete-gaussian")
@pytest.mark.parametrize("law", [OddsLoss(F(1, 2), F(1, 50), 2), BoundedRangeLoss(F(1)), DiscreteGaussianLoss(F(4), 1)],
                         ids=repr)
def test_beside_a_gaussian_it_is_the_mean_of_shifted_gaussians(law: Law) -> None:
    """One step more: D = int D_Gauss(eps - l) P(L in dl), the measure read off the law's own curve on a fine grid."""
    step, total = F(1, 100), 0.0
    sticks = [float(law.enclose_hockey_stick(arb(n) / 100)) for n in range(-801, 802)]
    alphas = [float((arb(n) / 100).exp()) for n in range(-801, 802)]
    slopes = [(b - a) / (y - x) for a, b, x, y in zip(sticks, sticks[1:], alphas, alphas[1:], strict=False)]
    gaussian = ComposedLoss("symmetric", (), F(4))
    for n in range(1, len(slopes)):
        mass = alphas[n] * (slopes[n] - slopes[n - 1])
        if mass > 1e-9:
            shifted = ClosedFormWitness(80).evaluate(gaussian).delta(F(1) - (n - 801) * step)
            total += mass * float(shifted.lower)
    total += float(law.enclose_infinity_mass())
    answer = by_contour(beside_gaussian(law, 1), 1)
    assert answer.bounds.upper - answer.bounds.lower < 1e-12
    assert float(answer.bounds.lower) == pytest.approx(total, rel=1e-3)


@pytest.mark.theorem("T44-infinity-mass", "T07-ends")
def test_past_the_largest_loss_delta_is_the_infinity_mass() -> None:
    loss = ComposedLoss("symmetric", ((OddsLoss(F(1), F(1, 10), 0), 2), (LaplaceLoss(F(1)), 1)), F(0))
    past, before = (enclose_past_support(loss, F(epsilon), 100) for epsilon in ("3.01", "2.99"))
    with ctx.workprec(100):
        exact = arb(19) / 100
        assert not past.lower > exact and not past.upper < exact and past.upper - past.lower < 1e-20
        assert before.upper == 1 and not before.lower > exact


@pytest.mark.theorem("T03-chernoff", "T04-alias-bounds", "T44-infinity-mass")
def test_bounds_from_moments_in_closed_form() -> None:
    """Chernoff's bound, and a line whose step is too coarse: its aliases are bounded by the same moments."""
    loss = ComposedLoss("symmetric", ((LaplaceLoss(F(1, 2)), 20), (OddsLoss(F(1, 2), F(1, 50), 0), 3)), F(0))
    truth = ClosedFormWitness(200).evaluate(loss).delta(F(3)).lower
    bound = evaluate(loss, EarlierChernoff(F(1, 2), (), 100).now()).delta(F(3))
    assert bound.lower < truth < bound.upper < 3 * truth
    for step, narrow in ((F(1), False), (F(1, 8), True)):
        line = LineWitness(F(1, 2), step, 4000, (), (), F(1), F(1, 4), 100)
        bounds = evaluate(loss, line).delta(F(3))
        assert bounds.lower < truth < bounds.upper
        assert (bounds.budget["aliasing"] < 1e-4) is narrow


def test_the_contour_needs_a_transform_of_every_law() -> None:
    loss = ComposedLoss("remove", ((SampledLoss(LaplaceLoss(F(1)), F(1, 2), "remove"), 2),), F(1))
    assert not lines(loss).has_transform
    with pytest.raises(InvalidInput):
        evaluate(loss, LineWitness(F(1), F(1), 10, (), (), F(2), F(0), 64))


@pytest.mark.theorem("T61-sampled-laplace")
@pytest.mark.parametrize(("step", "count"), [(8, 16), (F(1, 3), 60)])
def test_one_rule_serves_the_whole_line(step: object, count: int) -> None:
    """Its error holds at every m step up to count step, wide steps too: against the transform one by one."""
    law, tilt = SampledLaplaceLoss(LaplaceLoss(F(2)), F(1, 2), "remove"), arb(1)
    with ctx.workprec(40):
        values, error = _enclose_direct_on_line(law, tilt, ball(F(step)), count)
    with ctx.workprec(120):
        for m, value in enumerate(values):
            exact = law.enclose_transform(acb(tilt, m * ball(F(step))))
            assert (value - exact).abs_lower() <= error
    assert len(values) == count + 1
