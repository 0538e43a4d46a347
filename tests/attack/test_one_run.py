"""One run: the bounds against mechanisms written out, linear programs over all of them, and jax_privacy's formulas."""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from scipy import optimize, stats

from verified_dp import Gaussian, InvalidInput, privacy_profile
from verified_dp.attack import Guarantee, one_run, one_run_tradeoff
from verified_dp.attack.guesses import bound_p_value, bound_published_p_value
from verified_dp.attack.tradeoff import gaussian_argument, is_impossible


def best_mechanism(m: int, r: int, c: int, points: list[tuple[float, float]]) -> float:
    """The largest P[W >= c] of all mechanisms, by a linear program: averaged over flips and permutations of the
    canaries, a mechanism is a law of W, and its hockey-stick divergence at eps >= 0 is
    sum_w (w p_w - e^eps (r-w+1) p_{w-1})_+ / m  +  sum_w ((r-w+1) p_{w-1} - e^eps w p_w)_+ / m.
    """
    n = r + 1 + 2 * r * len(points)
    rows, sums = [], []
    for j, (epsilon, _) in enumerate(points):
        total = np.zeros(n)
        for w in range(1, r + 1):
            for side, (up, down) in enumerate(((w, w - 1), (w - 1, w))):
                slack = r + 1 + 2 * r * j + 2 * (w - 1) + side
                row = np.zeros(n)
                row[up] = w if side == 0 else r - w + 1
                row[down] = -math.exp(epsilon) * (r - w + 1 if side == 0 else w)
                row[slack], total[slack] = -1, 1
                rows.append(row)
        sums.append(total)
    objective = np.zeros(n)
    objective[c : r + 1] = -1
    found = optimize.linprog(
        objective, np.array(rows + sums), np.concatenate([np.zeros(len(rows)), [m * d for _, d in points]]),
        np.concatenate([np.ones(r + 1), np.zeros(n - r - 1)])[None], np.ones(1))
    assert found.success
    return float(-found.fun)


