"""The paper's own form of delta_i(eps), an inner product of transforms (appendix D): with all errors, and as published.

    result = plancherel_deltas(counts, "0.5")      # result.lower, result.upper; result.estimate.of(0)

delta_i(eps) = (1/n) <F(w), prod_b F_b^{k_b}>, w_j = (1 - e^{eps - x_j})_+ (Lemma 1): after the tables, O(n) per record
and bucket that it uses, and no inverse transform. The bounds take every reading at the ends of its bucket (Theorem 2,
T119), so that their width is of first order in the buckets: `individual_deltas` is narrower. This is a check of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2

import numpy as np
from flint import acb, ctx

from verified_dp.core.balls import ball
from verified_dp.core.errors import InvalidInput, Unsupported
from verified_dp.core.exact import non_negative, positive
from verified_dp.core.locks import alone
from verified_dp.core.theorems import proved_by
from verified_dp.enclosure import Estimate
from verified_dp.individual.counts import Counts, Progress, nothing
from verified_dp.papers.densities import float_density
from verified_dp.papers.individual.spectra import (
    DFT_BITS,
    EXCESSES,
    Circle,
    Spectra,
    build_spectra,
    end_law,
    typical_spread,
)
from verified_dp.search.doubles import cosine_and_sine, double_above, double_below, exponential, to_double

LARGEST_EPSILON = 50
"""Beyond it a window would have to be very long."""
MOST_POINTS, LEAST_POINTS, FINE = 2**15, 2**10, 5.0
"""Points that are chosen: so many per typical standard deviation of one step's loss."""
LOST = 34.0
"""-log of the mass that may lie outside of the window that is chosen."""
ENTRIES = 2**20
"""Records times frequencies evaluated at once."""
UP = 1 + 2.0**-40
TERM_ERROR = 2.0**-42
"""Relative error of one term: exponential, cosine, sine and a few roundings."""
UNIT = 2.0**-53
TINY = 2.0**-900
RESOLVED = 0.01
"""Samples of a density that do not add up to 1 so closely are not used by the estimate."""
REASON = "point samples without any account of truncation, periodisation, discretisation or rounding"


@dataclass(frozen=True, eq=False)
class DeltaEstimates:
    """The paper's numbers, one per record: of unknown error, perhaps negative, infinite or no number. No bounds."""

    values: np.ndarray

    def of(self, row: int) -> Estimate:
        """That of one record."""
        return Estimate(f"{self.values[row]:.15g}", "plancherel", REASON)


@dataclass(frozen=True, eq=False)
class PlancherelLosses:
    """lower_i <= delta_i(eps) <= upper_i at eps = `given`, exact ends, beside the paper's estimate.

    circle: the grid. rounding: of each record, what double precision may add to the upper bound (about 1e-12 without a
    tilt). wraps: what lies outside of the window may. distinct: how many kinds of records were evaluated.
    """

    given: str
    records: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    estimate: DeltaEstimates
    circle: Circle
    rounding: np.ndarray
    wraps: np.ndarray
    seconds: float
    distinct: int


