"""The contour along two rays: against lines and quadrature; hostile witnesses prove nothing."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines import rays
from verified_dp.core.engines.lines import ReversedValues, lines
from verified_dp.core.engines.nodes import enclose_nodes
from verified_dp.core.engines.rays import Level, Ray, RaysWitness
from verified_dp.core.engines.shared import gauss_rule
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.kernel.balls import largest
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.line import choose_line, plan_line
from verified_dp.search.models import float_loss
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.rays import choose_rays, plan_rays

Composed = Callable[..., ComposedLoss]


def chosen(loss: ComposedLoss, epsilon: Fraction, bits: float = 40.0) -> RaysWitness:
    order = OneDirection(loss)
    saddle = order.jumping(epsilon, order.saddle(epsilon))
    plan = plan_rays(float_loss(loss), float(epsilon), saddle, bits)
    assert plan is not None
    return choose_rays(plan)


def by_line(loss: ComposedLoss, epsilon: Fraction) -> arb:
    """What a line encloses, to a few digits."""
    order, model = OneDirection(loss), float_loss(loss)
    saddle = order.jumping(epsilon, order.saddle(epsilon))
    bounds = evaluate(loss, choose_line(model, plan_line(model, float(epsilon), saddle, 20.0))).delta(epsilon)
    assert bounds.upper < bounds.lower * (1 + arb(2) ** -6)
    return bounds.lower.union(bounds.upper)


@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize(("order", "q", "s", "count", "epsilon"), [
    ("remove", "1/100", "1", 2, "0.4255"), ("remove", "1/100", "2", 10, "0.2"), ("remove", "3/10", "1", 3, "2"),
    ("symmetric", "1/100", "1", 3, "0.5"), ("remove", "1/100", "3/5", 10, "2"), ("remove", "1/20", "3/2", 30, "1")])
@pytest.mark.parametrize("mean_shift_squared", ["0", "1/10000", "1/16"])
def test_lines_and_rays_agree(composed: Composed, order: str, q: str, s: str, count: int, epsilon: str,
                               mean_shift_squared: str) -> None:
    loss, at = composed(order, q, s, count, Fraction(mean_shift_squared)), Fraction(epsilon)
    bounds = evaluate(loss, chosen(loss, at)).delta(at)
    assert 0 < bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** (-28 if loss.mean_shift_squared else -38))
    assert bounds.lower.union(bounds.upper).overlaps(by_line(loss, at))


@pytest.mark.theorem("T187-rays")
def test_deltas_far_below_every_moment_are_sharp(composed: Composed) -> None:
    """Eight digits of 6.8e-48, where the best moment proves 1: the enclosure to 22 digits."""
    loss, at = composed("remove", "1/10000", "3", 5), Fraction("0.01")
    bounds = evaluate(loss, chosen(loss, at)).delta(at)
    assert bounds.lower < arb("6.8130779317365529308e-48 +/- 1e-66") < bounds.upper < bounds.lower * (1 + arb(2) ** -38)


def test_rays_of_small_losses_are_long_on_one_side_and_short_on_the_other(composed: Composed) -> None:
    """At eps 0 losses of 1e-4 turn slowly; delta as nodes on panels enclosed it."""
    loss = composed("remove", "1/10000", "1", 2)
    bounds = evaluate(loss, chosen(loss, Fraction(0))).delta(Fraction(0))
    assert bounds.lower < arb("5.955131785115745e-5 +/- 1e-19") < bounds.upper < bounds.lower * (1 + arb(2) ** -40)


@pytest.mark.theorem("T16-reversal")
@pytest.mark.parametrize("epsilon", ["0", "1/1000", "1/50"])
def test_rays_of_the_swapped_pair(composed: Composed, epsilon: str) -> None:
    """The add order by rays of the remove order, read at -eps, against a line of its own; at 0 both are equal."""
    at, own, swapped = Fraction(epsilon), composed("add", "1/50", "1", 3), composed("remove", "1/50", "1", 3)
    turned = chosen(swapped, -at)
    values = evaluate(own, replace(turned, tilt=-1 - turned.tilt))
    assert isinstance(values, ReversedValues)
    bounds = values.delta(at)
    assert 0 < bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** -24)
    assert bounds.lower.union(bounds.upper).overlaps(by_line(own, at))
    with pytest.raises(InvalidInput):
        evaluate(own, replace(turned, tilt=Fraction(-1, 2)))


def test_steep_rays_are_found_where_flat_ones_have_no_panels(composed: Composed) -> None:
    """The shortest rays of these steps cannot be cut into panels; their delta as an earlier search enclosed it."""
    loss, at = composed("remove", "1/10000", "2", 30), Fraction("3/2")
    bounds = evaluate(loss, chosen(loss, at)).delta(at)
    assert bounds.lower.union(bounds.upper).overlaps(arb("2.4844552758983224531e-99 +/- 2e-117"))
    assert bounds.upper < bounds.lower * (1 + arb(2) ** -38)


@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize("plain", [False, True])
def test_two_steps_agree_with_quadrature(composed: Composed, plain: bool) -> None:
    """delta(eps) = E[delta_1(eps - L)], delta_1 in closed form, L of another or a plain Gaussian step, in doubles."""
    from scipy.special import ndtr

    q, s, epsilon, mu = 0.02, 1.2, 0.5, 0.1
    t = np.linspace(-12, 14, 400_001) * (1 if plain else s)
    ratio = 1 - q + q * np.exp((2 * t - 1) / (2 * s * s))
    density, loss = (np.exp(-(t - mu) ** 2 / 2), mu * t - mu * mu / 2) if plain else (
        np.exp(-t * t / (2 * s * s)) * ratio / s, np.log(ratio))
    odds = np.maximum((np.exp(epsilon - loss) - (1 - q)) / q, 1e-300)
    end = s * s * np.log(odds) + 0.5
    inner = (1 - q) * ndtr(-end / s) + q * ndtr((1 - end) / s) - np.exp(epsilon - loss) * ndtr(-end / s)
    expected = float((density * inner).sum() * (t[1] - t[0])) / math.sqrt(2 * math.pi)
    at, steps = Fraction(1, 2), composed("remove", "1/50", "6/5", *((1, Fraction(1, 100)) if plain else (2,)))
    bounds = evaluate(steps, chosen(steps, at)).delta(at)
    assert abs(float(bounds.lower) - expected) < 1e-9 * expected
    assert bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** -30)


@pytest.mark.theorem("T187-rays")
def test_different_laws_and_mixtures() -> None:
    """Sampled Gaussians of two noises; a group of two records, against lines."""
    parts = tuple((SampledGaussianLoss(Fraction(q), Fraction(s), "remove"), k)
                  for q, s, k in (("1/100", "1", 2), ("1/50", "3/2", 3)))
    several = ComposedLoss("remove", parts, Fraction(0))
    group = MixtureLoss(Fraction(2), ((Fraction(0), Fraction(81, 100)), (Fraction(1), Fraction(18, 100)),
                                      (Fraction(2), Fraction(1, 100))), ((Fraction(0), Fraction(1)),), "remove")
    for loss, at in ((several, Fraction(1, 2)), (ComposedLoss("remove", ((group, 3),), Fraction(0)), Fraction(1))):
        bounds = evaluate(loss, chosen(loss, at)).delta(at)
        assert bounds.lower < bounds.upper < bounds.lower * (1 + arb(2) ** -36)
        assert bounds.lower.union(bounds.upper).overlaps(by_line(loss, at))


@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize("mean_shift_squared", ["0", "1/400"])
def test_altered_witnesses_still_enclose(composed: Composed, mean_shift_squared: str) -> None:
    """Fewer panels, smaller or larger ellipses, other cuts and strides: wider, never beside delta."""
    loss, at = composed("remove", "1/100", "1", 3, Fraction(mean_shift_squared)), Fraction("0.4641")
    witness, draw = chosen(loss, at), random.Random(7)
    truth = evaluate(loss, chosen(loss, at, 60.0)).delta(at).lower
    wide = 0
    for _ in range(20):
        altered = altered_witness(witness, draw)
        if not altered.applies(loss):
            continue
        bounds = evaluate(loss, altered).delta(at)
        assert bounds.lower <= truth * (1 + arb(2) ** -55)
        assert truth * (1 - arb(2) ** -55) <= bounds.upper
        wide += bool(bounds.upper > bounds.lower * (1 + arb(2) ** -30))
    assert wide > 5


def altered_witness(witness: RaysWitness, draw: random.Random) -> RaysWitness:
    name = draw.choice(["low", "high"])
    ray: Ray = getattr(witness, name)
    levels = list(ray.levels)
    n = draw.randrange(len(levels))
    panels, ellipse = levels[n].panels, levels[n].ellipse
    levels[n] = Level(draw.choice([1, panels]), draw.choice([Fraction(5, 4), Fraction(30), ellipse]))
    stride = tuple(x * draw.choice([Fraction(1, 2), 1, 2]) for x in ray.stride)
    changes = [
        {name: replace(ray, levels=tuple(levels[:draw.randint(1, len(levels))]))},
        {name: replace(ray, stride=stride)}, {name: replace(ray, points=max(2, ray.points // draw.randint(1, 4)))},
        {"cuts": (witness.cuts[0] + draw.randint(-20, 20),)}, {"prec": draw.randint(10, 60)},
        {"tilt": witness.tilt * draw.choice([Fraction(1, 4), 3])}]
    return replace(witness, **draw.choice(changes))  # type: ignore[arg-type]


@pytest.mark.theorem("T187-rays")
def test_a_ray_on_which_low_losses_grow_proves_nothing(composed: Composed) -> None:
    loss, at = composed("remove", "1/100", "1", 2), Fraction("0.4255")
    witness = chosen(loss, at)
    right = replace(witness.low, stride=(Fraction(1), Fraction(0)))
    growing = replace(witness, cuts=(witness.nodes[0].last,), low=right)
    bounds = evaluate(loss, growing).delta(at)
    assert (bounds.lower, bounds.upper) == (0, 1)
    assert bounds.budget["frequency_tail"] > 1


@pytest.mark.theorem("T187-rays")
def test_side_conditions_are_asked(composed: Composed) -> None:
    loss, at = composed("remove", "1/100", "1", 2), Fraction("0.4255")
    witness = chosen(loss, at)
    ray, first, last = witness.low, witness.nodes[0].first, witness.nodes[0].last
    wrong = [{"tilt": Fraction(0)}, {"cuts": ()}, {"cuts": (first,)}, {"cuts": (last + 1,)}, {"nodes": ()},
             {"low": replace(ray, stride=(Fraction(-1), Fraction(1)))}, {"low": replace(ray, levels=())},
             {"high": replace(ray, stride=(Fraction(0), Fraction(0)))}, {"low": replace(ray, points=1)},
             {"low": replace(ray, levels=(Level(0, Fraction(2)),))},
             {"high": replace(ray, levels=(Level(1, Fraction(1)),))}]
    for change in wrong:
        with pytest.raises(InvalidInput):
            evaluate(loss, replace(witness, **change))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        evaluate(composed("remove", "1/100", "1", 0, Fraction(1, 9)), replace(witness, nodes=(), cuts=()))
    assert witness.work(loss).units < 10**8 < replace(witness, low=replace(ray, points=3000)).work(loss).units


@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize("mean_shift_squared", ["0", "1/10000", "1/9"])
def test_a_ray_that_ends_early_leaves_a_tail(composed: Composed, mean_shift_squared: str) -> None:
    """What is missing is within the bound of the rest, which falls level by level."""
    loss, at = composed("remove", "1/100", "1", 2, Fraction(mean_shift_squared)), Fraction("0.4255")
    witness = chosen(loss, at)
    truth = evaluate(loss, witness).delta(at).lower
    for name in ("low", "high"):
        ray, before = getattr(witness, name), arb(0)
        for levels in range(len(ray.levels), 0, -1):
            bounds = evaluate(loss, replace(witness, **{name: replace(ray, levels=ray.levels[:levels])})).delta(at)
            tail = bounds.budget["frequency_tail"]
            assert before <= tail
            assert bounds.lower <= truth * (1 + arb(2) ** -38)
            assert truth * (1 - arb(2) ** -38) <= bounds.upper
            before = tail


@pytest.mark.theorem("T17-gauss-legendre")
@pytest.mark.parametrize(("points", "rho"), [(2, 2.0), (4, 3.0), (7, 1.5), (10, 2.0)])
def test_gauss_error_is_bounded_and_nearly_attained(points: int, rho: float) -> None:
    """The Chebyshev polynomial of degree 2n reaches 2/3 of the bound; a pole near the ellipse stays below it."""
    def rule_error(f: Callable[[np.ndarray], np.ndarray], exact: float) -> float:
        x, w = np.polynomial.legendre.leggauss(points)
        return abs(float(w @ f(x)) - exact)

    with ctx.workprec(64):
        unit = float(rays.bound_gauss([acb(-1), acb(1)], [acb(0)], [arb(1)], Fraction(rho), points, arb(0)))
    supremum = (rho ** (2 * points) + rho ** (-2 * points)) / 2
    error = rule_error(np.polynomial.Chebyshev.basis(2 * points), -2 / (4 * points * points - 1))
    assert error <= unit * supremum
    assert error >= 0.66 * unit * supremum * (1 - rho**-2), "the theorem sums over all higher degrees: 1/(1 - rho^-2)"
    pole = (1.05 * rho + 1 / (1.05 * rho)) / 2
    error = rule_error(lambda x: 1 / (pole - x), math.log((pole + 1) / (pole - 1)))
    assert error <= unit / (pole - (rho + 1 / rho) / 2)


@pytest.mark.theorem("T17-gauss-legendre", "T187-rays")
def test_panel_error_scales_as_stated() -> None:
    """(length / 2) (64/15) U rho^{-2n} / (1 - rho^{-2}) for all panels together, U with its e^{-x eps}."""
    corners, masses = [acb(1, 1), acb(4, 5), acb(2, 9)], [arb(3), arb(2), arb("2.5")]
    with ctx.workprec(80):
        for epsilon, supremum in (("0", arb(3)), ("-1", 2 * arb(4).exp()), ("1/10", 3 * arb("-0.1").exp())):
            expected = arb(5) / 2 * 64 / 15 * supremum * arb(2) ** -6 / (1 - arb(2) ** -2)
            found = rays.bound_gauss([acb(1, 1), acb(4, 5)], corners, masses, Fraction(2), 3, rays.ball(
                Fraction(epsilon)))
            assert expected.lower() <= found <= expected * (1 + arb(2) ** -60)


@pytest.mark.parametrize("points", [2, 5, 20])
def test_gauss_rule_is_exact_up_to_its_degree(points: int) -> None:
    with ctx.workprec(200):
        rule = gauss_rule(points)
        for power in range(2 * points):
            moment = sum((weight * x**power for x, weight in rule), arb(0))
            exact = arb(2) / (power + 1) if power % 2 == 0 else arb(0)
            assert (moment - exact).contains(0) and moment.rad() < arb(2) ** -180
        missed = sum((weight * x ** (2 * points) for x, weight in rule), arb(0)) - arb(2) / (2 * points + 1)
        assert not missed.contains(0)


def point_at(corners: list[acb], along: float, across: float) -> acb:
    low, high, end, _ = corners
    return low + (high - low) * across + (end - low) * along


@pytest.mark.theorem("T187-rays")
def test_rectangle_holds_every_ellipse() -> None:
    """Sampled points of every panel's ellipse have coordinates in [0, 1]^2 of the rectangle, and reach its sides."""
    with ctx.workprec(80):
        first, last, rho = acb(2, 3), acb(5, 9), arb(3) / 2
        corners = rays.rectangle([first, last], 3, Fraction(3, 2))
        low, high, end = corners[0], corners[1], corners[2]
        reached, half = [1.0, 0.0, 1.0, 0.0], (last - first) / 6
        for panel in range(3):
            for turn in range(200):
                v = rho * (acb(0, 1) * arb.pi() * turn / 100).exp()
                z = first + half * (2 * panel + 1) + half * (v + 1 / v) / 2
                along = float(((z - low) / (end - low)).real)
                across = float(((z - low) / (high - low)).real)
                assert -1e-12 <= along <= 1 + 1e-12 and -1e-12 <= across <= 1 + 1e-12
                reached[::2] = min(reached[0], along), min(reached[2], across)
                reached[1::2] = max(reached[1], along), max(reached[3], across)
        assert reached[0] < 1e-3 and reached[1] > 0.999 and reached[2] < 1e-3 and reached[3] > 0.999


