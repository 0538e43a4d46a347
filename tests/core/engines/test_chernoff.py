"""The Chernoff bound: its constant is the maximum itself, the bound is C(l) M(l) e^{-l eps} and holds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest
from flint import ctx

from verified_dp.core.engines.chernoff import ChernoffWitness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss

RULE = NodeRule(Fraction(5, 4), Fraction(5, 4), Fraction(1, 12), -140, 220)


@pytest.mark.theorem("T03-chernoff")
@pytest.mark.parametrize("exponent", ["1/1000", "1/3", "1", "5/2", "40", "10000"])
def test_factor_is_the_maximum(oracle: ModuleType, exponent: str) -> None:
    """C(l) is attained (by a loss with one atom), so the factor must be neither smaller nor larger."""
    with ctx.workprec(64):
        factor = oracle.real(bound_chernoff_factor(ball(Fraction(exponent))))
    maximum = oracle.chernoff_constant(Fraction(exponent))
    assert maximum <= factor <= maximum * (1 + oracle.mpf("1e-10"))


@pytest.mark.theorem("T03-chernoff")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize(("exponent", "eps", "count"), [("1/2", "-1", 1), ("2", "1/20", 1), ("3", "1/2", 7)])
def test_bound_is_the_formula(oracle: ModuleType, composed: Callable[..., ComposedLoss], order: str,
                              exponent: str, eps: str, count: int) -> None:
    x = Fraction(exponent)
    loss = composed(order, "1/10", 1, count, "1/4")
    bound = oracle.real(ChernoffWitness(x, (RULE,), 100).evaluate(loss).delta(Fraction(eps)).upper)
    mass = oracle.transform(order, "0.1", 1, oracle.real(x)) ** count
    mass *= oracle.mp.exp(oracle.real(x * (x + 1) / 8))
    formula = min(oracle.chernoff_constant(x) * mass.real * oracle.mp.exp(oracle.real(-x * Fraction(eps))), 1)
    assert formula * (1 - oracle.mpf("1e-20")) <= bound <= formula * (1 + oracle.mpf("1e-8"))


@pytest.mark.theorem("T03-chernoff")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
def test_bound_holds_and_is_close(
        oracle: ModuleType, composed: Callable[..., ComposedLoss], order: str) -> None:
    """Against one exact step: never below; at the best exponent within a factor 8."""
    for epsilon in (Fraction(0), Fraction(1, 20), Fraction(9, 100)):
        exact = oracle.single_delta(order, "0.1", 1, epsilon)
        witnesses = [ChernoffWitness(Fraction(x), (RULE,), 64) for x in ("1/4", "1", "2", "5", "12")]
        bounds = [oracle.real(witness.evaluate(composed(order, "1/10", 1)).delta(epsilon).upper)
                  for witness in witnesses]
        assert all(exact < bound for bound in bounds)
        assert min(bounds) < 8 * exact or order != "remove"


def test_lower_bound_is_zero(composed: Callable[..., ComposedLoss]) -> None:
    witness = ChernoffWitness(Fraction(2), (RULE,), 64)
    bounds = witness.evaluate(composed("add", "1/10", 1, 3)).delta(Fraction(1, 10))
    assert bounds.lower == 0 and bounds.budget["chernoff"] == bounds.upper


def test_inadmissible_nodes_give_no_bound(composed: Callable[..., ComposedLoss]) -> None:
    """A strip wider than pi s^2: nothing is known, and nothing is claimed."""
    wide = NodeRule(Fraction(2), Fraction(5, 4), Fraction(1, 12), -140, 220)
    witness = ChernoffWitness(Fraction(2), (wide,), 64)
    assert witness.evaluate(composed("remove", "1/10", 1)).delta(Fraction(1)).upper == 1
