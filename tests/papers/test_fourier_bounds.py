"""The Fourier accountant's kernel on masses: roundings to both sides, circular convolution, window and wraps."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import pytest
from flint import acb, arb, ctx

from verified_dp import Gaussian, Laplace, PoissonSampled, Relation, compose
from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.enclosure import Enclosure
from verified_dp.papers.fourier.bounds import (
    FourierWitness,
    convolve,
    enclose_by_fourier,
    enclose_cells,
    evaluate_fourier,
)
from verified_dp.profile import privacy_profile

F = Fraction


def witness(
        half_length: object, points: int, tilt: object, reach: int, laws: int = 1, **other: object) -> FourierWitness:
    """Every grid point within `reach` steps of 0 is a vertex."""
    values = {"rounding": "dots", "right": F(tilt) + 2, "left": F(2), "mass_bits": 200, "prec": 100} | other
    grid = LawGrid(-reach, ((2 * reach, 1),))
    return FourierWitness(F(half_length), points, F(tilt), grids=(grid,) * laws, **values)  # type: ignore[arg-type]


def bounds(parts: list[tuple[Law, int]], chosen: FourierWitness, epsilon: object) -> Bounds:
    loss = ComposedLoss("remove", tuple(parts), F(0))
    return enclose_by_fourier(evaluate_fourier(loss, chosen), F(epsilon))


def inside(found: Bounds, truth: mpmath.mpf) -> bool:
    with ctx.workprec(200):
        value = arb(mpmath.nstr(truth, 40))
        return bool(found.lower <= value + arb("1e-35") and found.upper >= value - arb("1e-35"))


ODDS = OddsLoss(F(1, 8) + F(1, 2**60), F(0), 0)
"""Losses a little past the grid points of step 1/8: rounding them down costs next to nothing."""


@pytest.mark.theorem("T81-circular-convolution")
@pytest.mark.parametrize(("half_length", "tilt"), [(8, 0), (8, 1), (1, 0), (1, 1), ("1/2", "1/2"), ("1/4", 0)])
def test_short_windows_wrap_and_still_enclose(half_length: object, tilt: object) -> None:
    """For L = 8 the result is sharp from below; shorter windows wrap visibly, and are charged for it."""
    exponents = {"right": F(tilt) + 8, "left": F(8)} if half_length == 8 else {"right": F(tilt) + 1, "left": F(1)}
    chosen = witness(half_length, int(16 * F(half_length)), tilt, 3, **exponents)
    for epsilon in (F(0), F(1, 10), F(2, 9)):
        truth = _odds_delta(ODDS, 12, epsilon)
        found = bounds([(ODDS, 12)], chosen, epsilon)
        assert inside(found, truth), (half_length, tilt, epsilon)
        charged = found.budget["periodisation"]
        assert (charged < 1e-15 and found.lower > float(truth) * (1 - 1e-9)) if half_length == 8 else charged > 1e-5


def _odds_delta(law: OddsLoss, count: int, epsilon: Fraction) -> mpmath.mpf:
    """A binomial sum."""
    with mpmath.workdps(50):
        unit = mpmath.mpf(law.epsilon.numerator) / law.epsilon.denominator
        p, start = 1 / (1 + mpmath.exp(-unit)), mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return mpmath.fsum(comb(count, n) * p**n * (1 - p) ** (count - n)
                           * max(-mpmath.expm1(start - (2 * n - count) * unit), 0) for n in range(count + 1))


@pytest.mark.theorem("T81-circular-convolution")
@pytest.mark.parametrize("tilt", [0, "1/2"])
def test_what_the_wraps_hide(tilt: object) -> None:
    """The window's own sum exceeds the truth; by at most what is charged, and by more than a twentieth of it."""
    chosen = witness(1, 16, tilt, 3, right=F(tilt) + 1, left=F(3))
    found = bounds([(ODDS, 60)], chosen, 0)
    truth = float(_odds_delta(ODDS, 60, F(0)))
    excess = float(found.lower + found.budget["periodisation"]) - truth
    assert float(found.lower) <= truth and excess > float(found.budget["periodisation"]) / 20


@pytest.mark.theorem("T81-circular-convolution")
@pytest.mark.parametrize("tilt", [0, 1])
def test_losses_before_the_window_exceed_a_small_eps(tilt: int) -> None:
    """With a tilt they come around at e^{-2} of their mass: then nothing is said from above."""
    law = FiniteLoss(((F(1, 20), F(37, 100)), (F(19, 20), F(63, 100))), "remove")
    found = bounds([(law, 1)], witness(1, 16, tilt, 24, right=F(tilt) + 20), F(-5, 2))
    truth = mpmath.mpf(1) - mpmath.exp(-2.5)  # eps is below both losses
    assert inside(found, truth) and (found.upper < 1) is not bool(tilt)


@pytest.mark.theorem("T81-circular-convolution")
def test_two_tables_share_one_transform() -> None:
    first = [1, 2, 0, 5, 0, 0, 3, 1]
    second = [2, 0, 1, 1, 4, 0, 0, 1]
    with ctx.workprec(80):
        found = convolve([[acb(a, b) for a, b in zip(first, second, strict=True)]], [3])
        for table, part in ((first, "real"), (second, "imag")):
            exact = [0] * 8
            for i, a in enumerate(table):
                for j, b in enumerate(table):
                    for k, c in enumerate(table):
                        exact[(i + j + k) % 8] += a * b * c
            assert all(getattr(z, part).contains(n) and getattr(z, part).rad() < 1e-15
                       for z, n in zip(found, exact, strict=True))


