"""Powers and products of enclosed transforms: exact containment, and the bound of what errors can add."""

from __future__ import annotations

import cmath
import random
from dataclasses import replace
from fractions import Fraction
from types import ModuleType

import pytest
from flint import acb, arb, ctx

from verified_dp.core.engines.powers import Column, enclose_products
from verified_dp.core.engines.shared import cut, enclose_power, turned_sum
from verified_dp.core.kernel.balls import ball


def exact_power(x: Fraction, y: Fraction, count: int) -> tuple[Fraction, Fraction]:
    real, imaginary = Fraction(1), Fraction(0)
    for _ in range(count):
        real, imaginary = real * x - imaginary * y, real * y + imaginary * x
    return real, imaginary


def contains(box: acb, x: Fraction, y: Fraction, oracle: ModuleType) -> bool:
    return all(oracle.exact(part.lower()) <= value <= oracle.exact(part.upper())
               for part, value in ((box.real, x), (box.imag, y)))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16, 17, 50])
@pytest.mark.parametrize(
    ("x", "y"), [("3/4", "1/8"), ("-3/4", "1/8"), ("-3/4", "0"), ("0", "-1/2"), ("0", "0")])
def test_power_contains_the_power(oracle: ModuleType, x: str, y: str, count: int) -> None:
    for prec in (30, 200):
        with ctx.workprec(prec):
            box = enclose_power(acb(ball(Fraction(x)), ball(Fraction(y))), count)
            assert contains(box, *exact_power(Fraction(x), Fraction(y), count), oracle)
            if (x, y) != ("0", "0"):
                assert box.abs_upper() - box.abs_lower() <= box.abs_upper() * arb(2) ** (12 - prec)


def test_power_of_a_wide_ball_contains_every_power(oracle: ModuleType) -> None:
    """Balls that hold 0, touch the negative axis, or are wide: every point's power stays inside."""
    rng = random.Random(1)
    for _ in range(200):
        x, y, r = (Fraction(rng.randint(-64, 64), 64) for _ in range(3))
        count = rng.choice([1, 2, 3, 10, 16, 17, 33])
        with ctx.workprec(80):
            exact = [arb((int(v * 64), -6)) for v in (x, y, abs(r))]
            box = enclose_power(acb(arb(exact[0], exact[2]), arb(exact[1], exact[2])), count)
            for _ in range(4):
                dx, dy = (abs(r) * Fraction(rng.randint(-8, 8), 8) for _ in range(2))
                assert contains(box, *exact_power(x + dx, y + dy, count), oracle)


def test_huge_power_loses_log_k_bits() -> None:
    with ctx.workprec(200):
        count = 10**12
        power = enclose_power((acb(0, 1) / 3).exp() * (1 + arb(1) / count), count)
        expected = (acb(0, 1) / 3 * count).exp() * ((1 + arb(1) / count).log() * count).exp()
        assert power.overlaps(expected)
        assert power.real.rad() < arb(2) ** (-200 + 60)


@pytest.mark.theorem("T12-powers")
@pytest.mark.parametrize(("size", "error", "count"), [
    (0.8, 1e-12, 1000), (1.3, 1e-9, 40), (0.5, 0.01, 3), (0.02, 0.5, 5), (0.999, 1e-3, 1000), (0.7, 0.3, 1)])
def test_error_of_a_power_is_bounded_by_the_extremal_phase(size: float, error: float, count: int) -> None:
    """sup over |d| = e of |(v+d)^k - v^k| is attained at d = e v/|v|; no random d may exceed the bound."""
    value = size * cmath.exp(1.1j)
    with ctx.workprec(200):
        quadrature, tails = enclose_products([Column([acb(value)], arb(error), arb(0), count)]).bound_errors([arb(1)])
        extremal = (arb(size) + arb(error)) ** count - arb(size) ** count
        assert tails == 0 and quadrature >= extremal * (1 - arb("1e-14"))
        rng = random.Random(2)
        for _ in range(100):
            phase = 1.1 + rng.uniform(-0.3, 0.3)
            d = acb(error) * (acb(0, 1) * phase).exp()
            moved = (acb(value) + d) ** count - acb(value) ** count
            assert moved.abs_lower() <= quadrature
        if count * error < 1e-3 * size:
            assert quadrature <= extremal * arb("1.001")
        assert quadrature <= count * error * (arb(size) + arb(error)) ** (count - 1) * arb("1.0001")


