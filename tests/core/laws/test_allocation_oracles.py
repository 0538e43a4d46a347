"""Random allocation of 3 to 6 rounds, two epochs, several picks and kept batches, by quadrature of the ratio's density.

With X_j = e^{s u_j - s^2/2}, u_j normal under Q and s = 1/noise, the ratio of the densities of P and Q is S/t, S the
sum of the X_j: a mean over the rounds that a record may be in. Here S has its density by convolutions, each an integral
over x = K / (1 + e^-v) by the trapezoidal rule in v, which converges exponentially: all terms are positive, and both
ends of 0 < x < K are far away in v. The last round enters by the closed form of E (K - X)_+. Nothing is the package's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from verified_dp import Gaussian, RandomAllocation, compose, privacy_profile
from verified_dp.core.composition import Mechanism
from verified_dp.enclosure import Enclosure

F = Fraction
pytestmark = pytest.mark.theorem("T133-random-allocation", "T130-participation-patterns")
Array = np.ndarray
ACCURACY = 1e-9
"""Relative: two steps of the quadrature agree to it."""


class Rounds:
    """Sums of lognormal rounds of one spread s: their densities, and E (K - S)_+ and E (S - K)_+, for arrays > 0.

    scale: of the quadrature's steps, for comparison.
    """

    def __init__(self, s: float, scale: float = 1.0) -> None:
        self.s, self.step = s, scale * min(s / 4, 0.3)

    def _below(self, strike: Array, reach: float = 3.0) -> tuple[Array, Array, Array]:
        """x, K - x and the weights of an integral over 0 < x < K, along a new last axis."""
        v = np.arange(-10 * self.s - reach, 10 * self.s + reach, self.step)
        share, rest = 1 / (1 + np.exp(-v)), 1 / (1 + np.exp(v))
        strike = np.asarray(strike, dtype=float)[..., None]
        return strike * share, strike * rest, strike * share * rest * self.step

    def density(self, n: int, x: Array) -> Array:
        """Of the sum of n rounds."""
        if n == 1:
            u = np.log(x) / self.s + self.s / 2
            return np.exp(-u * u / 2) / (x * self.s * math.sqrt(2 * math.pi))
        first, rest, weights = self._below(x)
        return (self.density(n // 2, first) * self.density(n - n // 2, rest) * weights).sum(-1)

    def put(self, n: int, strike: Array) -> Array:
        """E (K - S)_+ of n rounds."""
        if n == 1:
            d = self.s / 2 - np.log(strike) / self.s
            return strike * ndtr(self.s - d) - ndtr(-d)
        first, rest, weights = self._below(strike)
        return (self.density(n // 2, first) * self.put(n - n // 2, rest) * weights).sum(-1)

    def call(self, n: int, strike: Array) -> Array:
        """E (S - K)_+ of n rounds: the first is at most K, or it alone exceeds it."""
        d = self.s / 2 - np.log(strike) / self.s
        if n == 1:
            return ndtr(d) - strike * ndtr(d - self.s)
        first, rest, weights = self._below(strike, 24.0)  # what it is of does not vanish as x comes near K
        alone = ndtr(d) + (n - 1 - strike) * ndtr(d - self.s)
        return (self.density(1, first) * self.call(n - 1, rest) * weights).sum(-1) + alone

    def over_sums(self, n: int, value: Callable[[Array], Array]) -> float:
        """E of a function of the sum of n rounds."""
        w = np.arange(-12 * self.s - 2, 12 * self.s + 3 + math.log(n), self.step)
        return float((np.exp(w) * self.density(n, np.exp(w)) * value(np.exp(w))).sum() * self.step)


def agreed(number: Callable[[Rounds], Array | float], noise: str) -> float:
    """The number by the finer of two quadratures, which agree."""
    s = 1 / float(F(noise))
    coarse, fine = float(number(Rounds(s))), float(number(Rounds(s, 0.7)))
    assert abs(coarse - fine) <= ACCURACY * abs(fine), (coarse, fine)
    return fine


def epoch(rounds: int, order: str, alpha: float, direct: bool = False) -> Callable[[Rounds], Array | float]:
    """E (S/t - a)_+ under remove, E (1 - a S/t)_+ under add. direct: not by a difference that small deltas lose in."""
    if order == "add":
        return lambda sums: alpha / rounds * sums.put(rounds, np.array(rounds / alpha))
    if rounds < 4 or direct:
        return lambda sums: sums.call(rounds, np.array(rounds * alpha)) / rounds
    return lambda sums: (sums.put(rounds, np.array(rounds * alpha)) + rounds - rounds * alpha) / rounds


def check(found: Enclosure, exact: float, digits: int = 9) -> None:
    """The enclosure holds the number, and is narrow."""
    room = 10 * ACCURACY * exact
    assert found.lower_float <= exact + room and exact - room <= found.upper_float, (found, exact)
    assert found.upper_float - found.lower_float <= 10.0 ** (1 - digits) * exact


def answered(mechanism: Mechanism, order: str, epsilon: str, count: int = 1, digits: int = 9) -> Enclosure:
    return privacy_profile(compose((mechanism, count)), order).delta(epsilon, digits=digits)


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("rounds", "noise", "epsilon"), [
    (3, "1", "0"), (3, "1/2", "2"), (3, "3", "1/2"), (4, "1", "1"), (4, "3/2", "1/10"), (5, "1", "1/2"),
    (5, "3/2", "1/3"), (6, "1", "1"), (6, "3/2", "1/20")])
def test_one_epoch_of_three_to_six_rounds(rounds: int, noise: str, epsilon: str, order: str) -> None:
    exact = agreed(epoch(rounds, order, math.exp(float(F(epsilon)))), noise)
    check(answered(RandomAllocation(Gaussian(noise), rounds), order, epsilon), exact)


@pytest.mark.parametrize(("rounds", "noise", "epsilon", "order", "below"), [
    (3, "1", "4", "remove", 1e-5), (3, "2", "2", "remove", 1e-4),
    pytest.param(4, "1", "5", "remove", 1e-7, marks=pytest.mark.long),
    pytest.param(4, "1/2", "9", "remove", 1e-2, marks=pytest.mark.long),
    (3, "2", "3/2", "add", 1e-3), (5, "2", "1", "add", 1e-4),
    (6, "2", "1", "add", 1e-6), (6, "1", "3", "add", 1e-9), (4, "1/2", "8", "add", 1e-5)])
def test_small_deltas_of_few_rounds(rounds: int, noise: str, epsilon: str, order: str, below: float) -> None:
    exact = agreed(epoch(rounds, order, math.exp(float(F(epsilon))), direct=True), noise)
    assert exact < below
    check(answered(RandomAllocation(Gaussian(noise), rounds), order, epsilon), exact)


def test_the_quadrature_knows_masses_means_parity_and_samples() -> None:
    sums, strikes = Rounds(0.8), np.array([0.3, 2.0, 9.0])
    for n in (1, 2, 3):
        assert abs(sums.over_sums(n, lambda x: np.ones_like(x)) - 1) < 1e-10
        assert abs(sums.over_sums(n, lambda x: x) - n) < 1e-9
        assert np.allclose(sums.call(n, strikes) - sums.put(n, strikes), n - strikes, rtol=0, atol=1e-11)
    drawn = np.exp(np.random.default_rng(7).standard_normal((2_000_000, 5)) - 0.5).mean(axis=1)
    for order, terms in (("remove", np.maximum(drawn - math.exp(0.5), 0)),
                         ("add", np.maximum(1 - math.exp(0.5) * drawn, 0))):
        assert abs(terms.mean() - agreed(epoch(5, order, math.exp(0.5)), "1")) < 5 * terms.std() / 1414


@pytest.mark.parametrize(("rounds", "noise", "epsilon"), [(2, "1", "1/2"), (2, "2", "1"), (3, "1", "1"),
                                                             pytest.param(3, "2", "1/4", marks=pytest.mark.long)])
@pytest.mark.parametrize("order", ["remove", "add"])
def test_two_epochs(rounds: int, noise: str, epsilon: str, order: str) -> None:
    """delta of R_1 R_2, R = S/t, is the mean over R_1 of one epoch's curve at what is left of e^eps."""
    alpha = math.exp(float(F(epsilon)))

    def delta(sums: Rounds) -> float:
        if order == "remove":
            return sums.over_sums(rounds, lambda y: y * sums.call(rounds, alpha * rounds * rounds / y)) / rounds**2
        return alpha * sums.over_sums(rounds, lambda y: y * sums.put(rounds, rounds * rounds / (alpha * y))) / rounds**2

    found = answered(RandomAllocation(Gaussian(noise), rounds), order, epsilon, count=2, digits=4)
    check(found, agreed(delta, noise), digits=4)


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("noise", "epsilon"), [("1", "1"), ("2", "1/3")])
def test_batches_that_are_kept(noise: str, epsilon: str, order: str) -> None:
    """Two rounds, two epochs, the same batch in both: the ratio is (X_11 X_21 + X_12 X_22) / 2, by a grid of all."""
    s, alpha, u = 1 / float(F(noise)), math.exp(float(F(epsilon))), np.linspace(-8.0, 8.0, 641)
    weight = np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    one = np.exp(s * u - s * s / 2)
    product, mass = np.outer(one, one).ravel(), np.outer(weight, weight).ravel()
    cells = np.floor(np.log(product) / s / 0.005).astype(int)  # both epochs of one round, in classes of equal mean
    cells -= cells.min()
    masses = np.bincount(cells, mass)
    values = np.bincount(cells, mass * product)[masses > 0] / masses[masses > 0]
    masses = masses[masses > 0]
    ratio = (values[:, None] + values) / 2
    terms = ratio - alpha if order == "remove" else 1 - alpha * ratio
    exact = float(masses @ np.maximum(terms, 0) @ masses)
    found = answered(RandomAllocation(Gaussian(noise), 2, fixed=True), order, epsilon, count=2)
    assert abs(found.lower_float - exact) < 2e-4 * exact, (found, exact)
    fresh = answered(RandomAllocation(Gaussian(noise), 2), order, epsilon, count=2, digits=4)
    assert abs(fresh.upper_float - exact) > 0.02 * exact, "what is drawn afresh is told apart"


