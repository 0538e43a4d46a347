"""Choose the witness of a line: step, number of frequencies, node rules, alias exponents, precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.search.covers import Band, Gaussian, TooMany, choose_band
from verified_dp.search.deadline import check_time
from verified_dp.search.models import FloatFamily, FloatLoss
from verified_dp.search.saddle import Saddle, saddle_at
from verified_dp.search.transforms import FloatLaw, Floats, geometric, log_sums

if TYPE_CHECKING:
    from verified_dp.search.half_line import Panels


def dyadic(value: float, bits: int = 24) -> Fraction:
    """A nearby dyadic with few bits, so that witnesses stay short."""
    mantissa, exponent = math.frexp(value)
    number, shift = round(mantissa * 2**bits), exponent - bits
    return Fraction(number << shift) if shift >= 0 else Fraction(number, 1 << -shift)


def as_float(epsilon: Fraction) -> float:
    """eps for the search, cut to +-1e300."""
    top, bottom = epsilon.as_integer_ratio()
    try:
        found = top / bottom
    except OverflowError:
        return 1e300 if top > 0 else -1e300
    return found if -1e300 < found < 1e300 else math.copysign(1e300, found)


_SHARES = np.array([0.03, 0.05, 0.08, 0.13, 0.2, 0.28, 0.37, 0.46, 0.55, 0.65, 0.75, 0.82, 0.88, 0.94, 1.0])
"""Tilts tried, as shares of the saddle point: to the left the aliases fall faster, and the sum needs more bits."""
_RIGHT, _BELOW = geometric(0.25, 14, 18), geometric(0.05, 5, 18)
"""Exponents of the alias bounds right of the saddle point, in deviations of the tilted loss, and below -1, in tilts."""
_TURNS = np.linspace(0.02, 0.49, 24)
"""Heights of lines as shares of the strip."""
_SECOND_LINE = 4.0
"""A line that also shows the other order smaller may have so many times the frequencies."""
_FAR, _FINE = geometric(0.5, 32, 9), np.arange(1, 9) / 8
"""Cut-offs tried, as multiples of a Gaussian's, and between two of these."""
_WIDTHS = geometric(1e-3, 1, 40)
"""Half-widths of strips about the line of a tail."""
_FEW_BITS, _FEW_SHARE = 80.0, 0.5
"""Below so many bits a line costs about as the nodes times this power of the frequencies; above, times these."""
_CELL_SECONDS, _BLOCK, _MOST_CELLS = 3e-5, 10, 20_000
"""Of a cell of a cover; how many a block of them costs as well; no cover has more."""
_FEW_NODES = 5000
"""So many nodes are made in no time."""


@dataclass(frozen=True)
class LinePlan:
    """A line before its tail rules are chosen, in floating point, with the predicted number of frequencies.

    bits: accuracy asked, relative to delta; excess: how many more are needed relative to the sum's largest term.
    laws: how many each family has. panels: of the half-lines.
    """

    tilt: float
    bits: float
    excess: float
    step: float
    omega: float
    right: float
    left: float
    nodes: tuple[NodeRule, ...]
    lines: list[Lines]
    laws: tuple[int, ...]
    direct_nodes: int = 0
    panels: tuple[Panels, ...] = ()
    cover: tuple[tuple[int, int], ...] = ()

    @property
    def count(self) -> int:
        return max(1, math.ceil(self.omega / self.step))

    @property
    def seconds(self) -> float:
        """A rough prediction of the kernel's time."""
        sizes = [rule.last - rule.first for rule in self.nodes]
        made = sum(laws * (1e-3 + size * (8e-6 + 3e-7 * math.sqrt(self.count)) + 5e-5 * max(0, size - _FEW_NODES))
                   for laws, size in zip(self.laws, sizes, strict=True))
        per_frequency = 6e-6 + sum(laws * (6e-6 + 4e-8 * size) for laws, size in zip(self.laws, sizes, strict=True))
        per_frequency += 1.5e-7 * self.direct_nodes
        cells = _CELL_SECONDS * (sum(cells for cells, _ in self.cover) + _BLOCK * len(self.cover))
        return (self.count * per_frequency + made + cells) * max(1.0, self.bits / 60)


@dataclass(frozen=True)
class Shape:
    """The tilt, the period with the exponents that bound its aliases, bits that nodes lose at the tilt, and sums."""

    tilt: float
    period: float
    right: float
    left: float
    excess: float
    cancelled: float


