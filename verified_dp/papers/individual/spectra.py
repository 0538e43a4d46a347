"""One step's loss at the ends of the buckets on a grid of n points: masses in balls, transforms and moments in doubles.

The grid is x_j = j h, h = 2L/n, and j stands at place j mod n. Masses are tilted by e^{c x} and divided by their total
S, so that |F| <= 1. A composition is then a sum of logarithms, sum n_b log F_b, along the chord of each bucket (T175).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, floor, log1p
from typing import cast

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid, connect_the_dots, enclose_step
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.counts import Progress, nothing
from verified_dp.individual.training import Training
from verified_dp.papers.individual.chords import Chord, Remembered, StepLaw, chords_of
from verified_dp.search.doubles import cosine_and_sine, double_above, double_below, exponential, to_double

MASS_BITS = 192
CORE, BLOCK, BLOCKS, LONGEST = 256, 128, 14, 2**40
"""Cells of one grid step around 0, then so many of twice the width, and so on, in at most so many blocks on either side
that reach so many grid steps: no cell is wider than its loss / 128, but for those of a last block. At most 3841 masses.
"""
RARE = 9.0
"""The grid of masses ends so many standard deviations of the noise out; what lies beyond goes to the safe side."""
EXCESSES = tuple(Fraction(2) ** k for k in range(-3, 8))
"""Moments are taken at the tilt plus these, and at minus these: the best one bounds what wraps around."""
SMALL = 2.0**-16
"""|F| below this is only bounded."""
WIDE = 1.04
"""The ends of a band of frequencies are so far apart."""
PLACES = 2000
"""At about so many places all bands are looked at."""
UP = 1 + 2.0**-40
TRANSFORM_ERROR = 2.0**-40
"""Bounds the error of a transform: tilts, angles, cosines, sines, sums of at most 3841 masses."""
LOG_ERROR = 2.0**-42
FAR = 0.25
"""A chord over which the logarithm of the transform changes by more is not used."""
UNKNOWN = 1e6
"""Stands for an infinite logarithm."""


@dataclass(frozen=True)
class Circle:
    """The grid [-L, L) of n points (even), and the tilt c >= 0."""

    half_length: Fraction
    points: int
    tilt: Fraction = Fraction(0)

    @property
    def step(self) -> Fraction:
        """h = 2 L / n."""
        return 2 * self.half_length / self.points


@dataclass(frozen=True, eq=False)
class Columns:
    """Frequencies r = 0, 1, ... one by one, then bands from `first` to `last`: together all of 0..n/2, each once.

    A band is looked at in `places`, from `starts` on, and every frequency is at most its column's `reach` from one.
    """

    first: np.ndarray
    last: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    reach: np.ndarray

    @property
    def is_band(self) -> np.ndarray:
        return self.last > self.first

    @classmethod
    def choose(cls, alone: int, half: int) -> Columns:
        """0..alone one by one, then bands up to n/2."""
        ends = [*range(min(alone, half) + 1)]
        while ends[-1] < half:
            ends.append(min(max(ends[-1] + 1, floor(ends[-1] * WIDE)), half))
        first = [0, *(end + 1 for end in ends[:-1])]
        strides = [max(1, min(low // 100, half // PLACES)) for low in first]
        places = [np.append(np.arange(low, high, by), high) for low, high, by in zip(first, ends, strides, strict=True)]
        starts = np.cumsum([0, *(len(one) for one in places[:-1])])
        return cls(np.array(first), np.array(ends), np.concatenate(places), starts, np.array(strides) // 2)


@dataclass(frozen=True, eq=False)
class Side:
    """The chords of some buckets: masses of each law at the vertices, upper (up) or lower bounds, as exact doubles.

    start, end: of each bucket, places of laws. lag: T175. infinity: bounds the mass there (0 for lower bounds).
    """

    up: bool
    vertices: np.ndarray
    masses: np.ndarray
    infinity: np.ndarray
    start: np.ndarray
    end: np.ndarray
    lag: np.ndarray

    def take(self, buckets: Sequence[int]) -> Side:
        """Some of the buckets, by place."""
        return replace(self, start=self.start[buckets], end=self.end[buckets], lag=self.lag[buckets])

    @proved_by("T123-plancherel-form")
    def rounded(self, buckets: np.ndarray) -> Side:
        """Every step in these buckets moved to the chord's upper end (up) or lower one (otherwise)."""
        start = np.where(buckets, self.end, self.start) if self.up else self.start
        end = self.end if self.up else np.where(buckets, self.start, self.end)
        return replace(self, start=start, end=end, lag=np.where(buckets, 0.0, self.lag))


