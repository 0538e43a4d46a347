"""The best of a random number K of runs (CERTIFICATE.md, `SelectedLoss`; T213): moments from those of one run.

With q, q' the probabilities of one event under both laws of a run, f(x) = E x^K, M_1 a run's moment, l > 0:

    E[e^{lL}] <= f(0) + M_1(l) sup f'(q)^{1+l} f'(q')^{-l}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial, reduce

from .balls import Ball, Number, Unknown, ball, bits, exp, expm1, larger, log, log1p, smaller
from .document import TooMuch
from .laws import Guarantee, SampledLaplaceLoss
from .losses import ComposedLoss
from .measures import peak

POWERS = tuple(Fraction(2) ** n * part for n in range(-4, 14) for part in (1, Fraction(3, 2)))


@dataclass(frozen=True)
class SelectedLoss(Guarantee):
    """one, other: a run's loss in both directions; the mean of K; shape: None for Poisson, else negative binomial."""

    one: ComposedLoss
    other: ComposedLoss
    mean: Fraction
    shape: Fraction | None
    order: str = "symmetric"

    def moment(self, exponent: Ball) -> Ball:
        if any(isinstance(law, SampledLaplaceLoss) for law, _ in self.one.parts):
            raise TooMuch("a moment that this checker does not have")
        return self.bound_moment(exponent, 6)

    def bound_moment(self, exponent: Ball, count: int = 1) -> Ball:
        """The larger of both directions; log M is convex and 0 at 0, so at most its n-th part at nl."""
        found = Ball(0)
        for one, other in ((self.one, self.other), (self.other, self.one)):
            found = larger(found, least([partial(self._part, one, other, exponent, 2**n) for n in range(count)]))
        return exp(found)

    def _part(self, one: ComposedLoss, other: ComposedLoss, exponent: Ball, n: int) -> Ball:
        point = exponent * n
        return least([partial(self._by_moments, one, other, point),
                      lambda: point * largest_loss(one, other, self.mean, self.shape, bits())]) / n

    def _by_moments(self, one: ComposedLoss, other: ComposedLoss, l: Ball) -> Ball:  # noqa: E741
        """log of e^-m + m M_1(l) e^{l m H'}, H' = H_{1 + 1/l}(Q' || Q), or of m M_1(l) (f'(q)/f'(q'))^l."""
        single, mean = one.log_moment(l, bounded=True), ball(self.mean)
        if self.shape is None:
            return log(exp(-mean) + mean * exp(single + l * mean * stick(other, log1p(1 / l))))
        return single + log(mean) + l * ratio(other, self.mean, self.shape, bits())


def least(bounds: Sequence[Callable[[], Ball]]) -> Ball:
    """The least of upper bounds, of those that are known."""
    found = []
    for bound in bounds:
        with suppress(ArithmeticError):
            found.append(bound().upper())
    if not found:
        raise Unknown("no bound on a moment of a selection")
    return reduce(smaller, found)


@lru_cache(maxsize=4096)
def _at_power(loss: ComposedLoss, t: Fraction, prec: int) -> tuple[Ball, Ball]:
    """At least log M(t), and log C(t) M(t)."""
    size = loss.log_moment(t, bounded=True)
    return size, size + log(peak(t))


def stick(loss: ComposedLoss, epsilon: Number) -> Ball:
    """At least H_{e^eps}: the curve of a single law, else the least C(t) M(t) e^{-t eps}."""
    if _is_single(loss):
        return least([lambda: Ball(1), lambda: loss.laws[0][0].stick(ball(epsilon))])
    return exp(smaller(0, least([partial(_chernoff, loss, t, epsilon) for t in POWERS])))


def _chernoff(loss: ComposedLoss, t: Fraction, epsilon: Number) -> Ball:
    return _at_power(loss, t, bits())[1] - t * epsilon


def _is_single(loss: ComposedLoss) -> bool:
    return len(loss.laws) == 1 and loss.laws[0][1] == 1 and not loss.only_moments


@lru_cache(maxsize=64)
def ratio(loss: ComposedLoss, mean: Fraction, shape: Fraction, prec: int) -> Ball:
    """At least log f'(q)/f'(q') = (1+e) log p'/p, p = g + (1-g)(1-q); with w = (1-g)/g

    p'/p <= (M'(t) (1+w))^{1/(1+t)} for every t > 0, a + w H_a(Q' || Q) for every a >= 1, e^{sup L'}.
    """
    w = ball(odds(mean, shape, prec))
    found = [lambda t=t: (_at_power(loss, t, prec)[0] + log1p(w)) / (1 + t) for t in POWERS]
    if _is_single(loss):
        found += [lambda t=t: log(exp(1 / t) + w * stick(loss, 1 / t)) for t in POWERS]
    return least([*found, partial(end_of, loss)]) * (1 + shape)


def end_of(loss: ComposedLoss) -> Ball:
    end = loss.largest()
    if end is None:
        raise Unknown("a loss without an end")
    return ball(end)


@lru_cache(maxsize=64)
def largest_loss(one: ComposedLoss, other: ComposedLoss, mean: Fraction, shape: Fraction | None, prec: int) -> Ball:
    """z + (1+e) z', or z + m TV, where a run's losses are at most z and z'; then TV <= tanh(max(z, z')/2)."""
    z, back = end_of(one), end_of(other)
    if shape is not None:
        return z + (1 + shape) * back
    grown = exp(larger(z, back))
    return z + mean * smaller(stick(other, 0), (grown - 1) / (grown + 1))


@lru_cache(maxsize=64)
def odds(mean: Fraction, shape: Fraction, prec: int) -> Fraction:
    """At least w = 1/g - 1 with E K = w/log(1+w), or e w/(1 - (1+w)^-e) for the shape e: they rise in w."""
    if shape == 1:
        return mean - 1

    def enough(w: Fraction) -> bool:
        grown = log1p(ball(w))
        return (w / grown if not shape else ball(w * shape) / -expm1(-shape * grown)) >= mean

    low, high = Fraction(0), Fraction(1)
    while not enough(high):
        low, high = high, 2 * high
    for _ in range(prec // 2):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
