"""Batches of fixed or bounded size: with and without replacement, truncated, shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.families.sampling.checks import MAX_DRAWS, binomial_weights, check_gaussian, check_sampled
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Composition, Sampled
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Gaussian, Kind, Release, up_to

MAX_POPULATION = 10**9
"""The chance of a full batch is a sum of about the root of so many terms."""


@dataclass(frozen=True)
class Shuffled(Sampled):
    """One epoch of `rounds` Gaussian steps on batches of fixed sizes, cut from all records in a fresh uniform order.

    The sizes add up to the number of records, of the larger data set where one is added or removed: then the last batch
    of the other is one record smaller.
    """

    stated = Kind(
        "shuffled", {"rounds": exact.count},
        "shuffled batches: one table is one epoch of `rounds` steps, count is the number of epochs, "
        "batches are not revealed",
        ("sampling: in every epoch all records are put into a fresh uniformly random order, independent of the data, "
         "of the noise and of the other epochs, and cut into `rounds` batches of sizes fixed in advance, none left "
         "out; where a record is added or removed, the last batch alone has one more or less; sums are not divided by "
         "its size (shuffled batches). Upper ends make no use of the order; lower ends are what an attack on one pair "
         "of data sets sees",))
    mechanism: Gaussian
    rounds: int

    def __init__(self, mechanism: Gaussian, rounds: Number) -> None:
        check_gaussian(mechanism, "shuffling")
        self._read(mechanism=mechanism, rounds=rounds)


@dataclass(frozen=True)
class TruncatedPoisson(Sampled):
    """A Gaussian on a Poisson sample of `population` records; of one larger than `largest_batch`, a uniform subset."""

    stated = Kind(
        "truncated-poisson", {"probability": exact.probability, "population": up_to(MAX_POPULATION),
                              "largest_batch": exact.count},
        "truncated Poisson sampling: records enter each batch independently, a batch that is too large "
        "is cut down to a uniform subset, batches and their sizes are not revealed",
        ("sampling: every record enters each sample with exactly the stated probability, independently of all else; "
         "where more than `largest_batch` are on it, the batch is a uniformly random subset of that size, else the "
         "sample; sums are not divided by the batch's size (truncated Poisson sampling)",),
        counts_records="always")
    mechanism: Gaussian
    probability: Fraction
    population: int
    largest_batch: int

    def __init__(self, mechanism: Gaussian, probability: Number, population: Number, largest_batch: Number) -> None:
        check_gaussian(mechanism, "truncated Poisson sampling")
        self._read(mechanism=mechanism, probability=probability, population=population, largest_batch=largest_batch)


@dataclass(frozen=True)
class WithoutReplacement(Sampled):
    """A Gaussian on a batch of fixed size drawn without replacement; `probability` = batch size / number of records.

    The number is that of the larger data set where a record is added or removed.
    """

    stated = Kind(
        "without-replacement", {"probability": exact.probability},
        "sampling without replacement: batches have a fixed size and are not revealed",
        ("sampling: every batch is a uniformly random subset of the stated share of the records, fresh in each step, "
         "independent of the data, of the noise and of the other steps (sampling without replacement)",),
        counts_records="as neighbours")
    mechanism: Gaussian
    probability: Fraction

    def __init__(self, mechanism: Gaussian, probability: Number) -> None:
        _check_gaussian(mechanism)
        self._read(mechanism=mechanism, probability=probability)


@dataclass(frozen=True)
class WithReplacement(Sampled):
    """A Gaussian on `draws` records drawn with replacement from `population` records; a record may enter repeatedly."""

    stated = Kind(
        "with-replacement", {"draws": up_to(MAX_DRAWS), "population": exact.count},
        "sampling with replacement: each draw is uniform and independent, draws are not revealed",
        ("sampling: every batch is the stated number of uniformly random records, drawn independently, fresh in each "
         "step, independent of the data, of the noise and of the other steps (sampling with replacement)",),
        counts_records="as neighbours")
    mechanism: Gaussian
    draws: int
    population: int

    def __init__(self, mechanism: Gaussian, draws: Number, population: Number) -> None:
        _check_gaussian(mechanism)
        self._read(mechanism=mechanism, draws=draws, population=population)

    def multiplicities(self, group_size: int = 1) -> tuple[Fraction, ...]:
        """The probabilities that records of a group are drawn 0, 1, ..., draws times together."""
        return binomial_weights(self.draws, Fraction(group_size, self.population))


def _check_gaussian(mechanism: object) -> None:
    if isinstance(mechanism, Release | Composition):
        name = mechanism.stated.name if isinstance(mechanism, Release) else "a composition"
        raise Unsupported(f"{name} on batches of fixed size: a theorem covers the Gaussian only", "sampling")
    if not isinstance(mechanism, Gaussian):
        raise InvalidInput("mechanism", mechanism, "a Gaussian")
    check_sampled(mechanism)
