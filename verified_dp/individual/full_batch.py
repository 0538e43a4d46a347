"""Training without sampling (q = 1): each record's whole composition is one Gaussian step, mu^2 = sum r^2 / sigma^2.

delta and eps grow with mu, and their slopes in mu are known: d delta / d mu = phi(eps/mu - mu/2) at fixed eps, and
d eps / d mu = phi(b) / Q(b), b = eps/mu + mu/2, at fixed delta. So a million records need a few thousand values of mu
in balls; between two neighbours each record lies between two lines (T124). Both orders are the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from flint import arb, ctx

from verified_dp.adaptive.budgets import gdp_epsilon
from verified_dp.core.kernel.balls import ball, normal_density, normal_tail
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.gaussian import enclose_gaussian_profile
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.ends import ball_of
from verified_dp.individual.counts import Counts, Onward, Progress, nothing
from verified_dp.individual.refine import Question
from verified_dp.individual.squares import SQUARE_SLACK
from verified_dp.individual.training import SPLIT_BITS, UNIT_BITS
from verified_dp.search.doubles import double_above, double_below

FEW = 1000
"""So many different mu are solved one by one."""
EPSILON_BITS, DELTA_BITS = 9, 12
"""Beyond that, mu with mantissas of so many bits are solved; a value of eps takes about 50 times that of delta."""
MOST_OWN = 20_000
"""So many records at most are solved at their own mu where the interval between two others is wide."""
NEAR = 2.0**-48
"""More than what a dozen roundings change, relatively."""
LEAST_MU = 2.0**-900
"""More than what readings that underflow to 0 may add to mu."""
STEEPEST = 0.4
"""Above phi(0), the largest slope of delta."""
SMALLEST_MU, LARGEST_MU = Fraction(1, 2**300), Fraction(2**20)
"""Outside of them eps is not solved for: it is at most that at the smallest one, and about 2^39 at the largest one."""
LARGEST_TURN = Fraction(2) ** 200
"""Above every mu^2 that is accepted."""
TINY = 2.0**-1060
"""More than what underflow takes away."""


@dataclass(frozen=True)
class Nodes:
    """Bounds of a function of mu and of its slope at places mu_0 < mu_1 < ...

    Between two of them the slope lies between the least and the largest of the bounds at both, except around `turn`,
    where it may reach STEEPEST.
    """

    places: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    slope_lower: np.ndarray
    slope_upper: np.ndarray
    turn: float


@dataclass(frozen=True, eq=False)
class FullBatch:
    """lower_i <= x_i <= upper_i for every record; at how many values of mu the closed form was solved, and how long."""

    lower: np.ndarray
    upper: np.ndarray
    solved: int
    seconds: float


def full_batch(counts: Counts, question: Question, progress: Progress = nothing) -> FullBatch:
    """Enclose eps_i(delta), or delta_i(eps) at any exact eps >= 0, of every record of a training without sampling.

    Between solved values of mu; what is wide then is solved at its own.
    """
    start, onward, value, delta = time.perf_counter(), Onward(progress), question.given, question.quantity == "delta"
    solve, bits = (enclose_delta, DELTA_BITS) if delta else (enclose_epsilon, EPSILON_BITS)
    turn = sqrt(2 * min(value, LARGEST_TURN)) if delta else float("inf")

    def solved(places: np.ndarray) -> np.ndarray:
        found = np.zeros((4, len(places)))
        for n, place in enumerate(places):
            found[:, n] = solve(Fraction(float(place)), value)
            onward((n + 1) / len(places), f"{question.quantity} at {n + 1} of {len(places)} values of mu")
        return found

    low, high = bound_mu(counts)
    places = np.unique(np.concatenate([low, high]))
    if len(places) > FEW:
        places = np.unique(np.concatenate([_truncate(places, bits, up) for up in (False, True)]))
    columns = solved(places)
    nodes = Nodes(places, columns[0], columns[1], columns[2], columns[3], turn)
    lower, upper = enclose_between(nodes, low)[0], enclose_between(nodes, high)[1]
    wide = np.flatnonzero(upper - lower > float(question.width) * upper)[:MOST_OWN]
    for ends, bound, tighter in ((low, lower, np.maximum), (high, upper, np.minimum)):
        own, back = np.unique(ends[wide], return_inverse=True)
        bound[wide] = tighter(bound[wide], solved(own)[int(bound is upper)][back])
    progress(1.0, f"{question.quantity} of {len(low)} records")
    return FullBatch(lower, upper, len(places) + len(wide), time.perf_counter() - start)


def _truncate(mu: np.ndarray, bits: int, up: bool) -> np.ndarray:
    """The next number with a mantissa of `bits` bits, below or above: exact."""
    mantissa, exponent = np.frexp(mu)
    scaled = np.ldexp(mantissa, bits)
    return np.ldexp(np.ceil(scaled) if up else np.floor(scaled), exponent - bits)


@proved_by("T124-full-batch")
def bound_mu(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Doubles on both sides of sqrt(sum r^2) / sigma of every record. Raises InvalidInput for an absurd sigma."""
    if counts.training.sampling_probability != 1:
        raise InvalidInput("sampling_probability", counts.training.sampling_probability, "1: all records in every step")
    if not Fraction(1, 2**50) <= counts.training.noise_multiplier <= 2**50:
        raise InvalidInput("noise_multiplier", counts.training.noise_multiplier, "between 2^-50 and 2^50")
    sigma = float(counts.training.noise_multiplier)
    square = counts.high.sum(axis=1) * 2.0 ** (SPLIT_BITS - UNIT_BITS) + counts.low.sum(axis=1) * 2.0**-UNIT_BITS
    least = np.maximum(square * (1 - NEAR) - counts.steps.sum(axis=1) * float(SQUARE_SLACK), 0)
    return np.sqrt(least) / sigma * (1 - NEAR), np.maximum(np.sqrt(square) / sigma * (1 + NEAR), LEAST_MU)


