"""Guarantees by divergences: what two outcomes and Gaussian steps that meet them attain."""

from __future__ import annotations

import math
from fractions import Fraction
from types import ModuleType

import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp import ZCDP, Gaussian, Laplace, Renyi, compose, privacy_profile
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.kernel.composition import Composition
from verified_dp.core.kernel.mechanisms import Release
from verified_dp.questions.attained import Guaranteed, TwoOutcomes, meets, square_of_gaussian, with_gaussians
from verified_dp.search.deadline import OutOfTime
from verified_dp.search.two_points import Guarantee, largest_delta

THEOREM = pytest.mark.theorem("T147-attained-guarantees")
GUARANTEES = [ZCDP("0.005"), ZCDP("2"), ZCDP("1/10", xi="1/10"), Renyi(["2", "8"], ["1/10", "1/2"]),
              Renyi(["3/2", "3", "20"], ["1", "2", "3"])]


@THEOREM
@pytest.mark.parametrize("step", GUARANTEES, ids=str)
def test_one_step_is_enclosed_from_both_sides(step: Release) -> None:
    """The bound by two powers is attained by two outcomes."""
    profile = privacy_profile(step, "replace")
    for epsilon in ("0", "1/2", "2"):
        found = profile.delta(epsilon, 6)
        assert found.status == "certified" and found.lower > 0
    for delta in ("1e-9", "1/20"):
        assert profile.epsilon(delta, 6).status == "certified"
    assert profile.epsilon(0).lower.is_infinite


@THEOREM
@pytest.mark.parametrize("rho", ["0.005", "0.671111111111", "4"])
def test_at_zero_symmetric_pairs_decide(oracle: ModuleType, rho: str) -> None:
    """(2p-1) log(p/(1-p)) = rho."""
    found, size = privacy_profile(ZCDP(rho), "replace").delta(0), oracle.real(Fraction(rho))
    for end, sign in ((found.lower, 1), (found.upper, -1)):
        x = oracle.real(end)
        assert sign * x * oracle.mp.log((1 + x) / (1 - x)) <= sign * size


def divergence(oracle: ModuleType, pair: TwoOutcomes, order: object) -> object:
    p, r = oracle.real(pair.p), oracle.real(pair.r)
    return oracle.mp.log(p**order * r ** (1 - order) + (1 - p) ** order * (1 - r) ** (1 - order)) / (order - 1)


@THEOREM
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 999), st.integers(1, 999), st.integers(1, 40), st.integers(0, 3))
def test_what_is_accepted_meets_all_orders(oracle: ModuleType, p: int, r: int, rho: int, xi: int) -> None:
    law = ZCDPLoss(Fraction(rho, 10), xi=Fraction(xi, 10))
    pair = TwoOutcomes(Fraction(max(p, r), 1000), Fraction(min(p, r), 1001))
    with ctx.workprec(160):
        accepted = meets(law, pair)
    orders = [1 + oracle.mpf(10) ** (oracle.mpf(n) / 8) for n in range(-40, 24)]
    met = [divergence(oracle, pair, order) <= oracle.real(law.xi) + oracle.real(law.rho) * order for order in orders]
    assert all(met) or not accepted
    assert accepted or not all(met) or law.rho < 5, "by balls no pair far from the bound is refused"


@THEOREM
@pytest.mark.parametrize("rho", [Fraction(1, 200), Fraction(1, 2), Fraction(9, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 5.0])
def test_pairs_on_the_edge_and_a_little_beyond(rho: Fraction, epsilon: float) -> None:
    loss = privacy_profile(ZCDP(rho), "replace").losses[0]
    law, found = loss.parts[0][0], largest_delta(Guarantee(loss), epsilon)
    with ctx.workprec(200):
        at = [Fraction(1 / (1 + math.exp(-logit))) for logit in (found.x, found.y)]
        for share, met in ((Fraction(1, 10**6), True), (-Fraction(1, 10**6), False)):
            pair = TwoOutcomes(at[0], at[1] + (at[0] - at[1]) * share)
            assert (meets(law, pair) and meets(law, pair.swapped())) == met


@THEOREM
def test_lists_are_checked_at_their_corners() -> None:
    law = RenyiLoss.of_divergences([(Fraction(2), Fraction(1, 10)), (Fraction(8), Fraction(1, 2))])
    assert square_of_gaussian(law) == Fraction(1, 10)
    with ctx.workprec(100):
        assert meets(law, TwoOutcomes(Fraction(11, 20), Fraction(9, 20)))
        assert not meets(law, TwoOutcomes(Fraction(13, 20), Fraction(9, 20)))


@THEOREM
@pytest.mark.parametrize("composition", [
    compose((ZCDP("0.01"), 10)), compose(ZCDP("0.1"), Gaussian("2")), compose(ZCDP("0.1"), Laplace("2", "1"))])
def test_compositions_are_at_least_those_of_gaussian_steps(composition: Composition) -> None:
    profile = privacy_profile(composition, "add-or-remove")
    steps = [Gaussian(sigma="1", sensitivity="447/1000") if isinstance(step, ZCDP) else step
             for step, _ in composition.parts]
    found = profile.delta("1/2")
    assert 0 < found.lower < found.upper and found.method == "renyi"
    moved = with_gaussians(profile.losses[0]).mean_shift_squared - profile.losses[0].mean_shift_squared
    assert moved == Fraction(2, 10)
    less = privacy_profile(compose(*steps), "add-or-remove").delta("1/2")
    assert less.lower < found.lower < less.upper * Fraction(101, 100)


def test_of_groups_nothing_is_known_from_below() -> None:
    assert privacy_profile(ZCDP("0.01"), "replace", group_size=3).delta("0.1").lower == 0


def test_small_and_large_numbers(oracle: ModuleType) -> None:
    """The optimum of one order, and no overflow, beyond what floats say of two points."""
    tiny = privacy_profile(ZCDP("5e-30"), "replace").delta("1e-13")
    assert 0 < oracle.real(tiny.lower) < oracle.real(tiny.upper) < oracle.mpf("2.7e-234")
    assert privacy_profile(ZCDP("1/10"), "replace").delta("1000").upper < Fraction(1, 10**1000)


@THEOREM
def test_where_time_is_over_the_lower_end_is_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the answer comes out: a trade-off of guarantees with little time told of an inner limit."""
    def late(self: Guaranteed, epsilon: Fraction) -> None:
        raise OutOfTime

    monkeypatch.setattr(Guaranteed, "lower_bound_delta", late)
    found = privacy_profile(ZCDP("1/8"), "add").delta("1", digits=3)
    assert 0 <= found.lower <= found.upper and found.upper > 0
