"""Disks that are full or read-only, files that are foreign, held or without locks: one line, exit code 2, no loss."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verified_dp.adaptive import GDPFilter, InvalidLedger, Ledger, LedgerBusy
from verified_dp.cli import main
from verified_dp.core.kernel.errors import InvalidInput

Said = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Said:
    """said(*words) -> (exit code, output, errors) of `verified-dp ledger`, in a folder with run.ledger."""
    monkeypatch.chdir(tmp_path)
    with Ledger.create("run.ledger", GDPFilter("1/4")) as ledger:
        ledger.charge("one", mu_squared="1/100")

    def call(*words: str) -> tuple[int, str, str]:
        return main(["ledger", *words]), *capsys.readouterr()

    return call


def one_line(errors: str) -> bool:
    return errors.count("\n") == 1 and "internal error" not in errors and errors.startswith("verified-dp: ")


def spent(path: str | Path = "run.ledger") -> str:
    with Ledger.open(path) as ledger:
        return str(ledger.state.spent)


CHARGE = ("charge", "run.ledger", "--key", "two", "--set", "mu_squared=1/100")


def no_lock(*_: object) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_a_file_system_without_locks_is_no_other_process(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "lockf", no_lock)
    for words in (CHARGE, ("status", "run.ledger"), ("init", "new", "--kind", "gdp", "--set", "budget=1")):
        code, out, errors = said(*words)
        assert code == 2 and out == "" and one_line(errors)
        assert "No locks available" in errors and "another process" not in errors
    monkeypatch.undo()
    assert not Path("new").exists()


def test_locks_that_are_gone_later_are_no_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite says BUSY for ENOLCK, too: only then is it asked again what the file system can do."""
    path = tmp_path / "run.ledger"
    with Ledger.create(path, GDPFilter("1/4")):
        pass
    with Ledger.open(path, busy_seconds=0.01) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusy, match="another process is using it"):
            ledger.charge("one", mu_squared="1/100")
        monkeypatch.setattr(fcntl, "lockf", no_lock)
        with pytest.raises(InvalidInput, match="file system with locks") as raised:
            ledger.charge("one", mu_squared="1/100")
        assert not isinstance(raised.value, LedgerBusy | InvalidLedger)
        monkeypatch.undo()
        other.execute("ROLLBACK")
        other.close()
        assert ledger.charge("one", mu_squared="1/100").number == 1


def test_a_probe_for_locks_gives_up_no_lock(tmp_path: Path) -> None:
    """Opening and closing the ledger's file in the process that holds it would drop its locks."""
    path = tmp_path / "run.ledger"
    code = ("import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0.01, isolation_level=None)\n"
            "try: c.execute('BEGIN IMMEDIATE'); print('free')\nexcept sqlite3.OperationalError: print('held')")
    with Ledger.create(path, GDPFilter("1/4")) as ledger, ledger._transaction():
        with pytest.raises(LedgerBusy):
            Ledger.open(path, busy_seconds=0.01)
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        assert done.stdout == "held\n"


