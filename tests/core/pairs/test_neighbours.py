"""Random allocation and cyclic Poisson against small data sets: all records' draws enumerated, two rounds on a grid."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from verified_dp import CyclicPoisson, Gaussian, RandomAllocation, compose, privacy_profile
from verified_dp.core.kernel.composition import Composition

F = Fraction
S = 0.7
Y = np.linspace(-6, 6, 361)
CELL = (Y[1] - Y[0]) ** 2
EPSILONS = ("0", "1/2", "2")
Sums = dict[tuple[float, float], float]


def law(sums: Sums) -> np.ndarray:
    """The density of two noisy sums."""
    lines = {mean: np.exp(-((Y - mean) ** 2) / (2 * S * S)) / (S * math.sqrt(2 * math.pi)) for mean in range(-3, 4)}
    return np.asarray(sum(weight * np.outer(lines[int(a)], lines[int(b)]) for (a, b), weight in sums.items()))


def drawn(records: tuple[float, ...], places: list[tuple[tuple[int, int], float]]) -> Sums:
    """Each record is in the two rounds by a draw of its own: (in the first, in the second) with its probability."""
    found: Sums = {}
    for choice in itertools.product(places, repeat=len(records)):
        sums = tuple(sum(x * where[j] for x, (where, _) in zip(records, choice, strict=True)) for j in (0, 1))
        weight = math.prod(probability for _, probability in choice)
        found[sums[0], sums[1]] = found.get((sums[0], sums[1]), 0.0) + weight
    return found


ALLOCATED = [((1, 0), 0.5), ((0, 1), 0.5)]
COINS = [((a, b), (0.25 if a else 0.75) * (0.25 if b else 0.75)) for a in (0, 1) for b in (0, 1)]
"""The rounds 1 and 3 of three in two groups: the first group's."""


def worst_sticks(places: list[tuple[tuple[int, int], float]], order: str, relation: str) -> dict[str, float]:
    """The largest hockey-stick of all neighbours with up to two other records and contributions in -1, 0, 1."""
    worst = dict.fromkeys(EPSILONS, 0.0)
    for others in itertools.chain.from_iterable(itertools.product((-1.0, 0.0, 1.0), repeat=n) for n in range(3)):
        without = law(drawn(others if relation != "zero-out" else (0.0, *others), places))
        for x in (1.0, -1.0):
            with_it = law(drawn((x, *others), places))
            p, q = (with_it, without) if order == "remove" else (without, with_it)
            for epsilon in EPSILONS:
                found = float(np.maximum(p - math.exp(float(F(epsilon))) * q, 0).sum() * CELL)
                worst[epsilon] = max(worst[epsilon], found)
    return worst


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("composition", "places"), [
    pytest.param(compose(RandomAllocation(Gaussian("0.7"), 2)), ALLOCATED,
                 marks=pytest.mark.theorem("T133-random-allocation")),
    pytest.param(compose(CyclicPoisson(Gaussian("0.7"), 2, "1/4", 3)), COINS,
                 marks=pytest.mark.theorem("T130-participation-patterns"))])
def test_no_neighbours_exceed_the_pair_and_some_attain_it(
        composition: Composition, places: list[tuple[tuple[int, int], float]], order: str) -> None:
    profile = privacy_profile(composition, relation=order)
    for epsilon, found in worst_sticks(places, order, order).items():
        ends = profile.delta(epsilon, digits=8)
        assert float(ends.lower) - 1e-4 < found < float(ends.upper) + 1e-4


@pytest.mark.theorem("T133-random-allocation")
def test_records_that_are_zeroed_out_are_those_that_are_absent() -> None:
    sticks = [worst_sticks(ALLOCATED, order, "zero-out") for order in ("remove", "add")]
    profile = privacy_profile(RandomAllocation(Gaussian("0.7"), 2), relation="zero-out")
    for epsilon in EPSILONS:
        assert abs(max(stick[epsilon] for stick in sticks) - float(profile.delta(epsilon, digits=6).upper)) < 1e-4


Places = list[tuple[tuple[int, ...], float]]
Rows = tuple[tuple[float, ...], ...]


