"""The saddle-point and Berry-Esseen accountants against certified deltas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from flint import arb, ctx

from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.papers.paper import PaperAnswer, paper_method
from verified_dp.papers.saddlepoint.method import BerryEsseenAccountant, SaddlePointAccountant
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection

Composed = Callable[..., ComposedLoss]


def ask(name: str, loss: ComposedLoss, eps: object, digits: int = 8, **parameters: object) -> PaperAnswer:
    epsilon = Fraction(str(eps))
    return paper_method(name, parameters).curve(loss, epsilon, digits, Budget(20)).delta(epsilon)


def truth(loss: ComposedLoss, eps: object) -> Bounds:
    return OneDirection(loss).enclose(Fraction(str(eps)), 40, "auto", Budget(30)).bounds


def relative_error(estimate: str, true: Bounds) -> float:
    with ctx.workprec(128):
        return float((arb(estimate) - true.lower) / true.lower)


def overlap(a: Bounds | None, b: Bounds) -> bool:
    return a is not None and bool(a.lower <= b.upper and b.lower <= a.upper)


def test_the_papers_setting(composed: Composed) -> None:
    """s = 2, q = .01, k = 3000, eps = .7 in the remove order: relative errors -8.9e-3 and 1.4e-3."""
    loss = composed("remove", "1/100", "2", 3000)
    answer, true = ask("saddlepoint", loss, "0.7", order="2"), truth(loss, "0.7")
    assert answer.estimate == answer.estimates["MSD2"] and overlap(answer.bounds, true)
    assert round(relative_error(answer.estimates["MSD0"], true), 4) == -0.0089
    assert round(relative_error(answer.estimates["MSD1"], true), 4) == 0.0014
    assert abs(relative_error(answer.estimates["MSD2"], true)) < 4e-4
    assert round(relative_error(answer.estimates["SP-CLT"], true), 5) == -0.00095
    assert "a series cut off" in answer.reason and "warning" not in answer.reason


def test_a_setting_where_the_estimates_are_far_off(composed: Composed) -> None:
    """s = 1, q = .01, k = 100, eps = 2: MSD0 and SP-CLT are off by +186 %, and the answer warns."""
    loss = composed("remove", "1/100", "1", 100)
    answer, true = ask("saddlepoint", loss, 2), truth(loss, 2)
    assert round(100 * relative_error(answer.estimates["MSD0"], true)) == 186
    assert round(100 * relative_error(answer.estimates["SP-CLT"], true)) == 186
    assert answer.reason.startswith("warning: not to be relied on")
    interval = ask("berry-esseen", loss, 2, form="cited").bounds
    assert interval is not None and overlap(interval, true) and interval.lower == 0 and interval.upper > 20 * true.upper


def laws() -> Iterator[tuple[ComposedLoss, str]]:
    """Compositions of every kind of law with a transform."""
    for order in ("remove", "add"):
        first = SampledGaussianLoss(Fraction(1, 50), Fraction(2), order)
        second = SampledGaussianLoss(Fraction(1, 10), Fraction(5), order)
        yield ComposedLoss(order, ((first, 1000), (second, 200)), Fraction(1, 20)), "1"
    for law, count, eps in ((LaplaceLoss(Fraction(1, 10)), 400, "3/2"), (BoundedRangeLoss(Fraction(1, 5)), 300, "2"),
                            (OddsLoss(Fraction(1, 10), Fraction(1, 10**6), 0), 300, "2"),
                            (OddsLoss(Fraction(1, 5), Fraction(0), 2), 100, "1"),
                            (DiscreteGaussianLoss(Fraction(100), 1), 60, "1")):
        yield ComposedLoss("symmetric", ((law, count),), Fraction(0)), eps


@pytest.mark.parametrize(("loss", "eps"), list(laws()),
                         ids=lambda x: type(x.laws[0][0]).__name__ if hasattr(x, "laws") else x)
def test_every_kind_of_law(loss: ComposedLoss, eps: str) -> None:
    true = truth(loss, eps)
    interval = ask("berry-esseen", loss, eps)
    assert overlap(interval.bounds, true)
    estimates = ask("saddlepoint", loss, eps, order=3).estimates
    assert abs(relative_error(estimates["MSD1"], true)) < 0.05
    atoms = isinstance(loss.laws[0][0], OddsLoss)  # a lattice: the terms beyond are smaller than the lattice's effect
    assert atoms or abs(relative_error(estimates["MSD3"], true)) < abs(relative_error(estimates["MSD0"], true)) / 4


@pytest.mark.parametrize("tilt", ["1/2", "3", "12"])
def test_sp_clt_is_exact_for_gaussian_steps(tilt: str) -> None:
    loss = ComposedLoss("symmetric", (), Fraction(2))
    true, answer = truth(loss, 3), ask("berry-esseen", loss, 3, tilt=tilt)
    assert answer.bounds is not None and abs(relative_error(answer.estimate or "", true)) < 1e-15
    assert overlap(answer.bounds, true) and answer.bounds.upper - answer.bounds.lower < true.upper * arb("1e-15")
    assert answer.parameters["expansion_tilt"] == f"{float(Fraction(tilt)):.6g}"


def test_past_the_support(composed: Composed) -> None:
    """The add order is bounded by -k log(1-q): delta is exactly 0 there, in every method."""
    for name in ("saddlepoint", "berry-esseen"):
        bounds = ask(name, composed("add", "1/10", "1", 10), 2).bounds
        assert bounds is not None and bounds.lower == bounds.upper == 0


def test_what_is_not_supported(composed: Composed) -> None:
    batch = ComposedLoss("symmetric", ((FixedBatchLoss(Fraction(1, 10), Fraction(1)), 10),), Fraction(0))
    nothing = ComposedLoss("remove", (), Fraction(0))
    for name in ("saddlepoint", "berry-esseen"):
        for loss in (batch, nothing):
            with pytest.raises(Unsupported):
                ask(name, loss, 1)
    for name, wrong in (("saddlepoint", {"order": "-1"}), ("saddlepoint", {"order": "1000"}),
                        ("saddlepoint", {"order": "1/2"}), ("berry-esseen", {"tilt": "-1"}),
                        ("berry-esseen", {"constant": "0.4"})):
        with pytest.raises(InvalidInput):
            ask(name, composed("remove", "1/100", "2", 3000), 1, **wrong)


@pytest.mark.parametrize(("method", "most"), [
    (SaddlePointAccountant(), 1.1), (BerryEsseenAccountant(form="cited"), 1.1), (BerryEsseenAccountant(), 1.3)],
    ids=["saddlepoint", "cited", "berry-esseen"])
def test_cost_does_not_depend_on_the_count(composed: Composed, method: SaddlePointAccountant, most: float,
                                           work: Callable[[Callable[[], object]], int]) -> None:
    """k = 10^3 and k = 10^12 with noise to match, at the same delta; the work is counted, not timed."""
    costs = []
    for count, noise in ((10**3, "2"), (10**12, "60000")):
        loss = composed("remove", "1/100", noise, count)
        epsilon = Fraction(1, 2)
        curve = method.curve(loss, epsilon, 12, Budget(20))
        curve.delta(epsilon)
        costs.append(work(lambda ask=curve.delta, near=epsilon: ask(near * Fraction(1001, 1000))))  # type: ignore[misc]
    assert costs[1] < most * costs[0]


def settings() -> Iterator[tuple[str, str, str, int, str]]:
    """(order, q, s, k, eps) with deltas from about 0.1 to 1e-300 and k from 1 to 10^8."""
    for order in ("remove", "add", "symmetric"):
        for q, s, k in (("1/100", "2", 1), ("1/20", "1", 10), ("1/100", "1", 100), ("1/50", "3/2", 1000),
                        ("1/100", "2", 10**4), ("1/200", "3", 10**5), ("1/1000", "2", 10**6), ("1/10000", "1", 10**8)):
            for target in (0.1, 1e-2, 1e-5, 1e-10, 1e-50, 1e-300):
                if not (k == 1 and target < 1e-3):
                    yield order, q, s, k, str(target)


def epsilon_for(loss: ComposedLoss, target: float) -> Fraction | None:
    """An eps with delta about the target, by bisection on the float saddle-point estimate."""
    import math

    single = OneDirection(loss)
    low, high = 1e-4, 1e-3
    largest = single.model.largest
    while high < min(largest, 1e5) and single.log_estimate(Fraction(high).limit_denominator(10**9)) > math.log(target):
        high *= 2
    high = min(high, largest * 0.9999 if math.isfinite(largest) else high)
    for _ in range(40):
        middle = (low + high) / 2
        above = single.log_estimate(Fraction(middle).limit_denominator(10**9)) > math.log(target)
        low, high = (middle, high) if above else (low, middle)
    return Fraction(high).limit_denominator(1000) or None


@pytest.mark.long
def test_intervals_contain_certified_deltas_on_many_settings(composed: Composed) -> None:
    """Rigorous intervals contain the certified value on over 100 settings; the estimates' errors are tabulated."""
    rows, seen = [], 0
    for order, q, s, k, target in settings():
        loss = composed(order, q, s, k)
        epsilon = epsilon_for(loss, float(target))
        if epsilon is None:
            continue
        try:
            interval, answer = ask("berry-esseen", loss, epsilon), ask("saddlepoint", loss, epsilon, order=3)
        except Unsupported:  # the saddle point is millions away, just below the largest loss
            continue
        true = OneDirection(loss).enclose(epsilon, 20, "contour" if k > 1 else "closed-form", Budget(2)).bounds
        assert overlap(interval.bounds, true), (order, q, s, k, epsilon)
        seen += 1
        if answer.estimates and true.lower > 0:
            errors = [relative_error(answer.estimates[f"MSD{n}"], true) for n in range(4)]
            rows.append(f"{order:9} {k:9d} {true.lower.str(3, radius=False):>12} "
                        + " ".join(f"{error:10.1e}" for error in errors))
            if answer.bounds is not None and answer.bounds.upper < arb("1.001") * answer.bounds.lower:
                assert abs(errors[1]) < 0.05
    print("\n".join(rows))
    assert seen >= 100


