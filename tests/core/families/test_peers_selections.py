"""The programs of DiPApprox (Bhusal, Chadha, Sistla, Viswanathan, CCS 2025), tables 1 and 3: their verdicts and ours.

Inputs are {0, 1}^N, any two of them neighbours; "one pair" is (0, ..., 0) and (0, ..., 0, 1). A query reaches the
threshold 0 from above, N(0, sigma) by sigma. Run as a program, this writes our times into the table: processor seconds.
"""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from verified_dp import Composition, Gaussian, compose, privacy_profile
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.mechanisms import NoisyMax, SparseVector

TABLE = Path(__file__).parents[3] / "docs" / "selections.csv"
ROWS = [*csv.DictReader(TABLE.open(encoding="utf-8", newline=""))]
THEIRS, OURS = "theirs: seconds (one; all)", "ours: seconds (one; all)"
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def verdict(row: dict[str, str], moving: int) -> str:
    """Of what our kind reveals, a bound of what the program does, where so many of the noisy values move."""
    sizes = [Fraction(size) for size in re.findall(r"[0-9/]+", row["noise"].replace("Laplace", ""))]
    if row["stated here"] == "gaussian":
        kind: Composition = compose((Gaussian(sigma=sizes[-1], sensitivity=1), moving))
    elif row["stated here"] == "noisy-max":
        kind = compose(NoisyMax(sizes[0], 1))
    else:
        kind = compose(SparseVector(sizes[0], sizes[1], int(row["N"]) if row["program"].endswith("6") else 1, 1))
    found = privacy_profile(kind, "replace").delta(row["epsilon"])
    return "proved" if found.upper <= Fraction(row["delta"]) else "undecided"


@pytest.mark.parametrize("row", [row for row in ROWS if row["stated here"]],
                         ids=lambda row: f"{row['program']} {row['N']} {row['epsilon']}")
def test_our_verdicts(row: dict[str, str]) -> None:
    """Where both say something it is the same; a claim of all pairs that we prove holds for more than their inputs."""
    found = [verdict(row, moving) for moving in (1, int(row["N"]))]
    assert found == [row["ours: one pair"], row["ours: all pairs"]]
    assert row["why"] or (row["theirs: one pair"] == "yes" and found == ["proved", "proved"])
    for ours, theirs in zip(found, (row["theirs: one pair"], row["theirs: all pairs"]), strict=True):
        assert (ours, theirs) != ("proved", "no")


@pytest.mark.parametrize("row", ROWS)
def test_times_stand_beside_theirs(row: dict[str, str]) -> None:
    theirs, ours = row[THEIRS].split(";"), row[OURS].split(";")
    assert len(theirs) == 2 and len(ours) == (2 if row["stated here"] else 1)
    assert all(float(mine) < float(other) for mine, other in zip(ours, theirs, strict=False) if mine and other)


def test_what_has_no_noise_is_refused() -> None:
    for scale in (None, 0):
        with pytest.raises(InvalidInput, match="query_scale"):
            SparseVector(2, scale, 1, 1)


def tail(law: str, size: float, x: np.ndarray) -> np.ndarray:
    """P(noise > x)."""
    if not size:
        return 1.0 * (x < 0)
    half = np.exp(-abs(x) / size) / 2
    return ndtr(-x / size) if law == "gauss" else np.where(x > 0, half, 1 - half)


