"""Properties that hold for every exact input, tested on corner-biased random ones.

Enclosures are compared as enclosures: "a <= b" is claimed only as lower(a) <= upper(b). Budgets are small, so that hard
inputs answer widely; that is sound, and the properties hold all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import ctx
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.enclosure import Enclosure
from verified_dp.profile import privacy_profile
from verified_dp.search.answer import width_bits
from verified_dp.search.deadline import Budget
from verified_dp.search.line import LinePlan, choose_family_nodes, choose_line, plan_line, tail_lines
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.saddle import saddle_at

SECONDS = 0.2
RELATIONS = ["remove", "add", "add-or-remove", "replace", "zero-out"]
TINY = Fraction(1, 10**9)

probabilities = st.one_of(
    st.sampled_from([Fraction(0), TINY, Fraction(1, 2), 1 - TINY, Fraction(1)]),
    st.fractions(Fraction(1, 1000), Fraction(99, 100), max_denominator=1000))
noises = st.one_of(st.sampled_from([Fraction(1, 5), Fraction(1), Fraction(50)]),
                   st.fractions(Fraction(1, 5), 50, max_denominator=20))
counts = st.one_of(st.sampled_from([1, 2, 10**6]), st.integers(1, 3000))
epsilons = st.one_of(st.sampled_from([Fraction(-2), Fraction(0), Fraction(1, 10**6), Fraction(30)]),
                     st.fractions(-2, 30, max_denominator=64))
deltas = st.one_of(st.sampled_from([Fraction(1, 10**300), 1 - TINY, Fraction(1, 2)]),
                   st.integers(1, 40).map(lambda n: Fraction(1, 2**n)))
relations = st.sampled_from(RELATIONS)
factors = st.sampled_from([1 + TINY, Fraction(11, 10), Fraction(2)])


def often(function: Callable[..., None]) -> Callable[..., None]:
    """A few examples of the property in every run, with a marked twin that tries many more."""
    return settings(max_examples=5)(function)


def steps(q: Fraction, s: Fraction, k: int) -> tuple[PoissonSampled, int]:
    return PoissonSampled(Gaussian(s), q), k


def delta(composition: Composition, relation: str, epsilon: Fraction, digits: int = 4) -> Enclosure:
    found = privacy_profile(composition, relation).delta(epsilon, digits=digits, max_seconds=SECONDS)
    assert 0 <= found.lower <= found.upper <= 1
    return found


def at_most(a: Enclosure, b: Enclosure) -> bool:
    """Whether the enclosures allow a <= b."""
    return bool(a.lower <= b.upper)


def check_precisions(q: Fraction, s: Fraction, k: int, epsilon: Fraction, relation: str) -> None:
    """Two precisions overlap; the sharper is inside [0, 1] and at least (1 - e^eps)_+."""
    coarse, fine = (delta(compose(steps(q, s, k)), relation, epsilon, digits) for digits in (3, 9))
    assert coarse.overlaps(fine)
    assert float(fine.upper) >= -math.expm1(epsilon) * (1 - 1e-12)


def check_monotone(q: Fraction, s: Fraction, k: int, epsilon: Fraction, relation: str, factor: Fraction) -> None:
    """delta falls in eps and in the noise, and grows with q and with the number of steps."""
    here = delta(compose(steps(q, s, k)), relation, epsilon)
    assert at_most(delta(compose(steps(q, s, k)), relation, epsilon + factor - 1), here)
    assert at_most(delta(compose(steps(q, s * factor, k)), relation, epsilon), here)
    assert at_most(here, delta(compose(steps(q, s, k + 1)), relation, epsilon))
    assert at_most(here, delta(compose(steps(min(q * factor, Fraction(1)), s, k)), relation, epsilon))


def check_counts(q: Fraction, s: Fraction, k: int, epsilon: Fraction, relation: str) -> None:
    """count = k is k entries, exactly: they merge before anything is computed."""
    k = min(k, 40)
    profile = privacy_profile(compose(steps(q, s, k)), relation)
    parted = privacy_profile(compose(*[steps(q, s, 1)] * k), relation)
    assert [order.loss for order in profile._orders] == [order.loss for order in parted._orders]
    halves = [steps(q, s, part) for part in (k // 2, k - k // 2) if part]
    half = privacy_profile(compose(*halves), relation)
    assert [order.loss for order in half._orders] == [order.loss for order in profile._orders]


def check_relations(q: Fraction, s: Fraction, k: int, epsilon: Fraction) -> None:
    """add-or-remove is the larger order, zero-out the same; replace is at least both (a record may contribute 0)."""
    found = {relation: delta(compose(steps(q, s, k)), relation, epsilon) for relation in RELATIONS}
    both = found["add-or-remove"]
    assert at_most(found["remove"], both) and at_most(found["add"], both)
    assert both.lower <= max(found["remove"].upper, found["add"].upper)
    assert both.overlaps(found["zero-out"])
    assert at_most(both, found["replace"])


def check_round_trip(q: Fraction, s: Fraction, k: int, target: Fraction, relation: str) -> None:
    """delta(eps_hi) <= target < delta(eps_lo), both judged by a separate evaluation of delta."""
    composition = compose(steps(q, s, k))
    found = privacy_profile(composition, relation).epsilon(target, digits=4, max_seconds=SECONDS)
    assert 0 <= found.lower <= found.upper
    if not found.upper.is_infinite:
        assert delta(composition, relation, found.upper.as_fraction()).lower <= target
    if found.lower > 0:
        assert delta(composition, relation, found.lower.as_fraction()).upper > target


@often
@given(probabilities, noises, counts, epsilons, relations)
@example(Fraction(1, 100), Fraction(1), 1000, Fraction(1), "add-or-remove")
def test_two_precisions_overlap(q: Fraction, s: Fraction, k: int, epsilon: Fraction, relation: str) -> None:
    check_precisions(q, s, k, epsilon, relation)


@often
@given(probabilities, noises, counts, epsilons, relations, factors)
@example(Fraction(1, 100), Fraction(1), 1000, Fraction(1), "remove", 1 + TINY)
def test_monotone(q: Fraction, s: Fraction, k: int, epsilon: Fraction, relation: str, factor: Fraction) -> None:
    check_monotone(q, s, k, epsilon, relation, factor)


@given(probabilities, noises, counts, epsilons, relations)
def test_count_is_that_many_entries(q: Fraction, s: Fraction, k: int, epsilon: Fraction, relation: str) -> None:
    check_counts(q, s, k, epsilon, relation)


@pytest.mark.theorem("T25-composition", "T24-pair-zero-out")
@often
@given(probabilities, noises, counts, epsilons)
@example(Fraction(1, 50), Fraction(1), 300, Fraction(-1, 2))
def test_relations_are_ordered(q: Fraction, s: Fraction, k: int, epsilon: Fraction) -> None:
    check_relations(q, s, k, epsilon)


@pytest.mark.theorem("T13-epsilon-of-delta")
@often
@given(probabilities, noises, counts, deltas, relations)
def test_epsilon_and_delta_are_inverse(q: Fraction, s: Fraction, k: int, target: Fraction, relation: str) -> None:
    check_round_trip(q, s, k, target, relation)


@pytest.mark.long
@settings(max_examples=150)
@given(probabilities, noises, counts, epsilons, relations, factors, deltas)
def test_all_properties_at_length(q: Fraction, s: Fraction, k: int, epsilon: Fraction, relation: str, factor: Fraction,
                                  target: Fraction) -> None:
    check_precisions(q, s, k, epsilon, relation)
    check_monotone(q, s, k, epsilon, relation, factor)
    check_counts(q, s, k, epsilon, relation)
    check_relations(q, s, k, epsilon)
    check_round_trip(q, s, k, target, relation)


# Two tilts, and two quadratures, of one order.

moderate = {
    "q": st.fractions(Fraction(1, 1000), Fraction(9, 10), max_denominator=1000),
    "s": st.fractions(Fraction(1, 2), 20, max_denominator=10),
    "k": st.integers(20, 10**6),
    "order": st.sampled_from(["remove", "add", "replace"]),
    "level": st.integers(1, 60),
}


def single(q: Fraction, s: Fraction, k: int, order: str) -> OneDirection:
    return OneDirection(privacy_profile(compose(steps(q, s, k)), order)._orders[0].loss)


def overlap(a: Bounds, b: Bounds) -> bool:
    return bool(a.lower <= b.upper and b.lower <= a.upper)


def at_tilt(order: OneDirection, plan: LinePlan, share: float) -> LinePlan:
    """The plan on another vertical line, with nodes for it."""
    tilt, left = plan.tilt * share, min(plan.left, plan.tilt * share / 2)
    right = max(plan.right, tilt * 1.2)
    nodes = tuple(choose_family_nodes(family, tilt, plan.bits + 20) for family in order.model.families)
    return replace(plan, tilt=tilt, excess=plan.excess + 10, step=plan.step / 2, omega=plan.omega * 2, right=right,
                   left=left, nodes=nodes, lines=[tail_lines(family, tilt) for family in order.model.families])


def check_tilts(q: Fraction, s: Fraction, k: int, order: str, level: int) -> None:
    """eps from a tilt; the line chosen there and those at 0.6 and 1.4 of it give overlapping enclosures."""
    one = single(q, s, k, order)
    tilt = 1 + level / 4
    _, mean, _ = one.model.cumulants(tilt)
    epsilon = Fraction(max(mean - 1 / tilt, 1e-3)).limit_denominator(2**20)
    assume(epsilon < one.model.largest)
    plan = plan_line(one.model, float(epsilon), saddle_at(one.model, float(epsilon), tilt), 40.0)
    assume(plan.seconds < 0.1)
    plans = [plan, *(at_tilt(one, plan, share) for share in (0.6, 1.4))]
    found = [evaluate(one.loss, choose_line(one.model, each)).delta(epsilon) for each in plans]
    assert all(overlap(a, b) for a in found for b in found)
    assert width_bits(found[0]) > 20, "no width left to tell anything"


@pytest.mark.theorem("T01-inversion", "T06-trapezoidal-enclosure", "T08-shifted-line")
@often
@given(**moderate)
def test_two_tilts_overlap(q: Fraction, s: Fraction, k: int, order: str, level: int) -> None:
    check_tilts(q, s, k, order, level)


@pytest.mark.long
@settings(max_examples=300)
@given(**moderate)
def test_two_tilts_overlap_at_length(q: Fraction, s: Fraction, k: int, order: str, level: int) -> None:
    check_tilts(q, s, k, order, level)


@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize("order", ["remove", "add", "replace"])
@pytest.mark.parametrize(
    ("q", "s", "k", "epsilon"), [("1/10", "1", 4, "1/5"), ("1/3", "2", 6, "1/2"), ("1/50", "2/3", 12, "1")])
def test_line_and_rays_overlap(
        order: str, q: str, s: str, k: int, epsilon: str) -> None:
    """Both on the same few steps, each forced; rays where the search finds any."""
    one, eps = single(Fraction(q), Fraction(s), k, order), Fraction(epsilon)
    if eps >= one.model.largest:
        eps = Fraction(one.model.largest / 2).limit_denominator(1000)
    line = one.enclose_by("line", eps, 30.0, Budget(20.0))
    rays = one.enclose_by("rays", eps, 30.0, Budget(20.0)) or line
    assert line is not None and rays is not None
    assert type(line.witness).__name__ == "LineWitness" and overlap(line.bounds, rays.bounds)
    assert order == "add" or type(rays.witness).__name__ in ("RaysWitness", "LineWitness")
    with ctx.workprec(64):
        for found in (line.bounds, rays.bounds):
            assert found.upper - found.lower < found.upper * 2.0**-28
