"""What did DP-SGD cost each person, rather than the worst imaginable one?

A logistic regression is trained with DP-SGD on generated data: two groups, of which one is harder to fit. The
gradient norm of every record is kept in every step. Printed and drawn: the individual eps (a certified interval for
every record) beside the worst case, the means of the groups, and how many records a GDP filter would still admit.

    python examples/individual_dpsgd.py [figure.png]

The losses are those of the path that was taken; for a guarantee in advance the filter decides who takes part.
"""

from __future__ import annotations

import sys

import numpy as np

from verified_dp.individual.input import Recorder
from verified_dp.individual.losses import IndividualLosses, individual_epsilons
from verified_dp.individual.training import Training
from verified_dp.report.individual import group_means, plot_active, plot_group_means, plot_histogram

RECORDS, STEPS, FEATURES = 2000, 400, 8
TRAINING = Training(noise_multiplier="1.5", clipping="1", sampling_probability="0.05")
DELTA = "1e-5"


def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and groups: the labels of group "noisy" are flipped in a third of its records."""
    groups = np.where(rng.random(RECORDS) < 0.2, "noisy", "clean")
    features = rng.normal(size=(RECORDS, FEATURES)) / np.sqrt(FEATURES)
    labels = (features.sum(axis=1) > 0) ^ ((groups == "noisy") & (rng.random(RECORDS) < 1 / 3))
    return 2 * features, labels.astype(float), groups


def train(rng: np.random.Generator, features: np.ndarray, labels: np.ndarray) -> tuple[Recorder, np.ndarray, list[int]]:
    """DP-SGD: Poisson sampling, clipping, Gaussian noise. Returns the readings, the weights, and who a filter admits.

    The filter here only watches: it sums (norm / noise)^2 of each record as for full batches (no gain from sampling).
    """
    clip, noise = float(TRAINING.clipping), float(TRAINING.clipping * TRAINING.noise_multiplier)
    recorder, weights, spent = Recorder(TRAINING, RECORDS, norms="raw"), np.zeros(FEATURES), np.zeros(RECORDS)
    active = []
    for _ in range(STEPS):
        errors = 1 / (1 + np.exp(-features @ weights)) - labels
        gradients = errors[:, None] * features
        norms = np.linalg.norm(gradients, axis=1)
        recorder.add(norms)
        spent += (np.minimum(norms, clip) / noise) ** 2
        active.append(int((spent <= STEPS / 8 * (clip / noise) ** 2).sum()))
        sampled = rng.random(RECORDS) < float(TRAINING.sampling_probability)
        clipped = gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))[:, None]
        total = clipped[sampled].sum(axis=0) + rng.normal(scale=noise, size=FEATURES)
        weights -= 2.0 * total / (RECORDS * float(TRAINING.sampling_probability))
    return recorder, weights, active


def worst_case() -> IndividualLosses:
    """The loss of a record whose gradient is clipped in every step."""
    recorder = Recorder(TRAINING, 1, norms="clipped")
    recorder.add(np.ones(1) * TRAINING.clipping_double, repeats=STEPS)
    return individual_epsilons(recorder.counts(), DELTA)


def main(figure: str | None = None) -> None:
    """Train, enclose, print, and draw if a file is named."""
    rng = np.random.default_rng(7)
    features, labels, groups = generate(rng)
    recorder, weights, active = train(rng, features, labels)
    losses, worst = individual_epsilons(recorder.counts(), DELTA), worst_case()
    accuracy = np.mean((features @ weights > 0) == (labels > 0.5))
    print(f"{RECORDS} records, {STEPS} steps, accuracy {accuracy:.3f}; eps at delta = {DELTA}")
    print(f"worst case        in [{worst.lower[0]:.4f}, {worst.upper[0]:.4f}]")
    for share in (0.5, 0.9, 1.0):
        print(f"{share:4.0%} of the records have eps <= {np.quantile(losses.upper, share, method='higher'):.4f}")
    for name, (low, high, count) in group_means(losses, groups).items():
        print(f"mean of {name:6} ({count:4}) in [{low:.4f}, {high:.4f}]")
    narrow = np.mean(losses.relative_width < 0.02)
    print(f"{narrow:.0%} of the intervals are narrower than 2 % of their eps")
    if figure:
        draw(losses, worst, groups, active, figure)


def draw(losses: IndividualLosses, worst: IndividualLosses, groups: np.ndarray, active: list[int], file: str) -> None:
    """Three panels in one file."""
    from matplotlib.figure import Figure

    panels = Figure(figsize=(13, 4), layout="constrained")
    axes = panels.subplots(1, 3)
    plot_histogram(losses, float(worst.upper[0]), axes=axes[0])
    plot_group_means(losses, list(groups), axes=axes[1])
    plot_active(active, axes=axes[2])
    panels.savefig(file)


if __name__ == "__main__":
    main(*sys.argv[1:2])
