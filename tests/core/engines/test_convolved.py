"""Marked losses against a composition on a grid in doubles, by nothing of the package.

One step's laws P and Q of the loss are given by their tails, from the densities of the mechanism. A cell of the grid
gives its masses to its two ends so that both its P and its Q mass are kept: what the ends' loss distribution has for
delta is above the truth, by a part that falls like the square of the grid's step (checked at two steps).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from mutants import mutated
from scipy.special import ndtr

from verified_dp.core.engines.marked import MarkedWitness
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Undecided
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.marked import choose_marked, plan_marked
from verified_dp.search.models import float_loss
from verified_dp.search.one_direction import OneDirection

F = Fraction
Array = np.ndarray
Tails = Callable[[Array], tuple[Array, Array]]
"""x -> P(L > x), Q(L > x)."""


def gaussian_tails(q: float, s: float, order: str) -> Tails:
    """P = (1-q) N(0, s^2) + q N(1, s^2) against Q = N(0, s^2) under remove; exchanged, losses negated, under add."""
    def place(x: Array) -> Array:
        share = np.maximum((np.exp(x) - 1 + q) / q, 1e-300)
        return s * s * np.log(share) + 0.5

    def tails(x: Array) -> tuple[Array, Array]:
        if order == "remove":
            t = place(x)
            return (1 - q) * ndtr(-t / s) + q * ndtr((1 - t) / s), ndtr(-t / s)
        t = place(-x)  # the loss is above x where t is below this place
        return ndtr(t / s), (1 - q) * ndtr(t / s) + q * ndtr((t - 1) / s)

    return tails


def composed_delta(tails: Tails, count: int, epsilon: float, ends: tuple[float, float], step: float) -> float:
    """delta of so many steps: the masses' power by FFT over a window that holds one step's and the sum's losses."""
    places = np.arange(math.floor(ends[0] / step), math.ceil(ends[1] / step) + 1) * step
    p, q = tails(places)
    mass, other = -np.diff(p, prepend=1.0, append=0.0), -np.diff(q, prepend=1.0, append=0.0)
    inner_p, inner_q = mass[1:-1], other[1:-1]
    right = np.clip((inner_p - inner_q * np.exp(places[:-1])) / -np.expm1(-step), 0, inner_p)
    row = np.zeros(len(places))
    row[:-1] += inner_p - right
    row[1:] += right
    row[0] += mass[0]  # below the window: to its first place, which is above
    never = mass[-1]
    size = 1 << (len(places) - 1).bit_length()
    zero = round(places[0] / step)
    padded = np.zeros(size)
    padded[np.arange(len(row)) + zero] = row  # negative indices are negative losses, around the circle
    power = np.fft.irfft(np.fft.rfft(padded) ** count, size)
    losses = np.where(np.arange(size) * step <= ends[1], np.arange(size), np.arange(size) - size) * step
    reached = losses > epsilon
    return float((power[reached] * -np.expm1(epsilon - losses[reached])).sum() + 1 - (1 - never) ** count)


def chosen(loss: ComposedLoss, epsilon: Fraction, bits: float) -> MarkedWitness:
    plan = plan_marked(float_loss(loss), float(epsilon), OneDirection(loss).saddle(epsilon), bits)
    assert plan is not None
    return choose_marked(plan)


def check(bounds: Bounds, tails: Tails, count: int, epsilon: float, ends: tuple[float, float], step: float) -> None:
    """The enclosure meets what two grids say of delta."""
    coarse, fine = (composed_delta(tails, count, epsilon, ends, width) for width in (2 * step, step))
    error = abs(coarse - fine) + 1e-13
    assert error < 1e-3 * fine, (coarse, fine)
    exact = fine - (coarse - fine) / 3  # the excess falls like the square of the step
    assert bounds.lower < exact + error, (bounds.lower, coarse, fine)
    assert bounds.upper > exact - error, (bounds.upper, coarse, fine)


MARKED = [pytest.param("remove", "1/1000", "1/2", 200, "1/100", 24, marks=pytest.mark.long),
          ("remove", "1/1000", "1/2", 2000, "3", 40),
          ("add", "1/1000", "1/2", 2000, "1/10", 40), ("remove", "1/100", "4/5", 300, "2", 40),
          ("remove", "1/100", "1/3", 50, "5", 30)]


@pytest.mark.theorem("T149-marked-losses")
@pytest.mark.parametrize(("order", "q", "s", "count", "epsilon", "bits"), MARKED)
def test_marked_losses(order: str, q: str, s: str, count: int, epsilon: str, bits: int) -> None:
    loss = ComposedLoss(order, ((SampledGaussianLoss(F(q), F(s), order), count),), F(0))
    found = evaluate(loss, chosen(loss, F(epsilon), bits)).delta(F(epsilon))
    assert found.upper < found.lower * (1 + arb(2) ** -10)
    check(found, gaussian_tails(float(F(q)), float(F(s)), order), count, float(F(epsilon)), (-30.0, 32.0), 1 / 8192)


@pytest.mark.theorem("T149-marked-losses")
def test_altered_marks_hold_what_the_grid_says() -> None:
    """Other marks, tilts, exponents, windows: each is refused, or its enclosure holds the number of the grid."""
    draw, answered = random.Random(5), 0
    for order, q, s, count, epsilon, _ in MARKED[3:4]:
        loss = ComposedLoss(order, ((SampledGaussianLoss(F(q), F(s), order), count),), F(0))
        good, tails = chosen(loss, F(epsilon), 24), gaussian_tails(float(F(q)), float(F(s)), order)
        fine, coarse = (composed_delta(tails, count, float(F(epsilon)), (-30.0, 32.0), 1 / n) for n in (8192, 4096))
        room = abs(fine - coarse)
        for _ in range(12):
            try:
                found = evaluate(loss, mutated(draw, good)).delta(F(epsilon))
            except (InvalidInput, Undecided):
                continue
            answered += 1
            assert found.lower < fine + room
            assert found.upper > fine - room
    assert answered > 5
