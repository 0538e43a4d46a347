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
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number, non_negative, open_unit
from verified_dp.core.kernel.locks import alone
from verified_dp.individual.alone import Steps, enclose_delta, enclose_epsilon
from verified_dp.individual.brackets import bracket_deltas, bracket_epsilons
from verified_dp.individual.counts import Counts, Progress, checked_counts, nothing
from verified_dp.individual.evaluate import Rows
from verified_dp.individual.full_batch import FullBatch, full_batch_deltas, full_batch_epsilons
from verified_dp.individual.lines import Choice, LogMasses, best_lines, lines_at
from verified_dp.individual.refine import ALONE, Question, Search
from verified_dp.individual.training import Training
from verified_dp.individual.widths import LEAST_DELTA, checked_width, narrow

WIDTH = Fraction(1, 100)
"""Width asked of an interval, relative to its upper end."""
LARGEST_EPSILON = Fraction(2**40)
"""Beyond it no line is chosen well."""


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
        return narrow(self.quantity, self.lower, self.upper, self.asked)


@alone
def individual_epsilons(counts: Counts, delta: Number, width: Number = WIDTH,
                        progress: Progress = nothing, alone: int = ALONE) -> IndividualLosses:
    """Enclose eps_i(delta) = inf {eps >= 0: delta_i(eps) <= delta} of every record.

    Args: counts: from `input`. delta: exact, in (0, 1). width: asked of upper - lower, relative to upper (to 1e-3 where
        upper is smaller). progress: told the share done. alone: at most so many records are enclosed one by one,
        those with the widest intervals.
    Raises: InvalidInput.
    Source: Koskela, Tobaben, Honkela, "Individual privacy accounting with Gaussian differential privacy" (2023),
    appendix D; the enclosures are T115 to T118.
    """
    if checked_counts(counts).training.sampling_probability == 1:
        asked = checked_width(width)
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

    question = Question("epsilon", str(delta), choose, enclose, enclose_alone, checked_width(width),
                        target < LEAST_DELTA)
    return _solve(counts, question, alone, progress)


@alone
def individual_deltas(counts: Counts, epsilon: Number, width: Number = WIDTH,
                      progress: Progress = nothing, alone: int = ALONE) -> IndividualLosses:
    """Enclose delta_i(eps) of every record at one exact eps from 0 to 2^40, such as "0.1".

    Args, Raises: as individual_epsilons; `width` is relative to the upper end.
    """
    if checked_counts(counts).training.sampling_probability == 1:
        asked = checked_width(width)
        return _without_sampling(counts, "delta", str(epsilon), asked,
                                 full_batch_deltas(counts, epsilon, asked, progress))
    value = non_negative(epsilon, "epsilon")
    if value > LARGEST_EPSILON:
        raise InvalidInput("epsilon", value, "a number <= 2^40")

    def choose(masses: LogMasses, weights: np.ndarray) -> Choice:
        return lines_at(masses, weights, float(value))

    def enclose(rows: Rows, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return bracket_deltas(rows, value)

    def enclose_alone(steps: list[Steps], training: Training, digits: int) -> tuple[float, float]:
        return enclose_delta(steps, training, value, digits)

    question = Question("delta", str(epsilon), choose, enclose, enclose_alone, checked_width(width))
    return _solve(counts, question, alone, progress)


def _without_sampling(counts: Counts, quantity: str, given: str, width: Fraction, found: FullBatch) -> IndividualLosses:
    """Each record's composition is one Gaussian step (T124)."""
    asked, records = float(width), len(counts.records)
    wide = int((~narrow(quantity, found.lower, found.upper, asked)).sum())
    reason = f"{wide} of {records} intervals are wider than asked: the numbers are too small or large" if wide else ""
    upper = np.minimum(found.upper, 1.0) if quantity == "delta" else found.upper
    return IndividualLosses(quantity, given, counts.records, found.lower, upper, asked,
                            np.full(records, counts.parts), reason, found.seconds, 0, found.solved)


def _solve(counts: Counts, question: Question, alone: int, progress: Progress) -> IndividualLosses:
    """Every record on grids as fine as it needs."""
    if isinstance(alone, bool) or not isinstance(alone, int) or alone < 0:
        raise InvalidInput("alone", alone, "how many records may be enclosed one by one, an integer >= 0")
    start = time.perf_counter()
    search = Search(counts, question, progress)
    search.run(alone)
    return IndividualLosses(
        question.quantity, question.given, counts.records, search.lower, search.upper, float(question.width),
        search.parts, search.reason(alone), time.perf_counter() - start, search.lines, search.distinct)
