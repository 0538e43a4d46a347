"""Toeplitz matrix mechanisms: the worst pattern against all of them (T134)."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from verified_dp import compose, privacy_profile
from verified_dp.core.families.gaussian.mechanism import MatrixGaussian
from verified_dp.core.families.sampling.mechanism import CyclicPoisson
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.interop.events import from_dp_event
from verified_dp.interop.matrices import (
    balls_in_bins,
    banded_cyclic,
    root_above,
    separated_samples,
)

F = Fraction
columns = pytest.mark.theorem("T134-toeplitz-columns")


def moved(column: list[Fraction], n: int, contributions: dict[int, Fraction]) -> Fraction:
    """|sum_i C_i g_i|^2, contributions of dimension 1."""
    rows = [sum((column[r - i] * g for i, g in contributions.items() if 0 <= r - i < len(column)), F(0))
            for r in range(n)]
    return sum((row * row for row in rows), F(0))


def allowed(n: int, apart: int, times: int) -> list[tuple[int, ...]]:
    return [rounds for size in range(1, times + 1) for rounds in itertools.combinations(range(n), size)
            if all(later - earlier >= apart for earlier, later in itertools.pairwise(rounds))]


@columns
@pytest.mark.parametrize("seed", range(8))
def test_no_pattern_exceeds_it_and_one_attains_it(seed: int) -> None:
    rng = random.Random(seed)
    n, apart, times = rng.randrange(1, 9), rng.randrange(1, 4), rng.randrange(1, 5)
    column = sorted((F(rng.randrange(0, 9), 8) for _ in range(rng.randrange(1, n + 1))), reverse=True)
    column[0] = max(column[0], F(1, 8))
    bound = MatrixGaussian(1, column, n, apart, times).sensitivity_squared()
    patterns = allowed(n, apart, times)
    assert max(moved(column, n, dict.fromkeys(rounds, F(1))) for rounds in patterns) == bound
    for rounds in patterns:
        assert moved(column, n, {i: F(rng.randrange(-4, 5), 4) for i in rounds}) <= bound


@columns
def test_apart_by_the_bands_norms_add_up() -> None:
    assert MatrixGaussian(1, [1, "1/2", "1/4"], 9, 3).sensitivity_squared() == 3 * (1 + F(1, 4) + F(1, 16))
    assert MatrixGaussian(1, [1], 10).sensitivity_squared() == 10
    assert MatrixGaussian(1, [1], 10, participations=4).sensitivity_squared() == 4


@columns
def test_roots_are_at_least_the_root() -> None:
    assert 0 < root_above(F(5, 2)) ** 2 - F(5, 2) < F(1, 2**120)
    assert root_above(F(9, 4)) == F(3, 2)


@pytest.mark.parametrize(("column", "key"), [
    ([1, 2], "column[2]"), ([], "column"), ([0], "column[1]"), ([1, "-1/2"], "column[2]"), ("1", "column")])
def test_other_columns_are_refused(column: object, key: str) -> None:
    with pytest.raises(InvalidInput) as error:
        MatrixGaussian(1, column, 3)  # type: ignore[arg-type]
    assert error.value.key == key


patterns = pytest.mark.theorem("T130-participation-patterns")


@patterns
def test_a_banded_matrix_is_checked_exactly() -> None:
    rows = [["3/5"], ["4/5", "3/5"], [0, "4/5", "3/5"], [0, 0, "4/5", 1]]
    found = banded_cyclic("1.1", rows, groups=2, probability="1/50")
    assert found == CyclicPoisson(Gaussian("1.1"), 2, "1/50", 4) and found.turns == 2
    longer = "0.80000000000000000000000000000001"
    for wrong, said in (([["3/5", "1/9"], [0, 1]], "lower triangular"), ([[1], [0, 1], ["1/9", 0, 1]], "bands"),
                        ([["3/5"], [longer, "3/5"]], "column 1 of squared norm"), ([[1], [0, "9/8"]], "column 2")):
        with pytest.raises(InvalidInput, match=said):
            banded_cyclic("1.1", wrong, groups=2, probability="1/50")
    assert banded_cyclic("1.1", [[0.5]], groups=2, probability="1/50").turns == 1


@patterns
def test_blocks_of_a_banded_matrix_do_not_overlap() -> None:
    """Contributions of rounds i, i + B, .. move rows apart: |C_i|^2 |g_i|^2 add up without cross terms."""
    rng, bands, n = random.Random(2), 3, 9
    matrix = [[F(rng.randrange(-4, 5), 8) if 0 <= i - j < bands else F(0) for j in range(n)] for i in range(n)]
    found = banded_cyclic(1, matrix, groups=bands, probability="1/2")
    for first in range(bands):
        rounds = range(first, n, bands)
        assert len(rounds) <= found.turns
        g = {j: F(rng.randrange(-8, 9), 8) for j in rounds}
        moved_rows = sum((sum((matrix[i][j] * g[j] for j in rounds), F(0)) ** 2 for i in range(n)), F(0))
        assert moved_rows == sum((g[j] ** 2 * sum((matrix[i][j] ** 2 for i in range(n)), F(0)) for j in rounds), F(0))


@pytest.mark.theorem("T235-separated-samples")
@pytest.mark.parametrize("separation", [2, 3])
@pytest.mark.parametrize(("probability", "near"), [(0.05, 0.6), (0.4, 0.3)])
def test_separated_samples_are_at_most_poisson_samples(separation: int, probability: float, near: float) -> None:
    """Three rounds: the law with the record is a mixture over all patterns of its rounds, in three dimensions."""
    noise, epsilon = 1.5, 0.1
    x, weights = np.polynomial.legendre.leggauss(48)
    x, weights = 6 * noise * x + 0.5, 6 * noise * weights
    plain, moved = (np.exp(-((x - mean) ** 2) / (2 * noise**2)) / (noise * np.sqrt(2 * np.pi)) for mean in (0, 1))

    def cube(rounds: tuple[int, ...]) -> np.ndarray:
        return np.einsum("i,j,k->ijk", *(moved if joined else plain for joined in rounds))

    with_record: np.ndarray = np.zeros((48, 48, 48))
    for rounds in itertools.product((0, 1), repeat=3):
        chance = 1.0
        for t, joined in enumerate(rounds):
            now = 0.0 if any(rounds[max(0, t - separation + 1) : t]) else probability
            chance *= now if joined else 1 - now
        with_record = with_record + chance * cube(rounds)
    without, each = cube((0, 0, 0)), np.einsum("i,j,k->ijk", weights, weights, weights)
    poisson = separated_samples(str(noise), str(probability), 3)
    for order, p, q in (("remove", with_record, without), ("add", without, with_record)):
        exact = float((each * np.maximum(p - np.exp(epsilon) * q, 0)).sum())
        bound = float(privacy_profile(poisson, order).delta(str(epsilon), digits=5).upper)
        assert near * bound < exact <= bound * (1 + 1e-3)


def test_the_events_of_jax_privacy_for_banded_matrices_are_cyclic_sampling() -> None:
    """What amplified_bandmf_event(1.1, 10, num_bands=4, sampling_prob=0.02) of 2.0.0 returns; truncated ones alike."""
    sampled = {"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.02,
               "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.1}}
    read = from_dp_event({"class_name": "SelfComposedDpEvent", "count": 3, "event": sampled}).composition
    stated = compose(CyclicPoisson(Gaussian("1.1"), 4, "1/50", 10))
    assert [loss.parts for loss in privacy_losses(read, Relation.ADD_OR_REMOVE)] == [
        loss.parts for loss in privacy_losses(stated, Relation.ADD_OR_REMOVE)]
    truncated = {"class_name": "TruncatedSubsampledGaussianDpEvent", "dataset_size": 600, "sampling_probability": 0.02,
                 "truncated_batch_size": 30, "noise_multiplier": 1.1}
    read = from_dp_event({"class_name": "SelfComposedDpEvent", "count": 3, "event": truncated}).composition
    assert [type(part).__name__ for part, _ in read.parts] == ["TruncatedPoisson"]


def mixture_delta(vectors: list[list[float]], sigma: float, epsilon: float, order: str) -> float:
    """H_{e^eps} between the mixture of N(m_j, sigma^2 I), equal weights, and N(0, sigma^2 I), on a grid."""
    dimension, n = len(vectors[0]), {1: 4001, 2: 601, 3: 101}[len(vectors[0])]
    axis = np.linspace(-7.5, 7.5 + max(map(max, vectors)) / sigma, n)
    mesh = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij")).reshape(dimension, -1)
    base = np.exp(-(mesh**2).sum(0) / 2) * ((axis[1] - axis[0]) / math.sqrt(2 * math.pi)) ** dimension
    scaled = np.array(vectors) / sigma
    ratio = np.exp(scaled @ mesh - (scaled**2).sum(1)[:, None] / 2).mean(0)
    alpha = math.exp(epsilon)
    return float((base * np.maximum(ratio - alpha if order == "remove" else 1 - alpha * ratio, 0)).sum())


@pytest.mark.theorem("T226-allocation-under-a-matrix")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_contributions_that_answer_to_outputs_are_below_constant_ones(order: str) -> None:
    """Two bins, two rounds, C = (1, 0; c, d): g_1 = 1 and g_2 any function of y_1 with values in [-1, 1]."""
    z = np.linspace(-8, 11, 1201)
    weight = np.exp(-z * z / 2) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
    for c, d, sigma, epsilon in ((0.7, 1.0, 1.0, 0.3), (-0.7, 0.9, 0.8, 1.0), (0.2, 1.5, 1.3, 0.0)):
        found = []
        for answer in (np.ones_like, np.sign, lambda y: -np.sign(y - 1), np.tanh, np.cos):
            first, second = np.exp(z / sigma - 0.5 / sigma**2)[:, None], answer(sigma * z)[:, None] * d
            ratio = (first * np.exp(c * z[None, :] / sigma - c * c / (2 * sigma**2))
                     + np.exp(second * z[None, :] / sigma - second**2 / (2 * sigma**2))) / 2
            alpha = math.exp(epsilon)
            gain = ratio - alpha if order == "remove" else 1 - alpha * ratio
            found.append(float((weight[:, None] * weight[None, :] * np.maximum(gain, 0)).sum()))
        bound = mixture_delta([[1.0, abs(c)], [0.0, d]], sigma, epsilon, order)
        assert max(found) <= bound + 1e-4
        if c > 0:
            assert found[0] == pytest.approx(bound, abs=2e-4) and min(found) < bound - 1e-3


@pytest.mark.theorem("T226-allocation-under-a-matrix")
@pytest.mark.theorem("T228-common-part")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("column", "rounds", "bins"), [
    (["1", "1/2"], 2, 2), (["1", "-0.8", "0.3"], 3, 3), (["1"], 3, 3), (["1/2", "1/2", "1/2"], 3, 3),
    (["1", "0.9"], 4, 2)])
def test_balls_in_bins_are_below_their_common_part_and_the_rest(
        column: list[str], rounds: int, bins: int, order: str) -> None:
    """The exact pair by quadrature; equal where bins share nothing."""
    entries = [abs(float(F(one))) for one in column]
    rows = [[sum(entries[i - s] for s in range(first, rounds, bins) if 0 <= i - s < len(entries))
             for i in range(rounds)] for first in range(bins)]
    products = np.array(rows) @ np.array(rows).T
    vectors = np.linalg.cholesky(products + 1e-12 * np.eye(bins)).tolist()
    for sigma, epsilon in ((1.0, 0.4), (2.0, 0.1)):
        exact = mixture_delta(vectors, sigma, epsilon, order)
        for common in (None, 0, 0.3 * float(products.max())):
            bound = privacy_profile(balls_in_bins(sigma, column, rounds, bins, common), order).delta(epsilon, digits=3)
            assert exact <= bound.upper_float + 3e-4, (sigma, common)
            if column == ["1"] and not common:
                assert exact == pytest.approx(bound.upper_float, abs=1e-3)


@pytest.mark.theorem("T228-common-part")
def test_common_parts_of_many_bins() -> None:
    """Amplified where bins share little, no worse than all in common where they share much; wrong input."""
    for column, least, most in ((["1", "1/2"], 0.1, 0.2), ([str(round(0.95**i, 6)) for i in range(100)], 0.6, 1.02)):
        plain, found = (privacy_profile(what, "add-or-remove").epsilon("1e-6", digits=3) for what in (
            MatrixGaussian(2, column, 100, 100), balls_in_bins(2, column, 100, 100)))
        assert least < found.upper_float / plain.upper_float < most
    for wrong in ({"column": ["0"]}, {"common": 5}, {"common": -1}, {"bins": 0}, {"sigma": 0}):
        with pytest.raises(InvalidInput):
            balls_in_bins(**{"sigma": 2, "column": ["1", "1/2"], "rounds": 10, "bins": 5, **wrong})
    with pytest.raises(Unsupported):
        privacy_profile(balls_in_bins(2, ["1"], 10, 5), "replace").delta(1)
