"""What engines and laws share: results that are kept, quadrature, powers, masses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

from flint import acb, acb_mat, arb, ctx

from verified_dp.core.kernel.balls import disc, lower_end, upper_end
from verified_dp.core.kernel.theorems import proved_by

FEW = 16
"""Powers up to this one are products: four squarings at most, and boxes wrap little."""

_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")


def kept(size: int) -> Callable[[Callable[[*_Arguments], _Result]], Callable[[*_Arguments], _Result]]:
    """Keep the last results of a function of hashable arguments, at each precision for itself."""

    def decorate(function: Callable[[*_Arguments], _Result]) -> Callable[[*_Arguments], _Result]:
        @lru_cache(maxsize=size)
        def at(prec: int, *arguments: *_Arguments) -> _Result:
            return function(*arguments)

        @wraps(function)
        def call(*arguments: *_Arguments) -> _Result:
            return at(ctx.prec, *arguments)

        vars(call)["cache_clear"] = at.cache_clear
        return call

    return decorate


@kept(256)
def gauss_rule(points: int) -> list[tuple[arb, arb]]:
    """Enclose the nodes and weights of Gauss-Legendre quadrature on [-1, 1], from the largest node to the smallest."""
    half = [arb.legendre_p_root(points, i, True) for i in range((points + 1) // 2)]
    return half + [(-node, weight) for node, weight in half[: points // 2][::-1]]


def floor_of(x: arb) -> int:
    """The largest integer at most the ball's lower end, whatever the working precision is."""
    mantissa, exponent = lower_end(x).man_exp()
    return int(mantissa) >> -int(exponent) if exponent < 0 else int(mantissa) << int(exponent)


def all_powers(bases: Sequence[acb], count: int) -> list[list[acb]]:
    """Enclose all bases^0, ..., bases^(count-1), with about log2(count) roundings each, so that boxes hardly wrap."""
    table = [[acb(1)] * len(bases), list(bases)][:count]
    for n in range(2, count):
        table.append([x * y for x, y in zip(table[n // 2], table[n - n // 2], strict=True)])
    return table


def powers(base: acb, count: int) -> list[acb]:
    """Enclose base^0, ..., base^(count-1), as `all_powers`."""
    table = [acb(1), base][:count]
    for n in range(2, count):
        table.append(table[n // 2] * table[n - n // 2])
    return table


def least_upper(bounds: list[arb]) -> arb:
    """Bound from above what each of the balls bounds from above, by the least of their upper ends."""
    bound = arb.pos_inf()
    for value in bounds:
        bound = bound.min(upper_end(value))
    return bound


def binomial_mass(n: int, k: int, p: arb, q: arb) -> arb:
    """Enclose comb(n, k) p^k q^(n-k), p and q positive."""
    ways = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    return (ways + k * p.log() + (n - k) * q.log()).exp()


@proved_by("T12-powers")
def enclose_power(x: acb, count: int) -> acb:
    """Enclose x^count: few factors multiplied; else exp(count log x), the branch cut turned away, or a disc about 0."""
    if count <= FEW:
        return x**count
    if x.rel_accuracy_bits() <= count.bit_length() + 1 or x.is_zero():
        return disc(x.abs_upper() ** count)
    if x.real < 0:
        power = ((-x).log() * count).exp()
        return -power if count % 2 else power
    return (x.log() * count).exp()


def cut(terms: Sequence[acb]) -> acb_mat:
    """The terms in rows of about as many as there are rows, filled up with zeros: what `turned_sum` takes."""
    babies = split(len(terms) - 1, 1)
    giants = -(-len(terms) // babies)
    return acb_mat(giants, babies, [*terms, *[acb(0)] * (giants * babies - len(terms))])


def turned_sum(rows: acb_mat, turn: acb) -> acb:
    """Enclose sum_m term_m turn^m, |turn| = 1, where `rows` are the cut terms, by baby and giant steps."""
    babies = powers(turn, rows.ncols())
    giants = powers(babies[-1] * turn, rows.nrows())
    return (acb_mat([giants]) * (rows * acb_mat([[baby] for baby in babies])))[0, 0]


def split(count: int, rows: int) -> int:
    """About sqrt((count + 1) rows), at least 2, at most count + 1."""
    babies = 2
    while babies * babies < (count + 1) * rows and babies < count + 1:
        babies += 1
    return babies
