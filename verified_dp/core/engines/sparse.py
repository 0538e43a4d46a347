"""Sparse frequencies: both lattice laws of many steps, composed only where their transform matters (T77 to T79).

With the masses of the composition at n h, its transform M, z_m = c + 2 pi i m / (N h) and u = (first n h >= eps) - eps

    D(eps) = (1/N) sum_{|m| <= m0} M(z_m) K(z_m)  +- (frequencies beyond)  -  aliases (>= 0),
    K(z) = e^{-z eps} [e^{-zu} / (1 - e^{-zh}) - e^{-(z+1)u} / (1 - e^{-(z+1)h})].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import acb, arb, ctx, fmpq

from verified_dp.core.engines.grid import LawGrid, enclose_step, total_shift, work_of_grids
from verified_dp.core.engines.lattice import enclose_infinities
from verified_dp.core.engines.powers import enclose_power, turn_sums
from verified_dp.core.kernel.balls import BOUND_BITS, ball, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor, bounds_from_sum
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import EXPONENTIAL, Work, entry_bytes, nothing, root_above, words


@dataclass(frozen=True)
class Atoms:
    """One step's law: its tilted masses p_n e^{c n h} at the indices n."""

    indices: list[int]
    weights: list[arb]


@dataclass(frozen=True)
class SparseSide:
    """One composed law. terms: M(z_m), m = 0..m0; beyond: (first m, how many frequencies, bound of |M| there).

    right_mass, left_mass: C(l) M(l) at the two exponents (left exponent 0: M(0)).
    """

    terms: list[acb]
    beyond: list[tuple[int, int, arb]]
    right_mass: arb
    left_mass: arb


def _sum_bits(witness: SparseWitness) -> int:
    """The masses are differences and need more bits than their sums do."""
    return min(witness.prec, witness.bits + 64)  # exact: integers


@proved_by("T79-sparse-delta")
def _tilted(vertices: Sequence[int], masses: Sequence[arb], witness: SparseWitness) -> Atoms:
    """The masses that are not the exact 0, times e^{c n h}."""
    rate = ball(witness.tilt * witness.step)
    kept = [(n, mass) for n, mass in zip(vertices, masses, strict=True) if not mass.is_zero()]
    return Atoms([n for n, _ in kept], [mass * (rate * n).exp() for n, mass in kept])


@proved_by("T77-lattice-inversion")
def _evaluate_side(laws: Sequence[Atoms], counts: Sequence[int], witness: SparseWitness,
                   between: Callable[[], None]) -> SparseSide:
    between()
    columns = [enclose_sums(law.indices, [law.weights], 0, 1, witness.count, witness.period)[0] for law in laws]
    terms = []
    for row in zip(*columns, strict=True):
        product = acb(1)
        for value, count in zip(row, counts, strict=True):
            product *= enclose_power(value, count)
        terms.append(product)
    right = bound_lattice_mass(laws, counts, witness.right, witness)
    left = bound_lattice_mass(laws, counts, witness.left, witness)
    return SparseSide(terms, bound_beyond(laws, counts, witness, between), right, left)


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


@proved_by("T79-sparse-delta", "T03-chernoff")
def bound_lattice_mass(laws: Sequence[Atoms], counts: Sequence[int], exponent: Fraction,
                       witness: SparseWitness) -> arb:
    """Bound C(l) M(l), so that D(eps) <= C(l) M(l) e^{-l eps} for the composed law; l = 0: its mass M(0)."""
    rate = ball((exponent - witness.tilt) * witness.step)
    log_mass = arb(0)
    for law, count in zip(laws, counts, strict=True):
        mass = sum((weight * (rate * n).exp() for n, weight in zip(law.indices, law.weights, strict=True)), arb(0))
        log_mass += count * mass.log()
    factor = bound_chernoff_factor(ball(exponent)) if exponent else arb(1)
    return upper_end(log_mass.exp() * factor)


