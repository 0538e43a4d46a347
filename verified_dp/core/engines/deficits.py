"""Next to the largest loss: how far all steps together are below it, as a convolution of power series (T161).

Step i loses l_i - D_i, D_i >= 0 its deficit. With g = (sum of all l_i) - eps only deficits below g count:

    delta(eps) = P(S = inf) + E[(1 - e^{-(g - T)})_+],   T the sum of the deficits.

A density sum_n c_n t^n/n! is written sum_n c_n v^{n+1}, an atom at 0 as a constant: then convolutions are products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from flint import acb, arb, arb_poly, ctx, fmpz

from verified_dp.core.kernel.balls import BOUND_BITS, ball, plus_minus, smallest, upper_end
from verified_dp.core.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Undecided
from verified_dp.core.kernel.law import Law, Top
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, words

MAX_LISTED = 4000
"""Ways to leave the atoms and densities at the largest losses."""
MAX_POINTS, MAX_TERMS = 500, 20_000
_SLICES = 12
"""Boxes on either side of the middle in which a density is bounded around an interval."""

Density = Callable[[acb], acb]
"""Of a deficit; not finite at a box on which it is not known to be analytic."""


def all_tops(laws: Sequence[Law]) -> list[Top] | None:
    """Those of all laws; None where one has none."""
    found = list[Top]()
    for law in laws:
        top = law.near_supremum()
        if top is None:
            return None
        found.append(top)
    return found


@dataclass(frozen=True)
class Series:
    """sum_n weights_n v^{order + n}; a weight may stand for any function with values in its ball (T161 (a))."""

    order: int
    weights: arb_poly

    @proved_by("T161-next-to-the-end")
    def times(self, other: Series, terms: int) -> Series:
        """The convolution on [0, 1], what is beyond so many terms in the last one: t^n/n! is t^m/m! times [0, m!/n!].

        The second factor is a copy: the square of a ball need not hold the products of two numbers in it.
        """
        order, product = self.order + other.order, self.weights * arb_poly(other.weights.coeffs())
        if len(product) <= terms:
            return Series(order, product)
        share, more = arb(1), arb(0)
        for n in range(terms, len(product)):
            share /= order + n - 1
            more += arb(0).union(share * product[n])
        return Series(order, product.truncate(terms) + arb_poly([0] * (terms - 1) + [more]))

    def power(self, count: int, terms: int) -> Series:
        """That many of them, by binary powering."""
        found = Series(0, arb_poly([1]))
        for digit in bin(count)[2:]:
            found = found.times(found, terms)
            found = found.times(self, terms) if digit == "1" else found
        return found

    def scaled(self, factor: fmpz) -> Series:
        """All weights times a number."""
        return Series(self.order, self.weights * factor)


def _cut_circle() -> list[tuple[arb, arb]]:
    """Parts of [-1, 1], short next to the ends, with the largest sine over each."""
    angles = [arb.pi() * n / (2 * _SLICES) for n in range(2 * _SLICES + 1)]
    return [(first.cos().union(last.cos()), first.sin().max(last.sin())) for first, last in pairwise(angles)]


@dataclass(frozen=True)
class Way:
    """Some steps' deficits are `place` and what `series` adds."""

    place: arb
    series: Series


@proved_by("T161-next-to-the-end")
def fit(density: Density, start: arb, stop: arb, reach: arb, points: int) -> tuple[arb_poly, arb]:
    """A polynomial in (d - start)/reach through the density at nodes of the interval, and a bound of its error."""
    half, middle = (stop - start) / 2, (start + stop) / 2
    nodes = [(arb.pi() * (2 * i + 1) / (2 * points)).cos() for i in range(points)]
    values = [density(acb(middle + half * node)).real for node in nodes]
    line = arb_poly.interpolate([(1 + node) * half / reach for node in nodes], values, "newton")
    errors = [upper_end(4 * size / (rho ** (points - 1) * (rho - 1)))
              for rho, size in bound_ellipses(density, start, stop)]
    least = smallest([density(acb(middle + half * part)).real for part, _ in _cut_circle()])
    return line, smallest([arb.pos_inf(), *errors]) / least if least > 0 else arb.pos_inf()


