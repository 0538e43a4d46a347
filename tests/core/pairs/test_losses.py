"""The dominating pairs against data sets: with other records present none exceeds the pair, and some reach it.

Outputs of one step are mixtures of normal laws over the sampled subsets; their hockey-stick divergences are summed on a
fine grid in one or two dimensions and compared with the certified delta of the relation, at alpha on both sides of 1.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from types import ModuleType

import mpmath
import numpy as np
import pytest

from verified_dp.core.families.finite.mechanism import Finite, RandomizedResponse
from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import Mechanism, Relation, compose
from verified_dp.core.kernel.losses import describe_pairs, privacy_losses
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.enclosure import Enclosure
from verified_dp.profile import privacy_profile

Parts = list[tuple[float, float]]
EPSILONS = ["-3/2", "-2/5", "-1/20", "0", "1/25", "3/10", "1"]
OTHERS = [(), (1.0,), (-1.0, 1.0), (0.7, -0.3), (-1.0, -1.0)]
CONTRIBUTIONS = [1.0, -1.0, 0.6, 0.0]
NEAR = 2e-7
"""The grid's own error."""


def output(contributions: Sequence[float], q: float) -> Parts:
    """The law of the output over the centre of the noise: (probability, sum) of every sampled subset."""
    parts = []
    for chosen in itertools.product((0, 1), repeat=len(contributions)):
        weight = math.prod(q if taken else 1 - q for taken in chosen)
        parts.append((weight, sum(g for g, taken in zip(contributions, chosen, strict=True) if taken)))
    return [(w, m) for w, m in parts if w > 0]


def certified(mechanism: Mechanism, relation: str, count: int = 1) -> dict[str, tuple[float, float]]:
    profile = privacy_profile(compose((mechanism, count)), relation)
    found: dict[str, Enclosure] = {epsilon: profile.delta(epsilon) for epsilon in EPSILONS}
    assert all(enclosure.status == "certified" for enclosure in found.values())
    return {epsilon: (float(e.lower), float(e.upper)) for epsilon, e in found.items()}


def check(oracle: ModuleType, bounds: dict[str, tuple[float, float]], s: float, neighbours: list[tuple[Parts, Parts]],
          reaching: tuple[Parts, Parts]) -> None:
    """No neighbours exceed the bounds; those that the proof names as tight reach them."""
    for epsilon, (lower, upper) in bounds.items():
        alpha = math.exp(Fraction(epsilon))
        for first, second in neighbours:
            assert oracle.mixture_divergence(first, second, s, alpha) <= upper + NEAR, (epsilon, first, second)
        assert oracle.mixture_divergence(*reaching, s, alpha) >= lower - NEAR, epsilon


@pytest.mark.theorem("T21-pair-poisson")
@pytest.mark.parametrize("relation", ["remove", "add"])
@pytest.mark.parametrize(("q", "s"), [("0.3", "1"), ("0.05", "0.6"), ("0.9", "2")])
def test_one_record_more_or_less(oracle: ModuleType, relation: str, q: str, s: str) -> None:
    """remove: from the data set with the record to the one without it; add: the other way round."""
    pairs = [(output((*others, g), float(q)), output(others, float(q))) for others in OTHERS for g in CONTRIBUTIONS]
    tight = output((0.0, 0.0, 1.0), float(q)), output((0.0, 0.0), float(q))
    if relation == "add":
        pairs, tight = [(b, a) for a, b in pairs], (tight[1], tight[0])
    check(oracle, certified(PoissonSampled(Gaussian(s), q), relation), float(s), pairs, tight)


@pytest.mark.theorem("T22-pair-poisson-replace")
@pytest.mark.parametrize(("q", "s"), [("0.3", "1"), ("0.05", "0.6"), ("0.9", "2")])
def test_one_record_replaced(oracle: ModuleType, q: str, s: str) -> None:
    pairs = [(output((*others, g), float(q)), output((*others, h), float(q)))
             for others in OTHERS for g in CONTRIBUTIONS for h in CONTRIBUTIONS]
    tight = output((0.0, 1.0), float(q)), output((0.0, -1.0), float(q))
    check(oracle, certified(PoissonSampled(Gaussian(s), q), "replace"), float(s), pairs, tight)


