"""Dominating pairs of batches of a fixed size (T52, T53, T142), cut off at one, and of shuffled epochs (T144)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from verified_dp.core.families.batches.attack import ShuffledLoss
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.batches.mechanism import Shuffled, TruncatedPoisson, WithoutReplacement, WithReplacement
from verified_dp.core.families.batches.shuffled import ShuffledEpoch
from verified_dp.core.families.batches.truncated_batch import TruncatedBatchLoss, full_batch_share
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.pair import mixture_step
from verified_dp.core.families.groups.pair import for_group, group_step, refuse_group
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.steps import mixture_words
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.steps import DominatingPair, Step, pair_in_order, refuse, step_of
from verified_dp.core.kernel.theorems import proved_by


@step_of.register
@proved_by("T52-without-replacement")
def _without(mechanism: WithoutReplacement, order: str, relation: Relation) -> Step:
    """q = 1 uses every record, hence is the plain Gaussian; q = 0 uses none."""
    q, s = mechanism.probability, Fraction(mechanism.mechanism.noise_multiplier or 0)
    if relation not in (Relation.REPLACE, Relation.ZERO_OUT):
        return displaced_step(s, ((0, 1 - q), (1, q)), order, "", tight=q < 1)
    pair = DominatingPair(
        order, f"for alpha >= 1: {shown(1 - q)} N(0, ({shown(s)})^2) + {shown(q)} N(2, ({shown(s)})^2)",
        f"for alpha >= 1: N(0, ({shown(s)})^2); alpha < 1 by reversal", ("T52-without-replacement",), False)
    if q == 1:
        return Step(pair, shift_squared=(2 / s) ** 2)
    return Step(pair, FixedBatchLoss(q, s) if q else None)


@proved_by("T142-displaced-records")
def displaced_step(s: Fraction, draws: Iterable[tuple[int, Fraction]], order: str, short: str, *,
                   tight: bool) -> Step:
    """The record is drawn n times, with these probabilities, each time in another's place: the mean moves by 2 n.

    short: the mixture in words where it is long.
    """
    above = tuple((Fraction(2 * n), weight) for n, weight in draws if weight)
    pair = pair_in_order(order, mixture_words(above, s, short), f"N(0, ({shown(s)})^2)", "T142-displaced-records",
                         tight=tight)
    return mixture_step(pair, s, above)


@step_of.register
@proved_by("T25-composition")
def _with(mechanism: WithReplacement, order: str, relation: Relation) -> Step:
    return with_replacement(mechanism, order, relation)


@proved_by("T53-with-replacement")
def with_replacement(mechanism: WithReplacement, order: str, relation: Relation, group_size: int = 1) -> Step:
    """Each draw of a record that is replaced moves the mean by at most 2."""
    s = Fraction(mechanism.mechanism.noise_multiplier or 0)
    weights = [(n, weight) for n, weight in enumerate(mechanism.multiplicities(group_size)) if weight]
    law = f"n = Bin({mechanism.draws}, {shown(Fraction(group_size, mechanism.population))})"
    moved = f"N(2n, ({shown(s)})^2), {law}"
    if relation not in (Relation.REPLACE, Relation.ZERO_OUT):
        if group_size > 1:
            refuse("a group under sampling with replacement", relation, "no theorem covers a change of their number")
        return displaced_step(s, weights, order, moved, tight=mechanism.population > 1)
    above = tuple((Fraction(2 * n), weight) for n, weight in weights)
    below = tuple((-mean, weight) for mean, weight in reversed(above))
    pair = DominatingPair(order, moved, f"N(-2n, ({shown(s)})^2), {law}", ("T53-with-replacement",), False)
    return Step(pair, MixtureLoss(s, above, below, "symmetric"))


@group_step.register
@proved_by("T72-groups")
def _with_group(mechanism: WithReplacement, size: int, order: str, relation: Relation) -> Step:
    """Every draw hits the group with probability size / population."""
    if size > mechanism.population:
        refuse_group(mechanism, size, relation, f"there are only {mechanism.population} records")
    return for_group(with_replacement(mechanism, order, relation, size), tight=False)


@group_step.register
@proved_by("T25-composition")
def _without_group(mechanism: WithoutReplacement, size: int, order: str, relation: Relation) -> Step:
    refuse_group(mechanism, size, relation,
                  "how many of a group are in a batch depends on its size and not only on its share of the records")


THEOREM = "T142-displaced-records"


@step_of.register
@proved_by("T142-displaced-records")
def _truncated(mechanism: TruncatedPoisson, order: str, relation: Relation) -> Step:
    """No batch can be too large where all records fit; every one is where all are drawn."""
    q, n, most = mechanism.probability, mechanism.population, mechanism.largest_batch
    free = step_of(PoissonSampled(mechanism.mechanism, q), order, relation)
    if q == 0 or most >= n:
        return replace(free, pair=_displaced_theorem(free.pair))
    share = Fraction(most, n) if q == 1 else full_batch_share(n, most, q)
    full = step_of(WithoutReplacement(mechanism.mechanism, share), order, relation)
    if q == 1 or free.law is None or full.law is None:
        return replace(full, pair=_displaced_theorem(full.pair))
    which = f"[Bin({n - 1}, {shown(q)}) >= {most}]"
    pair = DominatingPair(order, f"{which}, where 0: {free.pair.P}; where 1: {full.pair.P}",
                          f"{which}, where 0: {free.pair.Q}; where 1: {full.pair.Q}",
                          tuple(dict.fromkeys((THEOREM, *free.pair.theorems, *full.pair.theorems))), tight=False)
    return Step(pair, TruncatedBatchLoss(n - 1, q, most, free.law, full.law, order))


class AttackedPair(DominatingPair):
    """A pair that bounds from above, where lower ends come from an attack on data sets of the relation."""

    @property
    def is_attained(self) -> bool:
        """Those of the attack do."""
        return True


@dataclass(frozen=True)
class ShuffledStep(Step):
    """One epoch: a Gaussian from above, and what is known from below."""

    epoch: ShuffledEpoch | None = None


@proved_by("T144-shuffled-epochs")
def compose_shuffled(loss: ComposedLoss, steps: Sequence[tuple[Step, int]]) -> ShuffledLoss:
    """The loss that dominates, with the epochs and the parts of mean_shift_squared that bound theirs."""
    epochs = tuple((step.epoch, count, count * step.shift_squared) for step, count in steps
                   if isinstance(step, ShuffledStep) and step.epoch is not None)
    return ShuffledLoss(loss.order, loss.parts, loss.mean_shift_squared, epochs)


@step_of.register
@proved_by("T144-shuffled-epochs")
def _shuffled(mechanism: Shuffled, order: str, relation: Relation) -> Step:
    """The place is given away: one norm; two where replaced; of more than one batch the last one changes besides."""
    s, t, replaced = Fraction(mechanism.mechanism.noise_multiplier or 0), mechanism.rounds, relation is Relation.REPLACE
    norms = 4 if replaced else 1 if relation is Relation.ZERO_OUT or t == 1 else 5
    pair = AttackedPair(order, f"N(sqrt({norms}), ({shown(s)})^2)", f"N(0, ({shown(s)})^2)",
                        ("T144-shuffled-epochs",), tight=False)
    return ShuffledStep(pair, shift_squared=norms / s**2, composed=compose_shuffled,
                        epoch=ShuffledEpoch(s, t, 0 if replaced else 1))


def _displaced_theorem(pair: DominatingPair) -> DominatingPair:
    return replace(pair, theorems=tuple(dict.fromkeys((THEOREM, *pair.theorems))))