def over(law: str, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a threshold's noise; smooth between integers."""
    if not size:
        return np.zeros(1), np.ones(1)
    cuts = np.arange(-40 * size, 40 * size + 1, 1.0)
    x = np.concatenate([a + (1 + NODES) / 2 for a in cuts[:-1]])
    density = np.exp(-x * x / (2 * size**2)) / (size * np.sqrt(2 * np.pi)) if law == "gauss" else (
        np.exp(-abs(x) / size) / (2 * size))
    return x, np.tile(WEIGHTS / 2, len(cuts) - 1) * density


Laws = dict[tuple[int, ...], list[float]]


def svt(n: int, first: tuple[str, float], each: tuple[str, float], stops: bool = True) -> Laws:
    """Probabilities of all outputs for all inputs."""
    x, weights = over(*first)
    every = product((False, True), repeat=n)
    outputs = [(False,) * k + (True,) for k in range(n)] + [(False,) * n] if stops else [*every]
    return {data: [float((weights * np.prod([tail(*each, x - q) if yes else 1 - tail(*each, x - q)
                                             for q, yes in zip(data, seen, strict=False)], axis=0)).sum())
                   for seen in outputs] for data in product((0, 1), repeat=n)}


def largest(n: int, size: float) -> Laws:
    """Of the index of the largest of n values with Gaussian noise."""
    x, weights = over("gauss", size)
    return {data: [float((weights * np.prod([1 - tail("gauss", size, x + own - other) for j, other in enumerate(data)
                                             if j != i], axis=0)).sum()) for i, own in enumerate(data)]
            for data in product((0, 1), repeat=n)}


def middle(size: float) -> Laws:
    """Whether the third of three values lies between the others."""
    x, weights = over("gauss", size)
    found = {}
    for a, b, c in product((0, 1), repeat=3):
        high, low = tail("gauss", size, x + c - a), tail("gauss", size, x + c - b)
        inside = float((weights * (1 - high * low - (1 - high) * (1 - low))).sum())
        found[a, b, c] = [inside, 1 - inside]
    return found


def delta(laws: Laws, epsilon: float) -> float:
    return max(float(np.maximum(np.array(p) - np.exp(epsilon) * np.array(q), 0).sum())
               for p, q in product(laws.values(), repeat=2))


GAUSS, MIXED, NONE = ("gauss", 4.0), ("laplace", 4.0), ("", 0.0)


@pytest.mark.parametrize(("laws", "epsilon", "allowed", "holds"), [
    (partial(svt, 2, GAUSS, ("gauss", 8.0)), 1.24, 0.01, True),
    (partial(svt, 5, GAUSS, ("gauss", 8.0)), 1.24, 0.01, True),
    (partial(svt, 5, MIXED, ("gauss", 8.0)), 1.24, 0.01, True),
    (partial(svt, 5, NONE, ("gauss", 0.25)), 0.5, 0.01, False),
    (partial(svt, 3, ("gauss", 2.0), NONE), 0.5, 0.01, False),
    (partial(largest, 2, 4.0), 0.5, 0.01, True),
    (partial(largest, 3, 4.0), 0.5, 0.01, True),
    (partial(largest, 4, 4.0), 0.5, 0.01, True),
    (partial(middle, 4.0), 0.5, 0.01, True),
    (partial(svt, 4, MIXED, ("laplace", 8.0)), 0.5, 1e-9, True),
    (partial(svt, 2, MIXED, ("laplace", 4 / 3)), 1.0, 1e-9, False),
    (partial(svt, 2, MIXED, NONE), 0.5, 1e-9, False),
    (partial(svt, 3, ("laplace", 2.0), ("laplace", 2.0), stops=False), 1.0, 1e-9, False)],
    ids=["svt-2", "svt-5", "mix1-5", "leaky-1", "leaky-2", "max-2", "max-3", "max-4", "min-max-3", "laplace-4",
         "leaky-4", "leaky-5", "leaky-6"])
def test_their_verdicts_by_brute_force(laws: Callable[[], Laws], epsilon: float, allowed: float, holds: bool) -> None:
    """Of the larger of all pairs of inputs."""
    assert (delta(laws(), epsilon) <= allowed) == holds


def record() -> None:
    """Measure every answer once, after one that loads what is needed."""
    for row in ROWS:
        found = []
        for moving in (1, int(row["N"])) if row["stated here"] else ():
            privacy_profile(Gaussian("3"), "replace").delta(1)
            start = time.process_time()
            verdict(row, moving)
            found.append(f"{time.process_time() - start:.4f}")
        row[OURS] = "; ".join(found)
    names = [name for name in ROWS[0] if name != OURS]
    names.insert(names.index(THEIRS) + 1, OURS)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ROWS)


if __name__ == "__main__":
    record()
