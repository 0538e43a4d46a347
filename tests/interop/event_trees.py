"""Random events of dp_accounting as plain mappings: any class, nested, with corner values of every parameter."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Event = dict[str, Any]
NOISES = st.sampled_from([0, 0.5, 1.0, 1.1, 4, 20.0])
RATES = st.sampled_from([0, 0.01, 0.25, 1.0])
EPSILONS = st.sampled_from([0, 0.125, 1.0, 2])
COUNTS = st.sampled_from([0, 1, 2, 5])
SIZES = st.sampled_from([(0, 0), (10, 0), (10, 2), (100, 100), (16, 4), (5, 7)])


def made(name: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Event]:
    """Events of one class."""
    return st.fixed_dictionaries({"class_name": st.just(name), **fields})


LEAVES = st.one_of(
    made("NoOpDpEvent"),
    made("NonPrivateDpEvent"),
    made("UnsupportedDpEvent"),
    made("GaussianDpEvent", noise_multiplier=NOISES),
    made("LaplaceDpEvent", noise_multiplier=NOISES),
    made("DiscreteLaplaceDpEvent", noise_parameter=NOISES, sensitivity=st.sampled_from([0, 1, 2])),
    made("DiscreteGaussianDpEvent", sigma=NOISES, sensitivity=st.sampled_from([0.5, 1.0, 1.5]),
         dimension=st.sampled_from([None, 1, 3])),
    made("RandomizedResponseDpEvent", noise_parameter=RATES, num_buckets=st.sampled_from([1, 2, 5])),
    made("EpsilonDeltaDpEvent", epsilon=EPSILONS, delta=st.sampled_from([0, 1e-3, 0.5, 1.0])),
    made("ExponentialMechanismDpEvent", epsilon=EPSILONS),
    made("PermuteAndFlipDpEvent", epsilon=EPSILONS),
    made("ZCDpEvent", rho=EPSILONS, xi=st.sampled_from([0, 0.25])),
    made("MixtureOfGaussiansDpEvent", standard_deviation=NOISES, sensitivities=st.just([0.0, 1.0, 2.0]),
         sampling_probs=st.just([0.7, 0.2, 0.1])),
    made("SingleEpochTreeAggregationDpEvent", noise_multiplier=NOISES, step_counts=st.sampled_from([1, [3, 8]])),
    st.tuples(SIZES, RATES, NOISES).map(lambda v: {
        "class_name": "TruncatedSubsampledGaussianDpEvent", "dataset_size": v[0][0],
        "truncated_batch_size": v[0][1], "sampling_probability": v[1], "noise_multiplier": v[2]}),
)


def nested(inner: st.SearchStrategy[Event]) -> st.SearchStrategy[Event]:
    """Events that hold other events."""
    batches = ("SampledWithReplacementDpEvent", "SampledWithoutReplacementDpEvent")
    return st.one_of(
        made("SelfComposedDpEvent", event=inner, count=COUNTS),
        made("ComposedDpEvent", events=st.lists(inner, max_size=3)),
        made("PoissonSampledDpEvent", sampling_probability=RATES, event=inner),
        made("RepeatAndSelectDpEvent", event=inner, mean=st.just(2.0), shape=st.just(1.0)),
        st.tuples(st.sampled_from(batches), SIZES, inner).map(lambda v: {
            "class_name": v[0], "source_dataset_size": v[1][0], "sample_size": v[1][1], "event": v[2]}),
    )


EVENTS = st.recursive(LEAVES, nested, max_leaves=4)