@alone
def plancherel_deltas(counts: Counts, epsilon: object, half_length: object = None, points: int | None = None,
                      tilt: object = 0, progress: Progress = nothing) -> PlancherelLosses:
    """Enclose delta_i(eps) of every record by Lemma 1 and Theorem 2 of the paper, with every error.

    Args: counts: with q < 1. epsilon: exact, 0 <= eps <= 50. half_length: L > eps, points: n, even; chosen where None.
        tilt: c >= 0 of the exponential tilting e^{c x}, one for all records: 0 as published; near the saddle point it
        makes small deltas relatively accurate.
    Raises: InvalidInput, InexactInput; Unsupported without sampling, where the closed form is exact.
    Source: Koskela, Tobaben, Honkela (2023), appendix D, Lemma 1 and Theorem 2; the bounds are T123.
    """
    start, value = time.perf_counter(), non_negative(epsilon, "epsilon")
    if value > LARGEST_EPSILON:
        raise InvalidInput("epsilon", epsilon, f"at most {LARGEST_EPSILON}")
    if counts.training.sampling_probability == 1:
        raise Unsupported("without sampling the loss is Gaussian: individual_deltas has it in closed form")
    first, inverse = counts.distinct
    kinds = counts.take(first)
    circle = choose_circle(kinds, value, half_length, points, non_negative(tilt, "tilt"))
    buckets = [int(b) for b in np.flatnonzero(kinds.steps.any(axis=0))]
    weight = transform_weight(circle, value)
    found = []
    for up in (True, False):
        spectra = build_spectra(counts.training, counts.parts, buckets, circle, up, progress)
        found.append(bound_deltas(kinds, buckets, spectra, weight, circle, value, up))
    (upper, rounding, wraps), (lower, _, _) = found
    values = estimate_deltas(kinds, buckets, circle, value)
    progress(1.0, f"delta of {len(first)} kinds of records")
    return PlancherelLosses(str(epsilon), counts.records, lower[inverse], upper[inverse],
                            DeltaEstimates(values[inverse]), circle, rounding[inverse], wraps[inverse],
                            time.perf_counter() - start, len(first))


def choose_circle(kinds: Counts, epsilon: Fraction, half_length: object, points: int | None, tilt: Fraction) -> Circle:
    """L beyond which the largest record has a mass below e^-LOST, h a share of a typical step's standard deviation."""
    variances = np.array([float(v) for v in kinds.training.variance_edges(kinds.parts)[1:]])
    length = positive(half_length, "half_length") if half_length is not None else Fraction(
        ceil(8 * max(_least_length(kinds, variances), 1.1 * float(epsilon) + 0.5)), 8)
    if length <= epsilon:
        raise InvalidInput("half_length", half_length, "more than epsilon")
    if points is None:
        spread = typical_spread(kinds.training, variances, kinds.steps.sum(axis=0).astype(float))
        wanted = 2 ** ceil(log2(2 * float(length) * FINE / max(spread, 1e-9)))
        points = min(max(wanted, LEAST_POINTS), MOST_POINTS)
    if not (isinstance(points, int) and points >= 8 and points % 2 == 0):
        raise InvalidInput("points", points, "an even integer from 8")
    return Circle(length, points, tilt)


def _least_length(kinds: Counts, variances: np.ndarray) -> float:
    """min over l of (log M(l) + LOST) / l, M <= prod (1 - q + q e^{l (l+1) v / 2})."""
    q, largest = float(kinds.training.sampling_probability), int(np.argmax(kinds.high.sum(axis=1)))
    exponents = np.geomspace(0.05, 500, 120)
    logs = np.logaddexp(np.log1p(-q), np.log(q) + np.outer(variances, exponents * (exponents + 1) / 2))
    return float(np.min((kinds.steps[largest] @ logs + LOST) / exponents))


