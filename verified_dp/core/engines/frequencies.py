"""The frequencies of a lattice on a circle: the composed transform at the first ones, bounds at the others (T222)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import acb, arb, ctx, fmpq

from verified_dp.core.engines.powers import turn_sums
from verified_dp.core.engines.shared import enclose_power
from verified_dp.core.kernel.balls import BOUND_BITS, ball, upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing, root_above

if TYPE_CHECKING:
    from verified_dp.core.engines.lattice import Atoms, LatticeWitness


@dataclass(frozen=True)
class Frequencies:
    """terms: M(z_m), m = 0..m0; beyond: (first m, how many frequencies, bound of |M| there)."""

    terms: list[acb]
    beyond: list[tuple[int, int, arb]]

    @proved_by("T222-lattice-on-a-circle")
    def sums(self, place: Fraction, witness: LatticeWitness) -> tuple[arb, arb]:
        """Enclose e^{c eps} D(eps) and aliases by the first frequencies, and bound what the others add."""
        c, step, period = ball(witness.tilt), ball(witness.step), witness.period
        room, total, tail = ball(-(-place // witness.step) * witness.step - place), arb(0), arb(0)
        for m, value in enumerate(self.terms):
            w = 2 * arb.pi() * m / (period * step)
            term = value * acb(0, -w * ball(place)).exp() * enclose_kernel(acb(c, w), step, room)
            total += term.real if m == 0 else 2 * term.real
        for first, number, bound in self.beyond:
            sine = (arb.pi() * ball(Fraction(first, period))).sin().max(arb(0))
            tail += 2 * number * bound * bound_kernel(c, step, room, sine)
        return total / period, upper_end(tail / period)


@proved_by("T222-lattice-on-a-circle")
def enclose_frequencies(laws: Sequence[Atoms], counts: Sequence[int], witness: LatticeWitness,
                        between: Callable[[], None] = nothing) -> Frequencies:
    """The composition's transform at the first frequencies, and bounds of it at the others."""
    between()
    columns = [enclose_sums(law.indices, [law.weights], 0, 1, witness.count, witness.period)[0] for law in laws]
    terms = []
    for row in zip(*columns, strict=True):
        product = acb(1)
        for value, count in zip(row, counts, strict=True):
            product *= enclose_power(value, count)
        terms.append(product)
    return Frequencies(terms, bound_beyond(laws, counts, witness, between))


def enclose_sums(indices: Sequence[int], rows: Sequence[Sequence[arb]], first: int, stride: int, count: int,
                 period: int) -> list[list[acb]]:
    """Enclose sum_n w_n e^{2 pi i n m / N} at m = first + j stride, j = 0..count, for each row of weights."""
    starts = [list(map(acb, row)) for row in rows]
    if first:
        turns = _roots(indices, first, period)
        starts = [[weight * turn for weight, turn in zip(row, turns, strict=True)] for row in rows]
    if count == 0 or not indices:
        return [[sum(row, acb(0))] * (count + 1) for row in starts]
    return turn_sums(starts, _roots(indices, stride, period), count)


