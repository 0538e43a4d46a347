"""delta at many eps from one evaluation: a product of its terms with the exponentials of all eps (T225).

A contour's sum is a sum of exponentials in eps, and so are the bounds of its errors: these are computed at the ends of
short runs of eps, between which they are convex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from flint import acb, acb_mat, arb, ctx

from verified_dp.core.engines.contour import LineValues
from verified_dp.core.engines.rays import RaysValues, RayValues, bound_gauss
from verified_dp.core.engines.shared import all_powers
from verified_dp.core.kernel.balls import BOUND_BITS, ball, largest, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.turns import contracted, turned_sums

_REACH = 3.0
"""By how much a bound of errors may differ along half of a run of eps."""

Term = tuple[arb, int]
"""(s, j): the function s e^{-x_j eps}, s >= 0."""


@dataclass(frozen=True)
class Errors:
    """Bounds by source: sums of largest ones of exponentials with these rates x_j.

    above_only: sources by which the sum may exceed delta, and not fall below it.
    """

    rates: list[arb]
    sources: dict[str, list[list[Term]]]
    above_only: frozenset[str] = frozenset()

    @proved_by("T225-along")
    def bound(self, epsilon: arb) -> dict[str, arb]:
        """Bound each source at eps."""
        falls = [(-rate * epsilon).exp() for rate in self.rates]
        return {name: upper_end(sum((largest([size * falls[j] for size, j in group]) for group in groups), arb(0)))
                for name, groups in self.sources.items()}


def enclose_along(values: Any, epsilons: Sequence[Fraction]) -> list[Bounds]:
    """Enclose delta at each of these growing eps; one by one where no better way is known.

    Raises: ValueError where they do not grow.
    """
    if any(after < before for before, after in pairwise(epsilons)):
        raise ValueError("epsilons must grow")
    if isinstance(values, LineValues):
        return _along_line(values, epsilons)
    if isinstance(values, RaysValues):
        return _along_rays(values, epsilons)
    if (name := type(values).__name__) in _ATOMS:
        from verified_dp.search import along_atoms  # of atoms and pieces alone

        found: list[Bounds] = getattr(along_atoms, _ATOMS[name])(values, epsilons)
    else:
        found = [values.delta(epsilon) for epsilon in epsilons]
    return with_one_budget(found)


def with_one_budget(found: Sequence[Bounds]) -> list[Bounds]:
    """The same bounds, each with the largest share of every source of error in any of them."""
    names = dict.fromkeys(name for one in found for name in one.budget)
    budget = {name: largest([one.budget.get(name, arb(0)) for one in found]) for name in names}
    return [replace(one, budget=budget) for one in found]


_ATOMS = {"LatticeValues": "along_lattice", "ClosedFormValues": "along_closed_form"}


@proved_by("T225-along", "T157-known-aliases")
def _along_line(values: LineValues, epsilons: Sequence[Fraction]) -> list[Bounds]:
    """Of a line (T192): one product for the sums at all eps."""
    with ctx.workprec(values.witness.prec):
        (tilt, step, scale), at = values.scales, [ball(epsilon) for epsilon in epsilons]
        sums = turned_sums(values.pieces, [acb(0, -(step * x)).exp() for x in at])
        totals = [(-(tilt * x)).exp() * scale * one.real for x, one in zip(at, sums, strict=True)]
        if values.witness.left < 0:
            one, power = values.known_factors
            totals = [total - one + power * x.exp() for total, x in zip(totals, at, strict=True)]
        beside = values.infinity_mass + values.lost_mass
        totals = [total + beside for total in totals]
    return _with_errors(totals, epsilons, errors_of_line(values), lower_end(values.infinity_mass))


@proved_by("T225-along")
def _along_rays(values: RaysValues, epsilons: Sequence[Fraction]) -> list[Bounds]:
    """Of both rays (T187): one product for each of their levels."""
    with ctx.workprec(values.witness.prec):
        at = [ball(epsilon) for epsilon in epsilons]
        totals = [sum(both, acb(0)).imag / arb.pi() for both in zip(*(_ray_sums(ray, at) for ray in values.rays),
                                                                    strict=True)]
    return _with_errors(totals, epsilons, errors_of_rays(values), arb(0))


@proved_by("T225-along")
def _ray_sums(ray: RayValues, at: Sequence[arb]) -> list[acb]:
    """Enclose the sums of a ray's terms times e^{-z eps}: a level's offsets and stride are twice the last one's."""
    many, (first, end) = len(ray.offsets), ray.levels[0].ends
    phases = [[(-offset * x).exp() for x in at] for offset in ray.offsets[:(many + 1) // 2]]
    phases += [[1 / phase for phase in row] for row in phases[:many // 2][::-1]]  # at the opposite offsets
    halves = [(-(end - first) / (2 * len(ray.levels[0].middles)) * x).exp() for x in at]
    starts, total = [(-ray.levels[0].middles[0] * x).exp() for x in at], [acb(0)] * len(at)
    for n, level in enumerate(ray.levels):
        phases = [[phase * phase for phase in row] for row in phases] if n else phases
        strides = [half * half for half in halves]
        leaps = all_powers(strides, len(level.middles) + 1)
        if len(level.middles) > len(phases):
            middles = [[start * leap for start, leap in zip(starts, row, strict=True)] for row in leaps[:-1]]
            sums = contracted((level.terms.transpose() * acb_mat(middles)).tolist(), phases)
        else:
            found = contracted((level.terms * acb_mat(phases)).tolist(), leaps[:-1])
            sums = [start * one for start, one in zip(starts, found, strict=True)]
        total = [x + y for x, y in zip(total, sums, strict=True)]
        starts = [start * leap * half for start, leap, half in zip(starts, leaps[-1], halves, strict=True)]
        halves = strides
    return total


@proved_by("T225-along", "T04-alias-bounds", "T05-frequency-truncation")
def errors_of_line(values: LineValues) -> Errors:
    """As `LineValues.bound_errors`, before eps is known."""
    witness, (tilt, _, scale) = values.witness, values.scales
    with ctx.workprec(BOUND_BITS):
        right, left = values.alias_factors
        sizes = {"quadrature": scale * values.quadrature, "node_tail": scale * values.node_tail,
                 "frequency_tail": values.tail_factor}
        found = {name: [[(size, 0)]] for name, size in sizes.items() if not size.is_zero()}
        found["aliasing"] = [[(right, 1)], [(left, 2)]]
        rates = [+tilt, ball(witness.right), ball(witness.left)]
        if witness.reaches:
            found["truncation"], rates = [[(values.lost_mass, 3)]], [*rates, arb(0)]
    return Errors(rates, found, frozenset({"aliasing", "truncation"}))


@proved_by("T225-along", "T17-gauss-legendre")
def errors_of_rays(values: RaysValues) -> Errors:
    """As `RaysValues.bound_errors`, before eps is known."""
    witness = values.witness
    with ctx.workprec(BOUND_BITS):
        rates, panels, beyond = [ball(witness.tilt)], list[list[Term]](), list[list[Term]]()
        for found, ray in zip(values.rays, (witness.low, witness.high), strict=True):
            for level, stated in zip(found.levels, ray.levels, strict=True):
                sizes = [bound_gauss(level.ends, [z], [mass], stated.ellipse, ray.points, arb(0)) / arb.pi()
                         for z, mass in zip(level.corners, level.corner_masses, strict=True)]
                panels.append([(size, len(rates) + j) for j, size in enumerate(sizes)])
                rates += [z.real for z in level.corners]
            beyond.append([(found.beyond / (2 * found.top.abs_lower()), len(rates))])
            rates.append(found.top.real)
    return Errors(rates, {"quadrature": [[(values.quadrature, 0)]], "node_tail": [[(values.node_tail, 0)]],
                          "panels": panels, "frequency_tail": beyond})


def _runs(size: Callable[[int], dict[str, arb]], first: int, last: int) -> Iterator[tuple[int, int]]:
    """(first, last) of runs at whose ends the sum of the errors is at most _REACH times that in the middle.

    The last eps of one is the first of the next, or comes after (first, first), where neighbours differ by more.
    """
    middle = (first + last) // 2
    before, inside, after = (sum(size(i).values(), arb(0)) for i in (first, middle, last))
    if before.max(after) <= _REACH * inside:
        yield first, last
    elif last - first <= 1:
        yield first, first
    else:
        yield from _runs(size, first, middle)
        yield from _runs(size, middle, last)


@proved_by("T225-along", "T33-sum-and-errors")
def _with_errors(totals: Sequence[arb], epsilons: Sequence[Fraction], errors: Errors, least: arb) -> list[Bounds]:
    """The bounds at each eps: a run's errors are the larger ones of those at its first and its last eps.

    A run answers the eps before the first one of the next, which are none behind its own last.
    """
    found = list[Bounds]()

    @cache
    def size(i: int) -> dict[str, arb]:
        return errors.bound(ball(epsilons[i]))

    with ctx.workprec(BOUND_BITS):
        top = len(totals) - 1
        runs = [*(_runs(size, 0, top) if top > 0 else ()), *([(top, top)] if totals else [])]
    for (first, last), (end, _) in pairwise([*runs, (len(totals), 0)]):
        with ctx.workprec(BOUND_BITS):
            both = {name: one.max(size(last)[name]) for name, one in size(first).items()}
            around = sum((one for name, one in both.items() if name not in errors.above_only), arb(0))
            under = around + sum((both[name] for name in errors.above_only if name in both), arb(0))
        own = totals[first:end]
        budget = {**both, "rounding": largest([total.rad() for total in own])}
        found += [Bounds(lower_end(total - under).max(least).max(arb(0)), upper_end(total + around).min(arb(1)), budget)
                  for total in own]
    return found
