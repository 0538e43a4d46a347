"""The discrete Gaussian: noise of mass e^{-x^2/(2 s^2)} / Z on the integers, and an integer shift D (T50).

The loss of outcome x, P centred at 0 and Q at D, is D (D - 2x) / (2 s^2): it falls in x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import ClassVar

from flint import acb, arb, ctx, fmpq, fmpz

from verified_dp.core.engines.shared import kept
from verified_dp.core.kernel.balls import ball, integer_above, normal_tail, upper_end
from verified_dp.core.kernel.dyadic import integer_of
from verified_dp.core.kernel.law import Listed, PlainLaw, Unbounded
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import words

_TERM = 80
"""Units a term of a sum over integers takes."""


@dataclass(frozen=True)
class DiscreteGaussianLoss(PlainLaw, Unbounded):
    """sigma_squared = s^2 > 0, sensitivity = D >= 1. The pair is its own mirror image, so every order is the same."""

    sigma_squared: Fraction
    sensitivity: int
    order: str = "symmetric"
    decays: ClassVar[bool] = False
    listed_on_samples: ClassVar[bool] = True

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
        low, high = integer_of(end.lower().ceil()) - 1, integer_above(end) - 1
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

    @proved_by("T63-discrete-gaussian-sums")
    def enclose_transform(self, z: acb) -> acb:
        """Enclose sum_x e^{-x^2/(2 s^2) + z D (D - 2x)/(2 s^2)} / Z by the theta function.

        e^{z D^2/(2 s^2)} theta_3(v, tau) / theta_3(0, tau), v = i z D / (2 pi s^2), tau = i / (2 pi s^2).
        """
        s2, shift = self.sigma_squared, self.sensitivity
        place = acb(0, 1) * z * ball(shift / s2) / (2 * arb.pi())
        return (z * ball(shift**2 / (2 * s2))).exp() * _theta(place, s2) / _total(s2)

    def enclose_moment(self, exponent: arb) -> arb:
        """Enclose M(l)."""
        return self.enclose_transform(acb(exponent)).real

    @proved_by("T50-discrete-gaussian")
    def bound_transform_beyond(self, tilt: arb, frequency: arb) -> arb:
        """Bound |M(c+iw)| by M(c): the loss lies on a lattice, so the transform is periodic."""
        return upper_end(self.enclose_moment(tilt))

    def table_work(self, prec: int) -> int:
        """All sums over integers that are kept."""
        return 3 * _TERM * self._terms(prec) * words(prec)

    def table_reach(self, prec: int) -> Fraction | None:
        """D terms / s^2."""
        return self.sensitivity * self._terms(prec) / self.sigma_squared

    def _terms(self, prec: int) -> int:
        """About how many a sum over integers takes; wide noise is summed by Euler and Maclaurin instead."""
        square = min(self.sigma_squared, Fraction(SMOOTH))  # exact: rational numbers
        return int(fmpz(2 * prec * square.numerator // square.denominator).isqrt()) + 2

    @proved_by("T221-atoms-on-a-grid", "T50-discrete-gaussian")
    def enclose_masses(self, first: Fraction, gap: Fraction, many: int) -> list[arb] | None:
        """e^{-x^2/(2 s^2)} / Z at x = D/2 - s^2 loss/D, where these are neighbouring integers."""
        start = Fraction(self.sensitivity) / 2 - self.sigma_squared * first / self.sensitivity
        if start.denominator != 1 or gap * self.sigma_squared != self.sensitivity:
            return None
        scale, weight = -ball(1 / (2 * self.sigma_squared)), 1 / _total(self.sigma_squared)
        return [weight * (scale * (x * x)).exp() for x in range(start.numerator, start.numerator - many, -1)]

    @proved_by("T224-sums-of-discrete-gaussians")
    def merged(self, count: int) -> tuple[DiscreteGaussianLoss, arb] | None:
        """Noise of count s^2 and a shift of count D, where s^2 >= WIDE.

        Up to ((1 + h)/(1 - h))^{count - 1} - 1, h = 2 e^{-pi^2 s^2} / (1 - e^{-3 pi^2 s^2}).
        """
        if self.sigma_squared < WIDE:
            return None
        rate = -arb.pi() ** 2 * ball(self.sigma_squared)
        ripple = 2 * rate.exp() / -(3 * rate).expm1()
        error = ((count - 1) * (ripple.log1p() - (-ripple).log1p())).expm1()
        return replace(self, sigma_squared=count * self.sigma_squared, sensitivity=count * self.sensitivity), error

    def lists(self, reach: int) -> bool:
        """Where they reach beyond the shift."""
        return self.sensitivity < reach

    @proved_by("T192-line", "T50-discrete-gaussian")
    def enclose_listed(self, reach: int) -> Listed:
        """Loss D (D - 2x) / (2 s^2) of mass e^{-x^2/(2 s^2)} / Z; outside at most 2 F(D - reach - 1), under Q too."""
        s2, shift = self.sigma_squared, self.sensitivity
        unit, scale = ball(shift / (2 * s2)), -ball(1 / (2 * s2))
        first = enclose_distribution(s2, 0) - enclose_distribution(s2, -1)  # 1 / Z
        masses = [first * (scale * (x * x)).exp() for x in range(reach + 1)]
        return Listed([(unit * (shift - 2 * x), masses[abs(x)]) for x in range(-reach, reach + 1)],
                      upper_end(2 * enclose_distribution(s2, shift - reach - 1)))


_WIDEST = 100
"""A threshold known no better than this is not worth a sum for each integer in it."""


def _theta(place: acb, sigma_squared: Fraction) -> acb:
    """Enclose theta_3(v, tau) = sum_x e^{pi i tau x^2 + 2 pi i v x} at tau = i / (2 pi s^2)."""
    tau = acb(0, ball(1 / sigma_squared) / (2 * arb.pi()))
    return acb.modular_theta(place, tau)[2]


@kept(64)
@proved_by("T63-discrete-gaussian-sums")
def _total(sigma_squared: Fraction) -> arb:
    """Enclose Z = sum over all x of e^{-x^2/(2 s^2)} = theta_3(0, tau)."""
    with ctx.workprec(ctx.prec + 16):
        return _theta(acb(0), sigma_squared).real


@proved_by("T50-discrete-gaussian")
def enclose_distribution(sigma_squared: Fraction, last: int) -> arb:
    """Enclose F(last) = P(X <= last) for the centred discrete Gaussian, with relative accuracy in the left tail."""
    if last >= 0:
        return 1 - enclose_distribution(sigma_squared, -last - 1)
    if -last < sigma_squared >= SMOOTH:
        return _enclose_lower_sum(sigma_squared, last) / _total(sigma_squared)
    table = _lower_sums(sigma_squared) if sigma_squared < SMOOTH else []
    tail = table[-last] if -last < len(table) else _lower_sum(sigma_squared, last)
    return tail / _total(sigma_squared)


@proved_by("T63-discrete-gaussian-sums")
def _enclose_lower_sum(sigma_squared: Fraction, last: int) -> arb:
    """Enclose sum over x <= last of e^{-x^2/(2 s^2)}, last < 0, by Euler and Maclaurin's formula, or term by term.

    s sqrt(2 pi) Phi(u) + e^{-u^2/2} (1/2 - sum_k B_2k/(2k)! s^{1-2k} He_{2k-1}(u)), u = last/s, up to
    4 s sqrt(2 pi Phi(u) (2p)!) (2 pi s)^{-2p} for k = 1..p.
    """
    goal = arb(2) ** -ctx.prec
    with ctx.workprec(ctx.prec + 32):
        s = ball(sigma_squared).sqrt()
        u, tail = ball(last) / s, normal_tail(-ball(last) / s)
        leading, total = s * (2 * arb.pi()).sqrt() * tail, arb(1) / 2
        error, step = 4 * s * (2 * arb.pi() * tail).sqrt(), 1 / (2 * arb.pi() * s) ** 2
        before, hermite, factor = arb(1), u, 1 / s  # He_{2k-2}, He_{2k-1}, s^{1-2k} / (2k-2)!
        for k in range(1, _MOST_TERMS):
            factor = factor / (2 * k * (2 * k - 1))
            total -= arb(fmpq.bernoulli(2 * k)) * factor * hermite
            error = error * step * arb(2 * k * (2 * k - 1)).sqrt()
            if error < leading * goal:
                return leading + (-u * u / 2).exp() * total + arb(0, upper_end(error))
            after = u * hermite - (2 * k - 1) * before
            before, hermite = after, u * after - 2 * k * hermite
            factor = factor / (s * s)
    return _lower_sum(sigma_squared, last)


WIDE = 8
"""From this s^2 on the noise of several steps is nearly that of one."""
SMOOTH = 2**14
"""From this s^2 on sums that begin at less than s^2 are enclosed by Euler and Maclaurin's formula."""
_MOST_TERMS = 400
"""Of that formula; where they are too few the terms of the sum are added."""


