"""Log-concave noise whose shift is drawn at random: records on a Poisson sample, replaced or in groups (T74, T75).

P = sum of weight f(x - mean) over `above`, Q the same over `below`, f even and log-concave, every mean of P >= 0 and
every mean of Q <= 0: the loss does not fall in x, so that hockey-sticks are those of half-lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import ClassVar

from flint import arb

from verified_dp.core.balls import ball, integer_below, kept
from verified_dp.core.dyadic import integer_of
from verified_dp.core.exact import SquareRoot, square
from verified_dp.core.laws.atomic import Atom, AtomicLaw
from verified_dp.core.laws.discrete_gaussian import enclose_distribution
from verified_dp.core.laws.laplace import LaplaceLoss
from verified_dp.core.laws.mixture import MixtureCurve, MixturePair, least_moment
from verified_dp.core.mixture_lines import Mixture
from verified_dp.core.theorems import proved_by


def _places(above: Mixture, below: Mixture) -> list[Fraction]:
    return sorted({mean for mean, _ in (*above, *below)})  # exact: fractions


@dataclass(frozen=True)
class Interval:
    """Between two neighbouring means P has the density A e^{-t} + B e^t and the tail A e^{-t} + W - B e^t.

    left, right: its ends. p, q: (A, B, W) of P and of Q. A_p = 0 left of 0 and B_q = 0 right of it.
    """

    left: arb
    right: arb
    p: tuple[arb, arb, arb]
    q: tuple[arb, arb, arb]
    is_positive: bool

    def place(self, alpha: arb) -> arb:
        """Enclose where p = alpha q, moved into the interval where it lies outside."""
        (a, b, _), (c, e, _) = self.p, self.q
        if self.is_positive:
            ratio = ((alpha * c - a) / b).max((2 * self.left).exp()).min((2 * self.right).exp())
            return ratio.log() / 2
        ratio = ((b - alpha * e) / (alpha * c)).max((-2 * self.right).exp()).min((-2 * self.left).exp())
        return -ratio.log() / 2

    def tails(self, t: arb) -> tuple[arb, arb]:
        """Enclose P(x > t) and Q(x > t), t in the interval."""
        up, down = t.exp(), (-t).exp()
        first, second = (a * down + w - b * up for a, b, w in (self.p, self.q))
        return first, second

    def densities(self, t: arb) -> tuple[arb, arb]:
        """Enclose p(t) and q(t), t in the interval."""
        up, down = t.exp(), (-t).exp()
        return self.p[0] * down + self.p[1] * up, self.q[0] * down + self.q[1] * up

    def holds(self, alpha: arb) -> bool:
        """Whether p = alpha q may hold inside: not where p > alpha q at its left or p <= alpha q at its right."""
        (p_left, q_left), (p_right, q_right) = self.densities(self.left), self.densities(self.right)
        return not (p_left > alpha * q_left or p_right <= alpha * q_right)


@dataclass(frozen=True)
class LaplaceMixtureLoss(MixturePair):
    """Laplace noise; means in units of its scale."""

    above: Mixture
    below: Mixture
    order: str

    @proved_by("T75-random-shifts")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose the largest of (1 - e^eps)_+ and P(x > t) - e^eps Q(x > t), t at and between all means."""
        if epsilon >= self.enclose_largest_loss():
            return arb(0)
        if epsilon <= self.enclose_smallest_loss():
            return -epsilon.expm1()
        best, alpha = (-epsilon.expm1()).max(arb(0)), epsilon.exp()
        for part in intervals(self):
            for t in (part.left, part.place(alpha), part.right):
                above, below = part.tails(t)
                best = best.max(above - alpha * below)
        return best

    @proved_by("T75-random-shifts")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(x > t*), Q(x > t*)), t* where the loss passes x; (0, 0) right and (1, 1) left of all."""
        largest, smallest, alpha = self.enclose_largest_loss(), self.enclose_smallest_loss(), x.exp()
        if x >= largest:
            return arb(0), arb(0)
        if x < smallest:
            return arb(1), arb(1)
        found = [part.tails(part.place(alpha)) for part in intervals(self) if part.holds(alpha)]
        found += [] if x < largest else [(arb(0), arb(0))]
        found += [] if x >= smallest else [(arb(1), arb(1))]
        return reduce(arb.union, [p for p, _ in found]), reduce(arb.union, [q for _, q in found])

    @proved_by("T75-random-shifts")
    def enclose_density(self, x: arb) -> arb:
        """Enclose p(t*) / l'(t*) = p^2 q / (2 (B_p A_q - A_p B_q)) between the ends of the loss; 0 outside."""
        largest, smallest, alpha = self.enclose_largest_loss(), self.enclose_smallest_loss(), x.exp()
        if x > largest or x < smallest:
            return arb(0)
        found = [] if smallest < x and x < largest else [arb(0)]
        for part in intervals(self):
            if part.holds(alpha):
                p, q = part.densities(part.place(alpha))
                found.append(p * p * q / (2 * (part.p[1] * part.q[0] - part.p[0] * part.q[1])))
        return reduce(arb.union, found)

    @proved_by("T75-random-shifts")
    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """The two ends: beyond all means the loss does not change."""
        first, last = intervals(self)[0], intervals(self)[-1]
        return [(self.enclose_smallest_loss(), 1 - first.tails(first.left)[0]),
                (self.enclose_largest_loss(), last.tails(last.right)[0])]

    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0."""
        return arb(0)

    @proved_by("T75-random-shifts")
    def enclose_largest_loss(self) -> arb:
        """Enclose log(sum w e^a / sum v e^b)."""
        return self._enclose_end(1)

    @proved_by("T75-random-shifts")
    def enclose_smallest_loss(self) -> arb:
        """Enclose log(sum w e^{-a} / sum v e^{-b})."""
        return self._enclose_end(-1)

    def _enclose_end(self, sign: int) -> arb:
        first, second = (sum((ball(weight) * ball(sign * mean).exp() for mean, weight in mixture), arb(0))
                         for mixture in (self.above, self.below))
        return (first / second).log()

    @proved_by("T75-random-shifts")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, between 0 and the bound by the moments of the shifts a - b."""
        single = [sum((ball(w) * (LaplaceLoss(a - b).enclose_moment(exponent) if a > b else 1)
                       for a, w in self.above), arb(0)) for b, _ in self.below]
        return arb(0).union(least_moment(exponent, single, self.below))


