"""A schedule of many steps that all differ, enclosed between two of few steps: noise and sampling rounded both ways.

What is proved of the two holds for the schedule, but no witness for its own law comes with it: nothing is certified
with buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import Composition, Grouped, Mechanism
from verified_dp.core.kernel.ends import End
from verified_dp.core.kernel.exact import MAX_COUNT
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.search.deadline import Budget

COARSEST = 2
"""Buckets along the noise, or the probability, to begin with: the cheapest answer with two useful ends."""
_BITS = 48
"""Of a rounded number whose own has a longer denominator."""
_SLOWER = 2.5
"""How much longer twice as many buckets take."""
_FEWER = 0.7
"""Where more of the steps remain distinct than this share, buckets save too little."""


@dataclass(frozen=True)
class Step:
    """A Gaussian of this noise multiplier on a Poisson sample, `count` times."""

    noise: Fraction
    probability: Fraction
    count: int


def buckets(composition: Composition, fineness: int) -> tuple[list[list[Step]], list[tuple[Mechanism, int]]]:
    """Choose which steps share a bucket, and which parts are left alone.

    fineness: buckets along the wider of both axes, log noise and log probability.
    """
    steps: list[Step] = []
    rest: list[tuple[Mechanism, int]] = []
    for mechanism, count in composition.merged():
        inner = mechanism.mechanism if isinstance(mechanism, Grouped) else mechanism
        step = _read(inner, count)
        if step is None:
            rest.append((inner, count))
        else:
            steps.append(step)
    cells: dict[object, list[Step]] = {}
    for key, step in zip(_cells(steps, fineness, composition.group_size), steps, strict=True):
        cells.setdefault(key, []).append(step)
    return list(cells.values()), rest


def _read(mechanism: Mechanism, count: int) -> Step | None:
    """A sampled Gaussian; None for what is not rounded."""
    if not isinstance(mechanism, PoissonSampled) or not isinstance(mechanism.mechanism, Gaussian):
        return None
    noise, probability = mechanism.mechanism.noise_multiplier, mechanism.probability
    return Step(noise, probability, count) if noise is not None and 0 < probability < 1 else None


def _cells(steps: list[Step], fineness: int, group_size: int) -> Iterator[tuple[object, object]]:
    """A square of the plane of log noise and log probability for each step; of groups the probability stays (T140)."""
    logs = [(_log(step.noise), _log(step.probability)) for step in steps]
    if not logs:
        return
    low = [min(axis) for axis in zip(*logs, strict=True)]
    spread = max(max(axis) - least for axis, least in zip(zip(*logs, strict=True), low, strict=True))
    scale = fineness / spread if spread else 0.0
    for step, (noise, probability) in zip(steps, logs, strict=True):
        along, across = (min(math.floor((value - least) * scale), fineness - 1)
                         for value, least in zip((noise, probability), low, strict=True))
        yield along, across if group_size == 1 else step.probability


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


@proved_by("T140-bucketed-schedule")
def round_schedule(composition: Composition, fineness: int) -> tuple[Composition, Composition]:
    """(a composition whose delta(eps) is at most the given one's, one whose delta is at least that), at every eps.

    Of a bucket's steps the first has the largest noise and the smallest probability, the second the smallest noise and
    the largest probability.
    """
    (cells, rest), size = buckets(composition, fineness), composition.group_size
    below, above = list(rest), list(rest)
    for cell in cells:
        noises, chances = [step.noise for step in cell], [step.probability for step in cell]
        small, large = (_down(min(chances)), min(_up(max(chances)), Fraction(1))) if size == 1 else (chances[0],) * 2
        for count in _counts(cell):
            below.append((PoissonSampled(Gaussian(_up(max(noises))), small), count))
            above.append((PoissonSampled(Gaussian(_down(min(noises))), large), count))
    return Composition(tuple(below)).for_groups(size), Composition(tuple(above)).for_groups(size)


def _counts(cell: list[Step]) -> list[int]:
    """How often a bucket's step is made: in one number, or in several where no part may have so many."""
    count = sum(step.count for step in cell)
    return [count] if count <= MAX_COUNT else [step.count for step in cell]


def _down(value: Fraction) -> Fraction:
    """The value, or a short dyadic a little below a long one."""
    unit = _unit(value)
    return value if unit is None else math.floor(value / unit) * unit


def _up(value: Fraction) -> Fraction:
    """The value, or a short dyadic a little above a long one."""
    unit = _unit(value)
    return value if unit is None else math.ceil(value / unit) * unit


def _unit(value: Fraction) -> Fraction | None:
    """A power of two about 2^-_BITS of the value; None where that is short enough as it is."""
    top, bottom = value.numerator.bit_length(), value.denominator.bit_length()
    return None if bottom <= 2 * _BITS else Fraction(2) ** (top - bottom - _BITS)


@proved_by("T140-bucketed-schedule", "T13-epsilon-of-delta")
def enclose_in_buckets(composition: Composition, ask: Callable[[Composition, float], Enclosure],
                       budget: Budget) -> tuple[End, End, tuple[str, ...]] | None:
    """Ends of delta, or of epsilon, from ever more buckets within the budget, and the methods that gave them.

    ask: encloses it for a composition in so many seconds. None where buckets would not save steps.
    """
    fineness = COARSEST
    best: tuple[End, End, tuple[str, ...]] | None = None
    while True:
        before = budget.elapsed
        less, more = round_schedule(composition, fineness)
        if not _saves_steps(composition, more):
            return best
        budget.say(f"{len(composition.merged())} distinct steps rounded to {len(more.merged())}, both ways")
        upper = ask(more, budget.left / 2)
        lower = ask(less, budget.left)
        best = _narrowed(best, lower, upper)
        if _SLOWER * (budget.elapsed - before) > budget.left or budget.spent:
            return best
        fineness *= 2


def has_buckets(composition: Composition) -> bool:
    """Whether the coarsest buckets save steps."""
    return _saves_steps(composition, round_schedule(composition, COARSEST)[1])


def _saves_steps(composition: Composition, rounded: Composition) -> bool:
    return len(rounded.merged()) <= _FEWER * len(composition.merged())


def _narrowed(best: tuple[End, End, tuple[str, ...]] | None, lower: Enclosure,
              upper: Enclosure) -> tuple[End, End, tuple[str, ...]]:
    low, high, methods = best or (lower.lower, upper.upper, ())
    names = dict.fromkeys((*methods, *upper.methods, *lower.methods))
    return max(low, lower.lower), min(high, upper.upper), tuple(names)
