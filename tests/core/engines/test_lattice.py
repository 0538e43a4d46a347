"""The lattice method: sums on a circle in integers and by frequencies, the bounds beyond, and all by other ways."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from flint import acb, arb, ctx, fmpz_poly

from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.frequencies import (
    bound_by_parts,
    bound_cells,
    bound_kernel,
    enclose_frequencies,
    enclose_kernel,
    enclose_sums,
)
from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import (
    Above,
    Atoms,
    Below,
    Circle,
    LatticeWitness,
    bound_aliases,
    bound_moment,
    compose_infinity,
    multiply,
    put_on_circle,
)
from verified_dp.core.engines.lattice import compose as compose_on_circle
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import compose
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.profile import privacy_profile
from verified_dp.search.deadline import Budget
from verified_dp.search.lattice import plan_lattice
from verified_dp.search.lattice_model import LatticeModel, Progression, model_of
from verified_dp.search.one_direction import OneDirection

STEP, TILT = Fraction(1, 10), Fraction(1, 2)
Masses = dict[int, Fraction]
MASSES: Masses = {-3: Fraction(1, 7), 0: Fraction(3, 7), 2: Fraction(2, 7), 3: Fraction(1, 8)}
OTHER: Masses = {-1: Fraction(1, 3), 1: Fraction(5, 9)}


def witness(period: int = 41, count: int = 0, cover: tuple[tuple[int, int], ...] = (),
            **change: object) -> LatticeWitness:
    grid = LawGrid(-5, ((10, 1),))
    base = LatticeWitness(STEP, TILT, 60, (grid,), period, count, cover, Fraction(2), Fraction(1, 4), 160)
    return replace(base, **change)  # type: ignore[arg-type]


def atoms(masses: dict[int, Fraction]) -> Atoms:
    """Tilted, in balls."""
    return Atoms(list(masses), [ball(p) * (ball(TILT * STEP) * n).exp() for n, p in masses.items()])


def convolved(laws: list[dict[int, Fraction]], counts: list[int]) -> dict[int, Fraction]:
    total = {0: Fraction(1)}
    for law, count in zip(laws, counts, strict=True):
        for _ in range(count):
            new: dict[int, Fraction] = {}
            for (i, p), (j, q) in product(total.items(), law.items()):
                new[i + j] = new.get(i + j, Fraction(0)) + p * q
            total = new
    return total


def direct(masses: dict[int, Fraction], epsilon: Fraction) -> arb:
    """The sum over n h > eps of the mass times 1 - e^{eps - n h}."""
    terms = [ball(p) * (1 - ball(epsilon - n * STEP).exp()) for n, p in masses.items() if n * STEP > epsilon]
    return sum(terms, arb(0))


def aliases(masses: Masses, epsilon: Fraction, w: LatticeWitness) -> arb:
    """The sum of e^{c j X} D(eps + j X) over all j."""
    length = w.period * STEP
    return sum(((ball(TILT * j * length)).exp() * direct(masses, epsilon + j * length)
                for j in range(-2000 // w.period - 2, 30)), arb(0))


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("times", [1, 5, 62, 63, 64, 65, 130, 300])
@pytest.mark.parametrize("bits", [1, 20, 62, 64, 128, 200])
def test_rounded_polynomials_are_exact_quotients(times: int, bits: int) -> None:
    """Also where every weight is shorter than the divisor (there a negative polynomial is not rounded down)."""
    rng = random.Random(times * 1000 + bits)
    weights = [rng.choice((0, 1, 1)) * rng.getrandbits(bits) for _ in range(50)] + [1]
    polynomial = fmpz_poly(weights)
    for side, expected in ((Above, [-(-w >> times) for w in weights]), (Below, [w >> times for w in weights])):
        found = [int(c) for c in side.halve(polynomial, times).coeffs()]
        assert found + [0] * (len(weights) - len(found)) == expected


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("value", ["0", "1/3", "5", "123456789/7", "1/1000000"])
def test_integers_are_on_their_side(value: str) -> None:
    exact = Fraction(value)
    with ctx.workprec(80):
        x = ball(exact)
    assert Above.integer(x) == math.ceil(exact) and Below.integer(x) == math.floor(exact)
    assert Below.integer(arb(-3)) == 0 and Below.integer(arb(0, 5)) == 0


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("tilt", ["1/100", "1/2", "40"])
@pytest.mark.parametrize("period", [3, 101])
def test_weights_stand_for_the_masses(tilt: str, period: int) -> None:
    """Each on its side and next to the mass, also where places fall on each other."""
    w = witness(period, tilt=Fraction(tilt), bits=40)
    with ctx.workprec(w.prec):
        law = Atoms([-7, -3, -2, 0, 4, 9], [ball(Fraction(n * n + 1, 97)) for n in range(6)])
        for side, sign in ((Above, 1), (Below, -1)):
            circle = put_on_circle(side, law, w)
            assert w.bits - 1 <= int(circle.weights(1)).bit_length() <= w.bits + 1
            unit = arb((1, circle.exponent))
            for r in range(period):
                pairs = zip(law.indices, law.weights, strict=True)
                exact = sum((mass for n, mass in pairs if not (n + 7 - r) % period), arb(0))
                gap = sign * (int(circle.weights[r]) * unit - exact)
                assert -arb("1e-40") < gap < 6 * unit


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_products_wrap_and_are_shortened_to_their_side() -> None:
    rng, w = random.Random(5), witness(11, bits=12)
    a, b = (Circle(fmpz_poly([rng.getrandbits(30) for _ in range(11)]), low, -60) for low in (-4, 9))
    exact = [sum(int(a.weights[i]) * int(b.weights[(r - i) % 11]) for i in range(11)) for r in range(11)]
    for side, sign in ((Above, 1), (Below, -1)):
        found = multiply(side, a, b, w)
        assert found.low == 5 and found.weights.length() <= 11
        shift = found.exponent + 120
        for r in range(11):
            gap = sign * ((int(found.weights[r]) << shift) - exact[r])
            assert 0 <= gap < exact[r] // 20


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize(("counts", "period"), [([1, 1], 3), ([5, 1], 9), ([6, 3], 41), ([7, 2], 9), ([5, 1], 501)])
@pytest.mark.parametrize("epsilon", ["-1/5", "1/20", "3/10"])
def test_integers_bracket_the_sum_of_the_aliases(counts: list[int], period: int, epsilon: str) -> None:
    """On a short circle, too; delta is at most the upper sum, and at least the lower one without the aliases."""
    eps, exact = Fraction(epsilon), convolved([MASSES, OTHER], counts)
    for bits, near in ((14, "0.05"), (60, "1e-12")):
        w = witness(period, bits=bits)
        with ctx.workprec(w.prec):
            laws = [atoms(MASSES), atoms(OTHER)]
            high, low = ((-ball(TILT * eps)).exp() * compose_on_circle(side, laws, counts, w).sums(eps, w)[0]
                         for side in (Above, Below))
            true, moments = aliases(exact, eps, w), [bound_moment(laws, counts, x, w) for x in (w.right, w.left)]
            assert low <= true + arb("1e-40") and true <= high + arb("1e-40")
            assert high - low <= arb(near) * (high + arb("1e-30"))
            taken = bound_aliases(*moments, eps, w)
            assert true - direct(exact, eps) <= taken + arb("1e-40") and direct(exact, eps) <= high + arb("1e-40")


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("epsilon", ["-1/5", "0", "37/100"])
@pytest.mark.parametrize("period", [3, 41])
def test_all_frequencies_give_the_sum_of_the_aliases(epsilon: str, period: int) -> None:
    eps, w = Fraction(epsilon), witness(period, period // 2)
    with ctx.workprec(w.prec):
        side = enclose_frequencies([atoms(MASSES), atoms(OTHER)], [3, 2], w)
        found, tail = side.sums(eps, w)
        assert tail == 0 and not side.beyond
        expected = aliases(convolved([MASSES, OTHER], [3, 2]), eps, w)
        assert abs((-ball(TILT * eps)).exp() * found - expected) < arb("1e-35") * (1 + expected)


@pytest.mark.theorem("T222-lattice-on-a-circle", "T03-chernoff", "T04-alias-bounds")
@pytest.mark.parametrize("period", [41, 81, 161])
@pytest.mark.parametrize("left", ["0", "1/4"])
def test_aliases_are_within_their_bound(period: int, left: str) -> None:
    w, eps, exact = witness(period, left=Fraction(left)), Fraction(1, 20), convolved([MASSES], [6])
    with ctx.workprec(w.prec):
        moments = [bound_moment([atoms(MASSES)], [6], x, w) for x in (w.right, w.left)]
        for moment, x in zip(moments, (w.right, w.left), strict=True):
            sharp = sum((ball(p) * ball(x * n * STEP).exp() for n, p in exact.items()), arb(0))
            assert abs(moment - sharp) < arb("1e-20")
        true, bound = aliases(exact, eps, w) - direct(exact, eps), bound_aliases(*moments, eps, w)
        assert 0 < true <= bound and (period < 161 or left == "0" or bound < arb("0.03"))


def spiky(seed: int) -> Atoms:
    """Neighbours, gaps and one heavy atom."""
    rng = random.Random(seed)
    indices = sorted(rng.sample(range(-40, 60), 35) + list(range(100, 140)))
    return Atoms(indices, [arb(rng.randint(1, 40 if n != 110 else 900)) for n in indices])


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("first", "stride", "cells"), [(1, 1, 60), (3, 7, 20), (90, 110, 1), (0, 3, 5)])
def test_cells_are_bounded_as_a_whole(seed: int, first: int, stride: int, cells: int) -> None:
    law, period, fine = spiky(seed), 2001, 16
    with ctx.workprec(128):
        bounds = bound_cells(law, first, stride, cells, period, bound_by_parts(law))
        values = enclose_sums(law.indices, [law.weights], first * fine, 1, cells * stride * fine, period * fine)[0]
        for cell, bound in enumerate(bounds):
            inside = values[cell * stride * fine : (cell + 1) * stride * fine + 1]
            assert len(inside) == stride * fine + 1
            assert all(value.abs_lower() <= bound for value in inside)
        assert bounds[0] <= sum(law.weights, arb(0)) * (1 + arb("1e-15"))


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_cells_near_zero_are_wide_and_tight() -> None:
    """A smooth law: [m, 2.5 m] is bounded by about the value at m; far out summation by parts bounds all the rest."""
    law = Atoms(list(range(-50, 51)), [(-arb(n) * n / 200).exp() for n in range(-50, 51)])
    with ctx.workprec(128):
        total = sum(law.weights, arb(0))
        near = bound_cells(law, 20, 30, 1, 20001, bound_by_parts(law))[0]
        assert near < enclose_sums(law.indices, [law.weights], 20, 1, 0, 20001)[0][0].abs_lower() * arb("1.0001")
        far = bound_cells(law, 3000, 7000, 1, 20001, bound_by_parts(law))[0]
        assert far < total / 10


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("room", ["0", "1/30", "1/10"])
@pytest.mark.parametrize("place", range(0, 50, 7))
def test_kernel_and_its_bound(room: str, place: int) -> None:
    """The kernel is the sum of (1 - e^{-u-nh}) e^{-z(u+nh)}; its bound holds from a frequency on."""
    period = 101
    with ctx.workprec(128):
        h, c, u = ball(STEP), ball(Fraction(3)), ball(Fraction(room))
        z = acb(c, 2 * arb.pi() * place / (period * h))
        terms = [(1 - (-u - n * h).exp()) * (-z * (u + n * h)).exp() for n in range(600)]
        value = enclose_kernel(z, h, u)
        assert (value - sum(terms, acb(0))).abs_upper() < arb("1e-25")
        for before in range(place + 1):
            sine = (arb.pi() * before / period).sin()
            assert value.abs_lower() <= bound_kernel(c, h, u, sine)


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("cover", [((100, 1),), ((10, 4), (6, 10)), ((1, 100),)])
def test_what_is_left_out_is_within_the_tail(cover: tuple[tuple[int, int], ...]) -> None:
    laws, counts, eps = [atoms(MASSES), atoms(OTHER)], [9, 4], Fraction(3, 10)
    whole, part = witness(401, 200), witness(401, 100, cover)
    with ctx.workprec(160):
        exact, _ = enclose_frequencies(laws, counts, whole).sums(eps, whole)
        found, tail = enclose_frequencies(laws, counts, part).sums(eps, part)
        assert 0 < abs(found - exact) <= tail


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_mass_that_is_at_infinity_anyway_is_not_lost() -> None:
    loss = ComposedLoss("symmetric", ((OddsLoss(Fraction(1, 10), Fraction(1, 100), 0), 3),), Fraction(0))
    plan = plan_lattice(LatticeModel(loss), 0.1, 1e-3)
    assert plan.witness is not None
    bounds = evaluate(loss, plan.witness).delta(Fraction(1, 10))
    assert bounds.lower >= 1 - arb("0.99") ** 3 - arb("1e-12") and bounds.budget["truncation"] < arb("1e-4")


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_infinity_masses_compose() -> None:
    masses, counts = [Fraction(1, 10), Fraction(0), Fraction(1, 7)], [3, 5, 2]
    exact = 1 - Fraction(9, 10) ** 3 * Fraction(6, 7) ** 2
    with ctx.workprec(128):
        assert abs(compose_infinity([ball(m) for m in masses], counts) - ball(exact)) < arb("1e-35")


LOSSES = {
    "gaussian": ("remove", ()),
    "laplace": ("symmetric", ((LaplaceLoss(Fraction(1, 20)), 300),)),
    "discrete": ("symmetric", ((DiscreteGaussianLoss(Fraction(400), 2), 100), (LaplaceLoss(Fraction(1, 10)), 20))),
}


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("name", ["sampled", "laplace", "discrete"])
@pytest.mark.parametrize("epsilon", ["1/2", "5/2"])
def test_products_and_frequencies_overlap(composed: Callable[..., ComposedLoss], name: str, epsilon: str) -> None:
    """The same grids: the two ways differ by their own small errors only, and shifted grids are the same."""
    order, parts = LOSSES.get(name, ("remove", ()))
    loss = composed("remove", "1/20", 1, 100) if name == "sampled" else ComposedLoss(order, parts, Fraction(0))
    model, eps = LatticeModel(loss), Fraction(epsilon)
    step = Fraction(1, 200 if name == "discrete" else 400)
    by_products, by_frequencies = (plan_lattice(model, float(eps), 1e-3, step, sparse=way) for way in (False, True))
    assert by_products.witness is not None and by_frequencies.witness is not None
    assert by_products.witness.in_integers and not by_frequencies.witness.in_integers
    first, second = (evaluate(loss, plan.witness).delta(eps) for plan in (by_products, by_frequencies))
    near = first.upper * arb("1e-4")
    assert abs(first.lower - second.lower) < near and abs(first.upper - second.upper) < near
    moved = replace(by_frequencies.witness, grids=tuple(
        replace(grid, shift=Fraction(1, 3)) for grid in by_frequencies.witness.grids))
    third = evaluate(loss, moved).delta(eps)
    assert third.lower <= second.upper and second.lower <= third.upper
    if name != "discrete":
        method = "contour" if name == "sampled" else "closed-form"
        narrow = OneDirection(loss).enclose(eps, 40.0, method, Budget(60)).bounds
        for found in (first, second, third):
            assert found.lower <= narrow.lower and narrow.upper <= found.upper


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("count", [10**3, 10**6, 10**9])
def test_the_cost_does_not_grow_with_the_count(composed: Callable[..., ComposedLoss], count: int) -> None:
    """q sqrt(k) fixed: about as many atoms and frequencies whatever k; the contour's delta lies inside."""
    share = Fraction(3, 10) / {10**3: 32, 10**6: 1000, 10**9: 31623}[count]
    loss = composed("remove", share, 1, count)
    plan = plan_lattice(LatticeModel(loss), 1.0, 1e-3, sparse=True)
    w = plan.witness
    assert w is not None and w.count
    assert sum(grid.size for grid in w.grids) < 8000 and w.count < 100 and sum(cells for cells, _ in w.cover) < 60
    found = evaluate(loss, w).delta(Fraction(1))
    narrow = OneDirection(loss).enclose(Fraction(1), 40.0, "contour", Budget(60)).bounds
    assert found.lower <= narrow.lower and narrow.upper <= found.upper
    assert found.upper - found.lower < arb("2e-3") * found.upper


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_discrete_gaussian_is_exact_on_its_own_grid() -> None:
    """sigma^2 = 100, 100 releases: the grid is that of its atoms, so that nothing but rounding is left."""
    loss = ComposedLoss("symmetric", ((DiscreteGaussianLoss(Fraction(100), 1), 100),), Fraction(0))
    plan = plan_lattice(LatticeModel(loss), 2.0, 1e-6, sparse=True)
    assert plan.witness is not None and plan.witness.count and plan.step == Fraction(1, 100)
    assert abs(plan.witness.grids[0].shift - Fraction(1, 2)) <= Fraction(1, 2**50)
    found = evaluate(loss, plan.witness).delta(Fraction(2))
    assert found.upper - found.lower < arb("2e-6") * found.upper
    exact = discrete_gaussian_delta(100, 2)
    assert found.lower <= exact <= found.upper


