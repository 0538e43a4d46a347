"""What zCDP guarantees say for groups and on Poisson samples."""

from __future__ import annotations

from verified_dp.core.families.groups.pair import for_group, group_step, refuse_group
from verified_dp.core.families.guarantees.mechanism import ZCDP
from verified_dp.core.families.sampling.shifts import refuse_sample
from verified_dp.core.families.sampling.steps import Setting, sampled_step
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.steps import Step, step_of
from verified_dp.core.kernel.theorems import proved_by


@group_step.register
@proved_by("T72-groups")
def _zcdp_group(mechanism: ZCDP, size: int, order: str, relation: Relation) -> Step:
    """rho grows with the square of the size."""
    if mechanism.xi:
        refuse_group(mechanism, size, relation, "with xi no theorem is implemented; state the group's own rho and xi")
    return for_group(step_of(ZCDP(size**2 * mechanism.rho), order, relation), tight=False)


@sampled_step.register
@proved_by("T217-sampled-moments")
def _zcdp_sample(inner: ZCDP, setting: Setting) -> Step:
    """A guarantee of moments, in both directions."""
    from verified_dp.core.families.guarantees.sampled import by_moments  # of samples alone

    if not setting.is_plain:
        refuse_sample(inner.stated.name, setting)
    one, other = (step_of(inner, order, setting.relation) for order in ("remove", "add"))
    return by_moments(one.pair, [(one, 1)], [(other, 1)], setting)
