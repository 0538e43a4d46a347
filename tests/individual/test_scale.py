"""The benchmark of individual losses on fewer records: its comparison one by one, its widths, its picture."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PROGRAM = Path(__file__).resolve().parents[1] / "benchmarks" / "individual.py"
NAME = "benchmark_of_individual_losses"


@pytest.fixture
def benchmark(load: Callable[..., ModuleType]) -> ModuleType:
    return load(PROGRAM, NAME)


@pytest.mark.long
@pytest.mark.theorem("T118-individual-enclosure")
def test_ten_thousand_records(benchmark: ModuleType, tmp_path: Path) -> None:
    """Every 200th interval meets the contour engine's; nearly all are as narrow as asked; the comparison can fail."""
    run = benchmark.run(tmp_path, 10_000, benchmark.Options())
    losses = run.losses
    assert len(losses.records) == 10_000 and run.clipped > 1000
    assert np.isfinite(losses.upper).all() and losses.upper.max() > 1
    assert losses.narrow.all() and losses.asked == 0.01 and losses.reason == ""
    found = benchmark.check(run.path, losses, 50)
    assert len(found) == 50 and benchmark.disjoint(losses, found) == []
    moved = replace(losses, lower=losses.lower * 1.05, upper=losses.upper * 1.05)
    assert len(benchmark.disjoint(moved, found)) > 25


@pytest.mark.long
def test_the_program_prints_and_draws(benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(benchmark, "SIZES", (100, 100_000))
    benchmark.main(["300", "--plot", str(tmp_path / "cost.png"), "--parts", "32"])
    text = capsys.readouterr().out
    assert re.findall(r"(\d+) records, (counting|eps): [\d.]+ s", text) == [
        ("100", "counting"), ("100", "eps"), ("300", "counting"), ("300", "eps")]
    assert (tmp_path / "cost.png").stat().st_size > 10_000
