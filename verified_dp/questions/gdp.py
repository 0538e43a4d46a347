"""Gaussian differential privacy that a profile meets: the least mu whose curve is nowhere below delta (T129).

    privacy_profile(spec).gdp(most_epsilon=8)

    delta_mu(eps) = F(mu/2 - eps/mu) - e^eps F(-mu/2 - eps/mu),   F the normal distribution function

Both curves are convex in x = e^eps: on a cell the chord of one is compared with a tangent of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb

from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.kernel.balls import ball, lower_dyadic, lower_end, upper_dyadic, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Component
from verified_dp.core.kernel.exact import square
from verified_dp.core.kernel.gaussian import enclose_gaussian_profile, enclose_gaussian_tails
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.ends import ball_of
from verified_dp.questions.tradeoff import Delta

_FIRST = 8
"""Cells to begin with."""
_SMALLEST = 2**20
"""No cell is a smaller share of the range."""
_MU_BITS = 40


@dataclass(frozen=True)
class Known:
    """delta at eps."""

    epsilon: Fraction
    delta: Bounds


@proved_by("T129-gaussian-guarantee")
def is_below_gaussian(left: Known, right: Known, mu: Fraction) -> bool:
    """Whether delta <= delta_mu on the cell is certain: by a tangent of delta_mu in the middle, or as both fall."""
    square = mu * mu
    if left.delta.upper <= enclose_gaussian_profile(square, ball(right.epsilon)):
        return True
    middle = ball((left.epsilon + right.epsilon) / 2)
    value, slope = enclose_gaussian_profile(square, middle), enclose_gaussian_tails(square, middle)[1]
    tangents = (value - slope * (ball(end.epsilon).exp() - middle.exp()) for end in (left, right))
    return all(bool(end.delta.upper <= tangent) for end, tangent in zip((left, right), tangents, strict=True))


@proved_by("T129-gaussian-guarantee")
def is_too_small(known: Known, mu: Fraction) -> bool:
    """Whether delta > delta_mu at this eps is certain."""
    return bool(known.delta.lower > enclose_gaussian_profile(mu * mu, ball(known.epsilon)))


@proved_by("T129-gaussian-guarantee", "T25-composition")
def squares_of_distances(losses: Sequence[ComposedLoss]) -> tuple[Fraction, Fraction | None]:
    """Bounds on mu^2 at all eps from the means of all Gaussian mixtures; None above where there are other laws.

    Below: of the distance of the outermost means, which decide far out. Above: of how far means have to be moved.
    """
    lower = upper = Fraction(0)
    for loss in losses:
        sums = [sum(one, loss.mean_shift_squared) for one in zip(
            (Fraction(0),) * 3, *(_square_distances(law, count) for law, count in lines(loss).node_parts), strict=True)]
        lower, upper = max(lower, *sums[:2]), max(upper, sums[2])  # exact: fractions
    return lower, upper if all(len(lines(loss).node_parts) == len(loss.parts) for loss in losses) else None


@proved_by("T129-gaussian-guarantee")
def _square_distances(law: MixtureLines, count: int) -> tuple[Fraction, Fraction, Fraction]:
    """count / sigma^2 times the squares of the distances of the largest means, of the smallest, and of a coupling."""
    (first, *_), (second, *_) = above, below = sorted(law.above), sorted(law.below)  # exact: fractions
    distances = above[-1][0] - below[-1][0], first[0] - second[0], farthest_move(above, below)
    left, right, most = (count * distance**2 / square(law.sigma) for distance in distances)
    return left, right, most


@proved_by("T129-gaussian-guarantee")
def farthest_move(above: Sequence[Component], below: Sequence[Component]) -> Fraction:
    """The largest distance over which the coupling in order moves weight between (mean, weight) lists in order.

    >>> farthest_move([(Fraction(0), Fraction(2, 3)), (Fraction(1), Fraction(1, 3))], [(Fraction(0), Fraction(1))])
    Fraction(1, 1)
    """
    if sum(weight for _, weight in above) != sum(weight for _, weight in below):
        raise ValueError("weights must have equal sums")
    i, j, farthest = 0, 0, Fraction(0)
    left, right = above[0][1], below[0][1]
    while True:
        farthest = max(farthest, abs(above[i][0] - below[j][0]))  # exact: fractions
        moved = min(left, right)  # exact: fractions
        left, right = left - moved, right - moved
        if not left:
            i += 1
        if not right:
            j += 1
        if i == len(above) or j == len(below):
            return farthest
        left, right = left or above[i][1], right or below[j][1]


@proved_by("T129-gaussian-guarantee", "T07-ends")
def largest_loss(losses: Sequence[ComposedLoss]) -> Fraction | None:
    """A number that no finite loss exceeds, in any order; None where there is none, or some mass may be infinite."""
    found = Fraction(0)
    for loss in losses:
        for one in (loss, loss.in_order(SWAPPED[loss.order])):
            end = None if one.only_moments or not one.enclose_infinity_mass().is_zero() else one.enclose_largest_loss()
            if end is None or not end.is_finite():
                return None
            found = max(found, upper_dyadic(end).as_fraction())  # exact: fractions
    return found or None


@dataclass
class GaussianFit:
    """The least mu on [0, most]. deltas: of all orders whose curves count. digits: asked of mu."""

    deltas: Sequence[Delta]
    most: Fraction
    digits: int
    _known: dict[Fraction, Known] = field(default_factory=dict)
    _least: Fraction = Fraction(0)

    def enclose(self) -> tuple[arb, arb]:
        """Exact ends: mu below the lower one is refuted at some eps; the upper one is proved on every cell."""
        for place in range(_FIRST + 1):
            self._raise_to(self._at(self.most * place / _FIRST))
        for slack in (1, 3, 10, 100, 1000):
            for _ in range(40):
                before = self._least
                mu = self._least * (1 + Fraction(slack, 2 * 10**self.digits)) or Fraction(1, 2**_MU_BITS)
                if self._covers(mu):
                    return lower_end(ball(self._least)), upper_end(ball(mu))
                if self._least == before:
                    break
        return lower_end(ball(self._least)), arb.pos_inf()

    def _at(self, epsilon: Fraction) -> Known:
        """The larger delta of all orders."""
        if epsilon not in self._known:
            lower = upper = arb(0)
            for delta in self.deltas:
                found = delta(epsilon, self.digits + 2)
                lower = lower.max(lower_end(ball_of(found.lower)))
                upper = upper.max(upper_end(ball_of(found.upper)))
            self._known[epsilon] = Known(epsilon, Bounds(lower, upper, {}))
        return self._known[epsilon]

    def _raise_to(self, known: Known) -> None:
        """The largest mu of few bits that this eps refutes, if it is above what is known."""
        if not is_too_small(known, self._least or Fraction(1, 2**_MU_BITS)):
            return
        low = self._least or Fraction(1, 2**_MU_BITS)
        high = 2 * low
        while is_too_small(known, high):
            low, high = high, 2 * high
        for _ in range(self.digits * 4 + 4):
            middle = (low + high) / 2
            low, high = (middle, high) if is_too_small(known, middle) else (low, middle)
        self._least = lower_dyadic(ball(low)).as_fraction()

    def _covers(self, mu: Fraction) -> bool:
        """Whether all cells are proved, which are halved where they are not; False once some eps refutes mu."""
        cells = [(self.most * i / _FIRST, self.most * (i + 1) / _FIRST) for i in range(_FIRST)]
        while cells:
            start, end = cells.pop()
            left, right = self._at(start), self._at(end)
            if is_below_gaussian(left, right, mu):
                continue
            middle = (start + end) / 2
            self._raise_to(self._at(middle))
            if self._least >= mu or (end - start) * _SMALLEST < self.most:
                return False
            cells += [(start, middle), (middle, end)]
        return True
