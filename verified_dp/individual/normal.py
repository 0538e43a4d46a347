"""A step of a Gaussian in closed form for arrays of doubles: A Phi(d1) - B Phi(d2), every rounding bounded (T164)."""

from __future__ import annotations

from functools import cache

import numpy as np
from flint import arb, ctx

from verified_dp.core.kernel.balls import normal_density, normal_tail
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.doubles import ROUND_UP, double_above, exponential

LEAST_PLACE, LARGEST_PLACE, PER_UNIT = -7, 54, 64
"""Mills' ratio is tabulated between these places, at so many a unit."""
FURTHEST = 37.0
"""Beyond it the normal density is below e^-684 and counts as nothing from below."""
TINY = 1e-290
"""More than what underflow changes."""
LARGEST_RATIO = 12.0
"""Of sensitivity to noise: FURTHEST and this lie in the table, and half of it to the left of 0."""
THIN = 1e-280
"""A smaller ratio of A and B counts as this one."""
_LN2 = (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33"))
_ODD = [1 / (2 * n + 1) for n in range(11)]


@proved_by("T164-two-steps")
def logarithm(x: np.ndarray) -> np.ndarray:
    """log x to 2^-47 relatively, for normal doubles x > 0."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < 0.7071
    mantissa = np.where(small, 2 * mantissa, mantissa)
    power = (exponent - small).astype(np.float64)
    share = (mantissa - 1) / (mantissa + 1)
    square = share * share
    value = np.full_like(square, _ODD[-1])
    for coefficient in _ODD[-2::-1]:
        value *= square
        value += coefficient
    return power * _LN2[0] + (power * _LN2[1] + 2 * share * value)


@cache
@proved_by("T164-two-steps")
def mills_table() -> np.ndarray:
    """(6, places): Taylor coefficients of R(x) = P(Z > x) / phi(x) to degree 4, and a bound of the relative error."""
    places = range(LEAST_PLACE * PER_UNIT, LARGEST_PLACE * PER_UNIT + 1)
    with ctx.workprec(160):
        return np.array([_row(arb(place) / PER_UNIT) for place in places]).T.copy()


@proved_by("T164-two-steps")
def _row(x: arb) -> list[float]:
    """The coefficients at x and what the rest and the roundings may add within half a place, over R there."""
    half = arb(1) / (2 * PER_UNIT)
    ends = [_coefficients(x + shift) for shift in (-half, arb(0), half)]
    rest = abs(ends[0][5]) * half**5 / ends[2][0]
    return [*(float(c.mid()) for c in ends[1][:5]), double_above(rest + arb(2) ** -46)]


@proved_by("T164-two-steps")
def _coefficients(x: arb) -> list[arb]:
    """R(x) and R^(n)(x) / n! up to 5, by R' = x R - 1."""
    first = normal_tail(x) / normal_density(x, arb(1))
    found = [first, x * first - 1]
    for n in range(2, 6):
        found.append((x * found[-1] + found[-2]) / n)
    return found


@proved_by("T164-two-steps")
def mills(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R(x) and a bound of its error, for x in the table."""
    table = mills_table()
    place = np.rint(x * PER_UNIT)
    index = place.astype(np.intp) - LEAST_PLACE * PER_UNIT
    rest = x - place / PER_UNIT
    value = table[4].take(index)
    for column in table[3::-1]:
        value *= rest
        value += column.take(index)
    return value, table[5].take(index) * value


@proved_by("T164-two-steps")
def excess(a: np.ndarray, b: np.ndarray, ratio: np.ndarray, above: bool) -> np.ndarray:
    """Bound BS(A, B; r) = A Phi(d) - B Phi(d - r), d = log(A/B)/r + r/2; 0 for A <= 0, A - B for B <= 0.

    That is A H_{B/A}(N(r, 1) || N(0, 1)): it grows with A and r and falls with B. 1e-12 <= r <= 12, |A|, |B| < 1e300.
    above: from above; else from below.
    """
    large, small = np.maximum(a, b), np.minimum(a, b)
    log = logarithm(np.maximum(large, 1e-300) / np.maximum(small, np.maximum(large * THIN, 1e-300)))
    slack = (log * 2.0**-45 + 2.0**-51) / ratio + ratio * 2.0**-50
    place = log / ratio - ratio / 2 + (-slack if above else slack)
    near = np.minimum(place, FURTHEST)
    (left, left_error), (right, right_error) = mills(near), mills(near + ratio)
    error = (left_error + right_error + (left + right) * 2.0**-43) * ROUND_UP
    density = exponential(near * near * -0.5) * 0.3989422804014327
    part = density * np.maximum(left - right + (error if above else -error), 0)
    if not above:
        part = np.where(place > FURTHEST, 0.0, part)
    found = np.maximum(a - b, 0) + np.maximum(small, 0) * part
    return found * ROUND_UP + TINY if above else np.maximum(found / ROUND_UP - TINY, 0)