@proved_by("T124-full-batch")
def enclose_epsilon(mu: Fraction, delta: Fraction) -> tuple[float, float, float, float]:
    """Bound eps(delta) of one Gaussian step from both sides, and the slope phi(b)/Q(b), 0 where eps = 0.

    Below SMALLEST_MU they are bounded by those there, as both grow with mu; nothing is known beyond LARGEST_MU.
    """
    if enclose_delta(mu, Fraction(0))[1] <= delta:
        return 0.0, 0.0, 0.0, 0.0
    if mu < SMALLEST_MU:
        _, most, _, steepest = enclose_epsilon(SMALLEST_MU, delta)
        return 0.0, most, 0.0, steepest
    if mu > LARGEST_MU:
        return 0.0, float("inf"), 0.0, float("inf")
    found = gdp_epsilon(mu * mu, delta)
    with ctx.workprec(128):
        ends = ball_of(found.lower), ball_of(found.upper)
        hazards = [_hazard(mu, end) if end > 0 else arb(0) for end in ends]
        return double_below(ends[0]), double_above(ends[1]), double_below(hazards[0]), double_above(hazards[1])


def _hazard(mu: Fraction, epsilon: arb) -> arb:
    """Enclose phi(b) / Q(b), b = eps/mu + mu/2."""
    place = epsilon / ball(mu) + ball(mu / 2)
    return normal_density(place, arb(1)) / normal_tail(place)


@proved_by("T124-full-batch")
def enclose_delta(mu: Fraction, epsilon: Fraction) -> tuple[float, float, float, float]:
    """Bound delta(eps) of one Gaussian step from both sides, and the slope phi(eps/mu - mu/2)."""
    if mu == 0:
        return 0.0, 0.0, 0.0, 0.0
    ratio = (1 + epsilon) / mu
    lost = 2 * max(ratio.numerator.bit_length() - ratio.denominator.bit_length() + 1, 0)
    with ctx.workprec(128 + lost):
        value = enclose_gaussian_profile(mu * mu, ball(epsilon))
        slope = normal_density(ball(epsilon / mu - mu / 2), arb(1))
        return max(double_below(value), 0.0), min(double_above(value), 1.0), double_below(slope), double_above(slope)


@proved_by("T124-full-batch")
def enclose_between(nodes: Nodes, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bound the function at each mu, which lies between two places, from both neighbours with the extreme slopes."""
    right = np.searchsorted(nodes.places, mu, side="left")
    left = np.searchsorted(nodes.places, mu, side="right") - 1
    least = np.minimum(nodes.slope_lower[left], nodes.slope_lower[right])
    most = np.maximum(nodes.slope_upper[left], nodes.slope_upper[right])
    around = (nodes.places[left] <= nodes.turn * (1 + NEAR)) & (nodes.places[right] >= nodes.turn * (1 - NEAR))
    most = np.where(around & (left < right), np.maximum(most, STEEPEST), most)
    before, after = mu - nodes.places[left], nodes.places[right] - mu
    lower = np.fmax(nodes.lower[left] + _rise(least, before), nodes.lower[right] - _rise(most, after) * (1 + NEAR))
    upper = np.fmin(nodes.upper[left] + _rise(most, before), nodes.upper[right] - _rise(least, after) * (1 - NEAR))
    lower = lower * (1 - NEAR) - nodes.lower[right] * NEAR - TINY
    return np.maximum(lower, 0), np.where(upper > 0, upper * (1 + NEAR) + nodes.upper[right] * NEAR + TINY, 0)


def _rise(slope: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """slope * distance, 0 at distance 0 also where the slope is not known (infinite)."""
    return np.where(distance > 0, slope, 0.0) * distance
