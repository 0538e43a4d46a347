"""Expansions as witnesses: certificates of each form by both checkers, altered witnesses, what the methods plan."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from flint import arb

import verified_dp
from verified_dp.certificate import certificate_bytes, certify
from verified_dp.core.engines.expansion import ExpansionWitness
from verified_dp.core.engines.expansion_cells import Cover, Ray
from verified_dp.core.engines.tilted_moments import MomentRule
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.certificate.check import check_work, verify
from verified_dp.core.kernel.certificate.document import sealed
from verified_dp.core.kernel.certificate.evaluation import enclosure_record
from verified_dp.core.kernel.certificate.witness import read_witness, witness_record
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.profile import privacy_profile
from verified_dp.search.deadline import Budget
from verified_dp.search.expansion import ExpansionCurve
from verified_dp.search.one_direction import OneDirection
from verified_dp.spec import parse_spec
from verified_dp.verifiers.independent.check import verify as verify_independently

SCHEMA = json.loads((Path(verified_dp.__file__).parent / "schemas" / "certificate.schema.json").read_text())
METHODS = "saddlepoint", "edgeworth", "berry-esseen"
SPEC = """relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "2"
count = 10000
sampling = { scheme = "poisson", probability = "0.01" }
[claim]
title = "a test"
source = "none"
epsilon = "EPS"
delta = "1e-3"
"""


@cache
def certificate(method: str) -> dict[str, Any]:
    return dict(certify(parse_spec(SPEC.replace("EPS", "1.8")), method=method).document)


@pytest.mark.theorem("T141-certified-expansions")
@pytest.mark.parametrize("method", METHODS)
def test_a_certificate_of_each_method_is_valid_for_both_checkers(method: str) -> None:
    """epsilon is 1.588; the lattices of the second checker decide, whatever the witness."""
    document = certificate(method)
    assert {entry["witness"]["kind"] for entry in document["evaluations"]} == {"expansion"}
    assert {entry["method"] for entry in document["evaluations"]} == {method}
    assert verify(document).verdict == document["verdict"] == "proved"
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(certificate_bytes(document)))
    found = verify_independently(certificate_bytes(document))
    assert found.valid and found.verdict == "proved"


@pytest.mark.parametrize("method", METHODS)
def test_narrowed_enclosures_are_refused(method: str) -> None:
    """Of the upper end where the lower one alone is used, so that all else still follows."""
    document = certificate(method)
    index = next(n for n, entry in enumerate(document["evaluations"]) if entry["side"] == "lower")
    entry = document["evaluations"][index]
    low = Dyadic.parse(entry["enclosure"]["lower"])
    entries = [*document["evaluations"]]
    entries[index] = {**entry, "enclosure": enclosure_record(low, low)}
    found = verify(sealed({**{k: v for k, v in document.items() if k not in ("hashes", "sha256")},
                           "evaluations": entries}))
    assert not found.valid and found.field == f"evaluations[{index}].enclosure.upper"


# altered witnesses: an enclosure that holds the truth, or none

LOSS = ComposedLoss("remove", ((SampledGaussianLoss(Fraction(1, 50), Fraction(3, 2), "remove"), 900),
                               (OddsLoss(Fraction(1, 5), Fraction(1, 10**6), 0), 20)), Fraction(1, 50))
AT = Fraction(2)


@cache
def truth() -> Bounds:
    return OneDirection(LOSS).enclose(AT, 40, "auto", Budget(60)).bounds


@cache
def witnesses() -> tuple[ExpansionWitness, ...]:
    return (ExpansionCurve(LOSS, 2, Fraction(2)).chosen(AT)[0], ExpansionCurve(LOSS, 0).chosen(AT)[0],
            ExpansionCurve(LOSS, 6).chosen(AT)[0], ExpansionCurve(LOSS, 3, Fraction(0)).chosen(AT)[0])


def altered(witness: ExpansionWitness, rng: Random) -> ExpansionWitness:
    def moved(number: Fraction) -> Fraction:
        return number * rng.choice([Fraction(1, 2), Fraction(3, 4), Fraction(9, 8), Fraction(2), Fraction(5)])

    def of_cover(cover: Cover) -> Cover:
        kind = rng.randrange(3)
        if kind == 0:
            ends = cover.ends[: rng.randrange(1, len(cover.ends))]
            return replace(cover, ends=ends, rays=(replace(cover.rays[0], start=ends[-1]), *cover.rays[1:]))
        if kind == 1:
            ends = tuple(2 * end for end in cover.ends)
            return replace(cover, ends=ends, rays=tuple(replace(ray, start=2 * ray.start) for ray in cover.rays))
        return replace(cover, rays=tuple(Ray(ray.start, ()) for ray in cover.rays))

    def of_rule(rule: MomentRule) -> MomentRule:
        nodes = replace(rule.nodes, last=rule.nodes.last - rng.randrange(3) * max(rule.nodes.last // 3, 1))
        return replace(rule, radius=moved(rule.radius), nodes=replace(nodes, step=moved(nodes.step)))

    kind = rng.randrange(5)
    if kind == 0:
        return replace(witness, tilt=moved(witness.tilt))
    if kind == 1:
        return replace(witness, order=rng.choice([-1, 0, 1, 3, 4, 5, 6, 7]))
    if kind == 2:
        return replace(witness, rules=tuple(map(of_rule, witness.rules)))
    if kind == 3:
        return replace(witness, prec=rng.choice([2, 30, 60, 500]))
    return replace(witness, cover=of_cover(witness.cover))


@pytest.mark.theorem("T141-certified-expansions", "T94-tilted-moments")
def test_altered_witnesses_hold_the_truth_or_are_refused() -> None:
    rng, kept = Random(7), 0
    for number in range(28):
        witness: Any = altered(altered(witnesses()[number % 4], rng), rng)
        try:
            bounds = evaluate(LOSS, witness).delta(AT)
        except (InvalidInput, ArithmeticError, ValueError):
            continue
        kept += 1
        assert bounds.lower <= truth().upper and truth().lower <= bounds.upper, witness
    assert kept > 7


@pytest.mark.parametrize("index", range(4))
def test_a_witness_is_read_as_it_is_written_and_its_work_is_bounded(index: int) -> None:
    witness: Any = witnesses()[index]
    assert read_witness(witness_record(witness), "witness") == witness
    assert 10**5 < witness.work(LOSS).units < 10**8
    check_work([(LOSS, witness)])
    dear = replace(witness, cover=replace(witness.cover, ends=witness.cover.ends * 20_000))
    assert dear.work(LOSS).units > 10**9


@pytest.mark.theorem("T141-certified-expansions", "T94-tilted-moments")
def test_without_a_tilt_a_closed_form_needs_both_ends() -> None:
    """Laplace noise has them; the discrete Gaussian's loss is unbounded, and its theta function is not asked at 0."""
    for law, admissible in ((LaplaceLoss(Fraction(1, 10)), True), (DiscreteGaussianLoss(Fraction(100), 1), False)):
        loss = ComposedLoss("symmetric", ((law, 400),), Fraction(0))
        tilted = ExpansionCurve(loss, 2).chosen(Fraction(1))[0]
        assert tilted.applies(loss)
        assert replace(tilted, tilt=Fraction(0)).applies(loss) == admissible
        if not admissible:
            with pytest.raises(Unsupported, match="DiscreteGaussianLoss"):
                ExpansionCurve(loss, 2, Fraction(0)).chosen(Fraction(1))


