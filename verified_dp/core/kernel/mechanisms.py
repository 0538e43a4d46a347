"""What one step is: mechanisms as frozen data with exact numbers; `kind` is their name in specifications.

The fields of each class are its keys in a specification and in a certificate. A field is an exact number, an
integer, or a tuple of exact numbers; `None` where it is not stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number

MAX_OUTCOMES = 4096
"""Outcomes of a discrete mechanism, and integer sensitivities: beyond, sums over them take too long."""


@dataclass(frozen=True)
class Release:
    """What all of them share. not_sampled: why it may not run on a Poisson sample; empty where it may.

    adds_up: the field that the records of a group add up in, where that is all they do.
    """

    kind: ClassVar[str]
    convention: ClassVar[str]
    assumption: ClassVar[str]
    not_sampled: ClassVar[str] = "no theorem for that is implemented"
    adds_up: ClassVar[str] = ""

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(field.name for field in fields(cls))

    def _set(self, **values: object) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian mechanism, in exactly one of two forms.

    * `Gaussian("1.1")`: sigma / largest L2 norm of one record's contribution, in every relation.
    * `Gaussian(sigma="2", sensitivity="1")`: sensitivity of the query under the relation in use, in L2 norm.

    >>> Gaussian("1.1").noise_multiplier
    Fraction(11, 10)
    """

    noise_multiplier: Fraction | None = None
    sigma: Fraction | None = None
    sensitivity: Fraction | None = None

    def __init__(
        self, noise_multiplier: Number | None = None, *, sigma: Number | None = None, sensitivity: Number | None = None
    ) -> None:
        _check_form(noise_multiplier, sigma, sensitivity)
        stated = {"noise_multiplier": noise_multiplier, "sigma": sigma, "sensitivity": sensitivity}
        for key, value in stated.items():
            object.__setattr__(self, key, None if value is None else _scale(value, key))


def read_size(value: object, key: str) -> int:
    """The value as an integer from 1 to MAX_OUTCOMES."""
    number = exact.count(value, key)
    if number > MAX_OUTCOMES:
        raise InvalidInput(key, value, f"an integer from 1 to {MAX_OUTCOMES}")
    return number


def read_numbers(values: object, key: str) -> tuple[Fraction, ...]:
    """The values as 1 to MAX_OUTCOMES numbers >= 0."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not 1 <= len(values) <= MAX_OUTCOMES:
        raise InvalidInput(key, values, f"a list of 1 to {MAX_OUTCOMES} numbers")
    return tuple(exact.non_negative(value, f"{key}[{i}]") for i, value in enumerate(values, 1))


def read_distribution(values: object, key: str) -> tuple[Fraction, ...]:
    """The values as probabilities, whose sum is exactly 1."""
    numbers = read_numbers(values, key)
    if sum(numbers) != 1:
        raise InvalidInput(key, sum(numbers), f"a list of numbers whose sum is exactly 1{_advice(numbers)}")
    return numbers


def _advice(numbers: Sequence[Fraction]) -> str:
    """What to write instead of decimals that were rounded: where their sum is within their last digits of 1."""
    units = [unit for number in numbers if (unit := _last_digit(number)) is not None]
    missing = 1 - sum(numbers, Fraction(0))
    last = numbers[-1] + missing
    if len(units) < len(numbers) or last < 0 or 2 * abs(missing) > sum(units, Fraction(0)):
        return ""
    share = f"1/{len(numbers)}" if len(set(numbers)) == 1 else "1/3"
    ending = f'"{exact.decimal_text(last)}" in place of the last one'
    return f': these are rounded; write ratios such as "{share}", or {ending}'


def _last_digit(number: Fraction) -> Fraction | None:
    """The unit of the last decimal; None where decimals do not write it."""
    for places in range(_MAX_PLACES):
        if 10**places % number.denominator == 0:
            return Fraction(1, 10**places)
    return None


_MAX_PLACES = 40
"""Longer decimals are not taken for rounded ones."""


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
