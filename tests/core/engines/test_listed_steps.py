"""Few steps by all of their outcomes: against all sequences of outcomes, other engines, and hostile witnesses."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from enumeration import enumerated, finite_law
from flint import arb

from verified_dp.certificate import certify
from verified_dp.core.engines.few_steps import FewStepsWitness, list_outcomes, listed_items, share
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.families.finite.atomic import AtomicLaw, FiniteLoss, OddsLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.certificate.check import check_work
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Relation, Spec, compose
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.profile import privacy_profile

Parts = Sequence[tuple[Law, int]]
FINE = PoissonSampled(DiscreteGaussian("4", 1), "0.1")


def composed(parts: Parts, order: str = "remove") -> ComposedLoss:
    return ComposedLoss(order, tuple(parts), Fraction(0))


def sampled(variance: int, q: Fraction, order: str) -> SampledLoss:
    return SampledLoss(DiscreteGaussianLoss(Fraction(variance), 1, "remove"), q, order)


@pytest.mark.theorem("T231-few-steps")
@pytest.mark.parametrize("seed", range(12))
def test_any_split_of_random_laws(seed: int) -> None:
    """All sequences of outcomes to 30 digits, whatever is in which half; at few bits the truth is still inside."""
    rng = random.Random(seed)
    parts: list[tuple[AtomicLaw, int]] = [(finite_law(rng, 3, seed % 2 == 0), rng.randint(1, 3)),
                                          (finite_law(rng, 2, seed % 3 == 0), rng.randint(1, 2))][: 1 + seed % 2]
    for epsilon in (Fraction(rng.randint(0, 12), 10), Fraction(-1, 3)):
        truth = enumerated(parts, epsilon)
        for prec in (3, 6, 12, 120):
            firsts = tuple(rng.randint(0, count) for _, count in parts)
            found = evaluate(composed(parts), FewStepsWitness((0,) * len(parts), firsts, prec)).delta(epsilon)
            assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < arb(10) ** -30


@pytest.mark.theorem("T231-few-steps")
@pytest.mark.parametrize("epsilon", [Fraction(n, 10) for n in (-7, -3, -1, 0, 1, 3, 5, 7, 9)])
def test_eps_at_a_sum_of_losses(epsilon: Fraction) -> None:
    """Rational losses 1/10 and 3/10, with mass at infinity on both sides: the event's edge is on a sum of losses."""
    parts = [(OddsLoss(Fraction(1, 10), Fraction(1, 50), 0), 2), (OddsLoss(Fraction(3, 10), Fraction(0), 2), 2)]
    truth = enumerated(parts, epsilon)
    for prec, width in ((5, 1), (120, 1e-30)):
        found = evaluate(composed(parts), FewStepsWitness((0, 0), (2, 1), prec)).delta(epsilon)
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < width


