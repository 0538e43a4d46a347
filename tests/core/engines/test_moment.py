"""Bounds from one Renyi order: attained where the theorem says so, never below delta or the exact divergence."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.moment import MomentValues, MomentWitness
from verified_dp.core.engines.node_moment import EarlierChernoff, EarlierRenyi, moment_witness
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds, bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.papers.renyi.bounds import bound_canonne, bound_mironov, bound_variance
from verified_dp.questions.moments import enclose_all_nodes, enclose_divergence, enclose_log_moment
from verified_dp.search.renyi import MomentModel, at_order, choose_order_witness

RULE = NodeRule(Fraction(5, 4), Fraction(5, 4), Fraction(1, 12), -140, 220)
Masses = tuple[tuple[Fraction, Fraction], ...]


def finite(masses: Masses) -> ComposedLoss:
    return ComposedLoss("remove", ((FiniteLoss(masses, "remove"), 1),), Fraction(0))


def order(exponent: object, low: Fraction | int = 0, high: Fraction | int = 0, prec: int = 100) -> MomentWitness:
    """One Renyi order without rules."""
    return moment_witness(Fraction(exponent), Fraction(low), Fraction(high), prec)  # type: ignore[arg-type]


def two_point(u: Fraction, v: Fraction) -> Masses:
    """The pair whose likelihood ratio is u or v."""
    r = (1 - u) / (v - u)
    return ((r * v, r), (1 - r * v, 1 - r))


def hockey_stick(masses: Masses, alpha: object) -> object:
    return sum((max(p - alpha * q, 0) for p, q in masses), 0 * alpha)


def attained_epsilon(oracle: ModuleType, u: Fraction, v: Fraction, exponent: Fraction) -> Fraction:
    """log a with l (v^alpha - u^alpha) = alpha a (v^l - u^l), rounded up by about 1e-40."""
    x, y, power = (oracle.real(value) for value in (u, v, exponent))
    a = power * (y ** (power + 1) - x ** (power + 1)) / ((power + 1) * (y**power - x**power))
    return Fraction(int(oracle.mp.log(a) * 10**25) + 1, 10**25)


@pytest.mark.theorem("T180-moment")
@pytest.mark.theorem("T65-renyi-composition")
@pytest.mark.parametrize("exponent", ["1/3", "1", "7/2", "40"])
@pytest.mark.parametrize(("u", "v"), [("1/2", "3/2"), ("99/100", "9"), ("1/10", "11/10"), ("999/1000", "1001/1000")])
@pytest.mark.parametrize("mass", ["0", "1/7"])
def test_two_points_attain_the_bound(oracle: ModuleType, exponent: str, u: str, v: str, mass: str) -> None:
    """With mass at infinity too: one more step that is caught with probability `mass` scales every ratio."""
    m, pair = Fraction(mass), two_point(Fraction(u), Fraction(v))
    low, high = (1 - m) * Fraction(u), (1 - m) * Fraction(v)
    epsilon = attained_epsilon(oracle, low, high, Fraction(exponent))
    loss = ComposedLoss("remove", ((FiniteLoss(pair, "remove"), 1),
                                   (FiniteLoss(((m, Fraction(0)), (1 - m, Fraction(1))), "remove"), 1)), Fraction(0))
    a = oracle.mp.exp(oracle.real(epsilon))
    exact = oracle.real(m) + hockey_stick(tuple((oracle.real((1 - m) * p), oracle.real(q)) for p, q in pair), a)
    ratio = Fraction(int(oracle.real(high) / a * 10**30), 10**30)
    values = order(exponent, low, ratio, 300).evaluate(loss)
    bound = oracle.real(values.delta(epsilon).upper)
    assert exact - oracle.mpf("1e-35") <= bound <= exact + oracle.mpf("1e-20")  # 1e-35: mpmath's own rounding
    assert oracle.real(m) + oracle.real(bound_canonne(values, epsilon)) > exact - oracle.mpf("1e-35")


@pytest.mark.theorem("T180-moment")
def test_condition_is_needed(oracle: ModuleType) -> None:
    """A tangent point a little too far right would give a number below the truth: it is refused."""
    u, v, two = Fraction(1, 2), Fraction(3, 2), Fraction(2)
    loss, epsilon = finite(two_point(u, v)), attained_epsilon(oracle, u, v, two)
    a = oracle.mp.exp(oracle.real(epsilon))
    for factor, known in (("1.000001", False), ("0.999999", True)):
        ratio = Fraction(int(oracle.real(v) / a * oracle.mpf(factor) * 10**30), 10**30)
        bound = order(2, u, ratio, 200).evaluate(loss).bound_by_tangents(epsilon)
        assert bound.is_finite() is known


@pytest.mark.theorem("T180-moment")
@pytest.mark.parametrize(("rho", "exponent", "eps"), [("1/10", 4, "1"), ("1", 2, "4"), ("1/50", 29, "1/2")])
def test_best_tangents_reach_the_maximum(oracle: ModuleType, rho: str, exponent: int, eps: str) -> None:
    """Over tangents the least bound equals the largest p - a r over two-point pairs, by two separate searches."""
    size, a = oracle.mp.exp(exponent * oracle.real(Fraction(rho))), oracle.mp.exp(oracle.real(Fraction(eps)))
    order = exponent + 1

    def least_r(p: object) -> object:
        """The r at which the constraint is active, below p."""
        low, high = oracle.mpf(0), p
        for _ in range(70):
            r = (low + high) / 2
            inside = r > 0 and p**order * r**-exponent + (1 - p) ** order * (1 - r) ** -exponent <= size
            low, high = (low, r) if inside else (r, high)
        return high

    low, high = oracle.mpf(-20), oracle.mpf(0)  # p - a r(p) is concave in p, so unimodal in log p
    for _ in range(40):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        gains = [oracle.mp.exp(x) - a * least_r(oracle.mp.exp(x)) for x in (left, right)]
        low, high = (left, high) if gains[0] < gains[1] else (low, right)
    largest = max(gains)
    loss = ComposedLoss("symmetric", ((RenyiLoss.of_divergences([(Fraction(order), Fraction(rho))]), 1),), Fraction(0))
    model = MomentModel(loss)
    choice = at_order(model, float(exponent), float(Fraction(eps)))
    witness = choose_order_witness(model, choice, float(Fraction(eps)), 40, Fraction(exponent))
    bound = oracle.real(witness.evaluate(loss).delta(Fraction(eps)).upper)
    assert largest <= bound <= largest * oracle.mpf("1.00001")


def kernels(seed: int, outcomes: int) -> Iterator[Masses]:
    """Random pairs of small rational distributions."""
    source = random.Random(seed)
    while True:
        rows = [[source.randint(1, 9) for _ in range(outcomes)] for _ in range(2)]
        yield tuple((Fraction(p, sum(rows[0])), Fraction(q, sum(rows[1]))) for p, q in zip(*rows, strict=True))


def log_moment(oracle: ModuleType, masses: Masses, exponent: Fraction) -> object:
    x = oracle.real(exponent)
    return oracle.mp.log(sum(oracle.real(p) * (oracle.real(p) / oracle.real(q)) ** x for p, q in masses if p and q))


@pytest.mark.theorem("T65-renyi-composition")
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("first_known_by_moments", [True, False])
def test_adaptive_steps_stay_below(oracle: ModuleType, seed: int, first_known_by_moments: bool) -> None:
    """Two steps, the second chosen by the first's outcome; one has a pair with mass at infinity, one moments alone.

    Where the pair comes second it is the same law after every outcome with its outcomes permuted.
    """
    draw, exponent, epsilon = kernels(seed, 3), Fraction(seed + 1, 3), Fraction(seed, 10)
    plain = next(draw)
    caught = ((Fraction(1, 9), Fraction(0)), *((p * Fraction(8, 9), q) for p, q in plain))
    if first_known_by_moments:
        first = next(draw)
        later = [tuple(order) for order in itertools.islice(itertools.permutations(caught), len(first))]
        by_moments = [first]
    else:
        first = caught
        later = [next(draw) for _ in first]
        by_moments = later
    joint = tuple((p * x, q * y) for (p, q), after in zip(first, later, strict=True) for x, y in after)
    divergence = max(log_moment(oracle, masses, exponent) for masses in by_moments) / oracle.real(exponent)
    stated = Fraction(int(divergence * 10**20) + 1, 10**20)
    laws = (RenyiLoss.of_divergences([(exponent + 1, stated)]), FiniteLoss(caught, "remove"))
    loss = ComposedLoss("remove", tuple((law, 1) for law in laws), Fraction(0))
    exact = hockey_stick(joint, Fraction(str(oracle.mp.nstr(oracle.mp.exp(oracle.real(epsilon)), 40))))
    inside = float(exponent) if exponent.denominator & (exponent.denominator - 1) == 0 else float(exponent) * 0.999
    for bounds in several_bounds(loss, inside, epsilon):
        assert oracle.real(bounds.lower) <= oracle.real(exact) <= oracle.real(bounds.upper)


def several_bounds(loss: ComposedLoss, exponent: float, epsilon: Fraction) -> Iterator[Bounds]:
    """The bounds of one order with various tangents."""
    model = MomentModel(loss)
    choice = at_order(model, exponent, float(epsilon))
    best = choose_order_witness(model, choice, float(epsilon), 40)
    for witness in (best, order(best.exponent)):
        yield witness.evaluate(loss).delta(epsilon)


@pytest.mark.theorem("T67-one-order")
@pytest.mark.parametrize("exponent", ["1/4", "1", "9/2"])
def test_sharp_chernoff_is_attained(oracle: ModuleType, exponent: str) -> None:
    """By one atom at log((l+1)/l) above eps, where the original moments accountant is larger by 1/C(l)."""
    tilt = Fraction(exponent)
    ratio = (tilt + 1) / tilt
    masses = ((Fraction(1), 1 / ratio), (Fraction(0), 1 - 1 / ratio))
    values = order(tilt, prec=200).evaluate(finite(masses))
    truth, bound = 1 - 1 / ratio, oracle.exact(bound_canonne(values, Fraction(0)))
    assert truth <= bound <= truth * (1 + Fraction(1, 10**15))
    original = oracle.exact(bound_mironov(values, Fraction(0)))
    assert float(original) == pytest.approx(float(bound) / float(oracle.chernoff_constant(tilt)))


@pytest.mark.theorem("T67-one-order")
@pytest.mark.theorem("T180-moment")
@pytest.mark.theorem("T69-variance")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
def test_one_sampled_step_stays_below(oracle: ModuleType, composed: Callable[..., ComposedLoss], order: str) -> None:
    loss = composed(order, "1/10", 1)
    for epsilon in (Fraction(0), Fraction(1, 20), Fraction(9, 100)):
        exact = oracle.single_delta(order, "0.1", 1, epsilon)
        for x, low, high in [("1/2", "1/2", "1"), ("2", "9/10", "21/20"), ("5", "99/100", "23/20"), ("12", "1", "1")]:
            values = moment_witness(*map(Fraction, (x, low, high)), 100, nodes=(RULE,)).evaluate(loss)
            with ctx.workprec(100):
                spread = bound_variance(loss, enclose_all_nodes(loss, (RULE,)), Fraction(x), Fraction(1, 8), epsilon)
            known = [bound_mironov(values, epsilon), bound_canonne(values, epsilon),
                     values.bound_by_tangents(epsilon), spread]
            assert all(exact < oracle.real(bound) for bound in known if bound.is_finite())
            assert known[0].is_finite() and known[3].is_finite()


@pytest.mark.theorem("T69-variance")
@pytest.mark.parametrize(("tilt", "eps"), [("1/2", "1"), ("2", "3"), ("5", "1/10")])
def test_variance_form_of_a_gaussian(oracle: ModuleType, tilt: str, eps: str) -> None:
    """K = l(l+1)/2: at least e^{K - l eps} ((K'-eps) + sqrt((K'-eps)^2 + K''))/2, hardly more; any mesh is valid."""
    loss, exponent, epsilon = ComposedLoss("remove", (), Fraction(1)), Fraction(tilt), Fraction(eps)
    x, e = oracle.real(exponent), oracle.real(epsilon)
    gap = x + oracle.mpf(1) / 2 - e
    formula = oracle.mp.exp(x * (x + 1) / 2 - x * e) * (gap + oracle.mp.sqrt(gap**2 + 1)) / 2
    with ctx.workprec(200):
        fine = oracle.real(bound_variance(loss, [], exponent, Fraction(1, 2**30), epsilon))
        coarse = oracle.real(bound_variance(loss, [], exponent, exponent / 2, epsilon))
    assert formula <= fine <= formula * (1 + oracle.mpf("1e-7"))
    assert coarse > fine


@pytest.mark.theorem("T69-variance")
def test_variance_form_needs_both_ends() -> None:
    loss = ComposedLoss("symmetric", ((ZCDPLoss(Fraction(1, 10)), 1),), Fraction(0))
    with ctx.workprec(100):
        assert not bound_variance(loss, [], Fraction(2), Fraction(1, 8), Fraction(1)).is_finite()


@pytest.mark.theorem("T70-moment-enclosure")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize("renyi_order", ["3/2", "4", "13/2"])
def test_divergence_of_a_mixed_composition(oracle: ModuleType, composed: Callable[..., ComposedLoss], order: str,
                                           renyi_order: str) -> None:
    """Three sampled steps, a Gaussian one and two Laplace ones, against mpmath's quadrature and the closed forms."""
    base = composed(order, "1/10", 1, 3, "1/4")
    loss = ComposedLoss(order, (*base.parts, (LaplaceLoss(Fraction(1, 3)), 2)), base.mean_shift_squared)
    lower, upper = (oracle.real(end) for end in enclose_divergence(loss, Fraction(renyi_order), (RULE,), 120))
    x = oracle.real(Fraction(renyi_order)) - 1
    mu = oracle.mpf(1) / 3
    laplace = ((1 + x) * oracle.mp.exp(x * mu) + x * oracle.mp.exp(-(1 + x) * mu)) / (1 + 2 * x)
    total = 3 * oracle.mp.log(oracle.transform(order, "0.1", 1, x).real) + x * (x + 1) / 8 + 2 * oracle.mp.log(laplace)
    assert lower <= total / x * (1 + oracle.mpf("1e-18")) and total / x * (1 - oracle.mpf("1e-18")) <= upper
    assert upper - lower < oracle.mpf("1e-8")


