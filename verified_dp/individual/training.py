"""What one DP-SGD training does to its records, and the grid of sensitivities on which readings are counted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number, exact, positive

UNIT_BITS = 60
"""A squared relative sensitivity is counted in units of 2^-60."""
SPLIT_BITS = 28
"""Sums of them are kept as high * 2^28 + low."""
MAX_PARTS, HALVINGS = 1024, 6
"""(0, 1] is cut into at most so many parts, and the first of them is halved so often."""


@dataclass(frozen=True)
class Training:
    """Steps y = sum of clipped gradients of a Poisson sample + clipping * noise_multiplier * N(0, I), all alike.

    A record whose gradient has norm C_x takes part with sensitivity r = min(C_x, clipping) / clipping in units of the
    clipping constant, that is with noise multiplier noise_multiplier / r of its own.

    Args:
        noise_multiplier: sigma > 0, relative to the clipping constant.
        clipping: the constant > 0 (between 1e-30 and 1e30).
        sampling_probability: q in (0, 1]; 1 is a training without sampling, each step on all records.
        order: "remove" (the data with the record against those without it) or "add" (the reverse).
    Raises: InvalidInput.

    >>> Training("1", "0.5", "0.01").square_edges(4)[-3:]
    [Fraction(1, 4), Fraction(9, 16), Fraction(1, 1)]
    """

    noise_multiplier: Fraction
    clipping: Fraction
    sampling_probability: Fraction
    order: str = "remove"

    if TYPE_CHECKING:
        def __init__(self, noise_multiplier: Number, clipping: Number, sampling_probability: Number,
                     order: str = "remove") -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_multiplier", positive(self.noise_multiplier, "noise_multiplier"))
        object.__setattr__(self, "clipping", checked_clipping(self.clipping))
        probability = exact(self.sampling_probability, "sampling_probability")
        object.__setattr__(self, "sampling_probability", probability)
        if not 0 < probability <= 1:
            raise InvalidInput("sampling_probability", probability, "in (0, 1]; 1 means no sampling")
        if self.order not in ("remove", "add"):
            raise InvalidInput("order", self.order, "remove or add")

    @property
    def clipping_double(self) -> float:
        """The clipping constant as the double nearest to it, which is what norms are compared with."""
        return float(self.clipping)

    def square_edges(self, parts: int) -> list[Fraction]:
        """r^2 at the ends of the buckets: r from 0 to 2^-6/B, then doubled up to 1/B, then in steps of 1/B up to 1."""
        ends = [Fraction(1, 2**k) for k in range(HALVINGS, 0, -1)] + [Fraction(b) for b in range(1, parts + 1)]
        return [Fraction(0), *((end / checked_parts(parts)) ** 2 for end in ends)]

    def variance_edges(self, parts: int) -> list[Fraction]:
        """v = r^2 / sigma^2 = 1 / (noise multiplier of the record)^2 at the ends of the buckets."""
        return [square / self.noise_multiplier**2 for square in self.square_edges(parts)]


def checked_clipping(clipping: Number) -> Fraction:
    """A clipping constant: a rational number from 1e-30 to 1e30, so that squares of doubles stay normal numbers."""
    constant = positive(clipping, "clipping")
    if not Fraction(1, 10**30) <= constant <= 10**30:
        raise InvalidInput("clipping", constant, "between 1e-30 and 1e30")
    return constant


def checked_parts(parts: int) -> int:
    """A power of two from 2 to 1024, so that the ends of the buckets are short dyadic numbers."""
    if not (isinstance(parts, int) and 2 <= parts <= MAX_PARTS and parts & (parts - 1) == 0):
        raise InvalidInput("parts", parts, f"a power of two from 2 to {MAX_PARTS}")
    return parts


def bucket_count(parts: int) -> int:
    """How many buckets a grid of so many parts has."""
    return checked_parts(parts) + HALVINGS
