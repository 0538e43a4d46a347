"""`make certify` succeeds if and only if every claim gets its recorded verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROVED = {"verdict": "proved", "short_by_rounding": False}
REFUTED = {"verdict": "refuted", "short_by_rounding": False}
SHORT = {"verdict": "refuted", "short_by_rounding": True}
UNDECIDED = {"verdict": "undecided", "short_by_rounding": False}
ERROR = {"schema": "verified-dp/error/1", "message": "count must be an integer from 1 to 10^12, got 0"}


@pytest.fixture
def program(load_example: Callable[[str], ModuleType]) -> ModuleType:
    """The example program as a module."""
    return load_example("certify_claims")


def verdict(words: dict[str, Any]) -> dict[str, Any]:
    """A line of the command line's output."""
    if words is ERROR:
        return words
    ends = {"lower": "2.25310903115", "upper": "2.25310903118"}
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
    monkeypatch.setattr(program, "verdicts", lambda files: (verdict(words) for words in given))
    records = {f"claim{number}": words for number, words in enumerate(recorded)}
    (tmp_path / "expected.json").write_text(json.dumps(records), encoding="utf-8")
    for number in range(len(given)):
        (tmp_path / f"claim{number}.toml").touch()
    assert program.main() == code


def test_missing_output_is_an_error(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(program, "CLAIMS", tmp_path)
    monkeypatch.setattr(program, "verdicts", lambda files: iter([verdict(PROVED)]))
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
