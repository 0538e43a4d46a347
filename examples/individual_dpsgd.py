"""What did DP-SGD cost each person, rather than the worst imaginable one?

A logistic regression is trained with DP-SGD on generated data: two groups, of which one is harder to fit. The
gradient norm of every record is kept in every step. Printed and drawn: the individual eps (a certified interval for
every record) beside the worst case and beside Renyi accounting, the means of the groups, and one record's whole curve
delta(eps) with a mu-GDP curve above it.

    python examples/individual_dpsgd.py [figure.png]

The losses are those of the path that was taken, and they depend on the data: they are not for publication, and no
guarantee in advance. For that a filter decides who takes part: see individual_filter.py.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from verified_dp.adaptive.budgets import gdp_budget, gdp_delta
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.exact import square_root
from verified_dp.individual.counts import Counts
from verified_dp.individual.input import count_array
from verified_dp.individual.losses import IndividualLosses, individual_deltas, individual_epsilons
from verified_dp.individual.plots import group_means, plot_curve, plot_group_means, plot_histogram, progress_bar
from verified_dp.individual.training import Training
from verified_dp.questions.moments import enclose_renyi_divergence

RECORDS, STEPS, FEATURES = 2000, 400, 8
TRAINING = Training(noise_multiplier="1.5", clipping="1", sampling_probability="0.05")
DELTA, PARTS, WIDTH = "1e-5", 64, "1/50"
ORDERS = [1 + Fraction(5**k, 4**k) / 2 for k in range(24)]
EPSILONS = [k / 4 for k in range(11)]


def generate(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and groups: the labels of group "noisy" are flipped in a third of its records."""
    groups = np.where(rng.random(RECORDS) < 0.2, "noisy", "clean")
    features = rng.normal(size=(RECORDS, FEATURES)) / np.sqrt(FEATURES)
    labels = (features.sum(axis=1) > 0) ^ ((groups == "noisy") & (rng.random(RECORDS) < 1 / 3))
    return 2 * features, labels.astype(float), groups


def train(rng: np.random.Generator, features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """DP-SGD: Poisson sampling, clipping, Gaussian noise. Returns all norms (steps, records) and the weights."""
    clip, noise = float(TRAINING.clipping), float(TRAINING.clipping * TRAINING.noise_multiplier)
    readings, weights = np.zeros((STEPS, RECORDS)), np.zeros(FEATURES)
    for step in range(STEPS):
        errors = 1 / (1 + np.exp(-features @ weights)) - labels
        gradients = errors[:, None] * features
        readings[step] = norms = np.linalg.norm(gradients, axis=1)
        sampled = rng.random(RECORDS) < float(TRAINING.sampling_probability)
        clipped = gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))[:, None]
        total = clipped[sampled].sum(axis=0) + rng.normal(scale=noise, size=FEATURES)
        weights -= 2.0 * total / (RECORDS * float(TRAINING.sampling_probability))
    return readings, weights


def worst_counts(training: Training, steps: int, parts: int) -> Counts:
    """The readings of a record whose gradient is clipped in every step."""
    return count_array(np.full((1, 1), training.clipping_double), training, "clipped", parts, repeats=steps)


@cache
def renyi_divergences(training: Training, parts: int) -> np.ndarray:
    """D_a of one step at the ends of the buckets, for the ORDERS a: certified upper bounds, rounded to doubles."""
    rows = [np.zeros(len(ORDERS))]
    for variance in training.variance_edges(parts)[1:]:
        law = SampledGaussianLoss(training.sampling_probability, square_root(1 / variance), training.order)
        loss = ComposedLoss(training.order, ((law, 1),), Fraction(0))
        rows.append(np.array([float(enclose_renyi_divergence(loss, order, 4)[1]) for order in ORDERS]))
    return np.array(rows)


def renyi_epsilons(counts: Counts, delta: str = DELTA) -> np.ndarray:
    """eps of each record by Renyi accounting, at the best of ORDERS: estimates.

    min over a of D_a + (log C(l) - log delta) / l, l = a - 1, C(l) = l^l / (1 + l)^(1 + l), where D_a sums the steps'
    divergences, taken to be linear in the squared norm between the ends of a bucket.
    """
    tilts = np.array([float(order - 1) for order in ORDERS])
    conversion = np.log(tilts) - (1 + 1 / tilts) * np.log1p(tilts) - math.log(float(delta)) / tilts
    return np.maximum((counts.weights() @ renyi_divergences(counts.training, counts.parts) + conversion).min(axis=1), 0)


