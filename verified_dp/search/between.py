"""delta along a whole stretch of eps from its values at few: a polynomial through a contour's sums (T159).

A contour's sum is a sum of exponentials in eps, bounded off the real axis by its terms' sizes, so that the polynomial
through its values at Chebyshev points is near it everywhere between them; its other errors are convex in eps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise

import numpy as np
from flint import acb, arb, arb_mat, arb_poly, ctx, fmpq

from verified_dp.core.engines.contour import LineValues
from verified_dp.core.engines.powers import turned_sum
from verified_dp.core.engines.rays import RaysValues
from verified_dp.core.kernel.balls import BOUND_BITS, ball, largest, lower_end, plus_minus, upper_end
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.witnesses import Values

_ELLIPSES = np.array([1.15, 1.25, 1.4, 1.6, 1.9, 2.3, 3.0, 4.0, 6.0, 9.0])
_MOST = 160
"""No polynomial of a higher degree is made."""
_PARTS = 24
"""Parts of a stretch, in each of which its errors are bounded at once."""
_SPARE = 5.0
"""Bits beyond those asked that the polynomial shall keep."""

Size = tuple[arb, arb, arb]
"""x, y and s >= 0: what is at most s e^{-x Re eps + y |Im eps|}, x, y >= 0."""


@singledispatch
def enclose_flat(values: object, epsilon: arb) -> arb:
    """Enclose e^{c eps} times the sum of a contour that starts at c, without what is known of its aliases."""
    raise TypeError(type(values))


@singledispatch
def bound_sizes(values: object) -> list[Size]:
    """Bounds whose sum bounds that product at every complex eps, as a sum of exponentials."""
    return []


@enclose_flat.register
@proved_by("T159-between")
def _flat_line(values: LineValues, epsilon: arb) -> arb:
    _, step, scale = values.scales
    return scale * turned_sum(values.pieces, acb(0, -(step * epsilon)).exp()).real


@bound_sizes.register
@proved_by("T159-between")
def _sizes_of_line(values: LineValues) -> list[Size]:
    _, step, scale = values.scales
    return [(arb(0), m * step, scale * term.abs_upper()) for m, term in enumerate(values.terms)]


@enclose_flat.register
@proved_by("T159-between")
def _flat_rays(values: RaysValues, epsilon: arb) -> arb:
    return (ball(values.witness.tilt) * epsilon).exp() * values.enclose_sum(epsilon)


@bound_sizes.register
@proved_by("T159-between")
def _sizes_of_rays(values: RaysValues) -> list[Size]:
    """All terms of a level at both of its ends: |e^{-(z-c) eps}| is log-convex along it."""
    tilt = ball(values.witness.tilt)
    found = []
    for ray in values.rays:
        for level in ray.levels:
            size = sum((term.abs_upper() for term in level.terms.entries()), arb(0)) / arb.pi()
            found += [((z.real - tilt).max(arb(0)), z.imag.max(arb(0)), size) for z in level.ends]
    return found


@singledispatch
def enclose_beside(values: object, at: arb) -> arb:
    """Enclose what delta has beside that sum."""
    return arb(0)


@enclose_beside.register
@proved_by("T159-between", "T157-known-aliases")
def _beside_line(values: LineValues, at: arb) -> arb:
    if values.witness.left >= 0:
        return values.infinity_mass
    one, power = values.known_factors
    return values.infinity_mass - one + power * at.exp()


@dataclass(frozen=True)
class Part:
    """A part of the stretch: all errors on it, bounds of them by source, and what rounding may add."""

    errors: arb
    budget: dict[str, arb]
    rounding: arb


@dataclass(frozen=True)
class Between:
    """`Values` on a stretch: delta = e^{-c eps} polynomial((eps - middle) / half) + what is beside it.

    values: what it is made of, which answers elsewhere. parts: of the stretch, equally long. prec: bits.
    """

    values: LineValues | RaysValues
    tilt: arb
    middle: arb
    half: arb
    polynomial: arb_poly
    parts: list[Part]
    prec: int

    @proved_by("T159-between", "T33-sum-and-errors")
    def delta(self, epsilon: Fraction) -> Bounds:
        """Enclose delta(eps)."""
        with ctx.workprec(self.prec):
            at = ball(epsilon)
            place = (at - self.middle) / self.half
            index = ((place + 1) * len(self.parts) / 2).floor().unique_fmpz()
            if index is None or not 0 <= index < len(self.parts):
                return self.values.delta(epsilon)
            part, total = self.parts[int(index)], self.enclose(at, place)
            if not total.rad() <= part.rounding:
                return self.values.delta(epsilon)
            total += part.errors
            return Bounds(lower_end(total).max(arb(0)), upper_end(total).min(arb(1)), part.budget)

    @proved_by("T159-between")
    def enclose(self, at: arb, place: arb) -> arb:
        """Enclose delta without the errors that the parts bound."""
        return self.polynomial(place) * (-(self.tilt * at)).exp() + enclose_beside(self.values, at)


def interpolate(values: Values, low: Fraction, high: Fraction, bits: float, least: float, most: int) -> Values:
    """A polynomial from low to high that keeps so many bits; the values themselves where its degree exceeds `most`.

    least: about log of delta e^{c eps} at its smallest there.
    """
    if not isinstance(values, LineValues | RaysValues):
        return values
    with ctx.workprec(values.witness.prec):
        sizes = bound_sizes(values)
        degree, ellipse = _choose(sizes, float(low), float(high), least - (bits + _SPARE) * math.log(2))
    return values if degree > min(most, _MOST) else _through(values, sizes, low, high, degree, ellipse)


def _choose(sizes: list[Size], low: float, high: float, target: float) -> tuple[int, Fraction]:
    """The degree that an error below e^target takes, and the ellipse that shows it."""
    x, y, logs = (np.array(part) for part in zip(*(
        (float(x), float(y), float(size.log())) for x, y, size in sizes if size > 0), strict=True))
    half, middle, rho = (high - low) / 2, (high + low) / 2, _ELLIPSES[:, None]
    reach = logs - x * (middle - half * (rho + 1 / rho) / 2) + y * half * (rho - 1 / rho) / 2
    degrees = (np.logaddexp.reduce(reach, axis=1) + np.log(4 / (_ELLIPSES - 1)) - target) / np.log(_ELLIPSES)
    best = int(degrees.argmin())
    return max(math.ceil(degrees[best]), 4), Fraction(float(_ELLIPSES[best]))


@proved_by("T159-between")
def _through(values: LineValues | RaysValues, sizes: list[Size], low: Fraction, high: Fraction, degree: int,
             ellipse: Fraction) -> Between:
    """The polynomial of this degree through the sums at Chebyshev points, its remainder in its constant."""
    prec = values.witness.prec + math.ceil(1.3 * degree) + 10
    with ctx.workprec(prec):
        middle, half, tilt = ball((low + high) / 2), ball((high - low) / 2), ball(values.witness.tilt)
        turns = [arb.cos_pi_fmpq(fmpq(k, degree)) for k in range(degree + 1)]
    with ctx.workprec(values.witness.prec):
        found = [enclose_flat(values, middle + half * turn) for turn in turns]
    with ctx.workprec(BOUND_BITS):
        rest = bound_between(sizes, middle, half, degree, ball(ellipse)) + 2 * degree * largest(
            [value.rad() for value in found])
    with ctx.workprec(prec):
        polynomial = chebyshev([value.mid() for value in found], turns) + plus_minus(rest)
        errors = [values.bound_errors(low + (high - low) * i / _PARTS) for i in range(_PARTS + 1)]
        made = Between(values, tilt, middle, half, polynomial, [], prec)
        for i, (left, right) in enumerate(pairwise(errors)):
            place = arb(2 * i) / _PARTS - 1
            rounding = upper_end(2 * made.enclose(middle + half * place, place).rad())
            budget = {name: upper_end(left[name].max(right[name])) for name in left}
            around = plus_minus(sum(budget.values(), arb(0)))
            made.parts.append(Part(around, {**budget, "rounding": rounding}, rounding))
    return made


@proved_by("T159-between")
def bound_between(sizes: list[Size], middle: arb, half: arb, degree: int, rho: arb) -> arb:
    """Bound the remainder 4 M rho^-n / (rho - 1), M what bounds the sum on the ellipse, at its left and above it."""
    left, above = middle - half * (rho + 1 / rho) / 2, half * (rho - 1 / rho) / 2
    most = sum((size * (y * above - x * left).exp() for x, y, size in sizes), arb(0))
    return upper_end(4 * most * rho ** -degree / (rho - 1))


@proved_by("T159-between")
def chebyshev(values: list[arb], turns: list[arb]) -> arb_poly:
    """Enclose the polynomial through values at cos(pi k / n), k = 0..n: turns are these points."""
    n = len(values) - 1
    whole = turns + turns[-2:0:-1]
    ends = [values[0] / 2, *values[1:-1], values[-1] / 2]
    table = arb_mat([[whole[j * k % (2 * n)] for k in range(n + 1)] for j in range(n + 1)])
    shares = (table * arb_mat([[2 * value / n] for value in ends])).entries()
    shares = [shares[0] / 2, *shares[1:-1], shares[-1] / 2]
    last, before, argument = arb_poly([0]), arb_poly([0]), arb_poly([0, 2])
    for share in shares[:0:-1]:
        last, before = argument * last - before + share, last
    return arb_poly([0, 1]) * last - before + shares[0]
