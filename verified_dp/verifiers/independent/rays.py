"""Few sampled steps: the node sums of low losses along a ray of their own (CERTIFICATE.md, `rays`; T187)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .balls import (
    Ball,
    Complex,
    Row,
    Table,
    Unknown,
    ball,
    bits,
    complex_exp,
    complex_power,
    entry,
    exp,
    exp_row,
    inverse,
    larger,
    largest,
    log,
    modulus,
    pi,
    plus,
    powers,
    precision,
    products,
    row_times,
    scaled_by,
    times,
    top_of,
    total,
    transposed,
)
from .contour import (
    LOW_BITS,
    Bounds,
    Revealed,
    bounds_from_sum,
    line_nodes,
    require,
)
from .half_lines import HalfLine
from .losses import ComposedLoss
from .nodes import Nodes, Rule, side_of
from .quadrature import MAX_POINTS, gauss_rule

MAX_LEVELS = 64
Corner = tuple[Fraction, Fraction]
Point = tuple[Complex, Complex]
"""(b, v) of a node: W(z) = e^{b + z v}."""


@dataclass(frozen=True)
class Level:
    """Equal panels, on ellipses of parameter `ellipse`."""

    ellipse: Fraction
    panels: int


@dataclass(frozen=True)
class Ray:
    """From the tilt on: the panels of level n have the vector 2^n stride."""

    levels: tuple[Level, ...]
    points: int
    stride: Corner

    def check(self) -> None:
        x, y = self.stride
        require(x >= 0 and y >= 0 and x + y > 0 and 2 <= self.points <= MAX_POINTS)
        require(1 <= len(self.levels) <= MAX_LEVELS)
        require(all(level.panels >= 1 and level.ellipse > 1 for level in self.levels))


@dataclass(frozen=True)
class Rays:
    """The start c > 0, rules, where losses begin to be high, the ray of the low ones and that of all other tuples."""

    tilt: Fraction
    nodes: tuple[Rule, ...]
    cuts: tuple[int, ...]
    low: Ray
    high: Ray
    prec: int

    def evaluate(self, loss: ComposedLoss) -> RaysValues:
        laws = len(loss.node_parts) + sum(len(law.alternatives()) for law, _ in loss.revealed_parts)
        require(self.tilt > 0 and loss.has_line and not loss.direct_parts)
        require(len(self.nodes) == len(self.cuts) == laws >= 1)
        self.low.check()
        self.high.check()
        return RaysValues(self, loss)


@dataclass(frozen=True)
class Shares:
    """Of one law, or of all that it is one of: low nodes, high nodes, how often it is composed."""

    low: list[Point]
    high: list[Point]
    count: int


class RaysValues:
    """Both rays, and what the node sums differ from the transforms."""

    def __init__(self, rays: Rays, loss: ComposedLoss) -> None:
        self.tilt = ball(rays.tilt)
        found, cuts = line_nodes(loss, rays.nodes), iter(rays.cuts)
        shares = [_share(nodes, cuts, count) for nodes, (_, count) in zip(found, loss.line_parts, strict=True)]
        self.rays = [RayValues(loss, shares, rays.tilt, ray, high)
                     for ray, high in ((rays.low, False), (rays.high, True))]
        with precision(LOW_BITS):
            self._replaced(loss, found, shares)

    def _replaced(self, loss: ComposedLoss, found: Sequence[Nodes | Revealed], shares: Sequence[Shares]) -> None:
        """g(c) sum_i k_i e_i/m_i prod m_i^{k_i} / (2c), by source."""
        tilt, size = self.tilt, loss.gaussian_exponent((self.tilt, Ball(0)))[0]
        self.quadrature, self.node_tail = Ball(0), Ball(0)
        for nodes, share in zip(found, shares, strict=True):
            quadrature, tail = nodes.line_error(tilt)
            weights = nodes.weights((tilt, Ball(0)))
            reach = modulus((total(x for x, _ in weights), total(y for _, y in weights))).upper()
            reach = reach + 2 * (quadrature + tail)
            size = size + log(reach) * share.count
            self.quadrature = self.quadrature + quadrature * share.count / reach
            self.node_tail = self.node_tail + tail * share.count / reach
        scale = exp(size) / (2 * tilt)
        self.quadrature, self.node_tail = self.quadrature * scale, self.node_tail * scale

    def enclose(self, epsilon: Fraction) -> Bounds:
        """(1/pi) Im of both rays' sums, errors on both sides (T187)."""
        eps = ball(epsilon)
        found = total(ray.sum(eps) for ray in self.rays) / pi()
        with precision(LOW_BITS):
            scale = exp(-(self.tilt * eps))
            errors = {"quadrature": scale * self.quadrature, "node_tail": scale * self.node_tail,
                      "panels": total(ray.bound_panels(eps) for ray in self.rays) / pi(),
                      "frequency_tail": total(ray.bound_beyond(eps) for ray in self.rays)}
            errors = {name: size.upper() for name, size in errors.items()}
        return bounds_from_sum(found, errors, {"aliasing": Ball(0)})


