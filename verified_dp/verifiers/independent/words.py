"""What a certificate takes for granted, in words (CERTIFICATE.md, "Assumptions"): the texts are part of the format."""

from __future__ import annotations

from .inputs import Input


def assumptions(run: Input) -> list[str]:
    """The list `assumptions` of a certificate."""
    bare, schemes = list(run.bare()), run.schemes()
    fixed = () if run.relation == "replace" else ("without-replacement", "with-replacement")
    counted = {"truncated-poisson", *fixed}  # where it matters which of two neighbours a number is of
    gaussians = [step for step in bare if step.kind == "gaussian"]
    multiplier = any(step.get("noise_multiplier") is not None for step in gaussians)
    sigma = any(step.get("sigma") is not None for step in gaussians)
    kinds = list(dict.fromkeys(step.kind for step in bare if step.kind != "gaussian"))
    holds = [(True, f"neighbours and noise: {_convention(run, multiplier, sigma, kinds)}"),
             *((scheme in schemes, words) for scheme, texts in _SCHEMES.items() for words in texts),
             (sum(bool(step.sampling and step.sampling.fixed) for step, _ in run.steps) > 1, _KEPT),
             (bool(schemes & counted), _records(run.relation)),
             (multiplier, _CLIPPING), (sigma, _SENSITIVITY), (bool(gaussians), _NOISE),
             *((True, words) for kind in kinds for words in _KINDS[kind][1:]),
             *((True, words) for words in dict.fromkeys(
                 text for step in bare for key, text in _MORE.items() if step.get(key) and text.startswith(step.kind))),
             (True, _RELEASED), (True, _PARAMETERS), (True, _REALS)]
    return [words for applies, words in holds if applies]


def _convention(run: Input, multiplier: bool, sigma: bool, kinds: list[str]) -> str:
    texts, replaced = [], run.relation == "replace"
    if run.group_size > 1:
        texts.append(f"group_size {run.group_size}: {_GROUPS[run.relation]}; {_FOR_ONE}")
    if multiplier:
        norms = "two such norms" if replaced else "one such norm"
        group = f"each record of the group moves the means by up to {norms}"
        texts.append(f"{_MULTIPLIER}; {_NEIGHBOURS[run.relation] if run.group_size == 1 else group}")
    elif (kinds or not run.steps) and run.group_size == 1:
        texts.append(_NEIGHBOURS[run.relation].partition(":")[0])
    texts += [words for scheme, words in _BATCHES.items() if scheme in run.schemes()]
    if sigma:
        texts.append(f"with sigma, sensitivity is the query's L2 sensitivity under {run.relation} itself")
    if kinds and "poisson" in run.schemes():
        texts.append(_ON_SAMPLES_REPLACED if replaced else _ON_SAMPLES)
    return "; ".join([*texts, *(_KINDS[kind][0] for kind in kinds)])


_RUNS = (
    "selection: every run is a fresh, independent one of the stated mechanism, with hyperparameters drawn by the same "
    "rule whatever the data; their number has exactly the stated law, independently of the data and of the runs; only "
    "the output of the run with the best score, ties broken by a fixed rule, is released, and the score is part of "
    "what the run releases",)
