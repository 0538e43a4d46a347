"""The privacy loss of a composition: independent laws with counts, all Gaussian steps merged into one."""

from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb

from verified_dp.kernel.balls import ball
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.theorems import proved_by


@dataclass(frozen=True)
class ComposedLoss:
    """S = sum of `count` copies of each law in `parts`, plus one Gaussian loss N(mu^2/2, mu^2).

    parts: pairwise different laws with counts >= 1; mean_shift_squared: mu^2 = the sum of (mean shift / noise)^2
    over all plain Gaussian steps (exact, 0 where there are none).
    """

    order: str
    parts: tuple[tuple[SampledGaussianLoss, int], ...]
    mean_shift_squared: Fraction

    @proved_by("T07-ends")
    def enclose_largest_loss(self) -> arb | None:
        """Enclose the supremum of S: the sum of the laws' suprema; None where it is infinite."""
        ends = [law.enclose_largest_loss() for law, _ in self.parts]
        if self.mean_shift_squared or any(end is None for end in ends):
            return None
        return sum((count * end for end, (_, count) in zip(ends, self.parts, strict=True)), arb(0))

    @proved_by("T15-gaussian")
    def enclose_gaussian_exponent(self, z: acb) -> acb:
        """Enclose log of the Gaussian steps' transform: z(z+1) mu^2/2."""
        return z * (z + 1) * (ball(self.mean_shift_squared) / 2)
