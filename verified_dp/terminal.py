"""What depends on the terminal: colour, and signs of life during long work."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import ClassVar, TextIO

PATIENCE = 2.0
"""Seconds of silence before progress is shown on a terminal, then every second."""

_COLOURS = {
    "proved": "32", "valid": "32", "certified": "32",
    "refuted": "31", "invalid": "31",
    "undecided": "33", "wide": "33", "estimate": "33",
}


def is_terminal(stream: TextIO | None) -> bool:
    """Whether people read the stream as it is written."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(words: str, verdict: str) -> str:
    """The words in the verdict's colour if standard output is a terminal and NO_COLOR is not set."""
    colour = _COLOURS.get(verdict)
    if colour is None or os.environ.get("NO_COLOR") or not is_terminal(sys.stdout):
        return words
    return f"\x1b[{colour}m{words}\x1b[0m"


class Progress:
    """Shows on standard error, where that is a terminal, what runs: one line that is written over.

    A context manager; call it with a short text before each long step. Inside of another one it takes the line over.
    limit: the seconds that were stated, of which the share that is over is shown.
    """

    _entered: ClassVar[list[Progress]] = []

    def __init__(self, title: str, limit: float | None = None) -> None:
        self._title, self._text, self._limit = title, "working", limit
        self._start, self._done = time.monotonic(), threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> Progress:
        self._start = time.monotonic()
        self._entered.append(self)
        if self._entered == [self] and is_terminal(sys.stderr):
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._done.set()
        self._entered.remove(self)
        if self._thread is not None:
            self._thread.join()

    def line(self, seconds: float) -> str:
        """What is shown after so many seconds."""
        known = "so far" if self._limit is None else f"of {self._limit:.3g} s, {seconds / self._limit:.0%}"
        return escaped(f"{self._title}: {self._text} ({seconds:.0f} s {known})")

    @classmethod
    def clear(cls) -> None:
        """Wipe the line, if there is one, before a result is written below it."""
        if any(one._thread is not None for one in cls._entered) and is_terminal(sys.stderr):
            with suppress(OSError, ValueError):
                _put("\r\x1b[K")

    def _show(self) -> None:
        """Until the work is done."""
        with suppress(OSError, ValueError):  # nobody reads it any more
            self._write_over()

    def _write_over(self) -> None:
        """One line, written over every second and wiped at the end."""
        wait, shown = PATIENCE, False
        while not self._done.wait(wait):
            inner = (self._entered or [self])[-1]
            _put(f"\r\x1b[K{inner.line(time.monotonic() - inner._start)[:_columns()]}")
            wait, shown = 1.0, True
        if shown:
            _put("\r\x1b[K")


def escaped(text: str) -> str:
    """The text on one line, with what does not print escaped: no title steers a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _put(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _columns() -> int:
    """The width of the terminal, less one so that the line does not wrap; some terminals say 0."""
    try:
        return (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1
    except (OSError, ValueError):
        return 79
