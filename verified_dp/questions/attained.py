"""Steps that meet guarantees by divergences: what no bound from these guarantees alone can be below (T147).

    meets_all_orders(p, r, rho, xi)     whether P = (p, 1-p), Q = (r, 1-r) has D_a <= xi + rho a in both directions
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch

from flint import arb

from verified_dp.core.families.guarantees.mechanism import ZCDP, Renyi
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Relation
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.line import as_float
from verified_dp.search.two_points import FAINTEST, Guarantee, TwoPoints, largest_delta, largest_epsilon

_TOWARDS = tuple(Fraction(1, 2**bits) for bits in (44, 40, 36, 28))
"""By how much of P a found Q is moved, so that what floats found meets the guarantee for certain; tried in turn."""
_NEWTON = 6
"""Steps, each of which doubles the digits."""


@singledispatch
@proved_by("T147-attained-guarantees")
def square_of_gaussian(law: Law) -> Fraction | None:
    """The largest mu^2 with which N(mu, 1) against N(0, 1) meets the guarantee; None for laws that are none."""
    return None


@square_of_gaussian.register
@proved_by("T147-attained-guarantees")
def _zcdp(law: ZCDPLoss) -> Fraction | None:
    return 2 * law.rho


@square_of_gaussian.register
@proved_by("T147-attained-guarantees")
def _renyi(law: RenyiLoss) -> Fraction | None:
    return min(2 * size / (at * (at + 1)) for at, size in law.corners)  # exact: fractions


@proved_by("T147-attained-guarantees")
def with_gaussians(loss: ComposedLoss) -> ComposedLoss:
    """The loss with a Gaussian step in the place of each guarantee by divergences."""
    squares = [(law, count, square_of_gaussian(law)) for law, count in loss.parts]
    moved = sum((count * square for _, count, square in squares if square is not None), Fraction(0))
    return replace(loss, parts=tuple((law, count) for law, count, square in squares if square is None),
                   mean_shift_squared=loss.mean_shift_squared + moved)


@dataclass(frozen=True)
class TwoOutcomes:
    """P = (p, 1-p) and Q = (r, 1-r), 0 < r < p < 1."""

    p: Fraction
    r: Fraction

    def swapped(self) -> TwoOutcomes:
        """Q and P, the other outcome first."""
        return TwoOutcomes(1 - self.r, 1 - self.p)

    def log_ratios(self) -> tuple[arb, arb]:
        """(log p/r, log (1-r)/(1-p)), both positive."""
        return ball(self.p / self.r).log(), ball((1 - self.r) / (1 - self.p)).log()

    @proved_by("T147-attained-guarantees")
    def log_moment(self, exponent: arb) -> tuple[arb, arb, arb]:
        """g(l) = log(p (p/r)^l + (1-p) ((1-p)/(1-r))^l), and the shares w, 1 - w of the two terms."""
        above, below = self.log_ratios()
        first, second = ball(self.p) * (exponent * above).exp(), ball(1 - self.p) * (-exponent * below).exp()
        return (first + second).log(), first / (first + second), second / (first + second)


@singledispatch
@proved_by("T147-attained-guarantees")
def meets(law: Law, pair: TwoOutcomes) -> bool:
    """Whether the pair certainly meets the guarantee in one direction."""
    return False


@meets.register
@proved_by("T147-attained-guarantees")
def _meets_orders(law: RenyiLoss, pair: TwoOutcomes) -> bool:
    return all(bool(pair.log_moment(ball(at))[0] <= ball(size)) for at, size in law.corners)


@meets.register
@proved_by("T147-attained-guarantees")
def _meets_all_orders(law: ZCDPLoss, pair: TwoOutcomes) -> bool:
    """f(l) = rho l (l+1) + xi l - g(l) >= 0 for all l > 0: f'(0) >= 0, and one tangent where f is convex for ever."""
    rho, above, below = ball(law.rho), *pair.log_ratios()
    squared, first = (above + below) ** 2, ball(pair.p)
    if not rho + ball(law.xi) >= first * above - (1 - first) * below:
        return False
    if squared <= 8 * rho or (pair.p >= Fraction(1, 2) and squared * first * (1 - first) <= 2 * rho):
        return True
    end = above / rho
    place = _least_place(law, pair, end)
    value, share, rest = pair.log_moment(place)
    size = rho * place * (place + 1) + ball(law.xi) * place - value
    slope = rho * (2 * place + 1) + ball(law.xi) - (share * above - rest * below)
    convex = place > 0 and share >= rest and squared * share * rest <= 2 * rho
    return bool(convex and size >= abs(slope) * place.max(end))


