"""Choose a bent path for few compositions: near the valley of |M e^{-z eps}|, cut into panels, with node rules."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.engines.panels import Block, PanelWitness
from verified_dp.search.landscape import Landscape, LawTable, law_table
from verified_dp.search.line import dyadic, node_rule
from verified_dp.search.models import FloatLoss
from verified_dp.search.saddle import Saddle

Point = tuple[float, float]

_POINTS = np.array([8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128])
_ACROSS = np.geomspace(0.06, 2.5, 12)
_NEARBY = np.geomspace(0.5, 1.6, 5)
_BEND = 0.65
"""How far from the vertical line to the valley the path runs: beyond the valley the landscape rises steeply."""
_RATIO = 7.0
_MOST_BLOCKS = 60


def climb(landscape: Landscape, saddle: Saddle, target: float) -> list[Point] | None:
    """Corners of the path, up at growing heights until the rest of the way is negligible."""
    side = -1.0 if landscape.tables and landscape.tables[0].law.order == "add" else 1.0
    w, bend = min(saddle.tilt, 4 / math.sqrt(saddle.curvature)), 0.3
    corners = [(saddle.tilt, 0.0)]
    for _ in range(_MOST_BLOCKS):
        bend = _valley(landscape, saddle.tilt, side, w, bend)
        heights = w * np.geomspace(0.5, 1, 9) if len(corners) > 1 else np.array([w])
        shifts = np.minimum(_BEND * bend * landscape.spread * np.sqrt(heights), heights / 2)
        xs = saddle.tilt + side * shifts
        enough = np.flatnonzero(landscape.values(xs, heights) + np.log(heights) < target - 1)
        i = int(enough[0]) if len(enough) else -1
        corners.append((float(xs[i]), float(heights[i])))
        if len(enough):
            return corners
        w *= _RATIO
    return None


def _valley(landscape: Landscape, tilt: float, side: float, w: float, near: float) -> float:
    """How far from the tilt, in units of spread * sqrt(w), the landscape at height w is lowest (it is convex there)."""
    low, high = near - 0.4, near + 0.6
    for _ in range(2):
        bends = np.clip(np.linspace(low, high, 8), 0.0, 2.5)
        logs = landscape.values(tilt + side * bends * landscape.spread * math.sqrt(w), np.full(8, w))
        best = int(logs.argmin())
        low, high = float(bends[max(best - 1, 0)]), float(bends[min(best + 1, 7)])
    return float(bends[best])


@dataclass(frozen=True)
class PieceShape:
    """How a straight piece is cut, its rectangle's corners, the lines (indices of heights) that bound |M| there."""

    panels: int
    points: int
    ellipse: float
    corners: np.ndarray
    heights: np.ndarray


def _rectangles(start: Point, end: Point, along: np.ndarray, across: np.ndarray) -> np.ndarray:
    """The corners of the rectangles around a piece, one row of 4 points for each pair of margins."""
    direction = np.subtract(end, start) / math.dist(start, end)
    normal = np.array([-direction[1], direction[0]])
    shifts = [(start, -1, -1), (start, -1, 1), (end, 1, -1), (end, 1, 1)]
    return np.stack([np.asarray(point) + np.outer(along * back, direction) + np.outer(across * turn, normal)
                     for point, back, turn in shifts], axis=1)


def _cut(landscape: Landscape, start: Point, end: Point, target: float, near: float | None,
         along: float = 0.5) -> PieceShape | None:
    """Choose panels, Gauss points and ellipse with the least work.

    near: the margin to expect, over spread sqrt(w). along: the margin at the ends, over the one at the sides.
    """
    length, scale = math.dist(start, end), landscape.spread * math.sqrt(end[1])
    across = (_ACROSS if near is None else near * _NEARBY) * scale
    across = across[across < (0.85 * start[0] if start[1] == 0 else 0.95 * max(start))]
    if not len(across):
        return None
    suprema, _ = landscape.suprema(_rectangles(start, end, along * across, across), slice(None, None, 2))
    best: tuple[float, float, int, float] | None = None
    for beta, supremum in zip(across, suprema, strict=True):
        if not math.isfinite(supremum):
            continue
        need = max(2.0, float(supremum) + math.log(length * 64 / 15) - target + 0.7)
        rho = np.exp(np.minimum(need / (2 * _POINTS), 3.5))
        panels = np.maximum(1, np.ceil(length * (rho - 1 / rho) / (4 * beta)))
        work = 120 * (1.4 * _POINTS + panels) + 30 * _POINTS * panels
        work = np.where(2 * np.log(rho) * _POINTS >= need * 0.999, work, np.inf)
        i = int(work.argmin())
        if best is None or work[i] < best[0]:
            best = float(work[i]), float(panels[i]), int(_POINTS[i]), float(rho[i])
    return _shape(landscape, start, end, target, *best[1:]) if best else None


