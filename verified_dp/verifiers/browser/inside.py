"""What the page runs: the trusted checker, the independent one, the formal one, and the words of a valid certificate.

An answer has a `status`: "valid", "invalid", or "unchecked" where this machine or this checker came to its limits,
which says nothing of the certificate.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[2]

TOO_SMALL = ("too large to convert",)
"""Numbers of 32 bits, as browsers have them, are too small for a few certificates: that is the machine's limit."""


def answer(checker: str, data: bytes, progress: Callable[[int, int], Any]) -> str:
    """JSON: what this checker ("trusted", "independent" or "formal") says of a certificate."""
    try:
        found = _CHECKERS[checker](data, progress)
    except MemoryError:
        return _unchecked("there is not enough memory")
    except RecursionError:
        return _unchecked("it is nested too deeply for this browser")
    except _limits() as error:
        return _unchecked(str(error))
    if not found.valid and any(words in found.reason for words in TOO_SMALL):
        return _unchecked(found.reason)
    status = "valid" if found.valid else "invalid"
    return json.dumps({"status": status, "verdict": found.verdict, "field": found.field, "reason": found.reason,
                       "versions": None if found.valid else _other_versions(data),
                       **({"files": _files()} if checker == "trusted" and found.valid else {})})


def _other_versions(data: bytes) -> tuple[str, str] | None:
    """The version that a certificate says it was written with and the page's own, where these are two."""
    from verified_dp import __version__

    try:
        written = json.loads(data)["versions"]["verified-dp"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return (written, __version__) if isinstance(written, str) and written != __version__ else None


def _files() -> list[tuple[str, int]]:
    """The files of the trusted package `core` that this Python has loaded, with their lines.

    Of this check alone where it is the first one; of the earlier ones too where others went before.
    """
    found = (module.__file__ for name, module in sys.modules.items() if name.partition(".core")[0] == "verified_dp")
    paths = [Path(file) for file in found if file and "core" in Path(file).relative_to(_PACKAGE.parent).parts]
    return sorted((path.relative_to(_PACKAGE.parent).as_posix(), path.read_bytes().count(b"\n")) for path in paths)


def _unchecked(reason: str) -> str:
    return json.dumps({"status": "unchecked", "verdict": None, "field": None, "reason": reason})


def _trusted(data: bytes, progress: Callable[[int, int], Any]) -> Any:
    from verified_dp.core.kernel.certificate.check import verify

    return verify(data, progress)


def _independent(data: bytes, progress: Callable[[int, int], Any]) -> Any:
    from verified_dp.verifiers.independent import verify

    return verify(data, progress=progress)


def _formal(data: bytes, progress: Callable[[int, int], Any]) -> Any:
    from verified_dp.core.kernel.errors import Unsupported
    from verified_dp.verifiers.formal import check_formally

    def program(problem: str) -> str:
        try:
            return str(import_module("js").formalChecker(problem))  # the page's own script
        except Exception as error:  # what a script throws: its stack is small
            raise Unsupported(f"the formal checker came to the limits of this browser: {error}", "formal") from None

    return check_formally(data, program)


_CHECKERS = {"trusted": _trusted, "independent": _independent, "formal": _formal}


def _limits() -> tuple[type[Exception], ...]:
    from verified_dp.core.kernel.errors import Unsupported
    from verified_dp.verifiers.independent import OutOfTime, TooMuch

    return OutOfTime, TooMuch, Unsupported


def describe(data: bytes) -> str:
    """JSON: what a certificate that was found valid says, for people."""
    from verified_dp.core.kernel.certificate.document import read_document
    from verified_dp.questions.statement import sentences
    from verified_dp.verifiers.statements import not_proved_here, statements

    document = read_document(data)
    claim = document["claim"]
    return json.dumps({
        "claim": f"({claim['epsilon']}, {claim['delta']})", "title": claim["title"], "statement": sentences(document),
        "assumptions": document["assumptions"], "pairs": document["pairs"],
        "theorems": statements(document["theorems"]), "not_proved_here": not_proved_here(document["theorems"]),
        "versions": document["versions"], "sha256": document["sha256"], "formal": "formal" in document,
        "evaluations": [_evaluation(entry) for entry in document["evaluations"]]})


def _evaluation(entry: dict[str, Any]) -> dict[str, str]:
    """One row: what was enclosed, how, and between which decimals."""
    enclosure = entry["enclosure"]
    shows = "delta at the claimed epsilon" if entry["quantity"] == "delta" else f"the {entry['side']} end of epsilon"
    return {"at": entry["at"], "order": entry["order"], "shows": shows, "method": entry["method"],
            "witness": entry["witness"]["kind"],
            "lower": enclosure["lower_decimal"], "upper": enclosure["upper_decimal"]}
