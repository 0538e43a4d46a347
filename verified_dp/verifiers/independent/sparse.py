"""Sparse witnesses: the lattice laws of many steps, composed only at the frequencies that matter (T77 to T79).

With u = (first n h >= eps) - eps and z_m = c + 2 pi i m/(N h), a composed law on the grid n h has

    D(eps) = (1/N) sum over |m| <= m0 of M(z_m) K(z_m)  +- (frequencies beyond)  -  aliases (>= 0),
    K(z) = e^{-z eps} [e^{-zu}/(1 - e^{-zh}) - e^{-(z+1)u}/(1 - e^{-(z+1)h})].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .balls import (
    Ball,
    Complex,
    ball,
    complex_exp,
    complex_power,
    cos_sin,
    exp,
    expm1,
    inverse,
    larger,
    log,
    pi,
    precision,
    sinh,
    smaller,
    sqrt,
    times,
    total,
    turn_sums,
)
from .contour import LOW_BITS, Bounds, bounds_from_sum, chernoff_factor, require
from .grid import Grid, enclose_step
from .lattice import infinities, total_shift
from .losses import ComposedLoss


@dataclass(frozen=True)
class Sparse:
    """step h, tilt c, bits, grids as of a lattice; period N, odd; count m0; cover: blocks (cells, stride) of
    frequencies from m0 to (N-1)/2 that are bounded cell by cell; right > tilt > left >= 0: alias exponents."""

    step: Fraction
    tilt: Fraction
    bits: int
    grids: tuple[Grid, ...]
    period: int
    count: int
    cover: tuple[tuple[int, int], ...]
    right: Fraction
    left: Fraction
    prec: int

    def evaluate(self, loss: ComposedLoss) -> SparseValues:
        half, odd = divmod(self.period, 2)
        require(0 <= self.left < self.tilt < self.right and self.step > 0 and odd == 1 and self.count >= 0)
        require(all(cells > 0 and stride > 0 for cells, stride in self.cover))
        require(self.count + sum(cells * stride for cells, stride in self.cover) == half)
        require(2 <= self.bits <= self.prec - 16 and not loss.only_moments)
        require(len(self.grids) == len(loss.laws) > 0 and all(grid.is_proper() for grid in self.grids))
        return SparseValues(self, loss)


class Atoms:
    """One step's law: its tilted masses p_n e^{c n h} at the indices n."""

    def __init__(self, vertices: Sequence[int], masses: Sequence[Ball], witness: Sparse) -> None:
        rate = ball(witness.tilt * witness.step)
        self.indices = [n for n, mass in zip(vertices, masses, strict=True) if not mass.is_zero()]
        self.weights = [mass * exp(rate * n) for n, mass in zip(vertices, masses, strict=True) if not mass.is_zero()]

    def sums(self, weights: Sequence[Ball], first: int, stride: int, count: int, period: int) -> list[Complex]:
        """sum_n w_n e^{2 pi i n m/N} at m = first + j stride, j = 0..count."""
        turns = [_root(n * stride, period) for n in self.indices]
        starts = [(weight, Ball(0)) if not first else times((weight, Ball(0)), _root(n * first, period))
                  for n, weight in zip(self.indices, weights, strict=True)]
        return turn_sums(starts, turns, count) if turns else [(Ball(0), Ball(0))] * (count + 1)

    def mass(self, exponent: Fraction, witness: Sparse) -> Ball:
        """M(l) of the step."""
        rate = ball((exponent - witness.tilt) * witness.step)
        return total(weight * exp(rate * n) for n, weight in zip(self.indices, self.weights, strict=True))

    def by_parts(self) -> tuple[Ball, Ball]:
        """(rest, variation): |M(c+iw)| <= rest + variation/(2 |sin(wh/2)|), w_n cut to its larger neighbour (T78)."""
        weights, none = dict(zip(self.indices, self.weights, strict=True)), Ball(0)
        cut = {n: smaller(weight, larger(weights.get(n - 1, none), weights.get(n + 1, none)))
               for n, weight in weights.items()}
        rest = total(weights[n] - cut[n] for n in cut)
        variation = Ball(0)
        for n, weight in cut.items():
            step = weight - cut.get(n - 1, none)
            variation = variation + larger(step, -step)
            if n + 1 not in cut:
                variation = variation + weight
        return rest.upper(), variation.upper()

    def cells(self, first: int, stride: int, cells: int, period: int, parts: tuple[Ball, Ball]) -> list[Ball]:
        """|M(c+iw)| on each of the cells [m, m + stride], by value and slope at m, or by parts (T78).

        |M|^2 <= max(F, F + F' t + (M0 M2 - M1^2) t^2), F = |M|^2 and F' its slope at m, t the cell's width.
        """
        angle, size, half = 2 * pi() / period, total(self.weights), Ball(0)
        centre = self.indices[-1]
        for n, weight in zip(self.indices, self.weights, strict=True):
            half = half + weight
            if 2 * half > size:
                centre = n
                break
        moments = [weight * (n - centre) for n, weight in zip(self.indices, self.weights, strict=True)]
        mean = total(moments)
        square = total(moment * (n - centre) for n, moment in zip(self.indices, moments, strict=True))
        reach = angle * stride
        bend = (size * square - mean * mean) * reach * reach
        values = self.sums(self.weights, first, stride, cells - 1, period)
        slopes = self.sums(moments, first, stride, cells - 1, period)
        rest, variation = parts
        found = []
        for j, ((x, y), (dx, dy)) in enumerate(zip(values, slopes, strict=True)):
            here = x * x + y * y
            fall = 2 * reach * (dx * y - dy * x)
            bound = smaller(sqrt(larger(here, here + fall + bend).upper()), size)
            sine = cos_sin(pi() * Fraction(first + j * stride, period))[1]
            if sine > 0:
                bound = smaller(bound, rest + variation / (2 * sine))
            found.append(bound.upper())
        return found


