"""Training without sampling: every record's Gaussian composition, between solved values of mu."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

from verified_dp.adaptive.budgets import gdp_delta, gdp_epsilon
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.individual import full_batch
from verified_dp.individual.counts import Counts
from verified_dp.individual.full_batch import (
    NEAR,
    Nodes,
    bound_mu,
    enclose_between,
    enclose_delta,
    enclose_epsilon,
)
from verified_dp.individual.input import Recorder
from verified_dp.individual.losses import WIDTH, individual_deltas, individual_epsilons
from verified_dp.individual.refine import Question
from verified_dp.individual.training import Training

TRAINING = Training("20", "1.5", 1)


def count(norms: np.ndarray, training: Training = TRAINING, repeats: int = 1) -> Counts:
    recorder = Recorder(training, norms.shape[1], "raw", parts=4)
    for row in norms:
        recorder.add(row, repeats)
    return recorder.counts()


def some_norms(records: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    norms = np.exp(rng.normal(-1, 1.2, size=records)) * np.exp(rng.normal(0, 0.5, size=(12, records)))
    norms[:, 0] = 0
    return norms


def exact_budgets(norms: np.ndarray, training: Training, repeats: int = 1) -> list[Fraction]:
    """sum r^2 / sigma^2 of the doubles, in rational numbers."""
    ratios = [[min(Fraction(float(x)) / training.clipping, Fraction(1)) for x in column] for column in norms.T]
    return [repeats * sum(r * r for r in row) / training.noise_multiplier**2 for row in ratios]


def misses(quantity: str, given: str, budgets: list[Fraction], lower: np.ndarray, upper: np.ndarray) -> list[int]:
    """The records whose bounds exclude the closed form at their exact mu^2."""
    found = [(gdp_epsilon if quantity == "epsilon" else gdp_delta)(budget, given) for budget in budgets]
    return [i for i, one in enumerate(found)
            if one.upper < Fraction(float(lower[i])) or one.lower > Fraction(float(upper[i]))]


@pytest.mark.theorem("T124-full-batch")
@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize(("quantity", "given"), [
    ("epsilon", "1e-5"), ("epsilon", "0.05"), ("delta", "0"), ("delta", "0.125"), ("delta", "2")])
def test_closed_form_lies_inside(quantity: str, given: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_batch, "FEW", few)
    norms = some_norms(60)
    solve = individual_epsilons if quantity == "epsilon" else individual_deltas
    result = solve(count(norms, repeats=40), given)
    assert misses(quantity, given, exact_budgets(norms, TRAINING, 40), result.lower, result.upper) == []
    assert result.quantity == quantity and len(result.lower) == 60
    large = result.upper > (1e-3 if quantity == "epsilon" else 1e-9)
    assert large.sum() >= 15 and result.relative_width[large].max() < (3e-4 if few == 0 else 1e-9)


@pytest.mark.theorem("T124-full-batch")
@pytest.mark.parametrize(("bits", "middle", "given"), [
    (3, 0.90625, ""), (1, 0.875, ""), (2, 1.6, ""), (2, 0.875, "0.05"), (1, 1.6, "0.3"), (1, 0.15, "0.06")])
def test_few_places_still_bound(bits: int, middle: float, given: str) -> None:
    """Coarse cells, one around the turn of delta's slope or around the kink of eps: many mu inside of them."""
    ends = np.array([2.0**n * (1 + k / 2**bits) for n in (-5, -4, -3, -2, -1, 0, 1) for k in range(2**bits)])
    epsilon = Fraction(middle) ** 2 / 2
    values = [enclose_epsilon(Fraction(m), Fraction(given)) if given else enclose_delta(Fraction(m), epsilon)
              for m in map(float, ends)]
    nodes = Nodes(ends, *np.array(values).T, float("inf") if given else middle)
    place = np.searchsorted(ends, middle)
    mu = np.concatenate([np.linspace(ends[place - 1], ends[place], 41), np.linspace(ends[2], ends[-2], 40)])
    lower, upper = enclose_between(nodes, mu)
    for m, low, high in zip(mu, lower, upper, strict=True):
        budget = Fraction(float(m)) ** 2
        exact = gdp_epsilon(budget, given) if given else gdp_delta(budget, epsilon)
        assert exact.upper >= Fraction(float(low)) and exact.lower <= Fraction(float(high))
    assert np.all(lower <= upper) and np.max(upper - lower) < 0.3 * np.diff(nodes.upper).max()


