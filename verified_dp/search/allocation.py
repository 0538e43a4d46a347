"""Floating-point model of random allocation's loss: the density of log(S/t), S a sum of t lognormal ratios.

By t-fold convolution in logarithms, S_(m+n) = S_m + S_n by binary powering: all terms are positive, so that tails far
below 1e-300 keep their relative accuracy. The larger of two summands is integrated on the smaller one's mesh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import ctx

from verified_dp.core.engines.closed import is_single
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.exact import square
from verified_dp.search.deadline import check_time
from verified_dp.search.lattice_model import LawModel, model_of
from verified_dp.search.line import dyadic
from verified_dp.search.transforms import log_sums

_FINE = 12
"""Mesh points in a standard deviation."""
_WIDE = 12
"""Standard deviations on either side that the fine part of the mesh covers."""
_GROWTH = 1.06
_BETWEEN = 2
"""Points of the model in a cell of the mesh."""
_LEAST, _FARTHEST, _SLOWEST = 1e-9, 1e9, 1e-6
"""The least and the largest epsilon of an estimate, and the slowest that log delta falls there."""
_DEEP = 1e6
"""Where every round of the add order lies so many nats deep, all that is needed is that."""
_BIT_SECONDS, _ADD_SECONDS = 6e-8, 1e-8
"""Of a hyperbola by one bit, growing with the power 5/2 of them: of the remove order, more with noise above 4; of the
add order with noise 1. Within a factor of 3 and of 6."""


@dataclass(frozen=True)
class LogSum:
    """log density of log(S/count) at the places of a mesh."""

    count: int
    places: np.ndarray
    logs: np.ndarray

    def at(self, places: np.ndarray) -> np.ndarray:
        """The log density elsewhere; -inf outside of the mesh."""
        found: np.ndarray = np.interp(places, self.places, self.logs, left=-np.inf, right=-np.inf)
        return found


def _log_excess(variance: float) -> float:
    """log(e^variance - 1)."""
    return variance if variance > 30 else math.log(math.expm1(variance))


def mesh(count: int, spread: float, reach: float) -> np.ndarray:
    """Places for log(S/count): fine around its bulk, geometric to where S has mass e^(-reach^2/2)."""
    deviation = math.sqrt(float(np.logaddexp(0.0, _log_excess(spread**2) - math.log(count))))
    middle, step = -(deviation**2) / 2, deviation / _FINE
    low = -reach * spread / math.sqrt(count) - spread**2 / 2
    others = math.log(count - 1) if count > 1 else -math.inf
    high = float(np.logaddexp(others, spread * reach - spread**2 / 2)) - math.log(count) + _WIDE * deviation
    fine = step * np.arange(-_WIDE * _FINE, _WIDE * _FINE + 1)
    needed = math.log1p((high - low) * (_GROWTH - 1) / step) / math.log(_GROWTH)
    outer = fine[-1] + step * np.cumsum(_GROWTH ** np.arange(1, math.ceil(needed) + 1))
    places = middle + np.concatenate([-outer[::-1], fine, outer])
    found: np.ndarray = places[(places > low - step) & (places < high + step)]
    return found


def add(a: LogSum, b: LogSum, spread: float, reach: float) -> LogSum:
    """The law of the sum; shares of a/(a+b) near 0 are integrated over a, those near 1 over b."""
    check_time()
    count = a.count + b.count
    places = mesh(count, spread, reach)
    log_total = places + math.log(count)
    first = _over(a, b, log_total)
    logs = np.logaddexp(first, first if a is b else _over(b, a, log_total))
    return LogSum(count, places, logs)


def _over(a: LogSum, b: LogSum, log_total: np.ndarray) -> np.ndarray:
    """log of int rho(a/K) f_a(a) f_b(K - a) K da, rho falling smoothly from 1 to 0 and rho(r) + rho(1-r) = 1."""
    log_ratio = (a.places + math.log(a.count))[None, :] - log_total[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rest = np.where(log_ratio < 0, np.log(-np.expm1(np.minimum(log_ratio, 0.0))), -np.inf)
        rho = -np.logaddexp(0.0, 4 * (log_ratio - log_rest))
        inner = b.at(log_rest + log_total[:, None] - math.log(b.count)) - log_rest
    terms = np.where(log_ratio < 0, rho + inner, -np.inf) + (a.logs + np.log(np.gradient(a.places)))[None, :]
    terms = np.where(np.isnan(terms), -np.inf, terms)
    found: np.ndarray = np.full(len(terms), -np.inf)
    some = terms.max(axis=1) > -np.inf
    found[some] = log_sums(terms[some])
    return found


@lru_cache(maxsize=32)
def log_sum_of(rounds: int, spread: float, reach: float) -> LogSum:
    """The law of log(S/rounds)."""
    places = mesh(1, spread, reach)
    u = (places + spread**2 / 2) / spread
    single = total = LogSum(1, places, -u * u / 2 - math.log(spread * math.sqrt(2 * math.pi)))
    for digit in bin(rounds)[3:]:
        total = add(total, total, spread, reach)
        total = add(total, single, spread, reach) if digit == "1" else total
    return total


class EpochModel:
    """One epoch alone, roughly: log E e^{cL} = log(e^{c(c+1)v/2} + t^-c e^{c(c+1)s^2/2}), e^v - 1 = (e^{s^2} - 1)/t.

    All rounds together, lognormal, or one large term that decides (not in the add order).
    """

    largest = math.inf

    def __init__(self, law: RandomAllocationLoss) -> None:
        variance = 1 / float(square(law.noise_multiplier))
        self._together = float(np.logaddexp(0.0, _log_excess(variance) - math.log(law.rounds)))
        self._rounds, self._alone = law.rounds, variance
        self._log_rounds = math.log(law.rounds) if law.order == "remove" else math.inf

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c > 0."""
        rows = np.array([(c * (c + 1) * v / 2 - c * far, (c + 0.5) * v - far, v)
                         for v, far in ((self._together, 0.0), (self._alone, self._log_rounds))
                         if math.isfinite(far)])
        total = float(np.logaddexp.reduce(rows[:, 0]))
        share = np.exp(rows[:, 0] - total)
        mean = float(share @ rows[:, 1])
        return total, mean, float(share @ (rows[:, 2] + (rows[:, 1] - mean) ** 2))

    def log_delta(self, epsilon: float) -> float:
        """About log delta: all rounds together, or one large term above the others' mean; add: by put's saddle."""
        epsilon = min(epsilon, _FARTHEST)
        if self._log_rounds == math.inf:
            depth = self._depth(epsilon)
            return -self._rounds * depth if depth > _DEEP else self._put_saddle(0, epsilon)[1]
        together = _log_call(epsilon, math.sqrt(self._together))
        more = math.log1p(math.exp(self._log_rounds) * math.expm1(epsilon)) if epsilon < 500 else (
            epsilon + self._log_rounds)
        return float(np.logaddexp(_log_call(more, math.sqrt(self._alone)), together))

    def start(self, goal: float) -> tuple[float, float]:
        """Where log delta is about the goal, by bisection, and how fast it falls there."""
        if self._log_rounds == math.inf:
            depth = abs(goal) / self._rounds
            if depth > _DEEP:
                return math.sqrt(2 * self._alone * depth) + self._alone / 2, math.sqrt(2 * depth / self._alone)
            epsilon, _, fall = self._put_saddle(1, goal)
            return max(epsilon, _LEAST), fall
        low, high = _LEAST, 1.0
        if self.log_delta(low) < goal:
            return low, _SLOWEST
        while self.log_delta(high) > goal and high < _FARTHEST:
            low, high = high, 2 * high
        while high - low > high / 2**14:
            middle = (low + high) / 2
            low, high = (middle, high) if self.log_delta(middle) > goal else (low, middle)
        return high, max((self.log_delta(high) - self.log_delta(1.001 * high)) / (0.001 * high), _SLOWEST)

    def add_seconds(self, epsilon: float, bits: float) -> float:
        """Of the add order's hyperbola: every round is about e^-eps, so that its transform is e^{-(eps-v/2)^2/(2v)}."""
        return _ADD_SECONDS * math.sqrt(self._alone) * (bits + self._depth(epsilon) / math.log(2)) ** 2.5

    def bits_in(self, seconds: float) -> int:
        """That a hyperbola of the remove order has in so much time."""
        return math.ceil((seconds / _BIT_SECONDS / max(1.0, 1 / (4 * math.sqrt(self._alone)))) ** 0.4)

    def _depth(self, epsilon: float) -> float:
        """About -log of the density of one round at e^-eps."""
        far = max(epsilon - self._alone / 2, 0.0)
        return far * far / (2 * self._alone)

    def _put_saddle(self, index: int, value: float) -> np.ndarray:
        """(eps, log delta, how fast that falls) of the add order where one of them is about the value."""
        spread = math.sqrt(self._alone)
        far = max(value, 0.0) if index == 0 else spread * math.sqrt(2 * abs(value) / self._rounds)
        low, high = -40.0, 40 * (spread + 1) + self._alone + far
        for _ in range(4):
            grid = np.linspace(low, high, 33)
            rows = self._put_along(grid, spread, 40 + far / spread)
            at = int(np.argmax(rows[index] > value) if index == 0 else np.argmax(rows[index] < value))
            low, high = grid[max(at - 1, 0)], grid[max(at, 1)]
        found: np.ndarray = rows[:, at]
        return found

    def _put_along(self, log_c: np.ndarray, spread: float, reach: float) -> np.ndarray:
        """Rows eps, log delta and fall for saddles c: K = 2/c + t E[X e^{-cX}] / E e^{-cX}, and so on."""
        u, t = np.arange(-reach, 12.0, 0.2), self._rounds
        log_x = spread * u - spread**2 / 2
        with np.errstate(over="ignore"):
            sizes = -u * u / 2 - math.log(0.2**-1 * math.sqrt(2 * math.pi)) - np.exp(log_x + log_c[:, None])
        logs = log_sums(sizes)
        mean, second = (np.exp(log_sums(sizes + n * (log_x + log_c[:, None])) - logs) for n in (1, 2))
        epsilon = math.log(t) + log_c - np.log(2 + t * mean)
        put = 2 + t * mean + t * logs - log_c - np.log(2 * math.pi * (2 + t * np.maximum(second - mean**2, 0))) / 2
        return np.array([epsilon, epsilon - math.log(t) + put, 1 + t * mean])


