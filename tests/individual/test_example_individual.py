"""The examples of individual accounting, on fewer records and steps."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile
from verified_dp.adaptive.budgets import gdp_delta
from verified_dp.individual.input import count_array
from verified_dp.papers import accountant


@pytest.fixture
def example(request: pytest.FixtureRequest, load_example: Callable[[str], ModuleType]) -> ModuleType:
    """The example whose name is the parameter."""
    return load_example(request.param)


def numbers(line: str) -> list[float]:
    return [float(x) for x in re.findall(r"\d+\.\d+(?:e-\d+)?", line)]


@pytest.mark.long
@pytest.mark.parametrize("example", ["individual_dpsgd"], indirect=True)
def test_individual_losses_of_a_training(example: ModuleType, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody loses more than the worst case, Renyi accounting says more, the harder group loses more."""
    monkeypatch.setattr(example, "RECORDS", 80)
    monkeypatch.setattr(example, "STEPS", 60)
    monkeypatch.setattr(example, "PARTS", 32)
    monkeypatch.setattr(example, "WIDTH", "1/4")
    monkeypatch.setattr(example, "ORDERS", [Fraction(k) for k in (2, 4, 8, 12, 16, 24)])
    monkeypatch.setattr(example, "EPSILONS", [0.0, 0.25])
    example.main(str(tmp_path / "figure.png"))
    lines = capsys.readouterr().out.splitlines()
    worst_low, worst_high, worst_renyi = numbers(lines[1])
    everybody, renyi = numbers(lines[4].split("eps", 1)[1])
    clean, noisy = (numbers(line)[0] for line in lines[5:7])
    assert 0 < clean < noisy < everybody <= worst_high * (1 + 1e-3) and worst_low < worst_renyi
    assert everybody < renyi <= worst_renyi
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize("example", ["individual_dpsgd"], indirect=True)
def test_renyi_estimates_agree_with_the_accountant(example: ModuleType) -> None:
    """Both for readings at a bucket's end, where nothing is interpolated, and a little above its best order's bound."""
    counts = count_array(np.array([[0.5], [1.0]]), example.TRAINING, "clipped", 8, [150, 50])
    estimate = example.renyi_epsilons(counts)[0]
    steps = compose((PoissonSampled(Gaussian(3), "0.05"), 150), (PoissonSampled(Gaussian("1.5"), "0.05"), 50))
    asked = accountant(privacy_profile(steps, relation="remove"), "renyi", conversion="canonne")
    best = float(asked.epsilon(example.DELTA, 6).enclosure.upper)
    assert best * (1 - 1e-4) < estimate < best * 1.02


@pytest.mark.parametrize("example", ["individual_dpsgd"], indirect=True)
def test_the_gaussian_curve_is_above_the_records(example: ModuleType) -> None:
    epsilons = [0.0, 0.5, 1.0]
    counts = count_array(np.array([[0.1, 0.75]]), example.TRAINING, "clipped", 16, 200)
    lower, upper, square = example.curve(counts, 1, epsilons)
    gaussian = [float(gdp_delta(square, Fraction(eps), 6).upper) for eps in epsilons]
    assert (lower <= upper).all() and (upper <= np.array(gaussian) * (1 + 1e-3)).all()
    assert (np.array(gaussian) < upper * 1.01).any()


