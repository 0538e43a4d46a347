"""The privacy loss of plain Gaussian steps merged into one: N(mu^2/2, mu^2), the same in every order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb

from verified_dp.core.kernel.balls import ball, normal_density, normal_tail, step_down
from verified_dp.core.kernel.law import PlainLaw, Unbounded
from verified_dp.core.kernel.theorems import proved_by


@proved_by("T15-gaussian")
def enclose_gaussian_profile(mean_shift_squared: Fraction, epsilon: arb) -> arb:
    """Enclose D(eps) = Q(eps/mu - mu/2) - e^eps Q(eps/mu + mu/2), Q the normal tail; (1 - e^eps)_+ where mu = 0.

    Between 0 and the first tail where e^eps has no finite enclosure.
    """
    if mean_shift_squared == 0:
        return (-epsilon.expm1()).max(arb(0))
    above, below = enclose_gaussian_tails(mean_shift_squared, epsilon)
    found = above - epsilon.exp() * below
    return found if found.is_finite() else above.union(arb(0))


@proved_by("T15-gaussian")
def enclose_gaussian_tails(mean_shift_squared: Fraction, x: arb) -> tuple[arb, arb]:
    """Enclose (Q(x/mu - mu/2), Q(x/mu + mu/2)), Q the normal tail; (1, 1) for x < 0 and (0, 0) above where mu = 0."""
    if mean_shift_squared == 0:
        sure = step_down(x)
        return sure, sure
    mu = ball(mean_shift_squared).sqrt()
    return normal_tail(x / mu - mu / 2), normal_tail(x / mu + mu / 2)


@dataclass(frozen=True)
class GaussianLoss(PlainLaw, Unbounded):
    """mean_shift_squared = mu^2 > 0: the sum of (mean shift / noise)^2 over the steps."""

    mean_shift_squared: Fraction
    order: str = "symmetric"

    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose H_{e^eps}(P || Q), any real eps."""
        return enclose_gaussian_profile(self.mean_shift_squared, epsilon)

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose P(L > x) and Q(L > x)."""
        return enclose_gaussian_tails(self.mean_shift_squared, x)

    @proved_by("T60-tails")
    def enclose_density(self, x: arb) -> arb:
        """Enclose that of N(mu^2/2, mu^2); 0 where mu = 0."""
        if self.mean_shift_squared == 0:
            return arb(0)
        variance = ball(self.mean_shift_squared)
        return normal_density(x - variance / 2, variance)

    @proved_by("T60-tails")
    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """None of them, unless mu = 0: then the loss is 0."""
        return [] if self.mean_shift_squared else [(arb(0), arb(1))]

    def enclose_transform(self, z: acb) -> acb:
        """Enclose M(z) = e^{z(z+1) mu^2/2}."""
        return (z * (z + 1) * (ball(self.mean_shift_squared) / 2)).exp()

    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}] = e^{l(l+1) mu^2/2}."""
        return (exponent * (exponent + 1) * (ball(self.mean_shift_squared) / 2)).exp()
