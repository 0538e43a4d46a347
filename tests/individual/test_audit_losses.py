"""A second reading of the individual losses (T117, T118): closed truths, altered tables, lines that prove nothing.

The truths are closed forms in balls, and inversion integrals in floating point (oracles.composed_delta).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import numpy as np
import pytest
from flint import arb, ctx

from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.individual import refine
from verified_dp.individual.brackets import bracket_epsilons, doubles_around
from verified_dp.individual.counts import Counts
from verified_dp.individual.evaluate import _bound_tail, _bound_variation, _log_above, _weighted, evaluate_rows
from verified_dp.individual.input import count_array, count_parquet
from verified_dp.individual.losses import individual_deltas, individual_epsilons
from verified_dp.individual.squares import square_and_bucket
from verified_dp.individual.tables import (
    UNKNOWN,
    Column,
    Table,
    TableWitness,
    _alias_factors,
    _grid,
    _shares,
    _with_rounding,
    build_table,
)
from verified_dp.individual.training import Training
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import bracket_epsilon

F = Fraction
NOISE = 1e-11
"""Relative error granted to the sums in floating point."""


def captured(counts: Counts, ask: Callable[[Counts], object], monkeypatch: pytest.MonkeyPatch) -> list[TableWitness]:
    """The witnesses that a question leads to."""
    found: list[TableWitness] = []

    def spy(training: Training, parts: int, witness: TableWitness) -> Table:
        found.append(witness)
        return build_table(training, parts, witness)

    with monkeypatch.context() as patch:
        patch.setattr(refine, "build_table", spy)
        ask(counts)
    return found


def one_step(order: str = "remove") -> Counts:
    """One record, one step of norm 1."""
    return count_array(np.array([[1.0]]), Training(1, 1, F(1, 10), order), "raw", 2)


@pytest.fixture(scope="module")
def good() -> TableWitness:
    return captured(one_step(), lambda counts: individual_deltas(counts, "0.5"), pytest.MonkeyPatch())[0]


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize("changed", [
    {"right": F(1, 2)}, {"left": F(5), "right": F(9)}, {"left": F(-1)}, {"tilt": F(-1, 3), "left": F(-2)},
    {"tilt": F(0)}, {"step": F(0)}, {"step": F(-1, 4)}, {"count": 0}, {"count": -3}])
def test_lines_on_which_the_formulas_fail_are_refused(good: TableWitness, changed: dict[str, Any]) -> None:
    """Alias exponents on the wrong sides give negative bounds, a tilt <= 0 another integral."""
    with pytest.raises(InvalidInput):
        build_table(one_step().training, 2, replace(good, **changed))


@pytest.mark.theorem("T118-individual-enclosure", "T116-variance-interpolation")
def test_few_bits_cost_width_only(good: TableWitness) -> None:
    counts, epsilon = one_step(), 0.5
    tables = [build_table(counts.training, counts.parts, replace(good, prec=prec)) for prec in (2, 5, 90)]
    truth = SampledGaussianLoss(F(1, 10), F(1), "remove").enclose_hockey_stick(arb(epsilon))
    for table in tables:
        assert np.abs(table.kernel / tables[-1].kernel - 1).max() < 2**-50
        lower, upper = evaluate_rows(table, counts).delta(np.array([epsilon]))
        assert arb(lower[0]) <= truth <= arb(upper[0])


@pytest.mark.theorem("T116-variance-interpolation")
def test_a_tail_line_on_the_real_axis_bounds_nothing(good: TableWitness) -> None:
    """Height 0 is no shifted line; what holds from v = 0 on does not hold from another end on."""
    flat = {end: (frequency, replace(rule, height=F(0))) for end, (frequency, rule) in good.tail_nodes.items()}
    table = build_table(one_step().training, 2, replace(good, tail_nodes=flat))
    assert (table.beyond[1:] == UNKNOWN).all()


@pytest.mark.theorem("T116-variance-interpolation")
@pytest.mark.parametrize("frequency", [F(-1), F(0), 1 + F(1, 2**70)])
def test_a_tail_from_later_on_bounds_nothing(good: TableWitness, frequency: Fraction) -> None:
    """A bound from a frequency on is asked for: that of the last one, or a smaller one > 0."""
    last = good.step * good.count
    for times, known in ((frequency, False), (F(1), True), (F(1, 2), True)):
        tails = {end: (times * last, rule) for end, (_, rule) in good.tail_nodes.items()}
        table = build_table(one_step().training, 2, replace(good, tail_nodes=tails, prec=20))
        assert (table.beyond[-1] < UNKNOWN) == known


@pytest.mark.theorem("T118-individual-enclosure")
def test_an_unknown_logarithm_is_not_brought_back_by_a_large_epsilon() -> None:
    """10^6 stands for infinity: e^{10^6 - l eps} is not small where l eps is larger."""
    assert np.isinf(_weighted(1.0, np.array([UNKNOWN, 2 * UNKNOWN + 3]), np.array([UNKNOWN, 2 * UNKNOWN + 90]))).all()
    assert _weighted(1.0, np.array([700.0]), np.array([720.0]))[0] == pytest.approx(np.exp(-20), rel=1e-9)


@dataclass(frozen=True)
class Records:
    """Some records, and for each eps (first axis) and record delta and how far off this number may be."""

    counts: Counts
    epsilons: np.ndarray
    truth: np.ndarray
    noise: np.ndarray

    def check(self, lower: np.ndarray, upper: np.ndarray, at: int, what: object) -> int:
        """How many of the intervals at one eps are narrow."""
        assert (lower <= self.truth[at] + self.noise[at]).all(), (what, self.epsilons[at])
        assert (self.truth[at] - self.noise[at] <= upper).all(), (what, self.epsilons[at])
        return int((upper - lower < 0.02 * upper).sum())


EPSILONS = np.array([0.0, 0.125, 0.5, 1.0, 1.75])


def records(oracle: ModuleType, order: str, q: str, sigma: str, repeats: int, norms: list[tuple[float, ...]],
            parts: int) -> Records:
    """Every record has each of its norms `repeats` times."""
    training, step = Training(sigma, 1, q, order), oracle.SampledStep(float(F(q)), order)
    counts = count_array(np.array(norms).T, training, "raw", parts, repeats)
    truths = []
    for norm in norms:
        values = [float((min(F(x), F(1)) / training.noise_multiplier) ** 2) for x in norm]
        truths.append(oracle.composed_delta(step, [(v, repeats) for v in values if v > 0], EPSILONS))
    truth, noise = (np.array(part).T for part in zip(*truths, strict=True))
    return Records(counts, EPSILONS, truth, noise)


NORMS = [(1.0, 1.0), (0.5, 0.25), (0.37, 0.9), (0.0, 0.6), (1.5, 1e-9), (0.61, 0.62), (0.999999, 0.7500001),
         (0.6251, 0.626)]


@pytest.fixture(scope="module")
def cases(oracle: ModuleType) -> list[Records]:
    return [records(oracle, "remove", "0.1", "1", 30, NORMS, 32), records(oracle, "add", "0.1", "1.25", 40, NORMS, 64),
            records(oracle, "remove", "0.9", "6", 8, NORMS, 16)]


@pytest.mark.theorem("T118-individual-enclosure", "T117-double-precision")
def test_deltas_contain_the_inversion_integral(cases: list[Records]) -> None:
    narrow = sum(case.check(*ends(individual_deltas(case.counts, F(case.epsilons[at]))), at, case.counts.training)
                 for case, at in zip(cases, (0, 1, 3), strict=True))
    assert narrow > 10


def ends(found: Any) -> tuple[np.ndarray, np.ndarray]:
    return found.lower, found.upper


REFUSALS = (InvalidInput, ArithmeticError, LookupError, ValueError, StopIteration)


def attack(mutants: ModuleType, cases: list[Records], monkeypatch: pytest.MonkeyPatch, seed: int,
           count: int) -> tuple[int, int]:
    """Tables of altered witnesses: how many could be built, and how many intervals were narrow all the same."""
    rng, built, narrow = random.Random(seed), 0, 0
    good = [(case, witness) for case in cases for witness in captured(
        case.counts, lambda x: individual_deltas(x, F(1, 2)), monkeypatch)]
    for _ in range(count):
        case, witness = rng.choice(good)
        changed = mutants.mutated(rng, witness)
        changed = replace(changed, count=min(changed.count, 300))
        try:
            table = build_table(case.counts.training, case.counts.parts, changed)
        except REFUSALS:
            continue
        built += 1
        rows = evaluate_rows(table, case.counts)
        for at, epsilon in enumerate(case.epsilons):
            narrow += case.check(*rows.delta(np.full(len(rows.own), epsilon)), at, changed)
    return built, narrow


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.theorem("T118-individual-enclosure", "T116-variance-interpolation")
def test_altered_tables_prove_nothing_false(mutants: ModuleType, cases: list[Records],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    built, narrow = attack(mutants, cases, monkeypatch, 3, 30)
    assert built > 15 and narrow > 15


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_many_altered_tables_prove_nothing_false(mutants: ModuleType, cases: list[Records],
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    built, narrow = attack(mutants, cases, monkeypatch, 4, 3000)
    assert built > 1500 and narrow > 1500


# one record by closed forms, all the way to epsilon


def check_epsilons(order: str, q: str, sigma: str, norms: list[str], delta: str) -> int:
    """One step per record: both ends against the closed form in balls. How many of them are informative."""
    training, target = Training(sigma, 1, q, order), F(delta)
    counts = count_array(np.array([[float(F(x)) for x in norms]]), training, "raw", 64)
    found = individual_epsilons(counts, delta, width="0.9")
    for norm, lower, upper in zip(norms, found.lower, found.upper, strict=True):
        ratio = min(F(float(F(norm))), F(1))
        law = SampledGaussianLoss(training.sampling_probability, training.noise_multiplier / ratio, order)
        goal = arb(target.numerator) / target.denominator
        with ctx.workprec(900):
            assert lower == 0 or law.enclose_hockey_stick(arb(lower)) > goal, (norm, delta)
            assert np.isinf(upper) or not law.enclose_hockey_stick(arb(upper)) > goal, (norm, delta)
    return int(np.isfinite(found.upper).sum())


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_epsilon_of_one_step() -> None:
    assert check_epsilons("remove", "0.3", "2", ["1"], "1e-3") == 1


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-9", "1e-40", "1e-200", "0.3", "0.999999999999999999999"])
def test_epsilons_of_one_step(order: str, delta: str) -> None:
    norms = ["1", "0.999", "0.5", "1/64", "1/4096", "1e-9", "5e-324", "3", "0.3333"]
    for q, sigma in (("0.5", "0.5"), ("0.001", "0.5"), ("0.1", "3"), ("0.9", "10")):
        check_epsilons(order, q, sigma, norms, delta)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("order", "q", "sigma", "repeats"), [
    ("remove", "0.001", "2", 10**6), ("add", "0.001", "2", 10**6), ("remove", "0.0001", "0.7", 10**5),
    ("remove", "0.01", "1", 1000), ("add", "0.2", "5", 300), ("remove", "0.5", "20", 3000)])
@pytest.mark.parametrize("delta", ["1e-3", "1e-10", "1e-50", "1e-200"])
def test_many_equal_steps(order: str, q: str, sigma: str, repeats: int, delta: str) -> None:
    """Norm 1 throughout, or on the edge of a bucket: the contour engine's epsilon lies within."""
    training = Training(sigma, 1, q, order)
    counts = count_array(np.array([[1.0, 0.5, 2.0]]), training, "raw", 64, repeats)
    found = individual_epsilons(counts, delta, width="0.9")
    for norm, lower, upper in zip((F(1), F(1, 2), F(1)), found.lower, found.upper, strict=True):
        law = SampledGaussianLoss(training.sampling_probability, training.noise_multiplier / norm, order)
        engine = OneDirection(ComposedLoss(order, ((law, repeats),), F(0)))
        low, high = bracket_epsilon(engine, F(delta), 6, "contour", Budget(60)).ends
        assert high is None or lower <= float(high) * (1 + 1e-15)
        assert float(low) * (1 - 1e-15) <= upper