def _root(numerator: int, period: int) -> Complex:
    """e^{2 pi i numerator/N}."""
    return cos_sin(2 * pi() * Fraction(numerator % period, period))


class SparseSide:
    """One composed law: M at the frequencies, (first, how many, bound of |M|) beyond, C(l) M(l) at both exponents."""

    def __init__(self, laws: Sequence[Atoms], counts: Sequence[int], witness: Sparse) -> None:
        self.witness = witness
        columns = [law.sums(law.weights, 0, 1, witness.count, witness.period) for law in laws]
        self.terms: list[Complex] = []
        for row in zip(*columns, strict=True):
            found: Complex = (Ball(1), Ball(0))
            for value, count in zip(row, counts, strict=True):
                found = times(found, complex_power(value, count))
            self.terms.append(found)
        self.right, self.left = (self._mass(laws, counts, exponent) for exponent in (witness.right, witness.left))
        self.beyond: list[tuple[int, int, Ball]] = []
        first = witness.count
        with precision(LOW_BITS + 2 * sum(counts).bit_length()):
            parts = [law.by_parts() for law in laws]
            for cells, stride in witness.cover:
                blocks = [law.cells(first, stride, cells, witness.period, part)
                          for law, part in zip(laws, parts, strict=True)]
                for sizes in zip(*blocks, strict=True):
                    bound = Ball(0)
                    if all(size > 0 for size in sizes):
                        bound = exp(total(log(size) * k for size, k in zip(sizes, counts, strict=True))).upper()
                    self.beyond.append((first, stride, bound))
                    first += stride

    def _mass(self, laws: Sequence[Atoms], counts: Sequence[int], exponent: Fraction) -> Ball:
        """C(l) M(l) (T03); l = 0: the whole mass M(0)."""
        size = exp(total(log(law.mass(exponent, self.witness)) * k for law, k in zip(laws, counts, strict=True)))
        return (size * chernoff_factor(ball(exponent)) if exponent else size).upper()

    def enclose(self, epsilon: Fraction) -> Bounds:
        """(sum) - tail - aliases <= D(eps) <= (sum) + tail (T79)."""
        witness, h = self.witness, self.witness.step
        c, period = ball(witness.tilt), witness.period
        room, place, step = ball(-(-epsilon // h) * h - epsilon), ball(epsilon), ball(h)
        found = Ball(0)
        for m, value in enumerate(self.terms):
            z = c, 2 * pi() * m / (step * period)
            turn = complex_exp((-(z[0] * place), -(z[1] * place)))
            term = times(times(value, turn), _kernel(z, step, room))[0]
            found = found + (term if m == 0 else 2 * term)
        tail = Ball(0)
        with precision(LOW_BITS):
            for first, number, bound in self.beyond:
                sine = larger(cos_sin(pi() * Fraction(first, period))[1], 0)
                tail = tail + 2 * number * bound * _bound_kernel(c, step, room, sine)
        tail = (tail * exp(-(c * place)) / period).upper()
        length = ball(period * h)
        aliases = (self.right * exp(-(witness.right * place)) / expm1((witness.right - witness.tilt) * length)
                   + self.left * exp(-(witness.left * place)) / expm1((witness.tilt - witness.left) * length))
        return bounds_from_sum(found / period, {"frequency_tail": tail}, {"aliasing": aliases.upper()})


def _kernel(z: Complex, step: Ball, room: Ball) -> Complex:
    found = []
    for real in (z[0], z[0] + 1):
        top = complex_exp((-(real * room), -(z[1] * room)))
        below = complex_exp((-(real * step), -(z[1] * step)))
        found.append(times(top, inverse((1 - below[0], -below[1]))))
    return found[0][0] - found[1][0], found[0][1] - found[1][1]


def _bound_kernel(c: Ball, step: Ball, room: Ball, sine: Ball) -> Ball:
    """|K| e^{c eps} where |sin(wh/2)| >= sine: both terms by e^{c(h/2 - u)}/(2 |sinh(zh/2)|)."""
    found = Ball(0)
    for real in (c, c + 1):
        half = sinh(real * step / 2)
        found = found + exp(real * (step / 2 - room)) / (2 * sqrt(half * half + sine * sine))
    return found


class SparseValues:
    """Both composed laws."""

    def __init__(self, witness: Sparse, loss: ComposedLoss) -> None:
        self.witness = witness
        counts = [count for _, count in loss.laws]
        steps = [enclose_step(law, grid, witness.step, witness.bits)
                 for (law, _), grid in zip(loss.laws, witness.grids, strict=True)]
        self.above = SparseSide([Atoms(step.vertices, step.above, witness) for step in steps], counts, witness)
        self.below = SparseSide([Atoms(step.vertices, step.below, witness) for step in steps], counts, witness)
        self.infinities = infinities(steps, counts)
        self.shift = total_shift(witness.grids, counts)

    def enclose(self, epsilon: Fraction) -> Bounds:
        """infinity + D of the lower law <= delta(eps) <= infinity + D of the upper one; shifts move eps (T31)."""
        place, (most, least) = epsilon - self.shift * self.witness.step, self.infinities
        above, below = self.above.enclose(place), self.below.enclose(place)
        upper = smaller((most + above.upper).upper(), 1)
        lower = larger((least + below.lower).lower(), 0)
        budget = {name: (size + below.budget[name]).upper() for name, size in above.budget.items()}
        return Bounds(lower.lower(), upper.upper(), {
            "lattice": (upper - lower).upper(), "truncation": (most - least).upper(), **budget})
