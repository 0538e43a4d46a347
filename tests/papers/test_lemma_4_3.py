"""Lemma 4.3 as printed, with its remainder: every term, its constants, and sums whose true distance is computed."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import pytest
from flint import acb, arb, ctx
from mpmath import mp, mpf

from verified_dp import Gaussian, Laplace, PoissonSampled, compose, privacy_profile
from verified_dp.core.families.finite.atomic import FiniteLoss
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import InvalidInput, Unsupported
from verified_dp.papers import accountant
from verified_dp.papers.edgeworth.bounds_lemma import (
    CHI,
    FOURTH,
    SKEW_SQUARED,
    Ratios,
    bound_gauss_integral,
    bound_printed,
    bound_rest,
)
from verified_dp.papers.edgeworth.choose import choose_tails

theorem = pytest.mark.theorem("T104-edgeworth-remainder")


def growth_and_polynomial() -> tuple[mpf, mpf]:
    """e_1 and P_1 of the article at its eps = 1/10."""
    e = mpf(1) / 10
    p = (144 + 48 * e + 4 * e**2 + 96 * mp.sqrt(2 * e) + 32 * e + 16 * mp.sqrt(2) * e ** mpf("1.5")) / 576
    return mp.exp(e**2 * (mpf(1) / 6 + 2 * p / (1 - 3 * e) ** 2)), p


@theorem
def test_the_constants() -> None:
    """What is printed is the article's at 1/10, rounded up; the kernel's bound and chi are computed."""
    growth, _ = growth_and_polynomial()
    for printed, exact in ((FOURTH, mpf("0.327") * (mpf(1) / 12 + 1 / (4 * mpf("0.49")))),
                           (SKEW_SQUARED, mpf("0.037") * growth)):
        assert 0 < mpf(printed.numerator) / printed.denominator - exact < mpf("0.001")
    root = mpmath.findroot(lambda x: x * x + 2 * x * mp.sin(x) + 6 * (mp.cos(x) - 1), 4)
    chi = abs(mp.cos(root) - 1 + root**2 / 2) / root**3
    assert 0 < mpf(CHI.numerator) / CHI.denominator - chi < mpf("1e-9")

    def psi(u: mpf) -> mpf:
        return mp.pi * u * abs(mp.mpc(1 - u, (1 - u) * mp.cot(mp.pi * u) + 1 / mp.pi))

    assert mpf("1.02525") < max(psi(mpf(k) / 4000) for k in range(1, 4000)) < mpf("1.0253")


def statement(skew: mpf, third: mpf, tilde: mpf, x: mpf) -> mpf:
    """r by the article's formulas, integrals by quadrature."""
    growth, p = growth_and_polynomial()
    gap, moment = mpf("0.49"), {d: mpmath.quad(lambda t, d=d: t ** (d + 1) * mp.exp(-t * t / 2),
                                               mpmath.linspace(0, 30, 31)) for d in (5, 6, 7, 8)}
    end = 2 / tilde
    start = min(mp.sqrt(mpf("0.2")) / x ** mpf("0.25"), end)
    slope = x * (mpf(1) / 24 + p / (2 * gap))
    squares = (x ** mpf("1.25") * moment[5] / 6 + x ** mpf("1.5") * moment[6] * (mpf(1) / 36 + mpf(1) / 24)
               + x ** mpf("1.75") * moment[7] / 72 + x**2 * moment[8] / 576) / (2 * gap)
    near = squares + growth * (slope**2 / 2 + skew * slope / 6) * moment[8]
    decay = (1 - 4 * mpf("0.0991619136") - mp.sqrt(x)) / 2
    middle = (mpmath.quad(lambda u: u * u * mp.exp(-decay * u * u), mpmath.linspace(start, end, 25)) if decay > 0
              else mp.exp(-decay * end * end) * (end**3 - start**3) / 3)
    root = mpmath.quad(lambda v: mp.sqrt(v) * mp.exp(-v), mpmath.linspace(start, end, 25))
    u = tilde / (2 * mp.pi)
    far = (mpf("14.1961") + mpf("67.0415")) * u**4 + mpf("4.3394") * skew * u**3
    return far + mpf("1.0253") / mp.pi * (near + third / 6 * middle) + skew * root


PLACES = [("0.03", "0.2", "0.31", "0.002"), ("0.4", "0.9", "1.3", "0.3"), ("0.001", "0.02", "0.03", "0.0004"),
          ("0.2", "0.3", "0.35", "0.8"), ("0.3", "1", "1.9", "0.9")]
"""skew, third, tilde, fourth; in the last nothing lies between the two frequencies."""


@theorem
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_every_term_of_the_remainder(place: tuple[str, ...]) -> None:
    with mp.workdps(30), ctx.workprec(128):
        found, (skew, third, tilde, fourth) = Ratios(*map(arb, place)), map(mpf, place)
        rest = mpf(bound_rest(found).str(35, radius=False))
        assert abs(rest / statement(skew, third, tilde, fourth) - 1) < mpf("1e-24")
        printed = (mpf("0.1995") * tilde + mpf("0.031") * tilde**2 + mpf("0.195") * fourth
                   + mpf("0.054") * skew * tilde + mpf("0.038") * skew**2)
        assert abs(mpf(bound_printed(found).str(35, radius=False)) / printed - 1) < mpf("1e-28")


@theorem
@pytest.mark.parametrize("decay", ["0.3", "-0.2"])
def test_the_middle_integral(decay: str) -> None:
    value = bound_gauss_integral(arb(decay), arb(1), arb(3))
    true = acb.integral(lambda u, _: u * u * (-arb(decay) * u * u).exp(), 1, 3).real
    assert value >= true - arb("1e-12") and (decay < "0" or value <= true + arb("1e-12"))


