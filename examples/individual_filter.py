"""May those who cost little go on contributing after the worst-case budget is used up, and whom does that help?

Full-batch gradient descent (DP-GD) of a logistic regression on generated data of three groups. Before each step every
record states its exact cost mu^2 = (its gradient norm / noise)^2; an individual GDP filter lets those take part whose
own budget allows it. A record clipped in every step has used its budget up after 50 steps; the training goes on to 100.
Printed for each group, after 50 and after 100 steps: what the records have lost, and the losses in training and test.
The same training under an individual Renyi filter for the same (eps, delta) shows what Renyi accounting would cost.

    python examples/individual_filter.py [figure.png]

Everybody has the filter's (eps, delta). What is printed besides shows the mechanism at work on data that are nobody's:
with real ones, who is active, how many are, what they have lost and how they are fitted must not be published.
(The noise here is numpy's; a release needs a sampler made for it. Fractions and record names keep this script close to
the paper; for many records `individual.array_filter` decides the same from one array of norms.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from verified_dp.adaptive.budgets import gdp_budget, gdp_epsilon, renyi_budget, root_decimal, squared_ratio
from verified_dp.adaptive.filters import IndividualFilter, IndividualGDPFilter, IndividualRenyiFilter
from verified_dp.individual.plots import plot_active, plot_groups

RECORDS, FEATURES, WORST_STEPS, STEPS = 1500, 6, 50, 100
EPSILON, DELTA, ORDERS = "2.75", "1e-5", range(8, 41)
GROUPS = ("typical", "unusual", "mislabelled")
CLIPPING, RATE = Fraction(1, 2), 4.0
SPARE = 2.0**-40  # of a norm or a clipped gradient: far above their roundings in double precision


class Data(NamedTuple):
    """Features, labels in {0, 1}, and each record's group as its place in GROUPS."""

    features: np.ndarray
    labels: np.ndarray
    group: np.ndarray

    @classmethod
    def generate(cls, rng: np.random.Generator) -> Data:
        """Unusual records follow another rule than typical ones; a third of the mislabelled have the wrong label."""
        group = rng.choice(3, size=RECORDS, p=[0.7, 0.15, 0.15])
        features = np.column_stack([rng.normal(size=(RECORDS, FEATURES)) / np.sqrt(FEATURES), np.ones(RECORDS)])
        rules = np.array([[6.0] * FEATURES, [3.0, -3.0] * (FEATURES // 2), [6.0] * FEATURES])
        odds = (features[:, :-1] * rules[group]).sum(axis=1)
        wrong = (group == 2) & (rng.random(RECORDS) < 1 / 3)
        return cls(features, ((rng.random(RECORDS) < 1 / (1 + np.exp(-odds))) ^ wrong).astype(float), group)

    def losses(self, weights: np.ndarray) -> np.ndarray:
        """The logistic loss of each record."""
        return np.logaddexp(0, (1 - 2 * self.labels) * (self.features @ weights))

    def gradients(self, weights: np.ndarray) -> np.ndarray:
        """The gradient of each record's loss."""
        return (1 / (1 + np.exp(-self.features @ weights)) - self.labels)[:, None] * self.features


class Course(NamedTuple):
    """What happened: the number of active records in each step, the weights and the filter's state after each."""

    active: list[int]
    weights: list[np.ndarray]
    states: list[IndividualFilter]


def train(data: Data, state: IndividualFilter, noise: Fraction, cost: Callable[[Fraction], Fraction]) -> Course:
    """DP-GD in which the filter decides, before each step, who takes part; cost: of (norm / noise)^2."""
    rng, clip, course = np.random.default_rng(5), float(CLIPPING), Course([], [], [])
    weights = np.zeros(data.features.shape[1])
    for _ in range(STEPS):
        gradients = data.gradients(weights)
        norms = np.linalg.norm(gradients, axis=1)
        gradients *= np.minimum(1, clip * (1 - SPARE) / np.maximum(norms, 1e-300))[:, None]
        bounds = np.minimum(norms * (1 + SPARE), clip)  # of the clipped gradients, above every rounding
        decision = state.charge({i: cost(squared_ratio(Fraction(x), noise)) for i, x in enumerate(bounds.tolist())})
        total = gradients[sorted(decision.active)].sum(axis=0) + rng.normal(scale=float(noise), size=len(weights))
        weights, state = weights - RATE * total / RECORDS, decision.state
        course.active.append(len(decision.active))
        course.weights.append(weights)
        course.states.append(state)
    return course


def run(rng: np.random.Generator) -> tuple[Data, dict[str, Course]]:
    """The data, and the training under each of the two filters."""
    data, budget = Data.generate(rng), gdp_budget(EPSILON, DELTA)
    order = max(ORDERS, key=lambda a: renyi_budget(EPSILON, DELTA, a) / a)  # most steps for one always clipped
    noise = CLIPPING * root_decimal(WORST_STEPS / budget, 6, up=True)
    gdp = IndividualGDPFilter.open(budget, range(RECORDS))
    renyi = IndividualRenyiFilter.open(renyi_budget(EPSILON, DELTA, order), range(RECORDS), renyi_order=order)
    return data, {"GDP filter": train(data, gdp, noise, lambda square: square),
                  f"Renyi filter, order {order}": train(data, renyi, noise, lambda square: order * square / 2)}


def means(values: np.ndarray, data: Data) -> list[float]:
    """The mean of each group."""
    return [float(values[data.group == g].mean()) for g in range(len(GROUPS))]


def spent(state: IndividualFilter) -> np.ndarray:
    """eps at DELTA of what each record has spent, as Gaussian DP: certified upper ends."""
    return np.array([float(gdp_epsilon(square, DELTA, 4).upper_decimal) for square in state.spent.values()])


def main(figure: str | None = None) -> None:
    """Train with the filters, print the groups before and after filtering, and draw if a file is named."""
    rng = np.random.default_rng(11)
    data, courses = run(rng)
    test, course = Data.generate(rng), courses["GDP filter"]
    print(f"every record has ({EPSILON}, {DELTA})-DP; {RECORDS} records, {STEPS} steps")
    for name, other in courses.items():
        first = next((i + 1 for i, active in enumerate(other.active) if active < RECORDS), None)
        print(f"{name}: first drop-out in step {first}, {other.active[-1]} records active in step {STEPS}")
    tables = {}
    for steps in (WORST_STEPS, STEPS):
        weights = course.weights[steps - 1]
        tables[steps] = {f"mean eps spent, delta = {DELTA}": means(spent(course.states[steps - 1]), data),
                         "mean loss, training": means(data.losses(weights), data),
                         "mean loss, test": means(test.losses(weights), test)}
        for what, values in tables[steps].items():
            row = ", ".join(f"{group} {value:.3f}" for group, value in zip(GROUPS, values, strict=True))
            print(f"after {steps:3} steps, {what}: {row}")
    if figure:
        draw(courses, tables, figure)


def draw(courses: dict[str, Course], tables: dict[int, dict[str, list[float]]], file: str) -> None:
    """Four panels: active records, and each of the means before and after filtering."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(12, 8), layout="constrained")
    axes = picture.subplots(2, 2).flat
    plot_active({name: course.active for name, course in courses.items()}, axes[0], starts=WORST_STEPS + 1)
    for what, panel in zip(tables[STEPS], axes[1:], strict=True):
        series = {f"after {steps} steps": table[what] for steps, table in tables.items()}
        plot_groups(GROUPS, series, what, panel, float(EPSILON) if "eps" in what else None)
    picture.savefig(file)


if __name__ == "__main__":
    main(*sys.argv[1:2])
