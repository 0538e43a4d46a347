"""docs/cross-check.csv has a row of every example claim, in the form that the program writes, and says what is so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

CLAIMS = sorted((Path(__file__).resolve().parents[1] / "examples" / "claims").glob("*.toml"))
ADVICE = "run `make cross-check` and `python tests/agreement_page.py`"


@pytest.fixture(scope="module")
def program(load: Callable[..., ModuleType]) -> ModuleType:
    return load(Path(__file__).with_name("agreement_page.py"))


@pytest.fixture(scope="module")
def text(program: ModuleType) -> str:
    return str(program.PAGE.read_text(encoding="utf-8"))


SHARP = "claim:tfp-ex-pld-mb"
"""True by 10^-7 of delta: the second checker, which does not replay its witness, gives up after 40 seconds."""


def test_every_claim_is_there_and_confirmed_twice(program: ModuleType) -> None:
    rows = program.claims_of(program.ROWS.read_text(encoding="utf-8"))
    assert [row["key"] for row in rows] == sorted(f"claim:{path.stem}" for path in CLAIMS), ADVICE
    for row in rows:
        second = "not covered" if row["key"] == SHARP else "valid"
        assert (row["results"]["trusted"], row["results"]["independent"]) == ("valid", second), row["key"]


def test_the_page_is_as_the_program_writes_it(program: ModuleType, text: str) -> None:
    written = program.ROWS.read_text(encoding="utf-8")
    rows = program.claims_of(written)
    assert program.corpus(rows) == written and "\n".join(program.counts(rows)) in text
    assert program.total(rows).partition(" in ")[0] in text
    assert program.HEAD in text and program.MUTANTS in text and "Disagreements: none." in text
    assert all(f"\n| {kind} | " in text for kind in program.ENGINES)


@pytest.mark.parametrize("name", ["autodp-one-laplace", "spectus-mobility", "gboard-pt", "opacus-mnist-15-old"])
def test_rows_are_what_the_verifiers_say(name: str, program: ModuleType, load: Callable[..., ModuleType]) -> None:
    rows = program.claims_of(program.ROWS.read_text(encoding="utf-8"))
    noted = next(row for row in rows if row["key"] == f"claim:{name}")
    tool = load(Path(__file__).with_name("cross_check.py"))
    found = tool.claim_row(next(path for path in CLAIMS if path.stem == name), Path("none"))
    for key in ("verdict", "witnesses"):
        assert noted[key] == found[key], ADVICE
    assert all(noted["results"][one] == result for one, result in found["results"].items()), ADVICE
