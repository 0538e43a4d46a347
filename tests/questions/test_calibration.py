"""Calibration: the value is proved to meet the target, the next one proved not to, for random targets."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from verified_dp import (
    Composition,
    Gaussian,
    InvalidInput,
    Laplace,
    PoissonSampled,
    Relation,
    Spec,
    calibration,
    compose,
    privacy_profile,
)
from verified_dp.calibration import Calibration, _Grid, calibrate, plain
from verified_dp.cli import main

SAMPLED = compose((PoissonSampled(Gaussian("1.1"), "256/60000"), 14063))
PLAIN = compose((Gaussian("2"), 30))
QUIET = compose((Gaussian("40"), 30))
NOISY = compose((Gaussian(sigma="10", sensitivity="1"), 20))


def spec(composition: Composition, relation: str = "add-or-remove") -> Spec:
    return Spec(Relation.of(relation), composition)


def check(found: Calibration, digits: int) -> None:
    """Neighbours on the grid, one on each side of the target, as questions of their own confirm."""
    assert found.at_value.upper <= found.target.epsilon < found.at_neighbour.lower
    for one, meets in ((found.met, True), (found.missed, False)):
        delta = privacy_profile(one).delta(found.target.epsilon, 10)
        assert delta.upper <= found.target.delta if meets else delta.lower > found.target.delta
    values = found.value, found.neighbour
    grid = _Grid(digits, found.solve == "count")
    places = [grid.place(grid_log(value)) for value in values]
    assert [grid.value(place) for place in places] == [*values] and abs(places[0] - places[1]) == 1


def grid_log(value: Fraction) -> float:
    return math.log10(value.numerator) - math.log10(value.denominator)


def targets() -> list[tuple[str, str, str, int]]:
    chosen = random.Random(14)
    return [(chosen.choice(["noise_multiplier", "count"]), f"{10**chosen.uniform(-0.3, 1.2):.3g}",
             f"{10**chosen.uniform(-15, -2):.2e}", chosen.choice([2, 3, 4, 6])) for _ in range(50)]


@pytest.mark.parametrize(("solve", "epsilon", "delta", "digits"), targets())
def test_random_targets(solve: str, epsilon: str, delta: str, digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count_deltas(monkeypatch)
    check(calibrate(spec(QUIET), solve=solve, epsilon=epsilon, delta=delta, digits=digits), digits)
    assert len(asked) <= 12  # a typical search asks 7


@pytest.mark.parametrize(("solve", "epsilon"), [
    ("noise_multiplier", "3"), ("noise_multiplier", "0.5"), ("count", "3"), ("sampling_probability", "3")])
def test_training(solve: str, epsilon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count_deltas(monkeypatch)
    check(calibrate(spec(SAMPLED), solve=solve, epsilon=epsilon, delta="1e-5"), 4)
    assert len(asked) <= 8


def count_deltas(monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """The values that the search tries, as it goes."""
    asked, compute = list[Fraction](), calibration._Search._compute_gap

    def noted(search: Any, value: Fraction) -> float:
        asked.append(value)
        return compute(search, value)

    monkeypatch.setattr(calibration._Search, "_compute_gap", noted)
    return asked


@pytest.mark.parametrize(("composition", "relation", "solve", "digits"), [
    (PLAIN, "add", "noise_multiplier", 8), (QUIET, "replace", "count", 1), (NOISY, "add", "sigma", 5),
    (NOISY, "add", "count", 4), (compose((Laplace(10, 1), 20)), "add", "scale", 3),
    (compose((PoissonSampled(Gaussian("4"), "1/100"), 50), (Gaussian("9"), 2)), "add",
     "sampling_probability", 2)])
def test_every_parameter(composition: Composition, relation: str, solve: str, digits: int) -> None:
    check(calibrate(spec(composition, relation), solve=solve, epsilon=3, delta="1e-6", digits=digits), digits)


def test_group_sizes_and_target_zero() -> None:
    grouped = calibrate(spec(PLAIN.for_groups(2)), solve="noise_multiplier", epsilon=3, delta="1e-6")
    single = calibrate(spec(PLAIN), solve="noise_multiplier", epsilon=3, delta="1e-6")
    assert grouped.value > single.value
    check(calibrate(spec(PLAIN), solve="noise_multiplier", epsilon=0, delta="0.1", digits=3), 3)


@pytest.mark.parametrize("grid", [_Grid(1, True), _Grid(3, True), _Grid(1, False), _Grid(4, False)])
def test_grids_are_complete(grid: _Grid) -> None:
    values = [grid.value(place) for place in range(1, 200)]
    assert values == sorted(set(values))
    assert all(grid.place(grid.log(place)) == place for place in range(1, 200))
    assert all(len(plain(value).replace(".", "").partition("e")[0].strip("0")) <= grid.digits for value in values)


@pytest.mark.parametrize(("value", "text"), [
    (Fraction(9685, 10000), "0.9685"), (Fraction(21360), "21360"), (Fraction(1, 10**9), "1e-9"),
    (Fraction(123, 10**11), "1.23e-9"), (Fraction(3, 2), "1.5"), (Fraction(1, 1000), "0.001")])
def test_values_are_written_exactly(value: Fraction, text: str) -> None:
    assert plain(value) == text and Fraction(text) == value


@pytest.mark.parametrize(("changed", "key"), [
    ({"solve": "x"}, "solve"), ({"solve": "scale"}, "solve"), ({"epsilon": -1}, "epsilon"), ({"delta": 0}, "delta"),
    ({"digits": 0}, "digits"), ({"digits": 31}, "digits"), ({"solve": "count", "epsilon": "1e-9"}, "epsilon"),
    ({"solve": "sampling_probability", "epsilon": "1000"}, "solve")])
def test_wrong_input(changed: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        calibrate(spec(PLAIN), **{"solve": "noise_multiplier", "epsilon": 3, "delta": "1e-9", **changed})
    assert caught.value.key == key


def test_several_owners_are_refused() -> None:
    both = compose((Gaussian("1"), 3), (Gaussian("2"), 4))
    for solve in ("noise_multiplier", "count"):
        with pytest.raises(InvalidInput, match="exactly one mechanism"):
            calibrate(spec(both), solve=solve, epsilon=3, delta="1e-5")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call the program beside a.toml, thirty Gaussian steps."""
    monkeypatch.chdir(tmp_path)
    text = 'relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "2"\ncount = 30\n'
    Path("a.toml").write_text(text, encoding="utf-8")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        return code, *capsys.readouterr()

    return call


