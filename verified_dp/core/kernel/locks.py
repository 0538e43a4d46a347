"""The arithmetic belongs to one thread at a time: its precision is one number of the whole process.

Threads that ask at the same time are answered one after the other; processes compute in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

from flint import ctx

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_LOCK = RLock()


@contextmanager
def arithmetic() -> Iterator[None]:
    """Hold the arithmetic, and leave its precision as it was found, however the block ends. May be nested."""
    with _LOCK, ctx.workprec(ctx.prec):
        yield


def alone(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """The function, which holds the arithmetic while it runs: for every public entry point."""
    @wraps(function)
    def held(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with arithmetic():
            return function(*args, **kwargs)

    return held
