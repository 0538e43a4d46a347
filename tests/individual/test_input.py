"""Wrong readings, by every way in: an error of this package that says where and what to write instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import verified_dp.individual.input as readings
import verified_dp.individual.spark as spark_workers
from verified_dp.core.kernel.errors import InvalidInput, Unsupported, VerifiedDPError
from verified_dp.individual.counts import Counts
from verified_dp.individual.input import Recorder, count_array, count_parquet, count_steps, count_table
from verified_dp.individual.losses import individual_deltas
from verified_dp.individual.shared import shared_deltas, shared_epsilons
from verified_dp.individual.spark import _enclosed, count_spark, enclose_spark
from verified_dp.individual.training import Training

TRAINING = Training(1, 1, "0.01")
LONG = "SELECT record, step, 0.25::DOUBLE AS norm FROM range(3) r(record), range(4) s(step)"
LISTS = "SELECT record, [0.25, 0.5, 0.0, 1.0]::DOUBLE[] AS norms FROM range(3) r(record)"


def parquet(folder: Path, rows: str, name: str = "norms.parquet") -> Path:
    duckdb.sql(f"COPY ({rows}) TO '{folder / name}' (FORMAT parquet)")
    return folder / name


def message(call: Callable[[], object], kind: type[VerifiedDPError] = InvalidInput) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("rows", "said"), [
    (LISTS.replace("1.0]", "'nan'::DOUBLE]"), "(0, 3, nan"),
    (LISTS.replace("1.0]", "-1.0]"), "(0, 3, -1.0"),
    (LISTS.replace("1.0]", "NULL]"), "(0, 3, None"),
    (LISTS.replace("1.0]", "1.5]"), "norm of record 0, step 3 must be at most 1.0 as it is declared clipped"),
    (f"{LISTS} UNION ALL SELECT 7, [0.25, 0.5, 0.0]::DOUBLE[]", "record 7 has no step 3"),
    (f"{LISTS} UNION ALL SELECT 7, [0.25, 0.5, 0.0, 0.0, 0.0]::DOUBLE[]", "record 0 has no step 4"),
    (f"{LISTS} UNION ALL SELECT 2, [0.25, 0.5, 0.0, 0.0]::DOUBLE[]", "record 2 has a step twice"),
    (f"{LISTS} UNION ALL SELECT 7, NULL", "norms of record 7 must be a list with its norm in every step, got nothing"),
    (f"{LISTS} UNION ALL SELECT 7, []", "norms of record 7 must be a list with its norm in every step, got 'an empty"),
    (f"{LISTS} UNION ALL SELECT NULL, [0.25, 0.5, 0.0, 0.0]::DOUBLE[]", "(None, 0, 0.25"),
    (f"SELECT *, -3 AS repeats FROM ({LISTS})", "(0, 0, 0.25, -3)"),
    (LONG.replace("0.25::DOUBLE", "'0.25'"), "column norm must be of type DOUBLE or FLOAT: cast it, got 'VARCHAR'"),
    (LONG.replace("0.25::DOUBLE", "0.25::DECIMAL(4, 2)"), "column norm must be of type DOUBLE or FLOAT"),
    (LONG.replace("step,", "'s' || step AS step,"), "column step must be of type"),
    (LONG.replace("step,", "step + 0.5 AS step,"), "column step must be of type"),
    (f"SELECT *, 1.5 AS repeats FROM ({LONG})", "column repeats must be of type"),
    (LISTS.replace("DOUBLE[]", "VARCHAR[]"), "column norms must be of type DOUBLE[] or FLOAT[]: cast it"),
    (f"SELECT *, 1000000000 AS repeats FROM ({LONG})", "counts must be between 0 and 2^30 steps"),
])
def test_wrong_files(tmp_path: Path, rows: str, said: str) -> None:
    wrong = parquet(tmp_path, rows)
    assert said in message(lambda: count_parquet(wrong, TRAINING, "clipped"))


def table(**changed: Any) -> dict[str, np.ndarray]:
    columns = {"record": [0, 0, 1, 1], "step": [0, 1, 0, 1], "norm": [0.25, 0.5, 1.0, 2.0]}
    return {name: np.array(values) for name, values in (columns | changed).items()}


def test_tables_in_memory_are_counted_and_read_again() -> None:
    counts = count_table(table(), TRAINING, "raw")
    steps = np.array([[0.25, 1.0], [0.5, 2.0]])
    assert counts.equals(count_array(steps, TRAINING, "raw")) and counts.clipped == 1 and counts.readings
    assert counts.readings.of_record(1) == {1.0: 1, 2.0: 1}
    assert counts.readings.count(np.array([1, 0]), 256).equals(count_array(steps[:, ::-1], TRAINING, "raw", 256))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library: str) -> None:
    """As rows, and as an array (steps, records)."""
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    counts = count_table(frames.DataFrame(table()), TRAINING, "raw")
    wide = frames.DataFrame({"a": [0.25, 0.5], "b": [1.0, 2.0]})
    assert counts.equals(count_array(wide, TRAINING, "raw")) and counts.steps.sum() == 4
    words = frames.DataFrame({"a": ["0.1", "0.2"]})
    assert "an array of real numbers" in message(lambda: count_array(words, TRAINING, "raw"))


@pytest.mark.parametrize(("changed", "said"), [
    ({"norm": ["0.1"] * 4}, "column norm must be of type DOUBLE or FLOAT: cast it"),
    ({"norm": [0, 1, 0, 1]}, "column norm must be of type DOUBLE or FLOAT: cast it, got 'BIGINT'"),
    ({"norm": [0.25, -1.0, 1.0, 2.0]}, "(0, 1, -1.0, 1)"),
    ({"norm": [0.25, float("nan"), 1.0, 2.0]}, "(0, 1, "),
    ({"step": [0, 0, 0, 1]}, "record 0 has no step 1"),
    ({"step": [0, 0, 0, 0]}, "record 0 has a step twice"),
    ({"step": [0.5, 1.5, 0.5, 1.5]}, "column step must be of type"),
    ({"record": [], "step": np.zeros(0, dtype=int), "norm": np.zeros(0)}, "no rows"),
])
def test_wrong_tables(changed: dict[str, Any], said: str) -> None:
    assert said in message(lambda: count_table(table(**changed), TRAINING, "raw"))


def test_what_is_no_table() -> None:
    assert "or a table" in message(lambda: count_table({"record": [1]}, TRAINING, "raw"))


@pytest.mark.parametrize("epsilon", ["0.1", " 1e-1 ", "1/10", Decimal("0.1"), Fraction(1, 10)])
@pytest.mark.parametrize("probability", ["0.01", "1"])
def test_decimals_are_read_exactly(epsilon: Any, probability: str) -> None:
    counts = count_array(np.full((9, 2), 0.5), Training(1, 1, probability), "raw")
    found, same = individual_deltas(counts, epsilon), individual_deltas(counts, Fraction(1, 10))
    assert found.lower.tolist() == same.lower.tolist() and found.upper.tolist() == same.upper.tolist()
    assert 0 < found.lower[0] <= found.upper[0] <= 1


@pytest.mark.parametrize(("given", "said"), [
    ({"epsilon": float("inf")}, "epsilon must be"), ({"epsilon": "-0.1"}, "epsilon must be"),
    ({"epsilon": float("nan")}, "epsilon must be"), ({"epsilon": "a lot"}, "epsilon must be"),
    ({"epsilon": None}, "epsilon must be"), ({"epsilon": "0.1", "width": "0"}, "width must be"),
    ({"epsilon": "0.1", "width": 1}, "width must be in (0, 1), as a share"),
    ({"counts": np.ones((2, 2)), "epsilon": "0.1"}, "counts must be what count_array, count_table or count_parquet")])
@pytest.mark.parametrize("ask", [individual_deltas, shared_deltas])
def test_wrong_questions(ask: Callable[..., Any], given: dict[str, Any], said: str) -> None:
    counts = count_array(np.full((9, 2), 0.5), TRAINING, "raw")
    with pytest.raises(VerifiedDPError) as caught:
        ask(**{"counts": counts} | given)
    assert said in str(caught.value)


def test_no_records_have_no_losses() -> None:
    counts = count_array(np.full((9, 2), 0.5), TRAINING, "raw").take(np.arange(0))
    assert individual_deltas(counts, "0.1").upper.shape == (0,)


def test_a_record_without_any_of_some_steps_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its readings are not among those that are checked at once."""
    monkeypatch.setattr(readings, "STEPS_AT_ONCE", 62)
    rows = [(record, step) for record in range(3) for step in range(70) if record < 2 or step < 62]
    record, step = np.array(rows).T
    short = {"record": record, "step": step, "norm": np.full(len(rows), 0.25)}
    assert "record 2 has no step 62" in message(lambda: count_table(short, TRAINING, "raw"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    good, text = parquet(tmp_path, LONG), tmp_path / "norms.csv"
    text.write_text("record,step,norm\n0,0,0.5\n")
    other = parquet(tmp_path, LISTS, "other.parquet")

    def said(paths: object, **options: object) -> str:
        return message(lambda: count_parquet(paths, TRAINING, "raw", **options))  # type: ignore[arg-type]

    assert said(tmp_path / "missing.parquet").startswith("paths must be files that exist")
    assert f"write '{tmp_path}/*.parquet'" in said(tmp_path)
    assert said([]).startswith("paths must be at least one Parquet file")
    assert "No files found that match the pattern" in said(tmp_path / "*.parq")
    assert "Parquet files that DuckDB can read" in said(text)
    assert "readings must be Parquet files" in said([good, other])
    assert said(good, memory="plenty").startswith("readings must be")
    assert said(good, threads=0).startswith("readings must be")
    assert said(good, parts=48).startswith("parts must be a power of two")


def test_patterns_and_quotes_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "o'clock"
    folder.mkdir()
    rows = {name: f"SELECT * FROM ({LONG}) WHERE step {part} 2" for name, part in (("a", "<"), ("b", ">="))}
    with duckdb.connect() as connection:
        for name, query in rows.items():
            quoted = str(folder / f"{name}.parquet").replace("'", "''")
            connection.execute(f"COPY ({query}) TO '{quoted}' (FORMAT parquet)")
    both = count_parquet([folder / "a.parquet", folder / "b.parquet"], TRAINING, "raw")
    assert both.steps.sum() == 12
    assert np.array_equal(count_parquet(folder / "*.parquet", TRAINING, "raw").high, both.high)


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0], [2, 1, 0], [1, 0], [2]])
@pytest.mark.parametrize("identifier", ["record", "'r' || record"])
def test_records_are_read_again_in_the_order_asked(tmp_path: Path, identifier: str, order: list[int]) -> None:
    """By place in the array as in the file."""
    norms = np.array([[0.1, 0.3, 1.0]])
    rows = (f"SELECT {identifier} AS record, 0 AS step, [0.1, 0.3, 1.0][record + 1]::DOUBLE AS norm "
            "FROM range(3) r(record)")
    for counts in (count_parquet(parquet(tmp_path, rows), TRAINING, "raw", 2), count_array(norms, TRAINING, "raw", 2)):
        assert counts.readings is not None
        again = counts.readings.count(counts.records[order], 64)
        assert again.equals(count_array(norms[:, order], TRAINING, "raw", 64))
        assert [counts.readings.of_record(record) for record in counts.records[order]] == [
            {norms[0, i]: 1} for i in order]


