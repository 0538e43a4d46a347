"""Releases that depend on the data: votes of teachers with a smooth sensitivity, and propose-test-release.

    >>> from verified_dp.mechanisms import GNMaxVotes
    >>> asked = [GNMaxVotes(40, [250, 0, 0]), GNMaxVotes(40, [200, 40, 10])]
    >>> found = sanitised(asked, order=20, beta="1/100", noise=20, margin=2)
    >>> print(float(found.bound) < 1e-3 < float(found.cost) < 1e-1)
    True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from flint import arb, ctx

from verified_dp.core.families.finite.mechanism import ApproximateDP
from verified_dp.core.families.laplace.mechanism import Laplace
from verified_dp.core.families.selection.mechanism import PartitionSelection
from verified_dp.core.families.selection.pair import bound_new
from verified_dp.core.families.votes.mechanism import GNMaxVotes
from verified_dp.core.families.votes.noisy_votes import bound_vote, enclose_coins
from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball, largest, upper_dyadic, upper_end
from verified_dp.core.kernel.composition import Composition, Mechanism, compose
from verified_dp.core.kernel.errors import InvalidInput, Undecided, Unsupported
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.mechanisms import Gaussian
from verified_dp.core.kernel.theorems import proved_by

BITS = 128
UNIT = 2**64
"""Values of the tables are whole multiples of 1/UNIT, rounded up, so that sums and differences of them are exact."""
ACCURATE = 105
ROUNDING = Fraction(1, 2**100)
"""The smooth sensitivity is known to 2^-104 of it or closer; more is added to beta."""


@proved_by("T239-propose-test-release")
def propose_test_release(release: Mechanism | Composition, threshold: Number, *, scale: Number | None = None,
                         sigma: Number | None = None) -> Composition:
    """Bound a release that is made only where a noisy distance to unstable data exceeds a threshold.

    The distance, which one record changes by at most 1, gets Laplace noise of `scale` or Gaussian noise of standard
    deviation `sigma`. release: what is proved between neighbours of which one at least has a distance of 1 or more, in
    the relation that is asked about. It never refutes a claim.

    >>> propose_test_release(Laplace(2, 1), 20, scale=2).parts[2][0].delta < Fraction(1, 40000)
    True
    """
    above = PartitionSelection(exact.non_negative(threshold, "threshold") + 1, 1, sigma, scale)
    test = Laplace(above.scale, 1) if above.scale else Gaussian(sigma=above.sigma, sensitivity=1)
    return compose(test, release, ApproximateDP(0, bound_new(above)))


@dataclass(frozen=True)
class Sanitised:
    """A Renyi divergence that depends on the data, and how to publish it; only `release` and `cost` may be.

    bound: on the divergence of that order between all answers at these votes and at those of a neighbour, in both
    directions. sensitivity: smooth, of the bound. cost: the divergence of the release itself, for all data. A release
    is at least bound + cost with probability Phi(margin), and then bounds the divergence of answers and release.
    """

    order: Fraction
    bound: Fraction
    sensitivity: Fraction
    beta: Fraction
    noise: Fraction
    margin: Fraction

    @property
    @proved_by("T234-smooth-votes")
    def cost(self) -> Fraction:
        """Bound the divergence of the release, of the same order. Raises Unsupported: beta is too large for it."""
        with ctx.workprec(BITS):
            return upper_dyadic(bound_release(self.order, self.beta + ROUNDING, self.noise, self.margin)).as_fraction()

    def release(self, normal: Number) -> Fraction:
        """bound + cost + sensitivity * noise * (margin + normal); `normal` is drawn afresh from N(0, 1), once."""
        moved = self.margin + exact.exact(normal, "normal")
        return self.bound + self.cost + self.sensitivity * self.noise * moved


@proved_by("T234-smooth-votes")
def bound_release(order: Fraction, beta: Fraction, noise: Fraction, margin: Fraction) -> arb:
    """Bound the Renyi divergence of f + S noise (margin + Z), S beta-smooth and at least what f changes by.

    a ((1 + noise margin (e^b - 1)) / noise)^2 / (2 (a - (a-1) e^{2b})) + the larger, for c = b and -b, of
    (-log(1 - a + a e^{-2c}) - 2 a c) / (2 (a - 1)).  Raises Unsupported unless (a-1) e^{2b} < a.
    """
    a, b = ball(order), ball(beta)
    rest = a - (a - 1) * (2 * b).exp()
    if not rest > 0:
        raise Unsupported("beta is too large for this order: (order - 1) e^(2 beta) has to be below order", "beta")
    moved = (1 + ball(noise * margin) * b.expm1()) / ball(noise)
    scaled = largest([-(1 - a + a * (-2 * c).exp()).log() - 2 * a * c for c in (b, -b)])
    return upper_end(a * moved * moved / (2 * rest) + scaled / (2 * (a - 1)))


@dataclass(frozen=True)
class _Tables:
    """By the largest count and by the gap: (coin + share * vote / UNIT) / UNIT."""

    coin: Sequence[int]
    share: Sequence[int]
    vote: Sequence[int]

    @proved_by("T234-smooth-votes")
    def value(self, top: int, gap: int) -> Fraction:
        """Bound the divergence of one question."""
        return Fraction(self.coin[top] * UNIT + self.share[top] * self.vote[gap], UNIT**2)

    @proved_by("T234-smooth-votes")
    def changes(self, top: int, gap: int) -> list[Fraction]:
        """Bound by how much the value changes between neighbours of which one is at most d away, d = 0, 1, ..."""
        coins, shares = (_highest(_steps(values, 1), top, 1) for values in (self.coin, self.share))
        votes, vote = _highest(_steps(self.vote, 2), gap, 2), _highest(self.vote, gap, 2)
        share = _highest(self.share, top, 1)
        share = [*share[1:], share[-1]]
        return [Fraction(one * UNIT + most * two + least * three, UNIT**2)
                for one, most, two, least, three in zip(coins, share, votes, vote, shares, strict=True)]


def _highest(values: Sequence[int], place: int, reach: int) -> list[int]:
    """The largest value up to reach d away, for every d."""
    found = [values[place]]
    for far in range(reach, reach * len(values), reach):
        near = far - reach
        found.append(max([found[-1], *values[max(0, place - far) : max(0, place - near)],
                          *values[place + near + 1 : place + far + 1]]))
    return found


@lru_cache(maxsize=64)
def _steps(values: tuple[int, ...], reach: int) -> list[int]:
    """The largest change by a move of up to `reach` from each place."""
    return [max(abs(values[i] - other) for other in values[max(0, i - reach) : i + reach + 1])
            for i in range(len(values))]


@proved_by("T234-smooth-votes")
def _tables(question: GNMaxVotes, teachers: int, exponent: arb) -> _Tables:
    """Of all questions with this noise, threshold and number of classes."""
    places, others = range(teachers + 1), len(question.votes) - 1
    votes = [bound_vote(question.sigma, ((Fraction(gap), others),), exponent).expm1() / exponent for gap in places]
    if question.threshold is None or question.threshold_sigma is None:
        return _Tables((0,) * (teachers + 1), (UNIT,) * (teachers + 1), tuple(map(_units, votes)))
    pairs = [enclose_coins(top - question.threshold, question.threshold_sigma, exponent) for top in places]
    coins = [largest([(yes + no).log() for yes, no in terms]) / exponent for terms in pairs]
    shares = [largest([yes / (yes + no) for yes, no in terms]) for terms in pairs]
    return _Tables(*(tuple(map(_units, column)) for column in (coins, shares, votes)))


def _units(x: arb) -> int:
    return ceil(upper_dyadic(x).as_fraction() * UNIT)


@proved_by("T234-smooth-votes")
def sanitised(questions: Sequence[GNMaxVotes], *, order: Number, beta: Number, noise: Number,
              margin: Number = 0) -> Sanitised:
    """The Renyi divergence of an order of all answers, and how to publish it (T234).

    Args:
        questions: each with its votes, whole numbers of one sum, the number of teachers; not chosen from answers.
        order: above 1. beta: of the smooth sensitivity; (order - 1) e^(2 beta) < order.
        noise: the standard deviation of the release, in units of the smooth sensitivity.
        margin: how many standard deviations the release is above bound + cost in the mean.

    These four must not be chosen from the votes. Raises: InvalidInput, Unsupported.
    """
    stated = [exact.positive(beta, "beta"), exact.positive(noise, "noise"), exact.non_negative(margin, "margin")]
    a = exact.exact(order, "order", expected="a rational number above 1")
    if a <= 1:
        raise InvalidInput("order", order, "a rational number above 1")
    sums = {sum(question.votes) for question in questions}
    if len(sums) != 1 or any(votes.denominator != 1 for question in questions for votes in question.votes):
        raise InvalidInput("votes", len(sums), "whole numbers of votes, of the same number of teachers each time")
    teachers = int(sums.pop())
    bound, changes = Fraction(0), [Fraction(0)] * (teachers + 1)
    alike: dict[tuple[object, ...], list[GNMaxVotes]] = {}
    for question in questions:
        key = question.sigma, len(question.votes), question.threshold, question.threshold_sigma
        alike.setdefault(key, []).append(question)
    with ctx.workprec(BITS):
        for some in alike.values():
            table = _tables(some[0], teachers, ball(a - 1))
            for (top, gap), many in Counter((int(max(one.votes)), int(one.gaps[0][0])) for one in some).items():
                bound += many * table.value(top, gap)
                changes = [one + many * more for one, more in zip(changes, table.changes(top, gap), strict=True)]
        sizes = [ball(change) * (-ball(stated[0]) * d).exp() for d, change in enumerate(changes)]
        if any(size > 0 and size.rel_accuracy_bits() < ACCURATE for size in sizes):
            raise Undecided("the smooth sensitivity is not known closely enough")
        bound_release(a, stated[0] + ROUNDING, stated[1], stated[2])
        return Sanitised(a, bound, upper_dyadic(largest(sizes)).as_fraction(), *stated)
