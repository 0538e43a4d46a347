"""What was run, read from `claim` and `input` (CERTIFICATE.md, "The input"), in canonical form only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from .document import Document, Invalid, TooMuch, check_keys, read_claimed, read_fraction

RELATIONS = ("add-or-remove", "add", "remove", "zero-out", "replace")
MAX_COUNT = 10**12
MAX_OUTCOMES = 4096
MAX_DRAWS = 512
MAX_POPULATION = 10**9
MAX_INPUT_TEXT = 500_000
MAX_TERMS = 2 * 10**6

Value = Fraction | int | tuple[Fraction, ...]


@dataclass(frozen=True)
class Claim:
    """The stated (epsilon, delta), and the unit of epsilon's last printed digit (None: a ratio)."""

    epsilon: Fraction
    unit: Fraction | None
    delta: Fraction


@dataclass(frozen=True)
class Sampling:
    """poisson and without-replacement: a probability; with-replacement: draws from a population.

    truncated-poisson: a probability, a population, the largest batch. cyclic-poisson: a probability, groups that take
    turns in so many rounds; random-allocation: picks of the rounds; shuffled: the rounds of an epoch.
    poisson-runs, negative-binomial-runs (a shape): the mean of the number of runs of which the best is selected.
    """

    scheme: str
    probability: Fraction = Fraction(0)
    draws: int = 0
    population: int = 0
    rounds: int = 0
    groups: int = 0
    largest_batch: int = 0
    picks: int = 0
    fixed: bool = False
    mean: Fraction = Fraction(0)
    shape: Fraction | None = None


@dataclass(frozen=True)
class Mechanism:
    """One step: its kind with the numbers stated, on a sample or not, the best of several runs or not.

    releases: those of the kind composition.
    """

    kind: str
    values: tuple[tuple[str, Value], ...]
    sampling: Sampling | None = None
    releases: tuple[tuple[Mechanism, int], ...] = ()
    selection: Sampling | None = None

    def inside(self) -> Iterator[Mechanism]:
        """It, and all that it is composed of."""
        yield self
        for release, _ in self.releases:
            yield from release.inside()

    def get(self, key: str) -> Any:
        return dict(self.values).get(key)

    def number(self, key: str) -> Fraction:
        return Fraction(self.get(key))

    def times(self) -> int:
        """In how many of the rounds of a matrix a record may be: as many as fit, or as are stated."""
        fit = -(-self.get("rounds") // (self.get("separation") or 1))
        return int(fit if self.get("participations") is None else sorted((fit, self.get("participations")))[0])


@dataclass(frozen=True)
class Input:
    """The steps with counts, who neighbours are, and in how many records they differ."""

    relation: str
    group_size: int
    steps: tuple[tuple[Mechanism, int], ...]

    def bare(self) -> Iterator[Mechanism]:
        """Every mechanism that adds noise, those of compositions on a sample too."""
        return (part for step, _ in self.steps for part in step.inside() if not part.releases)

    def schemes(self) -> set[str]:
        return {scheme.scheme for step, _ in self.steps for part in step.inside()
                for scheme in (part.sampling, part.selection) if scheme}


def merged(parts: tuple[tuple[Mechanism, int], ...]) -> tuple[tuple[Mechanism, int], ...]:
    """Equal mechanisms together, in order of first appearance."""
    counts: dict[Mechanism, int] = {}
    for step, count in parts:
        counts[step] = counts.get(step, 0) + count
    return tuple(counts.items())


def read_claim(table: Any) -> Claim:
    check_keys(table, ("title", "source", "epsilon", "delta"), "claim")
    for key in ("title", "source"):
        if type(table[key]) is not str:
            raise Invalid(f"claim.{key}", "must be text")
    epsilon, unit = read_claimed(table["epsilon"], "claim.epsilon")
    delta, _ = read_claimed(table["delta"], "claim.delta")
    if epsilon < 0:
        raise Invalid("claim.epsilon", "must be at least 0")
    if not 0 <= delta < 1:
        raise Invalid("claim.delta", "must be in [0, 1)")
    return Claim(epsilon, unit, delta)


def read_input(table: Any) -> Input:
    keys = ("relation", "mechanisms", *(("group_size",) if type(table) is dict and "group_size" in table else ()))
    check_keys(table, keys, "input")
    if table["relation"] not in RELATIONS:
        raise Invalid("input.relation", "must be one of " + ", ".join(RELATIONS))
    size = _count(table["group_size"], "input.group_size") if len(keys) > 2 else 1
    if len(keys) > 2 and size < 2:
        raise Invalid("input.group_size", "is stated only where it is more than 1")
    steps = _steps(table["mechanisms"], "input.mechanisms")
    if size > 1 and not steps:
        raise Invalid("input.group_size", "is not stated where nothing is released")
    return Input(table["relation"], size, steps)


def _steps(entries: Any, path: str) -> tuple[tuple[Mechanism, int], ...]:
    if type(entries) is not list:
        raise Invalid(path, "must be a list of mechanisms")
    if _text_size(entries) > MAX_INPUT_TEXT:
        raise Invalid(path, f"more than {MAX_INPUT_TEXT} characters of numbers")
    return tuple(_step(entry, f"{path}[{i}]") for i, entry in enumerate(entries))


def _text_size(value: Any) -> int:
    """Characters of all texts inside, keys left out."""
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_text_size, inner))


