"""What one step is: mechanisms as frozen data with exact numbers; `kind` is their name in specifications.

The fields of each class are its keys in a specification and in a certificate. A field is an exact number, an
integer, or a tuple of exact numbers; `None` where it is not stated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number

MAX_OUTCOMES = 4096
"""Outcomes of a discrete mechanism, and integer sensitivities: beyond, sums over them take too long."""


Reader = Callable[[Any, str], Any]
"""From a value and its key to an exact number, an integer, or a tuple of numbers; InvalidInput for what is none."""


@dataclass(frozen=True)
class Kind:
    """What is stated of a mechanism or of a way to sample, and in which words: readers, records and texts follow it.

    name: in specifications. readers: its keys, and how the value of each is read. not_sampled: why it may not run on a
    Poisson sample; empty where it may. adds_up: the key that the records of a group add up in, where that is all they
    do; not_grouped: why groups are refused where it is not. counts_records: where a number of records is stated, or a
    share of them, and which neighbours ("as neighbours": those of add, remove and zero-out; "always") need to be told
    whose it is.
    """

    name: str
    readers: Mapping[str, Reader]
    convention: str
    assumptions: tuple[str, ...]
    not_sampled: str = "no theorem for that is implemented"
    adds_up: str = ""
    not_grouped: str = "no theorem for it is implemented"
    counts_records: str = ""


class Stated:
    """What all of them share: fields that are read as their kind says; one whose default is None may be left out."""

    stated: ClassVar[Kind]

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Stated.__repr__  # type: ignore[method-assign]  # in the class itself, where a dataclass keeps it

    def __repr__(self) -> str:
        """A call that makes it again, of what is stated: "Gaussian('1.1')"."""
        from verified_dp.core.kernel.shown import call_text  # for people

        return call_text(self)

    def _read(self, **values: object) -> None:
        for key, value in values.items():
            read = self.stated.readers.get(key)
            absent = read is None or (value is None and hasattr(type(self), key))
            object.__setattr__(self, key, value if absent or read is None else read(value, key))

    def _set(self, **values: object) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)


@dataclass(frozen=True)
class Release(Stated):
    """A mechanism that is no plain Gaussian."""

    @property
    def assumption(self) -> str:
        """What is taken for granted beside what its kind says, where a key is stated that changes it."""
        return ""


def read_flag(value: object, key: str) -> bool:
    """The value as true or false; false where it is left out."""
    if value is not None and type(value) is not bool:
        raise InvalidInput(key, value, "true or false")
    return bool(value)


def up_to(most: int) -> Callable[[object, str], int]:
    """What reads an integer from 1 to `most`."""
    return partial(_read_up_to, most)


def _read_up_to(most: int, value: object, key: str) -> int:
    number = exact.count(value, key)
    if number > most:
        raise InvalidInput(key, value, f"an integer from 1 to {most}")
    return number


read_size = up_to(MAX_OUTCOMES)


def _check_form(noise_multiplier: object, sigma: object, sensitivity: object) -> None:
    if noise_multiplier is None:
        missing = [key for key, value in (("sigma", sigma), ("sensitivity", sensitivity)) if value is None]
        if len(missing) == 2:
            raise InvalidInput("noise_multiplier", None, "given (or sigma and sensitivity instead)")
        if missing:
            raise InvalidInput(missing[0], None, "given: sigma and sensitivity belong together")
    for key, value in (("sigma", sigma), ("sensitivity", sensitivity)):
        if noise_multiplier is not None and value is not None:
            raise InvalidInput(key, value, "absent where noise_multiplier is given (one form or the other)")


def _scale(value: object, key: str) -> Fraction:
    """A positive exact number; the message for 0 says what it would mean."""
    if exact.exact(value, key, expected="a positive rational number") == 0:
        raise InvalidInput(key, value, f"positive: 0 would mean {_ZERO_MEANS[key]}")
    return exact.positive(value, key)


_ZERO_MEANS = {
    "noise_multiplier": "no noise, hence no finite guarantee",
    "sigma": "no noise, hence no finite guarantee",
    "sensitivity": "that no record has any influence, hence nothing to protect",
}


@dataclass(frozen=True)
class Gaussian(Stated):
    """The Gaussian mechanism, in exactly one of two forms.

    * `Gaussian("1.1")`: sigma / largest L2 norm of one record's contribution, in every relation.
    * `Gaussian(sigma="2", sensitivity="1")`: sensitivity of the query under the relation in use, in L2 norm.

    >>> Gaussian("1.1").noise_multiplier
    Fraction(11, 10)
    """

    stated = Kind("gaussian", {"noise_multiplier": _scale, "sigma": _scale, "sensitivity": _scale}, "", ())
    noise_multiplier: Fraction | None = None
    sigma: Fraction | None = None
    sensitivity: Fraction | None = None

    def __init__(
        self, noise_multiplier: Number | None = None, *, sigma: Number | None = None, sensitivity: Number | None = None
    ) -> None:
        _check_form(noise_multiplier, sigma, sensitivity)
        self._read(noise_multiplier=noise_multiplier, sigma=sigma, sensitivity=sensitivity)
