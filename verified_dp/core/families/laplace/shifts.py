"""Laplace noise whose shift is drawn at random: records on a Poisson sample, replaced or in groups (T74, T75).

P = sum of weight f(x - mean) over `above`, Q the same over `below`, f even and log-concave, every mean of P >= 0 and
every mean of Q <= 0: the loss does not fall in x, so that hockey-sticks are those of half-lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise

from flint import arb

from verified_dp.core.engines.shared import kept
from verified_dp.core.families.gaussian.mixture import MixturePair, least_moment, places
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Mixture
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class Interval:
    """Between two neighbouring means P has the density A e^{-t} + B e^t and the tail A e^{-t} + W - B e^t.

    left, right: its ends. p, q: (A, B, W) of P and of Q. A_p = 0 left of 0 and B_q = 0 right of it.
    """

    left: arb
    right: arb
    p: tuple[arb, arb, arb]
    q: tuple[arb, arb, arb]
    is_positive: bool

    def place(self, alpha: arb) -> arb:
        """Enclose where p = alpha q, moved into the interval where it lies outside."""
        (a, b, _), (c, e, _) = self.p, self.q
        if self.is_positive:
            ratio = ((alpha * c - a) / b).max((2 * self.left).exp()).min((2 * self.right).exp())
            return ratio.log() / 2
        ratio = ((b - alpha * e) / (alpha * c)).max((-2 * self.right).exp()).min((-2 * self.left).exp())
        return -ratio.log() / 2

    def tails(self, t: arb) -> tuple[arb, arb]:
        """Enclose P(x > t) and Q(x > t), t in the interval."""
        up, down = t.exp(), (-t).exp()
        first, second = (a * down + w - b * up for a, b, w in (self.p, self.q))
        return first, second

    def densities(self, t: arb) -> tuple[arb, arb]:
        """Enclose p(t) and q(t), t in the interval."""
        up, down = t.exp(), (-t).exp()
        return self.p[0] * down + self.p[1] * up, self.q[0] * down + self.q[1] * up

    def holds(self, alpha: arb) -> bool:
        """Whether p = alpha q may hold inside: not where p > alpha q at its left or p <= alpha q at its right."""
        (p_left, q_left), (p_right, q_right) = self.densities(self.left), self.densities(self.right)
        return not (p_left > alpha * q_left or p_right <= alpha * q_right)


@dataclass(frozen=True)
class LaplaceMixtureLoss(MixturePair):
    """Laplace noise; means in units of its scale."""

    above: Mixture
    below: Mixture
    order: str

    @proved_by("T75-random-shifts")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose the largest of (1 - e^eps)_+ and P(x > t) - e^eps Q(x > t), t at and between all means."""
        if epsilon >= self.enclose_largest_loss():
            return arb(0)
        if epsilon <= self.enclose_smallest_loss():
            return -epsilon.expm1()
        best, alpha = (-epsilon.expm1()).max(arb(0)), epsilon.exp()
        for part in intervals(self):
            for t in (part.left, part.place(alpha), part.right):
                above, below = part.tails(t)
                best = best.max(above - alpha * below)
        return best

    @proved_by("T75-random-shifts")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(x > t*), Q(x > t*)), t* where the loss passes x; (0, 0) right and (1, 1) left of all."""
        largest, smallest, alpha = self.enclose_largest_loss(), self.enclose_smallest_loss(), x.exp()
        if x >= largest:
            return arb(0), arb(0)
        if x < smallest:
            return arb(1), arb(1)
        found = [part.tails(part.place(alpha)) for part in intervals(self) if part.holds(alpha)]
        found += [] if x < largest else [(arb(0), arb(0))]
        found += [] if x >= smallest else [(arb(1), arb(1))]
        return reduce(arb.union, [p for p, _ in found]), reduce(arb.union, [q for _, q in found])

    @proved_by("T75-random-shifts")
    def enclose_density(self, x: arb) -> arb:
        """Enclose p(t*) / l'(t*) = p^2 q / (2 (B_p A_q - A_p B_q)) between the ends of the loss; 0 outside."""
        largest, smallest, alpha = self.enclose_largest_loss(), self.enclose_smallest_loss(), x.exp()
        if x > largest or x < smallest:
            return arb(0)
        found = [] if smallest < x and x < largest else [arb(0)]
        for part in intervals(self):
            if part.holds(alpha):
                p, q = part.densities(part.place(alpha))
                found.append(p * p * q / (2 * (part.p[1] * part.q[0] - part.p[0] * part.q[1])))
        return reduce(arb.union, found)

    @proved_by("T75-random-shifts")
    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """The two ends: beyond all means the loss does not change."""
        first, last = intervals(self)[0], intervals(self)[-1]
        return [(self.enclose_smallest_loss(), 1 - first.tails(first.left)[0]),
                (self.enclose_largest_loss(), last.tails(last.right)[0])]

    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0."""
        return arb(0)

    @proved_by("T75-random-shifts")
    def enclose_largest_loss(self) -> arb:
        """Enclose log(sum w e^a / sum v e^b)."""
        return self._enclose_end(1)

    @proved_by("T75-random-shifts")
    def enclose_smallest_loss(self) -> arb:
        """Enclose log(sum w e^{-a} / sum v e^{-b})."""
        return self._enclose_end(-1)

    def _enclose_end(self, sign: int) -> arb:
        first, second = (sum((ball(weight) * ball(sign * mean).exp() for mean, weight in mixture), arb(0))
                         for mixture in (self.above, self.below))
        return (first / second).log()

    @proved_by("T75-random-shifts")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, between 0 and the bound by the moments of the shifts a - b."""
        single = [sum((ball(w) * (LaplaceLoss(a - b).enclose_moment(exponent) if a > b else 1)
                       for a, w in self.above), arb(0)) for b, _ in self.below]
        return arb(0).union(least_moment(exponent, single, self.below))


@kept(16)
def intervals(law: LaplaceMixtureLoss) -> list[Interval]:
    """The intervals between the means, from left to right."""

    def coefficients(mixture: Mixture, left: Fraction) -> tuple[arb, arb, arb]:
        rising = sum((ball(weight) * ball(-mean).exp() for mean, weight in mixture if mean > left), arb(0))
        falling = sum((ball(weight) * ball(mean).exp() for mean, weight in mixture if mean <= left), arb(0))
        return falling / 2, rising / 2, ball(sum((weight for mean, weight in mixture if mean > left), Fraction(0)))

    return [Interval(ball(left), ball(right), coefficients(law.above, left), coefficients(law.below, left), left >= 0)
            for left, right in pairwise(places(law.above, law.below))]