def test_a_held_ledger_exits_with_2(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger.open.__func__, "__defaults__", (0.01,))
    other = sqlite3.connect("run.ledger", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    for words in (CHARGE, ("status", "run.ledger"), ("export", "run.ledger")):
        code, out, errors = said(*words)
        assert code == 2 and out == "" and one_line(errors) and "nothing was charged" in errors
    other.execute("ROLLBACK")
    other.close()
    assert said(*CHARGE)[0] == 0


@pytest.mark.parametrize("make", [
    lambda path: path.write_bytes(b""), lambda path: path.write_bytes(b"\xff\x00" * 4000), lambda path: path.mkdir(),
    lambda path: sqlite3.connect(path).execute("CREATE TABLE t (x)"), lambda path: path.symlink_to(path),
    lambda path: path.symlink_to("/dev/zero"), os.mkfifo,
], ids=["empty", "bytes", "folder", "other tables", "a circle", "a device", "a pipe"])
@pytest.mark.parametrize("words", [["status"], ["export"], ["charge", "--key", "a", "--set", "mu_squared=1"],
                                   ["init", "--kind", "gdp", "--set", "budget=1"]], ids=lambda words: words[0])
def test_a_foreign_file_exits_with_2_and_stays(said: Said, make: Callable[[Path], object], words: list[str]) -> None:
    make(Path("x"))
    before = Path("x").lstat()
    code, out, errors = said(words[0], "x", *words[1:])
    assert code == 2 and out == "" and one_line(errors) and "ledger must be" in errors
    assert Path("x").lstat()[:7] == before[:7]


@pytest.mark.parametrize("name", ["a\0b", "n" * 300, "", "no/folder/x", "run.ledger/x", "."])
def test_names_that_are_none_exit_with_2(said: Said, name: str) -> None:
    for words in (["init", name, "--kind", "gdp", "--set", "budget=1"], ["status", name]):
        code, out, errors = said(*words)
        assert code == 2 and out == "" and one_line(errors)


# A process that may write no byte beyond a size, as on a full disk.

LIMITED = """
import resource, sys
from verified_dp.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


def limited(size: int, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LIMITED, str(size), "ledger", *words], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("size", [0, 4096, 10000])
def test_no_room_for_a_new_ledger(said: Said, size: int) -> None:
    done = limited(size, "init", "new", "--kind", "gdp", "--set", "budget=1")
    assert done.returncode == 2 and one_line(done.stderr) and "can be read and written" in done.stderr
    assert not Path("new").exists() and os.listdir() == ["run.ledger"]


@pytest.mark.parametrize("size", [0, 512, 4096])
def test_no_room_for_a_charge(said: Said, size: int) -> None:
    before = Path("run.ledger").read_bytes()
    done = limited(size, *CHARGE)
    assert done.returncode == 2 and done.stdout == "" and one_line(done.stderr)
    assert spent() == "1/100" and Path("run.ledger").read_bytes() == before
    assert said(*CHARGE)[0] == 0 and spent() == "1/50", "asked again with room, it is charged"


def test_a_full_disk_loses_no_charge_and_doubles_none(said: Said, small_disk: Path) -> None:
    path, charged, words = small_disk / "x.ledger", 0, ("--set", "mu_squared=1/1000000")
    assert said("init", str(path), "--kind", "gdp-odometer", "--set", "step=1")[0] == 0
    (small_disk / "ballast").write_bytes(b"0" * 8000)
    for i in range(100):
        code, _, errors = said("charge", str(path), "--key", f"{i} {'k' * 900}", *words)
        if code:
            break
        charged += 1
    assert code == 2 and one_line(errors) and charged > 2
    (small_disk / "ballast").unlink()
    with Ledger.open(path) as ledger:
        assert ledger.number == charged
    assert said("charge", str(path), "--key", f"{charged} {'k' * 900}", *words)[0] == 0
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(b"0" * 65536)
    code, _, errors = said("export", str(path), "--out", str(small_disk / "charges.jsonl"))
    assert code == 2 and one_line(errors) and "out must be" in errors
    assert sorted(os.listdir(small_disk)) == ["ballast", "x.ledger"], "no half of an export"


def test_a_read_only_disk(said: Said, small_disk: Path) -> None:
    path = small_disk / "x.ledger"
    said("init", str(path), "--kind", "gdp", "--set", "budget=1")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for words in (["charge", str(path), "--key", "a", "--set", "mu_squared=1/2"],
                  ["init", str(small_disk / "y"), "--kind", "gdp", "--set", "budget=1"],
                  ["export", "run.ledger", "--out", str(small_disk / "out")]):
        code, out, errors = said(*words)
        assert code == 2 and out == "" and one_line(errors), words


# Exports

def test_an_export_is_a_file_of_all_charges(said: Said) -> None:
    said(*CHARGE)
    lines = said("export", "run.ledger")[1]
    Path("charges.jsonl").write_text("old and longer " * 1000)
    code, out, _ = said("export", "run.ledger", "--out", "charges.jsonl")
    assert code == 0 and out.startswith("charges.jsonl: gdp, 2 charges, spent 1/50")
    assert Path("charges.jsonl").read_text() == lines
    assert [json.loads(line)["key"] for line in lines.splitlines()] == ["one", "two"]
    assert sorted(os.listdir()) == ["charges.jsonl", "run.ledger"]


def test_a_failed_export_leaves_the_old_one(said: Said) -> None:
    Path("charges.jsonl").write_text("old")
    done = limited(0, "export", "run.ledger", "--out", "charges.jsonl")
    assert done.returncode == 2 and one_line(done.stderr)
    assert Path("charges.jsonl").read_text() == "old" and sorted(os.listdir()) == ["charges.jsonl", "run.ledger"]


@pytest.mark.parametrize("place", ["run.ledger", "./run.ledger", "link", "no/folder", ".", "a\0b"])
def test_an_export_does_not_replace_the_ledger_or_a_folder(said: Said, place: str) -> None:
    Path("link").symlink_to("run.ledger")
    code, out, errors = said("export", "run.ledger", "--out", place)
    assert code == 2 and out == "" and one_line(errors) and "out must be" in errors
    assert spent() == "1/100"
