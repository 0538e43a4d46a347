"""Conventions and assumptions in words."""

from __future__ import annotations

from verified_dp.core.families.table import SCHEMES
from verified_dp.core.kernel.composition import Composition, Relation, Sampled
from verified_dp.core.kernel.mechanisms import Gaussian, Release


def convention(composition: Composition, relation: Relation) -> str:
    """Words on what noise and sensitivities are relative to, printed with every result: libraries disagree on it."""
    bare, schemes = list(composition.bare()), _in_order(composition.schemes())
    gaussians = [mechanism for mechanism in bare if isinstance(mechanism, Gaussian)]
    releases = dict.fromkeys(mechanism.stated.convention for mechanism in bare if isinstance(mechanism, Release))
    texts = []
    if composition.group_size > 1:
        texts.append(f"group_size {composition.group_size}: {_GROUPS[relation]}; {_FOR_ONE}")
    if any(gaussian.noise_multiplier is not None for gaussian in gaussians):
        texts.append(f"{_MULTIPLIER}; {_per_record(composition, relation)}")
    elif (releases or not bare) and composition.group_size == 1:
        texts.append(_NEIGHBOURS[relation].partition(":")[0])
    texts += [scheme.stated.convention for scheme in schemes]
    if any(gaussian.sigma is not None for gaussian in gaussians):
        texts.append(f"with sigma, sensitivity is the query's L2 sensitivity under {relation} itself")
    if releases and any(scheme.stated.name == "poisson" for scheme in schemes):
        texts.append(_ON_SAMPLES[relation is Relation.REPLACE])
    return "; ".join([*texts, *releases])


def _in_order(schemes: set[type[Sampled]]) -> list[type[Sampled]]:
    """As the table of schemes has them."""
    return sorted(schemes, key=lambda scheme: list(SCHEMES).index(scheme.stated.name))  # exact: integers


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
    bare, schemes = list(composition.bare()), _in_order(composition.schemes())
    gaussians = [mechanism for mechanism in bare if isinstance(mechanism, Gaussian)]
    kinds = dict.fromkeys(type(mechanism) for mechanism in bare if isinstance(mechanism, Release))
    holds: list[tuple[bool, str]] = [
        (True, f"neighbours and noise: {convention(composition, relation)}"),
        *((True, words) for scheme in schemes for words in scheme.stated.assumptions),
        *((True, words) for scheme in schemes for words in scheme.shared_assumptions(
            [mechanism for mechanism, _ in composition.parts if type(mechanism) is scheme])),
        (any(whose == "always" or (whose and relation is not Relation.REPLACE)
             for whose in (scheme.stated.counts_records for scheme in schemes)), _POPULATION[relation]),
        (any(g.noise_multiplier is not None for g in gaussians), _CLIPPING),
        (any(g.sigma is not None for g in gaussians), _SENSITIVITY),
        (bool(gaussians), _NOISE),
        *((True, words) for kind in kinds for words in kind.stated.assumptions),
        *((bool(words), words) for words in dict.fromkeys(
            one.assumption for one in bare if isinstance(one, Release))),
        (True, _RELEASED),
        (True, _PARAMETERS),
        (True, _REALS),
    ]
    return [words for applies, words in holds if applies]


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
