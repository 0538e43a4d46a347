"""Choose how moments are enclosed: node rules on the real line, radii, bits; and a start for the saddle point."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from verified_dp.core.engines.mixture_lines import MixtureLines
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.law import DirectLaw, Law
from verified_dp.papers.saddlepoint.bounds_moments import MomentRule
from verified_dp.search.deadline import timed
from verified_dp.search.line import dyadic, kept_window, node_rule
from verified_dp.search.models import FloatLoss
from verified_dp.search.saddle import Saddle
from verified_dp.search.transforms import FloatLaw, float_law

USUAL = 40.0
"""Bits that counts up to 10^12 cost are always spent, so that the time does not depend on the counts."""
MOST_NODES = 20_000
UNTILTED_BITS, LARGEST_RADIUS = 30.0, 3.0
"""Accuracy of the moments at tilts 0 and -1, and the largest disc on which their errors are bounded."""
REACH = 1.5
"""Rules are chosen so that they are good up to this multiple of the tilt."""


def choose_moment_rules(loss: ComposedLoss, tilt: float, bits: float, order: int) -> tuple[MomentRule, ...]:
    """Choose rules whose error of the order-th moment is below 2^-bits at the tilt and somewhat beyond.

    Raises Unsupported where a law has no transform.
    """
    return tuple(_rule(law, tilt, bits + max(math.log2(count), USUAL), order) for law, count in timed(loss.parts))


def _rule(law: object, tilt: float, bits: float, order: int) -> MomentRule:
    if isinstance(law, MixtureLines):
        return _node_rule(float_law(law), tilt, bits, order)
    if isinstance(law, DirectLaw):
        radius = tilt / 2
        return MomentRule(dyadic(radius), points=2 * math.ceil((bits + 8) / 4 + order / 2 + 1))
    raise Unsupported(f"the saddle-point methods need the transform of every step, and {type(law).__name__} has none "
                      "in closed form: use the lattice method")


def _node_rule(law: FloatLaw, tilt: float, bits: float, order: int) -> MomentRule:
    """The fewest nodes with an error 2^-bits of the order-th moment in units of its typical size, at r = radius."""
    _, mean, variance = law.cumulants(tilt)
    deviation = math.sqrt(variance)
    radius = min(tilt / 4, 1 / (deviation + abs(mean)))
    loss = max(0.0, -order * math.log(radius * deviation)) + math.lgamma(order + 1)
    far = REACH * tilt + radius
    want = bits * math.log(2) + loss + 4
    best = math.inf, 0.0, 0.0
    for share in np.linspace(0.05, 0.97, 24):
        half = float(share) * min(law.strip, 2.5 * law.s * math.sqrt(want))
        if law.order != "remove" and half >= 0.97 * law.strip:
            continue
        need = want + law.strip_growth(far, half) + 2 * radius * half / law.variance + 1
        step = min(2 * math.pi * half / need, 1.9 * law.s)
        if 1 / step < best[0]:
            best = 1 / step, half, step
    _, half, step = best
    ends = [kept_window(law, x, law.cumulants(x)[0] - want, 0.0) for x in (tilt / 2, far)]
    low, high = min(a for a, _ in ends), max(b for _, b in ends)
    if high - low > MOST_NODES * step:
        raise Unsupported("the saddle point is so far out that its moments have too many nodes: use the contour")
    return MomentRule(dyadic(radius), node_rule(0.0, half, step, low, high))


def untilted_rule(law: Law, count: int, size: int) -> MomentRule:
    """Nodes whose error of the size-th untilted moment is below 2^-BITS of its typical size: no search, a formula."""
    if not isinstance(law, MixtureLines):
        return MomentRule(Fraction(1, 2))
    model, variance = float_law(law), float(law.sigma) ** 2
    _, mean, spread = model.cumulants(0.0)
    deviation = math.sqrt(spread)
    radius = min(LARGEST_RADIUS, 1 / (deviation + abs(mean)))
    places = [float(m) for m, _ in (*law.above, *law.below)]
    reach = max(places) - min(places)
    loss = max(0.0, -size * math.log(radius * deviation)) + math.lgamma(size + 1)
    want = UNTILTED_BITS * math.log(2) + math.log(count) + loss
    widest = min(0.97 * model.strip, 2.5 * model.s * math.sqrt(want))
    widths = [share * widest for share in (0.3, 0.5, 0.7, 0.85, 1.0)]
    growths = [model.strip_growth(radius, b) + radius * reach * b / variance for b in widths]
    step, half = max((2 * math.pi * b / (want + more + 5), b) for b, more in zip(widths, growths, strict=True))
    far = (2 + radius) * reach
    end = far + model.s * math.sqrt(2 * (want + 5 + far * far / (2 * variance)))
    return MomentRule(dyadic(radius), node_rule(0.0, half, min(step, 1.9 * model.s), -end, end))


def choose_prec(loss: ComposedLoss, bits: float, order: int, tilt: float) -> int:
    """Bits of the arithmetic, in steps of 64."""
    counts = max([USUAL, *(math.log2(count) for _, count in loss.laws)])
    small = max(0.0, -math.log2(tilt)) * (1 + order / 2)
    return 64 * math.ceil((bits + counts + 4 * order + small + math.log2(1 + tilt) + 20) / 64)


def asymptotic_saddle(model: FloatLoss, epsilon: float) -> float:
    """Proposition 8: t ~ (b + sqrt(b^2 + 4)) / (2 sd), b = (eps - mean)/sd, from the untilted mean and deviation.

    It solves mean + t var = eps + 1/t; within [1e-6, 1e6].
    """
    _, mean, variance = model.cumulants(1e-6)
    deviation = math.sqrt(max(variance, 1e-300))
    b = (epsilon - mean) / deviation
    root = (b + math.hypot(b, 2)) / 2 if b > 0 else 2 / (math.hypot(b, 2) - b)
    return min(max(root / deviation, 1e-6), 1e6)


def refine_saddle(model: FloatLoss, epsilon: float, saddle: Saddle) -> float:
    """The tilt of the saddle point to about 12 digits, by Newton steps from a rough one."""
    t = saddle.tilt
    for _ in range(8):
        _, mean, variance = model.cumulants(t)
        slope = mean - epsilon - 1 / t - 1 / (1 + t)
        move = slope / (variance + 1 / t**2 + 1 / (1 + t) ** 2)
        moved = t - move
        t = moved if moved > 0 else t / 2
        if abs(move) < 1e-11 * t:
            break
    return t


def choose_tilts(model: FloatLoss, epsilon: float, saddle: float) -> list[Fraction]:
    """Tilts worth trying for the rigorous interval: from the least prefactor of its error up to the saddle point."""
    low = max(_chernoff_tilt(model, epsilon, saddle), saddle / 2)  # the rules serve no smaller tilts
    return [dyadic(t) for t in np.linspace(low, saddle, 3)]


def _chernoff_tilt(model: FloatLoss, epsilon: float, saddle: float) -> float:
    """(44): K'(t) = eps + log(1 + 1/t), which lies below the saddle point."""
    low, high = saddle * 1e-3, saddle
    for _ in range(12):
        middle = math.sqrt(low * high)
        _, mean, _ = model.cumulants(middle)
        low, high = (middle, high) if mean < epsilon + math.log1p(1 / middle) else (low, middle)
    return high
