"""Privacy buckets: losses rounded up and down to multiples of a width, composed by squaring, with both ends (T174)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_poly

from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.deadline import timed


@dataclass(frozen=True)
class Buckets:
    """Masses of the losses i width, -n <= i <= n, at place i + n: an upper law, and a lower one.

    infinity: bounds the upper law's mass at infinity; the lower one has none, and may have lost some.
    """

    width: Fraction
    above: list[arb]
    below: list[arb]
    infinity: arb

    @property
    def half(self) -> int:
        """n."""
        return len(self.above) // 2


@proved_by("T174-privacy-buckets")
def fill(law: Law, width: Fraction, half: int) -> Buckets:
    """One step: what lies in (i width, (i + 1) width] goes to i + 1 above, to i below; past n to infinity, and to n."""
    tails = [law.enclose_tails(ball(i * width))[0] for i in timed(range(-half, half + 1))]
    masses = [one - other for one, other in pairwise(tails)]
    rest = tails[-1] - law.enclose_infinity_mass()
    above = [_from_above(mass) for mass in [1 - tails[0], *masses]]
    return Buckets(width, above, [_from_below(mass) for mass in [*masses, rest]], _from_above(tails[-1]))


@proved_by("T174-privacy-buckets")
def compose(one: Buckets, other: Buckets) -> Buckets:
    """The sum of two independent losses of one width: past n to infinity or n, before -n to -n or lost."""
    n = one.half
    above = (arb_poly(one.above) * arb_poly(other.above)).coeffs()
    below = (arb_poly(one.below) * arb_poly(other.below)).coeffs()
    above, below = above + [arb(0)] * (4 * n + 1 - len(above)), below + [arb(0)] * (4 * n + 1 - len(below))
    up = [sum(above[: n + 1], arb(0)), *above[n + 1 : 3 * n + 1]]
    down = [*below[n : 3 * n], sum(below[3 * n :], arb(0))]
    infinity = one.infinity + other.infinity + sum(above[3 * n + 1 :], arb(0))
    return Buckets(one.width, [_from_above(x) for x in up], [_from_below(x) for x in down], _from_above(infinity))


@proved_by("T174-privacy-buckets")
def widen(buckets: Buckets) -> Buckets:
    """Buckets of twice the width: i goes to the even numbers next to it; half of the places are empty."""
    n = buckets.half
    above, below = [arb(0)] * (2 * n + 1), [arb(0)] * (2 * n + 1)
    for place, (up, down) in enumerate(zip(buckets.above, buckets.below, strict=True)):
        index = place - n
        above[-(-index // 2) + n] += up
        below[index // 2 + n] += down
    return Buckets(2 * buckets.width, [_from_above(x) for x in above], [_from_below(x) for x in below],
                   buckets.infinity)


@proved_by("T174-privacy-buckets")
def enclose_by_buckets(buckets: Buckets, epsilon: Fraction, infinity: arb) -> Bounds:
    """Sums of (1 - e^{eps - i width}) over the masses past eps; infinity: encloses the composition's mass there."""
    sticks = _sticks(buckets, epsilon)
    above = sum((mass * stick for mass, stick in zip(reversed(buckets.above), sticks, strict=False)), buckets.infinity)
    below = sum((mass * stick for mass, stick in zip(reversed(buckets.below), sticks, strict=False)), infinity)
    lower, upper = lower_end(below).max(arb(0)), upper_end(above).min(arb(1))
    return Bounds(lower, upper, {"discretisation": upper_end((upper - lower).max(arb(0))),
                                 "truncation": buckets.infinity})


def _sticks(buckets: Buckets, epsilon: Fraction) -> Sequence[arb]:
    """1 - e^{eps - i width} for i = n, n - 1, ..., as long as i width > eps."""
    n, first = buckets.half, (epsilon / buckets.width).__floor__() + 1
    return [-(ball(epsilon - i * buckets.width)).expm1() for i in range(n, first - 1, -1)]


def _from_above(x: arb) -> arb:
    return upper_end(x).max(arb(0))


def _from_below(x: arb) -> arb:
    return lower_end(x).max(arb(0))
