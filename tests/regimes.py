"""Random specifications of hard regimes, a family for each of the newest witnesses: what chance alone seldom reaches.

Few steps, q = 1, ties of losses, mass at infinity, eps = 0 and next to the largest loss, delta down to 1e-300.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Table = dict[str, Any]
Drawn = tuple[list[Table], list[str]]
"""Mechanisms, and the epsilons that a claim may state beside the usual ones."""

RELATIONS = ("add-or-remove", "add", "remove", "zero-out", "replace")
_DELTAS = ("1e-2", "1e-6", "1e-9", "1e-30", "1e-100", "1e-300")
_USUAL = ("0", "0.01", "0.1", "0.5", "1", "3")
_FEW = (1, 2, 2, 2, 2, 3, 3, 3, 5, 7, 10)


def _poisson(probability: object) -> Table:
    return {"scheme": "poisson", "probability": str(probability)}


def _sampled_gaussians(rng: random.Random) -> Drawn:
    """Few steps, one or two kinds of them."""
    chances = ["1e-6", "1e-4", "1e-4", "1/1000", "1/1000", "1/100", "1/100", "1/10", "1/2", "1"]
    steps = [{"kind": "gaussian", "noise_multiplier": rng.choice(["1/4", "1/2", "1", "1", "2", "3", "20"]),
              "count": rng.choice(_FEW), "sampling": _poisson(rng.choice(chances))}
             for _ in range(rng.choice([1, 1, 1, 2]))]
    return steps, ["2", "2", "8", "20"]


def _little_noise(rng: random.Random) -> Drawn:
    """Many steps, and losses that are large where the record was sampled."""
    noise, probability = rng.choice([("1/10", "1/10000"), ("1/5", "1/1000"), ("3/10", "1/100"), ("1/2", "1/1000"),
                                     ("2/5", "1/20"), ("4/5", "1/10")])
    return [{"kind": "gaussian", "noise_multiplier": noise, "count": rng.choice([60, 300, 2000, 10**5]),
             "sampling": _poisson(probability)}], ["10", "60"]


def _listed(rng: random.Random) -> Drawn:
    """Atoms on no grid: sampled discrete Gaussians, a few of which release two values."""
    count, steps = rng.choice([1, 2, 3, 30, 300, 3000, 10**4, 10**5]), list[Table]()
    for _ in range(rng.choice([1, 1, 2])):
        steps.append({"kind": "discrete-gaussian", "sigma_squared": rng.choice(["1/4", "1", "7/3", "10"]),
                      "sensitivity": rng.randint(1, 3), "count": count,
                      "sampling": _poisson(rng.choice(["1/1000", "1/1000", "1/100", "1/3", "1"]))})
    return steps, ["2"]


def _masses(rng: random.Random, size: int) -> list[Fraction]:
    parts = [rng.randint(0 if rng.random() < 0.15 else 1, 12) for _ in range(size - 1)] + [rng.randint(1, 12)]
    return [Fraction(part, sum(parts)) for part in parts]


def _finite(rng: random.Random) -> Table:
    """Two to four outcomes; ratios may repeat, and either side may have masses that the other has not."""
    below = _masses(rng, size := rng.randint(2, 4))
    half = size // 2
    share = sum(below[:half], Fraction(0))
    if rng.random() < 0.3 and 0 < share < 1:  # ties: two ratios for all
        high = min(Fraction(rng.randint(2, 9)), 1 / share)
        rest = (1 - share * high) / (1 - share)
        above = [mass * (high if n < half else rest) for n, mass in enumerate(below)]
    else:
        above = rng.choice([below[::-1], _masses(rng, size)])
    return {"kind": "finite", "P": list(map(str, above)), "Q": list(map(str, below))}


def _pure(rng: random.Random) -> Table:
    return rng.choice([
        {"kind": "approximate-dp", "epsilon": rng.choice(["1/10", "1/3", "1", "7/2", "30"]),
         "delta": rng.choice(["0", "1e-6", "1e-300"])},
        {"kind": "finite", "P": ["3/4", "1/4"], "Q": ["1/4", "3/4"]}, _finite(rng)])


def _few_outcomes(rng: random.Random) -> Drawn:
    """One to four kinds of few outcomes, with few and many steps."""
    steps = [{**_pure(rng), "count": rng.choice([1, 2, 3, 20, 300, 2000])} for _ in range(rng.choice([1, 2, 2, 3, 4]))]
    for step in steps:
        if rng.random() < 0.3:
            step["sampling"] = _poisson(rng.choice(["1/100", "1/3", "1"]))
    return steps, ["2", "5", "40"]


def _long_mixtures(rng: random.Random) -> Drawn:
    """Batches drawn with replacement or cut, and sensitivities of many sizes."""
    noise = rng.choice(["3/4", "1", "2", "6"])
    scheme = rng.choice([
        {"scheme": "truncated-poisson", "probability": rng.choice(["1/100", "1/20", "1/5"]),
         "population": rng.choice([60, 1000]), "largest_batch": rng.choice([6, 14, 30, 60])},
        {"scheme": "with-replacement", "draws": rng.randint(5, 40), "population": rng.choice([30, 400, 10**4])}])
    sizes = rng.randint(5, 9)
    mixture = {"kind": "mixture-of-gaussians", "sigma": noise, "sensitivities": [str(n) for n in range(sizes)],
               "probabilities": [str(Fraction(2**(sizes - n - 1), 2**sizes - 1)) for n in range(sizes)]}
    step = mixture if rng.random() < 0.3 else {"kind": "gaussian", "noise_multiplier": noise, "sampling": scheme}
    return [{**step, "count": rng.choice([1, 2, 3, 20, 300, 1000])}], ["2", "6"]


def _allocated(rng: random.Random) -> Drawn:
    """One epoch of random allocation, one pick."""
    return [{"kind": "gaussian", "noise_multiplier": rng.choice(["3/10", "1/2", "1", "2", "10"]), "count": 1,
             "sampling": {"scheme": "random-allocation", "rounds": rng.choice([1, 2, 3, 10, 100, 1000]), "picks": 1,
                          "fixed": rng.random() < 0.5}}], ["6", "12"]


def _epochs(rng: random.Random) -> Drawn:
    """Epochs of fresh allocations, or one beside Gaussian steps."""
    noise, count = rng.choice(["3/10", "1/2", "1", "2", "5", "10"]), rng.choice([1, 2, 3, 10, 40])
    rounds = rng.choice([2, 2, 3, 10, 100, 1000, 10**4])
    steps: list[Table] = [{"kind": "gaussian", "noise_multiplier": noise, "count": count,
                           "sampling": {"scheme": "random-allocation", "rounds": rounds}}]
    if count == 1 or rng.random() < 0.2:
        steps.append({"kind": "gaussian", "noise_multiplier": rng.choice(["1", "7/2", "20"]),
                      "count": rng.randint(1, 3)})
    return steps, ["2", "6"]


FAMILIES: dict[str, Callable[[random.Random], Drawn]] = {
    "rays": _sampled_gaussians, "marked": _little_noise, "outcomes": _listed, "halves": _few_outcomes,
    "shortened": _long_mixtures, "allocation": _allocated, "epochs": _epochs}


def regime(rng: random.Random, family: str) -> tuple[str, list[Table], Table]:
    """(relation, mechanisms, claim) of a family."""
    relation = rng.choice(RELATIONS)
    steps, places = FAMILIES[family](rng)
    return relation, steps, {"title": family, "source": "", "epsilon": rng.choice([*_USUAL, *places]),
                             "delta": rng.choice(_DELTAS)}
