"""Selections against brute force: noisy maxima by quadrature, sparse vectors, thresholds, the best of many runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise, permutations, product

import mpmath as mp
import numpy as np
import pytest
from flint import arb, ctx

from verified_dp import (
    ZCDP,
    ApproximateDP,
    Exponential,
    Finite,
    Gaussian,
    Laplace,
    PoissonSampled,
    compose,
    privacy_profile,
)
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.gaussian.single_step import log_moment_at
from verified_dp.core.families.selection.mechanism import (
    NegativeBinomialRuns,
    NoisyMax,
    PartitionSelection,
    PoissonRuns,
    SparseVector,
)
from verified_dp.core.families.selection.pair import bound_new
from verified_dp.core.families.selection.repeated import bound_parameter, enclose_mean
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.steps import step_of

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def integral(value: Callable[[np.ndarray], np.ndarray], places: Iterable[float]) -> float:
    """Of what is smooth between the places, by Gauss-Legendre rules on pieces of length 4 at most."""
    cuts = sorted({*places, *np.arange(-40.0, 41.0, 4.0)})
    return sum(float((right - left) / 2 * (WEIGHTS * value((left + right) / 2 + (right - left) / 2 * NODES)).sum())
               for left, right in pairwise(cuts))


def survival(kind: str, x: np.ndarray) -> np.ndarray:
    """P(noise > x) at scale 1."""
    tail = np.exp(-abs(x))
    return np.where(x > 0, tail, 1.0) if kind == "exponential" else np.where(x > 0, tail / 2, 1 - tail / 2)


def density(kind: str, x: np.ndarray) -> np.ndarray:
    return np.exp(-abs(x)) * ((x > 0) if kind == "exponential" else 0.5)


def wins(scores: tuple[float, ...], scale: float, kind: str) -> list[float]:
    """P(index i is the noisy maximum), by quadrature."""
    found = []
    for i, own in enumerate(scores):
        others = [(own - other) / scale for j, other in enumerate(scores) if j != i]
        found.append(integral(lambda z, others=others: density(kind, z) * np.prod(
            [1 - survival(kind, z + shift) for shift in others], axis=0), [0.0, *(-shift for shift in others)]))
    return found


@pytest.mark.theorem("T210-noisy-max")
@pytest.mark.parametrize("kind", ["laplace", "exponential"])
@pytest.mark.parametrize("monotone", [False, True])
def test_noisy_maxima_on_three_scores(kind: str, monotone: bool) -> None:
    """The largest log ratio over neighbouring scores is below the bound, and not far below."""
    scale, moves = 2.0, (0, 1) if monotone else (-1, 0, 1)
    epsilon, largest = float(NoisyMax(2, 1, monotone).epsilon), 0.0
    for before in ((0, 0, 0), (0, 2, 8), (0, 6, 6)):
        first = wins(before, scale, kind)
        for move in product(moves, repeat=3):
            after = wins(tuple(s + m for s, m in zip(before, move, strict=True)), scale, kind)
            largest = max(largest, *(abs(math.log(a / b)) for a, b in zip(first, after, strict=True)))
    assert epsilon / 2 < largest <= epsilon + 1e-9


@pytest.mark.theorem("T215-top-k")
@pytest.mark.parametrize("kind", ["laplace", "exponential"])
@pytest.mark.parametrize("monotone", [False, True])
def test_two_largest_of_three_scores(kind: str, monotone: bool) -> None:
    """Ordered pairs, from one draw: the second lies at y, the first above, the third below.

    Laplace noise on the third alone may be low, in place of two that are high: it is half as bad on three scores.
    """
    scale, moves = 2.0, (0, 1) if monotone else (-1, 0, 1)
    mechanism = NoisyMax(2, 1, monotone, 2)
    epsilon, largest = float(mechanism.epsilon), 0.0
    assert mechanism.epsilon == 2 * NoisyMax(2, 1, monotone).epsilon and NoisyMax(2, 1, selected=1) == NoisyMax(2, 1)

    def pairs(scores: tuple[float, ...]) -> list[float]:
        u = [score / scale for score in scores]
        return [integral(lambda y, i=i, j=j, k=k: density(kind, y - u[j]) * survival(kind, y - u[i])
                         * (1 - survival(kind, y - u[k])), u) for i, j, k in permutations(range(3))]

    for before in ((0, 0, 0), (0, 1, 9)):
        first = pairs(before)
        assert abs(sum(first) - 1) < 1e-6
        for move in product(moves, repeat=3):
            after = pairs(tuple(s + m for s, m in zip(before, move, strict=True)))
            largest = max(largest, *(abs(math.log(a / b)) for a, b in zip(first, after, strict=True)))
    assert (0.9 if kind == "exponential" else 0.45) * epsilon < largest <= epsilon + 1e-9


def outcome(queries: tuple[float, ...], scales: tuple[float, float], seen: tuple[bool, ...],
            threshold: str = "laplace") -> float:
    """P(these answers of AboveThreshold), threshold 0, by quadrature over the threshold's noise."""
    def value(rho: np.ndarray) -> np.ndarray:
        above = [survival("laplace", (rho - q) / scales[1]) if scales[1] else 1.0 * (rho <= q) for q in queries]
        at = rho / scales[0]
        law = density("laplace", at) if threshold == "laplace" else np.exp(-at * at / 2) / math.sqrt(2 * math.pi)
        return law / scales[0] * np.prod(
            [part if yes else 1 - part for part, yes in zip(above, seen, strict=True)], axis=0)
    return integral(value, [0.0, *map(float, queries)])


