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
from typing import Any

import numpy as np

from verified_dp.core.errors import InvalidInput
from verified_dp.core.exact import count
from verified_dp.individual.counts import Counts
from verified_dp.individual.input import PARTS, check_readings, check_types, is_raw
from verified_dp.individual.shared import SharedTables
from verified_dp.individual.statements import counting_sql
from verified_dp.individual.training import SPLIT_BITS, Training, bucket_count, checked_parts

_INTEGERS = ("bigint", "int", "smallint", "tinyint")
_TYPES = {"step": _INTEGERS, "norm": ("double", "float"), "repeats": _INTEGERS}


def count_spark(session: Any, training: Training, norms: str, parts: int = PARTS, sample: int | None = None) -> Counts:
    """Count the table or view `readings` (record, step, norm, repeats) of a Spark session, 4.0 or later.

    norms: "raw" or "clipped", as for count_parquet. sample: only about so many records, spread over all.
    Raises InvalidInput with the row at fault; nothing is counted then.
    """
    statement, clipped = _checked(session, training, norms, parts)
    ids: list[Any] = []
    rows = _numbered(session.sql(f"{_sampled(session, statement, sample)} ORDER BY record, bucket").toLocalIterator(),
                     ids)
    table = np.fromiter(rows, dtype=[(name, np.int64) for name in ("place", "bucket", "steps", "high", "low")])
    steps, high, low = dense = np.zeros((3, len(ids), bucket_count(parts)), dtype=np.int64)
    for target, name in zip(dense, ("steps", "high", "low"), strict=True):
        target[table["place"], table["bucket"]] = table[name]
    return Counts(training, np.array(ids), steps, high, low, clipped)


def enclose_spark(session: Any, tables: SharedTables, norms: str) -> Any:
    """A DataFrame (record, lower, upper, narrow) of every record of `readings`: what `tables.enclose` finds for it.

    Computed where the readings lie when it is asked for; narrow: whether the interval is as narrow as the tables were
    asked for. The same doubles as here, on machines whose numpy rounds matrix products alike. Raises as count_spark.
    """
    from pyspark.sql.types import BooleanType, DoubleType, StructField, StructType

    statement, _ = _checked(session, tables.training, norms, tables.parts)
    split = session.sql(f"SELECT record, bucket, steps, CAST(squares DIV {2**SPLIT_BITS} AS BIGINT) AS high, "
                        f"CAST(squares % {2**SPLIT_BITS} AS BIGINT) AS low FROM ({statement}) AS counted")
    found = StructType([split.schema["record"], StructField("lower", DoubleType()), StructField("upper", DoubleType()),
                        StructField("narrow", BooleanType())])
    shared = session.sparkContext.broadcast(tables)
    together = split.repartition("record").sortWithinPartitions("record", "bucket")
    return together.mapInArrow(lambda batches: _enclosed(shared.value, batches), found)


def _enclosed(tables: SharedTables, batches: Iterable[Any]) -> Iterator[Any]:
    """Batches (record, lower, upper, narrow) from batches of counts in order, each record's next to each other."""
    import pyarrow

    waiting: list[Any] = []
    for batch in batches:
        ids = batch.column("record")
        cut = len(ids)  # what follows here may belong to the next batch's first record
        while cut and ids[cut - 1] == ids[-1]:
            cut -= 1
        if cut:
            yield from _losses(tables, pyarrow.Table.from_batches([*waiting, batch.slice(0, cut)]))
            waiting = []
        waiting.append(batch.slice(cut))
    if waiting:
        yield from _losses(tables, pyarrow.Table.from_batches(waiting))


def _losses(tables: SharedTables, counted: Any) -> Iterator[Any]:
    """The batches of some records."""
    import pyarrow

    ids = counted.column("record").combine_chunks()
    distinct = ids.dictionary_encode()
    place = distinct.indices.to_numpy(zero_copy_only=False)
    dense = np.zeros((3, len(distinct.dictionary), bucket_count(tables.parts)), dtype=np.int64)
    for target, name in zip(dense, ("steps", "high", "low"), strict=True):
        target[place, counted.column("bucket").to_numpy()] = counted.column(name).to_numpy()
    lower, upper = tables.enclose(Counts(tables.training, np.arange(dense.shape[1]), *dense))
    columns = [distinct.dictionary, *(pyarrow.array(part) for part in (lower, upper, tables.narrow(lower, upper)))]
    yield pyarrow.RecordBatch.from_arrays(columns, names=["record", "lower", "upper", "narrow"])


def _checked(session: Any, training: Training, norms: str, parts: int) -> tuple[str, int]:
    """The statement that counts, and how many readings are clipped, if all of them are readings."""
    raw, columns = is_raw(norms), dict(session.table("readings").dtypes)
    if missing := {"record", *_TYPES} - columns.keys():
        raise InvalidInput("columns", ", ".join(sorted(columns)), "record, step, norm, repeats: add "
                           + " and ".join(sorted(missing)))
    check_types(columns, _TYPES, tuple(_TYPES))
    statement = counting_sql(training.clipping_double, checked_parts(parts))
    return statement, check_readings(lambda sql: session.sql(sql).collect(), training, raw)


def _sampled(session: Any, statement: str, sample: int | None) -> str:
    """The statement for one record of so many, by their hashes."""
    if sample is None:
        return statement
    records = session.sql("SELECT COUNT(DISTINCT record) FROM readings").collect()[0][0]
    share = max(1, records // count(sample, "sample"))
    return f"SELECT * FROM ({statement}) AS counted WHERE pmod(xxhash64(record), {share}) = 0"


def _numbered(rows: Iterable[Any], ids: list[Any]) -> Iterator[tuple[int, int, int, int, int]]:
    """(place of the record, bucket, steps, high, low) of each row; `ids` is filled with the records in order."""
    for record, bucket, steps, squares in rows:
        if not ids or record != ids[-1]:
            ids.append(record)
        yield len(ids) - 1, bucket, steps, int(squares) >> SPLIT_BITS, int(squares) & (2**SPLIT_BITS - 1)