def _roots(indices: Sequence[int], multiple: int, period: int) -> list[acb]:
    """Enclose e^{2 pi i n multiple / N} for each n, a product of two of few roots."""
    if not indices:
        return []
    low, high = min(indices), max(indices)  # exact: integers
    side = root_above(high - low + 1)
    if 2 * side > len(indices):
        return [_root(n * multiple, period) for n in indices]
    near = [_root(n * multiple, period) for n in range(side)]
    far = [_root(n * multiple, period) for n in range(low, high + 1, side)]
    return [far[(n - low) // side] * near[(n - low) % side] for n in indices]


def _root(numerator: int, period: int) -> acb:
    """Enclose e^{2 pi i numerator / N}."""
    return acb(arb(fmpq(2 * (numerator % period), period))).exp_pi_i()


@proved_by("T222-lattice-on-a-circle")
def bound_beyond(laws: Sequence[Atoms], counts: Sequence[int], witness: LatticeWitness,
                 between: Callable[[], None]) -> list[tuple[int, int, arb]]:
    """For each cell of the cover its first frequency, the number it covers, and a bound of |M| there."""
    bounded, first = [], witness.count
    with ctx.workprec(BOUND_BITS + 2 * sum(counts).bit_length()):
        parts = [bound_by_parts(law) for law in laws]
        for cells, stride in witness.cover:
            between()
            columns = [bound_cells(law, first, stride, cells, witness.period, part)
                       for law, part in zip(laws, parts, strict=True)]
            for row in zip(*columns, strict=True):
                size = sum((count * value.log() for value, count in zip(row, counts, strict=True)), arb(0))
                bounded.append((first, stride, upper_end(size.exp())))
                first += stride
    return bounded


@proved_by("T222-lattice-on-a-circle")
def bound_by_parts(law: Atoms) -> tuple[arb, arb]:
    """(rest, variation) with |M(c+iw)| <= rest + variation / (2 |sin(wh/2)|): w_n cut to its larger neighbour."""
    weights = dict(zip(law.indices, law.weights, strict=True))
    none, rest, variation = arb(0), arb(0), arb(0)
    cut = {}
    for n, weight in weights.items():
        cut[n] = weight.min(weights.get(n - 1, none).max(weights.get(n + 1, none)))
        rest += weight - cut[n]
    for n, weight in cut.items():
        variation += abs(weight - cut.get(n - 1, none))
        if n + 1 not in cut:
            variation += weight
    return upper_end(rest), upper_end(variation)


@proved_by("T222-lattice-on-a-circle")
def bound_cells(law: Atoms, first: int, stride: int, cells: int, period: int, parts: tuple[arb, arb]) -> list[arb]:
    """Bound |M(c+iw)| on each [m, m + stride] 2 pi / (N h), m = first, ...: by value and slope at m, or by parts.

    |M|^2 <= max(F, F + F' t + (M0 M2 - M1^2) t^2), F = |M|^2 and F' its slope at m, t the cell's width, in angles n.
    """
    angle = 2 * arb.pi() / period
    centre = _integer_mean(law)
    moments = [weight * (n - centre) for n, weight in zip(law.indices, law.weights, strict=True)]
    total, mean = sum(law.weights, arb(0)), sum(moments, arb(0))
    square = sum((moment * (n - centre) for n, moment in zip(law.indices, moments, strict=True)), arb(0))
    bend = (total * square - mean * mean) * (stride * angle) ** 2
    values, slopes = enclose_sums(law.indices, [law.weights, moments], first, stride, cells - 1, period)
    found = []
    for j, (value, slope) in enumerate(zip(values, slopes, strict=True)):
        size = value.real * value.real + value.imag * value.imag
        fall = 2 * stride * angle * (slope.real * value.imag - slope.imag * value.real)
        bound = upper_end(size.max(size + fall + bend)).sqrt().min(total)
        rest, variation = parts
        sine = (arb.pi() * ball(Fraction(first + j * stride, period))).sin()
        by_parts = rest + variation / (2 * sine) if sine > 0 else total
        found.append(upper_end(bound.min(by_parts)))
    return found


def _integer_mean(law: Atoms) -> int:
    """An index near the middle of the weights: any is valid, a near one keeps the moments accurate."""
    total, half = arb(0), sum(law.weights, arb(0)) / 2
    for n, weight in zip(law.indices, law.weights, strict=True):
        total += weight
        if total > half:
            return n
    return law.indices[-1] if law.indices else 0


@proved_by("T222-lattice-on-a-circle")
def enclose_kernel(z: acb, step: arb, room: arb) -> acb:
    """Enclose e^{-zu} / (1 - e^{-zh}) - e^{-(z+1)u} / (1 - e^{-(z+1)h})."""
    return (-z * room).exp() / (1 - (-z * step).exp()) - (-(z + 1) * room).exp() / (1 - (-(z + 1) * step).exp())


@proved_by("T222-lattice-on-a-circle")
def bound_kernel(tilt: arb, step: arb, room: arb, sine: arb) -> arb:
    """Bound |enclose_kernel| where |sin(wh/2)| >= sine: both terms by e^{c(h/2 - u)} / (2 |sinh(zh/2)|)."""
    def term(c: arb) -> arb:
        half = (c * step / 2).sinh()
        return (c * (step / 2 - room)).exp() / (2 * (half * half + sine * sine).sqrt())

    return upper_end(term(tilt) + term(tilt + 1))
