"""Batches of limited size against all batches of small data sets: none exceeds the pair, `others -x` reach it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from verified_dp import Gaussian, PoissonSampled, WithoutReplacement, WithReplacement, compose, privacy_profile
from verified_dp.certificate import certify
from verified_dp.core.families.batches.mechanism import TruncatedPoisson
from verified_dp.core.families.batches.truncated_batch import (
    TruncatedBatchLoss,
    enclose_binomial_tail,
    full_batch_share,
)
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composition import Mechanism, Relation
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.core.kernel.losses import describe_pairs, privacy_losses
from verified_dp.core.kernel.words import assumptions
from verified_dp.spec import parse_spec

F = Fraction
displaced = pytest.mark.theorem("T142-displaced-records")
S = 0.7
NOISE = Gaussian("0.7")
GRID = np.linspace(-14, 14, 5601)
QUADRATURE = 2e-6
"""The trapezoidal rule's error at the kinks."""
Batches = dict[tuple[int, ...], Fraction]


def subsets(n: int, size: int) -> Batches:
    found = list(itertools.combinations(range(n), size))
    return dict.fromkeys(found, F(1, len(found)))


def draws(n: int, times: int) -> Batches:
    return {batch: F(1, n**times) for batch in itertools.product(range(n), repeat=times)}


def truncated(n: int, q: Fraction, most: int) -> Batches:
    found: Batches = {}
    for size in range(n + 1):
        for sample in itertools.combinations(range(n), size):
            kept = list(itertools.combinations(sample, min(size, most)))
            for batch in kept:
                found[batch] = found.get(batch, F(0)) + q**size * (1 - q) ** (n - size) / len(kept)
    return found


def density(batches: Batches, contributions: list[float]) -> np.ndarray:
    total = np.zeros_like(GRID)
    for batch, weight in batches.items():
        total += float(weight) * np.exp(-(GRID - sum(contributions[i] for i in batch)) ** 2 / (2 * S * S))
    return total / (S * math.sqrt(2 * math.pi))


