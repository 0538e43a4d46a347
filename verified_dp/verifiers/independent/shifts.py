"""Noise on a line whose shift is drawn at random: mixtures of Gaussians, of Laplace and of discrete noise (T51, T75).

P = sum of weight f(x - mean) over `above`, Q over `below`, f even and log-concave, no mean of P left of one of Q: the
loss does not fall in x, so that hockey-sticks and tails are those of half-lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any, ClassVar

from mpmath import bernfrac

from .atoms import Atom, AtomicLaw, two_sided
from .balls import (
    Ball,
    Unknown,
    ball,
    between,
    bits,
    cos_sin,
    exp,
    expm1,
    floor,
    larger,
    log,
    normal_tail,
    pi,
    plus_minus,
    precision,
    remembered,
    smaller,
    sqrt,
    total,
)
from .laws import Component, LaplaceLoss, Law, SquareRoot, Tails, square_of, union, value_of

Mixture = tuple[Component, ...]


class MixturePair(Law):
    """P and Q are mixtures of one noise."""

    above: Mixture
    below: Mixture
    order: str

    def in_order(self, order: str) -> Any:
        if {self.order, order} != {"remove", "add"}:
            return replace(self, order=order)  # type: ignore[type-var]
        above, below = (tuple((-m, w) for m, w in reversed(side)) for side in (self.below, self.above))
        return replace(self, above=above, below=below, order=order)  # type: ignore[type-var]

    def places(self) -> list[Fraction]:
        return sorted({mean for mean, _ in (*self.above, *self.below)})


def least_moment(exponent: Ball, single: Sequence[Ball], below: Mixture) -> Ball:
    """E[e^{l L}] from bounds m_j against each component v_j of Q: the least of sum v_j m_j and all m_j / v_j^l."""
    bound = total(m * v for m, (_, v) in zip(single, below, strict=True))
    for m, (_, v) in zip(single, below, strict=True):
        bound = smaller(bound, m * exp(-exponent * log(v)))
    return bound


@dataclass(frozen=True)
class MixtureLoss(MixturePair):
    """Gaussian noise; `above` and `below` sorted by mean."""

    sigma: Fraction | SquareRoot
    above: Mixture
    below: Mixture
    order: str
    has_nodes: ClassVar[bool] = True

    def tails(self, x: Ball) -> Tails:
        try:
            cut = self.cut(x)
        except Unknown:
            return self._between_places(x)
        if isinstance(cut, int):
            return Ball(cut), Ball(cut)
        return self._side(self.above, cut), self._side(self.below, cut)

    def _between_places(self, x: Ball) -> Tails:
        """Next to an end of the losses: P(T > t) is at least P(L > x) where loss(t) < x, at most where loss(t) > x."""
        found = [(Ball(0), Ball(0)), (Ball(1), Ball(1))]
        for n in range(-8, 9):
            t = value_of(self.sigma) * n * abs(n)
            loss, sides = self.loss(t)[0], (self._side(self.above, t), self._side(self.below, t))
            if loss < x:
                found[1] = sides
            if loss > x and found[0][0].is_zero():
                found[0] = sides
        return _hull(found)

    def _side(self, mixture: Mixture, cut: Ball) -> Ball:
        s = value_of(self.sigma)
        return total(weight * normal_tail((cut - mean) / s) for mean, weight in mixture)

    def loss(self, t: Ball) -> tuple[Ball, Ball]:
        """(loss, its derivative) at t."""
        rows = []
        for terms in _rows(self, bits()):
            shares = [(factor * exp(slope * t) if slope else factor, slope) for factor, slope in terms]
            size = total(share for share, _ in shares)
            rows.append((log(size), total(share * slope for share, slope in shares if slope) / size))
        return rows[0][0] - rows[1][0], rows[0][1] - rows[1][1]

    def ends(self, x: Ball) -> int | None:
        """1 for x at or below all losses, 0 at or above all; None: between."""
        largest, smallest = self.largest(), self.smallest()
        if largest is not None and x >= largest:
            return 0
        return 1 if smallest is not None and x <= smallest else None

    def cut(self, x: Ball) -> Ball | int:
        """Enclose the t where the loss is x; 1 for x at or below all losses, 0 at or above all.

        Interval Newton: the root in t +- room lies in t - (loss(t) - x)/slope(t +- room), too.
        """
        found = self.ends(x)
        if found is not None:
            return found
        with precision(bits() + self._lost()):
            return self._root(x)

    def _lost(self) -> int:
        """Bits that cancel in the loss where nearly all of P, or of Q, is one component."""
        rests = (1 - max(weight for _, weight in side) for side in (self.above, self.below) if len(side) > 1)
        least = min(rests, default=Fraction(1))
        return max(least.denominator.bit_length() - least.numerator.bit_length(), 0)

    def _root(self, x: Ball) -> Ball:
        t = self.near(x)
        room = Ball(1, 0, max(t.top(), value_of(self.sigma).top()) - 48)
        goal = max(t.top(), value_of(self.sigma).top()) + 24 + self._lost() - bits()
        for _ in range(2 * bits().bit_length()):
            with precision(min(bits(), 96 + self._lost())):
                slope = self.loss(t + plus_minus(room))[1]
            root = t - (self.loss(t)[0] - x) / slope
            if not (root - t).magnitude() < room:
                room = room.shifted(8)
                continue
            if root.radius().top() < goal:
                return root
            t, room = _middle(root), root.radius().shifted(2)
        raise Unknown("where the loss has a value")

    def near(self, x: Ball) -> Ball:
        """A place with a loss near x, exact; it is only a start: Newton's steps from where the last search ended."""
        with precision(96 + self._lost()):
            step = _middle(value_of(self.sigma))
            t, before = _LAST.get(self, Ball(0)), Ball(0)
            for _ in range(12):
                loss, slope = self.loss(t)
                t, before = _middle(t - (loss - x) / slope), t
                if (t - before).magnitude() < step.shifted(-40):
                    break
                if (t - before).magnitude() > step.shifted(2):
                    return self._search(x, step)
            else:
                return self._search(x, step)
            _LAST[self] = t
            return t

    def _search(self, x: Ball, step: Ball) -> Ball:
        """Doubling, then Newton's steps kept between ends that move in."""
        low, high = -step, step
        for _ in range(200):
            below, above = self.loss(low)[0] < x, self.loss(high)[0] > x
            if below and above:
                break
            low, high = (low if below else low.shifted(1)), (high if above else high.shifted(1))
        t = _middle((low + high).shifted(-1))
        for _ in range(96):
            loss, slope = self.loss(t)
            low, high = (t if loss < x else low), (t if loss > x else high)
            newton = _middle(t - (loss - x) / slope)
            before, t = t, newton if low < newton < high else _middle((low + high).shifted(-1))
            if (t - before).magnitude() < step.shifted(-40):
                break
        _LAST[self] = t
        return t

    def largest(self) -> Ball | None:
        (a, w), (b, v) = self.above[-1], self.below[-1]
        return log(w / v) if a == b else None

    def smallest(self) -> Ball | None:
        (a, w), (b, v) = self.above[0], self.below[0]
        return log(w / v) if a == b else None

    def moment(self, exponent: Ball) -> Ball:
        factor = exponent * (exponent + 1) / (2 * square_of(self.sigma))
        single = [total(w * exp(factor * (a - b) ** 2) for a, w in self.above) for b, _ in self.below]
        return least_moment(exponent, single, self.below)


