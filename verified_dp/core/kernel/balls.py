"""Ball helpers shared by the trusted rooms: exact numbers into balls, balls into exact ends.

A ball (``flint.arb``) is an interval: every function below returns a ball that contains the exact result
for every point of its input balls.
"""

from __future__ import annotations

from fractions import Fraction

import flint
from flint import acb, arb, fmpq

from verified_dp.core.kernel.dyadic import Dyadic, integer_of
from verified_dp.core.kernel.errors import Undecided, Unsupported
from verified_dp.core.kernel.exact import SquareRoot

NEEDED = (0, 9)
"""The oldest python-flint whose functions and calling conventions are those used here."""


def check_version(found: str) -> None:
    """Raises Unsupported where python-flint is older than needed."""
    numbers = [int(part) for part in found.split(".")[:2] if part.isdecimal()]
    if numbers < [*NEEDED]:
        least = ".".join(map(str, NEEDED))
        raise Unsupported(f"needs {least} or newer and is {found} here: pip install 'python-flint>={least},<0.10'",
                          "python-flint")


check_version(flint.__version__)

BOUND_BITS = 64
"""Precision at which one-sided bounds are evaluated: they need a few digits, always rounded to the safe side."""


def ball(value: Fraction | int | SquareRoot) -> arb:
    """Enclose an exact rational, or the root of one, at the current precision."""
    if isinstance(value, SquareRoot):
        return ball(value.square).sqrt()
    return arb(fmpq(*value.as_integer_ratio()))


def upper_end(x: arb) -> arb:
    """Bound ``x`` from above by an exact ball; +inf where nothing is known (a not-a-number included)."""
    return arb.pos_inf() if x.is_nan() else x.upper()


def lower_end(x: arb) -> arb:
    """Bound ``x`` from below by an exact ball; -inf where nothing is known (a not-a-number included)."""
    return arb.neg_inf() if x.is_nan() else x.lower()


def integer_above(x: arb) -> int:
    """An integer that is at least x. Raises Undecided where the precision names none."""
    return integer_of(upper_end(x).ceil())


def integer_below(x: arb) -> int:
    """An integer that is at most x. Raises Undecided where the precision names none."""
    return integer_of(lower_end(x).floor())


def plus_minus(radius: arb) -> arb:
    """Enclose every real number of absolute value at most ``radius``."""
    return arb(0, upper_end(radius))


def disc(radius: arb) -> acb:
    """Enclose every complex number of absolute value at most ``radius``."""
    return acb(plus_minus(radius), plus_minus(radius))


def largest(values: list[arb]) -> arb:
    """Bound the maximum of the balls from above (the built-in ``max`` is wrong on balls)."""
    bound = arb.neg_inf()
    for value in values:
        bound = bound.max(upper_end(value))
    return bound


def smallest(values: list[arb]) -> arb:
    """Bound the minimum of the balls from below (the built-in ``min`` is wrong on balls)."""
    bound = arb.pos_inf()
    for value in values:
        bound = bound.min(lower_end(value))
    return bound


def normal_tail(x: arb) -> arb:
    """Enclose P(Z > x) for a standard normal Z: erfc(x / sqrt 2) / 2, with relative accuracy at any x."""
    return (x / arb(2).sqrt()).erfc() / 2


def normal_density(x: arb, variance: arb) -> arb:
    """Enclose the density of a centred normal law at x."""
    return (-(x * x).max(arb(0)) / (2 * variance)).exp() / (2 * arb.pi() * variance).sqrt()


def step_down(x: arb) -> arb:
    """Enclose 1 for x < 0 and 0 for x >= 0; both where the sign is not decided."""
    if x < 0:
        return arb(1)
    return arb(0) if x >= 0 else arb(0).union(arb(1))


def lower_dyadic(x: arb) -> Dyadic:
    """The largest dyadic of the current precision that is known to be at most ``x``."""
    end = lower_end(x)
    if not end.is_finite():
        raise Undecided("a lower bound is not finite at this precision")
    mantissa, exponent = end.man_exp()
    return Dyadic(int(mantissa), int(exponent))


def upper_dyadic(x: arb) -> Dyadic:
    """The smallest dyadic of the current precision that is known to be at least ``x``; infinity if none is known."""
    end = upper_end(x)
    if not end.is_finite():
        return Dyadic.infinity()
    mantissa, exponent = end.man_exp()
    return Dyadic(int(mantissa), int(exponent))