def plan_line(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float, beside: float = math.inf,
              length: float = 0.0) -> LinePlan:
    """Choose the tilt and the period by the alias bounds, the cut-off, and nodes; beside, length: `choose_shape`."""
    shape = choose_shape(loss, epsilon, saddle, bits, beside=beside, length=length)
    target = log_error(saddle, bits)
    c, left, right = shape.tilt, shape.left, shape.right
    wanted = bits + shape.excess + 4 + math.log2(len(loss.ruled) or 1)
    nodes = tuple(choose_family_nodes(family, c, wanted, (left, right) if left else (right,))
                  for family in loss.ruled)
    step = 2 * math.pi / shape.period
    size = loss.cumulants(c)[0] - c * epsilon
    covered = None if loss.laws or loss.revealed else _cover(loss, c, float(dyadic(step)), target - size)
    lines = _all_lines(loss, c)
    omega = (covered.count - 0.5) * step if covered else _choose_cutoff(loss, epsilon, c, target, lines)
    panels = tuple(one.rest.panels(c, (right, left) if left else (right,), omega, wanted + math.log2(loss.count))
                   for one in loss.revealed if one.rest is not None)
    direct = sum(law.nodes(c, omega) for law, _ in loss.direct) + sum(2 * one.panels * one.points for one in panels)
    laws = tuple(family.laws for family in loss.ruled)
    if covered:
        bits = min(bits, (log_error(saddle, 0.0) - covered.log_rest - size) / math.log(2) + 1)
    return LinePlan(c, bits, shape.cancelled, step, omega, right, left, nodes, lines, laws, direct, panels,
                    covered.cells if covered else ())


def _cover(loss: FloatLoss, c: float, step: float, goal: float) -> Band | None:
    """Where all laws have a transform and two ends: few frequencies, and cells for those beyond. Raises TooMany."""
    curves = [curve for law, count in loss.direct if (curve := law.curve(c, count)) is not None]
    if not curves or len(curves) < len(loss.direct):
        return None
    found = choose_band([*curves, Gaussian(loss.mean_shift_squared)], step, c, goal, _MOST_CELLS)
    if found is None:
        raise TooMany(2.0)
    return found


def log_error(saddle: Saddle, bits: float) -> float:
    """log of what each error may be."""
    return saddle.log_delta - bits * math.log(2) - 2


def choose_shape(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float, most: float = math.inf,
                 beside: float = math.inf, length: float = 0.0) -> Shape:
    """The tilt and the right exponent where frequencies times nodes are fewest; most: bits that may be lost.

    beside: log of the error that delta(-eps) may have, if the line is read there too, where that costs little.
    length: how far beyond eps the line is used too, with the saddle's own tilt (`search.stretch`).
    """
    c, target = saddle.tilt, log_error(saddle, bits)
    above, below, logs, logs_below = loss.kept("masses", c, lambda: _masses_about(loss, c))
    tilts, exponents = above[:len(_SHARES)], np.concatenate([above, -1 - below])
    sizes = logs[:len(tilts)] - tilts * epsilon - np.log(tilts * (1 + tilts))
    excess = np.maximum(sizes - sizes[-1] + saddle_at(loss, epsilon, c).log_delta - saddle.log_delta, 0) / math.log(2)
    allowed, lost = np.maximum(excess, excess[-1]) <= max(most, excess[-1]), bits + excess
    window = _window(loss, above, logs, np.concatenate([lost, np.full(len(above) - len(lost), 0.0)]), lost)
    if len(below):
        logs = np.concatenate([logs, logs_below])
    distances = exponents - tilts[:, None]
    with np.errstate(divide="ignore"):
        periods = (logs - exponents * epsilon - target) / np.abs(distances)
    if len(below) and loss.laws:
        ends = _far_ends(loss, below, logs[len(above):], 0.0, below=True)
        periods[:, len(above):][ends > window[:, :1]] = np.inf
    if length:
        periods, allowed = periods + np.where(distances < 0, length, 0.0), tilts == c
    share = _FEW_SHARE if bits < _FEW_BITS and not length else 1.0
    at_zero, each = length - target / tilts, (lost * lost ** (share / 2))[:, None] * window
    lefts, period, cost = _periods(distances, periods, at_zero, np.where(allowed[:, None], each, np.inf), share)
    i, j = np.unravel_index(int(cost.argmin()), cost.shape)
    if beside < math.inf:
        with np.errstate(divide="ignore"):
            reversed_periods = (logs + exponents * epsilon - beside) / np.abs(distances)
        allowed &= log_error(saddle, bits) + 2 * tilts * epsilon < beside
        found = _periods(distances, np.maximum(periods, reversed_periods), np.maximum(at_zero, -beside / tilts),
                         np.where(allowed[:, None], each, np.inf), share)
        if found[2].min() < _SECOND_LINE * cost[i, j]:
            lefts, period, cost = found
            i, j = np.unravel_index(int(cost.argmin()), cost.shape)
    best, at_left = max(float(period[i, j]), 1e-6), lefts[i] <= max(float(period[i, j]), 1e-6)
    if not at_left.any():
        raise Unsupported("double precision does not tell where to put a line")
    left = float(np.append(exponents, 0.0)[at_left].max())
    at, known = float(tilts[i]), -math.log(math.expm1(min(float(tilts[i]) * (best - length), 700.0)))
    gone = [(size - saddle.log_delta) / math.log(2) for size in (saddle_at(loss, epsilon, at).log_delta, known)]
    return Shape(at, best, float(above[j]), left, max(0.0, gone[0]), max(0.0, *gone) if left < 0 else max(0.0, gone[0]))


