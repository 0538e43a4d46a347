"""The law of one step's privacy loss L = log dP/dQ under P (CERTIFICATE.md, "Laws"): its curve, moments, transform.

The names of the classes and of their fields, in this order, are part of the format: they say in which order a
witness lists what it has for each law (`place`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb, factorial
from typing import Any, ClassVar

from mpmath import bernfrac

from .allocation import moments, one_round, put_and_below
from .balls import (
    Ball,
    Complex,
    Number,
    Unknown,
    ball,
    between,
    bits,
    exp,
    expm1,
    larger,
    largest,
    log,
    log1p,
    normal_tail,
    pi,
    precision,
    remembered,
    scaled_by,
    sinh,
    smaller,
    sqrt,
    tick,
    times,
    total,
)
from .document import TooMuch, fraction_text

Tails = tuple[Ball, Ball]
Component = tuple[Fraction, Fraction]
"""(mean, weight > 0) of a mixture."""
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class SquareRoot:
    """The root of a positive rational number that is no square."""

    square: Fraction


def value_of(number: Fraction | SquareRoot) -> Ball:
    return sqrt(ball(number.square)) if isinstance(number, SquareRoot) else ball(number)


def square_of(number: Fraction | SquareRoot) -> Fraction:
    return number.square if isinstance(number, SquareRoot) else number * number


def union(a: Any, b: Any) -> Ball:
    """Everything from the lower of the lower ends to the upper of the upper ones."""
    a, b = ball(a), ball(b)
    low = a.lower() if a.lower() <= b.lower() else b.lower()
    return between(low, a.upper() if a.upper() >= b.upper() else b.upper())


def step_down(x: Ball) -> Ball:
    """1 for x < 0, 0 for x >= 0; everything between where that is not decided."""
    if x < 0:
        return Ball(1)
    return Ball(0) if x >= 0 else union(0, 1)


class Law:
    """What every law offers. order: remove, add or symmetric (the same in both, or replace)."""

    order: str
    direct: ClassVar[bool] = False
    """Whether witnesses have nothing for it: they rest on its moments, or its transform."""
    has_nodes: ClassVar[bool] = False
    """Whether the transform is a sum over nodes: of Gaussian mixtures."""
    only_moments: ClassVar[bool] = False
    """Whether nothing else is known of it."""
    slow: ClassVar[bool] = False
    """Whether tails take so long that no lattice is made of them."""

    def in_order(self, order: str) -> Any:
        """The same step in another order; here: of a pair that is its own mirror image."""
        return replace(self, order=order)  # type: ignore[type-var]

    def tails(self, x: Ball) -> Tails:
        """(P(L > x), Q(L > x)), the mass at infinity in the first."""
        raise Unknown("no curve is known")

    def stick(self, x: Ball) -> Ball:
        """H_{e^x}(P || Q)."""
        above, below = self.tails(x)
        return above - exp(x) * below

    def infinity(self) -> Ball:
        """P(L = inf)."""
        return Ball(0)

    def largest(self) -> Ball | Fraction | None:
        """The supremum of the finite loss, exact where it is a known rational number; None: infinite."""
        return None

    def smallest(self) -> Ball | None:
        """The infimum of the loss; None: -inf."""
        return None

    def moment(self, exponent: Ball) -> Ball:
        """E[e^{l L}; L < inf], l > 0, or an upper bound."""
        raise Unknown("no moment is known")

    def bound_moment(self, exponent: Ball) -> Ball:
        """An upper bound of E[e^{l L}; L < inf], l > 0, for what it bounds."""
        return self.moment(exponent)

    def line(self, tilt: Ball, step: Ball, count: int) -> tuple[list[Complex], Ball]:
        """M(z) = E[e^{zL}; L < inf] at tilt + i m step for m = 0..count, up to an error."""
        raise TooMuch("a transform that this checker does not have")

    def beyond(self, tilt: Ball, frequency: Ball) -> Ball:
        """A bound of |M(tilt + iw)| for all w >= frequency."""
        return self.moment(tilt).upper()


def words(value: object) -> str:
    """A law as text: Name(field=..., ...), Fraction(top, bottom), 'text'."""
    match value:
        case Fraction():
            return f"Fraction({fraction_text(value.numerator)}, {fraction_text(value.denominator)})"
        case (one,):
            return f"({words(one)},)"
        case tuple():
            return "(" + ", ".join(words(one) for one in value) + ")"
    if not is_dataclass(value):
        return repr(value)
    stated = [field.name + "=" + words(getattr(value, field.name)) for field in fields(value)]
    return type(value).__name__ + "(" + ", ".join(stated) + ")"


def place(law: Law) -> tuple[str, str]:
    """Laws come in the order of these texts."""
    return type(law).__name__, words(law)


# ---------- Gaussian noise ----------


@dataclass(frozen=True)
class GaussianLoss(Law):
    """All Gaussian steps together: N(mu^2/2, mu^2), mu^2 the sum of (distance of the means / noise)^2 (T15)."""

    mean_shift_squared: Fraction
    order: str = "symmetric"

    def tails(self, x: Ball) -> Tails:
        if not self.mean_shift_squared:
            return step_down(x), step_down(x)
        mu = sqrt(ball(self.mean_shift_squared))
        return normal_tail(x / mu - mu.shifted(-1)), normal_tail(x / mu + mu.shifted(-1))

    def stick(self, x: Ball) -> Ball:
        return super().stick(x) if self.mean_shift_squared else larger(-expm1(x), 0)

    def exponent(self, z: Complex) -> Complex:
        """log M(z) = z(z+1) mu^2/2."""
        return scaled_by(times(z, (z[0] + 1, z[1])), self.mean_shift_squared / 2)

    def moment(self, exponent: Ball) -> Ball:
        return exp(self.exponent((exponent, Ball(0)))[0])


@dataclass(frozen=True)
class SampledGaussianLoss(Law):
    """0 < q < 1, s > 0. remove: P = (1-q) N(0, s^2) + q N(1, s^2), Q = N(0, s^2); add: swapped;
    symmetric: P and (1-q) N(0, s^2) + q N(-1, s^2) (T14)."""

    sampling_probability: Fraction
    noise_multiplier: Fraction | SquareRoot
    order: str
    has_nodes: ClassVar[bool] = True

    @property
    def sigma(self) -> Fraction | SquareRoot:
        return self.noise_multiplier

    @property
    def above(self) -> tuple[Component, ...]:
        return ((Fraction(0), Fraction(1)),) if self.order == "add" else self._taken(1)

    @property
    def below(self) -> tuple[Component, ...]:
        return ((Fraction(0), Fraction(1)),) if self.order == "remove" else self._taken(-1)[::-1]

    def _taken(self, side: int) -> tuple[Component, ...]:
        q = self.sampling_probability
        return (Fraction(0), 1 - q), (Fraction(side), q)

    def tails(self, x: Ball) -> Tails:
        q, s = ball(self.sampling_probability), value_of(self.noise_multiplier)
        if self.order == "symmetric":
            t = self._mirror(q, s, x)
            above, middle, below = (normal_tail((t - mean) / s) for mean in (1, 0, -1))
            return (1 - q) * middle + q * above, (1 - q) * middle + q * below
        removed = self.order == "remove"
        odds = expm1(x if removed else -x) + q  # e^x - (1-q)
        if odds <= 0:
            return (Ball(1), Ball(1)) if removed else (Ball(0), Ball(0))
        t = s * s * log((odds if odds > 0 else odds.upper()) / q) + HALF
        if removed:
            with_it, without = normal_tail((t - 1) / s), normal_tail(t / s)
        else:
            with_it, without = normal_tail((1 - t) / s), normal_tail(-t / s)
        found = ((1 - q) * without + q * with_it, without)
        if not odds > 0:
            found = tuple(union(value, 1 if removed else 0) for value in found)  # type: ignore[assignment]
        return found if removed else (found[1], found[0])

    @staticmethod
    def _mirror(q: Ball, s: Ball, x: Ball) -> Ball:
        """t with loss x: e^{t/s^2} solves c X^2 - b X - c e^x = 0, c = q e^{-1/(2s^2)}, b = (1-q)(e^x - 1)."""
        alpha, lift, slope = exp(x), q * exp(-1 / (2 * s * s)), (1 - q) * expm1(x)
        root = sqrt(slope * slope + 4 * lift * lift * alpha)
        top = slope + root if slope.m >= 0 else 4 * lift * lift * alpha / (root - slope)
        return s * s * log(top / (2 * lift))

    def largest(self) -> Ball | None:
        return -log(ball(1 - self.sampling_probability)) if self.order == "add" else None

    def smallest(self) -> Ball | None:
        return log(ball(1 - self.sampling_probability)) if self.order == "remove" else None

    def moment(self, exponent: Ball) -> Ball:
        """The bound 1 - q + q e^{l(l+1) d^2/(2 s^2)}, d = 2 in the symmetric order, else 1 (T09); add: (1-q)^-l.

        But in the symmetric order also the moment of `remove`, which is no less than that of `add`, by chords (T214).
        """
        q, s2 = ball(self.sampling_probability), square_of(self.noise_multiplier)
        if self.order == "symmetric":
            return 1 - q + q * exp(exponent * (exponent + 1) * 2 / s2)
        bound = 1 - q + q * exp(exponent * (exponent + 1) / (2 * s2))
        if self.order == "add":
            bound = smaller(bound, exp(-exponent * log(1 - q)))
        chord = by_chords(exponent, 256, lambda n: _whole_moment(self.sampling_probability, s2, n, bits()))
        return bound if chord is None else smaller(bound, chord)


@lru_cache(maxsize=4096)
def _whole_moment(q: Fraction, s2: Fraction, n: int, prec: int) -> Ball:
    """log E_Q (1 - q + q R)^{n+1}, where E_Q R^j = e^{j(j-1)/(2 s^2)}."""
    base, found = log(ball(q / (1 - q))), Ball(0)
    for j in range(n + 2):
        found = found + comb(n + 1, j) * exp(base * j + Fraction(j * (j - 1)) / (2 * s2))
    return log(found) + log(ball(1 - q)) * (n + 1)


def by_chords(exponent: Ball, most: int, log_moment: Callable[[int], Ball]) -> Ball | None:
    """At least M(l), whose logarithm is convex and known at whole numbers; None beyond `most`."""
    low = next((n for n in range(most) if exponent >= n and exponent <= n + 1), None)
    if low is None:
        return None
    left, right = log_moment(low), log_moment(low + 1)
    return exp(left + (exponent - low) * (right - left))


class Mirrored(Law):
    """Known for losses of at least 0; H_{e^x} = 1 - e^x + e^x H_{e^-x}."""

    def right_tails(self, x: Ball) -> Tails:
        raise NotImplementedError

    def right_stick(self, x: Ball) -> Ball:
        raise NotImplementedError

    def tails(self, x: Ball) -> Tails:
        above = self.right_tails(larger(x, 0))
        if x >= 0:
            return above
        p, q = self.right_tails(larger(-x, 0))
        return (1 - q, 1 - p) if x < 0 else (union(1 - q, above[0]), union(1 - p, above[1]))

    def stick(self, x: Ball) -> Ball:
        above = self.right_stick(larger(x, 0))
        if x >= 0:
            return above
        below = -expm1(x) + exp(x) * self.right_stick(larger(-x, 0))
        return below if x < 0 else union(below, above)


@dataclass(frozen=True)
class FixedBatchLoss(Mirrored):
    """A batch without replacement, one record replaced: the curve of ((1-q) N(0) + q N(2), N(0)), mirrored (T52)."""

    probability: Fraction
    noise_multiplier: Fraction
    order: str = "symmetric"

    @property
    def _base(self) -> SampledGaussianLoss:
        return SampledGaussianLoss(self.probability, self.noise_multiplier / 2, "remove")

    def right_tails(self, x: Ball) -> Tails:
        return self._base.tails(x)

    def right_stick(self, x: Ball) -> Ball:
        return self._base.stick(x)

    def moment(self, exponent: Ball) -> Ball:
        q, s = ball(self.probability), ball(self.noise_multiplier)
        return 2 - q + q * exp(2 * exponent * (exponent + 1) / (s * s))


@dataclass(frozen=True)
class TruncatedBatchLoss(Law):
    """The loss `full` where `largest_batch` or more of the `others` are on the sample, else `free`: averages (T142)."""

    others: int
    probability: Fraction
    largest_batch: int
    free: Any
    full: Any
    order: str

    def in_order(self, order: str) -> TruncatedBatchLoss:
        return replace(self, order=order, free=self.free.in_order(order), full=self.full.in_order(order))

    def _chances(self) -> tuple[Ball, Ball]:
        """That a batch has room, and that it is full: the rarer one as a tail of its own."""
        if self.largest_batch <= self.others * self.probability:
            room = binomial_tail(self.others, self.others - self.largest_batch + 1, 1 - self.probability)
            return room, 1 - room
        full = binomial_tail(self.others, self.largest_batch, self.probability)
        return 1 - full, full

    def _average(self, free: Ball, full: Ball) -> Ball:
        room, share = self._chances()
        return room * free + share * full

    def tails(self, x: Ball) -> Tails:
        free, full = self.free.tails(x), self.full.tails(x)
        return self._average(free[0], full[0]), self._average(free[1], full[1])

    def stick(self, x: Ball) -> Ball:
        return self._average(self.free.stick(x), self.full.stick(x))

    def largest(self) -> Ball | None:
        free, full = self.free.largest(), self.full.largest()
        return None if free is None or full is None else larger(free, full)

    def smallest(self) -> Ball | None:
        free, full = self.free.smallest(), self.full.smallest()
        return None if free is None or full is None else smaller(free, full)

    def moment(self, exponent: Ball) -> Ball:
        return self._average(self.free.moment(exponent), self.full.moment(exponent))


def binomial_tail(trials: int, least: int, p: Fraction) -> Ball:
    """P(Bin(trials, p) >= least): the first term times the sum of all, relative to it, in integers (T142)."""
    if least <= 0 or p == 1:
        return Ball(1 if least <= trials else 0)
    if least > trials or p == 0:
        return Ball(0)
    if least <= trials * p:
        return 1 - binomial_tail(trials, trials - least + 1, 1 - p)
    with precision(bits() + SPARE):
        return _tail_from(trials, least, p)


def _tail_from(trials: int, least: int, p: Fraction) -> Ball:
    scale, odds, k = bits(), p / (1 - p), least
    low = high = 1 << scale
    below = above = 0
    while k < trials and (k == least or high.bit_length() > 48):
        tick()
        below, above = below + low, above + high
        top, bottom = (trials - k) * odds.numerator, (k + 1) * odds.denominator
        low, high, k = low * top // bottom, -(-high * top // bottom), k + 1
    ratio = (trials - k) * odds / (k + 1)
    relative = between(Ball(below + low, 0, -scale), Ball(above, 0, -scale) + Ball(high, 0, -scale) / ball(1 - ratio))
    choices = log_factorial(trials) - log_factorial(least) - log_factorial(trials - least)
    return exp(choices + log(ball(p)) * least + log(ball(1 - p)) * (trials - least)) * relative


def log_factorial(n: int) -> Ball:
    """log n!; from n = bits on Stirling's series, whose error is less than the first term left out."""
    if n < bits():
        return log(Ball(factorial(n)))
    found = log(ball(n)) * (n + HALF) - n + log(2 * pi()) / 2
    for k in range(1, bits()):
        top, bottom = bernfrac(2 * k)
        term = ball(Fraction(int(top), int(bottom) * 2 * k * (2 * k - 1) * n ** (2 * k - 1)))
        if abs(Fraction(int(top), int(bottom))) < Fraction(n) ** (2 * k - 1) / 2 ** bits():
            return found + union(0, term)
        found = found + term
    raise Unknown("a factorial")