@pytest.mark.theorem("T124-full-batch")
@pytest.mark.parametrize("mu", ["0.01", "0.3", "1", "4"])
def test_slopes_are_derivatives(mu: str) -> None:
    at, step = Fraction(mu), Fraction(1, 10**12)
    with mpmath.workdps(40):
        def delta(m: Fraction, eps: mpmath.mpf) -> mpmath.mpf:
            size = mpmath.mpf(m.numerator) / m.denominator
            return mpmath.ncdf(size / 2 - eps / size) - mpmath.exp(eps) * mpmath.ncdf(-eps / size - size / 2)

        def excess(m: Fraction, eps: mpmath.mpf) -> mpmath.mpf:
            return delta(m, eps) - mpmath.mpf(10) ** -4

        eps = mpmath.mpf(5) / 100
        slope = (delta(at + step, eps) - delta(at - step, eps)) / (2 * mpmath.mpf(10) ** -12)
        found = enclose_delta(at, Fraction(1, 20))
        assert found[0] <= delta(at, eps) <= found[1] and found[1] - found[0] <= 1e-15 * found[1]
        assert abs(slope - found[2]) < 1e-9 and found[2] <= found[3] <= found[2] * (1 + 1e-15) + 1e-300
        target = Fraction(1, 10**4)
        found = enclose_epsilon(at, target)
        near = [mpmath.findroot(partial(excess, m), (found[0] * 0.99, found[0] * 1.01), solver="secant", tol=1e-60)
                for m in (at - step, at, at + step)]
        assert found[0] <= near[1] <= found[1]
        slope = (near[2] - near[0]) / (2 * mpmath.mpf(10) ** -12)
        assert abs(slope - found[2]) < 1e-8 and found[2] <= found[3]


@pytest.mark.theorem("T124-full-batch")
def test_mu_is_between_its_doubles() -> None:
    norms = np.concatenate([some_norms(40, 2), 2.0 ** np.random.default_rng(3).integers(-40, 2, size=(12, 40))], axis=1)
    low, high = bound_mu(count(norms, repeats=10**6))
    for i, budget in enumerate(exact_budgets(norms, TRAINING, 10**6)):
        assert Fraction(float(low[i])) ** 2 <= budget <= Fraction(float(high[i])) ** 2
    wide = norms.sum(axis=0) > 0.1
    assert np.all(high[wide] - low[wide] < 1e-9 * high[wide] + 4 * NEAR)


