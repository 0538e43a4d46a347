"""Records that no grid encloses well, one by one: few steps, tiny deltas, from readings and from counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidInput
from verified_dp.individual import alone, refine
from verified_dp.individual.alone import Steps, enclose_delta, enclose_epsilon, steps_of_counts, steps_of_readings
from verified_dp.individual.counts import Counts, nothing
from verified_dp.individual.input import Recorder, count_array, count_parquet
from verified_dp.individual.losses import individual_deltas, individual_epsilons
from verified_dp.individual.refine import Question, Search
from verified_dp.individual.squares import SQUARE_SLACK
from verified_dp.individual.training import Training

TRAINING = Training(1, 1, Fraction(1, 100))
TWO_STEPS = np.array([[1.0, 0.7, 0.0], [0.9, 0.7, 0.0]])


def counted(norms: np.ndarray, training: Training, parts: int = 64, repeats: int = 1) -> Counts:
    return count_array(norms, training, "raw", parts, repeats)


def blind(norms: np.ndarray, training: Training, parts: int = 64) -> Counts:
    """The same counts without the readings."""
    recorder = Recorder(training, norms.shape[1], "raw", parts)
    for row in norms:
        recorder.add(row)
    return recorder.counts()


@pytest.fixture
def no_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record with steps is enclosed one by one: grids are counted, and prove nothing."""
    monkeypatch.setattr(Search, "_enclose", lambda *arguments: None)


@pytest.mark.theorem("T118-individual-enclosure")
def test_steps_of_readings_are_exact() -> None:
    training = Training(2, "0.7", Fraction(1, 2))
    squares = (Fraction(0.1) / Fraction(7, 10)) ** 2, Fraction(0), Fraction(1)
    steps = steps_of_readings({0.1: 3, 0.0: 2, 5.0: 4}, training)
    assert steps == [Steps(square, square, count) for square, count in zip(squares, (3, 2, 4), strict=True)]


@pytest.mark.theorem("T115-squared-sensitivity", "T119-rounded-sensitivities")
@pytest.mark.parametrize("parts", [2, 64, 1024])
def test_steps_of_counts_hold_the_readings(parts: int) -> None:
    """Each step lies in one of the intervals; a bucket's only step is known to 2^-47."""
    training = Training(1, "0.7", Fraction(1, 2))
    norms = np.random.default_rng(3).uniform(0, 0.8, size=(9, 20)) ** 2
    norms[0, :5], norms[1, 3] = [0, 5e-324, 0.35, 0.7, 1.0], norms[2, 3]
    counts = blind(norms, training, parts)
    for row in range(20):
        intervals = steps_of_counts(counts, row)
        squares = sorted((min(Fraction(float(x)), training.clipping) / training.clipping) ** 2 for x in norms[:, row])
        ends = sorted((part.least, part.most) for part in intervals for _ in range(part.count))
        assert len(ends) == len(squares)
        assert all(least <= square <= most for (least, most), square in zip(ends, squares, strict=True))
        assert all(part.most - part.least <= SQUARE_SLACK for part in intervals if part.count == 1)


@pytest.mark.theorem("T115-squared-sensitivity", "T119-rounded-sensitivities")
@pytest.mark.parametrize(("clipping", "norm", "parts"), [
    (Fraction(1, 10), 0.05, 2),  # the double is above 1/10: r is a little above 1/2, in the bucket that ends there
    (1 + Fraction(520999, 1000 * 2**53), 1023 / 1024 + 520 * 2.0**-53, 1024)])  # r is a little below its bucket
def test_steps_may_lie_a_little_outside_of_their_bucket(clipping: Fraction, norm: float, parts: int) -> None:
    training = Training(1, clipping, Fraction(1, 2))
    counts, square = blind(np.full((2, 1), norm), training, parts), (Fraction(norm) / clipping) ** 2
    bucket, edges = int(counts.steps[0].argmax()), training.square_edges(parts)
    assert not edges[bucket] <= square <= edges[bucket + 1]
    found, = steps_of_counts(counts, 0)
    assert found.count == 2 and found.least <= square <= found.most


