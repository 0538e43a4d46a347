"""Publishing what votes revealed: the bound and its smooth sensitivity at all data of few teachers, and the release."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import mpmath as mp
import numpy as np
import pytest
from scipy.special import log_ndtr

from verified_dp import Laplace, Renyi, compose, privacy_profile
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.mechanisms import GNMax, GNMaxVotes
from verified_dp.pate import Sanitised, bound_release, propose_test_release, sanitised

TEACHERS = 6
COUNTS = [(a, b, TEACHERS - a - b) for a in range(TEACHERS + 1) for b in range(TEACHERS + 1 - a)]
SETTING = {"order": 3, "beta": "1/10", "noise": 4}


def moved(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [counts] + [tuple(n - (i == a) + (i == b) for i, n in enumerate(counts))
                       for a, b in permutations(range(3), 2) if counts[a]]


def found(*asked: GNMaxVotes) -> Sanitised:
    return sanitised(asked, **SETTING)


def log_wins(counts: tuple[int, ...], sigma: float) -> np.ndarray:
    x, weights = np.polynomial.legendre.leggauss(120)
    x, weights = 12 * x, 12 * weights
    laws = [np.prod([np.exp(log_ndtr(x + (own - other) / sigma)) for j, other in enumerate(counts) if j != i], axis=0)
            for i, own in enumerate(counts)]
    return np.log([float((weights * np.exp(-x * x / 2) * law).sum() / np.sqrt(2 * np.pi)) for law in laws])


@pytest.mark.theorem("T234-smooth-votes")
@pytest.mark.parametrize("threshold", [(), (4, 3)], ids=["plain", "threshold"])
def test_the_bound_holds_and_its_sensitivity_is_smooth_at_all_data(threshold: tuple[int, ...]) -> None:
    every = {counts: found(GNMaxVotes(1, counts, *threshold)) for counts in COUNTS}
    wins = {counts: log_wins(counts, 1) for counts in COUNTS}
    if threshold:
        tails = {m: (log_ndtr((m - 4) / 3), log_ndtr((4 - m) / 3)) for m in range(TEACHERS + 1)}
        wins = {counts: np.append(law + tails[max(counts)][0], tails[max(counts)][1]) for counts, law in wins.items()}
    reached = 0.0
    for one in COUNTS:
        for other in moved(one):
            p, q, here, there = wins[one], wins[other], every[one], every[other]
            divergence = max(np.logaddexp.reduce(3 * a - 2 * b) / 2 for a, b in ((p, q), (q, p)))
            assert divergence <= float(here.bound) * (1 + 1e-9)
            change = abs(here.bound - there.bound)
            assert change <= here.sensitivity <= there.sensitivity * Fraction("1.10518")
            reached = max(reached, float(change / here.sensitivity))
    assert reached > (0.3 if threshold else 0.9)


@pytest.mark.theorem("T234-smooth-votes")
def test_questions_add_up() -> None:
    """Two different questions, all moves of one teacher on both."""
    for one, two in product([(6, 0, 0), (3, 2, 1)], [(5, 1, 0), (2, 2, 2)]):
        here = found(GNMaxVotes(1, one), GNMaxVotes(2, two))
        assert here.bound == found(GNMaxVotes(1, one)).bound + found(GNMaxVotes(2, two)).bound
        for a, b in product(moved(one), moved(two)):
            there = found(GNMaxVotes(1, a), GNMaxVotes(2, b))
            assert abs(here.bound - there.bound) <= here.sensitivity <= there.sensitivity * Fraction("1.10518")


@pytest.mark.theorem("T234-smooth-votes")
@pytest.mark.parametrize(("order", "beta", "noise", "margin"),
                         [(45, "0.01", 10, 0), (8, "0.06", 15, 2), (2, "0.3", 3, 1)])
def test_the_cost_of_a_release(order: int, beta: str, noise: int, margin: int) -> None:
    """Two normal laws at the ends: attained without a margin; the published cost of the first row is exceeded."""
    b, largest = mp.mpf(beta), mp.mpf(0)
    for ratio in (-b, b / 2, b):
        one, other = noise, noise * mp.exp(-ratio)
        apart = min(1, mp.exp(-ratio)) + (1 - mp.exp(-ratio)) * noise * margin
        largest = max(largest, renyi(order, one, other, apart))
    cost = float(bound_release(Fraction(order), Fraction(beta), Fraction(noise), Fraction(margin)).mid())
    assert largest <= cost * (1 + 1e-9) and (margin or cost <= largest * (1 + 1e-9))
    if (order, beta) == (45, "0.01"):
        published = order * mp.exp(2 * b) / noise**2 + (b * order - mp.log(1 - 2 * order * b) / 2) / (order - 1)
        assert largest > 4 * published


def test_the_published_cost_holds_where_order_times_beta_is_small() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        order, noise = 1 + 10 ** rng.uniform(-1, 2.5), 10 ** rng.uniform(-0.5, 2.5)
        b = rng.uniform(0, 0.25) / order
        published = order * np.exp(2 * b) / noise**2 + (order * b - np.log(1 - 2 * order * b) / 2) / (order - 1)
        assert bound_release(*map(Fraction, (order, b, noise)), Fraction(0)) <= published


def renyi(order: int, one: mp.mpf, other: mp.mpf, apart: mp.mpf) -> mp.mpf:
    """Of N(0, one^2) against N(apart, other^2), by quadrature around where the integrand lies."""
    variance = (1 - order) * one**2 + order * other**2
    centre, width = (1 - order) * apart * one**2 / variance, one * other / mp.sqrt(variance)

    def value(x: mp.mpf) -> mp.mpf:
        return mp.exp(-order * x**2 / (2 * one**2) - (1 - order) * (x - apart) ** 2 / (2 * other**2)
                      - order * mp.log(one) - (1 - order) * mp.log(other)) / mp.sqrt(2 * mp.pi)
    return mp.log(mp.quad(value, [centre + k * width for k in range(-12, 13, 4)])) / (order - 1)


@pytest.mark.theorem("T234-smooth-votes")
def test_what_is_published_is_well_below_what_holds_for_all_data() -> None:
    """640 questions to 250 teachers, 600 of which agree: bound, cost and two deviations, at delta = 1e-5."""
    asked = [GNMaxVotes(40, [250, 0, 0], 200, 150)] * 600 + [GNMaxVotes(40, [170, 60, 20], 200, 150)] * 40
    known = sanitised(asked, order=8, beta="1/20", noise=20, margin=2)
    assert known.release(-2) == known.bound + known.cost and known.release(1) > known.release(0)
    published = privacy_profile(Renyi([8], [known.release(0)]), "replace").epsilon("1e-5", digits=3)
    plain = privacy_profile(compose((GNMax(40, 150), 640)), "replace").epsilon("1e-5", digits=3)
    assert published.upper < 3 < plain.lower + Fraction(9, 10)


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInput, match="order"):
        sanitised([GNMaxVotes(1, [2, 1])], order=1, beta="1/10", noise=1)
    with pytest.raises(InvalidInput, match="whole numbers of votes"):
        sanitised([GNMaxVotes(1, [2, 1]), GNMaxVotes(1, [2, 2])], order=2, beta="1/10", noise=1)
    with pytest.raises(Unsupported, match="beta is too large"):
        sanitised([GNMaxVotes(1, [2, 1])], order=2, beta="1/2", noise=1)


@pytest.mark.theorem("T239-propose-test-release")
@pytest.mark.parametrize("noise", ["scale", "sigma"])
def test_releases_behind_a_test_of_a_chain_of_data_sets(noise: str) -> None:
    """Distances 0, 0, 1, 2, 3: where both are unstable outputs share nothing, elsewhere they are moved noise."""
    size, threshold, distances = 1.5, 3, [0, 0, 1, 2, 3]
    tail = {"scale": lambda x: mp.exp(-x / size) / 2 if x > 0 else 1 - mp.exp(x / size) / 2,
            "sigma": lambda x: mp.ncdf(-x / size)}[noise]
    places = range(-40, 80)

    def law(index: int) -> dict[object, float]:
        passed = float(tail(threshold - distances[index]))
        center = 60 if index == 0 else index  # the first two: far apart
        weights = {x: float(mp.exp(-abs(x - center) / 2)) for x in places}
        return {None: 1 - passed, **{x: passed * w / sum(weights.values()) for x, w in weights.items()}}

    bound = propose_test_release(Laplace(2, 1), threshold, **{noise: str(size)})
    chance = float(tail(threshold))
    for epsilon in (0, 0.5, 1, 4, 12):
        upper = privacy_profile(bound, "replace").delta(epsilon, digits=5).upper_float
        for one in range(4):
            for p, q in ((law(one), law(one + 1)), (law(one + 1), law(one))):
                delta = sum(max(p[key] - float(mp.exp(epsilon)) * q[key], 0) for key in p)
                assert delta <= upper + 1e-9, (epsilon, one)
                assert one or epsilon != 12 or delta > 0.999 * chance
    assert upper == pytest.approx(chance, rel=0.02 if noise == "scale" else 0.2)
    assert not privacy_profile(bound, "replace").delta(1, digits=3).tight
    for wrong in ({}, {"scale": 1, "sigma": 1}, {"scale": 0}):
        with pytest.raises(InvalidInput):
            propose_test_release(Laplace(2, 1), 3, **wrong)
    with pytest.raises(InvalidInput, match="threshold"):
        propose_test_release(Laplace(2, 1), -1, scale=1)
