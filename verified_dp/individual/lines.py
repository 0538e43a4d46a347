"""Choose the lines: tilts near the records' saddle points, and for each step, cut-off, alias exponents and node rules.

Floating point only: what it proposes is a witness, and a bad one makes enclosures wide, never wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from verified_dp.exact import square_root
from verified_dp.individual.tables import TableWitness
from verified_dp.individual.training import Training
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.search.line import choose_nodes, choose_tail_nodes, dyadic, tail_lines
from verified_dp.search.transforms import FloatLaw, log_sums

TILTS = 1.25 ** np.arange(-12, 38)
"""Exponents at which K is known in floating point."""
SHARES = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.85, 0.93, 1.02, 1.05, 1.1, 1.2, 1.4, 2.0])
"""Alias exponents tried, as multiples of the tilt."""
BELOW = 2
"""A line so many tilts left of the best one: the bounds on log M's bends in v grow fast with the tilt."""
"""Every so many of them may become a line."""
SAMPLE, MOST_FREQUENCIES = 800, 1500


@dataclass(frozen=True, eq=False)
class LogMasses:
    """K of one step at the ends of the buckets, in floating point: (ends, tilts)."""

    training: Training
    variances: list[Fraction]
    laws: list[FloatLaw]
    values: np.ndarray
    tilts: np.ndarray


def log_masses(training: Training, parts: int) -> LogMasses:
    """Tabulate K."""
    variances = training.variance_edges(parts)
    laws = [FloatLaw(SampledGaussianLoss(training.sampling_probability, square_root(1 / v), training.order))
            for v in variances[1:]]
    values = np.array([np.zeros(len(TILTS)), *(law.log_masses(TILTS) for law in laws)])
    return LogMasses(training, variances, laws, values, TILTS)


@dataclass(frozen=True, eq=False)
class Choice:
    """For each record: the index of its line's tilt, an eps near which delta is asked, a guess of log delta there."""

    index: np.ndarray
    epsilon: np.ndarray
    log_delta: np.ndarray

    def take(self, rows: np.ndarray) -> Choice:
        return Choice(self.index[rows], self.epsilon[rows], self.log_delta[rows])


def log_factor(tilts: np.ndarray) -> np.ndarray:
    """log C(l) = l log l - (1+l) log(1+l)."""
    return tilts * np.log(tilts) - (1 + tilts) * np.log1p(tilts)


def best_lines(masses: LogMasses, weights: np.ndarray, log_delta: float) -> Choice:
    """The lines on which eps(delta) is asked; the guess of eps is 0 where it seems to be 0."""
    tilts = masses.tilts
    logs = weights @ masses.values
    chernoff = (logs + log_factor(tilts) - log_delta) / tilts
    best = np.maximum(chernoff.argmin(axis=1) - BELOW, 0)
    guess = chernoff.min(axis=1)
    at_zero = lines_at(masses, weights, 0.0)
    positive = guess > 0
    return Choice(np.where(positive, best, at_zero.index), np.where(positive, 0.93 * guess, 0.0),
                  np.where(positive, log_delta, np.minimum(at_zero.log_delta, log_delta)))


def lines_at(masses: LogMasses, weights: np.ndarray, epsilon: float) -> Choice:
    """The lines on which delta(eps) is asked."""
    tilts = masses.tilts
    chernoff = weights @ masses.values + log_factor(tilts) - tilts * epsilon
    index = np.maximum(chernoff.argmin(axis=1) - BELOW, 0)
    return Choice(index, np.full(len(index), epsilon), np.minimum(chernoff.min(axis=1), 0.0) - 2)


