"""Individual losses: integers and buckets, interpolation in v, double precision, whole enclosures, input."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import duckdb
import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import square_root
from verified_dp.individual.brackets import doubles_around
from verified_dp.individual.counts import Counts
from verified_dp.individual.evaluate import evaluate_rows
from verified_dp.individual.input import Recorder, count_array, count_parquet, count_steps
from verified_dp.individual.interpolation import (
    Hull,
    Shares,
    bound_beyond,
    bound_log_errors,
    bound_shares,
    cut_cells,
    derivative_factors,
)
from verified_dp.individual.lines import LineSearch, LogMasses, best_lines
from verified_dp.individual.losses import individual_deltas, individual_epsilons
from verified_dp.individual.shared import SharedTables, shared_deltas, shared_epsilons
from verified_dp.individual.squares import HULL_SLACK, SQUARE_SLACK, square_and_bucket
from verified_dp.individual.tables import build_table
from verified_dp.individual.training import Training
from verified_dp.search.deadline import Budget
from verified_dp.search.doubles import (
    FUNCTION_ERROR,
    bound_moduli,
    cosine_and_sine,
    double_above,
    exponential,
    to_double,
    to_doubles,
)
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import bracket_epsilon

TRAINING = Training(Fraction(1), Fraction(1), Fraction(1, 100))
NORMS = st.one_of(st.floats(0, 2), st.floats(0, 1e-300),
                  st.sampled_from([0.0, 5e-324, 1.0, 0.1, 1 / 64, 1 / 2048, 0.75]))


def sampled(training: Training, ratio: Fraction, order: str) -> SampledGaussianLoss:
    return SampledGaussianLoss(training.sampling_probability, training.noise_multiplier / ratio, order)


def composition(training: Training, norms: np.ndarray, repeats: int = 1) -> ComposedLoss:
    """The record's own composition, one law for each different norm."""
    ratios = Counter(min(Fraction(float(x)) / training.clipping, Fraction(1)) for x in norms if x > 0)
    parts = tuple((sampled(training, ratio, training.order), count * repeats) for ratio, count in ratios.items())
    return ComposedLoss(training.order, parts, Fraction(0))


def some_norms(records: int, readings: int, seed: int = 1, spread: float = 0.3) -> np.ndarray:
    """(readings, records): few different values, so that the contour engine needs few laws."""
    rng = np.random.default_rng(seed)
    scale = np.exp(rng.normal(-1, spread, size=records))
    return np.round(16 * scale * np.exp(rng.normal(0, 0.3, size=(readings, records)))) / 16


@pytest.mark.theorem("T115-squared-sensitivity")
@settings(max_examples=100, deadline=None)
@given(norm=NORMS, clipping=st.sampled_from([1.0, 0.1, 3.3, 1e-20]), parts=st.sampled_from([2, 64, 1024]))
def test_squares_are_above_and_close(norm: float, clipping: float, parts: int) -> None:
    training = Training(1, Fraction(clipping), Fraction(1, 2))
    norm *= clipping
    square, bucket = square_and_bucket(np.array([norm]), clipping, parts)
    exact = min(Fraction(norm) / Fraction(clipping), Fraction(1)) ** 2
    value, edges = Fraction(int(square[0]), 2**60), training.square_edges(parts)
    assert exact <= value <= exact + SQUARE_SLACK
    low, high = edges[bucket[0]], edges[bucket[0] + 1]
    assert low - HULL_SLACK <= exact <= high + HULL_SLACK
    assert low - HULL_SLACK <= value <= high + HULL_SLACK
    assert (norm == 0) == (int(square[0]) == 0)


@pytest.mark.theorem("T117-double-precision")
def test_functions_keep_their_error() -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-700, 700, 2000), [0.0, -700.0, 1e-300, 0.34657359]])
    with mpmath.workdps(40):
        off = [abs(mpmath.mpf(float(got)) / mpmath.exp(mpmath.mpf(float(at))) - 1)
               for at, got in zip(x, exponential(x), strict=True)]
        assert max(off) < FUNCTION_ERROR
        y = np.concatenate([rng.uniform(-65000, 65000, 2000), rng.uniform(-4, 4, 1000), np.pi / 4 * np.arange(-9, 9)])
        cosine, sine = cosine_and_sine(y)
        off = [max(abs(mpmath.mpf(float(c)) - mpmath.cos(mpmath.mpf(float(at)))),
                   abs(mpmath.mpf(float(s)) - mpmath.sin(mpmath.mpf(float(at)))))
               for at, c, s in zip(y, cosine, sine, strict=True)]
        assert max(off) < FUNCTION_ERROR
    assert exponential(np.array([701.0]))[0] == np.inf
    third = arb(1) / 3
    near, radius = to_double(third)
    assert abs(third - arb(near)) <= arb(radius) and radius < 1e-15
    assert arb(double_above(third)) >= third


