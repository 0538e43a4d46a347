"""One epoch of random allocation: every record is in exactly one of t batches, uniformly, and is not told which (T133).

With S = X_1 + ... + X_t, X = e^{su - s^2/2} lognormal ratios of a Gaussian, s = 1 / noise multiplier, the pair is
P = law of a record placed at random, Q = N(0, sigma^2 I_t), dP/dQ = S/t; put(K) = E (K - S)_+.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt  # exact: integers
from typing import TYPE_CHECKING, ClassVar

from flint import acb, arb, ctx

from verified_dp.core.engines.shared import kept
from verified_dp.core.families.allocation.large_round import OneRound
from verified_dp.core.families.allocation.put import Band, itemise_put, own_bits
from verified_dp.core.kernel.balls import (
    BOUND_BITS,
    ball,
    integer_below,
    lower_dyadic,
    lower_end,
    upper_dyadic,
    upper_end,
)
from verified_dp.core.kernel.exact import SquareRoot, square
from verified_dp.core.kernel.law import PlainLaw, Unbounded
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import nothing, words

if TYPE_CHECKING:
    from verified_dp.core.engines.rules import DiscreteRule
    from verified_dp.core.families.allocation.on_line import AllocationOnLine

_FINE = 4
"""Polynomials cover cells of 2^-4 at most."""
_SPREAD_OUT = Fraction(1, 16)
"""The loss under less noise is so spread out that hardly two strikes of a grid meet in a cell."""
_HALF_AND_MORE = Fraction(17, 32)
_FARTHEST = 10**6
@dataclass(frozen=True)
class RandomAllocationLoss(Unbounded, PlainLaw):
    """rounds = t >= 1, noise_multiplier > 0, order remove (P against Q) or add."""

    rounds: int
    noise_multiplier: Fraction | SquareRoot
    order: str

    decays: ClassVar[bool] = True
    least_count: ClassVar[int] = 1

    def _strike(self, x: arb) -> arb:
        """K = t e^x in the remove order, t e^-x in the add order: S < K where the remove order's loss is below x."""
        return self.rounds * (x if self.order == "remove" else -x).exp()

    def _shared(self, x: arb, halvings: int = 0) -> tuple[arb, Band] | None:
        """K and the band of strikes that it lies in, or a part of it; None where it is out of reach."""
        strike, place = self._strike(x), lower_end(x if self.order == "remove" else -x)
        if not strike.is_finite() or not abs(place) < _FARTHEST:
            return None
        with ctx.workprec(BOUND_BITS):
            level = _level(self.noise_multiplier, self.rounds, integer_below(8 * place)) + halvings  # exact: integers
            finer = max(level, _FINE)  # exact: integers
            band = _band(self.rounds, level, finer, integer_below(place * arb((1, finer))))
            return strike, replace(band, reach=Fraction(0)) if square(self.noise_multiplier) < _SPREAD_OUT else band

    def _enclose(self, x: arb, power: int) -> arb:
        """put, its first or second derivative (power 2, 1, 0) at K, by what a band of strikes shares."""
        found = self._shared(x)
        if found is None:
            return arb(0).union(arb.pos_inf())
        from verified_dp.core.families.allocation.put_series import enclose_put  # not for a single step

        return enclose_put(self.rounds, self.noise_multiplier, found[0], power, found[1])

    def _stick(self, epsilon: arb, put: arb) -> arb:
        """(put + t - K) / t, K = t e^eps; add e^eps put / t, K = t e^-eps."""
        return put * epsilon.exp() / self.rounds if self.order == "add" else put / self.rounds - epsilon.expm1()

    @proved_by("T133-random-allocation")
    def itemise_hockey_stick(self, epsilon: arb) -> tuple[arb, dict[str, arb]]:
        """H(eps) by values for one strike, or where all other rounds are too small by one, and bounds of the errors."""
        single = self.enclose_by_one_round(epsilon)
        if single is not None and self.is_sharp(*single):
            return single[0], {"other_rounds": single[1]}
        found = self._shared(epsilon, 1)
        if found is None:
            return arb(0).union(arb(1)), {}
        put, errors = itemise_put(self.rounds, self.noise_multiplier, found[0], found[1].near)
        scale = (epsilon.exp() if self.order == "add" else arb(1)) / self.rounds
        stick, errors = self._stick(epsilon, put), {name: upper_end(scale * size) for name, size in errors.items()}
        if single is not None and not stick.rad() + sum(errors.values(), arb(0)) < single[1]:
            return single[0], {"other_rounds": single[1]}
        return stick, errors

    @proved_by("T133-random-allocation")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose (put(K) + t - K) / t, K = t e^eps; add e^eps put(K) / t, K = t e^-eps; at least 1 - e^eps."""
        single = self._if_one_round_tells(epsilon)
        if single is not None:
            stick = single[1] if self.order == "remove" else epsilon.exp() * single[1] - epsilon.expm1()
            return self._within(stick, epsilon)
        return self._within(self._stick(epsilon, self._enclose(epsilon, 2)), epsilon)

    def _within(self, stick: arb, epsilon: arb) -> arb:
        """Cut to [1 - e^eps, 1] and to [0, 1]."""
        least = (-epsilon.expm1()).max(arb(0))
        return stick.max(least).min(arb(1)) if stick.is_finite() else least.union(arb(1))

    @staticmethod
    def is_sharp(single: arb, more: arb) -> bool:
        """Whether one round alone tells what the precision asks for."""
        return bool(more <= single * arb((1, -own_bits(ctx.prec))))

    @proved_by("T162-one-large-round")
    def enclose_by_one_round(self, epsilon: arb) -> tuple[arb, arb] | None:
        """Remove: E (X - K)_+ and how far H(eps) may be above it, c(K - r) - c(K) + (t-1) P(X > r/(t-1)), K = t e^eps.

        None in the add order, and where K is not large.
        """
        found = None if self.order == "add" else self._one_round(epsilon)
        return None if found is None else found.enclose_excess()

    def _one_round(self, x: arb) -> OneRound | None:
        """What one large round tells at K."""
        return OneRound.at(self.rounds, 1 / ball(self.noise_multiplier), self._strike(x))

    def _if_one_round_tells(self, x: arb) -> tuple[OneRound, arb] | None:
        """One large round, and what it tells of E (S - K)_+ / t, if that is a quarter of the bits or more."""
        found = self._one_round(x)
        if found is None:
            return None
        least, more = found.enclose_excess()
        return (found, least.union(least + more)) if more <= least * arb((1, -ctx.prec // 4)) else None

    @proved_by("T133-random-allocation")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose P(L > x) and Q(L > x): remove H + e^x (1 - F), 1 - F; add F, e^-x (F - H); F = P(S < K)."""
        single = self._if_one_round_tells(x)
        if single is not None:
            placed, above = single[0].enclose_tails()
            return (placed, above) if self.order == "remove" else (1 - above, 1 - placed)
        stick, below = self.enclose_hockey_stick(x), self._enclose(x, 1)
        if self.order == "add":
            return below, (below - stick) * (-x).exp()
        return stick + x.exp() * (1 - below), 1 - below

    @proved_by("T133-random-allocation")
    def enclose_density(self, x: arb) -> arb:
        """Enclose K f(K), f the density of S: under Q of the remove order, under P of the add order."""
        under = self._strike(x) * self._enclose(x, 0)
        return under if self.order == "add" else under * x.exp()

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """None of them."""
        return []

    @property
    def on_line(self) -> AllocationOnLine:
        """The same law with its moments and its transform."""
        from verified_dp.core.families.allocation.on_line import AllocationOnLine  # not for a single step

        return AllocationOnLine(self.rounds, self.noise_multiplier, self.order)

    def later_files(self, engine: str) -> tuple[str, ...]:
        """Powers; and the transform and the moments, for which a single step does not ask."""
        power, line = "verified_dp.core.engines.shared", "verified_dp.core.families.allocation.on_line"
        return (power,) if engine == "verified_dp.core.kernel.composed" else (power, line)

    def enclose_moment(self, exponent: arb) -> arb:
        """As that has it, and so all that follows."""
        return self.on_line.enclose_moment(exponent)

    def enclose_rule(self, tilt: arb, frequency: arb, between: Callable[[], None] = nothing) -> DiscreteRule:
        """As there."""
        return self.on_line.enclose_rule(tilt, frequency, between)

    def count_nodes(self, tilt: arb, frequency: arb) -> int:
        """As there."""
        return self.on_line.count_nodes(tilt, frequency)

    def enclose_transform(self, z: acb) -> acb:
        """As there."""
        return self.on_line.enclose_transform(z)

    def bound_moment(self, exponent: arb) -> arb:
        """As there."""
        return self.on_line.bound_moment(exponent)

    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """As there."""
        return self.on_line.bound_transform_beyond(tilt, frequency)

    def transform_work(self, prec: int) -> int:
        """As there."""
        return self.on_line.transform_work(prec)

    def rule_work(self, prec: int) -> int:
        """As there."""
        return self.on_line.rule_work(prec)

    def value_work(self, prec: int) -> int:
        """A polynomial that many x share, or a sum over the points of a hyperbola, and now and then a new one."""
        return _VALUE * words(prec)

    def table_work(self, prec: int) -> int:
        """The transform at every point of one hyperbola; more bits where there is much noise."""
        return _TABLE * words(prec) * (8 + isqrt(square(self.noise_multiplier).__ceil__())) // 8


