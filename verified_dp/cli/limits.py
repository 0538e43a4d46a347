"""The options that say how exactly, by which method and for how long to compute."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from verified_dp.core.kernel.errors import InvalidInput

MAX_SECONDS = 10**8


@dataclass(frozen=True)
class Limits:
    """How exactly, by which method and for how long to compute.

    digits, verbose: what is shown depends on them too.
    """

    digits: int | None
    method: str
    max_seconds: float | None
    parameters: dict[str, str]
    verbose: bool = False

    @classmethod
    def of(cls, args: Namespace) -> Limits:
        """The options, checked: InvalidInput names the option."""
        method = _method(getattr(args, "method", "auto"))
        return cls(read_digits(args.digits), method, _seconds(args.max_seconds), read_parameters(args.set),
                   getattr(args, "verbose", False))

    def share(self, part: float) -> Limits:
        """The same with a part of the seconds."""
        return self if self.max_seconds is None else replace(self, max_seconds=part * self.max_seconds)

    def after(self, start: float) -> Limits:
        """The same with what is left of seconds that began at this reading of the monotonic clock, 0.05 at least."""
        if self.max_seconds is None:
            return self
        return replace(self, max_seconds=max(self.max_seconds - (time.monotonic() - start), 0.05))


@dataclass(frozen=True)
class CheckLimits:
    """What checking one certificate may use."""

    seconds: float
    megabytes: int

    @classmethod
    def of(cls, args: Namespace) -> CheckLimits:
        """The options, checked: InvalidInput names the option."""
        from verified_dp.verifiers.bounded import MEGABYTES, SECONDS

        seconds, memory = _seconds(args.max_seconds), args.max_memory
        if memory is not None and not (memory.isascii() and memory.isdecimal() and 64 <= int(memory[:9]) <= 10**8):
            raise InvalidInput("max-memory", memory, "a whole number of megabytes from 64")
        return cls(SECONDS if seconds is None else max(seconds, 1), MEGABYTES if memory is None else int(memory[:9]))


def read_digits(text: str | None) -> int | None:
    from verified_dp.core.kernel.exact import digits

    if text is None:
        return None
    return digits(int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text)


def _method(name: str) -> str:
    from verified_dp.papers.paper import PAPER_METHODS
    from verified_dp.profile import METHODS

    if name not in METHODS and name not in PAPER_METHODS:
        raise InvalidInput("method", name, "one of " + ", ".join((*METHODS, *PAPER_METHODS)))
    return name


def _seconds(text: str | None) -> float | None:
    from verified_dp.core.kernel.exact import positive

    return None if text is None else float(min(positive(text, "max-seconds"), Fraction(MAX_SECONDS)))


def read_claim(text: str | None) -> tuple[str, str] | None:
    """The two numbers of EPSILON,DELTA."""
    if text is None:
        return None
    epsilon, comma, delta = text.partition(",")
    if not comma:
        raise InvalidInput("claim", text, "two numbers with a comma between them, such as 3.01,1e-5")
    return epsilon.strip(), delta.strip()


def read_parameters(texts: Sequence[str]) -> dict[str, str]:
    """KEY=VALUE, as often as given. Raises InvalidInput for anything else."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise InvalidInput("set", text, "KEY=VALUE, for example n=50000")
        if key in found:
            raise InvalidInput("set", text, f"{key} once")
        found[key] = value
    return found