@pytest.mark.theorem("T117-double-precision")
def test_complex_doubles_and_their_distances() -> None:
    rng = np.random.default_rng(5)
    sizes = 10.0 ** rng.uniform(-320, 300, 300)
    with ctx.workprec(120):
        balls = [acb(arb(x, x * r) / 3, arb(-x * y) / 7) for x, y, r in zip(
            sizes, rng.normal(size=300), 10.0 ** rng.uniform(-40, 1, 300), strict=True)]
        near, radius = to_doubles([*balls, acb(arb("nan"), 1), acb(1, arb("inf"))])
        least, most = bound_moduli(near, radius)
        for k, ball in enumerate(balls):
            with ctx.workprec(5000):  # exact
                parts = (ball.real, arb(near[k].real)), (ball.imag, arb(near[k].imag))
                assert sum((abs(part.mid() - x) + part.rad() for part, x in parts), arb(0)) <= arb(radius[k])
            assert radius[k] < 2 * float(ball.rad()) + 1e-15 * abs(near[k]) + 1e-299
            assert arb(least[k]) <= ball.abs_lower() and ball.abs_upper() <= arb(most[k])
        assert np.isinf(radius[-2:]).all() and not (least[-2:] > 0).any() and np.isinf(most[-2:]).all()


def transform(q: str, v: float, z: complex, order: str) -> mpmath.mpc:
    """M(z; v) by direct quadrature."""
    beta = z + 1 if order == "remove" else -z
    probability = mpmath.mpf(q)

    def integrand(t: mpmath.mpf) -> mpmath.mpc:
        m = 1 - probability + probability * mpmath.exp(mpmath.sqrt(v) * t - mpmath.mpf(v) / 2)
        return mpmath.npdf(t) * mpmath.exp(beta * mpmath.log(m))

    return mpmath.quad(integrand, [-12, -4, 0, 2, 4, 6, 9, 14, 24])


def shares_on(q: str, order: str, tilt: int, hull: Hull) -> Shares:
    probability, exponent, least, top = Fraction(q), Fraction(tilt), hull.bottom, hull.top
    return bound_shares(probability, order, exponent, least, top, cut_cells(probability, order, exponent, top))


@pytest.mark.theorem("T116-variance-interpolation")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("q", "tilt", "frequency", "low", "high"), [
    ("0.01", 5, 3, 0.7, 0.9), ("0.05", 2, 7, 0.2, 0.4), ("0.05", 8, 0, 0.5, 0.52)])
def test_chord_error_and_derivatives(order: str, q: str, tilt: int, frequency: int, low: float, high: float) -> None:
    """The bounds hold inside of the bucket, and are not far above what happens there (at w = 0, remove)."""
    z, hull = complex(tilt, frequency), Hull(Fraction(low), Fraction(high), Fraction(1, 2**45))
    with ctx.workprec(80):
        shares = shares_on(q, order, tilt, hull)
        first, second = shares.derivatives(derivative_factors(order, [acb(tilt, frequency)]))
    with mpmath.workdps(20):
        ends = [transform(q, v, z, order) for v in (low, high)]
        middle, step = (low + high) / 2, (high - low) / 64
        near = [transform(q, middle + k * step, z, order) for k in (-1, 0, 1)]
        slope, bend = abs(near[2] - near[0]) / (2 * step), abs(near[2] - 2 * near[1] + near[0]) / step**2
        assert slope < first[0] and bend < second[0] * 1.001
        if order == "remove" and frequency == 0:
            assert first[0] < 3 * slope and second[0] < 4 * bend
        sizes = tuple(np.array([float(abs(x)) * (1 - 1e-12)]) for x in ends)
        error = bound_log_errors(hull, (first, second), sizes, Fraction(0))[0]
        chord = (mpmath.log(ends[0]) + mpmath.log(ends[1])) / 2
        assert abs(mpmath.log(near[1]) - chord) < error < 1


