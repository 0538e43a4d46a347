"""Lemma 4.3 as printed: the distance of a sum's distribution to its Edgeworth expansion of order 1, remainder included.

X_1, ..., X_m independent, B^2 the variance of their sum. Everything enters through four ratios; in the paper's words

    skew = |lambda_3|/sqrt m = |kappa_3|/B^3,    third = K_3/sqrt m = sum E|X_i - mu_i|^3 / B^3,
    fourth = K_4/m = sum E(X_i - mu_i)^4 / B^4,  tilde = K~_3/sqrt m = third + sum E|X_i - mu_i| Var X_i / B^3,

    |F - G| <= 0.1995 tilde + 0.031 tilde^2 + 0.195 fourth + 0.054 skew tilde + 0.038 skew^2 + r.

r is that of Derumigny, Girard and Guyonvarch at their eps = 1/10, whose bound the lemma is (T104: cited, not proved).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.engines.expansion_cells import Steps
from verified_dp.core.engines.tilted_moments import MomentTable
from verified_dp.core.kernel.balls import ball, lower_end, upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.papers.saddlepoint.bounds_moments import enclose_absolute_moment

TILDE, TILDE_SQUARED, FOURTH = Fraction(1995, 10000), Fraction(31, 1000), Fraction(195, 1000)
SKEW_TILDE, SKEW_SQUARED = Fraction(54, 1000), Fraction(38, 1000)
"""The decimals that Lemma 4.3 prints."""
LAST_TILDE, LAST_SKEW = Fraction(141961 + 670415, 10000), Fraction(43394, 10000)
PSI, CHI = Fraction(10253, 10000), Fraction(991619136, 10**10)
"""2 pi |t| |Psi(t)| <= PSI, Psi Prawitz's kernel; sup x^-3 |cos x - 1 + x^2/2| = 0.09916191351..., rounded up."""
FREE = Fraction(1, 10)
"""The article's eps: at 1/10 its constants 0.327 (1/12 + 1/(4 (1 - 3 eps)^2)) and 0.037 e_1 are 0.1941 and 0.0376."""
FEWEST = 3
"""The theorem asks for so many summands."""


@dataclass(frozen=True)
class Ratios:
    """The four ratios of the module."""

    skew: arb
    third: arb
    tilde: arb
    fourth: arb


@proved_by("T104-edgeworth-remainder")
def bound_by_lemma(table: MomentTable, steps: Steps) -> dict[str, arb]:
    """Bound the distance of the finite loss under P from its expansion of order 1; steps: at tilt 0."""
    if not table.loss.parts:  # the sum is normal
        return {}
    ratios = enclose_ratios(table, steps)
    return {"lemma_4_3": bound_printed(ratios), "r": bound_rest(ratios)}


@proved_by("T104-edgeworth-remainder")
def enclose_ratios(table: MomentTable, steps: Steps) -> Ratios:
    """Enclose the ratios of a composition; a Gaussian step, as infinitely many, adds to the variance alone.

    Where absolute moments are known from above only: E|Y|^3 >= (E Y^2)^{3/2} (Lyapunov) and
    E|Y| >= (E Y^2)^{3/2} / (E Y^4)^{1/2} (Hoelder).
    """
    variance, skewness = steps.cumulants[2:4]
    cube = variance * variance.sqrt()
    third = fourth = mixed = arb(0)
    for index, (count, moments) in enumerate(steps.laws):
        second, _, last = moments.central
        least = second * second.sqrt()
        third += count * enclose_absolute_moment(table, index, arb(0), moments).max(lower_end(least))
        first = enclose_absolute_moment(table, index, arb(0), moments, 1).max(lower_end(least / last.sqrt()))
        mixed += count * second * first
        fourth += count * last
    return Ratios(abs(skewness) / cube, third / cube, (third + mixed) / cube, fourth / (variance * variance))


@proved_by("T104-edgeworth-remainder")
def bound_printed(r: Ratios) -> arb:
    """The terms that Lemma 4.3 writes out."""
    return upper_end(ball(TILDE) * r.tilde + ball(TILDE_SQUARED) * r.tilde * r.tilde + ball(FOURTH) * r.fourth
                     + ball(SKEW_TILDE) * r.skew * r.tilde + ball(SKEW_SQUARED) * r.skew * r.skew)


@proved_by("T104-edgeworth-remainder")
def bound_rest(r: Ratios) -> arb:
    """r of Lemma 4.3: what is beyond 2/tilde, what lies between, and the rest of the expansion near 0."""
    x = r.tilde / (2 * arb.pi())
    far = ball(LAST_TILDE) * x * x * x * x + ball(LAST_SKEW) * r.skew * x * x * x
    end = 2 / r.tilde
    start = ((2 * ball(FREE)).sqrt() / r.fourth.root(4)).min(end)
    decay = (1 - 4 * ball(CHI) - r.fourth.sqrt()) / 2
    middle = ball(PSI) * r.third * bound_gauss_integral(decay, start, end) / (6 * arb.pi())
    return upper_end(far + middle + r.skew * _gamma_between(start, end) + bound_near(r))


@proved_by("T104-edgeworth-remainder")
def bound_near(r: Ratios) -> arb:
    """The rest of the expansion near 0, by powers t^5, ..., t^8 of the frequency."""
    free = ball(FREE)
    gap, x, quarter, twice = (1 - 3 * free) ** 2, r.fourth, r.fourth.root(4), (2 * free).sqrt()
    polynomial = (144 + 80 * free + 4 * free * free + 96 * twice + 16 * free * twice) / 576
    growth = (free * free * (arb(1) / 6 + 2 * polynomial / gap)).exp()
    inner = arb(1) / 24 + polynomial / (2 * gap)
    logarithm = (x * quarter * _moment(5) / 12 + x * quarter * quarter * _moment(6) * arb(5) / 144
                 + x * quarter * quarter * quarter * _moment(7) / 144 + x * x * _moment(8) / 1152) / gap
    exponential = growth * x * inner * _moment(8) * (x * inner / 2 + r.skew / 6)
    return upper_end(ball(PSI) / arb.pi() * (logarithm + exponential))


def _moment(degree: int) -> arb:
    """2^{d/2} Gamma(d/2 + 1), the integral of t^{d+1} e^{-t^2/2} over t > 0."""
    half = arb(degree) / 2
    return arb(2) ** half * (half + 1).gamma()


def _gamma_between(start: arb, end: arb) -> arb:
    """Enclose the integral of v^{1/2} e^{-v} over start <= v <= end."""
    half = arb(3) / 2
    return (start.gamma_upper(half) - end.gamma_upper(half)).max(arb(0))


@proved_by("T104-edgeworth-remainder")
def bound_gauss_integral(decay: arb, start: arb, end: arb) -> arb:
    """Bound the integral of u^2 e^{-decay u^2} over start <= u <= end, whatever the sign of decay."""
    if decay > 0:
        return upper_end(_gamma_between(decay * start * start, decay * end * end) / (2 * decay * decay.sqrt()))
    growth = (upper_end(-decay) * end * end).exp()
    return upper_end(growth * (end * end * end - start * start * start).max(arb(0)) / 3)