_LAST: dict[Any, Ball] = {}


@lru_cache(maxsize=64)
def _rows(law: MixtureLoss, prec: int) -> list[list[tuple[Ball, Ball | None]]]:
    """(w e^{-m^2/(2 s^2)}, m/s^2) of the components of P and of Q."""
    variance = square_of(law.sigma)
    return [[(exp(-m * m / (2 * variance)) * w, ball(m / variance) if m else None) for m, w in mixture]
            for mixture in (law.above, law.below)]


def _middle(x: Ball) -> Ball:
    return Ball(x.m, 0, x.e)


# ---------- Laplace noise ----------


@dataclass(frozen=True)
class _Stretch:
    """Between two neighbouring means a density is A e^{-t} + B e^t, the tail A e^{-t} + W - B e^t."""

    left: Fraction
    right: Fraction
    p: tuple[Ball, Ball, Ball]
    q: tuple[Ball, Ball, Ball]

    def place(self, alpha: Ball) -> Ball:
        """Where p = alpha q, moved into the stretch where it lies outside."""
        (a, b, _), (c, e, _) = self.p, self.q
        if self.left >= 0:
            return log(smaller(larger((alpha * c - a) / b, exp(2 * self.left)), exp(2 * self.right))).shifted(-1)
        return -log(smaller(larger((b - alpha * e) / (alpha * c), exp(-2 * self.right)), exp(-2 * self.left))).shifted(
            -1)

    def tails(self, t: Any) -> Tails:
        grown, (p, q) = exp(t), (self.p, self.q)
        return p[2] + p[0] / grown - p[1] * grown, q[2] + q[0] / grown - q[1] * grown

    def densities(self, t: Any) -> tuple[Ball, Ball]:
        grown = exp(t)
        return self.p[0] / grown + self.p[1] * grown, self.q[0] / grown + self.q[1] * grown

    def holds(self, alpha: Ball) -> bool:
        """Whether p = alpha q may hold inside."""
        (p, q), (r, s) = self.densities(self.left), self.densities(self.right)
        return not (p > alpha * q or r <= alpha * s)


