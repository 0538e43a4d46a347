"""Selections of bounded range: as `laplace`, with A = 0 and B = 1 / (4 sinh(mu/2))."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb

from verified_dp.core.families.laplace.laplace import OnInterval, between, on_interval
from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.theorems import proved_by


@dataclass(frozen=True)
class BoundedRangeLoss(OnInterval):
    """The sup over all pairs whose loss ranges over an interval of length mu: an upper bound under composition."""

    bounded_range: Fraction
    order: str = "symmetric"

    @proved_by("T43-bounded-range")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose (1 - e^{(eps - mu)/2})^2 / (1 - e^{-mu}) on [-mu, mu]; 1 - e^eps below, 0 above."""
        mu = ball(self.bounded_range)
        inner = epsilon.max(-mu).min(mu)
        root = -((inner - mu) / 2).expm1()
        below = ((-mu).exp() - epsilon.exp()).max(arb(0))
        return root * root / -(-mu).expm1() + below

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (1, e^{-(x + mu)/2}) (1 - e^{(x - mu)/2}) / (1 - e^{-mu}) on [-mu, mu); (1, 1) and (0, 0) beyond."""
        mu = ball(self.bounded_range)

        def inner(y: arb) -> tuple[arb, arb]:
            above = ((y - mu) / 2).expm1() / (-mu).expm1()
            return above, (-(y + mu) / 2).exp() * above

        return between(x, mu, inner)

    @proved_by("T60-tails")
    def enclose_density(self, x: arb) -> arb:
        """Enclose e^{(x - mu)/2} / (2 (1 - e^{-mu})) on (-mu, mu)."""
        mu = ball(self.bounded_range)
        return on_interval(x, mu, -((x - mu) / 2).exp() / (2 * (-mu).expm1()))

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """None of them."""
        return []

    @proved_by("T43-bounded-range")
    def largest_loss(self) -> Fraction:
        """mu."""
        return self.bounded_range

    @proved_by("T43-bounded-range")
    def enclose_smallest_loss(self) -> arb | None:
        """Enclose -mu."""
        return -ball(self.bounded_range)

    @proved_by("T43-bounded-range")
    def enclose_transform(self, z: acb) -> acb:
        """Enclose sinh((z+1/2) mu) / (2 (z+1/2) sinh(mu/2))."""
        mu, shifted = ball(self.bounded_range), z + arb(1) / 2
        return (shifted * mu).sinh() / (2 * shifted * (mu / 2).sinh())

    @proved_by("T43-bounded-range")
    def _bound_far(self, tilt: arb, frequency: arb) -> arb:
        """cosh((c+1/2) mu) / (2 |c+1/2+iW| sinh(mu/2))."""
        mu, shifted = ball(self.bounded_range), acb(tilt + arb(1) / 2, frequency)
        return upper_end((shifted.real * mu).cosh() / (2 * abs(shifted) * (mu / 2).sinh()))

    @proved_by("T220-cells-of-transforms")
    def bound_variation(self, tilt: arb) -> arb | None:
        """cosh((c+1/2) mu) / (2 sinh(mu/2)): there are no atoms."""
        mu = ball(self.bounded_range)
        return upper_end(((tilt + arb(1) / 2) * mu).cosh() / (2 * (mu / 2).sinh()))

    @proved_by("T45-pieces", "T43-bounded-range")
    def enclose_spline(self) -> tuple[arb, arb, arb]:
        """The density 1 / (4 sinh(mu/2)) on [-mu, mu]."""
        mu = ball(self.bounded_range)
        return mu, arb(0), 1 / (4 * (mu / 2).sinh())
