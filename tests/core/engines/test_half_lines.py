"""Batches without replacement as panels on a half-line (T167), against mpmath's integrals and the lattice."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from flint import acb, arb, ctx

from verified_dp import Gaussian, compose, privacy_profile
from verified_dp.certificate import certify, verify
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.rays import RaysWitness
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.batches.half_lines import HalfLine, HalfLineNodes, enclose_half_line
from verified_dp.core.families.batches.mechanism import TruncatedPoisson
from verified_dp.core.families.batches.truncated_batch import TruncatedBatchLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.certificate.document import canonical, sealed
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Relation
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.answer import width_bits
from verified_dp.search.deadline import Budget
from verified_dp.search.half_line import FloatHalfLine
from verified_dp.search.line import panel_rule
from verified_dp.search.one_direction import OneDirection
from verified_dp.spec import parse_spec
from verified_dp.verifiers.independent.check import verify as verify_independently

F = Fraction
half_line = pytest.mark.theorem("T167-half-line")
LAWS = [FixedBatchLoss(F(1, 10), F(1)), FixedBatchLoss(F(1, 100), F(2)), FixedBatchLoss(F(2, 3), F(5)),
        FixedBatchLoss(F(1, 1000), F(1, 2))]


def line_of(law: FixedBatchLoss, tilt: str, frequency: int, bits: float) -> HalfLine:
    rule = panel_rule(FloatHalfLine(law).panels(float(F(tilt)), (), float(frequency), bits))
    return HalfLine(law, rule.step, rule.last, rule.cells, rule.height, arb(frequency))


def integral(law: FixedBatchLoss, z: mpmath.mpc) -> mpmath.mpc:
    """E[e^{zL}] over outputs of the pair at distance 2: losses above 0 under P, below 0 mirrored, and what is left."""
    q, s = (mpmath.mpf(x.numerator) / x.denominator for x in (law.probability, law.noise_multiplier))

    def ratio(y: mpmath.mpf) -> mpmath.mpf:
        return 1 - q + q * mpmath.exp((2 * y - 2) / s**2)

    ends = mpmath.linspace(1, 3 + 2 * max(z.real, 0) + 13 * s, 24)
    found = mpmath.quad(lambda y: mpmath.npdf(y, 0, s) * (ratio(y)**(1 + z) + ratio(y)**-z), ends)
    above, below = mpmath.ncdf(1 / s), mpmath.ncdf(-1 / s)
    return found + 1 - (1 - q) * below - q * above - below


@half_line
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("tilt", "frequency"), [("1/3", 2), ("2", 30), pytest.param("5", 7, marks=pytest.mark.long)])
def test_the_transform_is_the_integral_over_outputs(law: FixedBatchLoss, tilt: str, frequency: int) -> None:
    with ctx.workprec(120), mpmath.workdps(18):
        nodes, c = enclose_half_line(line_of(law, tilt, frequency, 60.0)), F(tilt)
        error = sum(nodes.line_error(ball(c)), arb(0))
        truths = {w: complex(integral(law, mpmath.mpc(mpmath.mpf(c.numerator) / c.denominator, w)))
                  for w in (0, frequency)}
        scale = max(1.0, abs(truths[0]))
        for w, exact in truths.items():
            found = sum(nodes.weights(acb(ball(c), w)), acb(0))
            assert abs(exact - complex(float(found.real), float(found.imag))) < 1e-14 * scale
            assert error < 1e-15 * scale
            assert float(nodes.beyond(ball(c), arb(w))) >= abs(exact) * (1 - 1e-12)
        assert sum(nodes.weights(acb(-1 - ball(c))), acb(0)).overlaps(sum(nodes.weights(acb(ball(c))), acb(0)))


def errors_hold(coarse: HalfLineNodes, fine: HalfLineNodes, z: acb) -> bool:
    gap = abs(sum(coarse.weights(z), acb(0)) - sum(fine.weights(z), acb(0)))
    room = sum(coarse.line_error(z.real), arb(0)) + sum(fine.line_error(z.real), arb(0))
    return bool(gap <= room)


@half_line
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("changed", [{"points": 3}, {"points": 6}, {"panels": 4}, {"panels": 1}, {"length": F(5)},
                                     {"height": F(1, 1000)}])
def test_coarse_rules_have_errors_that_hold(law: FixedBatchLoss, changed: dict[str, Fraction]) -> None:
    with ctx.workprec(120):
        fine = enclose_half_line(line_of(law, "2", 20, 80.0))
        coarse = enclose_half_line(replace(fine.line, **changed))
        for z in (acb(2), acb(2, 5), acb(2, 20), acb(arb(1) / 2, 20), acb(-4)):
            assert errors_hold(coarse, fine, z)


@half_line
def test_a_rule_is_not_meant_past_its_frequency() -> None:
    with ctx.workprec(120):
        law = LAWS[0]
        line = line_of(law, "2", 1, 30.0)
        slow, fine = enclose_half_line(line), enclose_half_line(line_of(law, "2", 400, 80.0))
        assert errors_hold(slow, fine, acb(2, 1))
        assert not errors_hold(slow, fine, acb(2, 400))
        assert errors_hold(enclose_half_line(replace(line, frequency=arb(400))), fine, acb(2, 400))


@half_line
@pytest.mark.parametrize("changed", [{"height": F(0)}, {"height": F(2)}, {"panels": 0}, {"points": 1},
                                     {"points": 4096}, {"length": F(0)}, {"length": F(-1)}])
def test_rules_outside_of_their_conditions_show_nothing(changed: dict[str, Fraction]) -> None:
    with ctx.workprec(64):
        nodes = enclose_half_line(replace(line_of(LAWS[0], "2", 3, 30.0), **changed))
        assert not sum(nodes.line_error(arb(2)), arb(0)).is_finite()
    nodes = enclose_half_line(line_of(LAWS[0], "2", 3, 30.0))
    assert not sum(nodes.line_error(arb(0)), arb(0)).is_finite()
    assert not sum(nodes.line_error(-arb(1) / 2), arb(0)).is_finite()


def truncated(count: int, noise: str = "1", limit: int = 14, q: str = "1/10", records: int = 100) -> Composition:
    return compose((TruncatedPoisson(Gaussian(noise), q, records, limit), count))


def loss_of(composition: Composition, relation: str) -> ComposedLoss:
    return privacy_losses(composition, Relation.of(relation))[0]


@half_line
@pytest.mark.theorem("T166-revealed-laws")
@pytest.mark.parametrize(("relation", "count", "noise", "limit", "epsilon"), [
    ("replace", 200, "2", 14, "2"), ("zero-out", 200, "2", 14, "3/2"), ("replace", 200, "4", 10, "1"),
    pytest.param("replace", 40, "1", 18, "4", marks=pytest.mark.long)])
def test_the_line_and_the_lattice_meet(relation: str, count: int, noise: str, limit: int, epsilon: str) -> None:
    composition = truncated(count, noise, limit)
    sharp = privacy_profile(composition, relation).delta(epsilon, digits=10)
    rough = privacy_profile(composition, relation).delta(epsilon, digits=3, method="lattice")
    other = privacy_profile(truncated(count, noise, limit - 1), relation).delta(epsilon, digits=6)
    assert (sharp.method, sharp.status) == ("contour", "certified")
    assert rough.lower <= sharp.upper
    assert sharp.lower <= rough.upper
    assert other.lower > sharp.upper or other.upper < sharp.lower


@half_line
def test_twelve_digits_of_a_training_whose_records_are_replaced() -> None:
    profile = privacy_profile(truncated(1000, "1", 121, "1/100", 10000), "replace")
    epsilon = profile.epsilon("1e-6")
    assert (epsilon.method, epsilon.status) == ("contour", "certified")
    assert float(epsilon.lower) == pytest.approx(6.712054893, abs=1e-8)
    assert profile.delta(epsilon.upper.as_fraction()).lower <= F(1, 10**6)


@half_line
def test_few_steps_whose_batches_may_be_full_have_no_line() -> None:
    loss = loss_of(truncated(2), "replace")
    assert lines(loss).has_line
    assert not lines(loss).decays
    assert not OneDirection(loss).has_contour


@half_line
def test_beside_other_steps() -> None:
    both = compose((TruncatedPoisson(Gaussian("1"), "1/10", 100, 14), 3), (Gaussian("4"), 2),
                   (PoissonSampled(Gaussian("2"), "1/5"), 4))
    loss = loss_of(both, "replace")
    bounds = OneDirection(loss).enclose(F(2), 20.0, "contour", Budget(None)).bounds
    rough = OneDirection(loss).enclose(F(2), 4.0, "lattice", Budget(None)).bounds
    assert width_bits(bounds) >= 20.0
    assert rough.lower <= bounds.upper
    assert bounds.lower <= rough.upper


def altered(line: LineWitness) -> list[LineWitness]:
    """The panels' rule with few points, few or one panel, other heights; rules exchanged; more frequencies."""
    free, full = line.nodes
    rules = [replace(full, cells=4), replace(full, cells=0), replace(full, last=2), replace(full, last=-1),
             replace(full, height=full.height / 50), replace(full, height=full.height * 50),
             replace(full, step=full.step * 3), replace(full, first=5)]
    return [*(replace(line, nodes=(free, rule)) for rule in rules), replace(line, nodes=(full, free)),
            replace(line, tail_nodes=line.tail_nodes[::-1]), replace(line, count=line.count * 3),
            replace(line, count=max(1, line.count // 3)), replace(line, tilt=line.tilt / 2)]


@half_line
@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_hostile_panels_show_nothing_false(relation: str) -> None:
    loss = loss_of(truncated(60, "2"), relation)
    found = OneDirection(loss).enclose(F(1), 30.0, "contour", Budget(None))
    assert isinstance(found.witness, LineWitness)
    assert width_bits(found.bounds) >= 30.0
    for witness in altered(found.witness):
        if witness.applies(loss):
            bounds = evaluate(loss, witness).delta(F(1))
            assert not bounds.lower > found.bounds.upper
            assert not found.bounds.lower > bounds.upper


@half_line
@pytest.mark.theorem("T187-rays")
def test_rays_take_no_such_law() -> None:
    mixtures = loss_of(truncated(2), "remove")
    answer = OneDirection(mixtures).enclose(F(1), 20.0, "contour", Budget(None))
    assert isinstance(answer.witness, RaysWitness)
    (law, count), = loss_of(truncated(2), "zero-out").parts
    assert isinstance(law, TruncatedBatchLoss)
    assert isinstance(law.free, SampledGaussianLoss)
    assert not answer.witness.applies(ComposedLoss("remove", ((law, count),), F(0)))


SPEC = """relation = "{relation}"
[claim]
title = "t"
source = "s"
epsilon = "{epsilon}"
delta = "1e-5"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "2"
sampling = {{ scheme = "truncated-poisson", probability = "1/50", population = 500, largest_batch = 15 }}
count = 12
"""


@half_line
@pytest.mark.parametrize(("relation", "epsilon"), [("replace", "3/2"), ("zero-out", "3/2")])
def test_both_checkers_agree_and_what_is_altered_is_refused(relation: str, epsilon: str) -> None:
    certificate = certify(parse_spec(SPEC.format(relation=relation, epsilon=epsilon)), digits=3)
    data = certificate.to_bytes()
    assert verify(data).valid
    assert verify_independently(data).valid
    document = json.loads(data)
    assert "T167-half-line" in document["theorems"]
    witness = document["evaluations"][0]["witness"]
    assert witness["kind"] == "line"
    free, full = witness["nodes"]
    for other in ([free], [full, free], [free, {**full, "cells": 5}], [free, {**full, "last": 1}]):
        evaluations = [{**document["evaluations"][0], "witness": {**witness, "nodes": other}},
                       *document["evaluations"][1:]]
        forged = canonical(sealed({**document, "evaluations": evaluations}))
        assert not verify(forged).valid


@half_line
def test_panels_are_counted_from_one() -> None:
    """What a rule costs is told from `first` to `last`: another `first` shows nothing and costs nothing."""
    loss, at = loss_of(truncated(60, "2"), "replace"), F(1)
    answer = OneDirection(loss).enclose(at, 20.0, "contour", Budget(None))
    assert isinstance(answer.witness, LineWitness)
    *rest, rule = answer.witness.nodes
    many = replace(answer.witness, nodes=(*rest, replace(rule, first=10**12, last=10**12)))
    bounds = evaluate(loss, many).delta(at)
    assert (bounds.lower, bounds.upper) == (0, 1)
