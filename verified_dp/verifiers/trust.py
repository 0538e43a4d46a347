"""What whoever believes a certificate has to trust: the files that its check loads, the theorems, and the rest.

    trusted(certificate_bytes)

The files are read off a process that does nothing but check this one certificate; they are whole files. Statements of
theorems, and how each was last read, are the package's own list, which is written from proofs/.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import verified_dp
from verified_dp.core.kernel.certificate.check import Check
from verified_dp.verifiers.bounded import MEGABYTES, SECONDS, check_and_files

_PACKAGE = Path(verified_dp.__file__).parent
_ALWAYS = ("arithmetic: FLINT/Arb through python-flint, Python and its standard library, and the machine",
           "the claim's assumptions about what was run, which the certificate lists")


@dataclass(frozen=True)
class Trust:
    """files: (path below the package's parent, its number of lines). theorems: (name, statement, last reading)."""

    check: Check
    files: tuple[tuple[str, int], ...]
    theorems: tuple[tuple[str, str, str], ...]
    not_proved_here: tuple[str, ...]

    @property
    def lines(self) -> int:
        """Of all files together."""
        return sum(lines for _, lines in self.files)


def trusted(data: bytes, *, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> Trust:
    """Check a certificate under limits, and say what a valid one rests on.

    Raises: Unsupported where checking needs more time or memory.
    """
    check, loaded = check_and_files(data, seconds=seconds, megabytes=megabytes)
    if not check.valid:
        return Trust(check, (), (), ())
    known: dict[str, dict[str, Any]] = json.loads(files("verified_dp.verifiers").joinpath("theorems.json").read_text(
        encoding="utf-8"))
    names = [name for name in json.loads(data)["theorems"] if name in known]  # valid: read under limits just now
    cited = [f"{name}: {text}" for name in names for text in known[name]["cites"]]
    return Trust(check, tuple((_shown(path), _lines(path)) for path in loaded),
                 tuple((name, known[name]["statement"], known[name]["read"]) for name in names), (*cited, *_ALWAYS))


def _shown(path: str) -> str:
    return Path(path).relative_to(_PACKAGE.parent).as_posix()


def _lines(path: str) -> int:
    return Path(path).read_bytes().count(b"\n")
