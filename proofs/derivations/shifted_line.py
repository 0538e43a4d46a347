"""T08: modulus of 1-q+q e^{x+i theta}, the kernel of the trapezoidal rule, the Gaussian on a shifted line."""

import sympy as sp
from identities import Claims, check

THEOREMS = ("T08-shifted-line", "T19-line-integral")


def claims() -> Claims:
    q, x, theta, tau, a = sp.symbols("q x theta tau a", real=True)
    s, h = sp.symbols("s h", positive=True)
    e = sp.exp(x)
    half = theta / 2
    real, imaginary = 1 - q + q * e * sp.cos(theta), q * e * sp.sin(theta)
    split = (1 - q + q * e) ** 2 * sp.cos(half) ** 2 + (1 - q - q * e) ** 2 * sp.sin(half) ** 2
    yield "modulus, T08 (1)", sp.expand_trig(sp.expand(real**2 + imaginary**2)), in_whole_angles(split, theta)
    gap = (1 - q + q * e) ** 2 - (1 - q - q * e) ** 2
    yield "upper bound: the squares differ by a non-negative number", gap, 4 * q * (1 - q) * e

    y = sp.symbols("y")
    unit = sp.exp(sp.I * y)
    cot = sp.I * (unit + 1 / unit) / (unit - 1 / unit)
    yield "cotangent", cot, (sp.cos(y) / sp.sin(y)).rewrite(sp.exp)
    yield "below the line", cot, sp.I * (1 + 2 / (unit**2 - 1))
    yield "above the line", cot, -sp.I * (1 + 2 / (unit**-2 - 1))
    yield "residue of cot(pi t/h)", sp.residue(sp.cot(sp.pi * y / h), y, 0), h / sp.pi
    shift = sp.cos(sp.pi / 2 + y) / sp.sin(sp.pi / 2 + y)
    yield "on the vertical sides cot becomes -tan", shift, -sp.tan(y)

    exponent = sp.re(sp.expand(-((tau + sp.I * a) ** 2)) / (2 * s**2))
    yield "|phi_s(tau+ia)|", exponent, (a**2 - tau**2) / (2 * s**2)


def in_whole_angles(expression: sp.Expr, theta: sp.Expr) -> sp.Expr:
    """Replace the squares of sine and cosine of theta/2 by cos theta."""
    expanded = sp.expand(expression)
    cosine = (1 + sp.cos(theta)) / 2
    return sp.expand(expanded.subs({sp.cos(theta / 2) ** 2: cosine, sp.sin(theta / 2) ** 2: 1 - cosine}))


if __name__ == "__main__":
    print(check(claims()), "identities")
