"""Ledgers written before a change of the code open after it, go on, and are what the same charges write today.

tests/data/ledgers: one dump for each kind, as text, of a file that version 1 of the format wrote.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from verified_dp.adaptive import (
    ApproximateDPFilter,
    GDPFilter,
    GDPOdometer,
    IndividualGDPFilter,
    IndividualGDPOdometer,
    IndividualRenyiFilter,
    IndividualRenyiOdometer,
    Ledger,
    RenyiFilter,
    RenyiOdometer,
)
from verified_dp.adaptive.ledger import KINDS

DUMPS = Path(__file__).resolve().parents[1] / "data" / "ledgers"
TINY = Fraction(1, 10**30)
Charge = dict[str, Any]

STATES: dict[str, Any] = {state.kind: state for state in (
    GDPFilter("1/4", Fraction(1, 7) + TINY),
    GDPOdometer("1/100", Fraction(22, 7) + TINY),
    RenyiFilter((2, "17/2"), (1, "7/3"), (1, "7/3")),
    RenyiOdometer("1/4", 3 + TINY, renyi_order="5/2"),
    ApproximateDPFilter(1, "1e-6", "1e-7", ("1/90", "1e-7")),
    IndividualGDPFilter(1, {"a": 1, "b": "1/7", "é": 1}),
    IndividualRenyiFilter("3/2", {"a": "2/3", "b": "3/2"}, renyi_order="17/2"),
    IndividualGDPOdometer("1/100", {"a": Fraction(22, 3) + TINY, "b": "1/50"}),
    IndividualRenyiOdometer("1/100", {"a": "22/3", "b": "8/7"}, renyi_order=8),
)}
"""What each holds after its charges."""
REFUSED: dict[str, Charge] = {
    "gdp": {"mu_squared": Fraction(3, 28)}, "renyi": {"epsilons": [0, TINY]},
    "approximate-dp": {"epsilon": 0, "delta": TINY},
}
"""Charges that are beyond what is left by 1e-30."""
ALLOWED: dict[str, Charge] = {
    "gdp": {"mu_squared": Fraction(3, 28) - TINY}, "gdp-odometer": {"mu_squared": 1}, "renyi": {"epsilons": [0, 0]},
    "renyi-odometer": {"epsilon": 1}, "approximate-dp": {"epsilon": "1/10"},
    "individual-gdp": {"mu_squared": {"a": 0, "b": "6/7", "é": TINY}},
    "individual-renyi": {"epsilons": {"a": "5/6", "b": TINY}},
    "individual-gdp-odometer": {"mu_squared": {"a": 1, "b": 0}},
    "individual-renyi-odometer": {"epsilons": {"a": 1, "b": 0}},
}
HALTED = {"individual-gdp": {"é"}, "individual-renyi": {"b"}}
READINGS: dict[str, Callable[[Any], list[int]]] = {
    "gdp-odometer": lambda state: [state.reading], "renyi-odometer": lambda state: [state.reading],
    "individual-gdp-odometer": lambda state: [state.reading("a"), state.reading("b")],
    "individual-renyi-odometer": lambda state: [state.reading("a"), state.reading("b")],
}
READ = {"gdp-odometer": [315], "renyi-odometer": [13], "individual-gdp-odometer": [734, 2],
        "individual-renyi-odometer": [734, 115]}


@pytest.fixture(params=sorted(STATES))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A ledger that was written before, of each kind: kind.ledger."""
    path = tmp_path / f"{request.param}.ledger"
    connection = sqlite3.connect(path)
    connection.executescript((DUMPS / f"{request.param}.sql").read_text(encoding="utf-8"))
    connection.close()
    return path


def test_there_is_one_of_each_kind() -> None:
    assert {path.stem for path in DUMPS.glob("*.sql")} == STATES.keys() == ALLOWED.keys() == KINDS.keys()


@pytest.mark.theorem("T114-safe-rounding")
def test_it_opens_and_holds_what_was_charged(old: Path) -> None:
    with Ledger.open(old) as ledger:
        assert ledger.kind == old.stem and ledger.state == STATES[old.stem]
        assert ledger.number == len(list(ledger.entries())) >= 2


def test_its_charges_are_known_and_stand(old: Path) -> None:
    with Ledger.open(old) as ledger:
        for entry in ledger.entries():
            again = ledger.charge(entry.key, **json.loads(entry.request))
            assert (again.number, again.repeated, again.continues) == (entry.number, True, True)
            assert again.halted is None or again.halted == set(json.loads(entry.outcome)["halted"])
        assert ledger.state == STATES[old.stem]


@pytest.mark.theorem("T110-gdp-filter", "T111-renyi-filter", "T112-approximate-filter")
def test_it_goes_on_to_the_last_part_in_ten_to_the_thirty(old: Path) -> None:
    with Ledger.open(old) as ledger:
        if old.stem in REFUSED:
            assert not ledger.charge("next", **REFUSED[old.stem]).continues
        receipt = ledger.charge("next", **ALLOWED[old.stem])
        assert receipt.continues and (receipt.halted or set()) == HALTED.get(old.stem, set())
        state = ledger.state
    with Ledger.open(old) as ledger:
        assert ledger.state == state == STATES[old.stem].charge(**ALLOWED[old.stem]).state


@pytest.mark.theorem("T113-odometer")
def test_an_odometer_reads_what_it_read(old: Path) -> None:
    with Ledger.open(old) as ledger:
        assert READINGS.get(old.stem, lambda _: None)(ledger.state) == READ.get(old.stem)


def test_the_same_charges_write_the_same_today(old: Path, tmp_path: Path) -> None:
    """All but times, and so hashes: a program of before could read what this one writes."""
    with Ledger.open(old) as ledger:
        entries, terms = list(ledger.entries()), ledger._terms
    with Ledger.create(tmp_path / "new.ledger", _start(terms)) as ledger:
        for entry in entries:
            ledger.charge(entry.key, **json.loads(entry.request))
        assert ledger._terms == terms
        new = [(entry.number, entry.key, entry.request, entry.outcome) for entry in ledger.entries()]
    assert new == [(entry.number, entry.key, entry.request, entry.outcome) for entry in entries]
    assert _schema(old) == _schema(tmp_path / "new.ledger")


def _start(terms: str) -> Any:
    found = json.loads(terms)
    return KINDS[found["kind"]](**found["fields"])


def _schema(path: Path) -> list[Any]:
    connection = sqlite3.connect(path)
    rows = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")]
    rows += connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    connection.close()
    return rows
