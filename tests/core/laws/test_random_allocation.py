"""Random allocation: the transform, the hyperbola and the law against quadrature, other contours and adversaries."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx

from verified_dp import Gaussian, RandomAllocation, compose, privacy_profile
from verified_dp.core.engines.closed import ClosedFormWitness
from verified_dp.core.families.allocation.hyperbola import Arm
from verified_dp.core.families.allocation.hyperbola_choice import (
    choose_chords,
    choose_end,
    choose_plan,
    choose_scale,
    start_of,
)
from verified_dp.core.families.allocation.large_round import OneRound
from verified_dp.core.families.allocation.lognormal import (
    EdmundsonMadansky,
    Majorant,
    choose_majorant,
    enclose_centred,
    enclose_chords,
)
from verified_dp.core.families.allocation.lognormal_nodes import Nodes, Rules, choose_strip, enclose_axis, enclose_nodes
from verified_dp.core.families.allocation.on_line import enclose_moments
from verified_dp.core.families.allocation.put import PutValues, evaluate_put, put_values
from verified_dp.core.families.allocation.put_series import enclose_put, expand, power_table
from verified_dp.core.families.allocation.random_allocation import RandomAllocationLoss
from verified_dp.core.kernel.balls import ball, largest, lower_end, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.gaussian import GaussianLoss

F = Fraction
transform = pytest.mark.theorem("T131-lognormal-transform")
hyperbola = pytest.mark.theorem("T132-hyperbola")
allocation = pytest.mark.theorem("T133-random-allocation")
one_round = pytest.mark.theorem("T162-one-large-round")


def phi(z: complex, s: float, angle: float | None = None) -> complex:
    """E e^{-zX} by quadrature on the line where X is turned by an angle, that of z where none is given."""
    turn = (np.angle(z) if angle is None else angle) / s
    u = np.linspace(-14.0, 14.0, 20001) - 1j * turn
    values = np.exp(-u * u / 2 - z * np.exp(s * u - s * s / 2))
    return complex(values.sum() * (28.0 / 20000) / np.sqrt(2 * np.pi))


def nodes_of(s: str, sector: tuple[str, str], sizes: tuple[str, str], bits: int) -> Nodes:
    """A rule for arguments within `half` of the centre and for |z| between two sizes."""
    spread = arb(s)
    strip = choose_strip(spread, arb(sector[0]), arb(sector[1]), bits * arb.const_log2())
    low, high = (arb(size).log() / spread for size in sizes)
    return enclose_nodes(spread, strip, (lower_end(low), upper_end(high)), bits)


@transform
@pytest.mark.parametrize("s", ["0.3", "1", "3"])
def test_nodes_enclose_the_transform(s: str) -> None:
    rng = random.Random(5)
    with ctx.workprec(160):
        for centre, half in [("0", "0.5"), ("1", "0.5"), ("1.75", "0.25")]:
            for sizes in [("1e-4", "1e-3"), ("0.01", "2"), ("2", "50")]:
                nodes = nodes_of(s, (centre, half), sizes, 50)
                angle = float(centre) + float(half) * rng.uniform(-0.99, 0.99)
                z = math.exp(rng.uniform(*map(math.log, map(float, sizes)))) * np.exp(1j * angle)
                found, truth = nodes.enclose(acb(z.real, z.imag)), phi(z, float(s))
                assert abs(complex(found) - truth) < 1e-10 * np.exp((angle / float(s)) ** 2 / 2)
                assert float(found.rad()) < 1e-11


@transform
@pytest.mark.parametrize(("s", "sector"), [("1", ("1", "0.5")), ("0.3", ("1.5", "0.2")), ("3", ("0.9", "0.9"))])
def test_nodes_enclose_at_few_bits(s: str, sector: tuple[str, str]) -> None:
    """A rule with an error that can be seen: the finer rule lies within it, nearly at its edge somewhere."""
    with ctx.workprec(160):
        coarse, fine = (nodes_of(s, sector, ("0.5", "2"), bits) for bits in (4, 60))
        worst = arb(0)
        for n in range(-9, 10):
            for size in ("0.51", "1", "1.99"):
                z = arb(size) * acb(0, arb(sector[0]) + arb(n) / 10 * arb(sector[1])).exp()
                [(value, error)] = coarse.at([z.log()])
                away = (value - fine.enclose(z)).abs_upper()
                assert away <= error
                worst = worst.max(away)
        assert worst > coarse.error / 5000 > 1e-7


@transform
@pytest.mark.parametrize("what", ["ends", "step"])
def test_what_a_rule_leaves_out_costs_what_is_stated(what: str) -> None:
    """Few nodes for one |z|, or steps of 1/2, beside a sharp rule: near the bound somewhere."""
    with ctx.workprec(160):
        spread, nearest, sharp = arb(1), math.inf, nodes_of("1", ("1", "0.5"), ("0.05", "5"), 80)
        strip = choose_strip(spread, arb(1), arb("0.5"), 60 * arb.const_log2())
        strip, bits = (strip, 6) if what == "ends" else (replace(strip, step=arb(1) / 2), 60)
        for size in (0.1, 0.3, 1.0, 3.0):
            place = lower_end(arb(size).log())
            rough = enclose_nodes(spread, strip, (place, place), bits)
            for angle in (0.51, 0.8, 1.0, 1.2, 1.49):
                [(value, error)] = rough.at([acb(place, angle)])
                away = float((value - sharp.enclose(acb(place, angle).exp())).abs_upper())
                assert away <= float(error)
                nearest = min(nearest, float(error) / max(away, 1e-60))
        assert nearest < 1e3


@transform
def test_nodes_know_nothing_outside_of_their_sector_or_their_octaves() -> None:
    nodes = nodes_of("1", ("1", "0.25"), ("0.5", "2"), 30)
    assert not nodes.enclose(acb(1, 0)).is_finite()
    inside = acb(0, 1).exp()
    assert nodes.enclose(inside).is_finite()
    assert not nodes.enclose(3 * inside).is_finite() and not nodes.enclose(inside / 3).is_finite()


@transform
@pytest.mark.parametrize("noise", [F(1, 3), F(1), F(10)])
def test_sectors_and_octaves_cover_every_point(noise: Fraction) -> None:
    """Points in any number of sectors, from tiny to large: a finite error each, and it holds."""
    with ctx.workprec(400):
        rough, sharp = Rules(noise, F(5, 2), 20), Rules(noise, F(5, 2), 60)
        points = [arb(2) ** (n - 30) * acb(0, arb(n) / 16).exp() for n in range(40)]
        for (one, error), (other, less) in zip(rough.at(points), sharp.at(points), strict=True):
            assert (one - other).abs_upper() <= error + less < arb("1e-5")
        assert len(rough.strips) == {F(1, 3): 1, F(1): 1, F(10): 5}[noise]


def chords_of(spread: arb, depth: int, reach: int) -> EdmundsonMadansky:
    """EdmundsonMadansky with an axis from e^-12 to e^8, or to 10 deviations."""
    low, high = (end / spread for end in (arb(-12) - spread**2, arb(8) + 10 * spread))
    return enclose_chords(enclose_axis(spread, (lower_end(low), upper_end(high)), 50), depth, reach)


@transform
@pytest.mark.parametrize("s", [0.1, 1.0, 3.3])
@pytest.mark.parametrize("bits", [6, 50])
def test_the_axis_bounds_the_transform_closely(s: float, bits: int) -> None:
    """Within its range nearly equal at many bits and above at few; outside of it above."""
    spread = arb(s)
    axis = enclose_axis(spread, (arb(-2), arb(3)), bits)
    for place in (-40.0, -6.0, -1.9, -0.3, 1.0, 2.9, 3.1, 9.0):
        rate = math.exp(s * place)
        found, truth = float(axis.bound((spread * arb(place)).exp())), phi(rate, s).real
        assert found >= truth - 1e-13
        assert not -2 <= place <= 3 or found < truth + 3 * 2.0**-bits + 1e-13
        step = 1e-4 * rate
        slope = (phi(rate - step, s).real - phi(rate + step, s).real) / (2 * step * truth)
        mean = float(axis.mean((spread * arb(place)).exp()))
        assert bits == 6 or not -2 <= place <= 3 or abs(mean / slope - 1) < 1e-5
    assert float(axis.bound(arb(0))) == 1


@transform
@pytest.mark.parametrize("s", [0.1, 1.0, 3.3])
def test_chords_bound_convex_functions_closely(s: float) -> None:
    chords = chords_of(arb(s), 8, 14)
    u = np.linspace(-12.0, 14.0, 200001)
    weights = np.exp(-u * u / 2) / np.sqrt(2 * np.pi) * (u[1] - u[0])
    x = np.exp(s * u - s * s / 2)
    for rate in (1e-3, 0.05, 0.7, 3.0):
        for sign, end, share in ((1, 1.5, 0.01), (-1, 1.5, 0.1), (-1, 4.0, 0.1)):
            cut = next(i for i, found in enumerate(chords.cuts) if float(found) == end)
            below = weights[u < end] @ np.exp(sign * rate * x[u < end])
            above = float(chords.bound_below(arb(-sign * rate), cut))
            assert below * (1 - 1e-4) < above and ((sign > 0 and rate > 0.1) or above < below + share * abs(1 - below))


@transform
@pytest.mark.parametrize("s", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("turn", [0.0, 0.6, 1.4])
def test_few_moments_tell_the_transform_near_0(s: float, turn: float) -> None:
    """Within what is stated at every angle, and somewhere missed by a share of it."""
    centred, nearest = enclose_centred(arb(s)), math.inf
    for size in (1e-3, 1e-2, 0.05):
        for angle in np.linspace(0, np.pi / 2 + turn - 1e-6, 9):
            z = size * math.exp(-s * s) * np.exp(1j * angle)
            ball_of_z, truth = acb(z.real, z.imag), phi(z, s, max(0.0, angle - np.pi / 2)) * np.exp(z)
            away = abs(truth - complex(1 + ball_of_z**2 * (centred.second + ball_of_z * centred.third)))
            assert abs(truth) <= float(centred.bound(ball_of_z, arb(turn))) + 1e-12
            stated = float(centred.remainder(ball_of_z, arb(turn)))
            assert away <= stated + 1e-12
            nearest = min(nearest, stated / max(away, 1e-13))
    assert nearest < 2000 * math.exp((turn / s) ** 2 / 2)


@transform
@pytest.mark.parametrize("s", [0.01, 0.05, 0.5])
def test_transforms_far_below_the_rule_s_error_are_bounded_by_chords(s: float) -> None:
    """phi(r), about e^{-r + r^2 s^2/2}, where a rule of few bits is lost: above it, and by less than half a unit."""
    chords = enclose_chords(enclose_axis(arb(s), (arb(-2) / s, arb(6) / s), 24), 20, 30)
    u = np.linspace(-40.0, 40.0, 400001)
    for rate in (1.0, 12.0, 17.0, 30.0, 60.0):
        logs = -u * u / 2 - rate * np.exp(s * u - s * s / 2)
        truth = logs.max() + math.log(np.exp(logs - logs.max()).sum() * (u[1] - u[0]) / math.sqrt(2 * math.pi))
        assert truth - 1e-9 <= float(chords.bound(arb(rate)).log()) < truth + 0.5
        mean = float(chords.mean(arb(rate)))
        slope = float(np.exp(logs - logs.max()) @ np.exp(s * u - s * s / 2) / np.exp(logs - logs.max()).sum())
        assert abs(mean - slope) < 0.2 * (1 - slope) + 1e-6


@transform
@pytest.mark.parametrize("s", [0.4, 1.0, 3.0])
def test_majorants_are_above_everywhere(s: float) -> None:
    """Random turns and cuts at random points of the sector."""
    rng, chords = random.Random(11), chords_of(arb(s), 8, 14)
    for _ in range(150):
        angle = rng.uniform(0.05, 1.05)
        z = 10 ** rng.uniform(-3, 1) * np.exp(1j * rng.uniform(0, np.pi / 2 + angle))
        turn = rng.uniform(0, angle)
        rate, point = z.real * np.cos(turn) + z.imag * np.sin(turn), acb(z.real, z.imag)
        cut = None if rate >= 0 else rng.randrange(4, len(chords.cuts))
        bound = Majorant(chords, arb(angle), arb(turn), cut).log_bound(point)
        assert np.log(abs(phi(z, s))) <= float(bound) + 1e-6
        chosen = choose_majorant(chords, arb(angle), arb(turn), [point])
        assert np.log(abs(phi(z, s))) <= float(chosen.log_bound(point)) + 1e-6


@transform
def test_majorants_are_near_where_it_matters() -> None:
    chords = chords_of(arb(1), 8, 14)
    z = 0.05 * np.exp(1j * (np.pi / 2 + 0.3))
    bound = choose_majorant(chords, arb(0.6), arb(0.05), [acb(z.real, z.imag)]).log_bound(acb(z.real, z.imag))
    assert float(bound) < np.log(abs(phi(z, 1.0))) + 1e-3


def put_by_quadrature(t: int, s: float, strike: float) -> float:
    """t = 1: closed form; t = 2, 3: E put_{t-1}(K - X), the outer integrals by Gauss-Legendre panels in u."""
    if t == 1:
        if strike <= 0:
            return 0.0
        d = (np.log(strike) + s * s / 2) / s
        return float(strike * mpmath.ncdf(d) - mpmath.ncdf(d - s))
    top = (np.log(strike) + s * s / 2) / s
    with mpmath.workdps(20):
        def inner(u: mpmath.mpf) -> mpmath.mpf:
            rest = strike - mpmath.exp(s * u - s * s / 2)
            return mpmath.npdf(u) * put_by_quadrature(t - 1, s, float(rest))
        return float(mpmath.quad(inner, [-9, -4, -2, 0, top - 0.5 if top > 0.6 else top / 2, top], maxdegree=5))


def fraction_of(x: float) -> Fraction:
    return Fraction(x).limit_denominator(10**6)


@hyperbola
@pytest.mark.parametrize(
    ("t", "s", "strike"), [(1, 1.0, 0.3), (1, 2.5, 40.0), (2, 0.5, 1.0), (2, 0.5, 3.5), (2, 2.0, 6.0)])
def test_put_against_quadrature(t: int, s: float, strike: float) -> None:
    with ctx.workprec(60):
        found = evaluate_put(t, 1 / fraction_of(s), fraction_of(strike), 56).enclose(ball(fraction_of(strike)), 2)
        assert float(found.rad()) < 1e-14 * strike
    assert abs(float(found) - put_by_quadrature(t, s, strike)) < 1e-9 * strike


@allocation
@pytest.mark.parametrize("noise", [10, 20, 60, pytest.param(200, marks=pytest.mark.long)])
def test_two_rounds_with_much_noise_against_quadrature(noise: int) -> None:
    """S/2 = A e^{sm}, A = cosh(sd) e^{-s^2/2}, m and d independent N(0, 1/2): E (A e^{sm} - k)_+ in closed form."""
    s, loss = 1 / noise, ComposedLoss("remove", ((RandomAllocationLoss(2, F(noise), "remove"), 1),), F(0))
    d, w = np.polynomial.legendre.leggauss(200)
    d, w = 7 * d, 7 * w * np.exp(-49 * d * d) / math.sqrt(math.pi)
    tail = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)
    for epsilon in (F(0), F(1, 2 * noise), F(1, noise)):
        k, width = math.exp(epsilon), s / math.sqrt(2)
        a = np.cosh(s * d) * math.exp(-s * s / 2)
        place = np.log(a / k) / width
        truth = w @ (a * math.exp(s * s / 4) * tail(place + width) - k * tail(place))
        found = ClosedFormWitness(100).evaluate(loss).delta(epsilon)
        assert abs(float(found.lower) - truth) < 1e-13 and abs(float(found.upper) - truth) < 1e-13
        for relation in ("add", "remove"):
            profile = privacy_profile(compose(RandomAllocation(Gaussian(noise), 2)), relation=relation)
            assert profile.delta(epsilon, digits=6, max_seconds=60).status == "certified"


@allocation
def test_epsilons_of_deltas_that_are_never_reached_and_far_beyond() -> None:
    """Nearly nothing is lost with much noise: 1/2 is not reached. Very small deltas in little time: bounds at least."""
    for relation in ("add", "remove", "zero-out"):
        profile = privacy_profile(compose(RandomAllocation(Gaussian(10), 3)), relation=relation)
        assert profile.epsilon("1/2").upper == 0
        few = profile.delta(100, digits=4, max_seconds=0.5)
        assert 0 <= few.lower <= few.upper < F(1, 10**1000)
        assert profile.delta("1e300", digits=4, max_seconds=0.5).lower == 0


@hyperbola
def test_put_of_three_against_quadrature() -> None:
    with ctx.workprec(60):
        found = evaluate_put(3, F(1), F(2), 56).enclose(arb(2), 2)
    u, w = np.polynomial.legendre.leggauss(300)
    u, w = 9 * u, 9 * w * np.exp(-81 * u * u / 2) / np.sqrt(2 * np.pi)
    x = np.exp(u - 0.5)
    rest = np.maximum(2 - x[:, None] - x[None, :], 1e-12)
    tail = np.vectorize(lambda v: math.erfc(-v / math.sqrt(2)) / 2)
    inner = rest * tail(np.log(rest) + 0.5) - tail(np.log(rest) - 0.5)
    assert abs(float(found) - w @ inner @ w) < 1e-6


@hyperbola
@pytest.mark.parametrize("seed", range(6))
def test_bad_hyperbolas_still_enclose(seed: int) -> None:
    """Any scale, step, number of parts and bits: wide perhaps, never wrong; put, its slope and its density."""
    rng = random.Random(seed)
    t, noise = rng.choice([1, 2, 5, 40]), rng.choice([F(1, 2), F(1), F(3)])
    strike = fraction_of(t * np.exp(rng.uniform(-0.8, 1.2)))
    with ctx.workprec(100):
        good = evaluate_put(t, noise, strike, 56)
        truth = [good.enclose(ball(strike), power) for power in (2, 1, 0)]
    finite = 0
    for _ in range(6):
        with ctx.workprec(64):
            chords = chords_of(1 / ball(noise), 8, rng.randrange(9, 16))
            aim = lower_end(ball(strike) * arb(rng.uniform(0.5, 2.0)))
            chosen = start_of(t, chords, aim).plan(rng.choice([F(3, 4), F(1, 2), F(1, 8)]))
            bits = rng.randrange(10, 50)
            end = chosen.end_at(arb(rng.randrange(4, 60)) / 8, bits)
            values = put_values(chosen, noise, lower_end(arb(rng.uniform(0.02, 0.6))), end, bits)
            for power, exact in zip((2, 1, 0), truth, strict=True):
                found = values.enclose(ball(strike), power)
                assert found.overlaps(exact)
                finite += found.is_finite() and float(found.rad()) < float(ball(strike))
    assert finite


@hyperbola
@pytest.mark.parametrize(("t", "s", "order"), [(10**6, 1.0, 1), (10**6, 1.0, -1), (10**4, 0.5, 1), (10**5, 0.7, -1)])
def test_parts_near_0_bound_the_integrand(t: int, s: float, order: int) -> None:
    """By few moments: above |phi^t e^{Kz}| at random places of random parts of random arms, and near it."""
    rng, near = random.Random(t + order), 0
    with ctx.workprec(64):
        chords, strike = chords_of(arb(s), 8, 14), arb(t) * (1 + order * arb("4.5") * arb(s) / arb(t).sqrt())
        for _ in range(30):
            angle, v, wide = (arb(rng.uniform(*ends)) for ends in ((0.05, 1.3), (0, 3), (0.05, 0.5)))
            scale = arb(rng.uniform(1, 4) / (s * math.sqrt(t)))
            arm = Arm(scale * 2, scale, angle, t, chords)
            bound = largest([size + strike * right for size, right in arm.sizes_near_0(v, v + wide)])
            values = []
            for share in (0.0, rng.random(), 1.0):
                z = arm.point(v + wide * share)
                values.append(float(t * (math.log(abs(phi(complex(z), s)))) + strike * z.real))
            assert max(values) <= float(bound) + 1e-6
            near += float(bound) < max(values) + 2
    assert near >= 5


@hyperbola
def test_errors_are_not_far_from_what_is_stated() -> None:
    """The alias bound is reached within some orders of magnitude: a step twice as wide breaks a bound for the half."""
    with ctx.workprec(64):
        chords, strike = chords_of(arb(1), 8, 12), arb(6)
        chosen = choose_plan(4, chords, strike, 40)
        truth = evaluate_put(4, F(1), F(6), 56).enclose(strike, 2)
        end = choose_end(chosen, 40)
        coarse = put_values(chosen, F(1), arb(1) / 4, end, 60)
        half = put_values(chosen, F(1), arb(1) / 8, end, 60)
        pretended = PutValues(coarse.terms, half.aliases, half.damping, half.dropped, half.share, half.prec)
        assert coarse.enclose(strike, 2).overlaps(truth) and half.enclose(strike, 2).overlaps(truth)
        assert not pretended.enclose(strike, 2).overlaps(truth)


@hyperbola
@pytest.mark.parametrize(("t", "s", "strike"), [
    (100, 1.0, 150.0), (100, 1.0, 60.0), (1000, 0.2, 1010.0), (10**5, 0.7, 99900.0)])
def test_put_on_a_vertical_line(t: int, s: float, strike: float) -> None:
    """A second contour, in floating point: sum_n e^{-cnY} put(K + nY), put(K + nY) nearly K + nY - t for n >= 1."""
    period, c = 4 * strike, 14 / (4 * strike)
    w = 2 * np.pi / period * np.arange(6000)
    u = np.linspace(-12, 12, 1201)
    weights = np.exp(-u * u / 2) / np.sqrt(2 * np.pi) * (u[1] - u[0])
    x = np.exp(s * u - s * s / 2)
    z = c + 1j * w
    terms = (weights @ np.exp(-np.multiply.outer(x, z))) ** t * np.exp(z * strike) / z**2
    r = np.exp(-c * period)
    total = (terms.real.sum() - terms.real[0] / 2) * 2 / period
    expected = total - (strike - t) * r / (1 - r) - period * r / (1 - r) ** 2
    with ctx.workprec(80):
        found = evaluate_put(t, 1 / fraction_of(s), fraction_of(strike), 56).enclose(ball(fraction_of(strike)), 2)
    assert abs(float(found) - expected) < 1e-8 * strike


@hyperbola
@pytest.mark.parametrize("length", [3, 12, 60])
def test_polynomials_enclose_the_sums(length: int) -> None:
    """Of any length and reach: within their own errors of the values that they stand for."""
    with ctx.workprec(80):
        values, middle = evaluate_put(20, F(1), F(30), 56), arb(30)
        reaches = [arb(30) / 8, arb(30) / 32]
        for series in (expand(values, power_table(values, length), middle, reach) for reach in reaches):
            for share in (-1, F(-1, 3), 0, F(1, 2), 1):
                strike = middle + series.reach * ball(F(share))
                for power in (2, 1, 0):
                    found = series.enclose(strike, power)
                    assert found is not None and found.overlaps(values.enclose(strike, power))
        assert series.enclose(middle + 2 * series.reach, 2) is None
        errors = [float(expand(values, power_table(values, length), middle, reach).errors[2]) for reach in reaches]
        assert length == 60 or errors[1] < errors[0] / 3**length


@hyperbola
def test_short_polynomials_need_their_error() -> None:
    """Without what is stated for the cut the polynomial of three terms would miss."""
    with ctx.workprec(80):
        values = evaluate_put(20, F(1), F(30), 56)
        series = expand(values, power_table(values, 3), arb(30), arb(2))
        miss = abs(series.polynomials[2](arb(2)) - values.enclose(arb(32), 2))
        assert 0 < miss <= series.errors[2] and miss > sum(values.bound_errors(arb(30), 2).values(), arb(0))


def curve(t: int, noise: Fraction | SquareRoot, order: str, epsilon: str, bits: int) -> arb:
    with ctx.workprec(bits):
        return RandomAllocationLoss(t, noise, order).enclose_hockey_stick(ball(F(epsilon)))


REFERENCES = [
    (100, F(1), "remove", "0.86", "9.825082414795031597e-7"), (100, F(1), "add", "0.86", "3.047657728542357374e-15"),
    (50, F(3, 2), "add", "0.4", "1.4458760074017783e-6"), (10, F(2), "remove", "0.5", "1.13084995654e-4"),
    (4, F(1), "remove", "2", "6.7903572323579379670e-4"), (100, F(1), "remove", "0.858", "9.9987706e-7"),
]


@allocation
@pytest.mark.parametrize(("t", "noise", "order", "epsilon", "printed"), REFERENCES)
def test_reference_values(t: int, noise: Fraction, order: str, epsilon: str, printed: str) -> None:
    """To the last digit of what another contour gave at two resolutions."""
    mantissa = printed.partition("e")[0].partition(".")[2]
    unit = F(10) ** (int(printed.partition("e")[2]) - len(mantissa))
    found = curve(t, noise, order, epsilon, 160)
    with ctx.workprec(200):
        assert abs(found - ball(F(printed))) <= ball(unit)
        assert found.rad() < ball(unit)


@allocation
@pytest.mark.parametrize("noise", [F(3, 10), F(1), F(5), SquareRoot(F(2))])
@pytest.mark.parametrize("order", ["remove", "add"])
def test_one_round_is_the_gaussian(noise: Fraction | SquareRoot, order: str) -> None:
    variance = noise.square if isinstance(noise, SquareRoot) else noise**2
    law, gaussian = RandomAllocationLoss(1, noise, order), GaussianLoss(1 / variance)
    with ctx.workprec(100):
        for x in (F(-1), F(0), F(1, 3), F(2)):
            assert law.enclose_hockey_stick(ball(x)).overlaps(gaussian.enclose_hockey_stick(ball(x)))
            for found, exact in zip(law.enclose_tails(ball(x)), gaussian.enclose_tails(ball(x)), strict=True):
                assert found.overlaps(exact) and float(found.rad()) < 1e-6
            assert law.enclose_density(ball(x)).overlaps(gaussian.enclose_density(ball(x)))


@allocation
@pytest.mark.parametrize("t", [2, 20])
@pytest.mark.parametrize("order", ["remove", "add"])
def test_monte_carlo(t: int, order: str) -> None:
    rng, s, epsilon = np.random.default_rng(7), 0.8, 0.3
    ratio = np.exp(s * rng.standard_normal((400_000, t)) - s * s / 2).mean(axis=1)
    value = np.maximum(ratio - np.exp(epsilon), 0) if order == "remove" else np.maximum(1 - np.exp(epsilon) * ratio, 0)
    found = float(curve(t, F(5, 4), order, "0.3", 64))
    assert abs(value.mean() - found) < 5 * value.std() / np.sqrt(len(value))


@allocation
@pytest.mark.parametrize(("t", "noise"), [(3, F(3, 10)), (1000, F(10)), (10**6, F(1))])
@pytest.mark.parametrize("order", ["remove", "add"])
def test_tails_and_density_belong_to_the_curve(t: int, noise: Fraction, order: str) -> None:
    """H = P - e^x Q; -Q(L > x) e^x is its slope in x; a difference quotient of P is minus the density."""
    law, width = RandomAllocationLoss(t, noise, order), F(1, 10**6)
    with ctx.workprec(160):
        for x in (F(0), F(1, 200)):
            left, right = (law.enclose_hockey_stick(ball(x + d)) for d in (-width, width))
            _, below = law.enclose_tails(ball(x))
            slope = (right - left) / (2 * ball(width))
            assert abs(slope + below * ball(x).exp()) < 1e-5 * (1 + below)
            sides = [law.enclose_tails(ball(x + d))[0] for d in (-width, width)]
            density = law.enclose_density(ball(x))
            assert abs((sides[0] - sides[1]) / (2 * ball(width)) - density) < 1e-4 * (1 + density)


@allocation
@pytest.mark.parametrize(("t", "noise", "epsilon"), [(2, F(1), "6"), (1000, F(7, 10), "2"), (10**6, F(10), "0.0012")])
def test_small_deltas_agree_at_two_precisions(t: int, noise: Fraction, epsilon: str) -> None:
    for order in ("remove", "add"):
        first, second = curve(t, noise, order, epsilon, 230), curve(t, noise, order, epsilon, 420)
        assert first.overlaps(second) and second.rel_accuracy_bits() > first.rel_accuracy_bits() > 0


@allocation
def test_wide_balls_hold_all_their_points() -> None:
    law = RandomAllocationLoss(30, F(1), "remove")
    wide = law.enclose_hockey_stick(arb(1, "0.01"))
    assert all(wide.overlaps(law.enclose_hockey_stick(arb(x))) for x in (0.99, 0.995, 1, 1.005, 1.01))
    assert law.enclose_hockey_stick(arb.pos_inf()).overlaps(arb(0))


@allocation
def test_moments_are_above() -> None:
    rng, s, t = np.random.default_rng(3), 0.5, 5
    ratio = np.exp(s * rng.standard_normal((400_000, t)) - s * s / 2).mean(axis=1)
    for power in (0.5, 1.0, 1.5, 3.25):
        for order, sample in (("remove", ratio ** (1 + power)), ("add", ratio**-power)):
            bound = float(RandomAllocationLoss(t, F(2), order).enclose_moment(arb(power)).upper())
            assert sample.mean() - 4 * sample.std() / 632 < bound
            assert order == "add" or bound < sample.mean() * 1.02


@allocation
@pytest.mark.parametrize("exponent", [arb("0.999", "0.002"), arb(2, "1e-9")])
def test_moments_of_wide_exponents_hold_all_of_them(exponent: arb) -> None:
    """Across a whole number the chord of log-moments would be below them."""
    law = RandomAllocationLoss(5, F(2), "remove")
    ends = law.enclose_moment(lower_end(exponent)), law.enclose_moment(upper_end(exponent))
    assert all(law.enclose_moment(exponent).upper() >= end.upper() for end in ends)


@allocation
def test_whole_moments_are_exact() -> None:
    """E (S/3)^3 by its 27 terms; beyond the moments that are kept the single round's holds."""
    law = RandomAllocationLoss(3, F(1), "remove")
    with ctx.workprec(100):
        m2, m3 = arb(1).exp(), arb(3).exp()
        expected = (3 * m3 + 18 * m2 + 6) / 27
        assert enclose_moments(3, F(1))[3].overlaps(expected)
        m = [(arb(k * (k - 1)) / 2).exp() for k in range(8)]
        of_two = sum((math.comb(7, k) * m[k] * m[7 - k] for k in range(8)), arb(0)) / 2**7
        assert enclose_moments(2, F(1))[7].overlaps(of_two) and enclose_moments(2, F(1))[7].rel_accuracy_bits() > 80
        assert abs(law.enclose_moment(arb(2)).upper() / expected - 1) < arb("1e-8")
        assert law.enclose_moment(arb(60)).upper() >= arb(60 * 61 / 2).exp()


