"""From a question and counts to an interval for every record: all on a coarse grid, the wide ones on finer ones.

What then is still wide is enclosed one by one. Every interval found for a record contains its number (T118), so that
the largest lower and the smallest upper end are kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidInput
from verified_dp.core.kernel.exact import Number, non_negative, open_unit
from verified_dp.individual.alone import Steps, enclose_delta, enclose_epsilon, steps_of_counts, steps_of_readings
from verified_dp.individual.brackets import bracket_deltas, bracket_epsilons
from verified_dp.individual.counts import Counts, Onward, Progress
from verified_dp.individual.evaluate import Rows, evaluate_rows
from verified_dp.individual.input import count_steps
from verified_dp.individual.lines import COARSE, Choice, LineSearch, LogMasses, best_lines, lines_at
from verified_dp.individual.tables import build_table
from verified_dp.individual.training import MAX_PARTS, Training, bucket_count
from verified_dp.individual.widths import LEAST_DELTA, checked_width, narrow

FINER, CHUNK, CELLS, SPLIT = 4, 4096, 2**25, 4.0
"""The next grid has so many times the parts. Records evaluated at once; counts held at once on a finer grid; and the
records of a line are split where the cut-offs they need differ by more than this factor."""
FEW, FEW_BUCKETS, ALONE = 20, 6, 50
"""So few wide records with steps in so few buckets, where their readings can be read, are enclosed one by one without a
finer grid; and so many altogether if no other number is given (each takes from 0.1 second to several)."""
LEAST_WIDTH = Fraction(1, 10**17)
"""Less than the distance of two doubles: records alone are not solved beyond."""
BITS = 20.0
"""Accuracy of delta at which aliases and cut-off are chosen."""
LARGEST_EPSILON = Fraction(2**40)
"""Beyond it no line is chosen well."""


@dataclass(frozen=True)
class Question:
    """Of every record: quantity "epsilon" at `given` = delta, or "delta" at `given` = eps. width: asked, relatively."""

    quantity: str
    given: Fraction
    width: Fraction

    @classmethod
    def of_epsilon(cls, delta: Number, width: Number) -> Question:
        """eps_i(delta). Raises InvalidInput."""
        return cls("epsilon", open_unit(delta), checked_width(width))

    @classmethod
    def of_delta(cls, epsilon: Number, width: Number) -> Question:
        """delta_i(eps). Raises InvalidInput."""
        return cls("delta", non_negative(epsilon, "epsilon"), checked_width(width))

    def check(self) -> None:
        """InvalidInput for an eps beyond which no line is chosen well."""
        if self.quantity == "delta" and self.given > LARGEST_EPSILON:
            raise InvalidInput("epsilon", self.given, "a number <= 2^40")

    @property
    def tiny(self) -> bool:
        """Whether the deltas asked are too small for doubles."""
        return self.quantity == "epsilon" and self.given < LEAST_DELTA

    def choose(self, masses: LogMasses, weights: np.ndarray) -> Choice:
        """The line of every record."""
        if self.quantity == "delta":
            return lines_at(masses, weights, float(self.given))
        return best_lines(masses, weights, math.log(self.given.numerator) - math.log(self.given.denominator))

    def enclose(self, rows: Rows, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The intervals on a line."""
        return (bracket_deltas(rows, self.given) if self.quantity == "delta" else
                bracket_epsilons(rows, self.given, guess))

    def enclose_alone(self, steps: list[Steps], training: Training, digits: int) -> tuple[float, float]:
        """One record's interval."""
        ask = enclose_delta if self.quantity == "delta" else enclose_epsilon
        return ask(steps, training, self.given, digits)

    def narrow(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Which intervals are as narrow as asked."""
        return narrow(self.quantity, lower, upper, float(self.width))


@dataclass
class Search:
    """The intervals found so far. lines, distinct: tables built, and kinds of records on the first grid."""

    counts: Counts
    question: Question
    progress: Progress
    lines: int = 0
    distinct: int = 0
    lower: np.ndarray = field(init=False)
    upper: np.ndarray = field(init=False)
    parts: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.counts.records)
        self._totals = self.counts.steps.sum(axis=1)
        self.lower, self.upper = np.zeros(count), np.where(self._totals > 0, np.inf, 0.0)
        self.parts, self._tried = np.full(count, self.counts.parts), np.zeros(count, dtype=bool)
        self._onward = Onward(self.progress)

    @property
    def finest(self) -> int:
        """Parts of the finest grid that can be had."""
        return MAX_PARTS if self.counts.readings else self.counts.parts

    def run(self, alone: int) -> None:
        """On finer and finer grids, the wide ones again, and what then is wide one by one, at most `alone` records."""
        rows, parts = np.flatnonzero(np.isinf(self.upper)), min(self.counts.parts, COARSE)
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
        if (self.lower > self.upper).any():
            raise InconsistentEnclosures(f"two enclosures of record {self.counts.records[self.lower > self.upper][0]}")
        self.progress(1.0, f"{self.question.quantity} of {len(self.lower)} records")

    def reason(self, alone: int) -> str:
        """Why some are wide."""
        wide = self._wide(np.arange(len(self.lower)))
        if not wide.any():
            return ""
        untried, coarse = (wide & ~self._tried).any(), self.finest < MAX_PARTS
        advice = (f"count the readings in more than {self.finest} parts" if coarse and not self.question.tiny else
                  f"let more than {alone} be enclosed one by one (alone=)" if untried else
                  "their few steps are hard to enclose" + coarse * f", from counts in {self.finest} parts")
        return f"{wide.sum()} of {len(wide)} intervals are wider than asked: {advice}"

    @property
    def _digits(self) -> int:
        """Asked of a record by itself."""
        return 2 - math.floor(math.log10(max(self.question.width, LEAST_WIDTH)))

    def _enclose_alone(self, rows: np.ndarray) -> None:
        """These records one by one, from their readings where they can be read again, else from the counts."""
        digits, training = self._digits, self.counts.training
        self._tried[rows] = True
        known: dict[frozenset[tuple[Steps, int]], tuple[float, float]] = {}
        for done, row in enumerate(rows, 1):
            steps = self._steps(row)
            kind = frozenset(Counter(steps).items())  # equal steps may be listed twice
            known[kind] = known.get(kind) or self.question.enclose_alone(steps, training, digits)
            self.lower[row] = max(self.lower[row], known[kind][0])
            self.upper[row] = min(self.upper[row], known[kind][1])
            self.parts[row] = 0 if self.counts.readings else self.counts.parts
            self._onward(done / len(rows), f"{self.question.quantity} of {done} of {len(rows)} records one by one")

    def _steps(self, row: int) -> list[Steps]:
        if self.counts.readings is None:
            return steps_of_counts(self.counts, row)
        training, readings = self.counts.training, self.counts.readings.of_record(self.counts.records[row])
        halves = [(norm, half) for norm, times in readings.items() for half in (times - times // 2, times // 2) if half]
        again = count_steps((np.array([norm]) for norm, _ in halves), training, "raw", self.counts.parts,
                            [half for _, half in halves])  # a reading may stand for fewer steps than a record has
        _check_same(again, self.counts.take(np.array([row])))
        return steps_of_readings(readings, training)

    def _wide(self, rows: np.ndarray) -> np.ndarray:
        return ~self.question.narrow(self.lower[rows], self.upper[rows])

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
                    self._onward(done / len(lower), f"{self.question.quantity} of {done} of {len(lower)} kinds of "
                                                     f"records, {kinds.parts} parts")
        return lower, upper


def _check_same(again: Counts, before: Counts) -> None:
    """InvalidInput where readings were not the same when they were read again."""
    if not again.equals(before):
        raise _changed()


def _changed() -> InvalidInput:
    return InvalidInput("readings", "changed since they were counted", "left as they are until this is done")


def _groups(cutoffs: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """The records by the cut-offs they need: (the largest, which records)."""
    classes = np.floor(np.log(cutoffs / cutoffs.min()) / math.log(SPLIT)).astype(int)
    for number in np.unique(classes):
        group = np.flatnonzero(classes == number)
        yield float(cutoffs[group].max()), group
