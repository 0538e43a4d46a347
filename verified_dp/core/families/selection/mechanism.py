"""Selections: the largest of noisy scores, questions above a threshold, partitions that are large enough."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from verified_dp.core.families.sampling.checks import check_sampled
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Composition, Sampled
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Gaussian, Kind, Release, read_flag

_SELECTED = (
    "noisy-max: where `selected` is stated, the indices of so many of the largest are released in their order, all "
    "from one draw of the noise, in place of the one")
_GAUSSIAN_THRESHOLD = (
    "sparse-vector: where threshold_sigma is stated, the threshold's noise is Gaussian of that standard deviation "
    "instead")


@dataclass(frozen=True)
class NoisyMax(Release):
    """The index of the largest score after Laplace or exponential noise of `scale` on each; nothing else is released.

    sensitivity: by how much one record changes any one score at most. monotone: whether it moves all scores that it
    changes in the same direction. selected: how many of the largest are released, in their order, all from one draw of
    the noise (one-shot top k). With exponential noise and one of them it is called permute-and-flip.

    >>> NoisyMax("2", 1).epsilon, NoisyMax("2", 1, monotone=True).epsilon
    (Fraction(1, 1), Fraction(1, 2))
    """

    stated = Kind(
        "noisy-max", {"scale": exact.positive, "sensitivity": exact.positive, "monotone": read_flag,
                      "selected": exact.count},
        "noisy-max: sensitivity is the largest change of any one score between neighbours of this relation",
        ("noisy-max: independent Laplace or exponential noise of the stated scale is added to every score, the index "
         "of the largest is released and nothing else; where `monotone`, no two scores change in opposite "
         "directions between neighbours of this relation",),
        not_grouped="state the sensitivity of the group instead")
    scale: Fraction
    sensitivity: Fraction
    monotone: bool | None = None
    selected: int | None = None

    def __init__(self, scale: Number, sensitivity: Number, monotone: bool | None = None,
                 selected: Number | None = None) -> None:
        self._read(scale=scale, sensitivity=sensitivity, monotone=monotone, selected=selected)
        self._set(monotone=self.monotone or None, selected=None if self.selected == 1 else self.selected)

    @property
    def assumption(self) -> str:
        """What `selected` adds."""
        return _SELECTED if self.selected else ""

    @property
    def epsilon(self) -> Fraction:
        """The pure epsilon that is proved: 2 sensitivity / scale for each that is selected, half where monotone."""
        return (1 if self.monotone else 2) * (self.selected or 1) * self.sensitivity / self.scale


@dataclass(frozen=True)
class SparseVector(Release):
    """Which of a stream of queries exceed a noisy threshold, until `answers` of them have (AboveThreshold for one).

    threshold_scale, query_scale: of the Laplace noise on the threshold, drawn once, and afresh on every query;
    threshold_sigma in place of the former for Gaussian noise of that standard deviation. sensitivity: of every query.
    monotone: whether one record moves all queries that it changes in the same direction.

    >>> SparseVector("2", "8", 2, 1).epsilon
    Fraction(1, 1)
    """

    stated = Kind(
        "sparse-vector", {"threshold_scale": exact.positive, "query_scale": exact.positive, "answers": exact.count,
                          "sensitivity": exact.positive, "monotone": read_flag, "threshold_sigma": exact.positive},
        "sparse-vector: sensitivity is the largest change of any one query between neighbours of this relation",
        ("sparse-vector: Laplace noise of threshold_scale is added to the threshold once, and fresh Laplace noise of "
         "query_scale to every query; only whether a noisy query reaches the noisy threshold is released, never its "
         "value, and all ends after `answers` queries that do; where `monotone`, no two queries change in opposite "
         "directions between neighbours of this relation",),
        not_grouped="state the sensitivity of the group instead")
    threshold_scale: Fraction | None = field(default=None, kw_only=True)
    query_scale: Fraction
    answers: int
    sensitivity: Fraction
    monotone: bool | None = None
    threshold_sigma: Fraction | None = None

    def __init__(self, threshold_scale: Number | None = None, query_scale: Number | None = None,
                 answers: Number | None = None, sensitivity: Number | None = None, monotone: bool | None = None,
                 threshold_sigma: Number | None = None) -> None:
        if (threshold_scale is None) == (threshold_sigma is None):
            raise InvalidInput("threshold_scale", threshold_scale,
                               "given for Laplace noise, or threshold_sigma for Gaussian noise (not both)")
        self._read(threshold_scale=threshold_scale, query_scale=query_scale, answers=answers, sensitivity=sensitivity,
                   monotone=monotone, threshold_sigma=threshold_sigma)
        self._set(monotone=self.monotone or None)

    @property
    def assumption(self) -> str:
        """What `threshold_sigma` changes."""
        return _GAUSSIAN_THRESHOLD if self.threshold_sigma else ""

    @property
    def epsilon(self) -> Fraction:
        """The pure epsilon that is proved: D / threshold_scale + 2 c D / query_scale, c D / query_scale if monotone.

        With Gaussian noise on the threshold, which has none, that of the answers alone.
        """
        of_threshold = 1 / self.threshold_scale if self.threshold_scale else Fraction(0)
        return self.sensitivity * (of_threshold + (1 if self.monotone else 2) * self.answers / self.query_scale)


@dataclass(frozen=True)
class PartitionSelection(Release):
    """The noisy counts of all partitions whose noisy count exceeds a threshold, as of a histogram over unknown keys.

    Noise, in exactly one form: Gaussian of standard deviation `sigma`, or Laplace of `scale`. partitions: of how many
    one record is at most; it adds between 0 and 1 to the count of each. Partitions without records are never released.
    """

    stated = Kind(
        "partition-selection", {"threshold": exact.non_negative, "partitions": exact.count, "sigma": exact.positive,
                                "scale": exact.positive},
        "partition-selection: one record adds between 0 and 1 to the counts of at most `partitions` partitions",
        ("partition-selection: a partition that no record is in is never released; fresh noise of the stated law is "
         "added to every other count, and count and name are released where the sum exceeds the threshold",),
        not_grouped="a group may fill a partition that no record of its own would; no theorem is implemented")
    threshold: Fraction
    partitions: int
    sigma: Fraction | None = None
    scale: Fraction | None = None

    def __init__(self, threshold: Number, partitions: Number, sigma: Number | None = None,
                 scale: Number | None = None) -> None:
        if (sigma is None) == (scale is None):
            raise InvalidInput("sigma", sigma, "given for Gaussian noise, or scale for Laplace noise (not both)")
        self._read(threshold=threshold, partitions=partitions, sigma=sigma, scale=scale)


_RUNS = ("selection: every run is a fresh, independent one of the stated mechanism, with hyperparameters drawn by the "
         "same rule whatever the data; their number has exactly the stated law, independently of the data and of the "
         "runs; only the output of the run with the best score, ties broken by a fixed rule, is released, and the "
         "score is part of what the run releases")


_MOST_PARTS = 100
"""A moment of one run is computed at many powers."""


def check_run(mechanism: object) -> None:
    """Refuse all but releases, plain or on Poisson samples, and their compositions: no theorem covers them as a run."""
    if isinstance(mechanism, Composition):
        if len(mechanism.merged()) > _MOST_PARTS:
            raise InvalidInput("releases", len(mechanism.merged()), f"at most {_MOST_PARTS} different steps of one run")
        for part, _ in mechanism.parts:
            check_run(part)
    elif isinstance(mechanism, Sampled):
        if mechanism.stated.name != "poisson":
            raise Unsupported(f"{mechanism.stated.name} inside of a selection: no theorem is implemented", "selection")
    elif not isinstance(mechanism, Gaussian | Release):
        check_sampled(mechanism)


@dataclass(frozen=True)
class PoissonRuns(Sampled):
    """The best of a Poisson number of runs of a mechanism; nothing is released where there is none.

    >>> PoissonRuns(Gaussian("5"), mean=10).mean
    Fraction(10, 1)
    """

    stated = Kind(
        "poisson-runs", {"mean": exact.positive},
        "selection: the best of a random number of runs is released", (_RUNS,))
    key: ClassVar[str] = "selection"
    mechanism: Gaussian | Release | Sampled | Composition
    mean: Fraction

    def __init__(self, mechanism: Gaussian | Release | Sampled | Composition, mean: Number) -> None:
        check_run(mechanism)
        self._read(mechanism=mechanism, mean=mean)


@dataclass(frozen=True)
class NegativeBinomialRuns(Sampled):
    """The best of a number of runs with the negative binomial law truncated to 1, 2, ...

    mean: the number of runs that is expected, above 1. shape: 1 for the geometric law, 0 for the logarithmic one.
    """

    stated = Kind(
        "negative-binomial-runs", {"mean": exact.positive, "shape": exact.non_negative},
        "selection: the best of a random number of runs is released", (_RUNS,))
    key: ClassVar[str] = "selection"
    mechanism: Gaussian | Release | Sampled | Composition
    mean: Fraction
    shape: Fraction

    def __init__(self, mechanism: Gaussian | Release | Sampled | Composition, mean: Number, shape: Number) -> None:
        check_run(mechanism)
        self._read(mechanism=mechanism, mean=mean, shape=shape)
        if self.mean <= 1:
            raise InvalidInput("mean", mean, "a rational number above 1: there is at least one run")
