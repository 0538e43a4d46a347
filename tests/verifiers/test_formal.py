"""The formal part of a certificate: one-step integer laws, the extracted checker, and the Coq proofs' own numbers.

Tests that run the extracted checker are skipped where `make proofs` has not built it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import exp, log
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from flint import arb, ctx

from verified_dp import (
    ZCDP,
    ApproximateDP,
    Claim,
    Composition,
    DiscreteGaussian,
    DiscreteLaplace,
    Finite,
    Gaussian,
    GaussianDP,
    Laplace,
    PoissonSampled,
    RandomizedResponse,
    Relation,
    Renyi,
    Spec,
    WithoutReplacement,
    privacy_profile,
)
from verified_dp.certificate import build_certificate
from verified_dp.cli import main
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss, SampledAtomicLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.certificate.check import Check, verify
from verified_dp.core.kernel.certificate.document import Document, sealed
from verified_dp.core.kernel.errors import InvalidCertificate, Unsupported
from verified_dp.core.kernel.gaussian import GaussianLoss
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.verifiers import formal as formal_module
from verified_dp.verifiers import record_formal
from verified_dp.verifiers.formal import (
    CHECKER,
    HASH,
    FormalPart,
    Kind,
    check_purpose,
    compared_step,
    is_above,
    is_accepted,
    is_below,
    part_record,
    problem_words,
    read_parts,
    told_rows,
    verify_formal,
)
from verified_dp.verifiers.formal_steps import GaussianStep, merged
from verified_dp.verifiers.record_formal import Arithmetic, Composed, build_part, event_part, propose, with_formal

ROOT = Path(__file__).resolve().parents[2]
COQ = ROOT / "proofs" / "coq"
LAW = SampledGaussianLoss(Fraction(1, 10), Fraction(2), "remove")
COUNT, EPSILON, TARGET, STEP = 22, Fraction(1), Fraction(1, 1000), Fraction(1, 32)
ABOVE, BELOW = (build_part([(LAW, COUNT)], "remove", side, EPSILON, TARGET, STEP) for side in ("above", "below"))
PROFILE = privacy_profile(
    Spec(Relation.REMOVE, Composition(((PoissonSampled(Gaussian(noise_multiplier="2"), "0.1"), COUNT),))))

BUILT = CHECKER.is_file() and HASH.is_file()
needs_checker = pytest.mark.skipif(
    not BUILT, reason="the extracted checker is not built: run `make proofs` (it needs Coq and OCaml)")


OTHER = OddsLoss(Fraction(1), Fraction(0), 1)
"""A law that the program does not compare with by itself."""


def with_kind(part: FormalPart, **fields: Any) -> FormalPart:
    """The part with its first kind changed."""
    return replace(part, kinds=(replace(part.kinds[0], **fields), *part.kinds[1:]))


def changed_mass(part: FormalPart, index: int, by: int) -> FormalPart:
    masses = list(part.kinds[0].masses)
    masses[index] += by
    return with_kind(part, masses=tuple(masses))


def largest(part: FormalPart) -> int:
    masses = part.kinds[0].masses
    return max(range(len(masses)), key=lambda index: masses[index])


def above(part: FormalPart, law: SampledGaussianLoss = LAW) -> bool:
    return is_above(part, part.kinds[0], law)


def below(part: FormalPart, law: SampledGaussianLoss = LAW) -> bool:
    return is_below(part, part.kinds[0], law)


# ---------- one step ----------


@pytest.mark.theorem("T120-integer-law-above")
def test_masses_above_are_checked() -> None:
    assert above(ABOVE)
    assert above(changed_mass(ABOVE, largest(ABOVE), 1))
    assert not above(changed_mass(ABOVE, largest(ABOVE), -2))
    assert not above(with_kind(ABOVE, infinity=0))
    masses = ABOVE.kinds[0].masses
    assert not any(above(changed_mass(ABOVE, i, -2)) for i in range(len(masses)) if masses[i] > 1)
    assert not above(ABOVE, SampledGaussianLoss(Fraction(11, 100), Fraction(2), "remove"))


@pytest.mark.theorem("T121-integer-law-below")
def test_masses_below_are_checked() -> None:
    assert below(BELOW)
    assert below(changed_mass(BELOW, largest(BELOW), -1))
    assert not below(changed_mass(BELOW, largest(BELOW), 2))
    assert not below(with_kind(BELOW, infinity=1))
    assert not below(BELOW, SampledGaussianLoss(Fraction(9, 100), Fraction(2), "remove"))


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize(("q", "sigma", "step"), [("1/10", "2", "1/32"), ("1/2", "3/5", "1/4"), ("1/100", "1", "1/64")])
def test_the_program_compares_with_the_sampled_gaussian_itself(order: str, q: str, sigma: str, step: str) -> None:
    """One step, no products: only `covers` can notice a law that is too low, at any point."""
    law = SampledGaussianLoss(Fraction(q), Fraction(sigma), order)
    part = build_part([(law, 1)], order, "above", EPSILON, TARGET, Fraction(step))

    def accepted(low: FormalPart, *, compared: bool = True) -> bool:
        kind, arithmetic = low.kinds[0], Arithmetic("above", low.bits, 0)
        bound = arithmetic.delta(Composed(kind.low, list(kind.masses), kind.infinity), low.epsilon, low.step)
        return is_accepted(replace(low, bound=bound), [law if compared else OTHER])

    assert accepted(part) and accepted(changed_mass(part, largest(part), 1))
    masses = part.kinds[0].masses
    for index in range(1, len(masses), len(masses) // 7):
        moved = changed_mass(changed_mass(part, index, -(masses[index] >> 8)), index - 1, masses[index] >> 8)
        assert accepted(moved) == (masses[index] < 256) and accepted(moved, compared=False)
    at_infinity = part.kinds[0].infinity
    assert accepted(with_kind(part, infinity=at_infinity // 2)) == (at_infinity == 0)
    assert not accepted(changed_mass(part, largest(part), -len(masses)))
    more = replace(law, sampling_probability=law.sampling_probability * Fraction(1001, 1000))
    assert is_accepted(part, [law]) and not is_accepted(part, [more])
    assert not is_accepted(part, [replace(law, noise_multiplier=Fraction(sigma) * Fraction(999, 1000))])


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
def test_the_program_compares_with_batches_of_a_fixed_size() -> None:
    """In both orders: what is taken from losses above 0 and what is taken below 0 is noticed."""
    law = FixedBatchLoss(Fraction(1, 10), Fraction(2))
    part = build_part([(law, 1)], "symmetric", "above", EPSILON, TARGET, STEP)
    kind, arithmetic = part.kinds[0], Arithmetic("above", part.bits, 0)

    def accepted(masses: tuple[int, ...], law: FixedBatchLoss = law) -> bool:
        bound = arithmetic.delta(Composed(kind.low, list(masses), kind.infinity), part.epsilon, part.step)
        return is_accepted(replace(with_kind(part, masses=masses), bound=bound), [law])

    assert accepted(kind.masses)
    for index in (-kind.low - 20, -kind.low + 20):
        by = kind.masses[index] >> 3
        assert not accepted((*kind.masses[:index - 1], kind.masses[index - 1] + by, kind.masses[index] - by,
                             *kind.masses[index + 1:]))
    assert not accepted(kind.masses, replace(law, probability=Fraction(11, 100)))
    assert not accepted(kind.masses, replace(law, noise_multiplier=Fraction(19, 10)))


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("shift", ["1/4", "1/2", "3"])
@pytest.mark.parametrize("order", ["remove", "symmetric"])
def test_the_program_compares_with_the_plain_gaussian(shift: str, order: str) -> None:
    """One law of all plain steps; its noise is rounded down, so that what is shown is a little more."""
    law = GaussianLoss(Fraction(shift), order)
    part = build_part([(law, 1)], order, "above", EPSILON, TARGET, STEP)
    step = compared_step(part, law)
    assert isinstance(step, GaussianStep) and step.probability == 1
    assert 0 <= 1 / step.noise**2 - law.mean_shift_squared < Fraction(1, 1 << part.bits)
    assert is_accepted(part, [law])
    for factor in (Fraction(1001, 1000), 2):
        assert not is_accepted(part, [GaussianLoss(factor * law.mean_shift_squared, order)])


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
def test_what_is_trusted_depends_on_the_mechanism() -> None:
    """The theorems speak of Gaussians, all of them sampled or none; other mechanisms only share their losses."""
    plain, sampled = Gaussian(noise_multiplier="4"), PoissonSampled(Gaussian(noise_multiplier="2"), "0.1")
    fixed = WithoutReplacement(Gaussian(noise_multiplier="4"), "0.1")
    steps: list[tuple[Any, int]]
    for steps, relation, known in (
        ([(plain, 3), (Gaussian(noise_multiplier="3"), 1)], Relation.ADD_OR_REMOVE, "gaussian_private"),
        ([(sampled, 3)], Relation.ZERO_OUT, "gaussian_private"), ([(plain, 3)], Relation.ZERO_OUT, "gaussian_private"),
        ([(sampled, 3), (plain, 1)], Relation.REMOVE, "mixed_private"),
        ([(ApproximateDP("0.1", "0.01"), 3), (plain, 1)], Relation.ADD_OR_REMOVE, "mixed_private"),
        ([(ApproximateDP("0.1", "0.01"), 3), (plain, 1)], Relation.REPLACE, "T15"),
        ([(PoissonSampled(ApproximateDP("0.1", "0.01"), "0.1"), 3), (sampled, 1)], Relation.ADD, "mixed_private"),
        ([(ApproximateDP("0.1", "0.01"), 3), (Laplace(9, 1), 1)], Relation.REPLACE, "guarantees_private"),
        ([(PoissonSampled(Laplace(9, 1), "0.1"), 3), (plain, 1)], Relation.ADD_OR_REMOVE, "mixed_private"),
        ([(GaussianDP("0.5"), 1)], Relation.REPLACE, "gdp_private"),
        ([(GaussianDP("0.5"), 2)], Relation.REPLACE, "T15"),
        ([(ZCDP("0.01"), 3), (ZCDP("0.02", "0.1"), 1)], Relation.ADD_OR_REMOVE, "zcdp_private"),
        ([(sampled, 3), (PoissonSampled(plain, "0.2"), 1)], Relation.REPLACE, "gaussians_replace_private"),
        ([(sampled, 2), (Gaussian(noise_multiplier="9"), 2)], Relation.REPLACE, "gaussians_replace_private"),
        ([(sampled, 2), (Gaussian(sigma="9", sensitivity=1), 2)], Relation.REPLACE, "T15"),
        ([(fixed, 3)], Relation.REPLACE, "fixed_batch_private"),
        ([(fixed, 3)], Relation.ZERO_OUT, "fixed_batch_private"),
        ([(plain, 3)], Relation.REPLACE, "gaussian_replace_private"), ([(fixed, 3)], Relation.REMOVE, "T15")):
        check = checked(steps, relation, "0.2")
        assert check.valid and known in str(check.reason), (steps, relation)
    for steps, relation, known in (
            ([(plain, 3), (Gaussian(noise_multiplier="3"), 1)], Relation.ADD_OR_REMOVE, "gaussian_not_private"),
            ([(plain, 3)], Relation.REPLACE, "gaussian_replace_not_private"),
            ([(sampled, 3)], Relation.ZERO_OUT, "sampled_gaussian_not_private"),
            ([(sampled, 3)], Relation.REPLACE, "sampled_gaussian_not_private"),
            ([(Laplace(1, 1), 2), (Laplace(1, "1/2"), 1)], Relation.REPLACE, "laplace_not_private"),
            ([(Laplace(1, 1), 2), (Laplace(2, 1), 1)], Relation.REPLACE, "T15"),
            ([(sampled, 3)], Relation.ADD_OR_REMOVE, "sampled_gaussian_not_private"),
            ([(sampled, 3), (plain, 1)], Relation.REMOVE, "T15"), ([(fixed, 3)], Relation.REMOVE, "T15")):
        check = checked(steps, relation, "1e-20")
        assert (check.valid, check.verdict) == (True, "refuted") and known in str(check.reason), (steps, relation)


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
def test_merged_steps_are_taken_where_single_ones_round_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand plain steps one by one need a finer grid than all of them as one."""
    steps: list[tuple[Any, int]] = [(Gaussian(noise_multiplier="40"), 1000), (ApproximateDP("0.1", "0.001"), 1)]
    assert "mixed_private" in str(checked(steps, Relation.REMOVE, "0.075").reason)
    monkeypatch.setattr(record_formal, "_FINEST", 4)
    assert "T15" in str(checked(steps, Relation.REMOVE, "0.075").reason)


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
def test_outputs_of_stated_probabilities_are_known_to_the_mechanism() -> None:
    """Alone or beside others, sampled or not, from above; one step from below; and how the reason says so."""
    three, plain = Finite(("1/4", "1/4", "1/2"), ("1/2", "2/5", "1/10")), Gaussian(noise_multiplier="4")
    answer, sampled = RandomizedResponse(3, "1/2"), PoissonSampled(three, "1/10")
    for steps, relation, delta, known in (
            ([(three, 3)], Relation.REMOVE, "0.9", "guarantees_private"),
            ([(three, 2), (plain, 1)], Relation.ADD, "0.9", "mixed_private"),
            ([(sampled, 3), (plain, 1)], Relation.ADD_OR_REMOVE, "0.9", "mixed_private"),
            ([(answer, 4)], Relation.REPLACE, "0.9", "guarantees_private"),
            ([(RandomizedResponse(3, epsilon="1/4"), 2)], Relation.REPLACE, "0.9", "guarantees_private"),
            ([(DiscreteLaplace(9, 3), 3)], Relation.REPLACE, "0", "guarantees_private"),
            ([(DiscreteLaplace(9, 3), 5)], Relation.REPLACE, "0.9", "guarantees_private"),
            ([(DiscreteLaplace(9, 3), 5)], Relation.REPLACE, "1e-9", "discrete_not_private"),
            ([(DiscreteGaussian(4, 3), 2)], Relation.REPLACE, "0.9", "guarantees_private"),
            ([(DiscreteGaussian(4, 3), 2), (plain, 1)], Relation.ADD, "0.95", "mixed_private"),
            ([(PoissonSampled(DiscreteGaussian(4, 1), "1/10"), 3)], Relation.REMOVE, "0.9", "mixed_private"),
            ([(DiscreteGaussian(4, 3), 2), (DiscreteLaplace(9, 3), 1)], Relation.ADD, "1e-9", "discrete_not_private"),
            ([(DiscreteLaplace(9, 3), 2), (three, 1)], Relation.ADD, "1e-9", "T25"),
            ([(Renyi(["2", "8"], ["1/100", "1/20"]), 4), (ZCDP("1/100"), 2)], Relation.REPLACE, "0.1", "renyi_private"),
            ([(three, 1)], Relation.REMOVE, "1e-9", "outputs_not_private"),
            ([(PoissonSampled(Finite(("1", "0"), ("1/9", "8/9")), "1/2"), 1)], Relation.REMOVE, "1e-9",
             "outputs_not_private"),
            ([(answer, 1)], Relation.REPLACE, "1e-9", "response_not_private"),
            ([(RandomizedResponse(2, epsilon="11/10"), 1)], Relation.REPLACE, "1e-9", "guarantee_not_private"),
            ([(RandomizedResponse(3, epsilon="11/10"), 1)], Relation.REPLACE, "1e-9", "T25"),
            ([(answer, 4)], Relation.REPLACE, "1e-9", "T25")):
        check = checked(steps, relation, delta)
        assert check.valid and known in str(check.reason), (steps, relation)
        assert (check.verdict == "refuted") == (delta == "1e-9") and (known == "T25") == ("T25" in str(check.reason))


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize("share", ["1", "1/3"])
def test_one_point_of_the_curve_of_outputs(order: str, share: str) -> None:
    """By hand; the least change of the bound, of epsilon or of a weight is refused."""
    masses = tuple((Fraction(p, 4), Fraction(r, 4)) for p, r in ((3, 1), (1, 2), (0, 1)))
    base, at = FiniteLoss(masses, "remove"), Fraction(1, 4)

    def law(base: FiniteLoss) -> Any:
        return base.in_order(order) if share == "1" else SampledAtomicLoss(base, Fraction(share), order)

    part = event_part([(law(base), 1)], order, "below", at, TARGET)
    assert part is not None and event_part([(law(base), 1)], order, "above", at, TARGET) is None
    q, odds = float(Fraction(share)), exp(0.25)
    pairs = [(q * float(p) + (1 - q) * float(r), float(r)) for p, r in base.masses]
    value = sum(max(0, p - odds * r) if order == "remove" else max(0, r - odds * p) for p, r in pairs)
    assert float(part.delta) == pytest.approx(value) and is_accepted(part, [law(base)])
    assert not is_accepted(replace(part, bound=part.bound + 8), [law(base)])
    assert not is_accepted(replace(part, epsilon=at + Fraction(1, 10**30)), [law(base)])
    less = Fraction(1, 10**20)
    nearer = ((masses[0][0] - less, masses[0][1]), masses[1], (less, masses[2][1]))
    assert not is_accepted(part, [law(replace(base, masses=nearer))])
    guarantee = OddsLoss(Fraction(1, 2), Fraction(1, 100), 0)
    part = event_part([(guarantee, 1)], order, "below", at, TARGET)
    assert part is not None and event_part([(guarantee, 1)], order, "above", at, TARGET) is None
    worst = 0.01 + 0.99 * (exp(0.5) - exp(0.25)) / (1 + exp(0.5))
    assert float(part.delta) == pytest.approx(worst) and is_accepted(part, [guarantee])
    assert not is_accepted(replace(part, bound=part.bound + 8), [guarantee])
    half = SampledAtomicLoss(guarantee, Fraction(1, 2), order)
    assert event_part([(half, 1)], order, "below", EPSILON, TARGET) is None


