"""Random allocation where one large round decides (T162): S the sum of t lognormal ratios, K large.

c(K) = E (X - K)_+ <= E (S - K)_+ / t <= c(K) + r P(X > K - r) + (t-1) P(X > r/(t-1)), and so for both tails of S.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flint import arb

from verified_dp.core.kernel.balls import normal_tail, upper_end
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class OneRound:
    """t >= 2, s, a strike K > 2 and 0 < r < K, the size of all other rounds that is allowed for."""

    rounds: int
    spread: arb
    strike: arb
    rest: arb

    @staticmethod
    def at(rounds: int, spread: arb, strike: arb) -> OneRound | None:
        """With r where both errors of the excess are about equal; None where there is nothing to say."""
        if rounds == 1 or not (strike.is_finite() and strike > 2):
            return None
        return OneRound(rounds, spread, strike, strike / 2).smaller(lambda one: one.others <= one.shifted)

    def smaller(self, small: Callable[[OneRound], bool]) -> OneRound:
        """r 2^-n, the largest n for which that still holds, by bisection."""
        found = self
        for step in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
            less = replace(found, rest=found.rest * arb((1, -step)))
            found = less if small(less) else found
        return found

    def beyond(self, x: arb) -> arb:
        """P(X > x)."""
        return normal_tail((x.log() + self.spread**2 / 2) / self.spread)

    def placed(self, x: arb) -> arb:
        """E[X; X > x]: the round that the record is placed in."""
        return normal_tail((x.log() - self.spread**2 / 2) / self.spread)

    @property
    def others(self) -> arb:
        """(t-1) P(X > r/(t-1)), at least the chance that t - 1 rounds exceed r."""
        return (self.rounds - 1) * self.beyond(self.rest / (self.rounds - 1))

    @property
    def shifted(self) -> arb:
        """r P(X > K - r), at least c(K - r) - c(K)."""
        return self.rest * self.beyond(self.strike - self.rest)

    @proved_by("T162-one-large-round")
    def enclose_excess(self) -> tuple[arb, arb]:
        """c(K) and how far E (S - K)_+ / t may be above it."""
        return self.placed(self.strike) - self.strike * self.beyond(self.strike), upper_end(self.others + self.shifted)

    @property
    def pairs(self) -> arb:
        """t (t-1)/2 P(X > r/(t-1))^2, at least the chance that every sum of t - 1 rounds exceeds r."""
        return self.rounds * self.others**2 / (2 * (self.rounds - 1))  # exact: whole numbers

    @proved_by("T162-one-large-round")
    def enclose_tails(self) -> tuple[arb, arb]:
        """Enclose E[S/t; S > K] and P(S > K), the second by an r of its own."""
        less = self.strike - self.rest
        placed = self.placed(self.strike).union(self.placed(less) + self.others)
        lone = self.rounds * self.beyond(self.strike)
        other = replace(self, rest=self.strike / 2).smaller(lambda one: one.pairs <= lone * one.rest / one.strike)
        several = -(self.rounds * (-self.beyond(self.strike)).log1p()).expm1()
        return placed, several.union(self.rounds * self.beyond(self.strike - other.rest) + other.pairs)