def test_json_text_and_certificates(run: Any) -> None:
    question = ["calibrate", "a.toml", "--solve", "noise_multiplier", "--epsilon", "3", "--delta", "1e-5"]
    code, out, err = run(*question, "--json", "--out", "kept")
    row = json.loads(out)
    assert (code, err, row["schema"], row["solve"]) == (0, "", "verified-dp/calibration/1", "noise_multiplier")
    assert row["target"] == {"epsilon": "3", "delta": "1e-5"}
    assert Fraction(row["value"]) - Fraction(row["neighbour"]) == Fraction(1, 1000)
    assert Fraction(row["at_value"]["upper"]) <= 3 < Fraction(row["at_neighbour"]["lower"])
    assert run("verify", row["certificate"])[0] == run("verify", row["neighbour_certificate"])[0] == 0
    assert json.loads(Path(row["certificate"]).read_text())["verdict"] == "proved"
    assert json.loads(Path(row["neighbour_certificate"]).read_text())["verdict"] == "refuted"
    assert f"noise_multiplier = {row['value']} meets epsilon = 3 at delta = 1e-5, proved\n" in run(*question)[1]


@pytest.mark.parametrize(("changed", "key"), [
    ({"--solve": "x"}, "solve"), ({"--epsilon": "-1"}, "epsilon"), ({"--delta": "1"}, "delta"),
    ({"--digits": "0"}, "digits"), ({"--digits": "99"}, "digits"), ({"--solve": "sigma"}, "solve")])
def test_wrong_options_are_one_line(run: Any, changed: dict[str, str], key: str) -> None:
    options = {"--solve": "count", "--epsilon": "3", "--delta": "1e-5", **changed}
    code, out, err = run("calibrate", "a.toml", *(word for pair in options.items() for word in pair))
    assert (code, out, err.count("\n")) == (2, "", 1) and f" {key} " in err
