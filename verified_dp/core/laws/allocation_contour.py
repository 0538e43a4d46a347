"""put(K) = E (K - S)_+, S the sum of t lognormal ratios, and its derivatives, on a hyperbola (T132).

    (1/2 pi i) int phi(z)^t e^{zK} z^{-n} dz,   z(v) = c (1 + sin a) + c sin(iv - a):   n = 2 put, n = 1 P(S < K),
    n = 0 the density of S.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from flint import acb, acb_mat, arb, arb_poly, ctx

from verified_dp.core.balls import (
    BOUND_BITS,
    ball,
    disc,
    integer_above,
    integer_below,
    kept,
    largest,
    lower_end,
    normal_tail,
    plus_minus,
    upper_dyadic,
    upper_end,
)
from verified_dp.core.engines.powers import enclose_power
from verified_dp.core.exact import SquareRoot
from verified_dp.core.laws.lognormal import Hats, Majorant, choose_majorant, enclose_hats, refined
from verified_dp.core.laws.lognormal_nodes import Rules
from verified_dp.core.theorems import proved_by

CELL = Fraction(1, 2)
"""Least width of the parts of an arm, in v."""


@dataclass(frozen=True)
class Piece:
    """A part of an arm: |phi^t e^{Kz}| <= the largest e^{log_bound + K right}, int |dz| <= length, |z| >= nearest."""

    corners: list[tuple[arb, arb]]
    length: arb
    nearest: arb

    def bound_size(self, strike: arb, power: int) -> arb:
        """Bound |phi^t e^{Kz} z^{-n}| on the part."""
        return largest([log_bound + strike * right for log_bound, right in self.corners]).exp() / self.nearest**power

    def bound_end(self, strike: arb) -> arb:
        """|phi^t e^{Kz} / z| at the part's end, about."""
        log_bound, right = self.corners[-1]
        return (log_bound + strike * right).exp() / self.nearest

    @proved_by("T132-hyperbola")
    def bound(self, strike: arb, power: int) -> arb:
        """Bound int |phi^t e^{Kz} z^{-n}| |dz|, K > 0, over the part."""
        return upper_end(self.bound_size(strike, power) * self.length)

    @proved_by("T132-hyperbola")
    def bound_sum(self, strike: arb, power: int, share: arb) -> arb:
        """Bound the trapezoidal sum over the nodes of the part, their step being `share` of its width."""
        return upper_end(self.bound(strike, power) * (1 + share))


_ANY = arb.pos_inf()
_UNBOUNDED = Piece([(_ANY, arb(0))], _ANY, arb(1))


@dataclass(frozen=True)
class Rest(Piece):
    """All of an arm beyond v: int |phi^t e^{Kz} z^{-n}| |dz| <= length / K times the size at v.

    falling: |Re z'(v)|.
    """

    falling: arb

    @proved_by("T132-hyperbola")
    def bound(self, strike: arb, power: int) -> arb:
        """Bound int |phi^t e^{Kz} z^{-n}| |dz|, K > 0, over the rest."""
        return upper_end(self.bound_size(strike, power) * self.length / strike)

    @proved_by("T132-hyperbola")
    def bound_sum(self, strike: arb, power: int, share: arb) -> arb:
        """Bound the trapezoidal sum over the nodes beyond v, at steps of `share` cells, where its terms fall."""
        if not strike * self.falling >= 1:
            return arb.pos_inf()
        return upper_end(self.bound(strike, power) * (1 + share * ball(CELL) * strike * self.falling))


