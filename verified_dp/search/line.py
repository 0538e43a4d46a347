"""Choose the witness of a line: step, number of frequencies, node rules, alias exponents, precision."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from verified_dp.kernel.contour import LineWitness
from verified_dp.kernel.nodes import NodeRule
from verified_dp.search.saddle import Saddle
from verified_dp.search.transforms import FloatLaw, FloatLoss, log_sum


def dyadic(value: float, bits: int = 24) -> Fraction:
    """A nearby dyadic with few bits, so that witnesses stay short."""
    mantissa, exponent = math.frexp(value)
    return Fraction(round(mantissa * 2**bits)) * Fraction(2) ** (exponent - bits)


def _smallest(accept: Callable[[float], bool], low: float, high: float, ratio: float = 1.02) -> float:
    """The smallest argument, within a few percent, that a monotone test accepts."""
    while high / low > ratio:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if accept(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class LinePlan:
    """A line before its node rules are chosen, in floating point, with the predicted number of frequencies."""

    saddle: Saddle
    epsilon: float
    bits: float
    step: float
    omega: float
    right: float
    left: float
    nodes: tuple[NodeRule, ...]

    @property
    def count(self) -> int:
        return max(1, math.ceil(self.omega / self.step))


def plan_line(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float) -> LinePlan:
    """Choose nodes, the period from the alias bounds and the cut-off from the tail bound, for a relative error 2^-bits."""
    target = saddle.log_delta - bits * math.log(2) - 3
    c = saddle.tilt
    nodes = tuple(choose_nodes(law, c, bits + math.log2(count) + 6) for law, count in loss.parts)
    reach = min([_reach(law, c, rule, bits) for (law, _), rule in zip(loss.parts, nodes, strict=True)] + [31 * c + 30])
    period, right, left = _choose_period(loss, epsilon, c, target, reach)
    omega = _choose_cutoff(loss, epsilon, c, target)
    return LinePlan(saddle, epsilon, bits, 2 * math.pi / period, omega, right, left, nodes)


def _reach(law: FloatLaw, c: float, rule: NodeRule, bits: float) -> float:
    """The largest exponent at which these nodes still bound M well."""
    reach = 31 * c + 30
    if law.order != "remove":
        cosine = law.cosine_growth(1.0, 2 * float(rule.height))
        reach = min(reach, c + 0.5 * bits * math.log(2) / max(cosine, 1e-9))
    if law.order != "add":
        reach = min(reach, max(float(rule.step * rule.last) - 1 - 4 * law.s, c + 0.1 * law.s))
    return reach


def _choose_period(loss: FloatLoss, epsilon: float, c: float, target: float, reach: float) -> tuple[float, float, float]:
    rights = c + (reach - c) * np.geomspace(1e-3, 1, 20)
    lefts = c * np.linspace(0.1, 0.9, 7)
    right_logs = np.array([loss.cumulants(float(x))[0] - x * epsilon for x in rights])
    left_logs = np.append([loss.cumulants(float(x))[0] - x * epsilon for x in lefts], 0.0)
    lefts = np.append(lefts, 0.0)

    def sizes(period: float) -> tuple[np.ndarray, np.ndarray]:
        return right_logs - (rights - c) * period, left_logs - (c - lefts) * period

    period = _smallest(lambda x: all(side.min() < target for side in sizes(x)), 1e-6, 1e12)
    right, left = sizes(period)
    return period, float(rights[right.argmin()]), float(lefts[left.argmin()])


def _choose_cutoff(loss: FloatLoss, epsilon: float, c: float, target: float) -> float:
    lines = [tail_lines(law, c, count) for law, count in loss.parts]

    def accept(omega: float) -> bool:
        size = loss.mean_shift_squared / 2 * (c * (c + 1) - omega * omega)
        for table, (_, count) in zip(lines, loss.parts, strict=True):
            size += count * min(log_sum(base - omega * angle) for base, angle in table[1])
        return size - c * epsilon - math.log(math.pi * omega) < target

    return _smallest(accept, 1e-3, 1e15)


def tail_lines(law: FloatLaw, c: float, count: float) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """For a range of heights (about the steepest-descent one of `count` steps): log |W_j| and Im v_j on a float grid."""
    t = law.grid(c, 200)
    highest = min(0.49 * law.strip, 12 * law.s)
    if law.order != "remove":
        highest = min(highest, law.variance * math.sqrt(160 / c))
    lowest = min(highest / 2, law.s / math.sqrt(count))
    shifts = np.geomspace(lowest, highest, 10 + int(2 * math.log(highest / lowest)))
    step = math.log(t[1] - t[0])
    table = []
    for height in shifts:
        base, loss, angle = law.shifted(t, float(height))
        table.append((base + c * loss + step, angle))
    return shifts, table


def node_rule(height: float, half_width: float, step: float, low: float, high: float) -> NodeRule:
    """A rule in short dyadics; the half-width is rounded down so that it stays admissible."""
    short = dyadic(step)
    return NodeRule(dyadic(height), dyadic(half_width * (1 - 1e-6)), short,
                    math.floor(low / short), math.ceil(high / short))


def choose_nodes(law: FloatLaw, c: float, bits: float) -> NodeRule:
    """Choose the rule with the fewest nodes whose quadrature and tail errors are below 2^-bits M(c)."""
    want = bits * math.log(2)
    best = math.inf, 0.0, 0.0, 0.0, 0.0
    for height in np.linspace(0.02, 0.49, 24) * min(law.strip, 2.2 * law.s * math.sqrt(want)):
        step = min(2 * math.pi * height / (want + law.strip_growth(c, 2 * height) + 1), 1.9 * law.s)
        low, high = kept_window(law, c, law.cumulants(c)[0] - want, height)
        if (high - low) / step < best[0]:
            best = (high - low) / step, float(height), step, low, high
    _, height, step, low, high = best
    return node_rule(height, height, step, low, high)


def kept_window(law: FloatLaw, x: float, log_size: float, height: float, w: float = 0.0) -> tuple[float, float]:
    """Ends beyond which T10's tails at x + iw are below e^log_size."""
    target = log_size - height * height / (2 * law.variance) - law.cosine_growth(max(x, 0.0), height)
    low = _first(lambda end: law.log_left_tail(x, -end) < target, law.s)
    high = _first(lambda end: law.log_right_tail(x, end) - w * law.angle(end, height) < target, law.s)
    return -low, high


