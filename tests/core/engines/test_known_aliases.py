"""Left exponents below -1: what is known of the left aliases, bounds of the rest, and lines of the swapped pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest
from flint import acb, arb, ctx
from mpmath import mpf

from verified_dp import Laplace, privacy_profile
from verified_dp.certificate import build_certificate
from verified_dp.core.engines.contour import LineWitness, bound_aliases, enclose_known_aliases
from verified_dp.core.engines.nodes import NodeRule, bound_mass, enclose_families
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.certificate.check import verify
from verified_dp.core.kernel.certificate.document import canonical, sealed
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.one_direction import OneDirection
from verified_dp.spec import parse_spec
from verified_dp.verifiers.independent import verify as verify_again

Build = Callable[..., ComposedLoss]
SPEC = """
relation = "add-or-remove"
[claim]
epsilon = "1"
delta = "0.06"
[[mechanism]]
kind = "gaussian"
noise_multiplier = "1.5"
count = 100
sampling = { scheme = "poisson", probability = "0.1" }
"""
RULE = NodeRule(Fraction(6, 5), Fraction(6, 5), Fraction(1, 10), -160, 240)


def line(tilt: str, step: str, count: int, right: str, left: str, *rules: NodeRule) -> LineWitness:
    return LineWitness(Fraction(tilt), Fraction(step), count, rules, rules, Fraction(right), Fraction(left), 200)


def width(oracle: ModuleType, bounds: Bounds) -> Any:
    return oracle.real(bounds.upper) - oracle.real(bounds.lower)


@pytest.mark.theorem("T157-known-aliases", "T06-trapezoidal-enclosure")
@pytest.mark.parametrize("epsilon", ["-1/2", "1", "4"])
@pytest.mark.parametrize(("tilt", "step"), [("1/10", "1"), ("1/2", "2/3"), ("2", "3/4")])
def test_a_coarse_step_encloses_a_gaussian(
        oracle: ModuleType, composed: Build, tilt: str, step: str, epsilon: str) -> None:
    """The closed form lies inside; the known terms are far larger than what is left unknown of the aliases."""
    eps, witness = Fraction(epsilon), line(tilt, step, 80, "7", "-5")
    values = evaluate(composed("remove", "1/2", 1, 0, 1), witness)
    bounds, truth = values.delta(eps), oracle.gaussian_delta(1, oracle.real(eps))
    assert oracle.real(bounds.lower) <= truth <= oracle.real(bounds.upper)
    with ctx.workprec(200):
        known, rest = enclose_known_aliases(values, eps), bound_aliases(values, eps)
    assert width(oracle, bounds) < oracle.real(rest) * 2 + oracle.mpf("1e-9")
    period, c = 2 * oracle.mp.pi / oracle.real(witness.step), oracle.real(witness.tilt)
    left = oracle.mp.fsum(oracle.mp.exp(c * n * period) * oracle.gaussian_delta(1, oracle.real(eps) + n * period)
                          for n in range(-400, 0))
    assert -oracle.mpf("1e-40") <= left - oracle.real(known.mid()) <= oracle.real(rest)


PLACES = [Fraction(n, 10) for n in range(-80, 60, 5)]


@pytest.fixture(scope="module")
def rests(oracle: ModuleType) -> dict[str, list[mpf]]:
    """D(y) - 1 + e^y of one step of each order at PLACES."""
    return {order: [oracle.single_delta(order, "0.5", 1, oracle.real(y)) - 1 + oracle.mp.exp(oracle.real(y))
                    for y in PLACES] for order in ("remove", "add", "symmetric")}


@pytest.mark.theorem("T157-known-aliases", "T09-total-mass", "T08-shifted-line")
@pytest.mark.parametrize("order", ["remove", "add", "symmetric"])
@pytest.mark.parametrize("exponent", ["-11/10", "-2", "-6"])
def test_the_rest_is_bounded_by_a_moment_below(
        oracle: ModuleType, composed: Build, rests: dict[str, list[mpf]], order: str, exponent: str) -> None:
    """D(y) - 1 + e^y <= C M(l) e^{-l y} at every y, nearly attained at one; M(l) is the swapped pair's M(-1-l)."""
    x, loss = Fraction(exponent), composed(order, "1/2", 1)
    with ctx.workprec(128):
        bound = oracle.real(bound_mass(loss, enclose_families(loss, (RULE,))[0], x))
    shares = [rest * oracle.mp.exp(oracle.real(x * y)) / bound for rest, y in zip(rests[order], PLACES, strict=True)]
    assert all(share <= 1 for share in shares) and max(shares) > oracle.mpf("0.02")
    swapped = loss.in_order({"remove": "add", "add": "remove", "symmetric": "symmetric"}[order])
    with ctx.workprec(128):
        here, there = (sum(nodes.weights(acb(ball(at))), acb(0)).real
                       for nodes, at in ((enclose_families(loss, (RULE,))[0][0][0], x),
                                         (enclose_families(swapped, (RULE,))[0][0][0], -1 - x)))
        assert abs(here - there) < arb("1e-20") * here


