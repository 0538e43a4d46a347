"""Pictures of individual losses show the numbers they are given; the progress bar shows on a terminal alone."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

from verified_dp import terminal
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.individual import plots as individual
from verified_dp.individual.input import count_parquet
from verified_dp.individual.losses import IndividualLosses, individual_epsilons
from verified_dp.individual.plots import (
    bar,
    group_means,
    plot_active,
    plot_curve,
    plot_group_means,
    plot_groups,
    plot_histogram,
    progress_bar,
)
from verified_dp.individual.training import Training

LOSSES: IndividualLosses = SimpleNamespace(  # type: ignore[assignment]
    quantity="epsilon", given="1e-5", records=np.arange(4), lower=np.array([0, 1.0, 1.99, 3]),
    upper=np.array([0, 1.5, 2, np.inf]), asked=0.01, narrow=np.array([True, False, True, False]))


def texts(axes: object) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[attr-defined]


def test_histogram_shows_both_ends_and_the_worst_case() -> None:
    axes = plot_histogram(LOSSES, worst=2.5, bins=30, others={"another": np.array([0.5, 0.6, 0.7, 2.9])})
    bars = [patch for patch in axes.patches if hasattr(patch, "get_height")]
    assert sum(patch.get_height() for patch in bars) == 3
    assert abs(bars[0].get_x()) < 1e-12 and bars[0].get_height() == 1
    assert [line.get_xdata()[0] for line in axes.lines] == [2.5]
    assert axes.get_title() == "2 of 4 intervals as narrow as asked (0.01 of eps), 1 without upper end"
    assert axes.get_xlabel() == "individual epsilon at delta = 1e-5"
    assert len(texts(axes)) == 4 and "another" in texts(axes) and "worst case 2.5" in texts(axes)


def test_group_means() -> None:
    groups = ["a", "b", "b", "a"]
    assert group_means(LOSSES, groups)["b"] == (1.495, 1.75, 2)
    axes = plot_group_means(LOSSES, groups)
    assert np.isnan(axes.patches[0].get_height()) and axes.patches[1].get_height() == 1.75
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a\n(2 records, unbounded)", "b\n(2 records)"]
    with pytest.raises(InvalidInput):
        group_means(LOSSES, ["a"])


def test_groups_side_by_side() -> None:
    axes = plot_groups(["x", "y"], {"before": [1.0, 2.0], "after": [3.0, 4.0]}, "loss", worst=5.0)
    assert [patch.get_height() for patch in axes.patches] == [1, 2, 3, 4]
    centres = [patch.get_x() + patch.get_width() / 2 for patch in axes.patches]
    assert np.allclose(np.add(centres[:2], centres[2:]) / 2, [0, 1]) and centres[0] < centres[2]
    assert axes.lines[0].get_ydata()[0] == 5.0
    with pytest.raises(InvalidInput, match="series after"):
        plot_groups(["x", "y"], {"before": [1, 2], "after": [3]}, "loss")


def test_active_records() -> None:
    alone = plot_active([4, 3, 1])
    assert list(alone.lines[0].get_ydata()) == [4, 3, 1] and list(alone.lines[0].get_xdata()) == [1, 2, 3]
    both = plot_active({"one": [4, 4], "two": [4, 2]}, starts=2)
    assert list(both.lines[1].get_ydata()) == [4, 2] and both.lines[2].get_xdata()[0] == 2
    assert texts(both)[:2] == ["one", "two"]


def test_curve() -> None:
    axes = plot_curve([0.0, 1.0], [0.1, 0.0], [0.2, 1e-3], others={"gaussian": [0.3, 2e-3]})
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.2, 1e-3], [0.3, 2e-3]]
    assert axes.get_yscale() == "log"


def test_bar() -> None:
    assert bar(0, "") == f"[{'-' * individual.BAR}]   0% "
    assert bar(1.0, "done") == f"[{'#' * individual.BAR}] 100% done"
    assert bar(2.0, "x").count("#") == individual.BAR and bar(-1.0, "x").count("#") == 0


class Screen(io.StringIO):
    """A stream that says it is a terminal, and tells when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        if "halfway" in text:
            self.written.set()
        return count


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes until the bar is there."""
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(terminal, "PATIENCE", 0.001)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("counting") as progress:
        progress(0.5, "halfway")
        assert screen.written.wait(600)
    assert "\r\x1b[Kcounting: [############------------]  50% halfway (" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[K")


def test_what_takes_long_tells_its_progress(tmp_path: Path) -> None:
    """From 0 to 1, never back."""
    rows = "SELECT record, step, 0.3::DOUBLE * record AS norm, 100 AS repeats FROM range(4) r(record), range(3) s(step)"
    duckdb.sql(f"COPY ({rows}) TO '{tmp_path / 'norms.parquet'}' (FORMAT parquet)")
    counting: list[float] = []
    solving: list[float] = []
    counts = count_parquet(tmp_path / "norms.parquet", Training(1, 1, "0.1"), "raw", 8,
                           progress=lambda share, text: counting.append(share))
    individual_epsilons(counts, "1e-5", "1/10", progress=lambda share, text: solving.append(share))
    for shares in (counting, solving):
        assert len(shares) > 1 and shares == sorted(shares) and shares[0] >= 0 and shares[-1] == 1


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(terminal, "PATIENCE", 0.001)
    before = threading.active_count()
    with progress_bar("counting") as progress:
        progress(0.5, "halfway")
        assert threading.active_count() == before  # nobody who could write
    assert stream.getvalue() == ""
