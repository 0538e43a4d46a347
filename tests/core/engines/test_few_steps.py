"""Few steps by the witness `marked`, planned and altered, against sums and quadrature of densities."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from flint import arb, ctx

from verified_dp.core.engines.marked import MarkedWitness
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Undecided
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.witnesses import Witness, evaluate
from verified_dp.search.marked import choose_marked, plan_marked
from verified_dp.search.models import float_loss
from verified_dp.search.one_direction import OneDirection

F = Fraction
marks = pytest.mark.theorem("T149-marked-losses")


@pytest.fixture(scope="module")
def truth(load: Callable[..., ModuleType]) -> ModuleType:
    return load(Path(__file__).resolve().parents[2] / "few_steps.py")


def composed(parts: Sequence[tuple[tuple[Law, object], int]], order: str) -> tuple[ComposedLoss, list[object]]:
    """Our composition, and the oracle's list of steps."""
    steps = [other for (_, other), count in parts for _ in range(count)]
    return ComposedLoss(order, tuple((law, count) for (law, _), count in parts), F(0)), steps


def around(value: Fraction, error: float) -> arb:
    with ctx.workprec(200):
        return arb(value.numerator) / value.denominator * arb(1, error)


def bits(bounds: Bounds) -> float:
    """How narrow, in bits of the upper end."""
    return float("inf") if bounds.upper == bounds.lower else -float(((bounds.upper - bounds.lower) / bounds.upper).log()
                                                                    / arb.const_log2())


def holds(bounds: Bounds, value: arb) -> bool:
    """Whether a number in the ball may be between the ends."""
    return bool(not bounds.lower > value.upper() and not bounds.upper < value.lower())


def test_the_oracle_agrees_with_itself(truth: ModuleType) -> None:
    """With more nodes, and in another order."""
    for order in ("remove", "add", "symmetric"):
        first, second = truth.Mixture((0.9, 0.1), 0.8, order), truth.Mixture((0.97, 0.03), 0.6, order)
        values = [truth.mixtures_delta(row, 0.05, 0.1, nodes) for row, nodes in (
            ([first, second], 8), ([first, second], 12), ([second, first], 10))]
        if order != "symmetric":  # the plain Gaussian step as a mixture of one
            values.append(truth.mixtures_delta([truth.Mixture((0.0, 1.0), 10**0.5, order), first, second], 0.05))
        assert max(values) - min(values) < truth.MIXTURE_ERROR / 3 * values[0]


def count_holding(loss: ComposedLoss, epsilon: Fraction, value: arb, witnesses: Iterable[Witness]) -> int:
    """How many of the witnesses tell something; each is right or refused."""
    told = 0
    for witness in witnesses:
        if witness.work(loss).units > 10**9:
            continue
        with suppress(Undecided, InvalidInput):
            bounds = evaluate(loss, witness).delta(epsilon)
            assert holds(bounds, value), (witness, epsilon)
            told += bool(bounds.upper < 1 and bounds.lower > 0)
    return told


GROUP = (F(9, 10), F(2, 25), F(1, 50))


def mixtures(truth: ModuleType, name: str, order: str) -> tuple[ComposedLoss, list[object], float]:
    """Our composition, the oracle's steps, the square of a plain Gaussian's shift."""
    def step(q: Fraction, s: Fraction) -> tuple[Law, object]:
        return SampledGaussianLoss(q, s, order), truth.Mixture((float(1 - q), float(q)), float(s), order)

    group = (MixtureLoss(F(7, 10), tuple((F(j), w) for j, w in enumerate(GROUP)), ((F(0), F(1)),), "remove"),
             truth.Mixture(tuple(map(float, GROUP)), 0.7, "remove"))
    parts, shift = {
        "one": ([(step(F(1, 1000), F(1, 4)), 1)], F(0)),
        "two": ([(step(F(1, 10), F(4, 5)), 2)], F(0)),
        "three": ([(step(F(1, 10), F(4, 5)), 3)], F(0)),
        "three of little noise": ([(step(F(1, 100), F(1, 2)), 3)], F(0)),
        "unequal": ([(step(F(1, 100), F(1, 2)), 1), (step(F(1, 50), F(3, 5)), 1)], F(1, 100)),
        "group": ([(group, 2)], F(0)),
    }[name]
    loss, steps = composed(parts, order)
    return replace(loss, mean_shift_squared=shift), steps, float(shift)