def test_too_little_memory_says_so(tmp_path: Path) -> None:
    rows = LONG.replace("range(3)", "range(200000)")
    assert "memory='1MB'" in message(lambda: count_parquet(parquet(tmp_path, rows), TRAINING, "raw", memory="1MB"),
                                     Unsupported)


@pytest.mark.parametrize(("steps", "repeats", "said"), [
    ([[0.1, 0.2], [0.1]], 1, "norms must be one norm for each of 2 records, got '(1,)'"),
    ([[0.1, 0.2], [0.1, 0.2, 0.3]], 1, "norms must be one norm for each of 2 records, got '(3,)'"),
    ([[[0.1, 0.2]]], 1, "norms must be one norm for each of 2 records, got '(1, 2)'"),
    ([0.1], 1, "norms must be one norm for each of 1 records, got '()'"),
    ([[0.1, [0.2]]], 1, "norms must be an array of real numbers"),
    ([["a", "b"]], 1, "norms must be an array of real numbers"),
    ([[0.1, None]], 1, "norms must be an array of real numbers"),
    ([np.array([1j])], 1, "norms must be an array of real numbers"),
    ([[0.1, float("nan")]], 1, "norm of record 1, reading 0 must be a finite number >= 0"),
    ([[0.1, 0.2], [0.1, -0.0001]], 1, "norm of record 1, reading 1 must be a finite number >= 0"),
    ([[0.1, 1.0000001]], 1, "norm of record 1, step 0 must be at most 1.0 as it is declared clipped"),
    ([[]], 1, "records must be the number of records, an integer >= 1"),
    ([], 1, "steps must be at least one array of norms"),
    ([[0.1]] * 3, [1, 2], "repeats must be one number, or one for each step, got '2 numbers'"),
    ([[0.1]] * 3, [1, 2, 3, 4], "repeats must be 3, one for each step, got '4 numbers'"),
    ([[0.1]] * 3, [], "repeats must be one number, or one for each step, got '0 numbers'"),
    ([[0.1]] * 3, 1.5, "repeats must be an integer from 1 to 10^9"),
    ([[0.1]] * 3, [1, 0, 1], "repeats must be an integer from 1 to 10^9"),
    ([[0.1]], True, "repeats must be an integer from 1 to 10^9"),
])
def test_wrong_steps(steps: list[object], repeats: object, said: str) -> None:
    assert said in message(lambda: count_steps(iter(steps), TRAINING, "clipped", 32, repeats))  # type: ignore[arg-type]


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2, 2)), 0.5, [0.5, 0.2]])
def test_wrong_arrays(array: np.ndarray) -> None:
    assert "an array (steps, records)" in message(lambda: count_array(array, TRAINING, "raw"))


