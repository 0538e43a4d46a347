"""What comes down to Gaussian noise: mixtures, mu-GDP, trees of partial sums, correlated sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm  # exact: integers

from verified_dp.core.families.lists import check_length, read_distribution, read_numbers
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import MAX_OUTCOMES, Kind, Release, up_to
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class GaussianDP(Release):
    """Anything known to be mu-GDP between neighbours: no easier to tell apart than N(0, 1) and N(mu, 1)."""

    stated = Kind(
        "gaussian-dp", {"mu": exact.positive},
        "gaussian-dp: the guarantee holds between neighbours of this relation in both directions",
        ("gaussian-dp: the stated guarantee holds whatever was released before",),
        adds_up="mu",
        not_sampled="")
    mu: Fraction

    def __init__(self, mu: Number) -> None:
        self._read(mu=mu)


@dataclass(frozen=True)
class MixtureOfGaussians(Release):
    """Noise N(0, sigma^2 I) on a sum; the record adds a norm of at most sensitivities[i] with probabilities[i]."""

    stated = Kind(
        "mixture-of-gaussians",
        {"sigma": exact.positive, "sensitivities": read_numbers, "probabilities": read_distribution},
        "mixture-of-gaussians: which sensitivity applies is drawn independently of the data and not revealed",
        ("mixture-of-gaussians: exact noise; what other records add is independent of the draw",),
        not_sampled="",
        not_grouped="whether the draws of several records are independent is not stated; state the mixture of the "
                    "group's norms as sensitivities and probabilities")
    sigma: Fraction
    sensitivities: tuple[Fraction, ...]
    probabilities: tuple[Fraction, ...]

    def __init__(self, sigma: Number, sensitivities: Sequence[Number], probabilities: Sequence[Number]) -> None:
        self._read(sensitivities=sensitivities, probabilities=probabilities)
        check_length(self.probabilities, "probabilities", self.sensitivities, "sensitivities")
        merged: dict[Fraction, Fraction] = {}
        for norm, weight in zip(self.sensitivities, self.probabilities, strict=True):
            merged[norm] = merged.get(norm, Fraction(0)) + weight
        kept = sorted((norm, weight) for norm, weight in merged.items() if weight)  # exact: fractions
        self._read(sigma=sigma)
        self._set(sensitivities=tuple(norm for norm, _ in kept), probabilities=tuple(weight for _, weight in kept))


@dataclass(frozen=True)
class TreeAggregation(Release):
    """A binary tree over `steps` leaves: every node of a complete subtree is a noisy sum; a record has one leaf."""

    stated = Kind(
        "tree-aggregation", {"noise_multiplier": exact.positive, "steps": exact.count},
        "tree-aggregation: noise_multiplier = sigma of every node / largest L2 norm of one record's "
        "contribution; one table is one tree, in which a record stands at one leaf at most",
        ("tree-aggregation: every node of a complete subtree adds fresh Gaussian noise of exactly the stated "
         "standard deviation to the sum of its leaves; contributions have L2 norm at most the bound; which "
         "leaf a record has depends on nothing that was released",),
        not_sampled="no theorem covers trees on samples")
    noise_multiplier: Fraction
    steps: int

    def __init__(self, noise_multiplier: Number, steps: Number) -> None:
        self._read(noise_multiplier=noise_multiplier, steps=steps)

    @property
    def depth(self) -> int:
        """How many nodes hold the leaf that is in most: the binary digits of `steps`."""
        return self.steps.bit_length()


MAX_ROUNDS = 10**5
"""Rows of a matrix; and numbers of its columns that are added up take too long beyond MAX_TERMS."""

MAX_TERMS = 2 * 10**6


read_rounds = up_to(MAX_ROUNDS)
"""The value as an integer from 1 to MAX_ROUNDS."""


def read_column(column: object, key: str = "column") -> tuple[Fraction, ...]:
    """Numbers that do not rise, the first one positive."""
    if isinstance(column, str) or not isinstance(column, Sequence) or not 1 <= len(column) <= MAX_OUTCOMES:
        raise InvalidInput("column", column, f"a list of 1 to {MAX_OUTCOMES} numbers")
    numbers = tuple(exact.non_negative(value, f"column[{i}]") for i, value in enumerate(column, 1))
    for i, (earlier, later) in enumerate(pairwise(numbers), 2):
        if later > earlier:
            raise InvalidInput(f"column[{i}]", column[i - 1], "at most the number before it")
    if numbers[0] == 0:
        raise InvalidInput("column[1]", column[0], "positive")
    return numbers


@dataclass(frozen=True)
class MatrixGaussian(Release):
    """C x + Z released row by row, C lower triangular Toeplitz with the first column c_0 >= c_1 >= .. >= 0.

    rounds: the number of rows. separation: any two rounds of a record are at least so many apart (1).
    participations: how many rounds a record has at most; as many as fit where it is left out.
    """

    stated = Kind(
        "matrix-gaussian", {"noise_multiplier": exact.positive, "column": read_column, "rounds": read_rounds,
         "separation": exact.count, "participations": exact.count},
        "matrix-gaussian: noise_multiplier = sigma of Z / largest L2 norm of one record's contribution to "
        "one round; C x + Z is released, the first column of C is stated",
        ("matrix-gaussian: C is lower triangular Toeplitz; Z is fresh Gaussian noise of exactly the stated "
         "standard deviation, independent in all coordinates and rounds; contributions have L2 norm at most "
         "the bound; a record's rounds are as far apart and as few as stated, and those of the others do not "
         "depend on it",),
        not_sampled="no theorem covers a matrix on samples, but cyclic-poisson where its bands are few")
    noise_multiplier: Fraction
    column: tuple[Fraction, ...]
    rounds: int
    separation: int | None = None
    participations: int | None = None

    def __init__(self, noise_multiplier: Number, column: Sequence[Number], rounds: Number,
                 separation: Number | None = None, participations: Number | None = None) -> None:
        self._read(separation=separation, participations=participations, noise_multiplier=noise_multiplier,
                   column=column, rounds=rounds)
        self._set(separation=None if self.separation == 1 else self.separation)
        if self.participating * min(len(self.column), self.rounds) > MAX_TERMS:  # exact: integers
            raise InvalidInput("rounds", rounds, f"so few that at most {MAX_TERMS} numbers of columns are added up")

    @property
    def participating(self) -> int:
        """In how many rounds a record can be at most."""
        return most_rounds(self.rounds, self.separation or 1, self.participations)

    def sensitivity_squared(self) -> Fraction:
        """The largest |sum_i C_i (x) g_i|^2, |g_i| <= 1."""
        return column_norm_squared(self.column, self.rounds, self.separation or 1, self.participating)


def most_rounds(rounds: int, separation: int, participations: int | None) -> int:
    """As many as fit, and no more than stated."""
    fitting = -(-rounds // separation)
    return fitting if participations is None else min(fitting, participations)  # exact: integers


@proved_by("T134-toeplitz-columns")
def column_norm_squared(column: Sequence[Fraction], rounds: int, separation: int, times: int) -> Fraction:
    """|C_0 + C_b + .. + C_{(m-1) b}|^2, m = times, b = separation."""
    scale = lcm(*(number.denominator for number in column))
    whole, total = [int(number * scale) for number in column], [0] * rounds
    for start in range(0, times * separation, separation):
        for row, number in enumerate(whole[: rounds - start], start):
            total[row] += number
    return Fraction(sum(entry * entry for entry in total), scale * scale)
