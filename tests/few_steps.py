"""delta of a few steps of Gaussian mixtures from their densities, in scipy: none of the package's own numerics.

All but the last step are averaged over, the last one has a closed form: the masses of both laws where dP/dQ is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

MIXTURE_ERROR = 1e-8
"""Relative, of `mixtures_delta`, for deltas above 1e-8."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


@dataclass(frozen=True)
class Mixture:
    """sum_j weights_j N(j, s^2) against N(0, s^2) (remove), the other way round (add), or against its mirror image."""

    weights: tuple[float, ...]
    s: float
    order: str

    def ratio(self, t: np.ndarray, side: int = 1) -> np.ndarray:
        """The mixture over N(0, s^2), or that of the mirror image."""
        return sum((w * np.exp((2 * side * j * t - j * j) / (2 * self.s**2)) for j, w in enumerate(self.weights)),
                   np.zeros_like(t))

    def loss(self, t: np.ndarray) -> np.ndarray:
        ratio = np.log(self.ratio(t))
        return {"remove": ratio, "add": -ratio, "symmetric": ratio - np.log(self.ratio(t, -1))}[self.order]

    def density(self, t: np.ndarray) -> np.ndarray:
        """Of P."""
        plain = np.exp(-t * t / (2 * self.s**2)) / (self.s * np.sqrt(2 * np.pi))
        return plain if self.order == "add" else plain * self.ratio(t)

    def mass(self, t: np.ndarray, means: int) -> np.ndarray:
        """Of the mixture (1), its mirror image (-1) or the noise alone (0) where the loss is above that at t."""
        side, weights = (-1 if self.order == "add" else 1), self.weights if means else (1.0,)
        return sum((w * ndtr(side * (means * j - t) / self.s) for j, w in enumerate(weights)), np.zeros_like(t))

    @property
    def end(self) -> float:
        """The least loss (remove) or the largest (add), which no output reaches; symmetric: where the curve bends."""
        return {"remove": 1, "add": -1, "symmetric": 0}[self.order] * float(np.log(self.weights[0]))

    def where(self, epsilon: np.ndarray) -> np.ndarray:
        """Where the loss is eps: the ratio is a polynomial in e^(t/s^2), of degree 2 at most. nan: nowhere."""
        w0, w1, w2 = (*self.weights, 0.0, 0.0)[:3]
        alpha, near = np.exp(-epsilon if self.order == "add" else epsilon), w1 * np.exp(-1 / (2 * self.s**2))
        a, b, c = w2 * np.exp(-2 / self.s**2), np.full_like(alpha, near), w0 - alpha
        if self.order == "symmetric":
            a, b, c = near, w0 * (1 - alpha), -alpha * near
        with np.errstate(invalid="ignore", divide="ignore"):
            root = np.sqrt(b * b - 4 * a * c)
            y = np.where(b >= 0, -2 * c / (b + root), (root - b) / (2 * a) if a else np.nan)
            return self.s**2 * np.log(np.where(y > 0, y, np.nan))

    def curve(self, epsilon: np.ndarray) -> np.ndarray:
        """The masses of both where the loss is above eps."""
        place = self.where(epsilon)
        first, second = {"remove": (1, 0), "add": (0, 1), "symmetric": (1, -1)}[self.order]
        value = self.mass(place, first) - np.exp(epsilon) * self.mass(place, second)
        return np.maximum(np.where(np.isnan(place), 0 if self.order == "add" else -np.expm1(epsilon), value), 0)


def gaussian_curve(shift_squared: float, epsilon: np.ndarray) -> np.ndarray:
    """A plain Gaussian step."""
    mu = np.sqrt(shift_squared)
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


def mixtures_delta(steps: Sequence[Mixture], epsilon: float, shift_squared: float = 0.0, nodes: int = 10) -> float:
    """All but the last averaged over by Gauss panels, the last is the plain Gaussian step if there is one.

    Panels are short next to where the others' delta becomes trivial, or nearly: it is smooth there, and not analytic.
    """
    x, w = np.polynomial.legendre.leggauss(nodes)
    total, weight = np.array([epsilon]), np.array([1.0])
    for n, step in enumerate(steps if shift_squared else steps[:-1]):
        ends = np.linspace(-9 * step.s - 1, len(step.weights) - 1 + 9 * step.s, 25)
        edge = step.where(total - sum(other.end for other in steps[n + 1:]))[:, None]
        shares = step.s * 2.0 ** -np.arange(22)
        near = np.nan_to_num(np.concatenate([edge - shares, edge, edge + shares], axis=1), nan=ends[0])
        cuts = np.sort(np.concatenate([np.tile(ends, (len(total), 1)), near.clip(ends[0], ends[-1])], axis=1), axis=1)
        half, middle = (cuts[:, 1:] - cuts[:, :-1]) / 2, (cuts[:, 1:] + cuts[:, :-1]) / 2
        t = middle[:, :, None] + half[:, :, None] * x
        weight = (weight[:, None, None] * half[:, :, None] * w * step.density(t)).ravel()
        total = (total[:, None, None] - step.loss(t)).ravel()
        kept = weight > 1e-16
        total, weight = total[kept], weight[kept]
    values = gaussian_curve(shift_squared, total) if shift_squared else steps[-1].curve(total)
    return float(weight @ values)
