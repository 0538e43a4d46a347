"""Choose one Renyi order and the tangents of the optimal bound, in floating point; whatever is chosen bounds delta.

All orders are written l = renyi_order - 1 > 0; K(l) = log M(l).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.moment import MomentWitness
from verified_dp.core.engines.node_moment import moment_witness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.engines.rules import RuleLaw
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import MomentBound, ZCDPLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.deadline import timed
from verified_dp.search.line import choose_nodes, dyadic
from verified_dp.search.transforms import FloatLaw

SMALLEST, LARGEST = 1e-7, 1e7
"""Between which l is sought."""
FAR, FARTHEST = 1e10, 1e30
"""The same for selections beside them; and where only bounds on divergences and Gaussian steps are composed, whose
moments cost nothing."""
LEAST_BOUND = -3e5
"""Of which logarithm a bound on delta is small enough: past the largest loss they fall in l without end."""
FARTHEST_RULE = 1e4
"""Of a few laws in the place of all, no larger l where a moment is a quadrature: its nodes grow with l."""
_PREC = 96
AnyLaw = TypeVar("AnyLaw", bound=Law)
_GOLDEN = (math.sqrt(5) - 1) / 2


class Order(NamedTuple):
    """A choice: l, log of the bound it should give, the tangent at u = low and that at e^eps times high."""

    exponent: float
    log_bound: float
    low: float = 0.0
    high: float = 0.0


class MomentModel:
    """K(l) of a composition in floating point: node laws by quadrature, all others by their own ball code.

    most: about so many of the laws of each kind stand for all, each for those that are most like it; None: all laws.
    """

    def __init__(self, loss: ComposedLoss, most: int | None = None) -> None:
        self.loss, self.most = loss, most
        self.groups = _chunks(sorted(lines(loss).sampled_parts, key=lambda part: _revealed(part[0])), most)
        self.nodes = [(FloatLaw(law), count) for law, count in map(_middle, self.groups)]
        others: list[tuple[Law, int]] = [part for part in loss.parts if not isinstance(part[0], SampledGaussianLoss)]
        self.others = [_middle(chunk) for chunk in _chunks(others, most)]
        self._known: dict[float, float] = {}

    @property
    def largest(self) -> float:
        """The largest l that is tried: within the stated orders, and with not too many nodes."""
        ends = [float(law.corners[-1][0]) for law, _ in self.others if isinstance(law, RenyiLoss)]
        ends += [FARTHEST_RULE for law, _ in self.others if self.most and isinstance(law, RuleLaw)]
        stated, bounded = (all(isinstance(law, kind) for law, _ in self.loss.parts)
                           for kind in (RenyiLoss | ZCDPLoss, MomentBound))
        most = FARTHEST if stated else FAR if bounded else LARGEST
        return min([most, *ends, *(1000 * min(law.s, law.strip) for law, _ in self.nodes)])

    def log_moment(self, exponent: float) -> float:
        """K(l); +inf where no bound is known."""
        if exponent not in self._known:
            self._known[exponent] = self._evaluate(exponent)
        return self._known[exponent]

    def _evaluate(self, exponent: float) -> float:
        total = float(self.loss.mean_shift_squared) / 2 * exponent * (exponent + 1)
        total += sum(count * law.cumulants(exponent)[0] for law, count in self.nodes)
        with ctx.workprec(_PREC):
            return total + sum(count * (_log_moment_of_mixture(law, exponent) if isinstance(law, MixtureLoss)
                                        else float(law.bound_log_moment(arb(exponent))))
                               for law, count in timed(self.others))


def _log_moment_of_mixture(law: MixtureLoss, exponent: float) -> float:
    """As `MixtureLoss.enclose_moment`, which is slow where there are many components."""
    above, below = (np.array([(float(mean), float(ball(weight).log())) for mean, weight in side])
                    for side in (law.above, law.below))
    factor = exponent * (exponent + 1) / (2 * float(law.sigma) ** 2)
    single = np.logaddexp.reduce(above[:, 1] + factor * np.subtract.outer(below[:, 0], above[:, 0]) ** 2, axis=1)
    return float(min(np.logaddexp.reduce(below[:, 1] + single), (single - exponent * below[:, 1]).min()))


def _chunks(parts: Sequence[tuple[AnyLaw, int]], most: int | None) -> list[Sequence[tuple[AnyLaw, int]]]:
    """About `most` runs of neighbours, or each alone."""
    size = 1 if most is None else -(-len(parts) // most)
    return [parts[i : i + size] for i in range(0, len(parts), max(size, 1))]


def _revealed(law: SampledGaussianLoss) -> float:
    """log of q^2 / s^2: laws of equal size are alike."""
    model = FloatLaw(law)
    return 2 * model.log_q - math.log(model.variance)


def _middle(parts: Sequence[tuple[AnyLaw, int]]) -> tuple[AnyLaw, float]:
    """One of them, as often as all are taken."""
    return parts[len(parts) // 2][0], float(sum(count for _, count in parts))


def log_factor(exponent: float) -> float:
    """log C(l) = l log l - (1+l) log(1+l)."""
    return -exponent * math.log1p(1 / exponent) - math.log1p(exponent)


def choose_order(model: MomentModel, epsilon: float, conversion: str, steps: int = 48) -> Order:
    """The order with the least bound by that conversion ("mironov", "canonne" or "asoodeh")."""
    def rough(exponent: float) -> float:
        size = model.log_moment(exponent) - exponent * epsilon
        return max(size if conversion == "mironov" else size + log_factor(exponent), LEAST_BOUND)

    best = _least(rough, SMALLEST, model.largest, steps)
    if conversion != "asoodeh":
        return Order(best, rough(best))
    low, high = max(best / 32, SMALLEST), min(best * 32, model.largest)
    best = _least(lambda exponent: max(at_order(model, exponent, epsilon).log_bound, LEAST_BOUND), low, high, 32)
    return at_order(model, best, epsilon)


def least_order(model: MomentModel, log_target: float, steps: int) -> float:
    """The l whose bound without a tangent reaches the target first."""
    return _least(lambda exponent: epsilon_at(exponent, model.log_moment(exponent), log_target),
                  SMALLEST, model.largest, steps)


def epsilon_at(exponent: float, log_moment: float, log_target: float) -> float:
    """Where the bound of one order without a tangent, e^(K(l) + log C(l) - l eps), is the target."""
    return (log_moment + log_factor(exponent) - log_target) / exponent


def choose_variance_order(model: MomentModel, epsilon: float) -> tuple[float, float]:
    """(l with the least variance form, the standard deviation of S tilted by it), K's derivatives by differences."""
    def tilted(exponent: float) -> tuple[float, float, float]:
        mesh = exponent * 1e-3
        right, middle, left = (model.log_moment(exponent + shift) for shift in (mesh, 0.0, -mesh))
        return middle, (right - left) / (2 * mesh), max((right + left - 2 * middle) / mesh**2, 1e-12)

    def log_bound(exponent: float) -> float:
        value, mean, variance = tilted(exponent)
        size = mean - epsilon + math.hypot(mean - epsilon, math.sqrt(variance))
        return value - exponent * epsilon + math.log(max(size, 1e-300))

    best = _least(log_bound, 1e-4, model.largest * 0.99, 40)
    return best, math.sqrt(tilted(best)[2])


