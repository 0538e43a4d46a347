"""Dominating pairs of mechanisms on Poisson samples, of single records and of groups."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from verified_dp.core.families.groups.pair import group_step, refuse_group
from verified_dp.core.families.sampling.mechanism import CyclicPoisson, PoissonSampled
from verified_dp.core.families.sampling.steps import (
    Setting,
    mixed_pair,
    mixture_words,
    random_shift,
    refuse_sample,
    sampled_step,
)
from verified_dp.core.kernel.composition import MAX_DRAWS, Component, Composition, Relation
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.exact import SquareRoot, square, square_root
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.law import Law, has_only_moments
from verified_dp.core.kernel.mechanisms import Gaussian, Release
from verified_dp.core.kernel.steps import DominatingPair, Step, refuse, step_of
from verified_dp.core.kernel.theorems import proved_by


@group_step.register
@proved_by("T72-groups")
def _poisson_group(mechanism: PoissonSampled, size: int, order: str, relation: Relation) -> Step:
    """How many of the group are on the sample is Bin(size, q): see `sampled_pairs`."""
    if size > MAX_DRAWS:
        refuse_group(mechanism, size, relation, f"more than {MAX_DRAWS} records on a sample take too long")
    return sampled_step(mechanism.mechanism, Setting(mechanism.probability, order, relation, size))


@step_of.register
@proved_by("T25-composition")
def _poisson(mechanism: PoissonSampled, order: str, relation: Relation) -> Step:
    return sampled_step(mechanism.mechanism, Setting(mechanism.probability, order, relation))


@sampled_step.register
@proved_by("T25-composition")
def _release_sample(inner: Release, setting: Setting) -> Step:
    """One record that is there or not is T49; replaced records and groups are random shifts where that is proven."""
    return (release_sample if setting.is_plain else random_shift)(inner, setting)


@proved_by("T49-sampled")
def release_sample(inner: Release, setting: Setting) -> Step:
    """Whatever has a pair: ((1-q) Q0 + q P0, Q0)."""
    base = step_of(inner, "remove", setting.relation)
    return Step(mixed_pair(base.pair, setting, "T49-sampled"), _sample(base.law, setting))


def _sample(law: Law | None, setting: Setting) -> Law | None:
    """q = 0 reveals nothing and q = 1 is no sampling; some laws are known more closely."""
    q, order = setting.probability, setting.order
    if law is None or q == 0:
        return None
    if q == 1:
        return law.in_order(order)
    from verified_dp.core.families.sampling.sampled import SampledLoss  # of all but Gaussians

    return law.on_sample(q, order) or SampledLoss(law, q, order)


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


@sampled_step.register
@proved_by("T73-sampled-composition", "T49-sampled", "T15-gaussian")
def _composition_sample(inner: Composition, setting: Setting) -> Step:
    """One sample, several releases: T49 with their composition as the step; Gaussians alone are one Gaussian."""
    steps = _steps(inner, "remove")
    shift_squared = sum((count * step.shift_squared for step, count in steps), Fraction(0))
    laws = [(step.law, count) for step, count in steps if step.law is not None]
    theorems = ("T73-sampled-composition", *dict.fromkeys(t for step, _ in steps for t in step.pair.theorems))
    tight = all(step.pair.tight for step, _ in steps)
    if not laws and shift_squared:
        if setting.order == "symmetric" and any(not isinstance(part, Gaussian) for part, _ in inner.parts):
            refuse_sample("a composition with gaussian-dp", setting)
        return gaussian_sample(square_root(1 / shift_squared), setting, *theorems, tight=tight)
    if setting.records == 1 and setting.order == "symmetric":
        refuse("a composition on a Poisson sample", setting.relation,
               "proven where all its releases are Gaussian; use add-or-remove")
    if not setting.is_plain:
        refuse_sample("a composition that is not of Gaussians alone", setting)
    P, Q = (" x ".join(f"({text})^{count}" for text, count in texts) for texts in
            ([(step.pair.P, count) for step, count in steps], [(step.pair.Q, count) for step, count in steps]))
    base = DominatingPair("remove", P, Q, theorems, tight)
    if laws and (shift_squared or any(has_only_moments(law) for law, _ in laws)):
        from verified_dp.core.families.guarantees.sampled import by_moments  # seldom needed

        return by_moments(base, steps, _steps(inner, "add"), setting)
    return Step(mixed_pair(base, setting, "T49-sampled"), _sample(_base_law(laws, setting), setting))


def _steps(inner: Composition, order: str) -> list[tuple[Step, int]]:
    return [(step_of(part, order, Relation(order)), count) for part, count in inner.merged()]


def _base_law(laws: list[tuple[Law, int]], setting: Setting) -> Law | None:
    """The law of all releases of one sample, where its hockey-stick is known in closed form."""
    from verified_dp.core.families.finite.closed_law import enclosed_product  # of finite laws: seldom needed

    if not laws:
        return None
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0]
    product = enclosed_product(laws)
    if product is None:
        refuse("a composition of so many releases, or of this noise, on one sample", setting.relation,
               "its hockey-stick has no closed form that is quick enough; proven for Gaussians, and for a few Laplace, "
               "discrete Laplace, finite, exponential or approximate-dp releases")
    return product


@step_of.register
@proved_by("T130-participation-patterns")
def _cyclic(mechanism: CyclicPoisson, order: str, relation: Relation) -> Step:
    """ceil(rounds / groups) Poisson-sampled steps."""
    step = step_of(PoissonSampled(mechanism.mechanism, mechanism.probability), order, relation)
    pair = replace(step.pair, theorems=("T130-participation-patterns", *step.pair.theorems))
    return replace(step, pair=pair, copies=mechanism.turns, shift_squared=mechanism.turns * step.shift_squared)