def _shape(landscape: Landscape, start: Point, end: Point, target: float, panels: float, points: int,
           rho: float) -> PieceShape | None:
    """The piece with its true rectangle; more points where the guess fell short."""
    length = math.dist(start, end)
    radius = length / (2 * panels)
    along, across = radius * ((rho + 1 / rho) / 2 - 1), radius * (rho - 1 / rho) / 2
    rectangle = _rectangles(start, end, np.array([along]), np.array([across]))
    suprema, heights = landscape.suprema(rectangle)
    need = float(suprema[0]) + math.log(length * 64 / 15 / (1 - rho**-2)) - target
    if not math.isfinite(need):
        return None
    return PieceShape(int(panels), max(2, math.ceil(need / (2 * math.log(rho)))), rho, rectangle[0], heights[0])


def _bound_rules(landscape: Landscape, corners: np.ndarray, heights: np.ndarray) -> tuple[NodeRule, ...]:
    """One line per law, cut into cells so that the bound there is hardly above the integral where that is largest."""
    x, w = corners[:, 0], corners[:, 1]
    sizes = [table.logs(x, w)[:, i] for table, i in zip(landscape.tables, heights, strict=True)]
    totals = landscape.rest(x, float(w.min()), 1.0) + sum(
        table.count * size for table, size in zip(landscape.tables, sizes, strict=True))
    slack = totals.max() - totals
    return tuple(_cell_rule(table, x, w, int(i), size, slack / len(sizes) / table.count)
                 for table, i, size in zip(landscape.tables, heights, sizes, strict=True))


def _cell_rule(table: LawTable, x: np.ndarray, w: np.ndarray, index: int, sizes: np.ndarray,
               slack: np.ndarray) -> NodeRule:
    height = float(table.heights[index])
    step = table.coarsest_cells(x, w, index, 0.7 / table.count + slack)
    low, high = table.window(x, w, sizes + slack - math.log(table.count) - 2, height)
    return node_rule(height, 0.0, step, low, high)


def _node_rule(table: LawTable, ends: np.ndarray, wants: np.ndarray) -> tuple[NodeRule, float]:
    """The rule with the widest step whose error at ends[i] is below e^wants[i], and log of sum |W_j| over e^want."""
    x, w = ends[:, 0], ends[:, 1]
    sizes, heights = table.logs(x, w), table.heights
    excess = (sizes - wants[:, None]).max(axis=0) + 3
    lower, upper = np.triu_indices(len(heights), 1)
    centres, halves = (heights[lower] + heights[upper]) / 2, (heights[upper] - heights[lower]) / 2
    steps = 2 * math.pi * halves / np.maximum(np.maximum(excess[lower], excess[upper]), 1.0)
    cells = table.widest_cell(heights[upper])
    best = int((30 / np.minimum(steps, 1.9 * table.law.s) + 40 / cells).argmin())
    height, half, step = float(centres[best]), float(halves[best]), min(float(steps[best]), 1.9 * table.law.s)
    gain = 2 * math.pi * half / step  # the neighbouring lines' tails are divided by e^gain
    windows = [table.window(x, w, wants, height)] + [
        table.window(x, w, wants + gain - 1, height + sign * half) for sign in (-1, 1)]
    rule = node_rule(height, half, step, min(a for a, _ in windows), max(b for _, b in windows))
    cell = min(table.coarsest_cells(x, w, i, np.full(len(x), 2.0)) for i in (int(lower[best]), int(upper[best])))
    at_height = np.array([np.interp(height, heights, size) for size in sizes])
    return replace(rule, cells=math.ceil((rule.last - rule.first) * step / cell)), float((at_height - wants).max())