@pytest.mark.theorem("T211-sparse-vector")
@pytest.mark.parametrize("monotone", [False, True])
def test_sparse_vectors_of_three_queries(monotone: bool) -> None:
    scales, moves = (1.5, 2.0), (0, 1) if monotone else (-1, 0, 1)
    for answers, seen in ((1, (False, False, True)), (2, (True, False, True)), (1, (False, False, False))):
        bound, largest = float(SparseVector("3/2", 2, answers, 1, monotone).epsilon), 0.0
        for queries in ((0, 0, 0), (-4, 5, -5)):
            first = outcome(queries, scales, seen)
            for move in product(moves, repeat=3):
                after = outcome(tuple(q + m for q, m in zip(queries, move, strict=True)), scales, seen)
                largest = max(largest, abs(math.log(first / after)))
        assert largest <= bound + 1e-9
        if seen[-1] and not monotone:
            assert largest > bound / 2


@pytest.mark.theorem("T216-gaussian-threshold")
@pytest.mark.parametrize("monotone", [False, True])
def test_sparse_vectors_with_a_gaussian_threshold(monotone: bool) -> None:
    """Renyi divergences over all sequences of three queries, which end with the first yes."""
    moves = (0, 1) if monotone else (-1, 0, 1)
    mechanism = SparseVector(None, 2, 1, 1, monotone, threshold_sigma="3/2")
    sequences = [(True,), (False, True), (False, False, True), (False, False, False)]
    largest = dict.fromkeys((1.5, 2.0, 8.0, 30.0), 0.0)
    for queries in ((0, 0, 0), (-3, 4, -4)):
        first = [outcome(queries[: len(seen)], (1.5, 2.0), seen, "gaussian") for seen in sequences]
        assert abs(sum(first) - 1) < 1e-6
        for move in product(moves, repeat=3):
            after = [outcome(tuple(q + m for q, m in zip(queries, move, strict=True))[: len(seen)], (1.5, 2.0), seen,
                             "gaussian") for seen in sequences]
            for order in largest:
                for p, q in ((first, after), (after, first)):
                    moment = sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
                    largest[order] = max(largest[order], math.log(moment) / (order - 1))
    for order, found in largest.items():
        assert found <= float(mechanism.epsilon) + order / (2 * 1.5**2) + 1e-9
    assert largest[30.0] > float(mechanism.epsilon) / 2
    with pytest.raises(InvalidInput, match="not both"):
        SparseVector(1, 2, 1, 1, threshold_sigma=1)
    with pytest.raises(InvalidInput, match="not both"):
        SparseVector(None, 2, 1, 1)
    found = privacy_profile(mechanism, "replace").epsilon("1e-6", digits=3)
    assert float(mechanism.epsilon) < float(found.upper.as_fraction()) < 6


