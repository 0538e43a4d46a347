"""The contour along two rays: against the bent path, the line and quadrature; hostile witnesses prove nothing."""

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from verified_dp.core.engines.rays import Level, Ray, RaysWitness
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.models import float_loss
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.path import choose_path, plan_path
from verified_dp.search.rays import choose_rays, plan_rays

Composed = Callable[..., ComposedLoss]


def chosen(loss: ComposedLoss, epsilon: Fraction, bits: float = 40.0) -> RaysWitness:
    order = OneDirection(loss)
    saddle = order.jumping(epsilon, order.saddle(epsilon))
    plan = plan_rays(float_loss(loss), float(epsilon), saddle, bits)
    assert plan is not None
    return choose_rays(plan)


def bent(loss: ComposedLoss, epsilon: Fraction) -> arb:
    """What the bent path encloses."""
    order = OneDirection(loss)
    path = plan_path(float_loss(loss), float(epsilon), order.saddle(epsilon), 25.0)
    assert path is not None
    bounds = evaluate(loss, choose_path(path)).delta(epsilon)
    return bounds.lower.union(bounds.upper)


@pytest.mark.theorem("T158-two-rays")
@pytest.mark.parametrize(("order", "q", "s", "count", "epsilon"), [
    ("remove", "1/100", "1", 2, "0.4255"), ("remove", "1/100", "2", 10, "0.2"), ("remove", "3/10", "1", 3, "2"),
    ("symmetric", "1/100", "1", 3, "0.5"), ("remove", "1/100", "3/5", 10, "2"), ("remove", "1/20", "3/2", 30, "1")])
def test_both_paths_agree(composed: Composed, order: str, q: str, s: str, count: int, epsilon: str) -> None:
    loss, at = composed(order, q, s, count), Fraction(epsilon)
    bounds = evaluate(loss, chosen(loss, at)).delta(at)
    assert 0 < bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** -38)
    assert bounds.lower.union(bounds.upper).overlaps(bent(loss, at))


@pytest.mark.theorem("T158-two-rays")
def test_deltas_far_below_every_moment_are_sharp(composed: Composed) -> None:
    """Eight digits of 6.8e-48, where the best moment proves 1: the enclosure to 22 digits."""
    loss, at = composed("remove", "1/10000", "3", 5), Fraction("0.01")
    bounds = evaluate(loss, chosen(loss, at)).delta(at)
    assert bounds.lower < arb("6.8130779317365529308e-48 +/- 1e-66") < bounds.upper < bounds.lower * (1 + arb(2) ** -38)


@pytest.mark.theorem("T158-two-rays")
def test_two_steps_agree_with_quadrature(composed: Composed) -> None:
    """delta_2(eps) = E[delta_1(eps - L)], delta_1 in closed form, by the trapezoidal rule in doubles."""
    from scipy.special import ndtr

    q, s, epsilon = 0.02, 1.2, 0.5
    t = np.linspace(-12 * s, 14 * s, 400_001)
    density = np.exp(-t * t / (2 * s * s)) * (1 - q + q * np.exp((2 * t - 1) / (2 * s * s))) / (s * np.sqrt(2 * np.pi))
    loss = np.log(1 - q + q * np.exp((2 * t - 1) / (2 * s * s)))
    odds = np.maximum((np.exp(epsilon - loss) - (1 - q)) / q, 1e-300)
    end = s * s * np.log(odds) + 0.5
    inner = (1 - q) * ndtr(-end / s) + q * ndtr((1 - end) / s) - np.exp(epsilon - loss) * ndtr(-end / s)
    expected = float((density * inner).sum() * (t[1] - t[0]))
    at = Fraction(1, 2)
    bounds = evaluate(composed("remove", "1/50", "6/5", 2), chosen(composed("remove", "1/50", "6/5", 2), at)).delta(at)
    assert abs(float(bounds.lower) - expected) < 1e-9 * expected


