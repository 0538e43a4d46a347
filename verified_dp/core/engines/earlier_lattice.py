"""Witnesses of lattices in earlier certificates, which are on a circle today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.table import only_in


@dataclass(frozen=True)
class EarlierGrid:
    """start: what was left of this index was moved there."""

    first: int
    blocks: tuple[tuple[int, int], ...]
    start: int
    shift: Fraction

    def now(self) -> LawGrid:
        """The same vertices."""
        return LawGrid(self.first, self.blocks, self.shift)


@dataclass(frozen=True)
class EarlierSparse:
    """A circle of frequencies, as today's."""

    step: Fraction
    tilt: Fraction
    bits: int
    grids: tuple[EarlierGrid, ...]
    period: int
    count: int
    cover: tuple[tuple[int, int], ...]
    right: Fraction
    left: Fraction
    prec: int

    kind: ClassVar[str] = "sparse"
    method: ClassVar[str] = "lattice"
    sources: ClassVar[Mapping[str, str]] = {}

    def now(self) -> LatticeWitness:
        """The same numbers."""
        return LatticeWitness(**{**vars(self), "grids": tuple(grid.now() for grid in self.grids)})


@dataclass(frozen=True)
class EarlierLattice:
    """Products that were cut to windows."""

    step: Fraction
    tilt: Fraction
    bits: int
    grids: tuple[EarlierGrid, ...]
    windows: tuple[tuple[int, int], ...]
    prec: int

    kind: ClassVar[str] = "lattice"
    method: ClassVar[str] = "lattice"
    sources: ClassVar[Mapping[str, str]] = {}

    def now(self) -> LatticeWitness:
        """The same grids on a circle three times as long as the longest window, with more bits: aliases are far below
        what was cut. Raises Unsupported without a tilt.
        """
        if self.tilt <= 0 or not self.grids:
            raise only_in("0.3.0", self.kind)
        grids = tuple(grid.now() for grid in self.grids)
        spans = [*(grid.span for grid in grids), *(high - low for low, high in self.windows)]
        reach = 1 + max(spans)  # exact: integers
        apart = 72 / (reach * self.step)
        return LatticeWitness(self.step, self.tilt, self.bits + 16, grids, 6 * reach + 1, 0, (), self.tilt + apart,
                              (self.tilt - apart) * (self.tilt > apart), self.prec + 32)
