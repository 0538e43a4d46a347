"""A Gaussian on a Poisson sample cut off at a largest size: two losses, and which of them holds is revealed (T142)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx

from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.engines.revealed import RevealedNodes, enclose_revealed
from verified_dp.core.engines.shared import binomial_mass, kept
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import BOUND_BITS, ball, integer_above, upper_dyadic
from verified_dp.core.kernel.law import Law, PlainLaw
from verified_dp.core.kernel.theorems import proved_by

if TYPE_CHECKING:
    from verified_dp.core.engines.two_steps import Ramp


@dataclass(frozen=True)
class TruncatedBatchLoss(PlainLaw):
    """Where `largest_batch` or more of the `others` are on the sample, the loss of `full`; else that of `free`."""

    others: int
    probability: Fraction
    largest_batch: int
    free: Law
    full: Law
    order: str

    def in_order(self, order: str) -> TruncatedBatchLoss:
        """The same step in another order."""
        return replace(self, order=order, free=self.free.in_order(order), full=self.full.in_order(order))

    def _share(self) -> arb:
        return enclose_binomial_tail(self.others, self.largest_batch, self.probability)

    @property
    def alternatives(self) -> tuple[MixtureLines | FixedBatchLoss, ...]:
        """Both, where both have nodes; else none."""
        if isinstance(self.free, MixtureLines) and isinstance(self.full, MixtureLines | FixedBatchLoss):
            return self.free, self.full
        return ()

    @property
    @proved_by("T227-two-steps")
    def ramps(self) -> tuple[Ramp, ...]:
        """The losses of both, for two steps, where the second is mirrored; else none."""
        mirrored = isinstance(self.full, FixedBatchLoss) and isinstance(self.free, SampledGaussianLoss)
        return (*self.free.ramps, *self.full.ramps) if mirrored else ()  # type: ignore[attr-defined]

    @property
    def least_count(self) -> int:
        """Of a curve that has an atom the number of steps that are full with a chance of at most 2^-32; else 1."""
        if not isinstance(self.full, FixedBatchLoss):
            return 1
        with ctx.workprec(BOUND_BITS):
            steps = 32 * arb(2).log() / -self._share().log()
            return integer_above(steps.min(arb(10**18))) if steps.is_finite() else 10**18

    def enclose_revealed(self, rules: Sequence[NodeRule], frequency: arb) -> RevealedNodes:
        """Enclose the nodes of both."""
        return enclose_revealed(self.enclose_shares(), self.alternatives, rules, frequency)

    def later_files(self, engine: str) -> tuple[str, ...]:
        """Both have nodes, and which one holds is known."""
        return "verified_dp.core.engines.revealed", *self.free.later_files(engine), *self.full.later_files(engine)

    @proved_by("T142-displaced-records")
    def enclose_shares(self) -> tuple[arb, ...]:
        """Enclose 1 - w, the chance of others - B + 1 or more that are not on the sample, and w."""
        room = enclose_binomial_tail(self.others, self.others - self.largest_batch + 1, 1 - self.probability)
        return room, self._share()

    def _average(self, free: arb, full: arb) -> arb:
        room, share = self.enclose_shares()
        return room * free + share * full

    @proved_by("T142-displaced-records")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose (1 - w) H_free + w H_full, w = P(Bin(others, q) >= largest batch)."""
        return self._average(self.free.enclose_hockey_stick(epsilon), self.full.enclose_hockey_stick(epsilon))

    @proved_by("T142-displaced-records")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P(L > x), Q(L > x)), averages alike."""
        free, full = self.free.enclose_tails(x), self.full.enclose_tails(x)
        return self._average(free[0], full[0]), self._average(free[1], full[1])

    @proved_by("T142-displaced-records")
    def enclose_density(self, x: arb) -> arb:
        """Enclose the density of the loss under P, an average alike."""
        return self._average(self.free.enclose_density(x), self.full.enclose_density(x))

    @proved_by("T142-displaced-records")
    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """The atoms of both, with their shares."""
        free, full, share = self.free.enclose_loss_atoms(), self.full.enclose_loss_atoms(), self._share()
        if free is None or full is None:
            return None
        return [*((loss, (1 - share) * mass) for loss, mass in free), *((loss, share * mass) for loss, mass in full)]

    @proved_by("T142-displaced-records")
    def enclose_infinity_mass(self) -> arb:
        """Enclose P(L = inf), an average alike."""
        return self._average(self.free.enclose_infinity_mass(), self.full.enclose_infinity_mass())

    @proved_by("T142-displaced-records")
    def enclose_largest_loss(self) -> arb | None:
        """Enclose the larger of both suprema; None where one is infinite."""
        free, full = self.free.enclose_largest_loss(), self.full.enclose_largest_loss()
        return None if free is None or full is None else free.max(full)

    @proved_by("T142-displaced-records")
    def enclose_smallest_loss(self) -> arb | None:
        """Enclose the smaller of both infima; None where one is infinite."""
        free, full = self.free.enclose_smallest_loss(), self.full.enclose_smallest_loss()
        return None if free is None or full is None else free.min(full)

    @proved_by("T142-displaced-records")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}; L < inf], an average alike."""
        return self._average(self.free.enclose_moment(exponent), self.full.enclose_moment(exponent))

    def value_work(self, prec: int) -> int:
        """Both values."""
        return self.free.value_work(prec) + self.full.value_work(prec)


_SPARE = 64
"""Bits for logarithms of factorials."""


@kept(64)
@proved_by("T142-displaced-records")
def enclose_binomial_tail(trials: int, least: int, probability: Fraction) -> arb:
    """Enclose P(Bin(trials, q) >= least): from its first term, each the one before it times (N-k) q / ((k+1) (1-q)).

    >>> enclose_binomial_tail(3, 2, Fraction(1, 2)).overlaps(arb(1) / 2)
    True
    """
    if least <= 0 or probability == 1:
        return arb(1 if least <= trials else 0)
    if least > trials or probability == 0:
        return arb(0)
    if least <= trials * probability:
        return 1 - enclose_binomial_tail(trials, trials - least + 1, 1 - probability)
    with ctx.workprec(ctx.prec + _SPARE):
        q, odds, k, total = ball(probability), ball(probability / (1 - probability)), least, arb(0)
        term = binomial_mass(trials, k, q, ball(1 - probability))
        while k <= trials:
            total, term, k = total + term, term * (trials - k) * odds / (k + 1), k + 1
            rest = term / (1 - (trials - k) * odds / (k + 1))
            if rest <= total * arb((1, _SPARE - ctx.prec)):
                return total + arb(0).union(rest)
    return total


@proved_by("T142-displaced-records")
def full_batch_share(population: int, largest_batch: int, probability: Fraction) -> Fraction:
    """At least (B/n) P(Bin(n, q) > B) / P(Bin(n-1, q) >= B), in 40 bits: how likely the record is in a full batch."""
    with ctx.workprec(_WORKING_BITS):
        above = enclose_binomial_tail(population, largest_batch + 1, probability)
        share = above / enclose_binomial_tail(population - 1, largest_batch, probability)
        found = upper_dyadic(share * largest_batch / population)
    bound = probability * Fraction(largest_batch, largest_batch + 1)
    if found.is_infinite:
        return bound
    unit = Fraction(2) ** (found.mantissa.bit_length() + found.exponent - _SHARE_BITS)
    return min(bound, -(-found.as_fraction() // unit) * unit)  # exact: fractions


_WORKING_BITS, _SHARE_BITS = 128, 40
