"""Steps with few outcomes: halves of all counts against sums over all sequences; hostile windows; what users ask."""

from __future__ import annotations

import json
import random
import weakref
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import pytest
from enumeration import enumerated, finite_law
from flint import arb, ctx

from verified_dp.certificate import certify
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.families.finite.atomic import AtomicLaw, DiscreteLaplaceLoss, FiniteLoss, OddsLoss
from verified_dp.core.families.finite.halves import (
    HalvesWitness,
    Outcome,
    Window,
    bound_left_out,
    bound_missed,
    enclose_shares,
)
from verified_dp.core.families.finite.mechanism import ApproximateDP, Finite
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.certificate import check
from verified_dp.core.kernel.certificate.check import check_work
from verified_dp.core.kernel.certificate.document import CONTENT, canonical, sealed
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Composition, Relation, Spec, compose
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.ends import ball_of
from verified_dp.profile import privacy_profile
from verified_dp.search.deadline import OutOfTime
from verified_dp.search.halves import has_halves, plan_halves
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.verifiers import independent

Parts = Sequence[tuple[AtomicLaw, int]]


def composed(parts: Parts) -> ComposedLoss:
    return ComposedLoss("remove", tuple(parts), Fraction(0))


def whole(parts: Parts, rng: random.Random) -> HalvesWitness:
    """All counts, each outcome in any half."""
    return HalvesWitness(Fraction(1), tuple(
        tuple(Window(rng.randint(0, 1), 0, count) for _ in law.enclose_losses()) for law, count in parts), 120)


def cut(witness: HalvesWitness, parts: Parts, rng: random.Random) -> HalvesWitness:
    """Any windows, any tilt, any bits."""
    windows = tuple(tuple(Window(rng.randint(0, 1), *sorted(rng.choices(range(count + 1), k=2))) for _ in own)
                    for own, (_, count) in zip(witness.windows, parts, strict=True))
    return HalvesWitness(Fraction(rng.randint(0, 40), 8), windows, rng.choice([2, 9, 120]))


def contains(witness: HalvesWitness, parts: Parts, epsilon: Fraction, truth: arb) -> bool:
    bounds = evaluate(composed(parts), witness).delta(epsilon)
    return not truth < bounds.lower and not truth > bounds.upper


def width(witness: HalvesWitness, parts: Parts, epsilon: Fraction) -> arb:
    bounds = evaluate(composed(parts), witness).delta(epsilon)
    return bounds.upper - bounds.lower


@pytest.mark.theorem("T163-halves")
@pytest.mark.parametrize("seed", range(16))
def test_any_halves_of_random_laws(seed: int) -> None:
    """All counts to 30 digits in whatever halves; windows at random still hold the truth."""
    rng = random.Random(seed)
    parts = [(finite_law(rng, 3, seed % 2 == 0), rng.randint(2, 4)),
             (finite_law(rng, 2, seed % 3 == 0), rng.randint(1, 2)),
             (finite_law(rng, 1, seed % 5 == 0), 1)][seed % 2:]
    for epsilon in (Fraction(rng.randint(0, 12), 10), Fraction(-1, 3)):
        truth, full = enumerated(parts, epsilon), whole(parts, rng)
        assert contains(full, parts, epsilon, truth)
        assert width(full, parts, epsilon) < arb(10) ** -30
        for _ in range(12):
            assert contains(cut(full, parts, rng), parts, epsilon, truth)


@pytest.mark.theorem("T163-halves")
@pytest.mark.parametrize("epsilon", [Fraction(n, 10) for n in (-7, -3, -1, 0, 1, 3, 5, 7, 9)])
def test_eps_at_a_sum_of_losses_is_enclosed(epsilon: Fraction) -> None:
    """Rational losses 1/10 and 3/10: the event's edge is on a sum of losses. No decision is asked for."""
    parts = [(OddsLoss(Fraction(1, 10), Fraction(1, 50), 0), 3), (OddsLoss(Fraction(3, 10), Fraction(0), 2), 2)]
    truth, witness = enumerated(parts, epsilon), whole(parts, random.Random(1))
    assert contains(witness, parts, epsilon, truth)
    assert width(witness, parts, epsilon) < arb(10) ** -30
    coarse = replace(witness, prec=4)
    assert contains(coarse, parts, epsilon, truth)
    assert width(coarse, parts, epsilon) > arb(10) ** -3