@pytest.mark.theorem("T70-moment-enclosure")
def test_divergence_at_integers_is_a_binomial_sum(oracle: ModuleType, composed: Callable[..., ComposedLoss]) -> None:
    for n in (2, 3, 7):
        total = sum(oracle.mp.binomial(n, k) * oracle.mpf("0.9") ** (n - k) * oracle.mpf("0.1") ** k
                    * oracle.mp.exp(oracle.mpf(k * k - k) / 2) for k in range(n + 1))
        ends = enclose_divergence(composed("remove", "1/10", 1), Fraction(n), (RULE,), 120)
        lower, upper = (oracle.real(end) for end in ends)
        exact = oracle.mp.log(total) / (n - 1)
        assert lower < exact < upper < exact * (1 + oracle.mpf("1e-8"))


@pytest.mark.theorem("T70-moment-enclosure", "T08-shifted-line")
@pytest.mark.parametrize(("step", "missed"), [("1", "1e-9"), ("3/4", "1e-16")])
def test_a_coarse_rule_is_as_wide_as_it_misses(composed: Callable[..., ComposedLoss], step: str, missed: str) -> None:
    """M(1) = 1 + q^2 (e - 1): the sum over so few nodes alone does not hold it, with its quadrature error it does."""
    rule = NodeRule(Fraction(1, 2), Fraction(1, 2), Fraction(step), -40, 40)
    with ctx.workprec(200):
        loss = composed("remove", "1/10", 1)
        nodes, = enclose_all_nodes(loss, (rule,))
        exact = 1 + (arb(1).exp() - 1) / 100
        sampled = sum(nodes.weights(acb(1)), acb(0)).real
        assert abs(sampled - exact) > arb(missed)
        low, high = enclose_log_moment(loss, [nodes], arb(1))
        assert low < exact.log() < high