@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("noise", "epsilon"), [("3/2", "1"), ("2", "1/2"), ("1", "2")])
def test_two_picks_of_four_are_bounded_by_two_blocks(noise: str, epsilon: str, order: str) -> None:
    """The truth is the mean over all pairs of rounds, against samples; what is enclosed is (S/2) (S'/2), above it."""
    s, alpha = 1 / float(F(noise)), math.exp(float(F(epsilon)))

    def blocks(sums: Rounds) -> float:
        if order == "remove":
            return sums.over_sums(2, lambda y: y * sums.call(2, 4 * alpha / y)) / 4
        return alpha * sums.over_sums(2, lambda y: y * sums.put(2, 4 / (alpha * y))) / 4

    found = answered(RandomAllocation(Gaussian(noise), 4, 2), order, epsilon, digits=4)
    check(found, agreed(blocks, noise), digits=4)
    x = np.exp(s * np.random.default_rng(3).standard_normal((1_000_000, 4)) - s * s / 2)
    ratio = (x.sum(axis=1) ** 2 - (x * x).sum(axis=1)) / 12
    terms = np.maximum(ratio - alpha if order == "remove" else 1 - alpha * ratio, 0)
    assert terms.mean() - 5 * terms.std() / 1000 < found.upper_float and not found.tight
