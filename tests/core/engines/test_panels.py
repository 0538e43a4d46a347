"""The bent path: Gauss-Legendre errors, rectangles and their corners, the ray, and enclosures by hand-made paths."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from flint import acb, acb_mat, arb, arb_mat, ctx

from verified_dp.core.engines import panels
from verified_dp.core.engines.contour import LineWitness
from verified_dp.core.engines.nodes import NodeRule, bound_node_errors
from verified_dp.core.engines.panels import Block, BlockValues, PanelWitness, bound_panels
from verified_dp.core.kernel.balls import gauss_rule
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate

Build = Callable[..., ComposedLoss]
ORDERS = ["remove", "add", "symmetric"]
BEND = {"remove": 1, "add": -1, "symmetric": 1}
NODES = NodeRule(Fraction(6, 5), Fraction(6, 5), Fraction(1, 12), -180, 300)
BOUND = NodeRule(Fraction(13, 10), Fraction(0), Fraction(1, 12), -180, 300)


def path(bend: Fraction, heights: tuple[int, ...] = (3, 9, 25, 60),
         pieces: tuple[int, ...] = (6, 6, 8, 10)) -> PanelWitness:
    """From 3 upwards through 3 + bend * (1/2, 2, 3, 4): a path that anybody could have chosen."""
    bends = (Fraction(1, 2), Fraction(2), Fraction(3), Fraction(4))
    blocks = tuple(Block((3 + bend * x, Fraction(w)), n, 20, Fraction(2), (NODES,), (BOUND,))
                   for x, w, n in zip(bends, heights, pieces, strict=False))
    return PanelWitness(Fraction(3), blocks, (BOUND,), 80)


def block_values(ends: tuple[complex, complex], supremum: arb) -> BlockValues:
    """A block whose integrand is bounded by `supremum` on its rectangle, for the error bound alone."""
    first, last = (acb(z.real, z.imag) for z in ends)
    return BlockValues([], [], acb_mat(0, 0), [first, last], arb_mat(0, 0), arb_mat(0, 0), [first], [supremum])


def rule_error(f: Callable[[np.ndarray], np.ndarray], exact: float, points: int) -> float:
    """|integral - rule| over [-1, 1] with numpy's nodes and weights."""
    x, w = np.polynomial.legendre.leggauss(points)
    return abs(float(w @ f(x)) - exact)


@pytest.mark.theorem("T17-gauss-legendre")
@pytest.mark.parametrize(("points", "rho"), [(2, 2.0), (4, 3.0), (7, 1.5), (10, 2.0)])
def test_gauss_error_is_bounded_and_nearly_attained(points: int, rho: float) -> None:
    """The Chebyshev polynomial of degree 2n reaches 2/3 of the bound; a pole near the ellipse stays below it."""
    block = Block((Fraction(1), Fraction(1)), 1, points, Fraction(rho), (), ())
    with ctx.workprec(64):
        unit = float(bound_panels(block_values((-1 + 0j, 1 + 0j), arb(1)), block, Fraction(0)))

    supremum = (rho ** (2 * points) + rho ** (-2 * points)) / 2
    error = rule_error(np.polynomial.Chebyshev.basis(2 * points), -2 / (4 * points * points - 1), points)
    assert error <= unit * supremum
    assert error >= 0.66 * unit * supremum * (1 - rho**-2), "the theorem sums over all higher degrees: 1/(1 - rho^-2)"

    pole = (1.05 * rho + 1 / (1.05 * rho)) / 2
    error = rule_error(lambda x: 1 / (pole - x), math.log((pole + 1) / (pole - 1)), points)
    assert error <= unit / (pole - (rho + 1 / rho) / 2)


