"""Exact compositions of atoms and of uniform pieces (T45): finite laws, Laplace noise, bounded-range selection.

Tilted by -1/2 (every outcome weighted by sqrt(PQ)) the loss of such a step is a few atoms plus a uniform density, and
a composition is a sum of one-sided powers: with weights w_{x,m} at places x and orders m,

    sqrt(PQ)-density of S at s = sum_x sum_m w_{x,m} (x - s)_+^{m-1} / (m-1)!     (m = 0: an atom at x)
    D(eps) = e^{eps/2} sum over x > eps, m of w_{x,m} F_m(x - eps),
    F_m(T) = A_m(1/2, T) - A_m(-1/2, T),      A_m(r, T) = sum_{i >= m} r^{i-m} T^i / i!.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly, ctx, fmpz, fmpz_poly

from verified_dp.core.engines.rules import HasAtoms, is_atomic
from verified_dp.core.engines.shared import kept
from verified_dp.core.kernel.balls import integer_above, largest, plus_minus, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by

Piece = tuple[arb, list[arb]]
"""A place x with its weights w_{x,0}, w_{x,1}, ..."""

MAX_WORK = 400_000
"""Products of weights and powers that are worth their time: a second or two."""


MAX_EASY_WORK = 3000
"""The same where the contour gives many digits at once: 50 steps."""


def atoms_matter(loss: ComposedLoss) -> bool:
    """Whether the transform falls too little: the atoms keep a share of at least about 2^-64 of every step's mass."""
    rest = Fraction(0)
    for law, count in loss.parts:
        exponent = law.atom_exponent
        if exponent is None and law.enclose_spline() is not None:
            return False
        rest += count * (exponent or 0)
    return rest < 90


def count_pieces(loss: ComposedLoss) -> int | None:
    """How much work the exact composition is; None where a law has no pieces or there is a Gaussian."""
    sizes = [size_of(law, count) for law, count in loss.parts]
    if loss.mean_shift_squared or any(size is None for size in sizes):
        return None
    places, orders = 1, 1
    for size in sizes:
        if size is not None:
            places, orders = places * size[0], orders + size[1]
    return places * orders


def size_of(law: Law, count: int) -> tuple[int, int] | None:
    """(places, highest order) of `count` steps; None where the law is not made of such pieces."""
    if law.enclose_spline() is not None:
        return count + 1, count
    if not is_atomic(law):
        return None
    lattice = law.lattice()
    if lattice is None:
        atoms = len(law.enclose_finite_atoms())
        return (binomial(count + atoms - 1, atoms - 1) if atoms < 50 and count < 10**6 else MAX_WORK + 1), 0
    indices = lattice[1]
    span = max(indices, default=0) - min(indices, default=0)  # exact: integers
    return count * span // _stride(indices) + 1, 0


def _stride(indices: Sequence[int]) -> int:
    """The greatest common divisor of the differences, 1 if there are none."""
    divisor = fmpz(0)
    for index in indices:
        divisor = divisor.gcd(index - indices[0])
    return int(divisor) or 1


def binomial(n: int, k: int) -> int:
    return int(fmpz.bin_uiui(n, k))


@proved_by("T45-pieces", "T47-enumeration")
def enclose_pieces(law: Law, count: int) -> list[Piece]:
    """Enclose the pieces of `count` steps."""
    spline = law.enclose_spline()
    if spline is not None:
        return enclose_splines(*spline, count, count)
    if is_atomic(law):
        return _atomic(law, count)
    raise TypeError(type(law).__name__)


def enclose_splines(mu: arb, atom: arb, density: arb, count: int, kept: int) -> list[Piece]:
    """The pieces of `enclose_columns`, place by place."""
    columns = [[column[j] for j in range(count + 1)] for column in enclose_columns(atom, density, count, kept)]
    rows = zip(*columns, strict=True)
    return [(place, list(weights)) for place, weights in zip(places(mu, count), rows, strict=True)]


def places(mu: arb, count: int) -> list[arb]:
    """(2j - k) mu."""
    return [(2 * j - count) * mu for j in range(count + 1)]


@proved_by("T45-pieces")
def enclose_columns(atom: arb, density: arb, count: int, kept: int) -> list[arb_poly]:
    """Weights comb(k,m) a^{k-m} b^m [y^j] (y-1)^m (y+1)^{k-m} at (2j - k) mu, m <= kept: m uniform pieces."""
    row, columns = fmpz_poly([1, 1]) ** count, []
    for m in range(kept + 1):
        columns.append(binomial(count, m) * atom ** (count - m) * density**m * arb_poly(row))
        row = row * fmpz_poly([-1, 1]) // fmpz_poly([1, 1]) if m < count else row
    return columns


