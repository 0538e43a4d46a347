"""Random allocation's transform by real places: Mellin's (CERTIFICATE.md; T168 (e)).

S/t is a mean of t lognormal ratios, g(y) = E e^{-e^y S/t} = phi(e^y/t)^t, mu_k = E (S/t)^k. For z = b + iw, b no whole
number <= 0, |w| <= W, h > 0, P = 2 pi/h > W, first and last whole, and n >= 0 whole above -b,

    Gamma(z) E (S/t)^-z = h sum_{first <= j <= last} e^{zjh} g(jh)
        + h sum_{k<n} (-1)^k (mu_k/k!) e^{(z+k)(first-1)h} / (1 - e^{-(z+k)h})  +-  (A |Gamma(z)| E (S/t)^-b + rest),
    A = |Gamma(b+i(P-W)) / Gamma(b+iW)| 2 e^{-(P-W)^2 v/2} / (1 - e^{-(P-W)Pv}),     v = s^2/t,
    rest = h (mu_n/n!) e^{(b+n)(first-1)h} / (1 - e^{-(b+n)h}) + T_last q/(1-q),     q = T_last/T_{last-1} < 1,

T_j = h e^{bjh} g(jh). phi is a trapezoidal rule whose places lie on those of y: all its exponentials are one list.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count as whole

from mpmath import bernfrac

from .allocation import Guess, approximate, moments, short
from .balls import (
    Ball,
    Complex,
    Unknown,
    ball,
    bits,
    complex_exp,
    complex_log,
    cos_sin,
    exp,
    expm1,
    inverse,
    log,
    modulus,
    pi,
    plus,
    plus_minus,
    power,
    precision,
    scaled_by,
    sqrt,
    tick,
    times,
    total,
    turn_sums,
)

MOST_BITS, MOST_PRODUCTS = 3000, 2 * 10**7
MOST_WHOLE, MORE_MOMENTS = 400, 40
"""Whole moments: up to which one, and how many above -b are tried."""
_GRID = 0.25


@dataclass(frozen=True)
class Transformed:
    """M(c + i m step) for m = 0..count up to error, and a bound of M(c)."""

    values: list[Complex]
    error: Ball
    moment: Ball


def transformed(rounds: int, square: Fraction, added: bool, tilt: Ball, step: Ball, count: int,
                wanted: int) -> Transformed:
    """E e^{(c+iw)L}, to about 2^-wanted of M(c); Unknown where that would take very long.

    z = c + iw (add), -(c+1) + iw, and the conjugate of what is found (remove).
    """
    b = tilt if added else -(tilt + 1)
    mean = _whole_moment(rounds, square, b)
    if mean is not None and not count:
        return Transformed([(mean, Ball(0))], Ball(0), mean.upper())
    found = by_plan(_plan(rounds, square, b, step.magnitude() * count, wanted), rounds, square, b, step, count, mean)
    if not all(part.radius() <= found.moment.shifted(4 - wanted) for value in found.values for part in value):
        raise Unknown("a transform of too few digits")
    return found if added else Transformed([(x, -y) for x, y in found.values], found.error, found.moment)


def _whole_moment(rounds: int, square: Fraction, b: Ball) -> Ball | None:
    """E (S/t)^-b where Gamma(b) is infinite."""
    n = round(approximate(-b))
    return _moments(rounds, square, n)[n] if 0 <= n < MOST_WHOLE and (b + n).is_zero() else None


def _moments(rounds: int, square: Fraction, most: int) -> list[Ball]:
    """mu_0 .. mu_n: where rounds are few their sums cancel, by less than 8 bits each."""
    with precision(bits() + 8 * most + 64):
        return moments(rounds, square, most, bits())


def by_plan(plan: Plan, rounds: int, square: Fraction, b: Ball, step: Ball, count: int,
            mean: Ball | None) -> Transformed:
    """E (S/t)^-z; mean: at w = 0, where Gamma is infinite there."""
    with precision(plan.bits):
        sums, rest = plan.sums(rounds, square, b, step, count, mean is not None)
    backs = [reciprocal_gamma((b, step * m)) for m in range(count + 1)]
    values = [times(one, back) for one, back in zip(sums, backs, strict=True)]
    aliases, far = plan.aliases(1 / (square * rounds), b, step.magnitude() * count, backs[-1])
    moment = (modulus(values[0]) + rest * modulus(backs[0])) / (1 - aliases)
    if mean is not None:
        values[0], moment = (mean, Ball(0)), mean
    return Transformed(values, (aliases * moment.upper() + rest * far).upper(), moment.upper())


@dataclass(frozen=True)
class Plan:
    """Any numbers are right, as long as q < 1, A < 1, n > -b."""

    step: Fraction
    first: int
    last: int
    terms: int
    bits: int

    def aliases(self, variance: Fraction, b: Ball, frequency: Ball, back: Complex) -> tuple[Ball, Ball]:
        """(A, 1/|Gamma(b+iW)|); |Gamma(b+iw)| falls in |w|."""
        period, far = 2 * pi() / self.step, modulus(back).upper()
        left = period - frequency
        if not left > 0:
            raise Unknown("places that are too far apart")
        ratio = far / modulus(reciprocal_gamma((b, left))).lower()
        found = (ratio * exp(-(left * left * variance / 2)) * 2 / -expm1(-(left * period * variance))).upper()
        if not found < 1:
            raise Unknown("places that are too far apart")
        return found, far

    def sums(self, rounds: int, square: Fraction, b: Ball, step: Ball, count: int,
             pole: bool) -> tuple[list[Complex], Ball]:
        """Those over j and k for every frequency, and rest; pole: the first of them is infinite, and left out."""
        h, known = ball(self.step), _moments(rounds, square, self.terms)
        weights, size, ratio = list[Ball](), h * exp(b * h * self.first), exp(b * h)
        for value in laplace(rounds, square, self.step, self.first, self.last, bits()):
            weights.append(size * power(value, rounds))
            size = size * ratio
        turns = [cos_sin(step * h * j) for j in range(self.first, self.last + 1)]
        found = turn_sums([(weight, Ball(0)) for weight in weights], turns, count)
        q = weights[-1] / weights[-2]
        if not (q < 1 and b + self.terms > 0):
            raise Unknown("places left out that do not fall")
        shares = [h * known[k] / math.factorial(k) * exp((b + k) * h * (self.first - 1)) * (-1) ** k
                  for k in range(self.terms + 1)]
        falls = [exp(-((b + k) * h)) for k in range(self.terms + 1)]
        rest = weights[-1] * q / (1 - q) + shares[-1].magnitude() / (1 - falls[-1])
        for m in range(1 if pole else 0, count + 1):
            tick()
            cosine, sine = cos_sin(step * h * m)
            backs = (inverse((1 - fall * cosine, fall * sine)) for fall in falls[:-1])
            series = [scaled_by(back, share) for share, back in zip(shares, backs, strict=False)]
            term = total(x for x, _ in series), total(y for _, y in series)
            found[m] = plus(found[m], times(term, cos_sin(step * h * m * (self.first - 1))))
        return found, rest.upper()


def laplace(rounds: int, square: Fraction, step: Fraction, first: int, last: int, wanted: int) -> Iterator[Ball]:
    """phi(e^{jh}/t), j = first..last, to about 2^-wanted: u = i eta/s, |i| <= n, eta = h/k; x_m = e^{m eta - s^2/2}/t.

    sb <= pi/2: the rule errs by at most 2 e^{b^2/2} / (e^{2 pi b s/eta} - 1) + 2 Q(n eta/s), Q(x) <= e^{-x^2/2}/2.
    """
    s, nats = 1 / math.sqrt(square), wanted * math.log(2)
    wide = short(min(1.57 / s, math.sqrt(2 * nats)) * (1 - 1e-5))
    every = math.ceil(float(step) / s * (nats + float(wide) ** 2 / 2 + 1) / (2 * math.pi * float(wide)))
    eta = step / every
    n = math.ceil(math.sqrt(2 * nats) * s / float(eta)) + 1
    if (last - first) * n > MOST_PRODUCTS:
        raise Unknown("a transform of very many nodes")
    places = wanted + 16
    with precision(places + 48):
        root = sqrt(ball(square))
        if not wide / root <= pi() / 2:
            raise Unknown("a rule outside of its strip")
        error = 2 * exp(ball(wide * wide / 2)) / expm1(2 * pi() * wide / (root * eta)) + exp(
            -ball((n * eta) ** 2 * square / 2))
        scale = eta * root / sqrt(2 * pi())
        half = [(scale * exp(-ball((i * eta) ** 2 * square / 2))).scaled(places) for i in range(n + 1)]
        weights = [w for w, _ in half[:0:-1]] + [w for w, _ in half]
        off = max(d for _, d in half)
        x, ratio = exp(ball((first * every - n) * eta - 1 / (2 * square))) / rounds, exp(ball(eta))
        falls, room = list[int](), 1
        while len(falls) <= (last - first) * every + 2 * n and not x > places:  # e^-x < 2^-places from there on
            fall, d = exp(-x).scaled(places)
            falls.append(fall)
            x, room = x * ratio, max(room, d)
        wrong = sum(weights) * room + (2 * n + 1) * off * ((1 << places) + 2 * room)
    for j in range(last - first + 1):
        tick()
        found = sum(map(int.__mul__, weights, falls[j * every:j * every + 2 * n + 1]))
        yield Ball(found, wrong, -2 * places) + plus_minus(error)


# ---------- where to compute, in doubles ----------


def _plan(rounds: int, square: Fraction, b: Ball, frequency: Ball, wanted: int) -> Plan:
    at, top, variance, bit = approximate(b), approximate(frequency), float(1 / (square * rounds)), math.log(2)
    guess, lost = Guess(rounds, float(square) ** -0.5), _log_gamma(at, top)
    room = _room(at, top, variance, lost - (wanted + 2) * bit)
    step = short(2 * math.pi / (top + room) * (1 - 1e-6))
    middle = math.log(max(at, 1.0))
    places = [middle + n * _GRID for n in range(-int(40 / _GRID), int(40 / _GRID))]
    sizes = [guess.log_m(y - math.log(rounds)) for y in places]
    heights = [at * y + rounds * size for y, size in zip(places, sizes, strict=True)]
    peak = max(heights) if at > 0 else 0.0
    aim = lost - (wanted + 8) * bit + (peak - _log_gamma(at, 0.0) if at > 0 else 0.0)
    end = next((y for y, height in zip(places, heights, strict=True) if height < aim - 4 and y > (
        places[heights.index(peak)] if at > 0 else 0.0)), None)
    if end is None:
        raise Unknown("places that do not end")
    if -at > MOST_WHOLE:
        raise Unknown("moments that are too high")
    known = _moments(rounds, square, max(math.ceil(-at), 0) + MORE_MOMENTS)
    logs = [approximate(log(one)) - math.lgamma(n + 1) + math.log(step) for n, one in enumerate(known)]
    start, terms = max((min((aim - 4 - size + math.log(-math.expm1(-(at + n) * step))) / (at + n),
                            3.0 if n else end), -n) for n, size in enumerate(logs) if at + n > 0.4 or (
                                at > 0 and not n))
    start, terms = min(start, end - 1), -terms
    most = [height - size for y, size, height in zip(places, sizes, heights, strict=True)
            if start - 1 <= y <= end + 1]
    most += [logs[k] + (at + k) * start - math.log(abs(math.expm1(-(at + k) * step)) + 1e-9) for k in range(terms)]
    digits = math.ceil((max(most) - aim + math.log(rounds)) / bit) + 40
    if digits > MOST_BITS:
        raise Unknown("a transform where very much cancels")
    return Plan(step, math.floor(start / float(step)), math.ceil(end / float(step)) + 1, terms, digits)


def _room(b: float, top: float, variance: float, aim: float) -> float:
    """P - W for aliases of about e^aim: their logarithm falls."""
    def height(room: float) -> float:
        many = -math.log(max(-math.expm1(-room * (room + top) * variance), 1e-300))
        return _log_gamma(b, room) - room * room * variance / 2 + many

    high = 1.0
    while height(high) > aim:
        high *= 2
    low = high / 2
    while high > 1.01 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if height(middle) > aim else (low, middle)
    return high


def _log_gamma(b: float, w: float) -> float:
    """About log |Gamma(b+iw)|."""
    z, lost = complex(b, w), 0.0
    while z.real < 8:
        lost += math.log(max(abs(z), 1e-9))
        z += 1
    return ((z - 0.5) * cmath.log(z) - z + 1 / (12 * z)).real + math.log(2 * math.pi) / 2 - lost


# ---------- Gamma ----------


@lru_cache(maxsize=4096)
def _stirling(k: int) -> Fraction:
    top, bottom = bernfrac(2 * k)
    return Fraction(int(top), int(bottom) * 2 * k * (2 * k - 1))


def reciprocal_gamma(z: Complex) -> Complex:
    """1/Gamma(z): Stirling's series at z + n, Re >= 1; its rest there is at most 2^k times the first term left out."""
    with precision(bits() + 48):
        product, far = (Ball(1), Ball(0)), Ball(bits() // 4 + 4)
        while not (z[0] >= 1 and (z[0] >= far or z[1].mignitude() >= far)):
            tick()
            product, z = times(product, z), (z[0] + 1, z[1])
        half = z[0] - Fraction(1, 2), z[1]
        found = plus(times(half, complex_log(z)), (log(2 * pi()) / 2 - z[0], -z[1]))
        term, back = inverse(z), inverse(z)
        square = times(back, back)
        for k in whole(1):
            bound = (modulus(term) * abs(_stirling(k))).upper().shifted(k)
            if bound.top() < -bits():
                break
            if k > bits():
                raise Unknown("a value of Gamma")
            found, term = plus(found, scaled_by(term, _stirling(k))), times(term, square)
        found = found[0] + plus_minus(bound), found[1] + plus_minus(bound)
        return times(product, complex_exp((-found[0], -found[1])))