@proved_by("T50-discrete-gaussian")
def _lower_sum(sigma_squared: Fraction, last: int) -> arb:
    """Enclose sum over x <= last < 0 of e^{-x^2/(2 s^2)}: terms until the rest is below the precision.

    The ratios of the terms fall, so that the rest is at most the next term / (1 - the ratio after it).
    """
    accuracy, spare = arb(2) ** -ctx.prec, 32 + 2 * (sigma_squared.numerator // sigma_squared.denominator).bit_length()
    with ctx.workprec(ctx.prec + spare):  # the terms' rounding must not hide that they fall
        term = ball(Fraction(-(last**2)) / (2 * sigma_squared)).exp()
        ratio, bend = ball((2 * last - 1) / (2 * sigma_squared)).exp(), (-ball(1 / sigma_squared)).exp()
        total, small = arb(0), upper_end(term) * accuracy
        while True:
            total += term
            term *= ratio
            ratio *= bend
            rest = upper_end(term / (1 - ratio)) if ratio < 1 else arb.pos_inf()
            if rest < small or not rest.is_finite():
                return total + arb(0).union(rest)


@kept(16)
@proved_by("T50-discrete-gaussian")
def _lower_sums(sigma_squared: Fraction) -> list[arb]:
    """[unused, F-sum at -1, at -2, ...] down to where a term is below 2^-prec: each from the one further left."""
    prec, reach = ctx.prec, 2
    while reach**2 < 2 * sigma_squared * prec:
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
