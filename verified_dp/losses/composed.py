"""The privacy loss of a composition: independent laws with counts, all Gaussian steps merged into one."""

from dataclasses import dataclass, replace
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

    def in_order(self, order: str) -> "ComposedLoss":
        """The loss of the same steps composed in another order."""
        return replace(self, order=order, parts=tuple((replace(law, order=order), k) for law, k in self.parts))

    @proved_by("T07-ends")
    def enclose_largest_loss(self) -> arb | None:
        """Enclose the supremum of S: the sum of the laws' suprema; None where it is infinite."""
        total = arb(0)
        for law, count in self.parts:
            end = law.enclose_largest_loss()
            if end is None:
                return None
            total += count * end
        return total if self.mean_shift_squared == 0 else None

    @proved_by("T15-gaussian")
    def enclose_gaussian_exponent(self, z: acb) -> acb:
        """Enclose log of the Gaussian steps' transform: z(z+1) mu^2/2."""
        return z * (z + 1) * (ball(self.mean_shift_squared) / 2)
