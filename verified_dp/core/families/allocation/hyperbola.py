"""Arms of hyperbolas z(v) = m + c sin(iv - a), and bounds of int |phi^t e^{Kz} z^{-n}| |dz| over their parts (T132)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import acb, arb

from verified_dp.core.families.allocation.lognormal import EdmundsonMadansky, Majorant, choose_majorant
from verified_dp.core.kernel.balls import ball, integer_below, largest, lower_end, upper_end
from verified_dp.core.kernel.theorems import proved_by

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


ANY = arb.pos_inf()
UNBOUNDED = Piece([(ANY, arb(0))], ANY, arb(1))


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
    chords: EdmundsonMadansky

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
        centred, last = self.chords.centred, self.point(end)
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
        centred = self.chords.centred
        lost = (centred.second - self.chords.spread**2 / 2) * z.imag**2 / 2
        return bool(centred.remainder(z, self.angle) < lost.max(ball(_LITTLE) / self.rounds))

    def log_height(self, v: arb, strike: arb) -> arb:
        """About the log of |phi^t e^{Kz} / z| at v."""
        z = self.point(v)
        size = (self.chords.centred.bound(z, self.angle).log() - z.real if self.is_near_0(z)
                else self.choose([z]).log_bound(z))
        return self.rounds * size + strike * z.real - abs(z).log()

    def choose(self, corners: list[acb]) -> Majorant:
        """The turn where the bound is about least at the middle; or the arm's angle, where that one must be cut."""
        place, square = corners[len(corners) // 2], self.chords.spread**2
        guess = (square * place.imag / (1 + square * place.imag)).min(self.angle)
        rate = square * (place.real * guess.cos() + place.imag * guess.sin()).max(arb(0))
        best = (square * place.imag * (rate.lambertw() / rate if rate > 0 else 1)).min(self.angle)
        first = choose_majorant(self.chords, self.angle, lower_end(best).max(arb(0)), corners)
        if first.cut is None:
            return first
        other = choose_majorant(self.chords, self.angle, self.angle, corners)
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
                bound = bound.min((turn / self.chords.spread) ** 2 / 2 + self.chords.bound(rate).log())
        return Rest([(upper_end(self.rounds * bound), upper_end(first.real))],
                    upper_end(1 / (start.tanh() * self.angle.sin())), lower_end(first.imag),
                    self.scale * self.angle.sin() * start.sinh())


_SHARES = 8
_LITTLE = Fraction(1, 4)


_MOST_CELLS = 64
_WIDEST_PARTS = 4
_FAINT = 256
"""The rest is looked at where the integrand is about so many times what is small."""


def cells_until(arm: Arm, strike: arb, small: arb, start: arb, most: arb = ANY) -> list[Piece]:
    """Parts of the arm from v = start on, and the rest: once that is at most `small`, or there are many parts.

    Where parts are far below `small` the next ones are wider, as long as their bounds are. Nothing is known
    after one above `most`.
    """
    parts, rest, wide, none = list[Piece](), None, 1, small / _FAINT**4
    while rest is None or (len(parts) < _MOST_CELLS and not rest.bound(strike, 2) <= small):
        part = arm.cell(start, start + wide * ball(CELL))
        if wide > 1 and not part.bound(strike, 2) <= none:
            wide, part = 1, arm.cell(start, start + ball(CELL))
        parts.append(part)
        if part.bound(strike, 2) > most:
            return [*parts, UNBOUNDED]
        start += wide * ball(CELL)
        if len(parts) == _MOST_CELLS or part.bound_end(strike) <= _FAINT * small:
            rest = arm.rest(start)
        wide = 2 * wide if wide < _WIDEST_PARTS and part.bound_end(strike) <= none else wide
    return [*parts, rest]