def test_variants_of_lyu_su_and_li_beside_brute_force() -> None:
    """Their six algorithms, epsilon = 1: what two neighbouring lists of queries show of those that are not private.

    1 and 2 are private: answers = c; and answers = 1, count = c, where the threshold is drawn anew. 3 releases noisy
    values, which no key states. 4 forgets c in the noise of queries, 5 has no such noise, 6 no end.
    """
    assert SparseVector(2, 20, 5, 1).epsilon == 1
    assert 5 * SparseVector(10, 20, 1, 1).epsilon == 1

    def ratio(scales: tuple[float, float], no: int, yes: int) -> float:
        seen = (False,) * no + (True,) * yes
        p = outcome((0.0,) * no + (1.0,) * yes, scales, seen)
        q = outcome((1.0,) * no + (0.0,) * yes, scales, seen)
        return math.inf if q < 1e-300 < p else math.log(p / q)

    forgets = SparseVector(4, "4/3", 5, 1)
    assert 1 < ratio((4, 4 / 3), 5, 5) <= float(forgets.epsilon) == 31 / 4
    assert ratio((2, 0), 1, 1) == math.inf
    endless = [ratio((2, 2), n, n) for n in (1, 4, 16)]
    assert endless[0] < endless[1] < endless[2] and endless[1] > 1
    claim = privacy_profile(forgets, "replace").delta("1", digits=4)
    assert claim.upper > 0 and not claim.tight  # epsilon = 1 is not proved of it


def test_wrong_variants_of_the_sparse_vector_are_refused() -> None:
    """No noise on queries, none on the threshold, no end; a scale that forgets the number of answers costs it."""
    for scales in ((1, 0), (0, 1)):
        with pytest.raises(InvalidInput):
            SparseVector(*scales, 1, 1)
    with pytest.raises(InvalidInput):
        SparseVector(1, 1, 0, 1)
    with pytest.raises(InvalidInput, match="answers"):
        SparseVector(1, 1, sensitivity=1)
    assert SparseVector(4, Fraction(4, 3), 5, 1).epsilon == Fraction(1 + 6 * 5, 4)  # of "epsilon = 1", c = 5


def law_of_thresholds(counts: tuple[int, ...], sigma: float, threshold: float,
                      bins: int) -> dict[tuple[int, ...], float]:
    """Of each partition: not released, or in which of a few bins the count lies."""
    edges = [threshold + 2.0 * i for i in range(bins)] + [mp.inf]

    def one(count: int) -> list[float]:
        if not count:
            return [1.0] + [0.0] * bins
        below = [mp.ncdf((edge - count) / sigma) for edge in edges]
        return [float(below[0]), *(float(b - a) for a, b in pairwise(below))]

    laws = [one(count) for count in counts]
    return {key: float(mp.fprod(law[i] for law, i in zip(laws, key, strict=True)))
            for key in product(range(bins + 1), repeat=len(counts))}


