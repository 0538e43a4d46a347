"""Random allocation (CERTIFICATE.md, "Random allocation"): put(K) = E (K - S)_+ and P(S < K) by inverting a transform.

S is the sum of t independent X = e^{su - s^2/2}, u normal, s = 1 / noise multiplier; phi(z) = E e^{-zX}, Re z > 0, and
M its values at real places. With f_2 = put, f_1 = P(S < K), their transforms are phi^t / z^n. All
errors are closed expressions:

* phi on a turned line (T131): with sA = theta, |arg z - theta| + beta <= pi/2, the trapezoidal rule errs by at most
  (e^{(A+b)^2/2} + e^{(A-b)^2/2}) / (e^{2 pi b/h} - 1) + 2 e^{A^2/2} Q(nh), sb = beta; |phi| <= e^{A^2/2} M(Re(z e^{-i
  theta})) wherever that real part is at least 0.
* A hyperbola z_p(v) = m + c sin(iv - p) with p = a, in a strip of half width b = 3a/4 (T132): |phi| <= e^{(p/s)^2/2}
  M(r_p), r_p = cos p (m - c sin p), which is at most |z_p| and Re(z_p e^{-ip}), and int cosh v e^{-k cosh v} dv <=
  e^{-k} (1 + 1/k).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from .balls import (
    Ball,
    Complex,
    Unknown,
    ball,
    between,
    bits,
    complex_exp,
    complex_power,
    cos_sin,
    exp,
    expm1,
    inverse,
    log,
    modulus,
    normal_tail,
    pi,
    plus_minus,
    power,
    precision,
    scaled_by,
    sqrt,
    tick,
    times,
    total,
)
from .document import TooMuch

MAX_EXPONENTIALS = 4 * 10**5
"""Of a contour: minutes."""
MAX_NODES = 20_000
GUARD, SLACK = 64, 48
"""SLACK: bits that a contour may lose at strikes beside the one that it was made for."""


@dataclass(frozen=True)
class Transform:
    """phi for |arg z - theta| <= pi/2 - beta: nodes j of a line, whose ratios double from j to j + chain.

    Weights are integers, units of 2^-places, wrong by at most 2; rests[j]: a bound of the sum of those from j on.
    """

    theta: Fraction
    beta: Fraction
    chain: int
    places: int
    weights: tuple[tuple[int, int], ...]
    rests: tuple[int, ...]
    ratios: tuple[Complex, ...]
    error: Ball

    def value(self, z: Complex) -> Complex:
        """Raises Unknown outside of the sector. Exponentials are at most 1, and fall; d: how wrong they are, in units.

        (e + d)^2 is wrong by 2 |e| d + d^2, and rounded twice.
        """
        for angle in (self.theta - self.beta, self.theta + self.beta):
            cosine, sine = cos_sin(ball(angle))
            if not z[0] * cosine + z[1] * sine >= 0:
                raise Unknown("a transform outside of its sector")
        tick()
        places, chain, grown = self.places, self.chain, list[tuple[int, int, int]]()
        real = imaginary = room = 0
        for j, (w, v) in enumerate(self.weights):
            if j < chain:
                first, second = (part.scaled(places) for part in complex_exp(scaled_by(times(z, self.ratios[j]), -1)))
                x, y, d = first[0], second[0], first[1] + second[1]
            else:
                x, y, d = grown[j - chain]
                x, y, d = (x * x - y * y) >> places, x * y >> places - 1, 2 * d + (d * d >> places) + 4
            grown.append((x, y, d))
            size = abs(x) + abs(y) + d
            real, imaginary = real + w * x - v * y, imaginary + w * y + v * x
            room += 4 * size + (abs(w) + abs(v)) * d
            if size < 2 * d:  # what follows is at most that
                room += self.rests[j] * size
                break
        wide = self.error + Ball(room, 0, -2 * places)
        return Ball(real, 0, -2 * places) + plus_minus(wide), Ball(imaginary, 0, -2 * places) + plus_minus(wide)


def transform(square: Fraction, theta: Fraction, beta: Fraction, wanted: float) -> Transform:
    """Nodes for errors of about e^-wanted."""
    s = 1 / sqrt(ball(square))
    turn, b = theta / s, beta / s
    low, high = (exp((turn + sign * b) * (turn + sign * b) / 2) for sign in (-1, 1))
    grown = approximate(log(low + high))
    width = approximate(2 * pi() * b) / (wanted + grown)
    chain = max(1, math.ceil(math.log(2) / (approximate(s) * width)))
    h = log(Ball(2)) / (s * chain)
    last = math.ceil(math.sqrt(2 * (wanted + grown)) / approximate(h)) + 1
    far = h * last
    error = (low + high) / expm1(2 * pi() * b / h) + 2 * exp((turn * turn - far * far) / 2)
    places = bits() + 2 * last // chain + 8
    with precision(places + 64 + math.ceil(approximate(turn * turn) / (2 * math.log(2)))):
        s = 1 / sqrt(ball(square))
        turn, h = theta / s, log(Ball(2)) / (s * chain)
        cosine, sine = cos_sin(ball(theta))
        weights, ratios = list[tuple[int, int]](), list[Complex]()
        for j in range(-last, last + 1):
            u = h * j
            size = h * exp((turn * turn - u * u) / 2) / sqrt(2 * pi())
            along, across = cos_sin(u * turn)
            (w, room), (v, more) = (size * along).scaled(places), (size * across).scaled(places)
            if max(room, more) > 2:
                raise Unknown("weights of too few digits")
            weights.append((w, v))
            if len(ratios) < chain:
                ratio = exp(s * u - s * s / 2)
                ratios.append((ratio * cosine, -(ratio * sine)))
    rests = list(accumulate((abs(w) + abs(v) + 4 for w, v in reversed(weights))))[::-1]
    return Transform(theta, beta, chain, places, tuple(weights), tuple(rests), tuple(ratios), error.upper())


def approximate(x: Ball) -> float:
    """A double near the middle: it chooses where to compute, never what is found."""
    shift = max(abs(x.m).bit_length() - 53, 0)
    try:
        return math.ldexp(float(x.m >> shift), x.e + shift)
    except OverflowError:
        raise Unknown("a gigantic number") from None


# ---------- where to compute, in doubles ----------


class Guess:
    """log M and the place of least e^{cK} M(c)^t / c^2, in doubles."""

    def __init__(self, rounds: int, s: float) -> None:
        self.rounds, self.s = rounds, s
        steps = [n / 8 for n in range(-8 * 16, 8 * 16 + 1)]
        self.places = [(-u * u / 2 - math.log(8 * math.sqrt(2 * math.pi)), s * u - s * s / 2) for u in steps]

    def log_m(self, log_r: float) -> float:
        sizes = [size - math.exp(min(log_r + place, 700.0)) for size, place in self.places]
        most = max(sizes)
        return most + math.log(sum(math.exp(size - most) for size in sizes))

    def height(self, log_c: float, log_strike: float) -> float:
        return math.exp(min(log_c + log_strike, 700.0)) + self.rounds * self.log_m(log_c) - 2 * log_c

    def saddle(self, log_strike: float) -> float:
        """log c, by a ternary search: the height is convex in c."""
        low, high = -log_strike - 3, -log_strike + 40 + math.log(self.rounds)
        while high - low > 0.02:
            third = (high - low) / 3
            if self.height(low + third, log_strike) < self.height(high - third, log_strike):
                high -= third
            else:
                low += third
        return low


# ---------- the contour ----------


@dataclass(frozen=True)
class Contour:
    """f_n(K) = Re sum of weight z^(2-n) e^{zK}, up to errors(n, K); the weights hold phi^t / z^2.

    reach: one series serves strikes up to that far from the middle of its cell.
    """

    places: tuple[Complex, ...]
    weights: tuple[Complex, ...]
    errors: Callable[[int, Ball], Ball]
    reach: Fraction
    known: dict[int, Series] = field(default_factory=dict, compare=False)

    def values(self, strike: Ball) -> tuple[Ball, Ball]:
        """(put, P(S < K))."""
        width = self.reach * Fraction(15, 8)
        index = math.floor(approximate(strike) / float(width))
        if index not in self.known:
            self.known[index] = self._series((index + Fraction(1, 2)) * width)
        return self.known[index].values(strike)

    def _series(self, centre: Fraction) -> Series:
        """|e^w - sum_{i<N} w^i/i!| <= |w|^N e^|w| / N! at w = z d, |d| <= reach."""
        terms = [times(weight, complex_exp(scaled_by(z, centre)))
                 for z, weight in zip(self.places, self.weights, strict=True)]
        steps = [scaled_by(z, self.reach) for z in self.places]
        sizes = [(modulus(term).upper(), modulus(step).upper()) for term, step in zip(terms, steps, strict=True)]
        grown = [(size * exp(step), step) for size, step in sizes]
        most = max(size.top() for size, _ in sizes)
        doubles = [((size.top() - most) * math.log(2), math.log(approximate(step))) for size, step in grown]
        count = next((n for n in range(8, 4 * bits(), 4) if max(
            size + n * step for size, step in doubles) - math.lgamma(n + 1) < -bits() * math.log(2)), 4 * bits())
        rest = total(size * power(step, count) for size, step in grown) / math.factorial(count)
        coefficients = _power_series(terms, steps, count, bits() + 32 - most)
        everywhere = between(centre - self.reach, centre + self.reach)
        put, below = (self.errors(n, everywhere).upper() for n in (2, 1))
        return Series(centre, self.reach, tuple(coefficients), rest + put, rest * count / self.reach + below)


def _power_series(terms: Sequence[Complex], steps: Sequence[Complex], count: int, places: int) -> list[Ball]:
    """Re sum of term step^i / i! for i < count, in integers: d is how wrong a term is, in units, by its modulus."""
    real, room, point = [0] * count, [0] * count, bits() + 32
    for term, step in zip(terms, steps, strict=True):
        (x, more), (y, less) = (part.scaled(places) for part in term)
        (u, wide), (v, high) = (part.scaled(point) for part in step)
        d, off, size = more + less, wide + high, abs(u) + abs(v)
        for i in range(count):
            real[i] += x
            room[i] += d
            far, n = abs(x) + abs(y), point
            x, y = (x * u - y * v >> n) // (i + 1), (x * v + y * u >> n) // (i + 1)
            d = ((far + d) * off + d * size >> n) // (i + 1) + 6
    return [Ball(value, wrong, -places) for value, wrong in zip(real, room, strict=True)]


@dataclass(frozen=True)
class Series:
    """put(K0 + reach v) = sum of coefficients times v^i, |v| <= 1, up to rest; its derivative, up to rest_below."""

    centre: Fraction
    reach: Fraction
    coefficients: tuple[Ball, ...]
    rest: Ball
    rest_below: Ball

    def values(self, strike: Ball) -> tuple[Ball, Ball]:
        """(put, its derivative)."""
        v, put, slope = (strike - self.centre) / self.reach, Ball(0), Ball(0)
        if not (v <= 1 and v >= -1):
            raise Unknown("a strike outside of its cell")
        for coefficient in reversed(self.coefficients):
            slope = slope * v + put
            put = put * v + coefficient
        return put + plus_minus(self.rest), slope / self.reach + plus_minus(self.rest_below)


def _cosh_sinh(v: Ball) -> tuple[Ball, Ball]:
    grown = exp(v)
    back = 1 / grown
    return (grown + back).shifted(-1), (grown - back).shifted(-1)


@dataclass(frozen=True)
class Hyperbola:
    """Through c, arms turned by a; steps of h."""

    c: Fraction
    a: Fraction
    step: Fraction
    count: int

    def build(self, rounds: int, s: Ball, phi: Transform, reach: Fraction) -> Contour:
        c, h, b = ball(self.c), ball(self.step), self.a * Fraction(3, 4)
        cosine, sine = cos_sin(ball(self.a))
        middle = (c * (1 + sine)).lower()
        places, weights = [], []
        for j in range(self.count + 1):
            up, down = _cosh_sinh(h * j)
            z = middle - c * sine * up, c * cosine * down
            slope = -(c * sine * down), c * cosine * up
            back = inverse(z)
            value = times(times(complex_power(phi.value(z), rounds), slope), times(back, back))
            share = h / pi() / (1 if j else 2)
            places.append(z)
            weights.append((value[1] * share, -(value[0] * share)))  # Im w = Re(-iw)
        sizes = {p: self._size(p, middle, rounds, s, phi) for p in (self.a - b, self.a, self.a + b)}
        up, down = _cosh_sinh(h * self.count)
        inside = expm1(2 * pi() * b / h)

        def errors(n: int, strike: Ball) -> Ball:
            found = Ball(0)
            for p, (size, least, sine_p) in sizes.items():
                bound, k = size * exp(strike * middle), strike * c * sine_p
                for _ in range(n):
                    bound = bound / least
                if p != self.a:
                    found = found + bound * c * exp(-k) * (1 + 1 / k) / inside
                elif k * up >= 1:
                    found = found + bound * c * up / down * exp(-k * up) / k
                else:
                    raise Unknown("nodes left out that do not fall")
            return found / pi()

        return Contour(tuple(places), tuple(weights), errors, reach)

    def _size(self, p: Fraction, middle: Ball, rounds: int, s: Ball, phi: Transform) -> tuple[Ball, Ball, Ball]:
        """(what |phi|^t is at most on the hyperbola of p, what |z| is at least, sin p)."""
        cosine, sine = cos_sin(ball(p))
        least = (cosine * (middle - self.c * sine)).lower()
        if not (least > 0 and cosine > 0):
            raise Unknown("a hyperbola that comes too near to 0")
        size = complex_power((phi.value((least, Ball(0)))[0].upper(), Ball(0)), rounds)[0].upper()
        return size * exp((p / s) * (p / s) / 2 * rounds), least, sine


def short(x: float) -> Fraction:
    return Fraction(float(f"{x:.6g}"))


def _plan(guess: Guess, log_strike: float, wanted: float) -> tuple[Hyperbola, float]:
    """The hyperbola of fewest nodes, and the logarithm of the digits that are lost."""
    saddle = guess.saddle(log_strike)
    aim = guess.height(saddle, log_strike) - wanted
    bent = (_bent(guess, saddle, log_strike, aim, a) for a in (0.6, 0.45, 0.3, 0.2, 0.12, 0.06, 0.03))
    contour = min(bent, key=lambda one: one.count)
    if contour.count >= MAX_NODES:
        raise Unknown("a transform of very many nodes")
    log_c = math.log(contour.c)
    return contour, guess.height(log_c, log_strike) - wanted - aim - guess.log_m(log_c)


def _bent(guess: Guess, log_c: float, log_strike: float, aim: float, a: float) -> Hyperbola:
    """The step for a rule that errs by e^aim, then its end."""
    c, strike = math.exp(log_c), math.exp(log_strike)
    sizes = [_hyperbolic(guess, p, a, c, strike) for p in (0.25 * a, a, 1.75 * a)]
    step = 2 * math.pi * 0.75 * a / (max(sizes) - aim)
    end = math.acosh(1 + max(sizes[1] - aim, 1.0) / (strike * c * math.sin(a)))
    return Hyperbola(short(c), short(a), short(step), math.ceil(end / step))


def _hyperbolic(guess: Guess, p: float, a: float, c: float, strike: float) -> float:
    """The logarithm of the bound of the arm of p, without the step's share."""
    vertex = c * (1 + math.sin(a) - math.sin(p))
    least = math.log(math.cos(p) * vertex)
    k = strike * c * math.sin(p)
    return (guess.rounds * ((p / guess.s) ** 2 / 2 + guess.log_m(least)) - 2 * least + strike * vertex + math.log(c)
            + math.log1p(1 / k))


