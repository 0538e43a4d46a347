"""delta along a list of eps by sums over atoms and pieces, against the same values at each eps alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx

from verified_dp import (
    DiscreteGaussian,
    DiscreteLaplace,
    Finite,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    compose,
    privacy_profile,
)
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.frequencies import Frequencies
from verified_dp.core.kernel.composition import Mechanism
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search import along_atoms
from verified_dp.search.along import enclose_along
from verified_dp.search.answer import width_bits
from verified_dp.search.deadline import Budget
from verified_dp.search.lattice import plan_lattice
from verified_dp.search.one_direction import OneDirection

pytestmark = pytest.mark.theorem("T229-lists-over-atoms")
THREE = Finite(["1/2", "1/3", "1/6"], ["1/4", "1/4", "1/2"])
CLOSED: list[tuple[Mechanism, int, str, float]] = [
    (DiscreteLaplace(20, 1), 1000, "remove", 0.05), (RandomizedResponse(2, "3/4"), 40, "replace", 0.6),
    (Laplace(20, 1), 10, "remove", 0.05), (Laplace(2, 1), 3, "remove", 0.5), (Laplace(20, 1), 41, "remove", 0.05),
    (RandomizedResponse(3, "3/5"), 20, "replace", 1.0), (THREE, 5, "remove", 0.4),
    (PoissonSampled(DiscreteLaplace(3, 1), "1/10"), 6, "remove", 0.1)]


def closed(step: Mechanism, count: int, relation: str, prec: int = 120) -> Any:
    loss = privacy_profile(compose((step, count)), relation).losses[0]
    return evaluate(loss, ClosedFormWitness(prec))


def lattice(step: Mechanism, count: int, epsilon: float, sparse: bool) -> Any:
    order = OneDirection(privacy_profile(compose((step, count)), "remove").losses[0])
    plan = plan_lattice(order.lattice_model, epsilon, 2.0**-24, sparse=sparse)
    assert plan.witness is not None
    return evaluate(order.loss, plan.witness)


def agree(values: Any, epsilons: list[Fraction], lost: float) -> int:
    """How many are told to some bits, of which no more than so many are lost by the list."""
    told = 0
    for at, one in zip(epsilons, enclose_along(values, epsilons), strict=True):
        own = values.delta(at)
        assert one.lower <= own.upper and own.lower <= one.upper
        told += width_bits(own) > 10
        assert width_bits(one) >= width_bits(own) - lost or width_bits(own) <= 10
    return told


@pytest.mark.theorem("T135-binomial-sums")
@pytest.mark.theorem("T45-pieces")
@pytest.mark.parametrize(("step", "count", "relation", "rise"), CLOSED)
def test_closed_forms_along_a_list(step: Mechanism, count: int, relation: str, rise: float) -> None:
    """On atoms, between them, on the first and past the last one; equal eps too."""
    values = closed(step, count, relation)
    epsilons = sorted([*(Fraction(i, 7) * Fraction(rise) for i in range(60)), *(Fraction(str(rise)) * i
                                                                               for i in range(9))])
    assert agree(values, [*epsilons, epsilons[-1], Fraction(10**6)], 4.0) >= 8
    assert enclose_along(values, []) == []


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize(("step", "count", "middle", "sparse"), [
    (DiscreteGaussian(100, 1), 100, 1.0, False), (DiscreteGaussian(100, 1), 10**4, 60.0, True),
    (THREE, 30, 3.0, False), (DiscreteGaussian(3, 1), 7, 2.0, True)])
def test_lattices_along_a_list(step: Mechanism, count: int, middle: float, sparse: bool) -> None:
    values = lattice(step, count, middle, sparse)
    assert isinstance(values.sides[0], Frequencies) == sparse
    epsilons = [Fraction(middle) * Fraction(i, 40) for i in range(1, 90)]
    assert agree(values, [*epsilons[:50], *[epsilons[50]] * 3, *epsilons[51:]], 0.5) >= 20


@pytest.mark.parametrize(("step", "count", "name", "wrong"), [
    (DiscreteLaplace(20, 1), 1000, "_within", lambda place, count: min(max(place + 3, 0), count)),
    (Laplace(20, 1), 10, "_polynomial", lambda tail, longest: tail.start)])
def test_terms_left_out_would_show(step: Mechanism, count: int, name: str, wrong: Any,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    values, epsilons = closed(step, count, "remove"), [Fraction(i, 100) for i in range(1, 30)]
    monkeypatch.setattr(along_atoms, name, wrong)
    found = [(one, values.delta(at)) for at, one in zip(epsilons, enclose_along(values, epsilons), strict=True)]
    assert any(one.lower > own.upper or own.lower > one.upper for one, own in found)


def test_the_stretch_that_wraps_around_the_circle_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    values, whole = lattice(DiscreteGaussian(100, 1), 100, 1.0, False), along_atoms._circle_masses
    epsilons = [Fraction(i, 20) for i in range(1, 30)]

    def turned(weights: Any, low: int, *rest: Any) -> Any:
        return whole(weights, low + 1, *rest)

    monkeypatch.setattr(along_atoms, "_circle_masses", turned)
    found = [(one, values.delta(at)) for at, one in zip(epsilons, enclose_along(values, epsilons), strict=True)]
    assert any(one.lower > own.upper or own.lower > one.upper for one, own in found)


def test_kept_evaluations_answer_the_eps_around_them() -> None:
    """A lattice is composed a few times for a hundred eps, whose order does not matter."""
    profile = privacy_profile(compose((DiscreteGaussian(100, 1), 100)), "add-or-remove")
    epsilons = [Fraction(37 * i % 100, 40) for i in range(100)]
    along = profile.following()
    found = along.delta(epsilons, 6)
    assert len(along._orders[0]._kept) <= 5  # type: ignore[attr-defined]
    for i in range(0, 100, 11):
        alone = profile.delta(epsilons[i], 6)
        assert found[i].status == "certified" and found[i].overlaps(alone)


@pytest.mark.theorem("T237-between-chords")
@pytest.mark.parametrize(("step", "count"), [(Laplace(20, 1), 10), (DiscreteLaplace(5, 1), 10),
                                             (DiscreteGaussian(100, 1), 100)])
def test_roots_of_lists_over_atoms(step: Mechanism, count: int) -> None:
    profile = privacy_profile(compose((step, count)), "add-or-remove")
    deltas = [Fraction(1, 4) / Fraction(6, 5)**i for i in range(25)]
    for i, one in enumerate(profile.epsilon(deltas, 6)):
        assert one.status == "certified"
        if i % 5 == 0:
            assert one.overlaps(profile.epsilon(deltas[i], 9))
    with ctx.workprec(100):
        order = profile.following()._orders[0]
        order.enclose(Fraction(1, 5), 30.0, "auto", Budget(None))
        assert arb(0) < order.along([Fraction(1, 4)], 1.0, "auto")[0][0].upper < 1  # type: ignore[attr-defined, index]
