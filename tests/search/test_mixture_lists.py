"""Lists of different mixtures, as the conditional composition of matrix mechanisms makes them: few questions asked."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.profile import privacy_profile
from verified_dp.search.answer import Answer
from verified_dp.search.one_direction import OneDirection


def mixtures(count: int, seed: int = 1) -> Composition:
    """One noise, a mean at 0 of most weight, one to nine others."""
    rng, steps = random.Random(seed), []
    for _ in range(count):
        size = rng.randint(1, 9)
        weights = [rng.randint(1, 1000) for _ in range(size)]
        means, total = [Fraction(rng.randint(1, 1000), 1000) for _ in range(size)], 21 * sum(weights)
        shares = [Fraction(20, 21), *(Fraction(weight, total) for weight in weights)]
        steps.append((MixtureOfGaussians(1, [0, *means], shares), 1))
    return compose(*steps)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """The answers of all contours."""
    found: list[Answer] = []
    ask = OneDirection.evaluate

    def recorded(direction: OneDirection, *question: Any) -> Answer:
        answer = ask(direction, *question)
        found.extend([answer] if answer.method == "contour" else [])
        return answer

    monkeypatch.setattr(OneDirection, "evaluate", recorded)
    return found


@pytest.mark.parametrize("relation", ["remove", "add"])
def test_the_errors_of_many_laws_are_foreseen(asked: list[Answer], relation: str) -> None:
    """Each law's error is chosen as one of so many: the first line is narrow enough, the answers of 12 and 9 meet."""
    profile = privacy_profile(mixtures(60), relation=relation)
    found = profile.delta("1/2", digits=12)
    assert len(asked) == 1
    rough = privacy_profile(mixtures(60), relation=relation).delta("1/2", digits=9)
    assert rough.lower <= found.upper and found.lower <= rough.upper
    assert float(found.upper) - float(found.lower) <= 1.0001e-12 * float(found.upper)


@pytest.mark.parametrize("count", [10, 40])
def test_epsilon_of_a_few_or_many_needs_few_lines(asked: list[Answer], count: int) -> None:
    """Where no single large loss decides, the first guess is that of the first-order estimate."""
    profile = privacy_profile(mixtures(count), relation="remove")
    found = profile.epsilon("1e-5", digits=9)
    assert len(asked) <= 3
    low, high = (profile.delta(end.as_fraction(), digits=9) for end in (found.lower, found.upper))
    assert float(high.lower) <= 1e-5 <= float(low.upper)
