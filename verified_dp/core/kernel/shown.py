"""Numbers and mechanisms as people write them."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from flint import fmpz

from verified_dp.core.kernel.exact import fraction_text


def decimal_text(number: Fraction) -> str:
    """A number whose denominator divides a power of ten as a decimal, "0.334"; any other as a reduced fraction.

    >>> decimal_text(Fraction(334, 1000)), decimal_text(Fraction(1, 3))
    ('0.334', '1/3')
    """
    places = 0
    while places < _LONGEST and 10**places % number.denominator:
        places += 1
    if places in (0, _LONGEST) or number < 0:
        return fraction_text(number)
    whole, rest = divmod(number.numerator * 10**places // number.denominator, 10**places)
    return f"{fmpz(whole)}.{str(fmpz(rest)).zfill(places)}"


_LONGEST = 100


def call_text(value: Any) -> str:
    """The call that makes a mechanism, or that shows a number or several: fields that are not stated are left out."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else repr(decimal_text(value))
    if isinstance(value, tuple):
        return f"[{', '.join(map(call_text, value[:_SHOWN]))}{', ...' if len(value) > _SHOWN else ''}]"
    if not hasattr(value, "stated"):
        return repr(value)
    names = [field.name for field in fields(value)]
    stated = [(name, getattr(value, name)) for name in names]
    told = [("" if name == names[0] else f"{name}=") + call_text(one) for name, one in stated
            if one != getattr(type(value), name, None)]
    return f"{type(value).__name__}({', '.join(told)})"


_SHOWN = 8
"""Of several numbers."""