def coarser(witness: MarkedWitness) -> Iterator[MarkedWitness]:
    """One kind of error at a time: fewer frequencies, wider steps of nodes, nodes cut off at one end."""
    for share in (2, 3, 4, 6, 9):
        yield replace(witness, count=1 + witness.count // share)
    for name in ("nodes", "rest_nodes"):
        rule, *others = getattr(witness, name)
        length = rule.last - rule.first
        changed = [replace(rule, step=n * rule.step, first=rule.first // n, last=-(-rule.last // n)) for n in (2, 3, 5)]
        for sixteenth in (3, 6, 9, 11):
            changed += [replace(rule, first=rule.first + sixteenth * length // 16),
                        replace(rule, last=rule.last - sixteenth * length // 16)]
        yield from (replace(witness, **{name: (other, *others)}) for other in changed)


@marks
@pytest.mark.parametrize(("name", "order", "epsilons"), [
    ("three of little noise", "remove", ["2"]), pytest.param("two", "symmetric", ["1/10", "2"], marks=pytest.mark.long),
    pytest.param("group", "remove", ["1", "3"], marks=pytest.mark.long)])
def test_no_part_of_the_error_may_be_left_out(truth: ModuleType, name: str, order: str,
                                              epsilons: Sequence[str]) -> None:
    """Coarser witnesses miss by what shows, and say so: their middles are off by more than the oracle may be."""
    loss, steps, shift = mixtures(truth, name, order)
    for text in epsilons:
        epsilon = F(text)
        value = around(F(truth.mixtures_delta(steps, float(epsilon), shift)), truth.MIXTURE_ERROR)
        plan = plan_marked(float_loss(loss), float(epsilon), OneDirection(loss).saddle(epsilon), 30.0)
        assert plan is not None
        off = 0
        for witness in coarser(choose_marked(plan)):
            bounds = evaluate(loss, witness).delta(epsilon)
            assert holds(bounds, value), witness
            off += not value.overlaps((bounds.lower + bounds.upper) / 2) and bounds.upper < 1
        assert off > 4


@marks
@pytest.mark.parametrize(("name", "order", "epsilons", "times"), [
    ("two", "symmetric", ["2"], 6), ("unequal", "remove", ["2"], 6), ("group", "remove", ["2"], 6),
    pytest.param("three", "add", ["1/10"], 40, marks=pytest.mark.long),
    *(pytest.param(name, order, ["1/10", "1", "2"], 40, marks=pytest.mark.long) for name in (
        "one", "two", "three", "three of little noise", "unequal") for order in ("remove", "symmetric")),
    pytest.param("group", "remove", ["1", "3"], 40, marks=pytest.mark.long)])
def test_marked_losses_of_few_steps(truth: ModuleType, mutants: ModuleType, name: str, order: str,
                                    epsilons: Sequence[str], times: int) -> None:
    """Few steps hold the same theorem as the millions that such witnesses are chosen for, and can be integrated."""
    loss, steps, shift = mixtures(truth, name, order)
    planned, told, rng = 0, 0, random.Random(name + order)
    for text in epsilons:
        epsilon = F(text)
        value = around(F(truth.mixtures_delta(steps, float(epsilon), shift)), truth.MIXTURE_ERROR)
        plan = plan_marked(float_loss(loss), float(epsilon), OneDirection(loss).saddle(epsilon), 30.0)
        if plan is None:
            continue
        witness: Witness = choose_marked(plan)
        assert isinstance(witness, MarkedWitness)
        bounds = evaluate(loss, witness).delta(epsilon)
        assert holds(bounds, value) and bits(bounds) > (10 if order == "add" else 24)
        planned += 1
        told += count_holding(loss, epsilon, value, (mutants.mutated(rng, witness) for _ in range(times)))
    assert planned and told >= planned * times // 8