def at_order(model: MomentModel, exponent: float, epsilon: float) -> Order:
    """The optimal bound of one order: the best u in (0, 1], or C(l) alone where that is as good or M is huge."""
    log_moment = model.log_moment(exponent)
    plain = Order(exponent, log_moment - exponent * epsilon + log_factor(exponent))
    if not log_moment < 600 or exponent < 1e-5:
        return plain

    def log_bound(gap: float) -> float:
        return _log_bound(log_moment, exponent, epsilon, gap)[0]

    gap = _least(log_bound, 1e-9, 1 - 1e-9, 32)
    value, high = _log_bound(log_moment, exponent, epsilon, gap)
    return Order(exponent, value, 1 - gap, high) if value < plain.log_bound else plain


def _log_bound(log_moment: float, exponent: float, epsilon: float, gap: float) -> tuple[float, float]:
    """(log of (M - (l+1) u^l + l u^{l+1}) / ((l+1) (v^l - u^l)), v / e^eps) at u = 1 - gap."""
    order, log_low = exponent + 1, math.log1p(-gap)
    rest = -math.expm1(exponent * log_low + math.log(order - exponent * (1 - gap)))
    if gap * order < 1e-4:
        rest = order * exponent * gap * gap / 2
    log_x = log_low - epsilon
    log_y = _log_high(exponent, exponent * log_x + math.log1p(-math.exp(log_x) * exponent / order))
    spread = -math.expm1(exponent * (log_x - log_y))
    if not (spread > 0 and math.expm1(log_moment) + rest > 0):
        return math.inf, 0.0
    numerator = math.log(math.expm1(log_moment) + rest) - exponent * epsilon
    return numerator - math.log(order) - exponent * log_y - math.log(spread), math.exp(log_y)


