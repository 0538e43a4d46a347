"""What the Edgeworth accountant is free to choose: nodes of the moments; the rest as the engine's search does."""

from __future__ import annotations

from dataclasses import replace

from flint import arb, ctx

from verified_dp.core.engines.expansion_cells import enclose_steps, moment_count
from verified_dp.core.engines.smoothed import EdgeworthSum, enclose_sum
from verified_dp.core.engines.tilted_moments import tabulate_moments
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.papers.edgeworth.bounds_lemma import FEWEST, enclose_sum_by_lemma
from verified_dp.papers.saddlepoint.bounds_moments import enclose_moments
from verified_dp.search.deadline import check_time, timed
from verified_dp.search.expansion import PREC, check_moments, choose_cover, untilted_rule


def choose_sums(loss: ComposedLoss, order: int) -> tuple[EdgeworthSum, EdgeworthSum]:
    """Choose everything for the sums under P and under Q: one table of nodes. Raises Unsupported."""
    rules = [untilted_rule(law, count, moment_count(order)) for law, count in timed(loss.parts)]
    table = tabulate_moments(loss, rules, PREC, check_time)
    with ctx.workprec(PREC):
        found = [enclose_steps(table, arb(tilt), order, enclose_moments, check_time) for tilt in (0, -1)]
        above, below = (enclose_sum(table, steps, order, choose_cover(table, steps), check_time) for steps in found)
    return above, below


def choose_by_lemma(loss: ComposedLoss) -> tuple[EdgeworthSum, EdgeworthSum]:
    """The sums under P and under Q with Lemma 4.3's own bound. Raises Unsupported."""
    return _by_lemma(loss), replace(_by_lemma(loss.in_order(SWAPPED[loss.order])), turned=True)


def _by_lemma(loss: ComposedLoss) -> EdgeworthSum:
    if not loss.mean_shift_squared and sum(count for _, count in loss.parts) < FEWEST:
        raise Unsupported(f"Lemma 4.3 asks for {FEWEST} steps or more: use form=proved", "edgeworth.form")
    rules = [untilted_rule(law, count, moment_count(1)) for law, count in timed(loss.parts)]
    with ctx.workprec(PREC):
        found = enclose_sum_by_lemma(tabulate_moments(loss, rules, PREC, check_time))
        check_moments(found.steps)
    if not all(error.is_finite() for error in found.errors.values()):
        raise Unsupported("the moments of a step's loss are not known well enough here: use auto")
    return found
