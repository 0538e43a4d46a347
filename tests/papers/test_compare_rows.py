"""`compare` shows each row when it is there, the slowest last, and stops between methods when it is asked to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from verified_dp.cli.report_comparing import comparison_foot
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.composition import compose
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.papers import ask, comparison
from verified_dp.papers.comparison import ALL, Row, compare
from verified_dp.papers.paper import PAPER_METHODS
from verified_dp.profile import METHODS, privacy_profile
from verified_dp.search.deadline import forget_stop, stop

SAMPLED = compose((PoissonSampled(Gaussian("1"), "1/10"), 50))


@pytest.fixture
def going() -> Iterator[None]:
    """Searches run again afterwards."""
    yield
    forget_stop()


def test_every_method_has_its_place() -> None:
    assert sorted(ALL) == sorted({*METHODS, *PAPER_METHODS})


def test_rows_are_shown_when_they_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a row is shown, no later method has been asked."""
    events: list[str] = []
    told = privacy_profile(SAMPLED, "remove", progress=lambda text: events.append(text.partition(",")[0]))
    found = compare(told, "delta", "1", ("berry-esseen", "saddlepoint", "renyi", "auto"),
                    show=lambda row: events.append(f"row of {row.method.split()[0]}"))
    asked = [event for event in events if event in ALL or event.startswith("row of")]
    assert list(dict.fromkeys(asked)) == [
        text for name in ("auto", "renyi", "saddlepoint", "berry-esseen") for text in (name, f"row of {name}")]
    assert found.rows[0].method == "auto"


def test_estimates_wait_for_something_that_is_proved() -> None:
    shown: list[Row] = []
    compare(privacy_profile(SAMPLED, "remove"), "delta", "1", ("saddlepoint", "berry-esseen"), show=shown.append)
    assert shown[0].method.startswith("saddlepoint") and all(row.outside is not None for row in shown if row.estimate)


def test_the_time_is_shared_and_every_method_is_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row, or not run in time, or does not apply: never two of them, never none."""
    monkeypatch.setattr(comparison, "QUICK", 1e-9)
    monkeypatch.setattr(comparison, "LEAST", 0.02)
    found = compare(privacy_profile(SAMPLED, "remove"), "delta", "1")
    rows = {row.method.split()[0] for row in found.rows}
    assert rows | set(found.late) | set(found.refused) == set(comparison.ALL)
    assert not rows & set(found.late) and not set(found.refused) & (rows | set(found.late))
    assert not compare(privacy_profile(SAMPLED, "remove"), "delta", "1", ("auto", "renyi")).refused
    text = "\n".join(comparison_foot(replace(found, late=("lattice",), refused={"prv": "a reason"}), "epsilon = 1"))
    assert "not run in time: lattice (" in text and "do not apply:\n  prv: a reason" in text


def test_only_methods_that_answered_are_credited(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` may have used one that was not asked, or does not apply to every step: then that stands behind it."""
    profile = privacy_profile(compose((PoissonSampled(Gaussian("1"), "1/10"), 50), Gaussian("2")), "remove")
    found = compare(profile, "delta", "1", ("auto", "renyi"), digits=6)
    credited = next(line for line in comparison_foot(found, "epsilon = 1") if "proved by" in line)
    assert credited.endswith(" proved by auto (contour)")
    found = compare(profile, "delta", "1", ("auto", "contour", "renyi"), digits=6)
    enclosed = {row.method: row.enclosure for row in found.rows}
    assert enclosed["renyi"] is not None and enclosed["renyi"].upper > found.proved.upper
    assert "renyi" not in comparison_foot(found, "epsilon = 1")[1]


def test_after_an_interrupt_no_further_method_is_asked(going: None) -> None:
    found = compare(privacy_profile(SAMPLED, "remove"), "delta", "1", ("auto", "renyi", "berry-esseen"),
                    show=lambda row: stop() if row.method == "renyi" else None)
    assert [row.method for row in found.rows] == ["auto", "renyi"]


@pytest.mark.parametrize("name", [name for name in PAPER_METHODS if name != "renyi"])
def test_a_paper_s_method_without_time_has_a_moment_s_bound(name: str) -> None:
    profile = privacy_profile(SAMPLED, "add-or-remove")
    asked, truth = ask.accountant(profile, name), profile.epsilon("1e-5")
    epsilon = asked.epsilon("1e-5", max_seconds=1e-9).enclosure
    assert epsilon is not None and epsilon.methods == (name, "renyi")
    assert epsilon.lower <= truth.lower and truth.upper <= epsilon.upper and epsilon.upper < 2 * truth.upper
    late = asked.delta("1", max_seconds=1e-9)
    assert late.enclosure is not None and late.parameters == ask.LATE
    assert late.enclosure.contains(profile.delta("1", 20).lower) and late.enclosure.upper < 1


@pytest.mark.theorem("T140-bucketed-schedule")
def test_of_many_steps_a_louder_schedule_is_asked() -> None:
    steps = compose(*(PoissonSampled(Gaussian(f"1.{k:03}"), "1/50") for k in range(12)))
    profile = privacy_profile(steps, "add-or-remove")
    late = ask.accountant(profile, "prv").delta("1/20", max_seconds=1e-9).enclosure
    assert late is not None and late.lower == 0 and profile.delta("1/20").upper < late.upper < 1
