"""Gaussian mixtures by the contour, on lines and rays: against quadrature, the lattice, and other forms."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.mixture_lines import mirrored
from verified_dp.core.engines.rays import RaysWitness
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.search.answer import Answer
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection

ORDERS = ("remove", "add", "symmetric")
F = Fraction


def in_order(oracle: ModuleType, rng: random.Random) -> MixtureLoss:
    """A random law, in a random order that it has: its own mirror image is symmetric."""
    above, below, s = oracle.random_mixtures(rng)
    if below == mirrored(above):
        return MixtureLoss(s, above, below, "symmetric")
    return MixtureLoss(s, above, below, "remove").in_order(rng.choice(("remove", "add")))


def ask(law: MixtureLoss, count: int, epsilon: Fraction, bits: float, method: str = "contour") -> Answer:
    return OneDirection(ComposedLoss(law.order, ((law, count),), F(0))).enclose(epsilon, bits, method, Budget(900.0))


def some_epsilon(oracle: ModuleType, law: MixtureLoss, count: int, rng: random.Random) -> Fraction:
    """An eps between 0 and some standard deviations of the sum beyond its mean."""
    t = np.linspace(float(law.above[0][0]) - 8 * float(law.sigma), float(law.above[-1][0]) + 8 * float(law.sigma), 2000)
    p = oracle.log_density(law.above, float(law.sigma), t)
    losses, shares = p - oracle.log_density(law.below, float(law.sigma), t), np.exp(p) * (t[1] - t[0])
    mean = float(losses @ shares)
    deviation = math.sqrt(float((losses - mean) ** 2 @ shares))
    return F(round(100 * max(0.0, count * mean + rng.uniform(-1, 3) * math.sqrt(count) * deviation)), 100)


def check_few_steps(oracle: ModuleType, seed: int) -> None:
    """One or two steps against a sum over the outputs, in doubles."""
    rng = random.Random(seed)
    law, count = in_order(oracle, rng), rng.choice((1, 2))
    epsilon, s = some_epsilon(oracle, law, count, rng), float(law.sigma)
    if count == 1:
        truth = float(oracle.mixture_deltas(law.above, law.below, s, np.array([float(epsilon)]))[0])
    else:
        truth = oracle.two_mixture_delta(law.above, law.below, s, float(epsilon))
    found = ask(law, count, epsilon, 20.0)
    lower, upper = float(found.bounds.lower), float(found.bounds.upper)
    assert lower - 1e-7 * truth - 1e-13 <= truth <= upper + 1e-7 * truth + 1e-13, (law, count, epsilon)
    assert upper - lower <= 1e-5 * upper + 1e-30, (law, count, epsilon)


def check_many_steps(oracle: ModuleType, seed: int) -> None:
    """The contour's enclosure, narrow, meets the lattice's."""
    rng = random.Random(seed)
    law, count = in_order(oracle, rng), rng.choice((3, 10, 40, 200))
    epsilon = some_epsilon(oracle, law, count, rng)
    by_line, by_lattice = (ask(law, count, epsilon, *asked).bounds for asked in ((36.0, "contour"), (2.0, "lattice")))
    assert by_line.lower <= by_lattice.upper and by_lattice.lower <= by_line.upper, (law, count, epsilon)
    assert by_line.upper - by_line.lower <= by_line.upper * 1e-10, (law, count, epsilon)
    assert by_lattice.upper <= 1.5 * by_line.upper + 1e-30, (law, count, epsilon)


@pytest.mark.theorem("T08-shifted-line", "T10-node-tails", "T187-rays")
@pytest.mark.parametrize("seed", range(24))
def test_few_steps_by_quadrature(oracle: ModuleType, seed: int) -> None:
    check_few_steps(oracle, seed)


@pytest.mark.theorem("T08-shifted-line", "T11-tail-for-free")
@pytest.mark.parametrize("seed", range(2))
def test_many_steps_by_the_lattice(oracle: ModuleType, seed: int) -> None:
    check_many_steps(oracle, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 300))
def test_more_few_steps_by_quadrature(oracle: ModuleType, seed: int) -> None:
    check_few_steps(oracle, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(300, 400))
def test_more_many_steps_by_the_lattice(oracle: ModuleType, seed: int) -> None:
    check_many_steps(oracle, seed)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("count", [3, 500])
def test_two_means_are_a_sampled_gaussian(order: str, count: int) -> None:
    """Moved and scaled, in every order: the same pair, the same delta to 12 digits."""
    q, s, norm = F(1, 20), F(5, 4), F(3, 2)
    taken, plain = ((F(2), 1 - q), (F(2) + norm, q)), ((F(2), F(1)),)
    if order == "symmetric":
        law = MixtureLoss(s * norm, taken, ((F(2) - norm, q), (F(2), 1 - q)), order)
    else:
        law = MixtureLoss(s * norm, taken, plain, "remove").in_order(order)
    single = OneDirection(ComposedLoss(order, ((SampledGaussianLoss(q, s, order), count),), F(0)))
    epsilon = F(1, 10) if count == 3 else F(3)
    one, other = ask(law, count, epsilon, 40.0).bounds, single.enclose(epsilon, 40.0, "contour", Budget(60.0)).bounds
    assert one.lower <= other.upper and other.lower <= one.upper
    assert one.upper - one.lower < one.upper * 1e-11


@pytest.mark.parametrize("order", ["remove", pytest.param("add", marks=pytest.mark.long)])
def test_different_mixtures_and_a_gaussian_in_one_sum(order: str) -> None:
    """A group, a mixture as stated, a sampled and a plain Gaussian: line and lattice meet."""
    def group(order: str) -> MixtureLoss:
        above = tuple((F(n), math.comb(3, n) * F(1, 10)**n * F(9, 10)**(3 - n)) for n in range(4))
        return MixtureLoss(F(3), above, ((F(0), F(1)),), "remove").in_order(order)

    stated = MixtureLoss(F(2), ((F(1, 2), F(1, 3)), (F(1), F(2, 3))), ((F(0), F(1)),), "remove").in_order(order)
    parts = (group(order), 5), (stated, 2), (SampledGaussianLoss(F(1, 10), F(2), order), 10)
    single = OneDirection(ComposedLoss(order, parts, F(1, 5)))
    line = single.enclose(F(2), 40.0, "contour", Budget(60.0))
    lattice = single.enclose(F(2), 2.0, "lattice", Budget(900.0)).bounds
    assert isinstance(line.witness, LineWitness)
    assert line.bounds.lower <= lattice.upper and lattice.lower <= line.bounds.upper
    assert line.bounds.upper - line.bounds.lower < line.bounds.upper * 1e-11


@pytest.mark.theorem("T187-rays")
def test_rays_and_a_line_meet() -> None:
    """Three steps of a group of 3."""
    above = tuple((F(n), math.comb(3, n) * F(1, 10)**n * F(9, 10)**(3 - n)) for n in range(4))
    law = MixtureLoss(F(1), above, ((F(0), F(1)),), "remove")
    order = OneDirection(ComposedLoss("remove", ((law, 3),), F(0)))
    rays, straight = (order.enclose_by(name, F(2), 36.0, Budget(60.0)) for name in ("rays", "line"))
    assert rays and straight
    assert isinstance(rays.witness, RaysWitness) and isinstance(straight.witness, LineWitness)
    assert rays.bounds.lower <= straight.bounds.upper and straight.bounds.lower <= rays.bounds.upper
    assert rays.bounds.upper - rays.bounds.lower < rays.bounds.upper * 1e-9
