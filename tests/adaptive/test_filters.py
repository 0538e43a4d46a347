"""Filters and odometers: exact thresholds, and adaptive sequences whose true divergence the budget must bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from random import Random

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp import GaussianDP, compose, privacy_profile
from verified_dp.adaptive.budgets import (
    gdp_budget,
    gdp_delta,
    gdp_epsilon,
    last_noise,
    last_norm,
    renyi_budget,
    root_decimal,
    squared_ratio,
)
from verified_dp.adaptive.filters import (
    ApproximateDPFilter,
    GDPFilter,
    IndividualGDPFilter,
    IndividualRenyiFilter,
    RenyiFilter,
)
from verified_dp.adaptive.odometers import GDPOdometer, IndividualGDPOdometer, IndividualRenyiOdometer, RenyiOdometer
from verified_dp.adaptive.sums import Verdict
from verified_dp.core.kernel.errors import InvalidInput

TINY = Fraction(1, 10**30)
COSTS = st.fractions(min_value=0, max_value=2, max_denominator=50)
POSITIVE = st.fractions(min_value=Fraction(1, 50), max_value=4, max_denominator=50)


# Exact thresholds

@given(POSITIVE, st.lists(COSTS, max_size=6))
@settings(max_examples=50)
@pytest.mark.theorem("T110-gdp-filter", "T111-renyi-filter")
def test_a_budget_met_exactly_continues_and_one_exceeded_halts(budget: Fraction, parts: list[Fraction]) -> None:
    total = sum(parts) or Fraction(1)
    costs = [part * budget / total for part in parts] if sum(parts) else [budget]
    for state, charged in ((GDPFilter(budget), lambda s, c: s.charge(c)),
                           (RenyiFilter(("3",), (budget,)), lambda s, c: s.charge(c))):
        for cost in costs:
            decision = charged(state, cost)
            assert decision.continues
            state = decision.state
        assert charged(state, 0).continues, "a step that costs nothing always runs"
        refused = charged(state, TINY)
        assert refused.verdict is Verdict.HALT and refused.state == state


def test_the_step_about_to_run_is_counted() -> None:
    assert not GDPFilter(1).charge(1 + TINY).continues
    assert GDPFilter(1).charge(1).continues


def test_a_refused_step_costs_nothing_and_a_smaller_one_may_follow() -> None:
    state = GDPFilter("1").charge("0.6").state
    assert not state.charge("0.5").continues
    assert state.charge("0.5").state.charge("0.4").continues


def test_every_order_counts() -> None:
    state = RenyiFilter(["2", "8"], ["1", "1"]).charge(["0.1", "1"]).state
    assert not state.charge(["0.1", TINY]).continues
    assert state.charge(["0.9", 0]).state.remaining == (0, 0)


@given(POSITIVE, st.integers(1, 12), st.fractions(min_value=0, max_value=8, max_denominator=10**6))
@settings(max_examples=80)
@pytest.mark.theorem("T112-approximate-filter")
def test_the_approximate_filter_against_mpmath(epsilon: Fraction, power: int, squares: Fraction) -> None:
    with mpmath.workdps(60):
        v = mpmath.mpf(squares.numerator) / squares.denominator
        need = mpmath.sqrt(2 * v * power * mpmath.log(10)) + v / 2
        fits = bool(need <= mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    state = ApproximateDPFilter(epsilon, Fraction(1, 10**power))
    assert state._allows((squares, Fraction(0))) is fits


@pytest.mark.theorem("T112-approximate-filter")
def test_one_part_in_ten_to_the_thirty_decides_the_approximate_filter() -> None:
    with mpmath.workdps(80):
        log = 6 * mpmath.log(10)
        root = mpmath.sqrt(2 * log + 2) - mpmath.sqrt(2 * log)
        threshold = int(mpmath.floor(root**2 * mpmath.mpf(10) ** 70))
    state = ApproximateDPFilter(1, "1e-6")
    below, above = (Fraction(threshold, 10**70) * (1 + sign * TINY) for sign in (-1, 1))
    assert state._allows((below, Fraction(0))) and not state._allows((above, Fraction(0)))


def test_the_deltas_of_the_steps_are_exact_too() -> None:
    state = ApproximateDPFilter(1, "1e-6", "1e-7")
    assert state.charge("0.01", "1e-7").continues
    assert not state.charge("0.01", Fraction(1, 10**7) * (1 + TINY)).continues
    assert state.charge(0, "1e-7").continues, "nothing but a delta"
    assert state.delta == Fraction(11, 10**7)


# What the budget guarantees

def gaussian_curve(mu: float, alpha: float) -> float:
    """H_alpha(N(mu, 1) || N(0, 1))."""
    if alpha <= 0:
        return 1 - alpha if mu == 0 else 1.0
    if mu == 0:
        return max(0.0, 1 - alpha)
    log = mpmath.log(alpha)
    return float(mpmath.ncdf(-log / mu + mu / 2) - alpha * mpmath.ncdf(-log / mu - mu / 2))


def two_step_divergence(mu: float, second: Callable[[float], float], alpha: float) -> float:
    """H_alpha of (y, z): y ~ N(mu, 1) against N(0, 1), z ~ N(second(y), 1) against N(0, 1), by quadrature."""
    def inner(y: mpmath.mpf) -> float:
        ratio = float(mpmath.exp(mu * y - mu * mu / 2))
        return float(mpmath.npdf(y)) * ratio * gaussian_curve(second(float(y)), alpha / ratio)

    return float(mpmath.quad(inner, [-9, -6, -3, -1, 0, 1, 3, 6, 10], maxdegree=5))


PLANS: dict[str, Callable[[float, float], Callable[[float], float]]] = {
    "all that is left where the first output was telling": lambda left, mu: lambda y: left if y > mu / 2 else 0.0,
    "all that is left where it was not": lambda left, mu: lambda y: 0.0 if y > mu / 2 else left,
    "as much as the output": lambda left, mu: lambda y: min(left, abs(y) / 2),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("mu", "budget", "epsilon"), [("0.6", "1", "0.5"), ("1", "2", "2"), ("0.9", "1", "-0.5")])
@pytest.mark.theorem("T110-gdp-filter")
def test_no_adaptive_second_step_exceeds_the_budget(plan: str, mu: str, budget: str, epsilon: str) -> None:
    first = GDPFilter(budget).charge(Fraction(mu) ** 2)
    second = PLANS[plan](float(first.state.remaining) ** 0.5, float(Fraction(mu)))
    alpha = float(mpmath.exp(mpmath.mpf(epsilon)))
    true = two_step_divergence(float(Fraction(mu)), second, alpha)
    assert true <= float(GDPFilter(budget).delta(epsilon).upper) + 1e-6


@pytest.mark.theorem("T110-gdp-filter")
def test_a_filter_that_does_not_count_the_step_about_to_run_would_be_seen() -> None:
    """After mu^2 = 0.81 of 1 such a filter lets one more step of mu^2 = 0.81 run."""
    true = two_step_divergence(0.9, lambda y: 0.9, float(mpmath.e))
    assert true > float(GDPFilter(1).delta(1).upper) + 1e-2


def test_the_budget_is_attained_when_it_is_used_up() -> None:
    true = two_step_divergence(0.6, lambda y: 0.8, float(mpmath.e))
    assert true == pytest.approx(float(GDPFilter(1).delta(1).lower), rel=1e-4)


@given(st.lists(st.fractions(min_value=0, max_value=1, max_denominator=20), min_size=1, max_size=8),
       st.fractions(min_value=Fraction(1, 10), max_value=2, max_denominator=20),
       st.fractions(min_value=-1, max_value=4, max_denominator=10))
@settings(max_examples=60)
@pytest.mark.theorem("T110-gdp-filter")
def test_what_ran_never_exceeds_the_budget(mus: list[Fraction], budget: Fraction, epsilon: Fraction) -> None:
    """Each next mu depends on the verdicts so far; the certified delta of what ran is at most the budget's."""
    state, ran = GDPFilter(budget), []
    for mu in mus:
        mu = mu / 2 if state.spent > budget / 2 else mu
        decision = state.charge(mu**2)
        state = decision.state
        ran += [mu] if decision.continues and mu else []
    assert state.spent == sum(mu**2 for mu in ran) <= budget
    if ran:
        realised = privacy_profile(compose(*map(GaussianDP, ran)), relation="remove").delta(epsilon, 6)
        assert realised.lower <= state.delta(epsilon, 6).upper


