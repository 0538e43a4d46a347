"""Poisson sampling, of any release, and of groups of records in turn."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.families.sampling.checks import check_gaussian, check_sampled
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Composition, Sampled
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Gaussian, Kind, Release


@dataclass(frozen=True)
class CyclicPoisson(Sampled):
    """`rounds` Gaussian steps; every record is in one of `groups` fixed groups, which take turns.

    In a round each record of the round's group enters the batch independently with `probability`.
    """

    stated = Kind(
        "cyclic-poisson", {"groups": exact.count, "probability": exact.probability, "rounds": exact.count},
        "cyclic Poisson sampling: the groups take turns, one table is `rounds` steps, "
        "batches are not revealed",
        ("sampling: the groups are fixed without looking at the data; in round i every record of group i mod `groups` "
         "enters the batch with exactly the stated probability, independently of all else; groups made equal by "
         "leaving out records are covered for zero-out only (cyclic Poisson sampling). Where noise is correlated by a "
         "matrix (C x + Z is released), its C is lower triangular with at most `groups` bands and columns of norm at "
         "most 1",))
    mechanism: Gaussian
    groups: int
    probability: Fraction
    rounds: int

    def __init__(self, mechanism: Gaussian, groups: Number, probability: Number, rounds: Number) -> None:
        check_gaussian(mechanism, "cyclic Poisson sampling")
        self._read(mechanism=mechanism, groups=groups, probability=probability, rounds=rounds)

    @property
    def turns(self) -> int:
        """In how many rounds the records of the first group may take part: ceil(rounds / groups)."""
        return -(-self.rounds // self.groups)


@dataclass(frozen=True)
class PoissonSampled(Sampled):
    """A mechanism on a batch which each record enters independently with `probability`, in [0, 1].

    A composition: one batch is drawn, and all its releases are made from that same batch.
    """

    stated = Kind(
        "poisson", {"probability": exact.probability},
        "Poisson sampling: records enter each batch independently, batches are not revealed",
        ("sampling: every record enters each batch with exactly the stated probability, independently of all other "
         "records, of the data, of the noise and of the other steps (Poisson sampling)",))
    mechanism: Gaussian | Release | Composition
    probability: Fraction

    def __init__(self, mechanism: Gaussian | Release | Composition, probability: Number) -> None:
        check_sampled(mechanism)
        self._read(mechanism=mechanism, probability=probability)
