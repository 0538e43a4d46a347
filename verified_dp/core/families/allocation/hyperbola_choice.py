"""Which hyperbola serves put(K) of a sum of lognormal ratios: scale, angle, end, bits (T132: all of them are right)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from flint import acb, arb

from verified_dp.core.engines.shared import kept
from verified_dp.core.families.allocation.hyperbola import ANY, CELL, UNBOUNDED, Arm, Piece, cells_until
from verified_dp.core.families.allocation.lognormal import EdmundsonMadansky, enclose_chords
from verified_dp.core.families.allocation.lognormal_nodes import enclose_axis
from verified_dp.core.kernel.balls import ball, integer_above, integer_below, lower_end, normal_tail, upper_end
from verified_dp.core.kernel.exact import SquareRoot


@dataclass(frozen=True)
class Plan:
    """A hyperbola for a strike: its upper arm, about how large put is, and bounds of the strip's edges.

    log_size: log of e^{cK} E[e^{-cX}]^t / c. wasted: by how much the edges exceed it. Only aliases have to be right.
    """

    path: Arm
    strike: arb
    log_size: arb
    aliases: list[Piece]
    wasted: arb

    def goal(self, bits: int) -> arb:
        """log of 2^-bits of put."""
        return self.log_size - bits * arb.const_log2()

    def is_small(self, v: arb, bits: int) -> bool:
        """Whether the path's integrand seems to be 2^-bits of put at v."""
        return bool(self.path.log_height(v, self.strike) <= self.goal(bits))

    def end_at(self, v: arb, bits: int) -> End:
        """The path's end at v."""
        return End(v, cells_until(self.path, self.strike, upper_end(self.goal(bits).exp()), v))


@dataclass(frozen=True)
class End:
    """Where a path is cut off, and the parts beyond."""

    v: arb
    dropped: list[Piece]


def choose_end(chosen: Plan, bits: int) -> End:
    """About the v beyond which the path cannot matter, in notches, nor seems to by the bounds of what is there."""
    high, low = 1, 0
    while not chosen.is_small(high * ball(_NOTCH), bits) and high < _MOST_NOTCHES:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chosen.is_small(middle * ball(_NOTCH), bits) else (middle, high)
    end, small = chosen.end_at(high * ball(_NOTCH), bits), 2 * chosen.goal(bits).exp()
    while end.v < _FARTHEST and not sum((part.bound(chosen.strike, 2) for part in end.dropped), arb(0)) <= small:
        end = chosen.end_at(end.v + ball(_NOTCH), bits)
    return end


_NOTCH = Fraction(1, 8)
_MOST_NOTCHES = 256
_FARTHEST = 16


def choose_scale(rounds: int, chords: EdmundsonMadansky, strike: arb) -> arb:
    """About the c > 0 where e^{cK} E[e^{-cX}]^t / c^2 is least."""
    def falls(c: arb) -> bool:
        return bool(strike - rounds * chords.mean(c) - 2 / c < 0)

    low = lower_end(1 / strike)
    while falls(2 * low):
        low = 2 * low
    ratio = arb(2)
    for _ in range(5):
        ratio = lower_end(ratio.sqrt())
        low = lower_end(low * ratio) if falls(low * ratio) else low
    return low


_EDGES = (1, 15)
"""The strip's edges, in eighths of the angle."""


@dataclass(frozen=True)
class Start:
    """Where hyperbolas for a strike meet the axis, and about how large put is, as in a plan."""

    rounds: int
    chords: EdmundsonMadansky
    strike: arb
    scale: arb
    log_size: arb

    def widened(self, nats: arb) -> Start:
        """Farther from 0, where the path needs fewer points, as long as that exceeds put by so little."""
        found = self
        for times in _WIDER:
            scale = lower_end(times * self.scale)
            if not log_size(self.rounds, self.chords, self.strike, scale) < self.log_size + nats:
                break
            found = replace(self, scale=scale)
        return found

    def arms(self, angle: Fraction) -> list[Arm]:
        """The path and the strip's edges, which reach from a/8 to 15a/8."""
        centre = lower_end(self.scale * (1 + ball(angle).sin()))
        return [Arm(centre, self.scale, ball(angle * n / 8), self.rounds, self.chords) for n in (8, *_EDGES)]

    def plan(self, angle: Fraction, nats: arb = ANY) -> Plan:
        """Bounds for one angle; none at all where the outer edge exceeds put by more."""
        path, *edges = self.arms(angle)
        size, aliases, total = upper_end(self.log_size.exp()), list[Piece](), arb(0)
        for arm in reversed(edges):
            parts = cells_until(arm, self.strike, size, arb(0), size * nats.exp())
            aliases += parts
            total += sum((part.bound(self.strike, 2) for part in parts), arb(0))
            if total > size * nats.exp():
                return Plan(path, self.strike, self.log_size, [UNBOUNDED], ANY)
        return Plan(path, self.strike, self.log_size, aliases, upper_end(total.log() - self.log_size).max(arb(0)))

    def wastes(self, angle: Fraction, nats: arb) -> bool:
        """Whether the outer edge seems to exceed put by more than that somewhere at |z| < 1 + 1/s^2."""
        outer, v = self.arms(angle)[-1], arb(2)
        while abs(outer.point(v)) < 1 + 1 / self.chords.spread**2:
            if outer.log_height(v, self.strike) > self.log_size + nats:
                return True
            v += ball(CELL)
        return False