@dataclass(frozen=True)
class Arm:
    """The upper half of a hyperbola z = centre + scale sin(iv - angle), 0 < angle < pi/2, centre > scale sin angle."""

    centre: arb
    scale: arb
    angle: arb
    rounds: int
    hats: Hats

    def point(self, v: arb) -> acb:
        """z(v)."""
        return self.centre + self.scale * acb(-self.angle, v).sin()

    @proved_by("T132-hyperbola")
    def cell(self, start: arb, end: arb) -> Piece:
        """The part between two v: it lies in the triangle of its ends and of where their tangents meet."""
        first, last = self.point(start), self.point(end)
        ways = [self.sizes_near_0] if self.is_near_0(last) else [
            self.sizes_at_corners, *([self.sizes_near_0] if self.is_near_0(first) else [])]
        bounds = self.smaller([way(start, end) for way in ways])
        hull = acb(first.real.union(last.real), first.imag.union(last.imag))
        length = (end - start) * self.scale * (self.angle.cos() ** 2 + end.sinh() ** 2).sqrt()
        return Piece(bounds, upper_end(length), lower_end(hull.abs_lower()))

    def smaller(self, sizes: list[list[tuple[arb, arb]]]) -> list[tuple[arb, arb]]:
        """Those whose largest |phi^t e^{tz}| is less."""
        heights = [largest([size + self.rounds * right for size, right in one]) for one in sizes]
        return sizes[0] if len(sizes) == 1 or heights[0] < heights[1] else sizes[1]

    def sizes_at_corners(self, start: arb, end: arb) -> list[tuple[arb, arb]]:
        """(log |phi^t|, Re z) at the corners of the part's triangle, by one majorant."""
        middle, half = (start + end) / 2, (end - start) / 2
        tip = self.centre + self.scale * acb(-self.angle, middle).sin() / half.cosh()
        corners = [self.point(start), tip, self.point(end)]
        majorant = self.choose(corners)
        return [(upper_end(self.rounds * majorant.log_bound(z)), upper_end(z.real)) for z in corners]

    @proved_by("T132-hyperbola")
    def sizes_near_0(self, start: arb, end: arb) -> list[tuple[arb, arb]]:
        """(log |phi^t e^{tz}| - t x, x), x = Re z at both ends of each of some shares of the part: the first is largest
        anywhere in the share, and (K - t) Re z at an end."""
        centred, last = self.hats.centred, self.point(end)
        moves = 2 * self.rounds * centred.second * abs(last) ** 2 * (end - start)
        shares = 1 + integer_below(moves.min(arb(_SHARES)))
        ends, found = [start + (end - start) * n / shares for n in range(shares + 1)], []
        for v, w in pairwise(ends):
            size = self.rounds * centred.bound(self.point(v.union(w)), self.angle).log()
            rights = (self.point(v).real, self.point(w).real)
            found += [(upper_end(size - self.rounds * x), upper_end(x)) for x in rights]
        return found

    def is_near_0(self, z: acb) -> bool:
        """Whether few moments tell phi^t there; or more of it than a turned line, whose variance is s^2."""
        centred = self.hats.centred
        lost = (centred.second - self.hats.spread**2 / 2) * z.imag**2 / 2
        return bool(centred.remainder(z, self.angle) < lost.max(ball(_LITTLE) / self.rounds))

    def log_height(self, v: arb, strike: arb) -> arb:
        """About the log of |phi^t e^{Kz} / z| at v."""
        z = self.point(v)
        size = (self.hats.centred.bound(z, self.angle).log() - z.real if self.is_near_0(z)
                else self.choose([z]).log_bound(z))
        return self.rounds * size + strike * z.real - abs(z).log()

    def choose(self, corners: list[acb]) -> Majorant:
        """The turn where the bound is about least at the middle; or the arm's angle, where that one must be cut."""
        place, square = corners[len(corners) // 2], self.hats.spread**2
        guess = (square * place.imag / (1 + square * place.imag)).min(self.angle)
        rate = square * (place.real * guess.cos() + place.imag * guess.sin()).max(arb(0))
        best = (square * place.imag * (rate.lambertw() / rate if rate > 0 else 1)).min(self.angle)
        first = choose_majorant(self.hats, self.angle, lower_end(best).max(arb(0)), corners)
        if first.cut is None:
            return first
        other = choose_majorant(self.hats, self.angle, self.angle, corners)
        return first if first.log_bound(place) < other.log_bound(place) else other

    @proved_by("T132-hyperbola")
    def rest(self, start: arb) -> Rest:
        """All beyond v > 0: |phi| <= e^{A^2/2} E e^{-rate X}, sA = turn >= angle.

        rate = Re(z e^{-i turn}) rises in v; int |dz| e^{K Re z} <= coth v e^{K Re z(v)} / (K sin angle).
        """
        bound, first = arb.pos_inf(), self.point(start)
        for extra in range(4):
            turn = (self.angle + arb(extra) / 5).min(arb(3) / 2)
            rate = first.real * turn.cos() + first.imag * turn.sin()
            if turn >= self.angle and rate >= 0:
                bound = bound.min((turn / self.hats.spread) ** 2 / 2 + self.hats.bound(rate).log())
        return Rest([(upper_end(self.rounds * bound), upper_end(first.real))],
                    upper_end(1 / (start.tanh() * self.angle.sin())), lower_end(first.imag),
                    self.scale * self.angle.sin() * start.sinh())


_SHARES = 8
_LITTLE = Fraction(1, 4)


class Term(NamedTuple):
    """z, h z' phi^t / pi there without the errors of phi's rule, and how much those can add to it."""

    z: acb
    weight: acb
    blur: arb


@dataclass(frozen=True)
class PutValues:
    """What a hyperbola yields before K is known: the sum's terms, and what is left out, by arms.

    aliases: parts of both arms of the strip's edges; damping: 1 / (e^{2 pi b/h} - 1); dropped: parts of the
    path; share: h over the least width of a part.
    """

    terms: list[Term]
    aliases: list[Piece]
    damping: arb
    dropped: list[Piece]
    share: arb

    @proved_by("T132-hyperbola")
    def itemise(self, strike: arb, power: int) -> tuple[arb, dict[str, arb]]:
        """The sum for (1/2 pi i) int phi^t e^{Kz} z^{-n} dz, K > 0 in the ball, and bounds of each kind of error."""
        total, quadrature = acb(0), arb(0)
        for z, weight, blur in self.terms:
            factor = (strike * z).exp() / z**power
            total += weight * factor
            quadrature += blur * factor.abs_upper()
        return total.imag, {"quadrature": upper_end(quadrature), **self.bound_errors(strike, power)}

    def enclose(self, strike: arb, power: int) -> arb:
        """Enclose that integral for every K > 0 of the ball."""
        total, errors = self.itemise(strike, power)
        return total + plus_minus(sum(errors.values(), arb(0)))

    @proved_by("T132-hyperbola")
    def bound_errors(self, strike: arb, power: int) -> dict[str, arb]:
        """Bound aliases and what is dropped, for every K > 0 of the ball."""
        with ctx.workprec(BOUND_BITS):
            aliases = sum((piece.bound(strike, power) for piece in self.aliases), arb(0))
            dropped = sum((piece.bound_sum(strike, power, self.share) for piece in self.dropped), arb(0))
            return {"aliasing": upper_end(aliases * self.damping / arb.pi()),
                    "frequency_tail": upper_end(dropped / arb.pi())}


@dataclass(frozen=True)
class PutSeries:
    """Taylor polynomials of put, put' and put'' (power 2, 1, 0) about a strike, and their errors within a reach of it.

    sharp: whether cutting the polynomials off adds little to the errors that there are anyway.
    """

    middle: arb
    reach: arb
    polynomials: dict[int, arb_poly]
    errors: dict[int, arb]
    sharp: bool

    @proved_by("T132-hyperbola")
    def enclose(self, strike: arb, power: int) -> arb | None:
        """Enclose the function at every K of the ball; None where they are not within reach."""
        away = strike - self.middle
        if not abs(away) <= self.reach:
            return None
        return self.polynomials[power](away) + plus_minus(self.errors[power])


def power_table(values: PutValues, length: int) -> acb_mat:
    """Rows z^{n-2} / n!, n = 0..length+1, with a column for each term."""
    rows, row = [], [1 / (z * z) for z, _, _ in values.terms]
    for n in range(length + 2):
        rows.append(row)
        row = [power * z / (n + 1) for power, (z, _, _) in zip(row, values.terms, strict=True)]
    return acb_mat(rows)


@proved_by("T132-hyperbola")
def expand(values: PutValues, table: acb_mat, middle: arb, reach: arb) -> PutSeries:
    """The polynomials of N terms: e^{zd} is its own up to |zd|^N e^{|z| |d|} / N!, |d| <= reach < middle."""
    length = table.nrows() - 2
    shifted = [((weight + disc(blur)) * (middle * z).exp(), z) for z, weight, blur in values.terms]
    coefficients = [total.imag for total in (table * acb_mat([[weight] for weight, _ in shifted])).entries()]
    polynomials, errors, sharp = {}, {}, True
    for power in (2, 1, 0):
        polynomials[power] = arb_poly(coefficients[:length])
        coefficients = [n * coefficients[n] for n in range(1, len(coefficients))]
        with ctx.workprec(BOUND_BITS):
            lost = sum((weight.abs_upper() * ((z.abs_upper() * reach).exp() * (z.abs_upper() * reach) ** length
                                              / z.abs_lower() ** power) for weight, z in shifted), arb(0))
            own, near = (sum(values.bound_errors(strike, power).values(), arb(0))
                         for strike in ((middle - reach).union(middle + reach), middle))
            lost /= arb(length).fac()
            errors[power], sharp = upper_end(own + lost), sharp and bool(lost <= 8 * near)
    return PutSeries(middle, reach, polynomials, errors, sharp)


_MOST_CELLS = 64
_WIDEST_PARTS = 4
_FAINT = 256
"""The rest is looked at where the integrand is about so many times what is small."""


def cells_until(arm: Arm, strike: arb, small: arb, start: arb, most: arb = _ANY) -> list[Piece]:
    """Parts of the arm from v = start on, and the rest: once that is at most `small`, or there are many parts.

    Where parts are far below `small` the next ones are wider, as long as their bounds are. None after one above `most`.
    """
    parts, rest, wide, none = list[Piece](), None, 1, small / _FAINT**4
    while rest is None or (len(parts) < _MOST_CELLS and not rest.bound(strike, 2) <= small):
        part = arm.cell(start, start + wide * ball(CELL))
        if wide > 1 and not part.bound(strike, 2) <= none:
            wide, part = 1, arm.cell(start, start + ball(CELL))
        parts.append(part)
        if part.bound(strike, 2) > most:
            return parts
        start += wide * ball(CELL)
        if len(parts) == _MOST_CELLS or part.bound_end(strike) <= _FAINT * small:
            rest = arm.rest(start)
        wide = 2 * wide if wide < _WIDEST_PARTS and part.bound_end(strike) <= none else wide
    return [*parts, rest]


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


def choose_scale(rounds: int, hats: Hats, strike: arb) -> arb:
    """About the c > 0 where e^{cK} E[e^{-cX}]^t / c^2 is least."""
    def falls(c: arb) -> bool:
        return bool(strike - rounds * hats.mean(c) - 2 / c < 0)

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
    hats: Hats
    strike: arb
    scale: arb
    log_size: arb

    def widened(self, nats: arb) -> Start:
        """Farther from 0, where the path needs fewer points, as long as that exceeds put by so little."""
        found = self
        for times in _WIDER:
            scale = lower_end(times * self.scale)
            if not log_size(self.rounds, self.hats, self.strike, scale) < self.log_size + nats:
                break
            found = replace(self, scale=scale)
        return found

    def arms(self, angle: Fraction) -> list[Arm]:
        """The path and the strip's edges, which reach from a/8 to 15a/8."""
        centre = lower_end(self.scale * (1 + ball(angle).sin()))
        return [Arm(centre, self.scale, ball(angle * n / 8), self.rounds, self.hats) for n in (8, *_EDGES)]

    def plan(self, angle: Fraction, nats: arb = _ANY) -> Plan:
        """Bounds for one angle; none at all where the outer edge exceeds put by more."""
        path, *edges = self.arms(angle)
        size, aliases, total = upper_end(self.log_size.exp()), list[Piece](), arb(0)
        for arm in reversed(edges):
            parts = cells_until(arm, self.strike, size, arb(0), size * nats.exp())
            aliases += parts
            total += sum((part.bound(self.strike, 2) for part in parts), arb(0))
            if total > size * nats.exp():
                return Plan(path, self.strike, self.log_size, [_UNBOUNDED], _ANY)
        return Plan(path, self.strike, self.log_size, aliases, upper_end(total.log() - self.log_size).max(arb(0)))

    def wastes(self, angle: Fraction, nats: arb) -> bool:
        """Whether the outer edge seems to exceed put by more than that somewhere at |z| < 1 + 1/s^2."""
        outer, v = self.arms(angle)[-1], arb(2)
        while abs(outer.point(v)) < 1 + 1 / self.hats.spread**2:
            if outer.log_height(v, self.strike) > self.log_size + nats:
                return True
            v += ball(CELL)
        return False


def start_of(rounds: int, hats: Hats, strike: arb) -> Start:
    """Where e^{cK} E[e^{-cX}]^t / c^2 is about least."""
    scale = choose_scale(rounds, hats, strike)
    return Start(rounds, hats, strike, scale, log_size(rounds, hats, strike, scale))


def log_size(rounds: int, hats: Hats, strike: arb, scale: arb) -> arb:
    """log of e^{cK} E[e^{-cX}]^t / c, about."""
    size, near = hats.bound(scale).log(), acb(scale)
    if hats.centred.remainder(near, arb(0)) < 1:  # else the difference below has no digits left
        size = size.min(hats.centred.bound(near, arb(0)).log() - scale)
    return scale * strike + rounds * size - scale.log()


_WIDER = (2, 3, 4, 6, 8, 12, 16)


_ANGLES = tuple(Fraction(n, 64) for n in (48, 40, 32, 26, 20, 16, 8, 4, 2))
_WIDEST = 11
"""Angles up to so many times s: beyond, transforms near the arms' ends are sums of very large terms."""


def choose_plan(rounds: int, hats: Hats, strike: arb, bits: int) -> Plan:
    """The plan for the widest angle that wastes little."""
    nats = bits * arb.const_log2()
    start = start_of(rounds, hats, strike).widened(nats / 16)
    for angle in _ANGLES:
        if ball(angle) <= _WIDEST * hats.spread and not start.wastes(angle, nats / 4):
            found = start.plan(angle, nats / 2)
            if found.wasted < nats:
                return found
    return start.plan(_ANGLES[-1])


_SPARE = 32
"""Bits for squarings in a row and for long sums."""
_SHARP = 56
"""Bits of put where tails and densities are asked for."""


def _whole(bits: int) -> int:
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
    return min(prec, own + _bits_of(strike / size)) if size > 0 else prec  # exact: integers


_DEEPEST = 100


def _bits_of(x: arb) -> int:
    """About log2 x, at least 0."""
    return integer_above((x.log() / arb.const_log2()).max(arb(0)))


@kept(512)
def evaluate_put(rounds: int, noise: Fraction | SquareRoot, strike: Fraction, own: int) -> PutValues:
    """The values of a hyperbola chosen for K = strike, good to so many bits of put and to those that cancel."""
    prec = ctx.prec
    with ctx.workprec(BOUND_BITS):
        spread, aim = 1 / ball(noise), lower_end(ball(strike))
        bits = _whole(wanted_bits(rounds, spread, aim, own, prec))
        reach = integer_above((1 / spread**2 + 2 * arb(rounds).log() + 80).sqrt())
        depth = integer_above(((aim / rounds).log() / -spread - spread / 2).max(arb(2)).min(arb(_DEEPEST))) + 6
        hats = sharp_hats(rounds, _hats(noise, depth, reach), aim)
        chosen = choose_plan(rounds, hats, aim, bits)
        step = 2 * arb.pi() * _margin(chosen.path) / (bits * arb.const_log2() + 2 + chosen.wasted)
        end = choose_end(chosen, bits)
    return put_values(chosen, noise, lower_end(step), end, bits)


def sharp_hats(rounds: int, hats: Hats, strike: arb) -> Hats:
    """The hats, finer where bounds of phi^t near the path would be far too large and few moments do not tell it."""
    for _ in range(2):
        scale, before = choose_scale(rounds, hats, strike), hats
        if rounds * hats.centred.remainder(acb(scale), arb(0)) < 1:
            break
        hats = refined(hats, [scale * arb((1, n)) for n in _NEAR], arb((1, -3)) / rounds)
        if hats is before:
            break
    return hats


_NEAR = (-2, 0, 2, 4)
"""Octaves around the scale of a hyperbola."""


@kept(8)
def _hats(noise: Fraction | SquareRoot, depth: int, reach: int) -> Hats:
    return enclose_hats(1 / ball(noise), depth, reach)


def _margin(path: Arm) -> arb:
    """b, half the strip's width."""
    return path.angle * (_EDGES[1] - _EDGES[0]) / 16


@proved_by("T132-hyperbola")
def put_values(chosen: Plan, noise: Fraction | SquareRoot, step: arb, end: End, bits: int) -> PutValues:
    """The sum over the path up to its end, in steps of any exact size; transforms to about 2^-bits."""
    path = chosen.path
    with ctx.workprec(BOUND_BITS):
        damping = upper_end(1 / (2 * arb.pi() * _margin(path) / step).expm1())
        count = integer_above(end.v / step)
        above = log_size(path.rounds, path.hats, chosen.strike, path.scale) - chosen.log_size
        deeper = _whole(_bits_of(path.rounds / path.hats.bound(path.scale) * above.exp()) + 4)
        rules = Rules(noise, upper_dyadic(arb.pi() / 2 + path.angle).as_fraction(), bits + deeper)
        spare = _whole(integer_above(rules.growth / arb.const_log2()) + deeper + _SPARE)
        share = upper_end(step / ball(CELL))
    with ctx.workprec(bits + spare):
        terms = sum_terms(path, rules, step, count)
    return PutValues(terms, chosen.aliases, damping, end.dropped, share)


@proved_by("T132-hyperbola")
def sum_terms(path: Arm, rules: Rules, step: arb, count: int) -> list[Term]:
    """The terms at z(jh), half of that at j = 0, j = 0..count; blur: |(M + e)^t - M^t| <= t e (|M| + e)^{t-1}."""
    t, scale, terms, (sine, cosine) = path.rounds, path.scale, list[Term](), path.angle.sin_cos()
    grown = [(j * step).exp() for j in range(count + 1)]
    turns = [((x + 1 / x) / 2, (x - 1 / x) / 2) for x in grown]  # cosh v, sinh v
    points = [acb(path.centre - scale * sine * c, scale * cosine * d) for c, d in turns]
    for (c, d), z, (value, error) in zip(turns, points, rules.at(points), strict=True):
        share = step / arb.pi() * scale * acb(-sine * d, cosine * c) / (1 if terms else 2)
        with ctx.workprec(BOUND_BITS):
            size = value.abs_upper() + error
            blur = upper_end(share.abs_upper() * t * error * size ** (t - 1))
        terms.append(Term(z, share * enclose_power(value, t), blur))
    return terms


_TERMS = 48
_WORD = 64


@kept(2048)
def expanded_put(rounds: int, noise: Fraction | SquareRoot, band: Band) -> PutSeries:
    """The polynomials about a strike, from the values for one near it."""
    values = _sharp_values(rounds, noise, band.near)
    return expand(values, _powers(rounds, noise, band.near), ball(band.middle), ball(band.reach))


@kept(32)
def _powers(rounds: int, noise: Fraction | SquareRoot, near: Fraction) -> acb_mat:
    return power_table(_sharp_values(rounds, noise, near), _TERMS + ctx.prec // 4)


def _sharp_values(rounds: int, noise: Fraction | SquareRoot, near: Fraction) -> PutValues:
    """Half of the bits in use, or 56."""
    return evaluate_put(rounds, noise, near, min(ctx.prec, max(_SHARP, ctx.prec // 2 - 8)))  # exact: integers


@dataclass(frozen=True)
class Band:
    """Strikes that share values, those of a hyperbola for K = near, and those among them within reach of the middle.

    reach 0: so few that polynomials would not pay.
    """

    near: Fraction
    middle: Fraction
    reach: Fraction


@proved_by("T132-hyperbola")
def enclose_put(rounds: int, noise: Fraction | SquareRoot, strike: arb, power: int, band: Band) -> arb:
    """Enclose E (K - S)_+ (power 2), P(S < K) (1) or the density of S at K (0), K > 0, by what the band shares."""
    with ctx.workprec(-(-ctx.prec // _WORD) * _WORD):  # few precisions, so that values are shared
        series = expanded_put(rounds, noise, band) if band.reach else None
        found = series.enclose(strike, power) if series and series.sharp else None
        return _sharp_values(rounds, noise, band.near).enclose(strike, power) if found is None else found


@proved_by("T132-hyperbola")
def itemise_put(rounds: int, noise: Fraction | SquareRoot, strike: arb, near: Fraction) -> tuple[arb, dict[str, arb]]:
    """E (K - S)_+ and its errors, by the values for a strike near K: as many bits as delta has, of 2 bits + 40."""
    return evaluate_put(rounds, noise, near, own_bits(ctx.prec)).itemise(strike, 2)


def own_bits(prec: int) -> int:
    """The bits of delta that a precision stands for, and a few more."""
    return max(_FEWEST, prec // 2 - 12)  # exact: integers


_FEWEST = 24