def _share(nodes: Nodes | Revealed, cuts: Iterator[int], count: int) -> Shares:
    """W times the chance of its law, where there are several: W(z) = e^{b + log w + z v} (T166)."""
    low, high = list[Point](), list[Point]()
    for chance, one in nodes.parts if isinstance(nodes, Revealed) else [(Ball(1), nodes)]:
        if isinstance(one, HalfLine):
            raise Unknown("a curve is known up to a frequency only")
        side, rule, cut = side_of(one.law), one.rule, next(cuts)
        own = [(side * j < cut, (plus(base, (log(chance), Ball(0))), v)) for j, (base, v) in zip(
            range(rule.first, rule.last + 1), one.points, strict=True)]
        require(any(is_low for is_low, _ in own) and not all(is_low for is_low, _ in own))
        low += [point for is_low, point in own if is_low]
        high += [point for is_low, point in own if not is_low]
    return Shares(low, high, count)


def _sizes(points: Sequence[Point], z: Complex) -> Ball:
    """sum |W(z)|."""
    x, w = z
    return total(exp(base[0] + x * v[0] - w * v[1]) for base, v in points)


def _bound(loss: ComposedLoss, shares: Sequence[Shares], corners: Sequence[Complex], high: bool) -> list[Ball]:
    """prod A^k, or sum_i k_i H_i/(A_i+H_i) prod (A_i+H_i)^{k_i}, at each corner.

    Times that of the Gaussian steps, e^{(x(x+1) - y^2) mu^2/2}, with 2 y0 y - y0^2 for y^2, y0 the least y or 0.
    """
    least, found = larger(-largest(-z[1] for z in corners), 0), list[Ball]()
    for z in corners:
        size, parts = loss.gaussian_exponent((z[0], Ball(0)))[0], Ball(0)
        size = size - (2 * z[1] - least) * least * (loss.mean_shift_squared / 2)
        for share in shares:
            reach = _sizes(share.low, z)
            if high:
                more = _sizes(share.high, z)
                reach = reach + more
                parts = parts + more * share.count / reach
            size = size + log(reach) * share.count
        found.append((exp(size) * parts if high else exp(size)).upper())
    return found


def panel_sums(losses: Sequence[Complex], weights: Sequence[Complex], stride: Complex, panels: int,
               offsets: Sequence[Complex]) -> list[Complex]:
    """sum_j weight_j e^{v_j (i stride + offset)} for all i < panels and all offsets, i by i: one matrix product."""
    giant: list[Row] = []
    baby: list[Row] = []
    for v, weight in zip(losses, weights, strict=True):
        row, size = exp_row(v, offsets)
        baby.append(row)
        leaps = powers(complex_exp(times(v, stride)), panels)
        giant.append(row_times(leaps, entry(scaled_by(weight, size))))
    lefts = (Table([column], bits() - top_of([column])) for column in transposed(giant))  # of very different sizes
    return [value for row in products(lefts, Table(transposed(baby), bits())) for value in row]


def rectangle(first: Complex, last: Complex, panels: int, ellipse: Fraction) -> list[Complex]:
    """Along the piece, around every panel's ellipse."""
    rho = ball(ellipse)
    half = scaled_by((last[0] - first[0], last[1] - first[1]), Fraction(1, 2 * panels))
    along = scaled_by(half, (rho + 1 / rho) / 2 - 1)
    wide = (rho - 1 / rho) / 2
    across = -half[1] * wide, half[0] * wide
    return [plus(plus(end, scaled_by(along, sign)), scaled_by(across, side))
            for end, sign in ((first, -1), (last, 1)) for side in (-1, 1)]


