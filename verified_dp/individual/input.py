"""Readings of per-record gradient norms as people have them: Parquet, arrays on disk, or step by step in a training.

    counts = count_parquet("norms.parquet", training, norms="raw")        # columns record, step, norm[, repeats]
    counts = count_table(frame, training, norms="raw")                    # the same, of pandas, polars or pyarrow
    counts = count_array(np.load("norms.npy", mmap_mode="r"), training, norms="raw")      # (steps, records)
    recorder = Recorder(training, records=60000, norms="raw"); recorder.add(norms_of_this_step)

Every record needs its norm in every step, whether or not it was sampled: without it the step's loss is unknown. (A step
that no record has cannot be missed: count the readings that stand for several steps with `repeats`.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.counts import Counts, Progress, nothing, split_sum
from verified_dp.individual.squares import square_and_bucket
from verified_dp.individual.statements import (
    WORD,
    above_row_sql,
    bad_row_sql,
    counting_sql,
    empty_row_sql,
    incomplete_sql,
    readings_sql,
    steps_sql,
)
from verified_dp.individual.training import HALVINGS, SPLIT_BITS, Training, bucket_count, checked_parts
from verified_dp.reading import optional

PARTS = 64
"""Parts of (0, 1] where the caller states none: eps_i then is known to a few parts in a thousand."""
RECORDS_AT_ONCE, STEPS_AT_ONCE = 200_000, 16 * WORD


class Recorder:
    """Counts the readings of a training while it runs: one array of norms, one per record, for each step.

    norms: "raw" (clipped here as the training clips them; `clipped` says how many) or "clipped" (one above the constant
    is an error).
    """

    def __init__(self, training: Training, records: int, norms: str, parts: int = PARTS) -> None:
        if isinstance(records, bool) or not isinstance(records, int) or records < 1:
            raise InvalidInput("records", records, "the number of records, an integer >= 1")
        self.training, self.parts, self._raw = training, parts, is_raw(norms)
        self._dense = np.zeros((3, records, bucket_count(parts)), dtype=np.int64)
        self.readings, self.clipped = 0, 0

    def add(self, norms: np.ndarray, repeats: int = 1) -> None:
        """Count one reading of every record, which stands for `repeats` steps. Raises InvalidInput, nothing counted."""
        values = _as_doubles(norms)
        self._check(values, repeats)
        add_readings(self._dense, self.training, np.arange(len(values)), values, repeats)
        self.readings += 1
        self.clipped += int((values > self.training.clipping_double).sum())

    def _check(self, values: np.ndarray, repeats: int) -> None:
        if values.shape != (self._dense.shape[1],):
            raise InvalidInput("norms", str(values.shape), f"one norm for each of {self._dense.shape[1]} records")
        if isinstance(repeats, bool) or not (isinstance(repeats, int) and 1 <= repeats <= 10**9):
            raise InvalidInput("repeats", repeats, "an integer from 1 to 10^9")
        bad = np.flatnonzero(~((values >= 0) & np.isfinite(values)))
        if len(bad):
            raise InvalidInput(f"norm of record {bad[0]}, reading {self.readings}", float(values[bad[0]]),
                               "a finite number >= 0")
        above = np.flatnonzero(values > self.training.clipping_double)
        if len(above) and not self._raw:
            raise _above(int(above[0]), self.readings, float(values[above[0]]), self.training)

    def counts(self) -> Counts:
        """What was counted up to now."""
        return dense_counts(self.training, np.arange(self._dense.shape[1]), self._dense.copy(), self.clipped)


@proved_by("T115-squared-sensitivity")
def add_readings(dense: np.ndarray, training: Training, place: np.ndarray, norms: np.ndarray,
                 repeats: int | np.ndarray) -> None:
    """Add readings of the records at `place` to `dense`: (steps, high, low) x (records, buckets), `low` as it comes."""
    square, bucket = square_and_bucket(norms, training.clipping_double, dense.shape[2] - HALVINGS)
    at = place * dense.shape[2] + bucket
    for target, values in zip(dense.reshape(3, -1), (1, square >> SPLIT_BITS, square & (2**SPLIT_BITS - 1)),
                              strict=True):
        np.add.at(target, at, values * repeats)


def dense_counts(training: Training, records: np.ndarray, dense: np.ndarray, clipped: int = 0) -> Counts:
    """What `add_readings` has summed."""
    return Counts(training, records, dense[0], *split_sum(*dense[1:]), clipped)


def count_steps(steps: Iterable[np.ndarray], training: Training, norms: str, parts: int = PARTS,
                repeats: int | Sequence[int] = 1) -> Counts:
    """Count an iterator of per-step arrays; `repeats` is one number or one for each step."""
    recorder, times = None, _one_each(repeats)
    for values in steps:
        recorder = recorder or Recorder(training, _as_doubles(values).size, norms, parts)
        recorder.add(values, next(times))
    if recorder is None:
        raise InvalidInput("steps", "none", "at least one array of norms")
    if not isinstance(repeats, int) and recorder.readings != np.size(repeats):
        raise InvalidInput("repeats", f"{np.size(repeats)} numbers", f"{recorder.readings}, one for each step")
    return recorder.counts()


def _one_each(repeats: int | Sequence[int]) -> Iterator[int]:
    """`repeats` of one step after the other. Raises InvalidInput when there are more steps than numbers."""
    while isinstance(repeats, int):
        yield repeats
    yield from np.ravel(repeats).tolist()
    raise InvalidInput("repeats", f"{np.size(repeats)} numbers", "one number, or one for each step")


def count_array(array: np.ndarray, training: Training, norms: str, parts: int = PARTS,
                repeats: int | Sequence[int] = 1) -> Counts:
    """Count an array (steps, records), a memory map that is read step by step, or a data frame of this shape."""
    array = getattr(array, "to_numpy", lambda: array)()  # a data frame
    if np.ndim(array) != 2:
        raise InvalidInput("norms", str(np.shape(array)), "an array (steps, records)")
    counts = count_steps((array[i] for i in range(len(array))), training, norms, parts, repeats)
    return replace(counts, readings=ArrayReadings(array, training, norms, repeats))


@dataclass(frozen=True, eq=False)
class ArrayReadings:
    """An array (steps, records) that has been counted; a record's id is its column."""

    array: np.ndarray
    training: Training
    norms: str
    repeats: int | Sequence[int]

    def count(self, records: np.ndarray, parts: int) -> Counts:
        """See Readings."""
        rows = (np.asarray(self.array[i])[records] for i in range(len(self.array)))
        return count_steps(rows, self.training, self.norms, parts, self.repeats)

    def of_record(self, record: Any) -> Mapping[float, int]:
        """See Readings."""
        found: Counter[float] = Counter()
        for i, times in zip(range(len(self.array)), _one_each(self.repeats), strict=False):
            found[float(self.array[i][record])] += times
        return found


