"""Sampling in which batches or records hang together: random allocation, cyclic, truncated, shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core import exact
from verified_dp.core.errors import InvalidInput, Unsupported
from verified_dp.core.exact import Number
from verified_dp.core.mechanisms import Gaussian, Release


@dataclass(frozen=True)
class RandomAllocation:
    """One epoch of `rounds` Gaussian steps; every record is in `picks` of their batches, uniformly, as no other record.

    fixed: the record keeps its batches in every epoch of the composition that runs an equal mechanism; else each epoch
    draws them afresh. picks = 1 is also called balls in bins.
    """

    mechanism: Gaussian
    rounds: int
    picks: int
    fixed: bool

    def __init__(self, mechanism: Gaussian, rounds: Number, picks: Number = 1, fixed: bool = False) -> None:
        _check_gaussian(mechanism, "random allocation")
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "rounds", exact.count(rounds, "rounds"))
        object.__setattr__(self, "picks", read_picks(picks))
        object.__setattr__(self, "fixed", read_flag(fixed, "fixed"))
        if self.picks > self.rounds:
            raise InvalidInput("picks", picks, f"at most rounds = {self.rounds}")


@dataclass(frozen=True)
class CyclicPoisson:
    """`rounds` Gaussian steps; every record is in one of `groups` fixed groups, which take turns.

    In a round each record of the round's group enters the batch independently with `probability`.
    """

    mechanism: Gaussian
    groups: int
    probability: Fraction
    rounds: int

    def __init__(self, mechanism: Gaussian, groups: Number, probability: Number, rounds: Number) -> None:
        _check_gaussian(mechanism, "cyclic Poisson sampling")
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "groups", exact.count(groups, "groups"))
        object.__setattr__(self, "probability", exact.probability(probability, "probability"))
        object.__setattr__(self, "rounds", exact.count(rounds, "rounds"))

    @property
    def turns(self) -> int:
        """In how many rounds the records of the first group may take part: ceil(rounds / groups)."""
        return -(-self.rounds // self.groups)


@dataclass(frozen=True)
class Shuffled:
    """One epoch of `rounds` Gaussian steps on batches of fixed sizes, cut from all records in a fresh uniform order.

    The sizes add up to the number of records, of the larger data set where one is added or removed: then the last batch
    of the other is one record smaller.
    """

    mechanism: Gaussian
    rounds: int

    def __init__(self, mechanism: Gaussian, rounds: Number) -> None:
        _check_gaussian(mechanism, "shuffling")
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "rounds", exact.count(rounds, "rounds"))


MAX_POPULATION = 10**9
"""The chance of a full batch is a sum of about the root of so many terms."""


@dataclass(frozen=True)
class TruncatedPoisson:
    """A Gaussian on a Poisson sample of `population` records; of one larger than `largest_batch`, a uniform subset."""

    mechanism: Gaussian
    probability: Fraction
    population: int
    largest_batch: int

    def __init__(self, mechanism: Gaussian, probability: Number, population: Number, largest_batch: Number) -> None:
        _check_gaussian(mechanism, "truncated Poisson sampling")
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "probability", exact.probability(probability, "probability"))
        object.__setattr__(self, "population", read_population(population))
        object.__setattr__(self, "largest_batch", exact.count(largest_batch, "largest_batch"))


def read_population(value: object, key: str = "population") -> int:
    """The value as an integer from 1 to MAX_POPULATION."""
    number = exact.count(value, key)
    if number > MAX_POPULATION:
        raise InvalidInput(key, value, f"an integer from 1 to {MAX_POPULATION}")
    return number


def read_picks(value: object, key: str = "picks") -> int:
    """The value as an integer >= 1; 1 where it is left out."""
    return 1 if value is None else exact.count(value, key)


def read_flag(value: object, key: str) -> bool:
    """The value as true or false; false where it is left out."""
    if value is not None and type(value) is not bool:
        raise InvalidInput(key, value, "true or false")
    return bool(value)


def _check_gaussian(mechanism: object, scheme: str) -> None:
    if isinstance(mechanism, Release):
        raise Unsupported(f"{mechanism.kind} under {scheme}: a theorem covers the Gaussian only", "sampling")
    if not isinstance(mechanism, Gaussian):
        raise InvalidInput("mechanism", mechanism, "a Gaussian")
    if mechanism.sigma is not None:
        raise InvalidInput("sigma", mechanism.sigma, "replaced by noise_multiplier under sampling")
