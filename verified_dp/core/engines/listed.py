"""Laws made of atoms on a line: sums over those that are listed, and bounds on whole cells of frequencies (T192)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import acb, arb

from verified_dp.core.engines.powers import turn_sums
from verified_dp.core.kernel.balls import upper_end
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

    @proved_by("T192-line", "T78-lattice-frequency-tail")
    def bound_cells(self, frequency: arb, width: arb, cells: int) -> list[arb]:
        """Bound |M(c+iw)| on [frequency + n width, frequency + (n+1) width], n < cells, by value and slope.

        |M|^2 <= max(F, F + F' t + (M0 M2 - M1^2) t^2), F = |M|^2 and F' its slope at the start, t the width.
        """
        total = sum(self.weights, arb(0))
        centre = upper_end(sum((w * x for x, w in zip(self.losses, self.weights, strict=True)), arb(0)) / total)
        moments = [weight * (loss - centre) for loss, weight in zip(self.losses, self.weights, strict=True)]
        mean = sum(moments, arb(0))
        square = sum((m * (loss - centre) for loss, m in zip(self.losses, moments, strict=True)), arb(0))
        bend = (total * square - mean * mean) * width * width
        found = []
        for value, slope in zip(*self.sums([self.weights, moments], frequency, width, cells - 1), strict=True):
            size = value.real * value.real + value.imag * value.imag
            fall = 2 * width * (slope.real * value.imag - slope.imag * value.real)
            found.append(upper_end(size.max(size + fall + bend)).sqrt().min(total))
        return found


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