def checked(steps: list[tuple[Any, int]], relation: Relation, delta: str) -> Check:
    """What verify --formal says of the claim that these steps have this delta at epsilon 1."""
    claim = Claim("a test", "none", Fraction(1), Fraction(delta), "1", delta)
    spec = Spec(relation, Composition(tuple(steps)), claim)
    found = build_certificate(spec, *privacy_profile(spec).solve_claim(claim, 6, "auto", None))
    return verify_formal(with_formal(found))


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize(("q", "sigma", "step"), [("1/10", "2", "1/32"), ("1/2", "3/5", "1/4"), ("1/8", "1", "1/32")])
def test_the_program_finds_a_law_below_the_sampled_gaussian(order: str, q: str, sigma: str, step: str) -> None:
    """One step, no products: only `covers_below` can notice a law that is too high, at any point."""
    law = SampledGaussianLoss(Fraction(q), Fraction(sigma), order)
    part = build_part([(law, 1)], order, "below", EPSILON, TARGET, Fraction(step))

    def accepted(high: FormalPart, law: Any = law) -> bool:
        kind, arithmetic = high.kinds[0], Arithmetic("below", high.bits, 0)
        bound = arithmetic.delta(Composed(kind.low, list(kind.masses), kind.infinity), high.epsilon, high.step)
        return is_accepted(replace(high, bound=bound), [law])

    assert accepted(part) and accepted(changed_mass(part, largest(part), -1))
    masses = part.kinds[0].masses
    for index in range(1, len(masses) - 1, len(masses) // 7):
        moved = changed_mass(changed_mass(part, index, -(masses[index] >> 3)), index + 1, masses[index] >> 3)
        assert accepted(moved) == (masses[index] < 8) and accepted(moved, OTHER)
    assert not accepted(with_kind(part, infinity=1))
    assert not accepted(changed_mass(part, largest(part), 1 << part.bits - 20))
    assert not accepted(part, replace(law, sampling_probability=law.sampling_probability * Fraction(9, 10)))
    assert not accepted(part, replace(law, noise_multiplier=Fraction(sigma) * Fraction(11, 10)))


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize(("ratio", "step"), [("1/2", "1/64"), ("3", "3/128"), ("3", "1/10")])
def test_the_program_finds_a_law_below_laplace_noise(ratio: str, step: str) -> None:
    law = LaplaceLoss(Fraction(ratio))
    part = build_part([(law, 1)], "remove", "below", EPSILON, TARGET, Fraction(step) * (1 - Fraction(1, 2**100)))
    kind, arithmetic = part.kinds[0], Arithmetic("below", part.bits, 0)

    def accepted(masses: tuple[int, ...], law: LaplaceLoss = law) -> bool:
        bound = arithmetic.delta(Composed(kind.low, list(masses), kind.infinity), part.epsilon, part.step)
        return is_accepted(replace(with_kind(part, masses=masses), bound=bound), [law])

    assert accepted(kind.masses)
    found = [index for index, mass in enumerate(kind.masses[:-1]) if mass >> 10]
    for index in found[::max(1, len(found) // 6)]:
        by = kind.masses[index] >> 3
        moved = (*kind.masses[:index], kind.masses[index] - by, kind.masses[index + 1] + by, *kind.masses[index + 2:])
        assert not accepted(moved)
    assert not accepted(kind.masses, LaplaceLoss(law.ratio * Fraction(9, 10)))


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("law", [LaplaceLoss(Fraction(3, 2)), DiscreteGaussianLoss(Fraction(9), 2),
                                 DiscreteLaplaceLoss(Fraction(5, 2), 4)])
def test_one_event_bounds_one_step_of_noise(law: Any) -> None:
    """To the last digits, at any epsilon; nothing from above."""
    field = next(name for name in ("ratio", "sigma_squared", "scale") if hasattr(law, name))
    worse = replace(law, **{field: getattr(law, field) * Fraction(999 if field == "ratio" else 1001, 1000)})
    for at in (Fraction(0), Fraction(1, 3), Fraction(6, 5)):
        part = event_part([(law, 1)], "remove", "below", at, TARGET)
        assert part is not None and event_part([(law, 1)], "remove", "above", at, TARGET) is None
        with ctx.workprec(400):
            true = law.enclose_hockey_stick(arb(at.numerator) / at.denominator)
            assert abs(true * 2**part.bits - part.bound) < 8 and is_accepted(part, [law])
        assert not is_accepted(replace(part, bound=part.bound + 8), [law])
        assert not is_accepted(replace(part, epsilon=at + Fraction(1, 10**30)), [law])
        assert not is_accepted(part, [worse])


NOISES: list[Any] = [DiscreteGaussianLoss(Fraction(5, 2), 2), DiscreteGaussianLoss(Fraction(40), 1),
                     DiscreteLaplaceLoss(Fraction(4), 3), DiscreteLaplaceLoss(Fraction(1, 2), 1)]


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("side", ["above", "below"])
@pytest.mark.parametrize("law", NOISES)
@pytest.mark.parametrize("step", ["1/5", "1/64"])
def test_the_program_compares_with_discrete_noise(law: Any, step: str, side: str) -> None:
    """One step, no products: a law moved to the wrong side anywhere, less or more noise, another shift are refused."""
    part = build_part([(law, 1)], "symmetric", side, EPSILON, TARGET, Fraction(step) * (1 - Fraction(1, 2**100)))
    kind, arithmetic, to = part.kinds[0], Arithmetic(side, part.bits, 1 << part.bits), 1 if side == "below" else -1

    def accepted(masses: tuple[int, ...], law: Any = law) -> bool:
        bound = arithmetic.delta(Composed(kind.low, list(masses), kind.infinity), part.epsilon, part.step)
        return is_accepted(replace(with_kind(part, masses=masses), bound=bound), [law])

    assert accepted(kind.masses) and is_accepted(part, [OTHER])
    found = [index for index, mass in enumerate(kind.masses[1:-1], 1) if mass >> 10]
    for index in found[::max(1, len(found) // 6)]:
        moved = list(kind.masses)
        by = moved[index] >> 3
        moved[index], moved[index + to] = moved[index] - by, moved[index + to] + by
        assert not accepted(tuple(moved)), index
    field = "sigma_squared" if isinstance(law, DiscreteGaussianLoss) else "scale"
    further, factor = (1, Fraction(9, 10)) if side == "above" else (-1, Fraction(10, 9))
    assert not accepted(kind.masses, replace(law, **{field: getattr(law, field) * factor}))
    moved_by = law.sensitivity + further
    assert not moved_by or not accepted(kind.masses, replace(law, sensitivity=moved_by))


@pytest.mark.parametrize("law", [DiscreteGaussianLoss(Fraction(10**8), 4000), DiscreteLaplaceLoss(Fraction(10**6), 1)])
def test_balls_compare_with_noise_whose_window_is_long(law: Any) -> None:
    """The program would list 10^5 numbers and more; the part says no more than that balls compared."""
    part = build_part([(law, 3)], "symmetric", "above", EPSILON, TARGET, Fraction(1, 16))
    for one in (law, SampledLoss(law, Fraction(1, 10), "remove")):
        assert compared_step(replace(part, order=one.order), one) is None
    near = replace(law, **{"sigma_squared" if isinstance(law, DiscreteGaussianLoss) else "scale": Fraction(4)})
    assert compared_step(part, near) is not None
    assert list(problem_words(part, [law]))[-1] == "given" and is_above(part, part.kinds[0], law)


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
def test_one_of_the_stated_orders_bounds_steps_of_known_renyi_divergences() -> None:
    """By hand at every common order; that order and its divergence count."""
    one, two = (RenyiLoss.of_divergences((Fraction(a), Fraction(e)) for a, e in stated) for stated in (
        (("2", "1/50"), ("8", "1/10"), ("16", "1/3")), (("2", "1/40"), ("16", "1/2"))))
    ((law, count),) = merged(((one, 3), (two, 1), (ZCDPLoss(Fraction(1, 100)), 2)))
    assert count == 1 and isinstance(law, RenyiLoss) and [power for power, _ in law.corners] == [1, 15]
    part, bounds = event_part([(law, 1)], "remove", "above", Fraction(2), TARGET), []
    for order, total in ((2, 3 / 50 + 1 / 40 + 2 * 2 / 100), (16, 3 / 3 + 1 / 2 + 2 * 16 / 100)):
        power = order - 1
        bounds.append(exp(power * (total - 2)) * power**power / order**order)
    assert part is not None and float(part.delta) == pytest.approx(min(bounds)) and is_accepted(part, [law])
    assert not is_accepted(replace(part, bound=part.bound - 8), [law])
    more = tuple((power, value * (1 + Fraction(1, 10**6))) for power, value in law.corners)
    assert not is_accepted(part, [replace(law, corners=more)])
    assert event_part([(law, 1)], "remove", "below", Fraction(2), TARGET) is None
    apart = RenyiLoss.of_divergences([(Fraction(3), Fraction(1, 10))])
    assert merged(((one, 1), (apart, 1))) == ((one, 1), (apart, 1))


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize(("shift", "epsilon"), [("1/4", "1"), ("3", "0"), ("1/10", "1"), ("50", "30")])
def test_one_event_bounds_plain_steps_on_both_sides(order: str, shift: str, epsilon: str) -> None:
    law, at = GaussianLoss(Fraction(shift), order), Fraction(epsilon)
    high, low = (event_part([(law, 1)], order, side, at, TARGET) for side in ("above", "below"))
    assert high is not None and low is not None and 0 < high.bound - low.bound < 8
    assert is_accepted(high, [law]) and is_accepted(low, [law])
    for part, by in ((high, -8), (low, 8)):
        assert not is_accepted(replace(part, bound=part.bound + by), [law])
        assert read_parts(json.loads(json.dumps([part_record(part)]))) == [part]
        worse = GaussianLoss(law.mean_shift_squared * (1 - Fraction(by, 10**6)), order)
        assert not is_accepted(part, [worse])
    with pytest.raises(InvalidCertificate):
        read_parts([part_record(replace(high, step=STEP))])


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize(("rho", "xi", "epsilon"), [("1/10", "0", "2"), ("5", "1/3", "26"), ("1/300", "0", "1/2")])
def test_one_moment_bounds_zcdp_steps(rho: str, xi: str, epsilon: str) -> None:
    """The bound is the least number that the program accepts, up to a few units, and every number counts."""
    law = ZCDPLoss(Fraction(rho), xi=Fraction(xi))
    part = event_part([(law, 1)], "remove", "above", Fraction(epsilon), TARGET)
    assert part is not None and is_accepted(part, [law]) and not is_accepted(replace(part, bound=part.bound - 8), [law])
    at, best = float(part.epsilon), 1.0
    for power in (index / 64 for index in range(1, 20000)):
        exponent = power * (float(law.xi) + float(law.rho) * (power + 1) - at)
        best = min(best, exp(min(0, exponent + power * log(power) - (1 + power) * log(1 + power))))
    assert best * (1 - 1e-9) < part.delta < best * 1.01
    for worse in (replace(law, rho=law.rho * Fraction(1001, 1000)), replace(law, xi=law.xi + Fraction(1, 1000))):
        assert not is_accepted(part, [worse])
    assert event_part([(law, 1)], "remove", "below", Fraction(epsilon), TARGET) is None
    together = replace(law, rho=2 * law.rho + 3, xi=5 * law.xi)
    assert merged(((law, 2), (replace(law, rho=Fraction(1)), 3))) == ((together, 1),)


@needs_checker
@pytest.mark.theorem("T120-integer-law-above", "T121-integer-law-below", "T122-formal-checker")
def test_losses_with_a_largest_value_end_on_the_grid() -> None:
    """Pure DP to the last: delta is 0 where the largest losses add up to epsilon, and no sooner."""
    laws: list[tuple[Any, int]] = [(OddsLoss(Fraction(1, 2), Fraction(0), 0), 2), (LaplaceLoss(Fraction(1, 3)), 3)]
    part = propose(laws, "remove", "above", Fraction(2), Fraction(0), lambda part: part.delta <= 0)
    assert part.bound == 0 and is_accepted(part, [law for law, _ in laws])
    assert all(is_above(part, kind, law) for kind, (law, _) in zip(part.kinds, laws, strict=True))
    assert not is_accepted(replace(part, epsilon=Fraction(1999, 1000)), [law for law, _ in laws])
    shorter = replace(part.kinds[0], masses=part.kinds[0].masses[:-1])
    assert not is_above(part, shorter, laws[0][0])
    assert build_part(laws, "remove", "above", Fraction(1999, 1000), Fraction(0), part.step).bound > 0
    (one, _), below = laws[0], Fraction(1, 10**9)
    high = propose([(one, 1)], "remove", "above", Fraction(1, 2) - below, below, lambda part: part.delta <= below)
    low = propose([(one, 1)], "remove", "below", Fraction(1, 2) - below, below, lambda part: part.delta > below / 2)
    assert low.delta < high.delta < below and is_accepted(high, [one]) and is_accepted(low, [one])


def random_problem(rng: random.Random) -> tuple[FormalPart, Any, int]:
    """A part that was altered in one place and composed again, the law that it is compared with, and its count."""
    order, side = rng.choice(["remove", "add"]), rng.choice(["above", "below"])
    epsilon, count = Fraction(rng.randint(0, 12), 8), rng.choice([1, 2, 3])
    law: Any = SampledGaussianLoss(Fraction(rng.randint(1, 9), 10), Fraction(rng.randint(6, 20), 10), order)
    if rng.random() < 0.25:
        law = random_outputs(rng, order)
        if rng.random() < 0.5:
            law = rng.choice([law, OddsLoss(Fraction(rng.randint(1, 16), 8), Fraction(rng.choice([0, 1]), 100), 0)])
            return moved_event(rng, law, order, "below", epsilon), law, 1
        side = "above"
    elif rng.random() < 0.3:
        guarantee = OddsLoss(Fraction(rng.randint(0, 12), 8), Fraction(rng.choice([0, 1, 7]), 1000), 0)
        side, share = "above", Fraction(rng.randint(1, 10), 10)
        law = guarantee if share == 1 else SampledAtomicLoss(guarantee, share, order)
        if rng.random() < 0.6:
            noisy = rng.choice([LaplaceLoss(Fraction(rng.randint(1, 12), 8)), *NOISES])
            law = noisy if share == 1 else (noisy.on_sample(share, order) or SampledLoss(noisy, share, order))
            side = rng.choice(["above", "below"]) if share == 1 else side
    elif rng.random() < 0.4:
        plain = GaussianLoss(Fraction(rng.randint(1, 40), 20), order)
        return moved_event(rng, plain, order, side, epsilon), plain, 1
    elif rng.random() < 0.3:
        order, law = "symmetric", replace(law, order="symmetric")
    part = build_part([(law, count)], order, side, epsilon, TARGET, Fraction(1, 8))
    kind, what = part.kinds[0], rng.randrange(4)
    index, by = rng.randrange(len(kind.masses)), rng.choice([-1, 1]) * rng.getrandbits(rng.randint(1, part.bits))
    if what == 0:
        part = changed_mass(part, index, max(by, -kind.masses[index]))
    elif what == 1:
        part = with_kind(part, infinity=max(0, kind.infinity + by))
    elif what == 2:
        part = with_kind(part, low=kind.low + rng.choice([-1, 1]))
    else:
        law = changed_law(law, Fraction(by, 1 << part.bits + 3))
    kind, arithmetic = part.kinds[0], Arithmetic(side, part.bits, 1 << part.bits)
    composed, products = arithmetic.power(Composed(kind.low, list(kind.masses), kind.infinity), count)
    return replace(part, products=tuple(products), bound=arithmetic.delta(composed, epsilon, part.step)), law, count


def moved_event(rng: random.Random, law: Any, order: str, side: str, epsilon: Fraction) -> FormalPart:
    """A part without a law, its bound altered."""
    event = event_part([(law, 1)], order, side, epsilon, TARGET)
    assert event is not None
    return replace(event, bound=max(0, event.bound + rng.choice([-1, 1]) * rng.getrandbits(rng.randint(1, 140))))


def random_outputs(rng: random.Random, order: str) -> Any:
    """A few, on a random batch or not."""
    size = rng.randint(2, 4)
    P, Q = ([rng.randint(0, 9) for _ in range(size)] for _ in "PQ")
    P[0], Q[1] = P[0] + 1, Q[1] + 1
    masses = tuple((Fraction(p, sum(P)), Fraction(q, sum(Q))) for p, q in zip(P, Q, strict=True))
    base, share = FiniteLoss(masses, "remove"), Fraction(rng.randint(1, 10), 10)
    return base.in_order(order) if share == 1 else SampledAtomicLoss(base, share, order)


def changed_law(law: Any, share: Fraction) -> Any:
    if isinstance(law, FiniteLoss):
        (p, q), *rest = law.masses
        moved = [(p * (1 - share), q), *rest[:-1], (rest[-1][0] + p * share, rest[-1][1])]
        return replace(law, masses=tuple(moved)) if all(part >= 0 for part, _ in moved) else law
    if isinstance(law, SampledGaussianLoss):
        assert isinstance(law.noise_multiplier, Fraction)
        return replace(law, noise_multiplier=law.noise_multiplier * (1 + share))
    if isinstance(law, OddsLoss):
        return replace(law, epsilon=law.epsilon * (1 + share))
    if isinstance(law, LaplaceLoss):
        return replace(law, ratio=law.ratio * (1 + share))
    if isinstance(law, DiscreteGaussianLoss):
        return replace(law, sigma_squared=law.sigma_squared * (1 + share))
    if isinstance(law, DiscreteLaplaceLoss):
        return replace(law, scale=law.scale * (1 + share))
    return replace(law, base=changed_law(law.base, share))


def mechanism_of(law: Any) -> Any:
    """What has this loss."""
    if isinstance(law, FiniteLoss):
        return Finite(*zip(*law.in_order("remove").masses, strict=True))
    if isinstance(law, OddsLoss):
        return ApproximateDP(law.epsilon, law.infinity_mass)
    if isinstance(law, LaplaceLoss):
        return Laplace(1, law.ratio)
    if isinstance(law, DiscreteGaussianLoss):
        return DiscreteGaussian(law.sigma_squared, law.sensitivity)
    if isinstance(law, DiscreteLaplaceLoss):
        return DiscreteLaplace(law.scale, law.sensitivity)
    if isinstance(law, SampledAtomicLoss | SampledLoss):
        return PoissonSampled(mechanism_of(law.base), law.probability)
    return PoissonSampled(Gaussian(law.noise_multiplier), law.sampling_probability)


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 500), marks=pytest.mark.long)])
def test_no_false_problem_is_accepted(seeds: range) -> None:
    """Altered problems, each composed again so that only the comparison with the step's own loss can refuse it."""
    verdicts = []
    for seed in seeds:
        part, law, count = random_problem(random.Random(seed))
        if not is_accepted(part, [law]):
            verdicts.append(False)
            continue
        verdicts.append(True)
        if not part.kinds:
            true = law.enclose_hockey_stick(arb(part.epsilon.numerator) / part.epsilon.denominator)
            low, high = true.lower(), true.upper()
        else:
            composition = Composition(((mechanism_of(law), count),))
            relation = Relation.REPLACE if part.order == "symmetric" else Relation.of(part.order)
            found = privacy_profile(Spec(relation, composition)).delta(part.epsilon, 10)
            ends = (found.lower.as_fraction(), found.upper.as_fraction())
            low, high = (arb(end.numerator) / end.denominator for end in ends)
        bound = arb(part.bound) / (1 << part.bits)
        assert not (bound < low if part.side == "above" else bound > high), seed
    assert any(verdicts) and not all(verdicts)


ASKED = """require(process.argv[1]);
process.stdout.write(formalChecker(require("fs").readFileSync(0, "latin1")));"""


@needs_checker
@pytest.mark.skipif(not CHECKER.with_suffix(".js").is_file() or shutil.which("node") is None,
                    reason="needs js_of_ocaml at `make proofs`, and node")
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 100), marks=pytest.mark.long)])
def test_the_program_for_browsers_gives_the_same_answers(seeds: range) -> None:
    """Its integers are written by hand (checker_page.js), where the other program has zarith's."""
    def ask(*command: str) -> str:
        return subprocess.run(command, input=problem, capture_output=True, text=True, check=False).stdout.strip()

    answers = []
    for seed in seeds:
        part, law, _ = random_problem(random.Random(seed))
        problem = "\n".join(map(str, problem_words(part, [law])))
        answers.append(ask("node", "-e", ASKED, str(CHECKER.with_suffix(".js"))))
        assert answers[-1] == ask(str(CHECKER)), seed
    assert {answer.splitlines()[-1] for answer in answers} == {"accepted", "rejected"}


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
def test_the_program_compares_in_one_order() -> None:
    """What the theorem speaks of: every sampled Gaussian in the order of the whole."""
    other = replace(LAW, order="add")
    part = build_part([(LAW, 1)], "remove", "above", EPSILON, TARGET, STEP)
    assert compared_step(part, LAW) == GaussianStep("remove", Fraction(1, 10), Fraction(2))
    assert compared_step(part, other) is None
    words = [str(word) for word in problem_words(part, [LAW])]
    place = words.index("sampled")
    assert words[place - 1] == "remove"

    def answer(at: int, word: str) -> tuple[int, str]:
        text = "\n".join([*words[:at], word, *words[at + 1:]])
        done = subprocess.run([str(CHECKER)], input=text, capture_output=True, text=True, check=False)
        return done.returncode, "".join(done.stdout.splitlines()[-1:])

    assert answer(place - 1, "remove") == (0, "accepted")
    assert answer(place - 1, "add") == (1, "rejected")
    assert answer(place - 1, "none") == (2, "") and answer(place, "given") == (2, "") == answer(len(words) - 1, "")
    assert all(answer(1, text) == (2, "") for text in ("-", "0x28", f"0{part.bits}", f"+{part.bits}", f"{part.bits}_"))
    below = build_part([(LAW, 1)], "remove", "below", EPSILON, TARGET, STEP)
    words = [str(word) for word in problem_words(below, [LAW])]
    place = words.index("sampled")
    assert answer(place - 1, "remove") == (0, "accepted")
    assert answer(place - 1, "add") == (1, "rejected") == answer(0, "above")