@pytest.mark.theorem("T12-powers")
def test_error_of_a_product_is_bounded_and_split_by_source() -> None:
    """Two laws and a Gaussian factor: the extremal phases of all errors together, and each source alone."""
    values, counts = (0.9 * cmath.exp(0.3j), 0.6 * cmath.exp(-2j)), (20, 3)
    errors = ((1e-8, 3e-8), (2e-8, 0.0))
    exponent = acb("-0.25", "2")
    with ctx.workprec(150):
        parts = [Column([acb(v)], arb(a), arb(b), k)
                 for v, (a, b), k in zip(values, errors, counts, strict=True)]
        products = enclose_products(parts, [exponent])
        product, (quadrature, tails) = products.values[0], products.bound_errors([arb(1)])
        expected = acb(values[0]) ** 20 * acb(values[1]) ** 3 * exponent.exp()
        assert product.overlaps(expected) and product.real.rad() < arb(2) ** -130

        def moved(source: int) -> arb:
            grown = exponent.exp()
            for v, e, k in zip(values, errors, counts, strict=True):
                shift = e[source] if source < 2 else sum(e)
                grown *= (acb(v) * (1 + arb(shift) / abs(acb(v)))) ** k
            return abs(grown - expected)

        assert moved(0) <= quadrature <= moved(0) * arb("1.0001")
        assert moved(1) <= tails <= moved(1) * arb("1.0001")
        assert moved(2) <= quadrature + tails


@pytest.mark.theorem("T12-powers")
def test_no_error_is_no_error() -> None:
    with ctx.workprec(100):
        column = Column([acb("0.5")], arb(0), arb(0), 10**6)
        quadrature, tails = enclose_products([column], [acb(0)]).bound_errors([arb(1)])
        assert quadrature == 0 and tails == 0


@pytest.mark.theorem("T12-powers")
def test_unknown_transform_is_an_infinite_error() -> None:
    with ctx.workprec(100):
        quadrature, _ = enclose_products([Column([acb("0.5")], arb.pos_inf(), arb(0), 2)]).bound_errors([arb(1)])
        assert not quadrature.is_finite()


@pytest.mark.theorem("T12-powers")
def test_errors_of_a_weighted_sum_are_those_at_its_points() -> None:
    """Three points, two laws: the weighted errors one by one, and their sum."""
    with ctx.workprec(100):
        columns = [Column([acb("0.5"), acb("0.9", "0.1"), acb("0.1")], arb("1e-9"), arb("1e-7"), 40),
                   Column([acb("0.7"), acb("0.2"), acb("-0.4")], arb("1e-8"), arb(0), 3)]
        weights = [arb(1), arb(2), arb("0.25")]
        products = enclose_products(columns)
        each = [enclose_products([replace(column, values=column.values[i:i + 1]) for column in columns]).bound_errors(
            [weight]) for i, weight in enumerate(weights)]
        for found, expected in zip(zip(*each, strict=True), products.bound_errors(weights), strict=True):
            assert abs(sum(found, arb(0)) / expected - 1) < arb("1e-15")


@pytest.mark.theorem("T12-powers")
def test_columns_of_one_count_are_multiplied_first() -> None:
    """Many turning factors at two points, some of equal counts: the product of single powers, no box much wider."""
    rng = random.Random(3)
    rows = [[cmath.exp(complex(rng.uniform(-0.1, 0.1), rng.uniform(-3, 3))) for _ in range(2)] for _ in range(101)]
    counts = [rng.choice([1, 1, 1, 4]) for _ in rows]
    with ctx.workprec(120):
        columns = [Column([acb(x) for x in row], arb(0), arb(0), k) for row, k in zip(rows, counts, strict=True)]
        for i, product in enumerate(enclose_products(columns, [acb(0), acb("0.5", 1)]).values):
            logs = sum((k * acb(row[i]).log() for row, k in zip(rows, counts, strict=True)), acb(0))
            assert product.overlaps((logs + (acb(0), acb("0.5", 1))[i]).exp())
            assert product.real.rad() <= product.abs_upper() * arb(2) ** -95


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17, 100, 1001])
def test_turned_sums(count: int) -> None:
    """Of unit terms at a unit turn: the geometric series, with radii that grow as those of the powers do."""
    with ctx.workprec(128):
        turn = acb(0, arb(1) / 3).exp()
        found, true = turned_sum(cut([acb(1)] * count), turn), (1 - turn**count) / (1 - turn)
        assert found.overlaps(true) and float(found.rad()) < 3e-38 * count**2
