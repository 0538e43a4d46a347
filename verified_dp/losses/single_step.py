"""The hockey-stick divergence of one Poisson-sampled Gaussian step, in each order (T14).

Written with alpha = e^eps, q the sampling probability, s the noise multiplier. Where a comparison cannot be decided
in balls, a bound that holds on both sides of it is returned.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from verified_dp.kernel.balls import ball, normal_tail
from verified_dp.theorems import proved_by


@proved_by("T14-single-step")
def enclose_single_remove(probability: Fraction, multiplier: Fraction, epsilon: arb) -> arb:
    """Enclose P(t > t*) - e^eps Q(t > t*), t* = s^2 log((e^eps - (1-q))/q) + 1/2; 1 - e^eps where e^eps <= 1 - q."""
    q, s, alpha = ball(probability), ball(multiplier), epsilon.exp()
    excess = alpha - (1 - q)
    if excess <= 0:
        return 1 - alpha
    if not excess > 0:
        return (1 - alpha).union((1 - alpha).max(q))
    threshold = s * s * (excess / q).log() + arb(1) / 2
    return q * normal_tail((threshold - 1) / s) - excess * normal_tail(threshold / s)


@proved_by("T14-single-step")
def enclose_single_add(probability: Fraction, multiplier: Fraction, epsilon: arb) -> arb:
    """Enclose Phi(t'/s) - e^eps [(1-q) Phi(t'/s) + q Phi((t'-1)/s)]; 0 where e^-eps <= 1 - q.

    t' = s^2 log((e^-eps - (1-q))/q) + 1/2.
    """
    q, s, alpha = ball(probability), ball(multiplier), epsilon.exp()
    excess = 1 / alpha - (1 - q)
    if excess <= 0:
        return arb(0)
    if not excess > 0:
        return arb(0).union((alpha * excess).max(arb(0)))
    threshold = s * s * (excess / q).log() + arb(1) / 2
    return alpha * (excess * normal_tail(-threshold / s) - q * normal_tail((1 - threshold) / s))


@proved_by("T14-single-step")
def enclose_single_symmetric(probability: Fraction, multiplier: Fraction, epsilon: arb) -> arb:
    """Enclose P(t > t*) - e^eps Q(t > t*) for the replace pair, alpha = e^eps.

    e^{t*/s^2} is the positive root of c X^2 - b X - c alpha = 0, c = q e^{-1/(2s^2)}, b = (1-q)(alpha - 1).
    """
    q, s, alpha = ball(probability), ball(multiplier), epsilon.exp()
    lift, slope = q * (-1 / (2 * s * s)).exp(), (1 - q) * (alpha - 1)
    root = (slope * slope + 4 * lift * lift * alpha).sqrt()
    numerator = slope + root if slope >= 0 else 4 * lift * lift * alpha / (root - slope)
    threshold = s * s * (numerator / (2 * lift)).log()
    above, middle, below = (normal_tail((threshold - mean) / s) for mean in (1, 0, -1))
    return q * above - slope * middle - alpha * q * below


SINGLE_STEP = {"remove": enclose_single_remove, "add": enclose_single_add, "symmetric": enclose_single_symmetric}
