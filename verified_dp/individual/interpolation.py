"""How log M of one sampled Gaussian step moves with v = 1 / (noise multiplier)^2: what interpolation in v costs (T116).

With G_v = e^{sqrt(v) Z - v/2}, m = 1 - q + q G_v, p = q G_v / m, beta = z + 1 (remove) or -z (add), M(z) = E[m^beta],

    dM/dv = (1/2) beta (beta-1) E[p^2 m^beta],
    d2M/dv2 = (1/4) beta (beta-1) E[(2 p^2 + 4 (beta-2) p^3 + (beta-2)(beta-3) p^4) m^beta].

The three expectations of p^j |m^beta| are bounded at Re z; they bound both derivatives at every frequency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import acb, arb, ctx

from verified_dp.core.kernel.balls import BOUND_BITS, ball, normal_tail, upper_end
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.search.doubles import ROUND_UP, double_above

LEFT, GROWTH, LEAST_CELLS, MOST_CELLS = -9, 0.6, 30, 1500
"""Where the cells that bound an expectation begin, and by which exponent the integrand grows at most across one."""


@dataclass(frozen=True)
class Shares:
    """Bounds of E[p^j |m^beta|], j = 2, 3, 4, for Re z = tilt and every v from `least` to `top`."""

    order: str
    tilt: Fraction
    least: Fraction
    top: Fraction
    moments: tuple[arb, arb, arb]

    @proved_by("T116-variance-interpolation")
    def power(self, z: acb) -> acb:
        """beta: M(z) = E[m^beta]; beta (beta - 1) = z (z + 1) in both orders."""
        return z + 1 if self.order == "remove" else -z

    @proved_by("T116-variance-interpolation")
    def first(self, z: acb) -> arb:
        """Bound |dM/dv|."""
        return upper_end(abs(z * (z + 1)) * self.moments[0] / 2)

    @proved_by("T116-variance-interpolation", "T117-double-precision")
    def derivatives(self, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of |dM/dv| and |d2M/dv2| at the points of these `factors`, in doubles."""
        product, shifted, twice = factors
        two, three, four = (double_above(moment) for moment in self.moments)
        inner = 2 * two + 4 * shifted * three + shifted * twice * four
        return product * two / 2 * ROUND_UP, product * inner / 4 * ROUND_UP


@proved_by("T116-variance-interpolation")
def derivative_factors(order: str, points: Sequence[acb]) -> np.ndarray:
    """Bounds of |z (z+1)|, |beta - 2| and |beta - 3| at each point, in doubles."""
    powers = [z + 1 if order == "remove" else -z for z in points]
    rows = [z * (z + 1) for z in points], [beta - 2 for beta in powers], [beta - 3 for beta in powers]
    return np.array([[double_above(abs(x)) for x in row] for row in rows])


@dataclass(frozen=True)
class Cells:
    """Cells of the real line: their ends, increasing, and P(Z > end); fine enough for variances up to `top`."""

    top: Fraction
    ends: Sequence[arb]
    tails: Sequence[arb]

    def up_to(self, t: float) -> int:
        """About how many cells end left of t."""
        return math.floor((t - LEFT) / (float(self.ends[1].mid()) - LEFT))


def cut_cells(probability: Fraction, order: str, tilt: Fraction, top: Fraction) -> Cells:
    """Cells on which p^j m^{Re beta} grows at most by GROWTH; any do, these leave little out."""
    root, high = math.sqrt(top), _reach(probability, order, tilt, top)
    count = min(max(LEAST_CELLS, math.ceil((high - LEFT) * root * (tilt + 4) / GROWTH)), MOST_CELLS)
    step = ball(Fraction(math.ceil((high - LEFT) / count * 2**20), 2**20))
    ends = [LEFT + step * i for i in range(count + 1)]
    return Cells(top, ends, [normal_tail(t) for t in ends])