def _log_call(log_strike: float, spread: float) -> float:
    """log E (X - k)_+ of a lognormal of mean 1."""
    place = log_strike / spread
    bulk, rest = _log_tail(place - spread / 2), log_strike + _log_tail(place + spread / 2)
    return bulk + math.log(-math.expm1(min(rest - bulk, -1e-12)))


def _log_tail(x: float) -> float:
    """log P(Z > x)."""
    if x < 30:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi))


def epoch_model(loss: ComposedLoss) -> EpochModel | None:
    """The model of a single epoch and nothing else."""
    law = loss.parts[0][0] if is_single(loss) else None
    return EpochModel(law) if isinstance(law, RandomAllocationLoss) else None


def one_round_tells(loss: ComposedLoss, epsilon: Fraction, prec: int) -> bool:
    """Whether one large round alone gives delta of a single epoch to the bits that a precision stands for."""
    law = loss.parts[0][0]
    with ctx.workprec(prec):
        single = law.enclose_by_one_round(ball(epsilon)) if isinstance(law, RandomAllocationLoss) else None
        return single is not None and RandomAllocationLoss.is_sharp(*single)


@model_of.register(RandomAllocationLoss)
class AllocationModel(LawModel):
    """The loss log(S/t), or its negative, as masses at points."""

    few = 64
    law: RandomAllocationLoss

    def __init__(self, law: RandomAllocationLoss, floor: float) -> None:
        self.law, self.anchors, self.seconds, self.infinity = law, [], 2e-3, -math.inf
        reach = math.sqrt(2 * (abs(floor) + math.log(law.rounds))) + 2
        found = log_sum_of(law.rounds, 1 / math.sqrt(float(square(law.noise_multiplier))), math.ceil(reach))
        share = np.arange(_BETWEEN * (len(found.places) - 1) + 1) / _BETWEEN
        places = np.interp(share, np.arange(len(found.places)), found.places)
        logs = found.at(places) + np.log(np.gradient(places))
        remove = law.order == "remove"
        self.points = places if remove else -places[::-1]
        self.log_masses = logs + places if remove else logs[::-1]
        self.log_masses -= log_sums(self.log_masses[None, :])[0]
        near = np.flatnonzero(self.log_masses > floor)
        self.low, self.high = (dyadic(float(self.points[i]), 24) for i in (near[0], near[-1]))

    def refine(self, tilt: float, share: float = 1e-6) -> None:
        """The mesh is fine enough for every tilt."""
