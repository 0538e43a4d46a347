"""docs/expansions.md: its numbers are what the program computes, its widths fall as the theorem says."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "expansions.md").read_text(encoding="utf-8")


def table(name: str) -> list[list[str]]:
    """The rows of one part of the page."""
    text = PAGE.split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0].strip()
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()[2:]]


@pytest.fixture
def program(load_example: Callable[[str], ModuleType]) -> ModuleType:
    return load_example("expansion_tables")


@pytest.mark.parametrize(("name", "delta", "count"), [("equal steps", "1e-5", 10**4), ("two laws", "1e-10", 10**3)])
def test_rows_are_what_the_program_prints(program: ModuleType, name: str, delta: str, count: int) -> None:
    (row,) = program.rates([name], [delta], [count])
    assert row in table("widths")


def test_every_setting_is_there_and_widths_fall_with_the_steps(program: ModuleType) -> None:
    rows = table("widths")
    assert len(rows) == len(program.FAMILIES) * len(program.DELTAS) * len(program.COUNTS)
    for before, after in pairwise(rows):
        falls = [float(x) > float(y) for x, y in zip(before[3:], after[3:], strict=True)]
        assert before[:2] != after[:2] or all(falls)
    assert [*program.slopes(rows)] == table("slopes")


def test_rates_are_those_of_the_theorem() -> None:
    """Equal steps: (n+1)/2 to a tenth in the last decade, for n = 0 to 4."""
    for row in table("slopes"):
        assert row[0] != "equal steps" or all(abs(float(x) / ((n + 1) / 2) - 1) < 0.1 for n, x in enumerate(row[2:]))


def test_the_tilted_normal_bound_is_smaller_by_a_steady_factor() -> None:
    ratios = [float(row[3]) for row in table("normal")]
    assert len(ratios) == 3 and max(ratios) < 1e-3 and max(ratios) < 1.5 * min(ratios)


def test_random_compositions(program: ModuleType) -> None:
    """Three of them here; 300 on the page, each of whose intervals had to contain the contour's digits."""
    for case in (1000, 1001, 1002):
        found = program.measure(case)
        assert list(found) == list(program.METHODS) == [row[0] for row in table("containment")]
    assert all(int(row[1]) + int(row[4]) == program.CASES == 300 for row in table("containment"))


def test_an_interval_beside_the_truth_ends_the_program(program: ModuleType) -> None:
    profile = program.family("equal steps", 100)
    first, second = (profile.delta(epsilon, 6) for epsilon in ("1", "2"))
    with pytest.raises(ArithmeticError, match="does not contain"):
        program.width(first, second)
    with pytest.raises(ArithmeticError, match="does not contain"):
        program.width(None, second)
