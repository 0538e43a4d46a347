"""A second reading of T115: the doubles next to every edge, in numpy, in SQL and as fractions; types of columns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp.individual.counts import Counts
from verified_dp.individual.input import count_array, count_parquet
from verified_dp.individual.squares import HULL_SLACK, SQUARE_SLACK, bucket_sql, square_and_bucket, square_sql
from verified_dp.individual.training import Training

F = Fraction
NOISE = 1e-11
"""Relative error granted to the sums in floating point."""


CLIPPINGS = [F(1), F(1, 10), F(1, 3), F(33, 10), F(1, 10**30), F(10**30), F(7, 10**9), 1 - F(1, 2**60)]


def extreme_norms(clipping: float, parts: int, rng: np.random.Generator) -> np.ndarray:
    """Doubles next to every edge of a bucket and to the clipping constant, subnormal ones, and any."""
    edges = clipping * np.array([0, *(2.0**-k / parts for k in range(6, 0, -1)), *(np.arange(1, parts + 1) / parts)])
    near = [edges]
    for side in (np.inf, 0.0):
        moved = edges
        for _ in range(3):
            moved = np.nextafter(moved, side)
            near.append(moved)
    plain = [5e-324, 1e-320, 2.0**-1022, 2.0**-1074 * 3, 1e-160, 1e-154, 1.7e308, 1e300]
    return np.concatenate([*near, plain, clipping * np.exp2(-rng.uniform(0, 40, 300)), clipping * rng.random(300),
                           rng.integers(0, 2**62, 200).view(np.float64)])


@pytest.mark.theorem("T115-squared-sensitivity")
@pytest.mark.parametrize("parts", [2, 64, 1024])
def test_extreme_norms_in_numpy_sql_and_fractions(parts: int) -> None:
    """Clipping constants that are no doubles too: r is relative to the exact one."""
    rng = np.random.default_rng(5)
    for clipping in CLIPPINGS:
        near, edges = float(clipping), Training(1, clipping, F(1, 2)).square_edges(parts)
        norms = np.unique(extreme_norms(near, parts, rng))
        square, bucket = square_and_bucket(norms, near, parts)
        listed = ", ".join(f"({x!r})" for x in norms.tolist())
        found = duckdb.sql(f"SELECT {square_sql(near)} AS s, {bucket_sql(near, parts)} AS b FROM ("
                           f"SELECT CAST(x AS DOUBLE) AS norm FROM (VALUES {listed}) AS t(x))").fetchnumpy()
        assert np.array_equal(found["s"], square) and np.array_equal(found["b"], bucket)
        some = rng.choice(len(norms), 300, replace=False)
        for i in [*some, *range(12)]:
            exact, value = min(F(float(norms[i])) / clipping, F(1)) ** 2, F(int(square[i]), 2**60)
            assert exact <= value <= exact + SQUARE_SLACK
            low, high = edges[bucket[i]] - HULL_SLACK, edges[bucket[i] + 1] + HULL_SLACK
            assert low <= exact <= high and low <= value <= high


@pytest.mark.theorem("T115-squared-sensitivity")
@settings(max_examples=8, deadline=None)
@given(norms=st.lists(st.lists(st.floats(0, 3, width=32), min_size=3, max_size=3), min_size=1, max_size=5),
       repeats=st.integers(1, 10**9 // 5), kind=st.sampled_from(["BIGINT", "INTEGER", "UINTEGER"]))
def test_types_of_columns_do_not_matter(norms: list[list[float]], repeats: int, kind: str,
                                        tmp_path_factory: pytest.TempPathFactory) -> None:
    """FLOAT norms, text as ids, integers of any width: the counts are those of the doubles."""
    training, path = Training(1, F(1, 3), F(1, 2)), tmp_path_factory.mktemp("types") / "norms.parquet"
    rows = ", ".join(f"('r{i}', {step}, CAST('{norm!r}' AS FLOAT), CAST({repeats} AS {kind}))"
                     for step, row in enumerate(norms) for i, norm in enumerate(row))
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) AS t(record, step, norm, repeats)) TO '{path}' (FORMAT parquet)")
    read, array = count_parquet(path, training, "raw", 32), np.array(norms, dtype=np.float32)
    counted = count_array(array, training, "raw", 32, repeats)
    assert list(read.records) == ["r0", "r1", "r2"]
    for name in ("steps", "high", "low"):
        assert np.array_equal(getattr(read, name), getattr(counted, name))
    for i in range(3):
        exact = sum((min(F(float(x)) * 3, F(1)) ** 2 for x in array[:, i]), F(0)) * repeats
        assert 0 <= read.square_sum(i) - exact <= SQUARE_SLACK * repeats * len(norms)
        split = read.weights()[i] @ np.array([float(x) for x in training.square_edges(32)])
        assert abs(split - float(read.square_sum(i))) <= 1e-12 * repeats * len(norms)
        assert abs(read.weights()[i].sum() - read.steps[i].sum()) <= 1e-14 * read.steps[i].sum()


@pytest.mark.theorem("T116-variance-interpolation", "T117-double-precision")
@pytest.mark.parametrize("parts", [2, 1024])
def test_weights_are_those_of_the_integers(parts: int) -> None:
    """The share of each bucket's upper end, to 8 roundings a step, down to the bucket next to 0."""
    training, rng = Training(1, 1, F(1, 2)), np.random.default_rng(6)
    norms = np.exp2(-rng.uniform(0, 22, (40, 5)))
    counts, edges = count_array(norms, training, "raw", parts, 10**6 + 1), training.square_edges(parts)
    found, weights = counts.weights_above(), counts.weights()
    for row, bucket in zip(*np.nonzero(counts.steps), strict=True):
        total = F(int(counts.high[row, bucket]) * 2**28 + int(counts.low[row, bucket]), 2**60)
        steps, low, high = int(counts.steps[row, bucket]), edges[bucket], edges[bucket + 1]
        assert abs(F(float(found[row, bucket])) - (total - steps * low) / (high - low)) <= F(steps, 2**49)
    assert np.abs(weights.sum(axis=1) - counts.steps.sum(axis=1)).max() <= 2.0**-45 * counts.steps.sum(axis=1).max()


@pytest.mark.theorem("T115-squared-sensitivity")
def test_kinds_are_compared_as_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal hashes make no kind, and each of the three arrays tells two records apart."""
    counts = count_array(np.array([[0.3, 0.6, 0.3, 0.6]]), Training(1, 1, F(1, 2)), "raw", 8)
    first, inverse = counts.distinct
    assert len(first) == 2 and first[inverse].tolist() == [0, 1, 0, 1]
    monkeypatch.setattr(Counts, "_hashes", lambda self: np.zeros(len(self.records), dtype=np.uint64))
    assert [part.tolist() for part in replace(counts).distinct] == [[0, 1, 2, 3]] * 2
    for name in ("steps", "high", "low"):
        changed = getattr(counts, name).copy()
        changed[2, 3] += 1
        other = replace(counts, **{name: changed})
        assert not other.equals(counts) and not counts.equals(other) and replace(counts).equals(counts)
        assert len(other.take(np.array([0, 2])).distinct[0]) == 2