@proved_by("T161-next-to-the-end")
def bound_ellipses(density: Density, start: arb, stop: arb) -> list[tuple[arb, arb]]:
    """(rho, bound of |f|) on ellipses around the interval, in boxes that hold them, where f is analytic."""
    half, middle, found = (stop - start) / 2, (start + stop) / 2, []
    for n in range(-10, 9):
        rho, size = 1 + arb(2) ** (arb(n) / 2), arb(0)
        width, height = half * (rho + 1 / rho) / 2, half * (rho - 1 / rho) / 2
        for part, sine in _cut_circle():
            size = size.max(upper_end(abs(density(acb(middle + width * part, plus_minus(height * sine))))))
        if size.is_finite():
            found.append((rho, size))
    return found


@proved_by("T161-next-to-the-end")
def enclose_ways(top: Top, reach: arb, points: int) -> tuple[list[Way], arb]:
    """One step: at each place its atom, the density that begins there, and the opposite of that which ends there.

    Both deficits and densities are in units of the reach. With how far they may be from the truth, relatively.
    """
    found, before, last, error = list[Way](), arb_poly(), arb(0), arb(0)
    for i, (place, atom) in enumerate(zip(top.places, top.atoms, strict=True)):
        if place >= reach:
            before = arb_poly()
            continue
        ended = before(arb_poly([(place - last) / reach, 1])) if len(before) else before
        weights, before, last = -ended, arb_poly(), place
        density = top.densities[i] if i < len(top.densities) else None
        if density is not None:
            before, missed = fit(density, place, top.places[i + 1].min(reach), reach, points)
            weights, error = weights + before, error.max(missed)
        found.append(Way(place, _series(atom, weights, reach)))
    return found, error


@proved_by("T161-next-to-the-end")
def enclose_share(error: arb, count: int) -> arb:
    """Between (1 + error)^-count and (1 - error)^-count."""
    if not error < 1:
        return arb(0).union(arb.pos_inf())
    return (-count * error.log1p()).exp().union((-count * (-error).log1p()).exp())


def _series(atom: arb, density: arb_poly, reach: arb) -> Series:
    """An atom and a polynomial sum_n c_n t^n: c_n n! reach at v^{n+1}."""
    weights, factor = list[arb](), reach
    for n in range(len(density)):
        weights.append(density[n] * factor)
        factor = factor * (n + 1)
    return Series(1, arb_poly(weights)) if atom.is_zero() else Series(0, arb_poly([atom, *weights]))


@proved_by("T161-next-to-the-end", "T47-enumeration")
def combine(ways: list[Way], count: int, reach: arb, terms: int,
            between: Callable[[], None] = nothing) -> list[Way]:
    """`count` steps: every way in which some of them are at later places than the first, in all below the reach."""
    first, *later = ways
    found = [(0, fmpz(1), Way(arb(0), Series(0, arb_poly([1]))))]
    for jump in paced(later, between):
        wider = []
        for used, number, way in found:
            place, series = way.place, way.series
            for n in range(count - used + 1):
                if place >= reach:
                    break
                wider.append((used + n, number, Way(place, series)))
                _check_number(wider)
                number = number * (count - used - n) // (n + 1)
                place, series = place + jump.place, series.times(jump.series, terms)
        found = wider
    most = max((used for used, _, _ in found), default=0)  # exact: integers
    stays = [first.series.power(count - most, terms)]
    for _ in paced(range(most), between):
        stays.append(stays[-1].times(first.series, terms))
    return [Way(way.place, way.series.times(stays[most - used], terms).scaled(number)) for used, number, way in found]


@proved_by("T161-next-to-the-end")
def join(first: list[Way], second: list[Way], reach: arb, terms: int) -> list[Way]:
    """Independent steps: places add."""
    found = list[Way]()
    for one in first:
        for other in second:
            place = one.place + other.place
            if not place >= reach:
                found.append(Way(place, one.series.times(other.series, terms)))
                _check_number(found)
    return found


def count_ways(loss: ComposedLoss, reach: Fraction) -> int:
    """How many ways there are below the reach, or the most that are listed."""
    with ctx.workprec(BOUND_BITS):
        end, one = ball(reach), Series(0, arb_poly([1]))
        ways, tops = [Way(arb(0), one)], all_tops([law for law, _ in loss.parts])
        try:
            for top, (_, count) in zip(tops or [], loss.parts, strict=False):
                places = [top.places[0], *(place for place in top.places[1:] if not place >= end)]
                ways = join(ways, combine([Way(place, one) for place in places], count, end, 2), end, 2)
        except Undecided:
            return MAX_LISTED
        return len(ways)


