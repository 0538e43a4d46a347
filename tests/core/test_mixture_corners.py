"""What holds of sampled Gaussians and fails, or needs another proof, for mixtures: one test for each."""

from __future__ import annotations

import math
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.closed import has_closed_form
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Mixture
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection

F = Fraction
ZERO: Mixture = ((F(0), F(1)),)
UP: Mixture = ((F(0), F(1, 2)), (F(1), F(1, 2)))
DOWN: Mixture = ((F(-3), F(9, 10)), (F(0), F(1, 10)))


def tails(oracle: ModuleType, law: MixtureLoss, x: float, ends: tuple[float, float], height: float) -> tuple[
        float, float]:
    """(bound, sum over fine cells) of |phi_s e^{u + xv}| beyond both ends, in the remove order; means of Q up to 0."""
    s, fine = float(law.sigma), float(law.sigma) / 400
    cells = fine * (np.arange(int(60 * s / fine)) + 0.5)
    t = np.concatenate([ends[0] - cells, ends[1] + cells]) + 1j * height
    p, q = (oracle.log_density(mixture, s, t) for mixture in (law.above, law.below))
    with ctx.workprec(64):
        bound = law.bound_tails(acb(x), arb(height), *map(arb, ends))
    return float(bound), float(np.exp((p + x * (p - q)).real).sum() * fine)


@pytest.mark.theorem("T10-node-tails")
@pytest.mark.parametrize("x", [0.5, 1.0, 3.0, 8.0])
def test_the_ratio_at_the_end_counts(oracle: ModuleType, x: float) -> None:
    """P/Q at 0 is 7.3 and not 1: a bound of the left tail without its power would be too small."""
    law = MixtureLoss(F(1), UP, DOWN, "remove")
    p, q = (oracle.log_density(mixture, 1.0, np.array([0.0])) for mixture in (UP, DOWN))
    assert 7.2 < math.exp(float(p[0] - q[0])) < 7.4
    for end in (0.0, -1.0, -3.0):
        bound, true = tails(oracle, law, x, (end, 40.0), 0.3)
        assert true <= bound * (1 + 1e-3) <= 1e6 * true


@pytest.mark.theorem("T10-node-tails")
@pytest.mark.parametrize(("above", "below", "x"), [
    (((F(1), F(1, 3)), (F(2), F(2, 3))), ZERO, -3.0),                                    # a_min > 0, x < -1
    (((F(1), F(1, 3)), (F(2), F(2, 3))), ZERO, 2.0),
    (((F(1, 2), F(1)),), ((F(-2), F(1, 4)), (F(0), F(3, 4))), 4.0),                      # Q^-x grows to the right
    (((F(5, 2), F(1, 2)), (F(3), F(1, 2))), ((F(-1), F(1, 2)), (F(0), F(1, 2))), -2.5),
    (((F(5, 2), F(1, 2)), (F(3), F(1, 2))), ((F(-1), F(1, 2)), (F(0), F(1, 2))), 6.0),
])
def test_tails_where_no_mean_of_p_is_at_that_of_q(oracle: ModuleType, above: Mixture, below: Mixture, x: float) -> None:
    law = MixtureLoss(F(3, 2), above, below, "remove")
    for ends in ((-1.0, 2.0), (-6.0, 9.0), (3.0, 4.0)):
        bound, true = tails(oracle, law, x, ends, 0.5)
        assert true <= bound * (1 + 1e-3) < math.inf


@pytest.mark.theorem("T51-mixtures")
def test_the_largest_loss_is_finite_only_where_the_rightmost_means_meet() -> None:
    """P = N(0) and a mean of Q at 0; the loss far out comes near it and stays below."""
    with ctx.workprec(200):
        found = MixtureLoss(F(1), ZERO, DOWN, "remove").enclose_largest_loss()
        assert found is not None and abs(float(found) - math.log(10)) < 1e-12
        ((_, loss),) = MixtureLoss(F(1), ZERO, DOWN, "remove").exponents([acb(30)])
        assert loss.real <= found + arb(2) ** -150 and loss.real > found - arb("1e-30")
        for above, below in ((UP, DOWN), (((F(1, 2), F(1)),), DOWN), (UP, ZERO)):
            assert MixtureLoss(F(1), above, below, "remove").enclose_largest_loss() is None


def test_orders_of_a_pair_that_is_not_mirrored_differ() -> None:
    """Both orders are asked: neither delta stands for the other, and either may be the larger one."""
    law = MixtureLoss(F(1), UP, ZERO, "remove")
    deltas = {order: OneDirection(ComposedLoss(order, ((law.in_order(order), 5),), F(0))).enclose(
        F(1), 30.0, "contour", Budget(60.0)).bounds for order in ("remove", "add")}
    assert deltas["add"].upper < deltas["remove"].lower


@pytest.mark.theorem("T51-mixtures")
def test_one_step_has_a_bracket_that_no_closed_form_gives(oracle: ModuleType) -> None:
    law = MixtureLoss(F(1), UP, DOWN, "remove")
    single = OneDirection(ComposedLoss("remove", ((law, 1),), F(0)))
    truth = float(oracle.mixture_deltas(UP, DOWN, 1.0, np.array([1.0]))[0])
    for method in ("auto", "contour"):
        found = single.enclose(F(1), 30.0, method, Budget(60.0)).bounds
        assert abs(float(found.lower) - truth) < 1e-9 and abs(float(found.upper) - truth) < 1e-9
    assert has_closed_form(single.loss)


@pytest.mark.theorem("T51-mixtures")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize("share", ["1/7", "1/2", "6/7"])
def test_a_wide_bracket_of_the_cut_still_holds_the_value(order: str, share: str) -> None:
    """The cut at the bracket's left end is less than the value by what lies between it and the place of the loss."""
    law = MixtureLoss(F(1), UP, DOWN, "remove").in_order(order)
    with ctx.workprec(200):
        epsilon = law._enclose_loss(arb(1) / 3)[0]
        place, value = arb(1) / 3, law.enclose_hockey_stick(epsilon)
        for width in ("1/4", "1/100", "1/1000000"):
            low = place - ball(F(share)) * ball(F(width))
            found = law._enclose_between(epsilon.exp(), low, low + ball(F(width)))
            assert found.contains(value.mid()) and found.rad() < ball(F(width))
