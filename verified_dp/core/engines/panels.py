"""The contour method on a bent path: Gauss-Legendre panels along a polygon, for few compositions (T17 to T20).

With few steps the transform decays slowly along a vertical line, but it decays faster along a path that bends away
from the axis, and there it oscillates slowly. The path starts at c > 0 on the real axis, climbs through the corners of
a polygon and ends with a vertical ray:

    D(eps) = (1/pi) Im int_path M(z) e^{-z eps} / (z(z+1)) dz.

Each straight block is cut into equal panels, so that baby and giant steps still make it one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from flint import acb, acb_mat, arb, arb_mat, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import (
    NodeRule,
    NodeSet,
    bound_node_errors,
    bound_on_line,
    bound_transforms,
    count_nodes,
    enclose_nodes,
    work_of_nodes,
)
from verified_dp.core.engines.powers import Column, enclose_products
from verified_dp.core.kernel.balls import BOUND_BITS, all_powers, ball, gauss_rule, largest, smallest, upper_end
from verified_dp.core.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, IMPOSSIBLE, Work, entry_bytes, nothing, paced, words

MAX_POINTS = 2048
"""Gauss-Legendre points of a panel; searches use 16 to 128. A root costs some products per point."""

Corner = tuple[Fraction, Fraction]
"""A point of the path: (abscissa, frequency)."""


@dataclass(frozen=True)
class Block:
    """A straight piece up to `end`: `panels` equal panels of `points` Gauss points, on ellipses of parameter `ellipse`.

    nodes: one rule per law for the transform on the piece; bound_nodes: one per law for |M| on the ellipses.
    """

    end: Corner
    panels: int
    points: int
    ellipse: Fraction
    nodes: tuple[NodeRule, ...]
    bound_nodes: tuple[NodeRule, ...]

    def work(self, loss: ComposedLoss, prec: int) -> Work:
        """Of all nodes at all Gauss points."""
        if not 2 <= self.points <= MAX_POINTS:
            return Work(IMPOSSIBLE)
        nodes, frequencies = count_nodes(self.nodes), abs(self.panels) * self.points
        sides = abs(self.panels) + self.points
        products = nodes * frequencies + EXPONENTIAL * (nodes * sides + frequencies * (len(self.nodes) + 1))
        bounds = 16 * EXPONENTIAL * (work_of_nodes(loss, self.nodes) + work_of_nodes(loss, self.bound_nodes))
        memory = (nodes * sides + 4 * frequencies) * entry_bytes(prec)
        return Work((products + self.points**2) * words(prec) + bounds, memory)


@dataclass(frozen=True)
class BlockValues:
    """A block before eps is known: terms = weight * M / (z(z+1)) dz at points z, their errors; corner bounds.

    terms, quadrature, node_tail: a row for each panel, a column for each Gauss point. z = middle + offset.
    """

    middles: list[acb]
    offsets: list[acb]
    terms: acb_mat
    ends: list[acb]
    quadrature: arb_mat
    node_tail: arb_mat
    corners: list[acb]
    corner_masses: list[arb]


@proved_by("T19-line-integral", "T20-panel-enclosure")
def _evaluate_block(loss: ComposedLoss, start: Corner, block: Block, prec: int) -> BlockValues:
    with ctx.workprec(BOUND_BITS):
        ends = [acb(ball(x), ball(w)) for x, w in (start, block.end)]
        errors = [_worst(bound_node_errors(law, rule, ends))
                  for (law, _), rule in zip(lines(loss).node_parts, block.nodes, strict=True)]
        corners = rectangle(ends, block.panels, block.ellipse)
        masses = _bound_integrand(loss, block, corners)
    with ctx.workprec(prec):
        first, last = (acb(ball(x), ball(w)) for x, w in (start, block.end))
        half = (last - first) / (2 * block.panels)
        gauss = gauss_rule(block.points)
        middles = [first + half * (2 * i + 1) for i in range(block.panels)]
        offsets = [half * x for x, _ in gauss]
        columns = [_enclose_transforms(enclose_nodes(law, rule), middles[0], 2 * half, block.panels, offsets)
                   for (law, _), rule in zip(lines(loss).node_parts, block.nodes, strict=True)]
        weights = [half * weight for _ in middles for _, weight in gauss]
        sums = _assemble(loss, [z + offset for z in middles for offset in offsets], weights, columns, errors)
        shape = block.panels, block.points
        return BlockValues(middles, offsets, acb_mat(*shape, sums[0]), ends, arb_mat(*shape, sums[1]),
                           arb_mat(*shape, sums[2]), corners, masses)


@proved_by("T12-powers")
def _assemble(loss: ComposedLoss, points: list[acb], weights: list[acb], columns: list[list[acb]],
              errors: list[tuple[arb, arb]]) -> tuple[list[acb], list[arb], list[arb]]:
    """The terms at the points, and what the transforms' errors add to each, by source."""
    products = enclose_products(
        [Column(column, *error, count)
         for column, error, (_, count) in zip(columns, errors, lines(loss).node_parts, strict=True)],
        [loss.enclose_gaussian_exponent(z) for z in points])
    factors = [weight / (z * (z + 1)) for z, weight in zip(points, weights, strict=True)]
    quadrature, node_tail = products.bound_each_error([factor.abs_upper() for factor in factors])
    return [x * factor for x, factor in zip(products.values, factors, strict=True)], quadrature, node_tail


