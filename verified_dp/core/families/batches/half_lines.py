"""A batch without replacement, one record replaced, as a discrete measure: Gauss-Legendre panels on a half-line (T167).

With sigma = s/2, m(t) = 1 - q + q e^{(2t-1)/(2 sigma^2)}, v = log m and the density phi of N(0, sigma^2)

    M(z) = a + int_{1/2}^inf phi(t) (m(t)^{1+z} + m(t)^{-z}) dt,    a = (1-q) erf(1/(s sqrt 2)):

the loss is v or -v, or 0 with probability a. Errors hold for frequencies up to a largest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import acb, arb

from verified_dp.core.engines.shared import gauss_rule
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.kernel.balls import ball, normal_tail, upper_end
from verified_dp.core.kernel.theorems import proved_by

MAX_POINTS = 2048


@dataclass(frozen=True)
class HalfLine:
    """`panels` panels of equal length from 1/2 on, of `points` points each; height: of the ellipses about them.

    frequency: the largest |w| for which the error at c + iw is meant, an upper end.
    """

    law: FixedBatchLoss
    length: Fraction
    panels: int
    points: int
    height: Fraction
    frequency: arb

    @property
    def deviation(self) -> arb:
        """sigma."""
        return ball(self.law.noise_multiplier) / 2

    @property
    @proved_by("T167-half-line")
    def is_shaped(self) -> bool:
        """Panels, points, and 0 < height <= pi sigma^2 / 2."""
        sizes = self.length > 0 and self.panels >= 1 and 2 <= self.points <= MAX_POINTS and self.height > 0
        return sizes and bool(2 * ball(self.height) <= arb.pi() * self.deviation**2)

    @proved_by("T167-half-line")
    def log_size(self, t: arb) -> arb:
        """Enclose log m(t)."""
        return (ball(self.law.probability) * ((2 * t - 1) / (2 * self.deviation**2)).expm1()).log1p()

    def log_density(self, t: arb) -> arb:
        """Enclose log phi(t)."""
        return -t * t / (2 * self.deviation**2) - (self.deviation * (2 * arb.pi()).sqrt()).log()

    @proved_by("T167-half-line")
    def bound_panels(self, c: arb) -> arb:
        """Bound the quadrature's error at c + iw, |w| <= frequency, c > 0: sum of (64/15) d U rho^-2n / (1-rho^-2).

        U = e^{h^2/(2 sigma^2)} phi(left) e^{w arg m(right + ih)} (m(right)^{1+c} + (cos(h/(2 sigma^2)) m(left))^{-c}).
        """
        half, height, twice = ball(self.length) / 2, ball(self.height), 2 * self.deviation**2
        slope = height / half
        rho = slope + (slope * slope + 1).sqrt()
        reach, cosine, total = half * (rho + 1 / rho) / 2, (height / twice).cos().log(), arb(0)
        for panel in range(self.panels):
            middle = half * (2 * panel + 1) + arb(1) / 2
            left, right = middle - reach, middle + reach
            turn = (1 + ball(self.law.probability) * ((acb(right, height) - arb(1) / 2) * 2 / twice).expm1()).arg()
            most = ((1 + c) * self.log_size(right)).exp() + (-c * (cosine + self.log_size(left))).exp()
            total += most * (self.log_density(left.max(arb(0))) + self.frequency * turn).exp()
        scale = (height * height / twice).exp() * half * 64 / 15
        return upper_end(scale * total * rho ** (-2 * self.points) / (1 - 1 / (rho * rho)))

    @proved_by("T167-half-line")
    def bound_rest(self, c: arb) -> arb:
        """Bound what lies beyond the last panel's end T at Re z = c > 0.

        (m(T) e^{-Y})^{1+c} e^{c(c+1)/(2 sigma^2)} Q((T-1-c)/sigma) + Q(T/sigma), Y = (2T-1)/(2 sigma^2).
        """
        end, twice = ball(self.length * self.panels) + arb(1) / 2, 2 * self.deviation**2
        factor = (1 + c) * (self.log_size(end) - (2 * end - 1) / twice) + c * (c + 1) / twice
        above = factor.exp() * normal_tail((end - 1 - c) / self.deviation)
        return upper_end(above + normal_tail(end / self.deviation))


@dataclass(frozen=True)
class HalfLineNodes:
    """Enclosures of log of the weights and of the losses: W_j(z) = e^{base + z loss}."""

    line: HalfLine
    bases: list[acb]
    losses: list[acb]

    place: ClassVar[None] = None
    """They have no leader."""

    @proved_by("T167-half-line")
    def weights(self, z: acb) -> list[acb]:
        """Enclose W_j(z)."""
        return [(base + z * loss).exp() for base, loss in zip(self.bases, self.losses, strict=True)]

    @proved_by("T167-half-line")
    def line_error(self, tilt: arb, total: arb | None = None) -> tuple[arb, arb]:
        """Bound |M(tilt+iw) - sum_j W_j| for |w| <= frequency, tilt > 0 or (w = 0) tilt < -1: quadrature, the rest."""
        c = tilt if tilt > 0 else -1 - tilt
        if not (self.line.is_shaped and c > 0):
            return arb.pos_inf(), arb.pos_inf()
        return self.line.bound_panels(c), self.line.bound_rest(c)

    @proved_by("T167-half-line")
    def beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(tilt+iw)| for every w by M(tilt)."""
        return upper_end(sum(self.weights(acb(tilt)), acb(0)).abs_upper() + sum(self.line_error(tilt), arb(0)))


@proved_by("T167-half-line")
def enclose_half_line(line: HalfLine) -> HalfLineNodes:
    """Enclose the atom, and the points with their losses of either sign; nothing else where the line is not shaped."""
    atom = (1 - ball(line.law.probability)) * (1 / (ball(line.law.noise_multiplier) * arb(2).sqrt())).erf()
    bases, losses = [acb(atom.log())], [acb(0)]
    half, gauss = ball(line.length) / 2, gauss_rule(line.points) if line.is_shaped else []
    for panel in range(line.panels if gauss else 0):
        for node, weight in gauss:
            place = half * (2 * panel + 1 + node) + arb(1) / 2
            base, loss = (half * weight).log() + line.log_density(place), line.log_size(place)
            bases += [acb(base + loss), acb(base)]
            losses += [acb(loss), acb(-loss)]
    return HalfLineNodes(line, bases, losses)
