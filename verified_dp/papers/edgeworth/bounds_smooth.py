"""The remainder of T104 where the characteristic function of the (equal) steps is bounded away from 1 (T108).

    kappa >= |f(u)| for every |u| >= a_n / sqrt n,   f that of one step over its standard deviation

With T = (2 pi / tilde)^4 the smoothing terms are of order 1/T and T^{1/2} e^{-...} instead of tilde. Sampled Gaussian
steps have such a kappa by the modulus rule of T11.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from verified_dp.core.balls import ball, upper_end
from verified_dp.core.engines.nodes import NodeRule, bound_transform_beyond, enclose_nodes
from verified_dp.core.laws.law import SWAPPED
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.core.theorems import proved_by
from verified_dp.papers.edgeworth.bounds import (
    CHI,
    IID_SKEW,
    MAIN_SKEW_SQUARED,
    PRECISION,
    PSI,
    Ratios,
    SumMoments,
    gamma_between,
    identical_growth,
    identical_integrals,
    identical_third,
    incomplete_gamma,
    main_fourth,
    plain_growth,
)
from verified_dp.papers.edgeworth.bounds_moments import enclose_loss_moments

ANGLE = Fraction(399589567, 10**8), Fraction(399589568, 10**8)
"""The root of x^2 + 2x sin x + 6 (cos x - 1) in (0, 2 pi), between these; t* is it over 2 pi."""
SMOOTH_NORMAL, SMOOTH_SKEW = Fraction(12533, 10000), Fraction(3334, 10000)
LAST_NORMAL, LAST_SKEW = Fraction(141961, 10000), Fraction(43394, 10000)
"""The decimals of the article's Theorem A.5, exactly."""


def _turn() -> arb:
    """Enclose t*."""
    return ball(ANGLE[0]).union(ball(ANGLE[1])) / (2 * arb.pi())


def _ends(r: Ratios) -> tuple[arb, arb, arb]:
    """(a_n, T / pi, T): frequencies of the sum, T = (2 pi / K~)^4."""
    root = 2 * arb.pi() / r.tilde
    end = root * root * root * root
    return (_turn() * root).min(end / arb.pi()), end / arb.pi(), end


@proved_by("T108-edgeworth-smooth")
def enclose_first_frequency(moments: SumMoments) -> arb:
    """Enclose the frequency w of one loss from which on |M(t+iw)| has to be bounded: a_n / B, B that of the sum."""
    with ctx.workprec(PRECISION):
        return arb.pos_inf() if moments.ratios is None else _ends(moments.ratios)[0] / moments.deviation


def unmirrored(law: SampledGaussianLoss, tilt: Fraction) -> tuple[SampledGaussianLoss, Fraction]:
    """The law and a tilt >= 0 for which -L or L is what it is under P_t: the other order under P_{-1-t} where t < 0."""
    return (law, tilt) if tilt >= 0 else (law.in_order(SWAPPED[law.order]), -1 - tilt)


@proved_by("T108-edgeworth-smooth", "T11-tail-for-free")
def bound_modulus(law: SampledGaussianLoss, tilt: Fraction, frequency: arb, rule: NodeRule) -> arb:
    """Bound |M(t+iw)| / M(t) for every |w| >= frequency; under t = -1 by the mirror image, whose tilt is 0. t >= -1."""
    law, tilt = unmirrored(law, tilt)
    with ctx.workprec(PRECISION):
        modulus = bound_transform_beyond(enclose_nodes(law, rule), ball(tilt), frequency)
        return upper_end(modulus / enclose_loss_moments(law, tilt).mass).min(arb(1))


@proved_by("T108-edgeworth-smooth")
def bound_smooth_remainder(r: Ratios, free: Fraction, kappa: arb) -> arb:
    """Bound the remainder: 0.327 x (...) + 0.037 e_3 l^2 + (1.0253/pi) kappa^n log(T/a_n) + r_2; one law, n steps."""
    if r.count is None or not 0 < free < Fraction(1, 3) or not kappa <= 1:
        return arb.pos_inf()
    e, (first, far, end) = ball(free), _ends(r)
    growth, final = plain_growth(e), identical_growth(r, e)
    squared = r.skew * r.skew
    main = main_fourth(r, e) + squared * (ball(MAIN_SKEW_SQUARED) * growth + ball(IID_SKEW) * (final - growth) / 36)
    modulus = (r.count * kappa.log()).exp() if kappa > 0 else arb(0)
    smooth = ball(PSI) / arb.pi() * modulus * (end / first).log().max(arb(0))
    return upper_end(main + smooth + _smoothing(r, end) + _middle(r, e, far) + identical_integrals(r, e, final)
                     + _beyond(end))


@proved_by("T108-edgeworth-smooth")
def _smoothing(r: Ratios, end: arb) -> arb:
    """1.2533/T + 0.3334 |l|/T + 14.1961/T^4 + 4.3394 |l|/T^3."""
    inverse = 1 / end
    cube = inverse * inverse * inverse
    normal = ball(SMOOTH_NORMAL) * inverse + ball(LAST_NORMAL) * cube * inverse
    return normal + r.skew * (ball(SMOOTH_SKEW) * inverse + ball(LAST_SKEW) * cube)


@proved_by("T108-edgeworth-smooth")
def _middle(r: Ratios, free: arb, far: arb) -> arb:
    """Between sqrt(2 eps) (K_4/n)^{-1/4} and T/pi, by third moments."""
    start = ((2 * free).sqrt() / r.fourth.root(4)).min(far)
    expansion = r.skew * gamma_between(arb(3) / 2, start, far)
    return expansion + identical_third(r, start * start / 8, far * far / 8)


@proved_by("T108-edgeworth-smooth")
def _beyond(end: arb) -> arb:
    """J_4 + J_5: what e^{-s t^2/2} and e^{-t^2/2} leave between T^{1/4}/pi and the article's ends, over t."""
    root, turn, pi = end.sqrt(), _turn(), arb.pi()
    share = 1 - 4 * pi * ball(CHI) * turn
    low, high = root.min(end * end) / (2 * pi * pi), end * end / (2 * pi * pi)
    upto = (turn * turn * root).min(end * end / (pi * pi)) / 2
    zero = arb(0)
    fourth = abs(incomplete_gamma(zero, low * share) - incomplete_gamma(zero, upto * share))
    fifth = abs(incomplete_gamma(zero, low) - incomplete_gamma(zero, high))
    return ball(PSI) / pi * (fourth + fifth)
