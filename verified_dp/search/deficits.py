"""Floating-point choices next to the largest loss: reach, points, terms and bits of a deficits witness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import acb, arb, ctx

from verified_dp.core.engines.deficits import (
    MAX_POINTS,
    MAX_TERMS,
    DeficitsWitness,
    Density,
    all_tops,
    bound_ellipses,
    count_ways,
)
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Top
from verified_dp.search.line import as_float, dyadic

FARTHEST = 40
"""Beyond so many times the least deficit that is no part of the first density, too many ways lead there."""
MOST_WAYS = 600
_SECONDS = 1e-8
"""Of a product of two series, by one pair of terms of 256 bits; about."""
_ROOM = Fraction(17, 16)
_PANELS, _POINTS, _RATIO = 22, 8, 8.0
_BITS = 128


@dataclass(frozen=True)
class _Step:
    """One law: its top, in balls and as deficits with masses in doubles."""

    top: Top
    count: int
    deficits: np.ndarray
    masses: np.ndarray


class EndModel:
    """How delta falls next to the largest loss of a composition whose laws' tops are known."""

    def __init__(self, loss: ComposedLoss, tops: list[Top]) -> None:
        self.loss = loss
        self.steps = [_Step(top, count, *_sampled(top)) for top, (_, count) in zip(tops, loss.parts, strict=True)]
        later = [float(place) for step in self.steps for place in step.top.places[1:]]
        self.nearest = min(later, default=math.inf)
        self.vanishing = sum(step.count for step in self.steps if step.top.atoms[0].is_zero())

    @staticmethod
    def of(loss: ComposedLoss) -> EndModel | None:
        """None where some law's top is not known."""
        if not loss.parts or loss.mean_shift_squared or loss.only_moments:
            return None
        with ctx.workprec(_BITS):
            tops = all_tops([law for law, _ in loss.parts])
            return None if tops is None else EndModel(loss, tops)

    @property
    def farthest(self) -> float:
        """No gap beyond this is tried."""
        return FARTHEST * self.nearest

    def saddle(self, gap: float) -> tuple[float, float]:
        """(log of what Chernoff's best exponent gives for the sum of deficits to be below the gap, that exponent)."""
        low, high = 0.0, 80.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self._mean(math.exp(middle) / gap) > gap else (low, middle)
        rate = math.exp(high) / gap
        return self._log_transform(rate) + rate * gap, rate

    def _log_transform(self, rate: float) -> float:
        total = 0.0
        for step in self.steps:
            total += step.count * float(np.log(np.sum(step.masses * np.exp(-rate * step.deficits)) + 1e-300))
        return total

    def _mean(self, rate: float) -> float:
        total = 0.0
        for step in self.steps:
            weights = step.masses * np.exp(-rate * step.deficits)
            total += step.count * float(np.sum(weights * step.deficits) / (np.sum(weights) + 1e-300))
        return total

    def log_delta(self, gap: float) -> float:
        """About log of delta, less the infinity mass: the payoff is at most the gap, and 1."""
        return self.saddle(gap)[0] + math.log(-math.expm1(-gap))


def _sampled(top: Top) -> tuple[np.ndarray, np.ndarray]:
    """Atoms and densities as points, close together next to each place."""
    deficits, masses = [float(place) for place in top.places], [float(atom) for atom in top.atoms]
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    for density, start, stop in zip(top.densities, top.places, top.places[1:], strict=False):
        if density is None:
            continue
        for n in range(_PANELS):
            length = float(stop - start) * _RATIO**-n
            low = length / _RATIO if n < _PANELS - 1 else 0.0
            for node, weight in zip(nodes, weights, strict=True):
                place = (low + length) / 2 + node * (length - low) / 2
                deficits.append(float(start) + place)
                masses.append(weight * (length - low) / 2 * float(density(acb(start + place)).real))
    return np.array(deficits), np.maximum(np.array(masses), 0.0)


