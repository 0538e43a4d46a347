"""The parts of the PRV accountant's proof, each against exact sums, quadrature or a case that needs its constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import comb

import mpmath
import pytest
from flint import arb, ctx

from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.law import Law
from verified_dp.papers.prv.bounds import (
    Profile,
    PRVWitness,
    Rounding,
    approximate_by_prv,
    bound_by_hoeffding,
    bound_by_transform,
    bound_one_sided,
    bound_two_sided,
    bound_two_sided_tail,
    certify_domain,
    discretise,
    enclose_by_coupling,
    evaluate_prv,
)
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection

Composed = Callable[..., ComposedLoss]
H = Fraction(1, 8)


def finite(*masses: tuple[object, object], order: str = "remove") -> FiniteLoss:
    return FiniteLoss(tuple((Fraction(str(p)), Fraction(str(q))) for p, q in masses), order)


def three_points() -> FiniteLoss:
    """Three losses at odd places."""
    return finite(("1/2", "3/10"), ("3/10", "1/2"), ("1/5", "1/5"))


def witness(**changes: object) -> PRVWitness:
    """Of one law, 64 points of 1/8."""
    plain = PRVWitness(Fraction(4), 64, ((-31, 31),), 1, Fraction(1, 4), "hoeffding", Fraction(20), Fraction(0),
                       Fraction(3), Fraction(3), 200, 120)
    return replace(plain, **changes)  # type: ignore[arg-type]


def pieces(law: Law, step: Fraction, parts: int) -> list[tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf, int]]:
    """(mass, loss, u, part of the cell) of every finite atom of a finite law."""
    found = []
    for p, q in law.masses:  # type: ignore[attr-defined]
        if p and q:
            loss = mpmath.log(mpmath.mpf(p.numerator) / p.denominator / (mpmath.mpf(q.numerator) / q.denominator))
            cell = mpmath.ceil(loss / step - mpmath.mpf(1) / 2)
            u = loss - cell * step
            part = int(mpmath.ceil((u / step + 0.5) * parts)) - 1
            found.append((mpmath.mpf(p.numerator) / p.denominator, loss, u, part))
    return found


def near(law: Law, parts: int = 1, step: Fraction = H) -> Rounding:
    with ctx.workprec(200):
        return discretise(law, step, -31, 31, parts)


@pytest.mark.theorem("T87-mean-of-cells")
@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("law", [
    three_points(), finite(("1/2", "1/3"), ("1/3", "1/2"), ("1/6", "1/6")),
    finite(("1/10", 0), ("2/5", "1/2"), ("1/2", "1/2")), finite(("9/10", "1/10"), ("1/10", "9/10"))])
def test_means_of_finite_laws(law: FiniteLoss, parts: int) -> None:
    """The mean of what rounding changed lies in [shift h, shift h + bias]; it is above the part without the excess."""
    with mpmath.workdps(40):
        atoms = pieces(law, H, parts)
        mean = sum(p * u for p, _, u, _ in atoms) / sum(p for p, _, _, _ in atoms)
        found = near(law, parts)
        low = mpmath.mpf(found.shift.numerator) / found.shift.denominator * mpmath.mpf(1) / 8
        assert low <= mean <= low + mpmath.mpf(found.bias.str(30, radius=False)) * (1 + mpmath.mpf(10) ** -25)
        assert found.bias < arb("0.002") / parts**2 and found.outside < arb("1e-50")
        for n, (mass, moment) in enumerate(found.positions):
            for ball_, true in ((mass, sum(p for p, _, _, m in atoms if m == n)),
                                (moment, sum(p * u for p, _, u, m in atoms if m == n))):
                with ctx.workprec(200):
                    assert ball_.overlaps(arb(mpmath.nstr(true, 35), "1e-33"))


@pytest.mark.theorem("T87-mean-of-cells")
def test_the_mean_needs_its_excess() -> None:
    """Atoms at both ends of a cell: the mean is above p - q e^c by nearly all of e^g - 1 - g."""
    with mpmath.workdps(40), ctx.workprec(200):
        law = finite(("1063/2063", "1000/2063"), ("1000/2063", "1063/2063"))
        found = near(law)
        atoms = pieces(law, H, 1)
        mean = sum(p * u for p, _, u, _ in atoms)
        left = mpmath.mpf(found.shift.numerator) / found.shift.denominator / 8
        assert mean - left > 0.9 * mpmath.mpf(found.bias.str(30, radius=False)) > 0


@pytest.mark.theorem("T87-mean-of-cells")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_mean_of_a_sampled_gaussian(order: str) -> None:
    """Against quadrature of u over the whole line."""
    q, s, step = mpmath.mpf(1) / 10, mpmath.mpf(1), mpmath.mpf(1) / 8
    with mpmath.workdps(25):
        def loss(t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(1 - q + q * mpmath.exp((2 * t - 1) / (2 * s * s))) * (1 if order == "remove" else -1)

        def density(t: mpmath.mpf) -> mpmath.mpf:
            plain = mpmath.npdf(t, 0, s)
            return plain if order == "add" else (1 - q) * plain + q * mpmath.npdf(t, 1, s)

        cuts = sorted(t for i in range(-40, 41) for t in _places((i + mpmath.mpf(1) / 2) * step, q, s, order))
        ends = [mpmath.mpf(-12), *cuts, mpmath.mpf(13)]
        mean = mpmath.mpf(0)
        for low, high in pairwise(ends):
            cell = mpmath.nint(loss((low + high) / 2) / step)
            mean += mpmath.quad(lambda t, c=cell: density(t) * (loss(t) - c * step), [low, high])
        law = SampledGaussianLoss(Fraction(1, 10), Fraction(1), order)
        with ctx.workprec(200):
            found = discretise(law, H, -60, 60, 2)
        left = mpmath.mpf(found.shift.numerator) / found.shift.denominator / 8
        slack = mpmath.mpf(10) ** -8  # of the quadrature and the ends of the line
        assert left - slack <= mean <= left + mpmath.mpf(found.bias.str(20, radius=False)) + slack


def _places(x: mpmath.mpf, q: mpmath.mpf, s: mpmath.mpf, order: str) -> list[mpmath.mpf]:
    """Where the loss is x."""
    odds = (mpmath.exp(x if order == "remove" else -x) - 1 + q) / q
    return [s * s * mpmath.log(odds) + mpmath.mpf(1) / 2] if odds > 0 and abs(s * s * mpmath.log(odds)) < 11 else []


def coin() -> Rounding:
    """Rounding errors +-h/2 with even chances: the worst for Hoeffding's inequality."""
    with ctx.workprec(200):
        half = ball(H / 2)
        return Rounding([arb(1)], [(arb("0.5"), -half / 2), (arb("0.5"), half / 2)], arb(0), Fraction(0), arb(0))