_SCHEMES = {
    "poisson": (
        "sampling: every record enters each batch with exactly the stated probability, independently of all other "
        "records, of the data, of the noise and of the other steps (Poisson sampling)",),
    "without-replacement": (
        "sampling: every batch is a uniformly random subset of the stated share of the records, fresh in each step, "
        "independent of the data, of the noise and of the other steps (sampling without replacement)",),
    "with-replacement": (
        "sampling: every batch is the stated number of uniformly random records, drawn independently, fresh in each "
        "step, independent of the data, of the noise and of the other steps (sampling with replacement)",),
    "random-allocation": (
        "sampling: in every epoch every record is placed in exactly `picks` (1 unless stated) of the `rounds` "
        "batches, uniformly and independently of the others, of the data, of the noise and, unless `fixed`, of the "
        "other epochs; where `fixed`, it keeps its batches in all epochs of that mechanism (random allocation)",
        "sampling: batches have whatever size results; no sum is divided by, capped at or padded to that size "
        "(dividing by a number fixed in advance is covered)"),
    "cyclic-poisson": (
        "sampling: the groups are fixed without looking at the data; in round i every record of group i mod `groups` "
        "enters the batch with exactly the stated probability, independently of all else; groups made equal by "
        "leaving out records are covered for zero-out only (cyclic Poisson sampling). Where noise is correlated by a "
        "matrix (C x + Z is released), its C is lower triangular with at most `groups` bands and columns of norm at "
        "most 1",),
    "truncated-poisson": (
        "sampling: every record enters each sample with exactly the stated probability, independently of all else; "
        "where more than `largest_batch` are on it, the batch is a uniformly random subset of that size, else the "
        "sample; sums are not divided by the batch's size (truncated Poisson sampling)",),
    "shuffled": (
        "sampling: in every epoch all records are put into a fresh uniformly random order, independent of the data, "
        "of the noise and of the other epochs, and cut into `rounds` batches of sizes fixed in advance, none left "
        "out; where a record is added or removed, the last batch alone has one more or less; sums are not divided by "
        "its size (shuffled batches). Upper ends make no use of the order; lower ends are what an attack on one pair "
        "of data sets sees",),
    "poisson-runs": _RUNS,
    "negative-binomial-runs": _RUNS,
}
_KEPT = (
    "sampling: tables with `fixed` that are equal but for `count` are epochs of one allocation, which every record "
    "keeps across all of them; tables that differ have allocations of their own, independent of each other")


def _records(relation: str) -> str:
    if relation in ("replace", "zero-out"):
        return "data: both neighbouring data sets have the same number of records"
    return "data: the stated number of records, or share of them, is that of the larger of two neighbouring data sets"


_CLIPPING = (
    "sensitivity: every record's contribution to a step's sum has L2 norm at most the bound which noise_multiplier "
    "is relative to; a record that is absent or zero contributes nothing")
_SENSITIVITY = (
    "sensitivity: where sigma is stated, the answers on neighbours differ by at most the stated sensitivity in L2 "
    "norm")
_NOISE = (
    "noise: every step adds Gaussian noise of exactly the stated standard deviation, in every coordinate "
    "independently, fresh in each step and independent of all else")
_RELEASED = (
    "release: every step's noisy sum and what is computed from such sums alone; nothing else that depends on the "
    "data (such as batches or their sizes) is revealed")
_PARAMETERS = (
    "parameters: noise, sensitivity, sampling probabilities and counts are fixed in advance, not chosen from the "
    "data or from releases; what a step queries may depend on earlier releases")
_REALS = (
    "arithmetic: sums and noise are those of exact real numbers; noise sampled in floating point is not covered")