@pytest.mark.theorem("T24-pair-zero-out")
@pytest.mark.parametrize(("q", "s"), [("0.3", "1"), ("0.9", "2")])
def test_one_record_replaced_by_a_null_record(oracle: ModuleType, q: str, s: str) -> None:
    """Both orders belong to the relation."""
    pairs = [(output((*others, g), float(q)), output((*others, 0.0), float(q)))
             for others in OTHERS for g in CONTRIBUTIONS]
    pairs += [(b, a) for a, b in pairs]
    bounds = certified(PoissonSampled(Gaussian(s), q), "zero-out")
    with_record, without = output((1.0, 0.0), float(q)), output((0.0, 0.0), float(q))
    check(oracle, {e: b for e, b in bounds.items() if Fraction(e) >= 0}, float(s), pairs, (with_record, without))
    check(oracle, {e: b for e, b in bounds.items() if Fraction(e) <= 0}, float(s), pairs, (without, with_record))


@pytest.mark.theorem("T24-pair-zero-out")
def test_zero_out_is_add_or_remove() -> None:
    for mechanism, count in ((PoissonSampled(Gaussian("1"), "1/50"), 200), (Gaussian("3"), 4)):
        for epsilon in ("-1", "0", "1/2"):
            a, b = (privacy_profile(compose((mechanism, count)), relation).delta(epsilon)
                    for relation in ("zero-out", "add-or-remove"))
            assert (a.lower, a.upper, a.order) == (b.lower, b.upper, b.order)


@pytest.mark.theorem("T23-pair-gaussian")
@pytest.mark.parametrize(("relation", "reach"), [("add", 1), ("remove", 1), ("add-or-remove", 1), ("replace", 2)])
def test_without_sampling(oracle: ModuleType, relation: str, reach: int) -> None:
    """The means differ by the record's contribution, or by that of both records under replace."""
    shifts = [0.0, 0.5, 1.0, -1.0] if reach == 1 else [0.0, 1.0, 1.6, 2.0, -2.0]
    pairs = [([(1.0, others + shift)], [(1.0, others)]) for others in (0.0, 2.5) for shift in shifts]
    check(oracle, certified(Gaussian("1.5"), relation), 1.5, pairs, ([(1.0, float(reach))], [(1.0, 0.0)]))


@pytest.mark.theorem("T23-pair-gaussian")
def test_sigma_and_sensitivity_state_the_distance_themselves(oracle: ModuleType) -> None:
    for relation in ("add", "remove", "replace", "zero-out"):
        bounds = certified(Gaussian(sigma="3", sensitivity="2"), relation)
        check(oracle, bounds, 3.0, [([(1.0, x)], [(1.0, 0.0)]) for x in (-2.0, 0.5, 2.0)], ([(1.0, 2.0)], [(1.0, 0.0)]))


@pytest.mark.theorem("T23-pair-gaussian")
def test_neyman_pearson_bounds(oracle: ModuleType) -> None:
    """Phi(eta - r/s) <= N(m, s^2)(E) <= Phi(eta + r/s) for unions of intervals E; half-lines attain it."""
    rng, phi = random.Random(5), lambda x: 0.5 * math.erfc(-x / math.sqrt(2))
    for _ in range(200):
        s, m = rng.uniform(0.3, 3), rng.uniform(-2, 2)
        ends = sorted(rng.uniform(-5, 5) for _ in range(2 * rng.randint(1, 3)))
        if rng.random() < 0.3:
            ends = [-60.0, ends[0]]

        def mass(mean: float, s: float = s, ends: list[float] = ends) -> float:
            return sum(phi((b - mean) / s) - phi((a - mean) / s) for a, b in zip(ends[::2], ends[1::2], strict=True))

        if not 1e-6 < mass(0.0) < 1 - 1e-6:
            continue
        eta = float(-oracle.mp.sqrt(2) * oracle.mp.erfinv(1 - 2 * oracle.mpf(mass(0.0))))
        low, high = phi(eta - abs(m) / s), phi(eta + abs(m) / s)
        assert low - 1e-9 <= mass(m) <= high + 1e-9
        if len(ends) == 2 and ends[0] == -60.0:
            assert min(mass(m) - low, high - mass(m)) < 1e-9


