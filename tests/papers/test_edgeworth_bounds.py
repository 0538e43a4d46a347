"""Untilted moments of every law, and sums' distributions against Edgeworth expansions with proved errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log10

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf
from scipy.stats import binom, norm

from verified_dp.core.engines.smoothed import EdgeworthSum, Smoothed
from verified_dp.core.engines.tilted_moments import tabulate_moments
from verified_dp.core.families.batches.fixed_batch import FixedBatchLoss
from verified_dp.core.families.finite.atomic import FiniteLoss, OddsLoss
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.laplace import BoundedRangeLoss, LaplaceLoss
from verified_dp.core.families.sampling.sampled import SampledLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import Law
from verified_dp.papers.edgeworth.choose import choose_sums
from verified_dp.papers.saddlepoint.bounds_moments import enclose_moments
from verified_dp.search.expansion import PREC, untilted_rule

SMOOTHING = pytest.mark.theorem("T170-edgeworth-smoothing")

Expectation = Callable[[Callable[[np.ndarray], np.ndarray]], float]
"""f -> E_P[f(L); L < inf] in floating point."""
Density = Callable[[np.ndarray], np.ndarray]


def on_line(p: Density, q: Density, kinks: list[float]) -> Expectation:
    """From two densities on a line, by Gauss-Legendre quadrature on many panels between the kinks."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.unique(np.concatenate([np.linspace(a, b, 2000) for a, b in pairwise(kinks)]))
    half = np.diff(edges) / 2
    t = ((edges[:-1] + edges[1:]) / 2)[:, None] + half[:, None] * nodes
    mass, loss = p(t) * half[:, None] * weights, np.log(p(t)) - np.log(q(t))
    return lambda f: float((mass * f(loss)).sum())


def laplace(mean: float) -> Density:
    return lambda t: np.exp(-np.abs(t - mean)) / 2


def mixed(share: float, first: Density, second: Density) -> Density:
    return lambda t: (1 - share) * first(t) + share * second(t)


def normal(mean: float, s: float) -> Density:
    return lambda t: np.exp(-((t - mean) ** 2) / (2 * s * s)) / (s * np.sqrt(2 * np.pi))


def finite(masses: tuple[tuple[Fraction, Fraction], ...]) -> Expectation:
    p, q = np.array([(float(p), float(q)) for p, q in masses if p and q]).T
    return lambda f: float((p * f(np.log(p / q))).sum())


def cases() -> Iterator[tuple[Law, Expectation]]:
    q, s, wide, outer = Fraction(1, 5), Fraction(3, 2), [-30.0, 0.0, 30.0], [-40.0, 0.0, 1.0, 40.0]
    plain = normal(0, 1.5)
    shifted, back = mixed(0.2, plain, normal(1, 1.5)), mixed(0.2, plain, normal(-1, 1.5))
    yield SampledGaussianLoss(q, s, "remove"), on_line(shifted, plain, wide)
    yield SampledGaussianLoss(q, s, "add"), on_line(plain, shifted, wide)
    yield SampledGaussianLoss(q, s, "symmetric"), on_line(shifted, back, wide)
    half = Fraction(1, 2)
    mixture = MixtureLoss(Fraction(1), ((Fraction(0), half), (Fraction(2), half)), ((Fraction(0), 2 * half),), "remove")
    yield mixture, on_line(mixed(0.5, normal(0, 1), normal(2, 1)), normal(0, 1), [-25.0, 0.0, 25.0])
    yield LaplaceLoss(Fraction(1)), on_line(laplace(1), laplace(0), outer)
    both = mixed(0.2, laplace(0), laplace(1))
    yield SampledLoss(LaplaceLoss(Fraction(1)), q, "remove"), on_line(both, laplace(0), outer)
    yield SampledLoss(LaplaceLoss(Fraction(1)), q, "add"), on_line(laplace(0), both, outer)
    masses = ((half, q), (Fraction(1, 3), half), (Fraction(1, 6), Fraction(0)), (Fraction(0), Fraction(3, 10)))
    yield FiniteLoss(masses, "remove"), finite(masses)

    def ranged(x: np.ndarray) -> np.ndarray:
        return np.exp((x - 1) / 2) / (2 * (1 - np.exp(-1)))

    yield BoundedRangeLoss(Fraction(1)), on_line(ranged, lambda x: np.exp(-x) * ranged(x), [-1.0, 1.0])



