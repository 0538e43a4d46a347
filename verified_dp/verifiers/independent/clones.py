"""Shuffled messages (CERTIFICATE.md, "Laws"): one answer among those of clones (T137, T138)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from .balls import Ball, Unknown, ball, bits, exp, expm1, larger, log, precision, tick
from .laws import HALF, Mirrored, Tails, binomial_tail, log_factorial, union


class Clones(Mirrored):
    """Each of users - 1 others answers with probability s = 2/(1 + e^E), by a fair coin; the one with odds e^E."""

    users: int

    def end(self) -> Ball:
        """E."""
        raise NotImplementedError

    def right_tails(self, x: Ball) -> Tails:
        """J of K answers are ones: P(L > x) = P(J > j) + P(J = j) e^E/(1 + e^E), j = floor((K+1) u)."""
        equal, above = self._sums(x)
        share = 1 / (1 + exp(self.end()))
        return above + equal * (1 - share), above + equal * share

    def right_stick(self, x: Ball) -> Ball:
        """Of both tails, without the difference that they share."""
        equal, above = self._sums(x)
        with precision(bits() + 2 * self.users.bit_length() + 32):
            rest = exp(-self.end())
            return larger(equal * ((1 - exp(x) * rest) / (1 + rest)) - expm1(x) * above, 0)

    def moment(self, exponent: Ball) -> Ball:
        """Of the one answer alone."""
        end = self.end()
        return (exp(exponent * end) + exp(-(exponent + 1) * end)) / (1 + exp(-end))

    def smallest(self) -> Ball:
        return -self.end()

    def _sums(self, x: Ball) -> tuple[Ball, Ball]:
        """(P(J = j), P(J > j)), x >= 0: over K from the last number down, each from the one before (T138)."""
        n, places = self.users - 1, bits() + 2 * self.users.bit_length() + 48
        with precision(places):
            end, scale = self.end(), 1 << places
            silent, answering = _tanh(end), 2 / (1 + exp(end))
            u = ((1 + _tanh(x) / silent).shifted(-1) * scale).scaled(0)
            low, high = sorted((u[0] - u[1], scale >> 1))[1], u[0] + u[1]
            if x < end:  # then u < 1, and j <= K
                low, high = min(low, scale - 1), min(high, scale - 1)
            if low >= scale:
                return Ball(0), Ball(0)
            first, last, rest = _window(n, answering, silent, Fraction(low, scale))
            weight = _mass(n, last, answering, silent)
            j = (last + 1) * low // scale
            coin = Ball(1, 0, -1)
            equal = weight * _mass(last, j, coin, coin)
            above = weight * binomial_tail(last, j + 1, HALF)
            sums, odds = [Ball(0), Ball(0)], silent / answering
            for k in range(last, first - 1, -1):
                tick()
                sure = (k + 1) * high // scale == j
                sums = [total + (value if sure else union(0, value))
                        for total, value in zip(sums, (equal, above), strict=True)]
                if k == first:
                    break
                fewer = odds / (n - k + 1)
                moved, equal, above = equal * fewer * (k - j), equal * fewer * (2 * j), above * fewer * k
                if k * low // scale < j:
                    above, j = above + moved, j - 1
                else:
                    above, equal = above - moved, moved * 2
            return sums[0] + union(0, rest), sums[1] + union(0, rest)


@dataclass(frozen=True)
class CloneLoss(Clones):
    """E = epsilon0."""

    users: int
    epsilon0: Fraction
    order: str = "symmetric"

    def end(self) -> Ball:
        return ball(self.epsilon0)

    def largest(self) -> Fraction:
        return self.epsilon0


@dataclass(frozen=True)
class CloneOddsLoss(Clones):
    """E = log odds."""

    users: int
    odds: Fraction
    order: str = "symmetric"

    def end(self) -> Ball:
        return log(ball(self.odds))

    def largest(self) -> Ball:
        return self.end()


def _tanh(x: Ball) -> Ball:
    """tanh(x/2)."""
    return expm1(x) / (exp(x) + 1) if x.top() < 3 else (1 - exp(-x)) / (1 + exp(-x))


def _mass(trials: int, k: int, p: Ball, q: Ball) -> Ball:
    choices = log_factorial(trials) - log_factorial(k) - log_factorial(trials - k)
    return exp(choices + log(p) * k + log(q) * (trials - k))


def _window(n: int, answering: Ball, silent: Ball, u: Fraction) -> tuple[int, int, Ball]:
    """Numbers of answers, and a bound of the sums over all others: P(J >= j) <= c r^K, j > (K+1) u - 1 (Chernoff)."""
    v = 1 - u
    log_u, log_v = log(ball(u)), log(ball(v))
    rate = exp(-(log_u * u + log_v * v)).shifted(-1)
    answering = answering * rate
    share = answering / (answering + silent)
    center, spread = ((share * n).scaled(0)[0], ((share * (1 - share)) * n).scaled(0)[0])
    reach = bits() // 2 + isqrt(2 * bits() * (spread + 1)) + 1
    first, last = sorted((center - reach, 0))[1], sorted((center + reach, n))[0]
    rest = Ball(0)
    if last < n:
        ratio = answering * (n - last - 1) / (silent * (last + 2))
        rest = rest + _geometric(_mass(n, last + 1, answering, silent), ratio)
    if first > 0:
        ratio = silent * (first - 1) / (answering * (n - first + 2))
        rest = rest + _geometric(_mass(n, first - 1, answering, silent), ratio)
    return first, last, rest * exp((log_u - log_v) * v)


def _geometric(first: Ball, ratio: Ball) -> Ball:
    """A bound of a sum whose terms fall by at least that ratio."""
    if not ratio < 1:
        raise Unknown("a sum whose terms do not fall")
    return first / (1 - ratio)
