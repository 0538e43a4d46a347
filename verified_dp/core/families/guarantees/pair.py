"""What zCDP and Renyi guarantees say in place of a dominating pair."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from verified_dp.core.families.guarantees.mechanism import ZCDP, Renyi
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
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
    from verified_dp.core.families.guarantees.orders import RenyiLoss  # of these alone

    law = RenyiLoss.of_divergences(mechanism.divergences) if all(mechanism.epsilons) else None
    return Step(_unknown(order, ", ".join(f"D_{shown(a)} <= {shown(e)}" for a, e in mechanism.divergences)), law)


def _unknown(order: str, bounds: str) -> DominatingPair:
    return DominatingPair(order, f"any P with {bounds}", "any Q with the same bounds when P and Q are exchanged",
                          ("T65-renyi-composition", "T66-moment-laws"), False)