@dataclass(frozen=True)
class LaplaceMixtureLoss(MixturePair):
    """Laplace noise; means in units of its scale, those of P >= 0 and those of Q <= 0."""

    above: Mixture
    below: Mixture
    order: str

    def stretches(self) -> list[_Stretch]:
        return _stretches(self, bits())

    def stick(self, x: Ball) -> Ball:
        """The largest of (1 - e^x)_+ and P(t, inf) - e^x Q(t, inf), t at and between all means."""
        if x >= self.largest():
            return Ball(0)
        if x <= self.smallest():
            return -expm1(x)
        best, alpha = larger(-expm1(x), 0), exp(x)
        for part in self.stretches():
            for t in (part.left, part.place(alpha), part.right):
                above, below = part.tails(t)
                best = larger(best, above - alpha * below)
        return best

    def tails(self, x: Ball) -> Tails:
        largest, smallest, alpha = self.largest(), self.smallest(), exp(x)
        if x >= largest:
            return Ball(0), Ball(0)
        if x < smallest:
            return Ball(1), Ball(1)
        found = [part.tails(part.place(alpha)) for part in self.stretches() if part.holds(alpha)]
        found += [] if x < largest else [(Ball(0), Ball(0))]
        found += [] if x >= smallest else [(Ball(1), Ball(1))]
        return _hull(found)

    def _end(self, sign: int) -> Ball:
        first, second = (total(exp(sign * mean) * weight for mean, weight in mixture)
                         for mixture in (self.above, self.below))
        return log(first / second)

    def largest(self) -> Ball:
        return self._end(1)

    def smallest(self) -> Ball:
        return self._end(-1)

    def moment(self, exponent: Ball) -> Ball:
        single = [total((LaplaceLoss(a - b).moment(exponent) if a > b else Ball(1)) * w for a, w in self.above)
                  for b, _ in self.below]
        return least_moment(exponent, single, self.below)


def _sticks(pairs: Sequence[Tails], x: Ball) -> Ball:
    found = [above - exp(x) * below for above, below in pairs]
    return reduce(union, found)


def _hull(pairs: Sequence[Tails]) -> Tails:
    first, second = pairs[0]
    for p, q in pairs[1:]:
        first, second = union(first, p), union(second, q)
    return first, second


@lru_cache(maxsize=16)
def _stretches(law: LaplaceMixtureLoss, prec: int) -> list[_Stretch]:
    def coefficients(mixture: Mixture, left: Fraction) -> tuple[Ball, Ball, Ball]:
        rising = total(exp(-mean) * weight for mean, weight in mixture if mean > left)
        falling = total(exp(mean) * weight for mean, weight in mixture if mean <= left)
        right = sum((weight for mean, weight in mixture if mean > left), Fraction(0))
        return falling.shifted(-1), rising.shifted(-1), ball(right)

    return [_Stretch(left, right, coefficients(law.above, left), coefficients(law.below, left))
            for left, right in pairwise(law.places())]


# ---------- discrete noise ----------


@dataclass(frozen=True)
class DiscreteLaplaceMixtureLoss(MixturePair, AtomicLaw):
    """Noise (1-r)/(1+r) r^|x| on the integers, r = e^{-1/scale}; means are integers."""

    scale: Fraction
    above: Mixture
    below: Mixture
    order: str

    @remembered
    def atoms(self) -> list[Atom]:
        """The outcomes from the largest mean on, each one between, those up to the least mean."""
        least, *_, most = map(int, self.places())
        factors, near = two_sided(self.scale, most - least)

        def around(mixture: Mixture, x: int) -> Ball:
            return total(weight * near[abs(int(mean) - x)] for mean, weight in mixture)

        outcomes = zip(range(most, least - 1, -1), factors, strict=True)
        return [(around(self.above, x) * factor, around(self.below, x) * factor) for x, factor in outcomes]


_MANY = 100