def discrete_gaussian_delta(count: int, epsilon: int) -> arb:
    """By the convolution of all integers' masses in balls: the loss of the sum x of all outputs is (k - 2x)/200."""
    with ctx.workprec(160):
        from flint import arb_poly

        weights = [(-arb(n) * n / 200).exp() for n in range(-150, 151)]
        total = sum(weights, arb(0))
        power = arb_poly([w / total for w in weights]) ** count
        losses = ((Fraction(count - 2 * (n - 150 * count), 200), p) for n, p in enumerate(power.coeffs()))
        return sum((p * (1 - ball(epsilon - loss).exp()) for loss, p in losses if loss > epsilon), arb(0)) + arb(
            0, arb("1e-20"))


@pytest.mark.parametrize("change", [
    {"step": Fraction(0)}, {"tilt": Fraction(0)}, {"right": TILT}, {"left": TILT}, {"left": Fraction(-1)},
    {"period": 40}, {"count": 5}, {"cover": ((15, 1), (0, 3))}, {"cover": ((5, -3),)},
    {"cover": ((10, 1), (0, 3))}, {"cover": ((10, 1), (3, 0))}, {"bits": 150}, {"grids": ()},
    {"count": -1, "cover": ((21, 1),)}, {"grids": (LawGrid(1, ((4, 1),)),)},
    {"grids": (LawGrid(-5, ((10, 1),), shift=Fraction(1)),)}])
