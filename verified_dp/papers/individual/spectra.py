"""One step's loss at each bucket's end on a grid of n points: its transform and moments, in balls, then as doubles.

The grid is x_j = j h, h = 2L/n, and j stands at place j mod n. Masses are tilted by e^{c x} and divided by their total
S, so that |F| <= 1. A composition is then a sum of logarithms: log prod F_b^{k_b} = sum k_b log F_b (T123).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, log1p, sqrt

import numpy as np
from flint import acb, arb, ctx

from verified_dp.core.balls import BOUND_BITS, ball
from verified_dp.core.engines.grid import LawGrid, StepMasses, enclose_step
from verified_dp.core.exact import square_root
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.theorems import proved_by
from verified_dp.individual.counts import Progress, nothing
from verified_dp.individual.squares import HULL_SLACK
from verified_dp.individual.training import Training
from verified_dp.search.doubles import double_above, to_double

MASS_BITS, DFT_BITS = 192, 128
CORE, BLOCK = 256, 128
"""Cells of one grid step around 0, then so many of twice the width, and so on: no cell is wider than its loss / 128."""
RARE = 9.0
"""The grid of masses ends so many standard deviations of the noise out; what lies beyond goes to the safe side."""
EXCESSES = tuple(Fraction(2) ** k for k in range(-3, 8))
"""Moments are taken at the tilt plus these, and at minus these: the best one bounds what wraps around."""
SMALL = 2.0**-60
"""|F| below this is only bounded."""


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


@dataclass(frozen=True)
class Spectra:
    """Doubles for some buckets (first axis), frequencies r = 0..n/2 (second axis of the first four).

    logs, turns: log|F| and arg F / 2 pi. errors: bounds their distance from the truth, |.| + 2 pi |.|. vague: 1 where
    F may be 0; then logs bounds log|F| from above. scales, scale_errors: log S. right, left: bounds of log sum p e^{lx}
    over the masses at l = c + EXCESSES and -EXCESSES. infinity: bounds the mass at infinity (0 in lower bounds).
    """

    logs: np.ndarray
    turns: np.ndarray
    errors: np.ndarray
    vague: np.ndarray
    scales: np.ndarray
    scale_errors: np.ndarray
    right: np.ndarray
    left: np.ndarray
    infinity: np.ndarray


@proved_by("T123-plancherel-form")
def build_spectra(training: Training, parts: int, buckets: Sequence[int], circle: Circle, up: bool,
                  progress: Progress = nothing) -> Spectra:
    """The dominating law of each bucket's upper end (up), the dominated one of its lower end (otherwise)."""
    rows = []
    for done, bucket in enumerate(buckets):
        progress((done / len(buckets) + (not up)) / 2, f"transforms of {len(buckets)} buckets")
        law = end_law(training, parts, bucket, up)
        rows.append(_nothing_happens(circle) if law is None else _spectrum(law, circle, up))
    return Spectra(*(np.array(column) for column in zip(*rows, strict=True)))


@proved_by("T123-plancherel-form")
def end_law(training: Training, parts: int, bucket: int, up: bool) -> SampledGaussianLoss | None:
    """One step at the end of the bucket, beyond every reading in it; None where that is r = 0."""
    edges = training.square_edges(parts)
    square = min(edges[bucket + 1] + HULL_SLACK, Fraction(1)) if up else edges[bucket] - HULL_SLACK
    if square <= 0:
        return None
    noise = square_root(training.noise_multiplier**2 / square)
    return SampledGaussianLoss(training.sampling_probability, noise, training.order)


