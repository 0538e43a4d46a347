"""The contour method along two rays, for few sampled steps: low losses alone, and all tuples with a high one (T187).

On the line Re z = c every transform is a finite sum N(z) = sum_j W_j e^{z v_j} up to a small error, times the plain
Gaussian steps' g = e^{z(z+1) mu^2/2}, and these entire functions may be integrated along any path. Nodes below a cut
have low losses: with L their sum,

    D(eps) = (1/pi) Im (int_low g prod L^k F + int_high g (prod N^k - prod L^k) F) + error,  F = e^{-z eps}/(z(z+1)),

the one along a ray towards large Re z, where e^{-z eps} decays (or g, above 45 degrees), the other upwards, where high
losses turn and decay. The panels of a ray double their length from level to level, so that the phases e^{v z} of a
level are squares of the last level's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import ClassVar

from flint import acb, acb_mat, arb, ctx

from verified_dp.core.engines.direct import direct_parts
from verified_dp.core.engines.lines import EitherOrder, lines
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import (
    AnyNodes,
    NodeRule,
    NodeSet,
    bound_moduli,
    bound_total,
    count_nodes,
    enclose_families,
    work_of_nodes,
)
from verified_dp.core.engines.shared import all_powers, enclose_power, gauss_rule
from verified_dp.core.kernel.balls import BOUND_BITS, ball, largest, smallest, upper_end
from verified_dp.core.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, IMPOSSIBLE, Work, entry_bytes, paced, words

MAX_LEVELS = 128
"""Of a ray: each doubles the length of a panel."""
MAX_POINTS = 2048
"""Gauss-Legendre points of a panel; searches use 12 to 128. A root costs some products per point."""

Corner = tuple[Fraction, Fraction]
"""A point of the plane: (abscissa, frequency)."""


@dataclass(frozen=True)
class Level:
    """`panels` equal panels, with ellipses of parameter `ellipse` around them."""

    panels: int
    ellipse: Fraction


@dataclass(frozen=True)
class Ray:
    """Panels of `points` Gauss points one after the other: those of level n have the vector 2^n stride."""

    stride: Corner
    points: int
    levels: tuple[Level, ...]

    @property
    def is_shaped(self) -> bool:
        """Right or up or both, with panels at every level."""
        x, y = self.stride
        return x >= 0 and y >= 0 and x + y > 0 and self.points >= 2 and len(self.levels) >= 1 and all(
            level.panels >= 1 and level.ellipse > 1 for level in self.levels)

    def corners(self, tilt: Fraction) -> list[Corner]:
        """Where the levels begin, and where the last one ends."""
        found, (x, y) = [(tilt, Fraction(0))], self.stride
        for n, level in enumerate(self.levels):
            length, (left, low) = level.panels << n, found[-1]
            found.append((left + length * x, low + length * y))
        return found

    def work(self, nodes: int, prec: int) -> Work:
        """Of so many nodes at all points."""
        if not (2 <= self.points <= MAX_POINTS and len(self.levels) <= MAX_LEVELS):
            return Work(IMPOSSIBLE)
        panels, levels = sum(abs(level.panels) for level in self.levels), len(self.levels)
        sides = panels + self.points * levels
        units = nodes * (panels * self.points + EXPONENTIAL * sides) + 2 * EXPONENTIAL * panels * self.points
        bounds = 8 * EXPONENTIAL * nodes * levels
        return Work((units + self.points**2) * words(prec) + bounds,
                    (nodes * sides + 4 * panels * self.points) * entry_bytes(prec))


@dataclass(frozen=True)
class Share:
    """Of one law with its count: the nodes with low losses, and the others."""

    low: NodeSet
    high: NodeSet
    count: int


@dataclass(frozen=True)
class LevelValues:
    """A level before eps is known: terms = weight * integrand * e^{z eps}; bounds at corners around it.

    terms: a row for each panel, whose middle is given, a column for each Gauss point.
    """

    middles: list[acb]
    terms: acb_mat
    ends: list[acb]
    corners: list[acb]
    corner_masses: list[arb]


@dataclass(frozen=True)
class RayValues:
    """A ray before eps is known. offsets: of the first level's Gauss points; they double from level to level.

    beyond: bound of the products at its end `top`, and above it.
    """

    levels: list[LevelValues]
    offsets: list[acb]
    top: acb
    beyond: arb


@dataclass(frozen=True)
class Phases:
    """Of some nodes on a level: W_j at its first panel's middle, e^{v_j stride/2}, e^{v_j offset} at the offsets."""

    weights: list[acb]
    halves: list[acb]
    offsets: list[list[acb]]

    @classmethod
    def at(cls, nodes: NodeSet, middle: acb, stride: acb, offsets: list[acb]) -> Phases:
        """Of the first level."""
        return cls(nodes.weights(middle), [(loss * stride / 2).exp() for loss in nodes.losses],
                   phases_at(nodes, offsets))

    @proved_by("T187-rays")
    def sums(self, panels: int) -> list[acb]:
        """Enclose the sums of W_j(z) at the points of so many panels, panel by panel: one matrix product."""
        middles = all_powers([x * x for x in self.halves], panels)
        rows = [[weight * power for weight, power in zip(self.weights, powers, strict=True)] for powers in middles]
        return [value for row in (acb_mat(rows) * acb_mat(self.offsets)).tolist() for value in row]

    @proved_by("T187-rays")
    def beyond(self, panels: int) -> Phases:
        """On the next level, so many panels and half of one of its own further on, with a stride twice as long."""
        weights = [weight * enclose_power(half, 2 * panels + 1)
                   for weight, half in zip(self.weights, self.halves, strict=True)]
        return Phases(weights, [x * x for x in self.halves], [[x * x for x in row] for row in self.offsets])