def test_repeats_may_be_an_array() -> None:
    norms = np.full((3, 2), 0.3)
    counts = count_array(norms, TRAINING, "raw", 32, np.array([1, 2, 3], dtype=np.uint8))  # type: ignore[arg-type]
    assert counts.steps.sum(axis=1).tolist() == [6, 6]


@pytest.mark.parametrize("records", [0, -1, 2.0, True])
def test_wrong_number_of_records(records: int) -> None:
    with pytest.raises(InvalidInput, match="records must be the number"):
        Recorder(TRAINING, records, "raw")
    with pytest.raises(InvalidInput, match=r"raw .* or clipped"):
        Recorder(TRAINING, 1, "Raw")


def test_a_refused_reading_leaves_the_recorder_as_it_was() -> None:
    recorder = Recorder(TRAINING, 2, "clipped")
    recorder.add(np.array([0.5, 1.0]))
    before = recorder.counts()
    for wrong in ([0.5, 1.5], [0.5, float("nan")], [0.5], ["x", "y"]):
        with pytest.raises(InvalidInput):
            recorder.add(np.array(wrong))
    after = recorder.counts()
    assert recorder.readings == 1 and recorder.clipped == 0
    assert all(np.array_equal(getattr(before, name), getattr(after, name)) for name in ("steps", "high", "low"))


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: verified-dp[spark]")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers with the same packages
    try:
        session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    except Exception as error:
        pytest.skip(f"no Spark session, which needs Java 17: {error}")
    yield session
    session.stop()