@pytest.mark.parametrize("example", ["individual_filter"], indirect=True)
def test_the_filter_decides_who_takes_part(example: ModuleType, capsys: pytest.CaptureFixture[str],
                                           monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everybody takes part up to the worst case's last step; later only some; budgets hold; the easy group gains."""
    monkeypatch.setattr(example, "RECORDS", 200)
    monkeypatch.setattr(example, "WORST_STEPS", 15)
    monkeypatch.setattr(example, "STEPS", 30)
    example.main(str(tmp_path / "figure.png"))
    text = capsys.readouterr().out
    assert "GDP filter: first drop-out in step 16," in text
    (renyi,) = re.findall(r"Renyi filter, order \d+: first drop-out in step (\d+)", text)
    assert 8 < int(renyi) < 16
    active = [int(x) for x in re.findall(r"(\d+) records active in step 30", text)]
    assert 0 < active[1] < active[0] < 200
    spent = [numbers(line) for line in text.splitlines() if "mean eps" in line]
    assert all(0 < before <= after < 2.75 for before, after in zip(*(row[-3:] for row in spent), strict=True))
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize("example", ["individual_filter"], indirect=True)
def test_a_filtered_course_keeps_every_budget(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of the exact costs stay within the budget, some records use nearly all of theirs, and the rest go on."""
    monkeypatch.setattr(example, "RECORDS", 300)
    monkeypatch.setattr(example, "WORST_STEPS", 10)
    monkeypatch.setattr(example, "STEPS", 25)
    _, courses = example.run(np.random.default_rng(3))
    gdp, renyi = courses.values()
    budget, last = gdp.states[-1].budget, gdp.states[-1].spent
    assert max(last.values()) <= budget and min(last.values()) < budget / 2
    assert sum(used > Fraction(9, 10) * budget for used in last.values()) > 30
    assert max(renyi.states[-1].spent.values()) <= renyi.states[-1].budget
    assert gdp.active[9] == 300 > gdp.active[10] >= gdp.active[-1] > renyi.active[-1] > 0


@pytest.mark.parametrize("example", ["gdp_and_renyi_filters"], indirect=True)
def test_gdp_and_renyi_filters(example: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The paper's two points, and that a Renyi filter always allows fewer steps."""
    example.main(str(tmp_path / "figure.png"))
    text = capsys.readouterr().out
    assert "420 steps: GDP 0.745138[2, 5], Renyi <= 0.8156" in text and "495 steps: GDP 0.815230[0, 3]" in text
    rows = [[int(x) for x in row] for row in re.findall(r"GDP filter +(\d+), Renyi filter +(\d+)", text)]
    assert [478, 405] in rows and all(1.1 < more / fewer < 1.25 for more, fewer in rows)
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize("example", ["individual_digits"], indirect=True)
def test_norms_of_a_network_are_those_of_its_gradients(example: ModuleType) -> None:
    """Against differences of the loss in each weight; a step moves along the clipped sum where nothing is noisy."""
    rng = np.random.default_rng(3)
    data = example.Data(rng.normal(size=(3, 64)) / 4, np.array([1, 7, 7]))
    network = example.Network(rng, 1.0)
    *_, norms = network.errors(data)
    squares, sums = np.zeros(3), []
    for weights in (network.first, network.second):
        slopes = np.zeros((*weights.shape, 3))
        for place in np.ndindex(weights.shape):
            at = weights[place]
            ends = []
            for weights[place] in (at - 1e-5, at + 1e-5):
                ends.append(network.losses(data))
            weights[place] = at
            slopes[place] = (ends[1] - ends[0]) / 2e-5
        squares += (slopes**2).sum(axis=(0, 1))
        sums.append((slopes * np.minimum(1, 0.5 / norms) * [1, 0, 1]).sum(axis=2))
    assert np.allclose(np.sqrt(squares), norms, rtol=1e-6) and norms.min() > 0.5
    before = network.first.copy(), network.second.copy()
    network.step(data, np.array([True, False, True]), 0.5, 0.0, 2.0)
    for old, new, total in zip(before, (network.first, network.second), sums, strict=True):
        assert np.allclose(old - new, total / 2, atol=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("example", ["individual_digits"], indirect=True)
def test_a_network_under_a_filter(example: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On generated digits: nobody exceeds the budget, everybody takes part before it can be used up, all is drawn."""
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(2)
    shapes, digits = rng.normal(size=(10, 64)), rng.integers(0, 10, size=300)
    every = shapes[digits] / 2 + rng.normal(size=(300, 64)) / 3
    train, test = example.Data(every[:240], digits[:240]), example.Data(every[240:], digits[240:])
    for name, value in (("WORST_STEPS", 6), ("STEPS", 12), ("SEEDS", 1), ("FACTORS", ("1", "5")), ("PARTS", 16)):
        monkeypatch.setattr(example, name, value)
    lines = list(example.filtered_part(train, test, tmp_path))
    assert lines[0].startswith("Figure 6: 1 x tuned") and "of 240 records active in step 7" in lines[0]
    course = example.train_filtered(train, test, example.EPSILON, example.TUNED, 0)
    assert np.all(course.active[:6] == 240) and course.active[-1] < 240
    assert example.spent(course, 12).upper.max() <= float(example.EPSILON) * (1 + 1e-6)
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "figure_2.png", "figure_6.png", "figures_7_8.png", "figure_9.png", "figure_10.png"}


@pytest.mark.parametrize("example", ["individual_digits"], indirect=True)
def test_digits_without_their_package(example: ModuleType, capsys: pytest.CaptureFixture[str],
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit, match="3"):
        example.main()
    assert capsys.readouterr().err == example.MISSING + "\n"
