"""put(K) = E (K - S)_+, S the sum of t lognormal ratios, and its derivatives, on a hyperbola (T132).

    (1/2 pi i) int phi(z)^t e^{zK} z^{-n} dz,   z(v) = c (1 + sin a) + c sin(iv - a):   n = 2 put, n = 1 P(S < K),
    n = 0 the density of S.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import acb, arb, ctx

from verified_dp.core.balls import BOUND_BITS, ball, lower_end, plus_minus, upper_end
from verified_dp.core.engines.powers import enclose_power
from verified_dp.core.laws.lognormal import Hats, Nodes, bound_in_sector, enclose_hats, enclose_nodes, integer_above
from verified_dp.core.theorems import proved_by


@dataclass(frozen=True)
class Hyperbola:
    """scale: c > 0, angle: 0 < a < pi/4; exact balls."""

    scale: arb
    angle: arb

    @property
    def centre(self) -> arb:
        """c (1 + sin a)."""
        return self.scale * (1 + self.angle.sin())

    def point(self, v: arb) -> acb:
        """z(v)."""
        return self.centre + self.scale * acb(-self.angle, v).sin()

    def speed(self, v: arb) -> acb:
        """z'(v) = i c cos(iv - a)."""
        return acb(0, self.scale) * acb(-self.angle, v).cos()


@dataclass(frozen=True)
class Piece:
    """On a part of an arm: |phi|^t <= e^{log_bound}, Re z <= right, int |dz| <= length, |z| >= nearest.

    falling: None, or for the rest of an arm the number f with int e^{K (Re z - right)} |dz| <= length / K if K f >= 1.
    """

    log_bound: arb
    right: arb
    length: arb
    nearest: arb
    falling: arb | None = None

    @proved_by("T132-hyperbola")
    def bound(self, strike: arb, power: int) -> arb:
        """Bound int |phi^t e^{Kz} z^{-n}| |dz|, K > 0, over the part."""
        size = (self.log_bound + strike * self.right).exp() * self.length / self.nearest**power
        if self.falling is None:
            return upper_end(size)
        return upper_end(size / strike) if strike * self.falling >= 1 else arb.pos_inf()


@dataclass(frozen=True)
class Arm:
    """The upper half of a hyperbola z = centre + scale sin(iv - angle), 0 <= angle < pi/2, centre > scale sin angle."""

    centre: arb
    scale: arb
    angle: arb
    rounds: int
    hats: Hats

    def real(self, v: arb) -> arb:
        """Re z(v), falling in v >= 0."""
        return self.centre - self.scale * self.angle.sin() * v.cosh()

    def imag(self, v: arb) -> arb:
        """Im z(v), rising in v >= 0."""
        return self.scale * self.angle.cos() * v.sinh()

    @proved_by("T132-hyperbola")
    def cell(self, start: arb, end: arb) -> Piece:
        """The part between two v."""
        low, right, down, up = self.real(end), self.real(start), self.imag(start), self.imag(end)
        guess = self.hats.spread**2 * (down + up) / 2
        turns = [self.angle * guess / (self.angle + guess), self.angle]
        bound = arb.pos_inf()
        for turn in map(lower_end, turns):
            rate = lower_end(low * turn.cos() + down * turn.sin())
            bound = bound.min(bound_in_sector(self.hats, self.angle, turn, rate))
        speed = (self.angle.cos() ** 2 + end.sinh() ** 2).sqrt()
        return Piece(self.rounds * upper_end(bound).log(), upper_end(right),
                     upper_end((end - start) * self.scale * speed), acb(low.union(right), down.union(up)).abs_lower())

    @proved_by("T132-hyperbola")
    def rest(self, start: arb) -> Piece:
        """All beyond v > 0: |phi| <= e^{B^2/2} E e^{-rate X}, sB = turn >= angle, rate = Re(z e^{-i turn}), rising in v.

        int |dz| e^{K Re z} <= coth v e^{K Re z(v)} / (K sin angle).
        """
        bound = arb.pos_inf()
        for extra in range(4):
            turn = lower_end((self.angle + arb(extra) / 5).min(arb(3) / 2))
            if not turn >= self.angle:
                continue
            rate = self.centre * turn.cos() + self.scale * (
                start.exp() * (turn - self.angle).sin() - (-start).exp() * (turn + self.angle).sin()) / 2
            if rate >= 0:
                bound = bound.min(((turn / self.hats.spread) ** 2 / 2).exp() * self.hats.bound(rate))
        falling = lower_end(self.scale * self.angle.sin() * start.sinh() * start.tanh())
        return Piece(self.rounds * upper_end(bound).log(), upper_end(self.real(start)),
                     upper_end(1 / (start.tanh() * self.angle.sin())), lower_end(self.imag(start)), falling)


@dataclass(frozen=True)
class PutValues:
    """What a hyperbola yields before K is known: terms (z, h z' phi^t / pi), and what is left out, by arms.

    aliases: parts of both arms of the strip's edges; damping: 1 / (e^{2 pi b/h} - 1); dropped: parts of the path.
    """

    terms: list[tuple[acb, acb]]
    aliases: list[Piece]
    damping: arb
    dropped: list[Piece]

    @proved_by("T132-hyperbola")
    def enclose(self, strike: arb, power: int) -> arb:
        """Enclose (1/2 pi i) int phi^t e^{Kz} z^{-n} dz for every K > 0 of the ball."""
        total = sum((weight * (strike * z).exp() / z**power for z, weight in self.terms), acb(0)).imag
        with ctx.workprec(BOUND_BITS):
            aliases = sum((piece.bound(strike, power) for piece in self.aliases), arb(0))
            dropped = sum((piece.bound(strike, power) for piece in self.dropped), arb(0))
            error = (aliases * self.damping + dropped) / arb.pi()
        return total + plus_minus(error)


