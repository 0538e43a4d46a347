"""What adapters share: how floats become exact, what nothing and everything are, and the converted specification."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational, Real

from verified_dp.core.families.finite.mechanism import EVERYTHING, ApproximateDP
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composition import Composition, Mechanism, Relation, Spec
from verified_dp.core.kernel.errors import InvalidInput

FLOATS = ("shortest-decimal", "exact-binary")
"""How a float is read: the shortest decimal that prints it, as everywhere else, or the binary number it is."""

RELATIONS: Mapping[str, Relation] = {
    "ADD_OR_REMOVE_ONE": Relation.ADD_OR_REMOVE,
    "REPLACE_ONE": Relation.REPLACE,
    "REPLACE_SPECIAL": Relation.ZERO_OUT,
}
"""Names of dp_accounting's neighbouring relations -> ours."""

Parts = tuple[tuple[Mechanism, int], ...]
"""Mechanisms with their counts; none where nothing is revealed."""

NOTHING = ApproximateDP(0, 0)
"""What stands in a specification where nothing is revealed."""


@dataclass(frozen=True)
class Converted(Spec):
    """A specification made from another library's description.

    floats: how its floats were read, one of FLOATS. origin: what it was converted from, in words. assumptions: what
    the description asserts of the training and nobody here has seen, in sentences; beside them hold those that every
    certificate lists.
    """

    floats: str = FLOATS[0]
    origin: str = ""
    assumptions: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Where the specification comes from, for a claim's source."""
        return f"converted from {self.origin}; floats read as {_WORDS[self.floats]}"


_WORDS = {"exact-binary": "the binary numbers they are", "shortest-decimal": "the shortest decimals that print as them"}


@dataclass(frozen=True)
class Reading:
    """Under which relation, and with which meaning of floats, a description is read.

    on_sample: the event runs on a sample of the records.
    """

    relation: Relation
    floats: str
    on_sample: bool = False

    def __post_init__(self) -> None:
        if self.floats not in FLOATS:
            raise InvalidInput("floats", self.floats, f"one of {', '.join(FLOATS)}")

    def number(self, value: object, key: str) -> Fraction:
        """The exact number; floats as `floats` says. InvalidInput for nan, inf and what is no number."""
        if isinstance(value, Rational) or not isinstance(value, Real) or not math.isfinite(value):
            return exact.exact(value, key)
        return Fraction(float(value)) if self.floats == "exact-binary" else exact.exact(value, key)

    def non_negative(self, value: object, key: str) -> Fraction:
        """A number >= 0."""
        return exact.non_negative(self.number(value, key), key)

    def probability(self, value: object, key: str) -> Fraction:
        """A number in [0, 1]."""
        return exact.probability(self.number(value, key), key)

    def whole(self, value: object, key: str) -> int:
        """An integer from 0 to 10^12; 5.0 is one."""
        number = self.number(value, key)
        if number.denominator != 1 or not 0 <= number <= exact.MAX_COUNT:
            raise InvalidInput(key, value, "an integer from 0 to 10^12")
        return int(number)


def relation_of(relation: object) -> Relation:
    """Our relation, from its name or from dp_accounting's NeighboringRelation."""
    named = RELATIONS.get(getattr(relation, "name", "")) if not isinstance(relation, str) else RELATIONS.get(relation)
    return named if named is not None else Relation.of(relation)


def times(parts: Parts, count: int) -> Parts:
    """The parts, each run `count` times as often; none where the count is 0."""
    return tuple((mechanism, count * each) for mechanism, each in parts) if count else ()


def composition_of(parts: Parts) -> Composition:
    """The composition of the parts, equal ones put together; whatever else is released, everything stays everything."""
    told = ((EVERYTHING, 1),) if reveals_all(parts) else parts
    return Composition(Composition(told or ((NOTHING, 1),)).merged())


def reveals_all(parts: Parts) -> bool:
    """Whether some part tells neighbours apart for sure."""
    return any(mechanism == EVERYTHING for mechanism, _ in parts)


def converted(parts: Parts, reading: Reading, origin: str, assumptions: tuple[str, ...]) -> Converted:
    """The specification of the parts, with what it rests on."""
    return Converted(reading.relation, composition_of(parts), floats=reading.floats, origin=origin,
                     assumptions=assumptions)
