"""Bounds of the transform phi(z) = E e^{-zX} of a lognormal likelihood ratio: chords, moments, majorants (T131).

X = e^{su - s^2/2}, u standard normal, s > 0, so E X = 1. phi is analytic on the plane cut along the negative axis:
the line of integration may be turned to Im u = -A, where -zX has its argument turned by -sA.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import acb, arb

from verified_dp.core.families.allocation.lognormal_nodes import Axis
from verified_dp.core.kernel.balls import normal_tail, smallest, upper_end
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class Centred:
    """|phi(z) e^z - 1 - second z^2 - third z^3| <= fourth e^{A^2/2 + max(0, Re z)} |z|^4 where |arg z - sA| <= pi/2.

    second, third: E (1 - X)^n / n!; fourth: E (1 + X)^4 / 4!.
    """

    spread: arb
    second: arb
    third: arb
    fourth: arb

    def remainder(self, z: acb, turn: arb) -> arb:
        """What the terms that are left out amount to at most, sA = turn."""
        growth = (turn / self.spread) ** 2 / 2 + z.real.max(arb(0))
        return upper_end(self.fourth * growth.exp() * abs(z) ** 4)

    @proved_by("T131-lognormal-transform")
    def bound(self, z: acb, turn: arb) -> arb:
        """Bound |phi(z) e^z| on the box, |arg z - turn| <= pi/2."""
        return upper_end(abs(1 + z * z * (self.second + z * self.third)) + self.remainder(z, turn))


@proved_by("T131-lognormal-transform")
def enclose_centred(spread: arb) -> Centred:
    """By E X^n = e^{n(n-1)s^2/2}."""
    m2, m3, m4 = ((n * (n - 1) * spread**2 / 2).exp() for n in (2, 3, 4))
    return Centred(spread, (spread**2).expm1() / 2, -(m3 - 3 * m2 + 2) / 6, (m4 + 4 * m3 + 6 * m2 + 5) / 24)


_LOST = 256
"""Of its error: below, a rule for the axis does not tell much."""


@dataclass(frozen=True)
class EdmundsonMadansky:
    """E[f(X); u < cuts[i]] <= sum of f(places) with weights full up to i and right[i] after it, for convex f >= 0.

    Bin i lies between places[i] and places[i+1] = X(cuts[i]), places[0] = 0; right: the share of E[.; bin] that falls
    to its right end where f is replaced by its chord; full: both shares of a place. beyond: P(u > cuts[i]). axis: E f
    for the falling f(x) = e^{-rx}.
    """

    spread: arb
    cuts: list[arb]
    places: list[arb]
    right: list[arb]
    full: list[arb]
    beyond: list[arb]
    axis: Axis

    @cached_property
    def centred(self) -> Centred:
        """phi near 0."""
        return enclose_centred(self.spread)

    @proved_by("T131-lognormal-transform")
    def bound(self, rate: arb) -> arb:
        """Bound E e^{-rate X}, rate >= 0: by the axis' rule, or where that is lost in its error by the chords too."""
        found = self.axis.bound(rate)
        if found > _LOST * self.axis.nodes.error:
            return found
        last = len(self.cuts) - 1
        far = self.beyond[last] * (-rate * self.places[last + 1]).exp()
        return upper_end(found.min(self.bound_below(rate, last) + far))

    def mean(self, rate: arb) -> arb:
        """About E[X e^{-rate X}] / E e^{-rate X}: only to choose by."""
        if self.axis.bound(rate) > _LOST * self.axis.nodes.error:
            return self.axis.mean(rate)
        sizes = [weight * (-rate * place).exp() for weight, place in zip(self.full, self.places, strict=True)]
        return sum((x * size for x, size in zip(self.places, sizes, strict=True)), arb(0)) / sum(sizes, arb(0))

    @proved_by("T131-lognormal-transform")
    def bound_below(self, rate: arb, cut: int) -> arb:
        """Bound E[e^{-rate X}; u < cuts[cut]], any rate."""
        rise, last = -rate, cut + 1  # exact: an integer
        total = self.right[cut] * (rise * self.places[last]).exp()
        for weight, place in zip(self.full[:last], self.places[:last], strict=True):
            total += weight * (rise * place).exp()
        return total