def test_side_conditions(composed: Callable[..., ComposedLoss], change: dict[str, object]) -> None:
    good = witness(41, 10, ((10, 1),))
    loss = composed("remove", "1/10", 1, 2)
    assert good.applies(loss)
    bad = replace(good, **change)  # type: ignore[arg-type]
    assert not bad.applies(loss)
    with pytest.raises(InvalidInput):
        evaluate(loss, bad)


def test_neither_frequencies_nor_cover(composed: Callable[..., ComposedLoss]) -> None:
    """Products; but a count without the cover of the rest is refused."""
    loss = composed("remove", "1/10", 1, 2)
    assert witness(41).applies(loss) and not witness(41, 5).applies(loss) and not witness(-41).applies(loss)


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("tilt", ["1/10", "1/2", "3", "8"])
@pytest.mark.parametrize("room", ["0", "1/30", "1/10"])
@pytest.mark.parametrize("frequency", [1, 17, 50])
def test_the_bound_of_the_kernel_is_the_sum_of_both_moduli(tilt: str, room: str, frequency: int) -> None:
    """|e^{-zu} / (1 - e^{-zh})| + |e^{-(z+1)u} / (1 - e^{-(z+1)h})| where the sine is that of the frequency."""
    with ctx.workprec(128):
        h, c, u = ball(STEP), ball(Fraction(tilt)), ball(Fraction(room))
        z = acb(c, 2 * arb.pi() * frequency / (101 * h))
        terms = ((-w * u).exp() / (1 - (-w * h).exp()) for w in (z, z + 1))
        exact = sum((abs(term) for term in terms), arb(0))
        bound = bound_kernel(c, h, u, (arb.pi() * frequency / 101).sin())
        assert abs(bound - exact) < exact * arb("1e-30")


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_covers_of_many_cells() -> None:
    """A sampled discrete Gaussian many times: the transform falls off where more cells cover it than a few hundred."""
    steps = compose((PoissonSampled(DiscreteGaussian(5, 1), "0.001"), 10**6))
    model = LatticeModel(privacy_profile(steps, "remove").losses[0])
    plan = plan_lattice(model, 1.0, 0.01, Fraction(1, 500_000))
    assert plan.witness is not None and sum(cells for cells, _ in plan.witness.cover) > 400
    bounds = evaluate(model.loss, plan.witness).delta(Fraction(1))
    assert 0 < bounds.upper - bounds.lower < arb("0.05") * bounds.upper
    gaussian = privacy_profile(compose((PoissonSampled(Gaussian("2.2360679775"), "0.001"), 10**6)),
                               "remove").delta(1, digits=4)
    assert bounds.lower < ball(gaussian.upper.as_fraction()) * arb("1.01")


