"""Attacks that count: how often a test said "in" of models with a record, and of models without it (T193).

    counts(true_positives=95, positives=100, false_positives=3, negatives=100, delta="1e-5", confidence="0.95")

    epsilon >= max(log((tpr - delta) / fpr), log((1 - fpr - delta) / (1 - tpr)), 0)
    mu      >= F^-1(tpr) - F^-1(fpr),      F the normal distribution function

with tpr bounded from below and fpr from above, each at (1 - confidence) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from verified_dp.attack.binomial import PREC, bound_rate, check_counts, lower_bound_rate
from verified_dp.attack.result import Asked, StatisticalBound
from verified_dp.core.kernel.balls import ball, lower_dyadic, lower_end
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.ends import ReadableDyadic

TRIALS = ("every trial is independent of the others, given whether the record was in; in a trial with it the test sees "
          "what the mechanism released of one data set, in a trial without it of the neighbour",)


@dataclass(frozen=True)
class Rates:
    """With the stated confidence, tpr is at most the true positive rate, and fpr at least the false positive rate."""

    tpr: Fraction
    fpr: Fraction

    @classmethod
    @proved_by("T193-counts")
    def of(cls, true_positives: int, positives: int, false_positives: int, negatives: int,
           levels: tuple[Fraction, Fraction]) -> Rates:
        """One-sided bounds, each wrong with a probability of at most its level."""
        return cls(lower_bound_rate(true_positives, positives, levels[0]),
                   bound_rate(false_positives, negatives, levels[1]))

    @proved_by("T193-counts")
    def lower_bound_epsilon(self, delta: Fraction) -> arb:
        """No smaller epsilon, and none below 0, leaves a test these rates at delta."""
        found = arb(0)
        for most, least in ((self.tpr, self.fpr), (1 - self.fpr, 1 - self.tpr)):
            if most > delta and least > 0:
                found = found.max(lower_end((ball(most - delta) / ball(least)).log()))
        return found

    @proved_by("T193-counts")
    def lower_bound_mu(self) -> arb:
        """No smaller mu, and none below 0, leaves a test these rates under mu-Gaussian privacy."""
        if self.tpr <= self.fpr or self.tpr == 0 or self.fpr == 1:
            return arb(0)
        low, high = ((2 * ball(rate)).erfcinv() for rate in (self.tpr, self.fpr))
        return lower_end(arb(2).sqrt() * (high - low)).max(arb(0))


@alone
def counts(true_positives: int, positives: int, false_positives: int, negatives: int, *, delta: Number,
           confidence: Number = "0.95", claim: Any = None) -> StatisticalBound:
    """A lower bound on epsilon from counts of independent trials of one test.

    Args:
        true_positives, false_positives: how often the test said "in", of `positives` trials with the record and of
            `negatives` without it: integers, at most 10^9.
        delta: in [0, 1). confidence: in [1/2, 1 - 1e-12].
        claim: (epsilon, delta), a `Claim`, or a specification or profile whose curve is to be tested.
    Raises: InvalidInput; Unsupported for a claim under a relation of one order.

    >>> print(counts(95, 100, 3, 100, delta="1e-5", confidence="0.95", claim=("2", "1e-5")))
    epsilon >= 2.3432 at confidence 0.95; (2, 1e-5) is contradicted at confidence 0.95
    """
    check_counts(true_positives, positives, ("true_positives", "positives"))
    check_counts(false_positives, negatives, ("false_positives", "negatives"))
    asked = Asked.of(delta, confidence, claim)
    level = (1 - asked.confidence) / 2
    with ctx.workprec(PREC):
        rates = Rates.of(true_positives, positives, false_positives, negatives, (level, level))
        return bound_of(rates, asked, {
            "true_positives": true_positives, "positives": positives, "false_positives": false_positives,
            "negatives": negatives}, "stated")


def bound_of(rates: Rates, asked: Asked, data: dict[str, int | str], selection: str,
             assumptions: tuple[str, ...] = TRIALS) -> StatisticalBound:
    """What the rates of one test show."""
    return asked.bound("clopper-pearson", dyadic(rates.lower_bound_epsilon(asked.delta)),
                       dyadic(rates.lower_bound_mu()), data, assumptions,
                       lambda guarantee: guarantee.excludes(rates.tpr, rates.fpr), selection=selection)


def dyadic(bound: arb) -> ReadableDyadic:
    """A lower bound as an exact number of 64 bits, rounded down."""
    with ctx.workprec(64):
        found = lower_dyadic(bound * 1)
    return ReadableDyadic(found.mantissa, found.exponent)
