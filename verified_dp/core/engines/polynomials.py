"""Polynomials that sympy derived, evaluated on balls: cumulants from moments, and what a normal density is times.

With kappa_r the cumulants of a sum, the part of order y^n of exp(sum_{r>=3} kappa_r u^r y^{r-2} / r!) is T_n: with u^m
times the normal transform an expansion of the sum's transform, with He_m(z) for u^m one of its density. The tables are
`expansion_tables.py`, which `python -m verified_dp.papers.symbolic.derive` writes; a test derives them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from flint import acb, arb, fmpq

from verified_dp.core.engines.expansion_tables import CUMULANTS, TERMS

Number = TypeVar("Number", arb, acb)
Term = tuple[int, int, tuple[tuple[int, int], ...]]
"""(numerator, denominator, ((variable, exponent), ...)): the coefficient and the powers; exponents may be negative."""


def evaluate(polynomial: Sequence[Term], values: Mapping[int, Number]) -> Number:
    """Enclose the polynomial at balls, one per variable.

    >>> from flint import arb
    >>> evaluate(((1, 2, ((1, 2),)), (-3, 1, ((2, 1),))), {1: arb(4), 2: arb(1)})
    5.00000000000000
    """
    total: Any = arb(0)
    for numerator, denominator, powers in polynomial:
        term: Any = arb(fmpq(numerator, denominator))
        for variable, exponent in powers:
            term *= _power(values[variable], exponent)
        total += term
    found: Number = total
    return found


def _power(base: Any, exponent: int) -> Any:
    """base^exponent by products: `arb ** int` is nan on a ball around 0."""
    if exponent < 0:
        return 1 / _power(base, -exponent)
    result: Any = arb(1)
    for _ in range(exponent):
        result *= base
    return result


def enclose_cumulants(moments: Sequence[arb]) -> list[arb]:
    """Enclose [K', K'', ...] from the moments [m_1, m_2, ...] = [M'/M, M''/M, ...], about any centre.

    About a centre c instead of 0 the first cumulant is K' - c and the others are the same.
    """
    values = dict(enumerate(moments, 1))
    return [evaluate(CUMULANTS[n], values) for n in values]


def hermite_polynomials(z: arb, highest: int) -> list[arb]:
    """Enclose He_0(z), ..., He_highest(z): He_{m+1} = z He_m - m He_{m-1}.

    >>> [int(value.unique_fmpz()) for value in hermite_polynomials(arb(2), 4)]
    [1, 2, 3, 2, -5]
    """
    values = [arb(1), z]
    for m in range(1, highest):
        values.append(z * values[m] - m * values[m - 1])
    return values[:highest + 1]


def hermite_coefficients(cumulants: Sequence[arb], order: int) -> dict[int, arb]:
    """Enclose the factor of each u^m in 1 + T_1 + ... + T_order; cumulants[r] = kappa_r, the first three not read."""
    factors = {0: arb(1)}
    for n in range(1, order + 1):
        for numerator, denominator, m, powers in TERMS[n]:
            term = (numerator, denominator, powers)
            factors[m] = factors.get(m, arb(0)) + evaluate([term], dict(enumerate(cumulants)))
    return factors
