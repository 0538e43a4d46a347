"""Choose the witness of a line: step, number of frequencies, node rules, alias exponents, precision."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.search.deadline import check_time
from verified_dp.search.saddle import Saddle, saddle_at
from verified_dp.search.transforms import FloatLaw, FloatLoss, log_sums


def dyadic(value: float, bits: int = 24) -> Fraction:
    """A nearby dyadic with few bits, so that witnesses stay short."""
    mantissa, exponent = math.frexp(value)
    return Fraction(round(mantissa * 2**bits)) * Fraction(2) ** (exponent - bits)


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


_FEW_NODES = 5000
"""So many nodes are made in no time."""


@dataclass(frozen=True)
class LinePlan:
    """A line before its tail rules are chosen, in floating point, with the predicted number of frequencies.

    bits: accuracy asked, relative to delta; excess: how many more are needed relative to the sum's largest term.
    """

    tilt: float
    bits: float
    excess: float
    step: float
    omega: float
    right: float
    left: float
    nodes: tuple[NodeRule, ...]
    direct_nodes: int = 0

    @property
    def count(self) -> int:
        return max(1, math.ceil(self.omega / self.step))

    @property
    def seconds(self) -> float:
        """A rough prediction of the kernel's time."""
        per_frequency = 3e-5 + sum(3e-5 + 1.5e-7 * (rule.last - rule.first) for rule in self.nodes)
        per_frequency += 1.5e-7 * self.direct_nodes
        made = sum(max(0, rule.last - rule.first - _FEW_NODES) for rule in self.nodes) * 5e-5
        return (self.count * per_frequency + made) * max(1.0, self.bits / 100)


def plan_line(loss: FloatLoss, epsilon: float, saddle: Saddle, bits: float) -> LinePlan:
    """Choose tilt, nodes, the period from the alias bounds and the cut-off from the tail bound."""
    target = saddle.log_delta - bits * math.log(2) - 3
    spread = max((law.s for law, _ in loss.parts), default=1.0)
    tilts = [share * saddle.tilt for share in _SHARES]
    c = min(tilts, key=lambda tilt: _choose_period(loss, epsilon, tilt, target, tilt + 3.5 * spread)[0])
    excess = max(0.0, saddle_at(loss, epsilon, c).log_delta - saddle.log_delta) / math.log(2)
    nodes = tuple(choose_nodes(law, c, bits + excess + math.log2(count) + 6) for law, count in loss.parts)
    reaches = (_reach(law, c, rule, count) for (law, count), rule in zip(loss.parts, nodes, strict=True))
    reach = min(reaches, default=31 * c + 30)
    period, right, left = _choose_period(loss, epsilon, c, target, reach)
    omega = choose_cutoff(loss, epsilon, c, target)
    direct = sum(law.nodes(c, omega) for law, _ in loss.direct)
    return LinePlan(c, bits, excess, 2 * math.pi / period, omega, right, left, nodes, direct)


def _reach(law: FloatLaw, c: float, rule: NodeRule, count: float) -> float:
    """The largest exponent tried at which the errors of these nodes still are small against M / count there."""
    height, step = float(rule.height), float(rule.step)
    lines = height * height / (2 * law.variance)
    candidates = c + np.geomspace(0.02, 31, 14) * (c + law.s)
    reach = c + 0.01 * (c + law.s)
    for x, log_mass in zip(candidates.tolist(), law.log_masses(candidates).tolist(), strict=True):
        strip = law.strip_growth(x, 2 * height) - 2 * math.pi * float(rule.half_width) / step
        lift = lines + law.cosine_growth(x, height) - log_mass
        tails = max(law.log_left_tail(x, step * rule.first), law.log_right_tail(x, step * rule.last)) + lift
        if max(strip, tails) > -2 - math.log(count):
            break
        reach = x
    return reach


def _choose_period(loss: FloatLoss, epsilon: float, c: float, target: float,
                   reach: float) -> tuple[float, float, float]:
    rights = c + (reach - c) * np.geomspace(1e-3, 1, 20)
    lefts = np.append(c * np.linspace(0.1, 0.9, 7), 0.0)
    exponents = np.append(lefts[:-1], rights)
    logs = loss.log_masses(exponents) - exponents * epsilon
    left_logs, right_logs = np.append(logs[:7], 0.0), logs[7:]
    right_periods, left_periods = (right_logs - target) / (rights - c), (left_logs - target) / (c - lefts)
    right, left = int(right_periods.argmin()), int(left_periods.argmin())
    period = max(float(right_periods[right]), float(left_periods[left]), 1e-6)
    return period, float(rights[right]), float(lefts[left])


