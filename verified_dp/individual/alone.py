"""One record by itself, where no grid encloses it well: the contour method on the composition of its own steps.

A single step has a closed form. From the readings the composition is exact. From counts alone each step lies between
two sensitivities, and delta grows with each of them (T119).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.engines.closed import has_closed_form
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.exact import square_root
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.brackets import doubles_around
from verified_dp.individual.counts import Counts
from verified_dp.individual.squares import HULL_SLACK, SQUARE_SLACK
from verified_dp.individual.training import Training
from verified_dp.search.deadline import Budget
from verified_dp.search.doubles import double_above, double_below
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import bracket_epsilon, is_below

SECONDS = 30.0
"""For one record."""
NOTHING = Fraction(0), Fraction(0)
LEAST_VARIANCE = Fraction(1, 10**20)
"""A step with a smaller v = r^2 / sigma^2 lies between none and one with this v: the search takes no larger noise."""


@dataclass(frozen=True)
class Steps:
    """`count` steps whose squared relative sensitivities lie between two numbers."""

    least: Fraction
    most: Fraction
    count: int


@proved_by("T118-individual-enclosure")
def steps_of_readings(readings: Mapping[float, int], training: Training) -> list[Steps]:
    """The steps of a record from its norms, exact: r = min(norm, clipping) / clipping."""
    ratios = ((min(Fraction(norm), training.clipping) / training.clipping, count) for norm, count in readings.items())
    return [Steps(ratio * ratio, ratio * ratio, count) for ratio, count in ratios]


@proved_by("T115-squared-sensitivity", "T119-rounded-sensitivities")
def steps_of_counts(counts: Counts, row: int) -> list[Steps]:
    """The steps of a record from its counts: a bucket's only step is known to 2^-47, others to lie in the bucket.

    None of them is above the bucket's sum.
    """
    edges, found = counts.training.square_edges(counts.parts), []
    for bucket in counts.steps[row].nonzero()[0]:
        total, count = counts.square_of(row, int(bucket)), int(counts.steps[row, bucket])
        least = max(edges[bucket] - HULL_SLACK, total - SQUARE_SLACK if count == 1 else Fraction(0), Fraction(0))
        found.append(Steps(least, min(edges[bucket + 1] + HULL_SLACK, total, Fraction(1)), count))
    return found


@alone
@proved_by("T118-individual-enclosure", "T119-rounded-sensitivities")
def enclose_epsilon(steps: Iterable[Steps], training: Training, target: Fraction, digits: int) -> tuple[float, float]:
    """lower <= eps_i(target) <= upper; upper may be inf. Ends that the bracket puts below 0 are 0, as eps_i >= 0."""
    ends = [_ends(order, target, digits) if order else NOTHING for order in _orders(steps, training)]
    lower, upper = ends[0][0], ends[-1][1]
    return max(0.0, doubles_around(lower)[0]), float("inf") if upper is None else max(0.0, doubles_around(upper)[1])


def _ends(order: OneDirection, target: Fraction, digits: int) -> tuple[Fraction, Fraction | None]:
    """Ends around eps(target); 0 is tried first: estimates for few steps may exceed the target where delta does not."""
    if is_below(order.enclose(Fraction(0), 8.0, _method(order), Budget(SECONDS)), target):
        return NOTHING
    return bracket_epsilon(order, target, digits, _method(order), Budget(SECONDS)).ends


@alone
@proved_by("T118-individual-enclosure", "T119-rounded-sensitivities")
def enclose_delta(steps: Iterable[Steps], training: Training, epsilon: Fraction, digits: int) -> tuple[float, float]:
    """lower <= delta_i(epsilon) <= upper."""
    bounds = [order.enclose(epsilon, 3.4 * digits, _method(order), Budget(SECONDS)).bounds if order else None
              for order in _orders(steps, training)]
    lower = max(double_below(bounds[0].lower), 0.0) if bounds[0] else 0.0
    return lower, double_above(bounds[-1].upper) if bounds[-1] else 0.0


def _method(order: OneDirection) -> str:
    """A single step's closed form where it applies: the contour may take minutes there."""
    return "closed-form" if has_closed_form(order.loss) else "contour"


def _orders(steps: Iterable[Steps], training: Training) -> list[OneDirection | None]:
    """The compositions of the least and of the most sensitivities, once where they are the same; None: no step."""
    compositions: list[Counter[Fraction]] = [Counter(), Counter()]
    for part in steps:
        for composition, square in zip(compositions, _in_range(part, training), strict=True):
            composition[square] += part.count if square else 0
    return [_order(+composition, training) for composition in compositions[: 1 + (compositions[0] != compositions[1])]]


def _in_range(part: Steps, training: Training) -> tuple[Fraction, Fraction]:
    """The least and the most square, rounded outwards to 0 or LEAST_VARIANCE where they are too small."""
    floor = LEAST_VARIANCE * training.noise_multiplier**2
    return part.least if part.least >= floor else Fraction(0), max(part.most, floor) if part.most else Fraction(0)


def _order(composition: Counter[Fraction], training: Training) -> OneDirection | None:
    laws = [(SampledGaussianLoss(training.sampling_probability, square_root(training.noise_multiplier**2 / square),
                                 training.order), count) for square, count in sorted(composition.items())]
    return OneDirection(ComposedLoss(training.order, tuple(laws), Fraction(0))) if laws else None