@proved_by("T123-plancherel-form")
def transform_weight(circle: Circle, epsilon: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """(2/n) conj F(w) at r = 0..n/2 (half of that at both ends) and a bound of each entry's error.

    w_j = (1 - e^{eps - x_j})_+ e^{-c (x_j - eps)}, x_j = j h, j = -n/2..n/2 - 1 at place j mod n.
    """
    half, table = circle.points // 2, []
    with ctx.workprec(DFT_BITS):
        for j in (*range(half), *range(-half, 0)):
            gap = j * circle.step - epsilon
            table.append(acb(-(-ball(gap)).expm1() * (-ball(circle.tilt * gap)).exp()) if gap > 0 else acb(0))
        column = acb.dft(table)[: half + 1]
        shares = [(1 if r in (0, half) else 2) / ball(Fraction(circle.points)) for r in range(half + 1)]
        numbers = np.array([(*to_double((value * share).real), *to_double(-(value * share).imag))
                            for value, share in zip(column, shares, strict=True)])
    return numbers[:, 0] + 1j * numbers[:, 2], (numbers[:, 1] + numbers[:, 3]) * UP


@proved_by("T123-plancherel-form")
def bound_deltas(kinds: Counts, buckets: list[int], spectra: Spectra, weight: tuple[np.ndarray, np.ndarray],
                 circle: Circle, epsilon: Fraction, up: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(the bound, its share of rounding, its share of what lies outside of the window) of each kind of record."""
    steps = _effective_steps(kinds, up)[:, buckets].astype(np.float64)
    total, error = np.zeros(len(steps)), np.zeros(len(steps))
    for rows in _blocks_of_rows(len(steps), circle.points):
        total[rows], error[rows] = inner_products(steps[rows], spectra, weight)
    scale, slack = _bound_scale(steps, spectra, circle, epsilon)
    rounding = scale * (error * (1 + slack) + np.abs(total) * slack) * UP
    outside = _past_window if up else _wrapped
    wraps = np.minimum(outside(steps, spectra, circle, epsilon), 1.0) * UP
    sure, value = np.isfinite(rounding), np.where(np.isfinite(scale), scale, 0.0) * total
    if up:
        bound = np.maximum(value + rounding + wraps, 0) * UP + TINY
        return np.where(sure, np.minimum(bound, 1.0), 1.0), rounding, wraps
    bound = (value - rounding - wraps) / UP - TINY
    return np.where(sure, np.maximum(bound, 0.0), 0.0), rounding, wraps


@proved_by("T123-plancherel-form")
def _effective_steps(kinds: Counts, up: bool) -> np.ndarray:
    """The steps; for the upper bound, readings of norm 0 are no steps, rather than at the first bucket's upper end."""
    if not up or kinds.training.noise_multiplier < Fraction(1, 2**64):
        return kinds.steps
    steps = kinds.steps.copy()
    steps[(kinds.high[:, 0] == 0) & (kinds.low[:, 0] == 0), 0] = 0
    return steps


def _blocks_of_rows(rows: int, points: int) -> Iterator[np.ndarray]:
    yield from np.array_split(np.arange(rows), max(1, -(-rows * points // (2 * ENTRIES))))


@proved_by("T123-plancherel-form")
def inner_products(steps: np.ndarray, spectra: Spectra,
                   weight: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(1/n) <F(w), prod F_b^{k_b}> of each row of steps, and a bound of its error."""
    kernel, kernel_error = weight
    gamma = (len(spectra.logs) + 4) * UNIT
    logs, turns = steps @ spectra.logs, steps @ spectra.turns
    cosine, sine = cosine_and_sine((turns - np.rint(turns)) * (2 * np.pi))
    sizes = exponential(np.minimum(logs, 1.0))
    terms = sizes * (kernel.real * cosine - kernel.imag * sine)
    off = steps @ (spectra.errors + gamma * (np.abs(spectra.logs) + 7 * np.abs(spectra.turns))) * UP + 2.0**-50
    growth = np.where(off < 1, off * (1 + off), exponential(off))
    growth = np.where(steps @ spectra.vague > 0, 1 + exponential(off), growth) * UP + TERM_ERROR
    count = kernel.size // 128 + 1
    starts = np.arange(0, kernel.size, 128)
    total = np.add.reduceat(terms, starts, axis=1).sum(axis=1)
    weights = np.abs(kernel) * UP
    error = ((weights + kernel_error) * growth + kernel_error + weights * (count + 140) * 2 * UNIT) * sizes
    return total, error.sum(axis=1) * (UP + 2 * kernel.size * UNIT) + TINY


@proved_by("T123-plancherel-form")
def _bound_scale(steps: np.ndarray, spectra: Spectra, circle: Circle,
                 epsilon: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """S e^{-c eps} of each row, S = prod S_b^{k_b}, and a bound of its relative error; both infinite out of range."""
    fall, error = to_double(ball(circle.tilt * epsilon))
    exponent = steps @ spectra.scales - fall
    sizes = steps @ np.abs(spectra.scales) + fall
    slack = steps @ spectra.scale_errors + error + (len(spectra.scales) + 8) * UNIT * sizes
    usable = (np.abs(exponent) < 600) & (slack < 0.5)
    return np.where(usable, exponential(exponent), np.inf), np.where(usable, 2 * slack + 2.0**-44, np.inf)


def _times(factor: Fraction, tilt: Fraction) -> np.ndarray:
    """Doubles at most factor l, for l = tilt + EXCESSES."""
    return np.array([double_below(ball(factor * (tilt + excess))) for excess in EXCESSES])


@proved_by("T123-plancherel-form")
def _past_window(steps: np.ndarray, spectra: Spectra, circle: Circle, epsilon: Fraction) -> np.ndarray:
    """Bound the mass past the window, the least M(l) e^{-l L} over the exponents l, and at infinity."""
    return _least(steps, spectra.right, _times(circle.half_length, circle.tilt)) + steps @ spectra.infinity * UP


@proved_by("T123-plancherel-form")
def _wrapped(steps: np.ndarray, spectra: Spectra, circle: Circle, epsilon: Fraction) -> np.ndarray:
    """Bound what wraps around: M(l) e^{-l eps - 2L (l - c)} + M(-g) e^{-g L - 2L c}, l and g the best exponents."""
    period = 2 * circle.half_length
    from_right = _times(epsilon + period, circle.tilt) - double_above(ball(period * circle.tilt))
    from_left = _times(circle.half_length, Fraction(0)) + double_below(ball(period * circle.tilt))
    return _least(steps, spectra.right, from_right) + _least(steps, spectra.left, from_left)


@proved_by("T123-plancherel-form")
def _least(steps: np.ndarray, logs: np.ndarray, falls: np.ndarray) -> np.ndarray:
    """Bound min over the exponents of e^{log M - fall}."""
    slack = steps @ np.abs(logs) * ((len(logs) + 8) * UNIT) + np.abs(falls) * 2.0**-50
    exponent = (steps @ logs - falls + slack).min(axis=1)
    return exponential(np.where(np.isnan(exponent), np.inf, exponent)) * UP


def estimate_deltas(kinds: Counts, buckets: list[int], circle: Circle, epsilon: Fraction) -> np.ndarray:
    """Lemma 1 in floating point: point samples of each density at the larger end, FFT, powers, inner product.

    Densities too narrow for the grid are replaced by the next one that is not: the sigma grid's last value.
    """
    x = (np.arange(circle.points) - circle.points // 2) * float(circle.step)
    samples = [_samples(kinds, bucket, x) for bucket in buckets]
    usable = [abs(one.sum() - 1) < RESOLVED for one in samples]
    order = [next((k for k in range(b, len(samples)) if usable[k]), b) for b in range(len(samples))]
    weight = np.fft.rfft(np.fft.ifftshift(-np.expm1(-np.maximum(x - float(epsilon), 0))))
    weight[1:-1] *= 2
    with np.errstate(all="ignore"):
        columns = np.array([np.fft.rfft(np.fft.ifftshift(samples[k])) for k in order])
        logs = np.log(np.where(columns == 0, 1e-300, columns))
        steps = kinds.steps[:, buckets]
        return np.concatenate([(np.exp(steps[rows] @ logs) @ weight.conj()).real / circle.points
                               for rows in _blocks_of_rows(len(steps), circle.points)])


def _samples(kinds: Counts, bucket: int, x: np.ndarray) -> np.ndarray:
    law = end_law(kinds.training, kinds.parts, bucket, True)
    return np.zeros(len(x)) if law is None else float_density(law, x) * (x[1] - x[0])
