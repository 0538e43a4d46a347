"""The steps that the program extracted from Coq compares an integer law with by itself: Gaussian, sampled or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from math import isqrt

from flint import arb, ctx

from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball, integer_above
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.law import Law

DIRECTIONS = ("remove", "add")
_SPARE_BITS = 64
"""Beyond those of the masses, in which the program compares."""


@dataclass(frozen=True)
class GaussianStep:
    """A query that one record changes by a vector of norm at most 1, and normal noise; order: remove or add."""

    order: str
    probability: Fraction
    noise: Fraction

    def words(self, low: int, count: int, step: Fraction, bits: int) -> Iterator[int | str]:
        """What the program reads of it, and hints: bits, terms of a series, where the line ends, tests."""
        largest = ball((low + count) * step).max(arb(0)) / arb.const_log2()
        bits += _SPARE_BITS + integer_above(largest)  # as e^loss is a factor
        yield "sampled"
        yield from [*self.probability.as_integer_ratio(), *self.noise.as_integer_ratio()]
        yield from [bits, bits // 2, isqrt(2 * bits) + 1, count]
        with ctx.workprec(bits + 64):
            for index in range(low, low + count):
                yield self.best_test(ball(index * step), bits)

    def told(self) -> str:
        """What the program prints of it, before the hints."""
        q, sigma = self.probability, self.noise
        return f"sampled-{self.order} {q.numerator} {q.denominator} {sigma.numerator} {sigma.denominator}"

    def best_test(self, loss: arb, bits: int) -> int:
        """About 2^bits t, where the loss at t is this one; 0 where there is none. Any t is sound (covers_ok)."""
        q, sigma = ball(self.probability), ball(self.noise)
        ratio = ((loss if self.order == "remove" else -loss).expm1() + q) / q
        if not ratio > 0:
            return 0
        place = (sigma * ratio.log() + 1 / (2 * sigma)).mid() * arb((1, bits))
        return int(place.floor().unique_fmpz() or 0)


@singledispatch
def gaussian_step(law: Law, order: str, bits: int) -> GaussianStep | None:
    """The step with this loss, in an order of a composition, where the program knows it."""
    return None


@gaussian_step.register
def _sampled_step(law: SampledGaussianLoss, order: str, bits: int) -> GaussianStep | None:
    known = order in DIRECTIONS and law.order == order
    if known and isinstance(law.noise_multiplier, Fraction):
        return GaussianStep(order, law.sampling_probability, law.noise_multiplier)
    return None


@gaussian_step.register
def _plain_step(law: GaussianLoss, order: str, bits: int) -> GaussianStep | None:
    """All plain steps in one: noise 1/mu, rounded down to the bits of the comparison; both orders have its loss."""
    shift, places = law.mean_shift_squared, bits + _SPARE_BITS
    noise = Fraction(isqrt((shift.denominator << 2 * places) // shift.numerator), 1 << places) if shift else None
    return GaussianStep(order if order in DIRECTIONS else DIRECTIONS[0], Fraction(1), noise) if noise else None
