"""Bounds from several powers, in both directions: attained by two points, never below an exact delta."""

from __future__ import annotations

import random
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from flint import arb, ctx

from verified_dp import ZCDP, ApproximateDP, Gaussian, Renyi, compose, privacy_profile
from verified_dp.core.engines.moment import EarlierDivergences, MomentValues, MomentWitness
from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.families.guarantees.orders import RenyiLoss
from verified_dp.core.families.guarantees.renyi import ZCDPLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.moment_engine import MomentEngine

Masses = list[tuple[Fraction, Fraction]]
ATOMS = FiniteLoss(((Fraction(1, 1000), Fraction(0)), (Fraction(999, 1000), Fraction(999, 1000)),
                    (Fraction(0), Fraction(1, 1000))), "symmetric")
POWERS = [Fraction(text) for text in ("-3", "-1/2", "0", "1", "3/2", "2", "7")]


def symmetric(*laws: object, shift: str = "0") -> ComposedLoss:
    return ComposedLoss("symmetric", tuple((law, 1) for law in laws), Fraction(shift))  # type: ignore[misc]


def size_of(oracle: ModuleType, masses: Masses, power: Fraction) -> object:
    """log M, of which the divergence is made, or a relative entropy."""
    s, size = oracle.real(power), divergence(oracle, masses, power)
    return size if power in (0, 1) else oracle.mp.log(1 + size * s * (s - 1))


def divergence(oracle: ModuleType, masses: Masses, power: Fraction) -> object:
    """(sum p^s q^(1-s) - 1) / (s (s - 1)), or a relative entropy."""
    pairs = [(oracle.real(p), oracle.real(q)) for p, q in masses]
    if power in (0, 1):
        return sum((q if power == 0 else p) * oracle.mp.log(q / p if power == 0 else p / q) for p, q in pairs)
    s = oracle.real(power)
    return (sum(p**s * q ** (1 - s) for p, q in pairs) - 1) / (s * (s - 1))


def random_pair(source: random.Random, outcomes: int) -> Masses:
    rows = [[source.randint(1, 99) for _ in range(outcomes)] for _ in range(2)]
    return [(Fraction(p, sum(rows[0])), Fraction(q, sum(rows[1]))) for p, q in zip(*rows, strict=True)]


def sizes_of(loss: ComposedLoss, power: str) -> tuple[arb, ...]:
    """What one power stands for."""
    found = MomentWitness((Fraction(power),), (Fraction(1),), Fraction(0), Fraction(0), 128).evaluate(loss)
    return found.sizes


def a_ball(oracle: ModuleType, value: object) -> arb:
    return arb(oracle.mp.nstr(value, 38)) + arb(0, 1e-34)


@pytest.mark.theorem("T180-moment")
@pytest.mark.parametrize("seed", range(60))
def test_no_pair_exceeds_what_its_divergences_prove(oracle: ModuleType, seed: int) -> None:
    source = random.Random(seed)
    masses, epsilon = random_pair(source, source.randint(2, 6)), Fraction(source.randint(-10, 20), 10)
    powers = tuple(source.sample(POWERS, source.randint(1, 3)))
    parts = [source.randint(1, 9) for _ in powers]
    weights = tuple(Fraction(part, sum(parts)) for part in parts)
    a = float(oracle.mp.exp(oracle.real(epsilon)))
    high = Fraction(source.randint(80, 300), 100)
    witness = MomentWitness(powers, weights, Fraction(source.randint(1, 99), 100) * Fraction(a), high, 160)
    with ctx.workprec(160):
        sizes = tuple(a_ball(oracle, size_of(oracle, masses, power)) for power in powers)
        bound = MomentValues(witness, sizes, arb(0)).delta(epsilon).upper
    exact = sum(max(oracle.real(p) - oracle.mp.exp(oracle.real(epsilon)) * oracle.real(q), 0) for p, q in masses)
    assert exact <= oracle.real(bound)


@pytest.mark.theorem("T180-moment")
@pytest.mark.parametrize("powers", [("2",), ("1",), ("-1",), ("1", "0"), ("3", "-2"), ("3/2", "4")])
@pytest.mark.parametrize(("p", "r"), [("3/4", "1/4"), ("1/10", "1/1000"), ("99/100", "1/2")])
def test_two_points_attain_the_bound(oracle: ModuleType, powers: tuple[str, ...], p: str, r: str) -> None:
    """At the eps where the tangents cross: equality, and a smaller v changes it little but stays above."""
    masses = [(Fraction(p), Fraction(r)), (1 - Fraction(p), 1 - Fraction(r))]
    u, v = masses[1][0] / masses[1][1], masses[0][0] / masses[0][1]
    chosen = tuple(Fraction(power) for power in powers)
    weights = tuple(Fraction(1, len(chosen)) for _ in chosen)
    x, y = oracle.real(u), oracle.real(v)

    def rise(power: Fraction) -> object:
        s = oracle.real(power)
        return (y**s - x**s) / s if power else oracle.mp.log(y / x)

    a = sum(oracle.real(w) * rise(s) / rise(s - 1) for s, w in zip(chosen, weights, strict=True))
    epsilon = Fraction(int(oracle.mp.log(a) * 10**25) + 1, 10**25)
    ratio = Fraction(int(y / oracle.mp.exp(oracle.real(epsilon)) * 10**30), 10**30)
    with ctx.workprec(200):
        sizes = tuple(a_ball(oracle, size_of(oracle, masses, power)) for power in chosen)
        bound = oracle.real(MomentValues(MomentWitness(chosen, weights, u, ratio, 200), sizes, arb(0))
                            .delta(epsilon).upper)
    exact = oracle.real(Fraction(p)) - oracle.mp.exp(oracle.real(epsilon)) * oracle.real(Fraction(r))
    assert exact - oracle.mpf("1e-30") <= bound <= exact + oracle.mpf("1e-20")