@pytest.mark.theorem("T212-partition-selection")
@pytest.mark.parametrize("epsilon", ["0", "1/2", "1", "2"])
def test_released_partitions_on_two_partitions(epsilon: str) -> None:
    mechanism = PartitionSelection(3, 2, sigma="3/2")
    ends = {order: privacy_profile(mechanism, order).delta(epsilon, digits=6) for order in ("remove", "add")}
    for without, with_it in (((0, 0), (1, 1)), ((0, 3), (1, 4)), ((3, 3), (4, 4)), ((0, 2), (1, 2))):
        p, q = (law_of_thresholds(counts, 1.5, 3.0, 3) for counts in (with_it, without))
        for order, (a, b) in (("remove", (p, q)), ("add", (q, p))):
            delta = sum(max(a[key] - float(mp.exp(Fraction(epsilon).__float__())) * b[key], 0.0) for key in a)
            assert delta <= float(ends[order].upper.as_fraction()) + 1e-12
    assert all(end.lower < end.upper for end in ends.values())


@pytest.mark.theorem("T212-partition-selection")
def test_chance_of_a_new_partition() -> None:
    for k in (1, 3):
        for mechanism, tail in ((PartitionSelection(9, k, sigma=2), lambda: mp.ncdf(-4)),
                                (PartitionSelection(9, k, scale=2), lambda: mp.exp(-4) / 2),
                                (PartitionSelection(0, k, scale=2), lambda: 1 - mp.exp(-0.5) / 2)):
            with mp.workdps(30):
                exact = -mp.expm1(k * mp.log1p(-tail()))
                found = bound_new(mechanism)
                assert exact <= mp.mpf(found.numerator) / found.denominator <= exact * (1 + mp.mpf(10) ** -18)


def test_chances_next_to_0_and_to_1() -> None:
    for mechanism in (PartitionSelection(2000, 1, sigma=1), PartitionSelection(10**6, 1, sigma=1),
                      PartitionSelection(10, 1, scale="1e-300")):
        assert bound_new(mechanism) == Fraction(1, 2**4096)
    found = privacy_profile(PartitionSelection(10**6, 1, sigma=1), "remove").delta("1e4", digits=3)
    assert 0 < found.lower <= found.upper < Fraction(1, 10**1000)
    for mechanism in (PartitionSelection(0, 1, sigma="1e-30"), PartitionSelection(0, 1, scale="1e-30")):
        with pytest.raises(Unsupported, match="raise the threshold"):
            bound_new(mechanism)


def test_equal_steps_of_a_run_count_once() -> None:
    assert PoissonRuns(compose(*[Gaussian(5)] * 101), 3).mean == 3
    with pytest.raises(InvalidInput, match="100 different steps"):
        PoissonRuns(compose(*[Gaussian(n) for n in range(1, 102)]), 3)


def test_partitions_are_counted_for_one_record_more_or_less() -> None:
    for relation in ("replace", "zero-out"):
        with pytest.raises(Unsupported, match="add-or-remove"):
            privacy_profile(PartitionSelection(9, 1, sigma=2), relation)
    with pytest.raises(Unsupported, match="raise the threshold"):
        privacy_profile(PartitionSelection(0, 10**9, sigma="1/10"), "add")
    with pytest.raises(InvalidInput, match="not both"):
        PartitionSelection(9, 1)


def best_of(law: list[Fraction], generating: object) -> list[mp.mpf]:
    """The law of the best of K runs, outcomes in rising order of their score: f(Q(<= y)) - f(Q(< y)), and no run."""
    sums = [mp.mpf(0)]
    for mass in law:
        sums.append(sums[-1] + mp.mpf(mass.numerator) / mass.denominator)
    values = [generating(x) for x in sums]  # type: ignore[operator]
    return [values[0], *(b - a for a, b in pairwise(values))]


def runs(shape: Fraction | None, size: Fraction) -> tuple[object, object]:
    """The mechanism's class for a number of runs, of parameter `size`, and its generating function."""
    if shape is None:
        return (lambda run: PoissonRuns(run, size)), lambda x: mp.exp(float(size) * (x - 1))
    g, eta = mp.mpf(size.numerator) / size.denominator, mp.mpf(shape.numerator) / shape.denominator
    if shape:
        mean = eta * (1 - g) / (g * (1 - g**eta))
        return (lambda run: NegativeBinomialRuns(run, as_text(mean), shape)), lambda x: (
            ((1 - (1 - g) * x) ** -eta - 1) / (g**-eta - 1))
    mean = (1 / g - 1) / mp.log(1 / g)
    return (lambda run: NegativeBinomialRuns(run, as_text(mean), 0)), lambda x: mp.log(1 - (1 - g) * x) / mp.log(g)


