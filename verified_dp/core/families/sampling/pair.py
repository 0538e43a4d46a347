"""Dominating pairs of mechanisms on Poisson samples, of single records and of groups."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from verified_dp.core.families.sampling.mechanism import CyclicPoisson, PoissonSampled
from verified_dp.core.families.sampling.steps import Setting, mixture_words, sampled_step
from verified_dp.core.kernel.composition import Component, Relation
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import SquareRoot, square
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.steps import DominatingPair, Step, step_of
from verified_dp.core.kernel.theorems import proved_by


@step_of.register
@proved_by("T25-composition")
def _poisson(mechanism: PoissonSampled, order: str, relation: Relation) -> Step:
    return sampled_step(mechanism.mechanism, Setting(mechanism.probability, order, relation))


@sampled_step.register
@proved_by("T25-composition")
def _gaussian_sample(inner: Gaussian, setting: Setting) -> Step:
    if inner.noise_multiplier is None:
        raise Unsupported("a sampled Gaussian needs its noise_multiplier")
    step = _gaussian_replaced if setting.order == "symmetric" else _gaussian_present
    return step(inner.noise_multiplier, setting)


@proved_by("T21-pair-poisson")
def _gaussian_present(s: Fraction, setting: Setting) -> Step:
    return gaussian_sample(s, setting, "T21-pair-poisson")


@proved_by("T22-pair-poisson-replace")
def _gaussian_replaced(s: Fraction, setting: Setting) -> Step:
    return gaussian_sample(s, setting, "T22-pair-poisson-replace")


def gaussian_sample(s: Fraction | SquareRoot, setting: Setting, *theorems: str, tight: bool = True) -> Step:
    """A Gaussian of noise s per norm of a record, where the caller's theorems say that its mixtures dominate."""
    above, below = setting.mixtures(1)
    if setting.records > 1:
        theorems = (*theorems, "T72-groups")
    pair = setting.pair(_words(above, s), _words(below, s), *theorems, tight=tight)
    if setting.probability in (0, 1):
        return _all_or_none(pair, (above[-1][0] - below[0][0]) ** 2 / square(s), setting.probability)
    if setting.records == 1:
        from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss  # of Gaussians alone

        return Step(pair, SampledGaussianLoss(setting.probability, s, setting.order))
    from verified_dp.core.families.gaussian.mixture import MixtureLoss  # of groups alone

    return _group_sample(pair, MixtureLoss(s, above, below, "remove"), setting)


@proved_by("T07-ends")
def _all_or_none(pair: DominatingPair, shift_squared: Fraction, probability: Fraction) -> Step:
    """q = 0 adds nothing, q = 1 is the plain Gaussian (T07)."""
    return Step(pair, shift_squared=probability * shift_squared)


@proved_by("T72-groups")
def _group_sample(pair: DominatingPair, law: Law, setting: Setting) -> Step:
    """How many of the group are on the sample is binomial (T72)."""
    return Step(pair, law.in_order(setting.order))


def _words(mixture: tuple[Component, ...], s: Fraction | SquareRoot) -> str:
    ends = f"from {shown(mixture[0][0])} to {shown(mixture[-1][0])}"
    return mixture_words(mixture, s, f"sum over n of Bin(n) N(n, ({shown(s)})^2) {ends}")


@step_of.register
@proved_by("T130-participation-patterns")
def _cyclic(mechanism: CyclicPoisson, order: str, relation: Relation) -> Step:
    """ceil(rounds / groups) Poisson-sampled steps."""
    step = step_of(PoissonSampled(mechanism.mechanism, mechanism.probability), order, relation)
    pair = replace(step.pair, theorems=("T130-participation-patterns", *step.pair.theorems))
    return replace(step, pair=pair, copies=mechanism.turns, shift_squared=mechanism.turns * step.shift_squared)
