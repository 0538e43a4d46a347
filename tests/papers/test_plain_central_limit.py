"""The untilted Berry-Esseen bound, and the saddle point's asymptotics with their constants (T172)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt

import pytest
from flint import arb, ctx
from scipy.stats import norm

from verified_dp.core.engines.expansion_cells import Steps
from verified_dp.core.engines.tilted_moments import MomentTable, tabulate_moments
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.papers.paper import paper_method
from verified_dp.papers.saddlepoint.bounds import (
    bound_distance,
    enclose_by_berry_esseen,
    enclose_by_plain_normal,
    enclose_state,
)
from verified_dp.papers.saddlepoint.method import SaddleCurve
from verified_dp.search.deadline import Budget
from verified_dp.search.expansion import choose_moment_rules
from verified_dp.search.one_direction import OneDirection

Composed = Callable[..., ComposedLoss]
THEOREM = pytest.mark.theorem("T172-plain-central-limit")
B = 2
"""Standard deviations of eps above the mean."""


def untilted(loss: ComposedLoss) -> tuple[MomentTable, Steps]:
    table = tabulate_moments(loss, choose_moment_rules(loss, 0.0, 60.0, 4), 192)
    return table, enclose_state(table, arb(0), 4)


def setting(composed: Composed, root: int) -> tuple[ComposedLoss, Fraction, MomentTable, Steps]:
    """Steps with q sqrt k = 1/2, s = 3/2; eps is B deviations above the mean."""
    loss = composed("remove", Fraction(1, 2 * root), "3/2", root**2)
    table, state = untilted(loss)
    epsilon = Fraction(round(1000 * (float(state.cumulants[1]) + B * sqrt(float(state.cumulants[2])))), 1000)
    return loss, epsilon, table, state


@THEOREM
@pytest.mark.parametrize("eps", ["0", "1/2", "3/2"])
@pytest.mark.parametrize("kind", ["sampled", "add", "laplace", "responses"])
def test_the_plain_interval_contains_certified_deltas(composed: Composed, kind: str, eps: str) -> None:
    loss = {"sampled": composed("remove", "1/100", "2", 3000), "add": composed("add", "1/50", "1", 1000, "1/10"),
            "laplace": ComposedLoss("symmetric", ((LaplaceLoss(Fraction(1, 20)), 400),), Fraction(0)),
            "responses": ComposedLoss("symmetric", ((OddsLoss(Fraction(1, 20), Fraction(1, 10**4), 0), 900),),
                                      Fraction(0))}[kind]
    epsilon = Fraction(eps)
    true = OneDirection(loss).enclose(epsilon, 40, "auto", Budget(30)).bounds
    for form, source in (("plain", ""), ("plain-cited", "Shevtsova")):
        answer = paper_method("berry-esseen", {"form": form}).curve(loss, epsilon, 8, Budget(20)).delta(epsilon)
        assert answer.bounds is not None and answer.bounds.lower <= true.upper and true.lower <= answer.bounds.upper
        assert answer.bounds.upper - answer.bounds.lower < arb("0.9")
        assert source in answer.parameters.get("rests_on", "")


@THEOREM
def test_without_its_error_the_plain_interval_misses(composed: Composed) -> None:
    loss, epsilon, table, _ = setting(composed, 100)
    true = OneDirection(loss).enclose(epsilon, 40, "auto", Budget(30)).bounds
    bounds, normal = enclose_by_plain_normal(table, epsilon)
    assert bounds.lower <= true.upper and true.lower <= bounds.upper
    assert not normal.overlaps(true.lower.union(true.upper))


@THEOREM
@pytest.mark.parametrize("root", [100, 1000])
def test_theorem_9_with_its_constant(composed: Composed, root: int) -> None:
    """(2): the certified delta lies within Delta_0 + phi(b)/a of Q(b), which is b's, not eps's."""
    loss, epsilon, table, state = setting(composed, root)
    true = float(OneDirection(loss).enclose(epsilon, 40, "auto", Budget(30)).bounds.upper)
    s = sqrt(float(state.cumulants[2]))
    b = (float(epsilon) - float(state.cumulants[1])) / s
    assert abs(true - norm.sf(b)) <= float(bound_distance(table, state)) + norm.pdf(b) / (b + s)
    assert true < norm.sf(b)  # what is dropped is of one sign, and larger than the distance here


@THEOREM
@pytest.mark.parametrize("root", [100, 1000, 10_000])
def test_proposition_8_with_its_constants(composed: Composed, root: int) -> None:
    """(3): t_- <= t* <= t_+ with K'' bounded on [0, u] by its ends (it grows there)."""
    loss, epsilon, _, state = setting(composed, root)
    saddle = SaddleCurve(loss, 4).find_saddle(epsilon)[1]
    d, least = float(epsilon) - float(state.cumulants[1]), float(state.cumulants[2]) * (1 - 1e-9)
    last = (d + 1 + sqrt((d + 1) ** 2 + 4 * least)) / (2 * least)
    table = tabulate_moments(loss, choose_moment_rules(loss, last, 60.0, 4), 192)
    with ctx.workprec(192):
        steps = [float(enclose_state(table, arb(last * j / 8), 4).cumulants[2]) for j in range(1, 9)]
    assert [least, *steps] == sorted([least, *steps])
    first = (d + sqrt(d * d + 4 * steps[-1])) / (2 * steps[-1])
    assert first <= float(saddle) <= last


@THEOREM
def test_theorem_7_and_the_limit_of_the_ratio(composed: Composed) -> None:
    """(4) at r/s, and its limit 2 e^{(1 - b r)/2} at b = 4 deviations above the mean, for more and more steps."""
    b, found = 4.0, []
    r = (b + sqrt(b * b + 4)) / 2
    limit = 2 * exp((1 - b * r) / 2)
    for count in (10**4, 10**6, 10**8):
        loss = ComposedLoss("symmetric", ((LaplaceLoss(Fraction(1, 2)), count),), Fraction(0))
        table, state = untilted(loss)
        s = sqrt(float(state.cumulants[2]))
        epsilon = Fraction(round(float(state.cumulants[1]) + b * s))
        tilt = Fraction(round(2**40 * r / s), 2**40)
        near = tabulate_moments(loss, choose_moment_rules(loss, float(tilt), 70.0, 4), 256)
        plain, _ = enclose_by_plain_normal(table, epsilon)
        tilted, _ = enclose_by_berry_esseen(near, tilt, epsilon)
        ratio = float(tilted.budget["berry_esseen"] / plain.budget["berry_esseen"])
        found.append(ratio / limit - 1)
    assert abs(found[0]) > 5 * abs(found[1]) > 25 * abs(found[2]) and abs(found[2]) < 1e-2, found


@pytest.mark.parametrize("form", ["", "untilted"])
def test_other_forms_are_refused(form: str) -> None:
    with pytest.raises(InvalidInput, match=r"berry-esseen\.form"):
        paper_method("berry-esseen", {"form": form})
