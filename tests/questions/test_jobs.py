"""Folders of claims, judged by several processes, as one table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from verified_dp.cli import main

CLAIM = ('relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "{noise}"\n'
         '[claim]\ntitle = "claim {noise}"\nepsilon = 2\ndelta = "1e-5"\n')


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call `certify` beside a folder of two true claims, a false one and a broken one."""
    monkeypatch.chdir(tmp_path)
    Path("claims").mkdir()
    for noise in ("2", "3", "1", "-1"):
        Path("claims", f"a{noise}.toml").write_text(CLAIM.format(noise=noise), encoding="utf-8")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["certify", *arguments])
        return code, *capsys.readouterr()

    return call


def test_processes_answer_as_one_does(run: Any) -> None:
    alone, together = (run("claims", "--json", "--out", f"kept{jobs}", "--jobs", jobs) for jobs in ("1", "2"))
    assert alone[0] == together[0] == 2 and alone[2] == together[2]
    rows = [[json.loads(line) for line in out.splitlines()] for _, out, _ in (alone, together)]
    for one, other in zip(*rows, strict=True):
        assert {**one, "certificate": 0} == {**other, "certificate": 0}
    names = [sorted(path.name for path in Path(folder).iterdir()) for folder in ("kept1", "kept2")]
    assert names[0] == names[1] == ["a1.json", "a2.json", "a3.json"]


def test_table_as_csv(run: Any) -> None:
    code, out, err = run("claims", "--table", "csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 2 and "a-1.toml" in err
    assert [(row["verdict"], row["title"]) for row in rows] == [
        ("refuted", "claim 1"), ("proved", "claim 2"), ("proved", "claim 3")]
    assert all(float(row["epsilon at least"]) <= float(row["epsilon at most"]) for row in rows)


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_table_of_one(run: Any, form: str) -> None:
    code, out, _ = run("claims/a2.toml", "--table", form)
    assert code == 0 and "proved" in out and "claim 2" in out and "slack" in out


@pytest.mark.parametrize(("arguments", "key"), [
    (["--jobs", "0"], "jobs"), (["--jobs", "x"], "jobs"), (["-", "--jobs", "2"], "jobs"),
    (["--table", "html"], "table")])
def test_wrong_input_is_one_line(run: Any, arguments: list[str], key: str) -> None:
    code, out, err = run("claims/a2.toml", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(f"verified-dp: {key} must be ")
