"""The dominating pair of messages that are shuffled (T137)."""

from __future__ import annotations

from fractions import Fraction

from verified_dp.core.families.clones.clones import CloneLoss, CloneOddsLoss
from verified_dp.core.families.clones.mechanism import ShuffledLocal
from verified_dp.core.families.finite.mechanism import RandomizedResponse
from verified_dp.core.families.groups.pair import group_step
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.steps import DominatingPair, Step, refuse, step_of
from verified_dp.core.kernel.theorems import proved_by


@step_of.register
@proved_by("T137-shuffled-local")
def _shuffled(mechanism: ShuffledLocal, order: str, relation: Relation) -> Step:
    """One answer of odds e^eps0, among fair ones of as many others as Bin(n - 1, 2/(1 + e^eps0)) says."""
    if relation is not Relation.REPLACE:
        refuse("shuffled messages", relation, "one message more or less shows in their number; use replace")
    e, n = mechanism.epsilon0, mechanism.users
    odds = f"e^{shown(e)}" if e is not None else shown(mechanism.odds or 1)
    clones = f"C = Bin({n - 1}, 2/(1 + {odds}))"
    pair = DominatingPair(order, f"C fair answers and one with odds {odds} for 1, {clones}",
                          f"C fair answers and one with odds {odds} for 0, {clones}", ("T137-shuffled-local",), False)
    return Step(pair, _law(mechanism, relation))


@proved_by("T137-shuffled-local")
def _law(mechanism: ShuffledLocal, relation: Relation) -> Law | None:
    """None where all inputs give the same message; of one user the answer alone."""
    n, e, odds = mechanism.users, mechanism.epsilon0, mechanism.odds
    if e == 0 or odds == 1:
        return None
    if n == 1:
        alone = RandomizedResponse(2, epsilon=e) if odds is None else RandomizedResponse(2, 2 / (1 + odds))
        return step_of(alone, "symmetric", relation).law
    return CloneLoss(n, e or Fraction(0)) if odds is None else CloneOddsLoss(n, odds)


@group_step.register
@proved_by("T25-composition")
def _group(mechanism: ShuffledLocal, size: int, order: str, relation: Relation) -> Step:
    refuse(f"shuffled-local with group_size {size}", relation, "no theorem for several users at once is implemented")
