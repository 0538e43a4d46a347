"""Dominating pairs of selections: pure guarantees of noisy maxima and sparse vectors, noisy counts beside new keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.families.finite.mechanism import ApproximateDP
from verified_dp.core.families.guarantees.mechanism import ZCDP
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.selection.mechanism import (
    NegativeBinomialRuns,
    NoisyMax,
    PartitionSelection,
    PoissonRuns,
    SparseVector,
)
from verified_dp.core.families.selection.repeated import SelectedLoss
from verified_dp.core.kernel.balls import ball, normal_tail, upper_dyadic
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Relation, compose
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.law import SWAPPED
from verified_dp.core.kernel.losses import compose_steps
from verified_dp.core.kernel.steps import DominatingPair, Step, expanded, pair_in_order, refuse, step_of, with_theorem
from verified_dp.core.kernel.theorems import proved_by

_MORE, _BITS = 128, 64
"""Bits in which the probability of a new partition is computed, and those that are kept of it, rounded up."""
_LEAST = Dyadic(1, -4096)
"""No smaller probability is told apart from this: its fraction would be long."""


@step_of.register
@proved_by("T210-noisy-max", "T215-top-k")
def _noisy_max(mechanism: NoisyMax, order: str, relation: Relation) -> Step:
    theorem = "T210-noisy-max" if mechanism.selected is None else "T215-top-k"
    return with_theorem(step_of(ApproximateDP(mechanism.epsilon, 0), order, relation), theorem)


@step_of.register
@proved_by("T211-sparse-vector", "T216-gaussian-threshold")
def _sparse_vector(mechanism: SparseVector, order: str, relation: Relation) -> Step:
    if mechanism.threshold_sigma is not None:
        rho = (mechanism.sensitivity / mechanism.threshold_sigma) ** 2 / 2
        return with_theorem(step_of(ZCDP(rho, mechanism.epsilon), order, relation), "T216-gaussian-threshold")
    return with_theorem(step_of(ApproximateDP(mechanism.epsilon, 0), order, relation), "T211-sparse-vector")


@dataclass(frozen=True)
class KnownCounts:
    """The noisy counts of partitions that other records are in, too."""

    mechanism: PartitionSelection


@dataclass(frozen=True)
class NewPartitions:
    """Whether a partition is released that no other record is in."""

    mechanism: PartitionSelection


@expanded.register
@proved_by("T212-partition-selection")
def _parts(mechanism: PartitionSelection, count: int) -> Iterator[tuple[KnownCounts | NewPartitions, int]]:
    """The counts that neighbours share, and what is new."""
    yield KnownCounts(mechanism), count
    yield NewPartitions(mechanism), count


@step_of.register
@proved_by("T212-partition-selection")
def _known_counts(part: KnownCounts, order: str, relation: Relation) -> Step:
    """As many counts as one record may be in, each moved by 1."""
    mechanism = part.mechanism
    if relation not in (Relation.ADD_OR_REMOVE, Relation.ADD, Relation.REMOVE):
        refuse("partition-selection", relation, "its theorem is about one record more or less; use add-or-remove")
    k, word = mechanism.partitions, "coordinates" if mechanism.partitions > 1 else "coordinate"
    if mechanism.sigma is not None:
        pair = pair_in_order(order, f"N(1, ({shown(mechanism.sigma)})^2), {k} {word}",
                             f"N(0, ({shown(mechanism.sigma)})^2), {k} {word}", "T212-partition-selection", tight=False)
        return Step(pair, shift_squared=k / mechanism.sigma**2)
    ratio = 1 / Fraction(mechanism.scale or 1)  # stated in this form
    pair = pair_in_order(order, f"Laplace({shown(ratio)}, 1), {k} {word}", f"Laplace(0, 1), {k} {word}",
                         "T212-partition-selection", tight=False)
    return Step(pair, LaplaceLoss(ratio), copies=k)


@step_of.register
@proved_by("T212-partition-selection")
def _new_partitions(part: NewPartitions, order: str, relation: Relation) -> Step:
    """With the record one of its own partitions is released with probability at most d, without it never."""
    d = bound_new(part.mechanism)
    pair = pair_in_order(order, f"(1 - d, d), d = {shown(d)}", "(1, 0)", "T212-partition-selection", tight=False)
    return Step(pair, FiniteLoss(((1 - d, Fraction(1)), (d, Fraction(0))), "remove").in_order(order))


@proved_by("T212-partition-selection")
def bound_new(mechanism: PartitionSelection) -> Fraction:
    """Bound 1 - (1 - P(1 + noise > threshold))^partitions by a rational number from 2^-4096 to 1 of few bits.

    Raises Unsupported where it is no number below 1.
    """
    with ctx.workprec(_MORE):
        kept = (-_bound_released(mechanism)).log1p()
        chance = -(mechanism.partitions * kept).expm1()
    with ctx.workprec(_BITS):
        bound = upper_dyadic(+chance)
    if bound.is_infinite or not bound < 1:
        refuse("partition-selection", Relation.ADD_OR_REMOVE,
               "a partition of one record is released almost surely; raise the threshold")
    return max(bound, _LEAST).as_fraction()  # exact: dyadic numbers


@proved_by("T212-partition-selection")
def _bound_released(mechanism: PartitionSelection) -> arb:
    """Enclose P(1 + noise > threshold)."""
    excess = mechanism.threshold - 1
    if mechanism.sigma is not None:
        return normal_tail(ball(excess / mechanism.sigma))
    tail = (-ball(abs(excess) / Fraction(mechanism.scale or 1))).exp() / 2
    return tail if excess >= 0 else 1 - tail


@step_of.register
@proved_by("T213-private-selection")
def _poisson_runs(mechanism: PoissonRuns, order: str, relation: Relation) -> Step:
    return _selected(mechanism, order, relation, f"K Poisson of mean {shown(mechanism.mean)}", None)


@step_of.register
@proved_by("T213-private-selection")
def _negative_binomial_runs(mechanism: NegativeBinomialRuns, order: str, relation: Relation) -> Step:
    words = f"K truncated negative binomial of mean {shown(mechanism.mean)} and shape {shown(mechanism.shape)}"
    return _selected(mechanism, order, relation, words, mechanism.shape)


@proved_by("T213-private-selection", "T25-composition")
def _selected(mechanism: PoissonRuns | NegativeBinomialRuns, order: str, relation: Relation, words: str,
              shape: Fraction | None) -> Step:
    """Bounds on moments alone, from one run in both directions; nothing where one run reveals nothing."""
    both = Relation.ADD_OR_REMOVE if relation in (Relation.ADD, Relation.REMOVE) else relation
    run = compose(mechanism.mechanism)
    one, other = (_one_run(run, side, both) for side in (order, SWAPPED[order]))
    pair = DominatingPair(order, f"the best of K runs, {words}", "the same without the record, or the other way",
                          ("T213-private-selection",), False)
    return Step(pair, SelectedLoss(one, other, mechanism.mean, shape) if one.laws or other.laws else None)


@proved_by("T213-private-selection", "T25-composition")
def _one_run(run: Composition, order: str, relation: Relation) -> ComposedLoss:
    """The loss of one run, whose moments are finite. Raises Unsupported where they are not."""
    steps = [(step_of(part, order, relation), times) for mechanism, count in run.merged()
             for part, times in expanded(mechanism, count)]
    loss = compose_steps(order, steps)
    if type(loss) is not ComposedLoss or not loss.enclose_infinity_mass().is_zero():
        raise Unsupported("a run with a positive delta at every epsilon inside of a selection: its Renyi divergences "
                          "are infinite, and no theorem is implemented", "selection")
    return loss
