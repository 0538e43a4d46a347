"""The lattice method: every step of it against exact rational arithmetic, and the whole against the contour."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from flint import arb, ctx, fmpz_poly

from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.engines.grid import LawGrid
from verified_dp.core.engines.lattice import (
    Above,
    Below,
    LatticeWitness,
    Measure,
    compose,
    compose_infinity,
    enclose_finite_part,
    multiply,
    products,
    shorten,
    tilt_masses,
)
from verified_dp.core.families.finite.atomic import OddsLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.witnesses import evaluate
from verified_dp.search.deadline import Budget
from verified_dp.search.lattice import choose_windows, plan_lattice
from verified_dp.search.lattice_model import LatticeModel
from verified_dp.search.one_direction import OneDirection

WIDE = (-10**6, 10**6)
Masses = dict[int, Fraction]


def witness(tilt: object = "1/2", step: object = "1/10", bits: int = 40, windows: tuple[tuple[int, int], ...] = (),
            prec: int = 128) -> LatticeWitness:
    return LatticeWitness(Fraction(step), Fraction(tilt), bits, (LawGrid(-2, ((4, 1),)),), windows, prec)


def weight(measure: Measure, index: int) -> int:
    n = index - measure.low
    return int(measure.weights[n]) if n >= 0 else 0


def masses_of(measure: Measure, w: LatticeWitness) -> dict[int, arb]:
    """The untilted masses."""
    return {measure.low + n: ball(Fraction(int(c))) * arb((1, measure.exponent))
            * (-ball(w.tilt * w.step * (measure.low + n))).exp() for n, c in enumerate(measure.weights.coeffs()) if c}


def tail(masses: dict[int, arb], index: int) -> arb:
    return sum((m for i, m in masses.items() if i >= index), arb(0))


def random_measure(rng: random.Random, low: int, size: int, exponent: int) -> Measure:
    weights = [rng.choice((0, 1, 1)) * rng.getrandbits(rng.choice((3, 30, 60))) for _ in range(size)]
    return Measure(fmpz_poly([*weights, 1 + rng.getrandbits(20)]), low, exponent, arb(0))


@pytest.mark.theorem("T28-tilted-rounding")
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


@pytest.mark.theorem("T28-tilted-rounding")
@pytest.mark.parametrize("value", ["0", "1/3", "5", "123456789/7", "1/1000000"])
def test_integers_are_on_their_side(value: str) -> None:
    exact = Fraction(value)
    with ctx.workprec(80):
        x = ball(exact)
    assert Above.integer(x) == math.ceil(exact) and Below.integer(x) == math.floor(exact)
    assert Below.integer(arb(-3)) == 0 and Below.integer(arb(0, 5)) == 0


@pytest.mark.theorem("T28-tilted-rounding")
@pytest.mark.parametrize("tilt", ["0", "1/2", "40"])
def test_tilted_weights_stand_for_the_masses(tilt: str) -> None:
    vertices, w = [-7, -3, -2, 0, 4, 9], witness(tilt)
    exact = [Fraction(n * n + 1, 97) for n in range(6)]
    with ctx.workprec(w.prec):
        for side in (Above, Below):
            measure = tilt_masses(side, [(i, ball(m)) for i, m in zip(vertices, exact, strict=True)], w)
            assert w.bits - 1 <= int(measure.weights(1)).bit_length() <= w.bits + 1
            found = masses_of(measure, w)
            unit = arb((1, measure.exponent))
            for i, m in zip(vertices, exact, strict=True):
                gap = (found.get(i, arb(0)) - ball(m)) * (1 if side is Above else -1)
                assert gap > -arb("1e-30")
                assert gap < unit * (-ball(w.tilt * w.step * i)).exp()


@pytest.mark.theorem("T28-tilted-rounding")
@pytest.mark.parametrize("side", [Above, Below])
def test_shortened_measures_keep_their_side(side: type[Above] | type[Below]) -> None:
    w, rng = witness("3"), random.Random(5)
    measure = random_measure(rng, -4, 30, -60)
    with ctx.workprec(w.prec):
        short = shorten(side, measure, 12)
        assert int(short.weights(1)).bit_length() <= 12 + 3
        before, after = masses_of(measure, w), masses_of(short, w)
        for index in range(-5, 40):
            gap = tail(after, index) - tail(before, index)
            assert gap >= -arb("1e-30") if side is Above else gap <= arb("1e-30")


@pytest.mark.theorem("T29-window-cut")
@pytest.mark.parametrize("window", [(-2, 5), (0, 0), (-30, 3), (4, 60), (-40, -20), (40, 50), (-40, 60)])
@pytest.mark.parametrize("tilt", ["1/2", "9"])
def test_cut_mass_goes_to_the_safe_side(window: tuple[int, int], tilt: str) -> None:
    """Tails grow (up to what is lost) above and fall below, and nothing else moves."""
    w, rng = witness(tilt), random.Random(window[0] * 7 + window[1])
    measure = random_measure(rng, -9, 25, -70)
    with ctx.workprec(256):
        ratio = (-ball(w.tilt * w.step)).exp()
        high, low = Above.cut(measure, window, ratio), Below.cut(measure, window, ratio)
        before = masses_of(measure, w)
        above, below = masses_of(high, w), masses_of(low, w)
        assert all(window[0] <= i <= window[1] for i in [*above, *below])
        small = arb("1e-60") * tail(before, -100)
        for index in range(-50, 70):
            assert tail(above, index) + high.lost > tail(before, index) - small
            assert tail(below, index) < tail(before, index) + small
        assert all(weight(measure, i) == weight(m, i) for m in (high, low) for i in range(window[0] + 1, window[1]))
        assert abs(high.lost - tail(before, window[1] + 1)) < small + tail(before, -100) * arb("1e-50")
        ulp = arb((1, measure.exponent))
        moved = (tail(below, -100), tail(before, window[0]))
        assert moved[0] > moved[1] - ulp * ratio ** window[1] - small, "what is right of the window is kept at its edge"
        kept = tail(above, -100) + high.lost
        assert kept < tail(before, -100) + ulp * ratio ** window[0] + small, "nothing is counted twice"


@pytest.mark.theorem("T29-window-cut")
@pytest.mark.parametrize(("start", "above", "below"), [
    (-9, {-3: 1, 0: 2, 5: 4}, {-3: 1, 0: 2, 5: 4}), (-1, {-1: 1, 0: 2, 5: 4}, {0: 2, 5: 4}),
    (5, {5: 7}, {5: 4}), (8, {8: 7}, {8: 0})])
def test_single_steps_start_at_the_safe_side(start: int, above: dict[int, int], below: dict[int, int]) -> None:
    for side, expected in ((Above, above), (Below, below)):
        found: dict[int, arb] = {}
        for i, mass in side.gather([-3, 0, 5], [arb(1), arb(2), arb(4)], start):
            found[i] = found.get(i, arb(0)) + mass
        assert found.keys() == expected.keys() and all(found[i] == arb(expected[i]) for i in found)


def exact_composition(steps: list[Masses], counts: list[int]) -> Masses:
    total: Masses = {0: Fraction(1)}
    for step, count in zip(steps, counts, strict=True):
        for _ in range(count):
            new: Masses = {}
            for (i, p), (j, q) in product(total.items(), step.items()):
                new[i + j] = new.get(i + j, Fraction(0)) + p * q
            total = new
    return total


STEPS: list[Masses] = [{-3: Fraction(1, 7), 0: Fraction(3, 7), 2: Fraction(2, 7)},
                       {-1: Fraction(1, 3), 1: Fraction(5, 9)}]


@pytest.mark.theorem("T30-lattice-composition")
@pytest.mark.parametrize("counts", [[1, 1], [5, 1], [6, 3], [7, 2]])
@pytest.mark.parametrize("window", [WIDE, (-9, 8), (-3, 2)])
@pytest.mark.parametrize("tilt", ["0", "4"])
def test_composition_brackets_the_exact_one(counts: list[int], window: tuple[int, int], tilt: str) -> None:
    number = sum(1 for _ in products(counts))
    w = witness(tilt, bits=20, windows=(window,) * number)
    exact = exact_composition(STEPS, counts)
    size = 2 * max(map(abs, exact)) if window == WIDE else 0
    w = replace(w, windows=((-size, size),) * number) if size else w
    with ctx.workprec(w.prec):
        results = []
        for side in (Above, Below):
            steps = [tilt_masses(side, [(i, ball(m)) for i, m in step.items()], w) for step in STEPS]
            results.append(compose(side, steps, counts, w))
        high, low = (masses_of(result, w) for result in results)
        for index in range(min(exact) - 2, max(exact) + 3):
            true = ball(sum((m for i, m in exact.items() if i >= index), Fraction(0)))
            assert tail(high, index) + results[0].lost > true - arb("1e-25")
            assert tail(low, index) < true + arb("1e-25")
        if size:
            at = Fraction(-1, 20)
            both = [enclose_finite_part(result, at, w) for result in results]
            assert abs(both[0] - both[1]) < arb("0.001") and results[0].lost == 0


@pytest.mark.theorem("T30-lattice-composition")
def test_lost_mass_adds_up() -> None:
    w = witness(windows=(WIDE,))
    a, b = (Measure(fmpz_poly([5, 6]), 0, -10, arb(lost)) for lost in (1, 2))
    with ctx.workprec(w.prec):
        assert multiply(Above, a, b, (0, 2), w).lost >= 3
        assert multiply(Above, b, a, (0, 0), w).lost > 3


@pytest.mark.theorem("T31-lattice-delta", "T29-window-cut")
@pytest.mark.parametrize("cut", ["1/2", "3/4", "9/10"])
def test_narrow_windows_only_cost_width(composed: Callable[..., ComposedLoss], cut: str) -> None:
    """A large part of the mass is lost to infinity, and the enclosure still holds delta."""
    loss = composed("remove", "1/10", 1, 20)
    plan = plan_lattice(LatticeModel(loss), 0.5, 1e-3)
    assert plan.witness is not None
    windows = tuple((low, min(high, int(Fraction(cut) / plan.step))) for low, high in plan.witness.windows)
    bounds = evaluate(loss, replace(plan.witness, windows=windows)).delta(Fraction(1, 2))
    narrow = OneDirection(loss).enclose(Fraction(1, 2), 40.0, "contour", Budget(60)).bounds
    assert bounds.lower <= narrow.upper and narrow.lower <= bounds.upper
    assert bounds.budget["truncation"] > narrow.lower / 20


@pytest.mark.theorem("T31-lattice-delta")
def test_mass_that_is_at_infinity_anyway_is_not_lost() -> None:
    loss = ComposedLoss("symmetric", ((OddsLoss(Fraction(1, 10), Fraction(1, 100), 0), 3),), Fraction(0))
    plan = plan_lattice(LatticeModel(loss), 0.1, 1e-3)
    assert plan.witness is not None
    bounds = evaluate(loss, plan.witness).delta(Fraction(1, 10))
    assert bounds.lower >= 1 - arb("0.99") ** 3 - arb("1e-12") and bounds.budget["truncation"] < arb("1e-4")


@pytest.mark.theorem("T30-lattice-composition")
def test_products_are_the_powering() -> None:
    assert list(products([1])) == []
    assert list(products([6, 1, 2])) == [(2, 0, 0), (3, 0, 0), (6, 0, 0), (0, 0, 2), (6, 1, 0), (6, 1, 2)]


@pytest.mark.theorem("T30-lattice-composition")
def test_infinity_masses_compose() -> None:
    masses, counts = [Fraction(1, 10), Fraction(0), Fraction(1, 7)], [3, 5, 2]
    exact = 1 - Fraction(9, 10) ** 3 * Fraction(6, 7) ** 2
    with ctx.workprec(128):
        assert abs(compose_infinity([ball(m) for m in masses], counts) - ball(exact)) < arb("1e-35")


@pytest.mark.theorem("T31-lattice-delta")
@pytest.mark.parametrize("epsilon", ["-5", "-1/10", "0", "1/20", "1/10", "3/2", "100"])
@pytest.mark.parametrize("tilt", ["0", "7/2"])
def test_delta_is_the_direct_sum(epsilon: str, tilt: str) -> None:
    w, eps = witness(tilt), Fraction(epsilon)
    measure = random_measure(random.Random(3), -12, 40, -70)
    with ctx.workprec(w.prec):
        masses = masses_of(measure, w)
        direct = sum((m * (1 - ball(eps - w.step * i).exp()) for i, m in masses.items() if w.step * i > eps), arb(0))
        found = enclose_finite_part(measure, eps, w)
        assert found.overlaps(direct) and abs(found - direct) <= arb("1e-20") * (1 + abs(direct))


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


@pytest.mark.theorem("T31-lattice-delta", "T26-connect-the-dots", "T27-convex-minorant")
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
@pytest.mark.theorem("T31-lattice-delta")
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


@pytest.mark.theorem("T31-lattice-delta")
def test_tiny_delta_keeps_its_relative_accuracy(composed: Callable[..., ComposedLoss]) -> None:
    """One Gaussian of mu = 1 at eps = 30: delta is about 1e-193."""
    loss = composed("remove", "1/2", 1, 0, 1)
    lower, upper, _ = solve(loss, 30, 1e-2)
    exact = evaluate(loss, ClosedFormWitness(900)).delta(Fraction(30))
    assert lower <= exact.upper and exact.lower <= upper
    assert upper < arb("1e-150") and upper - lower <= arb("0.011") * upper


@pytest.mark.theorem("T32-chernoff-window")
@pytest.mark.parametrize(("order", "q", "s", "count", "shift", "eps"), CASES[:4])
def test_windows_cost_a_small_share(composed: Callable[..., ComposedLoss], order: str, q: str, s: str, count: int,
                                    shift: str, eps: str) -> None:
    loss = composed(order, q, s, count, shift)
    model, width = LatticeModel(loss), 1e-3
    plan = plan_lattice(model, float(Fraction(eps)), width)
    assert plan.witness is not None
    bounds = evaluate(loss, plan.witness).delta(Fraction(eps))
    wide = replace(plan.witness, windows=tuple((2 * low - 200, 2 * high + 200) for low, high in plan.witness.windows))
    wider = evaluate(loss, wide).delta(Fraction(eps))
    assert bounds.upper <= wider.upper + arb(width / 4) * bounds.upper
    assert bounds.lower >= wider.lower - arb(width / 4) * bounds.upper
    windows, _ = choose_windows(model, float(Fraction(eps)), model.saddle(float(Fraction(eps))), plan.step, width)
    narrow, _ = choose_windows(model, float(Fraction(eps)), model.saddle(float(Fraction(eps))), plan.step, 0.5)
    assert all(a <= b and d <= c for (a, c), (b, d) in zip(windows, narrow, strict=True))


@pytest.mark.parametrize("change", [{"step": Fraction(0)}, {"tilt": Fraction(-1)}, {"bits": 120}, {"grids": ()},
                                    {"windows": ()}, {"windows": ((5, 4),)}, {"grids": (LawGrid(1, ((4, 1),)),)}])
def test_side_conditions(composed: Callable[..., ComposedLoss], change: dict[str, object]) -> None:
    good = witness(windows=((-20, 20),))
    loss = composed("remove", "1/10", 1, 2)
    assert good.applies(loss)
    bad = replace(good, **change)  # type: ignore[arg-type]
    assert not bad.applies(loss)
    with pytest.raises(InvalidInput):
        evaluate(loss, bad)
