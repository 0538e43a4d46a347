"""The page "which sampling does my code do?" names what other libraries really have, and says what it does."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("sampling.md", "sampling-names.csv"))
CALLS = re.findall(r"`(\w+)(?:\((\w+)=[^`]*\))?`", PAGE)
"""Every name in code style, and the argument that it is written with."""


def written(ending: str) -> list[tuple[str, str]]:
    found = sorted({(name, argument) for name, argument in CALLS if name.endswith(ending)})
    assert found
    return found


@pytest.mark.parametrize(("name", "argument"), written("Sampling"))
def test_jax_privacy_has_these_samplers(name: str, argument: str) -> None:
    module = pytest.importorskip("jax_privacy.batch_selection", reason="jax-privacy is not installed")
    assert not argument or argument in inspect.signature(getattr(module, name)).parameters
    assert issubclass(getattr(module, name), module.BatchSelectionStrategy)


@pytest.mark.parametrize(("name", "argument"), written("DpEvent"))
def test_dp_accounting_has_these_events(name: str, argument: str) -> None:
    module = pytest.importorskip("dp_accounting", reason="dp_accounting is not installed")
    assert issubclass(getattr(module, name), module.DpEvent)


def test_opacus_has_this_argument() -> None:
    module = pytest.importorskip("opacus", reason="Opacus is not installed")
    assert "`poisson_sampling=True`" in PAGE
    assert inspect.signature(module.PrivacyEngine.make_private).parameters["poisson_sampling"].default is True


def batches(sampler: Any, records: int = 60) -> list[set[int]]:
    return [{int(i) for i in batch} for batch in sampler.batch_iterator(records, rng=3)]


def test_what_jax_privacy_s_samplers_do() -> None:
    """Balls in bins keeps its bins; equal groups are the default of cyclic sampling; fixed batches are fixed."""
    module = pytest.importorskip("jax_privacy.batch_selection", reason="jax-privacy is not installed")
    kept = batches(module.BallsInBinsSampling(iterations=8, cycle_length=4))
    assert kept[:4] == kept[4:] and sum(map(len, kept[:4])) == 60 and len({*map(len, kept)}) > 1
    assert module.CyclicPoissonSampling(0.5, 8).partition_type is module.PartitionType.EQUAL_SPLIT
    cyclic = batches(module.CyclicPoissonSampling(1.0, 8, cycle_length=4))
    assert cyclic[:4] == cyclic[4:] and {*map(len, cyclic)} == {15}
    assert {*map(len, batches(module.FixedBatchSampling(batch_size=7, iterations=5)))} == {7}
    assert max(map(len, batches(module.CyclicPoissonSampling(0.9, 5, truncated_batch_size=9)))) == 9