@pytest.mark.theorem("T88-coupling")
def test_hoeffding_on_coins() -> None:
    """k fair signs times h/2: the exact tail is below e^{-2 d^2/(k h^2)}; with 8 for 2 (half the width) it is not."""
    count = 40
    for excess in (4, 10, 20):
        tail = Fraction(sum(comb(count, j) for j in range(count) if 2 * j - count > excess), 2**count)
        asked = witness(distance=excess * H / 2)
        with ctx.workprec(200):
            bound = bound_by_hoeffding([coin()], [count], asked)
            assert ball(tail) <= bound
            assert excess == 4 or not ball(tail) <= bound**4
            published, single = bound_two_sided([coin()], [count], asked), bound_one_sided([coin()], [count], asked)
            assert published[0] <= 2 * bound * arb("1.000001") and single == (bound, bound)


@pytest.mark.theorem("T88-coupling")
def test_a_bias_is_taken_off_the_distance() -> None:
    """Means off by b each: the sum of 40 may exceed d with the chance of exceeding d - 40 b."""
    with ctx.workprec(200):
        shifted = replace(coin(), bias=ball(H / 80))
        found = bound_by_hoeffding([shifted], [40], witness(distance=10 * H))
        assert abs(found / (-2 * ball(Fraction(19, 2)) ** 2 / 40).exp() - 1) < arb("1e-50")
        assert bound_by_hoeffding([shifted], [40], witness(distance=H / 2)) == 1


@pytest.mark.theorem("T89-rounding-transform")
@pytest.mark.parametrize("law", [three_points(), finite(("1/2", "1/3"), ("1/3", "1/2"), ("1/6", "1/6"))])
def test_transform_of_rounding_errors(law: FiniteLoss) -> None:
    """Exact enumeration of 6 steps: P(sum of errors > d) and < -d are below the bounds, at several rates."""
    with mpmath.workdps(40):
        atoms = pieces(law, H, 8)
        found = near(law, 8)
        shift = mpmath.mpf(found.shift.numerator) / found.shift.denominator / 8
        for distance, rate in product((Fraction(1, 16), Fraction(1, 8), Fraction(1, 5)), (5, 30, 80)):
            asked = witness(distance=distance, rate=Fraction(rate), parts=8, coupling="mgf")
            up = down = mpmath.mpf(0)
            for choice in product(atoms, repeat=6):
                total = sum(u - shift for _, _, u, _ in choice)
                mass = mpmath.fprod(p for p, _, _, _ in choice)
                up += mass if total > mpmath.mpf(distance.numerator) / distance.denominator else 0
                down += mass if -total > mpmath.mpf(distance.numerator) / distance.denominator else 0
            with ctx.workprec(200):
                bounds = bound_by_transform([found], [6], asked)
                exact = [sum(p * mpmath.exp(sign * rate * (u - shift)) for p, _, u, _ in atoms) ** 6
                         * mpmath.exp(-rate * mpmath.mpf(distance.numerator) / distance.denominator)
                         for sign in (1, -1)]
            for bound, tail, chernoff in zip(bounds, (up, down), exact, strict=True):
                value = mpmath.mpf(bound.str(30, radius=False)) * (1 + mpmath.mpf(10) ** -25)
                assert value >= tail and value >= min(chernoff, 1) * (1 - mpmath.mpf(10) ** -25)
                assert value <= chernoff * mpmath.exp(6 * (rate**2 + rate) / (8 * mpmath.mpf(64) ** 2)) * 1.001


