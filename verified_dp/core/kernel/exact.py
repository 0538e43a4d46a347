"""The only door for users' numbers: int, Fraction, Decimal, text and floats become fractions.

A float is read as the shortest decimal that prints it: 1.1 is 11/10, numpy's and pandas' too.

Each function takes the value and the `key` it was given for, and raises InvalidInput naming that key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal  # exact: read, never computed with
from fractions import Fraction
from math import isqrt  # exact: integers
from numbers import Rational, Real
from typing import TypeAlias

from flint import fmpz

from verified_dp.core.kernel.errors import InvalidInput, OutOfRange

Number: TypeAlias = "int | Fraction | Decimal | str | float"
"""What a user's number may be."""

MAX_EXPONENT = 10**5
MAX_COUNT = 10**12
MAX_DIGITS = 1000
_MAX_CHARACTERS = 4 * MAX_EXPONENT
_DECIMAL = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,20}))?")
_RATIO = re.compile(r"([+-]?)([0-9]+)\s*/\s*([0-9]+)")
_NUMBER = "a rational number such as 0.1, 256/60000 or 1e-500"


def exact(value: object, key: str = "value", *, expected: str = _NUMBER) -> Fraction:
    """The rational number which `value` states exactly.

    Args:
        value: int, Fraction, finite Decimal or float (the decimal it prints as), or a string: a decimal ("-1e-3") or
            a ratio ("256/60000").
        key: name of the value, for messages.
        expected: the domain, for messages.
    Raises:
        InvalidInput: for all that states no number (booleans, nan, inf, "", "1_000") and exponents beyond +-10^5.

    >>> exact("256/60000"), exact("-1.5e-1"), exact(1.1)
    (Fraction(8, 1875), Fraction(-3, 20), Fraction(11, 10))
    """
    number = _read(value, key)
    if number is None:
        raise InvalidInput(key, value, expected)
    return number


def positive(value: object, key: str = "value") -> Fraction:
    """The value as an exact rational number > 0."""
    return _checked(value, key, expected="a positive rational number", accepts=lambda x: x > 0)


def non_negative(value: object, key: str = "value") -> Fraction:
    """The value as an exact rational number >= 0."""
    return _checked(value, key, expected="a rational number >= 0", accepts=lambda x: x >= 0)


def probability(value: object, key: str = "value") -> Fraction:
    """The value as an exact rational number in [0, 1]."""
    return _checked(value, key, expected="a rational number in [0, 1]", accepts=lambda x: 0 <= x <= 1)


def claimed_delta(value: object, key: str = "delta") -> Fraction:
    """The delta of a claim as an exact rational number in [0, 1); 0 states pure differential privacy."""
    if exact(value, key, expected="a rational number in [0, 1)") >= 1:
        raise InvalidInput(key, value, "in [0, 1): 1 or more holds for every mechanism, so states nothing")
    return _checked(value, key, expected="a rational number in [0, 1)", accepts=lambda x: x >= 0)


def open_unit(value: object, key: str = "delta") -> Fraction:
    """The value, a delta, as an exact rational number in (0, 1); the messages say what 0 and 1 would mean."""
    number = exact(value, key, expected="a rational number in (0, 1)")
    if number == 0:
        raise InvalidInput(key, value, "in (0, 1): 0 would state pure differential privacy, another claim")
    if number >= 1:
        raise InvalidInput(key, value, "in (0, 1): 1 or more holds for every mechanism, so states nothing")
    return _checked(value, key, expected="a rational number in (0, 1)", accepts=lambda x: x > 0)


def count(value: object, key: str = "count") -> int:
    """The value as an integer from 1 to 10^12: 14063, "14063", Fraction(5, 1) or 5.0, but not "5.0" or True.

    >>> count("14063")
    14063
    """
    plain = isinstance(value, Real) or (isinstance(value, str) and value.strip().isdecimal())
    number = _read(value, key) if plain else None
    if number is None or number.denominator != 1 or not 1 <= number <= MAX_COUNT:
        raise InvalidInput(key, value, "an integer from 1 to 10^12")
    return int(number)


