"""Bounds from a sum and its errors, and the reversal of a pair."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType

import pytest
from flint import arb, ctx

from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.bounds import Bounds, bounds_from_sum, reverse_bounds
from verified_dp.core.kernel.composed import ComposedLoss

SWAPPED = {"remove": "add", "add": "remove", "symmetric": "symmetric"}


@pytest.mark.theorem("T33-sum-and-errors")
def test_errors_widen_on_their_sides() -> None:
    bounds = bounds_from_sum(arb("0.5"), {"a": arb("0.125"), "b": arb("0.0625")}, {"above": arb("0.25")})
    assert bounds.upper == arb("0.6875") and bounds.lower == arb("0.0625")
    assert bounds.budget["a"] == arb("0.125") and bounds.budget["above"] == arb("0.25")
    assert bounds.budget["rounding"] == 0


@pytest.mark.theorem("T33-sum-and-errors")
def test_rounding_widens_both_sides_and_is_counted() -> None:
    bounds = bounds_from_sum(arb("0.5", arb("0.125")), {}, {})
    assert bounds.lower <= arb("0.375") and bounds.upper >= arb("0.625")
    assert bounds.budget["rounding"] >= arb("0.125")


@pytest.mark.theorem("T33-sum-and-errors")
def test_result_stays_in_the_unit_interval() -> None:
    bounds = bounds_from_sum(arb("0.5", arb(3)), {"a": arb.pos_inf()}, {})
    assert bounds.lower == 0 and bounds.upper == 1
    nothing = bounds_from_sum(arb("nan"), {}, {})
    assert nothing.lower == 0 and nothing.upper == 1


@pytest.mark.theorem("T16-reversal")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize("epsilon", ["-3", "-0.7", "-0.01", "0", "0.4", "2"])
def test_reversed_pair_is_the_quadrature_of_the_pair(oracle: ModuleType, order: str, epsilon: str) -> None:
    """delta(eps) = 1 - e^eps + e^eps delta_rev(-eps), against int (P - e^eps Q)_+ of the pair itself."""
    q, s, eps = Fraction(1, 5), Fraction(3, 2), Fraction(epsilon)
    swapped = ComposedLoss(SWAPPED[order], ((SampledGaussianLoss(q, s, SWAPPED[order]), 1),), Fraction(0))
    with ctx.workprec(130):
        bounds = reverse_bounds(ClosedFormWitness(130).evaluate(swapped).delta(-eps), eps)
        assert oracle.inside(bounds, oracle.hockey_stick(order, q, s, eps), "1e-30")
        assert oracle.real(bounds.upper) - oracle.real(bounds.lower) < 1e-35


@pytest.mark.theorem("T16-reversal")
def test_reversal_carries_the_whole_width() -> None:
    swapped = Bounds(arb("0.25"), arb("0.5"), {"aliasing": arb("0.25")})
    with ctx.workprec(60):
        bounds = reverse_bounds(swapped, Fraction(-1))
        scale = arb(-1).exp()
        assert bounds.lower <= 1 - scale * 3 / 4 and bounds.upper >= 1 - scale / 2
        assert bounds.upper - bounds.lower >= scale / 4 and bounds.budget["aliasing"] >= scale / 4
        assert bounds.upper - bounds.lower <= scale / 4 + arb("1e-12")


def test_reversed_bounds_stay_in_the_unit_interval() -> None:
    with ctx.workprec(60):
        bounds = reverse_bounds(Bounds(arb(0), arb(1), {}), Fraction(1))
        assert bounds.lower == 0 and bounds.upper == 1


@pytest.mark.theorem("T16-reversal")
def test_rounding_of_the_reversal_is_in_its_budget() -> None:
    """At few bits and a bound without width, all of the reversed width is rounding."""
    with ctx.workprec(20):
        bounds = reverse_bounds(Bounds(arb("0.25"), arb("0.25"), {"rounding": arb(0)}), Fraction(-1, 3))
        assert bounds.upper > bounds.lower
        assert bounds.upper - bounds.lower <= 2 * bounds.budget["rounding"]
        assert "rounding" in reverse_bounds(Bounds(arb("0.25"), arb("0.25"), {}), Fraction(-1, 3)).budget
        carried = reverse_bounds(Bounds(arb("0.25"), arb("0.5"), {"rounding": arb("0.25")}), Fraction(-1, 3))
        assert carried.budget["rounding"] >= arb("0.25") * (arb(-1) / 3).exp()
