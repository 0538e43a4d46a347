"""The individual GDP filter in integers against exact fractions: sound, as good as it says, exact when clipped."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp.adaptive.budgets import squared_ratio
from verified_dp.adaptive.filters import IndividualGDPFilter
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.individual import array_filter
from verified_dp.individual.array_filter import ArrayGDPFilter

LOSS = 23 * Fraction(1, 2**53)


def exact_costs(norms: np.ndarray, clipping: Fraction, noise: Fraction) -> list[Fraction]:
    """mu^2 = (min(norm, clipping) / (clipping noise))^2 of every record, as fractions."""
    return [squared_ratio(min(Fraction(float(norm)), clipping), clipping * noise) for norm in norms]


def drawn_norms(rng: np.random.Generator, records: int, clipping: float) -> np.ndarray:
    """Norms of every kind: ordinary, far above the constant, at it and beside it, halves, tiny ones, zeros."""
    kinds = np.stack([clipping * rng.random(records), clipping * rng.lognormal(0, 2, records),
                      np.full(records, clipping), np.nextafter(clipping, 0) * np.ones(records),
                      np.nextafter(clipping, 9 * clipping) * np.ones(records), clipping / 2 * np.ones(records),
                      clipping * 10.0 ** -rng.uniform(0, 300, records), np.zeros(records),
                      np.full(records, 5e-324)])
    return kinds[rng.integers(0, len(kinds), records), np.arange(records)]


numbers = st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=1000)


def watch(seed: int, steps: Fraction, noise: Fraction, clipping: Fraction, one_noise: bool) -> None:
    """Norms, clipping and noise drawn step by step; the exact costs of those who took part, summed in fractions."""
    rng, records = np.random.default_rng(seed), 24
    budget = steps / 8 / noise**2
    state = ArrayGDPFilter.open(budget, records, noise)
    spent = [Fraction(0)] * records
    for t in range(1, 11):
        constant = clipping * (1 if rng.random() < 0.5 else Fraction(int(rng.integers(1, 9)), 7))
        this = noise if one_noise else noise * Fraction(int(rng.integers(50, 400)), 100)
        norms = drawn_norms(rng, records, float(constant))
        decision = state.charge(norms, constant, None if one_noise else this)
        paid = (state.left - decision.state.left).tolist()
        for i, cost in enumerate(exact_costs(norms, constant, this)):
            if decision.active[i]:
                spent[i] += cost
                assert spent[i] <= budget and cost <= paid[i] * state.unit
            else:
                assert paid[i] == 0
                assert not one_noise or spent[i] + cost > budget * (1 - LOSS) - 4 * t * state.unit
        state = decision.state


@given(st.integers(0, 2**32), numbers, numbers, numbers, st.booleans())
@settings(max_examples=40, deadline=None)
@pytest.mark.theorem("T125-array-filter", "T115-squared-sensitivity")
def test_no_record_exceeds_its_budget_and_none_is_halted_much_too_early(
        seed: int, steps: Fraction, noise: Fraction, clipping: Fraction, one_noise: bool) -> None:
    watch(seed, steps, noise, clipping, one_noise)


@given(st.integers(0, 2**32), numbers, numbers)
@settings(max_examples=20, deadline=None)
@pytest.mark.theorem("T125-array-filter", "T110-gdp-filter")
def test_it_agrees_with_the_filter_in_fractions(seed: int, steps: Fraction, noise: Fraction) -> None:
    """On norms that no sum brings within 10^-12 of the budget both filters take the same records at every step."""
    rng, records, budget = np.random.default_rng(seed), 30, (steps / 8 + Fraction(1, 7919)) / noise**2
    state = ArrayGDPFilter.open(budget, records, noise)
    exact = IndividualGDPFilter.open(budget, range(records))
    for _ in range(12):
        norms = 1.5 * rng.random(records)
        costs = exact_costs(norms, Fraction(1), noise)
        decision, other = state.charge(norms, 1), exact.charge(dict(enumerate(costs)))
        assert frozenset(np.flatnonzero(decision.active).tolist()) == other.active
        state, exact = decision.state, other.state
    left = [float(exact.remaining(i)) for i in range(records)]
    assert state.remaining == pytest.approx(left, rel=1e-9, abs=1e-12 * float(budget))


@given(st.integers(1, 60), st.fractions(min_value=0, max_value=Fraction(999, 1000)), numbers)
@settings(max_examples=30, deadline=None)
@pytest.mark.theorem("T125-array-filter", "T115-squared-sensitivity")
def test_clipped_records_take_part_in_exactly_the_steps_that_fit(steps: int, more: Fraction, noise: Fraction) -> None:
    state = ArrayGDPFilter.open((steps + more) / noise**2, 3, noise)
    norms = np.array([1.0, 1.5, 1e300])
    for _ in range(steps):
        decision = state.charge(norms, 1)
        assert decision.active.all()
        state = decision.state
    assert not state.charge(norms, 1).active.any()
    assert ((state.left == 0) == (more * 2**60 < 2**state.shift)).all()


@pytest.mark.theorem("T125-array-filter")
def test_the_example_of_the_paper_ends_at_the_step_the_budget_names() -> None:
    """sigma = 100, k = 420 of C.4: a record that is always clipped is halted at step 421, one of half the norm not."""
    state = ArrayGDPFilter.open("420/10000", 2, 100)
    counts = np.zeros(2, dtype=int)
    for _ in range(1700):
        decision = state.charge(np.array([2.0, 0.5]), 1)
        counts += decision.active
        state = decision.state
    assert counts.tolist() == [420, 1679], "1680 halves would meet the budget exactly, and they are rounded up"


@pytest.mark.parametrize(("steps", "noise"), [(Fraction(1, 2**20), 1), (1, 1), (Fraction(2**60), 1), (4, 10**6),
                                              (Fraction(3999, 1000), 1), (Fraction(2**60 - 1), Fraction(1, 2))])
@pytest.mark.theorem("T125-array-filter")
def test_nothing_overflows_at_the_ends_of_the_range(steps: Fraction, noise: Fraction) -> None:
    state = ArrayGDPFilter.open(steps / Fraction(noise) ** 2, 4, noise)
    assert 2**40 <= int(state.left[0]) < 2**62 and int(state.left[0]) == state.budget // state.unit
    norms = np.array([0.0, 1e-9, 0.7, 1.0])
    for this in (None, noise, Fraction(noise) / 2, 10**9 * noise):
        weight = (Fraction(noise) / this) ** 2 if this else Fraction(1)
        costs = (state.left - state.charge(norms, 1, this).state.left).tolist()
        active = state.charge(norms, 1, this).active
        for norm, cost, takes_part in zip(norms, costs, active, strict=True):
            square = Fraction(float(norm)) ** 2 * Fraction(2) ** (60 - state.shift)
            most = square * (weight + Fraction(1, 2**30)) * (1 + LOSS) + 10
            assert square * weight <= cost <= most if takes_part else most > int(state.left[0])


@pytest.mark.parametrize("noise_of_last", [None, "50", "77", "100", "130"])
@pytest.mark.parametrize("clipping", ["1", "0.3", "7e10"])
@pytest.mark.theorem("T125-array-filter")
def test_last_norms_use_up_the_budget(noise_of_last: str | None, clipping: str) -> None:
    """All stay active; what is left afterwards is nothing, unless the constant was reached."""
    state, rng = ArrayGDPFilter.open("1/1000", 2000, 100), np.random.default_rng(5)
    constant = float(Fraction(clipping))
    for _ in range(40):
        state = state.charge(constant * rng.uniform(0, 1.2, 2000), clipping).state
    last = state.last_norms(clipping, noise_of_last)
    decision = state.charge(last, clipping, noise_of_last)
    assert decision.active.all() and (last <= constant).all()
    exact = exact_costs(last, Fraction(clipping), Fraction(noise_of_last or 100))
    assert all(cost <= int(left) * state.unit for cost, left in zip(exact, state.left, strict=True))
    scaled = last < constant
    assert scaled.any() and (decision.state.left[scaled] <= 2.0**-29 * state._start).all()
    if noise_of_last in (None, "50", "100"):  # where the weight is exact
        assert (decision.state.left[scaled] <= 64 + 2.0**-44 * state.left[scaled]).all()


@pytest.mark.theorem("T125-array-filter")
def test_last_norms_of_little_left() -> None:
    state = ArrayGDPFilter.open(Fraction(1, 2**20), 200, 1)
    state = ArrayGDPFilter(state.budget, state.noise_multiplier, np.arange(200))
    for noise in ("1/2", "2/3", "1", "9"):
        assert state.charge(state.last_norms(1, noise), 1, noise).active.all()


# Each of these changes would be seen by the tests above: they are run on a filter that was changed so

MUTANTS: dict[str, tuple[str, Callable[..., object]]] = {
    "rounds the cost down": ("_shifted_up", lambda numbers, bits: numbers >> bits),
    "forgets what a step costs": ("square_units", lambda norms, clipping: np.zeros(len(norms), np.int64)),
    "does not widen the square": ("square_units", lambda norms, clipping: np.floor(
        (np.minimum(norms, clipping) / clipping) ** 2 * 2.0**60).astype(np.int64)),
    "adds norms and not squares": ("square_units", lambda norms, clipping: np.floor(
        np.minimum(norms, clipping) / clipping * 2.0**60).astype(np.int64)),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_filter_would_be_seen(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong = MUTANTS[mutant]
    monkeypatch.setattr(array_filter, name, wrong)
    with pytest.raises(AssertionError):
        for seed in range(20):
            watch(seed, Fraction(20 + 10**4 * seed), Fraction(2), Fraction(seed + 1, 3), one_noise=seed % 2 == 0)


def test_states_and_masks_are_values() -> None:
    start = ArrayGDPFilter.open(1, 3, 1)
    before = start.left.copy()
    decision = start.charge(np.ones(3), 1)
    assert (start.left == before).all() and (decision.state.left == 0).all()
    assert decision.continues and decision.verdict == "continue"
    for array in (start.left, decision.active):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_single_precision_is_read_exactly() -> None:
    state, norms = ArrayGDPFilter.open(1, 50, 1), np.random.default_rng(1).random(50, dtype=np.float32)
    assert (state.charge(norms, 1).state.left == state.charge(norms.astype(np.float64), 1).state.left).all()


def test_the_guarantee_is_the_budgets() -> None:
    state, exact = ArrayGDPFilter.open("1/4", 1, 9), IndividualGDPFilter.open("1/4", "a")
    assert state.delta(1) == exact.delta(1) and state.epsilon("1e-5") == exact.epsilon("1e-5")


GOOD = ArrayGDPFilter.open(1, 2, 1)


@pytest.mark.parametrize("make", [
    lambda: ArrayGDPFilter.open(0, 2, 1), lambda: ArrayGDPFilter.open(1, 0, 1), lambda: ArrayGDPFilter.open(1, "x", 1),
    lambda: ArrayGDPFilter.open(1, 2, 0), lambda: ArrayGDPFilter.open("1e-9", 2, 1),
    lambda: ArrayGDPFilter.open(2**61, 2, 1), lambda: ArrayGDPFilter(1, 1, [1]),
    lambda: ArrayGDPFilter(1, 1, np.array([-1])), lambda: ArrayGDPFilter(1, 1, np.array([2**62])),
    lambda: ArrayGDPFilter(1, 1, np.array([1.0])), lambda: ArrayGDPFilter(1, 1, np.array([], dtype=np.int64)),
    lambda: GOOD.charge(np.array([1.0, -1.0]), 1), lambda: GOOD.charge(np.array([1.0, np.nan]), 1),
    lambda: GOOD.charge(np.array([1.0, np.inf]), 1), lambda: GOOD.charge(np.array([1.0]), 1),
    lambda: GOOD.charge([1.0, 1.0], 1), lambda: GOOD.charge(np.array([1, 1]), 1),
    lambda: GOOD.charge(np.ones(2, np.longdouble), 1), lambda: GOOD.charge(np.ones((2, 1)), 1),
    lambda: GOOD.charge(np.ones(2), 0), lambda: GOOD.charge(np.ones(2), "1e31"),
    lambda: GOOD.charge(np.ones(2), 1, "0.499"), lambda: GOOD.charge(np.ones(2), 1, 0), lambda: GOOD.last_norms(-1),
])
def test_wrong_input_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        make()


def test_errors_name_the_record() -> None:
    with pytest.raises(InvalidInput, match=r"norms\[1\] must be a finite number >= 0, got nan"):
        GOOD.charge(np.array([1.0, np.nan]), 1)


@pytest.mark.long
def test_a_million_records_take_no_more_calls_than_ten(work: Callable[[Callable[[], object]], int]) -> None:
    """Whole arrays at a time: nothing is called record by record."""
    costs = []
    for size in (10, 10**6):
        norms, state = np.full(size, 0.5), ArrayGDPFilter.open("1/100", size, 100)
        costs.append(work(lambda state=state, norms=norms: state.charge(norms, 1)))  # type: ignore[misc]
    assert costs[1] == costs[0]
