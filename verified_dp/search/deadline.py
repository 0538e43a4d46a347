"""A deadline that searches look at between their steps: past it they stop, and what is proved so far is the answer.

One deadline at a time: the arithmetic belongs to one thread (core/locks.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


class OutOfTime(Exception):
    """Raised inside of a search, and caught where a cheaper bound is at hand."""


_END = [math.inf]
_FREE: list[bool] = []
"""Not empty while a cheap bound is computed, which neither the clock nor `stop` ends."""


_STOPPED: list[bool] = []


def check_time(ahead: float = 0.0) -> None:
    """Raises OutOfTime past the deadline, or less than `ahead` seconds before it, and after `stop`."""
    if not _FREE and (_STOPPED or time.perf_counter() + ahead > _END[-1]):
        raise OutOfTime


def timed(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, with a look at the clock before each."""
    for item in items:
        check_time()
        yield item


def stop() -> None:
    """Every search ends as if its time were over."""
    _STOPPED.append(True)


def is_stopped() -> bool:
    """Whether `stop` was called."""
    return bool(_STOPPED)


def forget_stop() -> None:
    """Searches may run again."""
    _STOPPED.clear()


@contextmanager
def ending_at(end: float) -> Iterator[None]:
    """Searches inside stop at this reading of the clock, or earlier where they had to stop earlier."""
    _END.append(min(end, _END[-1]))
    try:
        yield
    finally:
        _END.pop()


@contextmanager
def without_deadline() -> Iterator[None]:
    """For the cheap bound after the deadline."""
    _FREE.append(True)
    try:
        yield
    finally:
        _FREE.pop()
