"""`make mutant-check` on a few mutants, and that it sees a false one that is accepted."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import canonical


@pytest.fixture(scope="module")
def tool(load: Callable[..., ModuleType]) -> ModuleType:
    return load(Path(__file__).with_name("mutant_check.py"))


@pytest.mark.parametrize("kind", ["closed-form", "exact", "support", "line", "node-moment", "moment", "halves"])
def test_no_false_mutant_is_accepted(kind: str, tool: ModuleType) -> None:
    document = tool.original(kind)
    assert verify(canonical(document)).valid
    rows = [tool.row(document, kind, 7, n) for n in range(8)]
    assert not any(map(tool.is_unsound, rows))
    assert any(one["false"] for one in rows)


def test_moved_enclosures_are_false_and_well_formed(tool: ModuleType) -> None:
    """All but the evaluation passes: the witness is what they are refused for."""
    document, rng, fields = tool.original("closed-form"), random.Random(1), set()
    for _ in range(90):
        found, what, false = tool.mutant(document, "closed-form", rng)
        if found is not None and what == "enclosure":
            assert false
            check = verify(canonical(found))
            assert not check.valid
            fields.add(str(check.field).partition(".")[2])
    assert fields == {"enclosure.lower", "enclosure.upper"}


def test_ends_counts_and_orders_beside_the_truth(tool: ModuleType) -> None:
    """Narrower ends than recorded are accepted where the witness proves them; nothing false is."""
    document = tool.original("closed-form")
    rows = [tool.row(document, "closed-form", 7, n, series=".beside") for n in range(30)]
    assert {one["what"] for one in rows} == {"ends", "count", "order"} and not any(map(tool.is_unsound, rows))
    assert {one["what"] for one in rows if one["false"]} >= {"ends", "count"}
    assert all(len({text.partition(":")[0] for text in one["results"].values()}) == 1 for one in rows)
    assert any("accepted" in one["results"].values() for one in rows)


def test_an_accepted_false_one_is_seen(tool: ModuleType) -> None:
    row = {"key": "line.1.0", "kind": "line", "what": "enclosure", "false": True,
           "results": {"trusted": "accepted", "independent": "refused: x: y"}}
    assert tool.is_unsound(row) and not tool.is_unsound({**row, "false": False})
    text = "\n".join(tool.report([row]))
    assert "| line | 1 | 1 | 1 |" in text and "refused by the independent checker alone: x: y" in text
