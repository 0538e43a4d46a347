"""A deadline that searches look at between their steps: past it they stop, and what is proved so far is the answer.

The cheap bound that is computed then has until a second, later one. One deadline at a time: the arithmetic belongs to
one thread (core/kernel/locks.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


class OutOfTime(Exception):
    """Raised inside of a search, and caught where a cheaper bound is at hand."""


GRACE = 0.25
"""Seconds after the deadline, or after `stop`, that a cheap bound may take, beside a tenth of those stated."""
LEAST = 0.15
"""Seconds that the cheap bounds have at least: where a search saw its deadline too late, from the first of them on."""


@dataclass
class _Deadline:
    """end, last: when searches end, and when the cheap bounds do. late: when the first of these began after `last`."""

    end: float = math.inf
    last: float = math.inf
    late: float = -math.inf

    @property
    def until(self) -> float:
        """When the cheap bounds end, after all."""
        return max(self.last, self.late + LEAST)


_END = [_Deadline()]
_HURRIED: list[bool] = []
"""Not empty while a cheap bound is computed."""
_STOPPED: list[float] = []
"""When `stop` was called, and when the first cheap bound after that began: from then on these have their time."""


def grace(seconds: float) -> float:
    """After so many stated seconds."""
    return GRACE + seconds / 10


def check_time(ahead: float = 0.0) -> None:
    """Raises OutOfTime past the deadline, or less than `ahead` seconds before it, and after `stop`."""
    now, at = time.perf_counter(), _END[-1]
    until = -math.inf if _STOPPED else at.end
    if _HURRIED:
        until = min([at.until, *(seen + GRACE for seen in _STOPPED[-1:])])
    if now + ahead > until:
        raise OutOfTime


def timed(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, with a look at the clock before each."""
    for item in items:
        check_time()
        yield item


def stop() -> None:
    """Every search ends as if its time were over."""
    _STOPPED[:] = _STOPPED or [time.perf_counter()]


def is_stopped() -> bool:
    """Whether `stop` was called."""
    return bool(_STOPPED)


def forget_stop() -> None:
    """Searches may run again."""
    _STOPPED.clear()


@contextmanager
def ending_at(end: float, last: float | None = None) -> Iterator[None]:
    """Searches inside stop at this reading of the clock, or earlier where they had to stop earlier.

    last: when the cheap bounds end, -inf for none; GRACE later where it is not given.
    """
    outer = _END[-1]
    until = min(end + GRACE if last is None else last, outer.last)
    _END.append(_Deadline(min(end, outer.end), until, outer.late))
    try:
        yield
    finally:
        _END.pop()


@contextmanager
def hurrying() -> Iterator[None]:
    """For the cheap bound after the deadline: OutOfTime is raised at the second one."""
    now = time.perf_counter()
    _STOPPED.extend([now] if len(_STOPPED) == 1 else [])
    for at in _END:
        at.late = now if now > at.last > -math.inf == at.late else at.late
    _HURRIED.append(True)
    try:
        yield
    finally:
        _HURRIED.pop()


DEFAULT_SECONDS = 120.0
"""The budget of one question where none is stated."""


class Budget:
    """Wall-clock limit of one question; `spent` becomes true when it is over."""

    def __init__(self, seconds: float | None, progress: Callable[[str], None] | None = None,
                 reserve: float = 0.0) -> None:
        """reserve: seconds for a cheap bound, of which those past the grace are left, at most half of those stated.

        end, last: the deadlines of searches and of cheap bounds.
        """
        self.start, self._progress, self.seconds = time.perf_counter(), progress, DEFAULT_SECONDS
        self.end = self.last = math.inf
        if seconds is not None:
            self.seconds = seconds - min(max(reserve - grace(seconds), 0.0), seconds / 2)
            self.end, self.last = self.start + self.seconds, self.start + seconds + grace(seconds)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.start

    @property
    def left(self) -> float:
        """Seconds left, at least a little."""
        return 0.05 if is_stopped() else max(self.seconds - self.elapsed, 0.05)

    def share(self, part: float) -> Budget:
        """A part of what is left of a stated time; all of it where none is stated."""
        if self.end == math.inf:
            return self
        found = Budget(None, self._progress)
        found.seconds = part * self.left
        found.end, found.last = found.start + found.seconds, self.last
        return found

    @property
    def spent(self) -> bool:
        return is_stopped() or self.elapsed > self.seconds

    def allows(self, seconds: float) -> bool:
        """Whether work of this predicted length should start."""
        return (self.elapsed + seconds <= self.seconds and not is_stopped()) or seconds < 0.05

    def say(self, text: str) -> None:
        """Tell the caller what is about to run."""
        if self._progress is not None:
            self._progress(text)
