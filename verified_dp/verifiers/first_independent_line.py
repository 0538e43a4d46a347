"""The contour method once more, in mpmath's interval arithmetic and from the formulas, for the independent checker.

    D(eps) = (eta/2pi) sum_{|m| <= m0} G(m eta) - (frequency tail: +-) - (aliases: >= 0),
    G(w) = M(c+iw) e^{-(c+iw) eps} / ((c+iw)(c+1+iw)),   M = product of the laws' M_i^{k_i} e^{z(z+1) mu^2/2}.

Nothing is taken from the kernel, and its bounds are not repeated: the parameters are finer than the witness's
(more nodes, a smaller step, more frequencies), so that simpler bounds suffice. What is used, for a law with
m(t) = 1-q+q e^x, x = (2t-1)/(2s^2), on the line t = u + ia, |a| = A (a < 0 in the add order), at c > 0, w >= 0:

(1) M(c+iw) = sum_j F(jh + ia) + error, |error| <= 2N/(e^{2 pi b/h} - 1), where N bounds the integral of |F| on both
    lines at distance b <= A: |e^{iwv}| <= 1 there, |m(x+i theta)| lies between cos(theta/2) m(x) and m(x), hence
    N = g M(c), g = e^{(A+b)^2/(2s^2)}, times cos((A+b)/(2s^2))^{-c} in the add and symmetric orders.
    For w = 0 the line may be the real one, A = 0.
(2) M(c) <= (|sum over kept nodes| + dropped nodes)/(1 - kappa), kappa = 2g/(e^{2 pi b/h} - 1) < 1.
(3) Dropped nodes: phi_s falls outwards, so h phi_s(u_j) is at most its integral over the cell inwards. Left of
    u0 <= -1/2: m(u) <= 1, m(-u) >= 1, m >= 1-q. Right of u1 >= c+1 (1 in the add order): m(u) >= 1, m(-u) >= 1-q,
    m <= r e^x with r = q + (1-q)e^{-x(u1)}, so that phi_s m^{c+1} <= r^{c+1} e^{c(c+1)/(2s^2)} phi_s(u - c - 1).
    Off the real line both carry e^{A^2/(2s^2)}, and the cosine of A for negative powers. Q(x) <= e^{-x^2/2}/2.
(4) Beyond Omega: |M(c+iw)| <= J(w), the integral of |F| along one line, which falls in w since Im v >= 0. That
    integrand continues to f with |f(u+iy)| = sqrt(|F(u+i(a+y))| |F(u+i(a-y))|). For A + b <= pi s^2/2 the argument
    of m grows with the height, so that both factors e^{-w Im v} together are at most 1, and |f| integrates to at
    most g' M(c), g' = e^{(A^2+b^2)/(2s^2)} times the cosine of (1): the sum of |F| errs by 2g'M(c)/(e^{2 pi b/h} - 1).
(5) Frequency tail: e^{-c eps} B/(pi Omega) with B the product of the J_i(Omega)^{k_i}. Aliases: with X = 2pi/eta,
    C(l)M(l)e^{-l eps} r/(1-r), C(l) = l^l/(1+l)^{1+l}: r = e^{-(l-c)X} for an l > c, r = e^{-(c-l)X} for an
    0 < l < c (or D <= 1 in place of Chernoff, for l = 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.verifiers.first_independent_parameters import Law, Line, NotCovered, Rule, mass_rule
from verified_dp.verifiers.intervals import (
    Complex,
    Interval,
    argument,
    certain,
    complex_exp,
    complex_log,
    cos_sin,
    dot,
    exact,
    exp,
    hull,
    log,
    modulus_parts,
    pi,
    plus_minus,
    sqrt,
    times,
    upper,
)


class Nodes:
    """The nodes of a rule: (log of h phi_s e^u, v) at each, with the bounds (1) to (3) at an exponent c."""

    def __init__(self, law: Law, rule: Rule, c: Fraction) -> None:
        self.law, self.rule, self.c = law, rule, exact(c)
        self.q, self.s = exact(law.q), exact(law.s)
        self.double_variance = 2 * self.s * self.s
        _require(rule.step > 0 and rule.first * rule.step <= Fraction(-1, 2))
        _require(rule.last * rule.step >= (1 if law.order == "add" else c + 1))
        self.bases, self.losses = zip(*self._points(), strict=True)

    def _points(self) -> Iterator[tuple[Complex, Complex]]:
        a = exact(-self.rule.height if self.law.order == "add" else self.rule.height)
        h = exact(self.rule.step)
        norm = log(h / (self.s * sqrt(2 * pi())))
        for j in range(self.rule.first, self.rule.last + 1):
            u = h * j
            gauss = (a * a - u * u) / self.double_variance + norm, -2 * u * a / self.double_variance
            here = self._log_m(u, a)
            if self.law.order == "add":
                yield gauss, (-here[0], -here[1])
                continue
            base = gauss[0] + here[0], gauss[1] + here[1]
            if self.law.order == "symmetric":
                there = self._log_m(-u, -a)
                here = here[0] - there[0], here[1] - there[1]
            yield base, here

    def _log_m(self, u: Interval, a: Interval) -> Complex:
        size = self.q * exp((2 * u - 1) / self.double_variance)
        cosine, sine = cos_sin(2 * a / self.double_variance)
        return complex_log((1 - self.q + size * cosine, size * sine))

    def log_weights(self, x: Interval, w: Interval) -> list[Complex]:
        """log W_j at z = x + iw."""
        return [(base[0] + x * v[0] - w * v[1], base[1] + x * v[1] + w * v[0])
                for base, v in zip(self.bases, self.losses, strict=True)]

    def _cosine(self, height: Interval) -> Interval:
        """cos(height/(2s^2))^{-c}, the price of the negative power; 1 in the remove order."""
        if self.law.order == "remove":
            return exact(1)
        cosine, _ = cos_sin(height / self.double_variance)
        _require(certain(cosine > 0))
        return exp(-self.c * log(cosine))

    def _denominator(self) -> Interval:
        grown = exp(2 * pi() * exact(self.rule.half_width) / exact(self.rule.step))
        return grown - 1

    def kappa(self) -> Interval:
        """(1): 2g/(e^{2 pi b/h} - 1); asks b <= A unless the line is the real one, where w = 0 is meant."""
        height, half = exact(self.rule.height), exact(self.rule.half_width)
        reach = height + half
        _require(self.rule.half_width > 0 and (not self.rule.height or self.rule.half_width <= self.rule.height))
        _require(certain(reach < pi() * self.s * self.s))
        return 2 * exp(reach * reach / self.double_variance) * self._cosine(reach) / self._denominator()

    def modulus_kappa(self) -> Interval:
        """(4): 2g'/(e^{2 pi b/h} - 1)."""
        height, half = exact(self.rule.height), exact(self.rule.half_width)
        _require(self.rule.half_width > 0 and self.rule.height > 0)
        _require(certain(2 * (height + half) <= pi() * self.s * self.s))
        squares = height * height + half * half
        return 2 * exp(squares / self.double_variance) * self._cosine(height + half) / self._denominator()

    def dropped(self) -> Interval:
        """(3)."""
        h, rest = exact(self.rule.step), exp(-self.c * log(1 - self.q))
        left = exp(-(h * self.rule.first) ** 2 / self.double_variance) / 2
        right = self._dropped_right(h * self.rule.last)
        if self.law.order == "add":
            left *= rest
        if self.law.order == "symmetric":
            right *= rest
        height = exact(self.rule.height)
        return (left + right) * exp(height * height / self.double_variance) * self._cosine(height)

    def _dropped_right(self, end: Interval) -> Interval:
        if self.law.order == "add":
            return exp(-end * end / self.double_variance) / 2
        p = self.c + 1
        r = self.q + (1 - self.q) * exp(-(2 * end - 1) / self.double_variance)
        distance = end - p
        log_bound = p * log(r) + p * self.c / self.double_variance - distance * distance / self.double_variance
        return exp(log_bound) / 2

    def mass(self) -> Interval:
        """(2): an upper bound of M(c)."""
        kappa = self.kappa()
        _require(certain(kappa < 1))
        weights = [complex_exp(weight) for weight in self.log_weights(self.c, exact(0))]
        total = sum((real for real, _ in weights), exact(0)), sum((i for _, i in weights), exact(0))
        size = sqrt(total[0] * total[0] + total[1] * total[1])
        return upper((size + self.dropped()) / (1 - kappa))

    def absolute_sum(self, w: Interval) -> Interval:
        """sum_j |W_j| at c + iw."""
        return sum((exp(real) for real, _ in self.log_weights(self.c, w)), exact(0))


