"""The transform of a Gaussian mixture as a sum over nodes (CERTIFICATE.md, "Node rules"; T08 to T11).

    M(z) = sum_j W_j(z) + error,   W_j(z) = e^{b_j + z v_j},   t_j = j h + i A  (-A in the add order)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import Any

from .balls import (
    Ball,
    Complex,
    Number,
    Unknown,
    ball,
    bits,
    complex_exp,
    complex_log,
    cos_sin,
    exp,
    expm1,
    larger,
    log,
    modulus,
    normal_tail,
    pi,
    plus,
    real_power,
    scaled_by,
    sqrt,
    times,
    total,
)
from .laws import Component, SampledGaussianLoss, square_of, value_of


@dataclass(frozen=True)
class Rule:
    """height A, half_width b, step h, indices first to last, cells (0: one per step)."""

    height: Fraction
    half_width: Fraction
    step: Fraction
    first: int
    last: int
    cells: int


class Ratio:
    """F(t) = sum_i w_i e^{(m_i t - m_i^2/2)/s^2} of P or Q, the mean nearest to 0 first: the density over N(0, s^2)."""

    def __init__(self, components: Sequence[Component], s2: Fraction) -> None:
        self.means, self.weights, self.s2 = [m for m, _ in components], [w for _, w in components], s2
        self.factors = [exp(-m * m / (2 * s2)) * w for m, w in components]
        self.gaps = [m - self.means[0] for m in self.means]
        self.spread = abs(self.gaps[-1])
        self.is_one = not any(self.means)

    def terms(self, u: Ball) -> list[Ball]:
        """Over e^{m_0 u/s^2}, at real u."""
        return [factor * exp(gap * u / self.s2) if gap else factor
                for factor, gap in zip(self.factors, self.gaps, strict=True)]

    def turns(self, height: Ball) -> list[Complex]:
        return [cos_sin(height * (gap / self.s2)) for gap in self.gaps]

    def log(self, u: Ball, height: Ball, turns: Sequence[Complex]) -> Complex:
        """log F(u + i height): without e^{m_0 t/s^2} it lies in a half-plane (T08)."""
        found = complex_log(reduce(plus, map(scaled_by, turns, self.terms(u))))
        return plus(found, (u * (self.means[0] / self.s2), height * (self.means[0] / self.s2)))

    def cosine(self, height: Ball) -> Ball:
        return cos_sin(height * (self.spread / (2 * self.s2)))[0]

    def bound_power(self, p: Ball, height: Ball, end: Ball, outwards: bool) -> tuple[Ball, Fraction]:
        """(K, m): |F|^p <= K e^{p (m x - m^2/2)/s^2} on the line for all x beyond `end` (T10)."""
        terms, lead = self.terms(end), len(self.means) - 1 if outwards else 0
        rest = total(term for index, term in enumerate(terms) if index != lead)
        if p >= 0:
            return real_power(self.weights[lead] * (1 + rest / terms[lead]), p), self.means[lead]
        _require(p < 0)
        least = larger(self.cosine(height) * (rest + terms[lead] if outwards else terms[0]), terms[lead] - rest)
        _require(least > 0)
        return real_power(least * self.weights[0] / terms[0], p), self.means[0]


@lru_cache(maxsize=256)
def ratios(law: Any, prec: int) -> tuple[Ratio, Ratio]:
    """F_P and F_Q; places count from the largest mean of Q. prec: bits, for the cache."""
    origin, s2 = law.below[-1][0], square_of(law.sigma)
    above, below = ([(m - origin, w) for m, w in side] for side in (law.above, law.below[::-1]))
    return Ratio(above, s2), Ratio(below, s2)


def side_of(law: Any) -> int:
    """-1 where the witness's places are mirrored."""
    return -1 if law.order == "add" else 1


