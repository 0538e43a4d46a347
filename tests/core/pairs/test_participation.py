"""Participation patterns (T130): the simulation in an exact analogue, adaptive rounds on a grid, allocations."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

F = Fraction
patterns = pytest.mark.theorem("T130-participation-patterns")
BIAS = F(3, 5)
"""Noise of the analogue: y is 1 or -1, of mean BIAS b g; a contribution g in [-1, 1] is a coin kept or thrown again."""

Contributions = Callable[[tuple[int, ...]], Fraction]


def coin(mean: Fraction, y: int) -> Fraction:
    return (1 + y * mean) / 2


def adaptive(seed: int) -> Contributions:
    """A contribution in [-1, 1] for every history."""
    kept: dict[tuple[int, ...], Fraction] = {}
    rng = random.Random(seed)
    return lambda history: kept.setdefault(history, F(rng.randrange(-8, 9), 8))


def histories(t: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((-1, 1), repeat=t)


def real(pattern: dict[tuple[int, ...], Fraction], g: Contributions, y: tuple[int, ...]) -> Fraction:
    """The law of the transcript: round j has mean BIAS b_j g(y_<j)."""
    total = F(0)
    for b, weight in pattern.items():
        for j, outcome in enumerate(y):
            weight *= coin(BIAS * b[j] * g(y[:j]), outcome)
        total += weight
    return total


def simulated(law: dict[tuple[int, ...], Fraction], g: Contributions, y: tuple[int, ...]) -> Fraction:
    """The map of the proof: from v, keep v_j (turned by the sign of g) with probability |g|, else a fair coin."""
    total = F(0)
    for v, weight in law.items():
        for j, outcome in enumerate(y):
            weight *= coin(g(y[:j]) * v[j], outcome)
        total += weight
    return total


def worst(pattern: dict[tuple[int, ...], Fraction], t: int) -> dict[tuple[int, ...], Fraction]:
    """P*: all contributions 1."""
    return {y: real(pattern, lambda history: F(1), y) for y in histories(t)}


def stick(p: dict[tuple[int, ...], Fraction], q: dict[tuple[int, ...], Fraction], alpha: Fraction) -> Fraction:
    return sum((max(p[y] - alpha * q[y], F(0)) for y in p), F(0))


def uniform(t: int, k: int) -> dict[tuple[int, ...], Fraction]:
    subsets = list(itertools.combinations(range(t), k))
    return {tuple(int(j in chosen) for j in range(t)): F(1, len(subsets)) for chosen in subsets}


def random_pattern(t: int, seed: int) -> dict[tuple[int, ...], Fraction]:
    rng = random.Random(seed)
    raw = {b: rng.randrange(1, 10) for b in itertools.product((0, 1), repeat=t)}
    return {b: F(n, sum(raw.values())) for b, n in raw.items()}


PATTERNS = [uniform(3, 1), uniform(4, 2), random_pattern(3, 1), random_pattern(4, 2)]


@patterns
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("seed", range(4))
def test_simulation_gives_both_transcripts(pattern: dict[tuple[int, ...], Fraction], seed: int) -> None:
    t = len(next(iter(pattern)))
    g, nobody = adaptive(seed), {(0,) * t: F(1)}
    for law in (pattern, nobody):
        source = worst(law, t)
        assert all(simulated(source, g, y) == real(law, g, y) for y in histories(t))


@patterns
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_adaptive_record_exceeds_the_pair(pattern: dict[tuple[int, ...], Fraction]) -> None:
    t = len(next(iter(pattern)))
    nobody = {(0,) * t: F(1)}
    P, Q = worst(pattern, t), worst(nobody, t)
    for seed, alpha in itertools.product(range(6), (F(1, 2), F(1), F(5, 4), F(2))):
        g = adaptive(seed)
        p, q = ({y: real(law, g, y) for y in histories(t)} for law in (pattern, nobody))
        assert stick(p, q, alpha) <= stick(P, Q, alpha) and stick(q, p, alpha) <= stick(Q, P, alpha)


@patterns
def test_blocks_bound_k_of_t_and_not_less() -> None:
    """2 of 5: blocks of 3 and 2 rounds are above, in both orders; two blocks of 3 are not."""
    nobody = {(0,) * 5: F(1)}
    truth, Q = worst(uniform(5, 2), 5), worst(nobody, 5)
    blocks = {a + b: p * q for a, p in uniform(3, 1).items() for b, q in uniform(2, 1).items()}
    P = worst(blocks, 5)
    wider = {a + b: p * q for a, p in uniform(3, 1).items() for b, q in uniform(3, 1).items()}
    larger, none = worst(wider, 6), worst({(0,) * 6: F(1)}, 6)
    for alpha in (F(1, 2), F(1), F(3, 2), F(2)):
        assert stick(truth, Q, alpha) <= stick(P, Q, alpha) and stick(Q, truth, alpha) <= stick(Q, P, alpha)
    assert any(stick(larger, none, alpha) < stick(P, Q, alpha) for alpha in (F(1), F(3, 2), F(2)))


@patterns
@pytest.mark.parametrize(("t", "k"), [(3, 1), (4, 2)])
def test_a_pattern_that_is_kept_bounds_fresh_ones(t: int, k: int) -> None:
    """Two epochs: one uniform subset for both, against one for each; in both orders, and truly more."""
    one, nobody = uniform(t, k), worst({(0,) * (2 * t): F(1)}, 2 * t)
    kept = worst({b + b: p for b, p in one.items()}, 2 * t)
    fresh = worst({a + b: p * q for a, p in one.items() for b, q in one.items()}, 2 * t)
    for order in ("remove", "add"):
        pairs = [(law, nobody) if order == "remove" else (nobody, law) for law in (fresh, kept)]
        sticks = [[stick(*pair, alpha) for pair in pairs] for alpha in (F(1, 2), F(1), F(3, 2), F(2))]
        assert all(low <= high for low, high in sticks) and sum(low < high for low, high in sticks) > 1


@patterns
@pytest.mark.parametrize("seed", range(5))
def test_two_gaussian_rounds_on_a_grid(seed: int) -> None:
    """1 of 2, contributions that follow the first output: below the pair up to the grid's error, in both orders."""
    rng, sigma = np.random.default_rng(seed), 0.8
    y = np.linspace(-7, 8, 1201)
    cell = (y[1] - y[0]) ** 2
    density = lambda x: np.exp(-x * x / (2 * sigma**2)) / np.sqrt(2 * np.pi * sigma**2)  # noqa: E731
    pieces = rng.integers(0, 16, size=len(y) // 75 + 1).repeat(75)[: len(y)]
    first, second = rng.uniform(-1, 1), rng.uniform(-1, 1, size=16)[pieces]

    def laws(a: float, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        none = np.outer(density(y), density(y))
        placed = np.outer(density(y - a), density(y)) + density(y)[:, None] * density(y[None, :] - b[:, None])
        return placed / 2, none

    p, q = laws(first, second)
    P, Q = laws(1.0, np.ones(len(y)))
    for alpha in (0.5, 1.0, 1.5, 3.0):
        for (a, b), (A, B) in (((p, q), (P, Q)), ((q, p), (Q, P))):
            assert np.maximum(a - alpha * b, 0).sum() * cell <= np.maximum(A - alpha * B, 0).sum() * cell + 1e-6
