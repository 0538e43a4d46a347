"""Certificates in Python, and the paragraph that they support."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verified_dp import Certificate, InvalidInput, certify, load_spec, verify
from verified_dp.cli import main
from verified_dp.questions.statement import statement
from verified_dp.spec import parse_spec

TRAINING = """relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "1.1"
sampling = { scheme = "poisson", probability = "256/60000" }
count = 14063
[claim]
title = "a_title & more"
source = "somewhere"
epsilon = "3.01"
delta = "1e-5"
"""


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return certify(parse_spec(TRAINING), digits=6)


def test_certificate_is_saved_and_verifies(certificate: Certificate, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    certificate.save(path)
    assert certificate.verdict == "proved" and certificate.verify().valid
    for what in (path, str(path), path.read_bytes(), dict(certificate), certificate):
        assert verify(what) == certificate.verify()
    assert {**certificate} == json.loads(path.read_text()) and len(certificate) == len(certificate.document)


def test_what_was_altered_does_not_verify(certificate: Certificate) -> None:
    altered = {**certificate, "claim": {**certificate["claim"], "epsilon": "2"}}
    found = verify(altered)
    assert not found.valid and found.verdict is None and not verify(b"{}").valid


def test_missing_file_and_missing_claim(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a certificate that can be read"):
        verify(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match="claim"):
        certify(parse_spec(TRAINING.partition("[claim]")[0]))


def test_names_stay_functions_whatever_was_imported() -> None:
    import verified_dp
    import verified_dp.calibration
    import verified_dp.certificate

    assert all(callable(getattr(verified_dp, name)) for name in ("certify", "calibrate", "verify"))


def test_statement_says_all_there_is(certificate: Certificate) -> None:
    text = certificate.statement()
    for words in ("one record added or removed", "14063 steps", "noise multiplier 1.1", "8/1875", "60.0021 epochs",
                  "(3.01, 1e-5)", "is proved to hold", "the smallest epsilon is 2.382 (rounded up)", "somewhere",
                  "may depend on what earlier ones released", certificate["sha256"], *certificate["assumptions"]):
        assert words in text
    assert r"a\_title \& more" in certificate.statement("latex") and r"\item" in certificate.statement("latex")
    assert "\n- neighbours" in statement(certificate, "markdown")
    for words in (r"of $(3.01, 10^{-5})$-differential", r"At $\delta = 10^{-5}$ the smallest $\varepsilon$ is $2.382$"):
        assert words in certificate.statement("latex")
    cited = certificate.statement("bibtex")
    assert cited.startswith(f"@misc{{verified-dp-{certificate['sha256'][:12]},\n  title = {{{{Certificate of $(3.01")
    assert rf"SHA-256 \texttt{{{certificate['sha256']}}}" in cited and cited.count("{") == cited.count("}")
    untitled = {**certificate.document, "claim": {**certificate.document["claim"], "title": ""}}
    assert statement(untitled).startswith("The claim of (3.01, 1e-5)-differential privacy is proved to hold. ")


def test_a_statement_is_not_steered_by_a_title(certificate: Certificate) -> None:
    document = {**certificate.document, "claim": {**certificate.document["claim"], "title": "a\u202e\nb\x1b"}}
    assert statement(document).startswith(r"a\u202e\nb\x1b: the claim")
    assert statement(document, "markdown").startswith(r"a\u202e\nb\x1b: the claim")
    backslash = r"\textbackslash{}"
    assert statement(document, "latex").startswith(f"a{backslash}u202e{backslash}nb{backslash}x1b: the claim")


@pytest.mark.parametrize(("mechanism", "words"), [
    ('kind = "gaussian"\nsigma = 3\nsensitivity = 2', "One step of the Gaussian mechanism (sensitivity 2, sigma 3)"),
    ('kind = "laplace"\nscale = "10/3"\nsensitivity = 1\ncount = 2', "scale 10/3 (about 3.33333)"),
    ('kind = "finite"\nP = ["1/2", "1/2"]\nQ = ["1/3", "2/3"]', "finite mechanism")])
def test_other_mechanisms(mechanism: str, words: str) -> None:
    text = f'relation = "add"\n[[mechanism]]\n{mechanism}\n[claim]\nepsilon = 9\ndelta = "1e-3"\n'
    assert words in certify(parse_spec(text)).statement()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        certificate: Certificate) -> Any:
    """Call `statement` beside a certificate, one that was altered, and a specification."""
    monkeypatch.chdir(tmp_path)
    certificate.save("good.json")
    Path("bad.json").write_text(Path("good.json").read_text().replace("3.01", "2.01"), encoding="utf-8")
    Path("spec.toml").write_text(TRAINING, encoding="utf-8")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["statement", *arguments])
        return code, *capsys.readouterr()

    return call


def test_statement_of_a_file(run: Any, certificate: Certificate) -> None:
    code, out, err = run("good.json", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"schema": "verified-dp/statement/1", "text": certificate.statement(),
                               "certificate": certificate["sha256"]}
    assert run("good.json", "--format", "markdown")[1].rstrip("\n") == certificate.statement("markdown")
    assert load_spec("spec.toml").claim is not None


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["bad.json"], 1, "not a valid certificate"), (["spec.toml"], 1, "not a valid certificate"),
    (["none.json"], 2, "file must be"), (["good.json", "--format", "html"], 2, "format must be"), ([], 2, "CERT")])
def test_nothing_is_stated_of_others(run: Any, arguments: list[str], code: int, words: str) -> None:
    found, out, err = run(*arguments)
    assert (found, out, err.count("\n")) == (code, "", 1) and words in err


def test_statement_of_random_allocation_counts_its_rounds() -> None:
    from verified_dp.questions.statement import _step

    sampling = {"scheme": "random-allocation", "rounds": 100, "picks": 1, "fixed": False}
    words = _step({"kind": "gaussian", "noise_multiplier": "1", "sampling": sampling, "count": 3})
    assert "3 steps" in words and "each 100 rounds of random allocation sampling (fixed False, picks 1)" in words
