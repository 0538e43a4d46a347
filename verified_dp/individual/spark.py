"""Readings that one machine cannot hold: the same statements on a Spark session, the same integers to the bit.

    session.read.parquet("norms/").createOrReplaceTempView("readings")      # columns record, step, norm, repeats
    counts = count_spark(session, training, norms="raw")

Spark does the counting; what comes back are the counts, at most one row for each record and bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from verified_dp.core.errors import InvalidInput
from verified_dp.individual.counts import Counts
from verified_dp.individual.input import PARTS, check_readings, check_types, is_raw
from verified_dp.individual.statements import counting_sql
from verified_dp.individual.training import SPLIT_BITS, Training, bucket_count, checked_parts

_INTEGERS = ("bigint", "int", "smallint", "tinyint")
_TYPES = {"step": _INTEGERS, "norm": ("double", "float"), "repeats": _INTEGERS}


def count_spark(session: Any, training: Training, norms: str, parts: int = PARTS) -> Counts:
    """Count the table or view `readings` (record, step, norm, repeats) of a Spark session, 4.0 or later.

    norms: "raw" or "clipped", as for count_parquet. Raises InvalidInput with the row at fault; nothing is counted then.
    """
    raw, columns = is_raw(norms), dict(session.table("readings").dtypes)
    if missing := {"record", *_TYPES} - columns.keys():
        raise InvalidInput("columns", ", ".join(sorted(columns)), "record, step, norm, repeats: add "
                           + " and ".join(sorted(missing)))
    check_types(columns, _TYPES, tuple(_TYPES))
    statement = counting_sql(training.clipping_double, checked_parts(parts))
    clipped = check_readings(lambda sql: session.sql(sql).collect(), training, raw)
    ids: list[Any] = []
    rows = _numbered(session.sql(f"{statement} ORDER BY record, bucket").toLocalIterator(), ids)
    table = np.fromiter(rows, dtype=[(name, np.int64) for name in ("place", "bucket", "steps", "high", "low")])
    steps, high, low = dense = np.zeros((3, len(ids), bucket_count(parts)), dtype=np.int64)
    for target, name in zip(dense, ("steps", "high", "low"), strict=True):
        target[table["place"], table["bucket"]] = table[name]
    return Counts(training, np.array(ids), steps, high, low, clipped)


def _numbered(rows: Iterable[Any], ids: list[Any]) -> Iterator[tuple[int, int, int, int, int]]:
    """(place of the record, bucket, steps, high, low) of each row; `ids` is filled with the records in order."""
    for record, bucket, steps, squares in rows:
        if not ids or record != ids[-1]:
            ids.append(record)
        yield len(ids) - 1, bucket, steps, int(squares) >> SPLIT_BITS, int(squares) & (2**SPLIT_BITS - 1)
