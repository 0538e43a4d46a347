"""What the derived polynomials give on balls: cumulants, the saddle-point series, CGF derivatives in closed form.

Low orders come from `tables.py`; higher ones are derived when they are first asked for (sympy is imported then).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from flint import arb

from verified_dp.core.engines.expansion_cells import evaluate
from verified_dp.core.engines.expansion_tables import CUMULANTS
from verified_dp.papers.symbolic import derive, tables
from verified_dp.papers.symbolic.derive import Polynomial


def enclose_cumulants(moments: Sequence[arb]) -> list[arb]:
    """Those of the engine, of any order."""
    values = dict(enumerate(moments, 1))
    return [evaluate(_cumulant(n), values) for n in values]


@lru_cache(maxsize=64)
def _cumulant(n: int) -> Polynomial:
    return CUMULANTS.get(n) or derive.derive_cumulant(n)


def enclose_exponent_derivatives(cumulants: Sequence[arb], tilt: arb) -> dict[int, arb]:
    """Enclose F^(j), j >= 2, of F(z) = K(z) - eps z - log z - log(1+z): K^(j) + (-1)^j (j-1)! (t^-j + (1+t)^-j).

    cumulants: [K', K'', ...] at the tilt t.
    """
    derivatives, near, far = {}, 1 / tilt, 1 / (1 + tilt)
    power_near, power_far, factor = near, far, arb(1)
    for j, cumulant in enumerate(cumulants[1:], 2):
        power_near, power_far, factor = power_near * near, power_far * far, -factor * (j - 1)
        derivatives[j] = cumulant - factor * (power_near + power_far)
    return derivatives


def enclose_corrections(derivatives: Mapping[int, arb], order: int) -> list[arb]:
    """Enclose c_1, ..., c_order: the estimate of order n is MSD0 (1 + c_1 + ... + c_n).

    derivatives: j -> F^(j) at the saddle point, j = 2..2 order + 2. c_1 = F4/(8 F2^2) - 5 F3^2/(24 F2^3).
    """
    return [evaluate(_correction(n), {**derivatives, 2: 1 / derivatives[2]}) for n in range(1, order + 1)]


@lru_cache(maxsize=32)
def _correction(n: int) -> Polynomial:
    return tables.CORRECTIONS.get(n) or derive.derive_correction(n)


def gaussian_cgf(mean_shift_squared: arb, tilt: arb, order: int) -> list[arb]:
    """[K', ..., K^(order)] of K(z) = z(z+1) mu^2/2."""
    known = [(2 * tilt + 1) * mean_shift_squared / 2, mean_shift_squared]
    return [*known, *(arb(0) for _ in range(order - 2))][:order]


def randomized_response_cgf(epsilon: arb, tilt: arb, order: int) -> list[arb]:
    """[K', ..., K^(order)] of K(z) = log cosh((z + 1/2) eps) + constant, two outcomes with losses eps and -eps."""
    tangent, scale, found = ((tilt + arb(1) / 2) * epsilon).tanh(), arb(1), []
    for n in range(1, order + 1):
        scale *= epsilon
        found.append(scale * evaluate(_log_cosh(n), {derive.TANH: tangent}))
    return found


@lru_cache(maxsize=64)
def _log_cosh(n: int) -> Polynomial:
    return tables.LOG_COSH.get(n) or derive.derive_log_cosh(n)


def laplace_cgf(ratio: arb, tilt: arb, order: int) -> list[arb]:
    """[K', ..., K^(order)] for Laplace noise: M proportional to cosh(w mu) + sinh(w mu)/(2w), w = z + 1/2."""
    return _hyperbolic_cgf(_laplace, ratio, tilt, order)


def bounded_range_cgf(bounded_range: arb, tilt: arb, order: int) -> list[arb]:
    """[K', ..., K^(order)] for a bounded range: M proportional to sinh(w mu)/w, w = z + 1/2."""
    return _hyperbolic_cgf(_range, bounded_range, tilt, order)


@lru_cache(maxsize=64)
def _laplace(n: int) -> tuple[Polynomial, Polynomial]:
    return tables.LAPLACE.get(n) or derive.derive_hyperbolic(n, (1, "1/(2w)"))


@lru_cache(maxsize=64)
def _range(n: int) -> tuple[Polynomial, Polynomial]:
    return tables.BOUNDED_RANGE.get(n) or derive.derive_hyperbolic(n, (0, "1/w"))


def _hyperbolic_cgf(derivative: Callable[[int], tuple[Polynomial, Polynomial]], mu: arb, tilt: arb,
                    order: int) -> list[arb]:
    """Cumulants of exp(K) = A_0 cosh + B_0 sinh; divided by cosh, so that large arguments do not overflow."""
    shifted = tilt + arb(1) / 2
    tangent, values = (shifted * mu).tanh(), {derive.MU: mu, derive.INVERSE: 1 / shifted}
    levels = []
    for n in range(order + 1):
        even, odd = derivative(n)
        levels.append(evaluate(even, values) + evaluate(odd, values) * tangent)
    return enclose_cumulants([level / levels[0] for level in levels[1:]])
