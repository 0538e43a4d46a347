"""An epoch of random allocation as the engines on lines see it: its moments, and its transform (T133, T168)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from flint import acb, arb, ctx

from verified_dp.core.engines.rules import DiscreteRule
from verified_dp.core.engines.shared import kept
from verified_dp.core.families.allocation.density_line import GaussianPart, Line, bound_left, choose_start
from verified_dp.core.families.allocation.put_series import enclose_put
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball, disc, integer_above, integer_below, upper_end
from verified_dp.core.kernel.exact import SquareRoot, square
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing, words

_HIGHEST = 48
"""Moments of the remove order are taken up to this one."""
_FEW_BITS, _MOMENT_BITS = 16, 512
"""Of a moment that is bounded by places; for all whole moments, whose sums cancel where rounds are few."""
_PLACE = 3 * 10**4
"""Units of a density at a place, with its hyperbola: mostly 1 to 5 ms a word."""


class AllocationOnLine(RandomAllocationLoss):
    """The same law."""

    @proved_by("T133-random-allocation", "T168-allocation-line")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, above 0: remove, at most that of one round, e^{l(l+1) s^2/2}, and E (S/t)^{1+l};
        add, at most e^{l s^2/2 + l^2 s^2/(2t)}.

        E (S/t)^{1+l} is log-convex in l, and known for whole l. Infinite where l may be below 0: there one round's
        moment is the smaller one.
        """
        if self.order == "add" or not exponent >= 0:
            return arb(0).union(self.part.bound_moment(exponent))
        single = (exponent * (exponent + 1) / (2 * ball(square(self.noise_multiplier)))).exp()
        if not 0 <= exponent < _HIGHEST:
            return arb(0).union(single)
        whole = integer_below(exponent)
        if not exponent - whole <= 1:
            return arb(0).union(single)
        moments = enclose_moments(self.rounds, self.noise_multiplier)
        low, high = moments[whole + 1].log(), moments[whole + 2].log()
        return arb(0).union(single.min((low + (exponent - whole) * (high - low)).exp()))

    @property
    def part(self) -> GaussianPart:
        """The Gaussian part of the loss."""
        return GaussianPart.of(self.rounds, self.noise_multiplier)

    def _enclose_one(self, x: arb, power: int, halvings: int = 0) -> arb:
        """As `_enclose`, by the hyperbola itself: where hardly two strikes meet in a cell, polynomials do not pay."""
        found = self._shared(x, halvings)
        if found is None:
            return arb(0).union(arb.pos_inf())
        return enclose_put(self.rounds, self.noise_multiplier, found[0], power, replace(found[1], reach=Fraction(0)))

    @proved_by("T133-random-allocation", "T168-allocation-line")
    def enclose_one_density(self, x: arb, halvings: int) -> arb:
        """Enclose K f(K), f the density of S: the density of the loss under Q (remove), under P (add).

        halvings: of the cells that share a hyperbola, which then is nearer.
        """
        return self._strike(x) * self._enclose_one(x, 0, halvings)

    @proved_by("T168-allocation-line")
    def bound_below(self, power: arb, x: arb, small: arb) -> arb:
        """Bound E[e^{aL}; L < x] under the law of S: remove, by e^{ax} P(L < x); add, by pieces until that is small.

        Infinite but for a > 0.
        """
        if not power > 0:
            return arb.pos_inf()
        if self.order == "add":
            return bound_left(power, x, small, lambda place: self._enclose_one(place, 1))
        return upper_end((power * x).exp() * self._enclose_one(x, 1))

    @proved_by("T168-allocation-line")
    def bound_above(self, power: arb, x: arb, small: arb) -> arb:
        """Bound E[e^{aL}; L > x] under the law of S: remove, by whole moments; add, by pieces until that is small."""
        if self.order == "add":
            return self.part.bound_pieces(power, x, small, lambda place: self._enclose_one(place, 1))
        with ctx.workprec(_MOMENT_BITS):
            moments, found = enclose_moments(self.rounds, self.noise_multiplier), arb.pos_inf()
            for n in range(1, _HIGHEST + 2):
                found = found.min(moments[n] * ((power - n) * x).exp()) if n >= power else found
            return upper_end(found)

    def _sum_places(self, tilt: arb, frequency: arb, bits: int,
                    between: Callable[[], None] = nothing) -> tuple[DiscreteRule, arb]:
        """The rule to about 2^-bits, and a bound of M(c)."""
        power = tilt + 1 if self.order == "remove" else tilt
        line = Line(self, self.part, power, upper_end(abs(frequency)), bits)
        return line.enclose_rule(self._start(power), between)

    def _start(self, power: arb) -> arb:
        """About where e^{ax} times the density is largest."""
        if self.order == "add":
            return choose_start(self.rounds, self.noise_multiplier, power)
        with ctx.workprec(_MOMENT_BITS):
            moments = enclose_moments(self.rounds, self.noise_multiplier)
            n = integer_below(power.min(arb(_HIGHEST)))
            return (moments[n + 1] / moments[n]).log()

    @proved_by("T168-allocation-line")
    def enclose_rule(self, tilt: arb, frequency: arb, between: Callable[[], None] = nothing) -> DiscreteRule:
        """Enclose h e^{cx} p(x) at all places that matter, and their error on |Im z| <= frequency."""
        return self._sum_places(tilt, frequency, ctx.prec, between)[0]

    def count_nodes(self, tilt: arb, frequency: arb) -> int:
        """The places."""
        return len(self.enclose_rule(tilt, frequency).losses)

    @proved_by("T168-allocation-line")
    def enclose_transform(self, z: acb) -> acb:
        """Enclose M(z), Re z > 0."""
        rule, turn = self.enclose_rule(z.real, z.imag), acb(0, z.imag)
        parts = (weight * (turn * loss).exp() for loss, weight in zip(rule.losses, rule.weights, strict=True))
        return sum(parts, acb(0)) + disc(rule.error)

    @proved_by("T168-allocation-line")
    def bound_moment(self, exponent: arb) -> arb:
        """Bound M(l), l > 0: remove, for whole l, by what is known of whole moments; else by a few places."""
        if self.order == "remove" and 0 <= exponent < _HIGHEST and exponent == integer_below(exponent):
            return self.enclose_moment(exponent).upper()
        return self._sum_places(exponent, arb(0), _FEW_BITS)[1].min(self.enclose_moment(exponent).upper())

    @proved_by("T168-allocation-line")
    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(c+iw)| for every w >= W by M(c) e^{-W^2 v/2}."""
        return upper_end(self.bound_moment(tilt) * self.part.fall(frequency))

    def transform_work(self, prec: int) -> int:
        """One product at each place."""
        return 2 * words(prec) * self._places(prec)

    def rule_work(self, prec: int) -> int:
        """Of the density at all places, and the hyperbolas that some of them share."""
        return _PLACE * words(prec) * self._places(prec)

    def _places(self, prec: int) -> int:
        """About as many as a line has; more where small tilts ask for large losses."""
        with ctx.workprec(BOUND_BITS):
            wide = 1 + ((2 * self.part.most).expm1() / self.rounds).log1p() / self.part.variance
            return prec * (1 + integer_above(wide.sqrt()))


@kept(16)
@proved_by("T133-random-allocation")
def enclose_moments(rounds: int, noise: Fraction | SquareRoot) -> list[arb]:
    """Enclose E (S/t)^n, n = 0.._HIGHEST + 1: n!/t^n [x^n] (sum_k e^{k(k-1)s^2/2} x^k/k!)^t."""
    variance, found = 1 / ball(square(noise)), [arb(1)]
    single = [(variance * (k * (k - 1)) / 2).exp() / arb(k).fac() for k in range(_HIGHEST + 2)]
    for n in range(1, _HIGHEST + 2):  # b = a^t: a b' = t a' b
        terms = ((k * (rounds + 1) - n) * single[k] * found[n - k] for k in range(1, n + 1))
        found.append(sum(terms, arb(0)) / n)
    return [value * arb(n).fac() / arb(rounds) ** n for n, value in enumerate(found)]
