"""Witnesses from outside: whatever they hold, the enclosure contains delta, or the witness is refused.

Good witnesses are altered at random, in every field; the truth comes from closed forms and from quadrature.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest
from flint import arb

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.mixture_lines import mirrored
from verified_dp.core.engines.node_moment import EarlierChernoff, NodeMomentWitness
from verified_dp.core.engines.nodes import NodeRule, bound_line_error, bound_transform_beyond, enclose_nodes
from verified_dp.core.engines.rays import RaysWitness
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import lower_dyadic, upper_dyadic
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput, Undecided
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.search.lattice import plan_lattice
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.line import choose_line, choose_nodes, dyadic, plan_line
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.rays import choose_rays, plan_rays

REFUSALS = (InvalidInput, InvalidCertificate, Undecided, ArithmeticError, LookupError, ValueError)
"""What the certificate's checker takes for a refusal."""
STEPS = [
    ("remove", (("3/10", "1"),), "1/2"), ("add", (("9/10", "1/2"),), "1"), ("symmetric", (("3/10", "1"),), "1/2"),
    ("remove", (("3/10", "1"),), "-1/4"), ("symmetric", (("1/100", "3/5"),), "2"), ("add", (("3/10", "1"),), "-1/4"),
    ("remove", (("1/5", "1"), ("1/10", "7/10")), "3/4"), ("add", (("9/10", "1"), ("1/2", "4/5")), "1/2"),
    ("remove", (), "1"),
]

THREE = tuple((Fraction(n), Fraction(c, 64)) for n, c in enumerate((27, 27, 9, 1)))
"""How many of a group of 3 are on a sample of a quarter."""
ONE = ((Fraction(0), Fraction(1)),)
UNEVEN = ((Fraction(1, 2), Fraction(1, 5)), (Fraction(2), Fraction(4, 5))), ((Fraction(-2), Fraction(1, 3)),
                                                                            (Fraction(0), Fraction(2, 3)))
MIXTURES = [
    (MixtureLoss(Fraction(3, 2), THREE, ONE, "remove"), "1/2"),
    (MixtureLoss(Fraction(3, 2), THREE, ONE, "remove").in_order("add"), "1/4"),
    (MixtureLoss(Fraction(2), THREE, mirrored(THREE), "symmetric"), "1/2"),
    (MixtureLoss(Fraction(3), *UNEVEN, "remove"), "3/4"),
    (MixtureLoss(Fraction(3), *UNEVEN, "remove").in_order("add"), "1"),
]


Question = tuple[ComposedLoss, Fraction, object]


@dataclass(frozen=True)
class Case:
    """A loss, an eps, delta there with its relative uncertainty, and a good witness."""

    loss: ComposedLoss
    epsilon: Fraction
    truth: object
    witness: Witness


def proposals(loss: ComposedLoss, epsilon: Fraction, bits: float) -> Iterator[Witness]:
    """A line, two rays, a Chernoff exponent."""
    order = OneDirection(loss)
    saddle = order.saddle(epsilon)
    yield choose_line(order.model, plan_line(order.model, float(epsilon), saddle, bits))
    rays = plan_rays(order.model, float(epsilon), saddle, bits)
    if rays is not None:
        yield choose_rays(rays)
    if loss.parts:
        rules = tuple(choose_nodes(law, saddle.tilt, 8.0) for law, _ in order.model.parts)
        yield EarlierChernoff(dyadic(saddle.tilt), rules, 80).now()


def grid_proposals(loss: ComposedLoss, epsilon: Fraction) -> Iterator[Witness]:
    """Products and sums over frequencies on coarse grids."""
    model = LatticeModel(loss)
    for sparse in (False, True):
        witness = plan_lattice(model, float(epsilon), 0.1, Fraction(1, 12), sparse=sparse).witness
        if witness is not None:
            assert witness.in_integers != sparse
            yield witness


@pytest.fixture(scope="module")
def cases(questions: list[Question]) -> list[Case]:
    return [Case(loss, epsilon, truth, witness) for loss, epsilon, truth in questions for bits in (4.0, 12.0)
            for witness in proposals(loss, epsilon, bits) if witness.work(loss).units < 10**7]


