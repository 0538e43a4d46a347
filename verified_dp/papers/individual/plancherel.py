"""The paper's own form of delta_i(eps), an inner product of transforms (appendix D): with all errors, and as published.

    result = plancherel_deltas(counts, "0.5")      # result.lower, result.upper; result.estimate.of(0)

delta_i(eps) = (1/n) <F(w), prod_b F_b^{k_b}>, w_j = (1 - e^{eps - x_j})_+ (Lemma 1): after the tables, a few hundred
frequencies per record and no inverse transform. Where the paper moves every reading to an end of its bucket (Theorem
2), the bounds interpolate: chords between the laws at the ends dominate every step, or are dominated by it (T175), so
that they are off by second order in the buckets. The tilt e^{c x} makes small deltas relatively accurate (T123).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np
from flint import acb, arb, ctx

from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.exact import non_negative, positive
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Estimate
from verified_dp.individual.counts import Counts, Onward, Progress, nothing
from verified_dp.individual.lines import BELOW, TILTS, LogMasses, lines_at
from verified_dp.papers.densities import float_density
from verified_dp.papers.individual.chords import law_at
from verified_dp.papers.individual.spectra import EXCESSES, Circle, Columns, Side, Spectra, build_side, build_spectra
from verified_dp.search.doubles import cosine_and_sine, double_above, double_below, exponential, to_double

LARGEST_EPSILON = 50
"""Beyond it a window would have to be very long."""
MOST_POINTS, LEAST_POINTS, FINE = 2**17, 2**10, 24.0
"""Points that are chosen: so many per typical standard deviation of one step's loss."""
SPARED = 20.0
"""-log of what may wrap around or lie outside of the window that is chosen, relative to a guess of delta."""
DAMPED, SPREAD_SHARE, MOST_COLUMNS, FEW_STEPS = 7.0, 0.02, 1500, 32
"""Frequencies are taken one by one up to so many over the standard deviation of all but this share of the records; as
many as there may be where steps are few, whose transforms do not fall."""
WIDE = 0.1
"""Wider intervals, relative to their upper ends, are computed from the ends of the buckets, too: few steps."""
ENTRIES = 2**20
"""Records times frequencies evaluated at once."""
DFT_BITS = 128
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

    circles: the grids, one for each tilt. added: of each record, what chords in place of laws, and doubles, may add to
    the upper bound. wraps: what lies outside of the window may. distinct: how many kinds of records were evaluated.
    """

    given: str
    counts: Counts
    lower: np.ndarray
    upper: np.ndarray
    circles: tuple[Circle, ...]
    added: np.ndarray
    wraps: np.ndarray
    seconds: float

    @property
    def records(self) -> np.ndarray:
        return self.counts.records

    @property
    def distinct(self) -> int:
        return len(self.counts.distinct[0])

    @cached_property
    def estimate(self) -> DeltaEstimates:
        """The published numbers on the finest grid, without a tilt: O(n) a record."""
        first, inverse = self.counts.distinct
        finest = max(self.circles, key=lambda circle: circle.points)
        circle = Circle(finest.half_length, finest.points)
        return DeltaEstimates(estimate_deltas(self.counts.take(first), circle, Fraction(self.given))[inverse])


@dataclass(frozen=True, eq=False)
class Group:
    """Records, by place, with one circle and its frequencies."""

    rows: np.ndarray
    circle: Circle
    columns: Columns


@alone
def plancherel_deltas(counts: Counts, epsilon: object, half_length: object = None, points: int | None = None,
                      tilt: object = None, progress: Progress = nothing) -> PlancherelLosses:
    """Enclose delta_i(eps) of every record by Lemma 1 of the paper, with every error.

    Args: counts: with q < 1. epsilon: exact, 0 <= eps <= 50. half_length: L > eps, points: n, even; chosen where None.
        tilt: c >= 0 of the exponential tilting e^{c x}, one for all records: 0 as published. None: near the saddle
        point of each record.
    Raises: InvalidInput; Unsupported without sampling, where the closed form is exact.
    Source: Koskela, Tobaben, Honkela (2023), appendix D, Lemma 1 and Theorem 2; the bounds are T123 and T175.
    """
    start, value = time.perf_counter(), non_negative(epsilon, "epsilon")
    if value > LARGEST_EPSILON:
        raise InvalidInput("epsilon", epsilon, f"at most {LARGEST_EPSILON}")
    if counts.training.sampling_probability == 1:
        raise Unsupported("without sampling the loss is Gaussian: individual_deltas has it in closed form")
    first, inverse = counts.distinct
    kinds, onward = counts.take(first), Onward(progress)
    groups = choose_groups(kinds, value, half_length, points, None if tilt is None else non_negative(tilt, "tilt"))
    buckets = [int(b) for b in np.flatnonzero(kinds.steps.any(axis=0))]
    found, sides = np.zeros((4, len(first))), dict[Fraction, tuple[Side, Side]]()
    for group in groups:
        some, step = kinds.take(group.rows), group.circle.step
        if step not in sides:
            sides[step] = (build_side(counts.training, counts.parts, buckets, step, False, onward),
                           build_side(counts.training, counts.parts, buckets, step, True, onward))
        found[:, group.rows] = enclose_group(some, buckets, sides[step], group, value)
    progress(1.0, f"delta of {len(first)} kinds of records")
    lower, upper, added, wraps = found[:, inverse]
    return PlancherelLosses(str(epsilon), counts, lower, upper, tuple(group.circle for group in groups), added, wraps,
                            time.perf_counter() - start)


def enclose_group(some: Counts, buckets: list[int], sides: tuple[Side, Side], group: Group,
                  epsilon: Fraction) -> np.ndarray:
    """lower, upper, added, wraps of some records: by chords, and where that is wide by the buckets' ends as well."""
    weight = transform_weight(group.circle, epsilon, group.columns)

    def enclose(kinds: Counts, ends: bool) -> np.ndarray:
        used = [k for k, bucket in enumerate(buckets) if kinds.steps[:, bucket].any()]
        bounds = list[np.ndarray]()
        for side in sides:
            part = side.take(used)
            spectra = build_spectra(part.rounded(np.full(len(used), ends)), group.circle, group.columns)
            with np.errstate(invalid="ignore", over="ignore"):
                bounds = [*bounds[:1], *bound_deltas(kinds, [buckets[k] for k in used], spectra, weight, group.circle,
                                                     epsilon, side.up)]
        return np.array(bounds)

    found = enclose(some, False)
    wide = np.flatnonzero(found[1] - found[0] > WIDE * found[1])
    if len(wide):
        other = enclose(some.take(wide), True)
        found[2:, wide] = np.where(other[1] < found[1, wide], other[2:], found[2:, wide])
        found[:2, wide] = np.maximum(found[0, wide], other[0]), np.minimum(found[1, wide], other[1])
    return found


