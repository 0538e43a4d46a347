"""The curves of a page, every point between proved ends: delta over epsilon, trade-off, epsilon over steps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from time import monotonic

from verified_dp.core.kernel.composition import Composition
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.ends import End
from verified_dp.core.kernel.errors import Undecided, Unsupported
from verified_dp.profile import PrivacyProfile

DIGITS = 3
"""Significant digits of a point: a line on a page is a three hundredth of its height."""


@dataclass(frozen=True)
class Point:
    """lower <= the curve at `at` <= upper."""

    at: Fraction
    lower: End
    upper: End


def delta_curve(profile: PrivacyProfile, epsilons: Sequence[Fraction], seconds: float) -> list[Point]:
    """delta at each epsilon, in ascending order; nothing where no method applies."""
    try:
        found = profile.curve(epsilons=epsilons, digits=DIGITS, max_seconds=seconds)
    except (Unsupported, Undecided):
        return []
    points = [Point(at, one.lower, one.upper) for at, one in zip(found.points, found, strict=True)]
    return rising(points[::-1])[::-1]


def rising(points: Sequence[Point]) -> list[Point]:
    """The points of a curve that never falls, each end as good as those of its neighbours make it."""
    lows = accumulate((point.lower for point in points), max)
    highs = [*accumulate((point.upper for point in reversed(points)), min)][::-1]
    return [Point(point.at, low, high) for point, low, high in zip(points, lows, highs, strict=True)]


def step_curve(profile: PrivacyProfile, delta: Fraction, parts: int, seconds: float) -> list[Point]:
    """epsilon at delta after 1/parts, 2/parts, ... of every mechanism's steps; `at` counts steps."""
    total = sum(k for _, k in profile.composition.parts)
    found, end = [], monotonic() + seconds
    for count in sorted({-(-total * i // parts) for i in range(1, parts + 1)}):
        composition = shortened(profile.composition, count)
        with suppress(Unsupported, Undecided):
            some = PrivacyProfile(composition, profile.relation)
            eps = some.epsilon(delta, DIGITS, max_seconds=max((end - monotonic()) / 2, seconds / parts / 4))
            found.append(Point(Fraction(sum(k for _, k in composition.parts)), eps.lower, eps.upper))
    return rising(found)


def shortened(composition: Composition, count: int) -> Composition:
    """The composition with about `count` of its steps: the same share of every part, rounded up."""
    total = sum(k for _, k in composition.parts)
    return Composition(tuple((mechanism, -(-k * count // total)) for mechanism, k in composition.parts))


def tradeoff_curve(profile: PrivacyProfile, rates: Sequence[Fraction], seconds: float) -> list[Point]:
    """The least false negative rate at each false positive rate, and at 0 and 1; later ones only while there is time.

    rates: in the order in which they are asked for.
    """
    attack, end, found = profile.tradeoff(DIGITS, seconds), monotonic() + seconds, list[Point]()
    for rate in rates:
        beta = attack.beta(rate, DIGITS)
        found.append(Point(rate, beta.lower, beta.upper))
        if monotonic() > end:
            break
    ends = Point(Fraction(0), Dyadic(0), Dyadic(1)), Point(Fraction(1), Dyadic(0), Dyadic(0))
    return rising(sorted([*found, *ends], key=lambda point: -point.at))[::-1]