@pytest.mark.theorem("T118-individual-enclosure", "T116-variance-interpolation")
def test_records_that_differ_on_a_finer_grid_only(oracle: ModuleType) -> None:
    """Equal counts and equal sums on the grid of the counts: (a, 3 (a+2s)) and (3 (a+s), a+3s) have equal squares."""
    training, step = Training("0.7", 1, "0.1"), oracle.SampledStep(0.1, "remove")
    pair = [np.array([532, 848, 848, 848]) / 1024, np.array([690, 690, 690, 1006]) / 1024]
    counts = count_array(np.array(pair).T, training, "raw", 2, 10)
    assert len(counts.distinct[0]) == 1
    found = individual_deltas(counts, "0.5", width="2e-3")
    truths = [oracle.composed_delta(step, [(float(x / 0.7) ** 2, 10) for x in norms], np.array([0.5]))[0][0]
              for norms in pair]
    assert truths[1] > 1.005 * truths[0]
    for lower, upper, truth in zip(found.lower, found.upper, truths, strict=True):
        assert lower - 1e-10 <= truth <= upper + 1e-10 and upper < 1.003 * lower


@pytest.mark.theorem("T116-variance-interpolation")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_hulls_and_shares_cover_their_buckets(order: str) -> None:
    """A reading next to an edge, and its integer, lie in its bucket's hull; each bucket's expectations hold on it."""
    training, parts = Training("0.7", F(1, 3), "0.1", order), 64
    grid = _grid(training, parts, range(parts + 6))
    edges = np.array([float(x) ** 0.5 for x in training.square_edges(parts)]) * training.clipping_double
    norms = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)])
    square, bucket = square_and_bucket(norms, training.clipping_double, parts)
    for norm, units, b in zip(norms.tolist(), square.tolist(), bucket.tolist(), strict=True):
        hull = grid.hulls[b]
        for value in (F(units, 2**60), min(3 * F(norm), F(1)) ** 2):
            assert hull.low - hull.slack <= value / training.noise_multiplier**2 <= hull.top
    for b, shares in _shares(training, grid, F(3)).items():
        assert grid.hulls[b].top <= shares.top
        assert order == "remove" or shares.least <= grid.hulls[b].bottom


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize("coarser", [1, 3, 6])
def test_tables_at_real_exponents(oracle: ModuleType, good: TableWitness, coarser: int) -> None:
    """log M at the alias exponents and at the tilt, also by coarse node rules, is within the bucket's error."""
    def coarse(rule: NodeRule) -> NodeRule:
        return replace(rule, step=coarser * rule.step, first=rule.first // coarser, last=-(-rule.last // coarser))

    training = one_step().training
    changed: dict[str, Any] = {name: {end: coarse(rule) for end, rule in getattr(good, name).items()}
                               for name in ("nodes", "right_nodes")}
    table = build_table(training, 2, replace(good, left=good.tilt / 2, count=1, **changed))
    step, edges = oracle.SampledStep(0.1, "remove"), training.variance_edges(2)
    columns = ((table.right.values, table.right.errors, good.right), (table.left.values, table.left.errors,
               good.tilt / 2), (table.real[:, 0], table.errors[:, 0], good.tilt))
    for values, errors, exponent in columns:
        for b in good.buckets:
            truth = step.log_mass(float(edges[b + 1]), float(exponent))
            assert abs(values[b + 1] - truth) <= errors[b] + 1e-11


@pytest.mark.theorem("T04-alias-bounds", "T03-chernoff")
@pytest.mark.parametrize(("left", "tilt", "right"), [(F(1), F(2), F(3)), (F(0), F(2), F(9, 4)), (F(5), F(6), F(20))])
def test_alias_factors_are_their_series(good: TableWitness, left: Fraction, tilt: Fraction, right: Fraction) -> None:
    """C(l) sum over n of e^{-|l - c| n X}, X = 2 pi / eta, and sup of e^{-c x} (1 - e^{-x}) for the tilt."""
    x, n = np.linspace(1e-6, 30, 400001), np.arange(1, 400)
    period = 2 * np.pi / 4.0
    found = _alias_factors(replace(good, left=left, tilt=tilt, right=right, step=F(4)))
    highest = {e: float((np.exp(-float(e) * x) * -np.expm1(-x)).max()) for e in (left, tilt, right) if e}
    series = [float(np.exp(-abs(float(e - tilt)) * n * period).sum()) for e in (right, left)]
    truths = highest[right] * series[0], highest.get(left, 1.0) * series[1], highest[tilt]
    for bound, truth in zip(found, truths, strict=True):
        assert truth * (1 - 1e-12) <= bound <= truth * (1 + 1e-5)


@pytest.mark.theorem("T117-double-precision")
def test_both_ends_of_a_bucket_count() -> None:
    """The entries' own error and size at either end of a bucket are in its error."""
    for at in range(3):
        spike = np.zeros((3, 1))
        spike[at] = 8.0
        own = _with_rounding(np.zeros((2, 1)), np.zeros((3, 1)), spike)[:, 0]
        size = _with_rounding(np.zeros((2, 1)), spike, np.zeros((3, 1)))[:, 0]
        for b in range(2):
            assert own[b] >= 8 * (at in (b, b + 1)) and size[b] >= 2.0**-37 * (at in (b, b + 1))
    assert (_with_rounding(np.full((2, 1), np.nan), np.zeros((3, 1)), np.zeros((3, 1))) == UNKNOWN).all()
    assert (_with_rounding(np.full((2, 1), np.inf), np.zeros((3, 1)), np.zeros((3, 1))) == UNKNOWN).all()


def plain(counts: Counts) -> Counts:
    """The same integers, whose readings cannot be read again."""
    return Counts(counts.training, counts.records, counts.steps, counts.high, counts.low)


@pytest.mark.theorem("T118-individual-enclosure", "T117-double-precision")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_narrow_tables_contain_the_inversion_integral(oracle: ModuleType, order: str,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """On 1024 parts the intervals are so narrow that a constant wrong by 5e-5 shows."""
    case = records(oracle, order, "0.1", "1", 30, [(1.0, 1.0), (0.5, 0.75), (0.9, 0.35)], 1024)
    counts, narrow = plain(case.counts), 0
    for witness in captured(counts, lambda x: individual_deltas(x, F(1, 2), width="1e-5"), monkeypatch):
        if max(witness.buckets) > 70:  # no coarser grid has so many
            rows = evaluate_rows(build_table(counts.training, 1024, witness), counts)
            lower, upper = rows.delta(np.full(3, 0.5))
            case.check(lower, upper, 2, witness)
            narrow += int((upper - lower < 2e-5 * upper).sum())
    assert narrow >= 1


@pytest.mark.theorem("T118-individual-enclosure", "T04-alias-bounds")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_short_periods(cases: list[Records], monkeypatch: pytest.MonkeyPatch) -> None:
    """Aliases from the right where the tilt is large, from the left where it is small."""
    case, seen = cases[0], 0
    good = captured(case.counts, lambda x: individual_deltas(x, F(1, 2), width="0.9"), monkeypatch)[0]
    for times in (F(1, 4), F(1), F(3)):
        for period in (0.4, 1.5, 6.0):
            tilt = good.tilt * times
            witness = replace(good, tilt=tilt, left=tilt / 2, right=tilt * F(5, 4), step=F(2 * np.pi / period),
                              count=200)
            rows = evaluate_rows(build_table(case.counts.training, case.counts.parts, witness), case.counts)
            for at, epsilon in enumerate(case.epsilons):
                case.check(*rows.delta(np.full(len(rows.own), epsilon)), at, (times, period))
                seen += int(np.isfinite(rows.error).sum())
    assert seen > 30


@pytest.mark.theorem("T118-individual-enclosure")
def test_every_part_of_the_error_is_there(cases: list[Records], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where logs are unknown the moduli bound the terms; the tail and the columns' errors, by their formulas."""
    counts = plain(cases[0].counts)
    witness = captured(counts, lambda x: individual_deltas(x, F(1, 2), width="0.9"), monkeypatch)[0]
    table, steps = build_table(counts.training, counts.parts, witness), counts.steps.astype(float)
    shape = table.errors.shape
    unknown = replace(table, errors=np.full(shape, UNKNOWN), moduli=np.full(shape, 0.05),
                      beyond=np.full(shape[0], -9.0), beyond_share=np.zeros(shape[0]))
    rows, plainly = (evaluate_rows(x, counts) for x in (unknown, replace(unknown, moduli=np.full(shape, -9.0))))
    size = np.abs(table.kernel).sum()
    assert (rows.error - plainly.error >= size * np.exp(steps.sum(axis=1) * 0.05 - rows.scale) * 0.99).all()
    assert (plainly.error >= np.abs(plainly.terms).sum(axis=0) * 0.999).all(), "the terms themselves are not known"
    above, scale = counts.weights_above(), rows.scale
    share = replace(table, beyond=np.full(shape[0], -0.02), beyond_share=np.full(shape[0], 0.03))
    exponent = -0.02 * steps.sum(axis=1) + 0.03 * above.sum(axis=1) - scale
    tail = 2 * np.exp(exponent) / (float(witness.step) ** 2 * witness.count)
    assert (_bound_tail(share, steps, above, scale) >= tail).all()
    assert (_bound_tail(share, steps, above, scale) <= tail * 1.001).all()
    column = Column(np.zeros(shape[0] + 1), np.full(shape[0], 0.5))
    assert (_log_above(column, counts.weights(), steps) >= 0.5 * steps.sum(axis=1)).all()
    chi = np.expm1(table.divergences[-1] * np.arange(1, 20) * 0.001)
    weights = np.zeros((19, shape[0] + 1))
    weights[:, -1] = np.arange(1, 20) * 0.001
    bound = _bound_variation(table, weights, np.zeros((19, shape[0])))
    assert (0.5 * np.sqrt(chi) <= bound).all()


class Falling:
    """delta(eps) = e^{-eps} / 2 known to 10 %, in place of the rows of a table."""

    shift, steep = 0.0, 1.0

    def delta(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 0.45 * np.exp(-epsilon), 0.55 * np.exp(-epsilon)

    def slope(self, epsilon: np.ndarray) -> np.ndarray:
        return -0.5 * self.steep * np.exp(-epsilon)

    def chernoff_epsilon(self, log_delta: float) -> np.ndarray:
        return np.full(3, np.log(0.5) - log_delta + self.shift)


@pytest.mark.theorem("T118-individual-enclosure")
@pytest.mark.parametrize("target", [F(1, 1000), F(46, 100), F(52, 100), F(6, 10), F(1, 10**9) + F(1, 10**40)])
@pytest.mark.parametrize(("shift", "steep"), [(-0.05, 1.0), (0.02, 1.0), (0.2, 9.0), (-0.05, 40.0)])
def test_brackets_are_proved_on_both_sides(target: Fraction, shift: float, steep: float) -> None:
    """Also where the slope that steers the search is too large, so that the ends proposed are too near."""
    rows = Falling()
    rows.shift, rows.steep = shift, steep
    for guess in (0.0, 1.0, 8.0, 30.0):
        lower, upper = bracket_epsilons(rows, target, np.full(3, guess))  # type: ignore[arg-type]
        root = max(float(np.log(0.5 / float(target))), 0.0)
        known = np.log(0.55 / float(target)) if target < F(55, 100) else 0.0
        assert (upper >= known * (1 - 1e-12)).all() and (lower <= max(0.0, root - 0.1)).all()
        assert target < F(55, 100) or (upper == 0).all()
    below, above = doubles_around(target)
    assert F(below) <= target <= F(above) and (below == above) == (F(float(target)) == target)


@pytest.mark.theorem("T117-double-precision", "T118-individual-enclosure")
def test_what_is_out_of_range_proves_nothing(good: TableWitness) -> None:
    """Angles past 64, whose sines are not known, and exponents that were cut: then a sum of 1 gives no lower end."""
    rows = evaluate_rows(build_table(one_step().training, 2, good), one_step())
    first = np.zeros_like(rows.terms)
    first[0] = 1.0
    step, tilt = float(good.step), float(good.tilt)
    for angle, excess, known in ((60.0, 0.0, True), (65.0, 0.0, False), (60.0, 640.0, True), (60.0, 660.0, False),
                                 (60.0, -660.0, False)):
        epsilon = angle / step
        sure = replace(rows, terms=first, error=np.zeros(1), scale=np.array([tilt * epsilon + excess]))
        assert (sure.delta(np.array([epsilon]))[0][0] > 0) == known


@pytest.mark.theorem("T118-individual-enclosure")
def test_one_by_one_equal_steps_are_not_counted_once(tmp_path: Path) -> None:
    """Record 1 has 3 steps above the clipping constant, record 2 twice as many in two norms, each 3 times."""
    rows = [(1, 1, 1.5, 1), (1, 2, 1.5, 2), (1, 3, 0.0, 1), (2, 1, 1.5, 3), (2, 2, 2.0, 3), (2, 3, 0.0, 1)]
    path = tmp_path / "norms.parquet"
    listed = ", ".join(f"({record}, {step}, CAST({norm} AS DOUBLE), {repeats})" for record, step, norm, repeats in rows)
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {listed}) AS t(record, step, norm, repeats)) TO '{path}' (FORMAT parquet)")
    training, epsilon = Training(1, 1, "0.1"), F(1, 2)
    found = individual_deltas(count_parquet(path, training, "raw"), epsilon, width="1e-6")
    law = SampledGaussianLoss(training.sampling_probability, F(1), "remove")
    for lower, upper, count in zip(found.lower, found.upper, (3, 6), strict=True):
        loss = ComposedLoss("remove", ((law, count),), F(0))
        truth = OneDirection(loss).enclose(epsilon, 30.0, "contour", Budget(60))
        assert arb(lower) <= truth.bounds.upper and truth.bounds.lower <= arb(upper)
    assert found.lower[1] > 1.5 * found.upper[0]


@pytest.mark.theorem("T118-individual-enclosure")
def test_every_record_has_its_own_kinds_interval(oracle: ModuleType) -> None:
    """Kinds that recur in any order, on a grid and one by one: each record has what it has without the others."""
    norms = [(1.0, 1.0), (0.5, 0.25), (1.0, 1.0), (0.37, 0.9), (0.5, 0.25), (0.0, 0.6), (0.37, 0.9), (1.0, 1.0)]
    case = records(oracle, "remove", "0.1", "1", 30, norms, 64)
    found = individual_deltas(plain(case.counts), F(1, 2), width="0.1")
    assert found.distinct == 4 and case.check(found.lower, found.upper, 2, norms) >= 6
    for i in (0, 1, 3, 5):
        single = individual_deltas(plain(case.counts.take(np.array([i]))), F(1, 2), width="0.1")
        assert single.lower[0] <= found.upper[i] and found.lower[i] <= single.upper[0]
        same = [j for j in range(len(norms)) if norms[j] == norms[i]]
        assert np.ptp(found.lower[same]) == np.ptp(found.upper[same]) == 0