def _first(accept: Callable[[float], bool], unit: float) -> float:
    """The first point, to a twentieth of `unit`, from which on a test accepts (a monotone test)."""
    high = unit
    while not accept(high):
        high *= 2
    low = high / 2 if high > unit else 0.0
    while high - low > unit / 20:
        middle = (low + high) / 2
        low, high = (low, middle) if accept(middle) else (middle, high)
    return high


def choose_tail_nodes(law: FloatLaw, c: float, omega: float, count: float) -> NodeRule:
    """Choose the line that bounds |M(c+iw)| best at w = omega."""
    shifts, table = tail_lines(law, c, count)
    best = min(range(len(shifts)), key=lambda i: log_sum(table[i][0] - omega * table[i][1]))
    height = float(shifts[best])
    want = (4 + math.log2(count)) * math.log(2)
    widths = np.geomspace(1e-3, 1, 40) * min(0.49 * law.strip, 2 * law.s * math.sqrt(want))
    steps = [2 * math.pi * b / (want + 1 + law.modulus_growth(c, height, float(b))) for b in widths]
    widest = int(np.argmax(steps))
    return node_rule(height, float(widths[widest]), min(steps[widest], 1.9 * law.s), *kept_window(law, c, law.cumulants(c)[0] - want, height))


def choose_line(loss: FloatLoss, plan: LinePlan) -> LineWitness:
    """Turn a plan into a witness."""
    c, bits = plan.saddle.tilt, plan.bits
    tails, extra = [], 0.0
    for (law, count), rule in zip(loss.parts, plan.nodes, strict=True):
        tails.append(choose_tail_nodes(law, c, plan.omega, count))
        amplification = law.strip_growth(c, float(rule.height)) / math.log(2)
        size = math.log2(1 + abs(law.cumulants(c)[0]))
        extra = max(extra, math.log2(count) + 1.5 * amplification + size)
    return LineWitness(
        tilt=dyadic(c), step=dyadic(plan.step), count=plan.count, nodes=plan.nodes, tail_nodes=tuple(tails),
        right=dyadic(plan.right), left=dyadic(plan.left), prec=math.ceil(bits + extra + 24))