def as_text(value: mp.mpf) -> Fraction:
    """Rounded up: more runs."""
    return Fraction(int(mp.ceil(value * 10**12)), 10**12)


@pytest.mark.theorem("T213-private-selection")
@pytest.mark.parametrize("shape", [None, Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)])
def test_best_of_many_runs_on_few_outcomes(shape: Fraction | None) -> None:
    """Random laws of one run: the moments of the best stay below the bound in both directions, also near to it."""
    draw, nearest = random.Random(213), 0.0
    for case in range(12):
        size = draw.choice([Fraction(1, 5), Fraction(1, 50)] if shape is not None else [Fraction(2), Fraction(20)])
        weights = [[draw.randint(1, 9) for _ in range(4)] for _ in range(2)]
        if case % 3 == 0:
            weights = [[100, 1, 1, 2], [100, 2, 1, 1]]
        first, second = ([Fraction(w, sum(row)) for w in row] for row in weights)
        make, generating = runs(shape, size)
        law = step_of(make(Finite(first, second)), "remove", Relation.ADD_OR_REMOVE).law  # type: ignore[operator]
        one, other = best_of(first, generating), best_of(second, generating)
        for exponent in (Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(30)):
            with ctx.workprec(80):
                bound = float(law.bound_log_moment(ball(exponent)))  # type: ignore[union-attr]
            for a, b in ((one, other), (other, one)):
                moment = mp.log(sum(x * (x / y) ** float(exponent) for x, y in zip(a, b, strict=True) if x))
                assert moment <= bound + 1e-12
                nearest = max(nearest, float(moment / bound))
    assert nearest > 0.2


@pytest.mark.theorem("T213-private-selection")
def test_published_bounds_of_the_best_of_many_runs() -> None:
    """Pure epsilon (2 + shape) eps; a Gaussian run and a training against Renyi bounds in floating point."""
    for shape in (0, "1/2"):
        pure = float(2 + Fraction(shape))
        runs_of_one = NegativeBinomialRuns(Laplace(1, 1), 1000, shape)
        found = privacy_profile(runs_of_one, "add-or-remove").epsilon("1e-10", digits=4)
        assert found.lower <= found.upper and float(found.upper.as_fraction()) <= pure * 1.001
    profile = privacy_profile(PoissonRuns(Gaussian(5), 10), "add-or-remove")
    orders = np.arange(1.1, 41.0, 0.1)
    log_factors = (orders - 1) * np.log1p(-1 / orders) - np.log(orders)

    def bound(rdp: np.ndarray, epsilon: float) -> float:
        return min(1.0, float(np.exp(((orders - 1) * (rdp - epsilon) + log_factors).min())))

    tails = np.array([bound(orders / 50, math.log1p(1 / (order - 1))) for order in orders])
    published = orders / 50 + 10 * tails + math.log(10) / (orders - 1)
    for epsilon in ("1", "2"):
        found = profile.delta(epsilon, digits=4)
        assert float(found.upper.as_fraction()) <= 1.05 * bound(published, float(epsilon))


@pytest.mark.theorem("T213-private-selection")
def test_parameter_of_a_mean() -> None:
    for shape in ("0", "1/2", "1", "7/3"):
        for mean in ("1.001", "10", "1e9"):
            low = bound_parameter(Fraction(mean), Fraction(shape))
            x = Fraction(float(-mp.log(mp.mpf(float(low)))))
            assert enclose_mean(x, Fraction(shape)).overlaps(ball(Fraction(mean)) * (1 + arb(0, "1e-6"))), (shape, mean)
            assert low.is_exact() and 0 < low < 1