@pytest.mark.theorem("T17-gauss-legendre", "T20-panel-enclosure")
def test_panel_error_scales_as_stated() -> None:
    """(length / 2) (64/15) U rho^{-2n} / (1 - rho^{-2}) for all panels together, U with its e^{-x eps}."""
    block = Block((Fraction(4), Fraction(5)), 7, 3, Fraction(2), (), ())
    values = block_values((1 + 1j, 4 + 5j), arb(1))
    values = replace(values, corners=[acb(1, 1), acb(4, 5), acb(2, 9)], corner_masses=[arb(3), arb(2), arb("2.5")])
    with ctx.workprec(80):
        for epsilon, supremum in (("0", arb(3)), ("-1", 2 * arb(4).exp()), ("1/10", 3 * arb("-0.1").exp())):
            expected = arb(5) / 2 * 64 / 15 * supremum * arb(2) ** -6 / (1 - arb(2) ** -2)
            found = bound_panels(values, block, Fraction(epsilon))
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


@pytest.mark.theorem("T20-panel-enclosure")
def test_rectangle_holds_every_ellipse() -> None:
    """Sampled points of every panel's ellipse have coordinates in [0, 1]^2 of the rectangle, and reach its sides."""
    block = Block((Fraction(5), Fraction(9)), 3, 20, Fraction(3, 2), (), ())
    with ctx.workprec(80):
        first, last, rho = acb(2, 3), acb(5, 9), arb(3) / 2
        corners = panels.rectangle([first, last], block.panels, block.ellipse)
        low, high, end = corners[0], corners[1], corners[2]
        reached = [1.0, 0.0, 1.0, 0.0]
        half = (last - first) / 6
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


@pytest.mark.theorem("T20-panel-enclosure")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("by_sum", [False, True])
def test_corners_bound_the_whole_rectangle(oracle: ModuleType, composed: Build, order: str, by_sum: bool) -> None:
    """|M / (z(z+1))| of a composition at random points never exceeds the largest corner; not uselessly large."""
    loss = composed(order, "1/3", 1, 2, "1/9")
    rule = NODES if by_sum else BOUND
    block = Block((Fraction(4), Fraction(6)), 4, 20, Fraction(2), (NODES,), (rule,))
    rng = random.Random(3)
    with ctx.workprec(64):
        corners = panels.rectangle([acb(3, 2), acb(4, 6)], block.panels, block.ellipse)
        bounds = panels._bound_integrand(loss, block, corners)
        supremum = oracle.real(panels.largest(bounds))
        largest = oracle.mpf(0)
        places = [(0, 0), (0, 1), (1, 0), (1, 1), *((rng.random(), rng.random()) for _ in range(12))]
        for along, across in places:
            z = point_at(corners, along, across)
            z = oracle.mpmath.mpc(oracle.real(z.real.mid()), oracle.real(z.imag.mid()))
            size = abs(oracle.transform(order, Fraction(1, 3), 1, z)) ** 2
            size *= abs(oracle.mp.exp(z * (z + 1) / 18) / (z * (z + 1)))
            assert size <= supremum
            largest = max(largest, size)
    assert supremum <= 40 * largest


