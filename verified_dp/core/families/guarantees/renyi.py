"""Steps known by bounds on Renyi divergences alone: moments, and nothing else; those of zCDP.

    E[e^{l L}] = e^{l D_{l+1}(P || Q)} <= e^{f(l)},   f convex, f(0) = 0.

No curve, no transform and no smallest moment is known, so that only a bound from one Renyi order applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import PlainLaw, Unbounded
from verified_dp.core.kernel.theorems import proved_by

ONLY_MOMENTS = (
    "a step known by Renyi divergences alone (zcdp, renyi) has no hockey-stick curve and no transform: "
    "only a bound from one Renyi order applies; use the method renyi or auto")


class MomentBound(PlainLaw, Unbounded):
    """What the laws known by bounds on moments share; a subclass bounds the logarithm of the moment."""

    only_moments: ClassVar[bool] = True

    def bound_log_moment(self, exponent: arb) -> arb:
        """Bound log E[e^{l L}], l > 0; +inf beyond the stated orders."""
        raise NotImplementedError

    def bound_relative_entropy(self) -> arb:
        """Bound E[L], which is at most every divergence of an order above 1."""
        raise NotImplementedError

    @proved_by("T66-moment-laws")
    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose E[e^{l L}], l > 0, between 0 and the stated bound."""
        return arb(0).union(self.bound_log_moment(exponent).exp())

    @proved_by("T66-moment-laws")
    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0: a finite divergence of an order above 1 excludes more."""
        return arb(0)

    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Not known. Raises Unsupported."""
        raise Unsupported(ONLY_MOMENTS)

    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Not known. Raises Unsupported."""
        raise Unsupported(ONLY_MOMENTS)

    def enclose_density(self, x: arb) -> arb:
        """Not known. Raises Unsupported."""
        raise Unsupported(ONLY_MOMENTS)

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """Not known. Raises Unsupported."""
        raise Unsupported(ONLY_MOMENTS)


@dataclass(frozen=True)
class ZCDPLoss(MomentBound):
    """Any step with D_a <= xi + rho a for every order a > 1, in both directions; rho > 0, xi >= 0."""

    rho: Fraction
    order: str = "symmetric"
    xi: Fraction = Fraction(0)

    @proved_by("T66-moment-laws")
    def bound_log_moment(self, exponent: arb) -> arb:
        """l (l+1) rho + l xi."""
        return exponent * (exponent + 1) * ball(self.rho) + exponent * ball(self.xi)

    @proved_by("T180-moment")
    def bound_relative_entropy(self) -> arb:
        """rho + xi."""
        return ball(self.rho + self.xi)
