"""Exponential, sine and cosine of arrays of doubles by additions, multiplications and exact scalings only.

A library's own functions carry no proved error; these do (T117), in round-to-nearest with or without fused operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

import numpy as np
from flint import acb, arb

from verified_dp.core.kernel.balls import lower_end, upper_end
from verified_dp.core.kernel.theorems import proved_by

FUNCTION_ERROR = 2.0**-45
"""Bounds the relative error of `exponential` and the absolute error of `cosine_and_sine`."""
ROUND_UP = 1 + 2.0**-40
"""More than the roundings of fewer than 2^10 operations on positive numbers take away."""
LEAST_RADIUS, LARGEST_SIZE = 1e-300, 1e307
"""More than what underflow changes, and where overflow is near."""
LEAST_EXPONENT = -700.0
LARGEST_ANGLE = 2.0**16

_LN2 = (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33"))
_HALF_PI = (float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a4p-34"), float.fromhex("0x1.13198a2e03707p-65"))
"""ln 2 and pi/2 as sums of doubles, all but the last of at most 32 bits."""


@proved_by("T117-double-precision")
def exponential(x: np.ndarray) -> np.ndarray:
    """e^x to 2^-45 relatively for -700 <= x <= 700; e^-700 for smaller x, +inf for larger x."""
    cut = np.clip(x, LEAST_EXPONENT, 700.0)
    power = np.rint(cut * (1 / _LN2[0]))
    rest = (cut - power * _LN2[0]) - power * _LN2[1]
    value = _horner(rest, [1 / factorial(n) for n in range(14)])
    return np.where(x > 700.0, np.inf, np.ldexp(value, power.astype(np.int32)))


@proved_by("T117-double-precision")
def cosine_and_sine(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """cos y and sin y to 2^-45 absolutely for |y| <= 2^16."""
    turns = np.rint(y * (1 / _HALF_PI[0]))
    rest = ((y - turns * _HALF_PI[0]) - turns * _HALF_PI[1]) - turns * _HALF_PI[2]
    square = rest * rest
    sine = rest * _horner(square, [(-1) ** n / factorial(2 * n + 1) for n in range(9)])
    cosine = _horner(square, [(-1) ** n / factorial(2 * n) for n in range(10)])
    quarter = turns.astype(np.int64) & 3
    odd = (quarter & 1).astype(bool)
    real, imaginary = np.where(odd, sine, cosine), np.where(odd, cosine, sine)
    return np.where((quarter == 1) | (quarter == 2), -real, real), np.where(quarter >= 2, -imaginary, imaginary)


def _horner(x: np.ndarray, coefficients: list[float]) -> np.ndarray:
    value = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value *= x
        value += coefficient
    return value


@proved_by("T117-double-precision")
def to_double(x: arb) -> tuple[float, float]:
    """A double and a bound of its distance to every point of the ball (inf if the ball is not finite)."""
    near = float(x.mid()) if x.is_finite() else 0.0
    return near, double_above(abs(x - arb(near)))


@proved_by("T117-double-precision")
def to_doubles(values: Sequence[acb]) -> tuple[np.ndarray, np.ndarray]:
    """Complex doubles, and bounds of their distances to every point of the balls (inf where a ball is not finite)."""
    parts = [(float(x.real.mid()), float(x.imag.mid()), float(x.real.rad()), float(x.imag.rad())) for x in values]
    real, imaginary, *radii = np.array(parts).T
    radius = (radii[0] + radii[1] + (np.abs(real) + np.abs(imaginary)) * 2.0**-51) * ROUND_UP + LEAST_RADIUS
    known = np.isfinite(radius)
    return np.where(known, real, 0.0) + 1j * np.where(known, imaginary, 0.0), np.where(known, radius, np.inf)


@proved_by("T117-double-precision")
def bound_moduli(near: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the moduli of the numbers within `radius` of `near`, from below (maybe < 0) and above."""
    parts = np.abs(near.real), np.abs(near.imag)
    large, small = np.maximum(*parts), np.minimum(*parts)
    ratio = small / np.where(large > 0, large, 1.0)
    size = np.where(large < LARGEST_SIZE, large, np.inf) * np.sqrt(1 + ratio * ratio)
    least = np.where(np.isfinite(size), size / ROUND_UP - radius * ROUND_UP - LEAST_RADIUS, -np.inf)
    return least, (size + radius) * ROUND_UP + LEAST_RADIUS


@proved_by("T117-double-precision")
def double_above(x: arb) -> float:
    """A double that is at least every point of the ball; +inf if none is known."""
    end = upper_end(x)
    if not end.is_finite():
        return float("inf")
    guess = float(end)
    while not arb(guess) >= end:
        guess = float(np.nextafter(guess, np.inf))
    return guess


@proved_by("T117-double-precision")
def double_below(x: arb) -> float:
    """A double that is at most every point of the ball; -inf if none is known."""
    return -double_above(-lower_end(x))
