"""Expansions with a proved remainder against the contour, quadrature and exact transforms; how their widths fall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import log, log10
from random import Random
from types import ModuleType

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpc, mpf
from scipy.stats import binom, norm

from verified_dp.core.engines.expansion import ExpansionWitness, enclose_expansion, enclose_series, tilted_steps
from verified_dp.core.engines.expansion_cells import (
    Cover,
    Ray,
    Steps,
    bound_beyond,
    bound_cells,
    bound_derivative,
    bound_expansion_integral,
    bound_modulus,
    bound_poles,
    bound_rays,
    enclose_steps,
    hermite_coefficients,
)
from verified_dp.core.engines.tilted_moments import NO_NODES, MomentRule, tabulate_moments
from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.sampled_laplace import SampledLaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.bounds import Bounds
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.papers.paper import paper_method
from verified_dp.search.deadline import Budget
from verified_dp.search.expansion import ExpansionCurve, choose_table, choose_witness
from verified_dp.search.models import float_loss
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.saddle import choose_saddle

THEOREM = pytest.mark.theorem("T141-certified-expansions")
ORDERS = range(7)
MASSES = ((Fraction(1, 2), Fraction(3, 10)), (Fraction(3, 10), Fraction(3, 10)), (Fraction(1, 5), Fraction(2, 5)))
"""Three outcomes with losses log(5/3), 0, -log 2: skew, no lattice."""
COUNT, WHOLE = 60, Cover((Fraction(1), Fraction(2)), (Ray(Fraction(2), ()),))


def truth(loss: ComposedLoss, epsilon: Fraction) -> Bounds:
    return OneDirection(loss).enclose(epsilon, 40, "auto", Budget(30)).bounds


def holds(bounds: Bounds, true: Bounds) -> bool:
    """Whether both enclose one number."""
    return bool(bounds.lower <= true.upper and true.lower <= bounds.upper)


def epsilon_at(loss: ComposedLoss, target: float) -> Fraction:
    """eps with delta near the target, by the saddle point's first order."""
    model, low, high = float_loss(loss), 0.0, 50.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if choose_saddle(model, middle).log_delta > log(target) else (low, middle)
    return Fraction(round(1000 * high) + 1, 1000)