@dataclass(frozen=True, eq=False)
class Spectra:
    """Doubles for some buckets (first axis) and columns (second axis of the first five).

    logs, turns: log|F| and arg F / 2 pi at a bucket's start; rises, twists: what is added at its end. errors: per step,
    how far its chord's logarithm may be from these. vague: columns where logs only bound log|F| from above.
    scales, scale_rises, scale_errors: log S in the same way. right, left: bounds of log sum p e^{lx} over the masses
    at l = c + EXCESSES and -EXCESSES. infinity: bounds the mass at infinity (0 in lower bounds).
    """

    logs: np.ndarray
    rises: np.ndarray
    turns: np.ndarray
    twists: np.ndarray
    errors: np.ndarray
    vague: np.ndarray
    scales: np.ndarray
    scale_rises: np.ndarray
    scale_errors: np.ndarray
    right: np.ndarray
    left: np.ndarray
    infinity: np.ndarray

    @cached_property
    @proved_by("T123-plancherel-form")
    def all_errors(self) -> np.ndarray:
        """The errors, and what the products with counts lose to rounding."""
        gamma = (2 * len(self.logs) + 16) * 2.0**-53
        sizes = np.abs(self.logs) + 7 * np.abs(self.turns) + 1.01 * (np.abs(self.rises) + 7 * np.abs(self.twists))
        return (self.errors + gamma * sizes) * UP


def build_side(training: Training, parts: int, buckets: Sequence[int], step: Fraction, up: bool,
               progress: Progress = nothing) -> Side:
    """The masses of the laws that the chords of these buckets need, on a grid of this step."""
    chords = chords_of(training, parts, buckets, up)
    laws = list(dict.fromkeys(law for chord in chords for law in (chord.start, chord.end)))
    grid = choose_grid(max((law for law in laws if isinstance(law, SampledGaussianLoss)),
                           key=lambda law: -float(ball(law.noise_multiplier)), default=None), step)
    rows = []
    for done, law in enumerate(laws):
        progress((done / len(laws) + up) / 2, f"masses of {len(laws)} laws")
        rows.append(enclose_masses(law, grid, step, up))
    masses, infinity = zip(*rows, strict=True)
    return Side(up, np.array(grid.vertices()), np.array(masses), np.array(infinity), *_places(chords, laws))


