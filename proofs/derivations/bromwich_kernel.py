"""T01: the kernel 1/(z(z+1)), its two one-sided integrals, and the lower bound of |z(z+1)|."""

import sympy as sp
from identities import Claims, check

THEOREMS = ("T01-inversion", "T05-frequency-truncation")


def claims() -> Claims:
    z, x, c, w = sp.symbols("z x c w", positive=True)
    v = sp.symbols("v", real=True)
    yield "partial fractions", sp.apart(1 / (z * (z + 1)), z), 1 / z - 1 / (z + 1)
    right = sp.integrate(sp.exp(-z * x) * (1 - sp.exp(-x)), (x, 0, sp.oo))
    yield "Laplace transform of (1 - e^-x)_+", right, 1 / (z * (z + 1))
    left = sp.integrate(sp.exp(z * v) * (1 - sp.exp(v)), (v, -sp.oo, 0))
    yield "transform of (1 - e^v)_+, T01 (3)", left, 1 / (z * (z + 1))
    squared = sp.expand(sp.Abs(c + sp.I * w) ** 2 * sp.Abs(c + 1 + sp.I * w) ** 2)
    surplus = w**2 * (c**2 + (c + 1) ** 2)
    yield "|z(z+1)|^2 = w^4 + c^2 (c+1)^2 + non-negative", squared, w**4 + c**2 * (c + 1) ** 2 + surplus
    s, eps = sp.symbols("s eps", real=True)
    one_atom = sp.integrate(sp.exp(z * v) * (1 - sp.exp(eps + v - s)), (v, -sp.oo, s - eps))
    yield "one atom: int e^{zy} D(eps+y) dy = G", one_atom, sp.exp(z * (s - eps)) / (z * (z + 1))


if __name__ == "__main__":
    print(check(claims()), "identities")
