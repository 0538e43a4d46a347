"""delta of a few steps from their densities and masses, in mpmath and scipy: none of the package's own numerics.

All but the last step are averaged over, the last one has a closed form: the masses of both laws where dP/dQ is large.
`Laplace` and `Outcomes` have kinks, between which panels lie; Gaussian mixtures are smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
from mpmath import mp, mpf
from scipy.special import ndtr

ERROR = 1e-12
"""Relative, of `delta`, where eps is at least 1e-4 of a loss's range below the largest loss."""
MIXTURE_ERROR = 1e-8
"""Relative, of `mixtures_delta`, for deltas above 1e-8."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def real(value: Fraction | int) -> mpf:
    """An exact number in 30 digits."""
    return mpf(Fraction(value).numerator) / Fraction(value).denominator


@dataclass(frozen=True)
class Outcomes:
    """Finitely many outcomes of masses (p, q)."""

    masses: tuple[tuple[Fraction, Fraction], ...]

    def sampled(self, chance: Fraction, order: str) -> Outcomes:
        """On a Poisson sample: (1 - chance) Q + chance P against Q, or the other way round."""
        mixed = tuple(((1 - chance) * q + chance * p, q) for p, q in self.masses)
        return Outcomes(mixed if order == "remove" else tuple((q, p) for p, q in mixed))

    @property
    def places(self) -> list[mpf]:
        """The finite losses."""
        return [mp.log(real(p) / real(q)) for p, q in self.masses if p and q]

    @property
    def never(self) -> mpf:
        """The mass that Q never gives."""
        return real(sum((p for p, q in self.masses if not q), Fraction(0)))

    def atoms(self) -> list[tuple[mpf, mpf]]:
        """(mass under P, loss)."""
        return [(real(p), mp.log(real(p) / real(q))) for p, q in self.masses if p and q]

    def curve(self, epsilon: mpf) -> mpf:
        """sum (p - e^eps q)_+."""
        return sum((max(real(p) - mp.exp(epsilon) * real(q), mpf(0)) for p, q in self.masses), mpf(0))


@dataclass(frozen=True)
class Laplace:
    """Laplace noise of scale 1 on 0 or mu, mu with the probability q: the mixture against the noise alone, or (add)
    the other way round. Losses are constant left of 0 and right of mu, and monotone between.
    """

    mu: Fraction
    q: Fraction
    order: str

    never = mpf(0)

    @property
    def sign(self) -> int:
        return 1 if self.order == "remove" else -1

    def loss(self, x: mpf) -> mpf:
        q, mu = real(self.q), real(self.mu)
        return self.sign * mp.log(1 - q + q * mp.exp(abs(x) - abs(x - mu)))

    def density(self, x: mpf) -> mpf:
        """Of P."""
        plain = mp.exp(-abs(x)) / 2
        return plain * mp.exp(self.loss(x)) if self.order == "remove" else plain

    @property
    def places(self) -> list[mpf]:
        return [self.loss(mpf(0)), self.loss(real(self.mu))]

    def atoms(self) -> list[tuple[mpf, mpf]]:
        """Beyond 0 and mu e^-|x| has the integral 1."""
        return [(self.density(x), self.loss(x)) for x in (mpf(0), real(self.mu))]

    def where(self, loss: mpf) -> mpf | None:
        """The x between 0 and mu with that loss."""
        q, odds = real(self.q), mp.exp(self.sign * loss)
        if odds <= 1 - q:
            return None
        x = (mp.log((odds - 1 + q) / q) + real(self.mu)) / 2
        return x if 0 < x < real(self.mu) else None

    def curve(self, epsilon: mpf) -> mpf:
        """P - e^eps Q of a half-line: right of where the loss is eps in the remove order, left of it in the other."""
        places, mu = self.places, real(self.mu)
        if epsilon >= max(places):
            return mpf(0)
        if epsilon <= min(places):
            return 1 - mp.exp(epsilon)
        x = self.where(epsilon)
        assert x is not None
        near, far = mp.exp(-x) / 2, mp.exp(x - mu) / 2
        q, alpha = real(self.q), mp.exp(epsilon)
        if self.order == "remove":
            return (1 - q) * near + q * (1 - far) - alpha * near
        return 1 - near - alpha * ((1 - q) * (1 - near) + q * far)


Step = Outcomes | Laplace


def delta(steps: Sequence[Step], epsilon: mpf) -> mpf:
    """The mean over the first step's outcome, under P, of the others' delta at eps less its loss."""
    first, *rest = steps
    if not rest:
        return first.curve(epsilon)
    total = first.never + sum((mass * delta(rest, epsilon - loss) for mass, loss in first.atoms()), mpf(0))
    if isinstance(first, Outcomes):
        return total
    kinks = [mpf(0)]
    for step in rest:
        kinks = [kink + place for kink in kinks for place in step.places]
    inner = (first.where(epsilon - kink) for kink in kinks)
    ends = sorted({mpf(0), real(first.mu), *(x for x in inner if x is not None)})
    for low, high in pairwise(ends):
        half, middle = (high - low) / 2, (high + low) / 2
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            x = middle + half * mpf(float(node))
            total += half * mpf(float(weight)) * first.density(x) * delta(rest, epsilon - first.loss(x))
    return total


def largest_loss(steps: Sequence[Step]) -> mpf:
    """The sum of the largest finite losses."""
    return mp.fsum(max(step.places) for step in steps)


def exact(value: mpf) -> Fraction:
    """The rational that an mpf is."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


def number(value: object) -> mpf:
    """The midpoint of an exact ball, to 40 digits."""
    return mpmath.mpf(value.str(40, radius=False))  # type: ignore[attr-defined]


# Steps of Gaussian noise: mixtures of N(0, s^2), N(1, s^2), N(2, s^2) in doubles.


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
