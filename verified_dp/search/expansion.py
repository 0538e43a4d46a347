"""Choose the witness of an expansion: moments, tilt, order, cells, rays. Any choice is valid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.direct import is_direct
from verified_dp.core.engines.expansion import Expansion, ExpansionWitness, enclose_expansion, tilted_steps
from verified_dp.core.engines.expansion_cells import (
    HIGHEST,
    Cover,
    Ray,
    Steps,
    bound_beyond,
    bound_law_beyond,
    moment_count,
)
from verified_dp.core.engines.lines import has_nodes, lines
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule, count_nodes
from verified_dp.core.engines.tilted_moments import NO_NODES, MomentRule, MomentTable, has_range, tabulate_moments
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.search.deadline import check_time, timed
from verified_dp.search.direct import DirectModel
from verified_dp.search.line import as_float, dyadic, kept_window, node_rule
from verified_dp.search.models import FloatLoss, float_loss
from verified_dp.search.saddle import Saddle, choose_saddle
from verified_dp.search.transforms import FloatLaw, float_law

USUAL = 40.0
"""Bits that counts up to 10^12 cost are always spent, so that the time does not depend on the counts."""
MOST_NODES = 20_000
LARGEST_RADIUS, TURN = 3.0, 3.77
"""Without a tilt: the largest disc on which errors of nodes are bounded; how much e^{zL} grows on that of a circle."""
REACH = 1.5
"""Rules are chosen so that they are good up to this multiple of the tilt."""
BITS = 80.0
"""Accuracy of the moments."""
FINE, CENTRE, GROWTH = 0.125, 9.0, 1.08
"""Cells of this many standard deviations of psi up to the centre's end; beyond, each is longer by this factor."""
MOST_CELLS = 400
MOST_FAR_NODES = 4000
HEIGHTS, ACCURACY = (0.02, 0.05, 0.1, 0.2, 0.4), 20.0
"""Of the lines on which |M| is bounded; -log of the relative error there."""
MOST_RAYS, SMALL = 6, 1e-15
"""So many, each from twice the start of the one before, while |psi| may be larger than this there."""
LEAST_TILT, TILT_BITS = 1e-6, 5
"""Of the model, in the place of 0; bits of a tilt, so that neighbouring eps share one."""
LOWERED, LEAST_SHARE = 0.8, 0.3
SPLITS = 0.7, 0.85, 1.2


def choose_moment_rules(loss: ComposedLoss, tilt: float, bits: float, order: int) -> tuple[MomentRule, ...]:
    """Choose rules whose error of the order-th moment is below 2^-bits at the tilt and somewhat beyond.

    Raises Unsupported where a law has no transform.
    """
    return tuple(_rule(law, tilt, bits + max(math.log2(count), USUAL), order) for law, count in timed(loss.parts))


def _rule(law: Law, tilt: float, bits: float, order: int) -> MomentRule:
    if has_nodes(law):
        return _node_rule(float_law(law), tilt, bits, order) if tilt > 0 else _untilted_rule(law, bits, order)
    if not is_direct(law) or not (tilt > 0 or has_range(law)):
        raise Unsupported(f"an expansion needs the transform of every step, and {type(law).__name__} has none that is "
                          "known around its tilt: use auto")
    model = DirectModel(law)
    radius = tilt / 2 if tilt > 0 else TURN / max(abs(model.largest), abs(model.largest - model.spread))
    return MomentRule(dyadic(radius), points=2 * math.ceil((bits + 8) / 4 + order * (0.5 if tilt > 0 else 2) + 1))


def _node_rule(law: FloatLaw, tilt: float, bits: float, order: int) -> MomentRule:
    """The fewest nodes with an error 2^-bits of the order-th moment in units of its typical size, at r = radius."""
    _, mean, variance = law.cumulants(tilt)
    deviation = math.sqrt(variance)
    radius = min(tilt / 4, 1 / (deviation + abs(mean)))
    loss = max(0.0, -order * math.log(radius * deviation)) + math.lgamma(order + 1)
    far = REACH * tilt + radius
    want = bits * math.log(2) + loss + 4
    best = math.inf, 0.0, 0.0
    for share in np.linspace(0.05, 0.97, 24):
        half = float(share) * min(law.strip, 2.5 * law.s * math.sqrt(want))
        if law.order != "remove" and half >= 0.97 * law.strip:
            continue
        need = want + law.strip_growth(far, half) + 2 * radius * half / law.variance + 1
        step = min(2 * math.pi * half / need, 1.9 * law.s)
        if 1 / step < best[0]:
            best = 1 / step, half, step
    _, half, step = best
    ends = [kept_window(law, x, law.cumulants(x)[0] - want, 0.0) for x in (tilt / 2, far)]
    low, high = min(0.0, *(a for a, _ in ends)), max(step, *(b for _, b in ends))  # 0 is inside, as T94 asks
    if high - low > MOST_NODES * step:
        raise Unsupported("the saddle point is so far out that its moments have too many nodes: use the contour")
    return MomentRule(dyadic(radius), node_rule(0.0, half, step, low, high))