@dataclass(frozen=True)
class DiscreteGaussianLoss(Law):
    """Noise e^{-x^2/(2 s^2)}/Z on the integers, an integer shift D: the loss of x is D (D - 2x)/(2 s^2) (T50)."""

    sigma_squared: Fraction
    sensitivity: int
    order: str = "symmetric"

    def tails(self, x: Ball) -> Tails:
        return _hull(self._candidates(x))

    def stick(self, x: Ball) -> Ball:
        return _sticks(self._candidates(x), x)

    def _candidates(self, x: Ball) -> list[Tails]:
        """(F(n), F(n - D)), n the largest integer below D/2 - s^2 x/D, for all n that x allows."""
        end = ball(Fraction(self.sensitivity, 2)) - x * (self.sigma_squared / self.sensitivity)
        if not end.radius() < _MANY:
            raise Unknown("a threshold among integers")
        low, high = -floor(-end.lower()) - 1, -floor(-end.upper()) - 1
        if low < high and self._loss(high) <= x:
            high -= 1
        return [(distribution(self.sigma_squared, n), distribution(self.sigma_squared, n - self.sensitivity))
                for n in range(low, high + 1)]

    def _loss(self, outcome: int) -> Ball:
        return ball(Fraction(self.sensitivity * (self.sensitivity - 2 * outcome)) / (2 * self.sigma_squared))

    def moment(self, exponent: Ball) -> Ball:
        """The tilted masses are e^{-(x + lD)^2/(2s^2)} up to the factor e^{l(l+1) D^2/(2s^2)}/Z."""
        s2, shift = self.sigma_squared, exponent * self.sensitivity
        grown = exp(shift * (exponent + 1) * Fraction(self.sensitivity) / (2 * s2)) / whole_sum(s2, bits())
        if s2 >= 1:
            return grown * _wide_sum(s2, shift)
        centre, reach = -floor(shift.lower()), _reach(s2, bits() + 8)
        first, *terms, last = [exp(-(shift + x) * (shift + x) / (2 * s2))
                               for x in range(centre - reach - 1, centre + reach + 2)]
        # ratios fall outwards, from below e^{-reach/s^2} on
        return grown * (total(terms) + between(0, (first + last) / -expm1(Fraction(-(reach - 2)) / s2)))


