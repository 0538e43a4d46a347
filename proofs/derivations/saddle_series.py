"""T97, T98: cumulants, the saddle-point series and CGF derivatives, by other routes than the stored ones."""

import sympy as sp
from identities import Claims, check

from verified_dp.papers.symbolic import derive
from verified_dp.papers.symbolic.derive import Polynomial

THEOREMS = ("T97-saddle-point", "T98-sp-clt", "T99-berry-esseen", "T40-laplace")


def expression(polynomial: Polynomial, name: str) -> sp.Expr:
    """The stored form as an expression in name_1, name_2, ..."""
    return sp.Add(*(sp.Rational(p, q) * sp.Mul(*(sp.Symbol(f"{name}_{i}") ** e for i, e in powers))
                    for p, q, powers in polynomial))


def series_term(m: int) -> sp.Expr:
    """(-1)^m B_2m(0, 0, F_3, ..., F_2m) / (2^m m! F_2^m), the m-th term of (59)."""
    arguments = [sp.S.Zero, sp.S.Zero, *(sp.Symbol(f"F_{j}") for j in range(3, 2 * m + 1))]
    complete = sum(sp.bell(2 * m, j, arguments[: 2 * m - j + 1]) for j in range(1, 2 * m + 1))
    return sp.expand(complete * sp.Rational((-1) ** m, 2**m * sp.factorial(m)) / sp.Symbol("F_2") ** m)


def claims() -> Claims:
    x, z, t, w, mu, a, b = sp.symbols("x z t w mu a b", positive=True)
    moments = sp.Function("M")(z)
    derivatives = {moments.diff(z, i): sp.Symbol(f"m_{i}") * moments for i in range(1, 6)}
    for n in range(1, 6):  # cumulants: differentiate log M itself
        direct = sp.expand(sp.log(moments).diff(z, n).subs(list(derivatives.items())[::-1]))
        yield f"cumulant {n}", direct, sp.expand(expression(derive.derive_cumulant(n), "m"))
    f2, f3, f4, f6 = sp.symbols("F_2 F_3 F_4 F_6")
    yield "(61)", expression(derive.derive_correction(1), "F"), f4 / (8 * f2**2) - 5 * f3**2 / (24 * f2**3)
    regrouped = sp.Integer(0)  # the terms of (59) of order 1/k and 1/k^2 when every F_j is multiplied by k
    k = sp.Symbol("k")
    for m in range(1, 7):
        term = series_term(m)
        scaled = sp.expand(term.subs({s: k * s for s in term.free_symbols}, simultaneous=True))
        regrouped += scaled.coeff(k, -1) + scaled.coeff(k, -2)
    both = expression(derive.derive_correction(1), "F") + expression(derive.derive_correction(2), "F")
    yield "orders 1 and 2 of (59)", sp.expand(regrouped), sp.expand(both)
    third = series_term(3)
    yield "the term m = 3 of (59)", third, -(f6 + 10 * f3**2) / (48 * f2**3)

    for n in range(1, 3):
        tangent = expression(derive.derive_log_cosh(n), "T").subs(sp.Symbol("T_0"), sp.tanh(x))
        yield f"log cosh, derivative {n}", sp.log(sp.cosh(x)).diff(x, n), tangent
    for start, base, last in (((1, "1/(2w)"), sp.cosh(w * mu) + sp.sinh(w * mu) / (2 * w), 2),
                              ((0, "1/w"), sp.sinh(w * mu) / w, 1)):
        for n in range(last + 1):
            even, odd = (expression(p, "v").subs({sp.Symbol("v_1"): mu, sp.Symbol("v_2"): 1 / w})
                         for p in derive.derive_hyperbolic(n, start))
            yield f"{base}, derivative {n}", base.diff(w, n), even * sp.cosh(w * mu) + odd * sp.sinh(w * mu)
    laplace = (sp.exp(z * mu) * (1 + z) + sp.exp(-(1 + z) * mu) * z) / (1 + 2 * z)
    form = sp.exp(-mu / 2) * (sp.cosh(w * mu) + sp.sinh(w * mu) / (2 * w)).subs(w, z + sp.Rational(1, 2))
    yield "Laplace transform, T40 (2)", sp.simplify((laplace - form).rewrite(sp.exp)), sp.Integer(0)

    exponent = -sp.log(t) - sp.log(1 + t)
    for j in range(2, 6):
        closed = (-1) ** j * sp.factorial(j - 1) * (t**-j + (1 + t) ** -j)
        yield f"F^({j}) - K^({j})", exponent.diff(t, j), closed
    peak = sp.log((1 + t) / t)  # where f(x) = e^{-tx} - e^{-(t+1)x} is largest, (42)
    f = sp.exp(-t * x) - sp.exp(-(t + 1) * x)
    yield "the maximum of f", sp.simplify(f.diff(x).subs(x, peak)), sp.Integer(0)
    yield "its value", sp.simplify(f.subs(x, peak)), t**t / (1 + t) ** (1 + t)
    minus_square = (a - b) ** 2 / (4 * b)  # (45) for every b > 0: (y + b)^2/(4b) - y
    yield "quadratic bound", (a + b) ** 2 / (4 * b) - a, minus_square


if __name__ == "__main__":
    print(check(claims()), "identities")
