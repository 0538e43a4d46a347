"""A Gaussian on a batch drawn without replacement, one record replaced: the proven hockey-stick curve (T52).

It is a curve only, no pair of data sets: for eps >= 0 that of ((1-q) N(0) + q N(2), N(0)), mirrored for eps < 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from verified_dp.core.families.gaussian.single_step import enclose_sampled_density, enclose_single_remove
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.law import PlainLaw, Unbounded
from verified_dp.core.kernel.theorems import proved_by

if TYPE_CHECKING:
    from verified_dp.core.engines.two_steps import Ramp
    from verified_dp.core.families.batches.half_lines import HalfLineNodes


@dataclass(frozen=True)
class FixedBatchLoss(PlainLaw, Unbounded):
    """0 < probability = batch / records < 1, noise_multiplier > 0; the symmetric order."""

    probability: Fraction
    noise_multiplier: Fraction
    order: str = "symmetric"

    @property
    @proved_by("T227-two-steps")
    def ramps(self) -> tuple[Ramp, ...]:
        """Its loss, for two steps."""
        from verified_dp.core.engines.two_steps import Ramp

        return (Ramp(self.probability, self.noise_multiplier / 2, "remove", is_mirrored=True),)

    @proved_by("T52-without-replacement", "T14-single-step")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose h(eps) for eps >= 0, 1 - e^eps + e^eps h(-eps) below; h: the sampled Gaussian at distance 2."""
        if epsilon >= 0:
            return self._base(epsilon)
        below = -epsilon.expm1() + epsilon.exp() * self._base((-epsilon).max(arb(0)))
        return below if epsilon < 0 else below.union(self._base(epsilon.max(arb(0))))

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (P1, Q1), those of h's pair, at x >= 0; (1 - Q1(-x), 1 - P1(-x)) below."""
        above = self._base_tails(x.max(arb(0)))
        if x >= 0:
            return above
        p, q = self._base_tails((-x).max(arb(0)))
        return (1 - q, 1 - p) if x < 0 else ((1 - q).union(above[0]), (1 - p).union(above[1]))

    @proved_by("T60-tails")
    def enclose_density(self, x: arb) -> arb:
        """Enclose that of h's pair at x > 0, e^x times that at -x below."""
        above = self._base_density(x.max(arb(0)))
        if x > 0:
            return above
        below = x.exp() * self._base_density((-x).max(arb(0)))
        return below if x < 0 else below.union(above)

    @proved_by("T60-tails")
    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """1 - P1 - Q1 at 0: what the kink of the curve there leaves."""
        p, q = self._base_tails(arb(0))
        return [(arb(0), 1 - p - q)]

    def _base_tails(self, x: arb) -> tuple[arb, arb]:
        value = enclose_single_remove(self.probability, self.noise_multiplier / 2, x)
        return value.above, value.below

    def _base_density(self, x: arb) -> arb:
        return enclose_sampled_density("remove", self.probability, self.noise_multiplier / 2, x)

    @proved_by("T52-without-replacement")
    def _base(self, epsilon: arb) -> arb:
        return enclose_single_remove(self.probability, self.noise_multiplier / 2, epsilon).hockey_stick

    @proved_by("T52-without-replacement")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, between 0 and 1 + 1 - q + q e^{2 l(l+1)/s^2}."""
        q, s = ball(self.probability), ball(self.noise_multiplier)
        return arb(0).union(2 - q + q * (2 * exponent * (exponent + 1) / (s * s)).exp())

    def enclose_panels(self, length: Fraction, panels: int, points: int, height: Fraction,
                       frequency: arb) -> HalfLineNodes:
        """The nodes of such panels of its curve (T167)."""
        from verified_dp.core.families.batches.half_lines import HalfLine, enclose_half_line  # builds on this

        return enclose_half_line(HalfLine(self, length, panels, points, height, frequency))