@pytest.mark.theorem("T90-two-sided-tail")
def test_two_sided_tail_needs_both_orders() -> None:
    """q = .2, s = .5, the add order at eps = .2, t = .5: P = 0.0286; the algorithm's delta, both orders', gives
    0.423, as Lemma 5.4 is meant; one order's delta alone would give 0.0237.
    """
    law = SampledGaussianLoss(Fraction(1, 5), Fraction(1, 2), "add")
    epsilon, beyond = Fraction(1, 5), Fraction(1, 2)
    with ctx.workprec(128):
        forward, backward = (one.enclose_hockey_stick(ball(epsilon)) for one in (law, law.in_order("remove")))
        outside = law.enclose_tails(ball(epsilon + beyond))[0] + 1 - law.enclose_tails(-ball(epsilon + beyond))[0]
        factor = (1 + (-ball(epsilon + beyond)).exp()) / (1 - (-ball(beyond)).exp())
        alone, meant = forward * factor, forward.max(backward) * factor
        shown = [number.str(3, radius=False) for number in (outside, forward, backward, alone, meant)]
        assert shown == ["0.0286", "0.00623", "0.111", "0.0237", "0.423"] and backward.str(4, radius=False) == "0.1112"
        assert alone < outside < meant
        assert outside <= bound_two_sided_tail(Profile(epsilon, forward, backward), ball(beyond))


@pytest.mark.theorem("T90-two-sided-tail")
@pytest.mark.parametrize("masses", [(("9/10", "1/10"), ("1/10", "9/10")), (("1/2", "1/4"), ("1/2", "3/4")),
                                    (("1/5", "4/5"), ("4/5", "1/5")), (("1/10", 0), ("9/10", 1))])
def test_two_sided_tail_of_finite_laws(masses: tuple[tuple[str, str], ...]) -> None:
    law = finite(*masses)
    offsets = (Fraction(1, 100), Fraction(1, 2), Fraction(2))
    for epsilon, beyond in product((Fraction(0), Fraction(1, 2), Fraction(3, 2)), offsets):
        with ctx.workprec(128), mpmath.workdps(30):
            forward, backward = (one.enclose_hockey_stick(ball(epsilon)) for one in (law, law.in_order("add")))
            bound = bound_two_sided_tail(Profile(epsilon, forward, backward), ball(beyond))
            outside = sum(p for p, loss, _, _ in pieces(law, H, 1) if abs(loss) >= float(epsilon + beyond))
            assert mpmath.mpf(bound.str(20, radius=False)) >= outside * (1 - mpmath.mpf(10) ** -15)


@cache
def exact_delta(law: FiniteLoss, count: int, epsilon: Fraction) -> mpmath.mpf:
    """delta of `count` steps by enumeration."""
    total = mpmath.mpf(0)
    for choice in product(law.masses, repeat=count):
        p, q = Fraction(1), Fraction(1)
        for one, other in choice:
            p, q = p * one, q * other
        alpha = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        total += max(mpmath.mpf(p.numerator) / p.denominator - alpha * q.numerator / q.denominator, 0)
    return total


INFINITE = finite(("1/10", 0), ("2/5", "1/2"), ("1/2", "1/2"))


