"""Conventions and assumptions in words."""

from __future__ import annotations

from verified_dp.core.composition import (
    Composition,
    PoissonSampled,
    Relation,
    WithoutReplacement,
    WithReplacement,
)
from verified_dp.core.mechanisms import Gaussian, Release
from verified_dp.core.participation import CyclicPoisson, RandomAllocation, Shuffled, TruncatedPoisson


def convention(composition: Composition, relation: Relation) -> str:
    """Words on what noise and sensitivities are relative to, printed with every result: libraries disagree on it."""
    bare, schemes = list(composition.bare()), composition.schemes()
    gaussians = [mechanism for mechanism in bare if isinstance(mechanism, Gaussian)]
    releases = dict.fromkeys(mechanism.convention for mechanism in bare if isinstance(mechanism, Release))
    texts = []
    if composition.group_size > 1:
        texts.append(f"group_size {composition.group_size}: {_GROUPS[relation]}; {_FOR_ONE}")
    if any(gaussian.noise_multiplier is not None for gaussian in gaussians):
        texts.append(f"{_MULTIPLIER}; {_per_record(composition, relation)}")
    elif (releases or not bare) and composition.group_size == 1:
        texts.append(_NEIGHBOURS[relation].partition(":")[0])
    texts += [words for kind, words in _SCHEMES.items() if kind in schemes]
    if any(gaussian.sigma is not None for gaussian in gaussians):
        texts.append(f"with sigma, sensitivity is the query's L2 sensitivity under {relation} itself")
    if releases and PoissonSampled in schemes:
        texts.append(_ON_SAMPLES[relation is Relation.REPLACE])
    return "; ".join([*texts, *releases])


def _per_record(composition: Composition, relation: Relation) -> str:
    if composition.group_size == 1:
        return _NEIGHBOURS[relation]
    norms = "two such norms" if relation is Relation.REPLACE else "one such norm"
    return f"each record of the group moves the means by up to {norms}"


_ON_SAMPLES = (
    "on a Poisson sample, stated sensitivities and guarantees compare a batch with the record and without it",
    "on a Poisson sample, stated sensitivities compare a batch with the record and without it: two records that "
    "replace each other may differ by twice that",
)
_FOR_ONE = "norms, sensitivities and guarantees are stated for one record"
_GROUPS = {
    Relation.ADD_OR_REMOVE: "up to that many records are added, or removed, all together (the worse of the two orders)",
    Relation.ADD: "up to that many records are added",
    Relation.REMOVE: "up to that many records are removed",
    Relation.ZERO_OUT: "up to that many records are replaced by ones that contribute zero",
    Relation.REPLACE: "up to that many records are replaced by others",
}


_SCHEMES: dict[type, str] = {
    PoissonSampled: "Poisson sampling: records enter each batch independently, batches are not revealed",
    WithoutReplacement: "sampling without replacement: batches have a fixed size and are not revealed",
    WithReplacement: "sampling with replacement: each draw is uniform and independent, draws are not revealed",
    RandomAllocation: "random allocation: one table is one epoch of `rounds` steps, count is the number of epochs, "
                      "batches are not revealed",
    CyclicPoisson: "cyclic Poisson sampling: the groups take turns, one table is `rounds` steps, "
                   "batches are not revealed",
    TruncatedPoisson: "truncated Poisson sampling: records enter each batch independently, a batch that is too large "
                      "is cut down to a uniform subset, batches and their sizes are not revealed",
    Shuffled: "shuffled batches: one table is one epoch of `rounds` steps, count is the number of epochs, "
              "batches are not revealed",
}


_MULTIPLIER = "noise_multiplier = sigma / largest L2 norm of one record's contribution"
_ONE_NORM = "the means of the noise with and without the record differ by one such norm"
_NEIGHBOURS = {
    Relation.ADD_OR_REMOVE: f"one record is added or removed (the worse of the two orders): {_ONE_NORM}",
    Relation.ADD: f"one record is added: {_ONE_NORM}",
    Relation.REMOVE: f"one record is removed: {_ONE_NORM}",
    Relation.ZERO_OUT: f"one record is replaced by one that contributes zero: {_ONE_NORM}",
    Relation.REPLACE: "one record is replaced by another, both contribute: means differ by two such norms",
}
"""Up to the colon: who neighbours are."""


