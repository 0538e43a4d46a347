"""Poisson samples for neighbours that differ in a group of records."""

from __future__ import annotations

from verified_dp.core.families.groups.pair import group_step, refuse_group
from verified_dp.core.families.sampling.checks import MAX_DRAWS
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.steps import Setting, sampled_step
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.steps import Step
from verified_dp.core.kernel.theorems import proved_by


@group_step.register
@proved_by("T72-groups")
def _poisson_group(mechanism: PoissonSampled, size: int, order: str, relation: Relation) -> Step:
    """How many of the group are on the sample is Bin(size, q): see `sampled_pairs`."""
    if size > MAX_DRAWS:
        refuse_group(mechanism, size, relation, f"more than {MAX_DRAWS} records on a sample take too long")
    return sampled_step(mechanism.mechanism, Setting(mechanism.probability, order, relation, size))
