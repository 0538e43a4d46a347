"""Choose the witness of a line: step, number of frequencies, node rules, alias exponents, precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.search.deadline import check_time
from verified_dp.search.models import FloatFamily, FloatLoss
from verified_dp.search.saddle import Saddle, saddle_at
from verified_dp.search.transforms import FloatLaw, Floats, geometric, log_sums


def dyadic(value: float, bits: int = 24) -> Fraction:
    """A nearby dyadic with few bits, so that witnesses stay short."""
    mantissa, exponent = math.frexp(value)
    number, shift = round(mantissa * 2**bits), exponent - bits
    return Fraction(number << shift) if shift >= 0 else Fraction(number, 1 << -shift)


def as_float(epsilon: Fraction) -> float:
    """eps for the search, cut to +-1e300."""
    try:
        return min(max(float(epsilon), -1e300), 1e300)
    except OverflowError:
        return 1e300 if epsilon > 0 else -1e300


def _smallest(accept: Callable[[float], bool], low: float, high: float, ratio: float = 1.02) -> float:
    """The smallest argument, within a few percent, that a monotone test accepts."""
    while high / low > ratio:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if accept(middle) else (middle, high)
    return high


_SHARES = (1.0, 0.87, 0.75, 0.62, 0.5)
"""Tilts tried, as shares of the saddle point: to the left the aliases fall faster, and the sum needs more bits."""


_LEFT, _TURNS = np.linspace(0.04, 0.98, 20), np.linspace(0.02, 0.49, 24)
"""Exponents of the alias bounds as shares of the tilt, heights of lines as shares of the strip."""
_FEW_NODES = 5000
"""So many nodes are made in no time."""


@dataclass(frozen=True)
class LinePlan:
    """A line before its tail rules are chosen, in floating point, with the predicted number of frequencies.

    bits: accuracy asked, relative to delta; excess: how many more are needed relative to the sum's largest term.
    laws: how many each family has.
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

    @property
    def count(self) -> int:
        return max(1, math.ceil(self.omega / self.step))

    @property
    def seconds(self) -> float:
        """A rough prediction of the kernel's time."""
        sizes = [rule.last - rule.first for rule in self.nodes]
        per_frequency = 3e-5 + sum(laws * (3e-5 + 1.5e-7 * size) for laws, size in zip(self.laws, sizes, strict=True))
        per_frequency += 1.5e-7 * self.direct_nodes
        made = sum(laws * max(0, size - _FEW_NODES) for laws, size in zip(self.laws, sizes, strict=True)) * 5e-5
        return (self.count * per_frequency + made) * max(1.0, self.bits / 100)


def plan_line(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float,
              shares: Sequence[float] = _SHARES, length: float = 0.0) -> LinePlan:
    """Choose the tilt among shares of the saddle point, nodes, the period by the alias bounds, the cut-off.

    length: how far beyond eps the line is used too (`search.stretch`).
    """
    target = saddle.log_delta - bits * math.log(2) - 2
    spread = max((law.s for law, _ in loss.parts), default=1.0)
    aliases = Aliases(loss, epsilon, saddle.tilt, 3.5 * spread, target)
    c = min((share * saddle.tilt for share in shares), key=lambda tilt: aliases.period(tilt, math.inf, length)[0])
    excess = max(0.0, saddle_at(loss, epsilon, c).log_delta - saddle.log_delta) / math.log(2)
    wanted = bits + excess + 4 + math.log2(len(loss.families) or 1)
    nodes = tuple(choose_family_nodes(family, c, wanted) for family in loss.families)
    reach = min((_reach(family, c, rule) for family, rule in zip(loss.families, nodes, strict=True)),
                default=31 * c + 30)
    period, right, left = Aliases(loss, epsilon, c, reach - c, target).period(c, reach, length)
    lines = [tail_lines(family, c) for family in loss.families]
    omega = _choose_cutoff(loss, epsilon, c, target, lines)
    direct = sum(law.nodes(c, omega) for law, _ in loss.direct)
    laws = tuple(family.laws for family in loss.families)
    return LinePlan(c, bits, excess, 2 * math.pi / period, omega, right, left, nodes, lines, laws, direct)


def _reach(family: FloatFamily, c: float, rule: NodeRule) -> float:
    """The largest exponent tried at which the errors of these nodes still are small against M / count there."""
    tried = geometric(0.02, 31, 14)
    return min(_reach_of(law, count, c, tried * (c + law.s), _own(family, law, rule)) for law, count in family.ends)


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


def _reach_of(law: FloatLaw, count: float, c: float, steps: np.ndarray, own: OwnRule) -> float:
    line, most, reach = own.height * own.height / (2 * law.variance), -2 - math.log(count), c + steps[0] / 2
    for tried in np.split(c + steps, (5, 10)):  # the far ones ask for long grids and are seldom reached
        strips = law.strip_growth(tried, 2 * own.height) - 2 * math.pi * own.half_width / own.step
        lifts = line + law.cosine_growth(tried, own.height) - law.log_masses(tried)
        tails = [law.log_tails_beyond(tried, end, side) for end, side in ((-own.low, -1), (own.high, 1))]
        refused = np.flatnonzero(np.maximum(strips, np.maximum(*tails) + lifts) > most)
        if len(refused):
            return float(tried[refused[0] - 1] if refused[0] else reach)
        reach = tried[-1]
    return float(reach)


