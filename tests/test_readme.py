"""README tells the truth: its Python and its commands print what it shows, its targets and links exist.

`...` in a shown output stands for anything. The first toml block is the file that its commands read.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def blocks(language: str) -> list[str]:
    """All fenced blocks of README in one language."""
    return [match["text"] for match in BLOCK.finditer(README) if match["language"] == language]


def console(text: str) -> list[tuple[str, str]]:
    """(command, shown output) pairs of a console block."""
    parts = re.split(r"^\$ (.*)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], (shown.strip("\n") for shown in parts[2::2]), strict=True))


def matches(shown: str, printed: str) -> bool:
    """Whether a command printed what README shows."""
    return doctest.OutputChecker().check_output(shown + "\n", printed + "\n", OPTIONS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with README's claim and some norms, and this environment's programs first on the path."""
    (tmp_path / "claim.toml").write_text(blocks("toml")[0], encoding="utf-8")
    norms = """SELECT record, step, 20 AS repeats, (1 + record) / (1.0 + step) AS norm
        FROM range(9) r(record), range(60) s(step)"""
    duckdb.sql(f"COPY ({norms}) TO '{tmp_path / 'norms.parquet'}' (FORMAT parquet)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return tmp_path


def test_python(folder: Path) -> None:
    test = doctest.DocTestParser().get_doctest("\n".join(blocks("python")), {}, "README", "README.md", 0)
    assert test.examples
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_commands(folder: Path) -> None:
    pairs = [pair for text in blocks("console") for pair in console(text)]
    assert {command.split()[1] for command, _ in pairs} >= {"certify", "verify", "epsilon", "delta"}
    for command, shown in pairs:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300)
        printed = (done.stdout + done.stderr).strip("\n")
        assert matches(shown, printed), f"$ {command}\n{printed}\n--- README shows ---\n{shown}"


def test_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    text = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^(?:    |)make ([a-z-]+)|`make ([a-z-]+)`", text, re.MULTILINE))
    assert {first or second for first, second in named} <= targets
    assert {"certify", "test", "lint", "bench", "test-long", "proofs", "clean"} <= targets


def test_certify_and_test_come_first() -> None:
    commands = [line for text in blocks("sh") for line in text.splitlines()]
    assert [" ".join(line.split()[:2]) for line in commands] == ["make certify", "make test", "pip install"]


def test_continuous_integration_runs_what_readme_tells() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["make proofs", "make test"]


def test_links_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize(("shown", "printed"), [("0.04...", "0.05"), ("proved", "refuted"), ("a", "a\nb")])
def test_matches_sees_differences(shown: str, printed: str) -> None:
    assert not matches(shown, printed)


def test_console_is_split() -> None:
    assert console("$ a b\nx\ny\n$ c\n") == [("a b", "x\ny"), ("c", "")]
