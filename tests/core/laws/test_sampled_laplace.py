"""Laplace noise and bounded ranges on a Poisson sample: transform, its rule and its bound far out (T61, T62)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.lines import lines
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.mechanism import Exponential, Laplace
from verified_dp.core.families.laplace.sampled_laplace import SampledLaplaceLoss, _inner_nodes, _layers, _sinc_beyond
from verified_dp.core.families.sampling.mechanism import PoissonSampled
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Composition, Relation
from verified_dp.core.kernel.losses import privacy_losses
from verified_dp.search.answer import Answer, width_bits
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection

F = Fraction
BASES = [(LaplaceLoss(F(1)), F(1, 2)), (LaplaceLoss(F(2)), F(1, 100)), (BoundedRangeLoss(F(3)), F(1, 10)),
         (LaplaceLoss(F(9, 2)), F(9, 10)), (LaplaceLoss(F(1, 100)), F(1, 10**12))]
LAWS = [SampledLaplaceLoss(base, q, order) for base, q in BASES for order in ("remove", "add")]
laws = pytest.mark.parametrize("law", LAWS, ids=repr)


def contains(value: acb, exact: mpmath.mpc, slack: float) -> bool:
    """Whether the enclosure holds the oracle's value, which is right up to `slack`."""
    parts = zip((value.real, value.imag), (exact.real, exact.imag), strict=True)
    return all(part.overlaps(arb(mpmath.nstr(number, 25), slack)) for part, number in parts)


@pytest.mark.theorem("T61-sampled-laplace")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize(("mu", "q"), [(1, "0.5"), (2, "0.01"), (4.5, "0.9")])
def test_transform_is_the_quadrature_over_the_outputs(mu: float, q: str, order: str) -> None:
    """int p (p/q)^z over the real line, noise e^{-|t|}/2 and a shift mu: atoms and the piece between come out."""
    law = SampledLaplaceLoss(LaplaceLoss(F(mu)), F(q), order)
    with mpmath.workdps(25), ctx.workprec(120):
        for z in (acb(1), acb(arb("0.5"), 7), acb(3, -20)):
            point = mpmath.mpc(float(z.real), float(z.imag))

            def integrand(t: mpmath.mpf, point: mpmath.mpc = point) -> mpmath.mpc:
                without = mpmath.exp(-abs(t)) / 2
                mixed = (1 - mpmath.mpf(q)) * without + mpmath.mpf(q) * mpmath.exp(-abs(t - mu)) / 2
                p, other = (mixed, without) if order == "remove" else (without, mixed)
                return p * mpmath.exp(point * mpmath.log(p / other))

            exact = mpmath.quad(integrand, [-60, 0, *mpmath.linspace(0, mu, 12)[1:], mu + 60])
            value = law.enclose_transform(z)
            assert contains(value, exact, 1e-17 * (1 + float(value.abs_upper())))
            assert value.abs_upper() - value.abs_lower() < arb(2) ** -70


@pytest.mark.theorem("T61-sampled-laplace")
@laws
def test_ellipses_have_the_height_that_is_asked_for(law: SampledLaplaceLoss) -> None:
    """The density is bounded up to that height alone: half (rho - 1/rho) / 2."""
    with ctx.workprec(80):
        for height in (arb("0.1"), arb(1), arb.pi() / 2):
            rho, _ = law._bound_ellipses(arb(1), arb(2), height)
            assert (ball(law._ratio / law._panels) * (rho - 1 / rho) / 2).overlaps(height) and rho > 1


@pytest.mark.theorem("T61-sampled-laplace")
@laws
def test_transform_belongs_to_the_density_and_the_atoms(law: SampledLaplaceLoss) -> None:
    """Another route: the density of L over L itself, as T60 has it; M_add(z) = M_remove(-1-z); total masses."""
    swapped = law.in_order("add" if law.order == "remove" else "remove")
    with ctx.workprec(100), mpmath.workdps(20):
        assert all(law.enclose_transform(acb(z)).real.overlaps(arb(1)) for z in (0, -1))
        for z in (acb(1), acb(2, 3), acb(-2, 5)):
            assert law.enclose_transform(z).overlaps(swapped.enclose_transform(-1 - z))
        low, high = float(law.enclose_smallest_loss()), float(law.enclose_largest_loss())
        point = mpmath.mpc(0.5, 6)
        inner = mpmath.quad(lambda x: float(law.enclose_density(arb(float(x)))) * mpmath.exp(point * x),
                            [low + (high - low) * (n / 16) ** 3 for n in range(17)])
        atoms = sum(float(mass) * mpmath.exp(point * float(loss)) for loss, mass in law.enclose_loss_atoms())
        assert contains(law.enclose_transform(acb(0.5, 6)), inner + atoms, 1e-4)


