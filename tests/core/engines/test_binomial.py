"""Many steps of two or three finite losses: against exact sums of fractions, and the power of the polynomial."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb
from types import ModuleType

import pytest
from flint import arb, ctx

from verified_dp import ApproximateDP, Finite, compose, privacy_profile
from verified_dp.core.engines import binomial
from verified_dp.core.engines.binomial import (
    _sum_terms,
    enclose_binomial,
    enclose_event,
    enclose_trinomial,
    is_binomial,
    is_trinomial,
    reach_of,
)
from verified_dp.core.engines.pieces import enclose_exactly
from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss

Masses = tuple[tuple[Fraction, Fraction], ...]


def many(law: object, count: int) -> ComposedLoss:
    return ComposedLoss("remove", ((law, count),), Fraction(0))  # type: ignore[arg-type]


def random_masses(source: random.Random) -> Masses:
    """Two finite losses, in either order, mass at infinity of P and of Q."""
    p, q = ([source.randint(1, 40) for _ in range(3)] for _ in range(2))
    finite = list(zip((Fraction(x, sum(p)) for x in p[:2]), (Fraction(x, sum(q)) for x in q[:2]), strict=True))
    return (*finite, (Fraction(p[2], sum(p)), Fraction(0)), (Fraction(0), Fraction(q[2], sum(q))))


@pytest.mark.theorem("T135-binomial-sums")
@pytest.mark.parametrize("seed", range(20))
def test_against_sums_of_fractions(oracle: ModuleType, seed: int) -> None:
    source = random.Random(seed)
    masses, count = random_masses(source), source.choice([2, 7, 60])
    law = FiniteLoss(masses, "remove")
    assert is_binomial(many(law, count))
    (p, q), (rest, below) = masses[:2]
    for epsilon in (Fraction(source.randint(-30, 60), 10) for _ in range(6)):
        a = oracle.mp.exp(oracle.real(epsilon))
        finite = sum(max(oracle.real(comb(count, j) * p**j * rest ** (count - j))
                         - a * oracle.real(comb(count, j) * q**j * below ** (count - j)), 0) for j in range(count + 1))
        exact = finite + oracle.real(1 - (p + rest) ** count)
        with ctx.workprec(120):
            found = enclose_binomial(many(law, count), ball(epsilon))
        assert abs(oracle.real(found.mid()) - exact) < oracle.mpf("1e-28") and found.rad() < 1e-28


@pytest.mark.theorem("T135-binomial-sums")
@pytest.mark.parametrize("epsilon", ["-1", "0.4", "5", "12", "30", "90"])
def test_against_the_power_of_the_polynomial(epsilon: str) -> None:
    loss = many(OddsLoss(Fraction(1, 100), Fraction(1, 10**7), 0), 10_000)
    with ctx.workprec(200):
        found, other = (way(loss, arb(epsilon)) for way in (enclose_binomial, enclose_exactly))
    assert found.overlaps(other) and found.rad() < found * 1e-40


@pytest.mark.theorem("T135-binomial-sums")
def test_what_is_cut_holds_the_rest() -> None:
    """At few bits the sums end early: the enclosure is wide and holds the narrow one."""
    loss = many(OddsLoss(Fraction(1, 10), Fraction(1, 10**4), 0), 5000)
    with ctx.workprec(300):
        exact = enclose_binomial(loss, arb(3))
    for prec in (4, 8, 20):
        with ctx.workprec(prec):
            wide = enclose_binomial(loss, arb(3))
        assert wide.contains(exact)
    with ctx.workprec(100):
        term, ratio = arb(1), arb(1) / 3
        part = _sum_terms(term, arb(0), ratio * arb(1) / 1000, arb(0), range(0, 1001), 1000)
        assert part.overlaps((1 + ratio / 1000) ** 1000) and part.rad() > 0


@pytest.mark.theorem("T135-binomial-sums")
def test_a_hundred_thousand_guarantees_at_once() -> None:
    """A closed form, and no lattice."""
    profile = privacy_profile(compose((ApproximateDP("0.01", "1e-7"), 10**5)), "replace")
    found, back = profile.epsilon("0.05", digits=8), profile.delta("12", digits=12)
    assert found.status == back.status == "certified" and found.method == "closed-form"
    assert profile.delta(found.upper.as_fraction(), 12).upper.as_fraction() <= Fraction(1, 20)
    assert profile.delta(found.lower.as_fraction(), 12).lower.as_fraction() > Fraction(1, 20) * (1 - Fraction(1, 10**7))


def test_equal_losses_say_nothing() -> None:
    half = Fraction(1, 2)
    with ctx.workprec(60):
        found = enclose_binomial(many(FiniteLoss(((half, half), (half, half)), "remove"), 5), arb(1))
    assert found.contains(arb(0)) and privacy_profile(
        compose((Finite([half, half], [half, half]), 5)), "add-or-remove").delta(0).upper == 0


def three(source: random.Random, count: int) -> tuple[Masses, ComposedLoss]:
    """Three finite losses in any order, mass at infinity of P and of Q; often one outcome is rare."""
    p, q = ([source.choice([1, 300, source.randint(1, 40)]) for _ in range(4)] for _ in range(2))
    finite = list(zip((Fraction(x, sum(p)) for x in p[:3]), (Fraction(x, sum(q)) for x in q[:3]), strict=True))
    masses = (*finite, (Fraction(p[3], sum(p)), Fraction(0)), (Fraction(0), Fraction(q[3], sum(q))))
    return masses, many(FiniteLoss(masses, "remove"), count)


@pytest.mark.theorem("T135-binomial-sums")
@pytest.mark.parametrize("seed", range(30))
def test_three_losses_against_sums_of_fractions(oracle: ModuleType, seed: int) -> None:
    """At many bits narrow, at few ones, where much is left out, still around the truth."""
    source = random.Random(seed)
    count = source.choice([2, 9, 40])
    masses, loss = three(source, count)
    (p, a), (q, b), (r, c) = masses[:3]
    ways = [(n, m, comb(count, n) * comb(n, m)) for n in range(count + 1) for m in range(n + 1)]
    rows = [(w * p**m * q ** (n - m) * r ** (count - n), w * a**m * b ** (n - m) * c ** (count - n))
            for n, m, w in ways]
    assert is_trinomial(loss) and not is_binomial(loss)
    for epsilon in (Fraction(source.randint(-30, 60), 10) for _ in range(3)):
        growth = oracle.mp.exp(oracle.real(epsilon))
        exact = oracle.real(1 - (p + q + r) ** count) + sum(
            max(oracle.real(above) - growth * oracle.real(below), 0) for above, below in rows)
        for prec in (3, 12, 120):
            with ctx.workprec(prec):
                found = enclose_trinomial(loss, ball(epsilon))
            assert abs(oracle.real(found.mid()) - exact) <= oracle.real(found.rad()) + oracle.mpf("1e-40")
        assert found.rad() < 1e-30 or len({p / a, q / b, r / c}) < 3


@pytest.mark.theorem("T135-binomial-sums")
@pytest.mark.parametrize("epsilon", ["-1", "0.4", "2", "5"])
@pytest.mark.parametrize("prec", [20, 200])
def test_three_losses_against_the_power_of_the_polynomial(epsilon: str, prec: int) -> None:
    """Where sums end long before the last term; eps at sums of losses."""
    loss = many(OddsLoss(Fraction(1, 100), Fraction(1, 10**7), 3), 6000)
    with ctx.workprec(prec):
        assert reach_of(6000, prec + 100) < 1500
        found = enclose_trinomial(loss, arb(epsilon))
    with ctx.workprec(300):
        truth = enclose_exactly(loss, arb(epsilon))
    assert found.contains(truth) and found.rad() < arb(2) ** (8 - prec)


@pytest.mark.theorem("T135-binomial-sums")
@pytest.mark.parametrize("reach", [2, 4, 7])
def test_what_three_losses_leave_out(monkeypatch: pytest.MonkeyPatch, reach: int) -> None:
    """Numbers of steps are followed a few steps from their means alone: the rest is counted."""
    law = FiniteLoss(tuple((Fraction(p, 90), Fraction(q, 90)) for p, q in ((30, 20), (31, 30), (29, 40))), "remove")
    loss, truths = many(law, 40), list[arb]()
    points = [arb(n) / 4 for n in range(-8, 30)]
    with ctx.workprec(100):
        truths = [enclose_trinomial(loss, point) for point in points]
        monkeypatch.setattr(binomial, "reach_of", lambda *_: reach)
        for point, truth in zip(points, truths, strict=True):
            found = enclose_trinomial(loss, point)
            assert found.contains(truth) and found.rad() > 1e-4


@pytest.mark.theorem("T135-binomial-sums")
def test_events_of_three_outcomes() -> None:
    """Any falling thresholds, not only those of losses."""
    p, q, r = Fraction(1, 7), Fraction(2, 5), Fraction(3, 11)
    starts = [(3, 3), (4, 3), (5, 1), (6, 1), (7, 0), (8, 0)]
    truth = sum(comb(9, n) * r ** (9 - n) * comb(n, m) * p**m * q ** (n - m)
                for n, t in starts for m in range(t, n + 1))
    with ctx.workprec(100):
        found = enclose_event([ball(p), ball(q), ball(r)], 9, starts)
        assert found.overlaps(ball(truth)) and found.rad() < 1e-26
        assert enclose_event([ball(p), ball(q), ball(r)], 9, []) == 0


@pytest.mark.parametrize(("count", "digits"), [(20_000, 50), (300_000, 12)])
def test_many_steps_of_three_losses(count: int, digits: int) -> None:
    """A guarantee with an outcome that tells nothing: to all digits, and eps to as many."""
    large, small = Fraction(2504, 10**4), Fraction(2497, 10**4)
    others = Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)
    steps = compose((Finite((large, small, 1 - large - small), others), count))
    profile = privacy_profile(steps, "add-or-remove")
    delta = profile.delta(1, digits=digits)
    assert (delta.status, delta.method) == ("certified", "closed-form")
    assert profile.epsilon("1e-8").status == "certified"