def _places(chords: Sequence[Chord], laws: Sequence[StepLaw]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places = np.array([(laws.index(chord.start), laws.index(chord.end)) for chord in chords])
    return places[:, 0], places[:, 1], np.array([chord.lag for chord in chords])


@proved_by("T123-plancherel-form")
def enclose_masses(law: StepLaw, grid: LawGrid, step: Fraction, up: bool) -> tuple[np.ndarray, float]:
    """Doubles at least the dominating law's masses (up), or at most the dominated one's; the mass at infinity."""
    if law is None:
        return np.where(np.array(grid.vertices()) == 0, 1.0, 0.0), 0.0
    with ctx.workprec(MASS_BITS):
        if up:
            places = [ball(step * i) for i in grid.vertices()]
            sticks = [law.enclose_hockey_stick(x) for x in places]
            masses = connect_the_dots([x.exp() for x in places], sticks)
            return np.array([double_above(mass) for mass in masses]), double_above(sticks[-1])
        asked = Remembered(law) if isinstance(law, SampledGaussianLoss) else law
        found = enclose_step(cast("Law", asked), grid, step, MASS_BITS // 2)
        return np.array([max(double_below(mass), 0.0) for mass in found.below]), 0.0


def choose_grid(law: SampledGaussianLoss | None, step: Fraction) -> LawGrid:
    """Vertices out to RARE, on the other side to the end of the support; any choice is sound."""
    if law is None:
        return LawGrid(-1, ((2, 1),))
    q, s, h = float(law.sampling_probability), float(ball(law.noise_multiplier)), float(step)
    reach = RARE * s + (1 if law.order == "remove" else 0)
    exponent = (2 * reach - 1) / (2 * s * s)
    far = exponent + log1p(q - 1 + (1 - q) * exp(-exponent)) if exponent > 0 else 0.0
    near = -float(ball(1 - law.sampling_probability).log())
    left, right = (near, far) if law.order == "remove" else (far, near)
    return _blocks(floor(-left / h) - 1, ceil(right / h) + 1)


def _blocks(first: int, last: int) -> LawGrid:
    """Cells of stride 1 up to CORE, then BLOCK cells of stride 2, 4, ..., to both sides; the last takes the rest."""
    left, right = _one_side(-first), _one_side(last)
    return LawGrid(-sum(cells * stride for cells, stride in left), (*reversed(left), *right))


def _one_side(length: int) -> tuple[tuple[int, int], ...]:
    blocks, stride = [(min(length, CORE), 1)], 1
    length = min(length, LONGEST) - CORE
    while length > 0:
        stride = 2 * stride if len(blocks) < BLOCKS - 1 else -(-length // BLOCK)
        blocks.append((min(BLOCK, -(-length // stride)), stride))
        length -= BLOCK * stride
    return tuple(blocks)


@proved_by("T123-plancherel-form", "T175-chords-of-sensitivity")
def build_spectra(side: Side, circle: Circle, columns: Columns) -> Spectra:
    """Everything that does not depend on a record, from the masses. What is out of range is no number."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return _build_spectra(side, circle, columns)


@proved_by("T123-plancherel-form", "T175-chords-of-sensitivity")
def _build_spectra(side: Side, circle: Circle, columns: Columns) -> Spectra:
    shares, scales, scale_error = tilted_shares(side, circle)
    side = side.rounded(~(np.abs(scales[side.end] - scales[side.start]) < FAR))
    every = transforms(shares, side.vertices, circle, columns.places)
    values, bounds = every[:, columns.starts], band_bounds(shares, side.vertices, circle, columns, np.abs(every))
    vague = columns.is_band
    ends = [(values[rows], bounds[rows], scales[rows]) for rows in (side.start, side.end)]
    (first, first_bound, first_scale), (last, last_bound, last_scale) = ends
    known = (np.abs(first) > SMALL) & (np.abs(last) > SMALL)
    vague = vague | ~known.all(axis=0)
    start, start_error = verified_log(np.where(vague, 1.0, first))
    rise, rise_error = verified_log(np.where(vague, 1.0, last / np.where(vague, 1.0, first)))
    sizes = np.where(vague, 1.0, np.minimum(np.abs(first), np.abs(last)))
    errors = start_error + 1.01 * (rise_error + 4 * TRANSFORM_ERROR / sizes)
    scale_rise = last_scale - first_scale
    moved = np.abs(rise + scale_rise[:, None]) + rise_error + 4 * TRANSFORM_ERROR / sizes + 2 * scale_error
    vague = vague | (moved > 0.5).any(axis=0)
    errors = errors + chord_error(np.minimum(moved, 0.5), side.lag[:, None])
    change = last_bound - first_bound
    lost = 1.01 * np.abs(change + scale_rise[:, None]) + 2.0**-38
    right, left = _log_moments(side, circle)
    return Spectra(np.where(vague, first_bound, start.real), np.where(vague, change, rise.real),
                   np.where(vague, 0.0, start.imag / (2 * np.pi)), np.where(vague, 0.0, rise.imag / (2 * np.pi)),
                   np.where(vague, lost, errors) * UP, vague, first_scale, scale_rise,
                   np.full(len(scale_rise), 3.1 * scale_error), _larger(right, side), _larger(left, side),
                   np.maximum(side.infinity[side.start], side.infinity[side.end]))


def _larger(values: np.ndarray, side: Side) -> np.ndarray:
    return np.maximum(values[side.start], values[side.end])


@proved_by("T175-chords-of-sensitivity")
def chord_error(size: np.ndarray, lag: np.ndarray) -> np.ndarray:
    """Bound |log(1 - t + t e^lambda) - theta lambda|, |lambda| <= size <= 1/2, 0 <= t <= 1, |t - theta| <= lag."""
    moved = size * (1 + size)
    return (moved * moved / (8 * (1 - moved) ** 2) + lag * size) * UP


@proved_by("T123-plancherel-form")
def tilted_shares(side: Side, circle: Circle) -> tuple[np.ndarray, np.ndarray, float]:
    """p e^{c x} / S of every law, each to 2^-41 of itself; log S, and a bound of its error."""
    tilted = _tilted(side, circle.tilt * circle.step)
    scale = np.maximum(tilted.sum(axis=1) * UP, 2.0**-64)
    with ctx.workprec(BOUND_BITS):
        logs = np.array([to_double(arb(float(x)).log()) for x in scale])
    return tilted / scale[:, None], logs[:, 0], float(logs[:, 1].max())


@proved_by("T123-plancherel-form")
def _tilted(side: Side, rate: Fraction) -> np.ndarray:
    """p e^{rate j} of every law and vertex, to 2^-41 of itself; infinite where it is out of range."""
    with np.errstate(invalid="ignore"):
        return np.where(side.masses > 0, side.masses * exponential(float(rate) * side.vertices), 0.0)


@proved_by("T123-plancherel-form")
def transforms(shares: np.ndarray, vertices: np.ndarray, circle: Circle, places: np.ndarray) -> np.ndarray:
    """The DFT of each row at some frequencies, to TRANSFORM_ERROR: sum over x_j = j h of shares e^{-2 pi i r j / n}."""
    turns = ((vertices % circle.points)[:, None] * places[None, :] % circle.points) / circle.points
    cosine, sine = cosine_and_sine(2 * np.pi * turns)
    return shares @ cosine - 1j * (shares @ sine)


@proved_by("T123-plancherel-form")
def band_bounds(shares: np.ndarray, vertices: np.ndarray, circle: Circle, columns: Columns,
                sizes: np.ndarray) -> np.ndarray:
    """Bound log |F| on each column: its size at the places, and what the law's spread lets it change from there."""
    middle = shares @ vertices / np.maximum(shares.sum(axis=1), 2.0**-40)
    spread = np.sqrt((shares * (vertices - middle[:, None]) ** 2).sum(axis=1)) * UP
    largest = np.maximum.reduceat(sizes, columns.starts, axis=1)
    size = (largest + np.outer(spread, columns.reach * (2 * np.pi / circle.points))) * UP + 2 * TRANSFORM_ERROR
    log, error = verified_log(np.clip(size, 2.0**-200, 1.0).astype(complex))
    return log.real + error


@proved_by("T123-plancherel-form")
def verified_log(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of complex doubles and bounds of their errors, from e^-log alone (T117); 10^6 where it fails."""
    guess = np.log(values)
    cosine, sine = cosine_and_sine(guess.imag)
    rest = np.abs(values * exponential(-guess.real) * (cosine - 1j * sine) - 1)
    return guess, np.where(rest < 0.25, 1.25 * rest + LOG_ERROR, UNKNOWN)


@proved_by("T123-plancherel-form")
def _log_moments(side: Side, circle: Circle) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of log sum p e^{l x} of each law at the tilt plus EXCESSES, and at minus EXCESSES; log 2^-64 at least."""

    def log_moment(exponent: Fraction) -> list[float]:
        totals = _tilted(side, exponent * circle.step).sum(axis=1) * UP
        with ctx.workprec(BOUND_BITS):
            return [double_above(arb(max(float(x), 2.0**-64)).log()) if x < 1e300 else UNKNOWN for x in totals]

    return (np.array([log_moment(circle.tilt + excess) for excess in EXCESSES]).T,
            np.array([log_moment(-excess) for excess in EXCESSES]).T)