@pytest.mark.theorem("T70-moment-enclosure")
def test_mass_at_infinity_makes_every_divergence_infinite() -> None:
    masses = ((Fraction(1, 10), Fraction(0)), (Fraction(9, 10), Fraction(1)))
    assert not enclose_divergence(finite(masses), Fraction(2), (), 64)[1].is_finite()


@pytest.mark.theorem("T70-moment-enclosure")
def test_moments_known_from_above_only_start_at_zero() -> None:
    loss = ComposedLoss("symmetric", ((ZCDPLoss(Fraction(1, 10)), 3),), Fraction(1))
    with ctx.workprec(100):
        lower, upper = enclose_log_moment(loss, [], arb(2))
        assert lower == arb.neg_inf() and ball(Fraction(48, 10)) <= upper < ball(Fraction(48001, 10000))
    assert enclose_divergence(loss, Fraction(3), (), 64)[0] == 0


def test_inadmissible_witnesses() -> None:
    loss = ComposedLoss("symmetric", ((ZCDPLoss(Fraction(1)), 1),), Fraction(0))
    good = order(2, Fraction(1, 2), 1)
    assert good.applies(loss) and isinstance(evaluate(loss, good), MomentValues)
    for bad in (order(Fraction(-1, 2)), order(1, -1), order(1, 0, -1),
                moment_witness(Fraction(1), Fraction(0), Fraction(0), 64, nodes=(RULE,)),
                moment_witness(Fraction(1), Fraction(0), Fraction(0), 64, families=(RULE,)), ClosedFormWitness(64)):
        with pytest.raises(InvalidInput):
            evaluate(loss, bad)


