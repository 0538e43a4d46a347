"""Individual privacy losses: eps_i(delta) and delta_i(eps) of every record of a DP-SGD training, enclosed.

    counts = count_parquet("norms.parquet", Training("1", "1", "0.01"), norms="raw")
    result = individual_epsilons(counts, "1e-5")

What is enclosed is the privacy profile of the composition of the record's own pairs, one per step. If the norms do not
depend on what was released before, this is a guarantee for the record (T21, T25). In a training they do: then it is the
loss that the record had on the path that was taken, not a guarantee given in advance (for that, use a filter).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from verified_dp.errors import InvalidInput
from verified_dp.exact import non_negative, open_unit
from verified_dp.individual.brackets import bracket_epsilons
from verified_dp.individual.counts import Counts, Progress, nothing
from verified_dp.individual.evaluate import Rows, evaluate_rows
from verified_dp.individual.full_batch import FullBatch, full_batch_deltas, full_batch_epsilons
from verified_dp.individual.lines import SAMPLE, Choice, LogMasses, best_lines, choose_table, lines_at, log_masses
from verified_dp.individual.tables import Table, build_table

CHUNK = 4096
BITS = 20.0
"""Accuracy of delta at which aliases and cut-off are chosen."""


@dataclass(frozen=True, eq=False)
class IndividualLosses:
    """lower_i <= x_i <= upper_i for every record, x = "epsilon" at `given` = delta, or "delta" at `given` = epsilon.

    The doubles are exact ends; upper may be inf. seconds: time spent. lines, distinct: how many tables and kinds of
    records it took.
    """

    quantity: str
    given: str
    records: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    seconds: float
    lines: int
    distinct: int

    @property
    def relative_width(self) -> np.ndarray:
        """(upper - lower) / upper, 0 where both are 0."""
        size = np.where(np.isfinite(self.upper) & (self.upper > 0), self.upper, 1.0)
        return np.where(np.isinf(self.upper), 1.0, (self.upper - self.lower) / size)


def individual_epsilons(counts: Counts, delta: object, progress: Progress = nothing) -> IndividualLosses:
    """Enclose eps_i(delta) = inf {eps >= 0: delta_i(eps) <= delta} of every record.

    Args: counts: from `input`. delta: exact, in (0, 1). progress: told the share done.
    Raises: InvalidInput, InexactInput.
    Source: Koskela, Tobaben, Honkela, "Individual privacy accounting with Gaussian differential privacy" (2023),
    appendix D; the enclosures are T115 to T118.
    """
    if counts.training.sampling_probability == 1:
        return _without_sampling(counts, "epsilon", str(delta), full_batch_epsilons(counts, delta, progress))
    target = open_unit(delta)
    log_target = math.log(target.numerator) - math.log(target.denominator)

    def choose(masses: LogMasses, weights: np.ndarray) -> Choice:
        return best_lines(masses, weights, log_target)

    def enclose(rows: Rows, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return bracket_epsilons(rows, target, guess)

    return _solve("epsilon", str(delta), counts, choose, enclose, progress)


def individual_deltas(counts: Counts, epsilon: object, progress: Progress = nothing) -> IndividualLosses:
    """Enclose delta_i(eps) of every record at one eps >= 0, which has to be a binary double such as 0.5.

    Raises: InvalidInput, InexactInput.
    """
    if counts.training.sampling_probability == 1:
        return _without_sampling(counts, "delta", str(epsilon), full_batch_deltas(counts, epsilon, progress))
    value = non_negative(epsilon, "epsilon")
    near = float(value)
    if near != value:
        raise InvalidInput("epsilon", value, "a number that a double holds exactly, such as 0.5 or 1.25")

    def choose(masses: LogMasses, weights: np.ndarray) -> Choice:
        return lines_at(masses, weights, near)

    return _solve("delta", str(epsilon), counts, choose, lambda rows, guess: rows.delta(guess), progress)


def _without_sampling(counts: Counts, quantity: str, given: str, found: FullBatch) -> IndividualLosses:
    return IndividualLosses(quantity, given, counts.records, found.lower, found.upper, found.seconds, 0, found.solved)


def _solve(quantity: str, given: str, counts: Counts, choose: Callable[[LogMasses, np.ndarray], Choice],
           enclose: Callable[[Rows, np.ndarray], tuple[np.ndarray, np.ndarray]],
           progress: Progress) -> IndividualLosses:
    """Each kind of record once, on the line chosen for it; then every record gets what its kind has."""
    start = time.perf_counter()
    first, inverse = counts.distinct
    kinds = counts.take(first)
    masses = log_masses(counts.training, counts.parts)
    choice = _in_chunks(kinds, lambda part: choose(masses, part.weights()))
    lower, upper, done = np.zeros(len(first)), np.zeros(len(first)), 0
    lines = np.unique(choice.index)
    for index in lines:
        rows = np.flatnonzero(choice.index == index)
        table = _table(masses, int(index), kinds, choice, rows)
        for chunk in np.array_split(rows, -(-len(rows) // CHUNK)):
            found = evaluate_rows(table, kinds.take(chunk))
            lower[chunk], upper[chunk] = enclose(found, choice.epsilon[chunk])
            done += len(chunk)
            progress(done / len(first), f"{quantity} of {done} of {len(first)} kinds of records")
    seconds = time.perf_counter() - start
    return IndividualLosses(quantity, given, counts.records, lower[inverse], upper[inverse], seconds, len(lines),
                            len(first))


def _in_chunks(counts: Counts, choose: Callable[[Counts], Choice]) -> Choice:
    pieces = np.array_split(np.arange(len(counts.records)), max(1, len(counts.records) // 65536))
    parts = [choose(counts.take(piece)) for piece in pieces]
    return Choice(*(np.concatenate([getattr(part, name) for part in parts])
                    for name in ("index", "epsilon", "log_delta")))


def _table(masses: LogMasses, index: int, kinds: Counts, choice: Choice, rows: np.ndarray) -> Table:
    """The table of one line, chosen for a sample of its records, the smallest and the largest among them."""
    order = rows[np.argsort((kinds.high[rows]).sum(axis=1))]
    some = order[np.unique(np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).astype(int))]
    part, used = kinds.take(some), int(np.flatnonzero(kinds.steps[rows].any(axis=0)).max()) + 1
    witness = choose_table(masses, index, part.weights(), part.steps.astype(float), choice.take(some), used, BITS)
    return build_table(kinds.training, kinds.parts, witness)
