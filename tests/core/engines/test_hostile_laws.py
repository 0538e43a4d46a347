"""Altered witnesses on laws besides the sampled Gaussian: no lattice, sparse, contour or closed form lies.

The truth comes from sums over outcomes (Fractions and mpmath), or from quadrature on the output space.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from types import ModuleType
from typing import Any

import mpmath
import pytest
from mpmath import mpf

from verified_dp.core.engines.closed import ClosedFormWitness, has_closed_form
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.exact import ExactWitness
from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.lines import lines
from verified_dp.core.engines.node_moment import EarlierChernoff
from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.finite.atomic import DiscreteLaplaceLoss, FiniteLoss, OddsLoss
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import lower_dyadic, upper_dyadic
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidCertificate, InvalidInput, Undecided
from verified_dp.core.kernel.law import Law
from verified_dp.core.kernel.witnesses import Witness, evaluate

F = Fraction
REFUSALS = (InvalidInput, InvalidCertificate, Undecided, ArithmeticError, LookupError, ValueError)
"""What the certificate's checker takes for a refusal."""
PAIR = ((F(1, 2), F(1, 5)), (F(2, 5), F(1, 5)), (F(0), F(3, 5)), (F(1, 10), F(0)))
Masses = list[tuple[mpf, mpf]]