@pytest.mark.theorem("T118-individual-enclosure", "T119-rounded-sensitivities")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_two_steps(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow from readings; from counts too where a bucket has one step, else between the bucket's ends."""
    monkeypatch.setattr(refine, "MAX_PARTS", 256)
    training = Training(1, 1, Fraction(1, 100), order)
    exact = individual_epsilons(counted(TWO_STEPS, training), "1e-5", width="1/10000")
    assert exact.narrow.all() and not exact.reason and exact.parts.tolist() == [0, 0, 64]
    counts = blind(TWO_STEPS, training, 256)
    known = individual_epsilons(counts, "1e-5", width="1/10000")
    assert (known.lower <= exact.upper).all() and (exact.lower <= known.upper).all()
    assert known.narrow.tolist() == [True, False, True]
    assert known.reason == "1 of 3 intervals are wider than asked: their few steps are hard to enclose"
    least, most = steps_of_counts(counts, 1)[0].least, steps_of_counts(counts, 1)[0].most
    assert least < Fraction(7, 10) ** 2 < most
    for square, found in ((least, known.lower[1]), (most, known.upper[1])):
        alone = enclose_epsilon([Steps(square, square, 2)], training, Fraction(1, 10**5), 8)
        assert alone[0] - 1e-4 < found < alone[1] + 1e-4


@pytest.mark.theorem("T118-individual-enclosure")
def test_one_step_against_its_closed_form() -> None:
    """With the loss at most eps exactly up to x: q (Q((x-1)/s) - (e^eps - 1 + q)/q Q(x/s))."""
    import mpmath

    norms = np.array([[1.0, 0.25]])
    found = individual_deltas(counted(norms, TRAINING), "0.5", width="1e-8")
    assert found.narrow.all()
    with mpmath.workdps(30):
        for i, ratio in enumerate(norms[0]):
            q, s = mpmath.mpf(1) / 100, 1 / mpmath.mpf(float(ratio))
            edge = (mpmath.exp("0.5") - 1 + q) / q
            x = s * s * mpmath.log(edge) + mpmath.mpf(1) / 2

            def tail(z: mpmath.mpf) -> mpmath.mpf:
                return mpmath.erfc(z / mpmath.sqrt(2)) / 2

            delta = q * (tail((x - 1) / s) - edge * tail(x / s))
            assert found.lower[i] <= delta <= found.upper[i]


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize("delta", ["1e-250", "1e-320"])
def test_deltas_that_no_double_holds(delta: str) -> None:
    counts = counted(np.array([[1.0], [0.5]]), TRAINING, repeats=20)
    found = individual_epsilons(counts, delta)
    assert found.narrow.all() and found.parts[0] == 0 and found.lower[0] > 30
    steps = steps_of_readings({1.0: 20, 0.5: 20}, TRAINING)
    assert enclose_delta(steps, TRAINING, Fraction(float(found.upper[0])), 4)[1] < 1.01 * float(delta)


def test_how_many_are_enclosed_alone_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refine, "MAX_PARTS", 64)
    counts = counted(TWO_STEPS, TRAINING)
    none = individual_epsilons(counts, "1e-5", alone=0)
    assert none.reason.endswith("let more than 0 be enclosed one by one (alone=)")
    assert none.parts.tolist() == [64, 64, 64]
    one, widths = individual_epsilons(counts, "1e-5", alone=1), none.upper - none.lower
    assert np.flatnonzero(one.parts == 0).tolist() == [widths.argmax()] and 0 < widths[1] != widths[0] > 0
    monkeypatch.undo()
    two = individual_epsilons(counts, "1e-300", alone=2)
    assert two.narrow.sum() == 2 and two.parts.tolist() == [0, 0, 64]
    assert two.reason.endswith("let more than 2 be enclosed one by one (alone=)")
    known = individual_epsilons(blind(TWO_STEPS, TRAINING), "1e-300")
    assert known.parts.tolist() == [64, 64, 64]
    assert known.reason.endswith("1 of 3 intervals are wider than asked: their few steps are hard to enclose, from "
                                 "counts in 64 parts")


def test_readings_that_changed_are_noticed(no_grids: None) -> None:
    norms = TWO_STEPS.copy()
    counts = counted(norms, TRAINING)
    norms[0, 1] = 0.71
    for most in (0, 50):  # on a finer grid, one by one
        with pytest.raises(InvalidInput, match="changed since"):
            individual_epsilons(counts, "1e-5", alone=most)


