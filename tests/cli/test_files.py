"""Files are written whole or not at all, and a batch goes on where it stopped."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from verified_dp.cli import main
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.files import SUFFIX, write_atomically

ROOT = Path(__file__).resolve().parents[2]
CLAIM = """relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "{noise}"
[claim]
title = "noise {noise}"
epsilon = "{epsilon}"
delta = "1e-5"
"""
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
"""Whom no permission stops."""


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three claims in files of the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, noise in (("a", "2"), ("b", "3"), ("c", "4")):
        (tmp_path / f"{name}.toml").write_text(CLAIM.format(noise=noise, epsilon="3"), encoding="utf-8")
    return ["a.toml", "b.toml", "c.toml"]


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of the claims that are computed, as they are."""
    from verified_dp.profile import PrivacyProfile

    titles: list[str] = []
    inner = PrivacyProfile.solve_claim

    def counted(self: Any, claim: Any, *rest: Any) -> Any:
        titles.append(claim.title)
        return inner(self, claim, *rest)

    monkeypatch.setattr(PrivacyProfile, "solve_claim", counted)
    return titles


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def failing(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


# write_atomically


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    place = tmp_path / "x"
    for data in (b"old", b"new and longer", b""):
        write_atomically(place, data)
        assert place.read_bytes() == data
    assert left_in(tmp_path) == ["x"]


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("old", [b"old", None])
def test_a_failure_leaves_the_old_file_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, old: bytes | None
) -> None:
    place = tmp_path / "x"
    if old is not None:
        place.write_bytes(old)
    monkeypatch.setattr(os, step, failing)
    with pytest.raises(OSError, match="No space"):
        write_atomically(place, b"new")
    assert left_in(tmp_path) == (["x"] if old is not None else [])
    assert old is None or place.read_bytes() == old


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "x", b"new")
    assert left_in(tmp_path) == []


def test_a_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    usual, place = tmp_path / "usual", tmp_path / "x"
    usual.write_bytes(b"")
    write_atomically(place, b"1")
    assert place.stat().st_mode == usual.stat().st_mode
    place.chmod(0o600)
    write_atomically(place, b"2")
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == b"new"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    with pytest.raises(OSError) as found:
        write_atomically("/dev/full", b"x" * 100)
    assert found.value.errno == errno.ENOSPC and not Path("/dev/full").is_file()