@one_round
@pytest.mark.parametrize(("t", "noise", "epsilon"), [
    (2, F(1, 10), "70"), (2, F(1), "3"), (100, F(1, 5), "26"), (1000, F(3, 10), "7")])
def test_one_large_round_against_the_hyperbola(t: int, noise: Fraction, epsilon: str) -> None:
    """Above what one round alone gives, and by no more than is stated; the others do add something."""
    with ctx.workprec(400):
        law, strike = RandomAllocationLoss(t, noise, "remove"), t * ball(F(epsilon)).exp()
        found = law.enclose_by_one_round(ball(F(epsilon)))
        assert found is not None
        put = evaluate_put(t, noise, fraction_of(float(strike)), 120).enclose(strike, 2)
        more = (put + t - strike) / t - found[0]
        assert more <= found[1] and (more > 0 or float(found[1] / found[0]) < 1e-15)


@one_round
def test_the_inequalities_hold_for_all_terms() -> None:
    """(S - K)_+ between sum (x - K)_+ and sum (x - K + r)_+ + sum of x where the others exceed r; both sums needed."""
    rng, needed = random.Random(4), set()
    for _ in range(4000):
        x = [F(rng.choice([0, 1, 2, 5, 9, 14])) for _ in range(rng.randrange(2, 5))]
        strike, total = F(rng.randrange(2, 20)), sum(x, F(0))
        r = F(rng.randrange(1, int(strike)))
        middle, low = max(total - strike, F(0)), sum((max(a - strike, F(0)) for a in x), F(0))
        shifted = sum((max(a - strike + r, F(0)) for a in x), F(0))
        others = sum((a for a in x if total - a > r), F(0))
        assert low <= middle <= shifted + others
        needed |= {("low", low == middle > 0), ("shifted", others < middle), ("others", shifted < middle)}
    assert needed >= {("low", True), ("shifted", True), ("others", True)}


