"""The Fourier paper's pairs for batches of a fixed size, which dominate nothing, and profiles of what uses them.

    published_profile(load_spec("claim.toml")).delta("1").status    # "estimate"

What is computed holds for the pairs as the paper states them (T85) and proves nothing of a mechanism: `core` does not
know them, so no certificate can be written with them or checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatchmethod
from os import PathLike

from verified_dp import spec
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.sampling.checks import binomial_weights
from verified_dp.core.families.table import ALL_RELEASES
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Mechanism, Relation, Spec
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.exact import fraction_text as shown
from verified_dp.core.kernel.losses import ORDERS, compose_steps
from verified_dp.core.kernel.mechanisms import Kind, Release, read_size
from verified_dp.core.kernel.steps import DominatingPair, Step, refuse, step_of
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.profile import PrivacyProfile


@dataclass(frozen=True)
class FourierAccountantPair(Release):
    """The pair of Koskela, Jaelkoe and Honkela (2020) for sampling without replacement; it is not dominating there."""

    stated = Kind(
        "fourier-accountant-pair", {"noise_multiplier": exact.positive, "probability": exact.probability},
        "fourier-accountant-pair: the paper's pair for sampling without replacement, which is NOT dominating",
        ("fourier-accountant-pair: none; nothing may be certified with it",),
        not_sampled="the pair is itself one of a sample, and not a dominating one")
    noise_multiplier: Fraction
    probability: Fraction

    def __post_init__(self) -> None:
        self._read(**{key: getattr(self, key) for key in self.stated.readers})


@dataclass(frozen=True)
class FourierAccountantDraws(Release):
    """The same paper's pair for `draws` records drawn with replacement from `population`; not dominating there."""

    stated = Kind(
        "fourier-accountant-draws",
        {"noise_multiplier": exact.positive, "draws": read_size, "population": exact.count},
        "fourier-accountant-draws: the paper's pair for sampling with replacement, which is NOT dominating",
        ("fourier-accountant-draws: none; nothing may be certified with it",),
        not_sampled="the pair is itself one of a sample, and not a dominating one")
    noise_multiplier: Fraction
    draws: int
    population: int

    def __post_init__(self) -> None:
        self._read(**{key: getattr(self, key) for key in self.stated.readers})


PUBLISHED: dict[str, type[Release]] = {
    release.stated.name: release for release in (FourierAccountantPair, FourierAccountantDraws)}
"""kind -> class."""


def load_spec(path: str | PathLike[str]) -> Spec:
    """`verified_dp.load_spec`, which also reads the kinds "fourier-accountant-pair" and "fourier-accountant-draws".

    Their keys are `noise_multiplier` and `probability`; and `noise_multiplier`, `draws` and `population`.
    """
    return spec.load_spec(path, {**ALL_RELEASES, **PUBLISHED})


class PublishedProfile(PrivacyProfile):
    """The privacy profile of a composition, the paper's pairs taken as stated; `proven` where there are none."""

    def _compose(self) -> tuple[tuple[DominatingPair, ...], tuple[ComposedLoss, ...]]:
        self.proven = PUBLISHED.keys().isdisjoint(bare.stated.name for bare in self.composition.bare())
        steps = {order: [(self._step(mechanism, order), count) for mechanism, count in self.composition.merged()]
                 for order in ORDERS[self.relation]}
        pairs = dict.fromkeys(step.pair for found in steps.values() for step, _ in found)
        return tuple(pairs), tuple(compose_steps(order, found) for order, found in steps.items())

    @singledispatchmethod
    def _step(self, mechanism: Mechanism, order: str) -> Step:
        return step_of(mechanism, order, self.relation)

    @_step.register
    def _(self, mechanism: FourierAccountantPair, order: str) -> Step:
        return batch_step(mechanism, order, self.relation)

    @_step.register
    def _(self, mechanism: FourierAccountantDraws, order: str) -> Step:
        return draws_step(mechanism, order, self.relation)


def published_profile(what: Spec | Composition | Mechanism, relation: Relation | str | None = None,
                      progress: Callable[[str], None] | None = None,
                      group_size: Number | None = None) -> PrivacyProfile:
    """`verified_dp.privacy_profile`, which also takes the paper's pairs; answers with them have status "estimate"."""
    return PublishedProfile.of(what, relation, progress, group_size)


@proved_by("T52-without-replacement", "T85-paper-pairs")
def batch_step(mechanism: FourierAccountantPair, order: str, relation: Relation) -> Step:
    """(1 - q) N(0) + q N(1) against (1 - q) N(0) + q N(-1): the pair of T22, not dominating here (T52)."""
    _check(relation)
    q, s = mechanism.probability, mechanism.noise_multiplier
    mixed, mirrored = (f"{shown(1 - q)} N(0, ({shown(s)})^2) + {shown(q)} N({m}, ({shown(s)})^2)" for m in (1, -1))
    pair = DominatingPair(order, mixed, mirrored, ("T85-paper-pairs",), False)
    if q == 1:
        return Step(pair, shift_squared=(2 / s) ** 2)
    return Step(pair, SampledGaussianLoss(q, s, order) if q else None)


@proved_by("T53-with-replacement", "T85-paper-pairs")
def draws_step(mechanism: FourierAccountantDraws, order: str, relation: Relation) -> Step:
    """sum_n b_n N(n) against sum_n b_n N(-n), b = Bin(draws, 1/population): T53 has 2n where this pair has n."""
    _check(relation)
    s, share = mechanism.noise_multiplier, Fraction(1, mechanism.population)
    above = tuple((Fraction(n), b) for n, b in enumerate(binomial_weights(mechanism.draws, share)) if b)
    below = tuple((-mean, weight) for mean, weight in reversed(above))
    law = f"n = Bin({mechanism.draws}, {shown(share)})"
    pair = DominatingPair(order, f"N(n, ({shown(s)})^2), {law}", f"N(-n, ({shown(s)})^2), {law}",
                          ("T85-paper-pairs",), False)
    return Step(pair, MixtureLoss(s, above, below, order))


def _check(relation: Relation) -> None:
    if relation is not Relation.REPLACE:
        refuse("the Fourier accountant's pair", relation, "the paper states it for replacing a record")
