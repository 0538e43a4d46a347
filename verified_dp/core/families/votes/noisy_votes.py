"""The Renyi divergences of a noisy vote from given counts, in both directions (T233).

    f, g     N(n, s^2 I) and N(n', s^2 I), |n' - n|^2 = 2, u = log g/f;  i any class, B_j = {class j beats class i}
    phi(r)   r^{-l} - 1 + l (r - 1)  >= 0,  convex,  l = order - 1
    E[e^{l L}] <= 1 + phi(1 - e) + sum_j E_f[phi(e^u); B_j],   e >= |q' - q| / (1 - q),  q that i does not win
    E_f[phi(e^u); B_j] = e^{l(l+1)/s^2} T(x - l d) - (l+1) T(x) + l T(x + d),   T(x) = P(N(0, 2 s^2) > x)

x = n_i - n_j and d by how much it changes to n'. A noisy threshold before it is an exact coin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from flint import arb

from verified_dp.core.engines.shared import kept
from verified_dp.core.families.guarantees.renyi import MomentBound
from verified_dp.core.kernel.balls import ball, largest, normal_tail, smallest, upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, words

Gaps: TypeAlias = tuple[tuple[Fraction, int], ...]
_CHANGES = range(-2, 3)
_MOVES = ((-1, (-2,)), (1, (2,)), (0, (-1, 1)))
"""A vote leaves the first class, comes to it, or does neither: what all gaps change by, and what single ones do."""


@dataclass(frozen=True)
class NoisyVotesLoss(MomentBound):
    """gaps: how far the first class is ahead of the others; excess: of its count over the threshold, where one is."""

    sigma: Fraction
    gaps: Gaps
    excess: Fraction | None = None
    threshold_sigma: Fraction | None = None
    order: str = "symmetric"

    @proved_by("T233-noisy-votes")
    def bound_log_moment(self, exponent: arb) -> arb:
        """Bound log E[e^{l L}], l > 0, in both directions."""
        vote = bound_vote(self.sigma, self.gaps, exponent)
        if self.excess is None or self.threshold_sigma is None:
            return vote
        coins = enclose_coins(self.excess, self.threshold_sigma, exponent)
        return largest([(yes * vote.exp() + no).log() for yes, no in coins])

    @proved_by("T233-noisy-votes")
    def bound_relative_entropy(self) -> arb:
        """E[L] is at most every D_{1+l} = K(l) / l."""
        return smallest([upper_end(self.bound_log_moment(ball(t)) / ball(t)) for t in (Fraction(1, 8), Fraction(1))])

    def value_work(self, prec: int) -> int:
        """Of some thirty error functions for every gap."""
        return 32 * len(self.gaps) * VALUE * words(prec)


@proved_by("T233-noisy-votes")
def enclose_coins(excess: Fraction, sigma: Fraction, exponent: arb) -> list[tuple[arb, arb]]:
    """Enclose (y^{l+1} z^{-l}, (1-y)^{l+1} (1-z)^{-l}) for the coins y, z of an answer at the votes and beside them."""
    places = [ball((excess + move) / sigma) for move in (0, -1, 1)]
    here, *beside = [(normal_tail(-place).log(), normal_tail(place).log()) for place in places]
    pairs = [pair for there in beside for pair in ((here, there), (there, here))]
    terms = [[((exponent + 1) * p - exponent * q).exp() for p, q in zip(*pair, strict=True)] for pair in pairs]
    return [(yes, no) for yes, no in terms]


@kept(4096)
@proved_by("T233-noisy-votes")
def bound_vote(sigma: Fraction, gaps: Gaps, exponent: arb) -> arb:
    """Bound log E[e^{l L}], l > 0, of the vote alone: at most l(l+1)/s^2, whatever the votes are."""
    plain, sorts = exponent * (exponent + 1) / ball(sigma**2), _MOVES[: 3 if sum(many for _, many in gaps) > 1 else 2]
    found = []
    for back in (False, True):
        table = _excesses(sigma, gaps, exponent, back)
        for move, ones in sorts:
            e = bound_change(sigma, gaps, move, ones, back)
            if not e < 1:
                return upper_end(plain)
            first = (-exponent * (-e).log1p()).expm1() - exponent * e
            found.append((first + _total(table, gaps, move, ones)).log1p())
    return upper_end(plain).min(largest(found)).max(arb(0))


@kept(4096)
@proved_by("T233-noisy-votes")
def bound_change(sigma: Fraction, gaps: Gaps, move: int, ones: tuple[int, ...], back: bool) -> arb:
    """Bound |q' - q| / (1 - q) for one sort of neighbours; +inf where the bound of q is 1. `back`: q and q' change."""
    tails = {(gap, change): _tail(gap + change if back else gap, sigma) for gap, _ in gaps for change in _CHANGES}
    loses = _total(tails, gaps, move, ones)
    apart = _total(_excesses(sigma, gaps, arb(-2), back), gaps, move, ones).max(arb(0))
    return upper_end((loses * apart).sqrt() / (1 - loses)) if loses < 1 else arb.pos_inf()


@proved_by("T233-noisy-votes")
def _total(values: Mapping[tuple[Fraction, int], arb], gaps: Gaps, move: int, ones: tuple[int, ...]) -> arb:
    """Bound the sum over all classes where every gap changes by `move`, but one class, whichever, by each of `ones`."""
    others = sum((many * values[gap, move] for gap, many in gaps), arb(0))
    more = [largest([values[gap, one] - values[gap, move] for gap, _ in gaps]) for one in ones]
    return upper_end(others + sum(more, arb(0)))


@proved_by("T233-noisy-votes")
def _excesses(sigma: Fraction, gaps: Gaps, exponent: arb, back: bool) -> dict[tuple[Fraction, int], arb]:
    """Enclose E_f[phi(e^u); B_j] for every gap x and change d; `back`: from the neighbour, x + d and -d."""
    plain, root = (exponent * (exponent + 1) / ball(sigma**2)).exp(), ball(sigma) * arb(2).sqrt()
    found = {}
    for gap, _ in gaps:
        for change in _CHANGES:
            x, d = (gap + change, -change) if back else (gap, change)
            moved = normal_tail((ball(x) - exponent * d) / root)
            found[gap, change] = plain * moved - (exponent + 1) * _tail(x, sigma) + exponent * _tail(x + d, sigma)
    return found


@kept(4096)
@proved_by("T233-noisy-votes")
def _tail(gap: Fraction, sigma: Fraction) -> arb:
    """Enclose P(N(0, 2 s^2) > gap)."""
    return normal_tail(ball(gap / sigma) / arb(2).sqrt())