@pytest.mark.theorem("T116-variance-interpolation")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_bound_beyond_holds_inside_the_bucket(order: str) -> None:
    """Between the ends, and for frequencies past the first, from the bound at the lower end by direct integration."""
    q, tilt, omega, theta = "0.1", 3, 30, 0.5
    hull = Hull(Fraction(1, 2), Fraction(5, 8), Fraction(1, 2**45))
    probability = mpmath.mpf(q)

    def on_line(v: float) -> mpmath.mpf:
        def integrand(t: mpmath.mpf) -> mpmath.mpf:
            m = 1 - probability + probability * mpmath.exp(mpmath.mpc(mpmath.sqrt(v) * t - v / 2, theta))
            power = tilt + 1 if order == "remove" else -tilt
            return mpmath.npdf(t) * abs(m) ** power * mpmath.exp(-omega * mpmath.arg(m))
        return mpmath.exp(mpmath.mpf(theta) ** 2 / (2 * v)) * mpmath.quad(integrand, [-12, -4, 0, 4, 9, 16])

    with mpmath.workdps(20), ctx.workprec(64):
        shares = shares_on(q, order, tilt, hull)
        at_low = arb(str(on_line(0.5))) * (1 + arb("1e-12"))
        start, share = bound_beyond(hull, shares, at_low, arb(theta), acb(tilt, omega))
        for v in (0.5, 0.625):
            bound = float(start + share * (v - 0.5) * 8)
            assert float(mpmath.log(on_line(v))) < bound
            for w in (30, 41):
                assert float(mpmath.log(abs(transform(q, v, complex(tilt, w), order)))) < bound


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize(("q", "sigma", "order", "repeats"), [
    ("0.01", "1", "remove", 100), ("0.05", "1.5", "remove", 20), ("0.02", "2", "add", 60), ("0.3", "4", "remove", 3)])
def test_enclosures_contain_the_contour_engines(q: str, sigma: str, order: str, repeats: int) -> None:
    training = Training(Fraction(sigma), Fraction(1), Fraction(q), order)
    norms = some_norms(4, 12)
    counts = count_array(norms, training, "raw", 32, repeats)
    result = individual_epsilons(counts, "1e-5")
    assert np.median(result.relative_width) < 0.03
    for i in range(len(counts.records)):
        order_engine = OneDirection(composition(training, norms[:, i], repeats))
        low, high = bracket_epsilon(order_engine, Fraction(1, 10**5), 6, "contour", Budget(60)).ends
        assert high is not None
        assert result.lower[i] <= float(high) * (1 + 1e-15) and float(low) * (1 - 1e-15) <= result.upper[i]


@pytest.mark.theorem("T118-individual-enclosure")
def test_deltas_and_equal_records() -> None:
    norms = np.tile(some_norms(3, 8), 2)
    counts = count_array(norms, TRAINING, "raw", 32, repeats=100)
    result = individual_deltas(counts, "0.5")
    assert result.distinct == 3
    assert np.array_equal(result.lower[:3], result.lower[3:]) and np.array_equal(result.upper[:3], result.upper[3:])
    for i in range(3):
        bounds = OneDirection(composition(TRAINING, norms[:, i], 100)).enclose(
            Fraction(1, 2), 30.0, "contour", Budget(60)).bounds
        assert arb(result.lower[i]) <= bounds.upper and bounds.lower <= arb(result.upper[i])
    large = result.upper > 1e-6
    assert large.any() and (result.upper[large] < 1.1 * result.lower[large]).all()


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize("epsilon", ["0.1", Fraction(1, 3), "0.7"])
def test_epsilons_between_two_doubles(epsilon: Fraction | str) -> None:
    """Within what the doubles on both sides give, around the exact eps, and hardly wider than at a double."""
    norms, exact = some_norms(3, 8), Fraction(epsilon)
    counts = replace(count_array(norms, TRAINING, "raw", 32, repeats=100), readings=None)
    found = individual_deltas(counts, epsilon)
    below, above = (individual_deltas(counts, Fraction(end)) for end in doubles_around(exact))
    assert np.allclose(found.lower, above.lower, rtol=1e-9) and np.allclose(found.upper, below.upper, rtol=1e-9)
    for i in range(3):
        loss = composition(TRAINING, norms[:, i], 100)
        bounds = OneDirection(loss).enclose(exact, 30.0, "contour", Budget(60)).bounds
        assert arb(found.lower[i]) <= bounds.upper and bounds.lower <= arb(found.upper[i])


