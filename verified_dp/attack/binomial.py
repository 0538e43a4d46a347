"""Binomial tails in balls, and Clopper and Pearson's bounds on a rate from counts (T193).

    lower_bound_rate(k, n, a):  P[Bin(n, p) >= k] <= a   at the rate p that is returned
    bound_rate(k, n, a):        P[Bin(n, p) <= k] <= a
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from verified_dp.core.engines.shared import binomial_mass
from verified_dp.core.kernel.balls import ball, integer_below, plus_minus, upper_end
from verified_dp.core.kernel.errors import InvalidInput, Undecided
from verified_dp.core.kernel.theorems import proved_by

MAX_TRIALS = 10**9
PREC = 160
_GUESS, _STEPS, _CLOSE, _SCALE = 96, 12, 51, 160
"""Bits of Newton's steps, how many there are, 2^-51 where they end, and bits of a rate."""
_HALVINGS = 52
"""Of the interval between a rate that is certain and one that is not, which has a factor of 2 at most."""


@proved_by("T193-counts")
def enclose_tail(trials: int, least: int, p: arb, q: arb) -> arb:
    """Enclose P[Bin(trials, p) >= least], p in (0, 1) and q = 1 - p: its terms, and a geometric series behind them."""
    if least <= 0:
        return arb(1)
    if least > trials:
        return arb(0)
    if not trials * p < least:
        return 1 - _sum_from(trials, trials - least + 1, q, p)
    return _sum_from(trials, least, p, q)


@proved_by("T193-counts")
def _sum_from(trials: int, least: int, p: arb, q: arb) -> arb:
    """Enclose the sum of the masses from `least` on, few of which rise; 0 beyond the last."""
    if least > trials:
        return arb(0)
    odds = p / q
    term = total = binomial_mass(trials, least, p, q)
    small = arb((1, -ctx.prec))
    for k in range(least, trials):
        ratio = (trials - k) * odds / (k + 1)
        if ratio < 1 and term < small * total * (1 - ratio):  # terms behind fall by this ratio or faster
            rest = upper_end(term * ratio / (1 - ratio))
            return total + rest / 2 + plus_minus(rest / 2)
        term *= ratio
        total += term
    return total


@lru_cache(2**12)
@proved_by("T193-counts")
def lower_bound_rate(successes: int, trials: int, level: Fraction) -> Fraction:
    """The largest rate of some 50 bits at which so many successes or more have a probability of at most `level`."""
    if successes == 0:
        return Fraction(0)
    high = Fraction(successes, trials)

    def is_excluded(p: Fraction) -> bool:
        if p >= 1:  # then every trial succeeds
            return False
        return bool(upper_end(enclose_tail(trials, successes, ball(p), ball(1 - p))) <= ball(level))

    return _guessed(is_excluded, successes, trials, level) or _nearest(is_excluded, _dyadic(high), Fraction(1, 2))


@lru_cache(2**12)
@proved_by("T193-counts")
def bound_rate(successes: int, trials: int, level: Fraction) -> Fraction:
    """The smallest rate of some 50 bits at which so few successes have a probability of at most `level`; 1 if none."""
    if successes == trials:
        return Fraction(1)

    def is_excluded(p: Fraction) -> bool:
        if p >= 1:
            return True
        return bool(upper_end(enclose_tail(trials, trials - successes, ball(1 - p), ball(p))) <= ball(level))

    found = _guessed(is_excluded, successes, trials, level, above=True)
    return min(found or _nearest(is_excluded, _dyadic(Fraction(successes + 1, 2 * trials)), Fraction(2)), Fraction(1))


def _guessed(is_excluded: Callable[[Fraction], bool], successes: int, trials: int, level: Fraction,
             above: bool = False) -> Fraction | None:
    """An excluded rate that Newton's method finds, next to one that is not; None where it finds none."""
    with ctx.workprec(_GUESS):
        share, spread = arb(successes + above) / trials, (2 * ball(level)).erfcinv() * arb(2).sqrt()
        moved = spread * (share * (1 - share) / trials).sqrt()
        p = (share + moved if above else share - moved).mid()
        for _ in range(_STEPS):
            if not 0 < p < 1:
                return None
            q, at = 1 - p, binomial_mass(trials, successes, p, 1 - p)
            tail = enclose_tail(trials, trials - successes, q, p) if above else enclose_tail(trials, successes, p, q)
            slope = -(trials - successes) * at * p / q if above else successes * at
            change = ((ball(level) / tail).log() * tail / slope).mid()
            p = (p * change.exp()).mid()
            if abs(change) < arb((1, -_CLOSE)):
                break
        found = Fraction(integer_below(p * arb(2) ** _SCALE), 2**_SCALE)
        found *= 1 + Fraction(1 if above else -1, 8 << _CLOSE)
    with ctx.workprec(PREC):
        return found if 0 < found < 1 and is_excluded(found) else None


def _nearest(is_excluded: Callable[[Fraction], bool], start: Fraction, factor: Fraction) -> Fraction:
    """A rate that is excluded, next to one that is not: multiplied from the start on, then halved. Exact."""
    with ctx.workprec(PREC):
        kept, found = start, start
        for _ in range(10_000):
            if is_excluded(found):
                break
            kept, found = found, found * factor
        else:
            raise Undecided("no rate of 10,000 bits is excluded at this confidence")
        for _ in range(_HALVINGS if kept != found else 0):
            middle = (kept + found) / 2
            kept, found = (kept, middle) if is_excluded(middle) else (middle, found)
    return found


def _dyadic(number: Fraction) -> Fraction:
    """Some 60 bits of a positive number, rounded up."""
    scale = 1 << max(0, 60 + number.denominator.bit_length() - number.numerator.bit_length())
    return Fraction(-(-number.numerator * scale // number.denominator), scale)


def check_counts(successes: int, trials: int, keys: tuple[str, str]) -> None:
    """InvalidInput unless 0 <= successes <= trials <= 10^9, 1 <= trials."""
    for key, value in zip(keys, (successes, trials), strict=True):
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidInput(key, value, "an integer")
    if not 1 <= trials <= MAX_TRIALS:
        raise InvalidInput(keys[1], trials, "an integer from 1 to 10^9")
    if not 0 <= successes <= trials:
        raise InvalidInput(keys[0], successes, f"an integer from 0 to {keys[1]} = {trials}")