def density(means: dict[tuple[float, ...], float], line: np.ndarray) -> np.ndarray:
    """Of as many noisy sums as the means have coordinates, noise 1."""
    total = np.zeros([len(line)] * len(next(iter(means))))
    for mean, weight in means.items():
        axes = [np.exp(-((line - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in mean]
        product = np.array(weight)
        for axis in axes:
            product = np.multiply.outer(product, axis)
        total += product
    return total


def mixed(records: list[tuple[float, Places]], matrix: Rows) -> dict[tuple[float, ...], float]:
    """The law of C x, each record in its places by a draw of its own."""
    found: dict[tuple[float, ...], float] = {}
    for choice in itertools.product(*(places for _, places in records)):
        sums = [sum(x * where[j] for (x, _), (where, _) in zip(records, choice, strict=True))
                for j in range(len(matrix))]
        mean = tuple(round(sum(c * x for c, x in zip(row, sums, strict=True)), 9) for row in matrix)
        found[mean] = found.get(mean, 0.0) + math.prod(probability for _, probability in choice)
    return found


def identity(n: int) -> Rows:
    return tuple(tuple(float(i == j) for j in range(n)) for i in range(n))


def subsets(t: int, k: int) -> Places:
    chosen = list(itertools.combinations(range(t), k))
    return [(tuple(int(j in one) for j in range(t)), 1 / len(chosen)) for one in chosen]


def turns(rounds: int, groups: int, first: int, q: float) -> Places:
    """Poisson draws in the rounds of a group."""
    mine = range(first, rounds, groups)
    draws = itertools.product((0, 1), repeat=len(mine))
    return [(tuple(dict(zip(mine, draw, strict=True)).get(j, 0) for j in range(rounds)),
             math.prod(q if one else 1 - q for one in draw)) for draw in draws]


KEPT: Places = [((1, 0, 1, 0), 0.5), ((0, 1, 0, 1), 0.5)]
BANDS: Rows = ((0.6, 0.0, 0.0), (0.8, 0.6, 0.0), (0.0, 0.8, 1.0))
"""Two bands, columns of norm 1: the records of rounds 1 and 3 move the rows 1 and 2, and the row 3."""
patterns = pytest.mark.theorem("T130-participation-patterns")


@patterns
@pytest.mark.parametrize(("composition", "mine", "other", "matrix", "points", "attained"), [
    (compose((RandomAllocation(Gaussian(1), 2, fixed=True), 2)), KEPT, KEPT, identity(4), 37, True),
    (compose(RandomAllocation(Gaussian(1), 3, 2)), subsets(3, 2), subsets(3, 2), identity(3), 101, False),
    (compose(RandomAllocation(Gaussian(1), 3, 3)), subsets(3, 3), subsets(3, 3), identity(3), 101, True),
    (compose(CyclicPoisson(Gaussian(1), 2, "1/3", 3)), turns(3, 2, 0, 1 / 3), turns(3, 2, 1, 1 / 3), BANDS, 101, True),
], ids=["kept", "two of three", "all", "two bands"])
def test_longer_patterns_and_matrices_are_below_their_pairs(
        composition: Composition, mine: Places, other: Places, matrix: Rows, points: int, attained: bool) -> None:
    """Up to one other record; kinks cost the rule 1e-3, or 4e-3 in four dimensions."""
    line = np.linspace(-5, 6, points)
    cell, slack = (line[1] - line[0]) ** len(matrix), 4e-3 if len(matrix) == 4 else 1e-3
    profiles = {order: privacy_profile(composition, relation=order) for order in ("remove", "add")}
    worst = dict.fromkeys(itertools.product(profiles, EPSILONS), 0.0)
    for rest in ([], [(-1.0, other)], [(1.0, other)]):
        with_it = density(mixed([(1.0, mine), *rest], matrix), line)
        without = density(mixed(rest, matrix), line) if rest else density({(0.0,) * len(matrix): 1.0}, line)
        for order, epsilon in worst:
            p, q = (with_it, without) if order == "remove" else (without, with_it)
            found = float(np.maximum(p - math.exp(float(F(epsilon))) * q, 0).sum() * cell)
            worst[order, epsilon] = max(worst[order, epsilon], found)
    for (order, epsilon), found in worst.items():
        ends = profiles[order].delta(epsilon, digits=4 if attained else 2)
        assert found < float(ends.upper) + slack
        assert found > (float(ends.lower) - slack if attained else 0.7 * float(ends.upper) - slack)


@patterns
def test_replaced_records_of_a_group_are_below_cyclic_poisson() -> None:
    """x against another in the same group, with their own signs in both of its rounds; opposite ones attain it."""
    line, q = np.linspace(-6, 6, 301), 1 / 3
    profile = privacy_profile(CyclicPoisson(Gaussian(1), 2, "1/3", 3), relation="replace")
    drawn_twice: Places = [((a, b), (q if a else 1 - q) * (q if b else 1 - q)) for a in (0, 1) for b in (0, 1)]

    def law(signs: tuple[float, float]) -> np.ndarray:
        means: dict[tuple[float, ...], float] = {}
        for (a, b), weight in drawn_twice:
            means[signs[0] * a, signs[1] * b] = means.get((signs[0] * a, signs[1] * b), 0.0) + weight
        return density(means, line)

    for epsilon in EPSILONS:
        sticks = {(x, other): float(np.maximum(law(x) - math.exp(float(F(epsilon))) * law(other), 0).sum()
                                    * (line[1] - line[0]) ** 2)
                  for x in ((1.0, 1.0), (1.0, -1.0)) for other in itertools.product((-1.0, 0.0, 1.0), repeat=2)}
        ends = profile.delta(epsilon, digits=6)
        assert max(sticks.values()) < float(ends.upper) + 1e-4
        assert sticks[(1.0, 1.0), (-1.0, -1.0)] > float(ends.lower) - 1e-4
