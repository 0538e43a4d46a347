"""What an expansion is integrated against: the poles of delta kept, the poles expanded, or Prawitz's kernel.

    kept       e^{K - t eps} (1/2 pi) int psi(w) e^{iwx} / ((t+iw)(1+t+iw)) dw            the uniform expansion (T141)
    expanded   psi(w) t(1+t) / ((t+iw)(1+t+iw)) in the place of psi, over t(1+t)          steepest descent, MSD (T171)
    smoothed   the distribution function by int_0^T psi(w) e^{-iwx} (kernel of w/T) dw      Edgeworth's interval (T170)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb

from verified_dp.core.engines.polynomials import hermite_polynomials
from verified_dp.core.kernel.balls import normal_density, normal_tail, upper_end
from verified_dp.core.kernel.theorems import proved_by


class Form(Protocol):
    """What the bounds of the remainder ask."""

    def enclose_cumulants(self, cumulants: list[arb]) -> list[arb]:
        """Enclose those of the expanded function, from [0, K', K'', ...] of the loss."""

    def bound_more(self, order: int) -> arb:
        """Bound what the form adds to |K^(order)(t+iv)| for every v."""

    def bound_damping(self, low: arb) -> arb:
        """Bound what the form multiplies |psi(w)| by, w >= low."""

    def bound_weights(self, low: arb, high: arb) -> tuple[arb, arb]:
        """Bound the kernel on [low, high]: for an error that grows at least like w and is known at high, for any."""

    def bound_beyond(self, start: arb) -> arb:
        """Bound what multiplies |psi_n(w)| for every w >= start."""


def _modulus(tilt: arb, low: arb) -> arb:
    """|t+iw| |1+t+iw|."""
    square = low * low
    return ((tilt * tilt + square) * ((1 + tilt) * (1 + tilt) + square)).sqrt()


class Unchanged:
    """Forms that expand the loss's own transform."""

    def enclose_cumulants(self, cumulants: list[arb]) -> list[arb]:
        """The loss's own."""
        return cumulants

    def bound_more(self, order: int) -> arb:
        """Nothing."""
        return arb(0)

    def bound_damping(self, low: arb) -> arb:
        """Nothing."""
        return arb(1)


@dataclass(frozen=True)
class KeptPoles(Unchanged):
    """1 / ((t+iw)(1+t+iw)) as it is."""

    tilt: arb

    @proved_by("T141-certified-expansions")
    def bound_weights(self, low: arb, high: arb) -> tuple[arb, arb]:
        """1 / (|t+iw| |1+t+iw|), which falls."""
        size = upper_end(1 / _modulus(self.tilt, low))
        return size, size

    @proved_by("T141-certified-expansions")
    def bound_beyond(self, start: arb) -> arb:
        """The same at the start."""
        return upper_end(1 / _modulus(self.tilt, start))

    @proved_by("T141-certified-expansions")
    def enclose_series(self, gap: arb, variance: arb, factors: Mapping[int, arb]) -> arb:
        """Enclose sum_l q_l (J_l(t) - J_l(1+t)), gap x = K'(t) - eps."""
        highest = max(factors)  # exact: whole numbers
        near, far = _ladder(self.tilt, gap, variance, highest), _ladder(1 + self.tilt, gap, variance, highest)
        return sum((factor * (near[power] - far[power]) for power, factor in factors.items()), arb(0))


@proved_by("T141-certified-expansions")
def _ladder(rate: arb, gap: arb, variance: arb, highest: int) -> list[arb]:
    """Enclose J_0(a), ..., J_highest(a) at a = rate: J_l = N^(l-1)(x; tau) - a J_{l-1}.

    J_0 = e^{-ax + a^2 tau/2} P(Z > (a tau - x)/sqrt tau).
    """
    found = [(rate * (rate * variance / 2 - gap)).exp() * normal_tail((rate * variance - gap) / variance.sqrt())]
    for derivative in _derivatives(gap, variance, highest):
        found.append(derivative - rate * found[-1])
    return found


@proved_by("T141-certified-expansions")
def _derivatives(gap: arb, variance: arb, count: int) -> list[arb]:
    """Enclose N^(m)(x; tau) = (-1)^m He_m(z) N(x; tau) / tau^{m/2}, m < count."""
    root, density, found = variance.sqrt(), normal_density(gap, variance), []
    for polynomial in hermite_polynomials(gap / root, count)[:count]:
        found.append(density * polynomial)
        density = -density / root
    return found


@proved_by("T171-steepest-descent")
def enclose_exponent_derivatives(cumulants: Sequence[arb], tilt: arb) -> dict[int, arb]:
    """Enclose F^(j), j >= 2, of F(z) = K(z) - eps z - log z - log(1+z): K^(j) + (-1)^j (j-1)! (t^-j + (1+t)^-j).

    cumulants: [K', K'', ...] at the tilt t.
    """
    derivatives, near, far = {}, 1 / tilt, 1 / (1 + tilt)
    power_near, power_far, factor = near, far, arb(1)
    for j, cumulant in enumerate(cumulants[1:], 2):
        power_near, power_far, factor = power_near * near, power_far * far, -factor * (j - 1)
        derivatives[j] = cumulant - factor * (power_near + power_far)
    return derivatives


@dataclass(frozen=True)
class ExpandedPoles:
    """F = K - eps z - log z - log(1+z) is expanded, as the method of steepest descent does."""

    tilt: arb

    @proved_by("T171-steepest-descent")
    def enclose_cumulants(self, cumulants: list[arb]) -> list[arb]:
        """F^(j) = K^(j) + (-1)^j (j-1)! (t^-j + (1+t)^-j); F' without its -eps."""
        first = cumulants[1] - 1 / self.tilt - 1 / (1 + self.tilt)
        return [arb(0), first, *enclose_exponent_derivatives(cumulants[1:], self.tilt).values()]

    @proved_by("T171-steepest-descent")
    def bound_more(self, order: int) -> arb:
        """(j-1)! (t^-j + (1+t)^-j)."""
        near, far, size = 1 / self.tilt, 1 / (1 + self.tilt), arb(1)
        first, second = near, far
        for j in range(1, order):
            size, first, second = size * j, first * near, second * far
        return upper_end(size * (first + second))

    @proved_by("T171-steepest-descent")
    def bound_damping(self, low: arb) -> arb:
        """t(1+t) / (|t+iw| |1+t+iw|)."""
        return upper_end(self.tilt * (1 + self.tilt) / _modulus(self.tilt, low))

    @proved_by("T171-steepest-descent")
    def bound_weights(self, low: arb, high: arb) -> tuple[arb, arb]:
        """1 / (t(1+t))."""
        size = upper_end(1 / (self.tilt * (1 + self.tilt)))
        return size, size

    @proved_by("T171-steepest-descent")
    def bound_beyond(self, start: arb) -> arb:
        """1 / (t(1+t))."""
        return upper_end(1 / (self.tilt * (1 + self.tilt)))

    @proved_by("T171-steepest-descent")
    def enclose_series(self, gap: arb, variance: arb, factors: Mapping[int, arb]) -> arb:
        """Enclose sum_l q_l N^(l)(x; F'') / (t(1+t)), gap x = F'(t): 0 at the saddle point."""
        densities = _derivatives(gap, variance, max(factors) + 1)  # exact: whole numbers
        total = sum((factor * densities[power] for power, factor in factors.items()), arb(0))
        return total / (self.tilt * (1 + self.tilt))


@dataclass(frozen=True)
class Smoothed(Unchanged):
    """Prawitz's kernel on [0, T]; top: T."""

    top: arb

    @proved_by("T170-edgeworth-smoothing", "T100-prawitz")
    def bound_weights(self, low: arb, high: arb) -> tuple[arb, arb]:
        """|kernel| <= sqrt((1/(pi w))^2 + (1/T)^2), which falls, as w times it grows."""
        growing = (1 / (arb.pi() * arb.pi()) + (high / self.top) * (high / self.top)).sqrt() / high
        return upper_end(growing), self._size(low)

    @proved_by("T170-edgeworth-smoothing")
    def bound_beyond(self, start: arb) -> arb:
        """2/(pi w) + 2/T: what the kernel, the inversion and the density leave beyond."""
        return upper_end(2 / (arb.pi() * start) + 2 / self.top)

    def _size(self, low: arb) -> arb:
        along = 1 / (arb.pi() * low) if low > 0 else arb.pos_inf()
        return upper_end((along * along + 1 / (self.top * self.top)).sqrt())