@pytest.fixture(scope="module")
def grid_cases(questions: list[Question]) -> list[Case]:
    return [Case(loss, epsilon, truth, witness) for loss, epsilon, truth in questions if epsilon > 0
            for witness in grid_proposals(loss, epsilon)]


@pytest.fixture(scope="module")
def questions(oracle: ModuleType) -> list[Question]:
    """Losses with an eps and delta there."""
    found = []
    for order, steps, eps in STEPS:
        parts = tuple((SampledGaussianLoss(Fraction(q), Fraction(s), order), 1) for q, s in steps)
        loss, epsilon = ComposedLoss(order, parts, Fraction(0 if steps else 1)), Fraction(eps)
        if len(steps) == 2:
            truth = oracle.two_step_delta(order, steps_of(steps[0]), steps_of(steps[1]), epsilon)
        else:
            truth = oracle.single_delta(order, *steps_of(steps[0]), epsilon) if steps else oracle.gaussian_delta(
                1, epsilon)
        found.append((loss, epsilon, truth))
    for law, eps in MIXTURES:
        truth = oracle.mixture_delta(law.above, law.below, law.sigma, Fraction(eps))
        found.append((ComposedLoss(law.order, ((law, 1),), Fraction(0)), Fraction(eps), truth))
    return found


def steps_of(step: tuple[str, str]) -> tuple[Fraction, Fraction]:
    return Fraction(step[0]), Fraction(step[1])


def enclose(case: Case, witness: Witness) -> Bounds | None:
    """The enclosure, None where the witness is refused or dear."""
    try:
        most = 10**8 if isinstance(witness, LatticeWitness) else 1_500_000
        if witness.work(case.loss).units > most:
            return None
        return evaluate(case.loss, witness).delta(case.epsilon)
    except REFUSALS:
        return None


def attack(oracle: ModuleType, mutants: ModuleType, cases: list[Case], seed: int, count: int) -> tuple[int, int]:
    """How many altered witnesses were evaluated, and how many of them still enclose delta within a quarter."""
    rng, evaluated, narrow = random.Random(seed), 0, 0
    for _ in range(count):
        case = rng.choice(cases)
        witness = mutants.mutated(rng, case.witness)
        bounds = enclose(case, witness)
        if bounds is not None:
            lower_dyadic(bounds.lower), upper_dyadic(bounds.upper)
            assert 0 <= bounds.lower <= bounds.upper <= 1, (case, witness)
            assert oracle.inside(bounds, case.truth, "1e-14"), (case, witness)
            evaluated += 1
            narrow += bool(oracle.width(bounds) < Fraction(1, 4))
    return evaluated, narrow


@pytest.mark.theorem("T06-trapezoidal-enclosure", "T187-rays", "T10-node-tails", "T11-tail-for-free")
def test_altered_witnesses_prove_nothing_false(oracle: ModuleType, mutants: ModuleType, cases: list[Case]) -> None:
    evaluated, narrow = attack(oracle, mutants, cases, 3, 175)
    assert evaluated > 100 and narrow > 25


@pytest.mark.theorem("T27-convex-minorant", "T222-lattice-on-a-circle")
def test_altered_grids_prove_nothing_false(
        oracle: ModuleType, mutants: ModuleType, questions: list[Question]) -> None:
    """Grids, shifts, periods, covers: altered, they cost width or are refused."""
    few = [Case(*one, witness) for one in (*questions[:2], *questions[6:7], *questions[-2:])
           for witness in grid_proposals(*one[:2])]
    evaluated, narrow = attack(oracle, mutants, few, 5, 38)
    assert evaluated > 10 and narrow > 4


@pytest.mark.long
def test_many_altered_grids_prove_nothing_false(oracle: ModuleType, mutants: ModuleType,
                                                grid_cases: list[Case]) -> None:
    evaluated, narrow = attack(oracle, mutants, grid_cases, 6, 4000)
    assert evaluated > 1500 and narrow > 500


