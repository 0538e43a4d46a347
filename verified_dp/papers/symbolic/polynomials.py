"""Polynomials with rational coefficients in numbered variables, evaluated on balls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from flint import acb, arb, fmpq

Term = tuple[int, int, tuple[tuple[int, int], ...]]
"""(numerator, denominator, ((variable, exponent), ...)): the coefficient and the powers; exponents may be negative."""

Polynomial = tuple[Term, ...]

Number = TypeVar("Number", arb, acb)


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