def count_parquet(paths: str | Path | Sequence[str | Path], training: Training, norms: str, parts: int = PARTS,
                  memory: str = "4GB", threads: int | None = None, progress: Progress = nothing) -> Counts:
    """Count Parquet files with columns record, step, norm and, where a reading stands for several steps, repeats.

    In place of step and norm there may be a list column `norms`, one row per record. memory: DuckDB's limit; it uses
    the disk beyond. Raises InvalidInput with the row at fault (nothing is counted then), Unsupported without DuckDB.
    """
    files = _existing([paths] if isinstance(paths, str | Path) else paths)
    return _counted(SqlReadings(files, training, memory, threads), norms, parts, progress)


def count_table(table: Any, training: Training, norms: str, parts: int = PARTS,
                memory: str = "4GB", threads: int | None = None, progress: Progress = nothing) -> Counts:
    """Count a table in memory, of pandas, polars, pyarrow or a dict of arrays, with the columns of `count_parquet`."""
    return _counted(SqlReadings(table, training, memory, threads), norms, parts, progress)


def _counted(readings: SqlReadings, norms: str, parts: int, progress: Progress) -> Counts:
    raw, statement = is_raw(norms), counting_sql(readings.training.clipping_double, checked_parts(parts))
    with _connected(readings.memory, readings.threads) as connection:
        _open_readings(connection, readings.source)
        progress(0.0, "checking the readings")
        def ask(sql: str) -> list[Any]:
            rows: list[Any] = connection.execute(sql).fetchall()
            return rows

        steps, _, clipped = check_rows(ask, readings.training, raw)
        check_complete(ask, steps)
        progress(0.3, "counting per record and bucket")
        connection.execute(f"CREATE TEMP TABLE counted AS {statement}")
        progress(0.9, "collecting the counts")
        counts = _collect(connection, readings.training, parts, clipped)
        progress(1.0, "counted")

    return replace(counts, readings=readings)


