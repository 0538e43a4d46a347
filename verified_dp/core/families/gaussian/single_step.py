"""One Poisson-sampled Gaussian step in each order: hockey-stick divergence, tails, density, moments (T14, T60, T214).

Written with alpha = e^x, q the sampling probability, s the noise multiplier. Where a comparison cannot be decided
in balls, a bound that holds on both sides of it is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verified_dp.core.engines.shared import binomial_mass, kept
from verified_dp.core.kernel.balls import ball, integer_below, normal_density, normal_tail, upper_end
from verified_dp.core.kernel.exact import SquareRoot
from verified_dp.core.kernel.theorems import proved_by

Multiplier = Fraction | SquareRoot


@dataclass(frozen=True)
class StepValue:
    """H_{e^x}(P || Q) = above - e^x below, above = P(L > x), below = Q(L > x), at one x."""

    hockey_stick: arb
    above: arb
    below: arb


def _threshold(multiplier: arb, ratio: arb) -> arb:
    """The t at which e^{(2t - 1)/(2 s^2)} = ratio > 0."""
    return multiplier * multiplier * ratio.log() + arb(1) / 2


@proved_by("T14-single-step")
def enclose_single_remove(probability: Fraction, multiplier: Multiplier, x: arb) -> StepValue:
    """Enclose P(t > t*) - e^x Q(t > t*), t* = s^2 log((e^x - (1-q))/q) + 1/2; 1 - e^x where e^x <= 1 - q."""
    q, s, excess = ball(probability), ball(multiplier), x.expm1() + ball(probability)
    if excess <= 0:
        return StepValue(-x.expm1(), arb(1), arb(1))
    decided = excess > 0
    threshold = _threshold(s, (excess if decided else upper_end(excess)) / q)
    with_it, without = normal_tail((threshold - 1) / s), normal_tail(threshold / s)
    mixed = (1 - q) * without + q * with_it
    if decided:
        return StepValue(q * with_it - excess * without, mixed, without)
    plain = -x.expm1()
    return StepValue(plain.union(plain.max(q)), arb(1).union(mixed), arb(1).union(without))


@proved_by("T14-single-step")
def enclose_single_add(probability: Fraction, multiplier: Multiplier, x: arb) -> StepValue:
    """Enclose Phi(t'/s) - e^x [(1-q) Phi(t'/s) + q Phi((t'-1)/s)]; 0 where e^-x <= 1 - q.

    t' = s^2 log((e^-x - (1-q))/q) + 1/2.
    """
    q, s, alpha, excess = ball(probability), ball(multiplier), x.exp(), (-x).expm1() + ball(probability)
    if excess <= 0:
        return StepValue(arb(0), arb(0), arb(0))
    decided = excess > 0
    threshold = _threshold(s, (excess if decided else upper_end(excess)) / q)
    with_it, without = normal_tail((1 - threshold) / s), normal_tail(-threshold / s)
    mixed = (1 - q) * without + q * with_it
    if decided:
        return StepValue(alpha * (excess * without - q * with_it), without, mixed)
    most = (alpha * excess).max(arb(0))
    return StepValue(arb(0).union(most), arb(0).union(without), arb(0).union(mixed))


@proved_by("T14-single-step")
def enclose_single_symmetric(probability: Fraction, multiplier: Multiplier, x: arb) -> StepValue:
    """Enclose P(t > t*) - e^x Q(t > t*) for the replace pair, t* as in `_mirror_threshold`."""
    q, s = ball(probability), ball(multiplier)
    threshold = _mirror_threshold(q, s, x)
    above, middle, below = (normal_tail((threshold - mean) / s) for mean in (1, 0, -1))
    stick = q * above - (1 - q) * x.expm1() * middle - x.exp() * q * below
    return StepValue(stick, (1 - q) * middle + q * above, (1 - q) * middle + q * below)


@proved_by("T14-single-step")
def _mirror_threshold(q: arb, s: arb, x: arb) -> arb:
    """t*: e^{t*/s^2} is the positive root of c X^2 - b X - c alpha = 0, c = q e^{-1/(2s^2)}, b = (1-q)(alpha - 1)."""
    alpha, lift, slope = x.exp(), q * (-1 / (2 * s * s)).exp(), (1 - q) * x.expm1()
    root = (slope * slope + 4 * lift * lift * alpha).sqrt()
    numerator = slope + root if slope >= 0 else 4 * lift * lift * alpha / (root - slope)
    return s * s * (numerator / (2 * lift)).log()


Single = Callable[[Fraction, Multiplier, arb], StepValue]
SINGLE_STEP: dict[str, Single] = {
    "remove": enclose_single_remove, "add": enclose_single_add, "symmetric": enclose_single_symmetric}


@proved_by("T60-tails")
def enclose_sampled_density(order: str, probability: Fraction, multiplier: Multiplier, x: arb) -> arb:
    """Enclose p(t) / |dL/dt| at the t whose loss is x; 0 outside of the support.

    remove: phi_s(t) e^{2x} s^2 / (e^x - (1-q)); add: phi_s(t) e^{-x} s^2 / (e^{-x} - (1-q)).
    symmetric: phi_s(t) m(t) s^2 / (r(t) + r(-t)), m = 1 - q + q e^{(2t-1)/(2s^2)}, r = 1 - (1-q)/m.
    """
    q, s = ball(probability), ball(multiplier)
    if order == "symmetric":
        return _mirror_density(q, s, _mirror_threshold(q, s, x))
    sign, weight = (1, (2 * x).exp()) if order == "remove" else (-1, (-x).exp())
    excess = (sign * x).expm1() + q
    if excess <= 0:
        return arb(0)
    if excess > 0:
        return normal_density(_threshold(s, excess / q), s * s) * weight * s * s / excess
    t = _threshold(s, upper_end(excess) / q).min(arb(-1))
    highest = normal_density(t, s * s) * ((1 - 2 * t) / (2 * s * s)).exp() / q
    return arb(0).union(upper_end(highest * weight * s * s))


def _mirror_density(q: arb, s: arb, t: arb) -> arb:
    with_it, mirrored = (q * ((2 * sign * t - 1) / (2 * s * s)).exp() for sign in (1, -1))
    shares = with_it / (1 - q + with_it) + mirrored / (1 - q + mirrored)
    return normal_density(t, s * s) * (1 - q + with_it) * s * s / shares


_MOST_INTEGER = 256
"""Sums of more terms would take too long."""


@kept(4096)
@proved_by("T214-sampled-moments")
def log_moment_at(q: Fraction, s: Multiplier, n: int) -> arb:
    """Enclose log E[e^{n L}] of the remove order for an integer n > 0.

    It is log of sum_j C(n+1, j) (1-q)^{n+1-j} q^j e^{j (j-1) / (2 s^2)}, j = 0..n+1.
    """
    half = 1 / (2 * ball(s) ** 2)
    terms = (binomial_mass(n + 1, j, ball(q), ball(1 - q)) * (half * (j * (j - 1))).exp() for j in range(n + 2))
    return sum(terms, arb(0)).log()


@proved_by("T214-sampled-moments")
def bound_by_integers(q: Fraction, s: Multiplier, exponent: arb) -> arb | None:
    """Bound log E[e^{l L}] of the remove order by chords of its values at integers up to 256.

    None beyond, and where l is near an integer but not known to be one.
    """
    if not exponent < _MOST_INTEGER:
        return None
    low = integer_below(exponent)
    if not exponent <= low + 1:
        return None
    left, right = (log_moment_at(q, s, n) if n else arb(0) for n in (low, low + 1))
    return left + (right - left) * (exponent - low)