@pytest.mark.theorem("T61-sampled-laplace")
@laws
def test_few_points_err_less_than_the_bound(law: SampledLaplaceLoss) -> None:
    """With 2 to 6 points per panel the error is visible, and below the bound for every height of the ellipse."""
    with ctx.workprec(200):
        for z in (acb(1), acb(4, 12)):
            atoms = sum((mass * (z * loss).exp() for loss, mass in law.enclose_loss_atoms()), acb(0))
            power = z + 1 if law.order == "remove" else -z
            inner = law.enclose_transform(z) - atoms
            for points in (2, 4, 6):
                nodes = _inner_nodes(law.base, law.probability, points)
                missed = abs(sum((weight * (power * size).exp() for size, weight in nodes), acb(0)) - inner)
                for n in (1, 4, 8):
                    rho, total = law._bound_ellipses(z.real, z.imag, arb.pi() * n / 16)
                    assert missed <= total * rho ** (-2 * points), (z, points, n)
                assert missed > 0


@pytest.mark.theorem("T61-sampled-laplace")
@laws
def test_one_rule_serves_all_smaller_frequencies(law: SampledLaplaceLoss) -> None:
    with ctx.workprec(120):
        tilt = arb("1.5")
        rule = law.enclose_rule(tilt, arb(60))
        assert rule.error < arb(2) ** -118
        assert law.count_nodes(tilt, arb(60)) >= len(rule.losses)
        for frequency in (0, 1, 17, 60):
            turn = acb(0, frequency)
            value = sum((w * (turn * x).exp() for x, w in zip(rule.losses, rule.weights, strict=True)), acb(0))
            with ctx.workprec(200):
                exact = law.enclose_transform(acb(tilt, frequency))
            assert abs(value - exact) < rule.error + arb(2) ** -100


@pytest.mark.theorem("T62-sampled-laplace-beyond")
@laws
def test_bound_holds_beyond(law: SampledLaplaceLoss) -> None:
    with ctx.workprec(80):
        for tilt in (0.1, 1.0, 8.0):
            for start in (0.01, 0.5, 3.0, 40.0):
                bound = law.bound_transform_beyond(arb(tilt), arb(start))
                assert bound <= law.enclose_moment(arb(tilt)).upper()
                for n in range(40):
                    w = start * 1.01 + n * (0.2 + start / 10)
                    assert not law.enclose_transform(acb(tilt, w)).abs_lower() > bound, (tilt, start, w)


@pytest.mark.theorem("T62-sampled-laplace-beyond")
def test_bound_is_sharp_near_and_far() -> None:
    """The value itself before half a turn, as far as later values allow; hardly more than the atoms far out."""
    law, tilt = SampledLaplaceLoss(LaplaceLoss(F(2)), F(1, 100), "remove"), arb(2)
    with ctx.workprec(80):
        value = law.enclose_transform(acb(tilt, 5)).abs_upper()
        assert law.bound_transform_beyond(tilt, arb(5)) < value * (1 + arb(2) ** -60)
        atoms = sum((mass * (tilt * loss).exp() for loss, mass in law.enclose_loss_atoms()), arb(0))
        assert atoms < law.bound_transform_beyond(tilt, arb(10**6)) < atoms * arb("1.001")
        middle = law.bound_transform_beyond(tilt, arb(100)) / law.enclose_moment(tilt)
        assert middle < arb("0.95")


@pytest.mark.theorem("T62-sampled-laplace-beyond")
def test_layers_of_flat_and_stepped_floors() -> None:
    """One layer loses h a (1 - sin(wa/2)/(wa/2)); steps down and up are layers from either end."""
    places = [arb(n) / 4 for n in range(5)]
    flat = _layers(places, [arb(3)] * 4, arb(2))
    assert abs(flat - 3 * (1 - arb(1).sin())) < arb(2) ** -40

    def layer(height: int, length: float) -> arb:
        x = arb(length)
        return height * length * (1 - x.sin() / x)

    stepped = _layers(places, [arb(h) for h in (5, 3, 4, 6)], arb(2))
    assert abs(stepped - layer(3, 1.0) - layer(2, 0.25) - layer(1, 0.5) - layer(2, 0.25)) < arb(2) ** -40
    assert abs(_layers([-x for x in places], [arb(h) for h in (5, 3, 4, 6)], arb(2)) - stepped) < arb(2) ** -40
    for x in (0.5, 1.9, 2.5, 3.3, 4.5, 20.0):
        bound = _sinc_beyond(arb(x))
        assert all(abs(arb(x + n / 10).sin() / (x + n / 10)) <= bound * (1 + arb(2) ** -50) for n in range(100))


def enclosed(law: SampledLoss, count: int, epsilon: Fraction, bits: float, method: str = "auto") -> Answer:
    single = OneDirection(ComposedLoss(law.order, ((law, count),), F(0)))
    return single.enclose(epsilon, bits, method, Budget(60))


@pytest.mark.theorem("T61-sampled-laplace", "T62-sampled-laplace-beyond")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_contour_gives_twelve_digits_inside_the_lattice(order: str) -> None:
    """1000 x Poisson(1/100) of Laplace(1/2); both methods are independent of each other."""
    law = SampledLaplaceLoss(LaplaceLoss(F(2)), F(1, 100), order)
    contour, lattice = enclosed(law, 1000, F(2), 40), enclosed(law, 1000, F(2), 5, "lattice")
    assert contour.method == "contour" and width_bits(contour.bounds) > 40
    assert lattice.bounds.lower <= contour.bounds.lower and contour.bounds.upper <= lattice.bounds.upper