def stick(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return float(np.maximum(p - alpha * q, 0).sum() * (GRID[1] - GRID[0]))


def bounds(mechanism: Mechanism, relation: Relation, order: str, alpha: float) -> float:
    loss = next(loss for loss in privacy_losses(compose(mechanism), relation) if loss.order == order)
    with ctx.workprec(80):
        return float(loss.enclose_alone(arb(math.log(alpha))).upper())


CASES: list[tuple[Mechanism, Callable[[int], Batches]]] = [
    (WithoutReplacement(NOISE, F(2, 4)), lambda n: subsets(n, 2)),
    (WithoutReplacement(NOISE, F(1, 4)), lambda n: subsets(n, 1)),
    (WithReplacement(NOISE, 2, 4), lambda n: draws(n, 2)),
    (TruncatedPoisson(NOISE, F(1, 2), 4, 1), lambda n: truncated(n, F(1, 2), 1)),
    (TruncatedPoisson(NOISE, F(1, 3), 4, 2), lambda n: truncated(n, F(1, 3), 2)),
    (TruncatedPoisson(NOISE, F(3, 4), 4, 3), lambda n: truncated(n, F(3, 4), 3)),
    (TruncatedPoisson(NOISE, F(1), 4, 3), lambda n: truncated(n, F(1), 3)),
]


@displaced
@pytest.mark.parametrize(("mechanism", "batches"), CASES)
def test_no_data_set_exceeds_the_pair(mechanism: Mechanism, batches: Callable[[int], Batches]) -> None:
    """Four records against three, or against four whose last is zero or another; random ones and extreme ones."""
    rng = np.random.default_rng(1)
    for others in [[-1.0] * 3, [1.0] * 3, [0.0] * 3, *rng.uniform(-1, 1, (3, 3)).tolist()]:
        for x in (1.0, -1.0):
            p = density(batches(4), [*others, x])
            sides = {Relation.ADD_OR_REMOVE: density(batches(3), others),
                     Relation.ZERO_OUT: density(batches(4), [*others, 0]),
                     Relation.REPLACE: density(batches(4), [*others, -x])}
            for (relation, q), alpha in itertools.product(sides.items(), (0.6, 1.0, 1.7, 4.0)):
                first, second = ("symmetric", "symmetric") if relation is Relation.REPLACE else ("remove", "add")
                assert stick(p, q, alpha) <= bounds(mechanism, relation, first, alpha) + QUADRATURE
                assert stick(q, p, alpha) <= bounds(mechanism, relation, second, alpha) + QUADRATURE


@displaced
@pytest.mark.parametrize(("mechanism", "batches"), CASES[:3])
def test_others_opposite_reach_the_pair(mechanism: Mechanism, batches: Callable[[int], Batches]) -> None:
    p, q = density(batches(4), [-1.0] * 3 + [1.0]), density(batches(3), [-1.0] * 3)
    assert all(pair.tight for pair in describe_pairs(compose(mechanism), Relation.ADD_OR_REMOVE))
    for alpha in (0.6, 1.0, 1.7, 4.0):
        assert abs(stick(p, q, alpha) - bounds(mechanism, Relation.REMOVE, "remove", alpha)) < QUADRATURE
        assert abs(stick(q, p, alpha) - bounds(mechanism, Relation.ADD, "add", alpha)) < QUADRATURE


@displaced
def test_poisson_accounting_does_not_cover_truncation() -> None:
    """The counter-example of the proof."""
    rate, alpha = F(9, 10), math.exp(2)
    assert set(truncated(2, rate, 1).values()) == {F(1, 100), F(495, 1000)}
    p, q = density(truncated(2, rate, 1), [-1.0, 1.0]), density(truncated(1, rate, 1), [-1.0])
    assert stick(p, q, alpha) > 1.5 * bounds(PoissonSampled(NOISE, rate), Relation.REMOVE, "remove", alpha)


@displaced
@pytest.mark.parametrize(("n", "q", "most"), [(4, F(1, 3), 2), (5, F(9, 10), 1), (6, F(1, 2), 5)])
def test_share_of_full_batches_is_the_enumerated_one(n: int, q: Fraction, most: int) -> None:
    """How likely the last record is kept, given that most or more of the others are on the sample."""
    kept = full = F(0)
    for size in range(n):
        chance = math.comb(n - 1, size) * q**size * (1 - q) ** (n - 1 - size)
        if size >= most:
            full, kept = full + chance, kept + chance * q * F(most, size + 1)
    with ctx.workprec(120):
        assert enclose_binomial_tail(n - 1, most, q).overlaps(ball(full))
    found = full_batch_share(n, most, q)
    assert kept / full <= found <= (kept / full) * (1 + F(1, 2**39))


@displaced
@pytest.mark.parametrize("least", [0, 1, 3, 7, 20, 21])
def test_binomial_tails(least: int) -> None:
    q = F(2, 7)
    exact = sum((math.comb(20, k) * q**k * (1 - q) ** (20 - k) for k in range(least, 21)), F(0))
    with ctx.workprec(90):
        found = enclose_binomial_tail(20, least, q)
        assert abs(found - ball(exact)) <= arb((1, -80)) * ball(exact) and found.overlaps(ball(exact))
        assert enclose_binomial_tail(60_000, 500, F(256, 60_000)).rel_accuracy_bits() > 60
    nearly = 1 - F(1, 10**50)
    assert abs(enclose_binomial_tail(8, 8, nearly) - ball(nearly**8)) < arb((1, -40))


@displaced
@pytest.mark.parametrize(("q", "most"), [(F(1, 5), 14), (F(1, 5), 1), (F(1), 14), (F(1, 100), 900), (F(1, 5), 1000)])
def test_batches_that_are_nearly_always_full_or_never(q: Fraction, most: int) -> None:
    """The chance of the rarer case keeps its digits, and questions about it have an answer."""
    rare = sum((math.comb(999, k) * q**k * (1 - q) ** (999 - k) for k in range(min(most, 1000))), F(0))
    step = TruncatedPoisson(Gaussian("3/4"), q, 1000, most)
    [(law, _)] = privacy_losses(compose((step, 20)), Relation.ADD)[0].parts
    if isinstance(law, TruncatedBatchLoss):
        room, full = law.enclose_shares()
        for found, truth in ((room, rare), (full, 1 - rare)):
            assert found.overlaps(ball(truth)) and abs(found - ball(truth)) <= ball(truth) * arb((1, -40))
    found = privacy_profile(compose((step, 20)), relation="add").epsilon("1e-100", digits=4, max_seconds=1)
    assert 0 <= found.lower <= found.upper < 10


@displaced
def test_limits_are_the_schemes_that_are_known() -> None:
    plain = privacy_profile(compose(TruncatedPoisson(NOISE, "1/3", 50, 50)), relation="add-or-remove")
    all_drawn = privacy_profile(compose(TruncatedPoisson(NOISE, 1, 50, 5)), relation="add-or-remove")
    fixed = privacy_profile(compose(WithoutReplacement(NOISE, "1/10")), relation="add-or-remove")
    poisson = parse_spec('relation = "add-or-remove"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "0.7"\n'
                         'sampling = { scheme = "poisson", probability = "1/3" }\n')
    assert plain.losses == privacy_profile(poisson.composition, relation="add-or-remove").losses
    assert all_drawn.losses == fixed.losses
    rare = privacy_profile(compose(TruncatedPoisson(NOISE, "1/3", 50, 45)), relation="remove").delta(1, digits=6)
    assert abs(rare.upper_float - plain.delta(1, digits=6).upper_float) < 1e-6


SPEC = """relation = "add-or-remove"
[[mechanism]]
kind = "gaussian"
noise_multiplier = 1
sampling = { scheme = "truncated-poisson", probability = "1/4", population = 12, largest_batch = 5 }
count = 2
[claim]
epsilon = EPSILON
delta = 1e-3
"""


@displaced
@pytest.mark.parametrize(("epsilon", "verdict"), [("9", "proved"), ("1", "undecided")])
def test_certificates_prove_and_do_not_refute(epsilon: str, verdict: str) -> None:
    found = certify(parse_spec(SPEC.replace("EPSILON", epsilon)), digits=3)
    assert found["verdict"] == verdict and found.verify().valid
    assert "T142-displaced-records" in found["theorems"]
    assert any("largest_batch" in words for words in found["assumptions"])


def test_specification_refuses() -> None:
    for wrong in ("population = 0", "population = 2000000000"):
        with pytest.raises(InvalidInput):
            parse_spec(SPEC.replace("EPSILON", "1").replace("population = 12", wrong))
    with pytest.raises(Unsupported):
        privacy_losses(compose(TruncatedPoisson(NOISE, "1/3", 50, 5)).for_groups(2), Relation.ADD_OR_REMOVE)


def test_assumptions_say_whose_number_of_records() -> None:
    composition = compose(WithoutReplacement(NOISE, "1/10"))
    assert any("larger of two" in words for words in assumptions(composition, Relation.ADD))
    assert any("same number" in words for words in assumptions(composition, Relation.ZERO_OUT))
