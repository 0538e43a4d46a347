"""Dominating pairs of mechanisms on Poisson samples, of single records and of groups."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import NoReturn

from verified_dp.core.composition import Composition, PoissonSampled, Relation, binomial_weights
from verified_dp.core.engines.closed_law import AtomicProduct, ClosedFormLaw, finite_product
from verified_dp.core.errors import Unsupported
from verified_dp.core.exact import SquareRoot, square_root
from verified_dp.core.exact import fraction_text as shown
from verified_dp.core.laws.atomic import AtomicLaw, FiniteLoss, SampledAtomicLoss
from verified_dp.core.laws.composed import ComposedLoss
from verified_dp.core.laws.laplace import BoundedRangeLoss, LaplaceLoss
from verified_dp.core.laws.law import Law
from verified_dp.core.laws.mixture import MixtureLoss
from verified_dp.core.laws.sampled import SampledLoss
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.laws.sampled_laplace import LARGEST_RATIO, SampledLaplaceLoss
from verified_dp.core.laws.shifts import DiscreteGaussianMixtureLoss, DiscreteLaplaceMixtureLoss, LaplaceMixtureLoss
from verified_dp.core.mechanisms import (
    MAX_OUTCOMES,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianDP,
    Laplace,
    MixtureOfGaussians,
    Release,
)
from verified_dp.core.mixture_lines import Component
from verified_dp.core.pairs.plain import (
    DominatingPair,
    Step,
    mixture_step,
    mixture_words,
    pair_in_order,
    refuse,
    step_of,
    zero_out,
)
from verified_dp.core.theorems import proved_by

MAX_BASE_WORK = 200
"""Terms of a composition's closed form that is asked at every point of a lattice."""


@dataclass(frozen=True)
class Setting:
    """Under which conditions a step on a Poisson sample is looked at; `records` change together."""

    probability: Fraction
    order: str
    relation: Relation
    records: int = 1

    @property
    def is_plain(self) -> bool:
        """One record which is there or not: what T49 covers."""
        return self.order != "symmetric" and self.records == 1

    def pair(self, P: str, Q: str, *theorems: str, tight: bool = True) -> DominatingPair:
        """P and Q as of the remove order, with what the relation needs besides."""
        return pair_in_order(self.order, P, Q, *theorems, *zero_out(self.relation), tight=tight)

    def mixtures(self, shift: Fraction | int) -> tuple[tuple[Component, ...], tuple[Component, ...]]:
        """Means and weights of (P, Q) where each sampled record of the group moves the mean by `shift` (T72, T74)."""
        weights = enumerate(binomial_weights(self.records, self.probability))
        present = tuple((Fraction(n * shift), weight) for n, weight in weights if weight)
        if self.order != "symmetric":
            return present, ((Fraction(0), Fraction(1)),)
        return present, tuple((-mean, weight) for mean, weight in reversed(present))


@step_of.register
def _poisson(mechanism: PoissonSampled, order: str, relation: Relation) -> Step:
    return sampled_step(mechanism.mechanism, Setting(mechanism.probability, order, relation))


@singledispatch
def sampled_step(inner: object, setting: Setting) -> Step:
    """The step of a mechanism on a Poisson sample."""
    raise Unsupported(f"no dominating pair is proven for samples of {type(inner).__name__}")


@sampled_step.register
@proved_by("T49-sampled")
def release_sample(inner: Release, setting: Setting) -> Step:
    """Whatever has a pair: ((1-q) Q0 + q P0, Q0)."""
    if not setting.is_plain:
        refuse_sample(inner.kind, setting)
    base = step_of(inner, "remove", setting.relation)
    return Step(_mixed_pair(base.pair, setting, "T49-sampled"), _sample(base.law, setting))


def refuse_sample(kind: str, setting: Setting) -> NoReturn:
    """Unsupported, with the reason."""
    if setting.records > 1:
        raise Unsupported(
            f"{kind} on a Poisson sample with group_size {setting.records} under {setting.relation}: proven for "
            "Gaussian noise, and for one number with Laplace, discrete Laplace or discrete Gaussian noise",
            "group_size")
    refuse(f"{kind} on a Poisson sample", setting.relation,
           "what it states says nothing of a batch without either record; use add-or-remove")


