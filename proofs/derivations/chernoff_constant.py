"""T03: the maximum of e^{-lx} (1 - e^{-x}) over x >= 0 is l^l / (1+l)^{1+l}, at x = log(1 + 1/l)."""

import sympy as sp
from identities import Claims, check

THEOREMS = ("T03-chernoff",)


def claims() -> Claims:
    order, x = sp.symbols("l x", positive=True)
    g = sp.exp(-order * x) * (1 - sp.exp(-x))
    stationary = sp.log((1 + order) / order)
    constant = order**order / (1 + order) ** (1 + order)
    slope = sp.exp(-order * x) * ((order + 1) * sp.exp(-x) - order)
    yield "derivative", sp.diff(g, x), slope
    yield "stationary point", slope.subs(x, stationary), sp.Integer(0)
    solutions = sp.solve(sp.Eq((order + 1) * sp.exp(-x), order), x)
    yield "the only one", sp.Integer(len(solutions)), sp.Integer(1)
    at_maximum = sp.expand_log(sp.log(g.subs(x, stationary)), force=True)
    yield "value there (logarithms)", sp.simplify(at_maximum), sp.expand_log(sp.log(constant), force=True)
    curvature = sp.diff(g, x, 2).subs(x, stationary) / (g / (1 - sp.exp(-x))).subs(x, stationary)
    yield "second derivative over e^{-lx} is -l", sp.simplify(curvature), -order
    yield "limit l -> 0", sp.limit(constant, order, 0), sp.Integer(1)
    yield "l = 1", constant.subs(order, 1), sp.Rational(1, 4)


if __name__ == "__main__":
    print(check(claims()), "identities")
