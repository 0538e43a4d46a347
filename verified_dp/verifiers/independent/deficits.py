"""Next to the largest loss: the sum of all deficits below it, by products of power series (T161).

A law there is a list of (place, atom, density up to the next place) by the deficit, largest loss minus loss. With g the
largest loss of all minus eps, D(eps) = E[(1 - e^{T - g})_+], T the sum of the deficits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

from .atoms import AtomicLaw
from .balls import (
    Ball,
    Complex,
    Unknown,
    argument,
    ball,
    between,
    bits,
    cos_sin,
    exp,
    expm1,
    larger,
    log,
    log1p,
    modulus,
    pi,
    plus,
    plus_minus,
    power,
    precision,
    scaled_by,
    smaller,
    tick,
    total,
)
from .contour import Bounds, bounds_from_sum, require
from .document import TooMuch
from .laws import BoundedRangeLoss, LaplaceLoss, SampledLoss, union
from .losses import ComposedLoss
from .shifts import LaplaceMixtureLoss

MOST_WAYS = 4000
MAX_PRODUCTS, MAX_WAY_PRODUCTS = 10**7, 3 * 10**8
"""Of two weights: in the powers of all steps; in all ways of one law, and where these are joined with the others'."""

Density = Callable[[Complex], Complex]
"""The logarithm of a density of the deficit: its real part is narrow also on wide boxes."""
Place = tuple[Ball, Ball, Density | None]
Top = tuple[Ball, list[Place]]
"""The largest loss; deficits with their atoms, and the density from each to the next."""
Series = tuple[int, list[Ball]]
"""Order o, weights: w_n at v^{o+n}."""
Way = tuple[Ball, int, list[Ball]]
"""A place and the series that begins there."""


@dataclass(frozen=True)
class Deficits:
    """reach: the largest gap; points of the polynomials; terms of the series."""

    prec: int
    reach: Fraction
    points: int
    terms: int

    def evaluate(self, loss: ComposedLoss) -> DeficitsValues:
        require(self.reach > 0 and 2 <= self.points <= 500 and 2 <= self.terms <= 20_000)
        require(not loss.mean_shift_squared and bool(loss.parts))
        steps = sum(2 * count.bit_length() for _, count in loss.parts)
        if steps * self.terms**2 > MAX_PRODUCTS:
            raise TooMuch("long power series")
        return DeficitsValues(self, loss)


class DeficitsValues:
    """All ways to be below the reach, with the payoff in their series."""

    def __init__(self, witness: Deficits, loss: ComposedLoss) -> None:
        self.witness, self.end, self.share, self.infinity = witness, Ball(0), Ball(1), loss.infinity()
        reach, terms = ball(witness.reach), witness.terms
        payoff = [power(-reach, n) * reach for n in range(terms)]
        payoff[-1] = union(payoff[-1], 0)
        ways: list[Way] = [(Ball(0), 2, payoff)]
        for law, count in loss.parts:
            largest, places = top_of(law)
            step, error = pieces(places, reach, witness.points)
            several = repeated(step, count, reach, terms)
            ways = joined(ways, several, reach, terms)
            self.end = self.end + largest * count
            self.share = self.share * union(exp(log1p(error) * -count), exp(log1p(-error) * -count))
        self.ways = ways

    def enclose(self, epsilon: Fraction) -> Bounds:
        reach, gap = ball(self.witness.reach), self.end - ball(epsilon)
        if not gap <= reach:
            raise Unknown("eps is not within the reach")
        found = Ball(0)
        for place, order, weights in self.ways:
            if gap <= place:
                continue
            t = smaller(larger((gap - place) / reach, 0), 1)
            value = Ball(0)
            for n in range(len(weights) - 1, -1, -1):  # t^{o+n-1}/(o+n-1)! as a chain
                value = weights[n] + (value * t / (order + n) if n + 1 < len(weights) else Ball(0))
            found = found + value * power(t, order - 1) / _factorial(order - 1)
        return bounds_from_sum(self.infinity + found * self.share, {}, {})


def _factorial(n: int) -> Ball:
    return reduce(lambda x, m: x * m, range(2, n + 1), Ball(1))


