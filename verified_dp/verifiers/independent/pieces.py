"""Closed forms: Gaussians alone, one step alone, compositions of atoms and of uniform pieces (T45, T47, T59).

Tilted by -1/2 such a step is a few atoms and a uniform density, and a composition is a sum of one-sided powers: with
weights w_{x,m} at places x

    D(eps) = e^{eps/2} sum over x > eps, m of w_{x,m} F_m(x - eps),
    F_m(T) = A_m(1/2, T) - A_m(-1/2, T),      A_m(r, T) = sum_{i >= m} r^{i-m} T^i/i!.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, gcd
from typing import Any

from .atoms import Atom, AtomicLaw
from .balls import (
    Ball,
    ball,
    bits,
    exp,
    larger,
    plus_minus,
    power,
    precision,
    remembered,
    sinh,
    smaller,
    sqrt,
    total,
)
from .contour import Bounds, bounds_from_sum, require
from .document import TooMuch
from .laws import BoundedRangeLoss, LaplaceLoss, Law, Tails, union
from .losses import ComposedLoss

Piece = tuple[Ball, list[Ball]]
"""A place x with its weights w_{x,0}, w_{x,1}, ..."""
MAX_WORK = 50_000
"""Places times orders of a sum."""
MAX_DEGREE = 1500
"""Of a power of a polynomial; longer ones are left to the lattice."""
MAX_BASE_WORK = 200


@dataclass(frozen=True)
class ClosedForm:
    """Nothing to choose but the bits."""

    prec: int

    def evaluate(self, loss: ComposedLoss) -> ClosedFormValues:
        require(not loss.only_moments)
        return ClosedFormValues(loss)


@dataclass(frozen=True)
class ClosedFormValues:
    loss: ComposedLoss

    def enclose(self, epsilon: Fraction) -> Bounds:
        """A curve that is known; its only error is rounding."""
        loss, x = self.loss, ball(epsilon)
        work = count_pieces(loss)
        if not loss.parts:
            found = loss.gaussian.stick(x)
        elif len(loss.parts) == 1 and loss.parts[0][1] == 1 and not loss.mean_shift_squared:
            found = loss.parts[0][0].stick(x)
        elif work is not None and work <= MAX_WORK:
            found = enclose_exactly(loss, x)
        else:
            raise TooMuch("a closed form of very many terms")
        return bounds_from_sum(found, {}, {})


def count_pieces(loss: ComposedLoss) -> int | None:
    """Places times orders; None where a law has no pieces, or there is a Gaussian."""
    places, orders = 1, 1
    for law, count in loss.parts:
        if isinstance(law, LaplaceLoss | BoundedRangeLoss):
            places, orders = places * (count + 1), orders + count
        elif isinstance(law, AtomicLaw):
            places *= _count_places(law, count)
        else:
            return None
    return None if loss.mean_shift_squared else places * orders


def _count_places(law: AtomicLaw, count: int) -> int:
    lattice = law.lattice()
    if lattice is None:
        n = len(law.finite_atoms())
        return comb(count + n - 1, n - 1) if n < 50 and count < 10**6 else MAX_WORK + 1
    indices = lattice[1]
    return count * (max(indices, default=0) - min(indices, default=0)) // _stride(indices) + 1


def _stride(indices: Sequence[int]) -> int:
    return gcd(*(index - indices[0] for index in indices)) or 1


def spare_bits(loss: ComposedLoss) -> int:
    """For the cancellation of the signs: about 3 k min(1, sqrt(mu)) for k steps of range mu."""
    spare = 24
    for law, count in loss.parts:
        if isinstance(law, LaplaceLoss | BoundedRangeLoss):
            root = smaller(sqrt(ball(law.largest())), 1) * (3 * count)
            spare += int(root.scaled(0)[0]) + 2
    return spare


def enclose_exactly(loss: ComposedLoss, x: Ball) -> Ball:
    """delta = P(S = inf) + D (T45)."""
    with precision(bits() + spare_bits(loss)):
        found = total(_tail(place - x, weights) for place, weights in _all_pieces(loss, bits()))
        return loss.infinity() + exp(x.shifted(-1)) * found


@lru_cache(maxsize=4)
def _all_pieces(loss: ComposedLoss, prec: int) -> list[Piece]:
    found: list[Piece] = [(Ball(0), [Ball(1)])]
    for law, count in loss.parts:
        more = _pieces(law, count)
        found = [(x + y, _product(v, w)) for x, v in found for y, w in more]
    return found


def _product(v: Sequence[Ball], w: Sequence[Ball]) -> list[Ball]:
    """Orders add, weights multiply."""
    found = [Ball(0)] * (len(v) + len(w) - 1)
    for i, a in enumerate(v):
        for j, b in enumerate(w):
            found[i + j] = found[i + j] + a * b
    return found


def _pieces(law: Any, count: int) -> list[Piece]:
    """Of `count` steps of one law."""
    if isinstance(law, LaplaceLoss):
        small = exp(ball(-law.ratio / 2))
        return _splines(ball(law.ratio), small.shifted(-1), small.shifted(-2), count)
    if isinstance(law, BoundedRangeLoss):
        mu = ball(law.bounded_range)
        return _splines(mu, Ball(0), 1 / (4 * sinh(mu.shifted(-1))), count)
    atoms: list[Atom] = law.finite_atoms()
    weights = [sqrt(p * q) for p, q in atoms]
    if not weights:
        return []
    lattice = law.lattice()
    if lattice is None:
        return [(place, [weight]) for place, weight in _multisets(law.losses(), weights, count)]
    step, indices = lattice
    stride, lowest = _stride(indices), min(indices)
    found: dict[int, Ball] = {}
    for n, weight in zip(((index - lowest) // stride for index in indices), weights, strict=True):
        found[n] = found.get(n, Ball(0)) + weight
    row = [found.get(n, Ball(0)) for n in range(max(found) + 1)]
    return [(step * (count * lowest + stride * n), [weight]) for n, weight in enumerate(_power(row, count))]


def _power(row: list[Ball], count: int) -> list[Ball]:
    """The coefficients of a power of a polynomial, by binary powering."""
    if (len(row) - 1) * count > MAX_DEGREE:
        raise TooMuch("a closed form of very many terms")
    found = [Ball(1)]
    for digit in bin(count)[2:]:
        found = _product(found, found)
        found = _product(found, row) if digit == "1" else found
    return found


def _splines(mu: Ball, atom: Ball, density: Ball, count: int) -> list[Piece]:
    """Weights comb(k,m) a^{k-m} b^m [y^j] (y-1)^m (y+1)^{k-m} at (2j - k) mu: m uniform pieces."""
    row = [comb(count, j) for j in range(count + 1)]
    columns: list[list[Ball]] = [[] for _ in row]
    for m in range(count + 1):
        factor = power(atom, count - m) * power(density, m) * comb(count, m)
        for column, coefficient in zip(columns, row, strict=True):
            column.append(factor * coefficient)
        row = _replaced(row) if m < count else row
    return [(mu * (2 * j - count), column) for j, column in enumerate(columns)]


def _replaced(row: Sequence[int]) -> list[int]:
    """The coefficients of p(y) (y-1)/(y+1), p divisible by y + 1."""
    previous, last, changed = 0, 0, []
    for coefficient in row:
        last = previous - coefficient - last
        changed.append(last)
        previous = coefficient
    return changed


def _multisets(losses: Sequence[Ball], weights: Sequence[Ball], count: int) -> Iterator[tuple[Ball, Ball]]:
    """(sum of losses, multinomial times product of weights) of every way to share `count` among the atoms."""
    if len(losses) == 1:
        yield losses[0] * count, power(weights[0], count)
        return
    for first in range(count + 1):
        factor, place = power(weights[0], first) * comb(count, first), losses[0] * first
        for rest, weight in _multisets(losses[1:], weights[1:], count - first):
            yield place + rest, factor * weight


def _tail(distance: Ball, weights: Sequence[Ball]) -> Ball:
    """sum_m w_m F_m(T); 0 where T <= 0, and F_m(0) = 0."""
    if distance <= 0:
        return Ball(0)
    reach = larger(distance, 0)
    if len(weights) == 1:
        return 2 * weights[0] * sinh(reach.shifted(-1))
    half = Fraction(1, 2)
    pairs = zip(_series_of(half, reach, len(weights) - 1), _series_of(-half, reach, len(weights) - 1), strict=True)
    return total(w * (a - b) for w, (a, b) in zip(weights, pairs, strict=True))


def _series_of(rate: Fraction, distance: Ball, order: int) -> list[Ball]:
    """A_0, ..., A_order: the last by its series, the others by A_m = T^m/m! + rate A_{m+1}."""
    terms = [Ball(1)]
    for m in range(1, order + 1):
        terms.append(terms[-1] * distance / m)
    growth, last = rate * distance, Ball(1)
    series, n = [last], order
    while not (2 * growth.magnitude() < n and last.top() < -bits()):  # then the rest is at most the last term
        n += 1
        last = last * growth / n
        series.append(last)
    values = [terms[order] * (total(series) + plus_minus(last))]
    for term in terms[order - 1 :: -1] if order else []:
        values.insert(0, values[0] * rate + term)
    return values


# ---------- a composition as the base of a sample ----------


@dataclass(frozen=True)
class ClosedFormLaw(Law):
    """The law of few enough steps made of atoms and uniform pieces (T73)."""

    loss: ComposedLoss

    @property
    def order(self) -> str:  # type: ignore[override]
        return self.loss.order

    def in_order(self, order: str) -> ClosedFormLaw:
        return ClosedFormLaw(self.loss.in_order(order))

    def tails(self, x: Ball) -> Tails:
        """e^{x/2} sum w A_m(1/2, T) and the infinity mass; e^{-x/2} sum w A_m(-1/2, T)."""
        half = Fraction(1, 2)
        with precision(bits() + spare_bits(self.loss)):
            found = [Ball(0), Ball(0)]
            for place, weights in _all_pieces(self.loss, bits()):
                distance = place - x
                if distance <= 0:
                    continue
                for side, rate in enumerate((half, -half)):
                    values = _series_of(rate, larger(distance, 0), len(weights) - 1)
                    term = total(w * value for w, value in zip(weights, values, strict=True))
                    found[side] = found[side] + (term if distance > 0 else union(term, 0))
            return self.loss.infinity() + exp(x.shifted(-1)) * found[0], exp(-x.shifted(-1)) * found[1]

    def stick(self, x: Ball) -> Ball:
        end = self.largest()
        return self.infinity() if end is not None and x >= end else enclose_exactly(self.loss, x)

    def infinity(self) -> Ball:
        return self.loss.infinity()

    def largest(self) -> Any:
        return self.loss.largest()

    def smallest(self) -> Ball | None:
        return self.loss.smallest()

    def moment(self, exponent: Ball) -> Ball:
        found = Ball(1)
        for law, count in self.loss.parts:
            found = found * power(law.moment(exponent), count)
        return found


@dataclass(frozen=True)
class AtomicProduct(AtomicLaw):
    """The law of a composition of steps with finitely many outcomes each (T73)."""

    loss: ComposedLoss

    @property
    def order(self) -> str:  # type: ignore[override]
        return self.loss.order

    def in_order(self, order: str) -> AtomicProduct:
        return AtomicProduct(self.loss.in_order(order))

    @remembered
    def _places(self) -> list[tuple[Ball, Ball]]:
        return [(place, weights[0] * exp(place.shifted(-1))) for place, weights in _all_pieces(self.loss, bits())]

    @remembered
    def atoms(self) -> list[Atom]:
        found = [(mass, mass * exp(-place)) for place, mass in self._places()]
        other = "add" if self.order == "remove" else "remove"
        ends = [(self.loss.infinity(), Ball(0)), (Ball(0), self.loss.in_order(other).infinity())]
        return [*found, *(end for end in ends if not (end[0].is_zero() and end[1].is_zero()))]

    def losses(self) -> list[Ball]:
        return [place for place, _ in self._places()]
