"""Point samples of a density and their discrete Fourier transform in double precision, every rounding bounded (T173).

Each operation of `Rounded` carries a bound of its own error; the transform is a product of three small matrices, so
that it rests on sums of products in any order, and on no library's transform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import acb, arb, ctx

from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball, plus_minus, upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.deadline import timed
from verified_dp.search.doubles import FUNCTION_ERROR, ROUND_UP, bound_moduli, exponential, to_double

UNIT = 2.0**-53
"""Half of the distance from 1 to the next double."""
TINY = 1e-300
"""More than an underflow changes."""
LARGEST_FACTOR, MOST_POINTS = 1024, 2**24
"""Of the factors of n, each the size of a matrix; and of n, by the memory."""
_BLOCK = 2**16
_FAINTEST, _FAINT = -690.0, 1e-290
"""Samples of smaller logarithms are 0, with so large an error."""
_ROUGH = 2.0**-12
"""Samples whose exponent is not known to this are computed in balls; they lie next to the end of the support."""


@dataclass(frozen=True)
class Rounded:
    """Doubles, and bounds of their distances to the numbers they stand for; inf where nothing is known."""

    near: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, value: arb) -> Rounded:
        """A number known as a ball."""
        near, error = to_double(value)
        return cls(np.array(near), np.array(error))

    @proved_by("T173-samples-in-doubles")
    def _make(self, near: np.ndarray, error: np.ndarray) -> Rounded:
        """The result of one operation, with its own rounding."""
        total = (error + UNIT * np.abs(near)) * ROUND_UP + TINY
        return Rounded(near, np.where(np.isfinite(near) & np.isfinite(total), total, np.inf))

    def __add__(self, other: Rounded) -> Rounded:
        return self._make(self.near + other.near, self.error + other.error)

    def __sub__(self, other: Rounded) -> Rounded:
        return self._make(self.near - other.near, self.error + other.error)

    def __mul__(self, other: Rounded) -> Rounded:
        return self._make(self.near * other.near, np.abs(self.near) * other.error + np.abs(other.near) * self.error
                          + self.error * other.error)

    @proved_by("T173-samples-in-doubles")
    def __truediv__(self, other: Rounded) -> Rounded:
        """Where the divisor's error is less than half of it."""
        near, size = self.near / other.near, np.abs(other.near)
        error = 2 * (self.error + np.abs(near) * other.error * ROUND_UP + TINY) / size
        return self._make(near, np.where(2 * other.error < size, error, np.inf))

    @proved_by("T173-samples-in-doubles")
    def exp(self) -> Rounded:
        """e^x, where the error is at most 1."""
        near = exponential(self.near)
        grown = FUNCTION_ERROR + self.error * (1 + self.error) * (1 + 2 * FUNCTION_ERROR)
        known = (self.error <= 1) & (np.abs(self.near) <= 700)
        return self._make(near, np.where(known, near * grown * (1 + 2 * FUNCTION_ERROR), np.inf))

    @proved_by("T173-samples-in-doubles")
    def expm1(self) -> Rounded:
        """e^x - 1 for x >= 0, without cancellation."""
        small = np.minimum(self.near, 0.5)
        series = np.full_like(small, 1 / math.factorial(18))
        for n in range(17, 0, -1):
            series = series * small + 1 / math.factorial(n)
        near = np.where(self.near <= 0.5, series * small, exponential(self.near) - 1)
        grown = 4 * FUNCTION_ERROR * near + self.error * (1 + self.error) * (1 + near)
        known = (self.error <= 1) & (self.near >= 0) & (self.near <= 700)
        return self._make(near, np.where(known, grown * (1 + 8 * FUNCTION_ERROR), np.inf))

    @proved_by("T173-samples-in-doubles")
    def log(self) -> Rounded:
        """log x of positive numbers: any guess g, and x e^-g, which is near 1, by the proved exponential."""
        guess = np.log(np.where(self.near > 0, self.near, 1.0))
        inverse = exponential(-guess)
        product = self.near * inverse
        away = np.abs(product - 1) + product * (2 * FUNCTION_ERROR + 4 * UNIT) + 2 * self.error * inverse
        known = (self.near > 0) & (away <= 0.25) & (np.abs(guess) <= 700)
        return self._make(guess, np.where(known, away * (1 + 2 * away), np.inf))

    @proved_by("T173-samples-in-doubles")
    def sqrt(self) -> Rounded:
        """The root of positive numbers."""
        near = np.sqrt(np.maximum(self.near, 0.0))
        known = (self.near > 0) & (2 * self.error < self.near)
        return self._make(near, np.where(known, 2 * self.error / np.where(near > 0, near, 1.0), np.inf))


