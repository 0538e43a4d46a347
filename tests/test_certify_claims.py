"""`make certify` succeeds if and only if every claim gets its recorded verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ENDS = ["2.25310903115", "2.25310903118"]
PROVED = {"verdict": "proved", "short_by_rounding": False, "epsilon": ENDS}
REFUTED = {"verdict": "refuted", "short_by_rounding": False, "epsilon": ENDS}
SHORT = {"verdict": "refuted", "short_by_rounding": True, "epsilon": ENDS}
UNDECIDED = {"verdict": "undecided", "short_by_rounding": False, "epsilon": ENDS}
WIDER = {**PROVED, "epsilon": ["2.2", "inf"]}
APART = {**PROVED, "epsilon": ["2.25310903119", "2.3"]}
ERROR = {"schema": "verified-dp/error/1", "message": "count must be an integer from 1 to 10^12, got 0"}


@pytest.fixture
def program(load_example: Callable[[str], ModuleType]) -> ModuleType:
    """The example program as a module."""
    return load_example("certify_claims")


def verdict(words: dict[str, Any]) -> dict[str, Any]:
    """A line of the command line's output."""
    if words is ERROR:
        return words
    ends = dict(zip(("lower", "upper"), words["epsilon"], strict=True))
    return {**words, "claimed": {"epsilon": "3.01", "delta": "1e-5"}, "epsilon": ends, "delta": ends}


@pytest.mark.parametrize(
    ("recorded", "given", "code"),
    [
        ([PROVED, REFUTED], [PROVED, REFUTED], 0),
        ([PROVED, UNDECIDED, SHORT], [PROVED, UNDECIDED, SHORT], 0),
        ([PROVED, REFUTED], [PROVED, PROVED], 1),
        ([PROVED], [REFUTED], 1),
        ([REFUTED], [SHORT], 1),
        ([SHORT], [REFUTED], 1),
        ([PROVED], [UNDECIDED], 1),
        ([PROVED], [ERROR], 1),
        ([WIDER], [PROVED], 0),
        ([PROVED], [WIDER], 0),
        ([APART], [PROVED], 1),  # two enclosures of one number that do not meet
        ([PROVED, PROVED], [PROVED], 1),  # a record without its claim
        ([PROVED], [PROVED, PROVED], 1),  # a claim without its record
        ([], [], 1),
    ],
)
def test_exit_code(
    program: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    recorded: list[dict[str, Any]],
    given: list[dict[str, Any]],
    code: int,
) -> None:
    monkeypatch.setattr(program, "CLAIMS", tmp_path)
    monkeypatch.setattr(program, "verdicts", lambda files, *options: (verdict(words) for words in given))
    records = {f"claim{number}": words for number, words in enumerate(recorded)}
    (tmp_path / "expected.json").write_text(json.dumps(records), encoding="utf-8")
    for number in range(len(given)):
        (tmp_path / f"claim{number}.toml").touch()
    assert program.main() == code


def test_the_record_is_written_anew(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr(program, "CLAIMS", tmp_path)
    monkeypatch.setattr(program, "write_ranges", lambda: None)
    monkeypatch.setattr(program, "CERTIFICATES", kept)
    for name, tight in (("a", True), ("b", False), ("gone", True)):
        (kept / f"{name}.json").write_text(json.dumps({
            "pairs": [{"tight": True}, {"tight": tight}],
            "result": {"epsilon": {"lower": ENDS[0], "upper": ENDS[1], "order": "both"}},
        }), encoding="utf-8")
    given = {"a": PROVED, "b": UNDECIDED}
    for name in given:
        (tmp_path / f"{name}.toml").write_text(name, encoding="utf-8")
    rows = [{**verdict(words), "certificate": str(kept / f"{name}.json")} for name, words in given.items()]
    monkeypatch.setattr(program, "verdicts", lambda files, *options: iter(rows))
    (tmp_path / "expected.json").write_text(json.dumps({"a": REFUTED}), encoding="utf-8")
    assert program.main(record=True) == 0
    assert "new, gone or changed: a, b" in capsys.readouterr().out
    record = json.loads((tmp_path / "expected.json").read_text(encoding="utf-8"))
    assert [(one["verdict"], one["tight"], one["epsilon"]) for one in record.values()] == [
        ("proved", True, ENDS), ("undecided", False, ENDS)]
    assert record["a"]["sha256"] == hashlib.sha256(b"a").hexdigest()
    assert sorted(path.stem for path in kept.iterdir()) == ["a", "b"]
    assert program.main() == 0


def test_an_error_is_not_recorded(program: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(program, "CLAIMS", tmp_path)
    monkeypatch.setattr(program, "verdicts", lambda files, *options: iter([ERROR]))
    (tmp_path / "a.toml").touch()
    (tmp_path / "expected.json").write_text("{}", encoding="utf-8")
    assert program.main(record=True) == 1
    assert (tmp_path / "expected.json").read_text(encoding="utf-8") == "{}"


def test_missing_output_is_an_error(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(program, "CLAIMS", tmp_path)
    monkeypatch.setattr(program, "verdicts", lambda files, *options: iter([verdict(PROVED)]))
    (tmp_path / "expected.json").write_text(json.dumps({"a": PROVED, "b": PROVED}), encoding="utf-8")
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match="shorter"):
        program.main()


@pytest.mark.parametrize(
    ("lower", "upper", "shown"),
    [
        ("2.25310903115", "2.25310903118", "2.25310903"),
        ("2.4", "2.6", "2"),
        ("9.9", "10.1", "9.9 to 10.1"),
        ("1.25e-20", "1.27e-20", "1.2e-20"),
        ("9.9e-21", "1.1e-20", "9.9e-21 to 1.1e-20"),
        ("0", "0", "0"),
        ("0", "1e-400", "0 to 1e-400"),
        ("3.5", "inf", "3.5 to inf"),
    ],
)
def test_certain_digits(program: ModuleType, lower: str, upper: str, shown: str) -> None:
    assert program.certain(lower, upper) == shown
