"""Edgeworth's expansion of a standardised sum, as Hermite polynomials with coefficients in its cumulants.

With l_r = kappa_r / B^r the standardised cumulants of the sum (those of independent steps add up),

    density  phi(z) (1 + T_1(z) + T_2(z) + ...),   T_n = [y^n] exp(sum_{r>=3} l_r u^r y^{r-2} / r!) with He_m for u^m.

`python -m verified_dp.papers.symbolic.hermite` prints what is stored here; a test derives it again with
sympy, which is not imported otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

from flint import arb, fmpq

HermiteTerm = tuple[int, int, int, tuple[tuple[int, int], ...]]
"""(numerator, denominator, m, ((r, power), ...)): the coefficient of He_m times the powers of l_r."""

TERMS: dict[int, tuple[HermiteTerm, ...]] = {
    1: ((1, 6, 3, ((3, 1),)),),
    2: ((1, 24, 4, ((4, 1),)), (1, 72, 6, ((3, 2),))),
    3: ((1, 120, 5, ((5, 1),)), (1, 144, 7, ((3, 1), (4, 1))), (1, 1296, 9, ((3, 3),))),
    4: ((1, 720, 6, ((6, 1),)), (1, 720, 8, ((3, 1), (5, 1))), (1, 1152, 8, ((4, 2),)),
        (1, 1728, 10, ((3, 2), (4, 1))), (1, 31104, 12, ((3, 4),))),
        5: ((1, 5040, 7, ((7, 1),)), (1, 4320, 9, ((3, 1), (6, 1))), (1, 2880, 9, ((4, 1), (5, 1))), (1, 6912, 11,
        ((3, 1), (4, 2))), (1, 8640, 11, ((3, 2), (5, 1))), (1, 31104, 13, ((3, 3), (4, 1))), (1, 933120, 15, ((3,
        5),))),
        6: ((1, 40320, 8, ((8, 1),)), (1, 30240, 10, ((3, 1), (7, 1))), (1, 17280, 10, ((4, 1), (6, 1))), (1, 28800,
        10, ((5, 2),)), (1, 17280, 12, ((3, 1), (4, 1), (5, 1))), (1, 51840, 12, ((3, 2), (6, 1))), (1, 82944, 12,
        ((4, 3),)), (1, 82944, 14, ((3, 2), (4, 2))), (1, 155520, 14, ((3, 3), (5, 1))), (1, 746496, 16, ((3, 4), (4,
        1))), (1, 33592320, 18, ((3, 6),))),
}
HIGHEST_ORDER = 4
"""Of the Edgeworth accountant; order 2n of the steepest-descent series is the paper's n."""


def derive_terms(order: int) -> tuple[HermiteTerm, ...]:
    """T_order by sympy.

    >>> derive_terms(2)
    ((1, 24, 4, ((4, 1),)), (1, 72, 6, ((3, 2),)))
    """
    from sympy import QQ, ring
    from sympy.polys.ring_series import rs_exp

    cumulants = range(3, order + 3)
    over, y, u, *variables = ring(["y", "u", *(f"l{r}" for r in cumulants)], QQ)
    exponent = sum((x * u**r * y ** (r - 2) / factorial(r) for r, x in zip(cumulants, variables, strict=True)), over(0))
    found = []
    for (degree, m, *powers), coefficient in rs_exp(exponent, y, order + 1).terms():
        if degree == order:
            used = tuple((r, power) for r, power in zip(cumulants, powers, strict=True) if power)
            found.append((int(coefficient.numerator), int(coefficient.denominator), m, used))
    return tuple(sorted(found, key=lambda term: (term[2], term[3])))


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
    """Enclose the factor of each He_m in 1 + T_1 + ... + T_order; cumulants[r] = l_r, the first three are not read."""
    factors = {0: arb(1)}
    for n in range(1, order + 1):
        for numerator, denominator, m, powers in TERMS[n]:
            value = arb(fmpq(numerator, denominator))
            for r, power in powers:
                for _ in range(power):
                    value *= cumulants[r]
            factors[m] = factors.get(m, arb(0)) + value
    return factors


if __name__ == "__main__":
    for n in TERMS:
        print(f"    {n}: {derive_terms(n)!r},")
