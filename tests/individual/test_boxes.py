"""Many records of one or two steps: boxes between solved corners, against each record by itself."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from verified_dp.individual.boxes import SLACK, UNIT, Corner, enclose_boxes, few_squares

from verified_dp.individual.alone import enclose_delta, enclose_epsilon, steps_of_readings
from verified_dp.individual.input import count_array
from verified_dp.individual.losses import individual_deltas, individual_epsilons
from verified_dp.individual.training import Training

TRAINING = Training(1, 1, Fraction(1, 100))


def norms(steps: int, records: int, seed: int = 0) -> np.ndarray:
    """Some clipped, some tiny, some 0."""
    found = np.exp(np.random.default_rng(seed).uniform(-4, 0.7, (steps, records)))
    found[0, :3] = [0.0, 1.0, 1e-7]
    return found


def squares_of(column: np.ndarray) -> list[Fraction]:
    return sorted(min(Fraction(float(norm)), Fraction(1)) ** 2 for norm in column)


@pytest.mark.theorem("T148-boxes")
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("parts", [2, 64])
def test_squares_of_a_few_steps_hold_the_readings(steps: int, parts: int) -> None:
    table = norms(steps, 200)
    places, least, most = few_squares(count_array(table, TRAINING, "raw", parts), steps)
    assert len(places) == 200 if steps == 1 else 0 < len(places) < 200
    for place, low, high in zip(places, least, most, strict=True):
        exact = squares_of(table[:, place])
        assert all(a <= x * UNIT <= b <= a + SLACK for a, x, b in zip(low.tolist(), exact, high.tolist(), strict=True))
    clipped = np.flatnonzero((table >= 1).all(axis=0))
    assert len(clipped) > 1 and set(clipped) <= set(places)
    assert len(few_squares(count_array(table, TRAINING, "raw", parts), 3 - steps)[0]) == 0


@pytest.mark.theorem("T148-boxes")
@pytest.mark.parametrize("limit", [2, 5, 40, 10**6])
@pytest.mark.parametrize("steps", [1, 2])
def test_boxes_hold_a_growing_function(steps: int, limit: int) -> None:
    """Of a known function: always bounds, of solved corners only, and narrow where enough may be solved."""
    rng, solved = np.random.default_rng(limit), list[Corner]()
    most = np.sort((UNIT * np.exp(rng.uniform(-9, 0, (300, steps)))).astype(np.int64), axis=1)
    most[:40] = UNIT
    least = np.maximum(most - SLACK, 0)

    def value(corner: np.ndarray) -> float:
        return float(sum(math.sqrt(unit / UNIT) * (j + 1) for j, unit in enumerate(corner)))

    def solve(corner: Corner) -> tuple[float, float]:
        solved.append(corner)
        return value(corner) * (1 - 1e-9), value(corner) * (1 + 1e-9)

    lower, upper = enclose_boxes(least, most, solve, lambda low, high: high - low <= 0.01 * high, limit)
    assert len(solved) == len(set(solved)) <= limit
    for one, (low, high) in enumerate(zip(lower, upper, strict=True)):
        assert low <= value(least[one]) and value(most[one]) <= high
    assert limit < 10**6 or (upper - lower <= 0.01 * upper).all()
    assert limit != 40 or len(set(upper.tolist())) > 5


@pytest.mark.theorem("T148-boxes", "T119-rounded-sensitivities")
def test_many_single_steps_are_narrow_and_hold_each_by_itself() -> None:
    table = norms(1, 400)
    counts = count_array(table, TRAINING, "raw")
    epsilons = individual_epsilons(counts, "1e-5", width="1/20", alone=0)
    deltas = individual_deltas(counts, "0.1", alone=0)
    assert epsilons.narrow.all() and deltas.narrow.all() and epsilons.reason == deltas.reason == ""
    for row in range(0, 400, 57):
        steps = steps_of_readings({float(table[0, row]): 1}, TRAINING)
        low, high = enclose_epsilon(steps, TRAINING, Fraction(1, 10**5), 6)
        assert epsilons.lower[row] <= high and low <= epsilons.upper[row]
        low, high = enclose_delta(steps, TRAINING, Fraction(1, 10), 6)
        assert deltas.lower[row] <= high and low <= deltas.upper[row]


@pytest.mark.theorem("T148-boxes")
def test_pairs_of_one_kind_are_solved_once() -> None:
    """A thousand records with both steps clipped, and some with one: a few corners, whatever `alone` says of each."""
    table = np.full((2, 1000), 1.5)
    table[1, ::50] = 0.7
    found = individual_epsilons(count_array(table, TRAINING, "raw"), "1e-5", alone=8)
    assert found.narrow.all() and len(np.unique(found.upper)) == 2
    for row in (0, 1):
        steps = steps_of_readings({1.5: 1, 0.7: 1} if row == 0 else {1.5: 2}, TRAINING)
        low, high = enclose_epsilon(steps, TRAINING, Fraction(1, 10**5), 6)
        assert found.lower[row] <= high and low <= found.upper[row]