def renyi_sum(p: list[float], q: list[float], order: float) -> float:
    """E_q (p/q)^a."""
    return sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))


@given(st.integers(0, 2**32))
@settings(max_examples=40)
@pytest.mark.theorem("T111-renyi-filter")
def test_adaptive_finite_steps_stay_within_the_renyi_budget(seed: int) -> None:
    """The second step is the dearest of a few that the filter lets run, chosen for each output of the first."""
    draw, order, budget = Random(seed), 3.0, Fraction(1)

    def law(size: int) -> list[float]:
        weights = [draw.random() + 0.05 for _ in range(size)]
        return [weight / sum(weights) for weight in weights]

    def cost(pair: tuple[list[float], list[float]]) -> float:
        return float(mpmath.log(renyi_sum(*pair, order))) / (order - 1)

    def rounded_up(value: float) -> Fraction:
        return Fraction(value) * (1 + Fraction(1, 10**9))

    first = (law(3), law(3))
    start = RenyiFilter((3,), (budget,)).charge(rounded_up(cost(first)))
    total = 0.0
    for p, q in zip(*first, strict=True):
        pairs = [(law(2), law(2)) for _ in range(6)]
        allowed = [pair for pair in pairs if start.state.charge(rounded_up(cost(pair))).continues]
        rest = max((renyi_sum(*pair, order) for pair in allowed), default=1.0)
        total += p**order * q ** (1 - order) * rest
    if start.continues:
        assert float(mpmath.log(total)) / (order - 1) <= float(budget) * (1 + 1e-9)


