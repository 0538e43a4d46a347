"""Dominating pairs with finitely many outcomes: randomised response, stated pairs, (eps, delta) guarantees."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from flint import ctx

from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss
from verified_dp.core.families.finite.groups import GroupOddsLoss
from verified_dp.core.families.finite.mechanism import ApproximateDP, Finite, RandomizedResponse
from verified_dp.core.families.groups.pair import THEOREM, for_group, group_step, refuse_group
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.steps import DominatingPair, Step, pair_in_order, refuse, step_of
from verified_dp.core.kernel.theorems import proved_by


@step_of.register
@proved_by("T54-randomized-response")
def _randomized_response(mechanism: RandomizedResponse, order: str, relation: Relation) -> Step:
    if relation is not Relation.REPLACE:
        refuse("randomised response", relation, "an answer that is missing tells who is missing; use replace")
    k, law = mechanism.categories, _response(mechanism)
    return Step(DominatingPair(order, f"answers of category 1 of {k}", f"answers of category 2 of {k}",
                               ("T54-randomized-response",), True), law)


def _response(mechanism: RandomizedResponse) -> Law | None:
    others = mechanism.categories - 2
    if mechanism.epsilon is not None:
        return OddsLoss(mechanism.epsilon, Fraction(0), others)
    true, false = mechanism.truth, (1 - mechanism.truth) / (mechanism.categories - 1)
    if true == false:
        return None
    neutral = ((others * false, others * false),) if others * false else ()
    return FiniteLoss((*sorted([(true, false), (false, true)]), *neutral), "symmetric")  # exact: fractions


@step_of.register
@proved_by("T55-finite")
def _finite(mechanism: Finite, order: str, relation: Relation) -> Step:
    if order == "symmetric" and not mechanism.is_symmetric():
        refuse("a finite pair that is not its own mirror image", relation,
                "neighbours may come in either direction at every step")
    pair = pair_in_order(order, "the stated P", "the stated Q", "T55-finite")
    law = FiniteLoss(mechanism.masses(), "symmetric" if order == "symmetric" else "remove").in_order(order)
    return Step(pair, law if any(p != q for p, q in law.masses) else None)


@step_of.register
@proved_by("T56-approximate-dp")
def _approximate_dp(mechanism: ApproximateDP, order: str, relation: Relation) -> Step:
    e, d = mechanism.epsilon, mechanism.delta
    odds = f"(1 + e^{shown(e)})"
    pair = pair_in_order(order, f"{shown(d)} at 'surely P', {shown(1 - d)} (e^{shown(e)}, 1)/{odds}",
                         f"{shown(d)} at 'surely Q', {shown(1 - d)} (1, e^{shown(e)})/{odds}",
                         "T56-approximate-dp", tight=False)
    return Step(pair, OddsLoss(e, d, 0) if e or d else None)


@group_step.register
@proved_by("T72-groups")
def _response_group(mechanism: RandomizedResponse, size: int, order: str, relation: Relation) -> Step:
    """As many answers change as there are persons in the group, independently."""
    step = step_of(mechanism, order, relation)
    pair = replace(step.pair, P=f"{size} independent {step.pair.P}", Q=f"{size} independent {step.pair.Q}")
    return for_group(replace(step, pair=pair), tight=True, copies=size)


@group_step.register
@proved_by("T72-groups", "T56-approximate-dp")
def _approximate_dp_group(mechanism: ApproximateDP, size: int, order: str, relation: Relation) -> Step:
    """(g eps, delta (e^{g eps} - 1)/(e^eps - 1)), which must be below 1 to state anything."""
    law = GroupOddsLoss(mechanism.epsilon, mechanism.delta, size)
    with ctx.workprec(_BITS):
        if not law.enclose_mass() < 1:
            refuse_group(mechanism, size, relation, "the guarantee for a group has delta >= 1, which states nothing")
    e, one = shown(size * mechanism.epsilon), shown(mechanism.epsilon)
    d = f"d = {shown(mechanism.delta)} sum over i < {size} of e^({one} i)"
    pair = pair_in_order(order, f"d at 'surely P', (1 - d) (e^{e}, 1)/(1 + e^{e}); {d}",
                         f"d at 'surely Q', (1 - d) (1, e^{e})/(1 + e^{e}); {d}", "T56-approximate-dp", THEOREM,
                         tight=False)
    return Step(pair, law if mechanism.epsilon or mechanism.delta else None)


_BITS = 256
