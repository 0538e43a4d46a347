"""Readings that one machine cannot hold: the same statements on a Spark session, the same integers to the bit.

    session.read.parquet("norms/").createOrReplaceTempView("readings")      # columns record, step, norm, repeats
    counts = count_spark(session, training, norms="raw")

Spark does the counting; what comes back are the counts, at most one row for each record and bucket. Where not even
these fit, the enclosing is done there too, with tables that a sample of the records was enough to choose:

    tables = shared_epsilons(count_spark(session, training, "raw", 256, sample=2000), "1e-5")
    enclose_spark(session, tables, "raw").write.parquet("losses/")          # record, lower, upper, narrow
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import count
from verified_dp.individual.counts import Counts
from verified_dp.individual.input import (
    PARTS,
    add_readings,
    check_complete,
    check_rows,
    check_types,
    dense_counts,
    incomplete,
    is_raw,
)
from verified_dp.individual.shared import SharedTables
from verified_dp.individual.statements import counting_sql
from verified_dp.individual.training import SPLIT_BITS, Training, bucket_count, checked_parts

ROWS, CELLS = 2**19, 2**23
"""So many readings are gathered before they are counted, so many counts (records times buckets) enclosed at once."""
_INTEGERS = ("bigint", "int", "smallint", "tinyint")
_TYPES = {"step": _INTEGERS, "norm": ("double", "float"), "repeats": _INTEGERS}


def count_spark(session: Any, training: Training, norms: str, parts: int = PARTS, sample: int | None = None) -> Counts:
    """Count the table or view `readings` (record, step, norm, repeats) of a Spark session, 4.0 or later.

    norms: "raw" or "clipped", as for count_parquet. sample: only about so many records, spread over all; all rows are
    checked, and of these records that none is missing. Raises InvalidInput with the row at fault; nothing is counted
    then.
    """
    steps, records, clipped = _checked(session, training, norms)
    share = max(1, records // count(sample, "sample")) if sample is not None else 1
    where = f"WHERE pmod(xxhash64(record), {share}) = 0" if share > 1 else ""
    check_complete(lambda sql: session.sql(sql).collect(), steps, where)
    statement = counting_sql(training.clipping_double, checked_parts(parts))
    table = session.sql(f"SELECT record, bucket, steps, CAST(squares DIV {2**SPLIT_BITS} AS BIGINT) AS high, "
                        f"CAST(squares % {2**SPLIT_BITS} AS BIGINT) AS low FROM ({statement}) AS counted {where}"
                        ).toArrow()
    ids, place = _places(table)
    dense = np.zeros((3, len(ids), bucket_count(parts)), dtype=np.int64)
    for target, name in zip(dense, ("steps", "high", "low"), strict=True):
        target[place, table.column("bucket").to_numpy()] = table.column(name).to_numpy()
    counts = Counts(training, np.array(ids.to_pylist()), *dense)
    return replace(counts.take(np.argsort(counts.records)), clipped=clipped)


def enclose_spark(session: Any, tables: SharedTables, norms: str) -> Any:
    """A DataFrame (record, lower, upper, narrow) of every record of `readings`: what `tables.enclose` finds for it.

    Counted and enclosed where the readings lie when it is asked for, after one exchange of them; narrow: whether the
    interval is as narrow as the tables were asked for. The same doubles as here, on machines whose numpy rounds matrix
    products alike. Raises as count_spark for a wrong row; a record that is not whole fails the job, in the same words.
    """
    from pyspark.sql.types import BooleanType, DoubleType, StructField, StructType

    steps, *_ = _checked(session, tables.training, norms)
    readings = session.sql("SELECT record, step, CAST(norm AS DOUBLE) AS norm, CAST(repeats AS BIGINT) AS repeats "
                           "FROM readings")
    kinds = {"lower": DoubleType(), "upper": DoubleType(), "narrow": BooleanType()}
    found = StructType([readings.schema["record"], *(StructField(name, kind) for name, kind in kinds.items())])
    shared = session.sparkContext.broadcast((tables, np.array(steps)))
    together = readings.repartition("record").sortWithinPartitions("record")
    return together.mapInArrow(lambda batches: _enclosed(shared.value[0], shared.value[1], batches), found)


def _enclosed(tables: SharedTables, steps: np.ndarray, batches: Iterable[Any]) -> Iterator[Any]:
    """Batches (record, lower, upper, narrow) from batches of readings, each record's next to each other."""
    import pyarrow

    size, buckets = max(1, CELLS // bucket_count(tables.parts)), bucket_count(tables.parts)
    for table in _gathered(batches):
        ids, place = _places(table)
        step, norm, repeats = (table.column(name).to_numpy() for name in ("step", "norm", "repeats"))
        _check_whole(steps, ids, place, step)
        for start in range(0, len(ids), size):
            some, (first, end) = ids.slice(start, size), np.searchsorted(place, [start, start + size])
            dense = np.zeros((3, len(some), buckets), dtype=np.int64)
            add_readings(dense, tables.training, place[first:end] - start, norm[first:end], repeats[first:end])
            lower, upper = tables.enclose(dense_counts(tables.training, np.arange(len(some)), dense))
            columns = [some, *(pyarrow.array(part) for part in (lower, upper, tables.narrow(lower, upper)))]
            yield pyarrow.RecordBatch.from_arrays(columns, names=["record", "lower", "upper", "narrow"])


def _check_whole(steps: np.ndarray, ids: Any, place: np.ndarray, step: np.ndarray) -> None:
    """InvalidInput unless each record has each of these increasing steps exactly once."""
    wrong = np.flatnonzero(np.bincount(place) != len(steps))
    if not len(wrong):
        seen = np.zeros((len(ids), len(steps)), dtype=bool)
        at = np.minimum(np.searchsorted(steps, step), len(steps) - 1)
        seen[place, at] = steps[at] == step
        wrong = np.flatnonzero(~seen.all(axis=1))
    if len(wrong):
        raise incomplete(ids[wrong[0]], np.setdiff1d(steps, step[place == wrong[0]]).tolist())


def _gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of many batches each: few records on a line cost as much as a block of them. No record is in two."""
    import pyarrow

    waiting = list[Any]()
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= ROWS:
            ids = batch.column("record")
            cut = len(ids)  # what follows here may belong to the next batch's first record
            while cut and ids[cut - 1] == ids[-1]:
                cut -= 1
            if cut:
                yield pyarrow.Table.from_batches([*waiting[:-1], batch.slice(0, cut)])
                waiting = [batch.slice(cut)]
    if waiting:
        yield pyarrow.Table.from_batches(waiting)


def _places(table: Any) -> tuple[Any, np.ndarray]:
    """The records, and the place of each row's record among them."""
    distinct = table.column("record").combine_chunks().dictionary_encode()
    return distinct.dictionary, distinct.indices.to_numpy(zero_copy_only=False)


def _checked(session: Any, training: Training, norms: str) -> tuple[list[int], int, int]:
    """The steps, how many records have the first, and clipped readings, if all rows of the table are readings."""
    raw, columns = is_raw(norms), dict(session.table("readings").dtypes)
    if missing := {"record", *_TYPES} - columns.keys():
        raise InvalidInput("columns", ", ".join(sorted(columns)), "record, step, norm, repeats: add "
                           + " and ".join(sorted(missing)))
    check_types(columns, _TYPES, tuple(_TYPES))
    return check_rows(lambda sql: session.sql(sql).collect(), training, raw)