def product(first: Series, second: Series, terms: int) -> Series:
    """Orders add; what is past the last term goes into it, times [0, w]: t^n/n! = w t^(n-m) t^m/m!."""
    (o, v), (m, w) = first, second
    order, found = o + m, [Ball(0)] * max(len(v) + len(w) - 1, 0)
    for i, x in enumerate(v):
        tick()
        if not x.is_zero():
            for j, y in enumerate(w):
                found[i + j] = found[i + j] + x * y
    share, more = Ball(1), Ball(0)
    for n in range(terms, len(found)):
        share = share / (order + n - 1)
        more = more + union(share * found[n], 0)
    if len(found) > terms:
        found[terms - 1] = found[terms - 1] + more
    return order, found[:terms]


def joined(first: list[Way], second: list[Way], reach: Ball, terms: int) -> list[Way]:
    """Independent steps: places add. Pairs are counted before anything is multiplied."""
    pairs, products = list[tuple[Ball, Way, Way]](), 0
    for one in first:
        tick()
        for other in second:
            place = one[0] + other[0]
            if not place >= reach:
                pairs.append((place, one, other))
                products += len(one[2]) * len(other[2])
                _check_ways(len(pairs), products)
    return [(place, *product((o, v), (m, w), terms)) for place, (_, o, v), (_, m, w) in pairs]


def _check_ways(number: int, products: int) -> None:
    if number > MOST_WAYS:
        raise Unknown("too many ways below the reach")
    if products > MAX_WAY_PRODUCTS:
        raise TooMuch("long power series for many ways")


def repeated(step: list[Way], count: int, reach: Ball, terms: int) -> list[Way]:
    """`count` steps: some at later places than the first, their places below the reach in sum."""
    (_, order, weights), *later = step
    ways: list[tuple[int, int, Way]] = [(0, 1, (Ball(0), 0, [Ball(1)]))]
    products = 0
    for jump, m, w in later:
        wider = []
        for used, number, (place, o, v) in ways:
            for n in range(count - used + 1):
                if place >= reach:
                    break
                wider.append((used + n, number, (place, o, v)))
                number = number * (count - used - n) // (n + 1)
                products += len(v) * len(w)
                _check_ways(len(wider), products)
                place, (o, v) = place + jump, product((o, v), (m, w), terms)
        ways = wider
    most, longest = max(used for used, _, _ in ways), min(terms, count * len(weights) + 1)
    products += longest * (most * len(weights) + sum(len(v) for _, _, (_, _, v) in ways))
    _check_ways(len(ways), products)
    stays = {most: _powered(order, weights, count - most, terms)}
    for used in range(most - 1, -1, -1):
        stays[used] = product(stays[used + 1], (order, weights), terms)
    found = []
    for used, number, (place, o, v) in ways:
        m, w = product((o, v), stays[used], terms)
        found.append((place, m, [x * number for x in w]))
    return found


def _powered(order: int, weights: list[Ball], count: int, terms: int) -> Series:
    found: Series = (0, [Ball(1)])
    for digit in bin(count)[2:]:
        found = product(found, found, terms)
        found = product(found, (order, weights), terms) if digit == "1" else found
    return found


def pieces(places: Sequence[Place], reach: Ball, points: int) -> tuple[list[Way], Ball]:
    """Atom, density that begins and opposite of the one that ended, at every place; the largest relative error."""
    found: list[Way] = []
    before: list[Ball] = []
    last, error = Ball(0), Ball(0)
    for i, (place, atom, density) in enumerate(places):
        if place >= reach:
            before = []
            continue
        weights = [-x for x in _moved(before, (place - last) / reach)]
        before, last = [], place
        if density is not None:
            before, missed = polynomial(density, place, smaller(places[i + 1][0], reach), reach, points)
            error = larger(error, missed)
            longer = max(len(weights), len(before))
            weights = [(weights[n] if n < len(weights) else Ball(0)) + (before[n] if n < len(before) else Ball(0))
                       for n in range(longer)]
        factor, scaled = reach, []
        for n, x in enumerate(weights):
            scaled.append(x * factor)
            factor = factor * (n + 1)
        found.append((place, 1, scaled) if atom.is_zero() else (place, 0, [atom, *scaled]))
    return found, error


def _moved(polynomial: Sequence[Ball], by: Ball) -> list[Ball]:
    """p(t + by), by repeated synthetic division."""
    found = list(polynomial)
    for n in range(len(found)):
        for m in range(len(found) - 2, n - 1, -1):
            found[m] = found[m] + found[m + 1] * by
    return found