@pytest.mark.theorem("T158-two-rays")
def test_different_laws_and_mixtures() -> None:
    """Sampled Gaussians of two noises; a group of two records, against the bent path."""
    parts = tuple((SampledGaussianLoss(Fraction(q), Fraction(s), "remove"), k)
                  for q, s, k in (("1/100", "1", 2), ("1/50", "3/2", 3)))
    several = ComposedLoss("remove", parts, Fraction(0))
    group = MixtureLoss(Fraction(2), ((Fraction(0), Fraction(81, 100)), (Fraction(1), Fraction(18, 100)),
                                      (Fraction(2), Fraction(1, 100))), ((Fraction(0), Fraction(1)),), "remove")
    for loss, at in ((several, Fraction(1, 2)), (ComposedLoss("remove", ((group, 3),), Fraction(0)), Fraction(1))):
        bounds = evaluate(loss, chosen(loss, at)).delta(at)
        assert bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** -36)
        assert bounds.lower.union(bounds.upper).overlaps(bent(loss, at))


@pytest.mark.theorem("T158-two-rays")
def test_altered_witnesses_still_enclose(composed: Composed) -> None:
    """Fewer panels, smaller or larger ellipses, other cuts and strides: wider, never beside delta."""
    loss, at = composed("remove", "1/100", "1", 3), Fraction("0.4641")
    witness, draw = chosen(loss, at), random.Random(7)
    truth = evaluate(loss, chosen(loss, at, 60.0)).delta(at).lower
    wide = 0
    for _ in range(40):
        altered = altered_witness(witness, draw)
        if not altered.applies(loss):
            continue
        bounds = evaluate(loss, altered).delta(at)
        assert bounds.lower <= truth * (1 + arb(2) ** -55)
        assert truth * (1 - arb(2) ** -55) <= bounds.upper
        wide += bool(bounds.upper > bounds.lower * (1 + arb(2) ** -30))
    assert wide > 10


def altered_witness(witness: RaysWitness, draw: random.Random) -> RaysWitness:
    name = draw.choice(["low", "high"])
    ray: Ray = getattr(witness, name)
    levels = list(ray.levels)
    n = draw.randrange(len(levels))
    panels, ellipse = levels[n].panels, levels[n].ellipse
    levels[n] = Level(draw.choice([1, panels]), draw.choice([Fraction(5, 4), Fraction(30), ellipse]))
    stride = tuple(x * draw.choice([Fraction(1, 2), 1, 2]) for x in ray.stride)
    changes = [
        {name: replace(ray, levels=tuple(levels[:draw.randint(1, len(levels))]))},
        {name: replace(ray, stride=stride)}, {name: replace(ray, points=max(2, ray.points // draw.randint(1, 4)))},
        {"cuts": (witness.cuts[0] + draw.randint(-20, 20),)}, {"prec": draw.randint(10, 60)},
        {"tilt": witness.tilt * draw.choice([Fraction(1, 4), 3])}]
    return replace(witness, **draw.choice(changes))  # type: ignore[arg-type]


@pytest.mark.theorem("T158-two-rays")
def test_a_ray_on_which_low_losses_grow_proves_nothing(composed: Composed) -> None:
    loss, at = composed("remove", "1/100", "1", 2), Fraction("0.4255")
    witness = chosen(loss, at)
    right = replace(witness.low, stride=(Fraction(1), Fraction(0)))
    growing = replace(witness, cuts=(witness.nodes[0].last,), low=right)
    bounds = evaluate(loss, growing).delta(at)
    assert (bounds.lower, bounds.upper) == (0, 1)
    assert bounds.budget["frequency_tail"] == arb.pos_inf()


@pytest.mark.theorem("T158-two-rays")
def test_side_conditions_are_asked(composed: Composed) -> None:
    loss, at = composed("remove", "1/100", "1", 2), Fraction("0.4255")
    witness = chosen(loss, at)
    ray, first, last = witness.low, witness.nodes[0].first, witness.nodes[0].last
    wrong = [{"tilt": Fraction(0)}, {"cuts": ()}, {"cuts": (first,)}, {"cuts": (last + 1,)}, {"nodes": ()},
             {"low": replace(ray, stride=(Fraction(-1), Fraction(1)))}, {"low": replace(ray, levels=())},
             {"high": replace(ray, stride=(Fraction(0), Fraction(0)))}, {"low": replace(ray, points=1)},
             {"low": replace(ray, levels=(Level(0, Fraction(2)),))},
             {"high": replace(ray, levels=(Level(1, Fraction(1)),))}]
    for change in wrong:
        with pytest.raises(InvalidInput):
            evaluate(loss, replace(witness, **change))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        evaluate(composed("remove", "1/100", "1", 2, Fraction(1, 9)), witness)
    assert witness.work(loss).units < 10**8 < replace(witness, low=replace(ray, points=3000)).work(loss).units
