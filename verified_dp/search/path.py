"""Choose a bent path for few compositions: follow the valley of |M e^{-z eps}|, cut it into panels, choose node rules."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from verified_dp.kernel.nodes import NodeRule
from verified_dp.kernel.panels import Block, PanelWitness
from verified_dp.search.line import dyadic, kept_window, node_rule
from verified_dp.search.saddle import Saddle
from verified_dp.search.transforms import FloatLaw, FloatLoss

_FRACTIONS = np.concatenate([[0.004, 0.01, 0.025], np.linspace(0.05, 0.92, 18)])
"""Heights of the integration lines tried, as fractions of the strip."""
_POINTS = (8, 12, 16, 24, 32, 48, 64)


class LineTable:
    """log of int |integrand| on many lines at once, for one law, at any (x, w)."""

    def __init__(self, law: FloatLaw) -> None:
        self.law = law
        self.heights = _FRACTIONS * min(law.strip, 40 * law.s)
        self._low, self._high, self._fine = 0.0, 0.0, math.inf

    def _prepare(self, x: float, w: float) -> None:
        """A grid that covers the lobes at x and is about as fine as the integrand's peak is narrow at w."""
        law = self.law
        low, high = -law.window(max(x, 0.0))[0], max(law.window(max(x, 0.0))[1], 1 - x + 11 * law.s)
        fine = min(law.s, law.strip / 2, 20 * law.variance / math.sqrt(1 + abs(w))) / 4
        if low <= -self._low and high <= self._high and fine >= self._fine:
            return
        self._low, self._high, self._fine = min(self._low, -1.2 * low), max(self._high, 1.3 * high), min(self._fine, 0.7 * fine)
        t = np.linspace(self._low, self._high, int(min(5000.0, max(60.0, (self._high - self._low) / self._fine))))
        rows = [law.shifted(t, float(height)) for height in self.heights]
        self._base, self._loss, self._angle = (np.array([row[i] for row in rows]) for i in range(3))
        self._base += math.log(t[1] - t[0])

    def logs(self, x: float, w: float) -> np.ndarray:
        """One value per height."""
        self._prepare(x, w)
        exponents = self._base + x * self._loss - w * self._angle
        top = exponents.max(axis=1)
        return top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))


@dataclass
class Landscape:
    """log |M e^{-z eps} / z^2| bounded over the plane, for a composition."""

    loss: FloatLoss
    epsilon: float
    tables: list[LineTable]

    @property
    def spread(self) -> float:
        """The largest noise multiplier: it scales how far the path bends."""
        return max((law.s for law, _ in self.loss.parts), default=1.0)

    def parts(self, x: float, w: float) -> list[np.ndarray]:
        return [table.logs(x, w) for table in self.tables]

    def rest(self, x: float, w: float, reach: float) -> float:
        """Everything but the laws: Gaussian steps, e^{-z eps}, 1/z^2."""
        gaussian = self.loss.mean_shift_squared / 2 * (x * (x + 1) - max(w, 0.0) ** 2)
        return gaussian - x * self.epsilon - 2 * math.log(reach)

    def value(self, x: float, w: float) -> float:
        laws = sum(count * float(logs.min()) for logs, (_, count) in zip(self.parts(x, w), self.loss.parts, strict=True))
        return laws + self.rest(x, w, max(abs(x), w))


def _valley(landscape: Landscape, start: float, reach: float, w: float) -> float:
    """The abscissa between start and start + reach where the landscape at height w is lowest (it is convex there)."""
    low, high = 0.0, reach
    for _ in range(9):
        a, b = low + 0.38 * (high - low), low + 0.62 * (high - low)
        low, high = (low, b) if landscape.value(start + a, w) < landscape.value(start + b, w) else (a, high)
    return start + (low + high) / 2


def climb(landscape: Landscape, saddle: Saddle, target: float) -> list[tuple[float, float]] | None:
    """Corners of the path: up the valley in doubling heights until the rest of the way is negligible."""
    x, w = saddle.tilt, min(saddle.tilt, 4 / math.sqrt(saddle.curvature))
    direction = -1.0 if landscape.loss.parts and landscape.loss.parts[0][0].order == "add" else 1.0
    corners = [(x, 0.0)]
    for _ in range(60):
        x = _valley(landscape, x, direction * 0.8 * landscape.spread * math.sqrt(w), w)
        corners.append((x, w))
        if landscape.value(x, w) + math.log(w) < target:
            return corners
        w *= 1.8
    return None


@dataclass(frozen=True)
class PieceShape:
    """How a straight piece is cut, its predicted number of points, and the height that bounds |M| best, per law."""

    panels: int
    points: int
    ellipse: float
    corners: list[tuple[float, float]]


