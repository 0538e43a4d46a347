"""Laws on an interval whose continuous part, tilted by -1/2, is uniform: Laplace noise.

    M(z) = A (e^{z mu} + e^{-(1+z) mu}) + B (e^{(z+1/2) mu} - e^{-(z+1/2) mu}) / (z + 1/2)

Laplace noise of scale b on a query of sensitivity D: mu = D / b, A = 1/2, B = e^{-mu/2} / 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

from flint import acb, arb

from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.theorems import proved_by

if TYPE_CHECKING:
    from verified_dp.core.engines.direct import DirectLaw

Tails = tuple[arb, arb]


@proved_by("T60-tails")
def between(x: arb, mu: arb, inner: Callable[[arb], Tails]) -> Tails:
    """(1, 1) for x < -mu, inner(x) on [-mu, mu), (0, 0) beyond; the union where x may be on either side."""
    if x < -mu:
        return arb(1), arb(1)
    if x >= mu:
        return arb(0), arb(0)
    above, below = inner(x.max(-mu).min(mu))
    if not x >= -mu:
        above, below = above.union(arb(1)), below.union(arb(1))
    return (above, below) if x < mu else (above.union(arb(0)), below.union(arb(0)))


@proved_by("T60-tails")
def on_interval(x: arb, mu: arb, density: arb) -> arb:
    """The density on (-mu, mu), 0 elsewhere."""
    if x <= -mu or x >= mu:
        return arb(0)
    return density if -mu < x < mu else arb(0).union(density)


@proved_by("T41-laplace-tail")
def bound_past_half_turn(law: DirectLaw, tilt: arb, frequency: arb, far: Callable[[arb, arb], arb]) -> arb:
    """Bound |M(c+iw)| for w >= W by M(c), far(c, W), or by |M(c+iW)| and far(c, pi/R) where W is at most that.

    R: the largest loss minus the smallest, both finite. far(c, w) bounds |M| from w on.
    """
    largest, least = law.enclose_largest_loss(), law.enclose_smallest_loss()
    bound = law.enclose_moment(tilt).min(far(tilt, frequency))
    if largest is None or least is None or not frequency * (largest - least) <= arb.pi():
        return upper_end(bound)
    near = law.enclose_transform(acb(tilt, frequency)).abs_upper()
    return upper_end(bound.min(near.max(far(tilt, arb.pi() / (largest - least)))))


class OnInterval(Law, Protocol):
    """What laws share whose loss ranges over an interval [-mu, mu]."""

    decays: ClassVar[bool] = True

    def largest_loss(self) -> Fraction:
        """mu."""

    def on_sample(self, probability: Fraction, order: str) -> Law | None:
        """Known more closely where the largest loss is not too large."""
        from verified_dp.core.families.laplace.sampled_laplace import on_sample  # builds on this

        return on_sample(self, probability, order)

    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0."""
        return arb(0)

    def enclose_largest_loss(self) -> arb | None:
        """Enclose mu."""
        return ball(self.largest_loss())

    def enclose_transform(self, z: acb) -> acb:
        """Enclose M(z)."""

    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose M(l)."""
        return self.enclose_transform(acb(exponent)).real

    def _bound_far(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(c+iw)| for w >= W > 0."""

    @proved_by("T41-laplace-tail")
    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(c+iw)| for w >= W by `_bound_far`, or |M(c+iW)| and that past pi/(2 mu) where W is at most that."""
        return bound_past_half_turn(self, tilt, frequency, self._bound_far)


@dataclass(frozen=True)
class LaplaceLoss(OnInterval):
    """Laplace noise: ratio = sensitivity / scale > 0. The pair is its own mirror image, so every order is the same."""

    ratio: Fraction
    order: str = "symmetric"

    @proved_by("T40-laplace")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose max(0, 1 - e^{(eps - mu)/2}, 1 - e^eps)."""
        return (-((epsilon - ball(self.ratio)) / 2).expm1()).max(-epsilon.expm1()).max(arb(0))

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (1 - e^{(x - mu)/2} / 2, e^{-(x + mu)/2} / 2) on [-mu, mu); (1, 1) below, (0, 0) above."""
        mu = ball(self.ratio)

        def inner(y: arb) -> tuple[arb, arb]:
            return 1 - ((y - mu) / 2).exp() / 2, (-(y + mu) / 2).exp() / 2

        return between(x, mu, inner)

    @proved_by("T60-tails")
    def enclose_density(self, x: arb) -> arb:
        """Enclose e^{(x - mu)/2} / 4 on (-mu, mu)."""
        mu = ball(self.ratio)
        return on_interval(x, mu, ((x - mu) / 2).exp() / 4)

    @proved_by("T60-tails")
    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """1/2 at mu and e^{-mu}/2 at -mu."""
        mu = ball(self.ratio)
        return [(mu, arb(1) / 2), (-mu, (-mu).exp() / 2)]

    @proved_by("T40-laplace")
    def largest_loss(self) -> Fraction:
        """mu."""
        return self.ratio

    @proved_by("T40-laplace")
    def enclose_smallest_loss(self) -> arb | None:
        """Enclose -mu."""
        return -ball(self.ratio)

    @proved_by("T40-laplace")
    def enclose_transform(self, z: acb) -> acb:
        """Enclose (e^{z mu} (1 + z) + e^{-(1+z) mu} z) / (1 + 2z)."""
        mu = ball(self.ratio)
        return ((z * mu).exp() * (1 + z) + (-(1 + z) * mu).exp() * z) / (1 + 2 * z)

    @proved_by("T41-laplace-tail")
    def _bound_far(self, tilt: arb, frequency: arb) -> arb:
        """(e^{c mu} |1+c+iW| / |1/2+c+iW| + e^{-(1+c) mu}) / 2."""
        mu = ball(self.ratio)
        shrink = abs(acb(1 + tilt, frequency)) / abs(acb(tilt + arb(1) / 2, frequency))
        return upper_end(((tilt * mu).exp() * shrink + (-(1 + tilt) * mu).exp()) / 2)

    @proved_by("T220-cells-of-transforms")
    def bound_variation(self, tilt: arb) -> arb | None:
        """(e^{c mu} + e^{-(1+c) mu}) / 4."""
        mu = ball(self.ratio)
        return upper_end(((tilt * mu).exp() + (-(1 + tilt) * mu).exp()) / 4)

    @property
    def atom_exponent(self) -> Fraction:
        """mu."""
        return self.ratio

    @proved_by("T45-pieces")
    def enclose_spline(self) -> tuple[arb, arb, arb]:
        """Two atoms of weight e^{-mu/2}/2 at +-mu and the density e^{-mu/2}/4 between."""
        mu = ball(self.ratio)
        return mu, (-mu / 2).exp() / 2, (-mu / 2).exp() / 4
