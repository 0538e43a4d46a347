"""The vertical line: the sum equals the aliased series, each bound against its own direct sum, and the enclosure holds.

Plain Gaussian steps need no nodes, so that with them every statement can be tested as an equality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines import powers
from verified_dp.core.engines.contour import (
    LineValues,
    LineWitness,
    bound_aliases,
    bound_frequency_tail,
    enclose_transforms_on_line,
)
from verified_dp.core.engines.nodes import NodeRule, bound_line_error, bound_mass, enclose_nodes
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate

Build = Callable[..., ComposedLoss]
ORDERS = ["remove", "add", "symmetric"]
RULE = NodeRule(Fraction(6, 5), Fraction(6, 5), Fraction(1, 10), -160, 240)
"""Fine and wide for s = 1 and tilts up to 3."""


def line(tilt: str, step: str, count: int, right: str, left: str = "0", prec: int = 200,
         nodes: tuple[NodeRule, ...] = (), tail_nodes: tuple[NodeRule, ...] | None = None) -> LineWitness:
    tails = nodes if tail_nodes is None else tail_nodes
    return LineWitness(Fraction(tilt), Fraction(step), count, nodes, tails, Fraction(right), Fraction(left), prec)


def gaussian_terms(oracle: ModuleType, witness: LineWitness, epsilon: Fraction, mu: object = 1) -> list[object]:
    """G(m eta) for m = 0..count of a plain Gaussian."""
    mp, c, eta = oracle.mp, oracle.real(witness.tilt), oracle.real(witness.step)
    points = [oracle.mpmath.mpc(c, m * eta) for m in range(witness.count + 1)]
    return [mp.exp(z * (z + 1) * mu * mu / 2 - z * oracle.real(epsilon)) / (z * (z + 1)) for z in points]


@pytest.mark.theorem("T01-inversion", "T02-aliasing")
@pytest.mark.parametrize(("tilt", "step", "epsilon"), [
    ("3/2", "1", "7/10"), ("1/2", "3/2", "-1"), ("3", "2", "3"), ("1", "1/4", "1/2"), ("3", "2", "20")])
def test_sum_is_the_aliased_series(oracle: ModuleType, composed: Build, tilt: str, step: str, epsilon: str) -> None:
    """An equality: upper end = sum over n of e^{cnX} D(eps + nX), however coarse the step."""
    c, eps, period = oracle.real(Fraction(tilt)), Fraction(epsilon), 2 * oracle.mp.pi / oracle.real(Fraction(step))
    series = oracle.mp.fsum(
        oracle.mp.exp(c * n * period) * oracle.gaussian_delta(1, oracle.real(eps) + n * period)
        for n in range(-40, 12))
    witness = line(tilt, step, 80, str(Fraction(tilt) + 2))
    values = witness.evaluate(composed("remove", "1/2", 1, 0, 1))
    shrink = -50 if series >= 1 else 0  # keeps the sum below the cut at 1
    with ctx.workprec(300):
        values = replace(values, terms=[term * arb((1, shrink)) for term in values.terms])
    upper = oracle.real(values.delta(eps).upper) / oracle.mpf(2) ** shrink
    assert abs(upper - series) < oracle.mpf("1e-30") * series


@pytest.mark.theorem("T01-inversion", "T02-aliasing", "T08-shifted-line")
@pytest.mark.parametrize("order", ORDERS)
def test_sum_of_a_sampled_step_is_the_aliased_series(oracle: ModuleType, composed: Build, order: str) -> None:
    """The same with nodes: M(z) from the shifted line, D from the tails of the densities."""
    witness = line("3/2", "1", 700, "5/2", nodes=(RULE,))
    values = witness.evaluate(composed(order, "1/2", 1))
    for epsilon in ("-1/2", "1/5"):
        period = 2 * oracle.mp.pi
        series = oracle.mp.fsum(
            oracle.mp.exp(oracle.mpf("1.5") * n * period)
            * oracle.single_delta(order, "0.5", 1, oracle.real(Fraction(epsilon)) + n * period) for n in range(-6, 4))
        bounds = values.delta(Fraction(epsilon))
        slack = 2 * sum(oracle.real(bounds.budget[name]) for name in ("quadrature", "node_tail", "frequency_tail"))
        assert slack < oracle.mpf("2e-3") * series
        assert abs(oracle.real(bounds.upper) - series) <= slack + oracle.mpf("1e-25")


@pytest.mark.theorem("T04-alias-bounds")
@pytest.mark.parametrize(("left", "right"), [("0", "3"), ("1/2", "8/5"), ("7/5", "20")])
@pytest.mark.parametrize("epsilon", ["-1/2", "2"])
def test_alias_bound_is_the_sum_of_chernoff_terms(
        oracle: ModuleType, composed: Build, left: str, right: str, epsilon: str) -> None:
    """Against the term-by-term sums, and never below the true aliases."""
    mp, c, eps = oracle.mp, oracle.mpf("1.5"), oracle.real(Fraction(epsilon))
    witness = line("3/2", "2/3", 60, right, left)
    values = witness.evaluate(composed("remove", "1/2", 1, 0, 1))
    with ctx.workprec(64):
        bound = oracle.real(bound_aliases(values, Fraction(epsilon)))
    period = 3 * mp.pi

    def terms(exponent: str, side: int) -> object:
        """The sum over n of e^{cnX} times the Chernoff bound of D(eps + nX)."""
        x = oracle.real(Fraction(exponent))
        size = oracle.chernoff_constant(x) * mp.exp(x * (x + 1) / 2) if x else 1
        return size * mp.fsum(mp.exp(c * n * period - x * (eps + n * period)) for n in range(side, 300 * side, side))

    chernoff = terms(right, 1) + terms(left, -1)
    aliases = mp.fsum(mp.exp(c * n * period) * oracle.gaussian_delta(1, eps + n * period)
                      for n in range(-40, 12) if n)
    assert aliases <= chernoff
    assert chernoff * (1 - oracle.mpf("1e-14")) <= bound <= chernoff * (1 + oracle.mpf("1e-12"))


@pytest.mark.theorem("T05-frequency-truncation")
@pytest.mark.parametrize(("count", "share"), [(1, 0.6), (4, 0.87), (20, 0.97)])
def test_frequency_tail_is_nearly_attained(oracle: ModuleType, count: int, share: float) -> None:
    """Where |M| stays at B the direct sum of the left-out |G| comes near e^{-c eps} B / (pi Omega), never above."""
    witness = line("1/100", "1", count, "1")
    values = LineValues(witness, [], arb(0), arb(0), arb(1), arb(1), arb(1), arb(0))
    with ctx.workprec(64):
        bound = float(bound_frequency_tail(values, Fraction(7)))
    m = np.arange(count + 1, 4 * 10**5)
    z = 0.01 + 1j * m
    left_out = 2 / (2 * np.pi) * np.exp(-0.07) * np.sum(1 / np.abs(z * (z + 1)))
    assert left_out <= bound and left_out >= share * bound


@pytest.mark.theorem("T05-frequency-truncation", "T11-tail-for-free")
@pytest.mark.parametrize("order", ORDERS)
def test_frequency_tail_holds_for_sampled_steps(oracle: ModuleType, composed: Build, order: str) -> None:
    """beyond >= |M(c+iw)| for all w >= Omega, for a power and a Gaussian factor; near the size at Omega."""
    tail_rule = NodeRule(Fraction(1 if order == "add" else 3, 2), Fraction(6, 5), Fraction(1, 8), -120, 200)
    witness = line("2", "1", 3, "3", nodes=(RULE,), tail_nodes=(tail_rule,))
    values = witness.evaluate(composed(order, "1/3", 1, 4, "1/16"))
    sizes = []
    for w in (3, 4, 6, 11):
        z = oracle.mpmath.mpc(2, w)
        size = abs(oracle.transform(order, Fraction(1, 3), 1, z)) ** 4 * abs(oracle.mp.exp(z * (z + 1) / 32))
        assert size <= oracle.real(values.beyond)
        sizes.append(size)
    assert oracle.real(values.beyond) <= (8 if order == "symmetric" else 4) * sizes[0]


@pytest.mark.theorem("T06-trapezoidal-enclosure")
def test_enclosure_is_the_sum_and_its_errors_on_the_right_sides(oracle: ModuleType, composed: Build) -> None:
    """Many bad lines: upper = T + tail, lower = T - tail - aliases, and D is inside; both sides are needed."""
    loss, beyond_sum, below_tail = composed("remove", "1/2", 1, 0, 1), 0, 0
    for tilt, step, count in (("1", "1/2", 2), ("1/2", "1", 1), ("2", "3/2", 1), ("1", "2", 3), ("1/3", "1/4", 5)):
        witness = line(tilt, step, count, str(Fraction(tilt) + 1), prec=120)
        values = witness.evaluate(loss)
        c, omega = oracle.real(witness.tilt), oracle.real(witness.step) * count
        for eps in (Fraction(n, 4) for n in range(-8, 17)):
            first, *rest = gaussian_terms(oracle, witness, eps)
            total = oracle.real(witness.step) / (2 * oracle.mp.pi) * (first + 2 * sum(rest)).real
            size = oracle.mp.exp((c * (c + 1) - omega**2) / 2 - c * oracle.real(eps))
            tail, exact = size / (oracle.mp.pi * omega), oracle.gaussian_delta(1, eps)
            bounds = values.delta(eps)
            aliasing = oracle.real(bounds.budget["aliasing"])
            assert oracle.inside(bounds, exact)
            near = oracle.mpf("1e-12")
            assert abs(oracle.real(bounds.upper) - min(total + tail, 1)) <= near
            assert abs(oracle.real(bounds.lower) - max(total - tail - aliasing, 0)) <= near
            beyond_sum += exact > total + tail / 10
            below_tail += exact < total - tail
    assert beyond_sum >= 3 and below_tail >= 3, "the scan no longer needs both sides"


@pytest.mark.theorem("T06-trapezoidal-enclosure", "T12-powers")
@pytest.mark.parametrize("order", ORDERS)
def test_enclosure_holds_far_from_the_eps_it_was_chosen_for(oracle: ModuleType, composed: Build, order: str) -> None:
    """One set of values at many eps, rough nodes and fine ones: always around the closed form."""
    rough = NodeRule(Fraction(1), Fraction(1), Fraction(2, 5), -15, 25)
    for rule, prec in ((RULE, 120), (rough, 60)):
        values = evaluate(composed(order, "1/10", 1), line("2", "1/2", 60, "11/4", "1", prec, (rule,)))
        for epsilon in ("-1", "-1/20", "0", "1/15", "1/2", "2"):
            bounds = values.delta(Fraction(epsilon))
            exact = oracle.single_delta(order, "0.1", 1, Fraction(epsilon))
            assert oracle.inside(bounds, exact), (epsilon, bounds)


@pytest.mark.theorem("T06-trapezoidal-enclosure", "T15-gaussian")
def test_good_line_is_narrow(oracle: ModuleType, composed: Build) -> None:
    """A fine line gives the closed form to the asked bits, more with more bits; [0, 1] would fail here."""
    for count, prec, digits in ((160, 80, 15), (400, 160, 40), (1000, 300, 60)):
        witness = line("3/2", "1/16", count, "7", "0", prec)
        bounds = witness.evaluate(composed("remove", "1/2", 1, 0, 1)).delta(Fraction(2))
        with oracle.mp.workdps(80):
            exact = oracle.tail(oracle.mpf("1.5")) - oracle.mp.exp(2) * oracle.tail(oracle.mpf("2.5"))
        assert oracle.inside(bounds, exact, "1e-70")
        assert oracle.width(bounds) < Fraction(1, 10**digits)


@pytest.mark.theorem("T09-total-mass", "T03-chernoff")
@pytest.mark.parametrize("order", ORDERS)
def test_mass_bound_is_c_times_m(oracle: ModuleType, composed: Build, order: str) -> None:
    """C(l) M(l)^k, from above: with fine nodes to 8 digits, with coarse ones still above."""
    loss = composed(order, "1/10", 1, 50, "1/9")
    for exponent in ("1/4", "2", "3"):
        x = oracle.real(Fraction(exponent))
        exact = oracle.transform(order, "0.1", 1, x).real ** 50 * oracle.chernoff_constant(x)
        exact *= oracle.mp.exp(x * (x + 1) / 18)
        with ctx.workprec(100):
            for step, excess in ((Fraction(1, 10), "1e-8"), (Fraction(3, 5), "1e6")):
                rule = replace(RULE, step=step)
                bound = oracle.real(bound_mass(loss, [(enclose_nodes(loss.parts[0][0], rule), 50)], Fraction(exponent)))
                assert exact <= bound <= exact * (1 + oracle.mpf(excess))


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 30])
def test_transforms_are_the_node_sums(count: int) -> None:
    """Baby and giant steps give every frequency, in order."""
    law = SampledGaussianLoss(Fraction(1, 10), Fraction(1), "remove")
    with ctx.workprec(150):
        nodes = enclose_nodes(law, NodeRule(Fraction(1), Fraction(1), Fraction(1, 2), -8, 12))
        found = enclose_transforms_on_line(nodes, arb(2), ball(Fraction(7, 3)), count)
        assert len(found) == count + 1
        for m, value in enumerate(found):
            direct = sum(nodes.weights(acb(2, m * ball(Fraction(7, 3)))), acb(0))
            assert value.overlaps(direct) and value.real.rad() < arb(2) ** -125


def test_a_long_product_is_made_in_parts_between_which_it_may_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    law, looks = SampledGaussianLoss(Fraction(1, 10), Fraction(1), "remove"), []
    with ctx.workprec(150):
        nodes = enclose_nodes(law, NodeRule(Fraction(1), Fraction(1), Fraction(1, 2), -8, 12))
        whole = enclose_transforms_on_line(nodes, arb(2), arb(1), 30, lambda: looks.append(1))
        assert not looks
        monkeypatch.setattr(powers, "_LONG", 1)
        parts = enclose_transforms_on_line(nodes, arb(2), arb(1), 30, lambda: looks.append(1))
        assert len(looks) == 6 and len(parts) == 31
        assert all(one.overlaps(other) for one, other in zip(whole, parts, strict=True))


@pytest.mark.theorem("T12-powers")
def test_equal_laws_and_counts_agree(composed: Build) -> None:
    """One law with count 6 and the same law as 1 + 2 + 3: overlapping, and equally narrow."""
    law = composed("remove", "1/10", 1).parts[0][0]
    joined = evaluate(composed("remove", "1/10", 1, 6), line("2", "1/4", 300, "3", nodes=(RULE,)))
    split = ComposedLoss("remove", ((law, 1), (law, 2), (law, 3)), Fraction(0))
    parted = evaluate(split, line("2", "1/4", 300, "3", nodes=(RULE,) * 3))
    for epsilon in (Fraction(-1, 2), Fraction(1, 3)):
        a, b = joined.delta(epsilon), parted.delta(epsilon)
        assert a.lower <= b.upper and b.lower <= a.upper
        assert a.budget["quadrature"] * arb("0.99") <= b.budget["quadrature"] <= a.budget["quadrature"] * arb("1.01")


@pytest.mark.theorem("T12-powers")
def test_transform_errors_are_summed_over_all_frequencies(oracle: ModuleType, composed: Build) -> None:
    """T12 (2) for one step: (eta/2pi) e^{-c eps} e (1/|c(c+1)| + 2 sum 1/|z_m(z_m+1)|), e the node rule's error."""
    rough = NodeRule(Fraction(1), Fraction(1), Fraction(2, 5), -4, 8)
    loss = composed("remove", "1/10", 1)
    values = line("2", "1/2", 9, "11/4", "1", 90, (rough,)).evaluate(loss)
    with ctx.workprec(90):
        errors = [oracle.real(e.upper()) for e in bound_line_error(enclose_nodes(loss.parts[0][0], rough), arb(2))]
    points = [oracle.mpmath.mpc(2, oracle.mpf(m) / 2) for m in range(-9, 10)]
    spread = sum(1 / abs(z * (z + 1)) for z in points)
    bounds = values.delta(Fraction(1, 3))
    for name, error in zip(("quadrature", "node_tail"), errors, strict=True):
        expected = error * spread * oracle.mp.exp(-oracle.mpf(2) / 3) / (4 * oracle.mp.pi)
        found = oracle.real(bounds.budget[name])
        assert expected * (1 - oracle.mpf("1e-12")) <= found <= expected * (1 + oracle.mpf("1e-6"))


