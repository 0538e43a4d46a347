"""Two equal steps whose losses are those of two Gaussians mixed with one: integrals of one step's curve (T227).

With H the hockey-stick divergence of one step and L its loss, D(eps) = E_P[H(eps - L)] is an integral over the noise of
the other step. Arb encloses it, given the integrand on complex balls; what lies beyond its ends is bounded here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

from flint import acb, arb, ctx

from verified_dp.core.kernel.balls import ball, lower_end, plus_minus, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, words

Curve = Callable[[acb, bool], acb]
"""(e^x, whether it must be analytic there) -> the curve at x."""
_SPARE = 24
"""Bits of the integrand beyond those asked."""
_MOST_VALUES = 40_000
"""Of one integral: then it stops, and is wide."""


@dataclass(frozen=True)
class Ramp:
    """The loss of F_P against F_Q in the noise N(0, sigma^2), rising in t: 1 or m(t), and 1 or m(-t).

    m(t) = 1 - q + q e^{(2t-1)/(2 sigma^2)}. order: remove (m(t) against 1), add (1 against m(-t)), symmetric (both).
    is_mirrored: of the remove order's curve the part at eps >= 0, and its mirror image below (T52).
    """

    probability: Fraction
    sigma: Fraction | SquareRoot
    order: str
    is_mirrored: bool = False

    @cached_property
    def numbers(self) -> tuple[arb, arb, arb, arb]:
        """q, 1 - q, sigma and sigma sqrt 2, at the precision of the first call."""
        sigma = ball(self.sigma)
        return ball(self.probability), ball(1 - self.probability), sigma, sigma * arb(2).sqrt()

    @cached_property
    def _height(self) -> arb:
        return 1 / (self.numbers[3] * arb.pi().sqrt())

    @cached_property
    def _rate(self) -> arb:
        return 1 / (self.numbers[2] * self.numbers[2])

    @proved_by("T227-two-steps")
    def sides(self, t: acb) -> tuple[acb, acb]:
        """Enclose F_P(t) and F_Q(t)."""
        return acb(1) if self.order == "add" else self._mixed(t), acb(1) if self.order == "remove" else self._mixed(-t)

    def _mixed(self, t: acb) -> acb:
        q, rest, _, _ = self.numbers
        return rest + q * ((t - arb(1) / 2) * self._rate).exp()

    def density(self, t: acb) -> acb:
        """That of the noise."""
        _, _, _, wide = self.numbers
        place = t / wide
        return (-place * place).exp() * self._height

    @proved_by("T227-two-steps")
    def place(self, ratio: acb, analytic: bool) -> acb:
        """Enclose the t with F_P / F_Q = ratio, continued from the positive axis."""
        q, rest, sigma, _ = self.numbers
        square = sigma * sigma
        if self.order == "remove":
            return square * ((ratio - rest) / q).log(analytic) + arb(1) / 2
        if self.order == "add":
            return -(square * ((1 / ratio - rest) / q).log(analytic) + arb(1) / 2)
        lift, slope = q * (-1 / (2 * square)).exp(), rest * (ratio - 1)
        root = (slope * slope + 4 * lift * lift * ratio).sqrt(analytic)
        return square * ((slope + root) / (2 * lift)).log(analytic)

    @proved_by("T227-two-steps")
    def tails(self, t: acb) -> tuple[acb, acb]:
        """Enclose the P and the Q mass right of t."""
        q, rest, _, wide = self.numbers
        plain = (t / wide).erfc() / 2
        above, below = (plain if self.order == order else rest * plain + q * ((t - mean) / wide).erfc() / 2
                        for order, mean in (("add", 1), ("remove", -1)))
        return above, below

    def real_tails(self, t: arb) -> tuple[arb, arb]:
        """The same at a real place."""
        above, below = self.tails(acb(t))
        return above.real, below.real

    @proved_by("T227-two-steps")
    def curve(self, ratio: acb, analytic: bool) -> acb:
        """Enclose P - ratio Q right of where the loss is log ratio."""
        above, below = self.tails(self.place(ratio, analytic))
        return above - ratio * below

    def real_curve(self, ratio: arb) -> arb:
        """The same on the real axis."""
        return self.curve(acb(ratio), False).real

    def real_place(self, ratio: arb) -> arb:
        """The place of a real loss."""
        return self.place(acb(ratio), False).real

    def real_ratio(self, t: arb) -> arb:
        """e^L at a real place."""
        above, below = self.sides(acb(t))
        return (above / below).real


Part = tuple[arb, Ramp]
"""A share of the steps, and their loss."""


class RampLaw(Law, Protocol):
    """A law whose loss is that of one ramp, or of the second of two with a small chance, and shows which."""

    @property
    def ramps(self) -> tuple[Ramp, ...]:
        """One or two; none where its loss is none."""

    def enclose_shares(self) -> tuple[arb, ...]:
        """Enclose the chances of two."""


def ramps_of(loss: ComposedLoss) -> tuple[Ramp, ...]:
    """Those of each of two steps of one law, where there is nothing else; else none."""
    alone = len(loss.parts) == 1 and loss.parts[0][1] == 2 and not loss.mean_shift_squared
    found: tuple[Ramp, ...] = getattr(loss.parts[0][0], "ramps", ()) if alone else ()
    return found


def units(loss: ComposedLoss, prec: int) -> int:
    """Units of work: an integral or six, of some values for each bit."""
    many = sum(3 if ramp.is_mirrored else 1 for ramp in ramps_of(loss)) + 2 * (len(ramps_of(loss)) - 1)
    return 2 * VALUE * many * (60 + 2 * prec) * words(prec)


@proved_by("T227-two-steps")
def enclose_two(loss: ComposedLoss, epsilon: arb) -> arb:
    """Enclose delta(eps): the sum over pairs of parts of share * share * D; between 1 - e^eps and 1 where eps < 0."""
    nothing_known = (-epsilon.expm1()).max(arb(0)).union(arb(1))
    if not epsilon >= 0:
        return nothing_known
    ramps, goal = ramps_of(loss), ctx.prec - spare_bits(loss)
    shares = loss.parts[0][0].enclose_shares() if len(ramps) > 1 else (arb(1),)  # type: ignore[attr-defined]
    total, ratio = arb(0), epsilon.exp()
    for i, (share, one) in enumerate(zip(shares, ramps, strict=True)):
        for other_share, other in zip(shares[i:], ramps[i:], strict=True):
            many = share * other_share * (1 if other is one else 2)
            total += many * _enclose_pair(one, other, ratio, goal, total / many)
    return total if total.is_finite() else nothing_known


def spare_bits(loss: ComposedLoss) -> int:
    """Of the precision, how many bits more than an integral is wanted to: what cancels in e^eps - (1 - q), and some."""
    return _SPARE + sum((ramp.probability.denominator // ramp.probability.numerator).bit_length()
                        for ramp in ramps_of(loss))


def _enclose_pair(one: Ramp, other: Ramp, ratio: arb, goal: int, size: arb) -> arb:
    """Enclose E[H_other(eps - L_one)], e^eps = ratio >= 1; where both are lines or both are mirrored, they are one.

    size: of what it is added to.
    """
    if one.is_mirrored:
        return _over_mirror(one, ratio, goal, size)
    return _over_line(one, other, ratio, goal, size) if other.is_mirrored else _by_half(one, ratio, goal)


def _reach(ramp: Ramp, goal: int) -> arb:
    """Beyond which there is about 2^-goal of the noise."""
    return ramp.numbers[2] * (2 * (goal + 8) * arb(2).log()).sqrt() + 1


@proved_by("T227-two-steps")
def _integral(values: Curve, left: arb, right: arb, goal: int, size: arb) -> arb:
    """Enclose the integral of a function that is real on the real axis, between the upper ends of two balls.

    To 2^-goal of itself, or of a size >= 0 that it need not be closer than.
    """
    start, end, close = upper_end(left), upper_end(right), arb((1, -goal))
    if not (start.is_finite() and end.is_finite() and size.is_finite()):
        return arb("nan")
    found: acb = acb.integral(values, acb(start), acb(end), rel_tol=close, abs_tol=close * size,
                              eval_limit=_MOST_VALUES)
    return found.real


@proved_by("T227-two-steps")
def _by_half(ramp: Ramp, ratio: arb, goal: int) -> arb:
    """Enclose D by the losses at most eps/2, about, or in the add order by those above; (2) and (3) of T227."""
    above = ramp.order == "add"
    if above and ratio * ramp.numbers[1] * ramp.numbers[1] >= 1:
        return arb(0)
    end = upper_end(ramp.real_place(ratio.sqrt()))

    def values(t: acb, analytic: bool) -> acb:
        up, down = ramp.sides(t)
        return ramp.density(t) * up * ramp.curve(ratio * down / up, analytic)

    here = ramp.real_ratio(end)
    there = ratio / here
    (p, q), (p_second, q_second) = ramp.real_tails(end), ramp.real_tails(ramp.real_place(there))
    between, both = (p_second - p) * ramp.real_curve(there.union(here)), p * p_second - ratio * q * q_second
    if above:
        far = upper_end(end.max(arb(0)) + _reach(ramp, goal))
        beyond = ramp.real_tails(far)[0] * ramp.real_curve(ratio * ramp.numbers[1])
        return 2 * (_integral(values, end, far, goal, arb(0)) + arb(0).union(beyond)) + between - both
    far = upper_end(-_reach(ramp, goal))
    beyond = (1 - ramp.real_tails(far)[0]) * ramp.real_curve(ratio / ramp.real_ratio(far))
    return 2 * (_integral(values, far, end, goal, lower_end(both).max(arb(0))) + arb(0).union(beyond)) - between + both


@proved_by("T227-two-steps")
def _over_line(line: Ramp, mirror: Ramp, ratio: arb, goal: int, size: arb) -> arb:
    """Enclose D of a loss on a line and a mirrored one: left and right of where the first is eps; (4) of T227."""
    def low(t: acb, analytic: bool) -> acb:
        up, down = line.sides(t)
        return line.density(t) * up * mirror.curve(ratio * down / up, analytic)

    def high(t: acb, analytic: bool) -> acb:
        up, down = line.sides(t)
        return line.density(t) * down * mirror.curve(up / (ratio * down), analytic)

    far = upper_end(-_reach(line, goal))
    beyond = (1 - line.real_tails(far)[0]) * mirror.real_curve(ratio / line.real_ratio(far))
    if line.order == "add" and ratio * line.numbers[1] >= 1:
        last = upper_end(_reach(line, goal))
        after = line.real_tails(last)[0] * mirror.real_curve(ratio * line.numbers[1])
        return _integral(low, far, last, goal, size) + arb(0).union(beyond) + arb(0).union(after)
    place = line.real_place(ratio)
    end = upper_end(place)
    last = upper_end(end.max(arb(0)) + _reach(line, goal))
    (p, q), (p_true, _), (after, _) = (line.real_tails(t) for t in (end, place, last))
    right = p - ratio * q
    size = lower_end(right).max(size)
    stretch = _integral(low, far, end, goal, size) + ratio * _integral(high, end, last, goal, size / ratio) + right
    return stretch + arb(0).union(beyond) + arb(0).union(after) + plus_minus((p_true - p).abs_upper())


@proved_by("T227-two-steps")
def _over_mirror(one: Ramp, ratio: arb, goal: int, size: arb) -> arb:
    """Enclose D of two equal mirrored losses: of the atom at 0, of the losses below 0, up to eps, and above it; (5)."""
    def fallen(t: acb, analytic: bool) -> acb:
        return one.density(t) * one.curve(ratio * one.sides(t)[0], analytic)

    def low(t: acb, analytic: bool) -> acb:
        up, _ = one.sides(t)
        return one.density(t) * up * one.curve(ratio / up, analytic)

    def high(t: acb, analytic: bool) -> acb:
        return one.density(t) * one.curve(one.sides(t)[0] / ratio, analytic)

    start, place = arb(1) / 2, one.real_place(ratio)
    end = upper_end(place)
    last = upper_end(end + _reach(one, goal))
    (p0, q0), (p, q), (p_true, _), (after, rest) = (one.real_tails(t) for t in (start, end, place, last))
    known = (1 - p0 - q0) * one.real_curve(ratio) + p - ratio * q
    size = lower_end(known).max(size)
    stretches = _integral(fallen, start, last, goal, size) + _integral(low, start, end, goal, size) + ratio * _integral(
        high, end, last, goal, size / ratio)
    beyond = arb(0).union(after) + arb(0).union(rest * one.real_curve(ratio * one.real_ratio(last)))
    return known + stretches + beyond + plus_minus((p_true - p).abs_upper())
