"""The line integrals of Gaussian mixtures against their densities in doubles, at random."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.mixture_lines import mirrored
from verified_dp.core.families.gaussian.mixture import MixtureLoss

SEEDS = range(40)


@dataclass
class Random:
    """A law in a random order, with what the lemmas say of it; t is the witness's."""

    oracle: ModuleType
    rng: random.Random

    def __post_init__(self) -> None:
        above, below, sigma = self.oracle.random_mixtures(self.rng)
        self.order = "symmetric" if below == mirrored(above) else self.rng.choice(("remove", "add"))
        law = MixtureLoss(sigma, above, below, "symmetric" if self.order == "symmetric" else "remove")
        self.law, self.s = law.in_order(self.order), float(sigma)
        self.origin, self.side = float(self.law.below[-1][0]), -1 if self.order == "add" else 1
        self.spreads = [float(mixture[-1][0] - mixture[0][0]) for mixture in (self.law.above, self.law.below)]
        self.far = float(self.law.above[-1][0] - self.law.below[0][0])
        self.distance = max(self.spreads) or self.far
        self.strip = math.pi * self.s**2 / self.distance

    def logs(self, tau: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray]:
        """log P and log Q at tau + i height, tau from the origin, rising loss."""
        t = tau + self.origin + 1j * height
        return tuple(self.oracle.log_density(mixture, self.s, t) for mixture in (self.law.above, self.law.below))

    def log_size(self, z: complex, tau: np.ndarray, height: float) -> np.ndarray:
        """log |phi_s e^{u + zv}|."""
        p, q = self.logs(tau, height)
        return (p + z * (p - q)).real

    def places(self, count: int = 30) -> np.ndarray:
        reach = self.far + 10 * self.s
        return np.sort([self.rng.uniform(-reach, reach) for _ in range(count)])


def log_integral(sizes: np.ndarray, step: float) -> float:
    return float(sizes.max() + math.log(np.exp(sizes - sizes.max()).sum() * step))


def check_logarithms(one: Random) -> None:
    """The strip; exp(base) = P, exp(loss) = P/Q; Im v between its ends; the modulus between cosine and 1 times R."""
    height = one.strip * one.rng.choice((0.999, one.rng.random()))
    tau = one.places()
    p, q = one.logs(tau, height)
    with ctx.workprec(100):
        assert abs(float(one.law.enclose_strip()) / one.strip - 1) < 1e-12
        found = one.law.exponents([acb(one.side * x, one.side * height) for x in tau.tolist()])
        base, loss = (np.array([complex(float(z.real.mid()), float(z.imag.mid())) for z in row])
                      for row in zip(*found, strict=True))
    assert np.allclose(np.exp(base - p), 1, atol=1e-8) and np.allclose(loss, p - q, rtol=1e-8, atol=1e-8)
    assert (loss.imag >= -1e-12).all() and (loss.imag <= one.far * height / one.s**2 + 1e-12).all()
    for log, mixture, spread in ((p, one.law.above, one.spreads[0]), (q, one.law.below, one.spreads[1])):
        whole = one.oracle.log_density(mixture, one.s, tau + one.origin) + height**2 / (2 * one.s**2)
        least = math.log(math.cos(spread * height / (2 * one.s**2)))
        assert (log.real <= whole + 1e-9).all() and (log.real >= whole + least - 1e-9).all()


def check_arguments(one: Random) -> None:
    """T10 (5): both arguments, over N(0, s^2), rise along a line. T11: Im v at beta + A is no less than at beta - A."""
    tau, line = one.places(), one.strip * 0.98 * one.rng.random()
    for log in one.logs(tau, line):
        assert (np.diff(log.imag + tau * line / one.s**2) >= -1e-9).all()
    height, half = (one.strip / 2 * one.rng.choice((0.999, one.rng.random())) for _ in range(2))
    for beta in (half, -half):
        high, low = (np.subtract(*one.logs(tau, beta + sign * height)).imag for sign in (1, -1))
        assert (high >= low - 1e-9).all(), one.law


def check_tails(one: Random) -> None:
    """Both tails on a line, against a midpoint sum and against the nodes beyond, for exponents of either sign."""
    rng, s = one.rng, one.s
    z = complex(rng.choice((rng.uniform(0, 4), rng.uniform(-5, 12))),
                rng.choice((0.0, rng.uniform(-2, 15), rng.uniform(-15, 0))))
    height = one.strip * rng.choice((0.0, 0.97 * rng.random()))
    step = rng.uniform(0.1, 2) * s
    first = math.floor(rng.uniform(-10 * s, 2 * s) / step)
    last = first + rng.randint(1, 20)
    low, high = first * step, last * step
    ends = (low, high) if one.side > 0 else (-high, -low)
    with ctx.workprec(64):
        bound = one.law.bound_tails(acb(z.real, z.imag), arb(height), *map(arb, ends))
        log_bound = float(bound.log()) if bound.is_finite() else math.inf
    reach = 12 * s + (abs(z.real) + 1) * (one.far + 1)
    fine = min(s, s * s / one.distance) / 12
    cells = fine * (np.arange(int(2 * reach / fine)) + 0.5)
    sizes = [one.log_size(z, low - cells, height), one.log_size(z, high + cells, height)]
    assert log_integral(np.concatenate(sizes), fine) <= log_bound + 2e-3, (one.law, z, height, low, high)
    beyond = step * np.arange(1, int(2 * reach / step) + 2)
    dropped = np.concatenate([one.log_size(z, low - beyond, height), one.log_size(z, high + beyond, height)])
    assert log_integral(dropped, step) <= log_bound + 1e-9, (one.law, z, height, low, high, step)
    assert math.isfinite(log_bound)


