"""Tables built once from some records, that enclose any record of the training: for machines that share the work.

    tables = shared_epsilons(count_spark(session, training, "raw", sample=2000), "1e-5")
    lower, upper = tables.enclose(counts)          # on any machine: the same doubles, whatever the other records are

Every table encloses every record (T118); those unlike the records it was chosen for are wide, and asked again by
`individual_epsilons`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.individual.counts import Counts, checked_counts, square_ends
from verified_dp.individual.evaluate import evaluate_rows
from verified_dp.individual.lines import Choice, LineSearch, LogMasses
from verified_dp.individual.losses import WIDTH
from verified_dp.individual.refine import BITS, Question
from verified_dp.individual.tables import Table, build_table
from verified_dp.individual.training import Training, bucket_count

BLOCK = 512
"""Records evaluated at once, always so many: matrix products of one shape round alike wherever a record stands."""


@dataclass(frozen=True, eq=False)
class SharedTables:
    """For records of this training, counted in so many parts. tables: (index of the tilt, table)."""

    training: Training
    parts: int
    question: Question
    tables: tuple[tuple[int, Table], ...]

    @np.errstate(over="ignore", invalid="ignore")  # where something overflows the bounds are infinite
    def enclose(self, counts: Counts) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end for every record. InvalidInput for counts of another training or grid."""
        if counts.training != self.training or counts.parts != self.parts:
            raise InvalidInput("counts", f"of {counts.training} in {counts.parts} parts",
                               f"of {self.training} in {self.parts} parts, as the tables are")
        lower, upper = np.zeros((2, len(counts.records)))
        choice, lines = self.choose(counts), np.array([index for index, _ in self.tables])
        own = np.maximum(np.searchsorted(lines, choice.index, side="right") - 1, 0)
        for line, (_, table) in enumerate(self.tables):
            for rows in _blocks(np.flatnonzero(own == line)):
                found = evaluate_rows(table, _padded(counts, rows))
                guess = np.zeros(BLOCK)
                guess[: len(rows)] = choice.epsilon[rows]
                ends = self.question.enclose(found, guess)
                lower[rows], upper[rows] = (end[: len(rows)] for end in ends)
        idle = ~counts.steps.any(axis=1)
        return np.where(idle, 0.0, lower), np.where(idle, 0.0, upper)

    def choose(self, counts: Counts) -> Choice:
        """The line of every record."""
        masses, parts = LogMasses.of(self.training, self.parts), list[Choice]()
        for rows in _blocks(np.arange(len(counts.records))):
            weights = _padded(counts, rows).coarser(masses.parts).weights()
            parts.append(self.question.choose(masses, weights).take(np.arange(len(rows))))
        return Choice(*(np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0)])
                        for name in ("index", "epsilon", "log_delta")))

    def narrow(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Which intervals are as narrow as asked."""
        return self.question.narrow(lower, upper)


@alone
def shared_epsilons(counts: Counts, delta: Number, width: Number = WIDTH) -> SharedTables:
    """Tables for eps_i(delta), chosen for these records: a sample of all, say. Raises InvalidInput."""
    question = Question.of_epsilon(delta, width)
    if question.tiny:
        raise InvalidInput("delta", delta, "at least 1e-280, for doubles to hold it")
    return _build(counts, question)


@alone
def shared_deltas(counts: Counts, epsilon: Number, width: Number = WIDTH) -> SharedTables:
    """Tables for delta_i(eps), as `shared_epsilons`."""
    question = Question.of_delta(epsilon, width)
    question.check()
    return _build(counts, question)


@np.errstate(over="ignore", invalid="ignore")
def _build(counts: Counts, question: Question) -> SharedTables:
    """One table for each tilt that some record wants, up to the largest cut-off, for the buckets it may have steps in.

    More steps make the best tilt smaller: a record has none in buckets of which one step has its own further left.
    """
    training, parts = checked_counts(counts).training, counts.parts
    empty = SharedTables(training, parts, question, ())
    if training.sampling_probability == 1:
        raise InvalidInput("sampling_probability", 1, "below 1: without sampling no tables are needed")
    kinds = counts.take(np.flatnonzero(counts.steps.any(axis=1)))
    if not len(kinds.records):
        raise InvalidInput("counts", "no steps", "some records with steps")
    masses, choice = LogMasses.of(training, parts), empty.choose(kinds)
    coarse, tables = kinds.coarser(masses.parts), list[tuple[int, Table]]()
    furthest = empty.choose(_single_steps(training, parts)).index
    for place, index in enumerate(np.unique(choice.index)):
        rows = np.flatnonzero(choice.index == index)
        line = LineSearch(masses, coarse.take(rows), choice.take(rows), parts, BITS)
        buckets = np.flatnonzero((furthest >= index) | (place == 0))
        witness = line.choose_table(buckets, float(line.cutoffs().max()))
        tables.append((int(index), build_table(training, parts, witness)))
    return replace(empty, tables=tuple(tables))


def _single_steps(training: Training, parts: int) -> Counts:
    """A record for each bucket, with one step at its lower end."""
    steps = np.eye(bucket_count(parts), dtype=np.int64)
    return Counts(training, np.arange(len(steps)), steps, steps * square_ends(training, parts)[:-1], 0 * steps)


def _blocks(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[start:start + BLOCK] for start in range(0, len(rows), BLOCK)]


def _padded(counts: Counts, rows: np.ndarray) -> Counts:
    """These records and as many without a step as fill a block."""
    some, missing = counts.take(rows), BLOCK - len(rows)
    steps, high, low = (np.pad(part, ((0, missing), (0, 0))) for part in (some.steps, some.high, some.low))
    return replace(some, records=np.arange(BLOCK), steps=steps, high=high, low=low, readings=None)
