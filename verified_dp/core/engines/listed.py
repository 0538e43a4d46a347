"""Laws made of atoms on a line: sums over those that are listed, bounds on cells of frequencies (T189, T192)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import acb, arb

from verified_dp.core.engines.powers import turn_sums
from verified_dp.core.kernel.balls import lower_end, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law, Listed, is_atomic
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, paced, root_above, words


@dataclass(frozen=True)
class Tilted:
    """Losses, and masses times e^{c loss}: what stands for M on the line Re z = c."""

    losses: list[arb]
    weights: list[arb]

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
        """Bound |M(c+iw)| for |w - middle - n width| <= reach, n < cells, by its size in the middle alone.

        |M| <= M(c) cos(arccos(r) - v reach), r = |M(middle)|/M(c) <= cos(v reach), v the tilted law's deviation.
        """
        total, turned = upper_end(sum(self.weights, arb(0))), upper_end(self.deviation * reach)
        if not turned < arb.pi() / 2:
            return [total] * cells
        cosine, sine, least, found = turned.cos(), turned.sin(), lower_end(sum(self.weights, arb(0))), []
        for value in self.sums([self.weights], middle, width, cells - 1)[0]:
            bound, share = total, upper_end(value.abs_upper() / least)
            if share <= cosine:
                bound = upper_end(total * (share * cosine + (1 - share * share).sqrt() * sine))
            found.append(bound)
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
