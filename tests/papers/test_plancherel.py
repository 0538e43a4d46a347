"""delta of every record by Plancherel's theorem: inside of its bounds on any grid, and beside the published number."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.enclosure import Estimate
from verified_dp.individual.counts import Counts
from verified_dp.individual.input import Recorder
from verified_dp.individual.losses import individual_deltas
from verified_dp.individual.training import Training
from verified_dp.papers.individual import spectra as spectra_module
from verified_dp.papers.individual.chords import DrawnOn, chords_of, height, law_at
from verified_dp.papers.individual.plancherel import (
    PlancherelLosses,
    _bound_scale,
    _wrapped,
    inner_products,
    plancherel_deltas,
    transform_weight,
)
from verified_dp.papers.individual.spectra import (
    Circle,
    Columns,
    Spectra,
    band_bounds,
    build_side,
    build_spectra,
    chord_error,
    tilted_shares,
    transforms,
    verified_log,
)
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection


def count(training: Training, norms: np.ndarray, parts: int = 8, repeats: int = 1) -> Counts:
    recorder = Recorder(training, norms.shape[1], "raw", parts=parts)
    for row in norms:
        recorder.add(row, repeats)
    return recorder.counts()


def some_norms(records: int, readings: int, seed: int, grain: int = 32) -> np.ndarray:
    """Few different values, not at the ends of buckets."""
    rng = np.random.default_rng(seed)
    norms = np.exp(rng.normal(-1, 0.4, size=records)) * np.exp(rng.normal(0, 0.3, size=(readings, records)))
    return np.clip(np.ceil(norms * grain) - 0.5, 0.5, grain - 0.5) / grain


def spectra_of(training: Training, buckets: list[int], circle: Circle, up: bool) -> tuple[Spectra, Columns]:
    """Of buckets on a grid of four parts, every frequency by itself."""
    columns = Columns.choose(circle.points // 2, circle.points // 2)
    return build_spectra(build_side(training, 4, buckets, circle.step, up), circle, columns), columns


def both_ends() -> np.ndarray:
    """A record at upper ends of buckets of width 1/8, one just above lower ends: one of its bounds is off little."""
    ends = np.array([[0.375, 0.375], [0.625, 0.5]])
    return ends + np.array([0.0, 2.0**-30])


def composed(training: Training, norms: np.ndarray, repeats: int) -> ComposedLoss:
    """One record's exact composition."""
    ratios = Counter(Fraction(float(x)) / training.clipping for x in norms if x > 0)
    parts = tuple((SampledGaussianLoss(training.sampling_probability, training.noise_multiplier / r, training.order),
                   number * repeats) for r, number in ratios.items())
    return ComposedLoss(training.order, parts, Fraction(0))


def truth(training: Training, norms: np.ndarray, epsilon: str, repeats: int = 1) -> tuple[float, float]:
    """delta of one record by the contour engine."""
    order = OneDirection(composed(training, norms, repeats))
    bounds = order.enclose(Fraction(epsilon), 20.0, "contour", Budget(None)).bounds
    return float(bounds.lower), float(bounds.upper)


def misses(result: PlancherelLosses, training: Training, norms: np.ndarray, repeats: int = 1) -> list[tuple]:
    found = [(i, float(result.lower[i]), float(result.upper[i]), truth(training, norms[:, i], result.given, repeats))
             for i in range(norms.shape[1])]
    return [one for one in found if not (one[1] <= one[3][1] and one[3][0] <= one[2])]


@pytest.mark.theorem("T123-plancherel-form")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("sigma", "q", "epsilon", "repeats", "points", "tilt"), [
    ("1", "0.05", "1/4", 20, 2048, 0), ("1", "0.05", "0.5", 20, 2048, "3"), ("0.5", "0.5", "0", 1, 512, 0),
    ("0.5", "0.5", "1", 1, 512, "1"), ("3", "0.2", "0", 60, 1024, 0),
    pytest.param("0.6", "0.01", "1", 2, 1024, 0, marks=pytest.mark.long)])
