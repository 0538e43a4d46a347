"""Questions in floats answered outward in floats: epsilons, deltas and true positive rates that may be stated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.kernel.balls import ball, upper_dyadic
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.ends import ball_of
from verified_dp.interop.reading import Parts, Reading, composition_of
from verified_dp.profile import PrivacyProfile, privacy_profile

_GRID = tuple(Fraction(n, 8) for n in range(0, 81, 4))
_ROUGH = 3  # digits of each delta on the grid


def profile_of(parts: Parts, relation: Relation) -> PrivacyProfile:
    """The privacy profile of converted parts."""
    return privacy_profile(composition_of(parts), relation)


def upper_epsilon(profile: PrivacyProfile, delta: Fraction, digits: int | None, seconds: float | None = None) -> float:
    """A double that is at least epsilon(delta): the pure epsilon at delta <= 0, 0 from delta = 1 on."""
    return profile.epsilon(min(max(delta, Fraction(0)), Fraction(1)), digits, max_seconds=seconds).upper_float


def upper_delta(profile: PrivacyProfile, epsilon: Fraction, digits: int | None, seconds: float | None = None) -> float:
    """A double that is at least delta(epsilon)."""
    return profile.delta(epsilon, digits, max_seconds=seconds).upper_float


def upper_true_positive_rates(profile: PrivacyProfile, rates: Iterable[Fraction]) -> list[float]:
    """Doubles that are at least the true positive rate of any test at each false positive rate.

    From delta at a grid of epsilons: both orders have the larger of their curves, so that nothing is gained by a
    sharper test of one of them.
    """
    curve = [(epsilon, profile.delta(epsilon, _ROUGH)) for epsilon in _GRID]
    return [min(_bound_rate(epsilon, delta, rate) for epsilon, delta in curve) for rate in rates]


@proved_by("T155-rates-from-deltas")
def _bound_rate(epsilon: Fraction, delta: Enclosure, rate: Fraction) -> float:
    """min(1, delta + e^eps a, 1 - e^-eps (1 - delta - a)) rounded up."""  # T155 (1)
    with ctx.workprec(64):
        size, top, a = ball(epsilon).exp(), ball_of(delta.upper), ball(rate)
        bound = arb(1).min(top + size * a).min(1 - (1 - top - a) / size)
        exact = upper_dyadic(bound)
    near = float(exact)
    return min(1.0, near if near >= exact else math.nextafter(near, math.inf))


def read_rates(rates: object, reading: Reading) -> list[Fraction]:
    """False positive rates as exact numbers in [0, 1]."""
    return [reading.probability(rate, "false_positive_rates") for rate in rates]  # type: ignore[attr-defined]