@pytest.mark.theorem("T120-integer-law-above", "T121-integer-law-below")
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2)])
def test_bounds_bracket_the_contour(epsilon: Fraction) -> None:
    known = PROFILE.delta(epsilon, 8)
    size = Fraction(known.upper.as_fraction())
    most, least = (build_part([(LAW, COUNT)], "remove", side, epsilon, size, STEP / 4) for side in ("above", "below"))
    assert least.delta <= known.upper and known.lower <= most.delta
    assert most.delta - least.delta < size / 2


# ---------- the composition in integers ----------


def exact_delta(law: dict[int, Fraction], infinity: Fraction, count: int, weight: Callable[[int], arb]) -> arb:
    """delta of the count-fold convolution, its masses exact."""
    power, at_infinity = {0: Fraction(1)}, Fraction(0)
    for _ in range(count):
        at_infinity = at_infinity * (sum(law.values()) + infinity) + sum(power.values()) * infinity
        product: dict[int, Fraction] = {}
        for (i, p), (j, q) in ((a, b) for a in power.items() for b in law.items()):
            product[i + j] = product.get(i + j, Fraction(0)) + p * q
        power = product
    total = arb(at_infinity.numerator) / at_infinity.denominator
    for index, mass in power.items():
        total += arb(mass.numerator) / mass.denominator * weight(index)
    return total


