"""Derive with sympy every polynomial that the expansions and the saddle-point accountant evaluate.

`python -m verified_dp.papers.symbolic.derive` rewrites `tables.py` and the engine's `expansion_tables.py`. sympy is
imported when something is derived, never before.

    cumulants        K^(n) = n! [x^n] log(1 + sum_i m_i x^i / i!),  m_i = M^(i) / M
    terms            T_n = [y^n] exp(sum_{r>=3} kappa_r u^r y^{r-2} / r!)                (Edgeworth's expansion)
    corrections      c_n = [y^{2n}] E exp(sum_{j>=3} F_j (iu)^j y^{j-2} / j!),  u ~ N(0, 1/F_2)
    log_cosh         d^n/dx^n log cosh x as a polynomial in tanh x                       (randomised response)
    hyperbolic       d^n/dw^n of cosh(w mu) + sinh(w mu)/(2w) and of sinh(w mu)/w        (Laplace, bounded range)

y counts powers of k^{-1/2} when all F_j grow like k: c_n is the part of order k^-n of the series in complete Bell
polynomials sum_m (-1)^m B_2m(0, 0, F_3, ..., F_2m) / (2^m m! F_2^m), equation (59) of the paper on the accountant.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from pathlib import Path
from typing import Any

from verified_dp.core.engines.expansion_cells import Term

Polynomial = tuple[Term, ...]
HermiteTerm = tuple[int, int, int, tuple[tuple[int, int], ...]]
"""(numerator, denominator, m, ((r, power), ...)): the coefficient of u^m, or of He_m, times the powers of kappa_r."""
STORED_CUMULANTS, STORED_TERMS, STORED_CORRECTIONS, STORED_DERIVATIVES = 10, 6, 4, 10
"""Highest orders in the tables."""

TANH, MU, INVERSE = 0, 1, 2
"""Variables of log_cosh (tanh x) and hyperbolic (mu, 1/w)."""


def derive_cumulant(n: int) -> Polynomial:
    """K^(n) as a polynomial in m_1, ..., m_n: variable i is m_i.

    >>> derive_cumulant(2)
    ((-1, 1, ((1, 2),)), (1, 1, ((2, 1),)))
    """
    from sympy import QQ, ring
    from sympy.polys.ring_series import rs_log

    names = [f"m{i}" for i in range(1, n + 1)]
    over, x, *moments = ring(["x", *names], QQ)
    series = over(1) + sum(moment * x**i / factorial(i) for i, moment in enumerate(moments, 1))
    logarithm = rs_log(series, x, n + 1)
    return _collect(logarithm, n, factorial(n), {position: position for position in range(1, n + 1)})


def derive_terms(order: int) -> tuple[HermiteTerm, ...]:
    """T_order: variable r is kappa_r.

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


def derive_correction(n: int) -> Polynomial:
    """c_n, the part of order k^-n of (59): variable j is F_j, variable 2 is 1/F_2.

    >>> derive_correction(1)
    ((-5, 24, ((2, 3), (3, 2))), (1, 8, ((2, 2), (4, 1))))
    """
    from sympy import QQ, ring
    from sympy.polys.ring_series import rs_exp

    last = 2 * n + 2
    _, y, u, *f = ring(["y", "u", *(f"F{j}" for j in range(3, last + 1))], QQ)
    exponent = sum(variable * u**j * y ** (j - 2) / factorial(j) for j, variable in enumerate(f, 3))
    found = []
    for monomial, coefficient in rs_exp(exponent, y, 2 * n + 1).terms():
        if monomial[0] == 2 * n:  # u stands for iu: (iu)^2m has mean (-1)^m (2m-1)!! / F_2^m
            m = monomial[1] // 2
            factor = (-1) ** m * factorial(2 * m) // (2**m * factorial(m))
            powers = [(2, m)] + [(j, e) for j, e in enumerate(monomial[2:], 3) if e]
            found.append(_reduced(int(coefficient.numerator) * factor, int(coefficient.denominator), tuple(powers)))
    return tuple(found)