def test_rules_go_with_one_order_alone(composed: Callable[..., ComposedLoss]) -> None:
    """The sums over nodes are those of one direction: relative entropies and several powers take no rules."""
    loss, good = composed("remove", "1/10", 1), moment_witness(Fraction(2), Fraction(0), Fraction(0), 64, nodes=(RULE,))
    assert good.applies(loss)
    half = Fraction(1, 2)
    for change in ({"powers": (Fraction(1),)}, {"powers": (Fraction(-2),)}, {"families": (RULE,)},
                   {"nodes": (RULE,) * 2}, {"powers": (Fraction(2), Fraction(3)), "weights": (half, half)}):
        assert not replace(good, **change).applies(loss)  # type: ignore[arg-type]


@pytest.mark.theorem("T180-moment")
@pytest.mark.parametrize("name", ["remove", "add", "symmetric"])
def test_rules_by_law_and_by_family_agree(composed: Callable[..., ComposedLoss], name: str) -> None:
    """And the law's own bound, without any, is larger where it is no sum: at an order that is not whole."""
    loss, nothing = composed(name, "1/10", 1, 7, "1/4"), (Fraction(7, 2), Fraction(0), Fraction(0), 100)
    found = [evaluate(loss, witness).delta(Fraction(1)).upper for witness in (
        moment_witness(*nothing, nodes=(RULE,)), moment_witness(*nothing, families=(RULE,)), moment_witness(*nothing))]
    assert abs(found[0] - found[1]) < arb("1e-20") * found[0] and found[0] < found[2]