@pytest.mark.theorem("T26-connect-the-dots", "T222-lattice-on-a-circle")
@pytest.mark.parametrize("sigma_squared", ["1/3", "9", "400"])
def test_masses_of_a_discrete_gaussian_in_the_search(sigma_squared: str) -> None:
    """Their moments are those that the theta function gives; a mesh of the law's profile is put where they are many."""
    law = DiscreteGaussianLoss(Fraction(sigma_squared), 1)
    model = model_of(law, -80.0)
    for tilt in (0.5, 2.0, 6.0):
        total, mean, _ = model.cumulants(tilt)
        assert total == pytest.approx(float(law.enclose_moment(arb(tilt)).log()), rel=1e-9)
        beyond = float(law.enclose_moment(arb(tilt + 1e-4)).log() - law.enclose_moment(arb(tilt - 1e-4)).log())
        assert mean == pytest.approx(beyond / 2e-4, rel=1e-6)
    assert float(model.low) <= model.points[0] + 1e-9 and float(model.high) >= model.points[-1] - 1e-9
    wide = model_of(replace(law, sigma_squared=Fraction(10**6)), -80.0)
    assert isinstance(model, Progression) and not isinstance(wide, Progression)


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_next_to_the_largest_loss_something_is_known() -> None:
    """Three sampled Laplace steps, 4.5e-5 before the last loss: delta is nearly what the three atoms there give."""
    profile = privacy_profile(compose((PoissonSampled(Laplace("1/2", 1), "1/5"), 3)), "remove")
    found = profile.delta("2.4696")
    atom = 0.2 * 0.5 + 0.8 * 0.5 * math.exp(-2)
    near = atom**3 * -math.expm1(2.4696 - 3 * math.log(0.8 + 0.2 * math.exp(2)))
    assert 0.9 * near < found.lower < found.upper < 1.1 * near and found.lower <= near * 1.0002