@pytest.mark.parametrize("method", METHODS)
def test_the_profile_answers_by_the_named_expansion(method: str) -> None:
    profile = privacy_profile(parse_spec(SPEC.replace("EPS", "2")))
    true, found = profile.delta("1/2"), profile.delta("1/2", method=method)
    assert found.methods == (method,) and found.lower <= true.upper and true.lower <= found.upper
    ends = profile.epsilon("1e-3", digits=3, method=method)
    assert ends.lower <= profile.epsilon("1e-3").upper <= ends.upper and ends.methods == (method,)
    assert profile.delta("1/2").methods == ("contour",)


def test_the_mass_at_infinity_is_a_lower_end() -> None:
    loss = ComposedLoss("remove", ((OddsLoss(Fraction(1, 10), Fraction(1, 1000), 0), 300),), Fraction(0))
    bounds = ExpansionCurve(loss, 2).delta(Fraction(20))[0]
    assert bounds.lower > arb("0.25") and bounds.upper < arb("0.27")


def test_no_expansion_where_a_step_has_no_transform() -> None:
    step = """[[mechanism]]
kind = "discrete-gaussian"
sigma_squared = 16
sensitivity = 1
count = 30
sampling = { scheme = "poisson", probability = "0.1" }
"""
    spec = parse_spec(f'relation = "add-or-remove"\n{step}[claim]\nepsilon = 2\ndelta = "1e-5"\n')
    with pytest.raises(Unsupported, match="an expansion needs the transform of every step"):
        certify(spec, method="saddlepoint")