@pytest.mark.theorem("T21-pair-poisson", "T22-pair-poisson-replace")
def test_two_dimensions_are_no_worse() -> None:
    """Contributions in the unit disc, other records too: on a plane grid."""
    q, s, rng = 0.3, 1.0, random.Random(7)
    x = np.linspace(-8, 8, 321)
    plane, cell = np.meshgrid(x, x), (x[1] - x[0]) ** 2

    def density(vectors: list[tuple[float, float]]) -> np.ndarray:
        total = np.zeros_like(plane[0])
        for chosen in itertools.product((0, 1), repeat=len(vectors)):
            weight = math.prod(q if taken else 1 - q for taken in chosen)
            mean = [sum(v[i] for v, taken in zip(vectors, chosen, strict=True) if taken) for i in (0, 1)]
            total += weight * np.exp(-((plane[0] - mean[0]) ** 2 + (plane[1] - mean[1]) ** 2) / (2 * s * s))
        return total / (2 * math.pi * s * s)

    bounds = {relation: certified(PoissonSampled(Gaussian("1"), "0.3"), relation) for relation in ("remove", "replace")}
    reached = 0.0
    for trial in range(6):
        turns = [rng.uniform(0, 2 * math.pi) for _ in range(3)]
        sizes = [1.0, 1.0, 0.0] if trial == 0 else [rng.uniform(0.5, 1) for _ in range(3)]
        g, h, other = ((r * math.cos(a), r * math.sin(a)) for r, a in zip(sizes, turns, strict=True))
        laws = density([other, g]), density([other, h]), density([other])
        for epsilon in EPSILONS:
            alpha = math.exp(Fraction(epsilon))
            remove = cell * np.maximum(laws[0] - alpha * laws[2], 0).sum()
            replace = cell * np.maximum(laws[0] - alpha * laws[1], 0).sum()
            assert remove <= bounds["remove"][epsilon][1] + 1e-4
            assert replace <= bounds["replace"][epsilon][1] + 1e-4
            reached = max(reached, remove - bounds["remove"][epsilon][0])
    assert reached > -1e-4, "the unit vector without others reaches the pair"


@pytest.mark.theorem("T25-composition")
@pytest.mark.parametrize("relation", ["remove", "add"])
def test_adaptive_steps_do_not_exceed_the_product(relation: str) -> None:
    """Two steps on a grid in the plane; what the record contributes to the second depends on the first output."""
    q, s, x = 0.3, 1.0, np.linspace(-8, 9, 801)
    y, w, cell = x[:, None], x[None, :], (x[1] - x[0]) ** 2

    def normal(t: np.ndarray, mean: np.ndarray | float) -> np.ndarray:
        return np.exp(-((t - mean) ** 2) / (2 * s * s)) / (s * math.sqrt(2 * math.pi))

    def joint(second: np.ndarray) -> np.ndarray:
        return ((1 - q) * normal(y, 0) + q * normal(y, 1)) * ((1 - q) * normal(w, 0) + q * normal(w, second))

    plain = normal(y, 0) * normal(w, 0)
    bounds = certified(PoissonSampled(Gaussian("1"), "0.3"), relation, 2)
    constant, turning = np.ones_like(y), np.where(y > 0.5, 1.0, -1.0)
    for epsilon, (lower, upper) in bounds.items():
        alpha = math.exp(Fraction(epsilon))
        for second, reaches in ((constant, True), (turning, True), (np.where(y > 0.5, 1.0, 0.2), False)):
            P, Q = (joint(second), plain) if relation == "remove" else (plain, joint(second))
            divergence = cell * np.maximum(P - alpha * Q, 0).sum()
            assert divergence <= upper + 2e-5, epsilon
            assert divergence >= lower - 2e-5 or not reaches, epsilon


def test_every_pair_names_its_theorem() -> None:
    sampled = PoissonSampled(Gaussian("1"), "1/10")
    mixed = compose((sampled, 5), Gaussian("2"), (sampled, 7))
    expected = {
        "add-or-remove": ({"T21-pair-poisson", "T23-pair-gaussian"}, 4),
        "add": ({"T21-pair-poisson", "T23-pair-gaussian"}, 2),
        "replace": ({"T22-pair-poisson-replace", "T23-pair-gaussian"}, 2),
        "zero-out": ({"T21-pair-poisson", "T23-pair-gaussian", "T24-pair-zero-out"}, 4)}
    for relation, (theorems, number) in expected.items():
        pairs = describe_pairs(mixed, Relation.of(relation))
        assert {theorem for pair in pairs for theorem in pair.theorems} == theorems
        assert len(pairs) == number and all(pair.tight for pair in pairs)


