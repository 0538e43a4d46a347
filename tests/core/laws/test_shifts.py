"""Laws of randomly shifted noise (T75), and that they dominate samples with replaced records and groups (T74)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.discrete.shifts import DiscreteGaussianMixtureLoss, DiscreteLaplaceMixtureLoss
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, SampledAtomicLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.shifts import LaplaceMixtureLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.exact import square_root
from verified_dp.core.kernel.law import Law

F = Fraction
Q = F(1, 3)
ONE = ((F(0), 1 - Q), (F(3), Q))
GROUP = ((F(0), F(4, 9)), (F(3), F(4, 9)), (F(6), F(1, 9)))
NONE = ((F(0), F(1)),)
Mixture = tuple[tuple[Fraction, Fraction], ...]


def mirrored(mixture: Mixture) -> Mixture:
    return tuple((-mean, weight) for mean, weight in reversed(mixture))


def laws(above: Mixture, below: Mixture, order: str) -> list[Law]:
    """Laplace noise of scale 2, discrete Laplace of scale 2, discrete Gaussian with variance parameter 5."""
    halves = [tuple((mean / 2, weight) for mean, weight in mixture) for mixture in (above, below)]
    return [LaplaceMixtureLoss(*halves, order), DiscreteLaplaceMixtureLoss(F(2), above, below, order),
            DiscreteGaussianMixtureLoss(square_root(F(5)), above, below, order)]


SETTINGS = [(ONE, NONE, "remove"), (ONE, mirrored(ONE), "symmetric"), (GROUP, NONE, "remove"),
            (GROUP, mirrored(GROUP), "symmetric")]
LAWS = [law for setting in SETTINGS for law in laws(*setting)]
LAWS += [law.in_order("add") for law in LAWS if law.order == "remove"]
every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{type(law).__name__}-{law.order}-{len(law.above)}")
POINTS = [F(-3), F(-1), F(-1, 3), F(-1, 50), F(0), F(1, 7), F(2, 5), F(1), F(2), F(4)]

STEPS = np.arange(-1200, 1201) / 20.0
WHOLE = np.arange(-300, 301).astype(float)


def densities(kind: str) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], float]:
    """(outcomes, noise density, weight of an outcome): sums over integers are exact, those over a grid to 1e-3."""
    if kind == "LaplaceMixtureLoss":
        return STEPS, lambda x: np.exp(-np.abs(x) / 2) / 4, 0.05
    total = float(np.exp(-np.abs(WHOLE) / 2).sum()) if kind == "DiscreteLaplaceMixtureLoss" else None
    if total is not None:
        return WHOLE, lambda x: np.exp(-np.abs(x) / 2) / total, 1.0
    mass = float(np.exp(-(WHOLE**2) / 10).sum())
    return WHOLE, lambda x: np.exp(-(x**2) / 10) / mass, 1.0


def divergence(kind: str, p: list[tuple[float, float]], q: list[tuple[float, float]], alpha: float) -> float:
    """H_alpha of two mixtures of (shift, weight) by a plain sum."""
    outcomes, noise, weight = densities(kind)
    one, other = (sum(w * noise(outcomes - shift) for shift, w in mixture) for mixture in (p, q))
    return float(np.maximum(one - alpha * other, 0).sum() * weight)


def stick(law: Law, alpha: float) -> float:
    with ctx.workprec(80):
        value = law.enclose_hockey_stick(ball(F(alpha)).log())
        assert value.rad() < 1e-15
        return float(value)


def components(law: Law) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    scale = 2 if isinstance(law, LaplaceMixtureLoss) else 1
    above, below = ([(float(scale * m), float(w)) for m, w in mixture] for mixture in (law.above, law.below))
    return above, below


@pytest.mark.theorem("T75-random-shifts")
@every_law
def test_the_curve_is_that_of_the_mixtures(law: Law) -> None:
    tolerance = 2e-3 if isinstance(law, LaplaceMixtureLoss) else 1e-12
    for alpha in (0.02, 0.3, 0.8, 0.97, 1.0, 1.05, 1.4, 3.0, 20.0, 400.0):
        own = divergence(type(law).__name__, *components(law), alpha)
        assert stick(law, alpha) == pytest.approx(own, abs=tolerance)


@pytest.mark.theorem("T75-random-shifts", "T49-sampled")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_one_record_is_the_sampled_step(order: str) -> None:
    """Independent formulas: the base's curve through T49."""
    sampled: list[Law] = [SampledLoss(LaplaceLoss(F(3, 2)), Q, order),
                          SampledAtomicLoss(DiscreteLaplaceLoss(F(2), 3), Q, order),
                          SampledLoss(DiscreteGaussianLoss(F(5), 3), Q, order)]
    for law, other in zip(laws(ONE, NONE, "remove"), sampled, strict=True):
        law = law.in_order(order)
        with ctx.workprec(120):
            for x in map(ball, POINTS):
                assert law.enclose_hockey_stick(x).overlaps(other.enclose_hockey_stick(x)), (law, x)
                assert law.enclose_hockey_stick(x).rad() < 1e-30
                for one, two in zip(law.enclose_tails(x), other.enclose_tails(x), strict=True):
                    assert one.overlaps(two) and one.rad() < 1e-30, (law, x)
                assert law.enclose_density(x).overlaps(other.enclose_density(x))
            for one, two in ((law.enclose_largest_loss(), other.enclose_largest_loss()),
                             (law.enclose_smallest_loss(), other.enclose_smallest_loss())):
                assert (one is None) is (two is None) and (one is None or one.overlaps(two)), law


