"""T17, T187: integrals of Chebyshev polynomials, the constant 64/15, the Bernstein ellipse."""

import sympy as sp
from identities import Claims, check

THEOREMS = ("T17-gauss-legendre", "T187-rays")


def claims() -> Claims:
    x, phi = sp.symbols("x phi", real=True)
    for m in range(2, 13, 2):
        integral = sp.integrate(sp.chebyshevt(m, x), (x, -1, 1))
        yield f"integral of T_{m}", integral, sp.Rational(-2, m**2 - 1)
    for m in range(1, 8, 2):
        yield f"integral of T_{m}", sp.integrate(sp.chebyshevt(m, x), (x, -1, 1)), sp.Integer(0)
    yield "largest difference from m = 4 on", 2 + sp.Rational(2, 4**2 - 1), sp.Rational(32, 15)
    rho, n = sp.symbols("rho n", positive=True)
    tail = 2 * sp.Rational(32, 15) * rho ** (-2 * n) / (1 - rho**-2)
    first = sp.Rational(64, 15) * rho ** (-2 * n)
    yield "the tail is its first term and the next tail", tail, first + tail.subs(n, n + 1)
    yield "n = 1 would have 16/3", 2 * (2 + sp.Rational(2, 2**2 - 1)), sp.Rational(16, 3)
    for nodes in (2, 3):
        yield f"{nodes} nodes: exact up to 2n-1, weights sum to 2", *exactness(nodes)

    v = rho * sp.exp(sp.I * phi)
    point = sp.expand(((v + 1 / v) / 2).rewrite(sp.cos))
    yield "ellipse, real part", sp.re(point), (rho + 1 / rho) / 2 * sp.cos(phi)
    yield "ellipse, imaginary part", sp.im(point), (rho - 1 / rho) / 2 * sp.sin(phi)
    r, panels, excess = sp.symbols("r N e", positive=True)
    reach = r + excess
    yield "first panel reaches -e", (2 * 1 - 1) * r - reach, -excess
    yield "last panel reaches 2Nr + e", (2 * panels - 1) * r + reach, 2 * panels * r + excess


def exactness(n: int) -> tuple[sp.Expr, sp.Expr]:
    """Sum over j < 2n of (j+1) times the rule applied to x^j, and the same with integrals."""
    x = sp.symbols("x")
    nodes = sp.roots(sp.legendre(n, x), x)
    slope = sp.diff(sp.legendre(n, x), x)
    rule = sum(
        2 / ((1 - node**2) * slope.subs(x, node) ** 2) * (j + 1) * node**j
        for node in nodes
        for j in range(2 * n)
    )
    exact = sum((j + 1) * sp.integrate(x**j, (x, -1, 1)) for j in range(2 * n))
    return sp.nsimplify(sp.simplify(rule)), exact


if __name__ == "__main__":
    print(check(claims()), "identities")