def _check_number(found: Sequence[object]) -> None:
    if len(found) > MAX_LISTED:
        raise Undecided(f"more than {MAX_LISTED} ways to be so far below the largest loss")


@proved_by("T161-next-to-the-end")
def enclose_payoff(reach: arb, terms: int) -> Series:
    """1 - e^{-reach t}: (-1)^n reach^{n+1} at v^{n+2}, in the last of them anything between 0 and that."""
    weights, power = list[arb](), reach
    for _ in range(terms):
        weights.append(power)
        power = -power * reach
    weights[-1] = weights[-1].union(arb(0))
    return Series(2, arb_poly(weights))


@dataclass(frozen=True)
class DeficitsWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    reach > 0: it tells delta(eps) where eps is less than that below the largest loss. points: of the polynomials that
    stand for densities. terms: of every power series.
    """

    reach: Fraction
    points: int
    terms: int
    prec: int

    kind: ClassVar[str] = "deficits"
    method: ClassVar[str] = "closed-form"

    @proved_by("T161-next-to-the-end")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions that are plain comparisons, and laws whose tops are known."""
        numbers = self.reach > 0 and 2 <= self.points <= MAX_POINTS and 2 <= self.terms <= MAX_TERMS
        return numbers and bool(loss.parts) and not loss.mean_shift_squared and (
            all_tops([law for law, _ in loss.parts]) is not None)

    @proved_by("T161-next-to-the-end")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> DeficitsValues:
        """The law of the sum of all deficits below the reach, with what delta takes of it."""
        with ctx.workprec(self.prec):
            reach, end, share = ball(self.reach), arb(0), arb(1)
            ways = [Way(arb(0), enclose_payoff(reach, self.terms))]
            for top, (_, count) in zip(all_tops([law for law, _ in loss.parts]) or [], loss.parts, strict=True):
                step, error = enclose_ways(top, reach, self.points)
                ways = join(ways, combine(step, count, reach, self.terms, between), reach, self.terms)
                end, share = end + count * top.largest, share * enclose_share(error, count)
            return DeficitsValues(self, ways, share, loss.enclose_infinity_mass(), end)

    def work(self, loss: ComposedLoss) -> Work:
        """Of all ways, each a product of two series for every law, and of all powers."""
        size = abs(self.terms) + abs(self.points)
        powers = sum(2 * count.bit_length() for _, count in loss.parts)
        points = abs(self.points) + 8 * EXPONENTIAL
        laws = sum(law.value_work(self.prec) + points * (points + 8 * EXPONENTIAL) for law, _ in loss.parts)
        ways = count_ways(loss, self.reach)
        products = (powers + 2 * ways * (1 + len(loss.parts))) * size * (16 + size // 16)
        return Work((products + laws) * words(self.prec), (ways + 64) * size * entry_bytes(self.prec))


@dataclass(frozen=True)
class DeficitsValues:
    """Ways with the payoff in their series, share: what to multiply their sum by; infinity mass and largest loss."""

    witness: DeficitsWitness
    ways: list[Way]
    share: arb
    infinity: arb
    end: arb

    @cached_property
    def polynomials(self) -> list[tuple[arb, int, arb_poly]]:
        """(place, m, p): the part is t^m/m! p(t) at deficits `place` from the way's own."""
        found = []
        for way in self.ways:
            m, share, weights = way.series.order - 1, arb(1), []
            for n in range(len(way.series.weights)):
                share = share / (m + n) if n else share
                weights.append(way.series.weights[n] * share)
            found.append((way.place, m, arb_poly(weights)))
        return found

    @proved_by("T161-next-to-the-end", "T44-infinity-mass")
    def delta(self, epsilon: Fraction) -> Bounds:
        """P(S = inf) and the sum over all ways with less than the gap. Raises Undecided beyond the reach."""
        with ctx.workprec(self.witness.prec):
            gap, reach, total = self.end - ball(epsilon), ball(self.witness.reach), arb(0)
            if not gap <= reach:
                raise Undecided("whether eps is within the reach")
            for place, m, line in self.polynomials:
                if not gap <= place:
                    t = ((gap - place) / reach).max(arb(0)).min(arb(1))
                    total += t**m / arb(m + 1).gamma() * line(t)
            return bounds_from_sum(self.infinity + self.share * total, {}, {})
