"""The papers' methods behind one facade: the larger order, reversal, epsilon by bracketing, estimates, comparison.

The methods here are made for the tests: the Gaussian's closed form with a margin, so that the truth is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import pytest

from verified_dp import ZCDP, DiscreteGaussian, Finite, Gaussian, Laplace, PoissonSampled, compose, privacy_profile
from verified_dp.cli.report_comparing import comparison_foot, row_line
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InconsistentEnclosures, InvalidInput, Unsupported
from verified_dp.core.kernel.gaussian import enclose_gaussian_profile
from verified_dp.enclosure import Enclosure
from verified_dp.papers import accountant, paper
from verified_dp.papers.ask import PaperResult
from verified_dp.papers.comparison import compare
from verified_dp.papers.paper import PAPER_METHODS, PaperAnswer, paper_method
from verified_dp.profile import PrivacyProfile
from verified_dp.search.deadline import Budget

MARGIN = Fraction(1, 10**6)


@dataclass(frozen=True)
class Margin:
    """delta of Gaussian steps up to a margin; an estimate that is too large by `excess`."""

    name: ClassVar[str] = "margin"
    excess: Fraction = Fraction(0)
    shift: Fraction = Fraction(0)
    bounded: bool = True
    only: str = ""

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> MarginCurve:
        if self.only and loss.order != self.only:
            raise Unsupported(f"for the order {self.only} only")
        return MarginCurve(loss, self)


@dataclass(frozen=True)
class MarginCurve:
    loss: ComposedLoss
    method: Margin

    def delta(self, epsilon: Fraction) -> PaperAnswer:
        truth = enclose_gaussian_profile(self.loss.mean_shift_squared, ball(epsilon)) + ball(self.method.shift)
        around = Bounds(truth.lower() - ball(MARGIN), truth.upper() + ball(MARGIN), {"margin": ball(2 * MARGIN)})
        estimate = (truth * (1 + ball(self.method.excess))).mid().str(15, radius=False)
        return PaperAnswer(around if self.method.bounded else None, estimate, "made for a test",
                           {"excess": str(self.method.excess)}, {"twice": (2 * truth).mid().str(15, radius=False)})


PROFILE = privacy_profile(Gaussian("2"), "add-or-remove")
SAMPLED = privacy_profile(compose((PoissonSampled(Gaussian("1"), "1/10"), 50)), "add-or-remove")
ONE_LAW = "both are the same law, computed once"


def ask(method: Margin) -> PaperResult:
    return accountant(PROFILE, method).delta("1/2")


def enclosed(result: PaperResult) -> Enclosure:
    assert result.enclosure is not None
    return result.enclosure


def test_delta_holds_the_truth_and_names_what_was_used() -> None:
    result = ask(Margin())
    assert enclosed(result).contains(PROFILE.delta("1/2", digits=15).lower)
    assert result.parameters == {"excess": "0", "orders": ONE_LAW} and set(enclosed(result).budget) == {"margin"}
    assert enclosed(result).relation == "add-or-remove" and "noise_multiplier" in enclosed(result).convention


@pytest.mark.theorem("T16-reversal")
@pytest.mark.parametrize("epsilon", ["-1/2", "-3", "0", "4"])
def test_delta_at_any_real_epsilon(epsilon: str) -> None:
    result = accountant(PROFILE, Margin()).delta(epsilon)
    truth = PROFILE.delta(epsilon, digits=15)
    assert enclosed(result).contains(truth.lower) and enclosed(result).contains(truth.upper)
    assert result.estimate is not None
    assert abs(float(result.estimate.value) - float(truth.lower)) < 1e-12


@pytest.mark.theorem("T13-epsilon-of-delta")
def test_epsilon_is_bracketed_no_closer_than_the_margin_allows() -> None:
    result = accountant(PROFILE, Margin()).epsilon("1e-5", digits=6)
    truth = PROFILE.epsilon("1e-5", digits=15)
    assert enclosed(result).contains(truth.lower)
    lower, upper = (PROFILE.delta(end.as_fraction()) for end in (enclosed(result).lower, enclosed(result).upper))
    almost = MARGIN * 999 / 1000
    assert upper.upper < Fraction(1, 10**5) - almost and lower.lower > Fraction(1, 10**5) + almost
    assert result.estimate is not None and result.estimate.value.startswith(truth.certain_digits[:8])


@pytest.mark.theorem("T13-epsilon-of-delta")
def test_epsilon_without_a_proof_is_one_moment_s() -> None:
    """Where the margin exceeds delta the method never proves an eps."""
    result = accountant(PROFILE, Margin()).epsilon("1e-7")
    found, truth = enclosed(result), PROFILE.epsilon("1e-7")
    assert found.methods == ("margin", "renyi") and truth.upper <= found.upper < 2 * truth.upper
    assert 0 < enclosed(result).lower < PROFILE.epsilon("1e-7").lower


def test_epsilon_zero_where_delta_is_met_at_once() -> None:
    result = accountant(PROFILE, Margin()).epsilon("1/2")
    assert enclosed(result).lower == 0 and enclosed(result).upper == 0


def test_estimates_only() -> None:
    result = ask(Margin(bounded=False))
    assert result.enclosure is None and result.estimate is not None and set(result.estimates) == {"twice"}


@pytest.mark.theorem("T25-composition")
def test_both_orders_are_needed() -> None:
    with pytest.raises(Unsupported, match="order remove"):
        accountant(SAMPLED, Margin(only="remove")).delta("1/2")
    one = accountant(privacy_profile(Gaussian("2"), "remove"), Margin(only="remove"))
    assert enclosed(one.delta("1")).order == "remove"


@dataclass(frozen=True)
class ByOrder(Margin):
    """The curve of a Gaussian whose mu^2 depends on the order."""

    remove: Fraction = Fraction(1, 4)
    add: Fraction = Fraction(1, 4)

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> MarginCurve:
        return MarginCurve(ComposedLoss(loss.order, (), getattr(self, loss.order)), self)


ABOVE = Fraction(1, 4) + Fraction(1, 10**7)
"""Of a delta which is larger than that of 1/4, by less than the margin."""


@pytest.mark.parametrize(("method", "order"), [
    (ByOrder(remove=Fraction(1, 3)), "remove"), (ByOrder(add=Fraction(1, 3)), "add"), (ByOrder(), "both"),
    (ByOrder(remove=ABOVE), "both"), (ByOrder(add=ABOVE), "both")])
def test_an_order_is_named_where_it_is_proved_the_larger(method: ByOrder, order: str) -> None:
    asked = accountant(SAMPLED, method)
    assert enclosed(asked.delta("1")).order == enclosed(asked.epsilon("1e-5")).order == order
    assert enclosed(asked.delta("-1")).order == {"remove": "add", "add": "remove", "both": "both"}[order]


@dataclass(frozen=True)
class Flat(ByOrder):
    """In the add order delta is 1e-4 at every eps, more than in the other where eps is large."""

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> MarginCurve:
        kind = MarginCurve if loss.order == "remove" else FlatCurve
        return kind(ComposedLoss(loss.order, (), Fraction(1, 4)), self)


class FlatCurve(MarginCurve):
    def delta(self, epsilon: Fraction) -> PaperAnswer:
        return PaperAnswer(Bounds(*[ball(Fraction(1, 10**4))] * 2, {}))


def test_the_order_of_epsilon_is_that_of_its_ends() -> None:
    """Where the bracket of eps starts, the add order has the larger delta."""
    asked = accountant(SAMPLED, Flat())
    assert enclosed(asked.delta(SAMPLED.guess_epsilon(Fraction(1, 1000)))).order == "add"
    assert enclosed(asked.epsilon("1e-3")).order == "remove"


@pytest.mark.theorem("T16-reversal")
@pytest.mark.parametrize("name", ["fourier", "prv", "renyi"])
def test_no_order_is_the_larger_at_zero(name: str) -> None:
    asked = accountant(SAMPLED, name)
    assert enclosed(asked.delta("0")).order == "both"
    assert enclosed(asked.delta("1")).order == ("both" if name == "renyi" else "remove")


@dataclass(frozen=True)
class Counted(Margin):
    """Notes for which order a curve is made."""

    asked: list[str] = field(default_factory=list)

    def curve(self, loss: ComposedLoss, epsilon: Fraction, digits: int, budget: Budget) -> MarginCurve:
        self.asked.append(loss.order)
        return super().curve(loss, epsilon, digits, budget)


@pytest.mark.parametrize(("profile", "positive", "negative"), [
    (PROFILE, ["remove"], ["add"]),
    (privacy_profile(compose((Laplace("20", 1), 9), DiscreteGaussian("4", 1)), "zero-out"), ["remove"], ["add"]),
    (SAMPLED, ["remove", "add"], ["add", "remove"]),
    (privacy_profile(Finite(["3/4", "1/4"], ["1/2", "1/2"]), "add-or-remove"), ["remove", "add"],
     ["add", "remove"]),
    (privacy_profile(Gaussian("2"), "replace"), ["symmetric"], ["symmetric"]),
])
def test_one_law_is_asked_once(profile: PrivacyProfile, positive: list[str], negative: list[str]) -> None:
    for run, asked in ((lambda one: one.delta("1"), positive), (lambda one: one.delta("-1"), negative),
                       (lambda one: one.epsilon("1e-5", digits=2), positive)):
        method = Counted()
        result = run(accountant(profile, method))
        assert method.asked == asked
        one_law = len(asked) == 1 and profile.relation != "replace"
        assert result.parameters.get("orders") == (ONE_LAW if one_law else None)


@pytest.mark.parametrize("name", ["fourier", "renyi", "berry-esseen"])
@pytest.mark.parametrize("epsilon", ["1", "-1"])
def test_one_law_gives_what_two_orders_give(name: str, epsilon: str) -> None:
    """The same ends as either order alone, which the other relations ask for."""
    noise = compose((Laplace("5", 1), 20))
    both = enclosed(accountant(privacy_profile(noise, "add-or-remove"), name).delta(epsilon))
    alone = [enclosed(accountant(privacy_profile(noise, order), name).delta(epsilon)) for order in ("remove", "add")]
    assert both.order == "both"
    assert {(one.lower, one.upper) for one in alone} == {(both.lower, both.upper)}


def test_wrong_input() -> None:
    with pytest.raises(InvalidInput, match="method must be one of"):
        paper_method("fast")
    for digits in (0, True, 1.5, 1001):
        with pytest.raises(InvalidInput, match="digits"):
            accountant(PROFILE, Margin()).delta("1", digits=digits)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="delta"):
        accountant(PROFILE, Margin()).epsilon("0")
    with pytest.raises(InvalidInput, match="method"):
        PROFILE.solve_delta("1", method="magic")
    with pytest.raises(InvalidInput, match=r"verified_dp\.papers\.accountant"):
        PROFILE.delta("1", method="fourier")


@pytest.mark.parametrize(("text", "hint", "value"), [
    ("12", Fraction | None, Fraction(12)), ("1/3", Fraction, Fraction(1, 3)), ("5", int | None, 5),
    ("true", bool, True), ("asoodeh", str, "asoodeh"), (7, int, 7),
])
def test_parameters_are_read_by_their_type(text: object, hint: object, value: object) -> None:
    assert paper._read(text, hint, "m.x") == value


@pytest.mark.parametrize(("text", "hint"), [("x", Fraction), ("1/2", int), ("yes", bool), ("", int), ("nan", int)])
def test_wrong_parameters(text: str, hint: object) -> None:
    with pytest.raises(InvalidInput, match=r"m\.x must be"):
        paper._read(text, hint, "m.x")


class Fixture:
    """A registry with the methods of this file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **methods: Margin) -> None:
        made = dict(methods)
        monkeypatch.setattr("verified_dp.papers.comparison.PAPER_METHODS", dict.fromkeys(made, ""))
        monkeypatch.setattr("verified_dp.papers.comparison.ALL", ("auto", *made))
        monkeypatch.setattr("verified_dp.papers.ask.paper_method", lambda name, parameters: made[name])