def bound_gauss(length: Ball, corners: Sequence[Complex], masses: Sequence[Ball], shape: Level, points: int,
                epsilon: Ball) -> Ball:
    """panels * d * (64/15) U rho^-2n / (1 - rho^-2), d half a panel's length (T17)."""
    rho = ball(shape.ellipse)
    supremum = largest(mass * exp(-(z[0] * epsilon)) for z, mass in zip(corners, masses, strict=True))
    return length / 2 * supremum * 64 / 15 * exp(log(rho) * (-2 * points)) / (1 - 1 / (rho * rho))


class RayValues:
    """A ray before eps is known."""

    def __init__(self, loss: ComposedLoss, shares: Sequence[Shares], tilt: Fraction, ray: Ray, high: bool) -> None:
        self.loss, self.ray, self.terms, self.levels = loss, ray, list[tuple[Complex, Complex]](), list[
            tuple[Level, Ball, list[Complex], list[Ball]]]()
        start: Corner = (tilt, Fraction(0))
        for n, level in enumerate(ray.levels):
            stride = ray.stride[0] * 2**n, ray.stride[1] * 2**n
            end = start[0] + level.panels * stride[0], start[1] + level.panels * stride[1]
            self._add(shares, start, stride, level, high)
            with precision(LOW_BITS):
                self._bound_level(shares, start, end, level, high)
            start = end
        with precision(LOW_BITS):
            self.top = ball(start[0]), ball(start[1])
            self.beyond, = _bound(loss, shares, [self.top], high)

    def _add(self, shares: Sequence[Shares], start: Corner, stride: Corner, level: Level, high: bool) -> None:
        step, gauss = (ball(stride[0]), ball(stride[1])), gauss_rule(self.ray.points)
        half = scaled_by(step, Fraction(1, 2))
        offsets = [scaled_by(half, node) for node, _ in gauss]
        first = plus((ball(start[0]), ball(start[1])), half)
        points = [plus(plus(first, scaled_by(step, i)), offset) for i in range(level.panels) for offset in offsets]
        sums = [[self._sums(part, first, step, level.panels, offsets) for part in (
            (share.low, share.high) if high else (share.low,))] for share in shares]
        for m, z in enumerate(points):
            low = whole = (Ball(1), Ball(0))
            for share, columns in zip(shares, sums, strict=True):
                low = times(low, complex_power(columns[0][m], share.count))
                if high:
                    whole = times(whole, complex_power(plus(columns[0][m], columns[1][m]), share.count))
            value = (whole[0] - low[0], whole[1] - low[1]) if high else low
            if self.loss.mean_shift_squared:
                value = times(value, complex_exp(self.loss.gaussian_exponent(z)))
            kernel = inverse(times(z, (z[0] + 1, z[1])))
            weight = gauss[m % self.ray.points][1]
            self.terms.append((z, times(value, scaled_by(times(half, kernel), weight))))

    @staticmethod
    def _sums(points: Sequence[Point], first: Complex, stride: Complex, panels: int,
              offsets: Sequence[Complex]) -> list[Complex]:
        weights = [complex_exp(plus(base, times(first, v))) for base, v in points]
        return panel_sums([v for _, v in points], weights, stride, panels, offsets)

    def _bound_level(self, shares: Sequence[Shares], start: Corner, end: Corner, level: Level, high: bool) -> None:
        first, last = (ball(start[0]), ball(start[1])), (ball(end[0]), ball(end[1]))
        corners = rectangle(first, last, level.panels, level.ellipse)
        left, low = (-largest(-z[part] for z in corners) for part in (0, 1))
        require(larger(left, low) > 0)
        kernel = larger(left, low) * larger(left + 1, low)
        masses = [size / kernel for size in _bound(self.loss, shares, corners, high)]
        self.levels.append((level, modulus((last[0] - first[0], last[1] - first[1])), corners, masses))

    def sum(self, epsilon: Ball) -> Ball:
        """Im of the sum."""
        return total(times(term, complex_exp((-(z[0] * epsilon), -(z[1] * epsilon))))[1] for z, term in self.terms)

    def bound_panels(self, epsilon: Ball) -> Ball:
        return total(bound_gauss(length, corners, masses, level, self.ray.points, epsilon)
                     for level, length, corners, masses in self.levels)

    def bound_beyond(self, epsilon: Ball) -> Ball:
        return self.beyond * exp(-(self.top[0] * epsilon)) / (2 * modulus(self.top))