@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("count", [1, 2, 3, 6, 7])
def test_integers_bracket_an_exact_convolution(count: int) -> None:
    bits, step, epsilon = 40, Fraction(1, 3), Fraction(1, 2)
    masses, infinity = [3 << 36, 5 << 35, 0, 7 << 36, 123456789], 1 << 20
    law = {index - 2: Fraction(mass, 1 << bits) for index, mass in enumerate(masses)}

    def weight(index: int) -> arb:
        past = epsilon - index * step
        return (1 - (arb(past.numerator) / past.denominator).exp()).max(arb(0))

    exact = exact_delta(law, Fraction(infinity, 1 << bits), count, weight)
    bounds = {}
    for side in ("above", "below"):
        arithmetic = Arithmetic(side, bits, 1 << 30)
        composed, products = arithmetic.power(Composed(-2, masses, infinity), count)
        bounds[side] = arithmetic.delta(composed, epsilon, step)
        part = FormalPart("remove", side, epsilon, step, bits, 200, (Kind(count, -2, infinity, tuple(masses)),),
                          tuple(products), bounds[side])
        assert not BUILT or is_accepted(part, [OTHER])
    scaled = exact * (1 << bits)
    assert arb(bounds["below"]) <= scaled <= arb(bounds["above"])
    assert bounds["above"] - bounds["below"] < 1 << 12