def times(value: object, key: str = "count") -> int:
    """The value as an integer from 0 to 10^12: how often a step is made, not at all among it."""
    return 0 if isinstance(value, int) and value == 0 and value is not False else count(value, key)


def digits(value: object) -> int:
    """How many digits are asked for: an int from 1 to 1000, nothing that would have to be read or rounded to one."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DIGITS:
        raise InvalidInput("digits", value, f"an integer from 1 to {MAX_DIGITS}")
    return value


def fraction_text(number: Fraction | int | SquareRoot) -> str:
    """The reduced fraction as text ("8/1875", "3"), however long; `exact` reads it back. A root: "sqrt(1/2)".

    >>> fraction_text(Fraction(256, 60000))
    '8/1875'
    """
    if isinstance(number, SquareRoot):
        return str(number)
    top, bottom = str(fmpz(number.numerator)), str(fmpz(number.denominator))
    return top if bottom == "1" else f"{top}/{bottom}"


@dataclass(frozen=True)
class SquareRoot:
    """The square root of a positive rational number that is no square, exact; `square_root` makes it."""

    square: Fraction

    def __float__(self) -> float:
        return float(self.square) ** 0.5

    def __str__(self) -> str:
        return f"sqrt({fraction_text(self.square)})"


def square(number: Fraction | SquareRoot) -> Fraction:
    """The square, exact."""
    return number.square if isinstance(number, SquareRoot) else number * number


def square_root(number: Fraction) -> Fraction | SquareRoot:
    """The square root of a positive number, as a fraction where it is one.

    >>> square_root(Fraction(9, 4)), square_root(Fraction(1, 2))
    (Fraction(3, 2), SquareRoot(square=Fraction(1, 2)))
    """
    root = Fraction(isqrt(number.numerator), isqrt(number.denominator))
    return root if root * root == number else SquareRoot(number)


def _checked(value: object, key: str, *, expected: str, accepts: Callable[[Fraction], bool]) -> Fraction:
    number = exact(value, key, expected=expected)
    if not accepts(number):
        raise InvalidInput(key, value, expected)
    return number


def _read(value: object, key: str) -> Fraction | None:
    """The value as a fraction, None if it states no number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Rational):
        try:
            return Fraction(int(value.numerator), int(value.denominator))
        except OutOfRange as error:
            raise OutOfRange(key, error.value, error.expected) from None
    if isinstance(value, Decimal):
        return _read_text(str(value), key)
    if isinstance(value, str):
        return _read_text(value, key)
    return _read_text(str(value), key) if isinstance(value, Real) else None


def _read_text(text: str, key: str) -> Fraction | None:
    if len(text) > _MAX_CHARACTERS:
        raise InvalidInput(key, text, f"at most {_MAX_CHARACTERS} characters long")
    text = text.strip()
    if ratio := _RATIO.fullmatch(text):
        sign, top, bottom = ratio.groups()
        return Fraction(_signed(sign, top), _integer(bottom)) if bottom.strip("0") else None
    if decimal := _DECIMAL.fullmatch(text):
        return _from_decimal(*decimal.groups(default=""), text=text, key=key)
    return None


def _from_decimal(sign: str, digits: str, exponent: str, *, text: str, key: str) -> Fraction:
    power = int(exponent or "0")
    if abs(power) > MAX_EXPONENT:
        raise InvalidInput(key, text, f"a number with a decimal exponent within +-{MAX_EXPONENT}")
    whole, _, decimals = digits.partition(".")
    mantissa, power = _signed(sign, whole + decimals), power - len(decimals)
    return Fraction(mantissa * 10**power) if power >= 0 else Fraction(mantissa, 10**-power)


def _signed(sign: str, digits: str) -> int:
    return -_integer(digits) if sign == "-" else _integer(digits)


def _integer(digits: str) -> int:
    """The integer of any length: Python's own reader stops at 4300 digits."""
    return int(fmpz(digits))
