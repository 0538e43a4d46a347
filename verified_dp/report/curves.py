"""The curves of a page, every point between proved ends: delta over epsilon, trade-off, epsilon over steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from time import monotonic

from flint import arb, ctx

from verified_dp.core.balls import ball, ball_of, lower_dyadic, upper_dyadic
from verified_dp.core.bounds import Bounds, reverse_bounds
from verified_dp.core.composition import Composition
from verified_dp.core.ends import End
from verified_dp.core.errors import Undecided, Unsupported
from verified_dp.core.exact import Number
from verified_dp.core.locks import alone
from verified_dp.profile import PrivacyProfile

BITS = 128
DIGITS = 3
"""Significant digits of a point: a line on a page is a three hundredth of its height."""


@dataclass(frozen=True)
class Point:
    """lower <= the curve at `at` <= upper."""

    at: Fraction
    lower: End
    upper: End


def delta_curve(profile: PrivacyProfile, epsilons: Sequence[Fraction], seconds: float) -> list[Point]:
    """delta at each epsilon, in ascending order; a point that cannot be enclosed is left out."""
    found, clock = [], _Clock(seconds, len(epsilons))
    for eps in epsilons:
        with suppress(Unsupported, Undecided):
            delta = profile.delta(eps, DIGITS, max_seconds=clock.share())
            found.append(Point(eps, delta.lower, delta.upper))
    return rising(found[::-1])[::-1]


def rising(points: Sequence[Point]) -> list[Point]:
    """The points of a curve that never falls, each end as good as those of its neighbours make it."""
    lows = accumulate((point.lower for point in points), max)
    highs = [*accumulate((point.upper for point in reversed(points)), min)][::-1]
    return [Point(point.at, low, high) for point, low, high in zip(points, lows, highs, strict=True)]


class _Clock:
    """Seconds for many questions: each may take four times its share while there is enough left."""

    def __init__(self, seconds: float, questions: int) -> None:
        self._end, self._share = monotonic() + seconds, seconds / questions

    def share(self) -> float:
        """For the next question."""
        return min(max(self._end - monotonic(), self._share / 4), 4 * self._share)


def step_curve(profile: PrivacyProfile, delta: Fraction, parts: int, seconds: float) -> list[Point]:
    """epsilon at delta after 1/parts, 2/parts, ... of every mechanism's steps; `at` counts steps."""
    total = sum(k for _, k in profile.composition.parts)
    found, clock = [], _Clock(seconds, parts)
    for count in sorted({-(-total * i // parts) for i in range(1, parts + 1)}):
        composition = shortened(profile.composition, count)
        with suppress(Unsupported, Undecided):
            some = PrivacyProfile(composition, profile.relation)
            eps = some.epsilon(delta, DIGITS, max_seconds=clock.share())
            found.append(Point(Fraction(sum(k for _, k in composition.parts)), eps.lower, eps.upper))
    return rising(found)


def shortened(composition: Composition, count: int) -> Composition:
    """The composition with about `count` of its steps: the same share of every part, rounded up."""
    total = sum(k for _, k in composition.parts)
    return Composition(tuple((mechanism, -(-k * count // total)) for mechanism, k in composition.parts))


@alone
def tradeoff_curve(profile: PrivacyProfile, points: Sequence[Point], rates: Iterable[Number],
                   seconds: float) -> list[Point]:
    """The smallest false negative rate at each false positive rate that delta(eps) allows, from enclosures of delta.

    f(a) = sup over real eps of 1 - delta(eps) - e^eps a. Every eps gives a lower end. For the upper one delta is
    bounded from below between two eps: it falls, and it is convex in e^eps.
    """
    with ctx.workprec(BITS):
        known = [*_mirrored(profile, points, seconds), *_bounded(points)]
        tops = [*_vertices(known)]
        return [_beta(Fraction(rate), known, tops) for rate in rates]


Known = tuple[arb, arb, arb]
"""e^eps, and delta's two ends."""


def _bounded(points: Iterable[Point]) -> list[Known]:
    return [(ball(point.at).exp(), ball_of(point.lower), ball_of(point.upper)) for point in points]


def _mirrored(profile: PrivacyProfile, points: Sequence[Point], seconds: float) -> list[Known]:
    """The same at -eps: by reversal where both orders count or are equal (T16), else asked again."""
    if len(profile.losses) == 1 and profile.losses[0].order in ("remove", "add"):
        return _bounded(delta_curve(profile, [-point.at for point in reversed(points) if point.at], seconds))
    found = []
    for point in reversed([point for point in points if point.at]):
        here = reverse_bounds(Bounds(ball_of(point.lower), ball_of(point.upper), {}), -point.at)
        found.append(((-ball(point.at)).exp(), here.lower, here.upper))
    return found


def _vertices(known: Sequence[Known]) -> Iterable[tuple[arb, arb]]:
    """(e^eps, a lower bound of delta there) at the kinks of a curve below delta that is linear between them."""
    yield known[0][0], 1 - known[0][0]  # delta >= 1 - e^eps, all the way to e^eps = 0
    for i, ((left, left_low, _), (right, right_low, _)) in enumerate(pairwise(known)):
        yield right, right_low
        kink = _crossing(known[i - 1], known[i], known[i + 1], known[i + 2]) if 0 < i < len(known) - 2 else None
        if kink is None:
            yield left, right_low
        else:
            yield left, left_low
            yield kink
    yield known[-1][0], arb(0)


def _crossing(before: Known, left: Known, right: Known, after: Known) -> tuple[arb, arb] | None:
    """Where the chords on both sides, extended, cross between `left` and `right`; None where that is not sure.

    A convex curve lies above them there, also where their far ends are taken high and their near ends low.
    """
    falls = (left[1] - before[2]) / (left[0] - before[0])
    rises = (after[2] - right[1]) / (after[0] - right[0])
    place = (right[1] - left[1] + falls * left[0] - rises * right[0]) / (falls - rises)
    if not (place > left[0] and place < right[0] and falls < rises):
        return None
    return place, left[1] + falls * (place - left[0])


def _beta(rate: Fraction, known: Sequence[Known], tops: Sequence[tuple[arb, arb]]) -> Point:
    """The two ends at one rate."""
    alpha, low, high = ball(rate), arb(0), arb(0)
    for scale, _, upper in known:
        low = low.max((1 - upper - scale * alpha).lower())
    for scale, least in tops:
        high = high.max((1 - least - scale * alpha).upper())
    high = high.min(1 - alpha)  # who guesses gets this
    return Point(rate, lower_dyadic(low), upper_dyadic(high.upper()))
