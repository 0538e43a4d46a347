"""T141: Edgeworth's terms, their composition over different steps, tails of He_n phi."""

import sympy as sp
from identities import Claims, check

THEOREMS = ("T141-certified-expansions")
HIGHEST = 4


def hermite(n: int, z: sp.Symbol) -> sp.Expr:
    """He_n(z) e^{-z^2/2} = (-1)^n d^n/dz^n e^{-z^2/2}."""
    return sp.expand(sp.simplify((-1) ** n * sp.diff(sp.exp(-(z**2) / 2), z, n) * sp.exp(z**2 / 2)))


def term(order: int, cumulants: dict[int, sp.Expr], u: sp.Symbol) -> sp.Expr:
    """[y^order] exp(sum_{r>=3} l_r u^r y^{r-2} / r!)."""
    y = sp.Symbol("y")
    exponent = sum(cumulants[r] * u**r * y ** (r - 2) / sp.factorial(r) for r in range(3, order + 3))
    series, power = sp.Integer(1), sp.Integer(1)
    for n in range(1, order + 1):
        power = sp.expand(power * exponent)
        series += power / sp.factorial(n)
    return sp.expand(series).coeff(y, order) if order else sp.Integer(1)


def written(order: int, lam: dict[int, sp.Expr], u: sp.Symbol) -> sp.Expr:
    """The terms as the package stores them, u^m for He_m."""
    r = sp.Rational
    return {
        1: lam[3] * u**3 / 6,
        2: lam[4] * u**4 / 24 + lam[3] ** 2 * u**6 / 72,
        3: lam[5] * u**5 / 120 + lam[3] * lam[4] * u**7 / 144 + lam[3] ** 3 * u**9 / 1296,
        4: (lam[6] * u**6 / 720 + (lam[4] ** 2 / 1152 + lam[3] * lam[5] / 720) * u**8
            + r(1, 1728) * lam[3] ** 2 * lam[4] * u**10 + r(1, 31104) * lam[3] ** 4 * u**12),
    }[order]


def claims() -> Claims:
    u, z, a = sp.symbols("u z a", positive=True)
    lam = {r: sp.Symbol(f"l{r}") for r in range(3, HIGHEST + 3)}
    for order in range(1, HIGHEST + 1):
        yield f"order {order}", term(order, lam, u), written(order, lam, u)
    one, two = ({r: sp.Symbol(f"{name}{r}") for r in lam} for name in "pq")
    both = {r: one[r] + two[r] for r in lam}
    for order in range(1, HIGHEST + 1):
        product = sum(term(i, one, u) * term(order - i, two, u) for i in range(order + 1))
        yield f"two different sums, order {order}", product, term(order, both, u)
    density = sp.exp(-(z**2) / 2) / sp.sqrt(2 * sp.pi)
    for n in range(1, 7):
        yield f"tail of He_{n} phi", -sp.diff(hermite(n - 1, z) * density, z), hermite(n, z) * density
        yield f"He_{n} by recursion", hermite(n + 1, z), z * hermite(n, z) - n * hermite(n - 1, z)
    lifted = sp.exp(a * z + a**2 / 2) * sp.erfc((z + a) / sp.sqrt(2)) / 2
    for n in range(4):
        # J_n solves J' = a J - He_n phi and vanishes at infinity
        yield f"lifted He_{n} phi", sp.expand(sp.diff(lifted, z)), sp.expand(a * lifted - hermite(n, z) * density)
        lifted = hermite(n, z) * density - a * lifted
    t, j = sp.symbols("t j", positive=True)
    for order in range(2, 7):
        poles = sp.diff(-sp.log(t) - sp.log(1 + t), t, order)
        yield f"F^({order})", poles, (-1) ** order * sp.factorial(order - 1) * (t**-order + (1 + t) ** -order)
    yield "the exponent at the saddle point", (j**2 / 2 - j * (j - 1 / j)), (1 - j * (j - 1 / j)) / 2
    d = sp.symbols("d", positive=True)
    integral = sp.integrate(z ** (d + 1) * sp.exp(-(z**2) / 2), (z, 0, sp.oo))
    yield "integral of t^{d+1} e^{-t^2/2}", sp.gammasimp(integral), sp.gammasimp(2 ** (d / 2) * sp.gamma(d / 2 + 1))


if __name__ == "__main__":
    print(check(claims()), "identities")
