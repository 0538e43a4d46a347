"""From what was run to the relation's dominating pairs, each with its theorem, and to their privacy losses."""

from dataclasses import dataclass
from fractions import Fraction

from verified_dp.errors import Unsupported
from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.mechanisms import Composition, Gaussian, Mechanism, PoissonSampled, Relation
from verified_dp.theorems import proved_by

ORDERS = {
    Relation.ADD_OR_REMOVE: ("remove", "add"),
    Relation.ZERO_OUT: ("remove", "add"),
    Relation.REMOVE: ("remove",),
    Relation.ADD: ("add",),
    Relation.REPLACE: ("symmetric",),
}
"""The orders in which a relation's pair is composed; where there are two, the larger delta is the answer (T25)."""


@dataclass(frozen=True)
class DominatingPair:
    """One step's pair in one order, in words, its theorems, and whether data sets of the relation realise it."""

    order: str
    P: str
    Q: str
    theorems: tuple[str, ...]
    tight: bool


def describe_pairs(composition: Composition, relation: Relation) -> tuple[DominatingPair, ...]:
    """The pair of every step in every order of the relation, without repetitions."""
    pairs = [_describe(mechanism, order, relation) for order in ORDERS[relation] for mechanism, _ in composition.parts]
    return tuple(dict.fromkeys(pairs))


@proved_by("T21-pair-poisson", "T22-pair-poisson-replace", "T23-pair-gaussian", "T24-pair-zero-out")
def _describe(mechanism: Mechanism, order: str, relation: Relation) -> DominatingPair:
    extra = ("T24-pair-zero-out",) if relation is Relation.ZERO_OUT else ()
    if isinstance(mechanism, Gaussian):
        shift = mechanism.mean_distance(relation)
        return DominatingPair(order, f"N({shift}, 1)", "N(0, 1)", ("T23-pair-gaussian", *extra), True)
    if not isinstance(mechanism, PoissonSampled):
        raise Unsupported(f"no dominating pair is proven for {type(mechanism).__name__}")
    s, q = mechanism.mechanism.noise_multiplier, mechanism.probability
    mixed, plain = f"{1 - q} N(0, ({s})^2) + {q} N(1, ({s})^2)", f"N(0, ({s})^2)"
    if order == "symmetric":
        mirrored = f"{1 - q} N(0, ({s})^2) + {q} N(-1, ({s})^2)"
        return DominatingPair(order, mixed, mirrored, ("T22-pair-poisson-replace",), True)
    P, Q = (mixed, plain) if order == "remove" else (plain, mixed)
    return DominatingPair(order, P, Q, ("T21-pair-poisson", *extra), True)


@proved_by("T25-composition")
def privacy_losses(composition: Composition, relation: Relation) -> tuple[ComposedLoss, ...]:
    """The loss of the whole composition in each order of the relation."""
    return tuple(_compose(composition, relation, order) for order in ORDERS[relation])


def _compose(composition: Composition, relation: Relation, order: str) -> ComposedLoss:
    """q = 0 adds nothing, q = 1 is the plain Gaussian (T07); plain Gaussians merge into one (T15).

    Equal laws share a count, so that equal steps are one step with a count.
    """
    laws: dict[SampledGaussianLoss, int] = {}
    shift_squared = Fraction(0)
    for mechanism, count in composition.merged():
        probability, gaussian = _parts(mechanism)
        if probability == 1:
            shift_squared += count * gaussian.mean_distance(relation) ** 2
        elif probability > 0:
            law = SampledGaussianLoss(probability, _multiplier(gaussian), order)
            laws[law] = laws.get(law, 0) + count
    return ComposedLoss(order, tuple(sorted(laws.items(), key=_sort_key)), shift_squared)


def _parts(mechanism: Mechanism) -> tuple[Fraction, Gaussian]:
    """A mechanism as (sampling probability, Gaussian)."""
    if isinstance(mechanism, PoissonSampled):
        return mechanism.probability, mechanism.mechanism
    return Fraction(1), mechanism


def _multiplier(gaussian: Gaussian) -> Fraction:
    if gaussian.noise_multiplier is None:
        raise Unsupported("a sampled Gaussian needs its noise_multiplier")
    return gaussian.noise_multiplier


def _sort_key(item: tuple[SampledGaussianLoss, int]) -> tuple[Fraction, Fraction]:
    law, _ = item
    return law.sampling_probability, law.noise_multiplier
