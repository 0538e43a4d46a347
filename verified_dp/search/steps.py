"""Floating-point choices of the lattice's grid: its step, where it lies for each law, and the gap to be expected."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid, enclose_step
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.search.deadline import check_time, timed
from verified_dp.search.lattice_model import LatticeModel, LawModel, shift_of
from verified_dp.search.line import dyadic

MAX_CELLS = 8_000_000
"""Of one window: about a gigabyte while it is multiplied."""
COARSE = 2.0**-9
"""Of a grid whose gap is not measured before."""
_MOST_VERTICES = 10**5
"""Of a grid whose gap is only measured."""
_KEPT = 5e-6
"""Seconds per cell below which masses were not computed but kept from before."""
_TRIES = 4000
"""Steps that are tried to find one that meets all atoms."""
_FINEST = 2**50
"""Parts of a distance between atoms beyond which doubles do not tell on what grid others are."""
_CLOSE = 2.0**-30
"""Atoms this close to the grid, in steps, count as on it."""


def spacings(model: LatticeModel) -> list[Fraction]:
    """How far atoms of one law are apart, increasing."""
    return sorted({abs(other - law.anchors[0]) for law, _ in model.parts for other in law.anchors[1:]})


def align(model: LatticeModel, step: float) -> Fraction:
    """A step of at most this size, up to a factor 2 less, that puts all atoms of each law on a grid, or near one.

    Where it is wider than the closest atoms are apart, a multiple of their distance.
    """
    if not step > 0:
        raise Unsupported("the lattice method finds no grid for steps as revealing as these: delta is nearly 1")
    base, *others = spacings(model) or [Fraction(0)]
    if not base:
        return dyadic(step, 20)
    if step >= 2 * base:
        return base * math.floor(Fraction(step) / base)
    least = max(math.ceil(base / Fraction(step)), 1)
    if least > _FINEST:
        return base / least
    parts = np.arange(least, least + _TRIES)
    missed = np.zeros(len(parts))
    for spacing in others:
        multiple = parts * float(spacing / base)
        missed = np.maximum(missed, np.abs(multiple - np.round(multiple)))
    close = np.nonzero(missed < _CLOSE)[0]
    near = missed[: max(least, 50)]
    return base / int(parts[close[0] if len(close) else near.argmin()])


def grid_ends(law: LawModel, step: Fraction, high: int = 10**12) -> tuple[int, int]:
    """The first and last index of a law's range, the last one at most `high`, the first one left of the finite mass."""
    first, last = math.floor(law.low / step) - 1, min(math.ceil(law.high / step), high)
    finite = math.log1p(-math.exp(law.infinity)) if law.infinity < 0 else 0.0
    return min(first, math.floor(finite / step) - 2), max(last, 1)


def gap_at(model: LatticeModel, tilt: float, step: Fraction) -> float:
    """The relative width of delta to be expected with a grid step: the difference of both sides' K at the tilt.

    nan where the grid has too many cells to be measured.
    """
    total = 0.0
    with ctx.workprec(112 + 2 * max(math.ceil(-math.log2(step)), 0)):
        for law, count in timed(model.parts):
            low, high = (edge / step for edge in law.window(tilt))
            first, last = grid_ends(law, step, math.ceil(min(high, 1e12)))
            start = max(first, min(math.floor(max(low, first)), last))
            strides = law.strides(tilt, step, first, last, start, _MOST_VERTICES)
            grid = LawGrid(first, strides, shift=shift_of(law, step))
            if grid.size > _MOST_VERTICES:
                return math.nan
            begun = time.process_time()
            masses = enclose_step(law.law, grid, step, 100, check_time)
            taken = (time.process_time() - begun) / len(masses.vertices)
            law.seconds = taken if taken > _KEPT else law.seconds
            weights = [(ball(step * i) * arb(tilt)).exp() for i in timed(masses.vertices)]
            above = sum((m * w for m, w in zip(masses.above, weights, strict=True)), arb(0))
            below = sum((m * w for m, w in zip(masses.below, weights, strict=True)), arb(0))
            total += count * float((above / below).log()) if below > 0 else math.inf
    return total


def choose_step(model: LatticeModel, tilt: float, width: float) -> Fraction:
    """The grid step whose gap should be `width`: extrapolated as h^2 from a coarse grid, whose gap is measured.

    Where atoms alone make up the laws, and all lie on one coarse grid, that one.
    """
    _, _, variance = model.cumulants(tilt)
    count = sum(k for _, k in model.parts)
    step = math.sqrt(8e-2 / (count * tilt * (tilt + 1)))
    spread = min(max(math.sqrt(law.cumulants(tilt)[2]), 1e-12) for law, _ in model.parts)
    step = min(step, spread, math.sqrt(variance) / 4)
    whole = step_of_all_atoms(model, tilt, width)
    if whole is not None:
        return whole
    if width >= COARSE:  # what it gives tells the next step
        return align(model, step / 4)
    gap, aligned = _measured(model, tilt, step, max(0.02, width))
    return align(model, min(float(aligned), float(aligned) * math.sqrt(0.7 * width / max(gap, 1e-300))))


def step_of_all_atoms(model: LatticeModel, tilt: float, width: float) -> Fraction | None:
    """The step of a grid which all atoms lie on, or so near that the gap is small; None where there is none."""
    close = spacings(model)
    if not close or not all(law.anchors for law, _ in model.parts):
        return None
    coarse = align(model, float(close[0]) * 1.5)
    alone = len(close) == 1 and all(law.one_grid for law, _ in model.parts)
    return coarse if alone or gap_at(model, tilt, coarse) < width / 4 else None


def _measured(model: LatticeModel, tilt: float, step: float, width: float) -> tuple[float, Fraction]:
    """A step of at most this gap that can be measured, and its gap: finer while wider, coarser where cells are many.

    Raises Unsupported where there is none.
    """
    many, few = 0.0, math.inf  # steps that are too fine, and too coarse
    for _ in range(10):
        aligned = align(model, step)
        gap = gap_at(model, tilt, aligned)
        if gap <= width:
            return gap, aligned
        if math.isnan(gap):
            many = max(many, float(aligned))
            step = 8 * many if math.isinf(few) else math.sqrt(many * few)
        else:
            few = min(few, float(aligned))
            step = few * min(0.5, math.sqrt(0.01 / gap) if math.isfinite(gap) else 0.25)
            step = step if step > many else math.sqrt(many * few)
        if few < 1.5 * many:
            break
    raise Unsupported("the lattice method finds no grid fine enough here: eps is next to the largest loss")
