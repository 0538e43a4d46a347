"""Certificates of the other mechanisms, altered and sealed afresh: refused, or still true; never a crash or a hang."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from flint import ctx

from verified_dp.certificate import build_certificate
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.families.batches.mechanism import WithoutReplacement
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.families.finite.halves import HalvesWitness, Window
from verified_dp.core.families.finite.mechanism import ApproximateDP, Finite, RandomizedResponse
from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.kernel.balls import lower_dyadic, upper_dyadic
from verified_dp.core.kernel.certificate.check import check_work, verify
from verified_dp.core.kernel.certificate.document import sealed
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Claim, Mechanism, Relation, Spec, compose
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.errors import InvalidCertificate
from verified_dp.core.kernel.evaluation import Evaluation
from verified_dp.core.kernel.exact import exact
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.enclosure import Enclosure, Solution

F = Fraction
GRID = LawGrid(-30, ((5, 4), (30, 1), (5, 4)))
LATTICE = LatticeWitness(F(1, 8), F(1), 40, (GRID,), 301, 0, (), F(3, 2), F(1, 2), 80)
SPARSE = LatticeWitness(F(1, 8), F(1), 40, (GRID,), 301, 100, ((50, 1),), F(3, 2), F(1, 2), 80)
LINE = LineWitness(F(1), F(1, 3), 300, (), (), F(2), F(1, 2), 80)
CLOSED = ClosedFormWitness(80)
CASES: dict[str, tuple[Mechanism, str, Witness, str]] = {
    "laplace": (Laplace(1, 1), "add-or-remove", LINE, "contour"),
    "finite": (Finite(("1/2", "2/5", "0", "1/10"), ("1/5", "1/5", "3/5", "0")), "add-or-remove", LATTICE, "lattice"),
    "response": (RandomizedResponse(3, epsilon="1/2"), "replace", CLOSED, "closed-form"),
    "known": (ApproximateDP("1/2", "1/100"), "add-or-remove", SPARSE, "lattice"),
    "mixture": (MixtureOfGaussians("2", ("0", "1", "2"), ("1/2", "1/4", "1/4")), "remove", LATTICE, "lattice"),
    "discrete": (DiscreteGaussian(9, 1), "add-or-remove", SPARSE, "lattice"),
    "batch": (WithoutReplacement(Gaussian(3), "1/5"), "replace", LATTICE, "lattice"),
}


def stated(name: str) -> Spec:
    """Two steps of the mechanism."""
    mechanism, relation, _, _ = CASES[name]
    return Spec(Relation(relation), compose((mechanism, 2)), Claim(name, "", F(1, 2), F(1, 10), "0.5", "0.1"))


@cache
def evaluations(name: str) -> tuple[Evaluation[Dyadic], ...]:
    """delta at 1/2 in every order with a coarse witness."""
    _, _, witness, _ = CASES[name]
    spec, found = stated(name), []
    for loss in privacy_losses(spec.composition, spec.relation):
        with ctx.workprec(80):
            bounds = evaluate(loss, witness).delta(F(1, 2))
            budget = {name: upper_dyadic(size) for name, size in bounds.budget.items()}
            ends = lower_dyadic(bounds.lower), upper_dyadic(bounds.upper)
        found.append(Evaluation("delta", loss.order, F(1, 2), "both", witness, *ends, budget))
    return tuple(found)


def built(name: str) -> dict[str, Any]:
    """Nothing is known of epsilon."""
    words = {"method": CASES[name][3], "order": "both", "relation": CASES[name][1], "digits": 2}
    delta, epsilon = (Enclosure(Dyadic(0), Dyadic.infinity(), quantity=q, **words)  # type: ignore[arg-type]
                      for q in ("delta", "epsilon"))
    return build_certificate(stated(name), Solution(delta, evaluations(name)), Solution(epsilon, ()))


@pytest.fixture(scope="module")
def certificates() -> dict[str, dict[str, Any]]:
    return {name: built(name) for name in CASES}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key), item
        yield from leaves(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


WRONG: list[Any] = [
    None, True, False, 0, -1, 1, 2**70, -(2**70), 1.5, "", "0", "1", "-1", "1/3", "0*2^0", "1*2^0", "1*2^-40", "inf",
    "nan", "1*2^999999999999", "1e5", "9" * 3000, "1/" + "7" * 40, [], {}, [[]], ["1/2", "1/2"], {"kind": "circle"},
    "lattice", "closed-form", "support", "remove", "add", "symmetric"]


def altered(rng: random.Random, value: Any) -> Any:
    if type(value) is int and rng.random() < 0.6:
        return rng.choice([value + 1, value - 1, -value, 2 * value, value // 2, value + 10**6])
    if type(value) is list and value and rng.random() < 0.6:
        return rng.choice([value[::-1], value[:-1], value + value[-1:]])
    if type(value) is str and "*2^" in value and rng.random() < 0.6:
        mantissa, exponent = value.split("*2^")
        return rng.choice([f"{int(mantissa) + 2}*2^{exponent}", f"{int(mantissa) - 2}*2^{exponent}",
                           f"{mantissa}*2^{int(exponent) + 1}", f"-{mantissa}*2^{exponent}"])
    return rng.choice(WRONG)


def resealed(document: dict[str, Any]) -> dict[str, Any]:
    return sealed({key: value for key, value in document.items() if key not in ("hashes", "sha256")})


def attack(certificates: dict[str, dict[str, Any]], seed: int, count: int) -> tuple[int, int]:
    """How many altered certificates were refused, and how many are still valid: only wider or other witnesses are."""
    rng, refused, valid = random.Random(seed), 0, 0
    for n in range(count):
        name = sorted(certificates)[n % len(certificates)]
        document = copy.deepcopy(certificates[name])
        places = [leaf for leaf in leaves(document) if leaf[0][0] in ("input", "evaluations", "claim", "pairs")]
        places = [leaf for leaf in places if leaf[0][:1] == ("evaluations",) or rng.random() < 0.5]
        path, value = rng.choice(places)
        put(document, path, altered(rng, value))
        try:
            document = resealed(document)
        except (InvalidCertificate, TypeError, ValueError):
            continue
        found = verify(document)
        refused, valid = refused + (not found.valid), valid + found.valid
        if found.valid and path[0] in ("evaluations", "claim", "input", "pairs"):
            assert is_harmless(certificates[name], document, path), (name, path)
            assert_judged(document)
            assert all(is_true(name, index, entry) for index, entry in enumerate(document["evaluations"])), (name, path)
    return refused, valid


def is_harmless(before: dict[str, Any], after: dict[str, Any], path: tuple[Any, ...]) -> bool:
    """Another claim, an end or a share that still holds, a witness that proves the same, or nothing changed."""
    return path[0] == "claim" or bool({"error_budget", "witness", "enclosure"} & {*path}) or before == after


def assert_judged(document: dict[str, Any]) -> None:
    """The verdict is that of the recorded ends and the claim."""
    ends = [entry["enclosure"] for entry in document["evaluations"]]
    lower, upper = (max(Dyadic.parse(e[end]) for e in ends) for end in ("lower", "upper"))
    claimed, tight = exact(document["claim"]["delta"]), all(pair["tight"] for pair in document["pairs"])
    verdict = "proved" if upper <= claimed else "refuted" if tight and lower > claimed else "undecided"
    assert document["verdict"] == verdict


def is_true(name: str, index: int, entry: dict[str, Any]) -> bool:
    """Whether the recorded ends hold what the good witness proves."""
    good, ends = evaluations(name)[index], entry["enclosure"]
    return Dyadic.parse(ends["lower"]) <= good.lower and good.upper <= Dyadic.parse(ends["upper"])


def test_altered_certificates_of_other_mechanisms(certificates: dict[str, dict[str, Any]]) -> None:
    assert all(verify(document).valid for document in certificates.values())
    kinds = {entry["witness"]["kind"] for document in certificates.values() for entry in document["evaluations"]}
    assert kinds == {"circle", "closed-form", "line"}
    refused, _ = attack(certificates, 1, 125)
    assert refused > 75


@pytest.mark.long
def test_many_altered_certificates(certificates: dict[str, dict[str, Any]]) -> None:
    refused, _ = attack(certificates, 2, 6000)
    assert refused > 3000


@pytest.mark.parametrize("name", CASES)
def test_a_better_result_is_refused(certificates: dict[str, dict[str, Any]], name: str) -> None:
    """Each enclosure moved by half its width to either side, all decimals and hashes in step, is not what is proved."""
    for index, entry in enumerate(certificates[name]["evaluations"]):
        for end in ("lower", "upper"):
            document = copy.deepcopy(certificates[name])
            moved = document["evaluations"][index]["enclosure"]
            moved[end] = "1*2^0" if end == "lower" else "0*2^0"
            if moved[end] != entry["enclosure"][end]:
                assert not verify(resealed(document)).valid


WIDE = LawGrid(-1000, ((2_000_000, 1),))


def one(law: Law, count: int = 1) -> ComposedLoss:
    return ComposedLoss(law.order, ((law, count),), F(0))


MANY = tuple((F(2 * n), F(1, 400)) for n in range(400))
DEAR: dict[str, tuple[ComposedLoss, Witness]] = {
    "cells of a large mixture": (
        one(MixtureLoss(F(1), MANY, tuple((-m, w) for m, w in reversed(MANY)), "symmetric")),
        LatticeWitness(F(1, 100), F(1), 40, (LawGrid(-1000, ((20_000, 1),)),), 10**9 + 1, 0, (), F(2), F(0), 80)),
    "cells of many outcomes": (
        one(FiniteLoss(tuple((F(1, 4000), F(n, 7998000)) for n in range(4000)), "remove")),
        LatticeWitness(F(1, 100), F(1), 40, (LawGrid(-1000, ((20_000, 1),)),), 10**9 + 1, 0, (), F(2), F(0), 80)),
    "a discrete Gaussian at very many bits on a grid": (
        one(DiscreteGaussianLoss(F(16_000), 1)),
        LatticeWitness(F(1), F(1), 40, (LawGrid(-1000, ((20_000, 1),)),), 40_001, 0, (), F(2), F(0), 20_000)),
    "many counts of outcomes": (
        one(FiniteLoss(tuple((F(n, 10), F(5 - n, 10)) for n in range(1, 5)), "remove"), 10**6),
        HalvesWitness(F(1), (tuple(Window(n % 2, 0, 10**6) for n in range(4)),), 80)),
    "many pieces at many bits": (one(LaplaceLoss(F(1)), 600), ClosedFormWitness(40_000)),
    "a mixture at many bits": (
        one(MixtureLoss(F(1), MANY, ((F(0), F(1)),), "remove")), ClosedFormWitness(40_000)),
}


@pytest.mark.parametrize("name", DEAR)
def test_what_the_laws_cost_is_counted(name: str) -> None:
    """The witnesses alone look cheap: evaluating them takes minutes to days."""
    with pytest.raises(InvalidCertificate, match="more work"):
        check_work([DEAR[name]])


@pytest.mark.parametrize(("law", "count"), [
    (LaplaceLoss(F(1)), 600), (DiscreteGaussianLoss(F(10**6), 1), 1),
    (MixtureLoss(F(1), MANY, ((F(0), F(1)),), "remove"), 1)])
def test_plain_closed_forms_are_cheap_enough(law: Law, count: int) -> None:
    check_work([(one(law, count), ClosedFormWitness(120))])


def test_powers_of_long_fractions_are_told_apart_quickly(work: Callable[..., int]) -> None:
    base = F(10**20000 + 1, 10**20000)
    rows = ((F(1, 2), F(1, 2) / base), (F(1, 2), 1 - F(1, 2) / base))
    law = FiniteLoss(rows, "remove")
    found: list[Any] = []
    cost = work(lambda: found.append(law.lattice()))
    assert cost < 1000 and (found[0] is None or len(found[0][1]) == 2)
