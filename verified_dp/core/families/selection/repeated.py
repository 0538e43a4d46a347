"""The best of a random number of runs (private selection, T213): moments from those of one run, in both directions.

    f: the generating function of the number K of runs, m = f'(1) = E K, q and q' the probabilities of one event
    E[e^{l L}] <= f(0) + sup f'(q) (f'(q) / f'(q'))^l E[e^{l L_1}],   L_1 the loss of one run

    negative binomial   f'(q) / f'(q') = ((g + (1-g) (1-q')) / (g + (1-g) (1-q)))^{1+shape}
    Poisson             f'(q) (f'(q) / f'(q'))^l <= m e^{l m delta'},   delta' = H_{1+1/l} of one run the other way
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb

from verified_dp.core.engines.moment import bound_log_moments
from verified_dp.core.engines.shared import kept, least_upper
from verified_dp.core.families.guarantees.renyi import MomentBound
from verified_dp.core.kernel.balls import ball, largest, lower_end, upper_end
from verified_dp.core.kernel.bounds import bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, words

_POWERS = tuple(Fraction(2) ** n * part for n in range(-4, 14) for part in (1, Fraction(3, 2)))
"""Exponents of which the best is taken: every one gives a bound."""
_LARGER = tuple(Fraction(2) ** n for n in range(6))
_HALVINGS = 60


@dataclass(frozen=True)
class SelectedLoss(MomentBound):
    """one, other: the loss of one run in both directions; mean, shape of the number of runs, shape None for Poisson.

    Bounds are the larger of both directions, so that the law is the same in every order.
    """

    one: ComposedLoss
    other: ComposedLoss
    mean: Fraction
    shape: Fraction | None
    order: str = "symmetric"

    @proved_by("T213-private-selection")
    def bound_log_moment(self, exponent: arb) -> arb:
        """The least of l K(l t) / (l t), t >= 1, for K is convex and K(0) = 0; the larger of both directions."""
        pairs = ((self.one, self.other), (self.other, self.one))[:1 if self.one.equals_in_law(self.other) else 2]
        found = [least_upper([self._bound_directed(*pair, exponent * ball(t)) / ball(t) for t in _LARGER])
                 for pair in pairs]
        return upper_end(largest(found)).max(arb(0))

    @proved_by("T213-private-selection")
    def bound_relative_entropy(self) -> arb:
        """E[L] is at most every D_{1+l} = K(l) / l."""
        return least_upper([self.bound_log_moment(ball(t)) / ball(t) for t in (Fraction(1, 8), Fraction(1))])

    def value_work(self, prec: int) -> int:
        """Of the moments of one run at all the powers in both directions."""
        laws = (*self.one.parts, *self.other.parts)
        return 2 * len(_POWERS) * (VALUE * words(prec) + sum(law.value_work(prec) for law, _ in laws))

    @proved_by("T213-private-selection")
    def _bound_directed(self, one: ComposedLoss, other: ComposedLoss, exponent: arb) -> arb:
        """Bound log E[e^{l L}] in one direction; at most l times what bounds the loss itself, where that is bounded."""
        single, mean = bound_run(one, exponent), ball(self.mean)
        if self.shape is None:
            delta = bound_tail(other, (1 / exponent).log1p())
            log_moment = ((-mean).exp() + mean * (single + exponent * mean * delta).exp()).log()
        else:
            log_moment = single + mean.log() + exponent * bound_ratio(other, self.mean, self.shape)
        return upper_end(log_moment.min(exponent * bound_largest(one, other, self.mean, self.shape)))


@kept(64)
@proved_by("T213-private-selection")
def bound_largest(one: ComposedLoss, other: ComposedLoss, mean: Fraction, shape: Fraction | None) -> arb:
    """Bound the loss where that of one run is bounded in both directions; +inf elsewhere."""
    ends = [loss.enclose_largest_loss() for loss in (one, other)]
    if ends[0] is None or ends[1] is None:
        return arb.pos_inf()
    apart = bound_tail(other, arb(0)).min((ends[0].max(ends[1]) / 2).tanh())
    return upper_end(ends[0] + (ball(mean) * apart if shape is None else ball(1 + shape) * ends[1]))


@kept(4096)
@proved_by("T213-private-selection", "T07-ends", "T15-gaussian")
def _bound_power(loss: ComposedLoss, power: Fraction) -> arb:
    return bound_run(loss, ball(power))


@proved_by("T213-private-selection", "T07-ends", "T15-gaussian")
def bound_run(loss: ComposedLoss, exponent: arb) -> arb:
    """Bound log E[e^{l L}] of a composition, l > 0: the sum over its laws."""
    return upper_end(loss.enclose_gaussian_exponent(acb(exponent)).real + bound_log_moments(loss.parts, exponent))


@proved_by("T213-private-selection", "T03-chernoff")
def bound_tail(loss: ComposedLoss, epsilon: arb) -> arb:
    """Bound H_{e^eps}, eps >= 0: by the law itself where it is one, and by the best of some moments."""
    found = [arb(1)]
    if len(loss.laws) == 1 and loss.laws[0][1] == 1 and not loss.only_moments:
        found.append(loss.enclose_alone(epsilon))
    else:
        found += [bound_chernoff_factor(ball(t)) * (_bound_power(loss, t) - ball(t) * epsilon).exp() for t in _POWERS]
    return least_upper(found)


@kept(64)
@proved_by("T213-private-selection")
def bound_ratio(loss: ComposedLoss, mean: Fraction, shape: Fraction) -> arb:
    """Bound log f'(q) / f'(q') of a negative binomial number of runs: `loss` bounds q' by q.

    With g a lower bound of the parameter and p = g + (1-g)(1-q), the ratio is (p' / p)^{1+shape}, and p' / p is at most
    g^{-1/(1+t)} e^{K(t) / (1+t)} for every t > 0, and a + (1-g) H_a / g for every a >= 1.
    """
    low = bound_parameter(mean, shape)
    found = [(_bound_power(loss, t) - low.log()) / (1 + ball(t)) for t in _POWERS]
    if len(loss.laws) == 1 and loss.laws[0][1] == 1 and not loss.only_moments:
        for t in _POWERS:
            size = 1 / ball(t)
            found.append((size.exp() + (1 - low) / low * bound_tail(loss, size)).log())
    end = loss.enclose_largest_loss()
    return upper_end(ball(1 + shape) * least_upper(found if end is None else [*found, end]))


@proved_by("T213-private-selection")
def bound_parameter(mean: Fraction, shape: Fraction) -> arb:
    """A lower bound of g in (0, 1) with E K = mean > 1, which falls in g: 1/mean for shape 1, else by bisection.

    With g = e^{-x}: E K = shape (1/g - 1) / (1 - g^shape), (1/g - 1) / x for shape 0.
    """
    if shape == 1:
        return lower_end(1 / ball(mean))
    low, high = Fraction(0), Fraction(1)
    while not enclose_mean(high, shape) >= ball(mean):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if enclose_mean(middle, shape) >= ball(mean) else (middle, high)
    return lower_end((-ball(high)).exp())


@proved_by("T213-private-selection")
def enclose_mean(x: Fraction, shape: Fraction) -> arb:
    """Enclose E K at g = e^{-x}, x > 0."""
    size = ball(x)
    return size.expm1() / (size if shape == 0 else -(-ball(shape) * size).expm1() / ball(shape))