def choose_cutoff(loss: FloatLoss, epsilon: float, c: float, target: float) -> float:
    """The smallest frequency beyond which the sum is negligible, e^target at most; 1e15 where there is none."""
    lines = [tail_lines(law, c, count) for law, count in loss.parts]

    def accept(omega: float) -> bool:
        size = loss.log_beyond(c, omega)
        for (_, bases, angles), (_, count) in zip(lines, loss.parts, strict=True):
            size += count * float(log_sums(bases - omega * angles).min())
        return size - c * epsilon - math.log(math.pi * omega) < target

    return _smallest(accept, 1e-3, 1e15)


def tail_lines(law: FloatLaw, c: float, count: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Heights (about the steepest-descent one of `count` steps); for each log |W_j| and Im v_j on a float grid."""
    check_time()
    t = law.grid(c, 100)
    highest = min(0.49 * law.strip, 12 * law.s)
    if law.turns:
        highest = min(highest, law.variance / law.turns * math.sqrt(160 / c))
    lowest = min(highest / 2, law.s / math.sqrt(count))
    heights = np.geomspace(lowest, highest, 8 + int(1.5 * math.log(highest / lowest)))
    rows = [law.shifted(t, float(height)) for height in heights]
    bases = np.array([base + c * loss for base, loss, _ in rows]) + math.log(t[1] - t[0])
    return heights, bases, np.array([angle for _, _, angle in rows])


def node_rule(height: float, half_width: float, step: float, low: float, high: float) -> NodeRule:
    """A rule in short dyadics; the half-width is rounded down so that it stays admissible."""
    short = dyadic(step)
    return NodeRule(dyadic(height), dyadic(half_width * (1 - 1e-6)), short,
                    math.floor(low / short), math.ceil(high / short))


def choose_nodes(law: FloatLaw, c: float, bits: float) -> NodeRule:
    """Choose the rule with the fewest nodes whose quadrature and tail errors are below 2^-bits M(c)."""
    check_time()
    want = bits * math.log(2)
    best, log_mass = (math.inf, 0.0, 0.0, 0.0, 0.0), law.cumulants(c)[0]
    for height in np.linspace(0.02, 0.49, 24) * min(law.strip, 2.2 * law.s * math.sqrt(want)):
        step = min(2 * math.pi * height / (want + law.strip_growth(c, 2 * height) + 1), 1.9 * law.s)
        low, high = kept_window(law, c, log_mass - want, height)
        high = max(high, law.room(c))
        if (high - low) / step < best[0]:
            best = (high - low) / step, float(height), step, low, high
    _, height, step, low, high = best
    return node_rule(height, height, step, low, high)


def kept_window(law: FloatLaw, x: float, log_size: float, height: float) -> tuple[float, float]:
    """Ends beyond which T10's tails at x are below e^log_size."""
    target = log_size - height * height / (2 * law.variance) - law.cosine_growth(max(x, 0.0), height)
    return -law.end(x, target, -1), law.end(x, target, 1)


def choose_tail_nodes(law: FloatLaw, c: float, omega: float, count: float) -> NodeRule:
    """Choose the line that bounds |M(c+iw)| best at w = omega."""
    heights, bases, angles = tail_lines(law, c, count)
    sizes = log_sums(bases - omega * angles)
    height = float(heights[sizes.argmin()])
    decay = max(0.0, law.cumulants(c)[0] - float(sizes.min()))
    want = decay + 3 + math.log(count)  # the rule's errors, relative to M(c), must not hide the decay
    widths = np.geomspace(1e-3, 1, 40) * min(0.49 * law.strip, 2 * law.s * math.sqrt(want))
    steps = [2 * math.pi * b / (want + 1 + law.modulus_growth(c, height, float(b))) for b in widths]
    widest = int(np.argmax(steps))
    window = kept_window(law, c, law.cumulants(c)[0] - want, height)
    return node_rule(height, float(widths[widest]), min(steps[widest], 1.9 * law.s), *window)


def choose_line(loss: FloatLoss, plan: LinePlan) -> LineWitness:
    """Turn a plan into a witness."""
    c, bits = plan.tilt, plan.bits + plan.excess
    tails, extra = [], 0.0
    for (law, count), rule in zip(loss.parts, plan.nodes, strict=True):
        tails.append(choose_tail_nodes(law, c, plan.omega, count))
        amplification = law.strip_growth(c, float(rule.height)) / math.log(2)
        size = math.log2(1 + abs(law.cumulants(c)[0]))
        extra = max(extra, math.log2(count) + 1.5 * amplification + size)
    for direct, count in loss.direct:
        extra = max(extra, math.log2(count) + math.log2(1 + abs(direct.cumulants(c)[0])))
    return LineWitness(
        tilt=dyadic(c), step=dyadic(plan.step), count=plan.count, nodes=plan.nodes, tail_nodes=tuple(tails),
        right=dyadic(plan.right), left=dyadic(plan.left), prec=math.ceil(bits + extra + 24))
