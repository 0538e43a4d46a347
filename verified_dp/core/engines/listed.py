"""Laws on a line whose transforms are bounded cell by cell: sums over listed atoms, closed forms (T189, T192, T220)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from flint import acb, arb

from verified_dp.core.engines.direct import DirectLaw, direct_parts, is_direct
from verified_dp.core.engines.powers import turn_sums
from verified_dp.core.engines.rules import is_atomic, is_on_lines, is_ruled
from verified_dp.core.kernel.balls import integer_above, lower_end, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law, Listed
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, root_above, words


@proved_by("T189-angle")
def bound_by_angle(sizes: Sequence[arb], total: arb, deviation: arb, reach: arb) -> list[arb]:
    """Bound |M(c+iw)| within `reach` of each frequency at which it has at most one of these sizes.

    |M| <= M(c) cos(arccos(r) - v reach), r = |M|/M(c) <= cos(v reach) in the middle, v the tilted law's deviation.
    """
    most, least, turned, found = upper_end(total), lower_end(total), upper_end(deviation * reach), []
    if not (turned < arb.pi() / 2 and least > 0):
        return [most] * len(sizes)
    cosine, sine = turned.cos(), turned.sin()
    for size in sizes:
        bound, share = most, upper_end(size / least)
        if share <= cosine:
            bound = upper_end(most * (share * cosine + (1 - share * share).sqrt() * sine))
        found.append(bound)
    return found


@dataclass(frozen=True)
class Tilted:
    """Losses, and masses times e^{c loss}: what stands for M on the line Re z = c. rest: weights of others."""

    losses: list[arb]
    weights: list[arb]
    rest: arb = field(default_factory=arb)

    @staticmethod
    def of(listed: Listed, tilt: arb) -> Tilted:
        """Those of listed outcomes."""
        return Tilted([loss for loss, _ in listed.atoms], [mass * (tilt * loss).exp() for loss, mass in listed.atoms])

    @proved_by("T192-line")
    def enclose_on_line(self, step: arb, count: int, between: Callable[[], None] = nothing) -> list[acb]:
        """Enclose M(c + i m step) for m = 0..count."""
        return self.sums([self.weights], arb(0), step, count, between)[0]

    def sums(self, rows: Sequence[Sequence[arb]], frequency: arb, step: arb, count: int,
             between: Callable[[], None] = nothing) -> list[list[acb]]:
        """Enclose sum_j row_j e^{i l_j (frequency + m step)} for m = 0..count, for each row of weights."""
        starts = [acb(0, loss * frequency).exp() for loss in self.losses]
        turned = [[weight * start for weight, start in zip(row, starts, strict=True)] for row in rows]
        return turn_sums(turned, [acb(0, loss * step).exp() for loss in self.losses], count, between)

    @proved_by("T189-angle")
    def bound_cells(self, middle: arb, width: arb, reach: arb, cells: int) -> list[arb]:
        """Bound |M(c+iw)| for |w - middle - n width| <= reach, n < cells, by its size in the middle alone."""
        if not reach * self.deviation < arb.pi() / 2:  # nothing is said of so wide a cell
            return [upper_end(self.total)] * cells
        sizes = [value.abs_upper() + self.rest for value in self.sums([self.weights], middle, width, cells - 1)[0]]
        return bound_by_angle(sizes, self.total, self.deviation, reach)

    @property
    def total(self) -> arb:
        """Enclose M(c)."""
        return sum(self.weights, self.rest)

    @proved_by("T189-angle")
    def within(self, low: arb, high: arb) -> Tilted:
        """The same with the losses from low to high, the weights of all others in the rest: e^{iwl} is at most 1."""
        inside, rest = list[tuple[arb, arb]](), self.rest
        for loss, weight in zip(self.losses, self.weights, strict=True):
            if low <= loss <= high:
                inside.append((loss, weight))
            else:
                rest += weight
        found = Tilted([loss for loss, _ in inside], [weight for _, weight in inside], rest)
        vars(found)["deviation"] = self.deviation  # of all
        return found

    @cached_property
    @proved_by("T189-angle")
    def deviation(self) -> arb:
        """Bound the standard deviation of the law with these weights."""
        total = sum(self.weights, arb(0))
        centre = upper_end(sum((w * x for x, w in zip(self.losses, self.weights, strict=True)), arb(0)) / total)
        squares = sum((weight * (loss - centre) * (loss - centre)
                       for loss, weight in zip(self.losses, self.weights, strict=True)), arb(0))
        return upper_end((squares / total).max(arb(0)).sqrt())


_PIECES = 24
"""Of half a window."""
_FAR = 64, 1024
"""Frequencies times the loss's range from which on, at least and at most, a density beside atoms is bounded."""


def has_cells(law: DirectLaw) -> bool:
    """Whether its transform is bounded cell by cell: its loss is finite, and its values hold on every line."""
    ends = law.enclose_smallest_loss(), law.enclose_largest_loss()
    return None not in ends and not is_on_lines(law)


