"""Steps known by bounds on the Renyi divergences of some orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from verified_dp.core.families.guarantees.renyi import MomentBound
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class RenyiLoss(MomentBound):
    """Any step with l D_{l+1} <= f(l): corners = ((l, f), ...) of a convex polyline from (0, 0), l increasing."""

    corners: tuple[tuple[Fraction, Fraction], ...]
    order: str = "symmetric"

    @classmethod
    @proved_by("T66-moment-laws")
    def of_divergences(cls, divergences: Iterable[tuple[Fraction, Fraction]], order: str = "symmetric") -> RenyiLoss:
        """From bounds D_a <= e at orders a > 1: the lower convex hull of (0, 0) and all (a - 1, (a - 1) e).

        >>> RenyiLoss.of_divergences([(Fraction(2), Fraction(1)), (Fraction(3), Fraction(1))]).corners
        ((Fraction(2, 1), Fraction(2, 1)),)
        """
        points = sorted((a - 1, (a - 1) * e) for a, e in divergences)  # exact: fractions
        hull = [(Fraction(0), Fraction(0))]
        for point in points:
            if point[0] == hull[-1][0]:
                continue
            while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], point):
                hull.pop()
            hull.append(point)
        return cls(tuple(hull[1:]), order)

    @proved_by("T66-moment-laws")
    def bound_log_moment(self, exponent: arb) -> arb:
        """The polyline at l, the largest of its lines; +inf unless l is at most the last corner."""
        if not exponent <= ball(self.corners[-1][0]):
            return arb.pos_inf()
        last = self._first(lambda at: exponent <= at)
        first = min(last, self._first(lambda at: not exponent >= at))  # exact: integers
        bound, corners = arb(0), ((Fraction(0), Fraction(0)), *self.corners)
        for left, right in pairwise(corners[first : last + 2]):
            bound = bound.max(ball(left[1]) + ball(_slope(left, right)) * (exponent - ball(left[0])))
        return bound

    def _first(self, test: Callable[[arb], bool]) -> int:
        """The first corner that passes a test, which all later ones pass too; the last one where none does."""
        low, high = 0, len(self.corners) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if test(ball(self.corners[middle][0])) else (middle + 1, high)
        return low

    @proved_by("T180-moment")
    def bound_relative_entropy(self) -> arb:
        """The divergence of the first order of the hull."""
        return ball(self.corners[0][1] / self.corners[0][0])


def _slope(left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]) -> Fraction:
    return (right[1] - left[1]) / (right[0] - left[0])