@pytest.mark.theorem("T118-individual-enclosure")
def test_shared_tables_enclose_each_record_alike() -> None:
    """To the bit, whichever records stand beside it; with what the records' own tables find; all others are wide."""
    counts = replace(count_array(some_norms(600, 6), TRAINING, "raw", 16, repeats=50), readings=None)
    tables = pickle.loads(pickle.dumps(shared_epsilons(counts.take(np.arange(0, 600, 10)), "1e-5", width="1/2")))
    lower, upper = tables.enclose(counts)
    mixed = np.random.default_rng(5).permutation(600)
    for some in (mixed, mixed[:7], mixed[:513]):
        again = tables.enclose(counts.take(some))
        assert np.array_equal(again[0], lower[some]) and np.array_equal(again[1], upper[some])
    own = individual_epsilons(counts.take(np.arange(10)), "1e-5", width="1/2", alone=0)
    assert (own.lower <= upper[:10]).all() and (lower[:10] <= own.upper).all()
    assert tables.narrow(lower, upper).mean() > 0.9
    with pytest.raises(InvalidInput, match="as the tables are"):
        tables.enclose(counts.coarser(8))
    with pytest.raises(InvalidInput, match="some records with steps"):
        shared_epsilons(counts.take(np.arange(0)), "1e-5")


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize("make", [lambda counts: shared_epsilons(counts, "1e-5"),
                                  lambda counts: shared_deltas(counts, "0.1")])
def test_shared_tables_leave_out_what_their_records_cannot_have(make: Callable[[Counts], SharedTables]) -> None:
    """The further right a line, the fewer buckets; those of every record on it are among them: few end unbounded."""
    generator = np.random.default_rng(7)
    norms = np.exp(generator.uniform(-5, 0.5, 400)) * np.exp(generator.normal(0, 0.8, (60, 400)))
    counts = replace(count_array(norms, TRAINING, "raw", 16, repeats=10), readings=None)
    tables = make(counts.take(np.arange(0, 400, 4)))
    covered = [set(table.witness.buckets) for _, table in tables.tables]
    assert all(more > fewer for more, fewer in zip(covered[:2], covered[-2:], strict=True))
    assert covered[0] == set(range(counts.buckets)) and all(a >= b for a, b in pairwise(covered))
    lower, upper = tables.enclose(counts)
    assert (lower <= upper).all() and np.isfinite(upper).all()
    assert (upper < (1 if tables.question.quantity == "delta" else 10)).all()


@pytest.mark.theorem("T116-variance-interpolation", "T118-individual-enclosure")
def test_finer_grids_are_narrower_and_overlap() -> None:
    norms = some_norms(3, 10, 4, 0.1) * 0.97
    counts = [replace(count_array(norms, TRAINING, "raw", parts, 80), readings=None) for parts in (8, 32)]
    found = [individual_epsilons(count, "1e-5") for count in counts]
    assert (found[0].lower <= found[1].upper).all() and (found[1].lower <= found[0].upper).all()
    assert np.median(found[1].relative_width) < np.median(found[0].relative_width) / 8


@pytest.mark.theorem("T115-squared-sensitivity")
def test_a_coarser_grid_has_the_same_readings() -> None:
    norms = some_norms(6, 40, spread=2) ** 3
    fine = count_array(norms, TRAINING, "raw", 256, 7)
    for parts in (2, 16, 128):
        assert fine.coarser(parts).equals(count_array(norms, TRAINING, "raw", parts, 7))
    assert fine.coarser(512) is fine


@pytest.mark.theorem("T116-variance-interpolation", "T118-individual-enclosure")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_a_few_large_steps_among_many_tiny_ones(order: str) -> None:
    """The buckets are refined until the interval is as narrow as asked, from the readings where the counts end."""
    training = Training(Fraction(3, 2), Fraction(1), Fraction(1, 20), order)
    norms = np.full((100, 3), 1 / 64)
    norms[:3, 0], norms[:2, 1], norms[:1, 2] = [1, 0.75, 0.3125], [0.9375, 0.03125], [0.5]
    counts = count_array(norms, training, "raw", 16, 4)
    result = individual_epsilons(counts, "1e-5", width="1/100", alone=0)
    assert result.narrow.all() and not result.reason and result.parts.max() > 16
    stuck = individual_epsilons(replace(counts, readings=None), "1e-5", width="1/100", alone=0)
    assert "more than 16 parts" in stuck.reason and not stuck.narrow.all()
    for i in range(3):
        engine = OneDirection(composition(training, norms[:, i], 4))
        low, high = bracket_epsilon(engine, Fraction(1, 10**5), 6, "contour", Budget(60)).ends
        assert high is not None
        for found in (result, stuck):
            assert found.lower[i] <= float(high) * (1 + 1e-15) and float(low) * (1 - 1e-15) <= found.upper[i]


