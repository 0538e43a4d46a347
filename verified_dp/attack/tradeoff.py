"""One run held against a trade-off curve f: Gaussian privacy, or all of an accountant's curve (T195).

    one_run_tradeoff(canaries=1000, guesses=200, correct=190, delta="1e-5", claim=load_spec("training.toml"))

With p_w the probability of w right guesses out of r, of m canaries, and g = 1 - f,

    sum over w >= k of (w/m) p_w  <=  g(sum over w >= k-1 of ((r-w)/m) p_w)        for every k.

From P[at least c right] = t downward these ask for ever more probability: where they ask for more than 1, no mechanism
under f is right so often with a probability of t.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from verified_dp.attack.binomial import PREC
from verified_dp.attack.guesses import COINS, bound_p_value, check_run, largest_rejected
from verified_dp.attack.result import Asked, StatisticalBound
from verified_dp.attack.trials import dyadic
from verified_dp.core.families.gaussian.mechanism import GaussianDP
from verified_dp.core.kernel.balls import ball, integer_below, lower_end, normal_tail
from verified_dp.core.kernel.dyadic import Dyadic
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.profile import privacy_profile

_UNIT = 2**200
"""Probabilities are integers over this."""
LeastArgument = Callable[[arb], arb]
"""x -> a lower bound of the y with x <= 1 - f(y)."""


@proved_by("T195-one-run-tradeoff")
def is_impossible(canaries: int, guesses: int, correct: int, level: Fraction, least_argument: LeastArgument) -> bool:
    """Whether no mechanism under the curve has so many correct guesses with a probability of `level` or more.

    S and W are sums of p_w and of w p_w over w >= k, over _UNIT; what is added is rounded down (T195).
    """
    total = level.numerator * _UNIT // level.denominator
    weighted = correct * total
    for k in range(correct, 0, -1):
        if total > _UNIT:
            return True
        needed = lower_end(least_argument(ball(Fraction(weighted, canaries * _UNIT)))) * canaries * _UNIT
        added = (integer_below(needed) - (guesses * total - weighted)) // (guesses - k + 1)
        if added <= 0:  # nothing changes from here on
            return False
        total, weighted = total + added, weighted + (k - 1) * added
    return total > _UNIT


@proved_by("T195-one-run-tradeoff")
def gaussian_argument(mu: Fraction) -> LeastArgument:
    """F(F^-1(x) - mu): the curve of mu-Gaussian privacy, F the normal distribution function."""
    shift, root = ball(mu), arb(2).sqrt()
    return lambda x: normal_tail(root * (2 * x).erfcinv() + shift) if 0 < x < 1 else arb(0)


@alone
def one_run_tradeoff(canaries: int, guesses: int, correct: int, *, delta: Number, confidence: Number = "0.95",
                     claim: Any = None) -> StatisticalBound:
    """The largest mu of Gaussian privacy that one run rejects, and the verdict on a claim's whole curve.

    Arguments as of `one_run`. `epsilon` is that of the exact p-value (T194), which no curve of one point improves;
    `gaussian_epsilon` that of the Gaussian curve at mu: what is reported elsewhere.

    >>> found = one_run_tradeoff(1000, 200, 190, delta="1e-5")
    >>> f"{float(found.mu):.4f} {float(found.gaussian_epsilon):.4f}"
    '0.9081 3.9161'
    """
    check_run(canaries, guesses, correct)
    asked = Asked.of(delta, confidence, claim)
    level = 1 - asked.confidence
    with ctx.workprec(PREC):
        found = largest_rejected(lambda mu: is_impossible(canaries, guesses, correct, level, gaussian_argument(mu)))
        epsilon = largest_rejected(lambda epsilon: bool(
            bound_p_value(canaries, guesses, correct, epsilon, asked.delta) <= ball(level)))
        return asked.bound(
            "one-run-fdp", dyadic(ball(epsilon)), dyadic(ball(found)),
            {"canaries": canaries, "guesses": guesses, "correct": correct}, COINS,
            lambda guarantee: is_impossible(canaries, guesses, correct, level, guarantee.least_argument),
            gaussian_epsilon=_epsilon_of(found, asked.delta))


def _epsilon_of(mu: Fraction, delta: Fraction) -> Dyadic | None:
    """The epsilon at delta of mu-Gaussian privacy, rounded down; None where it is infinite."""
    if mu == 0 or delta == 0:
        return Dyadic(0) if mu == 0 else None
    lower = privacy_profile(GaussianDP(mu), "add-or-remove").epsilon(delta, 12).lower
    return lower if isinstance(lower, Dyadic) else Dyadic.of_fraction(Fraction(lower))