@proved_by("T187-rays")
def phases_at(nodes: NodeSet, offsets: list[acb]) -> list[list[acb]]:
    """Enclose e^{loss offset} at the offsets of a Gauss rule: those of the second half are minus those of the first."""
    table = [[(loss * offset).exp() for offset in offsets[: (len(offsets) + 1) // 2]] for loss in nodes.losses]
    return [half + [1 / phase for phase in half[: len(offsets) // 2][::-1]] for half in table]


@proved_by("T187-rays")
def _by_law(nodes: AnyNodes) -> list[NodeSet]:
    """Those of one law, or of each of several with log of its chance added to that of every weight."""
    return [nodes] if isinstance(nodes, NodeSet) else [
        replace(one, bases=[base + share.log() for base in one.bases])
        for share, one in zip(nodes.shares, nodes.parts, strict=True) if isinstance(one, NodeSet)]


@proved_by("T187-rays")
def _share(nodes: AnyNodes, cuts: Iterator[int], count: int) -> Share:
    """Part nodes at the index `cut` of the pair's own direction: losses grow with side * index; all laws' together."""
    laws = _by_law(nodes)
    parted = [(base, loss, j * one.law.side < cut) for one, cut in zip(laws, cuts, strict=False)
              for base, loss, j in zip(one.bases, one.losses, range(one.rule.first, one.rule.last + 1), strict=True)]
    low, high = (replace(laws[0], bases=[base for base, _, is_low in parted if is_low == wanted],
                         losses=[loss for _, loss, is_low in parted if is_low == wanted]) for wanted in (True, False))
    return Share(low, high, count)


@proved_by("T187-rays")
def _bound_gaussian(loss: ComposedLoss, points: list[acb]) -> list[arb]:
    """Bound |g| on the points' convex hull by e^{(x(x+1) - 2 y* y + y*^2) mu^2/2} there, log-convex in (x, y).

    y*: the least y, or 0.
    """
    if not loss.mean_shift_squared:
        return [arb(1)] * len(points)
    half, least = ball(loss.mean_shift_squared) / 2, smallest([z.imag for z in points]).max(arb(0))
    return [((z.real * (z.real + 1) + least * (least - 2 * z.imag)) * half).exp() for z in points]


@proved_by("T187-rays")
def _bound_sizes(loss: ComposedLoss, shares: Sequence[Share], points: list[acb], high: bool) -> list[arb]:
    """Bound |g prod L^k|, or |g (prod N^k - prod L^k)|, at each point, by a function log-convex in (Re z, Im z).

    prod A^k, or sum_i k_i H_i / (A_i + H_i) prod (A + H)^k, with A and H the sums of |W_j| of low and of high nodes.
    """
    sizes, parts = _bound_gaussian(loss, points), [arb(0)] * len(points)
    for share in shares:
        reach = bound_moduli(share.low, points)
        if high:
            more = bound_moduli(share.high, points)
            reach = [x + y for x, y in zip(reach, more, strict=True)]
            parts = [part + share.count * y / x for part, x, y in zip(parts, reach, more, strict=True)]
        sizes = [size * x**share.count for size, x in zip(sizes, reach, strict=True)]
    return [upper_end(size * part if high else size) for size, part in zip(sizes, parts, strict=True)]


@proved_by("T187-rays")
def rectangle(ends: list[acb], panels: int, ellipse: Fraction) -> list[acb]:
    """The corners of the rectangle along a straight piece that holds every panel's ellipse."""
    first, last = ends
    rho = ball(ellipse)
    half = (last - first) / (2 * panels)
    along = half * ((rho + 1 / rho) / 2 - 1)
    across = half * acb(0, 1) * ((rho - 1 / rho) / 2)
    return [first - along - across, first - along + across, last + along - across, last + along + across]


@proved_by("T187-rays")
def _bound_integrand(loss: ComposedLoss, shares: Sequence[Share], corners: list[acb], high: bool) -> list[arb]:
    """Bound the integrand times e^{z eps} at the corners, the kernel by its largest value on the whole rectangle."""
    left, low = smallest([z.real for z in corners]), smallest([z.imag for z in corners])
    nearest = left.max(low)
    if not nearest > 0:
        return [arb.pos_inf() for _ in corners]
    kernel = nearest * (left + 1).max(low)
    return [upper_end(size / kernel) for size in _bound_sizes(loss, shares, corners, high)]


@proved_by("T187-rays")
def _evaluate_ray(loss: ComposedLoss, shares: Sequence[Share], tilt: Fraction, ray: Ray, high: bool,
                  between: Callable[[], None]) -> RayValues:
    corners = [acb(ball(x), ball(y)) for x, y in ray.corners(tilt)]
    gauss, stride = gauss_rule(ray.points), acb(*map(ball, ray.stride))
    offsets = first_offsets = [stride * x / 2 for x, _ in gauss]
    used = [[share.low, share.high] if high else [share.low] for share in shares]
    phases = [[Phases.at(nodes, corners[0] + stride / 2, stride, offsets) for nodes in halves] for halves in used]
    levels = []
    for n, level in enumerate(paced(ray.levels, between)):
        if n:
            phases = [[part.beyond(ray.levels[n - 1].panels) for part in halves] for halves in phases]
            stride, offsets = 2 * stride, [2 * offset for offset in offsets]
        first = corners[n] + stride / 2
        middles = [first + stride * i for i in range(level.panels)]
        points = [middle + offset for middle in middles for offset in offsets]
        sums = [[part.sums(level.panels) for part in halves] for halves in phases]
        weights = [stride * weight / 2 for _ in middles for _, weight in gauss]
        terms = [size * weight / (z * (z + 1)) for z, weight, size in zip(
            points, weights, _multiplied(loss, shares, sums, points), strict=True)]
        with ctx.workprec(BOUND_BITS):
            around = rectangle(corners[n:n + 2], level.panels, level.ellipse)
            levels.append(LevelValues(middles, acb_mat(level.panels, ray.points, terms), corners[n:n + 2], around,
                                      _bound_integrand(loss, shares, around, high)))
    with ctx.workprec(BOUND_BITS):
        top = corners[-1]
        return RayValues(levels, first_offsets, top, _bound_sizes(loss, shares, [top], high)[0])


@proved_by("T187-rays")
def _multiplied(loss: ComposedLoss, shares: Sequence[Share], sums: Sequence[list[list[acb]]],
                points: list[acb]) -> list[acb]:
    """Enclose g prod L^k, or g (prod N^k - prod L^k), at each point."""
    low, whole = [acb(1)] * len(points), [acb(1)] * len(points)
    for share, halves in zip(shares, sums, strict=True):
        low = [x * enclose_power(y, share.count) for x, y in zip(low, halves[0], strict=True)]
        if len(halves) > 1:
            whole = [x * enclose_power(y + z, share.count) for x, y, z in zip(whole, *halves, strict=True)]
    found = low if all(len(halves) == 1 for halves in sums) else [x - y for x, y in zip(whole, low, strict=True)]
    return [value * loss.enclose_gaussian_exponent(z).exp() for value, z in zip(found, points, strict=True)] if (
        loss.mean_shift_squared) else found


def _parts(side: int, rule: NodeRule, cut: int) -> bool:
    """Whether some nodes are low and some high."""
    first, last = sorted((side * rule.first, side * rule.last))  # exact: integers
    return first < cut <= last


@dataclass(frozen=True)
class RaysWitness(EitherOrder):
    """tilt: c > 0, where both rays start. nodes, cuts: one rule per law, and where its losses begin to be high.

    Those of the laws that are one of several come last, one for each of these. low, high: the rays. prec: bits.
    tilt < -1: the rays of the swapped pair from -1 - tilt, read at -eps (T16).
    """

    tilt: Fraction
    nodes: tuple[NodeRule, ...]
    cuts: tuple[int, ...]
    low: Ray
    high: Ray
    prec: int

    kind: ClassVar[str] = "rays"
    method: ClassVar[str] = "contour"

    @proved_by("T187-rays")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions that are plain comparisons of exact numbers; every step has nodes or is Gaussian."""
        if self.tilt < -1:
            return self._twin.applies(loss.in_order(SWAPPED[loss.order]))
        seen = lines(loss)
        laws = [law for law, _ in seen.node_parts] + [one for law, _ in seen.revealed_parts for one in law.alternatives]
        stated = seen.has_line and not direct_parts(loss) and len(laws) == len(self.nodes) == len(self.cuts)
        return stated and len(laws) >= 1 and self.tilt > 0 and self.low.is_shaped and self.high.is_shaped and all(
            isinstance(law, MixtureLines) and _parts(law.side, rule, cut)
            for law, rule, cut in zip(laws, self.nodes, self.cuts, strict=True))

    @proved_by("T187-rays")
    def _evaluate(self, loss: ComposedLoss, between: Callable[[], None]) -> RaysValues:
        """Enclose the node sums' products along both rays, and bound everything else that does not depend on eps."""
        with ctx.workprec(self.prec):
            node_sets, cuts = list(chain(*enclose_families(loss, self.nodes, between))), iter(self.cuts)
            shares = [_share(nodes, cuts, count) for nodes, count in node_sets]
            rays = [_evaluate_ray(loss, shares, self.tilt, ray, high, between)
                    for ray, high in ((self.low, False), (self.high, True))]
        with ctx.workprec(BOUND_BITS):
            return RaysValues(self, rays, *_bound_replaced(loss, node_sets, ball(self.tilt)))

    def work(self, loss: ComposedLoss) -> Work:
        """Of both rays, and of the nodes."""
        nodes = count_nodes(self.nodes)
        rays = [ray.work(nodes, self.prec) for ray in (self.low, self.high)]
        made = 16 * EXPONENTIAL * work_of_nodes(loss, self.nodes) * words(self.prec)
        return Work(sum(ray.units for ray in rays) + made, sum(ray.memory for ray in rays))


@proved_by("T187-rays")
def _bound_replaced(loss: ComposedLoss, node_sets: Sequence[tuple[AnyNodes, int]], tilt: arb) -> tuple[arb, arb]:
    """Bound (1/pi) int |g (prod M^k - prod N^k) dz / (z(z+1))| along Re z = c by quadrature and tails of the nodes.

    On the line |g| <= g(c), |M_i| and |N_i| are at most |N_i(c)| + 2 e_i, and int |dz / (z(z+1))| <= pi/(2c).
    """
    size, quadrature, node_tail = loss.enclose_gaussian_exponent(acb(tilt)).real.exp(), arb(0), arb(0)
    for nodes, count in node_sets:
        total = bound_total(nodes, tilt)
        by_quadrature, by_tail = nodes.line_error(tilt, total)
        reach = total + 2 * (by_quadrature + by_tail)
        size *= reach**count
        quadrature, node_tail = quadrature + count * by_quadrature / reach, node_tail + count * by_tail / reach
    return upper_end(quadrature * size / (2 * tilt)), upper_end(node_tail * size / (2 * tilt))


@dataclass(frozen=True)
class RaysValues:
    """Both rays, and what replacing the transforms by node sums adds at most, times e^{c eps}."""

    witness: RaysWitness
    rays: list[RayValues]
    quadrature: arb
    node_tail: arb

    @proved_by("T187-rays")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose D(eps): panel errors, node errors and what lies beyond both rays on both sides."""
        with ctx.workprec(self.witness.prec):
            return bounds_from_sum(self.enclose_sum(ball(epsilon)), self.bound_errors(epsilon), {"aliasing": arb(0)})

    @proved_by("T187-rays")
    def enclose_sum(self, epsilon: arb) -> arb:
        """Enclose (1/pi) Im of both rays' panel sums, for every point of a ball."""
        return sum((_sum_ray(ray, epsilon) for ray in self.rays), acb(0)).imag / arb.pi()

    @proved_by("T187-rays", "T17-gauss-legendre")
    def bound_errors(self, epsilon: Fraction) -> dict[str, arb]:
        """Bound |D - sum| by source: sums and maxima of exponentials that fall in eps."""
        with ctx.workprec(BOUND_BITS):
            at = ball(epsilon)
            scale = (-ball(self.witness.tilt) * at).exp()
            both = zip(self.rays, (self.witness.low, self.witness.high), strict=True)
            panels = sum((bound_gauss(values.ends, values.corners, values.corner_masses, level.ellipse, ray.points, at)
                          for found, ray in both
                          for values, level in zip(found.levels, ray.levels, strict=True)), arb(0))
            return {"quadrature": scale * self.quadrature, "node_tail": scale * self.node_tail,
                    "panels": panels / arb.pi(),
                    "frequency_tail": sum((_bound_beyond(ray, at) for ray in self.rays), arb(0))}


@proved_by("T17-gauss-legendre", "T187-rays")
def bound_gauss(ends: list[acb], corners: list[acb], masses: list[arb], ellipse: Fraction, points: int,
                epsilon: arb) -> arb:
    """Bound the error of a piece's panels: panels * r * (64/15) U rho^{-2n} / (1 - rho^{-2}), r half a panel's length.

    U bounds |integrand| on the ellipses: its bound, `masses` times e^{-x eps}, is largest at a corner.
    """
    rho = ball(ellipse)
    supremum = largest([mass * (-z.real * epsilon).exp() for z, mass in zip(corners, masses, strict=True)])
    half_length = (ends[1] - ends[0]).abs_upper() / 2
    return upper_end(half_length * supremum * 64 / 15 * rho ** (-2 * points) / (1 - rho**-2))


@proved_by("T187-rays")
def _sum_ray(ray: RayValues, epsilon: arb) -> acb:
    """Enclose the sum of a ray's terms times e^{-z eps}: its phases at a level's offsets are squares of the last's."""
    phases, total = [(-offset * epsilon).exp() for offset in ray.offsets], acb(0)
    for n, level in enumerate(ray.levels):
        phases = [phase * phase for phase in phases] if n else phases
        middles = acb_mat([[(-z * epsilon).exp() for z in level.middles]])
        total += (middles * (level.terms * acb_mat([[phase] for phase in phases])))[0, 0]
    return total


@proved_by("T187-rays")
def _bound_beyond(ray: RayValues, epsilon: arb) -> arb:
    """Bound (1/pi) int |integrand| upwards from the end z_e of a ray, where the products fall and
    int |dz / (z(z+1))| <= pi / (2 |z_e|).
    """
    return upper_end(ray.beyond * (-ray.top.real * epsilon).exp() / (2 * ray.top.abs_lower()))
