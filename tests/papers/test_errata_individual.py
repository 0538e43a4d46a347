"""The numbers of proofs/ERRATA.md, paper 002."""

from __future__ import annotations

from fractions import Fraction

import pytest

from verified_dp import Gaussian, PoissonSampled, privacy_profile
from verified_dp.adaptive.budgets import gdp_delta, gdp_epsilon, renyi_budget, squared_ratio
from verified_dp.adaptive.filters import GDPFilter, IndividualGDPFilter, RenyiFilter


@pytest.mark.parametrize(("epsilon", "least"), [(6, Fraction(44, 10)), (12, Fraction(15) * 10**18)])
def test_condition_5_1_fails_for_one_sampled_step(epsilon: int, least: Fraction) -> None:
    """sigma = 1, q = 0.1, mu = 0.7: on [0, 5] the Gaussian curve is above, far out it is far below."""
    profile = privacy_profile(PoissonSampled(Gaussian(1), "0.1"), relation="remove")
    assert all(profile.delta(e, 6).upper < gdp_delta("0.49", e, 6).lower for e in range(6))
    sampled, gaussian = profile.delta(epsilon, 6), gdp_delta("0.49", epsilon, 6)
    assert least * Fraction("1.03") > sampled.upper.as_fraction() / gaussian.lower.as_fraction() > least


@pytest.mark.parametrize("epsilon", [110, 140])
def test_condition_5_1_fails_close_to_the_unsampled_mu_too(epsilon: int) -> None:
    """mu = 0.95 of the unsampled 1 / sigma: the crossing only moves further out."""
    profile = privacy_profile(PoissonSampled(Gaussian(1), "0.1"), relation="remove")
    assert profile.delta(epsilon, 4).lower > gdp_delta(Fraction("0.95") ** 2, epsilon, 4).upper


def test_condition_5_1_holds_where_sampling_gains_nothing() -> None:
    """mu = 1 / sigma, that of the step without sampling: above the sampled curve at every eps asked, and far above."""
    profile = privacy_profile(PoissonSampled(Gaussian(1), "0.1"), relation="remove")
    assert all(profile.delta(e, 6).upper < gdp_delta(1, e, 6).lower for e in (-2, 0, 1, 6, 12, 110))


def test_the_largest_norm_of_the_data_set_is_no_cost() -> None:
    """Section 3.3's mu = max over the records at hand / sigma: with x the step halts, without x it runs."""
    norms = {"others": Fraction(1), "x": Fraction(2)}
    verdicts = [GDPFilter(1).charge(squared_ratio(max(data.values()), 1)).continues
                for data in (norms, {"others": norms["others"]})]
    assert verdicts == [False, True], "whether anything is released tells whether x is there: delta = 1 at every eps"


def test_equal_epsilons_that_are_not_0_8() -> None:
    assert gdp_epsilon("495/10000", "1e-5", 6).lower_decimal.startswith("0.81523")
    by_renyi = min(RenyiFilter((order,), (Fraction(420 * order, 20000),)).profile().epsilon("1e-5").upper
                    for order in (20, 21, 22))
    assert Fraction("0.8156") < by_renyi < Fraction("0.8157")
    steps = max(int(renyi_budget("0.8", "1e-5", order) // Fraction(order, 20000)) for order in range(20, 40))
    assert steps == 405
    assert gdp_epsilon("478/10000", "1e-5", 6).upper < Fraction("0.8") < gdp_epsilon("479/10000", "1e-5", 6).lower


def test_remark_3_needs_squares() -> None:
    """Ten steps of mu = B / 10 sum to B, and use up a tenth of B^2 only."""
    state = GDPFilter(1)
    for _ in range(10):
        state = state.charge(Fraction(1, 10) ** 2).state
    assert state.remaining == Fraction(9, 10)


def test_a_halted_record_may_take_part_again() -> None:
    """Algorithm 1 goes on after a record's first HALT, where the paper's proof stops."""
    state = IndividualGDPFilter.open(1, ["x"]).charge({"x": "0.9"}).state
    halted = state.charge({"x": "0.2"})
    assert not halted.active and halted.state.charge({"x": "0.1"}).active == {"x"}
