"""The loss of a whole composition in one order: independent laws with counts, all Gaussian steps as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from .balls import Ball, Number, ball, expm1, log, log1p, normal_tail, total
from .laws import GaussianLoss, Law, SampledGaussianLoss

SWAPPED = {"remove": "add", "add": "remove", "symmetric": "symmetric"}
"""The order of the swapped pair."""


@dataclass(frozen=True)
class ShuffledEpoch:
    """An attack sees the largest of `rounds` sums of noise s, one with the mean 2, or `rest` without the record."""

    noise: Fraction
    rounds: int
    rest: int

    def allows(self, threshold: Fraction, false: Fraction, true: Fraction) -> bool:
        """Whether it exceeds the threshold as often as `true` with the record, as rarely as `false` without."""
        s, quiet = ball(self.noise), log1p(-normal_tail(ball(threshold / self.noise))) * (self.rounds - 1)
        seen, missed = (-expm1(quiet + log1p(-normal_tail(ball(threshold - mean) / s))) for mean in (2, self.rest))
        return bool(ball(true) <= seen) and bool(missed <= ball(false))


@dataclass(frozen=True)
class ComposedLoss:
    """parts: the laws besides Gaussians, in the order of `place`; mean_shift_squared: mu^2 of the Gaussians.

    epochs: shuffled ones, how many, and their part of mu^2, which is an upper bound of theirs.
    """

    order: str
    parts: tuple[tuple[Any, int], ...]
    mean_shift_squared: Fraction
    epochs: tuple[tuple[ShuffledEpoch, int, Fraction], ...] = ()

    @cached_property
    def node_parts(self) -> list[tuple[Any, int]]:
        return [(law, count) for law, count in self.parts if law.has_nodes]

    @cached_property
    def sampled_parts(self) -> list[tuple[SampledGaussianLoss, int]]:
        """Those of which a Renyi order takes the moment from nodes."""
        return [(law, count) for law, count in self.parts if isinstance(law, SampledGaussianLoss)]

    @cached_property
    def direct_parts(self) -> list[tuple[Law, int]]:
        return [(law, count) for law, count in self.parts if law.direct]

    @cached_property
    def laws(self) -> list[tuple[Law, int]]:
        """All of them, the Gaussian last."""
        gaussian = [(self.gaussian, 1)] if self.mean_shift_squared else []
        return [*self.parts, *gaussian]

    @property
    def gaussian(self) -> GaussianLoss:
        return GaussianLoss(self.mean_shift_squared)

    @property
    def has_transform(self) -> bool:
        return len(self.node_parts) + len(self.direct_parts) == len(self.parts)

    @property
    def only_moments(self) -> bool:
        return any(law.only_moments for law, _ in self.parts)

    def log_moment(self, exponent: Number, known: Mapping[Any, Ball] | None = None, *, bounded: bool = False) -> Ball:
        """At least log M(l), by what is known of some laws, and by what the others say of their own moments, or bound.
        """
        point = ball(exponent)
        size, found = self.gaussian.exponent((point, Ball(0)))[0], dict(known or {})
        for law, count in self.parts:
            if law not in found:
                found[law] = log((law.bound_moment(point) if bounded else law.moment(point)).upper())
            size = size + found[law] * count
        return size.upper()

    def in_order(self, order: str) -> ComposedLoss:
        return replace(self, order=order, parts=tuple((law.in_order(order), k) for law, k in self.parts))

    def infinity(self) -> Ball:
        """1 - prod (1 - m_i)^{k_i} (T44)."""
        return composed_infinity([(law.infinity(), count) for law, count in self.parts])

    def largest(self) -> Ball | Fraction | None:
        """The sum of the laws' suprema, exact where all are; None: infinite (T07)."""
        ends = [(law.largest(), count) for law, count in self.laws]
        if any(end is None for end, _ in ends):
            return None
        exact = [end * count for end, count in ends if isinstance(end, Fraction)]
        if len(exact) == len(ends):
            return sum(exact, Fraction(0))
        return total(ball(end) * count for end, count in ends)  # type: ignore[arg-type]

    def smallest(self) -> Ball | None:
        ends = [(law.smallest(), count) for law, count in self.laws]
        return None if any(end is None for end, _ in ends) else total(e * k for e, k in ends if e is not None)


def composed_infinity(masses: list[tuple[Ball, int]]) -> Ball:
    if any(mass.m == 1 and not (mass.r or mass.e) for mass, _ in masses):
        return Ball(1)
    return -expm1(total(log1p(-mass) * count for mass, count in masses if not mass.is_zero()))
