"""Finding witnesses and roots: brackets of epsilon, honest width, which methods answer, what a solution records."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest
from flint import arb

from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.moment import MomentWitness
from verified_dp.core.engines.rays import RaysWitness
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidInput, Unsupported
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.enclosure import Enclosure
from verified_dp.papers import accountant
from verified_dp.profile import PrivacyProfile, privacy_profile
from verified_dp.search.answer import Answer, intersect, width_bits
from verified_dp.search.deadline import Budget, OutOfTime, ending_at
from verified_dp.search.lattice_model import LawModel
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import bracket_epsilon, is_above, is_below


def sampled(q: str, s: str, count: int = 1) -> Composition:
    return compose((PoissonSampled(Gaussian(s), q), count))


def answer(lower: object, upper: object) -> Answer:
    return Answer(Fraction(1), ClosedFormWitness(64), None, Bounds(arb(lower), arb(upper), {}))


@pytest.mark.theorem("T13-epsilon-of-delta")
def test_comparisons_with_the_target_are_strict_on_one_side_only() -> None:
    """eps_lo needs delta > target, eps_hi delta <= target: at equality only the latter holds."""
    target = Fraction(1, 4)
    assert not is_above(answer("0.25", "0.5"), target) and is_below(answer("0", "0.25"), target)
    assert is_above(answer("0.2501", "0.5"), target) and not is_below(answer("0", "0.2501"), target)
    third = Fraction(1, 3)  # no dyadic: the comparison is with the exact number
    assert not is_above(answer("0.33", "0.34"), third) and not is_below(answer("0.33", "0.34"), third)


@pytest.mark.theorem("T13-epsilon-of-delta")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize("target", ["1/50", "1e-4", "1e-9"])
def test_bracket_of_one_step(oracle: ModuleType, order: str, target: str) -> None:
    """delta(eps_lo) > target >= delta(eps_hi) by the tails of the densities; 12 digits apart."""
    relation = {"remove": "remove", "add": "add", "symmetric": "replace"}[order]
    found = privacy_profile(sampled("1/10", "1"), relation).epsilon(target)
    lower, upper = found.lower.as_fraction(), found.upper.as_fraction()
    assert oracle.single_delta(order, "0.1", 1, lower) > oracle.real(Fraction(target))
    assert oracle.single_delta(order, "0.1", 1, upper) <= oracle.real(Fraction(target))
    assert found.status == "certified" and (upper - lower) * 10**12 <= lower


@pytest.mark.theorem("T13-epsilon-of-delta", "T15-gaussian")
@pytest.mark.parametrize("target", ["1/4", "1e-5", "1e-100"])
def test_bracket_of_gaussian_steps(oracle: ModuleType, target: str) -> None:
    found = privacy_profile(compose((Gaussian("5"), 9), Gaussian("2")), "add-or-remove").epsilon(target)
    mu = oracle.mp.sqrt(oracle.mpf(9) / 25 + oracle.mpf(1) / 4)
    with oracle.mp.workdps(150):
        assert oracle.gaussian_delta(mu, found.lower.as_fraction()) > oracle.real(Fraction(target))
        assert oracle.gaussian_delta(mu, found.upper.as_fraction()) <= oracle.real(Fraction(target))
    assert found.status == "certified" and found.order == "both"


@pytest.mark.theorem("T13-epsilon-of-delta")
@pytest.mark.parametrize("relation", ["remove", "add", "add-or-remove", "replace", "zero-out"])
def test_epsilon_is_exactly_zero_where_delta_at_zero_is_enough(relation: str) -> None:
    """delta(0) just below and just above the target."""
    profile = privacy_profile(sampled("1/100", "1", 50), relation)
    at_zero = profile.delta(0)
    enough, short = (end.as_fraction() for end in (at_zero.upper, at_zero.lower))
    zero = profile.epsilon(enough)
    assert zero.lower == zero.upper == 0 and zero.status == "certified" and str(zero) == "0"
    positive = profile.epsilon(short - Fraction(1, 10**9), digits=6)
    assert positive.lower > 0 and positive.upper < Fraction(1, 10**6)


@pytest.mark.theorem("T13-epsilon-of-delta")
def test_a_target_between_the_ends_of_delta_zero_is_not_decided_wrongly() -> None:
    """Within the enclosure of delta(0) both answers are possible: the enclosure holds 0."""
    profile = privacy_profile(sampled("1/100", "1", 50), "remove")
    at_zero = profile.delta(0)
    middle = (at_zero.lower.as_fraction() + at_zero.upper.as_fraction()) / 2
    found = profile.epsilon(middle)
    assert found.lower >= 0 and found.upper < Fraction(1, 10**9)


@pytest.mark.theorem("T13-epsilon-of-delta", "T25-composition")
def test_the_order_that_comes_first_does_not_matter() -> None:
    """Whichever order is bracketed first, the larger epsilon is the answer and both are proved."""
    composition = sampled("1/20", "1", 30)
    profile = privacy_profile(composition, "add-or-remove")
    expected, alone = profile.epsilon("1e-5"), privacy_profile(composition, "add").epsilon("1e-5")
    turned = PrivacyProfile(composition, "add-or-remove")
    turned._orders.reverse()
    found = turned.solve_epsilon("1e-5")
    assert found.enclosure.overlaps(expected) and found.enclosure.status == "certified"
    assert found.enclosure.lower > alone.upper and found.enclosure.order == "remove"
    sides = {(e.order, e.side) for e in found.evaluations}
    assert {("remove", "lower"), ("remove", "upper"), ("add", "upper")} <= sides


@pytest.mark.theorem("T13-epsilon-of-delta", "T25-composition")
def test_solutions_record_what_proves_them() -> None:
    """Re-evaluating each recorded witness gives the recorded ends, and they prove the enclosure."""
    composition = compose((PoissonSampled(Gaussian("1"), "1/50"), 300), Gaussian("10"))
    profile, target = privacy_profile(composition, "add-or-remove"), Fraction(1, 10**5)
    solution = profile.solve_epsilon(target)
    losses = {order.loss.order: order for order in profile._orders}
    for record in solution.evaluations:
        again = losses[record.order].evaluate(record.at, record.witness)
        assert (again.bounds.lower, again.bounds.upper) == (
            arb((record.lower.mantissa, record.lower.exponent)), arb((record.upper.mantissa, record.upper.exponent)))
        assert record.lower > target if record.side == "lower" else record.upper <= target
    ends = [record.at for record in solution.evaluations if record.side == "lower"]
    assert solution.enclosure.lower == max(ends)
    tops = [record.at for record in solution.evaluations if record.side == "upper"]
    assert solution.enclosure.upper == max(tops) and len(tops) == 2


@pytest.mark.theorem("T25-composition")
def test_delta_records_the_larger_and_shows_the_other_smaller() -> None:
    solution = privacy_profile(sampled("1/50", "1", 300), "add-or-remove").solve_delta("1")
    by_order = {record.order: record for record in solution.evaluations}
    assert by_order["add"].upper <= by_order["remove"].lower
    assert isinstance(by_order["add"].witness, MomentWitness | LineWitness)
    assert (solution.enclosure.lower, solution.enclosure.upper) == (by_order["remove"].lower, by_order["remove"].upper)
    assert solution.enclosure.order == "remove"


@pytest.mark.theorem("T16-reversal")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
def test_witnesses_of_both_kinds_serve_one_step(oracle: ModuleType, order: str) -> None:
    """method="contour" where a closed form exists: a line or a path, around the closed form."""
    relation = {"remove": "remove", "add": "add", "symmetric": "replace"}[order]
    profile = privacy_profile(sampled("1/10", "1"), relation)
    for epsilon in ("1/20", "-1/20"):
        solution = profile.solve_delta(epsilon, digits=6, method="contour")
        exact = oracle.exact(oracle.single_delta(order, "0.1", 1, Fraction(epsilon)))
        assert solution.enclosure.contains(exact) and solution.enclosure.status == "certified"
        assert all(isinstance(e.witness, LineWitness | RaysWitness) for e in solution.evaluations)
        assert profile.delta(epsilon, method="closed-form").contains(exact)


def test_gaussian_is_answered_by_both_methods() -> None:
    """Closed form and contour agree."""
    order = OneDirection(privacy_profile(compose(Gaussian("1")), "remove")._orders[0].loss)
    both = [order.enclose(Fraction(1), 60.0, method, Budget(None)) for method in ("closed-form", "contour")]
    assert {a.method for a in both} == {"closed-form", "contour"}
    assert both[0].bounds.lower <= both[1].bounds.upper and both[1].bounds.lower <= both[0].bounds.upper


def test_disjoint_answers_are_an_error() -> None:
    with pytest.raises(InconsistentEnclosures):
        intersect([answer("0.1", "0.2"), answer("0.3", "0.4")])
    narrow = answer("0.25", "0.3")
    assert intersect([answer("0.125", "0.375"), narrow]) is narrow


def test_answers_that_overlap_are_intersected() -> None:
    """The lower end is one answer's, the upper one the other's, and each is named with the end that it proves."""
    left, right = answer("0.125", "0.25"), answer("0.1875", "0.375")
    both = intersect([left, right, answer("0", "1")])
    assert (both.bounds.lower, both.bounds.upper) == (arb("0.1875"), arb("0.25"))
    assert both.by_side() == [("lower", right), ("upper", left)]
    assert both.proving("lower") is right and left.proving("upper") is left
    nested = intersect([both, answer("0.2", "0.5")])
    assert nested.proving("upper") is left and nested.bounds.lower > both.bounds.lower


@pytest.mark.parametrize(
    "composition", [sampled("1/10", "1", 3), compose(PoissonSampled(Gaussian("1"), "1/2"), Gaussian("1"))])
def test_no_closed_form_is_unsupported(composition: Composition) -> None:
    profile = privacy_profile(composition, "add-or-remove")
    with pytest.raises(Unsupported):
        profile.delta("1/10", method="closed-form")
    with pytest.raises(Unsupported):
        profile.epsilon("1e-3", method="closed-form")


@pytest.mark.parametrize("quantity", ["delta", "epsilon"])
def test_a_small_budget_gives_a_wide_but_true_answer(quantity: str, work: Callable[..., int]) -> None:
    """A hard case (many frequencies) in no time: wide, said to be wide, around the true value, and with little work.

    With time enough delta takes about a million calls of functions, epsilon more than three.
    """
    profile = privacy_profile(sampled("1e-4", "3", 5), "remove")
    answers = []
    if quantity == "delta":
        inside, most = Fraction("6.81307793173655e-48"), 300_000
        cost = work(lambda: answers.append(profile.delta("1/100", max_seconds=1e-3)))
    else:
        inside, most = Fraction(1, 100), 1_000_000
        cost = work(lambda: answers.append(profile.epsilon("6.81307793173655e-48", max_seconds=1e-3)))
    (found,) = answers
    assert cost < most
    assert found.status == "wide"
    assert found.lower <= inside * (1 + Fraction(1, 10**12)) and found.upper >= inside * (1 - Fraction(1, 10**12))
    assert found.lower_decimal and found.upper_decimal and str(found)


def test_a_wide_delta_still_bounds_from_above() -> None:
    found = privacy_profile(sampled("1e-4", "3", 5), "remove").delta("1/100", max_seconds=1e-3)
    assert found.lower == 0 and found.upper < Fraction(1, 1000)


def test_long_work_is_announced() -> None:
    """Before an evaluation predicted to take more than a second, the caller is told."""
    said: list[str] = []
    order = OneDirection(privacy_profile(sampled("1/10", "1", 3), "remove")._orders[0].loss)
    budget = Budget(5.0, said.append)
    budget.say("text")
    assert said == ["text"]
    Budget(5.0).say("nobody listens")
    assert order.enclose(Fraction(1, 2), 20.0, "contour", budget).bounds.lower > 0


def test_width_bits_of_useless_bounds_is_zero() -> None:
    assert width_bits(Bounds(arb(0), arb(1), {})) == 0.0
    assert width_bits(Bounds(arb("0.5"), arb("0.5"), {})) == float("inf")
    assert abs(width_bits(Bounds(arb("0.5") - arb(2) ** -21, arb("0.5"), {})) - 20) < 0.1


def test_values_serve_other_epsilons(oracle: ModuleType) -> None:
    order = OneDirection(privacy_profile(sampled("1/10", "1"), "remove")._orders[0].loss)
    first = order.enclose(Fraction(1, 3), 30.0, "contour", Budget(20.0))
    moved = first.at(Fraction(1, 2))
    assert oracle.inside(moved.bounds, oracle.single_delta("remove", "0.1", 1, Fraction(1, 2)))


def test_bracket_without_time_is_open() -> None:
    """No time at all: at worst [0, inf), never a wrong end."""
    order = OneDirection(privacy_profile(sampled("1e-4", "3", 5), "remove")._orders[0].loss)
    bracket = bracket_epsilon(order, Fraction(1, 10**48), 12, "auto", Budget(0.0))
    lower, upper = bracket.ends
    assert lower < Fraction("0.0101") and (upper is None or upper > Fraction(1, 100))


def test_evaluation_checks_its_witness() -> None:
    loss = privacy_profile(sampled("1/10", "1", 3), "remove")._orders[0].loss
    with pytest.raises(InvalidInput, match="witness"):
        evaluate(loss, MomentWitness((Fraction(1, 2),), (Fraction(1),), Fraction(0), Fraction(0), 64))


def test_cells_past_the_most_that_are_worth_it_are_not_counted_one_by_one() -> None:
    law = LawModel(GaussianLoss(Fraction(1, 4)), -40.0)
    step = Fraction(1, 2**14)
    first, last = math.floor(law.low / step), math.ceil(law.high / step)
    full = law.strides(2.0, step, first, last, first)
    cells = sum(count for count, _ in full)
    assert law.strides(2.0, step, first, last, first, cells) == full
    short = law.strides(2.0, step, first, last, first, 50)
    assert sum(count * stride for count, stride in short) == last - first and sum(count for count, _ in short) > cells
    assert short[-1][1] == 1 and sum(count for count, _ in short[:-1]) == 50


def test_a_long_grid_ends_with_the_time() -> None:
    law = LawModel(GaussianLoss(Fraction(1, 4)), -40.0)
    with pytest.raises(OutOfTime), ending_at(-math.inf, -math.inf):
        law.strides(2.0, Fraction(1, 2**40), -(2**42), 2**42, -(2**42))


def test_no_end_of_epsilon_is_negative() -> None:
    """delta(0) is the target but for a share that few digits do not see."""
    profile = privacy_profile(compose(PoissonSampled(Gaussian(Fraction(0.1)), Fraction(0.01))), "add-or-remove")
    assert all(profile.epsilon(Fraction(0.01), digits).upper == 0 for digits in (2, 12, 30))


@pytest.mark.parametrize("ask", [
    lambda profile: profile.delta("200", method="lattice", max_seconds=1),
    lambda profile: accountant(profile, "fourier").delta("200", max_seconds=1).enclosure])
def test_an_epsilon_far_out_does_not_hang(ask: Callable[[PrivacyProfile], Enclosure]) -> None:
    """The tilt is so large there that no grid is fine enough: wide soon, where cells were counted for minutes."""
    found = ask(privacy_profile(Gaussian("2"), "remove"))
    assert found.status == "wide" and found.lower == 0 < found.upper <= 1