def full_share(population: int, largest_batch: int, p: Fraction) -> Fraction:
    """The least of p B/(B+1) and (B/n) P(Bin(n, p) > B) / P(Bin(n-1, p) >= B), rounded up to SHARE_BITS bits."""
    with precision(128):
        above = binomial_tail(population, largest_batch + 1, p)
        share = above / binomial_tail(population - 1, largest_batch, p) * Fraction(largest_batch, population)
        end = share.upper()
    shift = end.m.bit_length() - SHARE_BITS
    found = Fraction(-(-end.m >> shift) if shift > 0 else end.m) * Fraction(2) ** (end.e + max(shift, 0))
    return min(p * Fraction(largest_batch, largest_batch + 1), found)


SHARE_BITS, SPARE = 40, 64

# ---------- Laplace noise, and what is known by its range ----------


def _between_ends(x: Ball, mu: Ball, inner: Callable[[Ball], Tails]) -> Tails:
    """(1, 1) for x < -mu, inner(x) on [-mu, mu), (0, 0) beyond."""
    if x < -mu:
        return Ball(1), Ball(1)
    if x >= mu:
        return Ball(0), Ball(0)
    found = inner(smaller(larger(x, -mu), mu))
    if not x >= -mu:
        found = union(found[0], 1), union(found[1], 1)
    return found if x < mu else (union(found[0], 0), union(found[1], 0))