@dataclass(frozen=True)
class Direct:
    """A law with a transform and two finite ends, on the line Re z = c."""

    law: DirectLaw
    tilt: arb

    @proved_by("T220-cells-of-transforms", "T189-angle")
    def bound_cells(self, middle: arb, width: arb, reach: arb, cells: int) -> list[arb]:
        """Bound |M(c+iw)| for |w - middle - n width| <= reach, n < cells.

        By its size in the middle; far out, where the law tells, by the atoms alone, and a bound of all else.
        """
        first, variation = middle - reach, self._variation
        near = cells if variation is None else min(  # exact: integers
            cells, integer_above(((self._far - first) / width).max(arb(0))))
        found = self._bound_near(middle, width, reach, near) if near else []
        if near < cells and variation is not None:
            inner = variation / first.max(self._far)
            found += [upper_end(size + inner) for size in self._atoms.bound_cells(
                middle + near * width, width, reach, cells - near)]
        return found

    def is_wide(self, first: arb, reach: arb) -> bool:
        """Whether windows of a cell that begins here are all that is looked at: it is half a turn wide, and far out."""
        known = self._variation is not None and len(self._atoms.losses) in (0, 2)
        return known and bool(first >= self._far) and not reach * self._spread < arb.pi() / 2

    @proved_by("T220-cells-of-transforms")
    def bound_mean(self, first: arb, step: arb, frequencies: int, count: int) -> arb:
        """Bound the mean of |M|^count at first, first + step, ...: of decreasing functions of the distance to a window.

        (L/2pi + 2) 2 (g(0) + int_0^pi g / d) / frequencies, d the step times the atoms' gap, L = (frequencies - 1) d,
        g(t) = (sqrt((a + b)^2 - 4 a b sin(t/2)^2) + V/first)^count.
        """
        inner, turn = (self._variation or arb(0)) / first, step * self._gap  # `is_wide` asks for the first
        a, b = self._atoms.weights or (arb(0), arb(0))
        places = [arb.pi() * j * j / _PIECES**2 for j in range(_PIECES + 1)]
        sines = [(place / 2).sin() for place in places[:-1]]
        heights = [((((a + b) * (a + b) - 4 * a * b * sine * sine).max(arb(0)).sqrt() + inner).log() * count).exp()
                   for sine in sines]
        area = sum((height * (end - start) for height, (start, end) in zip(heights, pairwise(places), strict=True)),
                   arb(0))
        windows = (frequencies - 1) * turn / (2 * arb.pi()) + 2
        mean = windows * 2 * (heights[0] + area / turn) / frequencies
        return upper_end(mean.min(heights[0]) if turn > 0 else heights[0])

    @cached_property
    def _variation(self) -> arb | None:
        return self.law.bound_variation(self.tilt)

    @cached_property
    def _atoms(self) -> Tilted:
        return Tilted.of(Listed(self.law.enclose_loss_atoms() or [], arb(0)), self.tilt)

    @property
    def _gap(self) -> arb:
        """Between the two atoms, 0 where there is none."""
        losses = self._atoms.losses
        return abs(losses[0] - losses[1]) if losses else arb(0)

    @property
    def _spread(self) -> arb:
        """Half the gap between both ends: no law between them deviates more."""
        largest, least = self.law.enclose_largest_loss(), self.law.enclose_smallest_loss()
        return arb.pos_inf() if largest is None or least is None else (largest - least) / 2

    @cached_property
    def _far(self) -> arb:
        """The frequency from which on cells are far out: all that is no atom is at most half of its mass, or enough."""
        turns = arb(_FAR[0])
        if self._variation is not None:
            inner = self.law.enclose_moment(self.tilt) - sum(self._atoms.weights, arb(0))
            turns = (4 * self._variation * self._spread / inner).max(arb(_FAR[0])).min(arb(_FAR[1]))
        return turns / (2 * self._spread)

    def _sums(self, middle: arb, width: arb, cells: int) -> list[arb]:
        """Bound |M(c+iw)| at equally spaced frequencies."""
        if not is_ruled(self.law):
            return [self.law.enclose_transform(acb(self.tilt, middle + n * width)).abs_upper() for n in range(cells)]
        rule = self.law.enclose_rule(self.tilt, middle + (cells - 1) * width)
        sums = Tilted(rule.losses, rule.weights).sums([rule.weights], middle, width, cells - 1)[0]
        return [value.abs_upper() + rule.error for value in sums]

    def _bound_near(self, middle: arb, width: arb, reach: arb, cells: int) -> list[arb]:
        """By the size of the transform in the middle."""
        total = self.law.enclose_moment(self.tilt)
        if not reach * self._spread < arb.pi() / 2:
            return [upper_end(total)] * cells
        return bound_by_angle(self._sums(middle, width, cells), total, self._spread, reach)