@one_round
def test_one_large_round_says_nothing_where_it_is_not_defined() -> None:
    for law in (RandomAllocationLoss(5, F(1), "add"), RandomAllocationLoss(1, F(1), "remove")):
        assert law.enclose_by_one_round(arb(3)) is None
    assert RandomAllocationLoss(2, F(1), "remove").enclose_by_one_round(arb(-3)) is None


@hyperbola
@pytest.mark.parametrize("power", [2, 1, 0])
def test_a_sum_misses_by_no_more_than_its_kinds_of_error(power: int) -> None:
    """At few bits: without what is stated it would miss."""
    with ctx.workprec(80):
        truth = evaluate_put(20, F(1), F(30), 70).enclose(arb(30), power)
        total, errors = evaluate_put(20, F(1), F(30), 4).itemise(arb(30), power)
        assert set(errors) == {"quadrature", "aliasing", "frequency_tail"}
        assert not total.overlaps(truth) and abs(total - truth) <= sum(errors.values(), arb(0))


@hyperbola
def test_blurred_transforms_are_accounted_for() -> None:
    """A rule of a few bits alone, against a sharp one on the same path: the sum moves by less than `quadrature`."""
    with ctx.workprec(80):
        chords, strike = chords_of(arb(1), 8, 12), arb(30)
        chosen = choose_plan(20, chords, strike, 40)
        end = choose_end(chosen, 40)
        rough, sharp = (put_values(chosen, F(1), arb(1) / 16, end, bits) for bits in (1, 60))
        (low, blur), (high, _) = ((total, errors["quadrature"]) for total, errors in
                                  (values.itemise(strike, 2) for values in (rough, sharp)))
        assert not low.overlaps(high) and abs(low - high) <= blur