@pytest.mark.theorem("T194-one-run")
@pytest.mark.parametrize("m, r", [(1, 1), (4, 4), (7, 3), (30, 30), (60, 12)])
@pytest.mark.parametrize("epsilon, delta", [("1/2", "1/1000"), ("2", "1/100"), ("0", "1/50"), ("3", "0")])
def test_bound_is_the_best_of_all_mechanisms(m: int, r: int, epsilon: str, delta: str) -> None:
    with ctx.workprec(128):
        for c in range(1, r + 1, max(1, r // 6)):
            bound = float(bound_p_value(m, r, c, Fraction(epsilon), Fraction(delta)))
            best = best_mechanism(m, r, c, [(float(Fraction(epsilon)), float(Fraction(delta)))])
            assert bound == pytest.approx(best, rel=1e-6, abs=1e-8)


def written_out(m: int, c: int, epsilon: float, extra: float) -> tuple[float, float]:
    """delta and P[W >= c] of T194's mechanism with r = m, from all its 4^m probabilities."""
    weights = np.array([math.exp(epsilon * w) + (extra * math.exp(epsilon * (w - c)) if w >= c else 0)
                        for w in range(m + 1)])
    signs = np.array(list(product((-1, 1), repeat=m)))
    right = (m + signs @ signs.T) // 2
    laws = weights[right]
    laws /= laws.sum(axis=1, keepdims=True)
    near = right == m - 1
    deltas = [np.maximum(laws[i] - math.exp(epsilon) * laws[j], 0).sum()
              for i, j in zip(*np.nonzero(near), strict=True)]
    return max(deltas), (laws * (right >= c)).sum(axis=1).mean()


@pytest.mark.theorem("T194-one-run")
@pytest.mark.parametrize("m, c, epsilon, extra", [
    (3, 2, 1.0, 0.5), (4, 4, 0.5, 3.0), (5, 1, 1.0, 40.0), (2, 1, 0.0, 0.1)])
def test_bound_is_attained_by_the_mechanism_of_the_proof(m: int, c: int, epsilon: float, extra: float) -> None:
    delta, reached = written_out(m, c, epsilon, extra)
    with ctx.workprec(128):
        bound = float(bound_p_value(m, m, c, Fraction(epsilon), Fraction(delta)))
    assert delta > 0 and bound == pytest.approx(reached, rel=1e-9)


@pytest.mark.theorem("T194-one-run")
def test_published_p_value_is_no_bound_far_below_the_mean() -> None:
    """A mechanism whose guesses are never all wrong: (1, delta)-private at m = 5."""
    m, epsilon = 5, 1.0
    total = (1 + math.e)**m
    delta = math.e / (total - 1)
    signs = np.array(list(product((-1, 1), repeat=m)))
    right = (m + signs @ signs.T) // 2
    laws = np.where(right > 0, np.exp(epsilon * right), 0) / (total - 1)
    assert laws.sum(axis=1) == pytest.approx(1)
    excess = np.maximum(laws[:, None, :] - math.e * laws[None, :, :], 0).sum(axis=2)[right == m - 1]
    assert excess.max() == pytest.approx(delta)
    assert published(m, m, 1, epsilon, delta) < 0.9999  # and yet some guess is always right
    with ctx.workprec(128):
        assert float(bound_published_p_value(m, m, 1, Fraction(1), Fraction(delta))) == pytest.approx(1)


@pytest.mark.theorem("T194-one-run")
def test_nor_where_guesses_of_both_kinds_are_fixed() -> None:
    """Two guesses "in" and three "out" of m = 5: what is moved off the one answer that is all wrong, at epsilon 0."""
    delta, total = Fraction(1, 1000), Fraction(0)
    moved = {(2, 1): -6, (3, 0): -36, (4, 1): -6, (2, 3): 3, (3, 2): 4, (3, 4): 4, (4, 3): 4}  # (canaries in, right)
    answers = [t for t in product((-1, 1), repeat=5) if sum(t) == -1]
    laws = {}
    for coins in product((-1, 1), repeat=5):
        right = [sum(a == b for a, b in zip(coins, t, strict=True)) for t in answers]
        laws[coins] = [Fraction(1, 10) + moved.get((coins.count(1), w), 0) * delta / 30 for w in right]
        assert sum(laws[coins]) == 1 and min(laws[coins]) > 0
        total += sum(p for p, w in zip(laws[coins], right, strict=True) if w) / 32
    for coins, law in laws.items():
        for i in range(5):
            near = laws[(*coins[:i], -coins[i], *coins[i + 1:])]
            assert sum(abs(p - q) for p, q in zip(law, near, strict=True)) / 2 <= delta
    with ctx.workprec(128):
        assert published(5, 5, 1, 0.0, 1e-3) < 0.96907 < total == Fraction("0.969125")
        assert bound_published_p_value(5, 5, 1, Fraction(0), delta) > 0.9691251


def published(m: int, r: int, c: int, epsilon: float, delta: float) -> float:
    """As in jax_privacy 2.0.0 and in the authors' program."""
    q = 1 / (1 + math.exp(-epsilon))
    tail = stats.binom.sf(c - 1, r, q)
    steps = np.arange(1, c + 1)
    share = ((stats.binom.sf(c - steps - 1, r, q) - tail) / steps).max(initial=0)
    return min(1, tail + share * delta * 2 * m)


@pytest.mark.theorem("T194-one-run")
@pytest.mark.parametrize("m, r, c", [
    (1000, 200, 190), (1000, 1000, 700), (100, 100, 100), (500, 3, 3), (10**4, 10**3, 560)])
@pytest.mark.parametrize("delta", ["0", "1e-5", "1e-3"])
def test_epsilon_is_that_of_the_published_p_value(m: int, r: int, c: int, delta: str) -> None:
    for epsilon in (0.0, 0.7, 2.5):
        with ctx.workprec(128):
            found = float(bound_published_p_value(m, r, c, Fraction(epsilon), Fraction(delta)))
            least = float(bound_p_value(m, r, c, Fraction(epsilon), Fraction(delta)))
        asked = published(m, r, c, epsilon, float(Fraction(delta)))
        assert least <= found and (found == pytest.approx(asked, rel=1e-9) or found == least > 0.5)
    rejected = one_run(m, r, c, delta=delta)
    if published(m, r, c, 0.0, float(Fraction(delta))) > 0.05:
        assert rejected.epsilon_float == 0
    else:
        root = optimize.brentq(lambda e: published(m, r, c, e, float(Fraction(delta))) - 0.05, 0, 30, xtol=1e-13)
        assert rejected.epsilon_float == pytest.approx(root, abs=1e-9)
    assert one_run(m, r, c, delta=delta, p_value="exact").epsilon >= rejected.epsilon


@pytest.mark.theorem("T194-one-run")
@pytest.mark.parametrize("row", [row for row in csv.DictReader(
    (Path(__file__).resolve().parents[2] / "docs" / "attacks.csv").open(encoding="utf-8", newline=""))
    if row["method"].startswith("one_run")], ids=lambda row: f"{row['method']} {row['input']}")
def test_one_run_is_that_of_the_table(row: dict[str, str]) -> None:
    """jax_privacy's roots are found to 1e-6, with a relative tolerance of scipy beside it."""
    ours, theirs, formula = (float(row[key]) for key in ("ours", "jax_privacy 2.0.0", "authors' formula"))
    assert abs(ours - theirs) < 1e-6 and abs(ours - formula) < 1e-11
    if row["method"] == "one_run":
        assert one_run(*map(int, row["input"].split()), delta="1e-5").epsilon_float == pytest.approx(ours, rel=1e-13)


def audit_rh(m: int, r: int, c: int, mu: float, level: float) -> float:
    """As in jax_privacy 2.0.0: above 0 where mu is rejected."""
    right, wrong = level * c / m, level * (r - c) / m
    for i in range(c - 1, -1, -1):
        new = max(wrong, stats.norm.cdf(stats.norm.ppf(right) - mu))
        if new == wrong:
            break
        right, wrong = min(right + i / (r - i) * (new - wrong), 1.0), new
    return right + wrong - r / m


@pytest.mark.theorem("T195-one-run-tradeoff")
@pytest.mark.parametrize("m, r, c", [(1000, 200, 190), (120, 120, 100), (500, 6, 6)])
def test_mu_is_that_of_the_published_recursion(m: int, r: int, c: int) -> None:
    found = one_run_tradeoff(m, r, c, delta="1e-5")
    root = optimize.brentq(lambda mu: audit_rh(m, r, c, mu, 0.05), 1e-6, 9, xtol=1e-13)
    assert float(found.mu or 0) == pytest.approx(root, abs=1e-9)
    gaussian = privacy_profile(Gaussian(1 / Fraction(root)), "add-or-remove").epsilon("1e-5")
    assert float(found.gaussian_epsilon or 0) == pytest.approx(float(gaussian.lower), rel=1e-8)


@pytest.mark.theorem("T195-one-run-tradeoff")
@pytest.mark.parametrize("m, r", [(6, 6), (20, 8), (40, 40)])
def test_what_is_impossible_no_mechanism_does(m: int, r: int) -> None:
    """Against the best mechanism under several points at once; for one point the recursion is no better than T194."""
    points = [(Fraction(0), Fraction(1, 5)), (Fraction(1, 2), Fraction(1, 20)), (Fraction(3, 2), Fraction(1, 500))]
    several, one = Guarantee(tuple(points), ""), Guarantee((points[1],), "")
    sharp = 0
    with ctx.workprec(128):
        for c in range(1, r + 1, max(1, r // 5)):
            best = best_mechanism(m, r, c, [(float(e), float(d)) for e, d in points])
            assert not is_impossible(m, r, c, Fraction(best * (1 - 1e-6)), several.least_argument)
            sharp += best < 0.6 and is_impossible(m, r, c, Fraction(min(1, 1.5 * best)), several.least_argument)
            least = float(bound_p_value(m, r, c, *points[1]))
            assert not is_impossible(m, r, c, Fraction(least * (1 - 1e-9)), one.least_argument)
    assert sharp


@pytest.mark.theorem("T195-one-run-tradeoff")
def test_curves_are_read_from_below() -> None:
    curve = Guarantee.of(privacy_profile(Gaussian("1/2"), "add-or-remove"))  # mu = 2
    with ctx.workprec(128):
        exactly, zero = gaussian_argument(Fraction(2)), gaussian_argument(Fraction(0))
        for x in ("1e-9", "0.001", "0.1", "0.5", "0.9", "0.999999"):
            assert float(exactly(arb(x))) == pytest.approx(stats.norm.cdf(stats.norm.ppf(float(x)) - 2), rel=1e-9)
            assert zero(arb(x)).overlaps(arb(x))
            below = float(curve.least_argument(arb(x)))
            assert below <= float(exactly(arb(x))) <= 1.03 * below + 3e-9


def test_a_curve_is_contradicted_where_its_point_is_not() -> None:
    """The accountant's own curve tells more than one epsilon: 99 of 100 right, at mu = 1."""
    profile = privacy_profile(Gaussian("1"), "add-or-remove")
    point = (profile.epsilon("1e-5").upper.as_fraction(), "1e-5")
    for m, r, c in [(1000, 300, 290), (1000, 100, 99)]:
        assert one_run(m, r, c, delta="1e-5", claim=point).claim == "consistent"
        assert one_run_tradeoff(m, r, c, delta="1e-5", claim=point).claim == "consistent"
        assert one_run_tradeoff(m, r, c, delta="1e-5", claim=profile).claim == "contradicted"
        assert float(one_run_tradeoff(m, r, c, delta="1e-5").mu or 0) > 1


def runs_above(mu: float, runs: int, m: int, r: int, seed: int) -> tuple[int, int]:
    """How often one run exceeds the truth, in epsilon at 1e-5 and in mu: each canary has a score S_i mu/2 + Z_i."""
    rng = np.random.default_rng(seed)
    truth = privacy_profile(Gaussian(1 / Fraction(mu)), "add-or-remove").epsilon("1e-5").upper
    in_epsilon = in_mu = 0
    for _ in range(runs):
        coins = rng.choice((-1, 1), m)
        seen = coins * mu / 2 + rng.normal(size=m)
        sure = np.argsort(-np.abs(seen))[:r]
        right = int((np.sign(seen[sure]) == coins[sure]).sum())
        in_epsilon += one_run(m, r, right, delta="1e-5", confidence="0.9").epsilon > truth
        in_mu += is_rejected(m, r, right, mu)
    return in_epsilon, in_mu


def is_rejected(m: int, r: int, c: int, mu: float) -> bool:
    with ctx.workprec(128):
        return is_impossible(m, r, c, Fraction(1, 10), gaussian_argument(Fraction(mu)))


@pytest.mark.theorem("T195-one-run-tradeoff")
def test_coverage_of_few_runs() -> None:
    assert max(runs_above(1.0, 20, 200, 60, 2)) <= 6


@pytest.mark.long
@pytest.mark.theorem("T195-one-run-tradeoff")
@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_coverage_of_200_runs(mu: float) -> None:
    for wrong in runs_above(mu, 200, 400, 100, 7):
        assert stats.binomtest(wrong, 200, 0.1, "greater").pvalue > 1e-3


@pytest.mark.parametrize("given, key", [
    ((10, 11, 5), "guesses"), ((10, 5, 6), "correct"), ((10**8, 5, 5), "canaries"), ((10, 0, 0), "guesses")])
def test_wrong_runs_are_refused(given: tuple[int, int, int], key: str) -> None:
    for ask in (one_run, one_run_tradeoff):
        with pytest.raises(InvalidInput) as error:
            ask(*given, delta="1e-5")
        assert error.value.key == key
    with pytest.raises(InvalidInput, match="p_value"):
        one_run(10, 5, 5, delta="1e-5", p_value="best")
