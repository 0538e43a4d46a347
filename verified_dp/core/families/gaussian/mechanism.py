"""What comes down to Gaussian noise: mixtures, mu-GDP, trees of partial sums, correlated sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm  # exact: integers

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import MAX_OUTCOMES, Release, read_distribution, read_numbers
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class GaussianDP(Release):
    """Anything known to be mu-GDP between neighbours: no easier to tell apart than N(0, 1) and N(mu, 1)."""

    kind = "gaussian-dp"
    adds_up = "mu"
    not_sampled = ""
    convention = "gaussian-dp: the guarantee holds between neighbours of this relation in both directions"
    assumption = "gaussian-dp: the stated guarantee holds whatever was released before"
    mu: Fraction

    def __init__(self, mu: Number) -> None:
        self._set(mu=exact.positive(mu, "mu"))


@dataclass(frozen=True)
class MixtureOfGaussians(Release):
    """Noise N(0, sigma^2 I) on a sum; the record adds a norm of at most sensitivities[i] with probabilities[i]."""

    kind = "mixture-of-gaussians"
    not_sampled = ""
    convention = (
        "mixture-of-gaussians: which sensitivity applies is drawn independently of the data and not revealed")
    not_grouped = (
        "whether the draws of several records are independent is not stated; state the mixture of the group's"
        " norms as sensitivities and probabilities")
    assumption = "mixture-of-gaussians: exact noise; what other records add is independent of the draw"
    sigma: Fraction
    sensitivities: tuple[Fraction, ...]
    probabilities: tuple[Fraction, ...]

    def __init__(self, sigma: Number, sensitivities: Sequence[Number], probabilities: Sequence[Number]) -> None:
        norms, weights = read_numbers(sensitivities, "sensitivities"), read_distribution(probabilities, "probabilities")
        if len(norms) != len(weights):
            raise InvalidInput("probabilities", len(weights), f"a list of {len(norms)} numbers, as sensitivities is")
        merged: dict[Fraction, Fraction] = {}
        for norm, weight in zip(norms, weights, strict=True):
            merged[norm] = merged.get(norm, Fraction(0)) + weight
        kept = sorted((norm, weight) for norm, weight in merged.items() if weight)  # exact: fractions
        self._set(sigma=exact.positive(sigma, "sigma"), sensitivities=tuple(norm for norm, _ in kept),
                  probabilities=tuple(weight for _, weight in kept))


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
