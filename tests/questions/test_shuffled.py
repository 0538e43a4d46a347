"""Shuffled epochs from below: the attack's pair never exceeds the data sets that it is about."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from verified_dp import Gaussian, PoissonSampled, certify, compose, privacy_profile
from verified_dp.core.families.batches.shuffled import ShuffledEpoch
from verified_dp.mechanisms import Shuffled
from verified_dp.spec import parse_spec

F = Fraction
shuffled = pytest.mark.theorem("T144-shuffled-epochs")


@shuffled
@pytest.mark.parametrize("removed", [False, True])
def test_largest_sums_of_shuffled_batches(removed: bool) -> None:
    """Real orders of 12 records in 4 batches, all others -1: Monte Carlo within five deviations of the bound."""
    rng, t, b, s, runs = np.random.default_rng(2), 4, 3, 0.8, 40_000
    sums = []
    for x in (1, 0):
        order = rng.permuted(np.tile([x, *[-1] * (t * b - 1)], (runs, 1)), axis=1)
        if removed and x == 0:
            order = np.tile([*[-1] * (t * b - 1), 0], (runs, 1))
        sums.append((order.reshape(runs, t, b).sum(axis=2) + b + s * rng.standard_normal((runs, t))).max(axis=1))
    for threshold in (F(1, 2), F(3, 2), F(5, 2)):
        q, p = ShuffledEpoch(F(8, 10), t, 1).enclose_rates(threshold)
        for bound, sample in ((p, sums[0]), (q, sums[1])):
            share = (sample > float(threshold)).mean()
            assert abs(share - float(bound)) < 5 * math.sqrt(share * (1 - share) / runs)


@shuffled
@pytest.mark.parametrize("order", ["remove", "add"])
def test_attack_is_below_two_batches_by_quadrature(order: str) -> None:
    """t = 2 under zero-out: the exact curve of (N(2 e_j), N(e_j)), j uniform, and within a third of it."""
    s = 0.7
    y = np.linspace(-5, 7, 1201)
    g = [np.exp(-(y - m) ** 2 / (2 * s * s)) / (s * math.sqrt(2 * math.pi)) for m in (0, 1, 2)]
    p, q = ((np.outer(g[m], g[0]) + np.outer(g[0], g[m])) / 2 for m in (2, 1))
    p, q = (p, q) if order == "remove" else (q, p)
    attack = privacy_profile(Shuffled(Gaussian("0.7"), 2), relation=order)
    for epsilon in ("0", "1", "2"):
        exact = np.maximum(p - math.exp(float(epsilon)) * q, 0).sum() * (y[1] - y[0]) ** 2
        found = attack.delta(epsilon, digits=6).lower_float
        assert found <= exact + 1e-6 and (found > exact / 3 or order == "add")


@shuffled
def test_published_lower_bound() -> None:
    """arXiv 2403.17673: at noise .4, 10000 batches, eps 4 shuffling has delta >= .226, Poisson sampling <= 1.18e-5."""
    lower = privacy_profile(Shuffled(Gaussian("0.4"), 10_000), relation="zero-out").delta(4, digits=4).lower
    poisson = privacy_profile(compose((PoissonSampled(Gaussian("0.4"), "1/10000"), 10_000)), relation="zero-out")
    assert F("0.22") < lower < F("0.244") and poisson.delta(4, digits=3).upper < F("1.2e-5")


@shuffled
def test_epochs_compose_and_stay_below_plain_gaussians() -> None:
    def lower(epochs: int) -> Fraction:
        found = privacy_profile(compose((Shuffled(Gaussian("1.1"), 20), epochs)), relation="zero-out")
        return found.delta(1, digits=4).lower

    plain = privacy_profile(compose((Gaussian("1.1"), 3)), relation="zero-out")
    assert 0 < lower(1) < lower(3) < plain.delta(1, digits=4).lower


@shuffled
def test_a_claim_by_poisson_accounting_is_refuted() -> None:
    text = ('relation = "zero-out"\n[[mechanism]]\nkind = "gaussian"\nnoise_multiplier = "0.4"\n'
            'sampling = { scheme = "shuffled", rounds = 10000 }\n[claim]\nepsilon = 4\ndelta = 1.2e-5\n')
    found = certify(parse_spec(text), digits=4)
    assert found["verdict"] == "refuted" and found.verify().valid
