"""What zCDP and Renyi guarantees say in place of a dominating pair."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from verified_dp.core.families.groups.pair import for_group, group_step, refuse_group
from verified_dp.core.families.guarantees.mechanism import ZCDP, Renyi
from verified_dp.core.families.guarantees.renyi import RenyiLoss, ZCDPLoss
from verified_dp.core.families.sampling.steps import Setting, refuse_sample, sampled_step
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.steps import DominatingPair, Step, step_of
from verified_dp.core.kernel.theorems import proved_by


@step_of.register
@proved_by("T65-renyi-composition", "T66-moment-laws")
def _zcdp(mechanism: ZCDP, order: str, relation: Relation) -> Step:
    """No pair is known: bounds on the moments of the loss alone. With rho = 0 it is xi-DP (T66 (e))."""
    rho, xi = mechanism.rho, mechanism.xi or Fraction(0)
    if xi and not rho:
        from verified_dp.core.families.finite.mechanism import ApproximateDP  # seldom needed

        pure = step_of(ApproximateDP(xi, 0), order, relation)
        return replace(pure, pair=replace(pure.pair, theorems=("T66-moment-laws", *pure.pair.theorems)))
    law = ZCDPLoss(rho, xi=xi) if rho else None
    return Step(_unknown(order, f"D_a <= {f'{shown(xi)} + ' * bool(xi)}{shown(rho)} a for all a > 1"), law)


@step_of.register
@proved_by("T65-renyi-composition", "T66-moment-laws")
def _renyi(mechanism: Renyi, order: str, relation: Relation) -> Step:
    """No pair is known: bounds on the moments of the loss alone. A divergence of 0 means that nothing is revealed."""
    law = RenyiLoss.of_divergences(mechanism.divergences) if all(mechanism.epsilons) else None
    return Step(_unknown(order, ", ".join(f"D_{shown(a)} <= {shown(e)}" for a, e in mechanism.divergences)), law)


def _unknown(order: str, bounds: str) -> DominatingPair:
    return DominatingPair(order, f"any P with {bounds}", "any Q with the same bounds when P and Q are exchanged",
                          ("T65-renyi-composition", "T66-moment-laws"), False)


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