def assumptions(composition: Composition, relation: Relation) -> list[str]:
    """What is taken for granted, in words: no certificate can check how the mechanism was run."""
    bare, schemes = list(composition.bare()), composition.schemes()
    gaussians = [mechanism for mechanism in bare if isinstance(mechanism, Gaussian)]
    kinds = dict.fromkeys(type(mechanism) for mechanism in bare if isinstance(mechanism, Release))
    holds: list[tuple[bool, str]] = [
        (True, f"neighbours and noise: {convention(composition, relation)}"),
        (PoissonSampled in schemes, _SAMPLING),
        (WithoutReplacement in schemes, _WITHOUT),
        (WithReplacement in schemes, _WITH),
        (RandomAllocation in schemes, _ALLOCATION),
        (RandomAllocation in schemes, _NORMALISER),
        (CyclicPoisson in schemes, _CYCLIC),
        (TruncatedPoisson in schemes, _TRUNCATED),
        (Shuffled in schemes, _SHUFFLED),
        (sum(isinstance(m, RandomAllocation) and m.fixed for m, _ in composition.parts) > 1, _KEPT),
        (TruncatedPoisson in schemes or (relation is not Relation.REPLACE and bool(
            schemes & {WithoutReplacement, WithReplacement})), _POPULATION[relation]),
        (any(g.noise_multiplier is not None for g in gaussians), _CLIPPING),
        (any(g.sigma is not None for g in gaussians), _SENSITIVITY),
        (bool(gaussians), _NOISE),
        *((True, kind.assumption) for kind in kinds),
        (True, _RELEASED),
        (True, _PARAMETERS),
        (True, _REALS),
    ]
    return [words for applies, words in holds if applies]


_SAMPLING = (
    "sampling: every record enters each batch with exactly the stated probability, independently of "
    "all other records, of the data, of the noise and of the other steps (Poisson sampling)"
)
_WITHOUT = (
    "sampling: every batch is a uniformly random subset of the stated share of the records, fresh in each "
    "step, independent of the data, of the noise and of the other steps (sampling without replacement)"
)
_WITH = (
    "sampling: every batch is the stated number of uniformly random records, drawn independently, fresh in each "
    "step, independent of the data, of the noise and of the other steps (sampling with replacement)"
)
_ALLOCATION = (
    "sampling: in every epoch every record is placed in exactly `picks` (1 unless stated) of the `rounds` batches, "
    "uniformly and independently of the others, of the data, of the noise and, unless `fixed`, of the other epochs; "
    "where `fixed`, it keeps its batches in all epochs of that mechanism (random allocation)"
)
_KEPT = (
    "sampling: tables with `fixed` that are equal but for `count` are epochs of one allocation, which every record "
    "keeps across all of them; tables that differ have allocations of their own, independent of each other"
)
_NORMALISER = (
    "sampling: batches have whatever size results; no sum is divided by, capped at or padded to that size (dividing by "
    "a number fixed in advance is covered)"
)
_CYCLIC = (
    "sampling: the groups are fixed without looking at the data; in round i every record of group i mod `groups` "
    "enters the batch with exactly the stated probability, independently of all else; groups made equal by leaving out "
    "records are covered for zero-out only (cyclic Poisson sampling). Where noise is correlated by a matrix (C x + Z "
    "is released), its C is lower triangular with at most `groups` bands and columns of norm at most 1"
)
_TRUNCATED = (
    "sampling: every record enters each sample with exactly the stated probability, independently of all else; where "
    "more than `largest_batch` are on it, the batch is a uniformly random subset of that size, else the sample; sums "
    "are not divided by the batch's size (truncated Poisson sampling)"
)
_SHUFFLED = (
    "sampling: in every epoch all records are put into a fresh uniformly random order, independent of the data, of the "
    "noise and of the other epochs, and cut into `rounds` batches of sizes fixed in advance, none left out; where a "
    "record is added or removed, the last batch alone has one more or less; sums are not divided by its size (shuffled "
    "batches). Upper ends make no use of the order; lower ends are what an attack on one pair of data sets sees"
)
_LARGER = "data: the stated number of records, or share of them, is that of the larger of two neighbouring data sets"
_SAME = "data: both neighbouring data sets have the same number of records"
_POPULATION = {one: _SAME if one in (Relation.REPLACE, Relation.ZERO_OUT) else _LARGER for one in Relation}
_CLIPPING = (
    "sensitivity: every record's contribution to a step's sum has L2 norm at most the bound which "
    "noise_multiplier is relative to; a record that is absent or zero contributes nothing"
)
_SENSITIVITY = (
    "sensitivity: where sigma is stated, the answers on neighbours differ by at most the stated "
    "sensitivity in L2 norm"
)
_NOISE = (
    "noise: every step adds Gaussian noise of exactly the stated standard deviation, in every "
    "coordinate independently, fresh in each step and independent of all else"
)
_RELEASED = (
    "release: every step's noisy sum and what is computed from such sums alone; nothing else that "
    "depends on the data (such as batches or their sizes) is revealed"
)
_PARAMETERS = (
    "parameters: noise, sensitivity, sampling probabilities and counts are fixed in advance, not "
    "chosen from the data or from releases; what a step queries may depend on earlier releases"
)
_REALS = (
    "arithmetic: sums and noise are those of exact real numbers; noise sampled in floating point is "
    "not covered"
)
