"""The scripts of examples/peers: their numbers are reproduced where the library is installed, and are not the truth."""

from __future__ import annotations

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from verified_dp.core.kernel.certificate.check import verify

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "peers"
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.stem != "comparison")


def loaded(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location(f"peer_example_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_recorded_number_is_below_the_truth(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = loaded(path, monkeypatch)
    assert script.truth().lower > Fraction(script.RECORDED)
    row = next(line for line in (FOLDER / "README.md").read_text().splitlines() if f"`{path.name}`" in line)
    stated = row.split("|")[4].split()[-1]
    assert script.truth().lower >= Fraction(stated) or script.truth().certain_digits.startswith(stated[:8])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_the_recorded_number_is_reproduced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = loaded(path, monkeypatch)
    try:
        found = float(script.reported())
    except ImportError as missing:
        pytest.skip(f"not installed: {missing}")
    assert script.truth().lower > Fraction(found)
    noise = path.stem in ("many_laplace_releases", "negative_delta")  # another FFT, another rounding error
    assert found == pytest.approx(float(script.RECORDED), rel=2e-2, abs=1e-12 if noise else 0)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_certificate_can_be_sent_along(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = loaded(path, monkeypatch)
    comparison = sys.modules["comparison"]
    file = tmp_path / "claim.json"
    verdict = "proved" if path.stem == "negative_epsilon" else "refuted"  # 0 is the truth there
    assert comparison.certificate(script.spec(), *script.CLAIM, file) == verdict
    assert verify(file.read_bytes()).verdict == verdict