def test_what_no_theorem_covers_inside_of_a_selection() -> None:
    for run in (ApproximateDP("1", "1e-9"), PartitionSelection(9, 1, sigma=2)):
        with pytest.raises(Unsupported, match="infinite"):
            privacy_profile(PoissonRuns(run, 10), "add-or-remove")
    with pytest.raises(InvalidInput, match="above 1"):
        NegativeBinomialRuns(Gaussian(1), 1, 1)


@pytest.mark.theorem("T214-sampled-moments")
def test_moments_of_sampled_gaussians_at_integers_and_between() -> None:
    for q, s in (("1/100", "2"), ("1/2", "1"), ("9/10", "3")):
        q_, s_ = float(Fraction(q)), float(s)
        laws = {order: SampledGaussianLoss(Fraction(q), Fraction(s), order) for order in ("remove", "add")}

        def ratio(x: np.ndarray, q_: float = q_, s_: float = s_) -> np.ndarray:
            return 1 - q_ + q_ * np.exp((2 * x - 1) / (2 * s_ * s_))

        def normal(x: np.ndarray, s_: float = s_) -> np.ndarray:
            return np.exp(-x * x / (2 * s_ * s_)) / (s_ * math.sqrt(2 * math.pi))

        for exponent in (0.5, 1.0, 2.5, 6.0, 60.0, 200.0):
            bounds = {order: float(law.bound_log_moment(arb(exponent))) for order, law in laws.items()}
            add = math.log(integral(lambda x, p=-exponent: normal(x) * ratio(x) ** p, []))
            assert add <= bounds["add"] + 1e-12
            assert bounds["add"] == pytest.approx(min(bounds["remove"], -exponent * math.log1p(-q_)), rel=1e-12)
            if exponent > 6:  # a quadrature that is too wide
                continue
            remove = math.log(integral(lambda x, p=exponent + 1: normal(x) * ratio(x) ** p, []))
            assert add <= remove + 1e-12 and bounds["remove"] >= remove - 1e-12
            if exponent == int(exponent):
                assert bounds["remove"] <= remove * (1 + 1e-9) + 1e-12
                assert abs(float(log_moment_at(Fraction(q), Fraction(s), int(exponent))) - remove) < 1e-9


def test_a_training_inside_of_a_selection_and_beside_other_steps() -> None:
    run = compose((PoissonSampled(Gaussian(1), "1/100"), 100))
    best = NegativeBinomialRuns(run, 10, 1)
    one, alone, beside = (privacy_profile(what, "add-or-remove").epsilon("1e-6", digits=3).upper
                          for what in (run, best, compose(best, Gaussian(10))))
    assert one < alone < beside and float(alone.as_fraction()) < 3 * float(one.as_fraction())


@pytest.mark.theorem("T217-sampled-moments")
@pytest.mark.parametrize("q", ["1/100", "1/4", "9/10"])
@pytest.mark.parametrize("beside", [False, True])
def test_moments_of_steps_on_samples(q: str, beside: bool) -> None:
    """A Gaussian as zCDP, and beside a release of two outcomes on one batch, by quadrature."""
    s, share = 1.5, float(Fraction(q))
    pair = [(Fraction(7, 10), Fraction(2, 5)), (Fraction(3, 10), Fraction(3, 5))] if beside else [(1, 1)]
    step = compose(Gaussian("1.5"), Finite(*zip(*pair, strict=True))) if beside else ZCDP(1 / Fraction(9, 2))

    def ratio(x: np.ndarray, odds: float) -> np.ndarray:
        return 1 - share + share * odds * np.exp((2 * x - 1) / (2 * s * s))

    def normal(x: np.ndarray) -> np.ndarray:
        return np.exp(-x * x / (2 * s * s)) / (s * math.sqrt(2 * math.pi))

    laws = {order: step_of(PoissonSampled(step, q), order, Relation.ADD_OR_REMOVE).law for order in ("remove", "add")}
    for exponent in (0.5, 1.0, 2.5, 6.0, 20.0):
        for order, power in (("remove", exponent + 1), ("add", -exponent)):
            moment = sum(float(b) * integral(lambda x, p=power, o=float(a / b): normal(x) * ratio(x, o) ** p, [])
                         for a, b in pair)
            with ctx.workprec(80):
                bound = float(laws[order].bound_log_moment(arb(exponent)))  # type: ignore[union-attr]
            assert math.log(moment) <= bound * (1 + 1e-9) + 1e-12, (order, exponent)
            if order == "remove" and exponent == int(exponent) and exponent < 20:
                assert bound <= math.log(moment) * (1 + 1e-9) + 1e-12
            if order == "add" and q == "1/100" and exponent <= 6:
                assert bound <= 3 * math.log(moment)


