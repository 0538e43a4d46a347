"""Polynomials with rational coefficients in numbered variables, evaluated on balls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flint import arb, fmpq

Term = tuple[int, int, tuple[tuple[int, int], ...]]
"""(numerator, denominator, ((variable, exponent), ...)): the coefficient and the powers; exponents may be negative."""

Polynomial = tuple[Term, ...]


def evaluate(polynomial: Sequence[Term], values: Mapping[int, arb]) -> arb:
    """Enclose the polynomial at balls, one per variable.

    >>> from flint import arb
    >>> evaluate(((1, 2, ((1, 2),)), (-3, 1, ((2, 1),))), {1: arb(4), 2: arb(1)})
    5.00000000000000
    """
    total = arb(0)
    for numerator, denominator, powers in polynomial:
        term = arb(fmpq(numerator, denominator))
        for variable, exponent in powers:
            term *= _power(values[variable], exponent)
        total += term
    return total


def _power(base: arb, exponent: int) -> arb:
    """base^exponent by products: `arb ** int` is nan on a ball around 0."""
    if exponent < 0:
        return 1 / _power(base, -exponent)
    result = arb(1)
    for _ in range(exponent):
        result *= base
    return result
