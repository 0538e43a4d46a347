"""docs/papers.md: what it points at exists, and every method and theorem of the papers' rooms has its place there."""

from __future__ import annotations

import ast
import re
from collections import Counter
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
    assert set(re.findall(r"\[(T\d+)\]\(papers", papers)) <= named | {"T19", "T94", "T95"}


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


WITHOUT_TEST = ("Test: none (a matter of words).", "Test: none (a matter of print).")
FIELDS = ("Says", "Wrong if", "Right if", "Numbers", "Test")
OUTCOMES = {"stands", "stands with scope", "withdrawn", "misprint"}


@pytest.mark.parametrize("paper", re.findall(r"^## Paper (\d+)", ERRATA, re.MULTILINE))
def test_every_erratum_names_tests_that_exist(paper: str) -> None:
    section = ERRATA.partition(f"## Paper {paper}")[2].partition("\n## ")[0]
    entries = re.split(r"^(?=\d+\. )", section, flags=re.MULTILINE)[1:]
    named = [re.findall(r"`(test_\w+)`", entry) for entry in entries]
    assert entries and all(f"def {name}(" in TESTS for names in named for name in names)
    silent = [entry for entry, names in zip(entries, named, strict=True) if not names]
    assert all(any(reason in entry for reason in WITHOUT_TEST) for entry in silent), silent


def test_every_erratum_gives_both_readings_and_the_outcome_of_the_table() -> None:
    table = dict(re.findall(r"^\| ([\d.]+) \|.*\| ([a-z ]+) \|$", ERRATA, re.MULTILINE))
    found = {}
    for name, section in re.findall(r"^## (?:Paper|arXiv) ([\d.]+):(.*?)(?=^## |\Z)", ERRATA, re.MULTILINE | re.DOTALL):
        for entry in re.split(r"^(?=\d+\. )", section, flags=re.MULTILINE)[1:]:
            number = f"{name}.{entry.partition('.')[0]}"
            outcome = re.search(r"\*(Stands|Stands with scope|Withdrawn|Misprint)\.\*", entry)
            found[number] = outcome[1].lower() if outcome else ""
            fields = re.findall(r"^   - ([A-Z][a-z]+(?: if)?)", entry, re.MULTILINE)
            assert tuple(fields) == FIELDS, (number, fields)
            quotation = re.findall(r'"([^"]+)"', entry)
            assert quotation and max(map(len, quotation)) < 200, number
    assert found == table and set(table.values()) == OUTCOMES and len(table) > 30


@pytest.mark.parametrize(("paper", "figures", "tables"), [("000", 4, 2), ("001", 3, 0), ("002", 10, 0), ("004", 3, 0)])
def test_every_figure_and_table_has_a_row(paper: str, figures: int, tables: int) -> None:
    """A range such as "Figures 2, 6 to 10" counts for all of it."""
    section = PAGE.partition(f"## {paper}")[2].partition("\n## ")[0]
    items = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    found: dict[str, set[int]] = {"Figure": set(), "Table": set()}
    for item in items:
        for kind, numbers in re.findall(r"(Figure|Table)s? ((?:\d+(?:\([ab]\))?(?:, | to | and )?)+)", item):
            parts = re.findall(r"(\d+) to (\d+)|(\d+)", numbers)
            found[kind] |= {n for low, high, one in parts for n in range(int(low or one), int(high or one) + 1)}
    assert found["Figure"] >= set(range(1, figures + 1)) and found["Table"] >= set(range(1, tables + 1))


def test_nothing_in_papers_is_there_for_tests_only() -> None:
    """Every function, class and constant is named once more in the package or an example."""
    sources = {path: path.read_text(encoding="utf-8") for folder in ("verified_dp", "examples")
               for path in (ROOT / folder).rglob("*.py*") if path.suffix in (".py", ".pyi")}
    every, unused = Counter(word for text in sources.values() for word in re.findall(r"\w+", text)), []
    for path, text in sources.items():
        if path.is_relative_to(ROOT / "verified_dp" / "papers"):
            for node in ast.parse(text).body:
                registered = any("register" in ast.dump(mark) for mark in getattr(node, "decorator_list", []))
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                names = [getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)]
                unused += [name for name in names if name and not registered and every[name] == 1]
    assert len(every) > 3000 and unused == []
