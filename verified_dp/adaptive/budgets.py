"""Budgets: what one guarantees, the largest one for an (epsilon, delta), and last steps that use it up.

A GDP budget is B^2, a Renyi budget the bound on one order's divergence: exact rational numbers. Whatever has to be
rounded is rounded to the safe side (T114): budgets and norms down, noise up.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

from flint import arb, ctx

from verified_dp.core.kernel import exact
from verified_dp.core.kernel.balls import ball, lower_dyadic, upper_dyadic
from verified_dp.core.kernel.bounds import bound_chernoff_factor
from verified_dp.core.kernel.composed import ComposedLoss
from verified_dp.core.kernel.composition import Relation
from verified_dp.core.kernel.dyadic import Dyadic, decimal_down
from verified_dp.core.kernel.errors import InvalidInput
from verified_dp.core.kernel.exact import Number
from verified_dp.core.kernel.gaussian import enclose_gaussian_profile
from verified_dp.core.kernel.locks import alone
from verified_dp.core.kernel.theorems import proved_by
from verified_dp.enclosure import Enclosure
from verified_dp.ends import readable
from verified_dp.search.deadline import Budget
from verified_dp.search.one_direction import OneDirection
from verified_dp.search.roots import bracket_epsilon

DEFAULT_DIGITS = 12
MAX_BITS = 2**17
"""A comparison that so many bits leave open is decided to the safe side."""
_CONVENTION = "gaussian-dp budget: every step's guarantee holds between neighbours of this relation in both directions"


@alone
@proved_by("T110-gdp-filter")
def gdp_delta(budget: Number, epsilon: Number, digits: int = DEFAULT_DIGITS,
              relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
    """Enclose delta(eps) = Q(eps/B - B/2) - e^eps Q(eps/B + B/2), Q the normal tail: all that B-GDP guarantees.

    Args:
        budget: B^2 >= 0. epsilon: any rational number. digits: significant digits.
        relation: the neighbours between which the steps' guarantees hold.
    Raises:
        InvalidInput: for anything else.

    >>> print(gdp_delta("1/4", 2, digits=6))
    9.43916863[4, 5]e-6
    """
    eps = exact.exact(epsilon, "epsilon")
    answer = _order(budget).enclose(eps, 3.33 * exact.digits(digits) + 8, "closed-form", Budget(None))
    with ctx.workprec(4 * digits + 64):
        ends = lower_dyadic(answer.bounds.lower), upper_dyadic(answer.bounds.upper)
    return _enclosure("delta", ends, digits, relation)


@alone
@proved_by("T110-gdp-filter")
def gdp_epsilon(budget: Number, delta: Number, digits: int = DEFAULT_DIGITS,
                relation: Relation | str = Relation.ADD_OR_REMOVE) -> Enclosure:
    """Enclose the smallest eps >= 0 with delta(eps) <= delta for a GDP budget B^2.

    >>> print(gdp_epsilon("1/4", "1e-5", digits=6))
    1.99309[0, 3]
    """
    target = exact.open_unit(delta, "delta")
    lower, upper = bracket_epsilon(_order(budget), target, exact.digits(digits), "closed-form", Budget(None)).ends
    top = Dyadic.infinity() if upper is None else Dyadic.of_fraction(upper)
    return _enclosure("epsilon", (Dyadic.of_fraction(lower), top), digits, relation)


def _order(budget: Number) -> OneDirection:
    return OneDirection(ComposedLoss("symmetric", (), exact.non_negative(budget, "budget")))


def _enclosure(quantity: str, ends: tuple[Dyadic, Dyadic], digits: int, relation: Relation | str) -> Enclosure:
    return Enclosure(*map(readable, ends), quantity=quantity, method="closed-form", order="symmetric", digits=digits,
                     tight=False, relation=Relation.of(relation).value, convention=_CONVENTION)


@alone
def decide(difference: Callable[[], arb]) -> bool | None:
    """Whether the number that `difference` encloses at the working precision is >= 0, None if MAX_BITS do not tell."""
    bits = 128
    while bits <= MAX_BITS:
        with ctx.workprec(bits):
            ball_of_it = difference()
            if ball_of_it >= 0:
                return True
            if ball_of_it < 0:
                return False
        bits *= 4
    return None


@proved_by("T114-safe-rounding")
def gdp_budget(epsilon: Number, delta: Number, digits: int = DEFAULT_DIGITS) -> Fraction:
    """The largest decimal B^2 of that many digits for which B-GDP is proved to give (epsilon, delta)-DP.

    Raises InvalidInput where epsilon < 0 or delta is not in (0, 1).

    >>> budget = gdp_budget("0.8", "1e-5", digits=4)
    >>> budget, gdp_delta(budget, "0.8", 4).upper_decimal
    (Fraction(2391, 50000), '9.9938464e-6')
    """
    eps, target = exact.non_negative(epsilon, "epsilon"), exact.open_unit(delta, "delta")

    def holds(budget: Fraction) -> bool:
        return decide(lambda: ball(target) - enclose_gaussian_profile(budget, ball(eps))) is True

    return largest_decimal(holds, exact.digits(digits))


@alone
@proved_by("T114-safe-rounding")
def renyi_budget(epsilon: Number, delta: Number, renyi_order: Number, digits: int = DEFAULT_DIGITS) -> Fraction:
    """A decimal R, largest up to rounding, such that a Renyi divergence <= R of this order gives (epsilon, delta)-DP.

    R = eps + (log delta - log C(l)) / l, l = renyi_order - 1, C(l) = l^l / (1+l)^{1+l}; rounded down.
    Raises InvalidInput where R would not be positive: then this order can not give the guarantee.

    >>> renyi_budget("0.8", "1e-5", 27, digits=6)
    Fraction(260849, 500000)
    """
    eps, target = exact.non_negative(epsilon, "epsilon"), exact.open_unit(delta, "delta")
    order = above_one(renyi_order, "renyi_order")
    with ctx.workprec(4 * exact.digits(digits) + 64):
        exponent = ball(order - 1)
        found = lower_dyadic(ball(eps) + (ball(target).log() - bound_chernoff_factor(exponent).log()) / exponent)
    if found.sign <= 0:
        raise InvalidInput("renyi_order", renyi_order, "an order that can give this epsilon and delta; this one cannot")
    return Fraction(decimal_down(found, digits))


def above_one(value: object, key: str) -> Fraction:
    """A Renyi order: a rational number above 1."""
    order = exact.exact(value, key)
    if order <= 1:
        raise InvalidInput(key, value, "a rational number above 1")
    return order


@proved_by("T114-safe-rounding")
def last_noise(remaining: Number, norm: Number, digits: int = DEFAULT_DIGITS) -> Fraction:
    """The standard deviation of Gaussian noise, rounded up, with which a step of that norm uses up a GDP budget.

    sigma >= norm / sqrt(remaining), so that mu^2 = norm^2 / sigma^2 <= remaining, exactly where the root is a decimal.
    For a Renyi budget R of order a give remaining = 2 R / a.

    >>> last_noise("1/100", 1), last_noise("1/2", 1, digits=5)
    (Fraction(10, 1), Fraction(707107, 500000))
    """
    square = exact.positive(norm, "norm") ** 2 / exact.positive(remaining, "remaining")
    return root_decimal(square, exact.digits(digits), up=True)


@proved_by("T114-safe-rounding")
def last_norm(remaining: Number, noise: Number, digits: int = DEFAULT_DIGITS) -> Fraction:
    """The norm, rounded down, to which one record's contribution may be scaled to use up its GDP budget.

    norm <= noise sqrt(remaining): each record gets its own, with one standard deviation of the noise for all.

    >>> last_norm("1/100", 10), last_norm("1/2", 1, digits=5)
    (Fraction(1, 1), Fraction(7071067, 10000000))
    """
    square = exact.positive(noise, "noise") ** 2 * exact.non_negative(remaining, "remaining")
    return root_decimal(square, exact.digits(digits), up=False) if square else Fraction(0)


@proved_by("T114-safe-rounding")
def root_decimal(square: Fraction, digits: int, *, up: bool) -> Fraction:
    """The root of a number > 0 as a decimal with `digits` or more digits, on the asked side; exact if it can be."""
    power = (square.numerator.bit_length() - square.denominator.bit_length()) * 30103 // 200000 - digits - 1
    scale = Fraction(10) ** power
    root = isqrt(int(square / scale**2))
    inexact = (root * scale) ** 2 != square
    return (root + (up and inexact)) * scale


def largest_decimal(holds: Callable[[Fraction], bool], digits: int) -> Fraction:
    """The largest m 10^p, m of `digits` digits, that holds; `holds` is true up to some positive number."""
    power = _largest_integer(lambda p: holds(Fraction(10) ** p))
    unit = Fraction(10) ** (power - digits + 1)
    return _largest_integer(lambda m: m <= 0 or holds(m * unit), 10 ** (digits - 1), 10**digits) * unit


def _largest_integer(holds: Callable[[int], bool], low: int = 0, high: int = 1) -> int:
    """The largest integer that holds, by doubling steps from [low, high] and then halving."""
    step = high - low
    while not holds(low):
        low, high, step = low - step, low, 2 * step
    while holds(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def squared_ratio(norm: Number, noise: Number) -> Fraction:
    """mu^2 = (norm / noise)^2, exact: what a Gaussian mechanism costs a record whose contribution has that L2 norm.

    >>> squared_ratio("0.5", 100)
    Fraction(1, 40000)
    """
    return (exact.non_negative(norm, "norm") / exact.positive(noise, "noise")) ** 2