def test_a_filter_that_continued_on_one_order_would_be_seen() -> None:
    """Steps that are cheap at one order may be dear at the other: only both sums together hold both bounds."""
    state = RenyiFilter((2, 8), ("1", "1")).charge(["0.9", "0.1"]).state
    assert not state.charge(["0.2", "0.1"]).continues and not state.charge(["0", "1"]).continues


def excess_of_extreme_steps(start: ApproximateDPFilter, adaptive: bool, steps: int | None) -> tuple[float, int]:
    """(mass of p above e^eps q, most steps run) for steps that with probability d tell all, else answer at random.

    The adaptive plan takes smaller steps while the loss is below 0. steps: run as many, whatever the filter says.
    """
    tenths, d = {True: 1, False: 2}, Fraction(1, 1000)
    going, done, told, ran = {(0, start): (1.0, 1.0)}, 0.0, 0.0, 0
    bound = float(mpmath.exp(mpmath.mpf(start.epsilon.numerator) / start.epsilon.denominator))
    for taken in itertools.count():
        after: dict[tuple[int, ApproximateDPFilter], tuple[float, float]] = {}
        for (loss, state), (p, q) in going.items():
            size = tenths[adaptive and loss < 0]
            decision = state.charge(Fraction(size, 10), d)
            if not (decision.continues if steps is None else taken < steps):
                done += max(0.0, p - bound * q)
                continue
            ran, told = taken + 1, told + float(d) * p
            up = float(1 - d) / (1 + float(mpmath.exp(-mpmath.mpf(size) / 10)))
            down = float(1 - d) - up
            for move, a, b in ((size, up, down), (-size, down, up)):
                old = after.get((loss + move, decision.state), (0.0, 0.0))
                after[loss + move, decision.state] = (old[0] + p * a, old[1] + q * b)
        if not after:
            return done + told, ran
        going = after
    raise AssertionError


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.theorem("T112-approximate-filter")
def test_extreme_steps_stay_within_the_approximate_budget(adaptive: bool) -> None:
    state = ApproximateDPFilter(1, "1e-1", "1e-2")
    excess, ran = excess_of_extreme_steps(state, adaptive, None)
    assert ran >= 4 and excess <= float(state.delta)
    assert excess_of_extreme_steps(state, adaptive, 60)[0] > float(state.delta), "too many steps do exceed it"


