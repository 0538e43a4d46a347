"""The discrete Gaussian: noise of mass e^{-x^2/(2 s^2)} / Z on the integers, and an integer shift D (T50).

The loss of outcome x, P centred at 0 and Q at D, is D (D - 2x) / (2 s^2): it falls in x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from typing import ClassVar

from flint import acb, arb, ctx

from verified_dp.kernel.balls import ball, upper_end
from verified_dp.theorems import proved_by


@dataclass(frozen=True)
class DiscreteGaussianLoss:
    """sigma_squared = s^2 > 0, sensitivity = D >= 1. The pair is its own mirror image, so every order is the same."""

    sigma_squared: Fraction
    sensitivity: int
    order: str = "symmetric"
    decays: ClassVar[bool] = False

    def in_order(self, order: str) -> DiscreteGaussianLoss:
        """The same law in every order."""
        return replace(self, order=order)

    @proved_by("T50-discrete-gaussian")
    def enclose_hockey_stick(self, epsilon: arb) -> arb:
        """Enclose F(n) - e^eps F(n - D), n the largest integer below D/2 - s^2 eps / D."""
        ends = self._last_outcomes(epsilon)
        if ends is None:
            return arb(0).union(arb(1))
        alpha, s2 = epsilon.exp(), self.sigma_squared
        values = [enclose_distribution(s2, n) - alpha * enclose_distribution(s2, n - self.sensitivity)
                  for n in range(ends[0], ends[1] + 1)]
        return reduce(arb.union, values)

    @proved_by("T60-tails")
    def enclose_tails(self, x: arb) -> tuple[arb, arb]:
        """Enclose (F(n), F(n - D)), n the largest integer below D/2 - s^2 x / D."""
        ends = self._last_outcomes(x)
        if ends is None:
            return arb(0).union(arb(1)), arb(0).union(arb(1))
        (low, high), s2, shift = ends, self.sigma_squared, self.sensitivity
        return (enclose_distribution(s2, low).union(enclose_distribution(s2, high)),
                enclose_distribution(s2, low - shift).union(enclose_distribution(s2, high - shift)))

    def _last_outcomes(self, epsilon: arb) -> tuple[int, int] | None:
        """The least and the largest n that the ball allows: outcomes x <= n have a loss > eps. None: too many."""
        end = arb(self.sensitivity) / 2 - ball(self.sigma_squared / self.sensitivity) * epsilon
        if not end.is_finite() or not end.rad() < _WIDEST:
            return None
        low, high = _integer(end.lower().ceil()) - 1, _integer(end.upper().ceil()) - 1
        return low, high - 1 if low < high and self._reaches(high, epsilon) else high

    def _reaches(self, outcome: int, epsilon: arb) -> bool:
        """Whether the loss at the outcome is at most eps, by integers where eps is exact: decides ties."""
        numerator, denominator = self.sigma_squared.numerator, self.sigma_squared.denominator
        return bool(self.sensitivity * (self.sensitivity - 2 * outcome) * denominator <= 2 * numerator * epsilon)

    def enclose_density(self, x: arb) -> arb:
        """0: the loss is discrete."""
        return arb(0)

    def enclose_loss_atoms(self) -> list[tuple[arb, arb]] | None:
        """Infinitely many: D (D - 2x) / (2 s^2) for all integers x."""
        return None

    def enclose_infinity_mass(self) -> arb:
        """P(L = inf) = 0."""
        return arb(0)

    def enclose_largest_loss(self) -> arb | None:
        """The loss is unbounded."""
        return None

    def enclose_smallest_loss(self) -> arb | None:
        """The loss is unbounded below."""
        return None

    @proved_by("T50-discrete-gaussian")
    def enclose_transform(self, z: acb) -> acb:
        """Enclose sum_x e^{-x^2/(2 s^2) + z D (D - 2x)/(2 s^2)} / Z, summed outwards from x near -D Re z."""
        s2, shift = self.sigma_squared, self.sensitivity
        centre = _integer((-shift * z.real).floor().upper())
        top = (ball(Fraction(-(centre**2)) / (2 * s2)) + z * ball(shift * (shift - 2 * centre) / (2 * s2))).exp()
        turn = (-z * ball(shift / s2)).exp()
        bend = (-ball(1 / s2)).exp()
        up = _one_sided(top, turn * (-ball((2 * centre + 1) / (2 * s2))).exp(), bend)
        down = _one_sided(top, (1 / turn) * ball((2 * centre - 1) / (2 * s2)).exp(), bend)
        return (top + up + down) / _total(s2, ctx.prec)

    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose M(l)."""
        return self.enclose_transform(acb(exponent)).real

    @proved_by("T50-discrete-gaussian")
    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(c+iw)| by M(c): the loss lies on a lattice, so the transform is periodic."""
        return upper_end(self.enclose_moment(tilt))


_WIDEST = 100
"""A threshold known no better than this is not worth a sum for each integer in it."""


def _integer(end: arb) -> int:
    """An exact integral ball as an integer."""
    return int(str(end.unique_fmpz()))


def _one_sided(top: acb, ratio: acb, bend: arb) -> acb:
    """Enclose sum_{j>=1} top ratio^j bend^{j(j-1)/2}, 0 < bend < 1: terms until they are below the precision."""
    total, term, small = acb(0), top * ratio, top.abs_upper() * arb(2) ** (-ctx.prec)
    shrink = abs(ratio)
    while True:
        total += term
        shrink *= bend
        ratio = ratio * bend
        term *= ratio
        if not term.is_finite():
            return term
        if 2 * shrink < 1 and term.abs_upper() < small:
            rest = 2 * term.abs_upper()
            return total + acb(arb(0, upper_end(rest)), arb(0, upper_end(rest)))


@proved_by("T50-discrete-gaussian")
def enclose_distribution(sigma_squared: Fraction, last: int) -> arb:
    """Enclose F(last) = P(X <= last) for the centred discrete Gaussian, with relative accuracy in the left tail."""
    if last >= 0:
        return 1 - enclose_distribution(sigma_squared, -last - 1)
    table = _lower_sums(sigma_squared, ctx.prec)
    tail = table[-last] if -last < len(table) else _lower_sum(sigma_squared, last)
    return tail / _total(sigma_squared, ctx.prec)


def _lower_sum(sigma_squared: Fraction, last: int) -> arb:
    """Enclose sum over x <= last of e^{-x^2/(2 s^2)}, last < 0."""
    top = ball(Fraction(-(last**2)) / (2 * sigma_squared)).exp()
    ratio = ball((2 * last - 1) / (2 * sigma_squared)).exp()
    return (top + _one_sided(acb(top), acb(ratio), (-ball(1 / sigma_squared)).exp())).real


_LONGEST = 2**20
"""Entries of a table; sums further out are made one by one."""


@lru_cache(maxsize=16)
def _lower_sums(sigma_squared: Fraction, prec: int) -> list[arb]:
    """[unused, F-sum at -1, at -2, ...] down to where a term is below 2^-prec: each from the one further left."""
    reach = 2
    while reach**2 < 2 * sigma_squared * prec and reach < _LONGEST:
        reach *= 2
    with ctx.workprec(prec + 2 * reach.bit_length() + 8):
        sums = [_lower_sum(sigma_squared, -reach)]
        bend, ratio = ball(1 / sigma_squared).exp(), ball((2 * reach - 1) / (2 * sigma_squared)).exp()
        term = ball(Fraction(-(reach**2)) / (2 * sigma_squared)).exp()
        for _ in range(reach - 1):
            term *= ratio
            ratio /= bend
            sums.append(sums[-1] + term)
        return [arb(0), *reversed(sums)]


@lru_cache(maxsize=64)
def _total(sigma_squared: Fraction, prec: int) -> arb:
    """Enclose Z = sum over all x of e^{-x^2/(2 s^2)}."""
    with ctx.workprec(prec + 16):
        return 1 + 2 * _lower_sum(sigma_squared, -1)
