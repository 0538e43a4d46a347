"""Dominating pairs of Gaussian noise: mixtures of norms, Gaussian DP, trees and matrix mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from verified_dp.core.families.gaussian.mechanism import GaussianDP, MatrixGaussian, MixtureOfGaussians, TreeAggregation
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composition import Component, Relation
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.steps import DominatingPair, Step, pair_in_order, refuse, step_of, zero_out
from verified_dp.core.kernel.theorems import proved_by


def mixture_words(mixture: Sequence[Component], s: Fraction | SquareRoot, short: str) -> str:
    """The components by their distance from 0, a weight of 1 left out; `short` in place of more than five."""
    if len(mixture) > _LONGEST_SUM:
        return short
    inner = sorted(mixture, key=lambda component: abs(component[0]))  # exact: fractions
    return " + ".join(f"{shown(weight)} " * (weight != 1) + f"N({shown(mean)}, ({shown(s)})^2)"
                      for mean, weight in inner)


_LONGEST_SUM = 5


@step_of.register
@proved_by("T57-gaussian-dp")
def _gaussian_dp(mechanism: GaussianDP, order: str, relation: Relation) -> Step:
    pair = pair_in_order(order, f"N({shown(mechanism.mu)}, 1)", "N(0, 1)", "T57-gaussian-dp", tight=False)
    return Step(pair, shift_squared=mechanism.mu**2)


@step_of.register
@proved_by("T58-pair-mixture")
def _mixture(mechanism: MixtureOfGaussians, order: str, relation: Relation) -> Step:
    if order == "symmetric":
        refuse("a mixture of Gaussians", relation, "no theorem is implemented; use add-or-remove")
    s, above = mechanism.sigma, tuple(zip(mechanism.sensitivities, mechanism.probabilities, strict=True))
    words = mixture_words(above, s, f"sum over i of p_i N(c_i, ({shown(s)})^2), probabilities p and sensitivities c")
    pair = pair_in_order(order, words, f"N(0, ({shown(s)})^2)", "T58-pair-mixture", *zero_out(relation))
    return mixture_step(pair, s, above)


@proved_by("T58-pair-mixture")
def mixture_step(pair: DominatingPair, sigma: Fraction, above: tuple[Component, ...]) -> Step:
    """The mixture against N(0, sigma^2): one norm is a Gaussian, 0 and one other a sampled Gaussian."""
    if all(norm == 0 for norm, _ in above):
        return Step(pair)
    if len(above) == 1:
        return Step(pair, shift_squared=(above[0][0] / sigma) ** 2)
    if len(above) == 2 and above[0][0] == 0:
        norm, weight = above[1]
        return Step(pair, SampledGaussianLoss(weight, sigma / norm, pair.order))
    from verified_dp.core.families.gaussian.mixture import MixtureLoss  # of several components: a law of its own

    return Step(pair, MixtureLoss(sigma, above, ((Fraction(0), Fraction(1)),), "remove").in_order(pair.order))


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
