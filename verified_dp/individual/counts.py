"""How many steps of each record fall into each bucket, and the exact sums of their squared sensitivities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.training import HALVINGS, SPLIT_BITS, UNIT_BITS, Training

LARGEST_COUNT = 2**30
PIECE = 4096
"""Records at a time where whole arrays would be copied."""
STAGE = 0.8
"""The share that a stage of unknown many has of what is left."""


class Readings(Protocol):
    """Readings that can be read again; records are named by their ids."""

    def count(self, records: np.ndarray, parts: int) -> Counts:
        """The counts of these records, in this order, on another grid."""
        ...

    def of_record(self, record: Any) -> Mapping[float, int]:
        """The record's norms, and for how many steps each of them stands."""
        ...


@dataclass(frozen=True, eq=False)
class Counts:
    """One row per record, one column per bucket.

    records: their ids. steps: how many steps of the record have r in the bucket (int64).
    high, low: the sum over these of the integers >= r^2 2^60, as high * 2^28 + low.
    clipped: how many readings were above the clipping constant and counted as equal to it.
    readings: where they can be read again.
    """

    training: Training
    records: np.ndarray
    steps: np.ndarray
    high: np.ndarray
    low: np.ndarray
    clipped: int = 0
    readings: Readings | None = None

    def __post_init__(self) -> None:
        shapes = {self.steps.shape, self.high.shape, self.low.shape}
        if len(shapes) != 1 or self.steps.shape[0] != len(self.records):
            raise InvalidInput("counts", str(shapes), "arrays (records, buckets)")
        if self.steps.size and not (self.steps.min() >= 0 and self.steps.sum(axis=1).max() <= LARGEST_COUNT):
            raise InvalidInput("counts", int(self.steps.max()), "between 0 and 2^30 steps of each record")

    @property
    def buckets(self) -> int:
        return int(self.steps.shape[1])

    @property
    def parts(self) -> int:
        """Into how many parts (0, 1] is cut."""
        return self.buckets - HALVINGS

    def square_of(self, row: int, bucket: int) -> Fraction:
        """An upper bound of the sum of r^2 in a bucket, exact as a number, too large by at most 2^-47 per step."""
        return Fraction(int(self.high[row, bucket]) * 2**SPLIT_BITS + int(self.low[row, bucket]), 2**UNIT_BITS)

    def square_sum(self, row: int) -> Fraction:
        """The same over all buckets."""
        return sum((self.square_of(row, bucket) for bucket in range(self.buckets)), Fraction(0))

    def take(self, rows: np.ndarray) -> Counts:
        """The counts of some records, by place; all in order are these counts themselves."""
        if len(rows) == len(self.records) and np.array_equal(rows, np.arange(len(rows))):
            return self
        return replace(self, records=self.records[rows], steps=self.steps[rows], high=self.high[rows],
                       low=self.low[rows])

    def equals(self, other: Counts) -> bool:
        """The same integers for the same number of records."""
        return all(np.array_equal(mine, theirs) for mine, theirs in (
            (self.steps, other.steps), (self.high, other.high), (self.low, other.low)))

    @proved_by("T116-variance-interpolation")
    def weights_above(self) -> np.ndarray:
        """The sum of (r^2 - a)/(b - a) over a bucket's steps, a < b its ends: doubles, off by at most 2^-49 a step."""
        ends = self._ends
        over = (self.high - self.steps * ends[:-1]).astype(np.float64) + self.low * 2.0**-SPLIT_BITS
        return over / (ends[1:] - ends[:-1]).astype(np.float64)

    def weights(self) -> np.ndarray:
        """Each step split between its bucket's ends; count and sum of squares stay: (records, ends)."""
        return split_weights(self.steps.astype(np.float64), self.weights_above())

    @property
    def _ends(self) -> np.ndarray:
        return square_ends(self.training, self.parts)

    @proved_by("T119-rounded-sensitivities")
    def rounded(self, up: bool) -> Counts:
        """Every sensitivity moved to the upper (lower) end of its bucket: delta only grows (falls)."""
        ends = self._ends[1:] if up else self._ends[:-1]
        return replace(self, high=self.steps * ends, low=np.zeros_like(self.low), readings=None)

    @proved_by("T115-squared-sensitivity")
    def coarser(self, parts: int) -> Counts:
        """The same readings on a grid of fewer parts, whose buckets are unions of these."""
        if parts >= self.parts:
            return self
        starts = np.searchsorted(self._ends, square_ends(self.training, parts)[:-1])
        steps, high, low = (np.add.reduceat(part, starts, axis=1) for part in (self.steps, self.high, self.low))
        high, low = split_sum(high, low)
        return replace(self, steps=steps, high=high, low=low)

    @cached_property
    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, inverse): one row of each kind, in order, and for each record the place of its kind in `rows`."""
        every = np.arange(len(self.records))
        _, found, kind = np.unique(self._hashes(), return_index=True, return_inverse=True)
        first, inverse = np.sort(found), found.argsort().argsort()[kind]  # in order copies are of neighbours
        if len(first) == len(every):
            return every, every
        twins = first[inverse]
        same = all(np.array_equal(part[twins[piece]], part[piece])
                   for piece in np.array_split(every, 1 + len(every) // PIECE)
                   for part in (self.steps, self.high, self.low))
        return (first, inverse) if same else (every, every)

    def _hashes(self) -> np.ndarray:
        generator = np.random.default_rng(2)
        total = np.zeros(len(self.records), dtype=np.uint64)
        for part in (self.steps, self.high, self.low):
            factors = generator.integers(0, 2**63, size=self.buckets, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
            for sums, words in zip(np.array_split(total, 1 + len(total) // PIECE),
                                   np.array_split(part.view(np.uint64), 1 + len(total) // PIECE), strict=True):
                sums += ((words ^ (words >> np.uint64(29))) * factors).sum(axis=1, dtype=np.uint64)
        return total


def checked_counts(counts: object) -> Counts:
    """Raises InvalidInput for readings that have not been counted."""
    if not isinstance(counts, Counts):
        raise InvalidInput("counts", type(counts).__name__, "what count_array, count_table or count_parquet return")
    return counts


@lru_cache(16)
def square_ends(training: Training, parts: int) -> np.ndarray:
    """r^2 at the ends of the buckets in units of 2^-32, exact."""
    unit = 2 ** (UNIT_BITS - SPLIT_BITS)
    ends = np.array([int(square * unit) for square in training.square_edges(parts)], dtype=np.int64)
    ends.setflags(write=False)
    return ends


@proved_by("T116-variance-interpolation")
def split_weights(steps: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The weights of the ends: `above` at each bucket's upper end, the rest of its steps at the lower one."""
    weights = np.zeros((steps.shape[0], steps.shape[1] + 1))
    weights[:, 1:] = above
    weights[:, :-1] += steps - above
    return weights


def split_sum(high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same sums with 0 <= low < 2^28."""
    return high + (low >> SPLIT_BITS), low & (2**SPLIT_BITS - 1)


Progress = Callable[[float, str], None]
"""Called with the share done, from 0 to 1, and what is being done."""


def nothing(share: float, text: str) -> None:
    """No progress is told."""


@dataclass
class Onward:
    """Tells the progress of stages, each from 0 to 1, as one that never goes back: each has most of what is left."""

    progress: Progress
    start: float = 0.0
    share: float = 0.0

    def __call__(self, share: float, text: str) -> None:
        if share < self.share:  # the next stage
            self.start += STAGE * (1 - self.start)
        self.share = share
        self.progress(self.start + STAGE * (1 - self.start) * share, text)