@proved_by("T173-samples-in-doubles")
def log_weights(law: SampledGaussianLoss, x: Rounded, exponent: arb, step: arb) -> Rounded:
    """log (h f(x) e^{l x}), f the density of the loss; an infinite error where x may be outside of the support."""
    q, variance = ball(law.sampling_probability), ball(law.noise_multiplier) ** 2
    place, log_slope = _invert_symmetric(law, x) if law.order == "symmetric" else _invert(law, x)
    total = place * place * Rounded.of(-1 / (2 * variance)) + log_slope + x * Rounded.of(exponent)
    total = total + Rounded.of((step / (2 * arb.pi() * variance).sqrt()).log())
    if law.order == "remove":
        return total + x
    if law.order == "symmetric":
        lifted = (place * Rounded.of(1 / variance) + Rounded.of(q.log() - 1 / (2 * variance))).exp()
        return total + (lifted + Rounded.of(1 - q)).log()
    return total


@proved_by("T173-samples-in-doubles")
def _invert(law: SampledGaussianLoss, x: Rounded) -> tuple[Rounded, Rounded]:
    """(t, log |dt/dx|) with loss x in the remove order, -x in the add order.

    With y = x - log(1-q) > 0: m - (1-q) = (1-q) (e^y - 1), t = s^2 log of that over q, + 1/2; dt/dx = s^2 / (1 - e^-y).
    """
    q, variance = ball(law.sampling_probability), ball(law.noise_multiplier) ** 2
    loss = x if law.order == "remove" else Rounded(-x.near, x.error)
    above = loss - Rounded.of((1 - q).log())
    log_excess = above.expm1().log()
    place = (log_excess + Rounded.of(((1 - q) / q).log())) * Rounded.of(variance) + Rounded.of(arb(1) / 2)
    return place, above - log_excess + Rounded.of(variance.log())


@proved_by("T173-samples-in-doubles")
def _invert_symmetric(law: SampledGaussianLoss, x: Rounded) -> tuple[Rounded, Rounded]:
    """(t, log dt/dx): e^{|t|/s^2 - y} = (b + sqrt(b^2 + 4 c^2 e^-y)) / (2c), y = |x|, b = (1-q)(1 - e^-y).

    c = q e^{-1/(2 s^2)}; dx/dt = (r(t) + r(-t)) / s^2, r(t) = 1 / (1 + ((1-q)/c) e^{-t/s^2}).
    """
    q, variance = ball(law.sampling_probability), ball(law.noise_multiplier) ** 2
    lift = q * (-1 / (2 * variance)).exp()
    size, one = Rounded(np.abs(x.near), x.error), Rounded(np.array(1.0), np.array(0.0))
    decay = Rounded(-size.near, size.error).exp()
    slope = size.expm1() * decay * Rounded.of(1 - q)
    root = slope + (slope * slope + decay * Rounded.of(4 * lift * lift)).sqrt()
    far = (size + root.log() - Rounded.of((2 * lift).log())) * Rounded.of(variance)
    place = Rounded(np.where(x.near < 0, -far.near, far.near), far.error)
    shares = [one / (one + (Rounded(sign * far.near, far.error) * Rounded.of(1 / variance)
                            + Rounded.of(((1 - q) / lift).log())).exp()) for sign in (-1.0, 1.0)]
    return place, Rounded.of(variance.log()) - (shares[0] + shares[1]).log()