def untilted(law: Law, tilt: int, order: int = 8):
    """The law's moments at tilt 0 or -1."""
    loss = ComposedLoss(law.order, ((law, 1),), Fraction(0))
    table = tabulate_moments(loss, [untilted_rule(law, 1, order)], PREC)
    return enclose_moments(table, 0, arb(tilt), order)


@pytest.mark.theorem("T103-loss-moments", "T94-tilted-moments")
@pytest.mark.parametrize("tilt", [0, -1])
@pytest.mark.parametrize("case", list(cases()), ids=lambda case: f"{type(case[0]).__name__}-{case[0].order}")
def test_moments_of_every_law(case: tuple[Law, Expectation], tilt: int) -> None:
    law, expect = case
    found = untilted(law, tilt)
    mass, centre = expect(lambda x: np.exp(tilt * x)), float(found.centre)
    pairs = [(found.mass, mass)]
    for j, value in enumerate(found.values, 1):
        pairs.append((value, expect(lambda x, j=j: np.exp(tilt * x) * (x - centre) ** j) / mass))
    for enclosed, true in pairs:
        assert abs(enclosed - arb(true)) < arb("1e-9") + 2e-7 * abs(enclosed)
        assert enclosed.rad() < arb("1e-7") * (1 + abs(enclosed))


