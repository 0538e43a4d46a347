"""Floating-point models of the laws: log M on the real axis with two derivatives, and |M| bounds on shifted lines."""

import math
from copy import copy
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composition import Mixture
from verified_dp.core.kernel.exact import square
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.search.deadline import check_time

Floats = Any
"""A double, or an array of them."""
_SPREAD = 11.0
"""Half-width of the integration windows in standard deviations."""
_ENDS = 160
"""Ends of a window that are tried at once."""
_POINTS = 64
"""Of an integral at least; more where that is less than three for each deviation."""
_WIDER = 2.0
"""How many times the window that is needed one may be that is known already."""


@lru_cache(maxsize=64)
def unit_grid(points: int) -> np.ndarray:
    """So many points from 0 to 1."""
    return np.arange(points) / (points - 1)


def geometric(low: float, high: float, points: int) -> np.ndarray:
    """So many points from low to high, each the same multiple of the one before."""
    return np.asarray(low * (high / low) ** unit_grid(points))


class Table(NamedTuple):
    """(log phi_s + u, v) at equally spaced real t."""

    low: float
    high: float
    step: float
    bases: np.ndarray
    losses: np.ndarray

    def suits(self, low: float, high: float) -> bool:
        """Whether it reaches so far, and not much further."""
        return self.low <= low and high <= self.high and self.high - self.low <= _WIDER * (high - low)


