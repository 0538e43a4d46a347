"""Records of one or two steps by the hundred thousand: each lies between the least and the largest steps of its box.

delta and eps grow with every sensitivity (T119). So the records are put into boxes of squared sensitivities whose
corners are solved, and boxes that are wide are cut in two: as many as it takes, however many the records (T148).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from math import isqrt

import numpy as np

from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.counts import Counts
from verified_dp.individual.squares import SQUARE_SLACK
from verified_dp.individual.training import SPLIT_BITS, UNIT_BITS

UNIT = 2**UNIT_BITS
SLACK = int(SQUARE_SLACK * UNIT)

Corner = tuple[int, ...]
"""Squared sensitivities of all steps, in units of 2^-60."""


@proved_by("T148-boxes")
def few_squares(counts: Counts, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(places, least, most): the records of `steps` (1 or 2) steps each known to 2^-47, and r^2 2^60 of every step.

    Those are known where no two are in one bucket, or where both are clipped; sorted for each record.
    """
    values = counts.high * 2**SPLIT_BITS + counts.low
    clipped = (counts.steps == 2) & (values == 2 * UNIT)
    apart = ((counts.steps <= 1) | clipped).all(axis=1) & (counts.steps.sum(axis=1) == steps)
    places = np.flatnonzero(apart)
    most = np.sort(values[places], axis=1)[:, -steps:]
    most = np.where(clipped[places].any(axis=1)[:, None], UNIT, most)
    return places, np.maximum(most - SLACK, 0), most


@dataclass(frozen=True)
class Box:
    """Records (rows of `least` and `most`) whose steps lie between two corners; final: it is not cut any more."""

    rows: np.ndarray
    low: Corner
    high: Corner
    final: bool = False


@proved_by("T148-boxes")
def enclose_boxes(least: np.ndarray, most: np.ndarray, solve: Callable[[Corner], tuple[float, float]],
                  narrow: Callable[[float, float], bool], limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds for every record, at most `limit` corners solved: those of its smallest box; boxes of most records first.

    solve: bounds of a function that grows with every square.
    """
    (lower, upper), known = (np.zeros(len(most)), np.full(len(most), np.inf)), dict[Corner, tuple[float, float]]()

    def solved(corner: Corner) -> tuple[float, float]:
        if corner not in known:
            known[corner] = solve(corner)
        return known[corner]

    waiting, number = list[tuple[int, int, Box]](), count()

    def put(box: Box) -> None:
        if len(box.rows):
            heappush(waiting, (-len(box.rows), next(number), box))

    put(_hull(np.arange(len(most)), least, most))
    while waiting and len(known) + 1 < limit:
        box = heappop(waiting)[2]
        low, high = solved(box.low)[0], solved(box.high)[1]
        lower[box.rows] = np.maximum(lower[box.rows], low)
        upper[box.rows] = np.minimum(upper[box.rows], high)
        if not (box.final or narrow(low, high)):
            for part in _cut(box, least, most):
                put(part)
    return lower, upper


@proved_by("T148-boxes")
def _hull(rows: np.ndarray, least: np.ndarray, most: np.ndarray) -> Box:
    """The smallest box of some records; final if they are alike."""
    if not len(rows):
        return Box(rows, (), (), True)
    alike = bool((most[rows] == most[rows[0]]).all())
    return Box(rows, tuple(least[rows].min(axis=0).tolist()), tuple(most[rows].max(axis=0).tolist()), alike)


@proved_by("T148-boxes")
def _cut(box: Box, least: np.ndarray, most: np.ndarray) -> list[Box]:
    """Both parts of the axis with the largest ratio, cut at the geometric mean, and apart what is on both sides of it.

    The parts share corners with others; records that are alike get a box of their own.
    """
    axis = max(range(len(box.low)), key=lambda i: (box.high[i] + 1) / (box.low[i] + 1))
    middle = max(isqrt(box.low[axis] * box.high[axis]), isqrt(box.high[axis]))
    if not box.low[axis] < middle < box.high[axis]:
        return [replace(_hull(box.rows, least, most), final=True)]
    below, above = most[box.rows, axis] <= middle, least[box.rows, axis] >= middle
    hulls = [_hull(box.rows[side], least, most) for side in (below, above, ~(below | above))]
    corners = (box.low, _with(box.high, axis, middle)), (_with(box.low, axis, middle), box.high)
    parts = [hull if hull.final else Box(hull.rows, *ends) for hull, ends in zip(hulls, corners, strict=False)]
    return [*parts, replace(hulls[2], final=True)]


def _with(corner: Corner, axis: int, value: int) -> Corner:
    return (*corner[:axis], value, *corner[axis + 1:])
