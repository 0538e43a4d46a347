"""Lattice laws at sparse frequencies: the inversion on a circle, the bounds beyond, and all of it by other ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import LatticeWitness
from verified_dp.core.engines.sparse import (
    Atoms,
    SparseWitness,
    _evaluate_side,
    bound_by_parts,
    bound_cells,
    bound_kernel,
    enclose_kernel,
    enclose_side,
    enclose_sums,
)
from verified_dp.core.families.discrete.discrete_gaussian import DiscreteGaussianLoss
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian
from verified_dp.core.families.laplace.laplace import LaplaceLoss
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
MASSES = {-3: Fraction(1, 7), 0: Fraction(3, 7), 2: Fraction(2, 7), 3: Fraction(1, 8)}
OTHER = {-1: Fraction(1, 3), 1: Fraction(5, 9)}


def witness(period: int, count: int, cover: tuple[tuple[int, int], ...] = (), **change: object) -> SparseWitness:
    grid = LawGrid(-5, ((10, 1),))
    base = SparseWitness(STEP, TILT, 60, (grid,), period, count, cover, Fraction(2), Fraction(1, 4), 160)
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


@pytest.mark.theorem("T77-lattice-inversion")
@pytest.mark.parametrize("epsilon", ["-1/5", "0", "1/20", "1/10", "37/100", "3"])
@pytest.mark.parametrize("period", [3, 9, 41, 501])
def test_all_frequencies_give_the_sum_of_the_aliases(epsilon: str, period: int) -> None:
    """On a short circle, too, where the aliases are as large as delta itself."""
    eps, w = Fraction(epsilon), witness(period, period // 2)
    exact = convolved([MASSES, OTHER], [3, 2])
    with ctx.workprec(w.prec):
        side = _evaluate_side([atoms(MASSES), atoms(OTHER)], [3, 2], w, lambda: None)
        assert not side.beyond
        length = period * STEP
        expected = sum(((ball(TILT * j * length)).exp() * direct(exact, eps + j * length)
                        for j in range(-2000 // period - 2, 30)), arb(0))
        found = enclose_side(side, eps, w)
        total = found.upper  # no tail: the upper end is the sum itself
        assert abs(total - expected.min(arb(1))) < arb("1e-40") + expected * arb("1e-12")
        assert found.lower <= direct(exact, eps) <= found.upper + arb("1e-40")


@pytest.mark.theorem("T79-sparse-delta", "T04-alias-bounds")
@pytest.mark.parametrize("period", [41, 81, 161])
def test_aliases_are_within_their_bound(period: int) -> None:
    """What the sum has too much is at most what is taken off, and not much less for a long circle."""
    w, eps = witness(period, period // 2), Fraction(1, 20)
    exact = direct(convolved([MASSES], [6]), eps)
    with ctx.workprec(w.prec):
        side = _evaluate_side([atoms(MASSES)], [6], w, lambda: None)
        found = enclose_side(side, eps, w)
        assert exact <= found.upper and found.upper - exact <= found.budget["aliasing"]
        assert found.lower <= exact
        assert period < 161 or found.upper - found.lower < arb("0.03")


def spiky(seed: int) -> Atoms:
    """Neighbours, gaps and one heavy atom."""
    rng = random.Random(seed)
    indices = sorted(rng.sample(range(-40, 60), 35) + list(range(100, 140)))
    return Atoms(indices, [arb(rng.randint(1, 40 if n != 110 else 900)) for n in indices])


@pytest.mark.theorem("T78-lattice-frequency-tail")
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


@pytest.mark.theorem("T78-lattice-frequency-tail")
def test_cells_near_zero_are_wide_and_tight() -> None:
    """A smooth law: [m, 2.5 m] is bounded by about the value at m; far out summation by parts bounds all the rest."""
    law = Atoms(list(range(-50, 51)), [(-arb(n) * n / 200).exp() for n in range(-50, 51)])
    with ctx.workprec(128):
        total = sum(law.weights, arb(0))
        near = bound_cells(law, 20, 30, 1, 20001, bound_by_parts(law))[0]
        assert near < enclose_sums(law.indices, [law.weights], 20, 1, 0, 20001)[0][0].abs_lower() * arb("1.0001")
        far = bound_cells(law, 3000, 7000, 1, 20001, bound_by_parts(law))[0]
        assert far < total / 10


@pytest.mark.theorem("T78-lattice-frequency-tail", "T77-lattice-inversion")
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


@pytest.mark.theorem("T78-lattice-frequency-tail")
@pytest.mark.parametrize("cover", [((100, 1),), ((10, 4), (6, 10)), ((1, 100),)])
def test_what_is_left_out_is_within_the_tail(cover: tuple[tuple[int, int], ...]) -> None:
    laws, counts, eps = [atoms(MASSES), atoms(OTHER)], [9, 4], Fraction(3, 10)
    with ctx.workprec(160):
        whole = witness(401, 200)
        exact = enclose_side(_evaluate_side(laws, counts, whole, lambda: None), eps, whole)
        part = witness(401, 100, cover)
        found = enclose_side(_evaluate_side(laws, counts, part, lambda: None), eps, part)
        tail = found.budget["frequency_tail"]
        assert abs((found.upper - tail) - exact.upper) <= tail and found.lower <= exact.upper <= found.upper
        assert found.lower <= direct(convolved([MASSES, OTHER], counts), eps) <= found.upper


LOSSES = {
    "gaussian": ("remove", ()),
    "laplace": ("symmetric", ((LaplaceLoss(Fraction(1, 20)), 300),)),
    "discrete": ("symmetric", ((DiscreteGaussianLoss(Fraction(400), 2), 100), (LaplaceLoss(Fraction(1, 10)), 20))),
}


@pytest.mark.theorem("T79-sparse-delta", "T31-lattice-delta")
@pytest.mark.parametrize("name", ["sampled", "laplace", "discrete"])
@pytest.mark.parametrize("epsilon", ["1/2", "5/2"])
def test_products_and_frequencies_overlap(composed: Callable[..., ComposedLoss], name: str, epsilon: str) -> None:
    """The same grids: the two ways differ by their own small errors only, and shifted grids are the same."""
    order, parts = LOSSES.get(name, ("remove", ()))
    loss = composed("remove", "1/20", 1, 100) if name == "sampled" else ComposedLoss(order, parts, Fraction(0))
    model, eps = LatticeModel(loss), Fraction(epsilon)
    step = Fraction(1, 200 if name == "discrete" else 400)
    by_products, by_frequencies = (plan_lattice(model, float(eps), 1e-3, step, sparse=way) for way in (False, True))
    assert isinstance(by_products.witness, LatticeWitness) and isinstance(by_frequencies.witness, SparseWitness)
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


@pytest.mark.theorem("T79-sparse-delta")
@pytest.mark.parametrize("count", [10**3, 10**6, 10**9])
def test_the_cost_does_not_grow_with_the_count(composed: Callable[..., ComposedLoss], count: int) -> None:
    """q sqrt(k) fixed: about as many atoms and frequencies whatever k; the contour's delta lies inside."""
    share = Fraction(3, 10) / {10**3: 32, 10**6: 1000, 10**9: 31623}[count]
    loss = composed("remove", share, 1, count)
    plan = plan_lattice(LatticeModel(loss), 1.0, 1e-3, sparse=True)
    w = plan.witness
    assert isinstance(w, SparseWitness)
    assert sum(grid.size for grid in w.grids) < 8000 and w.count < 100 and sum(cells for cells, _ in w.cover) < 60
    found = evaluate(loss, w).delta(Fraction(1))
    narrow = OneDirection(loss).enclose(Fraction(1), 40.0, "contour", Budget(60)).bounds
    assert found.lower <= narrow.lower and narrow.upper <= found.upper
    assert found.upper - found.lower < arb("2e-3") * found.upper


