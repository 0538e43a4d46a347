"""Steps known by Renyi divergences alone: the moment between stated orders, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from verified_dp.core.engines.direct import DirectLaw
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.errors import Unsupported

ORDERS = [Fraction(order) for order in ("3/2", "2", "7/2", "9", "20")]


def divergence(law: LaplaceLoss, order: Fraction) -> Fraction:
    """An upper bound of D_order within 1e-25."""
    with ctx.workprec(160):
        value = law.enclose_transform(acb(ball(order - 1))).real.log() / ball(order - 1)
        return Fraction(int((value * 10**25).ceil().upper().unique_fmpz()), 10**25)


@pytest.mark.theorem("T66-moment-laws")
@pytest.mark.parametrize("ratio", ["1/10", "1", "4"])
def test_list_of_a_known_pair_is_above_its_moments(ratio: str) -> None:
    """Laplace's own divergences at five orders: attained there, above its moment between, unknown beyond."""
    pair = LaplaceLoss(Fraction(ratio))
    law = RenyiLoss.of_divergences([(order, divergence(pair, order)) for order in ORDERS])
    assert len(law.corners) == len(ORDERS)  # the moment is strictly convex: every order counts
    with ctx.workprec(120):
        for n in range(1, 19 * 8 + 1):
            exponent = arb(n) / 8
            exact, bound = pair.enclose_moment(exponent).log(), law.bound_log_moment(exponent)
            assert exact < bound + arb("1e-20") and bound.is_finite()
            if Fraction(n, 8) + 1 in ORDERS:
                assert bound < exact + arb("1e-20")
            assert not law.enclose_moment(exponent).lower() > 0
        assert not law.bound_log_moment(arb(19) + arb("1e-20")).is_finite()


@pytest.mark.theorem("T66-moment-laws")
@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 40)), min_size=1, max_size=6), st.integers(1, 96))
def test_hull_is_the_least_chord(points: list[tuple[int, int]], eighths: int) -> None:
    """Against all chords between two points, in exact arithmetic."""
    law = RenyiLoss.of_divergences([(Fraction(n + 1), Fraction(e, n)) for n, e in points])
    known = [(Fraction(0), Fraction(0)), *((Fraction(n), Fraction(e)) for n, e in points)]
    x = Fraction(eighths, 8)
    chords = [a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0])
              for a in known for b in known if a[0] <= x <= b[0] != a[0]]
    chords += [e for n, e in known if n == x]
    with ctx.workprec(100):
        bound = law.bound_log_moment(ball(x))
        if not chords:
            assert not bound.is_finite()
        else:
            assert bound.overlaps(ball(min(chords)))


@pytest.mark.theorem("T66-moment-laws")
def test_zcdp_is_the_gaussian_moment() -> None:
    with ctx.workprec(100):
        assert ZCDPLoss(Fraction(1, 8)).bound_log_moment(arb(3)).overlaps(ball(Fraction(12, 8)))
        assert ZCDPLoss(Fraction(1, 8)).enclose_infinity_mass() == 0


@pytest.mark.parametrize("law", [ZCDPLoss(Fraction(1)), RenyiLoss.of_divergences([(Fraction(2), Fraction(1))])])
def test_nothing_else_is_known(law: ZCDPLoss | RenyiLoss) -> None:
    assert not isinstance(law, DirectLaw)
    assert law.in_order("add").order == "add" and law.in_order("add") != law
    assert law.enclose_largest_loss() is None and law.enclose_smallest_loss() is None
    unknown: list[Callable[[], object]] = [
        lambda: law.enclose_hockey_stick(arb(1)), lambda: law.enclose_tails(arb(1)),
        lambda: law.enclose_density(arb(1)), law.enclose_loss_atoms]
    for ask in unknown:
        with pytest.raises(Unsupported, match="renyi"):
            ask()


def test_oracle_agrees_on_the_moment(oracle: ModuleType) -> None:
    """The Laplace divergence used above, from its density."""
    mp, x = oracle.mp, oracle.mpf(5) / 2
    moment = mp.quad(lambda t: mp.exp(-abs(t)) / 2 * mp.exp(x * (abs(t - 1) - abs(t))), [-40, 0, 1, 60])
    assert float(divergence(LaplaceLoss(Fraction(1)), Fraction(7, 2))) == pytest.approx(float(mp.log(moment) / x))