@pytest.mark.theorem("T75-random-shifts")
@every_law
def test_tails_make_the_curve_and_its_slope(law: Law) -> None:
    with ctx.workprec(200):
        for x in (ball(point) for point in POINTS if point):  # at 0 symmetric discrete losses have an atom
            above, below = law.enclose_tails(x)
            assert law.enclose_hockey_stick(x).overlaps(above - x.exp() * below), x
            step = arb(2) ** -80
            fall = law.enclose_hockey_stick(x + step) - law.enclose_hockey_stick(x)
            assert abs(float(fall / ((x + step).exp() - x.exp()) + below)) < 1e-15, x


@pytest.mark.theorem("T75-random-shifts")
@every_law
def test_density_and_atoms_make_the_tail(law: Law) -> None:
    atoms = law.enclose_loss_atoms()
    with ctx.workprec(200):
        for x in map(ball, [F(-11, 13), F(-1, 9), F(1, 8), F(5, 7)]):
            step = arb(2) ** -80
            fall = float((law.enclose_tails(x)[0] - law.enclose_tails(x + step)[0]) / step)
            assert float(law.enclose_density(x)) == pytest.approx(fall, abs=1e-12), x
        if atoms is not None and isinstance(law, LaplaceMixtureLoss):
            (low, at_low), (high, at_high) = atoms
            points = np.linspace(float(low), float(high), 4001)[1:-1]
            inner = sum(float(law.enclose_density(arb(point))) for point in points) * (points[1] - points[0])
            assert inner + float(at_low) + float(at_high) == pytest.approx(1, abs=2e-3)


@pytest.mark.theorem("T75-random-shifts")
@every_law
def test_moments_bound_those_of_the_mixtures(law: Law) -> None:
    outcomes, noise, weight = densities(type(law).__name__)
    p, q = (sum(w * noise(outcomes - shift) for shift, w in mixture) for mixture in components(law))
    for exponent in (0.25, 1.0, 2.5):
        kept = p > 1e-250
        own = float((p[kept] * np.exp(exponent * np.log(p[kept] / q[kept]))).sum() * weight)
        bound = law.enclose_moment(arb(exponent))
        assert own <= float(bound.upper()) * (1 + 1e-3) and float(bound.upper()) < own * 1e4


@pytest.mark.theorem("T75-random-shifts")
@every_law
def test_wide_balls_give_wide_answers_that_hold(law: Law) -> None:
    """A ball of eps, also over an end of the loss, encloses the values of its points."""
    for x in (-0.7, 0.0, 0.31, 1.2):
        wide = arb(x, 0.2)
        whole, tails = law.enclose_hockey_stick(wide), law.enclose_tails(wide)
        for point in (x - 0.19, x, x + 0.19):
            assert whole.overlaps(law.enclose_hockey_stick(arb(point)))
            assert all(a.overlaps(b) for a, b in zip(tails, law.enclose_tails(arb(point)), strict=True))


@pytest.mark.theorem("T75-random-shifts")
def test_a_cut_among_hundreds_of_outcomes_holds_every_curve() -> None:
    """Noise so wide that a ball of eps leaves the cut unknown: nothing is summed, and all values are held."""
    law = DiscreteGaussianMixtureLoss(F(1000), ((F(0), F(1, 2)), (F(1), F(1, 2))), NONE, "remove")
    wide = arb(0.0003, 0.0002)
    delta, tails = law.enclose_hockey_stick(wide), law.enclose_tails(wide)
    assert delta.rad() > 0.4 and all(tail.rad() > 0.4 for tail in tails)
    for point in (0.00015, 0.0003, 0.00045):
        assert delta.contains(law.enclose_hockey_stick(arb(point)))
        assert all(a.contains(b) for a, b in zip(tails, law.enclose_tails(arb(point)), strict=True))


@pytest.mark.theorem("T74-sampled-shifts")
@pytest.mark.parametrize("index", range(3), ids=["laplace", "discrete-laplace", "discrete-gaussian"])
@pytest.mark.parametrize("records", [1, 2])
def test_replaced_records_and_groups_are_dominated(index: int, records: int) -> None:
    """Random moves of each sampled record, up to 3: below the pair, which the extreme moves attain."""
    rng, mixture = random.Random(records), ONE if records == 1 else GROUP
    replace = laws(mixture, mirrored(mixture), "symmetric")[index]
    remove = laws(mixture, NONE, "remove")[index]
    smaller = laws(tuple((m * 2 / 3, w) for m, w in mixture), NONE, "remove")[index]
    kind, tolerance = type(replace).__name__, 2e-3 if index == 0 else 1e-12
    subsets = list(itertools.product((0, 1), repeat=records))
    weights = [float(Q) ** sum(s) * float(1 - Q) ** (records - sum(s)) for s in subsets]
    moves = [[3] * records, [-3] * records, *([rng.randint(-3, 3) for _ in range(records)] for _ in range(6))]
    closest, broken = 1.0, False
    for there, here in itertools.product(moves, moves):
        p, q = ([(float(sum(m for m, s in zip(move, subset, strict=True) if s)), weight)
                 for subset, weight in zip(subsets, weights, strict=True)] for move in (there, here))
        for alpha in (0.4, 1.0, 1.6, 4.0):
            gap = stick(replace, alpha) - divergence(kind, p, q, alpha)
            assert gap > -tolerance, (there, here, alpha)
            closest = min(closest, abs(gap))
            own = divergence(kind, p, [(0.0, 1.0)], alpha)
            assert own <= stick(remove, alpha) + tolerance
            assert divergence(kind, [(0.0, 1.0)], p, alpha) <= stick(remove.in_order("add"), alpha) + tolerance
            broken |= own > stick(smaller, alpha) + 10 * tolerance
    assert closest < tolerance and broken