def random_cases(number: int) -> Iterator[tuple[ComposedLoss, float]]:
    """Both orders, equal and mixed steps, with and without plain Gaussian steps."""
    random = Random(20230817)
    for i in range(number):
        order, mixed = ("remove", "add", "symmetric")[i % 3], random.random() < 0.5
        laws = {SampledGaussianLoss(Fraction(random.randint(5, 60), 1000), Fraction(random.randint(10, 40), 10), order):
                random.randint(300, 20_000) for _ in range(2 if mixed else 1)}
        target = (1e-3, 1e-5, 1e-10)[i // 3 % 3]
        yield ComposedLoss(order, tuple(laws.items()), Fraction(random.randint(0, 3), 40)), target


@THEOREM
@pytest.mark.parametrize(("loss", "target"), list(random_cases(9)), ids=lambda x: x if isinstance(x, float) else "")
def test_intervals_contain_the_contours_digits(loss: ComposedLoss, target: float) -> None:
    epsilon = epsilon_at(loss, target)
    true = truth(loss, epsilon)
    assert true.upper - true.lower < true.lower * arb("1e-11")
    for tilt in (Fraction(0), None):
        for order in (0, 3, 6):
            bounds, _, _ = ExpansionCurve(loss, order, tilt).delta(epsilon)
            assert holds(bounds, true), order
    assert bounds.upper - bounds.lower < true.upper / 10


@pytest.mark.long
@THEOREM
def test_intervals_contain_the_contours_digits_at_length() -> None:
    for loss, target in random_cases(60):
        epsilon = epsilon_at(loss, target)
        true = truth(loss, epsilon)
        for order in ORDERS:
            for tilt in (Fraction(0), None):
                assert holds(ExpansionCurve(loss, order, tilt).delta(epsilon)[0], true), (loss, epsilon, order, tilt)


@THEOREM
@pytest.mark.parametrize(("law", "count", "eps", "width"), [
    (LaplaceLoss(Fraction(1, 10)), 400, "3/2", "1e-5"), (BoundedRangeLoss(Fraction(1, 5)), 300, "2", "1e-5"),
    (SampledLaplaceLoss(LaplaceLoss(Fraction(1)), Fraction(1, 20), "add"), 3000, "1", "1e-6"),
    (OddsLoss(Fraction(1, 10), Fraction(1, 10**6), 0), 300, "2", "2")],
    ids=["laplace", "bounded range", "sampled", "lattice"])
@pytest.mark.parametrize("tilt", [None, 0])
def test_laws_with_atoms_and_an_infinity_mass(law: Law, count: int, eps: str, width: str, tilt: int | None) -> None:
    """On a lattice the interval stays valid, and as wide as the lattice's effect may be."""
    loss = ComposedLoss(law.order, ((law, count),), Fraction(0))
    curve = ExpansionCurve(loss, 4, None if tilt is None else Fraction(tilt))
    true, (bounds, _, _) = truth(loss, Fraction(eps)), curve.delta(Fraction(eps))
    assert holds(bounds, true) and bounds.upper - bounds.lower < true.upper * arb(width)


@THEOREM
def test_one_sum_without_a_tilt_against_enumeration() -> None:
    """Binomial sums with a normal part: delta from exact weights, inside at every eps; not without its remainder."""
    share, variance = np.exp(0.2) / (1 + np.exp(0.2)), 0.05
    loss = ComposedLoss("symmetric", ((OddsLoss(Fraction(1, 5), Fraction(0), 0), 400),), Fraction(1, 20))
    masses, places = binom.pmf(np.arange(401), 400, share), 0.2 * (2 * np.arange(401) - 400)
    for order in (0, 2, 5):
        curve = ExpansionCurve(loss, order, Fraction(0))
        left_out = replace(curve.chosen(Fraction(1))[1], errors={})
        for epsilon in (Fraction(1), Fraction(4), Fraction(9)):
            mu, at = variance**0.5, float(epsilon) - places
            true = float(masses @ (norm.sf(at / mu - mu / 2) - np.exp(at) * norm.sf(at / mu + mu / 2)))
            bounds, narrow = curve.delta(epsilon)[0], left_out.delta(epsilon)
            assert float(bounds.lower) < true < float(bounds.upper)
            assert not float(narrow.lower) < true < float(narrow.upper)


@THEOREM
@pytest.mark.parametrize("order", ORDERS)
def test_exact_for_gaussian_steps(order: int) -> None:
    loss = ComposedLoss("symmetric", (), Fraction(2))
    bounds, _, _ = ExpansionCurve(loss, order).delta(Fraction(3))
    with ctx.workprec(200):
        true = loss.enclose_alone(arb(3))
        assert bounds.lower <= true.upper() and true.lower() <= bounds.upper
        assert bounds.upper - bounds.lower < true * arb("1e-30")


@THEOREM
def test_widths_fall_with_the_order(composed: Callable[..., ComposedLoss]) -> None:
    """q sqrt k = 1, s = 3/2, eps = 3: ten times as narrow for n = 0 where k is a hundredfold, 10^{n+1} for any n."""
    for order in ORDERS[::3]:
        widths = []
        for root in (316, 3160):
            loss = composed("remove", Fraction(1, root), "3/2", root**2)
            bounds, series, _ = ExpansionCurve(loss, order).delta(Fraction(3))
            widths.append(float((bounds.upper - bounds.lower) / series))
        assert abs(log10(widths[0] / widths[1]) / (order + 1) - 1) < 0.12, (order, widths)


# the parts, on a law of three outcomes whose transform is a sum of three exponentials


def three() -> ComposedLoss:
    return ComposedLoss("remove", ((FiniteLoss(MASSES, "remove"), COUNT),), Fraction(1, 50))


@pytest.fixture
def steps(request: pytest.FixtureRequest) -> Iterator[Steps]:
    """At tilt 3/4 where none is stated."""
    tilt = getattr(request, "param", Fraction(3, 4))
    with ctx.workprec(256):
        yield enclose_steps(tabulate_moments(three(), [MomentRule(Fraction(1, 4))], 256), ball(tilt), 8, 14)


def transform(oracle: ModuleType, z: mpc) -> mpc:
    """M_1 of one step."""
    pairs = [(oracle.real(p), mp.log(oracle.real(p / q))) for p, q in MASSES]
    return sum(p * mp.exp(z * loss) for p, loss in pairs)


def number(x: arb) -> mpf:
    return mpf(x.mid().str(60, radius=False))


def normalised(oracle: ModuleType, steps: Steps, w: mpf) -> mpc:
    """psi(w)."""
    t = number(steps.tilt)
    turned = (transform(oracle, t + 1j * w) / transform(oracle, t)) ** COUNT
    gaussian = mp.exp(-w * w / 100 + 1j * w * (2 * t + 1) / 100)
    return turned * gaussian * mp.exp(-1j * w * number(steps.cumulants[1]))


def expanded(steps: Steps, order: int, w: mpf) -> mpc:
    """psi_n(w)."""
    factors = hermite_coefficients(steps.cumulants, order)
    return mp.exp(-number(steps.cumulants[2]) * w * w / 2) * sum(number(q) * (1j * w) ** m for m, q in factors.items())


def poles(steps: Steps, w: mpf) -> mpf:
    t = number(steps.tilt)
    return abs((t + 1j * w) * (1 + t + 1j * w))


@THEOREM
@pytest.mark.parametrize("j", [3, 5, 7])
def test_the_bound_of_the_derivative(steps: Steps, oracle: ModuleType, j: int) -> None:
    """Above |K^(j)(t+iv)| on the cell, by a factor that grows with v; infinite where the transform may vanish."""
    for low, high, worse in (("0", "1/10", 4), ("1/2", "11/20", 3), ("4/5", "9/10", 6)):
        with ctx.workprec(256):
            found = float(bound_derivative(steps.laws[0][1], j, ball(Fraction(low)).union(ball(Fraction(high)))))
        start, end = oracle.real(Fraction(low)), oracle.real(Fraction(high))
        points = [number(steps.tilt) + 1j * v for v in (start, (start + end) / 2, end)]
        sizes = [abs(mpmath.diff(lambda z: mp.log(transform(oracle, z)), point, j)) for point in points]
        assert max(sizes) <= found < worse * max(sizes)
    assert bound_derivative(steps.laws[0][1], j, arb(0).union(arb(40))) == arb.pos_inf()


@THEOREM
@pytest.mark.parametrize(("order", "steps"), [*((n, Fraction(3, 4)) for n in ORDERS), (1, Fraction(0))],
                         indirect=["steps"], ids=[*map(str, ORDERS), "1 untilted"])
def test_cells_cover_what_is_left_out(steps: Steps, oracle: ModuleType, order: int) -> None:
    """The integral of |psi - psi_n| / |poles| by quadrature: below the bound, which is not far above."""
    factors = hermite_coefficients(steps.cumulants, order)
    unit = 1 / mp.sqrt(number(steps.cumulants[2]))

    def integrand(w: mpf) -> mpf:
        return abs(normalised(oracle, steps, w) - expanded(steps, order, w)) / poles(steps, w)

    for reach in (1, 5):
        ends = [ball(Fraction(i, 32) * Fraction(str(mp.nstr(unit, 8)))) for i in range(1, 32 * reach + 1)]
        with ctx.workprec(256):
            found = bound_cells(steps, order, factors, ends)
        true = mpmath.quad(integrand, mpmath.linspace(mpf("1e-9"), number(ends[-1]), 4 * reach), maxdegree=3)
        assert true <= number(found) < (1.5, 5, 8, 20, 45, 100, 250)[order] * true, (reach, number(found) / true)


@THEOREM
def test_modulus_and_rays(steps: Steps, oracle: ModuleType) -> None:
    table = tabulate_moments(three(), [MomentRule(Fraction(1, 4))], 256)
    for w in (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3)):
        size = abs(normalised(oracle, steps, oracle.real(w)))
        assert size <= number(bound_modulus(steps, ball(w), ball(w))) * (1 + mpf("1e-15"))
    near = number(bound_modulus(steps, arb("0.2"), arb("0.2"))) / abs(normalised(oracle, steps, mpf("0.2")))
    assert near < 1.05
    rays = (Ray(Fraction(2), ()), Ray(Fraction(5), ()))
    beyond = number(bound_beyond(table, steps, rays[0]))
    assert all(abs(normalised(oracle, steps, mpf(w))) <= beyond for w in (2, 3, 7, 40))
    true = mpmath.quad(lambda w: abs(normalised(oracle, steps, w)) / poles(steps, w), mpmath.linspace(2, 40, 24),
                       maxdegree=3)
    assert true <= number(bound_rays(table, steps, rays))
    factors = hermite_coefficients(steps.cumulants, 4)
    far = mpmath.quad(lambda w: abs(expanded(steps, 4, w)) / poles(steps, w), mpmath.linspace(0.9, 9, 16), maxdegree=3)
    start = arb("0.9")
    found = bound_poles(steps.tilt, start, start) * bound_expansion_integral(steps.cumulants[2], factors, start)
    assert far <= number(found) < 4 * far