def choose_groups(kinds: Counts, epsilon: Fraction, half_length: object, points: int | None,
                  tilt: Fraction | None) -> list[Group]:
    """Records that share a tilt, and a window for each; the grid step is the same for all of them."""
    masses = LogMasses.of(kinds.training, kinds.parts)
    coarse = kinds.coarser(masses.parts)
    weights, choice = coarse.weights(), lines_at(masses, coarse.weights(), float(epsilon))
    steps = kinds.steps.astype(float)
    each = np.log1p(float(kinds.training.sampling_probability) ** 2 * np.expm1(np.minimum(_variances(kinds), 50.0)))
    spreads = np.sqrt(np.maximum(steps @ each, 1e-18))
    typical = float(np.sqrt(np.maximum((spreads**2).sum() / max(steps.sum(), 1.0), 1e-18)))
    tilts = [Fraction(round(float(t) * 64), 64) for t in TILTS]
    index = np.minimum(choice.index + BELOW, len(TILTS) - 1) if tilt is None else np.zeros(len(steps), dtype=int)
    groups, step = [], None
    for one in np.unique(index):
        rows, own = np.flatnonzero(index == one), tilts[one] if tilt is None else tilt
        length = positive(half_length, "half_length") if half_length is not None else Fraction(
            ceil(8 * max(_least_length(masses, weights[rows], float(own), float(epsilon), choice.log_delta[rows]),
                         1.1 * float(epsilon) + 0.5)), 8)
        finest = max(Fraction(typical / FINE).limit_denominator(2**20), Fraction(1, 2**20))
        circle = choose_circle(length, own, points, step or finest, epsilon)
        step = step or circle.step
        width = float(np.quantile(spreads[rows], SPREAD_SHARE))
        few = float(np.quantile(steps[rows].sum(axis=1), SPREAD_SHARE)) < FEW_STEPS
        wanted = min(ceil(DAMPED * float(circle.half_length) / (np.pi * width * (not few) + 1e-9)), MOST_COLUMNS)
        groups.append(Group(rows, circle, Columns.choose(wanted, circle.points // 2)))
    return groups


def _variances(kinds: Counts) -> np.ndarray:
    """v at the upper end of every bucket."""
    return np.array([float(v) for v in kinds.training.variance_edges(kinds.parts)[1:]])


def choose_circle(length: Fraction, tilt: Fraction, points: int | None, step: Fraction, epsilon: Fraction) -> Circle:
    """So many points on so long a window as given; else about this step, and at most MOST_POINTS of them."""
    if length <= epsilon:
        raise InvalidInput("half_length", length, "more than epsilon")
    if points is None:
        points = min(max(2 * ceil(length / step), LEAST_POINTS), MOST_POINTS)
        length = max(length, points * step / 2)
    if not (isinstance(points, int) and points >= 8 and points % 2 == 0):
        raise InvalidInput("points", points, "an even integer from 8")
    return Circle(length, points, tilt)


def _least_length(masses: LogMasses, weights: np.ndarray, tilt: float, epsilon: float, guess: np.ndarray) -> float:
    """L for which what lies outside is e^-SPARED of the guessed delta, by Chernoff's bounds at the tilt plus EXCESSES.

    To the right log M(l) - l L; what wraps around log M(l) - l eps - 2 L (l - c), and from the left -2 L c at most.
    """
    excess = np.array([float(x) for x in EXCESSES])
    logs = weights @ masses.at(tilt + excess) - np.maximum(guess, -600.0)[:, None] + SPARED
    falls = np.maximum(logs / (tilt + excess), (logs - (tilt + excess) * epsilon) / (2 * excess))
    right = float(np.quantile(falls.min(axis=1), 1 - SPREAD_SHARE))
    left = float(SPARED - guess.min()) / (2 * max(tilt, 1.0))
    return max(right, left)


@proved_by("T123-plancherel-form")
def transform_weight(circle: Circle, epsilon: Fraction, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """(2/n) conj F(w) at r = 0..n/2 (half of that at both ends), and a bound of each entry's error.

    w_j = (1 - e^{eps - x_j})_+ e^{-c (x_j - eps)}, x_j = j h, j = -n/2..n/2 - 1 at place j mod n. Of a band the entry
    is 0, its error the sum of the moduli.
    """
    half, table = circle.points // 2, []
    with ctx.workprec(DFT_BITS):
        for j in (*range(half), *range(-half, 0)):
            gap = j * circle.step - epsilon
            table.append(acb(-(-ball(gap)).expm1() * (-ball(circle.tilt * gap)).exp()) if gap > 0 else acb(0))
        column = [value * (1 if r in (0, half) else 2) / circle.points
                  for r, value in enumerate(acb.dft(table)[: half + 1])]
        entries = [_entry(column[first : last + 1])
                   for first, last in zip(columns.first.tolist(), columns.last.tolist(), strict=True)]
    numbers = np.array(entries)
    return numbers[:, 0] + 1j * numbers[:, 1], numbers[:, 2] * UP


@proved_by("T123-plancherel-form")
def _entry(values: list[acb]) -> tuple[float, float, float]:
    """Real and imaginary part of the conjugate of one value, with its error; of several, 0 and the sum of moduli."""
    if len(values) > 1:
        return 0.0, 0.0, double_above(sum((value.abs_upper() for value in values), arb(0)))
    (real, error), (imaginary, other) = to_double(values[0].real), to_double(-values[0].imag)
    return real, imaginary, error + other


@proved_by("T123-plancherel-form")
def bound_deltas(kinds: Counts, buckets: list[int], spectra: Spectra, weight: tuple[np.ndarray, np.ndarray],
                 circle: Circle, epsilon: Fraction, up: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(the bound, what chords and rounding add to it, what lies outside of the window) of each kind of record."""
    steps = _effective_steps(kinds, up)[:, buckets].astype(np.float64)
    above = kinds.weights_above()[:, buckets]
    total, error = np.zeros(len(steps)), np.zeros(len(steps))
    for rows in _blocks_of_rows(len(steps), spectra.logs.shape[1]):
        total[rows], error[rows] = inner_products(steps[rows], above[rows], spectra, weight)
    scale, slack = _bound_scale(steps, above, spectra, circle, epsilon)
    added = scale * (error * (1 + slack) + np.abs(total) * slack) * UP
    outside = _past_window if up else _wrapped  # the latter may exceed 1: tilted masses that wrap around count more
    wraps = outside(steps, spectra, circle, epsilon) * UP
    sure, value = np.isfinite(added), np.where(np.isfinite(scale), scale, 0.0) * total
    if up:
        bound = np.maximum(value + added + wraps, 0) * UP + TINY
        bound = np.where(sure, np.minimum(bound, 1.0), 1.0)
        return np.where(steps.any(axis=1), bound, 2 * TINY), added, wraps
    bound = (value - added - wraps) / UP - TINY
    return np.where(sure, np.maximum(bound, 0.0), 0.0), added, wraps


@proved_by("T123-plancherel-form")
def _effective_steps(kinds: Counts, up: bool) -> np.ndarray:
    """The steps; for the upper bound, readings of norm 0 are no steps, rather than at the first bucket's upper end."""
    if not up or kinds.training.noise_multiplier < Fraction(1, 2**64):
        return kinds.steps
    steps = kinds.steps.copy()
    steps[(kinds.high[:, 0] == 0) & (kinds.low[:, 0] == 0), 0] = 0
    return steps


def _blocks_of_rows(rows: int, points: int) -> Iterator[np.ndarray]:
    yield from np.array_split(np.arange(rows), max(1, -(-rows * points // ENTRIES)))


@proved_by("T123-plancherel-form", "T175-chords-of-sensitivity")
def inner_products(steps: np.ndarray, above: np.ndarray, spectra: Spectra,
                   weight: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(1/n) <F(w), prod of the chords> of each row of steps and weights above, and a bound of its error."""
    kernel, kernel_error = weight
    logs, turns = steps @ spectra.logs + above @ spectra.rises, steps @ spectra.turns + above @ spectra.twists
    cosine, sine = cosine_and_sine((turns - np.rint(turns)) * (2 * np.pi))
    sizes = exponential(logs)
    terms = sizes * (kernel.real * cosine - kernel.imag * sine)
    off = steps @ spectra.all_errors * UP + 2.0**-50
    growth = np.where(off < 1, off * (1 + off), exponential(off))
    growth = np.where(spectra.vague, 1 + exponential(off), growth) * UP + TERM_ERROR
    starts = np.arange(0, kernel.size, 128)
    total = np.add.reduceat(terms, starts, axis=1).sum(axis=1)
    weights = np.abs(kernel) * UP
    error = ((weights + kernel_error) * growth + kernel_error + weights * (len(starts) + 141) * 2 * UNIT) * sizes
    return total, error.sum(axis=1) * (UP + 2 * kernel.size * UNIT) + TINY


@proved_by("T123-plancherel-form")
def _bound_scale(steps: np.ndarray, above: np.ndarray, spectra: Spectra, circle: Circle,
                 epsilon: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """S e^{-c eps} of each row, S along the chords, and a bound of its relative error; both infinite out of range."""
    fall, error = to_double(ball(circle.tilt * epsilon))
    exponent = steps @ spectra.scales + above @ spectra.scale_rises - fall
    sizes = steps @ (np.abs(spectra.scales) + 1.01 * np.abs(spectra.scale_rises)) + fall
    slack = steps @ spectra.scale_errors + error + (2 * len(spectra.scales) + 20) * UNIT * sizes
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


def estimate_deltas(kinds: Counts, circle: Circle, epsilon: Fraction) -> np.ndarray:
    """Lemma 1 in floating point: point samples of each density at the larger end, FFT, powers, inner product.

    Densities too narrow for the grid are replaced by the next one that is not: the sigma grid's last value.
    """
    buckets = [int(b) for b in np.flatnonzero(kinds.steps.any(axis=0))]
    edges = kinds.training.square_edges(kinds.parts)
    x = (np.arange(circle.points) - circle.points // 2) * float(circle.step)
    samples = [float_density(law_at(kinds.training, edges[b + 1]), x) * (x[1] - x[0]) for b in buckets]
    usable = [abs(one.sum() - 1) < RESOLVED for one in samples]
    order = [next((k for k in range(b, len(samples)) if usable[k]), b) for b in range(len(samples))]
    weight = np.fft.rfft(np.fft.ifftshift(-np.expm1(-np.maximum(x - float(epsilon), 0))))
    weight[1:-1] *= 2
    with np.errstate(all="ignore"):
        columns = np.array([np.fft.rfft(np.fft.ifftshift(samples[k])) for k in order])
        logs = np.log(np.where(columns == 0, 1e-300, columns))
        steps = kinds.steps[:, buckets]
        return np.concatenate([(np.exp(steps[rows] @ logs) @ weight.conj()).real / circle.points
                               for rows in _blocks_of_rows(len(steps), circle.points // 2)])