@pytest.mark.theorem("T79-sparse-delta")
def test_discrete_gaussian_is_exact_on_its_own_grid() -> None:
    """sigma^2 = 100, 100 releases: the grid is that of its atoms, so that nothing but rounding is left."""
    loss = ComposedLoss("symmetric", ((DiscreteGaussianLoss(Fraction(100), 1), 100),), Fraction(0))
    plan = plan_lattice(LatticeModel(loss), 2.0, 1e-6, sparse=True)
    assert isinstance(plan.witness, SparseWitness) and plan.step == Fraction(1, 100)
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


@pytest.mark.theorem("T78-lattice-frequency-tail")
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


@pytest.mark.theorem("T79-sparse-delta")
def test_covers_of_many_cells() -> None:
    """A sampled discrete Gaussian many times: the transform falls off where more cells cover it than a few hundred."""
    steps = compose((PoissonSampled(DiscreteGaussian(5, 1), "0.001"), 10**6))
    model = LatticeModel(privacy_profile(steps, "remove").losses[0])
    plan = plan_lattice(model, 1.0, 0.01, Fraction(1, 500_000))
    assert isinstance(plan.witness, SparseWitness) and sum(cells for cells, _ in plan.witness.cover) > 400
    bounds = evaluate(model.loss, plan.witness).delta(Fraction(1))
    assert 0 < bounds.upper - bounds.lower < arb("0.05") * bounds.upper
    gaussian = privacy_profile(compose((PoissonSampled(Gaussian("2.2360679775"), "0.001"), 10**6)),
                               "remove").delta(1, digits=4)
    assert bounds.lower < ball(gaussian.upper.as_fraction()) * arb("1.01")


@pytest.mark.theorem("T26-connect-the-dots", "T31-lattice-delta")
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