@pytest.mark.theorem("T94-tilted-moments")
@pytest.mark.parametrize("tilt", [Fraction(-3), Fraction(-1), Fraction(-1, 2), Fraction(0), Fraction(4)], ids=str)
def test_the_error_of_the_nodes_covers_them_at_any_tilt(tilt: Fraction) -> None:
    """A rule of few nodes on a narrow strip: the moments are wrong, and the truth stays inside."""
    law, expect = next((law, expect) for law, expect in cases() if law.order == "symmetric")
    rule = untilted_rule(law, 1, 4)
    assert rule.nodes is not None
    for factor in (1, 3):
        nodes = replace(rule.nodes, step=factor * rule.nodes.step, first=rule.nodes.first // factor,
                        last=rule.nodes.last // factor)
        coarse = replace(rule, nodes=nodes)
        table = tabulate_moments(ComposedLoss("symmetric", ((law, 1),), Fraction(0)), [coarse], PREC)
        found = enclose_moments(table, 0, ball(tilt), 4)
        mass = expect(lambda x: np.exp(float(tilt) * x))
        assert not abs(found.mass - arb(mass)) > arb("1e-9") * mass
        assert (found.mass.rad() < arb("1e-6")) == (factor == 1)


@pytest.mark.theorem("T103-loss-moments")
def test_a_law_known_by_its_curve_is_refused() -> None:
    with pytest.raises(Unsupported, match="FixedBatchLoss"):
        untilted(FixedBatchLoss(Fraction(1, 10), Fraction(1)), 0)


@pytest.mark.theorem("T103-loss-moments")
def test_samples_whose_loss_has_another_form_are_refused() -> None:
    law = SampledLoss(FixedBatchLoss(Fraction(1, 10), Fraction(1)), Fraction(1, 10), "remove")
    with pytest.raises(Unsupported, match="sampled FixedBatchLoss"):
        untilted(law, 0)


# distributions


def responses(count: int, variance: Fraction) -> ComposedLoss:
    """Two outcomes with losses +-1/5, and a normal loss of this variance."""
    return ComposedLoss("symmetric", ((OddsLoss(Fraction(1, 5), Fraction(0), 0), count),), variance)


def distribution(count: int, variance: float, under_q: bool) -> Callable[[float], float]:
    """P(Y <= x): binomial weights of shifted normal distributions (steps where the variance is 0)."""
    share, sign = np.exp(0.2) / (1 + np.exp(0.2)), -1 if under_q else 1
    hits = np.arange(count + 1)
    masses, places = binom.pmf(hits, count, share), sign * (0.2 * (2 * hits - count) + variance / 2)
    if not variance:
        return lambda x: float(masses[places <= x].sum())
    return lambda x: float((masses * norm.cdf((x - places) / np.sqrt(variance))).sum())


@SMOOTHING
@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize(("count", "variance", "narrow"), [(40, "0", 0.3), (400, "0", 0.1), (400, "1/20", 0.1),
                                                           (100, "4", 0.05)])
def test_distributions_of_sums(count: int, variance: str, narrow: float, order: int) -> None:
    """At every jump, from both sides, and between: inside the bound, which is small."""
    loss = responses(count, Fraction(variance))
    for under_q, found in enumerate(choose_sums(loss, order)):
        true = distribution(count, float(Fraction(variance)), bool(under_q))
        mean = float(found.steps.cumulants[1])
        with ctx.workprec(PREC):
            for place in [0.2 * j + shift for j in range(-14, 15) for shift in (-1e-9, 0.0, 0.07)]:
                x = mean + place
                tail, error = found.enclose_tail(arb(x))
                assert 1 - true(x + 1e-12) < float(tail.upper()) + 1e-12, (x, error)
                assert 1 - true(x - 1e-12) > float(tail.lower()) - 1e-12, (x, error)
                turned, _ = replace(found, turned=True).enclose_tail(arb(-x))
                assert float(turned.lower()) - 1e-12 < true(x + 1e-12)
                assert true(x - 1e-12) < float(turned.upper()) + 1e-12
            assert float(error) < narrow


@SMOOTHING
def test_errors_fall_with_the_order_and_the_number_of_steps() -> None:
    """Sampled steps, q sqrt k = 1: 10^{(n+1)/2} per decade of k, at two deviations."""
    for order in range(4):
        errors = []
        for root in (300, 3000):
            law = SampledGaussianLoss(Fraction(1, root), Fraction(3, 2), "remove")
            under_p, _ = choose_sums(ComposedLoss("remove", ((law, root**2),), Fraction(0)), order)
            with ctx.workprec(PREC):
                x = under_p.steps.cumulants[1] + 2 * under_p.steps.cumulants[2].sqrt()
                errors.append(float(under_p.enclose_tail(x)[1]))
        assert abs(log10(errors[0] / errors[1]) / (order + 1) - 1) < 0.15, (order, errors)


@SMOOTHING
@pytest.mark.parametrize("part", ["cells", "slope"])
def test_every_part_of_the_error_is_needed(part: str) -> None:
    """Jumps of a lattice are seen by the density's term; skewness, at order 0, by the cells."""
    loss = responses(40, Fraction(0)) if part == "slope" else ComposedLoss("remove", ((FiniteLoss(
        ((Fraction(1, 50), Fraction(1, 200)), (Fraction(49, 50), Fraction(199, 200))), "remove"), 30),), Fraction(2))
    found, _ = choose_sums(loss, 0)
    small = {name: arb(0) for name in found.errors}
    less = replace(found, errors={**found.errors, "cells": arb(0)}) if part == "cells" else replace(
        found, errors=small, slope=arb(0))
    if part == "slope":
        true = distribution(40, 0.0, False)
        place = float(found.steps.cumulants[1]) // 0.4 * 0.4
    else:
        place, share = float(found.steps.cumulants[1]), Fraction(1, 50)
        up, down = float(np.log(4)), float(np.log(0.98 / 0.995))
        hits = np.arange(31)
        masses, places = binom.pmf(hits, 30, float(share)), hits * up + (30 - hits) * down + 1
        true = lambda x: float((masses * norm.cdf((x - places) / np.sqrt(2))).sum())  # noqa: E731

    def inside(one: EdgeworthSum) -> bool:
        with ctx.workprec(PREC):
            tail = one.enclose_tail(arb(place))[0]
        return float(tail.lower()) - 1e-12 < 1 - true(place) < float(tail.upper()) + 1e-12

    assert inside(found) and not inside(less)


@SMOOTHING
@pytest.mark.theorem("T100-prawitz")
def test_the_kernel_is_below_its_bounds() -> None:
    """|kernel| of T100 by mpmath, and 1 - g(u) <= 7 u^2 / 2."""
    top = mpf("2.5")
    for k in range(1, 100):
        u = mpf(k) / 100
        g = mp.pi * u * (1 - u) * mp.cot(mp.pi * u) + u
        assert 0 <= 1 - g <= mpf("3.5") * u * u
        w = u * top
        size = mp.sqrt((g / (mp.pi * w)) ** 2 + ((1 - u) / top) ** 2)
        for low in (w, mpf("0.9") * w):
            growing, any_error = Smoothed(arb("2.5")).bound_weights(arb(str(low)), arb(str(w)))
            assert size <= float(any_error) * (1 + 1e-12) and size * w <= float(growing) * float(w) * (1 + 1e-12)


@SMOOTHING
def test_the_expansion_is_the_inverse_transform() -> None:
    """1 - G and G' against Fourier integrals of psi_n."""
    law = SampledGaussianLoss(Fraction(1, 20), Fraction(3, 2), "remove")
    found, _ = choose_sums(ComposedLoss("remove", ((law, 300),), Fraction(0)), 3)
    kappa = [mpf(value.mid().str(30, radius=False)) for value in found.steps.cumulants]
    factors = {m: mpf(q.mid().str(30, radius=False)) for m, q in found.factors.items()}
    deviation = mp.sqrt(kappa[2])
    for z in ("-1", "2.5"):
        gap = mpf(z) * deviation

        def expanded(w: mpf, gap: mpf = gap) -> mpmath.mpc:
            series = sum(q * (1j * w) ** m for m, q in factors.items())
            return mp.exp(-kappa[2] * w * w / 2 - 1j * w * gap) * series

        places = mpmath.linspace(0, 12 / deviation, 25)
        density = mpmath.quad(lambda w: mp.re(expanded(w)), places) / mp.pi
        below = mpf(1) / 2 - mpmath.quad(lambda w: mp.im(expanded(w)) / w, places) / mp.pi
        with ctx.workprec(PREC):
            tail, slope = found.enclose_expansion(found.steps.cumulants[1] + arb(str(gap)), found.factors)
        assert abs(float(tail) - float(1 - below)) < 1e-9 and abs(float(slope) - float(density)) < 1e-9


@pytest.mark.theorem("T105-edgeworth-interval")
def test_many_laws_are_bounded_together() -> None:
    """Four laws and more: one pass, and a bound of the modulus that is no smaller than that of each law alone."""
    laws = [SampledGaussianLoss(Fraction(1, 50 + i), Fraction(3, 2), "remove") for i in range(5)]
    several, _ = choose_sums(ComposedLoss("remove", tuple((law, 2000) for law in laws), Fraction(0)), 2)
    one, _ = choose_sums(ComposedLoss("remove", ((laws[2], 10_000),), Fraction(0)), 2)
    with ctx.workprec(PREC):
        x = one.steps.cumulants[1] + one.steps.cumulants[2].sqrt()
        (first, error), (second, other) = one.enclose_tail(x), several.enclose_tail(x)
    assert abs(float(first.mid() - second.mid())) < 1e-3 and 0 < error < other < arb("0.1")
