"""Floating point for the Fourier accountant: its choices, and Algorithm 1 as published, which gives its estimate.

Choices: window, grid, tilt, strips that bound aliases, precision.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import ctx

from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lines import lines
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.papers.densities import SMOOTH, cell_masses, float_density, is_smooth, log_density
from verified_dp.papers.fourier.bounds import FourierWitness
from verified_dp.papers.fourier.bounds_samples import SampleWitness, Strip
from verified_dp.papers.fourier.doubles import fits
from verified_dp.search.deadline import timed
from verified_dp.search.lattice_model import LatticeModel, LawModel, shift_of
from verified_dp.search.line import as_float, choose_cutoff, dyadic
from verified_dp.search.models import FloatLoss, float_loss
from verified_dp.search.saddle import choose_saddle
from verified_dp.search.steps import choose_step, grid_ends
from verified_dp.search.transforms import FloatLaw

MOST_POINTS = 2**22
"""No grid is chosen longer than this; a longer one may be asked for."""
DOUBLE_BITS = 44
"""Of the transforms; more are not tried in doubles, whose samples and sums are good to 40 to 45 (T173)."""
FEWEST_PUBLISHED, MOST_CELLS = 2**12, 2**17
"""Points of the published form: where it begins, and where it ends for laws with atoms, whose cells take long."""
_SHARES = (1.0, 0.87, 0.75, 0.62, 0.5)
_HEIGHTS = np.linspace(0.02, 0.98, 33)


@dataclass(frozen=True)
class Asked:
    """The user's parameters, None where the method chooses: L, n, the tilt, the bits of the transforms."""

    half_length: Fraction | None = None
    points: int | None = None
    tilt: Fraction | None = None
    bits: int | None = None


