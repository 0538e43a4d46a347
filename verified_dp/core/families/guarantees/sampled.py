"""A step on a Poisson sample that is known by its moments alone (T217): zCDP, Gaussian and other noise on one batch.

    P' = (1-q) Q + q P,   R = dP/dQ,   k(l) >= log E_P R^l,   k'(l) >= log E_Q R^-l

    remove   E_Q (1 - q + q R)^{n+1} <= sum_j C(n+1, j) (1-q)^{n+1-j} q^j e^{k(j-1)},  between integers by convexity
    add      E_Q (1 - q + q R)^{-l} <= 1 + l (l+1) / 2 q^2 (1-q)^{-l-2} (e^{k(1)} - 1),  and <= 1 - q + q e^{k'(l)}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from verified_dp.core.engines.moment import bound_log_moments
from verified_dp.core.engines.shared import binomial_mass, kept, least_upper
from verified_dp.core.families.guarantees.renyi import MomentBound
from verified_dp.core.families.sampling.shifts import mixed_pair
from verified_dp.core.families.sampling.steps import Setting
from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.errors import Unsupported
from verified_dp.core.kernel.losses import compose_steps
from verified_dp.core.kernel.steps import DominatingPair, Step, refuse
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.core.kernel.work import VALUE, words

_MOST = 255
"""The largest integer at which the sum is taken."""


@dataclass(frozen=True)
class SampledMomentsLoss(MomentBound):
    """one, other: the loss of the step without sampling, of P against Q and of Q against P; 0 < probability < 1."""

    one: ComposedLoss
    other: ComposedLoss
    probability: Fraction
    order: str

    @proved_by("T217-sampled-moments")
    def bound_log_moment(self, exponent: arb) -> arb:
        """Bound log E[e^{l L}], l > 0, at least 0."""
        found = self._add(exponent) if self.order == "add" else self._remove(exponent)
        return upper_end(found).max(arb(0))

    @proved_by("T217-sampled-moments")
    def _remove(self, exponent: arb) -> arb:
        plain = _mixed(self.probability, bound_of(self.one, exponent))
        low = exponent.floor().unique_fmpz()
        if low is None or not 0 <= low < _MOST:
            return plain
        share, n = exponent - low, int(low)
        ends = [bound_at(self.one, self.probability, n) if n else arb(0), bound_at(self.one, self.probability, n + 1)]
        return least_upper([plain, ends[0] + share * (ends[1] - ends[0])])

    @proved_by("T217-sampled-moments")
    def _add(self, exponent: arb) -> arb:
        q = ball(self.probability)
        spread = bound_of(self.one, arb(1)).expm1()
        curved = exponent * (exponent + 1) / 2 * q * q * spread * (-(exponent + 2) * (-q).log1p()).exp()
        return least_upper([curved.log1p(), _mixed(self.probability, bound_of(self.other, exponent))])

    @proved_by("T217-sampled-moments")
    def bound_relative_entropy(self) -> arb:
        """E[L] is at most every D_{1+l} = K(l) / l."""
        return least_upper([self.bound_log_moment(ball(t)) / ball(t) for t in (Fraction(1, 8), Fraction(1))])

    def value_work(self, prec: int) -> int:
        """Of as many moments of the step as the sum has terms."""
        laws = (*self.one.parts, *self.other.parts)
        return 2 * _MOST * (VALUE * words(prec) + sum(law.value_work(prec) for law, _ in laws))


@proved_by("T217-sampled-moments")
def _mixed(probability: Fraction, log_moment: arb) -> arb:
    """Bound log(1 - q + q e^k)."""
    return upper_end((ball(probability) * log_moment.expm1()).log1p())


@proved_by("T217-sampled-moments", "T15-gaussian")
def bound_of(loss: ComposedLoss, exponent: arb) -> arb:
    """Bound log E[e^{l L}] of a composition without sampling, l > 0."""
    gaussian = exponent * (exponent + 1) / 2 * ball(loss.mean_shift_squared)
    return upper_end(gaussian + bound_log_moments(loss.parts, exponent))


@kept(4096)
@proved_by("T217-sampled-moments")
def bound_at(loss: ComposedLoss, probability: Fraction, n: int) -> arb:
    """Bound log E_Q (1 - q + q R)^{n+1}, an integer n >= 1."""
    q, rest = ball(probability), ball(1 - probability)
    terms = [binomial_mass(n + 1, j, q, rest) * (bound_of(loss, arb(j - 1)).exp() if j > 1 else arb(1))
             for j in range(n + 2)]
    return upper_end(sum(terms, arb(0)).log())


def check_moments(*losses: ComposedLoss) -> None:
    """Raises Unsupported for a step with a mass at infinity: its moments are infinite."""
    if not all(type(loss) is ComposedLoss and loss.enclose_infinity_mass().is_zero() for loss in losses):
        raise Unsupported("a step with a positive delta at every epsilon, beside one that is known by its moments, on "
                          "one sample: its Renyi divergences are infinite, and no theorem is implemented", "sampling")


@proved_by("T217-sampled-moments")
def by_moments(base: DominatingPair, steps: Sequence[tuple[Step, int]], reversed_steps: Sequence[tuple[Step, int]],
               setting: Setting) -> Step:
    """Bounds on moments alone, from those without sampling in both directions."""
    pair = replace(mixed_pair(base, setting, "T217-sampled-moments"), tight=False)
    one, other = compose_steps("remove", steps), compose_steps("add", reversed_steps)
    check_moments(one, other)
    q, order = setting.probability, setting.order
    if q == 0 or not (one.parts or one.mean_shift_squared):
        return Step(pair)
    if q == 1:
        found = steps if order == "remove" else reversed_steps
        if len(found) > 1 or found[0][1] > 1:
            refuse("a composition on a sample of all records", setting.relation, "state its releases one by one")
        return replace(found[0][0], pair=pair)
    return Step(pair, SampledMomentsLoss(one, other, q, order))
