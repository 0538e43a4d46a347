"""docs/papers.md: what it points at exists, and every method and theorem of the papers' rooms has its place there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
PROOFS = {path.stem.partition("-")[0] for path in (ROOT / "proofs").rglob("T*.md")}
ERRATA = (ROOT / "proofs" / "ERRATA.md").read_text(encoding="utf-8")


def test_code_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert len(named) > 15
    assert not [name for name in named if not ((ROOT / "verified_dp" / name).is_file() or (ROOT / name).is_file())]


def test_tests_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 30 and not [name for name in named if f"def {name}(" not in TESTS]


def test_theorems_exist_and_none_of_the_papers_is_missing() -> None:
    named = set(re.findall(r"\bT\d{2,3}\b", PAGE))
    assert named <= PROOFS
    index = (ROOT / "proofs" / "README.md").read_text(encoding="utf-8")
    papers = index.partition("### papers/")[2].partition("\n### ")[0]
    assert set(re.findall(r"\[(T\d+)\]\(papers", papers)) <= named | {"T94", "T95", "T100", "T101", "T102"}


@pytest.mark.parametrize("paper", re.findall(r"^## Paper (\d+)", ERRATA, re.MULTILINE))
def test_errata_that_are_named_exist(paper: str) -> None:
    section = ERRATA.partition(f"## Paper {paper}")[2].partition("\n## ")[0]
    numbers = set(re.findall(r"^(\d+)\. ", section, re.MULTILINE))
    named = {number for group in re.findall(rf"errata {paper}, ([\d, and]+)", PAGE)
             for number in re.findall(r"\d+", group)}
    assert numbers and named <= numbers


def test_a_row_names_code_or_says_why_there_is_none() -> None:
    items = PAGE.partition("## How long")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in items
            if line.startswith("|") and not line.startswith(("| item", "|---"))]
    assert len(rows) > 40 and all(len(row) == 5 and (row[1].startswith("`") or row[1].startswith(("none", "a diagram")))
                                  for row in rows)