@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize(("low", "factor"), [(-7, 3), (-8, 4), (-1, 2), (5, 7)])
def test_a_coarser_grid_is_above(low: int, factor: int) -> None:
    """delta does not fall anywhere, is the same at the points that stay, and no mass is lost."""
    bits, step = 60, Fraction(1, 8)
    arithmetic = Arithmetic("above", bits, 0, step)
    law = Composed(low, [random.Random(low + factor).getrandbits(50) for _ in range(23)], 12345)
    coarse = arithmetic.coarsen(law, factor)
    assert (coarse.scale, sum(coarse.masses), coarse.infinity) == (factor, sum(law.masses), law.infinity)

    def delta(law: Composed, epsilon: float) -> float:
        losses = ((law.low + index) * law.scale * float(step) for index in range(len(law.masses)))
        return law.infinity + sum(m * max(0.0, 1 - exp(epsilon - x)) for m, x in zip(law.masses, losses, strict=True))

    points = [index / 16 for index in range(-40, 80)]
    assert all(delta(coarse, at) >= delta(law, at) * (1 - 1e-12) for at in points)
    assert any(delta(coarse, at) > delta(law, at) * 1.001 for at in points)
    for index in range(coarse.low, coarse.low + len(coarse.masses)):
        at = index * factor * float(step)
        assert delta(coarse, at) == pytest.approx(delta(law, at), rel=1e-9)


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
def test_the_program_goes_on_to_coarser_grids() -> None:
    """200 steps from above: fewer points at the end, hardly more delta, and no hint of a grid can be altered."""
    law, count = SampledGaussianLoss(Fraction(1, 50), Fraction(1), "remove"), 200
    plain, part = (build_part([(law, count)], "remove", "above", EPSILON, TARGET, Fraction(1, 256), fine=fine)
                   for fine in (False, True))
    asked = [hint.coarser for hint in part.products]
    assert max(asked) == 2 and {hint.coarser for hint in plain.products} == {1}
    assert is_accepted(part, [law]) and read_parts(json.loads(json.dumps([part_record(part)]))) == [part]
    truth = privacy_profile(Spec(Relation.REMOVE, Composition(((mechanism_of(law), count),)))).delta(EPSILON, 10)
    assert truth.upper < part.delta < 1.01 * plain.delta
    for index, coarser in enumerate(asked):
        for other in {1, 2, 3, 4} - {coarser}:
            products = list(part.products)
            products[index] = replace(products[index], coarser=other)
            assert not is_accepted(replace(part, products=tuple(products)), [law])
    below = build_part([(law, count)], "remove", "below", EPSILON, TARGET, Fraction(1, 64), fine=True)
    products = [replace(below.products[0], coarser=2), *below.products[1:]]
    assert is_accepted(below, [law]) and not is_accepted(replace(below, products=tuple(products)), [law])


