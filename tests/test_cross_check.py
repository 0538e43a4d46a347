"""`make cross-check` on a few specifications, and that it sees disagreements."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from verified_dp.core.families.table import ALL_RELEASES, SCHEMES
from verified_dp.core.kernel.certificate.check import Check
from verified_dp.spec import parse_spec


@pytest.fixture(scope="module")
def tool(load: Callable[..., ModuleType]) -> ModuleType:
    return load(Path(__file__).with_name("cross_check.py"))


def test_specifications_are_random_and_repeatable(tool: ModuleType) -> None:
    texts = [tool.specification(1, n) for n in range(200)]
    assert texts == [tool.specification(1, n) for n in range(200)] and len(set(texts)) == 200
    everything = "\n".join(texts)
    later = {"partition-selection", "gnmax", "gnmax-votes"}  # golden and example certificates have them
    assert {*tool.KINDS} == {"gaussian", *ALL_RELEASES} - later
    assert all(f'kind = "{kind}"' in everything for kind in (*tool.KINDS, "composition"))
    assert all(f'scheme = "{scheme}"' in everything for scheme, kind in SCHEMES.items() if kind.key == "sampling")
    assert all(f'relation = "{relation}"' in everything for relation in tool.RELATIONS)


@pytest.mark.parametrize("index", [0, 1, 4, 7, 11, 15, pytest.param(833, marks=pytest.mark.long), 956])
def test_verifiers_agree(index: int, tool: ModuleType) -> None:
    """15: shuffled messages; 833: no mass between the atoms of a lattice; 956: delta within 1e-21 of 1."""
    row = tool.random_row(1, index)
    assert parse_spec(row["spec"]).claim is not None
    assert row["results"]["trusted"] == "valid" and not tool.disagrees(row), row


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.long) for first in range(6, 210, 12))])
def test_verifiers_agree_on_the_best_of_several_runs(first: int, tool: ModuleType) -> None:
    rows = [tool.random_row(2, index, make=tool.selections) for index in range(first, first + (12 if first else 6))]
    assert all("crash" not in row and not tool.disagrees(row) for row in rows), rows
    results = [row["results"] for row in rows if "results" in row]
    assert len(results) > len(rows) / 2 and all(found["trusted"] == "valid" for found in results)
    assert sum(found["independent"] == "valid" for found in results) > 0.8 * len(results)


def test_a_disagreement_is_seen(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tool._CALLS, "independent", lambda data, _: Check(False, None, "claim", "no"))
    row = tool.random_row(1, 0)
    assert tool.disagrees(row) and row["results"]["independent"] == "invalid: claim: no"
    assert "disagreements: 1.0" in tool.report({"1.0": row})


def test_a_crash_is_a_disagreement(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tool._CALLS, "independent", lambda data, _: 1 // 0)
    assert tool.disagrees(tool.random_row(1, 0))
    monkeypatch.setattr(tool, "_certify", lambda *given: 1 // 0)
    row = tool.random_row(1, 0)
    assert tool.disagrees(row) and "ZeroDivisionError" in row["crash"]
    assert "disagreements: 1.0" in tool.report({"1.0": row})


def test_a_run_goes_on(tool: ModuleType, tmp_path: Path) -> None:
    row = {"key": "a", "verdict": "proved", "witnesses": ["line"], "results": {"trusted": "valid"}, "seconds": {}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    tasks: list[tuple[str, Any, tuple[Any, ...]]] = [("a", None, ()), ("1.4", tool.random_row, (1, 4))]
    found = tool.run(tmp_path / "rows.jsonl", tasks, 1)
    assert set(found) == {"a", "1.4"} == set(tool.rows_of(tmp_path / "rows.jsonl"))


def test_time_is_the_processor_s(tool: ModuleType) -> None:
    with pytest.raises(TimeoutError), tool.processor_time(0.05):
        while True:
            pass
