"""Algorithm 1 of the Fourier accountant's paper in floating point: its estimate of delta, and Newton's eps(delta)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import ctx

from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.laws.law import Law
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.search.densities import SMOOTH, cell_masses, float_density
from verified_dp.search.lattice_model import LawModel
from verified_dp.search.line import as_float

_RARE = -80.0
"""Losses rarer than e^-80 are left out of cell masses."""
_CLOSE = 1e-11
"""Newton stops where delta is met to this relative accuracy: no sum of doubles is met better."""


@dataclass(frozen=True)
class Published:
    """C^k on the grid -L + j dx, its entries times e^{log_scale - tilt x}; infinity: P(S = inf)."""

    points: np.ndarray
    masses: np.ndarray
    tilt: float
    log_scale: float
    infinity: float

    def _sums(self, epsilon: float) -> tuple[float, float]:
        """The sums for delta and -delta', over e^{log_scale - tilt eps}."""
        above = self.points > epsilon
        gap = self.points[above] - epsilon
        weights = self.masses[above] * np.exp(-self.tilt * gap)
        return float(weights @ -np.expm1(-gap)), float(weights @ np.exp(-gap))

    def delta(self, epsilon: Fraction) -> str:
        """(5.2) as a decimal, which may be negative: rounding errors are not hidden."""
        value, _ = self._sums(as_float(epsilon))
        size = self.log_scale - self.tilt * as_float(epsilon)
        if self.infinity or abs(size) < 300:
            return f"{self.infinity + value * math.exp(size):.15g}"
        digits = (size + math.log(abs(value))) / math.log(10) if value else 0.0
        return f"{math.copysign(10 ** (digits % 1), value):.12f}e{math.floor(digits)}" if value else "0"

    def newton(self, delta: float, start: float = 0.0) -> float:
        """Section 5.4: eps with delta(eps) = delta; -inf where delta(0) is below it, nan where it does not converge."""
        epsilon = start
        for _ in range(200):
            value, slope = (term * math.exp(self.log_scale - self.tilt * epsilon) for term in self._sums(epsilon))
            value += self.infinity
            if abs(value - delta) <= _CLOSE * delta:
                return epsilon
            if slope <= 0 or (epsilon <= 0 and value < delta):
                return -math.inf if epsilon <= 0 else math.nan
            epsilon = max(epsilon + (value - delta) / slope, 0.0)
        return math.nan


def publish(loss: ComposedLoss, half_length: Fraction, points: int, tilt: float = 0.0) -> Published:
    """Point samples of each density on [-L, L), their transforms' product of powers (section 5.5), and back."""
    width, length = 2 * float(half_length) / points, points
    x = (np.arange(length) - length // 2) * width
    spectrum, log_scale = np.ones(length // 2 + 1, dtype=complex), 0.0
    for law, count in loss.laws:
        weights = _step_masses(law, x, width) * np.exp(tilt * (x - x[-1]))
        total = float(weights.sum())
        spectrum *= np.fft.rfft(np.fft.ifftshift(weights / total)) ** count  # D: the shift that puts 0 first
        log_scale += count * (math.log(total) + tilt * float(x[-1]))
    with ctx.workprec(64):
        infinity = float(loss.enclose_infinity_mass())
    return Published(x, np.fft.fftshift(np.fft.irfft(spectrum, length)), tilt, log_scale, infinity)


def _step_masses(law: Law, x: np.ndarray, width: float) -> np.ndarray:
    if isinstance(law, SMOOTH):
        return float_density(law, x) * width
    model, half = LawModel(law, _RARE), len(x) // 2
    first = max(math.floor(float(model.low) / width) - 1, -half)
    last = min(math.ceil(float(model.high) / width) + 1, half - 1)
    masses = np.zeros(len(x))
    masses[first + half : last + half + 1] = cell_masses(law, first, last, width)
    return masses


def estimate_discretisation(loss: ComposedLoss, half_length: Fraction, points: int, tilt: float,
                            epsilon: Fraction, value: str) -> float:
    """(7.4): 2 |I_n - I_2n|; an estimate of the discretisation error, and no bound."""
    finer = publish(loss, half_length, 2 * points, tilt)
    return 2 * abs(float(value) - float(finer.delta(epsilon)))


def estimate_tail(loss: ComposedLoss, half_length: Fraction) -> float | None:
    """(7.3): e^{k q^2 l (l+1) / ((1-q) s^2) - L^2/2}, l = L/2, of k equal steps; None where it does not apply."""
    if len(loss.laws) != 1 or not isinstance(loss.laws[0][0], SampledGaussianLoss) or loss.order != "remove":
        return None
    (law, count), exponent = loss.laws[0], float(half_length) / 2
    q, s = float(law.sampling_probability), float(law.noise_multiplier)  # type: ignore[attr-defined]
    return math.exp(min(count * q * q * exponent * (exponent + 1) / ((1 - q) * s * s) - 2 * exponent**2, 700.0))
