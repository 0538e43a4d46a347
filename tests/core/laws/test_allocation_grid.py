"""One epoch of random allocation on a grid of noise, rounds, orders and delta, against oracles without any contour.

t = 2, 3: Gauss-Legendre quadrature of sums of positive terms, relatively accurate at any delta; t = 2 to 20: Monte
Carlo within its error; t to 10^6: the second checker's vertical lines.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb
from scipy.special import log_ndtr

from verified_dp import Gaussian, RandomAllocation, privacy_profile
from verified_dp.verifiers.independent import balls
from verified_dp.verifiers.independent.laws import RandomAllocationLoss

allocation = pytest.mark.theorem("T133-random-allocation")
ORDERS = ("remove", "add")
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(10)


def line(strike: float, s: float, order: str, panel: float) -> tuple[np.ndarray, np.ndarray]:
    """x = e^{su - s^2/2} and log(weight times normal density) on panels, ever smaller towards x = K."""
    top = (math.log(strike) + s * s / 2) / s
    near = 2.0 ** -np.arange(0, 46)
    left = top - np.concatenate([np.arange(max(top + 14, 30), 1, -panel), near, [0]])
    far = np.arange(1 + panel, max(14, 14 + s - top), panel)
    right = top + np.concatenate([near[::-1], far]) if order == "remove" else []
    edges = np.concatenate([left, right])
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    u = (middle[:, None] + half[:, None] * POINTS).ravel()
    logs = np.log((half[:, None] * WEIGHTS).ravel()) - u * u / 2 - math.log(2 * math.pi) / 2
    return np.exp(s * u - s * s / 2), logs


def log_single(k: np.ndarray, s: float, order: str) -> np.ndarray:
    """log E (X - k)_+ (remove; for k <= 0 it is 1 - k) or log E (k - X)_+ (add; 0 for k <= 0)."""
    with np.errstate(all="ignore"):
        a = np.log(k) / s
        if order == "remove":
            bulk, rest = log_ndtr(s / 2 - a), np.log(k) + log_ndtr(-s / 2 - a)
        else:
            bulk, rest = np.log(k) + log_ndtr(a + s / 2), log_ndtr(a - s / 2)
        found = np.asarray(bulk + np.log(-np.expm1(rest - bulk)))
        outside = np.log1p(-np.minimum(k, 0.0)) if order == "remove" else np.full_like(k, -np.inf)
    return np.where(k > 0, np.where(np.isnan(found), -np.inf, found), outside)


def log_many(t: int, k: float, s: float, order: str) -> float:
    """log E (X_1 + .. + X_t - k)_+ or of (k - ..)_+, by the law of X_1."""
    if k <= 0:
        return math.log(t - k) if order == "remove" else -math.inf
    x, logs = line(k, s, order, 0.25)
    rest = (log_single(k - x, s, order) if t == 2
            else np.array([log_many(t - 1, strike, s, order) for strike in k - x]))
    terms = logs + rest
    shift = float(terms.max())
    return shift + math.log(np.exp(terms - shift).sum()) if shift > -math.inf else -math.inf


def log_delta(t: int, s: float, order: str, epsilon: float) -> float:
    """log delta(eps) for t = 2 or 3."""
    strike = t * math.exp(epsilon if order == "remove" else -epsilon)
    return log_many(t, strike, s, order) - math.log(t) + (epsilon if order == "add" else 0.0)


def compare(t: int, sigma: str, order: str, target: str, accuracy: float) -> None:
    """delta at the epsilon of a target (where delta(0) is above it) against the quadrature."""
    profile = privacy_profile(RandomAllocation(Gaussian(sigma), t), relation=order)
    near = profile.epsilon(target, digits=3).upper
    epsilon = Fraction(math.ceil(near * 2**20), 2**20)
    found = profile.delta(epsilon, digits=12)
    assert found.upper - found.lower <= found.lower / 10**11 and found.tight
    truth = log_delta(t, 1 / float(Fraction(sigma)), order, float(epsilon))
    logs = [float(arb(end.numerator).log() - arb(end.denominator).log())
            for end in (Fraction(str(found.lower_decimal)), Fraction(str(found.upper_decimal)))]
    assert logs[0] - accuracy < truth < logs[1] + accuracy


@allocation
@pytest.mark.parametrize(("sigma", "order", "target"), [
    ("0.3", "remove", "1e-6"), ("0.3", "add", "1e-20"), ("1", "remove", "1e-20"), ("1", "add", "1e-100"),
    ("10", "remove", "1e-6"), ("10", "add", "1e-6"), ("1/20", "remove", "0.5"), ("1/20", "remove", "1e-20")])
def test_two_rounds_against_quadrature(sigma: str, order: str, target: str) -> None:
    compare(2, sigma, order, target, 1e-8)


@pytest.mark.long
@allocation
@pytest.mark.parametrize("sigma", ["0.3", "0.5", "1", "2", "5", "10"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", ["0.5", "0.01", "1e-6", "1e-20", "1e-100"])
@pytest.mark.parametrize("t", [2, 3])
def test_two_and_three_rounds_on_the_grid(t: int, sigma: str, order: str, target: str) -> None:
    compare(t, sigma, order, target, 1e-8)


@pytest.mark.long
@allocation
@pytest.mark.parametrize("t", [2, 3, 5, 10, 20])
@pytest.mark.parametrize("sigma", ["0.3", "1", "3", "10"])
def test_against_monte_carlo(t: int, sigma: str) -> None:
    rng, s = np.random.default_rng(t), 1 / float(sigma)
    samples = np.concatenate([np.exp(s * rng.standard_normal((100_000, t)) - s * s / 2).mean(axis=1)
                              for _ in range(10)])
    for order, epsilon in product(ORDERS, ("0", "0.1", "1")):
        alpha = math.exp(float(epsilon))
        value = np.maximum(samples - alpha, 0) if order == "remove" else np.maximum(1 - alpha * samples, 0)
        found = privacy_profile(RandomAllocation(Gaussian(sigma), t), relation=order).delta(epsilon)
        if np.count_nonzero(value) < 20:  # too few to say more
            assert float(found.lower) < 1e-4
            continue
        error = 5 * value.std() / math.sqrt(len(value))
        assert float(found.lower) - error < value.mean() < float(found.upper) + error or value.max() > 1e3 * value.std()


def compare_checkers(t: int, sigma: str, order: str, target: str) -> None:
    """delta at the epsilon of a target by both; the remove order's delta is what cancels from e^epsilon."""
    profile = privacy_profile(RandomAllocation(Gaussian(sigma), t), relation=order)
    near = profile.epsilon(target, digits=3).upper
    epsilon = Fraction(math.ceil(near * 2**40), 2**40)
    found = profile.delta(epsilon, digits=10)
    assert found.upper <= Fraction(target) and (epsilon == 0 or found.lower > Fraction(target) / 100)
    assert found.upper - found.lower <= found.lower / 10**9
    cancelled = float(epsilon) / math.log(2) if order == "remove" else 0.0
    with balls.precision(128 + 2 * round(cancelled - math.log2(float(found.lower)))):
        mine = RandomAllocationLoss(t, Fraction(sigma), order).stick(balls.ball(epsilon))
        low, high = (Fraction(end) * Fraction(2) ** mine.e for end in (mine.m - mine.r, mine.m + mine.r))
    assert low <= found.upper and found.lower <= high and high - low <= found.lower / 10**6


@pytest.mark.long
@allocation
@pytest.mark.parametrize("t", [10, 100, 10**4, 10**6])
@pytest.mark.parametrize("sigma", ["0.3", "1", "10"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", ["0.01", "1e-6", "1e-20"])
def test_many_rounds_against_the_second_checker(t: int, sigma: str, order: str, target: str) -> None:
    compare_checkers(t, sigma, order, target)


@pytest.mark.long
@allocation
@pytest.mark.parametrize(("t", "sigma", "order"), [(10, "1", "remove"), (10, "1", "add"), (100, "1", "add")])
def test_tiny_deltas_against_the_second_checker(t: int, sigma: str, order: str) -> None:
    compare_checkers(t, sigma, order, "1e-100")