def real(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def swapped(masses: Masses) -> Masses:
    return [(q, p) for p, q in masses]


def odds(epsilon: Fraction, sure: Fraction) -> Masses:
    large, d = mpmath.exp(real(epsilon)), real(sure)
    unit = (1 - d) / (1 + large)
    return [(d, mpf(0)), (unit * large, unit), (unit, unit * large), (mpf(0), d)]


def shifted(mass: Callable[[int], mpf], shift: int, reach: int) -> Masses:
    total = mpmath.fsum(mass(x) for x in range(-2 * reach, 2 * reach))
    return [(mass(x) / total, mass(x - shift) / total) for x in range(-reach, reach)]


def laplace(ratio: Fraction) -> Masses:
    """Cells of the output space, so fine that their curve is the continuous one to about 1e-9."""
    mu, n = real(ratio), 1000
    ends = [mu * j / n for j in range(n + 1)]
    inner = [(mpmath.exp(-a) * -mpmath.expm1(a - b) / 2, mpmath.exp(a - mu) * mpmath.expm1(b - a) / 2)
             for a, b in pairwise(ends)]
    return [(mpf(1) / 2, mpmath.exp(-mu) / 2), *inner, (mpmath.exp(-mu) / 2, mpf(1) / 2)]


def normals(mixture: tuple[tuple[Fraction, Fraction], ...], s: Fraction, ends: list[mpf]) -> list[mpf]:
    def above(t: mpf) -> mpf:
        return mpmath.fsum(real(w) * mpmath.erfc((t - real(m)) / (real(s) * mpmath.sqrt(2))) / 2 for m, w in mixture)

    values = [above(t) for t in ends]
    return [1 - values[0], *(a - b for a, b in pairwise(values)), values[-1]]


def gaussians(law: MixtureLoss) -> Masses:
    ends = [mpf(n) / 100 for n in range(-1000, 1200)]
    return list(zip(normals(law.above, law.sigma, ends), normals(law.below, law.sigma, ends), strict=True))


def sampled(masses: Masses, q: Fraction) -> Masses:
    return [((1 - real(q)) * b + real(q) * a, b) for a, b in masses]


def power(masses: Masses, count: int) -> Masses:
    found = [(mpf(1), mpf(1))]
    for _ in range(count):
        found = [(a * p, b * q) for (a, b), (p, q) in product(found, masses)]
    return found


def stick(masses: Masses, epsilon: Fraction) -> mpf:
    alpha = mpmath.exp(real(epsilon))
    return mpmath.fsum(p - alpha * q for p, q in masses if p > alpha * q)


MIXED = MixtureLoss(F(1), ((F(0), F(1, 5)), (F(1), F(3, 5)), (F(2), F(1, 5))), ((F(0), F(1)),), "remove")
BATCH = MixtureLoss(F(2), ((F(0), F(9, 10)), (F(2), F(1, 10))), ((F(0), F(1)),), "remove")


def finite() -> Masses:
    return [(real(p), real(q)) for p, q in PAIR]


LAWS: list[tuple[Law, int, Callable[[], Masses], float]] = [
    (FiniteLoss(PAIR, "remove"), 2, finite, 1e-14),
    (FiniteLoss(PAIR, "remove").in_order("add"), 3, lambda: swapped(finite()), 1e-14),
    (OddsLoss(F(1, 2), F(1, 10), 0), 3, lambda: odds(F(1, 2), F(1, 10)), 1e-14),
    (DiscreteLaplaceLoss(F(2), 3), 2, lambda: shifted(lambda x: mpmath.exp(-abs(x) / mpf(2)), 3, 80), 1e-14),
    (DiscreteGaussianLoss(F(4), 2), 2, lambda: shifted(lambda x: mpmath.exp(-x * x / mpf(8)), 2, 20), 1e-14),
    (LaplaceLoss(F(1)), 1, lambda: laplace(F(1)), 1e-6),
    (SampledLoss(LaplaceLoss(F(1)), F(1, 3), "remove"), 1, lambda: sampled(laplace(F(1)), F(1, 3)), 1e-6),
    (SampledLoss(LaplaceLoss(F(1)), F(1, 3), "add"), 1, lambda: swapped(sampled(laplace(F(1)), F(1, 3))), 1e-6),
    (MIXED, 1, lambda: gaussians(MIXED), 1e-5), (MIXED.in_order("add"), 1, lambda: swapped(gaussians(MIXED)), 1e-5),
    (FixedBatchLoss(F(1, 10), F(2)), 1, lambda: gaussians(BATCH), 1e-5),
]  # fmt: skip
GRID = LawGrid(-30, ((5, 4), (30, 1), (5, 4)))


def proposals(loss: ComposedLoss, count: int) -> Iterator[Witness]:
    """Coarse but good witnesses of every kind that applies."""
    for grid in (GRID, replace(GRID, shift=F(1, 3))):
        yield LatticeWitness(F(1, 8), F(1), 40, (grid,), 301, 0, (), F(3, 2), F(1, 2), 80)
    yield LatticeWitness(F(1, 8), F(1), 40, (GRID,), 301, 100, ((50, 1),), F(3, 2), F(1, 2), 80)
    yield ExactWitness(64)
    if has_closed_form(loss):
        yield ClosedFormWitness(80)
    if lines(loss).has_transform:
        rules = (NodeRule(F(1), F(1), F(1, 4), -60, 60),) * len(lines(loss).node_parts)
        yield LineWitness(F(1), F(1, 3), 300, rules, rules, F(2), F(1, 2), 80)
        yield EarlierChernoff(F(1), rules, 64).now()


@dataclass(frozen=True)
class Case:
    """A loss, an eps, delta there with its uncertainty, and a good witness."""

    loss: ComposedLoss
    epsilon: Fraction
    truth: Fraction
    margin: Fraction
    witness: Witness


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = []
    with mpmath.workdps(30):
        for law, count, masses, margin in LAWS:
            loss, exact = ComposedLoss(law.order, ((law, count),), F(0)), power(masses(), count)
            for epsilon in (F(0), F(1, 2), F(11, 10)):
                truth = F(mpmath.nstr(stick(exact, epsilon), 25))
                found += [Case(loss, epsilon, truth, F(margin), one) for one in proposals(loss, count)]
    return found


def enclose(case: Case, witness: Witness) -> Bounds | None:
    """The enclosure, None where the witness is refused or dear."""
    try:
        if witness.work(case.loss).units > 10**9:
            return None
        return evaluate(case.loss, witness).delta(case.epsilon)
    except REFUSALS:
        return None


def assert_true(case: Case, witness: Witness, bounds: Bounds) -> Fraction:
    lower, upper = lower_dyadic(bounds.lower).as_fraction(), upper_dyadic(bounds.upper).as_fraction()
    assert 0 <= lower <= upper <= 1, (case, witness)
    assert lower <= case.truth + case.margin and case.truth - case.margin <= upper, (case, witness, lower, upper)
    return upper - lower


def attack(mutants: ModuleType, cases: list[Case], seed: int, count: int) -> dict[str, int]:
    """How many altered witnesses of each kind still enclose delta within a quarter."""
    rng, narrow = random.Random(seed), dict[str, int]()
    kinds: dict[str, list[Case]] = {}
    for case in cases:
        kinds.setdefault(type(case.witness).__name__, []).append(case)
    for n in range(count):
        kind = sorted(kinds)[n % len(kinds)]
        case = rng.choice(kinds[kind])
        witness: Any = mutants.mutated(rng, case.witness)
        bounds = enclose(case, witness)
        if bounds is not None:
            narrow[kind] = narrow.get(kind, 0) + (assert_true(case, witness, bounds) < F(1, 4))
    return narrow


@pytest.mark.theorem("T26-connect-the-dots", "T27-convex-minorant", "T222-lattice-on-a-circle", "T45-pieces",
                     "T46-atoms")
def test_good_witnesses_are_good(cases: list[Case]) -> None:
    narrow: dict[str, int] = {}
    for case in cases:
        bounds = enclose(case, case.witness)
        assert bounds is not None, case
        kind = type(case.witness).__name__
        narrow[kind] = narrow.get(kind, 0) + (assert_true(case, case.witness, bounds) < F(1, 20))
    assert min(narrow[name] for name in ("LatticeWitness", "ClosedFormWitness", "LineWitness")) >= 5


@pytest.mark.theorem("T26-connect-the-dots", "T27-convex-minorant", "T222-lattice-on-a-circle")
def test_altered_witnesses_prove_nothing_false(mutants: ModuleType, cases: list[Case]) -> None:
    narrow = attack(mutants, cases, 5, 225)
    assert narrow["LatticeWitness"] > 7 and narrow["LineWitness"] > 2


@pytest.mark.long
def test_many_altered_witnesses_prove_nothing_false(mutants: ModuleType, cases: list[Case]) -> None:
    narrow = attack(mutants, cases, 6, 8000)
    assert narrow["LatticeWitness"] > 230 and narrow["LineWitness"] > 80


@pytest.mark.parametrize("change", [
    {"step": F(0)}, {"step": F(-1, 8)}, {"tilt": F(-1)}, {"bits": 1}, {"bits": 65}, {"grids": ()}, {"period": 300},
    {"right": F(1)}, {"left": F(1)}, {"grids": (GRID, GRID)}, {"grids": (replace(GRID, first=0),)}, {"prec": 1},
    {"grids": (replace(GRID, blocks=((5, -4), (60, 1))),)}, {"grids": (replace(GRID, blocks=((1, 1),)),)},
    {"grids": (replace(GRID, shift=F(1)),)}, {"grids": (replace(GRID, shift=F(-1, 2)),)}])
def test_inadmissible_lattices_are_refused(change: dict[str, Any]) -> None:
    loss = ComposedLoss("symmetric", ((OddsLoss(F(1, 2), F(1, 10), 0), 2),), F(0))
    good = LatticeWitness(F(1, 8), F(1), 40, (GRID,), 301, 0, (), F(3, 2), F(1, 2), 80)
    assert evaluate(loss, good)
    with pytest.raises(InvalidInput):
        evaluate(loss, replace(good, **change))


def test_what_wraps_around_is_not_forgotten() -> None:
    """Circles that hold next to nothing: the upper end stays above the truth, the lower one below."""
    law = OddsLoss(F(1, 2), F(1, 10), 0)
    loss = ComposedLoss("symmetric", ((law, 2),), F(0))
    for period in (1, 3, 7, 31, 101, 601):
        for bits in (3, 12, 60):
            witness = LatticeWitness(F(1, 8), F(2), bits, (GRID,), period, 0, (), F(3), F(1), 80)
            bounds = evaluate(loss, witness).delta(F(1, 4))
            with mpmath.workdps(30):
                exact = F(mpmath.nstr(stick(power(odds(F(1, 2), F(1, 10)), 2), F(1, 4)), 25))
            assert exact > F(19, 100)
            assert lower_dyadic(bounds.lower).as_fraction() <= exact <= upper_dyadic(bounds.upper).as_fraction()


def test_short_circles_and_few_frequencies_are_paid_for(cases: list[Case]) -> None:
    """Few frequencies alias, and cut the sum short: the enclosure is wide, and holds delta."""
    widths = []
    for case in [case for case in cases if isinstance(case.witness, LatticeWitness)]:
        for half in (0, 3, 40):
            for count in {0, half // 3, half}:
                cover = ((half - count, 1),) if half > count else ()
                witness = replace(case.witness, period=2 * half + 1, count=count, cover=cover)
                bounds = enclose(case, witness)
                assert bounds is not None
                widths.append(assert_true(case, witness, bounds))
    assert min(widths) < F(1, 4) < max(widths)