def _masses_about(loss: FloatLoss, c: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Exponents about the tilt, first those tried as tilts, then to its right; x where -1 - x is tried; K at both."""
    above = np.concatenate([c * _SHARES, c + _RIGHT / math.sqrt(loss.cumulants(c)[2])])
    below = np.array([]) if loss.direct else (1 + c) * _BELOW
    return above, below, loss.log_masses(above), loss.log_masses_below(below) if len(below) else below


def _periods(distances: np.ndarray, periods: np.ndarray, at_zero: np.ndarray, each: np.ndarray, share: float
             ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each left exponent asks for; the periods for each tilt and right exponent; what they cost."""
    lefts = np.concatenate([np.where(distances < 0, periods, np.inf), at_zero[:, None]], axis=1)
    rights = np.where(distances > 0, periods, np.inf)[:, :each.shape[1]]
    period = np.maximum(rights, lefts.min(axis=1)[:, None])
    return lefts, period, np.maximum(period, 1e-6) ** share * each


def _window(loss: FloatLoss, exponents: np.ndarray, logs: np.ndarray, bits: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """About how long a window is for each tilt, with its bits, and each exponent, where few do."""
    if not loss.laws:
        return np.ones((len(lost), len(exponents)))
    ends = _far_ends(loss, exponents, logs, bits)
    sides = 1.2 * max(law.s for law, _ in loss.laws) * np.sqrt(lost)
    return sides[:, None] + np.maximum(np.maximum(sides, ends[:len(lost)])[:, None], ends)


def _far_ends(loss: FloatLoss, exponents: np.ndarray, logs: np.ndarray, bits: Floats,
              below: bool = False) -> np.ndarray:
    """About how far a window reaches for each exponent x, or -1 - x, by the noisiest law."""
    law, _ = max(loss.laws, key=lambda part: part[0].s)
    count = sum(count for _, count in loss.laws)
    targets = logs / count - bits * math.log(2) - 3 - math.log(count)
    return (law.reverse if below else law).far_end(exponents, targets)


class OwnRule(NamedTuple):
    """A rule in the scale of one law of its family."""

    height: float
    half_width: float
    step: float
    low: float
    high: float


def _own(family: FloatFamily, law: FloatLaw, rule: NodeRule) -> OwnRule:
    scale, offset = family.place(law)
    step = scale * float(rule.step)
    return OwnRule(scale * float(rule.height), scale * float(rule.half_width), step, step * rule.first + offset,
                   step * rule.last + offset)


@dataclass(frozen=True)
class Lines:
    """Lines of many heights (about the steepest-descent one) for a family: log |W_j| and Im v_j on a float grid.

    heights: in the leader's scale. rows: of each law (count, bases, angles), one row per height.
    """

    heights: np.ndarray
    rows: list[tuple[float, np.ndarray, np.ndarray]]

    def logs(self, omegas: Floats, near: slice = slice(None)) -> np.ndarray:
        """log of what all laws' bounds of |M(c + i omega)| multiply to: a row for each height, or for some."""
        if isinstance(omegas, float):
            return np.asarray(sum(count * log_sums(bases[near] - omegas * angles[near])
                                  for count, bases, angles in self.rows))
        across = omegas[:, None]
        return np.asarray(sum(count * log_sums(bases[near, None] - across * angles[near, None])
                              for count, bases, angles in self.rows))


def tail_lines(family: FloatFamily, c: float, count: float | None = None) -> Lines:
    """The lines on which the tail of the sum may be bounded; count: of steps, where it is not the family's."""
    check_time()
    highest = min(min(0.49 * law.strip, 12 * law.s, law.variance / law.turns * math.sqrt(160 / c) if law.turns
                      else math.inf) / law.variance for law, _ in family.ends)
    lowest = min(highest / 2, min(law.s / law.variance for law, _ in family.ends) / math.sqrt(count or family.count))
    turns = geometric(lowest, highest, 8 + int(1.5 * math.log(highest / lowest)))
    rows = []
    for law, count in family.parts:
        t = law.grid(c, 64)
        bases, losses, angles = law.lines(t, turns * law.variance)
        rows.append((count, bases + c * losses + math.log(t[1] - t[0]), angles))
    return Lines(turns * family.leader.variance, rows)


def choose_cutoff(loss: FloatLoss, epsilon: float, c: float, target: float) -> float:
    """The smallest frequency beyond which the sum is negligible, e^target at most; 1e15 where there is none."""
    return _choose_cutoff(loss, epsilon, c, target, _all_lines(loss, c))


def _all_lines(loss: FloatLoss, c: float) -> list[Lines]:
    return loss.kept("lines", c, lambda: [tail_lines(family, c) for family in loss.ruled])


def _choose_cutoff(loss: FloatLoss, epsilon: float, c: float, target: float, lines: Sequence[Lines]) -> float:
    """From half a Gaussian's cut-off on, first by all heights and then by those about the best one of each family."""
    k0, _, k2 = loss.cumulants(c)
    start = min(max(math.sqrt(2 * max(k0 - c * epsilon - target, 1.0) / max(k2, 1e-300)), 2e-3), 1e15)
    low, omegas, near = start * _FAR[0] / 2, start * _FAR, [slice(None)] * len(lines)
    while not len(small := np.flatnonzero(_sizes(loss, c, omegas, lines, near) < target + c * epsilon)):
        low, omegas = float(omegas[-1]), omegas * (_FAR[-1] / _FAR[0])
        if low > 1e15:
            return 1e15
    high = float(omegas[small[0]])
    low = float(omegas[small[0] - 1]) if small[0] else low
    near = [_about(int(line.logs(high).argmin())) for line in lines]
    fine = low * (high / low) ** _FINE
    found = np.flatnonzero(_sizes(loss, c, fine, lines, near) < target + c * epsilon)
    return float(fine[found[0]]) if len(found) else high


def _sizes(loss: FloatLoss, c: float, omegas: np.ndarray, lines: Sequence[Lines],
           near: Sequence[slice]) -> np.ndarray:
    """log of the bound of the sum beyond each of some cut-offs, without e^{-c eps}."""
    by_nodes = loss.joined([line.logs(omegas, heights).min(axis=0)
                            for line, heights in zip(lines, near, strict=True)], c)
    return np.asarray(loss.logs_beyond(c, omegas) + by_nodes - np.log(math.pi * omegas))


def _about(index: int) -> slice:
    return slice(max(index - 2, 0), index + 3)


def node_rule(height: float, half_width: float, step: float, low: float, high: float) -> NodeRule:
    """A rule in short dyadics; the half-width is rounded down so that it stays admissible."""
    short = dyadic(step)
    return NodeRule(dyadic(height), dyadic(half_width * (1 - 1e-6)), short,
                    math.floor(low / float(short)), math.ceil(high / float(short)))


def choose_nodes(law: FloatLaw, c: float, bits: float) -> NodeRule:
    """Choose the rule with the fewest nodes whose quadrature and tail errors are below 2^-bits M(c)."""
    return choose_family_nodes(FloatFamily.alone(law, 1.0), c, bits)


def choose_family_nodes(family: FloatFamily, c: float, bits: float, others: Sequence[float] = ()) -> NodeRule:
    """Choose the rule with the fewest nodes whose errors are below 2^-bits M(c) / count for every law of a family.

    others: exponents where they shall be small against M / count.
    """
    check_time()
    turns = _TURNS * min(min(law.strip, 2.2 * law.s * math.sqrt((bits + math.log2(count)) * math.log(2)))
                         / law.variance for law, count in family.ends)
    steps, lows, highs = (np.full(len(turns), end) for end in (math.inf, math.inf, -math.inf))
    for law, count in family.ends:
        heights, (scale, offset) = turns * law.variance, family.place(law)
        for x, want in ((c, bits * math.log(2)), *((x, 3.0) for x in others)):
            want += math.log(count)
            step = np.minimum(2 * math.pi * heights / (want + law.strip_growth(x, 2 * heights) + 1), 1.9 * law.s)
            low, high = kept_window(law, x, law.log_mass(x) - want, heights)
            steps = np.minimum(steps, step / scale)
            lows = np.minimum(lows, (low - offset) / scale)
            highs = np.maximum(highs, ((high if others else np.maximum(high, law.room(c))) - offset) / scale)
    best = int(((highs - lows) / steps).argmin())
    height = float(turns[best]) * family.leader.variance
    return node_rule(height, height, float(steps[best]), float(lows[best]), float(highs[best]))


def kept_window(law: FloatLaw, x: float, log_size: float, height: Floats) -> tuple[Floats, Floats]:
    """Ends beyond which T10's tails at x are below e^log_size, for each height."""
    target = log_size - np.square(height) / (2 * law.variance) - law.cosine_growth(x, height)
    return -law.ends(x, target, -1), law.ends(x, target, 1)


def choose_tail_nodes(law: FloatLaw, c: float, omega: float, count: float) -> NodeRule:
    """Choose the line that bounds |M(c+iw)| best at w = omega."""
    family = FloatFamily.alone(law, count)
    return choose_family_tail(family, c, omega, tail_lines(family, c))


def choose_family_tail(family: FloatFamily, c: float, omega: float, lines: Lines, families: int = 1) -> NodeRule:
    """Choose the line that bounds the product of a family's |M(c+iw)| best at w = omega, as one of so many families."""
    best = int(lines.logs(omega).argmin())
    turn = float(lines.heights[best]) / family.leader.variance
    decay = max(float(law.cumulants(c)[0] - log_sums(bases[best] - omega * angles[best]))
                for (law, _), (_, bases, angles) in zip(family.parts, lines.rows, strict=True))
    want = max(0.0, decay) + 3 + math.log(family.count * families)  # errors, relative to M(c), hide no decay
    widths = _WIDTHS * min(
        min(0.49 * law.strip, 2 * law.s * math.sqrt(want)) / law.variance for law, _ in family.ends)
    steps, low, high = np.full(len(widths), math.inf), math.inf, -math.inf
    for law, _ in family.ends:
        (scale, offset), height, halves = family.place(law), turn * law.variance, widths * law.variance
        step = np.minimum(2 * math.pi * halves / (want + 1 + law.modulus_growth(c, height, halves)), 1.9 * law.s)
        steps = np.minimum(steps, step / scale)
        ends = kept_window(law, c, law.cumulants(c)[0] - want, height)
        low, high = min(low, (float(ends[0]) - offset) / scale), max(high, (float(ends[1]) - offset) / scale)
    widest = int(steps.argmax())
    scale = family.leader.variance
    return node_rule(turn * scale, float(widths[widest]) * scale, float(steps[widest]), low, high)


def choose_line(loss: FloatLoss, plan: LinePlan) -> LineWitness:
    """Turn a plan into a witness."""
    c, bits = plan.tilt, plan.bits + plan.excess
    tails, extra = [], 0.0
    for family, rule, lines in zip(loss.ruled, plan.nodes, plan.lines, strict=True):
        tails.append(choose_family_tail(family, c, plan.omega, lines, len(loss.ruled)))
        for law, count in family.ends:
            amplification = law.strip_growth(c, _own(family, law, rule).height) / math.log(2)
            size = math.log2(1 + abs(law.cumulants(c)[0]))
            extra = max(extra, math.log2(count) + 1.5 * float(amplification) + size)
    for direct, count in loss.direct:
        extra = max(extra, math.log2(count) + math.log2(1 + abs(direct.cumulants(c)[0])))
    panels = iter(plan.panels)
    return LineWitness(
        tilt=dyadic(c), step=dyadic(plan.step), count=plan.count,
        nodes=loss.rules(plan.nodes, lambda _: panel_rule(next(panels))),
        tail_nodes=loss.rules(tails, lambda half_line: panel_rule(half_line.panels(
            c, (), 0.0, 8.0 + math.log2(1 + loss.count)))),
        right=dyadic(plan.right), left=dyadic(plan.left), prec=math.ceil(bits + extra + 24), cover=plan.cover)


def panel_rule(chosen: Panels) -> NodeRule:
    """How a witness states panels."""
    return NodeRule(dyadic(chosen.height), Fraction(0), dyadic(chosen.length), 1, chosen.panels, chosen.points)
