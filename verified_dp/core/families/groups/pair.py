"""Dominating pairs for neighbours that differ in a group of records (T72)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

from verified_dp.core.families.table import for_variants
from verified_dp.core.kernel.composition import Grouped, Relation
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.mechanisms import MAX_OUTCOMES, Gaussian, Release
from verified_dp.core.kernel.steps import Step, step_of
from verified_dp.core.kernel.theorems import proved_by

THEOREM = "T72-groups"


@step_of.register
@proved_by("T25-composition")
def _grouped(mechanism: Grouped, order: str, relation: Relation) -> Step:
    return group_step(mechanism.mechanism, mechanism.size, order, relation)


@for_variants
def group_step(mechanism: object, size: int, order: str, relation: Relation) -> Step:
    """The step for neighbours that differ in `size` records."""
    if isinstance(mechanism, Release) and mechanism.stated.adds_up:
        return multiplied_group(mechanism, size, order, relation)
    reason = mechanism.stated.not_grouped if isinstance(mechanism, Release) else "no theorem for it is implemented"
    refuse_group(mechanism, size, relation, reason)


def refuse_group(mechanism: object, size: int, relation: Relation, reason: str) -> NoReturn:
    """Unsupported, with the reason."""
    name = mechanism.stated.name if isinstance(mechanism, Release) else type(mechanism).__name__
    raise Unsupported(f"{name} with group_size {size} under {relation}: {reason}", "group_size")


def for_group(step: Step, *, tight: bool, copies: int = 1) -> Step:
    """The step with the theorem; not tight where data sets need not use the group's whole bound."""
    pair = replace(step.pair, theorems=(*step.pair.theorems, THEOREM), tight=step.pair.tight and tight)
    return replace(step, pair=pair, copies=copies)


@group_step.register
@proved_by("T72-groups")
def _gaussian_group(mechanism: Gaussian, size: int, order: str, relation: Relation) -> Step:
    """Distances of means add up; that contributions of single records do so is attained."""
    if mechanism.noise_multiplier is not None:
        return for_group(step_of(Gaussian(mechanism.noise_multiplier / size), order, relation), tight=True)
    whole = Gaussian(sigma=mechanism.sigma, sensitivity=size * Fraction(mechanism.sensitivity or 0))
    return for_group(step_of(whole, order, relation), tight=False)


@proved_by("T72-groups")
def multiplied_group(mechanism: Release, size: int, order: str, relation: Relation) -> Step:
    """Sensitivities, ranges and distances add up."""
    key = mechanism.stated.adds_up
    total = size * getattr(mechanism, key)
    if isinstance(total, int) and total > MAX_OUTCOMES:
        refuse_group(mechanism, size, relation, f"sums over more than {MAX_OUTCOMES} outcomes take too long")
    return for_group(step_of(replace(mechanism, **{key: total}), order, relation), tight=False)
