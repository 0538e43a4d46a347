"""T04, T05, T12: geometric series of the aliases, telescoping of 1/m^2, two integrals over frequencies."""

import sympy as sp
from identities import Claims, check

THEOREMS = ("T04-alias-bounds", "T05-frequency-truncation", "T12-powers")


def claims() -> Claims:
    c, order, period, r, eta, omega = sp.symbols("c l X r eta Omega", positive=True)
    eps = sp.symbols("eps", real=True)
    n, count, m, m0 = sp.symbols("n N m m_0", positive=True, integer=True)
    w = sp.symbols("w", real=True)

    right = sp.exp(c * n * period) * sp.exp(-order * (eps + n * period))
    yield "right alias n", right, sp.exp(-order * eps) * sp.exp(-(order - c) * period) ** n
    left = sp.exp(-c * n * period) * sp.exp(-order * (eps - n * period))
    yield "left alias -n", left, sp.exp(-order * eps) * sp.exp(-(c - order) * period) ** n
    step = (r - r ** (count + 1)) / (1 - r)
    yield "geometric series, first term", step.subs(count, 1), r
    yield "geometric series, induction", step.subs(count, count + 1) - step, r ** (count + 1)

    yield "telescoping", 1 / (m * (m - 1)), 1 / (m - 1) - 1 / m
    yield "sum over m > m0", sp.summation(1 / (m * (m - 1)), (m, m0 + 1, sp.oo)), 1 / m0
    summed = eta / (2 * sp.pi) * 2 * (1 / m0) / eta**2
    yield "frequency tail, sum", summed, 1 / (sp.pi * m0 * eta)
    integral = sp.integrate(1 / w**2, (w, omega, sp.oo)) / sp.pi
    yield "frequency tail, integral", integral, 1 / (sp.pi * omega)
    budget = 2 / (2 * sp.pi) * sp.integrate(1 / (c**2 + w**2), (w, 0, sp.oo))
    yield "error budget of the sum", budget, 1 / (2 * c)


if __name__ == "__main__":
    print(check(claims()), "identities")
