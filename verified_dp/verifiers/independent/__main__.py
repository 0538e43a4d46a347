"""python -m verified_dp.verifiers.independent [--json] [--max-seconds S] CERT...

Exit codes are those of `verify`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from . import OutOfTime, TooMuch, verify
from .document import MAX_BYTES

VALID, INVALID, WRONG_INPUT, UNSUPPORTED = range(4)
_WORST_FIRST = (WRONG_INPUT, INVALID, UNSUPPORTED, VALID)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="verify", description="Check certificates independently of the program that wrote them.")
    parser.add_argument("files", nargs="+", metavar="CERT", help="a certificate (- is standard input)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--max-seconds", type=float, metavar="S", help="give a certificate up after S seconds")
    given = parser.parse_args(arguments)
    codes = {_report(given.json, file, *_check(file, given.max_seconds)) for file in given.files}
    return next(code for code in _WORST_FIRST if code in codes)


def _check(file: str, max_seconds: float | None) -> tuple[int, dict[str, Any]]:
    """Exit code, and the object that says why."""
    try:
        data = _read(file)
    except OSError as error:
        return WRONG_INPUT, {
            "schema": "verified-dp/error/1", "status": "error", "file": file, "key": "file",
            "message": f"file must be a file that can be read ({error.strerror or error})"}
    try:
        found = verify(data, max_seconds)
    except (OutOfTime, TooMuch, MemoryError) as error:
        return UNSUPPORTED, {
            "schema": "verified-dp/error/1", "status": "unsupported", "file": file, "key": "independent",
            "message": f"could not be checked here: {error}"}
    return VALID if found.valid else INVALID, {
        "schema": "verified-dp/check/1", "file": file, "valid": found.valid, "verdict": found.verdict,
        "field": found.field, "reason": found.reason}


def _read(file: str) -> bytes:
    """At most a byte more than a certificate may have."""
    if file == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    with open(file, "rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _report(as_json: bool, file: str, code: int, record: dict[str, Any]) -> int:
    if as_json:
        print(json.dumps(record), flush=True)
    elif code == VALID:
        print(f"{file}: valid, {record['verdict']} ({record['reason']})", flush=True)
    elif code == INVALID:
        print(f"{file}: INVALID, {record['field'] or 'document'}: {record['reason']}", flush=True)
    if "message" in record:
        print(f"{file}: {record['message']}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