@allocation
@pytest.mark.parametrize(("order", "epsilon", "sources"), [
    ("remove", "1", {"quadrature", "aliasing", "frequency_tail", "rounding"}),
    ("add", "1", {"quadrature", "aliasing", "frequency_tail", "rounding"}),
    ("remove", "24", {"other_rounds", "rounding"})])
def test_the_width_has_its_sources(order: str, epsilon: str, sources: set[str]) -> None:
    noise = F(1, 20) if epsilon == "24" else F(1)
    bounds = ClosedFormWitness(128).evaluate(
        ComposedLoss(order, ((RandomAllocationLoss(10, noise, order), 1),), F(0))).delta(F(epsilon))
    assert set(bounds.budget) == sources
    assert bounds.upper - bounds.lower <= 2 * sum(bounds.budget.values(), arb(0)) * (1 + arb("1e-9"))


@one_round
@pytest.mark.parametrize("order", ["remove", "add"])
def test_tails_by_one_round_are_those_of_the_contour(order: str) -> None:
    """Both are narrow here: t = 30, noise 1/8, strikes of 0 to 2 deviations of the placed round."""
    law = RandomAllocationLoss(30, F(1, 8), order)
    spread = 1 / ball(F(1, 8))
    with ctx.workprec(256):
        for loss in (28, 36, 44):
            x = arb(loss if order == "remove" else -loss)
            found, strike = law._shared(x), law._strike(x)
            assert found is not None
            put, below = (enclose_put(30, F(1, 8), strike, power, found[1]) for power in (2, 1))
            excess = (put + 30 - strike) / 30
            one = OneRound.at(30, spread, strike)
            assert one is not None
            placed, above = one.enclose_tails()
            least, more = one.enclose_excess()
            assert least <= excess <= least + more
            assert above.overlaps(1 - below) and above.rad() < arb("1e-2") * above
            assert placed.overlaps(excess + strike / 30 * (1 - below)) and placed.rad() < arb("1e-2") * placed


