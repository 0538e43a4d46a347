"""The transform of random allocation's loss on a line, by its density at equal distances (CERTIFICATE.md; T168).

Under the law of S: remove L = log(S/t), a = c + 1; add L = -log(S/t), a = c; v = s^2/t. With q(x) = e^{ax} (density of
L at x), A = 2 e^{-(P-W)^2 v/2} / (1 - e^{-(P-W)Pv}), P = 2 pi/h, and M(c) at most (sum + rest) / (1 - A),

    |M(c+iw) - sum h q(jh) e^{iwjh}| <= A M(c) + rest,  rest = 2 (1+A) (E[e^{aL}; L < first] + E[e^{aL}; L > last]).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from .allocation import Guess, approximate, density, moments, put_and_below, short
from .balls import Ball, Unknown, ball, exp, expm1, log, pi, precision, smaller, sqrt, total

MOST_PLACES = 20_000
HIGHEST = 49
"""Whole moments of S/t are taken up to this one."""
FEW_BITS, MOMENT_BITS = 24, 512
"""Of a moment that only bounds something."""
_LEAST = 24
_STEP = 32


@dataclass(frozen=True)
class Places:
    """h q(jh) at the losses jh, how far their sum is from the transform at most, and a bound of M(c)."""

    losses: list[Ball]
    weights: list[Ball]
    error: Ball
    moment: Ball


def places(rounds: int, square: Fraction, added: bool, tilt: Ball, frequency: Ball, wanted: int) -> Places:
    """For |w| <= frequency, to about 2^-wanted of M(c)."""
    found = _Row(rounds, square, added, tilt if added else tilt + 1, wanted)
    variance, top = 1 / (square * rounds), approximate(frequency.magnitude())
    room = math.sqrt(2 * wanted * math.log(2) / float(variance))
    step = short(2 * math.pi / (top + room) * (1 - 1e-6))
    first, weights = found.gather(step)
    period, losses = 2 * pi() / step, [ball(step * j) for j in range(first, first + len(weights))]
    left = period - frequency.magnitude()
    if not left > 0:
        raise Unknown("places that are too far apart")
    aliases = (exp(-(left * left * variance / 2)) * 2 / -expm1(-(left * period * variance))).upper()
    if not aliases < 1:
        raise Unknown("places that are too far apart")
    most = total(weight.upper() for weight in weights)
    rest = (found.below(losses[0]) + found.above(losses[-1], most.shifted(-wanted))) * 2 * (1 + aliases)
    moment = ((most + rest) / (1 - aliases)).upper()
    return Places(losses, weights, (aliases * moment + rest).upper(), moment)


@dataclass(frozen=True)
class _Row:
    rounds: int
    square: Fraction
    added: bool
    power: Ball
    wanted: int

    def _strike(self, x: Ball) -> Ball:
        return exp(-x if self.added else x) * self.rounds

    @property
    def _moments(self) -> list[Ball]:
        """E (S/t)^n: where rounds are few their sums cancel."""
        with precision(MOMENT_BITS):
            return moments(self.rounds, self.square, HIGHEST, MOMENT_BITS)

    def _chance(self, x: Ball) -> Ball:
        """P(S < K) at the loss x."""
        return put_and_below(self.rounds, self.square, self._strike(x))[1]

    def gather(self, step: Fraction) -> tuple[int, list[Ball]]:
        """From about the largest weight to both sides, until one is 2^-wanted of it."""
        start = math.floor(self._start() / float(step))
        found: dict[int, Ball] = {}
        top = 0.0  # log2 of the largest one
        for side in (1, -1):
            j, last = start if side > 0 else start - 1, top
            while len(found) < MOST_PLACES:
                need = self.wanted - max(min(top - last, self.wanted), 0.0) if found else float(self.wanted)
                goal = _STEP * math.ceil((max(need, _LEAST) + 8) / _STEP)
                x = ball(step * j)
                strike = self._strike(x)
                one = density(self.rounds, self.square, strike, goal)
                found[j] = weight = one * strike * exp(self.power * x) * step
                if not weight > 0:
                    break
                last = _log2(weight)
                top = last if len(found) == 1 else max(top, last)
                if last < top - self.wanted:
                    break
                j += side
        low = min(found)
        return low, [found[j] for j in range(low, low + len(found))]

    def _start(self) -> float:
        """About where q is largest."""
        if not self.added:
            known = self._moments
            n = min(math.floor(approximate(self.power)), HIGHEST - 1)
            return approximate(log(known[n + 1] / known[n]))
        guess, c = Guess(self.rounds, float(self.square) ** -0.5), approximate(self.power)
        low = math.log(c / self.rounds)
        return max((c * log_r + self.rounds * guess.log_m(log_r), math.log(self.rounds / c) + log_r)
                   for log_r in (low + n / 16 for n in range(-16, 200)))[1]

    def below(self, x: Ball) -> Ball:
        """E[e^{aL}; L < x] <= e^{ax} P(L < x)."""
        chance = self._chance(x)
        return (exp(self.power * x) * (1 - chance if self.added else chance)).upper()

    def above(self, x: Ball, small: Ball) -> Ball:
        """E[e^{aL}; L > x]: remove, e^{(a-n)x} E (S/t)^n, n >= a whole; add, by pieces until it is small."""
        if not self.added:
            known = self._moments
            bounds = [known[n] * exp((self.power - n) * x) for n in range(1, HIGHEST + 1) if self.power <= n]
            if not bounds:
                raise Unknown("moments that are too high")
            return _least(bounds)
        variance, found = 1 / (self.square * self.rounds), Ball(0)
        width = sqrt(ball(variance))
        for _ in range(64):
            chance = self._chance(x).upper()
            far = self._far(x, chance, variance)
            if far <= small:
                return (found + far).upper()
            x = x + width
            found, width = found + exp(self.power * x) * chance, width.shifted(1)
        raise Unknown("a tail that does not fall")

    def _far(self, x: Ball, chance: Ball, variance: Fraction) -> Ball:
        """By Cauchy and Schwarz, or by M(l) <= e^{l s^2/2 + l^2 v/2} at l = (x - s^2/2)/v >= a."""
        most, a = 1 / (2 * self.square), self.power
        bounds = [sqrt(chance * exp(2 * a * (most + a * variance)))] if chance > 0 else []
        if x >= most + a * variance:
            bounds.append(exp(a * x - (x - most) * (x - most) / (2 * variance)))
        return _least(bounds) if bounds else Ball(0) if chance <= 0 else Ball(1)


def _least(bounds: list[Ball]) -> Ball:
    found = bounds[0].upper()
    for one in bounds[1:]:
        found = smaller(found, one.upper())
    return found


def _log2(x: Ball) -> float:
    """Only to choose by."""
    with precision(64):
        return approximate(log(x)) / math.log(2)