def solve(loss: ComposedLoss, epsilon: object, width: float = 1e-4) -> tuple[arb, arb, LatticeWitness]:
    run = OneDirection(loss).enclose_by("lattice", Fraction(epsilon), -math.log2(width), Budget(20.0))
    assert run is not None and isinstance(run.witness, LatticeWitness)
    return run.bounds.lower, run.bounds.upper, run.witness


CASES = [("remove", "1/100", "1", 100, "0", "1/2"), ("add", "1/20", "2", 50, "0", "1/4"),
         ("symmetric", "1/10", "1", 20, "1/4", "1"), ("remove", "1/3", "3/2", 7, "1/100", "0"),
         ("add", "1/2", "1", 3, "1/9", "1/2"),
         pytest.param("remove", "1/1000", "4/5", 300, "0", "1", marks=pytest.mark.long),
         ("symmetric", "1/50", "3", 400, "0", "1/10"), ("remove", "1/10", "2", 1, "1/2", "2"),
         ("add", "1/100", "1", 64, "0", "1/5"), ("remove", "1/20", "1", 30, "0", "5")]


@pytest.mark.theorem("T222-lattice-on-a-circle", "T26-connect-the-dots", "T27-convex-minorant")
@pytest.mark.parametrize(("order", "q", "s", "count", "shift", "eps"), CASES)
def test_lattice_and_contour_overlap(composed: Callable[..., ComposedLoss], order: str, q: str, s: str, count: int,
                                     shift: str, eps: str) -> None:
    compare(composed(order, q, s, count, shift), eps)