def start_of(rounds: int, chords: EdmundsonMadansky, strike: arb) -> Start:
    """Where e^{cK} E[e^{-cX}]^t / c^2 is about least."""
    scale = choose_scale(rounds, chords, strike)
    return Start(rounds, chords, strike, scale, log_size(rounds, chords, strike, scale))


def log_size(rounds: int, chords: EdmundsonMadansky, strike: arb, scale: arb) -> arb:
    """log of e^{cK} E[e^{-cX}]^t / c, about."""
    size, near = chords.bound(scale).log(), acb(scale)
    if chords.centred.remainder(near, arb(0)) < 1:  # else the difference below has no digits left
        size = size.min(chords.centred.bound(near, arb(0)).log() - scale)
    return scale * strike + rounds * size - scale.log()


_WIDER = (2, 3, 4, 6, 8, 12, 16)


_ANGLES = tuple(Fraction(n, 64) for n in (48, 40, 32, 26, 20, 16, 8, 4, 2))
_SMALL_ANGLES = tuple(Fraction(1, 2**n) for n in range(6, 13))
"""For hardly any spread."""
_WIDEST = 11
"""Angles up to so many times s: beyond, transforms near the arms' ends are sums of very large terms."""


def choose_plan(rounds: int, chords: EdmundsonMadansky, strike: arb, bits: int) -> Plan:
    """The plan for the widest angle that wastes little."""
    nats = bits * arb.const_log2()
    start = start_of(rounds, chords, strike).widened(nats / 16)
    angles = [angle for angle in _ANGLES if ball(angle) <= _WIDEST * chords.spread] or list(_SMALL_ANGLES)
    for angle in angles:
        if not start.wastes(angle, nats / 4):
            found = start.plan(angle, nats / 2)
            if found.wasted < nats:
                return found
    return start.plan(angles[-1])


def whole(bits: int) -> int:
    """The next multiple of 8: few precisions, so that rules are shared."""
    return -(-bits // 8) * 8


def wanted_bits(rounds: int, spread: arb, strike: arb, own: int, prec: int) -> int:
    """Bits of put: its own and those that put + t - K cancels, up to all that are in use.

    That is about t E (X + t - 1 - K)_+, one large term, or a normal tail, whichever is more.
    """
    if not strike > rounds:
        return own
    excess = strike - rounds + 1
    place = (excess.log() + spread**2 / 2) / spread
    deviation = ((spread**2).expm1() * rounds).sqrt()
    far = ((strike - rounds) / deviation) ** 2
    alone = rounds * (normal_tail(place - spread) - excess * normal_tail(place))
    size = alone.max((deviation * (-far / 2).exp() / (3 + 3 * far)).min(arb(rounds)))
    return min(prec, own + bits_of(strike / size)) if size > 0 else prec  # exact: integers


_DEEPEST = 100


def bits_of(x: arb) -> int:
    """About log2 x, at least 0."""
    return integer_above((x.log() / arb.const_log2()).max(arb(0)))


def choose_chords(rounds: int, noise: Fraction | SquareRoot, strike: arb) -> EdmundsonMadansky:
    """Bounds of phi where hyperbolas for the strike lie, to a small share of 1/t.

    The first bin is counted at 0: its mass has to be small beside phi(r), about e^-r, at r to 3 sqrt(2/t)/s.
    """
    spread = 1 / ball(noise)
    depth = (strike / rounds).log() / -spread - spread / 2
    depth = depth.max(arb(0)).min(arb(_DEEPEST))
    near = -(rounds**2 * ball(64)).log() / (6 * spread) - spread
    far = depth + spread / 2 + (((depth + 8) / spread + 1) * 64).log() / spread
    nats = depth**2 / 2 + depth / spread + arb(rounds).log()
    deepest = (depth.max(arb(2)) + 6).max(2 + (6 * (arb(2) / rounds).sqrt() / spread).sqrt())
    return _chords(noise, integer_above(deepest),
                   integer_above((1 / spread**2 + 2 * arb(rounds).log() + 80).sqrt()),
                   (integer_below(near), integer_above(far)), whole(_FINE + integer_above(nats / arb.const_log2())))


_FINE = 24


@kept(8)
def _chords(noise: Fraction | SquareRoot, depth: int, reach: int, ends: tuple[int, int],
            bits: int) -> EdmundsonMadansky:
    low, high = ends
    return enclose_chords(enclose_axis(1 / ball(noise), (arb(low), arb(high)), bits), depth, reach)


def strip_of(path: Arm) -> arb:
    """b, half the strip's width."""
    return path.angle * (_EDGES[1] - _EDGES[0]) / 16