@proved_by("T20-panel-enclosure")
def _enclose_transforms(nodes: NodeSet, first: acb, stride: acb, count: int, offsets: list[acb]) -> list[acb]:
    """Enclose sum_j W_j(first + i stride + offset) for i < count and all offsets, i by i: one matrix product."""
    return enclose_on_panels(nodes, first, stride, count, acb_mat(turns_of(nodes, offsets)))


@proved_by("T20-panel-enclosure")
def enclose_on_panels(nodes: NodeSet, first: acb, stride: acb, count: int, turns: acb_mat) -> list[acb]:
    """The same from e^{loss offset}, one row per node."""
    leaps = all_powers([(loss * stride).exp() for loss in nodes.losses], count)
    return sums_of_leaps(nodes.weights(first), leaps, turns)


@proved_by("T20-panel-enclosure")
def sums_of_leaps(weights: list[acb], leaps: list[list[acb]], turns: acb_mat) -> list[acb]:
    """Enclose sum_j weight_j leap_j turn_j for each row of leaps and each column of turns, leaps by leaps."""
    giant = acb_mat([[weight * leap for weight, leap in zip(weights, row, strict=True)] for row in leaps])
    return [value for row in (giant * turns).tolist() for value in row]


def turns_of(nodes: NodeSet, offsets: list[acb]) -> list[list[acb]]:
    """Enclose e^{loss offset} at the offsets of a Gauss rule: those of the second half are minus those of the first."""
    table = [[(loss * offset).exp() for offset in offsets[: (len(offsets) + 1) // 2]] for loss in nodes.losses]
    return [half + [1 / turn for turn in half[: len(offsets) // 2][::-1]] for half in table]


@proved_by("T20-panel-enclosure")
def _worst(errors: list[tuple[arb, arb]]) -> tuple[arb, arb]:
    """The bounds at the ends of a straight piece bound it all: they are log-convex along it (T20)."""
    return largest([quadrature for quadrature, _ in errors]), largest([tail for _, tail in errors])


@proved_by("T20-panel-enclosure")
def rectangle(ends: list[acb], panels: int, ellipse: Fraction) -> list[acb]:
    """The corners of the rectangle along the piece that holds every panel's ellipse."""
    first, last = ends
    rho = ball(ellipse)
    half = (last - first) / (2 * panels)
    along = half * ((rho + 1 / rho) / 2 - 1)
    across = half * acb(0, 1) * ((rho - 1 / rho) / 2)
    return [first - along - across, first - along + across, last + along - across, last + along + across]


@proved_by("T20-panel-enclosure")
def _bound_products(loss: ComposedLoss, rules: Sequence[NodeRule], corners: list[acb]) -> list[arb]:
    """Bound |M| of the composition on the polygon of `corners` by log-convex values, Gaussian steps by a supremum."""
    lowest = smallest([z.imag for z in corners]).max(arb(0))
    gaussian = largest([loss.enclose_gaussian_exponent(acb(z.real)).real for z in corners])
    gaussian += loss.enclose_gaussian_exponent(acb(0, lowest)).real
    log_bounds = [gaussian for _ in corners]
    for (law, count), rule in zip(lines(loss).node_parts, rules, strict=True):
        bounds = _bound_law(law, rule, corners)
        log_bounds = [total + count * bound.log() for total, bound in zip(log_bounds, bounds, strict=True)]
    return [upper_end(bound.exp()) for bound in log_bounds]


@proved_by("T20-panel-enclosure")
def _bound_law(law: MixtureLines, rule: NodeRule, corners: list[acb]) -> list[arb]:
    """Bound one law's |M| at the corners: cells of the line alone (half-width 0), or a node sum and its error."""
    if not rule.half_width:
        return bound_on_line(law, rule, corners)
    return bound_transforms(enclose_nodes(law, rule), bound_node_errors(law, rule, corners), corners)


@proved_by("T20-panel-enclosure")
def _bound_integrand(loss: ComposedLoss, block: Block, corners: list[acb]) -> list[arb]:
    """Bound |M / (z(z+1))| at the corners, the kernel by its largest value on the whole rectangle."""
    left, low = smallest([z.real for z in corners]), smallest([z.imag for z in corners])
    kernel = left.max(low) * (left + 1).max(low)
    if not left.max(low) > 0:
        return [arb.pos_inf() for _ in corners]
    return [upper_end(bound / kernel) for bound in _bound_products(loss, block.bound_nodes, corners)]


@proved_by("T17-gauss-legendre", "T20-panel-enclosure")
def bound_panels(values: BlockValues, block: Block, epsilon: Fraction) -> arb:
    """Bound the Gauss-Legendre error of a block."""
    return bound_gauss(values.ends, values.corners, values.corner_masses, block.ellipse, block.points, ball(epsilon))


@proved_by("T17-gauss-legendre", "T20-panel-enclosure")
def bound_gauss(ends: list[acb], corners: list[acb], masses: list[arb], ellipse: Fraction, points: int,
                epsilon: arb) -> arb:
    """Bound it: panels * r * (64/15) U rho^{-2n} / (1 - rho^{-2}), r = half a panel's length.

    U bounds |integrand| on the ellipses: its bound, `masses` times e^{-x eps}, is largest at a corner.
    """
    rho = ball(ellipse)
    supremum = largest([mass * (-z.real * epsilon).exp() for z, mass in zip(corners, masses, strict=True)])
    half_length = (ends[1] - ends[0]).abs_upper() / 2
    return upper_end(half_length * supremum * 64 / 15 * rho ** (-2 * points) / (1 - rho**-2))


@proved_by("T12-powers")
def _sum_block(values: BlockValues, epsilon: arb) -> tuple[acb, arb, arb]:
    """(sum of the terms times e^{-z eps}, the sums of their quadrature errors and node tails times |e^{-z eps}|)."""
    sides = [[(-z * epsilon).exp() for z in places] for places in (values.middles, values.offsets)]
    total = acb_mat([sides[0]]) * values.terms * acb_mat([[turn] for turn in sides[1]])
    with ctx.workprec(BOUND_BITS):
        rows, columns = ([turn.abs_upper() for turn in turns] for turns in sides)
        left, right = arb_mat([rows]), arb_mat([[size] for size in columns])
        quadrature, node_tail = ((left * errors * right)[0, 0] for errors in (values.quadrature, values.node_tail))
    return total[0, 0], quadrature, node_tail


@dataclass(frozen=True)
class PanelWitness:
    """The start c > 0 on the real axis, the blocks upwards from it, the rules for |M| on the last ray, the bits."""

    tilt: Fraction
    blocks: tuple[Block, ...]
    ray_nodes: tuple[NodeRule, ...]
    prec: int

    kind: ClassVar[str] = "panels"
    method: ClassVar[str] = "contour"

    @proved_by("T18-contour-shift")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions of T18 and T17 that are plain comparisons of exact numbers; every law must have nodes."""
        laws, heights = len(lines(loss).node_parts), [Fraction(0)] + [block.end[1] for block in self.blocks]
        climbs = all(low < high for low, high in pairwise(heights))
        shaped = all(block.panels >= 1 and block.points >= 2 and block.ellipse > 1
                     and len(block.nodes) == len(block.bound_nodes) == laws for block in self.blocks)
        return laws == len(loss.parts) and self.tilt > 0 and climbs and shaped and len(self.blocks) >= 1 and (
            len(self.ray_nodes) == laws)

    @proved_by("T12-powers", "T18-contour-shift")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> PanelValues:
        """Enclose the composed transform along the path, and bound everything else that does not depend on eps."""
        start: Corner = (self.tilt, Fraction(0))
        blocks = []
        for block in paced(self.blocks, between):
            blocks.append(_evaluate_block(loss, start, block, self.prec))
            start = block.end
        with ctx.workprec(BOUND_BITS):
            top = acb(ball(start[0]), ball(start[1]))
            beyond = _bound_products(loss, self.ray_nodes, [top])[0]
        return PanelValues(self, blocks, top, beyond)

    def work(self, loss: ComposedLoss) -> Work:
        """Of all blocks, and of the bound on the ray."""
        parts = [block.work(loss, self.prec) for block in self.blocks]
        bounds = 8 * EXPONENTIAL * work_of_nodes(loss, self.ray_nodes)
        return Work(sum(part.units for part in parts) + bounds, sum(part.memory for part in parts))


@dataclass(frozen=True)
class PanelValues:
    """All blocks, and the bound of |M| on the final ray that starts at `top`."""

    witness: PanelWitness
    blocks: list[BlockValues]
    top: acb
    beyond: arb

    @proved_by("T01-inversion", "T05-frequency-truncation", "T18-contour-shift", "T20-panel-enclosure")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose D(eps) = (1/pi) Im int_path, panel errors, transform errors and the final ray on both sides."""
        with ctx.workprec(self.witness.prec):
            sums = [_sum_block(block, ball(epsilon)) for block in self.blocks]
            total = sum((part for part, _, _ in sums), acb(0)).imag / arb.pi()
        with ctx.workprec(BOUND_BITS):
            errors = {
                "quadrature": sum((size for _, size, _ in sums), arb(0)) / arb.pi(),
                "node_tail": sum((size for _, _, size in sums), arb(0)) / arb.pi(),
                "panels": sum((bound_panels(block, shape, epsilon) for block, shape
                               in zip(self.blocks, self.witness.blocks, strict=True)), arb(0)) / arb.pi(),
                "frequency_tail": self.beyond * (-self.top.real * ball(epsilon)).exp() / (arb.pi() * self.top.imag),
            }
        with ctx.workprec(self.witness.prec):
            return bounds_from_sum(total, errors, {"aliasing": arb(0)})
