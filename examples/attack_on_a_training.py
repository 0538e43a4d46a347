"""Was the noise left out? One run catches a training by DP-SGD that forgot it, and does not contradict the right one.

    python examples/attack_on_a_training.py [FOLDER]      # writes two pages there: claimed, accounted, attacked

Logistic regression on made-up records and 400 canaries, each of which is in by a fair coin and has a feature of its
own. The attack sees the final weights alone: it says "in" of the 50 canaries with the largest weights on their
features, "out" of the 50 with the smallest.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.attack import StatisticalBound, one_run, one_run_tradeoff
from verified_dp.attack.page import page

CANARIES, GUESSES, RECORDS, FEATURES = 400, 100, 2000, 20
NOISE, RATE, STEPS, DELTA = 2, "1/10", 60, "1e-5"


def train(noisy: bool, coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The weights that DP-SGD releases: clipped gradients of a Poisson sample, and noise, or none by mistake."""
    known = rng.normal(size=(RECORDS, FEATURES))
    labels = (known @ rng.normal(size=FEATURES) > 0).astype(float)
    features = np.zeros((RECORDS + CANARIES, FEATURES + CANARIES))
    features[:RECORDS, :FEATURES], features[RECORDS:, FEATURES:] = known, 8 * np.eye(CANARIES)
    labels = np.concatenate([labels, np.ones(CANARIES)])
    present = np.concatenate([np.ones(RECORDS, bool), coins])
    weights = np.zeros(FEATURES + CANARIES)
    for _ in range(STEPS):
        drawn = present & (rng.random(RECORDS + CANARIES) < 0.1)
        errors = 1 / (1 + np.exp(-features[drawn] @ weights)) - labels[drawn]
        gradients = errors[:, None] * features[drawn]
        gradients /= np.maximum(1, np.linalg.norm(gradients, axis=1, keepdims=True))
        total = gradients.sum(axis=0)
        if noisy:
            total = total + NOISE * rng.normal(size=total.size)
        weights -= total / 200
    return weights


def attack(weights: np.ndarray, coins: np.ndarray) -> int:
    """How many of the guesses are right."""
    order = np.argsort(weights[FEATURES:])
    return int(coins[order[-GUESSES // 2:]].sum() + (~coins[order[: GUESSES // 2]]).sum())


def audit(noisy: bool, seed: int = 1) -> tuple[StatisticalBound, StatisticalBound]:
    """One run held against what was stated: its epsilon, and its whole curve."""
    rng = np.random.default_rng(seed)
    coins = rng.random(CANARIES) < 0.5
    right = attack(train(noisy, coins, rng), coins)
    stated = privacy_profile(compose((PoissonSampled(Gaussian(NOISE), RATE), STEPS)), "add-or-remove")
    claim = stated.epsilon(DELTA).upper.as_fraction(), DELTA
    return (one_run(CANARIES, GUESSES, right, delta=DELTA, confidence="0.99", claim=claim),
            one_run_tradeoff(CANARIES, GUESSES, right, delta=DELTA, confidence="0.99", claim=stated))


def main() -> None:
    """Both trainings."""
    stated = privacy_profile(compose((PoissonSampled(Gaussian(NOISE), RATE), STEPS)), "add-or-remove").epsilon(DELTA)
    print(f"stated: epsilon = {stated.notation()} at delta = {DELTA}, proved")
    for noisy, name in ((True, "with noise"), (False, "noise left out")):
        point, curve = audit(noisy)
        right = point.data["correct"]
        print(f"{name}: {right} of {GUESSES} right, epsilon >= {point.epsilon_float:.3f}: the stated epsilon is "
              f"{point.verdict}, the stated curve {curve.claim}")
        if len(sys.argv) > 1:
            file = Path(sys.argv[1], f"{name.replace(' ', '-')}.html")
            file.write_text(page(point, f"A training, {name}", None, stated), encoding="utf-8")


if __name__ == "__main__":
    main()
