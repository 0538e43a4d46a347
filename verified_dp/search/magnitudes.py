"""Which numbers the searches in floating point take; outside of these ranges closed forms and supports still answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import SquareRoot, square, square_root
from verified_dp.search.known import is_a

RANGES = {
    "noise_multiplier": (-9, 15), "sigma": (-100, 100), "norm / sigma": (-15, 9), "sigma_squared": (-18, 30),
    "scale": (-5, 100), "ratio": (-100, 5), "bounded_range": (-100, 5), "epsilon": (-100, 5), "epsilon0": (-100, 5),
    "mean_shift_squared": (-200, 200), "rho": (-100, 100), "xi": (-100, 100), "bound": (-100, 100),
}
"""What a law has -> (a, b): where it is not 0, it is to lie between 10^a and 10^b. Probabilities may be of any size."""


def why_no_floats(loss: ComposedLoss) -> str | None:
    """What is too large or too small for floating point, in words; None where nothing is."""
    for name, value in _numbers(loss):
        low, high = RANGES[name]
        if not low <= _log10(value) <= high:
            return (f"a {name.replace('_', ' ')} of about 1e{_log10(value):.0f} is outside of 1e{low} to 1e{high}, "
                    "where the search in floating point works: beyond, only closed forms answer")
    return None


def require_floats(loss: ComposedLoss) -> None:
    """Raises Unsupported where floating point has no room for the numbers of a step."""
    if reason := why_no_floats(loss):
        raise Unsupported(reason)


def _numbers(law: Any) -> Iterator[tuple[str, Fraction | SquareRoot]]:
    """The numbers of a law, and of the laws within it, whose size matters."""
    if isinstance(law, ComposedLoss):
        yield from (number for part, _ in law.laws for number in _numbers(part))
    elif is_a(law, "guarantees.orders:RenyiLoss"):
        yield from (("bound", number) for corner in law.corners for number in corner if number)
    elif is_dataclass(law):
        for field in fields(law):
            value = getattr(law, field.name)
            if field.name in RANGES and isinstance(value, Fraction | SquareRoot) and value != 0:
                yield field.name, value
            else:
                yield from _numbers(value)
    laplace = is_a(law, "laplace.shifts:LaplaceMixtureLoss")
    if laplace or is_a(law, "gaussian.mixture:MixtureLoss"):
        norms = {abs(mean) for mean, _ in (*law.above, *law.below)} - {0}
        if laplace:
            yield from (("ratio", norm) for norm in norms)
        else:
            yield from (("norm / sigma", square_root(norm**2 / square(law.sigma))) for norm in norms)


def _log10(value: Fraction | SquareRoot) -> float:
    if isinstance(value, SquareRoot):
        return _log10(value.square) / 2
    return math.log10(value.numerator) - math.log10(value.denominator)
