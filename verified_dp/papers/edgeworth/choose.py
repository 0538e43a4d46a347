"""What the Edgeworth accountant is free to choose: nodes of the moments."""

from __future__ import annotations

from dataclasses import replace

from flint import arb, ctx

from verified_dp.core.engines.expansion_cells import HIGHEST, Steps, enclose_steps, moment_count
from verified_dp.core.engines.tilted_moments import MomentTable
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.papers.edgeworth.bounds import EdgeworthSum, TwoTails
from verified_dp.papers.edgeworth.bounds_lemma import FEWEST, bound_by_lemma
from verified_dp.search.deadline import check_time
from verified_dp.search.expansion import check_moments, choose_table
from verified_dp.search.models import float_loss


def choose_tails(loss: ComposedLoss, lemma: bool = False) -> TwoTails:
    """The sums under P and under Q, the latter minus that of the swapped order; lemma: with Lemma 4.3's bound.

    Raises Unsupported.
    """
    swapped = loss.in_order(SWAPPED[loss.order])
    if lemma and not loss.mean_shift_squared and sum(count for _, count in loss.parts) < FEWEST:
        raise Unsupported(f"Lemma 4.3 asks for {FEWEST} steps or more: use form=proved", "edgeworth.form")
    tables = [choose_table(one, float_loss(one), 0.0, 0) for one in (loss, swapped)]
    above, below = (_sum(table, lemma) for table in tables)
    with ctx.workprec(tables[0].prec):
        masses = loss.enclose_infinity_mass(), swapped.enclose_infinity_mass()
    return TwoTails(above, replace(below, turned=True), masses, tables[0].prec)


def _sum(table: MomentTable, lemma: bool) -> EdgeworthSum:
    with ctx.workprec(table.prec):
        steps: Steps = enclose_steps(table, arb(0), HIGHEST + 2, moment_count(0), check_time)
        check_moments(steps)
        errors = bound_by_lemma(table, steps) if lemma else {}
    if not all(error.is_finite() for error in errors.values()):
        raise Unsupported("the moments of a step's loss are not known well enough here: use auto")
    return EdgeworthSum(steps, errors)
