"""Releases of vectors: noise on many coordinates, trees of partial sums, sums correlated by a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm  # exact: integers

from verified_dp.core import exact
from verified_dp.core.errors import InvalidInput
from verified_dp.core.exact import Number
from verified_dp.core.local import ShuffledLocal
from verified_dp.core.mechanisms import MAX_OUTCOMES, RELEASES, DiscreteLaplace, Laplace, Release
from verified_dp.core.theorems import proved_by


class LaplaceVector(Laplace):
    """Laplace noise of the given scale in every coordinate of a vector; sensitivity: by how much it changes in L1 norm.

    >>> LaplaceVector("20", 1).ratio
    Fraction(1, 20)
    """

    kind = "laplace-vector"
    convention = "laplace-vector: a vector, which neighbours change by at most the stated sensitivity in L1 norm"
    assumption = "laplace-vector: exact Laplace noise of the stated scale, independent in all coordinates and releases"


class DiscreteLaplaceVector(DiscreteLaplace):
    """Discrete Laplace noise in every coordinate of a vector of integers; sensitivity in L1 norm."""

    kind = "discrete-laplace-vector"
    convention = ("discrete-laplace-vector: a vector of integers, which neighbours change by at most the stated "
                  "sensitivity in L1 norm")
    assumption = "discrete-laplace-vector: exact noise of the stated scale, independent in all coordinates and releases"


@dataclass(frozen=True)
class DiscreteGaussianVector(Release):
    """Discrete Gaussian noise in every coordinate of a vector of integers; sensitivity in L2 norm."""

    kind = "discrete-gaussian-vector"
    convention = ("discrete-gaussian-vector: a vector of integers, which neighbours change by at most the stated "
                  "sensitivity in L2 norm")
    assumption = ("discrete-gaussian-vector: exact noise of the stated parameter sigma_squared, independent in all "
                  "coordinates and releases")
    sigma_squared: Fraction
    sensitivity: Fraction

    def __init__(self, sigma_squared: Number, sensitivity: Number) -> None:
        self._set(sigma_squared=exact.positive(sigma_squared, "sigma_squared"),
                  sensitivity=exact.positive(sensitivity, "sensitivity"))


@dataclass(frozen=True)
class TreeAggregation(Release):
    """A binary tree over `steps` leaves: every node of a complete subtree is a noisy sum; a record has one leaf."""

    kind = "tree-aggregation"
    not_sampled = "no theorem covers trees on samples"
    convention = ("tree-aggregation: noise_multiplier = sigma of every node / largest L2 norm of one record's "
                  "contribution; one table is one tree, in which a record stands at one leaf at most")
    assumption = ("tree-aggregation: every node of a complete subtree adds fresh Gaussian noise of exactly the stated "
                  "standard deviation to the sum of its leaves; contributions have L2 norm at most the bound; which "
                  "leaf a record has depends on nothing that was released")
    noise_multiplier: Fraction
    steps: int

    def __init__(self, noise_multiplier: Number, steps: Number) -> None:
        self._set(noise_multiplier=exact.positive(noise_multiplier, "noise_multiplier"),
                  steps=exact.count(steps, "steps"))

    @property
    def depth(self) -> int:
        """How many nodes hold the leaf that is in most: the binary digits of `steps`."""
        return self.steps.bit_length()


MAX_ROUNDS = 10**5
"""Rows of a matrix; and numbers of its columns that are added up take too long beyond MAX_TERMS."""
MAX_TERMS = 2 * 10**6


@dataclass(frozen=True)
class MatrixGaussian(Release):
    """C x + Z released row by row, C lower triangular Toeplitz with the first column c_0 >= c_1 >= .. >= 0.

    rounds: the number of rows. separation: any two rounds of a record are at least so many apart (1).
    participations: how many rounds a record has at most; as many as fit where it is left out.
    """

    kind = "matrix-gaussian"
    not_sampled = "no theorem covers a matrix on samples, but cyclic-poisson where its bands are few"
    convention = ("matrix-gaussian: noise_multiplier = sigma of Z / largest L2 norm of one record's contribution to "
                  "one round; C x + Z is released, the first column of C is stated")
    assumption = ("matrix-gaussian: C is lower triangular Toeplitz; Z is fresh Gaussian noise of exactly the stated "
                  "standard deviation, independent in all coordinates and rounds; contributions have L2 norm at most "
                  "the bound; a record's rounds are as far apart and as few as stated, and those of the others do not "
                  "depend on it")
    noise_multiplier: Fraction
    column: tuple[Fraction, ...]
    rounds: int
    separation: int | None = None
    participations: int | None = None

    def __init__(self, noise_multiplier: Number, column: Sequence[Number], rounds: Number,
                 separation: Number | None = None, participations: Number | None = None) -> None:
        apart = 1 if separation is None else exact.count(separation, "separation")
        times = None if participations is None else exact.count(participations, "participations")
        self._set(noise_multiplier=exact.positive(noise_multiplier, "noise_multiplier"), column=read_column(column),
                  rounds=read_rounds(rounds), separation=apart if apart > 1 else None, participations=times)
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


def read_rounds(value: object, key: str = "rounds") -> int:
    """The value as an integer from 1 to MAX_ROUNDS."""
    number = exact.count(value, key)
    if number > MAX_ROUNDS:
        raise InvalidInput(key, value, f"an integer from 1 to {MAX_ROUNDS}")
    return number


def read_column(column: object) -> tuple[Fraction, ...]:
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


ALL_RELEASES: dict[str, type[Release]] = {
    **RELEASES, **{release.kind: release for release in (
        LaplaceVector, DiscreteLaplaceVector, DiscreteGaussianVector, TreeAggregation, MatrixGaussian,
        ShuffledLocal)}}
"""kind -> class."""