@pytest.mark.theorem("T163-halves")
@pytest.mark.parametrize("prec", [2, 3, 5, 8])
def test_rounded_losses_of_many_steps(prec: int) -> None:
    """Every loss is rounded by nearly a unit, seventy times: the event is wrong far around eps, and that is counted."""
    parts = [(OddsLoss(Fraction(n, 1021), Fraction(0), 0), count) for n, count in ((100, 40), (305, 30))]
    loss, witness = composed(parts), replace(whole(parts, random.Random(2)), prec=prec, tilt=Fraction(0))
    for n in range(-20, 120, 3):
        truth = evaluate(loss, ClosedFormWitness(150)).delta(Fraction(n, 29))
        bounds = evaluate(loss, witness).delta(Fraction(n, 29))
        assert bounds.lower <= truth.upper and truth.lower <= bounds.upper


@pytest.mark.theorem("T163-halves")
def test_what_is_left_out_is_added_above_only() -> None:
    """The lower end falls by what the lost counts hold, the upper one rises: by windows of one outcome alone."""
    rng = random.Random(5)
    parts = [(finite_law(rng, 3, False), 5)]
    truth, epsilon = enumerated(parts, Fraction(1, 5)), Fraction(1, 5)
    full = whole(parts, rng)
    best = evaluate(composed(parts), full).delta(epsilon)
    for place, window in product(range(3), (Window(0, 1, 5), Window(0, 0, 4), Window(1, 2, 3))):
        own = list(full.windows[0])
        own[place] = window
        bounds = evaluate(composed(parts), replace(full, windows=(tuple(own),))).delta(epsilon)
        assert bounds.lower <= best.lower and truth <= bounds.upper
        assert bounds.budget["truncation"] > truth - bounds.lower - arb(10) ** -30


@pytest.mark.theorem("T163-halves", "T135-binomial-sums")
@pytest.mark.parametrize("seed", range(40))
def test_what_a_window_misses(seed: int) -> None:
    rng = random.Random(seed)
    count, share = rng.randint(1, 60), Fraction(rng.randint(1, 40), rng.randint(41, 60))
    low, high = sorted(rng.choices(range(count + 1), k=2))
    missed = sum(comb(count, n) * share**n * (1 - share) ** (count - n) for n in range(count + 1)
                 if not low <= n <= high)
    with ctx.workprec(200):
        bound = bound_missed(count, ball(share), ball(1 - share), Window(0, low, high))
        assert ball(missed) <= bound <= 1
        assert low > count * share - 3 or high < count * share + 3 or bound <= 4 * ball(missed)
        assert bound_missed(count, arb(1), arb(0), Window(0, count, count)) == 0
        assert bound_missed(count, arb(1), arb(0), Window(0, 0, count - 1)) == 1


@pytest.mark.theorem("T163-halves")
def test_counts_are_all_that_can_be_completed() -> None:
    """Of three outcomes the sums from 4 to 6, by brute force."""
    windows = [(0, 2), (1, 3), (0, 4)]
    outcomes = [Outcome(10**n, low, high, [arb(1)] * 5, [arb(2)] * 5) for n, (low, high) in enumerate(windows)]
    found = enclose_shares(outcomes, range(4, 7))
    triples = list(product(range(3), range(1, 4), range(5)))
    assert {total: sorted(place for place, _, _ in items) for total, items in found.items()} == {
        total: sorted(a + 10 * b + 100 * c for a, b, c in triples if a + b + c == total) for total in (4, 5, 6)}
    assert all((p, q) == (1, 8) for items in found.values() for _, p, q in items)