def _block(landscape: Landscape, start: Point, end: Point, shape: PieceShape, target: float) -> tuple[Block, float]:
    """Node rules of a piece; the bits of precision it needs."""
    nodes, bits, ends = [], 0.0, np.array([start, end])
    logs = [table.logs(ends[:, 0], ends[:, 1]).min(axis=1) for table in landscape.tables]
    totals = landscape.rest(ends[:, 0], ends[:, 1], np.maximum(np.abs(ends[:, 0]), ends[:, 1])) + sum(
        table.count * best for table, best in zip(landscape.tables, logs, strict=True))
    room = target - totals - math.log(math.dist(start, end))
    for table, best in zip(landscape.tables, logs, strict=True):
        wants = best + np.minimum(room - math.log(table.count) - 1, 0.0)
        rule, size = _node_rule(table, ends, np.full(2, wants.min()))  # the kernel takes the worse end's error for all
        bits = max(bits, size / math.log(2) + math.log2(4 + np.hypot(*end) * np.abs(table.loss[0]).max()))
        nodes.append(rule)
    block = Block((dyadic(end[0]), dyadic(end[1])), shape.panels, shape.points, dyadic(shape.ellipse, 12),
                  tuple(nodes), _bound_rules(landscape, shape.corners, shape.heights))
    return block, bits


@dataclass(frozen=True)
class PathPlan:
    """A path cut into pieces, in floating point."""

    landscape: Landscape
    corners: list[Point]
    shapes: list[PieceShape]
    target: float
    bits: float

    @property
    def count(self) -> int:
        """The number of points."""
        return sum(shape.panels * shape.points for shape in self.shapes)


def predicted_cost(plan: PathPlan) -> float:
    """About the number of points times the number of nodes, fixed work included (0.25 microseconds each)."""
    need = 3 * (0.7 * plan.bits + 10)
    nodes = sum(need * max(1.0, 0.9 * table.law.distance / table.law.s) for table in plan.landscape.tables)
    return nodes * sum(s.panels * s.points + 6.5 * s.points + 3.5 * s.panels + 80 for s in plan.shapes)


def plan_path(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float,
              others: Sequence[tuple[float, float]] = ()) -> PathPlan | None:
    """Choose a path and its panels for a relative error 2^-bits; None where no path was found. others: `Landscape`."""
    if not loss.parts:
        return None
    target = saddle.log_delta - bits * math.log(2) - 3
    with np.errstate(all="ignore"):
        landscape = Landscape(loss, epsilon, [law_table(law, count) for law, count in loss.parts], others)
        corners = climb(landscape, saddle, target)
        if corners is None:
            return None
        shapes = _cut_all(landscape, corners, target - math.log(len(corners)))
    return PathPlan(landscape, corners, shapes, target - math.log(len(corners)), bits) if shapes else None


def _cut_all(landscape: Landscape, corners: list[Point], aim: float) -> list[PieceShape] | None:
    """Cut every piece, each with the margin of the one before as a hint."""
    shapes: list[PieceShape] = []
    near = None
    for start, end in pairwise(corners):
        shape = _cut(landscape, start, end, aim, near) or _cut(landscape, start, end, aim, None, 1.0)
        if shape is None:
            return None
        shapes.append(shape)
        if start[1] > 0:
            near = math.dist(shape.corners[0], shape.corners[1]) / 2 / landscape.spread / math.sqrt(end[1])
    return shapes


def choose_path(plan: PathPlan) -> PanelWitness:
    """Turn a plan into a witness."""
    blocks, need = [], 0.0
    with np.errstate(all="ignore"):
        for start, end, shape in zip(plan.corners, plan.corners[1:], plan.shapes, strict=False):
            block, bits = _block(plan.landscape, start, end, shape, plan.target)
            blocks.append(block)
            need = max(need, bits)
        top = np.array([plan.corners[-1]])
        _, heights = plan.landscape.suprema(top[None])
        rules = _bound_rules(plan.landscape, top, heights[0])
    return PanelWitness(Fraction(dyadic(plan.corners[0][0])), tuple(blocks), rules, math.ceil(need + 12))
