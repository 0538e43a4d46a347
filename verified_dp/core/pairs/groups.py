"""Dominating pairs for neighbours that differ in a group of records (T72), mechanism by mechanism."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import NoReturn

from flint import ctx

from verified_dp.core.composition import (
    MAX_DRAWS,
    Grouped,
    PoissonSampled,
    Relation,
    WithoutReplacement,
    WithReplacement,
)
from verified_dp.core.errors import Unsupported
from verified_dp.core.exact import fraction_text as shown
from verified_dp.core.laws.groups import GroupOddsLoss
from verified_dp.core.mechanisms import (
    MAX_OUTCOMES,
    ZCDP,
    ApproximateDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Finite,
    Gaussian,
    GaussianDP,
    Laplace,
    MixtureOfGaussians,
    RandomizedResponse,
    Release,
    Renyi,
)
from verified_dp.core.pairs.plain import Step, pair_in_order, step_of, with_replacement
from verified_dp.core.pairs.sampled import Setting, sampled_step
from verified_dp.core.theorems import proved_by

THEOREM = "T72-groups"


@step_of.register
def _grouped(mechanism: Grouped, order: str, relation: Relation) -> Step:
    return group_step(mechanism.mechanism, mechanism.size, order, relation)


@singledispatch
def group_step(mechanism: object, size: int, order: str, relation: Relation) -> Step:
    """The step for neighbours that differ in `size` records."""
    _refuse_group(mechanism, size, relation, "no theorem for it is implemented")


def _refuse_group(mechanism: object, size: int, relation: Relation, reason: str) -> NoReturn:
    name = mechanism.kind if isinstance(mechanism, Release) else type(mechanism).__name__
    raise Unsupported(f"{name} with group_size {size} under {relation}: {reason}", "group_size")


def _for_group(step: Step, *, tight: bool, copies: int = 1) -> Step:
    """The step with the theorem; not tight where data sets need not use the group's whole bound."""
    pair = replace(step.pair, theorems=(*step.pair.theorems, THEOREM), tight=step.pair.tight and tight)
    return replace(step, pair=pair, copies=copies)


@group_step.register
@proved_by("T72-groups")
def _gaussian(mechanism: Gaussian, size: int, order: str, relation: Relation) -> Step:
    """Distances of means add up; that contributions of single records do so is attained."""
    if mechanism.noise_multiplier is not None:
        return _for_group(step_of(Gaussian(mechanism.noise_multiplier / size), order, relation), tight=True)
    whole = Gaussian(sigma=mechanism.sigma, sensitivity=size * Fraction(mechanism.sensitivity or 0))
    return _for_group(step_of(whole, order, relation), tight=False)


@group_step.register(Laplace)
@group_step.register(DiscreteLaplace)
@group_step.register(DiscreteGaussian)
@group_step.register(Exponential)
@group_step.register(GaussianDP)
@proved_by("T72-groups")
def _multiplied(mechanism: Release, size: int, order: str, relation: Relation) -> Step:
    """Sensitivities, ranges and distances add up."""
    key = mechanism.adds_up
    total = size * getattr(mechanism, key)
    if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian) and total > MAX_OUTCOMES:
        _refuse_group(mechanism, size, relation, f"sums over more than {MAX_OUTCOMES} outcomes take too long")
    return _for_group(step_of(replace(mechanism, **{key: total}), order, relation), tight=False)


@group_step.register
@proved_by("T72-groups")
def _zcdp(mechanism: ZCDP, size: int, order: str, relation: Relation) -> Step:
    """rho grows with the square of the size."""
    if mechanism.xi:
        _refuse_group(mechanism, size, relation, "with xi no theorem is implemented; state the group's own rho and xi")
    return _for_group(step_of(ZCDP(size**2 * mechanism.rho), order, relation), tight=False)


@group_step.register
@proved_by("T72-groups")
def _randomized_response(mechanism: RandomizedResponse, size: int, order: str, relation: Relation) -> Step:
    """As many answers change as there are persons in the group, independently."""
    step = step_of(mechanism, order, relation)
    pair = replace(step.pair, P=f"{size} independent {step.pair.P}", Q=f"{size} independent {step.pair.Q}")
    return _for_group(replace(step, pair=pair), tight=True, copies=size)


@group_step.register
@proved_by("T72-groups", "T56-approximate-dp")
def _approximate_dp(mechanism: ApproximateDP, size: int, order: str, relation: Relation) -> Step:
    """(g eps, delta (e^{g eps} - 1)/(e^eps - 1)), which must be below 1 to state anything."""
    law = GroupOddsLoss(mechanism.epsilon, mechanism.delta, size)
    with ctx.workprec(_BITS):
        if not law.enclose_mass() < 1:
            _refuse_group(mechanism, size, relation, "the guarantee for a group has delta >= 1, which states nothing")
    e, one = shown(size * mechanism.epsilon), shown(mechanism.epsilon)
    d = f"d = {shown(mechanism.delta)} sum over i < {size} of e^({one} i)"
    pair = pair_in_order(order, f"d at 'surely P', (1 - d) (e^{e}, 1)/(1 + e^{e}); {d}",
                         f"d at 'surely Q', (1 - d) (1, e^{e})/(1 + e^{e}); {d}", "T56-approximate-dp", THEOREM,
                         tight=False)
    return Step(pair, law if mechanism.epsilon or mechanism.delta else None)


_BITS = 256


@group_step.register
@proved_by("T72-groups")
def _with(mechanism: WithReplacement, size: int, order: str, relation: Relation) -> Step:
    """Every draw hits the group with probability size / population."""
    if size > mechanism.population:
        _refuse_group(mechanism, size, relation, f"there are only {mechanism.population} records")
    return _for_group(with_replacement(mechanism, order, relation, size), tight=False)


@group_step.register
def _poisson(mechanism: PoissonSampled, size: int, order: str, relation: Relation) -> Step:
    """How many of the group are on the sample is Bin(size, q): see `sampled_pairs`."""
    if size > MAX_DRAWS:
        _refuse_group(mechanism, size, relation, f"more than {MAX_DRAWS} records on a sample take too long")
    return sampled_step(mechanism.mechanism, Setting(mechanism.probability, order, relation, size))


@group_step.register
def _without(mechanism: WithoutReplacement, size: int, order: str, relation: Relation) -> Step:
    _refuse_group(mechanism, size, relation,
                  "how many of a group are in a batch depends on its size and not only on its share of the records")


_REASONS: dict[type, str] = {
    Finite: "P and Q are stated for one record; state the laws with and without the group instead",
    MixtureOfGaussians: "whether the draws of several records are independent is not stated; state the mixture of "
                        "the group's norms as sensitivities and probabilities",
    Renyi: "bounds of single orders give no useful bound for a group; state zcdp, or the group's own bounds",
}


@group_step.register(Finite)
@group_step.register(MixtureOfGaussians)
@group_step.register(Renyi)
def _stated(mechanism: Release, size: int, order: str, relation: Relation) -> Step:
    _refuse_group(mechanism, size, relation, _REASONS[type(mechanism)])
