"""Random allocation of three to six rounds, two epochs, several picks and kept batches against quadrature in scipy.

The first tests ask whether the oracle itself is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from verified_dp import Gaussian, RandomAllocation, compose, privacy_profile
from verified_dp.core.kernel.composition import Composition
from verified_dp.enclosure import Enclosure

F = Fraction
ORDERS = ["remove", "add"]
NOISES = [F(1, 2), F(1), F(3)]
EPSILONS = ["0", "1/2", "2", "6"]
allocation = pytest.mark.theorem("T133-random-allocation")
patterns = pytest.mark.theorem("T130-participation-patterns")
line = pytest.mark.theorem("T168-allocation-line")


@pytest.fixture(scope="module")
def truth(load: Callable[..., ModuleType]) -> ModuleType:
    return load(Path(__file__).resolve().parents[2] / "allocation_oracle.py")


def by_cosh(s: float, order: str, epsilon: float) -> float:
    """Two rounds: S/2 = A e^{sm}, A = cosh(sd) e^{-s^2/2}, m and d independent N(0, 1/2); over m in closed form."""
    d = np.linspace(-9, 9, 601)
    weight = np.exp(-d * d) * (d[1] - d[0]) / math.sqrt(math.pi)
    k = math.exp(epsilon if order == "remove" else -epsilon)
    a, width = np.cosh(s * d) * math.exp(-s * s / 2), s / math.sqrt(2)
    place, sign = np.log(a / k) / width, 1 if order == "remove" else -1
    tail = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)
    value = sign * (a * math.exp(s * s / 4) * tail(sign * (place + width)) - k * tail(sign * place))
    return float(weight @ value) * (1 if order == "remove" else math.exp(epsilon))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("s", [0.4, 1.0, 2.0])
def test_the_oracle_agrees_with_itself(truth: ModuleType, s: float, order: str) -> None:
    """With a closed form of two rounds, other steps, and parity: e^eps add(-eps) - remove(eps) = e^eps - 1."""
    for epsilon in (0.0, 0.5, 2.0):
        assert math.isclose(truth.delta(2, s, order, epsilon), by_cosh(s, order, epsilon), rel_tol=truth.ERROR)
        for rounds in (3, 4):
            value, finer = (float(truth.delta(rounds, s, order, epsilon, steps)) for steps in (8.0, 11.0))
            assert math.isclose(value, finer, rel_tol=truth.ERROR / 30)
            remove, add = truth.delta(rounds, s, "remove", epsilon), truth.delta(rounds, s, "add", -epsilon)
            assert abs(math.exp(epsilon) * add - remove - math.expm1(epsilon)) < truth.ERROR / 30
    once, finer = (truth.two_epochs((2, s), (2, s), order, 2.0, steps) for steps in (8.0, 11.0))
    assert math.isclose(once, finer, rel_tol=truth.ERROR / 30)
    for epsilon in (0.0, 2.0, 6.0):
        alone = truth.two_epochs((1, s), (1, s), order, epsilon)
        assert math.isclose(alone, truth.delta(1, s * math.sqrt(2), order, epsilon), rel_tol=truth.ERROR)
    assert s > 1 or math.isclose(truth.several_picks(3, 1, s, order, 0.5), truth.delta(3, s, order, 0.5),
                                 rel_tol=truth.COARSE_ERROR)
    every = truth.several_picks(3, 3, 0.5, order, 1.0)
    assert math.isclose(every, truth.delta(1, 0.5 * math.sqrt(3), order, 1.0), rel_tol=truth.COARSE_ERROR)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rounds", "sigma", "epochs", "picks"), [(3, 1.0, 1, 1), (6, 1.0, 1, 1), (3, 2.0, 3, 1),
                                                                  (4, 1.5, 1, 2)])
def test_the_oracle_agrees_with_samples_of_the_densities(truth: ModuleType, rounds: int, sigma: float, epochs: int,
                                                         picks: int, order: str) -> None:
    """Outputs in R^(epochs rounds), losses from the densities of both mixtures: nothing of sums or of sufficiency."""
    losses = truth.log_ratio_samples(rounds, sigma, order, 150_000, 7, epochs, picks)
    for epsilon in (0.0, 0.6):
        spread = math.sqrt(epochs) / sigma
        value = (float(truth.delta(rounds, spread, order, epsilon, 5.0)) if picks == 1
                 else truth.several_picks(rounds, picks, spread, order, epsilon))
        mean, room = truth.sampled_delta(losses, epsilon)
        assert abs(mean - value) < room < value / 10


def answer(steps: Composition, order: str, epsilon: str, digits: int) -> Enclosure:
    return privacy_profile(steps, relation=order).delta(epsilon, digits=digits)


def holds(found: Enclosure, value: float, error: float, digits: int) -> bool:
    """Whether the value is in the enclosure, which is as narrow as it says."""
    near = found.lower_float <= value * (1 + error) and value * (1 - error) <= found.upper_float
    return near and found.upper_float - found.lower_float <= 10.0 ** (1 - digits) * found.upper_float


@allocation
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rounds", [3, 4])
def test_three_and_four_rounds(truth: ModuleType, rounds: int, noise: Fraction, order: str) -> None:
    """Deltas from .5 down to 1e-282."""
    for epsilon in EPSILONS:
        found = answer(compose(RandomAllocation(Gaussian(noise), rounds)), order, epsilon, 11)
        assert holds(found, float(truth.delta(rounds, float(1 / noise), order, float(F(epsilon)))), truth.ERROR, 11)
        assert found.tight


@allocation
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rounds", "noise", "epsilons"), [
    (5, F(1), ["1/2"]), (6, F(1), ["2"]),
    *(pytest.param(rounds, noise, ["0", "1/2", "2", "4"], marks=pytest.mark.long)
      for rounds in (5, 6) for noise in NOISES), pytest.param(8, F(1), ["0", "2", "4"], marks=pytest.mark.long)])
def test_five_to_eight_rounds(truth: ModuleType, rounds: int, noise: Fraction, epsilons: Sequence[str],
                              order: str) -> None:
    """By fewer steps: those of 5 and of 6 differ by less than the 1e-7 that is allowed for here."""
    for epsilon in epsilons:
        found = answer(compose(RandomAllocation(Gaussian(noise), rounds)), order, epsilon, 8)
        value = float(truth.delta(rounds, float(1 / noise), order, float(F(epsilon)), 5.0))
        assert holds(found, value, 1e-7, 8)


@allocation
@line
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("first", "second", "epsilons"), [
    ((2, F(1)), (2, F(1)), ["2"]),
    *(pytest.param((rounds, noise), (rounds, noise), ["1/2", "2", "6"], marks=pytest.mark.long)
      for rounds, noise in ((2, F(1, 2)), (2, F(1)), (2, F(3)), (3, F(1)), (4, F(2)))),
    pytest.param((2, F(1, 2)), (3, F(1)), ["1/2", "6"], marks=pytest.mark.long),
    pytest.param((3, F(1)), (1, F(2)), ["1/2", "6"], marks=pytest.mark.long)])
def test_two_epochs_with_fresh_batches(truth: ModuleType, first: tuple[int, Fraction], second: tuple[int, Fraction],
                                       epsilons: Sequence[str], order: str) -> None:
    """Equal ones, unequal ones, and one beside a plain Gaussian step."""
    steps = compose(*(RandomAllocation(Gaussian(noise), rounds) for rounds, noise in (first, second)))
    sizes = [(rounds, float(1 / noise)) for rounds, noise in (first, second)]
    for epsilon in epsilons:
        value = truth.two_epochs(*sizes, order, float(F(epsilon)), 6.0)
        assert holds(answer(steps, order, epsilon, 4), value, 1e-8, 4)


@allocation
@patterns
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rounds", "epochs"), [(2, 2), (3, 3), (4, 2)])
def test_batches_that_are_kept(truth: ModuleType, rounds: int, epochs: int, order: str) -> None:
    """In one table of several epochs, and in equal tables of one: the same allocation, and more than fresh ones."""
    kept = RandomAllocation(Gaussian("2"), rounds, fixed=True)
    for epsilon in ("0", "1/2", "2"):
        value = float(truth.delta(rounds, math.sqrt(epochs) / 2, order, float(F(epsilon))))
        for steps in (compose((kept, epochs)), compose(*[kept] * epochs)):
            assert holds(answer(steps, order, epsilon, 11), value, truth.ERROR, 11)


@patterns
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rounds", [2, pytest.param(3, marks=pytest.mark.long)])
def test_batches_that_are_kept_reveal_more_than_any_others(truth: ModuleType, rounds: int, order: str) -> None:
    """T130 (d): the answer for equal tables with `fixed` bounds tables with allocations of their own, too."""
    for s in (0.4, 1.0):
        for epsilon in (0.0, 0.5, 2.0):
            fresh = truth.two_epochs((rounds, s), (rounds, s), order, epsilon, 6.0)
            assert truth.delta(rounds, s * math.sqrt(2), order, epsilon) > fresh * (1 + 1e-6)


@patterns
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rounds", "picks", "blocks"), [
    (3, 2, ((2, 1.0), (1, 1.0))), pytest.param(4, 3, ((2, 1.0), (1, math.sqrt(2))), marks=pytest.mark.long),
    pytest.param(4, 2, ((2, 1.0), (2, 1.0)), marks=pytest.mark.long),
    pytest.param(5, 2, ((3, 1.0), (2, 1.0)), marks=pytest.mark.long)])
def test_several_picks(truth: ModuleType, rounds: int, picks: int, blocks: Sequence[tuple[int, float]],
                       order: str) -> None:
    """The enclosure is that of independent blocks (rounds, s in units of 1/sigma), above the truth, and says so."""
    for noise in (F(1), F(2)):
        steps, s = compose(RandomAllocation(Gaussian(noise), rounds, picks)), float(1 / noise)
        for epsilon in ("1/2", "2"):
            found = answer(steps, order, epsilon, 4)
            bound = truth.two_epochs(*((t, share * s) for t, share in blocks), order, float(F(epsilon)), 6.0)
            assert holds(found, bound, 1e-8, 4) and not found.tight
            if rounds < 5:
                exact = truth.several_picks(rounds, picks, s, order, float(F(epsilon)))
                assert 0.3 * found.lower_float < exact < found.upper_float * (1 - truth.COARSE_ERROR)