@dataclass(frozen=True)
class LaplaceLoss(Law):
    """ratio mu = sensitivity / scale: atoms at +-mu, the density e^{(x-mu)/2}/4 between (T40)."""

    ratio: Fraction
    order: str = "symmetric"
    direct: ClassVar[bool] = True

    def tails(self, x: Ball) -> Tails:
        mu = ball(self.ratio)
        return _between_ends(x, mu, lambda y: (
            1 - exp((y - mu).shifted(-1)).shifted(-1), exp(-(y + mu).shifted(-1)).shifted(-1)))

    def stick(self, x: Ball) -> Ball:
        return larger(larger(-expm1((x - self.ratio).shifted(-1)), -expm1(x)), 0)

    def largest(self) -> Fraction:
        return self.ratio

    def smallest(self) -> Ball:
        return ball(-self.ratio)

    def moment(self, exponent: Ball) -> Ball:
        """(e^{l mu} (1+l) + e^{-(1+l) mu} l) / (1 + 2l)."""
        more = exponent + 1
        return (exp(exponent * self.ratio) * more + exp(-more * self.ratio) * exponent) / (2 * exponent + 1)


@dataclass(frozen=True)
class BoundedRangeLoss(Law):
    """The sup over all pairs whose loss has a range of length mu: density e^{(x-mu)/2} / (2(1 - e^-mu)) (T43)."""

    bounded_range: Fraction
    order: str = "symmetric"
    direct: ClassVar[bool] = True

    def tails(self, x: Ball) -> Tails:
        mu = ball(self.bounded_range)

        def inner(y: Ball) -> Tails:
            above = expm1((y - mu).shifted(-1)) / expm1(-mu)
            return above, exp(-(y + mu).shifted(-1)) * above

        return _between_ends(x, mu, inner)

    def stick(self, x: Ball) -> Ball:
        """(1 - e^{(x-mu)/2})^2 / (1 - e^-mu) on [-mu, mu]."""
        mu = ball(self.bounded_range)
        root = expm1((smaller(larger(x, -mu), mu) - mu).shifted(-1))
        return root * root / -expm1(-mu) + larger(exp(-mu) - exp(x), 0)

    def largest(self) -> Fraction:
        return self.bounded_range

    def smallest(self) -> Ball:
        return ball(-self.bounded_range)

    def moment(self, exponent: Ball) -> Ball:
        """sinh((l+1/2) mu) / (2 (l+1/2) sinh(mu/2))."""
        mu, middle = ball(self.bounded_range), exponent + HALF
        return sinh(middle * mu) / (2 * middle * sinh(mu.shifted(-1)))


