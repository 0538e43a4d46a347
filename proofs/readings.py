"""Readings of a proof against the code it proves: one line each in its `## Code` section, newest first.

    - read 2026-11-27 at 1a2b3c4d, code 5e6f7a8b, reached only: the helper `_weights` was split
    - read 2026-11-25 at 9c8d7e6f, code 0a1b2c3d, part (enclose_x): the factor 2 of (3)
    - read 2026-11-20 at 2b3c4d5e, code 0a1b2c3d, whole: holds; tried: q = 1, eps = 0, 120 quadratures

`whole`: statement, proof and all of the code, by one who wrote neither, and what was done to break it. `part`: only
what had changed, or what is named. `reached only`: the proved functions are as they were, something that they reach
changed. The commit is the one that was current when the proof was read; `code` is a digest of the hashes below it.
Standard library only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

LINE = re.compile(r"^- read (?P<date>\d{4}-\d\d-\d\d) at (?P<commit>[0-9a-f]{7,12}|none), code (?P<code>[0-9a-f]{8}), "
                  r"(?P<kind>whole|part|reached only)(?: \((?P<which>[^)\n]+)\))?: (?P<reason>.+)\n?", re.MULTILINE)
TRIED = "; tried: "
WHOLE, PART, REACHED = "whole", "part", "reached only"
KEPT = {WHOLE: 3, PART: 2, REACHED: 1}
"""How many readings of a kind a proof keeps; of reached helpers only one that nothing has followed."""


@dataclass(frozen=True)
class Reading:
    """One reading; `which` names the part, `reason` of a whole one says what was tried."""

    date: str
    commit: str
    code: str
    kind: str
    reason: str
    which: str = ""

    def __str__(self) -> str:
        which = f" ({self.which})" if self.which else ""
        return f"- read {self.date} at {self.commit}, code {self.code}, {self.kind}{which}: {self.reason}"

    @property
    def words(self) -> str:
        """For people who look at a certificate: kind, date and reason."""
        return f"{self.kind}, {self.date}: {self.reason}"


def digest(hashes: Iterable[str]) -> str:
    """Eight digits for the hashes of a proof's functions, wherever these stand."""
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()[:8]


def readings(text: str) -> list[Reading]:
    """The readings in a text, newest first."""
    found = [Reading(m["date"], m["commit"], m["code"], m["kind"], m["reason"], m["which"] or "")
             for m in LINE.finditer(text)]
    return sorted(dict.fromkeys(found), key=lambda reading: reading.date, reverse=True)


def kept(found: list[Reading]) -> list[Reading]:
    """Without those that nobody needs any more."""
    enough = [reading for place, reading in enumerate(found)
              if sum(other.kind == reading.kind for other in found[:place]) < KEPT[reading.kind]]
    return [reading for place, reading in enumerate(enough) if reading.kind != REACHED or place == 0]


def last_whole(found: list[Reading]) -> str:
    """When the proof was last read whole, and what of its code has changed since then; or nothing."""
    whole = next((place for place, reading in enumerate(found) if reading.kind == WHOLE), None)
    if whole is None:
        return ""
    since = {reading.kind for reading in found[:whole] if reading.code != found[whole].code}
    return found[whole].date + (", parts since" if PART in since else ", what it reaches since" if since else "")


def described(found: list[Reading]) -> str:
    """The newest reading in words, and the last whole one."""
    if not found:
        return "never"
    whole = last_whole(found).partition(",")[0]
    return found[0].words + (f"; whole {whole}" if whole and found[0].kind != WHOLE else "")