def test_compare_marks_estimates_outside_of_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    Fixture(monkeypatch, good=Margin(), off=Margin(excess=Fraction(-1, 100)))
    found = compare(PROFILE, "delta", "1/2", ("auto", "good", "off"), digits=10)
    rows = {row.method: row for row in found.rows if row.estimate is not None}
    enclosures = [row for row in found.rows if row.enclosure is not None]
    assert len(enclosures) == 3 and found.proved.contains(PROFILE.delta("1/2", digits=20).lower)
    assert abs(float(rows["good"].error.removeprefix("below"))) < 1e-14  # its own fifteen digits
    assert rows["off"].outside is True and rows["off"].error == "-0.01"
    assert rows["off twice"].outside is True and rows["off twice"].error == "+1"


def test_compare_refuses_disjoint_enclosures(monkeypatch: pytest.MonkeyPatch) -> None:
    Fixture(monkeypatch, wrong=Margin(shift=Fraction(1, 10)))
    with pytest.raises(InconsistentEnclosures):
        compare(PROFILE, "delta", "1/2", ("auto", "wrong"))


def test_compare_says_what_does_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    Fixture(monkeypatch, narrow=Margin(only="add"))
    found = compare(PROFILE, "delta", "1/2", ("auto", "narrow"))
    assert found.refused == {"narrow": "for the order add only"}
    with pytest.raises(Unsupported, match="proves an interval"):
        compare(PROFILE, "delta", "1/2", ("narrow",))
    with pytest.raises(InvalidInput, match="methods"):
        compare(PROFILE, "delta", "1/2", ("magic",))


