"""The example training with individual losses, on fewer records and steps."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / "examples" / "individual_dpsgd.py"
NAME = "individual_dpsgd"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(NAME, PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RECORDS", 200)
    monkeypatch.setattr(module, "STEPS", 60)
    return module


def test_individual_losses_of_a_training(example: ModuleType, capsys: pytest.CaptureFixture[str],
                                         tmp_path: Path) -> None:
    """Nobody loses more than the worst case; the harder group loses more; the picture is written."""
    example.main(str(tmp_path / "figure.png"))
    text = capsys.readouterr().out
    (worst,) = re.findall(r"worst case +in \[([\d.]+), ([\d.]+)\]", text)
    everybody = float(re.findall(r"100% of the records have eps <= ([\d.]+)", text)[0])
    clean, noisy = (float(low) for low in re.findall(r"mean of \w+ +\( *\d+\) in \[([\d.]+),", text))
    assert 0 < clean < noisy < everybody <= float(worst[1]) * (1 + 1e-3)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
