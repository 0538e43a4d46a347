"""What the adapters rest on, each against another computation."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from verified_dp import privacy_profile
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.interop import from_dp_event


def hockey_stick(P: dict[object, float], Q: dict[object, float], alpha: float) -> float:
    return math.fsum(max(p - alpha * Q.get(x, 0.0), 0.0) for x, p in P.items())


def laplace_on_integers(shift: int, scale: float, reach: int = 150) -> dict[int, float]:
    weights = {x: math.exp(-abs(x - shift) / scale) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


@pytest.mark.theorem("T150-shifts-by-norm")
@pytest.mark.parametrize("shifts", [(1, 1), (2, -1), (3, 0), (-2, 1)])
def test_a_vector_is_dominated_by_one_number_with_its_norm(shifts: tuple[int, int]) -> None:
    moved = [laplace_on_integers(d, 2.0, 40) for d in shifts]
    still = laplace_on_integers(0, 2.0, 40)
    P = {(x, y): p * q for x, p in moved[0].items() for y, q in moved[1].items()}
    Q = {(x, y): p * q for x, p in still.items() for y, q in still.items()}
    event = {"class_name": "DiscreteLaplaceDpEvent", "noise_parameter": 0.5, "sensitivity": 3}
    profile = privacy_profile(from_dp_event(event))
    for epsilon in (0.0, 0.25, 0.75, 1.25):
        bound = profile.delta(Fraction(epsilon)).upper_float
        assert hockey_stick(P, Q, math.exp(epsilon)) <= bound + 1e-7  # 1e-7: what lies beyond 40
        if 0 in shifts:
            assert hockey_stick(P, Q, math.exp(epsilon)) == pytest.approx(bound, abs=1e-7)


@pytest.mark.theorem("T150-shifts-by-norm")
def test_replaced_records_move_a_vector_twice_as_far() -> None:
    event = {"class_name": "LaplaceDpEvent", "noise_multiplier": 4}
    assert privacy_profile(from_dp_event(event)).delta("1/4").upper == 0
    replaced = privacy_profile(from_dp_event(event, relation="replace"))
    assert replaced.delta("1/2").upper == 0 and replaced.delta("1/4").lower > 0


@pytest.mark.theorem("T151-discrete-gaussian-vectors")
@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("shift", [1, 2])
def test_divergences_of_discrete_gaussian_noise_are_below_the_bound(sigma: float, shift: int) -> None:
    reach = range(-120, 121)
    logs = {x: -x * x / (2 * sigma**2) for x in reach}
    total = math.fsum(math.exp(value) for value in logs.values())
    for order in (1.1, 2.0, 7.5):
        terms = [order * -((x - shift) ** 2) / (2 * sigma**2) + (1 - order) * logs[x] for x in reach]
        top = max(terms)
        divergence = (top + math.log(math.fsum(math.exp(t - top) for t in terms) / total)) / (order - 1)
        bound = order * shift**2 / (2 * sigma**2)
        assert divergence <= bound * (1 + 1e-12)
        assert divergence >= bound * 0.95 or sigma < 1


@pytest.mark.theorem("T152-response-to-zero-out")
@pytest.mark.parametrize(("noise", "k"), [("1/4", 2), ("1/2", 5), ("0", 3), ("1", 4)])
def test_the_special_record_answers_uniformly(noise: str, k: int) -> None:
    p = Fraction(noise)
    P, Q = [1 - p + p / k] + [p / k] * (k - 1), [Fraction(1, k)] * k
    event = {"class_name": "RandomizedResponseDpEvent", "noise_parameter": p, "num_buckets": k}
    truth = max(sum(max(a - b, Fraction(0)) for a, b in zip(*pair, strict=True)) for pair in ((P, Q), (Q, P)))
    assert privacy_profile(from_dp_event(event, relation="zero-out")).delta(0).contains(truth)


def test_an_answer_of_no_category_is_wrong_input() -> None:
    """A crash before."""
    event = {"class_name": "RandomizedResponseDpEvent", "noise_parameter": 0.5, "num_buckets": 0}
    with pytest.raises(InvalidInput, match="num_buckets must be"):
        from_dp_event(event, relation="zero-out")


def nodes_above(leaf: int, steps: int) -> int:
    """How many complete binary subtrees of `steps` leaves hold the leaf (from 0)."""
    sizes = [2**power for power in range(steps.bit_length())]
    return sum((leaf // size + 1) * size <= steps for size in sizes)


@pytest.mark.theorem("T153-tree-aggregation")
def test_depth_is_the_largest_number_of_nodes_above_a_leaf() -> None:
    for steps in range(1, 71):
        event = {"class_name": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 2, "step_counts": [steps, 1]}
        ((_, depth),) = from_dp_event(event, relation="zero-out").composition.parts
        assert depth == max(nodes_above(leaf, steps) for leaf in range(steps))


@pytest.mark.theorem("T154-revealed-samples")
@pytest.mark.parametrize("relation", ["add-or-remove", "replace"])
@pytest.mark.parametrize("sample", [
    {"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.125},
    {"class_name": "SampledWithoutReplacementDpEvent", "source_dataset_size": 8, "sample_size": 1},
    {"class_name": "TruncatedSubsampledGaussianDpEvent", "sampling_probability": 0.125, "noise_multiplier": 0,
     "dataset_size": 3, "truncated_batch_size": 1}])
def test_a_sample_without_noise_reveals_who_was_drawn(relation: str, sample: dict[str, object]) -> None:
    sample = sample | ({} if "noise_multiplier" in sample else {"event": {"class_name": "NonPrivateDpEvent"}})
    event = {"class_name": "SelfComposedDpEvent", "event": sample, "count": 4}
    profile = privacy_profile(from_dp_event(event, relation=relation))
    for epsilon in (0, 1, 20):
        assert profile.delta(epsilon).contains(1 - Fraction(7, 8) ** 4)
