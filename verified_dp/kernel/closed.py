"""Closed forms: plain Gaussian steps, and a single sampled Gaussian step in each order (T14, T15)."""

from dataclasses import dataclass
from fractions import Fraction

from flint import ctx

from verified_dp.kernel.balls import ball
from verified_dp.kernel.bounds import Bounds, bounds_from_sum
from verified_dp.losses.composed import ComposedLoss
from verified_dp.losses.gaussian import enclose_gaussian_profile


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
            delta = loss.parts[0][0].enclose_hockey_stick(ball(epsilon))
        else:
            delta = enclose_gaussian_profile(loss.mean_shift_squared, ball(epsilon))
        return bounds_from_sum(delta, {}, {})
