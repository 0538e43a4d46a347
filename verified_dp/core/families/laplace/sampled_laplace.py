"""Laplace noise, or a selection of bounded range, on a Poisson sample: atoms and an analytic piece (T61, T62).

The base's loss l lies in [-mu, mu]; under P0 (without the record) its density is g e^{-l/2}. With
m(l) = 1 - q + q e^l the loss is L = log m (remove) or -log m (add), and

    M(z) = sum over the atoms of mass e^{z loss} + int_{-mu}^{mu} g e^{-l/2} m(l)^p dl,   p = z + 1 (remove), -z (add).

The integral is taken by Gauss-Legendre panels, so that the law becomes one discrete measure for all frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import ClassVar

from flint import acb, arb, ctx

from verified_dp.core.engines.rules import DiscreteRule
from verified_dp.core.engines.shared import gauss_rule, kept
from verified_dp.core.families.laplace.laplace import OnInterval, bound_past_half_turn
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball, disc, integer_above, lower_end, smallest, upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, nothing, paced, words

LARGEST_RATIO = 8
"""Losses in [-mu, mu] with a larger mu would need many panels, and frequencies: such laws go to the lattice."""
_HEIGHTS = 8
"""Ellipses tried, of heights pi/2, 7/8 of it, ..."""
_MOST_NODES = 4096
"""Of all panels; where more were needed the error is what these leave."""
_PIECES = 32
"""Pieces of the density, each bounded from below by its least value, for the bound of the transform far out."""

_RULE = 4 * 4096
"""Units: all nodes of a rule at one frequency."""


@dataclass(frozen=True)
class SampledLaplaceLoss(SampledLoss):
    """A sampled step whose base is Laplace noise or bounded range, ratio mu; order "remove" or "add"."""

    base: OnInterval
    decays: ClassVar[bool] = True

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]]:
        """Enclose (loss, P mass) of the base's atoms on the sample."""
        return super().enclose_loss_atoms() or []

    @property
    def least_count(self) -> int:
        """The number of steps whose atoms alone keep at most 2^-20 of the mass under P; at most 10^18."""
        with ctx.workprec(BOUND_BITS):
            share = sum((mass for _, mass in self.enclose_loss_atoms()), arb(0))
            if not share < 1:  # all but 2^-BOUND_BITS of the mass: hardly anything is revealed
                return 10**18
            steps = (20 * arb(2).log() / -share.log()).min(arb(10**18)) if share > 0 else arb(0)
            return integer_above(steps) + 1

    def count_nodes(self, tilt: arb, frequency: arb) -> int:
        """Two atoms and all points of the panels."""
        return self._panels * self._choose_points(tilt, frequency)[0] + 2

    @property
    def _ratio(self) -> Fraction:
        return self.base.largest_loss()

    @property
    def _panels(self) -> int:
        """Of length at most 2."""
        return -(-self._ratio.numerator // self._ratio.denominator)

    def _power(self, tilt: arb) -> arb:
        """The real part of the exponent of m at tilt = Re z."""
        return tilt + 1 if self.order == "remove" else -tilt

    def _log_size(self, place: arb) -> arb:
        """Enclose log m(l)."""
        return (ball(self.probability) * place.expm1()).log1p()

    @proved_by("T61-sampled-laplace", "T60-tails")
    def enclose_rule(self, tilt: arb, frequency: arb, between: Callable[[], None] = nothing) -> DiscreteRule:
        """Enclose the atoms and the Gauss-Legendre nodes of the inner piece, and their error on |Im z| <= frequency."""
        points, error = self._choose_points(tilt, frequency)
        power, sign = self._power(tilt), 1 if self.order == "remove" else -1
        inner = _inner_nodes(self.base, self.probability, points)
        atoms = [(loss, mass * (tilt * loss).exp()) for loss, mass in self.enclose_loss_atoms()]
        nodes = [(sign * log_size, weight * (power * log_size).exp()) for log_size, weight in paced(inner, between)]
        losses, weights = zip(*atoms, *nodes, strict=True)
        return DiscreteRule(list(losses), list(weights), error)

    @proved_by("T61-sampled-laplace")
    def _choose_points(self, tilt: arb, frequency: arb) -> tuple[int, arb]:
        """The number of points per panel for an error of about 2^-prec, a multiple of 4, and the bound of the error.

        panels * (64/15) d U rho^{-2n} / (1 - rho^-2), d a panel's half length: any height of the ellipse is right.
        """
        wanted, found = ctx.prec + 4, []
        with ctx.workprec(BOUND_BITS):
            for n in range(1, _HEIGHTS + 1):
                height = arb.pi() * n / (2 * _HEIGHTS)
                rho, size = self._bound_ellipses(tilt, frequency, height)
                need = ((size.log() / arb(2).log() + wanted) / (2 * rho.log() / arb(2).log())).max(arb(2))
                if need.is_finite():
                    points = 4 * integer_above(need.min(arb(_MOST_NODES) / self._panels) / 4)
                    found.append((points, upper_end(size * rho ** (-2 * points))))
        return min(found, key=lambda choice: choice[0]) if found else (4, arb.pos_inf())  # exact: integers

    @proved_by("T61-sampled-laplace")
    def _bound_ellipses(self, tilt: arb, frequency: arb, height: arb) -> tuple[arb, arb]:
        """(rho, the sum over the panels of (64/15) d U / (1 - rho^-2)) for ellipses of this height, at most pi/2.

        U = g e^{-left/2} max(m(right)^p, (cos(height/2) m(left))^p) e^{w arg m(right + i height)}, p = Re of m's power.
        """
        half = ball(self._ratio / self._panels)
        slope = height / half
        rho = slope + (slope * slope + 1).sqrt()
        reach, power, total = half * (rho + 1 / rho) / 2, self._power(tilt), arb(0)
        for panel in range(self._panels):
            centre = (2 * panel + 1) * half - ball(self._ratio)
            left, right = centre - reach, centre + reach
            most = (power * self._log_size(right)).exp()
            least = (power * ((height / 2).cos().log() + self._log_size(left))).exp()
            turn = (1 + ball(self.probability) * (acb(right, height).exp() - 1)).arg()
            total += most.max(least) * (abs(frequency) * turn - left / 2).exp()
        return rho, total * half * self.base.enclose_density(arb(0)) * 64 / 15 / (1 - 1 / (rho * rho))

    @proved_by("T61-sampled-laplace")
    def enclose_transform(self, z: acb) -> acb:
        """Enclose M(z): the sum over the nodes, and the error of the quadrature."""
        rule, turn = self.enclose_rule(z.real, z.imag), acb(0, z.imag)
        parts = (weight * (turn * loss).exp() for loss, weight in zip(rule.losses, rule.weights, strict=True))
        return sum(parts, acb(0)) + disc(rule.error)

    @proved_by("T61-sampled-laplace")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose M(l)."""
        return self.enclose_transform(acb(exponent)).real

    @proved_by("T62-sampled-laplace-beyond", "T41-laplace-tail")
    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(c+iw)| for w >= W: by `_bound_far`, or also by |M(c+iW)| where W is at most half a turn."""
        return bound_past_half_turn(self, tilt, frequency, self._bound_far)

    @proved_by("T62-sampled-laplace-beyond")
    def _bound_far(self, tilt: arb, frequency: arb) -> arb:
        """The lesser of M(c) - (what uniform layers under the density lose) and atoms + variation / w."""
        places, heights, floors = self._shape(tilt)
        lost = _layers([self._log_size(place) for place in places], floors, frequency)
        atoms = sum((mass * (tilt * loss).exp() for loss, mass in self.enclose_loss_atoms()), arb(0))
        return upper_end((self.enclose_moment(tilt) - lost).min(atoms + _variation(heights, floors) / frequency))

    @proved_by("T220-cells-of-transforms", "T62-sampled-laplace-beyond")
    def bound_variation(self, tilt: arb) -> arb | None:
        """Both end values of the tilted density, and its total variation."""
        return upper_end(_variation(*self._shape(tilt)[1:]))

    def _shape(self, tilt: arb) -> tuple[list[arb], list[arb], list[arb]]:
        """Ends of pieces, the tilted density there, and bounds of it from below on each piece."""
        places = [ball(self._ratio * (2 * n - _PIECES) / _PIECES) for n in range(_PIECES + 1)]
        heights = self._tilted_density(tilt, places)
        return places, heights, self._bound_pieces(tilt, places, heights)

    def _tilted_density(self, tilt: arb, places: Sequence[arb]) -> list[arb]:
        """Enclose e^{cL} times the density of L at each l: (g/q) e^{-3l/2} m^e, e = p + 1."""
        scale, power = self.base.enclose_density(arb(0)) / ball(self.probability), self._power(tilt) + 1
        return [scale * (power * self._log_size(place) - 3 * place / 2).exp() for place in places]

    @proved_by("T62-sampled-laplace-beyond")
    def _bound_pieces(self, tilt: arb, places: Sequence[arb], heights: Sequence[arb]) -> list[arb]:
        """Bound the tilted density on each piece from below: at an end, or by (g/q) e^{-3 right/2} m(left)^e."""
        power, found = self._power(tilt) + 1, []
        rest = ball(1 - self.probability)
        slopes = [power * (1 - rest * (-self._log_size(place)).exp()) - arb(3) / 2 for place in places]
        for (left, right), (first, last), (a, b) in zip(
                pairwise(places), pairwise(heights), pairwise(slopes), strict=True):
            shift = 3 * (left - right) / 2
            found.append(lower_end(first.min(last) if a >= 0 or b <= 0 else first * shift.exp()).max(arb(0)))
        return found

    def value_work(self, prec: int) -> int:
        """All nodes of a quadrature rule at one frequency."""
        return (VALUE + _RULE) * words(prec)


def on_sample(base: OnInterval, probability: Fraction, order: str) -> SampledLaplaceLoss | None:
    """The law of `base` on a Poisson sample, where its largest loss is not too large."""
    return SampledLaplaceLoss(base, probability, order) if base.largest_loss() <= LARGEST_RATIO else None


@kept(32)
def _inner_nodes(base: OnInterval, probability: Fraction, points: int) -> list[tuple[arb, arb]]:
    """(log m(l), weight * g e^{-l/2}) at the Gauss-Legendre points l of all panels."""
    ratio = base.largest_loss()
    panels = -(-ratio.numerator // ratio.denominator)
    half, found = ball(ratio / panels), []
    scale = half * base.enclose_density(arb(0))
    for panel in range(panels):
        for node, weight in gauss_rule(points):
            place = half * (2 * panel + 1 + node) - ball(ratio)
            size = (ball(probability) * place.expm1()).log1p()
            found.append((size, scale * weight * (-place / 2).exp()))
    return found


@proved_by("T62-sampled-laplace-beyond")
def _layers(losses: Sequence[arb], floors: Sequence[arb], frequency: arb) -> arb:
    """Bound from below what uniform layers under the floors lose: sum of height * length * (1 - s(w length / 2)).

    Layers that start at the first loss, from the running minimum of the floors; then some that end at the last loss,
    from what these leave.
    """
    prefix = list(accumulate(floors, arb.min))
    rest = [(floor - least).max(arb(0)) for floor, least in zip(floors, prefix, strict=True)]
    suffix = list(accumulate(reversed(rest), arb.min))
    forward, backward = losses[1:], [*reversed(losses[:-1])]
    total = arb(0)
    for ends, start, steps in ((forward, losses[0], prefix), (backward, losses[-1], suffix)):
        for end, height, below in zip(ends, steps, [*steps[1:], arb(0)], strict=True):
            length = abs(end - start)
            total += (height - below).max(arb(0)) * length * (1 - _sinc_beyond(frequency * length / 2))
    return lower_end(total).max(arb(0))


@proved_by("T62-sampled-laplace-beyond")
def _variation(heights: list[arb], floors: list[arb]) -> arb:
    """Both end values and the total variation of a density that falls and then rises, or does one of both."""
    return 2 * (heights[0] + heights[-1] - smallest(floors))


def _sinc_beyond(x: arb) -> arb:
    """Bound sup over y >= x > 0 of |sin y| / y: sin y / y falls up to 2, where it is larger than all later values."""
    near = x.min(arb(2))
    return upper_end((near.sin() / near).min(1 / x))