def test_steps_on_samples_that_no_theorem_covers() -> None:
    with pytest.raises(Unsupported, match="positive delta"):
        privacy_profile(PoissonSampled(compose(Gaussian(2), ApproximateDP("0.1", "1e-9")), "0.1"), "add-or-remove")
    with pytest.raises(Unsupported, match="replace"):
        privacy_profile(PoissonSampled(ZCDP("0.1"), "0.1"), "replace")
    whole, part = (privacy_profile(compose((step, 20)), "add-or-remove").epsilon("1e-6", digits=3).upper
                   for step in (ZCDP("0.01"), PoissonSampled(ZCDP("0.01"), "0.01")))
    assert 10 * part.as_fraction() < whole.as_fraction()


@pytest.mark.theorem("T217-sampled-moments")
def test_bounds_of_moments_that_overflow_or_are_wide() -> None:
    """Where a moment of the step overflows nothing finite is said; of a ball of exponents the largest bound counts."""
    huge, plain = (step_of(PoissonSampled(ZCDP(rho), "1/10"), "remove", Relation("add-or-remove")).law
                   for rho in (Fraction(10)**40, Fraction(1, 2)))
    assert huge is not None and plain is not None
    for bits in (53, 64, 128):
        with ctx.workprec(bits):
            for power in ("1", "3/2", "2", "3", "51"):
                assert huge.bound_log_moment(ball(Fraction(power))) > 10**39
            assert huge.bound_relative_entropy() > 10**38
            wide = plain.bound_log_moment(arb("1.5 +/- 0.4"))
            assert all(wide >= plain.bound_log_moment(ball(Fraction(power))) for power in ("11/10", "3/2", "189/100"))
            assert all(plain.bound_log_moment(ball(Fraction(k, 7))).is_exact() for k in range(1, 40))


@pytest.mark.theorem("T43-bounded-range")
@pytest.mark.parametrize("monotone", [False, True])
def test_exponential_mechanisms_on_four_scores(monotone: bool) -> None:
    """Gumbel noise of scale 2 on every score, which gives e^{score/2}: neighbours in both orders, some attain it."""
    moves, scale, closest = (0, 1) if monotone else (-1, 0, 1), 2.0, 0.0
    law = Exponential(Fraction(1, 2) if monotone else 1)
    for epsilon in (0.0, 0.1, 0.3):
        bound = privacy_profile(law, "replace").delta(epsilon, digits=6).upper_float
        for before in ((0, 0, 0, 0), (0, 1, 3, 9), (0, 0, 0, -4)):
            for move in product(moves, repeat=4):
                p, q = (np.exp(np.array(scores) / scale) for scores in (
                    before, [s + m for s, m in zip(before, move, strict=True)]))
                p, q = p / p.sum(), q / q.sum()
                for a, b in ((p, q), (q, p)):
                    delta = float(np.maximum(a - math.exp(epsilon) * b, 0).sum())
                    assert delta <= bound + 1e-12
                    closest = max(closest, delta / bound)
    assert closest > 0.99
