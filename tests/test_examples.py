"""The example programs run, answer the question in their docstring, and answer it right."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.fixture
def printed(load_example: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]) -> Any:
    """Run an example's main with arguments; what it prints."""

    def run(name: str, *arguments: Any) -> str:
        load_example(name).main(*arguments)
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_answers_a_question(name: str, load_example: Callable[[str], ModuleType]) -> None:
    assert "?" in (load_example(name).__doc__ or "")


def test_every_example_is_tested() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
    assert all(f'"{name}"' in tests for name in PROGRAMS)


def test_noise_for_a_budget(printed: Any) -> None:
    answer, enough, too_little = printed("which_noise_for_my_budget").splitlines()
    assert answer.startswith("noise multiplier 1.415 is the smallest")
    assert enough.startswith("  with 1.415: delta <= 9.943146") and enough.endswith("e-6")
    assert too_little.startswith("  with 1.414: delta >= 1.009320") and too_little.endswith("e-5")


def test_a_published_epsilon_short_by_rounding(printed: Any) -> None:
    shown = printed("is_this_published_epsilon_true")
    assert "(2.75, 1e-5)-DP" in shown and "refuted: the true epsilon is 2.752384417" in shown
    assert "too small by 0.00238" in shown


def test_a_published_epsilon_with_slack(printed: Any) -> None:
    shown = printed("is_this_published_epsilon_true", EXAMPLES / "claims" / "tfp-mnist-60.toml")
    assert "proved: the true epsilon is 2.381689726" in shown and "too large by 0.628" in shown


def test_tiny_deltas(printed: Any) -> None:
    head, *rows = printed("tiny_deltas").splitlines()
    assert head.split()[0] == "epsilon"
    powers = [int(re.split("e", row.split("]")[1].split()[0])[1]) for row in rows]
    assert powers == sorted(powers, reverse=True) and powers[0] == -6 and powers[-1] < -500
    floats = [float(row.split()[-1]) for row in rows]
    assert abs(floats[0] / 2.70605611526e-6 - 1) < 1e-3 and min(floats[1:]) <= 0


def test_private_gradient_descent(printed: Any) -> None:
    lines = printed("private_gradient_descent").splitlines()
    assert "420 steps, Renyi" in lines[0] and "epsilon <= 0.81562" in lines[0]
    assert "0.74513" in lines[1] and "495 steps" in lines[2] and "0.81523" in lines[2]
    assert "478 steps; delta <= 1.00000" in lines[3] and lines[3].endswith("e-5")
    assert lines[4].endswith("with noise 205.57 uses up the budget")
    assert lines[5].endswith("405 steps")


def test_an_opacus_training_is_certified(printed: Any, tmp_path: Path) -> None:
    pytest.importorskip("opacus", reason="the extra opacus is not installed")
    text = printed("opacus_training", str(tmp_path))
    assert "proved: training" in text and "valid: " in text
    assert "Poisson batches (seen at the data loader: UniformWithReplacementSampler)" in " ".join(text.split())
    assert (tmp_path / "certificates" / "training.json").exists()
    assert "<html" in (tmp_path / "training.html").read_text(encoding="utf-8")


def test_an_opacus_training_without_its_noise_is_caught(printed: Any) -> None:
    pytest.importorskip("opacus", reason="the extra opacus is not installed")
    right, wrong = printed("attack_on_opacus").splitlines()
    assert right.startswith("with noise: ") and right.endswith(": consistent at confidence 0.99")
    assert wrong.startswith("noise left out: ") and wrong.endswith(": contradicted at confidence 0.99")
    assert right.split("epsilon = ")[1].split()[0] == wrong.split("epsilon = ")[1].split()[0]


@pytest.mark.long
def test_figures_of_all_papers_on_one_page(printed: Any, tmp_path: Path, load_example: Any) -> None:
    """Those of one paper are drawn; a second run draws nothing again."""
    pytest.importorskip("matplotlib")
    programs = load_example("paper_figures").PROGRAMS
    assert {path.stem for path in EXAMPLES.glob("*_figures.py")} - {"paper_figures"} <= programs.keys()
    first = printed("paper_figures", str(tmp_path), ["gdp_and_renyi_filters"])
    assert first.startswith("1 of 1: Koskela, Tobaben") and "1 programs" in first
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'src="gdp_and_renyi_filters.png"' in page and "GDP filter" in page
    assert (tmp_path / "gdp_and_renyi_filters.png").stat().st_size > 10_000
    assert printed("paper_figures", str(tmp_path), ["gdp_and_renyi_filters"]).startswith("1 programs")


def test_what_votes_reveal(load_example: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """All for one class: next to nothing from the votes, and from the noise what the recorded row has."""
    example = load_example("pate_votes")
    recorded, svhn = csv.DictReader(example.TABLE.open(encoding="utf-8", newline=""))
    np.save(tmp_path / "mnist_250_teachers.npy", np.tile([250] + [0] * 9, (700, 1)))
    found = example.answer(tmp_path / "mnist_250_teachers.npy", [16])
    assert 0 < float(found["from the votes"]) < 0.9
    assert {key: str(value) for key, value in found.items() if key != "from the votes"} == {
        key: value for key, value in recorded.items() if key != "from the votes"}
    for row in (recorded, svhn):
        assert float(row["from the votes"]) < float(row["paper: epsilon"]) < float(row["from the noise"])
