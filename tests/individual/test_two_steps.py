"""Many records of two steps in doubles: against the contour engine on each by itself, and against balls."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from verified_dp.core.kernel.balls import normal_density, normal_tail
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.individual.alone import Steps, enclose_delta, enclose_epsilon, steps_of_readings
from verified_dp.individual.boxes import SLACK, UNIT
from verified_dp.individual.input import count_array, count_table
from verified_dp.individual.losses import individual_deltas, individual_epsilons
from verified_dp.individual.normal import LARGEST_RATIO, excess, logarithm, mills
from verified_dp.individual.shared import shared_epsilons
from verified_dp.individual.training import Training
from verified_dp.individual.two_steps import END, TwoSteps, build_line
from verified_dp.individual.widths import narrow

TRAINING = Training(1, 1, Fraction(1, 100))


def squares(records: int, seed: int, least: float = -3.0) -> np.ndarray:
    """(records, 2): r^2 2^60 of both steps, the smaller first."""
    ratios = np.sort(np.exp(np.random.default_rng(seed).uniform(least, 0, (records, 2))), axis=1)
    return (ratios * ratios * UNIT).astype(np.int64)


def by_itself(quantity: str, given: Fraction, units: np.ndarray, training: Training,
              digits: int = 5) -> tuple[float, float]:
    steps = [Steps(Fraction(int(unit), UNIT), Fraction(int(unit), UNIT), 1) for unit in units]
    return (enclose_epsilon if quantity == "epsilon" else enclose_delta)(steps, training, given, digits)


@pytest.mark.theorem("T164-two-steps")
def test_logarithm_and_mills_ratio_against_balls() -> None:
    rng = np.random.default_rng(0)
    values = np.exp(rng.uniform(-600, 600, 500))
    values[:250] = 1 + rng.uniform(-0.5, 0.5, 250) * 10.0 ** -rng.integers(0, 15, 250)
    places = np.concatenate([rng.uniform(-6.99, 53.99, 500), np.arange(-447, 449) / 128])
    with ctx.workprec(200):
        for x, log in zip(values, logarithm(values), strict=True):
            exact = arb(float(x)).log()
            assert abs(arb(float(log)) - exact) <= abs(exact) / 2**47
        for x, value, error in zip(places, *mills(places), strict=True):
            ratio = normal_tail(arb(float(x))) / normal_density(arb(float(x)), arb(1))
            assert abs(arb(float(value)) - ratio) <= arb(float(error)) <= ratio / 10**8


def exact_excess(a: float, b: float, ratio: float) -> arb:
    a, b, ratio = map(arb, (a, b, ratio))
    place = (a / b).log() / ratio + ratio / 2
    return a * normal_tail(-place) - b * normal_tail(ratio - place)


@pytest.mark.theorem("T164-two-steps")
def test_what_a_step_has_left_is_bounded_from_both_sides() -> None:
    rng, close = np.random.default_rng(1), 0
    ratio = np.exp(rng.uniform(-12, np.log(LARGEST_RATIO), 600))
    a = np.exp(rng.uniform(-30, 30, 600))
    b = a * np.exp(ratio * rng.uniform(-8, 45, 600))
    below, above = excess(a, b, ratio, False), excess(a, b, ratio, True)
    with ctx.workprec(2000):
        for row, (low, high) in enumerate(zip(below, above, strict=True)):
            exact = exact_excess(*(float(x[row]) for x in (a, b, ratio)))
            assert arb(float(low)) <= exact <= arb(float(high))
            close += high - low < 1e-6 * high
    assert close > 360
    nothing, none = np.array([-1.0, 2.0]), np.array([3.0, -3.0])
    assert excess(nothing, none, np.ones(2), True) == pytest.approx([1e-290, 5.0])
    assert excess(nothing, none, np.ones(2), False) == pytest.approx([0.0, 5.0])


@pytest.mark.theorem("T164-two-steps")
@pytest.mark.parametrize(("low", "high", "bits"), [(-4, 4, 2), (6, 20, 4), (-30, 40, 3)])
def test_a_line_holds_the_normal_law(low: int, high: int, bits: int) -> None:
    """Masses and means of the cells, of either sign, add up to those of the normal law; hats are of mass and mean."""
    line = build_line(low, high, bits)
    assert line.nodes[0] == -END and line.nodes[-1] == END and (np.diff(line.nodes) > 0).all()
    fine = np.diff(line.nodes[(line.nodes >= low) & (line.nodes <= high)])
    assert (fine == 2.0**-bits).all() and line.least.sum() <= 1 <= line.most.sum() + 1e-15
    assert line.least == pytest.approx(line.most, rel=1e-14) and line.hats.sum() == pytest.approx(1, abs=1e-14)
    assert (line.hats @ line.nodes, line.least @ line.means) == pytest.approx((0, 0), abs=1e-14)
    assert (line.nodes[:-1] <= line.means).all() and (line.means <= line.nodes[1:]).all()
    with ctx.workprec(300):
        for cell in range(0, len(line.least), 7):
            a, b = (arb(float(end)) for end in line.nodes[cell:cell + 2])
            mass = normal_tail(a) - normal_tail(b) if a > 0 else normal_tail(-b) - normal_tail(-a)
            if not (a < 0 < b):
                assert arb(float(line.least[cell])) <= mass <= arb(float(line.most[cell]))


CASES = [("remove", "1/100", "1", "epsilon", "1e-3"), ("add", "1/2", "2", "epsilon", "1e-12"),
         ("remove", "9/10", "2", "delta", "0.01"), ("add", "1/1000", "0.3", "delta", "0.0001"),
         ("remove", "1/2", "0.4", "delta", "2")]


@pytest.mark.theorem("T164-two-steps", "T119-rounded-sensitivities")
@pytest.mark.parametrize(("order", "probability", "noise", "quantity", "given"), CASES)
def test_two_steps_hold_each_record_by_itself(order: str, probability: str, noise: str, quantity: str,
                                              given: str) -> None:
    training, units = Training(noise, 1, probability, order), squares(2, len(given))
    lower, upper = TwoSteps(training, quantity, Fraction(given), 1e-3).enclose(units, units)
    assert narrow(quantity, lower, upper, 1e-3).all()
    for row, own in enumerate(units):
        least, most = by_itself(quantity, Fraction(given), own, training)
        assert lower[row] <= most and least <= upper[row]


@pytest.mark.theorem("T164-two-steps")
@pytest.mark.parametrize(("order", "quantity", "given"), [("remove", "epsilon", "1e-100"), ("add", "epsilon", "1e-100"),
                                                          ("remove", "delta", "20"), ("remove", "delta", "3")])
def test_tiny_deltas_of_two_steps(order: str, quantity: str, given: str) -> None:
    """Down to 1e-280 relatively; all but a few next to the largest loss in the add order."""
    training, units = replace(TRAINING, order=order), squares(40, 3, -2.0)
    lower, upper = TwoSteps(training, quantity, Fraction(given), 0.01).enclose(units, units)
    assert narrow(quantity, lower, upper, 0.01).mean() >= (1 if order == "remove" else 0.95)
    assert quantity == "epsilon" or upper.min() < 1e-100
    for row in (30,):
        least, most = by_itself(quantity, Fraction(given), units[row], training, 4)
        assert lower[row] <= most and least <= upper[row]


@pytest.mark.theorem("T164-two-steps")
@pytest.mark.parametrize("quantity", ["epsilon", "delta"])
def test_ends_do_not_depend_on_the_other_records(quantity: str) -> None:
    units = squares(700, 5)
    question = TwoSteps(TRAINING, quantity, Fraction(1, 1000), 0.01)
    lower, upper = question.enclose(units - SLACK, units)
    for rows in (np.array([3]), np.array([9, 600, 41]), np.arange(699, -1, -1)):
        again = question.enclose(units[rows] - SLACK, units[rows])
        assert np.array_equal(again[0], lower[rows]) and np.array_equal(again[1], upper[rows])


@pytest.mark.theorem("T164-two-steps")
def test_what_does_not_apply_is_left_open() -> None:
    units = squares(3, 0)
    for training, given in ((replace(TRAINING, noise_multiplier=Fraction(1, 13)), 1),
                            (replace(TRAINING, sampling_probability=1 - Fraction(1, 10**9)), 1), (TRAINING, 700)):
        lower, upper = TwoSteps(training, "delta", Fraction(given), 0.01).enclose(units, units)
        assert (lower == 0).all() and np.isinf(upper).all()


def norms(records: int, seed: int = 2) -> np.ndarray:
    """Some clipped, some tiny, some 0, some twice the same."""
    found = np.exp(np.random.default_rng(seed).uniform(-4, 0.7, (2, records)))
    found[:, :3], found[1, 3:6], found[1, 6:40] = [[0.0, 1.0, 1e-7]] * 2, 0.0, found[0, 6:40]
    return found


@pytest.mark.theorem("T164-two-steps")
@pytest.mark.parametrize("tiny", [False, pytest.param(True, marks=pytest.mark.long)])
def test_many_records_of_two_steps_are_narrow(tiny: bool) -> None:
    """A delta below all doubles takes half a minute by itself."""
    table = norms(600)
    counts = count_array(table, TRAINING, "raw")
    epsilons, deltas = individual_epsilons(counts, "1e-5", alone=0), individual_deltas(counts, "0.1", alone=0)
    assert epsilons.narrow.all() and deltas.narrow.all() and epsilons.lines == deltas.lines == 0
    for row in (1, 4, 7, 10, 100) if tiny else (4, 100):
        steps = steps_of_readings({float(norm): 1 for norm in table[:, row]}, TRAINING)
        steps = steps if len(steps) == 2 else [replace(steps[0], count=2)]
        low, high = enclose_epsilon(steps, TRAINING, Fraction(1, 10**5), 6)
        assert epsilons.lower[row] <= high and low <= epsilons.upper[row]
        low, high = enclose_delta(steps, TRAINING, Fraction(1, 10), 6)
        assert deltas.lower[row] <= high and low <= deltas.upper[row]


@pytest.mark.theorem("T164-two-steps")
def test_readings_of_tables_are_those_of_arrays() -> None:
    """The same ends from rows in any order, of a reading that stands for two steps too; changed ones are refused."""
    table, order = norms(50), np.random.default_rng(0).permutation(100)
    rows = {"record": np.tile(np.arange(50), 2)[order], "step": np.repeat([1, 2], 50)[order],
            "norm": table.ravel()[order]}
    counts, ours = count_table(rows, TRAINING, "raw"), count_array(table, TRAINING, "raw")
    found, same = (individual_epsilons(one, "1e-5", alone=0) for one in (counts, ours))
    assert np.array_equal(found.lower, same.lower) and np.array_equal(found.upper, same.upper)
    twice = count_table({"record": np.arange(50), "step": np.ones(50, int), "norm": table[0],
                         "repeats": np.full(50, 2)}, TRAINING, "raw")
    assert twice.readings is not None
    assert np.array_equal(twice.readings.norms_of(np.array([7, 3])), table[0][[[7, 7], [3, 3]]])
    changed = replace(ours, readings=count_array(table + 1e-3, TRAINING, "raw").readings)
    with pytest.raises(InvalidInput, match="changed since they were counted"):
        individual_epsilons(changed, "1e-5")


@pytest.mark.theorem("T164-two-steps")
def test_a_step_more_is_refused_even_of_norm_zero() -> None:
    """Its integers add up to those counted, and the largest of three would be left out."""
    table = norms(50)
    counts, longer = (count_array(rows, TRAINING, "raw") for rows in (table, np.vstack([table, np.zeros(50)])))
    with pytest.raises(InvalidInput, match="changed since they were counted"):
        individual_epsilons(replace(counts, readings=longer.readings), "1e-5", alone=0)


@pytest.mark.theorem("T164-two-steps")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_odds_beyond_doubles_are_cut(order: str) -> None:
    """e^600 times the largest likelihood ratio at little noise."""
    units = np.array([[0, UNIT], [UNIT // 2, UNIT], [UNIT, UNIT]])
    lower, upper = TwoSteps(Training("0.084", 1, "1/100", order), "delta", Fraction(600), 0.01).enclose(units, units)
    assert (lower >= 0).all() and (lower <= upper).all() and (upper < 1e-100).all()


@pytest.mark.long
@pytest.mark.theorem("T164-two-steps")
def test_shared_tables_enclose_two_steps_too() -> None:
    """The same ends, where no two readings are in one bucket, as from the records' own counts."""
    table = norms(60)[:, 6:]
    table[1] = table[0] * np.where(table[0] < 0.4, 2, 0.5)
    counts = replace(count_array(table, TRAINING, "raw", 32), readings=None)
    lower, upper = shared_epsilons(counts, "1e-5").enclose(counts)
    found = individual_epsilons(counts, "1e-5", alone=0)
    assert found.narrow.all() and (found.lower <= upper).all() and (lower <= found.upper).all()
    assert narrow("epsilon", lower, upper, 0.01).all()