def choose_table(masses: LogMasses, index: int, weights: np.ndarray, steps: np.ndarray, choice: Choice,
                 used: int, bits: float) -> TableWitness:
    """Choose the witness of one line for these records; used: buckets in use; bits: accuracy wanted of delta."""
    c, log_steps = float(masses.tilts[index]), math.log2(2 + float(steps.sum(axis=1).max()))
    target = choice.log_delta - bits * math.log(2)
    period, right, left = _choose_period(masses, c, weights, steps, choice.epsilon, target)
    step = dyadic(2 * math.pi / period, 20)
    omega = _choose_cutoff(masses, c, weights, steps, choice.epsilon, target)
    count = min(max(1, math.ceil(omega / float(step))), MOST_FREQUENCIES)
    asked = bits + log_steps + 6
    nodes = tuple(choose_nodes(law, c, asked) for law in masses.laws[:used])
    beyond = tuple(choose_nodes(law, float(right), log_steps + 10) for law in masses.laws[:used])
    many = max(4.0, 2.0**log_steps)
    tails = tuple(choose_tail_nodes(law, c, float(step) * count, many) for law in masses.laws[:used - 1])
    return TableWitness(dyadic(c), step, count, right, left, nodes, beyond, tails, math.ceil(asked + 40))


def _choose_period(masses: LogMasses, c: float, weights: np.ndarray, steps: np.ndarray, guess: np.ndarray,
                   target: np.ndarray) -> tuple[float, Fraction, Fraction]:
    """The shortest period for which both alias bounds are below the target for all records."""
    exponents = c * SHARES
    values = np.array([np.zeros(len(exponents)), *(law.log_masses(exponents) for law in masses.laws)])
    rise = np.diff(values, axis=0)
    logs = weights @ values + steps @ np.minimum(rise * rise / 8, rise)
    worst = (logs + log_factor(exponents) - np.outer(guess, exponents) - target[:, None]).max(axis=0)
    periods = np.append(worst / np.abs(exponents - c), -target.min() / c)
    right = int(np.where(SHARES > 1, periods[:-1], np.inf).argmin())
    left = int(np.where(np.append(SHARES, 0) < 1, periods, np.inf).argmin())
    chosen = dyadic(float(exponents[right])), dyadic(float(exponents[left])) if left < len(SHARES) else Fraction(0)
    return max(float(periods[[left, right]].max()), 1e-3) * 1.02, *chosen


def _choose_cutoff(masses: LogMasses, c: float, weights: np.ndarray, steps: np.ndarray, guess: np.ndarray,
                   target: np.ndarray) -> float:
    """The smallest frequency past which every record's tail is below its target; else where the worst is least."""
    used = int(np.flatnonzero(steps.any(axis=0)).max()) + 1
    laws, widths = masses.laws[:used], np.diff([float(v) for v in masses.variances])[:used]
    lows = np.array([float(v) for v in masses.variances[1:used]])
    lines = [tail_lines(law, c, float(steps.sum(axis=1).max())) for law in laws[:-1]]
    growth = np.diff([0.0, *(law.cumulants(c)[0] for law in laws)])
    share = 2 * growth / (widths * c * (c + 1))  # about E[p^2 m^beta] of T116
    above = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1][:, 1:] - np.cumsum(steps[:, ::-1], axis=1)[:, ::-1] + steps

    def excess(omega: float) -> float:
        sizes = [log_sums(bases - omega * angles) for _, bases, angles in lines]
        best = [int(size.argmin()) for size in sizes]
        logs = np.array([0.0, *(float(size[b]) for size, b in zip(sizes, best, strict=True))])
        angles = np.array([0.0, *(float(line[0][b]) for line, b in zip(lines, best, strict=True))])
        angles[1:] = np.minimum(angles[1:] * lows, 1.57)
        turned = omega * np.sin(angles)
        lift = np.exp(np.minimum(np.append(0.0, angles[1:] ** 2 / (2 * lows)) - logs, 600.0)) / np.cos(angles / 2) ** 2
        rate = lift * share * widths * (np.maximum(c + 1, turned) ** 2 + c + 1 + 2 * turned) / 2
        rate = np.minimum(rate, 1e200)
        rate[0] = growth[0]
        size = steps[:, :used] @ logs + above[:, :used] @ rate
        return float((size - c * guess - math.log(math.pi * omega) - target).max())

    omegas = c * np.geomspace(0.5, 400, 36)
    sizes = np.array([excess(float(omega)) for omega in omegas])
    fits = np.flatnonzero(sizes < -2)
    return float(omegas[fits[0] if len(fits) else sizes.argmin()]) * 1.05