def _untilted_rule(law: MixtureLines, bits: float, order: int) -> MomentRule:
    """Nodes whose error of the order-th untilted moment is below 2^-bits of its typical size: no search, a formula."""
    model, variance = float_law(law), float(law.sigma) ** 2
    _, mean, spread = model.cumulants(0.0)
    deviation = math.sqrt(spread)
    radius = min(LARGEST_RADIUS, 1 / (deviation + abs(mean)))
    places = [float(m) for m, _ in (*law.above, *law.below)]
    reach = max(places) - min(places)
    want = bits * math.log(2) + max(0.0, -order * math.log(radius * deviation)) + math.lgamma(order + 1)
    widest = min(0.97 * model.strip, 2.5 * model.s * math.sqrt(want))
    widths = [share * widest for share in (0.3, 0.5, 0.7, 0.85, 1.0)]
    growths = [model.strip_growth(radius, b) + radius * reach * b / variance for b in widths]
    step, half = max((2 * math.pi * b / (want + more + 5), b) for b, more in zip(widths, growths, strict=True))
    far = (1 + radius) * reach
    end = far + model.s * math.sqrt(2 * (want + 5 + far * far / (2 * variance)))
    return MomentRule(dyadic(radius), node_rule(0.0, half, min(step, 1.9 * model.s), -end, end))


def choose_prec(loss: ComposedLoss, bits: float, order: int, tilt: float) -> int:
    """Bits of the arithmetic, in steps of 64."""
    counts = max([USUAL, *(math.log2(count) for _, count in loss.laws)])
    small = max(0.0, -math.log2(tilt)) * (1 + order / 2) if tilt > 0 else 0.0
    return 64 * math.ceil((bits + counts + 4 * order + small + math.log2(1 + tilt) + 20) / 64)


def asymptotic_saddle(model: FloatLoss, epsilon: float) -> float:
    """Proposition 8: t ~ (b + sqrt(b^2 + 4)) / (2 sd), b = (eps - mean)/sd, from the untilted mean and deviation.

    It solves mean + t var = eps + 1/t; within [1e-6, 1e6].
    """
    _, mean, variance = model.cumulants(1e-6)
    deviation = math.sqrt(max(variance, 1e-300))
    b = (epsilon - mean) / deviation
    root = (b + math.hypot(b, 2)) / 2 if b > 0 else 2 / (math.hypot(b, 2) - b)
    return min(max(root / deviation, 1e-6), 1e6)


def refine_saddle(model: FloatLoss, epsilon: float, saddle: Saddle) -> float:
    """The tilt of the saddle point to about 12 digits, by Newton steps from a rough one."""
    t = saddle.tilt
    for _ in range(8):
        _, mean, variance = model.cumulants(t)
        slope = mean - epsilon - 1 / t - 1 / (1 + t)
        move = slope / (variance + 1 / t**2 + 1 / (1 + t) ** 2)
        moved = t - move
        t = moved if moved > 0 else t / 2
        if abs(move) < 1e-11 * t:
            break
    return t


def choose_tilt(model: FloatLoss, epsilon: float, saddle: float) -> float:
    """Choose t with K'(t) = eps, where psi turns least; not below half the saddle point, where the poles are near."""
    low, high = saddle / 2, saddle
    if model.cumulants(low)[1] >= epsilon:
        return low
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if model.cumulants(middle)[1] < epsilon else (low, middle)
    return high


def choose_table(loss: ComposedLoss, model: FloatLoss, tilt: float, order: int) -> MomentTable:
    """Choose rules and bits: the ladder of J_l loses up to 3n times the bits of (1+t) sqrt K''."""
    deviation = math.sqrt(model.cumulants(max(tilt, LEAST_TILT))[2])
    bits = BITS + 3 * order * max(0.0, math.log2((1 + tilt) * deviation))
    size = moment_count(order)
    rules = choose_moment_rules(loss, tilt, bits, size)
    return tabulate_moments(loss, rules, choose_prec(loss, bits, size, tilt), check_time)


