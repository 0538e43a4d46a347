"""Events that hold other events: compositions, and releases made from samples of the records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

from verified_dp.core.families.allocation.mechanism import RandomAllocation
from verified_dp.core.families.batches.mechanism import (
    TruncatedPoisson,
    WithoutReplacement,
    WithReplacement,
)
from verified_dp.core.families.sampling.checks import MAX_DRAWS
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.selection.mechanism import NegativeBinomialRuns, PoissonRuns
from verified_dp.core.kernel.composition import Composition, Mechanism
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.exact import SquareRoot, count, square_root
from verified_dp.core.kernel.losses import ORDERS
from verified_dp.core.kernel.mechanisms import Gaussian, Release, up_to
from verified_dp.core.kernel.steps import expanded, step_of
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.interop.forms import CONVERTERS, View, converts, inside, name_of, refuse, step_parts
from verified_dp.interop.reading import Parts, Reading, reveals_all, times
from verified_dp.interop.releases import gaussian_parts, revealed_parts


def parts_of(event: object, reading: Reading) -> Parts:
    """The mechanisms of an event with their counts; errors carry the path of names to the event at fault."""
    name = name_of(event)
    if name is None:
        raise InvalidInput("event", event, "a DpEvent, its named tuple, or a mapping with its class_name")
    with inside(name):
        if name not in CONVERTERS:
            raise Unsupported("an event this package does not know")
        return CONVERTERS[name](View(event), reading)


@converts("ComposedDpEvent")
def _composed(event: View, reading: Reading) -> Parts:
    found: list[tuple[Mechanism, int]] = []
    for i, each in enumerate(event["events"]):
        with inside(f"events[{i}]"):
            found += parts_of(each, reading)
    return tuple(found)


@converts("SelfComposedDpEvent")
def _self_composed(event: View, reading: Reading) -> Parts:
    return times(parts_of(event["event"], reading), reading.whole(event["count"], "count"))


@converts("TruncatedSubsampledGaussianDpEvent")
@proved_by("T142-displaced-records")
def _truncated(event: View, reading: Reading) -> Parts:
    """dataset_size is that of the larger data set; a limit that it cannot reach truncates nothing."""
    records, limit = (reading.whole(event[key], key) for key in ("dataset_size", "truncated_batch_size"))
    q = reading.probability(event["sampling_probability"], "sampling_probability")
    if not q or not limit or not records:
        return ()
    parts = gaussian_parts(event, replace(reading, on_sample=True))
    if limit >= records or reveals_all(parts):
        return _on_poisson_sample(parts, q, reading)
    return step_parts(TruncatedPoisson(_one_gaussian(parts), q, records, limit), reading)


@converts("RandomAllocationDpEvent")
def _random_allocation(event: View, reading: Reading) -> Parts:
    """One epoch of num_steps steps; every record is on num_selected of them, uniformly."""
    if reading.on_sample:
        refuse("random allocation on a sample: no theorem is implemented")
    rounds, picks = (reading.whole(event[key], key) for key in ("num_steps", "num_selected"))
    if picks > rounds:
        raise InvalidInput("num_selected", picks, f"at most num_steps = {rounds}")
    parts = parts_of(event["event"], reading) if picks else ()
    if not parts or reveals_all(parts) or picks == rounds:
        return times(parts, rounds) if parts else ()
    found = RandomAllocation(_one_gaussian(parts), rounds, picks)
    for order, (part, _) in product(ORDERS[reading.relation], expanded(found, 1)):
        step_of(part, order, reading.relation)
    return ((found, 1),)


@converts("RepeatAndSelectDpEvent")
@proved_by("T213-private-selection")
def _repeat_and_select(event: View, reading: Reading) -> Parts:
    """The best of K runs: K Poisson of the mean where shape is infinite, else truncated negative binomial."""
    if reading.on_sample:
        refuse("on a sample: each run draws samples of its own; state the sample inside of the event")
    mean, shape = reading.non_negative(event["mean"], "mean"), event["shape"]
    if mean < 1:
        raise InvalidInput("mean", event["mean"], "a number from 1 on")
    many = isinstance(shape, float) and shape == math.inf
    shape = None if many else reading.non_negative(shape, "shape")
    parts = parts_of(event["event"], reading)
    if not parts or reveals_all(parts) or (mean == 1 and not many):  # one run for sure
        return parts
    run = parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else Composition(Composition(parts).merged())
    found = PoissonRuns(run, mean) if many else NegativeBinomialRuns(run, mean, shape)  # type: ignore[arg-type]
    return step_parts(found, reading)


@converts("PoissonSampledDpEvent")
def _poisson(event: View, reading: Reading) -> Parts:
    q = reading.probability(event["sampling_probability"], "sampling_probability")
    inside = replace(reading, on_sample=reading.on_sample or q != 1)
    return _on_poisson_sample(parts_of(event["event"], inside), q, reading)


def _on_poisson_sample(parts: Parts, q: Fraction, reading: Reading) -> Parts:
    if q == 0 or not parts:
        return ()
    if q == 1:
        return parts
    if reveals_all(parts):
        return revealed_parts(q, reading)
    if len(parts) == 1 and parts[0][1] == 1:
        mechanism = parts[0][0]
        if isinstance(mechanism, PoissonSampled):  # a sample of a sample
            return step_parts(PoissonSampled(mechanism.mechanism, q * mechanism.probability), reading)
        return step_parts(PoissonSampled(mechanism, q), reading)  # type: ignore[arg-type]
    if any(not isinstance(mechanism, Gaussian | Release) for mechanism, _ in parts):
        refuse("several samples of one sample: no theorem covers what they share")
    return step_parts(PoissonSampled(Composition(Composition(parts).merged()), q), reading)


@converts("SampledWithoutReplacementDpEvent")
def _without_replacement(event: View, reading: Reading) -> Parts:
    records, drawn = (reading.whole(event[key], key) for key in ("source_dataset_size", "sample_size"))
    if drawn > records:
        raise InvalidInput("sample_size", drawn, f"at most source_dataset_size = {records}")
    if drawn == 0:
        return ()
    q = Fraction(drawn, records)
    return _on_batch(event, q, lambda gaussian: WithoutReplacement(gaussian, q), reading)


@converts("SampledWithReplacementDpEvent")
def _with_replacement(event: View, reading: Reading) -> Parts:
    records, draws = (reading.whole(event[key], key) for key in ("source_dataset_size", "sample_size"))
    if draws == 0:
        return ()
    q = 1 - (1 - Fraction(1, count(records, "source_dataset_size"))) ** up_to(MAX_DRAWS)(draws, "sample_size")
    return _on_batch(event, q, lambda gaussian: WithReplacement(gaussian, draws, records), reading)


def _on_batch(event: View, q: Fraction, sample: Callable[[Gaussian], Mechanism], reading: Reading) -> Parts:
    """Batches of fixed size: Gaussians only. q: the probability that a record is drawn."""
    if reading.on_sample:
        refuse("batches of fixed size are covered of the whole data set, not of a sample")
    parts = parts_of(event["event"], replace(reading, on_sample=True))
    if not parts:
        return ()
    if reveals_all(parts):
        return revealed_parts(q, reading)
    return step_parts(sample(_one_gaussian(parts)), reading)


def _one_gaussian(parts: Parts) -> Gaussian:
    """Gaussian releases of one batch are one: 1 / sigma^2 = sum of counts / sigma_i^2 (T15)."""
    precision = Fraction(0)
    for mechanism, copies in parts:
        if not isinstance(mechanism, Gaussian) or mechanism.noise_multiplier is None:
            refuse("on a batch of fixed size a theorem covers the Gaussian only")
        precision += copies / mechanism.noise_multiplier**2
    noise = square_root(1 / precision)
    if isinstance(noise, SquareRoot):
        refuse(f"several releases of one batch of fixed size, whose joint noise {noise} is no rational number")
    return Gaussian(noise)