@kept(16)
def intervals(law: LaplaceMixtureLoss) -> list[Interval]:
    """The intervals between the means, from left to right."""

    def coefficients(mixture: Mixture, left: Fraction) -> tuple[arb, arb, arb]:
        rising = sum((ball(weight) * ball(-mean).exp() for mean, weight in mixture if mean > left), arb(0))
        falling = sum((ball(weight) * ball(mean).exp() for mean, weight in mixture if mean <= left), arb(0))
        return falling / 2, rising / 2, ball(sum((weight for mean, weight in mixture if mean > left), Fraction(0)))

    return [Interval(ball(left), ball(right), coefficients(law.above, left), coefficients(law.below, left), left >= 0)
            for left, right in pairwise(_places(law.above, law.below))]


@dataclass(frozen=True)
class DiscreteLaplaceMixtureLoss(MixturePair, AtomicLaw):
    """Noise of mass (1-r)/(1+r) r^|x| on the integers, r = e^{-1/scale}; means are integers."""

    scale: Fraction
    above: Mixture
    below: Mixture
    order: str

    @kept(16)
    @proved_by("T75-random-shifts")
    def enclose_atoms(self) -> list[Atom]:
        """The outcomes up to the least mean, each one between, and those from the largest mean on; that comes first."""
        places = [int(place) for place in _places(self.above, self.below)]
        powers = [(-ball(n / self.scale)).exp() for n in range(places[-1] - places[0] + 1)]
        ratio = (-ball(1 / self.scale)).exp()
        end, inner = 1 / (1 + ratio), -(-ball(1 / self.scale)).expm1() / (1 + ratio)

        def mass(mixture: list[tuple[int, arb]], outcome: int) -> arb:
            return sum((weight * powers[abs(outcome - mean)] for mean, weight in mixture), arb(0))

        above, below = ([(int(mean), ball(weight)) for mean, weight in side] for side in (self.above, self.below))
        factors = [end, *[inner] * (places[-1] - places[0] - 1), end]
        return [(factor * mass(above, x), factor * mass(below, x))
                for factor, x in zip(factors, range(places[-1], places[0] - 1, -1), strict=True)]


