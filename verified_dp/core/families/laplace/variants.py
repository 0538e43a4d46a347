"""Dominating pairs of Laplace noise on Poisson samples of replaced records, and of groups."""

from __future__ import annotations

from verified_dp.core.families.laplace.mechanism import Laplace, LaplaceVector
from verified_dp.core.families.sampling.shifts import random_shift, refuse_sample, shifted_sample
from verified_dp.core.families.sampling.steps import Setting
from verified_dp.core.kernel.steps import Step
from verified_dp.core.kernel.theorems import proved_by


@random_shift.register
@proved_by("T74-sampled-shifts")
def _laplace_shift(inner: Laplace, setting: Setting) -> Step:
    from verified_dp.core.families.laplace.shifts import LaplaceMixtureLoss  # of such samples alone

    return shifted_sample(inner, setting, inner.ratio, LaplaceMixtureLoss)


@random_shift.register
@proved_by("T150-shifts-by-norm")
def _laplace_vector_shift(inner: LaplaceVector, setting: Setting) -> Step:
    """Two records that replace each other move different coordinates."""
    refuse_sample(inner.stated.name, setting)