@pytest.fixture(scope="module")
def experiments(load_example: Callable[[str], ModuleType]) -> ModuleType:
    """The example program."""
    return load_example("saddle_point_experiments")


@pytest.mark.long
def test_experiments_against_the_certified_truth(experiments: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "EPSILONS", ("0.7", "5"))
    monkeypatch.setattr(experiments, "ORDER", 7)
    near, far = experiments.privacy_curve()
    assert f"{near[2]['MSD0']:.1e} {near[2]['MSD1']:.1e}" == "-8.9e-03 1.4e-03"
    assert far[2]["MSD1"] > 100  # between the lobes of one step's tilted loss no estimate is any good
    for _, _, ends in experiments.intervals():
        assert all(low <= 1 + 1e-12 and high >= 1 - 1e-12 for low, high in ends.values())
    rows = {steps: errors for steps, _, errors in experiments.best_orders()}
    assert abs(rows[1000][6]) < 1e-5 < abs(rows[1000][0]) and abs(rows[1000][7]) > abs(rows[1000][6])
    assert min(map(abs, rows[100])) > 0.1


@pytest.mark.long
def test_experiments_print_and_draw(experiments: ModuleType, tmp_path: Path,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    experiments.main()
    shown = capsys.readouterr().out
    assert all(f"\n{k:9d} " in shown for k in (100, 100_000)) and shown.count("certified") >= 3
    pytest.importorskip("matplotlib")
    experiments.draw(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000


@pytest.mark.theorem("T141-certified-expansions", "T99-berry-esseen")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_both_forms_hold_the_truth_and_one_rests_on_a_citation(composed: Composed, order: str) -> None:
    """Where Theorem 5 has 20 % the expansion of order 0, which is the same normal part, has 2."""
    loss = composed(order, "1/100", "2", 3000, "1/30")
    true, widths = truth(loss, 1), []
    for form in ("tilted", "cited"):
        answer = ask("berry-esseen", loss, 1, form=form)
        assert answer.bounds is not None and overlap(answer.bounds, true)
        assert ("rests_on" in answer.parameters) == (form == "cited")
        widths.append(float(answer.bounds.upper - answer.bounds.lower))
    assert widths[0] < widths[1] / 5