@proved_by("T131-lognormal-transform")
def enclose_chords(axis: Axis, depth: int, reach: int) -> EdmundsonMadansky:
    """Enclose the bound between u = -depth and u = reach, by bins half a unit wide, a whole one far out."""
    spread, halves = axis.nodes.spread, [n for n in range(-2 * depth, 2 * reach + 1) if -6 <= n <= 10 or n % 2 == 0]
    cuts = [arb(n) / 2 for n in halves]  # exact: integers
    places = [arb(0), *((spread * u - spread**2 / 2).exp() for u in cuts)]
    beyond = [normal_tail(u) for u in cuts]
    below, means = ([arb(0), *(normal_tail(-u) if u < 0 else 1 - normal_tail(u) for u in found)]
                    for found in (cuts, [u - spread for u in cuts]))
    left, right = [], []
    for i in range(len(cuts)):
        mass, mean = below[i + 1] - below[i], means[i + 1] - means[i]
        share = (mean - places[i] * mass) / (places[i + 1] - places[i])
        left.append(upper_end(mass - share))
        right.append(upper_end(share))
    full = [left[0], *(a + b for a, b in zip(right, [*left[1:], arb(0)], strict=True))]
    return EdmundsonMadansky(spread, cuts, places, right, full, beyond, axis)


@dataclass(frozen=True)
class Majorant:
    """A bound of |phi| on a convex set in 0 <= arg z <= pi/2 + angle < pi, by one path of integration in u.

    The path runs on Im u = -A, sA = turn <= angle, up to Re u = the cut, down to B, sB = angle, and on:
    e^{A^2/2} E[e^{-rate X}; u < cut] + (B - A) e^{(B^2 - cut^2)/2 + max(-rate, 0) X(cut)} / sqrt(2 pi)
    + e^{B^2/2} P(u > cut), rate = Re(z e^{-i turn}), is convex in z, and so is its logarithm.
    cut: None where rate >= 0 on the whole set: then e^{A^2/2} E e^{-rate X}.
    """

    chords: EdmundsonMadansky
    angle: arb
    turn: arb
    cut: int | None

    @proved_by("T131-lognormal-transform")
    def log_bound(self, z: acb) -> arb:
        """Bound log |phi| at a corner of the set."""
        first, last = self.turn / self.chords.spread, self.angle / self.chords.spread
        rate = z.real * self.turn.cos() + z.imag * self.turn.sin()
        if self.cut is None:
            return first**2 / 2 + self.chords.bound(rate).log() if rate >= 0 else arb.pos_inf()
        end, growth = self.chords.cuts[self.cut], (-rate).max(arb(0)) * self.chords.places[self.cut + 1]
        across = (last - first) * ((last**2 - end**2) / 2 + growth).exp() / (2 * arb.pi()).sqrt()
        along = (first**2 / 2).exp() * self.chords.bound_below(rate, self.cut)
        return upper_end((along + across + (last**2 / 2).exp() * self.chords.beyond[self.cut]).log())


def choose_majorant(chords: EdmundsonMadansky, angle: arb, turn: arb, corners: list[acb]) -> Majorant:
    """The path for a turn, cut where e^{-rate X} g(u) begins to grow."""
    least = smallest([z.real * turn.cos() + z.imag * turn.sin() for z in corners])
    if least >= 0:
        return Majorant(chords, angle, turn, None)
    cut = len(chords.cuts) - 1
    while cut > 1 and not -chords.spread * least * chords.places[cut + 1] <= chords.cuts[cut]:
        cut -= 1
    return Majorant(chords, angle, turn, cut)
