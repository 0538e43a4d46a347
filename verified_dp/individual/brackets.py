"""eps_i(delta) of many records at once: Newton steps to a candidate, then two evaluations that bracket it (T13)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from verified_dp.core.kernel.theorems import proved_by
from verified_dp.individual.evaluate import Rows

NEWTON_STEPS = 7
WIDENINGS = (1.0, 2.0, 8.0, 64.0)


def doubles_around(value: Fraction) -> tuple[float, float]:
    """The largest double <= value and the smallest >= value."""
    near = float(value)
    below = near if Fraction(near) <= value else float(np.nextafter(near, -np.inf))
    above = near if Fraction(near) >= value else float(np.nextafter(near, np.inf))
    return below, above


@proved_by("T118-individual-enclosure")
def bracket_epsilons(rows: Rows, target: Fraction, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends with delta_i(lower) > target (or lower = 0) and delta_i(upper) <= target (or upper = inf)."""
    below, above = doubles_around(target)
    zero = rows.delta(np.zeros(len(guess)))[1] <= below
    goal = math.log(target.numerator) - math.log(target.denominator)
    near, slope, spread = _newton(rows, goal, guess)
    lower, upper = np.zeros(len(guess)), np.full(len(guess), np.inf)
    for factor in WIDENINGS:
        room = (spread * 1.001 + 2.0**-40) * factor / slope
        high, low = np.maximum(near + room, 0.0), np.maximum(near - room, 0.0)
        fits = np.isinf(upper) & (rows.delta(high)[1] <= below)
        upper = np.where(fits, high, upper)
        fits = (lower == 0) & (rows.delta(low)[0] > above)
        lower = np.where(fits, low, lower)
        if not (np.isinf(upper) | (lower == 0))[~zero].any():
            break
    last = rows.chernoff_epsilon(goal)
    fits = (last < upper) & (rows.delta(last)[1] <= below)
    return np.where(zero, 0.0, lower), np.where(zero, 0.0, np.where(fits, last, upper))


@proved_by("T118-individual-enclosure")
def bracket_deltas(rows: Rows, epsilon: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of delta_i(eps): from below at the double above eps, from above at the one below: delta_i falls."""
    below, above = (rows.delta(np.full(len(rows.scale), end)) for end in doubles_around(epsilon))
    return above[0], below[1]


def _newton(rows: Rows, goal: float, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where log delta is about `goal`, minus its slope there, and half the width of log delta.

    A record that has arrived stays: what comes out for it does not depend on the others.
    """
    epsilon = np.maximum(guess, 0.0)
    for _ in range(NEWTON_STEPS):
        lower, upper = rows.delta(epsilon)
        middle = np.maximum((lower + upper) / 2, 1e-300)
        slope = np.maximum(-rows.slope(epsilon) / middle, 1e-3)
        move = (np.log(middle) - goal) / slope
        arrived = np.abs(move) < 1e-11
        if arrived.all():
            break
        moved = np.maximum(epsilon + np.clip(move, -0.5 * epsilon - 0.1, epsilon + 1.0), 0.0)
        epsilon = np.where(arrived, epsilon, moved)
    spread = np.minimum((upper - lower) / (2 * middle) + np.abs(np.log(middle) - goal), 50.0)
    return epsilon, slope, spread