def _log_high(exponent: float, log_goal: float) -> float:
    """log y of the y in [1, (l+1)/l] with log(y^l (1 - y l/(l+1))) = log_goal.

    Newton's iteration for t = log eta, y = (1 - eta) (l+1)/l: it increases to the root of a concave function.
    """
    top = math.log1p(1 / exponent)
    t = start = log_goal - exponent * top
    for _ in range(60):
        eta = min(math.exp(t), (1 - 1e-12) / (exponent + 1))
        value = t + exponent * math.log1p(-eta) - start
        slope = 1 - exponent * eta / (1 - eta)
        move = -value / slope if slope > 1e-9 else 0.0
        t += move
        if abs(move) < 1e-13:
            break
    return top + math.log1p(-min(math.exp(t), 1 / (exponent + 1)))


def _least(value: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Where a function is least, by golden sections in the logarithm of its argument."""
    a, b = math.log(low), math.log(high)
    c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_c, at_d = value(math.exp(c)), value(math.exp(d))
    for _ in range(steps):
        if at_c <= at_d:
            b, d, at_d = d, c, at_c
            c = b - _GOLDEN * (b - a)
            at_c = value(math.exp(c))
        else:
            a, c, at_c = c, d, at_d
            d = a + _GOLDEN * (b - a)
            at_d = value(math.exp(d))
    ends = {point: value(point) for point in (math.exp(c), math.exp(d), high)}
    return min(ends, key=lambda point: ends[point])


def choose_rules(model: MomentModel, exponent: float, bits: float) -> tuple[tuple[NodeRule, ...], int]:
    """Node rules that give K(l) to 2^-bits, and the precision that goes with them."""
    shared = [_choose_shared(group, exponent, bits + math.log2(count) + 3)
              for group, (_, count) in zip(model.groups, model.nodes, strict=True)]
    growth = [law.strip_growth(exponent, 2 * float(rule.height)) / math.log(2) + math.log2(count)
              for (law, count), rule in zip(model.nodes, shared, strict=True)]
    counts = [math.log2(count) for _, count in model.others]
    moment = model.log_moment(exponent)  # nan where all mass is at infinity
    size = math.log2(1 + min(abs(moment), 1e300)) if moment == moment else 0.0
    by_law = {law: rule for group, rule in zip(model.groups, shared, strict=True) for law, _ in group}
    rules = tuple(by_law[law] for law, _ in lines(model.loss).sampled_parts)
    return rules, math.ceil(bits + 1.5 * max(growth, default=0.0) + max(counts, default=0.0) + size + 48)


def _choose_shared(group: Sequence[tuple[SampledGaussianLoss, int]], exponent: float, bits: float) -> NodeRule:
    """One rule for laws that are alike, from the least noise to the most: step and line of the one, both windows."""
    by_noise = sorted((FloatLaw(law) for law, _ in group), key=lambda law: law.s)
    narrow = choose_nodes(by_noise[0], exponent, bits)
    if len(by_noise) > 1:
        wide = choose_nodes(by_noise[-1], exponent, bits)
        first, last = (int(end * wide.step / narrow.step) for end in (wide.first, wide.last))
        narrow = replace(narrow, first=min(narrow.first, first - 1), last=max(narrow.last, last + 1))
    return narrow


def rounded(model: MomentModel, choice: Order, epsilon: float) -> Order:
    """The same with a short dyadic exponent, within the stated orders, and the tangents that belong to it."""
    exponent = float(dyadic(choice.exponent))
    while exponent > model.largest:
        exponent = float(dyadic(exponent * (1 - 2.0**-22)))
    return at_order(model, exponent, epsilon) if choice.high else choice._replace(exponent=exponent)


def choose_order_witness(model: MomentModel, choice: Order, epsilon: float, bits: float,
                         asked: Fraction | None = None) -> MomentWitness:
    """The witness of a choice to a relative accuracy of 2^-bits; v is rounded down so that its condition still holds.

    asked: the exact l where it is not free.
    """
    exponent, log_bound, low, high = rounded(model, choice, epsilon) if asked is None else choice
    exact_exponent = dyadic(exponent) if asked is None else asked
    lost = 0.0
    if high > 1:  # how much of M cancels in the numerator
        kept = log_bound + exponent * (epsilon + math.log(high)) + math.log1p(exponent)
        lost = max(0.0, model.log_moment(exponent) - kept) / math.log(2)
    rules, prec = choose_rules(model, exponent, bits + lost + 2)
    prec += math.ceil(lost + math.log2(2 + exponent * abs(epsilon)))
    if not high > 1:
        return moment_witness(exact_exponent, Fraction(0), Fraction(0), prec, rules)
    prec += math.ceil(math.log2(2 + exponent))
    return moment_witness(exact_exponent, dyadic(low, 40), dyadic(high * (1 - 2.0**-36), 40), prec, rules)