def compare(loss: ComposedLoss, eps: object) -> None:
    """The contour's narrow enclosure lies inside the lattice's, whose width is about what was asked."""
    narrow = OneDirection(loss).enclose(Fraction(eps), 40.0, "contour", Budget(60)).bounds
    lower, upper, _ = solve(loss, eps, 1e-3)
    assert lower <= narrow.upper and narrow.lower <= upper
    assert upper - lower <= arb("0.0011") * upper


def random_case(rng: random.Random) -> tuple[str, Fraction, Fraction, int, Fraction, Fraction]:
    count = int(10 ** rng.uniform(0, 3))
    q, s = Fraction(round(10 ** rng.uniform(-3, -0.3), 4)).limit_denominator(10**4), Fraction(rng.randint(6, 40), 10)
    shift = rng.choice((Fraction(0), Fraction(rng.randint(1, 50), 100)))
    spread = float(q) * math.sqrt(count * math.expm1(1 / float(s) ** 2)) + math.sqrt(shift)
    eps = Fraction(spread * rng.uniform(0, 4)).limit_denominator(1000)
    order = rng.choice(("remove", "add", "symmetric"))
    if order == "add" and not shift:  # close to the largest loss the lattice encloses delta, but not sharply
        eps = min(eps, Fraction(-0.8 * count * math.log1p(-float(q))).limit_denominator(1000))
    return order, q, s, count, shift, eps