def _step(entry: Any, path: str) -> tuple[Mechanism, int]:
    kind = entry.get("kind") if type(entry) is dict else None
    if type(kind) is not str or kind not in (*KINDS, "composition"):
        raise Invalid(f"{path}.kind", "not a kind for which anything can be certified")
    stated = tuple(key for key in ("sampling", "selection") if key in entry)
    form = ("releases",) if kind == "composition" else _form(kind, entry)
    check_keys(entry, ("kind", "count", *form, *stated), path)
    count = _count(entry["count"], f"{path}.count")
    if kind == "composition":
        step = Mechanism(kind, (), releases=_steps(entry["releases"], f"{path}.releases"))
        if not stated or not step.releases:
            raise Invalid(path, "must be of one sample, or selected, and of some release")
    else:
        step = Mechanism(kind, tuple((key, KINDS[kind][key](entry[key], f"{path}.{key}")) for key in form))
        _check_step(step, path)
    if "sampling" in stated:
        for part, _ in step.releases or ((step, 1),):
            _check_sampled(part, path)
        schemes = tuple(_SCHEMES) if kind == "gaussian" else ("poisson",)
        step = replace(step, sampling=_sampling(entry["sampling"], f"{path}.sampling", schemes))
    if "selection" in stated:
        if any(part.selection or (part.sampling and part.sampling.scheme != "poisson") for part in step.inside()):
            raise Invalid(path, "no theorem is about the best of such runs")
        step = replace(step, selection=_sampling(entry["selection"], f"{path}.selection", tuple(_RUNS)))
    return step, count


def _form(kind: str, entry: Document) -> tuple[str, ...]:
    if kind == "gaussian":
        return ("sigma", "sensitivity") if "sigma" in entry else ("noise_multiplier",)
    if kind == "randomized-response":
        return "categories", "epsilon" if "epsilon" in entry else "noise_probability"
    if kind == "shuffled-local":
        return "users", "odds" if "odds" in entry else "epsilon0"
    return tuple(key for key in KINDS[kind] if key in entry or (kind, key) not in OPTIONAL)