@given(st.fractions(min_value=0, max_value=3, max_denominator=40), st.integers(1, 60))
@pytest.mark.theorem("T112-approximate-filter")
def test_the_moment_of_a_two_point_law(epsilon: Fraction, exponent: int) -> None:
    """cosh((2l+1) e/2) / cosh(e/2) <= e^{l(l+1) e^2/2}, the heart of T112, with equality at e = 0 only."""
    with mpmath.workdps(40):
        e, el = mpmath.mpf(epsilon.numerator) / epsilon.denominator, mpmath.mpf(exponent) / 7
        moment = mpmath.cosh((2 * el + 1) * e / 2) / mpmath.cosh(e / 2)
        assert moment <= mpmath.exp(el * (el + 1) * e * e / 2) * (1 + mpmath.mpf(10) ** -35)


# Individual filters

@given(st.lists(st.dictionaries(st.just("a") | st.just("b"), COSTS, min_size=2, max_size=2), max_size=8), POSITIVE)
@settings(max_examples=40)
@pytest.mark.theorem("T110-gdp-filter", "T111-renyi-filter")
def test_each_record_has_a_filter_of_its_own(steps: list[dict[str, Fraction]], budget: Fraction) -> None:
    state = IndividualGDPFilter.open(budget, "ab")
    same = IndividualRenyiFilter.open(budget, "ab", renyi_order=8)
    alone = {record: GDPFilter(budget) for record in "ab"}
    for costs in steps:
        decisions = {record: alone[record].charge(costs[record]) for record in "ab"}
        alone = {record: decision.state for record, decision in decisions.items()}
        decision, other = state.charge(costs), same.charge(costs)
        assert decision.active == other.active == {r for r, made in decisions.items() if made.continues}
        assert decision.halted == frozenset("ab") - decision.active
        state, same = decision.state, other.state
        assert dict(state.spent) == dict(same.spent) == {record: alone[record].spent for record in "ab"}


def test_what_a_filter_holds_is_not_changed_by_a_charge() -> None:
    state = IndividualGDPFilter.open(1, ["a"])
    state.charge({"a": 1})
    assert state.remaining("a") == 1


# Odometers

@given(POSITIVE, st.lists(COSTS, max_size=8), st.integers(1, 6))
@settings(max_examples=50)
@pytest.mark.theorem("T113-odometer")
def test_the_reading_is_at_most_m_iff_the_filter_with_m_steps_never_halts(
        step: Fraction, costs: list[Fraction], stops: int) -> None:
    odometer, renyi = GDPOdometer(step), RenyiOdometer(step, renyi_order=4)
    state, halted = GDPFilter(stops * step), False
    for cost in costs:
        odometer, renyi = odometer.charge(cost).state, renyi.charge(cost).state
        decision = state.charge(cost)
        state, halted = decision.state, halted or not decision.continues
        assert (odometer.reading <= stops) is not halted
        assert odometer.reading == renyi.reading and odometer.reached >= odometer.spent
        if halted:
            break


def test_odometer_at_the_stop_and_beyond() -> None:
    state = GDPOdometer("1/100")
    assert state.reading == 0 and state.charge("3/100").state.reading == 3
    assert state.charge(Fraction(3, 100) + TINY).state.reading == 4
    assert state.delta("0.8", stops=5).upper == GDPFilter("5/100").delta("0.8").upper
    assert state.epsilon("1e-5", stops=5).upper == gdp_epsilon("5/100", "1e-5").upper
    profile = RenyiOdometer("1/100", renyi_order=30).profile(stops=3)
    assert profile.epsilon("1e-5").upper == RenyiFilter((30,), ("3/100",)).profile().epsilon("1e-5").upper


@given(st.lists(st.dictionaries(st.just("a") | st.just("b"), COSTS, min_size=2, max_size=2), max_size=8), POSITIVE,
       st.integers(1, 6))