def _least_place(law: ZCDPLoss, pair: TwoOutcomes, end: arb) -> arb:
    """About where f is least right of its last inflection: bisection, then Newton's steps; a point."""
    rho, above, below = ball(law.rho), *pair.log_ratios()

    def slopes(place: arb) -> tuple[arb, arb]:
        _, share, rest = pair.log_moment(place)
        slope = rho * (2 * place + 1) + ball(law.xi) - (share * above - rest * below)
        return slope, 2 * rho - (above + below) ** 2 * share * rest

    low, high = arb(0), end.mid()
    for _ in range(40):
        middle = ((low + high) / 2).mid()
        slope, bend = slopes(middle)
        low, high = (low, middle) if slope > 0 and bend > 0 and pair.log_moment(middle)[1] > 0.5 else (middle, high)
    for _ in range(_NEWTON):
        slope, bend = slopes(high)
        high = (high - slope / bend).mid() if bend > 0 else high
    return high


@proved_by("T147-attained-guarantees")
def pair_that_meets(law: Law, found: TwoPoints) -> TwoOutcomes | None:
    """A pair next to the one that floats found that meets the guarantee in both directions; None: none for certain."""
    p, r = (_fraction(1 / (1 + (-arb(logit)).exp())) for logit in (found.x, found.y))
    for share in _TOWARDS:
        pair = TwoOutcomes(p, r + (p - r) * share)
        if 0 < pair.r < pair.p < 1 and meets(law, pair) and meets(law, pair.swapped()):
            return pair
    return None


def _fraction(number: arb) -> Fraction:
    mantissa, exponent = number.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@dataclass(frozen=True)
class Guaranteed:
    """What is known of a composition by bounds on divergences. losses: with Gaussian steps in the place of these.

    alone: the loss where there is one such step and nothing else.
    """

    losses: tuple[ComposedLoss, ...]
    alone: ComposedLoss | None

    @classmethod
    def of(cls, composition: Composition, relation: Relation, losses: Sequence[ComposedLoss]) -> Guaranteed | None:
        """None where no step states such bounds, or one states them of a group, of many participations."""
        stated = [count for step, count in composition.parts if isinstance(step, ZCDP | Renyi)]
        rest = tuple((step, count) for step, count in composition.parts if not isinstance(step, ZCDP | Renyi))
        if not stated or any(loss.only_moments for loss in privacy_losses(Composition(rest), relation)):
            return None
        single = losses[0].parts and not rest and sum(stated) == 1
        return cls(tuple(map(with_gaussians, losses)), losses[0] if single else None)

    @proved_by("T147-attained-guarantees")
    def lower_bound_delta(self, epsilon: Fraction) -> arb:
        """p - e^eps r of a pair; 0 where none is found."""
        guarantee = self._guarantee()
        pair = None if guarantee is None or epsilon < 0 else self._pair(largest_delta(guarantee, as_float(epsilon)))
        return arb(0) if pair is None else (ball(pair.p) - ball(epsilon).exp() * ball(pair.r)).max(arb(0))

    @proved_by("T147-attained-guarantees")
    def lower_bound_epsilon(self, delta: Fraction) -> arb:
        """log((p - delta)/r) of a pair; 0 where none is found."""
        guarantee = self._guarantee()
        usable = guarantee is not None and FAINTEST < delta < 1
        pair = self._pair(largest_epsilon(guarantee, float(delta))[1]) if guarantee is not None and usable else None
        return arb(0) if pair is None or pair.p <= delta else (ball((pair.p - delta) / pair.r)).log().max(arb(0))

    def _guarantee(self) -> Guarantee | None:
        return None if self.alone is None else Guarantee(self.alone)

    def _pair(self, found: TwoPoints) -> TwoOutcomes | None:
        return None if self.alone is None else pair_that_meets(self.alone.parts[0][0], found)