@pytest.mark.parametrize("identifier", ["record", "'user ' || record"])
def test_records_of_a_file(tmp_path: Path, identifier: str, no_grids: None) -> None:
    """The same as from an array, whatever the records are called."""
    path = tmp_path / "norms.parquet"
    rows = ", ".join(f"({record}, {step}, {norm})" for (step, record), norm in np.ndenumerate(TWO_STEPS))
    table = f"(VALUES {rows}) AS t(record, step, norm)"
    duckdb.sql(f"COPY (SELECT {identifier} AS record, step, norm::DOUBLE AS norm FROM {table}) TO '{path}'")
    read, given = count_parquet(path, TRAINING, "raw"), counted(TWO_STEPS, TRAINING)
    assert (read.steps == given.steps).all() and (read.high == given.high).all()
    found, known = individual_epsilons(read, "1e-5"), individual_epsilons(given, "1e-5")
    assert found.lower.tolist() == known.lower.tolist() and found.upper.tolist() == known.upper.tolist()
    assert found.parts.tolist() == [0, 0, 0]


def test_from_counts_without_steps() -> None:
    counts = blind(np.zeros((3, 2)), TRAINING)
    found = individual_epsilons(replace(counts, readings=None), "1e-300")
    assert found.upper.tolist() == [0, 0]


def test_a_record_that_is_gone_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "norms.parquet"
    write = f"COPY (SELECT record, 0 AS step, 0.5::DOUBLE AS norm FROM range({{}}, 3) r(record)) TO '{path}'"
    duckdb.sql(write.format(0))
    counts = count_parquet(path, TRAINING, "raw")
    duckdb.sql(write.format(1))
    with pytest.raises(InvalidInput, match="2 of 3 records when they were read again"):
        individual_epsilons(counts, "1e-5", alone=0)


def test_readings_of_one_record_may_stand_for_more_steps_than_one_reading() -> None:
    """Two readings of the same norm, together above the 10^9 steps that one may stand for."""
    assert asked_alone(counted(np.array([[0.5], [0.5]]), TRAINING, repeats=520_000_000), (1.0, 1.0)) == [
        [Steps(Fraction(1, 4), Fraction(1, 4), 1_040_000_000)]]


def asked_alone(counts: Counts, answer: tuple[float, float]) -> list[list[Steps]]:
    """The steps of the records that a search encloses one by one, where each of them has this interval."""
    asked: list[list[Steps]] = []

    class Alone(Question):
        def enclose_alone(self, steps: list[Steps], training: Training, digits: int) -> tuple[float, float]:
            asked.append(steps)
            return answer

    Search(counts, Alone("epsilon", Fraction(1, 10**290), Fraction(1, 100)), nothing).run(1)
    return asked


def test_enclosures_that_contradict_each_other_are_an_error() -> None:
    counts = counted(np.array([[0.5]]), TRAINING)
    assert len(asked_alone(counts, (1.0, 1.0))) == 1
    with pytest.raises(InconsistentEnclosures, match="two enclosures of record 0"):
        asked_alone(counts, (2.0, 1.0))


def test_tiny_norms_do_not_stop_the_others(no_grids: None) -> None:
    """Noise beyond what the search takes: a step between none and a larger one."""
    norms = np.array([[1.0, 5e-324, 1e-20, 1.0], [5e-324, 1e-160, 0.0, 0.0]])
    found = individual_deltas(counted(norms, TRAINING), "0", width="1/1000")
    assert found.narrow[[0, 3]].all() and (found.lower == [found.lower[3], 0, 0, found.lower[3]]).all()
    assert 4e-23 < found.upper[2] < 1e-8 and 1 <= found.upper[0] / found.upper[3] < 1.001


@pytest.mark.long
def test_the_largest_epsilon() -> None:
    assert individual_deltas(blind(TWO_STEPS, TRAINING, 2), 2**40).upper.max() < 1e-280


def test_numbers_out_of_range() -> None:
    counts = blind(TWO_STEPS, TRAINING, 2)
    for epsilon in (Fraction(2**41), Fraction(10**400)):
        with pytest.raises(InvalidInput, match="2\\^40"):
            individual_deltas(counts, epsilon)
    found = individual_epsilons(counts, "1e-5", width=Fraction(1, 10**400), alone=0)
    assert found.narrow.tolist() == [False, False, True]


def test_records_without_steps_lose_nothing() -> None:
    counts = Recorder(TRAINING, 2, "raw").counts()
    for found in (individual_epsilons(counts, "1e-5"), individual_deltas(counts, "0")):
        assert found.upper.tolist() == [0, 0] and not found.reason