def gap_below(loss: ComposedLoss, epsilon: Fraction) -> Fraction | None:
    """How far eps is below the largest loss, about; None where it is not."""
    exact = loss.largest_loss()
    if exact is not None:
        return exact - epsilon if exact > epsilon else None
    for bits in (128, 1024, 20_000):
        with ctx.workprec(bits):
            end = loss.enclose_largest_loss()
            if end is None or not end.is_finite():
                return None
            gap = end - ball(epsilon)
            if gap < 0:
                return None
            if gap > 0 and gap.rel_accuracy_bits() > 32:
                mantissa, exponent = gap.mid().man_exp()
                return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return None


@dataclass(frozen=True)
class DeficitsPlan:
    """A witness and the seconds that it may take."""

    witness: DeficitsWitness
    seconds: float


def plan_deficits(model: EndModel, gap: Fraction, bits: float, effort: int = 0) -> DeficitsPlan | None:
    """A witness for delta at such a gap to about 2^-bits, with more terms and bits for every effort before."""
    near = as_float(gap)
    if not near <= model.farthest:
        return None
    reach = dyadic(near * float(_ROOM), 20) if near > 1e-300 else gap * _ROOM
    ways = count_ways(model.loss, reach)
    if ways > MOST_WAYS:
        return None
    rate = model.saddle(near)[1] if near > 1e-300 else 0.0
    jumps = max(rate * near - model.vanishing, 0.0) + near + 1
    steps = sum(step.count for step in model.steps)
    sharp = bits + math.log2(1 + steps) + 3 * effort
    found = [_choose_points(step, reach, sharp) for step in model.steps]
    points, spare = max(n for n, _ in found), max(extra for _, extra in found)
    ended = min(near / model.nearest, steps)
    terms = math.ceil(1.3**effort * (_count_terms(jumps, bits) + points * (1 + min(3.5 * ended, steps))))
    if points > MAX_POINTS or terms > MAX_TERMS:
        return None
    lost = math.log2(1 + as_float(_largest(model.loss)) / near) if near > 1e-300 else -_log2(gap) + 20
    counts = steps.bit_length()
    prec = math.ceil(bits + 2 * counts + lost + 3 * near + 1.5**effort * (40 + 3 * points + 0.4 * spare * (1 + ended)))
    series = _SECONDS * terms * (64 + terms) * (counts * len(model.steps) + ways) * (1 + prec / 512)
    return DeficitsPlan(DeficitsWitness(reach, points, terms, prec), series + 1e-5 * points * len(model.steps))


def _log2(value: Fraction) -> int:
    return value.numerator.bit_length() - value.denominator.bit_length()


def _largest(loss: ComposedLoss) -> Fraction:
    with ctx.workprec(_BITS):
        end = loss.enclose_largest_loss()
        return Fraction(1) if end is None else abs(Fraction(float(end)))


def _choose_points(step: _Step, reach: Fraction, bits: float) -> tuple[int, float]:
    """How many nodes every density below the reach needs, and bits that its polynomial loses beyond its end."""
    most, spare = 2, 0.0
    with ctx.workprec(_BITS):
        end = ball(reach)
        for density, start, stop in zip(step.top.densities, step.top.places, step.top.places[1:], strict=False):
            if density is None or start >= end:
                continue
            points = _points_between(density, start, stop.min(end), bits)
            most = max(most, points)
            if stop < end:
                beyond = float((end - start) / (stop - start)) * 4 - 2
                spare = max(spare, points * math.log2(beyond + 1))
    return most, spare


def _points_between(density: Density, start: arb, stop: arb, bits: float) -> int:
    size = max(float(abs(density(acb((start + stop) / 2)))), 1e-300)
    found = [(math.log2(4 * float(bound) / size / (float(rho) - 1)) + bits) / math.log2(float(rho))
             for rho, bound in bound_ellipses(density, start, stop)]
    return max(math.ceil(min(found, default=math.inf)) + 2, 2) if found else MAX_POINTS + 1


def _count_terms(jumps: float, bits: float) -> int:
    """The least n with jumps^(2n) / n!^2 below 2^-bits e^(2 jumps)."""
    low, high = int(jumps), int(jumps) + 20

    def left(n: int) -> float:
        return 2 * (n * math.log(max(jumps, 1e-9)) - math.lgamma(n + 1) - jumps) + bits * math.log(2)

    while left(high) > 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if left(middle) > 0 else (low, middle)
    return high + 4