@proved_by("T47-enumeration")
def _atomic(law: HasAtoms, count: int) -> list[Piece]:
    """On a lattice the coefficients of a power of a polynomial; else every multiset of outcomes."""
    lattice = law.lattice()
    weights = [(p * q).sqrt() for p, q in law.enclose_finite_atoms()]
    if not weights:
        return []
    if lattice is None:
        losses = [(p / q).log() for p, q in law.enclose_finite_atoms()]
        return [(place, [weight]) for place, weight in _multisets(losses, weights, count)]
    step, indices = lattice
    stride, lowest = _stride(indices), min(indices)  # exact: integers
    row = [arb(0)] * ((max(indices) - lowest) // stride + 1)  # exact: integers
    for index, weight in zip(indices, weights, strict=True):
        row[(index - lowest) // stride] += weight
    power = arb_poly(row) ** count
    return [((count * lowest + stride * n) * step, [power[n]]) for n in range(len(row) * count - count + 1)
            if not power[n].is_zero()]


@proved_by("T47-enumeration")
def _multisets(losses: list[arb], weights: list[arb], count: int) -> Iterator[tuple[arb, arb]]:
    """(sum of losses, multinomial times product of weights) of every way to share `count` among the atoms."""
    if len(losses) == 1:
        yield losses[0] * count, weights[0] ** count
        return
    for first in range(count + 1):
        factor, place = binomial(count, first) * weights[0] ** first, losses[0] * first
        for rest, weight in _multisets(losses[1:], weights[1:], count - first):
            yield place + rest, factor * weight


@proved_by("T45-pieces")
def enclose_exactly(loss: ComposedLoss, epsilon: arb) -> arb:
    """Enclose delta(eps) = P(S = inf) + D(eps) of a composition of pieces."""
    with ctx.workprec(ctx.prec + spare_bits(loss)):
        return loss.enclose_infinity_mass() + (epsilon / 2).exp() * enclose_tails(prepare_all(loss), epsilon)


@proved_by("T45-pieces", "T73-sampled-composition")
def enclose_tails_exactly(loss: ComposedLoss, x: arb) -> tuple[arb, arb]:
    """Enclose (P(S > x), Q(S > x)): e^{x/2} sum w A_m(1/2, T) with the infinity mass, e^{-x/2} sum w A_m(-1/2, T)."""
    with ctx.workprec(ctx.prec + spare_bits(loss)):
        above = below = arb(0)
        for place, weights in _enclose_all(loss):
            distance = place - x
            if distance <= 0:
                continue
            terms = [_weighted(rate, distance.max(arb(0)), weights) for rate in (arb(1) / 2, -arb(1) / 2)]
            sure = distance > 0
            above, below = (old + (new if sure else new.union(arb(0)))
                            for old, new in zip((above, below), terms, strict=True))
        return loss.enclose_infinity_mass() + (x / 2).exp() * above, (-x / 2).exp() * below


def _weighted(rate: arb, distance: arb, weights: list[arb]) -> arb:
    """Enclose sum_m w_m A_m(rate, T)."""
    values = _enclose_powers(rate, distance, len(weights) - 1)
    return sum((w * value for w, value in zip(weights, values, strict=True)), arb(0))


@proved_by("T45-pieces", "T73-sampled-composition")
def enclose_density_exactly(loss: ComposedLoss, x: arb) -> arb:
    """Enclose the density of S under P: e^{x/2} sum_{m >= 1} w T^{m-1} / (m-1)!, T = place - x > 0."""
    with ctx.workprec(ctx.prec + spare_bits(loss)):
        total = arb(0)
        for place, weights in _enclose_all(loss):
            distance = place - x
            if distance <= 0:
                continue
            power, value = arb(1), arb(0)
            for m, weight in enumerate(weights[1:], 1):
                value += weight * power
                power = power * distance.max(arb(0)) / m
            total += value if distance > 0 else value.union(arb(0))
        return (x / 2).exp() * total


def enclose_atoms_exactly(loss: ComposedLoss) -> list[tuple[arb, arb]]:
    """Enclose (loss, P mass) of the atoms of S."""
    return [(place, weights[0] * (place / 2).exp()) for place, weights in _enclose_all(loss)]


def spare_bits(loss: ComposedLoss) -> int:
    """Bits for the cancellation of the signs, at most about 3 k min(1, sqrt(mu)) for k steps of range mu."""
    bits = arb(24)
    for law, count in loss.parts:
        spline = law.enclose_spline()
        if spline is not None:
            bits += 3 * count * spline[0].sqrt().min(arb(1))
    return integer_above(bits)


@kept(4)
def _enclose_all(loss: ComposedLoss) -> list[Piece]:
    """The pieces of the whole composition, kept for the next eps."""
    pieces: list[Piece] = [(arb(0), [arb(1)])]
    for law, count in loss.parts:
        pieces = _combine(pieces, enclose_pieces(law, count))
    return pieces


@proved_by("T45-pieces")
def _combine(first: list[Piece], second: list[Piece]) -> list[Piece]:
    """Places add, orders add, weights multiply."""
    if len(first) == 1 and len(first[0][1]) == 1:
        (place, (weight,)), = first
        return [(place + x, [weight * w for w in ws]) for x, ws in second]
    return [(x + y, (arb_poly(v) * arb_poly(w)).coeffs()) for x, v in first for y, w in second]


@dataclass(frozen=True)
class Tail:
    """sum_m w_m F_m(T), m <= n, as sum_{i < n} d_i T^i/i! + c_n(1/2) A_n(1/2, T) - c_n(-1/2) A_n(-1/2, T).

    c_i(r) = sum_{m <= i} w_m r^{i-m}, d_i = c_i(1/2) - c_i(-1/2). start: the polynomial; up, down: c_n(1/2), c_n(-1/2).
    """

    place: arb
    start: arb_poly
    up: arb
    down: arb
    order: int


@proved_by("T45-pieces")
def prepare_tails(places: Sequence[arb], columns: Sequence[arb_poly]) -> list[Tail]:
    """What does not depend on eps; columns[m][j] = w_{x,m} at the j-th place."""
    half, inverse = arb(1) / 2, arb(1)
    count, starts, up, down = len(places), [], arb_poly(), arb_poly()
    for i, column in enumerate(columns):
        up, down = half * up + column, column - half * down
        gap = inverse * (up - down)
        starts.append([gap[j] for j in range(count)])
        inverse /= i + 1
    rows = zip(*starts[:-1], strict=True) if len(starts) > 1 else iter([()] * count)
    return [Tail(place, arb_poly(list(row)), up[j], down[j], len(columns) - 1)
            for j, (place, row) in enumerate(zip(places, rows, strict=True))]


@proved_by("T45-pieces")
def enclose_tails(tails: Sequence[Tail], epsilon: arb) -> arb:
    """Enclose sum_x sum_m w_{x,m} F_m(x - eps) over the places x > eps (F_m(0) = 0: an undecided T is cut there).

    A_n(r, T) = T^n/n! E_n(r T), with both signs of r by the even and the odd part of the series E_n.
    """
    reaches = [(tail, (tail.place - epsilon).max(arb(0))) for tail in tails if not tail.place <= epsilon]
    longest, total = largest([reach for _, reach in reaches]) / 2 if reaches else arb(0), arb(0)
    for tail, reach in reaches:
        if not tail.order:
            total += 2 * tail.up * (reach / 2).sinh()
            continue
        even, odd, rest = even_and_odd(tail.order, longest)
        half = reach / 2
        square = half * half
        left, right = even(square) + plus_minus(rest), half * odd(square)
        power = reach**tail.order / fmpz.fac_ui(fmpz(tail.order))
        total += tail.start(reach) + power * (tail.up * (left + right) - tail.down * (left - right))
    return total


@proved_by("T45-pieces")
@kept(8)
def even_and_odd(order: int, longest: arb) -> tuple[arb_poly, arb_poly, arb]:
    """E_n(x) = sum_i x^i n!/(n+i)! as even(x^2) + x odd(x^2) and a bound of the rest for all |x| <= longest.

    The rest is at most twice its first term, where its terms at least halve.
    """
    terms, power, n = [arb(1)], arb(1), order
    while longest.is_finite() and not (2 * longest < n and power < arb(2) ** (-ctx.prec)):
        n += 1
        terms.append(terms[-1] / n)
        power = power * longest / n
    return arb_poly(terms[0:-1:2]), arb_poly(terms[1:-1:2]), upper_end(2 * power)


@kept(4)
def prepare_all(loss: ComposedLoss) -> list[Tail]:
    """All tails of a composition, kept for the next eps."""
    pieces = _enclose_all(loss)
    most = max((len(weights) for _, weights in pieces), default=1)  # exact: integers
    columns = [arb_poly([weights[m] if m < len(weights) else arb(0) for _, weights in pieces]) for m in range(most)]
    return prepare_tails([place for place, _ in pieces], columns)


@proved_by("T45-pieces")
def _enclose_powers(rate: arb, distance: arb, order: int) -> list[arb]:
    """Enclose A_0, ..., A_order at (rate, T): the last by its series, the others by A_m = T^m/m! + rate A_{m+1}."""
    terms = [arb(1)]
    for m in range(1, order + 1):
        terms.append(terms[-1] * distance / m)
    values = [_enclose_series(rate * distance, order) * terms[order]]
    for m in reversed(range(order)):
        values.append(terms[m] + rate * values[-1])
    return values[::-1]


@proved_by("T45-pieces")
def _enclose_series(x: arb, order: int) -> arb:
    """Enclose sum_{i >= 0} x^i order! / (order + i)!: a remainder of at most twice the first term left out."""
    total, term, n = arb(1), arb(1), order
    while True:
        n += 1
        term = term * x / n
        total += term
        if not term.is_finite():
            return term
        if 2 * abs(x) < n and term.abs_upper() < arb(2) ** (-ctx.prec):
            return total + arb(0, upper_end(abs(term)))
