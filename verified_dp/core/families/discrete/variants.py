"""Dominating pairs of discrete noise on Poisson samples of replaced records, and for groups."""

from __future__ import annotations

from functools import partial

from verified_dp.core.families.discrete.mechanism import (
    DiscreteGaussian,
    DiscreteGaussianVector,
    DiscreteLaplace,
    DiscreteLaplaceVector,
)
from verified_dp.core.families.groups.pair import group_step
from verified_dp.core.families.sampling.shifts import random_shift, refuse_sample, shifted_sample
from verified_dp.core.families.sampling.steps import Setting
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import square_root
from verified_dp.core.kernel.steps import Step, step_of, with_theorem
from verified_dp.core.kernel.theorems import proved_by


@random_shift.register
@proved_by("T74-sampled-shifts")
def _discrete_laplace_shift(inner: DiscreteLaplace, setting: Setting) -> Step:
    from verified_dp.core.families.discrete.shifts import DiscreteLaplaceMixtureLoss  # of such samples alone

    return shifted_sample(inner, setting, inner.sensitivity, partial(DiscreteLaplaceMixtureLoss, inner.scale))


@random_shift.register
@proved_by("T74-sampled-shifts")
def _discrete_gaussian_shift(inner: DiscreteGaussian, setting: Setting) -> Step:
    from verified_dp.core.families.discrete.shifts import DiscreteGaussianMixtureLoss  # of such samples alone

    deviation = square_root(inner.sigma_squared)
    return shifted_sample(inner, setting, inner.sensitivity, partial(DiscreteGaussianMixtureLoss, deviation))


@random_shift.register
@proved_by("T150-shifts-by-norm")
def _discrete_laplace_vector_shift(inner: DiscreteLaplaceVector, setting: Setting) -> Step:
    """Two records that replace each other move different coordinates."""
    refuse_sample(inner.stated.name, setting)


@group_step.register
@proved_by("T72-groups", "T151-discrete-gaussian-vectors")
def _vector_group(mechanism: DiscreteGaussianVector, size: int, order: str, relation: Relation) -> Step:
    """Sensitivities add up."""
    whole = DiscreteGaussianVector(mechanism.sigma_squared, size * mechanism.sensitivity)
    return with_theorem(step_of(whole, order, relation), "T72-groups")
