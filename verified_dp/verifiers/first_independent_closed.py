"""Closed forms in mpmath's interval arithmetic, for the independent checker: Gaussian steps, one sampled step.

Q(x) = P(Z > x) for a standard normal Z is enclosed at a point x >= 0 by

* x < 8: Q(x) = 1/2 - phi(x) (x + x^3/3 + x^5/(3*5) + ...), all terms >= 0. A term is x^2/(2n+1) times the one
  before; from where this is below 1/2, what follows a term is less than twice the next one.
* x >= 8: Laplace's continued fraction Q(x) = phi(x)/y_0, y_n = x + (n+1)/y_{n+1}. For R_n = the integral over t > x
  of (t-x)^n e^{-t^2/2}, all positive, partial integration gives R_1 + x R_0 = e^{-x^2/2} and
  R_{n+1} + x R_n = n R_{n-1}. So y_0 = e^{-x^2/2}/R_0 and y_n = n R_{n-1}/R_n satisfy the recursion, and each y_n
  lies in [x, x + (n+1)/x]; from there at a large n, interval arithmetic leads down to y_0.

and by Q(-x) = 1 - Q(x). An interval is enclosed by the values at its ends, since Q falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from verified_dp.verifiers.first_independent_parameters import Law, NotCovered
from verified_dp.verifiers.intervals import (
    Interval,
    certain,
    exact,
    exp,
    hull,
    log,
    lower,
    pi,
    sqrt,
    unit,
    upper,
)

_FRACTION_FROM = 8
_MAX_TERMS = 20_000


def normal_tail(x: Interval) -> Interval:
    """Enclose Q at every point of x."""
    return hull(_tail_at(upper(x)), _tail_at(lower(x)))


def _tail_at(x: Interval) -> Interval:
    if certain(x < 0):
        return 1 - _tail_at(-x)
    density = exp(-x * x / 2) / sqrt(2 * pi())
    if certain(x >= _FRACTION_FROM):
        return density / _fraction(x)
    return exact(Fraction(1, 2)) - density * _series(x)


def _series(x: Interval) -> Interval:
    square, term, total = x * x, x, x
    for n in range(1, _MAX_TERMS):
        following = term * square / (2 * n + 1)
        if certain(following < unit(0)) and certain(2 * square < 2 * n + 1):
            return hull(total, total + 2 * following)
        term, total = following, total + following
    raise NotCovered("a normal tail at a very high precision")


def _fraction(x: Interval) -> Interval:
    """y_0, from deeper and deeper starts until it is about as narrow as the precision allows."""
    depth = 16
    while depth < _MAX_TERMS:
        y = hull(x, x + depth / x)
        for n in range(depth - 1, 0, -1):
            y = x + n / y
        if certain(upper(y) - lower(y) < unit(12) * lower(y)):
            return y
        depth *= 2
    raise NotCovered("a normal tail at a very high precision")


def has_closed_form(laws: Sequence[Law], shift_squared: Fraction) -> bool:
    """Gaussian steps alone, or one sampled step alone."""
    return not laws or (len(laws) == 1 and laws[0].count == 1 and not shift_squared)


def enclose_closed(laws: Sequence[Law], shift_squared: Fraction, epsilon: Fraction) -> Interval:
    """Enclose D(eps), eps >= 0, of what has a closed form."""
    if not has_closed_form(laws, shift_squared) or epsilon < 0:
        raise NotCovered("a closed form where there is none")
    if laws:
        return _SINGLE[laws[0].order](exact(laws[0].q), exact(laws[0].s), exp(exact(epsilon)))
    return _gaussian(shift_squared, epsilon)


def _gaussian(shift_squared: Fraction, epsilon: Fraction) -> Interval:
    """Q(eps/mu - mu/2) - e^eps Q(eps/mu + mu/2); 0 where mu = 0, since eps >= 0."""
    if shift_squared == 0:
        return exact(0)
    mu, eps = sqrt(exact(shift_squared)), exact(epsilon)
    return normal_tail(eps / mu - mu / 2) - exp(eps) * normal_tail(eps / mu + mu / 2)


def _remove(q: Interval, s: Interval, alpha: Interval) -> Interval:
    """P(t > t*) - alpha Q(t > t*) where m(t*) = alpha; alpha >= 1 > 1 - q."""
    threshold = s * s * log((alpha - (1 - q)) / q) + exact(Fraction(1, 2))
    above = normal_tail(threshold / s)
    return (1 - q) * above + q * normal_tail((threshold - 1) / s) - alpha * above


def _add(q: Interval, s: Interval, alpha: Interval) -> Interval:
    """P(t < t') - alpha Q(t < t') where m(t') = 1/alpha; 0 where 1/alpha <= 1 - q."""
    excess = 1 / alpha - (1 - q)
    if certain(excess <= 0):
        return exact(0)
    if not certain(excess > 0):
        raise NotCovered("an epsilon at the end of the support")
    threshold = s * s * log(excess / q) + exact(Fraction(1, 2))
    below, shifted = normal_tail(-threshold / s), normal_tail((1 - threshold) / s)
    return below - alpha * ((1 - q) * below + q * shifted)


def _symmetric(q: Interval, s: Interval, alpha: Interval) -> Interval:
    """P(t > t*) - alpha Q(t > t*), X = e^{t*/s^2} the positive root of c X^2 - (alpha-1)(1-q) X - alpha c = 0."""
    c, slope = q * exp(-1 / (2 * s * s)), (alpha - 1) * (1 - q)
    root = (slope + sqrt(slope * slope + 4 * c * c * alpha)) / (2 * c)
    threshold = s * s * log(root)
    right, middle, left = (normal_tail((threshold - mean) / s) for mean in (1, 0, -1))
    return q * right + (1 - q) * middle - alpha * ((1 - q) * middle + q * left)


_SINGLE = {"remove": _remove, "add": _add, "symmetric": _symmetric}
