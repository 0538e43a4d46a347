"""Certificates written by hand, whose author chose two bits so that an undecided comparison would help: none passes.

The largest loss is log 3 = 1.0986..., which no rational number equals, so it is compared in balls (T127). With two bits
the ball of log 3 holds 11/9 and 1 alike.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from flint import ctx

from verified_dp.certificate import certify
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.exact import ExactWitness, largest_loss
from verified_dp.core.families.batches.mechanism import Shuffled
from verified_dp.core.families.finite.mechanism import Finite, RandomizedResponse
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.kernel.certificate.check import verify, with_facts
from verified_dp.core.kernel.certificate.document import canonical, sealed
from verified_dp.core.kernel.certificate.evaluation import evaluation_record, read_evaluations
from verified_dp.core.kernel.certificate.theorems import theorems_record
from verified_dp.core.kernel.certificate.verdict import judge
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Relation, Spec, compose
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.ends import end_of
from verified_dp.core.kernel.evaluation import Evaluation
from verified_dp.core.kernel.losses import pairs_and_losses
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.spec import parse_spec
from verified_dp.verifiers import independent

F = Fraction
pytestmark = pytest.mark.theorem("T127-support-end")
COIN = Finite(("3/4", "1/4"), ("1/4", "3/4"))
IRRATIONAL = [compose(COIN), compose(RandomizedResponse(3, "1/2")), compose((COIN, 3)),
              compose(COIN, (RandomizedResponse(5, "1/3"), 10**6))]
SPEC = ('relation = "replace"\n[[mechanism]]\nkind = "finite"\nP = ["3/4", "1/4"]\nQ = ["1/4", "3/4"]\n'
        '[claim]\nepsilon = "6/5"\ndelta = 0\n')


def loss_of(what: Composition) -> ComposedLoss:
    return pairs_and_losses(what, Relation.REPLACE)[1][0]


def entry(quantity: str, at: Fraction, side: str, witness: Witness) -> Evaluation[Any]:
    budget = {"rounding": "1.000e3"} if isinstance(witness, ClosedFormWitness) else {}
    return Evaluation(quantity, "symmetric", at, side, witness, Dyadic(0), Dyadic(1), budget)


def written(*entries: Evaluation[Any], text: str = SPEC, forged: bool = False, endless: bool = False) -> dict[str, Any]:
    """The certificate of a specification with these evaluations: all else follows from them, and the hashes fit.

    forged: as if delta fell up to where each is, or everywhere.
    """
    spec: Spec = parse_spec(text)
    assert spec.claim is not None
    records = [evaluation_record(one) for one in entries]
    pairs, losses = pairs_and_losses(spec.composition, spec.relation)
    base = {key: value for key, value in certify(spec).document.items() if key not in ("hashes", "sha256")}
    by_order = {loss.order: loss for loss in losses}
    stated = [one if forged else with_facts(one, by_order) for one in read_evaluations(records)]
    if forged:
        stated = [replace(one, everywhere=endless, until=Dyadic.infinity() if endless else end_of(one.at))
                  for one in stated]
    judged = judge(spec.claim, list(by_order), True, stated)
    theorems = theorems_record(pairs, [(losses[0], one.witness) for one in entries])
    return sealed({**base, "evaluations": records, "theorems": theorems, **judged})


KNOWN = entry("delta", F(6, 5), "both", ClosedFormWitness(2))
"""Says nothing: delta is between 0 and 1."""


def refused(document: dict[str, Any]) -> bool:
    found = verify(document), independent.verify(canonical(document))
    return not any(one.valid for one in found)


def earlier(document: dict[str, Any], kind: str) -> dict[str, Any]:
    """The same with that kind for each exact witness."""
    entries = [{**one, "witness": {**one["witness"], "kind": kind}} if one["witness"]["kind"] == "exact" else one
               for one in document["evaluations"]]
    return sealed({**{key: value for key, value in document.items() if key not in ("hashes", "sha256")},
                   "evaluations": entries})


def test_the_true_end_passes() -> None:
    """So that nothing but the comparison stands between the others and a verdict."""
    document = written(KNOWN, entry("epsilon", F(1), "lower", ExactWitness(20)))
    assert document["verdict"] == "undecided" and document["result"]["epsilon"]["lower"] == "1.0000"
    for one in (document, earlier(document, "end")):
        assert verify(one).valid and independent.verify(canonical(one)).valid


@pytest.mark.parametrize("prec", [2, 3, 128])
@pytest.mark.parametrize("endless", [False, True])
@pytest.mark.parametrize("at", [F(11, 9), F(110, 100), F(3, 2), F(10**6)])
def test_a_loss_beyond_the_largest_refutes_nothing(prec: int, endless: bool, at: Fraction) -> None:
    """6/5 is at least log 3: the claim is true, and the forged certificate calls it refuted."""
    document = written(KNOWN, entry("epsilon", at, "lower", ExactWitness(prec)), forged=True, endless=endless)
    assert (not endless and at <= F(6, 5)) or document["verdict"] == "refuted"
    assert refused(document) and refused(earlier(document, "endless" if endless else "end"))


def test_an_end_is_not_endless() -> None:
    """Where delta falls up to `at` and no further, epsilon is at least `at`, not infinite."""
    honest = entry("epsilon", F(1), "lower", ExactWitness(128))
    assert verify(written(KNOWN, honest)).valid
    assert refused(written(KNOWN, honest, forged=True, endless=True))


@pytest.mark.parametrize("what", IRRATIONAL)
@pytest.mark.parametrize("prec", [2, 3, 5, 30])
def test_what_is_not_decided_is_not_within_the_support(what: Composition, prec: int) -> None:
    loss = loss_of(what)
    with ctx.workprec(300):
        end = loss.enclose_largest_loss()
        assert end is not None and largest_loss(loss) is None
        beyond = F(int((end * 10**60).ceil().unique_fmpz()), 10**60)  # type: ignore[arg-type]
    for epsilon in (beyond, beyond + F(1, 100), beyond * F(9, 8)):
        assert evaluate(loss, ExactWitness(prec)).delta(epsilon).until is None


@pytest.mark.parametrize("what", [*IRRATIONAL, compose((COIN, 2), Laplace(3, 1))])
def test_a_loss_with_an_irrational_end_is_not_endless(what: Composition) -> None:
    loss = loss_of(what)
    for prec, epsilon in ((2, F(0)), (2, F(1)), (128, F(1, 10)), (128, F(100))):
        until = evaluate(loss, ExactWitness(prec)).delta(epsilon).until
        assert until is None or until == epsilon


def test_beside_a_gaussian_there_is_no_end() -> None:
    bounds = evaluate(loss_of(compose(COIN, Gaussian(1))), ExactWitness(2)).delta(F(10**9))
    assert bounds.exact_lower == 0 and bounds.upper == 1 and bounds.until == Dyadic.infinity() and bounds.everywhere


@pytest.mark.theorem("T144-shuffled-epochs")
@pytest.mark.parametrize("prec", [2, 128])
def test_the_end_of_a_dominating_pair_is_not_that_of_shuffled_epochs(prec: int) -> None:
    """What dominates them is larger than they are: its losses say nothing from below."""
    losses = pairs_and_losses(compose(Shuffled(Gaussian(1), 20)), Relation.ADD_OR_REMOVE)[1]
    for loss in losses:
        bounds = evaluate(loss, ExactWitness(prec)).delta(F(10))
        assert bounds.until is None and not bounds.everywhere and bounds.lower == 0
    plain = pairs_and_losses(compose(Gaussian(1)), Relation.ADD_OR_REMOVE)[1]
    assert evaluate(plain[0], ExactWitness(prec)).delta(F(10)).until == Dyadic.infinity()
