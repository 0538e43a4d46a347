"""Products of powers of transforms, and how an error of each transform moves the product (T12)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from flint import acb, acb_mat, arb, ctx

from verified_dp.core.engines.shared import all_powers, enclose_power, split
from verified_dp.core.kernel.balls import BOUND_BITS, upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing, paced, words

Factor = TypeVar("Factor", acb, arb)
_PART = 64
"""After so many powers a run may be given up."""


@dataclass(frozen=True)
class Column:
    """One law's transform at several points: balls for the node sums, their two error bounds, and the law's count."""

    values: Sequence[acb]
    quadrature: arb
    node_tail: arb
    count: int


@dataclass(frozen=True)
class Products:
    """values: prod value_i^{k_i} e^exponent at some points. sizes, reaches: bounds of their moduli, and rho_i of each
    column, with the transforms' errors.
    """

    values: Sequence[acb]
    sizes: Sequence[arb]
    reaches: Sequence[tuple[Column, Sequence[arb]]]

    @proved_by("T12-powers")
    def bound_errors(self, weights: Sequence[arb]) -> tuple[arb, arb]:
        """Bound what the transforms' errors e_i add to the sum of weight * product, by source.

        |prod (M_i + d_i)^{k_i} - prod M_i^{k_i}| <= sum_i k_i e_i / (|M_i| + e_i) * prod_j (|M_j| + e_j)^{k_j}.
        """
        with ctx.workprec(BOUND_BITS):
            quadrature = node_tail = arb(0)
            for column, shares in self._shares(weights):
                share = sum(shares, arb(0))
                quadrature, node_tail = quadrature + column.quadrature * share, node_tail + column.node_tail * share
            return upper_end(quadrature), upper_end(node_tail)

    @proved_by("T12-powers")
    def _shares(self, weights: Sequence[arb]) -> list[tuple[Column, list[arb]]]:
        """Of each column: what an error 1 adds at each point."""
        scaled = [size * weight for size, weight in zip(self.sizes, weights, strict=True)]
        return [(column, [column.count * x / y for x, y in zip(scaled, reach, strict=True)])
                for column, reach in self.reaches]


@proved_by("T12-powers")
def enclose_products(columns: Sequence[Column], exponents: Sequence[acb] = (),
                     between: Callable[[], None] = nothing) -> Products:
    """Enclose prod value_i^{k_i} e^exponent at each point, no exponents where all are 0."""
    products, reaches = [exponent.exp() for exponent in exponents], list[tuple[Column, Sequence[arb]]]()
    with ctx.workprec(BOUND_BITS):
        sizes = [exponent.real.exp() for exponent in exponents]
    for count, equal in _by_count(columns).items():
        values = _multiplied([column.values for column in equal])
        factors = [enclose_power(value, count) for i in paced(range(0, len(values), _PART), between)
                   for value in values[i:i + _PART]]
        products = [x * y for x, y in zip(products, factors, strict=True)] if products else factors
        with ctx.workprec(BOUND_BITS):
            rows = [[value.abs_upper() + error for value in column.values]
                    for column in equal for error in [column.quadrature + column.node_tail]]
            powers = [reach**count for reach in _multiplied(rows)]
            sizes = [x * y for x, y in zip(sizes, powers, strict=True)] if sizes else powers
        reaches += zip(equal, rows, strict=True)
    return Products(products, sizes, reaches)


def _by_count(columns: Sequence[Column]) -> dict[int, list[Column]]:
    """Those of one count are multiplied before they are raised to a power."""
    found: dict[int, list[Column]] = {}
    for column in columns:
        found.setdefault(column.count, []).append(column)
    return found


@proved_by("T12-powers")
def _multiplied(rows: Sequence[Sequence[Factor]]) -> Sequence[Factor]:
    """Enclose the products of the rows' entries, row by row in pairs, so that boxes hardly wrap."""
    while len(rows) > 1:
        odd = rows[len(rows) & ~1:]
        rows = [[x * y for x, y in zip(*pair, strict=True)] for pair in zip(rows[::2], rows[1::2], strict=False)]
        rows += odd
    return rows[0]


def turn_sums(rows: Sequence[Sequence[acb]], turns: Sequence[acb], count: int,
              between: Callable[[], None] = nothing) -> list[list[acb]]:
    """Enclose sum_j row_j turn_j^m for m = 0..count, for each row of weights, by baby and giant steps: one product.

    between: called now and then during a long one, which is made in parts.
    """
    babies = split(count, len(rows))
    giants = -(-(count + 1) // babies)
    baby = all_powers(turns, babies)
    leaps = all_powers([x * y for x, y in zip(baby[-1], turns, strict=True)], giants // 2 + 1)
    giant = [leapt for row in rows for leapt in _leap(row, leaps, giants)]
    work, right = len(turns) * babies * words(ctx.prec), acb_mat(baby).transpose()
    pause, part = (between, 1 + _LONG // (4 * work)) if work * len(giant) >= _LONG else (nothing, len(giant))
    found = [row for i in paced(range(0, len(giant), part), pause)
             for row in (acb_mat(giant[i:i + part]) * right).tolist()]
    return [[value for part in found[i * giants:(i + 1) * giants] for value in part][: count + 1]
            for i in range(len(rows))]


def _leap(row: Sequence[acb], leaps: Sequence[Sequence[acb]], count: int) -> list[Sequence[acb]]:
    """Enclose the products of a row and the leaps to the powers 0, ..., count - 1, as `all_powers`."""
    found = [row]
    for r in range(1, count):
        found.append([x * y for x, y in zip(found[r // 2], leaps[r - r // 2], strict=True)])
    return found


_LONG = 2 * 10**6
"""Units of work of a product, about .2 seconds, from which on it is made in parts of a quarter of that."""
