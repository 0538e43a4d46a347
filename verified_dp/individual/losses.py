"""Individual privacy losses: eps_i(delta) and delta_i(eps) of every record of a DP-SGD training, enclosed.

    counts = count_parquet("norms.parquet", Training("1", "1", "0.01"), norms="raw")
    result = individual_epsilons(counts, "1e-5", width="1/100")

What is enclosed is the privacy profile of the composition of the record's own pairs, one per step. If the norms do not
depend on what was released before, this is a guarantee for the record (T21, T25). In a training they do: then it is the
loss that the record had on the path that was taken, not a guarantee given in advance (for that, use a filter).

All records are first enclosed on a coarse grid of sensitivities; those whose interval is wider than asked again on
finer ones, as far as the counts go, or, where the readings can be read again, up to 1024 parts; and what then is still
wide (few steps, deltas below 1e-280) one by one.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from verified_dp.errors import InvalidInput
from verified_dp.exact import non_negative, open_unit
from verified_dp.individual.alone import Steps, enclose_delta, enclose_epsilon, steps_of_counts, steps_of_readings
from verified_dp.individual.brackets import bracket_epsilons
from verified_dp.individual.counts import Counts, Progress, nothing
from verified_dp.individual.evaluate import Rows, evaluate_rows
from verified_dp.individual.full_batch import FullBatch, full_batch_deltas, full_batch_epsilons
from verified_dp.individual.input import count_steps
from verified_dp.individual.lines import COARSE, Choice, LineSearch, LogMasses, best_lines, lines_at
from verified_dp.individual.tables import build_table
from verified_dp.individual.training import MAX_PARTS, Training, bucket_count

WIDTH = Fraction(1, 100)
"""Width asked of an interval, relative to its upper end."""
LEAST_EPSILON = 1e-3
"""A smaller epsilon is asked as accurately as this one."""
FINER, CHUNK, CELLS, SPLIT = 4, 4096, 2**25, 4.0
"""The next grid has so many times the parts. Records evaluated at once; counts held at once on a finer grid; and the
records of a line are split where the cut-offs they need differ by more than this factor."""
FEW, FEW_BUCKETS, ALONE = 20, 6, 50
"""So few wide records with steps in so few buckets, where their readings can be read, are enclosed one by one without a
finer grid; and so many altogether if no other number is given (each takes from 0.1 second to several)."""
LEAST_DELTA = Fraction(1, 10**280)
"""Where a smaller one is asked for, records are enclosed one by one only; and a smaller one is found as accurately."""
BITS = 20.0
"""Accuracy of delta at which aliases and cut-off are chosen."""


@dataclass(frozen=True, eq=False)
class IndividualLosses:
    """lower_i <= x_i <= upper_i for every record, x = "epsilon" at `given` = delta, or "delta" at `given` = epsilon.

    The doubles are exact ends; upper may be inf. asked: relative width asked. parts: into how many parts (0, 1] was
    cut for each record, 0 where its own readings were composed. reason: why some intervals are wider than asked, or
    "". seconds: time spent. lines, distinct: how many tables and kinds of records it took.
    """

    quantity: str
    given: str
    records: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    asked: float
    parts: np.ndarray
    reason: str
    seconds: float
    lines: int
    distinct: int

    @property
    def relative_width(self) -> np.ndarray:
        """(upper - lower) / upper, 0 where both are 0."""
        size = np.where(np.isfinite(self.upper) & (self.upper > 0), self.upper, 1.0)
        return np.where(np.isinf(self.upper), 1.0, (self.upper - self.lower) / size)

    @property
    def narrow(self) -> np.ndarray:
        """Which intervals are as narrow as asked."""
        return _narrow(self.quantity, self.lower, self.upper, self.asked)


def individual_epsilons(counts: Counts, delta: object, width: object = WIDTH,
                        progress: Progress = nothing, alone: int = ALONE) -> IndividualLosses:
    """Enclose eps_i(delta) = inf {eps >= 0: delta_i(eps) <= delta} of every record.

    Args: counts: from `input`. delta: exact, in (0, 1). width: asked of upper - lower, relative to upper (to 1e-3 where
        upper is smaller). progress: told the share done. alone: at most so many records are enclosed one by one,
        those with the widest intervals.
    Raises: InvalidInput, InexactInput.
    Source: Koskela, Tobaben, Honkela, "Individual privacy accounting with Gaussian differential privacy" (2023),
    appendix D; the enclosures are T115 to T118.
    """
    if counts.training.sampling_probability == 1:
        asked = open_unit(width, "width")
        return _without_sampling(counts, "epsilon", str(delta), asked,
                                 full_batch_epsilons(counts, delta, asked, progress))
    target = open_unit(delta)
    log_target = math.log(target.numerator) - math.log(target.denominator)

    def choose(masses: LogMasses, weights: np.ndarray) -> Choice:
        return best_lines(masses, weights, log_target)

    def enclose(rows: Rows, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return bracket_epsilons(rows, target, guess)

    def enclose_alone(steps: list[Steps], training: Training, digits: int) -> tuple[float, float]:
        return enclose_epsilon(steps, training, target, digits)

    question = _Question("epsilon", str(delta), choose, enclose, enclose_alone, open_unit(width, "width"),
                         target < LEAST_DELTA)
    return _solve(counts, question, alone, progress)


def individual_deltas(counts: Counts, epsilon: object, width: object = WIDTH,
                      progress: Progress = nothing, alone: int = ALONE) -> IndividualLosses:
    """Enclose delta_i(eps) of every record at one eps >= 0, which has to be a binary double such as 0.5.

    Args, Raises: as individual_epsilons; `width` is relative to the upper end.
    """
    if counts.training.sampling_probability == 1:
        asked = open_unit(width, "width")
        return _without_sampling(counts, "delta", str(epsilon), asked,
                                 full_batch_deltas(counts, epsilon, asked, progress))
    value = non_negative(epsilon, "epsilon")
    near = float(value)
    if near != value:
        raise InvalidInput("epsilon", value, "a number that a double holds exactly, such as 0.5 or 1.25")

    def choose(masses: LogMasses, weights: np.ndarray) -> Choice:
        return lines_at(masses, weights, near)

    def enclose(rows: Rows, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return rows.delta(guess)

    def enclose_alone(steps: list[Steps], training: Training, digits: int) -> tuple[float, float]:
        return enclose_delta(steps, training, value, digits)

    question = _Question("delta", str(epsilon), choose, enclose, enclose_alone, open_unit(width, "width"))
    return _solve(counts, question, alone, progress)


def _without_sampling(counts: Counts, quantity: str, given: str, width: Fraction, found: FullBatch) -> IndividualLosses:
    """Each record's composition is one Gaussian step (T124)."""
    asked, records = float(width), len(counts.records)
    wide = int((~_narrow(quantity, found.lower, found.upper, asked)).sum())
    reason = f"{wide} of {records} intervals are wider than asked: the numbers are too small" if wide else ""
    return IndividualLosses(quantity, given, counts.records, found.lower, found.upper, asked,
                            np.full(records, counts.parts), reason, found.seconds, 0, found.solved)


