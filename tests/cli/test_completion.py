"""Shell completion: what the shells themselves make of the generated text."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from verified_dp.cli import main
from verified_dp.cli.arguments import parser
from verified_dp.cli.shells import SHELLS, bash, commands, fish

TYPED = [
    (("del",), {"delta"}), (("",), {"delta", "epsilon", "certify", "verify", "dpsgd", "ledger", "completion"}),
    (("delta", "--ep"), {"--epsilon"}), (("delta", "a.toml", "--method", "closed"), {"closed-form"}),
    (("dpsgd", "--sampling", ""), {"poisson", "random-allocation", "shuffled", "cyclic-poisson",
                                       "truncated-poisson", "without-replacement", "with-replacement"}),
    (("ledger", "ch"), {"charge"}),
    (("ledger", "init", "--kind", "approx"), {"approximate-dp"}), (("ledger", "status", "--eps"), {"--epsilon"}),
    (("convert", "--relation", "re"), {"remove", "replace"}), (("completion", "f"), {"fish"}),
    (("curve", "--table", "mark"), {"markdown"}), (("--vers",), {"--version"})]


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_bash(typed: tuple[str, ...], offered: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(f"'{word}'" for word in ("verified-dp", *typed))
    ask = f'COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _verified_dp; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script("bash", capsys) + ask], capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert done.stderr == "" and (found == offered if typed[-1] else found >= offered)


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_fish(typed: tuple[str, ...], offered: set[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ask = f'complete --do-complete "verified-dp {" ".join(typed)}"'
    done = subprocess.run(["fish", "--no-config", "-c", script("fish", capsys) + ask], capture_output=True, text=True,
                          check=True, cwd=tmp_path)
    found = {line.partition("\t")[0] for line in done.stdout.splitlines()}
    assert done.stderr == "" and found >= offered


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(["zsh", "-fc", script("zsh", capsys) + "print -r -- $_comps[verified-dp]"],
                          capture_output=True, text=True, check=True)
    assert done.stderr == "" and "_verified_dp" in done.stdout


def test_every_option_is_offered() -> None:
    known = list(commands(parser()))
    assert {"", "delta", "ledger init", "completion"} <= {one.name for one in known}
    lines = {name: "\n".join(write("verified-dp", known)) for name, write in (("bash", bash), ("fish", fish))}
    for one in known:
        assert all(option.name in lines["bash"] and f"-l {option.name[2:]} " in lines["fish"] for option in one.options)
        assert "--help" in {option.name for option in one.options}


def test_a_shell_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"verified-dp: SHELL must be one of {', '.join(SHELLS)}, got 'tcsh'\n")