@pytest.mark.theorem("T163-halves")
@pytest.mark.parametrize("change", [
    {"tilt": Fraction(-1)}, {"windows": ()}, {"windows": ((Window(0, 0, 3), Window(1, 0, 3)),)},
    {"windows": ((Window(0, 0, 3),) * 2 + (Window(2, 0, 3),),)}, {"windows": ((Window(0, 0, 4),) * 3,)},
    {"windows": ((Window(0, -1, 3),) * 3,)}, {"windows": ((Window(0, 2, 1),) * 3,)},
    {"windows": ((Window(0, 0, 3),) * 3,) * 2}])
def test_side_conditions(change: dict[str, object]) -> None:
    parts = [(finite_law(random.Random(3), 3, True), 3)]
    witness = whole(parts, random.Random(3))
    assert evaluate(composed(parts), witness).delta(Fraction(1, 9)).upper < 1
    with pytest.raises(InvalidInput):
        evaluate(composed(parts), replace(witness, **change))  # type: ignore[arg-type]


def test_a_law_without_finite_losses_beside_others() -> None:
    """P and Q never agree on one of the outcomes: delta is 1, with nothing to list."""
    steps = compose((Finite((1, 0), (0, 1)), 2), (THREE, 200), (FOUR, 20))
    found = privacy_profile(steps, "add-or-remove").delta(1)
    assert found.lower == found.upper == 1
    parts: Parts = [(FiniteLoss(((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))), "remove"), 2),
                    (finite_law(random.Random(1), 2, False), 2)]
    bounds = evaluate(composed(parts), whole(parts, random.Random(1))).delta(Fraction(1))
    assert bounds.lower == bounds.upper == 1


def test_other_laws_have_no_halves() -> None:
    """Atoms with a density between them, and a Gaussian beside atoms."""
    laplace = ComposedLoss("symmetric", ((LaplaceLoss(Fraction(1)), 2),), Fraction(0))
    law: Law = finite_law(random.Random(3), 2, False)
    beside = ComposedLoss("remove", ((law, 2),), Fraction(1))
    for loss in (laplace, beside):
        witness = HalvesWitness(Fraction(1), ((Window(0, 0, 2), Window(0, 0, 2)),), 80)
        with pytest.raises(InvalidInput):
            evaluate(loss, witness)
        assert not has_halves(loss)


def test_more_counts_than_a_check_may_list_are_refused() -> None:
    """Before any of them is made; a slow search stops when its time is over."""
    loss = composed([(finite_law(random.Random(2), 5, False), 10**4)])
    witness = HalvesWitness(Fraction(1), (tuple(Window(n % 2, 0, 10**4) for n in range(5)),), 80)
    with pytest.raises(InvalidCertificate, match="more work"):
        check_work([(loss, witness)])
    assert not has_halves(loss)

    def stop() -> None:
        raise OutOfTime

    with pytest.raises(OutOfTime):
        evaluate(loss, witness, stop)


@pytest.mark.theorem("T163-halves")
@pytest.mark.parametrize("seed", range(6))
def test_altered_plans_hold_the_truth(seed: int) -> None:
    """What the search chose for some dozens of steps, then hurt: the polynomial's power tells the truth."""
    rng = random.Random(seed)
    law = FiniteLoss(tuple((Fraction(p, 9), Fraction(q, 9)) for p, q in ((4, 2), (1, 2), (4, 4), (0, 1))), "remove")
    loss, epsilon = composed([(law, 60)]), Fraction(rng.randint(5, 60), 3)
    truth = evaluate(loss, ClosedFormWitness(300)).delta(epsilon)
    model = LatticeModel(loss)
    plan = plan_halves(model, float(epsilon), model.saddle(float(epsilon)), 42.0)
    assert plan is not None
    good = evaluate(loss, plan.witness).delta(epsilon)
    assert good.lower <= truth.upper and truth.lower <= good.upper
    assert good.upper - good.lower < good.upper * arb(2) ** -40
    for _ in range(15):
        own = [replace(one, half=rng.randint(0, 1), low=max(one.low + rng.randint(-9, 6), 0),
                       high=min(one.high + rng.randint(-6, 9), 60)) for one in plan.witness.windows[0]]
        tilt = plan.witness.tilt * Fraction(rng.randint(0, 30), 10)
        hurt = HalvesWitness(tilt, (tuple(own),), rng.choice([10, 40, 150]))
        if all(one.low <= one.high for one in own):
            bounds = evaluate(loss, hurt).delta(epsilon)
            assert bounds.lower <= truth.upper and truth.lower <= bounds.upper


