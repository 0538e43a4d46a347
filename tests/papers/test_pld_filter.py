"""The approximative PLD filter: what it says is an estimate, right on its range of eps and nowhere else."""

from __future__ import annotations

from fractions import Fraction

import pytest

from verified_dp import Enclosure, Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.adaptive.budgets import gdp_delta
from verified_dp.adaptive.sums import Verdict
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.papers import Estimate
from verified_dp.papers.individual.pld_filter import ApproximatePLDFilter, EpsilonRange, blackwell_mu

STEPS = compose((PoissonSampled(Gaussian(2), "0.1"), 60))
RANGE = EpsilonRange(0, 4, 17)


@pytest.fixture(scope="module")
def mu() -> Estimate:
    """mu for 60 sampled steps on [0, 4]."""
    return blackwell_mu(STEPS, "remove", RANGE)


def test_it_is_an_estimate_that_says_why(mu: Estimate) -> None:
    assert isinstance(mu, Estimate) and not isinstance(mu, Enclosure)
    assert "2602.06756" in mu.reason and "2602.15815" in mu.reason and "from 0 to 4 only" in mu.reason
    with pytest.raises(TypeError):
        bool(mu)


def test_the_condition_holds_on_the_range_between_the_points_too(mu: Estimate) -> None:
    profile = privacy_profile(STEPS, relation="remove")
    for tenth in range(0, 41, 3):
        epsilon = Fraction(tenth, 10)
        assert profile.delta(epsilon, 6).upper <= gdp_delta(Fraction(mu.value) ** 2, epsilon, 6).lower


def test_the_condition_fails_far_out_although_sampling_gains_much(mu: Estimate) -> None:
    assert Fraction(mu.value) ** 2 < Fraction(60, 4) / 10, "far below sqrt(k) / sigma"
    profile = privacy_profile(STEPS, relation="remove")
    assert profile.delta(14, 4).lower > gdp_delta(Fraction(mu.value) ** 2, 14, 4).upper


def test_a_smaller_mu_fails_on_the_range(mu: Estimate) -> None:
    """At most the slack of the grid is lost: with 20 % less mu the condition is false at some point."""
    profile, less = privacy_profile(STEPS, relation="remove"), (Fraction(mu.value) * 8 / 10) ** 2
    assert any(profile.delta(e, 6).lower > gdp_delta(less, e, 6).upper for e in RANGE.values)


def test_a_finer_grid_gives_a_smaller_mu(mu: Estimate) -> None:
    assert Fraction(blackwell_mu(STEPS, "remove", EpsilonRange(0, 4, 65)).value) < Fraction(mu.value)


def test_the_filter_halts_by_the_same_condition() -> None:
    step = PoissonSampled(Gaussian(2), "0.1")
    state = ApproximatePLDFilter(Fraction("0.09"), "remove", EpsilonRange(0, 2, 9))  # type: ignore[arg-type]
    verdicts = []
    for _ in range(4):
        decision = state.charge(step)
        verdicts.append(decision.verdict)
        assert isinstance(decision.estimate, Estimate) and "no valid stopping rule" in decision.estimate.reason
        state = decision.state
    assert verdicts[0] is Verdict.CONTINUE and verdicts[-1] is Verdict.HALT
    assert len(state.steps) == verdicts.count(Verdict.CONTINUE)


@pytest.mark.parametrize("wrong", [(1, 1, 5), (2, 1, 5), (0, 1, 1), (0, 1, "2.5"), ("x", 1, 5)])
def test_wrong_ranges(wrong: tuple[object, object, object]) -> None:
    with pytest.raises(InvalidInput):
        EpsilonRange(*wrong)  # type: ignore[arg-type]


def test_wrong_budgets() -> None:
    with pytest.raises(InvalidInput):
        ApproximatePLDFilter(Fraction(0), "remove")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        ApproximatePLDFilter(Fraction(1), "neighbours")  # type: ignore[arg-type]
