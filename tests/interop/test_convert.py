"""The command line's `convert`, with and without a claim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verified_dp import Gaussian, Laplace, PoissonSampled, Shuffled, certify
from verified_dp.cli import main
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.spec import parse_spec

FILES: dict[str, Any] = {
    "opacus": {"history": [[1.1, 0.25, 20]], "mechanism": "rdp"},
    "dp-accounting": {"class_name": "SelfComposedDpEvent", "count": 20,
                      "event": {"class_name": "LaplaceDpEvent", "noise_multiplier": 10.5}},
    "tf-privacy": {"number_of_examples": 8, "batch_size": 2, "num_epochs": 5, "noise_multiplier": 1.1},
}


def stored(folder: Path, source: str) -> str:
    path = folder / f"{source}.json"
    path.write_text(json.dumps(FILES[source]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("source", "mechanism"), [
    ("opacus", PoissonSampled(Gaussian("1.1"), "1/4")), ("dp-accounting", Laplace("10.5", 1)),
    ("tf-privacy", PoissonSampled(Gaussian("1.1"), "1/4")),
])
def test_files_become_specifications(
        source: str, mechanism: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", stored(tmp_path, source), "--from", source]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# converted from") and "shortest decimals" in text.splitlines()[0]
    assert parse_spec(text).composition.parts == ((mechanism, 20),)


@pytest.mark.parametrize("source", FILES)
def test_histories_are_certified(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", stored(tmp_path, source), "--from", source, "--delta", "1e-5"]) == 0
    spec = tmp_path / f"{source}.toml"
    spec.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["certify", str(spec), "--out", str(tmp_path / "out"), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["verdict"] == "proved" and row["claimed"]["delta"] == "1e-5"
    found = verify(Path(row["certificate"]).read_bytes())
    assert found.valid and found.verdict == "proved"
    source_words = json.loads(Path(row["certificate"]).read_text())["claim"]["source"]
    assert "shortest decimals" in source_words
    assert ("taken for granted: neither seen nor stated" in source_words) is (source == "opacus")


def test_shuffled_histories_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = stored(tmp_path, "opacus")
    assert main(["convert", history, "--from", "opacus", "--sampling", "shuffled", "--delta", "1e-5"]) == 0
    told = capsys.readouterr().out
    assert "# Epochs were shuffled" in told and "issues 571 and 819" in " ".join(told.replace("#", "").split())
    found = parse_spec(told)
    assert found.composition.parts[0] == (Shuffled(Gaussian("1.1"), 4), 5)
    assert found.claim is not None and certify(found).verdict == "proved"


@pytest.mark.parametrize(("words", "code", "message"), [
    (["convert", "FILE", "--from", "opacus"], 2, "history must be"),
    (["convert", "missing.json", "--from", "opacus"], 2, "a file that can be read"),
    (["convert", "FILE", "--from", "dp-accounting", "--relation", "nearby"], 2, "relation must be one of"),
    (["convert", "FILE", "--from", "dp-accounting", "--sampling", "shuffled"], 2, "sampling must be left out"),
    (["certify"], 2, "required: CLAIM"),
    (["convert", "FILE", "--from", "dp-accounting", "--delta", "0"], 2, "delta must be in (0, 1)"),
    (["convert", "FILE", "--from", "dp-accounting", "--relation", "replace"], 3,
     "PoissonSampledDpEvent.LaplaceDpEvent: on a sample under replace"),
    (["convert", "FILE", "--from", "dp-accounting", "--delta", "1e-5"], 0, ""),
])
def test_mistakes_are_told_in_one_line(
        words: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "event.json"
    inner = {"class_name": "LaplaceDpEvent", "noise_multiplier": 3}
    path.write_text(json.dumps({"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.5, "event": inner}))
    assert main([str(path) if word == "FILE" else word for word in words]) == code
    told = capsys.readouterr().err
    assert message in told and told.count("\n") <= 1


@pytest.mark.parametrize("text", ["[]", "3", '"a"', "null"])
def test_arguments_that_are_no_table_are_wrong_input(text: str, tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    (file := tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert main(["convert", str(file), "--from", "tf-privacy"]) == 2
    assert "arguments must be a table" in capsys.readouterr().err
