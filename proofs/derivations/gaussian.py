"""T15, T187, T23: transform and closed form of the plain Gaussian, its convex majorant, its half-lines."""

import sympy as sp
from identities import Claims, check, normal_cdf, normal_density

THEOREMS = ("T15-gaussian", "T187-rays", "T21-pair-poisson", "T22-pair-poisson-replace",
            "T23-pair-gaussian", "T24-pair-zero-out")


def claims() -> Claims:
    mu, s = sp.symbols("mu s", positive=True)
    t, z, eps, x, y, y0, eta, m = sp.symbols("t z eps x y y_0 eta m", real=True)
    zero = sp.Integer(0)
    loss = sp.log(normal_density(t, mu, sp.Integer(1)) / normal_density(t, zero, sp.Integer(1)))
    yield "loss", sp.expand_log(sp.simplify(loss), force=True), mu * t - mu**2 / 2
    tilted = normal_density(t, mu, sp.Integer(1)) * sp.exp(z * (mu * t - mu**2 / 2))
    transform = sp.integrate(tilted, (t, -sp.oo, sp.oo))
    yield "transform, T15 (1)", transform, sp.exp(z * (z + 1) * mu**2 / 2)
    yield "modulus", sp.re(sp.expand((x + sp.I * y) * (x + sp.I * y + 1))), x * (x + 1) - y**2
    yield "convex majorant, T187 (4)", -(2 * y0 * y - y0**2) + y**2, (y - y0) ** 2

    mean, deviation = mu**2 / 2, mu
    closed = normal_cdf(mu / 2 - eps / mu) - sp.exp(eps) * normal_cdf(-mu / 2 - eps / mu)
    parts = normal_cdf((mean - eps) / deviation) - sp.exp(eps) * normal_cdf((-mean - eps) / deviation)
    yield "closed form, T15 (2)", parts, closed
    slope = -sp.exp(eps) * normal_cdf(-mu / 2 - eps / mu)
    yield "its slope is -e^eps Q(L > eps)", sp.diff(closed, eps), slope
    yield "it vanishes at infinity", sp.limit(closed.subs(mu, 1), eps, sp.oo), zero

    for centre in (-1, 0, 1):
        above = normal_cdf((centre + s * eta) / s)
        yield f"N({centre}) of t >= -s eta", above, normal_cdf(eta + centre / s)
        yield f"density of N({centre})", -sp.diff(normal_cdf((centre - t) / s), t), normal_density(
            t, sp.Integer(centre), s)
    ratio = normal_density(t, m, s) / normal_density(t, zero, s)
    yield "ratio of densities, T23 (a)", ratio, sp.exp((m * t - m**2 / 2) / s**2)


if __name__ == "__main__":
    print(check(claims()), "identities")