@one_round
@pytest.mark.parametrize("order", ["remove", "add"])
def test_curves_and_tails_join_where_one_round_begins_to_tell(order: str) -> None:
    """t = 100, noise 1/10: on both sides of that place, each with the bits of the other side."""
    law = RandomAllocationLoss(100, F(1, 10), order)
    with ctx.workprec(512):
        sharp = [law.enclose_hockey_stick(arb(x if order == "remove" else -x)) for x in (30, 40, 52)]
    with ctx.workprec(112):
        for x, truth in zip((30, 40, 52), sharp, strict=True):
            place = arb(x if order == "remove" else -x)
            assert law.enclose_hockey_stick(place).overlaps(truth)
            first, second = law.enclose_tails(place)
            assert (first - place.exp() * second).overlaps(truth)
            least = truth if order == "remove" else truth + place.expm1()
            assert law.enclose_hockey_stick(place).rad() < arb("1e-8") * least


@hyperbola
def test_bounds_are_fine_enough_for_deltas_below_all_doubles() -> None:
    """Add, t = 10^4, noise 1/10, delta about 1e-300: phi(c)^t bounded within a factor of e."""
    with ctx.workprec(64):
        strike = 10**4 * (arb("-39.4415")).exp()
        chords = choose_chords(10**4, F(1, 10), strike)
        scale = choose_scale(10**4, chords, strike)
        truth = evaluate_transform(scale)
        assert truth <= chords.bound(scale) and 10**4 * (chords.bound(scale) / truth).log() < 1


