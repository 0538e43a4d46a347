"""delta of small random allocations by quadrature, in scipy: none of the package's own numerics.

A record is in one of t rounds: P = mean over j of N(e_j, sigma^2 I_t), Q = N(0, sigma^2 I_t), and dP/dQ = S/t with
S = X_1 + ... + X_t, X = e^{su - s^2/2}, u standard normal under Q, s = 1/sigma. So

    remove: E_Q (S/t - e^eps)_+,        add: E_Q (1 - e^eps S/t)_+.

Sums are split in two, and the law of each half is known by the same rule, down to one round, which has closed forms.
Every integrand is positive, so that small deltas keep their digits, and is summed by the trapezoidal rule in
v = log(w / (k - w)), in which it is analytic. That these numbers can be trusted is tested beside what they are for
(tests/core/laws/test_allocation_oracle.py): other steps, parity, a closed form, and samples of the densities in R^t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb, exp, log, sqrt

import numpy as np
from scipy.special import expit, ndtr

ERROR = 1e-11
"""Relative, of `delta` and `two_epochs`, with much room: their steps halved change about 1e-14."""
COARSE_ERROR = 1e-3
"""Relative, of `several_picks` for s <= 1 and eps <= 2."""

Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Sum:
    """The law of a sum of `terms` lognormal ratios of mean 1: density, P(S > k), E (k - S)_+ and E (S - k)_+."""

    terms: int
    density: Values
    tail: Values
    put: Values
    call: Values


def one_round(s: float) -> Sum:
    """A single ratio."""
    def place(k: np.ndarray) -> np.ndarray:
        return np.log(k) / s + s / 2

    return Sum(1, lambda k: np.exp(-place(k) ** 2 / 2) / (s * k * sqrt(2 * np.pi)), lambda k: ndtr(-place(k)),
               lambda k: np.maximum(k * ndtr(place(k)) - ndtr(place(k) - s), 0),
               lambda k: np.maximum(ndtr(s - place(k)) - k * ndtr(-place(k)), 0))


def below(first: Values, second: Values, s: float, steps: float) -> Values:
    """k -> int_0^k first(w) second(k - w) dw, w = k / (1 + e^-v), v = y + e^y/4: both ends fall fast in y."""
    def integral(k: np.ndarray) -> np.ndarray:
        low = -np.maximum(2 + 6 * s, s * s / 2 + 10 * s + np.log(k))[..., None]
        count = int(steps * (5.1 - low.min()) / min(s, 1.0)) + 2
        y = low + (5.1 - low) * np.linspace(0, 1, count)
        v = y + np.exp(y) / 4
        left, right = k[..., None] * expit(v), k[..., None] * expit(-v)
        values = first(left) * second(right) * left * expit(-v) * (1 + np.exp(y) / 4)
        return values.sum(axis=-1) * (5.1 - low[..., 0]) / (count - 1)

    return integral


def joined(one: Sum, other: Sum, s: float, steps: float) -> Sum:
    """The sum of two that are independent: where the first exceeds k, so does the whole."""
    density, tail, put, call = (below(one.density, part, s, steps)
                                for part in (other.density, other.tail, other.put, other.call))
    return Sum(one.terms + other.terms, density, lambda k: one.tail(k) + tail(k), put,
               lambda k: one.call(k) + other.terms * one.tail(k) + call(k))


@cache
def sum_of(rounds: int, s: float, steps: float = 8.0) -> Sum:
    """Of so many rounds, by halves."""
    if rounds == 1:
        return one_round(s)
    return joined(sum_of(rounds // 2, s, steps), sum_of(rounds - rounds // 2, s, steps), s, steps)


def delta(rounds: int, s: float, order: str, epsilon: np.ndarray | float, steps: float = 8.0) -> np.ndarray:
    """One epoch at every epsilon, of any sign."""
    law, epsilon = sum_of(rounds, s, steps), np.asarray(epsilon, dtype=float)
    if order == "remove":
        return law.call(rounds * np.exp(epsilon)) / rounds
    return np.exp(epsilon) * law.put(rounds * np.exp(-epsilon)) / rounds


def two_epochs(first: tuple[int, float], second: tuple[int, float], order: str, epsilon: float,
               steps: float = 8.0) -> float:
    """Fresh epochs of (rounds, s) each: the mean of the second one's delta at eps less the first one's loss, under P."""
    rounds, s = first
    low, high = -s * s / 2 - 10 * s, 3 * s * s / 2 + 10 * s
    losses = np.linspace(low, high, int(steps * (high - low) / min(s, 1.0)) + 2)
    ratio = np.exp(losses)
    weights = rounds * ratio * sum_of(rounds, s, steps).density(rounds * ratio) * (losses[1] - losses[0])
    if order == "remove":
        return float((weights * ratio) @ delta(*second, order, epsilon - losses, steps))
    return float(weights @ delta(*second, order, epsilon + losses, steps))


def several_picks(rounds: int, picks: int, s: float, order: str, epsilon: float, nodes: int = 80) -> float:
    """picks of rounds: dP/dQ is the mean over all subsets of the products of their ratios, a line a + b X_t in X_t.

    Trapezoidal rule over the other rounds, the last one by closed forms.
    """
    u = np.linspace(-8.5 + s / 2, 8.5 + s / 2, nodes)  # a round's mean is 0 or s
    weight = np.exp(-u * u / 2) / sqrt(2 * np.pi) * (u[1] - u[0])
    grids = np.meshgrid(*[u] * (rounds - 1), indexing="ij", sparse=True)
    total = np.ones([nodes] * (rounds - 1))
    x = []
    for axis, grid in enumerate(grids):
        x.append(np.exp(s * grid - s * s / 2))
        total = total * weight.reshape([-1 if i == axis else 1 for i in range(rounds - 1)])

    def symmetric(size: int) -> np.ndarray:
        parts = (np.prod(np.broadcast_arrays(*[x[j] for j in chosen]), axis=0) if chosen else np.ones_like(total)
                 for chosen in combinations(range(rounds - 1), size))
        return sum((part * np.ones_like(total) for part in parts), np.zeros_like(total))

    a, b = symmetric(picks), symmetric(picks - 1)
    strike = comb(rounds, picks) * exp(epsilon if order == "remove" else -epsilon)
    k, one = (strike - a) / b, one_round(s)
    inside = np.where(k > 0, k, 1.0)
    if order == "remove":
        value = b * np.where(k > 0, one.call(inside), 1 - k)
    else:
        value = b * np.where(k > 0, one.put(inside), 0) * exp(epsilon)
    return float((total * value).sum()) / comb(rounds, picks)


def log_ratio_samples(rounds: int, sigma: float, order: str, count: int, seed: int, epochs: int = 1,
                      picks: int = 1) -> np.ndarray:
    """Losses of outputs in R^(epochs t) drawn from the order's first law, the batches kept in all epochs.

    From the densities of P, a mixture of Gaussians, and of Q.
    """
    rng, subsets = np.random.default_rng(seed), list(combinations(range(rounds), picks))
    means = np.zeros((len(subsets), rounds))
    for row, chosen in zip(means, subsets, strict=True):
        row[list(chosen)] = 1
    y = sigma * rng.standard_normal((count, epochs, rounds))
    if order == "remove":
        y += means[rng.integers(len(subsets), size=count)][:, None, :]

    def log_density(mean: np.ndarray) -> np.ndarray:
        return -((y - mean) ** 2).sum(axis=(1, 2)) / (2 * sigma**2)

    placed = np.logaddexp.reduce([log_density(mean) for mean in means], axis=0) - log(len(subsets))
    return (placed - log_density(np.zeros(rounds))) * (1 if order == "remove" else -1)


def sampled_delta(losses: np.ndarray, epsilon: float) -> tuple[float, float]:
    """The mean of (1 - e^(eps - L))_+ and five of its standard errors."""
    values = np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0)
    return float(values.mean()), 5 * float(values.std()) / sqrt(len(values))
