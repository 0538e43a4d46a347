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

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.individual.counts import Counts, Progress, checked_counts, nothing
from verified_dp.individual.full_batch import full_batch
from verified_dp.individual.refine import ALONE, Question, Search
from verified_dp.individual.widths import narrow

WIDTH = Fraction(1, 100)
"""Width asked of an interval, relative to its upper end."""


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
    return _solve(checked_counts(counts), Question.of_epsilon(delta, width), str(delta), alone, progress)


@alone
def individual_deltas(counts: Counts, epsilon: Number, width: Number = WIDTH,
                      progress: Progress = nothing, alone: int = ALONE) -> IndividualLosses:
    """Enclose delta_i(eps) of every record at one exact eps from 0 to 2^40, such as "0.1".

    Args, Raises: as individual_epsilons; `width` is relative to the upper end.
    """
    return _solve(checked_counts(counts), Question.of_delta(epsilon, width), str(epsilon), alone, progress)


def _solve(counts: Counts, question: Question, given: str, alone: int, progress: Progress) -> IndividualLosses:
    """Every record on grids as fine as it needs; without sampling its composition is one Gaussian step (T124)."""
    quantity, records, asked = question.quantity, counts.records, float(question.width)
    if counts.training.sampling_probability == 1:
        found = full_batch(counts, question, progress)
        wide = int((~question.narrow(found.lower, found.upper)).sum())
        reason = (f"{wide} of {len(records)} intervals are wider than asked: the numbers are too small or large"
                  if wide else "")
        upper = np.minimum(found.upper, 1.0) if quantity == "delta" else found.upper
        return IndividualLosses(quantity, given, records, found.lower, upper, asked,
                                np.full(len(records), counts.parts), reason, found.seconds, 0, found.solved)
    question.check()
    if isinstance(alone, bool) or not isinstance(alone, int) or alone < 0:
        raise InvalidInput("alone", alone, "how many records may be enclosed one by one, an integer >= 0")
    start = time.perf_counter()
    search = Search(counts, question, progress)
    search.run(alone)
    return IndividualLosses(quantity, given, records, search.lower, search.upper, asked, search.parts,
                            search.reason(alone), time.perf_counter() - start, search.lines, search.distinct)