@settings(max_examples=40)
@pytest.mark.theorem("T113-odometer")
def test_each_record_has_an_odometer_of_its_own(steps: list[dict[str, Fraction]], delta: Fraction, stops: int) -> None:
    """A record's reading is at most m iff its filter with the budget m Delta has let every step through."""
    state, renyi = IndividualGDPOdometer.open(delta, "ab"), IndividualRenyiOdometer.open(delta, "ab", renyi_order=8)
    alone, filters = dict.fromkeys("ab", GDPOdometer(delta)), IndividualGDPFilter.open(stops * delta, "ab")
    halted: set[object] = set()
    for costs in steps:
        decision = state.charge(costs)
        assert decision.continues and decision.active == frozenset("ab") and not decision.halted
        state, renyi = decision.state, renyi.charge(costs).state
        alone = {record: alone[record].charge(costs[record]).state for record in "ab"}
        filtered = filters.charge(costs)
        filters, halted = filtered.state, halted | filtered.halted
        for record in "ab":
            assert state.reading(record) == renyi.reading(record) == alone[record].reading
            assert (state.reading(record) <= stops) is (record not in halted)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.theorem("T113-odometer")
def test_what_a_record_released_until_its_reading_exceeds_m(m: int) -> None:
    """Steps of mu = 0.9, the second larger where the first was telling: both are in only while the reading is <= m."""
    start = IndividualGDPOdometer.open("0.9", "x").charge({"x": "0.81"}).state

    def second(y: float) -> float:
        mu = Fraction(9, 10) if y < Fraction(9, 20) else Fraction(99, 100)
        return float(mu) if start.charge({"x": mu**2}).state.reading("x") <= m else 0.0

    assert two_step_divergence(0.9, second, float(mpmath.e)) <= float(start.delta(1, stops=m).upper) + 1e-6
    beyond = two_step_divergence(0.9, lambda y: 1.1, float(mpmath.e))
    assert beyond > float(start.delta(1, stops=2).upper) + 1e-3, "a reading that was rounded down would be seen"


def test_individual_odometers_say_what_one_says() -> None:
    state, renyi = (IndividualGDPOdometer.open("1/100", "a"), IndividualRenyiOdometer.open("1/100", "a", renyi_order=9))
    one = GDPOdometer("1/100")
    assert state.delta(1, 5) == one.delta(1, 5) and state.epsilon("1e-5", 5) == one.epsilon("1e-5", 5)
    same = RenyiOdometer("1/100", renyi_order=9).profile(5)
    assert renyi.profile(5).epsilon("1e-5").upper == same.epsilon("1e-5").upper
    assert state.charge({"a": Fraction(3, 100) + TINY}).state.reading("a") == 4


# Budgets and last steps

@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9), st.integers(1, 30))
@pytest.mark.theorem("T114-safe-rounding")
def test_roots_are_on_the_asked_side(number: Fraction, digits: int) -> None:
    low, high = (root_decimal(number, digits, up=up) for up in (False, True))
    assert low**2 <= number <= high**2 and (high - low) * 10 ** (digits - 1) <= low
    assert root_decimal(low**2, digits + 30, up=True) == root_decimal(low**2, digits + 30, up=False) == low


@given(POSITIVE, POSITIVE, st.integers(2, 20))
@pytest.mark.theorem("T114-safe-rounding")
def test_the_last_step_uses_up_the_budget(remaining: Fraction, norm: Fraction, digits: int) -> None:
    state, noise = GDPFilter(remaining), last_noise(remaining, norm, digits)
    assert state.charge(squared_ratio(norm, noise)).continues
    less = noise * (1 - Fraction(1, 10 ** (digits - 1)))
    assert not state.charge(squared_ratio(norm, less)).continues
    scaled = last_norm(remaining, noise, digits)
    assert state.charge(squared_ratio(scaled, noise)).continues
    assert not state.charge(squared_ratio(scaled * (1 + Fraction(1, 10 ** (digits - 1))), noise)).continues