def curve(counts: Counts, row: int, epsilons: Sequence[float]) -> tuple[np.ndarray, np.ndarray, Fraction]:
    """Ends of one record's delta at some eps, and a mu^2 whose Gaussian curve is above it there: an estimate.

    This is condition (5.1) of the paper at some eps; pld_filter.py says why no guarantee follows from it.
    """
    found = [individual_deltas(counts.take(np.array([row])), epsilon, WIDTH) for epsilon in map(Fraction, epsilons)]
    lower, upper = (np.array([float(getattr(at, end)[0]) for at in found]) for end in ("lower", "upper"))
    at_points = [gdp_budget(Fraction(eps), Fraction(top), 6) for eps, top in zip(epsilons, upper, strict=True)]
    return lower, upper, max(at_points)


def main(figure: str | None = None) -> None:
    """Train, enclose, print, and draw if a file is named."""
    rng = np.random.default_rng(7)
    features, labels, groups = generate(rng)
    norms, weights = train(rng, features, labels)
    counts = count_array(norms, TRAINING, "raw", PARTS)
    with progress_bar("individual eps") as progress:
        losses = individual_epsilons(counts, DELTA, WIDTH, progress)
    clipped = worst_counts(TRAINING, STEPS, PARTS)
    worst, renyi = individual_epsilons(clipped, DELTA), renyi_epsilons(counts)
    accuracy = np.mean((features @ weights > 0) == (labels > 0.5))
    print(f"{RECORDS} records, {STEPS} steps, accuracy {accuracy:.3f}; eps at delta = {DELTA}")
    print(f"worst case        in [{worst.lower[0]:.4f}, {worst.upper[0]:.4f}]; by Renyi accounting about "
          f"{renyi_epsilons(clipped)[0]:.4f}")
    for share in (0.5, 0.9, 1.0):
        certified, estimate = (np.quantile(x, share, method="higher") for x in (losses.upper, renyi))
        print(f"{share:4.0%} of the records have eps <= {certified:.4f}; by Renyi accounting about {estimate:.4f}")
    for name, (low, high, count) in group_means(losses, groups).items():
        print(f"mean of {name:6} ({count:4}) in [{low:.4f}, {high:.4f}]")
    print(f"{losses.narrow.sum()} of {RECORDS} intervals are as narrow as asked, {WIDTH} of their eps")
    row = int(np.argsort(losses.upper)[RECORDS * 4 // 5])
    lower, upper, square = curve(counts, row, EPSILONS)
    k = len(EPSILONS) // 2
    print(f"record {row}: delta({EPSILONS[k]}) in [{lower[k]:.4e}, {upper[k]:.4e}]; mu about {float(square)**0.5:.4f}")
    if figure:
        draw(losses, float(worst.upper[0]), renyi, groups, (row, lower, upper, square), figure)


def draw(losses: IndividualLosses, worst: float, renyi: np.ndarray, groups: np.ndarray,
         record: tuple[int, np.ndarray, np.ndarray, Fraction], file: str) -> None:
    """Three panels in one file."""
    from matplotlib.figure import Figure

    panels, (row, lower, upper, square) = Figure(figsize=(17, 5), layout="constrained"), record
    axes = panels.subplots(1, 3)
    plot_histogram(losses, worst, axes=axes[0], others={"Renyi accounting (estimates)": renyi})
    plot_group_means(losses, list(groups), axes=axes[1])
    gaussian = [float(gdp_delta(square, Fraction(epsilon), 6).upper_decimal) for epsilon in EPSILONS]
    plot_curve(EPSILONS, lower, upper, axes[2], {f"mu-GDP, mu = {float(square)**0.5:.3f} (estimate)": gaussian})
    axes[2].set_title(f"record {row}", fontsize="medium")
    panels.savefig(file)


if __name__ == "__main__":
    main(*sys.argv[1:2])