@pytest.mark.theorem("T80-cell-rounding")
@pytest.mark.parametrize("law", [
    LaplaceLoss(F(1, 3)), OddsLoss(F(1, 2), F(1, 50), 1),
    FiniteLoss(((F(3, 4), F(1, 2)), (F(1, 8), F(1, 2)), (F(1, 8), F(0))), "remove")])
def test_cells_bracket_the_hockey_stick(law: Law) -> None:
    """And neither side keeps the other's mass: the bracket is nowhere tighter than the cells allow."""
    step, grid = F(1, 16), LawGrid(-32, ((64, 1),))
    with ctx.workprec(120):
        cells = enclose_cells(law, grid, step, 60)
        for epsilon in (F(-1), F(0), F(1, 32), F(1, 16), F(1, 3), F(3, 7)):
            truth = law.enclose_hockey_stick(ball(epsilon))
            lower = law.enclose_infinity_mass() + _delta(cells.vertices, cells.below, step, epsilon)
            upper = cells.infinity_above + _delta(cells.vertices, cells.above, step, epsilon)
            assert lower <= truth + arb("1e-30") and truth <= upper + arb("1e-30")
            assert upper - lower < 0.07 * (1 + epsilon.__abs__())
        total = sum(cells.above, cells.infinity_above)
        assert abs(total - 1) < 1e-30


def _delta(vertices: list[int], masses: list[arb], step: Fraction, epsilon: Fraction) -> arb:
    gaps = [ball(step * i - epsilon) for i in vertices]
    return sum((-(-gap).expm1() * mass for gap, mass in zip(gaps, masses, strict=True) if gap > 0), arb(0))


@pytest.mark.theorem("T80-cell-rounding")
@pytest.mark.theorem("T81-circular-convolution")
def test_roundings_of_a_composition() -> None:
    """Both enclose the exact delta of 20 Laplace releases; dots fall with h^2 and cells with h."""
    mu = F(1, 8) + F(1, 2**60)
    truth = privacy_profile(compose((Laplace(1, mu), 20)), "remove").delta("1/2")
    widths: dict[str, list[float]] = {"dots": [], "cells": []}
    for rounding, points in (("dots", 256), ("dots", 1024), ("cells", 256), ("cells", 1024)):
        chosen = witness(4, points, 2, points // 8, rounding=rounding, right=F(8), left=F(4))
        found = bounds([(LaplaceLoss(mu), 20)], chosen, "1/2")
        assert _overlaps(found, truth)
        widths[rounding].append(float(found.upper - found.lower))
    assert widths["dots"][1] < widths["dots"][0] / 8 and widths["dots"][1] < widths["cells"][1] / 20
    assert widths["cells"][0] / 8 < widths["cells"][1] < widths["cells"][0] / 2


def _overlaps(found: Bounds, truth: Enclosure) -> bool:
    with ctx.workprec(200):
        low, high = ball(truth.lower.as_fraction()), ball(truth.upper.as_fraction())
        return bool(found.lower <= high and low <= found.upper)


def test_different_steps_with_mass_at_infinity() -> None:
    """Section 5.5: a product of powers; the infinity mass is exact."""
    laws: list[tuple[Law, int]] = [(OddsLoss(2 * ODDS.epsilon, F(1, 1000), 0), 3), (LaplaceLoss(ODDS.epsilon), 4)]
    found = bounds(laws, witness(4, 512, 1, 128, laws=2, right=F(8)), 1)
    with ctx.workprec(100):
        alone = 1 - (1 - arb(1) / 1000) ** 3
        assert found.lower >= alone and found.upper < alone + 0.03 and found.upper - found.lower < 1e-3


def test_another_eps_is_cheap_and_right() -> None:
    loss = privacy_losses(compose((PoissonSampled(Gaussian("1"), "1/10"), 5)), Relation.of("remove"))[0]
    values = evaluate_fourier(loss, witness(10, 2048, 2, 1000))
    profile = privacy_profile(compose((PoissonSampled(Gaussian("1"), "1/10"), 5)), "remove")
    for epsilon in (F(1, 10), F(1), F(5, 2)):
        assert _overlaps(enclose_by_fourier(values, epsilon), profile.delta(epsilon))
    assert enclose_by_fourier(values, F(11)).lower == 0  # past the window


@pytest.mark.parametrize("change", [{"half_length": F(0)}, {"points": 15}, {"tilt": F(-1)}, {"right": F(1, 2)},
                                    {"left": F(-1)}, {"grids": ()}, {"rounding": "up"}])
def test_side_conditions(change: dict[str, object]) -> None:
    from dataclasses import replace
    chosen = replace(witness(1, 16, 1, 4), **change)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="side conditions"):
        evaluate_fourier(ComposedLoss("remove", ((LaplaceLoss(F(1, 5)), 2),), F(0)), chosen)
