"""README's table, T09, T10: densities of the pairs, symmetries of the transforms, Gaussian integrals."""

import sympy as sp
from identities import Claims, check, normal_density

THEOREMS = ("T07-ends", "T09-total-mass", "T10-node-tails")


def tilt(t: sp.Expr, s: sp.Expr) -> sp.Expr:
    """X(t) = (2t-1)/(2s^2)."""
    return (2 * t - 1) / (2 * s**2)


def claims() -> Claims:
    t, c, p, rho, tau0 = sp.symbols("t c p rho tau_0", real=True)
    s, y = sp.symbols("s y", positive=True)
    z, u, v = sp.symbols("z u v")
    phi = normal_density(t, sp.Integer(0), s)
    plus, minus = (normal_density(t, sp.Integer(mean), s) for mean in (1, -1))
    yield "N(1) is e^X(t) times N(0)", plus / phi, sp.exp(tilt(t, s))
    yield "N(-1) is e^X(-t) times N(0)", minus / phi, sp.exp(tilt(-t, s))

    # exponents of f_z, with u = ell(t), v = ell(-t)
    remove, add, replace = (z + 1) * u, -z * u, (z + 1) * u - z * v
    yield "M_add(z) = M_remove(-1-z)", remove.subs(z, -1 - z), add
    swapped = replace.subs(z, -1 - z).subs({u: v, v: u}, simultaneous=True)
    yield "M_replace(z) = M_replace(-1-z)", swapped, replace

    square = -(t**2) / (2 * s**2) + (2 * rho * t - tau0) / (2 * s**2)
    yield "T10 (7)", square, -((t - rho) ** 2) / (2 * s**2) + (rho**2 - tau0) / (2 * s**2)
    yield "sum of r X: sigma = +", p * tilt(t, s), (2 * p * t - p) / (2 * s**2)
    yield "sum of r X: sigma = -", p * tilt(-t, s), (2 * (-p) * t - p) / (2 * s**2)
    yield "remove, right tail", ((c + 1) ** 2 - (c + 1)), c * (c + 1)
    yield "add, centred at -c", (-c) ** 2 - (-c), c * (c + 1)

    moment = sp.integrate(phi * sp.exp(p * tilt(t, s)), (t, -sp.oo, sp.oo))
    yield "E e^{pX}", moment, sp.exp(p * (p - 1) / (2 * s**2))
    yield "T09 (2), remove", moment.subs(p, c + 1), sp.exp(c * (c + 1) / (2 * s**2))
    yield "T09 (2), add", moment.subs(p, -c), sp.exp(c * (c + 1) / (2 * s**2))
    both = sp.expand(-(c + 1) * (t - 1) ** 2 + c * (t + 1) ** 2) / (2 * s**2)
    integral = sp.integrate(sp.exp(both) / (s * sp.sqrt(2 * sp.pi)), (t, -sp.oo, sp.oo))
    yield "T09 (3), replace", integral, sp.exp(2 * c * (c + 1) / s**2)
    yield "convexity of y^{c+1}", sp.diff(y ** (c + 1), y, 2), c * (c + 1) * y ** (c - 1)

    yield "q = 1, replace: the loss is 2t/s^2", tilt(t, s) - tilt(-t, s), 2 * t / s**2


if __name__ == "__main__":
    print(check(claims()), "identities")
