"""Vectors with independent noise, trees and matrices as steps: against enumeration, one number, and both checkers."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from verified_dp import DiscreteLaplace, Gaussian, Laplace, certify, compose, privacy_profile
from verified_dp.core.families.discrete.mechanism import DiscreteGaussianVector, DiscreteLaplaceVector
from verified_dp.core.families.gaussian.mechanism import MatrixGaussian, TreeAggregation
from verified_dp.core.families.guarantees.mechanism import ZCDP
from verified_dp.core.families.laplace.mechanism import LaplaceVector
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.losses import describe_pairs
from verified_dp.spec import parse_spec
from verified_dp.verifiers import independent

F = Fraction
RELATIONS = ("add-or-remove", "zero-out", "replace")


def delta(mechanism: Any, relation: str = "add", epsilon: str = "1/4") -> Any:
    return privacy_profile(compose(mechanism), relation=relation).delta(epsilon, digits=4)


@pytest.mark.theorem("T150-shifts-by-norm")
@pytest.mark.parametrize("relation", RELATIONS)
def test_vectors_are_worth_one_number_that_changes_by_the_norm(relation: str) -> None:
    for vector, one in ((LaplaceVector(5, "3/2"), Laplace(5, "3/2")),
                        (DiscreteLaplaceVector(5, 3), DiscreteLaplace(5, 3))):
        found, expected = (privacy_profile(compose((m, 4)), relation=relation).delta("1/3", digits=8)
                           for m in (vector, one))
        assert (found.lower, found.upper, found.tight) == (expected.lower, expected.upper, True)


def product_law(shifts: tuple[int, ...], mass: np.ndarray) -> np.ndarray:
    """The law of independent noise moved by the shifts, on a window of integers."""
    law = np.ones(1)
    for shift in shifts:
        law = np.multiply.outer(law, np.roll(mass, shift)).ravel()
    return law


@pytest.mark.theorem("T150-shifts-by-norm")
def test_no_direction_of_a_discrete_laplace_vector_exceeds_it() -> None:
    """Every integer vector of L1 norm 3 in three coordinates, sums over a window that holds all but 1e-9."""
    places = np.arange(-45, 46)
    mass = np.exp(-np.abs(places) / 1.5)
    mass /= mass.sum()
    still, worst = product_law((0, 0, 0), mass), 0.0
    for shifts in ((3, 0, 0), (2, 1, 0), (1, 1, 1)):
        found = np.maximum(product_law(shifts, mass) - math.exp(0.25) * still, 0).sum()
        assert found <= float(delta(DiscreteLaplaceVector("3/2", 3)).upper) + 1e-9
        worst = max(worst, found)
    assert worst >= float(delta(DiscreteLaplaceVector("3/2", 3)).lower) - 1e-9


@pytest.mark.theorem("T151-discrete-gaussian-vectors")
def test_no_direction_of_a_discrete_gaussian_vector_exceeds_it() -> None:
    """Integer vectors of squared norm at most 5 in two coordinates; sensitivity 9/4 counts as sqrt(5)."""
    places = np.arange(-60, 61)
    mass = np.exp(-(places**2) / (2 * 9.0))
    mass /= mass.sum()
    still, bound = product_law((0, 0), mass), float(delta(DiscreteGaussianVector(9, "9/4"), epsilon="1").upper)
    for shifts in ((2, 1), (1, 1), (2, 0)):
        assert np.maximum(product_law(shifts, mass) - math.e * still, 0).sum() <= bound
    same = delta(ZCDP("5/18"), epsilon="1")
    assert bound == float(same.upper) and not same.tight


@pytest.mark.theorem("T153-tree-aggregation")
@pytest.mark.parametrize("steps", range(1, 40))
def test_the_first_leaf_of_a_tree_is_below_most_nodes(steps: int) -> None:
    """Complete subtrees of sizes 1, 2, 4, ..: leaves counted under each."""
    nodes = [range(start, start + size) for size in (2**n for n in range(7))
             for start in range(0, steps - size + 1, size)]
    tree = TreeAggregation("2", steps)
    assert max(sum(leaf in node for node in nodes) for leaf in range(steps)) == tree.depth
    plain = delta(compose((Gaussian("2"), tree.depth)), "zero-out")
    assert delta(tree, "zero-out").overlaps(plain)


def brute_force(matrix: MatrixGaussian) -> Fraction:
    """The largest squared norm over every set of rounds that may be taken, all contributions equal."""
    def norm(rounds: tuple[int, ...]) -> Fraction:
        rows = [sum((matrix.column[r - i] for i in rounds if 0 <= r - i < len(matrix.column)), F(0))
                for r in range(matrix.rounds)]
        return sum((row * row for row in rows), F(0))

    sizes = range(1, matrix.participating + 1)
    return max(norm(rounds) for size in sizes for rounds in itertools.combinations(range(matrix.rounds), size)
               if all(b - a >= (matrix.separation or 1) for a, b in itertools.pairwise(rounds)))


@pytest.mark.theorem("T134-toeplitz-columns")
@pytest.mark.parametrize("seed", range(6))
def test_matrices_against_every_pattern(seed: int) -> None:
    rng = random.Random(seed)
    column = sorted((F(rng.randrange(1, 9), 8) for _ in range(rng.randrange(1, 6))), reverse=True)
    matrix = MatrixGaussian("3/2", column, 8, rng.randrange(1, 4), rng.choice([None, 1, 2, 9]))
    square = brute_force(matrix)
    assert matrix.sensitivity_squared() == square
    for relation, factor in (("add", 1), ("replace", 4)):
        loss = privacy_profile(matrix, relation=relation).losses[0]
        assert loss.mean_shift_squared == factor * square / F(9, 4)


@pytest.mark.theorem("T134-toeplitz-columns")
def test_a_matrix_of_one_band_is_plain_steps() -> None:
    identity, plain = MatrixGaussian("2", [1], 12, separation=3), compose((Gaussian("2"), 4))
    assert all(delta(identity, relation).overlaps(delta(plain, relation)) for relation in RELATIONS)


SPECS = {
    "laplace-vector": ("add", "scale = 10\nsensitivity = 3\ncount = 3"),
    "discrete-laplace-vector": ("replace", "scale = 10\nsensitivity = 3\ncount = 3"),
    "discrete-gaussian-vector": ("zero-out", 'sigma_squared = 100\nsensitivity = "3/2"\ncount = 3'),
    "tree-aggregation": ("zero-out", "noise_multiplier = 3\nsteps = 100"),
    "matrix-gaussian": ("replace", 'noise_multiplier = 3\ncolumn = [1, "1/2"]\nrounds = 8\nseparation = 2'),
}


def certified(kind: str, more: str = "") -> Any:
    relation, keys = SPECS[kind]
    return certify(parse_spec(f'relation = "{relation}"\n{more}[[mechanism]]\nkind = "{kind}"\n{keys}\n'
                              '[claim]\nepsilon = 12\ndelta = "1e-5"\n'), digits=4)


@pytest.mark.parametrize("kind", SPECS)
def test_certificates_are_valid_by_both_checkers(kind: str) -> None:
    found = certified(kind)
    assert found.verdict == "proved" and found.verify().valid and independent.verify(found.to_bytes()).valid
    assert any(words.startswith(f"{kind}: ") for words in found["assumptions"])


@pytest.mark.parametrize("kind", ["laplace-vector", "discrete-laplace-vector", "discrete-gaussian-vector"])
def test_groups_add_norms_up(kind: str) -> None:
    found = certified(kind, "group_size = 2\n")
    assert found.verify().valid and independent.verify(found.to_bytes()).valid
    assert all("T72-groups" in pair["theorem"] for pair in found["pairs"])


@pytest.mark.theorem("T150-shifts-by-norm")
def test_on_samples_vectors_are_covered_where_a_record_is_there_or_not() -> None:
    vector, one = (delta(PoissonSampled(m, "1/10"), "zero-out") for m in (LaplaceVector(1, 2), Laplace(1, 2)))
    assert (vector.lower, vector.upper) == (one.lower, one.upper)
    with pytest.raises(Unsupported, match="replace"):
        delta(PoissonSampled(LaplaceVector(1, 2), "1/10"), "replace")
    with pytest.raises(Unsupported, match="group_size"):
        privacy_profile(compose(PoissonSampled(LaplaceVector(1, 2), "1/10")), relation="add", group_size=2)


@pytest.mark.parametrize(("mechanism", "relation"), [
    (TreeAggregation(1, 5), "add"), (TreeAggregation(1, 5), "replace")])
def test_trees_are_for_zero_out(mechanism: Any, relation: str) -> None:
    with pytest.raises(Unsupported, match="zero-out"):
        describe_pairs(compose(mechanism), privacy_profile(Gaussian(1), relation=relation).relation)


@pytest.mark.parametrize("mechanism", [TreeAggregation(1, 5), MatrixGaussian(1, [1], 3), DiscreteGaussianVector(1, 1)])
def test_none_of_these_runs_on_samples(mechanism: Any) -> None:
    with pytest.raises(Unsupported):
        PoissonSampled(mechanism, "1/2")


@pytest.mark.parametrize(("make", "key"), [
    (lambda: MatrixGaussian(1, ["1/2", 1], 4), "column[2]"), (lambda: MatrixGaussian(1, [0], 4), "column[1]"),
    (lambda: MatrixGaussian(1, [1], 10**6), "rounds"), (lambda: MatrixGaussian(1, [1] * 4096, 10**5), "rounds"),
    (lambda: TreeAggregation(0, 4), "noise_multiplier"), (lambda: DiscreteGaussianVector(1, 0), "sensitivity"),
    (lambda: DiscreteLaplaceVector(1, "3/2"), "sensitivity")])
def test_wrong_numbers_are_named(make: Any, key: str) -> None:
    with pytest.raises(InvalidInput) as error:
        make()
    assert error.value.key == key