@pytest.mark.theorem("T16-reversal", "T157-known-aliases")
@pytest.mark.parametrize("left", ["-3", "0"])
@pytest.mark.parametrize("epsilon", ["1/4", "1"])
def test_a_tilt_below_reads_the_swapped_line(oracle: ModuleType, composed: Build, left: str, epsilon: str) -> None:
    """The add order by the remove order's line: the closed form is inside, and the step makes it narrow."""
    eps = Fraction(epsilon)
    witness = line("1/2", "1/4", 300, "7/2", left, RULE)
    swapped = replace(witness, tilt=-1 - witness.tilt)
    bounds = evaluate(composed("add", "1/2", 1), swapped).delta(eps)
    truth = oracle.single_delta("add", "0.5", 1, oracle.real(eps))
    assert oracle.real(bounds.lower) <= truth <= oracle.real(bounds.upper)
    assert width(oracle, bounds) < oracle.mpf("0.02")
    assert not evaluate(composed("remove", "1/2", 1), witness).delta(eps).lower <= bounds.upper


@pytest.mark.theorem("T157-known-aliases")
def test_exponents_between_are_refused(composed: Build) -> None:
    """From -1 to 0, and below -1 where a law has atoms; also on the swapped line."""
    gaussian = composed("remove", "1/2", 1, 0, 1)
    for left in ("-1", "-1/2", "-1/1000"):
        for tilt in ("1/2", "-3/2"):
            with pytest.raises(InvalidInput):
                evaluate(gaussian, line(tilt, "1", 20, "2", left))
    for tilt in ("0", "-1/2", "-1"):
        with pytest.raises(InvalidInput):
            evaluate(gaussian, line(tilt, "1", 20, "2", "-5"))
    laplace = OneDirection(privacy_profile(Laplace(1, 1), "add-or-remove")._orders[0].loss).loss
    with pytest.raises(InvalidInput):
        evaluate(laplace, line("1/2", "1", 20, "2", "-5"))


@pytest.mark.theorem("T16-reversal", "T157-known-aliases")
def test_one_line_shows_both_orders_and_both_checkers_agree() -> None:
    """A certificate whose two deltas come from one line is valid; with other known aliases it would not be."""
    spec = parse_spec(SPEC)
    solved = privacy_profile(spec).solve_claim(spec.claim, 12)
    lines = {one.order: one.witness for one in solved[0].evaluations}
    remove, add = lines["remove"], lines["add"]
    assert isinstance(remove, LineWitness) and isinstance(add, LineWitness)
    assert remove.left < -1 and add == replace(remove, tilt=-1 - remove.tilt)
    document = build_certificate(spec, *solved)
    assert verify(document).valid and verify_again(canonical(document)).valid
    for entry in document["evaluations"]:
        if entry["quantity"] == "delta":
            entry["witness"]["left"] = "0"
    forged = canonical(sealed(document))
    assert not verify(forged).valid and not verify_again(forged).valid
