"""The transform phi(z) = E e^{-zX} of a lognormal likelihood ratio: nodes that enclose it, hats that bound it (T131).

X = e^{su - s^2/2}, u standard normal, s > 0, so E X = 1. phi is analytic on the plane cut along the negative axis:
the line of integration may be turned to Im u = -A, where -zX has its argument turned by -sA.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from flint import acb, acb_poly, arb, arb_poly, ctx

from verified_dp.core.balls import BOUND_BITS, disc, integer_above, normal_tail, powers, smallest, upper_end
from verified_dp.core.theorems import proved_by


@dataclass(frozen=True)
class Nodes:
    """|phi(z) - series(z) - sum of weights e^{-z places}| <= error where |arg z - centre| <= half, |z| in [near, far].

    turned: e^{-i centre}. chains: a place X and the weights of X, 2X, 4X, ..: e^{-2zX} is the square of e^{-zX}.
    """

    series: acb_poly
    chains: list[tuple[acb, list[acb]]]
    turned: acb
    half: arb
    near: arb
    far: arb
    error: arb

    @proved_by("T131-lognormal-transform")
    def at(self, z: acb) -> tuple[acb, arb]:
        """A sum and how far phi(z) is from it at most; infinitely where z is not certainly where the rule holds."""
        size = abs(z)
        holds = self.near <= size and size <= self.far and abs((z * self.turned).arg()) <= self.half
        return self.sum_at(z), self.error if holds else arb.pos_inf()

    def enclose(self, z: acb) -> acb:
        """Enclose phi(z)."""
        value, error = self.at(z)
        return value + disc(error)

    def sum_at(self, z: acb) -> acb:
        """The series and the sum over the nodes that are left."""
        total = self.series(z)
        for place, weights in self.chains:
            power = (-z * place).exp()
            for weight in weights:
                total += weight * power
                power *= power
        return total


_CHAIN = 16
"""Squarings in a row: each costs a bit or two."""


@dataclass(frozen=True)
class Line:
    """The trapezoidal rule on Im u = -A, sA = centre: |phi(z) - sum weights e^{-z places}| <= error in its sector.

    Each place is the one before it times ratio, ratio^period = 2. sizes: bounds of (|place|, |weight|).
    """

    places: list[acb]
    weights: list[acb]
    sizes: list[tuple[arb, arb]]
    ratio: arb
    period: int
    centre: arb
    half: arb
    error: arb


@proved_by("T131-lognormal-transform")
def enclose_line(spread: arb, centre: arb, half: arb, bits: int) -> Line:
    """Nodes on the line Im u = -A, half-width b of the strip at most (pi/2 - half) / s.

    error = (e^{(A+b)^2/2} + e^{(A-b)^2/2}) / (e^{2 pi b/h} - 1) + 2 e^{A^2/2} P(u > n h), about 2^-bits. The step is
    h = log 2 / (s m), m the period.
    """
    depth, nats, double = centre / spread, bits * arb.const_log2() + 2, arb.const_log2() / spread
    width = ((arb.pi() / 2 - half) / spread).min((depth**2 + 2 * nats).sqrt())
    period = integer_above(double * (nats + (depth + width) ** 2 / 2) / (2 * arb.pi() * width))
    step = double / period
    alias = (((depth + width) ** 2 / 2).exp() + ((depth - width) ** 2 / 2).exp()) / (
        2 * arb.pi() * width / step).expm1()
    count = integer_above((2 * nats + depth**2).sqrt() / step)
    dropped = 2 * (depth**2 / 2).exp() * normal_tail(count * step)
    share, ratio = step / (2 * arb.pi()).sqrt(), (spread * step).exp()
    right = [share * (-u * u / 2).exp() for u in (acb(j * step, -depth) for j in range(count + 1))]
    weights = [weight.conjugate() for weight in reversed(right[1:])] + right
    first = acb(-spread * count * step - spread**2 / 2, -centre).exp()
    places = [first * power.real for power in powers(acb(ratio), 2 * count + 1)]
    sizes = [(place.abs_upper(), weight.abs_upper()) for place, weight in zip(places, weights, strict=True)]
    return Line(places, weights, sizes, ratio, period, centre, half, upper_end(alias + dropped))


@proved_by("T131-lognormal-transform")
def enclose_nodes(line: Line, near: arb, far: arb, bits: int) -> Nodes:
    """The line's rule for |z| in [near, far]: a series of d terms for its smallest places, none of its largest.

    They cost sum |w| (far largest |X|)^d / d! and sum |w| e^{-near |X| cos(half)}, about 2^-bits each.
    """
    with ctx.workprec(BOUND_BITS):
        goal = (-(bits + 2) * arb.const_log2()).exp()
        first = sum(1 for place, _ in line.sizes if far * place <= _SMALL)  # exact: a count
        left = sum((weight for _, weight in line.sizes[:first]), arb(0))
        largest = far * line.sizes[max(first - 1, 0)][0]  # exact: integers
        terms, lost = 0, left
        while not lost <= goal and terms < 2 * bits:
            terms += 1
            lost = lost * largest / terms
        last, cut, fall = len(line.places), arb(0), near * line.half.cos()
        while last > first + 1:
            more = cut + line.sizes[last - 1][1] * (-fall * line.places[last - 1].abs_lower()).exp()
            if not more <= goal:
                break
            last, cut = last - 1, more
    return Nodes(_series(line, first, terms), _chains(line, first, last), acb(0, -line.centre).exp(),
                 line.half, near, far, upper_end(line.error + lost + cut))


_SMALL = 1
"""Nodes X with far |X| at most this become a series."""


@proved_by("T131-lognormal-transform")
def _series(line: Line, first: int, terms: int) -> acb_poly:
    """sum_{j < first} w_j sum_{n < terms} (-zX_j)^n / n!, the places being a geometric sequence."""
    parts = [arb_poly([part(weight) for weight in reversed(line.weights[:first])]) for part in (_REAL, _IMAGINARY)]
    largest, power, share, coefficients = line.places[first - 1], arb(1), acb(1), []
    for n in range(terms if first else 0):
        coefficients.append(acb(*(part(power) for part in parts)) * share)
        power, share = power / line.ratio, -share * largest / (n + 1)
    return acb_poly(coefficients)


_REAL, _IMAGINARY = attrgetter("real"), attrgetter("imag")


def _chains(line: Line, first: int, last: int) -> list[tuple[acb, list[acb]]]:
    """The nodes from `first` to before `last`, in chains of doublings."""
    period = line.period
    return [(line.places[i], line.weights[i:min(block + _CHAIN * period, last):period])  # exact: integers
            for block in range(first, last, _CHAIN * period)
            for i in range(block, min(block + period, last))]  # exact: integers


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


@dataclass(frozen=True)
class Hats:
    """E[f(X); u < cuts[i]] <= sum of f(places) with weights full up to i and right[i] after it, for convex f >= 0.

    Bin i lies between places[i] and places[i+1] = X(cuts[i]), places[0] = 0; right: the share of E[.; bin] that falls
    to its right end where f is replaced by its chord; full: both shares of a place. beyond: P(u > cuts[i]).
    """

    spread: arb
    cuts: list[arb]
    places: list[arb]
    right: list[arb]
    full: list[arb]
    beyond: list[arb]

    @cached_property
    def centred(self) -> Centred:
        """phi near 0."""
        return enclose_centred(self.spread)

    @proved_by("T131-lognormal-transform")
    def bound(self, rate: arb) -> arb:
        """Bound E e^{-rate X}, rate >= 0."""
        return self.bound_below(rate, len(self.cuts) - 1) + self.beyond[-1] * (-rate * self.places[-1]).exp()

    def mean(self, rate: arb) -> arb:
        """About E[X e^{-rate X}] / E e^{-rate X}: only to choose by."""
        sizes = [weight * (-rate * place).exp() for weight, place in zip(self.full, self.places, strict=True)]
        return sum((size * place for size, place in zip(sizes, self.places, strict=True)), arb(0)) / sum(sizes, arb(0))

    def excess(self, index: int, rate: arb) -> arb:
        """About how much too much bin `index` >= 1 adds to E e^{-rate X}: only to choose by."""
        start, end = self.places[index:index + 2]
        low, high = (-rate * start).exp(), (-rate * end).exp()
        middle = (start * end).sqrt()
        chord = low + (high - low) * (middle - start) / (end - start)
        return (self.beyond[index - 1] - self.beyond[index]) * (chord - (-rate * middle).exp())

    @proved_by("T131-lognormal-transform")
    def bound_below(self, rate: arb, cut: int) -> arb:
        """Bound E[e^{-rate X}; u < cuts[cut]], any rate."""
        rise, last = -rate, cut + 1  # exact: an integer
        total = self.right[cut] * (rise * self.places[last]).exp()
        for weight, place in zip(self.full[:last], self.places[:last], strict=True):
            total += weight * (rise * place).exp()
        return total


def enclose_hats(spread: arb, depth: int, reach: int) -> Hats:
    """Hats between u = -depth and u = reach, half a unit wide, a whole one far out."""
    halves = [n for n in range(-2 * depth, 2 * reach + 1) if -6 <= n <= 10 or n % 2 == 0]  # exact: integers
    return hats_between(spread, [arb(n) / 2 for n in halves])


@proved_by("T131-lognormal-transform")
def hats_between(spread: arb, cuts: list[arb]) -> Hats:
    """Hats with these cuts, which rise."""
    places = [arb(0), *((spread * u - spread**2 / 2).exp() for u in cuts)]
    below = [arb(0), *map(normal_tail, (-u for u in cuts))]
    means = [arb(0), *map(normal_tail, (spread - u for u in cuts))]
    left, right = [], []
    for i in range(len(cuts)):
        mass, mean = below[i + 1] - below[i], means[i + 1] - means[i]
        share = (mean - places[i] * mass) / (places[i + 1] - places[i])
        left.append(upper_end(mass - share))
        right.append(upper_end(share))
    full = [left[0], *(a + b for a, b in zip(right, [*left[1:], arb(0)], strict=True))]
    return Hats(spread, cuts, places, right, full, [normal_tail(u) for u in cuts])


def refined(hats: Hats, rates: list[arb], small: arb) -> Hats:
    """The hats with bins halved until at each rate every one adds about `small` at most to E e^{-rate X}."""
    for _ in range(_HALVINGS):
        cuts = hats.cuts[:1]
        for i in range(1, len(hats.cuts)):
            if any(not hats.excess(i, rate) <= small for rate in rates):
                cuts.append((hats.cuts[i - 1] + hats.cuts[i]) / 2)
            cuts.append(hats.cuts[i])
        if len(cuts) == len(hats.cuts):
            break
        hats = hats_between(hats.spread, cuts)
    return hats


_HALVINGS = 8


@dataclass(frozen=True)
class Majorant:
    """A bound of |phi| on a convex set in 0 <= arg z <= pi/2 + angle < pi, by one path of integration in u.

    The path runs on Im u = -A, sA = turn <= angle, up to Re u = the cut, down to B, sB = angle, and on:
    e^{A^2/2} E[e^{-rate X}; u < cut] + (B - A) e^{(B^2 - cut^2)/2 + max(-rate, 0) X(cut)} / sqrt(2 pi)
    + e^{B^2/2} P(u > cut), rate = Re(z e^{-i turn}), is convex in z, and so is its logarithm.
    cut: None where rate >= 0 on the whole set: then e^{A^2/2} E e^{-rate X}.
    """

    hats: Hats
    angle: arb
    turn: arb
    cut: int | None

    @proved_by("T131-lognormal-transform")
    def log_bound(self, z: acb) -> arb:
        """Bound log |phi| at a corner of the set."""
        first, last = self.turn / self.hats.spread, self.angle / self.hats.spread
        rate = z.real * self.turn.cos() + z.imag * self.turn.sin()
        if self.cut is None:
            return first**2 / 2 + self.hats.bound(rate).log() if rate >= 0 else arb.pos_inf()
        end, growth = self.hats.cuts[self.cut], (-rate).max(arb(0)) * self.hats.places[self.cut + 1]
        across = (last - first) * ((last**2 - end**2) / 2 + growth).exp() / (2 * arb.pi()).sqrt()
        along = (first**2 / 2).exp() * self.hats.bound_below(rate, self.cut)
        return upper_end((along + across + (last**2 / 2).exp() * self.hats.beyond[self.cut]).log())


def choose_majorant(hats: Hats, angle: arb, turn: arb, corners: list[acb]) -> Majorant:
    """The path for a turn, cut where e^{-rate X} g(u) begins to grow."""
    least = smallest([z.real * turn.cos() + z.imag * turn.sin() for z in corners])
    if least >= 0:
        return Majorant(hats, angle, turn, None)
    cut = len(hats.cuts) - 1
    while cut > 1 and not -hats.spread * least * hats.places[cut + 1] <= hats.cuts[cut]:
        cut -= 1
    return Majorant(hats, angle, turn, cut)
