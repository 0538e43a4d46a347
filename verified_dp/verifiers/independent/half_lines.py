"""A batch without replacement, one record replaced: panels of Gauss points on a half-line (CERTIFICATE.md; T167).

    M(z) = a + int_{1/2}^inf phi(t) (m(t)^{1+z} + m(t)^{-z}) dt,   sigma = s/2,  m(t) = 1 - q + q e^{(2t-1)/(2 sigma^2)}
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

from .balls import (
    Ball,
    Complex,
    Unknown,
    argument,
    ball,
    complex_exp,
    cos_sin,
    exp,
    expm1,
    larger,
    log,
    log1p,
    modulus,
    normal_tail,
    pi,
    plus,
    power,
    scaled_by,
    sqrt,
    times,
    total,
)
from .laws import FixedBatchLoss
from .nodes import Rule
from .quadrature import MAX_POINTS, gauss_rule

MOST = 2**18
"""So many points at most."""


class HalfLine:
    """A rule is panels 1 to `last` of length `step`, each of `cells` points, ellipses of half-height `height`."""

    def __init__(self, law: FixedBatchLoss, rule: Rule, frequency: Fraction) -> None:
        self.rule, self.frequency, self.q = rule, ball(frequency), law.probability
        self.sigma, self.twice = law.noise_multiplier / 2, law.noise_multiplier**2 / 2
        shaped = rule.step > 0 and rule.first == 1 <= rule.last and 2 <= rule.cells <= MAX_POINTS and rule.height > 0
        if not (shaped and rule.last * rule.cells <= MOST and 4 * rule.height <= pi() * self.twice):
            raise Unknown("panels outside of their side conditions")

    def _log_size(self, t: Ball) -> Ball:
        return log1p(expm1((2 * t - 1) / self.twice) * self.q)

    def _log_density(self, t: Ball) -> Ball:
        return -(t * t) / self.twice - log(self.sigma * sqrt(2 * pi()))

    def _points(self) -> Iterator[tuple[Complex, Complex]]:
        """(log of the weight, loss): the atom at 0, and each point twice."""
        atom = (1 - self.q) * (1 - 2 * normal_tail(ball(1 / (2 * self.sigma))))
        yield (log(atom), Ball(0)), (Ball(0), Ball(0))
        half, gauss = self.rule.step / 2, gauss_rule(self.rule.cells)
        for panel in range(self.rule.last):
            for node, weight in gauss:
                t = half * (2 * panel + 1) + Fraction(1, 2) + half * node
                size, base = self._log_size(t), log(half * weight) + self._log_density(t)
                yield (base + size, Ball(0)), (size, Ball(0))
                yield (base, Ball(0)), (-size, Ball(0))

    @cached_property
    def points(self) -> list[tuple[Complex, Complex]]:
        return list(self._points())

    @property
    def losses(self) -> list[Complex]:
        return [loss for _, loss in self.points]

    def weights(self, z: Complex) -> list[Complex]:
        return [complex_exp(plus(base, times(z, loss))) for base, loss in self.points]

    def line_error(self, tilt: Ball) -> tuple[Ball, Ball]:
        """|M(tilt + iw) - sum| for |w| up to the frequency; M(-1-z) = M(z)."""
        c = tilt if tilt > 0 else -1 - tilt
        if not c > 0:
            raise Unknown("an exponent between -1 and 0")
        return self._panels(c).upper(), self._rest(c).upper()

    def _panels(self, c: Ball) -> Ball:
        """(64/15) d rho^-2n / (1 - rho^-2) times the sum of sup |integrand| on the ellipses."""
        half, height = ball(self.rule.step / 2), ball(self.rule.height)
        slope = height / half
        rho = slope + sqrt(slope * slope + 1)
        reach, found = half * (rho + 1 / rho) / 2, Ball(0)
        cosine = log(cos_sin(height / self.twice)[0])
        for panel in range(self.rule.last):
            middle = self.rule.step * (2 * panel + 1) / 2 + Fraction(1, 2)
            left, right = middle - reach, middle + reach
            grown = scaled_by(complex_exp(((2 * right - 1) / self.twice, 2 * height / self.twice)), self.q)
            turn = argument(1 - self.q + grown[0], grown[1])
            most = exp((1 + c) * self._log_size(right)) + exp(-(c * (cosine + self._log_size(left))))
            found = found + most * exp(self._log_density(larger(left, 0)) + self.frequency * turn)
        scale = exp(height * height / self.twice) * half * Fraction(64, 15) / (1 - 1 / (rho * rho))
        return scale * found / power(rho, 2 * self.rule.cells)

    def _rest(self, c: Ball) -> Ball:
        """Past the last panel: the tail of a normal law about 1 + c, and of one about 0."""
        end = ball(self.rule.step * self.rule.last + Fraction(1, 2))
        size = (1 + c) * (self._log_size(end) - (2 * end - 1) / self.twice) + c * (c + 1) / self.twice
        return exp(size) * normal_tail((end - 1 - c) / self.sigma) + normal_tail(end / self.sigma)

    def mass(self, tilt: Ball) -> Ball:
        """A bound of M(tilt)."""
        quadrature, rest = self.line_error(tilt)
        found = self.weights((tilt, Ball(0)))
        return modulus((total(x for x, _ in found), total(y for _, y in found))).upper() + quadrature + rest

    def beyond(self, tilt: Ball, frequency: Ball) -> Ball:
        """|M(tilt + iw)| <= M(tilt)."""
        return self.mass(tilt)