def test_contour_lies_inside(sigma: str, q: str, epsilon: str, repeats: int, points: int, tilt: object,
                             order: str) -> None:
    training, norms = Training(sigma, 1, q, order), some_norms(2, 4, 7)
    counts = count(training, norms, repeats=repeats)
    result = plancherel_deltas(counts, epsilon, points=points, tilt=tilt)
    assert misses(result, training, norms, repeats) == []
    assert np.all(result.lower <= result.upper) and result.upper.max() < 1
    assert result.added.max() < 0.02 and result.wraps.max() < 1e-11
    if "/" not in epsilon:
        other = individual_deltas(counts, epsilon)
        assert np.all(other.lower <= result.upper) and np.all(result.lower <= other.upper)


@pytest.mark.theorem("T123-plancherel-form")
def test_one_step_by_closed_form() -> None:
    training, norms = Training("0.15", 1, "0.3"), some_norms(4, 1, 3)
    result = plancherel_deltas(count(training, norms, 64), "0.5", points=1024)
    for i, loss in enumerate(composed(training, norms[:, i], 1) for i in range(4)):
        exact = float(loss.parts[0][0].enclose_hockey_stick(arb(0.5)))
        assert exact > 0.005 and 0.4 * exact < result.lower[i] <= exact <= result.upper[i] <= exact * 1.1


@pytest.mark.theorem("T123-plancherel-form")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_readings_at_the_ends_are_met(order: str) -> None:
    """Where the readings are their buckets' upper ends, the upper bound is off by the grid alone."""
    training, norms = Training(1, 1, "0.1", order), np.array([[0.25, 0.5], [0.5, 1.0], [0.25, 0.75]])
    result = plancherel_deltas(count(training, norms, 4, 10), "1/4", half_length=5, points=4096)
    assert misses(result, training, norms, 10) == []
    for i in range(2):
        assert result.upper[i] < 1.02 * truth(training, norms[:, i], "1/4", 10)[1]


@pytest.mark.theorem("T123-plancherel-form", "T81-circular-convolution")
@pytest.mark.parametrize(("order", "tilt", "length"), [
    ("remove", 0, "5/8"), ("remove", "2", "5/8"), ("add", 0, "5/8"), ("add", "1", "1/2"), ("remove", "1/2", "3/2")])
def test_short_windows(order: str, tilt: object, length: str) -> None:
    training, norms = Training(1, 1, "0.2", order), both_ends()
    result = plancherel_deltas(count(training, norms, repeats=40), "0.25", half_length=length, points=512, tilt=tilt)
    assert misses(result, training, norms, 40) == [] and result.wraps.max() > 1e-3


@pytest.mark.theorem("T123-plancherel-form")
def test_more_than_everything_may_wrap_around() -> None:
    """A tilt makes what wraps into a short window count for 10^7 times itself: the lower bound is 0, not large."""
    training, norms = Training("1.03", 1, "0.4", "add"), np.array([[1.0], [0.984375], [0.140625], [0.5625]])
    result = plancherel_deltas(count(training, norms, 64, 20), "19/16", half_length="3.6875", tilt="19/8")
    assert result.lower[0] == 0 and misses(result, training, norms, 20) == []


@pytest.mark.theorem("T123-plancherel-form")
@pytest.mark.parametrize("tilt", [0, 2, 6])
def test_what_wraps_around(tilt: int) -> None:
    """Each side's wraps, from the composed law itself, are below their bound; the sum of all is the inner product."""
    training, circle, epsilon = Training(1, 1, "0.3"), Circle(Fraction(1), 64, Fraction(tilt)), Fraction(1, 8)
    spectra, columns = spectra_of(training, [8], circle, False)
    side = build_side(training, 4, [8], circle.step, False)
    low, one = side.vertices[0], np.zeros(side.vertices[-1] - side.vertices[0] + 1)
    one[side.vertices - low] = side.masses[side.start[0]]
    masses = np.ones(1)
    for _ in range(8):
        masses = np.convolve(masses, one)
    index = np.arange(len(masses)) + 8 * low
    inside = (index + 32) % 64 - 32
    gap = inside / 32 - 0.125
    terms = masses * np.exp(tilt * (index - inside) / 32) * np.where(gap > 0, -np.expm1(-gap), 0)
    steps, above, none = np.array([[8.0]]), np.array([[0.0]]), np.full((1, 11), -1e6)
    total = inner_products(steps, above, spectra, transform_weight(circle, epsilon, columns))[0] * _bound_scale(
        steps, above, spectra, circle, epsilon)[0]
    assert abs(total[0] - terms.sum()) < 1e-12 * max(1, terms.sum())
    right = _wrapped(steps, replace(spectra, left=none), circle, epsilon)[0]
    left = _wrapped(steps, replace(spectra, right=none), circle, epsilon)[0]
    assert 1e-6 < terms[index >= 32].sum() < right and 0 < terms[index < -32].sum() < left < 0.1
    assert right < 20000 * terms[index >= 32].sum()