def on_spark(session: Any, path: Path, norms: str, parts: int = 32) -> Counts:
    session.read.parquet(str(path)).createOrReplaceTempView("readings")
    return count_spark(session, TRAINING, norms, parts)


VARIED = """SELECT 'r' || record AS record, step, (1 + step % 3)::INTEGER AS repeats,
    1.2 * ((hash(record * 1000 + step) % 100003) / 100003.0)::DOUBLE ** 2 AS norm
    FROM range(30) r(record), range(70) s(step)"""


@pytest.mark.long
@pytest.mark.theorem("T115-squared-sensitivity")
def test_spark_counts_the_same_integers(spark: Any, tmp_path: Path) -> None:
    path = parquet(tmp_path, VARIED)
    ours, theirs = count_parquet(path, TRAINING, "raw", 32), on_spark(spark, path, "raw")
    assert ours.records.tolist() == theirs.records.tolist() and ours.clipped == theirs.clipped > 0
    assert all(np.array_equal(getattr(ours, name), getattr(theirs, name)) for name in ("steps", "high", "low"))
    assert theirs.steps.sum() == 30 * sum(1 + step % 3 for step in range(70))


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize(("rows", "cells"), [(1, 1), (5, 200), (40, 400), (10**6, 10**6)])
def test_batches_are_gathered_without_cutting_records(monkeypatch: pytest.MonkeyPatch, rows: int, cells: int) -> None:
    """What a worker of Spark does: however its rows come and are gathered, each record once, with the same doubles."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: verified-dp[spark]")
    norms = np.random.default_rng(3).uniform(0, 1.2, (6, 40))
    counts = count_array(norms, TRAINING, "raw", 32, repeats=50)
    tables = shared_epsilons(counts, "1e-5", width="1/2")
    monkeypatch.setattr(spark_workers, "ROWS", rows)
    monkeypatch.setattr(spark_workers, "CELLS", cells)
    for size in (1, 7, 1000):
        batches = list(_enclosed(tables, np.arange(6), arrow.table(rows_of(norms)).to_batches(max_chunksize=size)))
        found = arrow.Table.from_batches(batches).to_pydict()
        assert found["record"] == [f"r{i:02}" for i in range(40)]
        lower, upper = tables.enclose(counts)
        assert found["lower"] == lower.tolist() and found["upper"] == upper.tolist()


def rows_of(norms: np.ndarray) -> dict[str, Any]:
    """Of an array (steps, records), each record's next to each other; each stands for 50 steps."""
    steps, records = norms.shape
    return {"record": [f"r{i:02}" for i in range(records) for _ in range(steps)],
            "step": np.tile(np.arange(steps), records), "norm": norms.T.ravel(), "repeats": np.full(norms.size, 50)}


