"""Untilted moments of every law, against quadratures of its densities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb

from verified_dp.core.engines.tilted_moments import enclose_moments, tabulate_moments
from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.families.gaussian.mixture import MixtureLoss
from verified_dp.core.families.gaussian.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.families.laplace.bounded_range import BoundedRangeLoss
from verified_dp.core.families.laplace.laplace import LaplaceLoss
from verified_dp.core.families.laplace.sampled_laplace import SampledLaplaceLoss
from verified_dp.core.kernel.balls import ball
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.law import Law
from verified_dp.search.expansion import choose_moment_rules

PREC = 192

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
    yield SampledLaplaceLoss(LaplaceLoss(Fraction(1)), q, "remove"), on_line(both, laplace(0), outer)
    yield SampledLaplaceLoss(LaplaceLoss(Fraction(1)), q, "add"), on_line(laplace(0), both, outer)
    masses = ((half, q), (Fraction(1, 3), half), (Fraction(1, 6), Fraction(0)), (Fraction(0), Fraction(3, 10)))
    yield FiniteLoss(masses, "remove"), finite(masses)

    def ranged(x: np.ndarray) -> np.ndarray:
        return np.exp((x - 1) / 2) / (2 * (1 - np.exp(-1)))

    yield BoundedRangeLoss(Fraction(1)), on_line(ranged, lambda x: np.exp(-x) * ranged(x), [-1.0, 1.0])



def untilted(law: Law, tilt: int, order: int = 8):
    """The law's moments at tilt 0 or -1."""
    loss = ComposedLoss(law.order, ((law, 1),), Fraction(0))
    table = tabulate_moments(loss, choose_moment_rules(loss, 0.0, 40.0, order), PREC)
    return enclose_moments(table, 0, arb(tilt), order)


@pytest.mark.theorem("T94-tilted-moments")
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
    rule = choose_moment_rules(ComposedLoss("symmetric", ((law, 1),), Fraction(0)), 0.0, 40.0, 4)[0]
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
