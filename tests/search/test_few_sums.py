"""eps(delta) from the sums of few losses: against enumeration, the general search, and where it must not answer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from verified_dp import Composition, compose, privacy_profile
from verified_dp.mechanisms import ApproximateDP, DiscreteLaplace
from verified_dp.search import roots
from verified_dp.search.few_sums import solve_few

CASES = [
    (compose((ApproximateDP("0.1", "1e-6"), 3)), "0.01377"),
    (compose((DiscreteLaplace(5, 1), 3)), "0.03013"),
    (compose((DiscreteLaplace(5, 3), 4), (ApproximateDP("0.3", "1e-4"), 2)), "0.01"),
    (compose((DiscreteLaplace("1/3", 1), 10)), "1e-30"),
]


@pytest.mark.parametrize(("steps", "target"), CASES)
@pytest.mark.parametrize("digits", [6, 40])
def test_it_agrees_with_the_general_search(steps: Composition, target: str, digits: int,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    found = privacy_profile(steps, "add-or-remove").epsilon(target, digits)
    monkeypatch.setattr(roots._Question, "by_few_sums", lambda _: None)
    other = privacy_profile(steps, "add-or-remove").epsilon(target, digits)
    assert found.status == other.status == "certified"
    assert found.lower <= other.upper and other.lower <= found.upper


def test_a_question_takes_two_values_of_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("the general search was asked")

    monkeypatch.setattr(roots._Question, "run", never)
    for steps, target in CASES:
        assert privacy_profile(steps, "replace").epsilon(target, 12).status == "certified"


def test_delta_is_the_target_there() -> None:
    """Two atoms, by hand: one step of pure 1-DP has delta = p - e^eps q, p = e/(1 + e)."""
    loss = privacy_profile(compose(ApproximateDP(1, 0)), "replace").losses[0]
    found = solve_few(loss, Fraction(1, 10))
    assert found is not None
    p = arb(1).exp() / (1 + arb(1).exp())
    assert abs(found[0] - ((p - arb("0.1")) / (1 - p)).log()) < 1e-12


@pytest.mark.parametrize("target", [Fraction(1, 10**6), Fraction(1, 10**7), Fraction(1, 2)])
def test_ends_that_are_known_are_left_to_others(target: Fraction) -> None:
    """The mass at infinity, less than that, and more than delta(0)."""
    loss = privacy_profile(compose(ApproximateDP("0.1", "1e-6")), "replace").losses[0]
    assert solve_few(loss, target) is None