@pytest.mark.parametrize("parameters", [{"fourier": {"n": 5000}}, {"auto": {"n": 1}}, {"magic": {}}])
def test_compare_refuses_parameters_that_nobody_reads(parameters: dict[str, dict[str, object]]) -> None:
    with pytest.raises(InvalidInput, match=r"^parameters must be of a paper's method that is asked: renyi, got "):
        compare(PROFILE, "delta", "1", ("auto", "renyi"), parameters)


def test_the_engines_agree() -> None:
    sampled = privacy_profile(compose((PoissonSampled(Gaussian("1"), "1/10"), 50)), "add-or-remove")
    found = compare(sampled, "delta", "1", ("auto", "contour", "lattice"))
    assert [row.method for row in found.rows] == ["auto", "contour", "lattice"]
    assert all(row.enclosure is not None and found.proved.overlaps(row.enclosure) for row in found.rows)


def test_warnings_stand_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    Fixture(monkeypatch, off=Margin(excess=Fraction(1)))
    found = compare(PROFILE, "delta", "1/2", ("auto", "off"))
    assert not any("warning" in line for line in comparison_foot(found, "epsilon = 1/2"))
    rows = tuple(replace(row, note="warning: far off") if row.estimate else row for row in found.rows)
    lines = comparison_foot(replace(found, rows=rows), "epsilon = 1/2")
    assert [line for line in lines if "warning" in line] == ["off: warning: far off"]
    assert any(line.startswith("off") and "outside of what is proved by +1 of" in line for line in map(row_line, rows))


@pytest.mark.parametrize("method", [name for name in PAPER_METHODS if name != "renyi"])
def test_guarantees_of_moments_are_refused_not_computed(method: str) -> None:
    """zCDP has no curve: every method of a paper but moments says so, and pages that show all of them can be made."""
    with pytest.raises(Unsupported):
        accountant(privacy_profile(ZCDP("1/100"), "add-or-remove"), method).delta("1/2", max_seconds=5)
