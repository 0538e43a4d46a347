"""What can go wrong, as types: every error this package raises on purpose is a `VerifiedDPError`.

Arguments are kept as given, so that errors survive pickling between processes.
"""

from __future__ import annotations

import reprlib
from fractions import Fraction

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 120


def _shown(value: object) -> str:
    """The value on one line: strings quoted with newlines escaped, fractions as p/q, long ones shortened."""
    if value is None:
        return "nothing"
    if type(value) is int and value.bit_length() > 1000:
        return f"an integer of {value.bit_length()} bits"
    if type(value) is Fraction and (value.numerator * value.denominator).bit_length() < 400:
        return str(value)
    if type(value) is Fraction:
        return "a fraction of more than 60 digits"
    try:
        return _one_line(_SHORT.repr(value))
    except ValueError:  # a container of integers too long for Python to print
        return f"a {type(value).__name__}"


def _one_line(text: str) -> str:
    """The text with every character that does not print (newlines among them) escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class VerifiedDPError(Exception):
    """Base of all errors of this package."""


class InvalidInput(VerifiedDPError):
    """A value outside its domain. The message is one line: `KEY must be EXPECTED, got VALUE`.

    >>> print(InvalidInput("sampling.probability", "1.5", "a rational number in [0, 1]"))
    sampling.probability must be a rational number in [0, 1], got '1.5'
    """

    def __init__(self, key: str, value: object, expected: str, file: str | None = None) -> None:
        super().__init__(key, value, expected, file)
        self.key, self.value, self.expected, self.file = key, value, expected, file

    def __str__(self) -> str:
        return f"{_one_line(self.key)} must be {_one_line(self.expected)}, got {_shown(self.value)}"

    def within(self, prefix: str) -> InvalidInput:
        """The same error with `prefix` before its key."""
        return type(self)(prefix + self.key, self.value, self.expected, self.file)


class OutOfRange(InvalidInput, OverflowError):
    """A number too large, or too close to 0, for what is asked of it; `expected` says what to do instead."""


class Unsupported(VerifiedDPError):
    """Something no theorem of this package covers; `reason` says what, `key` where in a specification."""

    def __init__(self, reason: str, key: str = "", file: str | None = None) -> None:
        super().__init__(reason, key, file)
        self.reason, self.key, self.file = reason, key, file

    def __str__(self) -> str:
        return _one_line(f"{self.key}: {self.reason}" if self.key else self.reason)


class Undecided(VerifiedDPError):
    """A comparison that the precision in use cannot decide."""


class InconsistentEnclosures(VerifiedDPError):
    """Two proved enclosures of one number do not meet: a bug in the package, never an answer."""


class Disagreement(VerifiedDPError):
    """The checker refuses a certificate that this package has written: a bug in the package, never a verdict."""


class InvalidCertificate(VerifiedDPError):
    """A certificate that does not verify: `field` is the path of the first bad field, `reason` says why."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field, self.reason = field, reason

    def __str__(self) -> str:
        return _one_line(f"{self.field}: {self.reason}")