@dataclass(frozen=True)
class DiscreteGaussianMixtureLoss(MixtureCurve):
    """Noise of mass e^{-x^2/(2 sigma^2)} / Z on the integers; means are integers. The loss is that of MixtureLoss."""

    sigma: Fraction | SquareRoot
    above: Mixture
    below: Mixture
    order: str

    decays: ClassVar[bool] = False

    @proved_by("T75-random-shifts")
    def _enclose_between(self, alpha: arb, low: arb, high: arb) -> arb:
        """P(x >= n) - alpha Q(x >= n) for every n in (low, high] that may be the first integer with a loss above."""
        return reduce(arb.union, [above - alpha * below for above, below in self._sums(low, high)])

    @proved_by("T75-random-shifts")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(x >= n), Q(x >= n)), n the first integer with a loss above x."""
        largest, smallest = self.enclose_largest_loss(), self.enclose_smallest_loss()
        if largest is not None and x >= largest:
            return arb(0), arb(0)
        if smallest is not None and x <= smallest:
            return arb(1), arb(1)
        ends = self._bracket(x)
        sums = _UNKNOWN if ends is None else self._sums(*ends)
        return reduce(arb.union, [p for p, _ in sums]), reduce(arb.union, [q for _, q in sums])

    @proved_by("T75-random-shifts")
    def _bracket(self, epsilon: arb) -> tuple[arb, arb] | None:
        """Integers low < high with loss(low) <= eps < loss(high), as close as the balls tell; None where not found."""
        found = self._surround(epsilon)
        if found is None:
            return None
        start, stop = (integer_below(end) for end in found)
        low = _last(lambda n: _loss_at(self, n) <= epsilon, start, stop + 1)
        high = -_last(lambda n: _loss_at(self, -n) > epsilon, -stop - 1, -low)
        return arb(low), arb(high)

    def _sums(self, low: arb, high: arb) -> list[tuple[arb, arb]]:
        first, last = (integer_of(end) for end in (low, high))
        if last - first > _MANY:
            return _UNKNOWN
        return [_sums_from(self, n) for n in range(first + 1, last + 1)]

    def enclose_density(self, x: arb) -> arb:
        """0: the loss is discrete."""
        return arb(0)

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """Infinitely many."""
        return None


_MANY = 100
"""A cut known no better than to this many outcomes is not worth a sum for each."""
_UNKNOWN = [(arb(0), arb(0)), (arb(1), arb(0)), (arb(0), arb(1)), (arb(1), arb(1))]


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """An integer n in [low, high) where it holds, with none found above: the last if it holds up to some place only.

    low: where it holds.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@kept(2**16)
def _loss_at(law: DiscreteGaussianMixtureLoss, outcome: int) -> arb:
    """Enclose the loss of an outcome."""
    loss, _ = law._enclose_loss(arb(outcome))
    return loss


@kept(2**16)
@proved_by("T75-random-shifts")
def _sums_from(law: DiscreteGaussianMixtureLoss, outcome: int) -> tuple[arb, arb]:
    """Enclose (P(x >= n), Q(x >= n))."""
    variance = square(law.sigma)
    above, below = (sum((ball(weight) * enclose_distribution(variance, int(mean) - outcome)
                         for mean, weight in mixture), arb(0)) for mixture in (law.above, law.below))
    return above, below
