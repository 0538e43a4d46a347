"""delta of every record by Plancherel's theorem: inside of its bounds on any grid, and beside the published number."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from verified_dp.core.engines.grid import enclose_step
from verified_dp.core.errors import InexactInput, InvalidInput, Unsupported
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.enclosure import Estimate
from verified_dp.individual.counts import Counts
from verified_dp.individual.input import Recorder
from verified_dp.individual.losses import individual_deltas
from verified_dp.individual.training import Training
from verified_dp.papers.individual import spectra as spectra_module
from verified_dp.papers.individual.plancherel import (
    PlancherelLosses,
    _bound_scale,
    _wrapped,
    inner_products,
    plancherel_deltas,
    transform_weight,
)
from verified_dp.papers.individual.spectra import Circle, build_spectra, choose_grid, end_law
from verified_dp.search.order import Budget, SingleOrder


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
    order = SingleOrder(composed(training, norms, repeats))
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
    assert result.rounding.max() < 1e-11 and result.wraps.max() < 1e-11
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
@pytest.mark.parametrize("tilt", [0, 2, 6])
def test_what_wraps_around(tilt: int) -> None:
    """Each side's wraps, from the composed law itself, are below their bound; the sum of all is the inner product."""
    training, circle, epsilon = Training(1, 1, "0.3"), Circle(Fraction(1), 64, Fraction(tilt)), Fraction(1, 8)
    law = end_law(training, 4, 8, False)
    assert law is not None
    with ctx.workprec(192):
        step = enclose_step(law, choose_grid(law, circle), circle.step, 96)
    low, one = step.vertices[0], np.zeros(step.vertices[-1] - step.vertices[0] + 1)
    one[np.array(step.vertices) - low] = [float(mass) for mass in step.below]
    masses = np.ones(1)
    for _ in range(8):
        masses = np.convolve(masses, one)
    index = np.arange(len(masses)) + 8 * low
    inside = (index + 32) % 64 - 32
    gap = inside / 32 - 0.125
    terms = masses * np.exp(tilt * (index - inside) / 32) * np.where(gap > 0, -np.expm1(-gap), 0)
    spectra, steps, none = build_spectra(training, 4, [8], circle, False), np.array([[8.0]]), np.full((1, 11), -1e6)
    total = inner_products(steps, spectra, transform_weight(circle, epsilon))[0] * _bound_scale(
        steps, spectra, circle, epsilon)[0]
    assert abs(total[0] - terms.sum()) < 1e-12 * max(1, terms.sum())
    right = _wrapped(steps, replace(spectra, left=none), circle, epsilon)[0]
    left = _wrapped(steps, replace(spectra, right=none), circle, epsilon)[0]
    assert 1e-6 < terms[index >= 32].sum() < right and 0 < terms[index < -32].sum() < left < 0.1
    assert right < 2000 * terms[index >= 32].sum()


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
    spectra = build_spectra(training, 4, [6, 8, 9], circle, True)
    steps = np.array([[1.0, 2, 0], [0, 30, 7], [200, 100, 50], [0, 0, 0]])
    kernel, kernel_error = transform_weight(circle, Fraction(1, 2))
    still = replace(spectra, errors=np.zeros_like(spectra.errors), vague=np.zeros_like(spectra.vague))
    total, error = inner_products(steps, still, (kernel, np.zeros_like(kernel_error)))
    shift = 1e-9
    moved = replace(still, errors=np.full_like(spectra.errors, shift))
    wide = inner_products(steps, moved, (kernel, np.zeros_like(kernel_error)))[1]
    lost = inner_products(steps, replace(still, vague=np.ones_like(spectra.vague)), (kernel, kernel_error))[1]
    with mpmath.workdps(40):
        for i, row in enumerate(steps):
            exact, added, sizes = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
            for r in range(33):
                power = [mpmath.exp(sum(k * (mpmath.mpf(float(still.logs[b, r])) + off
                                             + 2j * mpmath.pi * mpmath.mpf(float(still.turns[b, r])))
                                        for b, k in enumerate(row))) for off in (0, shift)]
                factor = mpmath.mpc(complex(kernel[r]))
                exact += (factor * power[0]).real
                added += abs(factor * (power[1] - power[0]))
                sizes += abs(factor * power[0])
            assert abs(exact - mpmath.mpf(float(total[i]))) <= error[i] < 1e-11
            assert added <= wide[i] and (sizes * 2 <= lost[i] or not row.any())


@pytest.mark.theorem("T123-plancherel-form")
def test_weight_is_the_transform() -> None:
    circle, epsilon = Circle(Fraction(3), 32, Fraction(1, 2)), Fraction(1, 3)
    kernel, error = transform_weight(circle, epsilon)
    with mpmath.workdps(30):
        for r in range(17):
            value = mpmath.mpc(0)
            for j in range(-16, 16):
                gap = mpmath.mpf(j * 6) / 32 - mpmath.mpf(1) / 3
                size = (1 - mpmath.exp(-gap)) * mpmath.exp(-gap / 2) if gap > 0 else 0
                value += size * mpmath.expjpi(mpmath.mpf(2 * j * r) / 32)
            value *= mpmath.mpf(1 if r in (0, 16) else 2) / 32
            assert abs(value - mpmath.mpc(complex(kernel[r]))) <= error[r] < 1e-15


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
    assert result.lower[1] == result.lower[2] > 0 and told[-1][0] == 1 and len(told) == 7


def test_wrong_input() -> None:
    counts = count(Training(1, 1, "0.3"), some_norms(2, 2, 1))
    for wrong in ({"epsilon": "-1"}, {"epsilon": 51}, {"epsilon": 1, "half_length": 1}, {"epsilon": 1, "points": 33},
                  {"epsilon": 1, "points": 4}, {"epsilon": 1, "tilt": -1}, {"epsilon": 1, "half_length": 0}):
        with pytest.raises(InvalidInput):
            plancherel_deltas(counts, **wrong)
    with pytest.raises(InexactInput):
        plancherel_deltas(counts, 0.5)
    with pytest.raises(Unsupported, match="closed form"):
        plancherel_deltas(count(Training(1, 1, 1), some_norms(2, 2, 1)), 1)
