"""Dominating pairs of Laplace noise, on numbers and vectors, and of the exponential mechanism."""

from __future__ import annotations

from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace, LaplaceVector
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.steps import Step, pair_in_order, step_of, with_theorem
from verified_dp.core.kernel.theorems import proved_by


@step_of.register
@proved_by("T42-pair-shift")
def _laplace(mechanism: Laplace, order: str, relation: Relation) -> Step:
    mu = mechanism.ratio
    return Step(pair_in_order(order, f"Laplace({shown(mu)}, 1)", "Laplace(0, 1)", "T42-pair-shift"), LaplaceLoss(mu))


@step_of.register
@proved_by("T43-bounded-range")
def _exponential(mechanism: Exponential, order: str, relation: Relation) -> Step:
    from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss  # of selections alone

    mu = mechanism.bounded_range
    curve = f"sup over all pairs of range {shown(mu)}"
    return Step(pair_in_order(order, curve, curve, "T43-bounded-range", tight=False), BoundedRangeLoss(mu))


@step_of.register
@proved_by("T150-shifts-by-norm")
def _laplace_vector(mechanism: LaplaceVector, order: str, relation: Relation) -> Step:
    """As one number that changes by the whole norm."""
    step = step_of(Laplace(mechanism.scale, mechanism.sensitivity), order, relation)
    return with_theorem(step, "T150-shifts-by-norm")
