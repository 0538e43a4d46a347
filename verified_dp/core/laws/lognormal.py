"""The transform phi(z) = E e^{-zX} of a lognormal likelihood ratio: nodes that enclose it, hats that bound it (T131).

X = e^{su - s^2/2}, u standard normal, s > 0, so E X = 1. phi is analytic on the plane cut along the negative axis:
the line of integration may be turned to Im u = -A, where -zX has its argument turned by -sA.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import acb, arb

from verified_dp.core.balls import disc, lower_end, normal_tail, upper_end
from verified_dp.core.theorems import proved_by


def integer_above(x: arb) -> int:
    """An integer at least every point of the ball."""
    return int(x.upper().ceil().upper().unique_fmpz())


@dataclass(frozen=True)
class Nodes:
    """|phi(z) - sum_j weights_j e^{-z places_j}| <= error wherever |arg z - centre| <= half."""

    places: list[acb]
    weights: list[acb]
    centre: arb
    half: arb
    error: arb

    @proved_by("T131-lognormal-transform")
    def enclose(self, z: acb) -> acb:
        """Enclose phi(z); everything where z is not certainly in the rule's sector."""
        if not abs((z * acb(0, -self.centre).exp()).arg()) <= self.half:
            return disc(arb.pos_inf())
        terms = (weight * (-z * place).exp() for weight, place in zip(self.weights, self.places, strict=True))
        return sum(terms, acb(0)) + disc(self.error)


@proved_by("T131-lognormal-transform")
def enclose_nodes(spread: arb, centre: arb, half: arb, bits: int) -> Nodes:
    """The trapezoidal rule on the line Im u = -A, sA = centre, half-width b of the strip at most (pi/2 - half) / s.

    error = (e^{(A+b)^2/2} + e^{(A-b)^2/2}) / (e^{2 pi b/h} - 1) + 2 e^{A^2/2} P(u > n h), about 2^-bits.
    """
    depth, nats = centre / spread, bits * arb.const_log2() + 2
    width = ((arb.pi() / 2 - half) / spread).min((depth**2 + 2 * nats).sqrt())
    step = lower_end(2 * arb.pi() * width / (nats + (depth + width) ** 2 / 2))
    alias = (((depth + width) ** 2 / 2).exp() + ((depth - width) ** 2 / 2).exp()) / (
        2 * arb.pi() * width / step).expm1()
    count = integer_above((2 * nats + depth**2).sqrt() / step)
    dropped = 2 * (depth**2 / 2).exp() * normal_tail(count * step)
    line = [acb(j * step, -depth) for j in range(-count, count + 1)]
    weights = [step * (-u * u / 2).exp() / (2 * arb.pi()).sqrt() for u in line]
    places = [(spread * u - spread**2 / 2).exp() for u in line]
    return Nodes(places, weights, centre, half, upper_end(alias + dropped))


@dataclass(frozen=True)
class Hats:
    """E f(X) <= sum_i weights_i f(places_i) + P(u > cuts[-1]) sup f beyond, for convex f on [0, cuts[-1]].

    left, right: the shares of each bin's two ends; bin i lies between places[i] and places[i+1], places[0] = 0.
    """

    cuts: list[arb]
    places: list[arb]
    left: list[arb]
    right: list[arb]
    beyond: list[arb]
    full: list[arb]
    spread: arb

    @proved_by("T131-lognormal-transform")
    def bound(self, rate: arb) -> arb:
        """Bound E e^{-rate X}, rate >= 0."""
        shares = (weight * (-rate * place).exp() for weight, place in zip(self.full, self.places, strict=True))
        return sum(shares, self.beyond[-1])

    @proved_by("T131-lognormal-transform")
    def bound_growth(self, rate: arb, cut: int) -> arb:
        """Bound E[e^{rate X}; u < cuts[cut]], rate >= 0."""
        shares = (weight * (rate * place).exp() for weight, place in zip(self.full[:cut + 1], self.places, strict=False))
        return sum(shares, self.right[cut] * (rate * self.places[cut + 1]).exp())


_FINENESS = 2
_LEFTMOST = -8


@proved_by("T131-lognormal-transform")
def enclose_hats(spread: arb, reach: int) -> Hats:
    """Hats between u = -8 and u = reach, half a unit wide."""
    cuts = [arb(n) / _FINENESS for n in range(_LEFTMOST * _FINENESS, reach * _FINENESS + 1)]
    places = [arb(0), *((spread * u - spread**2 / 2).exp() for u in cuts)]
    below = [arb(0), *(normal_tail(-u) for u in cuts)]
    means = [arb(0), *(normal_tail(spread - u) for u in cuts)]
    left, right = [], []
    for i in range(len(cuts)):
        mass, mean = below[i + 1] - below[i], means[i + 1] - means[i]
        share = (mean - places[i] * mass) / (places[i + 1] - places[i])
        left.append(upper_end(mass - share))
        right.append(upper_end(share))
    full = [left[0], *(a + b for a, b in zip(right, [*left[1:], arb(0)], strict=True))]
    return Hats(cuts, places, left, right, [normal_tail(u) for u in cuts], full, spread)

@proved_by("T131-lognormal-transform")
def bound_in_sector(hats: Hats, angle: arb, turn: arb, rate: arb) -> arb:
    """Bound |phi(z)| where 0 <= arg z <= pi/2 + angle < pi and Re(z e^{-i turn}) >= rate, 0 <= turn <= angle.

    rate >= 0: e^{A^2/2} E e^{-rate X}, sA = turn. rate < 0: up to a cut on that line, then down to B, sB = angle, and on:
    e^{A^2/2} E[e^{-rate X}; u < cut] + (B - A) e^{(B^2 - cut^2)/2 - rate X(cut)} / sqrt(2 pi) + e^{B^2/2} P(u > cut).
    """
    first, last = turn / hats.spread, angle / hats.spread
    if rate >= 0:
        return (first**2 / 2).exp() * hats.bound(rate)
    if not rate < 0:
        return (last**2 / 2).exp()
    rate = -rate
    cut = len(hats.cuts) - 1
    while cut > 1 and not hats.spread * rate * hats.places[cut + 1] <= hats.cuts[cut]:
        cut -= 1
    end = hats.cuts[cut]
    across = (last - first) * ((last**2 - end**2) / 2 + rate * hats.places[cut + 1]).exp() / (2 * arb.pi()).sqrt()
    return (first**2 / 2).exp() * hats.bound_growth(rate, cut) + across + (last**2 / 2).exp() * hats.beyond[cut]