def _reach(probability: Fraction, order: str, tilt: Fraction, top: Fraction) -> float:
    """Where little of E[p^2 m^{Re beta}] is left on the right."""
    c, root = float(tilt) if order == "remove" else 3.0, math.sqrt(top)
    return max((c + 1) * root + math.sqrt(c * (c + 1)) * root + math.sqrt(60 - 8 * math.log(float(probability))), root)


@proved_by("T116-variance-interpolation")
def bound_shares(probability: Fraction, order: str, tilt: Fraction, least: Fraction, top: Fraction,
                 cells: Cells) -> Shares:
    """Bound the three expectations for least <= v <= top, in the remove order for all v <= top; tilt >= 0, top > 0."""
    c, totals, before, left = ball(tilt), [arb(0), arb(0), arb(0)], arb(1), arb(0)
    needed = _reach(probability, order, tilt, top)
    stride = max(1, min(math.floor(math.sqrt(cells.top / top)), cells.up_to(needed) // LEAST_CELLS))
    step = _Step(probability, ball(top if order == "remove" else least).sqrt(), ball(top).sqrt())
    for t, tail in zip(cells.ends[::stride], cells.tails[::stride], strict=True):
        odds = step.largest_odds(t)
        share, rest = odds / (step.rest + odds), step.rest + (odds if order == "remove" else left)
        value = (before - tail) * (rest.log() * (c + 1 if order == "remove" else -c)).exp()
        for j in range(3):
            totals[j] += value * share ** (j + 2)
        before, left, last = tail, step.least_odds(t), t
        if float(t.mid()) > needed:
            break
    right = _bound_right_of(last, c, ball(top)) if order == "remove" else before * ((step.rest + left).log() * -c).exp()
    two, three, four = (upper_end(total + right) for total in totals)
    return Shares(order, tilt, least, top, (two, three, four))


class _Step:
    """q G_v for standard normal values t and sqrt(v) between two numbers."""

    def __init__(self, probability: Fraction, low: arb, high: arb) -> None:
        self._q, self._low, self._high = ball(probability), low, high
        self.rest = ball(1 - probability)

    @proved_by("T116-variance-interpolation")
    def largest_odds(self, t: arb) -> arb:
        """Bound q G_v from above for all values up to t."""
        return self._q * ((self._low * t).max(self._high * t) - self._low * self._low / 2).exp()

    @proved_by("T116-variance-interpolation")
    def least_odds(self, t: arb) -> arb:
        """Bound q G_v from below for all values from t on."""
        return self._q * ((self._low * t).min(self._high * t) - self._high * self._high / 2).exp()


@proved_by("T116-variance-interpolation")
def _bound_right_of(t: arb, c: arb, v: arb) -> arb:
    """Bound E[m^{c+1}; Z > t] where G_v >= 1 beyond t: m <= G_v, a Gaussian centred at (c+1) sqrt(v)."""
    root = v.sqrt()
    if not t >= root / 2:
        return arb.pos_inf()
    return (c * (c + 1) * v / 2).exp() * normal_tail(t - (c + 1) * root)


@dataclass(frozen=True)
class Hull:
    """The interval of v of one bucket, with a little room on both sides: [low - slack, high + slack]."""

    low: Fraction
    high: Fraction
    slack: Fraction

    @property
    def bottom(self) -> Fraction:
        return max(self.low - self.slack, Fraction(0))

    @property
    def top(self) -> Fraction:
        return self.high + self.slack


@proved_by("T116-variance-interpolation", "T117-double-precision")
def bound_log_errors(hull: Hull, derivatives: tuple[np.ndarray, np.ndarray], sizes: tuple[np.ndarray, np.ndarray],
                     slack: Fraction) -> np.ndarray:
    """Bound |log M(v) - chord of log M| on the hull plus `slack` times |d log M/dv|, at each point; inf if unknown.

    derivatives: bounds of |M'|, |M''|. sizes: bounds of |M| from below at the bucket's two ends. With
    |M| >= L on the hull, |(log M)''| <= |M''|/L + (|M'|/L)^2, and a chord is off by at most
    (width^2/8 + 2 width room) times this. Finite only where log M(high)/M(low) is the principal logarithm.
    """
    (first, second), (low, high) = derivatives, sizes
    with ctx.workprec(BOUND_BITS):
        width, room, own = ball(hull.high - hull.low), ball(hull.slack), ball(slack)
        reach, whole = double_above(width / 2 + room), double_above(width + room)
        curve, shift = double_above(width * width / 8 + 2 * width * room), double_above(own)
    least = ((low + high) / 2 - first * reach * ROUND_UP) / ROUND_UP
    sure = (least > 0) & (first * whole * ROUND_UP < low)
    slope = first / np.where(sure, least, 1.0)
    bend = second / np.where(sure, least, 1.0) + slope * slope
    return np.where(sure, (bend * curve + slope * shift) * ROUND_UP, np.inf)


@proved_by("T116-variance-interpolation", "T117-double-precision")
def bound_log_moduli(hull: Hull, first: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """log of a bound of |M| on the hull: at most the mean of the ends' moduli and what M' can add to it."""
    with ctx.workprec(BOUND_BITS):
        reach = double_above(ball(hull.high - hull.low) / 2 + ball(hull.slack))
    most = ((low + high) / 2 + first * reach) * ROUND_UP
    return np.array([double_above(arb(float(x)).log()) for x in most])


@proved_by("T116-variance-interpolation")
def bound_rise(hull: Hull, shares: Shares, point: acb, low: acb, high: acb, slack: Fraction) -> float:
    """Bound log M(v) - chord of log M from above on the hull at a real exponent > 0, where M >= 1 rises with v.

    M is convex in v in the remove order, so that by Hoeffding's lemma the excess is at most
    (log of the ratio)^2 / 8. 0 <= d log M/dv <= l (l+1)/2, since p <= 1.
    """
    with ctx.workprec(BOUND_BITS):
        rise = (high.real / low.real).log()
        excess = (rise * rise / 8).min(rise) if shares.order == "remove" else rise
        most = (point * (point + 1)).real / 2
        room = ball(hull.slack) * (2 * rise / ball(hull.high - hull.low) + most)
        return double_above(excess + room + ball(slack) * most)


@proved_by("T116-variance-interpolation")
def bound_beyond(hull: Hull, shares: Shares, at_low: arb, angle: arb, z: acb) -> tuple[arb, arb]:
    """(A, S): |M(Re z + iw; v)| <= e^{A + S (v - low)/(high - low)} for every w >= Im z and v of the hull, S >= 0.

    at_low: such a bound at v = hull.low, on the line where arg G has the angle 0 < theta <= pi/2 (T11); 1, 0 at v = 0.
    The logarithm of a bound that is linear in v is replaced by its tangent at the bucket's middle, so that S <= 2.
    """
    width, room = ball(hull.high - hull.low), ball(hull.slack)
    tilt = shares.power(acb(z.real)).real
    if hull.low == 0:
        start, rate, lost = arb(1), shares.first(acb(z.real)), arb(0)
    else:
        low, least = ball(hull.low), ball(hull.low - hull.slack)
        half, turned = angle * angle / 2, z.imag * angle.sin()
        cosine = (angle / 2).cos()
        loss = shares.moments[0] * cosine**-2 * (cosine ** -z.real if shares.order == "add" else 1)
        slope = abs(tilt).max(turned) if shares.order == "remove" else abs(tilt) + turned
        rate = (half / least).exp() * loss * (slope * slope + abs(tilt) + 2 * turned) / 2
        beta = abs(tilt) + z.imag
        lost = (half / least).exp() * loss * (beta * beta + beta) / 2
        start = at_low * (half * (1 / least - 1 / low)).exp()
    start = start + room * lost
    half = rate * width / start / 2
    return start.log() + room * rate / start + (1 + half).log() - half / (1 + half), 2 * half / (1 + half)