def choose_witness(table: MomentTable, steps: Steps, tilt: Fraction, order: int,
                   split: float = 1.0) -> ExpansionWitness:
    """Choose W, split times where the moments' bound of |psi| is least, cells and rays. Raises Unsupported."""
    with ctx.workprec(table.prec):
        check_moments(steps)
        ends, options = choose_ends(steps, split), far_options(table.loss, tilt)
        rays = [choose_ray(table, steps, ends[-1], options)]
        while len(rays) < MOST_RAYS and bound_beyond(table, steps, rays[-1]) > SMALL:
            rays.append(choose_ray(table, steps, 2 * rays[-1].start, options))
    return ExpansionWitness(tilt, order, table.rules, Cover(ends, tuple(rays)), table.prec)


def check_moments(steps: Steps) -> None:
    """Raises Unsupported where no expansion can be made of these."""
    if not (steps.cumulants[2] > 0 and all(value.is_finite() for value in steps.cumulants)):
        raise Unsupported("the moments of a step's loss are not known well enough here: use auto")


def far_options(loss: ComposedLoss, tilt: Fraction) -> list[list[NodeRule]]:
    """For each law with nodes the rules worth trying: none where all have too many nodes, near the largest loss."""
    found = ([rule for rule in modulus_rules(law, tilt) if count_nodes([rule]) <= MOST_FAR_NODES]
             for law, _ in lines(loss).node_parts)
    return [rules or [NO_NODES] for rules in found]


def modulus_rules(law: MixtureLines, tilt: Fraction) -> list[NodeRule]:
    """Rules on lines of several heights: low ones where the phase turns fast, high ones where it turns slowly."""
    model, rules = float_law(law), []
    t = max(float(tilt), 1e-3)
    half = min(0.45 * model.strip, 4 * model.s)
    for share in HEIGHTS:
        height = share * min(model.strip, 3 * model.s)
        step = min(2 * math.pi * half / (ACCURACY + model.modulus_growth(t, height, half)), 1.9 * model.s)
        low, high = kept_window(model, t, model.cumulants(t)[0] - ACCURACY, height)
        rules.append(node_rule(height, half, step, low, high))
    return rules


def choose_ray(table: MomentTable, steps: Steps, start: Fraction, options: list[list[NodeRule]]) -> Ray:
    """Choose the best rule of every law with nodes, each alone."""
    check_time()
    laws, at = (law for law, _ in table.loss.parts if has_nodes(law)), ball(start)

    def best(law: Any, rules: list[NodeRule]) -> NodeRule:
        def size(rule: NodeRule) -> float:
            return float(bound_law_beyond(law, rule, steps.tilt, at))

        return min(rules, key=size) if rules[1:] else rules[0]

    return Ray(start, tuple(best(law, rules) for law, rules in zip(laws, options, strict=True)))


def choose_ends(steps: Steps, wider: float = 1.0) -> tuple[Fraction, ...]:
    """Choose equal cells near 0, then growing ones up to W; all of them are multiples of 1/sqrt K''.

    wider: W over the place where the moments' bound of |psi| is least.
    """
    unit = 1 / math.sqrt(float(steps.cumulants[2]))
    last, place = max(1.0, wider * _turning_point(steps) / unit), 0.0
    found: list[Fraction] = []
    while place < last and len(found) < MOST_CELLS:
        place = min(place + FINE if place < CENTRE else place * GROWTH, last)
        found.append(dyadic(place * unit))
    return tuple(found)


def _turning_point(steps: Steps) -> float:
    """w with w^2 = kappa_2 / (2 E(Y-Y')^4/24) of the law with the largest share of K''."""
    found = [(count * float(law.variance), float(law.variance), float(law.rest)) for count, law in steps.laws]
    spread = [row for row in found if row[0] > 0]
    if not spread:
        return 40 / math.sqrt(float(steps.cumulants[2]))
    _, second, rest = max(spread)
    return math.sqrt(second / max(2 * rest, second * second / 6))


def log_error(expansion: Expansion, epsilon: Fraction) -> float:
    """log of all that the expansion leaves out of delta(eps)."""
    size = sum(expansion.errors.values(), arb(0))
    if not size.is_finite():
        return math.inf
    scale = float(expansion.steps.log_mass) - as_float(epsilon) * float(expansion.steps.tilt)
    return scale + float(size.log()) if size > 0 else -math.inf


