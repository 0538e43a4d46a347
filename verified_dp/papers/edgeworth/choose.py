"""What the Edgeworth accountant is free to choose: nodes of the moments, cells, rays and where the kernel ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.papers.edgeworth.bounds import EdgeworthSum, EdgeworthWitness, at_rest, enclose_sum
from verified_dp.papers.edgeworth.bounds_lemma import FEWEST, enclose_sum_by_lemma
from verified_dp.papers.expansions.bounds import bound_beyond, enclose_steps
from verified_dp.papers.expansions.bounds_remainder import Steps, moment_count
from verified_dp.papers.expansions.choose import choose_ends, choose_ray, far_rules
from verified_dp.papers.saddlepoint.bounds_moments import MomentTable, tabulate_moments
from verified_dp.papers.saddlepoint.choose import untilted_rule
from verified_dp.search.deadline import timed

PREC = 128
"""Bits of the arithmetic."""
FEW = 3
"""Up to so many laws |f| is bounded beyond the cells too: the nodes of that cost more than the rest."""
MOST_RAYS, DOUBLINGS = 6, 60
WIDER = 1.25
"""Where nothing is known beyond the cells they reach this much beyond the least bound of |f|."""


def choose_sums(loss: ComposedLoss, order: int) -> tuple[EdgeworthSum, EdgeworthSum]:
    """Choose everything for the sums under P and under Q: one table of nodes. Raises Unsupported."""
    rules = [untilted_rule(law, count, moment_count(order)) for law, count in timed(loss.parts)]
    table = tabulate_moments(loss, rules, PREC)
    return _choose_sum(table, 0, order), _choose_sum(table, -1, order)


def choose_by_lemma(loss: ComposedLoss) -> tuple[EdgeworthSum, EdgeworthSum]:
    """The sums under P and under Q with Lemma 4.3's own bound. Raises Unsupported."""
    return _by_lemma(loss), replace(_by_lemma(loss.in_order(SWAPPED[loss.order])), turned=True)


def _by_lemma(loss: ComposedLoss) -> EdgeworthSum:
    if not loss.mean_shift_squared and sum(count for _, count in loss.parts) < FEWEST:
        raise Unsupported(f"Lemma 4.3 asks for {FEWEST} steps or more: use form=proved", "edgeworth.form")
    rules = [untilted_rule(law, count, moment_count(1)) for law, count in timed(loss.parts)]
    found = enclose_sum_by_lemma(tabulate_moments(loss, rules, PREC))
    if not (found.steps.cumulants[2] > 0 and all(error.is_finite() for error in found.errors.values())):
        raise Unsupported("the moments of a step's loss are not known well enough here: use auto")
    return found


def _choose_sum(table: MomentTable, tilt: int, order: int) -> EdgeworthSum:
    with ctx.workprec(PREC):
        steps = enclose_steps(table, arb(tilt), order)
        if not (steps.cumulants[2] > 0 and all(value.is_finite() for value in steps.cumulants)):
            raise Unsupported("the moments of a step's loss are not known well enough here: use auto")
        return enclose_sum(table, steps, choose_witness(table, steps, order))


def choose_witness(table: MomentTable, steps: Steps, order: int) -> EdgeworthWitness:
    """Choose the cells, the rays from their end on, and T where both errors together are least."""
    few = len(table.loss.parts) <= FEW and all(isinstance(law, MixtureLines) for law, _ in table.loss.parts)
    table, steps = at_rest(table, steps)
    options: list[list[NodeRule | None]] = [far_rules(law, Fraction(0)) if few else [None]
                                            for law, _ in table.loss.parts]
    ends = choose_ends(steps, 1.0 if few else WIDER)
    rays = [choose_ray(table, steps, ends[-1] * 2**i, options) for i in range(MOST_RAYS)]
    sizes = [float(bound_beyond(table, steps, ray)) for ray in rays]
    top = choose_top(ends[-1], sizes, math.sqrt(float(steps.cumulants[2])))
    kept, together = tuple(ray for ray in rays if ray.start <= top), 3 if few else 1 + len(ends) // 3
    return EdgeworthWitness(order, ends, kept, top, together)


def choose_top(start: Fraction, sizes: Sequence[float], deviation: float) -> Fraction:
    """Choose T = 2^i W: what |f| <= sizes beyond W, 2W, 4W, ... adds grows with T, what smoothing adds falls."""
    beyond, best, found = 0.0, math.inf, start
    for i in range(DOUBLINGS):
        top = start * 2**i
        error = beyond + 1.26 / (float(top) * deviation)
        if error < best:
            best, found = error, top
        beyond += sizes[min(i, len(sizes) - 1)] * (math.log(2) / math.pi + 0.5)
    return found