def _require(condition: bool) -> None:
    if not condition:
        raise NotCovered("parameters that do not meet the conditions of the independent bounds")


@dataclass(frozen=True)
class Values:
    """What does not depend on eps: the composed transform at the frequencies, the bound beyond them, alias masses."""

    line: Line
    products: list[Complex]
    beyond: Interval
    right_mass: Interval
    left_mass: Interval


def evaluate(line: Line, laws: Sequence[Law], shift_squared: Fraction) -> Values:
    """All the work that does not depend on eps, at the working precision."""
    _require(0 <= line.left < line.tilt < line.right and line.step > 0 and line.count >= 1)
    node_sets = [Nodes(law, rule, line.tilt) for law, rule in zip(laws, line.nodes, strict=True)]
    masses = [nodes.mass() for nodes in node_sets]
    columns = [_transforms(nodes, mass, line) for nodes, mass in zip(node_sets, masses, strict=True)]
    mu = exact(shift_squared)
    products = []
    for m in range(line.count + 1):
        product = _gaussian(mu, exact(line.tilt), exact(line.step) * m)
        for column, law in zip(columns, laws, strict=True):
            product = times(product, power(column[m], law.count))
        products.append(product)
    beyond = _beyond(line, laws, masses, mu)
    right = chernoff_mass(laws, line.right, mu)
    left = chernoff_mass(laws, line.left, mu) if line.left else exact(1)
    return Values(line, products, beyond, right, left)