class Nodes:
    """A law's nodes on the line of a rule; points only where asked for."""

    def __init__(self, law: Any, rule: Rule, offset: Number = 0) -> None:
        """offset: how far the places are from the rule's, as the witness writes them."""
        _require(rule.first <= rule.last and rule.step > 0)
        self.law, self.rule, self.offset = law, rule, offset
        self.s, self.twice = value_of(law.sigma), 2 * square_of(law.sigma)
        above, below = ratios(law, bits())
        self.spreads = above.spread, below.spread
        distance = max(above.spread, below.spread) or above.means[-1] - below.means[-1]
        self.strip = pi() * square_of(law.sigma) / distance

    def _points(self) -> Iterator[tuple[Complex, Complex]]:
        """(log of h phi_s e^u, v) at each node."""
        rule, side, height = self.rule, side_of(self.law), ball(self.rule.height)
        both = [(ratio, ratio.turns(height)) for ratio in ratios(self.law, bits())]
        norm = log(rule.step / (self.s * sqrt(2 * pi())))
        for j in range(rule.first, rule.last + 1):
            u = side * (rule.step * j + self.offset)
            gauss = norm + (rule.height * rule.height - u * u) / self.twice, ball(-2 * u * rule.height / self.twice)
            up, down = ((Ball(0), Ball(0)) if ratio.is_one else ratio.log(ball(u), height, turns)
                        for ratio, turns in both)
            yield plus(gauss, up), (up[0] - down[0], up[1] - down[1])

    @cached_property
    def points(self) -> list[tuple[Complex, Complex]]:
        """At the precision of the first use; the errors alone need none of them."""
        return list(self._points())

    @property
    def losses(self) -> list[Complex]:
        return [loss for _, loss in self.points]

    def weights(self, z: Complex) -> list[Complex]:
        return [complex_exp(plus(base, times(z, loss))) for base, loss in self.points]

    def sizes(self, z: Complex) -> Ball:
        """sum_j |W_j(z)|."""
        x, w = z
        return total(exp(base[0] + x * v[0] - w * v[1]) for base, v in self.points)

    def _geometric(self) -> Ball:
        return expm1(2 * pi() * (self.rule.half_width / self.rule.step))

    def _shaped(self) -> None:
        rule = self.rule
        fits = rule.height > 0 and rule.step > 0 and rule.first < rule.last and rule.cells >= 0
        _require(fits and rule.half_width > 0 and rule.step**2 <= 2 * self.twice)
        _require(rule.height + rule.half_width < self.strip)

    def _growth(self, squares: Fraction, tilt: Ball) -> Ball:
        """e^{squares/(2s^2)} cos(d_Q (A+b)/(2s^2))^-c cos(d_P (A+b)/(2s^2))^(c+1), d spreads; only powers below 0."""
        grown = exp(squares / self.twice)
        for spread, power in zip(self.spreads, (-1 - tilt, tilt), strict=True):
            if spread and not power <= 0:
                cosine, _ = cos_sin((self.rule.height + self.rule.half_width) * spread / self.twice)
                grown = grown * real_power(cosine, -larger(power, 0))
        return grown

    def line_error(self, tilt: Ball) -> tuple[Ball, Ball]:
        """|M(tilt + iw) - sum| for every w >= 0: (quadrature, dropped nodes) (T08, T09)."""
        self._shaped()
        kappa = self.kappa(tilt)
        _require(self.rule.half_width <= self.rule.height and kappa < 1)
        tails, weights = self.tails((tilt, Ball(0))), self.weights((tilt, Ball(0)))
        mass = modulus((total(x for x, _ in weights), total(y for _, y in weights))).upper() + tails
        return (kappa * mass / (1 - kappa)).upper(), tails

    def mass(self, tilt: Ball) -> Ball:
        """At least M(tilt), which is real."""
        quadrature, tails = self.line_error(tilt)
        return (total(x for x, _ in self.weights((tilt, Ball(0)))) + quadrature + tails).upper()

    def beyond(self, tilt: Ball, frequency: Ball) -> Ball:
        """|M(tilt + iw)| for every w >= frequency, from the moduli of the nodes (T11)."""
        self._shaped()
        rule = self.rule
        _require(2 * rule.height <= self.strip and 2 * rule.half_width <= self.strip)
        kappa = 2 * self._growth(rule.height**2 + rule.half_width**2, tilt) / self._geometric()
        _require(kappa < 1)
        tails = self.tails((tilt, Ball(0)))
        at_rest = self.sizes((tilt, Ball(0))) + tails
        return (self.sizes((tilt, frequency)) + kappa * at_rest / (1 - kappa) + tails).upper()

    def tails(self, z: Complex) -> Ball:
        first, last = (ball(self.rule.step * j + self.offset) for j in (self.rule.first, self.rule.last))
        return bound_tails(self.law, z, ball(self.rule.height), first, last)

    def kappa(self, tilt: Ball) -> Ball:
        """2 g/G: what the quadrature's error is of M(tilt) at most (T08)."""
        reach = self.rule.height + self.rule.half_width
        return 2 * self._growth(reach * reach, tilt) / self._geometric()


def shares_loss(law: Any, leader: Any) -> bool:
    """Sampled Gaussians of one order, remove or add, with variances within a factor 4 (T156)."""
    if {type(law), type(leader)} != {SampledGaussianLoss} or law.order != leader.order or law.order == "symmetric":
        return False
    return Fraction(1, 4) <= square_of(law.sigma) / square_of(leader.sigma) <= 4


def moved_nodes(law: Any, rule: Rule, leader: Any) -> Nodes:
    """By the rule of a law whose loss is shared: t becomes r t + (1-r)/2 + s^2 (log odds there - log odds here)."""
    if law == leader:
        return Nodes(law, rule)
    ratio, odds = square_of(law.sigma) / square_of(leader.sigma), [
        one.sampling_probability / (1 - one.sampling_probability) for one in (leader, law)]
    own = replace(rule, height=ratio * rule.height, half_width=ratio * rule.half_width, step=ratio * rule.step)
    return Nodes(law, own, (1 - ratio) / 2 + square_of(law.sigma) * log(ball(odds[0] / odds[1])))


def _require(condition: bool) -> None:
    if not condition:
        raise Unknown("a node rule outside of its side conditions")


# ---------- tails ----------


def bound_tails(law: Any, z: Complex, height: Ball, left: Ball, right: Ball) -> Ball:
    """The integral of |phi_s e^{u+zv}| over Re t < left and Re t > right on the line, and what the nodes there carry
    (T10)."""
    if side_of(law) < 0:
        left, right = -right, -left
    (x, w), twice, sides = z, 2 * square_of(law.sigma), list[Ball]()
    both = ratios(law, bits())
    for end, sign in ((left, -1), (right, 1)):
        bound, rho, squares = Ball(1), Ball(0), Ball(0)
        for ratio, p, outwards in zip(both, (x + 1, -x), (sign > 0, sign < 0), strict=True):
            if not ratio.is_one:
                size, mean = ratio.bound_power(p, height, end, outwards)
                bound, rho, squares = bound * size, rho + p * mean, squares + p * mean * mean
        distance = sign * (end - rho)
        tail = normal_tail(distance / value_of(law.sigma)) if distance >= 0 else Ball(2)
        growing = both[0] if sign > 0 else both[1]
        if w > 0 and not growing.is_one:
            bound = bound * exp(-w * sign * growing.log(end, height, growing.turns(height))[1])
        sides.append(bound * exp((rho * rho - squares) / twice) * tail)
    angle = 2 * height * (both[0].means[-1] - both[1].means[-1]) / twice
    return (exp(height * height / twice + angle * larger(-w, 0)) * (sides[0] + sides[1])).upper()
