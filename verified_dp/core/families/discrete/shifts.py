"""Discrete noise whose shift is drawn at random: records on a Poisson sample, replaced or in groups (T74, T75).

As `laplace.shifts`, on the integers: P = sum of weight f(x - mean) over `above`, Q the same over `below`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import ClassVar

from flint import arb

from verified_dp.core.engines.shared import kept
from verified_dp.core.families.discrete.discrete_gaussian import enclose_distribution
from verified_dp.core.families.finite.atomic import Atom, AtomicLaw
from verified_dp.core.families.gaussian.mixture import MixtureCurve, MixturePair, places
from verified_dp.core.kernel.balls import ball, integer_below
from verified_dp.core.kernel.composition import Mixture
from verified_dp.core.kernel.dyadic import integer_of
from verified_dp.core.kernel.exact import SquareRoot, square
from verified_dp.core.kernel.theorems import proved_by


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
        means = [int(place) for place in places(self.above, self.below)]
        powers = [(-ball(n / self.scale)).exp() for n in range(means[-1] - means[0] + 1)]
        ratio = (-ball(1 / self.scale)).exp()
        end, inner = 1 / (1 + ratio), -(-ball(1 / self.scale)).expm1() / (1 + ratio)

        def mass(mixture: list[tuple[int, arb]], outcome: int) -> arb:
            return sum((weight * powers[abs(outcome - mean)] for mean, weight in mixture), arb(0))

        above, below = ([(int(mean), ball(weight)) for mean, weight in side] for side in (self.above, self.below))
        factors = [end, *[inner] * (means[-1] - means[0] - 1), end]
        return [(factor * mass(above, x), factor * mass(below, x))
                for factor, x in zip(factors, range(means[-1], means[0] - 1, -1), strict=True)]


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