# ---------- what is kept ----------


@dataclass
class Contours:
    """Of one number of rounds and one noise, for results of `digits` bits: (strike, c, bits, contour), so far."""

    rounds: int
    square: Fraction
    digits: int
    guess: Guess
    made: list[tuple[float, float, int, Contour]]
    def values(self, strike: Ball) -> tuple[Ball, Ball]:
        """Of the contour made for the nearest strike; of a new one where that is not accurate and not near."""
        at = approximate(strike)
        if not 1e-290 < at < 1e290:
            raise Unknown("a strike far out")
        if self.made:
            near, c, places, contour = min(self.made, key=lambda one: abs(math.log(one[0] / at)))
            is_near = abs(near - at) * max(c, 4 / at) < 1 / 4
            with suppress(*() if is_near else (Unknown,)), precision(places):
                found = contour.values(strike)
                if is_near or found[0].r << self.digits < found[0].m:
                    return found
        self.made.append(self._make(at))
        return self.values(strike)

    def _make(self, at: float) -> tuple[float, float, int, Contour]:
        wanted = (self.digits + SLACK) * math.log(2)
        plan, lost = _plan(self.guess, math.log(at), wanted)
        beta = min((Fraction(3, 2) - plan.a) / 2, short(self.guess.s * math.sqrt(2 * wanted)))
        cost = (float(plan.a + beta) / self.guess.s) ** 2 / 2 + lost + math.log(self.rounds)
        with precision(math.ceil((wanted + cost) / math.log(2)) + 32):
            s = 1 / sqrt(ball(self.square))
            phi = transform(self.square, plan.a + beta, beta, wanted + cost)
            if plan.count * phi.chain > MAX_EXPONENTIALS:
                raise TooMuch("much noise: transforms of very many exponentials")
            contour = plan.build(self.rounds, s, phi, short(min(1 / float(plan.c), at / 8)))
        return at, float(plan.c), math.ceil((wanted + lost) / math.log(2)) + 32, contour


