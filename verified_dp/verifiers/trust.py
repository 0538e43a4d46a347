"""What whoever believes a certificate has to trust: the files that its check loads, the theorems, and the rest.

    trusted(certificate_bytes)

The files are read off a process that does nothing but check this one certificate; they are whole files. Statements of
theorems, and how each was last read, are the package's own list, which is written from proofs/.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import verified_dp
from verified_dp.core.kernel.certificate.check import Check
from verified_dp.verifiers.bounded import MEGABYTES, SECONDS, check_and_files
from verified_dp.verifiers.statements import not_proved_here, statements

_PACKAGE = Path(verified_dp.__file__).parent


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
    names = json.loads(data)["theorems"]  # valid: read under limits just now
    files = tuple((path.relative_to(_PACKAGE.parent).as_posix(), path.read_bytes().count(b"\n"))
                  for path in map(Path, loaded))
    return Trust(check, files, statements(names), not_proved_here(names))
