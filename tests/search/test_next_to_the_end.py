"""delta next to the largest loss, where a grid chosen for eps itself would be too fine or too coarse."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx

from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.balls import ball, lower_dyadic
from verified_dp.core.kernel.composition import compose
from verified_dp.profile import privacy_profile
from verified_dp.search.deadline import Budget
from verified_dp.search.lattice import LatticePlan
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.planners import lattice


@pytest.mark.parametrize("share", [Fraction(1, 10**4), Fraction(1, 10**6)])
def test_a_grid_farther_from_the_end_serves(monkeypatch: pytest.MonkeyPatch, share: Fraction) -> None:
    """P(every loss is the largest) (1 - e^{eps - end}) is below delta, and nearly it."""
    steps = compose((PoissonSampled(Laplace("1/2", 1), "1/5"), 3))
    loss = privacy_profile(steps, relation="remove").losses[0]
    end = loss.enclose_largest_loss()
    assert end is not None
    epsilon = (lower_dyadic(end).as_fraction() * (1 - share)).limit_denominator(10**12)
    asked, plan = list[float](), lattice.plan_lattice

    def recorded(model: LatticeModel, place: float, *rest: Any) -> LatticePlan:
        asked.append(place)
        return plan(model, place, *rest)

    monkeypatch.setattr(lattice, "plan_lattice", recorded)
    found = OneDirection(loss).enclose(epsilon, 9.0, "lattice", Budget(120.0)).bounds
    assert asked[0] < epsilon and found.upper - found.lower < found.upper / 500
    law, count = loss.parts[0]
    with ctx.workprec(250):
        largest = law.enclose_largest_loss()
        assert largest is not None
        atom = law.enclose_tails(largest - arb(2) ** -100)[0]
        least = atom**count * -(ball(epsilon) - count * largest).expm1()
        assert least * arb("0.999") < found.upper < least * arb("1.1")
        assert least * arb("0.99") < found.lower