@pytest.mark.long
def test_many_altered_witnesses_prove_nothing_false(oracle: ModuleType, mutants: ModuleType,
                                                    cases: list[Case]) -> None:
    evaluated, narrow = attack(oracle, mutants, cases, 4, 12_000)
    assert evaluated > 6000 and narrow > 1500


BAD_RULES: dict[str, Callable[[NodeRule], NodeRule]] = {
    "negative step": lambda rule: replace(rule, step=-rule.step),
    "step 0": lambda rule: replace(rule, step=Fraction(0)),
    "negative step, mirrored window": lambda rule: replace(
        rule, step=-rule.step, first=-rule.last, last=-rule.first),
    "window backwards": lambda rule: replace(rule, first=rule.last, last=rule.first),
    "window of one node": lambda rule: replace(rule, first=0, last=0),
    "line on the axis": lambda rule: replace(rule, height=Fraction(0)),
    "line on the wrong side": lambda rule: replace(rule, height=-rule.height),
    "line beyond the strip": lambda rule: replace(rule, height=rule.height + 4),
    "strip too wide": lambda rule: replace(rule, half_width=rule.half_width + 4),
    "negative strip": lambda rule: replace(rule, half_width=-1 - rule.half_width),
    "step above 2 s": lambda rule: replace(rule, step=Fraction(21, 10)),
    "negative cells": lambda rule: replace(rule, cells=-1),
}


def spoiled(witness: Witness, alter: Callable[[NodeRule], NodeRule]) -> Iterator[Witness]:
    """The witness with the node rules of one of its places altered."""
    assert isinstance(witness, LineWitness | RaysWitness | NodeMomentWitness)
    for name in {LineWitness: ("nodes", "tail_nodes"), RaysWitness: ("nodes",)}.get(type(witness), ("families",)):
        yield replace(witness, **{name: tuple(alter(rule) for rule in getattr(witness, name))})


@pytest.mark.parametrize("name", BAD_RULES)
@pytest.mark.theorem("T08-shifted-line", "T10-node-tails", "T11-tail-for-free")
def test_inadmissible_rules_prove_nothing(cases: list[Case], name: str) -> None:
    """s = 1: height + 4 is beyond pi s^2."""
    chosen = {(case.loss.order, type(case.witness)): case for case in reversed(cases)
              if [law.sigma for law, _ in case.loss.parts] == [1]}
    for case in chosen.values():
        for witness in spoiled(case.witness, BAD_RULES[name]):
            bounds = enclose(case, witness)
            assert bounds is None or (bounds.lower == 0 and bounds.upper == 1), witness
    assert {kind for _, kind in chosen} == {LineWitness, RaysWitness, NodeMomentWitness}


@pytest.mark.parametrize("change", [
    {"left": "tilt"}, {"right": "tilt"}, {"tilt": Fraction(0)}, {"tilt": Fraction(-1)}, {"step": Fraction(0)},
    {"step": Fraction(-1)}, {"count": 0}, {"count": -5}, {"nodes": ()}, {"tail_nodes": ()}, {"prec": 1},
    {"left": Fraction(-1)}])
def test_inadmissible_lines_are_refused(cases: list[Case], change: dict[str, Any]) -> None:
    case = next(case for case in cases if isinstance(case.witness, LineWitness))
    new = {name: getattr(case.witness, value) if isinstance(value, str) else value for name, value in change.items()}
    with pytest.raises(InvalidInput):
        evaluate(case.loss, replace(case.witness, **new))


@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.theorem("T09-total-mass", "T11-tail-for-free")
def test_strip_too_thin_for_its_step_bounds_nothing(order: str) -> None:
    """kappa >= 1: the relative error of the node sum exceeds 1, and kappa / (1 - kappa) would be negative."""
    law = SampledGaussianLoss(Fraction(1, 5), Fraction(1), order)
    nodes = enclose_nodes(law, NodeRule(Fraction(1), Fraction(1, 1000), Fraction(1, 2), -30, 40))
    assert nodes.rule.is_inside(law) and nodes.rule.is_central(law)
    assert bound_line_error(nodes, arb(1))[0] == arb.pos_inf()
    assert bound_transform_beyond(nodes, arb(1), arb(2)) == arb.pos_inf()
