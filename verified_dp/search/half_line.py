"""A batch without replacement, one record replaced, in floating point: its transform, and rules of panels for it."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.batches.half_lines import MAX_POINTS
from verified_dp.search.transforms import Floats, log_sums

_REACH, _POINTS, _FINEST = 14.0, 12, 400
"""The model's panels end so many deviations past the last mode; points of each; so many panels at most."""
_LENGTHS, _HEIGHTS = (0.25, 0.5, 1.0, 2.0), np.linspace(0.04, 1.0, 16)
"""Lengths of a rule's panels in deviations, and heights of ellipses as shares of the highest."""


class Panels(NamedTuple):
    """Heights of ellipses, lengths, how many panels and points of each."""

    height: float
    length: float
    panels: int
    points: int


class FloatHalfLine:
    """log M, and nodes with both losses: by panels of Gauss points."""

    def __init__(self, law: FixedBatchLoss) -> None:
        self.q, self.sigma = float(law.probability), float(law.noise_multiplier) / 2
        self.log_atom = math.log1p(-self.q) + math.log(math.erf(1 / (2 * self.sigma * math.sqrt(2))))

    def log_size(self, t: Floats) -> np.ndarray:
        """log m(t)."""
        return np.logaddexp(math.log1p(-self.q), math.log(self.q) + (2 * t - 1) / (2 * self.sigma**2))

    def _nodes(self, c: float) -> tuple[np.ndarray, np.ndarray]:
        """log of the weights, and losses, as far as the exponent c needs."""
        length = 0.5 + max(c, 0.0) + _REACH * self.sigma
        panels = min(math.ceil(2 * length / self.sigma), _FINEST)
        half = length / panels / 2
        places, weights = self._gauss
        t = (0.5 + half * (2 * np.arange(panels) + 1)[:, None] + half * places).ravel()
        base = np.tile(np.log(half * weights), panels) - t * t / (2 * self.sigma**2) - math.log(
            self.sigma * math.sqrt(2 * math.pi))
        loss = self.log_size(t)
        return np.concatenate([[self.log_atom], base + loss, base]), np.concatenate([[0.0], loss, -loss])

    @cached_property
    def _gauss(self) -> tuple[np.ndarray, np.ndarray]:
        places, weights = np.polynomial.legendre.leggauss(_POINTS)
        return places, weights

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c."""
        base, loss = self._nodes(c)
        exponent = base + c * loss
        top = exponent.max()
        weights = np.exp(exponent - top)
        mass = weights.sum()
        mean = float(weights @ loss / mass)
        return float(top + math.log(mass)), mean, float(weights @ (loss - mean) ** 2 / mass)

    def log_masses(self, xs: np.ndarray) -> np.ndarray:
        """K at each of xs > 0, which is K at -1 - x."""
        base, loss = self._nodes(float(np.max(xs)))
        return log_sums(base + xs[:, None] * loss)

    def ratios(self, c: float, w: np.ndarray) -> np.ndarray:
        """M(c + iw) / M(c)."""
        base, loss = self._nodes(c)
        weights = np.exp(base + c * loss - self.cumulants(c)[0])
        return np.asarray(np.exp(1j * np.outer(w, loss)) @ weights)

    def panels(self, c: float, others: tuple[float, ...], frequency: float, bits: float) -> Panels:
        """Those with the fewest points whose error at c + iw, w up to the frequency, is below 2^-bits M.

        others: exponents where three bits do.
        """
        wants = [(c, frequency, bits * math.log(2)), *((x if x > 0 else -1 - x, frequency, 3.0) for x in others)]
        end = max(self._end(x, want) for x, _, want in wants)
        found = list[tuple[int, Panels]]()
        for length in _LENGTHS:
            panels = max(1, math.ceil((end - 0.5) / (length * self.sigma)))
            for height in _HEIGHTS * math.pi * self.sigma**2 / 2:
                points = max(self._points(x, w, want, length * self.sigma, panels, height) for x, w, want in wants)
                chosen = Panels(0.999 * height, length * self.sigma, panels + 1, min(points, MAX_POINTS))
                found.append((panels * points, chosen))
        return min(found)[1]

    def _end(self, c: float, want: float) -> float:
        """Where what is left is below e^-want of all."""
        spread = self.sigma * math.sqrt(2 * want + 4)
        rare = self.sigma**2 * max(math.log((1 - self.q) / self.q), 0.0) + 0.5
        return max(0.5 + spread, min(1 + c + spread, max(rare, 0.5) + spread + 1 + c))

    def _points(self, c: float, w: float, want: float, length: float, panels: int, height: float) -> int:
        half, twice = length / 2, 2 * self.sigma**2
        slope = height / half
        rho = slope + math.sqrt(slope * slope + 1)
        reach, middles = half * (rho + 1 / rho) / 2, 0.5 + half * (2 * np.arange(panels + 1) + 1)
        left, right = middles - reach, middles + reach
        turn = np.angle(1 - self.q + self.q * np.exp(np.minimum((2 * right - 1) / twice, 600)) * np.exp(
            2j * height / twice))
        most = np.logaddexp((1 + c) * self.log_size(right), -c * (self.log_size(left) + math.log(math.cos(
            height / twice))))
        logs = most - np.maximum(left, 0) ** 2 / twice + w * turn
        size = float(np.logaddexp.reduce(logs)) + height**2 / twice + math.log(half / self.sigma) + 2
        size += want - self.cumulants(c)[0]
        return min(max(4, math.ceil(size / (2 * math.log(rho)))), 4 * MAX_POINTS)
