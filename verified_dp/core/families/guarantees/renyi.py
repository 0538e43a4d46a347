"""Steps known by bounds on Renyi divergences alone (zCDP, a list of orders): moments, and nothing else.

    E[e^{l L}] = e^{l D_{l+1}(P || Q)} <= e^{f(l)},   f convex, f(0) = 0.

No curve, no transform and no smallest moment is known, so that only a bound from one Renyi order applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from flint import arb

from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import SameInEveryOrder, Unbounded
from verified_dp.core.kernel.theorems import proved_by

ONLY_MOMENTS = (
    "a step known by Renyi divergences alone (zcdp, renyi) has no hockey-stick curve and no transform: "
    "only a bound from one Renyi order applies; use the method renyi or auto")


class MomentBound(SameInEveryOrder, Unbounded):
    """What the laws known by bounds on moments share; a subclass bounds the logarithm of the moment."""

    only_moments: ClassVar[bool] = True

    def bound_log_moment(self, exponent: arb) -> arb:
        """Bound log E[e^{l L}], l > 0; +inf beyond the stated orders."""
        raise NotImplementedError

    def bound_relative_entropy(self) -> arb:
        """Bound E[L], which is at most every divergence of an order above 1."""
        raise NotImplementedError

    @proved_by("T66-moment-laws")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, between 0 and the stated bound."""
        return arb(0).union(self.bound_log_moment(exponent).exp())

    @proved_by("T66-moment-laws")
    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0: a finite divergence of an order above 1 excludes more."""
        return arb(0)

    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Not known. Raises Unsupported."""
        raise Unsupported(ONLY_MOMENTS)

    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Not known. Raises Unsupported."""
        raise Unsupported(ONLY_MOMENTS)

    def enclose_density(self, x: arb) -> arb:
        """Not known. Raises Unsupported."""
        raise Unsupported(ONLY_MOMENTS)

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """Not known. Raises Unsupported."""
        raise Unsupported(ONLY_MOMENTS)


@dataclass(frozen=True)
class ZCDPLoss(MomentBound):
    """Any step with D_a <= xi + rho a for every order a > 1, in both directions; rho > 0, xi >= 0."""

    rho: Fraction
    order: str = "symmetric"
    xi: Fraction = Fraction(0)

    @proved_by("T66-moment-laws")
    def bound_log_moment(self, exponent: arb) -> arb:
        """l (l+1) rho + l xi."""
        return exponent * (exponent + 1) * ball(self.rho) + exponent * ball(self.xi)

    @proved_by("T180-moment")
    def bound_relative_entropy(self) -> arb:
        """rho + xi."""
        return ball(self.rho + self.xi)


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