_VALUE, _TABLE = 10**4, 10**6
"""Units: at most 1 ms and 0.1 s a word were measured, for t to 10^6; values are dearer where x is spread out."""


@kept(1024)
def _level(noise: Fraction | SquareRoot, rounds: int, eighth: int) -> int:
    """Strikes t e^y share a hyperbola for y in cells of 2^-level: about one or two deviations of log(S/t), or wider."""
    deviation = ((1 / ball(square(noise))).expm1() / rounds).sqrt()
    wide = deviation.max(2 * deviation * (eighth >= 0)).max(arb(eighth) / 32).min(arb(1) / 2)
    return -integer_below(wide.log() / arb.const_log2())


@kept(4096)
def _band(rounds: int, level: int, finer: int, index: int) -> Band:
    """Around the cell `index` of level `finer`, with the hyperbola of the cell of `level` that holds it."""
    start, end = (rounds * (arb(n) * arb((1, -finer))).exp() for n in (index, index + 1))
    near = rounds * ((arb(index >> finer - level) + arb(1) / 2) * arb((1, -level))).exp()
    middle = lower_dyadic((start + end) / 2).as_fraction()
    reach = upper_dyadic((end - start) * ball(_HALF_AND_MORE)).as_fraction()
    return Band(lower_dyadic(near).as_fraction(), middle, reach)
