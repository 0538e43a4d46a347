"""The SQL of the counting: one text for every engine, on a table or view `readings(record, step, norm, repeats)`.

Only standard SQL that DuckDB and Spark both read (lists are unnested by DuckDB alone): IEEE doubles, BIGINT and
DECIMAL(38,0) sums, so that the result does not depend on the engine, the order of the rows or how they are spread over
machines.
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.squares import bucket_sql, square_sql

WORD = 62
"""So many steps are checked in one integer, one bit each."""
_BAD = ("record IS NULL OR step IS NULL OR norm IS NULL OR isnan(CAST(norm AS DOUBLE)) OR norm < 0 "
        "OR CAST(norm AS DOUBLE) = CAST('Infinity' AS DOUBLE) "
        "OR repeats IS NULL OR repeats < 1 OR repeats > 1000000000")


@proved_by("T115-squared-sensitivity")
def counting_sql(clipping: float, parts: int) -> str:
    """Steps and the sum of the squared sensitivities per record and bucket: columns record, bucket, steps, squares."""
    return (
        "SELECT record, bucket, CAST(SUM(CAST(repeats AS BIGINT)) AS BIGINT) AS steps, "
        "SUM(CAST(square AS DECIMAL(19,0)) * CAST(repeats AS DECIMAL(10,0))) AS squares FROM ("
        f"SELECT record, repeats, {bucket_sql(clipping, parts)} AS bucket, {square_sql(clipping)} AS square "
        "FROM readings) AS placed GROUP BY record, bucket")


def readings_sql(source: str, long: bool, repeats: bool) -> str:
    """The readings of a table with columns record, step, norm (`long`) or record, norms, with or without repeats."""
    times = "repeats" if repeats else "1 AS repeats"
    if long:
        return f"SELECT record, step, norm, {times} FROM {source}"
    return f"SELECT record, UNNEST(range(len(norms))) AS step, UNNEST(norms) AS norm, {times} FROM {source}"


def empty_row_sql(source: str) -> str:
    """One row (record, norms) whose list is null or empty: unnesting would drop the record without a word."""
    return f"SELECT record, norms FROM {source} WHERE norms IS NULL OR len(norms) = 0 ORDER BY record LIMIT 1"


def steps_sql(clipping: float) -> str:
    """For every step its rows, those that are no readings, and those above the clipping constant."""
    return (f"SELECT step, COUNT(*) AS readings, COUNT(CASE WHEN {_BAD} THEN 1 END) AS bad, "
            f"COUNT(CASE WHEN CAST(norm AS DOUBLE) > {_literal(clipping)} THEN 1 END) AS above "
            "FROM readings GROUP BY step ORDER BY step")


def bad_row_sql() -> str:
    """One row that is no reading."""
    return f"SELECT record, step, norm, repeats FROM readings WHERE {_BAD} ORDER BY record, step LIMIT 1"


def above_row_sql(clipping: float) -> str:
    """One row above the clipping constant."""
    return (f"SELECT record, step, norm FROM readings WHERE CAST(norm AS DOUBLE) > {_literal(clipping)} "
            "ORDER BY record, step LIMIT 1")


def incomplete_sql(steps: Sequence[int], where: str = "") -> str:
    """One record that does not have each of these steps exactly once: record, found, and one integer per 62 steps."""
    places = ", ".join(f"({step}, {place // WORD}, {2 ** (place % WORD)})" for place, step in enumerate(steps))
    full = [2 ** len(steps[start:start + WORD]) - 1 for start in range(0, len(steps), WORD)]
    words = ", ".join(f"BIT_OR(CASE WHEN word = {word} THEN bit ELSE 0 END) AS word{word}" for word in range(len(full)))
    wrong = " OR ".join(f"word{word} <> {bits}" for word, bits in enumerate(full))
    return (
        f"SELECT * FROM (SELECT record, COUNT(bit) AS found, {words} FROM readings "
        f"LEFT JOIN (VALUES {places}) AS numbered(step, word, bit) ON readings.step = numbered.step {where} "
        f"GROUP BY record) AS checked WHERE found <> {len(steps)} OR {wrong} ORDER BY record LIMIT 1")


def _literal(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"