@pytest.mark.parametrize(("steps", "said"), [
    ([0, 1, 2, 4], "record r01 has no step 3"), ([0, 1, 2, 2], "record r01 has no step 3"), ([0, 1, 2], "no step 3"),
    ([0, 1, 2, 3, 3], "record r01 has a step twice"), ([3, 2, 1, 0], None)])
def test_a_worker_refuses_a_record_that_is_not_whole(steps: list[int], said: str | None) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: verified-dp[spark]")
    norms = np.full((4, 2), 0.5)
    tables = shared_epsilons(count_array(norms, TRAINING, "raw", 32, repeats=50), "1e-5", width="1/2")
    first, count = list(range(4)), len(steps)
    table = arrow.table({"record": ["r00"] * 4 + ["r01"] * count, "step": first + steps, "norm": [0.5] * (4 + count),
                         "repeats": [50] * (4 + count)})
    def ask() -> object:
        return list(_enclosed(tables, np.arange(4), table.to_batches()))
    if said is None:
        ask()
    else:
        assert said in message(ask)


@pytest.mark.long
@pytest.mark.theorem("T118-individual-enclosure")
def test_spark_encloses_with_the_same_doubles(spark: Any, tmp_path: Path) -> None:
    """However the records are spread over partitions and batches; tables from a sample enclose all."""
    path = parquet(tmp_path, VARIED)
    ours = count_parquet(path, TRAINING, "raw", 32)
    session = spark
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    session.read.parquet(str(path)).createOrReplaceTempView("readings")
    some = count_spark(session, TRAINING, "raw", 32, sample=10)
    assert 0 < len(some.records) < 30
    for tables in (shared_epsilons(some, "1e-5", width="1/10"), shared_deltas(some, "0.1", width="1/10")):
        lower, upper = tables.enclose(ours)
        rows = {row["record"]: row for row in enclose_spark(session, tables, "raw").collect()}
        assert sorted(rows) == ours.records.tolist()
        for record, *ends in zip(ours.records.tolist(), lower, upper, tables.narrow(lower, upper), strict=True):
            assert [rows[record][name] for name in ("lower", "upper", "narrow")] == ends
    assert upper.min() > 0 and np.isfinite(upper).all()


@pytest.mark.long
@pytest.mark.parametrize(("change", "said"), [
    ("SELECT * REPLACE (CASE WHEN record = 'r5' AND step = 20 THEN -1 ELSE norm END AS norm) FROM f", "('r5', 20, -1"),
    ("SELECT * REPLACE (CASE WHEN record = 'r5' AND step = 20 THEN 'nan'::DOUBLE ELSE norm END AS norm) FROM f",
     "('r5', 20, nan"),
    ("SELECT * REPLACE (CASE WHEN record = 'r5' AND step = 20 THEN NULL ELSE norm END AS norm) FROM f",
     "('r5', 20, None"),
    ("SELECT * FROM f WHERE NOT (record = 'r7' AND step = 64)", "record r7 has no step 64"),
    ("SELECT * FROM f UNION ALL SELECT * FROM f WHERE record = 'r7' AND step = 65", "record r7 has a step twice"),
    ("SELECT * FROM f", "as it is declared clipped"),
    ("SELECT * EXCLUDE repeats FROM f", "add repeats"),
    ("SELECT * REPLACE (norm::DECIMAL(9, 5) AS norm) FROM f", "column norm must be of type double or float"),
    ("SELECT * FROM f WHERE step < 0", "no rows")])
def test_spark_refuses_the_same_readings(spark: Any, tmp_path: Path, change: str, said: str) -> None:
    wrong = parquet(tmp_path, change.replace("FROM f", f"FROM ({VARIED}) AS f"))
    norms = "clipped" if "clipped" in said else "raw"
    assert said in message(lambda: on_spark(spark, wrong, norms))