@pytest.mark.parametrize("change", [
    {"tilt": Fraction(0)}, {"tilt": Fraction(-1)}, {"right": Fraction(2)}, {"right": Fraction(1)},
    {"left": Fraction(2)}, {"left": Fraction(3)}, {"left": Fraction(-1)}, {"step": Fraction(0)}, {"step": Fraction(-1)},
    {"count": 0}, {"count": -3}, {"nodes": ()}, {"tail_nodes": (RULE, RULE)}, {"prec": 1}, {"prec": 10**9}])
def test_side_conditions_are_checked(composed: Build, change: dict[str, object]) -> None:
    witness = line("2", "1/4", 4, "3", "1", nodes=(RULE,))
    evaluate(composed("remove", "1/10", 1), witness)
    with pytest.raises(InvalidInput):
        evaluate(composed("remove", "1/10", 1), replace(witness, **change))


def test_inadmissible_nodes_leave_the_unit_interval(composed: Build) -> None:
    """No rule, no bound: the answer is [0, 1], not a narrow wrong interval."""
    high = replace(RULE, height=Fraction(3))
    for nodes, tails in ((high, RULE), (RULE, high)):
        witness = line("2", "1/4", 8, "3", nodes=(nodes,), tail_nodes=(tails,))
        values = evaluate(composed("add", "1/10", 1), witness)
        bounds = values.delta(Fraction(1, 20))
        assert bounds.lower == 0 and bounds.upper == 1
