"""T14: thresholds and values of one sampled step, all orders; T16: the reversal identity."""

import sympy as sp
from identities import Claims, check, normal_cdf, normal_density

THEOREMS = ("T14-single-step", "T16-reversal")

q, s, alpha, x = sp.symbols("q s alpha x", positive=True)
t = sp.symbols("t", real=True)


def mixture(point: sp.Expr, mean: int) -> sp.Expr:
    """Density of (1-q) N(0, s^2) + q N(mean, s^2)."""
    return (1 - q) * normal_density(point, sp.Integer(0), s) + q * normal_density(point, sp.Integer(mean), s)


def upper(threshold: sp.Expr, mean: int) -> sp.Expr:
    """N(mean, s^2)(t > threshold)."""
    return normal_cdf((mean - threshold) / s)


def likelihood_ratio(first: sp.Expr, second: sp.Expr, at: sp.Expr) -> sp.Expr:
    """first/second at a point, as sympy simplifies it."""
    return sp.simplify(sp.expand_power_exp(sp.simplify((first / second).subs(t, at))))


def claims() -> Claims:
    zero = normal_density(t, sp.Integer(0), s)
    remove = s**2 * sp.log((alpha - (1 - q)) / q) + sp.Rational(1, 2)
    yield "remove: dP/dQ = alpha at t*", likelihood_ratio(mixture(t, 1), zero, remove), alpha
    value = (1 - q) * upper(t, 0) + q * upper(t, 1) - alpha * upper(t, 0)
    short = q * normal_cdf((1 - t) / s) - (alpha - (1 - q)) * normal_cdf(-t / s)
    yield "remove: T14 (1)", value, short
    yield "remove: slope in the threshold is alpha Q - P", sp.diff(short, t), alpha * zero - mixture(t, 1)

    add = s**2 * sp.log((1 / alpha - (1 - q)) / q) + sp.Rational(1, 2)
    yield "add: dP/dQ = alpha at t'", likelihood_ratio(zero, mixture(t, 1), add), alpha
    below = normal_cdf(t / s) - alpha * ((1 - q) * normal_cdf(t / s) + q * normal_cdf((t - 1) / s))
    yield "add: slope in the threshold is P - alpha Q", sp.diff(below, t), zero - alpha * mixture(t, 1)

    g, b = q * sp.exp(-1 / (2 * s**2)), (1 - q) * (alpha - 1)
    ratio = likelihood_ratio(mixture(t, 1), mixture(t, -1), s**2 * sp.log(x))
    yield "replace: dP/dQ in x = e^{t/s^2}", ratio, (1 - q + g * x) / (1 - q + g / x)
    quadratic = g * x**2 - b * x - alpha * g
    yield "replace: quadratic", x * ((1 - q + g * x) - alpha * (1 - q + g / x)), quadratic
    root = (b + sp.sqrt(b**2 + 4 * alpha * g**2)) / (2 * g)
    yield "replace: root", quadratic.subs(x, root), sp.Integer(0)
    yield "replace: the two forms", root * (-b + sp.sqrt(b**2 + 4 * alpha * g**2)), 2 * alpha * g
    yield "replace: product of the roots", sp.simplify(quadratic.subs(x, 0) / g), -alpha
    yield "replace: alpha = 1", root.subs(alpha, 1), sp.Integer(1)
    yield "replace: q = 1", sp.simplify(root.subs(q, 1)), sp.sqrt(alpha)
    value = -b * normal_cdf(-t / s) + q * (normal_cdf((1 - t) / s) - alpha * normal_cdf(-(1 + t) / s))
    slope = alpha * mixture(t, -1) - mixture(t, 1)
    yield "replace: slope in the threshold is alpha Q - P", sp.diff(value, t), slope
    yield "replace: value far to the left is 1 - alpha", sp.limit(value, t, -sp.oo), 1 - alpha

    y = sp.symbols("y", real=True)
    part, mirrored = (y + sp.Abs(y)) / 2, (-y + sp.Abs(y)) / 2
    yield "T16: y_+ = y + (-y)_+", part, y + mirrored


if __name__ == "__main__":
    print(check(claims()), "identities")
