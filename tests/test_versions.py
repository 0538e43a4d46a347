"""Another version of the arithmetic library is named, with what is needed; the constraints are those of the project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from verified_dp.core.kernel.balls import check_version
from verified_dp.core.kernel.errors import Unsupported

ROOT = Path(__file__).resolve().parents[1]
SPECIFICATION = """relation = "remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "2"
[claim]
epsilon = "3"
delta = "1e-5"
"""


@pytest.mark.parametrize("found", ["0.7.1", "0.8.0", "0.6.0a2", "0", ""])
def test_older_versions_are_refused(found: str) -> None:
    with pytest.raises(Unsupported, match=r"python-flint: needs 0\.9 or newer and is .* here: pip install"):
        check_version(found)


@pytest.mark.parametrize("found", ["0.9.0", "0.9.1rc1", "0.10.0", "1.0"])
def test_newer_versions_are_not(found: str) -> None:
    check_version(found)


OLD = """import sys, flint
flint.__version__ = "0.7.1"
from verified_dp.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", [["delta", "s.toml", "--epsilon", "1"], ["certify", "s.toml"]])
def test_the_command_line_says_what_is_needed(tmp_path: Path, command: list[str]) -> None:
    """One line, and no internal error."""
    (tmp_path / "s.toml").write_text(SPECIFICATION, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", OLD, *command, "--json"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=600)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    row = json.loads(done.stdout)
    assert (row["status"], row["key"]) == ("unsupported", "python-flint") and "0.7.1" in row["message"]


def test_the_constraints_are_within_the_project_s_ranges() -> None:
    """Every dependency has one version, that of its range's first number on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    ranges = {match[1]: (match[2], match[3]) for text in project["dependencies"]
              if (match := re.fullmatch(r"([\w-]+)>=([\d.]+),<([\d.]+)", text))}
    assert pinned.keys() == ranges.keys() and len(ranges) == len(project["dependencies"])

    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(".")]

    assert all(numbers(low) <= numbers(pinned[name]) < numbers(high) for name, (low, high) in ranges.items())
