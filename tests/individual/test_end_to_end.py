"""Small random trainings, by every way in, asked every way: each interval holds the exact composition's number."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from flint import arb

from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.exact import square_root
from verified_dp.individual.counts import Counts
from verified_dp.individual.input import Recorder, count_array, count_parquet
from verified_dp.individual.losses import IndividualLosses, individual_deltas, individual_epsilons
from verified_dp.individual.training import Training
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import bracket_epsilon

F = Fraction
SAMPLED = [F(1, 1000), F(1, 100), F(1, 10), F(1, 2), F(9, 10)]
FAR_OUT = 1e-100
CLIPPINGS = [F(1), F(1, 3), F(7, 10), F(5, 2)]


@dataclass(frozen=True)
class Case:
    """norms: (readings, records). way: how they are counted. question: (quantity, given)."""

    training: Training
    norms: np.ndarray
    repeats: list[int]
    way: str
    parts: int
    quantity: str
    given: Fraction
    width: Fraction
    alone: int

    @property
    def ids(self) -> list[object]:
        """By column; every way in but arrays sorts the records by them, as these are."""
        return [f"r{i}" if self.way == "text" else i for i in range(self.norms.shape[1])]

    def composition(self, column: int) -> OneDirection:
        """The exact composition of a record's steps."""
        found: Counter[Fraction] = Counter()
        for norm, times in zip(self.norms[:, column].tolist(), self.repeats, strict=True):
            found[min(F(norm) / self.training.clipping, F(1)) ** 2] += times
        sigma, q = self.training.noise_multiplier, self.training.sampling_probability
        if q == 1:
            total = sum((square * times for square, times in found.items()), F(0))
            return OneDirection(ComposedLoss("symmetric", (), total / sigma**2))
        laws = tuple((SampledGaussianLoss(q, square_root(sigma**2 / square), self.training.order), times)
                     for square, times in sorted(found.items()) if square)
        return OneDirection(ComposedLoss(self.training.order, laws, F(0)))


def some_case(rng: random.Random, sampled: bool, cheap: bool) -> Case:
    training = Training(F(rng.randint(40, 2000), 100) if sampled else F(rng.randint(100, 2000), 100),
                        rng.choice(CLIPPINGS), rng.choice(SAMPLED) if sampled else F(1), rng.choice(["remove", "add"]))
    readings, records = rng.randint(1, 4 if cheap else 12), rng.randint(1, 3 if cheap else 6)
    values = [float(training.clipping) * x for x in (0.0, 0.5, 1.0, 2.0, *(rng.random() for _ in range(3)))]
    values = rng.sample(values, 2 if cheap else rng.randint(1, 4))
    norms = np.array([[rng.choice(values) for _ in range(records)] for _ in range(readings)])
    if records > 1 and rng.random() < 0.5:
        norms[:, -1] = norms[:, 0]
    repeats = [rng.choice([1, 1, 2, 30, 400])] * readings
    way = rng.choice(["array", "recorder", "long", "text", "lists"])
    if way != "lists":  # there one number stands for the whole list
        repeats = [times + rng.randint(0, 3) for times in repeats]
    quantity = rng.choice(["epsilon", "delta"])
    far = [] if 0 < training.sampling_probability < F(1, 10) else [120, 290, 300]  # the engine takes minutes there
    powers = [3, 5, 10] if cheap else [1, 3, 5, 10, 40, *far]
    given = (F(1, 10 ** rng.choice(powers)) if quantity == "epsilon"
             else some_epsilon(rng, training, sum(repeats)))
    width = F(1, rng.choice([10, 100]) if cheap else rng.choice([10, 100, 1000]))
    return Case(training, norms, repeats, way, 2 ** rng.randint(1, 10), quantity, given, width, rng.randint(0, 5))


def some_epsilon(rng: random.Random, training: Training, steps: int) -> Fraction:
    """A short double at which delta is neither about 1 nor beyond all doubles, sometimes 0."""
    size = float(training.sampling_probability / training.noise_multiplier) * steps**0.5
    return F(rng.choice([0, *range(1, 33)]), 8) / F(2) ** round(-math.log2(size))


