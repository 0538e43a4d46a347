"""The ledger: no crash loses or doubles a charge, writers are serialised, damage is refused."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from verified_dp.adaptive.filters import (
    ApproximateDPFilter,
    GDPFilter,
    IndividualGDPFilter,
    IndividualRenyiFilter,
    RenyiFilter,
)
from verified_dp.adaptive.ledger import Entry, Ledger
from verified_dp.adaptive.odometers import GDPOdometer, IndividualGDPOdometer, IndividualRenyiOdometer, RenyiOdometer
from verified_dp.adaptive.storage import InvalidLedger, LedgerBusy
from verified_dp.adaptive.sums import Verdict
from verified_dp.core.kernel.errors import InvalidInput

WRITER = """
import sys
from verified_dp.adaptive.ledger import Ledger
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with Ledger.open(path) as ledger:
    for i in range(first, last):
        assert ledger.charge(f"step {i}", mu_squared=f"{i}/1000").continues
        print(i, flush=True)
"""


def start_writer(path: Path, first: int, last: int) -> subprocess.Popen[bytes]:
    """A process that charges steps first, ..., last - 1 and writes each acknowledged number to a file of its own.

    No other writer goes on in that file: a killed one may leave half a line.
    """
    told = path.parent / f"told-{len(list(path.parent.glob('told-*')))}"
    with told.open("wb") as out:
        return subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(first), str(last)], stdout=out)


def acknowledged(folder: Path) -> set[int]:
    """Every number that was written in full."""
    return {int(line) for file in folder.glob("told-*") for line in file.read_text().split("\n")[:-1]}


def kill_and_finish(folder: Path, charges: int, kills: int, seed: int) -> None:
    """Two writers, killed again and again in the middle; each starts over from its first charge."""
    path, draw = folder / "run.ledger", random.Random(seed)
    Ledger.create(path, GDPOdometer(1)).close()
    half = charges // 2
    ranges = [(0, half + half // 4), (half, charges)]  # they share keys, too
    for _ in range(kills):
        seen = len(acknowledged(folder))
        writers = [start_writer(path, *span) for span in ranges]
        goal, deadline = seen + draw.randrange(1, max(2, charges // (kills + 1))), time.monotonic() + 30
        while len(acknowledged(folder)) < goal and time.monotonic() < deadline:
            if all(writer.poll() is not None for writer in writers):
                break
            time.sleep(draw.random() * 0.02)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        with Ledger.open(path) as ledger:
            charged = {int(entry.key.removeprefix("step ")) for entry in ledger.entries()}
            assert ledger.number == len(charged)
            assert ledger.state.spent == sum(Fraction(i, 1000) for i in charged)
        assert acknowledged(folder) <= charged, "an acknowledged charge is lost"
        in_doubt = charged - acknowledged(folder)
        assert len(in_doubt) <= 2 * kills, "at most one charge per killed writer was made and not acknowledged"
    writers = [start_writer(path, *span) for span in ranges]
    assert [writer.wait(timeout=300) for writer in writers] == [0, 0]
    with Ledger.open(path) as ledger:
        assert ledger.number == charges and acknowledged(folder) == set(range(charges))
        assert ledger.state.spent == sum(Fraction(i, 1000) for i in range(charges))


@pytest.mark.theorem("T114-safe-rounding")
def test_killed_writers_lose_and_double_nothing(tmp_path: Path) -> None:
    kill_and_finish(tmp_path, charges=60, kills=2, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_killed_writers_twenty_times(tmp_path: Path, seed: int) -> None:
    kill_and_finish(tmp_path, charges=1000, kills=2, seed=seed)


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    """A GDP filter of budget 1/4 with four charges of 1/100."""
    path = tmp_path / "run.ledger"
    with Ledger.create(path, GDPFilter("1/4")) as ledger:
        for i in range(4):
            ledger.charge(f"step {i}", mu_squared="0.01")
    return path


def exported(path: Path) -> list[Entry]:
    """All that a ledger says."""
    with Ledger.open(path) as ledger:
        assert ledger.state == GDPFilter("1/4", "4/100")
        return list(ledger.entries())


def test_the_same_key_is_charged_once(ledger_file: Path) -> None:
    with Ledger.open(ledger_file) as ledger:
        again = ledger.charge("step 2", mu_squared="1/100")
        assert (again.number, again.repeated, again.verdict) == (3, True, Verdict.CONTINUE)
        assert ledger.state.spent == Fraction(4, 100)
        with pytest.raises(InvalidInput, match="charge 3 has it"):
            ledger.charge("step 2", mu_squared="1/50")
        assert ledger.number == 4


def test_a_refused_charge_leaves_no_trace(ledger_file: Path) -> None:
    before = exported(ledger_file)
    with Ledger.open(ledger_file) as ledger:
        receipt = ledger.charge("last", mu_squared=Fraction(21, 100) + Fraction(1, 10**30))
        assert receipt.verdict is Verdict.HALT and receipt.number is None and not receipt.continues
        assert ledger.charge("last", mu_squared="21/100").continues, "the key is free, and the budget met exactly"
        assert ledger.state.remaining == 0
    with Ledger.open(ledger_file) as ledger:
        assert list(ledger.entries())[:4] == before and ledger.number == 5


@pytest.mark.parametrize(("state", "request_"), [
    (GDPFilter("1/4"), {"mu_squared": "1/7"}), (GDPOdometer("1/4"), {"mu_squared": "1e-40"}),
    (RenyiFilter((2, 8), (1, 2)), {"epsilons": ["0.1", "1/3"]}),
    (RenyiOdometer("1/4", renyi_order="5/2"), {"epsilon": 3}),
    (ApproximateDPFilter(1, "1e-6", "1e-7"), {"epsilon": "0.1", "delta": "1e-8"}),
    (IndividualGDPFilter.open(1, ["a", "b"]), {"mu_squared": {"a": "2/3", "b": 0}}),
    (IndividualRenyiFilter.open(1, ["a", "b"], renyi_order=8), {"epsilons": {"a": "2/3", "b": 1}}),
    (IndividualGDPOdometer.open(1, ["a", "b"]), {"mu_squared": {"a": "22/3", "b": 0}}),
    (IndividualRenyiOdometer.open(1, ["a", "b"], renyi_order=8), {"epsilons": {"a": "22/3", "b": 1}}),
], ids=lambda value: getattr(value, "kind", ""))
def test_every_kind_survives_the_file(tmp_path: Path, state: object, request_: dict[str, object]) -> None:
    path = tmp_path / "x.ledger"
    with Ledger.create(path, state) as ledger:
        assert ledger.charge("one", **request_).continues
        expected = state.charge(**request_).state  # type: ignore[attr-defined]
        assert ledger.state == expected
        assert ledger.charge("one", **request_).repeated
    with Ledger.open(path) as ledger:
        assert ledger.state == expected and ledger.number == 1
        assert json.loads(next(iter(ledger.entries())).request).keys() == request_.keys()


def test_an_individual_receipt_says_who_takes_part_also_when_repeated(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger", IndividualGDPFilter.open(1, ["a", "b"])) as ledger:
        costs = {"a": "1", "b": "1.1"}
        first, again = ledger.charge("one", mu_squared=costs), ledger.charge("one", mu_squared=costs)
        assert first.active == again.active == {"a"} and first.halted == again.halted == {"b"}
        nobody = ledger.charge("two", mu_squared=costs)
        assert nobody.active == frozenset() and ledger.state.spent == {"a": 1, "b": 0}
        assert nobody.continues and nobody.number == 2, "not running the step would tell that nobody is left"


def test_writers_see_one_another(ledger_file: Path) -> None:
    with Ledger.open(ledger_file) as one, Ledger.open(ledger_file) as two:
        assert one.charge("mine", mu_squared="1/10").continues
        assert not two.charge("yours", mu_squared="2/10").continues, "two has read what one charged"
        assert two.state == one.state


def test_a_busy_ledger_says_so(ledger_file: Path) -> None:
    with Ledger.open(ledger_file, busy_seconds=0.05) as ledger:
        other = sqlite3.connect(ledger_file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusy, match="nothing was charged"):
            ledger.charge("late", mu_squared="1/100")
        other.execute("ROLLBACK")
        other.close()
        assert ledger.charge("late", mu_squared="1/100").number == 5


def test_a_waiting_writer_gets_its_turn(ledger_file: Path) -> None:
    other = sqlite3.connect(ledger_file, isolation_level=None, check_same_thread=False)
    with Ledger.open(ledger_file) as ledger:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
        release.start()
        assert ledger.charge("late", mu_squared="1/100").number == 5
        release.join()
    other.close()


# Damage

def damaged(path: Path, *statements: str) -> Path:
    """A copy that was edited with the guards taken away and put back."""
    copy = path.with_name("damaged.ledger")
    shutil.copy(path, copy)
    connection = sqlite3.connect(copy)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()
    return copy


EDITS = {
    "an amount": "UPDATE charges SET request = '{\"mu_squared\":\"1/1000\"}' WHERE number = 2",
    "a sum": "UPDATE charges SET outcome = '{\"spent\":[\"1/1000\"]}' WHERE number = 4",
    "a key": "UPDATE charges SET key = 'other' WHERE number = 1",
    "a time": "UPDATE charges SET at = '2020-01-01T00:00:00+00:00' WHERE number = 1",
    "a hash": "UPDATE charges SET hash = hash || '0' WHERE number = 4",
    "no JSON": "UPDATE charges SET request = '{' WHERE number = 3",
    "a charge deleted": "DELETE FROM charges WHERE number = 2",
    "the first deleted": "DELETE FROM charges WHERE number = 1",
    "the last deleted": "DELETE FROM charges WHERE number = 4",
    "all deleted": "DELETE FROM charges",
    "two exchanged": "UPDATE charges SET number = 9 - number WHERE number IN (4, 5)",
    "a charge added": "INSERT INTO charges SELECT 5, 'more', request, outcome, at, hash FROM charges WHERE number = 4",
    "a larger budget": "UPDATE head SET terms = replace(terms, '1/4', '9/4')",
    "terms that are none": "UPDATE head SET terms = '{}'",
    "terms of no kind": "UPDATE head SET terms = replace(terms, 'gdp', 'pld')",
    "head moved": "UPDATE head SET number = 3",
    "no head": "DELETE FROM head",
    "another table": "CREATE TABLE more (x)",
    "another version": "PRAGMA user_version = 2",
    "another program": "PRAGMA application_id = 7",
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_ledgers_are_refused(ledger_file: Path, edit: str) -> None:
    copy = damaged(ledger_file, EDITS[edit])
    before = copy.read_bytes()
    with pytest.raises(InvalidLedger, match="ledger must be"):
        Ledger.open(copy)
    assert copy.read_bytes() == before, "a damaged ledger is left as it is"


def test_the_damaging_helper_alone_damages_nothing(ledger_file: Path) -> None:
    assert exported(damaged(ledger_file)) == exported(ledger_file)


def test_an_edit_under_an_open_ledger_is_refused(ledger_file: Path) -> None:
    with Ledger.open(ledger_file) as ledger:
        connection = sqlite3.connect(ledger_file)
        connection.execute("UPDATE head SET number = 3")
        connection.commit()
        connection.close()
        with pytest.raises(InvalidLedger, match="head"):
            ledger.charge("more", mu_squared="1/100")


def test_charges_cannot_be_changed_by_sql(ledger_file: Path) -> None:
    connection = sqlite3.connect(ledger_file)
    for statement in ("DELETE FROM charges", "UPDATE charges SET key = 'x'"):
        with pytest.raises(sqlite3.IntegrityError, match="only added"):
            connection.execute(statement)
    connection.close()


def opened_or_refused(path: Path, expected: list[Entry]) -> bool:
    """Whether the ledger is refused; if not, it must say exactly what it said."""
    try:
        found = exported(path)
    except (InvalidLedger, LedgerBusy):
        return True
    assert found == expected
    return False


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_are_refused_or_harmless(ledger_file: Path, seed: int) -> None:
    expected, draw = exported(ledger_file), random.Random(seed)
    content = bytearray(ledger_file.read_bytes())
    for _ in range(5):
        copy = bytearray(content)
        copy[draw.randrange(len(copy))] ^= 1 << draw.randrange(8)
        other = ledger_file.with_name("flipped.ledger")
        other.write_bytes(copy)
        opened_or_refused(other, expected)


def test_flips_in_what_the_charges_say_are_refused(ledger_file: Path) -> None:
    expected, content = exported(ledger_file), ledger_file.read_bytes()
    for text in (b"mu_squared", b"1/100", b"step 3", b"spent", b"+00:00", expected[-1].hash.encode(), b'"1/4"'):
        place = content.rindex(text)
        other = ledger_file.with_name("flipped.ledger")
        for at in range(place, place + len(text)):
            other.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
            assert opened_or_refused(other, expected), (text, at - place)


@pytest.mark.parametrize("keep", [0, 1, 99, 100, 4096, 5000, -1, -4096])
def test_truncated_ledgers_are_refused(ledger_file: Path, keep: int) -> None:
    other = ledger_file.with_name("short.ledger")
    other.write_bytes(ledger_file.read_bytes()[:keep])
    with pytest.raises(InvalidLedger):
        Ledger.open(other)


@pytest.mark.parametrize("make", [
    lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("not a ledger at all " * 300),
    lambda path: sqlite3.connect(path).execute("CREATE TABLE t (x)")])
def test_what_is_no_ledger_is_refused(tmp_path: Path, make: Callable[[Path], object]) -> None:
    path = tmp_path / "x.ledger"
    make(path)
    existed = path.exists()
    with pytest.raises(InvalidLedger):
        Ledger.open(path)
    assert path.exists() == existed


# Wrong input

@pytest.mark.parametrize(("key", "request_"), [
    ("", {"mu_squared": 1}), ("a\n", {"mu_squared": 1}), (7, {"mu_squared": 1}), ("k" * 1001, {"mu_squared": 1}),
    ("k", {}), ("k", {"mu": 1}), ("k", {"mu_squared": 1, "more": 1}), ("k", {"mu_squared": float("nan")}),
    ("k", {"mu_squared": -1}), ("k", {"mu_squared": "nan"}), ("k", {"mu_squared": None}), ("k", {"mu_squared": [1]}),
    ("k", {"mu_squared": {"a": 1}}), ("k", {"mu_squared": {1: 1}}),
])
def test_wrong_charges_charge_nothing(ledger_file: Path, key: str, request_: dict[str, object]) -> None:
    with Ledger.open(ledger_file) as ledger:
        with pytest.raises(InvalidInput):
            ledger.charge(key, **request_)
        assert ledger.number == 4
    exported(ledger_file)


def test_a_closed_ledger_and_one_of_another_process_are_refused(
        ledger_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(ledger_file) as ledger:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(InvalidInput, match="fork"):
            ledger.charge("more", mu_squared="1/100")
        monkeypatch.undo()
    with pytest.raises(InvalidInput, match="closed"):
        ledger.charge("more", mu_squared="1/100")
    exported(ledger_file)


def test_another_thread_is_refused_not_taken_for_damage(ledger_file: Path) -> None:
    seen: list[Exception] = []

    def work(ledger: Ledger) -> None:
        try:
            ledger.charge("more", mu_squared="1/100")
        except InvalidInput as error:
            seen.append(error)

    with Ledger.open(ledger_file) as ledger:
        thread = threading.Thread(target=work, args=(ledger,))
        thread.start()
        thread.join()
    assert "thread" in str(seen[0]) and not isinstance(seen[0], InvalidLedger)


def test_wrong_beginnings(tmp_path: Path, ledger_file: Path) -> None:
    with pytest.raises(InvalidInput, match="exists"):
        Ledger.create(ledger_file, GDPFilter(1))
    for state in (GDPFilter(1, "1/2"), "gdp", IndividualGDPFilter(1, {"a": "1/2"}), IndividualGDPFilter.open(1, [7])):
        with pytest.raises(InvalidInput):
            Ledger.create(tmp_path / "new.ledger", state)
    assert not (tmp_path / "new.ledger").exists()
    with pytest.raises(InvalidInput, match="No such file"):
        Ledger.create(tmp_path / "no" / "folder", GDPFilter(1))
    assert os.listdir(tmp_path) == ["run.ledger"]