@pytest.mark.theorem("T122-formal-checker")
def test_several_kinds_bracket_an_exact_convolution() -> None:
    """3 steps of one law, 2 of another, 1 of a third, exactly and by the program."""
    bits, step, epsilon = 40, Fraction(1, 3), Fraction(1, 2)
    kinds = [Kind(3, -2, 1 << 20, (3 << 36, 5 << 35, 0, 7 << 36, 123456789)),
             Kind(2, -1, 0, (1 << 38, 1 << 37, 1 << 39)), Kind(1, -3, 7, (1 << 35, 1 << 36, 1 << 39, 5))]
    exact, lost = {0: Fraction(1)}, Fraction(0)
    for kind in (each for each in kinds for _ in range(each.count)):
        law = {kind.low + index: Fraction(mass, 1 << bits) for index, mass in enumerate(kind.masses)}
        infinity = Fraction(kind.infinity, 1 << bits)
        lost = lost * (sum(law.values()) + infinity) + sum(exact.values()) * infinity
        exact = {k: sum((p * law.get(k - i, Fraction(0)) for i, p in exact.items()), Fraction(0))
                 for k in range(min(exact) + min(law), max(exact) + max(law) + 1)}
    total = arb(lost.numerator) / lost.denominator
    for index, mass in exact.items():
        past = epsilon - index * step
        weight = (1 - (arb(past.numerator) / past.denominator).exp()).max(arb(0))
        total += arb(mass.numerator) / mass.denominator * weight
    bounds = {}
    for side in ("above", "below"):
        arithmetic = Arithmetic(side, bits, 1 << 30)
        composed, products = arithmetic.series([(Composed(k.low, list(k.masses), k.infinity), k.count) for k in kinds])
        bounds[side] = arithmetic.delta(composed, epsilon, step)
        part = FormalPart("remove", side, epsilon, step, bits, 200, tuple(kinds), tuple(products), bounds[side])
        if BUILT:
            assert is_accepted(part, [OTHER] * 3) and not is_accepted(replace(part, kinds=part.kinds[:2]), [OTHER] * 2)
            assert not any(is_accepted(replace(part, products=(*products[:i], *products[i + 1:])), [OTHER] * 3)
                           for i in range(len(products)))
    assert arb(bounds["below"]) <= total * (1 << bits) <= arb(bounds["above"])
    assert bounds["above"] - bounds["below"] < 1 << 12


def altered(part: FormalPart) -> Iterator[tuple[str, FormalPart]]:
    """The part with one number changed, in every way that matters."""
    kind = part.kinds[0]
    for index in (0, largest(part), len(kind.masses) // 3, len(kind.masses) - 1):
        yield f"mass {index}", changed_mass(part, index, 1)
    for by in (-1, 1):
        for name in ("bound", "bits"):
            yield f"{name} {by}", replace(part, **{name: max(0, getattr(part, name) + by)})
        for name in ("count", "low", "infinity"):
            value = getattr(kind, name) + by
            yield f"{name} {by}", with_kind(part, **{name: value if name == "low" else max(0, value)})
        yield f"epsilon {by}", replace(part, epsilon=part.epsilon + Fraction(by, 10**9))
        yield f"step {by}", replace(part, step=part.step + Fraction(by, 10**9))
        for index, product in enumerate(part.products):
            for name in ("first", "last", "sum", "infinity", "coarser"):
                products = list(part.products)
                products[index] = replace(product, **{name: getattr(product, name) + by})
                yield f"product {index} {name} {by}", replace(part, products=tuple(products))
    yield "no last hint", replace(part, products=part.products[:-1])
    yield "a hint more", replace(part, products=(*part.products, part.products[-1]))
    yield "side", replace(part, side="above" if part.side == "below" else "below")


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("part", [ABOVE, BELOW], ids=["above", "below"])
def test_checker_accepts_and_refuses(part: FormalPart) -> None:
    assert is_accepted(part, [LAW])
    same = {"infinity -1"} if part.kinds[0].infinity == 0 else set()
    for law in (LAW, OTHER):
        assert [name for name, other in altered(part) if name not in same and is_accepted(other, [law])] == []


@needs_checker
@pytest.mark.long
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize("side", ["above", "below"])
def test_checker_on_dp_sgd(side: str) -> None:
    """q = 0.01, sigma = 1, 1000 steps, eps = 2."""
    law = SampledGaussianLoss(Fraction(1, 100), Fraction(1), "remove")
    part = build_part([(law, 1000)], "remove", side, Fraction(2), Fraction(1, 10**5), Fraction(1, 2**12))
    assert 4096 <= part.points <= 16384
    assert (above if side == "above" else below)(part, law) and is_accepted(part, [law])
    chosen = ("mass", "count", "bound", "epsilon", "product 0", "product 7", "product 13")
    assert [name for name, other in altered(part) if name.startswith(chosen) and is_accepted(other, [law])] == []


# ---------- certificates ----------


def certificate(delta: str) -> Document:
    claim = Claim("a test", "none", Fraction(1), Fraction(delta), "1", delta)
    mechanism = PoissonSampled(Gaussian(noise_multiplier="2"), "0.1")
    spec = Spec(Relation.ADD_OR_REMOVE, Composition(((mechanism, COUNT),)), claim)
    return build_certificate(spec, *privacy_profile(spec).solve_claim(claim, 6, "auto", None))


@pytest.fixture(scope="module")
def proved() -> Document:
    return with_formal(certificate("2e-3"))


def test_formal_part_survives_the_other_checks(proved: Document) -> None:
    assert proved["verdict"] == "proved" and verify(json.dumps(proved)).valid
    assert [part["order"] for part in proved["formal"]] == ["remove", "add"]
    assert [part_record(part) for part in read_parts(proved["formal"])] == proved["formal"]
    assert verify({**proved, "formal": []}).field == "formal"


@needs_checker
def test_certificates_are_verified(proved: Document) -> None:
    assert verify_formal(proved).valid
    refuted = with_formal(certificate("1e-5"))
    assert refuted["verdict"] == "refuted" and verify_formal(refuted).verdict == "refuted"


@needs_checker
def test_a_certificate_of_two_kinds_is_verified() -> None:
    claim = Claim("a test", "none", Fraction(1), Fraction("8e-3"), "1", "8e-3")
    steps = ((PoissonSampled(Gaussian(noise_multiplier="2"), "0.1"), COUNT),
             (PoissonSampled(Gaussian(noise_multiplier="1.5"), "0.05"), 10))
    spec = Spec(Relation.REMOVE, Composition(steps), claim)
    found = with_formal(build_certificate(spec, *privacy_profile(spec).solve_claim(claim, 6, "auto", None)))
    assert sorted(kind["count"] for kind in found["formal"][0]["kinds"]) == [10, COUNT]
    check = verify_formal(found)
    assert check.valid and "sampled_gaussian_private" in str(check.reason)
    content = json.loads(json.dumps(found))
    content["formal"][0]["kinds"].reverse()
    with pytest.raises(InvalidCertificate):
        verify_formal(sealed(content))


def peak(part: Document) -> int:
    """Where the largest mass is."""
    masses = [int(mass) for mass in part["kinds"][0]["masses"]]
    return masses.index(max(masses))


def raise_peak(part: Document) -> None:
    masses = part["kinds"][0]["masses"]
    masses[peak(part)] = str(int(masses[peak(part)]) + 1)


@needs_checker
@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda part: part["kinds"][0].update(count=part["kinds"][0]["count"] + 1), "kinds"),
        (lambda part: part.update(kinds=part["kinds"] * 2), "kinds"),
        (lambda part: part.update(kinds=[]), "kinds"),
        (lambda part: part.update(epsilon="5*2^-2"), "formal"),
        (lambda part: part.update(bound=str(int(part["bound"]) - 1)), "formal"),
        (lambda part: part.update(bound="0" + part["bound"]), "bound"),
        (lambda part: part["kinds"][0]["masses"].__setitem__(peak(part), "0"), "masses"),
        (lambda part: raise_peak(part), "formal[0]"),
        (lambda part: part["products"][2].__setitem__(2, "17"), "formal[0]"),
        (lambda part: part["products"][2].__setitem__(1, 10**14), "products"),
        (lambda part: part.update(order="symmetric"), "formal"),
        (lambda part: part.update(order=["remove"]), "formal"),
        (lambda part: part.update(
            prec=16000, kinds=[{**part["kinds"][0], "masses": part["kinds"][0]["masses"] * 1000}]), "formal"),
        (lambda part: part.update(side="below"), "formal"),
    ],
)
def test_altered_parts_are_refused(proved: Document, change: Callable[[Any], None], field: str) -> None:
    content = json.loads(json.dumps(proved))
    change(content["formal"][0])
    with pytest.raises(InvalidCertificate) as error:
        verify_formal(sealed(content))
    assert field in error.value.field


