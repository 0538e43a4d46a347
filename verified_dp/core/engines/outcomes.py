"""Lines of listed outcomes as earlier certificates state them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

from verified_dp.core.engines.contour import LineWitness


@dataclass(frozen=True)
class EarlierOutcomes:
    """A line of laws that are all listed, none of its nodes (T192)."""

    tilt: Fraction
    step: Fraction
    count: int
    reaches: tuple[int, ...]
    cover: tuple[tuple[int, int], ...]
    right: Fraction
    left: Fraction
    prec: int

    kind: ClassVar[str] = "outcomes"
    method: ClassVar[str] = "contour"
    sources: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def now(self) -> LineWitness:
        """The line that makes the same statement."""
        return LineWitness(self.tilt, self.step, self.count, (), (), self.right, self.left, self.prec, self.reaches,
                           self.cover)