@pytest.mark.long
@pytest.mark.parametrize("order", ["remove", "add"])
def test_contour_lies_inside_the_lattice_at_four_digits(order: str) -> None:
    law = SampledLaplaceLoss(LaplaceLoss(F(2)), F(1, 100), order)
    contour, lattice = enclosed(law, 1000, F(2), 40), enclosed(law, 1000, F(2), 13.3, "lattice")
    assert width_bits(lattice.bounds) > 13
    assert lattice.bounds.lower <= contour.bounds.lower and contour.bounds.upper <= lattice.bounds.upper


@pytest.mark.theorem("T61-sampled-laplace")
def test_two_steps_are_worst_in_the_add_order() -> None:
    """q = 1/2, Laplace(1), eps = 1/4: where the atoms stay, the lattice answers; 0.14857 < 0.16719."""
    remove, add = (enclosed(SampledLaplaceLoss(LaplaceLoss(F(1)), F(1, 2), order), 2, F(1, 4), 15)
                   for order in ("remove", "add"))
    assert remove.method == add.method == "lattice"
    assert remove.bounds.lower < arb("0.14856754940337765") < remove.bounds.upper, "by quadrature, in mpmath"
    assert remove.bounds.upper < arb("0.167") < add.bounds.lower
    assert float(remove.bounds.upper) == pytest.approx(0.14857, abs=1e-5)
    assert float(add.bounds.upper) == pytest.approx(0.16719, abs=1e-5)


@pytest.mark.theorem("T61-sampled-laplace")
def test_where_the_contour_is_worth_it() -> None:
    laplace = SampledLaplaceLoss(LaplaceLoss(F(1)), F(1, 2), "add")
    selection = SampledLaplaceLoss(BoundedRangeLoss(F(1)), F(1, 2), "add")
    with ctx.workprec(64):
        share = sum((mass for _, mass in laplace.enclose_loss_atoms()), arb(0))
        assert share**laplace.least_count < arb(2) ** -20 < share ** (laplace.least_count - 2)
    assert selection.least_count == 1
    few = ComposedLoss("add", ((laplace, laplace.least_count - 1),), F(0))
    many = ComposedLoss("add", ((laplace, laplace.least_count),), F(0))
    assert not lines(few).decays and lines(many).decays
    answer = enclosed(selection, 3, F(1, 4), 20, "contour")
    assert answer.method == "contour" and width_bits(answer.bounds) > 20


@pytest.mark.parametrize(("release", "kind"), [
    (Laplace("1/2", "1"), SampledLaplaceLoss), (Exponential("1/2"), SampledLaplaceLoss),
    (Laplace("1/9", "1"), SampledLoss)])
def test_samples_of_these_mechanisms_have_this_law(release: Laplace | Exponential, kind: type[SampledLoss]) -> None:
    """Very revealing noise has no transform worth the name: there the curve alone is used."""
    composition = Composition(((PoissonSampled(release, "1/100"), 1),))
    losses = privacy_losses(composition, Relation.ADD_OR_REMOVE)
    assert sorted(loss.order for loss in losses) == ["add", "remove"]
    assert all(type(law) is kind and law.order == loss.order for loss in losses for law, _ in loss.parts)


def test_a_sample_of_many_orders_keeps_its_precision() -> None:
    """q = 10^-12 and mu = 10^-2: M - 1 is about 10^-26 and still accurate."""
    law = SampledLaplaceLoss(LaplaceLoss(F(1, 100)), F(1, 10**12), "remove")
    with ctx.workprec(200):
        excess = law.enclose_moment(arb(1)) - 1
        variance = ball(F(1, 10**24)) * (LaplaceLoss(F(1, 100)).enclose_transform(acb(1)).real - 1)
        assert (excess / variance - 1).contains(0) and excess.rad() < excess * arb(2) ** -50


@pytest.mark.theorem("T62-sampled-laplace-beyond")
@laws
def test_floors_lie_under_the_tilted_density(law: SampledLaplaceLoss) -> None:
    """Where the density falls and rises within a piece its least value there is below both ends."""
    turned = 0
    with ctx.workprec(150):
        for tilt in (arb(0.1), arb(2), arb(8), arb(40), arb(300)):
            for count in (1, 4, 7):
                places = [ball(law._ratio * (2 * n - count) / count) for n in range(count + 1)]
                heights = law._tilted_density(tilt, places)
                floors = law._bound_pieces(tilt, places, heights)
                for (left, right), (a, b), floor in zip(pairwise(places), pairwise(heights), floors, strict=True):
                    inner = law._tilted_density(tilt, [left + (right - left) * n / 200 for n in range(201)])
                    assert all(floor <= height.upper() for height in inner), (tilt, count)
                    assert floor >= a.min(b) * (3 * (left - right) / 2).exp() * (1 - arb(2) ** -100)
                    turned += any(height < a and height < b for height in inner)
    assert turned or law.order == "add" or law.probability < F(1, 1000)
