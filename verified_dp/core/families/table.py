"""Which family each kind of mechanism and each sampling scheme belongs to: loaded when one of them is named.

A family is a folder: `mechanism.py` (what is stated, and in which words), `pair.py` (its dominating pairs; in
`variants.py` those on samples and for groups, where these are many), its laws.
Nothing that a document says is ever imported by its name: the tables are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import singledispatch, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from verified_dp.core.kernel.composition import Sampled
    from verified_dp.core.kernel.mechanisms import Release

_Loaded = TypeVar("_Loaded")
_FAMILIES = "verified_dp.core.families."


class Lazy(Mapping[str, _Loaded], Generic[_Loaded]):
    """name -> what stands in a family, of which only the file is known until it is asked for."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, name: str) -> _Loaded:
        family, found = self._homes[name].split(":")
        loaded: _Loaded = getattr(import_module(f"{_FAMILIES}{family}.mechanism"), found)
        return loaded

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


ALL_RELEASES: Mapping[str, type[Release]] = Lazy({
    "laplace": "laplace:Laplace",
    "discrete-laplace": "discrete:DiscreteLaplace",
    "discrete-gaussian": "discrete:DiscreteGaussian",
    "randomized-response": "finite:RandomizedResponse",
    "finite": "finite:Finite",
    "approximate-dp": "finite:ApproximateDP",
    "gaussian-dp": "gaussian:GaussianDP",
    "mixture-of-gaussians": "gaussian:MixtureOfGaussians",
    "exponential": "laplace:Exponential",
    "zcdp": "guarantees:ZCDP",
    "renyi": "guarantees:Renyi",
    "laplace-vector": "laplace:LaplaceVector",
    "discrete-laplace-vector": "discrete:DiscreteLaplaceVector",
    "discrete-gaussian-vector": "discrete:DiscreteGaussianVector",
    "tree-aggregation": "gaussian:TreeAggregation",
    "matrix-gaussian": "gaussian:MatrixGaussian",
    "shuffled-local": "clones:ShuffledLocal",
    "noisy-max": "selection:NoisyMax",
    "sparse-vector": "selection:SparseVector",
    "partition-selection": "selection:PartitionSelection",
    "gnmax": "votes:GNMax",
    "gnmax-votes": "votes:GNMaxVotes",
})
"""kind -> class."""

SCHEMES: Mapping[str, type[Sampled]] = Lazy({
    "poisson": "sampling:PoissonSampled",
    "without-replacement": "batches:WithoutReplacement",
    "with-replacement": "batches:WithReplacement",
    "random-allocation": "allocation:RandomAllocation",
    "cyclic-poisson": "sampling:CyclicPoisson",
    "truncated-poisson": "batches:TruncatedPoisson",
    "shuffled": "batches:Shuffled",
    "poisson-runs": "selection:PoissonRuns",
    "negative-binomial-runs": "selection:NegativeBinomialRuns",
})
"""scheme -> class; its `readers` are its numbers and how to read them."""


VARIANTS = frozenset({"discrete", "guarantees", "laplace", "sampling"})
"""Families whose pairs on samples and for groups have a file of their own."""


def load_pairs(kind: type, file: str) -> None:
    """Load the dominating pairs of the family that a class of mechanisms stands in."""
    home, _, place = kind.__module__.rpartition(".")
    family = "groups" if kind.__name__ == "Grouped" else home.removeprefix(_FAMILIES)
    if family == "groups" or (place == "mechanism" and family != home):
        import_module(f"{_FAMILIES}{family}.pair")
        if file != "pair" and family in VARIANTS:
            import_module(f"{_FAMILIES}{family}.{file}")


def by_family(function: Callable[..., _Loaded], file: str = "pair") -> Any:
    """`functools.singledispatch` on a mechanism, whose family registers what it knows when it is first asked."""
    found = singledispatch(function)

    @wraps(function)
    def call(mechanism: object, *others: Any) -> _Loaded:
        load_pairs(type(mechanism), file)
        return found(mechanism, *others)

    call.register = found.register  # type: ignore[attr-defined]
    return call


def for_variants(function: Callable[..., _Loaded]) -> Any:
    """The same of what a family knows on samples and for groups."""
    return by_family(function, "variants")