# ---------- any step on a Poisson sample ----------


@dataclass(frozen=True)
class SampledLoss(Law):
    """((1-q) P0 + q P1, P0) in the remove order, swapped in the add order; base: the law of (P1, P0) (T49)."""

    base: Any
    probability: Fraction
    order: str

    def _odds(self, x: Ball) -> Ball:
        """(e^x - 1)/q = e^y - 1, y the base's loss where this one's is x; in the add order of -x and -y."""
        return expm1(x if self.order == "remove" else -x) / self.probability

    def tails(self, x: Ball) -> Tails:
        q = ball(self.probability)
        if self.order == "remove":
            with_it, without = self._base_tails(x, 1)
            return q * with_it + (1 - q) * without, without
        bare, sampled = self._base_tails(x, 0)
        return bare, q * sampled + (1 - q) * bare

    def _base_tails(self, x: Ball, outside: int) -> Tails:
        odds, base = self._odds(x), self.base.in_order(self.order)
        sign = -1 if self.order == "add" else 1
        if odds > -1:
            return base.tails(log1p(odds) * sign)
        past, least = Ball(outside), odds.upper()
        if odds <= -1:
            return past, past
        before = base.tails(log1p(least) * sign) if least > -1 else (1 - past, 1 - past)
        return union(before[0], past), union(before[1], past)

    def stick(self, x: Ball) -> Ball:
        """q H_{1+(a-1)/q}(P1 || P0), a = e^x; add: (1 - a(1-q)) H_{aq/(1 - a(1-q))}(P0 || P1)."""
        odds, q = self._odds(x), ball(self.probability)
        if self.order == "remove":
            plain = -expm1(x)
            if odds <= -1:
                return plain
            return q * self.base.stick(log1p(odds)) if odds > -1 else union(plain, larger(plain, q))
        if odds <= -1:
            return Ball(0)
        room = exp(x) * q * (1 + odds)
        if odds > -1:
            return room * self.base.in_order("add").stick(-log1p(odds))
        return union(0, larger(room, 0))

    def infinity(self) -> Ball:
        return ball(self.probability) * self.base.infinity() if self.order == "remove" else Ball(0)

    def _mix(self, loss: Any) -> Ball:
        """log(1 - q + q e^l); None: l = -inf."""
        grown = Ball(0) if loss is None else exp(loss)
        return log(1 - ball(self.probability) + ball(self.probability) * grown)

    def largest(self) -> Ball | None:
        if self.order == "remove":
            found = self.base.largest()
            return None if found is None else self._mix(found)
        swapped = self.base.in_order("add")
        found = swapped.largest() if swapped.infinity().is_zero() else None
        return -self._mix(None if found is None else -found)

    def smallest(self) -> Ball | None:
        swapped = self.base.in_order("add")
        if self.order == "remove":
            return self._mix(self.base.smallest() if swapped.infinity().is_zero() else None)
        found = swapped.smallest()
        return None if found is None else -self._mix(-found)

    def moment(self, exponent: Ball) -> Ball:
        """1 - q + q M(l) of the base in the same order; in the add order at most (1-q)^-l, too."""
        q, base = ball(self.probability), self.base.in_order(self.order)
        if self.order == "remove":
            return 1 - q + q * base.moment(exponent)
        plain = exp(-exponent * log(1 - q))
        return smaller(1 - q + q * base.moment(exponent), plain) if base.infinity().is_zero() else plain


