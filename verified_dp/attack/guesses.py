"""Attacks by one run: m canaries, each in the data by a fair coin, r guesses which are in or out, c of them right.

    one_run(canaries=1000, guesses=200, correct=190, delta="1e-5", confidence="0.95")

N is Bin(r, q), q = e^eps / (1 + e^eps); b its masses, B = P[N >= c]. Under (epsilon, delta)-differential privacy

    P[at least c right]  <=  B + m delta B (1 - B) / (c b_c),                                (T194, attained)
    p of Theorem 5.2     =   B + 2 m delta max_i P[c - i <= N < c] / i,    1 <= i <= c       (Steinke et al. 2023)

The second is the usual one, and no bound where c is far below its mean (ERRATA): the larger of both is used.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from verified_dp.attack.binomial import PREC, check_counts, enclose_tail
from verified_dp.attack.result import Asked, StatisticalBound
from verified_dp.attack.trials import dyadic
from verified_dp.core.engines.shared import binomial_mass
from verified_dp.core.kernel.balls import ball, upper_end
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by

MAX_CANARIES = 10**7
P_VALUES = ("theorem-5.2", "exact")
COINS = ("each canary is in the data by a fair coin of its own, which the attack does not see",
         "the number of guesses was fixed before the run",
         "neighbours differ in whether one canary is in (where a record is replaced: it, or the other one)")
_BITS = 46


@proved_by("T194-one-run")
def bound_p_value(canaries: int, guesses: int, correct: int, epsilon: Fraction, delta: Fraction) -> arb:
    """Bound the probability of so many correct guesses under (epsilon, delta); attained by a mechanism."""
    tail, q, p = _tail(guesses, correct, epsilon)
    if correct == 0:
        return arb(1)
    if delta == 0:
        return upper_end(tail)
    below = enclose_tail(guesses, guesses - correct + 1, p, q)
    share = tail * below / (correct * binomial_mass(guesses, correct, q, p))
    return upper_end(tail + canaries * ball(delta) * share).min(arb(1))


@proved_by("T194-one-run")
def bound_published_p_value(canaries: int, guesses: int, correct: int, epsilon: Fraction, delta: Fraction) -> arb:
    """The larger of that bound and the published one."""
    least = bound_p_value(canaries, guesses, correct, epsilon, delta)
    if correct == 0 or delta == 0:
        return least
    tail, q, p = _tail(guesses, correct, epsilon)
    factor = 2 * canaries * ball(delta)
    return upper_end(tail + factor * _steepest(guesses, correct, q, p)).min(arb(1)).max(least)


def _tail(guesses: int, correct: int, epsilon: Fraction) -> tuple[arb, arb, arb]:
    """P[N >= c], q and 1 - q."""
    odds = ball(-epsilon).exp()
    q, p = 1 / (1 + odds), odds / (1 + odds)
    return enclose_tail(guesses, correct, q, p), q, p


def _steepest(guesses: int, correct: int, q: arb, p: arb) -> arb:
    """Bound max_i P[c - i <= N < c] / i from above: no i beyond 1 / best has a larger share."""
    term = binomial_mass(guesses, correct - 1, q, p)
    total, best, odds = term, upper_end(term), p / q
    for i in range(2, correct + 1):
        if i * best >= 1:
            break
        term = term * (correct - i + 1) / (guesses - correct + i) * odds
        total += term
        best = best.max(upper_end(total / i))
    return best


@alone
def one_run(canaries: int, guesses: int, correct: int, *, delta: Number, confidence: Number = "0.95",
            claim: Any = None, p_value: str = "theorem-5.2") -> StatisticalBound:
    """The largest epsilon that the p-value rejects: a lower bound at the confidence.

    Args:
        canaries, guesses, correct: 0 <= correct <= guesses <= canaries; guesses is fixed before the run.
        delta: in [0, 1). confidence: in [1/2, 1 - 1e-12].
        claim: (epsilon, delta), a `Claim`, or a specification or profile: each point of its curve is asked.
        p_value: "theorem-5.2", the published one, or "exact", the least that holds of every mechanism.
    Raises: InvalidInput; Unsupported for a claim under a relation of one order.

    >>> print(one_run(1000, 200, 190, delta="1e-5", claim=("1", "1e-5")))
    epsilon >= 2.3936 at confidence 0.95; (1, 1e-5) is contradicted at confidence 0.95
    """
    check_run(canaries, guesses, correct)
    if p_value not in P_VALUES:
        raise InvalidInput("p_value", p_value, "one of " + ", ".join(P_VALUES))
    asked = Asked.of(delta, confidence, claim)
    bound = bound_p_value if p_value == "exact" else bound_published_p_value
    with ctx.workprec(PREC):
        def is_rejected(epsilon: Fraction, delta: Fraction = asked.delta) -> bool:
            return bool(bound(canaries, guesses, correct, epsilon, delta) <= ball(1 - asked.confidence))

        return asked.bound(
            "one-run", dyadic(ball(largest_rejected(is_rejected))), None,
            {"canaries": canaries, "guesses": guesses, "correct": correct, "p_value": p_value}, COINS,
            lambda guarantee: any(is_rejected(*point) for point in guarantee.points))


def check_run(canaries: int, guesses: int, correct: int) -> None:
    """InvalidInput unless 0 <= correct <= guesses <= canaries."""
    check_counts(correct, guesses, ("correct", "guesses"))
    check_counts(guesses, canaries, ("guesses", "canaries"))
    if canaries > MAX_CANARIES:
        raise InvalidInput("canaries", canaries, "at most 10^7")


def largest_rejected(is_rejected: Callable[[Fraction], bool]) -> Fraction:
    """A number of some 46 bits that is rejected, next to one that is not; 0 where none is."""
    low, high = Fraction(0), Fraction(1, 2**10)
    if not is_rejected(high):
        return low
    while is_rejected(high):
        low, high = high, 2 * high
    for _ in range(_BITS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_rejected(middle) else (low, middle)
    return low