def _mixed_pair(base: DominatingPair, setting: Setting, *theorems: str) -> DominatingPair:
    q = setting.probability
    mixed = f"{shown(1 - q)} Q0 + {shown(q)} P0 with P0 = {base.P}, Q0 = {base.Q}"
    return setting.pair(mixed, base.Q, *theorems, *base.theorems, tight=base.tight)


def _sample(law: Law | None, setting: Setting) -> Law | None:
    """q = 0 reveals nothing and q = 1 is no sampling; finite laws stay finite."""
    q, order = setting.probability, setting.order
    if law is None or q == 0:
        return None
    if q == 1:
        return law.in_order(order)
    if isinstance(law, FiniteLoss):
        return FiniteLoss(tuple(((1 - q) * b + q * a, b) for a, b in law.masses), "remove").in_order(order)
    if isinstance(law, AtomicLaw):
        return SampledAtomicLoss(law, q, order)
    if isinstance(law, LaplaceLoss | BoundedRangeLoss) and law.largest_loss() <= LARGEST_RATIO:
        return SampledLaplaceLoss(law, q, order)
    return SampledLoss(law, q, order)


@sampled_step.register
def _gaussian(inner: Gaussian, setting: Setting) -> Step:
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


@sampled_step.register
@proved_by("T57-gaussian-dp", "T73-sampled-composition")
def _gaussian_dp(inner: GaussianDP, setting: Setting) -> Step:
    """As the Gaussian of that distance. Replace: the guarantee is not stated against the batch without the record."""
    if setting.order == "symmetric":
        refuse_sample(inner.kind, setting)
    return gaussian_sample(1 / inner.mu, setting, "T57-gaussian-dp", "T73-sampled-composition", tight=False)


def gaussian_sample(s: Fraction | SquareRoot, setting: Setting, *theorems: str, tight: bool = True) -> Step:
    """A Gaussian of noise s per norm of a record, where the caller's theorems say that its mixtures dominate."""
    above, below = setting.mixtures(1)
    if setting.records > 1:
        theorems = (*theorems, "T72-groups")
    pair = setting.pair(_words(above, s), _words(below, s), *theorems, tight=tight)
    if setting.probability in (0, 1):
        return _all_or_none(pair, (above[-1][0] - below[0][0]) ** 2 / _square(s), setting.probability)
    if setting.records == 1:
        return Step(pair, SampledGaussianLoss(setting.probability, s, setting.order))
    return _group_sample(pair, MixtureLoss(s, above, below, "remove"), setting)


@proved_by("T07-ends")
def _all_or_none(pair: DominatingPair, shift_squared: Fraction, probability: Fraction) -> Step:
    """q = 0 adds nothing, q = 1 is the plain Gaussian (T07)."""
    return Step(pair, shift_squared=probability * shift_squared)


@proved_by("T72-groups")
def _group_sample(pair: DominatingPair, law: MixtureLoss, setting: Setting) -> Step:
    """How many of the group are on the sample is binomial (T72)."""
    return Step(pair, _ordered(law, setting))


def _square(s: Fraction | SquareRoot) -> Fraction:
    return s.square if isinstance(s, SquareRoot) else s**2


def _ordered(law: Law, setting: Setting) -> Law:
    """A law that was written for the remove order; its own mirror image keeps its P and Q."""
    return law.in_order(setting.order)


def _words(mixture: tuple[Component, ...], s: Fraction | SquareRoot) -> str:
    ends = f"from {shown(mixture[0][0])} to {shown(mixture[-1][0])}"
    return mixture_words(mixture, s, f"sum over n of Bin(n) N(n, ({shown(s)})^2) {ends}")


@sampled_step.register
@proved_by("T58-pair-mixture", "T49-sampled")
def _mixture(inner: MixtureOfGaussians, setting: Setting) -> Step:
    """Again a mixture: with probability 1 - q the record adds nothing."""
    if not setting.is_plain:
        refuse_sample(inner.kind, setting)
    base, q = step_of(inner, "remove", setting.relation), setting.probability
    pair = _mixed_pair(base.pair, setting, "T49-sampled")
    weights = {norm: q * weight for norm, weight in zip(inner.sensitivities, inner.probabilities, strict=True)}
    weights[Fraction(0)] = weights.get(Fraction(0), Fraction(0)) + 1 - q
    above = tuple((norm, weight) for norm, weight in sorted(weights.items()) if weight)  # exact: fractions
    return mixture_step(pair, inner.sigma, above)


