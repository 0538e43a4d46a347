"""One step's loss as a measure on a grid, above and below, from its tails at the places of the grid and between.

Between two places its outcomes have masses P, Q: differences of tails, or sums over atoms. *Above* each cell's
outcomes are split between its two ends with the same sums of P and Q (a step up, `measures`). *Below* outcomes left
and right of a place are seen as one (a step down) that lies exactly there, or a little to the right and is moved
down. What lies beyond the last place is not kept: the integral of e^{cx} over it is at most M(l) e^{-(l-c) x}, for
any l >= c.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from .atoms import AtomicLaw
from .balls import Ball, Unknown, ball, bits, exp, expm1, floor, larger, smaller, tick
from .measures import Measure

Outcome = tuple[Ball, Ball]
"""(P, Q) masses."""


@dataclass(frozen=True)
class Halves:
    """Between neighbouring places: the outcomes of the left and of the right half."""

    left: Outcome
    right: Outcome


def halves_of(law: Any, places: Sequence[Fraction]) -> tuple[Outcome, list[Halves]]:
    """(what lies at or left of the first place, the cells' halves)."""
    middles = [(a + b) / 2 for a, b in pairwise(places)]
    if isinstance(law, AtomicLaw):
        sums = _sorted_atoms(law, sorted({*places, *middles}))
    else:
        infinity = law.infinity()
        ends = [_finite_tails(law, place, infinity) for place in places]
        sums = [(1 - infinity - ends[0][0], 1 - ends[0][1])]
        for middle, (left, right) in zip(middles, pairwise(ends), strict=True):
            p, q = _finite_tails(law, middle, infinity)
            sums += [(left[0] - p, left[1] - q), (p - right[0], q - right[1])]
    cells = [Halves(*sums[n:n + 2]) for n in range(1, len(sums), 2)]
    return sums[0], cells


def _finite_tails(law: Any, place: Fraction, infinity: Ball) -> Outcome:
    tick()
    above, below = law.tails(ball(place))
    return above - infinity, below


def _sorted_atoms(law: AtomicLaw, points: Sequence[Fraction]) -> list[Outcome]:
    """Sums over (points[n-1], points[n]], the first from -inf on; Unknown where a side is not sure.

    `_above` needs both ends: the chord from x to x + w is too low for an outcome left of x.
    """
    found = [(Ball(0), Ball(0)) for _ in points]
    for (p, q), loss in zip(law.finite_atoms(), law.losses(), strict=True):
        bottom, top = loss.lower().middle(), loss.upper().middle()
        n = bisect_left(points, top)
        if n == len(points):
            raise Unknown("an atom beyond the grid")
        if n and bottom <= points[n - 1]:
            raise Unknown("an atom that may be on either side of a place")
        found[n] = found[n][0] + p, found[n][1] + q
    return found


class Scale:
    """Tilted integers: masses times e^{c x} 2^-exponent."""

    def __init__(self, tilt: Fraction, exponent: int) -> None:
        self.tilt, self.exponent = tilt, exponent

    def factor(self, place: Fraction) -> Ball:
        return exp(ball(self.tilt * place)).shifted(-self.exponent)


def _ceil(x: Ball) -> int:
    return -floor(-x)


def enclose_step(law: Any, vertices: Sequence[int], offset: Fraction, step: Fraction, tilt: Fraction,
                 wanted: int) -> tuple[Measure, Measure]:
    """Both measures, above and below, in about `wanted` bits."""
    places = [offset + i * step for i in vertices]
    first, cells = halves_of(law, places)
    end = law.largest()
    tail = Ball(0) if end is not None and ball(places[-1]) >= end else bound_tail(law, places[-1], tilt)
    size = Ball(0)
    for place, cell in zip(places[1:], cells, strict=True):
        size = size + (cell.left[0] + cell.right[0]) * exp(ball(tilt * place))
    if not size.upper() > 0:
        raise Unknown("a law without mass on its grid")
    scale = Scale(tilt, size.upper().top() - wanted)
    return (_above(scale, places, vertices, step, offset, first, cells, tail),
            _below(scale, places, vertices, step, offset, cells))


def bound_tail(law: Any, place: Fraction, tilt: Fraction) -> Ball:
    """A bound of the integral of e^{cx} beyond a place: (P(L > x) - P(L > y)) e^{cy} from one place x to the next y.

    What is left at last is a Chernoff bound, the least of M(l) e^{-(l-c)x} over some l >= c.
    """
    found, infinity = Ball(0), law.infinity()
    above = larger(law.tails(ball(place))[0] - infinity, 0)
    width = 1 / (tilt + 1)
    for _ in range(400):
        rest = _chernoff(law, place, tilt)
        if rest is not None and rest <= found.shifted(-3):
            return (found + rest).upper()
        following = place + width
        beyond = larger(law.tails(ball(following))[0] - infinity, 0)
        if beyond.is_zero() and law.largest() is not None and ball(following) > law.largest():
            return (found + above * exp(ball(tilt * following))).upper()
        found = (found + larger(above - beyond, 0) * exp(ball(tilt * following))).upper()
        place, above, width = following, beyond, width * Fraction(17, 16)
    raise Unknown("a tail")


def _chernoff(law: Any, place: Fraction, tilt: Fraction) -> Ball | None:
    best = None
    for n in range(-4, 10, 2):
        more = Fraction(2) ** n * (tilt + 1) / 8
        try:
            found = (law.bound_moment(ball(tilt + more)) * exp(-ball(more * place))).upper()
        except ArithmeticError:
            continue
        if best is None or found < best:
            best = found
    return best


def _above(scale: Scale, places: Sequence[Fraction], vertices: Sequence[int], step: Fraction, offset: Fraction,
           first: Outcome, cells: Sequence[Halves], tail: Ball) -> Measure:
    """p = p1 + p2, q e^x = p1 + p2 e^-w for a cell [x, x + w]: p2 = (p - q e^x)/(1 - e^-w)."""
    low = vertices[0]
    weights = [0] * (vertices[-1] - low + 1)
    masses = [Ball(0)] * len(places)
    masses[0] = larger(first[0], 0)
    for n, cell in enumerate(cells):
        p, q = (cell.left[i] + cell.right[i] for i in (0, 1))
        p = larger(p, 0)
        moved = (p - q * exp(ball(places[n]))) / -expm1(ball(places[n] - places[n + 1]))
        right = smaller(larger(moved, 0), p)
        masses[n] = masses[n] + larger(p - right, 0)
        masses[n + 1] = masses[n + 1] + right
    whole = _ceil(tail.shifted(-scale.exponent)) if not tail.is_zero() else 0
    for i, place, mass in zip(vertices, places, masses, strict=True):
        tilted = mass * scale.factor(place)
        weights[i - low] = max(floor(tilted), 0)
        whole += max(_ceil(tilted), 0)
    return Measure(weights, low, offset, step, scale.exponent, whole)


def _below(scale: Scale, places: Sequence[Fraction], vertices: Sequence[int], step: Fraction, offset: Fraction,
           cells: Sequence[Halves]) -> Measure:
    """From place to place: what lies left of it, not used yet, with as much of what lies right of it as it takes.

    In units in which P = Q means a loss at the place: P is rounded down, Q up.
    """
    low, spare = vertices[0], bits()
    scale = Scale(scale.tilt, scale.exponent - spare)
    weights = [0] * (vertices[-1] - low + 1)
    carry = (0, 0)  # relative to the place at hand
    for n, place in enumerate(places):
        factor, grown = scale.factor(place), exp(ball(place))

        def at(outcome: Outcome, factor: Ball = factor, grown: Ball = grown) -> tuple[int, int]:
            return max(floor(outcome[0] * factor), 0), max(_ceil(outcome[1] * factor * grown), 0)

        mass, lacking, rest = carry[0], carry[1] - carry[0], (0, 0)
        if n < len(cells):
            p, q = at(cells[n].left)
            if p >= q:  # what it has too much of moves down
                mass, lacking = mass + p, lacking - (p - q)
            used, rest = _share(at(cells[n].right), lacking)
            mass, lacking = mass + used[0], lacking - (used[0] - used[1])
        if lacking > 0 and n:
            # a share of the carry stays, balanced; the rest moves down to the place before
            stays, moved = _balanced(carry, mass, lacking, places[n] - places[n - 1], scale.tilt)
            weights[vertices[n] - low] += stays
            weights[vertices[n - 1] - low] += moved
        elif lacking <= 0:
            weights[vertices[n] - low] += mass
        if n < len(cells):
            width = ball(places[n + 1] - place)
            carry = _moved(rest, exp(width * scale.tilt), exp(width * (scale.tilt + 1)))
    return Measure([weight >> spare for weight in weights], low, offset, step, scale.exponent + spare, 0)


def _share(outcome: tuple[int, int], lacking: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """(the share of an outcome that makes up for what lacks, the rest of it): P is rounded down, Q up, in both."""
    p, q = outcome
    gain = p - q
    if lacking <= 0 or gain <= 0:
        return (0, 0), outcome
    if gain <= lacking:
        return outcome, (0, 0)
    used = p * lacking // gain, -(-q * lacking // gain)
    return used, (max(p - used[0] - 1, 0), q - used[1] + 1)


def _moved(pair: tuple[int, int], p_factor: Ball, q_factor: Ball) -> tuple[int, int]:
    places = bits()
    (p, r), (q, s) = p_factor.scaled(places), q_factor.scaled(places)
    return pair[0] * (p - r) >> places, -(-pair[1] * (q + s) >> places)


def _balanced(carry: tuple[int, int], mass: int, lacking: int, width: Fraction, tilt: Fraction) -> tuple[int, int]:
    """(weight at the place, weight at the place before): a share of the carry stays, as much as is balanced there.

    Three units more than what lacks go: of the share that stays both masses are rounded, P down and Q up.
    """
    short, places = carry[1] - carry[0], bits()
    gone = min(lacking + 3, short)
    kept = carry[0] * (short - gone) // short
    p, q = carry[0] - kept - 1, -(-carry[1] * gone // short)
    (back, room), (fall, error) = exp(-ball(width)).scaled(places), exp(-ball(width * tilt)).scaled(places)
    above_before = p > 0 and p << places >= q * (back + room)
    return kept + mass - carry[0], p * max(fall - error, 0) >> places if above_before else 0