def choose_samples(loss: ComposedLoss, epsilon: float, bits: float, asked: Asked) -> SampleWitness:
    """A witness for delta(eps) to a relative width of 2^-bits where the asked parameters allow that."""
    model = float_loss(loss)
    saddle = choose_saddle(model, epsilon)
    target = saddle.log_delta - bits * math.log(2) - 3
    tilts = [share * saddle.tilt for share in _SHARES] if asked.tilt is None else [float(asked.tilt)]
    c = min(tilts, key=lambda c: _least_period(model, epsilon, c, target))
    half_length = asked.half_length or dyadic(_least_period(model, epsilon, c, target) / 2, 12)
    period = 2 * float(half_length)
    right, left = _alias_exponents(model, epsilon, c, period)
    omega = choose_cutoff(model, epsilon, c, target)
    points = asked.points or _choose_points(model, c, omega, period, bits)
    count = min(max(math.ceil(omega * period / (2 * math.pi)), 1), points // 2 - 1)
    step = 2 * half_length / points
    turn = 2 * math.pi / float(step)
    near = tuple(_strip(law, c, right, max(turn - 2 * math.pi * count / period, turn / 2)) for law, _ in model.parts)
    far = tuple(_strip(law, c, right, turn / 2) for law, _ in model.parts)
    goal = -bits * math.log(2) - math.log(sum(k for _, k in model.parts)) - 10
    ranges = tuple(_sample_range(law, float(step), c, right, goal) for law, _ in model.parts)
    sizes = [math.log2(1 + abs(law.cumulants(c)[0])) + math.log2(k) for law, k in model.parts]
    lost = max(0.0, model.cumulants(c)[0] - c * epsilon - saddle.log_delta) / math.log(2)
    prec = asked.bits or math.ceil(bits + lost + max(sizes) + math.log2(points) + 30)
    exact_tilt = dyadic(c, 24) if asked.tilt is None else asked.tilt
    doubles = asked.bits is None and bits + lost + max(sizes) <= DOUBLE_BITS and fits(points)
    return SampleWitness(half_length, points, exact_tilt, ranges, near, far,
                         dyadic(right, 24), dyadic(left, 24), count, prec, doubles)


def _exponents(model: FloatLoss, c: float) -> tuple[np.ndarray, np.ndarray]:
    """Exponents right of c and left of it that are tried, 0 included."""
    spread = max((law.s for law, _ in model.parts), default=1.0)
    return c + np.geomspace(1e-3, 1, 24) * (c + 3.5 * spread), np.append(c * np.linspace(0.1, 0.9, 7), 0.0)


def _log_moments(model: FloatLoss, epsilon: float, exponents: np.ndarray) -> np.ndarray:
    """log (M(l) e^{-l eps}), 0 at l = 0."""
    logs = np.zeros(len(exponents))
    positive = exponents > 0
    logs[positive] = model.log_masses(exponents[positive]) - exponents[positive] * epsilon
    return logs


def _least_period(model: FloatLoss, epsilon: float, c: float, target: float) -> float:
    """The least 2 L whose aliases stay below e^target."""
    right, left = _exponents(model, c)
    logs_right, logs_left = (_log_moments(model, epsilon, exponents) for exponents in (right, left))
    needed = ((logs_right - target) / (right - c)).min(), ((logs_left - target) / (c - left)).min()
    return max(float(needed[0]), float(needed[1]), 1e-6)


def _alias_exponents(model: FloatLoss, epsilon: float, c: float, period: float) -> tuple[float, float]:
    """The exponents of the least alias bounds at this period."""
    right, left = _exponents(model, c)
    logs_right, logs_left = (_log_moments(model, epsilon, exponents) for exponents in (right, left))
    return (float(right[np.argmin(logs_right - (right - c) * period)]),
            float(left[np.argmin(logs_left - (c - left) * period)]))


def log_alias(law: FloatLaw, c: float, frequency: float) -> tuple[float, float]:
    """(log of the least bound on |M(c + iw)|, w >= frequency, over the heights of a line, that height)."""
    t = np.linspace(*law.window(c), 1500)
    t = np.linspace(t[0] - 8 * law.s, t[-1], 1500)
    highest = law.strip if law.order == "remove" else min(law.strip, law.variance * math.sqrt(400 / c))
    return min((law.log_bound(c, frequency, float(h), t), float(h)) for h in _HEIGHTS * highest)


def _choose_points(model: FloatLoss, c: float, omega: float, period: float, bits: float) -> int:
    """The least power of 2 at which aliases of the samples are small against M at the largest frequency."""
    points = 2 ** max(math.ceil(math.log2(2 * omega * period / math.pi)), 6)
    while points < MOST_POINTS and sample_shortfall(model, c, omega, period, points, bits) > 0:
        points *= 2
    return points


def sample_shortfall(model: FloatLoss, c: float, omega: float, period: float, points: int, bits: float) -> float:
    """By how much (in log) the aliases of that many points exceed a share 2^-bits of M."""
    turn = 2 * math.pi * points / period
    if turn < 2 * omega:
        return math.inf
    return max(log_alias(law, c, turn - omega)[0] + math.log(count) - law.cumulants(c)[0] + bits * math.log(2) + 3
               for law, count in model.parts)


def _strip(law: FloatLaw, c: float, right: float, frequency: float) -> Strip:
    """The best line at this frequency, cut where Gaussian tails are far below the bound."""
    log_bound, height = log_alias(law, c, frequency)
    width = dyadic(law.s / 16, 2)
    deep = math.sqrt(2 * (max(-log_bound, 0) - law.log_q + 20 + height * height / (2 * law.variance)))
    low, high = -1 - law.s * deep, (1 if law.order == "add" else 2) * right + 1 + law.s * deep
    return Strip(dyadic(height, 12), width, math.floor(low / width), math.ceil(high / width))


def _sample_range(law: FloatLaw, step: float, c: float, right: float, goal: float) -> tuple[int, int]:
    """Indices outside of which the samples are zero, or add less than e^goal to the moments that are needed."""
    end = -law.log_rest / step

    def reach(sign: int, exponent: float) -> int:
        x = max((exponent + 4) / law.variance, 1.0) * (2 if law.order == "symmetric" else 1)
        while float(log_density(law, np.array([sign * x]))[0]) + exponent * x > goal + law.cumulants(c)[0]:
            x *= 1.05
        return math.ceil(x / step)

    if law.order == "remove":
        return -math.ceil(end) - 1, reach(1, right)
    if law.order == "add":
        return -reach(-1, 0.0), math.ceil(end) + 1
    return -reach(-1, 0.0), reach(1, right)


def choose_masses(loss: ComposedLoss, epsilon: float, bits: float, asked: Asked, rounding: str,
                  most: int = MOST_POINTS) -> FourierWitness:
    """A witness for masses rounded to a grid of at most so many points; the width is O(h^2) (dots) or O(h) (cells)."""
    model = LatticeModel(loss)
    saddle = model.saddle(min(epsilon, model.largest - 1e-3 * abs(model.largest)))
    target = saddle.log_delta - bits * math.log(2) - 3
    if model.infinity > 0:
        target = max(target, math.log(model.infinity) - bits * math.log(2))
    c = _choose_mass_tilt(model, saddle.tilt, epsilon, target, asked) if asked.tilt is None else float(asked.tilt)
    step, half_length = _choose_grid(model, c, saddle.tilt, epsilon, target, bits, asked, most)
    points = int(2 * half_length / step)
    right, left = window_exponents(model, c, epsilon, float(half_length))
    lowest = max(abs(float(law.low)) for law, _ in model.parts)
    left = min(left, 150 / lowest)  # the lower laws keep a margin of mass far left: more would need more bits
    grids = []
    for law, _ in model.parts:
        first, last = grid_ends(law, step)
        grids.append(LawGrid(first, law.strides(saddle.tilt, step, first, last, first), shift=shift_of(law, step)))
    total, wide = sum(count for _, count in model.parts), max(-math.log2(step), 0)
    lost = max(0.0, model.cumulants(c)[0] - c * epsilon - saddle.log_delta) / math.log(2)
    fine = bits + math.log2(total) + math.log2(points) + 24
    prec = asked.bits or math.ceil(fine + lost)
    exact_tilt = dyadic(c, 12) if asked.tilt is None else asked.tilt
    margin = max(max(fine, prec) + left * lowest / math.log(2) + 16, 80 + 2 * wide)
    return FourierWitness(half_length, points, exact_tilt, rounding, tuple(grids), dyadic(right, 24),
                          dyadic(left, 24), 2 * math.ceil(margin), prec)


def moment_tables(model: LatticeModel, c: float, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """(exponents right of c, or below 0; K there)."""
    scale = math.sqrt(max(model.cumulants(c)[2], 1e-300))
    exponents = np.geomspace(1e-3, 1e4, 120) / scale
    exponents = c + exponents if sign > 0 else -exponents
    counts = np.array([count for _, count in model.parts])
    return exponents, counts @ model.log_table(exponents)


def least_half_length(model: LatticeModel, c: float, epsilon: float, target: float) -> float:
    """The least L such that the Chernoff bounds of what wraps around, and of what lies past L, are below e^target."""
    right, k_right = moment_tables(model, c, 1)
    left, k_left = moment_tables(model, c, -1)
    needed = max(float(np.min((k_right - target) / right)),
                 float(np.min((k_right - right * epsilon - target) / (right - c))) / 2,
                 float(np.min((k_left - target) / (2 * c - left))), epsilon * 1.01, 1e-9)
    if not math.isfinite(needed):
        raise Unsupported("the Fourier accountant finds no window here: the moments are out of floating point")
    return needed


def _choose_mass_tilt(model: LatticeModel, saddle: float, epsilon: float, target: float, asked: Asked) -> float:
    """The share of the saddle point with the shortest window, or the least wraps: right of it moments may explode."""
    tilts = [share * saddle for share in _SHARES]
    if asked.half_length is None:
        return min(tilts, key=lambda c: least_half_length(model, c, epsilon, target))
    period = 2 * float(asked.half_length)

    def log_wraps(c: float) -> float:
        (right, k_right), (left, k_left) = moment_tables(model, c, 1), moment_tables(model, c, -1)
        past = float(np.min(k_right - right * epsilon - (right - c) * period))
        return max(past, float(np.min(k_left + left * period / 2)) - c * period)

    return next((c for c in tilts if log_wraps(c) < target), min(tilts, key=log_wraps))


def _choose_grid(model: LatticeModel, c: float, tilt: float, epsilon: float, target: float, bits: float,
                 asked: Asked, most: int) -> tuple[Fraction, Fraction]:
    """(h, L): h from the width or the number of points, L where what lies outside is below e^target."""
    half_length = asked.half_length or dyadic(least_half_length(model, c, epsilon, target), 8)
    if asked.points is not None:
        return 2 * half_length / asked.points, half_length
    step = choose_step(model, min(tilt, 1e7), 2.0**-bits)
    points = 2 ** max(math.ceil(math.log2(2 * half_length / step)), 4)
    if asked.half_length is not None or points > most:
        points = min(points, most)
        return 2 * half_length / points, half_length
    return step, points * step / 2


def window_exponents(model: LatticeModel, c: float, epsilon: float, half_length: float, target: float | None = None,
                     lift: float = 0.0) -> tuple[float, float]:
    """Exponents that bound what lies right and left of the window below e^target, or best.

    target: 60 below the logarithm of the Chernoff bound at c where it is None. lift: of what is left of the window.
    """
    right, k_right = moment_tables(model, c, 1)
    left, k_left = moment_tables(model, c, -1)
    wrapped = k_right - right * epsilon - (right - c) * 2 * half_length
    past = np.maximum(k_right - right * max(half_length, epsilon), wrapped)
    target = float(k_right[0]) - c * epsilon - 60 if target is None else target
    before = k_left + (left - lift) * half_length
    return smallest_exponent(right, past, target), smallest_exponent(-left, before, target)


def smallest_exponent(exponents: np.ndarray, logs: np.ndarray, target: float) -> float:
    """The first exponent whose bound is below the target, or the one of the least bound."""
    reached = np.nonzero(logs < target)[0]
    return float(exponents[reached[0] if len(reached) else np.nanargmin(logs)])


def predict_samples(loss: ComposedLoss, witness: SampleWitness) -> float:
    """The relative error that the aliases of the samples are expected to cause."""
    model, c, period = float_loss(loss), float(witness.tilt), 2 * float(witness.half_length)
    omega = 2 * math.pi * witness.count / period
    return math.exp(min(sample_shortfall(model, c, omega, period, witness.points, 0.0), 700.0))


def spread_of(loss: ComposedLoss) -> tuple[float, float]:
    """Mean and standard deviation of the composed finite loss."""
    model = float_loss(loss) if len(lines(loss).sampled_parts) == len(loss.parts) else LatticeModel(loss)
    _, mean, variance = model.cumulants(1e-9)
    return mean, math.sqrt(max(variance, 0.0))


def wide_enough(loss: ComposedLoss, epsilon: float, least: float = 0.0) -> Fraction:
    """A short dyadic L that holds the untilted composition up to nine standard deviations, and eps."""
    mean, deviation = spread_of(loss)
    needed = max(abs(mean) + 9 * deviation, 1.2 * epsilon + 3 * deviation, least, 1 / 64)
    return Fraction(math.ceil(needed * 64), 64)


_RARE = -80.0
"""Losses rarer than e^-80 are left out of cell masses."""


@dataclass(frozen=True)
class Published:
    """C^k on the grid -L + j dx, its entries times e^{log_scale - tilt x}; infinity: P(S = inf)."""

    half_length: Fraction
    points: np.ndarray
    masses: np.ndarray
    tilt: float
    log_scale: float
    infinity: float

    @property
    def parameters(self) -> dict[str, str]:
        """What was used, in words."""
        return {"L": f"{float(self.half_length):.6g}", "n": str(len(self.points)), "tilt": f"{self.tilt:.6g}"}

    def delta(self, epsilon: Fraction) -> str:
        """(5.2) as a decimal, which may be negative: rounding errors are not hidden."""
        return self._sum(epsilon, lambda gap: -np.expm1(-gap), self.infinity)

    def slope(self, epsilon: Fraction) -> str:
        """(5.3), the derivative of delta, as a decimal."""
        return self._sum(epsilon, lambda gap: -np.exp(-gap), 0.0)

    def _sum(self, epsilon: Fraction, weight: Callable[[np.ndarray], np.ndarray], rest: float) -> str:
        """rest + sum over x > eps of C^k(x) weight(x - eps)."""
        above = self.points > as_float(epsilon)
        gap = self.points[above] - as_float(epsilon)
        value = float(self.masses[above] * np.exp(-self.tilt * gap) @ weight(gap))
        size = self.log_scale - self.tilt * as_float(epsilon)
        if rest or abs(size) < 300:
            return f"{rest + value * math.exp(size):.15g}"
        digits = (size + math.log(abs(value))) / math.log(10) if value else 0.0
        return f"{math.copysign(10 ** (digits % 1), value):.12f}e{math.floor(digits)}" if value else "0"


def publish(loss: ComposedLoss, half_length: Fraction, points: int, tilt: float = 0.0) -> Published:
    """Point samples of each density on [-L, L), their transforms' product of powers (section 5.5), and back."""
    width, length = 2 * float(half_length) / points, points
    x = (np.arange(length) - length // 2) * width
    spectrum, log_scale = np.ones(length // 2 + 1, dtype=complex), 0.0
    for law, count in timed(loss.laws):
        weights = _step_masses(law, x, width) * np.exp(tilt * (x - x[-1]))
        total = float(weights.sum())
        spectrum *= np.fft.rfft(np.fft.ifftshift(weights / total)) ** count  # D: the shift that puts 0 first
        log_scale += count * (math.log(total) + tilt * float(x[-1]))
    with ctx.workprec(64):
        infinity = float(loss.enclose_infinity_mass())
    return Published(half_length, x, np.fft.fftshift(np.fft.irfft(spectrum, length)), tilt, log_scale, infinity)


def choose_published(loss: ComposedLoss, epsilon: float, digits: int, asked: tuple[Fraction | None, int | None],
                     tilt: float) -> tuple[Published, Published]:
    """Algorithm 1 with n and with 2n points: L and n as asked, else n by doubling until (7.4) shows the digits."""
    half_length, points = asked[0] or wide_enough(loss, epsilon), asked[1] or FEWEST_PUBLISHED
    if asked[0] is None:
        goal = choose_saddle(float_loss(loss), epsilon).log_delta - digits * math.log(10)
        while (tail := estimate_tail(loss, half_length)) and math.log(tail) > goal:
            half_length *= 2
    most = MOST_POINTS if is_smooth(loss) else MOST_CELLS
    coarse, fine = publish(loss, half_length, points, tilt), publish(loss, half_length, 2 * points, tilt)
    place = dyadic(epsilon, 52)
    while asked[1] is None and 2 * points < most:
        value = fine.delta(place)
        if estimate_mesh(coarse.delta(place), value) <= 10.0**-digits * abs(float(value)):
            break
        points *= 2
        coarse, fine = fine, publish(loss, half_length, 2 * points, tilt)
    return coarse, fine


def estimate_mesh(value: str, finer: str) -> float:
    """(7.4), err(L, n) = 2 |I_n - I_2n|: an estimate of the discretisation error, and no bound."""
    return 2 * abs(float(value) - float(finer))


def _step_masses(law: Law, x: np.ndarray, width: float) -> np.ndarray:
    if isinstance(law, SMOOTH):
        return float_density(law, x) * width
    model, half = LawModel(law, _RARE), len(x) // 2
    first = max(math.floor(float(model.low) / width) - 1, -half)
    last = min(math.ceil(float(model.high) / width) + 1, half - 1)
    masses = np.zeros(len(x))
    masses[first + half : last + half + 1] = cell_masses(law, first, last, width)
    return masses


def estimate_tail(loss: ComposedLoss, half_length: Fraction) -> float | None:
    """(7.3): e^{k q^2 l (l+1) / ((1-q) s^2) - L^2/2}, l = L/2, of k equal steps; None where it does not apply."""
    if len(loss.laws) != 1 or not isinstance(loss.laws[0][0], SampledGaussianLoss) or loss.order != "remove":
        return None
    (law, count), exponent = loss.laws[0], float(half_length) / 2
    q, s = float(law.sampling_probability), float(law.noise_multiplier)  # type: ignore[attr-defined]
    return math.exp(min(count * q * q * exponent * (exponent + 1) / ((1 - q) * s * s) - 2 * exponent**2, 700.0))
