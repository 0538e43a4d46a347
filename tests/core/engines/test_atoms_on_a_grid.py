"""Atoms that lie on the grid are the lattice laws (T221)."""

from fractions import Fraction as F

import pytest
from flint import arb, ctx

from verified_dp.core.engines.grid import LawGrid, connect_the_dots, enclose_step
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.kernel.balls import ball

LAWS = [(F(7, 3), 1, 12), (F(9), 2, 20), (F(100), 1, 120)]


@pytest.mark.theorem("T221-atoms-on-a-grid")
@pytest.mark.parametrize(("square", "shift", "cells"), LAWS)
def test_the_upper_law_is_the_polyline(square: F, shift: int, cells: int) -> None:
    """By differences of the curve, in 100 bits more; without what is outside the ends would be too small."""
    law, step = DiscreteGaussianLoss(square, shift), F(shift) / square
    moved = F(shift, 2) - shift // 2
    grid = LawGrid(-cells // 2, ((cells, 1),), shift=moved)
    small = arb(2) ** -120
    with ctx.workprec(200):
        found = enclose_step(law, grid, step, 100)
        places = [step * (i + moved) for i in grid.vertices()]
        assert law.enclose_masses(places[0], step, len(places)) is not None
        assert law.enclose_masses(places[0] + step / 3, step, 2) is law.enclose_masses(places[0], 2 * step, 2) is None
        dots = connect_the_dots([ball(x).exp() for x in places], [law.enclose_hockey_stick(ball(x)) for x in places])
        for mass, dot, below in zip(found.above, dots, found.below, strict=True):
            assert abs(mass - dot) < small and below <= mass
        assert sum(found.below, arb(0)) <= 1 + small
        assert abs(sum(found.above, arb(0)) + found.infinity_above - 1) < small
        assert all(high - low < arb(2) ** -150 for low, high in zip(found.below[1:-1], found.above[1:-1], strict=True))


@pytest.mark.theorem("T221-atoms-on-a-grid")
def test_the_lower_law_is_below() -> None:
    """Its profile at the vertices and between."""
    law, step = DiscreteGaussianLoss(F(9), 1), F(1, 9)
    found = enclose_step(law, LawGrid(-6, ((12, 1),), shift=F(1, 2)), step, 100)
    for n in range(-20, 20):
        at = ball(step * n / 3)
        sums = [sum((mass * (1 - (at - ball(step * (i + F(1, 2)))).exp()).max(arb(0))
                     for i, mass in zip(found.vertices, masses, strict=True)), rest)
                for masses, rest in ((found.below, arb(0)), (found.above, found.infinity_above))]
        curve = law.enclose_hockey_stick(at)
        assert sums[0].lower() <= curve.upper() and curve.lower() <= sums[1].upper()
        assert not sums[0] > curve and not sums[1] < curve