_CELL = arb(1) / 4
_MOST_CELLS = 120


def cells_until(arm: Arm, strike: arb, small: arb) -> list[Piece]:
    """Parts of the arm from its vertex, and the rest, once that is at most `small` with z^{-2} (or the parts are many).
    """
    parts = list[Piece]()
    while len(parts) < _MOST_CELLS:
        start = len(parts) * _CELL
        parts.append(arm.cell(start, start + _CELL))
        if len(parts) % 4 == 0:
            rest = arm.rest(start + _CELL)
            if rest.bound(strike, 2) <= small:
                break
    return [*parts, rest]


@dataclass(frozen=True)
class Plan:
    """A hyperbola for a strike: about how large put is (its log), and the bound of its strip's edges."""

    path: Hyperbola
    log_size: arb
    aliases: list[Piece]
    parts: list[Piece]
    margin: arb
    wasted: arb


def choose_scale(rounds: int, hats: Hats, strike: arb) -> arb:
    """About the c > 0 where e^{cK} E[e^{-cX}]^t / c^2 is least."""
    low, high = arb(-200), arb(200)
    for _ in range(24):
        middle = lower_end((low + high) / 2)
        c = arb(2) ** middle
        sizes = [weight * (-c * place).exp() for weight, place in zip(hats.full, hats.places, strict=True)]
        mean = sum((size * place for size, place in zip(sizes, hats.places, strict=True)), arb(0)) / sum(sizes, arb(0))
        if strike - rounds * mean - 2 / c < 0:
            low = middle
        else:
            high = middle
    return lower_end(arb(2) ** low)


def plan(rounds: int, hats: Hats, strike: arb, angle: arb, bits: int) -> Plan:
    """Bounds on the strip 1/4 to 7/4 of the angle."""
    scale = choose_scale(rounds, hats, strike)
    path = Hyperbola(scale, angle)
    log_size = scale * strike + rounds * hats.bound(scale).log() - scale.log()
    arms = [Arm(path.centre, scale, angle * share / 4, rounds, hats) for share in (1, 7)]
    size = upper_end(log_size.exp())
    aliases = [part for arm in arms for part in cells_until(arm, strike, size)]
    goal = upper_end((log_size - bits * arb.const_log2()).exp())
    parts = cells_until(Arm(path.centre, scale, angle, rounds, hats), strike, goal)
    margin = angle * 3 / 4
    total = sum((part.bound(strike, 2) for part in aliases), arb(0))
    return Plan(path, log_size, aliases, parts, margin, (total.log() - log_size).max(arb(0)))


_BLOCKS = 3


def evaluate_put(rounds: int, spread: arb, strike: arb, angle: arb, reach: int) -> PutValues:
    """The values of a hyperbola chosen for K = strike, good to about 2^-prec of put."""
    bits = ctx.prec
    with ctx.workprec(BOUND_BITS):
        hats = enclose_hats(spread, reach)
        chosen = plan(rounds, hats, strike, angle, bits)
        nats = bits * arb.const_log2() + 2 + chosen.wasted
        step = lower_end(2 * arb.pi() * chosen.margin / nats)
        goal = upper_end((chosen.log_size - bits * arb.const_log2()).exp())
        kept = len(chosen.parts) - 1
        left = chosen.parts[-1].bound(strike, 2)
        while kept > 1 and left + chosen.parts[kept - 1].bound(strike, 2) <= goal:
            left += chosen.parts[kept - 1].bound(strike, 2)
            kept -= 1
        count = integer_above(kept * _CELL / step)
        dropped = [Piece(p.log_bound, p.right, upper_end(p.length * (1 + step / _CELL)), p.nearest, p.falling)
                   for p in chosen.parts[kept:]]
        damping = upper_end(1 / (2 * arb.pi() * chosen.margin / step).expm1())
        widest = arb.pi() / 2 + angle
        spare = integer_above((widest / spread) ** 2 / 2 / arb.const_log2() + arb(rounds).log() / arb.const_log2()) + 16
        size = hats.bound(chosen.path.scale)
        deeper = integer_above(-size.log() / arb.const_log2()) + integer_above(arb(rounds).log() / arb.const_log2())
    with ctx.workprec(bits + spare + deeper):
        terms = []
        blocks = [enclose_nodes(spread, lower_end(widest * (2 * i + 1) / (2 * _BLOCKS)),
                                upper_end(widest / (2 * _BLOCKS) + arb(2) ** -40), bits + deeper + 4) for i in range(_BLOCKS)]
        for j in range(count + 1):
            v = j * step
            z = chosen.path.point(v)
            i = int((z.arg() * _BLOCKS / widest).lower().floor().unique_fmpz()) if j else 0
            value = enclose_power(blocks[min(i, _BLOCKS - 1)].enclose(z), rounds)
            terms.append((z, value * chosen.path.speed(v) * step / arb.pi() / (1 if j else 2)))
    return PutValues(terms, chosen.aliases, damping, dropped)
