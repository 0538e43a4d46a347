"""The transform phi(z) = E e^{-zX} of a lognormal likelihood ratio as a polynomial in z^{h/s} (T131 b).

X(u) = e^{su - s^2/2}, u standard normal, s > 0. With W = log(z)/s, v = u + W and the normal density g

    phi(z) = int g(v - W) e^{-X(v)} dv    on any line |Im v| <= pi/(2s).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import acb, acb_mat, arb, arb_poly, ctx

from verified_dp.core.engines.shared import all_powers, cut, kept, powers
from verified_dp.core.kernel.balls import (
    BOUND_BITS,
    ball,
    disc,
    integer_above,
    integer_below,
    largest,
    lower_end,
    normal_tail,
    smallest,
    upper_end,
)
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class Strip:
    """A rule for |arg z - centre| <= half: steps on Im v = middle, analytic and bounded up to `width` away.

    s (|middle| + width) <= pi/2; gap: the largest |arg z / s - middle|. All are exact.
    """

    centre: arb
    half: arb
    middle: arb
    width: arb
    gap: arb
    step: arb


_WIDTHS = 8


@proved_by("T131-lognormal-transform")
def choose_strip(spread: arb, centre: arb, half: arb, nats: arb) -> Strip:
    """The one with the widest steps h = 2 pi b / (nats + (gap + b)^2 / 2), b its width; centre and half are exact."""
    room, zero = lower_end(arb.pi() / 2 / spread), arb(0)
    most, best = room.min((2 * nats).sqrt()), Strip(centre, half, zero, zero, zero, zero)
    for n in range(1, _WIDTHS + 1):
        width = lower_end(most * n / _WIDTHS)
        middle = lower_end((centre / spread).min(room - width).max(zero))
        gap = upper_end(half / spread + abs(centre / spread - middle))
        step = lower_end(2 * arb.pi() * width / (nats + (gap + width) ** 2 / 2))
        best = Strip(centre, half, middle, width, gap, step) if step > best.step else best
    return best


@dataclass(frozen=True)
class Nodes:
    """|phi(z) - e^{W (first - W/2)} sum_j c_j e^{jhW}| <= error, W = log(z)/s, in the strip's sector.

    low <= Re W <= high; c_j = h g(v) e^{-X(v)} at v = first + jh are the entries of `rows`, row after row, with zeros
    at the end.
    """

    spread: arb
    strip: Strip
    low: arb
    high: arb
    first: acb
    rows: acb_mat
    error: arb

    def holds(self, w: acb) -> bool:
        """Whether w is certainly where the rule holds."""
        return bool(self.low <= w.real and w.real <= self.high
                    and abs(self.spread * w.imag - self.strip.centre) <= self.strip.half)

    @proved_by("T131-lognormal-transform")
    def at(self, logs: list[acb]) -> list[tuple[acb, arb]]:
        """Sums at the z with these logarithms, |Im| < pi, and how far each phi(z) is from its own at most.

        Infinitely far where the rule may not hold.
        """
        places = [log / self.spread for log in logs]
        turns = [(self.strip.step * w).exp() for w in places]
        babies = all_powers(turns, self.rows.ncols())
        giants = all_powers([x * y for x, y in zip(babies[-1], turns, strict=True)], self.rows.nrows())
        sums = [acb(0)] * len(places)
        for giant, part in zip(giants, (self.rows * acb_mat(babies)).tolist(), strict=True):
            sums = [total + x * y for total, x, y in zip(sums, giant, part, strict=True)]
        return [((w * (self.first - w / 2)).exp() * total, self.error if self.holds(w) else arb.pos_inf())
                for w, total in zip(places, sums, strict=True)]

    def enclose(self, z: acb) -> acb:
        """Enclose phi(z)."""
        [(value, error)] = self.at([z.log()])
        return value + disc(error)


@proved_by("T131-lognormal-transform")
def enclose_nodes(spread: arb, strip: Strip, ends: tuple[arb, arb], bits: int) -> Nodes:
    """The trapezoidal rule on Im v = y between v_0 and v_1, d the gap, b the width, L = log(|z|)/s within the ends:

    error = 2 e^{(d+b)^2/2} / (e^{2 pi b/h} - 1) + e^{d^2/2} (Q(L - v_0) + Q(v_1 - L) e^{-X(v_1) cos(sy)}), about
    2^-bits; in place of Q(v_1 - L) stands 1 + h where v_1 < L.
    """
    step, (low, high) = strip.step, ends
    with ctx.workprec(BOUND_BITS):
        nats, fall = (bits + 2) * arb.const_log2(), lower_end((spread * strip.middle).cos())
        reach = (2 * nats + strip.gap**2).sqrt()
        gone = ((reach**2 / 2 / fall).log() / spread + spread / 2).max(low) if fall > 0 else arb.pos_inf()
        start = integer_below((low - reach) / step)
        count = 1 + integer_above((high + reach).min(gone) / step - start)
        last = (start + count - 1) * step
        alias = 2 * ((strip.gap + strip.width) ** 2 / 2).exp() / (2 * arb.pi() * strip.width / step).expm1()
        beyond = (normal_tail(last - high) if last >= high else 1 + step) * (
            -fall.max(arb(0)) * (spread * last - spread**2 / 2).exp()).exp()
        error = upper_end(alias + (strip.gap**2 / 2).exp() * (normal_tail(low - start * step) + beyond))
    first, share = acb(start * step, strip.middle), step / (2 * arb.pi()).sqrt()
    place, ratio = (spread * first - spread**2 / 2).exp(), acb((spread * step).exp())
    coefficients = [share * (-(first + j * step) ** 2 / 2 - place * power.real).exp()
                    for j, power in enumerate(powers(ratio, count))]
    return Nodes(spread, strip, low, high, first, cut(coefficients), error)


@dataclass(frozen=True)
class Axis:
    """phi(r) = E e^{-rX} for r >= 0, by a rule for the positive axis: a sum of positive terms."""

    nodes: Nodes
    polynomial: arb_poly

    @proved_by("T131-lognormal-transform")
    def bound(self, rate: arb) -> arb:
        """Bound phi(r): 1 - r + r^2 e^{s^2} / 2 below the rule's range, where that is enough; beyond it phi falls."""
        rule, place = self.nodes, rate.log() / self.nodes.spread
        if not place >= rule.low:
            return upper_end((1 - rate + rate**2 * (rule.spread**2).exp() / 2).min(arb(1)))
        place = place.min(rule.high)
        total = self.polynomial((rule.strip.step * place).exp())
        return upper_end((place * (rule.first.real - place / 2)).exp() * total + rule.error)

    def mean(self, rate: arb) -> arb:
        """About -phi'(r) / phi(r): only to choose by."""
        rule, place = self.nodes, (rate.log() / self.nodes.spread).max(self.nodes.low).min(self.nodes.high)
        turn = (rule.strip.step * place).exp()
        rise = rule.strip.step * turn * self.polynomial.derivative()(turn) / self.polynomial(turn)
        return (place - rule.first.real - rise) / (rule.spread * rate.max((rule.spread * rule.low).exp()))


