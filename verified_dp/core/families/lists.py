"""Lists of numbers that are stated of a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.mechanisms import MAX_OUTCOMES
from verified_dp.core.kernel.shown import decimal_text


def check_length(values: Sequence[Fraction], key: str, others: Sequence[Fraction], name: str) -> None:
    """InvalidInput where two lists that belong together differ in length."""
    if len(values) != len(others):
        raise InvalidInput(key, len(values), f"a list of {len(others)} numbers, as {name} is")


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
    ending = f'"{decimal_text(last)}" in place of the last one'
    return f': these are rounded; write ratios such as "{share}", or {ending}'


def _last_digit(number: Fraction) -> Fraction | None:
    """The unit of the last decimal; None where decimals do not write it."""
    for places in range(_MAX_PLACES):
        if 10**places % number.denominator == 0:
            return Fraction(1, 10**places)
    return None


_MAX_PLACES = 40
"""Longer decimals are not taken for rounded ones."""
