"""Claims judged by several processes, in the order in which they were named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verified_dp.cli.interrupts import ignored
from verified_dp.cli.limits import Limits
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.reading import STDIN

if TYPE_CHECKING:
    from verified_dp.cli.text import Judged

MAX_JOBS = 256

Certify = Callable[[str, "Limits", "str | None", bool], "Judged"]
"""What judges one claim: file, limits, where its certificate goes, whether with a formal part."""


def read_jobs(text: str | None, files: Sequence[str]) -> int:
    """How many processes, 1 where nobody says. Raises InvalidInput."""
    if text is None:
        return 1
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MAX_JOBS):
        raise InvalidInput("jobs", text, f"an integer from 1 to {MAX_JOBS}")
    if STDIN in files and int(text) > 1:
        raise InvalidInput("jobs", text, "left out with standard input, which this process alone reads")
    return min(int(text), len(files))


@contextmanager
def judging(certify: Certify, files: Sequence[str], places: Iterator[str | None], limits: Limits, formal: bool,
            jobs: int) -> Iterator[Callable[[str], Judged]]:
    """A function that judges the next file; with several jobs all files are begun, and it waits for its own."""
    if jobs == 1:
        yield lambda file: certify(file, limits, next(places), formal)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))  # no thread of this process is copied
    try:
        with ignored():
            begun = iter([pool.submit(certify, file, limits, next(places), formal) for file in files])
        yield lambda file: next(begun).result()
    finally:
        pool.shutdown(cancel_futures=True)
