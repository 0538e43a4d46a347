"""One step's loss on a grid x_i = (i + shift) h: connect-the-dots above, a convex minorant below (T26, T27).

With alpha = e^x, D(alpha) = H_alpha(P || Q) - P(L = inf) is convex, D(0) = 1 - P(L = inf), D >= 0. A polyline with
kinks at alpha_i that is constant after the last one is the profile of the masses p_i = alpha_i (jump of its slope).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

from flint import arb, ctx

from verified_dp.core.engines.shared import kept
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import Pace, nothing, paced


@dataclass(frozen=True)
class LawGrid:
    """Witness: the first vertex's index, then blocks (cells, stride): so many cells of so many grid steps each.

    shift: where the grid lies, in [0, 1): index i stands for the loss (i + shift) h.
    """

    first: int
    blocks: tuple[tuple[int, int], ...]
    shift: Fraction = Fraction(0)

    def is_proper(self) -> bool:
        """At least two cells, the first vertex at a negative loss."""
        sizes = all(cells > 0 and stride > 0 for cells, stride in self.blocks)
        return self.first < 0 <= self.shift < 1 and sizes and self.size >= 2

    @property
    def size(self) -> int:
        """The number of cells."""
        return sum(cells for cells, _ in self.blocks)

    @property
    def span(self) -> int:
        """From the first vertex to the last, in grid steps."""
        return sum(abs(cells * stride) for cells, stride in self.blocks)

    @proved_by("T26-connect-the-dots")
    def vertices(self) -> list[int]:
        """The indices of all vertices, increasing."""
        found = [self.first]
        for cells, stride in self.blocks:
            start = found[-1]
            found += range(start + stride, start + cells * stride + 1, stride)
        return found


@dataclass(frozen=True)
class StepMasses:
    """Masses at the grid indices: upper bounds of a dominating law's, lower bounds of a dominated one's (exact balls).

    infinity_above: upper bound of the dominating law's infinity mass; infinity: encloses the law's own.
    """

    vertices: list[int]
    above: list[arb]
    below: list[arb]
    infinity_above: arb
    infinity: arb


class OnGrids(Protocol):
    """A witness that puts every law on a grid."""

    @property
    def step(self) -> Fraction:
        """The grid step."""

    @property
    def grids(self) -> tuple[LawGrid, ...]:
        """One for each law."""

    @property
    def prec(self) -> int:
        """Bits."""


def total_shift(grids: Sequence[LawGrid], counts: Sequence[int]) -> Fraction:
    """The shift of the composition's grid: the sum of the shifts of all steps."""
    return sum((count * grid.shift for grid, count in zip(grids, counts, strict=True)), Fraction(0))


def enclose_step(law: Law, grid: LawGrid, step: Fraction, bits: int,
                 between: Callable[[], None] = nothing) -> StepMasses:
    """Both discrete laws of one step. bits: the relative margin 2^-bits that the lower one keeps from its polyline."""
    between()
    return _enclose_step(law, grid, step, bits, Pace(between))


@kept(8)
def _enclose_step(law: Law, grid: LawGrid, step: Fraction, bits: int, pace: Pace) -> StepMasses:
    vertices = grid.vertices()
    places = [step * (i + grid.shift) for i in paced(vertices, pace.between)]
    masses = law.enclose_masses(places[0], places[1] - places[0], len(places)) if len(grid.blocks) == 1 else None
    if masses is not None:
        return keep_atoms(law, vertices, places, masses)
    points = [ball(x) for x in places]
    alphas = [x.exp() for x in paced(points, pace.between)]
    sticks = [law.enclose_hockey_stick(x) for x in paced(points, pace.between)]
    infinity = law.enclose_infinity_mass()
    lines = bound_cells(law, points, alphas, [stick - infinity for stick in sticks], infinity, pace.between)
    at_zero, at_first = bound_start(law, points[0], alphas[0], infinity)
    values = join_cells(at_first, lines)
    below = hull_masses(alphas, [value * (1 - arb((1, -bits))) for value in values], at_zero)
    if not is_below(alphas, below, values, at_zero):
        raise InvalidInput("witness.prec", ctx.prec, "enough bits for the lower lattice law")
    return StepMasses(vertices, connect_the_dots(alphas, sticks), below, upper_end(sticks[-1]), infinity)


@proved_by("T221-atoms-on-a-grid")
def keep_atoms(law: Law, vertices: list[int], places: Sequence[Fraction], masses: Sequence[arb]) -> StepMasses:
    """Both laws where all atoms from the first place to the last lie on the grid: these, and above what is outside.

    The rest on the left joins the first atom, alpha_n Q(L > x_n) the last one; tails are taken half a step inside.
    """
    last, half = ball(places[-1]), (places[1] - places[0]) / 2
    left, right = 1 - law.enclose_tails(ball(places[0] + half))[0], law.enclose_tails(ball(places[-1] - half))[1]
    above = [upper_end(mass) for mass in [left, *masses[1:-1], last.exp() * right]]
    below = [lower_end(mass).max(arb(0)) for mass in masses]
    return StepMasses(vertices, above, below, upper_end(law.enclose_hockey_stick(last)), law.enclose_infinity_mass())


