"""What was run, as frozen data with exact numbers: relations, sampling, groups, compositions, claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Gaussian, Release, Stated


class Relation(StrEnum):
    """Which data sets are neighbours. `Relation.of` reads one from text."""

    ADD_OR_REMOVE = "add-or-remove"
    ADD = "add"
    REMOVE = "remove"
    ZERO_OUT = "zero-out"
    REPLACE = "replace"

    @classmethod
    def of(cls, value: object, key: str = "relation") -> Relation:
        """The relation of that name; InvalidInput lists the names otherwise."""
        if not isinstance(value, str) or value not in set(cls):
            raise InvalidInput(key, value, "one of " + ", ".join(cls))
        return cls(value)


SCHEME_KEYS = ("sampling", "selection")
"""Under which schemes are stated, in the order in which they are applied."""


class Sampled(Stated):
    """What all sampling schemes share: a mechanism that runs on batches of the records.

    key: of a specification, under which it is stated; that of the best of many runs is "selection".
    """

    key: ClassVar[str] = "sampling"
    mechanism: Any

    @classmethod
    def shared_assumptions(cls, parts: Sequence[Any]) -> tuple[str, ...]:
        """What is taken for granted besides of all the parts of a composition that run this scheme."""
        return ()


Component = tuple[Fraction, Fraction]
"""(mean, weight > 0)."""
Mixture = tuple[Component, ...]


@dataclass(frozen=True)
class Grouped:
    """A mechanism as neighbours see it that differ in a group of `size` > 1 records; `Composition.for_groups` makes it.

    A type of its own, so that nothing that knows only single records takes it for the mechanism.
    """

    mechanism: Gaussian | Sampled | Release
    size: int


Mechanism = Gaussian | Sampled | Release | Grouped


@dataclass(frozen=True)
class Composition:
    """Mechanisms run on the same data, each `count` times; `compose` builds one conveniently.

    Of no parts, or of parts that are made 0 times: nothing is released, epsilon and delta are 0.
    """

    parts: tuple[tuple[Mechanism, int], ...]

    def __post_init__(self) -> None:
        counted = [(_mechanism(mechanism), exact.times(count)) for mechanism, count in self.parts]
        object.__setattr__(self, "parts", tuple((mechanism, count) for mechanism, count in counted if count))
        if len({_size_of(mechanism) for mechanism, _ in self.parts}) > 1:
            raise InvalidInput("group_size", None, "one for the whole composition: neighbours are the same throughout")

    def __repr__(self) -> str:
        bare = ((m.mechanism if isinstance(m, Grouped) else m, count) for m, count in self.parts)
        called = f"compose({', '.join(repr(m) if count == 1 else f'({m!r}, {count})' for m, count in bare)})"
        return called if self.group_size == 1 else f"{called}.for_groups({self.group_size})"

    @property
    def group_size(self) -> int:
        """In how many records neighbours differ; 1 unless `for_groups` says more."""
        return _size_of(self.parts[0][0]) if self.parts else 1

    def for_groups(self, group_size: Number) -> Composition:
        """The same mechanisms for neighbours that differ in a group of `group_size` records (1: in one).

        >>> compose(Gaussian("1")).for_groups(3).group_size
        3
        """
        size = exact.count(group_size, "group_size")
        bare = ((m.mechanism if isinstance(m, Grouped) else m, k) for m, k in self.parts)
        return Composition(tuple((Grouped(m, size) if size > 1 else m, k) for m, k in bare))

    def bare(self) -> Iterator[Gaussian | Release]:
        """Every mechanism that adds noise, on samples or not, those inside of sampled compositions too."""
        for mechanism, _ in self.parts:
            yield from _bare(mechanism)

    def schemes(self) -> set[type]:
        """The classes of the sampling schemes in use, those inside of others too."""
        return {scheme for mechanism, _ in self.parts for scheme in _schemes(mechanism)}

    def merged(self) -> tuple[tuple[Mechanism, int], ...]:
        """The parts with equal mechanisms put together, counts added, in order of first appearance."""
        counts: dict[Mechanism, int] = {}
        for mechanism, count in self.parts:
            counts[mechanism] = counts.get(mechanism, 0) + count
        return tuple(counts.items())


def compose(*parts: Mechanism | tuple[Mechanism, Number] | Composition) -> Composition:
    """The composition of the parts, each a mechanism, a (mechanism, count), or a composition (flattened).

    >>> compose(Gaussian("1"), (Gaussian("2"), 3)).parts[1][1]
    3
    """
    return Composition(tuple(pair for part in parts for pair in _pairs(part)))


@dataclass(frozen=True)
class Claim:
    """A published statement "(epsilon, delta)-DP", exact, with both numbers also as they were typed."""

    title: str
    source: str
    epsilon: Fraction
    delta: Fraction
    epsilon_text: str
    delta_text: str

    def __init__(self, title: str, source: str, epsilon: Number, delta: Number, epsilon_text: str,
                 delta_text: str) -> None:
        numbers = {"epsilon": exact.non_negative(epsilon, "epsilon"), "delta": exact.claimed_delta(delta, "delta")}
        texts = {"title": title, "source": source, "epsilon_text": epsilon_text, "delta_text": delta_text}
        for key, value in {**texts, **numbers}.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        named = f"{self.title!r}, " * bool(self.title)
        return f"Claim({named}epsilon = {self.epsilon_text}, delta = {self.delta_text})"


@dataclass(frozen=True)
class Spec:
    """What a specification file states; `claim` is None where it states none."""

    relation: Relation
    composition: Composition
    claim: Claim | None = None

    def __repr__(self) -> str:
        return f"Spec({self.relation}, {self.composition}" + (f", {self.claim})" if self.claim else ")")


def _mechanism(value: object) -> Mechanism:
    if not isinstance(value, Mechanism):
        raise InvalidInput("mechanism", value, "a mechanism such as Gaussian or PoissonSampled, or (mechanism, count)")
    return value


def _size_of(mechanism: Mechanism) -> int:
    return mechanism.size if isinstance(mechanism, Grouped) else 1


def _bare(mechanism: Mechanism | Composition) -> Iterator[Gaussian | Release]:
    if isinstance(mechanism, Composition):
        yield from mechanism.bare()
    elif isinstance(mechanism, Sampled | Grouped):
        yield from _bare(mechanism.mechanism)
    else:
        yield mechanism


def _schemes(mechanism: Mechanism | Composition) -> Iterator[type]:
    if isinstance(mechanism, Composition):
        yield from mechanism.schemes()
    elif isinstance(mechanism, Sampled | Grouped):
        yield from [type(mechanism)] * isinstance(mechanism, Sampled)
        yield from _schemes(mechanism.mechanism)


def _pairs(part: object) -> Iterator[tuple[Mechanism, int]]:
    """The (mechanism, count) pairs of one argument of `compose`."""
    if isinstance(part, Composition):
        yield from part.parts
    elif isinstance(part, tuple) and len(part) == 2:
        yield _mechanism(part[0]), exact.times(part[1])
    else:
        yield _mechanism(part), 1
