"""Closed forms: plain Gaussian steps, and a single sampled Gaussian step in each order (T14, T15)."""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from verified_dp.kernel.balls import ball, normal_tail
from verified_dp.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.sampled_gaussian import SampledGaussianLoss
from verified_dp.theorems import proved_by


@dataclass(frozen=True)
class ClosedFormWitness:
    """Nothing to choose but the bits."""

    prec: int


def has_closed_form(loss: ComposedLoss) -> bool:
    """Gaussian steps alone, or one sampled Gaussian step alone."""
    single = len(loss.parts) == 1 and loss.parts[0][1] == 1 and not loss.mean_shift_squared
    return single or not loss.parts


def enclose_closed_form(loss: ComposedLoss, witness: ClosedFormWitness, epsilon: Fraction) -> Bounds:
    """Enclose D(eps) of a loss that has a closed form; its only error is rounding."""
    with ctx.workprec(witness.prec):
        if loss.parts:
            delta = _SINGLE[loss.order](loss.parts[0][0], ball(epsilon))
        else:
            delta = enclose_gaussian(loss.mean_shift_squared, epsilon)
        return bounds_from_sum(delta, {}, {})


@proved_by("T15-gaussian")
def enclose_gaussian(mean_shift_squared: Fraction, epsilon: Fraction) -> arb:
    """Enclose D(eps) = Q(eps/mu - mu/2) - e^eps Q(eps/mu + mu/2), Q the normal tail; (1 - e^eps)_+ where mu = 0."""
    if mean_shift_squared == 0:
        return (-ball(epsilon).expm1()).max(arb(0))
    mu, eps = ball(mean_shift_squared).sqrt(), ball(epsilon)
    return normal_tail(eps / mu - mu / 2) - eps.exp() * normal_tail(eps / mu + mu / 2)


@proved_by("T14-single-step")
def enclose_single_remove(law: SampledGaussianLoss, epsilon: arb) -> arb:
    """Enclose P(t > t*) - e^eps Q(t > t*), t* = s^2 log((e^eps - (1-q))/q) + 1/2; 1 - e^eps where e^eps <= 1 - q."""
    q, s, alpha = ball(law.sampling_probability), ball(law.noise_multiplier), epsilon.exp()
    excess = alpha - (1 - q)
    if excess <= 0:
        return 1 - alpha
    threshold = s * s * (excess / q).log() + arb(1) / 2
    return q * normal_tail((threshold - 1) / s) - excess * normal_tail(threshold / s)


@proved_by("T14-single-step")
def enclose_single_add(law: SampledGaussianLoss, epsilon: arb) -> arb:
    """Enclose Phi(t'/s) - e^eps [(1-q) Phi(t'/s) + q Phi((t'-1)/s)]; 0 where e^-eps <= 1 - q.

    t' = s^2 log((e^-eps - (1-q))/q) + 1/2.
    """
    q, s, alpha = ball(law.sampling_probability), ball(law.noise_multiplier), epsilon.exp()
    excess = 1 / alpha - (1 - q)
    if excess <= 0:
        return arb(0)
    threshold = s * s * (excess / q).log() + arb(1) / 2
    return alpha * (excess * normal_tail(-threshold / s) - q * normal_tail((1 - threshold) / s))


@proved_by("T14-single-step")
def enclose_single_symmetric(law: SampledGaussianLoss, epsilon: arb) -> arb:
    """Enclose P(t > t*) - e^eps Q(t > t*) for the replace pair, alpha = e^eps.

    e^{t*/s^2} is the positive root of c X^2 - b X - c alpha = 0, c = q e^{-1/(2s^2)}, b = (1-q)(alpha - 1).
    """
    q, s, alpha = ball(law.sampling_probability), ball(law.noise_multiplier), epsilon.exp()
    lift, slope = q * (-1 / (2 * s * s)).exp(), (1 - q) * (alpha - 1)
    root = (slope * slope + 4 * lift * lift * alpha).sqrt()
    numerator = slope + root if slope >= 0 else 4 * lift * lift * alpha / (root - slope)
    threshold = s * s * (numerator / (2 * lift)).log()
    above, middle, below = (normal_tail((threshold - mean) / s) for mean in (1, 0, -1))
    return q * above - slope * middle - alpha * q * below


_SINGLE = {"remove": enclose_single_remove, "add": enclose_single_add, "symmetric": enclose_single_symmetric}