@dataclass(frozen=True, eq=False)
class SqlReadings:
    """Files or a table in memory that have been checked and counted."""

    source: Any
    training: Training
    memory: str
    threads: int | None

    def count(self, records: np.ndarray, parts: int) -> Counts:
        """See Readings."""
        order = np.argsort(records)
        with self._opened(records.tolist()) as connection:
            statement = counting_sql(self.training.clipping_double, checked_parts(parts))
            connection.execute(f"CREATE TEMP TABLE counted AS {statement}")
            counts = _collect(connection, self.training, parts, 0)
        if len(counts.records) != len(records):
            raise InvalidInput("readings", f"{len(counts.records)} of {len(records)} records when they were read again",
                               "left as they are until this is done")
        return counts.take(np.argsort(order))

    def of_record(self, record: Any) -> Mapping[float, int]:
        """See Readings."""
        with self._opened(np.asarray([record]).tolist()) as connection:
            rows = connection.execute("SELECT CAST(norm AS DOUBLE), SUM(repeats) FROM readings GROUP BY 1").fetchall()
        return {norm: int(count) for norm, count in rows}

    @contextmanager
    def _opened(self, records: list[Any]) -> Iterator[Any]:
        """A connection whose view `readings` has only these records."""
        with _connected(self.memory, self.threads) as connection:
            connection.execute("CREATE TEMP TABLE picked AS SELECT UNNEST(?) AS record", [records])
            _open_readings(connection, self.source, "WHERE record IN (SELECT record FROM picked)")
            yield connection


def _existing(paths: Sequence[str | Path]) -> list[str]:
    """The paths as text. Raises InvalidInput where there is none, or one that is no file, pattern or address."""
    for path in map(Path, paths):
        if path.is_dir():
            raise InvalidInput("paths", str(path), f"files, and this is a folder: write '{path}/*.parquet'")
        if not path.exists() and not any(mark in str(path) for mark in "*?[:"):
            raise InvalidInput("paths", str(path), "files that exist")
    if not paths:
        raise InvalidInput("paths", "none", "at least one Parquet file")
    return [str(path) for path in paths]


@contextmanager
def _connected(memory: str, threads: int | None) -> Iterator[Any]:
    """A connection to DuckDB, whose errors become this package's."""
    duckdb = optional("duckdb", "duckdb")
    options: dict[str, Any] = {"memory_limit": memory, "preserve_insertion_order": False}
    options |= {} if threads is None else {"threads": threads}
    try:
        with duckdb.connect(config=options) as connection:
            yield connection
    except duckdb.OutOfMemoryException:
        raise Unsupported(f"DuckDB needs more than memory={memory!r}: give it more") from None
    except duckdb.Error as error:
        said = str(error).splitlines()[0]
        raise InvalidInput("readings", said, "Parquet files that DuckDB can read and count, or a table") from None


