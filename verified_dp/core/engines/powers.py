"""Products of powers of transforms, and how an error of each transform moves the product (T12)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from flint import acb, acb_mat, arb, ctx

from verified_dp.core.balls import BOUND_BITS, all_powers, disc, powers, upper_end
from verified_dp.core.theorems import proved_by
from verified_dp.core.work import nothing, paced, words

Factor = TypeVar("Factor", acb, arb)
FEW = 16
"""Powers up to this one are products: four squarings at most, and boxes wrap little."""


@dataclass(frozen=True)
class Column:
    """One law's transform at several points: balls for the node sums, their two error bounds, and the law's count."""

    values: Sequence[acb]
    quadrature: arb
    node_tail: arb
    count: int


@proved_by("T12-powers")
def enclose_power(x: acb, count: int) -> acb:
    """Enclose x^count: few factors multiplied; else exp(count log x), the branch cut turned away, or a disc about 0."""
    if count <= FEW:
        return x**count
    largest, smallest = x.abs_upper(), x.abs_lower()
    if not count * (largest - smallest) < largest:
        return disc(largest**count)
    if x.real < 0:
        power = ((-x).log() * count).exp()
        return -power if count % 2 else power
    return (x.log() * count).exp()


@proved_by("T12-powers")
def enclose_products(columns: Sequence[Column], exponents: Sequence[acb]) -> list[tuple[acb, arb, arb]]:
    """Enclose prod value_i^{k_i} e^exponent at each point; bound what the transforms' errors e_i can add, by source.

    |prod (M_i + d_i)^{k_i} - prod M_i^{k_i}| <= sum_i k_i e_i / (|M_i| + e_i) * prod_j (|M_j| + e_j)^{k_j}.
    """
    products = [exponent.exp() for exponent in exponents]
    with ctx.workprec(BOUND_BITS):
        sizes = [exponent.real.exp() for exponent in exponents]
        quadratures = tails = [arb(0)] * len(sizes)
    for count, equal in _by_count(columns).items():
        merged = _multiplied([column.values for column in equal])
        products = [x * enclose_power(y, count) for x, y in zip(products, merged, strict=True)]
        with ctx.workprec(BOUND_BITS):
            reaches = [[value.abs_upper() + column.quadrature + column.node_tail for value in column.values]
                       for column in equal]
            sizes = [size * reach**count for size, reach in zip(sizes, _multiplied(reaches), strict=True)]
            for column, reach in zip(equal, reaches, strict=True):
                quadrature, tail = count * column.quadrature, count * column.node_tail
                quadratures = [x + quadrature / y for x, y in zip(quadratures, reach, strict=True)]
                tails = [x + tail / y for x, y in zip(tails, reach, strict=True)]
    with ctx.workprec(BOUND_BITS):
        return [(product, upper_end(quadrature * size), upper_end(tail * size))
                for product, quadrature, tail, size in zip(products, quadratures, tails, sizes, strict=True)]


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
    babies = _split(count, len(rows))
    giants = -(-(count + 1) // babies)
    baby = all_powers(turns, babies)
    leaps = all_powers([x * y for x, y in zip(baby[-1], turns, strict=True)], giants)
    giant = [[weight * leap for weight, leap in zip(row, column, strict=True)] if r else list(row)
             for row in rows for r, column in enumerate(leaps)]
    work, right = len(turns) * babies * words(ctx.prec), acb_mat(baby).transpose()
    pause, part = (between, 1 + _LONG // (8 * work)) if work * len(giant) >= _LONG else (nothing, len(giant))
    found = [row for i in paced(range(0, len(giant), part), pause)
             for row in (acb_mat(giant[i:i + part]) * right).tolist()]
    return [[value for part in found[i * giants:(i + 1) * giants] for value in part][: count + 1]
            for i in range(len(rows))]


_LONG = 2 * 10**7
"""Units of work of a product, about two seconds, from which on it is made in parts of an eighth of that."""


def cut(terms: Sequence[acb]) -> acb_mat:
    """The terms in rows of about as many as there are rows, filled up with zeros: what `turned_sum` takes."""
    babies = _split(len(terms) - 1, 1)
    giants = -(-len(terms) // babies)
    return acb_mat(giants, babies, [*terms, *[acb(0)] * (giants * babies - len(terms))])


def turned_sum(rows: acb_mat, turn: acb) -> acb:
    """Enclose sum_m term_m turn^m, |turn| = 1, where `rows` are the cut terms, by baby and giant steps."""
    babies = powers(turn, rows.ncols())
    giants = powers(babies[-1] * turn, rows.nrows())
    return (acb_mat([giants]) * (rows * acb_mat([[baby] for baby in babies])))[0, 0]


def _split(count: int, rows: int) -> int:
    """About sqrt((count + 1) rows), at least 2, at most count + 1."""
    babies = 2
    while babies * babies < (count + 1) * rows and babies < count + 1:
        babies += 1
    return babies