@pytest.mark.parametrize("power", [100, pytest.param(300, marks=pytest.mark.long)])
def test_records_without_norm_lose_nothing(power: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least mu that is solved, 2^-300, takes seconds; a larger one is as good for the rest."""
    assert Fraction(1, 2**300) == full_batch.SMALLEST_MU
    monkeypatch.setattr(full_batch, "SMALLEST_MU", Fraction(1, 2**power))
    counts = count(np.zeros((3, 2)))
    assert individual_epsilons(counts, "1e-100").upper.max() == 0
    assert 0 < individual_epsilons(counts, "1e-300").upper.max() < 64 * 2.0**-power
    tiny, least = (enclose_epsilon(Fraction(1, 2**n), Fraction(1, 10**300)) for n in (power + 100, power))
    assert tiny == (0.0, least[1], 0.0, least[3]) and least[0] > 0
    found = individual_deltas(counts, 0)
    assert found.lower.max() == 0 and found.upper.max() < 1e-250
    assert full_batch.full_batch(counts, Question.of_delta(10**5, WIDTH)).upper.max() < 1e-300
    assert full_batch.full_batch(counts, Question.of_delta(10**400, WIDTH)).upper.max() < 1 + 1e-12


@pytest.mark.theorem("T124-full-batch")
def test_far_tails_are_solved_at_their_own_mu() -> None:
    """More different mu than are solved at first; tiny deltas, too wide between two of those, still are narrow."""
    norms = np.random.default_rng(4).uniform(0.05, 0.4, size=(2, 1500))
    counts = count(norms)
    found = individual_deltas(counts, "0.125")
    assert found.narrow.all() and not found.reason and 0 < found.upper.min() < 1e-100
    for i in found.upper.argsort()[::150]:
        with mpmath.workdps(50):
            square = exact_budgets(norms[:, i:i + 1], TRAINING, 1)[0]
            mu = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
            delta = mpmath.ncdf(mu / 2 - 0.125 / mu) - mpmath.exp(0.125) * mpmath.ncdf(-0.125 / mu - mu / 2)
            assert found.lower[i] <= delta <= found.upper[i]


def test_orders_agree_and_progress_is_told() -> None:
    norms, told = some_norms(20), []
    results = [individual_epsilons(count(norms, Training("20", "1.5", 1, order)), "1e-6",
                                   progress=lambda *one: told.append(one)) for order in ("remove", "add")]
    assert np.array_equal(results[0].lower, results[1].lower) and np.array_equal(results[0].upper, results[1].upper)
    assert told[-1] == (1, "epsilon of 20 records") and "values of mu" in told[0][1]


def test_wrong_input() -> None:
    counts = count(some_norms(3))
    for delta in ("0", "1", "-1"):
        with pytest.raises(InvalidInput):
            individual_epsilons(counts, delta)
    with pytest.raises(InvalidInput):
        individual_deltas(counts, "-0.5")
    with pytest.raises(InvalidInput, match="noise_multiplier"):
        individual_deltas(count(some_norms(3), Training("1e-20", 1, 1)), 1)
    with pytest.raises(InvalidInput, match="sampling_probability"):
        full_batch.full_batch(count(some_norms(3), Training(1, 1, "0.5")), Question.of_delta(1, WIDTH))


@pytest.mark.long
def test_a_million_records() -> None:
    norms = np.exp(np.random.default_rng(1).normal(-2, 1, size=(2, 10**6)))
    counts = count(norms)
    result = individual_epsilons(counts, "1e-5")
    assert result.relative_width.max() < 1e-4 and result.distinct < 10_000
    some = np.arange(0, 10**6, 20_011)
    budgets = exact_budgets(norms[:, some], TRAINING)
    assert misses("epsilon", "1e-5", budgets, result.lower[some], result.upper[some]) == []


@pytest.mark.theorem("T124-full-batch")
@pytest.mark.parametrize("sigma", ["1e-5", Fraction(1, 2**18), Fraction(1, 2**20), Fraction(1, 2**40)])
def test_slopes_that_are_not_known(sigma: str | Fraction) -> None:
    """A slope that no ball encloses, at the place itself: the value there was a not-a-number, the upper end 0."""
    norms = np.array([[1.0, 0.75, 0.0]])
    found = individual_epsilons(count(norms, Training(sigma, 1, 1)), "1e-5")
    for ratio, lower, upper in zip((1, Fraction(3, 4), 0), found.lower, found.upper, strict=True):
        mu = ratio / Fraction(sigma)
        assert 0 <= lower <= mu * mu / 2 + 6 * mu and mu * mu / 2 <= (upper if np.isfinite(upper) else mu * mu)
    assert found.upper[2] == 0


@pytest.mark.theorem("T124-full-batch")
def test_unknown_bounds_stay_unknown() -> None:
    nodes = Nodes(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 0.6]), np.array([0.5, np.inf, 0.7]),
                  np.array([0.1, -np.inf, 0.1]), np.array([0.2, np.inf, 0.2]), np.inf)
    lower, upper = enclose_between(nodes, np.array([1.0, 1.5, 2.0, 2.5, 3.0]))
    assert np.allclose(lower, [0.5, 0.0, 0.0, 0.0, 0.6]) and not np.isnan(upper).any()
    assert np.allclose(upper[[0, 4]], [0.5, 0.7]) and np.isinf(upper[1:4]).all()


@pytest.mark.theorem("T124-full-batch")
def test_where_the_slope_of_delta_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """eps = 3: the slope is 0.35 at mu = 2 and at 3, and 0.4 at sqrt(6) between them."""
    monkeypatch.setattr(full_batch, "FEW", 0)
    monkeypatch.setattr(full_batch, "DELTA_BITS", 2)
    norms, training = np.linspace(0.67, 0.99, 12)[None], Training(1, 1, 1)
    found = individual_deltas(count(norms, training, 9), 3, width="0.99")
    assert misses("delta", "3", exact_budgets(norms, training, 9), found.lower, found.upper) == []
    assert found.relative_width.max() > 0.02
