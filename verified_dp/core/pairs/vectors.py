"""Dominating pairs of vectors with independent noise, of trees, and of matrix mechanisms."""

from __future__ import annotations

from dataclasses import replace

from verified_dp.core.composition import Relation
from verified_dp.core.exact import fraction_text as shown
from verified_dp.core.mechanisms import ZCDP, DiscreteLaplace, Laplace
from verified_dp.core.pairs.groups import group_step
from verified_dp.core.pairs.plain import DominatingPair, Step, refuse, step_of, zero_out
from verified_dp.core.pairs.sampled import Setting, refuse_sample, release_sample, sampled_step
from verified_dp.core.theorems import proved_by
from verified_dp.core.vectors import (
    DiscreteGaussianVector,
    DiscreteLaplaceVector,
    LaplaceVector,
    MatrixGaussian,
    TreeAggregation,
)


@step_of.register(LaplaceVector)
@step_of.register(DiscreteLaplaceVector)
@proved_by("T150-shifts-by-norm")
def _by_norm(mechanism: LaplaceVector | DiscreteLaplaceVector, order: str, relation: Relation) -> Step:
    """As one number that changes by the whole norm."""
    one = Laplace if isinstance(mechanism, LaplaceVector) else DiscreteLaplace
    step = step_of(one(mechanism.scale, mechanism.sensitivity), order, relation)
    return _with_theorem(step, "T150-shifts-by-norm")


def _with_theorem(step: Step, theorem: str) -> Step:
    return replace(step, pair=replace(step.pair, theorems=(*step.pair.theorems, theorem)))


@step_of.register
@proved_by("T151-discrete-gaussian-vectors")
def _discrete_gaussian(mechanism: DiscreteGaussianVector, order: str, relation: Relation) -> Step:
    """zCDP with rho = D^2 / (2 s^2), the squared norm of integers being one."""
    squared = mechanism.sensitivity**2
    step = step_of(ZCDP((squared.numerator // squared.denominator) / (2 * mechanism.sigma_squared)), order, relation)
    return _with_theorem(step, "T151-discrete-gaussian-vectors")


@sampled_step.register(LaplaceVector)
@sampled_step.register(DiscreteLaplaceVector)
@proved_by("T49-sampled", "T150-shifts-by-norm")
def _sampled(inner: LaplaceVector | DiscreteLaplaceVector, setting: Setting) -> Step:
    """T49 for a record that is there or not; two that replace each other move different coordinates."""
    if not setting.is_plain:
        refuse_sample(inner.kind, setting)
    return release_sample(inner, setting)


@group_step.register
@proved_by("T72-groups", "T151-discrete-gaussian-vectors")
def _group(mechanism: DiscreteGaussianVector, size: int, order: str, relation: Relation) -> Step:
    """Sensitivities add up."""
    whole = DiscreteGaussianVector(mechanism.sigma_squared, size * mechanism.sensitivity)
    return _with_theorem(step_of(whole, order, relation), "T72-groups")


@step_of.register
@proved_by("T153-tree-aggregation")
def _tree(mechanism: TreeAggregation, order: str, relation: Relation) -> Step:
    """As many Gaussian steps as nodes hold a leaf."""
    if relation is not Relation.ZERO_OUT:
        refuse("tree aggregation", relation, "others may then change their leaf; use zero-out")
    s, depth = mechanism.noise_multiplier, mechanism.depth
    pair = DominatingPair(order, f"N(1, ({shown(s)})^2)^{depth}", f"N(0, ({shown(s)})^2)^{depth}",
                          ("T153-tree-aggregation", "T23-pair-gaussian", *zero_out(relation)), tight=True)
    return Step(pair, shift_squared=depth / s**2)


@step_of.register
@proved_by("T134-toeplitz-columns")
def _matrix(mechanism: MatrixGaussian, order: str, relation: Relation) -> Step:
    """The columns of as many rounds as there may be, as near to each other as they may be; replaced: twice as far."""
    square = mechanism.sensitivity_squared() * (4 if relation is Relation.REPLACE else 1)
    s = mechanism.noise_multiplier
    pair = DominatingPair(order, f"N(sqrt({shown(square)}), ({shown(s)})^2)", f"N(0, ({shown(s)})^2)",
                          ("T134-toeplitz-columns", *zero_out(relation)), tight=True)
    return Step(pair, shift_squared=square / s**2)