_INTEGERS = tuple(sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"))
_TYPES = {"step": _INTEGERS, "repeats": _INTEGERS, "norm": ("DOUBLE", "FLOAT"), "norms": ("DOUBLE[]", "FLOAT[]")}


def _open_readings(connection: Any, given: Any, where: str = "") -> None:
    """A view `readings` on files or a table, whichever of the two layouts they have."""
    source = "given"
    if isinstance(given, list):
        listed = ", ".join("'" + path.replace("'", "''") + "'" for path in given)
        source = f"read_parquet([{listed}])"
    else:
        connection.register("given", given)
    columns = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    long = {"record", "step", "norm"} <= columns.keys()
    if not long and not {"record", "norms"} <= columns.keys():
        raise InvalidInput("columns", ", ".join(sorted(columns)), "record, step, norm or record, norms")
    check_types(columns, _TYPES, ("step", "norm", "repeats") if long else ("norms", "repeats"))
    if not long and (empty := connection.execute(empty_row_sql(source)).fetchone()):
        raise InvalidInput(f"norms of record {empty[0]}", "an empty list" if empty[1] is not None else None,
                           "a list with its norm in every step")
    connection.execute(f"CREATE TEMP VIEW readings AS {readings_sql(source, long, 'repeats' in columns)} {where}")


def check_types(columns: Mapping[str, str], types: Mapping[str, Sequence[str]], used: Sequence[str]) -> None:
    """Raises InvalidInput for a column of another type than those that keep its numbers."""
    for name in used:
        if name in columns and columns[name] not in types[name]:
            raise InvalidInput(f"column {name}", columns[name], "of type " + " or ".join(types[name]) + ": cast it")


Ask = Callable[[str], list[Any]]
"""Runs a statement and returns its rows."""


def check_rows(ask: Ask, training: Training, raw: bool) -> tuple[list[int], int, int]:
    """The steps, how many records have the first, and clipped readings. InvalidInput for a row that is no reading."""
    rows = ask(steps_sql(training.clipping_double))
    above = sum(row[3] for row in rows)
    if not rows or any(row[2] for row in rows):
        row = tuple(ask(bad_row_sql())[0]) if rows else "no rows"
        raise InvalidInput("readings", str(row), "rows (record, step, norm >= 0 and finite, repeats >= 1)")
    if above and not raw:
        record, step, norm = ask(above_row_sql(training.clipping_double))[0]
        raise _above(record, step, norm, training)
    return [row[0] for row in rows], int(rows[0][1]), int(above)


def check_complete(ask: Ask, steps: list[int], where: str = "") -> None:
    """InvalidInput for a record that has not each of these steps exactly once."""
    for start in range(0, len(steps), STEPS_AT_ONCE):
        some = steps[start:start + STEPS_AT_ONCE]
        for record, _, *words in ask(incomplete_sql(some, where)):
            raise incomplete(record, [step for place, step in enumerate(some)
                                      if not words[place // WORD] >> place % WORD & 1])


def incomplete(record: object, missing: Sequence[int]) -> InvalidInput:
    """What is said of a record without these steps, or with one too often."""
    what = f"record {record} has no step {missing[0]}" if len(missing) else f"record {record} has a step twice"
    return InvalidInput("readings", what, "each step exactly once for every record")


def _collect(connection: Any, training: Training, parts: int, clipped: int) -> Counts:
    """The counted rows as arrays, a range of records at a time."""
    connection.execute("CREATE TEMP TABLE numbered AS SELECT record, ROW_NUMBER() OVER (ORDER BY record) - 1 AS place "
                       "FROM (SELECT DISTINCT record FROM counted) AS r")
    records = connection.execute("SELECT record FROM numbered ORDER BY place").fetchnumpy()["record"]
    if records.dtype.kind == "f" and len(np.unique(records)) < len(records):
        raise InvalidInput("column record", "numbers that are equal as doubles", "of an integer type or text: cast it")
    steps, high, low = np.zeros((3, len(records), bucket_count(parts)), dtype=np.int64)
    for start in range(0, len(records), RECORDS_AT_ONCE):
        rows = connection.execute(
            f"SELECT place, bucket, steps, CAST(CAST(squares AS HUGEINT) >> {SPLIT_BITS} AS BIGINT) AS high, "
            f"CAST(CAST(squares AS HUGEINT) & {2**SPLIT_BITS - 1} AS BIGINT) AS low FROM counted JOIN numbered "
            f"USING (record) WHERE place >= {start} AND place < {start + RECORDS_AT_ONCE} "
            "ORDER BY place, bucket").fetchnumpy()  # in order, the writes below are to neighbouring places
        for target, name in ((steps, "steps"), (high, "high"), (low, "low")):
            target[rows["place"], rows["bucket"]] = rows[name]
    return Counts(training, np.asarray(records), steps, high, low, clipped)


def _as_doubles(norms: object) -> np.ndarray:
    """The norms as doubles. Raises InvalidInput for what holds no real numbers."""
    try:
        values = np.asarray(norms)
    except ValueError:  # lists of different length
        values = np.array(None)
    if values.dtype.kind not in "fiu" or values.dtype.itemsize > 8:
        raise InvalidInput("norms", f"type {values.dtype}", "an array of real numbers, float64 or shorter")
    return values.astype(np.float64)


def is_raw(norms: str) -> bool:
    if norms not in ("raw", "clipped"):
        raise InvalidInput("norms", norms, "raw (to be clipped here) or clipped")
    return norms == "raw"


def _above(record: object, step: object, norm: float, training: Training) -> InvalidInput:
    expected = f"at most {training.clipping_double} as it is declared clipped; norms='raw' clips"
    return InvalidInput(f"norm of record {record}, step {step}", norm, expected)
