"""Random allocation and cyclic Poisson against small data sets: all records' draws enumerated, two rounds on a grid."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from verified_dp import CyclicPoisson, Gaussian, RandomAllocation, compose, privacy_profile
from verified_dp.core.composition import Composition

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
