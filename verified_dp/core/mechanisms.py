"""What was run, as frozen data with exact numbers: mechanisms, compositions, relations, claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import comb  # exact: integers

from verified_dp.core import exact
from verified_dp.core.errors import InvalidInput, Unsupported
from verified_dp.core.exact import Number
from verified_dp.core.releases import Release


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

    def mean_distance(self, relation: Relation) -> Fraction:
        """Distance between the two means in units of sigma, before any sampling.

        One norm per record that contributes: 1 / noise_multiplier, under replace 2 / noise_multiplier;
        sensitivity / sigma in the other form, where the sensitivity is already that of the relation.
        """
        if self.noise_multiplier is not None:
            return (2 if relation is Relation.REPLACE else 1) / self.noise_multiplier
        return Fraction(self.sensitivity or 0) / Fraction(self.sigma or 1)  # both are set in this form


@dataclass(frozen=True)
class PoissonSampled:
    """A mechanism on a batch which each record enters independently with `probability`, in [0, 1].

    A composition: one batch is drawn, and all its releases are made from that same batch.
    """

    mechanism: Gaussian | Release | Composition
    probability: Fraction

    def __init__(self, mechanism: Gaussian | Release | Composition, probability: Number) -> None:
        _check_sampled(mechanism)
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "probability", exact.probability(probability, "probability"))


@dataclass(frozen=True)
class WithoutReplacement:
    """A Gaussian on a batch of fixed size drawn without replacement; `probability` = batch size / number of records."""

    mechanism: Gaussian
    probability: Fraction

    def __init__(self, mechanism: Gaussian, probability: Number) -> None:
        _check_gaussian(mechanism)
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "probability", exact.probability(probability, "probability"))


@dataclass(frozen=True)
class WithReplacement:
    """A Gaussian on `draws` records drawn with replacement from `population` records; a record may enter repeatedly."""

    mechanism: Gaussian
    draws: int
    population: int

    def __init__(self, mechanism: Gaussian, draws: Number, population: Number) -> None:
        _check_gaussian(mechanism)
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "draws", read_draws(draws))
        object.__setattr__(self, "population", exact.count(population, "population"))

    def multiplicities(self, group_size: int = 1) -> tuple[Fraction, ...]:
        """The probabilities that records of a group are drawn 0, 1, ..., draws times together."""
        return binomial_weights(self.draws, Fraction(group_size, self.population))


def binomial_weights(trials: int, probability: Fraction) -> tuple[Fraction, ...]:
    """P(Bin(trials, probability) = n) for n = 0..trials.

    >>> binomial_weights(2, Fraction(1, 2))
    (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    """
    rest = 1 - probability
    return tuple(comb(trials, n) * probability**n * rest ** (trials - n) for n in range(trials + 1))


MAX_DRAWS = 512
"""More draws, or records of a group on a sample, would take too long: every one adds a component to the mixture."""


def read_draws(value: object, key: str = "draws") -> int:
    """The value as an integer from 1 to MAX_DRAWS."""
    number = exact.count(value, key)
    if number > MAX_DRAWS:
        raise InvalidInput(key, value, f"an integer from 1 to {MAX_DRAWS}")
    return number


Sampled = PoissonSampled | WithoutReplacement | WithReplacement

SCHEMES: Mapping[str, tuple[Callable[..., Sampled], Mapping[str, Callable[..., object]]]] = {
    "poisson": (PoissonSampled, {"probability": exact.probability}),
    "without-replacement": (WithoutReplacement, {"probability": exact.probability}),
    "with-replacement": (WithReplacement, {"draws": read_draws, "population": exact.count}),
}
"""scheme -> (class, its numbers and how to read them)."""


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
    """Mechanisms run on the same data, each `count` times; `compose` builds one conveniently."""

    parts: tuple[tuple[Mechanism, int], ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidInput("parts", None, "at least one mechanism")
        object.__setattr__(self, "parts", tuple((_mechanism(m), exact.count(k)) for m, k in self.parts))
        if len({_size_of(mechanism) for mechanism, _ in self.parts}) > 1:
            raise InvalidInput("group_size", None, "one for the whole composition: neighbours are the same throughout")

    @property
    def group_size(self) -> int:
        """In how many records neighbours differ; 1 unless `for_groups` says more."""
        return _size_of(self.parts[0][0])

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
        """The classes of the sampling schemes in use."""
        inner = (m.mechanism if isinstance(m, Grouped) else m for m, _ in self.parts)
        return {type(mechanism) for mechanism in inner if isinstance(mechanism, Sampled)}

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact.non_negative(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", exact.open_unit(self.delta, "delta"))


@dataclass(frozen=True)
class Spec:
    """What a specification file states; `claim` is None where it states none."""

    relation: Relation
    composition: Composition
    claim: Claim | None = None


def convention(composition: Composition, relation: Relation) -> str:
    """Words on what noise and sensitivities are relative to, printed with every result: libraries disagree on it."""
    bare, schemes = list(composition.bare()), composition.schemes()
    gaussians = [mechanism for mechanism in bare if isinstance(mechanism, Gaussian)]
    releases = dict.fromkeys(mechanism.convention for mechanism in bare if isinstance(mechanism, Release))
    texts = []
    if composition.group_size > 1:
        texts.append(f"group_size {composition.group_size}: {_GROUPS[relation]}; {_FOR_ONE}")
    if any(gaussian.noise_multiplier is not None for gaussian in gaussians):
        texts.append(f"{_MULTIPLIER}; {_per_record(composition, relation)}")
    elif releases and composition.group_size == 1:
        texts.append(_NEIGHBOURS[relation].partition(":")[0])
    texts += [words for kind, words in _SCHEMES.items() if kind in schemes]
    if any(gaussian.sigma is not None for gaussian in gaussians):
        texts.append(f"with sigma, sensitivity is the query's L2 sensitivity under {relation} itself")
    if releases and PoissonSampled in schemes:
        texts.append(_ON_SAMPLES[relation is Relation.REPLACE])
    return "; ".join([*texts, *releases])


def _per_record(composition: Composition, relation: Relation) -> str:
    if composition.group_size == 1:
        return _NEIGHBOURS[relation]
    norms = "two such norms" if relation is Relation.REPLACE else "one such norm"
    return f"each record of the group moves the means by up to {norms}"


_ON_SAMPLES = (
    "on a Poisson sample, stated sensitivities and guarantees compare a batch with the record and without it",
    "on a Poisson sample, stated sensitivities compare a batch with the record and without it: two records that "
    "replace each other may differ by twice that",
)
_FOR_ONE = "norms, sensitivities and guarantees are stated for one record"
_GROUPS = {
    Relation.ADD_OR_REMOVE: "up to that many records are added, or removed, all together (the worse of the two orders)",
    Relation.ADD: "up to that many records are added",
    Relation.REMOVE: "up to that many records are removed",
    Relation.ZERO_OUT: "up to that many records are replaced by ones that contribute zero",
    Relation.REPLACE: "up to that many records are replaced by others",
}


_SCHEMES: dict[type, str] = {
    PoissonSampled: "Poisson sampling: records enter each batch independently, batches are not revealed",
    WithoutReplacement: "sampling without replacement: batches have a fixed size and are not revealed",
    WithReplacement: "sampling with replacement: each draw is uniform and independent, draws are not revealed",
}


_MULTIPLIER = "noise_multiplier = sigma / largest L2 norm of one record's contribution"
_ONE_NORM = "the means of the noise with and without the record differ by one such norm"
_NEIGHBOURS = {
    Relation.ADD_OR_REMOVE: f"one record is added or removed (the worse of the two orders): {_ONE_NORM}",
    Relation.ADD: f"one record is added: {_ONE_NORM}",
    Relation.REMOVE: f"one record is removed: {_ONE_NORM}",
    Relation.ZERO_OUT: f"one record is replaced by one that contributes zero: {_ONE_NORM}",
    Relation.REPLACE: "one record is replaced by another, both contribute: means differ by two such norms",
}
"""Up to the colon: who neighbours are."""


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


def _check_sampled(mechanism: object) -> None:
    """A Gaussian in its first form, a release that a theorem lets run on samples, or a composition of such."""
    if isinstance(mechanism, Composition):
        for part, _ in mechanism.parts:
            if not isinstance(part, Gaussian | Release):
                raise InvalidInput("mechanism", part, "a mechanism without sampling of its own inside of a sample")
            _check_sampled(part)
    elif isinstance(mechanism, Release):
        if mechanism.not_sampled:
            raise Unsupported(f"{mechanism.kind} on a Poisson sample: {mechanism.not_sampled}", "sampling")
    elif not isinstance(mechanism, Gaussian):
        raise InvalidInput("mechanism", mechanism, "a Gaussian, another release, or a composition of such")
    elif mechanism.sigma is not None:
        raise InvalidInput("sigma", mechanism.sigma, "replaced by noise_multiplier under sampling")


def _check_gaussian(mechanism: object) -> None:
    if isinstance(mechanism, Release | Composition):
        name = mechanism.kind if isinstance(mechanism, Release) else "a composition"
        raise Unsupported(f"{name} on batches of fixed size: a theorem covers the Gaussian only", "sampling")
    if not isinstance(mechanism, Gaussian):
        raise InvalidInput("mechanism", mechanism, "a Gaussian")
    _check_sampled(mechanism)


def _pairs(part: object) -> Iterator[tuple[Mechanism, int]]:
    """The (mechanism, count) pairs of one argument of `compose`."""
    if isinstance(part, Composition):
        yield from part.parts
    elif isinstance(part, tuple) and len(part) == 2:
        yield _mechanism(part[0]), exact.count(part[1])
    else:
        yield _mechanism(part), 1