@given(POSITIVE, st.dictionaries(st.sampled_from("abcd"), COSTS, min_size=1), POSITIVE, st.integers(2, 20))
@settings(max_examples=40)
@pytest.mark.theorem("T114-safe-rounding", "T110-gdp-filter")
def test_each_record_uses_up_its_own_budget(
        budget: Fraction, first: dict[str, Fraction], noise: Fraction, digits: int) -> None:
    """C.3 for individual filters: one noise, and each contribution scaled to what its record has left."""
    state = IndividualGDPFilter.open(budget, first).charge(first).state
    norms = {record: last_norm(state.remaining(record), noise, digits) for record in first}
    last = state.charge({record: squared_ratio(norm, noise) for record, norm in norms.items()})
    assert last.active == first.keys()
    for record, norm in norms.items():
        assert last.state.remaining(record) <= state.remaining(record) / 10 ** (digits - 1) * 2
        more = norm * (1 + Fraction(1, 10 ** (digits - 1))) or TINY
        assert record in state.charge({**dict.fromkeys(first, 0), record: squared_ratio(more, noise)}).halted


def test_a_rational_root_is_used_up_exactly() -> None:
    state = GDPFilter("1/4").charge("9/100").state
    last = state.charge(squared_ratio("0.6", last_noise(state.remaining, "0.6")))
    assert last.continues and last.state.remaining == 0
    assert squared_ratio("0.5", last_noise("1/100", "0.5")) == Fraction(1, 100)
    assert last_norm(0, 1) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [("0.8", "1e-5"), (0, "1/2"), ("30", "1e-300"), ("1e-20", "1e-25")])
@pytest.mark.theorem("T114-safe-rounding")
def test_the_budget_of_a_guarantee_is_the_largest_of_its_length(epsilon: str, delta: str) -> None:
    budget = gdp_budget(epsilon, delta, digits=5)
    unit = budget / 10**5  # at most one unit in the fifth digit
    assert gdp_delta(budget, epsilon).upper <= Fraction(delta)
    assert gdp_delta(budget + 10 * unit, epsilon).lower > Fraction(delta)
    assert GDPFilter.for_guarantee(epsilon, delta, 5) == GDPFilter(budget)


@pytest.mark.theorem("T114-safe-rounding", "T111-renyi-filter")
def test_the_renyi_budget_gives_its_guarantee() -> None:
    budget = renyi_budget("0.8", "1e-5", 27)
    state = RenyiFilter.for_guarantee("0.8", "1e-5", 27)
    assert state.budgets == (budget,)
    assert state.profile().delta("0.8").upper <= Fraction("1e-5")
    with mpmath.workdps(30):
        order = mpmath.mpf(27)
        by_hand = mpmath.mpf("0.8") + (mpmath.log("1e-5") + mpmath.log(order)) / (order - 1) - mpmath.log(1 - 1 / order)
    assert 0 <= float(by_hand) - float(budget) < 1e-11


def test_epsilon_and_delta_of_a_budget_agree() -> None:
    epsilon = gdp_epsilon("495/10000", "1e-5", 10)
    assert epsilon.lower_decimal.startswith("0.815230")
    assert gdp_delta("495/10000", epsilon.upper.as_fraction(), 8).lower <= Fraction("1e-5")
    assert gdp_delta(0, 1).upper == 0 and gdp_epsilon(0, "1e-5").upper == 0
    tiny = gdp_epsilon("1e-24", "1e-300")  # an array of 100 GB before
    assert 0 < tiny.lower <= tiny.upper < Fraction(1, 10**9)


# Wrong input