@pytest.mark.theorem("T180-moment")
@pytest.mark.parametrize("rho", ["0.671", "0.001", "3"])
def test_zcdp_at_zero_is_the_mirrored_pair(oracle: ModuleType, rho: str) -> None:
    """(2p - 1) log(p / (1 - p)) = rho, delta = 2p - 1: known as the best from both relative entropies."""
    size = oracle.mp.findroot(lambda d: d * oracle.mp.log((1 + d) / (1 - d)) - oracle.mpf(rho), (0.001, 0.99),
                              solver="anderson", tol=1e-30)
    upper = oracle.real(privacy_profile(ZCDP(rho), "replace").delta(0).upper)
    assert size <= upper <= size * (1 + oracle.mpf("1e-11"))


def scan(guarantee: object, a: float) -> float:
    """The largest p - a r among two-point pairs that meet 2500 bounds: least r by bisection at finer and finer p."""
    orders = 1 + np.geomspace(1e-5, 100, 2500)[:, None]
    limits = np.array([guarantee(order) for order in orders])  # type: ignore[operator]

    def divergences(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        one, other = (orders * np.log(t) + (1 - orders) * np.log(u) for t, u in ((x, y), (1 - x, 1 - y)))
        return np.logaddexp(one, other) / (orders - 1)

    best, low, high = 0.0, 1e-9, 1 - 1e-9
    for _ in range(4):
        p = np.linspace(low, high, 41)
        below, above = np.full(41, 1e-15), p.copy()
        for _ in range(42):
            r = np.sqrt(below * above)
            fits = ((divergences(p, r) <= limits) & (divergences(r, p) <= limits)).all(axis=0)
            below, above = np.where(fits, below, r), np.where(fits, r, above)
        gains = p - a * above
        best, at = max(best, float(gains.max())), float(p[gains.argmax()])
        low, high = max(at - (high - low) / 20, 1e-12), min(at + (high - low) / 20, 1 - 1e-12)
    return best


@pytest.mark.theorem("T180-moment")
@pytest.mark.parametrize(("rho", "epsilon"), [("0.5", "0"), ("0.5", "0.25"), ("0.5", "1"), ("0.05", "1")])
def test_no_two_points_exceed_the_bound_and_some_reach_it(rho: str, epsilon: str) -> None:
    run = MomentEngine(symmetric(ZCDPLoss(Fraction(rho)))).solve(Fraction(epsilon))
    found = scan(lambda order: float(rho) * order, float(arb(epsilon).exp()))
    assert found == pytest.approx(float(run.bounds.upper), rel=1e-4)


@pytest.mark.theorem("T180-moment")
@pytest.mark.parametrize("seed", range(8))
def test_adaptive_steps_stay_below(oracle: ModuleType, seed: int) -> None:
    """Two steps, the second chosen by the first's outcome; both known by their largest divergences, both ways."""
    source, epsilon = random.Random(seed), Fraction(seed, 8)
    first, later = random_pair(source, 3), [random_pair(source, 3) for _ in range(3)]
    joint = [(p * x, q * y) for (p, q), after in zip(first, later, strict=True) for x, y in after]
    laws = []
    for masses in ([first], later):
        both = [side for one in masses for side in (one, [(q, p) for p, q in one])]
        stated = []
        for order in ("3/2", "2", "5"):
            s = oracle.real(Fraction(order))
            largest = max(oracle.mp.log(1 + divergence(oracle, one, Fraction(order)) * s * (s - 1)) / (s - 1)
                          for one in both)
            stated.append((Fraction(order), Fraction(int(largest * 10**20) + 1, 10**20)))
        laws.append(RenyiLoss.of_divergences(stated))
    exact = sum(max(oracle.real(p) - oracle.mp.exp(oracle.real(epsilon)) * oracle.real(q), 0) for p, q in joint)
    assert exact <= oracle.real(MomentEngine(symmetric(*laws)).solve(epsilon).bounds.upper)


@pytest.mark.theorem("T180-moment")
def test_epsilon_ends_where_delta_is_the_target() -> None:
    """Within 1e-12 of the best, for zCDP and for a list of 80 orders."""
    orders = [1 + Fraction(i + 1, 10) for i in range(80)]
    for mechanism in (ZCDP("1/2"), Renyi(orders, [order / 2 for order in orders])):
        profile = privacy_profile(mechanism, "replace")
        found = profile.epsilon("1e-6").upper.as_fraction()
        assert profile.delta(found).upper.as_fraction() <= Fraction(1, 10**6) * (1 + Fraction(1, 10**10))
        below = found * (1 - Fraction(1, 10**11))
        assert profile.delta(below).upper.as_fraction() > Fraction(1, 10**6)


@pytest.mark.theorem("T180-moment")
def test_gaussian_and_laplace_beside_zcdp(oracle: ModuleType) -> None:
    """Divergences of a pair that is known in closed form, in both directions, and +inf where mass is infinite."""
    loss = symmetric(LaplaceLoss(Fraction(1, 3)), ZCDPLoss(Fraction(1, 10), xi=Fraction(1, 50)), shift="1/4")
    with ctx.workprec(128):
        found = [oracle.real(sizes_of(loss, power)[0]) for power in ("3", "-2")]
        entropy, = sizes_of(symmetric(ZCDPLoss(Fraction(1, 10)), shift="1/4"), "0")
    mu = oracle.mpf(1) / 3
    moment = (oracle.mp.exp(2 * mu) * 3 + oracle.mp.exp(-3 * mu) * 2) / 5
    size = oracle.mp.log(moment) + 6 * (oracle.mpf(1) / 10 + oracle.mpf(1) / 8) + oracle.mpf(2) / 50
    assert abs(found[0] - size) < 1e-30 and abs(found[1] - size) < 1e-30
    assert abs(float(entropy) - 0.225) < 1e-12
    profile = privacy_profile(compose(ZCDP("1/10"), ApproximateDP("1", "1e-5"), Gaussian("2")), "replace")
    assert profile.delta(1).upper.as_fraction() >= Fraction(1, 10**5)


def test_side_conditions() -> None:
    loss, half = symmetric(ZCDPLoss(Fraction(1))), Fraction(1, 2)
    for change in ({"powers": (half,)}, {"weights": (half,)}, {"low": -half}, {"high": -half},
                   {"powers": (), "weights": ()},
                   {"weights": (Fraction(2), Fraction(-1)), "powers": (Fraction(2), Fraction(3))}):
        good = {"powers": (Fraction(2),), "weights": (Fraction(1),), "low": half, "high": Fraction(2), "prec": 80}
        assert MomentWitness(**good).applies(loss)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            evaluate(loss, MomentWitness(**{**good, **change}))  # type: ignore[arg-type]


def test_a_poor_witness_says_at_most_1() -> None:
    witness = MomentWitness((Fraction(2),), (Fraction(1),), Fraction(1, 10), Fraction(11, 10), 80)
    bounds = evaluate(symmetric(ZCDPLoss(Fraction(1))), witness).delta(Fraction(0))
    assert (bounds.lower, bounds.upper) == (0, 1)


@pytest.mark.theorem("T66-moment-laws")
def test_polyline_of_a_ball_holds_all_its_values() -> None:
    law = RenyiLoss(tuple((Fraction(n, 3), Fraction(n * n, 9)) for n in range(1, 30)))
    for low, high in (("0.1", "0.2"), ("0.2", "0.9"), ("0.33", "5.5"), ("1", "1"), ("2.9", "9.6")):
        wide = law.bound_log_moment(arb(low).union(arb(high)))
        for at in (arb(low), arb(high), (arb(low) + arb(high)) / 2):
            n = (3 * at).floor()
            line = (n * n + (2 * n + 1) * (3 * at - n)) / 9
            assert law.bound_log_moment(at).overlaps(line) and wide.upper() >= line.lower()


@pytest.mark.theorem("T180-moment")
def test_mass_at_infinity_takes_one_order() -> None:
    """Beside several powers, or the relative entropy, nothing is known of it; one order adds it."""
    loss = symmetric(ATOMS, ZCDPLoss(Fraction(1, 10)))
    low, high, mass = Fraction(9, 10), Fraction(21, 20), Fraction(1, 1000)
    for powers in (("1",), ("-1",), ("2", "3"), ("2", "0")):
        weights = tuple(Fraction(1, len(powers)) for _ in powers)
        witness = MomentWitness(tuple(map(Fraction, powers)), weights, low, high, 100)
        assert evaluate(loss, witness).delta(Fraction(1)).upper == 1
    bounds = evaluate(loss, MomentWitness((Fraction(5),), (Fraction(1),), low, high, 100)).delta(Fraction(1))
    with ctx.workprec(100):
        assert abs(bounds.lower - ball(mass)) < arb("1e-20") and ball(mass) < bounds.upper < arb("0.2")


def test_earlier_divergences_state_the_same() -> None:
    fields = (Fraction(2), Fraction(0)), (Fraction(1, 3), Fraction(2, 3)), Fraction(1, 2), Fraction(2), 80
    assert EarlierDivergences(*fields).now() == MomentWitness(*fields)