@THEOREM
@pytest.mark.parametrize("power", [0, 1, 2, 5, 12])
@pytest.mark.parametrize("gap", ["-2", "0", "3/2"])
def test_the_series(power: int, gap: str, oracle: ModuleType) -> None:
    """J_l(t) - J_l(1+t) by quadrature of the Fourier integral."""
    tilt, variance, shift = mpf("1.25"), mpf("1.5"), oracle.real(Fraction(gap))

    def integrand(w: mpf) -> mpf:
        z = tilt + 1j * w
        return mp.re((1j * w) ** power * mp.exp(-variance * w * w / 2 + 1j * w * shift) / (z * (1 + z))) / mp.pi

    true = mpmath.quad(integrand, mpmath.linspace(0, 16, 33))
    with ctx.workprec(200):
        steps = Steps(arb("1.25"), arb(0), arb(0), [arb(0), ball(Fraction(gap)), arb("1.5")], [])
        found = enclose_series(steps, arb(0), {0: arb(0), power: arb(1)})
    assert abs(number(found) - true) < mpf("1e-14") * (1 + abs(true)) and found.rad() < arb("1e-30")


@THEOREM
@pytest.mark.parametrize("order", [1, 3])
def test_the_interval_moves_with_what_it_rests_on(composed: Callable[..., ComposedLoss], order: int) -> None:
    """A remainder that is left out, or a wrong third cumulant, excludes the truth."""
    loss, epsilon = composed("remove", "1/100", "2", 3000), Fraction(7, 10)
    tilt, true = Fraction(6), truth(loss, epsilon)
    table = choose_table(loss, float_loss(loss), 6.0, order)
    steps = tilted_steps(table, tilt, order)
    expansion = enclose_expansion(table, steps, choose_witness(table, steps, tilt, order))
    assert holds(expansion.enclose_delta(epsilon)[0], true)
    without = replace(expansion, errors={})
    assert not holds(without.enclose_delta(epsilon)[0], true)
    wrong = replace(expansion, factors={**expansion.factors, 3: expansion.factors[3] * arb("1.2")})
    assert not holds(wrong.enclose_delta(epsilon)[0], true)


