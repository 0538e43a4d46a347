"""One step whose r lies between two ends, enclosed by chords between laws (T175): a dominating and a dominated mixture.

In terms of T = 2 Phi(r / (2 sigma)) - 1, every H_alpha of a sampled Gaussian step is convex: a chord lies above it, and
a chord through two lower points, drawn on, below. Both are mixtures of two laws, with the share t of the second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

from flint import arb, ctx

from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.gaussian.single_step import SINGLE_STEP, StepValue
from verified_dp.core.kernel.balls import BOUND_BITS, ball, integer_below
from verified_dp.core.kernel.exact import square, square_root
from verified_dp.core.kernel.law import PlainLaw
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.squares import HULL_SLACK
from verified_dp.individual.training import Training
from verified_dp.search.doubles import double_above

SHARE_BITS = 40
"""The share of a drawn-on chord is rounded down to so many bits."""


@dataclass(frozen=True)
class DrawnOn(PlainLaw):
    """The law (1 + s) law - s lower, where that is a measure: `is_measure`."""

    law: SampledGaussianLoss
    lower: SampledGaussianLoss
    share: Fraction

    @property
    def order(self) -> str:
        return self.law.order

    @proved_by("T175-chords-of-sensitivity")
    def is_measure(self) -> bool:
        """s >= 0 and (r/r') e^{(v - v')/8} s <= 1 + s."""
        with ctx.workprec(BOUND_BITS):
            v, below = (variance(law) for law in (self.law, self.lower))
            ratio = (ball(v) / ball(below)).sqrt() * (ball(v - below) / 8).exp()
            return self.share >= 0 and bool(ratio * ball(self.share) <= ball(1 + self.share))

    @proved_by("T175-chords-of-sensitivity")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        return self._drawn(*(value_at(law, epsilon).hockey_stick for law in (self.law, self.lower)))

    @proved_by("T175-chords-of-sensitivity")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        at, lower = value_at(self.law, x), value_at(self.lower, x)
        return self._drawn(at.above, lower.above), self._drawn(at.below, lower.below)

    def enclose_infinity_mass(self) -> arb:
        return arb(0)

    @proved_by("T175-chords-of-sensitivity")
    def _drawn(self, at: arb, lower: arb) -> arb:
        return at + ball(self.share) * (at - lower)


@dataclass(frozen=True)
class Remembered(PlainLaw):
    """A law whose values at one place are asked for by several chords, one after the other."""

    law: SampledGaussianLoss

    @property
    def order(self) -> str:
        return self.law.order

    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        return value_at(self.law, epsilon).hockey_stick

    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        value = value_at(self.law, x)
        return value.above, value.below

    def enclose_infinity_mass(self) -> arb:
        return arb(0)


@dataclass(frozen=True)
class _Place:
    ends: tuple[Any, ...]
    ball: arb = field(compare=False)


def value_at(law: SampledGaussianLoss, x: arb) -> StepValue:
    """Enclose the hockey-stick divergence and both tails at every point of a ball."""
    return _value_at(law, _Place((*x.mid().man_exp(), *x.rad().man_exp()), x), ctx.prec)


@lru_cache(2**13)
def _value_at(law: SampledGaussianLoss, place: _Place, prec: int) -> StepValue:
    return SINGLE_STEP[law.order](law.sampling_probability, law.noise_multiplier, place.ball)


StepLaw = SampledGaussianLoss | DrawnOn | None
"""None: no step at all."""


@dataclass(frozen=True)
class Chord:
    """A step in a bucket against a mixture of two laws: the share of `end` exceeds the linear one by at most `lag`."""

    start: StepLaw
    end: StepLaw
    lag: float


def variance(law: SampledGaussianLoss) -> Fraction:
    """v = 1 / (noise multiplier)^2."""
    return 1 / square(law.noise_multiplier)


@proved_by("T175-chords-of-sensitivity")
def chords_of(training: Training, parts: int, buckets: Sequence[int], up: bool) -> list[Chord]:
    """For each bucket a chord above (up) or below every step in it."""
    edges = training.square_edges(parts)
    ends = [min(edge + HULL_SLACK, Fraction(1)) if up else edge - HULL_SLACK for edge in edges]
    make = _chord_above if up else _chord_below
    return [make(training, edges, ends, bucket) for bucket in buckets]


@proved_by("T175-chords-of-sensitivity")
def _chord_above(training: Training, edges: Sequence[Fraction], ends: Sequence[Fraction], bucket: int) -> Chord:
    """The upper end alone where there is no lower one, or where the heights of both cannot be told apart."""
    end = law_at(training, ends[bucket + 1])
    if bucket > 0 and isfinite(lag := _lag(training, edges, ends, bucket)):
        return Chord(law_at(training, ends[bucket]), end, lag)
    return Chord(end, end, 0.0)


@proved_by("T175-chords-of-sensitivity")
def _chord_below(training: Training, edges: Sequence[Fraction], ends: Sequence[Fraction], bucket: int) -> Chord:
    """The chord through the two ends below, drawn on to the bucket's upper end; the lower end alone where it cannot."""
    if bucket == 0:
        return Chord(None, None, 0.0)
    start = law_at(training, ends[bucket])
    if bucket > 1:
        below, at, above = (height(end / training.noise_multiplier**2) for end in ends[bucket - 1 : bucket + 2])
        lag, ratio = _lag(training, edges, ends, bucket), (above - at) / (at - below)
        share = Fraction(integer_below(ratio * 2**SHARE_BITS) if ratio.is_finite() else -1, 2**SHARE_BITS)
        end = DrawnOn(start, law_at(training, ends[bucket - 1]), share)
        if end.is_measure() and isfinite(lag):
            return Chord(start, end, lag)
    return Chord(start, start, 0.0)


@proved_by("T175-chords-of-sensitivity")
def law_at(training: Training, square: Fraction) -> SampledGaussianLoss:
    """One step at r^2 = square > 0."""
    noise = square_root(training.noise_multiplier**2 / square)
    return SampledGaussianLoss(training.sampling_probability, noise, training.order)


@proved_by("T175-chords-of-sensitivity")
def height(v: Fraction) -> arb:
    """T(v) = 2 Phi(sqrt(v) / 2) - 1, the total variation of one step over q."""
    with ctx.workprec(BOUND_BITS):
        return (ball(v) / 8).sqrt().erf()


@proved_by("T175-chords-of-sensitivity")
def _lag(training: Training, edges: Sequence[Fraction], ends: Sequence[Fraction], bucket: int) -> float:
    """Bound t - theta, theta the linear share as counted: (f0 - 1)(1 - f1)/(f0 - f1) and the slack of the ends."""
    low, high = (end / training.noise_multiplier**2 for end in ends[bucket : bucket + 2])
    with ctx.workprec(BOUND_BITS):
        rise = ball(high - low) / (height(high) - height(low))
        first, last = (rise * (-ball(v) / 8).exp() / (8 * arb.pi() * ball(v)).sqrt() for v in (low, high))
        slack = 6 * HULL_SLACK / (edges[bucket + 1] - edges[bucket])
        return double_above((first - 1) * (1 - last) / (first - last) + ball(slack))