@pytest.mark.theorem("T122-formal-checker")
def test_bounds_must_show_the_verdict() -> None:
    claim = Claim("", "", EPSILON, ABOVE.delta, "1", "x")
    losses = {loss.order: loss for loss in privacy_losses(
        Composition(((PoissonSampled(Gaussian(noise_multiplier="2"), "0.1"), COUNT),)), Relation.REMOVE)}
    check_purpose("proved", claim, [ABOVE], losses)
    check_purpose("refuted", replace(claim, delta=BELOW.delta / 2), [BELOW], losses)
    nearly_one = Fraction(99, 100)
    for verdict, part, delta in (("proved", ABOVE, ABOVE.delta * nearly_one), ("proved", BELOW, nearly_one),
                                 ("refuted", BELOW, BELOW.delta), ("refuted", ABOVE, Fraction(1, 10**9)),
                                 ("undecided", ABOVE, nearly_one)):
        with pytest.raises(InvalidCertificate):
            check_purpose(verdict, replace(claim, delta=delta), [part], losses)
    for verdict, delta in (("proved", ABOVE.delta), ("refuted", BELOW.delta / 2)):  # a part that shows something else
        with pytest.raises(InvalidCertificate, match="side"):
            check_purpose(verdict, replace(claim, delta=delta), [ABOVE, BELOW], losses)


def test_command_line(tmp_path: Path, proved: Document, capsys: pytest.CaptureFixture[str],
                      monkeypatch: pytest.MonkeyPatch) -> None:
    plain, formal = tmp_path / "plain.json", tmp_path / "formal.json"
    plain.write_text(json.dumps(sealed({key: value for key, value in proved.items() if key != "formal"})))
    formal.write_text(json.dumps(proved))
    assert main(["verify", "--formal", str(plain)]) == 3
    assert "no formal part" in capsys.readouterr().err
    if BUILT:
        assert main(["verify", "--formal", str(formal)]) == 0
        assert "Trusted" in capsys.readouterr().out
    monkeypatch.setattr(formal_module, "CHECKER", tmp_path / "nothing")
    monkeypatch.setenv("VERIFIED_DP_FORMAL_CHECKER", str(tmp_path / "plain.json"))
    assert main(["verify", "--formal", str(formal)]) == 3
    assert "make proofs" in capsys.readouterr().err
    assert main(["verify", "--formal-checker", str(tmp_path / "nothing"), str(formal)]) == 2
    *_, last = capsys.readouterr().err.splitlines()
    assert "formal-checker must be the path of a program" in last


def program(place: Path, words: str) -> Path:
    """A program of our own in the place of the extracted one."""
    place.write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
    place.chmod(0o755)
    return place


OWN = build_part([(LAW, 3)], "remove", "above", Fraction(3, 2), TARGET, STEP)
"""No two fields of it are equal."""
TELL = """import sys
words = iter(sys.stdin.read().split())
take = lambda count: " ".join(next(words) for _ in range(int(count)))
print(next(words))
print("bits", take(1))
print("epsilon", take(2)); print("step", take(2))
kinds = int(next(words))
for _ in range(kinds):
    print("kind", take(3), take(next(words)))
for _ in range(int(next(words))):
    print("hint", take(5))
print("bound", take(1))
order = next(words)
print("order-" + order)
for _ in range(kinds):
    print(*["given"] if next(words) == "given" else ["sampled-" + order, take(7), take(next(words))])
"""
"""Read a problem and say which, as the extracted program does."""


def telling(place: Path, answer: str = "echo accepted", script: str = TELL) -> Path:
    """A program that says which problem it read, and decides without looking at it."""
    place.with_suffix(".py").write_text(script, encoding="utf-8")
    return program(place, f'"{sys.executable}" "{place.with_suffix(".py")}" || exit 3; {answer}')


def test_another_program_is_named_in_the_answer(
    tmp_path: Path, proved: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "formal.json").write_text(json.dumps(proved))
    yes = telling(tmp_path / "yes")
    assert main(["verify", "--formal-checker", str(yes), str(tmp_path / "formal.json"), "--json"]) == 0
    assert f"accepted by the program {yes}" in json.loads(capsys.readouterr().out)["reason"]
    no = telling(tmp_path / "no", "echo rejected; exit 1")
    assert main(["verify", "--formal-checker", str(no), str(tmp_path / "formal.json")]) == 1


SWAPS = [
    ('print("epsilon", take(2)); print("step", take(2))', 'e = take(2); print("epsilon", take(2)); print("step", e)'),
    ('print("kind", take(3),', 'c, l, i = take(3).split(); print("kind", c, i, l,'),
    ('print("hint", take(5))', 'f, l, s, i, c = take(5).split(); print("hint", f, l, i, s, c)'),
    ('"sampled-" + order, take(7),', '"sampled-" + order, *[take(2), take(2)][::-1], take(3),'),
    ('print("order-" + order)', 'print("order-none")'),
    ('print("bound", take(1))', 'take(1)'),
]
"""What a reader might do wrong."""


@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize(("right", "wrong"), SWAPS, ids=["epsilon", "kind", "hint", "sampled", "order", "bound"])
def test_a_reader_that_takes_one_field_for_another_is_caught(tmp_path: Path, right: str, wrong: str) -> None:
    assert TELL.count(right) == 1
    assert is_accepted(OWN, [LAW], str(telling(tmp_path / "right")))
    with pytest.raises(Unsupported, match="decided another problem"):
        is_accepted(OWN, [LAW], str(telling(tmp_path / "wrong", script=TELL.replace(right, wrong))))


@pytest.mark.theorem("T122-formal-checker")
def test_a_program_that_decided_another_problem_is_refused(tmp_path: Path) -> None:
    """It accepts, but speaks of a problem with one number changed; and one that says nothing, or too much."""
    answer = tmp_path / "answer"
    fake = str(program(tmp_path / "fake", f'cat > /dev/null; cat "{answer}"'))

    def accepts(rows: list[str]) -> bool:
        answer.write_text("\n".join([*rows, "accepted"]) + "\n", encoding="utf-8")
        return is_accepted(ABOVE, [LAW], fake)

    mine = list(told_rows(ABOVE, [LAW]))
    assert accepts(mine) and accepts([*mine[:-1], mine[-1] + " 1 2 3"])
    others = [list(told_rows(part, [LAW])) for _, part in altered(ABOVE)]
    others += [list(told_rows(ABOVE, [law])) for law in (OTHER, replace(LAW, noise_multiplier=Fraction(3)))]
    others += [mine[:-1], [*mine, mine[-1]], [], [*mine[:-1], mine[-1] + "0"], [mine[1], mine[0], *mine[2:]]]
    same = [rows for rows in others if rows == mine]
    assert len(same) == (ABOVE.kinds[0].infinity == 0)
    for rows in others:
        if rows != mine:
            with pytest.raises(Unsupported, match="decided another problem"):
                accepts(rows)


@needs_checker
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize(("one", "other"), [(2, 4), (3, 5), (6, 7)], ids=["numerators", "denominators", "law"])
def test_python_that_writes_another_problem_is_caught(monkeypatch: pytest.MonkeyPatch, one: int, other: int) -> None:
    words = list(problem_words(OWN, [LAW]))
    words[one + (one == 6)], words[other + (one == 6)] = words[other + (one == 6)], words[one + (one == 6)]
    monkeypatch.setattr(formal_module, "problem_words", lambda part, laws: iter(words))
    with pytest.raises(Unsupported, match="decided another problem"):
        is_accepted(OWN, [LAW])


