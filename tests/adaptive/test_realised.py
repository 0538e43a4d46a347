"""Random adaptive sequences through every filter: what ran, composed and certified, never exceeds the budget's delta.

Each next step is proposed in view of simulated outputs of the ones that ran. The same watch is kept over filters that
were changed in ways that are easy to get wrong, and has to catch them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verified_dp import ApproximateDP, Composition, GaussianDP, Renyi, compose, privacy_profile
from verified_dp.adaptive.filters import (
    ApproximateDPFilter,
    GDPFilter,
    IndividualGDPFilter,
    IndividualRenyiFilter,
    RenyiFilter,
)

EPSILON, RECORDS, STEPS = Fraction(1), ("a", "b"), 20
Step = Any  # what the kind's filter is charged for one record


@dataclass(frozen=True)
class Kind:
    """A filter, the cost of a step of a given size, what ran as a composition, and what the budget guarantees."""

    state: Any
    cost: Callable[[Fraction], Step]
    release: Callable[[Step], Any]
    guaranteed: Callable[[Any], Fraction]
    relation: str = "add-or-remove"


def gdp_delta(state: Any) -> Fraction:
    return state.delta(EPSILON, 6).upper.as_fraction()


def renyi_delta(state: Any) -> Fraction:
    return state.profile().delta(EPSILON, 6).upper.as_fraction()


def renyi_step(*orders: int) -> Callable[[Fraction], Step]:
    """The divergences of a Gaussian step: a mu^2 / 2."""
    return lambda mu: [Fraction(order) * mu**2 / 2 for order in orders]


KINDS = {
    "gdp": Kind(GDPFilter(1), lambda mu: mu**2, lambda square: GaussianDP(RATIONAL[square]), gdp_delta, "remove"),
    "individual-gdp": Kind(IndividualGDPFilter.open(1, RECORDS), lambda mu: mu**2,
                           lambda square: GaussianDP(RATIONAL[square]), gdp_delta, "remove"),
    "renyi": Kind(RenyiFilter((3, 8), (Fraction(3, 2), 4)), renyi_step(3, 8), lambda step: Renyi((3, 8), tuple(step)),
                  renyi_delta),
    "individual-renyi": Kind(IndividualRenyiFilter.open("3/2", RECORDS, renyi_order=3), lambda mu: 3 * mu**2 / 2,
                             lambda step: Renyi((3,), (step,)), renyi_delta),
    "approximate-dp": Kind(ApproximateDPFilter(EPSILON, "1/50", "1/100"), lambda mu: (mu, mu / 100),
                           lambda step: ApproximateDP(*step), lambda state: state.delta),
}
SIZES = [Fraction(i, 20) for i in (1, 2, 4, 6, 9, 12, 16, 20, 26)]
RATIONAL = {mu**2: mu for mu in SIZES}

Rule = Callable[[Any, dict[str, Step]], tuple[Iterable[str], Any]]


def honest(state: Any, steps: dict[str, Step]) -> tuple[Iterable[str], Any]:
    """Who takes part, and the state after it, as the filter says. One that is not individual looks at "a" alone."""
    if hasattr(state, "open"):
        decision = state.charge(steps)
        return decision.active, decision.state
    step = steps["a"]
    decision = state.charge(*step) if isinstance(step, tuple) else state.charge(step)
    return ["a"] * decision.continues, decision.state


class ForgetsTheStepAboutToRun:
    """Lets a step run whenever the one before it was allowed."""

    def __init__(self) -> None:
        self.last: dict[str, Step] | None = None

    def __call__(self, state: Any, steps: dict[str, Step]) -> tuple[Iterable[str], Any]:
        before, self.last = self.last, steps
        return honest(state, before) if before else (RECORDS if hasattr(state, "open") else ["a"], state)


class OneStepTooMany:
    """Halts each record one step late."""

    def __init__(self) -> None:
        self.late: set[str] = set()

    def __call__(self, state: Any, steps: dict[str, Step]) -> tuple[Iterable[str], Any]:
        active, state = honest(state, steps)
        late = {record for record in (RECORDS if hasattr(state, "open") else ["a"])
                if record not in active and record not in self.late}
        self.late |= late
        return [*active, *late], state


def never_charges(state: Any, steps: dict[str, Step]) -> tuple[Iterable[str], Any]:
    """Looks at each step alone."""
    return honest(state, steps)[0], state


def what_ran(kind: Kind, rule: Rule, seed: int) -> dict[str, list[Step]]:
    """Record -> the costs of the steps that ran on it, in a sequence proposed in view of simulated outputs."""
    draw, state = Random(seed), kind.state
    ran: dict[str, list[Step]] = {record: [] for record in RECORDS}
    output = 0.0
    for _ in range(STEPS):
        sizes = SIZES[3:] if output > 0 else SIZES
        mus = {record: draw.choice(sizes) for record in RECORDS}
        active, state = rule(state, {record: kind.cost(mu) for record, mu in mus.items()})
        for record in active:
            ran[record].append(kind.cost(mus[record]))
        output = draw.gauss(float(mus["a"]) if "a" in active else 0, 1)
    return ran


def watch(kind: Kind, rule: Rule, seed: int) -> None:
    """The certified delta of what ran on a record is at most the budget's."""
    allowed = kind.guaranteed(kind.state)
    for steps in what_ran(kind, rule, seed).values():
        if steps:
            realised: Composition = compose(*map(kind.release, steps))
            certified = privacy_profile(realised, relation=kind.relation).delta(EPSILON, 6)
            assert certified.upper.as_fraction() <= allowed * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.theorem("T110-gdp-filter", "T111-renyi-filter", "T112-approximate-filter")
def test_what_ran_never_exceeds_the_budgets_delta(name: str) -> None:
    @given(st.integers(0, 2**32))
    @settings(max_examples=25 if name != "approximate-dp" else 8, deadline=None, database=None)
    def check(seed: int) -> None:
        watch(KINDS[name], honest, seed)

    check()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("mutant", [ForgetsTheStepAboutToRun, OneStepTooMany, lambda: never_charges],
                         ids=["forgets the step about to run", "one step too many", "never charges"])
def test_a_filter_that_lets_too_much_run_is_caught(name: str, mutant: Callable[[], Rule]) -> None:
    with pytest.raises(AssertionError):
        for seed in range(10):
            watch(KINDS[name], mutant(), seed)


@pytest.mark.parametrize("name", KINDS)
def test_the_sequences_do_run_into_the_budget(name: str) -> None:
    runs = [len(what_ran(KINDS[name], honest, seed)["a"]) for seed in range(20)]
    assert max(runs) > 1 and sum(runs) < STEPS * 20, "some run, and some are refused"