def test_earlier_kinds_state_the_same() -> None:
    """A rule of an earlier Chernoff bound is one of a line's, that of an earlier Renyi order a sampled Gaussian's."""
    third, rules = Fraction(1, 3), (RULE,)
    assert EarlierRenyi(third, third, Fraction(2), (), 64).now() == order(third, third, 2, 64)
    assert EarlierRenyi(third, third, Fraction(2), rules, 64).now() == moment_witness(
        third, third, Fraction(2), 64, nodes=rules)
    earlier = EarlierChernoff(third, rules, 64)
    assert earlier.now() == moment_witness(third, Fraction(0), Fraction(0), 64, families=rules)
    assert (earlier.method, dict(earlier.sources)) == ("contour", {"chernoff": "renyi"})


def quick(exponent: Fraction, rule: NodeRule, prec: int = 64) -> MomentWitness:
    """One order without tangents, by a rule as a line has it."""
    return moment_witness(exponent, Fraction(0), Fraction(0), prec, families=(rule,))


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
    bound = oracle.real(quick(x, RULE, 100).evaluate(loss).delta(Fraction(eps)).upper)
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
        witnesses = [quick(Fraction(x), RULE) for x in ("1/4", "1", "2", "5", "12")]
        bounds = [oracle.real(witness.evaluate(composed(order, "1/10", 1)).delta(epsilon).upper)
                  for witness in witnesses]
        assert all(exact < bound for bound in bounds)
        assert min(bounds) < 8 * exact or order != "remove"


def test_lower_bound_is_zero(composed: Callable[..., ComposedLoss]) -> None:
    witness = quick(Fraction(2), RULE)
    bounds = witness.evaluate(composed("add", "1/10", 1, 3)).delta(Fraction(1, 10))
    assert bounds.lower == 0 and bounds.budget["renyi"] == bounds.upper


def test_inadmissible_nodes_give_no_bound(composed: Callable[..., ComposedLoss]) -> None:
    """A strip wider than pi s^2: nothing is known, and nothing is claimed."""
    wide = NodeRule(Fraction(2), Fraction(5, 4), Fraction(1, 12), -140, 220)
    witness = quick(Fraction(2), wide)
    assert witness.evaluate(composed("remove", "1/10", 1)).delta(Fraction(1)).upper == 1