def test_progress_over_several_grids_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refine, "MAX_PARTS", 128)
    shares: list[float] = []
    found = individual_epsilons(counted(np.random.default_rng(1).random((9, 2)), TRAINING), "1e-5", width="1e-3",
                                progress=lambda share, text: shares.append(share), alone=0)
    assert found.lines >= 3 and len(set(shares)) >= 4
    assert shares == sorted(shares) and shares[0] > 0 and shares[-1] == 1


def test_ids_that_no_array_tells_apart_are_refused(tmp_path: Path) -> None:
    path, ids = tmp_path / "norms.parquet", "(9007199254740992 + record)::DECIMAL(38, 0)"
    duckdb.sql(f"COPY (SELECT {ids} AS record, 0 AS step, 0.5::DOUBLE AS norm FROM range(2) r(record)) TO '{path}'")
    with pytest.raises(InvalidInput, match="column record"):
        count_parquet(path, TRAINING, "raw")


@pytest.mark.parametrize("alone", [-1, 2.0, True, "5"])
def test_wrong_alone(alone: object) -> None:
    with pytest.raises(InvalidInput, match="alone"):
        individual_epsilons(counted(TWO_STEPS, TRAINING), "1e-5", alone=alone)  # type: ignore[arg-type]


@pytest.mark.theorem("T118-individual-enclosure")
def test_one_small_step_does_not_take_minutes() -> None:
    """By its closed form: the contour takes minutes on a single step that is far out."""
    training = Training("0.5", 1, "0.001")
    step = steps_of_readings({1 / 64: 1}, training)
    lower, upper = enclose_epsilon(step, training, Fraction(1, 10**9), 4)
    assert 0 < lower < upper < 1.001 * lower
    low, high = (enclose_delta(step, training, Fraction(epsilon), 4) for epsilon in (upper, lower))
    assert low[0] <= 1e-9 <= high[1]


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize("count", [1, 2])
def test_epsilon_is_not_below_zero(count: int) -> None:
    """delta(0) is below the target by less than first-order estimates are wrong: eps was enclosed by -1e-36."""
    training = Training("0.5", 1, "0.001")
    target = Fraction(1, 1000) * count
    assert enclose_epsilon([Steps(Fraction(1), Fraction(1), count)], training, target, 4) == (0.0, 0.0)


def test_ends_are_rounded_outwards() -> None:
    """To the next double on each side, and at the widest of the two compositions."""
    ends = Fraction(1, 3), Fraction(2, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alone, "bracket_epsilon", lambda *arguments: SimpleNamespace(ends=ends))
        lower, upper = enclose_epsilon([Steps(Fraction(1), Fraction(1), 1)], TRAINING, Fraction(1, 1000), 4)
    assert Fraction(lower) < ends[0] < Fraction(np.nextafter(lower, 1)) and upper > ends[1]
    assert Fraction(np.nextafter(upper, 0)) < ends[1] < Fraction(upper)


@pytest.mark.theorem("T118-individual-enclosure")
def test_steps_of_equal_sensitivity_add_up() -> None:
    one, square = Fraction(1), Fraction(1, 4)
    for parts in ([Steps(one, one, 3)] * 2, [Steps(one, one, 1), Steps(square, square, 2), Steps(one, one, 5)]):
        sizes = {step.least: sum(other.count for other in parts if other.least == step.least) for step in parts}
        listed = [Steps(size, size, count) for size, count in sizes.items()]
        assert enclose_delta(parts, TRAINING, one, 3) == enclose_delta(listed, TRAINING, one, 3)


@pytest.mark.theorem("T118-individual-enclosure", "T119-rounded-sensitivities")
def test_a_step_beyond_the_range_lies_between_none_and_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "LEAST_VARIANCE", Fraction(1, 16))
    training, square = Training(2, 1, Fraction(1, 10)), Fraction(1, 5)  # v = 1/20
    found = enclose_delta([Steps(square, square, 1)], training, Fraction(0), 4)
    known = enclose_delta([Steps(Fraction(1, 4), Fraction(1, 4), 1)], training, Fraction(0), 4)
    assert found == (0.0, known[1]) and known[1] > 0
    rest = Steps(Fraction(1), Fraction(1), 2)
    least, most = (enclose_delta([rest, *more], training, Fraction(0), 4)
                   for more in ([], [Steps(Fraction(1, 4), Fraction(1, 4), 1)]))
    assert enclose_delta([rest, Steps(square, square, 1)], training, Fraction(0), 4) == (least[0], most[1])