def polynomial(density: Density, start: Ball, stop: Ball, reach: Ball, points: int) -> tuple[list[Ball], Ball]:
    """Chebyshev's sums of the density at the zeros of T_n, as powers of (d - start)/reach; its relative error."""
    half, middle = (stop - start).shifted(-1), (start + stop).shifted(-1)
    turns = [cos_sin(pi() * Fraction(2 * i + 1, 2 * points))[0] for i in range(points)]
    values = [exp(density((middle + half * turn, Ball(0)))[0]) for turn in turns]
    scale = reach / half  # x = t reach/half - 1
    found, rows = [Ball(0)] * points, ([Ball(1)], [Ball(-1), scale])
    cosines = [cos_sin(pi() * Fraction(n, 2 * points))[0] for n in range(4 * points)]
    for m in range(points):
        tick()
        size = total(value * cosines[m * (2 * i + 1) % (4 * points)] for i, value in enumerate(values))
        size = size * Fraction(1 if m == 0 else 2, points)
        row = rows[0]
        for n, x in enumerate(row):
            found[n] = found[n] + x * size
        grown = [Ball(0), *(x * scale * 2 for x in rows[1])]
        following = [x - (2 * rows[1][n] if n < len(rows[1]) else Ball(0)) - (row[n] if n < len(row) else Ball(0))
                     for n, x in enumerate(grown)]
        rows = rows[1], following
    return found, _error(density, middle, half, points)


def _error(density: Density, middle: Ball, half: Ball, points: int) -> Ball:
    """4 U rho^-(n-1)/(rho - 1) over the least value of the density, the best of some ellipses."""
    with precision(min(bits(), 96)):
        rough = []
        for n in range(-20, 18):
            rho = 1 + exp(log(Ball(2)) * Fraction(n, 4))
            with suppress(Unknown):
                rough.append((rho, _missed(density, middle, half, rho, points, 30)))
        best = None
        for rho, _ in sorted(rough, key=lambda one: one[1].top())[:5]:
            missed = _missed(density, middle, half, rho, points, 120)
            best = missed if best is None else smaller(best, missed)
        least = None
        for part, _ in _cut_circle(60):
            value = exp(density((middle + half * part, Ball(0)))[0]).lower()
            least = value if least is None else smaller(least, value)
        if best is None or least is None or not least > 0:
            raise Unknown("a density that no polynomial is known to follow")
        return (best / least).upper()


def _cut_circle(parts: int) -> list[tuple[Ball, Ball]]:
    """Parts of [-1, 1] and the largest sine over each."""
    ends = [cos_sin(pi() * Fraction(n, 2 * parts)) for n in range(2 * parts + 1)]
    return [(union(x, u), larger(y, v)) for (x, y), (u, v) in pairwise(ends)]


def _missed(density: Density, middle: Ball, half: Ball, rho: Ball, points: int, slices: int) -> Ball:
    """By the bound U on boxes that hold an ellipse."""
    size, width, height = Ball(0), half * (rho + 1 / rho) / 2, half * (rho - 1 / rho) / 2
    for part, sine in _cut_circle(slices):
        size = larger(size, exp(density((middle + width * part, plus_minus(height * sine)))[0]).upper())
    return (4 * size / (power(rho, points - 1) * (rho - 1))).upper()


# ---------- the laws ----------


def top_of(law: Any) -> Top:
    if isinstance(law, LaplaceLoss):
        mu = ball(law.ratio)
        return mu, [(Ball(0), ball(Fraction(1, 2)), _falling(ball(Fraction(1, 4)))), (2 * mu, exp(-mu) / 2, None)]
    if isinstance(law, BoundedRangeLoss):
        mu = ball(law.bounded_range)
        return mu, [(Ball(0), Ball(0), _falling(-1 / (2 * expm1(-mu)))), (2 * mu, Ball(0), None)]
    if isinstance(law, AtomicLaw):
        return _atoms(law)
    if isinstance(law, SampledLoss):
        swapped = law.base.in_order("add")
        base = top_of(law.base if law.order == "remove" else swapped)
        return (_with if law.order == "remove" else _without)(base, ball(law.probability), swapped.infinity())
    if isinstance(law, LaplaceMixtureLoss):
        return _shifted(law)
    require(False)
    raise AssertionError


def _falling(factor: Ball) -> Density:
    """factor e^{-d/2}."""
    return lambda d: (log(factor) - d[0].shifted(-1), -d[1].shifted(-1))


def _exp(d: Complex) -> Complex:
    """e^d, narrow on boxes around a real number: 1 - y^2/2 <= cos y <= 1 and |sin y| <= |y|."""
    size, high = exp(d[0]), d[1].magnitude()
    return size * between(1 - high * high / 2, 1), size * plus_minus(high)