def test_the_method_returns_the_interval_of_the_asked_order(composed: Callable[..., ComposedLoss]) -> None:
    loss, epsilon = composed("add", "1/100", "2", 3000, "1/30"), Fraction(1)
    true, widths = truth(loss, epsilon), []
    for order in (1, 3):
        answer = paper_method("saddlepoint", {"order": str(order)}).curve(loss, epsilon, 8, Budget(20)).delta(epsilon)
        bounds, series, _ = ExpansionCurve(loss, order).delta(epsilon)
        assert answer.bounds is not None and holds(answer.bounds, true)
        assert answer.parameters["expansion_order"] == str(order)
        assert (answer.bounds.lower, answer.bounds.upper) == (bounds.lower, bounds.upper)
        assert arb(answer.estimates["uniform"]).overlaps(series + arb(0, 1e-15))
        widths.append(answer.bounds.upper - answer.bounds.lower)
    assert widths[1] < widths[0] / 50


def test_the_narrowest_order_is_taken_where_none_is_asked(composed: Callable[..., ComposedLoss]) -> None:
    loss, epsilon = composed("remove", "1/100", "2", 3000), Fraction(1)
    bounds, _, used = ExpansionCurve(loss).delta(epsilon)
    each = [ExpansionCurve(loss, order).delta(epsilon)[0] for order in ORDERS]
    assert used["expansion_order"] == "6" and holds(bounds, each[0])
    assert float(bounds.upper - bounds.lower) <= 1.001 * min(float(one.upper - one.lower) for one in each)


@THEOREM
@pytest.mark.parametrize("change", [
    {"order": 7}, {"order": -1}, {"tilt": Fraction(-1)}, {"rules": ()}, {"cover": Cover((), ())}], ids=str)
def test_a_witness_that_meets_no_side_condition(change: dict[str, object]) -> None:
    loss, rule = three(), MomentRule(Fraction(1, 4))
    witness = ExpansionWitness(Fraction(1), 2, (rule,), WHOLE, 128)
    assert witness.applies(loss) and not replace(witness, **change).applies(loss)  # type: ignore[arg-type]


@THEOREM
@pytest.mark.parametrize("change", [
    {"ends": ()}, {"ends": (Fraction(2), Fraction(1))}, {"ends": (Fraction(0), Fraction(2))}, {"rays": ()},
    {"rays": (Ray(Fraction(2), ()), Ray(Fraction(1), ()))}, {"rays": (Ray(Fraction(3), ()),)},
    {"rays": (Ray(Fraction(2), (NO_NODES,)),)}], ids=str)
def test_cells_and_rays_leave_no_gap(change: dict[str, object]) -> None:
    assert WHOLE.joins(0) and not replace(WHOLE, **change).joins(0)  # type: ignore[arg-type]