@pytest.mark.theorem("T163-halves")
def test_two_kinds_against_sums_of_fractions() -> None:
    """Forty steps each of two laws with two outcomes; every decision by logarithms of rationals."""
    one, other = (Fraction(3, 5), Fraction(1, 2)), (Fraction(2, 7), Fraction(1, 3))
    steps = compose((Finite((one[0], 1 - one[0]), (one[1], 1 - one[1])), 40),
                    (Finite((other[0], 1 - other[0]), (other[1], 1 - other[1])), 40))
    rows = [[(comb(40, n) * p**n * (1 - p) ** (40 - n), comb(40, n) * q**n * (1 - q) ** (40 - n)) for n in range(41)]
            for p, q in (one, other)]
    profile = privacy_profile(steps, "remove")
    for text in ("0.1", "1", "3"):
        found = profile.delta(text)
        assert (found.status, found.method) == ("certified", "closed-form")
        with ctx.workprec(200):
            growth = ball(Fraction(text)).exp()
            truth = sum(((ball(p) * ball(r) - growth * (ball(q) * ball(s))).max(arb(0))
                         for (p, q), (r, s) in product(*rows)), arb(0))
            assert ball_of(found.lower) <= truth <= ball_of(found.upper)


THREE = Finite((Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),
               (Fraction(23, 100), Fraction(26, 100), Fraction(51, 100)))
FOUR = Finite((Fraction(1, 4), Fraction(1, 4), Fraction(1, 8), Fraction(3, 8)),
              (Fraction(23, 100), Fraction(26, 100), Fraction(14, 100), Fraction(37, 100)))
KINDS = tuple((ApproximateDP(Fraction(100003 + 10007 * n**3, 10**6), Fraction(1, 10**9)), 20) for n in range(4))
NARROW: dict[str, tuple[Composition, str, int]] = {
    "two kinds": (compose((ApproximateDP("0.0100103", "1e-9"), 1000), (ApproximateDP("0.0137277", 0), 1000)),
                  "replace", 12),
    "two kinds to 50 digits": (compose((ApproximateDP("0.0010003331", 0), 10**4), (
        ApproximateDP("0.001377777711", 0), 10**4)), "replace", 50),
    "three outcomes": (compose((THREE, 1000)), "add-or-remove", 12),
    "four outcomes": (compose((FOUR, 300)), "remove", 12),
    "four kinds": (compose(*KINDS), "replace", 12),
    "sampled and not": (compose((PoissonSampled(THREE, "0.1"), 100), (FOUR, 20)), "remove", 12),
}


@pytest.mark.parametrize("name", NARROW)
def test_few_outcomes_are_answered_to_all_digits(name: str) -> None:
    """delta and epsilon; both were wide before. Twice the eps of a delta gives back that delta."""
    steps, relation, digits = NARROW[name]
    profile = privacy_profile(steps, relation)
    delta = profile.delta("0.7", digits=digits)
    assert (delta.status, delta.method) == ("certified", "closed-form")
    assert delta.upper.as_fraction() - delta.lower.as_fraction() <= delta.upper.as_fraction() / 10**digits
    eps = profile.epsilon(delta.lower.as_fraction(), digits=digits)
    assert eps.status == "certified"
    assert eps.lower.as_fraction() <= Fraction(7, 10) + Fraction(1, 10 ** (digits - 3))
    assert eps.upper.as_fraction() >= Fraction(7, 10) - Fraction(1, 10 ** (digits - 3))