@pytest.mark.theorem("T91-prv-interval")
@pytest.mark.parametrize("coupling", ["hoeffding", "one-sided", "mgf"])
@pytest.mark.parametrize("law", [three_points(), INFINITE, finite(("9/10", "1/10"), ("1/10", "9/10"))])
@pytest.mark.parametrize("tilt", [0, 2])
def test_the_interval_contains_exact_deltas(law: FiniteLoss, coupling: str, tilt: int) -> None:
    """Five steps by enumeration, in a window that is wide enough and in one that is far too short."""
    loss = ComposedLoss(law.order, ((law, 5),), Fraction(0))
    for points, distance in product((16, 64, 256), (Fraction(1, 16), Fraction(1, 4), Fraction(1, 2))):
        step = Fraction(1, 32)
        asked = witness(half_length=points * step / 2, points=points, distance=distance, coupling=coupling,
                        ranges=((-80, 80),), parts=2, tilt=Fraction(tilt), rate=Fraction(40))
        values = evaluate_prv(loss, asked)
        for epsilon in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)):
            bounds = enclose_by_coupling(values, epsilon)
            with mpmath.workdps(30), ctx.workprec(120):
                truth = arb(mpmath.nstr(exact_delta(law, 5, epsilon), 25))
                assert bounds.lower <= truth + arb("1e-20") and truth <= bounds.upper + arb("1e-20")
                assert bounds.upper - bounds.lower <= sum(bounds.budget.values(), arb("1e-20"))


@pytest.mark.theorem("T91-prv-interval")
def test_what_wraps_and_what_is_cut_must_be_counted(composed: Composed) -> None:
    """In a window of half of the needed length, and with ranges that lose mass, the sums alone exclude the truth."""
    loss = composed("remove", "1/10", "1", 50)
    epsilon = Fraction(2)
    truth = OneDirection(loss).enclose(epsilon, 40, "auto", Budget(30)).bounds
    asked = witness(half_length=Fraction(4), points=4096, ranges=((-2000, 2000),), distance=Fraction(1, 16), parts=1)
    short = replace(asked, half_length=Fraction(5, 2), points=2560, ranges=((-1279, 1279),))
    cut = replace(asked, ranges=((-2000, 700),))
    for one, source in ((short, "wrap"), (cut, "truncation")):
        values = evaluate_prv(loss, one)
        bounds, sum_alone = enclose_by_coupling(values, epsilon), approximate_by_prv(values, epsilon)
        assert bounds.lower <= truth.lower and truth.upper <= bounds.upper
        assert abs(sum_alone - truth.upper) > (truth.upper * arb("0.01"))
        assert bounds.budget[source] > abs(sum_alone - truth.upper) / 2


@pytest.mark.theorem("T91-prv-interval", "T88-coupling")
def test_no_narrower_than_the_theorem_allows(composed: Composed) -> None:
    """The width is at least delta~(eps - d) - delta~(eps + d) and both slips, here as published (log(2/eta))."""
    loss = composed("remove", "1/10", "1", 50)
    asked = witness(half_length=Fraction(8), points=1024, ranges=((-400, 400),), distance=Fraction(1, 4), parts=1)
    values = evaluate_prv(loss, asked)
    for epsilon in (Fraction(1), Fraction(2), Fraction(3)):
        bounds = enclose_by_coupling(values, epsilon)
        with ctx.workprec(120):
            at = [approximate_by_prv(values, epsilon + sign * asked.distance) for sign in (-1, 1)]
            slip = 2 * (-2 * ball(asked.distance) ** 2 / (50 * ball(asked.step) ** 2)).exp()
            assert bounds.upper - bounds.lower >= at[0] - at[1] + 2 * slip - arb("1e-25")


@pytest.mark.theorem("T92-choice-of-mesh")
def test_the_domain_is_checked_in_both_orders() -> None:
    """Condition (7) fails where the swapped order alone breaks it, or the composed delta does."""
    law = SampledGaussianLoss(Fraction(1, 10), Fraction(1), "add")
    loss = ComposedLoss("add", ((law, 10),), Fraction(0))
    with ctx.workprec(128):
        largest = -10 * (1 - ball(Fraction(1, 10))).log()  # the add order loses no more
        beyond = Fraction(3, 2)
        assert largest < ball(beyond) and law.enclose_hockey_stick(ball(beyond)).is_zero()
        stick = law.in_order("remove").enclose_hockey_stick(ball(beyond))
        small, large = Fraction("0.0001"), Fraction(1, 5)
        assert ball(small) < 80 * stick < ball(large)
        nothing, something = arb(0), arb("0.06")
        assert not certify_domain(loss, beyond, small, Profile(beyond, nothing, nothing))
        assert certify_domain(loss, beyond, large, Profile(beyond, nothing, nothing))
        assert not certify_domain(loss, beyond, large, Profile(beyond, something, nothing))
        assert not certify_domain(loss, beyond, large, Profile(beyond, nothing, something))


def test_wrong_witnesses_are_refused(composed: Composed) -> None:
    loss = composed("remove", "1/10", "1", 5)
    for wrong in ({"ranges": ()}, {"ranges": ((0, 5),)}, {"parts": 0}, {"distance": Fraction(0)}, {"rate": Fraction(0)},
                  {"coupling": "none"}, {"points": 63}, {"half_length": Fraction(0)}, {"tilt": Fraction(4)}):
        with pytest.raises(InvalidInput):
            evaluate_prv(loss, witness(**wrong))
