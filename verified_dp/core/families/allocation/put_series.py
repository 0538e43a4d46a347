"""The same function and its derivatives by polynomials about a strike, which many strikes share (T132)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import acb_mat, arb, arb_poly, ctx

from verified_dp.core.engines.shared import kept
from verified_dp.core.families.allocation.put import Band, PutValues, evaluate_put
from verified_dp.core.kernel.balls import BOUND_BITS, ball, disc, plus_minus, upper_end
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.theorems import proved_by

_SHARP = 56
"""Bits of put where tails and densities are asked for."""
_TERMS = 48
_WORD = 64


@dataclass(frozen=True)
class PutSeries:
    """Taylor polynomials of put, put' and put'' (power 2, 1, 0) about a strike, and their errors within a reach of it.

    sharp: whether cutting the polynomials off adds little to the errors that there are anyway.
    """

    middle: arb
    reach: arb
    polynomials: dict[int, arb_poly]
    errors: dict[int, arb]
    sharp: bool

    @proved_by("T132-hyperbola")
    def enclose(self, strike: arb, power: int) -> arb | None:
        """Enclose the function at every K of the ball; None where they are not within reach."""
        away = strike - self.middle
        if not abs(away) <= self.reach:
            return None
        return self.polynomials[power](away) + plus_minus(self.errors[power])


def power_table(values: PutValues, length: int) -> acb_mat:
    """Rows z^{n-2} / n!, n = 0..length+1, with a column for each term."""
    rows, row = [], [1 / (z * z) for z, _, _ in values.terms]
    for n in range(length + 2):
        rows.append(row)
        row = [power * z / (n + 1) for power, (z, _, _) in zip(row, values.terms, strict=True)]
    return acb_mat(rows)


@proved_by("T132-hyperbola")
def expand(values: PutValues, table: acb_mat, middle: arb, reach: arb) -> PutSeries:
    """The polynomials of N terms: e^{zd} is its own up to |zd|^N e^{|z| |d|} / N!, |d| <= reach < middle."""
    length = table.nrows() - 2
    shifted = [((weight + disc(blur)) * (middle * z).exp(), z) for z, weight, blur in values.terms]
    coefficients = [total.imag for total in (table * acb_mat([[weight] for weight, _ in shifted])).entries()]
    polynomials, errors, sharp = {}, {}, True
    for power in (2, 1, 0):
        polynomials[power] = arb_poly(coefficients[:length])
        coefficients = [n * coefficients[n] for n in range(1, len(coefficients))]
        with ctx.workprec(BOUND_BITS):
            lost = sum((weight.abs_upper() * ((z.abs_upper() * reach).exp() * (z.abs_upper() * reach) ** length
                                              / z.abs_lower() ** power) for weight, z in shifted), arb(0))
            own, near = (sum(values.bound_errors(strike, power).values(), arb(0))
                         for strike in ((middle - reach).union(middle + reach), middle))
            lost /= arb(length).fac()
            errors[power], sharp = upper_end(own + lost), sharp and bool(lost <= 8 * near)
    return PutSeries(middle, reach, polynomials, errors, sharp)


@kept(2048)
def expanded_put(rounds: int, noise: Fraction | SquareRoot, band: Band) -> PutSeries:
    """The polynomials about a strike, from the values for one near it."""
    values = _sharp_values(rounds, noise, band.near)
    return expand(values, _powers(rounds, noise, band.near), ball(band.middle), ball(band.reach))


@kept(32)
def _powers(rounds: int, noise: Fraction | SquareRoot, near: Fraction) -> acb_mat:
    return power_table(_sharp_values(rounds, noise, near), _TERMS + ctx.prec // 4)


def _sharp_values(rounds: int, noise: Fraction | SquareRoot, near: Fraction) -> PutValues:
    """Half of the bits in use, or 56."""
    return evaluate_put(rounds, noise, near, min(ctx.prec, max(_SHARP, ctx.prec // 2 - 8)))  # exact: integers


@proved_by("T132-hyperbola")
def enclose_put(rounds: int, noise: Fraction | SquareRoot, strike: arb, power: int, band: Band) -> arb:
    """Enclose E (K - S)_+ (power 2), P(S < K) (1) or the density of S at K (0), K > 0, by what the band shares."""
    with ctx.workprec(-(-ctx.prec // _WORD) * _WORD):  # few precisions, so that values are shared
        series = expanded_put(rounds, noise, band) if band.reach else None
        found = series.enclose(strike, power) if series and series.sharp else None
        return _sharp_values(rounds, noise, band.near).enclose(strike, power) if found is None else found
