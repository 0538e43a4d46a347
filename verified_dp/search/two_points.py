"""The pair of two outcomes with the largest delta among those that bounds on Renyi divergences allow, in floats.

P = (p, 1 - p), Q = (r, 1 - r) with r <= p, both kept as logits x and y. The divergence of power s is
log(sum p^s r^(1-s)) / (s (s - 1)), that of P from Q for s >= 1 and of Q from P for s <= 0; 1, 0: relative entropies.
At most two powers decide (T180); they are found by adding the one that is exceeded most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.moment import MomentWitness, bound_relative_entropy, enclose_crossing
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import MomentBound
from verified_dp.core.kernel.balls import ball, lower_dyadic
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.search.line import dyadic
from verified_dp.search.renyi import LARGEST, MomentModel

_PER_DECADE = 12
_SMALLEST = 1e-4
_GOLDEN = (math.sqrt(5) - 1) / 2
_LOWEST, _HIGHEST = -700.0, 36.0
"""Between which logits p is sought."""
FAINTEST = 1e-290
"""Two points are sought for larger deltas."""

_MOST_LOG = 700.0
"""Of what floats have room for."""
_FEWEST_DIGITS = 1e-9
"""Of p - e^eps r, in relation to p."""

Gain = Callable[[float, float], float]
"""Of the logits of p and r; it grows with p and falls with r."""


class TwoPoints(NamedTuple):
    """The logits of p and of r, and the powers that decide there: one or two."""

    x: float
    y: float
    powers: tuple[float, ...]

    @property
    def log_ratios(self) -> tuple[float, float]:
        """The logarithms of u = (1 - p) / (1 - r) and of v = p / r."""
        return log_share(-self.x) - log_share(-self.y), log_share(self.x) - log_share(self.y)

    def size(self, epsilon: float) -> float:
        """p - e^eps r."""
        return math.exp(log_share(self.x)) - math.exp(min(epsilon + log_share(self.y), _MOST_LOG))

    def is_seen(self, epsilon: float) -> bool:
        """Whether floats tell both p - e^eps r and 1 - p from 0."""
        return self.x < 30 and self.size(epsilon) > max(FAINTEST, _FEWEST_DIGITS * math.exp(log_share(self.x)))


def log_share(logit: float) -> float:
    """log of the number with this logit."""
    return -math.log1p(math.exp(-logit)) if logit > 0 else logit - math.log1p(math.exp(logit))


def divergence(power: float, x: float, y: float) -> float:
    """That of the pair with these logits."""
    p, rest_p, r, rest_r = log_share(x), log_share(-x), log_share(y), log_share(-y)
    if power == 1:
        return math.exp(p) * (p - r) + math.exp(rest_p) * (rest_p - rest_r)
    if power == 0:
        return math.exp(r) * (r - p) + math.exp(rest_r) * (rest_r - rest_p)
    one, other = power * p + (1 - power) * r, power * rest_p + (1 - power) * rest_r
    return (max(one, other) + math.log1p(math.exp(-abs(one - other)))) / (power * (power - 1))


def _divergences(powers: np.ndarray, x: float, y: float) -> np.ndarray:
    p, rest_p, r, rest_r = log_share(x), log_share(-x), log_share(y), log_share(-y)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.logaddexp(powers * p + (1 - powers) * r, powers * rest_p + (1 - powers) * rest_r)
        found = sizes / (powers * (powers - 1))
    for end in (0.0, 1.0):
        found[powers == end] = divergence(end, x, y)
    return found


class Guarantee:
    """What is known of a composition in both directions: bounds on its divergences, of any power."""

    def __init__(self, loss: ComposedLoss) -> None:
        self.models = MomentModel(loss), MomentModel(loss.in_order(SWAPPED[loss.order]))
        lists = [law for law, _ in loss.parts if isinstance(law, RenyiLoss)]
        self.smooth = bool(loss.mean_shift_squared) or len(lists) < len(loss.parts)
        largest = min(self.models[0].largest, LARGEST)
        exponents = np.array(sorted({float(at) for law in lists for at, _ in law.corners if at <= largest}))
        if self.smooth:
            decades = math.log10(largest / _SMALLEST)
            exponents = np.union1d(exponents, np.geomspace(_SMALLEST, largest, math.ceil(_PER_DECADE * decades)))
        entropies = self.smooth and all(isinstance(law, MomentBound) for law, _ in loss.parts)
        ends = [0.0, 1.0] if entropies else []
        self._known: dict[float, float] = {end: float(bound_relative_entropy(loss)) for end in ends}
        self.powers = np.concatenate([-exponents[::-1], ends, 1 + exponents])
        self.bounds = np.array([self.bound(float(power)) for power in self.powers])

    def bound(self, power: float) -> float:
        """The largest divergence of that power."""
        if power not in self._known:
            model, exponent = (self.models[0], power - 1) if power > 1 else (self.models[1], -power)
            self._known[power] = model.log_moment(exponent) / (exponent * (exponent + 1))
        return self._known[power]

    def excess(self, power: float, x: float, y: float) -> float:
        """By how much the pair's divergence exceeds its bound, in relation to this."""
        return divergence(power, x, y) / self.bound(power) - 1

    def worst(self, x: float, y: float) -> tuple[float, float]:
        """(excess, power) of the divergence that exceeds its bound most."""
        excess = _divergences(self.powers, x, y) / self.bounds - 1
        i = int(excess.argmax())
        power, size = float(self.powers[i]), float(excess[i])
        if not self.smooth or power in (0.0, 1.0):
            return size, power
        sign, offset = (1.0, 1.0) if power > 1 else (-1.0, 0.0)
        middle, reach = math.log(sign * (power - offset)), 2.5 / _PER_DECADE
        top = math.log(min(self.models[0].largest, LARGEST))
        at = _greatest(lambda log: self.excess(offset + sign * math.exp(log), x, y),
                       middle - reach, min(middle + reach, top), 36)
        refined = offset + sign * math.exp(at)
        return max((size, power), (self.excess(refined, x, y), refined))

    def least(self, x: float, power: float) -> float:
        """The least logit of r that this power allows with p."""
        low, gap = x - 1, 1.0
        while self.excess(power, x, low) < 0 and gap < 1e5:
            low, gap = low - gap, 2 * gap
        return _root(lambda y: self.excess(power, x, y), low, x) if self.excess(power, x, low) > 0 else low

    def best(self, gain: Gain) -> TwoPoints:
        """The allowed pair with the largest gain."""
        powers: tuple[float, ...] = (1.0 if 1.0 in self._known else float(self.powers[3 * len(self.powers) // 4]),)
        for _ in range(40):
            x = _greatest(partial(self._gain_of, gain, powers), _LOWEST, _HIGHEST, 70)
            least = {power: self.least(x, power) for power in powers}
            y = max(least.values())
            active = tuple(sorted(powers, key=lambda power: y - least[power])[:2])
            excess, worst = self.worst(x, y)
            if excess < 1e-13 or worst in powers:
                break
            powers = (*active, worst)
        return TwoPoints(x, y, active)

    def _gain_of(self, gain: Gain, powers: Sequence[float], x: float) -> float:
        return gain(x, max(self.least(x, power) for power in powers))


def largest_delta(guarantee: Guarantee, epsilon: float) -> TwoPoints:
    """The pair with the largest p - e^eps r."""
    return guarantee.best(lambda x, y: TwoPoints(x, y, ()).size(epsilon))


def largest_epsilon(guarantee: Guarantee, target: float) -> tuple[float, TwoPoints]:
    """The largest eps at which some pair has p - e^eps r at the target, and that pair."""
    def gain(x: float, y: float) -> float:
        room = math.exp(log_share(x)) - target
        return math.log(room) - log_share(y) if room > 0 else x - 1e9

    found = guarantee.best(gain)
    return gain(found.x, found.y), found


def choose_divergences(found: TwoPoints, epsilon: Fraction, prec: int = 256) -> list[MomentWitness]:
    """The witnesses that may go with a pair, by one power alone and by both: tangents at its two ratios."""
    powers = [dyadic(power, 48) for power in found.powers]
    with ctx.workprec(prec):
        alone = [((power,), (Fraction(1),)) for power in powers]
        together = [(tuple(powers), weights) for weights in _weights(powers, found, ball(epsilon).exp())]
        return [_witness(*chosen, found, epsilon, prec) for chosen in (*alone, *together)]


def _witness(powers: tuple[Fraction, ...], weights: tuple[Fraction, ...], found: TwoPoints, epsilon: Fraction,
             prec: int) -> MomentWitness:
    """The upper tangent is moved until the condition holds, just so."""
    low, high = found.log_ratios
    u, middle = lower_dyadic(arb(low).exp()).as_fraction(), ball(epsilon)

    def over(log_v: arb) -> arb:
        v, terms = log_v.exp(), zip(powers, weights, strict=True)
        crossing = sum((ball(weight) * enclose_crossing(power, ball(u), v) for power, weight in terms), arb(0))
        return crossing.log() - middle

    log_v = _solve(over, middle, arb(high).max(middle))
    ratio = lower_dyadic((log_v - middle - arb((1, -90))).exp()).as_fraction()
    return MomentWitness(powers, weights, _shortened(u, 64), _shortened(ratio, 120), prec)


def _weights(powers: Sequence[Fraction], found: TwoPoints, a: arb) -> list[tuple[Fraction, ...]]:
    """The two weights whose mean of the crossings of the tangents is a, if there are two powers and such weights."""
    low, high = (arb(ratio).exp() for ratio in found.log_ratios)
    crossings = [enclose_crossing(power, low, high) for power in powers]
    share = float((a - crossings[0]) / (crossings[-1] - crossings[0])) if len(powers) > 1 else 0.0
    second = dyadic(share, 56) if 0 < share < 1 else Fraction(0)
    return [(1 - second, second)] if 0 < second < 1 else []


def _solve(function: Callable[[arb], arb], low: arb, high: arb) -> arb:
    """Where a smooth increasing function, below 0 at the low end, is 0: by secants that stay in a bracket."""
    gap = high - low + arb((1, -20))
    while not function(low + gap) > 0 and gap < 2**11:
        gap *= 2
    high = low + gap
    middle, known = high, [(low, function(low)), (high, function(high))]
    for _ in range(40):
        (one, at_one), (other, at_other) = known[-2:]
        if at_one.overlaps(at_other):
            break
        middle = (other - at_other * (other - one) / (at_other - at_one)).mid()
        if not low < middle < high:
            middle = ((low + high) / 2).mid()
        size = function(middle)
        low, high = (middle, high) if size < 0 else (low, middle)
        known.append((middle, size))
    return middle


def _shortened(number: Fraction, bits: int) -> Fraction:
    """Rounded down to so many bits."""
    scale = Fraction(2) ** (bits - number.numerator.bit_length() + number.denominator.bit_length())
    return Fraction((number * scale).__floor__()) / scale


def _greatest(value: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Where a unimodal function is greatest, by golden sections."""
    c, d = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_c, at_d = value(c), value(d)
    for _ in range(steps):
        if at_c >= at_d:
            high, d, at_d = d, c, at_c
            c = high - _GOLDEN * (high - low)
            at_c = value(c)
        else:
            low, c, at_c = c, d, at_d
            d = low + _GOLDEN * (high - low)
            at_d = value(d)
    return c if at_c >= at_d else d


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function is 0, from the right: by secants with a bracket."""
    at_low, at_high = function(low), function(high)
    side = 0
    for _ in range(100):
        middle = high - at_high * (high - low) / (at_high - at_low) if at_low > at_high else low
        middle = middle if low < middle < high else (low + high) / 2
        size = function(middle)
        if size == 0 or high - low < 1e-15 * max(1.0, abs(high)):
            return middle
        if size > 0:
            low, at_low, at_high, side = middle, size, at_high / 2 if side > 0 else at_high, 1
        else:
            high, at_high, at_low, side = middle, size, at_low / 2 if side < 0 else at_low, -1
    return high