KILLED = """
import os, sys, time
from verified_dp import files
os.fsync = lambda handle: (print("written", flush=True), time.sleep(600))
files.write_atomically(sys.argv[1], b"new" * 1000)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    place = tmp_path / "x"
    place.write_bytes(b"old")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(place)], stdout=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.stdout is not None and process.stdout.readline() == b"written\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert place.read_bytes() == b"old"
    assert all(name == "x" or name.endswith(SUFFIX) for name in left_in(tmp_path))
    write_atomically(place, b"newer")
    assert place.read_bytes() == b"newer"


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from verified_dp.cli import (main)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_full_disk_is_one_line_and_leaves_nothing(claims: list[str], tmp_path: Path) -> None:
    """Files of more than 1000 bytes cannot be written, as on a disk that is full; certificates are longer."""
    done = subprocess.run([sys.executable, "-c", LIMITED, "certify", "a.toml", "--out", "c"], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("a.toml: out must be a file that can be written (File too large)")
    assert left_in(tmp_path / "c") == []


def test_no_space_is_wrong_input_and_keeps_the_old_certificate(
    claims: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", "a.toml", "--out", "c"]) == 0
    before = (tmp_path / "c" / "a.json").read_bytes()
    (tmp_path / "a.toml").write_text(CLAIM.format(noise="2", epsilon="2.5"), encoding="utf-8")
    monkeypatch.setattr(os, "fsync", failing)
    capsys.readouterr()
    assert main(["certify", "a.toml", "--out", "c"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and "No space left" in shown and "internal" not in shown
    assert left_in(tmp_path / "c") == ["a.json"] and (tmp_path / "c" / "a.json").read_bytes() == before


@pytest.mark.skipif(shutil.which("mount") is None, reason="the system mounts nothing")
def test_a_small_disk_fills_and_is_read_only(
    claims: list[str], tmp_path: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The old certificate stays whole, and nothing beside it; with room again the new one is written."""
    command, made = ["certify", "a.toml", "--out", str(small_disk)], small_disk / "a.json"
    assert main(command) == 0
    before = made.read_bytes()
    with suppress(OSError), (small_disk / "ballast").open("wb", buffering=0) as ballast:
        while ballast.write(b"0" * 512):
            pass
    (tmp_path / "a.toml").write_text(CLAIM.format(noise="2", epsilon="2.5"), encoding="utf-8")
    capsys.readouterr()
    assert main(command) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and "No space left" in shown
    assert left_in(small_disk) == ["a.json", "ballast"] and made.read_bytes() == before
    (small_disk / "ballast").unlink()
    assert main(command) == 0 and made.read_bytes() != before and verify(made.read_bytes()).valid
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    (tmp_path / "a.toml").write_text(CLAIM.format(noise="2", epsilon="2.75"), encoding="utf-8")
    capsys.readouterr()
    assert main(command) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and "read-only" in shown


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_certify_is_killed_while_it_writes(claims: list[str], tmp_path: Path) -> None:
    """kill -9 between the bytes and the name: no certificate; asked again, a whole one."""
    code = KILLED.partition("files.write")[0] + "from verified_dp.cli import (main)\nmain(sys.argv[1:])\n"
    process = subprocess.Popen([sys.executable, "-c", code, "certify", "a.toml", "--out", "c"], text=True,
                               stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.stdout is not None and process.stdout.readline() == "written\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "c" / "a.json").exists()
    assert main(["certify", "a.toml", "--out", "c"]) == 0
    assert verify((tmp_path / "c" / "a.json").read_bytes()).valid


@pytest.mark.skipif(AS_ROOT, reason="no permission stops the administrator")
def test_a_read_only_folder(claims: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c").chmod(0o500)
    assert main(["certify", "a.toml", "--out", "c"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_is_no_certificate_is_not_overwritten(
    claims: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ('{"name": "somebody else\'s"}', "notes", "\x00" * 10):
        (tmp_path / "a.json").write_text(text, encoding="utf-8")
        assert main(["certify", "a.toml", "--out", "."]) == 2
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1 and "another file is there" in shown
        assert (tmp_path / "a.json").read_text(encoding="utf-8") == text


# going on


def test_a_batch_goes_on_where_it_stopped(
    claims: list[str], tmp_path: Path, solved: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", *claims[:2], "--out", "c"]) == 0
    first = json.loads((tmp_path / "c" / "a.json").read_text(encoding="utf-8"))
    solved.clear()
    capsys.readouterr()
    assert main(["certify", *claims, "--out", "c", "--json"]) == 0
    assert solved == ["noise 4"]
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["file"], row["verdict"], row["certificate"]) for row in rows] == [
        (f"{name}.toml", "proved", str(Path("c", f"{name}.json"))) for name in "abc"]
    assert rows[0]["epsilon"]["lower"][:10] == first["result"]["epsilon"]["lower"][:10]


def test_the_table_names_files_and_certificates(claims: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["certify", "a.toml", "--out", "c"])
    capsys.readouterr()
    main(["certify", "a.toml", "b.toml", "--out", "c"])
    _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("proved ") and first.endswith(f"a.toml: noise 2 -> {Path('c/a.json')} (kept)")
    assert second.endswith(f"b.toml: noise 3 -> {Path('c/b.json')}") and " 1.27" in second


@pytest.mark.parametrize(
    ("change", "options"),
    [(lambda path: path.with_name("a.toml").write_text(CLAIM.format(noise="2", epsilon="2.75"), encoding="utf-8"), []),
     (lambda path: path.with_name("a.toml").write_text(CLAIM.format(noise="2.5", epsilon="3"), encoding="utf-8"), []),
     (lambda path: path.write_bytes(path.read_bytes().replace(b'"proved"', b'"refuted"')), []),
     (lambda path: path.write_bytes(b""), []),
     (lambda path: None, ["--digits", "25"]),
     (lambda path: None, ["--method", "lattice", "--digits", "2"])],
    ids=["claim", "input", "altered", "empty", "digits", "method"],
)
def test_what_changed_is_done_again(
    claims: list[str], tmp_path: Path, solved: list[str], change: Callable[[Path], object], options: list[str]
) -> None:
    main(["certify", "a.toml", "--out", "."])
    change(tmp_path / "a.json")
    solved.clear()
    assert main(["certify", "a.toml", "--out", ".", *options]) == 0
    assert len(solved) == 1 and verify((tmp_path / "a.json").read_bytes()).valid
    solved.clear()
    assert main(["certify", "a.toml", "--out", ".", *options]) == 0
    assert solved == []


def test_two_processes_write_one_folder(claims: list[str], tmp_path: Path) -> None:
    """Whoever comes last, every certificate is whole."""
    command = [sys.executable, "-c", "import sys; from verified_dp.cli import main; sys.exit(main(sys.argv[1:]))",
               "certify", *claims, "--out", "c"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)})
            for _ in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    assert left_in(tmp_path / "c") == ["a.json", "b.json", "c.json"]
    assert all(verify(path.read_bytes()).valid for path in (tmp_path / "c").iterdir())
