"""The remainder of the first-order Edgeworth expansion by Derumigny, Girard and Guyonvarch (T104).

For independent centred X_1, ..., X_n with fourth moments, B^2 = sum E X_i^2 and S = sum X_i / B it bounds

    sup_z |P(S <= z) - Phi(z) - l (1 - z^2) phi(z) / 6|,     l = sum E X_i^3 / B^3.

The formulas depend on the law through four ratios alone; with the authors' K_3, K_3~, K_4, lambda_3

    skew = |lambda_3| / sqrt n = |l|,           third = K_3 / sqrt n = sum E|X_i|^3 / B^3,
    fourth = K_4 / n = sum E X_i^4 / B^4,       tilde = K_3~ / sqrt n = third + sum E|X_i| E X_i^2 / B^3.

free: the authors' eps, any number in (0, 1/3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.balls import ball, upper_end
from verified_dp.core.theorems import proved_by

PSI = Fraction(10253, 10000)
"""2 pi |t| |Psi(t)| is at most this, Psi the smoothing kernel of Prawitz."""
CHI = Fraction(991619136, 10**10)
"""sup x^-3 |cos x - 1 + x^2/2| = 0.09916191351..., rounded up."""
MAIN_K3, MAIN_K3_SQUARED, MAIN_K4 = Fraction(1995, 10000), Fraction(31, 1000), Fraction(327, 1000)
MAIN_SKEW_K3, MAIN_SKEW_SQUARED = Fraction(54, 1000), Fraction(37, 1000)
LAST_K3, LAST_SKEW, IID_SKEW = Fraction(141961 + 670415, 10000), Fraction(43394, 10000), Fraction(1306, 1000)
"""The decimals of the article's Theorems A.2 and A.3, exactly."""


@dataclass(frozen=True)
class Ratios:
    """The four ratios of the module. count: n where all X_i have one law, None where they may differ."""

    skew: arb
    third: arb
    tilde: arb
    fourth: arb
    count: int | None


@proved_by("T104-edgeworth-remainder")
def bound_remainder(ratios: Ratios, free: Fraction) -> arb:
    """Bound the remainder from moments alone: Theorem A.2, and Theorem A.3 where the steps have one law."""
    if not 0 < free < Fraction(1, 3):
        return arb.pos_inf()
    general = _bound_independent(ratios, ball(free))
    return general.min(_bound_identical(ratios, ball(free))) if ratios.count else general


@proved_by("T104-edgeworth-remainder")
def _bound_independent(r: Ratios, free: arb) -> arb:
    """0.1995 K~ + ... + r_{1,n} of the general case."""
    growth = _general_growth(free)
    start, end = _window(r, free)
    decay = (1 - 4 * ball(CHI) - r.fourth.sqrt()) / 2
    middle = ball(PSI) * r.third * _gauss_integral(decay, start, end) / (6 * arb.pi())
    rest = _general_integrals(r, free, growth) + r.skew * gamma_between(_three_halves(), start, end)
    return upper_end(_main(r, free, growth) + _last(r) + middle + rest)


@proved_by("T104-edgeworth-remainder")
def _bound_identical(r: Ratios, free: arb) -> arb:
    """The same for one law: e_3 in the place of e_1, e_2 - e_3 in the remainder."""
    final, first = identical_growth(r, free), plain_growth(free)
    start, end = _window(r, free)
    rest = identical_integrals(r, free, final) + ball(IID_SKEW) * (final - first) * r.skew * r.skew / 36
    smooth = identical_third(r, start * start / 8, end * end / 8)
    return upper_end(
        _main(r, free, first) + _last(r) + r.skew * gamma_between(_three_halves(), start, end) + rest + smooth)


def _main(r: Ratios, free: arb, growth: arb) -> arb:
    """The terms that are written out in the statement, growth = e_1 or e_3."""
    skewed = ball(MAIN_SKEW_K3) * r.skew * r.tilde + ball(MAIN_SKEW_SQUARED) * growth * r.skew * r.skew
    return ball(MAIN_K3) * r.tilde + ball(MAIN_K3_SQUARED) * r.tilde * r.tilde + main_fourth(r, free) + skewed


def main_fourth(r: Ratios, free: arb) -> arb:
    return ball(MAIN_K4) * r.fourth * (arb(1) / 12 + 1 / (4 * _squared(1 - 3 * free)))


def _last(r: Ratios) -> arb:
    """81.2376 K~^4 / (2 pi)^4 + 4.3394 |l| K~^3 / (2 pi)^3."""
    x = r.tilde / (2 * arb.pi())
    return ball(LAST_K3) * _squared(_squared(x)) + ball(LAST_SKEW) * r.skew * x * x * x


def _window(r: Ratios, free: arb) -> tuple[arb, arb]:
    """(min(sqrt(2 eps) (K_4/n)^{-1/4}, T), T = 2 / K~): in between, third moments bound the characteristic function."""
    end = 2 / r.tilde
    return ((2 * free).sqrt() / r.fourth.root(4)).min(end), end


def _squared(x: arb) -> arb:
    return x * x


def _three_halves() -> arb:
    return arb(3) / 2