def _nothing_happens(circle: Circle) -> tuple:
    zeros, none = np.zeros(circle.points // 2 + 1), np.zeros(len(EXCESSES))
    return zeros, zeros, zeros, zeros, 0.0, 0.0, none, none, 0.0


@proved_by("T123-plancherel-form")
def _spectrum(law: SampledGaussianLoss, circle: Circle, up: bool) -> tuple:
    """The fields of Spectra for one bucket."""
    with ctx.workprec(MASS_BITS):
        found = enclose_step(law, choose_grid(law, circle), circle.step, MASS_BITS // 2)
        masses = found.above if up else found.below
        table, scale = fold(found.vertices, masses, circle)
    with ctx.workprec(DFT_BITS):
        column = acb.dft(table)[: circle.points // 2 + 1]
        numbers = np.array([_polar(value) for value in column])
    with ctx.workprec(BOUND_BITS):
        right, left = _log_moments(found, masses, circle)
        infinity = double_above(found.infinity_above) if up else 0.0
        return *numbers.T, *to_double(scale.log()), right, left, infinity


def choose_grid(law: SampledGaussianLoss, circle: Circle) -> LawGrid:
    """Vertices out to RARE, on the other side to the end of the support; any choice is sound."""
    q, s, h = float(law.sampling_probability), float(law.noise_multiplier), float(circle.step)
    reach = RARE * s + (1 + float(circle.tilt) if law.order == "remove" else 0)
    exponent = (2 * reach - 1) / (2 * s * s)
    far = exponent + log1p(q - 1 + (1 - q) * exp(-exponent)) if exponent > 0 else 0.0
    near = -log1p(-q)
    left, right = (near, far) if law.order == "remove" else (far, near)
    return _blocks(floor(-left / h) - 1, ceil(right / h) + 1)


def _blocks(first: int, last: int) -> LawGrid:
    """Cells of stride 1 up to CORE, then BLOCK cells of each stride 2, 4, ..., to both sides."""
    left, right = _one_side(-first), _one_side(last)
    return LawGrid(-sum(cells * stride for cells, stride in left), (*reversed(left), *right))


def _one_side(length: int) -> tuple[tuple[int, int], ...]:
    blocks, stride = [(min(length, CORE), 1)], 1
    length -= CORE
    while length > 0:
        stride *= 2
        blocks.append((min(BLOCK, -(-length // stride)), stride))
        length -= BLOCK * stride
    return tuple(blocks)


@proved_by("T123-plancherel-form")
def fold(vertices: Sequence[int], masses: Sequence[arb], circle: Circle) -> tuple[list[acb], arb]:
    """Tilted masses over their total S, index i at place i mod n, and an exact S >= 2^-64."""
    rate = ball(circle.tilt * circle.step)
    tilted = [mass * (rate * i).exp() for i, mass in zip(vertices, masses, strict=True)]
    scale = sum(tilted, arb(0)).upper().max(arb((1, -64)))
    table = [acb(0)] * circle.points
    for i, mass in zip(vertices, tilted, strict=True):
        if not mass.is_zero():
            table[i % circle.points] += mass / scale
    return table, scale


@proved_by("T123-plancherel-form")
def _polar(value: acb) -> tuple[float, float, float, float]:
    """(log, turn, error, vague) of one number."""
    if not value.abs_lower() > arb(SMALL):
        return double_above(value.abs_upper().max(arb((1, -200))).log()), 0.0, 0.0, 1.0
    log = value.log()
    (size, error), (turn, turned) = to_double(log.real), to_double(log.imag / (2 * arb.pi()))
    return size, turn, (error + 6.2831855 * turned) * (1 + 2.0**-50), 0.0


@proved_by("T123-plancherel-form")
def _log_moments(found: StepMasses, masses: Sequence[arb], circle: Circle) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of log sum_i p_i e^{l i h} at the tilt plus EXCESSES, and at minus EXCESSES; log 2^-64 at least."""
    kept = [(i, mass) for i, mass in zip(found.vertices, masses, strict=True) if not mass.is_zero()]

    def log_moment(exponent: Fraction) -> float:
        rate = ball(exponent * circle.step)
        total = sum((mass * (rate * i).exp() for i, mass in kept), arb(0))
        return double_above(total.upper().max(arb((1, -64))).log())

    return (np.array([log_moment(circle.tilt + excess) for excess in EXCESSES]),
            np.array([log_moment(-excess) for excess in EXCESSES]))


def typical_spread(training: Training, variances: np.ndarray, weights: np.ndarray) -> float:
    """The standard deviation of one step's loss, on average over steps with these v: sqrt(log(1 + q^2 (e^v - 1)))."""
    q = float(training.sampling_probability)
    each = np.log1p(q * q * np.expm1(np.minimum(variances, 50.0)))
    return sqrt(float(weights @ each) / max(float(weights.sum()), 1.0))
