"""delta of Laplace or bounded-range steps at many eps: between two places of T45 one polynomial serves all (T169).

With x_j the places and P_j(T) = sum_m w_{j,m} F_m(T) = sum_i d_{j,i} T^i/i! their terms, for x_{j-1} <= eps <= x_j

    D(eps) = e^{eps/2} G_j(x_j - eps),   G_j(t) = P_j(t) + G_{j+1}(x_{j+1} - x_j + t):

one shift of a polynomial for each place, which no eps changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly, ctx, fmpz

from verified_dp.core.engines.closed import ClosedFormValues, is_single
from verified_dp.core.engines.pieces import enclose_columns, spare_bits
from verified_dp.core.engines.truncated import bound_rest, choose_kept
from verified_dp.core.kernel.balls import BOUND_BITS, ball, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law, has_rational_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Values
from verified_dp.search.deadline import check_time

_SPARE = 48
"""Bits beyond those asked, where few cancel."""


@dataclass(frozen=True)
class Cells:
    """`Values` from low to high, of `count` steps with largest loss mu.

    values: which answer elsewhere. series: by place, d_n, ..., d_0 of G. order: n. kept: the most continuous steps in
    G. error: of G. prec: bits. made: by place, the polynomial G and what more continuous steps add to delta at most.
    """

    values: ClosedFormValues
    low: Fraction
    high: Fraction
    series: dict[int, arb_poly]
    order: int
    kept: int
    error: arb
    prec: int
    made: dict[int, tuple[arb_poly, arb]]

    @proved_by("T169-cells", "T33-sum-and-errors")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps)."""
        if not self.low <= epsilon <= self.high:
            return self.values.delta(epsilon)
        (law, count), = self.values.loss.parts
        mu = _largest_loss(law)
        index = math.ceil((epsilon / mu + count) / 2)
        place = (2 * index - count) * mu
        with ctx.workprec(self.prec):
            at, (polynomial, rest) = ball(epsilon), self._cell(index, ball(place - 2 * mu))
            total = polynomial(ball(place - epsilon)) + plus_minus(self.error)
            return bounds_from_sum((at / 2).exp() * total + arb(0).union(rest), {}, {})

    @proved_by("T169-cells", "T59-truncated-pieces")
    def _cell(self, index: int, left: arb) -> tuple[arb_poly, arb]:
        """What does not depend on eps from the place at the left to the one of this index."""
        if index not in self.made:
            share, coefficients = arb(1), []
            for i in range(self.order + 1):
                share = share / i if i else share
                coefficients.append(self.series[index][self.order - i] * share)
            (law, count), = self.values.loss.parts
            mu = law.atom_exponent
            rest = bound_rest(mu, count, self.kept, left.max(ball(self.low))) if (
                self.kept < count and mu is not None) else arb(0)
            self.made[index] = arb_poly(coefficients), rest
        return self.made[index]


def has_cells(loss: ComposedLoss) -> bool:
    """Whether all steps are Laplace's or bounded-range ones of one kind."""
    alike = len(loss.parts) == 1 and not loss.mean_shift_squared and not is_single(loss)
    return alike and loss.parts[0][0].enclose_spline() is not None


def share_powers(values: ClosedFormValues, low: Fraction, high: Fraction, bits: float) -> Values:
    """The same by cells from low to high, with as many bits as these take; the values where they stay too wide."""
    (law, count), = values.loss.parts
    high = min(high, count * _largest_loss(law))
    for spare in (_SPARE, _SPARE + spare_bits(values.loss)) if low < high else ():
        with ctx.workprec(math.ceil(bits) + spare):
            found = _shared(values, low, high)
        sizes = [found.delta(end) for end in (low, high)]
        if all((one.upper - one.lower) * 2.0**min(bits, 1000.0) < one.lower for one in sizes):
            return found
    return values


@proved_by("T169-cells")
def _shared(values: ClosedFormValues, low: Fraction, high: Fraction) -> Cells:
    """Shift and add, from the last place on."""
    (law, count), = values.loss.parts
    exact = _largest_loss(law)
    first, last = (min(math.ceil((end / exact + count) / 2), count) for end in (low, high))
    mu, kept, atom, density = ball(exact), count, arb(0), 1 / (4 * (ball(exact) / 2).sinh())
    if law.atom_exponent is not None:
        kept = min(count, max(choose_kept(law.atom_exponent, count, ball(end))[0] for end in (low, high)))
        atom, density = (-mu / 2).exp() / 2, (-mu / 2).exp() / 4
    columns = [arb_poly([column[j] for j in range(first, count + 1)])
               for column in enclose_columns(atom, density, count, kept)]
    reaches = [upper_end(ball((2 * j - count) * exact - low)) for j in range(first, count + 1)]
    rows, error = _enclose_rows(columns, reaches)
    shift, total, series = _exponential(2 * mu, len(rows[0])), arb_poly(), dict[int, arb_poly]()
    for j in range(count, first - 1, -1):
        check_time()
        total = (total * shift).truncate(len(rows[0])) + arb_poly(rows[j - first])
        if j <= last:
            series[j] = total
    return Cells(values, low, high, series, len(rows[0]) - 1, kept, error, ctx.prec, {})


def _largest_loss(law: Law) -> Fraction:
    if not has_rational_end(law):
        raise TypeError(type(law).__name__)
    return law.largest_loss()


@proved_by("T169-cells")
def _enclose_rows(columns: Sequence[arb_poly], reaches: Sequence[arb]) -> tuple[list[list[arb]], arb]:
    """d_n, ..., d_0 of each place, and a bound of what higher orders add, T up to its reach, at all places.

    columns[m][j] = w_{j,m}. Orders i beyond the last column's, m, halve from one to the next; beyond n they add at most
    2 (|c_m(1/2)| + |c_m(-1/2)|) T^m/n! (T/2)^{n-m} where T <= n + 2.
    """
    half, up, down, table, most = arb(1) / 2, arb_poly(), arb_poly(), list[list[arb]](), len(columns) - 1
    order, share, small = most, arb(1), arb(2) ** -ctx.prec
    while not (reaches[-1] <= order + 2 and share < small):
        order += 1
        share = upper_end(share * reaches[-1] / (2 * order))
    for i in range(order + 1):
        column = columns[i] if i <= most else arb_poly()
        up, down = half * up + column, column - half * down
        if i == most:
            ends = [upper_end(abs(up[j]) + abs(down[j])) for j in range(len(reaches))]
        gaps = up - down
        table.append([gaps[j] for j in range(len(reaches))])
    with ctx.workprec(BOUND_BITS):
        beyond = [end * reach**most for end, reach in zip(ends, reaches, strict=True)]
        error = upper_end(2 * share * sum(beyond, arb(0)) / fmpz.fac_ui(fmpz(most)))
    return [list(row) for row in zip(*reversed(table), strict=True)], error


def _exponential(gap: arb, length: int) -> arb_poly:
    """The first terms of e^{gap y}."""
    terms = [arb(1)]
    for i in range(1, length):
        terms.append(terms[-1] * gap / i)
    return arb_poly(terms)
