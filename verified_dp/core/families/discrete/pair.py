"""Dominating pairs of discrete Laplace and discrete Gaussian noise, on numbers and vectors."""

from __future__ import annotations

from verified_dp.core.families.discrete.mechanism import (
    DiscreteGaussian,
    DiscreteGaussianVector,
    DiscreteLaplace,
    DiscreteLaplaceVector,
)
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.steps import Step, pair_in_order, step_of, with_theorem
from verified_dp.core.kernel.theorems import proved_by


@step_of.register
@proved_by("T42-pair-shift")
def _discrete_laplace(mechanism: DiscreteLaplace, order: str, relation: Relation) -> Step:
    from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss  # each noise loads its own law

    b, shift = mechanism.scale, mechanism.sensitivity
    pair = pair_in_order(order, f"discrete Laplace({shift}, {shown(b)})", f"discrete Laplace(0, {shown(b)})",
                         "T42-pair-shift")
    return Step(pair, DiscreteLaplaceLoss(b, shift))


@step_of.register
@proved_by("T42-pair-shift")
def _discrete_gaussian(mechanism: DiscreteGaussian, order: str, relation: Relation) -> Step:
    from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss

    s2, shift = mechanism.sigma_squared, mechanism.sensitivity
    pair = pair_in_order(order, f"discrete Gaussian({shift}, {shown(s2)})", f"discrete Gaussian(0, {shown(s2)})",
                         "T42-pair-shift")
    return Step(pair, DiscreteGaussianLoss(s2, shift))


@step_of.register
@proved_by("T150-shifts-by-norm")
def _discrete_laplace_vector(mechanism: DiscreteLaplaceVector, order: str, relation: Relation) -> Step:
    """As one number that changes by the whole norm."""
    step = step_of(DiscreteLaplace(mechanism.scale, mechanism.sensitivity), order, relation)
    return with_theorem(step, "T150-shifts-by-norm")


@step_of.register
@proved_by("T151-discrete-gaussian-vectors")
def _discrete_gaussian_vector(mechanism: DiscreteGaussianVector, order: str, relation: Relation) -> Step:
    """zCDP with rho = D^2 / (2 s^2), the squared norm of integers being one."""
    from verified_dp.core.families.guarantees.mechanism import ZCDP  # of vectors alone

    squared = mechanism.sensitivity**2
    step = step_of(ZCDP((squared.numerator // squared.denominator) / (2 * mechanism.sigma_squared)), order, relation)
    return with_theorem(step, "T151-discrete-gaussian-vectors")
