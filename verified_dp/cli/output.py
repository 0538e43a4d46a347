"""Exit codes, JSON lines on standard output, and errors: one line each on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from verified_dp.core.kernel.errors import InvalidInput, Unsupported, VerifiedDPError
from verified_dp.reading import reason
from verified_dp.search.deadline import is_stopped
from verified_dp.terminal import Progress, escaped

ANSWERED, REFUTED, WRONG, UNDECIDED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141

VERDICTS = {"proved": ANSWERED, "refuted": REFUTED, "undecided": UNDECIDED}
"""verdict -> exit code."""

Row = dict[str, Any]


def schema(name: str) -> str:
    """The name of a JSON schema of the command line."""
    return f"verified-dp/{name}/1"


def complain(text: str) -> None:
    """One line on standard error, if there is one."""
    if sys.stderr is not None:
        sys.stderr.write(escaped(text) + "\n")


class Output:
    """Where results go: JSON lines or text for people on standard output."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def result(self, row: Row, lines: Callable[[], Iterable[str]]) -> None:
        """One result; `lines` gives its text for people."""
        self.write([_json(row)] if self.as_json else lines())

    def write(self, lines: Iterable[str]) -> None:
        """Lines of standard output, at once."""
        text = "".join(f"{line}\n" for line in lines)
        if sys.stdout is None:
            raise OSError("standard output is closed")
        Progress.clear()
        sys.stdout.write(text)
        sys.stdout.flush()

    def error(self, error: Exception, file: str | None = None) -> int:
        """One line on standard error, and with --json an object; returns the exit code."""
        where = getattr(error, "file", None) or file
        if self.as_json:
            self.write([_json(_error_row(error, where))])
        complain(f"{where or 'verified-dp'}: {error}")
        undecided = isinstance(error, VerifiedDPError) and not isinstance(error, InvalidInput)
        return UNDECIDED if undecided else WRONG


def _error_row(error: Exception, file: str | None) -> Row:
    return {
        "schema": schema("error"),
        "status": "unsupported" if isinstance(error, Unsupported) else "error",
        "file": file,
        "key": getattr(error, "key", None) or None,
        "message": str(error),
    }


def _json(row: Row) -> str:
    import json

    return json.dumps(row)


class Failure(VerifiedDPError):
    """A defect of this program. It decides nothing, so it must not end with the exit code of a refutation."""

    def __str__(self) -> str:
        (error,) = self.args
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
        return f"internal error, nothing is decided ({type(error).__name__}{place}: {error})"


def store(place: str, data: bytes, key: str = "out") -> None:
    """Put bytes into a file, whole or not at all; InvalidInput, which names the option, where that is impossible."""
    from verified_dp.files import write_atomically

    try:
        write_atomically(place, data)
    except (OSError, ValueError) as error:
        raise InvalidInput(key, place, f"a file that can be written ({reason(error)})") from None


def for_each(files: Sequence[str], work: Callable[[str], int], out: Output) -> int:
    """Do the work on each file; an error is told and does not stop the others, Ctrl-C does. Returns the exit code."""
    codes = []
    for file in files:
        codes.append(_one(file, work, out))
        if is_stopped():
            return INTERRUPTED
    return next((code for code in (WRONG, REFUTED, UNDECIDED) if code in codes), ANSWERED)


def _one(file: str, work: Callable[[str], int], out: Output) -> int:
    try:
        with Progress(file):
            return work(file)
    except VerifiedDPError as error:
        return out.error(error, file)
    except OSError:  # of the output: what cannot be read is an InvalidInput
        raise
    except Exception as error:  # an uncaught one would exit with 1, which says "refuted"
        return out.error(Failure(error), file)