def split_cells(loss: ComposedLoss, tilt: arb) -> tuple[list[tuple[Direct, int]], ComposedLoss]:
    """The laws that are bounded cell by cell, with counts, and the loss of all others."""
    celled = [(Direct(law, tilt), count) for law, count in direct_parts(loss) if has_cells(law)]
    return celled, replace(loss, parts=tuple((law, count) for law, count in loss.parts
                                             if not (is_direct(law) and has_cells(law))))


@proved_by("T192-line", "T220-cells-of-transforms")
def bound_products(celled: Sequence[tuple[Tilted | Direct, int]], step: arb, place: int, stride: int,
                   cells: int) -> list[arb]:
    """Bound the product of |M|^count, or its mean, over the frequencies m + 1, ..., m + stride of each of some cells.

    place: m of the first one.
    """
    middle, reach = (2 * place + stride + 1) * step / 2, (stride - 1) * step / 2
    if len(celled) == 1:
        one, count = celled[0]
        if isinstance(one, Direct) and one.is_wide((place + 1) * step, reach):
            return [one.bound_mean((place + 1 + n * stride) * step, step, stride, count) for n in range(cells)]
    rows = [[count * size.log() for size in one.bound_cells(middle, stride * step, reach, cells)]
            for one, count in celled]
    return [sum((row[n] for row in rows), arb(0)).exp() for n in range(cells)]


@dataclass(frozen=True)
class Outcomes:
    """The listed outcomes of several laws, each with its law and count."""

    parts: list[tuple[Law, int, Listed]]

    @staticmethod
    def of(reached: Sequence[tuple[Law, int, int]], between: Callable[[], None]) -> Outcomes:
        """Those of laws with counts and reaches."""
        found = [law.enclose_listed(reach) for law, _, reach in paced(reached, between)]
        listed = [one for one in found if one is not None]
        return Outcomes([(law, count, one) for (law, count, _), one in zip(reached, listed, strict=True)])

    def tilted(self, tilt: arb) -> list[tuple[Tilted, int]]:
        """What stands for their transforms on the line, with the counts."""
        return [(Tilted.of(one, tilt), count) for _, count, one in self.parts]

    @proved_by("T192-line")
    def bound_moment(self, exponent: arb) -> arb:
        """Bound the product of their M(l)^k; where l is 0, of their masses."""
        return bound_product(self.tilted(exponent))

    @proved_by("T192-line", "T44-infinity-mass")
    def bound_lost_mass(self, rest: ComposedLoss) -> arb:
        """Bound the P mass of finite losses some of whose steps are not listed: all infinite, less what is infinite.

        rest: the loss of all other laws.
        """
        masses = [law.enclose_infinity_mass() for law, _, _ in self.parts]
        stay, kept = (sum((count * (-mass).log1p() for mass, (_, count, _) in zip(lost, self.parts, strict=True)),
                          arb(0)).exp()
                      for lost in (masses, [(mass + one.rest).min(arb(1))
                                            for mass, (_, _, one) in zip(masses, self.parts, strict=True)]))
        return upper_end((1 - rest.enclose_infinity_mass()) * (stay - kept))


@proved_by("T192-line")
def bound_product(tilted: Sequence[tuple[Tilted, int]]) -> arb:
    """Bound the product of the listed outcomes' M(l)^k at the tilt l; where it is 0, of their masses."""
    return upper_end(sum((count * sum(one.weights, arb(0)).log() for one, count in tilted), arb(0)).exp())


def work_of_atoms(listed: Sequence[tuple[Law, int, int]], count: int, cover: Sequence[tuple[int, int]],
                  prec: int) -> Work:
    """Of all atoms that are listed, at the frequencies that are summed and in all cells."""
    atoms = sum(law.outcomes if is_atomic(law) else 2 * reach + 1 for law, _, reach in listed)
    frequencies = abs(count) + 2 * sum(abs(cells) for cells, _ in cover) + 1
    side = root_above(frequencies)
    products = atoms * (2 * frequencies + EXPONENTIAL * (32 + 8 * len(cover) + side // 16))
    powers = 2 * EXPONENTIAL * frequencies * len(listed)
    tables = sum(law.table_work(prec) for law, _, _ in listed)
    return Work((products + powers) * words(prec) + tables, (3 * atoms * side + 8 * frequencies) * entry_bytes(prec))


@proved_by("T188-band")
def bound_band(tilt: arb, width: arb) -> arb:
    """Bound int |F - phi| for both extremal functions F of the band [-W, W].

    (h^2/12) max(1, e^{c(c+1)h^2/24}/2), h = 2 pi/W; phi(y) = e^{-cy} - e^{-(c+1)y} for y > 0, else 0.
    """
    square = 4 * arb.pi() ** 2 / (width * width)
    return upper_end(square / 12 * ((tilt * (tilt + 1) * square / 24).exp() / 2).max(arb(1)))