def check_growth(one: Random) -> None:
    """N bounds both lines at every w >= 0, N' the continued modulus, over M(c); N at -1 - c too, w = 0 (T157)."""
    rng, s = one.rng, one.s
    c, w = rng.choice((rng.uniform(0.01, 2), rng.uniform(0, 9))), rng.choice((0.0, rng.uniform(0, 6)))
    reach = 10 * s + (c + 2) * one.far
    step = min(s, s * s / one.distance) / 6
    tau = np.arange(-reach, reach, step)
    mass = log_integral(one.log_size(c, tau, 0.0), step)
    height, half = sorted((0.999 * one.strip * rng.uniform(0.001, 0.5) for _ in range(2)), reverse=True)
    with ctx.workprec(64):
        growth = float(one.law.enclose_strip_factor(arb(c), arb(height), arb(half)).log())
        growth_of_modulus = float(one.law.enclose_modulus_factor(arb(c), arb(half), arb(height)).log())
    for line in (height + half, height - half):
        assert log_integral(one.log_size(complex(c, w), tau, line), step) <= mass + growth + 1e-9
    with ctx.workprec(64):
        below = float(one.law.enclose_strip_factor(arb(-1 - c), arb(height), arb(half)).log())
    below += log_integral(one.log_size(-1 - c, tau, 0.0), step)
    assert all(log_integral(one.log_size(-1 - c, tau, height + side), step) <= below + 1e-9 for side in (half, -half))
    for beta in (height, -height):
        (p, q), (r, t) = one.logs(tau, beta + half), one.logs(tau, beta - half)
        sizes = ((p + r + c * (p - q + r - t) + 1j * w * (p - q - r + t)) / 2).real
        assert log_integral(sizes, step) <= mass + growth_of_modulus + 1e-9, (one.law, c, w, height, half, beta)


def check_growth_anywhere(one: Random) -> None:
    """T19 (2): a line on either side of the real axis carries at most its factor times M(x), at any x + iy."""
    rng, s = one.rng, one.s
    x, y, half = rng.uniform(-6, 8), rng.uniform(-3, 3), one.strip * 0.97 * rng.random()
    step = min(s, s * s / one.distance) / 6
    reach = 10 * s + (abs(x) + 2) * one.far
    tau = np.arange(-reach, reach, step)
    most = log_integral(one.log_size(x, tau, 0.0), step) + abs(y) * one.far * half / s**2
    with ctx.workprec(64):
        most += float(one.law.enclose_strip_factor(arb(x), arb(0), arb(half)).log())
    for line in (half, -half):
        assert log_integral(one.log_size(complex(x, y), tau, line), step) <= most + 1e-9, (one.law, x, y, line)


CHECKS = [check_logarithms, check_arguments, check_tails, check_growth, check_growth_anywhere]


@pytest.mark.theorem("T08-shifted-line", "T10-node-tails", "T11-tail-for-free", "T19-line-integral")
@pytest.mark.parametrize("check", CHECKS)
def test_random_mixtures_keep_the_lemmas(oracle: ModuleType, check: object) -> None:
    for seed in SEEDS:
        check(Random(oracle, random.Random(seed)))


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS)
def test_thousands_of_mixtures_keep_the_lemmas(oracle: ModuleType, check: object) -> None:
    for seed in range(1000, 5000):
        check(Random(oracle, random.Random(seed)))


def test_ends_of_the_loss() -> None:
    """A gap between P and Q: the loss has no end, and its line no zero."""
    law = MixtureLoss(Fraction(1), ((Fraction(3), Fraction(1, 2)), (Fraction(4), Fraction(1, 2))),
                      ((Fraction(1), Fraction(1)),), "remove")
    with ctx.workprec(80):
        assert law.enclose_largest_loss() is None and (law.enclose_strip() / arb.pi()).overlaps(arb(1))
        assert law.in_order("add").side == -1 and law.components == 3


@pytest.mark.theorem("T08-shifted-line")
def test_powers_give_the_exponentials_at_equally_spaced_places(oracle: ModuleType) -> None:
    """The logarithms at nodes by powers of one exponential, and one by one: both narrow, and they meet."""
    for seed in SEEDS:
        one = Random(oracle, random.Random(seed))
        step, height = arb(1) / 8, one.side * one.strip * 0.9
        places = [acb(step * j, height) for j in range(-150, 151)]
        with ctx.workprec(120):
            by_powers, apart = one.law.exponents(places, step), one.law.exponents(places)
            for ours, others in zip(by_powers, apart, strict=True):
                for x, y in zip(ours, others, strict=True):
                    assert x.overlaps(y) and (x - y).abs_upper() < arb(2) ** -85, one.law