@proved_by("T26-connect-the-dots", "T27-convex-minorant")
def kink_masses(alphas: Sequence[arb], values: Sequence[arb], at_zero: arb) -> list[arb]:
    """Enclose alpha_i (slope after - slope before) of the polyline (0, at_zero), (alpha_i, value_i), then constant."""
    slopes = [(values[0] - at_zero) / alphas[0]]
    slopes += [(v1 - v0) / (a1 - a0) for (a0, a1), (v0, v1) in zip(pairwise(alphas), pairwise(values), strict=True)]
    slopes.append(arb(0))
    return [alpha * (after - before) for alpha, (before, after) in zip(alphas, pairwise(slopes), strict=True)]


@proved_by("T26-connect-the-dots")
def connect_the_dots(alphas: Sequence[arb], sticks: Sequence[arb]) -> list[arb]:
    """Bound the masses of the polyline through (0, 1), (alpha_i, H_i) from above; its infinity mass is the last H."""
    return [upper_end(mass).max(arb(0)) for mass in kink_masses(alphas, sticks, arb(1))]


@proved_by("T27-convex-minorant")
def bound_cells(law: Law, places: Sequence[arb], alphas: Sequence[arb], values: Sequence[arb],
                infinity: arb, between: Callable[[], None] = nothing) -> list[tuple[arb, arb]]:
    """For each cell the two end values of a line that is at most D on the whole cell, and not negative there.

    The line P(x < L < inf) - alpha Q(L > x), x the cell's middle or, where that line falls below 0 (D ends with an atom
    at the cell's end), almost its end; where that falls below 0, too, the value of D at the end.
    """
    lines, shares = [], (arb(1) / 2, 1 - arb((1, -40)))
    for n, (start, end) in enumerate(paced(pairwise(places), between)):
        line = None
        for share in shares:
            first, second = law.enclose_tails(start + share * (end - start))
            left, right = (lower_end(first - infinity - alpha * second) for alpha in alphas[n : n + 2])
            if left >= right >= 0:
                line = left, right
                break
        least = lower_end(values[n + 1]).max(arb(0))
        lines.append(line or (least, least))
    return lines


@proved_by("T27-convex-minorant")
def bound_start(law: Law, place: arb, alpha: arb, infinity: arb) -> tuple[arb, arb]:
    """Values (>= 0) at 0 and at alpha_0 of the line P(x < L < inf) - alpha Q(L > x), x = log alpha_0."""
    first, second = law.enclose_tails(place)
    return lower_end(first - infinity).max(arb(0)), lower_end(first - infinity - alpha * second).max(arb(0))


@proved_by("T27-convex-minorant")
def join_cells(at_first: arb, lines: Sequence[tuple[arb, arb]]) -> list[arb]:
    """At each vertex a value such that the polyline through them is at most every cell's line; the last is 0."""
    inner = [left.min(right) for (_, left), (right, _) in pairwise(lines)]
    return [at_first.min(lines[0][0]), *inner, arb(0)]


@proved_by("T27-convex-minorant")
def hull_masses(alphas: Sequence[arb], values: Sequence[arb], at_zero: arb) -> list[arb]:
    """Bound from below the masses of the lower convex hull of the points; 0 at the vertices above it.

    Which vertices are kept is only a choice: `is_below` checks the outcome.
    """
    places, points = [-1], [(arb(0), at_zero)]
    for n, point in enumerate(zip(alphas, values, strict=True)):
        while len(points) > 1 and not _slope(points[-2], points[-1]) < _slope(points[-1], point):
            points.pop()
            places.pop()
        points.append(point)
        places.append(n)
    masses = [arb(0)] * len(alphas)
    kinks = kink_masses([a for a, _ in points[1:]], [v for _, v in points[1:]], points[0][1])
    for n, mass in zip(places[1:], kinks, strict=True):
        masses[n] = lower_end(mass).max(arb(0))
    return masses


def _slope(left: tuple[arb, arb], right: tuple[arb, arb]) -> arb:
    return (right[1] - left[1]) / (right[0] - left[0])


@proved_by("T27-convex-minorant")
def is_below(alphas: Sequence[arb], masses: Sequence[arb], values: Sequence[arb], at_zero: arb) -> bool:
    """Whether sum_j p_j (1 - alpha / alpha_j)_+ is at most value_i at every alpha_i, and at most at_zero at 0."""
    total, weight = arb(0), arb(0)
    for alpha, mass, value in zip(reversed(alphas), reversed(masses), reversed(values), strict=True):
        if not total - alpha * weight <= value:
            return False
        total, weight = total + mass, weight + mass / alpha
    return bool(total <= at_zero)


def work_of_grids(loss: ComposedLoss, witness: OnGrids) -> int:
    """Units which the laws' values at all vertices take: two a cell; far out, sums that no table holds."""
    return sum(_work_on_grid(law, grid, witness.step, witness.prec)
               for (law, _), grid in zip(loss.laws, witness.grids, strict=False))


def _work_on_grid(law: Law, grid: LawGrid, step: Fraction, prec: int) -> int:
    cells = sum(abs(cells) for cells, _ in grid.blocks)
    reach = law.table_reach(prec)
    far = 0 if reach is None else _cells_beyond(reach, grid, step)
    return 2 * cells * law.value_work(prec) + (2 * far + 1) * law.table_work(prec)


def _cells_beyond(reach: Fraction, grid: LawGrid, step: Fraction) -> int:
    """The cells of all blocks that hold losses larger in size."""
    index, far = grid.first, 0
    for cells, stride in grid.blocks:
        start, index = index, index + cells * stride
        far += abs(cells) if max(abs(start), abs(index)) * abs(step) > reach else 0  # exact: rational numbers
    return far
