"""The JSON Schema files of the package against what the commands answer."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from verified_dp.cli import main

jsonschema = pytest.importorskip("jsonschema")
pytest.importorskip("yaml")
SCHEMAS = {json.loads(path.read_text())["properties"]["schema"]["const"]: json.loads(path.read_text())
           for path in files("verified_dp").joinpath("schemas").iterdir()
           if path.name.endswith(".json") and not path.name.startswith("certificate.")}
TRAINING = ["--noise-multiplier", "2", "--sampling", "poisson", "--sampling-probability", "1/50", "--steps", "20"]
COMMANDS = [
    ["delta", "a.toml", "--epsilon", "1"], ["epsilon", "a.toml", "--delta", "1e-5"],
    ["epsilon", "a.toml", "--delta", "1e-5", "--method", "berry-esseen"], ["certify", "a.toml"],
    ["certify", "a.toml", "--out", "kept"], ["verify", "kept/a.json"], ["verify", "kept/a.json", "--trust"],
    ["verify", "a.toml"],
    ["delta", "b.toml", "--epsilon", "1"],
    ["certify", "a.toml", "--html", "a.html", "--max-seconds", "1"],
    ["certify", "kept/a.json", "--html", "a.html", "--methods", "closed-form"],
    ["compare", "a.toml", "--epsilon", "1", "--methods", "auto,berry-esseen,fourier,lattice"],
    ["compare", "a.toml", "--delta", "1e-5", "--methods", "closed-form"],
    ["curve", "a.toml", "--epsilon", "-1:1:3"], ["curve", "a.toml", "--delta", "1e-5,1/3"],
    ["tradeoff", "a.toml", "--fpr", "0.01,1/2", "--prior", "1/3"], ["tradeoff", "a.toml", "--fpr", "0.01"],
    ["tradeoff", "a.toml", "--fpr", "0.01", "--max-seconds", "1e-6"],
    ["calibrate", "a.toml", "--solve", "count", "--epsilon", "3", "--delta", "1e-5", "--max-seconds", "1e-6"],
    ["calibrate", "a.toml", "--solve", "count", "--epsilon", "3", "--delta", "1e-5", "--out", "kept"],
    ["certify", "d.toml"], ["certify", "e.yaml", "--html", "e.html"],
    ["attack", "--delta=0", "--true-positives", "9", "--positives", "9", "--false-positives", "0", "--negatives", "9"],
    ["attack", "c.toml", "--delta=1e-5", "--one-run", "--fdp", "--canaries", "9", "--guesses", "9", "--correct", "9"],
    ["statement", "kept/a.json"], ["dpsgd", *TRAINING, "--delta", "1e-5"], ["dpsgd", *TRAINING, "--claim", "3,1e-5"],
    ["dpsgd", *TRAINING], ["dpsgd", "--sampling", "shuffled"], ["dpsgd", "--sampling", "shuffling", *TRAINING[2:]]]


def test_commands_answer_by_their_schemas(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "9"\ncount = 30\n'
    Path("a.toml").write_text(text + '[claim]\nepsilon = 3\ndelta = "1e-5"\n', encoding="utf-8")
    Path("d.toml").write_text(Path("a.toml").read_text().replace('"9"', '{ rounded = "9" }'), encoding="utf-8")
    Path("c.toml").write_text(text.replace('"add"', '"replace"'), encoding="utf-8")
    Path("e.yaml").write_text("url_slug: a\nstatus: Draft\ntier: 1\ndeployment: {basic: {name: B}}\n", encoding="utf-8")
    seen = set()
    for command in COMMANDS:
        main([*command, "--json"])
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert rows, command
        for row in rows:
            jsonschema.validate(row, SCHEMAS[row["schema"]])
            seen.add(row["schema"])
    assert seen == {*SCHEMAS}


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schemas_refuse_what_is_not_theirs(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    bad: list[Any] = [{}, {"schema": name}, [], {"schema": "other"}]
    assert not any(jsonschema.Draft202012Validator(SCHEMAS[name]).is_valid(value) for value in bad)
