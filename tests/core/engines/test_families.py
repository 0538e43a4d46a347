"""Sampled Gaussians that share one loss: one rule and one table of turns for all of them."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.nodes import (
    NodeRule,
    bound_line_error,
    bound_transform_beyond,
    enclose_families,
    enclose_family,
    enclose_nodes,
)
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, compose
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.profile import privacy_profile
from verified_dp.search.line import choose_nodes
from verified_dp.search.transforms import float_law

OWN = NodeRule(Fraction(5, 4), Fraction(5, 4), Fraction(1, 8), -120, 160)
"""For noise near 1 and tilts up to 4, to 30 bits and more."""


def random_law(rng: random.Random, order: str, noise: float = 1.0) -> SampledGaussianLoss:
    q = Fraction(rng.choice([1, 20, 300, 900]), 1000)
    return SampledGaussianLoss(q, Fraction(int(1000 * noise * rng.uniform(0.9, 1.3)), 1000), order)


@pytest.mark.theorem("T156-one-loss")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_shared_nodes_and_own_nodes_enclose_the_same_transform(order: str) -> None:
    rng = random.Random(order)
    shared = NodeRule(Fraction(5, 4), Fraction(5, 4), Fraction(1, 10), -260, 330)
    for _ in range(12):
        laws = [random_law(rng, order) for _ in range(4)]
        tilt = Fraction(rng.randint(1, 40), 10)
        with ctx.workprec(100):
            for nodes in enclose_family(laws, shared):
                own = enclose_nodes(nodes.law, OWN)
                errors = [sum(bound_line_error(one, ball(tilt)), arb(0)) for one in (nodes, own)]
                assert sum(errors, arb(0)) < arb(2) ** -20
                beyond = bound_transform_beyond(nodes, ball(tilt), arb(2))
                for frequency in ("0", "0.7", "2", "11"):
                    z = acb(ball(tilt), ball(Fraction(frequency)))
                    values = [sum(one.weights(z), acb(0)) for one in (nodes, own)]
                    assert (values[0] - values[1]).abs_lower() <= sum(errors, arb(0))
                    assert Fraction(frequency) < 2 or values[1].abs_lower() <= beyond + errors[1]


@pytest.mark.theorem("T156-one-loss")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_shared_nodes_against_quadrature(order: str, oracle: ModuleType) -> None:
    """The second law's transform, from the first law's rule, by mpmath's quadrature on the real line."""
    laws = [SampledGaussianLoss(Fraction(1, 5), Fraction(1), order),
            SampledGaussianLoss(Fraction(1, 100), Fraction(6, 5), order)]
    with ctx.workprec(100):
        _, nodes = enclose_family(laws, NodeRule(Fraction(5, 4), Fraction(5, 4), Fraction(1, 10), -260, 330))
        z = acb("1.5", "0.8")
        exact = oracle.transform(order, "0.01", "1.2", oracle.mp.mpc(1.5, 0.8))
        found = sum(nodes.weights(z), acb(0))
        error = sum(bound_line_error(nodes, arb("1.5")), arb(0))
        assert abs(complex(float(found.real), float(found.imag)) - complex(exact)) < 1e-12 + float(error)


@pytest.mark.theorem("T156-one-loss")
def test_a_rule_too_coarse_for_one_law_says_nothing_of_it() -> None:
    """h <= 2s in every law's own scale: the rule's own law passes where one with more noise must not."""
    laws = [SampledGaussianLoss(Fraction(1, 10), Fraction(s), "remove") for s in ("1", "2")]
    rule = NodeRule(Fraction(1, 2), Fraction(1, 2), Fraction(3, 2), -40, 40)
    with ctx.workprec(100):
        leader, other = enclose_family(laws, rule)
        assert leader.is_inside and not other.is_inside and leader.is_central and not other.is_central
        assert not bound_line_error(other, arb(2))[0].is_finite()
        assert not bound_transform_beyond(other, arb(2), arb(1)).is_finite()


def test_families_hold_what_shares_a_loss() -> None:
    def law(s: str, order: str = "remove") -> SampledGaussianLoss:
        return SampledGaussianLoss(Fraction(1, 10), Fraction(s), order)

    assert law("1").shares_loss(law("2")) and not law("1").shares_loss(law("2.01"))
    assert not law("1").shares_loss(law("1.5", "add")) and not law("1", "symmetric").shares_loss(law("1", "symmetric"))
    loss = ComposedLoss("remove", tuple((law(s), 3) for s in ("1", "5", "1.5", "6", "40")), Fraction(0))
    seen = lines(loss)
    assert [[str(one.sigma) for one, _ in family] for family in seen.families] == [["1", "3/2"], ["5", "6"], ["40"]]
    assert seen.suits(5) and seen.suits(3) and not seen.suits(4)


def schedule(steps: int) -> Composition:
    return compose(*[(PoissonSampled(Gaussian(Fraction(1100 - 7 * i, 1000)), Fraction(20 + i, 1000)), 1 + i % 3)
                     for i in range(steps)])


@pytest.mark.theorem("T156-one-loss", "T06-trapezoidal-enclosure")
@pytest.mark.parametrize("relation", ["remove", "add"])
def test_one_rule_for_all_and_one_for_each_agree(relation: str) -> None:
    """delta of 12 different steps, 24 in all: by the family's rule, and with rules of their own."""
    profile = privacy_profile(schedule(12), relation=relation)
    found = profile.solve_delta("1/2", digits=9)
    witness = found.evaluations[0].witness
    assert isinstance(witness, LineWitness) and len(witness.nodes) == 1
    loss = profile.losses[0]
    rules = tuple(choose_nodes(float_law(law), float(witness.right), 60) for law, _ in lines(loss).node_parts)
    alone = evaluate(loss, replace(witness, nodes=rules)).delta(Fraction(1, 2))
    together = evaluate(loss, witness).delta(Fraction(1, 2))
    assert alone.lower <= together.upper and together.lower <= alone.upper
    assert together.upper - together.lower < together.upper * arb("1e-9")
    assert alone.upper - alone.lower < alone.upper * arb("1e-6")
    with ctx.workprec(64):
        assert [len(family) for family in enclose_families(loss, witness.nodes)] == [12]