def _reach(sigma_squared: Fraction, wanted: int) -> int:
    """An integer with e^{-reach^2/(2 s^2)} below about 2^-wanted, and ratios of neighbours beyond below e^{-1/64}."""
    reach = 4 + -(-sigma_squared.numerator // sigma_squared.denominator) // 64
    while reach**2 < 2 * sigma_squared * wanted:
        reach *= 2
    if reach > 1 << 20:
        raise Unknown("sums over very many integers")
    return reach


@lru_cache(maxsize=64)
def whole_sum(sigma_squared: Fraction, prec: int) -> Ball:
    """Z = sum over all x of e^{-x^2/(2 s^2)}."""
    with precision(prec + 24):
        return _wide_sum(sigma_squared, Ball(0)) if sigma_squared >= 1 else 1 + 2 * _lower_sums(sigma_squared, prec)[1]


def _wide_sum(sigma_squared: Fraction, shift: Ball) -> Ball:
    """sum of e^{-(x+v)^2/(2 s^2)} = s sqrt(2 pi) (1 + 2 sum over k of cos(2 pi k v) e^{-2 pi^2 s^2 k^2}) (T63)."""
    rate, terms, term, k = -2 * pi() * pi() * sigma_squared, Ball(1), Ball(1), 0
    while term.top() >= -bits():
        k += 1
        term = exp(rate * k * k)
        terms = terms + 2 * cos_sin(2 * pi() * k * shift)[0] * term
    return sqrt(2 * pi() * sigma_squared) * (terms + plus_minus(4 * term * exp(rate)))


def distribution(sigma_squared: Fraction, last: int) -> Ball:
    """F(last) = P(X <= last) of the centred discrete Gaussian, accurate in the left tail."""
    if last >= 0:
        return 1 - distribution(sigma_squared, -last - 1)
    return lower_sum(sigma_squared, last, bits()) / whole_sum(sigma_squared, bits())


_SMOOTH = 2**14


@lru_cache(maxsize=2**16)
def lower_sum(sigma_squared: Fraction, last: int, prec: int) -> Ball:
    """sum over x <= last < 0 of e^{-x^2/(2 s^2)}."""
    if sigma_squared >= _SMOOTH and -last < sigma_squared:
        return _by_euler_maclaurin(sigma_squared, last)
    table = _lower_sums(sigma_squared, prec) if sigma_squared < _SMOOTH else [Ball(0)]
    return table[-last] if -last < len(table) else _term_by_term(sigma_squared, last)


def _term_by_term(sigma_squared: Fraction, last: int) -> Ball:
    """Terms until the rest is below the precision: ratios fall, so the rest is at most next / (1 - its ratio)."""
    with precision(bits() + 64):
        term, found = exp(Fraction(-(last**2)) / (2 * sigma_squared)), Ball(0)
        ratio, bend = exp(Fraction(2 * last - 1) / (2 * sigma_squared)), exp(-1 / sigma_squared)
        small = term.top() - bits()
        for _ in range(1 << 21):
            found, term, ratio = found + term, term * ratio, ratio * bend
            if ratio < 1 and term.top() < small + 8:
                rest = (term / (1 - ratio)).upper()
                if rest.top() < small + 24:
                    return found + between(0, rest)
        raise Unknown("a sum over very many integers")


@lru_cache(maxsize=8)
def _lower_sums(sigma_squared: Fraction, prec: int) -> list[Ball]:
    """[unused, the sum up to -1, up to -2, ...]: each from the one further left."""
    reach = _reach(sigma_squared, prec)
    with precision(prec + 2 * reach.bit_length() + 16):
        sums = [_term_by_term(sigma_squared, -reach)]
        bend, ratio = exp(1 / sigma_squared), exp(Fraction(2 * reach - 1) / (2 * sigma_squared))
        term, bend = exp(Fraction(-(reach**2)) / (2 * sigma_squared)), 1 / bend
        for _ in range(reach - 1):
            term, ratio = term * ratio, ratio * bend
            sums.append(sums[-1] + term)
        return [Ball(0), *reversed(sums)]


def _by_euler_maclaurin(sigma_squared: Fraction, last: int) -> Ball:
    """s sqrt(2 pi) Phi(u) + e^{-u^2/2} (1/2 - sum_k B_2k/(2k)! s^{1-2k} He_{2k-1}(u)), u = last/s (T63).

    Up to 4 s sqrt(2 pi Phi(u) (2p)!) (2 pi s)^{-2p} for k = 1..p.
    """
    goal = bits()
    with precision(goal + 64):
        s = sqrt(ball(sigma_squared))
        u, tail = last / s, normal_tail(-last / s)
        leading, found = s * sqrt(2 * pi()) * tail, Ball(1, 0, -1)
        error, step = 4 * s * sqrt(2 * pi() * tail), 1 / (4 * pi() * pi() * sigma_squared)
        before, hermite, factor = Ball(1), u, 1 / s
        for k in range(1, 400):
            factor = factor / (2 * k * (2 * k - 1))
            found = found - Fraction(*map(int, bernfrac(2 * k))) * factor * hermite
            error = error * step * sqrt(ball(2 * k * (2 * k - 1)))
            if error < leading.shifted(-goal):
                return leading + exp(-u * u / 2) * found + plus_minus(error)
            after = u * hermite - (2 * k - 1) * before
            before, hermite, factor = after, u * after - 2 * k * hermite, factor / sigma_squared
    return _term_by_term(sigma_squared, last)


@dataclass(frozen=True)
class DiscreteGaussianMixtureLoss(MixtureLoss):
    """Noise e^{-x^2/(2 sigma^2)}/Z on the integers; means are integers. The loss at an integer is MixtureLoss's."""

    has_nodes: ClassVar[bool] = False

    def tails(self, x: Ball) -> Tails:
        return _hull(self._candidates(x))

    def stick(self, x: Ball) -> Ball:
        return _sticks(self._candidates(x), x)

    def _candidates(self, x: Ball) -> list[Tails]:
        """(P(X >= n), Q(X >= n)), n the first integer with a loss above x, for all n that x allows."""
        found = self.ends(x)
        if found is not None:
            return [(Ball(found), Ball(found))]
        start = floor(self.near(x))
        low, high = start, start + 1
        while not _loss_at(self, low, bits()) <= x:
            low -= 1
        while not _loss_at(self, high, bits()) > x:
            high += 1
        if high - low > _MANY:
            raise Unknown("a threshold among integers")
        return [_sums_from(self, n, bits()) for n in range(low + 1, high + 1)]


@lru_cache(maxsize=2**16)
def _loss_at(law: DiscreteGaussianMixtureLoss, outcome: int, prec: int) -> Ball:
    return law.loss(Ball(outcome))[0]


@lru_cache(maxsize=2**16)
def _sums_from(law: DiscreteGaussianMixtureLoss, outcome: int, prec: int) -> Tails:
    variance = square_of(law.sigma)
    above, below = (total(distribution(variance, int(mean) - outcome) * weight for mean, weight in mixture)
                    for mixture in (law.above, law.below))
    return above, below