@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize("high", [False, True])
@pytest.mark.parametrize(("start", "end"), [((3, 0), (3, 2)), ((2, 4), (4, 6)), ((1, 9), (2, 12)), ((2, 0), (5, 1))])
@pytest.mark.parametrize("mean_shift_squared", ["0", "1/9", "1"])
def test_corners_bound_the_whole_rectangle(oracle: ModuleType, composed: Composed, mean_shift_squared: str,
                                           start: tuple[int, int], end: tuple[int, int], high: bool) -> None:
    """|g (prod N^k - prod L^k) / (z(z+1))| at random points never exceeds the largest corner, and comes near."""
    loss = composed("remove", "1/3", 1, 2, Fraction(mean_shift_squared))
    (law, count), = lines(loss).node_parts
    rule, rng = rays.NodeRule(Fraction(6, 5), Fraction(6, 5), Fraction(1, 12), -120, 200), random.Random(3)
    with ctx.workprec(90):
        share = rays._share(enclose_nodes(law, rule), iter([20]), count)
        corners = rays.rectangle([acb(*start), acb(*end)], 4, Fraction(3, 2))
        supremum = largest(rays._bound_integrand(loss, [share], corners, high))
        reached, places = arb(0), [(0, 0), (0, 1), (1, 0), (1, 1), *((rng.random(), rng.random()) for _ in range(40))]
        for along, across in places:
            z = point_at(corners, along, across)
            low, rest = (sum(part.weights(z), acb(0)) for part in (share.low, share.high))
            value = (low + rest) ** count - low**count if high else low**count
            size = (value * loss.enclose_gaussian_exponent(z).exp() / (z * (z + 1))).abs_lower()
            assert size <= supremum
            reached = reached.max(size)
    assert supremum <= 60 * reached


@pytest.mark.theorem("T187-rays")
@pytest.mark.parametrize(("start", "end"), [((3, 0), (3, 2)), ((1, 9), (2, 12)), ((4, 6), (5, 8))])
def test_plain_gaussian_steps_are_bounded_on_the_rectangle(
        composed: Composed, start: tuple[int, int], end: tuple[int, int]) -> None:
    """The largest corner is near the largest modulus, and equals it at the least height."""
    with ctx.workprec(64):
        corners = rays.rectangle([acb(*start), acb(*end)], 8, Fraction(3, 2))
        places = [point_at(corners, i / 8, j / 8) for i in range(9) for j in range(9)]
        for shift_squared, excess in (("1e-12", "1.00001"), ("1/9", "1.5")):
            loss = composed("remove", "1/2", 1, 0, Fraction(shift_squared))
            supremum = largest(rays._bound_gaussian(loss, corners))
            sizes = [loss.enclose_gaussian_exponent(z).exp().abs_upper() for z in places]
            assert largest(sizes) * arb("0.999999") <= supremum <= largest(sizes) * arb(excess)
            z = acb(*end)
            assert rays._bound_gaussian(loss, [z])[0].overlaps(abs(loss.enclose_gaussian_exponent(z).exp()))
