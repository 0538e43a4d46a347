"""Correlated noise C x + Z on samples: cyclic Poisson samples, bins, separated samples; see also `MatrixGaussian`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, expm1, isqrt, lcm

from verified_dp.core.families.allocation.mechanism import RandomAllocation
from verified_dp.core.families.gaussian.mechanism import read_rounds
from verified_dp.core.families.sampling.mechanism import CyclicPoisson, PoissonSampled
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.theorems import proved_by

_ROOT_BITS = 128


@proved_by("T130-participation-patterns")
def banded_cyclic(noise_multiplier: Number, matrix: Sequence[Sequence[Number]], groups: Number,
                  probability: Number) -> CyclicPoisson:
    """Cyclic Poisson sampling under C x + Z, the matrix checked exactly: triangular, few bands, columns of norm <= 1.

    matrix: the rows of C, one for each round. Divide C, and multiply the noise, by what its longest column needs.
    Raises: InvalidInput where C_ij is not 0 for i < j or for i - j >= groups, or a column's norm is above 1.

    >>> banded_cyclic("1.1", [["3/5"], ["4/5", "3/5"]], groups=2, probability="1/50").turns
    1
    """
    bands = exact.count(groups, "groups")
    rows = [[exact.exact(number, "matrix") for number in row] for row in matrix]
    if any(number for i, row in enumerate(rows) for j, number in enumerate(row) if not 0 <= i - j < bands):
        raise InvalidInput("matrix", f"{len(rows)} rows", f"lower triangular with at most groups = {bands} bands")
    norms = [sum((row[j] ** 2 for row in rows[j:j + bands] if j < len(row)), Fraction(0)) for j in range(len(rows))]
    if any(norm > 1 for norm in norms):
        column = next(j for j, norm in enumerate(norms) if norm > 1)
        raise InvalidInput("matrix", f"column {column + 1} of squared norm {norms[column]}", "at most 1")
    return CyclicPoisson(Gaussian(noise_multiplier), bands, probability, len(rows))


@proved_by("T226-allocation-under-a-matrix", "T228-common-part")
def balls_in_bins(sigma: Number, column: Sequence[Number], rounds: Number, bins: Number,
                  common: Number | None = None) -> Composition:
    """C x + sigma Z, where every record draws one of the bins once and is in every bins-th round from there on.

    At most a Gaussian of squared sensitivity `common`, which is not amplified, and one random allocation of the rest.
    For records that are added, removed or zeroed out, and one record; a bound, so that it never refutes.

    Args:
        column: the first column of C, lower triangular and Toeplitz (banded, or that of a BLT), zeros after its end.
        common: any number >= 0 and below the largest squared norm of a bin; one that suits sigma where it is left out.

    >>> balls_in_bins(2, [1, "1/2"], 100, 100, common=0).parts
    ((RandomAllocation(Gaussian('1.3333333333330301684327423572540283203125'), rounds=100, picks=1, fixed=False), 1),)
    """
    noise, number = exact.positive(sigma, "sigma"), exact.count(bins, "bins")
    products, unit = _bin_products(column, read_rounds(rounds, "rounds"), number)
    largest = max(products[i][i] for i in range(number))  # exact: integers
    if common is None:
        apart = sorted({value for row in products for value in row if value < largest})  # exact: integers
        tried = {0, *apart[:: len(apart) // _TRIED + 1]}
        shared = Fraction(min(  # exact: any one is right
            tried, key=lambda c: _growth(c, _rest(products, c), unit * noise**2, number)))
    else:
        shared = exact.non_negative(common, "common") * unit
    if shared >= largest:
        raise InvalidInput("common", common, f"below the largest squared norm of a bin, {Fraction(largest, unit)}")
    square = noise**2 * unit / _rest(products, shared)
    rest = compose(RandomAllocation(Gaussian(Fraction(isqrt(int(square * 4**_NOISE_BITS)), 2**_NOISE_BITS)), number))
    return compose(rest, Gaussian(sigma=noise, sensitivity=root_above(shared / unit))) if shared else rest


_TRIED, _NOISE_BITS = 32, 40


@proved_by("T228-common-part")
def _rest(products: Sequence[Sequence[int]], common: Fraction | int) -> Fraction | int:
    """The largest sum over a row of what exceeds the common part."""
    return max(sum(value - common for value in row if value > common) for row in products)  # exact: rational numbers


def _growth(common: int, rest: Fraction | int, square: Fraction, bins: int) -> float:
    """The chi-squared divergence of both together."""
    shared, own = (min(float(part / square), 300.0) for part in (common, rest))
    return exp(shared) * (1 + expm1(own) / bins)


@proved_by("T226-allocation-under-a-matrix")
def _bin_products(column: Sequence[Number], rounds: int, bins: int) -> tuple[list[list[int]], int]:
    """Scalar products of the bins' sums of |columns|, as integers over a common denominator."""
    numbers = [abs(exact.exact(number, "column")) for number in column][:rounds]
    if not any(numbers):
        raise InvalidInput("column", column, "numbers that are not all 0")
    unit = lcm(*(number.denominator for number in numbers))
    entries, sums = [int(number * unit) for number in numbers], []
    for first in range(bins):
        rows = [0] * rounds
        for start in range(first, rounds, bins):
            for row, entry in zip(range(start, rounds), entries, strict=False):
                rows[row] += entry
        sums.append(rows)
    products = [[0] * bins for _ in sums]
    for i, one in enumerate(sums):
        for j in range(i + 1):
            products[i][j] = products[j][i] = sum(map(int.__mul__, one, sums[j]))
    return products, unit**2


@proved_by("T235-separated-samples")
def separated_samples(noise_multiplier: Number, probability: Number, rounds: Number) -> Composition:
    """b-min-sep sampling with noise that is independent in every round: at most so many Poisson samples.

    probability: that a record joins a batch, given that it was in none of the last b - 1, whatever b is and however the
    first rounds are begun (jax_privacy `BMinSepSampling.sampling_prob`). Upper bounds alone hold for such sampling, no
    refutation, and only under add, remove, add-or-remove and zero-out, for one record: the composition that is
    returned does not say so.

    >>> separated_samples("2", "1/50", 100).parts
    ((PoissonSampled(Gaussian(2), probability='0.02'), 100),)
    """
    return compose((PoissonSampled(Gaussian(noise_multiplier), probability), exact.count(rounds, "rounds")))


@proved_by("T134-toeplitz-columns")
def root_above(square: Fraction) -> Fraction:
    """A rational number at least the root of one >= 0, exact where that is rational, else within 2^-127 of it."""
    bottom = isqrt(square.denominator)
    if bottom * bottom == square.denominator and isqrt(square.numerator) ** 2 == square.numerator:
        return Fraction(isqrt(square.numerator), bottom)
    scaled = -(-(square.numerator << 2 * _ROOT_BITS) // square.denominator)
    return Fraction(isqrt(scaled) + 1, 1 << _ROOT_BITS)
