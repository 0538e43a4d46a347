"""A stated time is kept, and what is proved within it is useful: no end is infinite where a moment exists."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest

from verified_dp.calibration import calibrate
from verified_dp.certificate import build_certificate
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.composition import Claim, Composition, Relation, Spec, compose
from verified_dp.core.kernel.errors import Undecided
from verified_dp.core.kernel.mechanisms import Gaussian, Release
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.profile import privacy_profile
from verified_dp.search.deadline import (
    GRACE,
    LEAST,
    Budget,
    OutOfTime,
    check_time,
    ending_at,
    forget_stop,
    hurrying,
    stop,
    timed,
)
from verified_dp.search.expansion import ExpansionCurve

TICK = Fraction(1, 8000)


def schedule(steps: int) -> Composition:
    """Steps that all differ."""
    return compose(*((PoissonSampled(Gaussian(Fraction(110 + k, 100)), "1/100"), 10) for k in range(steps)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[itertools.count[int]]:
    """Moves by a tick whenever it is read: the work between two looks counts, not the machine."""
    ticks = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks) * TICK))
    yield ticks


def test_many_distinct_steps_end_with_their_budget(clock: itertools.count[int]) -> None:
    found = privacy_profile(schedule(60), "add-or-remove").solve_epsilon("1e-5", max_seconds=0.05).enclosure
    assert found.status == "wide" and "renyi" in found.methods
    assert next(clock) * TICK < 1.1 * 0.05 + 0.3
    assert not found.upper.is_infinite and found.upper < Fraction(6, 5)  # the truth is above 0.7


def test_delta_is_below_one_when_time_is_short(clock: itertools.count[int]) -> None:
    found = privacy_profile(schedule(60), "add-or-remove").delta(1, max_seconds=1)
    assert next(clock) * TICK < 1.1 + 0.3
    assert found.upper < Fraction(1, 10**4)


def test_a_short_time_and_a_long_one_agree() -> None:
    """Wide ends hold the narrow ones."""
    profile = privacy_profile(schedule(6), "add-or-remove")
    narrow, wide = profile.epsilon("1e-5", 6), profile.epsilon("1e-5", 6, max_seconds=1e-6)
    assert narrow.status == "certified" and wide.status == "wide"
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper and not wide.upper.is_infinite
    narrow, wide = profile.delta(1, 6), profile.delta(1, 6, max_seconds=1e-6)
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper < 1


def test_a_certificate_of_a_short_time_verifies() -> None:
    """Proved by one moment, which says enough about a claim with room."""
    claim = Claim("a schedule", "", Fraction(2), Fraction(1, 10**5), "2", "1e-5")
    spec = Spec(Relation.ADD_OR_REMOVE, schedule(6), claim)
    solutions = privacy_profile(spec).solve_claim(claim, 6, max_seconds=1e-6)
    document = build_certificate(spec, *solutions)
    assert document["verdict"] == "proved" and verify(document).valid
    assert "renyi" in {entry["method"] for entry in document["evaluations"]}


@pytest.mark.parametrize("method", ["contour", "lattice"])
def test_a_method_that_was_asked_for_is_the_only_one(method: str) -> None:
    found = privacy_profile(schedule(3), "remove").delta(1, 6, method, max_seconds=1e-6)
    assert "renyi" not in found.methods


@pytest.mark.parametrize("mechanism", [DiscreteGaussian("4", 1), MixtureOfGaussians("2", ("0", "1"), ("1/2", "1/2"))])
def test_what_only_the_lattice_composes_has_finite_ends(mechanism: Release) -> None:
    profile = privacy_profile(compose((mechanism, 20)), "remove")
    short, long = (profile.epsilon("1e-5", 3, max_seconds=seconds) for seconds in (1e-6, None))
    assert short.lower <= long.lower and long.upper <= short.upper < 2 * long.upper


def test_items_are_given_until_the_deadline() -> None:
    given = list[int]()
    with pytest.raises(OutOfTime), ending_at(float("inf")):
        for item in timed(range(10)):
            given.append(item)
            if item == 3:
                stop()
    forget_stop()
    assert given == [0, 1, 2, 3] and list(timed("ab")) == ["a", "b"]
    with pytest.raises(OutOfTime), ending_at(time.perf_counter() + 1000):
        check_time(2000)


def test_deadlines_nest_and_end() -> None:
    with pytest.raises(OutOfTime), ending_at(0.0):
        check_time()
    check_time()
    with ending_at(0.0, float("inf")), hurrying():
        check_time()
    with pytest.raises(OutOfTime), ending_at(0.0), ending_at(float("inf")):
        check_time()


def test_only_a_stated_time_is_a_deadline() -> None:
    assert Budget(None).end == float("inf") and Budget(5).end < float("inf")


@pytest.mark.parametrize("method", ["auto", "contour"])
def test_long_evaluations_look_at_the_clock_at_every_law(method: str) -> None:
    """A moment, a line: what `between` raises gives them up."""
    profile, laws = privacy_profile(schedule(6), "remove"), 6
    seconds = 1e-6 if method == "auto" else None
    found = profile.solve_delta(1, 3, method, seconds).evaluations[0]
    assert found.witness.kind == ("node-moment" if method == "auto" else found.witness.kind)
    looks = list[int]()
    evaluate(profile.losses[0], found.witness, lambda: looks.append(1))
    assert len(looks) >= 2 * laws

    def stop_in_the_middle() -> None:
        looks.pop()
        if len(looks) < laws:
            raise OutOfTime

    with pytest.raises(OutOfTime):
        evaluate(profile.losses[0], found.witness, stop_in_the_middle)


def test_a_cheap_bound_has_a_deadline_of_its_own() -> None:
    with hurrying(), ending_at(0.0, time.perf_counter() + 1000):
        check_time()
        with pytest.raises(OutOfTime):
            check_time(2000)
    with pytest.raises(OutOfTime), hurrying(), ending_at(0.0, 0.0):
        check_time()


def test_expansions_stop_with_their_time() -> None:
    loss, = privacy_profile(schedule(2), "remove").losses
    with pytest.raises(OutOfTime), ending_at(0.0):
        ExpansionCurve(loss, 3).expansion(3, Fraction(1), 1.0)


def test_after_a_stop_the_cheap_bounds_have_their_time_from_the_first_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    stop()
    try:
        now[0] = 100.0  # a long product in between
        with pytest.raises(OutOfTime):
            check_time()
        with hurrying():
            check_time()
            now[0] += GRACE + 0.01
            with pytest.raises(OutOfTime):
                check_time()
        with pytest.raises(OutOfTime):
            check_time()
        with hurrying(), pytest.raises(OutOfTime):
            check_time()
    finally:
        forget_stop()


def test_a_cheap_bound_has_a_little_time_after_a_search_that_saw_its_deadline_late(
        monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    with ending_at(1.0, 2.0):
        now[0] = 50.0  # a long product in between
        with hurrying():
            check_time()
        now[0] += LEAST + 0.01
        with ending_at(60.0), hurrying(), pytest.raises(OutOfTime):  # once for all that is asked within
            check_time()
    with ending_at(60.0), hurrying():
        check_time()


@pytest.mark.theorem("T13-epsilon-of-delta")
@pytest.mark.parametrize(("solve", "seconds"), [("noise_multiplier", 0.3), ("count", 0.05)])
def test_a_calibration_that_is_cut_short_keeps_what_it_proved(
        clock: itertools.count[int], solve: str, seconds: float) -> None:
    spec = Spec(Relation.REPLACE, compose((PoissonSampled(Gaussian("1.1"), "1/100"), 5000)))
    start = next(clock)
    found = calibrate(spec, solve=solve, epsilon=4, delta="1e-5", digits=20, max_seconds=seconds)
    assert (next(clock) - start) * TICK < seconds + 1
    sharp = calibrate(spec, solve=solve, epsilon=4, delta="1e-5")
    assert (found.status, sharp.status) == ("wide", "certified")
    assert found.at_value.upper <= 4 and privacy_profile(found.met).delta(4, 25).upper <= found.target.delta
    assert found.value >= sharp.neighbour if solve == "noise_multiplier" else found.value <= sharp.neighbour
    if found.missed is not None:
        assert found.at_neighbour.lower >= 4 and privacy_profile(found.missed).delta(4, 25).lower > found.target.delta


def test_a_calibration_without_any_proof_in_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.perf_counter", itertools.count().__next__)
    spec = Spec(Relation.REMOVE, compose((PoissonSampled(Gaussian("0.6"), "1/100"), 10**5)))
    with pytest.raises(Undecided, match="no noise_multiplier is proved to meet the target in the time"):
        calibrate(spec, solve="noise_multiplier", epsilon="1/100", delta="1e-5", max_seconds=1)


@pytest.mark.parametrize("relation", ["remove", "add-or-remove"])
def test_rates_that_are_cut_short_hold_the_sharp_ones(clock: itertools.count[int], relation: str) -> None:
    profile, start = privacy_profile(schedule(3), relation), next(clock)
    short = profile.tradeoff(max_seconds=Fraction(1, 8))
    wide, again, advantage = short.beta("1/10"), short.tpr("1/100"), short.advantage()
    assert (next(clock) - start) * TICK < Fraction(1, 8) + 1
    sharp = profile.tradeoff()
    narrow = sharp.beta("1/10"), sharp.tpr("1/100"), sharp.advantage()
    assert wide.status == "wide" and wide.lower > Fraction(1, 2)
    assert all(one.lower <= best.lower and best.upper <= one.upper
               for one, best in zip((wide, again, advantage), narrow, strict=True))


def test_a_ctrl_c_ends_calibrations_and_rates() -> None:
    stop()
    try:
        found = calibrate(Spec(Relation.ADD, schedule(1)), solve="noise_multiplier", epsilon=1, delta="1e-5")
        rates = privacy_profile(schedule(2), "add").tradeoff().beta("1/10")
    finally:
        forget_stop()
    assert found.status == rates.status == "wide" and found.at_value.upper <= 1
