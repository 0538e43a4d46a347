"""Laws made of atoms on a line: sums over those that are listed, and bounds on whole cells of frequencies (T192)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import acb, arb

from verified_dp.core.engines.powers import turn_sums
from verified_dp.core.kernel.balls import upper_end
from verified_dp.core.kernel.law import Listed
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing


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