def true_distance(groups: list[tuple[Fraction, int]]) -> mpf:
    """sup |F - expansion| of a sum of independent Bernoulli variables."""
    masses = [mpf(1)]
    for p, count in groups:
        x = mpf(p.numerator) / p.denominator
        own = [comb(count, j) * x**j * (1 - x) ** (count - j) for j in range(count + 1)]
        masses = [sum(masses[i - j] * own[j] for j in range(count + 1) if 0 <= i - j < len(masses))
                  for i in range(len(masses) + count)]
    xs = [(mpf(p.numerator) / p.denominator, count) for p, count in groups]
    mean, variance = sum(c * x for x, c in xs), sum(c * x * (1 - x) for x, c in xs)
    skew = sum(c * x * (1 - x) * (1 - 2 * x) for x, c in xs) / variance**1.5
    below, worst = mpf(0), mpf(0)
    for j, mass in enumerate(masses):
        z = (j - mean) / mp.sqrt(variance)
        expansion = mp.ncdf(z) + skew * (1 - z * z) * mp.npdf(z) / 6
        worst = max(worst, abs(below - expansion), abs(below + mass - expansion))
        below += mass
    return worst


@theorem
@pytest.mark.parametrize("groups", [
    [(Fraction(1, 2), 60)], [(Fraction(1, 5), 150)], [(Fraction(1, 20), 400)],
    [(Fraction(1, 5), 60), (Fraction(1, 2), 60)], [(Fraction(1, 10), 300), (Fraction(9, 10), 40)]], ids=str)
def test_sums_of_two_outcomes(groups: list[tuple[Fraction, int]]) -> None:
    """Losses of two values are Bernoulli variables, moved and scaled: their moments are the code's own."""
    laws = tuple((FiniteLoss(((p, p / 2), (1 - p, 1 - p / 2)), "remove"), count) for p, count in groups)
    with mp.workdps(25):
        truth = true_distance(groups)
    if len(groups) > 1:
        return _of_several_laws(groups, truth)
    errors = choose_tails(ComposedLoss("remove", laws, Fraction(0)), lemma=True).above.errors
    (p, count), = groups
    x, n = float(p), count
    third, skew, deviation = x * x + (1 - x) ** 2, abs(1 - 2 * x), (n * x * (1 - x)) ** 0.5
    tilde = third / deviation + 2 * x * (1 - x) / deviation
    fourth = (x**3 + (1 - x) ** 3) / (n * x * (1 - x))
    expected = (0.1995 * tilde + 0.031 * tilde**2 + 0.195 * fourth + 0.054 * skew / deviation * tilde
                + 0.038 * (skew / deviation) ** 2)
    assert float(errors["lemma_4_3"]) == pytest.approx(expected, rel=1e-9)
    assert truth < sum(map(float, errors.values()))


def _of_several_laws(groups: list[tuple[Fraction, int]], truth: mpf) -> None:
    xs = [(float(p), count) for p, count in groups]
    variance = sum(n * x * (1 - x) for x, n in xs)
    third = sum(n * x * (1 - x) * (x * x + (1 - x) ** 2) for x, n in xs) / variance**1.5
    tilde = third + sum(2 * n * (x * (1 - x)) ** 2 for x, n in xs) / variance**1.5
    skew = abs(sum(n * x * (1 - x) * (1 - 2 * x) for x, n in xs)) / variance**1.5
    fourth = sum(n * x * (1 - x) * (x**3 + (1 - x) ** 3) for x, n in xs) / variance**2
    found = Ratios(arb(skew), arb(third), arb(tilde), arb(fourth))
    assert truth < float(bound_printed(found) + bound_rest(found))


@pytest.mark.theorem("T105-edgeworth-interval")
@pytest.mark.parametrize("relation", ["remove", "add", "add-or-remove"])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "2"])
def test_the_printed_interval_contains_the_truth(relation: str, epsilon: str) -> None:
    laws = [[(PoissonSampled(Gaussian("1.5"), "0.001"), 10**6)], [(Laplace(100, 1), 5000), (Gaussian(30), 50)],
            [(PoissonSampled(Laplace(2, 1), "0.01"), 10**5)], [(Gaussian(30), 500)]]
    for parts in laws:
        profile = privacy_profile(compose(*parts), relation)
        found = accountant(profile, "edgeworth", form="published").delta(epsilon)
        truth = profile.delta(epsilon, digits=6)
        assert found.enclosure is not None and found.enclosure.overlaps(truth)
        assert found.parameters["order"] == "1" and "Derumigny" in found.parameters["rests_on"]
        ours = accountant(profile, "edgeworth", form="proved", order=1).delta(epsilon)
        assert ours.enclosure is not None and "rests_on" not in ours.parameters
        assert ours.estimates["AEA1"] == found.estimates["AEA1"]


def test_what_is_not_printed_is_refused() -> None:
    profile = privacy_profile(compose((PoissonSampled(Gaussian(1), "0.1"), 2)), "remove")
    with pytest.raises(InvalidInput, match=r"edgeworth\.order must be 1 with form=published"):
        accountant(profile, "edgeworth", form="published", order=2)
    with pytest.raises(InvalidInput, match=r"edgeworth\.form must be one of proved, published"):
        accountant(profile, "edgeworth", form="printed")
    with pytest.raises(Unsupported, match="asks for 3 steps"):
        accountant(profile, "edgeworth", form="published").delta(1)