def _rectangle(start: tuple[float, float], end: tuple[float, float], along: float, across: float) -> list[tuple[float, float]]:
    length = math.dist(start, end)
    u = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    return [(p[0] + sign * along * u[0] - side * across * u[1], p[1] + sign * along * u[1] + side * across * u[0])
            for p, sign in ((start, -1), (end, 1)) for side in (1, -1)]


def _log_supremum(landscape: Landscape, corners: list[tuple[float, float]]) -> float:
    """The log of the bound on the rectangle: one height per law serves all corners."""
    nearest = max(min(x for x, _ in corners), min(w for _, w in corners))
    if nearest <= 0:
        return math.inf
    low = max(0.0, min(w for _, w in corners))
    totals = np.array([landscape.rest(x, low, nearest) for x, _ in corners])
    for i, (_, count) in enumerate(landscape.loss.parts):
        logs = np.array([landscape.tables[i].logs(x, w) for x, w in corners])
        best = int((logs + totals[:, None] / count).max(axis=0).argmin())
        totals = totals + count * logs[:, best]
    return float(totals.max())


def _cut(landscape: Landscape, start: tuple[float, float], end: tuple[float, float], target: float) -> PieceShape | None:
    """Choose panels, Gauss points and ellipse with the fewest points."""
    length = math.dist(start, end)
    widest = 0.8 * start[0] if start[1] == 0 else 0.9 * start[1]
    best: PieceShape | None = None
    for across in np.geomspace(min(widest / 4, length / 4, 0.3 * landscape.spread * math.sqrt(end[1])), widest, 7):
        shape = _cut_with(landscape, start, end, target, float(across))
        if shape and (best is None or shape.panels * shape.points < best.panels * best.points):
            best = shape
    return best


def _cut_with(landscape: Landscape, start: tuple[float, float], end: tuple[float, float], target: float,
              across: float) -> PieceShape | None:
    length, best = math.dist(start, end), None
    along = 0.5 * across
    for _ in range(2):
        supremum = _log_supremum(landscape, _rectangle(start, end, along, across))
        if not math.isfinite(supremum):
            return None
        excess = max(1.0, supremum + math.log(length * 64 / 15) - target)
        best = None
        for points in _POINTS:
            rho = math.exp(min(3.5, excess / (2 * points) + 0.01))
            if rho ** (-2 * points) * math.exp(min(700.0, excess)) > 1.5:
                continue
            radius = 2 * across / (rho - 1 / rho)
            panels = max(1, math.ceil(length / (2 * radius)))
            if best is None or panels * points < best[0] * best[1]:
                best = panels, points, rho
        if best is None:
            return None
        panels, points, rho = best
        radius = length / (2 * panels)
        rho = min(rho, 60.0)
        along = radius * ((rho + 1 / rho) / 2 - 1) * 1.02
    panels, points, rho = best
    radius = length / (2 * panels)
    used = radius * (rho - 1 / rho) / 2
    return PieceShape(panels, points, rho, _rectangle(start, end, along, used))


def _cell(law: FloatLaw, w: float) -> float:
    """The widest step at which the cells of T19 still bound the integrand well."""
    return min(0.35 * law.s, law.strip / 4, 4 * law.variance / math.sqrt(1 + abs(w)))


def _choose_rule(law: FloatLaw, table: LineTable, ends: list[tuple[float, float]], wants: np.ndarray,
                 only: int | None = None) -> tuple[NodeRule, float]:
    """The widest step whose error at ends[i] is below e^wants[i], and the log of sum |W_j|. `only`: a given height's index."""
    heights = table.heights
    sizes = np.array([table.logs(x, w) for x, w in ends])
    excess = (sizes - wants[:, None]).max(axis=0) + 2.5
    if only is None:
        lower, upper = np.triu_indices(len(heights), 1)
        centres, halves = (heights[lower] + heights[upper]) / 2, (heights[upper] - heights[lower]) / 2
        errors = np.maximum(excess[lower], excess[upper])
    else:
        centre = _vertex(heights, excess, only)
        halves = np.geomspace(0.02, 1, 24) * min(centre, heights[-1] - centre) * 0.999
        centres = np.full_like(halves, centre)
        errors = np.maximum(_smooth(heights, excess, centre - halves), _smooth(heights, excess, centre + halves))
    steps = 2 * math.pi * halves / np.maximum(errors, 1.0)
    best = int(steps.argmax())
    height = float(centres[best])
    step = min(float(steps[best]), _cell(law, max(w for _, w in ends)))
    half = float(halves[best])
    gain = 2 * math.pi * half / step  # the neighbouring lines' tails are divided by e^gain
    lines = ((height, -1.0), (height - half, gain - 1), (height + half, gain - 1))
    windows = [kept_window(law, x, float(want) + extra, line, max(w, 0.0))
               for (x, w), want in zip(ends, wants, strict=True) for line, extra in lines]
    rule = node_rule(height, half, step, min(a for a, _ in windows), max(b for _, b in windows))
    return rule, max(float(_smooth(heights, size, np.array([height]))[0]) for size in sizes)