@dataclass(frozen=True)
class DoubleSamples:
    """The samples of one law at the indices of a window, made anew for each exponent."""

    law: SampledGaussianLoss
    window: tuple[int, int]
    step: Fraction

    @property
    def ends(self) -> tuple[arb, arb]:
        """The density at both ends of the window."""
        first, last = (self.law.enclose_density(ball(i * self.step)) for i in self.window)
        return first, last

    @proved_by("T173-samples-in-doubles")
    def weights(self, exponent: arb) -> tuple[np.ndarray, float]:
        """h f(x_j) e^{l x_j} as doubles, and a bound of the sum of their errors."""
        first, last = self.window
        values, lost = np.zeros(last - first + 1), 0.0
        for start in timed(range(0, len(values), _BLOCK)):
            index = np.arange(first + start, min(first + start + _BLOCK, last + 1))
            exact = np.where(np.abs(index) <= 2**53, 0.0, np.inf)
            with np.errstate(all="ignore"):
                x = Rounded(index.astype(float), exact) * Rounded.of(ball(self.step))
                logs = log_weights(self.law, x, exponent, ball(self.step))
                found = logs.exp()
            unclear, faint = ~(logs.error <= _ROUGH), logs.near < _FAINTEST
            near, error = np.where(faint, 0.0, found.near), np.where(faint, _FAINT, found.error)
            for place in np.flatnonzero(unclear):
                near[place], error[place] = self._exactly(int(index[place]), exponent)
            values[start : start + len(index)] = near
            lost += float(error.sum())
        return values, lost * (1 + len(values) * 2 * UNIT) * ROUND_UP

    def _exactly(self, index: int, exponent: arb) -> tuple[float, float]:
        """One sample by balls."""
        x, h = ball(index * self.step), ball(self.step)
        return to_double(h * self.law.enclose_density(x) * (exponent * x).exp())

    @proved_by("T173-samples-in-doubles")
    def sum_at(self, exponent: arb) -> arb:
        """Enclose h sum f(x_j) e^{l x_j}."""
        values, lost = self.weights(exponent)
        size = arb(float(np.abs(values).sum()))
        return arb(float(values.sum())) + plus_minus(arb(lost) + 2 * arb(UNIT) * len(values) * size)

    @proved_by("T173-samples-in-doubles")
    def transform(self, tilt: arb, points: int, count: int) -> tuple[list[acb], arb]:
        """(the sums at c + i pi r / L, r = 0..count, a bound of their moduli at the other r up to n/2)."""
        values, lost = self.weights(tilt)
        folded = _fold(values, self.window[0], points)
        found, share = transform_real(folded)
        size = arb(float(np.abs(values).sum())) * (1 + 4 * arb(UNIT) * len(values)) + arb(TINY) * points
        error = upper_end(arb(lost) + size * (arb(share) + 2 * arb(UNIT) * (len(values) // points + 1)))
        radius = plus_minus(error)
        low = [acb(arb(z.real) + radius, arb(z.imag) + radius) for z in found[: count + 1].tolist()]
        _, sizes = bound_moduli(found[count + 1 : points // 2 + 1], np.zeros(points // 2 - count))
        return low, upper_end(arb(float(sizes.max(initial=0.0))) + error)


def _fold(values: np.ndarray, first: int, points: int) -> np.ndarray:
    """The values at index first, first + 1, ... added up modulo the number of points."""
    start = first % points
    rows = -(-(start + len(values)) // points)
    padded = np.zeros(rows * points)
    padded[start : start + len(values)] = values
    return padded.reshape(rows, points).sum(axis=0)


def factors_of(points: int) -> list[int]:
    """Three factors of about equal size; as few as one where n is prime."""
    found, primes, rest, p = [1, 1, 1], [], points, 2
    while p * p <= rest:
        while rest % p == 0:
            primes.append(p)
            rest //= p
        p += 1
    for prime in sorted([*primes, rest], reverse=True):
        found[found.index(min(found))] *= prime
    return sorted(found, reverse=True)


def fits(points: int) -> bool:
    """Whether the transform of so many points is worth doing here."""
    return points <= MOST_POINTS and factors_of(points)[0] <= LARGEST_FACTOR


@proved_by("T173-samples-in-doubles")
def transform_real(values: np.ndarray) -> tuple[np.ndarray, float]:
    """(sum_j v_j e^{2 pi i r j / n}, r = 0..n-1, in doubles; a bound of each error over sum |v_j|), n = a b c.

    j = (b c) j1 + j2, r = r1 + a r2: a matrix for j1, the turns e^{2 pi i r1 j2 / n}, and the same for j2 of each r1.
    """
    factors = factors_of(len(values))
    real, imaginary, share = values.reshape(1, -1), np.zeros((1, 0)), 0.0
    shape: list[int] = []
    for number, factor in enumerate(factors):
        rest = real.shape[1] // factor
        cosine, sine = _matrix(factor)
        shape.append(factor)
        x = real.reshape(-1, factor, rest)
        if imaginary.size:
            y = imaginary.reshape(-1, factor, rest)
            up, down = cosine @ x - sine @ y, sine @ x + cosine @ y
        else:
            up, down = cosine @ x, sine @ x
        share += 1.5 * (factor + 8) * UNIT
        if number + 1 < len(factors):
            c, s = _turns(factor, rest)
            up, down = up * c - down * s, up * s + down * c
            share += 14 * UNIT
        real, imaginary = up.reshape(-1, rest), down.reshape(-1, rest)
    found = (real + 1j * imaginary).reshape(shape)
    return found.transpose(range(len(shape))[::-1]).reshape(-1), share * (1 + share) * ROUND_UP


@proved_by("T173-samples-in-doubles")
def _circle(points: int, places: range) -> np.ndarray:
    """e^{2 pi i m / n} for these m: (cosines, sines), each the double nearest to the middle of a ball."""
    with ctx.workprec(80):
        values = [(2 * arb(m) / points).cos_pi() for m in places], [(2 * arb(m) / points).sin_pi() for m in places]
        return np.array([[float(x.mid()) for x in part] for part in values])


@lru_cache(maxsize=8)
def _matrix(size: int) -> np.ndarray:
    """(cosines, sines) of 2 pi r j / size."""
    return _circle(size, range(size))[:, np.outer(np.arange(size), np.arange(size)) % size]


@lru_cache(maxsize=4)
@proved_by("T173-samples-in-doubles")
def _turns(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """(cosines, sines) of 2 pi r j / (rows columns), r < rows, j < columns, each the product of two tabled turns."""
    points = rows * columns
    base = math.isqrt(points) + 1
    index = np.outer(np.arange(rows), np.arange(columns))
    c1, s1 = _circle(points, range(base))[:, index % base]
    c2, s2 = _circle(points, range(0, points + base, base))[:, index // base]
    return c1 * c2 - s1 * s2, s1 * c2 + c1 * s2
