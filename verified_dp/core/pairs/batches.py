"""Dominating pairs of Poisson samples that are cut off at a largest size (T142), and of shuffled epochs (T144)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from verified_dp.core.composition import PoissonSampled, Relation, WithoutReplacement
from verified_dp.core.exact import fraction_text as shown
from verified_dp.core.laws.shuffled import ShuffledEpoch
from verified_dp.core.laws.truncated_batch import TruncatedBatchLoss, full_batch_share
from verified_dp.core.pairs.plain import DominatingPair, Step, step_of
from verified_dp.core.participation import Shuffled, TruncatedPoisson
from verified_dp.core.theorems import proved_by

THEOREM = "T142-displaced-records"


@step_of.register
@proved_by("T142-displaced-records")
def _truncated(mechanism: TruncatedPoisson, order: str, relation: Relation) -> Step:
    """No batch can be too large where all records fit; every one is where all are drawn."""
    q, n, most = mechanism.probability, mechanism.population, mechanism.largest_batch
    free = step_of(PoissonSampled(mechanism.mechanism, q), order, relation)
    if q == 0 or most >= n:
        return replace(free, pair=_with_theorem(free.pair))
    share = Fraction(most, n) if q == 1 else full_batch_share(n, most, q)
    full = step_of(WithoutReplacement(mechanism.mechanism, share), order, relation)
    if q == 1 or free.law is None or full.law is None:
        return replace(full, pair=_with_theorem(full.pair))
    which = f"[Bin({n - 1}, {shown(q)}) >= {most}]"
    pair = DominatingPair(order, f"{which}, where 0: {free.pair.P}; where 1: {full.pair.P}",
                          f"{which}, where 0: {free.pair.Q}; where 1: {full.pair.Q}",
                          tuple(dict.fromkeys((THEOREM, *free.pair.theorems, *full.pair.theorems))), tight=False)
    return Step(pair, TruncatedBatchLoss(n - 1, q, most, free.law, full.law, order))


class AttackedPair(DominatingPair):
    """A pair that bounds from above, where lower ends come from an attack on data sets of the relation."""


def is_attained(pair: DominatingPair) -> bool:
    """Whether lower ends hold for data sets of the relation: those of the pair itself, or of an attack."""
    return pair.tight or isinstance(pair, AttackedPair)


@dataclass(frozen=True)
class ShuffledStep(Step):
    """One epoch: a Gaussian from above, and what is known from below."""

    epoch: ShuffledEpoch | None = None


@step_of.register
@proved_by("T144-shuffled-epochs")
def _shuffled(mechanism: Shuffled, order: str, relation: Relation) -> Step:
    """The place is given away: one norm; two where replaced; of more than one batch the last one changes besides."""
    s, t, replaced = Fraction(mechanism.mechanism.noise_multiplier or 0), mechanism.rounds, relation is Relation.REPLACE
    norms = 4 if replaced else 1 if relation is Relation.ZERO_OUT or t == 1 else 5
    pair = AttackedPair(order, f"N(sqrt({norms}), ({shown(s)})^2)", f"N(0, ({shown(s)})^2)",
                        ("T144-shuffled-epochs",), tight=False)
    return ShuffledStep(pair, shift_squared=norms / s**2, epoch=ShuffledEpoch(s, t, 0 if replaced else 1))


def _with_theorem(pair: DominatingPair) -> DominatingPair:
    return replace(pair, theorems=tuple(dict.fromkeys((THEOREM, *pair.theorems))))