@dataclass(frozen=True)
class SampledLaplaceLoss(SampledLoss):
    """The same; the base is Laplace noise or a bounded range with mu <= 8. Other checkers have its transform."""

    def moment(self, exponent: Ball) -> Ball:
        """What others compute, a witness may need: a bound is not enough to say that it proves less."""
        raise TooMuch("a moment that this checker does not have")

    def bound_moment(self, exponent: Ball) -> Ball:
        return super().moment(exponent)


_SHARP_ENOUGH, _SHARP = 24, 40
"""Bits that one round alone has to give; those of H that are not asked for again."""


@dataclass(frozen=True)
class RandomAllocationLoss(Law):
    """In one of `rounds` = t steps, at random (T133): dP/dQ = S/t, S a sum of t lognormal ratios; add: swapped."""

    rounds: int
    noise_multiplier: Fraction | SquareRoot
    order: str
    direct: ClassVar[bool] = True
    slow: ClassVar[bool] = True

    def _values(self, x: Ball) -> tuple[Ball, Ball]:
        """(H, P(S < K)) at K = t e^x (add: t e^-x); with more bits where H is so small that nearly all cancel."""
        added, t = self.order == "add", self.rounds
        found, below = union(0, 1), union(0, 1)
        for eighths in (5, 9, 18):
            with suppress(Unknown):
                put, below = put_and_below(t, square_of(self.noise_multiplier), exp(-x if added else x) * t, eighths)
                found = exp(x) * put / t if added else put / t - expm1(x)
            if found.r << _SHARP < found.m:
                break
        return smaller(larger(found, larger(-expm1(x), 0)), 1), smaller(larger(below, 0), 1)

    def tails(self, x: Ball) -> Tails:
        stick, below = self._values(x)
        if self.order == "add":
            return below, (below - stick) * exp(-x)
        return stick + exp(x) * (1 - below), 1 - below

    def stick(self, x: Ball) -> Ball:
        strike = exp(x) * self.rounds
        if self.order == "remove" and self.rounds > 1 and strike >= 3:
            single, more = one_round(self.rounds, square_of(self.noise_multiplier), strike)
            if more.shifted(_SHARP_ENOUGH) <= single:
                return union(single, single + more)
        return self._values(x)[0]

    def moment(self, exponent: Ball) -> Ball:
        """Remove: at most one round's and E (S/t)^{1+l}, log-convex in l, known at whole l up to 48; add: T168."""
        if not exponent >= 0:
            raise Unknown("a moment of random allocation below 0")
        square = square_of(self.noise_multiplier)
        if self.order == "add":
            return exp(exponent * (1 + exponent / self.rounds) / (2 * square))
        single = exp(exponent * (exponent + 1) / (2 * square))
        chord = by_chords(exponent, 48, lambda n: log(moments(self.rounds, square, 49, bits())[n + 1]))
        return single if chord is None else smaller(single, chord)