@pytest.mark.parametrize("make", [
    lambda: GDPFilter(0), lambda: GDPFilter(-1), lambda: GDPFilter("inf"), lambda: GDPFilter(None),
    lambda: GDPFilter(1, 2), lambda: GDPFilter(1).charge(-TINY), lambda: GDPFilter(1).charge("nan"),
    lambda: GDPFilter(1).charge(True), lambda: GDPFilter(1).charge(None), lambda: GDPFilter(1).charge([1]),
    lambda: RenyiFilter((1,), (1,)), lambda: RenyiFilter((2, 2), (1, 1)), lambda: RenyiFilter((), ()),
    lambda: RenyiFilter((2,), (0,)), lambda: RenyiFilter((2, 3), (1,)), lambda: RenyiFilter((2,), (1,), (2,)),
    lambda: RenyiFilter((2, 3), (1, 1)).charge("0.1"), lambda: RenyiFilter((2,), (1,)).charge(["-0.1"]),
    lambda: ApproximateDPFilter(0, "1e-6"), lambda: ApproximateDPFilter(1, 0), lambda: ApproximateDPFilter(1, 1),
    lambda: ApproximateDPFilter(1, "1e-6", 1), lambda: ApproximateDPFilter(1, "1e-6").charge("0.1", 1),
    lambda: ApproximateDPFilter(1, "1e-6", 0, (9, 0)), lambda: ApproximateDPFilter(1, "1e-6").charge(-1),
    lambda: IndividualGDPFilter.open(1, []), lambda: IndividualGDPFilter.open(1, ["a", "b", "a"]),
    lambda: IndividualGDPFilter(1, {"a": 2}), lambda: IndividualGDPFilter.open(0, ["a"]),
    lambda: IndividualGDPFilter.open(1, ["a"]).charge({}), lambda: IndividualGDPFilter.open(1, ["a"]).charge([1]),
    lambda: IndividualGDPFilter.open(1, ["a"]).charge({"a": 1, "b": 1}),
    lambda: IndividualGDPFilter.open(1, ["a"]).charge({"a": -TINY}),
    lambda: IndividualGDPFilter.open(1, ["a"]).charge({"a": "nan"}),
    lambda: IndividualGDPFilter.open(1, ["a"]).remaining("b"),
    lambda: IndividualRenyiFilter.open(1, ["a"], renyi_order=1),
    lambda: IndividualGDPOdometer.open(0, "a"), lambda: IndividualGDPOdometer.open(1, "aa"),
    lambda: IndividualGDPOdometer(1, {"a": -1}), lambda: IndividualGDPOdometer.open(1, "a").charge({"b": 1}),
    lambda: IndividualGDPOdometer.open(1, "a").charge({"a": -1}),
    lambda: IndividualGDPOdometer.open(1, "a").reading("b"),
    lambda: IndividualRenyiOdometer.open(1, "a", renyi_order=1),
    lambda: GDPOdometer(0), lambda: GDPOdometer(1).charge(-1), lambda: GDPOdometer(1).delta(1, stops=0),
    lambda: RenyiOdometer(1, renyi_order="1/2"), lambda: gdp_delta(-1, 1), lambda: gdp_delta(1, 1, 0),
    lambda: gdp_delta(1, 1, relation="neighbours"), lambda: gdp_epsilon(1, 0), lambda: gdp_budget(-1, "1e-5"),
    lambda: gdp_budget(1, 1), lambda: gdp_budget(1, "1e-5", True), lambda: renyi_budget("0.1", "1e-5", 2),
    lambda: last_noise(0, 1), lambda: last_noise(1, 0), lambda: last_norm(-1, 1), lambda: squared_ratio(1, 0),
])
def test_wrong_input_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        make()


@pytest.mark.parametrize(("make", "same"), [
    (lambda: GDPFilter(0.1), lambda: GDPFilter("0.1")),
    (lambda: GDPFilter(1).charge(0.1), lambda: GDPFilter(1).charge("0.1")),
    (lambda: RenyiFilter((2,), (1,)).charge([0.1]), lambda: RenyiFilter((2,), (1,)).charge(["0.1"])),
    (lambda: IndividualGDPFilter.open(1, ["a"]).charge({"a": 0.3}),
     lambda: IndividualGDPFilter.open(1, ["a"]).charge({"a": "0.3"})),
    (lambda: last_noise(1, 0.7), lambda: last_noise(1, "0.7"))])
def test_floats_are_the_decimals_they_print_as(make: Callable[[], object], same: Callable[[], object]) -> None:
    assert make() == same()


def test_the_error_names_the_record() -> None:
    with pytest.raises(InvalidInput, match="one is missing, got 'b'"):
        IndividualGDPFilter.open(1, "ab").charge({"a": 0})
    with pytest.raises(InvalidInput, match="'b'"):
        IndividualGDPFilter.open(1, "ab").charge({"a": 0, "b": "-1"})


def test_states_are_values() -> None:
    pairs = itertools.product((GDPFilter("1/4"), GDPFilter("0.25")), repeat=2)
    assert all(a == b and hash(a) == hash(b) for a, b in pairs)
    with pytest.raises(AttributeError):
        GDPFilter(1).spent = Fraction(1)  # type: ignore[misc]
