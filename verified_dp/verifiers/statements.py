"""The package's own list of its theorems: what each says, how its proof was last read against the code, what it cites.

The list is written from proofs/ (`proofs/theorem_index.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

ALWAYS = ("arithmetic: FLINT/Arb through python-flint, Python and its standard library, and the machine",
          "the claim's assumptions about what was run, which the certificate lists")
"""What no theorem here proves, whatever the certificate."""


@cache
def _known() -> dict[str, dict[str, Any]]:
    text = files("verified_dp.verifiers").joinpath("theorems.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def statements(names: Iterable[str]) -> tuple[tuple[str, str, str], ...]:
    """(name, statement, last reading) of the theorems that this version has."""
    return tuple((name, _known()[name]["statement"], _known()[name]["read"]) for name in names if name in _known())


def read_whole(names: Iterable[str]) -> tuple[int, int]:
    """How many of the theorems were read whole by a second reader as they stand, and how many before some change."""
    found = [_known()[name]["whole"] for name in names if name in _known()]
    return sum(bool(when) and "," not in when for when in found), sum("," in when for when in found)


def not_proved_here(names: Iterable[str]) -> tuple[str, ...]:
    """What these theorems cite, and what every certificate takes for granted."""
    cited = (f"{name}: {text}" for name in names if name in _known() for text in _known()[name]["cites"])
    return (*cited, *ALWAYS)