# ---------- steps known by Renyi divergences alone ----------


class Guarantee(Law):
    """A bound on moments, in both directions."""

    only_moments: ClassVar[bool] = True

    def entropy(self) -> Number:
        """At least E[L], which is at most every D_{1+l}."""
        return smaller(log(self.moment(Ball(1))), log(self.moment(ball(Fraction(1, 8)))) * 8)


@dataclass(frozen=True)
class ZCDPLoss(Guarantee):
    """D_a <= xi + rho a for every a > 1 (T66)."""

    rho: Fraction
    order: str = "symmetric"
    xi: Fraction = Fraction(0)

    def moment(self, exponent: Ball) -> Ball:
        return exp(exponent * (exponent + 1) * self.rho + exponent * self.xi)

    def entropy(self) -> Fraction:
        """At least E[L]."""
        return self.rho + self.xi


@dataclass(frozen=True)
class NoisyVotesLoss(Guarantee):
    """One noisy vote from its counts, both directions; gaps to the first class, excess over the threshold (T233)."""

    sigma: Fraction
    gaps: tuple[Fraction, ...]
    excess: Fraction | None = None
    threshold_sigma: Fraction | None = None
    order: str = "symmetric"

    def moment(self, exponent: Ball) -> Ball:
        vote = self._vote(exponent)
        if self.excess is None or self.threshold_sigma is None:
            return vote
        here, *beside = ((normal_tail(-x), normal_tail(x)) for x in (
            ball((self.excess + move) / self.threshold_sigma) for move in (0, 1, -1)))
        found = Ball(0)
        for one, other in (pair for there in beside for pair in ((here, there), (there, here))):
            yes, no = (p * exp(exponent * log(p / q)) for p, q in zip(one, other, strict=True))
            found = larger(found, yes * vote + no)
        return found

    def _vote(self, exponent: Ball) -> Ball:
        """The least bound that holds for a vote that leaves the first class, comes to it, or does neither."""
        plain = exp(exponent * (exponent + 1) / self.sigma**2)
        found = Ball(1)
        for back in (False, True):
            terms = self._terms(exponent, back)
            for (common, singles), away in zip(_VOTES, self._away()[back], strict=False):
                if away is None:
                    return plain
                more = self._sum(terms, common, singles)
                found = larger(found, exp(-exponent * log1p(-away)) - exponent * away + more)
        return smaller(plain, found)

    @remembered
    def _away(self) -> list[list[Ball | None]]:
        """By how much the chance of the first class may change, relatively; None where that is not below 1."""
        found: list[list[Ball | None]] = [[], []]
        for back in (False, True):
            lost = {(gap, step): self._tails()[gap + step * back] for gap in self.gaps for step in range(-2, 3)}
            squares = self._terms(Ball(-2), back)
            for common, singles in _VOTES[: 3 if len(self.gaps) > 1 else 2]:
                chance, square = self._sum(lost, common, singles), self._sum(squares, common, singles)
                away = sqrt(chance * larger(square, 0)) / (1 - chance) if chance < 1 else Ball(1)
                found[back].append(away if away < 1 else None)
        return found

    def _sum(self, values: dict[tuple[Fraction, int], Ball], common: int, singles: tuple[int, ...]) -> Ball:
        most = [largest(values[gap, step] - values[gap, common] for gap in self.gaps) for step in singles]
        return total([*(values[gap, common] for gap in self.gaps), *most]).upper()

    def _terms(self, power: Ball, back: bool) -> dict[tuple[Fraction, int], Ball]:
        """E[phi(e^u); B] for every gap and change."""
        plain, found = exp(power * (power + 1) / self.sigma**2), {}
        for gap in self.gaps:
            for step in range(-2, 3):
                start, move = (gap + step, -step) if back else (gap, step)
                if (gap, step) not in found:
                    tilted = plain * normal_tail((start - power * move) / (sqrt(Ball(2)) * self.sigma))
                    found[gap, step] = tilted - (power + 1) * self._tails()[start] + power * self._tails()[start + move]
        return found

    @remembered
    def _tails(self) -> dict[Fraction, Ball]:
        places = {gap + step for gap in self.gaps for step in range(-2, 3)}
        return {x: normal_tail(ball(x / self.sigma) / sqrt(Ball(2))) for x in places}