class Aliases:
    """The alias bounds at many exponents to both sides of a tilt: what period they ask for."""

    def __init__(self, loss: FloatLoss, epsilon: float, tilt: float, reach: float, target: float) -> None:
        self.exponents = np.concatenate([tilt * _LEFT, tilt + reach * geometric(1e-3, 1, 20)])
        self.logs = loss.log_masses(self.exponents) - self.exponents * epsilon - target
        self.at_zero = -target

    def period(self, tilt: float, reach: float, length: float) -> tuple[float, float, float]:
        """(X, right, left): the least period, with the exponents that show it."""
        distance = self.exponents - tilt
        with np.errstate(divide="ignore", invalid="ignore"):
            periods = self.logs / np.abs(distance)
        rights = np.where((distance > 0) & (self.exponents <= reach), periods, np.inf)
        lefts = np.where(distance < -1e-3 * tilt, periods, np.inf)
        right, left = int(rights.argmin()), int(lefts.argmin())
        best = (float(lefts[left]), float(self.exponents[left]))
        best = min(best, (self.at_zero / tilt, 0.0))
        return max(float(rights[right]), best[0] + length, 1e-6), float(self.exponents[right]), best[1]


@dataclass(frozen=True)
class Lines:
    """Lines of many heights (about the steepest-descent one) for a family: log |W_j| and Im v_j on a float grid.

    heights: in the leader's scale. rows: of each law (count, bases, angles), one row per height.
    """

    heights: np.ndarray
    rows: list[tuple[float, np.ndarray, np.ndarray]]

    def logs(self, omega: float, near: slice = slice(None)) -> np.ndarray:
        """log of what all laws' bounds of |M(c + i omega)| multiply to, for each height, or for some."""
        return np.asarray(sum(count * log_sums(bases[near] - omega * angles[near])
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
        t = law.grid(c, 100)
        bases, losses, angles = law.lines(t, turns * law.variance)
        rows.append((count, bases + c * losses + math.log(t[1] - t[0]), angles))
    return Lines(turns * family.leader.variance, rows)


def choose_cutoff(loss: FloatLoss, epsilon: float, c: float, target: float) -> float:
    """The smallest frequency beyond which the sum is negligible, e^target at most; 1e15 where there is none."""
    return _choose_cutoff(loss, epsilon, c, target, [tail_lines(family, c) for family in loss.families])


def _choose_cutoff(loss: FloatLoss, epsilon: float, c: float, target: float, lines: Sequence[Lines]) -> float:
    """From a Gaussian's cut-off on, first by all heights and then by those about the best one of each family."""
    def accept(omega: float) -> bool:
        size = loss.log_beyond(c, omega) + sum(
            float(line.logs(omega, heights).min()) for line, heights in zip(lines, near, strict=True))
        return size - c * epsilon - math.log(math.pi * omega) < target

    near = [slice(None)] * len(lines)
    k0, _, k2 = loss.cumulants(c)
    high = min(max(math.sqrt(2 * max(k0 - c * epsilon - target, 1.0) / max(k2, 1e-300)), 2e-3), 1e15)
    low = high / 2
    while high < 1e15 and not accept(high):
        low, high = high, min(4 * high, 1e15)
    while low > 1e-3 and accept(low):
        low, high = max(low / 4, 1e-3), low
    high = _smallest(accept, low, high, 1.5)
    near = [_about(int(line.logs(high).argmin())) for line in lines]
    return _smallest(accept, high / 1.5, high)


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


def choose_family_nodes(family: FloatFamily, c: float, bits: float) -> NodeRule:
    """Choose the rule with the fewest nodes whose errors are below 2^-bits M(c) / count for every law of a family."""
    check_time()
    wants = [(law, (bits + math.log2(count)) * math.log(2)) for law, count in family.ends]
    turns = _TURNS * min(min(law.strip, 2.2 * law.s * math.sqrt(want)) / law.variance
                                              for law, want in wants)
    steps, lows, highs = (np.full(len(turns), end) for end in (math.inf, math.inf, -math.inf))
    for law, want in wants:
        heights, (scale, offset) = turns * law.variance, family.place(law)
        step = np.minimum(2 * math.pi * heights / (want + law.strip_growth(c, 2 * heights) + 1), 1.9 * law.s)
        low, high = kept_window(law, c, law.cumulants(c)[0] - want, heights)
        steps = np.minimum(steps, step / scale)
        lows = np.minimum(lows, (low - offset) / scale)
        highs = np.maximum(highs, (np.maximum(high, law.room(c)) - offset) / scale)
    best = int(((highs - lows) / steps).argmin())
    height = float(turns[best]) * family.leader.variance
    return node_rule(height, height, float(steps[best]), float(lows[best]), float(highs[best]))


def kept_window(law: FloatLaw, x: float, log_size: float, height: Floats) -> tuple[Floats, Floats]:
    """Ends beyond which T10's tails at x are below e^log_size, for each height."""
    target = log_size - np.square(height) / (2 * law.variance) - law.cosine_growth(max(x, 0.0), height)
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
    widths = geometric(1e-3, 1, 40) * min(
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
    for family, rule, lines in zip(loss.families, plan.nodes, plan.lines, strict=True):
        tails.append(choose_family_tail(family, c, plan.omega, lines, len(loss.families)))
        for law, count in family.ends:
            amplification = law.strip_growth(c, _own(family, law, rule).height) / math.log(2)
            size = math.log2(1 + abs(law.cumulants(c)[0]))
            extra = max(extra, math.log2(count) + 1.5 * float(amplification) + size)
    for direct, count in loss.direct:
        extra = max(extra, math.log2(count) + math.log2(1 + abs(direct.cumulants(c)[0])))
    return LineWitness(
        tilt=dyadic(c), step=dyadic(plan.step), count=plan.count, nodes=plan.nodes, tail_nodes=tuple(tails),
        right=dyadic(plan.right), left=dyadic(plan.left), prec=math.ceil(bits + extra + 24))