def gamma_between(order: arb, start: arb, end: arb) -> arb:
    """Enclose the integral of v^{order-1} e^{-v} over start <= v <= end."""
    return (incomplete_gamma(order, start) - incomplete_gamma(order, end)).max(arb(0))


@proved_by("T104-edgeworth-remainder")
def incomplete_gamma(order: arb, x: arb) -> arb:
    """Enclose Gamma(order, x), 0 <= order <= 2; between 0 and x^order e^{-x} for x > 1000."""
    if x > 1000:
        return arb(0).union(upper_end((order * x.log() - x).exp()))
    return x.gamma_upper(order)


@proved_by("T104-edgeworth-remainder")
def _gauss_integral(decay: arb, start: arb, end: arb) -> arb:
    """Bound the integral of u^2 e^{-decay u^2} over start <= u <= end, whatever the sign of decay."""
    if decay > 0:
        between = gamma_between(_three_halves(), decay * start * start, decay * end * end)
        return between / (2 * decay * decay.sqrt())
    return (upper_end(-decay) * end * end).exp() * (end * end * end - start * start * start).max(arb(0)) / 3


def plain_growth(free: arb) -> arb:
    """e_3 = exp(eps^2/6 + eps^2 / (2 (1 - 3 eps)^2))."""
    return (free * free * (arb(1) / 6 + 1 / (2 * _squared(1 - 3 * free)))).exp()


def _general_polynomial(free: arb) -> arb:
    """P_1 = (144 + 48 eps + 4 eps^2 + 96 sqrt(2 eps) + 32 eps + 16 sqrt 2 eps^{3/2}) / 576."""
    root = (2 * free).sqrt()
    return (144 + 80 * free + 4 * free * free + 96 * root + 16 * free * root) / 576


def _general_growth(free: arb) -> arb:
    """e_1 = exp(eps^2 (1/6 + 2 P_1 / (1 - 3 eps)^2))."""
    return (free * free * (arb(1) / 6 + 2 * _general_polynomial(free) / _squared(1 - 3 * free))).exp()


def _identical_polynomial(r: Ratios, free: arb) -> arb:
    """P_2, which tends to 0."""
    root, quarter, twice = r.fourth.sqrt(), r.fourth.root(4), (2 * free).sqrt()
    skewed = 96 * twice * r.skew / quarter + 32 * free * r.skew * r.skew / root + 16 * free * twice * quarter * r.skew
    return 48 * free * root + 4 * free * free * r.fourth + skewed


def identical_growth(r: Ratios, free: arb) -> arb:
    """e_2 = e_3 exp(2 eps^2 P_2 / (576 (1 - 3 eps)^2))."""
    more = 2 * free * free * _identical_polynomial(r, free) / (576 * _squared(1 - 3 * free))
    return plain_growth(free) * more.exp()


def _moment(degree: int) -> arb:
    """The integral of t^{degree + 1} e^{-t^2/2} over t > 0: 2^{d/2} Gamma(d/2 + 1)."""
    half = arb(degree) / 2
    return arb(2) ** half * (half + 1).gamma()


@proved_by("T104-edgeworth-remainder")
def _general_integrals(r: Ratios, free: arb, growth: arb) -> arb:
    """R_{1,n} of the general case: the rest of the expansion near 0, by powers t^5, ..., t^8 of the frequency."""
    gap, x, quarter = _squared(1 - 3 * free), r.fourth, r.fourth.root(4)
    inner = arb(1) / 24 + _general_polynomial(free) / (2 * gap)
    half = quarter * quarter
    logarithm = (x * quarter * _moment(5) / 12 + x * half * _moment(6) * (arb(1) / 48 + arb(1) / 72)
                 + x * half * quarter * _moment(7) / 144 + x * x * _moment(8) / 1152) / gap
    exponential = growth * x * inner * _moment(8) * (x * inner / 2 + r.skew / 6)
    return ball(PSI) / arb.pi() * (logarithm + exponential)


@proved_by("T104-edgeworth-remainder")
def identical_integrals(r: Ratios, free: arb, growth: arb) -> arb:
    """R_{1,n} for one law and n steps. Where the authors' program has less, the larger term stands here (T104)."""
    n, gap, x = r.count or 1, _squared(1 - 3 * free), r.fourth
    inner = (n * x / 12 + 1 / (4 * gap) + _identical_polynomial(r, free) / (576 * gap)) / n
    logarithm = (r.skew * _moment(5) / 6 + (x / 24 + r.skew * r.skew / 36) * _moment(6) + x * r.skew * _moment(7) / 72
                 + x * x * _moment(8) / 576) / (2 * gap * n)
    exponential = growth * (inner * inner.max(arb(1) / n) * _moment(8) / 8 + r.skew * inner * _moment(7) / 12)
    return ball(PSI) / arb.pi() * (logarithm + exponential)


@proved_by("T104-edgeworth-remainder")
def identical_third(r: Ratios, start: arb, end: arb) -> arb:
    """1.0253 2^{5/2} K_3 / (3 pi sqrt n) times Gamma(3/2, start) - Gamma(3/2, end)."""
    factor = ball(PSI) * arb(32).sqrt() * r.third / (3 * arb.pi())
    return factor * gamma_between(_three_halves(), start, end)