_BATCHES = {
    "poisson": "Poisson sampling: records enter each batch independently, batches are not revealed",
    "without-replacement": "sampling without replacement: batches have a fixed size and are not revealed",
    "with-replacement":
        "sampling with replacement: each draw is uniform and independent, draws are not revealed",
    "random-allocation":
        "random allocation: one table is one epoch of `rounds` steps, count is the number of epochs, batches are not "
        "revealed",
    "cyclic-poisson":
        "cyclic Poisson sampling: the groups take turns, one table is `rounds` steps, batches are not revealed",
    "truncated-poisson":
        "truncated Poisson sampling: records enter each batch independently, a batch that is too large is cut down to "
        "a uniform subset, batches and their sizes are not revealed",
    "shuffled":
        "shuffled batches: one table is one epoch of `rounds` steps, count is the number of epochs, batches are not "
        "revealed",
    "poisson-runs": "selection: the best of a random number of runs is released",
    "negative-binomial-runs": "selection: the best of a random number of runs is released",
}
_MULTIPLIER = "noise_multiplier = sigma / largest L2 norm of one record's contribution"
_FOR_ONE = "norms, sensitivities and guarantees are stated for one record"
_GROUPS = {
    "add-or-remove": "up to that many records are added, or removed, all together (the worse of the two orders)",
    "add": "up to that many records are added",
    "remove": "up to that many records are removed",
    "zero-out": "up to that many records are replaced by ones that contribute zero",
    "replace": "up to that many records are replaced by others",
}
_NEIGHBOURS = {
    "add-or-remove":
        "one record is added or removed (the worse of the two orders): the means of the noise with and without the "
        "record differ by one such norm",
    "add": "one record is added: the means of the noise with and without the record differ by one such norm",
    "remove":
        "one record is removed: the means of the noise with and without the record differ by one such norm",
    "zero-out":
        "one record is replaced by one that contributes zero: the means of the noise with and without the record "
        "differ by one such norm",
    "replace": "one record is replaced by another, both contribute: means differ by two such norms",
}
_ON_SAMPLES = (
    "on a Poisson sample, stated sensitivities and guarantees compare a batch with the record and without it")
_ON_SAMPLES_REPLACED = (
    "on a Poisson sample, stated sensitivities compare a batch with the record and without it: two records that "
    "replace each other may differ by twice that")
_MORE = {
    "selected":
        "noisy-max: where `selected` is stated, the indices of so many of the largest are released in their order, all "
        "from one draw of the noise, in place of the one",
    "threshold_sigma":
        "sparse-vector: where threshold_sigma is stated, the threshold's noise is Gaussian of that standard deviation "
        "instead",
}
_VOTES = (
    "every teacher has one vote, and every record is seen by one teacher; independent Gaussian noise of standard "
    "deviation sigma is added to every count, and the class with the largest sum is released, never a count; where "
    "threshold_sigma is stated, the largest count is first compared with the threshold, after Gaussian noise of that "
    "standard deviation, independent of all other noise, and below it only that is released")
