"""Choose the tilt, the cells and the far rules of an expansion, in floating point. Any choice is valid."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule, count_nodes
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.papers.expansions.bounds import (
    POLES,
    ExpansionWitness,
    Ray,
    TiltedExpansion,
    bound_beyond,
    enclose_steps,
)
from verified_dp.papers.expansions.bounds_remainder import Steps, moment_count
from verified_dp.papers.saddlepoint.bounds_moments import MomentTable, tabulate_moments
from verified_dp.papers.saddlepoint.choose import choose_moment_rules, choose_prec
from verified_dp.search.deadline import check_time
from verified_dp.search.line import as_float, dyadic, kept_window, node_rule
from verified_dp.search.models import FloatLoss
from verified_dp.search.transforms import float_law

BITS = 80.0
FINE, CENTRE, GROWTH = 0.125, 9.0, 1.08
"""Cells of this many standard deviations of psi up to the centre's end; beyond, each is longer by this factor."""
MOST_CELLS = 400
MOST_NODES = 4000
HEIGHTS, ACCURACY = (0.02, 0.05, 0.1, 0.2, 0.4), 20.0
"""Of the lines on which |M| is bounded; -log of the relative error there."""
MOST_RAYS, SMALL = 6, 1e-15
"""So many, each from twice the start of the one before, while |psi| may be larger than this there."""


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
    deviation = math.sqrt(model.cumulants(tilt)[2])
    bits = BITS + 3 * order * max(0.0, math.log2((1 + tilt) * deviation))
    size = moment_count(order)
    return tabulate_moments(loss, choose_moment_rules(loss, tilt, bits, size), choose_prec(loss, bits, size, tilt))


def choose_witness(table: MomentTable, tilt: Fraction, order: int, poles: str = "kept",
                   split: float = 1.0) -> ExpansionWitness:
    """Choose W, split times where the moments' bound of |psi| is least, cells and rays. Raises Unsupported."""
    with ctx.workprec(table.prec):
        steps = enclose_steps(table, ball(tilt), order)
        steps = replace(steps, cumulants=POLES[poles](ball(tilt)).enclose_cumulants(steps.cumulants))
        if not (steps.cumulants[2] > 0 and all(value.is_finite() for value in steps.cumulants)):
            raise Unsupported("the moments of a tilted step are not known well enough here: use auto")
        ends = choose_ends(steps, split)
        options = [far_rules(law, tilt) for law, _ in table.loss.parts]
        rays = [choose_ray(table, steps, ends[-1], options)]
        while len(rays) < MOST_RAYS and bound_beyond(table, steps, rays[-1]) > SMALL:
            rays.append(choose_ray(table, steps, 2 * rays[-1].start, options))
    return ExpansionWitness(tilt, order, ends, tuple(rays), poles)


def far_rules(law: Law, tilt: Fraction) -> list[NodeRule | None]:
    """The rules worth trying: none where all have too many nodes, far out just below the largest loss."""
    rules = modulus_rules(law, tilt) if isinstance(law, MixtureLines) else []
    return [rule for rule in rules if count_nodes([rule]) <= MOST_NODES] or [None]


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


def choose_ray(table: MomentTable, steps: Steps, start: Fraction, options: list[list[NodeRule | None]]) -> Ray:
    """Choose the best rule of every law, each alone."""
    check_time()
    alone = [[Ray(start, tuple(rule if i == index else None for i in range(len(options)))) for rule in rules]
             for index, rules in enumerate(options)]
    best = [min(rays, key=lambda ray: float(bound_beyond(table, steps, ray))) if len(rays) > 1 else rays[0]
            for rays in alone]
    return Ray(start, tuple(ray.rules[index] for index, ray in enumerate(best)))


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
    """w with w^2 = 6 kappa_2 / (kappa_4 + 6 kappa_2^2) of the law with the largest share of K''."""
    found = [(float(law.cumulants[2]), law) for law in steps.laws]
    spread = [(law.count * second, second, float(law.cumulants[4])) for second, law in found if second > 0]
    if not spread:
        return 40 / math.sqrt(float(steps.cumulants[2]))
    _, second, fourth = max(spread)
    return math.sqrt(6 / max(fourth / second + 6 * second, second))


def log_error(expansion: TiltedExpansion, epsilon: Fraction) -> float:
    """log of all that the expansion leaves out of delta(eps)."""
    size = sum(expansion.errors.values(), arb(0))
    if not size.is_finite():
        return math.inf
    scale = float(expansion.steps.log_mass) - as_float(epsilon) * float(expansion.steps.tilt)
    return scale + float(size.log()) if size > 0 else -math.inf
