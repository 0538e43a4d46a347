"""From a privacy curve to its privacy loss: inversion (6) of Gopi, Lee and Wutschitz with proved ends (T200, T201).

H(x) = delta(log x) is convex with the right derivative -P(X > log x), X the loss under Q, and
P(Y > log x) = H(x) + x P(X > log x): three values of the curve enclose both tails. A curve that is only known to be at
most so much at some eps is dominated by a pair of finitely many outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from flint import arb, ctx

from verified_dp.core.kernel.balls import ball, lower_end, upper_dyadic, upper_end
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.theorems import proved_by

BITS = 64
"""Of the rational numbers above e^eps."""
Interval = tuple[arb, arb]


@proved_by("T200-tails-of-a-curve")
def enclose_tails(places: Sequence[Fraction], values: Sequence[Interval]) -> list[tuple[Interval, Interval]]:
    """Enclose (P(Y > eps), P(X > eps)) at every place but the first and the last; values: of delta at the places."""
    points, found = [ball(place).exp() for place in places], list[tuple[Interval, Interval]]()
    for i in range(1, len(places) - 1):
        (before, here, after), (a, x, c) = values[i - 1:i + 2], points[i - 1:i + 2]
        low = lower_end((here[0] - after[1]) / (c - x)).max(arb(0))
        high = upper_end((before[1] - here[0]) / (x - a)).min(arb(1))
        above = lower_end(here[0] + x * low), upper_end(here[1] + x * high).min(arb(1))
        found.append((above, (low, high)))
    return found


@proved_by("T201-pair-of-a-curve")
def dominating_masses(points: Sequence[tuple[Fraction, Fraction]], both: bool) -> list[tuple[Fraction, Fraction]]:
    """(P, Q) masses of outcomes whose curve is nowhere below any curve with delta(eps) <= d at all points (eps, d).

    both: the points hold for the swapped order too. Rational: e^eps is rounded up. Raises InvalidInput where no curve
    meets the points.
    """
    data = {Fraction(0): Fraction(1)}
    with ctx.workprec(BITS):
        for epsilon, delta in points:
            _lower(data, upper_dyadic(ball(epsilon).exp()).as_fraction(), delta)
            if both:
                power = upper_dyadic((-ball(epsilon)).exp()).as_fraction()
                _lower(data, power, upper_dyadic(1 - (-ball(epsilon)).exp() * (1 - ball(delta))).as_fraction())
    hull = _convex(sorted(data.items()))  # exact: fractions
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(hull)] + [Fraction(0)]
    if slopes[0] < -1:
        raise InvalidInput("points", len(points), "those of some mechanism: delta(eps) is at least 1 - e^eps")
    kinks = [(hull[i + 1][0], slopes[i + 1] - slopes[i]) for i in range(len(slopes) - 1)]
    masses = [(place * mass, mass) for place, mass in kinks]
    return [one for one in ((Fraction(0), 1 + slopes[0]), *masses, (hull[-1][1], Fraction(0))) if one != (0, 0)]


def _lower(data: dict[Fraction, Fraction], place: Fraction, value: Fraction) -> None:
    data[place] = min(value, data.get(place, Fraction(1)))  # exact: fractions


@proved_by("T201-pair-of-a-curve")
def _convex(points: Sequence[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The corners of the largest convex function that does not rise and is at most each value at its place."""
    kept = list[tuple[Fraction, Fraction]]()
    for place, value in points:
        if kept and value >= kept[-1][1]:
            continue
        while len(kept) > 1 and _rises(kept[-2], kept[-1], (place, value)):
            kept.pop()
        kept.append((place, value))
    return kept


def _rises(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]) -> bool:
    """Whether b lies on or above the chord from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])
