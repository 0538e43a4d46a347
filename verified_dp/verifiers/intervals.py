"""Interval arithmetic for the independent checker: mpmath's, with elementary functions made safe.

mpmath rounds +, -, *, / and square roots of interval ends outward exactly. Its exp, log, cos, sin and atan2 are
accurate to a few units in the last place, but their rounding direction is not proved. What is assumed of them
here is an error below 2^8 units in the last place; every result is widened by that much. The cosine and sine of
an interval are those of its midpoint, widened by its radius (both are 1-Lipschitz).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from mpmath.ctx_iv import MPIntervalContext
from mpmath.libmp import libmpi, mpf_atan2, mpf_cos_sin

from verified_dp.core.dyadic import Dyadic

Interval = Any
"""A real interval (mpmath has no types)."""
Complex = tuple[Interval, Interval]
"""A rectangle: real and imaginary part."""

_iv = MPIntervalContext()  # our own: nobody else's precision is touched
_SLACK_BITS = 8


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with this many bits inside."""
    before, _iv.prec = _iv.prec, bits
    try:
        yield
    finally:
        _iv.prec = before


def exact(value: Fraction | int) -> Interval:
    """Enclose a rational number."""
    return _iv.mpf(value.numerator) / _iv.mpf(value.denominator)


def hull(low: Interval, high: Interval) -> Interval:
    """From the lower end of one to the upper end of another."""
    return _iv.make_mpf((low._mpi_[0], high._mpi_[1]))


def plus_minus(size: Interval) -> Interval:
    """Everything of absolute value at most the upper end of `size` >= 0."""
    return hull(-size, size)


def pi() -> Interval:
    return +_iv.pi


def upper(x: Interval) -> Interval:
    """The upper end, as an interval."""
    return _iv.make_mpf((x._mpi_[1], x._mpi_[1]))


def lower(x: Interval) -> Interval:
    """The lower end, as an interval."""
    return _iv.make_mpf((x._mpi_[0], x._mpi_[0]))


def unit(spare_bits: int) -> Interval:
    """2^spare_bits units in the last place of 1."""
    return exact(Fraction(2**spare_bits, 2**_iv.prec))


def _slack() -> Interval:
    return plus_minus(unit(_SLACK_BITS))


def exp(x: Interval) -> Interval:
    return _iv.exp(x) * (1 + _slack())


def log(x: Interval) -> Interval:
    """The logarithm of a positive interval."""
    return _iv.log(x) * (1 + _slack())


def sqrt(x: Interval) -> Interval:
    return _iv.sqrt(x)


def _middle(x: Interval) -> tuple[Interval, Interval]:
    """A point of the interval, and how far it reaches from there."""
    point = libmpi.mpi_mid(x._mpi_, _iv.prec)
    middle = _iv.make_mpf((point, point))
    return middle, upper(abs(x - middle))


def cos_sin(x: Interval) -> Complex:
    middle, radius = _middle(x)
    values = mpf_cos_sin(middle._mpi_[0], _iv.prec)
    widening = _slack() + plus_minus(radius)
    cosine, sine = (_iv.make_mpf((value, value)) + widening for value in values)
    return cosine, sine


def argument(z: Complex) -> Interval:
    """The principal argument of a rectangle away from 0: its gradient is 1/|z|."""
    (x, dx), (y, dy) = _middle(z[0]), _middle(z[1])
    value = mpf_atan2(y._mpi_[0], x._mpi_[0], _iv.prec)
    size = lower(sqrt(x * x + y * y)) - dx - dy
    return _iv.make_mpf((value, value)) * (1 + _slack()) + plus_minus((dx + dy) / size)


def complex_log(z: Complex) -> Complex:
    """The principal logarithm of a rectangle that does not meet the negative real axis."""
    return log(z[0] * z[0] + z[1] * z[1]) / 2, argument(z)


def complex_exp(z: Complex) -> Complex:
    size, (cosine, sine) = exp(z[0]), cos_sin(z[1])
    return size * cosine, size * sine


def modulus_parts(z: Complex) -> tuple[Complex, Interval]:
    """A point of the rectangle, and a bound of the distance to all its points."""
    (x, dx), (y, dy) = _middle(z[0]), _middle(z[1])
    return (x, y), dx + dy


def dot(left: Sequence[Complex], right: Sequence[Complex]) -> Complex:
    """The sum of the products: the innermost loop, written with mpmath's own pairs for speed."""
    bits, add, mul = _iv.prec, libmpi.mpi_add, libmpi.mpi_mul
    real = imaginary = libmpi.mpi_zero
    for (a, b), (c, d) in zip(left, right, strict=True):
        a, b, c, d = a._mpi_, b._mpi_, c._mpi_, d._mpi_
        real = add(real, libmpi.mpi_sub(mul(a, c, bits), mul(b, d, bits), bits), bits)
        imaginary = add(imaginary, add(mul(a, d, bits), mul(b, c, bits), bits), bits)
    return _iv.make_mpf(real), _iv.make_mpf(imaginary)


def times(left: Complex, right: Complex) -> Complex:
    return dot([left], [right])


def certain(comparison: Any) -> bool:
    """Whether a comparison of intervals holds for all their points."""
    return comparison is True


def ends(x: Interval) -> tuple[Dyadic, Dyadic] | None:
    """Both ends as exact numbers, None if one is infinite or unknown."""
    parts = [(int(sign), int(mantissa), int(exponent), bits) for sign, mantissa, exponent, bits in x._mpi_]
    if any(mantissa == 0 and exponent != 0 for _, mantissa, exponent, _ in parts):
        return None
    low, high = (Dyadic(-mantissa if sign else mantissa, exponent) for sign, mantissa, exponent, _ in parts)
    return low, high