@dataclass(frozen=True)
class Choice:
    """order; the share of the tilt with K'(t) = eps that is taken; split: where the cells end, over where |psi|'s bound
    is least; log_error: of what was left out when chosen.
    """

    order: int
    share: float
    split: float
    log_error: float


class ExpansionCurve:
    """delta at any eps >= 0 by the expansion of one order, or of the order with the least error where none is asked.

    loss: with a transform of every step. tilt: any t >= 0 (None: where the error is least).
    """

    def __init__(self, loss: ComposedLoss, order: int | None = None, tilt: Fraction | None = None) -> None:
        self.loss, self.order, self.tilt = loss, order, tilt
        self.model = float_loss(loss)
        self._choice: Choice | None = None
        self._kept: dict[tuple[int, Fraction, float], tuple[ExpansionWitness, Expansion]] = {}
        self._tables: dict[Fraction, MomentTable] = {}
        self._steps: dict[tuple[int, Fraction], Steps] = {}

    def delta(self, epsilon: Fraction) -> tuple[Bounds, arb, dict[str, str]]:
        """The interval, the expansion alone, and what was used. Raises Unsupported where moments are out of reach."""
        witness, expansion = self.chosen(epsilon)
        bounds, series = expansion.enclose_delta(epsilon)
        used = {"expansion_order": str(witness.order), "expansion_tilt": f"{float(witness.tilt):.6g}"}
        return bounds, series, used

    def chosen(self, epsilon: Fraction) -> tuple[ExpansionWitness, Expansion]:
        """The witness near eps and its values, by what was chosen at the first question."""
        if self._choice is None:
            self._choice = self.choose(epsilon)
        tilt = self.tilt_at(epsilon, self._choice.share)
        return self.expansion(self._choice.order, tilt, self._choice.split)

    def choose(self, epsilon: Fraction) -> Choice:
        """Choose the order unless it was asked, downwards while the error falls, then how far the cells reach."""
        orders = range(HIGHEST, 0 if self.tilt == 0 else -1, -1) if self.order is None else (self.order,)
        best = self._choose_share(epsilon, orders[0])
        for order in orders[1:]:
            lower = self._choose_share(epsilon, order)
            if lower.log_error > best.log_error:
                break
            best = lower
        splits = (self._try(epsilon, best.order, best.share, split) for split in SPLITS)
        return min((best, *splits), key=lambda choice: choice.log_error)

    def _choose_share(self, epsilon: Fraction, order: int) -> Choice:
        best = self._try(epsilon, order, 1.0)
        while best.share > LEAST_SHARE and self.tilt is None:
            lower = self._try(epsilon, order, best.share * LOWERED)
            if lower.log_error >= best.log_error:
                break
            best = lower
        return best

    def _try(self, epsilon: Fraction, order: int, share: float, split: float = 1.0) -> Choice:
        tilt = self.tilt_at(epsilon, share)
        return Choice(order, share, split, log_error(self.expansion(order, tilt, split)[1], epsilon))

    def tilt_at(self, epsilon: Fraction, share: float) -> Fraction:
        """The asked tilt, or the share of that with K'(t) = eps, with few digits."""
        if self.tilt is not None:
            return self.tilt
        eps = as_float(epsilon)
        start = asymptotic_saddle(self.model, eps)
        saddle = refine_saddle(self.model, eps, choose_saddle(self.model, eps, start))
        return dyadic(share * choose_tilt(self.model, eps, saddle), TILT_BITS)

    def expansion(self, order: int, tilt: Fraction, split: float) -> tuple[ExpansionWitness, Expansion]:
        """The witness of an order at a tilt and its values; kept. Raises OutOfTime past the deadline."""
        check_time()
        key = order, tilt, split
        if key not in self._kept:
            if tilt not in self._tables:
                most = HIGHEST if self.order is None else self.order
                self._tables[tilt] = choose_table(self.loss, self.model, float(tilt), most)
            table, at = self._tables[tilt], (order, tilt)
            if at not in self._steps:
                self._steps[at] = tilted_steps(table, tilt, order, check_time)
            witness = choose_witness(table, self._steps[at], tilt, order, split)
            self._kept[key] = witness, enclose_expansion(table, self._steps[at], witness, check_time)
        return self._kept[key]
