"""Local randomisers whose messages are shuffled: one message from every user, of which the order is lost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Kind, Release, up_to

MAX_USERS = 10**9
"""The sum over those who answer like clones is about as long as the root of so many."""


def read_odds(value: object, key: str) -> Fraction:
    """The value as a number >= 1."""
    expected = "a rational number >= 1: e^epsilon0"
    odds = exact.exact(value, key, expected=expected)
    if odds < 1:
        raise InvalidInput(key, value, expected)
    return odds


@dataclass(frozen=True)
class ShuffledLocal(Release):
    """Every user's message is epsilon0-locally private, or its likelihoods differ by at most the factor `odds`.

    One of both is stated; epsilon0 = "log(3)" states odds = 3.

    >>> ShuffledLocal(1000, "log(3)").odds
    Fraction(3, 1)
    """

    stated = Kind(
        "shuffled-local", {"users": up_to(MAX_USERS), "epsilon0": exact.non_negative, "odds": read_odds},
        "shuffled-local: users messages, one from each, of which only the multiset is seen; epsilon0 bounds "
        "log(P/Q) between the laws of one message on any two inputs (odds = e^epsilon0)",
        ("shuffled-local: all users run the same randomiser, which meets the stated bound, with fresh and "
         "independent randomness; messages are shuffled uniformly, whatever they are; which randomiser it is "
         "may depend on what was released before",))
    users: int
    epsilon0: Fraction | None = None
    odds: Fraction | None = None

    def __init__(self, users: Number, epsilon0: Number | None = None, odds: Number | None = None) -> None:
        self._read(users=users)
        if (epsilon0 is None) == (odds is None):
            raise InvalidInput("epsilon0", epsilon0, 'given, such as "1.5" or "log(3)", or odds instead (not both)')
        if isinstance(epsilon0, str) and (text := epsilon0.strip()).startswith("log(") and text.endswith(")"):
            epsilon0, odds = None, text[4:-1]
        self._read(epsilon0=epsilon0, odds=odds)