def counted(case: Case, rng: random.Random, folder: Path) -> Counts:
    if case.way == "array":
        return count_array(case.norms, case.training, "raw", case.parts, case.repeats)
    if case.way == "recorder":
        recorder = Recorder(case.training, case.norms.shape[1], "raw", case.parts)
        for norms, times in zip(case.norms, case.repeats, strict=True):
            recorder.add(norms, times)
        return recorder.counts()
    path, ids = folder / "norms.parquet", [repr(name) for name in case.ids]
    if case.way == "lists":
        rows = [f"({name}, {column!r}::DOUBLE[], {case.repeats[0]})"
                for name, column in zip(ids, case.norms.T.tolist(), strict=True)]
        names = "record, norms, repeats"
    else:
        rows = [f"({name}, {step}, {norm!r}::DOUBLE, {case.repeats[step]})" for i, name in enumerate(ids)
                for step, norm in enumerate(case.norms[:, i].tolist())]
        names = "record, step, norm, repeats"
    rng.shuffle(rows)
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {', '.join(rows)}) AS t({names})) TO '{path}' (FORMAT parquet)")
    return count_parquet(path, case.training, "raw", case.parts)


def truth(case: Case, column: int) -> tuple[arb, arb]:
    """Ends around the number, from the contour engine or, without sampling, the closed form."""
    order, method = case.composition(column), "closed-form" if case.training.sampling_probability == 1 else "contour"
    if order.is_trivial:
        return arb(0), arb(0)
    if case.quantity == "delta":
        bounds = order.enclose(case.given, 14.0, method, Budget(30)).bounds
        return bounds.lower, bounds.upper
    low, high = bracket_epsilon(order, case.given, 4, method, Budget(30)).ends
    return arb(low.numerator) / low.denominator, arb("inf") if high is None else arb(high.numerator) / high.denominator


def check(case: Case, found: IndividualLosses, counts: Counts) -> int:
    """How many intervals are as narrow as asked."""
    assert found.records.tolist() == case.ids
    for i in range(len(found.records)):
        assert 0 <= found.lower[i] <= found.upper[i], case
        if case.quantity == "delta" and found.upper[i] < FAR_OUT:
            continue  # the engine takes minutes there
        low, high = truth(case, i)
        assert not arb(found.lower[i]) > high and not arb(found.upper[i]) < low, (case, i, found.lower, found.upper)
    least = 1e-3 if case.quantity == "epsilon" else 1e-280
    narrow = found.upper - found.lower <= float(case.width) * np.maximum(found.upper, least)
    narrow &= np.isfinite(found.upper)
    assert np.array_equal(found.narrow, narrow)
    said = f"{(~narrow).sum()} of {len(narrow)} intervals are wider than asked: "
    assert found.reason.startswith(said) if not narrow.all() else found.reason == "", case
    again = counts.readings is not None and case.training.sampling_probability < 1
    finest = 1024 if again else case.parts
    assert all(int(p) in ([0] if again else []) or 2 <= p <= finest for p in found.parts), (case, found.parts)
    if narrow.all() or case.alone >= len(narrow):
        for i, j in zip(*np.nonzero((case.norms[:, :, None] == case.norms[:, None, :]).all(axis=0)), strict=True):
            assert (found.lower[i], found.upper[i]) == (found.lower[j], found.upper[j]), case
    return int(narrow.sum())


def attempt(seed: int, sampled: bool, cheap: bool, folder: Path) -> tuple[int, int]:
    """(narrow intervals, records) of one random case."""
    rng = random.Random(seed)
    case = some_case(rng, sampled, cheap)
    counts, shares = counted(case, rng, folder), list[float]()
    ask = individual_epsilons if case.quantity == "epsilon" else individual_deltas
    found = ask(counts, case.given, case.width, lambda share, text: shares.append(share), case.alone)
    assert shares == sorted(shares) and shares[-1] == 1 and min(shares) >= 0
    return check(case, found, counts), len(found.records)


@pytest.mark.theorem("T118-individual-enclosure", "T124-full-batch")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("sampled", [True, False])
def test_random_trainings(sampled: bool, tmp_path: Path) -> None:
    results = [attempt(seed, sampled, True, tmp_path) for seed in range(6 if sampled else 30)]
    assert sum(narrow for narrow, _ in results) >= 0.5 * sum(count for _, count in results)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("sampled", [True, False])
def test_many_random_trainings(sampled: bool, tmp_path: Path) -> None:
    results = [attempt(seed, sampled, False, tmp_path) for seed in range(1000, 1100 if sampled else 1600)]
    assert sum(narrow for narrow, _ in results) >= 0.5 * sum(count for _, count in results)
