"""docs/papers.md: its tables of times and of the PRV accountant's mesh are of the form that the program writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")


def table(name: str) -> list[list[str]]:
    """The head and the rows of one table of the page."""
    text = PAGE.split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0].strip()
    head, _, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines()]
    return [head, *rows]


@pytest.fixture
def program(load_example: Callable[[str], ModuleType]) -> ModuleType:
    return load_example("paper_times")


def test_every_method_is_timed_on_both_cases(program: ModuleType) -> None:
    head, *rows = table("times")
    assert head == program.HEADS["times"] and [row[0] for row in rows] == list(program.METHODS)
    for row in rows:
        assert all(cell.startswith("over ") or float(cell) >= 0 for cell in (row[1], row[4]))
        assert all(not cell or float(cell) >= 0 for cell in (*row[2:4], *row[5:]))


def test_widths_and_errors_are_the_programs(program: ModuleType) -> None:
    """Seconds differ from run to run; widths do not."""
    known = {row[0]: row for row in table("times")[1:]}
    for name in ("`berry-esseen` (003), plain", "`renyi` (002, 003)"):
        assert program.timed(program.case("equal steps"), *program.METHODS[name])[1:] == known[name][2:4]


def test_the_mesh_rows_are_the_programs(program: ModuleType) -> None:
    head, *rows = table("mesh")
    assert head == program.HEADS["mesh"] and [int(row[0]) for row in rows] == list(program.POINTS)
    assert program.rates(program.POINTS[:2]) == rows[:2]


def test_how_the_prv_accountant_converges() -> None:
    """On fine meshes the proved width falls like the mesh, the estimate's error like its square, to below 1e-9."""
    *_, before, last = table("mesh")
    assert 0.8 < float(last[4]) < 1.5 and all(1.6 < float(row[5]) < 3 for row in (before, last))
    assert float(last[3]) < 1e-9