@pytest.mark.theorem("T231-few-steps")
@pytest.mark.parametrize("count", [2, 3, 4])
def test_rounded_losses_are_counted(count: int) -> None:
    """Masses that are whole units, or little more, so that hardly any is lost; losses that are off by nearly one."""
    more = Fraction(1, 10**9)
    masses = tuple((Fraction(p, 4), Fraction(q, 4) + rest) for p, q, rest in ((2, 1, more), (1, 1, more),
                                                                              (1, 2, -2 * more)))
    parts = [(FiniteLoss(masses, "remove"), count)]
    for n in range(-10, 80):
        truth = enumerated(parts, Fraction(n, 24))
        for prec in (4, 8, 9):
            found = evaluate(composed(parts), FewStepsWitness((0,), (count // 2,), prec)).delta(Fraction(n, 24))
            assert found.lower <= truth <= found.upper


@pytest.mark.theorem("T231-few-steps")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_short_lists_widen_both_ends(order: str) -> None:
    """What is not listed is missing below and added above, more with shorter lists; all hold the longest one's."""
    loss, epsilon = composed([(sampled(4, Fraction(1, 10), order), 3)], order), Fraction(1, 20)
    best = evaluate(loss, FewStepsWitness((40,), (2,), 120)).delta(epsilon)
    assert best.upper - best.lower < best.upper * arb(10) ** -30
    widths = []
    for reach in (2, 4, 6, 9):
        for firsts in ((0,), (1,), (3,)):
            found = evaluate(loss, FewStepsWitness((reach,), firsts, 90)).delta(epsilon)
            assert found.lower < best.lower < best.upper < found.upper
        widths.append(found.upper - found.lower)
    assert all(a > b for a, b in pairwise(widths))


@pytest.mark.theorem("T231-few-steps", "T192-line")
@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_the_lattice_agrees(count: int) -> None:
    """Grids of cells against all outcomes, in both orders; wide outcomes' lists beside."""
    profile = privacy_profile(compose((FINE, count)), "add-or-remove")
    for text in ("0.02", "0.3"):
        one, other = profile.delta(text, digits=6, max_seconds=1), profile.delta(text, digits=2, method="lattice")
        assert one.lower <= other.upper and other.lower <= one.upper
    if count < 5:
        assert (one.status, one.method) == ("certified", "closed-form")


@pytest.mark.theorem("T231-few-steps")
def test_each_way_to_share_is_made_once() -> None:
    """The places 1, 10, 100, 1000 tell every count; the masses are multinomial."""
    items = listed_items(share([(10**n, 1 << 40, 1 << 40) for n in range(4)], 3, 40), 40)
    assert sorted(place for place, _, _ in items) == sorted(
        a + 10 * b + 100 * c + 1000 * (3 - a - b - c) for a in range(4) for b in range(4 - a)
        for c in range(4 - a - b))
    assert sum(p for _, p, _ in items) == 4**3 << 40


@pytest.mark.theorem("T231-few-steps")
def test_masses_and_places_are_rounded_down() -> None:
    law = sampled(9, Fraction(1, 7), "remove")
    items, gap = list_outcomes(law, 20, 30)
    listed = law.enclose_listed(20)
    assert listed is not None
    for (place, above, below), (loss, mass) in zip(items, listed.atoms, strict=True):
        unit = arb(2) ** 30
        assert 0 <= -loss * unit - place <= gap
        assert 0 <= mass * unit - above <= 1
        assert 0 <= mass * (-loss).exp() * unit - below <= 1


@pytest.mark.theorem("T231-few-steps")
@pytest.mark.parametrize("change", [{"reaches": ()}, {"firsts": (4,)}, {"firsts": (-1,)}, {"firsts": (1, 1)},
                                    {"reaches": (1,)}])
def test_side_conditions(change: dict[str, tuple[int, ...]]) -> None:
    loss, witness = composed([(sampled(4, Fraction(1, 3), "remove"), 3)]), FewStepsWitness((20,), (2,), 60)
    assert evaluate(loss, witness).delta(Fraction(1, 9)).upper < 1
    with pytest.raises(InvalidInput):
        evaluate(loss, replace(witness, **change))
    for other in (composed([(LaplaceLoss(Fraction(1)), 3)]), replace(loss, mean_shift_squared=Fraction(1))):
        with pytest.raises(InvalidInput):
            evaluate(other, witness)


@pytest.mark.parametrize(("count", "reach", "first"), [
    (3, 10**30, 2), (3, 10**5, 2), (10**12, 20, 10**11), (10**5, 3, 10**5), (30, 60, 15)])
def test_more_items_than_a_check_may_list_are_refused(count: int, reach: int, first: int) -> None:
    """Before any of them is made."""
    loss = composed([(sampled(4, Fraction(1, 3), "remove"), count)])
    with pytest.raises(InvalidCertificate, match="more work"):
        check_work([(loss, FewStepsWitness((reach,), (first,), 60))])


def test_certificates_of_few_steps() -> None:
    """Valid; changed lists make other ends, so that the record is refused."""
    claim = Claim("", "", "0.2", "0.0013", "0.2", "0.0013")
    certificate = certify(Spec(Relation.of("add-or-remove"), compose((FINE, 3)), claim))
    assert {one["witness"]["kind"] for one in certificate["evaluations"]} == {"few-steps"}
    assert certificate.verify().valid