@pytest.mark.theorem("T123-plancherel-form")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_any_grid_of_masses_is_sound(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tails cut early go to infinity, to the first vertex, or are dropped; coarse cells far out."""
    training, norms = Training("0.8", 1, "0.3", order), both_ends()
    monkeypatch.setattr(spectra_module, "RARE", 0.75)
    monkeypatch.setattr(spectra_module, "CORE", 8)
    monkeypatch.setattr(spectra_module, "BLOCK", 6)
    result = plancherel_deltas(count(training, norms, repeats=3), "1/2", points=1024)
    assert misses(result, training, norms, 3) == []


@pytest.mark.theorem("T123-plancherel-form")
@pytest.mark.parametrize("tilt", [0, 2])
def test_rounding_is_bounded(tilt: int) -> None:
    """The inner product of the doubles in the tables, against 40 digits; then entries with an error and vague ones."""
    training, circle = Training(1, 1, "0.1"), Circle(Fraction(4), 64, Fraction(tilt))
    spectra, columns = spectra_of(training, [6, 8, 9], circle, True)
    steps, above = np.array([[1.0, 2, 0], [0, 30, 7], [200, 100, 50], [0, 0, 0]]), np.zeros((4, 3))
    above[1], above[2] = (0, 11.25, 6.5), (120.125, 0.5, 49)
    kernel, kernel_error = transform_weight(circle, Fraction(1, 2), columns)
    sure = np.zeros_like(spectra.vague)
    still, exactly = replace(spectra, errors=np.zeros_like(spectra.errors), vague=sure), (kernel, 0 * kernel_error)
    total, error = inner_products(steps, above, still, exactly)
    shift = 1e-9
    moved = replace(still, errors=np.full_like(spectra.errors, shift))
    wide = inner_products(steps, above, moved, exactly)[1]
    lost = inner_products(steps, above, replace(still, vague=~sure), (kernel, kernel_error))[1]

    def log(b: int, r: int, share: mpmath.mpf) -> mpmath.mpc:
        size, turn = (mpmath.mpf(float(at[b, r])) + share * mpmath.mpf(float(more[b, r]))
                      for at, more in ((still.logs, still.rises), (still.turns, still.twists)))
        return size + 2j * mpmath.pi * turn

    with mpmath.workdps(40):
        for i, row in enumerate(steps):
            exact, added, sizes = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
            for r in range(33):
                power = [mpmath.exp(sum(k * (log(b, r, mpmath.mpf(above[i, b]) / k) + off)
                                        for b, k in enumerate(row) if k)) for off in (0, shift)]
                factor = mpmath.mpc(complex(kernel[r]))
                exact += (factor * power[0]).real
                added += abs(factor * (power[1] - power[0]))
                sizes += abs(factor * power[0])
            assert abs(exact - mpmath.mpf(float(total[i]))) <= error[i] < 1e-11
            assert added <= wide[i] and (sizes * 2 <= lost[i] or not row.any())


@pytest.mark.theorem("T123-plancherel-form")
def test_weight_is_the_transform() -> None:
    """Of single frequencies; of a band its error is the sum of the sizes."""
    circle, epsilon = Circle(Fraction(3), 32, Fraction(1, 2)), Fraction(1, 3)
    kernel, error = transform_weight(circle, epsilon, Columns.choose(16, 16))
    few = Columns(np.array([0, 1]), np.array([0, 16]), np.array([0, 1, 16]), np.array([0, 1]), np.array([0, 8]))
    banded, sizes = transform_weight(circle, epsilon, few)
    assert banded[0] == kernel[0] and banded[1] == 0 and 1 <= sizes[1] / np.abs(kernel[1:]).sum() < 1 + 1e-9
    with mpmath.workdps(30):
        for r in range(17):
            value = mpmath.mpc(0)
            for j in range(-16, 16):
                gap = mpmath.mpf(j * 6) / 32 - mpmath.mpf(1) / 3
                size = (1 - mpmath.exp(-gap)) * mpmath.exp(-gap / 2) if gap > 0 else 0
                value += size * mpmath.expjpi(mpmath.mpf(2 * j * r) / 32)
            value *= mpmath.mpf(1 if r in (0, 16) else 2) / 32
            assert abs(value - mpmath.mpc(complex(kernel[r]))) <= error[r] < 1e-15


@pytest.mark.theorem("T123-plancherel-form")
def test_bands_cover_every_frequency() -> None:
    """Each frequency is in one column, and no transform in a band exceeds its bound, which is not far above."""
    training, circle = Training("1.5", 1, "0.05"), Circle(Fraction(3), 2**12, Fraction(5))
    columns = Columns.choose(40, 2**11)
    assert columns.first[0] == 0 and columns.last[-1] == 2**11 and np.all(columns.first[1:] == columns.last[:-1] + 1)
    for up in (True, False):
        side = build_side(training, 4, [5, 8, 9], circle.step, up)
        shares = tilted_shares(side, circle)[0]
        sizes = np.abs(transforms(shares, side.vertices, circle, columns.places))
        bounds = np.exp(band_bounds(shares, side.vertices, circle, columns, sizes))
        every = np.abs(transforms(shares, side.vertices, circle, np.arange(2**11 + 1)))
        most = np.maximum.reduceat(every, columns.first, axis=1)
        assert np.all(most <= bounds) and np.all(bounds <= most + 0.08) and columns.reach.max() > 0


@pytest.mark.theorem("T123-plancherel-form")
def test_logarithms_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.exp(np.linspace(-9, 3, 50) + 1j * np.linspace(-3.1, 3.1, 50))
    logs, errors = verified_log(values)
    with mpmath.workdps(30):
        for value, log, error in zip(values, logs, errors, strict=True):
            assert abs(mpmath.log(mpmath.mpc(value)) - mpmath.mpc(log)) <= error < 1e-11
    log = np.log
    monkeypatch.setattr(np, "log", lambda x: log(x) + 1e-7)
    assert np.all(np.abs(verified_log(values)[1] - 1.25e-7) < 1e-11)
    monkeypatch.setattr(np, "log", lambda x: log(x) + 1)
    assert np.all(verified_log(values)[1] == 1e6)


def stick(q: mpmath.mpf, v: mpmath.mpf, alpha: mpmath.mpf, order: str) -> mpmath.mpf:
    """H_alpha of one sampled Gaussian step, from normal distributions alone."""
    if order == "add":
        return 1 - alpha + alpha * stick(q, v, 1 / alpha, "remove")
    if alpha <= 1 - q:
        return 1 - alpha
    ratio, root = (alpha - 1 + q) / q, mpmath.sqrt(v)
    place = mpmath.log(ratio) / root
    return q * (mpmath.ncdf(root / 2 - place) - ratio * mpmath.ncdf(-root / 2 - place))


@pytest.mark.theorem("T175-chords-of-sensitivity")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_a_step_lies_between_its_chords(order: str) -> None:
    """At random laws and alpha; with a share a little smaller (drawn on: larger) the chord is on the wrong side."""
    rng, crossed, over = np.random.default_rng(5), 0, 0
    with mpmath.workdps(30):
        def rise(v: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erf(mpmath.sqrt(v / 8))

        for _ in range(60):
            q, sigma = mpmath.mpf(rng.uniform(0.001, 0.99)), mpmath.mpf(np.exp(rng.normal(0, 1)))
            below, a, b = (mpmath.mpf(x) / sigma for x in np.sort(rng.uniform(0.05, 1, 3)))
            v = (a + (b - a) * mpmath.mpf(rng.uniform(0, 1))) ** 2
            below, a, b = below**2, a**2, b**2
            t, on = (rise(v) - rise(a)) / (rise(b) - rise(a)), (rise(b) - rise(a)) / (rise(a) - rise(below))
            for loss in [0.0, *rng.normal(0, 2, 20)]:
                alpha = mpmath.exp(mpmath.mpf(loss) if loss else mpmath.mpf("1e-9"))
                value, at, end, lower = (stick(q, x, alpha, order) for x in (v, a, b, below))
                drawn = at + on * (at - lower)
                assert value <= (1 - t) * at + t * end + mpmath.mpf("1e-25")
                assert value >= (1 - t) * at + t * drawn - mpmath.mpf("1e-25")
                crossed += value > (1 - 0.99 * t) * at + 0.99 * t * end
                over += value < (1 - t) * at + t * (at + 1.01 * on * (at - lower))
    assert crossed > 100 and over > 100


@pytest.mark.theorem("T175-chords-of-sensitivity")
def test_a_chord_drawn_on_is_a_law_or_refused() -> None:
    """Where it is, tails at 400 places never rise and the mass is 1; where it is refused, some do."""
    training, kinds = Training("0.7", 1, "0.1"), Counter[bool]()
    for low, high, share in ((0.5, 0.6, 1), (0.5, 0.6, 5), (0.2, 0.4, 1), (0.2, 0.4, "0.9"), (0.25, 1, "0.2"),
                             (0.9, 1, 9)):
        law, lower = (law_at(training, Fraction(x) ** 2) for x in (high, low))
        drawn = DrawnOn(law, lower, Fraction(share))
        with ctx.workprec(256):
            pairs = [drawn.enclose_tails(arb(x)) for x in np.linspace(-0.11, 2, 400)]
            rises = any(after[k] > before[k] for before, after in pairwise(pairs) for k in (0, 1))
            assert pairs[0][0].contains(1) and pairs[0][1].contains(1)
        kinds[drawn.is_measure()] += 1
        assert rises != drawn.is_measure()
    assert kinds[True] > 1 and kinds[False] > 1


@pytest.mark.theorem("T175-chords-of-sensitivity")
@pytest.mark.parametrize(("sigma", "q", "reading", "options"), [
    ("0.01", "0.1", 0.3, {"points": 256}), ("1", "1e-6", 0.7, {}),
    ("1", 1 - Fraction(1, 10**20), 0.3, {"points": 1024})])
def test_extreme_steps_are_enclosed(sigma: str, q: object, reading: float, options: dict[str, int]) -> None:
    """Total variations too near to 1 to be told apart; transforms finer than any grid; q that is 1 as a double."""
    training, norms = Training(sigma, 1, q), np.array([[reading]])
    result = plancherel_deltas(count(training, norms, 8), "1/8", **options)
    with ctx.workprec(128):
        exact = float(composed(training, norms[:, 0], 1).parts[0][0].enclose_hockey_stick(arb(1) / 8))
    assert result.lower[0] <= exact <= result.upper[0]
    assert result.upper[0] < 1 or sigma == "0.01"


@pytest.mark.theorem("T175-chords-of-sensitivity")
@pytest.mark.parametrize("up", [True, False])
def test_chords_between_equal_heights_are_ends(up: bool) -> None:
    training = Training("0.01", 1, "0.1")
    chords = chords_of(training, 8, range(14), up)
    assert all(np.isfinite(chord.lag) for chord in chords) and chords[13].start == chords[13].end
    assert chords[7].start != chords[7].end or not up
    law = law_at(training, Fraction(1, 4))
    assert not DrawnOn(law, law_at(training, Fraction(1, 5)), Fraction(-5)).is_measure()


@pytest.mark.theorem("T123-plancherel-form")
def test_so_many_masses_at_most() -> None:
    """As the bound of the sums' roundings needs it, however long the grid; it reaches both of its ends."""
    for length in (1, 256, 257, 10**6, 10**9, 10**30):
        grid = spectra_module._blocks(-length, length)
        vertices = grid.vertices()
        assert len(vertices) <= 3841 and 0 in vertices
        assert vertices[-1] >= min(length, 2**40) and vertices[0] <= -min(length, 2**40) and vertices[0] > -(2**41)


@pytest.mark.theorem("T175-chords-of-sensitivity")
@pytest.mark.parametrize("up", [True, False])
def test_lags_are_bounded(up: bool) -> None:
    """t - theta at 200 readings of every bucket, theta as counted; not bounded much too loosely."""
    training = Training("0.6", 1, "0.1")
    edges, chords = training.square_edges(16), chords_of(training, 16, range(22), up)
    for bucket, chord in enumerate(chords):
        if chord.start == chord.end:
            assert bucket < 9 and chord.lag == 0
            continue
        ends = [float(height(edge / training.noise_multiplier**2)) for edge in edges[bucket : bucket + 2]]
        shares = np.linspace(0, 1, 201)
        squares = float(edges[bucket]) + shares * float(edges[bucket + 1] - edges[bucket])
        heights = np.array([float(height(Fraction(x) / training.noise_multiplier**2)) for x in squares])
        lags = (heights - ends[0]) / (ends[1] - ends[0]) - shares
        assert lags.min() > -1e-9 and lags.max() < chord.lag < 2.5 * lags.max() + 1e-4
    assert sum(chord.start != chord.end for chord in chords) > 12


@pytest.mark.theorem("T175-chords-of-sensitivity")
def test_logarithms_of_chords() -> None:
    rng, worst = np.random.default_rng(1), 0.0
    for _ in range(2000):
        size, t, lag = rng.uniform(0, 0.5), rng.uniform(0, 1), rng.choice([0, 1e-3])
        angle = np.exp(1j * rng.uniform(-np.pi, np.pi)) * size
        off = abs(np.log(1 - t + t * np.exp(angle)) - (t - lag) * angle)
        bound = float(chord_error(np.array(size), np.array(lag)))
        assert off <= bound + 1e-15
        worst = max(worst, off / bound if size > 1e-3 else 0)
    assert worst > 0.5


@pytest.mark.theorem("T123-plancherel-form", "T175-chords-of-sensitivity")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_random_records_against_the_contour(order: str) -> None:
    """Readings anywhere in their buckets, the tilt chosen: inside, and narrow where steps are many."""
    training, rng = Training("1.2", 1, "0.05", order), np.random.default_rng(11)
    norms = np.clip(np.exp(rng.normal(-0.7, 0.3, size=(6, 4))), 0, 1)
    norms[:, 3] = 1e-3, 0.01, 0.2, 1, 5, 0
    counts = count(training, norms, 32, 60)
    result = plancherel_deltas(counts, "0.75")
    exact = np.minimum(norms, 1)
    assert misses(result, training, exact, 60) == []
    assert np.all((result.upper - result.lower)[:3] < 0.1 * result.upper[:3])


def test_the_published_number_may_be_wrong() -> None:
    """On a coarse grid it lies outside of the bounds; on a fine one near the upper. Zero norms cost it something."""
    training, norms = Training(1, 1, "0.05"), np.array([[0.375, 0.0], [0.625, 0.0]])
    counts = count(training, norms, 8, 100)
    coarse, fine = (plancherel_deltas(counts, "1/4", half_length=16, points=n) for n in (512, 4096))
    assert not coarse.lower[0] <= coarse.estimate.values[0] <= coarse.upper[0]
    assert fine.lower[0] <= fine.estimate.values[0] <= fine.upper[0] * 1.02
    assert fine.upper[1] < 1e-11 < fine.estimate.values[1]
    one = fine.estimate.of(0)
    assert isinstance(one, Estimate) and one.method == "plancherel"
    with pytest.raises(TypeError):
        assert one < one


def test_records_without_norm_and_same_kinds() -> None:
    training = Training(1, 1, "0.3")
    norms, told = np.array([[0.0, 0.3, 0.3], [0.0, 0.9, 0.9]]), []
    result = plancherel_deltas(count(training, norms), 0, points=256, progress=lambda *one: told.append(one))
    assert result.lower[0] == 0 and result.upper[0] < 1e-11 and result.distinct == 2
    assert result.lower[1] == result.lower[2] > 0 and told[-1][0] == 1 and len(told) > 7
    assert all(one[0] <= other[0] for one, other in pairwise(told))


def test_wrong_input() -> None:
    counts = count(Training(1, 1, "0.3"), some_norms(2, 2, 1))
    for wrong in ({"epsilon": "-1"}, {"epsilon": 51}, {"epsilon": 1, "half_length": 1}, {"epsilon": 1, "points": 33},
                  {"epsilon": 1, "points": 4}, {"epsilon": 1, "tilt": -1}, {"epsilon": 1, "half_length": 0}):
        with pytest.raises(InvalidInput):
            plancherel_deltas(counts, **wrong)
    with pytest.raises(Unsupported, match="closed form"):
        plancherel_deltas(count(Training(1, 1, 1), some_norms(2, 2, 1)), 1)