@dataclass(frozen=True)
class _Question:
    """What is asked of every record, and how: the choice of its line, the interval on that line, one record alone.

    tiny: the deltas asked are too small for doubles.
    """

    quantity: str
    given: str
    choose: Callable[[LogMasses, np.ndarray], Choice]
    enclose: Callable[[Rows, np.ndarray], tuple[np.ndarray, np.ndarray]]
    enclose_alone: Callable[[list[Steps], Training, int], tuple[float, float]]
    width: Fraction
    tiny: bool = False


def _solve(counts: Counts, question: _Question, alone: int, progress: Progress) -> IndividualLosses:
    """Every record on grids as fine as it needs."""
    start = time.perf_counter()
    search = _Search(counts, question, progress)
    search.run(alone)
    return IndividualLosses(
        question.quantity, question.given, counts.records, search.lower, search.upper, float(question.width),
        search.parts, search.reason(alone), time.perf_counter() - start, search.lines, search.distinct)


@dataclass
class _Search:
    """The intervals found so far. lines, distinct: tables built, and kinds of records on the first grid."""

    counts: Counts
    question: _Question
    progress: Progress
    lines: int = 0
    distinct: int = 0
    lower: np.ndarray = field(init=False)
    upper: np.ndarray = field(init=False)
    parts: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.counts.records)
        self.lower, self.upper, self.parts = np.zeros(count), np.full(count, np.inf), np.zeros(count, dtype=int)
        self._tried = np.zeros(count, dtype=bool)

    @property
    def finest(self) -> int:
        """Parts of the finest grid that can be had."""
        return MAX_PARTS if self.counts.readings else self.counts.parts

    def run(self, alone: int) -> None:
        """On finer and finer grids, the wide ones again, and what then is wide one by one, at most `alone` records."""
        rows, parts = np.arange(len(self.lower)), min(self.counts.parts, COARSE)
        while len(rows) and not self.question.tiny:
            masses = LogMasses(self.counts.training, parts)
            again = -(-len(rows) * bucket_count(parts) // CELLS) if parts > self.counts.parts else 1
            for block in np.array_split(rows, again):
                self._enclose(masses, block, self._count(block, parts))
            rows = rows[self._wide(rows)]
            quick = rows[(self.counts.steps[rows] > 0).sum(axis=1) <= FEW_BUCKETS]
            if self.counts.readings and len(quick) <= min(FEW, alone):
                self._enclose_alone(quick)
                rows = rows[self._wide(rows)]
            if parts == self.finest:
                break
            parts = min(FINER * parts, self.finest)
        rows = rows[~self._tried[rows]]
        self._enclose_alone(rows[np.argsort(self.lower[rows] - self.upper[rows], kind="stable")][:alone])

    def reason(self, alone: int) -> str:
        """Why some are wide."""
        count = int(self._wide(np.arange(len(self.lower))).sum())
        if not count:
            return ""
        advice = (f"count the readings in more than {self.finest} parts" if self.finest < MAX_PARTS else
                  f"let more than {alone} be enclosed one by one (alone=)" if count > alone else
                  "their few steps are hard to enclose")
        return f"{count} of {len(self.lower)} intervals are wider than asked: {advice}"

    def _enclose_alone(self, rows: np.ndarray) -> None:
        """These records one by one, from their readings where they can be read again, else from the counts."""
        digits, training = 2 - math.floor(math.log10(self.question.width)), self.counts.training
        self._tried[rows] = True
        known: dict[frozenset[tuple[Steps, int]], tuple[float, float]] = {}
        for done, row in enumerate(rows, 1):
            steps = self._steps(row)
            kind = frozenset(Counter(steps).items())  # equal steps may be listed twice
            known[kind] = known.get(kind) or self.question.enclose_alone(steps, training, digits)
            self.lower[row] = max(self.lower[row], known[kind][0])
            self.upper[row] = min(self.upper[row], known[kind][1])
            self.parts[row] = 0 if self.counts.readings else self.parts[row]
            self.progress(done / len(rows), f"{self.question.quantity} of {done} of {len(rows)} records one by one")

    def _steps(self, row: int) -> list[Steps]:
        if self.counts.readings is None:
            return steps_of_counts(self.counts, row)
        training, readings = self.counts.training, self.counts.readings.of_record(self.counts.records[row])
        again = count_steps((np.array([norm]) for norm in readings), training, "raw", self.counts.parts,
                            list(readings.values()))
        _check_same(again, self.counts.take(np.array([row])))
        return steps_of_readings(readings, training)

    def _wide(self, rows: np.ndarray) -> np.ndarray:
        return ~_narrow(self.question.quantity, self.lower[rows], self.upper[rows], float(self.question.width))

    def _count(self, rows: np.ndarray, parts: int) -> Counts:
        """The counts of these records on a grid, from the readings where the counts are too coarse."""
        counts = self.counts.take(rows)
        if parts <= counts.parts or counts.readings is None:
            return counts.coarser(parts)
        finer = counts.readings.count(counts.records, parts)
        _check_same(finer.coarser(counts.parts), counts)
        return finer

    def _enclose(self, masses: LogMasses, rows: np.ndarray, counts: Counts) -> None:
        """One pass over some records (row i of `counts` is record rows[i]): each kind once, then all of its records.

        Records of one kind on this grid may differ on a finer one.
        """
        first, inverse = counts.distinct
        self.distinct = self.distinct or len(first)
        kinds = counts.take(first)
        choice = self._choice(masses, kinds.coarser(masses.parts), rows[first])
        lower, upper = self._enclose_kinds(masses, kinds, choice)
        self.lower[rows] = np.maximum(self.lower[rows], lower[inverse])
        self.upper[rows] = np.minimum(self.upper[rows], upper[inverse])
        self.parts[rows] = counts.parts

    def _choice(self, masses: LogMasses, coarse: Counts, rows: np.ndarray) -> Choice:
        """The question's choice, with a better guess of eps where one is known."""
        pieces = np.array_split(np.arange(len(rows)), max(1, len(rows) // 65536))
        parts = [self.question.choose(masses, coarse.take(piece).weights()) for piece in pieces]
        index, epsilon, log_delta = (np.concatenate([getattr(part, name) for part in parts])
                                     for name in ("index", "epsilon", "log_delta"))
        known = (self.question.quantity == "epsilon") & (self.lower[rows] > 0) & np.isfinite(self.upper[rows])
        middle = np.where(known, (self.lower[rows] + np.where(known, self.upper[rows], 0.0)) / 2, epsilon)
        return Choice(index, middle, log_delta)

    @np.errstate(over="ignore", invalid="ignore")  # where something overflows the bounds are infinite
    def _enclose_kinds(self, masses: LogMasses, kinds: Counts, choice: Choice) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends for every kind, line by line; a line has a table for each group of cut-offs."""
        (lower, upper), done = np.zeros((2, len(kinds.records))), 0
        coarse = kinds.coarser(masses.parts)
        for index in np.unique(choice.index):
            places = np.flatnonzero(choice.index == index)
            line = LineSearch(masses, coarse.take(places), choice.take(places), kinds.parts, BITS)
            for omega, group in _groups(line.cutoffs()):
                rows = places[group]
                witness = line.choose_table(np.flatnonzero(kinds.steps[rows].any(axis=0)), omega)
                table = build_table(kinds.training, kinds.parts, witness)
                self.lines += 1
                for chunk in np.array_split(rows, -(-len(rows) // CHUNK)):
                    found = evaluate_rows(table, kinds.take(chunk))
                    lower[chunk], upper[chunk] = self.question.enclose(found, choice.epsilon[chunk])
                    done += len(chunk)
                    self.progress(done / len(lower), f"{self.question.quantity} of {done} of {len(lower)} kinds of "
                                                     f"records, {kinds.parts} parts")
        return lower, upper


def _check_same(again: Counts, before: Counts) -> None:
    """InvalidInput where readings were not the same when they were read again."""
    if not again.equals(before):
        raise InvalidInput("readings", "changed since they were counted", "left as they are until this is done")


def _groups(cutoffs: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """The records by the cut-offs they need: (the largest, which records)."""
    classes = np.floor(np.log(cutoffs / cutoffs.min()) / math.log(SPLIT)).astype(int)
    for number in np.unique(classes):
        group = np.flatnonzero(classes == number)
        yield float(cutoffs[group].max()), group


def _narrow(quantity: str, lower: np.ndarray, upper: np.ndarray, width: float) -> np.ndarray:
    size = np.maximum(upper, LEAST_EPSILON if quantity == "epsilon" else float(LEAST_DELTA))
    return np.isfinite(upper) & (upper - lower <= width * size)
