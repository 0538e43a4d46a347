"""What do the individual losses of a real network's training look like, and does filtering help it?

Figures 1, 2 and 6 to 10 of "Individual privacy accounting with Gaussian differential privacy" in kind: a network with
one hidden layer on the 1797 handwritten digits that scikit-learn brings (pip install scikit-learn), in place of MNIST
and MIMIC-III.

    python examples/individual_digits.py [--plot FOLDER]     some minutes; the pictures need matplotlib

1. DP-SGD (Poisson batches): each record's certified eps beside Renyi accounting, one record's curve beside a mu-GDP
   curve.
2. DP-GD (full batches) with an individual GDP filter that is open for twice as many steps as the worst case has:
   accuracy and active records for clipping constants from .5 to 5 times the tuned one, and for eps = .5 and 10; the
   digits' losses before and after; histograms of eps before the filter sets in.

The data are public. With private ones nothing that is printed here may be published.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from verified_dp.adaptive.budgets import gdp_budget, gdp_delta, root_decimal
from verified_dp.individual.array_filter import ArrayGDPFilter
from verified_dp.individual.input import count_array
from verified_dp.individual.losses import IndividualLosses, individual_epsilons
from verified_dp.individual.plots import (
    COLOURS,
    plot_active,
    plot_curve,
    plot_groups,
    plot_histogram,
    progress_bar,
)
from verified_dp.individual.training import Training

SGD = Training(noise_multiplier=2, clipping=1, sampling_probability="1/10")
SGD_STEPS, SGD_DELTA, SGD_RATE, PARTS, WIDTH = 500, "1e-6", 0.5, 64, "1/50"
SGD_EPSILONS = [k / 2 for k in range(9)]
DELTA, EPSILON, OTHER_EPSILONS = "1e-5", "2.75", ("0.5", "10")
WORST_STEPS, STEPS, SEEDS, HIDDEN, TRAINED = 50, 100, 5, 16, 1437
TUNED, FACTORS, RATE, MOMENTUM = Fraction(1), ("1/2", "1", "2", "5"), 0.5, 0.9
SPARE = 1 + 2.0**-40
"""Norms are rounded up by this factor, far above their errors in double precision."""
MISSING = "the digits come with scikit-learn: pip install scikit-learn"


class Data(NamedTuple):
    """Pictures as rows of 64 numbers, and the digits they show."""

    pictures: np.ndarray
    digits: np.ndarray

    @property
    def targets(self) -> np.ndarray:
        return np.eye(10)[self.digits]


def load() -> tuple[Data, Data]:
    """The records trained on, and the others. Leaves with status 3 where scikit-learn is missing."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        print(MISSING, file=sys.stderr)
        raise SystemExit(3) from None
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.data))
    every = Data(found.data[order] / 16 - 0.3, found.target[order])
    return Data(*(part[:TRAINED] for part in every)), Data(*(part[TRAINED:] for part in every))