_KINDS = {
    "laplace-vector": (
        "laplace-vector: a vector, which neighbours change by at most the stated sensitivity in L1 norm",
        "laplace-vector: exact Laplace noise of the stated scale, independent in all coordinates and releases",
    ),
    "discrete-laplace-vector": (
        "discrete-laplace-vector: a vector of integers, which neighbours change by at most the stated sensitivity in "
        "L1 norm",
        "discrete-laplace-vector: exact noise of the stated scale, independent in all coordinates and releases",
    ),
    "discrete-gaussian-vector": (
        "discrete-gaussian-vector: a vector of integers, which neighbours change by at most the stated sensitivity in "
        "L2 norm",
        "discrete-gaussian-vector: exact noise of the stated parameter sigma_squared, independent in all coordinates "
        "and releases",
    ),
    "tree-aggregation": (
        "tree-aggregation: noise_multiplier = sigma of every node / largest L2 norm of one record's contribution; one "
        "table is one tree, in which a record stands at one leaf at most",
        "tree-aggregation: every node of a complete subtree adds fresh Gaussian noise of exactly the stated standard "
        "deviation to the sum of its leaves; contributions have L2 norm at most the bound; which leaf a record has "
        "depends on nothing that was released",
    ),
    "matrix-gaussian": (
        "matrix-gaussian: noise_multiplier = sigma of Z / largest L2 norm of one record's contribution to one round; "
        "C x + Z is released, the first column of C is stated",
        "matrix-gaussian: C is lower triangular Toeplitz; Z is fresh Gaussian noise of exactly the stated standard "
        "deviation, independent in all coordinates and rounds; contributions have L2 norm at most the bound; a "
        "record's rounds are as far apart and as few as stated, and those of the others do not depend on it",
    ),
    "shuffled-local": (
        "shuffled-local: users messages, one from each, of which only the multiset is seen; epsilon0 bounds log(P/Q) "
        "between the laws of one message on any two inputs (odds = e^epsilon0)",
        "shuffled-local: all users run the same randomiser, which meets the stated bound, with fresh and independent "
        "randomness; messages are shuffled uniformly, whatever they are; which randomiser it is may depend on what was "
        "released before",
    ),
    "laplace": (
        "laplace: one real number, which neighbours change by at most the stated sensitivity",
        "laplace: exact Laplace noise of the stated scale, fresh in each release",
    ),
    "discrete-laplace": (
        "discrete-laplace: one integer, which neighbours change by at most the stated sensitivity",
        "discrete-laplace: exact noise of the stated scale, fresh in each release",
    ),
    "discrete-gaussian": (
        "discrete-gaussian: one integer, which neighbours change by at most the stated sensitivity",
        "discrete-gaussian: exact noise of the stated parameter sigma_squared, fresh in each release",
    ),
    "randomized-response": (
        "randomized-response: every neighbour answers, one of them differently",
        "randomized-response: every answer is drawn afresh with exactly the stated probabilities",
    ),
    "finite": (
        "finite: P is the outcome's law with the record, Q without it (replace: of either neighbour)",
        "finite: the outcome has exactly the law P or Q, whatever was released before",
    ),
    "approximate-dp": (
        "approximate-dp: the guarantee holds between neighbours of this relation in both directions",
        "approximate-dp: the stated guarantee holds whatever was released before",
    ),
    "gaussian-dp": (
        "gaussian-dp: the guarantee holds between neighbours of this relation in both directions",
        "gaussian-dp: the stated guarantee holds whatever was released before",
    ),
    "mixture-of-gaussians": (
        "mixture-of-gaussians: which sensitivity applies is drawn independently of the data and not revealed",
        "mixture-of-gaussians: exact noise; what other records add is independent of the draw",
    ),
    "exponential": (
        "exponential: bounded_range bounds max - min over outcomes of log(P/Q) between neighbours",
        "exponential: the stated range holds whatever was released before",
    ),
    "zcdp": (
        "zcdp: the bound on all Renyi divergences holds between neighbours of this relation in both directions",
        "zcdp: the stated bounds hold whatever was released before",
    ),
    "renyi": (
        "renyi: each bound on a Renyi divergence holds between neighbours of this relation in both directions",
        "renyi: the stated bounds hold whatever was released before",
    ),
    "noisy-max": (
        "noisy-max: sensitivity is the largest change of any one score between neighbours of this relation",
        "noisy-max: independent Laplace or exponential noise of the stated scale is added to every score, the "
        "index of the largest is released and nothing else; where `monotone`, no two scores change in "
        "opposite directions between neighbours of this relation",
    ),
    "sparse-vector": (
        "sparse-vector: sensitivity is the largest change of any one query between neighbours of this "
        "relation",
        "sparse-vector: Laplace noise of threshold_scale is added to the threshold once, and fresh Laplace "
        "noise of query_scale to every query; only whether a noisy query reaches the noisy threshold is "
        "released, never its value, and all ends after `answers` queries that do; where `monotone`, no "
        "two queries change in opposite directions between neighbours of this relation",
    ),
    "partition-selection": (
        "partition-selection: one record adds between 0 and 1 to the counts of at most `partitions` partitions",
        "partition-selection: a partition that no record is in is never released; fresh noise of the stated law is "
        "added to every other count, and count and name are released where the sum exceeds the threshold",
    ),
    "gnmax": (
        "gnmax: the vote of one teacher changes between neighbours of this relation, from one class to another",
        f"gnmax: {_VOTES}",
    ),
    "gnmax-votes": (
        "gnmax-votes: no guarantee of differential privacy, but of the data with these votes: between them and a "
        "neighbour of this relation the vote of one teacher changes, from one class to another",
        f"gnmax-votes: {_VOTES}",
        "gnmax-votes: the data set is one with these votes, and questions do not depend on answers; what is said "
        "depends on the data, and tells about the votes where it is published",
    ),
}