@proved_by("T78-lattice-frequency-tail")
def bound_beyond(laws: Sequence[Atoms], counts: Sequence[int], witness: SparseWitness,
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


@proved_by("T78-lattice-frequency-tail")
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


@proved_by("T78-lattice-frequency-tail")
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


@proved_by("T77-lattice-inversion")
def enclose_kernel(z: acb, step: arb, room: arb) -> acb:
    """Enclose e^{-zu} / (1 - e^{-zh}) - e^{-(z+1)u} / (1 - e^{-(z+1)h})."""
    return (-z * room).exp() / (1 - (-z * step).exp()) - (-(z + 1) * room).exp() / (1 - (-(z + 1) * step).exp())


@proved_by("T78-lattice-frequency-tail")
def bound_kernel(tilt: arb, step: arb, room: arb, sine: arb) -> arb:
    """Bound |enclose_kernel| where |sin(wh/2)| >= sine: both terms by e^{c(h/2 - u)} / (2 |sinh(zh/2)|)."""
    def term(c: arb) -> arb:
        half = (c * step / 2).sinh()
        return (c * (step / 2 - room)).exp() / (2 * (half * half + sine * sine).sqrt())

    return upper_end(term(tilt) + term(tilt + 1))


@proved_by("T77-lattice-inversion", "T78-lattice-frequency-tail", "T79-sparse-delta")
def enclose_side(side: SparseSide, epsilon: Fraction, witness: SparseWitness) -> Bounds:
    """Enclose D(eps) of one composed law on the grid: (sum) - (tail) - (aliases) <= D <= (sum) + (tail)."""
    h, c, period = witness.step, ball(witness.tilt), witness.period
    room = ball(-((-epsilon) // h) * h - epsilon)
    step, place = ball(h), ball(epsilon)
    total = arb(0)
    for m, value in enumerate(side.terms):
        z = acb(c, 2 * arb.pi() * m / (period * step))
        term = value * (-z * place).exp() * enclose_kernel(z, step, room)
        total += term.real if m == 0 else 2 * term.real
    tail = arb(0)
    for first, number, bound in side.beyond:
        sine = (arb.pi() * ball(Fraction(first, period))).sin().max(arb(0))
        tail += 2 * number * bound * bound_kernel(c, step, room, sine)
    tail = upper_end(tail * (-c * place).exp() / period)
    aliases = _bound_aliases(side, epsilon, witness)
    return bounds_from_sum(total / period, {"frequency_tail": tail}, {"aliasing": aliases})


@proved_by("T79-sparse-delta", "T04-alias-bounds")
def _bound_aliases(side: SparseSide, epsilon: Fraction, witness: SparseWitness) -> arb:
    """Bound sum over n != 0 of e^{c n X} D(eps + n X), X = N h: two geometric series."""
    length = ball(witness.period * witness.step)
    right = side.right_mass * (-ball(witness.right * epsilon)).exp()
    left = side.left_mass * (-ball(witness.left * epsilon)).exp()
    return upper_end(right / (ball(witness.right - witness.tilt) * length).expm1()
                     + left / (ball(witness.tilt - witness.left) * length).expm1())


@dataclass(frozen=True)
class SparseWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    step h, tilt c, bits, grids: as of the lattice. period: the odd number N of frequencies on the circle. count: m0,
    the last that is summed. cover: blocks (cells, stride) from m0 to (N - 1) / 2, in each of whose cells the transform
    is bounded as a whole. right > tilt > left >= 0: exponents of the alias bounds.
    """

    step: Fraction
    tilt: Fraction
    bits: int
    grids: tuple[LawGrid, ...]
    period: int
    count: int
    cover: tuple[tuple[int, int], ...]
    right: Fraction
    left: Fraction
    prec: int

    kind: ClassVar[str] = "sparse"
    method: ClassVar[str] = "lattice"

    @proved_by("T77-lattice-inversion", "T78-lattice-frequency-tail", "T79-sparse-delta")
    def applies(self, loss: ComposedLoss) -> bool:
        """The side conditions of T77 to T79: plain comparisons of exact numbers."""
        half, odd = divmod(self.period, 2)
        cells = all(cells > 0 and stride > 0 for cells, stride in self.cover)
        covered = self.count + sum(cells * stride for cells, stride in self.cover) == half
        ordered = 0 <= self.left < self.tilt < self.right and self.step > 0 and not loss.only_moments
        grids = len(self.grids) == len(loss.laws) > 0 and all(grid.is_proper() for grid in self.grids)
        return ordered and grids and odd == 1 and self.count >= 0 and cells and covered and (
            2 <= self.bits <= self.prec - 16)

    @proved_by("T79-sparse-delta")
    def evaluate(self, loss: ComposedLoss, between: Callable[[], None] = nothing) -> SparseValues:
        """All that does not depend on eps: both laws of every step, and their composed transforms."""
        with ctx.workprec(self.prec):
            steps = [enclose_step(law, grid, self.step, self.bits, between)
                     for (law, _), grid in zip(loss.laws, self.grids, strict=True)]
        with ctx.workprec(_sum_bits(self)):
            counts = [count for _, count in loss.laws]
            above, below = (
                _evaluate_side([_tilted(step.vertices, masses, self) for step, masses in column], counts, self,
                               between)
                for column in ([(s, s.above) for s in steps], [(s, s.below) for s in steps]))
            infinities = enclose_infinities(steps, counts)
            return SparseValues(self, above, below, *infinities, total_shift(self.grids, counts))

    def work(self, loss: ComposedLoss) -> Work:
        """Of all atoms at all frequencies, and of the laws' values at all vertices."""
        atoms = sum(abs(cells) for grid in self.grids for cells, _ in grid.blocks) + len(self.grids)
        frequencies = abs(self.count) + 2 * sum(abs(cells) for cells, _ in self.cover) + 1
        side = root_above(frequencies)
        products = atoms * (2 * frequencies + EXPONENTIAL * (32 + 8 * len(self.cover) + side // 16))
        powers = 2 * EXPONENTIAL * frequencies * len(self.grids)
        return Work((products + powers) * words(self.prec) + work_of_grids(loss, self),
                    (3 * atoms * side + 8 * frequencies) * entry_bytes(self.prec))


@dataclass(frozen=True)
class SparseValues:
    """Both composed laws, bounds of the composed infinity mass that go with them, and the sum of all grids' shifts."""

    witness: SparseWitness
    above: SparseSide
    below: SparseSide
    infinity_above: arb
    infinity_below: arb
    shift: Fraction

    @proved_by("T79-sparse-delta", "T31-lattice-delta")
    def delta(self, epsilon: Fraction) -> Bounds:
        """infinity + D of the lower law <= delta(eps) <= infinity + D of the upper one; the grids' shifts move eps."""
        witness = self.witness
        with ctx.workprec(_sum_bits(witness)):
            place = epsilon - self.shift * witness.step
            above, below = (enclose_side(side, place, witness) for side in (self.above, self.below))
            upper = upper_end(self.infinity_above + above.upper).min(arb(1))
            lower = lower_end(self.infinity_below + below.lower).max(arb(0))
            truncation = upper_end(self.infinity_above - self.infinity_below)
            budget = {name: upper_end(size + below.budget[name]) for name, size in above.budget.items()}
            return Bounds(lower, upper, {"lattice": upper_end(upper - lower), "truncation": truncation, **budget})