def test_readings_that_changed_are_noticed(tmp_path: Path) -> None:
    norms = np.full((100, 1), 1 / 64)
    norms[:3, 0] = [1, 0.75, 0.3125]
    training = Training(Fraction(3, 2), Fraction(1), Fraction(1, 20))
    counts = count_array(norms, training, "raw", 16, 4)
    norms[0] = 0.99
    with pytest.raises(InvalidInput, match="changed since"):
        individual_epsilons(counts, "1e-5")


def test_parquet_is_read_again_for_some_records(long_file: Path) -> None:
    counts = count_parquet(long_file, TRAINING, "raw", parts=16)
    picked = np.array([17, 3, 29])
    assert counts.readings is not None
    finer = counts.readings.count(counts.records[picked], 128)
    assert finer.records.tolist() == counts.records[picked].tolist()
    assert finer.equals(count_parquet(long_file, TRAINING, "raw", parts=128).take(picked))


@pytest.mark.theorem("T118-individual-enclosure")
def test_a_coarse_line_stays_right() -> None:
    """Too few frequencies, a short period: the bounds grow, and hold."""
    norms = some_norms(5, 10)
    counts = count_array(norms, TRAINING, "raw", 16, repeats=100)
    masses = LogMasses(TRAINING, counts.parts)
    choice = best_lines(masses, counts.weights(), float(np.log(1e-5)))
    line = LineSearch(masses, counts, choice, counts.parts, 26.0)
    good = line.choose_table(np.flatnonzero(counts.steps.any(axis=0)), float(line.cutoffs().max()))
    epsilon = np.full(5, 0.75)
    truth = evaluate_rows(build_table(TRAINING, counts.parts, good), counts).delta(epsilon)
    for changed in ({"count": max(2, good.count // 4)}, {"step": good.step * 3}):
        witness = type(good)(**{**good.__dict__, **changed})
        rough = evaluate_rows(build_table(TRAINING, counts.parts, witness), counts).delta(epsilon)
        assert (rough[0] <= truth[1]).all() and (truth[0] <= rough[1]).all()
        assert (rough[1] - rough[0] > 2 * (truth[1] - truth[0])).all()


@pytest.mark.theorem("T119-rounded-sensitivities")
def test_rounded_sensitivities_bracket() -> None:
    counts = count_array(some_norms(2, 10, spread=0.1) * 0.97, TRAINING, "raw", 16, 100)
    down, exact, up = (individual_epsilons(x, "1e-5") for x in (counts.rounded(False), counts, counts.rounded(True)))
    some = exact.lower > 0.1
    assert (down.lower[some] < exact.lower[some]).all() and (exact.upper[some] < up.upper[some]).all()
    assert (up.upper[some] < 1.6 * down.lower[some]).all()


def test_norm_zero_costs_nothing() -> None:
    training = Training(1, 1, Fraction(1, 10))
    norms = np.array([[0.0, 0.5], [0.0, 0.0]])
    result = individual_epsilons(count_array(norms, training, "clipped", 32, 50), "1e-5")
    alone = individual_epsilons(count_array(norms[:1], training, "clipped", 32, 50), "1e-5")
    assert result.upper[0] == 0 and result.lower[1] > 0
    assert abs(result.upper[1] - alone.upper[1]) < 1e-3 * alone.upper[1]


def write_parquet(path: Path, rows: str) -> Path:
    duckdb.sql(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    return path


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    return write_parquet(tmp_path / "long.parquet", """SELECT record, step * 10 AS step, 2 AS repeats,
        CASE WHEN record = 3 THEN 0.0 ELSE 1.5 * ((hash(record * 1000 + step) % 100003) / 100003.0) ** 3 END AS norm
        FROM range(40) r(record), range(70) s(step) ORDER BY hash(record + 7 * step)""")


@pytest.mark.theorem("T115-squared-sensitivity")
def test_every_way_in_gives_the_same_integers(long_file: Path, tmp_path: Path) -> None:
    norms = duckdb.sql(f"SELECT norm FROM '{long_file}' ORDER BY step, record").fetchnumpy()["norm"].reshape(70, 40)
    training = Training(1, "0.7", Fraction(1, 10))
    counts = count_parquet(long_file, training, "raw", parts=32)
    assert counts.clipped == int((norms > 0.7).sum()) > 0
    assert counts.steps.sum() == 40 * 70 * 2
    np.save(tmp_path / "norms.npy", norms)
    mapped = np.load(tmp_path / "norms.npy", mmap_mode="r")
    assert counts.equals(count_array(mapped, training, "raw", 32, 2))
    assert counts.equals(count_steps(iter(norms), training, "raw", 32, [2] * 70))
    lists = write_parquet(tmp_path / "list.parquet", f"""SELECT record, list(norm ORDER BY step) AS norms,
        2 AS repeats FROM '{long_file}' GROUP BY record""")
    assert counts.equals(count_parquet(lists, training, "raw", parts=32))
    exact = sum((min(Fraction(float(x)) / Fraction(0.7), Fraction(1)) ** 2 * 2 for x in norms[:, 5]), Fraction(0))
    assert 0 <= counts.square_sum(5) - exact < 140 * SQUARE_SLACK


@pytest.mark.parametrize(("change", "message"), [
    ("SELECT * REPLACE (CASE WHEN record = 5 AND step = 20 THEN -1 ELSE norm END AS norm) FROM f", "(5, 20, -1"),
    ("SELECT * REPLACE (CASE WHEN record = 5 AND step = 20 THEN 'nan'::DOUBLE ELSE norm END AS norm) FROM f",
     "(5, 20, nan"),
    ("SELECT * REPLACE (CASE WHEN record = 5 AND step = 20 THEN NULL ELSE norm END AS norm) FROM f", "(5, 20, None"),
    ("SELECT * REPLACE (CASE WHEN record = 5 AND step = 20 THEN 0 ELSE repeats END AS repeats) FROM f", "(5, 20,"),
    ("SELECT * FROM f WHERE NOT (record = 7 AND step = 640)", "record 7 has no step 640"),
    ("SELECT * FROM f UNION ALL SELECT * FROM f WHERE record = 7 AND step = 650", "record 7 has a step twice"),
    ("SELECT * REPLACE (CASE WHEN record = 7 AND step = 30 THEN 40 ELSE step END AS step) FROM f", "record 7"),
    ("SELECT record, norm FROM f", "columns"),
    ("SELECT * FROM f WHERE record < 0", "no rows")])
def test_wrong_files_are_refused_with_the_row(long_file: Path, tmp_path: Path, change: str, message: str) -> None:
    wrong = write_parquet(tmp_path / "wrong.parquet", change.replace("FROM f", f"FROM '{long_file}'"))
    with pytest.raises(InvalidInput, match=r"readings|columns") as caught:
        count_parquet(wrong, TRAINING, "raw")
    assert message in str(caught.value)


def test_norms_above_the_constant_are_refused_if_declared_clipped(long_file: Path) -> None:
    with pytest.raises(InvalidInput, match="declared clipped"):
        count_parquet(long_file, TRAINING, "clipped")
    recorder = Recorder(TRAINING, 2, "clipped")
    for values in ([0.5, 1.0000001], [0.5, -0.1], [float("nan"), 0.1], [float("inf"), 0.0], [0.5]):
        with pytest.raises(InvalidInput):
            recorder.add(np.array(values))
    assert recorder.counts().steps.sum() == 0


@pytest.mark.parametrize("arguments", [
    ("0", "1", "0.1"), ("1", "0", "0.1"), ("1", "1", "0"), ("1", "1", "1.01"), ("1", "1", "0.1", "both")])
def test_wrong_trainings(arguments: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput):
        Training(*arguments)
    assert Training(1.1, 1, 0.1) == Training("1.1", 1, "0.1")


def test_law_of_an_edge() -> None:
    """The tables' laws are those of the grid: noise multiplier sigma / r."""
    training = Training("1.5", 1, "0.1")
    v = training.variance_edges(8)[-4]
    assert square_root(1 / v) == Fraction(3, 2) / Fraction(5, 8)
