"""Lists of eps and of deltas: what is computed once, and that every point is enclosed as by a question of its own."""

from fractions import Fraction

import pytest

from verified_dp import DiscreteGaussian, Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.core.engines.rays import RaysWitness
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection

EPSILONS = [Fraction(i, 100) for i in range(5, 29)]


def evaluations(profile, epsilons, digits, monkeypatch):
    """The list's enclosures, and the witnesses evaluated for it."""
    seen, evaluate = [], OneDirection.evaluate

    def counted(order, epsilon, witness, *between):
        seen.append((order.loss.order, witness.kind))
        return evaluate(order, epsilon, witness, *between)

    monkeypatch.setattr(OneDirection, "evaluate", counted)
    found = profile.delta(epsilons, digits=digits)
    monkeypatch.undo()
    return found, seen


@pytest.mark.parametrize(("step", "count", "kind", "most", "digits"), [
    (PoissonSampled(DiscreteGaussian(4, 1), "0.01"), 1000, "line", 4, 2),
    (PoissonSampled(Gaussian(1), "0.01"), 2, "rays", 4, 12),
    (PoissonSampled(Gaussian(1), "0.001"), 2000, "line", 4, 12)])
def test_few_evaluations_serve_a_list(step, count, kind, most, digits, monkeypatch):
    profile = privacy_profile(compose((step, count)), "add-or-remove")
    found, seen = evaluations(profile, EPSILONS, digits, monkeypatch)
    assert 0 < sum(one == kind for _, one in seen) <= most
    for at, one in list(zip(EPSILONS, found, strict=True))[::7]:
        alone = profile.delta(at, digits=digits)
        assert one.status == "certified" and one.lower <= alone.upper and alone.lower <= one.upper


def test_the_order_that_is_larger_is_found_where_first_order_estimates_err(monkeypatch):
    profile = privacy_profile(compose((PoissonSampled(Gaussian(1), "0.001"), 2000)), "add-or-remove")
    remove, add = profile._orders
    assert remove.log_estimate(Fraction(1, 20)) < add.log_estimate(Fraction(1, 20))
    found, _ = evaluations(profile, EPSILONS, 12, monkeypatch)
    assert {one.order for one in found} == {"remove"}


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 1000), Fraction(1, 200)])
def test_next_to_zero_few_steps_go_by_rays(epsilon):
    loss = privacy_profile(compose((PoissonSampled(Gaussian(1), "0.01"), 3)), "remove").losses[0]
    answer = OneDirection(loss).enclose(epsilon, 40.0, "auto", Budget(None))
    assert isinstance(answer.witness, RaysWitness)
    other = OneDirection(loss.in_order("add")).enclose(epsilon, 40.0, "auto", Budget(None))
    assert other.bounds.lower <= answer.bounds.upper  # the add order is smaller but at 0, where both are equal
    assert epsilon or answer.bounds.lower <= other.bounds.upper


@pytest.mark.parametrize("epsilons", [[0] * 10, [Fraction(1, 10)] * 10, [0, 0, 0, 0, 0, 0, 0, 0, Fraction(1, 1000)]])
def test_equal_points_are_one(epsilons):
    profile = privacy_profile(compose((PoissonSampled(Gaussian(1), "0.01"), 10)), "add-or-remove")
    found = profile.delta(epsilons, digits=6)
    assert all(one.status == "certified" for one in found)
    assert all(one.lower <= found[0].upper and found[0].lower <= one.upper for one in found[:8])
