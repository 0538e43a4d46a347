"""The training of examples/attack_on_a_training.py: caught without its noise, consistent with it."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_training_without_noise_is_caught_and_the_right_one_is_not() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "attack_on_a_training.py"
    spec = importlib.util.spec_from_file_location("attack_on_a_training", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert [one.claim for one in module.audit(noisy=True)] == ["consistent"] * 2
    assert [one.claim for one in module.audit(noisy=False)] == ["contradicted"] * 2
