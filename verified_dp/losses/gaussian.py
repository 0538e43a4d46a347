"""The privacy loss of plain Gaussian steps merged into one: N(mu^2/2, mu^2), the same in every order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb

from verified_dp.kernel.balls import ball, normal_tail
from verified_dp.theorems import proved_by


@proved_by("T15-gaussian")
def enclose_gaussian_profile(mean_shift_squared: Fraction, epsilon: arb) -> arb:
    """Enclose D(eps) = Q(eps/mu - mu/2) - e^eps Q(eps/mu + mu/2), Q the normal tail; (1 - e^eps)_+ where mu = 0."""
    if mean_shift_squared == 0:
        return (-epsilon.expm1()).max(arb(0))
    mu = ball(mean_shift_squared).sqrt()
    return normal_tail(epsilon / mu - mu / 2) - epsilon.exp() * normal_tail(epsilon / mu + mu / 2)


@dataclass(frozen=True)
class GaussianLoss:
    """mean_shift_squared = mu^2 > 0: the sum of (mean shift / noise)^2 over the steps."""

    mean_shift_squared: Fraction
    order: str = "symmetric"

    def in_order(self, order: str) -> GaussianLoss:
        """The same law in every order."""
        return GaussianLoss(self.mean_shift_squared, order)

    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose H_{e^eps}(P || Q), any real eps."""
        return enclose_gaussian_profile(self.mean_shift_squared, epsilon)

    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0."""
        return arb(0)

    def enclose_largest_loss(self) -> arb | None:
        """The loss is unbounded."""
        return None

    def enclose_smallest_loss(self) -> arb | None:
        """The loss is unbounded below."""
        return None

    def enclose_transform(self, z: acb) -> acb:
        """Enclose M(z) = e^{z(z+1) mu^2/2}."""
        return (z * (z + 1) * (ball(self.mean_shift_squared) / 2)).exp()

    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}] = e^{l(l+1) mu^2/2}."""
        return (exponent * (exponent + 1) * (ball(self.mean_shift_squared) / 2)).exp()
