"""`verify --trust`: what a certificate's verdict rests on, read off the process that checks it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import verified_dp
from verified_dp.certificate import certify
from verified_dp.cli import main
from verified_dp.spec import parse_spec
from verified_dp.verifiers.trust import trusted

ROOT = Path(verified_dp.__file__).parent
CLAIM = ('relation = "add"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = 2\n'
         '[claim]\nepsilon = 2\ndelta = "1e-5"\n')


@pytest.fixture(scope="module")
def certificate() -> bytes:
    return certify(parse_spec(CLAIM)).to_bytes()


def test_files_are_those_of_core_that_a_fresh_check_loads(certificate: bytes) -> None:
    found = trusted(certificate)
    program = ("import sys; from verified_dp.core.kernel.certificate.check import verify\n"
               "verify(sys.stdin.buffer.read())\n"
               "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('verified_dp.core')), sep='\\n')")
    loaded = subprocess.run([sys.executable, "-c", program], input=certificate, capture_output=True, check=True)
    paths = {Path(line).relative_to(ROOT.parent).as_posix() for line in loaded.stdout.decode().split("\n") if line}
    assert {path for path, _ in found.files} == paths
    for path, lines in found.files:
        assert lines == len((ROOT.parent / path).read_text(encoding="utf-8").splitlines())
    assert found.lines == sum(lines for _, lines in found.files)


def test_theorems_are_the_certificates_own_with_statements(certificate: bytes) -> None:
    found = trusted(certificate)
    assert [name for name, _, _ in found.theorems] == json.loads(certificate)["theorems"]
    assert all(statement and read for _, statement, read in found.theorems)
    assert any("FLINT/Arb" in text for text in found.not_proved_here)


def test_an_invalid_certificate_is_answered_as_invalid(certificate: bytes, tmp_path: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(certificate.replace(b'"proved"', b'"refuted"'))
    assert main(["verify", "--trust", "--json", str(bad)]) == 1
    row = json.loads(capsys.readouterr().out)
    assert (row["schema"], row["valid"]) == ("verified-dp/check/1", False)


def test_people_read_lines_and_theorems(certificate: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "good.json"
    place.write_bytes(certificate)
    assert main(["verify", "--trust", str(place)]) == 0
    printed = capsys.readouterr().out
    assert f"{trusted(certificate).lines} lines in" in printed and "T25-composition: " in printed
    assert main(["verify", "--trust", "--independent", str(place)]) == 2