@pytest.mark.theorem("T163-halves", "T135-binomial-sums")
def test_three_outcomes_by_two_ways() -> None:
    """Halves of counts, and sums of binomial sums."""
    law = FiniteLoss(THREE.masses(), "remove")
    loss, model = composed([(law, 300)]), LatticeModel(composed([(law, 300)]))
    for epsilon in (Fraction(1, 2), Fraction(3)):
        plan = plan_halves(model, float(epsilon), model.saddle(float(epsilon)), 80.0)
        assert plan is not None
        one, other = (evaluate(loss, way).delta(epsilon) for way in (plan.witness, ClosedFormWitness(120)))
        assert one.lower <= other.upper and other.lower <= one.upper
        assert one.upper - one.lower < one.upper * arb(2) ** -75


def test_a_list_of_eps_reads_the_same_halves() -> None:
    profile = privacy_profile(compose((FOUR, 100)), "remove")
    curve = profile.delta([Fraction(n, 10) for n in range(1, 20)], digits=10)
    assert all(one.status == "certified" for one in curve)
    alone = privacy_profile(compose((FOUR, 100)), "remove").delta(Fraction(7, 10), digits=10)
    assert curve[6].lower.as_fraction() <= alone.upper.as_fraction()
    assert alone.lower.as_fraction() <= curve[6].upper.as_fraction()


@pytest.mark.theorem("T163-halves")
def test_what_many_windows_leave_out() -> None:
    """A single step with more outcomes than sums of all others of each could take: nothing but the first is kept."""
    law, only = DiscreteLaplaceLoss(Fraction(1000), 4095), Window(0, 0, 1)
    moment, missed = bound_left_out(composed([(law, 1)]), [[only] + [Window(1, 0, 0)] * 4095], arb(1) / 2)
    with ctx.workprec(120):
        weights = [mass * (place / 2).exp() for place, mass in law.enclose_loss_atoms()]
        whole = sum(weights, arb(0))
        assert whole <= moment <= whole * (1 + arb(2) ** -30)
        others = 1 - weights[0] / whole
        assert others <= missed <= others * (1 + arb(2) ** -5)


def test_a_check_keeps_no_more_than_one_evaluation_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen witnesses of two gigabytes each: the values of the last are gone before the next are made."""
    claim = Claim("", "", "2", "0.05", "2", "0.05")
    certificate = certify(Spec(Relation.of("remove"), compose((FOUR, 60), (THREE, 5)), claim))
    document = {key: value for key, value in json.loads(certificate.to_bytes()).items() if key in CONTENT}
    for more, entry in enumerate(document["evaluations"]):
        entry["witness"]["prec"] += more
    data = canonical(sealed(document))
    monkeypatch.setattr(check, "check_work", lambda *_: None)  # a limit of 0 is of what is kept, not of one witness
    made, real = list[weakref.ref[object]](), check.evaluate

    def counted(one: Any, other: Any) -> object:
        assert not any(old() for old in made)
        values: object = real(one, other)
        made.append(weakref.ref(values))
        return values

    monkeypatch.setattr(check, "evaluate", counted)
    monkeypatch.setattr(check, "MAX_MEMORY", 0)
    assert check.verify(data).valid
    assert len(made) == 3


def test_certificates_of_halves() -> None:
    claim = Claim("", "", "2", "0.05", "2", "0.05")
    certificate = certify(Spec(Relation.of("remove"), compose((FOUR, 60), (THREE, 5)), claim))
    assert certificate.verify().valid
    assert certificate.verdict == "proved"
    assert {one["witness"]["kind"] for one in certificate["evaluations"]} == {"halves"}
    assert independent.verify(certificate.to_bytes()).valid