def _transforms(nodes: Nodes, mass: Interval, line: Line) -> list[Complex]:
    """M(c + i m eta) for m = 0..m0, by (1): each value widened by its errors."""
    eta, babies = exact(line.step), math.isqrt(line.count) + 1
    error = plus_minus(upper(nodes.kappa() * mass + nodes.dropped()))
    turns = [[complex_exp((-v[1] * (eta * u), v[0] * (eta * u))) for v in nodes.losses] for u in range(babies)]
    values = []
    for start in range(0, line.count + 1, babies):
        weights = [complex_exp(weight) for weight in nodes.log_weights(nodes.c, eta * start)]
        for turn in turns[: line.count + 1 - start]:
            real, imaginary = dot(weights, turn)
            values.append((real + error, imaginary + error))
    return values


def power(z: Complex, count: int) -> Complex:
    """z^k: with z = m(1+x), |x| <= rho/|m|, it is within |m|^k (e^{k rho/|m|} - 1) of m^k; else in the disc."""
    point, radius = modulus_parts(z)
    size = sqrt(point[0] * point[0] + point[1] * point[1])
    if not certain(count * radius < size):
        bound = plus_minus(upper(exp(count * log(upper(size + radius)))))
        return bound, bound
    grown = exp(count * log(size))
    cosine, sine = cos_sin(count * argument(point))
    error = plus_minus(upper(grown * (exp(count * radius / size) - 1)))
    return grown * cosine + error, grown * sine + error


def _gaussian(mu_squared: Interval, x: Interval, w: Interval) -> Complex:
    """e^{z(z+1) mu^2/2} at z = x + iw."""
    return complex_exp(((x * (x + 1) - w * w) * mu_squared / 2, w * (2 * x + 1) * mu_squared / 2))


def _beyond(line: Line, laws: Sequence[Law], masses: Sequence[Interval], mu_squared: Interval) -> Interval:
    """(4): a bound of |M(c+iw)| of the composition for every w >= Omega."""
    omega, c = exact(line.step) * line.count, exact(line.tilt)
    log_bound = (c * (c + 1) - omega * omega) * mu_squared / 2
    for law, rule, mass in zip(laws, line.tail_nodes, masses, strict=True):
        nodes = Nodes(law, rule, line.tilt)
        bound = nodes.absolute_sum(omega) + nodes.modulus_kappa() * mass + nodes.dropped()
        log_bound += law.count * log(upper(bound))
    return upper(exp(log_bound))


def chernoff_mass(laws: Sequence[Law], exponent: Fraction, mu_squared: Interval) -> Interval:
    """C(l) M(l) from above, l > 0."""
    point = exact(exponent)
    log_bound = point * (point + 1) * mu_squared / 2 + point * log(point) - (1 + point) * log(1 + point)
    for law in laws:
        log_bound += law.count * log(Nodes(law, mass_rule(law, exponent), exponent).mass())
    return upper(exp(log_bound))


def enclose_on_line(values: Values, epsilon: Fraction) -> Interval:
    """Enclose D(eps)."""
    line = values.line
    c, eta, eps = exact(line.tilt), exact(line.step), exact(epsilon)
    total = exact(0)
    for m, product in enumerate(values.products):
        w = eta * m
        cosine, sine = cos_sin(-(w * eps))
        kernel = c * (c + 1) - w * w, w * (2 * c + 1)  # (c+iw)(c+1+iw)
        size = kernel[0] * kernel[0] + kernel[1] * kernel[1]
        turned = times(times(product, (cosine, sine)), (kernel[0], -kernel[1]))
        total += turned[0] / size * (2 if m else 1)
    scale = exp(-c * eps)
    middle = scale * eta * total / (2 * pi())
    tail = upper(scale * values.beyond / (pi() * eta * line.count))
    aliases = _bound_aliases(values, eps)
    return hull(middle - tail - aliases, middle + tail)


def _bound_aliases(values: Values, eps: Interval) -> Interval:
    line = values.line
    period, c = 2 * pi() / exact(line.step), exact(line.tilt)
    right, left = exact(line.right), exact(line.left)
    from_right = values.right_mass * exp(-right * eps) / (exp((right - c) * period) - 1)
    from_left = values.left_mass * exp(-left * eps) / (exp((c - left) * period) - 1)
    return upper(from_right + from_left)