@pytest.mark.theorem("T20-panel-enclosure")
@pytest.mark.parametrize(("start", "end"), [((3, 0), (3, 2)), ((1, 9), (2, 12)), ((-4, 6), (-5, 8))])
def test_kernel_is_bounded_on_the_rectangle(
        composed: Build, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Gaussian steps alone: 1/|z(z+1)| where M is nearly 1, then with a visible M; the bounds are close."""
    block = Block((Fraction(end[0]), Fraction(end[1])), 8, 20, Fraction(3, 2), (), ())
    with ctx.workprec(64):
        corners = panels.rectangle([acb(*start), acb(*end)], block.panels, block.ellipse)
        places = [point_at(corners, i / 8, j / 8) for i in range(9) for j in range(9)]
        for shift_squared, excess in (("1e-12", "1.4"), ("1/9", "2.5")):
            loss = composed("remove", "1/2", 1, 0, shift_squared)
            supremum = panels.largest(panels._bound_integrand(loss, block, corners))
            sizes = [(loss.enclose_gaussian_exponent(z).exp() / (z * (z + 1))).abs_upper() for z in places]
            assert panels.largest(sizes) * arb("0.999999") <= supremum <= panels.largest(sizes) * arb(excess)


@pytest.mark.theorem("T12-powers", "T20-panel-enclosure")
def test_transform_errors_are_summed_over_the_path(oracle: ModuleType, composed: Build) -> None:
    """T12 (3) for one step: (1/pi) sum of r w_n e / |z_n(z_n+1)|, e the worse end's node error."""
    rough = NodeRule(Fraction(1), Fraction(1), Fraction(1, 3), -6, 9)
    block = Block((Fraction(4), Fraction(6)), 3, 12, Fraction(2), (rough,), (BOUND,))
    loss = composed("remove", "1/2", 1)
    values = evaluate(loss, PanelWitness(Fraction(3), (block,), (BOUND,), 80))
    with ctx.workprec(64):
        errors = panels._worst(bound_node_errors(loss.parts[0][0], rough, [acb(3, 0), acb(4, 6)]))
        errors = [float(error) for error in errors]
    x, w = np.polynomial.legendre.leggauss(12)
    z = np.concatenate([3 + (1 + 6j) * (2 * i + 1 + x) / 6 for i in range(3)])
    spread = float((np.tile(w, 3) * math.hypot(1, 6) / 6 / np.abs(z * (z + 1))).sum())
    bounds = values.delta(Fraction(0))
    for name, error in zip(("quadrature", "node_tail"), errors, strict=True):
        assert math.isclose(float(bounds.budget[name]), error * spread / math.pi, rel_tol=1e-9)


@pytest.mark.theorem("T20-panel-enclosure")
def test_rectangle_around_a_pole_bounds_nothing(composed: Build) -> None:
    block = Block((Fraction(1), Fraction(1)), 1, 20, Fraction(9), (NODES,), (BOUND,))
    with ctx.workprec(64):
        corners = panels.rectangle([acb("0.5", 0), acb(1, 1)], block.panels, block.ellipse)
        bounds = panels._bound_integrand(composed("remove", "1/3", 1), block, corners)
        assert all(not bound.is_finite() for bound in bounds)


@pytest.mark.theorem("T19-line-integral", "T20-panel-enclosure")
@pytest.mark.parametrize("order", ORDERS)
def test_ends_of_a_piece_bound_its_inside(composed: Build, order: str) -> None:
    """The node rule's error bounds are log-convex along a straight piece."""
    law = composed(order, "1/3", 1).parts[0][0]
    rough = replace(NODES, step=Fraction(1, 2), first=-8, last=16)
    with ctx.workprec(64):
        ends = [acb(1, 1), acb(5, 12)]
        quadrature, tails = panels._worst(bound_node_errors(law, rough, ends))
        inside = [ends[0] + (ends[1] - ends[0]) * share / 10 for share in range(11)]
        for inner_quadrature, inner_tails in bound_node_errors(law, rough, inside):
            assert inner_quadrature <= quadrature * (1 + arb(2) ** -40) and inner_tails <= tails * (1 + arb(2) ** -40)


@pytest.mark.theorem("T18-contour-shift", "T20-panel-enclosure", "T01-inversion")
@pytest.mark.parametrize("order", ["remove", "add"])
@pytest.mark.parametrize("bend", ["-1/2", "0", "1/2", "1"])
def test_every_path_gives_the_two_step_delta(oracle: ModuleType, composed: Build, order: str, bend: str) -> None:
    """Bent to either side, or straight: around the value from conditioning on one step; narrow."""
    witness = path(BEND[order] * Fraction(bend))
    values = evaluate(composed(order, "1/2", 1, 2), witness)
    for epsilon in ("1/5", "-1/3", "1"):
        exact = oracle.two_step_delta(order, ("0.5", 1), ("0.5", 1), Fraction(epsilon))
        bounds = values.delta(Fraction(epsilon))
        assert oracle.inside(bounds, exact, "1e-15")
        assert oracle.exact(bounds.upper) - oracle.exact(bounds.lower) < Fraction(1, 1000 if bend == "-1/2" else 20000)


@pytest.mark.theorem("T18-contour-shift", "T06-trapezoidal-enclosure")
@pytest.mark.parametrize("order", ORDERS)
def test_path_and_line_agree(composed: Build, order: str) -> None:
    """Two quadratures of one integral, with a Gaussian step among the sampled ones."""
    loss = composed(order, "1/2", 1, 2, "1/9")
    line = LineWitness(Fraction(2), Fraction(1, 4), 120, (NODES,), (NODES,), Fraction(5), Fraction(0), 90)
    straight, bent = evaluate(loss, line), evaluate(loss, path(Fraction(BEND[order])))
    for epsilon in (Fraction(-1, 4), Fraction(1, 5), Fraction(3)):
        a, b = straight.delta(epsilon), bent.delta(epsilon)
        assert a.lower <= b.upper and b.lower <= a.upper
        for bounds in (a, b):
            assert bounds.upper - bounds.lower < arb("3e-4")


@pytest.mark.theorem("T18-contour-shift", "T05-frequency-truncation")
@pytest.mark.parametrize("order", ["remove", "add"])
def test_a_short_path_is_paid_for_by_its_ray(oracle: ModuleType, composed: Build, order: str) -> None:
    loss = composed(order, "1/2", 1, 2)
    for heights in ((2,), (5,), (3, 5)):
        values = evaluate(loss, path(Fraction(0), heights, (4, 4)))
        for epsilon in ("-1/3", "1/5", "1"):
            exact = oracle.two_step_delta(order, ("0.5", 1), ("0.5", 1), Fraction(epsilon))
            assert oracle.inside(values.delta(Fraction(epsilon)), exact, "1e-15")


@pytest.mark.theorem("T18-contour-shift", "T05-frequency-truncation")
def test_ray_bound_is_nearly_attained(oracle: ModuleType, composed: Build) -> None:
    """A loss of almost no width at eps = 0: the ray left out is e^{-x eps} B / (pi Omega) to a few percent."""
    blocks = [((Fraction(1, 2), Fraction(1)), 3), ((Fraction(1, 2), Fraction(20)), 30)]
    witness = PanelWitness(
        Fraction(1, 2), tuple(Block(end, n, 20, Fraction(2), (), ()) for end, n in blocks), (), 100)
    bounds = evaluate(composed("remove", "1/2", 1, 0, "1/1000000"), witness).delta(Fraction(0))
    exact, ray = oracle.gaussian_delta(Fraction(1, 1000), 0), oracle.exact(bounds.budget["frequency_tail"])
    assert oracle.inside(bounds, exact)
    assert oracle.exact(exact) - oracle.exact(bounds.lower) < ray / 10
    assert oracle.exact(bounds.upper) - oracle.exact(bounds.lower) < ray * 21 / 10


@pytest.mark.theorem("T18-contour-shift", "T05-frequency-truncation")
def test_ray_bound_is_the_formula_and_holds(oracle: ModuleType, composed: Build) -> None:
    """e^{-x eps} B / (pi Omega) with B >= |M(x+iw)| for every w >= Omega."""
    witness = replace(path(Fraction(0), (5,)), ray_nodes=(replace(BOUND, height=Fraction(2)),))
    values = evaluate(composed("remove", "1/2", 1, 2), witness)
    sizes = [abs(oracle.transform("remove", "0.5", 1, oracle.mpmath.mpc(3, w))) ** 2 for w in (5, 6, 9)]
    bound = oracle.real(values.beyond)
    assert max(sizes) <= bound <= 5 * sizes[0]
    found = oracle.real(values.delta(Fraction(2, 5)).budget["frequency_tail"])
    expected = oracle.mp.exp(oracle.mpf("-1.2")) * bound / (5 * oracle.mp.pi)
    assert expected * (1 - oracle.mpf("1e-15")) <= found <= expected * (1 + oracle.mpf("1e-15"))


@pytest.mark.theorem("T12-powers", "T19-line-integral")
def test_rough_nodes_are_paid_for(oracle: ModuleType, composed: Build) -> None:
    """Coarse nodes on the path: the transform errors grow and still cover the truth."""
    exact = oracle.two_step_delta("remove", ("0.5", 1), ("0.5", 1), Fraction(1, 5))
    budgets = []
    for step in ("1/12", "1/4", "1/3"):
        h = Fraction(step)
        rule = NodeRule(Fraction(6, 5), Fraction(6, 5), h, -int(15 / h), int(25 / h))
        fine = path(Fraction(1))
        witness = replace(fine, blocks=tuple(replace(block, nodes=(rule,)) for block in fine.blocks))
        bounds = evaluate(composed("remove", "1/2", 1, 2), witness).delta(Fraction(1, 5))
        assert oracle.inside(bounds, exact, "1e-15")
        budgets.append(bounds.budget["quadrature"])
    assert budgets[0] < budgets[1] < budgets[2]


@pytest.mark.parametrize("change", [
    {"tilt": Fraction(0)}, {"tilt": Fraction(-1)}, {"blocks": ()}, {"ray_nodes": ()}, {"ray_nodes": (BOUND, BOUND)},
    {"prec": 1}])
def test_side_conditions_of_the_path(composed: Build, change: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        evaluate(composed("remove", "1/2", 1, 2), replace(path(Fraction(0)), **change))


@pytest.mark.parametrize("change", [
    {"end": (Fraction(3), Fraction(0))}, {"end": (Fraction(3), Fraction(-2))}, {"panels": 0}, {"points": 1},
    {"ellipse": Fraction(1)}, {"ellipse": Fraction(1, 2)}, {"nodes": ()}, {"bound_nodes": ()}])
def test_side_conditions_of_a_block(composed: Build, change: dict[str, object]) -> None:
    witness = path(Fraction(0))
    broken = replace(witness, blocks=(replace(witness.blocks[0], **change), *witness.blocks[1:]))
    with pytest.raises(InvalidInput):
        evaluate(composed("remove", "1/2", 1, 2), broken)


def test_inadmissible_rules_leave_the_unit_interval(composed: Build) -> None:
    witness = path(Fraction(0))
    high = replace(BOUND, height=Fraction(4))
    for change in ({"nodes": (replace(NODES, height=Fraction(4)),)}, {"bound_nodes": (high,)}):
        broken = replace(witness, blocks=(replace(witness.blocks[0], **change), *witness.blocks[1:]))
        bounds = evaluate(composed("remove", "1/2", 1, 2), broken).delta(Fraction(1, 5))
        assert bounds.lower == 0 and bounds.upper == 1
    blind = replace(witness, ray_nodes=(high,))
    bounds = evaluate(composed("remove", "1/2", 1, 2), blind).delta(Fraction(1, 5))
    assert bounds.lower == 0 and bounds.upper == 1


@pytest.mark.theorem("T12-powers")
def test_errors_are_charged_at_the_smallest_kernel_of_the_ball(composed: Build) -> None:
    """A wide point: its transform's errors count with the largest |weight / (z(z+1))| that it holds."""
    wide = acb(arb(3, 0.5), arb(4, 0.5))
    _, quadrature, node_tail = panels._assemble(
        composed("remove", "1/10", 1), [wide], [acb(2)], [[acb(1)]], [(arb("1e-3"), arb("1e-4"))])
    least = abs(acb(2.5, 3.5) * acb(3.5, 3.5))
    assert quadrature[0] >= arb("1e-3") * 2 / least * (1 - arb("1e-12"))
    assert node_tail[0] >= arb("1e-4") * 2 / least * (1 - arb("1e-12"))