@pytest.mark.theorem("T07-ends", "T15-gaussian")
def test_losses_merge_what_is_the_same() -> None:
    """q = 0 vanishes, q = 1 and plain Gaussians add their squared shifts, equal laws add their counts."""
    two, four = Gaussian("2"), Gaussian("4")
    steps = compose((PoissonSampled(two, "1/10"), 3), (two, 4), (PoissonSampled(two, 0), 9),
                    (PoissonSampled(four, 1), 5), (PoissonSampled(two, "0.1"), 4))
    for relation, distance in (("add-or-remove", 1), ("replace", 2)):
        for loss in privacy_losses(steps, Relation.of(relation)):
            ((law, count),) = loss.parts
            assert (law.sampling_probability, law.noise_multiplier, count) == (Fraction(1, 10), 2, 7)
            assert loss.mean_shift_squared == distance**2 * (4 * Fraction(1, 4) + 5 * Fraction(1, 16))
            assert law.order == loss.order
    assert [loss.order for loss in privacy_losses(steps, Relation.ADD_OR_REMOVE)] == ["remove", "add"]


@pytest.mark.theorem("T25-composition", "T07-ends")
@pytest.mark.parametrize("relation", ["remove", "add"])
def test_two_mechanisms_of_one_law_are_two_steps(oracle: ModuleType, relation: str) -> None:
    """A sampled Gaussian and the same law stated as a mixture: delta by conditioning on the first step."""
    steps = compose(PoissonSampled(Gaussian(2), "1/10"), MixtureOfGaussians(4, (0, 2), ("9/10", "1/10")))
    ((_, count),) = privacy_losses(steps, Relation.of(relation))[0].parts
    assert count == 2
    for epsilon in ("1/25", "3/20"):
        true = oracle.two_step_delta(relation, ("1/10", "2"), ("1/10", "2"), Fraction(epsilon))
        found = privacy_profile(steps, relation).delta(epsilon)
        assert oracle.inside(found, true, Fraction(1, 10**7)) and oracle.width(found) < Fraction(1, 10**10)


@pytest.mark.theorem("T25-composition", "T07-ends")
def test_equal_ratios_of_noise_are_one_law_whatever_their_scale() -> None:
    """Two and three steps of Laplace noise of ratio 1/10, in other units, are five; so are answers stated in two ways.

    Of two answers each (3/4, 1/4) is what epsilon = log 3 says; losses of five answers are binomial.
    """
    stated = compose((Laplace(10, 1), 2), (Laplace(20, 2), 3))
    for relation in Relation:
        for loss in privacy_losses(stated, relation):
            assert [count for _, count in loss.parts] == [5]
    first = privacy_profile(stated, "add-or-remove").delta("1/5")
    alone = privacy_profile(compose((Laplace(10, 1), 5)), "add-or-remove").delta("1/5")
    assert (first.lower, first.upper) == (alone.lower, alone.upper)
    answers = compose((RandomizedResponse(2, "1/2"), 2), (Finite(("3/4", "1/4"), ("1/4", "3/4")), 3))
    own = sum(max(math.comb(5, n) * (Fraction(3) ** n - 4 * Fraction(3) ** (5 - n)), Fraction(0)) for n in range(6))
    with mpmath.workdps(40):
        near = Fraction(str(mpmath.log(4)))
    found = privacy_profile(answers, "replace").delta(near)
    assert float(found.lower) == pytest.approx(float(own / 4**5), abs=1e-12)
    assert float(found.upper) == pytest.approx(float(own / 4**5), abs=1e-12)


@pytest.mark.theorem("T25-composition", "T72-groups")
def test_copies_and_counts_multiply() -> None:
    """Groups of two, two and three answers: ten answers in all, each right with probability 3/4."""
    answers = compose((RandomizedResponse(2, "1/2"), 2), (RandomizedResponse(2, "0.5"), 3)).for_groups(2)
    ((_, count),) = privacy_losses(answers, Relation.REPLACE)[0].parts
    assert count == 10
    own = sum(max(math.comb(10, n) * (Fraction(3) ** n - 4 * Fraction(3) ** (10 - n)), Fraction(0)) for n in range(11))
    with mpmath.workdps(40):
        near = Fraction(str(mpmath.log(4)))
    found = privacy_profile(answers, "replace").delta(near)
    assert float(found.lower) == pytest.approx(float(own / 4**10), abs=1e-12)
    assert float(found.upper) == pytest.approx(float(own / 4**10), abs=1e-12)
