"""Dominating pairs of Gaussian noise: mixtures of norms, Gaussian DP, trees and matrix mechanisms."""

from __future__ import annotations

from fractions import Fraction

from verified_dp.core.families.gaussian.mechanism import GaussianDP, MatrixGaussian, MixtureOfGaussians, TreeAggregation
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.sampling.shifts import mixed_pair, refuse_sample
from verified_dp.core.families.sampling.steps import Setting, mixture_words, sampled_step
from verified_dp.core.kernel.composition import Component, Relation
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.steps import DominatingPair, Step, pair_in_order, refuse, step_of, zero_out
from verified_dp.core.kernel.theorems import proved_by


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


@sampled_step.register
@proved_by("T57-gaussian-dp", "T73-sampled-composition")
def _gaussian_dp_sample(inner: GaussianDP, setting: Setting) -> Step:
    """As the Gaussian of that distance. Replace: the guarantee is not stated against the batch without the record."""
    if setting.order == "symmetric":
        refuse_sample(inner.stated.name, setting)
    from verified_dp.core.families.sampling.pair import gaussian_sample  # on samples alone

    return gaussian_sample(1 / inner.mu, setting, "T57-gaussian-dp", "T73-sampled-composition", tight=False)


@sampled_step.register
@proved_by("T58-pair-mixture", "T49-sampled")
def _mixture_sample(inner: MixtureOfGaussians, setting: Setting) -> Step:
    """Again a mixture: with probability 1 - q the record adds nothing."""
    if not setting.is_plain:
        refuse_sample(inner.stated.name, setting)
    base, q = step_of(inner, "remove", setting.relation), setting.probability
    pair = mixed_pair(base.pair, setting, "T49-sampled")
    weights = {norm: q * weight for norm, weight in zip(inner.sensitivities, inner.probabilities, strict=True)}
    weights[Fraction(0)] = weights.get(Fraction(0), Fraction(0)) + 1 - q
    above = tuple((norm, weight) for norm, weight in sorted(weights.items()) if weight)  # exact: fractions
    return mixture_step(pair, inner.sigma, above)