def _check_step(step: Mechanism, path: str) -> None:
    """What several numbers have to satisfy together."""
    lists = {"finite": ("P", "Q"), "mixture-of-gaussians": ("sensitivities", "probabilities"),
             "renyi": ("renyi_orders", "epsilons")}.get(step.kind)
    if lists:
        first, second = (step.get(key) for key in lists)
        if len(first) != len(second):
            raise Invalid(f"{path}.{lists[1]}", f"must have {len(first)} entries")
    if step.kind == "mixture-of-gaussians":
        norms = step.get("sensitivities")
        if list(norms) != sorted(set(norms)) or 0 in step.get("probabilities"):
            raise Invalid(f"{path}.sensitivities", "not in canonical form")
    if step.kind == "renyi" and not all(order > 1 for order in step.get("renyi_orders")):
        raise Invalid(f"{path}.renyi_orders", "must be above 1")
    if step.kind == "sparse-vector" and (step.get("threshold_scale") is None) == (step.get("threshold_sigma") is None):
        raise Invalid(path, "must have threshold_scale or threshold_sigma")
    if step.kind == "partition-selection" and (step.get("sigma") is None) == (step.get("scale") is None):
        raise Invalid(path, "must have sigma or scale")
    if step.kind == "gnmax-votes" and (step.get("threshold") is None) != (step.get("threshold_sigma") is None):
        raise Invalid(path, "must have threshold and threshold_sigma, or none")
    if step.kind == "gnmax-votes" and len(step.get("votes")) < 2:
        raise Invalid(f"{path}.votes", "must be the counts of at least 2 classes")
    if step.kind == "matrix-gaussian":
        column, terms = step.get("column"), step.times() * min(len(step.get("column")), step.get("rounds"))
        if not column[0] or any(later > earlier for earlier, later in pairwise(column)) or terms > MAX_TERMS:
            raise Invalid(f"{path}.column", "must be positive first and not rise, and not too long for so many rounds")
        if step.get("separation") == 1:
            raise Invalid(f"{path}.separation", "is stated only where it is more than 1")


def _check_sampled(step: Mechanism, path: str) -> None:
    if step.kind == "zcdp" and not step.sampling:
        raise TooMuch(f"{path}: zcdp on a sample (T217) is not covered here")
    if step.sampling or step.kind not in SAMPLED or (step.kind == "gaussian" and step.get("sigma") is not None):
        raise Invalid(path, "may not run on a sample")


def _sampling(table: Any, path: str, schemes: tuple[str, ...]) -> Sampling:
    scheme = table.get("scheme") if type(table) is dict else None
    if scheme not in schemes:
        raise Invalid(f"{path}.scheme", "must be one of " + ", ".join(schemes))
    readers = {**_SCHEMES, **_RUNS}[scheme]
    check_keys(table, ("scheme", *readers), path)
    found = Sampling(scheme, **{key: read(table[key], f"{path}.{key}") for key, read in readers.items()})
    if found.picks > found.rounds:
        raise Invalid(f"{path}.picks", "must be at most rounds")
    if found.shape is not None and found.mean <= 1:
        raise Invalid(f"{path}.mean", "must be above 1")
    return found


# ---------- the numbers of each kind ----------


def _count(value: Any, path: str, most: int = MAX_COUNT) -> int:
    if type(value) is not int or not 1 <= value <= most:
        raise Invalid(path, f"must be an integer from 1 to {most}")
    return value


_small, _population, _rounds, _draws = (partial(_count, most=most) for most in (
    MAX_OUTCOMES, MAX_POPULATION, 10**5, MAX_DRAWS))


def _several(value: Any, path: str) -> int:
    if _count(value, path) < 2:
        raise Invalid(path, "must be at least 2, or left out where it may be")
    return int(value)


def _number(accepts: Callable[[Fraction], bool], domain: str) -> Callable[[Any, str], Fraction]:
    def read(value: Any, path: str) -> Fraction:
        number = read_fraction(value, path)
        if not accepts(number):
            raise Invalid(path, f"must be {domain}")
        return number
    return read


_positive = _number(lambda x: x > 0, "positive")
_non_negative = _number(lambda x: x >= 0, "at least 0")
_probability = _number(lambda x: 0 <= x <= 1, "in [0, 1]")
_at_least_one = _number(lambda x: x >= 1, "at least 1")
_below_one = _number(lambda x: 0 <= x < 1, "in [0, 1)")


def _list(values: Any, path: str) -> tuple[Fraction, ...]:
    if type(values) is not list or not 1 <= len(values) <= MAX_OUTCOMES:
        raise Invalid(path, f"must be a list of 1 to {MAX_OUTCOMES} numbers")
    return tuple(_non_negative(value, f"{path}[{i}]") for i, value in enumerate(values))


def _distribution(values: Any, path: str) -> tuple[Fraction, ...]:
    numbers = _list(values, path)
    if sum(numbers) != 1:
        raise Invalid(path, "must sum to 1")
    return numbers