def _smooth(xs: np.ndarray, ys: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Piecewise parabolic interpolation."""
    i = np.clip(np.searchsorted(xs, at), 1, len(xs) - 2)
    x0, x1, x2, y0, y1, y2 = xs[i - 1], xs[i], xs[i + 1], ys[i - 1], ys[i], ys[i + 1]
    first, second = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    return y1 + (at - x1) * (first + (at - x0) * (second - first) / (x2 - x0))


def _vertex(xs: np.ndarray, ys: np.ndarray, i: int) -> float:
    """Where the parabola through a discrete minimum and its neighbours is lowest."""
    fine = np.linspace(xs[max(i - 1, 0)], xs[i + 1], 41)
    return float(fine[int(_smooth(xs, ys, fine).argmin())])


def _block_rules(landscape: Landscape, start: tuple[float, float], end: tuple[float, float], shape: PieceShape,
                 target: float) -> tuple[Block, float]:
    """Node rules of a piece; the bits of precision it needs."""
    nodes, bits, ends = [], 0.0, [start, end]
    totals = np.array([landscape.value(x, max(w, 1e-9)) for x, w in ends])
    room = target - totals - math.log(math.dist(start, end))
    for table, (law, count) in zip(landscape.tables, landscape.loss.parts, strict=True):
        best = np.array([table.logs(*p).min() for p in ends])
        wants = best + np.minimum(room - math.log(count) - 2, 0.0)
        rule, size = _choose_rule(law, table, ends, wants)
        bits = max(bits, (size - float(wants.min())) / math.log(2))
        nodes.append(rule)
    block = Block((dyadic(end[0]), dyadic(end[1])), shape.panels, shape.points, dyadic(shape.ellipse, 12),
                  tuple(nodes), _bound_rules(landscape, shape.corners))
    return block, bits


def _bound_rules(landscape: Landscape, corners: list[tuple[float, float]]) -> tuple[NodeRule, ...]:
    """One rule per law whose error hardly adds to the largest bound over the corners."""
    logs = [np.array([table.logs(x, w) for x, w in corners]) for table in landscape.tables]
    rest = np.array([landscape.rest(x, w, 1.0) for x, w in corners])
    best, totals = [], rest
    for sizes, (_, count) in zip(logs, landscape.loss.parts, strict=True):
        index = min(int((sizes + rest[:, None] / count).max(axis=0).argmin()), sizes.shape[1] - 3)
        best.append(index)
        totals = totals + count * sizes[:, index]
    slack = totals.max() - totals
    return tuple(
        _choose_rule(law, table, corners, sizes[:, i] + slack / count - math.log(count) - 2, i)[0]
        for (law, count), table, sizes, i in zip(landscape.loss.parts, landscape.tables, logs, best, strict=True))


@dataclass(frozen=True)
class PathPlan:
    """A path cut into pieces, with the predicted number of points."""

    landscape: Landscape
    corners: list[tuple[float, float]]
    shapes: list[PieceShape]
    target: float
    bits: float

    @property
    def count(self) -> int:
        return sum(shape.panels * shape.points for shape in self.shapes)


def plan_path(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float) -> PathPlan | None:
    """Choose a path and its panels for a relative error 2^-bits; None where no path was found."""
    target = saddle.log_delta - bits * math.log(2) - 3
    landscape = Landscape(loss, epsilon, [LineTable(law) for law, _ in loss.parts])
    corners = climb(landscape, saddle, target)
    if corners is None:
        return None
    aim = target - math.log(len(corners))
    shapes = [_cut(landscape, a, b, aim) for a, b in zip(corners, corners[1:], strict=False)]
    if any(shape is None for shape in shapes):
        return None
    return PathPlan(landscape, corners, [shape for shape in shapes if shape], aim, bits)


def choose_path(plan: PathPlan) -> PanelWitness:
    """Turn a plan into a witness."""
    blocks, need = [], 0.0
    for start, end, shape in zip(plan.corners, plan.corners[1:], plan.shapes, strict=False):
        block, bits = _block_rules(plan.landscape, start, end, shape, plan.target)
        blocks.append(block)
        need = max(need, bits)
    top = plan.corners[-1]
    return PanelWitness(dyadic(plan.corners[0][0]), tuple(blocks), _bound_rules(plan.landscape, [top]), math.ceil(need + 30))
