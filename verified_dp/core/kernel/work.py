"""What checking a witness costs, from its counts alone: a certificate from outside must not hang its checker.

One unit of work is a product of two 64-bit complex balls in a matrix product, about 0.1 microseconds on a machine
of 2024 (0.07 to 0.12 measured from 64 to 40000 bits). The largest evaluations of known hard cases (tens of
thousands of frequencies at q = .001 and s = .3; k = 5 at q = .01 and s = .5; 200 digits) need 10^7 to 2 * 10^8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

EXPONENTIAL = 64
"""About what exp of a ball, or a power of a transform, costs beside a product."""
VALUE = 2000
"""A few logarithms and error functions at 64 bits: one value of a hockey-stick curve."""
IMPOSSIBLE = 10**30
"""More than anybody allows."""


class Work(NamedTuple):
    """Units of work, and bytes held at once."""

    units: int
    memory: int = 0


def words(prec: int) -> int:
    """Cost of a product relative to one of 64 bits: linear, then nearly quadratic."""
    count = -(-prec // 64)
    return count * (1 + count // 64)


def entry_bytes(prec: int) -> int:
    """Of a complex ball in a Python list and in a matrix."""
    return 400 + prec // 2


def root_above(number: int) -> int:
    """A power of two, at least the square root."""
    return 1 << (number.bit_length() + 1) // 2


def nothing() -> None:
    """What long work calls now and then where nobody wants to know."""


@dataclass(frozen=True)
class Pace:
    """A call now and then as an argument of a function that keeps its results: any two are equal."""

    between: Callable[[], None] = field(default=nothing, compare=False)


Item = TypeVar("Item")


def paced(items: Iterable[Item], between: Callable[[], None]) -> Iterator[Item]:
    """The same items, with a call before each."""
    for item in items:
        between()
        yield item
