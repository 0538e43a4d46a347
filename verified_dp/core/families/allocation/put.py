"""put(K) = E (K - S)_+, S the sum of t lognormal ratios, and its derivatives, on a hyperbola (T132).

    (1/2 pi i) int phi(z)^t e^{zK} z^{-n} dz,   z(v) = c (1 + sin a) + c sin(iv - a):   n = 2 put, n = 1 P(S < K),
    n = 0 the density of S.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from flint import acb, arb, ctx

from verified_dp.core.engines.shared import enclose_power, kept
from verified_dp.core.families.allocation.hyperbola import CELL, Arm, Piece
from verified_dp.core.families.allocation.hyperbola_choice import (
    End,
    Plan,
    bits_of,
    choose_chords,
    choose_end,
    choose_plan,
    log_size,
    strip_of,
    wanted_bits,
    whole,
)
from verified_dp.core.families.allocation.lognormal_nodes import Rules
from verified_dp.core.kernel.balls import (
    BOUND_BITS,
    ball,
    integer_above,
    lower_end,
    plus_minus,
    upper_dyadic,
    upper_end,
)
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.theorems import proved_by


class Term(NamedTuple):
    """z, h z' phi^t / pi there without the errors of phi's rule, and how much those can add to it."""

    z: acb
    weight: acb
    blur: arb


@dataclass(frozen=True)
class PutValues:
    """What a hyperbola yields before K is known: the sum's terms, and what is left out, by arms.

    aliases: parts of both arms of the strip's edges; damping: 1 / (e^{2 pi b/h} - 1); dropped: parts of the
    path; share: h over the least width of a part. prec: bits of the terms, which may be larger than their sum.
    """

    terms: list[Term]
    aliases: list[Piece]
    damping: arb
    dropped: list[Piece]
    share: arb
    prec: int

    @proved_by("T132-hyperbola")
    def itemise(self, strike: arb, power: int) -> tuple[arb, dict[str, arb]]:
        """The sum for (1/2 pi i) int phi^t e^{Kz} z^{-n} dz, K > 0 in the ball, and bounds of each kind of error."""
        total, quadrature = acb(0), arb(0)
        with ctx.workprec(max(self.prec, ctx.prec)):  # exact: integers
            for z, weight, blur in self.terms:
                factor = (strike * z).exp() / z**power
                total += weight * factor
                quadrature += blur * factor.abs_upper()
        return total.imag, {"quadrature": upper_end(quadrature), **self.bound_errors(strike, power)}

    def enclose(self, strike: arb, power: int) -> arb:
        """Enclose that integral for every K > 0 of the ball."""
        total, errors = self.itemise(strike, power)
        return total + plus_minus(sum(errors.values(), arb(0)))

    @proved_by("T132-hyperbola")
    def bound_errors(self, strike: arb, power: int) -> dict[str, arb]:
        """Bound aliases and what is dropped, for every K > 0 of the ball."""
        with ctx.workprec(BOUND_BITS):
            aliases = sum((piece.bound(strike, power) for piece in self.aliases), arb(0))
            dropped = sum((piece.bound_sum(strike, power, self.share) for piece in self.dropped), arb(0))
            return {"aliasing": upper_end(aliases * self.damping / arb.pi()),
                    "frequency_tail": upper_end(dropped / arb.pi())}


_SPARE = 32
"""Bits for squarings in a row and for long sums."""


@kept(512)
def evaluate_put(rounds: int, noise: Fraction | SquareRoot, strike: Fraction, own: int) -> PutValues:
    """The values of a hyperbola chosen for K = strike, good to so many bits of put and to those that cancel."""
    prec = ctx.prec
    with ctx.workprec(BOUND_BITS):
        spread, aim = 1 / ball(noise), lower_end(ball(strike))
        bits = whole(wanted_bits(rounds, spread, aim, own, prec))
        chords = choose_chords(rounds, noise, aim)
        chosen = choose_plan(rounds, chords, aim, bits)
        step = 2 * arb.pi() * strip_of(chosen.path) / (bits * arb.const_log2() + 2 + chosen.wasted)
        end = choose_end(chosen, bits)
    return put_values(chosen, noise, lower_end(step), end, bits)


@proved_by("T132-hyperbola")
def put_values(chosen: Plan, noise: Fraction | SquareRoot, step: arb, end: End, bits: int) -> PutValues:
    """The sum over the path up to its end, in steps of any exact size; transforms to about 2^-bits."""
    path = chosen.path
    with ctx.workprec(BOUND_BITS):
        damping = upper_end(1 / (2 * arb.pi() * strip_of(path) / step).expm1())
        count = integer_above(end.v / step)
        above = log_size(path.rounds, path.chords, chosen.strike, path.scale) - chosen.log_size
        deeper = whole(bits_of(path.rounds / path.chords.bound(path.scale) * above.exp()) + 4)
        rules = Rules(noise, upper_dyadic(arb.pi() / 2 + path.angle).as_fraction(), bits + deeper)
        spare = whole(integer_above(rules.growth / arb.const_log2()) + deeper + _SPARE)
        share = upper_end(step / ball(CELL))
    with ctx.workprec(bits + spare):
        terms = sum_terms(path, rules, step, count)
    return PutValues(terms, chosen.aliases, damping, end.dropped, share, bits + spare)


@proved_by("T132-hyperbola")
def sum_terms(path: Arm, rules: Rules, step: arb, count: int) -> list[Term]:
    """The terms at z(jh), half of that at j = 0, j = 0..count; blur: |(M + e)^t - M^t| <= t e (|M| + e)^{t-1}."""
    t, scale, terms, (sine, cosine) = path.rounds, path.scale, list[Term](), path.angle.sin_cos()
    grown = [(j * step).exp() for j in range(count + 1)]
    turns = [((x + 1 / x) / 2, (x - 1 / x) / 2) for x in grown]  # cosh v, sinh v
    points = [acb(path.centre - scale * sine * c, scale * cosine * d) for c, d in turns]
    for (c, d), z, (value, error) in zip(turns, points, rules.at(points), strict=True):
        share = step / arb.pi() * scale * acb(-sine * d, cosine * c) / (1 if terms else 2)
        with ctx.workprec(BOUND_BITS):
            size = value.abs_upper() + error
            blur = upper_end(share.abs_upper() * t * error * size ** (t - 1))
        terms.append(Term(z, share * enclose_power(value, t), blur))
    return terms


@dataclass(frozen=True)
class Band:
    """Strikes that share values, those of a hyperbola for K = near, and those among them within reach of the middle.

    reach 0: so few that polynomials would not pay.
    """

    near: Fraction
    middle: Fraction
    reach: Fraction


@proved_by("T132-hyperbola")
def itemise_put(rounds: int, noise: Fraction | SquareRoot, strike: arb, near: Fraction) -> tuple[arb, dict[str, arb]]:
    """E (K - S)_+ and its errors, by the values for a strike near K: as many bits as delta has, of 2 bits + 40."""
    return evaluate_put(rounds, noise, near, own_bits(ctx.prec)).itemise(strike, 2)


def own_bits(prec: int) -> int:
    """The bits of delta that a precision stands for, and a few more."""
    return max(_FEWEST, prec // 2 - 12)  # exact: integers


_FEWEST = 24
