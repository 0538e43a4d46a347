"""The Fourier accountant from masses on a grid: k-fold circular convolution by a DFT in balls (T80, T81).

Every step's loss is rounded to the grid (i + shift) h, h = 2 L / n, to both sides; both measures go through one DFT as
the real and imaginary part. A window of n consecutive indices starts at the grid's first point >= -L.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import acb, acb_poly, arb, ctx

from verified_dp.core.engines.grid import LawGrid, StepMasses, enclose_step, total_shift
from verified_dp.core.engines.lattice import enclose_infinities
from verified_dp.core.engines.shared import enclose_power
from verified_dp.core.kernel.balls import ball, disc, lower_end, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.deadline import timed


@dataclass(frozen=True)
class FourierWitness:
    """Any values give a correct enclosure; good ones a narrow one.

    half_length: L > 0. points: n, even. tilt: c >= 0. rounding: a key of ROUNDINGS. grids: one per law, their vertices
    indices of the grid. right >= tilt, left >= 0: exponents of the Chernoff bounds. mass_bits: precision of the
    masses; prec: of the transforms.
    """

    half_length: Fraction
    points: int
    tilt: Fraction
    rounding: str
    grids: tuple[LawGrid, ...]
    right: Fraction
    left: Fraction
    mass_bits: int
    prec: int

    @property
    def step(self) -> Fraction:
        """h = 2 L / n."""
        return 2 * self.half_length / self.points


@dataclass(frozen=True)
class FourierValues:
    """What does not depend on eps.

    masses: the circular convolution, tilted, over `scale`; real parts of the upper laws, imaginary of the lower ones.
    low: the index of the window's first point; shift: of the composition's grid. above_right, below_right, below_left:
    moments of the composed upper law at `right`, of the lower one at `right` and at -`left`.
    """

    witness: FourierWitness
    masses: list[acb]
    scale: arb
    low: int
    shift: Fraction
    above_right: arb
    below_right: arb
    below_left: arb
    infinity_above: arb
    infinity_below: arb


@proved_by("T80-cell-rounding")
def enclose_cells(law: Law, grid: LawGrid, step: Fraction, bits: int) -> StepMasses:
    """Whole cells moved to their right ends (above; what is past the last vertex to infinity) and left ends (below).

    bits is not used: it is there to have the shape of enclose_step.
    """
    vertices = grid.vertices()
    tails = [law.enclose_tails(ball(step * (i + grid.shift)))[0] for i in timed(vertices)]
    infinity = law.enclose_infinity_mass()
    inner = [left - right for left, right in pairwise(tails)]
    above = [upper_end(mass).max(arb(0)) for mass in (1 - tails[0], *inner)]
    below = [lower_end(mass).max(arb(0)) for mass in (*inner, tails[-1] - infinity)]
    return StepMasses(vertices, above, below, upper_end(tails[-1]), infinity)


ROUNDINGS: dict[str, Callable[[Law, LawGrid, Fraction, int], StepMasses]] = {
    "dots": enclose_step, "cells": enclose_cells}
"""dots: connect-the-dots above, a convex minorant below (T26, T27): an error of order h^2. cells: of order h (T80)."""


@proved_by("T81-circular-convolution")
def check_fourier(witness: FourierWitness, laws: int) -> bool:
    """The side conditions that are plain comparisons of exact numbers."""
    shape = witness.half_length > 0 and witness.points >= 2 and witness.points % 2 == 0
    exponents = 0 <= witness.tilt <= witness.right and witness.left >= 0 and witness.right > 0
    grids = len(witness.grids) == laws > 0 and all(grid.is_proper() for grid in witness.grids)
    bits = witness.prec >= 2 and witness.mass_bits >= 2
    return shape and exponents and grids and bits and witness.rounding in ROUNDINGS


def evaluate_fourier(loss: ComposedLoss, witness: FourierWitness) -> FourierValues:
    """Compose both roundings of all laws. Raises InvalidInput where the witness breaks a side condition."""
    if not check_fourier(witness, len(loss.laws)):
        raise InvalidInput("witness", "fourier", "a witness that meets its side conditions")
    with ctx.workprec(witness.mass_bits):
        rounded = ROUNDINGS[witness.rounding]
        half = witness.mass_bits // 2  # as margin: it may sit far left
        steps = [rounded(law, grid, witness.step, half)
                 for (law, _), grid in timed(zip(loss.laws, witness.grids, strict=True))]
    return compose_steps(steps, [count for _, count in loss.laws], witness)


@proved_by("T81-circular-convolution")
def compose_steps(steps: Sequence[StepMasses], counts: Sequence[int], witness: FourierWitness) -> FourierValues:
    """Compose counts[i] copies of both measures of steps[i], on the grids of the witness."""
    with ctx.workprec(witness.mass_bits):
        infinities = enclose_infinities(steps, counts)
        above_right = _compose_moments([(s.vertices, s.above) for s in steps], counts, witness, witness.right)
        below_right = _compose_moments([(s.vertices, s.below) for s in steps], counts, witness, witness.right)
        below_left = _compose_moments([(s.vertices, s.below) for s in steps], counts, witness, -witness.left)
        scales = [_scale(step, grid, witness) for step, grid in zip(steps, witness.grids, strict=True)]
        folded = [_fold(step, grid, scale, witness) for step, grid, scale
                  in timed(zip(steps, witness.grids, scales, strict=True))]
    with ctx.workprec(witness.prec):
        masses = convolve(folded, counts)
        scale = arb(1)
        for one, count in zip(scales, counts, strict=True):
            scale *= one**count
    shift = total_shift(witness.grids, counts)
    low = (-witness.half_length / witness.step - shift).__ceil__()
    return FourierValues(witness, masses, scale, low, shift, above_right, below_right, below_left, *infinities)


@proved_by("T81-circular-convolution")
def _compose_moments(laws: Sequence[tuple[list[int], list[arb]]], counts: Sequence[int], witness: FourierWitness,
                     exponent: Fraction) -> arb:
    """Bound the moment E[e^{l S}; S < inf] of the composed discrete law at any real l."""
    product = arb(1)
    for (vertices, masses), grid, count in zip(laws, witness.grids, counts, strict=True):
        moment = _sum_tilted(vertices, masses, grid, witness.step, exponent)
        product *= upper_end(moment) ** count
    return upper_end(product)


def _sum_tilted(vertices: Sequence[int], masses: Sequence[arb], grid: LawGrid, step: Fraction,
                exponent: Fraction) -> arb:
    """Enclose sum_i p_i e^{l (i + shift) h}."""
    rate, first = ball(exponent * step), ball(exponent * step * grid.shift).exp()
    terms = (mass * (rate * i).exp() for i, mass in zip(vertices, masses, strict=True) if not mass.is_zero())
    return first * sum(terms, arb(0))


def _scale(step: StepMasses, grid: LawGrid, witness: FourierWitness) -> arb:
    """An exact number near the tilted total of the upper masses, 1 where that is not positive."""
    total = upper_end(_sum_tilted(step.vertices, step.above, grid, witness.step, witness.tilt))
    return total if total > 0 else arb(1)


@proved_by("T81-circular-convolution")
def _fold(step: StepMasses, grid: LawGrid, scale: arb, witness: FourierWitness) -> list[acb]:
    """Tilted masses over `scale`, index i at place i mod n: above + i below."""
    rate = ball(witness.tilt * witness.step)
    first = ball(witness.tilt * witness.step * grid.shift).exp() / scale
    zero = acb(0)
    table = [zero] * witness.points
    for i, above, below in zip(step.vertices, step.above, step.below, strict=True):
        if not (above.is_zero() and below.is_zero()):
            factor = first * (rate * i).exp()
            table[i % witness.points] += acb(above * factor, below * factor)
    return table


@proved_by("T81-circular-convolution")
def convolve(folded: Sequence[list[acb]], counts: Sequence[int]) -> list[acb]:
    """Enclose the circular convolution of counts[i] copies of each table: its real, and its imaginary parts, apart."""
    points = len(folded[0])
    columns = [acb.dft(table) for table in timed(folded)]
    spectrum = [acb(0)] * points
    for r in timed(range(points // 2 + 1)):
        back = -r % points
        above, below = acb(1), acb(1)
        for column, count in zip(columns, counts, strict=True):
            forward, mirrored = column[r], column[back].conjugate()
            above *= power((forward + mirrored) / 2, count)
            below *= power((forward - mirrored) / acb(0, 2), count)
        spectrum[r] = above + acb(0, 1) * below
        spectrum[back] = above.conjugate() + acb(0, 1) * below.conjugate()
    del columns
    return acb.dft(spectrum, True)


@proved_by("T81-circular-convolution")
def power(x: acb, count: int) -> acb:
    """Enclose x^count; a disc where it is below the last bit of 1."""
    if count == 1:
        return x
    largest = x.abs_upper() ** count
    return disc(largest) if largest < arb((1, -2 * ctx.prec)) else enclose_power(x, count)


@proved_by("T81-circular-convolution", "T80-cell-rounding", "T26-connect-the-dots", "T27-convex-minorant")
def enclose_by_fourier(values: FourierValues, epsilon: Fraction) -> Bounds:
    """infinity + A - wraps <= delta(eps) <= infinity + A + tail, each A from its own measure.

    A = sum over eps < x_j in the window of (1 - e^{eps - x_j}) C_j e^{-c x_j} scale.
    """
    witness = values.witness
    with ctx.workprec(witness.prec):
        above, below = sum_window(values, epsilon)
        right, left = bound_wraps(values, epsilon)
        tail = bound_past_window(values, epsilon)
        upper = upper_end(values.infinity_above + tail + above).min(arb(1))
        lower = lower_end(values.infinity_below + below - right - left).max(arb(0))
        rounding = upper_end(above.rad() + below.rad())
        spread = upper_end(values.infinity_above - values.infinity_below)
        gap = upper_end((above - below).max(arb(0)))
        budget = {"discretisation": gap, "periodisation": upper_end(right + left),
                  "truncation": upper_end(tail + spread), "rounding": rounding}
        return Bounds(lower_end(lower), upper_end(upper), budget)


@proved_by("T81-circular-convolution")
def sum_window(values: FourierValues, epsilon: Fraction) -> tuple[arb, arb]:
    """Enclose A of the upper and of the lower measure."""
    witness = values.witness
    step, points = witness.step, witness.points
    beyond = (epsilon / step - values.shift).__floor__() + 1
    start = max(beyond, values.low)  # exact: integers
    length = values.low + points - start
    if length <= 0:
        return arb(0), arb(0)
    place = start % points
    kept = values.masses[place : place + length] + values.masses[: max(place + length - points, 0)]  # exact: integers
    first = step * (start + values.shift)
    table, ratio, decay = acb_poly(kept), (-ball(witness.tilt * step)).exp(), (-ball(step)).exp()
    scale = values.scale * (-ball(witness.tilt * first)).exp()
    total = scale * (table(acb(ratio)) - ball(epsilon - first).exp() * table(acb(ratio * decay)))
    return total.real, total.imag


@proved_by("T81-circular-convolution")
def bound_wraps(values: FourierValues, epsilon: Fraction) -> tuple[arb, arb]:
    """What the lower law's mass past either end of the window can add to A."""
    witness = values.witness
    period = 2 * witness.half_length
    right = values.below_right * (-ball(witness.right * epsilon + (witness.right - witness.tilt) * period)).exp()
    first = witness.step * (values.low + values.shift)
    left = values.below_left * ball(witness.left * first - witness.tilt * period).exp()
    return upper_end(right), upper_end(left)


@proved_by("T81-circular-convolution")
def bound_past_window(values: FourierValues, epsilon: Fraction) -> arb:
    """Bound the upper law's E[(1 - e^{eps - S})_+; S past the window] by M(l) e^{-l x}, x = max(its end, eps).

    +inf where losses before the window exceed eps: with a tilt they come around too small.
    """
    witness = values.witness
    if witness.tilt > 0 and epsilon < witness.step * (values.low + values.shift):
        return arb.pos_inf()
    end = witness.step * (values.low + witness.points + values.shift)
    return upper_end(values.above_right * (-ball(witness.right * max(end, epsilon))).exp())  # exact: fractions


@proved_by("T13-epsilon-of-delta")
def narrow_by_monotony(found: Bounds, epsilon: Fraction, known: Bounds, place: Fraction) -> Bounds:
    """Bounds at eps narrowed by bounds at another place: delta does not increase with eps."""
    lower = found.lower.max(known.lower) if epsilon <= place else found.lower
    upper = found.upper.min(known.upper) if epsilon >= place else found.upper
    return Bounds(lower, upper, found.budget)