class FloatLaw:
    """One sampled Gaussian law in floating point; arrays over a grid of real t.

    distance: d, the largest distance of two means of P, or of two of Q.
    """

    distance = 1.0
    _table: "Table | None" = None

    def __init__(self, law: SampledGaussianLoss) -> None:
        self.q, self.s, self.order = float(law.sampling_probability), float(law.noise_multiplier), law.order
        self.variance, self._known = self.s * self.s, dict[float, tuple[float, float, float]]()
        rest = 1 - law.sampling_probability  # as a double 0 where q is within 1e-17 of 1
        self.log_rest = math.log1p(-self.q) if self.q < 0.5 else math.log(rest.numerator) - math.log(rest.denominator)
        self.log_q = math.log(law.sampling_probability.numerator) - math.log(law.sampling_probability.denominator)

    @property
    def strip(self) -> float:
        return math.pi * self.variance

    @cached_property
    def reverse(self) -> "FloatLaw":
        """The law of the swapped pair: its K at -1-x is K at x."""
        other = copy(self)
        other.order, other._known, other._table = SWAPPED[self.order], {}, None
        return other

    def log_mass(self, x: float) -> float:
        """K at x > 0 or x < -1."""
        return self.cumulants(x)[0] if x > 0 else self.reverse.cumulants(-1 - x)[0]

    def _power(self, x: Floats) -> Floats:
        """Of the ratio with the probability in it."""
        return -x if self.order == "add" else x + 1

    def _log_ratio(self, t: np.ndarray) -> np.ndarray:
        return np.logaddexp(self.log_rest, self.log_q + (2 * t - 1) / (2 * self.variance))

    def _share(self, t: float) -> float:
        """q e^X / (1 - q + q e^X): the derivative of l times s^2."""
        exponent = self.log_rest - self.log_q - (2 * t - 1) / (2 * self.variance)
        return 1 / (1 + math.exp(exponent)) if exponent < 700 else 0.0

    def window(self, c: float) -> tuple[float, float]:
        """Where phi_s e^{u + c v} lives: around its modes."""
        spread = _SPREAD * self.s
        if self.order == "add":
            low, high = -c, 0.0
            while high - low > self.s / 4:
                middle = (low + high) / 2
                low, high = (middle, high) if middle + c * self._share(middle) < 0 else (low, middle)
            return low - spread, high + spread
        return -spread, (c + 1 if self.order == "remove" else 2 * c + 1) + spread

    def grid(self, c: float, points: int = _POINTS) -> np.ndarray:
        return self._spaced(*self.window(c), points)

    def _spaced(self, low: float, high: float, points: int = _POINTS) -> np.ndarray:
        fine = int(min(20000, max(points, 3 * (high - low) / min(self.s, self.strip))))
        return low + (high - low) * unit_grid(fine)

    def exponents(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(log phi_s + u, v) at real t."""
        gauss = -t * t / (2 * self.variance) - math.log(self.s * math.sqrt(2 * math.pi))
        ell = self._log_ratio(t)
        if self.order == "add":
            return gauss, -ell
        return gauss + ell, ell if self.order == "remove" else ell - self._log_ratio(-t)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c."""
        if c not in self._known:
            self._known[c] = self._cumulants(c)
        return self._known[c]

    def _cumulants(self, c: float) -> tuple[float, float, float]:
        check_time()
        low, high = self.window(c)
        if self._table is None or not self._table.suits(low, high):
            t = self._spaced(low - self.s, high + self.s)
            self._table = Table(float(t[0]), float(t[-1]), float(t[1] - t[0]), *self.exponents(t))
        base, loss = self._table.bases, self._table.losses
        exponent = base + c * loss
        top = float(exponent.max())
        weights = np.exp(exponent - top)
        mass = float(weights.sum())
        mean = float(weights @ loss) / mass
        apart = loss - mean
        return top + math.log(mass * self._table.step), mean, float(weights @ (apart * apart)) / mass

    def log_masses(self, xs: np.ndarray) -> np.ndarray:
        """K at each of xs > 0, increasing."""
        windows = [self.window(float(x)) for x in (xs[0], xs[-1])]
        low, high = min(low for low, _ in windows), max(high for _, high in windows)
        t = self._spaced(low, high)
        base, loss = self.exponents(t)
        return log_sums(base + xs[:, None] * loss) + math.log(t[1] - t[0])

    def shifted(self, t: np.ndarray, height: Floats) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(Re(log phi_s + u), Re v, Im v) on the line of this height (on the law's side)."""
        ell, angle = self._complex_log_ratio(t, height)
        gauss = (height * height - t * t) / (2 * self.variance) - math.log(self.s * math.sqrt(2 * math.pi))
        if self.order == "add":
            return gauss, -ell, angle
        if self.order == "remove":
            return gauss + ell, ell, angle
        back, turn = self._complex_log_ratio(-t, height)
        return gauss + ell, ell - back, angle + turn

    def _complex_log_ratio(self, t: np.ndarray, height: Floats) -> tuple[np.ndarray, np.ndarray]:
        x = self.log_q + (2 * t - 1) / (2 * self.variance)
        top = np.maximum(x, self.log_rest)
        real = np.exp(self.log_rest - top) + np.exp(x - top) * np.cos(height / self.variance)
        imaginary = np.exp(x - top) * np.sin(height / self.variance)
        share, turned = np.exp(np.minimum(x, self.log_rest) - top), np.cos(height / self.variance)
        with np.errstate(divide="ignore"):
            return top + np.log1p(share * (share + 2 * turned)) / 2, np.arctan2(imaginary, real)

    def log_bound(self, x: float, w: float, height: float, t: np.ndarray) -> float:
        """log of int |phi_s e^{u + zv}| on the line of this height, z = x + iw."""
        base, loss, angle = self.shifted(t, height)
        return log_sum(base + x * loss - w * angle) + math.log(t[1] - t[0])

    def strip_growth(self, c: float, reach: Floats) -> Floats:
        """log (N / M(c)) of T08."""
        return np.square(reach) / (2 * self.variance) + self.cosine_growth(c, reach)

    def modulus_growth(self, c: float, height: float, half_width: Floats) -> Floats:
        """log (N' / M(c)) of T11."""
        squares = height * height + half_width * half_width
        return squares / (2 * self.variance) + self.cosine_growth(c, height + half_width)

    def log_tails_beyond(self, x: Floats, distances: Floats, side: int) -> np.ndarray:
        """log of T10's tails without the factors of the height, so far from 0 to the right (1) or left (-1).

        Of many x, which all are > 0 or all < -1, or of many distances.
        """
        if self.order == "symmetric" and np.all(x < -1):
            return self.log_tails_beyond(-1 - x, distances, -side)
        p = self._power(x)
        if side < 0:
            return log_tail(distances / self.s) + np.minimum(p, 0.0) * self.log_rest
        odds = self.log_q + (2 * distances - 1) / (2 * self.variance)
        if np.all(p < 0):
            return log_tail(distances / self.s) + p * np.logaddexp(self.log_rest, odds)
        bound = p * (self.log_q + np.logaddexp(0.0, self.log_rest - odds)) + p * (p - 1) / (2 * self.variance)
        return bound + log_tail((distances - p) / self.s) - (x * self.log_rest if self.order == "symmetric" else 0.0)

    def far_end(self, xs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """About how far to the right a window reaches for T10's tail at each of xs > 0 to be below e^target."""
        return np.zeros_like(xs) if self.order == "add" else self._far_end(xs + 1, targets, self.log_q, 1.0)

    def _far_end(self, powers: np.ndarray, targets: np.ndarray, log_share: float, mean: float) -> np.ndarray:
        """Of F^p with one far mean of such a share: where the other terms are small enough beside the far one."""
        slack = targets - powers * log_share - powers * (powers - 1) * mean * mean / (2 * self.variance)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            near = mean / 2 - self.variance / mean * (log_share + np.log(np.expm1(slack / powers)))
            far = powers * mean + self.s * np.sqrt(np.maximum(-2 * slack, 0.0)) + self.s
        return np.where(slack > 0, np.minimum(near, far), far)

    def furthest(self, x: float) -> float:
        """A place right of all modes."""
        return -1 - x if self.order == "symmetric" and x < -1 else max(self._power(x), 0.0)

    def ends(self, x: float, targets: Floats, side: int) -> Floats:
        """How far from 0, to the right (1) or left (-1), T10's tail falls below e^target, for each target."""
        if side > 0 or self.order == "symmetric":
            return self._search_ends(x, targets, side)
        need = np.maximum(min(float(self._power(x)), 0.0) * self.log_rest - targets, 1.0)
        return self.s * np.sqrt(2 * np.maximum(need - np.log(np.maximum(2.0, 3.5 * np.sqrt(need))), 0.0) + 0.1)

    def _search_ends(self, x: float, targets: Floats, side: int) -> Floats:
        least, reach = float(np.min(targets)), 8 * self.s + self.furthest(x)
        while (curve := self.log_tails_beyond(x, reach * unit_grid(_ENDS), side))[-1] >= least:
            reach *= 2
        return reach * (_ENDS - np.searchsorted(np.maximum.accumulate(curve[::-1]), targets)) / (_ENDS - 1)

    def room(self, c: float) -> float:
        """How far a window at tilt c reaches at least: room for the right alias exponent."""
        return 0.0 if self.order == "add" else c + 1 + 6 * self.s

    @property
    def turns(self) -> float:
        """The spread of Q, for which the cosine is paid."""
        return 0.0 if self.order == "remove" else 1.0

    def cosine_growth(self, x: float, reach: Floats) -> Floats:
        """log cos(reach d_Q/(2 s^2))^-x where Q is a mixture; for x < -1 that of P to the power x + 1."""
        turns, power = (self.turns, x) if x >= 0 else (self.reverse.turns, -1 - x)
        return -power * np.log(np.cos(turns * reach / (2 * self.variance))) if turns and power > 0 else 0.0

    def lines(self, t: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`shifted` on lines of many heights: one row each."""
        base, loss, angle = self.shifted(t, heights[:, None])
        return base, loss, angle


def log_tail(x: Floats) -> np.ndarray:
    """log of a bound on P(Z > x); 2 where x < 0 (T10, refinement i)."""
    return np.where(x >= 0, -np.square(np.maximum(x, 0)) / 2 - np.log(np.maximum(2.0, 2.5 * x)), math.log(2))


def log_sums(exponents: np.ndarray) -> np.ndarray:
    """log of the sum of exponentials along the last axis."""
    top = exponents.max(axis=-1)
    return top + np.log(np.exp(exponents - top[..., None]).sum(axis=-1))


def log_sum(exponents: np.ndarray) -> float:
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).sum())) if math.isfinite(top) else top


class Side:
    """log F(t) of P or Q, and bounds of its powers; the component nearest to 0 is the first."""

    def __init__(self, components: Mixture, origin: Fraction, variance: float) -> None:
        self.means, self.variance = np.array([float(mean - origin) for mean, _ in components]), variance
        self.logs = np.array([math.log(w.numerator) - math.log(w.denominator) for _, w in components])
        self.spread = float(abs(self.means[-1] - self.means[0]))

    @property
    def is_one(self) -> bool:
        return len(self.means) == 1 and self.means[0] == 0

    def terms(self, t: np.ndarray) -> np.ndarray:
        """log of each term at real t, one row per component."""
        return np.asarray(self.logs[:, None] + (np.outer(self.means, t) - self.means[:, None] ** 2 / 2) / self.variance)

    def log(self, t: np.ndarray) -> np.ndarray:
        """log F at real t."""
        if self.is_one:
            return np.zeros_like(t)
        terms = self.terms(t)
        top = terms.max(axis=0)
        return np.asarray(top + np.log(np.exp(terms - top).sum(axis=0)))

    def mean(self, t: float) -> float:
        """s^2 (log F)' at t."""
        terms = self.terms(np.array([t]))[:, 0]
        shares = np.exp(terms - terms.max())
        return float(shares @ self.means / shares.sum())

    def log_at(self, t: np.ndarray, height: Floats) -> tuple[np.ndarray, np.ndarray]:
        """(log |F|, arg F) at t + i height; one row for each of several heights."""
        heights = np.asarray(height)[..., None] / self.variance
        if self.is_one:
            return np.zeros((*heights.shape[:-1], len(t))), np.zeros((*heights.shape[:-1], len(t)))
        terms = self.terms(t)
        top = terms.max(axis=0)
        total = np.exp(1j * (self.means - self.means[0]) * heights) @ np.exp(terms - top)
        return top + np.log(np.abs(total)), np.angle(total) + self.means[0] * heights

    def log_power(self, p: np.ndarray, ends: np.ndarray, outwards: bool, cosine: float = 0.0) -> tuple[
            np.ndarray, np.ndarray]:
        """T10's (log K, mean) for |F|^p beyond the ends (p broadcast against them); cosine: log of the line's."""
        terms = self.terms(ends)
        lead, others = (terms[-1], terms[:-1]) if outwards else (terms[0], terms[1:])
        rest = np.logaddexp.reduce(others, axis=0, initial=-np.inf) - lead
        growing = p * (self.logs[-1 if outwards else 0] + np.logaddexp(0.0, rest))
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(rest < 0, lead + np.log1p(-np.exp(np.minimum(rest, 0.0))), -np.inf)
        least = np.maximum(cosine + (lead + np.logaddexp(0.0, rest) if outwards else lead), apart)
        falling = p * (least - terms[0] + self.logs[0])
        return np.where(p >= 0, growing, falling), np.where(p >= 0, self.means[-1 if outwards else 0], self.means[0])


class MixtureLaw(FloatLaw):
    """A mixture of Gaussians in floating point; arrays over a grid of real t."""

    def __init__(self, law: MixtureLines) -> None:
        self.s, self.order, self._known, self._law = float(law.sigma), law.order, {}, law
        self.variance, self.sign = float(square(law.sigma)), law.side
        self.above, self.below = (Side(row, law.below[-1][0], self.variance) for row in (law.above, law.below[::-1]))
        self.far = float(self.above.means[-1] - self.below.means[-1])
        self.distance = max(self.above.spread, self.below.spread) or self.far

    @property
    def strip(self) -> float:
        return math.pi * self.variance / self.distance

    @property
    def turns(self) -> float:
        return self.below.spread

    @cached_property
    def reverse(self) -> FloatLaw:
        return MixtureLaw(self._law.in_order(SWAPPED[self.order]))  # type: ignore[attr-defined]

    def far_end(self, xs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        mean = float(self.above.means[-1])
        if self.sign < 0 or not mean:
            return np.zeros_like(xs)
        return self._far_end(xs + 1, targets, float(self.above.logs[-1]), mean)

    def furthest(self, c: float) -> float:
        """A place right of all modes: where t = (c+1) a_max - c (mean of Q at t), which falls in t; 0 below -1."""
        if c < 0:
            return 0.0
        low = (c + 1) * float(self.above.means[-1])
        high = low - c * float(self.below.means[-1])
        while high - low > self.s / 4:
            middle = (low + high) / 2
            below = middle < (c + 1) * self.above.means[-1] - c * self.below.mean(middle)
            low, high = (middle, high) if below else (low, middle)
        return high

    def window(self, c: float) -> tuple[float, float]:
        spread = _SPREAD * self.s
        low, high = (c + 1) * float(self.above.means[0]) - spread, self.furthest(c) + spread
        return (low, high) if self.sign > 0 else (-high, -low)

    def exponents(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        up, down = self.above.log(self.sign * t), self.below.log(self.sign * t)
        return up - t * t / (2 * self.variance) - math.log(self.s * math.sqrt(2 * math.pi)), up - down

    def shifted(self, t: np.ndarray, height: Floats) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        up, turn = self.above.log_at(self.sign * t, height)
        down, back = self.below.log_at(self.sign * t, height)
        squares = np.square(height)[..., None] - t * t
        return squares / (2 * self.variance) - math.log(self.s * math.sqrt(2 * math.pi)) + up, up - down, turn - back

    def log_tails(self, x: np.ndarray, ends: np.ndarray, sign: int, cosines: tuple[float, float] = (0.0, 0.0)
                  ) -> np.ndarray:
        """log of T10's tail beyond the ends (of the pair's own line), to the right (1) or left (-1)."""
        total, rho, squares = np.zeros(np.broadcast(x, ends).shape), 0.0 * x, 0.0 * x
        for side, p, outwards, cosine in ((self.above, x + 1, sign > 0, cosines[0]),
                                          (self.below, -x, sign < 0, cosines[1])):
            if not side.is_one:
                log_bound, mean = side.log_power(p, ends, outwards, cosine)
                total, rho, squares = total + log_bound, rho + p * mean, squares + p * mean * mean
        distance = sign * (ends - rho) / self.s
        return np.asarray(total + (rho * rho - squares) / (2 * self.variance) + log_tail(distance))

    def log_tails_beyond(self, x: Floats, distances: Floats, side: int) -> np.ndarray:
        return self.log_tails(np.atleast_1d(x), self.sign * side * np.atleast_1d(distances), self.sign * side)

    def ends(self, x: float, targets: Floats, side: int) -> Floats:
        return self._search_ends(x, targets, side)

    def lines(self, t: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.shifted(t, heights)

    def room(self, c: float) -> float:
        return (c + 1) * float(self.above.means[-1]) + 6 * self.s if self.sign > 0 else 0.0


def float_law(law: MixtureLines) -> FloatLaw:
    """The floating-point model of a law with nodes."""
    return FloatLaw(law) if isinstance(law, SampledGaussianLoss) else MixtureLaw(law)
