"""What may be named and typed: standard input, folders, words that are nearly right, keys of other programs."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from verified_dp.cli import main

PLAIN = 'relation = "remove"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "{noise}"\n'
CLAIM = '[claim]\nepsilon = "3"\ndelta = "1e-5"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a folder of three claims, whose names are not in the order of their making."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims").mkdir()
    for name, noise in (("c", 4), ("a", 2), ("b", 3)):
        (tmp_path / "claims" / f"{name}.toml").write_text(PLAIN.format(noise=noise) + CLAIM, encoding="utf-8")
    (tmp_path / "claims" / "notes.txt").write_text("nothing", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    return tmp_path


class Run:
    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = main(arguments)
        self.out, self.err = capsys.readouterr()
        self.rows = [json.loads(line) for line in self.out.splitlines()] if "--json" in arguments else []


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda *arguments: Run(capsys, *arguments)


def typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_is_a_specification(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (named,) = run("delta", "claims/a.toml", "--epsilon", "1", "--json").rows
    typed(monkeypatch, PLAIN.format(noise=2).encode())
    (found,) = run("delta", "-", "--epsilon", "1", "--json").rows
    assert {**found, "seconds": 0} == {**named, "seconds": 0}


def test_standard_input_is_a_claim_and_a_certificate(run: Any, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    typed(monkeypatch, (PLAIN.format(noise=2) + CLAIM).encode())
    (row,) = run("certify", "-", "--out", ".", "--json").rows
    assert (row["verdict"], row["certificate"]) == ("proved", "stdin.json")
    typed(monkeypatch, (folder / "stdin.json").read_bytes())
    found = run("verify", "-", "--json")
    assert (found.code, found.rows[0]["valid"], found.rows[0]["file"]) == (0, True, "-")


def test_standard_input_is_read_once(run: Any) -> None:
    found = run("delta", "-", "-", "--epsilon", "1")
    assert found.code == 2 and "standard input once" in found.err


def test_wrong_standard_input_is_one_line(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"", b"\xff\xfe", b"not = [toml"):
        typed(monkeypatch, data)
        found = run("delta", "-", "--epsilon", "1")
        assert found.code == 2 and found.err.startswith("-: ") and found.err.count("\n") == 1


def test_a_folder_stands_for_its_files_by_name(run: Any) -> None:
    found = run("certify", "claims", "--out", "done", "--json")
    assert found.code == 0
    assert [row["file"] for row in found.rows] == [str(Path("claims", f"{name}.toml")) for name in "abc"]
    checked = run("verify", "done", "--json")
    assert [(row["file"], row["valid"]) for row in checked.rows] == [
        (str(Path("done", f"{name}.json")), True) for name in "abc"]
    assert len(run("epsilon", "claims", "claims/b.toml", "--delta", "1e-5", "--json").rows) == 4


def test_a_folder_without_such_files_is_wrong_input(run: Any) -> None:
    for command in (["delta", "empty", "--epsilon", "1"], ["verify", "claims"]):
        found = run(*command)
        assert found.code == 2 and found.err.count("\n") == 1 and "folder" in found.err


@pytest.mark.parametrize("twice", [
    ["delta", "claims/a.toml", "--epsilon", "1", "--epsilon", "2"],
    ["delta", "claims/a.toml", "--epsilon", "1", "--epsilon", "1"],
    ["epsilon", "claims/a.toml", "--delta=1e-5", "--digits", "3", "--digits=4"],
    ["delta", "claims/a.toml", "--epsilon", "1", "--method", "auto", "--method", "auto"],
    ["certify", "claims/a.toml", "--out", "x", "--out", "y"],
    ["certify", "claims/a.toml", "--max-seconds", "1", "--max-seconds", "2"],
    ["delta", "claims/a.toml", "--epsilon", "1", "--json", "--json"],
])
def test_an_option_given_twice_is_wrong_input(run: Any, twice: list[str]) -> None:
    found = run(*twice)
    assert found.code == 2 and "given twice" in found.err and found.err.count("\n") == 1


def test_settings_may_be_repeated(run: Any) -> None:
    assert run("delta", "claims/a.toml", "--epsilon", "1", "--method", "renyi").code == 0
    found = run("delta", "claims/a.toml", "--epsilon", "1", "--method", "fourier", "--set", "n=2000", "--set", "L=12")
    assert found.code == 0


@pytest.mark.parametrize(("scheme", "code", "words"), [
    ("poison", 2, "did you mean poisson?"), ("Poisson", 2, "did you mean poisson?"),
    ("without-replacment", 2, "did you mean without-replacement?"), ("often", 2, "known are poisson"),
    ("shuffle", 2, "shuffled"), ("fixed-size", 3, "no proof here"),
    ("balls_in_bins", 2, "random-allocation"),
])
def test_words_for_sampling(run: Any, folder: Path, scheme: str, code: int, words: str) -> None:
    text = PLAIN.format(noise=2) + f'sampling = {{ scheme = "{scheme}", probability = "1/10" }}\n'
    (folder / "s.toml").write_text(text, encoding="utf-8")
    found = run("delta", "s.toml", "--epsilon", "1", "--json")
    assert (found.code, found.rows[0]["status"]) == (code, {2: "error", 3: "unsupported"}[code])
    assert found.rows[0]["key"] == "mechanism[1].sampling.scheme" and words in found.err


@pytest.mark.parametrize(("line", "words"), [
    ("batch_size = 256", "dpsgd --batch-size"), ("dataset_size = 60000", "probability = "),
    ("epochs = 60", "count = EPOCHS"), ("steps = 100", "count"), ("sampling_rate = 0.01", "scheme = "),
    ("max_grad_norm = 1", "noise_multiplier"), ("delta = 1e-5", "[claim]"), ("cuont = 3", "did you mean count?"),
])
def test_keys_of_other_programs_get_help(run: Any, folder: Path, line: str, words: str) -> None:
    (folder / "s.toml").write_text(PLAIN.format(noise=2) + line + "\n", encoding="utf-8")
    found = run("delta", "s.toml", "--epsilon", "1")
    assert found.code == 2 and found.err.count("\n") == 1 and words in found.err
    assert found.err.startswith(f"s.toml: mechanism[1].{line.partition(' ')[0]} must be ")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no /dev/zero")
def test_endless_files_are_read_up_to_the_limit(run: Any) -> None:
    assert run("delta", "/dev/zero", "--epsilon", "1").code == 2
    found = run("verify", "/dev/zero", "--json")
    assert found.code == 1 and "longer than" in found.rows[0]["reason"]
