"""T12: telescoping of a product of powers, and the count of its terms."""

import sympy as sp
from identities import Claims, check

THEOREMS = ("T12-powers",)


def telescoped(first: list[sp.Expr], second: list[sp.Expr]) -> sp.Expr:
    """sum over n of x_1 ... x_{n-1} (x_n - y_n) y_{n+1} ... y_N."""
    terms = (
        sp.prod(first[:n]) * (first[n] - second[n]) * sp.prod(second[n + 1 :]) for n in range(len(first))
    )
    return sum(terms, sp.Integer(0))


def claims() -> Claims:
    a, b, d, e = sp.symbols("a b d e")
    rho, sigma, small, tiny = sp.symbols("rho sigma epsilon_1 epsilon_2", positive=True)
    for k, n in ((1, 1), (2, 1), (3, 2), (4, 3)):
        first, second = [a] * k + [b] * n, [d] * k + [e] * n
        yield f"telescoping, powers {k}, {n}", sp.expand(telescoped(first, second)), sp.expand(
            a**k * b**n - d**k * e**n)
        sizes = [rho] * k + [sigma] * n
        errors = [small] * k + [tiny] * n
        bound = sum(errors[i] * sp.prod(sizes[:i] + sizes[i + 1 :]) for i in range(k + n))
        total = rho**k * sigma**n * (k * small / rho + n * tiny / sigma)
        yield f"T12 (1), powers {k}, {n}", sp.expand(bound), sp.expand(total)


if __name__ == "__main__":
    print(check(claims()), "identities")