@lru_cache(maxsize=16)
def _contours(rounds: int, square: Fraction, digits: int) -> Contours:
    return Contours(rounds, square, digits, Guess(rounds, float(square) ** -0.5), [])


def put_and_below(rounds: int, square: Fraction, strike: Ball, eighths: int = 5) -> tuple[Ball, Ball]:
    """Enclose E (K - S)_+ and P(S < K), K > 0; square: of the noise multiplier; to that part of a witness's bits."""
    return _contours(rounds, square, 32 + max(bits() - GUARD, 0) * eighths // 8 // 32 * 32).values(strike)


def one_round(rounds: int, square: Fraction, strike: Ball) -> tuple[Ball, Ball]:
    """c = E (X - K)_+, and how much more E (S - K)_+ / t is at most: r P(X > K - r) + (t-1) P(X > r/(t-1)) (T162).

    r = K / 2^n, n the largest for which the second term is at most the first, from 1 to 1024.
    """
    s = 1 / sqrt(ball(square))

    def chance(x: Ball) -> Ball:
        return normal_tail(log(x) / s + s / 2)

    def terms(n: int) -> tuple[Ball, Ball]:
        r = strike.shifted(-n)
        return r * chance(strike - r), chance(r / (rounds - 1)) * (rounds - 1)

    low, high = 1, 1025
    while high - low > 1:
        middle = (low + high) // 2
        by_moving, by_rest = terms(middle)
        low, high = (middle, high) if by_rest <= by_moving else (low, middle)
    return normal_tail(log(strike) / s - s / 2) - strike * chance(strike), total(terms(low)).upper()


@lru_cache(maxsize=16)
def moments(rounds: int, square: Fraction, count: int, places: int) -> list[Ball]:
    """E (S/t)^n for n = 0..count: t choices of exponents that sum to n, b_n = [x^n] (sum e^{k(k-1)s^2/2} x^k/k!)^t."""
    single = [exp(ball(Fraction(k * (k - 1)) / (2 * square))) / math.factorial(k) for k in range(count + 1)]
    found = [Ball(1)]
    for n in range(1, count + 1):
        found.append(total(single[k] * found[n - k] * (k * (rounds + 1) - n) for k in range(1, n + 1)) / n)
    return [b * Fraction(math.factorial(n), rounds**n) for n, b in enumerate(found)]
