"""The examples of individual accounting, on fewer records and steps."""

from __future__ import annotations

import re
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
def test_the_gaussian_curve_is_above_the_records(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example, "EPSILONS", [0.0, 0.5, 1.0])
    counts = count_array(np.array([[0.1, 0.75]]), example.TRAINING, "clipped", 16, 200)
    lower, upper, square = example.curve(counts, 1)
    gaussian = [float(gdp_delta(square, Fraction(eps), 6).upper) for eps in example.EPSILONS]
    assert (lower <= upper).all() and (upper <= np.array(gaussian) * (1 + 1e-3)).all()
    assert (np.array(gaussian) < upper * 1.01).any()


@pytest.mark.parametrize("example", ["individual_filter"], indirect=True)
def test_the_filter_decides_who_takes_part(example: ModuleType, capsys: pytest.CaptureFixture[str],
                                           monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everybody takes part up to the worst case's last step; later only some; budgets hold; the easy group gains."""
    monkeypatch.setattr(example, "RECORDS", 400)
    monkeypatch.setattr(example, "WORST_STEPS", 15)
    monkeypatch.setattr(example, "STEPS", 30)
    example.main(str(tmp_path / "figure.png"))
    text = capsys.readouterr().out
    assert "GDP filter: first drop-out in step 16," in text
    (renyi,) = re.findall(r"Renyi filter, order \d+: first drop-out in step (\d+)", text)
    assert 8 < int(renyi) < 16
    active = [int(x) for x in re.findall(r"(\d+) records active in step 30", text)]
    assert 0 < active[1] < active[0] < 400
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
    assert "420 steps: GDP 0.74513[7, 9], Renyi <= 0.8156" in text and "495 steps: GDP 0.815230[0, 6]" in text
    rows = [[int(x) for x in row] for row in re.findall(r"GDP filter +(\d+), Renyi filter +(\d+)", text)]
    assert [478, 405] in rows and all(1.1 < more / fewer < 1.25 for more, fewer in rows)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