@pytest.mark.long
@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("seed", range(100))
def test_lattice_and_contour_overlap_on_random_losses(composed: Callable[..., ComposedLoss], seed: int) -> None:
    order, q, s, count, shift, eps = random_case(random.Random(seed))
    loss = composed(order, q, s, count, shift)
    if OneDirection(loss).log_estimate(eps) > -500:
        narrow = OneDirection(loss).enclose(eps, 30.0, "contour", Budget(60)).bounds
        lower, upper, _ = solve(loss, eps, 1e-3)
        assert lower <= narrow.upper and narrow.lower <= upper
        assert upper - lower <= arb("0.0011") * upper


@pytest.mark.theorem("T27-convex-minorant")
def test_gap_shrinks_like_the_squared_step(composed: Callable[..., ComposedLoss]) -> None:
    loss = composed("remove", "1/50", 1, 100)
    model, widths = LatticeModel(loss), []
    for step in (Fraction(1, 1000), Fraction(1, 2000), Fraction(1, 4000)):
        plan = plan_lattice(model, 0.5, 1e-9, step)
        assert plan.witness is not None
        bounds = evaluate(loss, plan.witness).delta(Fraction(1, 2))
        widths.append(float((bounds.upper - bounds.lower) / bounds.upper))
    assert 3 < widths[0] / widths[1] < 5.5 and 3 < widths[1] / widths[2] < 5.5


@pytest.mark.theorem("T222-lattice-on-a-circle")
def test_tiny_delta_keeps_its_relative_accuracy(composed: Callable[..., ComposedLoss]) -> None:
    """One Gaussian of mu = 1 at eps = 30: delta is about 1e-193."""
    loss = composed("remove", "1/2", 1, 0, 1)
    lower, upper, _ = solve(loss, 30, 1e-2)
    exact = evaluate(loss, ClosedFormWitness(900)).delta(Fraction(30))
    assert lower <= exact.upper and exact.lower <= upper
    assert upper < arb("1e-150") and upper - lower <= arb("0.011") * upper


@pytest.mark.theorem("T222-lattice-on-a-circle")
@pytest.mark.parametrize("shorter", [2, 5, 50])
def test_short_circles_only_cost_width(composed: Callable[..., ComposedLoss], shorter: int) -> None:
    loss = composed("remove", "1/10", 1, 20)
    plan = plan_lattice(LatticeModel(loss), 0.5, 1e-3, sparse=False)
    assert plan.witness is not None
    short = replace(plan.witness, period=plan.witness.period // shorter | 1)
    bounds, good = (evaluate(loss, one).delta(Fraction(1, 2)) for one in (short, plan.witness))
    narrow = OneDirection(loss).enclose(Fraction(1, 2), 40.0, "contour", Budget(60)).bounds
    assert bounds.lower <= narrow.lower and narrow.upper <= bounds.upper
    assert bounds.upper - bounds.lower > 2 * (good.upper - good.lower)
