"""What the Edgeworth accountant is free to choose: the remainder's parameter and the tilt. Any choice is valid."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from verified_dp.core.engines.nodes import NodeRule
from verified_dp.core.laws.sampled_gaussian import SampledGaussianLoss
from verified_dp.papers.edgeworth.bounds import Ratios, SumMoments, bound_remainder
from verified_dp.papers.edgeworth.bounds_smooth import (
    bound_modulus,
    bound_smooth_remainder,
    enclose_first_frequency,
    unmirrored,
)
from verified_dp.search.line import dyadic, kept_window, node_rule
from verified_dp.search.transforms import FloatLaw

LARGEST_TILT = 1000.0
TILT_BITS = 4
HEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.4)
ACCURACY = 20.0
"""Of the node rules for kappa: -log of their relative error."""


def choose_free(ratios: Ratios, bound: Callable[[Ratios, Fraction], arb] = bound_remainder) -> Fraction:
    """Choose the remainder's parameter in (0, 1/3): the best hundredth."""
    candidates = [Fraction(k, 100) for k in range(1, 33)]
    return min(candidates, key=lambda free: float(bound(ratios, free)))


def choose_smooth(moments: SumMoments, law: SampledGaussianLoss, tilt: Fraction,
                  free: Fraction | None = None) -> tuple[arb, Fraction, arb]:
    """Choose the rule for kappa and the parameter unless it is given: (remainder of T108, parameter, kappa)."""
    if moments.ratios is None:
        return moments.remainder, Fraction(1, 10), arb(0)
    frequency = enclose_first_frequency(moments)
    kappas = [bound_modulus(law, tilt, frequency, rule) for rule in modulus_rules(*unmirrored(law, tilt))]
    kappa = min(kappas, key=float)
    free = free or choose_free(moments.ratios, lambda ratios, free: bound_smooth_remainder(ratios, free, kappa))
    return bound_smooth_remainder(moments.ratios, free, kappa), free, kappa


def modulus_rules(law: SampledGaussianLoss, tilt: Fraction) -> list[NodeRule]:
    """Rules on lines of several heights: low ones where the phase turns fast, high ones where it turns slowly."""
    model, rules = FloatLaw(law), []
    t = max(float(tilt), 1e-3)
    half = min(0.45 * model.strip, 4 * model.s)
    for share in HEIGHTS:
        height = share * min(model.strip, 3 * model.s)
        step = min(2 * math.pi * half / (ACCURACY + model.modulus_growth(t, height, half)), 1.9 * model.s)
        low, high = kept_window(model, t, model.cumulants(t)[0] - ACCURACY, height)
        rules.append(node_rule(height, half, step, low, high))
    return rules


def round_tilt(saddle: float) -> Fraction:
    """Choose a tilt near the saddle point, with few digits, so that nearby eps share it."""
    return dyadic(min(max(saddle, 1 / LARGEST_TILT), LARGEST_TILT), TILT_BITS)
