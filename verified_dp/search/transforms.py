"""Floating-point models of the laws: log M on the real axis with two derivatives, and |M| bounds on shifted lines."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from verified_dp.core.errors import Unsupported
from verified_dp.core.exact import square
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.mixture_lines import Mixture, MixtureLines
from verified_dp.search.deadline import check_time
from verified_dp.search.direct import DirectModel

_SPREAD = 11.0
"""Half-width of the integration windows in standard deviations."""
_ENDS = 300
"""Ends of a window that are tried at once."""


class FloatLaw:
    """One sampled Gaussian law in floating point; arrays over a grid of real t.

    distance: d, the largest distance of two means of P, or of two of Q.
    """

    distance = 1.0

    def __init__(self, law: SampledGaussianLoss) -> None:
        self.q, self.s, self.order = float(law.sampling_probability), float(law.noise_multiplier), law.order
        self.variance = self.s * self.s
        rest = 1 - law.sampling_probability  # as a double 0 where q is within 1e-17 of 1
        self.log_rest = math.log1p(-self.q) if self.q < 0.5 else math.log(rest.numerator) - math.log(rest.denominator)
        self.log_q = math.log(law.sampling_probability.numerator) - math.log(law.sampling_probability.denominator)

    @property
    def strip(self) -> float:
        return math.pi * self.variance

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

    def grid(self, c: float, points: int = 160) -> np.ndarray:
        low, high = self.window(c)
        fine = 3 * (high - low) / min(self.s, self.strip)
        return np.linspace(low, high, int(min(20000, max(points, fine))))

    def exponents(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(log phi_s + u, v) at real t."""
        gauss = -t * t / (2 * self.variance) - math.log(self.s * math.sqrt(2 * math.pi))
        ell = self._log_ratio(t)
        if self.order == "add":
            return gauss, -ell
        return gauss + ell, ell if self.order == "remove" else ell - self._log_ratio(-t)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') at c."""
        check_time()
        t = self.grid(c)
        base, loss = self.exponents(t)
        exponent = base + c * loss
        top = exponent.max()
        weights = np.exp(exponent - top)
        mass = weights.sum()
        mean = (weights @ loss) / mass
        variance = (weights @ (loss - mean) ** 2) / mass
        return float(top + math.log(mass * (t[1] - t[0]))), float(mean), float(variance)

    def log_masses(self, xs: np.ndarray) -> np.ndarray:
        """K at each of xs > 0, increasing."""
        windows = [self.window(float(x)) for x in (xs[0], xs[-1])]
        low, high = min(low for low, _ in windows), max(high for _, high in windows)
        fine = 3 * (high - low) / min(self.s, self.strip)
        t = np.linspace(low, high, int(min(20000, max(160, fine))))
        base, loss = self.exponents(t)
        return log_sums(base + xs[:, None] * loss) + math.log(t[1] - t[0])

    def shifted(self, t: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(Re(log phi_s + u), Re v, Im v) on the line of this height (on the law's side)."""
        ell, angle = self._complex_log_ratio(t, height)
        gauss = (height * height - t * t) / (2 * self.variance) - math.log(self.s * math.sqrt(2 * math.pi))
        if self.order == "add":
            return gauss, -ell, angle
        if self.order == "remove":
            return gauss + ell, ell, angle
        back, turn = self._complex_log_ratio(-t, height)
        return gauss + ell, ell - back, angle + turn

    def _complex_log_ratio(self, t: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray]:
        x = self.log_q + (2 * t - 1) / (2 * self.variance)
        top = np.maximum(x, self.log_rest)
        real = np.exp(self.log_rest - top) + np.exp(x - top) * math.cos(height / self.variance)
        imaginary = np.exp(x - top) * math.sin(height / self.variance)
        return top + np.log(np.hypot(real, imaginary)), np.arctan2(imaginary, real)

    def log_bound(self, x: float, w: float, height: float, t: np.ndarray) -> float:
        """log of int |phi_s e^{u + zv}| on the line of this height, z = x + iw."""
        base, loss, angle = self.shifted(t, height)
        return log_sum(base + x * loss - w * angle) + math.log(t[1] - t[0])

    def strip_growth(self, c: float, reach: float) -> float:
        """log (N / M(c)) of T08."""
        return reach * reach / (2 * self.variance) + self.cosine_growth(c, reach)

    def modulus_growth(self, c: float, height: float, half_width: float) -> float:
        """log (N' / M(c)) of T11."""
        squares = height * height + half_width * half_width
        return squares / (2 * self.variance) + self.cosine_growth(c, height + half_width)

    def log_left_tail(self, x: float, left: float) -> float:
        """log of T10's left tail without the factors of the height."""
        exponent = -x if self.order == "add" else x + 1
        return log_normal_tail(-left / self.s) + min(exponent, 0.0) * self.log_rest

    def log_right_tail(self, x: float, right: float) -> float:
        """log of T10's right tail without the factors of the height."""
        p = -x if self.order == "add" else x + 1
        log_odds = self.log_q + (2 * right - 1) / (2 * self.variance)
        if p < 0:
            return log_normal_tail(right / self.s) + p * float(np.logaddexp(self.log_rest, log_odds))
        ratio = self.log_q + float(np.logaddexp(0.0, self.log_rest - log_odds))
        tail = log_normal_tail((right - p) / self.s) if right >= p else 0.7
        bound = p * ratio + p * (p - 1) / (2 * self.variance) + tail
        return bound - x * self.log_rest if self.order == "symmetric" else bound

    def end(self, x: float, target: float, side: int) -> float:
        """How far from 0, to the right (1) or left (-1), T10's tail falls below e^target."""
        tail = self.log_left_tail if side < 0 else self.log_right_tail
        return first_accepted(lambda end: tail(x, side * end) < target, self.s)

    def room(self, c: float) -> float:
        """How far a window at tilt c reaches at least: room for the right alias exponent."""
        return 0.0 if self.order == "add" else c + 1 + 6 * self.s

    @property
    def turns(self) -> float:
        """The spread of Q, for which the cosine is paid."""
        return 0.0 if self.order == "remove" else 1.0

    def cosine_growth(self, c: float, reach: float) -> float:
        """log cos(reach/(2 s^2))^-c where the order has that factor."""
        return 0.0 if self.order == "remove" else -c * math.log(math.cos(reach / (2 * self.variance)))


def first_accepted(accept: Callable[[float], bool], unit: float) -> float:
    """The first point, to a twentieth of `unit`, from which on a test accepts (a monotone test). Raises Unsupported."""
    high = unit
    while not accept(high):
        if not math.isfinite(high):
            raise Unsupported("the search in floating point finds no end of a step's tail")
        high *= 2
    low = high / 2 if high > unit else 0.0
    while high - low > unit / 20:
        middle = (low + high) / 2
        low, high = (low, middle) if accept(middle) else (middle, high)
    return high


def log_normal_tail(x: float) -> float:
    """log of a bound on P(Z > x), x >= 0."""
    return -x * x / 2 - math.log(max(2.0, 2.5 * x))


def log_tail(x: np.ndarray) -> np.ndarray:
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
        terms = self.terms(t)
        top = terms.max(axis=0)
        return np.asarray(top + np.log(np.exp(terms - top).sum(axis=0)))

    def mean(self, t: float) -> float:
        """s^2 (log F)' at t."""
        terms = self.terms(np.array([t]))[:, 0]
        shares = np.exp(terms - terms.max())
        return float(shares @ self.means / shares.sum())

    def log_at(self, t: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray]:
        """(log |F|, arg F) at t + i height."""
        terms = self.terms(t)
        top, turns = terms.max(axis=0), (self.means - self.means[0]) * height / self.variance
        total = (np.exp(terms - top) * np.exp(1j * turns)[:, None]).sum(axis=0)
        return top + np.log(np.abs(total)), np.angle(total) + self.means[0] * height / self.variance

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
        self.s, self.order = float(law.sigma), law.order
        self.variance, self.sign = float(square(law.sigma)), law.side
        self.above, self.below = (Side(row, law.below[-1][0], self.variance) for row in (law.above, law.below[::-1]))
        self.far = float(self.above.means[-1] - self.below.means[-1])
        self.distance = max(self.above.spread, self.below.spread) or self.far
        self._tails = lru_cache(maxsize=64)(self._tail_curve)

    @property
    def strip(self) -> float:
        return math.pi * self.variance / self.distance

    @property
    def turns(self) -> float:
        return self.below.spread

    def furthest(self, c: float) -> float:
        """A place right of all modes: where t = (c+1) a_max - c (mean of Q at t), which falls in t."""
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

    def shifted(self, t: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        up, turn = self.above.log_at(self.sign * t, height)
        down, back = self.below.log_at(self.sign * t, height)
        gauss = (height * height - t * t) / (2 * self.variance) - math.log(self.s * math.sqrt(2 * math.pi))
        return gauss + up, up - down, turn - back

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

    def log_left_tail(self, x: float, left: float) -> float:
        return float(self.log_tails(np.array([x]), np.array([self.sign * left]), -self.sign)[0])

    def log_right_tail(self, x: float, right: float) -> float:
        return float(self.log_tails(np.array([x]), np.array([self.sign * right]), self.sign)[0])

    def _tail_curve(self, x: float, sign: int, reach: float) -> np.ndarray:
        return self.log_tails(np.array([x]), sign * np.linspace(0, reach, _ENDS), sign)

    def end(self, x: float, target: float, side: int) -> float:
        reach = 8 * self.s + self.furthest(max(x, 0.0))
        while (curve := self._tails(x, side * self.sign, reach))[-1] >= target:
            reach *= 2
        refused = np.flatnonzero(curve >= target)
        return reach * float(refused[-1] + 1 if len(refused) else 0) / (_ENDS - 1)

    def cosine_growth(self, c: float, reach: float) -> float:
        return -c * math.log(math.cos(self.turns * reach / (2 * self.variance))) if self.turns else 0.0

    def room(self, c: float) -> float:
        return (c + 1) * float(self.above.means[-1]) + 6 * self.s if self.sign > 0 else 0.0


@dataclass(frozen=True)
class FloatLoss:
    """The composition in floating point: laws with nodes, laws with a transform in closed form, the Gaussian part."""

    parts: list[tuple[FloatLaw, float]]
    mean_shift_squared: float
    largest: float
    direct: list[tuple[DirectModel, float]] = field(default_factory=list)
    _cache: dict[float, tuple[float, float, float]] = field(default_factory=dict)

    def cumulants(self, c: float) -> tuple[float, float, float]:
        """(K, K', K'') of the composition at c."""
        if c not in self._cache:
            laws: list[tuple[FloatLaw | DirectModel, float]] = [*self.parts, *self.direct]
            rows = [(count * k0, count * k1, count * k2) for law, count in laws for k0, k1, k2 in [law.cumulants(c)]]
            half = self.mean_shift_squared / 2
            rows.append((half * c * (c + 1), half * (2 * c + 1), 2 * half))
            self._cache[c] = (sum(r[0] for r in rows), sum(r[1] for r in rows), sum(r[2] for r in rows))
        return self._cache[c]

    def log_masses(self, xs: np.ndarray) -> np.ndarray:
        """K of the composition at each of xs, increasing and > 0."""
        gaussian = self.mean_shift_squared / 2 * xs * (xs + 1)
        direct = sum((count * law.log_masses(xs) for law, count in self.direct), gaussian)
        return sum((count * law.log_masses(xs) for law, count in self.parts), direct)

    def log_beyond(self, c: float, omega: float) -> float:
        """log of the bound on the factors other than the laws with nodes at c + iw, w >= omega."""
        gaussian = self.mean_shift_squared / 2 * (c * (c + 1) - omega * omega)
        return sum((count * law.log_beyond(c, omega) for law, count in self.direct), gaussian)


def float_law(law: MixtureLines) -> FloatLaw:
    """The floating-point model of a law with nodes."""
    return FloatLaw(law) if isinstance(law, SampledGaussianLoss) else MixtureLaw(law)


def float_loss(loss: ComposedLoss) -> FloatLoss:
    """The floating-point model of a composition in which every law has a transform."""
    end = loss.enclose_largest_loss()
    return FloatLoss([(float_law(law), float(count)) for law, count in loss.node_parts],
                     float(loss.mean_shift_squared), math.inf if end is None else float(end),
                     [(DirectModel(law), float(count)) for law, count in loss.direct_parts])