def derive_log_cosh(n: int) -> Polynomial:
    """The n-th derivative of log cosh, n >= 1, as a polynomial in T = tanh: T, then P -> P'(T) (1 - T^2)."""
    from sympy import QQ, ring

    _, tanh = ring("T", QQ)
    derivative = tanh
    for _ in range(n - 1):
        derivative = derivative.diff(tanh) * (1 - tanh**2)
    return tuple(_reduced(int(c.numerator), int(c.denominator), ((TANH, e),)) for (e,), c in derivative.terms())


def derive_hyperbolic(n: int, start: tuple[int, str]) -> tuple[Polynomial, Polynomial]:
    """(A, B): A cosh(w mu) + B sinh(w mu) is the n-th derivative in w of start[0] cosh(w mu) + start[1] sinh(w mu).

    start[1]: "1/(2w)" (Laplace noise, with start[0] = 1) or "1/w" (bounded range, with 0).
    """
    from sympy import QQ, ring

    over, mu, inverse = ring("mu r", QQ)
    even, odd = over(start[0]), inverse / (2 if start[1] == "1/(2w)" else 1)
    for _ in range(n):
        even, odd = (-(inverse**2) * even.diff(inverse) + mu * odd, -(inverse**2) * odd.diff(inverse) + mu * even)
    return _two(even), _two(odd)


def _two(polynomial: Any) -> Polynomial:
    """A polynomial in (mu, 1/w)."""
    return tuple(
        _reduced(int(c.numerator), int(c.denominator), tuple((v, e) for v, e in zip((MU, INVERSE), powers, strict=True)
                                                             if e))
        for powers, c in polynomial.terms())


def _collect(series: Any, degree: int, scale: int, variables: dict[int, int]) -> Polynomial:
    """scale times the coefficient of x^degree, x the ring's first variable."""
    found = []
    for monomial, coefficient in series.terms():
        if monomial[0] == degree:
            powers = tuple((variables[i], e) for i, e in enumerate(monomial) if i and e)
            found.append(_reduced(int(coefficient.numerator) * scale, int(coefficient.denominator), powers))
    return tuple(found)


def _reduced(numerator: int, denominator: int, powers: tuple[tuple[int, int], ...]) -> Term:
    from fractions import Fraction

    value = Fraction(numerator, denominator)
    return value.numerator, value.denominator, powers


@lru_cache(maxsize=1)
def derive_tables() -> dict[Path, dict[str, Any]]:
    """Everything that is stored, by its file and by its name there."""
    orders, here = range(STORED_DERIVATIVES + 1), Path(__file__)
    return {
        here.parents[2] / "core" / "engines" / "expansion_tables.py": {
            "CUMULANTS": {n: derive_cumulant(n) for n in range(1, STORED_CUMULANTS + 1)},
            "TERMS": {n: derive_terms(n) for n in range(1, STORED_TERMS + 1)},
        },
        here.with_name("tables.py"): {
            "CORRECTIONS": {n: derive_correction(n) for n in range(1, STORED_CORRECTIONS + 1)},
            "LOG_COSH": {n: derive_log_cosh(n) for n in range(1, STORED_DERIVATIVES + 1)},
            "LAPLACE": {n: derive_hyperbolic(n, (1, "1/(2w)")) for n in orders},
            "BOUNDED_RANGE": {n: derive_hyperbolic(n, (0, "1/w")) for n in orders},
        },
    }


def table_source(tables: dict[str, Any]) -> str:
    """The text of a file of tables."""
    title = '"""Generated: `python -m verified_dp.papers.symbolic.derive` writes this; a test says when it is stale."""'
    lines, powers = [title, "", "# ruff: noqa: E501"], "tuple[tuple[int, int], ...]"
    for name, table in tables.items():
        kind = f"tuple[tuple[int, int, {'int, ' if name == 'TERMS' else ''}{powers}], ...]"
        kind = f"tuple[{kind}, {kind}]" if name in ("LAPLACE", "BOUNDED_RANGE") else kind
        lines += ["", f"{name}: dict[int, {kind}] = {{", *(f"    {n}: {entry!r}," for n, entry in table.items()), "}"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    for path, tables in derive_tables().items():
        path.write_text(table_source(tables), encoding="utf-8")