def enclose_axis(spread: arb, ends: tuple[arb, arb], bits: int) -> Axis:
    """For log(r)/s between the ends."""
    strip = choose_strip(spread, arb(0), arb(0), (bits + 2) * arb.const_log2())
    nodes = enclose_nodes(spread, strip, ends, bits)
    return Axis(nodes, arb_poly([coefficient.real for coefficient in nodes.rows.entries()]))


@dataclass(frozen=True)
class Rules:
    """Rules to about 2^-bits for arguments from 0 to `widest` < pi, each for a sector and some octaves of |z|."""

    noise: Fraction | SquareRoot
    widest: Fraction
    bits: int

    @property
    def strips(self) -> list[Strip]:
        """One for each sector, the first at the real axis."""
        return _strips(self)

    @property
    def growth(self) -> arb:
        """The largest log of the sum of |terms| of a rule."""
        return self.strips[-1].gap ** 2 / 2

    def at(self, points: list[acb]) -> list[tuple[acb, arb]]:
        """Sums for phi and their errors at points whose arguments rise from 0."""
        logs, found = [z.log() for z in points], list[tuple[acb, arb]]()
        for index, strip in enumerate(self.strips):
            last, rest = strip.centre + strip.half - arb((1, -30)), logs[len(found):]
            sector = rest if index + 1 == len(self.strips) else [log for log in rest if log.imag < last]
            found += self.within(index, sector) if sector else []
        return found

    def within(self, index: int, logs: list[acb]) -> list[tuple[acb, arb]]:
        """Those of one sector."""
        octaves = [log.real / arb.const_log2() for log in logs]
        return _nodes(self, index, integer_below(smallest(octaves)), integer_above(largest(octaves))).at(logs)


@kept(64)
def _strips(rules: Rules) -> list[Strip]:
    with ctx.workprec(BOUND_BITS):
        spread, widest = 1 / ball(rules.noise), ball(rules.widest)
        count = 1 + integer_below(widest / (_SHARE * spread))
        half = upper_end(widest / (2 * count) + arb((1, -30)))
        return [choose_strip(spread, lower_end(widest * (2 * i + 1) / (2 * count)), half,
                             (rules.bits + 2) * arb.const_log2()) for i in range(count)]


_SHARE = 6
"""The largest sector, in units of s: the sum of |terms| of its rule may be e^{6^2/8} for it alone."""


@kept(256)
def _nodes(rules: Rules, index: int, low: int, high: int) -> Nodes:
    """For |z| between 2^low and 2^high."""
    spread = 1 / ball(rules.noise)
    ends = lower_end(low * arb.const_log2() / spread), upper_end(high * arb.const_log2() / spread)
    return enclose_nodes(spread, rules.strips[index], ends, rules.bits)