def _flag(value: Any, path: str) -> bool:
    if type(value) is not bool:
        raise Invalid(path, "must be true or false")
    return value


def _true(value: Any, path: str) -> bool:
    if value is not True:
        raise Invalid(path, "is stated only where it is true")
    return True


_SCHEMES: dict[str, dict[str, Callable[[Any, str], Any]]] = {
    "poisson": {"probability": _probability},
    "without-replacement": {"probability": _probability},
    "with-replacement": {"draws": _draws, "population": _count},
    "random-allocation": {"rounds": _count, "picks": _count, "fixed": _flag},
    "cyclic-poisson": {"groups": _count, "probability": _probability, "rounds": _count},
    "truncated-poisson": {"probability": _probability, "population": _population, "largest_batch": _count},
    "shuffled": {"rounds": _count},
}
_RUNS: dict[str, dict[str, Callable[[Any, str], Any]]] = {
    "poisson-runs": {"mean": _positive},
    "negative-binomial-runs": {"mean": _positive, "shape": _non_negative},
}
KINDS: dict[str, dict[str, Callable[[Any, str], Value]]] = {
    "gaussian": {"noise_multiplier": _positive, "sigma": _positive, "sensitivity": _positive},
    "laplace": {"scale": _positive, "sensitivity": _positive},
    "discrete-laplace": {"scale": _positive, "sensitivity": _small},
    "discrete-gaussian": {"sigma_squared": _positive, "sensitivity": _small},
    "randomized-response": {"categories": _several, "noise_probability": _probability, "epsilon": _positive},
    "finite": {"P": _distribution, "Q": _distribution},
    "approximate-dp": {"epsilon": _non_negative, "delta": _below_one},
    "gaussian-dp": {"mu": _positive},
    "mixture-of-gaussians": {"sigma": _positive, "sensitivities": _list, "probabilities": _distribution},
    "exponential": {"bounded_range": _positive},
    "zcdp": {"rho": _non_negative, "xi": _positive},
    "renyi": {"renyi_orders": _list, "epsilons": _list},
    "laplace-vector": {"scale": _positive, "sensitivity": _positive},
    "discrete-laplace-vector": {"scale": _positive, "sensitivity": _small},
    "discrete-gaussian-vector": {"sigma_squared": _positive, "sensitivity": _positive},
    "tree-aggregation": {"noise_multiplier": _positive, "steps": _count},
    "matrix-gaussian": {"noise_multiplier": _positive, "column": _list, "rounds": _rounds, "separation": _count,
                        "participations": _count},
    "shuffled-local": {"users": _population, "epsilon0": _non_negative, "odds": _at_least_one},
    "noisy-max": {"scale": _positive, "sensitivity": _positive, "monotone": _true, "selected": _several},
    "sparse-vector": {"threshold_scale": _positive, "query_scale": _positive, "answers": _count,
                      "sensitivity": _positive, "monotone": _true, "threshold_sigma": _positive},
    "partition-selection": {"threshold": _non_negative, "partitions": _count, "sigma": _positive, "scale": _positive},
    "gnmax": {"sigma": _positive, "threshold_sigma": _positive},
    "gnmax-votes": {"sigma": _positive, "votes": _list, "threshold": _non_negative, "threshold_sigma": _positive},
}
OPTIONAL = (*((kind, key) for kind in ("noisy-max", "sparse-vector")
              for key in ("monotone", "selected", "threshold_scale", "threshold_sigma")), ("zcdp", "xi"),
            *(("partition-selection", key) for key in ("sigma", "scale")), ("gnmax", "threshold_sigma"),
            ("gnmax-votes", "threshold"), ("gnmax-votes", "threshold_sigma"),
            ("matrix-gaussian", "separation"), ("matrix-gaussian", "participations"))
SAMPLED = ("gaussian", "laplace", "discrete-laplace", "discrete-gaussian", "finite", "approximate-dp", "gaussian-dp",
           "mixture-of-gaussians", "exponential", "laplace-vector", "discrete-laplace-vector")
"""What may run on a Poisson sample (the Gaussian with its noise_multiplier)."""
