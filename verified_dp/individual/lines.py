"""Choose the lines: tilts near the records' saddle points, and for each step, cut-off, alias exponents and node rules.

Floating point only: what it proposes is a witness, and a bad one makes enclosures wide, never wrong. All but the node
rules is chosen on a coarse grid of buckets, whatever the grid of the tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.exact import square_root
from verified_dp.individual.counts import PIECE, Counts
from verified_dp.individual.tables import TableWitness
from verified_dp.individual.training import Training
from verified_dp.search.line import choose_nodes, choose_tail_nodes, dyadic, tail_lines
from verified_dp.search.models import FloatFamily
from verified_dp.search.transforms import FloatLaw

COARSE = 64
"""Parts of the grid on which lines are chosen."""
TILTS = 1.5 ** np.arange(-7, 21)
"""Exponents at which K is known in floating point; each may become a line."""
SHARES = np.array([0.02, 0.1, 0.3, 0.5, 0.7, 0.85, 0.93, 1.02, 1.05, 1.1, 1.2, 1.4, 2.0])
"""Alias exponents tried, as multiples of the tilt."""
OMEGAS = np.geomspace(0.5, 400, 36)
"""Cut-offs tried, as multiples of the tilt."""
BELOW = 1
"""A line so many tilts left of the best one: the bounds on log M's bends in v grow fast with the tilt."""
SAMPLE, MOST_FREQUENCIES = 800, 4000
NO_DOUBLE = -800.0
"""Where log delta is below this the sum adds nothing to Chernoff's bound: no double is so small."""
SHARED, SHARED_BITS = 0.85, 10.0
"""A node rule serves laws whose v is smaller by up to this factor, and is chosen for so many more bits."""


class LogMasses:
    """K of one step at the ends of the coarse buckets, in floating point: values (ends, tilts).

    parts: those of the tables' grid; the coarse one has at most COARSE.
    """

    def __init__(self, training: Training, parts: int) -> None:
        self.training, self.parts = training, min(parts, COARSE)
        self.variances = np.array([float(v) for v in training.variance_edges(self.parts)])
        self.laws = [float_law(training, v) for v in training.variance_edges(self.parts)[1:]]
        self.values = self.at(TILTS)

    @classmethod
    def of(cls, training: Training, parts: int) -> LogMasses:
        """The same, kept: a worker needs those of one training."""
        return _masses(training, min(parts, COARSE))

    def at(self, exponents: np.ndarray) -> np.ndarray:
        """(ends, exponents), for increasing exponents."""
        return np.array([np.zeros(len(exponents)), *(law.log_masses(exponents) for law in self.laws)])


@lru_cache(4)
def _masses(training: Training, parts: int) -> LogMasses:
    return LogMasses(training, parts)


def float_law(training: Training, variance: Fraction) -> FloatLaw:
    """The law of one step whose v is `variance`."""
    return FloatLaw(SampledGaussianLoss(training.sampling_probability, square_root(1 / variance), training.order))


@lru_cache(len(TILTS) * COARSE)
def _tail_of(law: FloatLaw, c: float, most: float) -> tuple[np.ndarray, np.ndarray]:
    """For each cut-off the least log bound of one step's transform beyond, and the height of the line that gives it."""
    lines = tail_lines(FloatFamily.alone(law, 1.0), c, most)
    sizes = np.array([lines.logs(omega) for omega in c * OMEGAS])
    return sizes.min(axis=1), lines.heights[sizes.argmin(axis=1)]


Rule = TypeVar("Rule")


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
    chernoff = (weights @ masses.values + log_factor(TILTS) - log_delta) / TILTS
    best = np.maximum(chernoff.argmin(axis=1) - BELOW, 0)
    guess = chernoff.min(axis=1)
    at_zero = lines_at(masses, weights, 0.0)
    positive = guess > 0
    return Choice(np.where(positive, best, at_zero.index), np.where(positive, 0.93 * guess, 0.0),
                  np.where(positive, log_delta, np.minimum(at_zero.log_delta, log_delta)))


