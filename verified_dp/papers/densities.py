"""The Fourier accountant as published, in floating point: samples of the density of the loss, FFT, Riemann sum.

Nothing here is rigorous. Laws with a smooth density are sampled (section 6 of the paper, inverse loss functions
included); others, which the paper leaves for later, are put on the grid as cell masses, atoms split between neighbours.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from flint import ctx

from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.line import dyadic
from verified_dp.search.transforms import FloatLaw

SMOOTH = (GaussianLoss, SampledGaussianLoss, MixtureLoss)
"""Laws whose density is continuous on the whole line: point samples represent them."""


def is_smooth(loss: ComposedLoss) -> bool:
    """Whether point samples represent every step."""
    return all(isinstance(law, SMOOTH) for law, _ in loss.laws)


def log_density(law: FloatLaw, x: np.ndarray) -> np.ndarray:
    """log of the density of a sampled Gaussian's loss; -inf outside of its support."""
    t, log_slope = inverse_loss(law, x)
    log_ratio = law._log_ratio(t) if law.order != "add" else 0.0
    return -t * t / (2 * law.variance) - math.log(law.s * math.sqrt(2 * math.pi)) + log_ratio + log_slope


def inverse_loss(law: FloatLaw, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(t with loss x, log |dt/dx|), sections 6.1 and 6.2 of the paper; add: the mirror image of remove."""
    if law.order == "symmetric":
        return _inverse_symmetric(law, x)
    y = -x if law.order == "add" else x
    with np.errstate(divide="ignore", invalid="ignore"):
        log_excess = np.where(y > 30, y, np.log(np.maximum(np.expm1(np.minimum(y, 30)) + law.q, 0)))
        t = np.where(np.isfinite(log_excess), law.variance * (log_excess - law.log_q) + 0.5, 0.0)
        return t, np.where(np.isfinite(log_excess), 2 * math.log(law.s) + y - log_excess, -np.inf)


def _inverse_symmetric(law: FloatLaw, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e^{t/s^2} = (b + sqrt(b^2 + 4 c^2 e^x)) / (2c), b = (1-q)(e^x - 1), c = q e^{-1/(2 s^2)}; odd in x."""
    y, lift = np.abs(x), law.q * math.exp(-1 / (2 * law.variance))
    slope = -(1 - law.q) * np.expm1(-y)  # all divided by e^y
    root = slope + np.sqrt(slope * slope + 4 * lift * lift * np.exp(-y))
    t = np.sign(x) * law.variance * (y + np.log(root / (2 * lift)))
    shares = [1 / (1 + np.exp(np.clip(law.log_rest - law.log_q - (2 * u - 1) / (2 * law.variance), -700, 700)))
              for u in (t, -t)]
    return t, 2 * math.log(law.s) - np.log(shares[0] + shares[1])


@singledispatch
def float_density(law: Law, x: np.ndarray) -> np.ndarray:
    """The density of the loss at each x."""
    with ctx.workprec(64):
        return np.array([float(law.enclose_density(ball(dyadic(float(v), 52)))) for v in x])


@float_density.register
def _sampled(law: SampledGaussianLoss, x: np.ndarray) -> np.ndarray:
    return np.exp(log_density(FloatLaw(law), x))


@float_density.register
def _gaussian(law: GaussianLoss, x: np.ndarray) -> np.ndarray:
    variance = float(law.mean_shift_squared)
    return np.exp(-((x - variance / 2) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


@float_density.register
def _mixture(law: MixtureLoss, x: np.ndarray) -> np.ndarray:
    """By section 6.3's inverse loss function, found by interpolation and Newton steps."""
    t, slope = invert_mixture(law, x)
    inside = np.isfinite(t)
    found = np.zeros(len(x))
    found[inside] = np.exp(_log_mixture(law, law.above, t[inside])[0]) / slope[inside]
    return found


def invert_mixture(law: MixtureLoss, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(t with loss x, d loss / dt there); nan where no t in reach has that loss."""
    s = float(law.sigma)
    means = [float(mean) for mean, _ in (*law.above, *law.below)]
    grid = np.linspace(min(means) - 40 * s, max(means) + 40 * s, 20001)
    losses, _ = _mixture_loss(law, grid)
    keep = np.concatenate([[True], np.diff(losses) > 0])
    t = np.interp(x, losses[keep], grid[keep], left=np.nan, right=np.nan)
    for _ in range(4):
        loss, slope = _mixture_loss(law, t)
        t = t - (loss - x) / slope
    return t, _mixture_loss(law, t)[1]


def _mixture_loss(law: MixtureLoss, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    above, up = _log_mixture(law, law.above, t)
    below, down = _log_mixture(law, law.below, t)
    return above - below, up - down


def _log_mixture(law: MixtureLoss, mixture: tuple, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(log of the density, its derivative) at t."""
    s = float(law.sigma)
    total, moment = np.full(len(t), -np.inf), np.zeros(len(t))
    for mean, weight in mixture:
        log_weight = math.log(weight.numerator) - math.log(weight.denominator)
        one = log_weight - (t - float(mean)) ** 2 / (2 * s * s) - math.log(s * math.sqrt(2 * math.pi))
        both = np.logaddexp(total, one)
        moment = moment * np.exp(total - both) + np.exp(one - both) * (float(mean) - t) / (s * s)
        total = both
    return total, moment


def cell_masses(law: Law, first: int, last: int, step: float) -> np.ndarray:
    """Masses of the finite loss at the grid's indices: atoms split between neighbours, the rest to the nearest."""
    with ctx.workprec(128):
        atoms = [(float(loss), float(mass)) for loss, mass in law.enclose_loss_atoms() or []]
        h = dyadic(step, 52)
        tails = [float(law.enclose_tails(ball((2 * i - 1) * h / 2))[0]) for i in range(first, last + 2)]
    masses = -np.diff(tails)
    for loss, mass in atoms:
        place = loss / step
        masses[min(max(math.floor(place + 0.5) - first, 0), len(masses) - 1)] -= mass
        floor = math.floor(place)
        for index, share in ((floor, 1 - (place - floor)), (floor + 1, place - floor)):
            masses[min(max(index - first, 0), len(masses) - 1)] += mass * share
    return masses