@sampled_step.register(Laplace)
@sampled_step.register(DiscreteLaplace)
@sampled_step.register(DiscreteGaussian)
def _shift(inner: Laplace | DiscreteLaplace | DiscreteGaussian, setting: Setting) -> Step:
    """One record that is there or not is T49; replaced records and groups are random shifts (T74)."""
    return (release_sample if setting.is_plain else _random_shift)(inner, setting)


@proved_by("T74-sampled-shifts", "T42-pair-shift")
def _random_shift(inner: Laplace | DiscreteLaplace | DiscreteGaussian, setting: Setting) -> Step:
    distance = inner.ratio if isinstance(inner, Laplace) else inner.sensitivity
    if not isinstance(inner, Laplace) and setting.records * distance > MAX_OUTCOMES:
        raise Unsupported(f"sums over more than {MAX_OUTCOMES} outcomes take too long", "group_size")
    above, below = setting.mixtures(distance)
    noise = f"n + {inner.kind} noise"
    n = f"n = {shown(distance)} Bin({setting.records}, {shown(setting.probability)})"
    other = f"-n + {inner.kind} noise, {n}" if setting.order == "symmetric" else f"{inner.kind} noise"
    pair = setting.pair(f"{noise}, {n}", other, "T74-sampled-shifts", "T42-pair-shift", tight=False)
    if setting.probability == 0:
        return Step(pair)
    return Step(pair, _ordered(_shift_law(inner, above, below, setting), setting))


def _shift_law(inner: Laplace | DiscreteLaplace | DiscreteGaussian, above: tuple[Component, ...],
               below: tuple[Component, ...], setting: Setting) -> Law:
    order = "symmetric" if setting.order == "symmetric" else "remove"
    if isinstance(inner, Laplace):
        return LaplaceMixtureLoss(above, below, order)
    if isinstance(inner, DiscreteLaplace):
        return DiscreteLaplaceMixtureLoss(inner.scale, above, below, order)
    return DiscreteGaussianMixtureLoss(square_root(inner.sigma_squared), above, below, order)


@sampled_step.register
@proved_by("T73-sampled-composition", "T49-sampled", "T15-gaussian")
def _composition(inner: Composition, setting: Setting) -> Step:
    """One sample, several releases: T49 with their composition as the step; Gaussians alone are one Gaussian."""
    steps = [(step_of(part, "remove", Relation.REMOVE), count) for part, count in inner.merged()]
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
    return Step(_mixed_pair(base, setting, "T49-sampled"), _sample(_base_law(laws, shift_squared, setting), setting))


def _base_law(laws: list[tuple[Law, int]], shift_squared: Fraction, setting: Setting) -> Law | None:
    """The law of all releases of one sample, where its hockey-stick is known in closed form."""
    if not laws:
        return None
    if shift_squared:
        refuse("a composition of Gaussian and other noise on one sample", setting.relation,
               "its hockey-stick has no closed form; state the other releases as gaussian-dp where that is known")
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0]
    product = finite_product(laws)
    if product is not None:
        return product
    merged: dict[Law, int] = {}
    for law, count in laws:
        merged[law.in_order("remove")] = merged.get(law.in_order("remove"), 0) + count
    loss = ComposedLoss("remove", tuple(merged.items()), Fraction(0))
    if not ClosedFormLaw.covers(loss, MAX_BASE_WORK):
        refuse("a composition of so many releases, or of this noise, on one sample", setting.relation,
               "its hockey-stick has no closed form that is quick enough; proven for Gaussians, and for a few Laplace, "
               "discrete Laplace, finite, exponential or approximate-dp releases")
    return AtomicProduct(loss) if all(isinstance(law, AtomicLaw) for law, _ in loss.parts) else ClosedFormLaw(loss)