_VOTES = ((-1, (-2,)), (1, (2,)), (0, (1, -1)))
"""What all gaps change by, and what one or two of them do instead."""


@dataclass(frozen=True)
class RenyiLoss(Guarantee):
    """log E[e^{l L}] is at most the polyline from (0, 0) through the corners (l, f) (T66)."""

    corners: tuple[tuple[Fraction, Fraction], ...]
    order: str = "symmetric"

    @classmethod
    def of_divergences(cls, divergences: Sequence[tuple[Fraction, Fraction]]) -> RenyiLoss:
        """The lower convex hull of (0, 0) and all (a - 1, (a - 1) e), D_a <= e."""
        points = [(order - 1, (order - 1) * bound) for order, bound in divergences]
        here, corners = (Fraction(0), Fraction(0)), []
        while ahead := [point for point in points if point[0] > here[0]]:  # of least slope, the farthest one
            here = min(ahead, key=lambda point: (_slope(here, point), -point[0]))
            corners.append(here)
        return cls(tuple(corners))

    def moment(self, exponent: Ball) -> Ball:
        if not exponent <= self.corners[-1][0]:
            raise Unknown("no moment is stated beyond the last order")
        bound = Ball(0)
        for start, end in pairwise([(Fraction(0), Fraction(0)), *self.corners]):
            bound = larger(bound, _slope(start, end) * (exponent - start[0]) + start[1])
        return exp(bound)

    def entropy(self) -> Fraction:
        """The divergence of the first order of the hull is at least E[L]."""
        return self.corners[0][1] / self.corners[0][0]


def _slope(start: tuple[Fraction, Fraction], end: tuple[Fraction, Fraction]) -> Fraction:
    along, up = end[0] - start[0], end[1] - start[1]
    return up / along
