"""One call for a training: the answer of its specification, and the value that just meets a target."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from verified_dp import InvalidInput, Training, dpsgd, privacy_profile

SIZES: dict[str, Any] = {"batch_size": 25, "dataset_size": 1000, "delta": 1e-5}
SMALL: dict[str, Any] = {"noise_multiplier": 1.1, "sampling_probability": 0.02, "steps": 100}


def test_it_answers_as_its_specification() -> None:
    profile = privacy_profile(Training("1.1", "poisson", "1/50", steps=100).spec())
    assert dpsgd(**SMALL, delta=1e-5) == profile.epsilon("1e-5")
    assert dpsgd(**SMALL, epsilon=0.5, digits=6) .intersect(profile.delta("0.5", digits=6)).lower > 0
    assert dpsgd(**{**SMALL, "sampling": "without-replacement"}, relation="replace", delta=1e-5, digits=2).upper > 0


@pytest.mark.parametrize(("solve", "stated", "step"), [
    ("noise-multiplier", {"steps": 100}, Fraction(-1, 10000)),
    ("steps", {"noise_multiplier": 1.1}, 1),
    ("batch-size", {"noise_multiplier": 1.1, "epochs": 4, "batch_size": None}, 1)])
def test_the_value_meets_the_target_and_its_neighbour_does_not(solve: str, stated: dict[str, Any], step: Any) -> None:
    found = dpsgd(target_epsilon=0.8, solve=solve, **{**SIZES, **stated})
    field = solve.replace("-", "_")
    assert found.neighbour is not None and found.at_neighbour is not None
    if solve != "noise-multiplier":
        assert found.neighbour - found.value == step
    else:
        assert 0 < found.value - found.neighbour <= Fraction(1, 1000)
    for value, meets in ((found.value, True), (found.neighbour, False)):
        again = dpsgd(**{**SIZES, **stated, field: value}, digits=8)
        assert (again <= 0.8) is meets


@pytest.mark.parametrize(("asked", "key"), [
    ({**SMALL}, "delta"), ({**SMALL, "delta": 1e-5, "epsilon": 1}, "delta"), ({**SMALL, "delta": math.nan}, "delta"),
    ({**SMALL, "noise_multiplier": None, "delta": 1e-5}, "noise_multiplier"),
    ({**SMALL, "noise_multiplier": math.inf, "delta": 1e-5}, "noise-multiplier"),
    ({**SMALL, "delta": 1e-5, "target_epsilon": 1}, "noise-multiplier"),
    ({**SIZES, "steps": 10, "target_epsilon": 1, "solve": "sigma"}, "solve"),
    ({**SIZES, "noise_multiplier": 1, "steps": 10, "target_epsilon": 1, "solve": "steps"}, "steps"),
    ({**SIZES, "noise_multiplier": 1, "target_epsilon": 1, "solve": "steps", "sampling": "shuffled"}, "solve"),
    ({"noise_multiplier": 5, "steps": 1, "dataset_size": 10, "delta": 0.9, "target_epsilon": 9, "solve": "batch-size"},
     "target-epsilon")])
def test_wrong_input_names_the_argument(asked: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidInput) as error:
        dpsgd(**asked)
    assert error.value.key == key