def lines_at(masses: LogMasses, weights: np.ndarray, epsilon: float) -> Choice:
    """The lines on which delta(eps) is asked."""
    chernoff = weights @ masses.values + log_factor(TILTS) - TILTS * epsilon
    index = np.maximum(chernoff.argmin(axis=1) - BELOW, 0)
    return Choice(index, np.full(len(index), epsilon), np.minimum(chernoff.min(axis=1), 0.0) - 2)


@dataclass(frozen=True, eq=False)
class LineSearch:
    """The records that want one tilt: their counts on the coarse grid, and what was chosen for them.

    parts: those of the grid of the tables, at least the coarse grid's. bits: accuracy wanted of delta.
    """

    masses: LogMasses
    coarse: Counts
    choice: Choice
    parts: int
    bits: float

    def take(self, rows: np.ndarray) -> LineSearch:
        return LineSearch(self.masses, self.coarse.take(rows), self.choice.take(rows), self.parts, self.bits)

    @property
    def tilt(self) -> float:
        return float(TILTS[self.choice.index[0]])

    @property
    def _fineness(self) -> float:
        """The width of the tables' buckets over the coarse ones'."""
        return self.masses.parts / self.parts

    @cached_property
    def _most(self) -> float:
        """Steps of one record."""
        return float(self.coarse.steps.sum(axis=1).max())

    @property
    def _target(self) -> np.ndarray:
        return self.choice.log_delta - self.bits * math.log(2)

    def _sample(self) -> LineSearch:
        """Some of the records, those with the smallest and the largest sum of squares among them."""
        order = np.argsort(self.coarse.high.sum(axis=1))
        places = np.unique(np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).astype(int))
        return self.take(order[places])

    @cached_property
    def _period(self) -> tuple[float, Fraction, Fraction]:
        """The shortest period for which both alias bounds are below the target for all (of a sample of) records."""
        some, c = self._sample(), self.tilt
        exponents, guess = c * SHARES, some.choice.epsilon
        values = some.masses.at(exponents)
        rise = np.diff(values, axis=0) * self._fineness
        logs = some.coarse.weights() @ values + some.coarse.steps @ np.minimum(rise * rise / 8, rise)
        worst = (logs + log_factor(exponents) - np.outer(guess, exponents) - some._target[:, None]).max(axis=0)
        periods = np.append(worst / np.abs(exponents - c), -some._target.min() / c)
        right = int(np.where(SHARES > 1, periods[:-1], np.inf).argmin())
        left = int(np.where(np.append(SHARES, 0) < 1, periods, np.inf).argmin())
        chosen = dyadic(float(exponents[right])), dyadic(float(exponents[left])) if left < len(SHARES) else Fraction(0)
        return max(float(periods[[left, right]].max()), 1e-3) * 1.02, *chosen

    def cutoffs(self) -> np.ndarray:
        """For each record the smallest frequency past which its tail is below its target; else where it is least."""
        c, (logs, rates, _), found = self.tilt, self._tails, list[np.ndarray]()
        level = c * self.choice.epsilon + self._target
        for rows in np.array_split(np.arange(len(level)), -(-len(level) // PIECE)):
            some = self.coarse.take(rows)
            size = some.steps.astype(float) @ logs + some.weights_above() @ rates
            excess = size - np.log(math.pi * c * OMEGAS) - level[rows, None]
            fits = excess < -2
            found.append(np.where(fits.any(axis=1), fits.argmax(axis=1), excess.argmin(axis=1)))
        return c * OMEGAS[np.concatenate(found)] * 1.05

    @cached_property
    def _tails(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """About T116 (g) per coarse bucket and cut-off: log bound at the low end, its growth, and from where it holds.

        A bound from a smaller frequency on may grow less along v: the last array is its place among the cut-offs.
        """
        c, low, most = self.tilt, self.masses.variances[1:-1], self._most
        widths = np.diff(self.masses.variances)[:, None] * self._fineness
        growth = np.diff([0.0, *(law.cumulants(c)[0] for law in self.masses.laws)])[:, None] * self._fineness
        logs, angles, shift = np.zeros((3, len(widths), len(OMEGAS)))
        for b, law in enumerate(self.masses.laws[:-1], 1):
            logs[b], heights = _tail_of(law, c, most)
            angles[b] = np.minimum(heights * low[b - 1], 1.57)
            shift[b] = angles[b] ** 2 / (2 * low[b - 1])
        turned = c * OMEGAS * np.sin(angles)
        power = 2.0 + (c if self.masses.training.order == "add" else 0.0)
        lift = np.exp(np.minimum(shift - logs - power * np.log(np.cos(angles / 2)), 600.0))
        share = 2 * growth / (widths * c * (c + 1))  # about E[p^2 m^beta] of T116
        half = np.minimum(lift * share * widths * (np.maximum(c + 1, turned) ** 2 + c + 1 + 2 * turned) / 4, 1e200)
        half[0] = growth[0] / 2
        logs, rates = logs + np.log1p(half) - half / (1 + half), 2 * half / (1 + half)
        limits = np.cumsum(growth, axis=0) / self._fineness
        capped = logs + rates > limits
        logs, rates = np.where(capped, limits, logs), np.where(capped, 0.0, rates)
        lowest = np.minimum.accumulate(logs + rates / 2, axis=1)
        kept = np.maximum.accumulate(np.where(logs + rates / 2 <= lowest, np.arange(len(OMEGAS)), 0), axis=1)
        return np.take_along_axis(logs, kept, axis=1), np.take_along_axis(rates, kept, axis=1), kept

    def choose_table(self, buckets: np.ndarray, omega: float) -> TableWitness:
        """Choose the witness of the line with this cut-off for the buckets, by number, of the tables' grid."""
        c, log_steps = self.tilt, math.log2(2 + self._most)
        period, right, left = self._period
        step = dyadic(2 * math.pi / period, 20)
        count = min(max(1, math.ceil(omega / float(step))), MOST_FREQUENCIES)
        count = 1 if (self.choice.log_delta < NO_DOUBLE).all() else count
        asked, many = self.bits + log_steps + 6, max(4.0, 2.0**log_steps)
        rules = SharedRules(self.masses.training, self.parts, buckets)
        nodes = rules.choose(lambda law: choose_nodes(law, c, asked + SHARED_BITS))
        beyond = rules.choose(lambda law: choose_nodes(law, float(right), log_steps + 10 + SHARED_BITS))
        last, column = float(step) * count, min(int(np.searchsorted(OMEGAS, omega / c)), len(OMEGAS) - 1)
        kept = self._tails[2][:, column]

        def choose_tail(law: FloatLaw) -> tuple[Fraction, NodeRule]:
            place = int(np.searchsorted(self.masses.variances[1:-1], 1 / law.variance, side="right"))
            frequency = min(c * float(OMEGAS[kept[place]]), last)
            return dyadic(frequency * (1 - 2.0**-20)), choose_tail_nodes(law, c, frequency, many)

        tails = rules.choose(choose_tail)
        chosen = tuple(int(b) for b in buckets)
        return TableWitness(dyadic(c), step, count, right, left, chosen, nodes, beyond, tails, math.ceil(asked + 40))


class SharedRules:
    """Node rules for the ends of some buckets, each chosen for one law and used for those a little below it in v."""

    def __init__(self, training: Training, parts: int, buckets: np.ndarray) -> None:
        variances = training.variance_edges(parts)
        self._groups: list[tuple[FloatLaw, list[int]]] = []
        top = Fraction(0)
        for end in sorted({int(end) for b in buckets for end in (b, b + 1)} - {0}, reverse=True):
            if not self._groups or variances[end] < SHARED * top:
                top = variances[end]
                self._groups.append((float_law(training, top), []))
            self._groups[-1][1].append(end)

    def choose(self, choose: Callable[[FloatLaw], Rule]) -> dict[int, Rule]:
        """A rule for each end."""
        rules = [(choose(law), ends) for law, ends in self._groups]
        return {end: rule for rule, ends in rules for end in ends}