def evaluate_transform(rate: arb) -> arb:
    """phi at s = 10 by nodes."""
    size = float(rate)
    return nodes_of("10", ("0", "0.5"), (str(size / 2), str(2 * size)), 50).enclose(acb(rate)).real


@hyperbola
def test_delta_of_1e_300_against_another_contour() -> None:
    """The vertical line through the saddle, in doubles with logarithms of phi."""
    rounds, s, epsilon = 10**4, 10.0, 39.4415
    law = RandomAllocationLoss(rounds, F(1, 10), "add")
    with ctx.workprec(128):
        value, errors = law.itemise_hockey_stick(arb(str(epsilon)))
        assert sum(errors.values(), arb(0)) < arb("1e-12") * value
        found = float(value.log())
    assert abs(found - log_add_delta(rounds, s, epsilon)) < 1e-6


def log_add_delta(rounds: int, s: float, epsilon: float) -> float:
    """log of e^eps put(K) / t, put(K) = (1/2 pi) int phi(c+iw)^t e^{(c+iw)K} / (c+iw)^2 dw, by w = c sinh v."""
    u = np.linspace(-12.0, 12.0, 60001)
    density = np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    strike, log_ratio = rounds * math.exp(-epsilon), s * u - s * s / 2

    def log_phi(z: complex) -> complex:
        ratio = np.exp(np.minimum(log_ratio, 700.0 - abs(np.log(abs(z)))))
        return complex(np.log((density * np.exp(-z * ratio)).sum()))

    places = np.linspace(0.0, 120.0, 481)
    c = math.exp(places[int(np.argmin([math.exp(y) * strike + rounds * log_phi(math.exp(y)).real - 2 * y
                                       for y in places if math.exp(y) * strike < 1e4]))])
    top = rounds * log_phi(c).real + c * strike
    v = np.arange(0.0, 0.8, 0.0025)
    z = c + 1j * c * np.sinh(v)
    terms = [(np.exp(rounds * log_phi(w) + w * strike - top) / w**2 * c * math.cosh(x)).real
             for w, x in zip(z, v, strict=True)]
    total = (sum(terms) - terms[0] / 2) * 0.0025 / math.pi
    return top + math.log(total) + epsilon - math.log(rounds)
