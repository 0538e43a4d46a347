"""A schedule lies between two of few steps, and nothing is certified with them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import pytest

from verified_dp.certificate import build_certificate
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.composition import Claim, Composition, Relation, Spec, compose
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.profile import privacy_profile
from verified_dp.search.buckets import buckets, round_schedule

TICK = Fraction(1, 6000)


def schedule(*steps: tuple[str, str, int]) -> Composition:
    return compose(*((PoissonSampled(Gaussian(noise), q), count) for noise, q, count in steps))


def falling(steps: int) -> Composition:
    """Noise that falls by a ten-thousandth from step to step."""
    noises = (round(Fraction(3, 2) * Fraction(9999, 10000) ** i, 12) for i in range(steps))
    return compose(*(PoissonSampled(Gaussian(noise), "1/100") for noise in noises))


THREE = schedule(("1.1", "0.02", 3), ("1.3", "0.01", 5), ("1.2", "0.03", 2))


@pytest.mark.theorem("T140-bucketed-schedule")
@pytest.mark.parametrize("eps", ["0", "1/20", "-1/20"])
@pytest.mark.parametrize("relation", ["remove", "add", "replace"])
def test_a_schedule_lies_between_its_roundings(relation: str, eps: str) -> None:
    less, more = round_schedule(THREE, 1)
    below, truth, above = (privacy_profile(one, relation).delta(eps, 15) for one in (less, THREE, more))
    assert below.upper < truth.lower and truth.upper < above.lower


@pytest.mark.theorem("T140-bucketed-schedule")
def test_of_groups_the_noise_alone_is_rounded() -> None:
    group = THREE.for_groups(2)
    below, above = round_schedule(group, 1)
    assert below.group_size == above.group_size == 2
    assert {m.mechanism.probability for m, _ in below.parts} == {m.probability for m, _ in THREE.parts}  # type: ignore[union-attr]
    equally_often = schedule(("1.1", "0.2", 3), ("1.2", "0.2", 1)).for_groups(2)
    assert round_schedule(equally_often, 1)[1] == schedule(("1.1", "0.2", 4)).for_groups(2)
    ends = [privacy_profile(schedule((noise, "0.2", 1)).for_groups(2), "remove").delta("1/2", 4)
            for noise in ("1.2", "1.15", "1.1")]
    assert ends[0].upper < ends[1].lower and ends[1].upper < ends[2].lower


@pytest.mark.theorem("T140-bucketed-schedule")
def test_a_bucket_takes_its_extremes_and_keeps_its_counts() -> None:
    below, above = round_schedule(THREE, 1)
    assert below == schedule(("1.3", "0.01", 10)) and above == schedule(("1.1", "0.03", 10))


def test_numbers_with_long_denominators_are_rounded_outward() -> None:
    noise, q = 1 + Fraction(1, 3) ** 90, Fraction(1, 2) + Fraction(1, 3) ** 90
    below, above = round_schedule(compose(PoissonSampled(Gaussian(noise), q)), 1)
    (quiet, _), (loud, _) = below.parts[0], above.parts[0]
    assert loud.mechanism.noise_multiplier < noise < quiet.mechanism.noise_multiplier  # type: ignore[union-attr]
    assert quiet.probability < q < loud.probability  # type: ignore[union-attr]


def test_more_buckets_share_fewer_steps_and_the_rest_is_left_alone() -> None:
    mixed = compose(THREE, Laplace("10", 1), Gaussian("3"), (PoissonSampled(Gaussian("2"), "1"), 2))
    sizes = [len(buckets(mixed, fineness)[0]) for fineness in (1, 2, 1000)]
    assert sizes == [1, 2, 3]
    assert [mechanism for mechanism, _ in buckets(mixed, 1)[1]] == [m for m, _ in mixed.parts[3:]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[itertools.count[int]]:
    """Moves by a tick whenever it is read."""
    ticks = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks) * TICK))
    yield ticks


@pytest.mark.parametrize("steps", [200, 400])
def test_both_ends_are_useful_soon(clock: itertools.count[int], steps: int) -> None:
    profile = privacy_profile(falling(steps), "add-or-remove")
    epsilon = profile.epsilon("1e-5", max_seconds=1)
    assert epsilon.method == "buckets" and epsilon.status == "wide"
    assert 0 < epsilon.lower < epsilon.upper < epsilon.lower * Fraction(11, 10)
    delta = profile.delta("1/2", max_seconds=1)
    assert 0 < delta.lower < delta.upper < delta.lower * 2
    assert next(clock) * TICK < 2 * Fraction(11, 10)


def test_the_schedules_own_laws_agree_with_its_buckets() -> None:
    profile = privacy_profile(falling(12), "remove")
    wide, narrow = profile.epsilon("1e-5", 6, max_seconds=0.5), profile.solve_epsilon("1e-5", 6).enclosure
    assert narrow.status == "certified"
    assert wide.lower <= narrow.upper and narrow.lower <= wide.upper
    assert wide.method != "buckets" or (wide.lower <= narrow.lower and narrow.upper <= wide.upper)


@pytest.mark.parametrize("steps", [12, 300])
def test_nothing_is_certified_with_buckets(clock: itertools.count[int], steps: int) -> None:
    """A certificate evaluates the claim's own laws, with whatever time they leave; what is shown may be narrower."""
    claim = Claim("a schedule", "", Fraction(2), Fraction(1, 10**5), "2", "1e-5")
    spec = Spec(Relation.ADD_OR_REMOVE, falling(steps), claim)
    delta, epsilon = privacy_profile(spec).solve_claim(claim, 6, max_seconds=1)
    assert next(clock) * TICK < 2
    document = build_certificate(spec, delta, epsilon)
    assert verify(document).valid and document["verdict"] == ("proved" if steps == 12 else "undecided")
    assert {entry["method"] for entry in document["evaluations"]} <= {"renyi", "contour", "closed-form"}
    assert ("buckets" in epsilon.enclosure.methods) == (steps == 300)  # 12 steps are done in time
    assert epsilon.enclosure.lower < epsilon.enclosure.upper < 5


@pytest.mark.theorem("T140-bucketed-schedule")
def test_a_bucket_may_have_more_steps_than_a_part() -> None:
    often = schedule(*((str(1000 + i), "1e-9", 10**12) for i in range(24)))
    for rounded in round_schedule(often, 2):
        assert 2 <= len(rounded.merged()) <= 3 and sum(count for _, count in rounded.parts) == 24 * 10**12
    assert privacy_profile(often, "remove").epsilon("1e-5", 3, max_seconds=4).upper < 1