class Network:
    """tanh and softmax, with every record's gradient norm; momentum."""

    def __init__(self, rng: np.random.Generator, rate: float) -> None:
        self.rng, self.rate = rng, rate
        self.first, self.second = rng.normal(size=(65, HIDDEN)) / 8, rng.normal(size=(HIDDEN + 1, 10)) / 8
        self._moving = [np.zeros_like(self.first), np.zeros_like(self.second)]

    def outputs(self, pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inputs and hidden values, each with a 1, and probabilities."""
        inputs = np.column_stack([pictures, np.ones(len(pictures))])
        hidden = np.column_stack([np.tanh(inputs @ self.first), np.ones(len(pictures))])
        scores = hidden @ self.second
        sizes = np.exp(scores - scores.max(axis=1, keepdims=True))
        return inputs, hidden, sizes / sizes.sum(axis=1, keepdims=True)

    def errors(self, data: Data) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Inputs, the first layer's errors, hidden values, the second's errors, and norms of the gradients.

        A record's gradient is the outer product of values and errors in each layer.
        """
        inputs, hidden, shares = self.outputs(data.pictures)
        second = shares - data.targets
        first = (second @ self.second[:-1].T) * (1 - hidden[:, :-1] ** 2)
        squares = [(values**2).sum(axis=1) * (errors**2).sum(axis=1)
                   for values, errors in ((inputs, first), (hidden, second))]
        return inputs, first, hidden, second, np.sqrt(squares[0] + squares[1]) * SPARE

    def step(self, data: Data, active: np.ndarray, clip: float, noise: float, expected: float) -> None:
        """One noisy step on the clipped gradients of the active records."""
        inputs, first, hidden, second, norms = self.errors(data)
        scales = (np.minimum(1, clip / np.maximum(norms, 1e-300)) * active)[:, None]
        sums = inputs.T @ (scales * first), hidden.T @ (scales * second)
        for weights, moving, total in zip((self.first, self.second), self._moving, sums, strict=True):
            moving *= MOMENTUM
            moving += (total + self.rng.normal(scale=noise * clip, size=total.shape)) / expected
            weights -= self.rate * moving

    def accuracy(self, data: Data) -> float:
        return float((self.outputs(data.pictures)[2].argmax(axis=1) == data.digits).mean())

    def losses(self, data: Data) -> np.ndarray:
        """The cross entropy of each record."""
        return -np.log(np.maximum((self.outputs(data.pictures)[2] * data.targets).sum(axis=1), 1e-300))


def train_sgd(data: Data) -> tuple[np.ndarray, Network]:
    """DP-SGD; all norms (steps, records) and the network."""
    rng, q, clip = np.random.default_rng(1), float(SGD.sampling_probability), float(SGD.clipping)
    network, readings = Network(rng, SGD_RATE), np.zeros((SGD_STEPS, len(data.digits)))
    for step in range(SGD_STEPS):
        readings[step] = network.errors(data)[-1]
        sampled = rng.random(len(data.digits)) < q
        network.step(data, sampled, clip, float(SGD.noise_multiplier), len(data.digits) * q)
    return readings, network


class Course(NamedTuple):
    """A filtered training: test accuracy and active records in each step, norms, and the losses at two times."""

    accuracy: np.ndarray
    active: np.ndarray
    norms: np.ndarray
    clip: Fraction
    noise: Fraction
    losses: Mapping[int, tuple[np.ndarray, np.ndarray]]


def train_filtered(train: Data, test: Data, epsilon: str, clip: Fraction, seed: int) -> Course:
    """DP-GD with Algorithm 1; the noise is that which lets records that are always clipped take WORST_STEPS steps."""
    budget = gdp_budget(epsilon, DELTA)
    noise = root_decimal(WORST_STEPS / budget, 6, up=True)
    state = ArrayGDPFilter.open(budget, len(train.digits), noise)
    network = Network(np.random.default_rng(seed), RATE / float(clip))
    accuracy, active, norms, losses = np.zeros(STEPS), np.zeros(STEPS), np.zeros((STEPS, len(train.digits))), {}
    for step in range(STEPS):
        norms[step] = network.errors(train)[-1]
        decision = state.charge(norms[step], clip)
        network.step(train, decision.active, float(clip), float(noise), len(train.digits))
        state, active[step], accuracy[step] = decision.state, decision.active.sum(), network.accuracy(test)
        norms[step] *= decision.active
        if step + 1 in (WORST_STEPS, STEPS):
            losses[step + 1] = network.losses(train), network.losses(test)
    return Course(accuracy, active, norms, clip, noise, losses)


def average(courses: list[Course]) -> tuple[np.ndarray, np.ndarray]:
    """Mean accuracy and active records over the seeds."""
    return np.mean([one.accuracy for one in courses], axis=0), np.mean([one.active for one in courses], axis=0)


def spent(course: Course, steps: int) -> IndividualLosses:
    """eps of every record after so many steps of a filtered course: Gaussian steps without sampling."""
    training = Training(course.noise, course.clip, 1)
    return individual_epsilons(count_array(course.norms[:steps], training, "raw", PARTS), DELTA)


def sampled_part(train: Data, test: Data, folder: Path | None) -> Iterator[str]:
    """Figure 1."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from individual_dpsgd import curve, renyi_epsilons, worst_counts

    norms, network = train_sgd(train)
    counts = count_array(norms, SGD, "raw", PARTS)
    with progress_bar("individual eps") as progress:
        losses = individual_epsilons(counts, SGD_DELTA, WIDTH, progress)
    worst = individual_epsilons(worst_counts(SGD, SGD_STEPS, PARTS), SGD_DELTA)
    renyi = renyi_epsilons(counts, SGD_DELTA)
    yield (f"Figure 1: {len(renyi)} records, {SGD_STEPS} DP-SGD steps, test accuracy {network.accuracy(test):.3f}, "
           f"delta = {SGD_DELTA}; worst case eps in [{worst.lower[0]:.4f}, {worst.upper[0]:.4f}]")
    for share in (0.1, 0.5, 0.9, 1.0):
        certified, estimate = (np.quantile(x, share, method="higher") for x in (losses.upper, renyi))
        yield f"{share:4.0%} of the records have eps <= {certified:.4f}; by Renyi accounting about {estimate:.4f}"
    row = int(np.argsort(losses.upper)[len(renyi) * 9 // 10])
    lower, upper, square = curve(counts, row, SGD_EPSILONS)
    place = int(np.argmin(np.abs(np.log(np.maximum(upper, 1e-300) / 1e-4))))
    yield (f"record {row}: mu about {float(square)**0.5:.4f}; delta({SGD_EPSILONS[place]}) in [{lower[place]:.4e}, "
           f"{upper[place]:.4e}]")
    if folder:
        gaussian = [float(gdp_delta(square, Fraction(eps), 6).upper_decimal) for eps in SGD_EPSILONS]
        with picture(folder, "figure_1", 1, 2) as (left, right):
            plot_curve(SGD_EPSILONS, lower, upper, left, {f"mu-GDP, mu = {float(square)**0.5:.3f}": gaussian})
            plot_histogram(losses, float(worst.upper[0]), axes=right, others={"Renyi accounting (estimates)": renyi})


def filtered_part(train: Data, test: Data, folder: Path | None) -> Iterator[str]:
    """Figures 2 and 6 to 10."""
    sweep = {f"{factor} x tuned": [train_filtered(train, test, EPSILON, Fraction(factor) * TUNED, seed)
                                   for seed in range(SEEDS)] for factor in FACTORS}
    others = {f"eps = {epsilon}": [train_filtered(train, test, epsilon, TUNED, seed) for seed in range(SEEDS)]
              for epsilon in OTHER_EPSILONS}
    for title, courses in (("Figure 6", sweep), ("Figures 9, 10", others)):
        for name, course in courses.items():
            accuracy, active = average(course)
            yield (f"{title}: {name}: test accuracy {accuracy[WORST_STEPS - 1]:.3f} after {WORST_STEPS} steps, "
                   f"{accuracy[-1]:.3f} after {STEPS}; {active[WORST_STEPS]:.0f} of {len(train.digits)} records active "
                   f"in step {WORST_STEPS + 1}, {active[-1]:.0f} in step {STEPS}")
    tuned, large = sweep["1 x tuned"][0], sweep["5 x tuned"][0]
    before = {"7: tuned clipping": spent(tuned, WORST_STEPS), "8: 5 x tuned": spent(large, WORST_STEPS)}
    for name, losses in before.items():
        near = float((losses.upper > 0.9 * float(Fraction(EPSILON))).mean())
        yield (f"Figure {name}: median eps {np.median(losses.upper):.3f} after {WORST_STEPS} steps, {near:.1%} of the "
               f"records within 10 % of {EPSILON}")
    tables = table_of_digits(tuned, train, test, {WORST_STEPS: before["7: tuned clipping"], STEPS: spent(tuned, STEPS)})
    for what, series in tables.items():
        for when, values in series.items():
            yield f"Figure 2: {what}, {when}: " + ", ".join(f"{digit}: {x:.2f}" for digit, x in enumerate(values))
    if folder:
        draw_filtered(sweep, others, before, tables, folder)


def table_of_digits(course: Course, train: Data, test: Data,
                    eps: Mapping[int, IndividualLosses]) -> dict[str, dict[str, list[float]]]:
    """Per digit: mean eps, mean loss in training and test, before the filter sets in and at the end."""
    def means(values: np.ndarray, data: Data) -> list[float]:
        return [float(values[data.digits == digit].mean()) for digit in range(10)]

    return {
        "mean eps": {f"after {steps} steps": means(eps[steps].upper, train) for steps in eps},
        "training loss": {f"after {steps} steps": means(course.losses[steps][0], train) for steps in eps},
        "test loss": {f"after {steps} steps": means(course.losses[steps][1], test) for steps in eps}}


class picture:
    """Panels on one picture, which is written at the end."""

    def __init__(self, folder: Path, name: str, rows: int, columns: int) -> None:
        from matplotlib.figure import Figure

        self.file, self.figure = folder / f"{name}.png", Figure(figsize=(6.5 * columns, 4.5 * rows),
                                                                layout="constrained")
        self.axes = list(self.figure.subplots(rows, columns, squeeze=False).flat)

    def __enter__(self) -> list:
        return self.axes

    def __exit__(self, *raised: object) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.figure.savefig(self.file)


def draw_filtered(sweep: Mapping[str, list[Course]], others: Mapping[str, list[Course]],
                  before: Mapping[str, IndividualLosses], tables: Mapping[str, Mapping[str, list[float]]],
                  folder: Path) -> None:
    """One picture for the sweep, one for each other eps, one for the digits, one for the histograms."""
    for name, courses in (("figure_6", sweep), *((f"figure_{9 + i}", {key: value})
                                                 for i, (key, value) in enumerate(others.items()))):
        means = {key: average(value) for key, value in courses.items()}
        with picture(folder, name, 1, 2) as (left, right):
            for (key, (accuracy, _)), colour in zip(means.items(), COLOURS, strict=False):
                left.plot(np.arange(1, STEPS + 1), accuracy, label=key, color=colour)
            left.axvline(WORST_STEPS + 1, color="tab:red", linestyle="--")
            left.set(xlabel="step", ylabel=f"test accuracy, mean of {SEEDS} trainings")
            left.legend(fontsize="small")
            plot_active({key: active.tolist() for key, (_, active) in means.items()}, right, starts=WORST_STEPS + 1)
    with picture(folder, "figure_2", 1, 3) as panels:
        for (what, series), panel in zip(tables.items(), panels, strict=True):
            plot_groups([str(digit) for digit in range(10)], series, what, panel)
    with picture(folder, "figures_7_8", 1, 2) as panels:
        for (name, losses), panel in zip(before.items(), panels, strict=True):
            plot_histogram(losses, float(Fraction(EPSILON)), axes=panel)
            panel.set_title(f"Figure {name}", fontsize="medium")


def main(folder: str | None = None) -> None:
    """Train, print, and draw if a folder is named."""
    train, test = load()
    place = Path(folder) if folder else None
    for part in (sampled_part, filtered_part):
        for line in part(train, test, place):
            print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plot", metavar="FOLDER")
    main(parser.parse_args().plot)