@pytest.mark.skipif(not BUILT or shutil.which("ocamlfind") is None, reason="needs OCaml, and `make proofs`")
@pytest.mark.theorem("T122-formal-checker")
@pytest.mark.parametrize(("one", "other"), [("eps_num", "h_num"), ("first_index", "last_index"), ("count", "inf")])
def test_the_ocaml_reader_cannot_swap_two_fields(tmp_path: Path, one: str, other: str) -> None:
    """The program is built anew with a reader that takes two numbers for each other: it tells on itself."""
    for name in ("checker.ml", "checker.mli"):
        shutil.copy(CHECKER.parent / name, tmp_path)
    source = (COQ / "checker_main.ml").read_text(encoding="utf-8")
    swapped = (source.replace(f"let {one} = number ()", "let SWAPPED = number ()")
               .replace(f"let {other} = number ()", f"let {one} = number ()").replace("SWAPPED", other))
    for name, text, caught in (("same", source, False), ("swapped", swapped, True)):
        (tmp_path / f"{name}.ml").write_text(text, encoding="utf-8")
        subprocess.run(["ocamlfind", "ocamlopt", "-package", "zarith", "-linkpkg", "checker.mli", "checker.ml",
                        f"{name}.ml", "-o", name], cwd=tmp_path, check=True, capture_output=True)
        if not caught:
            assert is_accepted(OWN, [LAW], str(tmp_path / name))
            continue
        with pytest.raises(Unsupported, match="decided another problem"):
            is_accepted(OWN, [LAW], str(tmp_path / name))


def test_what_is_trusted_is_named_whole() -> None:
    """Reader, the Python that writes the problem and compares, the theorems' hypothesis; and how long the reader is."""
    assert "proofs/coq/README.md" in (ROOT / "README.md").read_text(encoding="utf-8")  # which says it in a line
    names = ("proofs/README.md", "proofs/coq/README.md", "proofs/verifiers/T122-formal-checker.md")
    pages = {name: " ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in names}
    parts = ("extraction", "OCaml compiler", "zarith", "checker_main.ml", "Python that writes")
    for text in (formal_module.TRUST, formal_module.TRUST_LOSSES, formal_module.TRUST_SAMPLED, *pages.values()):
        assert [part for part in parts if part not in text] == []
    for text in (formal_module.TRUST_SAMPLED, *pages.values()):
        assert "`expect`" in text and "iterated Riemann integral" in text
    lines = len((COQ / "checker_main.ml").read_text(encoding="utf-8").splitlines())
    assert f"`checker_main.ml` ({lines} lines)" in pages["proofs/coq/README.md"]


def test_only_the_program_that_was_built_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = telling(tmp_path / "built")
    monkeypatch.setattr(formal_module, "CHECKER", built)
    monkeypatch.setattr(formal_module, "HASH", tmp_path / "built.sha256")
    with pytest.raises(Unsupported, match="not built"):
        is_accepted(ABOVE, [LAW])
    (tmp_path / "built.sha256").write_text(hashlib.sha256(built.read_bytes()).hexdigest() + "\n", encoding="ascii")
    assert is_accepted(ABOVE, [LAW])
    program(built, "echo accepted  # something else")
    with pytest.raises(Unsupported, match="not the program"):
        is_accepted(ABOVE, [LAW])


def test_the_checker_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that wants more memory or time than it may have decides nothing."""
    assert formal_module.MAX_SECONDS <= 900 and formal_module.MAX_MEMORY <= 8192
    large = telling(tmp_path / "large", "echo accepted", f"len(bytes(300 << 20))\n{TELL}")
    assert is_accepted(ABOVE, [LAW], str(large))
    monkeypatch.setattr(formal_module, "MAX_MEMORY", 200)
    with pytest.raises(Unsupported, match="failed"):
        is_accepted(ABOVE, [LAW], str(large))
    monkeypatch.setattr(formal_module, "MAX_SECONDS", 0.2)
    with pytest.raises(Unsupported, match="did not finish"):
        is_accepted(ABOVE, [LAW], str(program(tmp_path / "slow", "exec sleep 60")))


def test_the_build_keeps_the_niceness_it_was_given(load: Callable[..., ModuleType]) -> None:
    assert load(COQ / "build.py", "coq_build").run("nice", cwd=COQ).stdout.strip() == str(os.nice(0))


@pytest.mark.long
@pytest.mark.skipif(shutil.which("coqchk") is None or not BUILT, reason="needs Coq, and `make proofs`")
def test_coqchk_accepts_what_is_compiled(load: Callable[..., ModuleType]) -> None:
    assert load(COQ / "build.py", "coq_build").recheck() is None


CLAIM = """relation = "remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "2"
count = 22
sampling = { scheme = "poisson", probability = "0.1" }
[claim]
title = "a test"
source = "none"
epsilon = "1"
delta = "2e-3"
"""


def test_certify_writes_it(tmp_path: Path) -> None:
    (tmp_path / "claim.toml").write_text(CLAIM, encoding="utf-8")
    assert main(["certify", "--formal", "--out", str(tmp_path), str(tmp_path / "claim.toml")]) == 0
    written = json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))
    assert [part.side for part in read_parts(written["formal"])] == ["above"] and verify(written).valid


def test_unsupported_claims() -> None:
    with pytest.raises(Unsupported):
        with_formal({**certificate("2e-3"), "verdict": "undecided"})


def test_what_reveals_nothing_has_no_step(certify_text: Callable[..., Document]) -> None:
    step = '[[mechanism]]\nkind = "discrete-gaussian-vector"\nsigma_squared = "21"\nsensitivity = "1/2"\n'
    with pytest.raises(Unsupported, match="nothing is revealed"):
        with_formal(certify_text("zero-out", step, "1", "0.1"))


# ---------- what Coq says ----------


@pytest.mark.theorem("T15-gaussian")
def test_digits_of_coq_interval() -> None:
    """The Gaussian's delta, enclosed by CoqInterval to 1e-10, digit by digit."""
    text = (COQ / "GaussianDigits.v").read_text(encoding="utf-8")
    found = re.findall(r"is_delta \(?([\d/]+)\)? \(?([\d/]+)\)? d -> Rabs \(d - (0\.\d{11})\) <= 1e-10", text)
    assert len(found) == 5
    for sigma, epsilon, digits in found:
        composition = Composition(((Gaussian(noise_multiplier=sigma), 1),))
        ours = privacy_profile(Spec(Relation.REMOVE, composition)).delta(Fraction(epsilon), 14)
        low, high = (end.as_fraction() for end in (ours.lower, ours.upper))
        assert abs(low - Fraction(digits)) <= Fraction(1, 2 * 10**11) + (high - low)
        assert Fraction(digits) - Fraction(1, 10**10) <= low <= high <= Fraction(digits) + Fraction(1, 10**10)


def test_axioms_are_quoted() -> None:
    listed = (COQ / "axioms.txt").read_text(encoding="utf-8")
    reals = listed.partition("[reals]\n")[2].partition("#")[0].split()
    readme = (ROOT / "proofs" / "README.md").read_text(encoding="utf-8")
    assert len(reals) == 4 and all(axiom in readme for axiom in reals)


@pytest.fixture
def build(load: Callable[..., Any]) -> Any:
    """proofs/coq/build.py as a module."""
    return load(COQ / "build.py", "coq_build")


def test_build_refuses_what_is_not_proved(build: Any) -> None:
    known, machine = "Classical_Prop.classic", "Uint63.add_spec"
    assert build.unexpected({"Extract.accepted_above": [known]}) == []
    assert build.unexpected({"Instances.response_private": [known, machine]}) == []
    assert build.unexpected({"Extract.accepted_above": [known, machine]})
    assert build.unexpected({"Instances.response_private": [known, "Law.dom_conv"]})
    for text in ("Lemma a : False. Admitted.", "Axiom a : False.", "Proof. admit.", "Parameter f : nat.",
                 "Unset Positivity Checking.", "#[bypass_check(guard)] Fixpoint f x := f x.", "Set Type In Type.",
                 'Extract Constant covers => "fun _ -> true".'):
        assert build.UNPROVED.search(text)
    assert not build.UNPROVED.search('Extraction "checker.ml" decide. Lemma a : True. Proof. auto. Qed.')
    printed = "Axioms:\nf is assumed to be guarded.\nLaw.a : forall P : Prop,\n  P\nLaw.long_name\n  : False\n"
    assert build.axioms_of(printed) == ["f is assumed to be guarded.", "Law.a", "Law.long_name"]


def test_theorems_that_are_named_are_checked(build: Any) -> None:
    """Print Assumptions lists what the answer names, and the guide quotes statements as they are."""
    checked = {name for names in build.THEOREMS.values() for name in names}
    named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", formal_module.TRUST_SAMPLED)) - {"checker_main"}
    assert "expect_exists" in named and named <= checked

    def plain(text: str) -> str:
        return " ".join(re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL).split())

    sources = [plain(path.read_text(encoding="utf-8")) for path in COQ.glob("*.v")]
    quoted = re.findall(r"```coq\n(.*?)```", (COQ / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(quoted) >= 4 and all(any(plain(text) in source for source in sources) for text in quoted)


def test_story_is_complete() -> None:
    """Every Coq file is built, in the order in which the reader's guide tells of it."""
    build = (COQ / "build.py").read_text(encoding="utf-8")
    listed = re.findall(r'"(\w+)"', build.partition("FILES = (")[2].partition(")")[0])
    assert sorted(listed) == sorted(path.stem for path in COQ.glob("*.v"))
    guide = (COQ / "README.md").read_text(encoding="utf-8")
    places = [guide.index(f"| `{name}.v`") for name in listed]
    assert all(before < after for before, after in pairwise(places))