def _atoms(law: AtomicLaw) -> Top:
    """Those that may be the largest count as one, at any of their losses."""
    atoms = [(loss, p) for (p, _), loss in zip(law.finite_atoms(), law.losses(), strict=True)]
    require(bool(atoms))
    largest = reduce(larger, (loss for loss, _ in atoms))
    tied = [(loss, p) for loss, p in atoms if not loss < largest]
    end = reduce(union, (loss for loss, _ in tied), largest)
    rest = [(larger(end - loss, 0), p, None) for loss, p in atoms if loss < largest]
    return end, [(Ball(0), total(p for _, p in tied), None), *rest]


def _mixed(base: Density, first: Ball, end: Ball, q: Ball, sign: int, times_size: int) -> Density:
    """The density of a sampled step: w = (e^{sign (d - end)} - (1-q))/q; base at first + sign log w."""

    def found(d: Complex) -> Complex:
        moved = scaled_by((d[0] - end, d[1]), sign)
        size = _exp(moved)
        w = (size[0] - (1 - q)) / q, size[1] / q
        if not w[0] > 0:
            raise Unknown("where a density is analytic")
        logarithm = log(modulus(w)), argument(*w)
        inner = base(plus((first, Ball(0)), scaled_by(logarithm, sign)))
        outer = scaled_by(plus(moved, scaled_by(logarithm, -1)), times_size)
        return plus(plus(inner, outer), (-log(q), Ball(0)))

    return found


def _with(base: Top, q: Ball, never: Ball) -> Top:
    """Remove: log(1-q + q e^l); at -inf (1-q) of what never happens with the record."""
    first, places = base
    size = 1 + q * expm1(first)
    end, share, found = log(size), q * exp(first) / size, list[Place]()
    for i, (place, atom, density) in enumerate(places):
        mass = atom if atom.is_zero() else atom * (q + (1 - q) * exp(place - first))
        moved = None if density is None else _mixed(density, first, end, q, -1, 2)
        found.append((-log1p(-share * -expm1(-place)) if i else Ball(0), mass, moved))
    return end, found if never.is_zero() else [*found, (end - log(1 - q), (1 - q) * never, None)]


def _without(base: Top, q: Ball, never: Ball) -> Top:
    """Add: -log(1-q + q e^{-v}), v the base's loss in that order; at v = inf all of what never happens."""
    first, places = base
    lone = never.is_zero()
    size = 1 + q * expm1(-first) if lone else 1 - q
    end, share, found = -log(size), q * exp(-first) / size, list[Place]()
    for i, (place, atom, density) in enumerate(places):
        deficit = log1p(share * (expm1(place) if lone else exp(place))) if i or not lone else Ball(0)
        found.append((deficit, atom, None if density is None else _mixed(density, first, end, q, 1, 1)))
    return end, found if lone else [(Ball(0), never, None), *found]


def _shifted(law: LaplaceMixtureLoss) -> Top:
    """Atoms beyond all means; between two p^2 q/(2(BC - AE)) at p = alpha q."""
    end, parts = law.largest(), law.stretches()[::-1]
    found: list[Place] = [(Ball(0), parts[0].tails(parts[0].right)[0], _between_means(parts[0], end))]
    for n, part in enumerate(parts):
        p, q = part.densities(part.left)
        outermost = n + 1 == len(parts)
        atom = 1 - part.tails(part.left)[0] if outermost else Ball(0)
        found.append((end - log(p / q), atom, None if outermost else _between_means(parts[n + 1], end)))
    return end, found


def _between_means(part: Any, end: Ball) -> Density:
    (a, b, _), (c, e, _) = part.p, part.q
    right = part.left >= 0

    def found(d: Complex) -> Complex:
        alpha = _exp((end - d[0], -d[1]))
        other = _exp((d[0] - end, d[1]))
        w = ((alpha[0] * c - a) / b, alpha[1] * c / b) if right else ((other[0] * b - e) / c, other[1] * b / c)
        if not w[0] > 0:
            raise Unknown("where a density is analytic")
        logarithm = log(modulus(w)), argument(*w)
        exponent = plus(scaled_by((end - d[0], -d[1]), 2 if right else -1), scaled_by(logarithm, Fraction(-3, 2)))
        return plus(exponent, (log(power(c if right else b, 3) / (2 * b * c)), Ball(0)))

    return found
